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
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

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


def judge(baseline: Sequence[float], other: Sequence[float], names: tuple[str, str]) -> Verdict:
    """Judge an engine's latencies against the baseline's.

    Args:
        baseline, other: Latencies in milliseconds of consecutive queries, warm-up and unknown rows left out.
        names: What the engines are called, for the sentence.
    """
    for name, run in zip(names, (baseline, other), strict=True):
        if len(run) < LEAST_ROWS:
            why = (
                f"{name} has {plural(len(run), 'timing row')}, too few to tell noise ({LEAST_ROWS} are needed)"
                if run
                else f"{name} has no timing rows (`trtexec --exportTimes`): the noise of its latency is unknown"
            )
            return Verdict(Outcome.UNKNOWN, why)
    medians = median(baseline), median(other)
    draws = resample(baseline, _SEED), resample(other, _SEED + 1)
    difference = medians[1] - medians[0]
    known = Verdict(
        Outcome.UNKNOWN,
        "",
        difference_ms=difference,
        difference_pct=100.0 * difference / medians[0] if medians[0] > 0 else None,
        medians_ms=medians,
        rows=(len(baseline), len(other)),
        block_rows=(draws[0].block_rows, draws[1].block_rows),
    )
    for name, drawn in zip(names, draws, strict=True):
        if drawn.blocks < LEAST_BLOCKS:
            why = (
                f"the timing rows of {name} depend on each other over {drawn.block_rows} rows and more, as in a drift or a "
                "step of the clocks: a longer run is needed to tell noise"
            )
            return replace(known, why=why)
    return _judge_interval(known, _interval(difference, draws), names)


def _interval(difference: float, draws: tuple[Resampled, Resampled]) -> tuple[float, float]:
    """The percentile interval of the difference of the medians, stretched for few blocks."""
    differences = sorted(
        theirs - ours for ours, theirs in zip(draws[0].medians, draws[1].medians, strict=True)
    )
    edge = (1.0 - LEVEL) / 2.0
    stretch = _stretch(min(drawn.blocks for drawn in draws))
    return (
        difference + stretch * min(0.0, _quantile(differences, edge) - difference),
        difference + stretch * max(0.0, _quantile(differences, 1.0 - edge) - difference),
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


def _judge_interval(known: Verdict, interval: tuple[float, float], names: tuple[str, str]) -> Verdict:
    assert known.difference_ms is not None
    assert known.medians_ms is not None
    assert known.block_rows is not None
    difference, pct = known.difference_ms, known.difference_pct
    finest = resolution_ms(max(known.medians_ms))
    low, high = interval
    shown = f"{difference:+.4g} ms{'' if pct is None else f' ({pct:+.2f} %)'}, 95 % interval {low:+.4g} to {high:+.4g} ms"
    shown = shown.replace("-", "−")
    outcome = Outcome.SAME
    if low > 0.0 and difference > finest:
        outcome, why = Outcome.SLOWER, f"the median latency of {names[1]} is higher: {shown}"
    elif high < 0.0 and difference < -finest:
        outcome, why = Outcome.FASTER, f"the median latency of {names[1]} is lower: {shown}"
    elif low > 0.0 or high < 0.0:
        why = f"the medians differ by no more than the timer resolves ({finest:g} ms): {shown}"
    else:
        why = f"the difference of the medians may be noise: {shown}"
    return replace(
        known,
        outcome=outcome,
        why=why,
        interval_ms=interval,
        level=LEVEL,
        method=(
            f"circular block bootstrap of the difference of medians, {RESAMPLES} draws, blocks of {known.block_rows[0]} and "
            f"{known.block_rows[1]} rows (Politis–White)"
        ),
    )


def resample(run: Sequence[float], seed: int) -> Resampled:
    """Medians of `RESAMPLES` runs put together from blocks of this one, its end joined to its beginning."""
    ordered = sorted(run)
    rows = len(ordered)
    middle = median_of_sorted(ordered)
    length = min(max(block_length([value > middle for value in run]), -(-rows // MOST_BLOCKS)), rows)
    thresholds = _thresholds(run, ordered, middle, length)
    prefix = _prefix_counts(run, thresholds, length)
    blocks = max(1, round(rows / length))
    drawn = random.Random(seed)
    half = blocks * length / 2.0
    medians = []
    for _ in range(RESAMPLES):
        picked = drawn.choices(range(rows), k=blocks)
        total = sum([prefix[start + length] for start in picked]) - sum([prefix[start] for start in picked])
        medians.append(thresholds[_first_reaching(total, half, len(thresholds))])
    return Resampled(medians, length, blocks)


def _thresholds(run: Sequence[float], ordered: list[float], middle: float, length: int) -> list[float]:
    """Values around the median, as far as its noise may reach, from the block-wise counts of rows above it."""
    rows = len(ordered)
    deviations = [
        sum(value > middle for value in run[start : start + length]) - length / 2.0
        for start in range(0, rows - length + 1, length)
    ]
    spread = math.sqrt(
        math.fsum(deviation * deviation for deviation in deviations)
        / max(1, len(deviations))
        * len(deviations)
    )
    reach = max(_SPREAD * spread, math.sqrt(rows))
    first, last = max(0.0, rows / 2.0 - reach), min(rows - 1.0, rows / 2.0 + reach)
    places = {round(first + (last - first) * step / (_THRESHOLDS - 1)) for step in range(_THRESHOLDS)}
    return sorted({ordered[place] for place in places} | {ordered[0], ordered[-1], ordered[rows // 2]})


def _prefix_counts(run: Sequence[float], thresholds: list[float], length: int) -> list[int]:
    """Before each row, how many rows lie at or below each threshold, in one integer; `length` rows beyond the end."""
    count = len(thresholds)
    ones = [sum(1 << (_BITS * index) for index in range(first, count)) for first in range(count)]
    bins = [bisect_left(thresholds, value) for value in run]
    return list(accumulate((ones[index] for index in bins + bins[:length]), initial=0))


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
    bits = int("".join("1" if bit else "0" for bit in above), 2)
    share = bits.bit_count() / rows
    variance = share * (1.0 - share)
    if variance <= 0.0:
        return 1
    quiet = max(5, math.ceil(math.sqrt(math.log10(rows))))
    most = math.ceil(math.sqrt(rows)) + quiet
    both = [(bits & (bits >> lag)).bit_count() / rows - share * share for lag in range(most + 1)]
    limit = 2.0 * math.sqrt(math.log10(rows) / rows)
    small = [abs(covariance / variance) < limit for covariance in both]
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
