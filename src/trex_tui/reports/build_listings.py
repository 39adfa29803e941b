"""What each table of a build shows, as rows for other programs: phases, passes, layers, tactics, memory, messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trex_tui.analysis.build_layers import BuildFacts, TunedLayer, tactic_rows
from trex_tui.artifacts.buildlog.model import BuildTrace, MemoryPoint, Message, OptimizerPass
from trex_tui.artifacts.buildlog.tactics import hex_id
from trex_tui.reports.build_nodes import strategy_nodes
from trex_tui.reports.listing import Listing


def _listing(trace: BuildTrace, key: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> Listing:
    return Listing(f"trex-tui/build-{key}/1", key, str(trace.path), tuple(columns), list(rows))


def phases_listing(trace: BuildTrace) -> Listing:
    """Every line that states a duration; `seconds` of one kind and strategy add up to what the screen shows."""
    columns = ("phase", "strategy", "layer", "seconds", "ended_s", "line")
    rows = (
        (one.kind.value, one.strategy, one.layer, one.seconds, one.ended_s, one.line) for one in trace.phases
    )
    return _listing(trace, "phases", columns, rows)


_STEP = ("step", "rule", "layer", "with", "from_type", "to_type", "line")


def passes_listing(trace: BuildTrace) -> Listing:
    """A row for each pass, which has no `step`, and below it one for each thing that it did."""
    columns = ("strategy", "in_engine", "pass", "layers", *_STEP)
    return _listing(trace, "passes", columns, _pass_rows(trace, trace.passes))


def _pass_rows(trace: BuildTrace, passes: Iterable[OptimizerPass]) -> Iterator[tuple[Any, ...]]:
    for one in passes:
        of = (one.strategy, one.strategy in (trace.winner, None), one.name, one.layers)
        yield (*of, None, None, None, None, None, None, one.line)
        for step in one.fusions:
            kind = step.kind.value
            yield (
                *of,
                kind,
                step.rule or None,
                step.layer,
                step.other,
                step.from_type,
                step.to_type,
                step.line,
            )


def tuned_listing(facts: BuildFacts, tuned: Sequence[TunedLayer]) -> Listing:
    """The layers that were tuned; `index` is of the engine's first layer that came of one."""
    columns = (
        "name",
        "index",
        "engine_layers",
        "strategy",
        "tactics",
        "skipped",
        "chosen_ms",
        "fastest_ms",
        "margin_pct",
        "near_tie",
        "cached",
        "seconds",
        "line",
    )
    rows = (
        (
            one.tuning.name,
            one.layers[0] if one.layers else None,
            len(one.layers),
            one.tuning.strategy,
            one.tactics,
            one.skipped,
            one.chosen_ms,
            one.fastest_ms,
            one.margin_pct,
            one.is_near_tie,
            one.tuning.is_cached,
            one.seconds,
            one.tuning.line,
        )
        for one in tuned
    )
    return _listing(facts.trace, "layers", columns, rows)


def tactics_listing(facts: BuildFacts, tuned: Sequence[TunedLayer]) -> Listing:
    """Every tactic of some layers, in the order of the log: timed, skipped, or out of the timing cache."""
    columns = (
        "layer",
        "index",
        "strategy",
        "formats",
        "runner",
        "tactic",
        "name",
        "operator",
        "time_ms",
        "chosen",
        "fastest",
        "in_engine",
        "cached",
        "skipped",
        "requested_bytes",
        "available_bytes",
        "line",
    )
    rows = (row for one in tuned for row in _rows_of_tactics(facts, one))
    return _listing(facts.trace, "tactics", columns, rows)


def _rows_of_tactics(facts: BuildFacts, tuned: TunedLayer) -> Iterator[tuple[Any, ...]]:
    tuning = tuned.tuning
    index = tuned.layers[0] if tuned.layers else None
    for row in tactic_rows(facts, tuned):
        skipped = row.skipped
        yield (
            tuning.name,
            index,
            tuning.strategy,
            tuning.combinations[row.formats - 1].text,
            row.runner,
            hex_id(row.id) if row.id is not None else None,
            row.name,
            row.operator or None,
            row.time_ms,
            row.is_chosen,
            row.is_fastest,
            row.in_engine,
            row.is_cached,
            skipped.reason.value if skipped else None,
            skipped.requested_bytes if skipped else None,
            skipped.available_bytes if skipped else None,
            row.line,
        )


def memory_listing(trace: BuildTrace, points: Sequence[MemoryPoint]) -> Listing:
    """Memory in use after each event."""
    columns = (
        "at_s",
        "event",
        "of",
        "gpu_mib",
        "gpu_change_mib",
        "cpu_mib",
        "cpu_change_mib",
        "line",
    )
    rows = (
        (
            one.at_s,
            one.event,
            "TensorRT" if one.is_managed else "device",
            one.gpu_mib,
            one.gpu_change_mib,
            one.cpu_mib,
            one.cpu_change_mib,
            one.line,
        )
        for one in points
    )
    return _listing(trace, "memory", columns, rows)


def strategies_listing(facts: BuildFacts) -> Listing:
    """Backend strategies, which have no `operator`, and what Myelin tuned under each."""
    columns = ("strategy", "operator", "verdict", "estimate", "layers", "tactics", "best_ms", "worst_ms")
    rows: list[tuple[Any, ...]] = []
    for node in strategy_nodes(facts):
        number = getattr(node.item, "number", None)
        for one in (node, *node.children):
            values = one.values.get
            operator = None if one is node and number is not None else one.label
            rows.append(
                (
                    number,
                    operator,
                    values("verdict"),
                    values("estimate"),
                    values("tuned"),
                    values("tactics"),
                    values("best_ms"),
                    values("worst_ms"),
                    values("seconds"),
                    values("line"),
                )
            )
    return _listing(facts.trace, "strategies", (*columns, "seconds", "line"), rows)


def messages_listing(trace: BuildTrace, messages: Sequence[Message]) -> Listing:
    """Warnings and errors, those that say the same together."""
    columns = ("severity", "count", "message", "said_by", "line", "last_line")
    rows = (
        (
            one.severity,
            one.count,
            " ".join(one.text.split()),
            "trtexec" if one.is_trtexec else "library",
            one.line,
            one.last_line,
        )
        for one in messages
    )
    return _listing(trace, "messages", columns, rows)
