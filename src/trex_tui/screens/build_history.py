"""The builds of a model in order, with the builds at which a measure changes and what differs there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content

from trex_tui.analysis.compare.repeats import group_repeats, load_repeats
from trex_tui.analysis.load import LoadOptions
from trex_tui.engine.engine import Engine
from trex_tui.errors import TrexError
from trex_tui.fleet.history import History, make_histories, natural_path
from trex_tui.report.document import Column, Table, raw
from trex_tui.report.views.history import ShownHistory, build_lines, builds_table
from trex_tui.screens.dialogs import ChooseScreen
from trex_tui.screens.list_view import EngineList, EngineOpened, ListView
from trex_tui.screens.services import compute, get_services
from trex_tui.text import plural, printable
from trex_tui.widgets.actions import Place, bindings_in
from trex_tui.widgets.chrome import SummaryLine, TooSmall
from trex_tui.widgets.table import RowHighlighted, RowSelected, VirtualTable
from trex_tui.widgets.table_columns import textual_column
from trex_tui.widgets.table_model import TableColumn
from trex_tui.widgets.text_view import TextLine, TextView, text_lines

_ORDERS = {
    "": "date if every build has one, else path",
    "date": "date of the capture",
    "tensorrt": "TensorRT version",
    "path": "path",
}
_WIDTHS = {"number": 3, "runs": 4, "layers": 6, "date": 16}
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
        self._current = None if row is None else row.engine

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
        engines = [row.engine for row in self._list.shown_engines if row.engine is not None]
        make = partial(_find_histories, engines, get_services(self).load_options, self._order or None)
        compute(self, "The history", make, self._take, self._refuse, group="history")

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
                if self._current in build.runs
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
            (place for place, build in enumerate(history.builds) if self._current in build.runs),
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
        self._current = engine
        self.post_message(EngineOpened(engine, others))

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
            self._current = after

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
            self._current = history.builds[index].engine

    def action_zoom(self) -> None:
        """Zoom the part with the focus, or unzoom."""
        if self.has_class("-only-table") or self.has_class("-only-words"):
            self.remove_class("-only-table", "-only-words")
        else:
            self.add_class("-only-words" if self.focused is self.words else "-only-table")


def _find_histories(engines: Sequence[Engine], options: LoadOptions, key: str | None) -> list[History] | str:
    """Return the histories of engines with their runs, or the reason why there are none."""
    engines = sorted(engines, key=natural_path)
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
