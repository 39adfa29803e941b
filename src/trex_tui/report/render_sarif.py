"""What lint found as SARIF 2.1.0 (OASIS), the format that code hosts read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from trex_tui._version import __version__
from trex_tui.artifacts.naming import ArtifactKind
from trex_tui.lint.model import Judged, Rule, Severity
from trex_tui.report.render_json import plain
from trex_tui.report.views.lint import EngineReport, LintReport, describe_saving, fingerprint
from trex_tui.text import printable

VERSION = "2.1.0"
SCHEMA_URI = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "note",
    Severity.GOOD: "none",
}
_PREFERRED = (ArtifactKind.GRAPH, ArtifactKind.PROFILE, ArtifactKind.TIMING)


def lint_sarif(report: LintReport, rules: Iterable[Rule]) -> dict[str, Any]:
    """The log: one run over all engines.

    Args:
        rules: Every rule that may have found something.
    """
    listed = sorted(rules, key=lambda rule: rule.id)
    places = {rule.id: place for place, rule in enumerate(listed)}
    results = [result for one in report.engines for result in _results(one, places)]
    files = dict.fromkeys(uri for one in report.engines for uri in _uris(one))
    return {
        "$schema": SCHEMA_URI,
        "version": VERSION,
        "runs": [
            {
                "tool": {"driver": _driver(listed)},
                "invocations": [_invocation(report, places)],
                "artifacts": [{"location": {"uri": uri}} for uri in files],
                "results": results,
                "columnKind": "unicodeCodePoints",
            }
        ],
    }


def _driver(rules: Iterable[Rule]) -> dict[str, Any]:
    return {"name": "trex-tui", "version": __version__, "rules": [_descriptor(rule) for rule in rules]}


def _descriptor(rule: Rule) -> dict[str, Any]:
    text = f"{rule.looks_for} {rule.why}"
    full = [text, f"Not when: {rule.not_when}"] if rule.not_when else [text]
    help_lines = [rule.remedy, *(f"See {one}" for one in rule.references)]
    return {
        "id": rule.id,
        "shortDescription": {"text": printable(rule.title)},
        "fullDescription": {"text": printable(" ".join(full))},
        "help": {"text": "\n".join(map(printable, help_lines))},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"family": rule.family, "columns": list(rule.columns)},
    }


def _invocation(report: LintReport, places: dict[str, int]) -> dict[str, Any]:
    """What could not be looked at is said here: a result would claim that something was found."""
    told = []
    for one in report.engines:
        for missing in one.result.not_checked:
            broke = missing.rule in one.result.failed
            told.append(
                {
                    "level": "warning" if broke else "note",
                    "message": {"text": printable(f"{one.engine.name}: not checked: {missing.reason}")},
                    "associatedRule": {"id": missing.rule, "index": places[missing.rule]},
                }
            )
    return {"executionSuccessful": True, "toolExecutionNotifications": told}


def _results(report: EngineReport, places: dict[str, int]) -> list[dict[str, Any]]:
    """Findings, what is well done, and what is suppressed. Of those with one fingerprint, all but the first get a number."""
    seen: Counter[str] = Counter()

    def result_of(judged: Judged) -> dict[str, Any]:
        mark = fingerprint(report, judged)
        seen[mark] += 1
        number = f":{seen[mark]}" if seen[mark] > 1 else ""
        return _result(report, judged, places, mark + number)

    found = [result_of(one) for one in (*report.result.findings, *report.result.positives)]
    for one in found:
        one["suppressions"] = []  # all results have it, or none
    return found + [
        {**result_of(judged), "suppressions": [_suppression(judged)]} for judged in report.result.suppressed
    ]


def _suppression(judged: Judged) -> dict[str, Any]:
    """Without `status`, which drafts of the format called `state`: accepted is what its absence means."""
    return {"kind": "external", "justification": printable(f"{judged.reason} ({judged.origin})")}


def _result(report: EngineReport, judged: Judged, places: dict[str, int], mark: str) -> dict[str, Any]:
    lines = [f"{report.engine.name}: {judged.message}", f"{describe_saving(report, judged)}."]
    finding = judged.finding
    return {
        "ruleId": judged.rule.id,
        "ruleIndex": places[judged.rule.id],
        "kind": "pass" if judged.severity is Severity.GOOD else "fail",
        "level": _LEVELS[judged.severity],
        "message": {"text": "\n".join(printable(line) for line in (*lines, judged.remedy))},
        "locations": [_location(report, judged)],
        "partialFingerprints": {"trexTuiFinding/v1": mark},
        "properties": {
            "engine": report.engine.name,
            "layer_ms": judged.layer_ms,
            "stake_ms": judged.stake_ms,
            "confidence": judged.confidence.value,
            "formula": finding.formula,
            "evidence": plain(finding.evidence),
        },
    }


def _location(report: EngineReport, judged: Judged) -> dict[str, Any]:
    location: dict[str, Any] = {}
    file = main_file(report)
    if file is not None:
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(file)}}
    layers = report.layers_of(judged)
    if layers:
        location["logicalLocations"] = [
            {
                "name": layer.name,
                "fullyQualifiedName": f"{report.engine.name}/{layer.index}/{layer.name}",
                "kind": "layer",
            }
            for layer in layers
        ]
    else:
        location["logicalLocations"] = [{"name": report.engine.name, "kind": "engine"}]
    return location


def main_file(report: EngineReport) -> str | None:
    """The file that stands for an engine: its layer information, else what there is; relative to the current directory."""
    files = report.engine.files
    path = next((files[kind] for kind in (*_PREFERRED, *files) if kind in files), None)
    return None if path is None else relative(path)


def relative(path: Path) -> str:
    """A path from the current directory on, with slashes; whole where there is no such way (another drive)."""
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:
        return path.resolve().as_posix()


def _uris(report: EngineReport) -> list[str]:
    return [_uri(relative(path)) for path in report.engine.files.values()]


def _uri(path: str) -> str:
    """A relative reference; a colon in its first segment would make that a scheme."""
    return quote(os.fsencode(path), safe="/")
