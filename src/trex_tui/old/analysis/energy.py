"""Power, temperature and clocks of a run, and the energy per inference, from samples taken during the run.

A file of samples begins before the measurement and ends after it, so the relevant samples are selected first. Two sources are
reliable: the stage that `trex-tui capture` writes beside each sample, and the time stamps of trtexec's log, which have a
resolution of a second. Otherwise samples with a busy GPU are used, which makes the energy an estimate. If a file supports
neither, power is over the whole file, and the energy is unknown.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum

from trex_tui.old.analysis.timing import end_to_end, warmup_ms
from trex_tui.old.analysis.trtexec_runs import timed_log
from trex_tui.old.artifacts.monitor import MEASURING, Monitor
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.engine import Engine
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import plural

BUSY_PCT = 50.0
"""Utilization from which the GPU counts as busy."""
_STAMP_S = 1.0
"""Resolution of the time stamps in a log of trtexec."""
_SAME_MOMENT_S = 1e-6
"""Largest difference of equal time stamps: seconds since 1970 have no more digits."""


class Scope(str, Enum):
    """Samples used for the statistics."""

    MEASUREMENT = "measurement"
    """Samples between the warm-up and the end of the measurement."""
    BUSY = "busy"
    """Samples with a busy GPU: an estimate."""
    FILE = "file"
    """All samples of the file."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """Statistics of the samples that have a value."""

    samples: int
    min: float
    mean: float
    max: float


@dataclass(frozen=True, slots=True)
class Throttling:
    """A reason why the GPU was throttled.

    Attributes:
        reason: Description.
        samples: Number of samples with this reason.
        first_s: Seconds from the first used sample to the first with this reason; None without times.
    """

    reason: str
    samples: int
    first_s: float | None


@dataclass(frozen=True, slots=True)
class LayerEnergy:
    """Power and energy of a layer, an estimate: a sample is the power of the whole board, over some time before it.

    Attributes:
        name: The layer.
        calls: Calls of the layer.
        measured_calls: Calls during which a sample was taken; the others are not used.
        samples: Samples during them.
        time_ms: Mean time of the measured calls.
        power_w: Mean over the measured calls of the mean of the samples from start to end, both included.
        power_above_idle_w: The same without the power of the idle board; None if that is unknown.
        energy_mj: Mean over the measured calls of power · time.
        energy_above_idle_mj: The same without the power of the idle board.
    """

    name: str
    calls: int
    measured_calls: int
    samples: int
    time_ms: float | None
    power_w: float | None
    power_above_idle_w: float | None
    energy_mj: float | None
    energy_above_idle_mj: float | None


@dataclass(frozen=True, slots=True)
class PowerStatistics:
    """Statistics of the samples of a run; None where unknown.

    Attributes:
        producer: The program that took the samples.
        scope: The samples used.
        samples: Number of samples used, of `all_samples`.
        interval_s: Median time between samples.
        is_interval_assumed: The file has no times; the interval is the default of the program.
        power_of: Measured power: a GPU, the rail that feeds the board, or a sum of rails.
        power_w, gpu_temperature_c, gpu_clock_mhz, memory_clock_mhz, gpu_utilization_pct, memory_used_mib: Statistics.
        rails_w: Power rail -> statistics.
        idle_w: Power of the idle board.
        energy_per_inference_j: Mean power over throughput.
        energy_above_idle_j: The same without the power of the idle board.
        inferences_per_joule: Its inverse.
        throttling: Reasons, the most frequent first; empty for none, None if the program does not report them.
        throttled_samples: Samples with any reason; None likewise.
        notes: Limitations of these numbers, in sentences.
    """

    producer: str
    scope: Scope
    samples: int
    all_samples: int
    interval_s: float | None
    is_interval_assumed: bool
    power_of: str
    power_w: Quantity | None = None
    gpu_temperature_c: Quantity | None = None
    gpu_clock_mhz: Quantity | None = None
    memory_clock_mhz: Quantity | None = None
    gpu_utilization_pct: Quantity | None = None
    memory_used_mib: Quantity | None = None
    rails_w: Mapping[str, Quantity] = field(default_factory=dict)
    idle_w: float | None = None
    energy_per_inference_j: float | None = None
    energy_above_idle_j: float | None = None
    inferences_per_joule: float | None = None
    throttling: tuple[Throttling, ...] | None = None
    throttled_samples: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SampleTimes:
    """Times of the samples of a monitor, and which of them are used.

    Attributes:
        seconds: Time of each sample; empty if unknown.
        is_from_query: Seconds count from the first query after the warm-up, as those of the timing rows; else from the
            first sample.
        scope: The samples used.
        used: Their indices.
    """

    seconds: Sequence[float]
    is_from_query: bool
    scope: Scope
    used: Sequence[int]


@per_engine
def power_statistics(engine: Engine) -> PowerStatistics | None:
    """Return statistics of the samples beside an engine, cached in it; None without a file of samples."""
    monitor = engine.monitor
    if monitor is None:
        return None
    times = find_sample_times(engine, monitor)
    quantities = {name: _summarize(column, times.used) for name, column in monitor.columns.items()}
    power = quantities.get("power_w")
    latency = end_to_end(engine)
    qps = latency.throughput_qps if latency else None
    energy = None
    if power is not None and qps is not None and qps > 0 and times.scope is not Scope.FILE:
        energy = power.mean / qps
    throttling, throttled = _find_throttling(monitor, times)
    idle_w = monitor.idle_w
    return PowerStatistics(
        producer=monitor.producer.value,
        scope=times.scope,
        samples=len(times.used),
        all_samples=monitor.samples,
        interval_s=monitor.interval_s,
        is_interval_assumed=monitor.is_interval_assumed,
        power_of=monitor.power_of,
        **quantities,
        rails_w={
            name: quantity
            for name, column in monitor.rails.items()
            if (quantity := _summarize(column, times.used)) is not None
        },
        idle_w=idle_w,
        energy_per_inference_j=energy,
        energy_above_idle_j=None
        if energy is None or idle_w is None or qps is None
        else energy - idle_w / qps,
        inferences_per_joule=1.0 / energy if energy else None,
        throttling=throttling,
        throttled_samples=throttled,
        notes=tuple(_find_notes(monitor, times, power, qps)),
    )


def _summarize(column: Sequence[float], used: Sequence[int]) -> Quantity | None:
    known = [value for place in used if (value := column[place]) == value]
    if not known:
        return None
    return Quantity(len(known), min(known), math.fsum(known) / len(known), max(known))


def _find_notes(
    monitor: Monitor, times: SampleTimes, power: Quantity | None, qps: float | None
) -> Iterator[str]:
    if not times.used:
        yield "No samples during the measurement: measure longer, or sample more often."
    elif times.scope is Scope.BUSY:
        yield (
            f"Estimate from samples with the GPU at {BUSY_PCT:g} % or more: the measurement interval is "
            "unknown."
        )
    elif times.scope is Scope.FILE and power is not None:
        yield (
            "Measurement interval unknown: all samples are used, energy per inference unknown (needs "
            "capture --monitor)."
        )
    if power is not None and qps is None and times.scope is not Scope.FILE:
        yield "Energy per inference unknown: no throughput in this set."
    if monitor.is_interval_assumed:
        yield f"The samples have no time stamps; {monitor.producer.value} takes one each second by default."


# Selection and times of samples


def find_sample_times(engine: Engine, monitor: Monitor) -> SampleTimes:
    """Align the samples with the measurement."""
    everything = range(monitor.samples)
    warmup_s = warmup_ms(engine) / 1000.0
    if monitor.stages:
        measuring = [place for place in everything if monitor.stages[place] == MEASURING]
        used = [place for place in measuring if not monitor.stage_s[place] < warmup_s]
        if not monitor.run_s or not measuring:
            return SampleTimes(monitor.run_s, False, Scope.MEASUREMENT, used)
        start = monitor.run_s[measuring[0]] - monitor.stage_s[measuring[0]] + warmup_s
        seconds = [moment - start for moment in monitor.run_s]
        is_known = not any(map(math.isnan, seconds))
        return SampleTimes(seconds if is_known else (), is_known, Scope.MEASUREMENT, used)
    window = _find_window(engine) if monitor.local_s else None
    if window is not None:
        # Only the part of the window that is certain despite the truncated stamps of the log.
        first = bisect_left(monitor.local_s, window[0] + _STAMP_S - _SAME_MOMENT_S)
        end = bisect_right(monitor.local_s, window[1] + _SAME_MOMENT_S)
        if first < end:
            seconds = [moment - window[0] for moment in monitor.local_s]
            return SampleTimes(seconds, True, Scope.MEASUREMENT, range(first, end))
    seconds = list(_seconds_from_first(monitor))
    loads = monitor.columns.get("gpu_utilization_pct", ())
    busy = [place for place, load in enumerate(loads) if load >= BUSY_PCT]
    if busy:
        return SampleTimes(seconds, False, Scope.BUSY, busy)
    return SampleTimes(seconds, False, Scope.FILE, everything)


def _seconds_from_first(monitor: Monitor) -> Sequence[float]:
    for stamps in (monitor.run_s, monitor.local_s):
        if stamps:
            return [stamp - stamps[0] for stamp in stamps]
    interval = monitor.interval_s
    return () if interval is None else [place * interval for place in range(monitor.samples)]


def _find_window(engine: Engine) -> tuple[float, float] | None:
    """Return start and end of the measurement by the stamps of trtexec's log, up to a second late; None without stamps."""
    from trex_tui.old.buildlog.build_trace import PhaseKind

    trace = timed_log(engine)
    if trace is None or trace.began_s is None:
        return None
    measured = [phase for phase in trace.phases if phase.kind is PhaseKind.INFERENCE]
    if not measured or measured[-1].ended_s is None:
        return None
    end = trace.began_s + measured[-1].ended_s
    return end - measured[-1].seconds, end


# Throttling


def _find_throttling(
    monitor: Monitor, times: SampleTimes
) -> tuple[tuple[Throttling, ...] | None, int | None]:
    known = [index for index in times.used if monitor.reasons and monitor.reasons[index] is not None]
    if not known:
        return None, None
    counts: Counter[str] = Counter()
    first: dict[str, int] = {}
    throttled = 0
    for index in known:
        reasons = monitor.reasons[index] or ()
        throttled += bool(reasons)
        counts.update(reasons)
        for reason in reasons:
            first.setdefault(reason, index)
    return tuple(
        Throttling(
            reason, count, times.seconds[first[reason]] - times.seconds[known[0]] if times.seconds else None
        )
        for reason, count in counts.most_common()
    ), throttled


def describe_throttling(power: PowerStatistics) -> str:
    """Return `software thermal in 12 of 40 samples`; empty if the GPU was not throttled or this is unknown."""
    parts = [
        f"{throttling.reason} in {throttling.samples} of {plural(power.samples, 'sample')}"
        for throttling in power.throttling or ()
    ]
    return ", ".join(parts)


def describe_throttled_runs(label: str, runs: Sequence[Engine]) -> Iterator[str]:
    """Yield a sentence for each run of an engine in which the GPU was throttled."""
    for number, run in enumerate(runs, start=1):
        power = power_statistics(run)
        if power is not None and (text := describe_throttling(power)):
            yield f"{label}: throttled{f' during run {number}' if len(runs) > 1 else ''}: {text}."


# Layers


@per_engine
def layer_energies(engine: Engine) -> Mapping[str, LayerEnergy]:
    """Return name of a layer -> its power and energy; empty unless the set states the time of each call of a layer."""
    monitor = engine.monitor
    if monitor is None or not monitor.layer_samples or not monitor.local_s:
        return {}
    powers = monitor.columns.get("power_w")
    if powers is None:
        return {}
    calls: dict[str, list[tuple[float, list[float]]]] = {}
    for call in monitor.layer_samples:
        start = call.end_s - call.time_ms / 1000.0
        first = bisect_left(monitor.local_s, start - _SAME_MOMENT_S)
        end = bisect_right(monitor.local_s, call.end_s + _SAME_MOMENT_S)
        known = [value for value in powers[first:end] if value == value]
        calls.setdefault(call.name, []).append((call.time_ms, known))
    repeated = Counter(layer.name for layer in engine.layers)
    return {
        name: _layer_energy(name, timed, monitor.idle_w)
        for name, timed in calls.items()
        if repeated[name] < 2
    }


def _layer_energy(name: str, calls: Sequence[tuple[float, list[float]]], idle_w: float | None) -> LayerEnergy:
    measured = [(time_ms, math.fsum(known) / len(known)) for time_ms, known in calls if known]
    samples = sum(len(known) for _, known in calls)
    if not measured:
        return LayerEnergy(name, len(calls), 0, 0, None, None, None, None, None)
    power_w, time_ms, energy_mj = (
        math.fsum(values) / len(measured)
        for values in (
            [power for _, power in measured],
            [time_ms for time_ms, _ in measured],
            [power * time_ms for time_ms, power in measured],
        )
    )
    above = None if idle_w is None else (power_w - idle_w, energy_mj - idle_w * time_ms)
    return LayerEnergy(
        name,
        len(calls),
        len(measured),
        samples,
        time_ms,
        power_w,
        above[0] if above else None,
        energy_mj,
        above[1] if above else None,
    )
