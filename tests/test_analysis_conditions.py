"""Power, energy and the conditions of a measurement."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from helpers import ARTIFACTS, chain, write_files, write_graph, write_profile, write_sample_set
from power_kit import profile_log, tegrastats_line, write_power_set
from trex_tui.analysis.conditions import FACTS, capture_facts, compare_conditions, find_doubts
from trex_tui.analysis.energy import layer_energy, power_facts, power_table, throttling
from trex_tui.api import load_engine
from trex_tui.artifacts.manifest import NO_GRAPH, SCHEMA
from trex_tui.engine.model import Engine
from trex_tui.frames import plain_values

# Power


def test_samples_of_the_measurement_alone_count(tmp_path: Path) -> None:
    """Stages are stated: neither loading, nor the warm-up, nor the profile of layers count."""
    watts = [100.0, 120.0, 110.0, 130.0]
    engine = load_engine(
        write_power_set(tmp_path, watts, ["none", "power cap", "power cap", "software thermal"])
    )
    facts, table = power_facts(engine), power_table(engine)
    assert facts is not None
    assert (facts.scope, facts.samples, facts.all_samples) == ("measurement", 4, 8)
    assert table.loc["power_w"].tolist() == [4, 100.0, fmean(watts), 130.0]
    assert facts.energy_per_inference_j == pytest.approx(fmean(watts) / 4999.5)
    assert facts.inferences_per_joule == pytest.approx(4999.5 / fmean(watts))
    assert (facts.throttled_samples, facts.unknown) == (3, {})
    reasons = throttling(engine)
    assert reasons is not None
    assert reasons[["reason", "samples"]].to_numpy().tolist() == [["power cap", 2], ["software thermal", 1]]


def test_stamps_of_the_log_bound_the_measurement(tmp_path: Path) -> None:
    write_sample_set(tmp_path)
    lines = [tegrastats_line(second, 10.0 + second) for second in range(5, 20)]
    (tmp_path / "net.monitor.csv").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "net.profile.log").write_text(profile_log(15, 4.0), encoding="utf-8")
    facts = power_facts(load_engine(tmp_path))
    assert facts is not None
    assert (facts.scope, facts.samples) == ("measurement", 4)  # 12 to 15: a stamp may be a second late
    assert facts.power_mean_w == pytest.approx(fmean([22.0, 23.0, 24.0, 25.0]))


def test_a_busy_gpu_makes_an_estimate_and_a_whole_file_none(tmp_path: Path) -> None:
    write_sample_set(tmp_path)
    path = tmp_path / "net.monitor.csv"
    lines = [tegrastats_line(second, 10.0 + second, load=99 if second > 7 else 3) for second in range(10)]
    path.write_text("\n".join(lines), encoding="utf-8")
    facts = power_facts(load_engine(tmp_path))
    assert facts is not None
    assert (facts.scope, facts.samples, facts.power_mean_w) == ("busy", 2, 18.5)
    assert facts.energy_per_inference_j == pytest.approx(18.5 / 4999.5)
    path.write_text("\n".join(line.replace("99%", "3%") for line in lines), encoding="utf-8")
    facts = power_facts(load_engine(tmp_path))
    assert facts is not None
    assert (facts.scope, facts.samples, facts.energy_per_inference_j) == ("file", 10, None)
    assert "measurement interval is unknown" in facts.unknown["energy_per_inference_j"]


@pytest.mark.skipif(not (ARTIFACTS / "power").is_dir(), reason="no real artifacts")
@pytest.mark.parametrize("name", ["simple", "multiple_readings", "multiple_layers"])
def test_powers_of_layers_that_another_program_computed(name: str) -> None:
    folder = ARTIFACTS / "power" / "fuzzylabs" / name
    expected = json.loads((folder / "expected_metrics_by_cycle.json").read_text(encoding="utf-8"))
    engine = load_engine(folder / "trt_profiling")
    table = layer_energy(engine).set_index(engine.layers["name"])
    assert table.index.tolist() == [entry["layer_name"] for entry in expected]
    for entry in expected:
        row = table.loc[entry["layer_name"]]
        assert row["power_w"] * 1e6 == pytest.approx(entry["layer_power_including_idle_power_micro_watt"])
        assert row["power_above_idle_w"] * 1e6 == pytest.approx(
            entry["layer_power_excluding_idle_power_micro_watt"]
        )
        assert row["time_ms"] == entry["layer_run_time"]
        assert engine.column("energy_mj").max() == pytest.approx((table["power_w"] * table["time_ms"]).max())


def test_a_call_without_a_sample_counts_for_nothing(tmp_path: Path) -> None:
    times = {
        "conv1": [[100, "20240102-00:00:10.00"], [100, "20240102-00:00:50.00"]],
        "fc1": [[1, "20240102-00:00:30.00"]],
    }
    log = "20240102-00:00:09.90,5000,1000\n20240102-00:00:10.00,5000,2000\n20240102-00:00:10.01,9000,9000\n"
    folder = write_files(tmp_path, {"trt_layer_latency.json": times, "power.log": log})
    conv, dense = (row for _, row in layer_energy(load_engine(folder)).iterrows())
    assert conv[["calls", "measured_calls", "samples"]].tolist() == [2, 1, 2]
    assert conv[["power_w", "energy_mj"]].tolist() == [7.5, 750.0]
    assert conv.isna()["power_above_idle_w"]
    assert dense.isna()["energy_mj"]


# Conditions

GPU = {"name": "NVIDIA Test GPU", "driver": "560.35.03", "sm_clock_mhz": 210.0, "max_sm_clock_mhz": 1800.0}
GPU |= {"temperature_c": 44.0, "throttle_reasons": [], "throttle_counters_us": {"sw_power_cap": 5.0}}
JETSON = {
    "kernel": "5.15.148-tegra",
    "container": "docker",
    "gpus": [],
    "jetson": {"l4t": "36.4.3", "model": "Jetson AGX Orin", "power_mode": "30W"},
    "gpu_clock": {"current_hz": 612000000, "locked": True},
    "temperatures_c": {"cpu-thermal": 48.0, "gpu-thermal": 50.5},
    "over_current_events": {"oc1_event_cnt": 1},
}


def host(**more: Any) -> dict[str, Any]:
    return {
        "kernel": "6.8.0",
        "container": None,
        "gpus": [{**GPU, **more}],
        "jetson": None,
        "gpu_clock": None,
    }


def captured(folder: Path, **more: Any) -> Engine:
    """A set with a manifest."""
    manifest = {
        "schema": SCHEMA,
        "trex_tui": "0.1.0",
        "status": "complete",
        "started": "2026-07-07T02:11:26.000+00:00",
        "trtexec": {"version": "10.4.0", "build": 26},
        "host": {"before": host(), "after": host(sm_clock_mhz=1790.0, temperature_c=71.0)},
        **more,
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_graph(folder / "net.graph.json", chain("one", "two"), ["t0", "t2"])
    write_profile(folder / "net.profile.json", [("one", 1.0), ("two", 2.0)])
    (folder / "net.capture.json").write_text(json.dumps(manifest), encoding="utf-8")
    return load_engine(folder)


def test_facts_of_a_desktop(tmp_path: Path) -> None:
    engine = captured(tmp_path)
    facts = capture_facts(engine)
    assert facts is not None
    assert facts.keys() == FACTS.keys()
    assert find_doubts(engine) == ()
    assert facts["started"] == "2026-07-07T02:11:26+00:00"
    assert (facts["driver"], facts["clocks"], facts["throttling"]) == (
        "560.35.03",
        "not locked by the capture",
        "none",
    )
    assert (facts["sm_clock_before_mhz"], facts["sm_clock_after_mhz"], facts["max_sm_clock_mhz"]) == (
        210,
        1790,
        1800,
    )
    assert (facts["temperature_before_celsius"], facts["temperature_after_celsius"]) == (44, 71)


def test_doubts_and_their_order(tmp_path: Path) -> None:
    after = host(throttle_counters_us={"sw_power_cap": 9e6})
    more = {"host": {"before": host(), "after": after}, "remarks": [NO_GRAPH, "odd."], "status": "partial"}
    engine = captured(tmp_path, **more, started="2999-01-01T00:00:00+00:00")
    doubts = find_doubts(engine)
    assert [doubt.kind for doubt in doubts] == ["other", "throttled", "other", "cuda_graph", "other"]
    assert doubts[-1].text == "odd"
    facts = capture_facts(engine)
    assert facts is not None
    assert facts["throttling"] == doubts[1].text
    assert capture_facts(load_engine(write_sample_set(tmp_path / "without"))) is None


def test_differences_between_two_captures(tmp_path: Path) -> None:
    first = captured(tmp_path / "a", host={"before": JETSON, "after": JETSON})
    other = {**JETSON, "container": None, "jetson": {**JETSON["jetson"], "power_mode": "MAXN"}}  # type: ignore[dict-item]
    other |= {"gpu_clock": {"current_hz": 612000000, "locked": False}}
    second = captured(
        tmp_path / "b", host={"before": other, "after": other}, started="2026-09-07T00:00:00+00:00"
    )
    kinds = [condition.kind for condition in compare_conditions((first, second), ("A", "B"))]
    assert kinds == ["power_mode", "container", "clocks", "time"]
    assert list(compare_conditions((first, first), ("A", "A"))) == []
    assert plain_values(first.layers["latency_ms"]) == [1.0, 2.0]
