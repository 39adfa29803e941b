"""A comparison for a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trex_tui.reports.diff.choice import Shown
from trex_tui.reports.diff.sections import Section, Table, is_text, sections
from trex_tui.reports.grid import Grid, print_grid

if TYPE_CHECKING:
    from rich.console import Console


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
    places = range(len(table.headings))
    grid = Grid(
        table.headings,
        table.rows,
        on_the_right=frozenset(place for place in places if not is_text(section, place)),
        giving_way=table.wide,
        shorten=table.fitted,
    )
    print_grid(grid, console, "dim")
