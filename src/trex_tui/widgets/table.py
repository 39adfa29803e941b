"""The one table: a virtual view of the frame of a section, as rows, as a tree, or as rows that expand.

Textual's DataTable measures every cell: 2 s for 10,000 rows. This one formats the rows on screen alone, and repaints two
lines for a step of the cursor.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.binding import BindingType
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from trex_tui.column import Column
from trex_tui.frames import is_number, plain_values
from trex_tui.report.document import Section
from trex_tui.text import MISSING, format_bar, printable, shorten_middle
from trex_tui.widgets.actions import MOVE, TREE, bindings
from trex_tui.widgets.theme import CELL_STYLES, component_style, is_ascii

GAP = 1
_LEAST_NAME, _NAME_SHARE = 11, 27
"""Cells, and on top a part of the table in percent, that names of usual length keep before other columns are left out."""
_LEAST_TEXT = 20
"""Cells that other texts that can be shortened keep."""
_WHOLE = 1000
"""Width in which no text is cut."""
_WIDEST_TEXT = 24
_BAR_WIDTHS = ((150, 12), (100, 8), (0, 6))
"""Cells of the table from which the bars have so many."""
_MEASURED = 2000
"""Rows that are measured for the width of a column, beside the extremes of numbers."""
_MOST_STRIPS = 1000
Row = Hashable
"""Label of a row in the index of the frame."""
Styles = Mapping[str, Callable[[Any], str]]


class Cell(NamedTuple):
    """A column on screen."""

    column: Column
    width: int
    is_right: bool


class FrameTable(ScrollView, can_focus=True):
    """A table of a section: `show` gives it the rows.

    The first column of `section.shorten`, or else `name`, gets the room that others leave; the others are left out by
    priority. Messages name rows by their labels in the index of the frame. Without rows the sentences of the section say why.

    Attributes:
        cursor: Position of the cursor among the shown rows.
        marked: Labels of the marked rows.
        sort: Key of the column that the rows are sorted by, for the mark in the header; empty for none.
        is_descending: Its direction.
        cell_styles: Key of a column -> style of a value, beside those of every table.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"table--header", "table--cursor", "table--muted"}
    DEFAULT_CSS = """
    FrameTable {
        height: 1fr; background: $surface; scrollbar-size-vertical: 1; overflow-x: hidden;
        & > .table--header { text-style: bold; color: $muted; }
        & > .table--muted { color: $muted; }
        & > .table--cursor { background: $primary 14%; }
        &:focus > .table--cursor { background: $primary 32%; text-style: bold; }
        &:ansi > .table--cursor { background: ansi_default; text-style: reverse; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(MOVE)

    cursor: reactive[int] = reactive(0, repaint=False)

    @dataclass
    class Moved(Message):
        """The cursor stands on another row, or on the same one among others; None without rows.

        Attributes:
            is_by_user: The user moved it; else the rows changed.
        """

        table: FrameTable
        row: Row | None
        is_by_user: bool = True

    @dataclass
    class Chosen(Message):
        """Enter, or a click on the row under the cursor."""

        table: FrameTable
        row: Row

    @dataclass
    class SortAsked(Message):
        """A click on a header."""

        table: FrameTable
        key: str

    def __init__(self, *, cell_styles: Styles | None = None, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.section = Section("")
        self.marked: set[Row] = set()
        self.sort, self.is_descending = "", True
        self.cell_styles: dict[str, Callable[[Any], str]] = {**CELL_STYLES, **(cell_styles or {})}
        self._labels: list[Row] = []
        self._positions: dict[Row, int] = {}
        self._values: dict[str, list[Any]] = {}
        self._levels: Sequence[int] = ()
        self._guides: list[str] = []
        self._shown: list[int] = []
        self._toggled: set[Row] = set()
        self._is_folded = False
        self._cells: list[Cell] = []
        self._scale: dict[int, float] = {}
        self._strips: dict[int, Strip] = {}
        self._rich: dict[tuple[str, str], RichStyle] = {}
        self._was_wide = self._usual_width = 0

    # Rows

    def show(self, section: Section, levels: Sequence[int] = (), *, is_folded: bool = False) -> None:
        """Show the rows of a section; the cursor stays on its row, else near its position.

        Args:
            levels: Depth of each row from 0, in depth-first order, for a tree or rows that expand.
            is_folded: Rows with children begin closed.
        """
        row, place = self.row, self.cursor - self._top
        self.section, self._levels, self._is_folded = section, levels, is_folded
        frame = section.frame
        self._labels = [] if frame is None else frame.index.tolist()
        self._positions = {label: position for position, label in enumerate(self._labels)}
        self._values = {}
        self.marked &= self._positions.keys()
        self._guides = _draw_guides(levels)
        self._scale = {}
        self._lay_out()
        position = self.cursor if row is None else self._find(row)
        self._show_rows(min(self.cursor, len(self._shown) - 1) if position is None else position, place)

    def _show_rows(self, cursor: int, place: int) -> None:
        """Update after a change of the rows: the cursor stays at a place of the screen."""
        self.virtual_size = Size(self.size.width, len(self._shown) + 1)
        self.set_reactive(FrameTable.cursor, max(0, min(cursor, len(self._shown) - 1)))
        self.scroll_to(y=max(0, self.cursor - place), animate=False)
        self._keep_in_view()
        self._repaint()
        self.post_message(self.Moved(self, self.row, is_by_user=False))

    @property
    def row(self) -> Row | None:
        """The row under the cursor; None without rows."""
        return self._labels[self._shown[self.cursor]] if self.cursor < len(self._shown) else None

    @property
    def rows(self) -> list[Row]:
        """The shown rows, in order."""
        return [self._labels[position] for position in self._shown]

    def move_to(self, row: Row) -> bool:
        """Put the cursor on a row, expanding what contains it; return whether the table has it."""
        if row not in self._positions:
            return False
        if self._levels:
            self._open_to(self._positions[row])
        position = self._find(row)
        if position is not None:
            self.cursor = position
        return position is not None

    def _find(self, row: Row) -> int | None:
        position = self._positions.get(row)
        if position is None:
            return None
        if len(self._shown) == len(self._labels):
            return position
        return next((at for at, shown in enumerate(self._shown) if shown == position), None)

    @property
    def _top(self) -> int:
        return self.scroll_offset.y

    @property
    def page_rows(self) -> int:
        """Number of rows on screen."""
        return max(1, self.size.height - 1)

    # Trees

    def is_open(self, position: int) -> bool:
        """Return whether the children of a row of the frame are shown."""
        return (self._labels[position] in self._toggled) is self._is_folded

    def has_children(self, position: int) -> bool:
        return position + 1 < len(self._levels) and self._levels[position + 1] > self._levels[position]

    def parent_of(self, position: int) -> int | None:
        """Return the row of the frame that contains a row."""
        level = self._levels[position] if self._levels else 0
        return (
            next((above for above in range(position - 1, -1, -1) if self._levels[above] < level), None)
            if level
            else None
        )

    def _open_to(self, position: int) -> None:
        closed = []
        parent = self.parent_of(position)
        while parent is not None:
            closed += [] if self.is_open(parent) else [parent]
            parent = self.parent_of(parent)
        if closed:
            self._toggled ^= {self._labels[parent] for parent in closed}
            self._refold()

    def _refold(self) -> None:
        row, place = self.row, self.cursor - self._top
        self._shown = self._find_shown()
        position = None if row is None else self._find(row)
        if position is None and row is not None:  # it is folded: the cursor goes to what contains it
            above: int | None = self._positions[row]
            while above is not None and position is None:
                above = self.parent_of(above)
                position = None if above is None else self._find(self._labels[above])
        self._show_rows(position or 0, place)

    def _find_shown(self) -> list[int]:
        if not self._levels:
            return list(range(len(self._labels)))
        shown, hidden_below = [], None
        for position, level in enumerate(self._levels):
            if hidden_below is not None and level > hidden_below:
                continue
            hidden_below = None if not self.has_children(position) or self.is_open(position) else level
            shown.append(position)
        return shown

    def toggle(self, row: Row) -> None:
        """Expand or collapse a row."""
        self._toggled ^= {row}
        self._refold()

    def action_expand(self) -> None:
        position = self._shown[self.cursor] if self._shown else 0
        if self._levels and self.has_children(position):
            if self.is_open(position):
                self.action_move(1)
            else:
                self.toggle(self._labels[position])

    def action_collapse(self) -> None:
        position = self._shown[self.cursor] if self._shown else 0
        if self._levels and self.has_children(position) and self.is_open(position):
            self.toggle(self._labels[position])
        elif (parent := self.parent_of(position)) is not None:
            self.move_to(self._labels[parent])

    def action_expand_all(self) -> None:
        self._set_all(is_open=True)

    def action_collapse_all(self) -> None:
        self._set_all(is_open=False)

    def _set_all(self, *, is_open: bool) -> None:
        self._toggled = set() if is_open is not self._is_folded else set(self._labels)
        self._refold()

    # Layout

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, len(self._shown) + 1)
        self._keep_in_view()

    def _lay_out(self) -> None:
        """Choose the columns that fit, and their widths."""
        self._was_wide = width = self.size.width
        self._shown = self._find_shown()
        self._strips.clear()
        frame = self.section.frame
        if frame is None:
            self._cells = []
            return
        cells = [Cell(column, *self._measure(column)) for column in self.section.columns]
        bar = next(cells_ for least, cells_ in _BAR_WIDTHS if width >= least) if self.section.bar else 0
        room = width - 2 - (bar + GAP if bar else 0)  # gutter, and a cell before the scrollbar
        elastic = [key for key in (self._name_key, *self.section.shorten) if key in frame]
        least_name = min(self._usual_width, _LEAST_NAME + width * _NAME_SHARE // 100)

        def least(cell: Cell) -> int:
            return (
                min(cell.width, least_name)
                if cell.column.key == self._name_key
                else min(cell.width, _LEAST_TEXT)
            )

        def needed() -> int:
            return sum((least(cell) if cell.column.key in elastic else cell.width) + GAP for cell in cells)

        while needed() > room and any(cell.column.priority for cell in cells):
            cells.remove(max(reversed(cells), key=lambda cell: cell.column.priority))
        free = room - needed()
        widths = {cell.column.key: least(cell) for cell in cells if cell.column.key in elastic}
        whole = {cell.column.key: cell.width for cell in cells}
        # Names of usual length first, then the others, then the longest names.
        for key, wanted in (
            (self._name_key, self._usual_width),
            *((key, whole[key]) for key in (*reversed(list(widths)), self._name_key) if key in whole),
        ):
            if key in widths:
                more = max(0, min(wanted - widths[key], free))
                widths[key], free = widths[key] + more, free - more
        self._cells = []
        for cell in cells:
            self._cells.append(cell._replace(width=widths.get(cell.column.key, cell.width)))
            if bar and cell.column.key == self.section.bar:
                self._cells.append(Cell(Column("", ""), bar, is_right=False))

    @property
    def _name_key(self) -> str:
        return next(iter(self.section.shorten), "name")

    def _measure(self, column: Column) -> tuple[int, bool]:
        """Return the width of a column, of its values and its title, and whether it holds numbers."""
        key, values = column.key, self._column_values(column.key)
        frame = self.section.frame
        is_right = frame is not None and is_number(frame[key]) and key != self._name_key
        if is_right and len(values) > _MEASURED:
            known = [value for value in values if value is not None]
            values = [*values[:_MEASURED], *([min(known), max(known)] if known else [])]
        elif key != self._name_key:  # few different words
            words = {value for value in values if isinstance(value, str)}
            values = [*words, *(value for value in values if not isinstance(value, str))]
        texts = [*map(self._whole_text(column), values)]
        if key == self._name_key and self._levels:
            texts = [f"{guide}▾ {text}" for guide, text in zip(self._guides, texts, strict=True)]
        widest = max(map(len, texts), default=0)
        if key == self._name_key:
            self._usual_width = sorted(map(len, texts))[len(texts) * 9 // 10] if texts else 0
        if not is_right and key not in self.section.shorten:
            widest = min(widest, column.width or _WIDEST_TEXT)
        return max(cell_len(column.title) + (2 if key == self.sort else 0), widest), is_right

    def _whole_text(self, column: Column) -> Callable[[Any], str]:
        """Return the function that writes a value of a column without cutting it."""
        fit = self.section.shorten.get(column.key)

        def write(value: Any) -> str:  # noqa: ANN401 - any cell
            return column.format(value) if fit is None or not isinstance(value, str) else fit(value, _WHOLE)

        return write

    def _column_values(self, key: str) -> list[Any]:
        frame = self.section.frame
        if key not in self._values:
            self._values[key] = [] if frame is None or key not in frame else plain_values(frame[key])
        return self._values[key]

    # Painting

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if width != self._was_wide:  # before the event of the resize
            self._lay_out()
        if y == 0:
            return self._render_header().crop_extend(0, width, self._base("header"))
        position = self._top + y - 1
        if position >= len(self._shown):
            sentences = [] if self._shown else self.section.sentences
            text = f" {printable(sentences[y - 1])}" if y <= len(sentences) else ""
            return Strip([Segment(text, self._style("$muted", ""))]).crop_extend(0, width, self.rich_style)
        if position == self.cursor:
            return self._render_row(self._shown[position], is_cursor=True)
        row = self._shown[position]
        if row not in self._strips:
            if len(self._strips) > _MOST_STRIPS:
                self._strips.clear()
            self._strips[row] = self._render_row(row, is_cursor=False)
        return self._strips[row]

    def _render_header(self) -> Strip:
        segments = [Segment(" ", self._base("header"))]
        for cell in self._cells:
            title = cell.column.title
            is_sorted = bool(self.sort) and cell.column.key == self.sort
            if is_sorted:
                mark = "▼" if self.is_descending else "▲"
                title = f"{mark} {title}" if cell.is_right else f"{title} {mark}"
            style = self._style("$accent" if is_sorted else "", "header")
            segments.append(Segment(_align(title, cell.width, is_right=cell.is_right) + " " * GAP, style))
        return Strip(segments)

    def _render_row(self, row: int, *, is_cursor: bool) -> Strip:
        ground = "cursor" if is_cursor else ""
        is_marked = self._labels[row] in self.marked
        sign = "◆" if is_marked else (">" if is_ascii() else "▌") if is_cursor else " "
        segments = [Segment(sign, self._style("$accent" if is_marked else "$primary", ""))]
        for cell in self._cells:
            *parts, last = self._render_cell(row, cell, ground)
            segments += [*parts, Segment(last.text + " " * GAP, last.style)]  # fewer styles, fewer bytes
        strip = Strip(segments).simplify()
        return strip.crop_extend(0, self.size.width, self._style("", ground))

    def _render_cell(self, row: int, cell: Cell, ground: str) -> list[Segment]:
        key = cell.column.key
        if not key:
            return [self._render_bar(row, cell.width, ground)]
        value = self._column_values(key)[row]
        if key == self._name_key:
            return self._render_name(row, value, cell, ground)
        if value is None and self._levels and self.has_children(row):
            value = ""  # a group has none of its own
        style = "$muted" if value is None else self._cell_style(row, key, value)
        return [Segment(self._write(value, cell), self._style(style, ground))]

    def _cell_style(self, row: int, key: str, value: Any) -> str:  # noqa: ANN401, ARG002 - any cell
        return self.cell_styles[key](value) if key in self.cell_styles else ""

    def _write(self, value: Any, cell: Cell) -> str:  # noqa: ANN401 - any cell
        fit = self.section.shorten.get(cell.column.key)
        if fit is not None and isinstance(value, str):
            return set_cell_size(fit_cells(value, cell.width, fit), cell.width)
        return _align(cell.column.format(value), cell.width, is_right=cell.is_right)

    def _render_name(self, row: int, value: Any, cell: Cell, ground: str) -> list[Segment]:  # noqa: ANN401
        guide, arrow = "", ""
        if self._levels:
            guide = self._guides[row]
            arrow = ("▾ " if self.is_open(row) else "▸ ") if self.has_children(row) else ""
        fit = self.section.shorten.get(
            cell.column.key, lambda text, width: shorten_middle(printable(text), width)
        )
        room = max(1, cell.width - cell_len(guide) - cell_len(arrow))
        text = MISSING if value is None else fit_cells(str(value), room, fit)
        key = cell.column.key
        style = self._cell_style(row, key, value)
        text = set_cell_size(arrow + text, max(0, cell.width - cell_len(guide)))
        return [Segment(guide, self._style("$muted", ground)), Segment(text, self._style(style, ground))]

    def _render_bar(self, row: int, width: int, ground: str) -> Segment:
        """Draw the bar of a row: of a tree row against the largest of its kind, so that leaves differ."""
        values = self._column_values(self.section.bar)
        group = bool(self._levels) and self.has_children(row)
        if group not in self._scale:
            alike = [
                value
                for position, value in enumerate(values)
                if value is not None and (bool(self._levels) and self.has_children(position)) == group
            ]
            self._scale[group] = max(alike, default=0.0)
        value, top = values[row], self._scale[group]
        share = float(value) / top if value is not None and top > 0 else 0.0
        bar = _draw_line(share, width) if group else format_bar(share, width)
        kinds = self._column_values("kind")
        style = (
            "$muted"
            if group
            else self.cell_styles["kind"](kinds[row])
            if kinds and kinds[row] is not None
            else "$primary"
        )
        is_plain = bool(ground) and self.app.current_theme.ansi  # reversed, a full block is a hole
        return Segment(set_cell_size(bar, width), self._style(style, "" if is_plain else ground))

    def _base(self, ground: str) -> RichStyle:
        return self._style("", ground)

    def _style(self, token: str, ground: str) -> RichStyle:
        key = (token, ground)
        if key not in self._rich:
            base = component_style(self, f"table--{ground}") if ground else self.visual_style
            self._rich[key] = (base + Style.parse(token) if token else base).rich_style
        return self._rich[key]

    def notify_style_update(self) -> None:
        self._rich.clear()
        self._strips.clear()
        super().notify_style_update()

    def _repaint(self) -> None:
        self._strips.clear()
        self.refresh()

    # Cursor

    def watch_cursor(self, before: int, after: int) -> None:
        self._keep_in_view()
        self.refresh_line(before + 1)
        self.refresh_line(after + 1)
        self.post_message(self.Moved(self, self.row))

    def validate_cursor(self, cursor: int) -> int:
        return max(0, min(cursor, len(self._shown) - 1))

    def _keep_in_view(self) -> None:
        top, height = self._top, self.page_rows
        if not top <= self.cursor < top + height:
            is_far = not top - height < self.cursor < top + 2 * height
            edge = self.cursor if self.cursor < top else self.cursor - height + 1
            self.scroll_to(y=self.cursor - height // 2 if is_far else edge, animate=False)

    def action_move(self, rows: int) -> None:
        self.cursor += rows

    def action_page(self, pages: float) -> None:
        self.action_move(round(pages * self.page_rows))

    def action_jump(self, row: int) -> None:
        self.cursor = row % max(1, len(self._shown))

    def action_choose(self) -> None:
        if self.row is not None:
            self.post_message(self.Chosen(self, self.row))

    def mark(self) -> None:
        """Mark or unmark the row under the cursor, and go to the next."""
        if self.row is not None:
            self.marked ^= {self.row}
            self._strips.pop(self._shown[self.cursor], None)
            self.refresh_line(self.cursor + 1)
            self.cursor += 1

    def clear_marks(self) -> None:
        self.marked.clear()
        self._repaint()

    def find(self, text: str, step: int) -> bool:
        """Go to the next row, or with -1 the previous one, whose name has the text; return whether there is one."""
        folded, count = text.casefold(), len(self._shown)
        names = self._column_values(self._name_key)
        for distance in range(1, count + 1):
            position = (self.cursor + step * distance) % count
            if folded in str(names[self._shown[position]]).casefold():
                self.cursor = position
                return True
        return False

    def on_click(self, event: Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if offset.y > 0:
            position = self._top + offset.y - 1
            if position >= len(self._shown):
                return
            if position == self.cursor:
                self.action_choose()
            self.cursor = position
            return
        right = 1
        for cell in self._cells:
            right += cell.width + GAP
            if offset.x < right:
                if cell.column.key:
                    self.post_message(self.SortAsked(self, cell.column.key))
                return


class TreeTable(FrameTable):
    """A table whose rows have children; its keys expand and collapse."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(TREE)


def fit_cells(text: str, width: int, fit: Callable[[str, int], str]) -> str:
    """Return a text in a number of cells; East Asian letters take two."""
    letters = width
    while cell_len(shown := fit(text, letters)) > width and letters > 1:
        letters -= 1
    return shown


def _draw_line(share: float, width: int) -> str:
    """Return the bar of a group: lighter than that of a row, in half cells."""
    halves = round(2 * width * share) or (1 if share > 0 else 0)
    return "━" * (halves // 2) + "╸" * (halves % 2)


def _align(text: str, width: int, *, is_right: bool) -> str:
    if cell_len(text) > width:
        text = fit_cells(text, width, shorten_middle)
    return " " * (width - cell_len(text)) + text if is_right else set_cell_size(text, width)


def _draw_guides(levels: Sequence[int]) -> list[str]:
    """Return the lines before each row of a tree, from its level and those of the rows below."""
    guides: list[str] = []
    goes_on: dict[int, bool] = {}
    for level in reversed(levels):
        lines = ["│ " if goes_on.get(above) else "  " for above in range(1, level)]
        corner = ("├╴" if goes_on.get(level) else "└╴") if level else ""
        guides.append("".join(lines) + corner)
        goes_on = {above: has_more for above, has_more in goes_on.items() if above < level}
        goes_on[level] = True
    return guides[::-1]
