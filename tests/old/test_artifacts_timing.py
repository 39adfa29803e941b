"""Timing rows and metadata of all generations."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from helpers import messages, timing_row, write_json
from trex_tui.old.analysis.timing import end_to_end, summarize, timing_statistics, without_warmup
from trex_tui.old.artifacts.metadata import LatencySummary, number_in, parse_latency, read_metadata
from trex_tui.old.artifacts.timing import TIMING_KEYS, read_timing
from trex_tui.old.engine import load_engine
from trex_tui.old.errors import ArtifactError


def row_of_7_2(start: float, latency: float) -> dict[str, float]:
    names = {"H2d": "In", "D2h": "Out", "h2d": "in", "d2h": "out"}
    row = {}
    for key, value in timing_row(start, latency, end_to_end=True).items():
        for new, old in names.items():
            key = key.replace(new, old)
        row[key] = value
    return row


@pytest.mark.parametrize("key", ["startInMs", "endOutMs", "inMs", "outMs"])
def test_keys_of_7_2_are_those_of_the_documentation(key: str) -> None:
    assert key in row_of_7_2(0, 1)


@pytest.mark.parametrize(
    ("row", "keys"),
    [
        (row_of_7_2, set(TIMING_KEYS)),
        (lambda start, latency: timing_row(start, latency, end_to_end=True), set(TIMING_KEYS)),
        (timing_row, set(TIMING_KEYS) - {"endToEndMs"}),
    ],
    ids=["7.2", "8.0", "8.4"],
)
def test_generations(tmp_path: Path, row: Any, keys: set[str]) -> None:
    timing = read_timing(write_json(tmp_path / "a.timing.json", [row(300.0, 0.5), row(301.0, 0.75)]))
    assert set(timing.columns) == keys
    assert timing.rows == 2
    assert timing.latency_ms.tolist() == [0.5, 0.75]
    assert timing.columns["startH2dMs"].tolist() == [300.0, 301.0]
    assert timing.columns["d2hMs"].tolist() == [0.0, 0.0]
    assert timing.diagnostics == ()


def test_rows_that_lack_values(tmp_path: Path) -> None:
    rows: list[Any] = [{"computeMs": 1}, timing_row(1.0, 0.5), {"latencyMs": "x"}, 7, {"latencyMs": 10**400}]
    timing = read_timing(write_json(tmp_path / "t.json", rows))
    assert [None if math.isnan(value) else value for value in timing.latency_ms] == [None, 0.5, None, None]
    assert messages(timing.diagnostics) == [
        "1 entries are not timing rows; skipped",
        "3 of 4 rows have no latency",
    ]


@pytest.mark.parametrize("root", [{}, [], ["1"], [{"a": 1}], {"shape": [1, 3]}, "x"])
def test_unusable(tmp_path: Path, root: Any) -> None:
    with pytest.raises(ArtifactError):
        read_timing(write_json(tmp_path / "t.json", root))


def test_warmup_is_left_out_by_time(tmp_path: Path) -> None:
    rows = [
        timing_row(start, latency)
        for start, latency in ((10.0, 9.0), (199.0, 8.0), (200.0, 1.0), (202.0, 3.0))
    ]
    engine = load_engine(write_json(tmp_path / "a.timing.json", rows))
    latency = end_to_end(engine)
    assert latency is not None
    assert (latency.queries, latency.warmup_queries) == (2, 2)
    assert (latency.summary.min_ms, latency.summary.max_ms, latency.summary.mean_ms) == (1.0, 3.0, 2.0)
    assert latency.throughput_qps == pytest.approx(1000 * 2 / 5.0)
    assert latency.source == "timing: 2 queries"


def test_a_run_within_the_warmup_counts_as_a_whole(tmp_path: Path) -> None:
    timing = read_timing(write_json(tmp_path / "t.json", [timing_row(1.0, 0.5), timing_row(2.0, 0.5)]))
    assert without_warmup(timing, 200.0) == (range(2), 0)


def test_stated_warmup_is_used(tmp_path: Path) -> None:
    write_json(tmp_path / "a.timing.json", [timing_row(start, 1.0) for start in (10.0, 60.0, 250.0)])
    write_json(
        tmp_path / "a.profile.metadata.json", {"inference_options": {"Duration": "3s (+ 50ms warm up)"}}
    )
    latency = end_to_end(load_engine(tmp_path))
    assert latency is not None
    assert (latency.queries, latency.warmup_queries) == (2, 1)


def test_percentiles_are_those_of_trtexec() -> None:
    summary = summarize([float(value) for value in range(1, 151)])
    assert (summary.median_ms, summary.mean_ms) == (75.5, 75.5)
    # 15, 7 and 1 values are left out above: what remains of 15, 7.5 and 1.5 without the fraction.
    assert {pct: value for pct, value in summary.percentiles_ms.items() if pct > 90} == {
        95.0: 143.0,
        99.0: 149.0,
    }
    assert summarize([4.0]) == LatencySummary(4.0, 4.0, 4.0, 4.0, {90.0: 4.0, 95.0: 4.0, 99.0: 4.0})
    assert summarize([1.0, 2.0, 9.0]).median_ms == 2.0


class TestLatencyLines:
    def test_five_values(self) -> None:
        assert parse_latency([1, 5, 2, 3, 4]) == LatencySummary(1, 5, 2, 3, {99.0: 4})

    def test_seven_values(self) -> None:
        assert parse_latency([1, 9, 2, 3, 4, 5, 6]) == LatencySummary(1, 9, 2, 3, {90.0: 4, 95.0: 5, 99.0: 6})

    def test_six_values(self, tmp_path: Path) -> None:
        """Percentiles that the user chose have no names in the file: better none than wrong ones."""
        path = write_json(
            tmp_path / "a.profile.metadata.json", {"performance_summary": {"Latency": [1, 9, 2, 3, 4, 5]}}
        )
        metadata, notes = read_metadata([path])
        assert metadata.latency() == LatencySummary(1, 9, 2, 3, {})
        assert [(one.where, one.message[:12]) for one in notes] == [
            ("performance_summary.Latency", "has 6 values")
        ]

    def test_text(self) -> None:
        text = "min = 0.25 ms, max = 1 ms, mean = 0.5 ms, median = 0.4 ms, percentile(99.5%) = 0.9 ms"
        assert parse_latency(text) == LatencySummary(0.25, 1.0, 0.5, 0.4, {99.5: 0.9})

    @pytest.mark.parametrize("value", [None, 7, "", "min", [], [1, 2, 3], ["a", "b", "c", "d"], {"min": 1}])
    def test_anything_else(self, value: Any) -> None:
        assert parse_latency(value) is None


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1995.29, 1995.29),
        ("1.425 GHz", 1.425),
        ("192 bits (ECC disabled)", 192.0),
        ("-1e3", -1000.0),
        ("workspace", None),
        (True, None),
        (None, None),
        (math.nan, None),
        (math.inf, None),
        ("1e999", None),
        (10**400, None),
    ],
)
def test_numbers_in_values(value: Any, number: float | None) -> None:
    assert number_in(value) == number


def test_values_cut_at_the_colon(tmp_path: Path) -> None:
    build = {
        "model_options": {"Format": "ONNX", "Model": "C"},
        "build_options": {
            "Memory Pools": "workspace",
            "Precision": " FP32+FP16 ",
            "Tempfile Controls": "{ in_memory",
        },
        "device_information": {"Selected Device": "Old", "SMs": 30.0},
    }
    profile = {
        "performance_summary": {"Throughput": 1995.29, "Latency": [1, 2, 3, 4, 5]},
        "inference_options": {"Duration": "3s (+ 200ms warm up)"},
        "device_information": {"Selected Device": "NVIDIA GeForce RTX 3060 Laptop GPU"},
        "odd": 7,
    }
    paths = [write_json(tmp_path / "b.json", build), write_json(tmp_path / "p.json", profile)]
    metadata, notes = read_metadata(paths)
    assert metadata.builder_precision == "FP32+FP16"
    assert metadata.device == {"Selected Device": "NVIDIA GeForce RTX 3060 Laptop GPU", "SMs": 30.0}
    assert metadata.device_name == "NVIDIA GeForce RTX 3060 Laptop GPU"
    assert metadata.throughput_qps == 1995.29
    assert metadata.build_options["Memory Pools"] == "workspace"
    assert [(one.file, one.where, one.message) for one in notes] == [
        (paths[1], "odd", "is not a section of options; ignored")
    ]


def test_old_device_dump(tmp_path: Path) -> None:
    path = write_json(
        tmp_path / "a.metadata.json", [{"Name": " A100 ", "ComputeCapability": [8, 0], "CUDA_VERSION": 1}]
    )
    metadata, notes = read_metadata([path])
    assert (metadata.device_name, notes) == ("A100", [])


def test_broken_metadata_costs_only_itself(tmp_path: Path) -> None:
    write_json(tmp_path / "a.timing.json", [timing_row(300.0, 0.5)])
    (tmp_path / "a.profile.metadata.json").write_text('{"performance_summary": {"Throughput": 1')
    engine = load_engine(tmp_path)
    assert engine.timing is not None
    assert engine.metadata.performance == {}
    assert ["is truncated" in one for one in messages(engine.diagnostics)] == [True]


def test_rows_win_over_a_printed_summary(tmp_path: Path) -> None:
    printed = {"Latency": [1, 2, 3, 4, 5], "Throughput": 70.0}
    write_json(tmp_path / "a.timing.json", [timing_row(300.0, 0.5)])
    write_json(tmp_path / "a.profile.metadata.json", {"performance_summary": printed})
    engine = load_engine(tmp_path)
    latency, statistics = end_to_end(engine), timing_statistics(engine)
    assert latency is not None
    assert (latency.source, latency.summary.min_ms, latency.throughput_qps) == (
        "timing: 1 queries",
        0.5,
        70.0,
    )
    assert statistics is not None
    assert statistics.latency is not None
    assert (statistics.origin, statistics.latency.min_ms) == (latency.source, latency.summary.min_ms)


def test_rows_without_a_latency_leave_it_to_the_printed_summary(tmp_path: Path) -> None:
    write_json(tmp_path / "a.timing.json", [{"computeMs": 1.0, "startComputeMs": 250}])
    write_json(tmp_path / "a.profile.metadata.json", {"performance_summary": {"Latency": [1, 2, 3, 4, 5]}})
    engine = load_engine(tmp_path)
    latency, statistics = end_to_end(engine), timing_statistics(engine)
    assert latency is not None
    assert latency.summary.median_ms == 4.0
    assert statistics is not None
    assert statistics.latency is not None
    assert (statistics.latency.median_ms, statistics.latency.source.value) == (4.0, "performance summary")


def test_nothing_is_known_of_the_latency(tmp_path: Path) -> None:
    write_json(tmp_path / "a.timing.json", [{"computeMs": 1.0, "startComputeMs": 250}])
    assert end_to_end(load_engine(tmp_path)) is None
