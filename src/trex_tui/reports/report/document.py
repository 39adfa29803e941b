"""The object that `report --format json` writes."""

from __future__ import annotations

from typing import Any

from trex_tui.reports.document import Document, Part, Section, Table, raw, unit_of
from trex_tui.reports.plain import diagnostic_object, plain

SCHEMA = "trex-tui/report/2"


def report_document(report: Document) -> dict[str, Any]:
    """The report as data: raw values with units, sentences as they are. Absent facts are None.

    A row of a table is an object by the names of its columns; `rows_total` says how many rows there would be.
    """
    engines = [part for part in report.parts if part.engine is not None]
    compared = next((part for part in report.parts if part.engine is None), None)
    return {
        "schema": SCHEMA,
        "title": report.title,
        "comparison": None
        if compared is None
        else {"sections": [_sentences(section) for section in compared.sections], "diff": compared.data},
        "engines": [_engine(part) for part in engines],
        "diagnostics": [diagnostic_object(one) for one in report.diagnostics],
    }


def _engine(part: Part) -> dict[str, Any]:
    assert part.engine is not None
    return {
        "name": part.engine.name,
        "files": {kind.value: str(path) for kind, path in part.engine.files.items()},
        "sections": [_section(section) for section in part.sections],
    }


def _sentences(section: Section) -> dict[str, Any]:
    return {
        "id": section.id,
        "title": section.title,
        "sentences": [sentence.strip() for sentence in section.sentences],
    }


def _section(section: Section) -> dict[str, Any]:
    return {
        **_sentences(section),
        "facts": [{"label": label, "text": text} for label, text in section.facts],
        "charts": [chart.id for chart in section.charts],
        "tables": [_table(table) for table in section.tables],
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        "id": table.id,
        "columns": [
            {"name": column.key, "heading": column.title, "unit": unit_of(column) or None}
            for column in table.columns
        ],
        "rows": [
            {column.key: plain(raw(value)) for column, value in zip(table.columns, row, strict=True)}
            for row in table.rows
        ],
        "rows_total": table.rows_total,
    }
