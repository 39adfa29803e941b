"""What the screens that fill the terminal have in common."""

from __future__ import annotations

from collections.abc import Iterator

from textual import events
from textual.app import RenderResult
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from trex_tui.widgets.chrome import KeyFooter

LEAST_WIDTH, LEAST_HEIGHT = 60, 16


class TooSmall(Widget):
    """Covers a screen in a terminal that is too small."""

    DEFAULT_CSS = """
    TooSmall {
        layer: too-small;
        display: none;
        width: 100%;
        height: 100%;
        padding: 0 1;
        background: $surface;
        content-align: center middle;
        text-align: center;
    }
    """

    def render(self) -> RenderResult:
        size = self.app.size
        return Content(
            f"This terminal has {size.width}×{size.height} cells; "
            f"trex-tui needs {LEAST_WIDTH}×{LEAST_HEIGHT}. Make it larger, or press q."
        )


class MainScreen(Screen[None]):
    """A screen with breakpoints, covered by a message where the terminal is too small.

    The sentence covers the widgets instead of hiding them, so that the keyboard is where it was when there is room again.
    """

    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (LEAST_WIDTH, "-narrow"), (80, "-medium"), (120, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (LEAST_HEIGHT, "-high"), (36, "-tall")]  # noqa: RUF012

    DEFAULT_CSS = """
    MainScreen {
        layers: default too-small;
        overflow: hidden;
        &.-tiny TooSmall, &.-low TooSmall { display: block; }
    }
    """

    _is_fresh = True
    """Whether this screen has not been shown yet, so that its styles are those of its mounting."""

    def on_compose(self) -> None:
        """Set the breakpoint classes before the widgets are styled: the first resize would style all of them again."""
        self.update_classes(dict.fromkeys(self._room_classes(), True), update=False)

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Skip the second styling of every widget when first shown."""
        event.refresh_styles = event.refresh_styles and not self._is_fresh
        self._is_fresh = False

    def _room_classes(self) -> Iterator[str]:
        size = self.app.size
        for extent, breakpoints in (
            (size.width, self.HORIZONTAL_BREAKPOINTS),
            (size.height, self.VERTICAL_BREAKPOINTS),
        ):
            yield from [name for least, name in breakpoints if extent >= least][-1:]

    @staticmethod
    def footer() -> KeyFooter:
        return KeyFooter()
