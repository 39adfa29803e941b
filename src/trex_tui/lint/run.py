"""Run the rules on an engine, and weigh their findings.

All severities, orders and sums shown to users are determined here, so that screens, reports and exit codes agree.
"""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from trex_tui.analysis.gates import Gate
from trex_tui.analysis.timing import find_latency
from trex_tui.artifacts.kinds import FileKind
from trex_tui.column import Column
from trex_tui.engine.attributes import RAW_PREFIX
from trex_tui.engine.filter import FilterError, find_matches
from trex_tui.engine.model import Engine
from trex_tui.errors import TrexError
from trex_tui.frames import TEXT
from trex_tui.lint.config import LintConfig, Suppression
from trex_tui.lint.context import Context
from trex_tui.lint.remedies import choose, with_settings
from trex_tui.lint.rule import (
    ERROR,
    EVERY_RULE,
    GOOD,
    LOW,
    WARNING,
    Finding,
    FindingSeverity,
    NotChecked,
    Rule,
)
from trex_tui.lint.rules import RuleSet, load_rules
from trex_tui.lint.savings import Savings, clamp, combine, merge

SMALL_PCT = 1.0
"""Share of the engine below which the saving of a warning makes it an info."""
MINOR_PCT = 0.5
"""Share of the engine below which a finding is listed on request only."""
NO_LAYERS = "no layers: no layer information and no profile; run trtexec with --exportLayerInfo"
_NAMED = 3
"""Number of the largest findings that the sentence of a group names."""
_EVERYTHING = LintConfig()
_LOGGER = logging.getLogger(__name__)
_LOGGER.addHandler(logging.NullHandler())  # off the screen, unless a program that uses this package listens


@dataclass(frozen=True, eq=False)
class LintResult:
    """Results of lint for one engine.

    Attributes:
        findings: Errors, warnings and infos, sorted by severity, then by saving or, where it is unknown, the time of the
            layers, the largest first.
        minor: Findings with a saving below `MINOR_PCT` of the engine, likewise; empty if the configuration shows all.
        remarks: Findings about the reproducibility of the build.
        positives: Strengths, the longest time of their layers first.
        suppressed: Findings suppressed by the configuration, in the order of findings.
        not_checked: Checks that rules could not make, by id.
        failed: Ids of rules that raised an error, which is described in `not_checked`.
        rules: Ids of the rules that ran, in order.
        milder: Number of findings below the requested severity, which were dropped.
        savings: Over `findings`.
    """

    findings: tuple[Finding, ...]
    minor: tuple[Finding, ...]
    remarks: tuple[Finding, ...]
    positives: tuple[Finding, ...]
    suppressed: tuple[Finding, ...]
    not_checked: tuple[NotChecked, ...]
    failed: tuple[str, ...]
    rules: tuple[str, ...]
    milder: int
    savings: Savings

    def __repr__(self) -> str:
        return f"<LintResult: {len(self.findings)} findings of {len(self.rules)} rules>"

    @property
    def saving_ms(self) -> float | None:
        """Possible savings of all findings together, in milliseconds; see `Savings`."""
        return self.savings.total_ms

    @cached_property
    def counts(self) -> Mapping[FindingSeverity, int]:
        """Number of findings by severity, zeros included; suppressed and minor ones do not count."""
        counts = Counter(finding.severity for finding in (*self.findings, *self.positives))
        return {severity: counts[severity] for severity in FindingSeverity}

    @cached_property
    def by_layer(self) -> Mapping[int, tuple[Finding, ...]]:
        """Findings by each of their layers, in their order. Layers without findings are missing."""
        by_layer: dict[int, tuple[Finding, ...]] = {}
        for finding in (*self.findings, *self.minor):
            for layer in finding.layers:
                by_layer[layer] = (*by_layer.get(layer, ()), finding)
        return dict(sorted(by_layer.items()))

    @property
    def rules_not_checked(self) -> int:
        return len({missing.rule for missing in self.not_checked})

    def count(self, metric: str) -> int:
        """Return the number of `findings`, or of those of a severity."""
        return len(self.findings) if metric == "findings" else self.counts[FindingSeverity(metric)]

    def fails(self, fail_on: FindingSeverity | Gate | None) -> bool:
        """Return whether a finding is at least as severe, or the gate's condition is met; never for None."""
        if isinstance(fail_on, FindingSeverity):
            return any(finding.severity.rank <= fail_on.rank for finding in self.findings)
        return fail_on is not None and fail_on.is_met(self.count(fail_on.metric))


def run_rules(
    engine: Engine,
    config: LintConfig = _EVERYTHING,
    rules: RuleSet | None = None,
    layers: Collection[int] | None = None,
) -> LintResult:
    """Check an engine with every selected rule.

    A rule that raises an error is listed under `not_checked` and `failed`; the others still run.

    Args:
        rules: By default those of this installation.
        layers: Keep only findings about one of these; not those about the engine as a whole.

    Raises:
        TrexError: The filter of a suppression is invalid, or takes too long.
    """
    chosen = [rule for rule in (rules or load_rules()).rules if config.wants(rule)]
    context = Context(engine)
    found: dict[str, list[Finding]] = {}
    not_checked: list[NotChecked] = []
    failed: list[str] = []
    for rule in chosen:
        found[rule.id] = []
        try:
            for result in _look(rule, context):
                if isinstance(result, NotChecked):
                    reason = with_settings(result.reason, context.platform.producer)
                    not_checked.append(result._replace(reason=reason))
                else:
                    found[rule.id].append(result)
        except Exception as error:  # noqa: BLE001 - rules may be plug-ins: whatever one raises costs that one
            failed.append(rule.id)
            not_checked.append(NotChecked(rule.id, _describe_failure(rule, error)))
    every = [finding for rule in chosen for finding in _weigh(rule, found, context)]
    if layers is not None:
        wanted = frozenset(layers)
        every = [finding for finding in every if not wanted.isdisjoint(finding.layers)]
    kept, suppressed = _divide_suppressed(context, every, config.suppressions)
    shown = sorted((f for f in kept if f.severity.rank <= config.min_severity.rank), key=_order)
    listed = [finding for finding in shown if finding.severity is not GOOD and not finding.rule.is_remark]
    minor = [] if config.shows_all else [finding for finding in listed if _is_minor(finding, context)]
    findings = tuple(finding for finding in listed if finding not in minor)
    return LintResult(
        findings=findings,
        minor=tuple(minor),
        remarks=tuple(finding for finding in shown if finding.rule.is_remark),
        positives=tuple(finding for finding in shown if finding.severity is GOOD),
        suppressed=tuple(sorted(suppressed, key=_order)),
        not_checked=tuple(sorted(not_checked, key=lambda missing: missing[:2])),
        failed=tuple(failed),
        rules=tuple(rule.id for rule in chosen),
        milder=len(kept) - len(shown),
        savings=combine(findings, context.total_ms, find_latency(engine, "median_ms", "compute")),
    )


def _look(rule: Rule, context: Context) -> Iterator[Finding | NotChecked]:
    """Yield the results of one rule; those before an error are kept.

    Raises:
        IndexError: A finding has a layer that does not exist.
    """
    count = len(context.engine)
    if not count and rule.columns:
        yield NotChecked(rule.id, context.explain_absence(NO_LAYERS, FileKind.GRAPH, FileKind.PROFILE))
        return
    for result in rule.look(context):
        for layer in (*result.layers, *result.savings_ms) if isinstance(result, Finding) else ():
            if not 0 <= layer < count:
                raise IndexError(f"layer {layer} does not exist")
        yield result


def _describe_failure(rule: Rule, error: Exception) -> str:
    """Return what failed and where, in a sentence; log the traceback."""
    _LOGGER.error("lint rule %s failed", rule.id, exc_info=error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    message = " ".join(str(error).split())
    origin = f"{Path(last.filename).name} line {last.lineno}"
    return f"the rule failed: {type(error).__name__}{': ' if message else ''}{message} ({origin})"


def _order(finding: Finding) -> tuple[int, float, bool, str, tuple[int, ...], str]:
    """Return the key: severity, saving (where it is unknown, the time of the layers), id, layers."""
    saving = finding.saving_ms
    weight = finding.layer_ms if saving is None else saving
    return (
        finding.severity.rank,
        -(weight or 0.0),
        saving is None,
        finding.rule.id,
        finding.layers,
        finding.message,
    )


# Weights


def _weigh(rule: Rule, found: Mapping[str, Sequence[Finding]], context: Context) -> Iterator[Finding]:
    """Yield the findings of one rule, merged by cause, without those known to save nothing or that others explain."""
    findings = found[rule.id]
    if findings and rule.covered_by:
        causes = [cause for other in found.values() for cause in other if _may_cover(rule, cause.rule)]
        findings = [finding for finding in findings if not _is_covered(context, finding, causes)]
    for finding in _group(context, findings):
        remedy = choose(finding.remedy or rule.remedy, context.platform)
        weighed = _judge(context, replace(finding, remedy=remedy))
        if weighed.saving_ms != 0:
            yield weighed


def _may_cover(rule: Rule, other: Rule) -> bool:
    return other is not rule and (rule.covered_by == EVERY_RULE or other.is_named_by(rule.covered_by))


def _is_covered(context: Context, finding: Finding, causes: Iterable[Finding]) -> bool:
    """Return whether half of a finding's time or more is on layers with a cause; of its layers, if times are unknown.

    A finding without a saving yields to causes of at least medium confidence; of two findings that yield to every rule, the
    one with a saving stays.
    """
    explained = {
        layer
        for cause in causes
        if finding.savings_ms or cause.confidence is not LOW
        if cause.rule.covered_by != EVERY_RULE or not finding.savings_ms
        for layer in cause.layers
        if not context.has_profile or cause.savings_ms.get(layer, 0.0) > 0
    }
    times = {layer: context.ms[layer] or 0.0 for layer in finding.layers}
    if not any(times.values()):
        times = dict.fromkeys(finding.layers, 1.0)
    whole = sum(times.values())
    return bool(whole) and 2 * sum(ms for layer, ms in times.items() if layer in explained) >= whole


def _judge(context: Context, finding: Finding, suppressed_layers: int = 0) -> Finding:
    """Return a finding with its weight, and its saving within the time of its layers."""
    finding, times = clamp(finding, context), context.times(finding.layers)
    share = context.pct(finding.saving_ms)
    is_mild = finding.confidence is LOW or (share is not None and share < SMALL_PCT)
    own = finding.stated_severity or finding.rule.severity
    return replace(
        finding,
        estimate=(finding.estimate or finding.rule.estimate) if finding.saving_ms is not None else "",
        is_demoted=is_mild and own is WARNING,
        layer_ms=context.sum_ms(finding.layers),
        layers_without_time=len(finding.layers) - len(times),
        suppressed_layers=suppressed_layers,
    )


def _is_minor(finding: Finding, context: Context) -> bool:
    """Return whether a finding is listed on request only."""
    share = context.pct(finding.saving_ms)
    is_small = share is not None and share < MINOR_PCT
    return (finding.is_minor or is_small) and finding.severity is not ERROR


# Groups


def _group(context: Context, findings: Iterable[Finding]) -> list[Finding]:
    """Merge findings with the same `group` and remedy at the position of the first; those without group stay unchanged."""
    groups: dict[object, list[Finding]] = {}
    for number, finding in enumerate(findings):
        groups.setdefault((finding.group, finding.remedy) if finding.group else number, []).append(finding)
    return [_merge(context, group) if len(group) > 1 else group[0] for group in groups.values()]


def _merge(context: Context, findings: Sequence[Finding]) -> Finding:
    ordered = sorted(findings, key=lambda finding: (-(finding.saving_ms or 0.0), finding.layers))
    layers = sorted({layer for finding in findings for layer in finding.layers})
    places = dict.fromkeys(_find_place(context, finding) for finding in ordered if finding.layers)
    ranked = sorted(places, key=lambda layer: -(context.ms[layer] or 0.0))[:_NAMED]
    message = f"{len(findings)} {ordered[0].group}: "
    if context.sum_ms(layers) is None:
        message += ", ".join(map(context.quote, ranked)) + ", …" * (len(places) > _NAMED)
    else:
        named = ", ".join(f"{context.quote(layer)} {context.format_time(layer)}" for layer in ranked)
        message += f"{context.format_time(*layers)}. The largest: {named}"
    savings: dict[int, float] = {}
    for finding in findings:
        savings = merge(savings, finding.savings_ms)
    stated = [finding.stated_severity for finding in findings if finding.stated_severity is not None]
    between = [finding.engine_saving_ms for finding in findings if finding.engine_saving_ms is not None]
    return replace(
        ordered[0],
        message=f"{message}.",
        layers=tuple(layers),
        stated_severity=min(stated, key=lambda severity: severity.rank) if stated else None,
        confidence=max((finding.confidence for finding in findings), key=lambda confidence: confidence.rank),
        savings_ms=savings,
        engine_saving_ms=max(between, default=None),
        evidence={"places": len(findings), **ordered[0].evidence},
    )


def _find_place(context: Context, finding: Finding) -> int:
    """Return the layer that stands for a finding: with the largest saving, else the slowest."""
    return context.longest(
        layer
        for layer in finding.layers
        if finding.savings_ms.get(layer, 0.0) >= max(finding.savings_ms.values(), default=0.0)
    )


# Suppressions


class _AnyAttribute(dict[str, Column]):
    """Columns of all raw attributes, so that a filter may name one that this engine lacks."""

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key.startswith(RAW_PREFIX)

    def get(self, key: str, _default: object = None) -> Column:
        return Column(key, key)


class _Others:
    columns = _AnyAttribute()

    def column(self, key: str) -> pd.Series:
        return pd.Series(dtype=TEXT, name=key)


def _divide_suppressed(
    context: Context, findings: Iterable[Finding], suppressions: Sequence[Suppression]
) -> tuple[list[Finding], list[Finding]]:
    """Return the findings that remain after suppressions, and the suppressed ones."""
    matching = [_matching_layers(context.engine, suppression) for suppression in suppressions]
    kept: list[Finding] = []
    taken: list[Finding] = []
    for finding in findings:
        rest: Finding | None = finding
        for suppression, layers in zip(suppressions, matching, strict=True):
            if rest is not None and suppression.concerns(rest.rule):
                part, rest = _divide(context, rest, layers)
                if part is not None:
                    taken.append(replace(part, reason=suppression.reason, origin=suppression.origin))
        if rest is not None:
            kept.append(rest)
    return kept, taken


def _divide(
    context: Context, finding: Finding, layers: frozenset[int] | None
) -> tuple[Finding | None, Finding | None]:
    """Split a finding into the suppressed part and the rest.

    Args:
        layers: Layers of the suppression; None for whole findings.
    """
    if layers is None or (finding.layers and layers.issuperset(finding.layers)):
        return finding, None
    taken = layers.intersection(finding.layers)
    if not taken:
        return None, finding
    part = replace(_restrict(finding, taken), engine_saving_ms=None)
    rest = _restrict(finding, {*finding.layers, *finding.savings_ms} - taken)
    return _judge(context, part), _judge(context, rest, finding.suppressed_layers + len(taken))


def _restrict(finding: Finding, layers: Collection[int]) -> Finding:
    return replace(
        finding,
        layers=tuple(layer for layer in finding.layers if layer in layers),
        savings_ms={layer: ms for layer, ms in finding.savings_ms.items() if layer in layers},
    )


def _matching_layers(engine: Engine, suppression: Suppression) -> frozenset[int] | None:
    if not suppression.layers:
        return None
    try:
        matches = find_matches(engine, suppression.layers, others=[_Others()])
    except FilterError as error:
        raise TrexError(f"{suppression.origin}: layers: {error.pointed}") from None
    return frozenset(matches.index[matches].tolist())
