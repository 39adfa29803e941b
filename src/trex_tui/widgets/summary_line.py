"""A line of words below a table."""

from __future__ import annotations

from textual.app import RenderResult
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from trex_tui.text import printable


class SummaryLine(Widget):
    """One line of plain text."""

    DEFAULT_CSS = """
    SummaryLine {
        height: 1;
        background: $panel;
        color: $text-muted;
        padding: 0 1;
    }
    """

    text: reactive[str] = reactive("")

    def render(self) -> RenderResult:
        """The text, never markup."""
        return Content(printable(self.text)).truncate(self.content_size.width, ellipsis=True)
