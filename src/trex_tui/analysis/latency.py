"""Latency end to end, from the best source there is, and which that is."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from trex_tui.analysis.robust import median_of_sorted, percentile
from trex_tui.artifacts.kinds import ArtifactKind
from trex_tui.artifacts.metadata import LatencySummary
from trex_tui.artifacts.timing import Timing
from trex_tui.engine.engine import Engine

DEFAULT_WARMUP_MS = 200.0
"""trtexec's default for `--warmUp`."""

PERCENTILES = (90.0, 95.0, 99.0)

_WARMUP = re.compile(r"\(\+ (\d+(?:\.\d+)?)\s*ms warm up\)")


@dataclass(frozen=True, slots=True)
class EndToEnd:
    """Latency of whole inferences, copies and compute, without the enqueue.

    Attributes:
        summary: Milliseconds.
        throughput_qps: Queries per second; None if it cannot be told.
        source: File kind and place the numbers come from.
        queries: Rows that were used; None for a summary that trtexec printed.
        warmup_queries: Rows that were left out as warm-up.
    """

    summary: LatencySummary
    throughput_qps: float | None
    source: str
    queries: int | None = None
    warmup_queries: int = 0


def end_to_end(engine: Engine) -> EndToEnd | None:
    """trtexec's own performance summary if the metadata has it, else the same computed from the timing rows; else None."""
    printed = engine.metadata.latency()
    if printed is not None:
        source = f"{engine.metadata.performance_source}: performance_summary"
        return EndToEnd(printed, engine.metadata.throughput_qps, source)
    if engine.timing is None or not engine.timing.latency_ms:
        return None
    rows, skipped = without_warmup(engine.timing, warmup_ms(engine))
    values = sorted(
        value for value in (engine.timing.latency_ms[row] for row in rows) if not math.isnan(value)
    )
    if not values:
        return None
    source = f"{ArtifactKind.TIMING.value}: latencyMs of {len(values)} queries"
    return EndToEnd(summarize(values), throughput_qps(engine.timing, rows), source, len(values), skipped)


def warmup_ms(engine: Engine) -> float:
    """Length of the warm-up of the timing run as the inference options state it, else trtexec's default."""
    match = _WARMUP.search(str(engine.metadata.inference_options.get("Duration", "")))
    return float(match[1]) if match else DEFAULT_WARMUP_MS


def without_warmup(timing: Timing, warmup_ms: float) -> tuple[range, int]:
    """Rows of the measurement, and how many of the warm-up stand before them.

    By time, not by version: TensorRT 8.5 and later say they drop them, and a real 8.5-style file still has them. If not one
    row starts after the warm-up, all rows count.
    """
    starts = timing.columns.get("startComputeMs")
    if not starts:
        return range(timing.rows), 0
    first = next((row for row, start in enumerate(starts) if not start < warmup_ms), None)
    if first is None:
        return range(timing.rows), 0
    return range(first, timing.rows), first


def summarize(ordered: Sequence[float]) -> LatencySummary:
    """Summary of sorted values, with trtexec's own definitions of median and percentile (`robust.percentile`)."""
    percentiles = {one: percentile(ordered, one) for one in PERCENTILES}
    mean = math.fsum(ordered) / len(ordered)
    return LatencySummary(ordered[0], ordered[-1], mean, median_of_sorted(ordered), percentiles)


def throughput_qps(timing: Timing, rows: range) -> float | None:
    """Queries over the time from the first start to the last end; None without stamps.

    trtexec's own walltime: from the first `startH2dMs` after the warm-up to the last `endD2hMs` (sampleReporting.cpp).
    """
    starts, ends = timing.columns.get("startH2dMs"), timing.columns.get("endD2hMs")
    if not starts or not ends or not rows:
        return None
    first = next((start for start in starts[rows.start : rows.stop] if start == start), math.nan)
    last = max((end for end in ends[rows.start : rows.stop] if end == end), default=math.nan)
    span_ms = last - first
    return 1000.0 * len(rows) / span_ms if span_ms > 0 else None
