"""Whether a difference of two medians stands out of the noise of the timing runs.

Rows of a run depend on each other (clocks, temperature, neighbours), so that formulas for independent rows, and a bootstrap
that draws row by row, see differences where there are none. Hence a **circular block bootstrap** (Politis and Romano, 1992):
runs are put together anew from blocks of consecutive rows; the spread of the medians of many such runs is the noise.

- The block length follows Politis and White (2004, corrected by Patton, Politis and White, 2009), from the autocorrelation of
  "is this row above the median": that is the influence of a row on the median.
- The interval is the percentile interval of the difference of the medians at 95 %, out of `RESAMPLES` draws with a fixed
  seed: the same rows give the same interval. With few blocks it is too narrow, so its distance from the difference is
  stretched as Student's t is wider than the normal distribution, with one degree of freedom less than there are blocks.
- A resampled median is not sorted out of rows. For some thresholds around the median, the rows up to each threshold are
  counted by prefix sums, all thresholds in one long integer; a draw adds up the counts of its blocks.

Two runs of one engine differ by more than the rows of one run tell: the GPU is at another temperature, memory lies elsewhere.
With several runs of an engine the interval is widened to hold every difference of two runs' medians.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from trex_tui.analysis.compare.model import Outcome, Verdict
from trex_tui.analysis.stability import resolution_ms
from trex_tui.analysis.statistics import median, median_of_sorted
from trex_tui.text import plural

RESAMPLES = 1000
LEVEL = 0.95
LEAST_ROWS = 40
"""Fewer rows make no interval worth its name."""
MOST_BLOCKS = 100
"""Longer blocks than the rule asks for are safe where there are many rows, and keep the time in bounds."""

LEAST_BLOCKS = 15
"""Rows that depend on each other so far that they make fewer blocks are as good as fewer measurements: no interval."""

_THRESHOLDS = 128
_SPREAD = 5.0
_SEED = 0x7E57
_BITS = 32


@dataclass(frozen=True, slots=True)
class Resampled:
    """Medians of runs put together from blocks.

    Attributes:
        medians: One per draw.
        block_rows: Rows of a block.
        blocks: Blocks of a draw.
    """

    medians: list[float]
    block_rows: int
    blocks: int


def judge(
    baseline: Sequence[Sequence[float]], other: Sequence[Sequence[float]], names: tuple[str, str]
) -> Verdict:
    """Judge an engine's latencies against the baseline's.

    Args:
        baseline, other: Latencies in milliseconds of consecutive queries, warm-up and unknown rows left out; a sequence per
            run of the engine, empty if there is none.
        names: What the engines are called, for the sentence.
    """
    runs = ([run for run in baseline if len(run)], [run for run in other if len(run)])
    for name, ours in zip(names, runs, strict=True):
        rows = sum(map(len, ours))
        if rows < LEAST_ROWS:
            why = (
                f"{name} has no timing rows (`trtexec --exportTimes`): the noise of its latency is unknown"
                if not rows
                else f"{name} has {plural(rows, 'timing row')}, too few to tell noise ({LEAST_ROWS} are needed)"
            )
            return Verdict(Outcome.UNKNOWN, why)
    medians = (
        median([one for run in runs[0] for one in run]),
        median([one for run in runs[1] for one in run]),
    )
    draws = [resample(ours, _SEED + side) for side, ours in enumerate(runs)]
    differences = sorted(
        theirs - ours for ours, theirs in zip(draws[0].medians, draws[1].medians, strict=True)
    )
    for name, drawn in zip(names, draws, strict=True):
        if drawn.blocks < LEAST_BLOCKS:
            why = (
                f"the timing rows of {name} depend on each other over {drawn.block_rows} rows and more, as in a drift or a "
                "step of the clocks: a longer run is needed to tell noise"
            )
            return _verdict_without(why, medians, runs, draws)
    edge = (1.0 - LEVEL) / 2.0
    stretch = _stretch(min(drawn.blocks for drawn in draws))
    centre = medians[1] - medians[0]
    interval = (
        centre + stretch * min(0.0, _quantile(differences, edge) - centre),
        centre + stretch * max(0.0, _quantile(differences, 1.0 - edge) - centre),
    )
    interval = _between_runs(runs, interval)
    return _verdict(medians, interval, runs, (draws[0].block_rows, draws[1].block_rows), names)


def _verdict_without(
    why: str,
    medians: tuple[float, float],
    runs: tuple[list[Sequence[float]], list[Sequence[float]]],
    draws: Sequence[Resampled],
) -> Verdict:
    return Verdict(
        Outcome.UNKNOWN,
        why,
        difference_ms=medians[1] - medians[0],
        difference_pct=100.0 * (medians[1] - medians[0]) / medians[0] if medians[0] > 0 else None,
        medians_ms=medians,
        rows=(sum(map(len, runs[0])), sum(map(len, runs[1]))),
        block_rows=(draws[0].block_rows, draws[1].block_rows),
    )


def _stretch(blocks: int) -> float:
    """The 97.5 % quantile of Student's t over that of the normal distribution (Abramowitz and Stegun, 26.7.5)."""
    normal = 1.959964
    freedom = blocks - 1
    terms = (
        (normal**3 + normal) / (4.0 * freedom),
        (5.0 * normal**5 + 16.0 * normal**3 + 3.0 * normal) / (96.0 * freedom**2),
    )
    return (normal + sum(terms)) / normal * math.sqrt(blocks / freedom)


def _between_runs(
    runs: tuple[list[Sequence[float]], list[Sequence[float]]], interval: tuple[float, float]
) -> tuple[float, float]:
    if len(runs[0]) == len(runs[1]) == 1:
        return interval
    ours, theirs = ([median(run) for run in side] for side in runs)
    between = [one - other for one in theirs for other in ours]
    return min(interval[0], *between), max(interval[1], *between)


def _verdict(
    medians: tuple[float, float],
    interval: tuple[float, float],
    runs: tuple[list[Sequence[float]], list[Sequence[float]]],
    block_rows: tuple[int, int],
    names: tuple[str, str],
) -> Verdict:
    difference = medians[1] - medians[0]
    pct = 100.0 * difference / medians[0] if medians[0] > 0 else None
    finest = resolution_ms(max(medians))
    low, high = interval
    shown = f"{difference:+.4g} ms{'' if pct is None else f' ({pct:+.2f} %)'}, 95 % interval {low:+.4g} to {high:+.4g} ms"
    shown = shown.replace("-", "−")
    if low > 0.0 and difference > finest:
        outcome, why = Outcome.SLOWER, f"the median latency of {names[1]} is higher: {shown}"
    elif high < 0.0 and difference < -finest:
        outcome, why = Outcome.FASTER, f"the median latency of {names[1]} is lower: {shown}"
    elif low > 0.0 or high < 0.0:
        outcome, why = (
            Outcome.SAME,
            f"the medians differ by no more than the timer resolves ({finest:g} ms): {shown}",
        )
    else:
        outcome, why = Outcome.SAME, f"the difference of the medians may be noise: {shown}"
    count = (len(runs[0]), len(runs[1]))
    several = "" if count == (1, 1) else f", widened to the medians of {count[0]} and {count[1]} runs"
    return Verdict(
        outcome=outcome,
        why=why,
        difference_ms=difference,
        difference_pct=pct,
        interval_ms=interval,
        level=LEVEL,
        medians_ms=medians,
        rows=(sum(map(len, runs[0])), sum(map(len, runs[1]))),
        block_rows=block_rows,
        method=(
            f"circular block bootstrap of the difference of medians, {RESAMPLES} draws, blocks of {block_rows[0]} and "
            f"{block_rows[1]} rows (Politis–White){several}"
        ),
    )


def resample(runs: Sequence[Sequence[float]], seed: int) -> Resampled:
    """Medians of `RESAMPLES` runs put together from blocks of these; blocks do not reach from one run into the next."""
    ordered = sorted(value for run in runs for value in run)
    middle = median_of_sorted(ordered)
    length = max(block_length([value > middle for value in run]) for run in runs)
    rows = len(ordered)
    length = min(max(length, -(-rows // MOST_BLOCKS)), min(map(len, runs)))
    thresholds = _thresholds(runs, ordered, middle, length)
    starts, prefix = _prefix_counts(runs, thresholds, length)
    blocks = max(1, round(rows / length))
    drawn = random.Random(seed)
    half = blocks * length / 2.0
    medians = []
    for _ in range(RESAMPLES):
        picked = drawn.choices(starts, k=blocks)
        total = sum([prefix[start + length] for start in picked]) - sum([prefix[start] for start in picked])
        medians.append(thresholds[_first_reaching(total, half, len(thresholds))])
    return Resampled(medians, length, blocks)


def _thresholds(
    runs: Sequence[Sequence[float]], ordered: list[float], middle: float, length: int
) -> list[float]:
    """Values around the median, as far as its noise may reach, from the block-wise counts of rows above it."""
    deviations = []
    for run in runs:
        for start in range(0, len(run) - length + 1, length):
            above = sum(value > middle for value in run[start : start + length])
            deviations.append(above - length / 2.0)
    spread = math.sqrt(math.fsum(one * one for one in deviations) / max(1, len(deviations)) * len(deviations))
    rows = len(ordered)
    reach = max(_SPREAD * spread, math.sqrt(rows))
    first, last = max(0.0, rows / 2.0 - reach), min(rows - 1.0, rows / 2.0 + reach)
    places = {round(first + (last - first) * step / (_THRESHOLDS - 1)) for step in range(_THRESHOLDS)}
    return sorted({ordered[place] for place in places} | {ordered[0], ordered[-1], ordered[rows // 2]})


def _prefix_counts(
    runs: Sequence[Sequence[float]], thresholds: list[float], length: int
) -> tuple[list[int], list[int]]:
    """Where blocks may start, and before each row how many rows lie at or below each threshold, in one integer."""
    count = len(thresholds)
    ones = [sum(1 << (_BITS * place) for place in range(first, count)) for first in range(count)]
    prefix: list[int] = [0]
    starts: list[int] = []
    total = 0
    for run in runs:
        base = len(prefix) - 1
        starts.extend(range(base, base + len(run)))
        bins = [bisect_left(thresholds, value) for value in run]
        for place in bins + bins[:length]:  # around the end
            total += ones[place]
            prefix.append(total)
    return starts, prefix


def _first_reaching(total: int, half: float, count: int) -> int:
    low, high = 0, count - 1
    mask = (1 << _BITS) - 1
    while low < high:
        middle = (low + high) // 2
        if (total >> (_BITS * middle)) & mask >= half:
            high = middle
        else:
            low = middle + 1
    return low


def block_length(above: Sequence[bool]) -> int:
    """Rows of a block, after Politis and White, for the circular bootstrap, from one bit per row; at least 1.

    Autocovariances are counted by shifting the whole series, one bit per row, against itself.
    """
    rows = len(above)
    if rows < 8:
        return 1
    bits = int("".join("1" if one else "0" for one in above), 2)
    share = bits.bit_count() / rows
    variance = share * (1.0 - share)
    if variance <= 0.0:
        return 1
    quiet = max(5, math.ceil(math.sqrt(math.log10(rows))))
    most = math.ceil(math.sqrt(rows)) + quiet
    both = [(bits & (bits >> lag)).bit_count() / rows - share * share for lag in range(most + 1)]
    limit = 2.0 * math.sqrt(math.log10(rows) / rows)
    small = [abs(one / variance) < limit for one in both]
    last = next((lag for lag in range(1, most - quiet + 1) if all(small[lag : lag + quiet])), most)
    bandwidth = min(2 * max(1, last - 1), most)
    weights = [min(1.0, 2.0 * (1.0 - lag / bandwidth)) for lag in range(bandwidth + 1)]
    bias = 2.0 * sum(weight * lag * both[lag] for lag, weight in enumerate(weights))
    spectrum = both[0] + 2.0 * sum(weight * both[lag] for lag, weight in enumerate(weights) if lag)
    if spectrum <= 0.0:
        return 1
    found: float = (2.0 * bias * bias / (4.0 / 3.0 * spectrum * spectrum) * rows) ** (1.0 / 3.0)
    return max(1, min(math.ceil(found), math.ceil(min(3.0 * math.sqrt(rows), rows / 3.0))))


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, max(0, round(share * (len(ordered) - 1))))]
