"""The vocabulary of lint: a rule, what it finds, and what it says where it cannot look."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trex_tui.lint.context import Context

Value = str | int | float | bool | None


class Severity(str, Enum):
    """How much a finding matters, the worst first."""

    ERROR = "error"
    """The numbers cannot be trusted."""
    WARNING = "warning"
    """Milliseconds that can be won, or accuracy that may be lost."""
    INFO = "info"
    """Worth knowing; often right as it is."""
    GOOD = "good"
    """Well done: nothing to gain here."""

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)

    @property
    def milder(self) -> Severity:
        """One step down; `INFO` stays, and `GOOD` does."""
        return {Severity.ERROR: Severity.WARNING, Severity.WARNING: Severity.INFO}.get(self, self)


class Confidence(str, Enum):
    """How sure a finding is of its milliseconds, or of itself where it has none."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A value that made a rule speak.

    Attributes:
        name: The frame column it comes from (`tactic`, `latency_ms`), or a word of the rule's own with its unit at the end.
        value: As found in the engine.
    """

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found.

    Attributes:
        rule: Id of the rule.
        message: One sentence with the numbers in it; about this engine, not about the rule.
        layers: Indices of the layers it is about, in execution order; empty for the engine as a whole.
        severity: None for the rule's own.
        confidence: Of the stake, or of the finding where there is none.
        stakes_ms: Milliseconds that could be won, by layer index: an estimate, never more than the layer takes. A layer
            whose stake is unknown is left out. `stake_ms` is their sum; totals over findings take the largest stake of
            each layer, so that nothing is won twice.
        engine_stake_ms: A stake that belongs to no layer (time between layers); None if there is none.
        formula: How the stakes are computed, in words and columns; empty where there are none.
        evidence: The values that made the rule speak, the most telling first.
        remedy: What to do here, where it differs from the rule's own advice.
    """

    rule: str
    message: str
    layers: tuple[int, ...] = ()
    severity: Severity | None = None
    confidence: Confidence = Confidence.MEDIUM
    stakes_ms: Mapping[int, float] = field(default_factory=dict)
    engine_stake_ms: float | None = None
    formula: str = ""
    evidence: tuple[Evidence, ...] = ()
    remedy: str = ""

    @property
    def stake_ms(self) -> float | None:
        """Milliseconds that could be won by this finding alone; None if that is unknown."""
        if not self.stakes_ms:
            return self.engine_stake_ms
        return sum(self.stakes_ms.values()) + (self.engine_stake_ms or 0.0)


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A rule could not look, at all or at some layers. That is not the same as having found nothing.

    Attributes:
        rule: Id of the rule.
        reason: What it needs and how to get it, in a sentence: `no profile: run trtexec with --exportProfile`.
        layers: How many layers could not be checked; None for the whole engine.
    """

    rule: str
    reason: str
    layers: int | None = None


Check = Callable[["Context"], Iterable[Finding | NotChecked]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.

    Attributes:
        id: Stable: letters of its family and three digits; `OK-` and letters for what is well done.
        title: What is wrong, in a few words.
        severity: Of its findings, unless one says otherwise. A stake below one hundredth of the engine, or low confidence,
            makes a finding one step milder.
        looks_for: The condition, in words and numbers.
        why: Why it matters.
        remedy: What to do.
        references: Public documents by name, each with its address if it has one.
        columns: Frame columns it reads.
        check: The rule itself.
        not_when: What it leaves alone on purpose, in words.
    """

    id: str
    title: str
    severity: Severity
    looks_for: str
    why: str
    remedy: str
    references: tuple[str, ...]
    columns: tuple[str, ...]
    check: Check
    not_when: str = ""

    @property
    def family(self) -> str:
        """The letters of the id: `CONV` of `CONV001`, `OK` of `OK-TC`."""
        return self.id.split("-", 1)[0].rstrip("0123456789")
