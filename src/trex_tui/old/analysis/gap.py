"""The gap between the sum of the layers and the end-to-end latency, in both directions, and its possible causes.

The two come from different passes of trtexec. The profile pass times every layer separately with an event before and after
it, and so adds a few microseconds to each; the timing pass runs the whole engine, overlapping streams and often as a CUDA
graph, but may include copies and waits for the host. Neither is a part of the other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum

from trex_tui.old.analysis.timing import (
    TimingStatistics,
    enqueue_against_compute,
    find_median,
    option_is_enabled,
    timing_statistics,
)
from trex_tui.old.engine.engine import Engine
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import plural

EVENT_GRID_MS = 0.001024
"""Step of single layer times: with a count of 1, 85 to 100 % of them are multiples of it."""

GRID_SHARE_PCT = 80.0
"""Share of layer times on the grid from which they count as quantized."""

FEW_ITERATIONS = 10
"""A profile over fewer iterations is a sample, not an average."""

EQUAL_PCT = 0.5
"""Sum and latency closer than this count as equal."""

USUAL_OVERHEAD_US = (0.0, 8.0)
"""Overhead per layer of a profile taken under the conditions of the timing run: 1.6 to 6.2 µs on four GPUs."""


class Direction(str, Enum):
    """The longer of the two."""

    LAYERS = "layers"
    """The layer sum: profiling overhead, or streams that overlap without profiling."""
    END_TO_END = "end to end"
    """The latency: copies, host waits, work outside the layers."""
    EQUAL = "equal"


@dataclass(frozen=True, slots=True)
class Gap:
    """Sum of the layers compared with the timing run. None where unknown; the reason is in `unknown`.

    Attributes:
        layers_timed: Number of layers with a time above 0.
        layers_zero: Number of layers with a time of 0, such as NoOps.
        layers_left_out: Number of layers without a profile row; they are missing in the sums.
        sum_average_ms, sum_median_ms: Sums of the layers' averages and of their medians.
        latency_ms, compute_ms: Medians of the timing run.
        difference_ms: `sum_average_ms - latency_ms`.
        ratio: `sum_average_ms / latency_ms`.
        compute_difference_ms: `sum_average_ms - compute_ms`, since copies are not layers.
        overhead_us_per_layer: `compute_difference_ms / layers_timed`, in microseconds; negative if the layers are shorter.
        copies_ms: Sum of the medians of both copies.
        iterations: Iterations of the profile run.
        on_grid_pct: Share of the layers' averages that are multiples of `EVENT_GRID_MS`.
        streams: Number of streams named by layers; None without any.
        unknown: Attribute -> reason.
    """

    direction: Direction | None
    layers_timed: int
    layers_zero: int
    layers_left_out: int
    sum_average_ms: float
    sum_median_ms: float | None
    latency_ms: float | None
    compute_ms: float | None
    difference_ms: float | None
    ratio: float | None
    compute_difference_ms: float | None
    overhead_us_per_layer: float | None
    copies_ms: float | None
    iterations: int | None
    on_grid_pct: float | None
    streams: int | None
    sentences: tuple[str, ...]
    unknown: dict[str, str]


def gap(engine: Engine, statistics: TimingStatistics | None = None) -> Gap | None:
    """Compare the sum of the layers with the timing run; None if no layer was profiled.

    Args:
        statistics: Statistics of the same engine, if already computed.
    """
    known, total = engine.known_times_ms, engine.latency_sum_ms
    if total is None:
        return None
    statistics = statistics or timing_statistics(engine)
    timed = len([value for value in known if value > 0])
    latency = find_median(statistics.latency if statistics else None)
    compute = find_median(statistics.compute if statistics else None)
    beyond = None if compute is None else total - compute
    sum_median, no_median = _sum_of_medians(engine)
    result = Gap(
        direction=_direction(total, latency),
        layers_timed=timed,
        layers_zero=len(known) - timed,
        layers_left_out=len(engine.layers) - len(known),
        sum_average_ms=total,
        sum_median_ms=sum_median,
        latency_ms=latency,
        compute_ms=compute,
        difference_ms=None if latency is None else total - latency,
        ratio=total / latency if latency else None,
        compute_difference_ms=beyond,
        overhead_us_per_layer=1000.0 * beyond / timed if beyond is not None and timed else None,
        copies_ms=statistics.transfers_ms if statistics else None,
        iterations=engine.profile_iterations,
        on_grid_pct=on_grid_pct(known),
        streams=len({layer.stream for layer in engine.layers if layer.stream is not None}) or None,
        sentences=(),
        unknown={},
    )
    result = replace(result, unknown=_reasons(result, no_median))
    return replace(result, sentences=tuple(_tell(result, engine, statistics)))


def on_grid_pct(times_ms: Sequence[float]) -> float | None:
    """Share of the times above 0 that are multiples of `EVENT_GRID_MS` to six digits, in percent; None if there are none."""
    positive = [time for time in times_ms if time > 0]
    if not positive:
        return None
    hits = sum(
        count
        for time, count in Counter(positive).items()
        if math.isclose(time, max(round(time / EVENT_GRID_MS), 1) * EVENT_GRID_MS, rel_tol=5e-6)
    )
    return 100.0 * hits / len(positive)


def _direction(total: float, latency: float | None) -> Direction | None:
    if not latency:
        return None
    if abs(total - latency) <= latency * EQUAL_PCT / 100.0:
        return Direction.EQUAL
    return Direction.LAYERS if total > latency else Direction.END_TO_END


def _sum_of_medians(engine: Engine) -> tuple[float | None, str]:
    rows = [row for layer in engine.layers if (row := layer.latency) is not None]
    medians = [median for row in rows if (median := row.median_ms) is not None]
    if len(medians) == len(rows):
        return math.fsum(medians), ""
    if not medians:
        return None, "no medians in the profile (TensorRT 8.0 to 8.4 EA write none)"
    return None, f"{plural(len(rows) - len(medians), 'layer')} without a median"


def _reasons(result: Gap, no_median: str) -> dict[str, str]:
    no_latency = "no timing rows and no performance summary"
    no_compute = "no compute time in timing rows or performance summary"
    reasons = {
        "sum_median_ms": no_median,
        "direction": no_latency,
        "latency_ms": no_latency,
        "difference_ms": no_latency,
        "ratio": no_latency,
        "compute_ms": no_compute,
        "compute_difference_ms": no_compute,
        "overhead_us_per_layer": no_compute if result.compute_ms is None else "all layer times are zero",
        "copies_ms": "no copy times in timing rows or performance summary",
        "iterations": "not in the profile",
        "on_grid_pct": "all layer times are zero",
        "streams": "no streams listed (TensorRT before 8.6)",
    }
    return {name: reason for name, reason in reasons.items() if getattr(result, name) is None}


def _tell(result: Gap, engine: Engine, statistics: TimingStatistics | None) -> Iterator[str]:
    if result.ratio is None or result.latency_ms is None:
        yield (
            f"Layer sum {result.sum_average_ms:.4g} ms; end-to-end latency unknown: "
            f"{result.unknown['ratio']}."
        )
    else:
        yield (
            f"Layer sum {result.sum_average_ms:.4g} ms vs. median latency {result.latency_ms:.4g} ms "
            f"({100 * result.ratio:.1f} %)."
        )
    if result.direction is Direction.LAYERS:
        yield from _tell_layers(result, engine)
    elif result.direction is Direction.END_TO_END:
        yield from _tell_end_to_end(result, engine, statistics)
    if result.streams and result.streams > 1:
        yield (
            f"{result.streams} streams: overlap in the timing run is not subtracted from the sum, and waits "
            "between streams are not in it."
        )
    if result.layers_left_out:
        missing = plural(result.layers_left_out, "layer")
        yield f"{missing} without a profile time excluded from the sum."
    yield from _tell_iterations(result)


def _tell_layers(result: Gap, engine: Engine) -> Iterator[str]:
    overhead = result.overhead_us_per_layer
    if overhead is not None and overhead > 0:
        yield (f"Profiling overhead: {overhead:.1f} µs/layer over {plural(result.layers_timed, 'layer')}.")
        if overhead > USUAL_OVERHEAD_US[1]:
            yield (
                f"More than {USUAL_OVERHEAD_US[1]:.0f} µs/layer is unusual: other clocks, or a profile "
                "without a CUDA graph."
            )
    if option_is_enabled(engine, "CUDA Graph"):
        yield "The timing run uses a CUDA graph, which removes gaps between layers."


def _tell_end_to_end(result: Gap, engine: Engine, statistics: TimingStatistics | None) -> Iterator[str]:
    if result.copies_ms and result.difference_ms is not None:
        yield f"The latency includes {result.copies_ms:.4g} ms of copies, which are not layers."
    beyond = result.compute_difference_ms
    if beyond is not None and beyond < 0:
        untimed = "layers without a profile time, " if result.layers_left_out else ""
        yield (
            f"The compute time exceeds the layer sum by {-beyond:.4g} ms: {untimed}launch gaps, host waits, loops, "
            "or work outside the layers."
        )
    host = enqueue_against_compute(engine, statistics)
    if host and host.is_enqueue_bound:
        yield "Enqueue-bound run: the GPU waits between launches."


def _tell_iterations(result: Gap) -> Iterator[str]:
    if result.iterations is not None and result.iterations < FEW_ITERATIONS:
        yield f"Profile of {plural(result.iterations, 'iteration')}: layer times are single samples."
    on_grid = result.on_grid_pct
    if on_grid is not None and on_grid >= GRID_SHARE_PCT:
        yield f"{on_grid:.0f} % of the layer times are multiples of {1000 * EVENT_GRID_MS:.3f} µs, the timer's step."
