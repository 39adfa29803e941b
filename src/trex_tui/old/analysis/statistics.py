"""Robust statistics in plain Python: pure functions of numbers without units, at most n log n."""

from __future__ import annotations

import math
from collections.abc import Sequence

SCALED_MAD = 1.4826
"""Median absolute deviation times this estimates the standard deviation of a normal distribution."""


def median_of_sorted(ordered: Sequence[float]) -> float:
    """Return the middle value, or the mean of the two in the middle, of at least one sorted value."""
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def median(values: Sequence[float]) -> float:
    """Return the median of at least one value, in any order."""
    return median_of_sorted(sorted(values))


def percentile(ordered: Sequence[float], pct: float) -> float:
    """Return the percentile of at least one sorted value: the value at index `n - 1 - int(n * (100 - pct) / 100)`.

    This is trtexec's definition (sampleReporting.cpp, `findPercentile`); it computes the index in single precision and so may
    use the next value if `n * (100 - pct) / 100` is whole.
    """
    count = len(ordered)
    left_out = int(round(count * (100.0 - pct) / 100.0, 6))
    return ordered[max(count - 1 - left_out, 0)]


def standard_deviation(values: Sequence[float], mean: float) -> float:
    """Return the population standard deviation around a known mean, as in trtexec (`findCoeffOfVariance`)."""
    return math.sqrt(math.fsum([(value - mean) ** 2 for value in values]) / len(values))


def mad(values: Sequence[float], centre: float) -> float:
    """Return the median absolute deviation from `centre`."""
    return median([abs(value - centre) for value in values])


def modified_z_limit(deviations: Sequence[float], limit: float, resolution: float) -> float:
    """Return the deviation from 0 above which the modified z-score exceeds `limit`.

    The score is `0.6745 * deviation / MAD`. The MAD is at least `resolution`: quantized times repeat their median, and their
    MAD may be 0. Source: Iglewicz and Hoaglin, How to Detect and Handle Outliers (1993); they recommend 3.5.
    """
    return limit * max(mad(deviations, 0.0), resolution) / 0.6745


def block_bounds(rows: int, blocks: int) -> list[tuple[int, int]]:
    """Split `rows` rows into `blocks` consecutive blocks of equal size, give or take a row: (first, one past the last)."""
    return [(block * rows // blocks, (block + 1) * rows // blocks) for block in range(blocks)]


def block_medians(values: Sequence[float], blocks: int) -> list[float]:
    """Return the median of each of `blocks` consecutive blocks."""
    return [median(values[first:end]) for first, end in block_bounds(len(values), blocks)]
