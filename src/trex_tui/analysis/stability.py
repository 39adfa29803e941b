"""Stability of the latencies of a run: drift, spread, outliers and a slow start.

Neighbouring queries are correlated, so drift and spread are judged on medians of consecutive rows, never on single rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

Values: TypeAlias = npt.NDArray[np.float64]

OUTLIER_SCORE = 3.5
"""Modified z-score above which a row is an outlier (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993)."""
OUTLIER_LEAST_PCT = 5.0
"""Minimum distance of an outlier from its level, in percent of the median, to count for the verdict."""
OUTLIER_LEAST_SHARE_PCT = 1.0
"""The verdict is outliers from this share of rows on (they reach the 99th percentile), or from this share of time."""
LEAST_EFFECT_PCT = 2.0
"""A drift below this share of the median does not count; stable runs vary by up to 1.8 %."""
DRIFT_SIGMAS = 6.0
"""Minimum size of a drift in standard errors of the difference between the first and the last third."""
SPREAD_PCT = 5.0
"""The verdict is spread if the medians of ten windows differ by this percentage of the median."""
TIMER_RESOLUTION_MS = 0.0005
"""CUDA events resolve about half a microsecond (documentation of `cudaEventElapsedTime`)."""
LEAST_LEVEL_SHARE_PCT = 15.0
"""Minimum share of the rows of each of two levels."""
LEAST_ROWS = 40
"""Minimum number of rows for drift and spread."""
SCALED_MAD = 1.4826
"""Median absolute deviation times this estimates the standard deviation of a normal distribution."""
_LEVEL_BINS, _LEAST_LEVEL_ROWS, _VALLEY_DEPTH = 24, 200, 0.5
_LEVEL_ROWS, _BLOCK_ROWS, _MOST_BLOCKS = 25, 5, 100
_WINDOWS, _LEAST_WINDOW_ROWS = 10, 10

VERDICTS = {
    "stable": "No finding.",
    "drift": "The medians of the first and the last third differ. Possible causes: warm-up, clocks, throttling.",
    "spread": "The medians of ten windows differ. Possible causes: clocks, throttling, another process.",
    "two levels": "The histogram has two peaks, as of two clock states.",
    "outliers": "Many or expensive rows are far from the level around them.",
    "unknown": f"Fewer than {LEAST_ROWS} rows.",
}
"""Verdict on a run -> meaning; of several findings the most explanatory one."""


class Outliers(NamedTuple):
    """Rows far from the median of the rows around them.

    Attributes:
        count: Rows whose modified z-score exceeds `OUTLIER_SCORE`.
        large: Those of them at least `OUTLIER_LEAST_PCT` away; `large_share_pct` is their share in all rows.
        limit_ms: Smallest distance of an outlier from the level.
        worst_ms, worst_pct: The row farthest from its level, and its distance in percent of the median.
        excess_pct: Time of the large ones beyond their level, in percent of the time of all rows.
        are_significant: Whether they are many or expensive enough for the verdict.
    """

    count: int  # type: ignore[assignment] # a method of tuples, which nobody needs here
    large: int
    large_share_pct: float
    limit_ms: float
    worst_ms: float | None
    worst_pct: float | None
    excess_pct: float
    are_significant: bool


class Drift(NamedTuple):
    """The difference between the last and the first third of a run: medians of the block medians."""

    change_ms: float
    change_pct: float
    is_significant: bool


class Levels(NamedTuple):
    """Two peaks in the histogram: medians of the rows on both sides of the valley, and their distance."""

    low_ms: float
    high_ms: float
    low_share_pct: float
    apart_pct: float


class Settling(NamedTuple):
    """Rows at the start that differ from the rest: the warm-up was too short. `lasts_s` is None without stamps."""

    rows: int
    lasts_s: float | None
    change_pct: float


class Stability(NamedTuple):
    """Stability of the latency of a run; parts are None if there are too few rows, or nothing was found.

    Attributes:
        verdict: A key of `VERDICTS`.
        blocks: Number of blocks used for the drift; 0 if there are too few rows.
        resolution_ms: Smallest difference that the file can show, and lower limit of every estimate of noise.
        windows_range_pct: Range of the medians of ten windows in percent of the median.
    """

    verdict: str
    rows: int
    blocks: int
    median_ms: float | None
    resolution_ms: float
    windows_range_pct: float | None = None
    outliers: Outliers | None = None
    drift: Drift | None = None
    settling: Settling | None = None
    levels: Levels | None = None


def judge_stability(times_ms: pd.Series, starts_ms: pd.Series) -> Stability:
    """Judge the latencies of consecutive queries, without warm-up.

    Args:
        times_ms: In order of the queries; missing ones are skipped.
        starts_ms: Start of each query; durations are given if all are known and in order.
    """
    starts = starts_ms[times_ms.notna()].to_numpy(float, na_value=math.nan)
    values = times_ms.dropna().to_numpy(float)
    if not len(values):
        return Stability("unknown", 0, 0, None, TIMER_RESOLUTION_MS)
    median = float(np.median(values))
    resolution, outliers = resolution_ms(median), find_outliers(values)
    if len(values) < LEAST_ROWS:
        verdict = "outliers" if outliers.are_significant else "unknown"
        return Stability(verdict, len(values), 0, median, resolution, outliers=outliers)
    medians = block_medians(values, min(_MOST_BLOCKS, len(values) // _BLOCK_ROWS))
    windows = block_medians(values, _WINDOWS)
    spread_pct = 100.0 * float(np.ptp(windows)) / median if median > 0 else 0.0
    drift, levels = _find_drift(medians, median, resolution), _find_levels(values, median)
    is_spread = spread_pct >= SPREAD_PCT and len(values) >= _WINDOWS * _LEAST_WINDOW_ROWS
    found = (
        ("drift", drift.is_significant),
        ("spread", is_spread),
        ("outliers", outliers.are_significant),
        ("two levels", levels is not None),
    )
    return Stability(
        verdict=next((word for word, is_found in found if is_found), "stable"),
        rows=len(values),
        blocks=len(medians),
        median_ms=median,
        resolution_ms=resolution,
        windows_range_pct=spread_pct,
        outliers=outliers,
        drift=drift,
        settling=_find_settling(values, starts, medians, median, resolution),
        levels=levels,
    )


def resolution_ms(time_ms: float) -> float:
    """Return the smallest difference visible at a time of this size: the timer's, or the sixth digit of trtexec."""
    if time_ms <= 0.0:
        return TIMER_RESOLUTION_MS
    return max(TIMER_RESOLUTION_MS, 10.0 ** (math.floor(math.log10(time_ms)) - 5))


def timer_tick_ms(values: Values) -> float:
    """Return the smallest difference in the times of a run: as `resolution_ms`, or the step in which they repeat."""
    if not len(values):
        return TIMER_RESOLUTION_MS
    finest, steps = resolution_ms(float(np.median(values))), np.diff(np.unique(values))
    is_repeating = len(steps) and len(steps) < len(values) // 4
    return max(finest, float(np.median(steps))) if is_repeating else finest


def block_bounds(rows: int, blocks: int) -> npt.NDArray[np.int64]:
    """Return the first rows of consecutive blocks of equal size, give or take a row, and the end."""
    return np.arange(blocks + 1) * rows // blocks


def block_medians(values: Values, blocks: int) -> Values:
    """Return the median of each of consecutive blocks."""
    bounds = block_bounds(len(values), blocks)
    return np.array([np.median(part) for part in np.split(values, bounds[1:-1])])


def find_outliers(values: Values) -> Outliers:
    """Find outliers among at least one value in order, by modified z-scores of the distances from the rows around."""
    rows, median = len(values), float(np.median(values))
    blocks = max(1, min(_MOST_BLOCKS, rows // _LEVEL_ROWS))
    sizes = np.diff(block_bounds(rows, blocks))
    away = values - np.repeat(block_medians(values, blocks), sizes)
    # Quantized times repeat their median, and their deviation may be 0.
    limit = OUTLIER_SCORE * max(float(np.median(np.abs(away))), resolution_ms(median)) / 0.6745
    far = np.abs(away) > limit
    large = far & (np.abs(away) >= median * OUTLIER_LEAST_PCT / 100.0)
    worst = int(np.where(far, np.abs(away), -1.0).argmax()) if far.any() else None
    total, share_pct = float(values.sum()), 100.0 * float(large.mean())
    excess_pct = 100.0 * float(away[large].sum()) / total if total > 0 else 0.0
    are_many = large.sum() > 1 and share_pct >= OUTLIER_LEAST_SHARE_PCT
    return Outliers(
        count=int(far.sum()),
        large=int(large.sum()),
        large_share_pct=share_pct,
        limit_ms=limit,
        worst_ms=None if worst is None else float(values[worst]),
        worst_pct=None if worst is None else 100.0 * float(away[worst]) / median if median > 0 else 0.0,
        excess_pct=excess_pct,
        are_significant=bool(are_many or excess_pct >= OUTLIER_LEAST_SHARE_PCT),
    )


def _find_drift(medians: Values, median: float, resolution: float) -> Drift:
    third = len(medians) // 3
    first, last = medians[:third], medians[-third:]
    change = float(np.median(last) - np.median(first))
    rest = np.concatenate([first - np.median(first), last - np.median(last)])
    noise = math.sqrt(float((rest**2).sum()) / (len(rest) - 2))
    error = max(noise, resolution) * math.sqrt(2.0 / third)
    change_pct = 100.0 * change / median if median > 0 else 0.0
    return Drift(
        change, change_pct, abs(change_pct) >= LEAST_EFFECT_PCT and abs(change) > DRIFT_SIGMAS * error
    )


def _find_settling(
    values: Values, starts: Values, medians: Values, median: float, resolution: float
) -> Settling | None:
    """Find blocks before the first one at the level of the rest: modified z-score and `LEAST_EFFECT_PCT`."""
    centre = float(np.median(medians))
    scatter = SCALED_MAD * max(float(np.median(np.abs(medians - centre))), resolution)
    reach = max(OUTLIER_SCORE * scatter, median * LEAST_EFFECT_PCT / 100.0)
    at_level = np.abs(medians - centre) <= reach
    apart = int(at_level.argmax())
    if not apart:
        return None
    rows = int(block_bounds(len(values), len(medians))[apart])
    is_rising = bool((np.diff(starts) >= 0).all())  # False for a missing stamp
    lasts_s = float(starts[rows] - starts[0]) / 1000.0 if is_rising else None
    return Settling(rows, lasts_s, 100.0 * float(medians[0] - centre) / median if median > 0 else 0.0)


def _find_levels(values: Values, median: float) -> Levels | None:
    """Find two peaks of the histogram with a valley between: both with `LEAST_LEVEL_SHARE_PCT` of the rows or more, and
    `LEAST_EFFECT_PCT` apart. Bins are smoothed over three.
    """
    ordered, rows = np.sort(values), len(values)
    low, high = (
        float(ordered[max(rows - 1 - int(round(rows * left / 100.0, 6)), 0)]) for left in (99.0, 1.0)
    )
    if rows < _LEAST_LEVEL_ROWS or median <= 0 or 100.0 * (high - low) / median < LEAST_EFFECT_PCT:
        return None
    shown = ordered[(ordered >= low) & (ordered <= high)]
    # Bins are at least as wide as a timer step: otherwise empty bins between the steps would look like valleys.
    step = float(np.median(np.diff(np.unique(shown))))
    bins = max(1, min(_LEVEL_BINS, round((high - low) / step)))
    places = np.minimum(((shown - low) / (high - low) * bins).astype(int), bins - 1)
    smooth = (
        np.convolve(np.bincount(places, minlength=bins), np.ones(3) / 3, mode="same")
        if bins > 1
        else np.ones(1)
    )
    humps = [min(smooth[:place].max(), smooth[place + 1 :].max()) for place in range(1, bins - 1)]
    valleys = [(smooth[place] / hump, place) for place, hump in enumerate(humps, 1) if hump]
    depth, valley = min(valleys, default=(1.0, 0))
    below = int(np.searchsorted(ordered, low + (valley + 0.5) * (high - low) / bins))
    share_pct = 100.0 * below / rows
    if depth > _VALLEY_DEPTH or not LEAST_LEVEL_SHARE_PCT <= share_pct <= 100.0 - LEAST_LEVEL_SHARE_PCT:
        return None
    lower, upper = float(np.median(ordered[:below])), float(np.median(ordered[below:]))
    apart_pct = 100.0 * (upper - lower) / median
    return Levels(lower, upper, share_pct, apart_pct) if apart_pct >= LEAST_EFFECT_PCT else None
