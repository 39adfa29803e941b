"""What lint says about an engine: findings with their weight, what is well done, left out, or could not be looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trex_tui.lint.model import Confidence, Finding, NotChecked, Rule, Severity


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding, and what it weighs in this engine.

    Attributes:
        rule: The rule that found it.
        finding: With stakes that no layer's time falls short of, and without suppressed layers.
        severity: The finding's or rule's own; one step milder where `is_demoted`.
        is_demoted: Its stake is below `run.SMALL_STAKE` of the engine, or its confidence low. Errors never are.
        layer_ms: Time of its layers; None if none of them has a time, or it is about no layer.
        layers_without_time: How many of its layers `layer_ms` could not include.
        stake_ms: Milliseconds that could be won by this finding alone; None if that is unknown.
        suppressed_layers: How many of its layers were left out of it.
    """

    rule: Rule
    finding: Finding
    severity: Severity
    is_demoted: bool
    layer_ms: float | None
    layers_without_time: int
    stake_ms: float | None
    suppressed_layers: int = 0

    @property
    def layers(self) -> tuple[int, ...]:
        """Indices of its layers, in execution order; empty for the engine as a whole."""
        return self.finding.layers

    @property
    def message(self) -> str:
        """What was found, in a sentence."""
        return self.finding.message

    @property
    def remedy(self) -> str:
        """What to do here, or the rule's advice."""
        return self.finding.remedy or self.rule.remedy

    @property
    def confidence(self) -> Confidence:
        """Of the stake, or of the finding where there is none."""
        return self.finding.confidence


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding, or those of its layers, that the configuration leaves out.

    Attributes:
        reason: Why, in somebody's words.
        origin: File and key that state it.
    """

    judged: Judged
    reason: str
    origin: str


@dataclass(frozen=True, slots=True)
class Stakes:
    """What all findings together could win. Nothing is won twice: of each layer the largest stake counts.

    Attributes:
        layers_ms: Sum over layers of the largest stake of each, never more than the layer's time; None if none is known.
        engine_ms: The largest stake that belongs to no layer; None if there is none. Several of them are different
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
        findings: Errors, warnings and infos: the worst first, then the largest stake, the id, the layers.
        positives: What is well done, by id.
        suppressed: What the configuration leaves out, in the order of findings.
        not_checked: What rules could not look at, by id.
        failed: Ids of rules that broke; `not_checked` says how.
        rules: Ids of the rules that ran, in order.
        milder: How many findings were left out because they are milder than asked for.
        counts: Number of findings by severity, zeros included; suppressed ones do not count.
        stakes: Over `findings`.
        by_layer: Findings by the index of each of their layers, in their order. Layers without findings are not in it.
    """

    findings: tuple[Judged, ...]
    positives: tuple[Judged, ...]
    suppressed: tuple[Suppressed, ...]
    not_checked: tuple[NotChecked, ...]
    failed: tuple[str, ...]
    rules: tuple[str, ...]
    milder: int
    counts: Mapping[Severity, int]
    stakes: Stakes
    by_layer: Mapping[int, tuple[Judged, ...]] = field(repr=False)

    @property
    def stake_ms(self) -> float | None:
        """Milliseconds that all findings together could win; see `Stakes`."""
        return self.stakes.total_ms

    @property
    def worst(self) -> Severity | None:
        """Severity of the worst finding; None without findings."""
        return self.findings[0].severity if self.findings else None

    def fails(self, fail_on: Severity | None) -> bool:
        """Whether a finding is at least as severe; never for None."""
        return fail_on is not None and any(one.severity.rank <= fail_on.rank for one in self.findings)
