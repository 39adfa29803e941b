"""The gap between the sum of the layers and the latency end to end, in both directions, and what may explain it.

The two come from different passes of trtexec. The profile pass times every layer with an event before and after it, one after
the other, and so adds a few microseconds to each; the timing pass runs the whole engine, overlapping streams and often as a
CUDA graph, but may include copies and waits for the host. Neither is a part of the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from trex_tui.analysis.timing import (
    SeriesStatistics,
    TimingStatistics,
    enqueue_against_compute,
    option_is_enabled,
    timing_statistics,
)
from trex_tui.engine.engine import Engine
from trex_tui.text import plural

EVENT_GRID_MS = 0.001024
"""Steps in which single layer times come: a count of 1 leaves 85 to 100 % of them on this grid."""

GRID_SHARE_PCT = 80.0
"""Share of layer times on the grid from which they are said to be quantised."""

FEW_ITERATIONS = 10
"""A profile over fewer iterations is a sample, not an average."""

EQUAL_PCT = 0.5
"""Sum and latency closer than this count as equal."""

USUAL_OVERHEAD_US = (0.0, 8.0)
"""Overhead per layer of a profile taken under the conditions of the timing run: 1.6 to 6.2 µs on four GPUs."""


class Direction(str, Enum):
    """Which of the two is longer."""

    LAYERS = "layers"
    """The sum of the layers: profiling overhead, or streams that overlap when not profiled."""
    END_TO_END = "end to end"
    """The latency: copies, waits for the host, work outside the layers."""
    EQUAL = "equal"


@dataclass(frozen=True, slots=True)
class Gap:
    """Sum of the layers against the timing run. None where unknown; `unknown` says why.

    Attributes:
        layers_timed: Layers with a time above 0.
        layers_zero: Layers with a time of 0, such as NoOps.
        layers_left_out: Layers without a profile row; they are missing in the sums.
        sum_average_ms, sum_median_ms: Sum of the layers' averages, of their medians.
        latency_ms, compute_ms: Medians of the timing run.
        difference_ms: `sum_average_ms - latency_ms`.
        ratio: `sum_average_ms / latency_ms`.
        compute_difference_ms: `sum_average_ms - compute_ms`, copies being no layers.
        overhead_us_per_layer: `compute_difference_ms / layers_timed`, in microseconds; negative if the layers are shorter.
        copies_ms: Sum of the medians of both copies.
        iterations: Of the profile run.
        on_grid_pct: Share of the layers' averages that are multiples of `EVENT_GRID_MS`.
        streams: Streams that the layers name; None if they name none.
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
        statistics: Of the same engine, if they are at hand.
    """
    averages = [layer.latency.average_ms for layer in engine.layers if layer.latency]
    known = [value for value in averages if value is not None]
    if not known:
        return None
    statistics = statistics or timing_statistics(engine)
    total = math.fsum(known)
    timed = sum(value > 0 for value in known)
    latency = _median(statistics.latency if statistics else None)
    compute = _median(statistics.compute if statistics else None)
    beyond = None if compute is None else total - compute
    sum_median, no_median = _sum_of_medians(engine)
    found = Gap(
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
        copies_ms=_copies_ms(statistics),
        iterations=engine.profile_iterations,
        on_grid_pct=on_grid_pct(known),
        streams=len({layer.stream for layer in engine.layers if layer.stream is not None}) or None,
        sentences=(),
        unknown={},
    )
    found = replace(found, unknown=_reasons(found, no_median))
    return replace(found, sentences=tuple(_tell(found, engine, statistics)))


def on_grid_pct(times_ms: Sequence[float]) -> float | None:
    """Share of the times above 0 that are multiples of `EVENT_GRID_MS` to six digits, in percent; None if there are none."""
    positive = [time for time in times_ms if time > 0]
    if not positive:
        return None
    hits = sum(
        math.isclose(time, max(round(time / EVENT_GRID_MS), 1) * EVENT_GRID_MS, rel_tol=5e-6)
        for time in positive
    )
    return 100.0 * hits / len(positive)


def _median(series: SeriesStatistics | None) -> float | None:
    return series.median_ms if series else None


def _copies_ms(statistics: TimingStatistics | None) -> float | None:
    h2d = _median(statistics.h2d if statistics else None)
    d2h = _median(statistics.d2h if statistics else None)
    return None if h2d is None or d2h is None else h2d + d2h


def _direction(total: float, latency: float | None) -> Direction | None:
    if not latency:
        return None
    if abs(total - latency) <= latency * EQUAL_PCT / 100.0:
        return Direction.EQUAL
    return Direction.LAYERS if total > latency else Direction.END_TO_END


def _sum_of_medians(engine: Engine) -> tuple[float | None, str]:
    rows = [layer.latency for layer in engine.layers if layer.latency]
    medians = [row.median_ms for row in rows if row.median_ms is not None]
    if len(medians) == len(rows):
        return math.fsum(medians), ""
    if not medians:
        return None, "the profile has no medians (TensorRT 8.0 to 8.4 EA write none)"
    return None, f"{plural(len(rows) - len(medians), 'layer')} without a median"


def _reasons(found: Gap, no_median: str) -> dict[str, str]:
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
        "overhead_us_per_layer": no_compute if found.compute_ms is None else "no layer took any time",
        "copies_ms": "no copy times in timing rows or performance summary",
        "iterations": "the profile does not say",
        "on_grid_pct": "no layer took any time",
        "streams": "no layer names its stream (TensorRT before 8.6)",
    }
    return {name: reason for name, reason in reasons.items() if getattr(found, name) is None}


def _tell(found: Gap, engine: Engine, statistics: TimingStatistics | None) -> Iterator[str]:
    if found.ratio is None or found.latency_ms is None:
        yield f"The layers add up to {found.sum_average_ms:.4g} ms; end to end is unknown: {found.unknown['ratio']}."
    else:
        yield (
            f"The layers add up to {found.sum_average_ms:.4g} ms, {100 * found.ratio:.1f} % of the median latency "
            f"of {found.latency_ms:.4g} ms."
        )
    if found.direction is Direction.LAYERS:
        yield from _tell_layers(found, engine)
    elif found.direction is Direction.END_TO_END:
        yield from _tell_end_to_end(found, engine, statistics)
    if found.streams and found.streams > 1:
        yield (
            f"The layers run on {found.streams} streams: what overlaps in the timing run counts in full in the sum, "
            "and waits between streams count in none of the layers."
        )
    if found.layers_left_out:
        missing = plural(found.layers_left_out, "layer")
        yield f"{missing} without a profile time {'is' if found.layers_left_out == 1 else 'are'} not in the sum."
    yield from _tell_iterations(found)


def _tell_layers(found: Gap, engine: Engine) -> Iterator[str]:
    overhead = found.overhead_us_per_layer
    if overhead is not None and overhead > 0:
        yield (
            f"Profiling runs the layers one by one, with events between: beyond the compute time that costs "
            f"{overhead:.1f} µs for each of {plural(found.layers_timed, 'layer')}."
        )
        if overhead > USUAL_OVERHEAD_US[1]:
            yield (
                f"More than {USUAL_OVERHEAD_US[1]:.0f} µs a layer is unusual: the profile may be of other clocks, or without "
                "a CUDA graph."
            )
    if option_is_enabled(engine, "CUDA Graph"):
        yield "The timing run launches a CUDA graph, which saves what the profile pass spends between layers."


def _tell_end_to_end(found: Gap, engine: Engine, statistics: TimingStatistics | None) -> Iterator[str]:
    if found.copies_ms and found.difference_ms is not None:
        yield f"The latency holds {found.copies_ms:.4g} ms of copies, which are no layers."
    beyond = found.compute_difference_ms
    if beyond is not None and beyond < 0:
        yield (
            f"Even the compute time is {-beyond:.4g} ms longer than the layers: gaps between launches, waits for the host, "
            "loops, or work outside the layers."
        )
    host = enqueue_against_compute(engine, statistics)
    if host and host.is_enqueue_bound:
        yield "The run is bound by the enqueue, so the GPU waits between launches."


def _tell_iterations(found: Gap) -> Iterator[str]:
    if found.iterations is not None and found.iterations < FEW_ITERATIONS:
        yield f"The profile rests on {plural(found.iterations, 'iteration')}: layer times are single samples."
    on_grid = found.on_grid_pct
    if on_grid is not None and on_grid >= GRID_SHARE_PCT:
        yield f"{on_grid:.0f} % of the layer times are multiples of {1000 * EVENT_GRID_MS:.3f} µs, the timer's step."
