"""Judge whether a statistic of two engines' timing runs differs by more than noise: percentiles, mean, extremes, throughput.

**One run of each engine.** Consecutive rows are correlated (clocks, temperature, neighbours), so that formulas for
independent rows report false differences. The variance of a mean of such rows is estimated from its slow movements: the rows
are projected on the first cosines of the run's length, and the mean square of the projections is the long-run variance, with
as many degrees of freedom (Lazarus, Lewis, Stock and Watson, 2018: HAR inference, equal-weighted cosines). Of `COSINES`, the
number that gives the wider interval is used: few cosines are right for rows that are correlated over much of the run.

- A mean is judged by Student's t with that variance.
- A percentile is judged by the shares of rows above a common threshold, the percentile of both runs together: so a run
without
  outliers inherits the uncertainty of the run with outliers. The interval holds every shift of the baseline that this test
  does not reject.
- A maximum or minimum is judged by Rosenbaum's test (1954) on segments of the runs: how many segments of one reach beyond all
  of the other. It has no interval.

Such a verdict is valid within the runs. The next run of the same engine may differ by more.

**Several runs of an engine.** The statistic of each run is one measurement, and Student's t judges their means by the spread
between the runs, assumed equal for both engines.

An interval extends at least one timer tick to each side, and a difference of a tick or less is not a difference.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum
from functools import lru_cache

from trex_tui.old.analysis.compare.model import Outcome
from trex_tui.old.analysis.stability import timer_tick_ms
from trex_tui.old.analysis.statistics import block_bounds, median_of_sorted, percentile
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import plural

LEVEL = 0.95
LEAST_ROWS = 40
"""Minimum number of rows in a single run for an interval."""
LEAST_DISJOINT_ROWS = 10
"""Minimum number of rows for a verdict from disjoint ranges alone."""
COSINES = (8, 4)
"""Numbers of cosines. With 8 alone, equal engines with 400 rows of an autocorrelation of 0.97 differ in 11 % of the cases.
With both numbers they differ in 5 %, and with independent rows in 2 %."""
_BINS = 256
"""Number of bins into which rows are summed before projection."""
_STRETCHES = 15
_TAIL_CHANCE = 0.005
"""Stricter than for a maximum, since it replaces an inconclusive test of the percentile itself."""
_STEPS = 24
_WITHIN_TICK = 1.0 + 1e-9
"""Differences of ticks are exact except for rounding of the last digit."""
_T_BY_FREEDOM = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Student's t at 97.5 % for 1 to 10 degrees of freedom."""


class Statistic(str, Enum):
    """A statistic of a run's rows; the values are parts of metric names."""

    MIN = "min"
    MEAN = "mean"
    MEDIAN = "median"
    P90 = "p90"
    P95 = "p95"
    P99 = "p99"
    MAX = "max"

    @property
    def percent(self) -> float | None:
        """Percent of the rows below it; None if it is not a percentile."""
        return {"median": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0}.get(self.value)

    def compute(self, ordered: Sequence[float]) -> float:
        """Return its value for sorted rows, by trtexec's definitions."""
        if self is Statistic.MEAN:
            return math.fsum(ordered) / len(ordered)
        if self is Statistic.MEDIAN:
            return median_of_sorted(ordered)
        if self.percent is None:
            return ordered[0 if self is Statistic.MIN else -1]
        return percentile(ordered, self.percent)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A statistic of an engine compared with the baseline's.

    Attributes:
        outcome: Slower if it is higher; unknown if the noise is.
        reason: Why the outcome is unknown, or its basis beside the interval; a part of a sentence, or empty.
        values: Values of the baseline and of the engine; with several runs the mean over the runs. None if unknown.
        interval: Confidence interval at `LEVEL` of the difference; None if it cannot be computed.
        tick: Timer resolution.
        runs: Number of runs of the baseline and of the engine.
        rows: Number of timing rows, likewise.
        method: Description of the method.
    """

    outcome: Outcome
    reason: str = ""
    values: tuple[float, float] | None = None
    interval: tuple[float, float] | None = None
    tick: float | None = None
    runs: tuple[int, int] = (0, 0)
    rows: tuple[int, int] = (0, 0)
    method: str = ""

    @property
    def difference(self) -> float | None:
        return None if self.values is None else self.values[1] - self.values[0]

    @property
    def difference_pct(self) -> float | None:
        """The difference in percent of the baseline's value."""
        if self.values is None or not self.values[0] > 0:
            return None
        return 100.0 * (self.values[1] - self.values[0]) / self.values[0]


Runs = Sequence[Sequence[float]]
Pair = tuple[Sequence[float], Sequence[float]]


def judge(
    baseline: Runs,
    other: Runs,
    statistic: Statistic,
    names: tuple[str, str],
    needs: tuple[str, str] = ("`trtexec --exportTimes`", "`trtexec --exportTimes`"),
) -> Judgement:
    """Judge a statistic of an engine's timing runs against the baseline's.

    Args:
        baseline, other: The rows of each run in order, in milliseconds, without warm-up and unknown rows.
        names: Names of the engines, for the reason.
        needs: Why an engine has no rows, or how to get them.
    """
    counts = len(baseline), len(other)
    rows = sum(map(len, baseline)), sum(map(len, other))
    for name, runs, need in zip(names, (baseline, other), needs, strict=True):
        if not runs or not all(runs):
            why = f"{name} has no timing rows ({need}): the noise of its latency is unknown"
            return Judgement(Outcome.UNKNOWN, why, runs=counts, rows=rows)
    ordered = [[sorted(run) for run in runs] for runs in (baseline, other)]
    tick = max(timer_tick_ms(run) for runs in ordered for run in runs)
    values = [[statistic.compute(run) for run in runs] for runs in ordered]
    if max(counts) > 1:
        return judge_values(values[0], values[1], tick, rows)
    pair = baseline[0], other[0]
    outcome, reason, interval, method = _judge_pair(pair, (ordered[0][0], ordered[1][0]), statistic, names)
    difference = values[1][0] - values[0][0]
    if interval is not None:
        interval = _widen(interval, difference, tick)
        outcome = _read_outcome(*interval)
        if not all(map(math.isfinite, interval)):
            interval = None
    elif abs(difference) <= tick * _WITHIN_TICK and outcome is not Outcome.UNKNOWN:
        outcome = Outcome.SAME
    return Judgement(
        outcome,
        reason,
        (values[0][0], values[1][0]),
        interval,
        tick,
        counts,
        rows,
        method,
    )


def judge_values(
    baseline: Sequence[float], other: Sequence[float], tick: float, rows: tuple[int, int] = (0, 0)
) -> Judgement:
    """Judge measurements of several runs by the spread between them, with a pooled variance.

    Args:
        baseline, other: One number per run, at least three together.
        tick: Smallest difference that these can show.
    """
    means = [math.fsum(values) / len(values) for values in (baseline, other)]
    freedom = len(baseline) + len(other) - 2
    squares = math.fsum(
        (value - mean) ** 2 for values, mean in zip((baseline, other), means, strict=True) for value in values
    )
    error = math.sqrt(squares / freedom * (1.0 / len(baseline) + 1.0 / len(other)))
    difference = means[1] - means[0]
    half = student_t(freedom) * error
    low, high = _widen((difference - half, difference + half), difference, tick)
    return Judgement(
        _read_outcome(low, high),
        "",
        (means[0], means[1]),
        (low, high),
        tick,
        (len(baseline), len(other)),
        rows,
        f"Student's t of the runs' values, spread between runs, {plural(freedom, 'degree')} of freedom",
    )


def judge_rate(baseline: Runs, other: Runs, names: tuple[str, str]) -> Judgement:
    """Judge the throughput in queries per second by the times from one query to the next.

    Args:
        baseline, other: These times of each run in order, in milliseconds.

    Returns:
        Slower means a lower throughput.
    """
    periods = judge(baseline, other, Statistic.MEAN, names)
    if periods.values is None:
        return periods
    rates = tuple(_rate(value) for value in periods.values)
    outcome, interval = periods.outcome, periods.interval
    if interval is not None:
        # The edges use the engine's own mean period, with the baseline's held fixed.
        edges = [_rate(periods.values[0] + edge) - rates[0] for edge in interval]
        interval = (edges[1], edges[0])
    return Judgement(
        outcome,
        periods.reason,
        (rates[0], rates[1]),
        interval,
        None,
        periods.runs,
        periods.rows,
        periods.method.replace("means", "mean time between queries"),
    )


def _rate(period_ms: float) -> float:
    return 1000.0 / period_ms if period_ms > 0 else math.inf


Found = tuple[Outcome, str, tuple[float, float] | None, str]
"""Outcome without an interval, its reason, interval, method."""


def _judge_pair(pair: Pair, ordered: Pair, statistic: Statistic, names: tuple[str, str]) -> Found:
    """Judge one run of each engine."""
    short = min((0, 1), key=lambda side: len(pair[side]))
    if len(pair[short]) < LEAST_ROWS:
        few = (
            f"{names[short]} has {plural(len(pair[short]), 'timing row')}, too few to judge noise (needs "
            f"{LEAST_ROWS})"
        )
        return _compare_ranges(ordered) or (Outcome.UNKNOWN, few, None, "")
    if statistic is Statistic.MEAN:
        return Outcome.SAME, "", _mean_interval(pair), f"Student's t of the means, {_LONG_RUN}"
    if statistic.percent is None:
        return (*_compare_extremes(pair, statistic, names), None, _ROSENBAUM)
    low, high = _percentile_interval(pair, ordered, statistic.percent / 100.0)
    if low == -math.inf and high == math.inf:
        why = (
            f"rows drift or are too few: no interval for the {statistic.value} of {names[0]} and "
            f"{names[1]}; measure longer"
        )
        return (
            _compare_ranges(ordered)
            or _compare_tails(pair, ordered, statistic.percent, names)
            or (Outcome.UNKNOWN, why, None, "")
        )
    return Outcome.SAME, "", (low, high), f"shares of rows beyond a common threshold, {_LONG_RUN}"


_ROSENBAUM = "Rosenbaum's test on stretches of the runs"
_LONG_RUN = f"long-run variance from {COSINES[0]} or {COSINES[1]} cosines"


def _read_outcome(low: float, high: float) -> Outcome:
    return Outcome.SLOWER if low > 0.0 else Outcome.FASTER if high < 0.0 else Outcome.SAME


def _widen(interval: tuple[float, float], difference: float, tick: float) -> tuple[float, float]:
    reach = tick * _WITHIN_TICK
    return min(interval[0], difference - reach), max(interval[1], difference + reach)


def _compare_ranges(ordered: Pair) -> Found | None:
    """Return a verdict if all rows of one run are above those of the other by more than the spread of either run."""
    if min(map(len, ordered)) < LEAST_DISJOINT_ROWS:
        return None
    spread = max(run[-1] - run[0] for run in ordered)
    first, second = ordered
    for outcome, lower, upper in ((Outcome.SLOWER, first, second), (Outcome.FASTER, second, first)):
        if upper[0] - lower[-1] > spread:
            gap = f"row ranges are {upper[0] - lower[-1]:.4g} ms apart, more than either spread"
            return outcome, gap, None, "disjoint ranges"
    return None


def _mean_interval(pair: Pair) -> tuple[float, float]:
    means = [math.fsum(run) / len(run) for run in pair]
    variances = [
        _variances_of_mean(
            [
                math.fsum(run[first:end]) - mean * (end - first)
                for first, end in block_bounds(len(run), min(len(run), _BINS))
            ],
            len(run),
        )
        for run, mean in zip(pair, means, strict=True)
    ]
    half = _half_width(*variances)
    difference = means[1] - means[0]
    return difference - half, difference + half


Variances = tuple[float, ...]
"""Variances of a mean, for each of `COSINES`."""


def _half_width(first: Variances, second: Variances) -> float:
    """Return half the widest interval of the difference of two means."""
    return max(
        student_t(count) * math.sqrt(one + other)
        for count, one, other in zip(COSINES, first, second, strict=True)
    )


def _variances_of_mean(sums: Sequence[float], rows: int) -> Variances:
    """Return variances of the mean of a run from the sums of its rows in equal parts of the run."""
    squares = [
        math.fsum([total * wave for total, wave in zip(sums, cosine, strict=True)]) ** 2
        for cosine in _cosines(len(sums))
    ]
    return tuple(2.0 / rows**2 * math.fsum(squares[:count]) / count for count in COSINES)


@lru_cache(maxsize=8)
def _cosines(bins: int) -> list[list[float]]:
    return [
        [math.cos(math.pi * wave * (index + 0.5) / bins) for index in range(bins)]
        for wave in range(1, max(COSINES) + 1)
    ]


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Sorted rows of a run, and the part of the run (one of `bins`) of each row."""

    values: Sequence[float]
    parts: Sequence[int]
    bins: int

    @classmethod
    def of(cls, run: Sequence[float]) -> _Sorted:
        rows, bins = len(run), min(len(run), _BINS)
        positions = sorted(range(rows), key=run.__getitem__)
        parts = [position * bins // rows for position in positions]
        return cls([run[position] for position in positions], parts, bins)

    def above(self, threshold: float) -> tuple[float, Variances]:
        """Return the share of rows above a threshold, rows equal to it by half, and the variances of that share."""
        rows = len(self.values)
        first, end = bisect_left(self.values, threshold), bisect_right(self.values, threshold)
        above, level = Counter(self.parts[end:]), Counter(self.parts[first:end])
        sums = [above[part] + level[part] / 2.0 for part in range(self.bins)]
        return (rows - end + (end - first) / 2.0) / rows, _variances_of_mean(sums, rows)


def _percentile_interval(pair: Pair, ordered: Pair, share: float) -> tuple[float, float]:
    """Return the shifts of the baseline that the shares of rows above a common threshold accept; edges may be infinite."""
    first, second = (_Sorted.of(run) for run in pair)

    def is_refused(shift: float) -> bool:
        threshold = _common_percentile((ordered[0], ordered[1]), shift, share)
        shares = first.above(threshold - shift), second.above(threshold)
        return abs(shares[1][0] - shares[0][0]) > _half_width(shares[0][1], shares[1][1]) + 1e-12

    centre = _quantile(ordered[1], share) - _quantile(ordered[0], share)
    widest = max(run[-1] - run[0] for run in ordered) + abs(ordered[1][-1] - ordered[0][-1]) + 1e-6
    low = _find_edge(is_refused, centre, centre - widest)
    high = _find_edge(is_refused, centre, centre + widest)
    # If rows repeat in timer steps, the accepted shifts may form several intervals.
    if low > 0.0 or high < 0.0:
        low, high = (low, high) if is_refused(0.0) else (min(low, 0.0), max(high, 0.0))
    return low, high


def _find_edge(is_refused: Callable[[float], bool], inside: float, outside: float) -> float:
    """Return the last shift from `inside` towards `outside` that is accepted, by bisection; infinite if all are."""
    if not is_refused(outside):
        return math.copysign(math.inf, outside - inside)
    for _ in range(_STEPS):
        middle = (inside + outside) / 2.0
        if is_refused(middle):
            outside = middle
        else:
            inside = middle
    return outside


def _common_percentile(ordered: Pair, shift: float, share: float) -> float:
    """Return the value below which a share of both runs lies, the baseline shifted, with equal weights; by bisection."""
    low = min(ordered[0][0] + shift, ordered[1][0])
    high = max(ordered[0][-1] + shift, ordered[1][-1])
    rows = [len(run) for run in ordered]

    def is_enough(value: float) -> bool:
        below = bisect_right(ordered[0], value - shift) / rows[0] + bisect_right(ordered[1], value) / rows[1]
        return below >= 2.0 * share

    for _ in range(2 * _STEPS):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        if is_enough(middle):
            high = middle
        else:
            low = middle
    return high


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))]


def _compare_extremes(
    pair: Pair, statistic: Statistic, names: tuple[str, str], least_chance: float = (1.0 - LEVEL) / 2.0
) -> tuple[Outcome, str]:
    """Count the segments of the run with the larger maximum that reach beyond the other's; minima are negated.

    Args:
        least_chance: If equal engines have as many such segments with a higher probability, the runs are not distinguished.
    """
    sign = 1.0 if statistic is Statistic.MAX else -1.0
    length = max(1, -(-max(map(len, pair)) // _STRETCHES))
    extremes = [
        [max(sign * value for value in run[start : start + length]) for start in range(0, len(run), length)]
        for run in pair
    ]
    leader = 1 if max(extremes[1]) > max(extremes[0]) else 0
    limit = max(extremes[1 - leader])
    beyond = sum(value > limit for value in extremes[leader])
    ours, all_ = len(extremes[leader]), len(extremes[0]) + len(extremes[1])
    chance = math.prod((ours - index) / (all_ - index) for index in range(beyond))
    what = "maximum" if statistic is Statistic.MAX else "minimum"
    reason = (
        f"{beyond} of {plural(ours, 'stretch', 'stretches')} of {names[leader]} "
        f"{'reaches' if beyond == 1 else 'reach'} beyond the {what} of {names[1 - leader]}"
    )
    if chance > least_chance:
        return Outcome.SAME, reason
    is_slower = (leader == 1) == (statistic is Statistic.MAX)
    return Outcome.SLOWER if is_slower else Outcome.FASTER, reason


def _compare_tails(pair: Pair, ordered: Pair, percent: float, names: tuple[str, str]) -> Found | None:
    """Return a verdict on a high percentile if so much of one run lies beyond all of the other that its percentile does."""
    outcome, reason = _compare_extremes(pair, Statistic.MAX, names, _TAIL_CHANCE)
    if outcome not in (Outcome.SLOWER, Outcome.FASTER):
        return None
    higher, lower = reversed(ordered) if outcome is Outcome.SLOWER else ordered
    is_beyond = percentile(higher, percent) > lower[-1]
    return (outcome, reason, None, _ROSENBAUM) if is_beyond else None


def student_t(freedom: int) -> float:
    """The 97.5 % quantile of Student's t (above 10 degrees of freedom Abramowitz and Stegun, 26.7.5)."""
    if freedom <= len(_T_BY_FREEDOM):
        return _T_BY_FREEDOM[freedom - 1]
    normal = 1.959964
    return (
        normal
        + (normal**3 + normal) / (4.0 * freedom)
        + (5.0 * normal**5 + 16.0 * normal**3 + 3.0 * normal) / (96.0 * freedom**2)
    )
