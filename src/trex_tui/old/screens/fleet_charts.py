"""Charts of the list of engines: two measures with their Pareto front, layer times by kind, a measure over time.

Charts follow the filter and the sort of the list. A Pareto chart and a trend are of one model, since measures of different
networks are not comparable; the shares by kind are of all engines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from trex_tui.old.artifacts import ArtifactSet
from trex_tui.old.fleet.engine_columns import COLUMNS_BY_NAME, KIND_ENDING, FleetColumn
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.charts.cells import draw_figure
from trex_tui.old.report.charts.figure import Figure
from trex_tui.old.report.charts.fleet_charts import kind_shares_figure, pareto_figure, trend_figure
from trex_tui.old.report.charts.grid import Spot
from trex_tui.old.report.views.fleet import ShownFleet, choose_axes, engines_table
from trex_tui.old.screens.charts import (
    ChartList,
    ChartPicked,
    ChartResized,
    ChartScrolled,
    ChartView,
    SpotOpened,
)
from trex_tui.old.screens.dialogs import ChooseScreen
from trex_tui.old.screens.engine_rows import LISTED, EngineRow
from trex_tui.old.screens.list_actions import (
    CopiedRows,
    Explanation,
    ListOffer,
    copy_engines,
    explain_row,
    offer_chart,
    offer_engines,
)
from trex_tui.old.screens.list_view import EngineList, ListView
from trex_tui.old.text import plural, printable
from trex_tui.old.widgets.actions import Place, bindings_in
from trex_tui.old.widgets.chrome import SummaryLine, TooSmall

_MOST_OFFERED = 200
"""Number of engines in one mark that are offered."""
_ROLES = {"x": "Horizontal axis", "y": "Vertical axis", "color": "Colour"}


@dataclass(frozen=True, slots=True)
class FleetChart:
    """A chart of engines.

    Attributes:
        roles: What columns can be chosen for.
        is_of_model: Whether it shows one model.
    """

    id: str
    title: str
    roles: tuple[str, ...] = ()
    is_of_model: bool = True


CHARTS = (
    FleetChart("pareto", "Pareto", ("x", "y", "color")),
    FleetChart("kinds", "Shares by kind", is_of_model=False),
    FleetChart("times", "Layer times by kind", is_of_model=False),
    FleetChart("trend", "Trend", ("y",)),
)


class FleetChartsScreen(ListView):
    """Shows one chart at a time, with the cursor on its engines.

    Args:
        engines: The list, whose engines are shown and marked.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.FLEET_CHARTS)
    DEFAULT_CSS = """
    FleetChartsScreen ChartList { width: 1fr; height: 1; }
    """

    help_places: ClassVar[list[Place]] = [Place.FLEET_CHARTS, Place.CHART, Place.EVERYWHERE]

    def __init__(self, engines: EngineList) -> None:
        super().__init__()
        self._list = engines
        self._index = 0
        self._first = 0
        """First visible bar if not all fit."""
        self._chosen: dict[str, FleetColumn] = {}
        """Role -> column chosen by the user."""
        self._rows: list[EngineRow] = []
        self._model: str | None = None
        self.titles = ChartList([chart.title for chart in CHARTS], id="fleet-chart-list")
        self.titles.can_focus = False
        self.view = ChartView(id="fleet-chart")
        self.words = SummaryLine(id="fleet-words")
        row = engines.current_row
        self._current = "" if row is None else row.source.name

    def compose(self) -> ComposeResult:
        yield self.titles
        yield self.view
        yield self.words
        yield self.footer()
        yield TooSmall()

    def on_mount(self) -> None:
        self.follow_list()
        self.view.focus()

    def follow_list(self) -> None:
        self._rows = [row for row in self._list.shown_engines if row.is_readable]
        if self._model is None or self._model not in self._models:
            row = next((row for row in self._rows if row.source.name == self._current), None)
            models = self._models
            self._model = row.facts.value("model") if row is not None else next(iter(models), None)
        self._draw()

    @property
    def chart(self) -> FleetChart:
        return CHARTS[self._index]

    @property
    def _models(self) -> list[str | None]:
        """The models of the list, those with most engines first."""
        names = [row.facts.value("model") for row in self._rows]
        return sorted(dict.fromkeys(names), key=lambda name: -names.count(name))

    @property
    def _shown(self) -> list[EngineRow]:
        """The engines of the chart."""
        if self.chart.is_of_model:
            return [row for row in self._rows if row.facts.value("model") == self._model]
        return self._rows

    def _column(self, role: str) -> FleetColumn | None:
        """Return the column of a role: the chosen one, else the best default for the engines."""
        if role in self._chosen:
            return self._chosen[role]
        axes = choose_axes(row.facts for row in self._shown)
        if self.chart.id == "trend":
            return axes.x
        return {"x": axes.x, "y": axes.y, "color": axes.color}[role]

    # Drawing

    def _make_figure(self, rows: Sequence[EngineRow]) -> Figure:
        facts = [row.facts for row in rows]
        x, y, color = (self._column(role) for role in _ROLES)
        if self.chart.id == "pareto" and x is not None and y is not None:
            current = next((row.facts for row in rows if row.source.name == self._current), None)
            return pareto_figure(facts, x, y, color, current)
        if self.chart.id == "trend" and y is not None:
            return trend_figure(facts, y)
        return kind_shares_figure(facts, is_share=self.chart.id == "kinds")

    @property
    def _title(self) -> str:
        x, y = self._column("x"), self._column("y")
        title = self.chart.title
        if self.chart.id == "pareto" and x is not None and y is not None:
            title = f"{y.title} over {x.title}"
        elif self.chart.id == "trend" and y is not None:
            title = f"{y.title} over time"
        return f"{title} · {printable(str(self._model))}" if self.chart.is_of_model else title

    def _draw(self) -> None:
        size = self.view.content_size
        self.titles.mark(self._index)
        self._say()
        self.refresh_bindings()
        if not size:
            return
        rows = self._shown
        drawing = draw_figure(
            self._make_figure(rows), self._title, size.width, size.height, first=self._first
        )
        current = next((place for place, row in enumerate(rows) if row.source.name == self._current), None)
        self.view.show(drawing, current)

    def _say(self) -> None:
        words = plural(len(self._shown), "engine")
        if self.chart.is_of_model and len(self._models) > 1:
            words += (
                f" of {len(self._rows)} · model {self._models.index(self._model) + 1} of {len(self._models)}"
            )
        if self._list.marked_names:
            words += f" · {len(self._list.marked_names)} marked, A is {self._list.marked_names[0]}"
        self.words.text = words

    @on(ChartResized)
    def _resized(self, event: ChartResized) -> None:
        event.stop()
        self._draw()

    @on(ChartScrolled)
    def _scrolled(self, event: ChartScrolled) -> None:
        event.stop()
        drawing = self.view.drawing
        self._first = max(0, min(event.first, len(drawing.bars) - len(drawing.spots)))
        self._draw()

    @on(ChartPicked)
    def _picked(self, event: ChartPicked) -> None:
        event.stop()
        self._show_chart(event.index)

    # Engines

    @property
    def current_row(self) -> EngineRow | None:
        """The engine under the cursor; None if there is no mark."""
        target = self.view.target
        return None if target is None or target.layer is None else self._shown[target.layer]

    @on(SpotOpened)
    def _opened(self, event: SpotOpened) -> None:
        """Open the engine; ask if several share a mark."""
        event.stop()
        spot = event.spot
        rows = self._rows_of(spot)
        if len(rows) < 2:
            for row in rows:
                self._open(row)
            return
        by_name = {row.source.name: row for row in rows[:_MOST_OFFERED]}
        options = {
            row.source.name: spot.target(index).text
            for index, row in zip(spot.indices[:_MOST_OFFERED], rows, strict=False)
        }
        title = f"{plural(len(rows), 'engine')} here"
        self.app.push_screen(
            ChooseScreen(title, options), lambda name: None if name is None else self._open(by_name[name])
        )

    def _rows_of(self, spot: Spot) -> list[EngineRow]:
        shown = self._shown
        targets = map(spot.target, spot.indices)
        return [shown[target.layer] for target in targets if target.layer is not None]

    def _open(self, row: EngineRow) -> None:
        self._keep_current(row)
        self._list.open_row(row)

    def _keep_current(self, row: EngineRow) -> None:
        """Move the cursors of chart and list to an engine."""
        self._current = row.source.name
        self._list.go_to(row.source.name)

    # Explain, copy, export

    @property
    def _figure_columns(self) -> list[FleetColumn]:
        """The columns that the chart draws."""
        if self.chart.roles:
            roles = ("x", "y", "color") if self.chart.id == "pareto" else ("y",)
            columns = [self._column(role) for role in roles]
            dated = [] if self.chart.id == "pareto" else [COLUMNS_BY_NAME["date"]]
            return [*filter(None, columns), *dated]
        kinds = [name for name in COLUMNS_BY_NAME if name.endswith(KIND_ENDING)]
        used = [name for name in kinds if any(row.facts.value(name) for row in self._shown)]
        return [COLUMNS_BY_NAME[name] for name in ("latency_sum_ms", *used)]

    def explanation(self) -> Explanation:
        row = self.current_row
        columns = self._figure_columns
        if row is None:
            return Explanation(self.chart.title, explain_row(columns, None), {})
        return Explanation(row.source.name, explain_row(columns, row.facts), row.source.files)

    def copied_rows(self) -> CopiedRows:
        row = self.current_row
        return copy_engines([] if row is None else [row.facts])

    def export_offers(self) -> list[ListOffer]:
        rows = self._shown
        facts = [row.facts for row in rows]
        columns = [COLUMNS_BY_NAME["engine"], *self._figure_columns]
        table = engines_table(ShownFleet(facts, columns, len(facts)))
        text = "\n".join(line.rstrip() for line in self.view.plain.splitlines()).rstrip() + "\n"
        chart = offer_chart(self.chart.id, self._title, self._make_figure(rows), table, text)
        return [chart, offer_engines(facts, columns, len(facts))]

    def exported_sets(self) -> Sequence[ArtifactSet]:
        return [row.source for row in self._rows]

    # Actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "choose_column":
            return bool(parameters) and parameters[0] in self.chart.roles
        if action == "choose_role":
            return len(self.chart.roles) > 1
        if action == "next_model":
            return self.chart.is_of_model and len(self._models) > 1
        return super().check_action(action, parameters)

    def _show_chart(self, index: int) -> None:
        row = self.current_row
        if row is not None:
            self._current = row.source.name
        self._index, self._first = index % len(CHARTS), 0
        self.view.marked = None
        self._draw()

    def action_next_chart(self) -> None:
        self._show_chart(self._index + 1)

    def action_previous_chart(self) -> None:
        self._show_chart(self._index - 1)

    def action_next_model(self) -> None:
        models = self._models
        if models:
            self._model = models[(models.index(self._model) + 1) % len(models)]
            self.view.marked = None
            self._draw()

    def action_choose_role(self) -> None:
        """Ask for the role, then for its column."""
        width = max(map(len, _ROLES.values()))
        options = {}
        for role in self.chart.roles:
            column = self._column(role)
            options[role] = f"{_ROLES[role]:<{width}}  {column.name if column is not None else 'none'}"

        def chosen(role: str | None) -> None:
            if role is not None and role in self.chart.roles:
                self.action_choose_column(role)

        self.app.push_screen(ChooseScreen("Columns", options), chosen)

    def action_choose_column(self, role: str) -> None:
        """Offer the columns for a role; axes are numbers."""
        columns = {
            name: column
            for name, column in LISTED.items()
            if (column.is_number and name != "run") or (role == "color" and not column.is_list)
        }
        options = {name: f"{column.title}  ({name})" for name, column in columns.items()}
        current = self._column(role)

        def chosen(name: str | None) -> None:
            if name is not None:
                self._chosen[role] = COLUMNS_BY_NAME[name]
                self._draw()

        self.app.push_screen(
            ChooseScreen(_ROLES[role], options, current.name if current is not None else ""), chosen
        )

    def action_mark(self) -> None:
        row = self.current_row
        if row is not None:
            self._keep_current(row)
            self._list.toggle_marks((row,))
            self._say()

    def action_compare(self) -> None:
        row = self.current_row
        if row is not None:
            self._keep_current(row)
        self._list.compare_marked(row)
