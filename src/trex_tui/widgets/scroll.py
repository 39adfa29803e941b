"""What scrolls: text, with the keys of the tables, and whatever draws its lines itself."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.widget import Widget

MOVES: tuple[BindingType, ...] = (
    Binding("j", "scroll_down", show=False),
    Binding("k", "scroll_up", show=False),
    Binding("g", "scroll_home", show=False),
    Binding("G", "scroll_end", show=False),
    Binding("ctrl+d", "half_page(1)", show=False),
    Binding("ctrl+u", "half_page(-1)", show=False),
)
"""What Textual's containers have no keys for."""


def scroll_half_page(widget: Widget, direction: int) -> None:
    """Scroll by half of what is in view."""
    widget.scroll_relative(y=direction * max(1, widget.size.height // 2), animate=False)


class TextScroll(VerticalScroll, can_focus=True):
    """A container that scrolls as less does."""

    BINDINGS: ClassVar[list[BindingType]] = [*MOVES]

    def action_half_page(self, direction: int) -> None:
        scroll_half_page(self, direction)


class LineScroll(ScrollView):
    """Draws lines itself, those in view; its own place does not depend on how many there are."""

    def set_line_count(self, count: int) -> None:
        """Say how many lines there are to scroll over.

        Textual lays out the whole screen when `virtual_size` changes; nothing but the scrollbar looks different.
        """
        if count != self.virtual_size.height:
            self.set_reactive(Widget.virtual_size, Size(0, count))
            self._scroll_update(self.virtual_size)
