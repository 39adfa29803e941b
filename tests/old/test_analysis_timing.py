"""Statistics of the timing run: formulas by hand, where they come from, and every real set with its verdict."""

from __future__ import annotations

import math
from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import RealSet, layer, real_sets, timing_row, write_graph, write_json
from trex_tui.old.analysis.stability import Steadiness, stability
from trex_tui.old.analysis.statistics import percentile
from trex_tui.old.analysis.timing import (
    TimingSource,
    enqueue_against_compute,
    series_statistics,
    statistics_of_rows,
    timing_statistics,
    warmup_ms,
    without_warmup,
)
from trex_tui.old.artifacts.timing import Timing
from trex_tui.old.engine import Engine, load_engine

TIMED = pytest.mark.parametrize("real", real_sets(having=["timing"], every=True))
PRINTED = pytest.mark.parametrize("real", real_sets(having=["timing", "profile_metadata"], every=True))

# Verdict and range of ten windows (%), warm-up left out. What the series look like, plotted as 100 block medians:
SEEN = {
    # Wanders slowly by ±0.7 %, up and down four times; no trend.
    "alexnet_fp16": (Steadiness.STABLE, 0.79),
    # Flat with four humps of +1.5 %.
    "resnet18_fp16": (Steadiness.STABLE, 0.71),
    # Flat with four plateaus of +1 %, the longest 4 % of the run.
    "resnet-A100/fp16/resnet": (Steadiness.STABLE, 0.70),
    # Flat with humps of +1.2 %, and +3.4 % for 2 % of the run.
    "resnet-A100/fp32/resnet": (Steadiness.STABLE, 1.23),
    # Flat; alternates between two neighbouring ticks of the timer, 0.12 % apart.
    "resnet-qat": (Steadiness.STABLE, 0.11),
    # Flat with two humps of +1.8 %.
    "tf-resnet-RTX3090/fp16/resnet": (Steadiness.STABLE, 1.04),
    # Flat after the first five rows, which are 5 % slower.
    "tf-resnet-RTX3090/fp32/resnet": (Steadiness.STABLE, 0.79),
    # Flat, with bursts of +7 % five times at equal distance; single rows up to +67 %.
    "mobilenet-qat-TITANRTX/mobilenet.qat": (Steadiness.OUTLIERS, 0.09),
    # Flat, with bursts up to +345 %, more of them towards the end.
    "mobilenet-qat-8.4EA/mobilenet.qat": (Steadiness.OUTLIERS, 0.17),
}


def engine_of(
    folder: Path, *, rows: list[Any] | None = None, metadata: dict[str, Any] | None = None
) -> Engine:
    write_graph(folder / "net.graph.json", [layer("a")])
    if rows is not None:
        write_json(folder / "net.timing.json", rows)
    if metadata is not None:
        write_json(folder / "net.profile.metadata.json", metadata)
    return load_engine(folder)


def timing_of(**columns: list[float]) -> Timing:
    return Timing(
        {key: array("d", values) for key, values in columns.items()}, len(next(iter(columns.values())))
    )


# Formulas


def test_statistics_by_hand() -> None:
    found = series_statistics([4.0, 1.0, math.nan, 3.0, 2.0])
    assert found is not None
    assert (found.count, found.min_ms, found.mean_ms, found.median_ms, found.max_ms) == (
        4,
        1.0,
        2.5,
        2.5,
        4.0,
    )
    assert found.std_ms == pytest.approx(math.sqrt(1.25))
    assert found.cv_pct == pytest.approx(100 * math.sqrt(1.25) / 2.5)
    assert found.percentiles_ms == {50.0: 2.0, 75.0: 3.0, 90.0: 4.0, 95.0: 4.0, 99.0: 4.0, 99.9: None}


def test_percentiles_are_at_the_index_of_trtexec() -> None:
    ordered = [float(value) for value in range(1, 1001)]
    assert [percentile(ordered, pct) for pct in (0, 50, 90, 99, 99.9, 100)] == [
        1,
        500,
        900,
        990,
        999,
        1000,
    ]
    found = series_statistics(ordered)
    assert found is not None
    assert found.percentiles_ms[99.9] == 999.0
    fewer = series_statistics(ordered[:-1])
    assert fewer is not None
    assert fewer.percentiles_ms[99.9] is None


def test_throughput_and_idle_by_hand() -> None:
    rows = [timing_row(200.0 + 2.0 * query, 1.5) for query in range(4)]
    timing = timing_of(**{key: [row[key] for row in rows] for key in rows[0]})
    found = statistics_of_rows(timing, range(4))
    assert found is not None
    assert found.throughput_rows_qps == pytest.approx(1000 * 4 / 7.5)
    assert found.gpu_idle_pct == pytest.approx(100 * (7.5 - 6.0) / 7.5)
    assert found.enqueue is not None
    assert found.enqueue.median_ms == pytest.approx(0.05)
    assert found.enqueue.resolution_ms == pytest.approx(0.001)


def test_idle_is_unknown_where_queries_overlap() -> None:
    rows = [timing_row(200.0 + query, 1.5) for query in range(4)]
    found = statistics_of_rows(timing_of(**{key: [row[key] for row in rows] for key in rows[0]}), range(4))
    assert found is not None
    assert found.gpu_idle_pct is None


# Sources


def test_no_timing_is_none(tmp_path: Path) -> None:
    engine = engine_of(tmp_path)
    assert timing_statistics(engine) is None
    assert enqueue_against_compute(engine) is None


def test_the_summary_alone_tells_what_it_tells(tmp_path: Path) -> None:
    performance = {
        "Throughput": 100.0,
        "Latency": [1.0, 3.0, 2.0, 1.9, 2.9],
        "GPU Compute Time": [1, 3, 2, 1.5, 2.9],
    }
    performance["Enqueue Time"] = [0.1, 2.0, 1.0, 1.3, 1.9]
    found = timing_statistics(engine_of(tmp_path, metadata={"performance_summary": performance}))
    assert found is not None
    assert found.source is TimingSource.SUMMARY
    assert "performance_summary" in found.origin
    assert found.latency is not None
    assert (found.latency.min_ms, found.latency.max_ms, found.latency.mean_ms, found.latency.median_ms) == (
        1,
        3,
        2,
        1.9,
    )
    assert found.latency.percentiles_ms == {
        50.0: None,
        75.0: None,
        90.0: None,
        95.0: None,
        99.0: 2.9,
        99.9: None,
    }
    unknown = (
        found.latency.count,
        found.latency.std_ms,
        found.h2d,
        found.stability,
        found.gpu_idle_pct,
        found.queries,
    )
    assert unknown == (None,) * 6
    assert found.throughput_qps == found.throughput_printed_qps == 100.0
    assert found.throughput_rows_qps is None
    host = enqueue_against_compute(load_engine(tmp_path))
    assert host is not None
    assert host.ratio == pytest.approx(1.3 / 1.5)
    assert host.is_enqueue_bound is True
    assert "Enqueue-bound" in host.sentences[0]
    assert set(host.unknown) == {"transfers_pct", "gpu_idle_pct"}


def test_rows_of_another_run_than_the_summary_are_noted(tmp_path: Path) -> None:
    metadata = {"performance_summary": {"Latency": [1.0, 3.0, 2.0, 1.9, 2.9]}}
    found = timing_statistics(engine_of(tmp_path, rows=[timing_row(300.0, 0.5)], metadata=metadata))
    assert found is not None
    assert found.source is TimingSource.ROWS
    assert "different runs" in found.notes[0]


def test_copies_and_their_share(tmp_path: Path) -> None:
    rows = [
        timing_row(300.0 + 10 * place, 8.0) | {"h2dMs": 6.0, "computeMs": 1.0, "d2hMs": 1.0}
        for place in range(5)
    ]
    found = enqueue_against_compute(engine_of(tmp_path, rows=rows))
    assert found is not None
    assert found.transfers_ms == 7.0
    assert found.transfers_pct == 87.5
    assert (found.is_h2d_bound, found.is_d2h_bound, found.is_enqueue_bound) == (True, True, False)
    assert any("host-to-device" in one for one in found.sentences)


# Properties

SERIES = st.lists(st.floats(0.01, 1000.0), min_size=1, max_size=120)


@given(SERIES)
def test_percentiles_are_in_order(values: list[float]) -> None:
    found = series_statistics(values)
    assert found is not None
    known = [value for value in found.percentiles_ms.values() if value is not None]
    assert known == sorted(known)
    assert found.min_ms is not None
    assert found.max_ms is not None
    assert found.mean_ms is not None
    assert found.min_ms <= known[0] <= known[-1] <= found.max_ms
    assert found.min_ms * (1 - 1e-12) <= found.mean_ms <= found.max_ms * (1 + 1e-12)


@given(SERIES, st.integers(-3, 3))
def test_statistics_scale(values: list[float], power: int) -> None:
    one, two = series_statistics(values), series_statistics([value * 2.0**power for value in values])
    assert one is not None
    assert two is not None
    assert two.median_ms == one.median_ms * 2.0**power  # type: ignore[operator]
    assert two.std_ms == pytest.approx(one.std_ms * 2.0**power)  # type: ignore[operator]
    assert two.cv_pct == pytest.approx(one.cv_pct)


@given(SERIES, st.floats(0.0, 100.0))
def test_a_shift_moves_the_level_and_keeps_the_spread(values: list[float], shift: float) -> None:
    one, two = series_statistics(values), series_statistics([value + shift for value in values])
    assert one is not None
    assert two is not None
    assert two.median_ms == pytest.approx(one.median_ms + shift)  # type: ignore[operator]
    assert two.std_ms == pytest.approx(one.std_ms, abs=1e-9)


# Real sets


@PRINTED
def test_rows_give_what_trtexec_printed(real: RealSet) -> None:
    found = timing_statistics(real.engine())
    assert found is not None
    performance = real.json("profile_metadata")["performance_summary"]
    for label, ours in (
        ("Latency", found.latency),
        ("GPU Compute Time", found.compute),
        ("H2D Latency", found.h2d),
    ):
        assert ours is not None
        assert ours.source is TimingSource.ROWS
        printed = performance[label]
        percentiles = (99.0,) if len(printed) == 5 else (90.0, 95.0, 99.0)
        values = [
            ours.min_ms,
            ours.max_ms,
            ours.median_ms,
            *(ours.percentiles_ms[one] for one in percentiles),
        ]
        assert [f"{value:.6g}" for value in values] == [f"{one:.6g}" for one in (*printed[:2], *printed[3:])]
        assert ours.mean_ms == pytest.approx(printed[2], rel=2.5e-5)
    assert found.throughput_printed_qps == performance["Throughput"]
    assert found.throughput_rows_qps == pytest.approx(performance["Throughput"], rel=5e-6)
    assert found.queries == round(performance["Throughput"] * performance["Total Host Walltime"])
    assert found.enqueue is not None
    assert found.enqueue.source is TimingSource.SUMMARY
    assert found.enqueue.median_ms == performance["Enqueue Time"][3]
    assert found.notes == ()


@TIMED
def test_verdicts_are_those_of_the_eye(real: RealSet) -> None:
    found = timing_statistics(real.engine())
    assert found is not None
    assert found.stability is not None
    verdict, windows = SEEN[real.name]
    assert found.stability.verdict is verdict
    assert found.stability.windows_range_pct == pytest.approx(windows, abs=0.006)
    assert found.stability.drift is not None
    assert not found.stability.drift.is_significant
    assert (found.stability.settling is not None) is (real.name == "tf-resnet-RTX3090/fp32/resnet")


@TIMED
def test_the_host_keeps_up(real: RealSet) -> None:
    found = enqueue_against_compute(real.engine())
    assert found is not None
    assert found.ratio is not None
    assert 0.0005 < found.ratio < 0.09
    assert found.is_enqueue_bound is False
    assert found.transfers_pct == 0.0
    assert found.gpu_idle_pct is not None
    assert 0.0 <= found.gpu_idle_pct < 1.0


@pytest.mark.parametrize(
    "real", [one for one in real_sets(having=["timing"], every=True) if "TITANRTX" in str(one.id)]
)
def test_warm_up_makes_a_steady_run_look_unsteady(real: RealSet) -> None:
    timing = real.engine().timing
    assert timing is not None
    kept, _ = without_warmup(timing, warmup_ms(real.engine()))
    tails = []
    for rows in (range(timing.rows), kept):
        found = statistics_of_rows(timing, rows)
        assert found is not None
        assert found.latency is not None
        tails.append(found.latency.percentiles_ms[99.0] / found.latency.median_ms)  # type: ignore[operator]
    assert tails == pytest.approx([1.35, 1.07], abs=0.005)


@pytest.mark.parametrize(
    "real", [one for one in real_sets(having=["timing"], every=True) if "RTX3090/fp32" in str(one.id)]
)
def test_warm_up_looks_like_spread_that_settles(real: RealSet) -> None:
    timing = real.engine().timing
    assert timing is not None
    whole = stability(timing.latency_ms, timing.columns["startComputeMs"])
    assert whole.windows_range_pct == pytest.approx(5.2, abs=0.06)
    assert whole.verdict is Steadiness.SPREAD
    assert whole.settling is not None
    assert whole.settling.rows == 20
