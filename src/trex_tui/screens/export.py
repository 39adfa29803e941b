"""Export what is on screen: in which format, and to which file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from textual import on
from textual.widgets import Input

from trex_tui.artifacts.output_files import Inputs
from trex_tui.errors import TrexError
from trex_tui.screens.choose import ChooseScreen
from trex_tui.screens.prompt import PromptScreen
from trex_tui.services.export import ExportFormat, format_of, target_of, with_ending


@dataclass(frozen=True, slots=True)
class ExportTarget:
    """Where to, and as what."""

    path: Path
    form: ExportFormat


class ExportScreen(PromptScreen[ExportTarget]):
    """Asks for path and format, and before it overwrites.

    Args:
        what: What is exported: `9 layers`.
        forms: The formats there are, each in words.
        text: The path to begin with.
        remark: What went wrong before.
        inputs: What may not be written over.
    """

    hint = "↑ ↓ format · Enter exports · Esc closes"

    def __init__(
        self, what: str, forms: Mapping[ExportFormat, str], text: str, remark: str = "", *, inputs: Inputs
    ) -> None:
        super().__init__(text, remark)
        self._inputs = inputs
        self.title_text = f"Export {what}"
        self._texts = list(forms.values())
        self._forms = list(forms)
        form = format_of(text)
        self._form = form if form in self._forms else self._forms[0]

    def on_mount(self) -> None:
        """Offer the formats."""
        super().on_mount()
        self.offer(self._texts, self._forms.index(self._form))
        self.line.cursor_position = len(self.line.value)

    def chosen(self, place: int) -> None:
        """The ending follows the format."""
        self._form = self._forms[place]
        self.line.value = with_ending(self.line.value, self._form)
        self.line.cursor_position = len(self.line.value)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        """The format follows the ending."""
        form = format_of(event.value)
        if form in self._forms and form is not self._form:
            self._form = form
            self.choices.highlighted = self._forms.index(form)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        try:
            path = target_of(event.value, f"export.{self._form.value}")
            self._inputs.check(path)
        except TrexError as error:
            self.say(str(error))
            return
        target = ExportTarget(path, self._form)
        if not path.exists():
            self.dismiss(target)
            return
        answers = {"keep": "keep the file that is there", "overwrite": "overwrite it"}
        question = ChooseScreen(f"{path.name} exists", answers, "keep")

        def answered(answer: str | None) -> None:
            if answer == "overwrite":
                self.dismiss(target)

        self.app.push_screen(question, answered)
