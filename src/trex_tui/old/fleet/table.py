"""The table of engines: a set of files becomes rows of plain values, which are sorted, filtered and grouped without engines.

A row is JSON, so that it can be cached, computed in another process and written as Parquet.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.errors import Diagnostic, TrexError
from trex_tui.old.fleet.engine_columns import ALIASES, COLUMNS, COLUMNS_BY_NAME, Better, FleetColumn
from trex_tui.old.fleet.models import Signature, find_similar, group_models
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import did_you_mean

if TYPE_CHECKING:
    from trex_tui.old.analysis.filter import FilterColumn

_SHORTEST_PREFIX = 3
_WORDED = tuple(
    column.name for column in COLUMNS if column.dtype in ("string", "object") and column.name != "directory"
)
"""Columns in which words of a filter are searched; the names of engines have what differs of their directories."""
Value = Any
"""A text, a number, a list of texts, or None if unknown."""


@dataclass(frozen=True, slots=True)
class FleetRow:
    """An engine, or one run of files with several.

    Attributes:
        values: Name of a column -> plain value. Only requested columns are present.
        signature: None for a set that cannot be read.
        source: The files.
    """

    values: Mapping[str, Value]
    signature: Signature | None
    source: ArtifactSet

    def value(self, column: str) -> Value:
        return self.values.get(column)


@dataclass(frozen=True, slots=True)
class SetRows:
    """All rows of a set, and the diagnostics of its files."""

    rows: tuple[FleetRow, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def default_columns(rows: Iterable[FleetRow]) -> list[FleetColumn]:
    """Return the columns shown by default: without the model if it only repeats the name of every engine."""
    is_repeated = all(row.value("model") in (None, row.value("engine")) for row in rows)
    return [
        column for column in COLUMNS if column.is_default and not (is_repeated and column.name == "model")
    ]


def make_table(rows: Iterable[FleetRow]) -> list[FleetRow]:
    """Return the rows with the columns that depend on their place and on the others: engine, directory, model, similar."""
    every = list(rows)
    signatures = [row.signature for row in every]
    models = group_models(signatures)
    similar = find_similar(signatures, models)
    return [
        replace(
            row,
            values={
                "engine": row.source.name,
                "directory": str(row.source.directory),
                "model": model,
                "similar": list(names) or None,
                **row.values,
            },
        )
        for row, model, names in zip(every, models, similar, strict=True)
    ]


# Columns by name


def find_column(name: str) -> FleetColumn | None:
    """Return the column with a name, a short name or, from three characters on, the beginning of only one."""
    folded = name.casefold()
    column = COLUMNS_BY_NAME.get(ALIASES.get(folded, folded))
    if column is not None or len(folded) < _SHORTEST_PREFIX:
        return column
    names = {full for full in COLUMNS_BY_NAME if full.startswith(folded)}
    names |= {full for alias, full in ALIASES.items() if alias.startswith(folded)}
    return COLUMNS_BY_NAME[names.pop()] if len(names) == 1 else None


def suggest_column(name: str) -> str:
    """Return `did you mean device?` for an unknown name; empty if nothing is similar."""
    return did_you_mean(name, [*COLUMNS_BY_NAME, *ALIASES], cutoff=0.7)


def columns_named(names: Iterable[str], option: str) -> list[FleetColumn]:
    """Return columns by name, in order.

    Args:
        option: The option with the names, for errors.

    Raises:
        TrexError: A name is not a column.
    """
    columns = []
    for name in names:
        column = find_column(name)
        if column is None:
            hint = suggest_column(name) or f"columns: {', '.join(column.name for column in COLUMNS)}"
            raise TrexError(f"{option}: no column {name!r}; {hint}")
        columns.append(column)
    return list(dict.fromkeys(columns))


class _Columns:
    """The columns of the table, as the filter language asks for them."""

    def find(self, name: str) -> FilterColumn | None:
        return find_column(name)

    def suggest(self, name: str) -> str:
        return suggest_column(name)


class _Values:
    """The values of rows, as the filter language asks for them; words are searched in all columns with texts."""

    def __init__(self, rows: Sequence[FleetRow]) -> None:
        self._rows = rows

    @cached_property
    def folded_names(self) -> list[str]:
        return [
            "\n".join(
                "\n".join(value) if isinstance(value, list) else str(value)
                for name in _WORDED
                if (value := row.value(name)) is not None
            ).casefold()
            for row in self._rows
        ]

    def of(self, column: str) -> list[Any]:
        from trex_tui.old.analysis.filter import plain_value

        return [
            tuple(value) or None if isinstance(value, list) else plain_value(value)
            for value in (row.value(column) for row in self._rows)
        ]

    def counts(self, column: str) -> Mapping[Any, int]:
        return Counter(self.of(column))

    def is_free_text(self, column: str) -> bool:
        return COLUMNS_BY_NAME[column].is_free_text


def filter_columns(text: str) -> list[FleetColumn]:
    """Return the columns that a filter compares.

    Raises:
        FilterError: It is not a filter.
    """
    from trex_tui.old.analysis.filter import (
        parse_with,  # 80 ms, with the columns of layers; most tables have no filter
    )

    expression, columns = parse_with(text, _Columns()), []
    pending: list[Any] = [expression]
    while pending:
        part = pending.pop()
        pending += getattr(part, "terms", ()) or filter(None, [getattr(part, "term", None)])
        if name := getattr(part, "column", ""):
            columns.append(COLUMNS_BY_NAME[name])
    return columns


def filter_rows(rows: Sequence[FleetRow], text: str) -> list[FleetRow]:
    """Return the rows that a filter matches, such as `device:orin latency_p99_ms<5`; all for an empty text.

    Raises:
        FilterError: It is not a filter, or a regular expression in it takes too long.
    """
    from trex_tui.old.analysis.filter import parse_with, select_rows  # as above

    return [rows[index] for index in select_rows(_Values(rows), parse_with(text, _Columns()), text)]


def sort_rows(rows: Iterable[FleetRow], column: FleetColumn, *, is_reversed: bool = False) -> list[FleetRow]:
    """Return the rows sorted by a column: numbers from the largest, texts from A; missing values last."""
    every = list(rows)
    known = [row for row in every if row.value(column.name) is not None]
    known.sort(
        key=lambda row: (
            row.value(column.name) if column.is_number else str(row.value(column.name)).casefold()
        ),
        reverse=column.is_number != is_reversed,
    )
    return [*known, *(row for row in every if row.value(column.name) is None)]


# Groups


@dataclass(frozen=True, slots=True)
class Range:
    """Smallest, median and largest value of a measure in a group."""

    count: int
    min: float
    median: float
    max: float


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows of one model with equal values of the chosen columns.

    Attributes:
        model: None for sets that cannot be read.
        keys: Chosen column -> value; None if unknown.
        ranges: Measure -> range of its known values; measures without any are missing.
        best: The best row of the group by the measure that decides; None if no row has it.
    """

    model: str | None
    keys: Mapping[str, Value]
    rows: tuple[FleetRow, ...]
    ranges: Mapping[str, Range]
    best: FleetRow | None


def group_rows(
    rows: Iterable[FleetRow],
    by: Sequence[FleetColumn],
    measures: Sequence[FleetColumn],
    decisive: FleetColumn,
) -> list[RowGroup]:
    """Return groups of rows with equal values of columns, in the order found. Models are never mixed.

    Args:
        measures: Columns with a range.
        decisive: The measure of the best row.
    """
    groups: dict[tuple[Any, ...], list[FleetRow]] = defaultdict(list)
    for row in rows:
        values = tuple(_hashable(row.value(column.name)) for column in by)
        groups[(row.value("model"), *values)].append(row)
    return [
        RowGroup(
            model,
            {column.name: members[0].value(column.name) for column in by},
            tuple(members),
            {
                measure.name: found
                for measure in measures
                if (found := _find_range(members, measure)) is not None
            },
            find_best(members, decisive),
        )
        for (model, *_), members in groups.items()
    ]


def _hashable(value: Value) -> Value:
    return tuple(value) if isinstance(value, list) else value


def _find_range(rows: Iterable[FleetRow], measure: FleetColumn) -> Range | None:
    from statistics import median  # 5 ms, for groups only

    known = [value for row in rows if (value := row.value(measure.name)) is not None]
    return Range(len(known), min(known), median(known), max(known)) if known else None


def find_best(rows: Iterable[FleetRow], measure: FleetColumn) -> FleetRow | None:
    """Return the first row with the best value of a measure; None if no row has it."""
    known = [row for row in rows if row.value(measure.name) is not None]
    if not known:
        return None
    choose = max if measure.better is Better.HIGHER else min
    return choose(known, key=lambda row: row.value(measure.name))


def is_readable(row: FleetRow) -> bool:
    """Return whether the files of a row could be read."""
    return row.signature is not None
