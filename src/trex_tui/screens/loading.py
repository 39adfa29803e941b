"""What is on screen before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Center, Middle
from textual.content import Content
from textual.screen import Screen
from textual.widgets import LoadingIndicator, Static

from trex_tui.actions import Place
from trex_tui.text import printable, shorten_middle
from trex_tui.widgets.bindings import bindings_in

if TYPE_CHECKING:
    from trex_tui.app import TrexApp


class LoadingScreen(Screen[None]):
    """Says what is being read.

    Args:
        paths: What a person asked for.
        is_first: Whether there is nothing to go back to.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.LOADING)

    help_places: ClassVar[list[Place]] = [Place.LOADING, Place.EVERYWHERE]

    DEFAULT_CSS = """
    LoadingScreen {
        & Static { width: auto; color: $text-muted; }
        & LoadingIndicator { height: 1; width: 20; color: $primary; }
    }
    """

    def __init__(self, paths: Sequence[str], *, is_first: bool = True) -> None:
        super().__init__()
        self._paths, self.is_first = paths, is_first

    def compose(self) -> ComposeResult:
        """A sentence, a sign of life, the file, and the way out."""
        what = ", ".join(shorten_middle(printable(str(path)), 50) for path in self._paths[:3])
        with Middle():
            with Center():
                yield Static(Content(f"reading {what} …"))
            with Center():
                yield LoadingIndicator()
            with Center():
                yield Static(id="file")
            with Center():
                yield Static(Content("Esc quits" if self.is_first else "Esc goes back"))

    def on_screen_suspend(self) -> None:
        """Stand still below other screens: Textual would draw those anew, whole, with each step of the indicator."""
        self.query(LoadingIndicator).set(display=False)

    def on_screen_resume(self) -> None:
        """Move again."""
        self.query(LoadingIndicator).set(display=True)

    def show_file(self, words: str) -> None:
        """Say which file is being read."""
        self.query_one("#file", Static).update(Content(shorten_middle(printable(words), 56)))

    def action_cancel(self) -> None:
        """Stop reading."""
        cast("TrexApp", self.app).cancel_reading()
