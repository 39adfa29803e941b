"""Find the builds at which a measure changes its level, beyond the noise between builds.

The series is divided into levels such that the squares of the residuals plus a penalty for each level are smallest (optimal
partitioning). Then neighbouring levels are compared by Student's t at `LEVEL`, corrected for the number of builds at which
a change could be. The noise is the larger of two estimates:

- the spread between the runs of a build, where builds have several runs;
- the spread of builds within a level. It includes the noise of rebuilding, which repeated runs of one engine lack.

One build beyond the noise between two equal levels is an outlier, not a change. At the end of the series it is a change that
the next build has to confirm.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, pairwise
from statistics import NormalDist

from trex_tui.old.analysis.statistics import median
from trex_tui.old.lazy_dataclass import dataclass

LEVEL = 0.95
LEAST_FREEDOM = 4
"""Fewest degrees of freedom of the noise."""
LEAST_BEFORE, LEAST_AFTER = 3, 2
"""Builds on both sides of a lasting change."""
_MEDIAN_OF_NORMAL = 0.6745
"""Median of the absolute values of a standard normal variable."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A change of level.

    Attributes:
        index: First build of the new level.
        before, after: Means of the levels on both sides.
        margin: Half of the corrected confidence interval of the difference; 0 for exact measures.
        is_confirmed: At least two builds are on the new level.
    """

    index: int
    before: float
    after: float
    margin: float = 0.0
    is_confirmed: bool = True

    @property
    def difference(self) -> float:
        return self.after - self.before

    @property
    def difference_pct(self) -> float | None:
        """The difference in percent of the earlier level; None if that is 0."""
        return 100.0 * self.difference / abs(self.before) if self.before else None


@dataclass(frozen=True, slots=True)
class Levels:
    """A series divided into levels.

    Attributes:
        changes: In the order of builds.
        outliers: Builds that differ from the level on both sides.
        noise: Standard deviation of a build's value; None if it is unknown, 0 for exact measures.
        reason: Why the series cannot be judged; empty if it can.
    """

    changes: tuple[ChangePoint, ...] = ()
    outliers: tuple[int, ...] = ()
    noise: float | None = None
    reason: str = ""


def find_exact_changes(values: Sequence[float | None]) -> Levels:
    """Return each change of a measure without noise, such as a number of layers; builds without a value are skipped."""
    known = [(index, value) for index, value in enumerate(values) if value is not None]
    changes = [
        ChangePoint(late, before, after) for (_, before), (late, after) in pairwise(known) if before != after
    ]
    return Levels(tuple(changes), noise=0.0)


def find_lasting_changes(values: Sequence[Hashable]) -> list[int]:
    """Return the builds at which a property changes and stays: equal in three builds before and in two from there on.

    Choices that alternate from build to build are noise. Builds where it is None are skipped.
    """
    known = [(index, value) for index, value in enumerate(values) if value is not None]
    changes = []
    for place in range(LEAST_BEFORE, len(known) - LEAST_AFTER + 1):
        before = {value for _, value in known[place - LEAST_BEFORE : place]}
        after = {value for _, value in known[place : place + LEAST_AFTER]}
        if len(before) == len(after) == 1 and before != after:
            changes.append(known[place][0])
    return changes


def find_changes(builds: Sequence[Sequence[float]], tick: float = 0.0) -> Levels:
    """Divide a measured series into levels.

    Args:
        builds: The values of each build's runs; builds without a value are skipped.
        tick: Smallest difference that the measurement can show.
    """
    places = [index for index, runs in enumerate(builds) if runs]
    values = [math.fsum(builds[index]) / len(builds[index]) for index in places]
    repeats = _Repeats.of([builds[index] for index in places])
    if len(values) < 2:
        return Levels(reason="fewer than two builds have a value")
    if len(values) < LEAST_FREEDOM + 2 and repeats.freedom < LEAST_FREEDOM:
        return Levels(
            reason=f"noise between builds unknown (needs {LEAST_FREEDOM + 2} builds, or several runs of each)"
        )
    kept = list(range(len(values)))
    outliers: list[int] = []
    while True:
        levels = _divide([values[index] for index in kept], repeats, tick)
        single = next(
            (change.index for change, later in pairwise(levels.changes) if later.index == change.index + 1),
            None,
        )
        if single is None:
            break
        outliers.append(places[kept.pop(single)])
    changes = tuple(replace(change, index=places[kept[change.index]]) for change in levels.changes)
    return replace(levels, changes=changes, outliers=tuple(sorted(outliers)))


@dataclass(frozen=True, slots=True)
class _Repeats:
    """Variance of a build's mean by the spread between its runs, with its degrees of freedom."""

    variance: float
    freedom: int

    @classmethod
    def of(cls, builds: Sequence[Sequence[float]]) -> _Repeats:
        freedom = sum(len(runs) - 1 for runs in builds)
        if freedom < 1:
            return cls(0.0, 0)
        squares = math.fsum(
            (value - math.fsum(runs) / len(runs)) ** 2 for runs in builds if len(runs) > 1 for value in runs
        )
        share = math.fsum(1.0 / len(runs) for runs in builds) / len(builds)
        return cls(squares / freedom * share, freedom)


def _divide(values: Sequence[float], repeats: _Repeats, tick: float) -> Levels:
    """Divide known values into levels, and drop the differences of neighbours that may be noise, the smallest first."""
    steps = [abs(late - early) for early, late in pairwise(values)]
    # A change affects one of the steps: the median of few steps, but hardly that of many.
    is_short = len(values) < LEAST_FREEDOM + 2
    robust = 0.0 if is_short else median(steps) / _MEDIAN_OF_NORMAL / math.sqrt(2.0)
    least = max(tick / math.sqrt(12.0), abs(values[0]) * 1e-9, 1e-12)
    starts = _partition(values, max(robust, math.sqrt(repeats.variance), least))
    while True:
        bounds = [*starts, len(values)]
        parts = [values[first:end] for first, end in pairwise(bounds)]
        variance, freedom = _noise(parts, repeats)
        deviation = max(math.sqrt(variance), least)
        if freedom < 1:
            return Levels(reason="noise between builds unknown: every build is a level of its own")
        quantile = student_quantile(1.0 - (1.0 - LEVEL) / 2.0 / (len(values) - 1), freedom)
        means = [math.fsum(part) / len(part) for part in parts]
        changes = [
            ChangePoint(
                start,
                means[position],
                means[position + 1],
                quantile * deviation * math.sqrt(1.0 / len(parts[position]) + 1.0 / len(parts[position + 1])),
                is_confirmed=len(values) - start > 1,
            )
            for position, start in enumerate(starts[1:])
        ]
        weakest = min(changes, key=lambda change: abs(change.difference) / change.margin, default=None)
        reach = 0.0 if weakest is None else max(weakest.margin, tick)
        if weakest is None or abs(weakest.difference) > reach:
            return Levels(tuple(changes), noise=deviation)
        starts.remove(weakest.index)


def _noise(parts: Sequence[Sequence[float]], repeats: _Repeats) -> tuple[float, int]:
    """Return the variance of a build's value and its degrees of freedom: the larger one of builds and of runs."""
    freedom = sum(map(len, parts)) - len(parts)
    squares = math.fsum((value - math.fsum(part) / len(part)) ** 2 for part in parts for value in part)
    if not freedom or (repeats.freedom and repeats.variance * freedom >= squares):
        return repeats.variance, repeats.freedom
    return squares / freedom, freedom


def _partition(values: Sequence[float], deviation: float) -> list[int]:
    """Return the first index of each level that minimizes squares in units of the noise, plus a penalty per level."""
    count = len(values)
    centre = values[0]
    scaled = [(value - centre) / deviation for value in values]
    sums = [0.0, *accumulate(scaled)]
    squares = [0.0, *accumulate(value * value for value in scaled)]
    penalty = 2.0 * math.log(count) + 2.0
    best = [-penalty]
    origin = [0]
    for end in range(1, count + 1):
        costs = [
            best[first]
            + squares[end]
            - squares[first]
            - (sums[end] - sums[first]) ** 2 / (end - first)
            + penalty
            for first in range(end)
        ]
        first = min(range(end), key=costs.__getitem__)
        best.append(costs[first])
        origin.append(first)
    starts = []
    end = count
    while end:
        end = origin[end]
        starts.append(end)
    return starts[::-1]


@lru_cache(maxsize=1024)
def student_quantile(probability: float, freedom: int) -> float:
    """Return the quantile of Student's t, by bisection of its distribution."""
    low, high = 0.0, NormalDist().inv_cdf(probability)
    while student_probability(high, freedom) < probability:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if student_probability(middle, freedom) < probability else (low, middle)
    return high


def student_probability(value: float, freedom: int) -> float:
    """Return the probability that Student's t with an integral number of degrees of freedom is at most a value."""
    # Finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4.
    angle = math.atan(value / math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    term = total = 1.0 if freedom > 1 else 0.0
    is_odd = freedom % 2
    for power in range(2 + is_odd, freedom - 1, 2):
        term *= square * (power - 1) / power
        total += term
    inside = 2.0 / math.pi * (angle + sine * math.cos(angle) * total) if is_odd else sine * total
    return 0.5 + inside / 2.0
