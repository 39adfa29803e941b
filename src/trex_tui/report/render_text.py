"""Long tables for a terminal or a pipe: a line for each row, columns two cells apart.

Rich's own table asks of every cell how narrow and how wide it could be, and makes, styles and crops a text of its own for
each: of 20 000 layers that took nine times what reading them takes. Cells here are plain, so a table is one string.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from trex_tui.report.document import Section, Table
from trex_tui.text import shorten_middle

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment

_GAP = 2
_LEAST_CELLS = 12
"""A text that gives way keeps as many."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Headings and cells, all harmless text.

    Attributes:
        rows: As long as the headings.
        on_the_right: Columns of numbers.
        giving_way: Columns whose texts are cut where there is no room.
        shorten: Cuts the text of a column to so many letters; without, it loses its middle.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    on_the_right: frozenset[int]
    giving_way: frozenset[int]
    shorten: Callable[[int, str, int], str] = lambda _, text, width: shorten_middle(text, width)


def print_grid(grid: Grid, console: Console, header_style: str, most: int | None = None) -> None:
    """Print a table; in a terminal texts give way so that a row is a line, in a pipe nothing is cut.

    Where even that leaves no room, lines are longer than the terminal is wide: no number is cut.

    Args:
        most: Cells that a text may take in a terminal even where there is room.
    """
    from rich.text import Text

    room = console.width if console.is_terminal else None
    head, *body = grid_lines(grid, room, most if console.is_terminal else None)
    console.print(Text(head, style=header_style), soft_wrap=True)
    if body:
        console.print(_Lines(body), soft_wrap=True)


def grid_lines(grid: Grid, room: int | None, most: int | None = None) -> list[str]:
    """The heading and a line for each row, without blanks at the end.

    Args:
        room: Cells that a line should have at most; None for as many as it needs.
        most: As `print_grid`.
    """
    columns = [
        _laid_out([heading, *cells], column in grid.on_the_right)
        for column, heading, cells in _shortened(grid, room, most)
    ]
    gap = " " * _GAP
    return [gap.join(cells).rstrip() for cells in zip(*columns, strict=True)]


def _shortened(grid: Grid, room: int | None, most: int | None) -> list[tuple[int, str, Sequence[str]]]:
    """Place, heading and cells of each column."""
    columns = [
        (place, heading, [row[place] for row in grid.rows]) for place, heading in enumerate(grid.headings)
    ]
    if room is None and most is None:
        return [(place, heading, cells) for place, heading, cells in columns]
    needed = [_width([heading, *cells]) for _, heading, cells in columns]
    limits = {place: needed[place] if most is None else min(needed[place], most) for place in grid.giving_way}
    if room is not None:
        limits = _shared(needed, limits, room)
    return [
        (place, heading, cells)
        if limits.get(place, needed[place]) >= needed[place]
        else (place, _fitted(heading, limits[place], shorten_middle), _cut(grid, place, cells, limits[place]))
        for place, heading, cells in columns
    ]


def _shared(needed: Sequence[int], limits: dict[int, int], room: int) -> dict[int, int]:
    """Cells that the columns that give way may take: they share what the others leave, and the narrowest takes only what it
    needs, so that what it leaves goes to the next."""
    fixed = sum(width for place, width in enumerate(needed) if place not in limits)
    left = room - _GAP * (len(needed) - 1) - fixed
    given: dict[int, int] = {}
    for count, place in enumerate(sorted(limits, key=lambda one: limits[one])):
        given[place] = min(limits[place], max(_LEAST_CELLS, left // (len(limits) - count)))
        left -= given[place]
    return given


def _width(cells: Sequence[str]) -> int:
    return max(map(_cells_of, cells))


def _cells_of(text: str) -> int:
    """Cells of a terminal that a text takes; what East Asian letters take two of."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _cut(grid: Grid, place: int, cells: Sequence[str], width: int) -> list[str]:
    return [_fitted(cell, width, partial(grid.shorten, place)) for cell in cells]


def _fitted(text: str, width: int, shorten: Callable[[str, int], str]) -> str:
    """A text in so many cells or fewer."""
    if _cells_of(text) <= width:
        return text
    letters = width
    while _cells_of(shown := shorten(text, letters)) > width and letters > 1:
        letters -= 1
    return shown


def _laid_out(cells: Sequence[str], is_right: bool) -> list[str]:
    width = _width(cells)
    blanks = (width - _cells_of(cell) for cell in cells)
    if is_right:
        return [" " * blank + cell for cell, blank in zip(cells, blanks, strict=True)]
    return [cell + " " * blank for cell, blank in zip(cells, blanks, strict=True)]


class _Lines:
    """What Rich prints as it is, in one piece."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    def __rich_console__(self, *_: object) -> Iterator[Segment]:
        from rich.segment import Segment

        yield Segment("\n".join(self._lines) + "\n")


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
