"""The columns of the latency table and of the tree: what `engine.columns` defines, with widths and colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from trex_tui.analysis.columns import ALL_COLUMNS_BY_NAME
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.lint.model import Severity
from trex_tui.report.colours import kind_style, precision_style, severity_style
from trex_tui.report.views.layers import cell_text
from trex_tui.report.views.lint import MARKS
from trex_tui.text import format_bytes, format_pct
from trex_tui.widgets.table_model import Column, Row

# Name, width, and which go first when the terminal is narrow: the largest number.
_LATENCY_LAYOUT = (
    ("index", 5, 3),
    ("name", 24, 0),
    ("kind", 11, 2),
    ("precision", 6, 1),
    ("latency_ms", 9, 0),
    ("latency_pct", 6, 0),
    ("median_ms", 11, 6),
    ("io_bytes", 9, 7),
    ("weights_bytes", 9, 8),
    ("output_precision", 5, 5),
    ("stream", 8, 11),
    ("layer_type", 16, 12),
    ("tactic", 32, 9),
    ("input_formats", 18, 13),
    ("output_shapes", 14, 10),
)
LATENCY_COLUMNS = tuple(name for name, _, _ in _LATENCY_LAYOUT)
BAR_WIDTH = 8
MARK_COLUMN = "lint"


def latency_columns(engine: Engine) -> list[Column[Layer]]:
    """The columns of the latency table, most telling first."""
    return [_column(engine, name, width, priority) for name, width, priority in _LATENCY_LAYOUT]


def chosen_columns(engine: Engine, names: Sequence[str]) -> list[Column[Layer]]:
    """Columns that a person chose: the name stays where the terminal is narrow, of the others the last goes first."""
    widths = {name: width for name, width, _ in _LATENCY_LAYOUT}
    return [
        _column(engine, name, widths.get(name) or _width_of(name), 0 if name == "name" else place)
        for place, name in enumerate(names, start=1)
    ]


def _width_of(name: str) -> int:
    """Room for the title and an arrow, and for what stands below it."""
    column = ALL_COLUMNS_BY_NAME[name]
    return max(len(column.title) + 2, 9 if column.is_number else 14)


def _column(engine: Engine, name: str, width: int, priority: int) -> Column[Layer]:
    source = ALL_COLUMNS_BY_NAME[name]

    def value(layer: Layer) -> Any:  # noqa: ANN401 - as in engine.columns
        return source.value(engine, layer)

    return Column(
        name,
        source.title,
        value,
        text=lambda layer: cell_text(source, value(layer)),
        width=width,
        flex=name in ("name", "tactic"),
        align="right" if source.is_number else "left",
        priority=priority,
        style=_style_of(name),
        bar=share_bar(engine) if name == "latency_pct" else None,
        bar_width=BAR_WIDTH,
        descending=name not in ("index", "stream") if source.is_number else False,
        description=f"{name}: {source.description}",
    )


def _style_of(name: str) -> Callable[[Layer], str] | None:
    if name == "kind":
        return lambda layer: kind_style(layer.kind)
    if name == "precision":
        return lambda layer: precision_style(layer.precision)
    if name == "output_precision":
        return lambda layer: precision_style(layer.output_precision)
    if name in ("tactic", "index", "layer_type", "input_formats", "output_shapes"):
        return lambda _: "$muted"
    return None


def mark_column(mark_of: Callable[[Row], Severity | None]) -> Column[Row]:
    """A cell for the worst that lint found about a layer: `E`, `W`, `i`."""

    def mark(row: Row) -> str | None:
        severity = mark_of(row)
        return MARKS[severity] if severity else None

    return Column(
        MARK_COLUMN,
        "",
        mark,
        text=lambda row: mark(row) or "",
        width=1,
        priority=1,
        style=lambda row: severity_style(mark_of(row)),
        descending=False,
        description="The worst that lint found about the layer: E error, W warning, i info.",
    )


def share_bar(engine: Engine) -> Callable[[Layer], float | None]:
    """Length of a layer's bar: its time against the slowest layer's, so that the slowest fills it."""
    slowest = max((layer.latency_ms or 0.0 for layer in engine.layers), default=0.0)

    def fraction(layer: Layer) -> float | None:
        return layer.latency_ms / slowest if slowest and layer.latency_ms is not None else None

    return fraction


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
