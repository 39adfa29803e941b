"""The columns of the memory table: what a layer holds, what it touches, and how much of that is padding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trex_tui.colours import kind_style
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.text import format_bytes, format_pct
from trex_tui.widgets.columns import BAR_WIDTH
from trex_tui.widgets.table_model import Column


@dataclass(frozen=True, slots=True)
class _Size:
    """A column of bytes."""

    key: str
    title: str
    value: Callable[[Layer], int | None]
    priority: int
    description: str


_SIZES = (
    _Size("weights_bytes", "Weights", lambda layer: layer.weights_bytes, 1, "weights and other constants of the layer"),
    _Size(
        "activation_bytes", "Activations", lambda layer: layer.activation_bytes, 2,
        "inputs and outputs without constants, without padding",
    ),
    _Size("footprint_bytes", "Footprint", lambda layer: layer.footprint_bytes, 4, "all it touches, without padding"),
    _Size(
        "footprint_allocated_bytes", "Allocated", lambda layer: layer.footprint_allocated_bytes, 3,
        "all it touches, with the padding of vectorised layouts",
    ),
)  # fmt: skip


def padding_pct(layer: Layer) -> float | None:
    """Share of what a layer touches that is padding, in percent."""
    allocated, logical = layer.footprint_allocated_bytes, layer.footprint_bytes
    if allocated is None or logical is None:
        return None
    return 100.0 * (allocated - logical) / allocated if allocated else 0.0


def main_column(engine: Engine) -> str:
    """What the table sorts by at first: all that a layer touches or, where weights are hidden, its activations."""
    return "activation_bytes" if engine.layers_hiding_weights else "footprint_allocated_bytes"


def memory_columns(engine: Engine) -> list[Column[Layer]]:
    """The columns of the memory table, most telling first."""
    return [
        Column("index", "#", lambda layer: layer.index, width=5, align="right", priority=7, descending=False,
               style=lambda _: "$muted", description="index: place in execution order, from 0"),
        Column("name", "Layer", lambda layer: layer.name, width=24, flex=True, description="name of the layer"),
        Column("kind", "Kind", lambda layer: layer.kind.value, width=11, priority=6,
               style=lambda layer: kind_style(layer.kind), description="kind: what the layer does"),
        *(_size_column(engine, one) for one in _SIZES),
        Column("padding_pct", "Pad %", padding_pct, format=format_pct, width=6, align="right", priority=5,
               description="padding_pct: share of the allocated bytes that is padding"),
    ]  # fmt: skip


def _size_column(engine: Engine, size: _Size) -> Column[Layer]:
    is_main = size.key == main_column(engine)
    return Column(
        size.key,
        size.title,
        size.value,
        format=format_bytes,
        width=max(9, len(size.title) + 1),
        align="right",
        priority=0 if is_main else size.priority,
        bar=_bar(engine, size.value) if is_main else None,
        bar_width=BAR_WIDTH,
        description=f"{size.key}: {size.description}",
    )


def _bar(engine: Engine, value: Callable[[Layer], int | None]) -> Callable[[Layer], float | None]:
    """Length of a layer's bar: its size against the largest."""
    top: list[int] = []

    def fraction(layer: Layer) -> float | None:
        if not top:  # Asked for when the first row is drawn, not when an engine is opened.
            top.append(max((value(one) or 0 for one in engine.layers), default=0))
        size = value(layer)
        return size / top[0] if size is not None and top[0] else None

    return fraction
