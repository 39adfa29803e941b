"""Windows: choose one of a list, type a path, read a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import isawaitable
from typing import Any, ClassVar

from textual import on
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Input, Label, OptionList
from textual.widgets.option_list import Option

from trex_tui.engine.model import Engine
from trex_tui.report.document import Section
from trex_tui.text import printable
from trex_tui.widgets.actions import DIALOG, bindings


class Dialog(ModalScreen[Any]):
    """A window over the screen; Esc closes it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(DIALOG)
    DEFAULT_CSS = """
    Dialog {
        align: center middle; background: $background 50%;
        & > Vertical { width: 80; max-width: 96%; height: auto; max-height: 90%; background: $panel; padding: 0 1; border: round $primary; border-title-color: $accent; }
        OptionList, OptionList:focus { height: auto; max-height: 100%; border: none; background: $panel; padding: 0; }
        Input, Input:focus { border: none; height: 1; background: $surface; padding: 0 1; }
    }
    """

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title

    def action_cancel(self) -> None:
        self.dismiss(None)


class ChooseDialog(Dialog):
    """A list to choose from; typed letters filter it."""

    def __init__(self, title: str, options: Mapping[str, str], chosen: str | None = None) -> None:
        super().__init__(title)
        self._options, self._chosen = dict(options), chosen

    def compose(self) -> ComposeResult:
        with Vertical() as window:
            window.border_title = self.title
            yield Input(placeholder="type to filter", compact=True)
            yield OptionList(markup=False)

    def on_mount(self) -> None:
        self._show("")

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._show(event.value)

    def _show(self, text: str) -> None:
        words = text.casefold().split()
        options = self.query_one(OptionList)
        options.clear_options()
        kept = {
            key: shown
            for key, shown in self._options.items()
            if all(word in f"{key} {shown}".casefold() for word in words)
        }
        options.add_options(Option(Content(printable(shown)), id=key) for key, shown in kept.items())
        options.highlighted = list(kept).index(self._chosen) if self._chosen in kept else 0 if kept else None

    def on_key(self, event: Key) -> None:
        """Move the highlight while letters go to the filter."""
        moves = {"down": "cursor_down", "up": "cursor_up", "pagedown": "page_down", "pageup": "page_up"}
        if event.key in moves:
            event.stop()
            getattr(self.query_one(OptionList), f"action_{moves[event.key]}")()

    @on(Input.Submitted)
    def _submit(self) -> None:
        self.query_one(OptionList).action_select()

    @on(OptionList.OptionSelected)
    def _select(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)


def choose(
    app: App[Any],
    title: str,
    options: Mapping[str, str],
    then: Callable[[str], Any],
    chosen: str | None = None,
) -> None:
    """Let the user choose; call `then` with the key of the option, unless the window is closed."""

    async def finish(key: str | None) -> None:
        if key is not None:
            result = then(key)
            if isawaitable(result):
                await result

    app.push_screen(ChooseDialog(title, options, chosen), finish)


def export(app: App[Any], engine: Engine, name: str, sections: Sequence[Section]) -> None:
    """Write sections to a file."""
    app.notify("not yet")


def show_notes(app: App[Any], engine: Engine) -> None:
    """Show damage and doubts of the files."""
    app.notify("\n".join(printable(str(note)) for note in engine.notes) or "No notes.", markup=False)


_ = Label
