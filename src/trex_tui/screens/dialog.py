"""What the small windows over a screen have in common."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.binding import BindingType
from textual.screen import ModalScreen

from trex_tui.actions import Place
from trex_tui.widgets.bindings import bindings_in
from trex_tui.widgets.key_footer import KeyFooter

Result = TypeVar("Result")


class Dialog(ModalScreen[Result]):
    """A window that Esc and q close without a result."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.DIALOG)

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        background: $background 60%;
        & > .dialog, & > .dialog:focus {
            width: auto;
            height: auto;
            min-width: 34;
            max-width: 96%;
            max-height: 90%;
            padding: 0 1;
            border: round $primary;
            border-title-color: $accent;
            border-title-style: bold;
            border-subtitle-color: $text-muted;
            background: $surface;
        }
    }
    """

    def on_mount(self) -> None:
        """The line of keys on the screen below tells the keys of this window."""
        self.bindings_updated_signal.subscribe(self, self._tell_footer)

    def on_unmount(self) -> None:
        """It tells those of the screen again, or of the window that follows."""
        self._tell_footer()

    def _tell_footer(self, _: object = None) -> None:
        stack = self.app.screen_stack
        footers = [footer for screen in stack for footer in screen.query(KeyFooter)]
        if footers and stack[-1].is_attached:
            footers[-1].follow(stack[-1])

    def action_dismiss_dialog(self) -> None:
        """Close without a result."""
        self.dismiss(None)
