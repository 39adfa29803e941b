"""Rules and findings.

A rule is one object: its texts and needs stand in the decorator of the function that checks an engine.
The function yields findings, and what it could not check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from trex_tui.lint.context import Context

Remedy: TypeAlias = "str | tuple[str, ...]"
"""A remedy, or alternatives: the first one whose options TensorRT's version, the GPU and the producer have is shown."""
EVERY_RULE = ("*",)


class FindingSeverity(str, Enum):
    """Severity of a finding, the worst first, with its meaning."""

    meaning: str

    def __new__(cls, text: str, meaning: str = "") -> FindingSeverity:
        """Store the meaning in the member."""
        member = str.__new__(cls, text)
        member._value_, member.meaning = text, meaning
        return member

    ERROR = "error", "The numbers cannot be trusted."
    WARNING = "warning", "Time can be saved, or accuracy may be lost."
    INFO = "info", "Information; often intended."
    GOOD = "good", "A strength: nothing to improve."

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(FindingSeverity).index(self)

    @property
    def milder(self) -> FindingSeverity:
        """Return the next lower severity of a warning; others stay."""
        return INFO if self is WARNING else self


ERROR, WARNING, INFO, GOOD = FindingSeverity


class Confidence(str, Enum):
    """Confidence in the saving of a finding, or in the finding itself if it has no saving."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def rank(self) -> int:
        """0 for high."""
        return list(Confidence).index(self)


HIGH, MEDIUM, LOW = Confidence


class NotChecked(NamedTuple):
    """What a rule did not check, which differs from no findings.

    Attributes:
        rule: Id of the rule.
        reason: Missing data and how to get it: `no profile: run trtexec with --exportProfile`.
        layers: Number of layers not checked; None for the whole engine.
    """

    rule: str
    reason: str
    layers: int | None = None


Need: TypeAlias = "Callable[[Context], str]"
"""Returns why a rule cannot check an engine; empty if it can."""
Findings: TypeAlias = "Iterator[Finding | NotChecked]"
"""Result of a rule."""
Check: TypeAlias = "Callable[[Context], Iterable[Finding | NotChecked]]"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, and the decorator that makes a function its check: `@Rule("CONV001", …)`.

    Attributes:
        id: Stable: letters of its family and three digits; `OK-` and letters for strengths.
        title: Short title.
        severity: Default severity of its findings. A saving below one hundredth of the engine, or low confidence, lowers a
            warning to info.
        looks_for: The condition, in words and numbers.
        why, remedy: Reason, and what to do unless a finding states it; by default those of strengths.
        not_when: Exceptions, in words.
        references: Public documents by name, each with its address if it has one.
        columns: Columns of layers that it reads; empty for rules that need no layers.
        needs: Requirements of the engine; if one is not met, `check` is not called.
        estimate: What the saving assumes, in words.
        formula: How the saving is computed.
        covered_by: Ids and families whose findings, with a saving on half of the time of its layers, explain a finding of
            this rule, which is then left out; `EVERY_RULE` for all.
        is_remark: Its findings are about the build as a whole, outside of the list.
        check: The function that finds.
    """

    id: str
    title: str
    severity: FindingSeverity
    _: KW_ONLY
    looks_for: str
    why: str = "Already optimal; no work needed here."
    remedy: Remedy = "None; keep it."
    not_when: str = ""
    references: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()
    estimate: str = ""
    formula: str = ""
    covered_by: tuple[str, ...] = ()
    is_remark: bool = False
    check: Check = lambda _: ()

    def __call__(self, check: Check) -> Rule:
        """Return the rule with its check."""
        return replace(self, check=check)

    @property
    def family(self) -> str:
        """Letters of the id: `CONV` of `CONV001`, `OK` of `OK-TC`."""
        return self.id.split("-", 1)[0].rstrip("0123456789")

    def is_named_by(self, names: Sequence[str]) -> bool:
        """Return whether ids or families include the rule."""
        return self.id in names or self.family in names

    def look(self, context: Context) -> Findings:
        """Yield findings, and what could not be checked."""
        if reason := next(filter(None, (need(context) for need in self.needs)), ""):
            yield NotChecked(self.id, reason)
            return
        for result in self.check(context):
            yield (
                result._replace(rule=self.id)
                if isinstance(result, NotChecked)
                else replace(result, rule=self)
            )

    def find(self, context: Context) -> list[Finding]:
        """Return the findings of the rule."""
        return [result for result in self.look(context) if isinstance(result, Finding)]


_NO_RULE = Rule("", "", INFO, looks_for="")


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a rule. Rules make it by `finding`; `run_rules` adds the fields from `is_demoted` on.

    Attributes:
        rule: The rule.
        message: One sentence with numbers, about this engine, not about the rule.
        layers: Its layers, in execution order; empty for the engine as a whole.
        stated_severity: None for the rule's own.
        confidence: Confidence in the saving, or in the finding if it has no saving.
        savings_ms: Possible savings in milliseconds by layer: an estimate, never more than the layer takes. Layers with
            unknown savings are left out. `saving_ms` is their sum; totals over findings take the largest saving of each
            layer, so that nothing counts twice.
        engine_saving_ms: A saving that belongs to no layer (time between layers); None if there is none.
        estimate: What the saving assumes, in words; empty without a saving.
        evidence: The values that triggered the rule by name, the most relevant first. Names are columns of layers
            (`tactic`, `latency_ms`), or the rule's own with the unit at the end.
        remedy: Remedy in this case.
        group: Text for several findings of the rule with this cause, after their number: `layers convert a network input,
            FP32 → FP16`. Findings with the same text and remedy are merged. Empty to keep the finding separate.
        is_minor: Listed on request only.
        is_demoted: Its saving is small, or its confidence low.
        layer_ms: Time of its layers; None if none of them has a time, or it has no layers.
        layers_without_time: Number of its layers missing in `layer_ms`.
        suppressed_layers: Number of its layers that the configuration removed.
        reason, origin: Why it is suppressed, and the file and key; empty if it is not.
    """

    message: str
    rule: Rule = _NO_RULE
    layers: tuple[int, ...] = ()
    stated_severity: FindingSeverity | None = None
    confidence: Confidence = MEDIUM
    savings_ms: Mapping[int, float] = field(default_factory=dict)
    engine_saving_ms: float | None = None
    estimate: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    remedy: Remedy = ""
    group: str = ""
    is_minor: bool = False
    is_demoted: bool = False
    layer_ms: float | None = None
    layers_without_time: int = 0
    suppressed_layers: int = 0
    reason: str = ""
    origin: str = ""

    @property
    def severity(self) -> FindingSeverity:
        own = self.stated_severity or self.rule.severity
        return own.milder if self.is_demoted else own

    @property
    def saving_ms(self) -> float | None:
        """Possible saving of this finding alone, in milliseconds; None if unknown."""
        if not self.savings_ms:
            return self.engine_saving_ms
        return math.fsum(self.savings_ms.values()) + (self.engine_saving_ms or 0.0)


def finding(
    message: str,
    layers: Iterable[int] = (),
    *,
    severity: FindingSeverity | None = None,
    confidence: Confidence = MEDIUM,
    savings: Mapping[int, float] | None = None,
    engine_saving_ms: float | None = None,
    estimate: str = "",
    evidence: Mapping[str, Any] | None = None,
    remedy: Remedy = "",
    group: str = "",
    is_minor: bool = False,
) -> Finding:
    """Return a finding of the rule that yields it.

    Args:
        savings: Milliseconds by layer.
        estimate: What they assume, if it differs from the rule's.
    """
    return Finding(
        message,
        layers=tuple(sorted(set(layers))),
        stated_severity=severity,
        confidence=confidence,
        savings_ms=savings or {},
        engine_saving_ms=engine_saving_ms,
        estimate=estimate,
        evidence=evidence or {},
        remedy=remedy,
        group=group,
        is_minor=is_minor,
    )


def not_checked(reason: str, layers: int | None = None) -> NotChecked:
    """Return what the rule that yields it did not check."""
    return NotChecked("", reason, layers)
