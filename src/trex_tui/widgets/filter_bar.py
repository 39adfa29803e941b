"""The line to type a filter in, as in less and vim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Label


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
    """Hidden until opened."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "clear", show=True)]

    DEFAULT_CSS = """
    FilterBar {
        height: 1;
        display: none;
        background: $panel;
        &.-open { display: block; layout: horizontal; }
        & Label { color: $accent; text-style: bold; padding: 0 0 0 1; }
        & Input { width: 1fr; height: 1; border: none; padding: 0; background: $panel; }
        & Input:focus { border: none; }
    }
    """

    def compose(self) -> ComposeResult:
        """A slash and the text."""
        yield Label("/", markup=False)
        yield Input(placeholder="words of the layer's name; -word leaves out", compact=True)

    def open(self, text: str) -> None:
        """Show the line and put the cursor into it."""
        self.add_class("-open")
        line = self.query_one(Input)
        with line.prevent(Input.Changed):
            line.value = text
        line.cursor_position = len(text)
        line.focus()

    def close(self) -> None:
        """Hide the line."""
        self.remove_class("-open")

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(FilterChanged(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(FilterClosed(keep=True))

    def action_cancel(self) -> None:
        """Esc: no filter."""
        self.post_message(FilterClosed(keep=False))
