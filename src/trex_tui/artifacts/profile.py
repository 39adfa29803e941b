"""Read time per layer: `--exportProfile`.

One record per line; records of TensorRT 8.0 to 8.4 EA have no `medianMs`. trtexec does not escape names and may print `nan`,
so a file may be invalid JSON, and a backslash in a name is literal: such files are parsed by their fixed structure, line by
line. Several profiles in one file are runs, which are never added up: lists that were appended, and rows after another count.

Read as well are the table that SimpleProfiler of the TensorRT samples prints, execution profiles of Torch-TensorRT, and
layer times of toolkits in many other forms (`layer_times`). What such a file leaves open is assumed, and told in a note.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from trex_tui.artifacts.layer_times import (
    LayerSpread,
    LayerTable,
    LayerTimes,
    find_layer_times,
    measure_spread,
)
from trex_tui.artifacts.open import COPY_AGAIN, finite_number, parse_documents, read_text
from trex_tui.artifacts.timing import UNIT_UNKNOWN, UnknownUnitError
from trex_tui.errors import ArtifactError, Note, Severity
from trex_tui.text import plural

SAMPLES_KEY = "samplesMs"
"""Key of the single times of a layer, which the recorder adds to trtexec's form."""
TABLE_HEADING = re.compile(r"TensorRT layer name {2,}Runtime, % +Invocations +Runtime, ms")
"""Heading of the table that SimpleProfiler prints."""
ENGINE_TRACE = re.compile(r'"pid"\s*:\s*"[^"\n]{0,400} Engine Execution"')
"""An event of an execution profile of Torch-TensorRT."""
_TABLE_TOTAL = re.compile(r" total runtime = (?P<total>\d+(?:\.\d+)?(?:e\+\d+)?) ms ={5}")
_TABLE_STEP_MS = 0.01
_LOG_PREFIX = re.compile(r"^\[[VIWEF]\] ")
_LINE = re.compile(
    r'^[\[, ]*\{ "name" : "(?P<name>.*)", "timeMs" : (?P<timeMs>\S+), "averageMs" : (?P<averageMs>[^ ,]+)'
    r'(?:, "medianMs" : (?P<medianMs>[^ ,]+))?, "percentage" : (?P<percentage>\S+) \}\s*,?\]?$'
)
_COUNT_LINE = re.compile(r'^[\[, ]*\{ "count" : (?P<count>\d{1,18}) \}\s*,?\]?$')
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_RATIO_ERROR = 1e-4
"""Relative error of a ratio of two numbers with six digits each, with a margin."""
_LEAST_MISSING_PCT = 0.5
_LEAST_LAYERS = 3
"""Rows of which the last may be a sum."""
_SUMS = frozenset(("total", "sum", "overall"))
_CALL_SUMS = (
    "has sums over all calls, whose number the format perfetto does not state: shares are right, times only after a single "
    'call; profile_format="trex" states averages'
)
_ITERATION = re.compile(r"iter_(\d{1,9})")
_ONE_CALL = "has the times of a single execution, without an average"
_FIRST_CALL = (
    "has the times of the first execution alone: kernels are loaded and clocks are low, so that later ones are many times "
    "faster; shares are uncertain too"
)


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
        file: File of the times, if it is not the profile of the set: a log; else None.
        unit: Unit of the times in the file; None if it tells none: then milliseconds are assumed, and every
            view says "unit unknown".
        stated_total_ms: Time of one iteration that the file states, if rows are missing; shares refer to it. Else None.
        missing_pct: Share of this time whose rows are missing; None if nothing is missing.
    """

    rows: tuple[ProfileRow, ...]
    iterations: int | None
    notes: tuple[Note, ...] = ()
    assumed: str = ""
    is_whole: bool = True
    spreads: tuple[LayerSpread | None, ...] = ()
    file: Path | None = None
    unit: str | None = "ms"
    stated_total_ms: float | None = None
    missing_pct: float | None = None

    @property
    def sum_ms(self) -> float | None:
        """Sum of the layers' average times; None if no layer has one."""
        known = [row.average_ms for row in self.rows if row.average_ms is not None]
        return math.fsum(known) if known else None

    def with_total(self, path: Path, total_ms: float | None = None, rounding_ms: float = 0.0) -> Profile:
        """Return the profile with the time that its rows leave out, and a note, if rows are missing.

        Args:
            path: The file, for the note.
            total_ms: The time of one iteration that the file states; None to take it from percentages that do not sum to 100.
            rounding_ms: Largest error of a row.
        """
        known = self.sum_ms
        total_ms = _find_total(self.rows) if total_ms is None else total_ms
        if self.stated_total_ms is not None or known is None or not total_ms:
            return self
        if known >= total_ms - rounding_ms * len(self.rows):
            return self
        missing_pct = 100.0 * (1.0 - known / total_ms)
        if missing_pct < _LEAST_MISSING_PCT:
            return self
        message = (
            f"rows of {total_ms - known:.4g} ms ({missing_pct:.2g} %) are missing: the rest sums to {known:.4g} of "
            f"{total_ms:.4g} ms; shares refer to the total"
        )
        note = Note(Severity.WARNING, path, "", message)
        return self._replace(notes=(*self.notes, note), stated_total_ms=total_ms, missing_pct=missing_pct)


def _find_total(rows: Sequence[ProfileRow]) -> float | None:
    """Return the total that the percentages of the rows refer to; None unless every row agrees on it."""
    shares = [
        (row.average_ms, row.percentage)
        for row in rows
        if row.average_ms is not None and row.percentage is not None
    ]
    sum_ms, sum_pct = math.fsum(time for time, _ in shares), math.fsum(share for _, share in shares)
    if not sum_ms or not 1.0 < sum_pct < 100.0 - _LEAST_MISSING_PCT:
        return None
    total_ms = 100.0 * sum_ms / sum_pct
    agree = all(abs(100.0 * time / total_ms - share) <= 0.06 + 0.02 * share for time, share in shares)
    return total_ms if agree else None


def read_profiles(path: Path) -> list[Profile]:
    """Read the profile of every run in a file, in order.

    Raises:
        ArtifactError: The file has no profile record.
    """
    notes: list[Note] = []
    profiles = _read_runs(read_text(path, notes), path)
    return [profile._replace(notes=(*notes, *profile.notes)).with_total(path) for profile in profiles]


def _read_runs(text: str, path: Path) -> list[Profile]:
    if TABLE_HEADING.search(text):
        return _read_tables(text, path)
    try:
        documents = parse_documents(text, path)
    except ArtifactError as error:
        try:
            # Torch-TensorRT writes a comma after the last figure of a row.
            documents = parse_documents(_TRAILING_COMMA.sub(r"\1", text), path)
        except ArtifactError:
            return _read_by_line(text, path, error)
    if "\\" in text and all(map(_is_of_trtexec, documents)):
        printed, lost = _parse_lines(text)
        documents = documents if lost else printed  # a backslash is literal
    profiles: list[Profile] = []
    for root in documents:
        if _is_of_trtexec(root):
            profiles += _read_records(root, path)
        elif isinstance(root, list) and ENGINE_TRACE.search(text):
            profiles.append(_read_trace(root, path))
        else:
            profiles.append(_read_foreign(root, path))
    return [profile for profile in profiles if profile.rows] or profiles[:1]


def _finish(
    path: Path,
    rows: Sequence[ProfileRow],
    iterations: int | None,
    file_notes: Sequence[Note] = (),
    assumed: str = "",
    spreads: Sequence[LayerSpread | None] = (),
) -> Profile:
    notes = list(file_notes)
    if not rows:
        notes.append(Note(Severity.WARNING, path, "", "has no layers: nothing was profiled"))
    if untimed := [row.average_ms for row in rows].count(None):
        message = f"{untimed} of {len(rows)} records have no average time"
        notes.append(Note(Severity.WARNING, path, "", message))
    return Profile(tuple(rows), iterations, tuple(notes), assumed, spreads=tuple(spreads))


def _time(value: Any) -> float | None:  # noqa: ANN401 - any JSON value
    number = finite_number(value)
    return number if number is not None and number >= 0 else None


# trtexec's own form


def _is_of_trtexec(root: object) -> bool:
    """Return whether a document has trtexec's form: rows with an average, or a count without any rows."""
    records = [record for record in root if isinstance(record, dict)] if isinstance(root, list) else []
    if any("averageMs" in record and "name" in record for record in records):
        return True
    return bool(records) and all(record.keys() == {"count"} for record in records)


def _read_records(root: Sequence[Any], path: Path, notes: Sequence[Note] = ()) -> list[Profile]:
    """Return the runs in a list of records as trtexec writes them: a count after rows starts another run."""
    runs: list[tuple[int | None, list[dict[str, Any]]]] = [(None, [])]
    ignored = 0
    for record in root:
        if type(record) is dict and type(record.get("name")) is str:
            runs[-1][1].append(record)
        elif isinstance(record, dict) and type(record.get("count")) is int:
            if not runs[-1][1]:
                runs.pop()
            runs.append((record["count"], []))
        else:
            ignored += 1
    if ignored:
        message = f"{ignored} entries are not profile records; skipped"
        notes = [*notes, Note(Severity.WARNING, path, "", message)]
    profiles = []
    for count, records in runs:
        keys = ("timeMs", "averageMs", "medianMs", "percentage")
        rows = [ProfileRow(record["name"], *(_time(record.get(key)) for key in keys)) for record in records]
        spreads = [_read_spread(record) for record in records if SAMPLES_KEY in record]
        iterations = _divide_times(rows) if count is None else count
        profiles.append(
            _finish(path, rows, iterations, notes, "", spreads if len(spreads) == len(rows) else ())
        )
    return profiles


def _read_spread(record: dict[str, Any]) -> LayerSpread | None:
    """Measure the single times of a record; None if one of them is no time."""
    times = record.get(SAMPLES_KEY)
    known = [time for value in times if (time := _time(value)) is not None] if isinstance(times, list) else []
    return measure_spread(known) if known and len(known) == len(record[SAMPLES_KEY]) else None


def _divide_times(rows: Sequence[ProfileRow]) -> int | None:
    """Return the iterations of rows without a count: total over average, if it is the same whole number for all."""
    ratios = [row.total_ms / row.average_ms for row in rows if row.total_ms and row.average_ms]
    count = round(ratios[0]) if ratios and math.isfinite(ratios[0]) else 0
    is_same = count > 0 and all(abs(ratio - count) <= _RATIO_ERROR * count for ratio in ratios)
    return count if is_same else None


def _parse_lines(text: str) -> tuple[list[list[dict[str, Any]]], list[int]]:
    """Return the lists of records that are complete on a line, and the numbers of the lines that are neither."""
    documents: list[list[dict[str, Any]]] = [[]]
    lost = []
    # Not splitlines(): names may hold its separators, such as U+001E.
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if line.lstrip(" \t],").startswith("[") and documents[-1]:
            documents.append([])
        if match := _LINE.match(line):
            record: dict[str, Any] = {"name": match["name"]}
            for key in ("timeMs", "averageMs", "medianMs", "percentage"):
                with suppress(ValueError):
                    record[key] = float(match[key] or "nan")
            documents[-1].append(record)
        elif match := _COUNT_LINE.match(line):
            documents[-1].append({"count": int(match["count"])})
        elif line.strip(" \t[],"):
            lost.append(number)
    return documents, lost


def _read_by_line(text: str, path: Path, error: ArtifactError) -> list[Profile]:
    """Recover the records that are complete on a line; `error` is why the file is not JSON."""
    documents, lost = _parse_lines(text)
    count = sum("name" in record for records in documents for record in records)
    if not count:
        raise error
    is_whole = not lost and text.rstrip().endswith("]")
    message = (
        f"is not valid JSON (trtexec does not escape names and prints nan); all {count} records read by line"
    )
    if not is_whole:
        first = f" (first: line {lost[0]})" if lost else ""
        message = f"{error.note.message}; {count} records were read by line, {len(lost)} lines lost{first}"
    note = Note(Severity.INFO if is_whole else Severity.ERROR, path, error.note.where, message)
    profiles = [profile for records in documents for profile in _read_records(records, path, [note])]
    return [*profiles[:-1], profiles[-1]._replace(is_whole=is_whole)]


# SimpleProfiler, Torch-TensorRT


def _read_tables(text: str, path: Path) -> list[Profile]:
    """Read the tables that SimpleProfiler prints; each is a run."""
    runs: list[tuple[list[tuple[str, float, int, float]], float | None]] = []
    is_open = False
    for line in text.splitlines():
        if TABLE_HEADING.search(line):
            runs.append(([], None))
            is_open = True
        elif is_open and (total := _TABLE_TOTAL.search(line)):
            runs[-1] = (runs[-1][0], float(total["total"]))
            is_open = False
        elif is_open and (row := _parse_table_row(line)):
            runs[-1][0].append(row)
    profiles = [_make_table(rows, total_ms, path) for rows, total_ms in runs if rows]
    if not profiles:
        raise ArtifactError(path, f"has no times of layers; {COPY_AGAIN}")
    return profiles


def _parse_table_row(line: str) -> tuple[str, float, int, float] | None:
    """Return name, share in percent, invocations and milliseconds; None for another line."""
    cells = _LOG_PREFIX.sub("", line).strip().rsplit(maxsplit=3)
    if len(cells) < 4 or not cells[1].endswith("%"):
        return None
    try:
        return cells[0], float(cells[1][:-1]), int(cells[2]), float(cells[3])
    except ValueError:
        return None


def _make_table(
    table: Sequence[tuple[str, float, int, float]], total_ms: float | None, path: Path
) -> Profile:
    # Some layers run twice per inference.
    iterations = Counter(count for _, _, count, _ in table).most_common(1)[0][0] or 1
    rows = [ProfileRow(name, ms, ms / iterations, None, share) for name, share, _, ms in table]
    assumed = f"is a table of SimpleProfiler: {plural(len(rows), 'layer')}, {iterations} invocations"
    notes = [Note(Severity.INFO, path, "", assumed)]
    if total_ms is None:
        notes.append(Note(Severity.ERROR, path, "", f"has no end of the table; {COPY_AGAIN}"))
    profile = _finish(path, rows, iterations, notes, assumed)
    if total_ms is None:
        return profile._replace(is_whole=False)
    return profile.with_total(path, total_ms / iterations, _TABLE_STEP_MS / iterations)


def _read_trace(events: Sequence[Any], path: Path) -> Profile:
    """Read the execution profile of Torch-TensorRT in the format `perfetto`: sums over all calls, in microseconds.

    Its debug folders have one directory per call, `iter_0` for the first.
    """
    rows = [
        ProfileRow(event["name"], time / 1000.0, time / 1000.0, None, None)
        for event in events
        if isinstance(event, dict)
        and isinstance(event.get("name"), str)
        and (time := _time(event.get("dur"))) is not None
    ]
    if iteration := _ITERATION.fullmatch(path.parent.name):
        assumed = _FIRST_CALL if int(iteration[1]) == 0 else _ONE_CALL
        return _finish(path, rows, 1, [Note(Severity.WARNING, path, "", assumed)], assumed)
    return _finish(path, rows, None, [Note(Severity.WARNING, path, "", _CALL_SUMS)], _CALL_SUMS)


# Other tools


def _read_foreign(root: object, path: Path) -> Profile:
    """Return the profile in a file of another tool; of several the one with most layers, the first of equal ones.

    Raises:
        ArtifactError: It has no layer times, or states a unit that is not a unit of time.
    """
    try:
        tables = find_layer_times(root, path.name)
    except UnknownUnitError as error:
        raise ArtifactError(path, error.message) from error
    if not tables:
        records = [
            record for record in (root if isinstance(root, list) else [root]) if isinstance(record, dict)
        ]
        keys = list(dict.fromkeys(key for record in records for key in record))
        seen = f" (keys: {', '.join(keys[:8])})" if keys else ""
        raise ArtifactError(
            path, f"has no times of layers under a known key{seen}; export it with --exportProfile"
        )
    table = max(tables, key=lambda table: len(table.rows))
    notes = []
    if others := [other for other in tables if other.rows != table.rows]:
        named = ", ".join(
            f"{plural(len(other.rows), 'layer')} at {other.where or 'the root'}" for other in others[:3]
        )
        message = f"has {len(tables)} profiles; not read: {named}{', …' if len(others) > 3 else ''}"
        notes.append(Note(Severity.WARNING, path, "", message))
    if table.left_out:
        message = f"{table.left_out} entries without a layer name and time; skipped"
        notes.append(Note(Severity.WARNING, path, "", message))
    return _read_table(table, notes, path)


def _read_table(table: LayerTable, file_notes: Sequence[Note], path: Path) -> Profile:
    """Return the profile of another tool, with a note on every assumption."""
    rows = [_make_row(row, table.count) for row in table.rows]
    total: ProfileRow | None = None
    if len(rows) >= _LEAST_LAYERS and rows[-1].name.strip().lower() in _SUMS:
        total = rows.pop()
    # An IProfiler is called with milliseconds.
    units = {name: unit or ("ms" if name == "samples" else None) for name, unit in table.units.items()}
    unit = None if None in units.values() else "ms"
    where = f" at {table.where}" if table.where else ""
    names = ", ".join(f"{name} in {unit}" if unit else name for name, unit in units.items())
    assumed = [f"is not in trtexec's format; read as {plural(len(rows), 'layer')}{where}: {names}"]
    assumed += [f"its row {total.name!r} is excluded from the layers"] if total else []
    assumed += [UNIT_UNKNOWN] if unit is None else []
    if "time" in units and "average" not in units:
        meaning = "a sum over all iterations" if table.count else "the time of one inference"
        assumed.append(f"time is read as {meaning}")
    text = "; ".join(assumed)
    spreads = [row.spread for row in table.rows][: len(rows)]
    counts = {spread.samples for spread in spreads if spread}
    count = table.count or (counts.pop() if len(counts) == 1 else None)
    note = Note(Severity.WARNING if unit is None else Severity.INFO, path, "", text)
    profile = _finish(path, rows, count, [note, *file_notes], text, spreads if any(spreads) else ())
    profile = profile._replace(unit=unit)
    return profile if total is None else profile.with_total(path, total.average_ms)


def _make_row(row: LayerTimes, count: int | None) -> ProfileRow:
    """Return the row as trtexec would write it: the average follows from the sum and the number of iterations."""
    figures = row.figures
    average, total, time = (figures.get(key) for key in ("average", "total", "time"))
    if time is not None and (average is not None or count):
        total = time if total is None else total
    elif time is not None:
        average = time
    if average is None and total is not None and count:
        average = total / count
    return ProfileRow(row.name, total, average, figures.get("median"), figures.get("percentage"))
