"""Time per layer: `--exportProfile`.

One record per line; records of TensorRT 8.0 to 8.4 EA have no `medianMs`. trtexec does not escape names and may print
`nan`, so a file need not be valid JSON: then its fixed skeleton is read line by line.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trex_tui.artifacts.jsonfile import parse_json, read_text
from trex_tui.errors import ArtifactError, Diagnostic, Severity

_LINE = re.compile(
    r'^[\[, ]*\{ "name" : "(?P<name>.*)", "timeMs" : (?P<total>\S+), "averageMs" : (?P<average>[^ ,]+)'
    r'(?:, "medianMs" : (?P<median>[^ ,]+))?, "percentage" : (?P<percentage>\S+) \}\s*,?\]?$'
)
_COUNT_LINE = re.compile(r'^[\[, ]*\{ "count" : (?P<count>\d+) \}')


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
    rows: list[ProfileRow] = []
    iterations: int | None = None
    ignored = 0
    for record in root:
        if isinstance(record, dict) and isinstance(record.get("name"), str):
            rows.append(_row(record))
        elif isinstance(record, dict) and isinstance(record.get("count"), int):
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
        _number(record.get("timeMs")),
        _number(record.get("averageMs")),
        _number(record.get("medianMs")),
        _number(record.get("percentage")),
    )


def _number(value: Any) -> float | None:  # noqa: ANN401
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def _read_by_line(text: str, path: Path, error: ArtifactError) -> Profile:
    """Salvage the records that stand whole on a line; `error` is why the file is not JSON."""
    rows: list[ProfileRow] = []
    iterations: int | None = None
    lost: list[int] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _LINE.match(line):
            values = (match["total"], match["average"], match["median"], match["percentage"])
            rows.append(ProfileRow(match["name"], *map(_printed_number, values)))
        elif match := _COUNT_LINE.match(line):
            iterations = int(match["count"])
        elif line.strip(" \t[],"):
            lost.append(number)
    if not rows:
        raise error
    where = error.diagnostic.where
    if lost:
        severity, cause = Severity.ERROR, error.diagnostic.message
        message = (
            f"{cause}; {len(rows)} records were read by line, {len(lost)} lines lost (first: line {lost[0]})"
        )
    else:
        severity = Severity.INFO
        message = f"is not valid JSON (trtexec escapes no names and prints nan); all {len(rows)} records read by line"
    return _checked(path, rows, iterations, [Diagnostic(severity, path, where, message)])


def _printed_number(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return _number(float(text))
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
