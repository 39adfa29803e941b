"""Columns of tables on screen, made from those of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from trex_tui.old.analysis.columns import ALL_COLUMNS_BY_NAME, engine_columns, find_column
from trex_tui.old.analysis.short_names import short_names, short_tactics
from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lint.model import FindingSeverity
from trex_tui.old.report.colours import kind_style, precision_style, severity_style
from trex_tui.old.report.document import Column as DocumentColumn
from trex_tui.old.report.views.layer_table import layer_column
from trex_tui.old.report.views.lint import MARKS
from trex_tui.old.report.views.memory import LAYER_COLUMNS, main_column, main_sizes
from trex_tui.old.text import MISSING, format_ms
from trex_tui.old.widgets.table_model import Row, TableColumn

BAR_WIDTH = 8
SHARE_BAR_WIDTH = 6
"""With it, bounds and shares of the roof fit in 100 columns."""
MARK_COLUMN = "lint"


def textual_column(column: DocumentColumn, *, table: str = "", **changes: Any) -> TableColumn[Any]:  # noqa: ANN401 - fields of the result
    """Return a column of a document as a column of a table on screen.

    Args:
        table: Id of the table, which explains columns without a help.
    """
    help_ = column.help
    if not help_:
        from trex_tui.old.report.glossary.registry import (
            find_column as find_explanation,
        )  # 50 ms, with what it explains

        help_ = find_explanation(table, column.key)
    values: dict[str, Any] = {
        "title": column.title,
        "value": column.value,
        "format": column.text if column.is_number or column.format else str,
        "width": column.width,
        "flex": column.flex,
        "align": "right" if column.is_number else "left",
        "priority": column.priority,
        "description": f"{column.key}: {help_}" if help_ else "",
    }
    return TableColumn(column.key, **{**values, **changes})


def textual_columns(
    columns: Iterable[DocumentColumn], table: str, **changes: dict[str, Any]
) -> list[TableColumn[Any]]:
    """Return columns of a table of a document as columns on screen; `changes` by key."""
    return [textual_column(column, table=table, **changes.get(column.key, {})) for column in columns]


def short_name_cells(engine: Engine) -> dict[str, Any]:
    """Return the shortener of a column of layer names: unique short names."""
    names = short_names(engine)
    return {"shorten": names.fit, "longest": lambda: names.longest}


def short_tactic_cells(engine: Engine) -> dict[str, Any]:
    """Return the shortener of a column of tactics: the parts of their names."""
    tactics = short_tactics(engine)
    return {"shorten": lambda layer, width: tactics.fit(layer.tactic, width) if layer.tactic else MISSING}


def muted(_: object) -> str:
    return "$muted"


def bar_against_largest(
    rows: Sequence[Row], value: Callable[[Row], float | None], bar_width: int = BAR_WIDTH
) -> dict[str, Any]:
    """Return a bar in a column: each value relative to the largest, which fills it."""
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
    ("index", 4, 0),
    ("name", 28, 0),
    ("kind", 11, 2),
    ("precision", 5, 1),
    ("latency_ms", 9, 0),
    ("latency_pct", 6, 0),
    ("cv_pct", 6, 3),
    ("cumulative_pct", 6, 4),
    ("bound", 9, 3),
    ("roof_pct", 6, 3),
    ("median_ms", 11, 7),
    ("io_bytes", 9, 8),
    ("weights_bytes", 9, 9),
    ("output_precision", 5, 5),
    ("stream", 8, 11),
    ("layer_type", 16, 12),
    ("tactic", 32, 6),
    ("input_formats", 18, 13),
    ("output_shapes", 14, 10),
)
_NOISE_COLUMN = "cv_pct"
LATENCY_COLUMNS = tuple(name for name, _, _ in _LATENCY_LAYOUT if name != _NOISE_COLUMN)
_ROOF_COLUMNS = ("bound", "roof_pct")
_STYLES: dict[str, Callable[[Layer], str]] = {
    "kind": lambda layer: kind_style(layer.kind),
    "precision": lambda layer: precision_style(layer.precision),
    "output_precision": lambda layer: precision_style(layer.output_precision),
    **dict.fromkeys(("tactic", "index", "layer_type", "input_formats", "output_shapes"), muted),
}


_EXTENTS = (
    "input_shapes",
    "output_shapes",
    "kernel",
    "stride",
    "pre_padding",
    "post_padding",
    "dilation",
    "window_size",
)


def _format_extents(value: str) -> str:
    """Format `1x3x224x224` with × as elsewhere on screen; data and filters have an x, which can be typed."""
    return value.replace("x", "×")


_EMPTY_WITHOUT: dict[tuple[str, ...], Callable[[Layer], object]] = {
    ("precision",): lambda layer: layer.precision,
    ("tactic",): lambda layer: layer.tactic,
    ("stream",): lambda layer: layer.stream is not None,
    ("io_bytes", "weights_bytes", "output_precision", "input_formats", "output_shapes"): lambda layer: (
        layer.inputs or layer.outputs
    ),
}
"""Default columns, with what some layer has if they hold anything."""
_TIME_COLUMNS = ("latency_ms", "latency_pct", "cumulative_pct", "median_ms")


def index_width(engine: Engine) -> int:
    """Cells of the largest index; two for a title with an arrow."""
    return max(2, len(str(len(engine.layers) - 1)))


def kind_width(engine: Engine) -> int:
    """Cells of the longest kind, or of the title with an arrow."""
    return (
        max(6, *(len(kind.value) for kind in {layer.kind for layer in engine.layers})) if engine.layers else 6
    )


def ms_width(largest: float | None) -> int:
    """Cells of times up to the largest."""
    return max(6, len(format_ms(largest)))


def largest_ms(engine: Engine) -> float | None:
    """The time of the slowest layer; None without times."""
    return max((layer.latency_ms for layer in engine.layers if layer.latency_ms is not None), default=None)


def _measured_widths(engine: Engine) -> dict[str, int]:
    """Return widths that fit the content of an engine's columns; empty columns are omitted."""
    widths = {name: width for name, width, _ in _LATENCY_LAYOUT}
    widths |= {"index": index_width(engine), "kind": kind_width(engine)}
    largest = largest_ms(engine)
    empty = (
        {_NOISE_COLUMN}
        if not any(layer.latency and layer.latency.spread for layer in engine.layers)
        else set()
    )
    if largest is None:
        empty.update(_TIME_COLUMNS)
    for names, value in _EMPTY_WITHOUT.items():
        if not any(value(layer) for layer in engine.layers):
            empty.update(names)
    widths["latency_ms"] = ms_width(largest)
    return {name: width for name, width in widths.items() if name not in empty}


def latency_columns(engine: Engine, *, has_bounds: bool = False) -> list[TableColumn[Layer]]:
    """Return the default columns of the table: times, noise and precision if some layer has them.

    Args:
        has_bounds: True if the bound of some layer is known.
    """
    widths = _measured_widths(engine)
    return [
        _latency_column(engine, ALL_COLUMNS_BY_NAME[name], widths[name], priority)
        for name, _, priority in _LATENCY_LAYOUT
        if name in widths and (has_bounds or name not in _ROOF_COLUMNS)
    ]


def chosen_columns(engine: Engine, names: Sequence[str]) -> list[TableColumn[Layer]]:
    """Return the columns chosen by the user: index and name always fit, the last of the others is dropped first."""
    widths = _measured_widths(engine)
    columns = {name: column for name in names if (column := find_column(name, engine))}
    return [
        _latency_column(
            engine,
            column,
            widths.get(name) or _measure_width(column),
            0 if name in ("index", "name") else position,
        )
        for position, (name, column) in enumerate(columns.items(), start=1)
    ]


def column_titles(engine: Engine) -> dict[str, str]:
    """Return name -> title, name and short names of all columns of an engine."""
    return {column.name: describe_column(column) for column in engine_columns(engine)}


def describe_column(column: LayerColumn) -> str:
    """Return title, name and short names of a column."""
    short = [alias for alias in column.aliases if alias != column.title.casefold()]
    names = ", ".join([column.name, *short])
    return names if column.title == column.name else f"{column.title}  ({names})"


def _measure_width(column: LayerColumn) -> int:
    """Width for the title with an arrow, and for the cells below it."""
    return max(len(column.title) + 2, 9 if column.is_number else 14)


def _latency_column(engine: Engine, source: LayerColumn, width: int, priority: int) -> TableColumn[Layer]:
    name = source.name
    is_share = name == "latency_pct"
    extents: dict[str, Any] = {"format": _format_extents} if name in _EXTENTS else {}
    return textual_column(
        layer_column(engine, source, source.title),
        width=width,
        priority=priority,
        flex=name in ("name", "tactic"),
        **(short_name_cells(engine) if name == "name" else {}),
        **(short_tactic_cells(engine) if name == "tactic" else {}),
        style=_STYLES.get(name),
        descending=source.is_number and name not in ("index", "stream"),
        **extents,
        **(
            bar_against_largest(engine.layers, lambda layer: layer.latency_ms, SHARE_BAR_WIDTH)
            if is_share
            else {}
        ),
    )


def mark_column(mark_of: Callable[[Row], FindingSeverity | None]) -> TableColumn[Row]:
    """Return a cell for the worst finding about a layer: `E`, `W`, or empty."""

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
        description="Findings about the layer: E error, W warning.",
    )


def memory_columns(engine: Engine) -> list[TableColumn[Layer]]:
    """Return the columns of the memory table; its first sort column has a bar and is never dropped."""
    main = next(column for column in LAYER_COLUMNS if column.key == main_column(engine))

    def main_value(layer: Layer) -> float | None:
        """The size of a layer, kept with the engine for the order, the largest and the cells."""
        return main_sizes(engine)[layer.index]

    changes: dict[str, dict[str, Any]] = {
        "index": {"style": muted, "descending": False},
        "name": short_name_cells(engine),
        "kind": {"style": _STYLES["kind"]},
        main.key: {
            "priority": 0,
            "value": main_value,
            **bar_against_largest(engine.layers, main_value),
        },
    }
    return textual_columns(LAYER_COLUMNS, "layers", **changes)
