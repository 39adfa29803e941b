"""Search line. The list goes to the first match while typing."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Label, Static

from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.widgets.filter_bar import LineInput


@dataclass
class SearchChanged(Message):
    """The text changed. Newer messages replace those still in the queue."""

    text: str

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, SearchChanged)


@dataclass
class SearchClosed(Message):
    """Typing ended: `keep` with Enter, otherwise with Esc."""

    text: str
    keep: bool


class SearchBar(Horizontal):
    """Hidden until opened."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "leave(True)", "keep", show=True, priority=True),
        Binding("escape", "leave(False)", "back", show=True, priority=True),
    ]

    DEFAULT_CSS = """
    SearchBar {
        height: 1;
        background: $panel;
        & Label { color: $accent; text-style: bold; padding: 0 1; }
        & Input { width: 1fr; height: 1; border: none; padding: 0; background: $panel; }
        & Input:focus { border: none; }
        & Static { width: auto; padding: 0 1; color: $warning; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.display = False
        self._line = LineInput()
        self._result = Static()
        self._focused_before: Widget | None = None

    def on_unmount(self) -> None:
        """Unsubscribe the line, which Textual would keep in memory."""
        self.screen.text_selection_started_signal.unsubscribe(self._line)

    def compose(self) -> ComposeResult:
        yield Label("search", markup=False)
        yield self._line
        yield self._result

    @property
    def is_open(self) -> bool:
        return self.display

    def open(self) -> None:
        self._focused_before = self.screen.focused
        self.display = True
        with self._line.prevent(Input.Changed):
            self._line.value = ""
        self.tell("")
        self.screen.set_focus(self._line)

    def close(self) -> None:
        self.display = False

    def tell(self, result: str) -> None:
        """Show the number of the match under the cursor."""
        self._result.update(Content(result))

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.is_open:
            self.post_message(SearchChanged(event.value))

    def action_leave(self, keep: bool) -> None:
        self.screen.set_focus(self._focused_before)
        self.close()
        self.post_message(SearchClosed(self._line.value, keep))
