"""Verdicts beyond noise: false alarms about as often as promised, real differences found, the same answer every time."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from helpers import some
from trex_tui.old.analysis.compare import Outcome
from trex_tui.old.analysis.compare.noise import (
    LEAST_ROWS,
    Judgement,
    Statistic,
    judge,
    judge_rate,
    judge_values,
    student_t,
)
from trex_tui.old.analysis.stability import timer_tick_ms

NAMES = ("old", "new")
DECIDED = (Outcome.FASTER, Outcome.SLOWER)


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


def judge_pair(
    baseline: Sequence[float], other: Sequence[float], statistic: Statistic = Statistic.MEDIAN
) -> Judgement:
    return judge([baseline], [other], statistic, NAMES)


def outcomes(
    rows: int,
    correlation: float,
    shift: float = 0.0,
    times: int = 40,
    statistic: Statistic = Statistic.MEDIAN,
) -> list[Outcome]:
    return [
        judge_pair(
            run(rows, correlation, 2 * time), run(rows, correlation, 2 * time + 1, shift), statistic
        ).outcome
        for time in range(times)
    ]


@pytest.mark.parametrize("correlation", some([0.97, 0.5, 0.0, 0.9]))
@pytest.mark.parametrize("statistic", some([Statistic.MEDIAN, Statistic.P99, Statistic.MEAN, Statistic.MAX]))
def test_equal_engines_are_told_apart_at_most_one_time_in_twenty(
    statistic: Statistic, correlation: float
) -> None:
    """Of 40 pairs 2 are expected; 7 or more have a chance of 0.3 % at the nominal rate."""
    alarms = sum(outcome in DECIDED for outcome in outcomes(400, correlation, statistic=statistic))
    assert alarms <= 6


def test_rows_that_depend_on_each_other_make_a_wider_interval() -> None:
    widths = []
    for correlation in (0.0, 0.5, 0.9):
        judgement = judge_pair(run(1000, correlation, 1), run(1000, correlation, 2))
        assert judgement.interval is not None
        widths.append(judgement.interval[1] - judgement.interval[0])
    assert widths == sorted(widths)
    assert widths[2] > 2 * widths[0]


@pytest.mark.parametrize(("shift", "outcome"), [(0.01, Outcome.SLOWER), (-0.01, Outcome.FASTER)])
def test_a_difference_as_large_as_the_noise_of_a_row_is_found(shift: float, outcome: Outcome) -> None:
    assert outcomes(400, 0.5, shift, times=10) == [outcome] * 10


def test_the_judgement_has_numbers() -> None:
    judgement = judge_pair(run(2000, 0.5, 1), run(1500, 0.5, 2, 0.02))
    assert judgement.outcome is Outcome.SLOWER
    assert (judgement.rows, judgement.runs) == ((2000, 1500), (1, 1))
    assert judgement.values is not None
    assert judgement.interval is not None
    assert judgement.difference == judgement.values[1] - judgement.values[0]
    low, high = judgement.interval
    assert low < judgement.difference < high
    assert low < 0.02 < high
    assert judgement.difference_pct == pytest.approx(100 * judgement.difference / judgement.values[0])
    assert judgement.method


def test_the_same_rows_have_the_same_verdict() -> None:
    one, other = run(500, 0.5, 1), run(500, 0.5, 2)
    for statistic in Statistic:
        assert judge_pair(one, other, statistic) == judge_pair(list(one), list(other), statistic)


@pytest.mark.parametrize("statistic", list(Statistic))
def test_an_engine_is_no_other_than_itself(statistic: Statistic) -> None:
    rows = run(1000, 0.5, 1)
    judgement = judge_pair(rows, rows, statistic)
    assert judgement.outcome not in DECIDED
    assert judgement.difference == 0.0


def test_sides_change_places() -> None:
    one, other = run(900, 0.3, 1), run(700, 0.3, 2, 0.01)
    ahead, back = judge_pair(one, other), judge_pair(other, one)
    assert (ahead.outcome, back.outcome) == (Outcome.SLOWER, Outcome.FASTER)
    assert ahead.interval is not None
    assert back.interval == pytest.approx((-ahead.interval[1], -ahead.interval[0]), abs=2e-5)


# Statistics other than the median


def with_slow_rows(rows: list[float], share: float, factor: float) -> list[float]:
    chosen = set(Random(9).sample(range(len(rows)), int(len(rows) * share)))
    return [value * factor if row in chosen else value for row, value in enumerate(rows)]


@pytest.mark.parametrize("count", [250, 1000, 4000])
@pytest.mark.parametrize(
    ("statistic", "outcome"),
    [
        (Statistic.MEDIAN, Outcome.SAME),
        (Statistic.P99, Outcome.SLOWER),
        (Statistic.MEAN, Outcome.SLOWER),
        (Statistic.MAX, Outcome.SLOWER),
        (Statistic.MIN, Outcome.SAME),
    ],
)
def test_slow_rows_are_seen_where_they_matter(count: int, statistic: Statistic, outcome: Outcome) -> None:
    drawn = Random(1)
    rows = [drawn.gauss(1.0, 0.002) for _ in range(count)]
    assert judge_pair(rows, with_slow_rows(rows, 0.04, 1.8), statistic).outcome is outcome


def test_one_slow_stretch_is_one_event() -> None:
    """A pause of the machine in one of the runs says nothing about the engine."""
    drawn = Random(1)
    rows = [drawn.gauss(1.0, 0.002) for _ in range(1500)]
    paused = [value * (1.8 if 700 <= row < 720 else 1.0) for row, value in enumerate(rows)]
    for statistic in (Statistic.P99, Statistic.MAX, Statistic.MEAN):
        assert judge_pair(rows, paused, statistic).outcome not in DECIDED


def test_throughput_is_judged_by_the_times_between_queries() -> None:
    slower = judge_rate([run(1000, 0.5, 1)], [run(1000, 0.5, 2, 0.02)], NAMES)
    assert slower.outcome is Outcome.SLOWER
    assert slower.values is not None
    assert slower.interval is not None
    assert slower.values[1] < slower.values[0]
    assert slower.interval[0] < slower.values[1] - slower.values[0] < slower.interval[1] < 0


# The timer


def test_less_than_the_timer_shows_is_no_difference() -> None:
    judgement = judge_pair([1.0] * 500, [1.0005] * 500)
    assert judgement.outcome is Outcome.SAME
    assert judgement.interval == pytest.approx((0.0, 0.001), abs=1e-8)
    assert judge_pair([1.0] * 500, [1.1] * 500).outcome is Outcome.SLOWER


def test_the_interval_is_a_tick_wide_where_rows_repeat() -> None:
    """Rows in steps of 1.024 µs, as a GPU's clock makes them; the truth lies 0.4 µs apart."""
    tick = 0.001024
    covered = decided = 0
    for time in range(30):
        drawn = Random(time)
        sides = [
            [round((0.418 + shift + drawn.gauss(0, 0.0003)) / tick) * tick for _ in range(500)]
            for shift in (0.0, 0.0004)
        ]
        judgement = judge_pair(*sides)
        assert judgement.interval is not None
        assert judgement.interval[1] - judgement.interval[0] >= 2 * tick * 0.999
        covered += judgement.interval[0] <= 0.0004 <= judgement.interval[1]
        decided += judgement.outcome in DECIDED
    assert (covered, decided) == (30, 0)


def test_the_tick_of_the_timer_is_found_in_the_rows() -> None:
    drawn = Random(1)
    stepped = sorted(round(drawn.gauss(400, 5)) * 0.001024 for _ in range(1000))
    assert timer_tick_ms(stepped) == pytest.approx(0.001024)
    assert timer_tick_ms(sorted(drawn.gauss(0.4, 0.005) for _ in range(1000))) == 0.0005


# Rows that are few, drift or lie apart


@pytest.mark.parametrize(
    ("runs", "word"),
    [
        (([], run(100, 0.0, 1)), "old has no timing rows"),
        ((run(100, 0.0, 1), [1.0, 1.1]), "new has 2 timing rows"),
    ],
)
def test_without_rows_there_is_no_verdict_and_a_reason(runs: tuple[Sequence[float], ...], word: str) -> None:
    judgement = judge_pair(runs[0], runs[1])
    assert judgement.outcome is Outcome.UNKNOWN
    assert word in judgement.reason
    assert judgement.interval is None


def test_a_drifting_run_is_not_told_apart() -> None:
    drifting = [1.0 + row / 400 for row in range(400)]
    for shift in (0.3, 0.5, 0.7):
        assert judge_pair(drifting, run(400, 0.0, 1, shift)).outcome not in DECIDED


@pytest.mark.parametrize("rows", [12, 60])
def test_ranges_far_apart_need_no_interval(rows: int) -> None:
    """Also of rows that drift, or are too few."""
    slow = [12.0 + row / rows for row in range(rows)]
    fast = [4.0 + 0.1 * row / rows for row in range(rows)]
    assert judge_pair(slow, fast).outcome is Outcome.FASTER
    assert judge_pair(fast, slow).outcome is Outcome.SLOWER
    assert judge_pair(fast, slow, Statistic.P99).outcome is Outcome.SLOWER
    near = [5.0 + row / rows for row in range(rows)]
    assert rows >= LEAST_ROWS or judge_pair(near, [value + 1.01 for value in near]).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("rows", [LEAST_ROWS, 41, 57])
@pytest.mark.parametrize("statistic", list(Statistic))
def test_small_and_constant_runs_do_no_harm(rows: int, statistic: Statistic) -> None:
    for value in (1.0, 0.0):
        assert judge_pair([value] * rows, [value] * rows, statistic).outcome not in DECIDED


# Several runs of an engine


def offset_runs(seed: int, count: int, shift: float = 0.0) -> list[list[float]]:
    """Runs with a spread of 0.5 % from one to the next, each steady within."""
    drawn = Random(seed)
    runs = []
    for _ in range(count):
        level = 1.0 + shift + drawn.gauss(0.0, 0.005)
        runs.append([level + drawn.gauss(0.0, 0.001) for _ in range(60)])
    return runs


def alarm_share(count: int, times: int = 200) -> float:
    alarms = 0
    for time in range(times):
        judgement = judge(
            offset_runs(2 * time, count), offset_runs(2 * time + 1, count), Statistic.MEDIAN, NAMES
        )
        alarms += judgement.outcome in DECIDED
    return alarms / times


def test_the_spread_between_runs_is_noise() -> None:
    """One run of each engine cannot show it: its verdict holds within the run."""
    assert alarm_share(3) <= 0.09
    assert alarm_share(2) <= 0.09
    assert alarm_share(1, 60) > 0.5


def test_a_difference_beyond_the_spread_between_runs_is_found() -> None:
    judgement = judge(offset_runs(1, 3), offset_runs(2, 3, 0.03), Statistic.MEDIAN, NAMES)
    assert (judgement.outcome, judgement.runs, judgement.rows) == (Outcome.SLOWER, (3, 3), (180, 180))
    assert judgement.interval is not None
    assert judgement.interval[0] < 0.03 < judgement.interval[1]


def test_values_of_runs_follow_student() -> None:
    """Means 1.02 and 1.06, pooled variance 0.0001 of two degrees of freedom: t is 4.303."""
    judgement = judge_values([1.01, 1.03], [1.05, 1.07], 0.0005)
    half = 4.303 * (0.0002 * (1 / 2 + 1 / 2)) ** 0.5
    assert judgement.interval == pytest.approx((0.04 - half, 0.04 + half), abs=1e-6)
    assert judgement.outcome is Outcome.SAME
    assert judge_values([1.0, 1.0], [1.0], 0.0005).outcome is Outcome.SAME


@pytest.mark.parametrize(
    ("freedom", "value"), [(1, 12.706), (8, 2.306), (16, 2.120), (30, 2.042), (1000, 1.962)]
)
def test_student(freedom: int, value: float) -> None:
    assert student_t(freedom) == pytest.approx(value, abs=0.002)
