"""Charts of the samples of a run: power, temperature and clocks, over the same seconds as the latency of the queries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from trex_tui.old.analysis.energy import (
    PowerStatistics,
    SampleTimes,
    Scope,
    describe_throttling,
    find_sample_times,
    power_statistics,
)
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.artifacts.monitor import Monitor
from trex_tui.old.engine.engine import Engine
from trex_tui.old.report.charts.figure import (
    ACCENT,
    PRIMARY,
    SECONDARY,
    WARNING,
    Chart,
    Figure,
    Lines,
    Mark,
    Scale,
    Series,
    Subject,
    spread,
)
from trex_tui.old.report.charts.latency_charts import read_queries
from trex_tui.old.text import plural

NO_SAMPLES = (
    "No power samples (needs `trex-tui capture --monitor`, or a log of tegrastats or nvidia-smi in the set)."
)
_MOST_RAILS = 3
_MOST_MARKS = 5
_EDGE = 1e-9
_STYLES = (PRIMARY, ACCENT, SECONDARY)


def power(subject: Subject) -> Figure:
    """Draw power over the run, with the rails of highest power."""
    monitor = subject.engine.monitor
    if monitor is None:
        return Figure((subject.engine.explain_absence(NO_SAMPLES, ArtifactKind.MONITOR),))
    columns = [(monitor.power_of, monitor.columns.get("power_w", ()))]
    rails = sorted(monitor.rails.items(), key=lambda rail: -_mean(rail[1]))
    columns += [(name, values) for name, values in rails if name != monitor.power_of][: _MOST_RAILS - 1]
    return _draw(
        subject, monitor, [(name, values) for name, values in columns if values], "W", from_zero=True
    )


def temperature(subject: Subject) -> Figure:
    """Draw the temperature of the GPU over the run."""
    return _draw_quantity(subject, "gpu_temperature_c", "GPU", "°C")


def clock(subject: Subject) -> Figure:
    """Draw the clock of the GPU over the run."""
    return _draw_quantity(subject, "gpu_clock_mhz", "GPU", "MHz")


def _draw_quantity(subject: Subject, quantity: str, name: str, unit: str) -> Figure:
    monitor = subject.engine.monitor
    if monitor is None:
        return Figure((subject.engine.explain_absence(NO_SAMPLES, ArtifactKind.MONITOR),))
    values = monitor.columns.get(quantity, ())
    return _draw(subject, monitor, [(name, values)] if values else [], unit)


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if value == value]
    return math.fsum(known) / len(known) if known else 0.0


def _draw(
    subject: Subject,
    monitor: Monitor,
    columns: Sequence[tuple[str, Sequence[float]]],
    unit: str,
    *,
    from_zero: bool = False,
) -> Figure:
    engine = subject.engine
    statistics = power_statistics(engine)
    if not columns or statistics is None:
        return Figure((f"{monitor.producer.value} does not report it.",))
    times = find_sample_times(engine, monitor)
    if not times.seconds:
        return Figure(("The samples have no time stamps.",))
    x = _find_scale(subject, times)
    shown = [place for place in range(monitor.samples) if _is_shown(x, times.seconds[place])]
    series = [
        Series(
            name,
            [(times.seconds[place], values[place]) for place in shown if values[place] == values[place]],
            style,
        )
        for (name, values), style in zip(columns, _STYLES, strict=False)
    ]
    heights = [value for one in series for _, value in one.points]
    if not heights:
        return Figure(("No samples during the measurement.",))
    y = spread(heights, f"{', '.join(name for name, _ in columns)}, {unit}", from_zero=from_zero)
    form = Lines(series, x, y, marks=_throttle_marks(monitor, times, x))
    return Figure((_describe(statistics, columns, times, unit),), statistics.notes, form, marks_layer=False)


def _find_scale(subject: Subject, times: SampleTimes) -> Scale:
    """Return the scale of the queries if both count from the same moment, so that the charts can be aligned."""
    queries = read_queries(subject.engine) if times.is_from_query else None
    if queries is not None and queries.starts_s and queries.starts_s[-1] > 0:
        return Scale(queries.starts_s[0], queries.starts_s[-1], "s from the first query")
    used = [times.seconds[place] for place in times.used] or list(times.seconds)
    if times.scope is not Scope.MEASUREMENT:
        used = list(times.seconds)
    title = "s from the first query" if times.is_from_query else "s from the first sample"
    return Scale(used[0], max(used[-1], used[0] + 1e-6), title)


def _is_shown(x: Scale, at: float) -> bool:
    """Return whether a time is on the axis, ignoring rounding."""
    return -_EDGE <= x.fraction(at) <= 1.0 + _EDGE


def _throttle_marks(monitor: Monitor, times: SampleTimes, x: Scale) -> list[Mark]:
    """Return marks where throttling of the GPU began."""
    if not monitor.reasons:
        return []
    marks = []
    runs = groupby(range(monitor.samples), key=lambda place: monitor.reasons[place] or ())
    for reasons, places in runs:
        at = times.seconds[next(places)]
        if reasons and _is_shown(x, at):
            marks.append(Mark(at, ", ".join(reasons), WARNING, short="throttled"))
    return marks[:_MOST_MARKS]


def _describe(
    statistics: PowerStatistics,
    columns: Sequence[tuple[str, Sequence[float]]],
    times: SampleTimes,
    unit: str,
) -> str:
    parts = []
    for name, values in columns:
        known = [value for place in times.used if (value := values[place]) == value]
        if known:
            parts.append(
                f"{name} mean {math.fsum(known) / len(known):.4g}, {min(known):.4g} to {max(known):.4g} {unit}"
            )
    throttled = describe_throttling(statistics)
    words = f"{plural(statistics.samples, 'sample')} of {statistics.producer}: {'; '.join(parts) or 'none counts'}."
    return f"{words} Throttled: {throttled}." if throttled else words


def _has_samples(engine: Engine) -> bool:
    return engine.monitor is not None


CHARTS = (
    Chart("power", "Power", "Power of the GPU or the board.", power, needs=_has_samples),
    Chart("temperature", "Temperature", "GPU temperature.", temperature, needs=_has_samples),
    Chart("clock", "Clock", "GPU clock.", clock, needs=_has_samples),
)
