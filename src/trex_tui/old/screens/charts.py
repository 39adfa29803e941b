"""Charts of the run and of the layers, one at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import ClassVar, cast

from textual import events, on
from textual.app import ComposeResult, RenderResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from trex_tui.old.analysis.columns import engine_columns, find_column
from trex_tui.old.crash_log import internal
from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.chart_file import ShownChart
from trex_tui.old.report.charts.catalogue import CHARTS, CHARTS_BY_ID
from trex_tui.old.report.charts.cells import Drawing, draw
from trex_tui.old.report.charts.figure import MUTED, PRIMARY, Chart, Figure, Palette, Subject, Target
from trex_tui.old.report.charts.grid import (
    CellSpan,
    Line,
    Spot,
    replace_cells,
    reverse_cells,
    shorten,
    split_cells,
)
from trex_tui.old.report.charts.scatter_charts import AXES
from trex_tui.old.report.glossary.charts import CHART_TERMS
from trex_tui.old.report.glossary.registry import find_terms
from trex_tui.old.screens.dialogs import ChooseScreen
from trex_tui.old.screens.explanation import ShownNumber
from trex_tui.old.screens.pane import EnginePane, LayerOpened, LayersFiltered, Selection
from trex_tui.old.text import plural
from trex_tui.old.widgets.actions import Place, bindings_in
from trex_tui.old.widgets.theme import kind_style, precision_style

_GAP = "  "


@dataclass
class ChartResized(Message):
    """The size of the chart changed."""


@dataclass
class ChartPicked(Message):
    """Click on the title of a chart."""

    index: int


@dataclass
class SpotOpened(Message):
    """Open the mark under the cursor."""

    spot: Spot


@dataclass
class ChartScrolled(Message):
    """Scroll the bars to an index."""

    first: int


_CURSOR_SIGN = "▲"
_PAGE = 10
"""Marks that a page key passes."""
_WHEEL = 3
"""Bars that one step of the mouse wheel passes."""
_FLATTER = 2.0
"""Height of a cell relative to its width."""
_LEAST_NAME = 12
"""Cells reserved for a name beside its values."""
_MOST_SEARCHED = 100
"""Number of layers in one mark among which the current layer is searched."""


class ChartView(Widget, can_focus=True):
    """Shows a drawing, with a cursor on its marks while focused.

    Attributes:
        marked: Target of the cursor, kept when the chart is redrawn.
    """

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_in(Place.CHART),
        Binding("home,g", "to_end(0)", show=False),
        Binding("end,G", "to_end(-1)", show=False),
        Binding("pagedown,ctrl+d", f"skip({_PAGE})", show=False),
        Binding("pageup,ctrl+u", f"skip({-_PAGE})", show=False),
    ]
    DEFAULT_CSS = """
    ChartView { width: 1fr; height: 1fr; padding: 0 1; text-wrap: nowrap; text-overflow: clip; }
    """

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.drawing = Drawing(())
        self.marked: Target | None = None
        self._spots: list[Spot | None] = []
        """The spot of the cursor, once it is known."""
        self._bar: int | None = None
        """Index of the bar under the cursor, once known, if not all bars fit."""
        self._current: int | None = None
        self._ordered: list[Spot] = []

    def show(self, drawing: Drawing, current: int | None) -> None:
        """Show a drawing; the cursor stays on its mark, else it begins on that of the current layer, else on the first.

        Args:
            current: Index of the current layer, or engine in a chart of engines.
        """
        self.drawing = drawing
        self._current = current
        self._ordered = sorted(drawing.spots, key=lambda spot: spot.centre)
        self._spots, self._bar = [], None
        self.refresh()

    @property
    def bar(self) -> int:
        """Index of the bar of the cursor, drawn or not."""
        if self._bar is None:
            self._bar = self._find_bar()
        return self._bar

    def _find_bar(self) -> int:
        bars = self.drawing.bars
        if self.marked is not None:
            for index, target in enumerate(bars):
                if (target.label, target.layer) == (self.marked.label, self.marked.layer):
                    return index
        layers = (index for index, target in enumerate(bars) if target.layer == self._current is not None)
        return next(layers, 0)

    @property
    def spot(self) -> Spot | None:
        """Position of the cursor; None if the chart has no marks or lacks this one. Determined on request."""
        if not self._spots:
            self._spots = [self._find_spot()]
        return self._spots[0]

    def _find_spot(self) -> Spot | None:
        spots, marked = self.drawing.spots, self.marked
        if self.drawing.bars:
            index = self.bar - self.drawing.first
            return spots[index] if 0 <= index < len(spots) else None
        of_layer = self.drawing.spot_of_layer
        if marked is not None:
            if marked.layer is not None and marked.layer in of_layer:
                return spots[of_layer[marked.layer]]
            for spot in spots:
                if spot.target(spot.indices[0]).label == marked.label:
                    return spot
        if self._current is not None and self._current in of_layer:
            return spots[of_layer[self._current]]
        return spots[0] if spots else None

    @property
    def target(self) -> Target | None:
        """Target under the cursor: of several layers the current one, else the topmost."""
        if self.drawing.bars:
            return self.drawing.bars[self.bar]
        spot = self.spot
        if spot is None:
            return None
        shown = [spot.target(index) for index in spot.indices[:_MOST_SEARCHED]]
        wanted = [self._current] if self.marked is None else [self.marked.layer, self._current]
        preferred = (target for layer in wanted for target in shown if target.layer == layer is not None)
        return next(preferred, shown[0])

    @property
    def plain(self) -> str:
        return "\n".join("".join(span.text for span in line) for line in self.drawing.lines)

    def on_resize(self) -> None:
        self.post_message(ChartResized())

    def on_focus(self) -> None:
        self._show_bar()
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    # Cursor

    def _mark(self, spot: Spot) -> None:
        self._spots, self.marked = [spot], None
        if self.drawing.bars:
            self._bar = self.drawing.first + self.drawing.spots.index(spot)
        self.marked = self.target
        self.refresh()

    def _mark_bar(self, index: int) -> None:
        bars = self.drawing.bars
        self._spots, self._bar = [], max(0, min(len(bars) - 1, index))
        self.marked = bars[self._bar]
        self._show_bar()
        self.refresh()

    def _show_bar(self) -> None:
        """Request the bars around the cursor if its bar is not drawn."""
        drawing = self.drawing
        if drawing.bars and self.spot is None:
            is_above = self.bar < drawing.first
            self.post_message(ChartScrolled(self.bar if is_above else self.bar - len(drawing.spots) + 1))

    def action_walk(self, right: int, down: int) -> None:
        """Move to the next mark left or right, or to the nearest one above or below."""
        if self.drawing.bars:
            self.action_skip(right or down)
            return
        here = self.spot
        if here is None:
            return
        if right:
            self.action_skip(right)
            return
        x, y = here.centre
        beyond = [
            (_FLATTER * abs(spot.centre[1] - y) + abs(spot.centre[0] - x), place)
            for place, spot in enumerate(self._ordered)
            if (spot.centre[1] - y) * down > 0
        ]
        if beyond:
            self._mark(self._ordered[min(beyond)[1]])

    def action_skip(self, step: int) -> None:
        """Move by a number of marks to the right, or bars down."""
        here = self.spot
        if self.drawing.bars:
            self._mark_bar(self.bar + step)
        elif here is not None:
            place = self._ordered.index(here) + step
            self._mark(self._ordered[max(0, min(len(self._ordered) - 1, place))])

    def action_to_end(self, index: int) -> None:
        if self.drawing.bars:
            self._mark_bar(index % len(self.drawing.bars))
        elif self._ordered:
            self._mark(self._ordered[index])

    def action_open(self) -> None:
        target = self.target
        if target is not None:
            self.post_message(SpotOpened(self.spot or Spot(0, 0, 0, 0, (0,), lambda _: target)))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._turn_wheel(event, _WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._turn_wheel(event, -_WHEEL)

    def _turn_wheel(self, event: events.MouseEvent, step: int) -> None:
        if self.drawing.bars:
            event.stop()
            self.post_message(ChartScrolled(self.drawing.first + step))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the nearest mark; a double click opens it."""
        offset = event.get_content_offset(self)
        if offset is None or not self.drawing.spots:
            return
        event.stop()
        self._mark(min(self.drawing.spots, key=partial(_measure_distance, x=offset.x, y=offset.y)))
        if event.chain == 2:
            self.action_open()

    # Drawing

    def render(self) -> RenderResult:
        lines = list(self.drawing.lines)
        spot = self.spot if self.has_focus else None
        if self.has_focus and self.target is not None and lines:
            lines[0] = self._describe(self.target, self.content_size.width)
        if spot is not None and lines:
            if spot.foot is not None:
                lines[spot.foot] = replace_cells(
                    lines[spot.foot], spot.x, _CURSOR_SIGN * spot.width, "bold $accent"
                )
            else:
                for y in range(spot.y, spot.y + spot.height):
                    lines[y] = reverse_cells(lines[y], spot.x, spot.width)
        return Content("\n").join(Content.assemble(*line) for line in lines)

    def _describe(self, target: Target, width: int) -> Line:
        """Return the line about the mark under the cursor; the name is shortened before the values."""
        count = 1 if self.spot is None else len(self.spot.indices)
        shared = f"  ({count} here)" if count > 1 else ""
        figures = f"  {target.figures}{shared}" if target.figures else shared
        name = shorten(target.label, max(_LEAST_NAME, width - len(split_cells(figures))))
        left = width - len(split_cells(name))
        return CellSpan(name, "bold $accent"), CellSpan(shorten(figures, left))


def _measure_distance(spot: Spot, *, x: int, y: int) -> float:
    """Return the distance of a pointer from a mark, in widths of a cell."""
    across = max(spot.x - x, 0, x - (spot.x + spot.width - 1))
    return across + _FLATTER * max(spot.y - y, 0, y - (spot.y + spot.height - 1))


class ChartList(Widget, can_focus=True):
    """Titles of the charts: a column, or a row around the current one."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    ChartList {
        width: 24; height: 1fr; padding: 0 1; background: $surface; text-wrap: nowrap; text-overflow: clip;
    }
    """

    def __init__(self, titles: Sequence[str], *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._titles = titles
        self._current = 0
        self._empty: frozenset[int] = frozenset()

    def mark(self, current: int) -> None:
        self._current = current
        self.refresh()

    def dim(self, empty: frozenset[int]) -> None:
        """Dim the titles of charts without data."""
        if empty != self._empty:
            self._empty = empty
            self.refresh()

    @property
    def _is_row(self) -> bool:
        return self.size.height == 1

    @property
    def _counter(self) -> str:
        return f"{self._current + 1}/{len(self._titles)}"

    def _label(self, index: int) -> str:
        """Mark the current title with a sign as well as a colour."""
        is_current = index == self._current
        if self._is_row:
            title = f"({self._titles[index]})" if index in self._empty else self._titles[index]
            return f"▸{title}" if is_current else title
        number = "–" if index in self._empty else index + 1
        return f"{'▸' if is_current else ' '}{number:>2} {self._titles[index]}"

    def render(self) -> RenderResult:
        def styled(index: int, other: str) -> Content:
            return Content.styled(self._label(index), "bold $accent" if index == self._current else other)

        if not self._is_row:
            others = ["$muted" if index in self._empty else "" for index in range(len(self._titles))]
            return Content("\n").join(styled(index, other) for index, other in enumerate(others))
        titles = [styled(index, "$muted") for index in self._visible]
        return Content(_GAP).join([Content.styled(self._counter, "$muted"), *titles])

    @property
    def _visible(self) -> range:
        """Return the titles that fit in a row: the current one, and neighbours on alternating sides."""
        first = last = self._current
        used = len(self._counter) + len(_GAP) + len(split_cells(self._label(self._current)))
        has_grown = True
        while has_grown:
            has_grown = False
            for index in (last + 1, first - 1):
                if 0 <= index < len(self._titles):
                    needed = len(_GAP) + len(split_cells(self._label(index)))
                    if used + needed <= self.content_size.width:
                        used += needed
                        first, last, has_grown = min(first, index), max(last, index), True
        return range(first, last + 1)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        index = self._index_at(offset.x) if self._is_row else offset.y
        if index is not None and index < len(self._titles):
            event.stop()
            self.post_message(ChartPicked(index))

    def _index_at(self, x: int) -> int | None:
        start = len(self._counter)
        for index in self._visible:
            start += len(_GAP)
            end = start + len(split_cells(self._label(index)))
            if start <= x < end:
                return index
            start = end
        return None


PALETTE = Palette(kind_style, precision_style)
ROLES = {"x": "X or groups", "value": "Value", "size": "Size", "color": "Color"}
"""Purposes of the columns of a chart, with their labels."""
_MOST_OFFERED = 200
"""Number of layers in one mark that are offered."""
_MOST_KEPT = 16
"""Number of drawn charts that are cached."""
SLOW_S = 0.15
"""Time after which "Drawing…" is shown."""
HELD_S = 0.08
"""Interval below which repeated keys count as held: the charts between are not drawn."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Everything that the drawing of a chart depends on, as a cache key. Colours are theme tokens."""

    chart: str
    axes: tuple[str, str]
    columns: tuple[str | None, ...]
    """Names of the chosen columns."""
    width: int
    height: int
    selection: int
    """Number of the filter's result."""
    layer: int | None
    first: int
    """First visible bar."""


@dataclass
class Drawn(Message):
    """Drawing of a chart, from a thread."""

    wanted: Wanted
    drawing: Drawing


class ChartsPane(EnginePane):
    """List of charts and the current chart. Charts are drawn in a thread; the previous one stays until then."""

    DEFAULT_CSS = """
    /* Charts: the titles beside the chart, or in a row above it. */
    ChartsPane {
        layout: vertical;
        & > #chart-list { width: 1fr; height: 1; }
        &.-only-chart > #chart-list { display: none; }
    }

    EngineScreen.-wide ChartsPane {
        layout: horizontal;
        & > #chart-list { width: 24; height: 100%; border-right: solid $panel; }
    }
    """
    SCOPED_CSS = False

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_in(Place.CHARTS),
        Binding("j,down,pagedown,ctrl+d", "next_chart", show=False),
        Binding("k,up,pageup,ctrl+u", "previous_chart", show=False),
        Binding("g,home", "nth_chart(0)", show=False),
        Binding("G,end", "nth_chart(-1)", show=False),
    ]

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self._empty = {chart.id for chart in CHARTS if not chart.needs(engine)}
        """Charts without data, as far as is known."""
        self.chart: Chart = next((chart for chart in CHARTS if chart.id not in self._empty), CHARTS[0])
        self.axes = AXES[0]
        self.columns: dict[str, LayerColumn | None] = dict.fromkeys(ROLES)
        self.view = ChartView(id="chart")
        self._titled = [chart.titled(engine.layers) for chart in CHARTS]
        self.titles = ChartList([chart.title for chart in self._titled], id="chart-list")
        self._layers: Sequence[Layer] = engine.layers
        self._is_filtered = False
        self._selection = 0
        self._first = 0
        """First visible bar of each chart that does not fit."""
        self._layer: Layer | None = None
        self._drawn: OrderedDict[Wanted, Drawing] = OrderedDict()
        self._shown: Wanted | None = None
        self._is_drawing = False
        self._slow: Timer | None = None
        """Timer until "Drawing…" is shown."""
        self._moved_at = float("-inf")
        self._pause: Timer | None = None
        """Timer until a held key counts as released."""

    def compose(self) -> ComposeResult:
        self.titles.mark(CHARTS.index(self.chart))
        self._dim_titles()
        yield self.titles
        yield self.view

    # Filter and current layer

    def show_layers(self, layers: Sequence[Layer], *, filter_text: str) -> None:
        """Draw the chart of these layers."""
        self._layers, self._is_filtered = layers, bool(filter_text)
        self._selection += 1
        self._first = 0
        self._renew()

    def show_layer(self, layer: Layer | None) -> None:
        self._layer = layer
        self._renew()

    @property
    def cursor_layer(self) -> Layer | None:
        return self._layer

    @property
    def main_part(self) -> Widget:
        return self.view if self.has_class("-only-chart") else self.titles

    def selection(self) -> Selection:
        """Return the drawn chart without trailing blanks."""
        text = "\n".join(line.rstrip() for line in self.view.plain.splitlines()).rstrip() + "\n"
        shown = ShownChart(self.chart, self._subject(), text)
        return Selection(self.engine, chart=shown)

    def numbers(self) -> list[ShownNumber]:
        """The drawn figure."""
        terms = CHART_TERMS.get(self.chart.id, ())
        return [ShownNumber(entry.term.key, "", entry) for key in terms for entry in find_terms(key)[:1]]

    @property
    def explained_thing(self) -> str:
        chart = self.chart.titled(self._layers)
        return f"{chart.title}: {chart.help}"

    def view_state(self) -> object:
        names = tuple(column and column.name for column in self.columns.values())
        return self.chart.id, self.axes, names, self.has_class("-only-chart")

    def restore_view(self, state: object, old: Engine) -> None:  # noqa: ARG002 - charts are the same for every engine
        chart, self.axes, names, is_alone = cast(
            "tuple[str, tuple[str, str], tuple[str | None, ...], bool]", state
        )
        found = ((name and find_column(name, self.engine)) or None for name in names)
        self.columns = dict(zip(ROLES, found, strict=True))
        self.set_class(is_alone, "-only-chart")
        self._show_chart(CHARTS_BY_ID[chart])

    # Drawing

    @property
    def is_up_to_date(self) -> bool:
        """True if the chart on screen is the wanted one."""
        return self._shown is not None and self._shown == self._wanted()

    def _wanted(self) -> Wanted | None:
        size = self.view.content_size
        if size.width < 1 or size.height < 1:
            return None
        axes = self.axes if self.chart.has_axes else AXES[0]
        columns = tuple(column.name if column else None for column in map(self._column, ROLES))
        return Wanted(
            self.chart.id,
            axes,
            columns,
            size.width,
            size.height,
            self._selection,
            self._layer_index,
            self._first,
        )

    @property
    def _layer_index(self) -> int | None:
        return None if self._layer is None else self._layer.index

    def _renew(self) -> None:
        """Show the wanted chart from the cache, or draw it now; if a thread is busy, after it."""
        wanted = self._wanted()
        if wanted is None or wanted == self._shown or self._pause is not None or not self.is_mounted:
            return
        if wanted in self._drawn:
            self._drawn.move_to_end(wanted)
            self._show(wanted)
            return
        self._watch_drawing()
        if not self._is_drawing:
            self._is_drawing = True
            self.run_worker(partial(self._draw, wanted, self.chart, self._subject()), thread=True)

    def _subject(self) -> Subject:
        """The subject of the chart."""
        return Subject(
            self.engine,
            self._layers,
            PALETTE,
            self._is_filtered,
            self._layer,
            self.axes if self.chart.has_axes else AXES[0],
            value=self._column("value"),
            color=self._column("color"),
            x=self._column("x"),
            size=self._column("size"),
        )

    def _column(self, role: str) -> LayerColumn | None:
        """Return the column chosen for a role if the chart has it: any column for groups, numbers for axes."""
        column = self.columns[role]
        if column is None or role not in self._roles:
            return None
        return column if role != "x" or column.is_number or self.chart.has_groups else None

    @property
    def _roles(self) -> list[str]:
        """Purposes for which columns of the chart can be chosen."""
        chart = self.chart
        has = {"x": chart.has_x, "value": chart.has_value, "size": chart.has_size, "color": chart.has_color}
        return [role for role in ROLES if has[role]]

    def _draw(self, wanted: Wanted, chart: Chart, subject: Subject) -> None:
        try:
            drawing = draw(chart, subject, wanted.width, wanted.height, wanted.first)
        except Exception as error:  # noqa: BLE001 - it costs this chart
            broken = replace(chart, make=partial(_no_chart, internal(error)))
            drawing = draw(broken, subject, wanted.width, wanted.height)
        self.post_message(Drawn(wanted, drawing))

    @on(Drawn)
    def _take(self, event: Drawn) -> None:
        event.stop()
        self._is_drawing = False
        self._drawn[event.wanted] = event.drawing
        self._note_empty(event)
        if len(self._drawn) > _MOST_KEPT:
            self._drawn.popitem(last=False)
        self._renew()

    def _note_empty(self, event: Drawn) -> None:
        """Dim a chart without data; undim one whose value column has data."""
        if event.wanted.selection == self._selection and not self._is_filtered:
            if event.drawing.is_empty:
                self._empty.add(event.wanted.chart)
            else:
                self._empty.discard(event.wanted.chart)
            self._dim_titles()

    def _dim_titles(self) -> None:
        self.titles.dim(frozenset(index for index, chart in enumerate(CHARTS) if chart.id in self._empty))

    def _watch_drawing(self) -> None:
        """Show "Drawing…" after a while if the chart is not ready."""
        if self._slow is None:
            self._slow = self.set_timer(SLOW_S, self._state_drawing)

    def _state_drawing(self) -> None:
        """Show that the chart is being drawn."""
        self._slow = None
        wanted = self._wanted()
        if wanted is not None and wanted not in self._drawn:
            title = CellSpan(shorten(self.chart.titled(self._layers).title, wanted.width), f"bold {PRIMARY}")
            self._shown = None
            self.view.show(Drawing(((title,), (), (CellSpan("Drawing…", MUTED),))), self._layer_index)

    def _release(self) -> None:
        """Draw the chart at which the key was released."""
        self._pause = None
        self._renew()

    def _show(self, wanted: Wanted) -> None:
        self._shown = wanted
        if self._slow is not None:
            self._slow.stop()
            self._slow = None
        self.view.show(self._drawn[wanted], self._layer_index)

    @on(ChartResized)
    def _resized(self, event: ChartResized) -> None:
        event.stop()
        self._renew()

    @on(ChartScrolled)
    def _scrolled(self, event: ChartScrolled) -> None:
        event.stop()
        drawing = self.view.drawing
        self._first = max(0, min(event.first, len(drawing.bars) - len(drawing.spots)))
        self._renew()

    # Actions

    def _show_chart(self, chart: Chart, first: int = 0) -> None:
        self.chart, self._first = chart, first
        self.titles.mark(CHARTS.index(chart))
        now, before = monotonic(), self._moved_at
        self._moved_at = now
        if self._pause is not None:
            self._pause.stop()
            self._pause = None
        if now - before < HELD_S:
            self._pause = self.set_timer(HELD_S, self._release)
        else:
            # After the mark is drawn, since a busy thread delays the terminal.
            self.call_after_refresh(self._renew)
        if self._shown is None:
            self._state_drawing()
        self._watch_drawing()
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "turn_axes":
            return self.chart.has_axes
        if action == "choose_value":
            return self.chart.has_value
        if action == "choose_color":
            return self.chart.has_color
        if action == "choose_role":
            return bool(self._roles)
        return super().check_action(action, parameters)

    def action_next_chart(self) -> None:
        self._show_chart(CHARTS[(CHARTS.index(self.chart) + 1) % len(CHARTS)])

    def action_previous_chart(self) -> None:
        self._show_chart(CHARTS[CHARTS.index(self.chart) - 1])

    def action_enter_chart(self) -> None:
        """Put the cursor on a mark of the chart."""
        if self.view.drawing.spots or not self.is_up_to_date:
            self.screen.set_focus(self.view)
        else:
            self.notify("No marks to select in this chart.", markup=False)

    @on(SpotOpened)
    def _spot_opened(self, event: SpotOpened) -> None:
        """Show the layer, or the layers of a group; ask if several share a mark."""
        event.stop()
        spot = event.spot
        target = spot.target(spot.indices[0])
        if target.layer is None and not target.filter_text:
            self.notify("This mark opens nothing.", markup=False)
            return
        if len(spot.indices) == 1:
            self._open_target(target)
            return
        shown = spot.indices[:_MOST_OFFERED]
        options = {str(index): spot.target(index).text for index in shown}
        count = len(spot.indices)
        title = f"{plural(count, 'layer')} here" + (f" (first {_MOST_OFFERED})" if count > len(shown) else "")

        def chosen(index: str | None) -> None:
            if index is not None:
                self._open_target(spot.target(int(index)))

        self.app.push_screen(ChooseScreen(title, options), chosen)

    def _open_target(self, target: Target) -> None:
        if target.layer is not None:
            self.post_message(LayerOpened(self.engine.layers[target.layer]))
        elif target.filter_text:
            has_column = not target.filter_text.startswith("index:")
            self.post_message(LayersFiltered(target.filter_text, "" if has_column else target.label))

    def place(self) -> object:
        return self.chart, self._first, self.view.marked, self.view.has_focus

    def return_to(self, place: object) -> None:
        if place is None:
            return
        chart, first, marked, has_focus = cast("tuple[Chart, int, Target | None, bool]", place)
        self.view.marked = marked
        self.view.show(self.view.drawing, self._layer_index)
        self._show_chart(chart, first)
        self.screen.set_focus(self.view if has_focus else self.titles)

    def action_nth_chart(self, index: int) -> None:
        self._show_chart(CHARTS[index])

    def action_choose_chart(self) -> None:
        width = max(len(chart.title) for chart in self._titled)
        options = {
            chart.id: f"{chart.title:<{width}}  {'(no data) ' if chart.id in self._empty else ''}{chart.help}"
            for chart in self._titled
        }
        self.app.push_screen(ChooseScreen("Chart", options, self.chart.id), self.choose)

    def choose(self, chart: str | None) -> None:
        """Show the chart of an id; None shows no other."""
        if chart is not None and self.is_attached:  # A reload may have replaced the pane meanwhile.
            self._show_chart(CHARTS_BY_ID[chart])

    @on(ChartPicked)
    def _picked(self, event: ChartPicked) -> None:
        event.stop()
        self._show_chart(CHARTS[event.index])

    def action_turn_axes(self) -> None:
        self.axes = AXES[(AXES.index(self.axes) + 1) % len(AXES)]
        self._renew()

    def action_choose_value(self) -> None:
        self._choose_column("value")

    def action_choose_color(self) -> None:
        self._choose_column("color")

    def action_choose_role(self) -> None:
        """Ask for the role, then for its column."""
        width = max(map(len, ROLES.values()))
        options = {}
        for role in self._roles:
            column = self._column(role)
            options[role] = f"{ROLES[role]:<{width}}  {column.name if column else 'default'}"

        def chosen(role: str | None) -> None:
            if role is not None and role in self._roles:
                self._choose_column(role)

        self.app.push_screen(ChooseScreen("Columns", options), chosen)

    def _choose_column(self, role: str) -> None:
        """Offer the chart's default column, and others."""
        is_any = role == "color" or (role == "x" and self.chart.has_groups)
        columns = {
            column.name: column
            for column in engine_columns(self.engine)
            if column.name not in ("index", "name") and (is_any or column.is_number)
        }
        options = {"": "default", **{name: f"{column.title}  ({name})" for name, column in columns.items()}}

        def chosen(name: str | None) -> None:
            if name is not None:
                self.columns[role] = columns.get(name)
                self._first = 0
                self._renew()

        current = self._column(role)
        self.app.push_screen(ChooseScreen(ROLES[role], options, current.name if current else ""), chosen)

    def action_zoom(self) -> None:
        self.toggle_class("-only-chart")
        self.screen.set_focus(self.main_part)


def _no_chart(problem: str, subject: Subject) -> Figure:  # noqa: ARG001 - as every chart is made
    return Figure((), missing=(problem,))
