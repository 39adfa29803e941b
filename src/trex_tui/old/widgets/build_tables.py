"""Tables of the build views, their columns and details."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from operator import attrgetter
from typing import Any, NamedTuple

from textual.content import Content

from trex_tui.old.analysis.build import BuildFacts, TacticRow, TunedLayer, build_seconds
from trex_tui.old.analysis.short_names import ShortNames, ShortTactics, shorten_label
from trex_tui.old.buildlog.build_trace import BuildTrace, Fusion, FusionKind, Message
from trex_tui.old.buildlog.layer_tuning import hex_id
from trex_tui.old.engine.engine import Engine
from trex_tui.old.report.charts.build_charts import TacticTimes, memory_chart, tactic_histogram
from trex_tui.old.report.charts.grid import Line as ChartLine
from trex_tui.old.report.document import Column as DocumentColumn
from trex_tui.old.report.document import ListingOffer
from trex_tui.old.report.views import build
from trex_tui.old.report.views.build import OutlineNode
from trex_tui.old.report.views.build_details import (
    item_lines,
    memory_lines,
    overview_lines,
    tactics_lines,
    tuned_lines,
    tuned_summary,
)
from trex_tui.old.report.views.layer_details import Line
from trex_tui.old.text import MISSING, plural, printable
from trex_tui.old.widgets.expandable_table import ExpandableTable
from trex_tui.old.widgets.table import VirtualTable
from trex_tui.old.widgets.table_columns import BAR_WIDTH, bar_against_largest, muted, textual_column
from trex_tui.old.widgets.table_model import SortKey, TableColumn, TableModel
from trex_tui.old.widgets.text_view import TextLine, text_lines


class _OutlineModel(TableModel[OutlineNode]):
    """Model that keeps the sort keys but not the order, which is computed when rows are put below others."""

    def sort(self, keys: Iterable[SortKey]) -> None:
        super().sort(())
        self.sort_keys = tuple(keys)


class Outline(ExpandableTable[OutlineNode]):
    """Outline. Sorting applies to siblings; children move with their parent."""

    indent_below_top = " "

    def __init__(self, columns: Sequence[TableColumn[OutlineNode]], *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._model = _OutlineModel()
        self.set_columns(columns)
        self._outline: Sequence[OutlineNode] = ()

    def show_nodes(self, nodes: Sequence[OutlineNode]) -> None:
        self._outline = nodes
        self.expanded = {node.key for node in _every(nodes) if node.is_open}
        self.rebuild()

    def rows_below(self, row: OutlineNode | None) -> Sequence[OutlineNode]:
        return self._in_order(self._outline if row is None else row.children)

    def row_key(self, row: OutlineNode) -> Hashable:
        return row.key

    def is_expandable(self, row: OutlineNode) -> bool:
        return bool(row.children)

    def _in_order(self, nodes: Sequence[OutlineNode]) -> Sequence[OutlineNode]:
        if not self.sort_keys:
            return nodes
        level: TableModel[OutlineNode] = TableModel()
        level.set_columns(self.columns)
        level.set_rows(nodes, None)
        level.sort(self.sort_keys)
        return [nodes[index] for index in level.shown]

    def set_sort(self, keys: Iterable[SortKey]) -> None:
        """Sort at every depth; expanded lines stay expanded."""
        before = self.sort_keys
        super().set_sort(keys)
        if self.sort_keys != before:
            self.rebuild()

    @property
    def has_lines(self) -> bool:
        return bool(self._outline)


def _every(nodes: Sequence[OutlineNode]) -> Iterator[OutlineNode]:
    for node in nodes:
        yield node
        yield from _every(node.children)


IN_ENGINE, CHOSEN, FASTEST, SKIPPED, CACHED_MARK, TIE = "◆", "C", "F", "x", "=", "≈"
LEGEND = f"{IN_ENGINE} in the engine · {CHOSEN} chosen · {FASTEST} fastest · {SKIPPED} skipped"


# Columns

_ASCENDING = frozenset(
    {"line", "index", "strategy", "margin_pct", "formats", "tactic", "time_ms", "at_s", "severity"}
)
"""Columns sorted in ascending order first."""
_MUTED = frozenset({"line", "index", "strategy", "rule", "formats", "tactic", "operator", "at_s", "of"})


def _columns(
    columns: Iterable[DocumentColumn], table: str, **changes: dict[str, Any]
) -> list[TableColumn[Any]]:
    """Return the columns of a table of a view for the screen; `changes` by key."""
    return [_column(column, table, changes.get(column.key, {})) for column in columns]


def _column(column: DocumentColumn, table: str, changes: dict[str, Any]) -> TableColumn[Any]:
    key = column.key
    values: dict[str, Any] = {
        "format": column.text if column.is_number else str,
        "style": muted if key in _MUTED else None,
        "descending": False if key in _ASCENDING else None,
    }
    return textual_column(column, table=table, **{**values, **changes})


def _outline(
    columns: Sequence[DocumentColumn], table: str, **changes: dict[str, Any]
) -> list[TableColumn[build.OutlineNode]]:
    """Return the columns of an outline: cells without a meaningful number are empty."""

    def make_text(column: TableColumn[build.OutlineNode]) -> Callable[[build.OutlineNode], str]:
        return lambda node: "" if (value := column.value(node)) is None else column.format(value)

    bar: dict[str, Any] = {"bar": lambda node: node.values["bar"], "bar_width": 2 * BAR_WIDTH}
    return [
        replace(column, text=make_text(column), **(bar if source.has_bar else {}))
        for column, source in zip(_columns(columns, table, **changes), columns, strict=True)
    ]


_STEP_STYLES = {
    FusionKind.FUSED: "$success",
    FusionKind.REMOVED: "$warning",
    FusionKind.CONVERTED: "$secondary",
    FusionKind.TRIED: "$muted",
}


def _step_style(node: build.OutlineNode) -> str:
    return _STEP_STYLES[node.item.kind] if isinstance(node.item, Fusion) else ""


_LAYER_KEYS = ("tactics", "skipped", "chosen_ms", "fastest_ms", "margin_pct", "near_tie", "seconds")


def layer_columns(facts: BuildFacts) -> list[TableColumn[TunedLayer]]:
    strategy = ("strategy",) if len(facts.trace.strategies) > 1 else ()
    names = ShortNames.of_names(tuned.tuning.name for tuned in facts.tuned)
    tie_style = {"style": lambda tuned: "$warning" if tuned.is_near_tie else ""}
    return _columns(
        build.pick(build.LAYERS, "name", "index", *strategy, *_LAYER_KEYS),
        "tunings",
        name={
            "shorten": lambda tuned, width: names.fit_name(tuned.tuning.name, width) or MISSING,
            "longest": lambda: names.longest,
            "style": lambda tuned: "" if tuned.layers else "$muted",
        },
        skipped={"text": lambda tuned: str(tuned.skipped or "")},
        margin_pct=tie_style,
        near_tie={
            "title": "",
            "text": lambda tuned: TIE if tuned.is_near_tie else "",
            "description": f"{TIE}: near tie",
            **tie_style,
        },
        seconds=bar_against_largest(facts.tuned, attrgetter("seconds")),
    )


def pass_columns(trace: BuildTrace) -> list[TableColumn[build.OutlineNode]]:
    """The columns of the passes; the layers of steps have short names."""
    steps = build.StepTexts(trace)

    def shorten(node: build.OutlineNode, width: int) -> str:
        is_step = isinstance(node.item, Fusion)
        return steps.fit(node.item, width) if is_step else shorten_label(printable(node.label), width)

    return _outline(build.PASS_OUTLINE, "passes", name={"shorten": shorten, "style": _step_style})


def tactic_mark(row: TacticRow) -> str:
    """Return the state of a tactic in letters: in the engine, chosen, fastest, skipped, from the cache."""
    if row.skipped is not None:
        return SKIPPED
    chosen = IN_ENGINE if row.in_engine else CHOSEN if row.is_chosen else " "
    return chosen + (CACHED_MARK if row.is_cached else FASTEST if row.is_fastest else "")


def _tactic_style(row: TacticRow) -> str:
    if row.skipped is not None:
        return "$warning"
    if row.in_engine:
        return "bold $accent"
    return "$accent" if row.is_chosen else "$success" if row.is_fastest else ""


def tactic_columns(rows: list[TacticRow]) -> list[TableColumn[TacticRow]]:
    operator = ("operator",) if any(row.operator for row in rows) else ()
    # One runner of all tactics is in the details; its column would only repeat it.
    runner = ("runner",) if len({row.runner for row in rows}) > 1 else ()
    tactics = ShortTactics(row.label for row in rows)
    style = {"style": _tactic_style}
    columns = _columns(
        build.pick(build.TACTICS, "formats", *runner, "name", *operator, "tactic", "time_ms", "line"),
        "tactics",
        formats={
            "title": "Fmt",
            "value": attrgetter("formats"),
            "width": 4,
            "align": "right",
            "priority": 2,
            "description": "formats: number of the format combination, from 1",
        },
        runner=style,
        name={
            "value": attrgetter("label"),
            "shorten": lambda row, width: tactics.fit(row.label, width),
            "longest": lambda: tactics.longest,
            **style,
        },
        operator={"value": attrgetter("operator")},
        tactic={"text": lambda row: "" if row.id is None else hex_id(row.id)},
        time_ms=style | bar_against_largest(rows, attrgetter("time_ms")),
    )
    return [TableColumn("mark", "", tactic_mark, width=2, style=_tactic_style, description=LEGEND), *columns]


_RANKS = {"F": 0, "E": 1, "W": 2}
_SEVERITY_STYLES = {"F": "bold $error", "E": "bold $error", "W": "$warning"}


def _message_columns() -> list[TableColumn[Message]]:
    """Return warnings and errors, equal ones together."""
    return _columns(
        build.pick(build.MESSAGES, "severity", "count", "message", "line"),
        "messages",
        severity={
            "title": "",
            "value": lambda message: _RANKS.get(message.severity, 3),
            "text": attrgetter("severity"),
            "width": 1,
            "style": lambda message: _SEVERITY_STYLES.get(message.severity, ""),
        },
    )


_STRATEGY_COLUMNS = (
    DocumentColumn("name", "Strategy, operator", value=attrgetter("label"), flex=True, width=24),
    *build.STRATEGIES[2:],
)


# Views


class View(Enum):
    """View of a build. The values are titles."""

    PHASES = "phases"
    PASSES = "passes"
    LAYERS = "layers"
    MEMORY = "memory"
    STRATEGIES = "strategies"
    MESSAGES = "messages"

    @property
    def help(self) -> str:
        return _TEXTS[self][0]


_TEXTS = {
    View.PHASES: ("build time and options", "phases"),
    View.PASSES: ("layers after each pass, fused and removed", "passes with their steps"),
    View.LAYERS: ("layers by tuning time; Enter shows all tactics", ""),
    View.MEMORY: ("memory over the build and of the engine", "memory over the build"),
    View.STRATEGIES: (
        "candidate engines and operators tuned by Myelin",
        "strategies, operators of Myelin",
    ),
    View.MESSAGES: ("warnings and errors, grouped", "warnings and errors"),
}
"""Description of a view, and the name of its export."""
OUTLINES = frozenset({View.PHASES, View.PASSES, View.STRATEGIES})
HISTOGRAM_ROWS = 7
_LINES_BEFORE = 2
"""Return the name of a layer, and the number of its tactics."""


class Tables(NamedTuple):
    """Tables of all views, and the table of tactics of a layer."""

    phases: Outline
    passes: Outline
    layers: VirtualTable[TunedLayer]
    memory: VirtualTable[Any]
    strategies: Outline
    messages: VirtualTable[Any]
    tactics: VirtualTable[TacticRow]

    def of(self, view: View) -> VirtualTable[Any]:
        table: VirtualTable[Any] = getattr(self, view.value)
        return table


def make_tables() -> Tables:
    return Tables(
        Outline(_outline(build.PHASE_OUTLINE, "phases", count={"style": muted}), id="build-phases"),
        Outline((), id="build-passes"),
        VirtualTable(id="build-layers", empty_text="No tuned layer matches the filter."),
        VirtualTable(_columns(build.MEMORY, "memory"), id="build-memory"),
        Outline(_outline(_STRATEGY_COLUMNS, "strategies"), id="build-strategies"),
        VirtualTable(_message_columns(), id="build-messages"),
        VirtualTable(id="build-tactics", empty_text="No tactics timed or skipped."),
    )


def fill_tables(tables: Tables, facts: BuildFacts) -> None:
    """Show the content of the log."""
    trace = facts.trace
    tables.phases.show_nodes(build.phase_nodes(trace))
    tables.passes.set_columns(pass_columns(trace))
    tables.passes.show_nodes(build.pass_nodes(trace))
    tables.strategies.show_nodes(build.strategy_nodes(facts))
    tables.layers.set_columns(layer_columns(facts))
    has_seconds = any(tuned.seconds is not None for tuned in facts.tuned)
    tables.layers.sort_by("seconds" if has_seconds else "tactics")
    tables.layers.set_rows(facts.tuned, keep=lambda tuned: tuned.number)
    tables.memory.set_rows(trace.memory, keep=lambda point: (point.line, point.event))
    tables.messages.sort_by("severity")
    tables.messages.set_rows(trace.messages, keep=lambda message: (message.line, message.severity))


def fill_tactics(table: VirtualTable[TacticRow], rows: list[TacticRow]) -> None:
    """Show other tactics, the fastest first; a sort chosen by the user stays."""
    order = table.sort_keys
    table.set_columns(tactic_columns(rows))
    if order:
        table.set_sort(key for key in order if key.column in {column.key for column in table.columns})
    else:
        table.sort_by("time_ms")
    table.set_rows(rows)


def is_empty(tables: Tables, facts: BuildFacts, view: View) -> bool:
    """Return whether the log has no data for a view, regardless of the filter."""
    table = tables.of(view)
    if isinstance(table, Outline):
        return not table.has_lines
    things = {View.LAYERS: facts.tuned, View.MEMORY: facts.trace.memory, View.MESSAGES: facts.trace.messages}
    return not things[view]


def collect_listings(
    tables: Tables, facts: BuildFacts, view: View, tuned: TunedLayer | None
) -> dict[str, ListingOffer]:
    """Return the exports of the view, with labels: filtered rows, sorted as on screen if there is one table."""

    def offer(key: str, rows: Callable[[], Iterable[Any] | None] = lambda: None) -> ListingOffer:
        return ListingOffer(f"build-{key}", lambda: build.build_listing(facts, key, rows()))

    if view is View.LAYERS:
        shown = tables.layers.shown_rows
        layers = {plural(len(shown), "tuned layer"): offer("layers", lambda: shown)}
        tactics = f"all tactics of {plural(len(shown), 'layer')}"
        every = {tactics: offer("tactics", lambda: build.list_tactics(facts, shown))}
        if tuned is None:
            return layers | every
        rows = offer("tactics", lambda: build.list_tactics(facts, [tuned]))
        return {f"tactics of {tuned.tuning.name}": rows} | every | layers
    table = tables.of(view)
    is_outline = isinstance(table, Outline)
    return {_TEXTS[view][1]: offer(view.value, lambda: None if is_outline else table.shown_rows)}


# Words


def summarize_view(facts: BuildFacts, view: View) -> str:
    """Return a line about the whole view."""
    number = list(View).index(view) + 1
    return f"{number}/{len(View)} {view.value[:1].upper()}{view.value[1:]} · {_summary(facts, view)}"


def _summary(facts: BuildFacts, view: View) -> str:
    trace = facts.trace
    if view is View.LAYERS:
        return tuned_summary(facts)
    if view is View.PHASES:
        seconds = build_seconds(trace.phases)
        counts = trace.count_messages()
        words = [
            f"build {build.format_seconds(seconds)} s" if seconds is not None else "build time unknown",
            "" if trace.is_verbose else "the log is not verbose",
            plural(counts["W"], "warning"),
            plural(counts["E"] + counts["F"], "error"),
            f"TensorRT {trace.tensorrt_version}" if trace.tensorrt_version else "",
        ]
        return " · ".join(word for word in words if word)
    if view is View.PASSES:
        return _pass_summary(trace)
    if view is View.MEMORY:
        peak = max((point.gpu_mib for point in trace.memory if not point.is_managed), default=None)
        known = f" · GPU up to {peak} MiB" if peak is not None else ""
        return plural(len(trace.memory), "point") + known
    if view is View.STRATEGIES:
        named = plural(len(trace.strategies), "strategy", "strategies")
        return named + (f" · {trace.winner} used" if trace.winner is not None else "")
    counts = trace.count_messages()
    errors = plural(counts["E"] + counts["F"], "error")
    return f"{plural(counts['W'], 'warning')} · {errors} · {len(trace.messages)} different"


def _pass_summary(trace: BuildTrace) -> str:
    of_winner = [graph_pass for graph_pass in trace.passes if graph_pass.strategy in (trace.winner, None)]
    counted = [graph_pass.layers for graph_pass in of_winner if graph_pass.layers is not None]
    if not counted:
        return "no layer counts in the log"
    steps = sum(len(graph_pass.fusions) for graph_pass in of_winner)
    return f"{plural(len(of_winner), 'pass', 'passes')} · {counted[0]} → {counted[-1]} layers · {plural(steps, 'step')}"


def tactics_summary(tuned: TunedLayer) -> str:
    return f"{LEGEND} · {plural(tuned.tactics, 'tactic')}"


def describe_view(engine: Engine, facts: BuildFacts, view: View, item: Any) -> list[TextLine]:  # noqa: ANN401 - as item_lines
    """Return the text beside the table of a view."""
    lines: list[Line] = []
    if view is View.LAYERS:
        lines += tuned_lines(engine, facts, item) if item is not None else []
    else:
        lines += item_lines(facts, item)
    if view is View.PHASES:
        lines += overview_lines(facts.trace, engine)
    elif view is View.MEMORY:
        lines += memory_lines(facts.trace)
    return text_lines(lines, None)


def describe_tactics(
    engine: Engine,
    facts: BuildFacts,
    tuned: TunedLayer,
    rows: Sequence[TacticRow],
    item: TacticRow | None,
    width: int,
) -> list[TextLine]:
    """Return the tuning of the layer, the tactic under the cursor, and a histogram.

    The histogram is of all tactics of the layer or, on a kernel of Myelin, of those for the same operator.
    """
    operator = item.operator if item is not None else ""
    alike = [row for row in rows if row.operator == operator and not row.is_cached]
    times = [row.time_ms for row in alike if row.time_ms is not None]
    chosen = next((row.time_ms for row in alike if row.in_engine), None if operator else tuned.chosen_ms)
    histogram = tactic_histogram(TacticTimes(times, chosen, min(times, default=None)), width, HISTOGRAM_ROWS)
    about = text_lines(list(tuned_lines(engine, facts, tuned)), None)
    below = text_lines(list(tactics_lines(facts, tuned, item)), None)
    # The histogram comes early: in a small terminal the rest is further down.
    return [*about[:_LINES_BEFORE], *chart_text(histogram), *about[_LINES_BEFORE:], *below]


def memory_text(facts: BuildFacts, item: Any, width: int, height: int) -> list[TextLine]:  # noqa: ANN401 - a point
    """The chart of memory, with the point under the cursor marked."""
    points = facts.trace.memory
    here = next((index for index, point in enumerate(points) if point is item), None)
    return chart_text(memory_chart(points, here, width, height))


def chart_text(lines: Sequence[ChartLine]) -> list[TextLine]:
    return [TextLine(Content.assemble(*line)) for line in lines]
