"""Windows: choose one of a list, choose columns, type a path, read a text."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from inspect import isawaitable
from pathlib import Path
from typing import Any, ClassVar

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click, Key
from textual.screen import ModalScreen
from textual.suggester import Suggester
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from trex_tui.text import plural, printable
from trex_tui.widgets.actions import DIALOG, bindings
from trex_tui.widgets.chrome import Clickable
from trex_tui.widgets.text import Line, LinkedText


class Dialog(Clickable, ModalScreen[Any]):
    """A window over the screen; Esc closes it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(DIALOG)
    DEFAULT_CSS = """
    Dialog {
        align: center middle; background: $background 50%;
        & > Vertical {
            width: 96; max-width: 94%; height: auto; max-height: 84%; background: $panel; padding: 0 1;
            border: round $primary; border-title-color: $accent; border-subtitle-color: $muted;
        }
        &:ansi > Vertical { background: ansi_default; }
        OptionList, OptionList:focus {
            height: auto; max-height: 100%; border: none; background: transparent; padding: 0;
            text-wrap: nowrap; text-overflow: ellipsis;
        }
        Input, Input:focus { border: none; height: 1; background: $surface; padding: 0 1; }
        LinkedText { height: auto; max-height: 100%; background: transparent; }
    }
    """

    def __init__(self, title: str, keys: str = "") -> None:
        super().__init__()
        self.title, self._keys = title, keys
        self._is_closed = False

    def compose(self) -> ComposeResult:
        with Vertical() as window:
            window.border_title = Content(printable(self.title))
            window.border_subtitle = Content(self._keys)
            yield from self.compose_content()

    def compose_content(self) -> ComposeResult:
        """Yield what is in the window."""
        yield from ()

    def close(self, result: Any) -> None:  # noqa: ANN401 - of each window its own
        """Close the window with a result; a second key that came before it was gone does nothing."""
        if not self._is_closed:
            self._is_closed = True
            self.dismiss(result)

    def action_cancel(self) -> None:
        self.close(None)


class Options(OptionList, can_focus=False):
    """Options under a line that filters them."""

    def on_click(self, event: Click) -> None:
        """Ignore a click on an option that a key has just removed: Textual 8.2 fails on it."""
        if event.style.meta.get("option", 0) >= self.option_count:
            event.prevent_default()


class ChooseDialog(Dialog):
    """A list to choose from; typed letters filter it, the arrows move in it."""

    def __init__(self, title: str, options: Mapping[str, str | Content], chosen: str | None = None) -> None:
        super().__init__(title, "type to filter · Enter chooses · Esc closes")
        self.options, self._chosen = dict(options), chosen

    def compose_content(self) -> ComposeResult:
        yield Input(placeholder="filter", compact=True)
        yield Options(markup=False, compact=True)

    def on_mount(self) -> None:
        self.show_options()

    @on(Input.Changed)
    def show_options(self) -> None:
        """Show the options that have all typed words."""
        words = self.query_one(Input).value.casefold().split()
        kept = {
            key: text
            for key, text in self.options.items()
            if all(word in f"{key} {text}".casefold() for word in words)
        }
        options = self.query_one(OptionList)
        options.set_options(Option(self.draw_option(key, text), id=key or " ") for key, text in kept.items())
        begun = next((key for key in kept if words and key.casefold().startswith(words[0])), self._chosen)
        options.highlighted = list(kept).index(begun) if begun in kept else 0 if kept else None

    def draw_option(self, key: str, text: str | Content) -> Content:  # noqa: ARG002 - for classes below
        return text if isinstance(text, Content) else Content(printable(text))

    @property
    def highlighted(self) -> str | None:
        """Key of the option under the cursor."""
        option = self.query_one(OptionList).highlighted_option
        return None if option is None else (option.id or "").strip()

    def on_key(self, event: Key) -> None:
        """Move in the list, while letters go to the filter."""
        moves = {"down": "cursor_down", "up": "cursor_up", "pagedown": "page_down", "pageup": "page_up"}
        moves |= {"ctrl+n": "cursor_down", "ctrl+p": "cursor_up", "ctrl+f": "page_down", "ctrl+b": "page_up"}
        if event.key in moves:
            event.stop()
            event.prevent_default()
            with suppress(KeyError):  # in Textual 8.2.8 a page key before the list is drawn is one
                getattr(self.query_one(OptionList), f"action_{moves[event.key]}")()

    @on(Input.Submitted)
    def _submit(self) -> None:
        if self.highlighted is not None:
            self.finish(self.highlighted)

    @on(OptionList.OptionSelected)
    def _select(self, event: OptionList.OptionSelected) -> None:
        self.finish((event.option.id or "").strip())

    def finish(self, key: str) -> None:
        """Take the chosen option."""
        self.close(key)


class ColumnsDialog(ChooseDialog):
    """Columns in their order: Tab shows or hides one, Ctrl-arrows move it, Enter takes them."""

    def __init__(self, title: str, options: Mapping[str, str], shown: Sequence[str]) -> None:
        super().__init__(title, options)
        self._keys = "Tab toggles · Ctrl-↑↓ moves · Ctrl-r resets · Enter applies"
        self._shown = list(shown)

    def draw_option(self, key: str, text: str | Content) -> Content:
        return Content(f"{'■' if key in self._shown else '□'} {text}")

    def on_key(self, event: Key) -> None:
        super().on_key(event)
        key = self.highlighted
        if event.key == "ctrl+r":
            event.stop()
            self.close([])
        elif event.key == "tab" and key is not None:
            event.stop()
            event.prevent_default()
            self._shown = (
                [other for other in self._shown if other != key]
                if key in self._shown
                else [*self._shown, key]
            )
            self._redraw(key)
        elif event.key in ("ctrl+up", "ctrl+down") and key in self._shown:
            event.stop()
            place = self._shown.index(key)
            self._shown.insert(
                max(0, place + (1 if event.key == "ctrl+down" else -1)), self._shown.pop(place)
            )
            self._redraw(key)

    def _redraw(self, key: str) -> None:
        order = dict.fromkeys([*self._shown, *self.options])
        self.options = {name: self.options[name] for name in order}
        self._chosen = key
        self.show_options()

    def finish(self, key: str) -> None:  # noqa: ARG002 - all of them are taken
        self.close(self._shown)


class PathDialog(Dialog):
    """A path to type, with completion."""

    def __init__(self, title: str, text: str, sentence: str = "") -> None:
        super().__init__(title, "→ completes · Enter accepts · Esc closes")
        self._text, self._sentence = text, sentence

    def compose_content(self) -> ComposeResult:
        yield Input(self._text, compact=True, suggester=_Paths(use_cache=False, case_sensitive=True))
        if self._sentence:
            yield Static(self._sentence, markup=False)

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        if event.value.strip():
            self.close(event.value.strip())


class _Paths(Suggester):
    """Completes a path with the first name in its directory that begins so."""

    async def get_suggestion(self, value: str) -> str | None:
        path = Path(value).expanduser()
        directory, start = (path, "") if value.endswith("/") else (path.parent, path.name)
        try:
            names = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in directory.iterdir())
        except OSError:
            return None
        found = next(
            (name for name in names if name.startswith(start) and not (name.startswith(".") and not start)),
            None,
        )
        return None if found is None else value + found[len(start) :]


class TextDialog(Dialog):
    """A text to read; Enter follows a link in it and closes the window with it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "cancel", show=False)]

    def __init__(self, title: str, lines: Iterable[Line]) -> None:
        super().__init__(title, "j k move · Esc closes")
        self._lines = list(lines)

    def compose_content(self) -> ComposeResult:
        yield LinkedText()

    def on_mount(self) -> None:
        text = self.query_one(LinkedText)
        text.styles.height = len(self._lines)
        text.show(self._lines)
        text.focus()

    @on(LinkedText.Followed)
    def _follow(self, event: LinkedText.Followed) -> None:
        event.stop()
        self.close(event.link)


def choose(
    app: App[Any],
    title: str,
    options: Mapping[str, str],
    then: Callable[[str], Any],
    chosen: str | None = None,
) -> None:
    """Let the user choose; call `then` with the key of the option, unless the window is closed."""
    _push(app, ChooseDialog(title, options, chosen), then)


def choose_columns(
    app: App[Any],
    title: str,
    options: Mapping[str, str],
    shown: Sequence[str],
    then: Callable[[list[str]], Any],
) -> None:
    """Let the user choose columns; call `then` with their keys in order, none for the usual ones."""
    _push(app, ColumnsDialog(title, options, shown), then)


def ask_path(app: App[Any], title: str, text: str, then: Callable[[str], Any], sentence: str = "") -> None:
    """Let the user type a path; call `then` with it."""
    _push(app, PathDialog(title, text, sentence), then)


def read(
    app: App[Any], title: str, lines: Iterable[Line], then: Callable[[Any], Any] = lambda _: None
) -> None:
    """Show lines to read; call `then` with a link that is followed."""
    _push(app, TextDialog(title, lines), then)


def _push(app: App[Any], dialog: Dialog, then: Callable[[Any], Any]) -> None:
    async def finish(result: Any) -> None:  # noqa: ANN401 - of each window its own
        if result is not None:
            answer = then(result)
            if isawaitable(answer):
                await answer

    app.push_screen(dialog, finish)


def copy(app: App[Any], text: str, noun: str) -> None:
    """Copy lines by OSC 52, which works over SSH, and say what the terminal needs."""
    if not text:
        app.notify("Nothing to copy here.", markup=False)
        return
    app.copy_to_clipboard(text)
    hint = " tmux needs `set -g set-clipboard on`." if os.environ.get("TMUX") else ""
    app.notify(f"Copied {plural(text.count(chr(10)) + 1, noun)} (OSC 52).{hint}", markup=False)


def to_json(value: Any) -> str:  # noqa: ANN401 - what `document.plain` returns
    """Return a value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False)
