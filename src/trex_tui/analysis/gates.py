"""Gates: conditions that a build may fail by, such as `latency_p99_ms > +5%` or `mae > 0.01`.

    METRIC OPERATOR NUMBER          METRIC.PART OPERATOR NUMBER

One language for `diff`, `lint` and `accuracy`, each with metrics of its own. A gate fails where its condition holds. A number
has a unit where its metric has one (`5us`, `10Mi`). Where there is a baseline, a number with a sign is the difference to it,
in the metric's unit or, with `%`, in percent of the baseline's value; one without a sign is the value itself.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from trex_tui.errors import TrexError
from trex_tui.text import did_you_mean, parse_quantity

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


class GateError(TrexError):
    """The text of a gate makes no sense, or a gate cannot be judged."""


@dataclass(frozen=True, slots=True)
class GateMetrics:
    """What the gates of a command may be about.

    Attributes:
        names: The metrics; a unit stands at the end of a name.
        parts: Metric -> the parts that it can be restricted to: the kinds and precisions of `layers.fp32`.
        part_noun: What a part is.
        examples: Gates that make sense, for an error.
        has_baseline: Whether a number can be a difference to a baseline.
    """

    names: Sequence[str]
    examples: Sequence[str]
    parts: Mapping[str, Collection[str]] = field(default_factory=dict)
    part_noun: str = "part"
    has_baseline: bool = False

    @property
    def known(self) -> str:
        """All names, for an error: `layers, layers.KIND_OR_PRECISION`."""
        part = self.part_noun.upper().replace(" ", "_")
        return ", ".join(
            text
            for name in self.names
            for text in (name, *([f"{name}.{part}"] if name in self.parts else ()))
        )


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition.

    Attributes:
        text: As written.
        metric: A name of its `GateMetrics`, in lower case.
        part: Of that metric; empty for the whole.
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
    is_relative: bool = False
    is_percent: bool = False

    @property
    def name(self) -> str:
        return f"{self.metric}.{self.part}" if self.part else self.metric

    def compare(self, value: float, baseline: float | None = None) -> float:
        """What is held against the number: the value, the difference to the baseline, or that in percent.

        Raises:
            GateError: There is no such percentage.
        """
        if not self.is_relative:
            return value
        assert baseline is not None
        if not self.is_percent:
            return value - baseline
        if not baseline:
            raise GateError(f"the gate {self.text!r} cannot be judged: the baseline's {self.metric} is 0")
        return 100.0 * (value - baseline) / baseline

    def falls(self, compared: float) -> bool:
        return _OPERATORS[self.operator](compared, self.number)


@dataclass(frozen=True, slots=True)
class GateResult:
    """What became of a gate for one engine, output or report.

    Attributes:
        subject: The engine or output, for people; empty if there is only one.
        fell: Whether the condition holds.
        value, baseline: Of the metric; None where unknown.
        compared: What was held against the gate's number: the value, the difference, or the difference in percent.
        why: In a sentence.
        index: Of the engine in a comparison.
    """

    gate: Gate
    subject: str
    fell: bool
    value: float | None
    baseline: float | None
    compared: float | None
    why: str
    index: int = 0


def parse_gate(text: str, metrics: GateMetrics) -> Gate:
    """Read a gate.

    Raises:
        GateError: It is none; the message says what was expected.
    """
    found = _GATE.fullmatch(text)
    if found is None:
        examples = " or ".join(f"`{example}`" for example in metrics.examples)
        raise GateError(f"no gate: {text!r}; write one as {examples}")
    metric, _, part = found["metric"].casefold().partition(".")
    _check_metric(text, metric, part, metrics)
    written = found["number"]
    is_percent = written.endswith("%")
    unit = "percent" if is_percent else next((u for end, u in _UNITS.items() if metric.endswith(end)), "")
    is_relative = bool(found["sign"]) and metrics.has_baseline
    number = parse_quantity(written, unit)
    if number is None:
        raise GateError(f"no number in the gate {text!r}: {written!r}")
    if is_percent and not is_relative:
        if not metrics.has_baseline:
            raise GateError(f"in the gate {text!r}, there is nothing to take a percentage of")
        raise GateError(
            f"in the gate {text!r}, a percentage is of the baseline: write +{written} or -{written}"
        )
    signed = -number if found["sign"] in ("-", "−") else number
    return Gate(text.strip(), metric, part, found["operator"], signed, is_relative, is_percent)


def _check_metric(text: str, metric: str, part: str, metrics: GateMetrics) -> None:
    if metric not in metrics.names:
        hint = did_you_mean(metric, metrics.names) or f"there are {metrics.known}"
        raise GateError(f"no metric {metric!r} in the gate {text!r}; {hint}")
    parts = metrics.parts.get(metric, ())
    if part and part not in parts:
        hint = did_you_mean(part, parts)
        raise GateError(
            f"no {metrics.part_noun} {part!r} of {metric} in the gate {text!r}{'; ' if hint else ''}{hint}"
        )
