"""Lint results for code hosts: SARIF 2.1.0 (OASIS), and the workflow commands of GitHub that become annotations."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from trex_tui._version import __version__
from trex_tui.artifacts.kinds import FileKind
from trex_tui.errors import Note, describe_file
from trex_tui.lint.rule import ERROR, GOOD, INFO, WARNING, Finding, Rule
from trex_tui.report.document import plain
from trex_tui.report.views.lint import (
    Linted,
    count_findings,
    describe_savings,
    fingerprint,
    name_layers,
    weigh,
)
from trex_tui.text import as_sentence, plural, printable

VERSION = "2.1.0"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {ERROR: "error", WARNING: "warning", INFO: "note", GOOD: "none"}
_COMMANDS = {ERROR: "error", WARNING: "warning", INFO: "notice"}
_PREFERRED = (FileKind.GRAPH, FileKind.PROFILE, FileKind.TIMING)


def write_sarif(engines: Sequence[Linted], rules: Iterable[Rule], notes: Sequence[Note] = ()) -> str:
    """Return the log: one run over all engines.

    Args:
        rules: Every rule that may have findings.
        notes: Of files that belong to no engine.
    """
    listed = sorted(rules, key=lambda rule: rule.id)
    indices = {rule.id: index for index, rule in enumerate(listed)}
    uris = dict.fromkeys(_uri(_relative(path)) for linted in engines for path in linted.engine.files.values())
    driver = {"name": "trex-tui", "version": __version__, "rules": list(map(_describe_rule, listed))}
    run = {
        "tool": {"driver": driver},
        "invocations": [_describe_invocation(engines, indices, _damage(engines, notes))],
        "artifacts": [{"location": {"uri": uri}} for uri in uris],
        "results": [result for linted in engines for result in _results(linted, indices)],
        "columnKind": "unicodeCodePoints",
    }
    log = {"$schema": SCHEMA, "version": VERSION, "runs": [run]}
    return json.dumps(log, indent=2, allow_nan=False) + "\n"


def _damage(engines: Sequence[Linted], notes: Sequence[Note]) -> list[Note]:
    """Return the notes about files that could not be used, each once."""
    every = dict.fromkeys([*notes, *(note for linted in engines for note in linted.engine.notes)])
    return [note for note in every if note.is_damage]


def _describe_rule(rule: Rule) -> dict[str, Any]:
    remedies = [rule.remedy] if isinstance(rule.remedy, str) else rule.remedy
    not_when = f" Exceptions: {rule.not_when}" if rule.not_when else ""
    lines = [*remedies, *(f"See {reference}" for reference in rule.references)]
    return {
        "id": rule.id,
        "shortDescription": {"text": printable(rule.title)},
        "fullDescription": {"text": printable(f"{rule.looks_for} {rule.why}{not_when}")},
        "help": {"text": "\n".join(map(printable, lines))},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"family": rule.family, "columns": list(rule.columns)},
    }


def _describe_invocation(
    engines: Sequence[Linted], indices: dict[str, int], damage: Sequence[Note]
) -> dict[str, Any]:
    """Return what could not be checked: as a result it would count as a finding."""
    notifications: list[dict[str, Any]] = [
        {"level": "error", "message": {"text": printable(str(note))}} for note in damage
    ]
    notifications += [
        {
            "level": "warning" if missing.rule in linted.result.failed else "note",
            "message": {"text": printable(f"{linted.engine.name}: not checked: {missing.reason}")},
            "associatedRule": {"id": missing.rule, "index": indices[missing.rule]},
        }
        for linted in engines
        for missing in linted.result.not_checked
    ]
    return {"executionSuccessful": True, "toolExecutionNotifications": notifications}


def _results(linted: Linted, indices: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Yield findings, strengths, and suppressed findings. Of those with one fingerprint, all but the first get a number."""
    seen: Counter[str] = Counter()
    result = linted.result
    for finding in (*result.findings, *result.remarks, *result.positives, *result.suppressed):
        mark = fingerprint(linted.engine, finding)
        seen[mark] += 1
        number = f":{seen[mark]}" if seen[mark] > 1 else ""
        yield _describe_result(linted, finding, indices[finding.rule.id], mark + number)


def _describe_result(linted: Linted, finding: Finding, index: int, mark: str) -> dict[str, Any]:
    name = linted.engine.name
    lines = (f"{name}: {finding.message}", as_sentence(weigh(linted, finding)), str(finding.remedy))
    justification = printable(f"{finding.reason} ({finding.origin})")
    return {
        "ruleId": finding.rule.id,
        "ruleIndex": index,
        "kind": "pass" if finding.severity is GOOD else "fail",
        "level": _LEVELS[finding.severity],
        "message": {"text": "\n".join(map(printable, lines))},
        "locations": [_locate(linted, finding)],
        "partialFingerprints": {"trexTuiFinding/v1": mark},
        "properties": {
            "engine": name,
            "layer_ms": finding.layer_ms,
            "saving_ms": finding.saving_ms,
            "confidence": finding.confidence.value,
            "estimate": finding.estimate,
            "evidence": plain(finding.evidence),
        },
        # All results have it, or none. Without `status`, which drafts of the format called `state`: its absence
        # means accepted.
        "suppressions": [{"kind": "external", "justification": justification}] if finding.reason else [],
    }


def _locate(linted: Linted, finding: Finding) -> dict[str, Any]:
    name, file, names = linted.engine.name, _main_file(linted), linted.engine.layers["name"]
    physical = {"physicalLocation": {"artifactLocation": {"uri": _uri(file)}}} if file is not None else {}
    layers = [
        {"name": names[layer], "fullyQualifiedName": f"{name}/{layer}/{names[layer]}", "kind": "layer"}
        for layer in finding.layers
    ]
    return {**physical, "logicalLocations": layers or [{"name": name, "kind": "engine"}]}


def _main_file(linted: Linted) -> str | None:
    """Return the file that represents an engine: its layer information, else another one; as a relative path."""
    files = linted.engine.files
    path = next((files[kind] for kind in (*_PREFERRED, *files) if kind in files), None)
    return None if path is None else _relative(path)


def _relative(path: Path) -> str:
    """Return a path relative to the current directory, with slashes; the full path if impossible (another drive)."""
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:
        return path.resolve().as_posix()


def _uri(path: str) -> str:
    """Return a relative reference; a colon in its first segment would make that a scheme."""
    return quote(os.fsencode(path), safe="/")


# Annotations


def write_github(engines: Sequence[Linted], notes: Sequence[Note] = ()) -> str:
    """Return a line per finding, and one per engine about what was and what was not checked."""
    lines = []
    for note in _damage(engines, notes):
        file = _relative(Path(describe_file(note.file))) if note.file else None
        lines.append(_command("error", file, "Damaged file", [str(note)]))
    lines += [line for linted in engines for line in _annotations(linted)]
    return "".join(f"{line}\n" for line in lines)


def _annotations(linted: Linted) -> Iterator[str]:
    engine, result = linted
    file = _main_file(linted)
    for finding in result.findings:
        lines = [finding.message, *name_layers(engine, finding.layers)]
        lines += [weigh(linted, finding), f"do: {finding.remedy}"]
        title = f"{engine.name}: {finding.rule.id} {finding.rule.title}"
        yield _command(_COMMANDS[finding.severity], file, title, lines)
    parts = [count_findings(result), describe_savings(linted)]
    parts += [f"{len(result.suppressed)} suppressed"] if result.suppressed else []
    parts += [f"{plural(result.rules_not_checked, 'rule')} not checked"] if result.not_checked else []
    yield _command("notice", file, f"{engine.name}: lint", ["; ".join(filter(None, parts))])


def _command(name: str, file: str | None, title: str, lines: Iterable[str]) -> str:
    properties = [f"file={_escape_property(file)}"] if file else []
    properties.append(f"title={_escape_property(title)}")
    return f"::{name} {','.join(properties)}::{'%0A'.join(map(_escape_data, lines))}"


def _escape_data(text: str) -> str:
    return printable(text).replace("%", "%25")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")
