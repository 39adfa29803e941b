"""Texts that scroll, with links: details of a layer, findings, explanations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from rich.cells import chop_cells
from textual.binding import BindingType
from textual.content import Content
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual

from trex_tui.widgets.actions import MOVE, TEXT, bindings
from trex_tui.widgets.theme import component_style


class Line(NamedTuple):
    """A paragraph: it wraps.

    Attributes:
        link: What `Followed` names when it is chosen; None for plain text.
        indent: Blanks before its further lines.
    """

    content: Content
    link: Any = None
    indent: int = 0


class LinkedText(ScrollView, can_focus=True):
    """Lines of text; some are links: `l` and `h` go from link to link, Enter or a click follows one."""

    DEFAULT_CSS = """
    LinkedText {
        height: 1fr; padding: 0 1; background: $surface; scrollbar-size-vertical: 1; overflow-x: hidden;
        scrollbar-gutter: stable;
        & > .text--chosen { background: $primary 14%; }
        &:focus > .text--chosen { background: $primary 32%; text-style: bold; }
        &:ansi > .text--chosen { background: ansi_default; text-style: reverse; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"text--chosen"}
    BINDINGS: ClassVar[list[BindingType]] = bindings(TEXT, MOVE)

    chosen: reactive[int | None] = reactive(None, repaint=False)
    """Place of the chosen link among the lines."""

    @dataclass
    class Followed(Message):
        """A link was chosen."""

        text: LinkedText
        link: Any

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()
        self._rows: list[tuple[Content, int]] = []
        self._draw: Callable[[int], Iterable[Line]] | None = None
        self._width = 0

    def show(self, lines: Iterable[Line] | Callable[[int], Iterable[Line]]) -> None:
        """Show lines, or those that a function draws for a width, from the top."""
        self._draw = lines if callable(lines) else None
        self._lines = () if callable(lines) else list(lines)
        self.set_reactive(LinkedText.chosen, None)
        self._wrap()
        self.scroll_to(y=0, animate=False)

    def on_resize(self, event: Resize) -> None:
        if event.size.width != self._width:
            self._wrap()

    def _wrap(self) -> None:
        """Wrap the lines to the width; `_rows` are lines on screen and the number of their line."""
        self._width = self.size.width
        width = self.scrollable_content_region.width
        if width <= 0:
            return
        if self._draw is not None:
            self._lines = list(self._draw(width))
        self._rows = [
            (row, number) for number, line in enumerate(self._lines) for row in _wrap_line(line, width)
        ]
        self.virtual_size = Size(width, len(self._rows))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        row = self.scroll_offset.y + y
        if row >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        content, number = self._rows[row]
        style = component_style(self, "text--chosen") if number == self.chosen else self.visual_style
        strips = Visual.to_strips(self, content, width, 1, style)
        return strips[0].crop_extend(0, width, style.rich_style) if strips else Strip.blank(width)

    def watch_chosen(self, before: int | None, after: int | None) -> None:
        for row, (_, number) in enumerate(self._rows):
            if number in (before, after):
                self.refresh_line(row)
        if after is not None:
            row = next((row for row, (_, number) in enumerate(self._rows) if number == after), 0)
            if not self.scroll_offset.y <= row < self.scroll_offset.y + self.size.height:
                self.scroll_to(y=max(0, row - self.size.height // 2), animate=False)

    def go_to_link(self, step: int) -> Any:  # noqa: ANN401 - as `Line.link`
        """Choose the next link, or the first on screen, and return it; None without links."""
        links = [number for number, line in enumerate(self._lines) if line.link is not None]
        if not links:
            return None
        if self.chosen is None:
            top = next((number for _, number in self._rows[self.scroll_offset.y :]), 0)
            self.chosen = next((number for number in links if number >= top), links[-1])
        else:
            self.chosen = links[max(0, min(len(links) - 1, links.index(self.chosen) + step))]
        return self._lines[self.chosen].link

    def action_next_link(self) -> None:
        self.go_to_link(1)

    def action_previous_link(self) -> None:
        self.go_to_link(-1)

    def action_follow(self) -> None:
        if self.chosen is None:
            self.go_to_link(1)
        elif self._lines[self.chosen].link is not None:
            self.post_message(self.Followed(self, self._lines[self.chosen].link))

    def on_click(self, event: Click) -> None:
        offset = event.get_content_offset(self)
        row = self.scroll_offset.y + (offset.y if offset else 0)
        if offset is not None and row < len(self._rows):
            link = self._lines[self._rows[row][1]].link
            if link is not None:
                self.chosen = self._rows[row][1]
                self.post_message(self.Followed(self, link))

    def action_move(self, rows: int) -> None:
        self.scroll_relative(y=rows, animate=False)

    def action_page(self, pages: float) -> None:
        self.scroll_relative(y=round(pages * max(1, self.size.height - 1)), animate=False)

    def action_jump(self, row: int) -> None:
        self.scroll_to(y=0 if row == 0 else len(self._rows), animate=False)

    def action_choose(self) -> None:
        self.action_follow()


def _wrap_line(line: Line, width: int) -> list[Content]:
    if line.content.cell_length <= width:
        return [line.content]
    first, *rest = line.content.wrap(width)
    if not rest or not line.indent:
        return [first, *rest]
    if len(first.plain.rstrip()) <= line.indent:  # a label before one long word
        first = line.content[: len(chop_cells(line.content.plain, width)[0])]
    left = line.content[len(first) :]
    plain = left.plain
    left = left[len(plain) - len(plain.lstrip()) :]
    blanks = Content(" " * line.indent)
    return [first, *(blanks + row for row in left.wrap(max(8, width - line.indent)))]


def styled(*parts: tuple[str, str] | str) -> Content:
    """Return text of parts with styles: `styled(("PREC001", "bold $warning"), "  title")`."""
    return Content.assemble(*parts)


__all__ = ["Line", "LinkedText", "Style", "styled"]
