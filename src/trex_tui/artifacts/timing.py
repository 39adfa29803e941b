"""Read the timing run, one row per measured query: `--exportTimes`.

Columns are arrays of doubles, with a tenth of the memory of the parsed rows. TensorRT 7.2 called host-to-device copies `in`
and device-to-host copies `out`; 8.0 to 8.2 have an extra `endToEndMs`.

Toolkits around trtexec write the same in four other forms: a list of numbers (`{"times": [0.5, 0.6]}`), a list of rows
(`{"perIteration": [{"latency_us": 500}]}`), columns (`{"latency": {"unit": "us", "values": [500]}}`), and any of these below
further keys. The unit is at the end of a key or beside the numbers; without a unit, milliseconds are assumed.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from trex_tui.artifacts.open import LARGEST_NUMBER, finite_number, parse_documents, read_text
from trex_tui.artifacts.time_units import MS, UnknownUnitError, plain, split_unit, stated_unit
from trex_tui.errors import ArtifactError, Note, Severity
from trex_tui.text import plural, printable

# Key of TensorRT 8.0 and later -> the key of 7.2, if it differs.
OLD_KEYS = {
    "startH2dMs": "startInMs",
    "endH2dMs": "endInMs",
    "startD2hMs": "startOutMs",
    "endD2hMs": "endOutMs",
    "h2dMs": "inMs",
    "d2hMs": "outMs",
}
TIMING_KEYS = (
    "startEnqMs",
    "endEnqMs",
    "startH2dMs",
    "endH2dMs",
    "startComputeMs",
    "endComputeMs",
    "startD2hMs",
    "endD2hMs",
    "h2dMs",
    "computeMs",
    "d2hMs",
    "latencyMs",
    "endToEndMs",
)
ENQUEUE = "enqueueMs"
"""Column of enqueue durations, which trtexec itself writes as two stamps."""
_MOST_KEYS, _MOST_KEY, _MOST_DEPTH, _MOST_OTHERS = 8, 40, 12, 3
DURATIONS = frozenset(("h2dMs", "computeMs", "d2hMs", "latencyMs", "endToEndMs", ENQUEUE))
"""The columns that are durations, which are not negative."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Content of the file, column by column; every column has one value per row.

    Attributes:
        columns: Key of `TIMING_KEYS` -> milliseconds, NaN for rows without a number or with a negative duration. Start and
            end stamps count from trtexec's start and lose digits late in a run; durations keep them. `enqueueMs` only exists
            in files of other tools, and in files converted from them.
        rows: Number of rows.
        assumed: How a file of another tool was read, as the end of a sentence whose subject is the file; else empty.
        unit: Unit of the times in the file; None if neither the file nor its neighbours tell it: then milliseconds are
            assumed, and every view says "unit unknown".
    """

    columns: dict[str, array[float]]
    rows: int
    notes: tuple[Note, ...] = ()
    assumed: str = ""
    unit: str | None = "ms"

    def __repr__(self) -> str:
        return f"<Timing: {plural(self.rows, 'row')} of {', '.join(self.columns)}>"

    @property
    def latency_ms(self) -> array[float]:
        """Host latency of every query: copies and compute, without the enqueue. Empty if the file has none."""
        return self.columns.get("latencyMs", array("d"))


def read_timings(path: Path) -> list[Timing]:
    """Read the rows of every run in a file: usually one, more in appended files.

    Raises:
        ArtifactError: The file is not JSON, or has no timing rows.
    """
    return [_read_document(root, path) for root in parse_documents(read_text(path), path)]


def read_timing(path: Path) -> Timing:
    """Read the rows of the last run in a file.

    Raises:
        ArtifactError: As `read_timings`.
    """
    return read_timings(path)[-1]


def _read_document(root: object, path: Path) -> Timing:
    if not isinstance(root, list):
        return _read_variant(root, path)
    rows = [row for row in root if isinstance(row, dict)]
    keys = set().union(*rows)
    columns, doubtful = {}, set()
    for key in (*TIMING_KEYS, ENQUEUE):
        name = key if key in keys else OLD_KEYS.get(key, key)
        if name in keys:
            columns[key], is_doubtful = _column(rows, name)
            if is_doubtful:
                doubtful.add(key)
    if not columns:
        return _read_variant(root, path)
    negative = _without_negative(columns, doubtful)
    left_out = len(root) - len(rows)
    if not doubtful and not left_out:
        return Timing(columns, len(rows))
    return Timing(columns, len(rows), _notes(path, columns, len(rows), left_out, negative))


def _without_negative(columns: dict[str, array[float]], doubtful: Collection[str]) -> dict[str, int]:
    """Replace negative durations by unknown values in some columns; return their number by column."""
    counts = {}
    for key in DURATIONS & columns.keys() & set(doubtful):
        column = columns[key]
        if count := sum(map((0.0).__gt__, column)):
            columns[key] = array("d", [math.nan if value < 0 else value for value in column])
            counts[key] = count
    return counts


def _notes(
    path: Path, columns: dict[str, array[float]], rows: int, left_out: int, negative: dict[str, int]
) -> tuple[Note, ...]:
    bad = sum(map(math.isnan, columns.get("latencyMs", ())))
    notes = []
    if left_out:
        notes.append(f"{left_out} entries are not timing rows; skipped")
    for key in sorted(negative):
        what = key.removesuffix("Ms")
        notes.append(f"{negative[key]} of {rows} rows have a negative {what}; read as unknown")
    bad -= negative.get("latencyMs", 0)
    if bad:
        notes.append(f"{bad} of {rows} rows have no latency")
    return tuple(Note(Severity.WARNING, path, "", message) for message in notes)


# Column -> its names in toolkits, in lower-case letters and digits, without the unit.
_NAMES = {
    "latencyMs": "latency latencies hostlatency hostlatencies totallatency inferencetime inferencetimes elapsed time times "
    "timings durations runtimes periteration",
    "computeMs": "compute computetime computetimes gpu gputime gputimes gpucompute gpucomputetime gpucomputetimes",
    "h2dMs": "h2d h2dtime h2dlatency",
    "d2hMs": "d2h d2htime d2hlatency",
    ENQUEUE: "enqueue enqueuetime enqueuetimes enq",
    "endToEndMs": "endtoend e2e",
}
_COLUMNS = {name: column for column, names in _NAMES.items() for name in names.split()}
_TRTEXEC_COLUMNS = {key.lower(): key for key in TIMING_KEYS} | {
    old.lower(): key for key, old in OLD_KEYS.items()
}
_HOLDERS = frozenset(("value", "values", "samples", "data", "raw"))
"""Keys without a meaning."""


@dataclass(slots=True)
class _Table:
    """Columns of equal length, in milliseconds; the stated unit of each, None without one."""

    rows: int
    where: str
    columns: dict[str, array[float]] = field(default_factory=dict)
    units: dict[str, str | None] = field(default_factory=dict)
    left_out: int = 0

    @property
    def description(self) -> str:
        position = f" at {self.where}" if self.where else ""
        return f"{plural(self.rows, 'row')}{position}"


@lru_cache(maxsize=1024)
def timing_column(key: str) -> tuple[str | None, str | None]:
    """Return the column that a key names, and the unit at its end; None for each if missing."""
    name = plain(key)
    if name in _TRTEXEC_COLUMNS:
        return _TRTEXEC_COLUMNS[name], "ms"
    for stem, unit in split_unit(key):
        column = _COLUMNS.get(stem)
        if column is not None:
            return column, unit
    return None, None


def _read_variant(root: object, path: Path) -> Timing:
    """Return the longest run in a file of another tool, then the one with most columns, then the first."""
    try:
        tables = _merged(list(_tables(root, (), "latencyMs" if isinstance(root, list) else None, None)))
    except UnknownUnitError as error:
        raise ArtifactError(
            path, f"has the unknown time unit {str(error)!r}; export it in ms, us, ns or s"
        ) from error
    if not tables:
        raise ArtifactError(path, f"has no timing rows{_keys_seen(root)}; export it with --exportTimes")
    best = max(tables, key=lambda table: (table.rows, len(table.columns)))
    assumed = _assumptions(best)
    notes = [Note(Severity.INFO, path, "", assumed)]
    if others := [table.description for table in tables if table is not best]:
        more = [f"{len(others) - _MOST_OTHERS} more"] if len(others) > _MOST_OTHERS else []
        message = f"has rows of several runs; not read: {', '.join(others[:_MOST_OTHERS] + more)}"
        notes.append(Note(Severity.WARNING, path, "", message))
    negative = _without_negative(best.columns, best.columns)
    notes += _notes(path, best.columns, best.rows, best.left_out, negative)
    return Timing(best.columns, best.rows, tuple(notes), assumed)


def _tables(node: object, path: tuple[str, ...], column: str | None, unit: str | None) -> Iterator[_Table]:
    """Yield every list of numbers or rows in a document, with the nearest column and unit named by the keys around it."""
    if len(path) > _MOST_DEPTH:
        return
    if isinstance(node, dict):
        unit = stated_unit(node) or unit
        for key, value in node.items():
            named, own_unit = timing_column(key)
            is_holder = plain(key) in _HOLDERS or isinstance(value, dict)
            inherited = column if is_holder else None
            yield from _tables(value, (*path, key), named or inherited, own_unit or unit)
    elif isinstance(node, list) and node:
        rows = [row for row in node if isinstance(row, dict)]
        if rows:
            yield from _table_of_rows(rows, len(node) - len(rows), path, unit)
        elif column is not None:
            yield from _table_of_numbers(node, path, column, unit)


def _table_of_numbers(
    node: Sequence[object], path: tuple[str, ...], column: str, unit: str | None
) -> Iterator[_Table]:
    numbers = [finite_number(value) for value in node]
    if any(number is not None for number in numbers):
        values = array("d", [_in_ms(number, unit) for number in numbers])
        yield _Table(len(values), ".".join(path), {column: values}, {column: unit})


def _table_of_rows(
    rows: Sequence[Mapping[str, Any]], left_out: int, path: tuple[str, ...], unit: str | None
) -> Iterator[_Table]:
    table = _Table(len(rows), ".".join(path), left_out=left_out)
    for index, row in enumerate(rows):
        around = stated_unit(row) or unit
        for key, value in row.items():
            column, own_unit = timing_column(key)
            if column is None:
                continue
            if isinstance(value, dict):
                own_unit = stated_unit(value) or own_unit
                value = value.get("value")
            number = finite_number(value)
            if number is None:
                continue
            values = table.columns.setdefault(column, array("d", [math.nan]) * len(rows))
            table.units.setdefault(column, own_unit or around)
            values[index] = _in_ms(number, own_unit or around)
    if table.columns:
        yield table


def _merged(tables: Sequence[_Table]) -> list[_Table]:
    """Merge columns from separate places if they are equally long, up to the first repeated column."""
    merged: list[_Table] = []
    for table in tables:
        fitting = [
            known
            for known in merged
            if known.rows == table.rows and not known.columns.keys() & table.columns.keys()
        ]
        if not fitting or table.left_out or fitting[0].left_out:
            merged.append(table)
            continue
        fitting[0].columns |= table.columns
        fitting[0].units |= table.units
        fitting[0].where = ""
    return merged


def _in_ms(number: float | None, unit: str | None) -> float:
    return math.nan if number is None else number * MS[unit or "ms"]


def _assumptions(table: _Table) -> str:
    names = [f"{column.removesuffix('Ms')} in {unit or 'ms'}" for column, unit in table.units.items()]
    words = f"is not in trtexec's format; read as {table.description} of {', '.join(names)}"
    silent = [column.removesuffix("Ms") for column, unit in table.units.items() if unit is None]
    if silent:
        which = "" if len(silent) == len(names) else f" for {', '.join(silent)}"
        words += f"; no unit{which}; assuming milliseconds"
    return words


def _keys_seen(root: object) -> str:
    """Return the first keys of a file, from the outermost inwards, as the end of a sentence; empty if it has none."""
    seen: dict[str, None] = {}
    level = [root]
    for _ in range(_MOST_KEYS):
        for node in level:
            seen.update(dict.fromkeys(node if isinstance(node, dict) else ()))
        inner = (
            node.values() if isinstance(node, dict) else node
            for node in level
            if isinstance(node, (dict, list))
        )
        level = [value for values in inner for value in list(values)[:_MOST_KEYS]][:_MOST_KEYS]
    shown = [
        printable(key if len(key) <= _MOST_KEY else key[:_MOST_KEY] + "…") for key in list(seen)[:_MOST_KEYS]
    ]
    more = ", …" if len(seen) > _MOST_KEYS else ""
    return f"; its keys: {', '.join(shown)}{more}" if shown else ""


def _column(rows: list[dict[str, Any]], key: str) -> tuple[array[float], bool]:
    """Return the values of a key, NaN where there is no number, and whether some are missing or negative."""
    try:
        values = list(map(itemgetter(key), rows))
    except KeyError:
        values = [row.get(key) for row in rows]
    # Of the list: an array makes an object of each number. Truth values are 0 and 1: types are looked at only then.
    with suppress(OverflowError, TypeError):
        least = min(values, default=0.0)
        if (
            math.isfinite(sum(values))
            and least >= -LARGEST_NUMBER
            and max(values, default=0.0) <= LARGEST_NUMBER
            and ((0 not in values and 1 not in values) or set(map(type, values)) <= {float, int})
        ):
            return array("d", values), least < 0.0
    numbers = (finite_number(value) for value in values)
    return array("d", [math.nan if number is None else number for number in numbers]), True
