"""Metrics for the gates of `diff`: a metric of an engine against a number or the baseline (`analysis.gates`).

A gate whose numbers are missing, or come from a damaged file, is not judged: neither passed nor failed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase

from trex_tui.old.analysis.compare.comparison import has_other_batch, has_other_device
from trex_tui.old.analysis.compare.model import Block, Comparison, Outcome
from trex_tui.old.analysis.compare.noise import Judgement, Statistic, judge_values
from trex_tui.old.analysis.compare.verdicts import (
    LATENCY,
    SERIES_COLUMNS,
    describe_scope,
    judge_series,
    judge_throughput,
)
from trex_tui.old.analysis.energy import PowerStatistics, Scope, power_statistics
from trex_tui.old.analysis.gates import Gate, GateMetrics, GateResult
from trex_tui.old.analysis.memory import activation_memory
from trex_tui.old.analysis.stability import resolution_ms
from trex_tui.old.analysis.structure import UNKNOWN
from trex_tui.old.analysis.timing import end_to_end, timing_statistics
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.artifacts.metadata import LatencySummary
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.errors import Severity
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import did_you_mean, format_bytes, format_energy, format_ms, format_watts, plural

LOW, HIGH = "low", "high"
"""Parts of end-to-end metrics: the edges of the interval of the difference."""
VERDICT = "verdict"
LEAST_SHARE_PCT = 0.1
"""`any_layer_ms` and `any_module_ms` ignore differences below this share of the baseline's sum of layer times."""
_END_TO_END = {
    f"{series}_{statistic.value}_ms": (series, statistic)
    for series in (LATENCY, *SERIES_COLUMNS)
    for statistic in Statistic
}
_KINDS = tuple(kind.value for kind in LayerKind)
_KINDS_AND_PRECISIONS = (*_KINDS, *(dtype.value.casefold() for dtype in DataType), UNKNOWN)
_WORDS = {Outcome.FASTER: "faster", Outcome.SLOWER: "slower", Outcome.SAME: "same"}
_LAYER_TIMES = frozenset({"latency_sum_ms", "any_layer_ms", "layer_ms", "any_module_ms", "module_ms"})
_POWER: dict[str, Callable[[PowerStatistics], float | None]] = {
    "power_mean_w": lambda power: power.power_w.mean if power.power_w else None,
    "power_peak_w": lambda power: power.power_w.max if power.power_w else None,
    "energy_per_inference_j": lambda power: power.energy_per_inference_j,
    "inferences_per_joule": lambda power: power.inferences_per_joule,
}
_PER_INFERENCE = {"energy_per_inference_j": -1, "inferences_per_joule": 1}
"""Metric -> power of the batch for values per sample."""
_OF_RUNS = frozenset({*_END_TO_END, *_POWER, "throughput_qps", "latency_sum_ms"})
"""Metrics that each run of an engine has."""
_TIMING_FILES = frozenset({ArtifactKind.TIMING, ArtifactKind.PROFILE_METADATA, ArtifactKind.PROFILE_LOG})
METRICS = GateMetrics(
    names=(
        *_END_TO_END,
        *(
            "throughput_qps",
            VERDICT,
            "latency_sum_ms",
            "any_layer_ms",
            "layer_ms",
            "any_module_ms",
            "module_ms",
        ),
        *_POWER,
        *("layers", "matched_pct", "findings", "weights_bytes", "activation_peak_bytes"),
    ),
    examples=("latency_p99_ms > +5%", "layers.fp32 > 0"),
    parts={
        **dict.fromkeys((*_END_TO_END, "throughput_qps"), (LOW, HIGH)),
        "layers": _KINDS_AND_PRECISIONS,
        "latency_sum_ms": _KINDS_AND_PRECISIONS,
        "any_layer_ms": _KINDS,
    },
    part_nouns={
        **dict.fromkeys((*_END_TO_END, "throughput_qps"), "edge of the interval"),
        "layers": "kind or precision",
        "latency_sum_ms": "kind or precision",
        "any_layer_ms": "kind",
        "layer_ms": "layer",
        "module_ms": "module",
        "findings": "severity or rule",
    },
    needs_part=("layer_ms", "module_ms"),
    words={"verdict": tuple(_WORDS.values())},
    has_baseline=True,
)
"""Metrics of gates. `latency_sum_ms` is the sum of layer times; the others named latency are end to end."""

CountFindings = Callable[[int, str], float | None]
"""Position of an engine and a severity, rule or nothing -> number of lint findings; None if unknown."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """Input of a gate for one engine.

    Attributes:
        value, baseline: Values of the metric.
        judgement: Whether they differ by more than noise; None if the noise of the metric is unknown.
        remark: Scope of the numbers, or what they omit.
        problem: Why there are none; then the gate is not judged.
    """

    value: float | None = None
    baseline: float | None = None
    judgement: Judgement | None = None
    remark: str = ""
    problem: str = ""


def judge(
    comparison: Comparison,
    gates: Sequence[Gate],
    *,
    significant: bool = False,
    count_findings: CountFindings | None = None,
) -> list[GateResult]:
    """Judge every gate for every engine but the baseline.

    Args:
        significant: A gate on a difference of an end-to-end metric fails only if the difference exceeds noise, and is not
            judged if the noise is unknown.
        count_findings: For gates on lint findings.
    """
    return [
        _judge(comparison, gate, engine, significant, count_findings)
        for gate in gates
        for engine in comparison.others
    ]


def _judge(
    comparison: Comparison, gate: Gate, engine: int, significant: bool, count_findings: CountFindings | None
) -> GateResult:
    label = comparison.sides[engine].label
    problem = _find_problem(comparison, gate, engine)
    measured = _Measured(problem=problem) if problem else _measure(comparison, gate, engine, count_findings)
    if measured.problem:
        return _not_judged(gate, label, engine, measured.problem, measured)
    if gate.word:
        return _judge_word(comparison, gate, engine)
    value, baseline, judgement = measured.value, measured.baseline, measured.judgement
    if value is None or (gate.is_relative and baseline is None):
        unknown = comparison.sides[comparison.baseline].label if value is not None else label
        return _not_judged(gate, label, engine, f"{gate.name} of {unknown} is unknown", measured)
    if gate.part in (LOW, HIGH):
        if not gate.is_relative:
            return _not_judged(gate, label, engine, "interval edges need a sign: + or -", measured)
        if judgement is None or judgement.interval is None or baseline is None:
            reason = judgement.reason if judgement and judgement.reason else "measure longer, or several runs"
            return _not_judged(gate, label, engine, f"no interval: {reason}", measured)
        value = baseline + judgement.interval[gate.part == HIGH]
    compared = gate.compare(value, baseline)
    fell: bool | None = gate.falls(compared)
    note = measured.remark
    if fell and gate.is_relative and judgement is not None and gate.part not in (LOW, HIGH):
        fell, remark = _apply_noise(judgement, significant)
        note = "; ".join(filter(None, (note, remark)))
    elif fell and gate.is_relative and significant and gate.metric in {*_LAYER_TIMES, *_POWER}:
        what = "power" if gate.metric in _POWER else "layer times"
        note = "; ".join(filter(None, (note, f"the noise of {what} is unknown: significance not tested")))
    why = _describe_metric(comparison, gate, engine, value, baseline, compared)
    return GateResult(
        gate,
        label,
        fell,
        value,
        baseline,
        compared if math.isfinite(compared) else None,
        f"{why}; {note}" if note else why,
        engine,
        interval=judgement.interval if judgement else None,
        significance=judgement.outcome.value if judgement else "",
        note=note,
    )


def _apply_noise(judgement: Judgement, significant: bool) -> tuple[bool | None, str]:
    """Return the result of a gate whose condition is met, and the remark on its noise."""
    if judgement.outcome is Outcome.UNKNOWN:
        return None if significant else True, f"significance not tested: {judgement.reason}"
    scope = describe_scope(judgement)
    if judgement.outcome is Outcome.SAME:
        return not significant, f"not distinguishable from noise, {scope}"
    return True, f"more than noise, {scope}"


def _not_judged(gate: Gate, label: str, engine: int, problem: str, measured: _Measured) -> GateResult:
    return GateResult(
        gate,
        label,
        None,
        measured.value,
        measured.baseline,
        None,
        f"{label}: {gate.name}: {problem}",
        engine,
        note=problem,
    )


def _judge_word(comparison: Comparison, gate: Gate, engine: int) -> GateResult:
    verdict, label = comparison.verdicts[engine], comparison.sides[engine].label
    assert verdict is not None  # the baseline has no gate
    word = _WORDS.get(verdict.outcome)
    if word is None:
        return _not_judged(gate, label, engine, verdict.why, _Measured())
    fell = (word == gate.word) == (gate.operator == "==")
    return GateResult(
        gate,
        label,
        fell,
        None,
        None,
        None,
        f"{label}: verdict is {word}: {verdict.why}",
        engine,
        verdict.interval_ms,
        verdict.outcome.value,
        f"{word}, {verdict.scope}",
    )


# Problems that keep a gate from being judged


def _find_problem(comparison: Comparison, gate: Gate, engine: int) -> str:
    """Return why a gate must not be judged, even if there are numbers; empty if it can be."""
    side, first = comparison.sides[engine], comparison.sides[comparison.baseline]
    is_time = gate.metric in {*_END_TO_END, *_PER_INFERENCE, "throughput_qps", "verdict"}
    if is_time and not comparison.is_unit_stated:
        parts = [f"batch {side.batch} against {first.batch}"] if has_other_batch(side, first) else []
        parts += ["another device"] if has_other_device(side, first) else []
        if parts:
            return f"{', '.join(parts)}: add --per-sample or --per-inference"
    for index in (comparison.baseline, engine):
        label = comparison.sides[index].label
        for run in comparison.repeats[index] if gate.metric in _OF_RUNS else comparison.repeats[index][:1]:
            if damage := _find_damage(run, gate):
                return f"damaged file: {damage}"
            missing = [layer for layer in run.layers if layer.latency_ms is None and layer.kind.is_work]
            if gate.metric in _LAYER_TIMES and missing and run.has_profile:
                return f"{len(missing)} of {plural(len(run.layers), 'layer')} of {label} have no time"
    return ""


def _find_damage(engine: Engine, gate: Gate) -> str:
    """Return the name of the first file with an error that the metric comes from."""
    if gate.metric in {*_END_TO_END, *_PER_INFERENCE, "throughput_qps", "verdict"}:
        needed = _TIMING_FILES
    elif gate.metric == "latency_sum_ms" and not gate.part:
        needed = frozenset({ArtifactKind.PROFILE})
    elif gate.metric in _LAYER_TIMES or gate.metric in ("matched_pct", "findings"):
        needed = frozenset({ArtifactKind.GRAPH, ArtifactKind.PROFILE})
    else:
        needed = frozenset({ArtifactKind.GRAPH})
    for diagnostic in engine.diagnostics:
        if diagnostic.severity is not Severity.ERROR or diagnostic.file is None:
            continue
        kinds = [kind for kind, path in engine.files.items() if path == diagnostic.file]
        # A file too damaged to recognize is identified by its name only, unless another file replaces it.
        kinds = kinds or [
            kind
            for kind in needed
            if kind not in engine.files
            and diagnostic.file.name.endswith(f".{kind.value.replace('_', '.')}.json")
        ]
        if not needed.isdisjoint(kinds):
            return diagnostic.file.name
    return ""


# Metrics


def _measure(
    comparison: Comparison, gate: Gate, engine: int, count_findings: CountFindings | None
) -> _Measured:
    pair = comparison.baseline, engine
    metric = gate.metric
    if metric == "verdict":
        return _Measured()
    if metric in _OF_RUNS:
        return _measure_runs(comparison, gate, engine)
    if metric in ("any_layer_ms", "any_module_ms"):
        return _measure_any(comparison, gate, engine)
    if metric == "layer_ms":
        return _measure_layer(comparison, gate, engine)
    if metric == "module_ms":
        return _measure_module(comparison, gate, engine)
    if metric == "findings":
        if count_findings is None:
            return _Measured(problem="no lint findings available")
        baseline, value = (count_findings(index, gate.part) for index in pair)
        return _Measured(value, baseline)
    if metric == "matched_pct":
        first, other = (comparison.sides[index].matched_pct for index in pair)
        return _Measured(other, first)
    before, after = (_static_value(comparison.engines[index], gate) for index in pair)
    return _Measured(after, before)


def _static_value(engine: Engine, gate: Gate) -> float | None:
    """Return a metric that does not depend on a run."""
    if gate.metric == "weights_bytes":
        return engine.weights_bytes
    if gate.metric == "activation_peak_bytes":
        return activation_memory(engine).peak_bytes
    if not gate.part:
        return len(engine.layers)
    if gate.part not in _KINDS and engine.names_only:
        return None
    return sum(_is_in_part(layer.kind, layer.precision, gate.part) for layer in engine.layers)


def _is_in_part(kind: LayerKind, precision: DataType | None, part: str) -> bool:
    """Return whether a layer belongs to the row of a kind or a precision in the tables."""
    return part in (kind.value, precision.value.casefold() if precision else UNKNOWN)


def _measure_runs(comparison: Comparison, gate: Gate, engine: int) -> _Measured:
    """Measure a metric of each run: the mean over the runs, and its noise."""
    pair = comparison.baseline, engine
    repeats = comparison.repeats[pair[0]], comparison.repeats[pair[1]]
    sides = comparison.sides[pair[0]], comparison.sides[pair[1]]
    values: list[list[float]] = []
    scopes = {
        power.scope
        for engines in repeats
        for run in engines
        if gate.metric in _POWER and (power := power_statistics(run))
    }
    if Scope.FILE in scopes:
        return _Measured(problem="measurement interval of the power samples unknown")
    remark = "estimate: samples with a busy GPU" if Scope.BUSY in scopes else ""
    for engines, side in zip(repeats, sides, strict=True):
        known = [_run_value(run, side.per, gate) for run in engines]
        values.append([value for value in known if value is not None])
    baseline, value = (math.fsum(known) / len(known) if known else None for known in values)
    judgement = None
    if all(values) and max(map(len, values)) > 1:
        judgement = judge_values(values[0], values[1], _tick(gate, values))
    elif gate.metric == "throughput_qps":
        judgement = judge_throughput(repeats, sides)
    elif gate.metric in _END_TO_END:
        judgement = judge_series(repeats, sides, *_END_TO_END[gate.metric])
    return _Measured(value, baseline, judgement, remark)


def _tick(gate: Gate, values: Iterable[Iterable[float]]) -> float:
    """Return the smallest difference that numbers of several runs can show; a throughput has six digits."""
    largest = max(value for known in values for value in known)
    return resolution_ms(largest) if gate.metric.endswith("_ms") else abs(largest) * 1e-5


def _run_value(engine: Engine, per: int, gate: Gate) -> float | None:
    if gate.metric == "latency_sum_ms":
        return _sum_ms(engine, per, gate.part)
    if gate.metric == "throughput_qps":
        latency = end_to_end(engine)
        return None if latency is None or latency.throughput_qps is None else latency.throughput_qps * per
    if gate.metric in _POWER:
        power = power_statistics(engine)
        known = None if power is None else _POWER[gate.metric](power)
        return None if known is None else known * float(per) ** _PER_INFERENCE.get(gate.metric, 0)
    series, statistic = _END_TO_END[gate.metric]
    milliseconds = (
        _latency_ms(engine, statistic) if series == LATENCY else _series_ms(engine, series, statistic)
    )
    return None if milliseconds is None else milliseconds / per


def _sum_ms(engine: Engine, per: int, part: str) -> float | None:
    """Return the sum of layer times; 0 for a part that the engine does not have."""
    if engine.latency_sum_ms is None:
        return None
    if not part:
        return engine.latency_sum_ms / per
    times = [
        layer.latency_ms / per
        for layer in engine.layers
        if layer.latency_ms is not None and _is_in_part(layer.kind, layer.precision, part)
    ]
    return math.fsum(times)


def _latency_ms(engine: Engine, statistic: Statistic) -> float | None:
    latency = end_to_end(engine)
    if latency is None:
        return None
    if statistic.percent is None or statistic is Statistic.MEDIAN:
        value: float | None = getattr(latency.summary, f"{statistic.value}_ms")
        return value
    return _percentile(engine, latency.summary, statistic.percent)


def _percentile(engine: Engine, summary: LatencySummary, percent: float) -> float | None:
    """Return a percentile as printed by trtexec, which prints only requested ones, else computed from the timing rows."""
    printed = summary.percentiles_ms.get(percent)
    if printed is not None or engine.timing is None:
        return printed
    statistics = timing_statistics(engine)
    series = statistics.latency if statistics else None
    return series.percentiles_ms.get(percent) if series else None


def _series_ms(engine: Engine, series: str, statistic: Statistic) -> float | None:
    statistics = timing_statistics(engine)
    if statistics is None:
        return None
    rows = {
        "gpu_compute": statistics.compute,
        "h2d": statistics.h2d,
        "d2h": statistics.d2h,
        "enqueue": statistics.enqueue,
    }[series]
    if rows is None:
        return None
    if statistic.percent is None or statistic is Statistic.MEDIAN:
        value: float | None = getattr(rows, f"{statistic.value}_ms")
        return value
    return rows.percentiles_ms.get(statistic.percent)


# Layers and modules


def _measure_any(comparison: Comparison, gate: Gate, engine: int) -> _Measured:
    """Return the layer or module closest to the condition, or farthest beyond it."""
    first = comparison.sides[comparison.baseline].latency_sum_ms
    if first is None or comparison.sides[engine].latency_sum_ms is None:
        return _Measured()
    candidates = list(_candidates(comparison, gate, engine))
    least = first * LEAST_SHARE_PCT / 100.0
    judged = [
        candidate
        for candidate in candidates
        if candidate[1] is not None
        and (
            not gate.is_relative
            or (candidate[2] and abs(candidate[1] - candidate[2]) >= max(least, resolution_ms(candidate[2])))
        )
    ]
    what = "module" if gate.metric == "any_module_ms" else "layer"
    left_out = len(candidates) - len(judged)
    rest = (
        f"ignored: {plural(left_out, what)} in one engine only or with less than {format_ms(least)} ms "
        "difference"
    )
    if not judged:
        return _Measured(0.0, 0.0, remark=f"no {what} differs by {format_ms(least)} ms or more")

    def compared(candidate: tuple[str, float | None, float | None]) -> tuple[bool, float]:
        value = gate.compare(candidate[1] or 0.0, candidate[2])
        return gate.falls(value), value if gate.operator not in ("<", "<=") else -value

    name, value, baseline = max(judged, key=compared)
    remark = f"{what} {name or '(no module)'}"
    return _Measured(value, baseline, remark=f"{remark}; {rest}" if left_out and gate.is_relative else remark)


def _candidates(
    comparison: Comparison, gate: Gate, engine: int
) -> Iterable[tuple[str, float | None, float | None]]:
    """Yield name, time and baseline time of the layers or modules of the gate."""
    if gate.metric == "any_module_ms":
        for row in comparison.by_module:
            yield row.key, row.latency_ms[engine], row.latency_ms[comparison.baseline]
        return
    for block in comparison.blocks:
        if block.layers[engine] and (not gate.part or block.kind == gate.part):
            name = block.label or _names(comparison, block, (engine,))[0]
            yield name, block.latency_ms[engine], block.latency_ms[comparison.baseline]


def _names(comparison: Comparison, block: Block, engines: Iterable[int]) -> list[str]:
    return [
        comparison.engines[index].layers[layer].name for index in engines for layer in block.layers[index]
    ]


def _measure_layer(comparison: Comparison, gate: Gate, engine: int) -> _Measured:
    """Return the time of the blocks with a layer of this name in the engine or in the baseline."""
    names: set[str] = set()
    blocks = []
    for block in comparison.blocks:
        own = {block.label, *_names(comparison, block, (comparison.baseline, engine))}
        names |= own
        if any(_is_called(name, gate.part) for name in own):
            blocks.append(block)
    if not blocks:
        return _Measured(problem=_no_such("layer", gate.part, names))
    baseline, value = (
        _sum_known(block.latency_ms[index] for block in blocks) for index in (comparison.baseline, engine)
    )
    return _Measured(value, baseline, remark=f"{len(blocks)} blocks of layers" if len(blocks) > 1 else "")


def _measure_module(comparison: Comparison, gate: Gate, engine: int) -> _Measured:
    rows = [row for row in comparison.by_module if row.key and _is_called(row.key, gate.part)]
    if not rows:
        known = [row.key for row in comparison.by_module if row.key]
        return _Measured(problem=_no_such("module", gate.part, known))
    baseline, value = (
        _sum_known(row.latency_ms[index] for row in rows) for index in (comparison.baseline, engine)
    )
    return _Measured(value, baseline, remark=f"{len(rows)} modules" if len(rows) > 1 else "")


def _is_called(name: str, pattern: str) -> bool:
    """Return whether a name equals the pattern, or matches its wildcards; brackets are literal: layer names have them."""
    return name == pattern or fnmatchcase(name, pattern.replace("[", "[[]"))


def _no_such(what: str, name: str, known: Iterable[str]) -> str:
    hint = "" if "*" in name or "?" in name else did_you_mean(name, list(known))
    return f"no {what} named {name!r}{'; ' if hint else ''}{hint}"


def _sum_known(values: Iterable[float | None]) -> float | None:
    """Return the sum; None if a value is unknown."""
    numbers = list(values)
    return None if None in numbers else math.fsum(number for number in numbers if number is not None)


# Text


def _describe_metric(
    comparison: Comparison, gate: Gate, engine: int, value: float, baseline: float | None, compared: float
) -> str:
    words = f"{comparison.sides[engine].label}: {gate.name} is {format_metric(gate.metric, value)}"
    if gate.part in (LOW, HIGH):
        edge = "lower" if gate.part == LOW else "upper"
        words = f"{comparison.sides[engine].label}: the {edge} edge of {gate.metric} is {format_metric(gate.metric, value)}"
    if comparison.per_batch and gate.metric.endswith("_ms"):
        words += " per sample"
    if not gate.is_relative or baseline is None:
        return words
    other = comparison.sides[comparison.baseline].label
    return f"{words}, {format_compared(gate, compared)} against {format_metric(gate.metric, baseline)} of {other}"


def format_metric(metric: str, value: float) -> str:
    """Return a value with its unit."""
    if metric.endswith("_ms") or metric == VERDICT:  # the interval of a verdict is that of the median latency
        return f"{format_ms(value)} ms"
    if metric.endswith("_pct"):
        return f"{value:.4g} %"
    if metric.endswith("_w"):
        return format_watts(value)
    if metric.endswith("_j"):
        return format_energy(value)
    return format_bytes(value) if metric.endswith("_bytes") else f"{value:.6g}"


def format_compared(gate: Gate, compared: float | None) -> str:
    """Return a difference with its sign and unit; there is no percentage of a baseline of 0."""
    if compared is None or math.isinf(compared):
        return "more than any percentage"
    if not compared:
        return "no change"
    sign = "−" if compared < 0 else "+"
    return sign + (f"{abs(compared):.2f} %" if gate.is_percent else format_metric(gate.metric, abs(compared)))
