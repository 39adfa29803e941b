"""The timing run: statistics, stability, and the gap between layers and latency; by hand, as properties, on real sets."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import (
    ARTIFACTS,
    RealSet,
    layer,
    profile_line,
    profile_text,
    real_sets,
    timing_row,
    write_graph,
    write_json,
)
from trex_tui.analysis.stability import (
    Stability,
    find_outliers,
    judge_stability,
    timer_tick_ms,
)
from trex_tui.analysis.timing import (
    SUMMARY,
    find_latency,
    layer_gap,
    measure,
    percentile,
    stability,
    statistics,
    timing_facts,
)
from trex_tui.api import load_engine
from trex_tui.engine.model import Engine

TIMED = pytest.mark.parametrize("real", real_sets(having=["timing"], every=True))
PRINTED = pytest.mark.parametrize("real", real_sets(having=["timing", "profile_metadata"], every=True))

# Verdict and range of ten windows (%). What the series look like, plotted as 100 block medians:
SEEN = {
    "alexnet_fp16": ("stable", 0.79),  # wanders slowly by ±0.7 %, up and down four times
    "resnet18_fp16": ("stable", 0.71),  # flat with four humps of +1.5 %
    "resnet-A100/fp16/resnet": ("stable", 0.70),  # flat with four plateaus of +1 %
    "resnet-A100/fp32/resnet": ("stable", 1.23),  # flat with humps of +1.2 %, and +3.4 % for 2 % of the run
    "resnet-qat": ("stable", 0.11),  # flat; alternates between two neighbouring ticks of the timer
    "tf-resnet-RTX3090/fp16/resnet": ("stable", 1.04),  # flat with two humps of +1.8 %
    "tf-resnet-RTX3090/fp32/resnet": ("stable", 0.79),  # flat after the first five rows, which are 5 % slower
    "mobilenet-qat-TITANRTX/mobilenet.qat": ("outliers", 0.09),  # bursts of +7 %; single rows up to +67 %
    "mobilenet-qat-8.4EA/mobilenet.qat": ("outliers", 0.17),  # bursts up to +345 %
}


def engine_of(folder: Path, rows: list[Any] | None = None, metadata: dict[str, Any] | None = None) -> Engine:
    write_graph(folder / "net.graph.json", [layer("a")])
    if rows is not None:
        write_json(folder / "net.timing.json", rows)
    if metadata is not None:
        write_json(folder / "net.profile.metadata.json", metadata)
    return load_engine(folder)


# Statistics


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=300), st.floats(0, 100))
def test_statistics_are_those_of_numpy(values: list[float], pct: float) -> None:
    """Percentiles are at an index of trtexec, which is within one rank of numpy's."""
    ordered = np.sort(values)
    found = percentile(ordered, pct)
    rank = (len(ordered) - 1) * pct / 100
    assert found in ordered
    assert (
        ordered[max(math.floor(rank) - 1, 0)] <= found <= ordered[min(math.ceil(rank) + 1, len(ordered) - 1)]
    )
    row = measure(ordered)
    expected = (ordered.mean(), np.median(ordered), ordered.std(), ordered[0], ordered[-1])
    keys = ("mean_ms", "median_ms", "std_ms", "min_ms", "max_ms")
    assert [row[key] for key in keys] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_throughput_idle_and_enqueue_by_hand(tmp_path: Path) -> None:
    engine = engine_of(tmp_path, [timing_row(200.0 + 2.0 * query, 1.5) for query in range(4)])
    facts = timing_facts(engine)
    assert facts is not None
    assert facts.throughput_qps == facts.throughput_rows_qps == pytest.approx(1000 * 4 / 7.5)
    assert facts.gpu_idle_pct == pytest.approx(100 * (7.5 - 6.0) / 7.5)
    assert find_latency(engine, "median_ms", "enqueue") == pytest.approx(0.05)
    assert find_latency(engine, "resolution_ms", "enqueue") == pytest.approx(0.001)
    overlapping = timing_facts(engine_of(tmp_path, [timing_row(200.0 + query, 1.5) for query in range(4)]))
    assert overlapping is not None
    assert overlapping.unknown["gpu_idle_pct"] == "queries overlap, or stamps are missing"


def test_a_printed_summary_alone(tmp_path: Path) -> None:
    performance = {
        "Throughput": 100.0,
        "Latency": [1.0, 3.0, 2.0, 1.9, 2.9],
        "GPU Compute Time": [1, 3, 2, 1.5, 2.9],
        "Enqueue Time": [0.1, 2.0, 1.0, 1.3, 1.9],
    }
    engine = engine_of(tmp_path, metadata={"performance_summary": performance})
    table, facts = statistics(engine), timing_facts(engine)
    assert facts is not None
    row = table.loc["latency"]
    assert [row[key] for key in ("min_ms", "max_ms", "mean_ms", "median_ms", "p99_ms")] == [1, 3, 2, 1.9, 2.9]
    assert row[["count", "std_ms", "p50_ms"]].isna().all()
    assert (facts.source, facts.queries, facts.throughput_qps) == (SUMMARY, None, 100.0)
    assert (facts.enqueue_ratio, facts.is_enqueue_bound) == (pytest.approx(1.3 / 1.5), True)
    assert set(facts.unknown) == {"transfers_pct", "gpu_idle_pct"}
    assert stability(engine) is None


@PRINTED
def test_rows_give_what_trtexec_printed(real: RealSet) -> None:
    engine = load_engine(real.paths())
    table, facts = statistics(engine), timing_facts(engine)
    assert facts is not None
    performance = real.json("profile_metadata")["performance_summary"]
    for label, series in (("Latency", "latency"), ("GPU Compute Time", "compute"), ("H2D Latency", "h2d")):
        printed, row = performance[label], table.loc[series]
        keys = ["min_ms", "max_ms", "median_ms"] + ["p99_ms"] * (len(printed) == 5)
        keys += ["p90_ms", "p95_ms", "p99_ms"] * (len(printed) == 7)
        assert [f"{row[key]:.6g}" for key in keys] == [
            f"{value:.6g}" for value in (*printed[:2], *printed[3:])
        ]
        assert row["mean_ms"] == pytest.approx(printed[2], rel=2.5e-5)
    assert facts.throughput_printed_qps == performance["Throughput"]
    assert facts.throughput_rows_qps == pytest.approx(performance["Throughput"], rel=5e-6)
    assert facts.queries == round(performance["Throughput"] * performance["Total Host Walltime"])
    assert table.loc["enqueue", "source"] == SUMMARY
    assert table.loc["enqueue", "median_ms"] == performance["Enqueue Time"][3]
    assert facts.doubt == ""


@TIMED
def test_verdicts_are_those_of_the_eye(real: RealSet) -> None:
    engine = load_engine(real.paths())
    run, facts = stability(engine), timing_facts(engine)
    assert run is not None
    assert facts is not None
    verdict, windows = SEEN[real.name]
    assert (run.verdict, run.windows_range_pct) == (verdict, pytest.approx(windows, abs=0.006))
    assert run.drift is not None
    assert not run.drift.is_significant
    assert (run.settling is not None) is (real.name == "tf-resnet-RTX3090/fp32/resnet")
    assert 0.0005 < (facts.enqueue_ratio or 0) < 0.09
    assert (facts.is_enqueue_bound, facts.transfers_pct) == (False, 0.0)
    assert 0.0 <= (facts.gpu_idle_pct or 0) < 1.0


@pytest.mark.skipif(not ARTIFACTS.is_dir(), reason="no real artifacts")
def test_a_real_run_with_two_clock_states() -> None:
    run = stability(load_engine(ARTIFACTS / "edge-vision/results/mobilenet_v2"))
    assert run is not None
    assert run.verdict == "two levels"


# Stability: injected faults, and nothing injected


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


def judged(values: list[float], starts: list[float] | None = None) -> Stability:
    times = pd.Series(pd.array(values, "Float64"))
    stamps = (times.fillna(1.0).cumsum() + 200.0).shift(fill_value=200.0) if starts is None else starts
    return judge_stability(times, pd.Series(pd.array(stamps, "Float64")))


def test_a_drift_and_a_step_are_drifts() -> None:
    noise = autoregressive(1)
    run = judged([value + 0.06 * place / len(noise) for place, value in enumerate(noise)])
    assert run.verdict == "drift"
    assert run.drift is not None
    assert run.drift.change_pct == pytest.approx(4.0, abs=0.6)  # between the middles of two thirds
    noise = autoregressive(2, sigma_pct=0.5)
    run = judged([value + (0.05 if place >= 1234 else 0.0) for place, value in enumerate(noise)])
    assert run.verdict == "drift"
    assert run.drift is not None
    assert run.drift.change_ms == pytest.approx(0.05, abs=0.004)


def test_outliers_are_found() -> None:
    values = white(5, sigma_pct=0.5)
    for place in range(0, 2000, 50):
        values[place] *= 1.5
    run = judged(values)
    assert run.verdict == "outliers"
    assert run.outliers is not None
    assert run.outliers.large == 40
    assert run.outliers.worst_pct == pytest.approx(50, abs=2)
    assert run.outliers.excess_pct == pytest.approx(1.0, abs=0.05)
    huge = white(9, rows=1000, sigma_pct=0.5)
    huge[700] = 1e6
    found = find_outliers(np.array(huge))
    assert (found.large, found.worst_ms, found.are_significant) == (1, 1e6, True)


def test_a_slow_start_is_stated_but_no_verdict() -> None:
    values = [value * (1.05 if place < 30 else 1.0) for place, value in enumerate(white(6, sigma_pct=0.3))]
    run = judged(values)
    assert run.verdict == "stable"
    assert run.settling is not None
    assert run.settling.change_pct == pytest.approx(5.0, abs=0.5)
    assert run.settling.rows in (20, 40)
    assert run.settling.lasts_s == pytest.approx(0.001 * run.settling.rows * 1.05, rel=0.1)
    backwards = judged(values, list(range(2000, 0, -1))).settling
    assert backwards is not None
    assert backwards.lasts_s is None


def test_two_clock_states_are_two_levels() -> None:
    run = judged([1.0 + 0.001 * (place % 5) + (0.05 if place % 3 else 0.0) for place in range(3000)])
    assert run.verdict == "two levels"
    assert run.levels is not None
    assert run.levels.low_share_pct == pytest.approx(33.3, abs=0.1)
    assert run.levels.apart_pct == pytest.approx(4.8, abs=0.2)
    for values in (
        [1.0 + 0.0001 * (place % 300) for place in range(3000)],
        [1.0 + (0.05 if place % 20 == 0 else 0.0) for place in range(3000)],
        [1.0 + (0.01 if place % 2 else 0.0) for place in range(3000)],
        [0.5 + (place * 5 % 8) / 64 for place in range(1200)],  # few steps of the timer, all equally frequent
    ):
        assert judged(values).levels is None


@pytest.mark.parametrize(
    ("make", "how", "most"),
    [
        pytest.param(white, {"sigma_pct": 2.0, "rows": 1000}, 0, id="white 2 %"),
        pytest.param(white, {"sigma_pct": 3.0, "rows": 40}, 4, id="white 3 %, fewest rows"),
        pytest.param(autoregressive, {"sigma_pct": 2.0, "rows": 1000}, 2, id="AR(1) 0.9, 2 %"),
        pytest.param(
            autoregressive, {"sigma_pct": 0.5, "rows": 1000, "phi": 0.99}, 1, id="AR(1) 0.99, 0.5 %"
        ),
    ],
)
def test_clean_noise_is_stable(make: Any, how: dict[str, Any], most: int) -> None:
    """Of 50 runs hardly any may be called anything else."""
    assert sum(judged(make(seed, **how)).verdict != "stable" for seed in range(50)) <= most


@given(st.lists(st.floats(allow_infinity=False, min_value=0.0, max_value=1e15), max_size=200))
def test_no_series_is_too_strange(values: list[float]) -> None:
    run = judged(values)
    assert run.rows == len(values)
    assert timer_tick_ms(np.array(values)) > 0


# Layers and latency


def gap_of(
    folder: Path,
    times: list[float | None],
    latency: float | None = None,
    *,
    count: int = 100,
    medians: bool = True,
    row: dict[str, float] | None = None,
) -> Any:
    """Layers with these times (None: no profile row), and queries of this latency."""
    names = [f"layer{place}" for place in range(len(times))]
    write_graph(folder / "net.graph.json", [layer(name) for name in names])
    pairs = [(name, time) for name, time in zip(names, times, strict=True) if time is not None]
    lines = [profile_line(name, time, median=time if medians else None, count=count) for name, time in pairs]
    (folder / "net.profile.json").write_text(profile_text(lines, count), encoding="utf-8")
    if latency is not None:
        rows = [timing_row(300.0 + 2.0 * query * latency, latency) | (row or {}) for query in range(10)]
        write_json(folder / "net.timing.json", rows)
    return layer_gap(load_engine(folder))


def test_layers_longer_than_the_latency(tmp_path: Path) -> None:
    gap = gap_of(tmp_path, [0.3, 0.2, 0.0], 0.49)
    assert (gap.direction, gap.layers_timed, gap.layers_zero, gap.layers_left_out) == ("layers", 2, 1, 0)
    assert gap.sum_average_ms == gap.sum_median_ms == pytest.approx(0.5)
    assert gap.difference_ms == gap.compute_difference_ms == pytest.approx(0.01)
    assert gap.ratio == pytest.approx(0.5 / 0.49)
    assert gap.overhead_us_per_layer == pytest.approx(5.0)
    assert set(gap.unknown) == {"streams"}
    assert gap_of(tmp_path, [0.3, 0.2], 0.501).direction == "equal"
