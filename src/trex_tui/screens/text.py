"""A window of text to scroll in: help, notes."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from trex_tui.screens.dialog import Dialog
from trex_tui.widgets.scroll import TextScroll
from trex_tui.widgets.wrapped_lines import TextLine, WrappedLines


class TextScreen(Dialog[None]):
    """Text in a window as wide as it needs to be."""

    DEFAULT_CSS = """
    TextScreen WrappedLines { width: auto; max-width: 100%; }
    """

    def __init__(self, title: str, lines: Sequence[TextLine]) -> None:
        super().__init__()
        self._title, self._lines = title, lines

    def compose(self) -> ComposeResult:
        """The text."""
        window = TextScroll(WrappedLines(self._lines), classes="dialog")
        window.border_title = self._title
        window.border_subtitle = "j k scroll · Esc closes"
        yield window
