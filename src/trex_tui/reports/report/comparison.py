"""The comparison of several engines, as `diff` tells it."""

from __future__ import annotations

import re

from trex_tui.reports.diff.choice import Shown
from trex_tui.reports.diff.document import diff_document
from trex_tui.reports.diff.sections import Section as DiffSection
from trex_tui.reports.diff.sections import Table as DiffTable
from trex_tui.reports.diff.sections import is_text, sections
from trex_tui.reports.report.model import Cell, Column, Part, Section, Table
from trex_tui.text import MISSING

_NUMBER = re.compile(r"[−+]?\d+(?:\.\d+)?")


def comparison_part(shown: Shown) -> Part:
    """Sentences and tables of `diff`; JSON holds the document of `diff --json`, with the blocks that are shown."""
    limited = Shown(shown.comparison, shown.rows, shown.top, shown.filter_text, shown.gates)
    told = [_section(section, place) for place, section in enumerate(sections(shown), start=1)]
    return Part("comparison", "Comparison", told, document=diff_document(limited))


def _section(section: DiffSection, place: int) -> Section:
    tables = [_table(section, section.table)] if section.table else []
    lines = [line.strip() for line in section.lines]
    return Section(f"compared-{place}", section.title, lines, tables=tables, is_warning=section.is_warning)


def _table(section: DiffSection, table: DiffTable) -> Table:
    columns = [
        Column(f"column_{place}", heading, is_text(section, place))
        for place, heading in enumerate(table.headings)
    ]
    rows = [
        [
            Cell(text if column.is_text else _value(text), text)
            for column, text in zip(columns, row, strict=True)
        ]
        for row in table.rows
    ]
    return Table("table", columns, rows, len(rows))


def _value(text: str) -> float | None:
    """The number that a cell begins with, to sort by; None for none."""
    found = _NUMBER.match(text)
    return None if found is None or text == MISSING else float(found[0].replace("−", "-"))
