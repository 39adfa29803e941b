"""What a report is made of, before it is HTML, Markdown or JSON: parts, sections, sentences, facts, tables, charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from trex_tui.engine.engine import Engine
from trex_tui.errors import Diagnostic
from trex_tui.text import plural

SCHEMA = "trex-tui/report/1"
TOP = 20
"""Rows of a table unless told otherwise."""
LONGEST_WORD = 24
"""Texts up to this length stay on one line."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        name: Key in JSON, flat snake_case, the unit at the end.
        heading: A word or two.
        is_text: Left-aligned, and sorted from A.
        has_bar: A bar beside shows each value against the largest of the column.
        help: What it means, in a sentence.
        unit: Of the raw values; empty for counts and words.
    """

    name: str
    heading: str
    is_text: bool = False
    has_bar: bool = False
    help: str = ""
    unit: str = ""


class Cell(NamedTuple):
    """A raw value, as JSON knows it, and the harmless text that people read."""

    value: Any
    text: str

    @property
    def number(self) -> float | None:
        """The raw value if it is a number."""
        return self.value if isinstance(self.value, (int, float)) else None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells.

    Attributes:
        id: Stable name, one of its kind in a section.
        total: Rows there are; more than `rows` where the report leaves some out.
        what: What a row is, for the sentence about those left out.
        styles: Of the bar of each row, as `svg.style` names them; empty where all are alike.
    """

    id: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    total: int
    what: str = "row"
    title: str = ""
    styles: Sequence[str] = ()

    def largest(self, place: int) -> float:
        """The largest number of a column; 0 for none: what bars are drawn against."""
        return max((row[place].number or 0.0 for row in self.rows), default=0.0)

    def is_wide(self, place: int) -> bool:
        """Whether a column holds texts that may be broken into lines."""
        return self.columns[place].is_text and any(len(row[place].text) > LONGEST_WORD for row in self.rows)

    @property
    def rest_words(self) -> str:
        """What is left out, and how to see it; empty if nothing is."""
        if self.total <= len(self.rows):
            return ""
        return f"{len(self.rows)} of {plural(self.total, self.what)}; --top 0 shows all."


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what is under it, in this order: sentences, facts, charts, tables.

    Attributes:
        id: Stable name, one of its kind in a part.
        facts: Label and words.
        charts: Ids of `charts.catalogue`, drawn by whoever writes the report.
        is_warning: It is to be seen before any number.
    """

    id: str
    title: str
    sentences: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = ()
    charts: Sequence[str] = ()
    tables: Sequence[Table] = ()
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A comparison, or what there is to say of an engine.

    Attributes:
        id: One of its kind in the report: `engine-1`, `comparison`.
        engine: None for a comparison.
        document: What JSON holds in place of the tables, where another command has a document of the same.
    """

    id: str
    title: str
    sections: Sequence[Section]
    engine: Engine | None = None
    document: Any = None


@dataclass(frozen=True, slots=True)
class Report:
    """All of it.

    Attributes:
        diagnostics: Of files that belong to no engine.
    """

    title: str
    parts: Sequence[Part]
    diagnostics: Sequence[Diagnostic] = ()
