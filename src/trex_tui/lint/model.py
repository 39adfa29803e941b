"""The vocabulary of lint: a rule, what it finds, and what it says where it cannot look."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trex_tui.analysis.gates import Gate
    from trex_tui.engine.model import Layer
    from trex_tui.lint.context import Context

Value = str | int | float | bool | None


class FindingSeverity(str, Enum):
    """How much a finding matters, the worst first."""

    ERROR = "error"
    """The numbers cannot be trusted."""
    WARNING = "warning"
    """Time can be saved, or accuracy may be lost."""
    INFO = "info"
    """Information; often intended."""
    GOOD = "good"
    """A strength: nothing to gain."""

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(FindingSeverity).index(self)

    @property
    def milder(self) -> FindingSeverity:
        """One step down; `INFO` stays, and `GOOD` does."""
        return {
            FindingSeverity.ERROR: FindingSeverity.WARNING,
            FindingSeverity.WARNING: FindingSeverity.INFO,
        }.get(self, self)


Severity = FindingSeverity
"""Its name in rules, also in those of third parties."""


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
        confidence: Of the saving, or of the finding where there is none.
        savings_ms: Milliseconds that could be won, by layer index: an estimate, never more than the layer takes. A layer
            whose saving is unknown is left out. `saving_ms` is their sum; totals over findings take the largest saving of
            each layer, so that nothing is won twice.
        engine_saving_ms: A saving that belongs to no layer (time between layers); None if there is none.
        formula: How the savings are computed, in words and columns; empty where there are none.
        evidence: The values that made the rule speak, the most telling first.
        remedy: Remedy here, where it differs from the rule's own advice.
        group: What several findings of the rule with this cause are called, after their number: `layers convert a network
            input, FP32 → FP16`. Those with the same text and remedy become one finding. Empty if it
            stays alone.
    """

    rule: str
    message: str
    layers: tuple[int, ...] = ()
    severity: FindingSeverity | None = None
    confidence: Confidence = Confidence.MEDIUM
    savings_ms: Mapping[int, float] = field(default_factory=dict)
    engine_saving_ms: float | None = None
    formula: str = ""
    evidence: tuple[Evidence, ...] = ()
    remedy: str = ""
    group: str = ""

    @property
    def saving_ms(self) -> float | None:
        """Milliseconds that could be won by this finding alone; None if that is unknown."""
        if not self.savings_ms:
            return self.engine_saving_ms
        return sum(self.savings_ms.values()) + (self.engine_saving_ms or 0.0)


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A rule that was not checked, at all or for some layers. That is not the same as having found nothing.

    Attributes:
        rule: Id of the rule.
        reason: What it needs and how to get it, in a sentence: `no profile: run trtexec with --exportProfile`.
        layers: How many layers could not be checked; None for the whole engine.
    """

    rule: str
    reason: str
    layers: int | None = None


Findings = Iterator[Finding | NotChecked]
"""What a rule yields."""

Check = Callable[..., Iterable[Finding | NotChecked]]
"""Looks at a `Context`. Thresholds of the rule come as keyword arguments."""

Need = Callable[["Context"], str]
"""Why a rule cannot check an engine; empty if it can."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.

    Attributes:
        id: Stable: letters of its family and three digits; `OK-` and letters for what is well done.
        title: Short title.
        severity: Of its findings, unless one says otherwise. A saving below one hundredth of the engine, or low confidence,
            makes a finding one step milder.
        looks_for: The condition, in words and numbers.
        why: Reason.
        remedy: Remedy.
        references: Public documents by name, each with its address if it has one.
        columns: Frame columns it reads.
        check: The rule itself.
        not_when: Exceptions, in words.
        needs: What an engine must have; where something is missing, `check` is not called.
        thresholds: Default by name. A configuration changes them as `ID.name`.
        is_symptom: It names where time goes, not why: left out where other rules state savings for half of its time or more.
    """

    id: str
    title: str
    severity: FindingSeverity
    looks_for: str
    why: str
    remedy: str
    references: tuple[str, ...]
    columns: tuple[str, ...]
    check: Check
    not_when: str = ""
    needs: tuple[Need, ...] = ()
    thresholds: Mapping[str, float] = field(default_factory=dict)
    is_symptom: bool = False

    @property
    def family(self) -> str:
        """The letters of the id: `CONV` of `CONV001`, `OK` of `OK-TC`."""
        return self.id.split("-", 1)[0].rstrip("0123456789")

    @property
    def named_thresholds(self) -> dict[str, float]:
        """Default by the name that a configuration uses: `CONV003.waste_pct`."""
        return {f"{self.id}.{name}": float(value) for name, value in sorted(self.thresholds.items())}

    def look(self, context: Context) -> Findings:
        """What the rule finds; a context is looked through once, however many rules ask."""
        known = context.answers.get((self.id, self.check))
        if known is not None:
            yield from known
            return
        answers = []
        for answer in self._check(context):
            answers.append(answer)
            yield answer
        context.answers[self.id, self.check] = answers

    def _check(self, context: Context) -> Findings:
        for need in self.needs:
            if reason := need(context):
                yield NotChecked(self.id, reason)
                return
        limits = {
            name: context.thresholds.get(f"{self.id}.{name}", default)
            for name, default in self.thresholds.items()
        }
        for answer in self.check(context, **limits):
            yield answer if answer.rule else replace(answer, rule=self.id)


def rule(
    rule_id: str,
    title: str,
    severity: FindingSeverity,
    *,
    looks_for: str,
    why: str,
    remedy: str,
    references: tuple[str, ...] = (),
    columns: tuple[str, ...] = (),
    not_when: str = "",
    needs: tuple[Need, ...] = (),
    thresholds: Mapping[str, float] | None = None,
    is_symptom: bool = False,
) -> Callable[[Check], Rule]:
    """Make a function the rule that these texts describe."""

    def declare(check: Check) -> Rule:
        return Rule(
            rule_id,
            title,
            severity,
            looks_for,
            why,
            remedy,
            references,
            columns,
            check,
            not_when,
            needs,
            thresholds or {},
            is_symptom,
        )

    return declare


def strength(
    name: str, title: str, looks_for: str, columns: tuple[str, ...], without: tuple[Rule, ...] = ()
) -> Callable[[Callable[[Context], Finding | None]], Rule]:
    """Make a function the rule `OK-name`: it states the number of what is well done, or None.

    Where the data for a statement is lacking there is none, and nothing is called not checked.

    Args:
        without: Rules that must find nothing.
    """

    def declare(count: Callable[[Context], Finding | None]) -> Rule:
        def check(context: Context) -> Findings:
            if any(isinstance(answer, Finding) for other in without for answer in other.look(context)):
                return
            if praise := count(context):
                yield replace(praise, confidence=Confidence.HIGH)

        return Rule(
            id=f"OK-{name}",
            title=title,
            severity=FindingSeverity.GOOD,
            looks_for=looks_for,
            why="Already optimal; no work needed here.",
            remedy="None; keep it.",
            references=(),
            columns=columns,
            check=check,
            not_when="Engines without the needed data.",
        )

    return declare


def finding(
    message: str,
    layers: Iterable[Layer] = (),
    *,
    severity: FindingSeverity | None = None,
    confidence: Confidence = Confidence.MEDIUM,
    savings: Mapping[int, float] | Iterable[Layer] = (),
    engine_saving_ms: float | None = None,
    formula: str = "",
    evidence: Mapping[str, Any] | Iterable[Evidence] = (),
    remedy: str = "",
    group: str = "",
) -> Finding:
    """A finding of the rule that yields it.

    Args:
        savings: Milliseconds by layer index, or layers that could go altogether.
        evidence: Values by name; or as they are, where a name comes twice.
    """
    if not isinstance(savings, Mapping):
        savings = {layer.index: layer.latency_ms for layer in savings if layer.latency_ms is not None}
    if isinstance(evidence, Mapping):
        evidence = [Evidence(name, value) for name, value in evidence.items()]
    return Finding(
        rule="",
        message=message,
        layers=tuple(sorted({layer.index for layer in layers})),
        severity=severity,
        confidence=confidence,
        savings_ms=savings,
        engine_saving_ms=engine_saving_ms,
        formula=formula,
        evidence=tuple(evidence),
        remedy=remedy,
        group=group,
    )


def not_checked(reason: str, layers: int | None = None) -> NotChecked:
    """What the rule that yields it did not check."""
    return NotChecked("", reason, layers)


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding, and what it weighs in this engine.

    Attributes:
        rule: The rule that found it.
        finding: With savings that no layer's time falls short of, and without suppressed layers.
        severity: The finding's or rule's own; one step milder where `is_demoted`.
        is_demoted: Its saving is below `run.SMALL_SAVING` of the engine, or its confidence low. Errors never are.
        layer_ms: Time of its layers; None if none of them has a time, or it is about no layer.
        layers_without_time: How many of its layers `layer_ms` could not include.
        saving_ms: Milliseconds that could be won by this finding alone; None if that is unknown.
        suppressed_layers: How many of its layers were left out of it.
        reason: Why the configuration leaves it out, in somebody's words; empty if it does not.
        origin: File and key that state it.
    """

    rule: Rule
    finding: Finding
    severity: FindingSeverity
    is_demoted: bool
    layer_ms: float | None
    layers_without_time: int
    saving_ms: float | None
    suppressed_layers: int = 0
    reason: str = ""
    origin: str = ""

    @property
    def layers(self) -> tuple[int, ...]:
        return self.finding.layers

    @property
    def message(self) -> str:
        return self.finding.message

    @property
    def remedy(self) -> str:
        return self.finding.remedy or self.rule.remedy

    @property
    def confidence(self) -> Confidence:
        return self.finding.confidence


@dataclass(frozen=True, slots=True)
class Savings:
    """What all findings together could win. Nothing is won twice: of each layer the largest saving counts.

    Attributes:
        layers_ms: Sum over layers of the largest saving of each, never more than the layer's time; None if none is known.
        engine_ms: The largest saving that belongs to no layer; None if there is none. Several of them are different
            explanations of the same time between layers.
        end_to_end_ms: Both as part of the end-to-end time: `layers_ms * median compute / sum over layers + engine_ms`,
            the factor never above 1. None without a timing run.
    """

    layers_ms: float | None = None
    engine_ms: float | None = None
    end_to_end_ms: float | None = None

    @property
    def total_ms(self) -> float | None:
        """`layers_ms` and `engine_ms`; None if both are unknown."""
        if self.layers_ms is None:
            return self.engine_ms
        return self.layers_ms + (self.engine_ms or 0.0)


@dataclass(frozen=True, slots=True)
class LintResult:
    """All that lint says about one engine.

    Attributes:
        findings: Errors, warnings and infos: the worst first, then the largest saving, the id, the layers.
        positives: What is well done, by id.
        suppressed: What the configuration leaves out, in the order of findings.
        not_checked: What rules did not check, by id.
        failed: Ids of rules that broke; `not_checked` says how.
        rules: Ids of the rules that ran, in order.
        milder: How many findings were left out because they are milder than asked for.
        counts: Number of findings by severity, zeros included; suppressed ones do not count.
        savings: Over `findings`.
        by_layer: Findings by the index of each of their layers, in their order. Layers without findings are not in it.
    """

    findings: tuple[Judged, ...]
    positives: tuple[Judged, ...]
    suppressed: tuple[Judged, ...]
    not_checked: tuple[NotChecked, ...]
    failed: tuple[str, ...]
    rules: tuple[str, ...]
    milder: int
    counts: Mapping[FindingSeverity, int]
    savings: Savings
    by_layer: Mapping[int, tuple[Judged, ...]] = field(repr=False)

    @property
    def saving_ms(self) -> float | None:
        """Milliseconds that all findings together could win; see `Savings`."""
        return self.savings.total_ms

    @property
    def rules_not_checked(self) -> int:
        return len({missing.rule for missing in self.not_checked})

    @property
    def worst(self) -> FindingSeverity | None:
        return self.findings[0].severity if self.findings else None

    def count(self, metric: str) -> int:
        """Number of `findings`, or of those of a severity."""
        return len(self.findings) if metric == "findings" else self.counts[FindingSeverity(metric)]

    def fails(self, fail_on: FindingSeverity | Gate | None) -> bool:
        """Whether a finding is at least as severe, or the gate falls; never for None."""
        if isinstance(fail_on, FindingSeverity):
            return any(judged.severity.rank <= fail_on.rank for judged in self.findings)
        return fail_on is not None and fail_on.falls(self.count(fail_on.metric))
