"""Columns of the tables on screen: those of a document, with what only a terminal has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from trex_tui.analysis.columns import ALL_COLUMNS_BY_NAME
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.lint.model import FindingSeverity
from trex_tui.report.colours import kind_style, precision_style, severity_style
from trex_tui.report.document import Column as DocumentColumn
from trex_tui.report.views.layers import layer_column
from trex_tui.report.views.lint import MARKS
from trex_tui.report.views.memory import LAYER_COLUMNS, main_column
from trex_tui.widgets.table_model import Row, TableColumn

BAR_WIDTH = 8
MARK_COLUMN = "lint"


def textual_column(column: DocumentColumn, **changes: Any) -> TableColumn[Any]:  # noqa: ANN401 - fields of the result
    """A column of a document as a table on screen has it."""
    values: dict[str, Any] = {
        "title": column.title,
        "value": column.value,
        "format": column.text if column.is_number or column.format else str,
        "width": column.width,
        "flex": column.flex,
        "align": "right" if column.is_number else "left",
        "priority": column.priority,
        "description": column.help,
    }
    return TableColumn(column.key, **{**values, **changes})


def textual_columns(columns: Iterable[DocumentColumn], **changes: dict[str, Any]) -> list[TableColumn[Any]]:
    """Columns of a document as a table on screen has them; `changes` by their keys."""
    return [textual_column(column, **changes.get(column.key, {})) for column in columns]


def muted(_: object) -> str:
    return "$muted"


def bar_against_largest(
    rows: Sequence[Row], value: Callable[[Row], float | None], bar_width: int = BAR_WIDTH
) -> dict[str, Any]:
    """A bar in a column: each value against the largest, which fills it."""
    largest: list[float] = []

    def fraction(row: Row) -> float | None:
        if not largest:  # Asked for when the first row is drawn, not when an engine is opened.
            largest.append(max((value(other) or 0.0 for other in rows), default=0.0))
        known = value(row)
        return known / largest[0] if known is not None and largest[0] else None

    return {"bar": fraction, "bar_width": bar_width}


# Latency

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
_STYLES: dict[str, Callable[[Layer], str]] = {
    "kind": lambda layer: kind_style(layer.kind),
    "precision": lambda layer: precision_style(layer.precision),
    "output_precision": lambda layer: precision_style(layer.output_precision),
    **dict.fromkeys(("tactic", "index", "layer_type", "input_formats", "output_shapes"), muted),
}


def latency_columns(engine: Engine) -> list[TableColumn[Layer]]:
    return [_latency_column(engine, name, width, priority) for name, width, priority in _LATENCY_LAYOUT]


def chosen_columns(engine: Engine, names: Sequence[str]) -> list[TableColumn[Layer]]:
    """Columns that a person chose: the name stays where the terminal is narrow, of the others the last goes first."""
    widths = {name: width for name, width, _ in _LATENCY_LAYOUT}
    return [
        _latency_column(
            engine, name, widths.get(name) or _measure_width(name), 0 if name == "name" else index
        )
        for index, name in enumerate(names, start=1)
    ]


def _measure_width(name: str) -> int:
    """Room for the title and an arrow, and for what stands below it."""
    column = ALL_COLUMNS_BY_NAME[name]
    return max(len(column.title) + 2, 9 if column.is_number else 14)


def _latency_column(engine: Engine, name: str, width: int, priority: int) -> TableColumn[Layer]:
    source = ALL_COLUMNS_BY_NAME[name]
    is_share = name == "latency_pct"
    return textual_column(
        layer_column(engine, source, source.title),
        width=width,
        priority=priority,
        flex=name in ("name", "tactic"),
        style=_STYLES.get(name),
        descending=source.is_number and name not in ("index", "stream"),
        description=f"{name}: {source.description}",
        **(bar_against_largest(engine.layers, lambda layer: layer.latency_ms) if is_share else {}),
    )


def mark_column(mark_of: Callable[[Row], FindingSeverity | None]) -> TableColumn[Row]:
    """A cell for the worst that lint found about a layer: `E`, `W`, `i`."""

    def mark(row: Row) -> str | None:
        severity = mark_of(row)
        return MARKS[severity] if severity else None

    return TableColumn(
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


def memory_columns(engine: Engine) -> list[TableColumn[Layer]]:
    """The columns of the memory table; the one it sorts by at first has a bar, and always room."""
    main = next(column for column in LAYER_COLUMNS if column.key == main_column(engine))
    assert main.value is not None
    changes: dict[str, dict[str, Any]] = {
        "index": {"style": muted, "descending": False},
        "kind": {"style": _STYLES["kind"]},
        main.key: {"priority": 0, **bar_against_largest(engine.layers, main.value)},
    }
    return textual_columns(LAYER_COLUMNS, **changes)
