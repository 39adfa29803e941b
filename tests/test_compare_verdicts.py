"""Verdicts: equal engines do not differ, different ones do, and every judgement states its basis."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from compare_kit import SAMPLES, load
from helpers import ARTIFACTS, examples
from trex_tui.compare.comparison import compare
from trex_tui.compare.noise import Judgement, Outcome, Statistic, Values, judge, judge_rate, judge_values
from trex_tui.compare.verdicts import list_periods, list_rows

TIMED = [SAMPLES / name for name in ("alexnet", "resnet18", "resnet-a100/fp16", "resnet-a100/qat")]
TORCH = ARTIFACTS / "torch-trt"


def judge_rows(first: Values, second: Values, statistic: Statistic = Statistic.MEDIAN) -> Judgement:
    return judge([first], [second], statistic, ("A", "B"), ("", ""))


def correlated(rows: int, correlation: float, seed: int) -> Values:
    """Rows around 1 ms in steps of 1 µs, each near the one before it, as with a slowly changing clock."""
    drawn = np.random.default_rng(seed).normal(size=rows)
    values = np.empty(rows)
    values[0] = drawn[0]
    for row in range(1, rows):
        values[row] = correlation * values[row - 1] + np.sqrt(1.0 - correlation**2) * drawn[row]
    return np.round(1.0 + 0.02 * values, 3)


# Equal engines


@pytest.mark.parametrize("path", TIMED, ids=lambda path: path.name)
def test_a_run_against_itself_is_the_same(path: Path) -> None:
    comparison = compare([load(path), load(path)])
    assert comparison.verdicts[1].outcome is Outcome.SAME
    assert comparison.differences[1].delta_ms == 0.0
    assert comparison.differences[1].reasons.empty


@pytest.mark.parametrize("path", TIMED, ids=lambda path: path.name)
def test_parts_of_a_run_do_not_differ(path: Path) -> None:
    """Every second row, and the halves. Percentiles of rows that drift are not judged."""
    rows = list_rows(load(path), "latency_ms")
    middle = len(rows) // 2
    for parts in ((rows[::2], rows[1::2]), (rows[:middle], rows[middle:])):
        outcomes = {statistic: judge_rows(*parts, statistic).outcome for statistic in Statistic}
        assert outcomes[Statistic.MEDIAN] is outcomes[Statistic.MEAN] is Outcome.SAME
        assert {*outcomes.values()} <= {Outcome.SAME, Outcome.UNKNOWN, outcomes[Statistic.MAX]}


@pytest.mark.parametrize(("correlation", "most"), [(0.0, 0.05), (0.9, 0.07), (0.97, 0.1)])
@pytest.mark.parametrize("statistic", [Statistic.MEDIAN, Statistic.MEAN, Statistic.P99])
def test_equal_engines_rarely_differ(correlation: float, most: float, statistic: Statistic) -> None:
    number = examples(400)
    found = [
        judge_rows(
            correlated(400, correlation, 2 * seed), correlated(400, correlation, 2 * seed + 1), statistic
        )
        for seed in range(number)
    ]
    differing = sum(judged.outcome in (Outcome.FASTER, Outcome.SLOWER) for judged in found)
    assert differing <= most * number + 2.0 * np.sqrt(most * number)


# Differences


@pytest.mark.parametrize("statistic", list(Statistic))
def test_a_shift_beyond_noise_is_found_in_both_directions(statistic: Statistic) -> None:
    first, second = correlated(1000, 0.5, 1), 1.2 * correlated(1000, 0.5, 2)
    there, back = judge_rows(first, second, statistic), judge_rows(second, first, statistic)
    assert (there.outcome, back.outcome) == (Outcome.SLOWER, Outcome.FASTER)
    if there.interval is not None:
        assert there.interval[0] < (there.difference or 0.0) < there.interval[1]


def test_a_difference_of_a_tick_is_none() -> None:
    rows = np.tile([1.000, 1.001], 300)
    assert judge_rows(rows, rows + 0.001).outcome is Outcome.SAME


def test_throughput_is_slower_if_queries_take_longer() -> None:
    judged = judge_rate([correlated(500, 0.3, 1)], [1.5 * correlated(500, 0.3, 2)], ("A", "B"), ("", ""))
    assert judged.outcome is Outcome.SLOWER
    assert judged.values is not None
    assert judged.values[0] > judged.values[1]


def test_the_spread_between_runs_decides() -> None:
    """Within the runs both differences are certain; between them only one is."""
    apart = judge_values([1.00, 1.01, 1.02], [1.20, 1.21, 1.19], 1e-4)
    near = judge_values([1.00, 1.10, 1.20], [1.15, 1.05, 1.25], 1e-4)
    assert (apart.outcome, near.outcome) == (Outcome.SLOWER, Outcome.SAME)
    assert apart.scope == "3 runs against 3"


def test_too_few_rows_have_no_verdict_but_a_reason() -> None:
    judged = judge_rows(np.array([1.0, 1.1, 1.2]), np.array([1.1, 1.0, 1.2]))
    assert judged.outcome is Outcome.UNKNOWN
    assert "3 timing rows" in judged.reason
    assert judged.scope == ""


def test_rows_far_apart_need_no_many() -> None:
    judged = judge_rows(np.linspace(1.0, 1.1, 12), np.linspace(3.0, 3.1, 12))
    assert judged.outcome is Outcome.SLOWER
    assert judged.interval is None


# Without rows


@pytest.mark.skipif(not TORCH.is_dir(), reason="no real artifacts")
def test_without_rows_the_single_times_of_layers_are_judged() -> None:
    """100 calls of each layer: 0.527 ms of AlexNet, 0.665 ms of MobileNet."""
    folders = [folder for folder in sorted(TORCH.iterdir()) if folder.is_dir()]
    engines = [load(folder) for folder in folders]
    assert not any(len(list_rows(engine, "latency_ms")) or len(list_periods(engine)) for engine in engines)
    for first, second in pairwise(engines):
        verdict = compare([first, second]).verdicts[1]
        assert verdict.is_by_layers
        delta = (second.latency_sum_ms or 0.0) - (first.latency_sum_ms or 0.0)
        assert verdict.outcome.value == ("slower" if delta > 0 else "faster")
