"""The line of the filter, and of the search: completion while typing, errors and hints under it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import Key
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Label, Static

from trex_tui.engine.filter import Table, complete
from trex_tui.text import printable

_MOST_OPTIONS = 8


class FilterBar(Vertical):
    """A line above the footer: `/` for a filter of the layers, `f` for a search in the list.

    Attributes:
        is_search: It was opened for a search.
    """

    DEFAULT_CSS = """
    FilterBar {
        height: auto; dock: bottom; display: none; background: $panel; margin-bottom: 1;
        #line { layout: horizontal; height: 1; }
        Label { width: 2; color: $accent; padding-left: 1; text-style: bold; }
        Input, Input:focus { border: none; height: 1; padding: 0; background: $panel; width: 1fr; }
        #hint { height: 1; padding: 0 3; color: $muted; text-wrap: nowrap; text-overflow: ellipsis; }
        #hint.-error { color: $error; }
    }
    """

    @dataclass
    class Changed(Message):
        """The text changed."""

        text: str
        is_search: bool

    @dataclass
    class Closed(Message):
        """Enter keeps the text, Esc takes it back."""

        text: str
        is_search: bool
        is_kept: bool

    def __init__(self, table: Table) -> None:
        super().__init__()
        self.is_search = False
        self._table = table
        self._before = ""
        self._input = Input(
            compact=True, suggester=_Completion(lambda: None if self.is_search else self._table)
        )

    def compose(self) -> ComposeResult:
        with Vertical(id="line"):
            yield Label("/")
            yield self._input
        yield Static(id="hint", markup=False)

    @property
    def is_open(self) -> bool:
        return bool(self.display)

    def open(self, text: str, *, is_search: bool = False) -> None:
        """Show the line with a text and take the focus."""
        self.is_search, self._before = is_search, text
        self.query_one(Label).update("f" if is_search else "/")
        self._input.placeholder = (
            "find in this list" if is_search else "words  kind:gemm  pct>2  precision:int8  -kind:reformat"
        )
        with self.prevent(Input.Changed):
            self._input.value = text
        self._input.cursor_position = len(text)
        self.display = True
        self.tell("")
        self._input.focus()

    def tell(self, hint: str, *, is_error: bool = False) -> None:
        """Show a sentence under the text: an error, the number of matches; else what could follow."""
        if not hint and not self.is_search and (completion := complete(self._table, self._input.value)):
            hint = "  ".join(completion.options[:_MOST_OPTIONS])
        self.query_one("#hint", Static).update(printable(hint))
        self.query_one("#hint").set_class(is_error, "-error")

    def close(self, *, is_kept: bool) -> None:
        """Hide the line."""
        if self.display:
            self.display = False
            text = self._input.value if is_kept else self._before
            self.post_message(self.Closed(text, self.is_search, is_kept))

    @on(Input.Changed)
    def _change(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self.post_message(self.Changed(event.value, self.is_search))

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        event.stop()
        self.close(is_kept=True)

    def on_key(self, event: Key) -> None:
        """Esc closes; Tab completes, as in a shell."""
        if event.key == "escape":
            event.stop()
            self.close(is_kept=False)
        elif event.key == "tab":
            event.stop()
            event.prevent_default()
            if not self.is_search and (completion := complete(self._table, self._input.value)):
                self._input.value = completion.completed
                self._input.cursor_position = len(self._input.value)
            else:
                self.close(is_kept=True)


class _Completion(Suggester):
    """Shows the most likely continuation behind the cursor."""

    def __init__(self, find_table: Callable[[], Table | None]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._find_table = find_table

    async def get_suggestion(self, value: str) -> str | None:
        table = self._find_table()
        completion = complete(table, value) if table is not None and value else None
        return completion.ghost if completion else None
