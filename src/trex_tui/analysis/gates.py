"""Gates: conditions under which a build fails, such as `latency_p99_ms > +5%` or `mae > 0.01`.

    METRIC OPERATOR NUMBER          METRIC.PART OPERATOR NUMBER          METRIC == WORD

One language for `diff`, `lint` and `accuracy`, each with its metrics. A gate fails if its condition is met. A number has a
unit if its metric has one (`5us`, `10Mi`). If there is a baseline, a number with a sign is the difference to it, in the
metric's unit or, with `%`, in percent of the baseline's value; a number without a sign is the value itself. A part that is a
name from a file is quoted if it has spaces or operators; `*` and `?` in it are wildcards.

A gate whose numbers are missing, bounded, or from a damaged file is not judged: neither passed nor failed.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from trex_tui.analysis.compute import WORKING
from trex_tui.analysis.energy import power_facts, power_table
from trex_tui.analysis.memory import memory_facts
from trex_tui.analysis.timing import find_latency, percentile_key, timing_facts
from trex_tui.artifacts.kinds import FileKind
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Engine
from trex_tui.errors import Severity, TrexError
from trex_tui.frames import total
from trex_tui.text import did_you_mean, parse_quantity, plural, unit_of_key

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
_GATE = re.compile(
    r"\s*(?P<metric>[A-Za-z_]\w*)(?:\.(?P<part>\"[^\"]+\"|'[^']+'|[^\s<>=!\"']+))?"
    r"\s*(?P<operator>[<>]=?|==|!=)\s*(?P<sign>[+\-−]?)\s*(?P<number>\S+)\s*"
)
FAILED, PASSED, NOT_JUDGED = "failed", "passed", "not judged"


class GateError(TrexError):
    """The text of a gate is invalid, or a gate cannot be judged."""


@dataclass(frozen=True, slots=True)
class GateMetrics:
    """Metrics for the gates of a command.

    Attributes:
        names: The metrics; the unit is at the end of a name.
        examples: Valid gates, for error messages.
        parts: Metric -> its allowed parts: the kinds and precisions of `layers.fp32`.
        part_nouns: Metric -> noun for its part. A metric that is here and not in `parts` takes names from files.
        needs_part: Metrics that require a part.
        words: Metric -> the words that it can be compared with by `==` and `!=`, instead of a number.
        has_baseline: Whether a number can be a difference to a baseline.
    """

    names: Sequence[str]
    examples: Sequence[str]
    parts: Mapping[str, Collection[str]] = field(default_factory=dict)
    part_nouns: Mapping[str, str] = field(default_factory=dict)
    needs_part: Collection[str] = ()
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    has_baseline: bool = False

    @property
    def known(self) -> str:
        """Return all names, for an error message: `layers, layers.KIND_OR_PRECISION`."""
        texts = []
        for name in self.names:
            texts += [name] if name not in self.needs_part else []
            if noun := self.part_nouns.get(name):
                texts.append(f"{name}.{noun.upper().replace(' ', '_')}")
        return ", ".join(texts)


class Gate(NamedTuple):
    """A condition.

    Attributes:
        text: As written.
        metric: A name of its `GateMetrics`, in lower case.
        part: Part of that metric; empty for the whole.
        number: In the metric's unit, or percent.
        is_relative: The number is a difference to the baseline.
        is_percent: That difference is in percent of the baseline's value.
        word: Word to compare with; empty for a number.
    """

    text: str
    metric: str
    part: str
    operator: str
    number: float
    is_relative: bool = False
    is_percent: bool = False
    word: str = ""

    @property
    def name(self) -> str:
        return f"{self.metric}.{self.part}" if self.part else self.metric

    def compare(self, value: float, baseline: float | None = None) -> float:
        """Return the value to compare with the number: the value itself, the difference to the baseline, or that in percent.

        From 0 to 0 is no change; from 0 to anything else is infinitely many percent.
        """
        if not self.is_relative or baseline is None:
            return value
        difference = value - baseline
        if not self.is_percent or not difference:
            return difference
        return 100.0 * difference / abs(baseline) if baseline else math.copysign(math.inf, difference)

    def is_met(self, compared: float) -> bool:
        """Return whether a number, from `compare`, meets the condition."""
        return _OPERATORS[self.operator](compared, self.number)


class GateResult(NamedTuple):
    """Result of a gate for one engine, output or report.

    Attributes:
        subject: Name of the engine or output; empty if there is only one.
        is_met: Whether the condition is met; None if the gate cannot be judged.
        value, baseline: Values of the metric; None if unknown.
        compared: Number compared with the gate's: the value, the difference, or the difference in percent.
        note: Limitations of the numbers, such as noise and scope, or why the gate is not judged.
        interval: 95 % interval of the difference to the baseline, in the metric's unit; None if there is none.
        significance: Result of the noise test of the metric; empty if the noise of the metric is unknown.
    """

    gate: Gate
    subject: str
    is_met: bool | None
    value: float | None = None
    baseline: float | None = None
    compared: float | None = None
    note: str = ""
    interval: tuple[float, float] | None = None
    significance: str = ""

    @property
    def state(self) -> str:
        """`failed`, `passed` or `not judged`."""
        return NOT_JUDGED if self.is_met is None else FAILED if self.is_met else PASSED


def parse_gate(text: str, metrics: GateMetrics) -> Gate:
    """Parse a gate.

    Raises:
        GateError: The text is not a gate; the message has what was expected.
    """
    match = _GATE.fullmatch(text)
    if match is None:
        examples = " or ".join(f"`{example}`" for example in metrics.examples)
        raise GateError(f"not a gate: {text!r}; use the form {examples}")
    metric, part = match["metric"].casefold(), match["part"] or ""
    part = part[1:-1] if part[:1] in ("'", '"') else part
    part = part.casefold() if metric in metrics.parts else part
    _check_metric(text, metric, part, metrics)
    written = match["number"]
    if metric in metrics.words:
        word = f"{match['sign']}{written}".casefold()
        if word not in metrics.words[metric] or match["operator"] not in ("==", "!="):
            known = " or ".join(f"`{metric} == {known}`" for known in metrics.words[metric])
            raise GateError(f"not a gate: {text!r}; for {metric} write {known}, or `!=`")
        return Gate(text.strip(), metric, "", match["operator"], 0.0, word=word)
    is_percent = written.endswith("%")
    is_relative = bool(match["sign"]) and metrics.has_baseline
    number = parse_quantity(written, "percent" if is_percent else unit_of_key(metric))
    if number is None:
        raise GateError(f"not a number in gate {text!r}: {written!r}")
    if is_percent and not is_relative:
        if not metrics.has_baseline:
            raise GateError(f"gate {text!r}: percentages need a signed number")
        raise GateError(f"gate {text!r}: percentages need a sign; write +{written} or -{written}")
    signed = -number if match["sign"] in ("-", "−") else number
    return Gate(text.strip(), metric, part, match["operator"], signed, is_relative, is_percent)


def _check_metric(text: str, metric: str, part: str, metrics: GateMetrics) -> None:
    if metric not in metrics.names:
        hint = did_you_mean(metric, metrics.names) or f"there are {metrics.known}"
        raise GateError(f"unknown metric {metric!r} in gate {text!r}; {hint}")
    noun = metrics.part_nouns.get(metric, "part")
    if not part and metric in metrics.needs_part:
        raise GateError(f"gate {text!r} needs a {noun}: {metric}.{noun.upper().replace(' ', '_')}")
    takes_any = metric in metrics.part_nouns and metric not in metrics.parts
    parts = metrics.parts.get(metric, ())
    if part and part not in parts and not takes_any:
        hint = did_you_mean(part, parts)
        raise GateError(f"unknown {noun} {part!r} of {metric} in gate {text!r}{'; ' if hint else ''}{hint}")


def judge(
    gate: Gate,
    value: float | None,
    baseline: float | None = None,
    *,
    subject: str = "",
    problem: str = "",
    is_at_least: bool = False,
    note: str = "",
) -> GateResult:
    """Judge a gate on a number.

    Args:
        problem: Why the number must not be judged; empty if it may be.
        is_at_least: The value is a lower bound: only a condition that holds for all larger values is judged.
        note: Limitations of the number.
    """
    if not problem and (value is None or (gate.is_relative and baseline is None)):
        problem = f"{gate.name}{' of the baseline' if value is not None else ''} is unknown"
    if problem or value is None:
        return GateResult(gate, subject, None, value, baseline, note=problem)
    compared = gate.compare(value, baseline)
    is_met = gate.is_met(compared)
    if is_at_least and not (is_met and gate.operator in (">", ">=")):
        return GateResult(gate, subject, None, value, baseline, note=f"{gate.name} is a lower bound")
    shown = compared if math.isfinite(compared) else None
    return GateResult(gate, subject, is_met, value, baseline, shown, note)


# Metrics of an engine

SERIES = {"latency": "latency", "gpu_compute": "compute", "h2d": "h2d", "d2h": "d2h", "enqueue": "enqueue"}
"""Beginning of a metric -> series of `timing.statistics`."""
_STATISTICS = {name: f"{name}_ms" for name in ("min", "mean", "median", "max")}
_STATISTICS |= {f"p{pct}": percentile_key(pct) for pct in (90, 95, 99)}
END_TO_END = {
    f"{metric}_{name}_ms": (series, key)
    for metric, series in SERIES.items()
    for name, key in _STATISTICS.items()
}
"""Metric -> series and statistic."""
POWER = ("power_mean_w", "power_peak_w", "energy_per_inference_j", "inferences_per_joule")
LAYER_TIMES = ("latency_sum_ms", "any_layer_ms", "layer_ms", "any_module_ms", "module_ms")
PARTS = (*(kind.value for kind in LayerKind), *(dtype.value.casefold() for dtype in DataType), "unknown")
"""Kinds and precisions, as parts of `layers` and `latency_sum_ms`."""


class Measured(NamedTuple):
    """A metric of an engine; None if unknown."""

    value: float | None
    is_at_least: bool = False
    note: str = ""


def measure(engine: Engine, metric: str, part: str = "") -> Measured:
    """Return a metric of one engine: end to end, power, `latency_sum_ms`, `layers`, weights or peak of activations."""
    if metric in END_TO_END:
        series, key = END_TO_END[metric]
        return Measured(find_latency(engine, key, series))
    if metric == "throughput_qps":
        timing = timing_facts(engine)
        return Measured(timing.throughput_qps if timing else None)
    if metric in POWER:
        return _measure_power(engine, metric)
    memory = memory_facts(engine)
    if metric == "weights_bytes":
        return Measured(memory.weights_bytes)
    if metric == "activation_peak_bytes":
        return Measured(memory.activation_peak_bytes, memory.is_peak_at_least)
    layers = engine.layers
    rows = layers["kind"].eq(part) | layers["precision"].fillna("unknown").str.casefold().eq(part)
    if metric == "layers":
        is_unknown = bool(part) and engine.has_names_only and part not in {kind.value for kind in LayerKind}
        return Measured(None if is_unknown else int(rows.sum()) if part else len(engine))
    if metric == "latency_sum_ms" and part and engine.latency_sum_ms is not None:
        return Measured(total(layers["latency_ms"][rows]) or 0.0)
    return Measured(engine.latency_sum_ms if metric == "latency_sum_ms" else None)


def _measure_power(engine: Engine, metric: str) -> Measured:
    power = power_facts(engine)
    if power is None or power.scope == "file":
        return Measured(None)
    note = "estimate: samples with a busy GPU" if power.scope == "busy" else ""
    if metric == "power_peak_w":
        return Measured(total(power_table(engine)["max"].reindex(["power_w"])), note=note)
    return Measured(getattr(power, metric), note=note)


_TIMING_FILES = frozenset({FileKind.TIMING, FileKind.PROFILE_METADATA, FileKind.PROFILE_LOG})


def why_not_judged(engine: Engine, metric: str, part: str = "") -> str:
    """Return why a metric of an engine must not be judged, even if there is a number; empty if it may be.

    The one rule for all commands with gates: no file that the metric comes from is damaged, no working layer lacks a time,
    and the numbers do not contradict each other.
    """
    if metric in END_TO_END or metric in POWER or metric in ("throughput_qps", "verdict"):
        needed = _TIMING_FILES | ({FileKind.MONITOR} if metric in POWER else frozenset())
    elif metric == "findings":
        needed = frozenset(FileKind)  # rules read them all
    elif metric in LAYER_TIMES or metric == "matched_pct":
        is_sum = metric == "latency_sum_ms" and not part
        needed = frozenset({FileKind.PROFILE} if is_sum else {FileKind.GRAPH, FileKind.PROFILE})
    else:
        needed = frozenset({FileKind.GRAPH})
    if damaged := find_damage(engine, needed):
        return f"damaged file: {damaged}"
    layers = engine.layers
    without = layers["latency_ms"].isna() & layers["kind"].isin(WORKING)
    if metric in LAYER_TIMES and engine.has_profile and without.any():
        return f"{int(without.sum())} of {plural(len(engine), 'layer')} have no time"
    if metric == "throughput_qps" and engine.throughput_doubt:
        return engine.throughput_doubt
    power = power_facts(engine) if metric in POWER else None
    return "measurement interval of the power samples unknown" if power and power.scope == "file" else ""


def find_damage(engine: Engine, kinds: Collection[FileKind]) -> str:
    """Return the name of the first file of these kinds with an error; empty if there is none.

    A file too damaged to recognize is identified by its name, unless another file replaces it.
    """
    for note in engine.notes:
        if note.severity is Severity.ERROR and note.file is not None:
            known = [kind for kind, path in engine.files.items() if path == note.file]
            name = note.file.name.removesuffix(".gz")
            named = (
                kind
                for kind in kinds
                if kind not in engine.files and name.endswith(f".{kind.value.replace('_', '.')}.json")
            )
            if set(kinds).intersection(known or named):
                return note.file.name
    return ""
