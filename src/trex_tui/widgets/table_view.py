"""What a table looks like: its header, the lines in view, and how both follow width, theme and focus.

`TableView` draws and does not act. Keys, the mouse and messages are `VirtualTable`'s, in `table.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import ClassVar, Generic

from rich.style import Style
from textual.cache import LRUCache
from textual.reactive import reactive
from textual.strip import Strip
from textual.style import Style as ThemeStyle

from trex_tui.widgets.scroll import LineScroll
from trex_tui.widgets.table_layout import PlacedColumn, place_columns
from trex_tui.widgets.table_model import Column, Row, SortKey, TableModel
from trex_tui.widgets.table_paint import Looks, empty_strip, header_strip, row_strip

HEADER_HEIGHT = 1


class TableView(LineScroll, Generic[Row]):
    """The drawing half of a table: it renders the header and the rows that are in view, and nothing else."""

    ALLOW_SELECT = False

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "virtual-table--header",
        "virtual-table--header-sorted",
        "virtual-table--header-current",
        "virtual-table--cursor",
        "virtual-table--bar",
        "virtual-table--missing",
        "virtual-table--mark",
        "virtual-table--empty",
    }

    # A scrollbar that came and went would be a layout of the screen; this one is empty where all rows fit.
    # Without colours, or with the terminal's own 16, only attributes tell the cursor and the header apart.
    DEFAULT_CSS = """
    TableView {
        background: $surface;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;

        & > .virtual-table--header { background: $panel; color: $foreground; text-style: bold; }
        & > .virtual-table--header-sorted { background: $panel; color: $text-accent; text-style: bold; }
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
        & > .virtual-table--bar { color: $accent; }
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
    """Where the cursor is, counted in rows on display; 0 when there are none."""
    current_column: reactive[str | None] = reactive(None, init=False)
    """Key of the column that the arrow keys chose; it is shown even where its priority would drop it."""
    empty_text: reactive[str] = reactive("Nothing to show", init=False)
    """The sentence that stands where rows would."""
    marked: reactive[frozenset[Hashable]] = reactive(frozenset(), init=False)
    """Keys (`row_key`) of the rows that carry a mark. The table draws it; the parent knows what it means."""

    def __init__(
        self,
        columns: Iterable[Column[Row]] = (),
        *,
        empty_text: str = "Nothing to show",
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's name for it
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes, disabled=disabled)
        self._model: TableModel[Row] = TableModel()
        self._model.set_columns(columns)
        self._lines: LRUCache[tuple[int, bool, bool], Strip] = LRUCache(1024)
        """Drawn rows, by index of the row, whether it has the cursor, and whether it is marked."""
        self._looks: Looks | None = None
        self._resolved: dict[str, Style] = {}
        self._placed: list[PlacedColumn[Row]] | None = None
        self._placed_width = -1
        self.set_reactive(TableView.empty_text, empty_text)

    @property
    def columns(self) -> Sequence[Column[Row]]:
        """All columns, also those that do not fit."""
        return self._model.columns

    @property
    def visible_columns(self) -> list[Column[Row]]:
        """The columns that fit into the current width, from left to right."""
        return [place.column for place in self._place()]

    @property
    def total_count(self) -> int:
        """How many rows there are."""
        return len(self._model.rows)

    @property
    def shown_count(self) -> int:
        """How many rows the filter lets through."""
        return len(self._model.shown)

    @property
    def shown_rows(self) -> list[Row]:
        """The rows on display, in the order of display: what an export or a sum is about."""
        return [self._model.rows[index] for index in self._model.shown]

    @property
    def title_keys(self) -> Sequence[SortKey]:
        """The columns whose titles have an arrow."""
        return self._model.sort_keys

    @property
    def page_height(self) -> int:
        """How many rows fit under the header."""
        return max(1, self.scrollable_content_region.height - HEADER_HEIGHT)

    def row_key(self, item: Row) -> Hashable:
        """What identifies `item`: `keep` of it, as given to `set_rows`."""
        return self._model.row_key(item)

    def render_line(self, y: int) -> Strip:
        """Draw line `y` of the widget: the header, which does not scroll, or the row that is there now."""
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
        """Forget drawn lines when the theme, a class or the focus changes what they look like."""
        super().notify_style_update()
        self._looks = None
        self._resolved.clear()
        self._lines.clear()
        self.refresh()

    def validate_current_column(self, key: str | None) -> str | None:
        """No column is current where `key` names none, for instance from an older configuration."""
        return key if any(column.key == key for column in self.columns) else None

    def watch_current_column(self) -> None:
        """Make room for the column, wherever its priority ranks it."""
        self._forget_placement()

    def watch_empty_text(self) -> None:
        """Show the new sentence."""
        self.refresh()

    def watch_marked(self) -> None:
        """Show the new marks; the cache tells marked lines from others."""
        self.refresh()

    def _row(self, position: int, placed: list[PlacedColumn[Row]], width: int, looks: Looks) -> Strip:
        index = self._model.shown[position]
        row = self._model.rows[index]
        is_cursor = position == self.cursor_row
        is_marked = bool(self.marked) and self._model.row_key(row) in self.marked
        cache_key = (index, is_cursor, is_marked)
        strip = self._lines.get(cache_key)
        if strip is None:
            strip = row_strip(
                row, placed, width, looks, self._resolve, is_cursor=is_cursor, is_marked=is_marked
            )
            self._lines[cache_key] = strip
        return strip

    def _place(self) -> list[PlacedColumn[Row]]:
        """The columns in view, placed anew if width or columns changed; that outdates all drawn lines."""
        width = self.scrollable_content_region.width
        if self._placed is None or self._placed_width != width:
            self._placed = place_columns(self._model.columns, width, self.current_column)
            self._placed_width = width
            self._lines.clear()
        return self._placed

    def _forget_placement(self) -> None:
        self._placed = None
        self.refresh()

    def _fit_scrollbar(self) -> None:
        self.set_line_count(HEADER_HEIGHT + len(self._model.shown))

    def _current_looks(self) -> Looks:
        if self._looks is None:
            style = self.get_component_rich_style
            self._looks = Looks(
                row=self.rich_style,
                cursor=style("virtual-table--cursor"),
                header=style("virtual-table--header"),
                header_sorted=style("virtual-table--header-sorted"),
                header_current=style("virtual-table--header-current"),
                bar=style("virtual-table--bar"),
                missing=style("virtual-table--missing"),
                mark=style("virtual-table--mark"),
                empty=style("virtual-table--empty"),
            )
        return self._looks

    def _resolve(self, wanted: str | Style) -> Style:
        """The Rich style of a cell, from a component class of this table or a style in the theme's terms."""
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
