"""Tables of a document with bars, as lines of an exact width; and where time goes, in that form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rich.cells import cell_len
from textual.content import Content

from trex_tui.analysis.roofline import Bound
from trex_tui.analysis.structure import total_by_kind, total_by_precision
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.engine import Engine
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.report.colours import kind_style, precision_style
from trex_tui.report.document import Table, number
from trex_tui.report.views.engine import by_bound, by_tensor_cores, totals_table
from trex_tui.text import format_bar
from trex_tui.widgets.table_model import fit

GAP = 2
"""Cells between a figure and what stands before it."""
LEAST_BAR, MOST_BAR = 4, 40
"""A bar of fewer cells tells nothing, one of more tells no more."""
LONGEST_LABEL = 16


def bar_lines(tables: Sequence[Table], width: int) -> list[list[Content]]:
    """The lines of each table, its title first; figures and bars of all of them stand below each other.

    The first column names a row, the one that has bars gives its bar, and `styles` are those of names and bars. Where there
    is little room, the first figures go first.
    """
    grids = [_texts(table) for table in tables]
    rows = [row for grid in grids for row in grid]
    label = min(max((cell_len(row[0]) for row in rows), default=0), LONGEST_LABEL)
    count = max(map(len, rows), default=1)
    widths = [max(cell_len(row[index]) for row in rows if index < len(row)) for index in range(1, count)]
    while len(widths) > 1 and label + _room(widths) + GAP + LEAST_BAR > width:
        del widths[0]
    length = max(0, min(width - label - _room(widths) - GAP, MOST_BAR))
    dropped = count - len(widths)

    def line(row: list[str], label_style: str, style: str) -> Content:
        cells = zip(row[dropped:], widths, strict=False)
        figures = "".join(" " * GAP + fit(cell, width, right=True) for cell, width in cells)
        return Content.assemble((fit(row[0], label, middle=True), label_style), (figures, style))

    return [
        [
            line(head, "bold $primary", "$muted"),
            *(
                Content.assemble(line(row, style, ""), " " * GAP, (format_bar(fraction, length), style))
                if length
                else line(row, style, "")
                for row, style, fraction in zip(grid, table.styles, _fractions(table), strict=True)
            ),
        ]
        for table, (head, *grid) in zip(tables, grids, strict=True)
    ]


def _texts(table: Table) -> list[list[str]]:
    titles = [column.title for column in table.columns[1:]] if table.rows else []
    cells = [table.texts(index) for index in range(len(table.columns))]
    return [[table.title, *titles], *map(list, zip(*cells, strict=True))]


def _fractions(table: Table) -> list[float | None]:
    bar_index = next(index for index, column in enumerate(table.columns) if column.has_bar)
    largest = table.largest(bar_index)
    values = [number(row[bar_index]) for row in table.rows]
    return [value / largest if value is not None and largest else None for value in values]


def _room(widths: Sequence[int]) -> int:
    return sum(width + GAP for width in widths)


_BOUNDS = {
    Bound.COMPUTE.value: "$success",
    Bound.BANDWIDTH.value: "$secondary",
    Bound.LAUNCH.value: "$warning",
}
_PRECISION_STYLES = {data_type.value: precision_style(data_type) for data_type in DataType}
_TENSOR_CORES = {"yes": "$success", "no": "$warning"}


def find_kind_style(name: str) -> str:
    return kind_style(LayerKind(name))


def find_precision_style(name: str) -> str:
    """Style of a precision by its name; `unknown` is one."""
    return _PRECISION_STYLES.get(name, "$muted")


def share_tables(engine: Engine, layers: Sequence[Layer]) -> list[Table]:
    """Time by kind and by precision, of some of an engine's layers."""
    kinds = totals_table("by_kind", "Kind", total_by_kind(engine, layers))
    precisions = totals_table("by_precision", "Precision", total_by_precision(engine, layers))
    return [_drawn(engine, kinds, find_kind_style), _drawn(engine, precisions, find_precision_style)]


def computed_share_tables(engine: Engine, layers: Sequence[Layer]) -> list[Table]:
    """Time by bound and by tensor cores: needs the products of all layers, and computes them if nobody has."""
    bounds, cores = by_bound(engine, layers), by_tensor_cores(engine, layers)
    known_bounds = bounds if any(total.key in _BOUNDS for total in bounds) else []
    tables = [_drawn(engine, totals_table("by_bound", "Bound", known_bounds, "Bound by"), _style_in(_BOUNDS))]
    if any(total.key in _TENSOR_CORES for total in cores):
        table = totals_table("by_tensor_cores", "Tensor cores", cores, "Tensor cores")
        tables.append(_drawn(engine, table, _style_in(_TENSOR_CORES)))
    return tables


def _style_in(styles: dict[str, str]) -> Callable[[str], str]:
    return lambda key: styles.get(key, "$muted")


def _drawn(engine: Engine, table: Table, style_of: Callable[[str], str]) -> Table:
    """A table with the colours of a terminal; without a profile, with bars for the numbers of layers."""
    name, layers, *times = table.columns
    shown = [name, replace(layers, title="n", has_bar=not engine.has_profile)]
    shown += times if engine.has_profile else []
    rows = [row[: len(shown)] for row in table.rows]
    return replace(table, columns=shown, rows=rows, styles=[style_of(row[0]) for row in table.rows])
