"""Model of a table, without a terminal: rows, sort, filter and columns.

Rows never move. Sorting and filtering make lists of indices into them, so an index stands for a row for as
long as the rows stay, and the widget can cache a drawn line or remember the current row by it.

Cells of a table as text of an exact width, and the columns that fit across it.

Widths are terminal cells, not characters: a CJK ideograph takes two, a combining mark none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from typing import Any, Generic, Literal, TypeVar

from rich.cells import cell_len, set_cell_size
from rich.style import Style

from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.document import BAR_SCALE
from trex_tui.old.text import ELLIPSIS, MISSING, printable, shorten_middle

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class TableColumn(Generic[Row]):
    """Column of a table: text and sort value of each row.

    Attributes:
        key: Identifies the column in sort keys and in configuration.
        title: Plain text of the header.
        value: The raw value to sort by. None and NaN mean missing, which sorts last in both directions.
        text: The cell's plain text; without it, `format` of the value.
        format: Turns a value that is not missing into text.
        shorten: The text in a number of cells; without it, texts that are too long lose their middle or their end.
        longest: Cells that a flexible column has use for; None for any number, or if unknown.
        width: Cells for the text; for a flexible column what it needs before others are dropped.
        flex: Takes the cells that are left over, and shrinks when there are too few.
        align: Numbers go right, so that their digits line up. Names go left, and keep head and tail when cut.
        priority: 0 is always shown; where the terminal is too narrow, the largest number goes first.
        style: How a cell looks: a component class of the table, a Textual style such as
            `bold $text-warning`, or a Rich style. The cursor's colours win over it.
        bar: A fraction, 0 to 1, drawn as a bar to the right of the text.
        bar_width: Cells for the bar.
        bar_title: The scale, over the bar.
        keeps_head: Of a text that is cut only the beginning stays: words in the order of their weight, not a name.
        descending: Direction of the first sort; without it, right-aligned columns start with the largest.
        description: One sentence on what the column means, shown when the mouse rests on the title.
    """

    key: str
    title: str
    value: Callable[[Row], Any]
    _: KW_ONLY
    text: Callable[[Row], str] | None = None
    format: Callable[[Any], str] = str
    shorten: Callable[[Row, int], str] | None = None
    longest: Callable[[], int | None] | None = None
    width: int = 8
    flex: bool = False
    align: Literal["left", "right"] = "left"
    priority: int = 0
    style: Callable[[Row], str | Style | None] | None = None
    bar: Callable[[Row], float | None] | None = None
    bar_width: int = 8
    bar_title: str = BAR_SCALE
    keeps_head: bool = False
    descending: bool | None = None
    description: str = ""

    def cell_text(self, row: Row) -> str:
        """Return the raw text of a cell: not yet made harmless or cut."""
        if self.text is not None:
            return self.text(row)
        value = self.value(row)
        return MISSING if is_missing(value) else self.format(value)

    @property
    def sorts_descending(self) -> bool:
        """True if the first sort by this column is descending."""
        return self.align == "right" if self.descending is None else self.descending


@dataclass(frozen=True, slots=True)
class SortKey:
    """One column of a sort order, and its direction."""

    column: str
    descending: bool


def is_missing(value: object) -> bool:
    """Return whether `value` is None, NaN, NaT or pandas.NA, which all mean that it is unknown."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA is neither equal nor unequal to itself.
        return True


class TableModel(Generic[Row]):
    """An ordered, filtered view of a sequence of rows."""

    def __init__(self) -> None:
        self.rows: Sequence[Row] = ()
        self.sort_keys: tuple[SortKey, ...] = ()
        self.shown: Sequence[int] = ()
        """Indices of the rows on display, in display order."""
        self._order: Sequence[int] = ()
        self._mask: bytearray | None = None
        self._predicate: Callable[[Row], bool] | None = None
        self._columns: dict[str, TableColumn[Row]] = {}
        self._values: dict[str, list[Any]] = {}
        self._row_key: Callable[[Row], Hashable] = id
        self._index_of_key: dict[Hashable, int] = {}

    @property
    def columns(self) -> Sequence[TableColumn[Row]]:
        return tuple(self._columns.values())

    def column(self, key: str) -> TableColumn[Row]:
        """Return the column `key`. Raises KeyError with the existing keys."""
        try:
            return self._columns[key]
        except KeyError:
            raise KeyError(f"no column {key!r} among {', '.join(self._columns) or 'none'}") from None

    def set_columns(self, columns: Iterable[TableColumn[Row]]) -> None:
        """Replace the columns. Sort keys without a column are dropped."""
        self._columns = {column.key: column for column in columns}
        self._values.clear()
        self.sort(key for key in self.sort_keys if key.column in self._columns)

    def set_rows(self, rows: Sequence[Row], row_key: Callable[[Row], Hashable] | None) -> None:
        """Replace the rows; sort and predicate apply to the new ones, a list of visible indices does not."""
        self.rows = rows
        self._row_key = row_key or id
        self._index_of_key = {}
        self._values.clear()
        self._mask = self._masked(self._predicate)
        self.sort(self.sort_keys)

    def row_key(self, row: Row) -> Hashable:
        return self._row_key(row)

    def index_of_key(self, key: Hashable) -> int | None:
        """Index of the first row with `key`, shown or not."""
        if not self._index_of_key:
            for index, row in enumerate(self.rows):
                self._index_of_key.setdefault(self._row_key(row), index)
        return self._index_of_key.get(key)

    def find_index(self, row: Row) -> int | None:
        """Return the index of `row`, shown or hidden; of an equal one if rows have no key."""
        index = self.index_of_key(self._row_key(row))
        if index is None and self._row_key is id:
            return next((i for i, other in enumerate(self.rows) if other == row), None)
        return index

    def sort(self, keys: Iterable[SortKey]) -> None:
        """Sort by the first key, ties by the next; rows equal in all keys keep their natural order."""
        self.sort_keys = tuple(keys)
        order: Sequence[int] = range(len(self.rows))
        for key in reversed(self.sort_keys):
            order = self._sorted(order, key)
        self._order = order
        self._show()

    def filter(self, predicate: Callable[[Row], bool] | None) -> None:
        """Show only rows that satisfy `predicate`, now and after the rows are replaced; None shows all."""
        self._predicate = predicate
        self._mask = self._masked(predicate)
        self._show()

    def show_only(self, indices: Iterable[int] | None) -> None:
        """Show only the rows at `indices`, until the rows are replaced; None shows all."""
        self._predicate = None
        self._mask = None if indices is None else bytearray(len(self.rows))
        if indices is not None and self._mask is not None:
            for index in indices:
                self._mask[index] = 1
        self._show()

    def position_near(self, index: int) -> int | None:
        """Return the position of the row at `index` or, if it is hidden, of the nearest visible row."""
        if not self.shown:
            return None
        if self._mask is None or self._mask[index]:
            return self.shown.index(index)
        at = self._order.index(index)
        before = sum(self._mask[i] for i in self._order[:at])
        if before == 0 or before == len(self.shown):
            return max(0, before - 1)
        distance_up = at - self._order.index(self.shown[before - 1])
        distance_down = self._order.index(self.shown[before]) - at
        return before if distance_down <= distance_up else before - 1

    def _sorted(self, order: Sequence[int], key: SortKey) -> list[int]:
        values = self._column_values(key.column)
        present = [index for index in order if not is_missing(values[index])]
        missing = [index for index in order if is_missing(values[index])]
        try:
            present.sort(key=values.__getitem__, reverse=key.descending)
        except TypeError:  # Values of several types; compare what can be compared.
            present.sort(key=lambda i: (type(values[i]).__name__, str(values[i])), reverse=key.descending)
        return present + missing

    def _column_values(self, key: str) -> list[Any]:
        values = self._values.get(key)
        if values is None:
            values = self._values[key] = list(map(self.column(key).value, self.rows))
        return values

    def _masked(self, predicate: Callable[[Row], bool] | None) -> bytearray | None:
        return None if predicate is None else bytearray(map(bool, map(predicate, self.rows)))

    def _show(self) -> None:
        mask = self._mask
        self.shown = self._order if mask is None else [index for index in self._order if mask[index]]


MARGIN = 1
"""Cells before the first column, for marks."""
GAP = 1
"""Cells between columns."""
WIDE_SHARE = 0.3
"""Share of a wide line that a column with long texts gets before less important columns."""
LEAST_DISPLACED = 3
"""Smallest priority of the columns that matter less than long texts."""
MIN_FLEX_WIDTH = 8
"""Width to which a flexible column shrinks before the line is cut."""
MIN_SET_WIDTH, MOST_SET_SHARE = 3, 0.75
"""Minimum cells of a column set by the user, and its maximum share of the line."""

_VARIATION_SELECTORS = dict.fromkeys(range(0xFE00, 0xFE10))


@dataclass(frozen=True, slots=True)
class PlacedColumn(Generic[Row]):
    """A visible column with its width in cells."""

    column: TableColumn[Row]
    start: int
    text_width: int
    bar_width: int
    """Width of the bar; 0 without a bar, or without room for it."""

    @property
    def width(self) -> int:
        return _joined(self.text_width, self.bar_width)

    @property
    def end(self) -> int:
        return self.start + self.width


def place_columns(
    columns: Sequence[TableColumn[Row]],
    available: int,
    pinned: str | None = None,
    widths: Mapping[str, int] | None = None,
) -> list[PlacedColumn[Row]]:
    """Choose the columns that fit into `available` cells, and give each its place.

    Columns go by priority, but the one called `pinned` stays. If the rest is still too wide, bars go first,
    then flexible columns shrink, then the line is cut at its end. Flexible columns get the cells left over, those that
    state how many they have use for no more than these, and before others `WIDE_SHARE` of the line.

    Args:
        columns: The columns from left to right.
        available: Cells of the line.
        pinned: Key of the column that stays.
        widths: Cells that a person gave to columns, by key. Of those with a priority, they go last.
    """
    given = [_set_width(column, (widths or {}).get(column.key), available) for column in columns]
    # Long texts displace some columns only; where that is not enough, they get less themselves.
    wide = given if widths else [_widened(column, available) for column in given]
    kept = _drop(wide, available, LEAST_DISPLACED, pinned)
    if _needed(kept) <= available:
        shown = kept
    else:
        keys = {column.key for column in kept}
        shown = _drop([column for column in given if column.key in keys], available, 1, pinned)
    bars = _needed(shown) <= available
    cells = [column.width for column in shown]
    _stretch(shown, cells, available - _needed(shown, bars=bars))
    return _cut(shown, cells, available, bars=bars)


def fit(text: str, width: int, *, right: bool = False, middle: bool = False) -> str:
    """Make `text` harmless and exactly `width` cells wide: padded, or cut with an ellipsis."""
    text = clean(text)
    missing = width - _cells(text)
    if missing < 0:
        text = _shorten(text, width, middle=middle)
        missing = width - _cells(text)
    return " " * missing + text if right else text + " " * missing


def _cells(text: str) -> int:
    """Return the cells of a harmless text; fast for long ASCII names."""
    return len(text) if text.isascii() else cell_len(text)


def clean(text: str) -> str:
    """Make `text` harmless, and drop variation selectors, whose width differs between terminals."""
    text = printable(text)
    return text if text.isascii() else text.translate(_VARIATION_SELECTORS)


def _needed(columns: Sequence[TableColumn[Row]], *, bars: bool = True) -> int:
    cells = sum(_joined(column.width, column.bar_width if bars and column.bar else 0) for column in columns)
    return MARGIN + cells + GAP * max(0, len(columns) - 1)


def _joined(text_width: int, bar_width: int) -> int:
    return text_width + bar_width + (1 if text_width and bar_width else 0)


def _drop(
    columns: Sequence[TableColumn[Row]], available: int, least: int, pinned: str | None
) -> list[TableColumn[Row]]:
    """Drop columns until the rest fits, but none with a smaller priority than `least`."""
    shown = list(columns)
    while _needed(shown) > available:
        droppable = [
            column for column in reversed(shown) if column.priority >= least and column.key != pinned
        ]
        if not droppable:
            break
        first_to_go = max(droppable, key=lambda column: column.priority)
        shown = [column for column in shown if column is not first_to_go]
    return shown


def _set_width(column: TableColumn[Row], width: int | None, available: int) -> TableColumn[Row]:
    """Return the column with the width set by the user, if any."""
    if width is None:
        return column
    width = max(MIN_SET_WIDTH, min(width, int(available * MOST_SET_SHARE)))
    return replace(column, width=width, flex=False, priority=min(column.priority, 1))


def _widened(column: TableColumn[Row], available: int) -> TableColumn[Row]:
    if not column.flex or column.longest is None:
        return column
    wide = int(available * WIDE_SHARE)
    longest = _longest(column)
    return replace(column, width=max(column.width, wide if longest is None else min(wide, longest)))


def _longest(column: TableColumn[Row]) -> int | None:
    """Return the useful width of a flexible column, its title with an arrow included; None for no limit."""
    longest = column.longest() if column.longest is not None else None
    return None if longest is None else max(longest, cell_len(column.title) + 2)


def _stretch(columns: Sequence[TableColumn[Row]], widths: list[int], spare: int) -> None:
    """Distribute `spare` cells, or their lack, among the flexible columns; those with a limit first."""
    flexible = [index for index, column in enumerate(columns) if column.flex]
    flexible.sort(key=lambda index: columns[index].longest is None)
    for position, index in enumerate(flexible):
        share = spare // (len(flexible) - position)
        longest = _longest(columns[index])
        if longest is not None and spare > 0:
            share = min(spare, max(0, longest - widths[index]))
        wanted = max(widths[index] + share, min(widths[index], MIN_FLEX_WIDTH))
        spare -= wanted - widths[index]
        widths[index] = wanted


def _cut(
    columns: Sequence[TableColumn[Row]], widths: Sequence[int], available: int, *, bars: bool
) -> list[PlacedColumn[Row]]:
    placed: list[PlacedColumn[Row]] = []
    start = MARGIN
    for column, width in zip(columns, widths, strict=True):
        bar_width = column.bar_width if bars and column.bar else 0
        room = available - start
        if room <= 0:
            break
        cell = PlacedColumn(column, start, width if bar_width else min(width, room), bar_width)
        placed.append(cell)
        start = cell.end + GAP
    return placed


def _shorten(text: str, width: int, *, middle: bool) -> str:
    """Cut `text`, which is too wide, to at most `width` cells."""
    if width <= 1:
        return ELLIPSIS[:width]
    if not middle:
        return set_cell_size(text, width - 1).rstrip() + ELLIPSIS
    if text.isascii():
        return shorten_middle(text, width)
    tail_width = (width - 1) * 3 // 5
    return _head(text, width - 1 - tail_width) + ELLIPSIS + _tail(text, tail_width)


def _head(text: str, width: int) -> str:
    """Return the characters from the start that fit into `width` cells, with combining marks of the last."""
    used = 0
    for index, char in enumerate(text):
        used += cell_len(char)
        if used > width:
            return text[:index]
    return text


def _tail(text: str, width: int) -> str:
    """Return the characters from the end that fit into `width` cells, without a leading combining mark."""
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
