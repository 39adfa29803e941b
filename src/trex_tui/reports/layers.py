"""The layers as a table: for the terminal, and as CSV, JSON and Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trex_tui.analysis.columns import ALL_COLUMNS, ALL_COLUMNS_BY_NAME
from trex_tui.engine.columns import Column
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.errors import TrexError
from trex_tui.reports.csv_text import csv_text
from trex_tui.reports.grid import Grid, print_grid
from trex_tui.reports.markdown import escaped
from trex_tui.text import (
    MISSING,
    format_bytes,
    format_count,
    format_ms,
    format_pct,
    printable,
)

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = "trex-tui/layers/1"

BRIEF_COLUMNS = ("index", "name", "kind", "precision", "latency_ms", "latency_pct", "tactic")
"""What fits a terminal, and what a person asks first."""
_LEAST_CELLS = 16


def columns_named(names: Sequence[str]) -> list[Column]:
    """The columns of these names, in this order.

    Raises:
        TrexError: A name is no column; the message lists them all.
    """
    unknown = [name for name in names if name not in ALL_COLUMNS_BY_NAME]
    if unknown:
        known = ", ".join(column.name for column in ALL_COLUMNS)
        raise TrexError(f"no column {unknown[0]!r}; the columns are: {known}")
    return [ALL_COLUMNS_BY_NAME[name] for name in names]


def sorted_layers(engine: Engine, column: Column | None, *, reverse: bool = False) -> list[Layer]:
    """Layers by a column: numbers from the largest, text from A, missing values last in either direction.

    Args:
        column: None keeps the execution order.
        reverse: Turn the direction round.
    """
    if column is None:
        return list(reversed(engine.layers)) if reverse else list(engine.layers)
    values = {layer.index: column.value(engine, layer) for layer in engine.layers}
    known = [layer for layer in engine.layers if not is_missing(values[layer.index])]
    known.sort(key=lambda layer: values[layer.index], reverse=column.is_number is not reverse)
    return known + [layer for layer in engine.layers if is_missing(values[layer.index])]


def is_missing(value: Any) -> bool:  # noqa: ANN401 - any cell
    """Whether a cell holds nothing: None, or no number."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def layers_document(engine: Engine, layers: Sequence[Layer], columns: Sequence[Column]) -> dict[str, Any]:
    """The object that `layers --format json` prints."""
    return {
        "schema": SCHEMA,
        "engine": engine.name,
        "layers": [{column.name: column.value(engine, layer) for column in columns} for layer in layers],
    }


def layers_csv(engine: Engine, layers: Sequence[Layer], columns: Sequence[Column]) -> str:
    """Comma-separated values with a header line; missing cells are empty, several ONNX nodes are joined by `;`."""
    rows = ([column.value(engine, layer) for column in columns] for layer in layers)
    return csv_text([column.name for column in columns], rows)


def layers_markdown(engine: Engine, layers: Sequence[Layer], columns: Sequence[Column]) -> str:
    """A table that a forge renders; names are escaped."""
    lines = [
        "| " + " | ".join(column.name for column in columns) + " |",
        "|" + "|".join("---:" if column.is_number else "---" for column in columns) + "|",
    ]
    for layer in layers:
        cells = (escaped(cell_text(column, column.value(engine, layer))) for column in columns)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def print_layers(
    engine: Engine, layers: Sequence[Layer], columns: Sequence[Column], console: Console
) -> None:
    """The table for a person: in a terminal no text is wider than a third of it, in a pipe nothing is cut."""
    numbers = frozenset(place for place, column in enumerate(columns) if column.is_number)
    grid = Grid(
        [column.name for column in columns],
        [[cell_text(column, column.value(engine, layer)) for column in columns] for layer in layers],
        on_the_right=numbers,
        giving_way=frozenset(range(len(columns))) - numbers,
    )
    print_grid(grid, console, "bold", max(_LEAST_CELLS, console.width // 3))


def cell_text(column: Column, value: Any) -> str:  # noqa: ANN401 - any cell
    """A cell as people read it, safe for a terminal; the unit is in the column's name."""
    if is_missing(value):
        return MISSING
    if isinstance(value, tuple):
        return ", ".join(map(printable, value))
    if isinstance(value, str):
        return printable(value)
    if column.name.endswith("_ms"):
        return format_ms(value)
    if column.name.endswith("_pct"):
        return format_pct(value)
    if column.name.endswith("_bytes"):
        return format_bytes(value)
    if column.name == "macs" or column.name.endswith("_per_s"):
        return format_count(value)
    return f"{value:.3g}" if isinstance(value, float) else str(value)
