"""What lint found as Markdown, short enough for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.lint.result import Judged
from trex_tui.reports.lint.report import (
    EngineReport,
    LintReport,
    count_words,
    left_out_words,
    names_words,
    not_checked_words,
    total_words,
)
from trex_tui.reports.markdown import escaped
from trex_tui.text import MISSING, format_ms, format_pct

MOST_FINDINGS = 30
"""Rows per engine: a comment holds 65 536 characters, and a reader fewer."""
_MOST_LAYERS = 3
_MOST_NAME = 120


def lint_markdown(report: LintReport) -> str:
    """A section per engine: a table of findings, the rest folded away."""
    return "\n".join(line for one in report.engines for line in _section(one)) + "\n"


def _section(report: EngineReport) -> Iterator[str]:
    result = report.result
    yield f"### {escaped(report.engine.name)}"
    yield ""
    parts = [f"**{count_words(result)}**", total_words(report), left_out_words(result)]
    yield "; ".join(part for part in parts if part)
    yield ""
    if result.findings:
        yield "| | rule | finding | layers | stake ms | % | what to do |"
        yield "|---|---|---|---|---:|---:|---|"
        yield from (_row(report, one) for one in result.findings[:MOST_FINDINGS])
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


def _row(report: EngineReport, judged: Judged) -> str:
    names = names_words(report.layers_of(judged), _MOST_LAYERS, _MOST_NAME)
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
