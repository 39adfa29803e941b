"""Gates: conditions on a comparison that a build may fail by, such as `latency_p99_ms > +5%`.

    METRIC OPERATOR NUMBER

A number with a sign is a difference to the baseline, in the metric's unit or, with `%`, in percent of the baseline's value; a
number without a sign is the engine's own value. Units as in filters: `5us`, `10Mi`. The gate falls where the condition holds
for an engine that is not the baseline.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from trex_tui.analysis.compare.model import Comparison, Outcome
from trex_tui.analysis.latency import end_to_end
from trex_tui.analysis.memory import activation_memory
from trex_tui.analysis.timing import timing_statistics
from trex_tui.artifacts.metadata import LatencySummary
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.engine import Engine
from trex_tui.engine.kinds import LayerKind
from trex_tui.errors import TrexError
from trex_tui.filtering.columns import parse_quantity
from trex_tui.text import format_bytes, format_ms

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
_GATE = re.compile(
    r"\s*(?P<metric>[A-Za-z_][\w.]*)\s*(?P<operator>[<>]=?|==|!=)\s*(?P<sign>[+\-−]?)\s*(?P<number>\S+)\s*"
)
_UNITS = {"_ms": "milliseconds", "_bytes": "bytes"}
_PERCENTILES = {"p90": 90.0, "p95": 95.0, "p99": 99.0}
_END_TO_END = tuple(f"latency_{name}_ms" for name in ("min", "mean", "median", "p90", "p95", "p99", "max"))
METRICS: tuple[str, ...] = (
    *_END_TO_END,
    "throughput_qps",
    "latency_sum_ms",
    "latency_sum_ms.KIND_OR_PRECISION",
    "layers",
    "layers.KIND_OR_PRECISION",
    "weights_bytes",
    "activation_peak_bytes",
)
"""What a gate may be about. `latency_sum_ms` is the sum of layer times; the others named latency are end to end."""


class GateError(TrexError):
    """The text of a gate makes no sense, or a gate cannot be judged; the message says where."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition.

    Attributes:
        text: As written.
        metric: One of `METRICS`, lower case.
        part: Kind or precision of `layers.fp32`; empty for the whole.
        operator: `>` and its like.
        number: In the metric's unit, or percent.
        is_relative: The number is a difference to the baseline.
        is_percent: That difference is in percent of the baseline's value.
    """

    text: str
    metric: str
    part: str
    operator: str
    number: float
    is_relative: bool
    is_percent: bool


@dataclass(frozen=True, slots=True)
class GateResult:
    """What became of a gate for one engine.

    Attributes:
        engine: Place of the engine.
        fell: Whether the condition holds.
        value, baseline: Of the metric; None where unknown.
        compared: What was compared with the gate's number: the value, the difference, or the difference in percent.
        why: In a sentence.
    """

    gate: Gate
    engine: int
    fell: bool
    value: float | None
    baseline: float | None
    compared: float | None
    why: str


def parse_gate(text: str) -> Gate:
    """Read a gate.

    Raises:
        GateError: It is none; the message says what was expected.
    """
    found = _GATE.fullmatch(text)
    if found is None:
        raise GateError(f"no gate: {text!r}; write one as `latency_p99_ms > +5%` or `layers.fp32 > 0`")
    metric, _, part = found["metric"].casefold().partition(".")
    _check_metric(text, metric, part)
    written = found["number"]
    is_percent = written.endswith("%")
    unit = "percent" if is_percent else next((u for end, u in _UNITS.items() if metric.endswith(end)), "")
    number = parse_quantity(written, unit)
    if number is None:
        raise GateError(f"no number in the gate {text!r}: {written!r}")
    is_relative = bool(found["sign"])
    if is_percent and not is_relative:
        raise GateError(
            f"in the gate {text!r}, a percentage is of the baseline: write +{written} or -{written}"
        )
    signed = -number if found["sign"] in ("-", "−") else number
    return Gate(text.strip(), metric, part, found["operator"], signed, is_relative, is_percent)


def _check_metric(text: str, metric: str, part: str) -> None:
    whole = [name.partition(".")[0] for name in METRICS]
    if metric not in whole:
        near = get_close_matches(metric, whole, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(METRICS)}"
        raise GateError(f"no metric {metric!r} in the gate {text!r}; {hint}")
    if not part:
        return
    parts = [*(kind.value for kind in LayerKind), *(dtype.value.casefold() for dtype in DataType)]
    if metric not in ("layers", "latency_sum_ms") or part not in parts:
        near = get_close_matches(part, parts, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise GateError(f"no kind or precision {part!r} of {metric} in the gate {text!r}{hint}")


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
    compared = value
    if gate.is_relative:
        assert baseline is not None
        compared = value - baseline
        if gate.is_percent:
            if not baseline:
                raise GateError(f"the gate {gate.text!r} cannot be judged: the baseline's {gate.metric} is 0")
            compared = 100.0 * compared / baseline
    fell = _OPERATORS[gate.operator](compared, gate.number)
    why = _words(comparison, gate, engine, value, baseline, compared)
    verdict = comparison.verdicts[engine]
    is_end_to_end = gate.metric in _END_TO_END or gate.metric == "throughput_qps"
    if fell and significant and is_end_to_end and verdict is not None and verdict.outcome is Outcome.SAME:
        fell, why = False, f"{why}; but not distinguishable from noise"
    return GateResult(gate, engine, fell, value, baseline, compared, why)


def _words(
    comparison: Comparison, gate: Gate, engine: int, value: float, baseline: float | None, compared: float
) -> str:
    metric = f"{gate.metric}.{gate.part}" if gate.part else gate.metric
    words = f"{comparison.sides[engine].label}: {metric} is {_shown(gate, value)}"
    if comparison.per_batch and gate.metric.endswith("_ms"):
        words += " per sample"
    if baseline is None:
        return words
    sign = "−" if compared < 0 else "+"
    change = sign + (f"{abs(compared):.2f} %" if gate.is_percent else _shown(gate, abs(compared)))
    other = comparison.sides[comparison.baseline].label
    return f"{words}, {change} against {_shown(gate, baseline)} of {other}"


def _shown(gate: Gate, value: float) -> str:
    """A value with its unit."""
    if gate.metric.endswith("_ms"):
        return f"{format_ms(value)} ms"
    return format_bytes(value) if gate.metric.endswith("_bytes") else f"{value:.6g}"


def _value(comparison: Comparison, gate: Gate, place: int) -> float:
    value = _metric(comparison, gate, place)
    if value is None:
        name, per = comparison.sides[place].label, f"{gate.metric}.{gate.part}" if gate.part else gate.metric
        raise GateError(f"the gate {gate.text!r} cannot be judged: {per} of {name} is unknown")
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
