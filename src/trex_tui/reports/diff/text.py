"""Sections for a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trex_tui.reports.document import Section, Table
from trex_tui.reports.grid import Grid, print_grid

if TYPE_CHECKING:
    from rich.console import Console


def print_sections(shown: Iterable[Section], console: Console) -> None:
    """Sentences and tables; in a terminal texts give way so that a row is one line, in a pipe nothing is cut."""
    from rich.text import Text

    for section in shown:
        console.print(Text(section.title, style="bold yellow" if section.is_warning else "bold"))
        for sentence in section.sentences:
            console.print(Text(sentence, style="yellow" if section.is_warning else ""))
        for table in section.tables:
            _print_table(table, console)
        console.print()


def _print_table(table: Table, console: Console) -> None:
    columns = table.columns
    grid = Grid(
        [column.title for column in columns],
        [[column.text(value) for column, value in zip(columns, row, strict=True)] for row in table.rows],
        on_the_right=frozenset(index for index, column in enumerate(columns) if column.is_number),
        giving_way=frozenset(index for index, column in enumerate(columns) if column.flex),
        shorten=lambda index, text, width: columns[index].shorten(text, width),
    )
    print_grid(grid, console, "dim")
