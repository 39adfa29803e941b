"""Time per layer: `--exportProfile`.

One record per line; records of TensorRT 8.0 to 8.4 EA have no `medianMs`. trtexec does not escape names and may print
`nan`, so a file need not be valid JSON, and a backslash in a name is just that: such files are read by their fixed skeleton,
line by line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trex_tui.artifacts.input_files import finite_number, parse_json, read_text
from trex_tui.errors import ArtifactError, Diagnostic, Severity

_LINE = re.compile(
    r'^[\[, ]*\{ "name" : "(?P<name>.*)", "timeMs" : (?P<total>\S+), "averageMs" : (?P<average>[^ ,]+)'
    r'(?:, "medianMs" : (?P<median>[^ ,]+))?, "percentage" : (?P<percentage>\S+) \}\s*,?\]?$'
)
_COUNT_LINE = re.compile(r'^[\[, ]*\{ "count" : (?P<count>\d{1,18}) \}\s*,?\]?$')


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One layer's time as trtexec reports it; None where it printed no number.

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


@dataclass(frozen=True, slots=True)
class Profile:
    """The file: rows in execution order (names may repeat) and the number of iterations, if stated."""

    rows: tuple[ProfileRow, ...]
    iterations: int | None
    diagnostics: tuple[Diagnostic, ...] = ()


def read_profile(path: Path) -> Profile:
    """Read one profile.

    Raises:
        ArtifactError: The file holds no profile record at all.
    """
    text = read_text(path)
    try:
        root = parse_json(text, path)
    except ArtifactError as error:
        return _read_by_line(text, path, error)
    if not isinstance(root, list):
        raise ArtifactError(path, "is no list of profile records")
    if "\\" in text and (lines := _lines(text)).is_whole:
        return _checked(path, lines.rows, lines.iterations, [])
    rows: list[ProfileRow] = []
    iterations: int | None = None
    ignored = 0
    for record in root:
        if isinstance(record, dict) and isinstance(record.get("name"), str):
            rows.append(_row(record))
        elif isinstance(record, dict) and type(record.get("count")) is int:
            iterations = record["count"]
        else:
            ignored += 1
    notes = []
    if ignored:
        message = f"{ignored} entries are no profile records; left out"
        notes.append(Diagnostic(Severity.WARNING, path, "", message))
    return _checked(path, rows, iterations, notes)


def _row(record: dict[str, Any]) -> ProfileRow:
    return ProfileRow(
        record["name"],
        _time(record.get("timeMs")),
        _time(record.get("averageMs")),
        _time(record.get("medianMs")),
        _time(record.get("percentage")),
    )


def _time(value: Any) -> float | None:  # noqa: ANN401 - any JSON value
    number = finite_number(value)
    return number if number is not None and number >= 0 else None


@dataclass(slots=True)
class _Lines:
    """A profile read by its lines.

    Attributes:
        lost: Numbers of the lines that hold something else than a record, from 1.
    """

    rows: list[ProfileRow]
    iterations: int | None
    lost: list[int]

    @property
    def is_whole(self) -> bool:
        """Whether every line is as trtexec prints it."""
        return bool(self.rows) and not self.lost


def _lines(text: str) -> _Lines:
    found = _Lines([], None, [])
    # Not splitlines(): names may hold the separators that it splits at, such as U+001E.
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if match := _LINE.match(line):
            values = (match["total"], match["average"], match["median"], match["percentage"])
            found.rows.append(ProfileRow(match["name"], *map(_printed_time, values)))
        elif match := _COUNT_LINE.match(line):
            found.iterations = int(match["count"])
        elif line.strip(" \t[],"):
            found.lost.append(number)
    return found


def _read_by_line(text: str, path: Path, error: ArtifactError) -> Profile:
    """Salvage the records that stand whole on a line; `error` is why the file is not JSON."""
    found = _lines(text)
    if not found.rows:
        raise error
    if found.is_whole:
        severity = Severity.INFO
        message = f"is not valid JSON (trtexec escapes no names and prints nan); all {len(found.rows)} records read by line"
    else:
        severity = Severity.ERROR
        message = (
            f"{error.diagnostic.message}; {len(found.rows)} records were read by line, "
            f"{len(found.lost)} lines lost (first: line {found.lost[0]})"
        )
    note = Diagnostic(severity, path, error.diagnostic.where, message)
    return _checked(path, found.rows, found.iterations, [note])


def _printed_time(text: str | None) -> float | None:
    try:
        return _time(float(text)) if text else None
    except ValueError:
        return None


def _checked(path: Path, rows: list[ProfileRow], iterations: int | None, notes: list[Diagnostic]) -> Profile:
    if not rows:
        message = "holds no layer: nothing was profiled"
        notes.append(Diagnostic(Severity.WARNING, path, "", message))
    untimed = sum(row.average_ms is None for row in rows)
    if untimed:
        message = f"{untimed} of {len(rows)} records have no average time"
        notes.append(Diagnostic(Severity.WARNING, path, "", message))
    return Profile(tuple(rows), iterations, tuple(notes))
