"""Open another engine: type a path, or choose one opened lately."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import Input

from trex_tui.errors import TrexError
from trex_tui.report.path_completion import common_beginning, completions, typed_path
from trex_tui.screens.computation import compute
from trex_tui.screens.dialogs import PromptScreen


class OpenScreen(PromptScreen[str]):
    """The result is a path, as it is to be opened."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab", "complete", "complete", priority=True)]

    title_text = "Open"
    hint = "Tab completes · ↑ ↓ choose · Enter opens · Esc closes"
    placeholder = "directory or file; below: opened lately"

    def __init__(self, recent: Sequence[str] = (), text: str = "", remark: str = "") -> None:
        super().__init__(text, remark)
        self._recent = list(recent)
        self._offered: list[str] = []
        self._filled_in = ""
        """What the list put into the line: that is no reason for another list."""
        self._followed = ""
        """What the list is about."""

    def on_mount(self) -> None:
        super().on_mount()
        self._follow(self.line.value)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        if event.value not in (self._filled_in, self._followed):
            self.say("")
            self._follow(event.value)

    def _follow(self, text: str) -> None:
        self._filled_in, self._followed = "", text
        if text.strip():
            make, take = partial(completions, text), partial(self._take_completions, text)
            compute(self, "The completion of paths", make, take, self._refuse_completions)
        else:
            self._show(self._recent)

    def _take_completions(self, text: str, paths: list[str]) -> None:
        if text == self.line.value:
            self._show(paths)

    def _refuse_completions(self, problem: str) -> bool:
        self.say(problem)
        return True

    def _show(self, paths: list[str]) -> None:
        self._offered = paths
        self.offer(paths)

    def chosen(self, place: int) -> None:
        self._fill_in(self._offered[place])

    def _fill_in(self, text: str) -> None:
        self._filled_in = text
        self.line.value = text
        self.line.cursor_position = len(text)

    def action_complete(self) -> None:
        """Type what all that is offered has in common; go into the directory that the line names."""
        text = self.line.value
        if not text.strip():
            return
        self._fill_in(common_beginning(completions(text), text))
        self._follow(self.line.value)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        try:
            self.dismiss(typed_path(event.value))
        except TrexError as error:
            self.say(str(error))
