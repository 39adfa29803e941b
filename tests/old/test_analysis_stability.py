"""Stability of a run and the statistics behind it: by hand, with injected faults, and on clean noise."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trex_tui.old.analysis.stability import Steadiness, stability
from trex_tui.old.analysis.statistics import block_medians, mad, median, modified_z_limit
from trex_tui.old.analysis.timing import timing_statistics
from trex_tui.old.engine import load_engine


def white(seed: int, rows: int = 2000, sigma_pct: float = 2.0) -> list[float]:
    noise = random.Random(seed)
    return [1.0 + noise.gauss(0.0, sigma_pct / 100.0) for _ in range(rows)]


def autoregressive(seed: int, rows: int = 2000, sigma_pct: float = 1.0, phi: float = 0.9) -> list[float]:
    """AR(1) noise of a given marginal deviation around 1 ms."""
    noise, state, values = random.Random(seed), 0.0, []
    for _ in range(rows):
        state = phi * state + noise.gauss(0.0, math.sqrt(1.0 - phi * phi) * sigma_pct / 100.0)
        values.append(1.0 + state)
    return values


def starts_of(values: list[float]) -> list[float]:
    starts, now = [], 200.0
    for value in values:
        starts.append(now)
        now += value
    return starts


# Formulas


def test_statistics_by_hand() -> None:
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert mad([1.0, 2.0, 9.0], 2.0) == 1.0
    assert modified_z_limit([-1.0, 0.0, 1.0, 1.0], 3.5, 0.5) == pytest.approx(3.5 / 0.6745)
    assert modified_z_limit([0.0, 0.0, 0.0, 8.0], 3.5, 0.5) == pytest.approx(3.5 * 0.5 / 0.6745)
    assert block_medians([1.0, 2.0, 3.0, 9.0, 8.0, 7.0], 2) == [2.0, 8.0]


# Stability: injected faults


def judged(values: list[float]) -> Any:
    return stability(values, starts_of(values))


def test_a_drift_is_found() -> None:
    noise = autoregressive(1)
    found = judged([value + 0.06 * place / len(noise) for place, value in enumerate(noise)])
    assert found.verdict is Steadiness.DRIFT
    assert found.drift.change_pct == pytest.approx(4.0, abs=0.6)  # between the middles of two thirds
    assert found.drift.change_ms == pytest.approx(0.04, abs=0.006)
    assert "rises" in found.sentences[0]


def test_a_step_is_a_drift() -> None:
    noise = autoregressive(2, sigma_pct=0.5)
    found = judged([value + (0.05 if place >= 1234 else 0.0) for place, value in enumerate(noise)])
    assert found.verdict is Steadiness.DRIFT
    assert found.drift.change_ms == pytest.approx(0.05, abs=0.004)


def test_a_plateau_is_spread() -> None:
    values = [
        value * (1.08 if 800 <= place < 1200 else 1.0) for place, value in enumerate(white(3, sigma_pct=1.0))
    ]
    found = judged(values)
    assert found.verdict is Steadiness.SPREAD
    assert found.windows_range_pct == pytest.approx(8.0, abs=0.4)
    assert "% apart" in found.sentences[0]


def test_outliers_are_found() -> None:
    values = white(5, sigma_pct=0.5)
    for place in range(0, 2000, 50):
        values[place] *= 1.5
    found = judged(values)
    assert found.verdict is Steadiness.OUTLIERS
    assert found.outliers.large == 40
    assert found.outliers.worst_pct == pytest.approx(50, abs=2)
    assert found.outliers.excess_pct == pytest.approx(1.0, abs=0.05)


def test_a_slow_start_is_told_but_no_verdict() -> None:
    values = [value * (1.05 if place < 30 else 1.0) for place, value in enumerate(white(6, sigma_pct=0.3))]
    found = judged(values)
    assert found.verdict is Steadiness.STABLE
    assert found.settling.change_pct == pytest.approx(5.0, abs=0.5)
    assert found.settling.rows in (20, 40)


# Stability: nothing injected


def false_alarms(make: Any, runs: int = 200, **how: Any) -> int:
    return sum(stability(make(seed, **how)).verdict is not Steadiness.STABLE for seed in range(runs))


@pytest.mark.parametrize(
    ("make", "how", "most"),
    [
        pytest.param(white, {"sigma_pct": 2.0, "rows": 1000}, 0, id="white 2 %"),
        pytest.param(white, {"sigma_pct": 1.0, "rows": 60}, 2, id="white 1 %, few rows"),
        pytest.param(white, {"sigma_pct": 3.0, "rows": 40}, 8, id="white 3 %, fewest rows"),
        pytest.param(autoregressive, {"sigma_pct": 2.0, "rows": 1000}, 8, id="AR(1) 0.9, 2 %"),
        pytest.param(autoregressive, {"sigma_pct": 1.0, "rows": 1000}, 2, id="AR(1) 0.9, 1 %"),
        pytest.param(
            autoregressive, {"sigma_pct": 0.5, "rows": 1000, "phi": 0.99}, 2, id="AR(1) 0.99, 0.5 %"
        ),
    ],
)
def test_clean_noise_is_stable(make: Any, how: dict[str, Any], most: int) -> None:
    """Of 200 runs at most 1 % may be called anything else, 4 % where the noise is as large as the least effect."""
    assert false_alarms(make, **how) <= most


@pytest.mark.parametrize("rows", [*range(1, 11), 39])
def test_few_rows_are_too_few(rows: int) -> None:
    found = judged([1.0 + 0.001 * (row % 3) for row in range(rows)])
    assert found.verdict is Steadiness.UNKNOWN
    assert (found.drift, found.blocks) == (None, 0)
    assert "too few" in found.sentences[-1]


@pytest.mark.parametrize("rows", [40, 500, 5000])
@pytest.mark.parametrize("value", [0.0, 1e-4, 0.5, 1234.5])
def test_a_constant_series_is_stable(rows: int, value: float) -> None:
    found = judged([value] * rows)
    assert found.verdict is Steadiness.STABLE
    assert found.outliers.count == 0
    assert found.sentences[0] == "The medians of ten windows are equal."


def test_ticks_of_the_timer_are_no_findings() -> None:
    pick = random.Random(7)
    values = [0.010240 + 0.001024 * (pick.random() < 0.02) for _ in range(500)]
    assert stability([0.5 + 0.0005 * pick.randrange(3) for _ in range(500)]).verdict is Steadiness.STABLE
    assert stability(values).outliers is not None


def test_no_rows_and_rows_without_a_number() -> None:
    assert stability([]).verdict is Steadiness.UNKNOWN
    assert stability([math.nan] * 50).verdict is Steadiness.UNKNOWN
    values = white(8, rows=400, sigma_pct=0.5)
    holes = [math.nan if place % 7 == 0 else value for place, value in enumerate(values)]
    found = stability(holes, starts_of(values))
    assert found.verdict is Steadiness.STABLE
    assert found.rows == sum(not math.isnan(value) for value in holes)


def test_stamps_that_go_back_give_no_seconds() -> None:
    values = [1.3] * 60 + white(8, rows=940, sigma_pct=0.5)
    starts = starts_of(values)
    settling, without = (stability(values, stamps).settling for stamps in (starts, starts[::-1]))
    assert settling is not None
    assert settling.lasts_s is not None
    assert without is not None
    assert without.lasts_s is None


def test_one_huge_outlier_is_not_hidden() -> None:
    values = white(9, rows=1000, sigma_pct=0.5)
    values[700] = 1e6
    found = stability(values)
    assert found.verdict is Steadiness.OUTLIERS
    assert found.outliers is not None
    assert found.outliers.large == 1
    assert found.outliers.worst_ms == 1e6


# Properties


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_stability_is_the_same_in_other_units(seed: int, power: int) -> None:
    values = autoregressive(seed, rows=300)
    one, two = stability(values), stability([value * 2.0**power for value in values])
    assert one.verdict is two.verdict
    assert one.drift is not None
    assert two.drift is not None
    assert two.drift.change_pct == pytest.approx(one.drift.change_pct)


@given(st.lists(st.floats(allow_infinity=False, min_value=0.0, max_value=1e15), max_size=200))
def test_no_series_is_too_strange(values: list[float]) -> None:
    found = stability(values, starts_of(values))
    assert isinstance(found.verdict, Steadiness)
    assert json.dumps(found.sentences)


class TestLevels:
    def test_two_clock_states_are_not_steady(self) -> None:
        """Both states in every window, so that windows and drift say nothing."""
        values = [1.0 + 0.001 * (place % 5) + (0.05 if place % 3 else 0.0) for place in range(3000)]
        run = stability(values)
        assert run.verdict is Steadiness.LEVELS
        assert run.levels is not None
        assert run.levels.low_share_pct == pytest.approx(33.3, abs=0.1)
        assert run.levels.apart_pct == pytest.approx(4.8, abs=0.2)
        assert run.sentences[0].startswith("33 % of the rows are around 1.002 ms")

    def test_one_level(self) -> None:
        for values in (
            [1.0 + 0.0001 * (place % 300) for place in range(3000)],
            [1.0 + (0.05 if place % 20 == 0 else 0.0) for place in range(3000)],
            [1.0 + (0.01 if place % 2 else 0.0) for place in range(3000)],
            [
                0.5 + (place * 5 % 8) / 64 for place in range(1200)
            ],  # few steps of the timer, all equally frequent
        ):
            assert stability(values).levels is None

    def test_a_real_run(self, artifacts: Path) -> None:
        engine = load_engine(artifacts / "edge-vision/results/mobilenet_v2")
        statistics = timing_statistics(engine)
        assert statistics is not None
        assert statistics.stability is not None
        assert statistics.stability.verdict is Steadiness.LEVELS
