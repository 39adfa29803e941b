"""From the question what to export and where to, to the file and the sentence about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on
from textual.widgets import Input

from trex_tui.artifacts.output_files import Inputs, inputs_of, write_output
from trex_tui.crash_log import internal
from trex_tui.engine.columns import Column
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.errors import TrexError
from trex_tui.report.export import (
    ExportFormat,
    comparison_as,
    default_directory,
    file_stem,
    format_of,
    layers_as,
    listing_as,
    target_of,
    with_ending,
)
from trex_tui.screens.dialogs import ChooseScreen, PromptScreen
from trex_tui.screens.engines import EnginesScreen
from trex_tui.screens.navigation import EngineServices
from trex_tui.screens.worker_errors import AnswerFailed
from trex_tui.text import plural, printable, shorten_middle

if TYPE_CHECKING:
    from trex_tui.app import TrexApp
    from trex_tui.report.listing import ListingOffer
    from trex_tui.report.views.compare import Shown


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


_LAYERS = "the engine's layers"
_OF_LISTINGS = (ExportFormat.CSV, ExportFormat.JSON, ExportFormat.MARKDOWN, ExportFormat.SVG)
_MOST_NAME = 60


class Exporter:
    """One export of the screen that is on top when it is made."""

    def __init__(self, app: TrexApp) -> None:
        self._app = app
        self._screen = app.screen
        self._listings = self._screen.pane.shown_listings if isinstance(self._screen, EngineServices) else {}
        self._listing: ListingOffer | None = None
        self._words = ""
        self._is_chosen = False

    def ask(self, text: str = "", remark: str = "") -> None:
        """Ask of what, where there is a choice; where to and how. `text` and `remark` are for when that has failed."""
        if self._listings and not self._is_chosen:
            options = {words: words for words in self._listings} | {
                _LAYERS: f"{_LAYERS}: {self._layers_in_words()}"
            }
            self._app.push_screen(ChooseScreen("Export", options), self._chosen)
            return
        forms = self._forms()
        text = text or self._default_path(next(iter(forms)))
        screen = ExportScreen(self._what(), forms, text, remark, inputs=self._inputs())
        self._app.push_screen(screen, self._export)

    def _chosen(self, words: str | None) -> None:
        if words is not None:
            self._is_chosen = True
            self._listing = self._listings.get(words)
            self._words = words
            self.ask()

    @property
    def _comparison(self) -> Shown | None:
        return self._screen.pane.shown_comparison if isinstance(self._screen, EngineServices) else None

    def _forms(self) -> dict[ExportFormat, str]:
        """The formats there are for what is on screen, in words."""
        if not isinstance(self._screen, EngineServices):
            return {ExportFormat.SVG: ExportFormat.SVG.in_words}
        if self._comparison is not None:
            return {form: form.of_comparison for form in ExportFormat}
        if self._listing is not None:
            return {form: form.of_listing for form in _OF_LISTINGS}
        absent = [ExportFormat.HTML, *([ExportFormat.TEXT] if self._screen.pane.shown_text is None else [])]
        return {form: form.in_words for form in ExportFormat if form not in absent}

    def _what(self) -> str:
        if not isinstance(self._screen, EngineServices):
            return "the screen"
        if self._comparison is not None:
            return f"the comparison, {plural(len(self._comparison.blocks), 'block')}"
        if self._listing is not None:
            return shorten_middle(printable(self._words), _MOST_NAME)
        return self._layers_in_words()

    def _layers_in_words(self) -> str:
        if not isinstance(self._screen, EngineServices):
            return ""
        layers, _ = self._screen.exported(ExportFormat.CSV)
        marked = "marked " if self._screen.pane.marked_layers else ""
        return plural(len(layers), f"{marked}layer")

    def _inputs(self) -> Inputs:
        """What lies on the screens: of the engines that are shown, and of those that are listed."""
        lists = [screen for screen in self._app.screen_stack if isinstance(screen, EnginesScreen)]
        sets = [row.source for screen in lists for row in screen.rows]
        return inputs_of([*sets, *(engine.source for engine in self._engines())], self._app.paths)

    def _engines(self) -> Sequence[Engine]:
        if not isinstance(self._screen, EngineServices):
            return ()
        shown = self._comparison
        return (self._screen.engine,) if shown is None else shown.comparison.engines

    def _default_path(self, form: ExportFormat) -> str:
        if not isinstance(self._screen, EngineServices):
            return str(default_directory([]) / f"engines.{form.value}")
        files = (path for one in self._engines() for path in one.source.files.values())
        directory = default_directory(path.parent for path in files)
        what = "layers" if self._comparison is None else "compared"
        if self._listing is not None:
            what = f"build-{self._listing.key}"
        return str(directory / f"{file_stem(self._screen.engine.name)}.{what}.{form.value}")

    def _export(self, target: ExportTarget | None) -> None:
        if target is None:
            return
        if target.form is ExportFormat.SVG or not isinstance(self._screen, EngineServices):
            # The window that asked must be gone from the picture.
            self._app.call_after_refresh(self._write_picture, target)
            return
        if self._comparison is not None:
            self._in_thread(partial(self._write_comparison, target, self._comparison))
            return
        if self._listing is not None:
            self._in_thread(partial(self._write_listing, target, self._listing))
            return
        if target.form is ExportFormat.TEXT:
            self._write(target, self._screen.pane.shown_text or "", "the chart")
            return
        layers, columns = self._screen.exported(target.form)
        self._in_thread(partial(self._write_layers, target, self._screen.engine, layers, columns))

    def _in_thread(self, work: Callable[[], None]) -> None:
        def run() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - nothing was written, and that is all it costs
                self._app.post_message(AnswerFailed("The export", internal(error)))

        self._app.run_worker(run, thread=True, group="export")

    def _write_picture(self, target: ExportTarget) -> None:
        picture = self._app.export_screenshot(title=self._app.title)
        self._write(target, picture, "the screen")

    def _write_comparison(self, target: ExportTarget, shown: Shown) -> None:
        """In a thread, as below."""
        text = comparison_as(target.form, shown)
        self._app.call_from_thread(self._write, target, text, plural(len(shown.blocks), "block"))

    def _write_listing(self, target: ExportTarget, offer: ListingOffer) -> None:
        """In a thread, as below."""
        listing = offer.make()
        text = listing_as(target.form, listing)
        words = f"{plural(len(listing.table.rows), 'row')}, {plural(len(listing.table.columns), 'column')}"
        self._app.call_from_thread(self._write, target, text, words)

    def _write_layers(
        self, target: ExportTarget, engine: Engine, layers: Sequence[Layer], columns: Sequence[Column]
    ) -> None:
        """In a thread: it takes as long as there are cells."""
        text = layers_as(target.form, engine, layers, columns)
        words = f"{plural(len(layers), 'layer')}, {plural(len(columns), 'column')}"
        self._app.call_from_thread(self._write, target, text, words)

    def _write(self, target: ExportTarget, text: str, what: str) -> None:
        try:
            write_output(target.path, text)
        except TrexError as error:
            self.ask(str(target.path), str(error))
            return
        self._app.notify(printable(f"Exported {what} to {target.path}"), markup=False)
