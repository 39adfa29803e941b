"""Lint results and rules as text for a terminal or a pipe, Markdown, annotations of GitHub, and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui.old.errors import Severity, describe_file
from trex_tui.old.lint.config import format_fail_on
from trex_tui.old.lint.model import FindingSeverity, Judged, Rule
from trex_tui.old.report.charts.grid import wrap_text
from trex_tui.old.report.render_json import diagnostic_object, plain
from trex_tui.old.report.render_markdown import escaped
from trex_tui.old.report.render_sarif import main_file, relative
from trex_tui.old.report.views.lint import (
    EngineReport,
    LintReport,
    count_findings,
    describe_saving,
    describe_savings,
    describe_summary,
    fingerprint,
    group_not_checked,
    name_layers,
)
from trex_tui.old.text import MISSING, format_ms, format_pct, plural, printable

if TYPE_CHECKING:
    from trex_tui.old.report.render_text import Console

# Text

_STYLES = {
    FindingSeverity.ERROR: "bold red",
    FindingSeverity.WARNING: "yellow",
    FindingSeverity.INFO: "cyan",
    FindingSeverity.GOOD: "green",
}
_INDENT = 9
_ID_INDENT = 12
_WIDEST = 110
"""Sentences as wide as a wide terminal are hard to read."""


def print_lint(report: LintReport, console: Console) -> None:
    """Print every engine. In a terminal sentences are wrapped to its width, in a pipe each is a line."""
    width = min(console.width, _WIDEST) if console.is_terminal else 0
    name_width = max(20, width - _INDENT - 12) if width else 0
    for linted in report.engines:
        for style, indent, line in _engine_lines(linted, name_width):
            for wrapped in _wrap(line, indent, width):
                console.print(wrapped, style=style, soft_wrap=True)


def _wrap(line: str, indent: int, width: int) -> list[str]:
    """Wrap a line; further lines begin behind `indent` blanks."""
    if not width:
        return [line]
    start = indent + line[indent:].startswith(" ")  # a long id takes the blank behind it along
    first, *others = wrap_text(line[start:], width - start, breaks_words=False) or [""]
    return [line[:start] + first, *(" " * indent + other for other in others)]


def _engine_lines(report: EngineReport, name_width: int) -> Iterator[tuple[str, int, str]]:
    """Yield style, indent of further lines, and text.

    Args:
        name_width: Longer names of layers are cut in the middle; 0 for no limit.
    """
    result = report.result
    yield "bold", 0, _title(report)
    yield "", 0, "; ".join(describe_summary(report))
    advice: set[tuple[str, str]] = set()
    for judged in result.findings:
        yield "", 0, ""
        yield from _finding_lines(report, judged, name_width)
        if (judged.rule.id, judged.remedy) not in advice:  # once is enough
            advice.add((judged.rule.id, judged.remedy))
            yield "", _INDENT, _pad("", f"do: {printable(judged.remedy)}")
    if result.positives:
        yield "", 0, ""
        yield "bold", 0, "Well done"
        for judged in result.positives:
            line = _pad(judged.rule.id, printable(judged.message), _ID_INDENT)
            yield _STYLES[FindingSeverity.GOOD], _ID_INDENT, line
    if result.suppressed:
        yield "", 0, ""
        yield "bold", 0, "Suppressed"
        for judged in result.suppressed:
            yield from _suppressed_lines(report, judged, name_width)
    if result.not_checked:
        yield "", 0, ""
        yield "bold", 0, "Not checked"
        for rules, reason in group_not_checked(result):
            yield "dim", 4, f"  {rules}: {reason}"
    yield "", 0, ""


def _title(report: EngineReport) -> str:
    engine, total = report.engine, report.engine.latency_sum_ms
    parts = [engine.name, engine.device_name or "", plural(len(engine.layers), "layer")]
    parts.append("no layer times" if total is None else f"layers {format_ms(total)} ms")
    return ", ".join(printable(part) for part in parts if part)


def _pad(head: str, text: str, indent: int = _INDENT) -> str:
    return f"{head:<{indent - 1}} {text}"


def _finding_lines(report: EngineReport, judged: Judged, name_width: int) -> Iterator[tuple[str, int, str]]:
    head = _pad(judged.severity.value, f"{judged.rule.id}  {printable(judged.rule.title)}")
    yield _STYLES[judged.severity], _INDENT, head
    yield "", _INDENT, _pad("", printable(judged.message))
    if names := name_layers(report.find_layers(judged), width=name_width):
        if judged.suppressed_layers:
            names.append(f"{judged.suppressed_layers} suppressed")
        label = "layer" if len(judged.layers) == 1 else "layers"
        yield "", _INDENT, _pad("", f"{label}: {'; '.join(names)}")
    weight = f"{describe_saving(report, judged)}, confidence {judged.confidence.value}"
    formula = printable(judged.finding.formula)
    yield "dim", _INDENT, _pad("", f"{weight}; {formula}" if formula else weight)


def _suppressed_lines(
    report: EngineReport, judged: Judged, name_width: int
) -> Iterator[tuple[str, int, str]]:
    names = "; ".join(name_layers(report.find_layers(judged), width=name_width)) or "the engine"
    yield "dim", _ID_INDENT, _pad(judged.rule.id, f"{printable(judged.message)} [{names}]", _ID_INDENT)
    reason = f"because {printable(judged.reason)} ({printable(judged.origin)})"
    yield "dim", _ID_INDENT, _pad("", reason, _ID_INDENT)


# Markdown, short enough for a comment on a pull request

MOST_FINDINGS = 30
"""Rows per engine: a comment holds 65 536 characters."""
_MOST_NAME = 120


def lint_markdown(report: LintReport) -> str:
    """Return a section per engine: a table of findings, the rest folded."""
    return "\n".join(line for linted in report.engines for line in _markdown_section(linted)) + "\n"


def _markdown_section(report: EngineReport) -> Iterator[str]:
    result = report.result
    counts, *rest = describe_summary(report)
    yield from (f"### {escaped(report.engine.name)}", "", "; ".join((f"**{counts}**", *rest)), "")
    if result.findings:
        yield "| | rule | finding | layers | saving ms | % | remedy |"
        yield "|---|---|---|---|---:|---:|---|"
        yield from (_markdown_row(report, judged) for judged in result.findings[:MOST_FINDINGS])
        yield ""
        more = len(result.findings) - MOST_FINDINGS
        if more > 0:
            yield from (f"{more} more with smaller savings; see `trex-tui lint`.", "")
    done = [f"{judged.rule.id}: {escaped(judged.message)}" for judged in result.positives]
    left_out = [
        f"{judged.rule.id}: {escaped(judged.message)} Because {escaped(judged.reason)} ({escaped(judged.origin)})"
        for judged in result.suppressed
    ]
    missing = [f"{rules}: {escaped(reason)}" for rules, reason in group_not_checked(result)]
    yield from _fold("Well done", done, len(done))
    yield from _fold("Suppressed", left_out, MOST_FINDINGS)
    yield from _fold("Not checked", missing, len(missing))


def _markdown_row(report: EngineReport, judged: Judged) -> str:
    names = name_layers(report.find_layers(judged), width=_MOST_NAME)
    share = report.pct(judged.saving_ms)
    cells = (
        judged.severity.value,
        f"{judged.rule.id}<br>{escaped(judged.rule.title)}",
        escaped(judged.message),
        "<br>".join(map(escaped, names)) or "the engine",
        format_ms(judged.saving_ms) if judged.saving_ms is not None else "unknown",
        format_pct(share) if share is not None else MISSING,
        escaped(judged.remedy),
    )
    return f"| {' | '.join(cells)} |"


def _fold(title: str, lines: list[str], most: int) -> Iterator[str]:
    if lines:
        yield from (f"<details><summary>{title} ({len(lines)})</summary>", "")
        yield from (f"- {line}" for line in lines[:most])
        if len(lines) > most:
            yield f"- {len(lines) - most} more"
        yield from ("", "</details>", "")


# Workflow commands of GitHub Actions, which become annotations

_COMMANDS = {
    FindingSeverity.ERROR: "error",
    FindingSeverity.WARNING: "warning",
    FindingSeverity.INFO: "notice",
}


def lint_github(report: LintReport) -> str:
    """Return a line per finding, and one per engine about what was and what was not checked."""
    lines = [*_damage_lines(report), *(line for linted in report.engines for line in _github_lines(linted))]
    return "".join(f"{line}\n" for line in lines)


def _damage_lines(report: LintReport) -> Iterator[str]:
    """Yield an annotation per error of a file."""
    notes = (*report.diagnostics, *(note for linted in report.engines for note in linted.engine.diagnostics))
    for diagnostic in dict.fromkeys(notes):
        if diagnostic.severity is Severity.ERROR:
            file = relative(Path(describe_file(diagnostic.file))) if diagnostic.file else None
            yield _command("error", file, "Damaged file", [str(diagnostic)])


def _github_lines(report: EngineReport) -> Iterator[str]:
    result, file = report.result, main_file(report)
    for judged in result.findings:
        lines = [judged.message, *name_layers(report.find_layers(judged))]
        lines += [describe_saving(report, judged), f"do: {judged.remedy}"]
        title = f"{report.engine.name}: {judged.rule.id} {judged.rule.title}"
        yield _command(_COMMANDS[judged.severity], file, title, lines)
    parts = [count_findings(result), describe_savings(report)]
    if result.suppressed:
        parts.append(f"{len(result.suppressed)} suppressed")
    if result.not_checked:
        parts.append(f"{plural(result.rules_not_checked, 'rule')} not checked")
    yield _command("notice", file, f"{report.engine.name}: lint", ["; ".join(filter(None, parts))])


def _command(name: str, file: str | None, title: str, lines: Iterable[str]) -> str:
    properties = [f"file={_escape_property(file)}"] if file else []
    properties.append(f"title={_escape_property(title)}")
    return f"::{name} {','.join(properties)}::{'%0A'.join(map(_escape_data, lines))}"


def _escape_data(text: str) -> str:
    return printable(text).replace("%", "%25")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


# JSON

SCHEMA = "trex-tui/lint/2"


def lint_document(report: LintReport) -> dict[str, Any]:
    """Return the object that `trex-tui lint --format json` prints. Unknown values are None."""
    return {
        "schema": SCHEMA,
        "fail_on": format_fail_on(report.config.fail_on),
        "fails": report.fails,
        "engines": [_engine_object(linted) for linted in report.engines],
        "diagnostics": [diagnostic_object(diagnostic) for diagnostic in report.diagnostics],
    }


def _engine_object(report: EngineReport) -> dict[str, Any]:
    engine, result = report.engine, report.result
    return {
        "name": engine.name,
        "files": {kind.value: str(path) for kind, path in engine.files.items()},
        "layers": len(engine.layers),
        "latency_sum_ms": engine.latency_sum_ms,
        "rules": list(result.rules),
        "counts": plain(result.counts),
        "saving_ms": result.saving_ms,
        "savings": plain(result.savings),
        "findings": [_finding_object(report, judged) for judged in result.findings],
        "positives": [_finding_object(report, judged) for judged in result.positives],
        "suppressed": [
            {**_finding_object(report, judged), "reason": judged.reason, "origin": judged.origin}
            for judged in result.suppressed
        ],
        "not_checked": plain(result.not_checked),
        "broken_rules": list(result.failed),
        "milder": result.milder,
        "diagnostics": [diagnostic_object(diagnostic) for diagnostic in engine.diagnostics],
    }


def _finding_object(report: EngineReport, judged: Judged) -> dict[str, Any]:
    finding = judged.finding
    return {
        "rule": judged.rule.id,
        "title": judged.rule.title,
        "severity": judged.severity.value,
        "is_demoted": judged.is_demoted,
        "message": finding.message,
        "layers": plain(report.find_layers(judged)),
        "suppressed_layers": judged.suppressed_layers,
        "layer_ms": judged.layer_ms,
        "layers_without_time": judged.layers_without_time,
        "saving_ms": judged.saving_ms,
        "saving_pct": report.pct(judged.saving_ms),
        "savings_ms": {str(index): ms for index, ms in finding.savings_ms.items()},
        "engine_saving_ms": finding.engine_saving_ms,
        "confidence": finding.confidence.value,
        "formula": finding.formula or None,
        "evidence": plain(finding.evidence),
        "remedy": judged.remedy,
        "references": list(judged.rule.references),
        "fingerprint": fingerprint(report, judged),
    }


# Rules and their conditions: as text, Markdown and JSON

RULES_SCHEMA = "trex-tui/lint-rules/1"
_RULE_WIDTH = 80


def rules_text(rules: Sequence[Rule]) -> str:
    """Return a line per rule: id, severity, title."""
    width = max((len(rule.id) for rule in rules), default=0)
    return "".join(
        f"{rule.id:<{width}}  {rule.severity.value:<7}  {printable(rule.title)}\n" for rule in rules
    )


def explain_text(rule: Rule) -> str:
    """Return everything about a rule."""
    lines = [f"{rule.id}  {printable(rule.title)}  ({rule.severity.value})"]
    for label, text in _rule_parts(rule):
        lines += ["", label, *_indent(text)]
    return "".join(f"{line}\n" for line in lines)


def _indent(text: str) -> list[str]:
    lines = (wrap_text(printable(line), _RULE_WIDTH - 2, breaks_words=False) for line in text.split("\n"))
    return [f"  {line}" for wrapped in lines for line in wrapped]


def _rule_parts(rule: Rule) -> Iterator[tuple[str, str]]:
    parts = (
        ("Condition", rule.looks_for),
        ("Exceptions", rule.not_when),
        ("Why", rule.why),
        ("Remedy", rule.remedy),
        ("Thresholds", "\n".join(f"{name} = {value:g}" for name, value in rule.named_thresholds.items())),
        ("Reads", ", ".join(rule.columns)),
        ("References", "\n".join(rule.references)),
    )
    return ((label, text) for label, text in parts if text)


def rules_markdown(rules: Sequence[Rule]) -> str:
    """Return a table of all rules, and a section for each."""
    lines = ["| rule | severity | |", "|---|---|---|"]
    lines += [
        f"| [{rule.id}](#{rule.id.lower()}) | {rule.severity.value} | {escaped(rule.title)} |"
        for rule in rules
    ]
    return "\n".join(lines) + "\n" + "".join(f"\n{explain_markdown(rule)}" for rule in rules)


def explain_markdown(rule: Rule) -> str:
    """Return a section about a rule."""
    lines = [f"## {rule.id}", "", f"**{escaped(rule.title)}** ({rule.severity.value})"]
    for label, text in _rule_parts(rule):
        if label in ("References", "Thresholds"):
            lines += ["", f"{label}:", "", *(f"- {_link(line)}" for line in text.split("\n"))]
        elif label == "Reads":
            lines += ["", f"{label}: {', '.join(f'`{name}`' for name in rule.columns)}"]
        else:
            lines += ["", f"*{label}.* {escaped(text)}"]
    return "\n".join(lines) + "\n"


def _link(reference: str) -> str:
    """Return `Name: https://…` as a link; a threshold as code."""
    name, separator, address = reference.rpartition(": http")
    if separator and not any(char in address for char in " ()<>"):
        return f"[{escaped(name)}](http{address})"
    return f"`{reference}`" if " = " in reference else escaped(reference)


def rules_document(rules: Sequence[Rule]) -> dict[str, Any]:
    """Return the object that `lint --rules --format json` prints; `--explain` prints that of one rule."""
    return {
        "schema": RULES_SCHEMA,
        "rules": [
            {
                "id": rule.id,
                "family": rule.family,
                "title": rule.title,
                "severity": rule.severity.value,
                "looks_for": rule.looks_for,
                "not_when": rule.not_when or None,
                "why": rule.why,
                "remedy": rule.remedy,
                "references": list(rule.references),
                "columns": list(rule.columns),
                "thresholds": rule.named_thresholds,
            }
            for rule in rules
        ],
    }
