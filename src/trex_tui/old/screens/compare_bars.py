"""Window with the bars of a comparison: times of all engines by kind, precision, module or block."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from trex_tui.old.engine.engine import Engine
from trex_tui.old.report.charts.cells import draw
from trex_tui.old.report.charts.figure import Subject, Target
from trex_tui.old.report.views.compare import Shown
from trex_tui.old.report.views.compare_charts import comparison_charts
from trex_tui.old.screens.charts import PALETTE, ChartResized, ChartScrolled, ChartView, SpotOpened
from trex_tui.old.screens.dialogs import Dialog
from trex_tui.old.widgets.actions import Place, bindings_in


class ComparisonBars(Dialog[Target]):
    """Shows one chart at a time; the result is the bar that was opened.

    Args:
        engine: The engine on screen: bars of blocks lead to its layers.
        index: The chart to begin with, in the order of `comparison_charts`.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.BARS)
    DEFAULT_CSS = """
    ComparisonBars > .dialog { width: 96%; height: 90%; }
    """

    def __init__(self, engine: Engine, compared: Shown, index: int = 0) -> None:
        super().__init__()
        self.index = index
        self.view = ChartView(id="comparison-chart")
        self._charts = comparison_charts(compared)
        self._subject = Subject(engine, engine.layers, PALETTE)
        self._first = 0

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as window:
            window.border_title = "Bars"
            window.border_subtitle = "t group by · Enter goes there · Esc closes"
            yield self.view

    def _draw(self) -> None:
        size = self.view.content_size
        if size:
            chart = self._charts[self.index]
            self.view.show(draw(chart, self._subject, size.width, size.height, self._first), None)

    @on(ChartResized)
    def _resized(self, event: ChartResized) -> None:
        event.stop()
        self._draw()

    @on(ChartScrolled)
    def _scrolled(self, event: ChartScrolled) -> None:
        event.stop()
        self._first = max(0, event.first)
        self._draw()

    @on(SpotOpened)
    def _opened(self, event: SpotOpened) -> None:
        event.stop()
        target = event.spot.target(event.spot.indices[0])
        if target.layer is None and not target.filter_text:
            self.notify("This mark opens nothing.", markup=False)
        else:
            self.dismiss(target)

    def action_next_chart(self) -> None:
        self.index = (self.index + 1) % len(self._charts)
        self._first, self.view.marked = 0, None
        self._draw()
