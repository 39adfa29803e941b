"""What the small windows over a screen have in common."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.screen import ModalScreen, Screen

from trex_tui.actions import Place
from trex_tui.widgets.bindings import bindings_in
from trex_tui.widgets.key_footer import KeyFooter

Result = TypeVar("Result")
LEAST_WIDTH = 12


def is_open(screen: Screen[Any]) -> bool:
    """Whether a screen is still there to be dismissed.

    Several Enters may arrive in one packet: what they choose is in the queue of the window when the first one closes it, and
    Textual would close the screen below for each of the others.
    """
    return screen in screen.app.screen_stack


def bring_to_top(screen: Screen[Any]) -> bool:
    """Close what is over a screen, which Textual would dismiss in its stead; False if it is closed itself."""
    while is_open(screen) and screen.app.screen is not screen:
        screen.app.pop_screen()
    return is_open(screen)


class Dialog(ModalScreen[Result]):
    """A window that Esc and q close without a result."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.DIALOG)
    # In fewer cells a list would have no width, and Textual fails to wrap its options.
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (LEAST_WIDTH, "-roomy")]  # noqa: RUF012

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
        &.-tiny > .dialog { max-width: 34; }
    }
    """

    def on_mount(self) -> None:
        """The line of keys on the screen below tells the keys of this window."""
        self.set_class(
            self.app.size.width < LEAST_WIDTH, "-tiny"
        )  # Breakpoints count after the first layout.
        self.bindings_updated_signal.subscribe(self, self._tell_footer)

    def on_unmount(self) -> None:
        """It tells those of the screen again, or of the window that follows."""
        self._tell_footer()

    def _tell_footer(self, _: object = None) -> None:
        stack = self.app.screen_stack
        footers = [footer for screen in stack for footer in screen.query(KeyFooter)]
        if footers and stack[-1].is_attached:
            footers[-1].follow(stack[-1])

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close, once."""
        return super().dismiss(result) if bring_to_top(self) else AwaitComplete()

    def action_dismiss_dialog(self) -> None:
        """Close without a result."""
        self.dismiss(None)
