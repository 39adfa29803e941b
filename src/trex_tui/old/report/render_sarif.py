"""Lint results as SARIF 2.1.0 (OASIS), the format of code hosts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from trex_tui._version import __version__
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.errors import Severity
from trex_tui.old.lint.model import FindingSeverity, Judged, Rule
from trex_tui.old.report.render_json import plain
from trex_tui.old.report.views.lint import EngineReport, LintReport, describe_saving, fingerprint
from trex_tui.old.text import printable

VERSION = "2.1.0"
SCHEMA_URI = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {
    FindingSeverity.ERROR: "error",
    FindingSeverity.WARNING: "warning",
    FindingSeverity.INFO: "note",
    FindingSeverity.GOOD: "none",
}
_PREFERRED = (ArtifactKind.GRAPH, ArtifactKind.PROFILE, ArtifactKind.TIMING)


def lint_sarif(report: LintReport, rules: Iterable[Rule]) -> dict[str, Any]:
    """Return the log: one run over all engines.

    Args:
        rules: Every rule that may have findings.
    """
    listed = sorted(rules, key=lambda rule: rule.id)
    indices = {rule.id: index for index, rule in enumerate(listed)}
    paths = [path for linted in report.engines for path in linted.engine.files.values()]
    return {
        "$schema": SCHEMA_URI,
        "version": VERSION,
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "trex-tui",
                        "version": __version__,
                        "rules": [_descriptor(rule) for rule in listed],
                    }
                },
                "invocations": [_invocation(report, indices)],
                "artifacts": [
                    {"location": {"uri": uri}}
                    for uri in dict.fromkeys(_uri(relative(path)) for path in paths)
                ],
                "results": [result for linted in report.engines for result in _results(linted, indices)],
                "columnKind": "unicodeCodePoints",
            }
        ],
    }


def _descriptor(rule: Rule) -> dict[str, Any]:
    not_when = f" Exceptions: {rule.not_when}" if rule.not_when else ""
    help_lines = [rule.remedy, *(f"See {reference}" for reference in rule.references)]
    return {
        "id": rule.id,
        "shortDescription": {"text": printable(rule.title)},
        "fullDescription": {"text": printable(f"{rule.looks_for} {rule.why}{not_when}")},
        "help": {"text": "\n".join(map(printable, help_lines))},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"family": rule.family, "columns": list(rule.columns)},
    }


def _invocation(report: LintReport, indices: dict[str, int]) -> dict[str, Any]:
    """Return what could not be checked: as a result it would count as a finding."""
    damage = [*report.diagnostics, *(note for linted in report.engines for note in linted.engine.diagnostics)]
    notifications: list[dict[str, Any]] = [
        {"level": "error", "message": {"text": printable(str(diagnostic))}}
        for diagnostic in dict.fromkeys(damage)
        if diagnostic.severity is Severity.ERROR
    ]
    notifications += [
        {
            "level": "warning" if missing.rule in linted.result.failed else "note",
            "message": {"text": printable(f"{linted.engine.name}: not checked: {missing.reason}")},
            "associatedRule": {"id": missing.rule, "index": indices[missing.rule]},
        }
        for linted in report.engines
        for missing in linted.result.not_checked
    ]
    return {"executionSuccessful": True, "toolExecutionNotifications": notifications}


def _results(report: EngineReport, indices: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Yield findings, strengths, and suppressed findings. Of those with one fingerprint, all but the first get a number."""
    seen: Counter[str] = Counter()
    result = report.result
    for judged in (*result.findings, *result.positives, *result.suppressed):
        mark = fingerprint(report, judged)
        seen[mark] += 1
        number = f":{seen[mark]}" if seen[mark] > 1 else ""
        yield _result_object(report, judged, indices[judged.rule.id], mark + number)


def _result_object(report: EngineReport, judged: Judged, index: int, mark: str) -> dict[str, Any]:
    lines = (f"{report.engine.name}: {judged.message}", f"{describe_saving(report, judged)}.", judged.remedy)
    justification = printable(f"{judged.reason} ({judged.origin})")
    return {
        "ruleId": judged.rule.id,
        "ruleIndex": index,
        "kind": "pass" if judged.severity is FindingSeverity.GOOD else "fail",
        "level": _LEVELS[judged.severity],
        "message": {"text": "\n".join(map(printable, lines))},
        "locations": [_location(report, judged)],
        "partialFingerprints": {"trexTuiFinding/v1": mark},
        "properties": {
            "engine": report.engine.name,
            "layer_ms": judged.layer_ms,
            "saving_ms": judged.saving_ms,
            "confidence": judged.confidence.value,
            "formula": judged.finding.formula,
            "evidence": plain(judged.finding.evidence),
        },
        # All results have it, or none. Without `status`, which drafts of the format called `state`: its absence means
        # accepted.
        "suppressions": [{"kind": "external", "justification": justification}] if judged.reason else [],
    }


def _location(report: EngineReport, judged: Judged) -> dict[str, Any]:
    name, file, layers = report.engine.name, main_file(report), report.find_layers(judged)
    physical = {"physicalLocation": {"artifactLocation": {"uri": _uri(file)}}} if file is not None else {}
    logical = [
        {"name": layer.name, "fullyQualifiedName": f"{name}/{layer.index}/{layer.name}", "kind": "layer"}
        for layer in layers
    ]
    return {**physical, "logicalLocations": logical or [{"name": name, "kind": "engine"}]}


def main_file(report: EngineReport) -> str | None:
    """Return the file that represents an engine: its layer information, else another one; as a relative path."""
    files = report.engine.files
    path = next((files[kind] for kind in (*_PREFERRED, *files) if kind in files), None)
    return None if path is None else relative(path)


def relative(path: Path) -> str:
    """Return a path relative to the current directory, with slashes; the full path if this is impossible (another drive)."""
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:
        return path.resolve().as_posix()


def _uri(path: str) -> str:
    """Return a relative reference; a colon in its first segment would make that a scheme."""
    return quote(os.fsencode(path), safe="/")
