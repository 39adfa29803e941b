"""Run the rules on an engine, and weigh their findings.

All severities, orders and sums shown to users are determined here, so that screens, reports and exit codes agree.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.artifacts.input_files import gc_paused
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import TrexError
from trex_tui.old.lint.config import LintConfig, Suppression, names_rule
from trex_tui.old.lint.context import Context
from trex_tui.old.lint.grouping import group_findings
from trex_tui.old.lint.model import Confidence, Finding, FindingSeverity, Judged, LintResult, NotChecked, Rule
from trex_tui.old.lint.producers import find_producer, with_settings
from trex_tui.old.lint.registry import registry
from trex_tui.old.lint.savings import clamp_savings, combine_savings

SMALL_SAVING = 0.01
"""Share of the sum over layers below which a finding's severity is lowered by one level."""

NO_LAYERS = "no layers: no layer information and no profile; run trtexec with --exportLayerInfo"

_EVERYTHING = LintConfig()


def run(
    engine: Engine,
    config: LintConfig = _EVERYTHING,
    rules: Sequence[Rule] | None = None,
    layers: Collection[int] | None = None,
) -> LintResult:
    """Check an engine with every selected rule.

    A rule that raises an error is listed under `not_checked` and `failed`; the others still run.

    Args:
        rules: By default those of the registry.
        layers: Keep only findings about one of these; not those about the engine as a whole.

    Raises:
        TrexError: The filter of a suppression is invalid, or takes too long.
    """
    with gc_paused():
        return _run(engine, config, rules, layers)


def _run(
    engine: Engine, config: LintConfig, rules: Sequence[Rule] | None, layers: Collection[int] | None
) -> LintResult:
    chosen = [rule for rule in (registry().rules if rules is None else rules) if config.wants(rule)]
    context = Context(engine, config.thresholds)
    every: list[Judged] = []
    not_checked: list[NotChecked] = []
    found: list[tuple[Rule, list[Finding]]] = []
    failures: dict[str, Exception] = {}
    for rule in chosen:
        own: list[Finding] = []
        found.append((rule, own))
        try:
            for answer in _look(rule, context):
                if isinstance(answer, NotChecked):
                    reason = with_settings(answer.reason, find_producer(context.engine))
                    not_checked.append(answer if reason == answer.reason else replace(answer, reason=reason))
                else:
                    own.append(answer)
        except Exception as error:  # noqa: BLE001 - rules may be plug-ins: whatever one raises costs that one
            failures[rule.id] = error
    for rule, own in found:
        every.extend(_weigh(rule, _drop_symptoms(rule, own, found, context), context))
    not_checked += [
        NotChecked(rule_id, _describe_failure(rule_id, failure)) for rule_id, failure in failures.items()
    ]
    if layers is not None:
        wanted_layers = frozenset(layers)
        every = [judged for judged in every if not wanted_layers.isdisjoint(judged.layers)]
    kept, suppressed = _divide_suppressed(context, every, config.suppressions)
    shown = [judged for judged in kept if judged.severity.rank <= config.min_severity.rank]
    ordered = sorted(shown, key=_order)
    findings = tuple(judged for judged in ordered if judged.severity is not FindingSeverity.GOOD)
    counts = Counter(judged.severity for judged in ordered)
    compute = context.timing.compute if context.timing else None
    return LintResult(
        findings=findings,
        positives=tuple(judged for judged in ordered if judged.severity is FindingSeverity.GOOD),
        suppressed=tuple(sorted(suppressed, key=_order)),
        not_checked=tuple(sorted(not_checked, key=lambda missing: (missing.rule, missing.reason))),
        failed=tuple(rule.id for rule in chosen if rule.id in failures),
        rules=tuple(rule.id for rule in chosen),
        milder=len(kept) - len(shown),
        counts={severity: counts[severity] for severity in FindingSeverity},
        savings=combine_savings(
            [judged.finding for judged in findings], context.total_ms, compute.median_ms if compute else None
        ),
        by_layer=_by_layer(findings),
    )


def _drop_symptoms(
    rule: Rule, own: Sequence[Finding], found: Iterable[tuple[Rule, Sequence[Finding]]], context: Context
) -> list[Finding]:
    """Return the findings of a rule, without symptoms whose cause another rule found."""
    if not rule.is_symptom or not own:
        return list(own)
    # Of two symptoms, the one with a saving is preferred.
    causes = [
        finding
        for other, findings in found
        for finding in findings
        if not other.is_symptom or (other is not rule and not any(finding.savings_ms for finding in own))
    ]
    explained = frozenset(index for cause in causes for index, ms in cause.savings_ms.items() if ms > 0)
    return [finding for finding in own if not _has_cause(context, finding, explained)]


def _has_cause(context: Context, finding: Finding, explained: Collection[int]) -> bool:
    """Return whether half of a symptom's time or more is on layers with a cause; of its layers, if times are unknown."""
    if not explained or not finding.layers:
        return False
    times = {index: context.layers[index].latency_ms or 0.0 for index in finding.layers}
    if not any(times.values()):
        times = dict.fromkeys(finding.layers, 1.0)
    return 2 * sum(ms for index, ms in times.items() if index in explained) >= sum(times.values())


def _by_layer(findings: Iterable[Judged]) -> dict[int, tuple[Judged, ...]]:
    by_layer: dict[int, list[Judged]] = {}
    for judged in findings:
        for index in judged.layers:
            by_layer.setdefault(index, []).append(judged)
    return {index: tuple(by_layer[index]) for index in sorted(by_layer)}


def _order(judged: Judged) -> tuple[int, float, bool, str, tuple[int, ...], str]:
    """Return the key: severity, saving (where it is unknown, the time of the layers), id, layers."""
    saving = judged.saving_ms
    weight = judged.layer_ms if saving is None else saving
    return (
        judged.severity.rank,
        -(weight or 0.0),
        saving is None,
        judged.rule.id,
        judged.layers,
        judged.message,
    )


def _look(rule: Rule, context: Context) -> Iterator[Finding | NotChecked]:
    """Yield the findings of one rule; those before an error are kept.

    Raises:
        IndexError: A finding has a layer that does not exist.
    """
    if not context.layers and rule.columns:
        yield NotChecked(
            rule.id, context.engine.explain_absence(NO_LAYERS, ArtifactKind.GRAPH, ArtifactKind.PROFILE)
        )
        return
    for answer in rule.look(context):
        if answer.rule != rule.id:
            raise ValueError(f"it returned a finding of {answer.rule}")
        if isinstance(answer, Finding):
            for index in (*answer.layers, *answer.savings_ms):
                if not 0 <= index < len(context.layers):
                    raise IndexError(f"layer {index} does not exist")
        yield answer


def _weigh(rule: Rule, findings: Sequence[Finding], context: Context) -> Iterator[Judged]:
    """Yield the findings of one rule, merged by cause, without those known to save nothing."""
    for finding in group_findings(context, findings):
        judged = _judge(rule, finding, context)
        if judged.saving_ms != 0:
            yield judged


def _describe_failure(rule_id: str, error: Exception) -> str:
    """Return what failed and where, in a sentence. The traceback goes to the log file, if the user requested one, and to
    `logging`, for programs that use this package and listen.
    """
    import logging  # only needed for failures, which are rare
    import traceback

    from trex_tui.old.crash_log import note

    note(error)
    logger = logging.getLogger(__name__)
    logger.addHandler(logging.NullHandler())  # no handler is installed: keep it off the screen too
    logger.error("lint rule %s failed", rule_id, exc_info=error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    message = " ".join(str(error).split())
    origin = f"{Path(last.filename).name} line {last.lineno}"
    return f"the rule failed: {type(error).__name__}{': ' if message else ''}{message} ({origin})"


def _judge(rule: Rule, finding: Finding, context: Context, suppressed_layers: int = 0) -> Judged:
    """Return a finding with its weight."""
    layers = tuple(sorted(set(finding.layers)))
    if layers != finding.layers:
        finding = replace(finding, layers=layers)
    latency_ms = {
        index: ms
        for index in (*layers, *finding.savings_ms)
        if (ms := context.layers[index].latency_ms) is not None
    }
    finding = clamp_savings(finding, latency_ms)
    stated = finding.remedy or rule.remedy
    if (remedy := with_settings(stated, find_producer(context.engine))) != stated:
        finding = replace(finding, remedy=remedy)
    own = finding.severity or rule.severity
    known = [latency_ms[index] for index in layers if index in latency_ms]
    severity = own.milder if own is not FindingSeverity.ERROR and _is_mild(finding, context.total_ms) else own
    return Judged(
        rule=rule,
        finding=finding,
        severity=severity,
        is_demoted=severity is not own,
        layer_ms=math.fsum(known) if known else None,
        layers_without_time=len(layers) - len(known),
        saving_ms=finding.saving_ms,
        suppressed_layers=suppressed_layers,
    )


def _is_mild(finding: Finding, total_ms: float | None) -> bool:
    saving = finding.saving_ms
    is_small = saving is not None and bool(total_ms) and saving < SMALL_SAVING * (total_ms or 0.0)
    return is_small or finding.confidence is Confidence.LOW


def _divide_suppressed(
    context: Context, every: Iterable[Judged], suppressions: Sequence[Suppression]
) -> tuple[list[Judged], list[Judged]]:
    """Split findings into those that remain after suppressions, and the suppressed ones."""
    if not suppressions:
        return list(every), []
    matching = [_matching_layers(context.engine, suppression) for suppression in suppressions]
    kept: list[Judged] = []
    taken: list[Judged] = []
    for judged in every:
        rest: Judged | None = judged
        for suppression, layers in zip(suppressions, matching, strict=True):
            if rest is not None and (not suppression.rules or names_rule(suppression.rules, judged.rule)):
                part, rest = _divide(rest, layers, context)
                if part is not None:
                    taken.append(replace(part, reason=suppression.reason, origin=suppression.origin))
        if rest is not None:
            kept.append(rest)
    return kept, taken


def _divide(
    judged: Judged, layers: frozenset[int] | None, context: Context
) -> tuple[Judged | None, Judged | None]:
    """Split a finding into the suppressed part and the rest.

    Args:
        layers: Layers of the suppression; None for whole findings.
    """
    finding = judged.finding
    if layers is None or (finding.layers and layers.issuperset(finding.layers)):
        return judged, None
    taken = layers.intersection(finding.layers)
    if not taken:
        return None, judged
    part = replace(_restrict(finding, taken), engine_saving_ms=None)
    rest = _restrict(finding, {*finding.layers, *finding.savings_ms} - taken)
    count = judged.suppressed_layers + len(taken)
    return _judge(judged.rule, part, context), _judge(judged.rule, rest, context, count)


def _restrict(finding: Finding, layers: Collection[int]) -> Finding:
    return replace(
        finding,
        layers=tuple(index for index in finding.layers if index in layers),
        savings_ms={index: ms for index, ms in finding.savings_ms.items() if index in layers},
    )


def _matching_layers(engine: Engine, suppression: Suppression) -> frozenset[int] | None:
    if not suppression.layers:
        return None
    from trex_tui.old.analysis.filter import FilterError, filter_layers

    try:
        return frozenset(
            layer.index for layer in filter_layers(engine, suppression.layers, allows_absent=True)
        )
    except FilterError as error:
        raise TrexError(f"{suppression.origin}: layers: {error.pointed}") from None
