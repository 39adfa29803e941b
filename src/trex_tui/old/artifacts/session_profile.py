"""Read the profile of a session of ONNX Runtime: `onnxruntime_profile__DATE.json`, with the provider that ran each node.

With the execution provider of TensorRT, a node is one TensorRT engine; every other node fell back to CUDA or the CPU. Events
are durations of calls on the host, in microseconds. The event of a control flow node contains those of its body: a node has
its own time, without that of the nodes inside. ONNX Runtime prints one event per line: the events before a cut are readable.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trex_tui.old.artifacts.input_files import COPY_AGAIN, finite_number, parse_json, read_text
from trex_tui.old.errors import ArtifactError, Diagnostic, Severity
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lazy_pattern import lazy_pattern
from trex_tui.old.text import plural

_EVENT = lazy_pattern(
    r'"cat"\s*:\s*"(?:Session|Node)".{0,400}?"name"\s*:\s*"(?:model_loading_\w+|session_initialization|model_run|[^"]*_kernel_time)"'
)
_NODE_ENDING = "_kernel_time"
_RUN = "model_run"
_MOST_US = 1e15


@dataclass(frozen=True, slots=True)
class SessionNode:
    """A node of the session's graph.

    Attributes:
        operator: `Resize`; the name of the subgraph for an engine of TensorRT; empty if not stated.
        provider: `CUDAExecutionProvider`; empty in profiles of before 2020.
        calls: In all runs that count.
        time_ms: Own time of all these calls, without nodes of its body.
    """

    name: str
    operator: str
    provider: str
    calls: int
    time_ms: float


@dataclass(frozen=True, slots=True)
class SessionProfile:
    """Content of the file.

    Attributes:
        nodes: In the order of their first calls.
        runs: Number of runs that count; None if the file has no events of runs, then the times are sums over the whole file.
        warmup_runs: Number of runs that do not count: the first, if there are several, since it may build engines.
        run_ms: Mean duration of the runs that count; None without any.
    """

    nodes: tuple[SessionNode, ...]
    runs: int | None
    warmup_runs: int
    run_ms: float | None
    diagnostics: tuple[Diagnostic, ...] = ()


class _Event(NamedTuple):
    """A call of a node, in microseconds."""

    start: float
    duration: float
    thread: object
    name: str
    operator: str
    provider: str


def is_session_profile(head: str) -> bool:
    """Return whether the beginning of a JSON list is such a profile."""
    return _EVENT.search(head) is not None


def read_session_profile(path: Path) -> SessionProfile:
    """Read the nodes of a session with their times.

    Raises:
        ArtifactError: The file cannot be read, or has no event of a node.
    """
    notes: list[Diagnostic] = []
    records = _read_records(path, notes)
    events = [event for record in records if (event := _read_node(record)) is not None]
    if not events:
        raise ArtifactError(path, "has no times of nodes; run the session before end_profiling()")
    events.sort(key=lambda event: (event.start, -event.duration))
    runs = sorted(run for record in records if (run := _read_run(record)) is not None)
    own = list(_own_times(events))
    counted, warmup = _without_warmup(runs)
    if warmup:
        begin, end = warmup[0][0], warmup[-1][1]
        own = [time for time in own if not begin <= time[0].start <= end] or own
    nodes: dict[tuple[str, str, str], tuple[int, float]] = {}
    for event, time in own:
        key = (event.name, event.operator, event.provider)
        calls, sum_us = nodes.get(key, (0, 0.0))
        nodes[key] = (calls + 1, sum_us + time)
    durations = [end - begin for begin, end in counted]
    return SessionProfile(
        tuple(SessionNode(*key, calls, sum_us / 1000.0) for key, (calls, sum_us) in nodes.items()),
        len(counted) or None,
        len(warmup),
        math.fsum(durations) / len(durations) / 1000.0 if durations else None,
        tuple(notes),
    )


def _read_records(path: Path, notes: list[Diagnostic]) -> list[dict[str, Any]]:
    text = read_text(path)
    try:
        root = parse_json(text, path)
    except ArtifactError as error:
        records = [record for line in text.split("\n") if (record := _parse_line(line)) is not None]
        if not records:
            raise
        message = f"{error.diagnostic.message.partition(';')[0]}; {plural(len(records), 'event')} read by line; {COPY_AGAIN}"
        notes.append(Diagnostic(Severity.ERROR, path, error.diagnostic.where, message))
        return records
    return [record for record in root if isinstance(record, dict)] if isinstance(root, list) else []


def _parse_line(line: str) -> dict[str, Any] | None:
    line = line.strip().rstrip(",")
    if not line.startswith("{"):
        return None
    try:
        record = json.loads(line, strict=False)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _read_node(record: dict[str, Any]) -> _Event | None:
    name, times = record.get("name"), _read_times(record)
    if (
        record.get("cat") != "Node"
        or not isinstance(name, str)
        or not name.endswith(_NODE_ENDING)
        or times is None
    ):
        return None
    args = record.get("args")
    values = args if isinstance(args, dict) else {}
    operator, provider = (
        value if isinstance(value := values.get(key), str) else "" for key in ("op_name", "provider")
    )
    thread = repr(record.get("tid"))
    return _Event(times[0], times[1] - times[0], thread, name[: -len(_NODE_ENDING)], operator, provider)


def _read_run(record: dict[str, Any]) -> tuple[float, float] | None:
    return _read_times(record) if record.get("cat") == "Session" and record.get("name") == _RUN else None


def _read_times(record: dict[str, Any]) -> tuple[float, float] | None:
    """Return begin and end of an event; None if one is no time."""
    start, duration = finite_number(record.get("ts")), finite_number(record.get("dur"))
    if start is None or duration is None or not 0 <= duration <= _MOST_US or abs(start) > _MOST_US:
        return None
    return start, start + duration


def _own_times(events: Sequence[_Event]) -> Iterator[tuple[_Event, float]]:
    """Yield each event with its time in microseconds, without the time of events within it on the same thread."""
    inside = [0.0] * len(events)
    open_events: dict[object, list[int]] = {}
    for index, event in enumerate(events):
        stack = open_events.setdefault(event.thread, [])
        while stack and events[stack[-1]].start + events[stack[-1]].duration <= event.start:
            stack.pop()
        if stack:
            inside[stack[-1]] += event.duration
        stack.append(index)
    for event, within in zip(events, inside, strict=True):
        yield event, max(event.duration - within, 0.0)


def _without_warmup(
    runs: Sequence[tuple[float, float]],
) -> tuple[Sequence[tuple[float, float]], Sequence[tuple[float, float]]]:
    """Return the runs that count and the first, unless it is the only one or overlaps with others."""
    if len(runs) < 2 or any(begin <= runs[0][1] for begin, _ in runs[1:]):
        return runs, ()
    return runs[1:], runs[:1]
