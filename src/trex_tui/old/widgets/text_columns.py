"""Text in columns that scroll together, with selectable links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region
from textual.message import Message

from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.widgets.actions import Place, bindings_in
from trex_tui.old.widgets.text_view import TextLine, TextView

COLUMN_GAP = 2
"""Cells between columns."""
_MARGIN = 1
"""Cells before the first column."""
_CHOSEN = "reverse"

ColumnsMaker = Callable[[int], Sequence[Sequence[TextLine]]]
"""Makes the lines of each column for the total width; `column_width` returns the width of one."""


def column_width(width: int, count: int) -> int:
    """Return the width of each column."""
    return max(1, (width - _MARGIN - COLUMN_GAP * (count - 1)) // count)


@dataclass
class TargetOpened(Message):
    """Enter or a click on a line that leads to `target`."""

    target: object


@dataclass(frozen=True, slots=True)
class _Link:
    """Link: target, column, first row and number of rows."""

    target: object
    column: int
    row: int
    height: int


class TextColumns(TextView):
    """Columns of text. `j` and `k` select the next link of a column, and scroll if it is far away."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_in(Place.FACTS),
        Binding("j,down", "step(1)", show=False),
        Binding("k,up", "step(-1)", show=False),
        Binding("g,home", "edge(0)", show=False),
        Binding("G,end", "edge(-1)", show=False),
        Binding("enter", "open", show=False),
    ]

    def __init__(self, make: ColumnsMaker, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._make_columns = make
        self._columns: tuple[int, list[list[Content]]] | None = None
        """The wrapped lines of each column, and the width they are wrapped for."""
        self._links: list[_Link] = []
        self.chosen: object = None
        """Target of the selected line; None for none."""

    def renew(self) -> None:
        self._columns = None
        super().renew()

    def wrapped(self, width: int) -> list[Content]:
        """Return the rows: lines of all columns, joined."""
        if self._wrapped is None or self._wrapped[0] != width:
            columns = self._wrap_columns(width)
            cells = column_width(width, len(columns) or 1)
            chosen = self._chosen_link if self.has_focus else None
            rows = []
            for row in range(max(map(len, columns), default=0)):
                parts = [
                    self._part(lines, row, cells, is_chosen=_is_at(chosen, column, row))
                    for column, lines in enumerate(columns)
                ]
                rows.append(Content(" " * _MARGIN) + Content(" " * COLUMN_GAP).join(parts))
            self._wrapped = width, rows
        return self._wrapped[1]

    @staticmethod
    def _part(lines: Sequence[Content], row: int, cells: int, *, is_chosen: bool) -> Content:
        line = lines[row] if row < len(lines) else Content("")
        part = line.pad_right(max(0, cells - line.cell_length))
        return part.stylize(_CHOSEN) if is_chosen else part

    def _wrap_columns(self, width: int) -> list[list[Content]]:
        if self._columns is None or self._columns[0] != width:
            made = self._make_columns(width)
            cells = column_width(width, len(made) or 1)
            columns: list[list[Content]] = []
            self._links = []
            for lines in made:
                rows: list[Content] = []
                for line in lines:
                    parts = line.wrap(cells)
                    if line.target is not None:
                        self._links.append(_Link(line.target, len(columns), len(rows), len(parts)))
                    rows += parts
                columns.append(rows)
            self._columns = width, columns
        return self._columns[1]

    # What is in view

    @property
    def lines_below(self) -> int:
        """Number of rows below the view."""
        height = self.scrollable_content_region.height
        return max(0, len(self._rows) - self.scroll_offset.y - height)

    def _tell_rest(self) -> None:
        below = self.lines_below
        words = f"↓ {below} more" if below else ""
        if words != self.border_subtitle:
            self.border_subtitle = words

    def _fit(self) -> None:
        super()._fit()
        self._tell_rest()

    def watch_scroll_y(self, old: float, new: float) -> None:
        super().watch_scroll_y(old, new)
        self._tell_rest()

    # Choosing

    @property
    def _chosen_link(self) -> _Link | None:
        return next((link for link in self._links if link.target == self.chosen), None)

    def choose(self, target: object) -> None:
        self.chosen = target
        self._redraw()

    def _redraw(self) -> None:
        self._wrapped = None
        self._fit()

    def on_focus(self) -> None:
        if self.chosen is not None:
            self._wrap_columns(self.text_width)  # The links of lines that were renewed.
        if self._chosen_link is None:
            self.chosen = self._links[0].target if self._links else None
        self._redraw()

    def on_blur(self) -> None:
        self._redraw()

    def _go_to(self, link: _Link) -> None:
        self.choose(link.target)
        top = 0 if link is self._first_in(link.column) else link.row
        region = Region(0, top, 1, link.row + link.height - top)
        self.scroll_to_region(region, animate=False, x_axis=False, force=True)

    def _first_in(self, column: int) -> _Link | None:
        return next((link for link in self._links if link.column == column), None)

    def action_step(self, step: int) -> None:
        """Select the next link if it is less than half a page out of view; else scroll."""
        here, first, height = self._chosen_link, self.scroll_offset.y, self.scrollable_content_region.height
        column = [link for link in self._links if here is not None and link.column == here.column]
        ahead = [link for link in column if here is not None and (link.row - here.row) * step > 0]
        near = ahead[0 if step > 0 else -1] if ahead else None
        if near is not None and first - height // 2 <= near.row < first + height + height // 2:
            self._go_to(near)
        else:
            self.scroll_relative(y=step, animate=False)

    def action_side(self, step: int) -> None:
        """Select the link of the next column that is nearest to the selected one."""
        here = self._chosen_link
        if here is None:
            return
        beside = [link for link in self._links if (link.column - here.column) * step > 0]
        if beside:
            self._go_to(
                min(beside, key=lambda link: (abs(link.column - here.column), abs(link.row - here.row)))
            )

    def action_edge(self, end: int) -> None:
        """Go to the first or last line of a column."""
        here = self._chosen_link
        links = [link for link in self._links if here is not None and link.column == here.column]
        if links:
            self.choose(links[end].target)
        self.scroll_to(y=0 if end == 0 else self.max_scroll_y, animate=False)

    def action_open(self) -> None:
        if self._chosen_link is not None:
            self.post_message(TargetOpened(self.chosen))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or self._columns is None:
            return
        cells = column_width(self.text_width, len(self._columns[1]) or 1)
        column = (offset.x - _MARGIN) // (cells + COLUMN_GAP)
        row = self.scroll_offset.y + offset.y
        link = next((link for link in self._links if _is_at(link, column, row)), None)
        if link is not None:
            event.stop()
            self.choose(link.target)
            self.action_open()


def _is_at(link: _Link | None, column: int, row: int) -> bool:
    return link is not None and link.column == column and link.row <= row < link.row + link.height
