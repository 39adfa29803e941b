"""A modelled measurement: queries with their time stamps, their summary, and the rows of the layer profile."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from samples import cpp
from samples.model import Layer

PERCENTILES = (90, 95, 99)
"""Percentiles that trtexec reports by default since 8.5."""
EVENT_GRID_MS = 0.000032
"""Resolution to which medians of layer times are rounded; CUDA events count in steps of this order."""


@dataclass(frozen=True, slots=True)
class Query:
    """One query's time stamps in ms since the start of the run. Nothing is transferred, so H2D and D2H take no time."""

    start_enqueue: float
    end_enqueue: float
    start_compute: float
    end_compute: float

    @property
    def compute(self) -> float:
        return cpp.float32(self.end_compute - self.start_compute)

    @property
    def enqueue(self) -> float:
        return cpp.float32(self.end_enqueue - self.start_enqueue)

    def fields(self) -> Iterator[tuple[str, float]]:
        """The keys of a record of the timing file with their values, in the file's order."""
        yield "startEnqMs", self.start_enqueue
        yield "endEnqMs", self.end_enqueue
        yield "startH2dMs", self.start_compute
        yield "endH2dMs", self.start_compute
        yield "startComputeMs", self.start_compute
        yield "endComputeMs", self.end_compute
        yield "startD2hMs", self.end_compute
        yield "endD2hMs", self.end_compute
        yield "h2dMs", 0.0
        yield "computeMs", self.compute
        yield "d2hMs", 0.0
        yield "latencyMs", self.compute


@dataclass(frozen=True, slots=True)
class Plan:
    """What to model.

    Attributes:
        queries: Measured queries.
        median_ms: Wanted median of the latency; sigma_ms is the spread around it.
        throughput: Wanted queries per second; the time between queries is chosen to reach it.
        warmup_ms: `--warmUp`; duration and iterations are those of the inference options.
        first_ms: Time stamp of the first query of the warm-up, if the file keeps the warm-up.
        outliers: Share of queries that something else on the machine delays.
    """

    seed: str
    queries: int
    median_ms: float
    sigma_ms: float
    throughput: float
    warmup_ms: int
    duration_s: str
    iterations: int
    first_ms: float | None = None
    outliers: float = 0.004


@dataclass(frozen=True, slots=True)
class Metric:
    """A line of the performance summary; times in ms."""

    minimum: float
    maximum: float
    mean: float
    median: float
    percentiles: tuple[float, ...]

    @property
    def values(self) -> tuple[float, ...]:
        """The seven numbers in the order of the summary."""
        return (self.minimum, self.maximum, self.mean, self.median, *self.percentiles)


@dataclass(frozen=True, slots=True)
class Run:
    """A measurement.

    Attributes:
        queries: The rows of the timing file.
        warmups: How many of them belong to the warm-up.
    """

    plan: Plan
    queries: tuple[Query, ...]
    warmups: int

    @property
    def measured(self) -> tuple[Query, ...]:
        return self.queries[self.warmups :]

    @property
    def walltime_ms(self) -> float:
        """From the first measured query's transfer to the last one's end, as trtexec counts it."""
        measured = self.measured
        return measured[-1].end_compute - measured[0].start_compute

    @property
    def throughput(self) -> float:
        return len(self.measured) / self.walltime_ms * 1000

    @property
    def compute(self) -> Metric:
        return _metric([query.compute for query in self.measured])

    @property
    def enqueue(self) -> Metric:
        return _metric([query.enqueue for query in self.measured])

    @property
    def total_compute_s(self) -> float:
        return math.fsum(query.compute for query in self.measured) / 1000

    @property
    def variance_percent(self) -> float:
        """Coefficient of variance of the compute time, which trtexec warns about."""
        times = [query.compute for query in self.measured]
        mean = math.fsum(times) / len(times)
        spread = math.sqrt(math.fsum((time - mean) ** 2 for time in times) / len(times))
        return spread / mean * 100


def _metric(values: Sequence[float]) -> Metric:
    ordered = sorted(values)
    return Metric(
        minimum=ordered[0],
        maximum=ordered[-1],
        mean=math.fsum(ordered) / len(ordered),
        median=cpp.median(ordered),
        percentiles=tuple(cpp.percentile(ordered, percent) for percent in PERCENTILES),
    )


def simulate(plan: Plan) -> Run:
    """Model a run with CUDA graph and spin-wait: queries follow each other, each enqueued while the one before runs."""
    noise = cpp.Noise(plan.seed)
    durations = [_duration(plan, noise) for _ in range(plan.queries)]
    gap = (plan.queries * 1000 / plan.throughput - math.fsum(durations)) / (plan.queries - 1)
    if gap <= 0:
        raise ValueError(
            f"{plan.seed}: {plan.throughput} queries/s are too many for {plan.median_ms} ms each"
        )
    before = list(_warmup(plan, noise, gap))
    # Without a kept warm-up the first measured query starts within the period that reaches across its end.
    start = before[-1].end_compute + gap if before else plan.warmup_ms + plan.median_ms * 0.42
    queries = before
    for duration in durations:
        queries.append(_query(start, duration, noise, plan))
        start += duration + gap
    return Run(plan, tuple(queries), len(queries) - plan.queries)


def _duration(plan: Plan, noise: cpp.Noise) -> float:
    duration = noise.normal(plan.median_ms, plan.sigma_ms)
    if noise.chance(plan.outliers):
        duration += noise.uniform(0.01, 0.12) * plan.median_ms
    grid = 2048.0 if plan.warmup_ms >= 4096 else 8192.0
    return round(duration * grid) / grid


def _warmup(plan: Plan, noise: cpp.Noise, gap: float) -> Iterator[Query]:
    """Queries until the warm-up is over: slow at first, while the clocks rise."""
    if plan.first_ms is None:
        return
    start = plan.first_ms
    while start < plan.warmup_ms:
        rising = 1 - start / plan.warmup_ms
        duration = _duration(plan, noise) * (1 + 0.35 * rising * rising)
        yield _query(start, duration, noise, plan)
        start += duration + gap


def _query(start: float, duration: float, noise: cpp.Noise, plan: Plan) -> Query:
    begin = cpp.float32(start)
    enqueue = cpp.float32(start - plan.median_ms * noise.uniform(0.53, 0.57))
    took = noise.uniform(0.0012, 0.0029) if not noise.chance(0.01) else noise.uniform(0.005, 0.022)
    return Query(enqueue, cpp.float32(enqueue + took), begin, cpp.float32(begin + duration))


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """A record of the profile; times in ms, `time_ms` over all iterations."""

    name: str
    time_ms: float
    average_ms: float
    median_ms: float
    percentage: float


def profile_rows(layers: Sequence[Layer], count: int, seed: str) -> tuple[ProfileRow, ...]:
    """The profile of `count` iterations, warm-up included, as trtexec counts them."""
    noise = cpp.Noise(f"profile {seed}")
    averages = [layer.average_ms * noise.uniform(0.9985, 1.0015) for layer in layers]
    total = math.fsum(averages) * count
    return tuple(
        ProfileRow(
            name=layer.name,
            time_ms=cpp.float32(average * count),
            average_ms=cpp.float32(average),
            median_ms=round(average * noise.uniform(0.994, 1.002) / EVENT_GRID_MS) * EVENT_GRID_MS,
            percentage=average * count / total * 100,
        )
        for layer, average in zip(layers, averages, strict=True)
    )
