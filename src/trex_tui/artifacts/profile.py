"""Read time per layer: `--exportProfile`.

One record per line; records of TensorRT 8.0 to 8.4 EA have no `medianMs`. trtexec does not escape names and may print `nan`,
so a file may be invalid JSON, and a backslash in a name is literal: such files are parsed by their fixed structure, line by
line. Several profiles in one file are runs, which are never added up: lists that were appended, rows after another count,
and, without counts, a sequence of names that repeats as a whole.

Toolkits around TensorRT write layer times in many other forms (`layer_times`). Missing facts of such a file are assumed, with
a note in `Profile.notes`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import compress, islice
from operator import itemgetter, ne
from pathlib import Path
from typing import Any, NamedTuple

from trex_tui.artifacts.layer_spread import LayerSpread, measure_spread
from trex_tui.artifacts.layer_times import LayerTable, LayerTimes, find_layer_times
from trex_tui.artifacts.open import finite_number, parse_documents, read_text
from trex_tui.artifacts.time_units import UnknownUnitError
from trex_tui.errors import ArtifactError, Note, Severity
from trex_tui.text import plural

_LINE = re.compile(
    r'^[\[, ]*\{ "name" : "(?P<name>.*)", "timeMs" : (?P<total>\S+), "averageMs" : (?P<average>[^ ,]+)'
    r'(?:, "medianMs" : (?P<median>[^ ,]+))?, "percentage" : (?P<percentage>\S+) \}\s*,?\]?$'
)
SAMPLES_KEY = "samplesMs"
"""Key of the single times of a layer, which the recorder adds to trtexec's form."""
_NUMBERS = frozenset((float, int))
_MOST_MS = 1e9
_RATIO_ERROR = 1e-4
"""Relative error of a ratio of two numbers with six digits each, with a margin."""
_COUNT_LINE = re.compile(r'^[\[, ]*\{ "count" : (?P<count>\d{1,18}) \}\s*,?\]?$')


class ProfileRow(NamedTuple):
    """One layer's time as trtexec reports it; None if it printed no number.

    Attributes:
        total_ms: `timeMs`, the sum over all iterations.
        average_ms: `averageMs`.
        median_ms: `medianMs`; None before TensorRT 8.4.1.
        percentage: `percentage`, the share of the sum of all `timeMs`.
    """

    name: str
    total_ms: float | None
    average_ms: float | None
    median_ms: float | None
    percentage: float | None


class Profile(NamedTuple):
    """Content of the file: rows in execution order (names may repeat) and the number of iterations, if stated.

    Attributes:
        assumed: How a file of another tool was read, as the end of a sentence whose subject is the file; else empty.
        is_whole: Whether the end of the run is in the file.
        spreads: Of the single times of each row, where the recorder or another tool wrote them; else empty.
        unit: Unit of the times in the file; None if neither the file nor its neighbours tell it: then milliseconds are
            assumed, and every view says "unit unknown".
        stated_total_ms: Total that the file states for one iteration, if rows are missing; shares refer to it. Else None.
        missing_pct: Share of the time whose rows are missing, of 100; None if nothing is missing.
    """

    rows: tuple[ProfileRow, ...]
    iterations: int | None
    notes: tuple[Note, ...] = ()
    assumed: str = ""
    is_whole: bool = True
    spreads: tuple[LayerSpread | None, ...] = ()
    unit: str | None = "ms"
    stated_total_ms: float | None = None
    missing_pct: float | None = None

    @property
    def sum_ms(self) -> float | None:
        """Sum of the layers' average times; None if no layer has one."""
        known = [row.average_ms for row in self.rows if row.average_ms is not None]
        return math.fsum(known) if known else None


def read_profiles(path: Path) -> list[Profile]:
    """Read the profile of every run in a file, in order.

    Raises:
        ArtifactError: The file has no profile record.
    """
    text = read_text(path)
    try:
        documents = parse_documents(text, path)
    except ArtifactError as error:
        return _read_by_line(text, path, error)
    if "\\" in text and all(map(_is_of_trtexec, documents)) and (lines := _lines(text)).is_whole:
        return [_checked(path, run, []) for run in lines.runs]
    profiles: list[Profile] = []
    for root in documents:
        variants = [] if _is_of_trtexec(root) else _read_variants(root, path)
        profiles += variants or _read_records(root, path)
    return [profile for profile in profiles if profile.rows] or profiles[:1]


def read_profile(path: Path) -> Profile:
    """Read the profile of the last run in a file.

    Raises:
        ArtifactError: As `read_profiles`.
    """
    return read_profiles(path)[-1]


def _read_records(root: object, path: Path) -> list[Profile]:
    """Return the runs in a list of records as trtexec writes them."""
    if not isinstance(root, list):
        raise ArtifactError(path, "holds no times of layers; export it again")
    parsed = _Records()
    ignored = 0
    has_count = False
    are_rows = [type(record) is dict and type(record.get("name")) is str for record in root]
    records = list(compress(root, are_rows))
    rows = _rows(records)
    others = [position for position, is_row in enumerate(are_rows) if not is_row]
    start = 0
    for number, position in enumerate(others):
        parsed.runs[-1].rows += rows[start : position - number]
        start = position - number
        record = root[position]
        if isinstance(record, dict) and type(record.get("count")) is int:
            parsed.add_count(record["count"])
            has_count = True
        else:
            ignored += 1
    parsed.runs[-1].rows += rows[start:]
    parsed.finish()
    notes = []
    if not has_count:
        parsed.split_runs()
        for run in parsed.runs:
            run.iterations = _divide_times(run.rows)
        if len(parsed.runs) > 1:
            notes.append(Note(Severity.INFO, path, "", _assume_runs(len(parsed.runs))))
    if ignored:
        message = f"{ignored} entries are not profile records; skipped"
        notes.append(Note(Severity.WARNING, path, "", message))
    if any(SAMPLES_KEY in record for record in records):
        spreads = iter([_read_spread(record.get(SAMPLES_KEY)) for record in records])
        for run in parsed.runs:
            run.spreads = list(islice(spreads, len(run.rows)))
    return [_checked(path, run, notes) for run in parsed.runs]


def _divide_times(rows: Sequence[ProfileRow]) -> int | None:
    """Return the iterations of rows without a count: total over average, if it is the same whole number for all."""
    ratios = [row.total_ms / row.average_ms for row in rows if row.total_ms and row.average_ms]
    count = round(ratios[0]) if ratios and math.isfinite(ratios[0]) else 0
    is_same = count > 0 and all(abs(ratio - count) <= _RATIO_ERROR * count for ratio in ratios)
    return count if is_same else None


def _read_spread(times: object) -> LayerSpread | None:
    """Measure the single times of a record; None if one of them is no time."""
    if not isinstance(times, list) or not times:
        return None
    known = [time for time in _times(times) if time is not None]
    return measure_spread(known) if len(known) == len(times) else None


def _is_of_trtexec(root: object) -> bool:
    """Return whether a document has trtexec's form: rows with an average, each once or after a count."""
    if not isinstance(root, list):
        return False
    records = [record for record in root if isinstance(record, dict)]
    if not any("averageMs" in record and "name" in record for record in records):
        return not any("name" in record or _holds_parts(record) for record in records)
    if any("count" in record for record in records):
        return True
    rows = [repr(record) for record in records if "name" in record]
    return len(set(rows)) == len(rows)


def _holds_parts(record: dict[str, Any]) -> bool:
    return any(isinstance(value, (dict, list)) for value in record.values())


_MOST_OTHERS = 3
_LEAST_LAYERS = 3
"""Minimum size of a run identified by names alone: shorter sequences repeat within a network."""
_INDEX = re.compile(r"(?<![^.])[0-9]+(?![^.])")
"""The index in a list, in the path to a table."""
_SUMS = frozenset(("total", "sum", "overall"))


def _read_variants(root: object, path: Path) -> list[Profile]:
    """Return the runs in a file of another tool; of several profiles the one with most layers, the first of equal ones.

    Returns:
        An empty list if it has no layer times.

    Raises:
        ArtifactError: It states a unit that is not a unit of time.
    """
    try:
        tables = find_layer_times(root, path.name)
    except UnknownUnitError as error:
        raise ArtifactError(
            path, f"has the unknown time unit {str(error)!r}; export it in ms, us, ns or s"
        ) from error
    if not tables:
        return []
    best = max(tables, key=lambda table: len(table.rows))
    same = [table for table in tables if _is_other_run(table, best)]
    runs = _split_runs(best) if len(same) == 1 else [(table, table.rows) for table in same]
    notes = _notes_on_tables(tables, [table for table, _ in runs], path)
    assumed = "" if len(runs) == 1 else _assume_runs(len(runs), are_lists=len(same) > 1)
    return [_read_run(table, rows, assumed, notes, path) for table, rows in runs]


def _is_other_run(table: LayerTable, best: LayerTable) -> bool:
    """Return whether two tables are elements of one list with the same layers and other times; or the same table."""
    if table is best:
        return True
    is_of_list = [_INDEX.sub("", where) for where in (table.where, best.where)]
    names = [[row.name for row in rows] for rows in (table.rows, best.rows)]
    return is_of_list[0] == is_of_list[1] and names[0] == names[1] and len(names[0]) >= _LEAST_LAYERS


def _read_run(
    table: LayerTable, rows: list[LayerTimes], of_runs: str, notes: Sequence[Note], path: Path
) -> Profile:
    assumed: list[str] = []
    rows = _without_repeats(_without_sum(rows, assumed), assumed)
    assumed.insert(0, _description(table, len(rows)))
    if of_runs:
        assumed.append(of_runs)
    silent = [name for name, unit in table.units.items() if unit is None]
    if silent:
        which = "" if len(silent) == len(table.units) else f" for {', '.join(silent)}"
        assumed.append(f"no unit{which}; assuming milliseconds")
    assumed += _meanings(rows, table.count)
    text = "; ".join(assumed)
    run = _Run([_make_row(row, table.count) for row in rows], _iterations(table, rows))
    if any(row.spread for row in rows):
        run.spreads = [row.spread for row in rows]
    return _checked(path, run, [Note(Severity.INFO, path, "", text), *notes], text)


def _notes_on_tables(tables: Sequence[LayerTable], used: Sequence[LayerTable], path: Path) -> list[Note]:
    """Return notes on parts of a file of another tool that are not read."""
    notes = []
    best = used[0]
    others = [table for table in tables if table not in used and table.rows != best.rows]
    if others:
        named = [f"{plural(len(table.rows), 'layer')} at {table.where or 'the root'}" for table in others]
        more = [f"{len(named) - _MOST_OTHERS} more"] if len(named) > _MOST_OTHERS else []
        message = f"has more than one profile; not read: {', '.join(named[:_MOST_OTHERS] + more)}"
        notes.append(Note(Severity.WARNING, path, "", message))
    if best.left_out:
        message = f"{best.left_out} entries without a layer name and time; skipped"
        notes.append(Note(Severity.WARNING, path, "", message))
    return notes


def _split_runs(table: LayerTable) -> list[tuple[LayerTable, list[LayerTimes]]]:
    """Split the table into one per repetition of all names; a repetition with equal figures is a duplicate, not a run."""
    length = _length_of_run([row.name for row in table.rows])
    parts = [table.rows[start : start + length] for start in range(0, len(table.rows), length)]
    figures = {tuple(map(_identity, part)) for part in parts}
    return [(table, table.rows)] if len(figures) == 1 else [(table, part) for part in parts]


def _length_of_run(names: Sequence[str]) -> int:
    """Return the number of layers after which all names repeat in order to the end; all if they do not."""
    for length in range(_LEAST_LAYERS, len(names) // 2 + 1):
        is_repeated = len(names) % length == 0 and names[:-length] == names[length:]
        if is_repeated and len(set(names[:length])) > 1:
            return length
    return max(len(names), 1)


def _assume_runs(count: int, *, are_lists: bool = False) -> str:
    what = (
        f"{count} lists name the same layers"
        if are_lists
        else f"all names repeat {count} times in the same order"
    )
    return f"{what}; read as {count} runs"


def _description(table: LayerTable, layers: int) -> str:
    where = f" at {table.where}" if table.where else ""
    names = ", ".join(f"{name} in {unit or 'ms'}" for name, unit in table.units.items())
    return f"is not in trtexec's format; read as {plural(layers, 'layer')}{where}: {names}"


def _without_sum(rows: list[LayerTimes], assumed: list[str]) -> list[LayerTimes]:
    """Remove a last row that is the sum of the others."""
    if len(rows) < 3 or rows[-1].name.strip().lower() not in _SUMS:
        return rows
    assumed.append(f"its row {rows[-1].name!r} is excluded from the layers")
    return rows[:-1]


def _without_repeats(rows: list[LayerTimes], assumed: list[str]) -> list[LayerTimes]:
    """Remove rows that a tool lists repeatedly.

    A row is a repetition if its name and all its figures are equal. Layers of one name with different times are different
    layers, as in trtexec's own form.
    """
    unique = list({_identity(row): row for row in reversed(rows)}.values())[::-1]
    if len(unique) < len(rows):
        assumed.append(f"{plural(len(rows) - len(unique), 'repeated row')} merged")
    return unique


def _identity(row: LayerTimes) -> object:
    figures = (row.average_ms, row.median_ms, row.total_ms, row.time_ms, row.percentage, row.count)
    # Layers of one name that take no time need not be the same.
    return (row.name, figures) if any(figures[:4]) else id(row)


def _make_row(row: LayerTimes, count: int | None) -> ProfileRow:
    """Return the row as trtexec would write it: the average follows from the sum and the number of iterations."""
    average, total = row.average_ms, row.total_ms
    count = row.count or count
    if row.time_ms is not None:
        if average is not None or (count and row.time_key == "timeMs"):
            total = row.time_ms if total is None else total
        else:
            average = row.time_ms
    if average is None and total is not None and count:
        average = total / count
    return ProfileRow(row.name, total, average, row.median_ms, row.percentage)


def _meanings(rows: list[LayerTimes], count: int | None) -> list[str]:
    """Return assumptions about times whose keys do not state their meaning."""
    keys = {row.time_key for row in rows if row.time_ms is not None and row.average_ms is None}
    sums = {key for key in keys if key == "timeMs" and (count or any(row.count for row in rows))}
    meanings = [f"{key} is read as a sum over all iterations" for key in sorted(sums)]
    return meanings + [
        f"{key or 'the number of a layer'} is read as the time of one inference"
        for key in sorted(keys - sums)
    ]


def _iterations(table: LayerTable, rows: list[LayerTimes]) -> int | None:
    counts = {row.count or row.samples for row in rows}
    return table.count or (counts.pop() if len(counts) == 1 else None)


_make_profile_row: Callable[[tuple[Any, ...]], ProfileRow] = partial(tuple.__new__, ProfileRow)
"""Avoids the Python function that creates a NamedTuple: files have hundreds of thousands of rows."""


def _rows(records: Sequence[dict[str, Any]]) -> list[ProfileRow]:
    names = map(itemgetter("name"), records)
    keys = ("timeMs", "averageMs", "medianMs", "percentage")
    columns = [_times(_values(records, key)) for key in keys]
    return list(map(_make_profile_row, zip(names, *columns, strict=True)))


def _values(records: Sequence[dict[str, Any]], key: str) -> list[Any]:
    try:
        return list(map(itemgetter(key), records))
    except KeyError:
        return [record.get(key) for record in records]


def _times(values: list[Any]) -> Sequence[float | None]:
    """Return each number that is a valid time; a column of plain numbers, by far the usual case, is checked as a whole."""
    types = set(map(type, values))
    has_nan = any(map(ne, values, values))
    if types and types <= _NUMBERS and not has_nan and min(values) >= 0 and max(values) <= _MOST_MS:
        return list(map(float, values)) if int in types else values
    return [_time(value) for value in values]


def _time(value: Any) -> float | None:  # noqa: ANN401 - any JSON value
    if (type(value) is float or type(value) is int) and 0 <= value <= _MOST_MS:  # nearly always
        return float(value)
    number = finite_number(value)
    return number if number is not None and number >= 0 else None


@dataclass(slots=True)
class _Run:
    """Records of one run."""

    rows: list[ProfileRow] = field(default_factory=list)
    iterations: int | None = None
    is_whole: bool = True
    spreads: list[LayerSpread | None] = field(default_factory=list)


@dataclass(slots=True)
class _Records:
    """Records of a file by run: a count, or the beginning of a list, after rows starts another run.

    Attributes:
        lost: Numbers of the lines without a valid record, from 1.
    """

    runs: list[_Run] = field(default_factory=lambda: [_Run()])
    lost: list[int] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """True if every line is as trtexec prints it."""
        return bool(self.runs[0].rows) and not self.lost

    def begin_run(self) -> None:
        if self.runs[-1].rows:
            self.runs.append(_Run())

    def add_count(self, count: int) -> None:
        self.begin_run()
        self.runs[-1].iterations = count

    def split_runs(self) -> None:
        """Make a run of each repetition of all names."""
        rows = self.runs[0].rows
        length = _length_of_run([row.name for row in rows])
        if len(self.runs) == 1 and length < len(rows):
            self.runs = [_Run(rows[start : start + length]) for start in range(0, len(rows), length)]

    def finish(self) -> None:
        """Assign a count after all rows to the run before it."""
        if len(self.runs) > 1 and not self.runs[-1].rows:
            last = self.runs.pop()
            if self.runs[-1].iterations is None:
                self.runs[-1].iterations = last.iterations


def _lines(text: str) -> _Records:
    parsed = _Records()
    # Not splitlines(): names may hold its separators, such as U+001E.
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if line.lstrip(" \t],").startswith("["):
            parsed.begin_run()
        if match := _LINE.match(line):
            values = (match["total"], match["average"], match["median"], match["percentage"])
            parsed.runs[-1].rows.append(ProfileRow(match["name"], *map(_printed_time, values)))
        elif match := _COUNT_LINE.match(line):
            parsed.add_count(int(match["count"]))
        elif line.strip(" \t[],"):
            parsed.lost.append(number)
            parsed.runs[-1].is_whole = False
    parsed.finish()
    if not text.rstrip().endswith("]"):
        parsed.runs[-1].is_whole = False
    return parsed


def _read_by_line(text: str, path: Path, error: ArtifactError) -> list[Profile]:
    """Recover the records that are complete on a line; `error` is why the file is not JSON."""
    parsed = _lines(text)
    count = sum(len(run.rows) for run in parsed.runs)
    if not count:
        raise error
    if parsed.is_whole:
        severity = Severity.INFO
        message = (
            f"is not valid JSON (trtexec does not escape names and prints nan); all {count} records read by "
            "line"
        )
    else:
        severity = Severity.ERROR
        message = (
            f"{error.note.message}; {count} records were read by line, "
            f"{len(parsed.lost)} lines lost (first: line {parsed.lost[0]})"
        )
    note = Note(severity, path, error.note.where, message)
    return [_checked(path, run, [note]) for run in parsed.runs]


def _printed_time(text: str | None) -> float | None:
    try:
        return _time(float(text)) if text else None
    except ValueError:
        return None


def _checked(path: Path, run: _Run, file_notes: Sequence[Note], assumed: str = "") -> Profile:
    notes = list(file_notes)
    if not run.rows:
        message = "has no layers: nothing was profiled"
        notes.append(Note(Severity.WARNING, path, "", message))
    untimed = [row.average_ms for row in run.rows].count(None)
    if untimed:
        message = f"{untimed} of {len(run.rows)} records have no average time"
        notes.append(Note(Severity.WARNING, path, "", message))
    return Profile(tuple(run.rows), run.iterations, tuple(notes), assumed, run.is_whole, tuple(run.spreads))
