"""Documents: sections of sentences, facts, charts and tables of raw values, which renderers turn into every form.

Views make documents; renderers make text, Markdown, HTML, JSON, CSV and the columns of Textual tables. A cell holds the raw
value and its column the format, so every form has the same number, and nothing is read back out of text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from enum import Enum
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from trex_tui.text import (
    MISSING,
    format_bytes,
    format_count,
    format_ms,
    format_pct,
    plural,
    printable,
    shorten_middle,
    shorten_name_list,
)

if TYPE_CHECKING:
    from trex_tui.engine.engine import Engine
    from trex_tui.errors import Diagnostic

TOP = 20
"""Rows of a table without `--top`."""

_UNITS = {
    "_ms": "milliseconds",
    "_pct": "percent",
    "_bytes": "bytes",
    "_w": "watts",
    "_j": "joules",
    "_mj": "millijoules",
}
_FORMATS: dict[str, Callable[[Any], str]] = {
    "_ms": format_ms,
    "_pct": format_pct,
    "_bytes": format_bytes,
    "_qps": lambda value: f"{value:.2f}",
    "_w": lambda value: f"{value:.3f}",
    "_j": lambda value: f"{value:.4g}",
    "_mj": lambda value: f"{value:.4g}",
    "seconds": lambda value: f"{value:.3f}",
}
"""Formats of numbers by the end of the column's key; others are counts."""
_ORDINALS = frozenset({"index", "first", "last", "line"})
"""Numbers that name something and are never rounded."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A raw value with a text of its own, where the column's format does not suffice: `at least 3.00 MiB`."""

    value: Any
    text: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; adding one to a view adds it to every form.

    Attributes:
        key: Name in JSON and CSV, flat snake_case, the unit at the end (`latency_ms`); unique in a table.
        title: Heading for people; a word or two.
        value: Takes the raw value out of an item, for `make_table` and for tables of items on a screen.
        is_number: Right-aligned, and sorted from the largest; else left-aligned and sorted from A.
        unit: Of the raw values; by default what the end of the key says; empty for counts and words.
        format: Text of a value that is not missing; by default what the end of the key asks for.
        help: What the column means, in a sentence.
        explain: Says what a raw value means, for a tooltip; empty for nothing.
        has_bar: Markdown and HTML draw a bar of each value against the largest.
        shorten: Cuts a text to a number of characters; may be given texts that fit.
        is_fitted_first: Has as many cells as its shortened texts need before other flexible columns have more than the least.
        width: Cells in a terminal; of a flexible column what it needs before others are left out.
        flex: A text that gives way in a terminal where there is no room for it.
        priority: 0 is always on the screen; where it is too narrow, the largest number goes first.
    """

    key: str
    title: str
    _: KW_ONLY
    value: Callable[[Any], Any] | None = None
    is_number: bool = False
    unit: str | None = None
    format: Callable[[Any], str] | None = None
    help: str = ""
    explain: Callable[[Any], str] | None = None
    has_bar: bool = False
    shorten: Callable[[str, int], str] = shorten_middle
    is_fitted_first: bool = False
    width: int = 8
    flex: bool = False
    priority: int = 0

    def text(self, value: Any) -> str:  # noqa: ANN401 - any cell
        """Format a raw value or a `Cell` as printable text."""
        if isinstance(value, Cell):
            return value.text
        if is_missing(value):
            return MISSING
        if self.format is not None:
            return printable(self.format(value))
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, Enum):
            value = value.value
        if isinstance(value, (tuple, list)):
            return ", ".join(printable(str(part)) for part in value)
        if isinstance(value, (int, float)):
            return format_number(self.key, value)
        return printable(shorten_name_list(str(value))) or MISSING


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of raw values; a `Cell` stands where a value needs a text of its own.

    Attributes:
        id: Stable name, unique in its section.
        rows: As long as `columns`; None and NaN are missing values.
        total: Rows there are, where `rows` leaves some out; None for all.
        title: Heading where a section has several tables; may be empty.
        noun: What a row is, for the sentence about rows left out.
        note: A sentence below the table.
        styles: Of the bar of each row, as `svg.style` names them; empty where all are alike.
    """

    id: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    _: KW_ONLY
    total: int | None = None
    title: str = ""
    noun: str = "row"
    note: str = ""
    styles: Sequence[str] = ()

    def texts(self, index: int) -> list[str]:
        column = self.columns[index]
        return [column.text(row[index]) for row in self.rows]

    def largest(self, index: int) -> float:
        """The largest number of a column; 0 for none."""
        return max((number(row[index]) or 0.0 for row in self.rows), default=0.0)

    @property
    def rows_total(self) -> int:
        """Number of rows, shown or not."""
        return len(self.rows) if self.total is None else self.total

    @property
    def rest(self) -> str:
        """Sentence on the rows that are left out; empty for none."""
        if self.rows_total <= len(self.rows):
            return ""
        return f"{len(self.rows)} of {plural(self.rows_total, self.noun)}; --top 0 shows all."


@dataclass(frozen=True, slots=True)
class ChartReference:
    """A chart of the catalogue for an engine; the renderer draws it."""

    id: str
    engine: Engine


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what is below it, in this order: sentences, facts, charts, tables.

    Attributes:
        id: Stable name, unique in its part.
        sentences: Harmless text; blanks at the beginning indent a line in a terminal.
        facts: Label and text.
        folded: Further facts, shown on request: options at their default.
        is_warning: To be seen before any number.
    """

    id: str
    title: str
    _: KW_ONLY
    sentences: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = ()
    folded: Sequence[tuple[str, str]] = ()
    charts: Sequence[ChartReference] = ()
    tables: Sequence[Table] = ()
    is_warning: bool = False


def describe_folded(section: Section) -> str:
    """How many facts are folded."""
    return plural(len(section.folded), "further fact")


@dataclass(frozen=True, slots=True)
class Part:
    """The sections about one subject: an engine, or a comparison.

    Attributes:
        id: Unique in the document: `engine-1`, `comparison`.
        engine: None for a comparison.
        data: What JSON holds in place of the tables, where another command has an object of the same.
    """

    id: str
    title: str
    sections: Sequence[Section]
    _: KW_ONLY
    engine: Engine | None = None
    data: Any = None


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report.

    Attributes:
        diagnostics: Of files that belong to no part.
    """

    title: str
    parts: Sequence[Part]
    diagnostics: Sequence[Diagnostic] = ()


def make_table(
    id: str,  # noqa: A002 - as the field of Table
    columns: Sequence[Column],
    items: Iterable[Any],
    *,
    top: int | None = None,
    total: int | None = None,
    title: str = "",
    noun: str = "row",
    styles: Sequence[str] = (),
) -> Table:
    """Make a row of each item: by `Column.value`, or from the item's own values where columns have no `value`.

    Args:
        top: Rows to show; None for all.
        total: Rows there are, where the items are only some of them.
    """
    every = list(items)
    getters = [column.value or itemgetter(index) for index, column in enumerate(columns)]
    rows = [[get(item) for get in getters] for item in every[:top]]
    return Table(id, columns, rows, total=total or len(every), title=title, noun=noun, styles=styles)


def drop_empty_columns(table: Table) -> Table:
    """Return the table without the columns in which every value is missing."""
    kept = [
        index
        for index in range(len(table.columns))
        if not all(is_missing(raw(row[index])) for row in table.rows)
    ]
    columns = [table.columns[index] for index in kept]
    return replace(table, columns=columns, rows=[[row[index] for index in kept] for row in table.rows])


def is_missing(value: Any) -> bool:  # noqa: ANN401 - any cell
    """Whether a raw value is None or NaN: unknown, which is not zero."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def raw(value: Any) -> Any:  # noqa: ANN401 - any cell
    """The raw value of a cell."""
    return value.value if isinstance(value, Cell) else value


def number(value: Any) -> float | None:  # noqa: ANN401 - any cell
    """The raw value of a cell if it is a finite number."""
    value = raw(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number else None


def format_number(key: str, value: float) -> str:
    """Format a number by the end of its key; the unit is in the heading, but for bytes."""
    return _number_format(key)(value)


@lru_cache(maxsize=256)
def _number_format(key: str) -> Callable[[Any], str]:
    if key in _ORDINALS:
        return str
    return next((form for end, form in _FORMATS.items() if key.endswith(end)), format_count)


def find_unit(column: Column) -> str:
    """The unit of a column's raw values; empty for none."""
    if column.unit is not None:
        return column.unit
    return next((unit for end, unit in _UNITS.items() if column.key.endswith(end)), "")


@dataclass(frozen=True, slots=True)
class Listing:
    """A table as a file of its own.

    Attributes:
        schema: What the JSON object says it is: `trex-tui/build-tactics/1`.
        source: The file or the engine that the rows are of.
        table: Its id is what the rows are called in JSON.
        source_key: What the source is called in JSON.
        diagnostics: Problems in the input files that JSON states; None where the rows are of one file that was read whole.
    """

    schema: str
    source: str
    table: Table
    source_key: str = "file"
    diagnostics: Sequence[Diagnostic] | None = None


class ListingOffer(NamedTuple):
    """A listing that is made on request: all tactics of a long build take seconds.

    Attributes:
        stem: What its file is called by default, behind the name of the engine.
    """

    stem: str
    make: Callable[[], Listing]
