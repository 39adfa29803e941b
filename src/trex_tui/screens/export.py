"""From the question what to export and where to, to the file and the sentence about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import on
from textual.screen import Screen
from textual.widgets import Input

from trex_tui.analysis.columns import ALL_COLUMNS, ALL_COLUMNS_BY_NAME
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
from trex_tui.screens.engine import EngineScreen
from trex_tui.screens.services import listed_sets, services_of
from trex_tui.screens.worker_errors import AnswerFailed
from trex_tui.text import plural, printable, shorten_middle
from trex_tui.widgets.table_columns import LATENCY_COLUMNS

if TYPE_CHECKING:
    from trex_tui.report.document import ListingOffer
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
        super().on_mount()
        self.offer(self._texts, self._forms.index(self._form))
        self.line.cursor_position = len(self.line.value)

    def chosen(self, place: int) -> None:
        self._form = self._forms[place]
        self.line.value = with_ending(self.line.value, self._form)
        self.line.cursor_position = len(self.line.value)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
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
    """One export of a screen: what, to which file, and the sentence about it."""

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen
        self._engine_screen = screen if isinstance(screen, EngineScreen) else None
        self._selection = self._engine_screen.pane.selection() if self._engine_screen else None
        self._comparison = self._selection.comparison if self._selection else None
        self._listing: ListingOffer | None = None
        self._words = ""
        self._is_chosen = False

    def ask(self, text: str = "", remark: str = "") -> None:
        """Ask of what, where there is a choice; where to and how. `text` and `remark` are for when that has failed."""
        listings = self._selection.listings if self._selection else {}
        if listings and not self._is_chosen:
            options = {words: words for words in listings}
            options[_LAYERS] = f"{_LAYERS}: {self._layers_in_words()}"
            self._screen.app.push_screen(ChooseScreen("Export", options), self._chosen)
            return
        forms = self._forms()
        text = text or self._default_path(next(iter(forms)))
        window = ExportScreen(self._what(), forms, text, remark, inputs=self._inputs())
        self._screen.app.push_screen(window, self._export)

    def _chosen(self, words: str | None) -> None:
        if words is not None and self._selection is not None:
            self._is_chosen = True
            self._listing = self._selection.listings.get(words)
            self._words = words
            self.ask()

    def _forms(self) -> dict[ExportFormat, str]:
        """The formats there are for what is on screen, in words."""
        if self._selection is None:
            return {ExportFormat.SVG: ExportFormat.SVG.in_words}
        if self._comparison is not None:
            return {form: form.of_comparison for form in ExportFormat}
        if self._listing is not None:
            return {form: form.of_listing for form in _OF_LISTINGS}
        absent = [ExportFormat.HTML, *([ExportFormat.TEXT] if self._selection.text is None else [])]
        return {form: form.in_words for form in ExportFormat if form not in absent}

    def _what(self) -> str:
        if self._selection is None:
            return "the screen"
        if self._comparison is not None:
            return f"the comparison, {plural(len(self._comparison.blocks), 'block')}"
        if self._listing is not None:
            return shorten_middle(printable(self._words), _MOST_NAME)
        return self._layers_in_words()

    def _layers_in_words(self) -> str:
        if self._selection is None:
            return ""
        layers, _ = self._layers(ExportFormat.CSV)
        return plural(len(layers), "marked layer" if self._selection.layers else "layer")

    def _layers(self, form: ExportFormat) -> tuple[Sequence[Layer], Sequence[Column]]:
        """The marked layers if any are, else what is shown, and the columns.

        Args:
            form: A table for people has the columns of the table of layers, data has all where no table is on screen.
        """
        assert self._selection is not None
        assert self._engine_screen is not None
        rows, columns = self._selection.rows, self._selection.columns
        if rows is None:
            names = services_of(self._screen).settings.columns or LATENCY_COLUMNS
            known = [ALL_COLUMNS_BY_NAME[name] for name in names if name in ALL_COLUMNS_BY_NAME]
            rows = self._engine_screen.matching
            columns = known if form is ExportFormat.MARKDOWN else ALL_COLUMNS
        return self._selection.layers or rows, columns

    def _engines(self) -> Sequence[Engine]:
        if self._comparison is not None:
            return self._comparison.comparison.engines
        return [self._engine_screen.engine] if self._engine_screen else []

    def _inputs(self) -> Inputs:
        """What lies on the screens: of the engines that are shown, and of those that are listed."""
        sets = [*listed_sets(self._screen), *(engine.source for engine in self._engines())]
        return inputs_of(sets, services_of(self._screen).paths)

    def _default_path(self, form: ExportFormat) -> str:
        if self._engine_screen is None:
            return str(default_directory([]) / f"engines.{form.value}")
        files = (path for engine in self._engines() for path in engine.source.files.values())
        directory = default_directory(path.parent for path in files)
        what = "layers" if self._comparison is None else "compared"
        if self._listing is not None:
            what = f"build-{self._listing.key}"
        return str(directory / f"{file_stem(self._engine_screen.engine.name)}.{what}.{form.value}")

    def _export(self, target: ExportTarget | None) -> None:
        if target is None:
            return
        if target.form is ExportFormat.SVG or self._engine_screen is None or self._selection is None:
            # The window that asked must be gone from the picture.
            self._screen.app.call_after_refresh(self._write_picture, target)
        elif self._comparison is not None:
            self._in_thread(target, partial(self._comparison_text, target.form, self._comparison))
        elif self._listing is not None:
            self._in_thread(target, partial(self._listing_text, target.form, self._listing))
        elif target.form is ExportFormat.TEXT:
            self._write(target, self._selection.text or "", "the chart")
        else:
            layers, columns = self._layers(target.form)
            engine = self._engine_screen.engine
            self._in_thread(target, partial(self._layers_text, target.form, engine, layers, columns))

    @staticmethod
    def _comparison_text(form: ExportFormat, shown: Shown) -> tuple[str, str]:
        return comparison_as(form, shown), plural(len(shown.blocks), "block")

    @staticmethod
    def _listing_text(form: ExportFormat, offer: ListingOffer) -> tuple[str, str]:
        listing = offer.make()
        return listing_as(form, listing), _size_words(listing.table.rows, "row", listing.table.columns)

    @staticmethod
    def _layers_text(
        form: ExportFormat, engine: Engine, layers: Sequence[Layer], columns: Sequence[Column]
    ) -> tuple[str, str]:
        return layers_as(form, engine, layers, columns), _size_words(layers, "layer", columns)

    def _in_thread(self, target: ExportTarget, make: Callable[[], tuple[str, str]]) -> None:
        """Make the text and what to call it, which takes as long as there are cells, and write it."""
        app = self._screen.app

        def run() -> None:
            try:
                app.call_from_thread(self._write, target, *make())
            except Exception as error:  # noqa: BLE001 - nothing was written, and that is all it costs
                app.post_message(AnswerFailed("The export", internal(error)))

        app.run_worker(run, thread=True, group="export")

    def _write_picture(self, target: ExportTarget) -> None:
        app = self._screen.app
        self._write(target, app.export_screenshot(title=app.title), "the screen")

    def _write(self, target: ExportTarget, text: str, what: str) -> None:
        try:
            write_output(target.path, text)
        except TrexError as error:
            self.ask(str(target.path), str(error))
            return
        self._screen.app.notify(printable(f"Exported {what} to {target.path}"), markup=False)


def _size_words(rows: Sequence[object], noun: str, columns: Sequence[object]) -> str:
    return f"{plural(len(rows), noun)}, {plural(len(columns), 'column')}"
