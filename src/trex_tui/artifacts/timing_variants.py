"""Units of time as files spell them, and quantities that carry one: `1.5 ms`.

Timing files in the forms that toolkits around trtexec give them, as columns of milliseconds.

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

from trex_tui.artifacts.input_files import finite_number

_WORDS = {
    "ms": "ms msec msecs millis millisecond milliseconds",
    "µs": "us usec usecs micros microsecond microseconds",
    "ns": "ns nsec nsecs nanos nanosecond nanoseconds",
    "s": "s sec secs second seconds",
}
UNITS = {word: unit for unit, words in _WORDS.items() for word in words.split()}
"""Word, as `plain` leaves it -> unit."""
_PER_MS = {"ms": 1.0, "µs": 1e3, "ns": 1e6, "s": 1e-3}
_QUANTITY = re.compile(
    r"\s*([-+]?\d{1,30}(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?)\s*([A-Za-z\u00b5\u03bc]{1,12})\s*"
)


@lru_cache(maxsize=1024)
def plain(key: str) -> str:
    """Small letters and digits alone, the micro sign as `u`."""
    return re.sub(r"[^a-z0-9]", "", key.replace("µ", "u").replace("μ", "u").lower())


def to_ms(value: float, unit: str | None) -> float:
    """Milliseconds of a value; without a unit it is in them."""
    return value * 1e3 if unit == "s" else value / per_ms(unit)


def per_ms(unit: str | None) -> float:
    """How many of a unit are a millisecond."""
    return _PER_MS[unit or "ms"]


def quantity(value: object) -> tuple[float | None, str | None]:
    """The number that a JSON value is and the unit of time beside it, as in `1.5 ms`; (None, None) for anything else."""
    if not isinstance(value, str):
        return finite_number(value), None
    match = _QUANTITY.fullmatch(value)
    unit = UNITS.get(plain(match[2])) if match else None
    number = finite_number(float(match[1])) if match and unit else None
    return (None, None) if number is None else (number, unit)


ENQUEUE = "enqueueMs"
"""Column of enqueue durations, which trtexec itself writes as two stamps."""
_MOST_DEPTH, _MOST_KEY, _MOST_TOLD = 12, 80, 3


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MEASURES = _names("time times latency latencies duration durations timing timings")


def _measured(things: str) -> frozenset[str]:
    """Each thing with every word for how long it took, singular and plural: `gputimes` is never `gputime` in seconds."""
    return frozenset(thing + measure for thing in things.split() for measure in _MEASURES)


# Column -> what it is called, in lower-case letters and digits, without the unit.
_NAMES = {
    "latencyMs": frozenset(
        what + word
        for what in ("", "host", "total", "inference")
        for word in ("latency", "latencies", "latencytime", "latencytimes")
    ),
    "computeMs": _names("compute gpucompute gpu") | _measured("compute gpucompute gpu kernel"),
    "h2dMs": _names("h2d hosttodevice") | _measured("h2d hosttodevice"),
    "d2hMs": _names("d2h devicetohost") | _measured("d2h devicetohost"),
    ENQUEUE: _names("enqueue enq hostenqueue") | _measured("enqueue enq hostenqueue"),
    "endToEndMs": _names("endtoend e2e") | _measured("endtoend e2e"),
    "startEnqMs": _names("startenq"),
    "endEnqMs": _names("endenq"),
    "startH2dMs": _names("starth2d startin"),
    "endH2dMs": _names("endh2d endin"),
    "startComputeMs": _names("startcompute"),
    "endComputeMs": _names("endcompute"),
    "startD2hMs": _names("startd2h startout"),
    "endD2hMs": _names("endd2h endout"),
}
_COLUMNS = {name: column for column, names in _NAMES.items() for name in names}
_OLD_COLUMNS = {"inms": "h2dMs", "outms": "d2hMs"}
"""Keys of TensorRT 7.2, which without their unit would say too little."""
_LATENCIES = (
    _MEASURES
    | _measured("elapsed inference run wall iteration query request execution")
    | _names("elapsed inference periteration")
)
"""Names of something that took time: the latency, where nothing says what else."""
_HOLDERS = _names(
    "value values val sample samples data series raw iterations measurements results runs records queries rows"
)
"""Names that say nothing of what is in them."""
_APART = re.compile(
    r"(.+?)(?:[^A-Za-z0-9\u00b5\u03bc]+([A-Za-z\u00b5\u03bc]+)[^A-Za-z0-9]*|(?<=[a-z0-9])(S))"
)
_PER_QUERY = re.compile(rf"({'|'.join(UNITS)})per(?:iteration|inference|query|run|request|execution)")
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
        others: Further rows in the file, which were not read, such as those of a second run; empty if there are none.
    """

    columns: dict[str, array[float]]
    rows: int
    words: str
    left_out: int = 0
    others: str = ""


@dataclass(frozen=True, slots=True)
class _Units:
    """Units that the keys and objects around state, the nearest of them: of all, or of a column.

    Attributes:
        by_key: The nearest is stated by a key, `times_us`, not beside it.
        against: What is stated as well, of the same numbers, and is another.
    """

    common: str | None = None
    of: Mapping[str, str] = field(default_factory=dict)
    by_key: bool = False
    against: str | None = None

    def under(self, key: str, value: object) -> _Units:
        """With what the key of a value states, which is nearer than all that is around."""
        inner = self._nearer(_unit_in(key, isinstance(value, dict)), key)
        return inner._nearer(quantity(value)[1], key)

    def _nearer(self, unit: str | None, key: str) -> _Units:
        if unit is None:
            return self
        known = self.of.get(_column(key)[0] or "") or self.common
        return _Units(unit, {}, True, known if known not in (None, unit) else None)

    def within(self, node: Mapping[str, Any]) -> _Units:
        """With what an object states of its own."""
        if not any(plain(key) in _UNIT_KEYS for key in node):
            return self
        common, of = self.common, dict(self.of)
        for key, value in node.items():
            if plain(key) not in _UNIT_KEYS:
                continue
            if isinstance(value, str):
                common = _unit_of(value)
            elif isinstance(value, dict):
                stated = ((_column(name)[0], unit) for name, unit in value.items() if isinstance(unit, str))
                of.update({column: _unit_of(unit) for column, unit in stated if column})
        differs = self.by_key and common != self.common
        return _Units(
            common, of, common == self.common and self.by_key, self.common if differs else self.against
        )


@dataclass(slots=True)
class _Table:
    """Columns that belong together, each with its unit; None where none is stated."""

    columns: dict[str, list[float]]
    units: dict[str, str | None]
    rows: int
    left_out: int = 0
    where: str = ""
    against: dict[str, str] = field(default_factory=dict)
    """Column -> another unit that is stated of it."""


def read_variant(root: object) -> Variant | None:
    """The columns of a parsed file; None if there is nothing in it that could be a timing.

    Of several tables in a file the longest counts, then the one with most columns, then the first.

    Raises:
        UnknownUnitError: It states a unit that is none of time.
    """
    whole: list[_Table] = []
    single: dict[int, _Table] = {}
    parts: list[tuple[_Table, _Table | None]] = []
    for table in _tables(root, (), _Units()):
        if len(table.columns) > 1 or table.left_out:
            whole.append(table)
            parts.append((table, table))
            continue
        # Columns that lie apart belong together where they are equally long.
        known = single.setdefault(table.rows, _Table({}, {}, table.rows, 0, table.where))
        is_new = not table.columns.keys() & known.columns.keys()
        if is_new:
            known.where = known.where if not known.columns else ""
            known.columns.update(table.columns)
            known.units.update(table.units)
            known.against.update(table.against)
        parts.append((table, known if is_new else None))
    tables = [*whole, *single.values()]
    if not tables:
        return None
    best = max(tables, key=lambda table: (table.rows, len(table.columns)))
    return Variant(
        {key: _in_ms(values, best.units[key]) for key, values in best.columns.items()},
        best.rows,
        _words(best),
        best.left_out,
        _others([table for table, taken_into in parts if taken_into is not best]),
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
            yield from _tables(value, (*path, key), inner.under(key, value))
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
    against: dict[str, str] = {}
    for place, row in enumerate(rows):
        seen: set[str] = set()
        for keys, number, inner in _cells(row, path, units, len(path) + 3):
            column, unit = _meaning(keys, inner)
            if column is None or column in seen:
                continue
            seen.add(column)
            if column not in columns:
                columns[column], stated[column] = [math.nan] * len(rows), unit
            if inner.against is not None:
                against.setdefault(column, inner.against)
            known = stated[column]
            # Rows that state other units than the first are brought to its unit.
            columns[column][place] = number if unit == known else to_ms(number, unit) * per_ms(known)
    if columns:
        yield _Table(columns, stated, len(rows), left_out, _where(path), against)


def _cells(
    row: Mapping[str, Any], path: tuple[str, ...], units: _Units, depth: int
) -> Iterator[tuple[tuple[str, ...], float, _Units]]:
    """Every number of a row with the keys that lead to it."""
    inner = units.within(row)
    for key, value in row.items():
        number, _ = quantity(value)
        if number is not None:
            yield (*path, key), number, inner.under(key, value)
        elif isinstance(value, dict) and len(path) < depth:
            yield from _cells(value, (*path, key), inner.under(key, value), depth)


def _table_of_numbers(node: Sequence[object], path: tuple[str, ...], units: _Units) -> Iterator[_Table]:
    found = [quantity(value) for value in node]
    column, around = _meaning(path, units)
    if column is None or all(number is None for number, _ in found):
        return
    # The unit beside a number is nearer than any; all are brought to the first such.
    own = next((unit for _, unit in found if unit), None)
    values = [
        math.nan if number is None else number if own is None else to_ms(number, unit or around) * per_ms(own)
        for number, unit in found
    ]
    against = around if own is not None and around not in (None, own) else units.against
    yield _Table(
        {column: values},
        {column: own or around},
        len(values),
        0,
        _where(path),
        {} if against is None else {column: against},
    )


def _meaning(path: tuple[str, ...], units: _Units) -> tuple[str | None, str | None]:
    """The column that some keys name, and its unit: the nearest that is stated in them or around them."""
    column, unit = _named(path)
    if column is None:
        return None, None
    return column, units.of.get(column) or units.common or unit


@lru_cache(maxsize=4096)
def _named(path: tuple[str, ...]) -> tuple[str | None, str | None]:
    """The column that some keys name, from the innermost outwards, and its unit; neither where they name something else."""
    unit: str | None = None
    column = "latencyMs"
    for place in range(len(path) - 1, -1, -1):
        joined = _column(f"{path[place - 1]} {path[place]}") if place else (None, None)
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
    return column, unit


def _is_column_above(path: Sequence[str]) -> bool:
    return bool(path) and _column(path[-1])[0] is not None


@lru_cache(maxsize=1024)
def _column(key: str) -> tuple[str | None, str | None]:
    """Column and unit of a key."""
    if (old := _OLD_COLUMNS.get(plain(key))) is not None:
        return old, "ms"
    name, unit = _split(key, _COLUMNS.keys())
    return (_COLUMNS[name], unit) if name else (None, None)


def _without_in(stem: str, names: Any) -> str | None:  # noqa: ANN401 - whatever `in` works with
    """What stands before a unit as one of some names, with or without the `in` of `latency_in_ms`."""
    return next((name for name in (stem, stem.removesuffix("in")) if name in names), None)


def _split(key: str, names: Any) -> tuple[str | None, str | None]:  # noqa: ANN401 - whatever `in` works with
    """A key as one of some names and a unit, which may be absent.

    What stands apart is a unit: `time_s` is not `times`. A small `s` that does not is the plural's.
    """
    if len(key) > _MOST_KEY:
        return None, None
    apart = _APART.fullmatch(key)
    if apart and (unit := UNITS.get(plain(apart[2] or apart[3]))):
        named = _without_in(plain(apart[1]), names)
        if named is not None:
            return named, unit
    whole = plain(key)
    if whole in names:
        return whole, None
    for word in sorted(UNITS, key=len, reverse=True):
        stem = whole.removesuffix(word)
        if stem != whole and (word != "s" or not stem) and (named := _without_in(stem, names)) is not None:
            return named, UNITS[word]
    if (per := _PER_QUERY.fullmatch(whole)) and "periteration" in names:
        return "periteration", UNITS[per[1]]
    return None, None


@lru_cache(maxsize=1024)
def _unit_in(key: str, is_of_objects: bool) -> str | None:
    """The unit that a key states of what is below it.

    After a name that means nothing here only a word that stands apart counts, and neither `s` nor capitals: `yolo_s`
    and `cloud-US` are names. So is an `s` of its own over further keys.
    """
    if plain(key) in _OLD_COLUMNS:
        return "ms"
    name, unit = _split(key, _COLUMNS.keys() | _HOLDERS | _LATENCIES | {""})
    if name is not None:
        return None if not name and unit == "s" and is_of_objects else unit
    apart = _APART.fullmatch(key) if len(key) <= _MOST_KEY else None
    word = apart[2] if apart else None
    return UNITS.get(plain(word)) if word and len(word) > 1 and not word.isupper() else None


def _unit_of(text: str) -> str:
    unit = UNITS.get(plain(text))
    if unit is None:
        raise UnknownUnitError(text)
    return unit


def _in_ms(values: Sequence[float], unit: str | None) -> array[float]:
    return array("d", [to_ms(value, unit) for value in values])


def _where(path: Sequence[str]) -> str:
    return ".".join(path)


def _words(table: _Table) -> str:
    names = [f"{column.removesuffix('Ms')} in {table.units[column] or 'ms'}" for column in table.columns]
    words = f"is not in trtexec's own form; read as {_rows(table)} of {', '.join(names)}"
    silent = [column.removesuffix("Ms") for column in table.columns if table.units[column] is None]
    if silent:
        which = "" if len(silent) == len(names) else f" for {', '.join(silent)}"
        words += f"; no unit is stated{which}: taken as milliseconds"
    for column, unit in table.against.items():
        words += f"; another unit is stated for {column.removesuffix('Ms')} as well: {unit}"
    return words


def _rows(table: _Table) -> str:
    place = f" at {table.where}" if table.where else ""
    return f"{table.rows} row{'' if table.rows == 1 else 's'}{place}"


def _others(tables: Sequence[_Table]) -> str:
    shown = [_rows(table) for table in tables[:_MOST_TOLD]]
    if len(tables) > _MOST_TOLD:
        shown.append(f"{len(tables) - _MOST_TOLD} more")
    return ", ".join(shown)
