"""What is written into boxes and told about them: harmless text, long names shortened, all of them in the tooltip."""

from __future__ import annotations

import json
from collections.abc import Sequence

from trex_tui.analysis.columns import ALL_COLUMNS, ALL_COLUMNS_BY_NAME
from trex_tui.engine.columns import Column
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer, Tensor
from trex_tui.errors import TrexError
from trex_tui.reports.layers import cell_text
from trex_tui.text import MISSING, format_bytes, format_shape, printable, shorten_middle

WIDEST = 48
"""Characters of a line in a box; what is longer loses its middle."""
DEFAULT_LABELS = ("name", "kind", "precision", "latency")

_ALIASES = {
    "latency": "latency_ms",
    "share": "latency_pct",
    "type": "layer_type",
    "weights": "weights_bytes",
    "onnx": "onnx_nodes",
}
_ARROWS = {"shape": ("input_shapes", "output_shapes"), "format": ("input_formats", "output_formats")}
_UNITS = {"_ms": " ms", "_pct": " %"}
_UNIT_OF = {
    column.name: next((unit for ending, unit in _UNITS.items() if column.name.endswith(ending)), "")
    for column in ALL_COLUMNS
}
# A line of its own for what is long; the rest shares one.
_LONG = {"name", "layer_type", "tactic", "tactic_value", "onnx_nodes", "compute_note", *_ARROWS}
_LONG |= {column for pair in _ARROWS.values() for column in pair}
_TOLD = (
    *("name", "index", "kind", "layer_type", "precision", "latency_ms", "latency_pct", "stream"),
    *("tactic", "input_shapes", "output_shapes", "input_formats", "output_formats"),
    *("weights_bytes", "onnx_nodes"),
)
_MOST_ATTRIBUTE = 2000


def label_parts(text: str) -> list[str]:
    """What `--labels` names: columns, short names of columns, `shape` and `format`.

    Raises:
        TrexError: One of them is none of these.
    """
    parts = [_ALIASES.get(part, part) for part in (one.strip() for one in text.split(",")) if part]
    for part in parts:
        if part not in _ARROWS and part not in ALL_COLUMNS_BY_NAME:
            short = ", ".join((*_ARROWS, *_ALIASES))
            raise TrexError(
                f"--labels: {part!r} is no column (`trex-tui explain` lists them), nor one of: {short}"
            )
    return parts


def layer_lines(engine: Engine, layer: Layer, parts: Sequence[str]) -> tuple[str, ...]:
    """The lines in the box of a layer; short values side by side, those that are unknown left out."""
    lines: list[str] = []
    side_by_side: list[str] = []
    for part in parts:
        if part in _LONG:
            lines += [" · ".join(side_by_side)] if side_by_side else []
            side_by_side = []
            lines.append(shorten_middle(_part(engine, layer, part), WIDEST))
        else:
            text = _part(engine, layer, part)
            side_by_side += [] if text == MISSING else [shorten_middle(text, WIDEST // 2)]
    return (*lines, *([" · ".join(side_by_side)] if side_by_side else []))


def _part(engine: Engine, layer: Layer, part: str) -> str:
    if part in _ARROWS:
        before, after = (_value(engine, layer, ALL_COLUMNS_BY_NAME[name]) for name in _ARROWS[part])
        return f"{before} → {after}"
    column = ALL_COLUMNS_BY_NAME[part]
    text = _value(engine, layer, column)
    # A number without its unit says nothing; that of a time says what it is of.
    says_what = not column.is_number or _UNIT_OF[column.name] or text == MISSING
    return text if says_what else f"{column.title} {text}"


def _value(engine: Engine, layer: Layer, column: Column) -> str:
    text = cell_text(column, column.value(engine, layer)) or MISSING
    return text if text == MISSING else text + _UNIT_OF[column.name]


def layer_tooltip(engine: Engine, layer: Layer, *, metadata: bool) -> str:
    """The layer's name in full, and what matters most.

    Args:
        metadata: Tell every column that is known, and the file's own keys.
    """
    columns = ALL_COLUMNS if metadata else [ALL_COLUMNS_BY_NAME[name] for name in _TOLD]
    lines = []
    for column in columns:
        text = _value(engine, layer, column)
        if text != MISSING:
            lines.append(f"{column.name}: {text}")
    if metadata:
        for key, value in layer.attributes.items():
            told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            lines.append(f"{printable(key)}: {shorten_middle(printable(told), _MOST_ATTRIBUTE)}")
    return "\n".join(lines)


def tensor_text(tensor: Tensor) -> str:
    """Shape, type and format: `1×3×224×224 FP16 NHWC8`."""
    return f"{format_shape(tensor.shape)} {printable(tensor.description)}"


def tensor_lines(name: str, tensor: Tensor | None) -> tuple[str, ...]:
    """The lines in the box of a tensor."""
    shown = shorten_middle(printable(name), WIDEST)
    return (shown,) if tensor is None else (shown, shorten_middle(tensor_text(tensor), WIDEST))


def tensor_tooltip(name: str, tensor: Tensor | None, what: str) -> str:
    """The tensor's name in full, what it is, and its size with padding."""
    lines = [f"{what}: {printable(name)}"]
    if tensor is not None:
        lines.append(f"{tensor_text(tensor)}, {format_bytes(tensor.allocated_bytes)}")
    return "\n".join(lines)
