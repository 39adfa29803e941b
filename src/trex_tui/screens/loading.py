"""What is on screen before anything is read."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Center, Middle
from textual.content import Content
from textual.screen import Screen
from textual.widgets import LoadingIndicator, Static

from trex_tui.text import printable, shorten_middle


class LoadingScreen(Screen[None]):
    """Says what is being read."""

    DEFAULT_CSS = """
    LoadingScreen {
        & Static { width: auto; color: $text-muted; }
        & LoadingIndicator { height: 1; width: 20; color: $primary; }
    }
    """

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__()
        self._paths = paths

    def compose(self) -> ComposeResult:
        """A sentence and a sign of life."""
        what = ", ".join(shorten_middle(printable(str(path)), 50) for path in self._paths[:3])
        with Middle():
            with Center():
                yield Static(Content(f"reading {what} …"))
            with Center():
                yield LoadingIndicator()
