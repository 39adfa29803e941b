"""What the small windows over a screen have in common."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.binding import BindingType
from textual.screen import ModalScreen

from trex_tui.actions import Place
from trex_tui.widgets.bindings import bindings_in

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

    def action_dismiss_dialog(self) -> None:
        """Close without a result."""
        self.dismiss(None)
