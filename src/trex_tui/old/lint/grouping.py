"""Merge findings of one rule with one cause, with all layers and the sum of the savings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trex_tui.old.lint.context import Context, quote_layer
from trex_tui.old.lint.model import Confidence, Evidence, Finding, FindingSeverity

_NAMED = 3
"""Number of the largest findings named in the sentence."""


def group_findings(context: Context, findings: Iterable[Finding]) -> list[Finding]:
    """Merge findings with the same `group` and remedy at the position of the first; findings without group stay unchanged."""
    groups: dict[tuple[str, str] | int, list[Finding]] = {}
    for number, finding in enumerate(findings):
        groups.setdefault((finding.group, finding.remedy) if finding.group else number, []).append(finding)
    return [_merge(context, group) for group in groups.values()]


def _merge(context: Context, findings: Sequence[Finding]) -> Finding:
    if len(findings) == 1:
        return findings[0]
    ordered = sorted(findings, key=lambda finding: (-(finding.saving_ms or 0.0), finding.layers))
    largest = ordered[0]
    layers = sorted({index for finding in findings for index in finding.layers})
    savings: dict[int, float] = {}
    for finding in findings:
        for index, ms in finding.savings_ms.items():
            savings[index] = max(ms, savings.get(index, 0.0))
    return Finding(
        rule=largest.rule,
        message=f"{len(findings)} {largest.group}: {context.format_time(*(context.layers[index] for index in layers))}. "
        f"The largest: {_name_places(context, ordered)}.",
        layers=tuple(layers),
        severity=_worst(findings),
        confidence=list(Confidence)[max(list(Confidence).index(finding.confidence) for finding in findings)],
        savings_ms=savings,
        engine_saving_ms=max((finding.engine_saving_ms or 0.0 for finding in findings), default=0.0) or None,
        formula=largest.formula,
        evidence=(Evidence("places", len(findings)), *largest.evidence),
        remedy=largest.remedy,
        group=largest.group,
    )


def _name_places(context: Context, findings: Sequence[Finding]) -> str:
    """Return the slowest layer of each of the first findings, with its time."""
    slowest = [
        max(
            (context.layers[index] for index in finding.layers),
            key=lambda layer: (layer.latency_ms or 0.0, -layer.index),
        )
        for finding in findings
        if finding.layers
    ]
    places = list({layer.index: layer for layer in slowest}.values())[:_NAMED]
    return ", ".join(f"{quote_layer(layer)} {context.format_time(layer)}" for layer in places)


def _worst(findings: Sequence[Finding]) -> FindingSeverity | None:
    """Return the worst stated severity; None if all findings use that of the rule."""
    stated = [finding.severity for finding in findings if finding.severity is not None]
    return min(stated, key=lambda severity: severity.rank) if stated else None
