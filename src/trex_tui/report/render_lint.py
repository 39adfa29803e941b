"""What lint found, for a person at a terminal or a pipe."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trex_tui.lint.model import Judged, Severity, Suppressed
from trex_tui.report.render_json import diagnostic_object, plain
from trex_tui.report.render_markdown import escaped
from trex_tui.report.render_sarif import main_file
from trex_tui.report.views.lint import (
    EngineReport,
    LintReport,
    count_words,
    fingerprint,
    left_out_words,
    names_words,
    not_checked_words,
    stake_words,
    total_words,
)
from trex_tui.text import MISSING, format_ms, format_pct, plural, printable

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "yellow",
    Severity.INFO: "cyan",
    Severity.GOOD: "green",
}
_INDENT = 9
_ID_INDENT = 12
_MOST_LAYERS = 3
_WIDEST = 110
"""Sentences that run over the whole of a wide terminal are hard to read."""


def print_lint(report: LintReport, console: Console) -> None:
    """Every engine. In a terminal sentences are wrapped to its width, in a pipe each is a line."""
    from rich.text import Text

    width = min(console.width, _WIDEST) if console.is_terminal else 0
    for style, line in lint_lines(report, width):
        console.print(Text(line, style=style), soft_wrap=True)


def lint_lines(report: LintReport, width: int = 0) -> Iterator[tuple[str, str]]:
    """Style and text of each line.

    Args:
        width: Lines are wrapped to it where they have spaces; 0 for no limit.
    """
    for one in report.engines:
        for style, indent, line in _engine_lines(one, max(20, width - _INDENT - 12) if width else 0):
            for wrapped in _wrapped(line, indent, width):
                yield style, wrapped


def _wrapped(line: str, indent: int, width: int) -> list[str]:
    if not width:
        return [line]
    wrapper = textwrap.TextWrapper(
        width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
    return wrapper.wrap(line) or [""]


def _engine_lines(report: EngineReport, name_width: int) -> Iterator[tuple[str, int, str]]:
    """Style, indent of further lines, and text.

    Args:
        name_width: Longer names of layers lose their middle; 0 for no limit.
    """
    result = report.result
    yield "bold", 0, _title(report)
    summary = [count_words(result), total_words(report), left_out_words(result)]
    yield "", 0, "; ".join(part for part in summary if part)
    advice: set[tuple[str, str]] = set()
    for judged in result.findings:
        yield "", 0, ""
        yield from _finding_lines(report, judged, name_width)
        if (judged.rule.id, judged.remedy) not in advice:  # once is enough
            advice.add((judged.rule.id, judged.remedy))
            yield "", _INDENT, _padded("", f"do: {printable(judged.remedy)}")
    if result.positives:
        yield "", 0, ""
        yield "bold", 0, "Well done"
        for judged in result.positives:
            line = _padded(judged.rule.id, printable(judged.message), _ID_INDENT)
            yield _STYLES[Severity.GOOD], _ID_INDENT, line
    if result.suppressed:
        yield "", 0, ""
        yield "bold", 0, "Suppressed"
        for one in result.suppressed:
            yield from _suppressed_lines(report, one, name_width)
    if result.not_checked:
        yield "", 0, ""
        yield "bold", 0, "Not checked"
        for names, reason in not_checked_words(result):
            yield "dim", 4, f"  {names}: {reason}"
    yield "", 0, ""


def _title(report: EngineReport) -> str:
    engine = report.engine
    parts = [printable(engine.name)]
    if engine.device_name:
        parts.append(printable(engine.device_name))
    parts.append(plural(len(engine.layers), "layer"))
    total = engine.latency_sum_ms
    parts.append("no layer times" if total is None else f"layers {format_ms(total)} ms")
    return ", ".join(parts)


def _padded(head: str, text: str, indent: int = _INDENT) -> str:
    return f"{head:<{indent - 1}} {text}"


def _finding_lines(report: EngineReport, judged: Judged, name_width: int) -> Iterator[tuple[str, int, str]]:
    head = _padded(judged.severity.value, f"{judged.rule.id}  {printable(judged.rule.title)}")
    yield _STYLES[judged.severity], _INDENT, head
    yield "", _INDENT, _padded("", printable(judged.message))
    names = names_words(report.layers_of(judged), _MOST_LAYERS, name_width)
    if names:
        if judged.suppressed_layers:
            names.append(f"{judged.suppressed_layers} suppressed")
        label = "layer" if len(judged.layers) == 1 else "layers"
        yield "", _INDENT, _padded("", f"{label}: {'; '.join(names)}")
    weight = f"{stake_words(report, judged)}, confidence {judged.confidence.value}"
    formula = printable(judged.finding.formula)
    yield "dim", _INDENT, _padded("", f"{weight}; {formula}" if formula else weight)


def _suppressed_lines(
    report: EngineReport, one: Suppressed, name_width: int
) -> Iterator[tuple[str, int, str]]:
    judged = one.judged
    names = "; ".join(names_words(report.layers_of(judged), _MOST_LAYERS, name_width)) or "the engine"
    line = f"{printable(judged.message)} [{names}]"
    yield "dim", _ID_INDENT, _padded(judged.rule.id, line, _ID_INDENT)
    because = f"because {printable(one.reason)} ({printable(one.origin)})"
    yield "dim", _ID_INDENT, _padded("", because, _ID_INDENT)


MOST_FINDINGS = 30
"""Rows per engine: a comment holds 65 536 characters, and a reader fewer."""
_MOST_LAYERS_MARKDOWN = 3
_MOST_NAME = 120


def lint_markdown(report: LintReport) -> str:
    """A section per engine: a table of findings, the rest folded away."""
    return "\n".join(line for one in report.engines for line in _markdown_section(one)) + "\n"


def _markdown_section(report: EngineReport) -> Iterator[str]:
    result = report.result
    yield f"### {escaped(report.engine.name)}"
    yield ""
    parts = [f"**{count_words(result)}**", total_words(report), left_out_words(result)]
    yield "; ".join(part for part in parts if part)
    yield ""
    if result.findings:
        yield "| | rule | finding | layers | stake ms | % | what to do |"
        yield "|---|---|---|---|---:|---:|---|"
        yield from (_markdown_row(report, one) for one in result.findings[:MOST_FINDINGS])
        yield ""
        more = len(result.findings) - MOST_FINDINGS
        if more > 0:
            yield f"{more} more with the smallest stakes: `trex-tui lint` lists them."
            yield ""
    yield from _folded("Well done", [f"{one.rule.id}: {escaped(one.message)}" for one in result.positives])
    yield from _folded(
        "Suppressed",
        [
            f"{one.judged.rule.id}: {escaped(one.judged.message)} Because {escaped(one.reason)} ({escaped(one.origin)})"
            for one in result.suppressed[:MOST_FINDINGS]
        ],
        len(result.suppressed),
    )
    missing = not_checked_words(result)
    yield from _folded("Not checked", [f"{names}: {escaped(reason)}" for names, reason in missing])


def _markdown_row(report: EngineReport, judged: Judged) -> str:
    names = names_words(report.layers_of(judged), _MOST_LAYERS_MARKDOWN, _MOST_NAME)
    share = report.pct(judged.stake_ms)
    cells = (
        judged.severity.value,
        f"{judged.rule.id}<br>{escaped(judged.rule.title)}",
        escaped(judged.message),
        "<br>".join(map(escaped, names)) or "the engine",
        format_ms(judged.stake_ms) if judged.stake_ms is not None else "unknown",
        format_pct(share) if share is not None else MISSING,
        escaped(judged.remedy),
    )
    return f"| {' | '.join(cells)} |"


def _folded(title: str, lines: list[str], count: int | None = None) -> Iterator[str]:
    if not lines:
        return
    count = len(lines) if count is None else count
    yield f"<details><summary>{title} ({count})</summary>"
    yield ""
    yield from (f"- {line}" for line in lines)
    if count > len(lines):
        yield f"- {count - len(lines)} more"
    yield ""
    yield "</details>"
    yield ""


_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_MOST_LAYERS_GITHUB = 3


def lint_github(report: LintReport) -> str:
    """A line per finding, and one per engine that says what was and what was not looked at."""
    return "".join(f"{line}\n" for one in report.engines for line in _github_lines(one))


def _github_lines(report: EngineReport) -> Iterator[str]:
    result = report.result
    file = main_file(report)
    for judged in result.findings:
        title = f"{judged.rule.id} {judged.rule.title}"
        parts = [judged.message, *names_words(report.layers_of(judged), _MOST_LAYERS_GITHUB)]
        parts += [stake_words(report, judged), f"do: {judged.remedy}"]
        yield _command(_COMMANDS[judged.severity], file, f"{report.engine.name}: {title}", "\n".join(parts))
    parts = [count_words(result), total_words(report)]
    if result.suppressed:
        parts.append(f"{len(result.suppressed)} suppressed")
    if result.not_checked:
        rules = len({one.rule for one in result.not_checked})
        parts.append(f"{plural(rules, 'rule')} could not look")
    yield _command("notice", file, f"{report.engine.name}: lint", "; ".join(part for part in parts if part))


def _command(name: str, file: str | None, title: str, message: str) -> str:
    properties = [f"file={_property(file)}"] if file else []
    properties.append(f"title={_property(title)}")
    lines = "%0A".join(_data(line) for line in message.split("\n"))
    return f"::{name} {','.join(properties)}::{lines}"


def _data(text: str) -> str:
    """Made harmless first: what is left of line ends are those that stand between our own lines."""
    return printable(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


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
        "findings": [_finding_object(report, one) for one in result.findings],
        "positives": [_finding_object(report, one) for one in result.positives],
        "suppressed": [_suppressed_object(report, one) for one in result.suppressed],
        "not_checked": plain(result.not_checked),
        "broken_rules": list(result.failed),
        "milder": result.milder,
        "diagnostics": [diagnostic_object(one) for one in engine.diagnostics],
    }


def _finding_object(report: EngineReport, judged: Judged) -> dict[str, Any]:
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


def _suppressed_object(report: EngineReport, one: Suppressed) -> dict[str, Any]:
    return {**_finding_object(report, one.judged), "reason": one.reason, "origin": one.origin}
