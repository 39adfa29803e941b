"""A window of text to scroll in: help, notes."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from trex_tui.screens.dialog import Dialog


class _Scroll(VerticalScroll, can_focus=True):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
        Binding("ctrl+d,space", "page_down", show=False),
        Binding("ctrl+u", "page_up", show=False),
    ]


class TextScreen(Dialog[None]):
    """Text in a window as wide as it needs to be."""

    DEFAULT_CSS = """
    TextScreen > _Scroll > Static { width: auto; max-width: 100%; height: auto; }
    """

    def __init__(self, title: str, text: Content) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        """The text."""
        window = _Scroll(Static(self._text), classes="dialog")
        window.border_title = self._title
        window.border_subtitle = "j k scroll · Esc closes"
        yield window
