"""Small robust statistics, in plain Python: order statistics, trend, change points, two modes.

Everything here is a pure function of numbers without units; nothing is worse than n log n in the rows. The quadratic ones
(`theil_sen`, `mann_kendall`, `change_points`) are meant for at most a few hundred block medians.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

SCALED_MAD = 1.4826
"""Median absolute deviation times this estimates the standard deviation of a normal distribution."""

_OTSU_BINS = 256
_TAIL = 0.005
_MOST_TRIMS = 4


def median_of_sorted(ordered: Sequence[float]) -> float:
    """Middle value, or the mean of the two in the middle, of at least one sorted value."""
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def median(values: Sequence[float]) -> float:
    """Median of at least one value, in any order."""
    return median_of_sorted(sorted(values))


def percentile(ordered: Sequence[float], pct: float) -> float:
    """Percentile of at least one sorted value: the one at index `n - 1 - int(n * (100 - pct) / 100)`.

    trtexec's definition (sampleReporting.cpp, `findPercentile`), exactly; it computes the index in single precision and so
    may take the next value where `n * (100 - pct) / 100` is whole.
    """
    count = len(ordered)
    left_out = int(round(count * (100.0 - pct) / 100.0, 6))
    return ordered[max(count - 1 - left_out, 0)]


def standard_deviation(values: Sequence[float], mean: float) -> float:
    """Population standard deviation around a known mean, as trtexec takes it (`findCoeffOfVariance`)."""
    return math.sqrt(math.fsum([(value - mean) ** 2 for value in values]) / len(values))


def mad(values: Sequence[float], centre: float) -> float:
    """Median absolute deviation from `centre`."""
    return median([abs(value - centre) for value in values])


def modified_z_limit(deviations: Sequence[float], limit: float, resolution: float) -> float:
    """How far from 0 a deviation may lie before its modified z-score exceeds `limit`.

    The score is `0.6745 * deviation / MAD`. The MAD is taken as at least `resolution`: quantised times repeat their median,
    and their MAD may be 0. Source: Iglewicz and Hoaglin, How to Detect and Handle Outliers (1993); they advise 3.5.
    """
    return limit * max(mad(deviations, 0.0), resolution) / 0.6745


def block_bounds(rows: int, blocks: int) -> list[tuple[int, int]]:
    """Cut `rows` rows into `blocks` consecutive blocks of equal size, give or take a row: (first, one past the last)."""
    return [(block * rows // blocks, (block + 1) * rows // blocks) for block in range(blocks)]


def block_medians(values: Sequence[float], blocks: int) -> list[float]:
    """Median of each of `blocks` consecutive blocks."""
    return [median(values[first:end]) for first, end in block_bounds(len(values), blocks)]


def theil_sen(values: Sequence[float]) -> float:
    """Slope per step of equally spaced values: the median of the slopes of all pairs. 0 for fewer than two values.

    Sources: Theil (1950); Sen, Journal of the American Statistical Association 63 (1968) 1379.
    """
    slopes = [
        (later - earlier) / distance
        for first, earlier in enumerate(values)
        for distance, later in enumerate(values[first + 1 :], start=1)
    ]
    return median(slopes) if slopes else 0.0


def lag_one(values: Sequence[float]) -> float:
    """Autocorrelation at lag 1; 0 for constant values or fewer than three."""
    if len(values) < 3:
        return 0.0
    mean = math.fsum(values) / len(values)
    deviations = [value - mean for value in values]
    variance = math.fsum([value * value for value in deviations])
    if variance <= 0.0:
        return 0.0
    return math.fsum([one * two for one, two in pairwise(deviations)]) / variance


def variance_inflation(correlation: float, count: int) -> float:
    """By what the variance of a mean of `count` values grows if they follow each other with this lag-1 correlation.

    `1 + 2 * sum((1 - k/n) * r^k)`, at least 1. Source: Yue and Wang, Water Resources Management 18 (2004) 201.
    """
    if correlation <= 0.0:
        return 1.0
    return 1.0 + 2.0 * math.fsum([(1.0 - lag / count) * correlation**lag for lag in range(1, count)])


def mann_kendall(values: Sequence[float], correlation: float = 0.0) -> float:
    """Two-sided p-value of the Mann–Kendall test that equally spaced values have no monotone trend.

    Ties are counted; the variance of S is multiplied by `variance_inflation` of the lag-1 correlation that the values have
    beside a trend. Sources: Mann, Econometrica 13 (1945) 245; Kendall, Rank Correlation Methods (1975); Yue and Wang (2004).
    """
    count = len(values)
    score = sum(
        (later > earlier) - (later < earlier)
        for first, earlier in enumerate(values)
        for later in values[first + 1 :]
    )
    ties: dict[float, int] = {}
    for value in values:
        ties[value] = ties.get(value, 0) + 1
    variance = count * (count - 1) * (2 * count + 5) / 18.0
    variance -= sum(size * (size - 1) * (2 * size + 5) for size in ties.values()) / 18.0
    variance *= variance_inflation(correlation, count)
    if variance <= 0.0 or not score:
        return 1.0
    return math.erfc((abs(score) - 1) / math.sqrt(2.0 * variance))


def noise_of_differences(values: Sequence[float]) -> float:
    """Standard deviation of the noise of a level that rarely changes: scaled MAD of the differences, over √2."""
    if len(values) < 2:
        return 0.0
    differences = [later - earlier for earlier, later in pairwise(values)]
    return SCALED_MAD * mad(differences, 0.0) / math.sqrt(2.0)


def change_points(values: Sequence[float], penalty: float, shortest: int) -> list[int]:
    """Where the level of a series changes: the index of the first value of each level but the first.

    Optimal partitioning: of all ways to cut the series into levels of at least `shortest` values, the one with the least sum
    of squared deviations from the mean of each level, plus `penalty` per cut. Quadratic in the values. Source: Jackson et
    al., IEEE Signal Processing Letters 12 (2005) 105 (the exact form of binary segmentation).
    """
    count = len(values)
    centre = values[0] if values else 0.0
    sums, squares = [0.0], [0.0]
    for value in values:
        sums.append(sums[-1] + value - centre)
        squares.append(squares[-1] + (value - centre) ** 2)
    best = [math.inf] * (count + 1)
    best[0] = -penalty
    start_of = [0] * (count + 1)
    for end in range(shortest, count + 1):
        for start in range(end - shortest + 1):
            if best[start] == math.inf:
                continue
            total = sums[end] - sums[start]
            cost = best[start] + squares[end] - squares[start] - total * total / (end - start) + penalty
            if cost < best[end]:
                best[end], start_of[end] = cost, start
    cuts = []
    end = count if best[count] < math.inf else 0
    while end := start_of[end]:
        cuts.append(end)
    return cuts[::-1]


@dataclass(frozen=True, slots=True)
class TwoModes:
    """Two clusters of a sample.

    Attributes:
        low, high: Median of each cluster.
        low_share, high_share: Share of the sample in each, of 1; what was trimmed belongs to neither.
        ashman_d: `√2·|m1 - m2| / √(s1² + s2²)` with median and scaled MAD in place of mean and deviation; infinite if both
            clusters are constant.
        valley: Density between the clusters over that at the smaller peak; two hills have a value well below 1.
    """

    low: float
    high: float
    low_share: float
    high_share: float
    ashman_d: float
    valley: float


def two_modes(ordered: Sequence[float], least_share: float) -> TwoModes | None:
    """Split a sorted sample in two by Otsu's threshold; None for a constant one.

    Half a percent at either end is trimmed. A cluster smaller than `least_share` is not a mode but a tail: it is dropped
    and the rest split again, a few times. Hard clusters of one normal hill have D = 2.7, so D alone does not tell two hills
    from one: `valley` must be looked at as well. Sources: Otsu, IEEE Transactions on Systems, Man and Cybernetics 9 (1979)
    62; Ashman, Bird and Zepf, Astronomical Journal 108 (1994) 2348 (D > 2 for a clean separation).
    """
    tail = int(len(ordered) * _TAIL)
    first, end = tail, len(ordered) - tail
    found = None
    for _ in range(_MOST_TRIMS):
        cut = _otsu_cut(ordered, first, end)
        if cut is None:
            return found
        found = _modes_at(ordered, first, cut, end)
        if min(found.low_share, found.high_share) >= least_share:
            return found
        first, end = (first, cut) if cut - first > end - cut else (cut, end)
    return found


def _otsu_cut(ordered: Sequence[float], first: int, end: int) -> int | None:
    """Index of the first value of the upper cluster, with the largest variance between the clusters."""
    low, high = ordered[first], ordered[end - 1]
    width = (high - low) / _OTSU_BINS
    if not width > 0.0:
        return None
    edges = [bisect_right(ordered, low + width * place, first, end) for place in range(1, _OTSU_BINS)]
    total = math.fsum(ordered[first:end]) - low * (end - first)
    best, chosen = -1.0, None
    below, done = 0.0, first
    for edge in edges:
        below += math.fsum(ordered[done:edge]) - low * (edge - done)
        done = edge
        lower, upper = edge - first, end - edge
        if lower <= 0 or upper <= 0:
            continue
        between = lower * upper * ((total - below) / upper - below / lower) ** 2
        if between > best:
            best, chosen = between, edge
    return chosen


def _modes_at(ordered: Sequence[float], first: int, cut: int, end: int) -> TwoModes:
    lower, upper = ordered[first:cut], ordered[cut:end]
    low, high = median_of_sorted(lower), median_of_sorted(upper)
    spread = SCALED_MAD * math.hypot(mad(lower, low), mad(upper, high))
    distance = high - low

    def mass(centre: float) -> int:
        reach = distance / 4.0
        return bisect_left(ordered, centre + reach, first, end) - bisect_left(
            ordered, centre - reach, first, end
        )

    peak = min(mass(low), mass(high))
    return TwoModes(
        low=low,
        high=high,
        low_share=(cut - first) / len(ordered),
        high_share=(end - cut) / len(ordered),
        ashman_d=math.sqrt(2.0) * distance / spread if spread > 0.0 else math.inf,
        valley=mass((low + high) / 2.0) / peak if peak else math.inf,
    )
