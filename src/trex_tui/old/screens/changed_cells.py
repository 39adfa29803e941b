"""Copy of the cells on the terminal, to write only the cells that change.

Textual writes every line of a changed widget completely, each segment with all its colours, and a change of screen three
times: 80 kB, of which three quarters are colour sequences. Over a slow line this is the delay that the user sees. Here the
text that Textual writes fills a grid of cells; when nothing more is queued, cells that differ from those on the screen are
written style by style: moving the cursor costs less than a colour. Frames that queue up behind a slow line become one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from rich.cells import get_character_cell_size

from trex_tui.old.lazy_dataclass import dataclass

_TOKEN = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f]+)"
    r"|\x1b\[(?P<sgr>[0-9;]*)m"
    r"|\x1b\[(?P<row>[0-9]+);(?P<column>[0-9]+)H"
    r"|(?P<newline>\r?\n)"
    r"|\x1b\[\?2026(?P<synchronized>[hl])"
    r"|(?P<alternate>\x1b\[\?1049[hl])"
    r"|\x1b\]8;(?P<link>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    # Other modes, titles, the clipboard and the bell leave the cells as they are.
    r"|(?P<harmless>\x1b\[\?[0-9;]+(?:[hl]|\$p)|\x1b\[[<>][0-9;]*u|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x07)"
    r"|(?P<unknown>\x1b\[[0-9;?<=>!$ ]*[@-~]|\x1b[^\[]|.)",
    re.DOTALL,
)
_ATTRIBUTES_OFF = {"2": "22", "1": "22", "3": "23", "4": "24", "5": "25", "7": "27", "8": "28", "9": "29"}
_SHOWN_ON_BLANKS = frozenset("45679")
"""Attributes that are visible in blank cells: underline, blinking, reverse, strike-through."""
_MOST_GAP = 4
"""Longest gap of unchanged cells that is written again, because moving the cursor costs as many bytes."""
_BLANKS = re.compile(" {6,}$| {12,}")
"""Fewest blanks that are erased instead of written, at the end of a line and before other characters."""

_LEAST_SCROLLED, _LEAST_SHARE = 4, 0.8
"""Fewest lines, and smallest share of the lines between the first and last of them, that are scrolled."""


class Style(NamedTuple):
    """The style of a cell, as parameters of SGR; empty for the terminal's own.

    Attributes:
        attributes: Bold and such, one parameter each.
        link: Parameters and address of OSC 8.
    """

    attributes: tuple[str, ...] = ()
    foreground: str = ""
    background: str = ""
    link: str = ""


_PLAIN = Style()


class Output(Protocol):
    """A terminal's file."""

    def write(self, text: str, /) -> int: ...
    def flush(self) -> None: ...


class _Row:
    """A line of cells: characters and styles. The second cell of a wide character is empty."""

    __slots__ = ("characters", "styles")

    def __init__(self) -> None:
        self.characters: list[str] = []
        self.styles: list[Style] = []

    @property
    def is_even(self) -> bool:
        """True if every cell holds one character. Terminals differ about the others: such a line is written whole."""
        return "" not in self.characters and len("".join(self.characters)) == len(self.characters)

    def put(self, column: int, text: str, style: Style) -> int:
        """Write a text and return the column after it."""
        if (missing := column - len(self.characters)) > 0:
            self.characters += [" "] * missing
            self.styles += [_PLAIN] * missing
        cells = list(text) if text.isascii() else _cells(text)
        if cells and not get_character_cell_size(cells[0][0]):
            mark = cells.pop(0)
            if column:
                self.characters[column - 1] += mark
        end = column + len(cells)
        self.characters[column:end] = cells
        self.styles[column:end] = [style] * len(cells)
        return end

    def copy(self) -> _Row:
        row = _Row()
        row.characters, row.styles = self.characters[:], self.styles[:]
        return row


@dataclass(slots=True)
class _Run:
    """Cells of a line to be written in one style."""

    row: int
    start: int
    end: int
    style: Style
    look: Style
    """Part of the style that is visible in blank cells."""
    is_blank: bool


def _cells(text: str) -> list[str]:
    """Return one cell per column: an empty cell follows a wide character, and zero-width characters join the cell before."""
    cells: list[str] = []
    for character in text:
        size = get_character_cell_size(character)
        if size == 0 and cells:
            cells[-1] += character
        else:
            cells += [character, *[""] * (size - 1)]
    return cells


class ChangedCells:
    """File of a terminal that takes frames and writes only changed cells.

    Args:
        file: The terminal.
        size: Columns and rows of the terminal.
        erases_in_colour: Whether the terminal erases cells to the background that is set (`bce` in terminfo).
    """

    def __init__(
        self, file: Output, size: Callable[[], tuple[int, int]], *, erases_in_colour: bool = False
    ) -> None:
        self._file, self._size, self._erases_in_colour = file, size, erases_in_colour
        self._wanted: list[_Row] = []
        self._shown: list[_Row] = []
        self._touched: set[int] = set()
        self._column, self._row = 0, 0
        self._style = _PLAIN
        self._cursor: tuple[int, int] | None = None
        self._written_style: Style | None = None
        self._is_synchronized = False
        self._is_forgotten = True

    def forget(self) -> None:
        """Redraw every cell with the next frame, because the terminal changed by itself. Thread-safe."""
        self._is_forgotten = True

    def write(self, text: str) -> int:
        """Take a part of a frame. Sequences other than cells are written at once, after the cells before them."""
        for match in _TOKEN.finditer(text):
            match match.lastgroup:
                case "text":
                    self._put(match["text"])
                case "sgr":
                    self._style = _styled(self._style, match["sgr"])
                case "column":
                    self._row, self._column = int(match["row"]) - 1, int(match["column"]) - 1
                case "newline":
                    self._row, self._column = self._row + 1, 0
                case "synchronized":
                    self._is_synchronized = True
                case "link":
                    self._style = self._style._replace(link="" if match["link"] == ";" else match["link"])
                case "alternate":
                    self._write_changes()
                    self._file.write(match[0])
                    self._wanted = []  # the frame belongs to the screen before, not to that of the shell
                    self.forget()
                case "harmless":
                    self._write_changes()
                    self._file.write(match[0])
                case _:
                    self._write_changes()
                    self._file.write(match[0])
                    self.forget()
        return len(text)

    def flush(self) -> None:
        """Write what has changed."""
        self._write_changes()
        self._file.flush()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever else a file has
        return getattr(self._file, name)

    def _put(self, text: str) -> None:
        while len(self._wanted) <= self._row:
            self._wanted.append(_Row())
        self._column = self._wanted[self._row].put(self._column, text, self._style)
        self._touched.add(self._row)

    def _write_changes(self) -> None:
        columns, rows = self._size() if self._touched or self._is_forgotten else (0, 0)
        if self._is_forgotten:
            self._is_forgotten = False
            self._shown, self._cursor, self._written_style = [], None, None
            self._touched.update(range(len(self._wanted)))
        written = self._scrolled(rows)
        in_order: list[_Run] = []
        by_style: list[_Run] = []
        for number in sorted(self._touched):
            if number < rows:
                is_even, runs = self._changed_runs(number, columns)
                (by_style if is_even else in_order).extend(runs)
        self._touched.clear()
        for run in (*in_order, *_sorted_by_style(by_style, self._written_style)):
            written += self._moved(run.row, run.start)
            if run.style is not self._written_style:
                written.append(_style_change(self._written_style, run.style))
                self._written_style = run.style
            written += self._cells_of(run, columns)
        if self._wanted and self._cursor != (self._row, self._column):
            written += self._moved(self._row, self._column)
        if self._written_style and self._written_style.link:
            written.append(_link_change(self._written_style.link, ""))
            self._written_style = self._written_style._replace(link="")
        if written:
            changes = "".join(written)
            self._file.write(f"\x1b[?2026h{changes}\x1b[?2026l" if self._is_synchronized else changes)

    def _scrolled(self, rows: int) -> list[str]:
        """Have the terminal scroll lines that moved up or down."""
        lines = [number for number in sorted(self._touched) if number < min(rows, len(self._shown))]
        top, bottom, shift = _find_scroll(lines, self._wanted, self._shown)
        if not shift:
            return []
        first, last = min(top, top + shift), max(bottom, bottom + shift)
        gone, new = (first, last + 1 - shift) if shift > 0 else (last + 1 + shift, first)
        del self._shown[gone : gone + abs(shift)]
        self._shown[new:new] = [_Row() for _ in range(abs(shift))]
        self._touched.update(range(first, last + 1))
        self._cursor = None
        region = f"\x1b[{first + 1};{last + 1}r\x1b[{first + 1}H"
        return [f"{region}\x1b[{abs(shift)}{'M' if shift > 0 else 'L'}\x1b[r"]

    def _changed_runs(self, number: int, columns: int) -> tuple[bool, Iterable[_Run]]:
        """Return the changes that update a line of the screen, and whether they may be written in any order."""
        while len(self._shown) <= number:
            self._shown.append(_Row())
        wanted, shown = self._wanted[number], self._shown[number]
        del wanted.characters[columns:], wanted.styles[columns:]
        if wanted.characters == shown.characters and wanted.styles == shown.styles:
            return True, ()
        self._shown[number] = wanted.copy()
        if wanted.is_even and shown.is_even:
            return True, _runs(number, wanted, _changed_columns(wanted, shown))
        return False, _runs_of_all(number, wanted)

    def _cells_of(self, run: _Run, columns: int) -> Iterator[str]:
        """Return the characters of a run; long blanks are erased and skipped."""
        characters = self._wanted[run.row].characters
        text, written, end = "".join(characters[run.start : run.end]), 0, run.end
        if self._erases_in_colour and _is_bare(run.style):
            for blanks in _BLANKS.finditer(text):
                count = len(blanks[0])
                yield f"{text[written : blanks.start()]}\x1b[{count}X"
                written = blanks.end()
                if written < len(text):
                    yield f"\x1b[{count}C"
                else:
                    end -= count
        yield text[written:]
        # Behind the last column, and behind a wide character, terminals differ about where the cursor is.
        is_known = end < columns and (end == run.start or len(characters[end - 1]) == 1)
        self._cursor = (run.row, end) if is_known else None

    def _moved(self, row: int, column: int) -> list[str]:
        if self._cursor == (row, column):
            return []
        before, self._cursor = self._cursor, (row, column)
        return [min(_moves(before, row, column), key=len)]


def _find_scroll(lines: Sequence[int], wanted: Sequence[_Row], shown: Sequence[_Row]) -> tuple[int, int, int]:
    """Return the first and last line of a block that moved, and its distance; distance 0 if nothing moved."""
    places: dict[str, int] = {}
    for number in lines:
        places.setdefault("".join(shown[number].characters), number)
    shifts = {
        number: place - number
        for number in lines
        if (place := places.get(text := "".join(wanted[number].characters), number)) != number
        and text.strip()
    }
    if not shifts:
        return 0, 0, 0
    shift, count = Counter(shifts.values()).most_common(1)[0]
    moved = [number for number, by in shifts.items() if by == shift]
    top, bottom = moved[0], moved[-1]
    is_worth_it = count >= _LEAST_SCROLLED and count > _LEAST_SHARE * (bottom + 1 - top)
    return (top, bottom, shift) if is_worth_it else (0, 0, 0)


def _moves(before: tuple[int, int] | None, row: int, column: int) -> Iterator[str]:
    """Return the sequences that move the cursor to a cell; relative ones only if its position is known."""
    yield f"\x1b[{row + 1};{column + 1}H" if column else f"\x1b[{row + 1}H"
    if before is not None:
        down, right = row - before[0], column - before[1]
        # A vertical tab moves down a line; a line feed would, too, but the system makes it return the cursor as well.
        vertical = "\v" * down if 0 < down < 4 else _steps(down, "B", "A")
        yield vertical + ("\b" * -right if -4 < right < 0 else _steps(right, "C", "D"))


def _steps(count: int, forward: str, back: str) -> str:
    letter = forward if count > 0 else back
    return f"\x1b[{abs(count) if abs(count) > 1 else ''}{letter}" if count else ""


def _changed_columns(wanted: _Row, shown: _Row) -> list[int]:
    known = len(shown.characters)
    cells = zip(wanted.characters, wanted.styles, shown.characters, shown.styles, strict=False)
    changed = [
        column
        for column, (character, style, before, style_before) in enumerate(cells)
        if character != before
        or (style is not style_before and not _look_alike(character, style, style_before))
    ]
    return changed + list(range(known, len(wanted.characters)))


def _runs(number: int, row: _Row, columns: Iterable[int]) -> list[_Run]:
    """Return the cells of a line in as few runs as possible; short gaps are written again."""
    runs: list[_Run] = []
    run = _Run(number, -1, -1, _PLAIN, _PLAIN, is_blank=False)
    for column in columns:
        style, is_blank = row.styles[column], row.characters[column] == " "
        look = _style_of_blank(style)
        if is_blank:
            style = look
        if run.end == column and run.is_blank and look == run.style:
            run.style, run.is_blank = style, is_blank
        is_next = run.end == column and (style is run.style or (is_blank and look is run.look))
        if is_next or _can_extend(run, row, column):
            run.end = column + 1
        else:
            run = _Run(number, column, column + 1, style, look, is_blank)
            runs.append(run)
    return runs


def _can_extend(run: _Run, row: _Row, column: int) -> bool:
    """Return whether a run can be extended to a later cell."""
    if run.end < 0 or column - run.end > _MOST_GAP:
        return False
    if not _look_alike(row.characters[column], row.styles[column], run.style):
        return False
    gap = row.characters[run.end : column]
    return len("".join(gap).encode()) <= _MOST_GAP and all(
        _look_alike(character, style, run.style)
        for character, style in zip(gap, row.styles[run.end : column], strict=True)
    )


def _runs_of_all(number: int, row: _Row) -> Iterator[_Run]:
    """Return runs of all cells; a character that is not one cell wide ends its run."""
    sizes = [len(character) for character in row.characters]
    starts = [0, *(column for column in range(1, len(sizes)) if sizes[column] and sizes[column - 1] != 1)]
    for start, end in zip(starts, [*starts[1:], len(sizes)], strict=True):
        yield from _runs(number, row, range(start, end))


def _sorted_by_style(runs: Iterable[_Run], current: Style | None) -> list[_Run]:
    """Return the runs with the fewest changes of style; blanks take any style with their background."""
    runs = list(runs)
    styles = {run.look: run.style for run in runs if not run.is_blank}
    before = current or _PLAIN
    styles[_style_of_blank(before)] = before
    for run in runs:
        if run.is_blank:
            run.style = styles.get(run.look, run.style)

    def cost(run: _Run) -> list[tuple[bool, object]]:
        """Sort the current style first; attributes, which are short, change most often."""
        pairs = zip(run.style, before, strict=True)
        return [(part != other, part) for part, other in reversed(list(pairs))]

    return sorted(runs, key=cost)


@lru_cache(maxsize=4096)
def _styled(style: Style, parameters: str) -> Style:
    """Return the style after an SGR sequence."""
    attributes, foreground, background = list(style.attributes), style.foreground, style.background
    rest = iter(parameters.split(";"))
    for parameter in rest:
        if parameter in ("", "0"):
            attributes, foreground, background = [], "", ""
        elif parameter in ("38", "48"):
            mode = next(rest, "")
            colour = ";".join([parameter, mode, *(next(rest, "0") for _ in range(3 if mode == "2" else 1))])
            if parameter == "38":
                foreground = colour
            else:
                background = colour
        elif parameter in ("39", "49") or (len(parameter) > 1 and parameter[:-1] in ("3", "4", "9", "10")):
            is_foreground = parameter[:-1] in ("3", "9")
            colour = "" if parameter in ("39", "49") else parameter
            foreground, background = (colour, background) if is_foreground else (foreground, colour)
        elif parameter not in attributes:
            attributes.append(parameter)
    return Style(tuple(sorted(attributes)), foreground, background, style.link)


@lru_cache(maxsize=4096)
def _style_change(before: Style | None, after: Style) -> str:
    """The shortest sequence from one style to another, or from an unknown one."""
    if before is None:
        return _link_change("", after.link) + f"\x1b[{';'.join(('0', *_parameters(after)))}m"
    codes: list[str] = []
    gone = [name for name in before.attributes if name not in after.attributes]
    new = [name for name in after.attributes if name not in before.attributes]
    # 22 ends bold and dim; where one of them stays, and for what has no end of its own, everything is set again.
    is_half = {"1", "2"} & set(gone) and {"1", "2"} & set(after.attributes)
    if is_half or any(name not in _ATTRIBUTES_OFF for name in gone):
        codes = ["0", *_parameters(after)]
    else:
        codes += dict.fromkeys(_ATTRIBUTES_OFF[name] for name in gone)
        codes += new
        if before.foreground != after.foreground:
            codes.append(after.foreground or "39")
        if before.background != after.background:
            codes.append(after.background or "49")
    if after == _PLAIN._replace(link=after.link):
        codes = [""]
    return _link_change(before.link, after.link) + (f"\x1b[{';'.join(codes)}m" if codes else "")


def _parameters(style: Style) -> list[str]:
    return [*style.attributes, *filter(None, (style.foreground, style.background))]


def _is_bare(style: Style) -> bool:
    """Return whether a blank cell in a style shows only its background."""
    return not (_SHOWN_ON_BLANKS & set(style.attributes) or style.link)


@lru_cache(maxsize=4096)
def _style_of_blank(style: Style) -> Style:
    """Return the part of a style that is visible in a blank cell."""
    return Style(background=style.background) if _is_bare(style) else style


def _look_alike(character: str, style: Style, other: Style) -> bool:
    """Return whether a character looks the same in two styles."""
    return (
        style is other
        or style == other
        or (character == " " and _style_of_blank(style) == _style_of_blank(other))
    )


def _link_change(before: str, after: str) -> str:
    return "" if before == after else f"\x1b]8;{after or ';'}\x1b\\"
