"""Cells of a table as text of an exact width, and the columns that fit across it.

Widths are terminal cells, not characters: a CJK ideograph takes two, a combining mark none, and a row that is
one cell off shifts everything to its right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from rich.cells import cell_len, set_cell_size

from trex_tui.text import ELLIPSIS, printable, shorten_middle
from trex_tui.widgets.table_model import Column, Row

MARGIN = 1
"""Cells before the first column, where a mark is drawn."""
GAP = 1
"""Cells between columns."""
MIN_FLEX_WIDTH = 8
"""A flexible column shrinks to this before the line is cut."""

_EIGHTHS = " ▏▎▍▌▋▊▉"
_VARIATION_SELECTORS = dict.fromkeys(range(0xFE00, 0xFE10))


@dataclass(frozen=True, slots=True)
class PlacedColumn(Generic[Row]):
    """A column that is shown, with the cells it got."""

    column: Column[Row]
    start: int
    text_width: int
    bar_width: int
    """0 where there is no bar, or no room for it."""

    @property
    def width(self) -> int:
        """Cells for text, bar and the gap between them."""
        return _joined(self.text_width, self.bar_width)

    @property
    def end(self) -> int:
        """The first cell after the column."""
        return self.start + self.width


def place_columns(
    columns: Sequence[Column[Row]], available: int, pinned: str | None = None
) -> list[PlacedColumn[Row]]:
    """Choose the columns that fit into `available` cells, and give each its place.

    Columns go by priority, but the one called `pinned` stays. If the rest is still too wide, bars go first,
    then flexible columns shrink, then the line is cut at its end. Flexible columns get the cells left over.
    """
    shown = list(columns)
    while _needed(shown) > available:
        droppable = [column for column in reversed(shown) if column.priority > 0 and column.key != pinned]
        if not droppable:
            break
        first_to_go = max(droppable, key=lambda column: column.priority)
        shown = [column for column in shown if column is not first_to_go]
    bars = _needed(shown) <= available
    widths = [column.width for column in shown]
    _stretch(shown, widths, available - _needed(shown, bars=bars))
    return _cut(shown, widths, available, bars=bars)


def fit(text: str, width: int, *, right: bool = False, middle: bool = False) -> str:
    """Make `text` harmless and exactly `width` cells wide: padded, or cut where an ellipsis says so."""
    text = clean(text)
    missing = width - _cells(text)
    if missing < 0:
        text = _shorten(text, width, middle=middle)
        missing = width - _cells(text)
    return " " * missing + text if right else text + " " * missing


def _cells(text: str) -> int:
    """Cells of a harmless text; for names of thousands of ASCII characters without looking at each."""
    return len(text) if text.isascii() else cell_len(text)


def clean(text: str) -> str:
    """Make `text` harmless, and drop variation selectors: terminals disagree about the width they give."""
    text = printable(text)
    return text if text.isascii() else text.translate(_VARIATION_SELECTORS)


def bar(fraction: float | None, width: int) -> str:
    """Draw `fraction` of `width` cells in steps of an eighth; anything above zero shows."""
    if fraction is None or math.isnan(fraction) or fraction <= 0:
        return " " * width
    eighths = max(1, round(min(fraction, 1.0) * width * 8))
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


def _needed(columns: Sequence[Column[Row]], *, bars: bool = True) -> int:
    cells = sum(_joined(column.width, column.bar_width if bars and column.bar else 0) for column in columns)
    return MARGIN + cells + GAP * max(0, len(columns) - 1)


def _joined(text_width: int, bar_width: int) -> int:
    return text_width + bar_width + (1 if text_width and bar_width else 0)


def _stretch(columns: Sequence[Column[Row]], widths: list[int], spare: int) -> None:
    """Share `spare` cells, or the lack of them, among the flexible columns."""
    flexible = [index for index, column in enumerate(columns) if column.flex]
    for position, index in enumerate(flexible):
        share = spare // (len(flexible) - position)
        wanted = max(widths[index] + share, min(widths[index], MIN_FLEX_WIDTH))
        spare -= wanted - widths[index]
        widths[index] = wanted


def _cut(
    columns: Sequence[Column[Row]], widths: Sequence[int], available: int, *, bars: bool
) -> list[PlacedColumn[Row]]:
    placed: list[PlacedColumn[Row]] = []
    start = MARGIN
    for column, width in zip(columns, widths, strict=True):
        bar_width = column.bar_width if bars and column.bar else 0
        room = available - start
        if room <= 0:
            break
        place = PlacedColumn(column, start, width if bar_width else min(width, room), bar_width)
        placed.append(place)
        start = place.end + GAP
    return placed


def _shorten(text: str, width: int, *, middle: bool) -> str:
    """Cut `text`, which is wider, to at most `width` cells."""
    if width <= 1:
        return ELLIPSIS[:width]
    if not middle:
        return set_cell_size(text, width - 1).rstrip() + ELLIPSIS
    if text.isascii():
        return shorten_middle(text, width)
    tail_width = (width - 1) * 3 // 5
    return _head(text, width - 1 - tail_width) + ELLIPSIS + _tail(text, tail_width)


def _head(text: str, width: int) -> str:
    """The characters from the start that fit into `width` cells, with marks that combine with the last."""
    used = 0
    for index, char in enumerate(text):
        used += cell_len(char)
        if used > width:
            return text[:index]
    return text


def _tail(text: str, width: int) -> str:
    """The characters from the end that fit into `width` cells; it does not begin with a combining mark."""
    used = 0
    start = len(text)
    for index in range(len(text) - 1, -1, -1):
        cells = cell_len(text[index])
        used += cells
        if used > width:
            break
        if cells:
            start = index
    return text[start:]
