"""Charts of the run and of the layers, one at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from trex_tui.crash_log import internal
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.report.charts.catalogue import CHARTS, CHARTS_BY_ID
from trex_tui.report.charts.cells import draw
from trex_tui.report.charts.figure import Chart, Figure, Palette, Subject
from trex_tui.report.charts.grid import Line
from trex_tui.report.charts.scatter_charts import AXES
from trex_tui.screens.dialogs import ChooseScreen
from trex_tui.screens.pane import EnginePane, Selection
from trex_tui.widgets.actions import Place, bindings_in
from trex_tui.widgets.chart import ChartList, ChartPicked, ChartResized, ChartView
from trex_tui.widgets.theme import kind_style, precision_style

PALETTE = Palette(kind_style, precision_style)
_MOST_KEPT = 16
"""Drawn charts to go back to without drawing them again."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """All that the looks of a chart depend on. Colours do not count: they are theme tokens until the terminal gets them."""

    chart: str
    axes: tuple[str, str]
    width: int
    height: int
    selection: int
    """Number of the filter's result."""
    layer: int | None


@dataclass
class Drawn(Message):
    """A chart is drawn."""

    wanted: Wanted
    lines: Sequence[Line]


class ChartsPane(EnginePane):
    """The list of charts, and one of them. Drawing takes a thread; the chart before stays until the next is there."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_in(Place.CHARTS),
        Binding("j,down,pagedown,ctrl+d", "next_chart", show=False),
        Binding("k,up,pageup,ctrl+u", "previous_chart", show=False),
        Binding("g,home", "nth_chart(0)", show=False),
        Binding("G,end", "nth_chart(-1)", show=False),
        Binding("enter", "choose_chart", show=False),
    ]

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self.chart: Chart = CHARTS[0]
        self.axes = AXES[0]
        self.view = ChartView(id="chart")
        self.titles = ChartList([chart.title for chart in CHARTS], id="chart-list")
        self._layers: Sequence[Layer] = engine.layers
        self._is_filtered = False
        self._selection = 0
        self._layer: Layer | None = None
        self._drawn: OrderedDict[Wanted, Sequence[Line]] = OrderedDict()
        self._shown: Wanted | None = None
        self._is_drawing = False

    def compose(self) -> ComposeResult:
        yield self.titles
        yield self.view

    # Filter and current layer

    def show_layers(self, layers: Sequence[Layer], *, filter_text: str) -> None:
        """Draw the chart of these layers."""
        self._layers, self._is_filtered = layers, bool(filter_text)
        self._selection += 1
        self._renew()

    def show_layer(self, layer: Layer | None) -> None:
        self._layer = layer
        self._renew()

    @property
    def cursor_layer(self) -> Layer | None:
        return self._layer

    @property
    def main_part(self) -> ChartView:
        return self.view

    def selection(self) -> Selection:
        """The chart as it is drawn, without the blanks at the ends of its lines."""
        text = "\n".join(line.rstrip() for line in self.view.plain.splitlines()).rstrip() + "\n"
        return Selection(self.engine, text=text)

    def view_state(self) -> object:
        return self.chart.id, self.axes, self.has_class("-only-chart")

    def restore_view(self, state: object, old: Engine) -> None:  # noqa: ARG002 - charts are the same for every engine
        chart, self.axes, is_alone = cast("tuple[str, tuple[str, str], bool]", state)
        self.set_class(is_alone, "-only-chart")
        self._show_chart(CHARTS_BY_ID[chart])

    # Drawing

    @property
    def is_up_to_date(self) -> bool:
        """Whether what is on screen is what is wanted."""
        return self._shown is not None and self._shown == self._wanted()

    def _wanted(self) -> Wanted | None:
        size = self.view.content_size
        if size.width < 1 or size.height < 1:
            return None
        axes = self.axes if self.chart.has_axes else AXES[0]
        layer = None if self._layer is None else self._layer.index
        return Wanted(self.chart.id, axes, size.width, size.height, self._selection, layer)

    def _renew(self) -> None:
        """Show the wanted chart at once if it was drawn before; else draw it, unless a thread is busy: then afterwards."""
        wanted = self._wanted()
        if wanted is None or wanted == self._shown or not self.is_mounted:
            return
        if wanted in self._drawn:
            self._drawn.move_to_end(wanted)
            self._show(wanted)
        elif not self._is_drawing:
            self._is_drawing = True
            subject = Subject(self.engine, self._layers, PALETTE, self._is_filtered, self._layer, wanted.axes)
            self.run_worker(partial(self._draw, wanted, self.chart, subject), thread=True)

    def _draw(self, wanted: Wanted, chart: Chart, subject: Subject) -> None:
        try:
            lines = draw(chart, subject, wanted.width, wanted.height)
        except Exception as error:  # noqa: BLE001 - it costs this chart
            broken = replace(chart, make=partial(_no_chart, internal(error)))
            lines = draw(broken, subject, wanted.width, wanted.height)
        self.post_message(Drawn(wanted, lines))

    @on(Drawn)
    def _take(self, event: Drawn) -> None:
        event.stop()
        self._is_drawing = False
        self._drawn[event.wanted] = event.lines
        if len(self._drawn) > _MOST_KEPT:
            self._drawn.popitem(last=False)
        self._renew()

    def _show(self, wanted: Wanted) -> None:
        self._shown = wanted
        self.view.show(self._drawn[wanted])

    @on(ChartResized)
    def _resized(self, event: ChartResized) -> None:
        event.stop()
        self._renew()

    # Actions

    def _show_chart(self, chart: Chart) -> None:
        self.chart = chart
        self.titles.mark(CHARTS.index(chart))
        # Once the mark is drawn: a thread at work lets the terminal wait.
        self.call_after_refresh(self._renew)
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "turn_axes":
            return self.chart.has_axes
        return super().check_action(action, parameters)

    def action_next_chart(self) -> None:
        self._show_chart(CHARTS[(CHARTS.index(self.chart) + 1) % len(CHARTS)])

    def action_previous_chart(self) -> None:
        self._show_chart(CHARTS[CHARTS.index(self.chart) - 1])

    def action_nth_chart(self, index: int) -> None:
        self._show_chart(CHARTS[index])

    def action_choose_chart(self) -> None:
        width = max(len(chart.title) for chart in CHARTS)
        options = {chart.id: f"{chart.title:<{width}}  {chart.help}" for chart in CHARTS}
        self.app.push_screen(ChooseScreen("Chart", options, self.chart.id), self._chosen)

    def _chosen(self, chart: str | None) -> None:
        if chart is not None:
            self._show_chart(CHARTS_BY_ID[chart])

    @on(ChartPicked)
    def _picked(self, event: ChartPicked) -> None:
        event.stop()
        self._show_chart(CHARTS[event.index])

    def action_turn_axes(self) -> None:
        self.axes = AXES[(AXES.index(self.axes) + 1) % len(AXES)]
        self._renew()

    def action_zoom(self) -> None:
        self.toggle_class("-only-chart")


def _no_chart(problem: str, subject: Subject) -> Figure:  # noqa: ARG001 - as every chart is made
    return Figure((), missing=(problem,))
