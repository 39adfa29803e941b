"""The line to type a filter in, as in less and vim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Label

NO_CONTROLS = r"[^\x00-\x1f\x7f-\x9f]*"
"""What may be typed or pasted: the line is drawn as it is."""


@dataclass
class FilterChanged(Message):
    """The text changed; the list behind follows while a person types.

    A later one replaces those still in the queue: fast typing waits for the last list only.
    """

    text: str

    def can_replace(self, message: Message) -> bool:
        """Whether `message`, which waits in the queue, is out of date because of this one."""
        return isinstance(message, FilterChanged)


@dataclass
class FilterClosed(Message):
    """Typing ended: `keep` with Enter, otherwise with Esc."""

    keep: bool


class FilterBar(Horizontal):
    """Hidden until opened.

    Enter and Esc are looked for before the text sees them, and the keyboard goes back at once: keys that a person types right
    behind them, faster than the connection, are not taken for text.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "keep", show=True, priority=True),
        Binding("escape", "cancel", "clear", show=True, priority=True),
    ]

    DEFAULT_CSS = """
    FilterBar {
        height: 1;
        layout: horizontal;
        background: $panel;
        & Label { color: $accent; text-style: bold; padding: 0 0 0 1; }
        & Input { width: 1fr; height: 1; border: none; padding: 0; background: $panel; }
        & Input:focus { border: none; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.display = False
        self._focused_before: Widget | None = None
        self._is_cancelled = False
        """Keys that were typed before Esc may still reach the text after it; they change nothing any more."""

    def compose(self) -> ComposeResult:
        """A slash and the text."""
        yield Label("/", markup=False)
        yield Input(
            placeholder="words of the layer's name; -word leaves out",
            compact=True,
            select_on_focus=False,
            restrict=NO_CONTROLS,
        )

    @property
    def is_open(self) -> bool:
        """Whether a person may be typing."""
        return self.display

    def open(self, text: str) -> None:
        """Show the line and put the cursor into it."""
        if not self.is_open:
            self._focused_before = self.screen.focused
        self._is_cancelled = False
        self.display = True
        line = self.query_one(Input)
        with line.prevent(Input.Changed):
            line.value = text
        line.cursor_position = len(text)
        self.screen.set_focus(line)

    def close(self) -> None:
        """Hide the line."""
        self.display = False

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if not self._is_cancelled:
            self.post_message(FilterChanged(event.value))

    def action_accept(self) -> None:
        """Enter: keep the filter."""
        self._leave(keep=True)

    def action_cancel(self) -> None:
        """Esc: no filter."""
        self._is_cancelled = True
        self._leave(keep=False)

    def _leave(self, *, keep: bool) -> None:
        self.screen.set_focus(self._focused_before)
        self.close()
        self.post_message(FilterClosed(keep))
