"""What lint found, for a person at a terminal or a pipe."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trex_tui.lint.model import Severity
from trex_tui.lint.result import Judged, Suppressed
from trex_tui.reports.lint.report import (
    EngineReport,
    LintReport,
    count_words,
    left_out_words,
    names_words,
    not_checked_words,
    stake_words,
    total_words,
)
from trex_tui.text import format_ms, plural, printable

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
