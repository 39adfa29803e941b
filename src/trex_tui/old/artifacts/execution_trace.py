"""Read the execution profile of an engine of Torch-TensorRT: `NAME_engine_execution_profile.trace`.

Read as its source (`TRTEngineProfiler.cpp`) writes it. Names are not escaped, and in the format `trex` a comma follows the
last figure of each row: such a file is not JSON, and is parsed by its fixed structure. Layers of one name are one row. Rows
of the format `perfetto` are sums over all calls, whose number is not in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from trex_tui.old.artifacts.input_files import COPY_AGAIN, finite_number, parse_json
from trex_tui.old.errors import ArtifactError
from trex_tui.old.lazy_pattern import lazy_pattern
from trex_tui.old.text import plural

NAME = lazy_pattern(r"(?P<stem>.+?)(?:_engine)+_(?:execution|exectuion)_profile\.trace", re.DOTALL)
"""Name of such a file. Older releases misspell it."""
_PERFETTO = lazy_pattern(r'"pid"\s*:\s*"[^\n]{0,400} Engine Execution"')
_TREX = lazy_pattern(r'"averageMs"\s*:\s*[^\s,{}]+\s*,\s*"percentage"\s*:\s*[^\s,{}]+\s*,\s*\}')
_EVENT = lazy_pattern(r'"dur"\s*:\s*[\d.]')
_BREAK = r"[ \t]*\r?\n[ \t]*"
_ROW = lazy_pattern(
    rf'\{{{_BREAK}"name": "(?P<name>.*)",{_BREAK}(?:'
    rf'"ph": "X",{_BREAK}"ts": [^\s,]+,{_BREAK}"dur": (?P<us>[^\s,]+),{_BREAK}'
    rf'"tid": 1,{_BREAK}"pid": ".*",{_BREAK}"args": \{{\}}|'
    rf'"timeMs": (?P<total>[^\s,]+),{_BREAK}"averageMs": (?P<average>[^\s,]+),{_BREAK}'
    rf'"percentage": (?P<percentage>[^\s,]+),?){_BREAK}\}}'
)
_NAME_LINE = lazy_pattern(r'^[ \t]*"name": "', re.MULTILINE)
SUMS = (
    "has sums over all calls, whose number the format perfetto does not state: shares are right, times only after a single "
    'call; profile_format="trex" states averages'
)


class TraceRow(NamedTuple):
    """Time of one layer; None where the format has none.

    Attributes:
        total_ms: Sum over all calls.
    """

    name: str
    total_ms: float | None
    average_ms: float | None
    percentage: float | None


class ExecutionTrace(NamedTuple):
    """Content of the file.

    Attributes:
        is_perfetto: Whether the rows are sums only.
        calls: Number of calls, where all rows of the format `trex` agree on it; else None.
        damage: What is missing at the end of the file, as the end of a sentence; empty for a whole file.
    """

    rows: tuple[TraceRow, ...]
    is_perfetto: bool
    calls: int | None
    damage: str


def is_execution_trace(head: str, path: Path) -> bool:
    """Return whether the beginning of a JSON list is such a file; one in the format `trex` that is valid JSON is not."""
    is_named = NAME.fullmatch(path.name) is not None and _EVENT.search(head) is not None
    return is_named or bool(_PERFETTO.search(head) or _TREX.search(head))


def read_execution_trace(text: str, path: Path) -> ExecutionTrace:
    """Read the rows in the order of the first calls.

    Raises:
        ArtifactError: No row is readable.
    """
    damage = ""
    try:
        root = parse_json(text, path)
        rows = list(_read_events(root if isinstance(root, list) else []))
        if not rows:
            raise ArtifactError(path, "holds no times of layers; export it again")
    except ArtifactError as error:
        matches = list(_ROW.finditer(text))
        if not matches:
            raise error
        rows = [_read_row(match) for match in matches]
        lost = len(_NAME_LINE.findall(text)) - len(rows)
        if lost > 0 or not text.rstrip().endswith("]"):
            damage = f"is truncated or damaged: {plural(len(rows), 'row')} read, {lost} lost; {COPY_AGAIN}"
    is_perfetto = all(row.average_ms is None for row in rows)
    return ExecutionTrace(tuple(rows), is_perfetto, None if is_perfetto else _count_calls(rows), damage)


def _read_events(root: Sequence[object]) -> Iterator[TraceRow]:
    for event in root:
        name, us = (event.get("name"), event.get("dur")) if isinstance(event, dict) else (None, None)
        if isinstance(name, str) and us is not None:
            time_ms = _scaled(us, 1e-3)
            yield TraceRow(name, time_ms, None, None)


def _read_row(match: re.Match[str]) -> TraceRow:
    if match["us"] is not None:
        return TraceRow(match["name"], _scaled(match["us"], 1e-3), None, None)
    figures = (_scaled(match[key], 1.0) for key in ("total", "average", "percentage"))
    return TraceRow(match["name"], *figures)


def _scaled(value: object, scale: float) -> float | None:
    """Return a printed or parsed number times a scale; None if it is no number from 0 on, as `nan` is."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    number = finite_number(value)
    return number * scale if number is not None and number >= 0 else None


def _count_calls(rows: Sequence[TraceRow]) -> int | None:
    """Return sum over average, if it is the same whole number for all rows: printed figures have six digits."""
    ratios = [row.total_ms / row.average_ms for row in rows if row.total_ms and row.average_ms]
    counts = {round(ratio) for ratio in ratios}
    if len(counts) != 1 or any(abs(ratio - round(ratio)) > 0.01 for ratio in ratios):
        return None
    return counts.pop()
