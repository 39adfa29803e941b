"""What lint says of the engine, and what is to know of its files."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.report.document import Section
from trex_tui.report.views import lint
from trex_tui.report.views.layers import table, word_column
from trex_tui.report.views.subject import Subject


def lint_sections(subject: Subject) -> Iterator[Section]:
    """What lint says of the engine."""
    return lint.lint_sections(subject.lint, subject.top)


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
