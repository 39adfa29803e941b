"""Running the rules over an engine, and weighing what they find.

Every severity, order and sum that people see is decided here, so that a screen, a report and an exit code agree.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from trex_tui.engine.engine import Engine
from trex_tui.errors import TrexError
from trex_tui.lint.config import LintConfig, Suppression, names_rule
from trex_tui.lint.context import Context
from trex_tui.lint.model import (
    Confidence,
    Finding,
    Judged,
    LintResult,
    NotChecked,
    Rule,
    Severity,
    Suppressed,
)
from trex_tui.lint.registry import registry
from trex_tui.lint.savings import union_of_stakes, within_layers

SMALL_STAKE = 0.01
"""Share of the sum over layers below which a stake makes its finding one step milder."""

NO_LAYERS = "no layers: neither layer information nor a profile is there; run trtexec with --exportLayerInfo"

_EVERYTHING = LintConfig()


@dataclass
class _Found:
    """What the rules said, before anything is left out."""

    judged: list[Judged] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def run(
    engine: Engine,
    config: LintConfig = _EVERYTHING,
    rules: Sequence[Rule] | None = None,
    layers: Collection[int] | None = None,
) -> LintResult:
    """Look at an engine with every rule that is wanted.

    A rule that breaks is told under `not_checked` and `failed`; the others still run.

    Args:
        rules: By default those of the registry.
        layers: Keep only findings about one of these; not those about the engine as a whole.

    Raises:
        TrexError: The filter of a suppression is none, or takes too long.
    """
    chosen = [rule for rule in (registry().rules if rules is None else rules) if config.wants(rule)]
    context = Context(engine, config.thresholds)
    found = _Found()
    for rule in chosen:
        _apply(rule, context, found)
    if layers is not None:
        meant = frozenset(layers)
        found.judged = [one for one in found.judged if not meant.isdisjoint(one.layers)]
    kept, suppressed = _without_suppressed(context, found.judged, config.suppressions)
    wanted = [one for one in kept if one.severity.rank <= config.min_severity.rank]
    ordered = sorted(wanted, key=_order)
    findings = tuple(one for one in ordered if one.severity is not Severity.GOOD)
    counts = Counter(one.severity for one in ordered)
    compute = context.timing.compute if context.timing else None
    return LintResult(
        findings=findings,
        positives=tuple(one for one in ordered if one.severity is Severity.GOOD),
        suppressed=tuple(sorted(suppressed, key=lambda one: _order(one.judged))),
        not_checked=tuple(sorted(found.not_checked, key=lambda one: (one.rule, one.reason))),
        failed=tuple(found.failed),
        rules=tuple(rule.id for rule in chosen),
        milder=len(kept) - len(wanted),
        counts={severity: counts[severity] for severity in Severity},
        stakes=union_of_stakes(
            [one.finding for one in findings], context.total_ms, compute.median_ms if compute else None
        ),
        by_layer=_by_layer(findings),
    )


def _by_layer(findings: Iterable[Judged]) -> dict[int, tuple[Judged, ...]]:
    found: dict[int, list[Judged]] = {}
    for one in findings:
        for index in one.layers:
            found.setdefault(index, []).append(one)
    return {index: tuple(found[index]) for index in sorted(found)}


def _order(one: Judged) -> tuple[int, bool, float, str, tuple[int, ...], str]:
    stake = one.stake_ms
    return (one.severity.rank, stake is None, -(stake or 0.0), one.rule.id, one.layers, one.message)


def _apply(rule: Rule, context: Context, found: _Found) -> None:
    """Run one rule. What it said before it broke stands."""
    if not context.layers and rule.columns:
        found.not_checked.append(NotChecked(rule.id, NO_LAYERS))
        return
    try:
        for one in rule.look(context):
            if one.rule != rule.id:
                raise ValueError(f"it speaks for {one.rule}")
            if isinstance(one, NotChecked):
                found.not_checked.append(one)
            else:
                found.judged.append(_judged(rule, one, context))
    except Exception as error:  # noqa: BLE001 - rules may be plug-ins: whatever one raises costs that one
        found.failed.append(rule.id)
        found.not_checked.append(NotChecked(rule.id, _failure(rule, error)))


def _failure(rule: Rule, error: Exception) -> str:
    """What broke and where, in a sentence. The traceback goes to the log file, if a person asked for one, and to `logging`,
    if another program runs this and listens."""
    import logging  # all for what never happens
    import traceback

    from trex_tui.crash_log import note

    note(error)
    logger = logging.getLogger(__name__)
    logger.addHandler(logging.NullHandler())  # nobody listens: then not on the screen either
    logger.error("lint rule %s broke", rule.id, exc_info=error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    told = " ".join(str(error).split())
    place = f"{Path(last.filename).name} line {last.lineno}"
    return f"the rule broke: {type(error).__name__}{': ' if told else ''}{told} ({place})"


def _judged(rule: Rule, finding: Finding, context: Context, suppressed_layers: int = 0) -> Judged:
    """What a finding weighs.

    Raises:
        IndexError: It is about a layer that is not there.
    """
    layers = tuple(sorted(set(finding.layers)))
    missing = [index for index in (*layers, *finding.stakes_ms) if not 0 <= index < len(context.layers)]
    if missing:
        raise IndexError(f"there is no layer {missing[0]}")
    if layers != finding.layers:
        finding = replace(finding, layers=layers)
    latency_ms = {
        index: ms
        for index in (*layers, *finding.stakes_ms)
        if (ms := context.layers[index].latency_ms) is not None
    }
    finding = within_layers(finding, latency_ms)
    own = finding.severity or rule.severity
    known = [latency_ms[index] for index in layers if index in latency_ms]
    severity = own.milder if own is not Severity.ERROR and _is_mild(finding, context.total_ms) else own
    return Judged(
        rule=rule,
        finding=finding,
        severity=severity,
        is_demoted=severity is not own,
        layer_ms=math.fsum(known) if known else None,
        layers_without_time=len(layers) - len(known),
        stake_ms=finding.stake_ms,
        suppressed_layers=suppressed_layers,
    )


def _is_mild(finding: Finding, total_ms: float | None) -> bool:
    stake = finding.stake_ms
    is_small = stake is not None and bool(total_ms) and stake < SMALL_STAKE * (total_ms or 0.0)
    return is_small or finding.confidence is Confidence.LOW


def _without_suppressed(
    context: Context, judged: Iterable[Judged], suppressions: Sequence[Suppression]
) -> tuple[list[Judged], list[Suppressed]]:
    """Findings as the suppressions leave them, and what they took."""
    if not suppressions:
        return list(judged), []
    matching = [_matching_layers(context.engine, one) for one in suppressions]
    kept: list[Judged] = []
    taken: list[Suppressed] = []
    for one in judged:
        rest: Judged | None = one
        for suppression, layers in zip(suppressions, matching, strict=True):
            if rest is not None and (not suppression.rules or names_rule(suppression.rules, one.rule)):
                part, rest = _divided(rest, layers, context)
                if part is not None:
                    taken.append(Suppressed(part, suppression.reason, suppression.origin))
        if rest is not None:
            kept.append(rest)
    return kept, taken


def _divided(
    judged: Judged, layers: frozenset[int] | None, context: Context
) -> tuple[Judged | None, Judged | None]:
    """What a suppression takes of a finding, and what it leaves.

    Args:
        layers: Those the suppression is about; None for whole findings.
    """
    finding = judged.finding
    if layers is None or (finding.layers and layers.issuperset(finding.layers)):
        return judged, None
    taken = layers.intersection(finding.layers)
    if not taken:
        return None, judged
    part = replace(
        finding,
        layers=tuple(index for index in finding.layers if index in taken),
        stakes_ms={index: ms for index, ms in finding.stakes_ms.items() if index in taken},
        engine_stake_ms=None,
    )
    rest = replace(
        finding,
        layers=tuple(index for index in finding.layers if index not in taken),
        stakes_ms={index: ms for index, ms in finding.stakes_ms.items() if index not in taken},
    )
    count = judged.suppressed_layers + len(taken)
    return _judged(judged.rule, part, context), _judged(judged.rule, rest, context, count)


def _matching_layers(engine: Engine, suppression: Suppression) -> frozenset[int] | None:
    if not suppression.layers:
        return None
    from trex_tui.analysis.filter import FilterError, filter_layers

    try:
        return frozenset(layer.index for layer in filter_layers(engine, suppression.layers))
    except FilterError as error:
        raise TrexError(f"{suppression.origin}: layers: {error.pointed}") from None
