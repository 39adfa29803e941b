"""Reduce many values to few positions: columns shared by several values, and bins."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from trex_tui.old.analysis.statistics import median, percentile
from trex_tui.old.report.charts.figure import PRIMARY, SECONDARY, Bins, Scale, Series

EXTREMES = Series("least to most", (), SECONDARY, "⣿", is_faint=True)
MEDIANS = Series("median", (), PRIMARY, "⠒")
"""Replacement for a series with more points than columns."""
_LEAST_BINS = 10
_MOST_STEPS = 200


def column_starts(count: int, width: int) -> list[int]:
    """Return the start of each column's values if `count` values share `width` columns, and the end of the last.

    With fewer values than columns each value has several; then the starts are those of the values.
    """
    if count <= width:
        return list(range(count + 1))
    return [-(-column * count // width) for column in range(width + 1)]


def column_span(index: int, count: int, width: int) -> tuple[int, int]:
    """Return the first column of a value and the one after its last: several columns for few values, one for many."""
    start = index * width // count
    return start, max(start + 1, (index + 1) * width // count)


def index_at(column: int, count: int, width: int) -> int:
    """Return the value in a column, the first of several: the inverse of `column_span`."""
    return -(-column * count // width) if count > width else -(-(column + 1) * count // width) - 1


def largest_of_columns(values: Sequence[float], width: int) -> list[int]:
    """Return the index of the largest value in each of at most `width` runs of neighbours, which is shown in their column."""
    starts = column_starts(len(values), width)
    return [max(range(start, end), key=values.__getitem__) for start, end in pairwise(starts)]


def column_extremes(
    xs: Sequence[float], values: Sequence[float], columns: int
) -> tuple[list[float], list[float]]:
    """Return the smallest and the largest value of each of `columns` columns, in their original order.

    Args:
        xs: Positions of the values, 0 to 1, ascending.
    """
    across: list[float] = []
    extremes: list[float] = []
    for start, end in _column_runs(xs, columns):
        part = values[start:end]
        first, last = sorted((part.index(min(part)), part.index(max(part))))
        for index in dict.fromkeys((first, last)):
            across.append(xs[start + index])
            extremes.append(part[index])
    return across, extremes


def column_medians(
    xs: Sequence[float], values: Sequence[float], columns: int
) -> tuple[list[float], list[float]]:
    """Return the median of the values of each column."""
    runs = _column_runs(xs, columns)
    middles = [(xs[start] + xs[end - 1]) / 2 for start, end in runs]
    return middles, [median(values[start:end]) for start, end in runs]


def sample_series(series: Series, x: Scale, extremes: int, medians: int) -> list[Series]:
    """Return the extremes and the medians of a series for a number of columns."""
    places = [x.fraction(point[0]) for point in series.points]
    values = [point[1] for point in series.points]
    sampled = (
        (EXTREMES, column_extremes(places, values, extremes)),
        (MEDIANS, column_medians(places, values, medians)),
    )
    return [
        replace(
            shown, points=[(x.low + at * (x.high - x.low), value) for at, value in zip(*columns, strict=True)]
        )
        for shown, columns in sampled
    ]


def _column_runs(xs: Sequence[float], columns: int) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    start, column = 0, -1
    for index, x in enumerate(xs):
        here = min(columns - 1, int(x * columns))
        if here != column:
            if index:
                runs.append((start, index))
            start, column = index, here
    runs.append((start, len(xs)))
    return runs


def count_bins(ordered: Sequence[float], limits: tuple[float, float], most_bins: int) -> Bins:
    """Count sorted values in bins by the rule of Freedman and Diaconis.

    Values in steps, such as those of a timer, get bins of whole steps: other bins would hold varying numbers of steps.

    Args:
        limits: Values beyond them are counted as below or above.
        most_bins: Maximum number of bins.
    """
    low, high = limits
    quartiles = percentile(ordered, 75.0) - percentile(ordered, 25.0)
    rule = 2.0 * quartiles / len(ordered) ** (1 / 3)
    span = high - low or max(abs(high) * 1e-3, 1e-6)
    bins = max(1, min(max(round(span / rule) if rule > 0 else _LEAST_BINS, _LEAST_BINS), most_bins))
    width = span / bins
    step = find_step(ordered)
    if step:
        width = max(1, math.ceil(width / step - 1e-6)) * step
        low -= step / 2
        bins = max(1, math.ceil((high - low) / width))
    start, end = bisect_left(ordered, limits[0]), bisect_right(ordered, high)
    counts = [0] * bins
    for value in ordered[start:end]:
        counts[min(bins - 1, int((value - low) / width))] += 1
    return Bins(low, width, tuple(counts), start, len(ordered) - end)


def find_step(ordered: Sequence[float]) -> float:
    """Return the step of sorted values, if they are few different ones in equal steps; else 0."""
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
