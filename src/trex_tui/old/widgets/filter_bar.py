"""Filter line, with errors and completions below it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.highlighter import Highlighter
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive, reactive
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Input, Label

from trex_tui.old.analysis.filter import Completion, FilterError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import printable, printable_in_place

NO_CONTROLS = r"[^\x00-\x1f\x7f-\x9f]*"
"""Characters that may be typed or pasted. Completions may contain any: see `Harmless`."""
HINT = 'words of the name · kind:gemm,conv* · pct>2 · -word · or · name~"regex"'
_GAP = "  "
Complete = Callable[[str], Completion | None]
"""Completes a filter."""


@dataclass
class FilterChanged(Message):
    """The text changed; the list follows while typing.

    A later one replaces those still in the queue: fast typing waits for the last list only.
    """

    text: str

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, FilterChanged)


@dataclass
class FilterClosed(Message):
    """Typing ended: `keep` with Enter, otherwise with Esc."""

    keep: bool


class _Ghost(Suggester):
    """The rest of the likeliest completion, after the cursor."""

    def __init__(self, complete: Complete) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._complete = complete

    async def get_suggestion(self, value: str) -> str | None:
        completion = self._complete(value)
        return completion.ghost if completion else None


class Harmless(Highlighter):
    """Input that draws control characters harmlessly; its value is unchanged."""

    def highlight(self, text: Text) -> None:
        if not text.plain.isprintable():
            text.plain = printable_in_place(text.plain)


class LineInput(Input):
    """A line to type in whose length changes no layout; Textual lays out the whole screen for each letter."""

    virtual_size = Reactive(Size(0, 0), layout=False)

    def __init__(self, suggester: Suggester | None = None) -> None:
        super().__init__(
            compact=True,
            select_on_focus=False,
            restrict=NO_CONTROLS,
            suggester=suggester,
            highlighter=Harmless(),
        )


class FilterBar(Vertical):
    """Hidden until opened.

    Enter and Esc are handled before the text gets them, and return the focus at once, so that keys typed right after them are
    not taken for text. Tab completes where there is something to complete, and goes to the next pane elsewhere.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "keep", show=True, priority=True),
        Binding("escape", "cancel", "clear", show=True, priority=True),
        Binding("tab", "complete", "complete", show=True, priority=True),
    ]

    DEFAULT_CSS = """
    FilterBar {
        height: 2;
        background: $panel;
        & > Horizontal { height: 1; }
        & Label { color: $accent; text-style: bold; padding: 0 0 0 1; }
        & Input { width: 1fr; height: 1; border: none; padding: 0; background: $panel; }
        & Input:focus { border: none; }
        & Input > .input--suggestion { color: $text-muted; text-style: italic; }
        & FilterHint { height: 1; padding: 0 1 0 2; color: $text-muted; }
    }
    """

    error: reactive[FilterError | None] = reactive(None)
    """The error in the text."""
    note: reactive[str] = reactive("")
    """Reason why no row matches; empty if any does."""

    def __init__(self, complete: Complete, hint: str = HINT) -> None:
        super().__init__()
        self.display = False
        self._complete = complete
        self._line = LineInput(_Ghost(complete))
        self._hint = FilterHint(hint)
        self._focused_before: Widget | None = None
        self._is_cancelled = False
        """Ignore keys typed before Esc that reach the text after it."""

    def on_unmount(self) -> None:
        """Unsubscribe the line: Textual's subscription keeps it, the screen and the engine in memory."""
        self.screen.text_selection_started_signal.unsubscribe(self._line)

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Label("/", markup=False)
            yield self._line
        yield self._hint

    @property
    def is_open(self) -> bool:
        return self.display

    def open(self, text: str) -> None:
        if not self.is_open:
            self._focused_before = self.screen.focused
        self._is_cancelled = False
        self.display = True
        line = self._line
        with line.prevent(Input.Changed):
            line.value = text
        line.cursor_position = len(text)
        self._hint.completion = self._completion
        self.screen.set_focus(line)

    def close(self) -> None:
        self.display = False

    @property
    def _completion(self) -> Completion | None:
        line = self._line
        return self._complete(line.value) if line.value and line.cursor_at_end else None

    def watch_error(self, error: FilterError | None) -> None:
        self._hint.error = error

    def watch_note(self, note: str) -> None:
        self._hint.note = note

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if not self._is_cancelled:
            self._hint.completion = self._completion
            self.refresh_bindings()
            self.post_message(FilterChanged(event.value))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave Tab to the screen if there is nothing to complete."""
        if action == "complete":
            return self.is_open and self._completion is not None
        return super().check_action(action, parameters)

    def action_complete(self) -> None:
        completion = self._completion
        if completion is not None:
            line = self._line
            line.value = completion.completed
            line.cursor_position = len(line.value)

    def action_accept(self) -> None:
        self._leave(keep=True)

    def action_cancel(self) -> None:
        self._is_cancelled = True
        self._leave(keep=False)

    def _leave(self, *, keep: bool) -> None:
        self.screen.set_focus(self._focused_before)
        self.close()
        self.post_message(FilterClosed(keep))


class FilterHint(Widget):
    """Return a line with an error, completions, or an example of the language."""

    error: reactive[FilterError | None] = reactive(None)
    note: reactive[str] = reactive("")
    completion: reactive[Completion | None] = reactive(None)

    def __init__(self, example: str) -> None:
        super().__init__()
        self._example = example

    def render(self) -> Content:
        parts: list[Content] = []
        if self.error is not None:
            parts.append(Content.styled(f"error: {printable(str(self.error))}", "bold $error"))
        elif self.note and self.completion is None:
            parts.append(Content.styled(printable(self.note), "bold $warning"))
        if self.completion is not None and (self.error is None or self.error.is_incomplete):
            options = _GAP.join(map(printable, self.completion.options))
            parts.append(Content.assemble(("Tab", "bold"), " ", options))
        line = Content(_GAP).join(parts) if parts else Content(self._example)
        return line.truncate(self.content_size.width, ellipsis=True)
