"""What can be wrong with a series of latencies: outliers, drift, steps, two modes, a slow start.

Each has a result class, a named robust method that finds it, and a threshold for what is large enough to matter. Neighbouring
queries resemble each other, so drift and steps are judged on the medians of blocks of rows, never on single rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

from trex_tui.analysis.statistics import (
    SCALED_MAD,
    TwoModes,
    block_bounds,
    block_medians,
    change_points,
    lag_one,
    mad,
    mann_kendall,
    median,
    median_of_sorted,
    modified_z_limit,
    noise_of_differences,
    theil_sen,
    two_modes,
    variance_inflation,
)
from trex_tui.text import plural

LEAST_EFFECT_PCT = 2.0
"""Drift, steps and distances of modes below this share of the median do not count; steady runs wander by up to 1.8 %."""

OUTLIER_SCORE = 3.5
"""Modified z-score from which a row is an outlier (Iglewicz and Hoaglin)."""

OUTLIER_LEAST_PCT = 5.0
"""How far from its level an outlier must lie, in percent of the median, to count for the verdict."""

OUTLIER_LEAST_SHARE_PCT = 1.0
"""The verdict is outliers if that many rows are, so that they reach the 99th percentile, or if they cost that much time."""

DRIFT_P = 0.01
"""Largest p-value of the Mann–Kendall test for a drift."""

STEP_SIGMAS = 5.0
"""Least size of a step in standard errors of the difference of the two levels."""

STEP_LEAST_SHARE_PCT = 5.0
"""A level must last for this share of the run; shorter excursions are no steps."""

MODE_LEAST_SHARE_PCT = 10.0
MODE_LEAST_D = 2.0
MODE_MOST_VALLEY = 0.5
MODE_LEAST_ROWS = 100
"""A mode holds that share of the rows; Ashman's D exceeds 2; between the modes the density halves at least. In fewer rows
chance digs valleys."""

TIMER_RESOLUTION_MS = 0.0005
"""CUDA events resolve about half a microsecond (documentation of `cudaEventElapsedTime`)."""

_LEVEL_ROWS = 25

_MOST_LEVELS = 100


@dataclass(frozen=True, slots=True)
class Outliers:
    """Rows far from the level around them.

    Attributes:
        count: Rows whose modified z-score exceeds `OUTLIER_SCORE`; the level is the median of the rows around them.
        large: Those of them that lie at least `OUTLIER_LEAST_PCT` away.
        large_share_pct: Share of `large` in all rows.
        limit_ms: Distance from the level that makes an outlier.
        worst_ms: Latency of the row farthest from its level; None if there are no outliers.
        worst_pct: Its distance from the level, in percent of the median.
        excess_pct: Time that the large ones took beyond their level, in percent of the time of all rows.
        found: Whether they are many or costly enough for the verdict.
    """

    count: int
    large: int
    large_share_pct: float
    limit_ms: float
    worst_ms: float | None
    worst_pct: float | None
    excess_pct: float
    found: bool


@dataclass(frozen=True, slots=True)
class Drift:
    """A trend over the whole run: Theil–Sen slope of the block medians, Mann–Kendall test with Yue and Wang's correction.

    Attributes:
        change_ms, change_pct: From the first to the last block along the slope; percent of the median.
        p_value: Of the hypothesis that there is no trend.
        found: Both `DRIFT_P` and `LEAST_EFFECT_PCT` are passed.
    """

    change_ms: float
    change_pct: float
    p_value: float
    found: bool


@dataclass(frozen=True, slots=True)
class Step:
    """A change of level that lasts.

    Attributes:
        row: First row of the new level, from 0, warm-up left out.
        at_s: Seconds from the first row to it; None without stamps.
        before_ms, after_ms: The levels: medians of the block medians.
        change_ms, change_pct: Size; percent of the median of the run.
    """

    row: int
    at_s: float | None
    before_ms: float
    after_ms: float
    change_ms: float
    change_pct: float


@dataclass(frozen=True, slots=True)
class Modes:
    """Two hills in the distribution of the rows: Otsu's split, Ashman's D, and the valley between.

    Attributes:
        clusters: Medians (ms) and shares of the two clusters, D and valley.
        distance_ms, distance_pct: Between the medians; percent of the median of the run.
        found: Distance, shares, D and valley all pass their thresholds.
    """

    clusters: TwoModes
    distance_ms: float
    distance_pct: float
    found: bool


@dataclass(frozen=True, slots=True)
class Settling:
    """Blocks at the start that lie apart from the rest: the warm-up was too short.

    Attributes:
        rows: How many rows.
        lasts_s: Seconds; None without stamps.
        change_pct: Median of the first block against the median of the run.
    """

    rows: int
    lasts_s: float | None
    change_pct: float


@dataclass(frozen=True, slots=True)
class Run:
    """Values in order, their start stamps if all are known, and what all methods need of them."""

    values: Sequence[float]
    times: Sequence[float] | None
    median: float
    resolution: float

    def pct(self, difference: float) -> float:
        """A difference in percent of the median."""
        return 100.0 * difference / self.median if self.median > 0 else 0.0

    def seconds_to(self, row: int) -> float | None:
        """Time from the first row; None without stamps."""
        return None if self.times is None else (self.times[row] - self.times[0]) / 1000.0


def resolution_ms(time_ms: float) -> float:
    """The least difference a time of this size can show: the timer's, or the sixth digit that trtexec prints."""
    if time_ms <= 0.0:
        return TIMER_RESOLUTION_MS
    return max(TIMER_RESOLUTION_MS, 10.0 ** (math.floor(math.log10(time_ms)) - 5))


def find_outliers(run: Run) -> Outliers:
    """Modified z-scores of the distances from the median of the rows around (`OUTLIER_SCORE`)."""
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
        found=many or excess_pct >= OUTLIER_LEAST_SHARE_PCT,
    )


def find_drift(run: Run, medians: Sequence[float]) -> Drift:
    """Theil–Sen slope and Mann–Kendall test of the block medians, corrected for what they correlate beside the slope."""
    slope = theil_sen(medians)
    change = slope * (len(medians) - 1)
    rest = [value - slope * place for place, value in enumerate(medians)]
    p_value = mann_kendall(medians, lag_one(rest))
    found = p_value < DRIFT_P and abs(run.pct(change)) >= LEAST_EFFECT_PCT
    return Drift(change, run.pct(change), p_value, found)


def find_cuts(run: Run, medians: Sequence[float]) -> list[int]:
    """First blocks of the levels that differ from the level before by a step worth telling.

    Optimal partitioning with a penalty of 3 σ² ln(blocks) per cut, σ from the differences of neighbours; then the least step
    is merged away until all exceed `LEAST_EFFECT_PCT` and `STEP_SIGMAS`.
    """
    blocks = len(medians)
    shortest = max(2, math.ceil(blocks * STEP_LEAST_SHARE_PCT / 100.0))
    noise = max(noise_of_differences(medians), run.resolution)
    penalty = 3.0 * noise * noise * math.log(blocks)
    cuts = change_points(medians, penalty, shortest)
    while cuts:
        levels = _levels(medians, cuts)
        jumps = [abs(after - before) for before, after in pairwise(levels)]
        weakest = min(range(len(jumps)), key=jumps.__getitem__)
        if abs(run.pct(jumps[weakest])) >= LEAST_EFFECT_PCT and _is_significant(run, medians, cuts, weakest):
            return cuts
        del cuts[weakest]
    return cuts


def _parts(medians: Sequence[float], cuts: Sequence[int]) -> list[Sequence[float]]:
    bounds = [0, *cuts, len(medians)]
    return [medians[first:end] for first, end in pairwise(bounds)]


def _levels(medians: Sequence[float], cuts: Sequence[int]) -> list[float]:
    return [median(part) for part in _parts(medians, cuts)]


def _is_significant(run: Run, medians: Sequence[float], cuts: Sequence[int], jump: int) -> bool:
    """Whether a jump exceeds `STEP_SIGMAS` standard errors, given the noise and the correlation around the levels."""
    parts = _parts(medians, cuts)
    levels = [median(part) for part in parts]
    rest = [value - level for part, level in zip(parts, levels, strict=True) for value in part]
    noise = max(math.sqrt(math.fsum([one * one for one in rest]) / (len(rest) - len(parts))), run.resolution)
    before, after = len(parts[jump]), len(parts[jump + 1])
    inflation = variance_inflation(lag_one(rest), min(before, after))
    error = noise * math.sqrt(inflation * (1.0 / before + 1.0 / after))
    return abs(levels[jump + 1] - levels[jump]) > STEP_SIGMAS * error


def fits_a_line(medians: Sequence[float], cuts: Sequence[int]) -> bool:
    """Whether a line describes the blocks better than levels do, by Schwarz's criterion (BIC, 1978)."""
    count = len(medians)
    slope = theil_sen(medians)
    rest = [value - slope * place for place, value in enumerate(medians)]
    line = median(rest)
    of_line = math.fsum([(value - line) ** 2 for value in rest])
    of_levels = math.fsum(
        [(value - sum(part) / len(part)) ** 2 for part in _parts(medians, cuts) for value in part]
    )
    if of_levels <= 0.0:
        return False
    if of_line <= 0.0:
        return True
    return math.log(of_line / of_levels) * count < math.log(count) * (2 * len(cuts) - 1)


def find_steps(run: Run, medians: Sequence[float], cuts: Sequence[int]) -> tuple[Step, ...]:
    """The steps at the cuts, each placed at a row."""
    levels = _levels(medians, cuts)
    bounds = block_bounds(len(run.values), len(medians))
    steps = []
    for cut, before, after in zip(cuts, levels, levels[1:], strict=False):
        row = _crossing(run.values, bounds[cut - 1][0], bounds[min(cut, len(bounds) - 1)][1], before, after)
        change = after - before
        steps.append(Step(row, run.seconds_to(row), before, after, change, run.pct(change)))
    return tuple(steps)


def _crossing(values: Sequence[float], first: int, end: int, before: float, after: float) -> int:
    """The row from which values are nearer to `after`: where the sum of votes for `before` is largest (CUSUM, Page 1954)."""
    votes, most, row = 0, 0, first
    for place in range(first, end):
        votes += 1 if abs(values[place] - before) <= abs(values[place] - after) else -1
        if votes > most:
            most, row = votes, place + 1
    return min(row, len(values) - 1)


def find_modes(run: Run, ordered: Sequence[float]) -> Modes | None:
    """Otsu's split of the sorted rows, judged by distance, shares, Ashman's D and valley; None if all are equal."""
    clusters = two_modes(ordered, MODE_LEAST_SHARE_PCT / 100.0)
    if clusters is None:
        return None
    distance = clusters.high - clusters.low
    found = (
        len(ordered) >= MODE_LEAST_ROWS
        and run.pct(distance) >= LEAST_EFFECT_PCT
        and distance > 4.0 * run.resolution
        and min(clusters.low_share, clusters.high_share) >= MODE_LEAST_SHARE_PCT / 100.0
        and clusters.ashman_d > MODE_LEAST_D
        and clusters.valley < MODE_MOST_VALLEY
    )
    return Modes(clusters, distance, run.pct(distance), found)


def find_settling(run: Run, medians: Sequence[float]) -> Settling | None:
    """Blocks before the first that lies where the rest do: modified z-score and `LEAST_EFFECT_PCT`."""
    centre = median(medians)
    scatter = SCALED_MAD * max(mad(medians, centre), run.resolution)
    reach = max(OUTLIER_SCORE * scatter, run.median * LEAST_EFFECT_PCT / 100.0)
    apart = next((place for place, value in enumerate(medians) if abs(value - centre) <= reach), 0)
    if not apart:
        return None
    rows = block_bounds(len(run.values), len(medians))[apart][0]
    return Settling(rows, run.seconds_to(rows), run.pct(medians[0] - centre))


_MOST_BLOCKS = 100
_LEAST_BLOCKS = 8
_LEAST_BLOCK_ROWS = 5
_WINDOWS = 10
_LEAST_PCT_SHOWN = 0.01
LEAST_ROWS = _LEAST_BLOCKS * _LEAST_BLOCK_ROWS
"""Fewer rows tell nothing about drift, steps and modes."""


class Verdict(str, Enum):
    """What a run is like, in a word; of several findings the one that says most about the others."""

    STABLE = "stable"
    DRIFT = "drift"
    STEPS = "steps"
    BIMODAL = "bimodal"
    OUTLIERS = "outliers"
    UNKNOWN = "unknown"
    """Too few rows to tell."""


@dataclass(frozen=True, slots=True)
class Stability:
    """How steady the latency of a run is.

    Attributes:
        verdict: In a word.
        sentences: What was found and what it may mean, the finding behind the verdict first.
        rows: Rows with a latency.
        blocks: Blocks whose medians drift and steps were judged on; 0 if there are too few rows.
        median_ms: None without rows.
        resolution_ms: The least difference that the file can show, and the floor of every estimate of noise.
        windows_range_pct: Range of the medians of ten windows in percent of the median; None below `LEAST_ROWS` rows.
        outliers: None without rows.
        drift, modes: None if there are too few rows.
        steps: Empty if there are none, or too few rows.
        settling: None if the run starts at its level.
    """

    verdict: Verdict
    sentences: tuple[str, ...]
    rows: int
    blocks: int
    median_ms: float | None
    resolution_ms: float
    windows_range_pct: float | None = None
    outliers: Outliers | None = None
    drift: Drift | None = None
    steps: tuple[Step, ...] = ()
    modes: Modes | None = None
    settling: Settling | None = None


def stability(values_ms: Sequence[float], starts_ms: Sequence[float] | None = None) -> Stability:
    """Judge the latencies of consecutive queries, warm-up left out.

    Args:
        values_ms: In order of the queries; NaN rows are left out.
        starts_ms: When each query started, as long as `values_ms`; positions are given in seconds if all are known.
    """
    known = [row for row, value in enumerate(values_ms) if not math.isnan(value)]
    if len(known) < len(values_ms):
        values_ms = [values_ms[row] for row in known]
        starts_ms = None if starts_ms is None else [starts_ms[row] for row in known]
    if not known:
        return Stability(Verdict.UNKNOWN, ("No row has a latency.",), 0, 0, None, TIMER_RESOLUTION_MS)
    if starts_ms is not None and (len(starts_ms) != len(known) or any(map(math.isnan, starts_ms))):
        starts_ms = None
    ordered = sorted(values_ms)
    middle = median_of_sorted(ordered)
    run = Run(values_ms, starts_ms, middle, resolution_ms(middle))
    outliers = find_outliers(run)
    if len(known) < LEAST_ROWS:
        return _of_few_rows(run, outliers)
    blocks = min(_MOST_BLOCKS, len(known) // _LEAST_BLOCK_ROWS)
    medians = block_medians(values_ms, blocks)
    drift = find_drift(run, medians)
    cuts = find_cuts(run, medians)
    if drift.found and cuts and fits_a_line(medians, cuts):
        cuts = []
    steps = find_steps(run, medians, cuts)
    modes = find_modes(run, ordered)
    windows = block_medians(values_ms, _WINDOWS)
    result = Stability(
        verdict=_verdict(drift, steps, modes, outliers),
        sentences=(),
        rows=len(known),
        blocks=blocks,
        median_ms=middle,
        resolution_ms=run.resolution,
        windows_range_pct=run.pct(max(windows) - min(windows)),
        outliers=outliers,
        drift=drift,
        steps=steps,
        modes=modes,
        settling=None if steps else find_settling(run, medians),
    )
    return replace(result, sentences=_sentences(result))


def _of_few_rows(run: Run, outliers: Outliers) -> Stability:
    rows = len(run.values)
    few = f"{plural(rows, 'row')}: too few to tell drift, steps or modes, which takes {LEAST_ROWS}."
    told = [_tell_outliers(outliers, rows)] if outliers.large else []
    verdict = Verdict.OUTLIERS if outliers.found else Verdict.UNKNOWN
    return Stability(verdict, (*told, few), rows, 0, run.median, run.resolution, outliers=outliers)


def _verdict(drift: Drift, steps: Sequence[Step], modes: Modes | None, outliers: Outliers) -> Verdict:
    if steps:
        return Verdict.STEPS
    if drift.found:
        return Verdict.DRIFT
    if modes and modes.found:
        return Verdict.BIMODAL
    return Verdict.OUTLIERS if outliers.found else Verdict.STABLE


def _sentences(run: Stability) -> tuple[str, ...]:
    told = []
    if run.steps:
        told.append(_tell_steps(run.steps))
    elif run.drift and run.drift.found:
        told.append(_tell_drift(run.drift))
    if run.modes and run.modes.found:
        told.append(_tell_modes(run.modes))
    if run.outliers and run.outliers.large:
        told.append(_tell_outliers(run.outliers, run.rows))
    if run.settling:
        told.append(_tell_settling(run.settling))
    if run.verdict is Verdict.STABLE:
        told.insert(0, _tell_steady(run.windows_range_pct or 0.0))
    return tuple(told)


def _tell_steady(range_pct: float) -> str:
    if not range_pct:
        return "Steady: the medians of ten windows are the same."
    shown = f"{range_pct:.2g}" if range_pct >= _LEAST_PCT_SHOWN else f"less than {_LEAST_PCT_SHOWN}"
    return f"Steady: medians of ten windows stay within {shown} %."


def _at(step: Step) -> str:
    return f"row {step.row}" if step.at_s is None else f"{step.at_s:.2f} s"


def _tell_steps(steps: Sequence[Step]) -> str:
    parts = [f"{step.change_ms:+.3g} ms ({step.change_pct:+.1f} %) at {_at(step)}" for step in steps[:4]]
    more = f", and {len(steps) - 4} more" if len(steps) > 4 else ""
    return (
        f"The level changes {plural(len(steps), 'time')}: {', '.join(parts)}{more}. "
        "Clocks that change, throttling or another process do this; lock the clocks."
    )


def _tell_drift(drift: Drift) -> str:
    way = "rises" if drift.change_ms > 0 else "falls"
    return (
        f"The latency {way} by {abs(drift.change_ms):.3g} ms ({abs(drift.change_pct):.1f} %) over the run "
        f"(Mann–Kendall p = {drift.p_value:.1g}). A GPU that warms up or ramps its clocks does this."
    )


def _tell_modes(modes: Modes) -> str:
    two = modes.clusters
    return (
        f"Two modes: {two.low:.4g} ms ({100 * two.low_share:.0f} % of the rows) and {two.high:.4g} ms "
        f"({100 * two.high_share:.0f} %), {modes.distance_pct:.1f} % apart. A median between them stands for neither."
    )


def _tell_outliers(outliers: Outliers, rows: int) -> str:
    return (
        f"{outliers.large} of {plural(rows, 'row')} are outliers by {OUTLIER_LEAST_PCT:.0f} % or more; "
        f"the farthest took {outliers.worst_ms:.4g} ms ({outliers.worst_pct:+.0f} %)."
    )


def _tell_settling(settling: Settling) -> str:
    lasts = plural(settling.rows, "row") if settling.lasts_s is None else f"{settling.lasts_s:.2f} s"
    return f"The first {lasts} run {settling.change_pct:+.1f} % off the rest: a longer warm-up would leave them out."
