"""Text in terminal cells, and a rectangle of them to draw on."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category, east_asian_width

from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import ELLIPSIS, is_number_with_unit, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from trex_tui.old.report.charts.figure import Target

_BLANK = " "
_TAIL = ""
"""Content of the second cell of a wide character."""
_HEAD = 6
"""Characters kept at the beginning of a name that is cut to distinguish it from another."""


class CellSpan(NamedTuple):
    """Text in one style, a theme token such as `bold $accent`; empty for plain text."""

    text: str
    style: str = ""


Line = tuple[CellSpan, ...]


def _cell_len(char: str) -> int:
    """Return the cells of a character. Rich knows wide characters and marks; it is loaded for the first possible one."""
    if char.isascii():
        return len(char)
    is_western = char < "\u1100" or "\u2010" <= char < "\u2630"
    if is_western and category(char)[0] in "LNPSZ" and east_asian_width(char) not in "WF":
        return 1
    from rich.cells import cell_len

    return cell_len(char)


def split_cells(text: str) -> list[str]:
    """Split printable text by cell: an empty string follows a wide character, and marks without width are dropped."""
    if text.isascii():
        return list(text)
    cells = []
    for char in text:
        width = _cell_len(char)
        if width:
            cells += [char, *[_TAIL] * (width - 1)]
    return cells


def shorten(text: str, width: int) -> str:
    """Return printable text of at most `width` cells: head and tail, since tails of names differ."""
    cells = split_cells(printable(text))
    if len(cells) <= width:
        return "".join(cells)
    if width <= 1:
        return ELLIPSIS[: max(0, width)]
    tail = (width - 1) * 3 // 5
    head = cells[: width - 1 - tail]
    if cells[len(head)] == _TAIL:
        head = head[:-1]
    end = cells[len(cells) - tail :] if tail else []
    return "".join([*head, ELLIPSIS, *(end[1:] if end and end[0] == _TAIL else end)])


def wrap_text(text: str, width: int, *, breaks_words: bool = True) -> list[str]:
    """Wrap text into lines of at most `width` cells, between words, but not between a number and its unit.

    Args:
        breaks_words: Break words that are longer than a line; else their line is longer, so that a link stays whole.
    """
    lines: list[str] = []
    line, used = "", 0
    for word in _pieces(text):
        cells = split_cells(word)
        if line and used + 1 + len(cells) > width:
            lines.append(line)
            line, used = "", 0
        while breaks_words and len(cells) > width > 1:
            lines.append("".join(cells[:width]))
            cells = cells[width:]
        line, used = (
            (f"{line} {''.join(cells)}", used + 1 + len(cells)) if line else ("".join(cells), len(cells))
        )
    return [*lines, line] if line else lines


def _pieces(text: str) -> list[str]:
    """Return the words, each number together with its unit."""
    pieces: list[str] = []
    for word in text.split(" "):
        if pieces and is_number_with_unit(pieces[-1], word):
            pieces[-1] += f" {word}"
        else:
            pieces.append(word)
    return pieces


def apart(names: Sequence[str], width: int) -> list[str]:
    """Return names in at most `width` cells, each different: head and tail, else head and the part that differs.

    Kernels differ somewhere in the middle of a hundred characters: a cut name continues with the word in which it first
    differs from names that would look the same. Names that no cut distinguishes get a number.
    """
    whole = [printable(name) for name in names]
    labels = [shorten(name, width) for name in names]
    for _ in names:
        groups = _alike(labels)
        if not groups:
            return labels
        for group in groups:
            _cut_at_difference(whole, group, labels, width)
    return _numbered(labels, width)


def fit_labels(names: Sequence[str], width: int, fit: Callable[[str, int], str] | None = None) -> list[str]:
    """Return names in at most `width` cells, by `apart` without a function that shortens one."""
    return apart(names, width) if fit is None else [shorten(fit(name, width), width) for name in names]


def _alike(labels: Sequence[str]) -> list[list[int]]:
    """Return the indices of equal labels."""
    indices: dict[str, list[int]] = {}
    for index, label in enumerate(labels):
        indices.setdefault(label, []).append(index)
    return [group for group in indices.values() if len(group) > 1]


def _cut_at_difference(whole: Sequence[str], group: Sequence[int], labels: list[str], width: int) -> None:
    common = _common([whole[index] for index in group])
    for index in group:
        name = whole[index]
        # Only as far back as the difference still fits into the label.
        start = max(name.rfind("_", 0, common) + 1, common - max(0, width - _HEAD - 3) // 2)
        begins = max(_HEAD, width - 1 - len(split_cells(name[start:])))
        head = f"{name[:begins]}{ELLIPSIS}" if start > begins else name[:start]
        cells = split_cells(head + name[start:])
        labels[index] = "".join(cells) if len(cells) <= width else _first(cells, width - 1) + ELLIPSIS


def _first(cells: Sequence[str], count: int) -> str:
    """Return at most `count` cells, without half of a wide character."""
    count = max(0, count)
    while 0 < count < len(cells) and not cells[count]:
        count -= 1
    return "".join(cells[:count])


def _common(names: Sequence[str]) -> int:
    """Return the number of characters that names have in common at the beginning."""
    first, last = min(names), max(names)
    differing = (index for index, (left, right) in enumerate(zip(first, last, strict=False)) if left != right)
    return next(differing, min(len(first), len(last)))


def _numbered(labels: list[str], width: int) -> list[str]:
    """Number equal labels: the second ends in `~2`, and so on."""
    for group in _alike(labels):
        number = 1
        for index in group[1:]:
            while True:
                number += 1
                end = f"~{number}"
                label = _first(split_cells(labels[index]), width - len(end)) + end
                if label not in labels:
                    break
            labels[index] = label
    return labels


# The rectangle


@dataclass(frozen=True, slots=True)
class Spot:
    """Cells that a cursor can be on.

    Attributes:
        x, y, width, height: Area that reacts to the pointer.
        indices: Content, the topmost first.
        target: Target of each index.
        foot: The row below in which a sign marks the cursor; None if the cells themselves are reversed.
    """

    x: int
    y: int
    width: int
    height: int
    indices: Sequence[int]
    target: Callable[[int], Target]
    foot: int | None = None

    @property
    def centre(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


class Grid:
    """Cells, each with a character and a style, shared with its parts. Drawing outside has no effect.

    Attributes:
        spots: Positions of a cursor, in cells of the whole grid.
    """

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = max(0, width), max(0, height)
        self._left = self._top = 0
        self.spots: list[Spot] = []
        self._chars = [[_BLANK] * self.width for _ in range(self.height)]
        self._styles = [[""] * self.width for _ in range(self.height)]

    def copy(self) -> Grid:
        """Return an independent grid with the same content."""
        other = copy(self)
        other.spots = list(self.spots)
        other._chars = [list(row) for row in self._chars]
        other._styles = [list(row) for row in self._styles]
        return other

    def part(self, x: int, y: int, width: int, height: int) -> Grid:
        """Return a rectangle of the grid, with coordinates relative to its own corner."""
        part = copy(self)
        part._left, part._top = self._left + x, self._top + y
        part.width, part.height = max(0, min(width, self.width - x)), max(0, min(height, self.height - y))
        return part

    def put(self, x: int, y: int, text: str, style: str = "") -> None:
        """Write text from a cell on. Text that does not fit is cut; half a wide character becomes a blank."""
        cells = split_cells(printable(text))[max(0, -x) : max(0, self.width - x)]
        if not cells or not 0 <= y < self.height:
            return
        row, start = self._chars[self._top + y], self._left + max(0, x)
        end = start + len(cells)
        # No half of a wide character is left beside the overwritten cells, or at an end of the text.
        if row[start] == _TAIL:
            row[start - 1] = _BLANK
        if end < len(row) and row[end] == _TAIL:
            row[end] = _BLANK
        if cells[0] == _TAIL:
            cells[0] = _BLANK
        if _cell_len(cells[-1]) > 1:
            cells[-1] = _BLANK
        row[start:end] = cells
        self._styles[self._top + y][start:end] = [style] * len(cells)

    def mark_spot(
        self,
        x: int,
        y: int,
        width: int,
        height: int,
        indices: Sequence[int],
        target: Callable[[int], Target],
        foot: int | None = None,
    ) -> None:
        """Allow a cursor on some cells."""
        foot = None if foot is None else self._top + foot
        self.spots.append(Spot(self._left + x, self._top + y, width, height, indices, target, foot))

    def restyle(self, x: int, y: int, style: str, width: int = 1) -> None:
        """Change the style of some cells of a row."""
        if 0 <= y < self.height:
            for column in range(max(0, x), min(self.width, x + width)):
                self._styles[self._top + y][self._left + column] = style

    def is_blank(self, x: int, y: int, width: int = 1) -> bool:
        """Return whether some cells of a row are blank; cells outside are not."""
        if not (0 <= y < self.height and x >= 0 and x + width <= self.width):
            return False
        start = self._left + x
        return all(char == _BLANK for char in self._chars[self._top + y][start : start + width])

    def label(self, x: int, y: int, text: str, style: str = "") -> bool:
        """Write text if it fits without touching other content; return whether it did."""
        width = len(split_cells(text))
        x = max(0, min(x, self.width - width))
        start, end = max(0, x - 1), min(self.width, x + width + 1)
        if not self.is_blank(start, y, end - start):
            return False
        self.put(x, y, text, style)
        return True

    def lines(self) -> tuple[Line, ...]:
        """Return every row, as text in as few spans as its styles allow."""
        return tuple(map(_spans, self._chars, self._styles))


def reverse_cells(line: Line, x: int, width: int) -> Line:
    """Return a line with some of its cells reversed."""
    chars, styles = _split_line(line)
    styles[x : x + width] = [f"{style} reverse".strip() for style in styles[x : x + width]]
    return _spans(chars, styles)


def replace_cells(line: Line, x: int, text: str, style: str) -> Line:
    """Return a line with some of its cells replaced by text of narrow characters."""
    chars, styles = _split_line(line)
    chars[x : x + len(text)], styles[x : x + len(text)] = list(text), [style] * len(text)
    return _spans(chars, styles)


def _split_line(line: Line) -> tuple[list[str], list[str]]:
    cells = [(char, span.style) for span in line for char in split_cells(span.text)]
    return [char for char, _ in cells], [style for _, style in cells]


def _spans(chars: list[str], styles: list[str]) -> Line:
    spans, x = [], 0
    for style, run in groupby(styles):
        end = x + len(list(run))
        spans.append(CellSpan("".join(chars[x:end]), style))
        x = end
    return tuple(spans)
