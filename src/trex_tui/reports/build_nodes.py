"""What a build did, as outlines: phases, passes with their steps, strategies with what Myelin tuned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from trex_tui.analysis.build_layers import BuildFacts
from trex_tui.analysis.build_trace import PhaseShare, build_seconds, phase_shares
from trex_tui.artifacts.buildlog.model import (
    BuildTrace,
    Fusion,
    FusionKind,
    OptimizerPass,
    Phase,
    PhaseKind,
)
from trex_tui.artifacts.buildlog.tuning import LayerTuning, MyelinTable
from trex_tui.text import format_count, plural

_OUTSIDE = frozenset({PhaseKind.LOADING, PhaseKind.DESERIALIZATION, PhaseKind.INFERENCE})
"""Phases that are no part of the build."""


@dataclass(frozen=True, slots=True)
class Node:
    """A line of an outline.

    Attributes:
        key: Identifies it among all of the outline.
        label: What it is; not yet made safe for a terminal.
        item: What it stands for.
        values: Its figures, by the name of their column; a missing one is unknown or has no meaning there.
        children: What stands below it, when it is expanded.
        is_open: Whether it is expanded at first.
    """

    key: Hashable
    label: str
    item: Any
    values: dict[str, Any]
    children: tuple[Node, ...] = ()
    is_open: bool = False


def _of_strategy(trace: BuildTrace, strategy: int | None) -> str:
    return f", strategy {strategy}" if strategy is not None and len(trace.strategies) > 1 else ""


# Phases


def phase_nodes(trace: BuildTrace) -> list[Node]:
    """Phases as they appear, each summed over its lines, which stand below it."""
    whole = build_seconds(trace.phases)
    longest = max((one.seconds for one in trace.phases), default=0.0)
    shares = phase_shares(trace)
    longest = max([longest, *(one.seconds for one in shares)])
    return [_phase_node(trace, one, whole, longest) for one in shares]


def _phase_node(trace: BuildTrace, share: PhaseShare, whole: float | None, longest: float) -> Node:
    lines = [one for one in trace.phases if (one.kind, one.strategy) == (share.kind, share.strategy)]
    is_inside = share.kind not in _OUTSIDE

    def values(seconds: float, line: int, count: int | None) -> dict[str, Any]:
        pct = 100.0 * seconds / whole if whole and is_inside else None
        return {
            "seconds": seconds,
            "share_pct": pct,
            "count": count,
            "line": line,
            "bar": seconds / longest if longest else None,
        }

    children = [
        Node(("phase", one.line), one.layer or f"line {one.line}", one, values(one.seconds, one.line, None))
        for one in sorted(lines, key=lambda one: -one.seconds)
        if len(lines) > 1
    ]
    label = share.kind.value + _of_strategy(trace, share.strategy)
    first: PhaseShare | Phase = lines[0] if len(lines) == 1 else share
    return Node(
        ("phases", share.kind, share.strategy),
        label,
        first,
        values(share.seconds, lines[0].line, share.count if share.count > 1 else None),
        tuple(children),
    )


# Passes

_STEPS = {
    FusionKind.FUSED: "fused",
    FusionKind.REMOVED: "removed",
    FusionKind.CONVERTED: "converted",
    FusionKind.TRIED: "tried",
}


def pass_nodes(trace: BuildTrace) -> list[Node]:
    """The passes with their steps below; by strategy if there were several, the winner's expanded."""
    strategies = list(dict.fromkeys(one.strategy for one in trace.passes))
    if len([one for one in strategies if one is not None]) < 2:
        return _passes(trace.passes)
    nodes = []
    for strategy in strategies:
        passes = [one for one in trace.passes if one.strategy == strategy]
        wins = strategy == trace.winner
        name = "before any strategy" if strategy is None else f"strategy {strategy}"
        label = name + (", in the engine" if wins else "")
        values: dict[str, Any] = _step_counts([step for one in passes for step in one.fusions])
        values |= {"layers": passes[-1].layers, "line": passes[0].line}
        found = next((one for one in trace.strategies if one.number == strategy), None)
        nodes.append(
            Node(
                ("of", strategy),
                label,
                found,
                values,
                tuple(_passes(passes)),
                is_open=wins or strategy is None,
            )
        )
    return nodes


def _passes(passes: Sequence[OptimizerPass]) -> list[Node]:
    nodes = []
    before: int | None = None
    for one in passes:
        known = one.layers is not None and before is not None
        change = one.layers - before if known else None  # type: ignore[operator]
        values = {"layers": one.layers, "change": change or None, "line": one.line} | _step_counts(
            one.fusions
        )
        steps = tuple(_step_node(step, place, one) for place, step in enumerate(one.fusions))
        nodes.append(Node(("pass", one.line, one.name), one.name, one, values, steps))
        before = one.layers if one.layers is not None else before
    return nodes


def _step_counts(steps: Iterable[Fusion]) -> dict[str, int | None]:
    counts = Counter(step.kind for step in steps)
    return {word: counts[kind] or None for kind, word in _STEPS.items()}


def _step_node(step: Fusion, place: int, one: OptimizerPass) -> Node:
    values = {"rule": step.rule or None, "line": step.line}
    return Node(("step", one.line, one.name, place), step_words(step), step, values)


def step_words(step: Fusion) -> str:
    """What a pass did to a layer, in a few words and its names."""
    if step.kind is FusionKind.FUSED:
        return f"fused {step.layer} with {step.other}" if step.other else f"fused {step.layer}"
    if step.kind is FusionKind.CONVERTED:
        types = f" from {step.from_type} to {step.to_type}" if step.from_type and step.to_type else ""
        return f"converted {step.layer}{types}"
    if step.kind is FusionKind.TRIED:
        return f"{step.rule or 'tried'} on {step.layer}"
    return f"removed {step.layer}"


# Strategies and Myelin


def strategy_nodes(facts: BuildFacts) -> list[Node]:
    """The backend strategies, with the operators that Myelin tuned below; the operators alone where no strategy is named."""
    trace = facts.trace
    if not trace.strategies:
        return _operators(trace.tunings)
    nodes = []
    for one in trace.strategies:
        tuned = [row for row in facts.tuned if row.tuning.strategy == one.number]
        built = [
            phase.seconds
            for phase in trace.phases
            if phase.kind is PhaseKind.ENGINE_GENERATION and phase.strategy == one.number
        ]
        children = tuple(_operators([row.tuning for row in tuned]))
        values = {
            "verdict": one.verdict.value,
            "estimate": one.estimate,
            "tuned": len(tuned) or None,
            "tactics": sum(row.tactics for row in tuned) or None,
            "seconds": sum(built) if built else None,
            "line": one.line,
        }
        wins = one.number == trace.winner
        label = f"strategy {one.number}" + (", in the engine" if wins else "")
        nodes.append(Node(("strategy", one.number), label, one, values, children, is_open=wins))
    return nodes


def _operators(tunings: Iterable[LayerTuning]) -> list[Node]:
    nodes = []
    for tuning in tunings:
        for place, (trial_line, table) in enumerate(_tables(tuning)):
            times = [one.time_ms for one in table.tactics if one.time_ms is not None]
            nodes.append(
                Node(
                    ("operator", trial_line, table.line, place),
                    table.operator or ", ".join(table.onnx_nodes) or "an operator without a name",
                    (tuning, table),
                    {
                        "tactics": len(table.tactics),
                        "best_ms": min(times, default=None),
                        "worst_ms": max(times, default=None),
                        "line": table.line,
                    },
                )
            )
    return nodes


def _tables(tuning: LayerTuning) -> list[tuple[int, MyelinTable]]:
    return [(trial.line, table) for trial in tuning.trials() for table in trial.myelin]


# What stands where there is nothing


def nothing_words(trace: BuildTrace, what: str) -> str:
    """Why a view of a log is empty.

    Args:
        what: Title of the view in small letters.
    """
    if what == "memory":
        return "The log tells no memory in use."
    if what == "messages":
        return "The log holds neither warnings nor errors."
    if trace.only_loads:
        return "This is the log of a run that loads an engine: it tells nothing of its build."
    if what == "strategies" and trace.is_verbose:
        return (
            "The log names no backend strategy (TensorRT 8.6 and later do) and no operator that Myelin tuned "
            "(10 and later do)."
        )
    if what == "phases":
        return "The log states no durations."
    if trace.is_verbose:
        return f"The log is verbose, and yet tells of no {what}: it may be cut off before."
    return (
        f"The log is not verbose: it lacks the {what}. With `trtexec --verbose` it tells the passes of the optimizer, every "
        "tactic that was tried with its time, skipped ones, and what Myelin tuned."
    )


def counts_words(facts: BuildFacts) -> str:
    """How much was tuned, in a line."""
    trace = facts.trace
    if not trace.is_whole:
        return "how many were tuned is not known yet"
    joined = sum(choice.tuning is not None for choice in facts.choices)
    words = [
        f"{len(facts.tuned)} tuned",
        f"{format_count(sum(one.tactics for one in facts.tuned))} tactics",
        f"{sum(one.skipped for one in facts.tuned)} skipped",
        f"{plural(facts.near_ties, 'near tie')}",
        f"{joined} of {plural(len(facts.choices), 'layer')}",
    ]
    return " · ".join(words) if trace.tunings else "nothing was tuned, as far as the log tells"
