"""Gates: conditions under which a build fails, such as `latency_p99_ms > +5%` or `mae > 0.01`.

    METRIC OPERATOR NUMBER          METRIC.PART OPERATOR NUMBER          METRIC == WORD

One language for `diff`, `lint` and `accuracy`, each with its metrics. A gate fails if its condition is met. A number has a
unit if its metric has one (`5us`, `10Mi`). If there is a baseline, a number with a sign is the difference to it, in the
metric's unit or, with `%`, in percent of the baseline's value; a number without a sign is the value itself. A part that is a
name from a file is quoted if it has spaces or operators; `*` and `?` in it are wildcards.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field

from trex_tui.old.errors import TrexError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import did_you_mean, parse_quantity, unit_of_key

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
        parts: Metric -> its allowed parts: the kinds and precisions of `layers.fp32`.
        part_nouns: Metric -> noun for its part. A metric that is here and not in `parts` takes names from files.
        needs_part: Metrics that require a part.
        words: Metric -> the words that it can be compared with by `==` and `!=`, instead of a number.
        examples: Valid gates, for error messages.
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


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition.

    Attributes:
        text: As written.
        metric: A name of its `GateMetrics`, in lower case.
        part: Part of that metric; empty for the whole.
        operator: `>`, `<=`, …
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
        if not self.is_relative:
            return value
        assert baseline is not None
        difference = value - baseline
        if not self.is_percent or not difference:
            return difference
        return 100.0 * difference / abs(baseline) if baseline else math.copysign(math.inf, difference)

    def falls(self, compared: float) -> bool:
        return _OPERATORS[self.operator](compared, self.number)


@dataclass(frozen=True, slots=True)
class GateResult:
    """Result of a gate for one engine, output or report.

    Attributes:
        subject: Name of the engine or output; empty if there is only one.
        fell: Whether the condition is met; None if the gate cannot be judged.
        value, baseline: Values of the metric; None if unknown.
        compared: Number compared with the gate's: the value, the difference, or the difference in percent.
        why: Explanation in a sentence.
        index: Index of the engine in a comparison.
        interval: 95 % interval of the difference to the baseline, in the metric's unit; None if there is none.
        significance: Result of the noise test of the metric (`faster`, `slower`, `not distinguishable`, `no verdict`);
            empty if the noise of the metric is unknown.
        note: Limitations of the numbers, such as noise and scope, or why the gate is not judged.
    """

    gate: Gate
    subject: str
    fell: bool | None
    value: float | None
    baseline: float | None
    compared: float | None
    why: str
    index: int = 0
    interval: tuple[float, float] | None = None
    significance: str = ""
    note: str = ""

    @property
    def state(self) -> str:
        """`failed`, `passed` or `not judged`."""
        return NOT_JUDGED if self.fell is None else FAILED if self.fell else PASSED


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
        return _parse_word(text, match, metrics.words[metric])
    is_percent = written.endswith("%")
    unit = "percent" if is_percent else unit_of_key(metric)
    is_relative = bool(match["sign"]) and metrics.has_baseline
    number = parse_quantity(written, unit)
    if number is None:
        raise GateError(f"not a number in gate {text!r}: {written!r}")
    if is_percent and not is_relative:
        if not metrics.has_baseline:
            raise GateError(f"gate {text!r}: percentages need a signed number")
        raise GateError(f"gate {text!r}: percentages need a sign; write +{written} or -{written}")
    signed = -number if match["sign"] in ("-", "−") else number
    return Gate(text.strip(), metric, part, match["operator"], signed, is_relative, is_percent)


def _parse_word(text: str, match: re.Match[str], words: Sequence[str]) -> Gate:
    word, metric = f"{match['sign']}{match['number']}".casefold(), match["metric"].casefold()
    if word not in words or match["operator"] not in ("==", "!="):
        known = " or ".join(f"`{metric} == {known}`" for known in words)
        raise GateError(f"not a gate: {text!r}; for {metric} write {known}, or `!=`")
    return Gate(text.strip(), metric, "", match["operator"], 0.0, word=word)


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
