"""Damaged files that affect a result: as a section, and as CSV beside a file without room for text."""

from __future__ import annotations

from collections.abc import Iterable

from trex_tui.old.errors import Diagnostic, describe_file
from trex_tui.old.report.document import Column, Section, make_table
from trex_tui.old.report.table_files import table_csv
from trex_tui.old.text import printable

DAMAGE_COLUMNS = (
    Column("severity", "Severity", value=lambda diagnostic: diagnostic.severity.value),
    Column(
        "file", "File", value=lambda diagnostic: describe_file(diagnostic.file) if diagnostic.file else None
    ),
    Column("where", "Where", value=lambda diagnostic: diagnostic.where or None),
    Column("message", "Remark", value=lambda diagnostic: diagnostic.message),
)
DAMAGE_HEADER = ",".join(column.key for column in DAMAGE_COLUMNS)
"""First line of the CSV, by which an earlier one is recognized."""


def damage_section(diagnostics: Iterable[Diagnostic]) -> Section:
    """Return a warning with a sentence per error."""
    sentences = [f"{diagnostic.severity.value}: {printable(str(diagnostic))}" for diagnostic in diagnostics]
    return Section("damage", "Damaged files", sentences=sentences, is_warning=True)


def damage_csv(diagnostics: Iterable[Diagnostic]) -> str:
    """Return a row per error."""
    return table_csv(make_table("damage", DAMAGE_COLUMNS, diagnostics, noun="error"))
