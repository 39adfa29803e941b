"""Horizontal bars with their names and figures, as lines of an exact width."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from trex_tui.analysis.roofline import Bound
from trex_tui.analysis.structure import Total, total_by_kind, total_by_precision
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.engine import Engine
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.report.colours import kind_style, precision_style
from trex_tui.report.views.engine import by_bound, by_tensor_cores
from trex_tui.text import format_count, format_ms, format_pct
from trex_tui.widgets.table_model import bar, fit

GAP = 2
"""Cells between a figure and what stands before it."""
LEAST_BAR, MOST_BAR = 4, 40
"""A bar of fewer cells tells nothing, one of more tells no more."""
LONGEST_LABEL = 16


@dataclass(frozen=True, slots=True)
class Bar:
    """A line: a name, figures, and a bar.

    Attributes:
        cells: The figures, aligned right under the headings.
        fraction: Length of the bar, 0 to 1; None where it is unknown.
        style: Of the name and of the bar.
    """

    label: str
    cells: tuple[str, ...]
    fraction: float | None
    style: str = ""


@dataclass(frozen=True, slots=True)
class BarTable:
    """Bars under a title.

    Attributes:
        headings: Of the figures; none for a table without bars. Where there is little room, the first go first.
        notes: Sentences below the bars.
    """

    title: str
    headings: tuple[str, ...]
    bars: tuple[Bar, ...]
    notes: tuple[str, ...] = ()


def bar_lines(tables: Sequence[BarTable], width: int) -> list[list[Content]]:
    """The lines of each table, its title first; figures and bars of all of them stand below each other."""
    every = [one for table in tables for one in table.bars]
    names = [*(one.label for one in every), *(table.title for table in tables)]
    label = min(max(map(cell_len, names), default=0), LONGEST_LABEL)
    rows = [*(one.cells for one in every), *(table.headings for table in tables)]
    count = max(map(len, rows), default=0)
    widths = [max(cell_len(row[place]) for row in rows if place < len(row)) for place in range(count)]
    first = 0
    while first < count - 1 and label + _room(widths[first:]) + GAP + LEAST_BAR > width:
        first += 1
    widths = widths[first:]
    length = max(0, min(width - label - _room(widths) - GAP, MOST_BAR))
    return [
        [
            _line(table.title, table.headings[first:], label, widths, "bold $primary", "$muted"),
            *(_bar_line(one, first, label, widths, length) for one in table.bars),
        ]
        for table in tables
    ]


def _room(widths: Sequence[int]) -> int:
    return sum(width + GAP for width in widths)


def _line(
    label: str, cells: Sequence[str], room: int, widths: Sequence[int], label_style: str, cell_style: str
) -> Content:
    figures = "".join(
        " " * GAP + fit(cell, width, right=True) for cell, width in zip(cells, widths, strict=False)
    )
    return Content.assemble((fit(label, room, middle=True), label_style), (figures, cell_style))


def _bar_line(one: Bar, first: int, room: int, widths: Sequence[int], length: int) -> Content:
    figures = _line(one.label, one.cells[first:], room, widths, one.style, "")
    if not length:
        return figures
    return Content.assemble(figures, " " * GAP, (bar(one.fraction, length).rstrip(), one.style))


HEADINGS = ("n", "ms", "%")
"""Layers, their time, and its share."""
_BOUNDS = {
    Bound.COMPUTE.value: "$success",
    Bound.BANDWIDTH.value: "$secondary",
    Bound.LAUNCH.value: "$warning",
}
_PRECISION_STYLES = {one.value: precision_style(one) for one in DataType}
_TENSOR_CORES = {"yes": "$success", "no": "$warning"}


def kind_style_of(name: str) -> str:
    """Style of a kind by its name."""
    return kind_style(LayerKind(name))


def precision_style_of(name: str) -> str:
    """Style of a precision by its name; `unknown` is one."""
    return _PRECISION_STYLES.get(name, "$muted")


def share_tables(engine: Engine, layers: Sequence[Layer]) -> list[BarTable]:
    """Time by kind and by precision, of some of an engine's layers."""
    return [
        _share_table(engine, "By kind", total_by_kind(engine, layers), kind_style_of),
        _share_table(engine, "By precision", total_by_precision(engine, layers), precision_style_of),
    ]


def computed_share_tables(engine: Engine, layers: Sequence[Layer], notes: Sequence[str]) -> list[BarTable]:
    """Time by bound and by tensor cores: needs the products of all layers, and computes them if nobody has.

    Args:
        notes: Sentences on what is unknown of the bounds.
    """
    bounds, cores = by_bound(engine, layers), by_tensor_cores(engine, layers)
    told = [total for total in bounds if total.key in _BOUNDS]
    shown = bounds if told else []
    tables = [_share_table(engine, "Bound by", shown, _style_in(_BOUNDS), tuple(notes))]
    if any(total.key in _TENSOR_CORES for total in cores):
        tables.append(_share_table(engine, "Tensor cores", cores, _style_in(_TENSOR_CORES)))
    return tables


def _style_in(styles: Mapping[str, str]) -> Callable[[str], str]:
    return lambda key: styles.get(key, "$muted")


def _share_table(
    engine: Engine,
    title: str,
    totals: Sequence[Total],
    style_of: Callable[[str], str],
    notes: tuple[str, ...] = (),
) -> BarTable:
    """Totals as bars against the largest: by time or, without a profile, by layers."""
    timed = engine.has_profile
    sizes = [total.latency_ms or 0.0 if timed else float(total.layers) for total in totals]
    top = max(sizes, default=0.0)
    bars = [
        Bar(
            total.key,
            (format_count(total.layers), format_ms(total.latency_ms), format_pct(total.latency_pct))
            if timed
            else (format_count(total.layers),),
            size / top if top else None,
            style_of(total.key),
        )
        for total, size in zip(totals, sizes, strict=True)
    ]
    headings = (HEADINGS if timed else HEADINGS[:1]) if totals else ()
    return BarTable(title, headings, tuple(bars), notes)
