"""The header and the rows of a table as strips of styled segments.

Each strip is exactly as wide as asked. Neighbouring cells that look alike become one segment, which keeps
what Textual filters, crops and writes short.

What a table looks like: its header, the lines in view, and how both follow width, theme and focus.

`TableView` draws and does not act. Keys, the mouse and messages are `VirtualTable`'s, in `table.py`.

A table that draws only the lines in view.

Textual's DataTable measures every cell before it shows the first: two seconds at 10 000 rows of 15 columns,
and again for every keystroke of a live filter. This one never looks at a row that is not on screen, except to
sort or to filter.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import ClassVar, Generic, Protocol, cast, runtime_checkable

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.style import Style as ThemeStyle

from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.charts.grid import wrap_text
from trex_tui.old.text import MISSING, format_bar
from trex_tui.old.widgets.table_model import (
    GAP,
    MARGIN,
    MIN_SET_WIDTH,
    PlacedColumn,
    Row,
    SortKey,
    TableColumn,
    TableModel,
    clean,
    fit,
    place_columns,
)
from trex_tui.old.widgets.text_view import LineScroll

MARK = "•"
_SUPERSCRIPTS = "¹²³⁴⁵⁶⁷⁸⁹"

Run = tuple[str, Style]


@dataclass(frozen=True, slots=True)
class Looks:
    """The styles of a table's parts, resolved for the current theme and focus."""

    row: Style
    cursor: Style
    header: Style
    header_sorted: Style
    header_current: Style
    bar: Style
    missing: Style
    mark: Style
    empty: Style


PARTS = tuple(field.name for field in fields(Looks) if field.name != "row")


def component_class(part: str) -> str:
    return f"virtual-table--{part.replace('_', '-')}"


def row_strip(
    row: Row,
    placed: Sequence[PlacedColumn[Row]],
    width: int,
    looks: Looks,
    resolve: Callable[[str | Style], Style],
    *,
    is_cursor: bool,
    is_marked: bool,
) -> Strip:
    """Draw one row. All cells of the cursor's row have one style, so that they are readable on its background."""
    base = looks.cursor if is_cursor else looks.row
    runs: list[Run] = [(MARK if is_marked else " ", base if is_cursor else looks.mark)]
    for number, cell in enumerate(placed):
        if number:
            runs.append((" " * GAP, base))
        runs.extend(_cell(row, cell, base, None if is_cursor else looks, resolve))
    return _strip(runs, width, base)


def heading_strip(text: str, width: int, looks: Looks, *, is_cursor: bool) -> Strip:
    """Draw a heading between rows over all columns."""
    base = looks.cursor if is_cursor else looks.row
    style = base if is_cursor else base + Style(bold=True)
    return _strip([(" " * MARGIN + fit(clean(text), width - MARGIN), style)], width, base)


def header_strip(
    placed: Sequence[PlacedColumn[Row]],
    width: int,
    looks: Looks,
    sort_keys: Sequence[SortKey],
    current: str | None,
) -> Strip:
    """Draw the titles: sort columns with an arrow, and with their rank if there are several."""
    runs: list[Run] = [(" " * MARGIN, looks.header)]
    for number, cell in enumerate(placed):
        if number:
            runs.append((" " * GAP, looks.header))
        arrow = sort_arrow(cell.column.key, sort_keys)
        style = looks.header_sorted if arrow else looks.header
        if cell.column.key == current:
            style = looks.header_current
        runs.append((_title(cell, arrow), style))
    return _strip(runs, width, looks.header)


def empty_strip(text: str, line: int, width: int, looks: Looks) -> Strip:
    """Draw line number `line` of the sentence shown instead of rows."""
    lines = wrap_text(clean(text), max(1, width - 2 * MARGIN))
    content = " " * MARGIN + lines[line] if line < len(lines) else ""
    return _strip([(fit(content, width), looks.empty)], width, looks.empty)


def sort_arrow(key: str, sort_keys: Sequence[SortKey]) -> str:
    """Return `▲` if the column `key` sorts ascending, `▼` if descending; with its rank among several."""
    for rank, sort_key in enumerate(sort_keys):
        if sort_key.column == key:
            arrow = "▼" if sort_key.descending else "▲"
            return arrow + (_SUPERSCRIPTS[rank : rank + 1] if len(sort_keys) > 1 else "")
    return ""


def _cell(
    row: Row,
    cell: PlacedColumn[Row],
    base: Style,
    looks: Looks | None,
    resolve: Callable[[str | Style], Style],
) -> Iterable[Run]:
    """Return the runs of one cell; without `looks` all in the base style."""
    column = cell.column
    text = column.shorten(row, cell.text_width) if column.shorten is not None else column.cell_text(row)
    style = base
    if looks is not None:
        wanted = column.style(row) if column.style is not None else None
        if wanted is not None:
            style = base + resolve(wanted)
        elif text == MISSING:
            style = looks.missing
    if cell.text_width:
        right = column.align == "right"
        middle = (column.flex or not right) and not column.keeps_head
        yield fit(text, cell.text_width, right=right, middle=middle), style
    if cell.bar_width and column.bar is not None:
        if cell.text_width:
            yield " ", base
        yield (
            format_bar(column.bar(row), cell.bar_width).ljust(cell.bar_width),
            looks.bar if looks is not None else base,
        )


def _title(cell: PlacedColumn[Row], arrow: str) -> str:
    """Return the title over its text if it fits there, with the scale over the bar; else over both."""
    title = clean(cell.column.title)
    right = cell.column.align == "right"
    label_width = cell_len(title) + len(arrow)
    room = cell.text_width if label_width <= cell.text_width else cell.width
    if label_width > room:
        title = fit(title, max(0, room - len(arrow))).rstrip()
    elif arrow and label_width < room:
        arrow = f"{arrow} " if right else f" {arrow}"
    label = arrow + title if right else title + arrow
    over_text = fit(label, room, right=right and room == cell.text_width)
    bar_title = cell.column.bar_title if cell_len(cell.column.bar_title) <= cell.bar_width else ""
    return over_text + fit(f" {bar_title}" if cell.text_width else bar_title, cell.width - room)


def _strip(runs: Iterable[Run], width: int, base: Style) -> Strip:
    """Join runs of equal style, and pad or crop to `width`."""
    segments: list[Segment] = []
    texts: list[str] = []
    style = base
    for text, run_style in runs:
        if run_style is not style and run_style != style:
            if texts:
                segments.append(Segment("".join(texts), style))
            texts, style = [], run_style
        texts.append(text)
    segments.append(Segment("".join(texts), style))
    return Strip(segments).adjust_cell_length(width, base)


HEADER_HEIGHT = 1
WIDTH_STEP = 2
"""Cells that a key makes a column wider or narrower."""


@runtime_checkable
class WidthKeeper(Protocol):
    """Interface of an app that remembers widths of columns."""

    def column_widths(self, table_id: str) -> dict[str, int]:
        """Return the cells of columns of a table, by key."""

    def keep_column_widths(self, table_id: str, widths: Mapping[str, int]) -> None:
        """Remember the cells of columns of a table, by key; others have the automatic width."""


class TableView(LineScroll, Generic[Row]):
    """The drawing half of a table: renders the header and the visible rows."""

    ALLOW_SELECT = False

    COMPONENT_CLASSES: ClassVar[set[str]] = {component_class(part) for part in PARTS}

    # Always present, since showing and hiding a scrollbar lays out the screen; it is empty if all rows fit.
    # Without colours, or with the terminal's own 16, only attributes distinguish the cursor and the header.
    DEFAULT_CSS = """
    TableView {
        height: 1fr;
        background: $surface;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;

        & > .virtual-table--header { background: $panel; color: $foreground; text-style: bold; }
        & > .virtual-table--header-sorted { background: $panel; color: $accent; text-style: bold; }
        & > .virtual-table--header-current {
            background: $panel; color: $foreground; text-style: bold reverse;
        }
        & > .virtual-table--cursor {
            background: $block-cursor-blurred-background;
            color: $block-cursor-blurred-foreground;
            text-style: $block-cursor-blurred-text-style;
        }
        &:focus > .virtual-table--cursor {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
            text-style: $block-cursor-text-style;
        }
        & > .virtual-table--bar { color: $text-muted; }
        & > .virtual-table--missing { color: $text-muted; }
        & > .virtual-table--mark { color: $warning; text-style: bold; }
        & > .virtual-table--empty { color: $text-muted; }

        &:ansi, &:nocolor {
            & > .virtual-table--header { text-style: bold underline; }
            & > .virtual-table--header-sorted { text-style: bold underline; }
            & > .virtual-table--cursor {
                background: $surface; color: $foreground; text-style: bold underline;
            }
            &:focus > .virtual-table--cursor {
                background: $surface; color: $foreground; text-style: reverse;
            }
        }
    }
    """

    cursor_row: reactive[int] = reactive(0, repaint=False, init=False)
    """Position of the cursor among the displayed rows; 0 without rows."""
    current_column: reactive[str | None] = reactive(None, init=False)
    """Key of the column chosen with the arrow keys; it is shown regardless of its priority."""
    empty_text: reactive[str] = reactive("Nothing to show", init=False)
    """Sentence shown instead of rows."""
    marked: reactive[frozenset[Hashable]] = reactive(frozenset(), init=False)
    """Keys (`row_key`) of the marked rows. The table draws the marks; the parent defines their meaning."""

    def __init__(
        self,
        columns: Iterable[TableColumn[Row]] = (),
        *,
        empty_text: str = "Nothing to show",
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self._model: TableModel[Row] = TableModel()
        self._model.set_columns(columns)
        self._lines: LRUCache[tuple[int, bool, bool], Strip] = LRUCache(1024)
        """Drawn rows by index, cursor state and mark."""
        self._looks: Looks | None = None
        self._resolved: dict[str, Style] = {}
        self._placed: list[PlacedColumn[Row]] | None = None
        self._placed_width = -1
        self._own_widths: dict[str, int] = {}
        """Widths in cells set by the user, by column key."""
        self.set_reactive(TableView.empty_text, empty_text)

    def on_mount(self) -> None:
        if self.id and isinstance(self.app, WidthKeeper):
            self._own_widths = self.app.column_widths(self.id)
            if self._own_widths:
                self._forget_placement()

    @property
    def columns(self) -> Sequence[TableColumn[Row]]:
        return self._model.columns

    @property
    def visible_columns(self) -> list[TableColumn[Row]]:
        return [cell.column for cell in self._place()]

    def choose_fitting(self, columns: Sequence[TableColumn[Row]]) -> list[TableColumn[Row]]:
        """Return the columns that would be visible if the table had these."""
        width = self.scrollable_content_region.width
        return [cell.column for cell in place_columns(columns, width, widths=self._own_widths)]

    @property
    def total_count(self) -> int:
        return len(self._model.rows)

    @property
    def shown_count(self) -> int:
        return len(self._model.shown)

    @property
    def shown_rows(self) -> list[Row]:
        """The rows on display, in display order, for exports and sums."""
        return [self._model.rows[index] for index in self._model.shown]

    @property
    def title_keys(self) -> Sequence[SortKey]:
        return self._model.sort_keys

    @property
    def page_height(self) -> int:
        return max(1, self.scrollable_content_region.height - HEADER_HEIGHT)

    def row_key(self, item: Row) -> Hashable:
        """Return the identity of `item`: its `keep`, as given to `set_rows`."""
        return self._model.row_key(item)

    def heading_text(self, row: Row) -> str:  # noqa: ARG002 - there are no headings here
        """Text drawn over all columns if `row` is a heading; empty for a row with cells."""
        return ""

    def render_line(self, y: int) -> Strip:
        """Draw line `y` of the widget: the fixed header, or the visible row."""
        width = self.scrollable_content_region.width
        placed = self._place()
        looks = self._current_looks()
        if y < HEADER_HEIGHT:
            return header_strip(placed, width, looks, self.title_keys, self.current_column)
        position = self.scroll_offset.y + y - HEADER_HEIGHT
        if position < len(self._model.shown):
            return self._row(position, placed, width, looks)
        return empty_strip("" if self._model.shown else self.empty_text, position, width, looks)

    def notify_style_update(self) -> None:
        """Drop drawn lines when theme, class or focus changes their style."""
        super().notify_style_update()
        self._looks = None
        self._resolved.clear()
        self._lines.clear()
        self.refresh()

    def validate_current_column(self, key: str | None) -> str | None:
        return key if any(column.key == key for column in self.columns) else None

    def watch_current_column(self) -> None:
        """Make room for the column regardless of its priority."""
        self._forget_placement()

    def watch_empty_text(self) -> None:
        self.refresh()

    def watch_marked(self) -> None:
        self.refresh()

    def _row(self, position: int, placed: list[PlacedColumn[Row]], width: int, looks: Looks) -> Strip:
        index = self._model.shown[position]
        row = self._model.rows[index]
        is_cursor = position == self.cursor_row
        is_marked = bool(self.marked) and self._model.row_key(row) in self.marked
        cache_key = (index, is_cursor, is_marked)
        strip = self._lines.get(cache_key)
        if strip is None:
            heading = self.heading_text(row)
            strip = (
                heading_strip(heading, width, looks, is_cursor=is_cursor)
                if heading
                else row_strip(
                    row, placed, width, looks, self._resolve, is_cursor=is_cursor, is_marked=is_marked
                )
            )
            self._lines[cache_key] = strip
        return strip

    def _place(self) -> list[PlacedColumn[Row]]:
        """The visible columns, laid out again if width or columns changed, which outdates all drawn lines."""
        width = self.scrollable_content_region.width
        if self._placed is None or self._placed_width != width:
            self._placed = place_columns(self._model.columns, width, self.current_column, self._own_widths)
            self._placed_width = width
            self._lines.clear()
        return self._placed

    def _forget_placement(self) -> None:
        self._placed = None
        self.refresh()

    def _set_width(self, key: str, width: int | None) -> None:
        """Set the width of a column in cells; None for automatic."""
        widths = {other: cells for other, cells in self._own_widths.items() if other != key}
        self._own_widths = widths if width is None else widths | {key: max(MIN_SET_WIDTH, width)}
        self._forget_placement()

    def _keep_widths(self) -> None:
        if self.id and isinstance(self.app, WidthKeeper):
            self.app.keep_column_widths(self.id, self._own_widths)

    def _fit_scrollbar(self) -> None:
        self.set_line_count(HEADER_HEIGHT + len(self._model.shown))

    def _current_looks(self) -> Looks:
        if self._looks is None:
            styles = {part: self.get_component_rich_style(component_class(part)) for part in PARTS}
            self._looks = Looks(row=self.rich_style, **styles)
        return self._looks

    def _resolve(self, wanted: str | Style) -> Style:
        """Return the Rich style of a cell, from a component class of this table or a theme token."""
        if isinstance(wanted, Style):
            return wanted
        style = self._resolved.get(wanted)
        if style is None:
            try:
                style = self.get_component_rich_style(wanted, partial=True)
            except KeyError:
                style = (self.visual_style + ThemeStyle.parse(wanted)).rich_style
            self._resolved[wanted] = style
        return style


__all__ = ["RowHighlighted", "RowSelected", "SortChanged", "SortKey", "TableColumn", "VirtualTable"]


@dataclass
class TableMessage(Message, Generic[Row], namespace="virtual_table"):
    """Base class of the messages of a table."""

    table: VirtualTable[Row]

    @property
    def control(self) -> VirtualTable[Row]:
        """The table, so that `@on(RowSelected, "#layers")` works."""
        return self.table


@dataclass
class RowHighlighted(TableMessage[Row], namespace="virtual_table"):
    """The cursor is on another row, or its row moved. `item` is None, at -1, when no row is shown.

    A later one replaces those still in the queue: with `j` held, only the details of the last row are shown.
    """

    item: Row | None
    row_index: int

    def can_replace(self, message: Message) -> bool:
        """Return whether `message`, which is in the queue, is outdated by this one."""
        return isinstance(message, RowHighlighted) and message.table is self.table


@dataclass
class RowSelected(TableMessage[Row], namespace="virtual_table"):
    """Open a row: Enter, or a click on the row with the cursor."""

    item: Row
    row_index: int


@dataclass
class SortChanged(TableMessage[Row], namespace="virtual_table"):
    """The sort changed; no keys mean the natural order."""

    keys: tuple[SortKey, ...]


def next_match(found: Sequence[int], here: int, step: int) -> int:
    """Index in `found`, which is sorted, of the next position after `here`, or with -1 of the one before it.

    >>> next_match([2, 5, 9], 5, 1), next_match([2, 5, 9], 5, -1), next_match([2, 5, 9], 9, 1), next_match([2, 5, 9], 5, 0)
    (2, 0, 0, 1)
    """
    if step < 0:
        return (bisect_left(found, here) - 1) % len(found)
    return (bisect_right(found, here) if step else bisect_left(found, here)) % len(found)


class VirtualTable(TableView[Row], can_focus=True):
    """A sortable, filterable table of 20 000 rows and more, with a row cursor.

    Columns that do not fit are left out by priority. The left and right arrows walk through all columns: the
    current one is always shown, and is what `cycle_sort(table.current_column)` or an explanation would be
    about.

    Example:
        ```python
        table = VirtualTable([Column("name", "Layer", lambda layer: layer.name, flex=True)])
        table.sort_by("name")
        table.set_rows(engine.layers, keep=lambda layer: layer.name)
        ```
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor_up", "Row up", show=False, id="table.cursor_up"),
        Binding("down,j", "cursor_down", "Row down", show=False, id="table.cursor_down"),
        Binding("home,g", "first", "First row", show=False, id="table.first"),
        Binding("end,G", "last", "Last row", show=False, id="table.last"),
        Binding("ctrl+u", "half_page_up", "Half a page up", show=False, id="table.half_page_up"),
        Binding("ctrl+d", "half_page_down", "Half a page down", show=False, id="table.half_page_down"),
        Binding("pageup", "page_up", "Page up", show=False, id="table.page_up"),
        Binding("pagedown", "page_down", "Page down", show=False, id="table.page_down"),
        Binding("left", "column_left", "Column to the left", show=False, id="table.column_left"),
        Binding("right", "column_right", "Column to the right", show=False, id="table.column_right"),
        Binding("left_curly_bracket", "resize_column(-1)", "Narrow column", show=False, id="table.narrow"),
        Binding("right_curly_bracket", "resize_column(1)", "Widen column", show=False, id="table.widen"),
        Binding("vertical_line", "reset_widths", "Automatic widths", show=False, id="table.reset_widths"),
        Binding("enter", "select", "Open row", show=False, id="table.select"),
    ]

    _chosen: int | None = None
    """Index of the selected row. A filter may hide it; the cursor returns when it is visible again."""
    _announced: tuple[Row | None, int] | None = None
    _matches: tuple[str, Sequence[int], list[int]] | None = None
    """Last search: its text, its rows, and the positions of the matches."""
    _texts: tuple[Sequence[Row], tuple[str, ...], list[str]] | None = None
    """Rows, column keys, and the searched text of each row."""
    _is_to_be_centred = False
    """True if the cursor moved before the table had a size to scroll in."""
    _dragged: tuple[str, int] | None = None
    """Column whose border the mouse drags, and its width where the mouse would be at 0."""

    # Rows and columns

    @property
    def cursor_item(self) -> Row | None:
        return self._item_at(self.cursor_row)

    def set_rows(self, rows: Sequence[Row], *, keep: Callable[[Row], Hashable] | None = None) -> None:
        """Replace the rows; sort order and filter predicate stay.

        The first rows get the cursor at the top, so sort before: a later sort takes the cursor's row along.

        Args:
            rows: The rows in their natural order. They are not copied.
            keep: What identifies a row across reloads. With it the cursor stays on the same row, or where it
                was if that row is gone; without it the cursor goes to the top.
        """
        chosen = None if self._chosen is None or keep is None else self._model.rows[self._chosen]
        key = None if chosen is None else self._model.row_key(chosen)
        self._model.set_rows(rows, keep)
        self._chosen = None if chosen is None else self._model.index_of_key(key)
        self._lines.clear()
        self._rows_changed(0 if keep is None else self.cursor_row)

    def set_columns(self, columns: Iterable[TableColumn[Row]]) -> None:
        """Replace the columns; the sort stays, except for keys whose column is gone."""
        before = self.sort_keys
        self._model.set_columns(columns)
        if self.current_column not in {column.key for column in self.columns}:
            self.current_column = None
        self._forget_placement()
        self._after_sort(before)

    def set_filter(self, predicate: Callable[[Row], bool] | None) -> None:
        """Show only rows that satisfy `predicate`, now and after the rows are replaced; None shows all."""
        self._model.filter(predicate)
        self._rows_changed(self.cursor_row)

    def set_visible(self, indices: Iterable[int] | None) -> None:
        """Show only the rows at `indices`, as given to `set_rows`, until the rows are replaced; None shows all."""
        self._model.show_only(indices)
        self._rows_changed(self.cursor_row)

    def move_to(self, item: Row) -> bool:
        """Put the cursor on `item`, centred if it was out of view; return False if it is hidden."""
        index = self._model.find_index(item)
        if index is None or index not in self._model.shown:
            return False
        self._chosen = index
        position = self._model.shown.index(index)
        first = self.scroll_offset.y
        self._is_to_be_centred = not self.size
        is_in_view = first <= position < first + self.page_height
        self.cursor_row = position
        if self.size and not is_in_view:
            self.centre_cursor()
        return True

    def place(self) -> object:
        """Cursor and scroll position, to restore later."""
        item = self.cursor_item
        return None if item is None else (self.row_key(item), self.scroll_offset.y)

    def return_to(self, place: object) -> None:
        """Restore cursor and scroll position if that row is visible."""
        if place is None:
            return
        key, y = cast("tuple[Hashable, int]", place)
        index = self._model.index_of_key(key)
        if index is not None and self.move_to(self._model.rows[index]):
            self._is_to_be_centred = False
            self.scroll_to(y=y, animate=False)

    def mark_cursor(self) -> None:
        """Mark only the row under the cursor."""
        item = self.cursor_item
        self.marked = frozenset() if item is None else frozenset({self.row_key(item)})

    def centre_cursor(self) -> None:
        """Centre the cursor vertically, or scroll to the beginning if that shows it too."""
        is_near_start = self.cursor_row < self.page_height - 1
        y = 0 if is_near_start else self.cursor_row - self.page_height // 2
        self.scroll_to(y=y, animate=False)

    # Search

    def search_text(self, row: Row) -> str:
        """Searched columns: those without numbers."""
        return "\n".join(column.cell_text(row) for column in self.columns if column.align == "left")

    def search(self, text: str, step: int) -> tuple[int, int]:
        """Go to the next or previous row that contains `text`, and continue at the other end.

        Args:
            step: 1 or -1; 0 stays on a row that has the text.

        Returns:
            Which of the matches the cursor is on, from 1, and how many there are; 0 and 0 for none.
        """
        found = self._find_matches(text)
        if not found:
            return 0, 0
        number = next_match(found, self.cursor_row, step)
        self.move_to(self._model.rows[self._model.shown[found[number]]])
        return number + 1, len(found)

    def _find_matches(self, text: str) -> list[int]:
        """Return the positions of the rows that contain `text`, cached per text and rows."""
        shown, wanted = self._model.shown, text.casefold()
        if self._matches is None or self._matches[0] != wanted or self._matches[1] is not shown:
            texts = self._search_texts()
            found = [position for position, index in enumerate(shown) if wanted in texts[index]]
            self._matches = wanted, shown, found
        return self._matches[2]

    def _search_texts(self) -> list[str]:
        """Return the searched text of each row, cached per rows and columns."""
        rows, keys = self._model.rows, tuple(column.key for column in self.columns)
        if self._texts is None or self._texts[0] is not rows or self._texts[1] != keys:
            self._texts = rows, keys, [self.search_text(row).casefold() for row in rows]
        return self._texts[2]

    # Order

    @property
    def sort_keys(self) -> tuple[SortKey, ...]:
        """The sort columns, the most important first; empty in natural order."""
        return self._model.sort_keys

    def sort_by(self, column_key: str | None, reverse: bool | None = None) -> None:
        """Sort by one column, descending if `reverse`, by default as the column prefers; None: natural order."""
        self.set_sort(() if column_key is None else (self._sort_key(column_key, reverse),))

    def add_sort(self, column_key: str, reverse: bool | None = None) -> None:
        """Add `column_key` as the last sort key; if it is one already, reverse it."""
        keys = list(self.sort_keys)
        for rank, key in enumerate(keys):
            if key.column == column_key:
                keys[rank] = SortKey(column_key, (not key.descending) if reverse is None else reverse)
                break
        else:
            keys.append(self._sort_key(column_key, reverse))
        self.set_sort(keys)

    def cycle_sort(self, column_key: str) -> None:
        """Sort as a click on a header does: by the column, then reversed, then in natural order."""
        first = self._sort_key(column_key, None)
        if self.sort_keys == (first,):
            self.sort_by(column_key, not first.descending)
        elif self.sort_keys == (SortKey(column_key, not first.descending),):
            self.sort_by(None)
        else:
            self.set_sort((first,))

    def reverse_sort(self) -> None:
        """Reverse every sort key; missing values stay last, natural order stays."""
        self.set_sort(SortKey(key.column, not key.descending) for key in self.sort_keys)

    def set_sort(self, keys: Iterable[SortKey]) -> None:
        """Sort by several columns at once, such as those of the last session."""
        wanted = tuple(keys)
        for key in wanted:
            self._model.column(key.column)
        before = self.sort_keys
        self._model.sort(wanted)
        self._after_sort(before)

    def _sort_key(self, column_key: str, reverse: bool | None) -> SortKey:
        column = self._model.column(column_key)
        return SortKey(column_key, column.sorts_descending if reverse is None else reverse)

    def _after_sort(self, before: tuple[SortKey, ...]) -> None:
        self._rows_changed(self.cursor_row)
        if self.sort_keys != before:
            self._tell(SortChanged(self, self.sort_keys))

    # Cursor

    def on_mount(self) -> None:
        """Report the row of the cursor to the parent, since rows set before the app ran were not reported."""
        self._announce()

    def on_resize(self) -> None:
        self._scroll_to_cursor()
        if self._is_to_be_centred and self.size:
            self._is_to_be_centred = False
            self.centre_cursor()

    def validate_cursor_row(self, cursor_row: int) -> int:
        return max(0, min(cursor_row, self.shown_count - 1))

    def watch_cursor_row(self, old: int, new: int) -> None:
        """Redraw the two affected lines, scroll to the cursor and notify the parent."""
        self._chosen = self._model.shown[new] if self._model.shown else None
        self.refresh_line(old + HEADER_HEIGHT)
        self.refresh_line(new + HEADER_HEIGHT)
        self._scroll_to_cursor()
        self._announce()

    def _rows_changed(self, fallback: int) -> None:
        """Follow the selected row to its new position, or go to `fallback` if none was selected."""
        chosen = self._chosen
        position = fallback if chosen is None else self._model.position_near(chosen)
        self._fit_scrollbar()
        with self.prevent(RowHighlighted):
            self.cursor_row = position or 0
        shown = self._model.shown
        self._chosen = chosen if chosen is not None or not shown else shown[self.cursor_row]
        self.refresh()
        self._scroll_to_cursor()
        self._announce()

    def _item_at(self, position: int) -> Row | None:
        shown = self._model.shown
        return self._model.rows[shown[position]] if 0 <= position < len(shown) else None

    def _scroll_to_cursor(self) -> None:
        if not self.size:
            return  # Not laid out yet; the first resize calls this again.
        first = self.scroll_offset.y
        last_first = self.cursor_row - self.page_height + 1
        if self.cursor_row < first or first < last_first:
            self.scroll_to(y=min(max(first, last_first), self.cursor_row), animate=False)

    def _announce(self) -> None:
        item = self.cursor_item
        position = self.cursor_row if self._model.shown else -1
        if self._announced is not None and self._announced[0] is item and self._announced[1] == position:
            return
        if self._tell(RowHighlighted(self, item, position)):
            self._announced = (item, position)

    def _tell(self, message: Message) -> bool:
        return self.is_running and self.post_message(message)

    def _move_page(self, rows: int) -> None:
        """Move view and cursor together, so that the cursor stays at the same place on screen."""
        self.scroll_to(y=self.scroll_offset.y + rows, animate=False)
        self.cursor_row += rows

    # Actions and the mouse

    def action_cursor_up(self) -> None:
        self.cursor_row -= 1

    def action_cursor_down(self) -> None:
        self.cursor_row += 1

    def action_first(self) -> None:
        self.cursor_row = 0

    def action_last(self) -> None:
        self.cursor_row = self.shown_count - 1

    def action_half_page_up(self) -> None:
        self._move_page(-max(1, self.page_height // 2))

    def action_half_page_down(self) -> None:
        self._move_page(max(1, self.page_height // 2))

    def action_page_up(self) -> None:
        self._move_page(-self.page_height)

    def action_page_down(self) -> None:
        self._move_page(self.page_height)

    def action_column_left(self) -> None:
        """Select the column to the left; none before the first."""
        self._step_column(-1)

    def action_column_right(self) -> None:
        """Select the column to the right; none after the last."""
        self._step_column(1)

    def action_sort_next(self) -> None:
        """Sort by the next column; after the last, natural order."""
        keys = [None, *(column.key for column in self.visible_columns)]
        current = self.sort_keys[0].column if self.sort_keys else None
        at = keys.index(current) if current in keys else 0
        self.sort_by(keys[(at + 1) % len(keys)])

    def action_reverse(self) -> None:
        self.reverse_sort()

    def action_select(self) -> None:
        item = self.cursor_item
        if item is not None:
            self._chosen = self._model.shown[self.cursor_row]
            self._tell(RowSelected(self, item, self.cursor_row))

    def action_resize_column(self, step: int) -> None:
        """Make the current column wider or narrower; without one, that of the names."""
        placed = self._place()
        cell = next(
            (cell for cell in placed if cell.column.key == self.current_column),
            next((cell for cell in placed if cell.column.key in self._stretched_keys), None),
        )
        if cell is not None:
            self._set_width(cell.column.key, cell.text_width + step * WIDTH_STEP)
            self._keep_widths()

    def action_reset_widths(self) -> None:
        """Give all columns their automatic widths."""
        self._own_widths = {}
        self._forget_placement()
        self._keep_widths()

    @property
    def _stretched_keys(self) -> set[str]:
        """Keys of the columns that take the remaining width, unless the user set theirs."""
        return {column.key for column in self.columns if column.flex}

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begin to drag the border of a column."""
        offset = event.get_content_offset(self)
        cell = None if offset is None or event.button != 1 else self._border_at(offset.x, offset.y)
        if offset is not None and cell is not None:
            event.stop()
            self.capture_mouse()
            self._dragged = cell.column.key, cell.text_width - offset.x

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._dragged is not None:
            event.stop()
            self.release_mouse()

    def on_mouse_release(self) -> None:
        """Remember the width; the mouse may have been captured elsewhere."""
        if self._dragged is not None and self._dragged[0] in self._own_widths:
            self._keep_widths()
        self._dragged = None

    def _border_at(self, x: int, y: int) -> PlacedColumn[Row] | None:
        """The column whose right border, the gap between titles, is there; at the edge it is the last cell."""
        if y >= HEADER_HEIGHT:
            return None
        edge = self.scrollable_content_region.width - 1
        return next((cell for cell in self._place() if min(cell.end, edge) == x), None)

    def on_click(self, event: events.Click) -> None:
        """Sort by a title, move to a row, or open the row under the cursor; twice on a border: automatic width."""
        offset = event.get_content_offset(self)
        if offset is None or event.button != 1:
            return
        event.stop()
        if offset.y < HEADER_HEIGHT:
            border = self._border_at(offset.x, offset.y)
            if border is None:
                self._sort_by_title(offset.x, add=event.shift or event.ctrl)
            elif event.chain == 2:
                self._set_width(border.column.key, None)
                self._keep_widths()
            return
        position = self.scroll_offset.y + offset.y - HEADER_HEIGHT
        if position == self.cursor_row:
            self.action_select()
        elif position < self.shown_count:
            self.cursor_row = position

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragged is not None:
            event.stop()
            key, origin = self._dragged
            self._set_width(key, origin + event.screen_x - self.content_region.x)
            return
        offset = event.get_content_offset(self)
        column = self._column_at(offset.x) if offset is not None and offset.y < HEADER_HEIGHT else None
        tooltip = Text(column.description) if column is not None and column.description else None
        if tooltip != self.tooltip:
            self.tooltip = tooltip

    def _sort_by_title(self, x: int, *, add: bool) -> None:
        column = self._column_at(x)
        if column is None:
            return
        if add:
            self.add_sort(column.key)
        else:
            self.cycle_sort(column.key)

    def _column_at(self, x: int) -> TableColumn[Row] | None:
        return next((cell.column for cell in self._place() if cell.start <= x < cell.end), None)

    def _step_column(self, step: int) -> None:
        keys = [None, *(column.key for column in self.columns if column.title)]
        self.current_column = keys[(keys.index(self.current_column) + step) % len(keys)]
