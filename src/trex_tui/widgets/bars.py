"""Horizontal bars with their names and figures, as lines of an exact width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from trex_tui.widgets.table_layout import bar, fit

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
