"""Types of lint: rules, findings, and reasons why a rule could not be checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from trex_tui.old.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from trex_tui.old.analysis.gates import Gate
    from trex_tui.old.engine.model import Layer
    from trex_tui.old.lint.context import Context

Value = str | int | float | bool | None


class FindingSeverity(str, Enum):
    """Severity of a finding, the worst first."""

    ERROR = "error"
    """The numbers cannot be trusted."""
    WARNING = "warning"
    """Time can be saved, or accuracy may be lost."""
    INFO = "info"
    """Information; often intended."""
    GOOD = "good"
    """A strength: nothing to improve."""

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(FindingSeverity).index(self)

    @property
    def milder(self) -> FindingSeverity:
        """Return the next lower severity; `INFO` and `GOOD` stay."""
        return {
            FindingSeverity.ERROR: FindingSeverity.WARNING,
            FindingSeverity.WARNING: FindingSeverity.INFO,
        }.get(self, self)


Severity = FindingSeverity
"""Name used in rules, including those of third parties."""


class Confidence(str, Enum):
    """Confidence in the saving of a finding, or in the finding itself if it has no saving."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A value that triggered a rule.

    Attributes:
        name: Source column of the frame (`tactic`, `latency_ms`), or a name chosen by the rule, ending with the unit.
        value: As found in the engine.
    """

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a rule.

    Attributes:
        rule: Id of the rule.
        message: One sentence with numbers, about this engine, not about the rule.
        layers: Indices of its layers, in execution order; empty for the engine as a whole.
        severity: None for the rule's own.
        confidence: Confidence in the saving, or in the finding if it has no saving.
        savings_ms: Possible savings in milliseconds by layer index: an estimate, never more than the layer takes. Layers with
            unknown savings are left out. `saving_ms` is their sum; totals over findings take the largest saving of each
            layer, so that nothing counts twice.
        engine_saving_ms: A saving that belongs to no layer (time between layers); None if there is none.
        formula: How the savings are computed, in words and columns; empty without savings.
        evidence: The values that triggered the rule, the most relevant first.
        remedy: Remedy in this case, if it differs from that of the rule.
        group: Text for several findings of the rule with this cause, after their number: `layers convert a network input,
            FP32 → FP16`. Findings with the same text and remedy are merged. Empty to keep the finding separate.
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
        """Possible saving of this finding alone, in milliseconds; None if unknown."""
        if not self.savings_ms:
            return self.engine_saving_ms
        return sum(self.savings_ms.values()) + (self.engine_saving_ms or 0.0)


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A rule that was not checked, at all or for some layers, which differs from no findings.

    Attributes:
        rule: Id of the rule.
        reason: Missing data and how to get it, in a sentence: `no profile: run trtexec with --exportProfile`.
        layers: Number of layers not checked; None for the whole engine.
    """

    rule: str
    reason: str
    layers: int | None = None


Findings = Iterator[Finding | NotChecked]
"""Result of a rule."""

Check = Callable[..., Iterable[Finding | NotChecked]]
"""Checks a `Context`. Thresholds of the rule are keyword arguments."""

Need = Callable[["Context"], str]
"""Returns why a rule cannot check an engine; empty if it can."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.

    Attributes:
        id: Stable: letters of its family and three digits; `OK-` and letters for strengths.
        title: Short title.
        severity: Default severity of its findings. A saving below one hundredth of the engine, or low confidence, lowers the
            severity by one level.
        looks_for: The condition, in words and numbers.
        why: Reason.
        remedy: Remedy.
        references: Public documents by name, each with its address if it has one.
        columns: Frame columns it reads.
        check: The function that finds.
        not_when: Exceptions, in words.
        needs: Requirements of the engine; if one is not met, `check` is not called.
        thresholds: Name -> default. A configuration changes them as `ID.name`.
        is_symptom: Its findings have no cause: they are dropped if other rules explain half of their time or more.
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
        """Letters of the id: `CONV` of `CONV001`, `OK` of `OK-TC`."""
        return self.id.split("-", 1)[0].rstrip("0123456789")

    @property
    def named_thresholds(self) -> dict[str, float]:
        """Return name in the configuration -> default: `CONV003.waste_pct`."""
        return {f"{self.id}.{name}": float(value) for name, value in sorted(self.thresholds.items())}

    def look(self, context: Context) -> Findings:
        """Return the results of the rule; cached per context."""
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
    """Return a decorator that makes a function a rule with these texts."""

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
    """Return a decorator that makes a function the rule `OK-name`: it returns a finding about a strength, or None.

    If data is missing there is no finding, and the rule is not reported as not checked.

    Args:
        without: Rules that must have no findings.
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
    """Return a finding of the rule that yields it.

    Args:
        savings: Milliseconds by layer index, or layers that could be removed.
        evidence: Values by name; or a list, if a name occurs twice.
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
    """Return what the rule that yields it did not check."""
    return NotChecked("", reason, layers)


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding with its weight in this engine.

    Attributes:
        rule: The rule of the finding.
        finding: With savings limited to the time of each layer, and without suppressed layers.
        severity: Severity of the finding or rule; one level lower if `is_demoted`.
        is_demoted: Its saving is below `run.SMALL_SAVING` of the engine, or its confidence low. Never true for errors.
        layer_ms: Time of its layers; None if none of them has a time, or it has no layers.
        layers_without_time: Number of its layers missing in `layer_ms`.
        saving_ms: Possible saving of this finding alone, in milliseconds; None if unknown.
        suppressed_layers: Number of its layers that were removed.
        reason: Reason of the suppression in the configuration; empty if not suppressed.
        origin: File and key of the suppression.
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
    """Possible savings of all findings together. Nothing counts twice: for each layer the largest saving counts.

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
    """Results of lint for one engine.

    Attributes:
        findings: Errors, warnings and infos, sorted by severity, then by saving or, where it is unknown, the time of the
            layers, the largest first.
        positives: Strengths, the longest time of their layers first.
        suppressed: Findings suppressed by the configuration, in the order of findings.
        not_checked: Checks that rules could not make, by id.
        failed: Ids of rules that raised an error, which is described in `not_checked`.
        rules: Ids of the rules that ran, in order.
        milder: Number of findings below the requested severity, which were dropped.
        counts: Number of findings by severity, zeros included; suppressed ones do not count.
        savings: Over `findings`.
        by_layer: Findings by the index of each of their layers, in their order. Layers without findings are missing.
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
    by_layer: Mapping[int, tuple[Judged, ...]]

    def __repr__(self) -> str:
        return f"<LintResult: {len(self.findings)} findings of {len(self.rules)} rules>"

    @property
    def saving_ms(self) -> float | None:
        """Possible savings of all findings together, in milliseconds; see `Savings`."""
        return self.savings.total_ms

    @property
    def rules_not_checked(self) -> int:
        return len({missing.rule for missing in self.not_checked})

    @property
    def worst(self) -> FindingSeverity | None:
        return self.findings[0].severity if self.findings else None

    def count(self, metric: str) -> int:
        """Return the number of `findings`, or of those of a severity."""
        return len(self.findings) if metric == "findings" else self.counts[FindingSeverity(metric)]

    def fails(self, fail_on: FindingSeverity | Gate | None) -> bool:
        """Return whether a finding is at least as severe, or the gate fails; never for None."""
        if isinstance(fail_on, FindingSeverity):
            return any(judged.severity.rank <= fail_on.rank for judged in self.findings)
        return fail_on is not None and fail_on.falls(self.count(fail_on.metric))
