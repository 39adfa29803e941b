"""The Chrome trace format, which Perfetto and chrome://tracing open: layers by stream, and the queries of the timing run.

Format: "Trace Event Format" (Google, 2016): complete events (`ph` X) with `ts` and `dur` in microseconds, metadata events
(`ph` M) that name processes and threads. The profile has the duration of a layer, not its start: layers are placed one after
another in execution order, so that the last ends at the sum of all, whatever their streams.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterator
from typing import Any

from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.errors import TrexError
from trex_tui.old.report.render_json import diagnostic_object

SCHEMA = "trex-tui/trace/1"
LAYERS, QUERIES = 1, 2
"""Process ids."""

_Event = dict[str, Any]
# Duration, its stamps, and the name of its track.
_TRACKS = (
    (1, None, "startEnqMs", "endEnqMs", "enqueue (host)"),
    (2, "h2dMs", "startH2dMs", "endH2dMs", "host to device"),
    (3, "computeMs", "startComputeMs", "endComputeMs", "compute"),
    (4, "d2hMs", "startD2hMs", "endD2hMs", "device to host"),
)
_OVERFLOW = 100
"""Added to a thread id for queries that begin before the previous one has ended: events of one thread must not overlap."""


def trace_document(engine: Engine, chosen: Collection[int] | None = None) -> dict[str, Any]:
    """Return the trace.

    Args:
        chosen: Indices of the layers to show; None for all.

    Raises:
        TrexError: No file has times.
    """
    layers = [layer for layer in engine.layers if chosen is None or layer.index in chosen]
    timed = [layer for layer in layers if layer.latency_ms is not None]
    queries = list(_queries(engine))
    if not timed and not queries:
        raise TrexError(f"{engine.name}: no times to trace; needs a profile or timing rows")
    shown = sum(event["ph"] == "X" and event["tid"] % _OVERFLOW == 3 for event in queries)
    return {
        "traceEvents": [*(_layers(timed) if timed else ()), *queries],
        "displayTimeUnit": "ms",
        "otherData": {
            "schema": SCHEMA,
            "engine": engine.name,
            "layers": len(timed),
            "layers_without_time": len(layers) - len(timed),
            "queries": shown,
            "starts_of_layers": "not measured: average profile times in execution order",
            "diagnostics": list(map(diagnostic_object, engine.diagnostics)),
        },
    }


def _named(process: int, name: str, thread: int | None = None) -> Iterator[_Event]:
    what = "process" if thread is None else "thread"
    ids = {"pid": process, "tid": thread or 0, "ph": "M", "ts": 0}
    yield {**ids, "name": f"{what}_name", "args": {"name": name}}
    order = process if thread is None else thread
    yield {**ids, "name": f"{what}_sort_index", "args": {"sort_index": order}}


def _layers(timed: list[Layer]) -> Iterator[_Event]:
    yield from _named(LAYERS, "layers (profile, averages)")
    threads = {None: 0} | {layer.stream: 1 + layer.stream for layer in timed if layer.stream is not None}
    for stream in sorted({layer.stream for layer in timed}, key=threads.__getitem__):
        name = "stream unknown" if stream is None else f"stream {stream}"
        yield from _named(LAYERS, name, threads[stream])
    start = 0.0
    for layer in timed:
        duration = 1000.0 * (layer.latency_ms or 0.0)
        yield {
            "name": layer.name,
            "cat": layer.kind.value,
            "ph": "X",
            "ts": round(start, 6),
            "dur": round(duration, 6),
            "pid": LAYERS,
            "tid": threads[layer.stream],
            "args": _arguments(layer),
        }
        start += duration


def _arguments(layer: Layer) -> dict[str, Any]:
    facts = {
        "index": layer.index,
        "layer_type": layer.layer_type,
        "precision": layer.precision.value if layer.precision else None,
        "latency_ms": layer.latency_ms,
        "median_ms": layer.latency.median_ms if layer.latency else None,
        "tactic": layer.tactic,
        "onnx_nodes": list(layer.onnx_nodes) or None,
    }
    return {key: value for key, value in facts.items() if value is not None}


def _queries(engine: Engine) -> Iterator[_Event]:
    if engine.timing is None:
        return
    columns = engine.timing.columns
    tracks = [track for track in _TRACKS if track[2] in columns and track[3] in columns]
    if not tracks:
        yield from _without_stamps(columns)
        return
    yield from _named(QUERIES, "queries (timing run)")
    for thread, key, start, end, name in tracks:
        yield from _track(columns, thread, key, start, end, name)


def _track(
    columns: dict[str, array[float]], thread: int, key: str | None, start: str, end: str, name: str
) -> Iterator[_Event]:
    """Yield queries by their stamps. A query that begins while another runs goes to the first free track below."""
    events: list[_Event] = []
    durations = columns.get(key or "")
    free: list[float] = []
    stamps = sorted(
        (begin, finish, row)
        for row, (begin, finish) in enumerate(zip(columns[start], columns[end], strict=True))
        if math.isfinite(begin) and math.isfinite(finish) and finish >= begin
    )
    for begin, finish, row in stamps:
        lane = next((lane for lane, until in enumerate(free) if until <= begin), len(free))
        free[lane : lane + 1] = [finish]
        stated = None if durations is None or math.isnan(durations[row]) else durations[row]
        events.append(_query(row, thread + _OVERFLOW * lane, begin, finish - begin, {key or "": stated}))
    for lane in range(len(free)):
        title = name if lane == 0 else f"{name}, overlapping {lane}"
        yield from _named(QUERIES, title, thread + _OVERFLOW * lane)
    yield from events


def _query(
    row: int, thread: int, start_ms: float, duration_ms: float, more: dict[str, float | None]
) -> _Event:
    return {
        "name": f"query {row}",
        "cat": "query",
        "ph": "X",
        "ts": round(1000.0 * start_ms, 6),
        "dur": round(1000.0 * duration_ms, 6),
        "pid": QUERIES,
        "tid": thread,
        "args": {"row": row} | {key: value for key, value in more.items() if key and value is not None},
    }


def _without_stamps(columns: dict[str, array[float]]) -> Iterator[_Event]:
    """Yield rows with durations only, one after another."""
    key = next((key for key in ("computeMs", "latencyMs") if key in columns), None)
    if key is None:
        return
    yield from _named(QUERIES, "queries (timing run; starts unknown)")
    yield from _named(QUERIES, key, 3)
    start = 0.0
    for row, duration in enumerate(columns[key]):
        if math.isfinite(duration) and duration >= 0.0:
            yield _query(row, 3, start, duration, {key: duration})
            start += duration
