"""How the latencies of single queries are distributed."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from trex_tui.analysis.robust import percentile
from trex_tui.charts.axes import Scale, plot_area
from trex_tui.charts.bars import draw_columns
from trex_tui.charts.figure import WARNING, Figure, Subject
from trex_tui.charts.grid import Part
from trex_tui.charts.queries import NO_ROWS, Queries, limits_of, percentile_words, queries_of
from trex_tui.text import format_ms

MARKED_PERCENTILES = (50.0, 90.0, 95.0, 99.0)
_TAIL_PCT = 5.0
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
    return histogram(ordered, limits_of(ordered, _TAIL_PCT), _MOST_BINS)


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
    data = Distribution(queries, queries.limits_ms(_TAIL_PCT))
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
