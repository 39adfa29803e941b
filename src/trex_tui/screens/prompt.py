"""A window with a line to type in, and a list below that the arrows walk through."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from trex_tui.screens.dialog import Dialog, Result
from trex_tui.text import printable, shorten_middle
from trex_tui.widgets.filter_bar import NO_CONTROLS, Harmless


class PromptInput(Input):
    """A line in which `q` is a letter; the arrows up and down are the list's."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,ctrl+p", "screen.step(-1)", show=False),
        Binding("down,ctrl+n", "screen.step(1)", show=False),
    ]


class PromptScreen(Dialog[Result]):
    """Title, line, what is wrong with it, list. The line keeps the keyboard."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss_dialog", "close", priority=True)]

    DEFAULT_CSS = """
    PromptScreen > Vertical.dialog {
        width: 76;
        & Input { width: 1fr; height: 1; border: none; padding: 0; background: $panel; }
        & Input:focus { border: none; }
        & Static { height: auto; color: $warning; }
        & OptionList { height: auto; max-height: 12; border: none; padding: 0; background: $surface; }
        & OptionList > .option-list--option-highlighted { text-style: reverse; }
        &:ansi OptionList > .option-list--option-highlighted { color: $foreground; background: $surface; }
    }
    """

    title_text = ""
    hint = "Enter accepts · ↑ ↓ choose · Esc closes"
    placeholder = ""

    def __init__(self, text: str = "", remark: str = "") -> None:
        super().__init__()
        self._text, self._remark = text, remark

    def compose(self) -> ComposeResult:
        """Line, remark, list."""
        window = Vertical(classes="dialog")
        window.border_title = self.title_text
        window.border_subtitle = self.hint
        with window:
            yield PromptInput(
                self._text,
                placeholder=self.placeholder,
                compact=True,
                select_on_focus=False,
                restrict=NO_CONTROLS,
                highlighter=Harmless(),
            )
            yield Static(Content(printable(self._remark)), id="remark")
            choices = OptionList()
            choices.can_focus = False
            yield choices

    def on_mount(self) -> None:
        """Put the keyboard into the line."""
        self.line.focus()
        self.say(self._remark)

    @property
    def line(self) -> Input:
        """Where a person types."""
        return self.query_one(PromptInput)

    @property
    def choices(self) -> OptionList:
        """What there is to choose."""
        return self.query_one(OptionList)

    def say(self, words: str) -> None:
        """Say under the line what is wrong; nothing is."""
        remark = self.query_one("#remark", Static)
        remark.update(Content(printable(words)))
        remark.display = bool(words)

    def offer(self, texts: list[str], highlighted: int | None = None) -> None:
        """Replace the list."""
        self.choices.clear_options()
        self.choices.add_options([Option(Content(shorten_middle(printable(text), 70))) for text in texts])
        self.choices.highlighted = highlighted
        self.choices.display = bool(texts)

    def action_step(self, step: int) -> None:
        """Choose the one before or after."""
        count = self.choices.option_count
        if count:
            now = self.choices.highlighted
            chosen = (now + step) % count if now is not None else (0 if step > 0 else count - 1)
            self.choices.highlighted = chosen
            self.chosen(chosen)

    def chosen(self, place: int) -> None:
        """The arrows or the mouse chose from the list."""
        raise NotImplementedError

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self.chosen(event.option_index)

    def on_click(self, event: events.Click) -> None:
        """The keyboard stays with the line."""
        if event.widget is not self:
            self.line.focus()
