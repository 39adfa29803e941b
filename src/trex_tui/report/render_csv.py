"""Comma-separated values: the only CSV writer."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

from trex_tui.report.document import Cell, Table
from trex_tui.text import printable

_FORMULA = tuple("=+-@＝＋－＠﹦﹢﹣﹫−")
"""Signs that begin a formula, with the full-width and small forms that spreadsheets of East Asian locales accept."""


def csv_text(headings: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """A header line and a line per row. Unknown values are empty, several in a cell are joined by `;`.

    Names are data to programs as well: a text that a spreadsheet would take for a formula has `'` before it, which
    spreadsheets do not show, and what CSV readers stumble over (surrogates, NUL, tabs, carriage returns) is written as its
    escape. Numbers are as they are, with all their digits.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_cell(heading) for heading in headings])
    for row in rows:
        writer.writerow([_cell(value) for value in row])
    return text.getvalue()


def table_csv(table: Table) -> str:
    """CSV of a table: keys of the columns, raw values."""
    return csv_text([column.key for column in table.columns], table.rows)


def _cell(value: Any) -> Any:  # noqa: ANN401 - any cell
    if value is None:
        return ""
    if isinstance(value, float):
        return value if math.isfinite(value) else ""
    if isinstance(value, int):
        return value
    if isinstance(value, (Cell, Enum)):
        return _cell(value.value)
    if isinstance(value, tuple):
        value = ";".join(map(str, value))
    shown = printable(str(value))
    # LibreOffice and Excel skip blanks before they look for a formula.
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown
