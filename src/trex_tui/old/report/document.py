"""Documents: sections of sentences, facts, charts and tables of raw values, which renderers turn into every format.

Views make documents; renderers make text, Markdown, HTML, JSON, CSV and the columns of Textual tables. A cell holds the raw
value and its column the format, so every output has the same number, and nothing is parsed back from text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, replace
from enum import Enum
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import (
    MISSING,
    format_bytes,
    format_count,
    format_ms,
    format_pct,
    plural,
    printable,
    shorten_middle,
    shorten_name_list,
    unit_of_key,
)

if TYPE_CHECKING:
    from trex_tui.old.engine.engine import Engine
    from trex_tui.old.errors import Diagnostic
    from trex_tui.old.report.charts.figure import Chart, Figure

TOP = 20
"""Rows of a table without `--top`."""
BAR_SCALE = "0–max"
"""Heading of the bars of a column: from 0 to its largest value."""

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
"""Formats of numbers by the suffix of the column's key; others are counts."""
_ORDINALS = frozenset({"index", "first", "last", "line"})
"""Numbers that identify something and are never rounded."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A raw value with its own text, if the column's format is not sufficient: `at least 3.00 MiB`.

    Attributes:
        parts: The text in parts, each with the index of the layer that it names, or None; empty if it names no layer.
    """

    value: Any
    text: str
    parts: Sequence[tuple[str, int | None]] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; adding one to a view adds it to every format.

    Attributes:
        key: Name in JSON and CSV, flat snake_case, the unit at the end (`latency_ms`); unique in a table.
        title: Heading for display; a word or two.
        value: Returns the raw value of an item, for `make_table` and for tables of items on a screen.
        is_number: Right-aligned, and sorted from the largest; else left-aligned and sorted from A.
        unit: Unit of the raw values; by default the suffix of the key; empty for counts and words.
        format: Text of a value that is not missing; by default determined by the suffix of the key.
        help: Meaning of the column, in a sentence.
        explain: Returns the meaning of a raw value, for a tooltip; empty for none.
        has_bar: Markdown and HTML draw a bar of each value relative to the largest.
        shorten: Cuts a text to a number of characters; may be called with texts that fit.
        is_fitted_first: Gets the width of its shortened texts before other flexible columns get more than the minimum.
        width: Cells in a terminal; for a flexible column its minimum before others are omitted.
        flex: A text that is shortened if a terminal is too narrow.
        priority: 0 is always shown; in a narrow terminal, the largest number is omitted first.
        is_hidden: For programs: in JSON, CSV and frames, but not displayed.
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
    is_hidden: bool = False

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
    """Rows of raw values; a `Cell` is a value with its own text.

    Attributes:
        id: Stable name, unique in its section.
        rows: As long as `columns`; None and NaN are missing values.
        total: Total number of rows, if `rows` omits some; None for all.
        title: Heading if a section has several tables; may be empty.
        noun: Noun for a row, for the sentence about omitted rows.
        note: A sentence below the table.
        styles: Style of the bar of each row, as `svg.style` names them; empty if all are equal.
        layers: Index of the layer that each row is about, for links to it; empty if rows are about something else.
        part: Id of the part whose layers its links lead to; empty for its own.
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
    layers: Sequence[int] = ()
    part: str = ""

    def texts(self, index: int) -> list[str]:
        column = self.columns[index]
        return [column.text(row[index]) for row in self.rows]

    def largest(self, index: int) -> float:
        """Return the largest number of a column; 0 for none."""
        return max((number(row[index]) or 0.0 for row in self.rows), default=0.0)

    @property
    def rows_total(self) -> int:
        """Return the number of rows, including omitted ones."""
        return len(self.rows) if self.total is None else self.total

    @property
    def shown_part(self) -> str:
        """Return `20 of 57 layers`; empty if no row is omitted."""
        if self.rows_total <= len(self.rows):
            return ""
        return f"{len(self.rows)} of {plural(self.rows_total, self.noun)}"

    @property
    def rest(self) -> str:
        """Return a sentence about the omitted rows; empty for none."""
        return self.shown_part and f"{self.shown_part}; --top 0 shows all."


@dataclass(frozen=True, slots=True)
class ChartReference:
    """A chart for an engine; the renderer draws it.

    Attributes:
        chart: None for one of the catalogue.
        is_printed: On paper too; else a page names it as left out.
    """

    id: str
    engine: Engine
    chart: Chart | None = None
    is_printed: bool = True


@dataclass(frozen=True, slots=True)
class FigureChart:
    """A chart of several engines.

    Attributes:
        figure: What is drawn, before it has a size.
        is_printed: As of `ChartReference`.
    """

    id: str
    title: str
    figure: Figure
    is_printed: bool = True


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its content, in this order: highlights, sentences, facts, charts, tables.

    Attributes:
        id: Stable name, unique in its part.
        sentences: Printable text; leading blanks indent a line in a terminal.
        highlights: Label and text of the few numbers that matter most.
        facts: Label and text.
        folded: Further facts, shown on request: options at their default.
        is_warning: To be shown before any number.
        is_printed: On paper too; else a page names it as left out.
    """

    id: str
    title: str
    _: KW_ONLY
    sentences: Sequence[str] = ()
    highlights: Sequence[tuple[str, str]] = ()
    facts: Sequence[tuple[str, str]] = ()
    folded: Sequence[tuple[str, str]] = ()
    charts: Sequence[ChartReference | FigureChart] = ()
    tables: Sequence[Table] = ()
    is_warning: bool = False
    is_printed: bool = True


def describe_folded(section: Section) -> str:
    """Return a text with the number of folded facts."""
    return plural(len(section.folded), "further fact")


@dataclass(frozen=True, slots=True)
class Part:
    """The sections about one subject: an engine, or a comparison.

    Attributes:
        id: Unique in the document: `engine-1`, `comparison`.
        engine: None for a comparison.
        data: Replaces the tables in JSON, if another command has an object of the same content.
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


def engine_part_id(index: int) -> str:
    """Return the id of the part about an engine, by its index in the report."""
    return f"engine-{index + 1}"


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
    """Make a row of each item: by `Column.value`, or from the item's own values if columns have no `value`.

    Args:
        top: Maximum number of rows; None for all.
        total: Total number of rows, if the items are only some of them.
    """
    every = list(items)
    getters = [column.value or itemgetter(index) for index, column in enumerate(columns)]
    rows = [[get(item) for get in getters] for item in every[:top]]
    return Table(id, columns, rows, total=total or len(every), title=title, noun=noun, styles=styles)


def drop_empty_columns(table: Table) -> Table:
    """Return the table without the columns in which every value is missing."""
    filled = range(len(table.columns))
    return _keep_columns(table, [i for i in filled if not all(_is_empty(row[i]) for row in table.rows)])


def displayed(table: Table, *, is_complete: bool = False) -> Table:
    """Return the table without the columns that are for programs only, and without empty ones.

    Args:
        is_complete: Keep empty columns, as in a listing whose columns the user chose.
    """
    shown = [index for index, column in enumerate(table.columns) if not column.is_hidden]
    table = _keep_columns(table, shown)
    return table if is_complete else drop_empty_columns(table)


def _keep_columns(table: Table, kept: Sequence[int]) -> Table:
    """Return the table with some of its columns; unchanged if these are all or none."""
    if len(kept) in (0, len(table.columns)):
        return table
    columns = [table.columns[index] for index in kept]
    return replace(table, columns=columns, rows=[[row[index] for index in kept] for row in table.rows])


def _is_empty(value: Any) -> bool:  # noqa: ANN401 - any cell
    if isinstance(value, Cell):
        return is_missing(value.value) and value.text in ("", MISSING)
    return is_missing(value) or value in ("", ())


def is_missing(value: Any) -> bool:  # noqa: ANN401 - any cell
    """Return whether a raw value is None or NaN: unknown, which is not zero."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def raw(value: Any) -> Any:  # noqa: ANN401 - any cell
    """Return the raw value of a cell."""
    return value.value if isinstance(value, Cell) else value


def number(value: Any) -> float | None:  # noqa: ANN401 - any cell
    """Return the raw value of a cell if it is a finite number."""
    value = raw(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number else None


def format_number(key: str, value: float) -> str:
    """Format a number by the suffix of its key; the unit is in the heading, except for bytes."""
    return _number_format(key)(value)


@lru_cache(maxsize=256)
def _number_format(key: str) -> Callable[[Any], str]:
    if key in _ORDINALS:
        return str
    return next((form for end, form in _FORMATS.items() if key.endswith(end)), format_count)


def find_unit(column: Column) -> str:
    """Return the unit of a column's raw values; empty for none."""
    if column.unit is not None:
        return column.unit
    return unit_of_key(column.key)


@dataclass(frozen=True, slots=True)
class Listing:
    """A table as a separate file.

    Attributes:
        schema: Schema of the JSON object: `trex-tui/build-tactics/1`.
        source: The file or the engine of the rows.
        table: Its id is the key of the rows in JSON.
        source_key: Key of the source in JSON.
        diagnostics: Problems in the input files, for JSON; None if the rows come from a single file that was read completely.
    """

    schema: str
    source: str
    table: Table
    source_key: str = "file"
    diagnostics: Sequence[Diagnostic] | None = None


class ListingOffer(NamedTuple):
    """A listing that is made on request: all tactics of a long build take seconds.

    Attributes:
        stem: Default name of its file, after the name of the engine.
    """

    stem: str
    make: Callable[[], Listing]
