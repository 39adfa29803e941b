"""The builds of a model in order, with the builds at which a measure changes and what differs there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.worker import get_current_worker

from trex_tui.old.analysis.compare.repeats import group_repeats, load_repeats
from trex_tui.old.analysis.load import LoadOptions, load
from trex_tui.old.artifacts import ArtifactSet
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import ArtifactError, TrexError
from trex_tui.old.fleet.history import Build, History, make_histories, natural_path
from trex_tui.old.report.document import Column, Table, raw
from trex_tui.old.report.export import ExportFormat
from trex_tui.old.report.json_text import format_json
from trex_tui.old.report.render_json import row_objects
from trex_tui.old.report.render_markdown import sections_markdown
from trex_tui.old.report.table_files import table_csv
from trex_tui.old.report.views.history import (
    ShownHistory,
    build_lines,
    builds_table,
    history_object,
    history_sections,
)
from trex_tui.old.screens.dialogs import ChooseScreen
from trex_tui.old.screens.engine_rows import EngineRow
from trex_tui.old.screens.explanation import column_numbers
from trex_tui.old.screens.list_actions import CopiedRows, Explanation, ListOffer, table_forms
from trex_tui.old.screens.list_view import EngineList, EngineOpened, ListView
from trex_tui.old.screens.services import compute, get_services
from trex_tui.old.text import plural, printable
from trex_tui.old.widgets.actions import Place, bindings_in
from trex_tui.old.widgets.chrome import SummaryLine, TooSmall
from trex_tui.old.widgets.table import RowHighlighted, RowSelected, VirtualTable
from trex_tui.old.widgets.table_columns import textual_column
from trex_tui.old.widgets.table_model import TableColumn
from trex_tui.old.widgets.text_view import TextLine, TextView, text_lines

_ORDERS = {
    "": "date if every build has one, else path",
    "date": "date of the capture",
    "tensorrt": "TensorRT version",
    "path": "path",
}
_WIDTHS = {"number": 3, "runs": 4, "layers": 6, "date": 16}
_READ_STEP = 10
"""Number of engines between two states of the progress."""
_MOST_CELLS = 24
"""Cells that names of builds and of measures get before other columns."""
BuildRow = Sequence[Any]
"""A row of the table of builds; its first cell is the number of the build."""


class BuildHistoryScreen(ListView):
    """Table of builds, and the changes at the build under the cursor.

    Args:
        engines: The list, whose engines are the builds.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.BUILDS)
    DEFAULT_CSS = """
    BuildHistoryScreen {
        & #builds-parts { height: 1fr; layout: vertical; }
        & #builds { height: 1fr; }
        & #builds-words {
            height: 1fr; padding: 0 1; background: $surface; border-top: solid $panel;
            &:focus { border-top: solid $primary; }
        }
        &.-only-table #builds-words { display: none; }
        &.-only-words #builds { display: none; }
        &.-wide #builds-parts { layout: horizontal; }
        &.-wide #builds { width: 3fr; height: 100%; }
        &.-wide #builds-words {
            width: 2fr; height: 100%; border-top: none; border-left: solid $panel;
            &:focus { border-left: solid $primary; }
        }
    }
    """

    help_places: ClassVar[list[Place]] = [Place.BUILDS, Place.MOVE, Place.EVERYWHERE]

    def __init__(self, engines: EngineList) -> None:
        super().__init__()
        self._list = engines
        self._order = ""
        self._histories: list[History] = []
        self._index = 0
        self._problem = "Reading the builds …"
        self.title_line = SummaryLine(id="builds-title")
        self.table: VirtualTable[BuildRow] = VirtualTable(id="builds", empty_text=self._problem)
        self.words = TextView(self._make_lines, id="builds-words")
        row = engines.current_row
        self._current = None if row is None else row.source
        self._engines: dict[tuple[Path, ...], Engine] = {}
        """Engines read for this screen, by their files, where the list does not hold them."""

    def compose(self) -> ComposeResult:
        yield self.title_line
        with Container(id="builds-parts"):
            yield self.table
            yield self.words
        yield self.footer()
        yield TooSmall()

    def on_mount(self) -> None:
        self.follow_list()
        self.table.focus()

    def follow_list(self) -> None:
        """Compute the histories of the engines in the list."""
        rows = [row for row in self._list.shown_engines if row.is_readable]
        options = get_services(self).load_options
        engines = partial(self._read, rows, options)
        make = partial(_find_histories, engines, options, self._order or None)
        compute(self, "The history", make, self._take, self._refuse, group="history")

    def _read(self, rows: Sequence[EngineRow], options: LoadOptions) -> list[Engine]:
        """Return the engines of rows; called in a thread. Those that can no longer be read are left out."""
        worker = get_current_worker()
        engines = []
        for number, row in enumerate(rows):
            key = tuple(row.source.files.values())
            engine = row.engine or self._engines.get(key)
            if engine is None:
                if worker.is_cancelled:
                    return []
                if number % _READ_STEP == 0:
                    self.call_later(self._say_reading, number, len(rows))
                with suppress(ArtifactError):
                    engine = self._engines[key] = load(row.source, replace(options, finds_onnx=False))
            if engine is not None:
                engines.append(engine)
        return engines

    def _say_reading(self, number: int, total: int) -> None:
        self.title_line.text = f"History · {number} of {total} engines read"

    def _take(self, found: list[History] | str) -> None:
        if isinstance(found, str):
            self.notify(printable(found), severity="warning", markup=False)
            if self._histories:
                return
            found = []
        self._problem = "No engine of the list has been read."
        self._histories = found
        self._index = next(
            (
                place
                for place, history in enumerate(found)
                for build in history.builds
                if self._is_current(build)
            ),
            0,
        )
        self._show()

    def _refuse(self, problem: str) -> bool:
        self._problem = problem
        self._show()
        return True

    @property
    def history(self) -> History | None:
        return self._histories[self._index] if self._index < len(self._histories) else None

    @property
    def current_index(self) -> int | None:
        """Index of the build under the cursor; None if there is none."""
        row = self.table.cursor_item
        return None if row is None else raw(row[0]) - 1

    def _is_current(self, build: Build) -> bool:
        return any(run.source == self._current for run in build.runs)

    def _show(self) -> None:
        history = self.history
        self._say()
        if history is None:
            self.table.empty_text = (
                "No engine of the list is read yet." if not self._problem else self._problem
            )
            self.table.set_rows([])
            return
        table = builds_table(ShownHistory(history))
        self.table.set_columns(_make_columns(history, table))
        self.table.set_rows(table.rows, keep=lambda row: raw(row[0]))
        place = next(
            (place for place, build in enumerate(history.builds) if self._is_current(build)),
            len(history.builds) - 1,
        )
        self.table.move_to(table.rows[place])
        self.words.renew()
        self.refresh_bindings()

    def _say(self) -> None:
        history = self.history
        if history is None:
            self.title_line.text = "History"
            return
        words = f"{history.name} · {plural(len(history.builds), 'build')}"
        words += f", {len(history.changes) or 'none'} with changes"
        if history.undated and len(history.builds) > 1:
            words += ", by path (dates missing)"
        if len(self._histories) > 1:
            words += f" · history {self._index + 1} of {len(self._histories)}"
        self.title_line.text = words

    def _make_lines(self, _: int) -> Sequence[TextLine]:
        history, index = self.history, self.current_index
        if history is None or index is None:
            return [TextLine(Content(""))]
        lines = list(build_lines(history, index))
        return text_lines(lines)

    @on(RowHighlighted)
    def _highlighted(self) -> None:
        self.words.renew()
        self.words.scroll_home(animate=False)
        self.refresh_bindings()

    @on(RowSelected)
    def _selected(self, event: RowSelected[BuildRow]) -> None:
        history = self.history
        if history is not None:
            self._open(history.builds[raw(event.item[0]) - 1].engine)

    def _open(self, engine: Engine, *others: Engine) -> None:
        self._current = engine.source
        self.post_message(EngineOpened(engine, others))

    # Explain, copy, export

    def explanation(self) -> Explanation:
        history, index = self.history, self.current_index
        numbers = column_numbers(self.table, "builds", "latency_median_ms")
        if history is None or index is None:
            return Explanation("", numbers, {})
        engine = history.builds[index].engine
        return Explanation(engine.name, numbers, engine.files)

    def copied_rows(self) -> CopiedRows:
        history, index = self.history, self.current_index
        if history is None or index is None:
            return CopiedRows("build", [], [])
        rows = row_objects(builds_table(ShownHistory(history), is_complete=True))
        return CopiedRows("build", [history.builds[index].name], [rows[index]])

    def export_offers(self) -> list[ListOffer]:
        shown = [] if self.history is None else [ShownHistory(self.history)]

        def make(form: ExportFormat) -> str:
            if form is ExportFormat.JSON:
                return format_json(history_object(shown, ())) + "\n"
            if form is ExportFormat.MARKDOWN:
                return sections_markdown("History", list(history_sections(shown)))
            return table_csv(builds_table(shown[0], is_complete=True)) if shown else ""

        count = plural(sum(len(each.history.builds) for each in shown), "build")
        forms = table_forms("JSON, as `history --format json`")
        return [ListOffer("", count, "history", forms, make)]

    def exported_sets(self) -> Sequence[ArtifactSet]:
        return [] if self.history is None else [build.engine.source for build in self.history.builds]

    # Actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        history = self.history
        if action == "step_change":
            return history is not None and bool(history.changes)
        if action == "compare":
            return bool(self.current_index)
        if action == "next_history":
            return len(self._histories) > 1
        return super().check_action(action, parameters)

    def action_step_change(self, step: int) -> None:
        history, here = self.history, self.current_index
        if history is None or here is None or not history.changes:
            return
        places = [change.index for change in history.changes]
        ahead = [place for place in places[::step] if (place - here) * step > 0]
        number = (ahead or places[::step])[0] + 1
        self.table.move_to(next(row for row in self.table.shown_rows if raw(row[0]) == number))

    def action_compare(self) -> None:
        """Compare the build with its predecessor, which is the baseline."""
        history, index = self.history, self.current_index
        if history is not None and index:
            before, after = history.builds[index - 1].engine, history.builds[index].engine
            self._open(before, after)
            self._current = after.source

    def action_next_history(self) -> None:
        self._index = (self._index + 1) % max(1, len(self._histories))
        self._current = None
        self._show()

    def action_choose_order(self) -> None:
        def chosen(key: str | None) -> None:
            if key is not None:
                self._order = key
                self._keep_current()
                self.follow_list()

        self.app.push_screen(ChooseScreen("Order of builds", _ORDERS, self._order), chosen)

    def _keep_current(self) -> None:
        history, index = self.history, self.current_index
        if history is not None and index is not None:
            self._current = history.builds[index].engine.source

    def action_zoom(self) -> None:
        """Zoom the part with the focus, or unzoom."""
        if self.has_class("-only-table") or self.has_class("-only-words"):
            self.remove_class("-only-table", "-only-words")
        else:
            self.add_class("-only-words" if self.focused is self.words else "-only-table")


def _find_histories(
    read: Callable[[], list[Engine]], options: LoadOptions, key: str | None
) -> list[History] | str:
    """Return the histories of engines with their runs, or the reason why there are none."""
    engines = sorted(read(), key=natural_path)
    groups = [
        [run for engine in runs for run in (engine, *load_repeats(engine, options))]
        for runs in group_repeats(engines).groups
    ]
    try:
        return make_histories(groups, key)
    except TrexError as error:
        return str(error)


def _cell_text(column: Column, place: int, row: BuildRow) -> str:
    """Return the text of a cell; a build without changes has none in the last column."""
    value = row[place]
    return "" if value is None and column.key == "changed" else column.text(value)


def _make_columns(history: History, table: Table) -> list[TableColumn[BuildRow]]:
    """Return the columns of the table of builds; builds with a change are highlighted."""
    changed = {change.index + 1 for change in history.changes}

    def style(row: BuildRow) -> str | None:
        return "bold $warning" if raw(row[0]) in changed else None

    made = []
    for place, column in enumerate(table.columns):
        text = partial(_cell_text, column, place)
        is_flexible = column.flex or column.key == "changed"
        longest = max((len(text(row)) for row in table.rows), default=0)
        width = min(longest, _MOST_CELLS) if is_flexible else _WIDTHS.get(column.key, 8)
        made.append(
            textual_column(
                column,
                table="builds",
                value=partial(_raw_value, place),
                text=text,
                width=max(width, len(column.title)),
                style=style if column.key in ("number", "build", "changed") else None,
                flex=is_flexible,
                priority=0 if is_flexible else column.priority,
                descending=False if column.key == "number" else None,
            )
        )
    return made


def _raw_value(place: int, row: BuildRow) -> Any:  # noqa: ANN401 - any cell
    return raw(row[place])
