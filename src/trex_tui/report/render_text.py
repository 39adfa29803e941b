"""Documents for a terminal or a pipe: a line for each row of a table, columns two cells apart.

Rich's own table asks of every cell how narrow and how wide it could be, and makes, styles and crops a text of its own for
each: of 20 000 layers that took nine times what reading them takes. Cells here are plain, so a table is one string.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from trex_tui.report.document import Section, Table, number
from trex_tui.text import shorten_middle

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment

_BAR_CELLS = 24
_GAP = 2
_LEAST_CELLS = 12
"""Cells that a flexible text keeps at least."""


def print_sections(sections: Iterable[Section], console: Console) -> None:
    """Print sections; in a terminal texts give way so that a row is one line, in a pipe nothing is cut."""
    from rich.text import Text

    for section in sections:
        console.print(Text(section.title, style="bold yellow" if section.is_warning else "bold"))
        for sentence in section.sentences:
            console.print(Text(sentence, style="yellow" if section.is_warning else ""))
        for table in section.tables:
            print_table(table, console)
        console.print()


def print_table(table: Table, console: Console, style: str = "dim", most: int | None = None) -> None:
    """Print a table; where even short texts leave no room, lines are longer than the terminal is wide: no number is cut.

    Args:
        style: Of the headings.
        most: Cells that a text may take in a terminal even where there is room.
    """
    from rich.text import Text

    room = console.width if console.is_terminal else None
    head, *body = table_lines(table, room, most if console.is_terminal else None)
    console.print(Text(head, style=style), soft_wrap=True)
    if body:
        console.print(_PlainLines(body), soft_wrap=True)


def print_facts(facts: Iterable[tuple[str, str]], console: Console) -> None:
    """Print labels and texts below each other; long texts wrap beside their label."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for label, text in facts:
        grid.add_row(Text(label), Text(text))
    console.print(grid)


def print_bars(table: Table, console: Console) -> None:
    """Print a short table with a bar behind each row, for the column that has bars."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=None, padding=(0, 2), header_style="bold")
    for column in table.columns:
        grid.add_column(column.title, justify="right" if column.is_number else "left")
    grid.add_column("")
    index = next(index for index, column in enumerate(table.columns) if column.has_bar)
    top = table.largest(index)
    mark = "█" if console.encoding.startswith("utf") else "#"
    for row, *texts in zip(table.rows, *map(table.texts, range(len(table.columns))), strict=True):
        bar = mark * round(_BAR_CELLS * (number(row[index]) or 0.0) / top) if top else ""
        grid.add_row(*map(Text, texts), Text(bar, style="cyan"))
    console.print(grid)


def table_lines(table: Table, room: int | None = None, most: int | None = None) -> list[str]:
    """Lines of a table: the heading, then a line for each row.

    Args:
        room: Cells that a line should have at most; None for as many as it needs.
        most: Cells that a flexible text may take even where there is room.
    """
    columns = [[column.title, *table.texts(index)] for index, column in enumerate(table.columns)]
    widths = [max(map(_cell_count, cells)) for cells in columns]
    if room is not None or most is not None:
        limits = {
            index: widths[index] if most is None else min(widths[index], most)
            for index, column in enumerate(table.columns)
            if column.flex
        }
        if room is not None:
            limits = _share(widths, limits, room)
        for index, limit in limits.items():
            if limit < widths[index]:
                shorten = table.columns[index].shorten
                heading, *cells = columns[index]
                columns[index] = [
                    _fit(heading, limit, shorten_middle),
                    *(_fit(cell, limit, shorten) for cell in cells),
                ]
                widths[index] = max(map(_cell_count, columns[index]))
    aligned = [
        _align(cells, width, column.is_number)
        for cells, width, column in zip(columns, widths, table.columns, strict=True)
    ]
    gap = " " * _GAP
    return [gap.join(cells).rstrip() for cells in zip(*aligned, strict=True)]


def _share(widths: Sequence[int], limits: dict[int, int], room: int) -> dict[int, int]:
    """Cells of the flexible columns: they share what the others leave, and a narrow one takes only what it needs."""
    fixed = sum(width for index, width in enumerate(widths) if index not in limits)
    left = room - _GAP * (len(widths) - 1) - fixed
    shares: dict[int, int] = {}
    for count, index in enumerate(sorted(limits, key=lambda index: limits[index])):
        shares[index] = min(limits[index], max(_LEAST_CELLS, left // (len(limits) - count)))
        left -= shares[index]
    return shares


def _cell_count(text: str) -> int:
    """Cells of a text in a terminal; East Asian letters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _fit(text: str, width: int, shorten: Callable[[str, int], str]) -> str:
    if _cell_count(text) <= width:
        return text
    letters = width
    while _cell_count(shown := shorten(text, letters)) > width and letters > 1:
        letters -= 1
    return shown


def _align(cells: Sequence[str], width: int, is_right: bool) -> list[str]:
    blanks = (" " * (width - _cell_count(cell)) for cell in cells)
    return [blank + cell if is_right else cell + blank for cell, blank in zip(cells, blanks, strict=True)]


class _PlainLines:
    """Lines that Rich prints in one piece."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    def __rich_console__(self, *_: object) -> Iterator[Segment]:
        from rich.segment import Segment

        yield Segment("\n".join(self._lines) + "\n")
