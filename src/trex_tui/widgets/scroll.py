"""Text to scroll in, with the keys of the tables."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll


class TextScroll(VerticalScroll, can_focus=True):
    """A container that scrolls as less does."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
        Binding("ctrl+d", "half_page(1)", show=False),
        Binding("ctrl+u", "half_page(-1)", show=False),
    ]

    def action_half_page(self, direction: int) -> None:
        """Scroll by half of what is in view."""
        self.scroll_relative(y=direction * max(1, self.size.height // 2), animate=False)
