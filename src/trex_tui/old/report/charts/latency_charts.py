"""Charts of the timing run: distribution of the latencies of single queries, and their change over time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trex_tui.old.analysis.stability import Stability, is_rising
from trex_tui.old.analysis.statistics import percentile
from trex_tui.old.analysis.timing import (
    LEAST_ROWS_OF_P999,
    summary_origin,
    timing_statistics,
    warmup_ms,
    without_warmup,
)
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.engine import Engine
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.charts.figure import (
    ACCENT,
    PRIMARY,
    SECONDARY,
    WARNING,
    Chart,
    Dot,
    Figure,
    Histogram,
    Key,
    Lines,
    Mark,
    Scale,
    Series,
    Subject,
    Target,
)
from trex_tui.old.report.charts.sampling import count_bins
from trex_tui.old.text import format_ms, plural

NO_ROWS = "No timing rows (needs `trtexec --exportTimes`)."
_EDGE_FACTOR = 3.0
"""Factor beyond the tails from which values are shown at the edge: relative to the distance of tail and median."""
_MARKED_PERCENTILES = (50.0, 90.0, 95.0, 99.0)
_TAIL_PCT = 5.0
"""The histogram covers the values between the tails."""
_COURSE_TAIL_PCT = 1.0
"""Share of outliers from which they are shown even if they are far out."""
_CURVE_PERCENTILES = (50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
_CURVE_POINTS = 160


@dataclass(frozen=True, slots=True)
class Queries:
    """Latencies of the measurement, without the warm-up and without rows that have no number.

    Attributes:
        values_ms, starts_s: In order; seconds from the first start, None without stamps.
        ordered_ms: The same values, sorted.
        warmup, unknown: Number of rows left out.
        what: The column.
    """

    values_ms: Sequence[float]
    starts_s: Sequence[float] | None
    ordered_ms: Sequence[float]
    warmup: int
    unknown: int
    what: str

    def limits_ms(self, tail_pct: float) -> tuple[float, float]:
        """Return the range of a chart: all values, unless those in the tails are far out."""
        ordered = self.ordered_ms
        middle, low, high = (percentile(ordered, pct) for pct in (50.0, tail_pct, 100.0 - tail_pct))
        margin = max(high - middle, middle - low, middle * 1e-4, 1e-6)
        least, most = low - _EDGE_FACTOR * margin, high + _EDGE_FACTOR * margin
        return max(ordered[0], least), min(ordered[-1], most)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return sentences about omitted rows."""
        return (f"{plural(self.unknown, 'row')} without a number excluded.",) if self.unknown else ()

    @property
    def counted(self) -> str:
        """Return the number of queries, and of rows left out before them."""
        skipped = f", {plural(self.warmup, 'query', 'queries')} of warm-up excluded" if self.warmup else ""
        return f"{plural(len(self.values_ms), 'query', 'queries')}{skipped}"

    def describe_percentiles(self, percentiles: Sequence[float]) -> str:
        """Return percentiles in one line."""
        figures = (f"p{pct:g} {format_ms(percentile(self.ordered_ms, pct))}" for pct in percentiles)
        return " · ".join(figures) + " ms"


@per_engine
def read_queries(engine: Engine) -> Queries | None:
    """Return the queries of an engine's timing run, cached in it; None without any."""
    timing = engine.timing
    if timing is None:
        return None
    key, what = ("latencyMs", "latency") if timing.latency_ms else ("computeMs", "compute time")
    rows, skipped = without_warmup(timing, warmup_ms(engine))
    whole = timing.columns.get(key, ())[rows.start : rows.stop]
    stamps = timing.columns.get("startComputeMs", ())[rows.start : rows.stop]
    known = [row for row, value in enumerate(whole) if value == value]
    if not known:
        return None
    values = [whole[row] for row in known]
    starts = [stamps[row] for row in known] if len(stamps) == len(whole) else []
    seconds = None
    if is_rising(starts):
        seconds = [(start - starts[0]) / 1000.0 for start in starts]
    return Queries(values, seconds, sorted(values), skipped, len(whole) - len(known), what)


def histogram(subject: Subject) -> Figure:
    """Draw the distribution of the latency of single queries."""
    queries = read_queries(subject.engine)
    if queries is None:
        return Figure((_no_rows(subject.engine),))
    ordered, limits = queries.ordered_ms, queries.limits_ms(_TAIL_PCT)
    words = [
        f"Latency histogram: {queries.counted}. {queries.describe_percentiles(_MARKED_PERCENTILES)}; min "
        f"{format_ms(ordered[0])}, mean {format_ms(math.fsum(ordered) / len(ordered))}, max "
        f"{format_ms(ordered[-1])} ms."
    ]
    beyond = (
        (sum(value < limits[0] for value in ordered), "below", limits[0]),
        (sum(value > limits[1] for value in ordered), "above", limits[1]),
    )
    parts = [f"{count} {way} {format_ms(limit)} ms" for count, way, limit in beyond if count]
    if parts:
        words.append(f"{' and '.join(parts)} clipped (▲).")
    marks = [
        Mark(value, f"p{pct:g} {format_ms(value)}", short=f"p{pct:g}")
        for pct in _MARKED_PERCENTILES
        for value in [percentile(ordered, pct)]
    ]
    form = Histogram(
        lambda most: count_bins(ordered, limits, most),
        f"{queries.what}, ms",
        "queries",
        marks,
        lambda low, high, _, count: Target(f"{low:.5g} to {high:.5g} ms", plural(count, "query", "queries")),
    )
    return Figure(tuple(words), queries.left_out, form, marks_layer=False)


def over_time(subject: Subject) -> Figure:
    """Draw the latency of the queries in order, with its irregularities."""
    queries, statistics = read_queries(subject.engine), timing_statistics(subject.engine)
    judged = statistics.stability if statistics is not None else None
    if queries is None or judged is None:
        return Figure((_no_rows(subject.engine),))
    low, high = limits = queries.limits_ms(_COURSE_TAIL_PCT)
    beyond = sum(not low <= value <= high for value in queries.values_ms)
    words = [f"Latency of each query: {queries.counted}. {' '.join(judged.sentences)}"]
    if beyond:
        ends = (("▲", queries.ordered_ms[-1] > high), ("▼", queries.ordered_ms[0] < low))
        signs = " ".join(sign for sign, is_there in ends if is_there)
        span = f"{format_ms(queries.ordered_ms[0])} to {format_ms(queries.ordered_ms[-1])}"
        words.append(f"{plural(beyond, 'query', 'queries')} clipped ({signs}); full range {span} ms.")
    places = queries.starts_s or range(len(queries.values_ms))
    unit = "s from the first query" if queries.starts_s else "query"
    x = Scale(float(places[0]), float(places[-1]) or 1.0, unit)
    margin = (high - low) * 0.04 or max(high * 0.05, 1e-6)
    y = Scale(low - margin, high + margin, f"{queries.what}, ms")
    points = list(zip(map(float, places), queries.values_ms, strict=True))
    series = [Series("each query", points, SECONDARY, is_dense=True)]
    if ends_ms := _drift_ends_ms(judged):
        series.append(Series("drift", [(x.low, ends_ms[0]), (x.high, ends_ms[1])], ACCENT))
    keys = [Key("┊", "settling", WARNING)] if judged.settling else []
    marks = []
    if judged.settling and judged.settling.rows < len(points):
        marks.append(Mark(float(places[judged.settling.rows]), "settled", WARNING))

    def target(index: int) -> Target:
        at = f"  at {points[index][0]:.5g} s" if queries.starts_s else ""
        return Target(f"query {index}", f"{format_ms(points[index][1])} ms{at}")

    form = Lines(series, x, y, keys=keys, marks=marks, limits=limits, target=target)
    return Figure(tuple(words), queries.left_out, form, marks_layer=False)


def _drift_ends_ms(judged: Stability) -> tuple[float, float] | None:
    """Return the ends of the line of a drift; None without a drift."""
    if not judged.drift or not judged.drift.is_significant or judged.median_ms is None:
        return None
    half = 0.75 * judged.drift.change_ms  # it is defined between the middles of the first and the last third
    return judged.median_ms - half, judged.median_ms + half


def percentiles(subject: Subject) -> Figure:
    """Draw latency against percentile."""
    queries = read_queries(subject.engine)
    if queries is None:
        return _printed_percentiles(subject.engine)
    last = 99.9 if len(queries.values_ms) >= LEAST_ROWS_OF_P999 else 99.0
    named = [pct for pct in _CURVE_PERCENTILES if pct <= last]
    ordered = queries.ordered_ms
    middle, end = percentile(ordered, 50.0), percentile(ordered, last)
    slower = 100.0 * (end / middle - 1.0) if middle > 0 else 0.0
    words = (
        f"Percentiles: {queries.counted}. {queries.describe_percentiles(named)}. 1 in "
        f"{round(100 / (100 - last))} takes at least {slower:.1f} % longer than the median.",
    )
    missing = queries.left_out
    if last < 99.9:
        missing += (f"p99.9: n/a (needs {LEAST_ROWS_OF_P999} queries).",)
    first = _stretched(50.0)
    steps = [first + (_stretched(last) - first) * step / _CURVE_POINTS for step in range(_CURVE_POINTS + 1)]
    curve = [(step, percentile(ordered, 100.0 * (1.0 - 10.0**-step))) for step in steps]
    points = [(pct, percentile(ordered, pct)) for pct in named]
    return Figure(words, missing, _percentile_lines(curve, points, queries.what), marks_layer=False)


def _stretched(pct: float) -> float:
    """Return the position of a percentile on an axis with equal distances between 90, 99 and 99.9."""
    return -math.log10(1.0 - pct / 100.0)


def _percentile_lines(
    curve: Sequence[tuple[float, float]], points: Sequence[tuple[float, float]], what: str
) -> Lines:
    """Return a curve over stretched percentiles, with dots at some of them."""
    low, high = min(value for _, value in curve), max(value for _, value in curve)
    margin = (high - low) * 0.08 or max(high * 0.05, 1e-6)
    x = Scale(curve[0][0], curve[-1][0], "percentile (log tail)")
    y = Scale(low - margin, high + margin, f"{what}, ms")
    ticks = [(x.fraction(_stretched(pct)), f"p{pct:g}") for pct, _ in points]
    dots = [
        Dot(
            _stretched(pct),
            value,
            ACCENT,
            title=f"p{pct:g}  {value:.6g} ms",
            label=format_ms(value),
        )
        for pct, value in points
    ]
    return Lines([Series(what, curve, PRIMARY)], x, y, ticks, dots=dots, has_legend=False)


def _printed_percentiles(engine: Engine) -> Figure:
    """Draw the percentiles of trtexec's own summary, if there are no rows."""
    line = engine.metadata.latency()
    points = []
    if line is not None:
        values = {50.0: line.median_ms, **line.percentiles_ms}
        points = [
            (pct, value) for pct, value in sorted(values.items()) if value is not None and 50 <= pct < 100
        ]
    if len(points) < 2:
        return Figure((_no_rows(engine),))
    figures = " · ".join(f"p{pct:g} {format_ms(value)}" for pct, value in points)
    words = (f"Percentiles: {figures} ms.",)
    missing = (
        f"As trtexec printed it ({summary_origin(engine.metadata)}); linear between the points. {_no_rows(engine)}",
    )
    curve = [(_stretched(pct), value) for pct, value in points]
    return Figure(words, missing, _percentile_lines(curve, points, "latency"), marks_layer=False)


def _no_rows(engine: Engine) -> str:
    return engine.explain_absence(NO_ROWS, ArtifactKind.TIMING)


def _has_rows(engine: Engine) -> bool:
    return engine.timing is not None


def _has_percentiles(engine: Engine) -> bool:
    return _has_rows(engine) or _printed_percentiles(engine).form is not None


CHARTS = (
    Chart("histogram", "Histogram", "Latency distribution.", histogram, needs=_has_rows),
    Chart("over-time", "Over time", "Latency over time.", over_time, needs=_has_rows),
    Chart("percentiles", "Percentiles", "Latency percentiles.", percentiles, needs=_has_percentiles),
)
