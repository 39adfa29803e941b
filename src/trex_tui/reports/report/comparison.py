"""The comparison of several engines, as `diff` tells it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trex_tui.reports.diff.choice import Shown
from trex_tui.reports.diff.document import diff_document
from trex_tui.reports.diff.sections import Section as DiffSection
from trex_tui.reports.diff.sections import Table as DiffTable
from trex_tui.reports.diff.sections import is_text, sections
from trex_tui.reports.report.model import Cell, Column, Part, Section, Table

_NUMBER = re.compile(r"(?P<number>[−+]?\d+(?:\.\d+)?)(?: (?P<unit>[KMGT])iB)?")
_UNITS = "KMGT"
_LONGEST_LIST = 240


def comparison_part(shown: Shown) -> Part:
    """Sentences and tables of `diff`; JSON holds the document of `diff --json`, with the blocks that are shown."""
    limited = Shown(shown.comparison, shown.rows, shown.top, shown.filter_text, shown.gates)
    told = [
        section_of(section, f"compared-{place}") for place, section in enumerate(sections(shown), start=1)
    ]
    return Part("comparison", "Comparison", told, document=diff_document(limited))


def section_of(section: DiffSection, id: str) -> Section:  # noqa: A002 - as the field of Section
    """A section as `diff` has it, as one of a report; numbers are read back from its cells, to sort by."""
    tables = [_table(section, section.table)] if section.table else []
    lines = [line.strip() for line in section.lines]
    return Section(id, section.title, lines, tables=tables, is_warning=section.is_warning)


def _table(section: DiffSection, table: DiffTable) -> Table:
    columns = [
        Column(f"column_{place}", heading, is_text(section, place))
        for place, heading in enumerate(table.headings)
    ]
    rows = [
        [
            Cell(text if column.is_text else _value(text), text)
            for column, text in zip(columns, _short(table, row), strict=True)
        ]
        for row in table.rows
    ]
    return Table("table", columns, rows, len(rows))


def _short(table: DiffTable, row: Sequence[str]) -> list[str]:
    """The cells, lists so short that neither page nor Markdown leaves out their middle."""
    return [
        table.fitted(place, text, _LONGEST_LIST) if place in table.lists else text
        for place, text in enumerate(row)
    ]


def _value(text: str) -> float | None:
    """The number that a cell begins with, sizes in bytes; None for none."""
    found = _NUMBER.match(text)
    if found is None:
        return None
    number = float(found["number"].replace("−", "-"))
    return number * 1024 ** (_UNITS.index(found["unit"]) + 1) if found["unit"] else number
