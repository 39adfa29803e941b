"""Running the rules over an engine, and weighing what they find.

Every severity, order and sum that people see is decided here, so that a screen, a report and an exit code agree.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from trex_tui.engine.engine import Engine
from trex_tui.errors import TrexError
from trex_tui.lint.config import LintConfig, Suppression, names_rule
from trex_tui.lint.context import Context
from trex_tui.lint.model import Confidence, Finding, FindingSeverity, Judged, LintResult, NotChecked, Rule
from trex_tui.lint.registry import registry
from trex_tui.lint.savings import clamp_stakes, combine_stakes

SMALL_STAKE = 0.01
"""Share of the sum over layers below which a stake makes its finding one step milder."""

NO_LAYERS = "no layers: neither layer information nor a profile is there; run trtexec with --exportLayerInfo"

_EVERYTHING = LintConfig()


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
    every: list[Judged] = []
    not_checked: list[NotChecked] = []
    failed: list[str] = []
    for rule in chosen:
        try:
            for answer in _look(rule, context):
                if isinstance(answer, NotChecked):
                    not_checked.append(answer)
                else:
                    every.append(answer)
        except Exception as error:  # noqa: BLE001 - rules may be plug-ins: whatever one raises costs that one
            failed.append(rule.id)
            not_checked.append(NotChecked(rule.id, _describe_failure(rule, error)))
    if layers is not None:
        wanted_layers = frozenset(layers)
        every = [judged for judged in every if not wanted_layers.isdisjoint(judged.layers)]
    kept, suppressed = _divide_suppressed(context, every, config.suppressions)
    wanted = [judged for judged in kept if judged.severity.rank <= config.min_severity.rank]
    ordered = sorted(wanted, key=_order)
    findings = tuple(judged for judged in ordered if judged.severity is not FindingSeverity.GOOD)
    counts = Counter(judged.severity for judged in ordered)
    compute = context.timing.compute if context.timing else None
    return LintResult(
        findings=findings,
        positives=tuple(judged for judged in ordered if judged.severity is FindingSeverity.GOOD),
        suppressed=tuple(sorted(suppressed, key=_order)),
        not_checked=tuple(sorted(not_checked, key=lambda missing: (missing.rule, missing.reason))),
        failed=tuple(failed),
        rules=tuple(rule.id for rule in chosen),
        milder=len(kept) - len(wanted),
        counts={severity: counts[severity] for severity in FindingSeverity},
        stakes=combine_stakes(
            [judged.finding for judged in findings], context.total_ms, compute.median_ms if compute else None
        ),
        by_layer=_by_layer(findings),
    )


def _by_layer(findings: Iterable[Judged]) -> dict[int, tuple[Judged, ...]]:
    by_layer: dict[int, list[Judged]] = {}
    for judged in findings:
        for index in judged.layers:
            by_layer.setdefault(index, []).append(judged)
    return {index: tuple(by_layer[index]) for index in sorted(by_layer)}


def _order(judged: Judged) -> tuple[int, bool, float, str, tuple[int, ...], str]:
    stake = judged.stake_ms
    rank = judged.severity.rank
    return (rank, stake is None, -(stake or 0.0), judged.rule.id, judged.layers, judged.message)


def _look(rule: Rule, context: Context) -> Iterator[Judged | NotChecked]:
    """What one rule finds. What it says before it breaks stands."""
    if not context.layers and rule.columns:
        yield NotChecked(rule.id, NO_LAYERS)
        return
    for answer in rule.look(context):
        if answer.rule != rule.id:
            raise ValueError(f"it speaks for {answer.rule}")
        yield answer if isinstance(answer, NotChecked) else _judge(rule, answer, context)


def _describe_failure(rule: Rule, error: Exception) -> str:
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
    message = " ".join(str(error).split())
    place = f"{Path(last.filename).name} line {last.lineno}"
    return f"the rule broke: {type(error).__name__}{': ' if message else ''}{message} ({place})"


def _judge(rule: Rule, finding: Finding, context: Context, suppressed_layers: int = 0) -> Judged:
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
    finding = clamp_stakes(finding, latency_ms)
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
        stake_ms=finding.stake_ms,
        suppressed_layers=suppressed_layers,
    )


def _is_mild(finding: Finding, total_ms: float | None) -> bool:
    stake = finding.stake_ms
    is_small = stake is not None and bool(total_ms) and stake < SMALL_STAKE * (total_ms or 0.0)
    return is_small or finding.confidence is Confidence.LOW


def _divide_suppressed(
    context: Context, every: Iterable[Judged], suppressions: Sequence[Suppression]
) -> tuple[list[Judged], list[Judged]]:
    """Findings as the suppressions leave them, and what they took."""
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
    part = replace(_restrict(finding, taken), engine_stake_ms=None)
    rest = _restrict(finding, {*finding.layers, *finding.stakes_ms} - taken)
    count = judged.suppressed_layers + len(taken)
    return _judge(judged.rule, part, context), _judge(judged.rule, rest, context, count)


def _restrict(finding: Finding, layers: Collection[int]) -> Finding:
    return replace(
        finding,
        layers=tuple(index for index in finding.layers if index in layers),
        stakes_ms={index: ms for index, ms in finding.stakes_ms.items() if index in layers},
    )


def _matching_layers(engine: Engine, suppression: Suppression) -> frozenset[int] | None:
    if not suppression.layers:
        return None
    from trex_tui.analysis.filter import FilterError, filter_layers

    try:
        return frozenset(layer.index for layer in filter_layers(engine, suppression.layers))
    except FilterError as error:
        raise TrexError(f"{suppression.origin}: layers: {error.pointed}") from None
