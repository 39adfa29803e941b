"""Verdicts beyond noise: false alarms about as often as promised, real differences found, the same answer every time."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from helpers import some
from trex_tui.analysis.compare import Outcome
from trex_tui.analysis.compare.noise import LEAST_ROWS, block_length, judge, resample

NAMES = ("old", "new")


def run(rows: int, correlation: float, seed: int, shift: float = 0.0, tick: float = 0.0) -> list[float]:
    """Latencies around 1 ms with noise of 1 %, autoregressive, and now and then an outlier."""
    drawn = Random(seed)
    state, values = 0.0, []
    for _ in range(rows):
        state = correlation * state + drawn.gauss(0.0, (1.0 - correlation**2) ** 0.5)
        value = 1.0 + shift + 0.01 * state
        if drawn.random() < 0.02:
            value += drawn.expovariate(10.0)
        values.append(round(value / tick) * tick if tick else value)
    return values


def outcomes(rows: int, correlation: float, shift: float = 0.0, times: int = 40) -> list[Outcome]:
    return [
        judge(run(rows, correlation, 2 * time), run(rows, correlation, 2 * time + 1, shift), NAMES).outcome
        for time in range(times)
    ]


@pytest.mark.parametrize("correlation", some([0.5, 0.0, 0.9]))
def test_equal_engines_are_told_apart_about_one_time_in_twenty(correlation: float) -> None:
    """Of 40 pairs 2 are expected; 7 or more have a chance of 0.3 % at the nominal rate."""
    alarms = sum(outcome in (Outcome.FASTER, Outcome.SLOWER) for outcome in outcomes(400, correlation))
    assert alarms <= 6


def test_row_by_row_correlated_noise_would_be_a_false_alarm() -> None:
    """What the blocks are for: with blocks of one row, every other pair of these runs would differ."""
    alone = 0
    for time in range(20):
        spread = sorted(resample(run(400, 0.9, time), 1).medians)
        shuffled = run(400, 0.9, time)
        Random(time).shuffle(shuffled)
        apart = sorted(resample(shuffled, 1).medians)
        alone += (spread[950] - spread[50]) > 1.5 * (apart[950] - apart[50])
    assert alone >= 18


@pytest.mark.parametrize(("shift", "outcome"), [(0.01, Outcome.SLOWER), (-0.01, Outcome.FASTER)])
def test_a_difference_as_large_as_the_noise_of_a_row_is_found(shift: float, outcome: Outcome) -> None:
    assert outcomes(400, 0.5, shift, times=10) == [outcome] * 10


def test_the_verdict_has_numbers_and_says_how_it_was_made() -> None:
    verdict = judge(run(2000, 0.5, 1), run(1500, 0.5, 2, 0.02), NAMES)
    assert verdict.outcome is Outcome.SLOWER
    assert verdict.rows == (2000, 1500)
    assert verdict.medians_ms is not None
    assert verdict.interval_ms is not None
    assert verdict.difference_ms == pytest.approx(verdict.medians_ms[1] - verdict.medians_ms[0])
    low, high = verdict.interval_ms
    assert low < verdict.difference_ms < high
    assert low < 0.02 < high
    assert verdict.difference_pct == pytest.approx(100 * verdict.difference_ms / verdict.medians_ms[0])
    assert "block bootstrap" in verdict.method
    assert "new" in verdict.why


def test_the_same_rows_have_the_same_verdict() -> None:
    one, other = run(500, 0.5, 1), run(500, 0.5, 2)
    assert judge(one, other, NAMES) == judge(list(one), list(other), NAMES)


def test_an_engine_is_no_other_than_itself() -> None:
    rows = run(1000, 0.5, 1)
    verdict = judge(rows, rows, NAMES)
    assert (verdict.outcome, verdict.difference_ms) == (Outcome.SAME, 0.0)


def test_less_than_the_timer_resolves_is_no_difference() -> None:
    verdict = judge([1.0] * 500, [1.0005] * 500, NAMES)
    assert verdict.outcome is Outcome.SAME
    assert "timer" in verdict.why
    assert judge([1.0] * 500, [1.1] * 500, NAMES).outcome is Outcome.SLOWER


@pytest.mark.parametrize(
    ("runs", "word"),
    [(([], run(100, 0.0, 1)), "no timing rows"), ((run(100, 0.0, 1), [1.0, 1.1]), "2 timing rows")],
)
def test_without_rows_there_is_no_verdict_and_a_reason(runs: tuple[Sequence[float], ...], word: str) -> None:
    verdict = judge(runs[0], runs[1], NAMES)
    assert verdict.outcome is Outcome.UNKNOWN
    assert word in verdict.why
    assert verdict.interval_ms is None
    assert verdict.difference_ms is None


def test_a_drifting_run_is_too_few_measurements() -> None:
    drifting = [1.0 + row / 400 for row in range(400)]
    verdict = judge(drifting, run(400, 0.0, 1), NAMES)
    assert verdict.outcome is Outcome.UNKNOWN
    assert "depend on each other" in verdict.why
    assert verdict.block_rows is not None
    assert verdict.block_rows[0] >= 20


def test_resampled_medians_are_values_around_the_median() -> None:
    rows = run(401, 0.0, 5)
    medians = resample(rows, 1).medians
    assert set(medians) <= set(rows)
    assert len(medians) == 1000
    ordered = sorted(medians)
    assert ordered[300] <= sorted(rows)[200] <= ordered[700]


def test_the_spread_of_resampled_medians_is_that_of_real_ones() -> None:
    """Standard error of a median of normal values: 1.2533 σ / √n."""
    drawn = Random(1)
    rows = [drawn.gauss(1.0, 0.01) for _ in range(900)]
    medians = resample(rows, 1).medians
    mean = sum(medians) / len(medians)
    spread = (sum((one - mean) ** 2 for one in medians) / len(medians)) ** 0.5
    assert spread == pytest.approx(1.2533 * 0.01 / 30, rel=0.35)


@pytest.mark.parametrize("rows", [LEAST_ROWS, 41, 57])
def test_small_and_constant_runs_do_no_harm(rows: int) -> None:
    assert judge([1.0] * rows, [1.0] * rows, NAMES).outcome is Outcome.SAME
    assert judge([0.0] * rows, [0.0] * rows, NAMES).outcome is Outcome.SAME


def test_blocks_grow_with_the_correlation() -> None:
    lengths = []
    for correlation in (0.0, 0.5, 0.9, 0.97):
        rows = run(2000, correlation, 1)
        middle = sorted(rows)[1000]
        lengths.append(block_length([value > middle for value in rows]))
    assert lengths == sorted(lengths)
    assert lengths[0] <= 8
    assert lengths[-1] >= 40
    assert block_length([True] * 100) == block_length([]) == 1
