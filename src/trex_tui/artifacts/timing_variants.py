"""Timing files in the forms that toolkits around trtexec give them, as columns of milliseconds.

Rows or columns, nested or not; keys such as `latency_us`, `Latency (ms)`, `gpu_compute_time`; units in a key (`times_s`) or
beside it (`"unit": "s"`); plain numbers, which are latencies. What no unit states is taken as milliseconds, and said.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from trex_tui.artifacts.jsonfile import finite_number

ENQUEUE = "enqueueMs"
"""Column of enqueue durations, which trtexec itself writes as two stamps."""
_MOST_DEPTH = 12


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Column -> what it is called, in lower-case letters and digits, without the unit.
_NAMES = {
    "latencyMs": "latency hostlatency latencytime totallatency inferencelatency",
    "computeMs": "compute gpucompute gpucomputetime computetime computelatency gpulatency gputime gpu kerneltime",
    "h2dMs": "h2d h2dlatency h2dtime hosttodevice",
    "d2hMs": "d2h d2hlatency d2htime devicetohost",
    ENQUEUE: "enqueue enq enqueuetime enqueuelatency hostenqueue",
    "endToEndMs": "endtoend endtoendlatency e2e e2elatency",
    "startEnqMs": "startenq",
    "endEnqMs": "endenq",
    "startH2dMs": "starth2d startin",
    "endH2dMs": "endh2d endin",
    "startComputeMs": "startcompute",
    "endComputeMs": "endcompute",
    "startD2hMs": "startd2h startout",
    "endD2hMs": "endd2h endout",
}
_COLUMNS = {name: column for column, names in _NAMES.items() for name in names.split()}
_LATENCIES = _names(
    "time times timings latencies durations duration elapsed elapsedtime inference inferencetime runtime walltime "
    "periteration"
)
"""Names of something that took time: the latency, where nothing says what else."""
_HOLDERS = _names(
    "value values val sample samples data series raw iterations measurements results runs records queries rows"
)
"""Names that say nothing of what is in them."""
_UNIT_WORDS = {
    "ms": "ms msec msecs millis millisecond milliseconds",
    "µs": "us usec usecs micros microsecond microseconds",
    "ns": "ns nsec nsecs nanos nanosecond nanoseconds",
    "s": "s sec secs second seconds",
}
_UNITS = {word: unit for unit, words in _UNIT_WORDS.items() for word in words.split()}
_PER_MS = {"ms": 1.0, "µs": 1e3, "ns": 1e6}
_UNIT_KEYS = _names("unit units timeunit timeunits latencyunit durationunit")


class UnknownUnitError(ValueError):
    """A file states a unit that is none of time."""


@dataclass(frozen=True, slots=True)
class Variant:
    """What a file holds.

    Attributes:
        columns: Milliseconds, NaN where unknown, each as long as there are rows.
        words: What was read, and what was assumed: the end of a sentence whose subject is the file.
        left_out: Entries that are no rows.
    """

    columns: dict[str, array[float]]
    rows: int
    words: str
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class _Units:
    """Units that the objects around state: of all, or of a column."""

    common: str | None = None
    of: Mapping[str, str] = field(default_factory=dict)

    def within(self, node: Mapping[str, Any]) -> _Units:
        """With what an object states of its own."""
        common, of = self.common, dict(self.of)
        for key, value in node.items():
            if _plain(key) not in _UNIT_KEYS:
                continue
            if isinstance(value, str):
                common = _unit_of(value)
            elif isinstance(value, dict):
                stated = ((_column(name)[0], unit) for name, unit in value.items() if isinstance(unit, str))
                of.update({column: _unit_of(unit) for column, unit in stated if column})
        return _Units(common, of)


@dataclass(slots=True)
class _Table:
    """Columns that belong together, each with its unit; None where none is stated."""

    columns: dict[str, list[float]]
    units: dict[str, str | None]
    rows: int
    left_out: int = 0
    where: str = ""


def read_variant(root: object) -> Variant | None:
    """The columns of a parsed file; None if there is nothing in it that could be a timing.

    Of several tables in a file the longest counts, then the one with most columns, then the first.

    Raises:
        UnknownUnitError: It states a unit that is none of time.
    """
    found: list[_Table] = []
    single: dict[int, _Table] = {}
    for table in _tables(root, (), _Units()):
        if len(table.columns) > 1 or table.left_out:
            found.append(table)
            continue
        # Columns that lie apart belong together where they are equally long.
        known = single.setdefault(table.rows, _Table({}, {}, table.rows, 0, table.where))
        for column, values in table.columns.items():
            if column not in known.columns:
                known.where = known.where if not known.columns else ""
                known.columns[column], known.units[column] = values, table.units[column]
    tables = [*found, *single.values()]
    if not tables:
        return None
    best = max(tables, key=lambda table: (table.rows, len(table.columns)))
    return Variant(
        {key: _in_ms(values, best.units[key]) for key, values in best.columns.items()},
        best.rows,
        _words(best),
        best.left_out,
    )


def timing_column(key: str) -> str | None:
    """The column that a key names outright, with or without a unit; None for any other key."""
    return _column(key)[0]


def _tables(node: object, path: tuple[str, ...], units: _Units) -> Iterator[_Table]:
    if len(path) > _MOST_DEPTH:
        return
    if isinstance(node, dict):
        inner = units.within(node)
        values = list(node.values())
        if len(values) > 1 and all(key.isdecimal() for key in node):
            yield from _tables(values, path, inner)
            return
        for key, value in node.items():
            yield from _tables(value, (*path, key), inner)
    elif isinstance(node, list) and node:
        rows = [row for row in node if isinstance(row, dict)]
        if rows:
            yield from _table_of_rows(rows, len(node) - len(rows), path, units)
            for row in rows if len(rows) <= _MOST_DEPTH else ():
                yield from _tables(row, path, units)
        else:
            yield from _table_of_numbers(node, path, units)


def _table_of_rows(
    rows: Sequence[dict[str, Any]], left_out: int, path: tuple[str, ...], units: _Units
) -> Iterator[_Table]:
    columns: dict[str, list[float]] = {}
    stated: dict[str, str | None] = {}
    for place, row in enumerate(rows):
        seen: set[str] = set()
        for keys, number, inner in _cells(row, path, units, len(path) + 3):
            column, unit = _meaning(keys, inner)
            if column is None or column in seen:
                continue
            seen.add(column)
            values = columns.setdefault(column, [math.nan] * len(rows))
            known = stated.setdefault(column, unit)
            # Rows that state other units than the first are brought to its unit.
            values[place] = number if unit == known else _ms(number, unit) * _per_ms(known)
    if columns:
        yield _Table(columns, stated, len(rows), left_out, _where(path))


def _cells(
    row: Mapping[str, Any], path: tuple[str, ...], units: _Units, depth: int
) -> Iterator[tuple[tuple[str, ...], float, _Units]]:
    """Every number of a row with the keys that lead to it."""
    inner = units.within(row)
    for key, value in row.items():
        number = finite_number(value)
        if number is not None:
            yield (*path, key), number, inner
        elif isinstance(value, dict) and len(path) < depth:
            yield from _cells(value, (*path, key), inner, depth)


def _table_of_numbers(node: Sequence[object], path: tuple[str, ...], units: _Units) -> Iterator[_Table]:
    numbers = [finite_number(value) for value in node]
    if all(number is None for number in numbers):
        return
    column, unit = _meaning(path, units)
    if column is not None:
        values = [math.nan if number is None else number for number in numbers]
        yield _Table({column: values}, {column: unit}, len(values), 0, _where(path))


def _meaning(path: Sequence[str], units: _Units) -> tuple[str | None, str | None]:
    """The column that some keys name, from the innermost outwards, and its unit; neither where they name something else."""
    unit: str | None = None
    column = "latencyMs"
    for place in range(len(path) - 1, -1, -1):
        joined = _column(path[place - 1] + path[place]) if place else (None, None)
        named, stated = joined if joined[0] else _column(path[place])
        if named is not None:
            column, unit = named, unit or stated
            break
        holder, stated = _split(path[place], _HOLDERS | _LATENCIES | {""})
        if holder is None:
            return None, None
        unit = unit or stated
        if holder in _LATENCIES and not _is_column_above(path[:place]):
            break
    return column, unit or units.of.get(column) or units.common


def _is_column_above(path: Sequence[str]) -> bool:
    return bool(path) and _column(path[-1])[0] is not None


@lru_cache(maxsize=1024)
def _column(key: str) -> tuple[str | None, str | None]:
    """Column and unit of a key."""
    name, unit = _split(key, _COLUMNS.keys())
    return (_COLUMNS[name], unit) if name else (None, None)


def _split(key: str, names: Any) -> tuple[str | None, str | None]:  # noqa: ANN401 - whatever `in` works with
    """A key as one of some names and a unit, which may be absent."""
    plain = _plain(key)
    if plain in names:
        return plain, None
    for word in sorted(_UNITS, key=len, reverse=True):
        if plain.endswith(word) and plain[: -len(word)] in names:
            return plain[: -len(word)], _UNITS[word]
    return None, None


@lru_cache(maxsize=1024)
def _plain(key: str) -> str:
    return re.sub(r"[^a-z0-9]", "", key.replace("µ", "u").replace("μ", "u").lower())


def _unit_of(text: str) -> str:
    unit = _UNITS.get(_plain(text))
    if unit is None:
        raise UnknownUnitError(text)
    return unit


def _per_ms(unit: str | None) -> float:
    return 1e-3 if unit == "s" else _PER_MS[unit or "ms"]


def _ms(value: float, unit: str | None) -> float:
    return value * 1e3 if unit == "s" else value / _PER_MS[unit or "ms"]


def _in_ms(values: Sequence[float], unit: str | None) -> array[float]:
    return array("d", [_ms(value, unit) for value in values])


def _where(path: Sequence[str]) -> str:
    return ".".join(path)


def _words(table: _Table) -> str:
    names = [f"{column.removesuffix('Ms')} in {table.units[column] or 'ms'}" for column in table.columns]
    place = f" at {table.where}" if table.where else ""
    rows = f"{table.rows} row{'' if table.rows == 1 else 's'}{place}"
    words = f"is not in trtexec's own form; read as {rows} of {', '.join(names)}"
    silent = [column.removesuffix("Ms") for column in table.columns if table.units[column] is None]
    if silent:
        which = "" if len(silent) == len(names) else f" for {', '.join(silent)}"
        words += f"; no unit is stated{which}: taken as milliseconds"
    return words
