"""The queries of the timing run, for the charts that are about them."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from trex_tui.analysis.stability import Stability, stability
from trex_tui.analysis.statistics import median, percentile
from trex_tui.analysis.timing import LEAST_ROWS_OF_P999, printed_performance, warmup_ms, without_warmup
from trex_tui.engine.engine import Engine
from trex_tui.report.charts.cells import Curve, Scale, Tick, draw_columns, draw_curves, plot_area
from trex_tui.report.charts.figure import WARNING, Figure, Subject
from trex_tui.report.charts.grid import Part, Span
from trex_tui.text import format_ms, plural

NO_ROWS = "No timing rows in this set: single queries are unknown. `trtexec --exportTimes` writes them."
_EDGE_FACTOR = 3.0
"""Values this many times farther from where a tail begins than that is from the median stand at the edge."""


@dataclass(frozen=True, slots=True)
class Queries:
    """Latencies of the measurement, without the warm-up and without rows that have no number.

    Attributes:
        values_ms, starts_s: In order; seconds from the first start, None without stamps.
        ordered_ms: The same values, sorted.
        warmup, unknown: Rows left out.
        what: Which column it is.
    """

    values_ms: Sequence[float]
    starts_s: Sequence[float] | None
    ordered_ms: Sequence[float]
    warmup: int
    unknown: int
    what: str

    @property
    def count(self) -> int:
        """How many."""
        return len(self.values_ms)

    def limits_ms(self, tail_pct: float) -> tuple[float, float]:
        """Between which values a chart spreads: all of them, unless those in the tails lie far out."""
        return limits_of(self.ordered_ms, tail_pct)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What is missing, in sentences."""
        parts = []
        if self.unknown:
            parts.append(f"{plural(self.unknown, 'row')} without a number left out.")
        return tuple(parts)

    @property
    def counted(self) -> str:
        """How many, and what was left out before them."""
        skipped = f", {plural(self.warmup, 'query', 'queries')} of warm-up left out" if self.warmup else ""
        return f"{plural(self.count, 'query', 'queries')}{skipped}"


def limits_of(ordered: Sequence[float], tail_pct: float) -> tuple[float, float]:
    """Between which of some sorted values a chart spreads: all of them, unless those in the tails lie far out."""
    middle, low, high = (percentile(ordered, pct) for pct in (50.0, tail_pct, 100.0 - tail_pct))
    spread = max(high - middle, middle - low, middle * 1e-4, 1e-6)
    least, most = low - _EDGE_FACTOR * spread, high + _EDGE_FACTOR * spread
    return max(ordered[0], least), min(ordered[-1], most)


@lru_cache(maxsize=4)
def queries_of(engine: Engine) -> Queries | None:
    """The queries of an engine's timing run; None without any. Kept for the last few engines."""
    timing = engine.timing
    if timing is None:
        return None
    key, what = ("latencyMs", "latency") if timing.latency_ms else ("computeMs", "compute time")
    rows, skipped = without_warmup(timing, warmup_ms(engine))
    whole = timing.columns.get(key, ())[rows.start : rows.stop]
    stamps = timing.columns.get("startComputeMs", ())[rows.start : rows.stop]
    known = [place for place, value in enumerate(whole) if value == value]
    if not known:
        return None
    values = [whole[place] for place in known]
    starts = [stamps[place] for place in known] if len(stamps) == len(whole) else []
    seconds = None
    # A list equals its sorted self although it holds NaN, since comparing looks at identity first.
    if starts and starts == sorted(starts) and not any(map(math.isnan, starts)):
        seconds = [(start - starts[0]) / 1000.0 for start in starts]
    return Queries(values, seconds, sorted(values), skipped, len(whole) - len(known), what)


@lru_cache(maxsize=4)
def judgement_of(engine: Engine) -> Stability | None:
    """What `analysis.stability` finds in the same queries."""
    queries = queries_of(engine)
    if queries is None:
        return None
    starts = None if queries.starts_s is None else [1000.0 * start for start in queries.starts_s]
    return stability(queries.values_ms, starts)


def percentile_words(ordered: Sequence[float], percentiles: Sequence[float]) -> str:
    """Percentiles of sorted values in one line."""
    return " · ".join(f"p{pct:g} {format_ms(percentile(ordered, pct))}" for pct in percentiles) + " ms"


MARKED_PERCENTILES = (50.0, 90.0, 95.0, 99.0)
_HISTOGRAM_TAIL_PCT = 5.0
"""The histogram is about what lies between the tails."""
_LEAST_BINS = 10
_MOST_STEPS = 200
_MOST_BINS = 120
_BARS, _MARK = "$primary", "$accent"


@dataclass(frozen=True, slots=True)
class Distribution:
    """What the chart is of: latencies, and between which values it spreads."""

    queries: Queries
    limits_ms: tuple[float, float]

    def bins(self, most: int) -> Histogram:
        """The queries in at most so many bins."""
        return histogram(self.queries.ordered_ms, self.limits_ms, most)

    @property
    def percentiles_ms(self) -> dict[float, float]:
        """The marked ones."""
        return {pct: percentile(self.queries.ordered_ms, pct) for pct in MARKED_PERCENTILES}


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts in bins of equal width; with those below and above, all values."""

    low: float
    width: float
    counts: tuple[int, ...]
    below: int
    above: int

    @property
    def high(self) -> float:
        """Upper end of the last bin."""
        return self.low + self.width * len(self.counts)


def histogram(ordered: Sequence[float], limits: tuple[float, float], most_bins: int) -> Histogram:
    """Count sorted values in bins by the rule of Freedman and Diaconis.

    Values that come in steps, those of a timer, get bins of whole steps: others would hold now one step, now two.

    Args:
        limits: What is beyond them is counted as below or above.
        most_bins: No more bins than that.
    """
    low, high = limits
    quartiles = percentile(ordered, 75.0) - percentile(ordered, 25.0)
    rule = 2.0 * quartiles / len(ordered) ** (1 / 3)
    span = high - low or max(abs(high) * 1e-3, 1e-6)
    bins = max(1, min(max(round(span / rule) if rule > 0 else _LEAST_BINS, _LEAST_BINS), most_bins))
    width = span / bins
    step = step_of(ordered)
    if step:
        width = max(1, math.ceil(width / step - 1e-6)) * step
        low -= step / 2
        bins = max(1, math.ceil((high - low) / width))
    start, end = bisect_left(ordered, limits[0]), bisect_right(ordered, high)
    counts = [0] * bins
    for value in ordered[start:end]:
        counts[min(bins - 1, int((value - low) / width))] += 1
    return Histogram(low, width, tuple(counts), start, len(ordered) - end)


def histogram_of(values: Sequence[float]) -> Histogram:
    """Count values in any order, NaN left out; those in far tails as below or above."""
    ordered = sorted([value for value in values if math.isfinite(value)])
    if not ordered:
        return Histogram(0.0, 1.0, (0,), 0, 0)
    return histogram(ordered, limits_of(ordered, _HISTOGRAM_TAIL_PCT), _MOST_BINS)


def step_of(ordered: Sequence[float]) -> float:
    """The step in which sorted values come, if they are few different ones in equal steps; else 0."""
    distinct: list[float] = []
    for value in ordered:
        if not distinct or value != distinct[-1]:
            distinct.append(value)
            if len(distinct) > _MOST_STEPS:
                return 0.0
    gaps = sorted(later - earlier for earlier, later in pairwise(distinct))
    if len(gaps) < 2 or gaps[0] < 0.5 * gaps[len(gaps) // 2]:
        return 0.0
    return gaps[len(gaps) // 2]


def histogram_figure(subject: Subject, width: int) -> Figure:  # noqa: ARG001 - every chart is asked so
    """Distribution of the latency of single queries."""
    queries = queries_of(subject.engine)
    if queries is None:
        return Figure((NO_ROWS,))
    ordered = queries.ordered_ms
    data = Distribution(queries, queries.limits_ms(_HISTOGRAM_TAIL_PCT))
    low, high = data.limits_ms
    mean = math.fsum(ordered) / len(ordered)
    words = [
        f"How many queries took how long: {queries.counted}. {percentile_words(ordered, MARKED_PERCENTILES)}; "
        f"min {format_ms(ordered[0])}, mean {format_ms(mean)}, max {format_ms(ordered[-1])} ms."
    ]
    below, above = (sum(value < low for value in ordered), sum(value > high for value in ordered))
    if below or above:
        parts = [
            f"{count} {way} {format_ms(limit)} ms"
            for count, way, limit in ((below, "below", low), (above, "above", high))
            if count
        ]
        words.append(f"Beyond the plot: {' and '.join(parts)}, counted at its edge (▲).")
    return Figure(
        tuple(words),
        queries.left_out,
        lambda part: _paint_histogram(part, data),
        marks_layer=False,
        data=data,
    )


def _paint_histogram(part: Part, data: Distribution) -> None:
    found = data.bins(max(1, part.width - 16))
    top = max(*found.counts, found.below, found.above)
    y = Scale(0.0, float(top), "queries", words=lambda value: f"{value:.0f}")
    x = Scale(found.low, found.high, "")
    bins = len(found.counts)
    area = plot_area(part, x, f"{data.queries.what}, ms", y)
    heights = [found.counts[column * bins // area.width] / top for column in range(area.width)]
    draw_columns(area, heights, [_BARS] * area.width)
    edges = ((0, found.below), (area.width - 2, found.above))
    for column, count in edges:
        if count:
            area.put(column, area.height - 1, "▲▲", WARNING)
    _mark_percentiles(area, data.percentiles_ms, x)


def _mark_percentiles(area: Part, percentiles_ms: Mapping[float, float], x: Scale) -> None:
    """A line from top to bottom for each, its name at the top; names that would touch stand below each other."""
    free = [0] * area.height
    for pct, value in percentiles_ms.items():
        column, label = x.cell(value, area.width), f"p{pct:g}"
        if not x.low <= value <= x.high:
            area.label(
                area.width if value > x.high else 0, 4, f"{label} {format_ms(value)} ▸", f"bold {_MARK}"
            )
            continue
        for row in range(area.height):
            if area.is_blank(column, row):
                area.put(column, row, "┊", _MARK)
            else:
                area.restyle(column, row, _MARK)
        row = next((row for row in range(min(4, area.height)) if free[row] <= column), 0)
        start = min(column + 1, area.width - len(label))
        area.put(start, row, label, f"bold {_MARK}")
        free[row] = start + len(label) + 1


CURVE_PERCENTILES = (50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
_CURVE_POINTS = 160
_LINE, _MARK_PERCENTILES = "$primary", "$accent"


@dataclass(frozen=True, slots=True)
class PercentileCurve:
    """What the chart is of.

    Attributes:
        curve: Places on the stretched axis, and milliseconds.
        points: The named percentiles, and milliseconds.
        what: Which column it is.
    """

    curve: Sequence[tuple[float, float]]
    points: Sequence[tuple[float, float]]
    what: str

    def scales(self) -> tuple[Scale, Scale]:
        """Both axes; the horizontal one is of stretched percentiles."""
        low, high = min(value for _, value in self.curve), max(value for _, value in self.curve)
        margin = (high - low) * 0.08 or max(high * 0.05, 1e-6)
        x = Scale(self.curve[0][0], self.curve[-1][0], "percentile, stretched towards 100")
        return x, Scale(low - margin, high + margin, f"{self.what}, ms")

    def ticks(self, x: Scale) -> list[Tick]:
        """The named percentiles."""
        return [(x.fraction(stretched(pct)), f"p{pct:g}") for pct, _ in self.points]


def stretched(pct: float) -> float:
    """Place of a percentile on an axis on which 90, 99 and 99.9 are equally far apart."""
    return -math.log10(1.0 - pct / 100.0)


def percentile_figure(subject: Subject, width: int) -> Figure:  # noqa: ARG001
    """Latency against percentile."""
    queries = queries_of(subject.engine)
    if queries is None:
        return _printed_figure(subject.engine)
    last = 99.9 if queries.count >= LEAST_ROWS_OF_P999 else 99.0
    named = [pct for pct in CURVE_PERCENTILES if pct <= last]
    ordered = queries.ordered_ms
    middle, end = percentile(ordered, 50.0), percentile(ordered, last)
    slower = 100.0 * (end / middle - 1.0) if middle > 0 else 0.0
    words = (
        f"The latency that so many percent of the queries stay within: {queries.counted}. "
        f"{percentile_words(ordered, named)}. The slowest in {round(100 / (100 - last))} takes {slower:.1f} % longer "
        "than the median.",
    )
    missing = queries.left_out
    if last < 99.9:
        missing += (f"p99.9 is not shown: it takes {LEAST_ROWS_OF_P999} queries.",)
    first = stretched(50.0)
    steps = [first + (stretched(last) - first) * step / _CURVE_POINTS for step in range(_CURVE_POINTS + 1)]
    curve = [(step, percentile(ordered, 100.0 * (1.0 - 10.0**-step))) for step in steps]
    points = [(pct, percentile(ordered, pct)) for pct in named]
    return _figure(words, missing, PercentileCurve(curve, points, queries.what))


def _figure(words: tuple[str, ...], missing: tuple[str, ...], data: PercentileCurve) -> Figure:
    return Figure(words, missing, lambda part: _paint_percentiles(part, data), marks_layer=False, data=data)


def _printed_figure(engine: Engine) -> Figure:
    """From trtexec's own summary, where there are no rows."""
    printed = printed_performance(engine)
    line = printed.latency if printed else None
    points = []
    if line is not None:
        found = {50.0: line.median_ms, **line.percentiles_ms}
        points = [
            (pct, value) for pct, value in sorted(found.items()) if value is not None and 50 <= pct < 100
        ]
    if printed is None or len(points) < 2:
        return Figure((NO_ROWS,))
    figures = " · ".join(f"p{pct:g} {format_ms(value)}" for pct, value in points)
    words = (f"The latency that so many percent of the queries stay within: {figures} ms.",)
    missing = (
        f"As trtexec printed it ({printed.source}); between the points the line is drawn straight. {NO_ROWS}",
    )
    curve = [(stretched(pct), value) for pct, value in points]
    return _figure(words, missing, PercentileCurve(curve, points, "latency"))


def _paint_percentiles(part: Part, data: PercentileCurve) -> None:
    x, y = data.scales()
    area = plot_area(part, data.ticks(x), x.title, y)
    xs = [x.fraction(step) for step, _ in data.curve]
    draw_curves(area, [Curve(xs, [y.fraction(value) for _, value in data.curve], _LINE)])
    for pct, value in data.points:
        column = min(area.width - 1, int(x.fraction(stretched(pct)) * area.width))
        row = area.height - 1 - y.cell(value, area.height)
        area.put(column, row, "●", _MARK_PERCENTILES)
        label = f"{format_ms(value)}"
        for start, line in (
            (column - len(label) // 2, row - 1),
            (column - len(label) - 1, row),
            (column, row + 1),
        ):
            if area.label(start, line, label, _MARK_PERCENTILES):
                break


_TAIL_PCT = 1.0
"""The outliers are part of the story, unless they are few and lie far out."""
_LINE_OVER_TIME, _MARK_OVER_TIME = "$primary", "$accent"


@dataclass(frozen=True, slots=True)
class Course:
    """What the chart is of: the queries in their order, what is odd about them, and between which values it spreads."""

    queries: Queries
    judged: Stability
    limits_ms: tuple[float, float]

    @property
    def x(self) -> tuple[Sequence[float], str]:
        """The place of each query, and the unit: seconds, or its number where no stamps tell."""
        starts = self.queries.starts_s
        return (starts, "s from the first query") if starts else (range(self.queries.count), "query")

    def scales(self) -> tuple[Scale, Scale]:
        """Both axes."""
        low, high = self.limits_ms
        margin = (high - low) * 0.04 or max(high * 0.05, 1e-6)
        places, unit = self.x
        y = Scale(low - margin, high + margin, f"{self.queries.what}, ms")
        return Scale(float(places[0]), float(places[-1]) or 1.0, unit), y


def over_time_figure(subject: Subject, width: int) -> Figure:  # noqa: ARG001
    """Latency of the queries one after the other, and what is odd about it."""
    queries, judged = queries_of(subject.engine), judgement_of(subject.engine)
    if queries is None or judged is None:
        return Figure((NO_ROWS,))
    data = Course(queries, judged, queries.limits_ms(_TAIL_PCT))
    low, high = data.limits_ms
    beyond = sum(not low <= value <= high for value in queries.values_ms)
    words = [f"Latency of each query: {queries.counted}. {' '.join(judged.sentences)}"]
    if beyond:
        ends = (("▲", queries.ordered_ms[-1] > high), ("▼", queries.ordered_ms[0] < low))
        signs = " ".join(sign for sign, is_there in ends if is_there)
        span = f"{format_ms(queries.ordered_ms[0])} to {format_ms(queries.ordered_ms[-1])}"
        words.append(
            f"{plural(beyond, 'query', 'queries')} beyond the plot stand at its edge ({signs}); all lie from {span} ms."
        )

    def paint(part: Part) -> None:
        _paint_over_time(part, data)

    return Figure(tuple(words), queries.left_out, paint, marks_layer=False, data=data)


def _paint_over_time(part: Part, data: Course) -> None:
    queries, judged = data.queries, data.judged
    x, y = data.scales()
    legend = [Span("━ each query", "$secondary")]
    many = queries.count > 4 * part.width
    if many:
        legend = [Span("⣿ least to most", "$secondary"), Span("  ⠒ median", _LINE_OVER_TIME)]
    marks = _mark_legend(judged)
    area = plot_area(part, x, x.title, y, [*legend, *marks])
    places = [x.fraction(position) for position in data.x[0]]
    xs, ys = extremes(places, queries.values_ms, 2 * area.width) if many else (places, queries.values_ms)
    curves = [Curve(xs, [y.fraction(value) for value in ys], "$secondary")]
    if many:
        xs, ys = column_medians(places, queries.values_ms, area.width)
        curves.append(Curve(xs, [y.fraction(value) for value in ys], _LINE_OVER_TIME))
    curves += _drift_line(judged, y)
    draw_curves(area, curves)
    _mark_edges(area, places, queries.values_ms, data.limits_ms)
    _mark_changes(area, judged, places)


def _mark_legend(judged: Stability) -> list[Span]:
    marks = []
    if judged.drift and judged.drift.found:
        marks.append(Span("  ━ drift", _MARK_OVER_TIME))
    if judged.settling:
        marks.append(Span("  ┊ settling", WARNING))
    return marks


def extremes(
    places: Sequence[float], values: Sequence[float], columns: int
) -> tuple[list[float], list[float]]:
    """The least and the largest value of each of `columns` columns, in the order in which they came.

    Args:
        places: Of the values, 0 to 1, never falling.
    """
    xs: list[float] = []
    ys: list[float] = []
    for start, end in _column_runs(places, columns):
        part = values[start:end]
        least, most = min(part), max(part)
        first, last = sorted((part.index(least), part.index(most)))
        for place in dict.fromkeys((first, last)):
            xs.append(places[start + place])
            ys.append(part[place])
    return xs, ys


def column_medians(
    places: Sequence[float], values: Sequence[float], columns: int
) -> tuple[list[float], list[float]]:
    """The median of the values of each column."""
    runs = _column_runs(places, columns)
    middles = [(places[start] + places[end - 1]) / 2 for start, end in runs]
    return middles, [median(values[start:end]) for start, end in runs]


def _column_runs(places: Sequence[float], columns: int) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    start, column = 0, -1
    for position, place in enumerate(places):
        here = min(columns - 1, int(place * columns))
        if here != column:
            if position:
                runs.append((start, position))
            start, column = position, here
    runs.append((start, len(places)))
    return runs


def drift_ends_ms(judged: Stability) -> tuple[float, float] | None:
    """Where the line of a drift begins and ends; None where there is none."""
    if not judged.drift or not judged.drift.found or judged.median_ms is None:
        return None
    half = 0.75 * judged.drift.change_ms  # it is stated between the middles of the first and the last third
    return judged.median_ms - half, judged.median_ms + half


def _drift_line(judged: Stability, y: Scale) -> list[Curve]:
    ends = drift_ends_ms(judged)
    return [Curve([0.0, 1.0], [y.fraction(end) for end in ends], _MARK_OVER_TIME)] if ends else []


def _mark_edges(
    area: Part, places: Sequence[float], values: Sequence[float], limits: tuple[float, float]
) -> None:
    low, high = limits
    for place, value in zip(places, values, strict=True):
        if value > high or value < low:
            column = min(area.width - 1, int(place * area.width))
            area.put(column, 0 if value > high else area.height - 1, "▲" if value > high else "▼", WARNING)


def changes(judged: Stability, rows: int) -> list[tuple[int, str, str]]:
    """Where the run settles, out of so many rows: row, label, style."""
    marks = []
    if judged.settling and judged.settling.rows < rows:
        marks.append((judged.settling.rows, "settled", WARNING))
    return marks


def _mark_changes(area: Part, judged: Stability, places: Sequence[float]) -> None:
    for row, label, style in changes(judged, len(places)):
        column = min(area.width - 1, int(places[row] * area.width))
        for line in range(area.height):
            if area.is_blank(column, line):
                area.put(column, line, "┊", style)
        area.label(column + 2, area.height - 1, label, style)
