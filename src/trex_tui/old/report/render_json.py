"""Documents and results of the analysis as JSON: dictionaries, lists, strings, numbers and null."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from trex_tui.old.engine.model import Layer
from trex_tui.old.errors import Diagnostic, describe_file
from trex_tui.old.report.document import Document, Section, Table, find_unit, raw

REPORT_SCHEMA = "trex-tui/report/2"


def plain(value: Any) -> Any:  # noqa: ANN401 - any result
    """Return `value` with dataclasses and named tuples as objects, enums as their values, layers as index and name.

    NaN and infinity, which JSON does not have, are null.
    """
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Layer):
        return {"index": value.index, "name": value.name}
    if isinstance(value, Path):
        return str(value)
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {_key(key): plain(item) for key, item in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, (Sequence, set, frozenset)):
        return [plain(item) for item in value]
    raise TypeError(f"no plain form of {type(value).__name__}")


def diagnostic_object(diagnostic: Diagnostic) -> dict[str, Any]:
    """JSON object of a diagnostic."""
    return {
        "severity": diagnostic.severity.value,
        "file": describe_file(diagnostic.file) if diagnostic.file else None,
        "where": diagnostic.where or None,
        "message": diagnostic.message,
    }


def _key(key: Any) -> str:  # noqa: ANN401 - any key
    """Key of an object: enums by value, percentiles as `p99.9`, None as `unknown`."""
    if isinstance(key, Enum):
        return str(key.value)
    if isinstance(key, float):
        return f"p{key:g}"
    return "unknown" if key is None else str(key)


def document_object(document: Document) -> dict[str, Any]:
    """Return the object that `report --format json` writes: raw values with units, sentences verbatim, absent facts null.

    A row of a table is an object by the keys of its columns; `rows_total` is the total number of rows.
    """
    compared = next((part for part in document.parts if part.engine is None), None)
    return {
        "schema": REPORT_SCHEMA,
        "title": document.title,
        "comparison": None
        if compared is None
        else {"sections": [_heading_object(section) for section in compared.sections], "diff": compared.data},
        "engines": [
            {
                "name": part.engine.name,
                "files": {kind.value: str(path) for kind, path in part.engine.files.items()},
                "sections": [section_object(section) for section in part.sections],
            }
            for part in document.parts
            if part.engine is not None
        ],
        "diagnostics": [diagnostic_object(diagnostic) for diagnostic in document.diagnostics],
    }


def _heading_object(section: Section) -> dict[str, Any]:
    sentences = [sentence.strip() for sentence in section.sentences]
    highlights = [{"label": label, "text": text} for label, text in section.highlights]
    return {"id": section.id, "title": section.title, "sentences": sentences, "highlights": highlights}


def section_object(section: Section) -> dict[str, Any]:
    """A section with its facts, the ids of its charts, and its tables."""
    return {
        **_heading_object(section),
        "facts": [{"label": label, "text": text} for label, text in section.facts],
        "folded": [{"label": label, "text": text} for label, text in section.folded],
        "charts": [chart.id for chart in section.charts],
        "tables": [table_object(table) for table in section.tables],
    }


def table_object(table: Table) -> dict[str, Any]:
    """A table with its columns, and its rows as objects."""
    return {
        "id": table.id,
        "columns": [
            {"name": column.key, "heading": column.title, "unit": find_unit(column) or None}
            for column in table.columns
        ],
        "rows": row_objects(table),
        "rows_total": table.rows_total,
    }


def row_objects(table: Table) -> list[dict[str, Any]]:
    """The rows as objects by the keys of the columns."""
    keys = [column.key for column in table.columns]
    return [dict(zip(keys, map(_plain_cell, row), strict=True)) for row in table.rows]


def _plain_cell(value: Any) -> Any:  # noqa: ANN401 - any cell
    # Most cells are plain: for 20 000 layers this saves a tenth of the total time.
    return value if value is None or type(value) in (str, int) else plain(raw(value))
