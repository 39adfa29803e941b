"""One row per measured query: `--exportTimes`.

Columns are kept as arrays of doubles, a tenth of the memory of the parsed rows. TensorRT 7.2 called host-to-device copies
`in` and device-to-host copies `out`; 8.0 to 8.2 have an extra `endToEndMs`. Other tools write the same in other forms, which
`timing_variants` knows.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trex_tui.artifacts.input_files import finite_number, load_json
from trex_tui.artifacts.timing_variants import ENQUEUE, UnknownUnitError, read_variant
from trex_tui.errors import ArtifactError, Diagnostic, Severity

# Key of TensorRT 8.0 and later -> the key of 7.2, where it differs.
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
_MOST_KEYS, _MOST_KEY = 8, 40
DURATIONS = frozenset(("h2dMs", "computeMs", "d2hMs", "latencyMs", "endToEndMs", ENQUEUE))
"""The columns that are spans of time, and none below zero."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The file, column by column; every column is as long as the file has rows.

    Attributes:
        columns: Key of `TIMING_KEYS` -> milliseconds, NaN where a row has no number, or a duration below zero. Start and
            end stamps count from trtexec's start and lose digits late in a run; durations keep them.
            `enqueueMs` is there in files of other tools alone, and in what is converted from them.
        rows: Number of rows.
        assumed: Of a file of another tool: how it was read, as the end of a sentence whose subject is the file; else empty.
    """

    columns: dict[str, array[float]]
    rows: int
    diagnostics: tuple[Diagnostic, ...] = ()
    assumed: str = ""

    @property
    def latency_ms(self) -> array[float]:
        """Host latency of every query: copies and compute, without the enqueue. Empty if the file has none."""
        return self.columns.get("latencyMs", array("d"))


def read_timing(path: Path) -> Timing:
    """Read one timing file.

    Raises:
        ArtifactError: The file is not JSON, or holds no timing rows.
    """
    root = load_json(path)
    if not isinstance(root, list):
        return _read_variant(root, path)
    rows = [row for row in root if isinstance(row, dict)]
    keys = set().union(*rows)
    columns = {}
    for key in (*TIMING_KEYS, ENQUEUE):
        name = key if key in keys else OLD_KEYS.get(key, key)
        if name in keys:
            columns[key] = _column(rows, name)
    if not columns:
        return _read_variant(root, path)
    negative = _without_negative(columns)
    return Timing(columns, len(rows), _notes(path, columns, len(rows), len(root) - len(rows), negative))


def _without_negative(columns: dict[str, array[float]]) -> dict[str, int]:
    """Make durations below zero unknown, which no clock measures; return how many of which column."""
    counts = {}
    for key in DURATIONS & columns.keys():
        column = columns[key]
        if count := sum(value < 0 for value in column):
            columns[key] = array("d", [math.nan if value < 0 else value for value in column])
            counts[key] = count
    return counts


def _notes(
    path: Path, columns: dict[str, array[float]], rows: int, left_out: int, negative: dict[str, int]
) -> tuple[Diagnostic, ...]:
    bad = sum(math.isnan(value) for value in columns.get("latencyMs", ()))
    notes = []
    if left_out:
        notes.append(f"{left_out} entries are no timing rows; left out")
    for key in sorted(negative):
        what = key.removesuffix("Ms")
        notes.append(f"{negative[key]} of {rows} rows state a negative {what}; taken as unknown")
    bad -= negative.get("latencyMs", 0)
    if bad:
        notes.append(f"{bad} of {rows} rows have no latency")
    return tuple(Diagnostic(Severity.WARNING, path, "", message) for message in notes)


def _read_variant(root: object, path: Path) -> Timing:
    try:
        found = read_variant(root)
    except UnknownUnitError as error:
        raise ArtifactError(path, f"states times in {str(error)!r}, which is no unit of time") from error
    if found is None:
        raise ArtifactError(path, f"holds no timing rows{_keys_seen(root)}")
    said = [Diagnostic(Severity.INFO, path, "", found.words)]
    if found.others:
        message = f"holds more rows than those of one run; not read: {found.others}"
        said.append(Diagnostic(Severity.WARNING, path, "", message))
    negative = _without_negative(found.columns)
    notes = _notes(path, found.columns, found.rows, found.left_out, negative)
    return Timing(found.columns, found.rows, (*said, *notes), found.words)


def _keys_seen(root: object) -> str:
    """The first keys of a file, from the outermost inwards, as the end of a sentence; empty if it has none."""
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
    shown = [key if len(key) <= _MOST_KEY else key[:_MOST_KEY] + "…" for key in list(seen)[:_MOST_KEYS]]
    more = ", …" if len(seen) > _MOST_KEYS else ""
    return f"; its keys: {', '.join(shown)}{more}" if shown else ""


def _column(rows: list[dict[str, Any]], key: str) -> array[float]:
    numbers = (finite_number(row.get(key)) for row in rows)
    return array("d", [math.nan if number is None else number for number in numbers])
