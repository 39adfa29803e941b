"""The views of a build: what each lists, in which columns, with which words beside it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

from textual.content import Content

from trex_tui.analysis.build_layers import BuildFacts, TacticRow, TunedLayer
from trex_tui.analysis.build_trace import build_seconds
from trex_tui.artifacts.buildlog.model import BuildTrace
from trex_tui.charts.build import TacticTimes, memory_chart, tactic_histogram
from trex_tui.charts.grid import Line as ChartLine
from trex_tui.engine.engine import Engine
from trex_tui.reports.build_listings import (
    memory_listing,
    messages_listing,
    passes_listing,
    phases_listing,
    strategies_listing,
    tactics_listing,
    tuned_listing,
)
from trex_tui.reports.build_nodes import counts_words, pass_nodes, phase_nodes, strategy_nodes
from trex_tui.reports.build_screen import format_seconds, item_lines, memory_lines, overview_lines
from trex_tui.reports.build_tuning import tactics_lines, tuned_lines
from trex_tui.reports.layer_text import Line
from trex_tui.reports.listing import ListingOffer
from trex_tui.text import plural
from trex_tui.widgets.build_columns import (
    LEGEND,
    layer_columns,
    memory_columns,
    message_columns,
    pass_columns,
    phase_columns,
    strategy_columns,
    tactic_columns,
)
from trex_tui.widgets.build_outline import Outline
from trex_tui.widgets.linked_lines import text_lines
from trex_tui.widgets.table import VirtualTable
from trex_tui.widgets.wrapped_lines import TextLine


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
