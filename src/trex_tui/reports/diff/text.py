"""A comparison for a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trex_tui.reports.diff.choice import Shown
from trex_tui.reports.diff.sections import Section, Table, is_text, sections

if TYPE_CHECKING:
    from rich.console import Console

_LEAST_CELLS = 12
_GAP = 2


def print_diff(shown: Shown, console: Console) -> None:
    """Sentences and tables; in a terminal texts give way so that a row is one line, in a pipe nothing is cut."""
    print_sections(list(sections(shown)), console)


def print_sections(shown: Sequence[Section], console: Console) -> None:
    """Any sections."""
    from rich.text import Text

    for section in shown:
        console.print(Text(section.title, style="bold yellow" if section.is_warning else "bold"))
        for line in section.lines:
            console.print(Text(line, style="yellow" if section.is_warning else ""))
        if section.table:
            _print_table(section, section.table, console)
        console.print()


def _print_table(section: Section, table: Table, console: Console) -> None:
    from rich.table import Table as RichTable
    from rich.text import Text

    widths = _widths(table, console.width if console.is_terminal else None)
    drawn = RichTable(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="dim", title=None)
    for column, heading in enumerate(table.headings):
        drawn.add_column(Text(heading), justify="left" if is_text(section, column) else "right", no_wrap=True)
    for row in table.rows:
        cells = [
            Text(table.fitted(column, cell, width) if width is not None else cell)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        drawn.add_row(*cells)
    console.print(drawn)


def _widths(table: Table, room: int | None) -> list[int | None]:
    """Cells that each column may take: the wide ones share what the others leave; None for as many as it needs."""
    if room is None:
        return [None] * len(table.headings)
    needed = [
        max(len(heading), *(len(row[column]) for row in table.rows), 0)
        for column, heading in enumerate(table.headings)
    ]
    left = (
        room
        - _GAP * (len(needed) - 1)
        - sum(n for column, n in enumerate(needed) if column not in table.wide)
    )
    widths: list[int | None] = [None] * len(needed)
    # The narrowest takes what it needs, and what it leaves goes to the next.
    waiting = sorted(table.wide, key=lambda column: needed[column])
    for place, column in enumerate(waiting):
        width = min(needed[column], max(_LEAST_CELLS, left // (len(waiting) - place)))
        widths[column] = width
        left -= width
    return widths
