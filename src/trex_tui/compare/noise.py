"""Judge whether a statistic of two engines' timing runs differs by more than noise: percentiles, mean, extremes, throughput.

**One run of each engine.** Consecutive rows are correlated (clocks, temperature, neighbours), so that formulas for
independent rows report false differences. The variance of a mean of such rows is estimated from its slow movements: the rows
are projected on the first cosines of the run's length, and the mean square of the projections is the long-run variance, with
as many degrees of freedom (Lazarus, Lewis, Stock and Watson, 2018: HAR inference, equal-weighted cosines). Of `COSINES`, the
number that gives the wider interval is used: few cosines are right for rows that are correlated over much of the run.

- A mean is judged by Student's t with that variance.
- A percentile is judged by the shares of rows above a common threshold, the percentile of both runs together: so a run
  without outliers inherits the uncertainty of the run with outliers. The interval holds every shift of the baseline that
  this test does not reject.
- A maximum or minimum is judged by Rosenbaum's test (1954) on segments of the runs: how many segments of one reach beyond
  all of the other. It has no interval.

Such a verdict is valid within the runs. The next run of the same engine may differ by more.

**Several runs of an engine.** The statistic of each run is one measurement, and Student's t judges their means by the spread
between the runs, assumed equal for both engines.

An interval extends at least one timer tick to each side, and a difference of a tick or less is not a difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from trex_tui.analysis.stability import timer_tick_ms
from trex_tui.analysis.timing import percentile
from trex_tui.text import plural

Values: TypeAlias = npt.NDArray[np.float64]
Interval = tuple[float, float]

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
_SEGMENTS = 15
_TAIL_CHANCE = 0.005
"""Stricter than for a maximum, since it replaces an inconclusive test of the percentile itself."""
_STEPS = 24
_WITHIN_TICK = 1.0 + 1e-9
"""Differences of ticks are exact except for rounding of the last digit."""
_T_BY_FREEDOM = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Student's t at 97.5 % for 1 to 10 degrees of freedom."""
_LONG_RUN = f"long-run variance from {COSINES[0]} or {COSINES[1]} cosines"
_ROSENBAUM = "Rosenbaum's test on segments of the runs"


class Outcome(str, Enum):
    """Verdict on a time of an engine against the baseline's."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    """The difference may be noise."""
    UNKNOWN = "unknown"
    """The noise is unknown."""


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

    def compute(self, ordered: Values) -> float:
        """Return its value for sorted rows, by trtexec's definitions."""
        if self is Statistic.MEAN:
            return float(ordered.mean())
        if self is Statistic.MEDIAN:
            return float(np.median(ordered))
        if self.percent is None:
            return float(ordered[0 if self is Statistic.MIN else -1])
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
    interval: Interval | None = None
    tick: float | None = None
    runs: tuple[int, int] = (0, 0)
    rows: tuple[int, int] = (0, 0)
    method: str = ""

    @property
    def difference(self) -> float | None:
        """The engine's value minus the baseline's."""
        return None if self.values is None else self.values[1] - self.values[0]

    @property
    def difference_pct(self) -> float | None:
        """The difference in percent of the baseline's value."""
        if self.values is None or not self.values[0] > 0:
            return None
        return 100.0 * (self.values[1] - self.values[0]) / self.values[0]

    @property
    def scope(self) -> str:
        """What the verdict holds for: `within one run`, or `3 runs against 3`; empty without a verdict."""
        if self.outcome is Outcome.UNKNOWN:
            return ""
        ours, theirs = self.runs
        return "within one run" if ours == theirs == 1 else f"{plural(theirs, 'run')} against {ours}"


Runs = Sequence[Values]


def judge(
    baseline: Runs, other: Runs, statistic: Statistic, names: tuple[str, str], needs: tuple[str, str]
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
        if not runs or not all(map(len, runs)):
            why = f"{name} has no timing rows ({need}): the noise of its latency is unknown"
            return Judgement(Outcome.UNKNOWN, why, runs=counts, rows=rows)
    tick = max(timer_tick_ms(run) for run in (*baseline, *other))
    first, second = ([statistic.compute(np.sort(run)) for run in runs] for runs in (baseline, other))
    if max(counts) > 1:
        return replace(judge_values(first, second, tick), rows=rows)
    found = _judge_runs(_Run(baseline[0], names[0]), _Run(other[0], names[1]), statistic)
    difference = second[0] - first[0]
    outcome, interval = found.outcome, found.interval
    if interval is not None:
        interval = _widen(interval, difference, tick)
        outcome = _read_outcome(*interval)
        interval = interval if all(map(math.isfinite, interval)) else None
    elif abs(difference) <= tick * _WITHIN_TICK and outcome is not Outcome.UNKNOWN:
        outcome = Outcome.SAME
    values = first[0], second[0]
    return Judgement(outcome, found.reason, values, interval, tick, counts, rows, found.method)


def judge_values(baseline: Sequence[float], other: Sequence[float], tick: float) -> Judgement:
    """Judge measurements of several runs by the spread between them, with a pooled variance.

    Args:
        baseline, other: One number per run, at least three together.
        tick: Smallest difference that these can show.
    """
    first, second = np.array(baseline), np.array(other)
    freedom = len(first) + len(second) - 2
    squares = ((first - first.mean()) ** 2).sum() + ((second - second.mean()) ** 2).sum()
    error = math.sqrt(squares / freedom * (1.0 / len(first) + 1.0 / len(second)))
    means = float(first.mean()), float(second.mean())
    difference, half = means[1] - means[0], student_t(freedom) * error
    interval = _widen((difference - half, difference + half), difference, tick)
    method = f"Student's t of the runs' values, spread between runs, {plural(freedom, 'degree')} of freedom"
    counts = len(baseline), len(other)
    return Judgement(_read_outcome(*interval), "", means, interval, tick, counts, (0, 0), method)


def judge_rate(baseline: Runs, other: Runs, names: tuple[str, str], needs: tuple[str, str]) -> Judgement:
    """Judge the throughput in queries per second; slower means a lower throughput.

    Args:
        baseline, other: The times from one query to the next of each run in order, in milliseconds.
    """
    periods = judge(baseline, other, Statistic.MEAN, names, needs)
    if periods.values is None:
        return periods
    first, second = map(_to_rate, periods.values)
    interval = periods.interval
    if interval is not None:
        # The edges use the engine's own mean period, with the baseline's held fixed.
        low, high = (_to_rate(periods.values[0] + edge) - first for edge in interval)
        interval = high, low
    method = periods.method.replace("means", "mean time between queries")
    return replace(periods, values=(first, second), interval=interval, tick=None, method=method)


def _to_rate(period_ms: float) -> float:
    return 1000.0 / period_ms if period_ms > 0 else math.inf


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


def _read_outcome(low: float, high: float) -> Outcome:
    return Outcome.SLOWER if low > 0.0 else Outcome.FASTER if high < 0.0 else Outcome.SAME


def _widen(interval: Interval, difference: float, tick: float) -> Interval:
    reach = tick * _WITHIN_TICK
    return min(interval[0], difference - reach), max(interval[1], difference + reach)


# One run of each engine


class _Run:
    """The rows of a run in order and sorted, and the part of the run (one of `bins`) of each row in order."""

    def __init__(self, rows: Values, name: str) -> None:
        self.rows, self.name, self.ordered = rows, name, np.sort(rows)
        self.bins = min(len(rows), _BINS)
        # Bins of equal size, give or take a row.
        self.parts = np.arange(len(rows)) * self.bins // len(rows)

    def measure_mean(self) -> tuple[float, Values]:
        """Return the mean, and its variances for each of `COSINES`."""
        mean = float(self.rows.mean())
        return mean, self._variances_of_mean(self.rows - mean)

    def measure_share_above(self, threshold: float) -> tuple[float, Values]:
        """Return the share of rows above a threshold, rows equal to it by half, and the variances of that share."""
        above = np.where(self.rows == threshold, 0.5, self.rows > threshold)
        return float(above.mean()), self._variances_of_mean(above)

    def _variances_of_mean(self, rows: Values) -> Values:
        sums = np.bincount(self.parts, weights=rows, minlength=self.bins)
        squares = (_cosines(self.bins) @ sums) ** 2
        return np.array([2.0 * squares[:count].mean() / len(rows) ** 2 for count in COSINES])


@lru_cache(maxsize=8)
def _cosines(bins: int) -> Values:
    waves = np.arange(1, max(COSINES) + 1)[:, None]
    return np.cos(math.pi * waves * (np.arange(bins) + 0.5) / bins)


def _half_width(first: Values, second: Values) -> float:
    """Return half the widest interval of the difference of two means, from their variances."""
    errors = np.sqrt(first + second)
    return max(student_t(count) * float(error) for count, error in zip(COSINES, errors, strict=True))


def _judge_runs(first: _Run, second: _Run, statistic: Statistic) -> Judgement:
    """Judge one run of each engine; with an interval the outcome is read from it later."""
    shorter = min((first, second), key=lambda run: len(run.rows))
    if len(shorter.rows) < LEAST_ROWS:
        count = plural(len(shorter.rows), "timing row")
        few = f"{shorter.name} has {count}, too few to judge noise (needs {LEAST_ROWS})"
        return _compare_ranges(first, second) or Judgement(Outcome.UNKNOWN, few)
    if statistic is Statistic.MEAN:
        (mean, variances), (other, others) = first.measure_mean(), second.measure_mean()
        half = _half_width(variances, others)
        interval = other - mean - half, other - mean + half
        method = f"Student's t of the means, {_LONG_RUN}"
        return Judgement(Outcome.SAME, interval=interval, method=method)
    if statistic.percent is None:
        return _compare_extremes(first, second, statistic)
    low, high = _percentile_interval(first, second, statistic.percent / 100.0)
    if low > -math.inf or high < math.inf:
        method = f"shares of rows beyond a common threshold, {_LONG_RUN}"
        return Judgement(Outcome.SAME, interval=(low, high), method=method)
    names = f"{first.name} and {second.name}"
    why = f"rows drift or are too few: no interval for the {statistic.value} of {names}; measure longer"
    return (
        _compare_ranges(first, second)
        or _compare_tails(first, second, statistic.percent)
        or Judgement(Outcome.UNKNOWN, why)
    )


def _compare_ranges(first: _Run, second: _Run) -> Judgement | None:
    """Return a verdict if all rows of one run are above those of the other by more than the spread of either run."""
    if min(len(first.rows), len(second.rows)) < LEAST_DISJOINT_ROWS:
        return None
    spread = max(float(np.ptp(run.ordered)) for run in (first, second))
    for outcome, lower, upper in ((Outcome.SLOWER, first, second), (Outcome.FASTER, second, first)):
        gap = float(upper.ordered[0] - lower.ordered[-1])
        if gap > spread:
            reason = f"row ranges are {gap:.4g} ms apart, more than either spread"
            return Judgement(outcome, reason, method="disjoint ranges")
    return None


def _percentile_interval(first: _Run, second: _Run, share: float) -> Interval:
    """Return the shifts of the baseline that the shares of rows above a common threshold accept; edges may be infinite."""

    def is_refused(shift: float) -> bool:
        threshold = _common_percentile(first.ordered, second.ordered, shift, share)
        own, variances = first.measure_share_above(threshold - shift)
        other, others = second.measure_share_above(threshold)
        return abs(other - own) > _half_width(variances, others) + 1e-12

    centre = _quantile(second.ordered, share) - _quantile(first.ordered, share)
    widest = max(float(np.ptp(run.ordered)) for run in (first, second))
    widest += abs(float(second.ordered[-1] - first.ordered[-1])) + 1e-6
    low = _find_edge(is_refused, centre, centre - widest)
    high = _find_edge(is_refused, centre, centre + widest)
    # If rows repeat in timer steps, the accepted shifts may form several intervals.
    if (low > 0.0 or high < 0.0) and not is_refused(0.0):
        low, high = min(low, 0.0), max(high, 0.0)
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


def _common_percentile(first: Values, second: Values, shift: float, share: float) -> float:
    """Return the value below which a share of both sorted runs lies, the first one shifted, with equal weights."""
    low, high = float(min(first[0] + shift, second[0])), float(max(first[-1] + shift, second[-1]))
    for _ in range(2 * _STEPS):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        below = np.searchsorted(first, middle - shift, "right") / len(first)
        below += np.searchsorted(second, middle, "right") / len(second)
        if below >= 2.0 * share:
            high = middle
        else:
            low = middle
    return high


def _quantile(ordered: Values, share: float) -> float:
    return float(ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))])


def _compare_extremes(
    first: _Run, second: _Run, statistic: Statistic, least_chance: float = (1.0 - LEVEL) / 2.0
) -> Judgement:
    """Count the segments of the run with the larger maximum that reach beyond the other's; minima are negated.

    Args:
        least_chance: If equal engines have as many such segments with a higher probability, the runs are not distinguished.
    """
    sign = 1.0 if statistic is Statistic.MAX else -1.0
    length = max(1, -(-max(len(first.rows), len(second.rows)) // _SEGMENTS))
    ours, theirs = (
        np.maximum.reduceat(sign * run.rows, np.arange(0, len(run.rows), length)) for run in (first, second)
    )
    is_second = theirs.max() > ours.max()
    leading, other = (theirs, ours) if is_second else (ours, theirs)
    beyond = int((leading > other.max()).sum())
    total = len(ours) + len(theirs)
    chance = math.prod((len(leading) - index) / (total - index) for index in range(beyond))
    what = "maximum" if statistic is Statistic.MAX else "minimum"
    leader, behind = (second, first) if is_second else (first, second)
    reach = "reaches" if beyond == 1 else "reach"
    count = f"{beyond} of {plural(len(leading), 'segment')} of {leader.name}"
    reason = f"{count} {reach} beyond the {what} of {behind.name}"
    is_slower = is_second == (statistic is Statistic.MAX)
    outcome = Outcome.SLOWER if is_slower else Outcome.FASTER
    return Judgement(Outcome.SAME if chance > least_chance else outcome, reason, method=_ROSENBAUM)


def _compare_tails(first: _Run, second: _Run, percent: float) -> Judgement | None:
    """Return a verdict on a high percentile if so much of one run lies beyond all of the other that its percentile does."""
    found = _compare_extremes(first, second, Statistic.MAX, _TAIL_CHANCE)
    if found.outcome is Outcome.SAME:
        return None
    higher, lower = (second, first) if found.outcome is Outcome.SLOWER else (first, second)
    return found if percentile(higher.ordered, percent) > lower.ordered[-1] else None
