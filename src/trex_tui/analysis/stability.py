"""Whether the latencies of a run are of one piece, in a word, in sentences and in numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from trex_tui.analysis.anomalies import (
    OUTLIER_LEAST_PCT,
    TIMER_RESOLUTION_MS,
    Drift,
    Modes,
    Outliers,
    Run,
    Settling,
    Step,
    find_cuts,
    find_drift,
    find_modes,
    find_outliers,
    find_settling,
    find_steps,
    fits_a_line,
    resolution_ms,
)
from trex_tui.analysis.robust import block_medians, median_of_sorted
from trex_tui.text import plural

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
