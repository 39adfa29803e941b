"""What lint found as workflow commands of GitHub Actions, which become annotations."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.lint.model import Severity
from trex_tui.reports.lint.report import (
    EngineReport,
    LintReport,
    count_words,
    names_words,
    stake_words,
    total_words,
)
from trex_tui.reports.lint.sarif import main_file
from trex_tui.text import plural, printable

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_MOST_LAYERS = 3


def lint_github(report: LintReport) -> str:
    """A line per finding, and one per engine that says what was and what was not looked at."""
    return "".join(f"{line}\n" for one in report.engines for line in _lines(one))


def _lines(report: EngineReport) -> Iterator[str]:
    result = report.result
    file = main_file(report)
    for judged in result.findings:
        title = f"{judged.rule.id} {judged.rule.title}"
        parts = [judged.message, *names_words(report.layers_of(judged), _MOST_LAYERS)]
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
