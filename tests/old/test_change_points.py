"""Levels of a measure over builds: planted changes are found, noise is not a change."""

from __future__ import annotations

import math
import os
import random

import pytest

from trex_tui.old.fleet.change_points import (
    Levels,
    find_changes,
    find_exact_changes,
    find_lasting_changes,
    student_quantile,
)

SEEDS = 200 if os.environ.get("TREX_TUI_THOROUGH") else 40
BUILDS, PLANTED = 20, 12


def simulate(seed: int, pct: float, runs: int, count: int = BUILDS) -> Levels:
    """Builds of 1 ms with noise of 0.3 % between builds and 0.3 % between runs, and a change at `PLANTED`."""
    generator = random.Random(seed)
    builds = []
    for index in range(count):
        level = 1.0 + (pct / 100.0 if index >= PLANTED else 0.0) + generator.gauss(0.0, 0.003)
        builds.append([level + generator.gauss(0.0, 0.003) for _ in range(runs)])
    return find_changes(builds)


def is_found(levels: Levels) -> bool:
    return any(abs(change.index - PLANTED) <= 1 for change in levels.changes)


@pytest.mark.parametrize(
    ("pct", "runs", "least"), [(1, 1, 0.7), (1, 3, 0.9), (2, 1, 0.97), (5, 1, 0.98), (-5, 3, 0.98)]
)
def test_planted_changes_are_found(pct: float, runs: int, least: float) -> None:
    found = sum(is_found(simulate(seed, pct, runs)) for seed in range(SEEDS))
    assert found >= least * SEEDS


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("count", [8, 20])
def test_noise_is_rarely_a_change(runs: int, count: int) -> None:
    false = sum(bool(simulate(seed, 0.0, runs, count).changes) for seed in range(SEEDS))
    assert false <= 0.125 * SEEDS


def test_sizes_and_sides_of_a_change() -> None:
    levels = find_changes([[value] for value in (1.0, 1.01, 0.99, 1.0, 1.01, 2.0, 2.01, 1.99, 2.0)])
    (change,) = levels.changes
    assert change.index == 5
    assert change.difference_pct == pytest.approx(100.0, abs=1.0)
    assert change.margin < 0.1
    assert change.is_confirmed


def test_last_build_is_not_confirmed() -> None:
    values = [1.0, 1.01, 0.99, 1.0, 1.01, 0.99, 1.3]
    (change,) = find_changes([[value] for value in values]).changes
    assert (change.index, change.is_confirmed) == (6, False)


def test_one_slow_build_between_equal_levels_is_an_outlier() -> None:
    values = [1.0, 1.01, 0.99, 1.0, 1.5, 1.01, 0.99, 1.0, 1.01]
    levels = find_changes([[value] for value in values])
    assert levels.outliers == (4,)
    assert not levels.changes


def test_builds_without_a_value_are_skipped() -> None:
    builds = [[1.0], [], [1.01], [0.99], [], [1.0], [2.0], [], [2.01], [1.99]]
    (change,) = find_changes(builds).changes
    assert change.index == 6
    exact = find_exact_changes([3, None, 3, 4, None, 4])
    assert [(change.index, change.before, change.after) for change in exact.changes] == [(3, 3, 4)]


@pytest.mark.parametrize("builds", [[], [[1.0]], [[1.0], [2.0], [1.0]]])
def test_too_few_builds_are_not_judged(builds: list[list[float]]) -> None:
    levels = find_changes(builds)
    assert levels.noise is None
    assert levels.reason


def test_few_builds_with_several_runs_are_judged() -> None:
    levels = find_changes([[1.0, 1.01, 0.99], [1.5, 1.51, 1.49]])
    assert [change.index for change in levels.changes] == [1]


def test_equal_values_and_ticks_are_no_change() -> None:
    assert not find_changes([[1.0]] * 12).changes
    assert not find_changes([[1.0 + 0.001 * (index > 5)] for index in range(12)], tick=0.001).changes


def test_quantiles_of_student() -> None:
    """Values of printed tables."""
    for freedom, expected in ((1, 12.706), (2, 4.303), (5, 2.571), (10, 2.228), (30, 2.042)):
        assert math.isclose(student_quantile(0.975, freedom), expected, abs_tol=6e-4)


@pytest.mark.parametrize(
    ("choices", "changes"),
    [
        ("aaaabbbb", [4]),
        ("aaab", []),
        ("aabb", []),
        ("aaabaaa", []),
        ("ababababab", []),
        ("aaa-bb", [4]),
        ("abcdefgh", []),
    ],
)
def test_only_lasting_changes_of_a_choice_count(choices: str, changes: list[int]) -> None:
    assert find_lasting_changes([None if choice == "-" else choice for choice in choices]) == changes


def test_a_planted_choice_is_found_among_near_ties() -> None:
    """Of 20 builds with one layer that flips in every tenth build, another kernel from `PLANTED` on."""
    found = false = 0
    for seed in range(SEEDS):
        generator = random.Random(seed)
        builds = [(generator.random() < 0.1, index >= PLANTED) for index in range(BUILDS)]
        changes = find_lasting_changes(builds)
        found += any(abs(change - PLANTED) <= 1 for change in changes)
        false += sum(abs(change - PLANTED) > 1 for change in changes) > 0
    assert found >= 0.5 * SEEDS
    assert false <= 0.3 * SEEDS
