"""Metrics for the gates of `diff`: a metric of an engine against a number or the baseline (`analysis.gates`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from trex_tui.analysis.gates import (
    END_TO_END,
    LAYER_TIMES,
    PARTS,
    POWER,
    Gate,
    GateMetrics,
    GateResult,
    judge,
    measure,
    why_not_judged,
)
from trex_tui.analysis.stability import resolution_ms
from trex_tui.compare.blocks import key_of
from trex_tui.compare.comparison import Comparison, has_other_batch, has_other_device, total_by
from trex_tui.compare.noise import Judgement, Outcome, Statistic, judge_values
from trex_tui.compare.verdicts import judge_series, judge_throughput
from trex_tui.engine.kinds import LayerKind
from trex_tui.frames import plain_values
from trex_tui.text import did_you_mean, format_ms

LEAST_SHARE_PCT = 0.1
"""`any_layer_ms` ignores differences below this share of the baseline's sum of layer times."""
_OF_RUNS = frozenset({*END_TO_END, *POWER, "throughput_qps", "latency_sum_ms"})
"""Metrics that each run of an engine has."""
_PER_INFERENCE = frozenset(
    {*END_TO_END, "throughput_qps", "verdict", "energy_per_inference_j", "inferences_per_joule"}
)
_KINDS = tuple(kind.value for kind in LayerKind)
METRICS = GateMetrics(
    names=(
        *END_TO_END,
        *("throughput_qps", "verdict", "latency_sum_ms", "any_layer_ms", "layer_ms"),
        *POWER,
        *("layers", "matched_pct", "findings", "weights_bytes", "activation_peak_bytes"),
    ),
    examples=("latency_p99_ms > +5%", "layers.fp32 > 0"),
    parts={
        "layers": PARTS,
        "latency_sum_ms": PARTS,
        "any_layer_ms": _KINDS,
    },
    part_nouns={
        "layers": "kind or precision",
        "latency_sum_ms": "kind or precision",
        "any_layer_ms": "kind",
        "layer_ms": "layer",
        "findings": "severity or rule",
    },
    needs_part=("layer_ms",),
    words={"verdict": tuple(outcome.value for outcome in Outcome if outcome is not Outcome.UNKNOWN)},
    has_baseline=True,
)
"""Metrics of gates. `latency_sum_ms` is the sum of layer times; the others named latency are end to end."""

CountFindings = Callable[[int, str], float | None]
"""Position of an engine and a severity, rule or nothing -> number of lint findings; None if unknown."""


class _Measured(NamedTuple):
    """A metric of the baseline and of an engine.

    Attributes:
        judgement: Whether they differ by more than noise; None if the noise of the metric is unknown.
        problem: Why there are no values.
    """

    baseline: float | None = None
    value: float | None = None
    judgement: Judgement | None = None
    note: str = ""
    problem: str = ""
    is_at_least: bool = False


def judge_gates(
    comparison: Comparison,
    gates: Sequence[Gate],
    *,
    is_significant: bool = False,
    count_findings: CountFindings | None = None,
) -> list[GateResult]:
    """Judge every gate for every engine but the baseline.

    Args:
        is_significant: A gate on a difference of an end-to-end metric fails only if the difference exceeds noise, and is not
            judged if the noise is unknown.
        count_findings: For gates on lint findings.
    """
    return [
        _judge(comparison, gate, engine, is_significant, count_findings)
        for gate in gates
        for engine in comparison.others
    ]


def _judge(
    comparison: Comparison,
    gate: Gate,
    engine: int,
    is_significant: bool,
    count_findings: CountFindings | None,
) -> GateResult:
    label = comparison.sides[engine].label
    if problem := _find_problem(comparison, gate, engine):
        return judge(gate, None, subject=label, problem=problem)
    if gate.word:
        judgement = comparison.verdicts[engine].judgement
        is_met, remark = _apply_noise(judgement, is_significant=True)
        word = judgement.outcome.value
        if is_met is not None:
            is_met = (word == gate.word) == (gate.operator == "==")
            remark = f"{word}, {judgement.scope}"
        return GateResult(gate, label, is_met, note=remark, interval=judgement.interval, significance=word)
    found = _measure(comparison, gate, engine, count_findings)
    result = judge(
        gate,
        found.value,
        found.baseline,
        subject=label,
        problem=found.problem,
        is_at_least=found.is_at_least,
        note=found.note,
    )
    if found.judgement is not None:
        significance = found.judgement.outcome.value
        result = result._replace(interval=found.judgement.interval, significance=significance)
    if not result.is_met or not gate.is_relative:
        return result
    is_met, remark = True, ""
    if found.judgement is not None:
        is_met, remark = _apply_noise(found.judgement, is_significant=is_significant)
    elif is_significant and gate.metric in {*LAYER_TIMES, *POWER}:
        what = "power" if gate.metric in POWER else "layer times"
        remark = f"the noise of {what} is unknown: significance not tested"
    return result._replace(is_met=is_met, note="; ".join(filter(None, (result.note, remark))))


def _apply_noise(judgement: Judgement, *, is_significant: bool) -> tuple[bool | None, str]:
    """Return the result of a gate whose condition is met, and the remark on its noise."""
    if judgement.outcome is Outcome.UNKNOWN:
        return None if is_significant else True, f"significance not tested: {judgement.reason}"
    if judgement.outcome is Outcome.SAME:
        return not is_significant, f"not distinguishable from noise, {judgement.scope}"
    return True, f"more than noise, {judgement.scope}"


def _find_problem(comparison: Comparison, gate: Gate, engine: int) -> str:
    """Return why a gate must not be judged, even if there are numbers; empty if it can be."""
    side, first = comparison.sides[engine], comparison.sides[0]
    if gate.metric in _PER_INFERENCE and not comparison.is_unit_stated:
        parts = [f"batch {side.batch} against {first.batch}"] if has_other_batch(side, first) else []
        parts += ["another device"] if has_other_device(side, first) else []
        if parts:
            return f"{', '.join(parts)}: add --per-sample or --per-inference"
    for position in (0, engine):
        runs = comparison.runs[position]
        for run in runs if gate.metric in _OF_RUNS else runs[:1]:
            if problem := why_not_judged(run, gate.metric, gate.part):
                return f"{problem} ({comparison.sides[position].label})"
    return ""


# Metrics


def _measure(
    comparison: Comparison, gate: Gate, engine: int, count_findings: CountFindings | None
) -> _Measured:
    ends = (0, engine)
    if gate.metric in _OF_RUNS and not (gate.metric == "latency_sum_ms" and gate.part in _KINDS):
        return _measure_runs(comparison, gate, engine)
    if gate.metric == "any_layer_ms":
        return _measure_any_layer(comparison, gate, engine)
    if gate.metric == "layer_ms":
        return _measure_layer(comparison, gate, engine)
    values: list[float | None] = []
    if gate.metric == "latency_sum_ms":
        table = total_by(comparison, "kind").set_index("kind").reindex([gate.part]).fillna(0.0)
        are_timed = all(comparison.sides[end].latency_sum_ms is not None for end in ends)
        values = [float(table[key_of(end, "latency_ms")].iloc[0]) if are_timed else None for end in ends]
    elif gate.metric == "findings" and count_findings is not None:
        values = [count_findings(end, gate.part) for end in ends]
    elif gate.metric == "matched_pct":
        values = [comparison.sides[end].matched_pct for end in ends]
    if values:
        return _Measured(values[0], values[1])
    first, other = (measure(comparison.engines[end], gate.metric, gate.part) for end in ends)
    return _Measured(first.value, other.value, is_at_least=first.is_at_least or other.is_at_least)


def _measure_runs(comparison: Comparison, gate: Gate, engine: int) -> _Measured:
    """Measure a metric of each run: the mean over the runs, and its noise."""
    pair = 0, engine
    runs = comparison.runs[pair[0]], comparison.runs[pair[1]]
    per = comparison.sides[pair[0]].per, comparison.sides[pair[1]].per
    names = comparison.sides[pair[0]].label, comparison.sides[pair[1]].label
    values: list[list[float]] = []
    notes: dict[str, None] = {}
    for own, divisor in zip(runs, per, strict=True):
        found = [measure(run, gate.metric, gate.part) for run in own]
        notes |= dict.fromkeys(measured.note for measured in found if measured.note)
        factor = _find_factor(gate.metric, divisor)
        values.append([measured.value * factor for measured in found if measured.value is not None])
    baseline, value = (math.fsum(known) / len(known) if known else None for known in values)
    judgement = None
    if all(values) and max(map(len, values)) > 1:
        largest = max(map(max, values))
        tick = resolution_ms(largest) if gate.metric.endswith("_ms") else abs(largest) * 1e-5
        judgement = judge_values(values[0], values[1], tick)
    elif gate.metric == "throughput_qps":
        judgement = judge_throughput(runs, per, names)
    elif gate.metric in END_TO_END:
        column = f"{END_TO_END[gate.metric][0]}_ms"
        statistic = Statistic(gate.metric.removesuffix("_ms").rpartition("_")[2])
        judgement = judge_series(runs, per, names, column, statistic)
    return _Measured(baseline, value, judgement, "; ".join(notes))


def _find_factor(metric: str, per: int) -> float:
    """Return what a metric per inference is multiplied by, to be per sample."""
    if metric in ("throughput_qps", "inferences_per_joule"):
        return float(per)
    return 1.0 / per if metric.endswith("_ms") or metric == "energy_per_inference_j" else 1.0


def _measure_any_layer(comparison: Comparison, gate: Gate, engine: int) -> _Measured:
    """Return the layer closest to the condition, or farthest beyond it."""
    whole = comparison.sides[0].latency_sum_ms
    if whole is None or comparison.sides[engine].latency_sum_ms is None:
        return _Measured()
    least = whole * LEAST_SHARE_PCT / 100.0
    rows = comparison.blocks[comparison.blocks[key_of(engine, "layers")].map(bool)]
    rows = rows[rows["kind"].eq(gate.part)] if gate.part else rows
    times = (plain_values(rows[key_of(end, "latency_ms")]) for end in (0, engine))
    worst: tuple[tuple[bool, float], _Measured] | None = None
    for label, first, value in zip(rows["label"], *times, strict=True):
        is_small = not first or abs((value or 0.0) - first) < max(least, resolution_ms(first))
        if value is None or (gate.is_relative and is_small):
            continue
        compared = gate.compare(value, first)
        rank = gate.is_met(compared), compared if gate.operator not in ("<", "<=") else -compared
        if worst is None or rank > worst[0]:
            worst = rank, _Measured(first, value, note=f"layer {label}")
    return (
        worst[1] if worst else _Measured(0.0, 0.0, note=f"no layer differs by {format_ms(least)} ms or more")
    )


def _measure_layer(comparison: Comparison, gate: Gate, engine: int) -> _Measured:
    """Return the time of the blocks with a layer of this name in the engine or in the baseline."""
    ends = (0, engine)
    names = [comparison.engines[end].layers["name"].tolist() for end in ends]
    columns = (comparison.blocks[key_of(end, "layers")] for end in ends)
    own = [
        {label, *(names[side][layer] for side, layers in enumerate(sides) for layer in layers)}
        for label, *sides in zip(comparison.blocks["label"], *columns, strict=True)
    ]
    rows = comparison.blocks[[any(_is_called(name, gate.part) for name in names) for names in own]]
    if rows.empty:
        is_pattern = "*" in gate.part or "?" in gate.part
        hint = "" if is_pattern else did_you_mean(gate.part, sorted(set().union(*own)))
        return _Measured(problem=f"no layer named {gate.part!r}{'; ' if hint else ''}{hint}")
    times = [plain_values(rows[key_of(end, "latency_ms")]) for end in ends]
    baseline, value = (None if None in known else math.fsum(known) for known in times)
    return _Measured(baseline, value, note=f"{len(rows)} blocks of layers" if len(rows) > 1 else "")


def _is_called(name: str, pattern: str) -> bool:
    """Return whether a name equals the pattern, or matches its wildcards; brackets are literal: layer names have them."""
    return name == pattern or fnmatchcase(name, pattern.replace("[", "[[]"))
