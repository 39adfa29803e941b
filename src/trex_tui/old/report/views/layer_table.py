"""A table of layers: in a terminal, a pipe or a file, and as columns of the screens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from trex_tui.old.analysis.columns import ALL_COLUMNS
from trex_tui.old.analysis.structure import sum_latency_ms
from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.layer_names import describe_layer_name, describe_layer_type
from trex_tui.old.engine.model import Layer
from trex_tui.old.report.absence import no_profile
from trex_tui.old.report.document import Column, Listing, Table, drop_empty_columns, is_missing, make_table
from trex_tui.old.report.render_text import print_table
from trex_tui.old.text import (
    MISSING,
    format_bytes,
    format_count,
    format_ms,
    format_pct,
    plural,
    printable,
    shorten_name_list,
)

if TYPE_CHECKING:
    from trex_tui.old.report.render_text import Console

LAYERS_SCHEMA = "trex-tui/layers/1"

BRIEF_COLUMNS = ("index", "name", "kind", "precision", "latency_ms", "latency_pct", "tactic")
"""Columns that fit a terminal."""
CSV_HEADER = ",".join(column.name for column in ALL_COLUMNS)
"""The first line of a CSV file with all columns."""
_LAYOUT = {"index": (8, 3), "name": (24, 0), "kind": (16, 2), "precision": (8, 1), "tactic": (30, 4)}
"""Minimum width of a text, and its priority for omission in narrow terminals: the largest number first."""
_EXPLAIN = {
    "name": lambda name: describe_layer_name(str(name)),
    "layer_type": lambda type_: describe_layer_type(type_ and str(type_)),
}
"""Columns whose values are explained in a tooltip."""


def sorted_layers(engine: Engine, column: LayerColumn | None, *, reverse: bool = False) -> list[Layer]:
    """Sort layers by a column: numbers from the largest, text from A, missing values last in either direction.

    Args:
        column: None keeps the execution order.
        reverse: Reverse the direction.
    """
    if column is None:
        return list(reversed(engine.layers)) if reverse else list(engine.layers)
    values = {layer.index: column.value(engine, layer) for layer in engine.layers}
    known = [layer for layer in engine.layers if not is_missing(values[layer.index])]
    known.sort(key=lambda layer: values[layer.index], reverse=column.is_number is not reverse)
    return known + [layer for layer in engine.layers if is_missing(values[layer.index])]


def layers_table(engine: Engine, layers: Iterable[Layer], columns: Iterable[LayerColumn]) -> Table:
    """Return layers with some of the columns of `trex-tui layers`, under the names of the columns."""
    heads = [layer_column(engine, column, column.name) for column in columns]
    return make_table("layers", heads, layers, noun="layer")


def layer_column(engine: Engine, column: LayerColumn, title: str) -> Column:
    """Return a column of the layers of an engine."""
    width, priority = _LAYOUT.get(column.name, (8, 0))
    made = Column(
        column.name,
        title,
        value=partial(column.value, engine),
        is_number=column.is_number,
        unit=column.unit,
        format=partial(cell_text, column),
        help=column.description.replace("`", ""),
        explain=_EXPLAIN.get(column.name),
        has_bar=column.name == "latency_ms",
        flex=not column.is_number,
        width=width,
        priority=priority,
    )
    if column.name == "name":
        return replace(made, shorten=partial(_shorten_name, engine), is_fitted_first=True)
    return replace(made, shorten=partial(_shorten_tactic, engine)) if column.name == "tactic" else made


def _shorten_name(engine: Engine, text: str, width: int) -> str:
    from trex_tui.old.analysis.short_names import short_names  # a pipe shortens nothing

    return short_names(engine).fit_text(text, width)


def _shorten_tactic(engine: Engine, text: str, width: int) -> str:
    from trex_tui.old.analysis.short_names import short_tactics

    return short_tactics(engine).fit(text, width)


def layers_listing(
    engine: Engine, layers: Iterable[Layer], columns: Iterable[LayerColumn] = ALL_COLUMNS
) -> Listing:
    """Return layers as `trex-tui layers` writes them: under the names of the columns, names of ONNX nodes as a list."""
    table = layers_table(engine, layers, columns)
    return Listing(LAYERS_SCHEMA, engine.name, table, "engine", engine.diagnostics)


def filled_columns(
    engine: Engine, layers: Sequence[Layer], columns: Sequence[LayerColumn]
) -> Sequence[LayerColumn]:
    """Return the columns with a value for any of the layers; all if there is none."""
    filled = [
        column for column in columns if not all(is_missing(column.value(engine, layer)) for layer in layers)
    ]
    return filled or columns


def print_layers(
    engine: Engine, layers: Sequence[Layer], columns: Sequence[LayerColumn], console: Console
) -> None:
    """Print the layers: in a terminal fitted to its width, with a line of totals; else complete, under the columns' names.

    Without a choice of columns, empty ones are left out.
    """
    is_brief = tuple(column.name for column in columns) == BRIEF_COLUMNS
    if not console.is_terminal:
        table = layers_table(engine, layers, columns)
        print_table(drop_empty_columns(table) if is_brief else table, console, "bold")
        return
    heads = [
        replace(made, priority=made.priority if is_brief else 0, has_bar=made.key == "latency_pct")
        for made in (layer_column(engine, column, column.title) for column in columns)
    ]
    table = make_table("layers", heads, layers, noun="layer")
    print_table(drop_empty_columns(table) if is_brief else table, console, "bold")
    whole = len(engine.layers)
    counted = plural(whole, "layer") if len(layers) == whole else f"{len(layers)} of {plural(whole, 'layer')}"
    console.print(describe_total(engine, layers, counted), style="dim", soft_wrap=True)


def describe_total(engine: Engine, layers: Sequence[Layer], counted: str) -> str:
    """Return count, time and share of some layers in a line.

    Args:
        counted: Their number, as text.
    """
    if not layers:
        return counted
    if not engine.has_profile:
        return f"{counted} · {no_profile(engine)}"
    total, whole = sum_latency_ms(layers), engine.latency_sum_ms
    if total is None or not whole:
        return f"{counted}, none profiled"
    unknown = sum(layer.latency_ms is None for layer in layers)
    counted += f" ({unknown} without a time)" if unknown else ""
    return f"{counted} · {format_ms(total)} ms · {format_pct(100.0 * total / whole)} % of all"


def cell_text(column: LayerColumn, value: Any) -> str:  # noqa: ANN401 - any cell
    """Format a cell for display, printable; the unit is in the column's name."""
    if is_missing(value):
        return MISSING
    if isinstance(value, tuple):
        return ", ".join(map(printable, value))
    if isinstance(value, str):
        return printable(shorten_name_list(value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if column.name.endswith("_ms"):
        return format_ms(value)
    if column.name.endswith("_pct"):
        return format_pct(value)
    if column.name.endswith("_bytes"):
        return format_bytes(value)
    if column.name in ("macs", "onnx_macs", "onnx_params") or column.name.endswith("_per_s"):
        return format_count(value)
    return f"{value:.3g}" if isinstance(value, float) else str(value)
