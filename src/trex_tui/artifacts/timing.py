"""Read the timing run, one row per measured query: `--exportTimes`.

Columns are arrays of doubles, with a tenth of the memory of the parsed rows. TensorRT 8.0 to 8.2 have an extra `endToEndMs`.

Toolkits around trtexec write lists of numbers (`{"latencies_us": [500]}`, `{"latency": {"unit": "us", "values": [500]}}`),
also below further keys. The unit is at the end of a key or beside the numbers, or follows from a throughput in the file.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from trex_tui.artifacts.open import LARGEST_NUMBER, finite_number, parse_documents, read_text
from trex_tui.errors import ArtifactError, Note, Severity
from trex_tui.text import plural, printable

MS = {"ms": 1.0, "µs": 1e-3, "ns": 1e-6, "s": 1e3}
"""Unit of time -> milliseconds."""
UNIT_UNKNOWN = "unit unknown: the file states none, and nothing else tells it; read as milliseconds"
_UNITS = {
    **dict.fromkeys(("ms", "msec", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "usec", "microseconds"), "µs"),
    **dict.fromkeys(("ns", "nsec", "nanoseconds"), "ns"),
    **dict.fromkeys(("s", "sec", "seconds"), "s"),
}
_IN_SECONDS = re.compile(r"(.*[^A-Za-z0-9])s\W*|(.*[a-z0-9])S")
"""A key with the unit `s`, as opposed to a plural."""
_PER_SECOND = re.compile(r"(?:avg|average|mean)?(?:throughput|qps|fps|ips)(?:qps|fps|persecond)?")


class UnknownUnitError(ValueError):
    """A file states a unit that is not a unit of time."""

    @property
    def message(self) -> str:
        return f"has the unknown time unit {str(self)!r}; export it in ms, us, ns or s"


def plain(text: str) -> str:
    """Return the lower-case letters and digits of a key.

    >>> plain("Latency (ms)"), plain("gpu_time_µs")
    ('latencyms', 'gputimeus')
    """
    return re.sub(r"[^a-z0-9]", "", text.replace("µ", "u").replace("μ", "u").lower())


def split_unit(key: str) -> Iterator[tuple[str, str | None]]:
    """Yield the ways to split a key into plain words and a unit at its end, the most likely first; None for no unit.

    >>> list(split_unit("avg_us"))
    [('avgus', None), ('avg', 'µs')]
    """
    name = plain(key)
    seconds = _IN_SECONDS.fullmatch(key)
    stems: list[tuple[str, str | None]] = [(plain(seconds[1] or seconds[2]), "s")] if seconds else []
    stems.append((name, None))
    stems += [
        (name.removesuffix(word), unit)
        for word, unit in _UNITS.items()
        if len(word) > 1 and name.endswith(word)
    ]
    for stem, unit in stems:
        yield stem, unit
        if stem.endswith("in"):  # latency_in_ms
            yield stem.removesuffix("in"), unit


def stated_unit(node: Mapping[str, Any]) -> str | None:
    """Return the unit that an object states for its numbers; None for none.

    Raises:
        UnknownUnitError: It is not a unit of time.
    """
    text = node.get("unit", node.get("units"))
    if not isinstance(text, str):
        return None
    unit = _UNITS.get(plain(text))
    if unit is None:
        raise UnknownUnitError(text)
    return unit


def find_unit(value: float, low_ms: float, high_ms: float) -> str | None:
    """Return the only unit in which a value lies between two limits; None if none or several do.

    >>> find_unit(0.00074, 0.05, 5.0)
    's'
    """
    fitting = [unit for unit, scale in MS.items() if low_ms <= value * scale <= high_ms]
    return fitting[0] if len(fitting) == 1 else None


TIMING_KEYS = (
    *(
        "startEnqMs",
        "endEnqMs",
        "startH2dMs",
        "endH2dMs",
        "startComputeMs",
        "endComputeMs",
        "startD2hMs",
        "endD2hMs",
    ),
    *("h2dMs", "computeMs", "d2hMs", "latencyMs", "endToEndMs"),
)
ENQUEUE = "enqueueMs"
"""Column of enqueue durations, which trtexec itself writes as two stamps."""
DURATIONS = frozenset(("h2dMs", "computeMs", "d2hMs", "latencyMs", "endToEndMs", ENQUEUE))
"""The columns that are durations, which are not negative."""
_NAMES = {
    "latencyMs": "latency latencies hostlatency hostlatencies totallatency inferencetime inferencetimes elapsed time times "
    "timings durations runtimes periteration",
    "computeMs": "compute computetime computetimes gpu gputime gputimes gpucompute gpucomputetime gpucomputetimes",
    "h2dMs": "h2d h2dtime h2dlatency",
    "d2hMs": "d2h d2htime d2hlatency",
    ENQUEUE: "enqueue enqueuetime enqueuetimes enq",
    "endToEndMs": "endtoend e2e",
}
"""Column -> its names in toolkits, in lower-case letters and digits, without the unit."""
_COLUMNS = {name: column for column, names in _NAMES.items() for name in names.split()}
_OWN_COLUMNS = {key.lower(): key for key in TIMING_KEYS}
_HOLDERS = ("values", "samples", "data", "raw")
"""Keys of the numbers in an object of one column."""
_MOST_DEPTH = 12


@lru_cache(maxsize=1024)
def find_column(key: str) -> tuple[str | None, str | None]:
    """Return the column that a key names, and the unit at its end; None for each if missing."""
    name = plain(key)
    if name in _OWN_COLUMNS:
        return _OWN_COLUMNS[name], "ms"
    for stem, unit in split_unit(key):
        if stem in _COLUMNS:
            return _COLUMNS[stem], unit
    return None, None


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

    def with_layers(self, layers_ms: float) -> Timing:
        """Return the rows in the unit in which a query takes about as long as its layers, if the unit is unknown.

        Args:
            layers_ms: Sum of the times of the layers of the same engine.
        """
        if self.unit is not None:
            return self
        times = [time for column in self.columns.values() for time in column if time > 0]
        if not times or layers_ms <= 0:
            return self
        unit = find_unit(median(times), layers_ms / 10, layers_ms * 10)
        return self if unit is None else self._in_unit(unit, f"by the layers beside it, {layers_ms:.4g} ms")

    def _in_unit(self, unit: str, reason: str) -> Timing:
        columns = {
            key: array("d", [value * MS[unit] for value in column]) for key, column in self.columns.items()
        }
        assumed = self.assumed.replace(UNIT_UNKNOWN, f"unit {unit} {reason}")
        notes = [
            note._replace(severity=Severity.INFO, message=assumed) if UNIT_UNKNOWN in note.message else note
            for note in self.notes
        ]
        return replace(self, columns=columns, notes=tuple(notes), assumed=assumed, unit=unit)


def read_timings(path: Path) -> list[Timing]:
    """Read the rows of every run in a file: usually one, more in appended files.

    Raises:
        ArtifactError: The file is not JSON, or has no timing rows.
    """
    notes: list[Note] = []
    timings = [_read_document(root, path) for root in parse_documents(read_text(path, notes), path)]
    return [replace(timing, notes=(*notes, *timing.notes)) for timing in timings] if notes else timings


def _read_document(root: object, path: Path) -> Timing:
    rows = [row for row in root if isinstance(row, dict)] if isinstance(root, list) else []
    keys = set().union(*rows)
    columns, doubtful = {}, set()
    for key in (*TIMING_KEYS, ENQUEUE):
        if key in keys:
            columns[key], is_doubtful = _read_column(rows, key)
            if is_doubtful:
                doubtful.add(key)
    if not columns:
        return _read_foreign(root, path)
    left_out = len(root) - len(rows) if isinstance(root, list) else 0
    if not doubtful and not left_out:
        return Timing(columns, len(rows))
    return Timing(columns, len(rows), _check_columns(path, columns, doubtful, len(rows), left_out))


def _read_column(rows: list[dict[str, Any]], key: str) -> tuple[array[float], bool]:
    """Return the values of a key, NaN where there is no number, and whether some are missing or negative."""
    values: list[Any] = [row.get(key) for row in rows]
    # Truth values are 0 and 1: types are looked at only then.
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


def _check_columns(
    path: Path, columns: dict[str, array[float]], doubtful: Collection[str], rows: int, left_out: int
) -> tuple[Note, ...]:
    """Replace negative durations by unknown values in doubtful columns, and return what is missing."""
    messages = [f"{left_out} entries are not timing rows; skipped"] if left_out else []
    unknown = sum(map(math.isnan, columns.get("latencyMs", ())))
    for key in sorted(DURATIONS & columns.keys() & set(doubtful)):
        column = columns[key]
        if count := sum(value < 0 for value in column):
            columns[key] = array("d", [math.nan if value < 0 else value for value in column])
            messages.append(
                f"{count} of {rows} rows have a negative {key.removesuffix('Ms')}; read as unknown"
            )
    if unknown:
        messages.append(f"{unknown} of {rows} rows have no latency")
    return tuple(Note(Severity.WARNING, path, "", message) for message in messages)


class _Table(NamedTuple):
    """Columns of equal length, in milliseconds, and the stated unit of each, None without one."""

    where: str
    columns: dict[str, array[float]]
    units: dict[str, str | None]

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def description(self) -> str:
        return plural(self.rows, "row") + (f" at {self.where}" if self.where else "")


def _read_foreign(root: object, path: Path) -> Timing:
    """Return the longest run in a file of another tool, then the one with most columns, then the first."""
    is_list = isinstance(root, list) and bool(root) and not isinstance(root[0], (dict, list))
    try:
        tables = list(_find_tables({"times": root} if is_list else root))
    except UnknownUnitError as error:
        raise ArtifactError(path, error.message) from error
    if not tables:
        keys = ", ".join(printable(str(key)) for key in list(root)[:8]) if isinstance(root, dict) else ""
        seen = f"; its keys: {keys}" if keys else ""
        raise ArtifactError(path, f"has no timing rows{seen}; export it with --exportTimes")
    best = max(tables, key=lambda table: (table.rows, len(table.columns)))
    units = set(best.units.values())
    unit = units.pop() if len(units) == 1 else None if None in units else "ms"
    shown = [
        f"{column.removesuffix('Ms')}{f' in {stated}' if stated else ''}"
        for column, stated in best.units.items()
    ]
    assumed = f"is not in trtexec's format; read as {best.description} of {', '.join(shown)}"
    assumed += "" if unit else f"; {UNIT_UNKNOWN}"
    notes = [Note(Severity.INFO if unit else Severity.WARNING, path, "", assumed)]
    if others := [table.description for table in tables if table is not best]:
        named = f"{', '.join(others[:3])}{', …' if len(others) > 3 else ''}"
        notes.append(Note(Severity.WARNING, path, "", f"has rows of {len(tables)} runs; not read: {named}"))
    notes += _check_columns(path, best.columns, best.columns, best.rows, 0)
    timing = Timing(best.columns, best.rows, tuple(notes), assumed, unit)
    return timing if unit or not isinstance(root, dict) else _infer_unit(timing, root)


def _infer_unit(timing: Timing, root: Mapping[str, Any]) -> Timing:
    """Return the rows in the unit that a throughput beside them implies: latency · throughput is the number in flight."""
    times = [time for time in timing.latency_ms if time > 0]
    inside = [value for value in root.values() if isinstance(value, dict)]
    for key, value in (item for node in (root, *inside) for item in node.items()):
        throughput = finite_number(value)
        if times and throughput and throughput > 0 and _PER_SECOND.fullmatch(plain(key)):
            ideal_ms = 1000.0 / throughput
            unit = find_unit(math.fsum(times) / len(times), 0.7 * ideal_ms, 500 * ideal_ms)
            return timing if unit is None else timing._in_unit(unit, f"by {key}: {throughput:.6g} per second")
    return timing


def _find_tables(node: object, path: tuple[str, ...] = (), unit: str | None = None) -> Iterator[_Table]:
    """Yield a table for each object with equally long lists of numbers under keys that name times."""
    if len(path) > _MOST_DEPTH or not isinstance(node, (dict, list)):
        return
    if isinstance(node, list):
        for index, value in enumerate(node):
            yield from _find_tables(value, (*path, str(index)), unit)
        return
    unit = stated_unit(node) or unit
    keys: list[str] = []
    table = _Table("", {}, {})
    for key, value in node.items():
        column, own_unit = find_column(key)
        inner = value if isinstance(value, dict) else {}
        values = next((inner[name] for name in _HOLDERS if isinstance(inner.get(name), list)), value)
        numbers = [finite_number(item) for item in values] if isinstance(values, list) else []
        if column in (None, *table.columns) or not any(number is not None for number in numbers):
            yield from _find_tables(value, (*path, key), own_unit or unit)
        elif column is not None and (not table.columns or len(numbers) == table.rows):
            stated = table.units[column] = stated_unit(inner) or own_unit or unit
            scale = MS[stated or "ms"]
            table.columns[column] = array(
                "d", [math.nan if number is None else number * scale for number in numbers]
            )
            keys.append(key)
    if table.columns:
        yield table._replace(
            where=".".join([*path, *keys] if len(keys) == 1 and keys[0] else path).strip(".")
        )
