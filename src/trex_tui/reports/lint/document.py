"""The object that `trex-tui lint --format json` prints."""

from __future__ import annotations

from typing import Any

from trex_tui.lint.result import Judged, Suppressed
from trex_tui.reports.lint.report import EngineReport, LintReport, fingerprint
from trex_tui.reports.plain import diagnostic_object, plain

SCHEMA = "trex-tui/lint/1"


def lint_document(report: LintReport) -> dict[str, Any]:
    """All engines. What is unknown is None."""
    fail_on = report.config.fail_on
    return {
        "schema": SCHEMA,
        "fail_on": fail_on.value if fail_on else "never",
        "fails": report.fails,
        "engines": [engine_document(one) for one in report.engines],
        "diagnostics": [diagnostic_object(one) for one in report.diagnostics],
    }


def engine_document(report: EngineReport) -> dict[str, Any]:
    """One element of `engines`."""
    engine, result = report.engine, report.result
    return {
        "name": engine.name,
        "files": {kind.value: str(path) for kind, path in engine.files.items()},
        "layers": len(engine.layers),
        "latency_sum_ms": engine.latency_sum_ms,
        "rules": list(result.rules),
        "counts": plain(result.counts),
        "stake_ms": result.stake_ms,
        "stakes": plain(result.stakes),
        "findings": [_finding(report, one) for one in result.findings],
        "positives": [_finding(report, one) for one in result.positives],
        "suppressed": [_suppressed(report, one) for one in result.suppressed],
        "not_checked": plain(result.not_checked),
        "broken_rules": list(result.failed),
        "milder": result.milder,
        "diagnostics": [diagnostic_object(one) for one in engine.diagnostics],
    }


def _finding(report: EngineReport, judged: Judged) -> dict[str, Any]:
    finding = judged.finding
    return {
        "rule": judged.rule.id,
        "title": judged.rule.title,
        "severity": judged.severity.value,
        "is_demoted": judged.is_demoted,
        "message": finding.message,
        "layers": [{"index": layer.index, "name": layer.name} for layer in report.layers_of(judged)],
        "suppressed_layers": judged.suppressed_layers,
        "layer_ms": judged.layer_ms,
        "layers_without_time": judged.layers_without_time,
        "stake_ms": judged.stake_ms,
        "stake_pct": report.pct(judged.stake_ms),
        "stakes_ms": {str(index): ms for index, ms in finding.stakes_ms.items()},
        "engine_stake_ms": finding.engine_stake_ms,
        "confidence": finding.confidence.value,
        "formula": finding.formula or None,
        "evidence": [{"name": one.name, "value": plain(one.value)} for one in finding.evidence],
        "remedy": judged.remedy,
        "references": list(judged.rule.references),
        "fingerprint": fingerprint(report, judged),
    }


def _suppressed(report: EngineReport, one: Suppressed) -> dict[str, Any]:
    return {**_finding(report, one.judged), "reason": one.reason, "origin": one.origin}
