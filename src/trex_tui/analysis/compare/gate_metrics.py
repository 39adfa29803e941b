"""Gates of `diff`: a metric of an engine, held against a number or against the baseline (`analysis.gates`)."""

from __future__ import annotations

from collections.abc import Sequence

from trex_tui.analysis.compare.model import Comparison, Outcome
from trex_tui.analysis.gates import Gate, GateError, GateMetrics, GateResult
from trex_tui.analysis.memory import activation_memory
from trex_tui.analysis.timing import end_to_end, timing_statistics
from trex_tui.artifacts.metadata import LatencySummary
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.engine import Engine
from trex_tui.engine.kinds import LayerKind
from trex_tui.text import format_bytes, format_ms

_PERCENTILES = {"p90": 90.0, "p95": 95.0, "p99": 99.0}
_END_TO_END = tuple(f"latency_{name}_ms" for name in ("min", "mean", "median", "p90", "p95", "p99", "max"))
_KINDS_AND_PRECISIONS = (
    *(kind.value for kind in LayerKind),
    *(dtype.value.casefold() for dtype in DataType),
)
METRICS = GateMetrics(
    names=(
        *_END_TO_END,
        *("throughput_qps", "latency_sum_ms", "layers", "weights_bytes", "activation_peak_bytes"),
    ),
    examples=("latency_p99_ms > +5%", "layers.fp32 > 0"),
    parts={"layers": _KINDS_AND_PRECISIONS, "latency_sum_ms": _KINDS_AND_PRECISIONS},
    part_noun="kind or precision",
    has_baseline=True,
)
"""What a gate may be about. `latency_sum_ms` is the sum of layer times; the others named latency are end to end."""


def judge(comparison: Comparison, gates: Sequence[Gate], *, significant: bool = False) -> list[GateResult]:
    """Judge every gate for every engine but the baseline.

    Args:
        significant: An end-to-end gate falls only if the difference can be told from noise (`Verdict.outcome`).

    Raises:
        GateError: A value that a gate needs is unknown: a gate that cannot be judged must not pass in silence.
    """
    return [_judge(comparison, gate, engine, significant) for gate in gates for engine in comparison.others]


def _judge(comparison: Comparison, gate: Gate, engine: int, significant: bool) -> GateResult:
    value = _value(comparison, gate, engine)
    baseline = _value(comparison, gate, comparison.baseline) if gate.is_relative else None
    compared = gate.compare(value, baseline)
    fell = gate.falls(compared)
    why = _describe_metric(comparison, gate, engine, value, baseline, compared)
    verdict = comparison.verdicts[engine]
    is_end_to_end = gate.metric in _END_TO_END or gate.metric == "throughput_qps"
    if fell and significant and is_end_to_end and verdict is not None and verdict.outcome is Outcome.SAME:
        fell, why = False, f"{why}; but not distinguishable from noise"
    label = comparison.sides[engine].label
    return GateResult(gate, label, fell, value, baseline, compared, why, engine)


def _describe_metric(
    comparison: Comparison, gate: Gate, engine: int, value: float, baseline: float | None, compared: float
) -> str:
    words = f"{comparison.sides[engine].label}: {gate.name} is {_shown(gate, value)}"
    if comparison.per_batch and gate.metric.endswith("_ms"):
        words += " per sample"
    if baseline is None:
        return words
    sign = "−" if compared < 0 else "+"
    change = sign + (f"{abs(compared):.2f} %" if gate.is_percent else _shown(gate, abs(compared)))
    other = comparison.sides[comparison.baseline].label
    return f"{words}, {change} against {_shown(gate, baseline)} of {other}"


def _shown(gate: Gate, value: float) -> str:
    if gate.metric.endswith("_ms"):
        return f"{format_ms(value)} ms"
    return format_bytes(value) if gate.metric.endswith("_bytes") else f"{value:.6g}"


def _value(comparison: Comparison, gate: Gate, place: int) -> float:
    value = _metric(comparison, gate, place)
    if value is None:
        name = comparison.sides[place].label
        raise GateError(f"the gate {gate.text!r} cannot be judged: {gate.name} of {name} is unknown")
    return value


def _metric(comparison: Comparison, gate: Gate, place: int) -> float | None:
    engine, side = comparison.engines[place], comparison.sides[place]
    if gate.metric == "layers":
        return _layers(engine, gate.part)
    if gate.metric == "latency_sum_ms":
        return _part_ms(comparison, gate.part, place) if gate.part else side.latency_sum_ms
    if gate.metric == "weights_bytes":
        return engine.weights_bytes
    if gate.metric == "activation_peak_bytes":
        return activation_memory(engine).peak_bytes
    latency = end_to_end(engine)
    if latency is None:
        return None
    if gate.metric == "throughput_qps":
        return None if latency.throughput_qps is None else latency.throughput_qps * side.per
    name = gate.metric.removeprefix("latency_").removesuffix("_ms")
    found = (
        _percentile(engine, latency.summary, name)
        if name in _PERCENTILES
        else getattr(latency.summary, f"{name}_ms")
    )
    return None if found is None else found / side.per


def _percentile(engine: Engine, summary: LatencySummary, name: str) -> float | None:
    """As trtexec printed it; it prints only those it was asked for, so else from the timing rows."""
    printed = summary.percentiles_ms.get(_PERCENTILES[name])
    if printed is not None or engine.timing is None:
        return printed
    statistics = timing_statistics(engine)
    series = statistics.latency if statistics else None
    return series.percentiles_ms.get(_PERCENTILES[name]) if series else None


def _layers(engine: Engine, part: str) -> float | None:
    if not part:
        return len(engine.layers)
    is_precision = part not in (kind.value for kind in LayerKind)
    if is_precision and engine.names_only:
        return None
    return sum(part in _parts(layer.kind, layer.precision) for layer in engine.layers if layer.kind.is_work)


def _parts(kind: LayerKind, precision: DataType | None) -> tuple[str, ...]:
    return (kind.value, precision.value.casefold()) if precision else (kind.value,)


def _part_ms(comparison: Comparison, part: str, place: int) -> float | None:
    if comparison.sides[place].latency_sum_ms is None:
        return None
    rows = [row for row in (*comparison.by_kind, *comparison.by_precision) if row.key.casefold() == part]
    return rows[0].latency_ms[place] if rows else 0.0
