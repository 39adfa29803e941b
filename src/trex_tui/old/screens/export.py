"""Export: choice of content, format and path, and writing the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import on
from textual.screen import Screen
from textual.widgets import Input

from trex_tui.old.analysis.columns import ALL_COLUMNS, find_column
from trex_tui.old.analysis.compare.pins import format_pins
from trex_tui.old.artifacts.output_files import Inputs, list_inputs, write_output
from trex_tui.old.crash_log import internal
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import TrexError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.export import (
    CHART_FORMS,
    ExportFormat,
    chart_as,
    comparison_as,
    default_directory,
    file_stem,
    find_format,
    find_target,
    layers_as,
    listing_as,
    with_ending,
)
from trex_tui.old.screens.dialogs import ChooseScreen, PromptScreen
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.screens.list_actions import ListActions, ListOffer
from trex_tui.old.screens.pane import Selection
from trex_tui.old.screens.services import AnswerFailed, get_services, listed_sets
from trex_tui.old.text import plural, printable, shorten_middle
from trex_tui.old.widgets.table_columns import LATENCY_COLUMNS

if TYPE_CHECKING:
    from trex_tui.old.analysis.compare import Comparison
    from trex_tui.old.report.chart_file import ShownChart
    from trex_tui.old.report.document import ListingOffer
    from trex_tui.old.report.views.compare import Shown


@dataclass(frozen=True, slots=True)
class ExportTarget:
    """A file and its format."""

    path: Path
    form: ExportFormat


class ExportScreen(PromptScreen[ExportTarget]):
    """Asks for path and format, and before overwriting.

    Args:
        what: What is exported: `9 layers`.
        forms: The formats there are, each in words.
        text: The path to begin with.
        remark: What went wrong before.
        inputs: What may not be written over; None for a download, which has a name and no path.
    """

    hint = "↑ ↓ format · Enter exports · Esc closes"

    def __init__(
        self,
        what: str,
        forms: Mapping[ExportFormat, str],
        text: str,
        remark: str = "",
        *,
        inputs: Inputs | None,
    ) -> None:
        super().__init__(text, remark)
        self._inputs = inputs
        self.title_text = f"{'Download' if inputs is None else 'Export'} {what}"
        self._texts = list(forms.values())
        self._forms = list(forms)
        form = find_format(text)
        self._form = form if form in self._forms else self._forms[0]

    def on_mount(self) -> None:
        super().on_mount()
        self.offer(self._texts, self._forms.index(self._form))
        self.line.cursor_position = len(self.line.value)

    def chosen(self, index: int) -> None:
        self._form = self._forms[index]
        self.line.value = with_ending(self.line.value, self._form)
        self.line.cursor_position = len(self.line.value)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        form = find_format(event.value)
        if form in self._forms and form is not self._form:
            self._form = form
            self.choices.highlighted = self._forms.index(form)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        name = f"export.{self._form.value}"
        if self._inputs is None:
            self.dismiss(ExportTarget(Path(Path(event.value.strip()).name or name), self._form))
            return
        try:
            path = find_target(event.value, name)
            self._inputs.check(path)
        except TrexError as error:
            self.say(str(error))
            return
        target = ExportTarget(path, self._form)
        if not path.exists():
            self.dismiss(target)
            return
        answers = {"keep": "keep the existing file", "overwrite": "overwrite it"}
        question = ChooseScreen(f"{path.name} exists", answers, "keep")

        def answered(answer: str | None) -> None:
            if answer == "overwrite":
                self.dismiss(target)

        self.app.push_screen(question, answered)


_LAYERS = "the engine's layers"
_OF_LISTINGS = (ExportFormat.CSV, ExportFormat.JSON, ExportFormat.MARKDOWN, ExportFormat.SVG)
_MOST_NAME = 60
_MOST_FILTER = 40
"""Characters of the filter in the name of a file."""


@dataclass(frozen=True, slots=True)
class ExportOffer:
    """Exportable content of a screen.

    Attributes:
        choice: Name in a choice of several.
        title: Description: `9 layers`.
        forms: Formats with their labels.
        path: Default path, without the suffix.
        make: Return its text in a format, and what it holds; called in a thread.
        is_drawn: SVG is what `make` returns, not a picture of the screen.
    """

    choice: str
    title: str
    forms: Mapping[ExportFormat, str]
    path: str
    make: Callable[[ExportFormat], tuple[str, str]]
    is_drawn: bool = False


def list_offers(screen: Screen[Any]) -> list[ExportOffer]:
    """List what can be exported: of an engine the content of its pane, of other screens a picture."""
    if isinstance(screen, ListActions):
        return [_list_offer(screen, offer) for offer in screen.export_offers()]
    if not isinstance(screen, EngineScreen):
        path = default_directory([]) / "engines"
        forms = {ExportFormat.SVG: ExportFormat.SVG.description}
        return [ExportOffer("", "the screen", forms, str(path), lambda _: ("", ""))]
    selection = screen.pane.selection()
    listings = [_listing_offer(screen, words, offer) for words, offer in selection.listings.items()]
    if selection.comparison is not None:
        offers = [_comparison_offer(screen, selection.comparison), *listings]
        if selection.comparison.comparison.pins:
            offers.append(_pins_offer(screen, selection.comparison.comparison))
        return offers
    charts = [] if selection.chart is None else [_chart_offer(screen, selection.chart)]
    return [*charts, *listings, _layers_offer(screen, selection)]


def _list_offer(screen: ListActions, offer: ListOffer) -> ExportOffer:
    files = (path for source in screen.exported_sets() for path in source.files.values())
    path = default_directory(path.parent for path in files) / offer.stem

    def make(form: ExportFormat) -> tuple[str, str]:
        return offer.make(form), offer.title

    return ExportOffer(offer.choice, offer.title, offer.forms, str(path), make, is_drawn=offer.is_drawn)


def _chart_offer(screen: EngineScreen, shown: ShownChart) -> ExportOffer:
    """Offer the chart as drawn, and its numbers."""

    def make(form: ExportFormat) -> tuple[str, str]:
        return chart_as(form, shown), title

    title = f"chart {shown.chart.titled(shown.subject.layers).title}"
    path = _default_path(screen, [screen.engine], shown.chart.id)
    return ExportOffer(f"the {title}", title, CHART_FORMS, path, make, is_drawn=True)


def _comparison_offer(screen: EngineScreen, shown: Shown) -> ExportOffer:
    def make(form: ExportFormat) -> tuple[str, str]:
        return comparison_as(form, shown), blocks

    blocks = plural(len(shown.blocks), "block")
    forms = {form: form.of_comparison for form in ExportFormat}
    path = _default_path(screen, shown.comparison.engines, "compared")
    return ExportOffer("the comparison", f"the comparison, {blocks}", forms, path, make)


def _pins_offer(screen: EngineScreen, comparison: Comparison) -> ExportOffer:
    pins = plural(len(comparison.pins), "pin")

    def make(_: ExportFormat) -> tuple[str, str]:
        return format_pins(comparison), pins

    path = _default_path(screen, comparison.engines, "pins")
    return ExportOffer(
        f"the pins: {pins}", pins, {ExportFormat.JSON: "JSON, for `diff --pins FILE`"}, path, make
    )


def _listing_offer(screen: EngineScreen, words: str, offer: ListingOffer) -> ExportOffer:
    def make(form: ExportFormat) -> tuple[str, str]:
        listing = offer.make()
        return listing_as(form, listing), _format_table_size(listing.table.rows, "row", listing.table.columns)

    forms = {form: form.of_listing for form in _OF_LISTINGS}
    path = _default_path(screen, [screen.engine], offer.stem)
    return ExportOffer(words, shorten_middle(printable(words), _MOST_NAME), forms, path, make)


def _layers_offer(screen: EngineScreen, selection: Selection) -> ExportOffer:
    """Offer the marked layers, else the shown ones.

    A table for people has the columns of the table of layers, data has all where no table is on screen.
    """
    names = get_services(screen).settings.columns or LATENCY_COLUMNS
    layers, columns = selection.layers or selection.rows, selection.columns
    if layers is None:
        layers = screen.matching
    if selection.rows is None:
        columns = ALL_COLUMNS

    def make(form: ExportFormat) -> tuple[str, str]:
        shown = columns
        if form is ExportFormat.MARKDOWN and selection.rows is None:
            shown = [column for name in names if (column := find_column(name, screen.engine))]
        return layers_as(form, screen.engine, layers, shown), _format_table_size(layers, "layer", shown)

    title = plural(len(layers), "marked layer" if selection.layers else "layer")
    absent = (ExportFormat.HTML, ExportFormat.TEXT)
    forms = {form: form.description for form in ExportFormat if form not in absent}
    return ExportOffer(
        f"{_LAYERS}: {title}", title, forms, _default_path(screen, [screen.engine], "layers"), make
    )


def _default_path(screen: EngineScreen, engines: Sequence[Engine], what: str) -> str:
    files = (path for engine in engines for path in engine.source.files.values())
    directory = default_directory(path.parent for path in files)
    filter_text = screen.filter_text.strip()
    filtered = f".{file_stem(filter_text)[:_MOST_FILTER].rstrip('._-')}" if filter_text else ""
    return str(directory / f"{file_stem(screen.engine.name)}.{what}{filtered}")


def _format_table_size(rows: Sequence[object], noun: str, columns: Sequence[object]) -> str:
    return f"{plural(len(rows), noun)}, {plural(len(columns), 'column')}"


class Exporter:
    """Asks for content and path, and writes the file."""

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen, self._app = screen, screen.app
        self._offers = list_offers(screen)

    def ask(self) -> None:
        """Ask what to export if there is a choice, then where to."""
        if len(self._offers) == 1:
            self._ask_target(self._offers[0])
            return
        by_choice = {offer.choice: offer for offer in self._offers}

        def chosen(choice: str | None) -> None:
            if choice is not None:
                self._ask_target(by_choice[choice])

        self._app.push_screen(ChooseScreen("Export", {choice: choice for choice in by_choice}), chosen)

    def _ask_target(self, offer: ExportOffer, text: str = "", remark: str = "") -> None:
        """Ask for file and format; `text` and `remark` come from a failed attempt."""
        sets = listed_sets(self._screen)
        if isinstance(self._screen, EngineScreen):
            sets += [engine.source for engine in self._screen.held_engines()]
        inputs: Inputs | None = list_inputs(sets, get_services(self._screen).paths)
        text = text or f"{offer.path}.{next(iter(offer.forms)).value}"
        if self._app.is_web:
            inputs, text = None, Path(text).name
        window = ExportScreen(offer.title, offer.forms, text, remark, inputs=inputs)
        self._app.push_screen(window, lambda target: self._export(offer, target) if target else None)

    def _export(self, offer: ExportOffer, target: ExportTarget) -> None:
        if target.form is ExportFormat.SVG and not offer.is_drawn:
            # The picture must not show this window.
            self._app.call_after_refresh(self._write_picture, offer, target)
            return

        def run() -> None:
            try:
                self._app.call_from_thread(self._write, offer, target, *offer.make(target.form))
            except TrexError as error:
                self._app.post_message(AnswerFailed("The export", str(error)))
            except Exception as error:  # noqa: BLE001 - nothing was written, and that is all it costs
                self._app.post_message(AnswerFailed("The export", internal(error)))

        self._app.run_worker(run, thread=True, group="export")

    def _write_picture(self, offer: ExportOffer, target: ExportTarget) -> None:
        self._write(offer, target, self._app.export_screenshot(title=self._app.title), "the screen")

    def _write(self, offer: ExportOffer, target: ExportTarget, text: str, what: str) -> None:
        if self._app.is_web:
            self._app.deliver_binary(BytesIO(text.encode("utf-8")), save_filename=target.path.name)
            self._app.notify(printable(f"Downloading {what}: {target.path}"), markup=False)
            return
        try:
            write_output(target.path, text)
        except TrexError as error:
            self._ask_target(offer, str(target.path), str(error))
        else:
            self._app.notify(printable(f"Exported {what} to {target.path}"), markup=False)
