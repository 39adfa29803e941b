"""What a person wants of lint: which rules, from which severity on, with which numbers, and what is left alone and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trex_tui.lint.model import Rule, Severity


@dataclass(frozen=True, slots=True)
class Suppression:
    """Findings that somebody has judged and wants left out.

    Attributes:
        rules: Ids or families; empty for every rule.
        layers: A filter; the findings lose the layers that match, and are left out when none remains. Empty for whole
            findings, also those about no layer.
        reason: Why, in words; never empty.
        origin: Where it is stated: `trex-tui.toml: lint.suppress[2]`.
    """

    rules: tuple[str, ...]
    layers: str
    reason: str
    origin: str


@dataclass(frozen=True, slots=True)
class LintConfig:
    """How to lint.

    Attributes:
        select: Ids or families of the rules to run; empty for all.
        ignore: Ids or families of rules not to run; stronger than `select`.
        thresholds: Numbers of rules that are not to be the rule's own, by name: `CONV003.waste_pct`.
        min_severity: The mildest severity to keep; `GOOD` keeps what is well done too.
        fail_on: The mildest severity that makes the command fail; None for never.
        suppressions: In the order they are stated; the first that fits a layer counts.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    thresholds: Mapping[str, float] = field(default_factory=dict)
    min_severity: Severity = Severity.GOOD
    fail_on: Severity | None = Severity.ERROR
    suppressions: tuple[Suppression, ...] = ()

    def wants(self, rule: Rule) -> bool:
        """Whether a rule is to run."""
        selected = not self.select or names_rule(self.select, rule)
        return selected and not names_rule(self.ignore, rule)


def names_rule(names: tuple[str, ...], rule: Rule) -> bool:
    """Whether ids or families name a rule."""
    return rule.id in names or rule.family in names
