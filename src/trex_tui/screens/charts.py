"""Charts: the list of those that have data, and the highlighted one in the room beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import pandas as pd
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.color import Color, ColorParseError
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from trex_tui.column import RARE, Column
from trex_tui.engine.model import Engine
from trex_tui.errors import TrexError
from trex_tui.frames import is_number, text_array
from trex_tui.report.absence import no_layers, no_profile
from trex_tui.report.charts import CHARTS, UNKNOWN, Chart, Choice, make_chart
from trex_tui.report.document import Section
from trex_tui.report.plotext_painter import Color as PlotColor
from trex_tui.report.plotext_painter import Look, paint
from trex_tui.screens import dialogs
from trex_tui.screens.overview import BOUND_STYLES
from trex_tui.screens.pane import EnginePane, LayerOpened
from trex_tui.text import printable
from trex_tui.widgets.actions import bindings
from trex_tui.widgets.chrome import StatusLine
from trex_tui.widgets.table import FrameTable, Row
from trex_tui.widgets.theme import kind_style, precision_style

_AXES = {"x": "x axis", "y": "Value", "color": "Color"}


class ChartsPane(EnginePane):
    DEFAULT_CSS = """
    ChartsPane {
        layout: horizontal;
        & > #main { width: 23; height: 100%; display: none; }
        & > Vertical { width: 1fr; height: 100%; }
        & > Vertical > #names { height: 1; color: $muted; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
        & > Vertical > #chart { height: 1fr; padding: 0 1; }
    }
    MainScreen.-wide ChartsPane { & > #main { display: block; } & > Vertical > #names { display: none; } }
    """
    SCOPED_CSS = False
    tab = "charts"
    BINDINGS: ClassVar[list[BindingType]] = bindings("charts")

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.chart = self._wanted = ""
        """Name of the chart on screen, and of the one that was chosen last, which may have no data now."""
        self._charts: dict[str, Chart] = {}
        self._choices: dict[str, Choice] = {}
        """Name of a chart -> the axes that the user chose."""
        self._is_linear: set[str] = set()

    def compose(self) -> ComposeResult:
        yield FrameTable(id="main")
        with Vertical():
            yield Static(id="names", markup=False)
            yield ChartView(id="chart")
            yield StatusLine("status")

    @property
    def main(self) -> Widget:
        """The list, or the chart where there is no room for the list."""
        return self.query_one("#main" if self.screen.has_class("-wide") else "#chart")

    def watch_shown(self) -> None:
        rows = None if self.shown is None or not self.shown.text else self.shown.rows
        choices = dict(self._choices)
        self.compute(lambda: make_charts(self.engine, rows, choices), self._take_charts)

    def watch_current_layer(self, layer: int | None) -> None:
        self.query_one(ChartView).repaint()
        self.show_status(layer)

    def on_resize(self) -> None:
        self.query_one(ChartView).repaint()

    def _take_charts(self, charts: dict[str, Chart]) -> None:
        self._charts = charts
        names = list(charts)
        frame = pd.DataFrame({"name": text_array(self._title(name) for name in names)}, index=names)
        section = Section(
            "charts", "Charts", frame=frame, columns=[Column("name", "Charts", priority=0)], noun="chart"
        )
        table = self.query_one(FrameTable)
        table.show(section)
        shown = self._wanted if self._wanted in charts else next(iter(names), "")
        table.move_to(shown)
        self.show_chart(shown)

    def show_chart(self, name: str) -> None:
        """Show a chart; the names of the others stand above it where there is no list."""
        self.chart = name
        view = self.query_one(ChartView)
        chart = self._charts.get(name)
        if chart is None:
            view.show(None, no_layers(self.engine) if not len(self.engine) else no_profile(self.engine))
            return
        is_linear = name in self._is_linear
        view.show(replace(chart, is_log=False) if is_linear else chart)
        names = list(self._charts)
        place = names.index(name)
        others = "".join(f"  {self._title(other)}" for other in (*names[place + 1 :], *names[:place]))
        line = Content.assemble(
            f"{place + 1}/{len(names)}  ", (f"▸{self._title(name)}", "bold $accent"), others
        )
        self.query_one("#names", Static).update(line)
        self.refresh_bindings()

    def _title(self, name: str) -> str:
        title = CHARTS[name].title
        return title if self.engine.has_profile else title.replace("Time by", "Layers by")

    def layer_of(self, row: Row) -> int | None:  # noqa: ARG002 - the rows are charts
        return self.current_layer

    @on(FrameTable.Moved)
    def _highlight(self, event: FrameTable.Moved) -> None:
        if event.is_by_user and isinstance(event.row, str) and event.row != self.chart:
            self._choose_chart(event.row)

    def open_row(self, _table: FrameTable, _row: Row) -> None:
        """Go to the current layer."""
        if self.current_layer is not None:
            self.post_message(LayerOpened(self.current_layer))

    # What the screen asks

    def sections(self) -> list[Section]:
        chart = self._charts.get(self.chart)
        if chart is None:
            return []
        rows = Section("rows", chart.title, frame=chart.frame, columns=_columns(chart))
        return [Section("chart", chart=chart), rows]

    def copied(self) -> list[dict[str, object]]:
        chart = self._charts.get(self.chart)
        return [] if chart is None else [{"name": chart.title, "rows": chart.frame, "note": chart.note}]

    def explained(self) -> tuple[Section, Row | None] | None:
        chart = self._charts.get(self.chart)
        return None if chart is None else (Section("", chart.title, columns=_columns(chart)), None)

    # Actions

    def action_next_chart(self, step: int) -> None:
        names = list(self._charts)
        if names:
            self._choose_chart(names[(names.index(self.chart) + step) % len(names)])

    def action_choose_chart(self) -> None:
        options = {name: f"{self._title(name):<18} {CHARTS[name].help}" for name in self._charts}
        dialogs.choose(self.app, "Chart", options, self._choose_chart, self.chart)

    def _choose_chart(self, name: str) -> None:
        self._wanted = name
        self.query_one(FrameTable).move_to(name)
        self.show_chart(name)

    def action_choose_axis(self, axis: str) -> None:
        """Choose the column of an axis, or of the colors."""
        if axis not in CHARTS[self.chart].axes:
            self.notify(
                "This chart has a fixed one." if axis != "y" else "This chart has a fixed value.",
                markup=False,
            )
            return
        wants_numbers = axis == "y" or (axis == "x" and self.chart != "bar")
        options = {}
        for key, column in self.engine.columns.items():
            values = self.engine.column(key) if column.priority < RARE else None
            if values is not None and values.notna().any() and (is_number(values) or not wants_numbers):
                options[key] = f"{column.title:<16} {column.help}"
        if self.chart == "power":
            options = {"power_w": "Power", "gpu_temperature_c": "Temperature", "gpu_clock_mhz": "GPU clock"}
        chosen = getattr(self._choices.get(self.chart, Choice()), axis)
        dialogs.choose(self.app, _AXES[axis], options, lambda key: self._choose_axis(axis, key), chosen)

    def _choose_axis(self, axis: str, key: str) -> None:
        self._choices[self.chart] = _choose(self._choices.get(self.chart, Choice()), axis, key)
        self.watch_shown()

    def action_toggle_log(self) -> None:
        if self._charts[self.chart].is_log:
            self._is_linear ^= {self.chart}
            self.show_chart(self.chart)
        else:
            self.notify("This chart has linear axes.", markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide the keys of axes that the chart does not have."""
        if action == "choose_axis":
            return self.chart in CHARTS and parameters[0] in CHARTS[self.chart].axes
        if action == "toggle_log":
            return self.chart in self._charts and self._charts[self.chart].is_log
        if action in ("next_chart", "choose_chart"):
            return bool(self._charts)
        return super().check_action(action, parameters)


def _choose(choice: Choice, axis: str, key: str) -> Choice:
    return Choice(**{**choice._asdict(), axis: key})


class ChartView(Static, can_focus=True):
    """A chart, painted for the room that it has."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, markup=False)
        self.chart: Chart | None = None
        self._otherwise = "…"

    def show(self, chart: Chart | None, otherwise: str = "") -> None:
        """Show a chart, or a sentence."""
        self.chart, self._otherwise = chart, otherwise
        self.repaint()

    def repaint(self) -> None:
        """Paint the chart again: the size, the theme or the current layer changed."""
        size = self.scrollable_content_region.size
        if self.chart is None or size.width < 20 or size.height < 6:
            self.update(printable(self._otherwise))
            return
        pane = next(ancestor for ancestor in self.ancestors if isinstance(ancestor, ChartsPane))
        look = make_look(self.app.theme_variables)
        text = paint(self.chart, size.width, size.height, look, pane.current_layer, is_bounded=True)
        self.update(Content.from_rich_text(text))

    def on_resize(self) -> None:
        self.repaint()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_mounted:
            self.call_after_refresh(self.repaint)


def make_charts(engine: Engine, rows: pd.Series | None, choices: Mapping[str, Choice]) -> dict[str, Chart]:
    """Return the charts that have data."""
    charts = {}
    for name in CHARTS:
        try:
            chart = make_chart(engine, name, choices.get(name, Choice())._replace(rows=rows))
        except TrexError:
            continue
        if _has_data(chart):
            charts[name] = chart
    return charts


def _has_data(chart: Chart) -> bool:
    """Return whether there is something to see: more than one point, a known group, a number above 0."""
    if chart.kind == "bar":
        return bool(chart.frame[chart.y.key].ne(UNKNOWN).any())
    numbers = chart.frame[chart.y.key]
    return len(numbers) > 1 and bool(numbers.astype(float).gt(0).any())


def make_look(variables: Mapping[str, str]) -> Look:
    """Return the colors of the theme; the terminal's own where the theme uses those."""

    def find(token: str) -> PlotColor | None:
        try:
            color = Color.parse(variables.get(token.rpartition("$")[2], ""))
        except ColorParseError:
            return None
        return None if color.ansi is not None else (color.r, color.g, color.b)

    def tone(word: str, number: int) -> PlotColor:
        style = kind_style(word) or BOUND_STYLES.get(word, "") or _WORDS.get(word, "")
        style = style or (precision_style(word) if precision_style(word) != "$muted" else "")
        return find(style or "$primary" if not word else style) or number if style or not word else number

    return Look(tone, find("$current") or 13, find("$muted") or 8, find("$muted"))


_WORDS = {"median": "$primary", "max": "$accent", "unknown": "$muted", "others": "$muted"}


def _columns(chart: Chart) -> list[Column]:
    return [
        column
        for column in (chart.y, chart.x, chart.color)
        if column is not None and column.key in chart.frame
    ]
