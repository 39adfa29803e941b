"""Stability of the latencies of a run: drift, spread, outliers and a slow start, in numbers and in sentences.

Neighbouring queries are correlated, so drift and spread are judged on medians of consecutive rows, never on single rows.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from trex_tui.old.analysis.statistics import (
    SCALED_MAD,
    block_bounds,
    block_medians,
    mad,
    median,
    median_of_sorted,
    modified_z_limit,
    percentile,
)
from trex_tui.old.analysis.thresholds import OUTLIER_LEAST_PCT, OUTLIER_SCORE
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import plural

LEAST_EFFECT_PCT = 2.0
"""A drift below this share of the median does not count; stable runs vary by up to 1.8 %."""

DRIFT_SIGMAS = 6.0
"""Minimum size of a drift in standard errors of the difference between the first and the last third."""

SPREAD_PCT = 5.0
"""The verdict is spread if the medians of ten windows differ by this percentage of the median."""

OUTLIER_LEAST_SHARE_PCT = 1.0
"""The verdict is outliers from this share of rows on (they reach the 99th percentile), or from this share of time."""

TIMER_RESOLUTION_MS = 0.0005
"""CUDA events resolve about half a microsecond (documentation of `cudaEventElapsedTime`)."""

_LEAST_REPEATS = 4
"""Rows per distinct time from which the steps between the times are those of the timer."""

LEAST_LEVEL_SHARE_PCT = 15.0
"""Minimum share of the rows of each of two levels."""
_LEVEL_BINS = 24
_LEAST_LEVEL_ROWS = 200
_VALLEY_DEPTH = 0.5
"""Maximum height of the valley between two levels, relative to the lower peak."""
_LEVEL_ROWS = 25
_MOST_LEVELS = 100
_MOST_BLOCKS = 100
_LEAST_BLOCKS = 8
_LEAST_BLOCK_ROWS = 5
_WINDOWS = 10
_LEAST_WINDOW_ROWS = 10
"""Medians of fewer rows differ by chance."""
_LEAST_PCT_SHOWN = 0.01
LEAST_ROWS = _LEAST_BLOCKS * _LEAST_BLOCK_ROWS
"""Minimum number of rows for drift and spread."""


class Steadiness(str, Enum):
    """Verdict on a run; if there are several findings, the most explanatory one."""

    STABLE = "stable"
    DRIFT = "drift"
    SPREAD = "spread"
    LEVELS = "two levels"
    OUTLIERS = "outliers"
    UNKNOWN = "unknown"
    """Too few rows."""


@dataclass(frozen=True, slots=True)
class Outliers:
    """Rows far from the level around them.

    Attributes:
        count: Rows whose modified z-score exceeds `OUTLIER_SCORE`; the level is the median of the rows around them.
        large: Those of them at least `OUTLIER_LEAST_PCT` away.
        large_share_pct: Share of `large` in all rows.
        limit_ms: Smallest distance of an outlier from the level.
        worst_ms: Latency of the row farthest from its level; None without outliers.
        worst_pct: Its distance from the level, in percent of the median.
        excess_pct: Time of the large ones beyond their level, in percent of the time of all rows.
        are_significant: Whether they are many or expensive enough for the verdict.
    """

    count: int
    large: int
    large_share_pct: float
    limit_ms: float
    worst_ms: float | None
    worst_pct: float | None
    excess_pct: float
    are_significant: bool


class Drift(NamedTuple):
    """The difference between the last and the first third of a run: medians of the block medians.

    Attributes:
        change_ms, change_pct: Percent of the median of the run.
        is_significant: The change exceeds `LEAST_EFFECT_PCT`, and `DRIFT_SIGMAS` standard errors.
    """

    change_ms: float
    change_pct: float
    is_significant: bool


class Levels(NamedTuple):
    """Two peaks in the histogram, as caused by two clock states.

    Attributes:
        low_ms, high_ms: Medians of the rows on both sides of the valley between the peaks.
        low_share_pct: Share of the rows of the lower one.
        apart_pct: Distance of the medians, in percent of the median of the run.
    """

    low_ms: float
    high_ms: float
    low_share_pct: float
    apart_pct: float


class Settling(NamedTuple):
    """Blocks at the start that differ from the rest: the warm-up was too short.

    Attributes:
        rows: Number of rows.
        lasts_s: Duration in seconds; None without stamps.
        change_pct: Median of the first block compared with the median of the run.
    """

    rows: int
    lasts_s: float | None
    change_pct: float


class Stability(NamedTuple):
    """Stability of the latency of a run.

    Attributes:
        verdict: The verdict.
        sentences: Findings and their possible causes, the finding of the verdict first.
        rows: Rows with a latency.
        blocks: Number of blocks used for the drift; 0 if there are too few rows.
        median_ms: None without rows.
        resolution_ms: Smallest difference that the file can show, and lower limit of every estimate of noise.
        windows_range_pct: The spread: range of the medians of ten windows in percent of the median; None below `LEAST_ROWS`
            rows.
        outliers: None without rows.
        drift: None if there are too few rows.
        settling: None if the run starts at its level.
        levels: None if there is one level.
    """

    verdict: Steadiness
    sentences: tuple[str, ...]
    rows: int
    blocks: int
    median_ms: float | None
    resolution_ms: float
    windows_range_pct: float | None = None
    outliers: Outliers | None = None
    drift: Drift | None = None
    settling: Settling | None = None
    levels: Levels | None = None


class _Run(NamedTuple):
    """Values in order, their start stamps if all are known, and values shared by all methods."""

    values: Sequence[float]
    starts_ms: Sequence[float] | None
    median: float
    resolution: float

    def pct(self, difference: float) -> float:
        return 100.0 * difference / self.median if self.median > 0 else 0.0

    def seconds_to(self, row: int) -> float | None:
        return None if self.starts_ms is None else (self.starts_ms[row] - self.starts_ms[0]) / 1000.0


def resolution_ms(time_ms: float) -> float:
    """Return the smallest difference visible at a time of this size: the timer's, or the sixth digit of trtexec."""
    if time_ms <= 0.0:
        return TIMER_RESOLUTION_MS
    return max(TIMER_RESOLUTION_MS, 10.0 ** (math.floor(math.log10(time_ms)) - 5))


def timer_tick_ms(ordered: Sequence[float]) -> float:
    """Return the smallest difference in sorted times of a run: as `resolution_ms`, or the step in which they repeat."""
    if not ordered:
        return TIMER_RESOLUTION_MS
    finest = resolution_ms(median_of_sorted(ordered))
    different = [late - early for early, late in pairwise(ordered) if late > early]
    if not different or len(different) >= len(ordered) // _LEAST_REPEATS:
        return finest
    return max(finest, median(different))


def stability(values_ms: Sequence[float], starts_ms: Sequence[float] | None = None) -> Stability:
    """Judge the latencies of consecutive queries, without warm-up.

    Args:
        values_ms: In order of the queries; NaN rows are skipped.
        starts_ms: Start of each query, as long as `values_ms`; positions are given in seconds if all are known and in
            order.
    """
    known = [row for row, value in enumerate(values_ms) if not math.isnan(value)]
    if len(known) < len(values_ms):
        values_ms = [values_ms[row] for row in known]
        starts_ms = None if starts_ms is None else [starts_ms[row] for row in known]
    if not known:
        return Stability(Steadiness.UNKNOWN, ("No latencies in the rows.",), 0, 0, None, TIMER_RESOLUTION_MS)
    if starts_ms is not None and (len(starts_ms) != len(known) or not is_rising(starts_ms)):
        starts_ms = None
    middle = median_of_sorted(sorted(values_ms))
    run = _Run(values_ms, starts_ms, middle, resolution_ms(middle))
    outliers = _outliers(run)
    if len(known) < LEAST_ROWS:
        return _judge_few_rows(run, outliers)
    blocks = min(_MOST_BLOCKS, len(known) // _LEAST_BLOCK_ROWS)
    medians = block_medians(values_ms, blocks)
    windows = block_medians(values_ms, _WINDOWS)
    spread_pct = run.pct(max(windows) - min(windows))
    drift, levels = _find_drift(run, medians), _find_levels(run)
    verdict = _verdict(drift, spread_pct, outliers, len(known))
    result = Stability(
        verdict=Steadiness.LEVELS if levels and verdict is Steadiness.STABLE else verdict,
        sentences=(),
        rows=len(known),
        blocks=blocks,
        median_ms=middle,
        resolution_ms=run.resolution,
        windows_range_pct=spread_pct,
        outliers=outliers,
        drift=drift,
        settling=_find_settling(run, medians),
        levels=levels,
    )
    return result._replace(sentences=_sentences(result))


def is_rising(stamps_ms: Sequence[float]) -> bool:
    """Return whether there are stamps, all are known and none is earlier than its predecessor."""
    is_known = len(stamps_ms) > 0 and stamps_ms[0] == stamps_ms[0]
    return is_known and all(early <= late for early, late in pairwise(stamps_ms))


def _judge_few_rows(run: _Run, outliers: Outliers) -> Stability:
    rows = len(run.values)
    few = f"{plural(rows, 'row')}: too few for drift and spread (need {LEAST_ROWS})."
    sentences = [_outlier_sentence(outliers, rows)] if outliers.large else []
    verdict = Steadiness.OUTLIERS if outliers.are_significant else Steadiness.UNKNOWN
    return Stability(verdict, (*sentences, few), rows, 0, run.median, run.resolution, outliers=outliers)


def _verdict(drift: Drift, spread_pct: float, outliers: Outliers, rows: int) -> Steadiness:
    if drift.is_significant:
        return Steadiness.DRIFT
    if spread_pct >= SPREAD_PCT and rows >= _WINDOWS * _LEAST_WINDOW_ROWS:
        return Steadiness.SPREAD
    return Steadiness.OUTLIERS if outliers.are_significant else Steadiness.STABLE


def find_outliers(values: Sequence[float]) -> Outliers:
    """Find outliers among at least one value in order: far from the median of the values around them."""
    middle = median(values)
    return _outliers(_Run(values, None, middle, resolution_ms(middle)))


def _outliers(run: _Run) -> Outliers:
    """Find outliers by modified z-scores of the distances from the median of the rows around (`OUTLIER_SCORE`)."""
    rows = len(run.values)
    blocks = max(1, min(_MOST_LEVELS, rows // _LEVEL_ROWS))
    deviations: list[float] = []
    for first, end in block_bounds(rows, blocks):
        block = run.values[first:end]
        level = median(block)
        deviations += [value - level for value in block]
    limit = modified_z_limit(deviations, OUTLIER_SCORE, run.resolution)
    far = [row for row, deviation in enumerate(deviations) if abs(deviation) > limit]
    reach = run.median * OUTLIER_LEAST_PCT / 100.0
    large = [row for row in far if abs(deviations[row]) >= reach]
    worst = max(far, key=lambda row: abs(deviations[row]), default=None)
    total = math.fsum(run.values)
    excess = math.fsum([deviations[row] for row in large])
    share_pct = 100.0 * len(large) / rows
    excess_pct = 100.0 * excess / total if total > 0 else 0.0
    many = len(large) > 1 and share_pct >= OUTLIER_LEAST_SHARE_PCT
    return Outliers(
        count=len(far),
        large=len(large),
        large_share_pct=share_pct,
        limit_ms=limit,
        worst_ms=None if worst is None else run.values[worst],
        worst_pct=None if worst is None else run.pct(deviations[worst]),
        excess_pct=excess_pct,
        are_significant=many or excess_pct >= OUTLIER_LEAST_SHARE_PCT,
    )


def _find_drift(run: _Run, medians: Sequence[float]) -> Drift:
    third = len(medians) // 3
    parts = (medians[:third], medians[-third:])
    first, last = map(median, parts)
    change = last - first
    rest = [value - level for part, level in zip(parts, (first, last), strict=True) for value in part]
    noise = math.sqrt(math.fsum([value * value for value in rest]) / (len(rest) - len(parts)))
    error = max(noise, run.resolution) * math.sqrt(2.0 / third)
    is_drift = abs(run.pct(change)) >= LEAST_EFFECT_PCT and abs(change) > DRIFT_SIGMAS * error
    return Drift(change, run.pct(change), is_drift)


def _find_settling(run: _Run, medians: Sequence[float]) -> Settling | None:
    """Find blocks before the first one at the level of the rest: modified z-score and `LEAST_EFFECT_PCT`."""
    centre = median(medians)
    scatter = SCALED_MAD * max(mad(medians, centre), run.resolution)
    reach = max(OUTLIER_SCORE * scatter, run.median * LEAST_EFFECT_PCT / 100.0)
    apart = next((block for block, value in enumerate(medians) if abs(value - centre) <= reach), 0)
    if not apart:
        return None
    rows = block_bounds(len(run.values), len(medians))[apart][0]
    return Settling(rows, run.seconds_to(rows), run.pct(medians[0] - centre))


def _find_levels(run: _Run) -> Levels | None:
    """Find two peaks of the histogram with a valley between: both with `LEAST_LEVEL_SHARE_PCT` of the rows or more, and
    `LEAST_EFFECT_PCT` apart. Bins are smoothed over three.
    """
    ordered = sorted(run.values)
    low, high = percentile(ordered, 1.0), percentile(ordered, 99.0)
    if run.pct(high - low) < LEAST_EFFECT_PCT or len(ordered) < _LEAST_LEVEL_ROWS:
        return None
    shown = [value for value in ordered if low <= value <= high]
    steps = [late - early for early, late in pairwise(shown) if late > early]
    # Bins are at least as wide as a timer step: otherwise empty bins between the steps would look like valleys.
    bins = max(1, min(_LEVEL_BINS, round((high - low) / median(steps))))
    counts = [0] * bins
    for value in shown:
        counts[min(bins - 1, int((value - low) / (high - low) * bins))] += 1
    smooth = [sum(counts[max(0, index - 1) : index + 2]) / 3 for index in range(bins)]
    valleys = [
        (smooth[index] / lower_hump, index)
        for index in range(1, bins - 1)
        if (lower_hump := min(max(smooth[:index]), max(smooth[index + 1 :])))
    ]
    depth, valley = min(valleys, default=(1.0, 0))
    border = low + (valley + 0.5) * (high - low) / bins
    below = bisect_left(ordered, border)
    share_pct = 100.0 * below / len(ordered)
    if depth > _VALLEY_DEPTH or not LEAST_LEVEL_SHARE_PCT <= share_pct <= 100.0 - LEAST_LEVEL_SHARE_PCT:
        return None
    lower, upper = median_of_sorted(ordered[:below]), median_of_sorted(ordered[below:])
    apart_pct = run.pct(upper - lower)
    return Levels(lower, upper, share_pct, apart_pct) if apart_pct >= LEAST_EFFECT_PCT else None


def _sentences(run: Stability) -> tuple[str, ...]:
    sentences = []
    spread_pct = run.windows_range_pct or 0.0
    if run.verdict is Steadiness.STABLE:
        sentences.append(_steady_sentence(spread_pct))
    if run.levels:
        sentences.append(_levels_sentence(run.levels))
    if run.drift and run.drift.is_significant:
        sentences.append(_drift_sentence(run.drift))
    elif run.verdict is Steadiness.SPREAD:
        sentences.append(
            f"Medians of ten windows differ by {spread_pct:.2g} %. Possible causes: changing clocks, "
            "throttling, another process. Lock the clocks."
        )
    if run.outliers and run.outliers.large:
        sentences.append(_outlier_sentence(run.outliers, run.rows))
    if run.settling:
        sentences.append(_settling_sentence(run.settling))
    return tuple(sentences)


def _steady_sentence(spread_pct: float) -> str:
    if not spread_pct:
        return "The medians of ten windows are equal."
    shown = f"{spread_pct:.2g}" if spread_pct >= _LEAST_PCT_SHOWN else f"less than {_LEAST_PCT_SHOWN}"
    return f"Medians of ten windows agree within {shown} %."


def _levels_sentence(levels: Levels) -> str:
    return (
        f"{levels.low_share_pct:.0f} % of the rows are around {levels.low_ms:.4g} ms, the others around "
        f"{levels.high_ms:.4g} ms ({levels.apart_pct:.1f} % apart). Probably two clock states; lock the "
        "clocks."
    )


def _drift_sentence(drift: Drift) -> str:
    way = "rises" if drift.change_ms > 0 else "falls"
    return (
        f"The latency {way} by {abs(drift.change_ms):.3g} ms ({abs(drift.change_pct):.1f} %) from the first "
        "to the last third of the run. Possible causes: warm-up, changing clocks, throttling. Lock the "
        "clocks."
    )


def _outlier_sentence(outliers: Outliers, rows: int) -> str:
    return (
        f"{outliers.large}/{plural(rows, 'row')} are outliers (≥ {OUTLIER_LEAST_PCT:.0f} %), "
        f"the worst {outliers.worst_ms:.4g} ms ({outliers.worst_pct:+.0f} %)."
    )


def _settling_sentence(settling: Settling) -> str:
    lasts = plural(settling.rows, "row") if settling.lasts_s is None else f"{settling.lasts_s:.2f} s"
    return f"The first {lasts} run {settling.change_pct:+.1f} % off the rest: use a longer warm-up."
