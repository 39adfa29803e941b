"""Documents for a terminal or a pipe: a line for each row of a table, columns two cells apart.

Rich's own table measures every cell, and creates, styles and crops a text for each: for 20 000 layers that took nine times as
long as reading them. Cells here are plain, so a table is one string.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from trex_tui.old.report.document import BAR_SCALE, Section, Table, displayed, number
from trex_tui.old.text import MISSING, format_bar, shorten_middle

if TYPE_CHECKING:
    from rich.console import Console as RichConsole
    from rich.segment import Segment

BAR_CELLS = 8
"""Width of the bars in a table of many columns."""
_BAR_CELLS = 24
_GAP = 2
_ENDLESS = 1_000_000
_MOST_MEASURED = 2_000
"""Number of rows of a table whose shortened texts are measured."""
_LEAST_CELLS = 12
"""Minimum cells of a flexible text."""


class PlainConsole:
    """Console of a pipe or a file: nothing is cut, padded or coloured. Rich's takes 40 ms to import."""

    is_terminal = False
    width = _ENDLESS

    def __init__(self, encoding: str = "utf-8") -> None:
        """Begin an empty text.

        Args:
            encoding: That of the destination.
        """
        self.encoding = encoding
        self._texts: list[str] = []

    @property
    def text(self) -> str:
        """What was printed, without blanks at the ends of lines."""
        lines = (line for text in self._texts for line in f"{text}\n".splitlines())
        return "".join(f"{line.rstrip()}\n" for line in lines)

    def print(self, shown: object = "", *, style: str = "", soft_wrap: bool = False) -> None:  # noqa: ARG002 - as of Rich
        """Add a text, or an object of Rich, and a line break."""
        self._texts.append(shown if isinstance(shown, str) else self._render(shown))

    def _render(self, shown: object) -> str:
        from rich.console import Console

        console = Console(file=io.StringIO(), width=self.width, color_system=None, force_terminal=False)
        with console.capture() as captured:
            console.print(shown)
        return captured.get().removesuffix("\n")


if TYPE_CHECKING:
    Console = PlainConsole | RichConsole


def plain_text(draw: Callable[[Console], None], stream: TextIO | None = None) -> str:
    """Return the drawn content for a pipe or a file: nothing is cut or padded to a width.

    Args:
        stream: Its destination, if the characters must be in its encoding.
    """
    console = PlainConsole(((stream and stream.encoding) or "utf-8").lower())
    draw(console)
    return console.text


def print_sections(sections: Iterable[Section], console: Console) -> None:
    """Print sections; in a terminal texts are shortened so that a row is one line, in a pipe nothing is cut."""
    for section in sections:
        console.print(section.title, style="bold yellow" if section.is_warning else "bold")
        for sentence in section.sentences:
            console.print(sentence, style="yellow" if section.is_warning else "")
        if section.facts:
            print_facts(section.facts, console)
        if section.folded:
            console.print(f"{len(section.folded)} more: --all", style="dim")
        for index, table in enumerate(map(displayed, section.tables)):
            if index:
                console.print()
            if any(column.has_bar for column in table.columns) and not any(c.flex for c in table.columns):
                print_bars(table, console)
            else:
                print_table(table, console)
        console.print()


def print_table(table: Table, console: Console, style: str = "dim", most: int | None = None) -> None:
    """Print a table; in a terminal bars, texts and columns are reduced as necessary.

    If even short texts leave no room, lines are longer than the terminal is wide: no number is cut.

    Args:
        style: Style of the headings.
        most: Maximum cells of a text in a terminal even if there is room.
    """
    if console.is_terminal:
        fitted = _drop_columns(table, console.width)
        _print_lines(table_lines(fitted, console.width, most, _bar_mark(console)), console, style)
    else:
        _print_lines(table_lines(table), console, style)


def _print_lines(lines: Sequence[str], console: Console, style: str) -> None:
    head, *body = lines
    console.print(head, style=style, soft_wrap=True)
    if body:
        text = "\n".join(body)
        console.print(text if isinstance(console, PlainConsole) else _PlainText(text), soft_wrap=True)


def _bar_mark(console: Console) -> str:
    is_ascii = os.environ.get("TREX_TUI_ASCII") or not console.encoding.startswith("utf")
    return "#" if is_ascii else "█"


def print_facts(facts: Iterable[tuple[str, str]], console: Console) -> None:
    """Print labels and texts below each other; long texts wrap beside their label."""
    rows = list(facts)
    if isinstance(console, PlainConsole):
        width = _measure(label for label, _ in rows)
        for label, text in rows:
            below = "\n" + " " * (width + _GAP)
            console.print(_align([label], width, is_right=False)[0] + " " * _GAP + text.replace("\n", below))
        return
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid.grid(padding=(0, _GAP))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for label, text in rows:
        grid.add_row(Text(label), Text(text))
    console.print(grid)


def print_bars(table: Table, console: Console) -> None:
    """Print a short table with a bar after each row, for the column that has bars."""
    index = next(index for index, column in enumerate(table.columns) if column.has_bar)
    top = table.largest(index)
    mark = _bar_mark(console)
    bars = [_bar_heading(mark) if top else ""]
    values = (number(row[index]) or 0.0 for row in table.rows)
    bars += [mark * round(_BAR_CELLS * value / top) if top else "" for value in values]
    columns = _cells(table)
    if isinstance(console, PlainConsole):
        aligned = [
            _align(cells, _measure(cells), column.is_number)
            for cells, column in zip(columns, table.columns, strict=True)
        ]
        for cells in zip(*aligned, bars, strict=True):
            console.print(" " * _GAP + (" " * 2 * _GAP).join(cells))
        return
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=None, padding=(0, _GAP), header_style="bold")
    for heading, column in zip((cells[0] for cells in columns), table.columns, strict=True):
        grid.add_column(heading, justify="right" if column.is_number else "left")
    grid.add_column(bars[0])
    for *texts, bar in zip(*(cells[1:] for cells in columns), bars[1:], strict=True):
        grid.add_row(*map(Text, texts), Text(bar, style="cyan"))
    console.print(grid)


def _drop_columns(table: Table, room: int) -> Table:
    """Omit columns, the largest priority first, until flexible ones have their minimum width."""
    kept = list(range(len(table.columns)))
    if not any(column.priority for column in table.columns):
        return table
    widths = [
        min(width, column.width) if column.flex else width
        for width, column in zip(map(_measure, _cells(table)), table.columns, strict=True)
    ]
    while sum(widths[index] + _GAP for index in kept) - _GAP + _bars_width(table, kept) > room:
        last = max(kept, key=lambda index: table.columns[index].priority)
        if table.columns[last].priority == 0:
            break
        kept.remove(last)
    columns = [table.columns[index] for index in kept]
    return replace(table, columns=columns, rows=[[row[index] for index in kept] for row in table.rows])


def _cells(table: Table) -> list[list[str]]:
    """Return the heading and the texts of each column."""
    return [[column.title, *table.texts(index)] for index, column in enumerate(table.columns)]


def _measure(cells: Iterable[str]) -> int:
    """Return the terminal cells of the widest text."""
    return max(map(_cell_count, cells))


def _bars_width(table: Table, indices: Iterable[int]) -> int:
    return sum(1 + BAR_CELLS for index in indices if table.columns[index].has_bar)


def table_lines(
    table: Table, room: int | None = None, most: int | None = None, bar_mark: str = ""
) -> list[str]:
    """Return lines of a table: the heading, then a line for each row.

    Args:
        room: Maximum cells of a line, if possible; None for no limit.
        most: Maximum cells of a flexible text even if there is room.
        bar_mark: Character of the bars beside columns that have them; empty for no bars.
    """
    columns = _cells(table)
    widths = list(map(_measure, columns))
    if room is not None or most is not None:
        limits = {
            index: widths[index] if most is None else min(widths[index], most)
            for index, column in enumerate(table.columns)
            if column.flex
        }
        if room is not None:
            taken = sum(width for index, width in enumerate(widths) if index not in limits)
            taken += _GAP * (len(widths) - 1) + (_bars_width(table, range(len(widths))) if bar_mark else 0)
            limits = _share(table, columns, limits, room - taken)
        for index, limit in limits.items():
            if limit < widths[index]:
                shorten = table.columns[index].shorten
                heading, *cells = columns[index]
                columns[index] = [
                    _fit(heading, limit, shorten_middle),
                    *(_fit(cell, limit, shorten) for cell in cells),
                ]
                widths[index] = _measure(columns[index])
    aligned = [
        _align(cells, width, column.is_number)
        for cells, width, column in zip(columns, widths, table.columns, strict=True)
    ]
    for index, column in enumerate(table.columns):
        if column.has_bar and bar_mark:
            bars = _bar_texts(table, index, bar_mark)
            aligned[index] = [f"{cell} {bar}" for cell, bar in zip(aligned[index], bars, strict=True)]
    gap = " " * _GAP
    return [gap.join(cells).rstrip() for cells in zip(*aligned, strict=True)]


def _bar_texts(table: Table, index: int, mark: str) -> list[str]:
    """Return the scale as heading, then a bar for each row, all of one width."""
    top = table.largest(index)
    fractions = ((number(row[index]) or 0.0) / top if top else 0.0 for row in table.rows)
    bars = (
        format_bar(fraction, BAR_CELLS) if mark == "█" else mark * round(fraction * BAR_CELLS)
        for fraction in fractions
    )
    return [f"{bar:<{BAR_CELLS}}" for bar in (_bar_heading(mark) if top else "", *bars)]


def _bar_heading(mark: str) -> str:
    return BAR_SCALE if mark == "█" else BAR_SCALE.replace("–", "-")


def _share(table: Table, texts: Sequence[Sequence[str]], limits: dict[int, int], room: int) -> dict[int, int]:
    """Return the cells of the flexible columns in `room`: narrow ones take only what they need, and leave the rest."""
    left = room
    if sum(limits.values()) <= left:
        return limits
    shares: dict[int, int] = {}
    for index, limit in limits.items():
        column = table.columns[index]
        if column.is_fitted_first and len(table.rows) <= _MOST_MEASURED:
            needed = _measure(column.shorten(text, limit) for text in texts[index])
            others = sum(
                min(max(_LEAST_CELLS, table.columns[other].width), limits[other])
                for other in limits
                if other != index
            )
            shares[index] = min(limit, max(_LEAST_CELLS, min(needed, left - others)))
    left -= sum(shares.values())
    waiting = sorted((index for index in limits if index not in shares), key=limits.__getitem__)
    for count, index in enumerate(waiting):
        shares[index] = min(limits[index], max(_LEAST_CELLS, left // (len(waiting) - count)))
        left -= shares[index]
    return shares


def _cell_count(text: str) -> int:
    """Return the cells of a text in a terminal; East Asian letters take two."""
    if text.isascii() or text == MISSING:
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _fit(text: str, width: int, shorten: Callable[[str, int], str]) -> str:
    """Return the text in a number of cells; short names even if the full one would fit, so that a column is uniform."""
    letters = width
    while _cell_count(shown := shorten(text, letters)) > width and letters > 1:
        letters -= 1
    return shown


def _align(cells: Sequence[str], width: int, is_right: bool) -> list[str]:
    blanks = (" " * (width - _cell_count(cell)) for cell in cells)
    return [blank + cell if is_right else cell + blank for cell, blank in zip(cells, blanks, strict=True)]


class _PlainText:
    """Lines that Rich prints in one piece."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_console__(self, *_: object) -> Iterator[Segment]:
        from rich.segment import Segment

        yield Segment(self._text + "\n")
