"""What lint says of the engine, and what is to know of its files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trex_tui.lint.model import Judged
from trex_tui.report.charts.figure import as_sentence
from trex_tui.report.document import Cell, Section, Table
from trex_tui.report.views.engine import Subject
from trex_tui.report.views.layers import number_column, table, word_column
from trex_tui.report.views.lint import (
    count_words,
    left_out_words,
    names_words,
    not_checked_words,
    total_words,
)

_MOST_LAYERS = 3


def lint_sections(subject: Subject) -> Iterator[Section]:
    """Findings with what they cost and what to do, what is well done, and what could not be looked at."""
    result = subject.lint.result
    words = [count_words(result), total_words(subject.lint), left_out_words(result)]
    tables = [_findings(subject, result.findings)] if result.findings else []
    tables += _others(subject)
    sentence = "; ".join(filter(None, words))
    yield Section("lint", "Findings", sentences=[as_sentence(sentence)], tables=tables)


def _findings(subject: Subject, findings: Sequence[Judged]) -> Table:
    columns = (
        word_column("severity", "Severity"),
        word_column("rule", "Rule"),
        word_column("message", "Finding"),
        word_column("layers", "Layers"),
        number_column("stake_ms", "Stake ms", has_bar=True, help="Time that could be won."),
        number_column("stake_pct", "%"),
        word_column("remedy", "What to do"),
    )
    rows = []
    for one in findings[: subject.top]:
        layers = subject.lint.layers_of(one)
        names = "; ".join(names_words(layers, _MOST_LAYERS)) or "the engine"
        rows.append(
            [
                one.severity.value,
                one.rule.id,
                one.message,
                Cell([layer.index for layer in layers], names),
                one.stake_ms,
                subject.lint.pct(one.stake_ms),
                one.remedy,
            ]
        )
    return Table("findings", columns, rows, total=len(findings), noun="finding")


def _others(subject: Subject) -> Iterator[Table]:
    """What is well done, what the configuration leaves out, and what could not be looked at."""
    result, top = subject.lint.result, subject.top
    if result.positives:
        done = ((one.rule.id, one.message) for one in result.positives)
        heads = (word_column("rule", "Rule"), word_column("message", "Well done"))
        yield table("well_done", heads, done, top=top, what="remark", title="Well done")
    if result.suppressed:
        left_out = (
            (one.judged.rule.id, one.judged.message, one.reason, one.origin) for one in result.suppressed
        )
        columns = (
            word_column("rule", "Rule"),
            word_column("message", "Finding"),
            word_column("reason", "Why left out"),
            word_column("origin", "Stated in"),
        )
        yield table("suppressed", columns, left_out, top=top, what="finding", title="Suppressed")
    if missing := not_checked_words(result):
        heads = (word_column("rules", "Rules"), word_column("reason", "Why they could not look"))
        yield table("not_checked", heads, missing, title="Not checked")


def note_sections(subject: Subject) -> Iterator[Section]:
    """What could not be used of the files, and what is worth knowing of them."""
    notes = subject.engine.diagnostics
    if notes:
        columns = (
            word_column("severity", "Severity"),
            word_column("file", "File"),
            word_column("where", "Where"),
            word_column("message", "Remark"),
        )
        rows = [
            (one.severity.value, one.file.name if one.file else None, one.where or None, one.message)
            for one in notes
        ]
        yield Section(
            "notes",
            "Remarks on the files",
            tables=[table("notes", columns, rows, top=subject.top, what="remark")],
        )
