"""The columns of every view of a build."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, NamedTuple

from textual.content import Content

from trex_tui.analysis.build import BuildFacts, TacticRow, TunedLayer, build_seconds
from trex_tui.buildlog.build_trace import BuildTrace, Fusion, FusionKind, MemoryPoint, Message
from trex_tui.buildlog.layer_tuning import hex_id
from trex_tui.engine.engine import Engine
from trex_tui.report.charts.build_charts import TacticTimes, memory_chart, tactic_histogram
from trex_tui.report.charts.grid import Line as ChartLine
from trex_tui.report.listing import ListingOffer
from trex_tui.report.views.build import (
    memory_listing,
    messages_listing,
    passes_listing,
    phases_listing,
    strategies_listing,
    tactics_listing,
    tuned_listing,
)
from trex_tui.report.views.build_details import (
    DIGITS,
    Node,
    counts_words,
    format_seconds,
    item_lines,
    memory_lines,
    overview_lines,
    pass_nodes,
    phase_nodes,
    strategy_nodes,
    tactics_lines,
    tuned_lines,
)
from trex_tui.report.views.layer_details import Line
from trex_tui.text import format_count, format_ms, format_pct, plural
from trex_tui.widgets.build_outline import Outline, outline_name, value_of
from trex_tui.widgets.layer_columns import BAR_WIDTH
from trex_tui.widgets.linked_text import text_lines
from trex_tui.widgets.table import VirtualTable
from trex_tui.widgets.table_model import Column
from trex_tui.widgets.text_view import TextLine

IN_ENGINE, CHOSEN, FASTEST, SKIPPED, CACHED_MARK, TIE = "◆", "C", "F", "x", "=", "≈"
LEGEND = f"{IN_ENGINE} in the engine · {CHOSEN} chosen · {FASTEST} fastest · {SKIPPED} skipped"
_TIME_WIDTH = 9


def _tactic_ms(value: float) -> str:
    return format_ms(value, DIGITS)


def _muted(_: object) -> str:
    return "$muted"


def _line_column(value: Callable[[Any], int | None], priority: int) -> Column[Any]:
    return Column(
        "line", "Line", value, width=7, align="right", priority=priority, descending=False, style=_muted,
        description="line: where in the log it stands, from 1",
    )  # fmt: skip


# Outlines


def phase_columns() -> list[Column[Node]]:
    """Phases: time, share, bar."""
    return [
        Column("name", "Phase", outline_name, flex=True, width=28),
        Column("count", "Lines", value_of("count"), text=_blank("count", str), width=6, align="right", priority=3,
               style=_muted, description="How many lines of the log state it."),
        Column("share_pct", "% of build", value_of("share_pct"), text=_blank("share_pct", format_pct), width=10,
               align="right", priority=2, description="Of the build as a whole; phases contain each other."),
        Column("seconds", "Seconds", value_of("seconds"), format=format_seconds, width=_TIME_WIDTH, align="right",
               bar=value_of("bar"), bar_width=2 * BAR_WIDTH, description="As the log states it."),
        _line_column(value_of("line"), 1),
    ]  # fmt: skip


def _blank(key: str, form: Callable[[Any], str]) -> Callable[[Node], str]:
    """Nothing where a line has no such figure: it would have no meaning there."""

    def text(node: Node) -> str:
        value = node.values.get(key)
        return "" if value is None else form(value)

    return text


def pass_columns() -> list[Column[Node]]:
    """Passes: layers after each, what was done."""

    def number(key: str, title: str, width: int, priority: int, description: str) -> Column[Node]:
        form = (lambda value: f"{value:+d}") if key == "change" else str
        return Column(key, title, value_of(key), text=_blank(key, form), width=width, align="right",
                      priority=priority, description=description)  # fmt: skip

    return [
        Column("name", "Pass", outline_name, flex=True, width=38, style=_step_style),
        Column("rule", "Rule", value_of("rule"), text=_blank("rule", str), width=22, priority=3, style=_muted,
               description="Which fusion it was."),
        number("layers", "Layers", 6, 0, "How many layers there are afterwards."),
        number("change", "Δ", 6, 1, "How many more than before."),
        number("fused", "Fused", 6, 0, "Layers fused with others."),
        number("removed", "Removed", 7, 1, "Layers removed."),
        number("converted", "Converted", 9, 2, "Layers made one of another type."),
        number("tried", "Tried", 6, 4, "Steps without a word about what came of them."),
        _line_column(value_of("line"), 2),
    ]  # fmt: skip


_STEP_STYLES = {
    FusionKind.FUSED: "$success",
    FusionKind.REMOVED: "$warning",
    FusionKind.CONVERTED: "$secondary",
    FusionKind.TRIED: "$muted",
}


def _step_style(node: Node) -> str:
    item = node.item
    return _STEP_STYLES[item.kind] if isinstance(item, Fusion) else ""


def strategy_columns() -> list[Column[Node]]:
    """Strategies, and operators that Myelin tuned."""
    return [
        Column("name", "Strategy, operator", outline_name, flex=True, width=24),
        Column("verdict", "Verdict", value_of("verdict"), text=_blank("verdict", str), width=8),
        Column("estimate", "Estimate", value_of("estimate"), text=_blank("estimate", "{:g}".format), width=9,
               align="right", description="Estimated inference time; the log states no unit."),
        Column("tuned", "Layers", value_of("tuned"), text=_blank("tuned", str), width=6, align="right", priority=3,
               description="Layers tuned."),
        Column("tactics", "Tactics", value_of("tactics"), text=_blank("tactics", format_count), width=7,
               align="right", priority=1, description="Timed; of an operator, kernels."),
        Column("best_ms", "Fastest", value_of("best_ms"), text=_blank("best_ms", _tactic_ms), width=9, align="right",
               priority=2, description="The fastest kernel, in milliseconds: the one that Myelin takes."),
        Column("worst_ms", "Slowest", value_of("worst_ms"), text=_blank("worst_ms", _tactic_ms), width=9,
               align="right", priority=4, description="The slowest kernel, in milliseconds."),
        Column("seconds", "Seconds", value_of("seconds"), text=_blank("seconds", format_seconds), width=8,
               align="right", priority=2, description="What generating this engine took."),
        _line_column(value_of("line"), 5),
    ]  # fmt: skip


# Layers


def layer_columns(facts: BuildFacts) -> list[Column[TunedLayer]]:
    """The layers that were tuned."""
    longest = max((one.seconds or 0.0 for one in facts.tuned), default=0.0)
    several = len(facts.trace.strategies) > 1

    def length(one: TunedLayer) -> float | None:
        return one.seconds / longest if longest and one.seconds is not None else None

    columns: list[Column[TunedLayer]] = [
        Column("name", "Layer", lambda one: one.tuning.name, flex=True, width=22, style=_of_engine,
               description="name: of the layer while it was tuned"),
        Column("index", "#", lambda one: one.layers[0] if one.layers else None, width=5, align="right", priority=6,
               descending=False, style=_muted, description="index: of the layer of the engine that came of it"),
        Column("tactics", "Tactics", lambda one: one.tactics, format=format_count, width=7, align="right",
               priority=2, description="tactics: timed, over all formats"),
        Column("skipped", "Skip", lambda one: one.skipped, text=lambda one: str(one.skipped or ""), width=4,
               align="right", priority=5, description="skipped: tactics that were not timed"),
        Column("chosen_ms", "Chosen", lambda one: one.chosen_ms, format=_tactic_ms, width=_TIME_WIDTH,
               align="right", priority=1, description="chosen_ms: the builder's time of what the engine has"),
        Column("fastest_ms", "Fastest", lambda one: one.fastest_ms, format=_tactic_ms, width=_TIME_WIDTH,
               align="right", priority=4, description="fastest_ms: of all runners, in the same formats"),
        Column("margin_pct", "Margin %", lambda one: one.margin_pct, format="{:+.2f}".format, width=9,
               align="right", priority=3, descending=False, style=_tie_style,
               description="margin_pct: how much longer the second best takes than the choice"),
        Column("tie", "", lambda one: one.is_near_tie, text=lambda one: TIE if one.is_near_tie else "", width=1,
               priority=3, style=_tie_style, description=f"{TIE}: a near tie, the choice was chance"),
        Column("seconds", "Seconds", lambda one: one.seconds, format=format_seconds, width=9, align="right",
               bar=length, bar_width=BAR_WIDTH, description="seconds: what tuning it took"),
    ]  # fmt: skip
    if several:
        strategy: Column[TunedLayer] = Column(
            "strategy", "Strat", lambda one: one.tuning.strategy, width=5, align="right", priority=1,
            descending=False, style=_muted, description="strategy: number of the backend strategy",
        )  # fmt: skip
        columns.insert(2, strategy)
    return columns


def _of_engine(one: TunedLayer) -> str:
    return "" if one.layers else "$muted"


def _tie_style(one: TunedLayer) -> str:
    return "$warning" if one.is_near_tie else ""


# Tactics


def tactic_mark(row: TacticRow) -> str:
    """What became of it, in letters: in the engine, chosen, fastest, skipped, out of the cache."""
    if row.skipped is not None:
        return SKIPPED
    chosen = IN_ENGINE if row.in_engine else CHOSEN if row.is_chosen else " "
    return chosen + (CACHED_MARK if row.is_cached else FASTEST if row.is_fastest else "")


def tactic_columns(rows: list[TacticRow]) -> list[Column[TacticRow]]:
    """All tactics of a layer."""
    longest = max((row.time_ms or 0.0 for row in rows), default=0.0)
    has_operators = any(row.operator for row in rows)

    def length(row: TacticRow) -> float | None:
        return row.time_ms / longest if longest and row.time_ms is not None else None

    columns: list[Column[TacticRow]] = [
        Column("mark", "", tactic_mark, width=2, style=_tactic_style, description=LEGEND),
        Column("formats", "Fmt", lambda row: row.formats, width=4, align="right", priority=2, descending=False,
               style=_muted, description="formats: number of the format combination, from 1"),
        Column("runner", "Runner", lambda row: row.runner, width=18, priority=3, style=_tactic_style,
               description="runner: the family of kernels"),
        Column("name", "Tactic", lambda row: row.label, flex=True, width=24, style=_tactic_style,
               description="name: of the kernel, or its number where the log gives no name"),
        Column("id", "Number", lambda row: row.id, text=lambda row: hex_id(row.id) if row.id is not None else "",
               width=18, priority=4, descending=False, style=_muted, description="id: number of the tactic"),
        Column("time_ms", "ms", lambda row: row.time_ms, format=_tactic_ms, width=_TIME_WIDTH, align="right",
               descending=False, bar=length, bar_width=BAR_WIDTH, style=_tactic_style,
               description="time_ms: a tactic alone, averaged over a handful of runs by the builder"),
        _line_column(lambda row: row.line, 5),
    ]  # fmt: skip
    if has_operators:
        columns.insert(
            4,
            Column("operator", "Operator", lambda row: row.operator, width=16, priority=3, style=_muted,
                   description="operator: what a kernel of Myelin's was tried for"),
        )  # fmt: skip
    return columns


def _tactic_style(row: TacticRow) -> str:
    if row.skipped is not None:
        return "$warning"
    if row.in_engine:
        return "bold $accent"
    return "$accent" if row.is_chosen else "$success" if row.is_fastest else ""


# Memory and messages


def memory_columns() -> list[Column[MemoryPoint]]:
    """Memory in use after each event."""

    def size(key: str, title: str, priority: int) -> Column[MemoryPoint]:
        is_change = key.endswith("change_mib")
        form = "{:+d}".format if is_change else str
        return Column(key, title, lambda point: getattr(point, key), format=form, width=8, align="right",
                      priority=priority, description=f"{key}: MiB" + (", change" if is_change else ""))  # fmt: skip

    return [
        Column("at_s", "Second", lambda point: point.at_s, format="{:.0f}".format, width=7, align="right",
               priority=3, descending=False, style=_muted, description="at_s: since the log began"),
        Column("event", "Event", lambda point: point.event, flex=True, width=24),
        Column("of", "Of", lambda point: "TensorRT" if point.is_managed else "device", width=8, priority=2,
               style=_muted, description="Of the process and the device, or of TensorRT's own allocators."),
        size("gpu_mib", "GPU MiB", 0),
        size("gpu_change_mib", "ΔGPU", 1),
        size("cpu_mib", "CPU MiB", 0),
        size("cpu_change_mib", "ΔCPU", 1),
        _line_column(lambda point: point.line, 4),
    ]  # fmt: skip


_RANKS = {"F": 0, "E": 1, "W": 2}
_SEVERITY_STYLES = {"F": "bold $error", "E": "bold $error", "W": "$warning"}


def message_columns() -> list[Column[Message]]:
    """Warnings and errors, those that say the same together."""

    def style(one: Message) -> str:
        return _SEVERITY_STYLES.get(one.severity, "")

    return [
        Column("severity", "", lambda one: _RANKS.get(one.severity, 3), text=lambda one: one.severity, width=1,
               style=style, descending=False, description="severity: F fatal, E error, W warning"),
        Column("count", "Times", lambda one: one.count, format=format_count, width=6, align="right",
               description="count: how many say the same but for names and numbers"),
        Column("text", "Message", lambda one: " ".join(one.text.split()), flex=True, width=40),
        _line_column(lambda one: one.line, 1),
    ]  # fmt: skip


class View(Enum):
    """What the screen shows of a build. The values are titles."""

    PHASES = "phases"
    PASSES = "passes"
    LAYERS = "layers"
    MEMORY = "memory"
    STRATEGIES = "strategies"
    MESSAGES = "messages"

    @property
    def help(self) -> str:
        """What it answers."""
        return _HELP[self]


_HELP = {
    View.PHASES: "where the time of the build went, and with which options it was made",
    View.PASSES: "how many layers each pass left, and what it fused or removed",
    View.LAYERS: "the layers by the time that tuning them took; Enter shows every tactic",
    View.MEMORY: "memory in use over the build, and what the engine needs",
    View.STRATEGIES: "candidate engines, and what Myelin tuned inside",
    View.MESSAGES: "warnings and errors, those that say the same together",
}
OUTLINES = frozenset({View.PHASES, View.PASSES, View.STRATEGIES})
HISTOGRAM_ROWS = 7
_LINES_BEFORE = 2
"""The name of a layer, and how much was tried."""


class Tables(NamedTuple):
    """The table of each view, and that of the tactics of a layer."""

    phases: Outline
    passes: Outline
    layers: VirtualTable[TunedLayer]
    memory: VirtualTable[Any]
    strategies: Outline
    messages: VirtualTable[Any]
    tactics: VirtualTable[TacticRow]

    def of(self, view: View) -> VirtualTable[Any]:
        """The table of a view."""
        found: VirtualTable[Any] = getattr(self, view.value)
        return found


def make_tables() -> Tables:
    """Tables that have no rows yet."""
    return Tables(
        Outline(phase_columns(), id="build-phases"),
        Outline(pass_columns(), id="build-passes"),
        VirtualTable(id="build-layers", empty_text="No tuned layer is one that matches the filter."),
        VirtualTable(memory_columns(), id="build-memory"),
        Outline(strategy_columns(), id="build-strategies"),
        VirtualTable(message_columns(), id="build-messages"),
        VirtualTable(id="build-tactics", empty_text="Nothing was timed, and nothing skipped."),
    )


def fill_tables(tables: Tables, facts: BuildFacts) -> None:
    """Show what the log tells."""
    trace = facts.trace
    tables.phases.show_nodes(phase_nodes(trace))
    tables.passes.show_nodes(pass_nodes(trace))
    tables.strategies.show_nodes(strategy_nodes(facts))
    tables.layers.set_columns(layer_columns(facts))
    has_seconds = any(one.seconds is not None for one in facts.tuned)
    tables.layers.sort_by("seconds" if has_seconds else "tactics")
    tables.layers.set_rows(facts.tuned, keep=lambda one: one.number)
    tables.memory.set_rows(trace.memory, keep=lambda one: (one.line, one.event))
    tables.messages.sort_by("severity")
    tables.messages.set_rows(trace.messages, keep=lambda one: (one.line, one.severity))


def fill_tactics(table: VirtualTable[TacticRow], rows: list[TacticRow]) -> None:
    """Show other tactics, the fastest first; an order that a person chose stays."""
    order = table.sort_keys
    table.set_columns(tactic_columns(rows))
    if order:
        table.set_sort(key for key in order if key.column in {column.key for column in table.columns})
    else:
        table.sort_by("time_ms")
    table.set_rows(rows)


def is_empty(tables: Tables, facts: BuildFacts, view: View) -> bool:
    """Whether the log has nothing for a view. A filter that leaves nothing does not count."""
    table = tables.of(view)
    if isinstance(table, Outline):
        return not table.has_lines
    things = {View.LAYERS: facts.tuned, View.MEMORY: facts.trace.memory, View.MESSAGES: facts.trace.messages}
    return not things[view]


def listings_of(
    tables: Tables, facts: BuildFacts, view: View, tuned: TunedLayer | None
) -> dict[str, ListingOffer]:
    """What can be exported of what is on screen, in words: rows as they are filtered and, where one table is, sorted."""
    trace = facts.trace
    shown = tables.layers.shown_rows
    if view is View.LAYERS:
        one = ListingOffer("tactics", lambda: tactics_listing(facts, [tuned] if tuned else []))
        layers = ListingOffer("layers", lambda: tuned_listing(facts, shown))
        every = ListingOffer("tactics", lambda: tactics_listing(facts, shown))
        of_layers, of_every = (
            plural(len(shown), "tuned layer"),
            f"all tactics of {plural(len(shown), 'layer')}",
        )
        if tuned is None:
            return {of_layers: layers, of_every: every}
        return {f"tactics of {tuned.tuning.name}": one, of_every: every, of_layers: layers}
    offers = {
        View.PHASES: ("phases", ListingOffer("phases", lambda: phases_listing(trace))),
        View.PASSES: ("passes with their steps", ListingOffer("passes", lambda: passes_listing(trace))),
        View.MEMORY: (
            "memory over the build",
            ListingOffer("memory", lambda: memory_listing(trace, tables.memory.shown_rows)),
        ),
        View.STRATEGIES: (
            "strategies, operators of Myelin",
            ListingOffer("strategies", lambda: strategies_listing(facts)),
        ),
        View.MESSAGES: (
            "warnings and errors",
            ListingOffer("messages", lambda: messages_listing(trace, tables.messages.shown_rows)),
        ),
    }
    words, offer = offers[view]
    return {words: offer}


# Words


def summary_of(facts: BuildFacts, view: View) -> str:
    """A line about a view as a whole."""
    place = list(View).index(view) + 1
    return f"{place}/{len(View)} {view.value[:1].upper()}{view.value[1:]} · {_summary(facts, view)}"


def _summary(facts: BuildFacts, view: View) -> str:
    trace = facts.trace
    if view is View.LAYERS:
        return counts_words(facts)
    if view is View.PHASES:
        seconds = build_seconds(trace.phases)
        counts = trace.count_messages()
        words = [
            f"build {format_seconds(seconds)} s" if seconds is not None else "build time not told",
            "" if trace.is_verbose else "the log is not verbose",
            plural(counts["W"], "warning"),
            plural(counts["E"] + counts["F"], "error"),
            f"TensorRT {trace.tensorrt_version}" if trace.tensorrt_version else "",
        ]
        return " · ".join(word for word in words if word)
    if view is View.PASSES:
        return _pass_summary(trace)
    if view is View.MEMORY:
        peak = max((one.gpu_mib for one in trace.memory if not one.is_managed), default=None)
        known = f" · GPU up to {peak} MiB" if peak is not None else ""
        return plural(len(trace.memory), "point") + known
    if view is View.STRATEGIES:
        named = plural(len(trace.strategies), "strategy", "strategies")
        return named + (f" · {trace.winner} is in the engine" if trace.winner is not None else "")
    counts = trace.count_messages()
    errors = plural(counts["E"] + counts["F"], "error")
    return f"{plural(counts['W'], 'warning')} · {errors} · {len(trace.messages)} different"


def _pass_summary(trace: BuildTrace) -> str:
    of_winner = [one for one in trace.passes if one.strategy in (trace.winner, None)]
    counted = [one.layers for one in of_winner if one.layers is not None]
    if not counted:
        return "the log counts no layers"
    steps = sum(len(one.fusions) for one in of_winner)
    return f"{plural(len(of_winner), 'pass', 'passes')} · {counted[0]} → {counted[-1]} layers · {plural(steps, 'step')}"


def tactics_summary(tuned: TunedLayer) -> str:
    """A line about the tactics of a layer; what the letters mean comes first."""
    return f"{LEGEND} · {plural(tuned.tactics, 'tactic')}"


def words_of(engine: Engine, facts: BuildFacts, view: View, item: Any) -> list[TextLine]:  # noqa: ANN401 - as item_lines
    """What stands beside the table of a view."""
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


def tactic_words(
    engine: Engine,
    facts: BuildFacts,
    tuned: TunedLayer,
    rows: Sequence[TacticRow],
    item: TacticRow | None,
    width: int,
) -> list[TextLine]:
    """How the layer was tuned, the tactic under the cursor, and a histogram: of all tactics of the layer or, on a kernel of
    Myelin's, of those for the same operator."""
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
    here = next((place for place, one in enumerate(points) if one is item), None)
    return chart_text(memory_chart(points, here, width, height))


def chart_text(lines: Sequence[ChartLine]) -> list[TextLine]:
    """Lines of a chart as lines of text."""
    return [TextLine(Content.assemble(*line)) for line in lines]
