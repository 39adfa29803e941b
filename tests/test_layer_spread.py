"""Single times of layers, as an IProfiler writes them: percentile and spread of each layer."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from helpers import layer, strict_json, tensor
from trex_tui import load_engine
from trex_tui.artifacts.layer_spread import LayerSpread
from trex_tui.artifacts.profile import read_profile
from trex_tui.cli import main
from trex_tui.report.views.layer_details import layer_lines
from tui import write

STAMP = "20241121-00:00:01.50"
TIMES = [1.0] * 98 + [3.0, 9.0]


def spread_of(tmp_path: Path, samples: list[Any]) -> LayerSpread | None:
    document = {"conv1": samples, "conv2": [1.0], "relu": [2.0]}
    return read_profile(write(tmp_path / "x.trt_layer_latency.json", document)).spreads[0]


@pytest.mark.parametrize("samples", [TIMES, [[ms, STAMP] for ms in TIMES]], ids=["times", "with stamps"])
def test_percentile_and_spread(tmp_path: Path, samples: list[Any]) -> None:
    spread = spread_of(tmp_path, samples)
    assert spread is not None
    assert (spread.samples, spread.p99_ms) == (100, 3.0)
    assert spread.cv_pct == pytest.approx(100 * statistics.pstdev(TIMES) / statistics.fmean(TIMES))


@pytest.mark.parametrize(
    ("samples", "known", "p99_ms", "cv_pct"),
    [
        ([2.0], [2.0], 2.0, None),
        ([0.0, 0.0], [0.0, 0.0], 0.0, None),
        ([1.0, None, "x", -1.0, [], 3.0], [1.0, 3.0], 3.0, 50.0),
    ],
)
def test_few_and_damaged_samples(
    tmp_path: Path, samples: list[Any], known: list[float], p99_ms: float, cv_pct: float | None
) -> None:
    spread = spread_of(tmp_path, samples)
    assert spread is not None
    assert (list(spread.times_ms), spread.p99_ms, spread.cv_pct) == (known, p99_ms, cv_pct)


def engine_folder(tmp_path: Path) -> Path:
    layers = [
        layer("conv1", inputs=[tensor("x", 1, 8)], outputs=[tensor("a", 1, 8)]),
        layer("conv2", inputs=[tensor("a", 1, 8)], outputs=[tensor("b", 1, 8)]),
        layer("conv3", inputs=[tensor("b", 1, 8)], outputs=[tensor("c", 1, 8)]),
    ]
    write(tmp_path / "trt_engine_info.json", {"Layers": layers, "Bindings": ["x", "c"]})
    write(tmp_path / "trt_layer_latency.json", {"conv1": TIMES, "conv2": [1.0] * 100, "conv3": [2.0] * 100})
    return tmp_path


def test_columns_and_filter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(engine_folder(tmp_path))
    arguments = [
        "layers",
        folder,
        "--columns",
        "name,p50_ms,p99_ms,cv_pct",
        "--filter",
        "cv_pct > 10",
        "--json",
    ]
    assert main(arguments) == 0
    (row,) = strict_json(capsys.readouterr().out)["layers"]
    assert (row["name"], row["median_ms"], row["p99_ms"]) == ("conv1", 1.0, 3.0)
    assert row["cv_pct"] == pytest.approx(73.9, abs=10)


def test_details_of_a_layer(tmp_path: Path) -> None:
    engine = load_engine(engine_folder(tmp_path))
    text = "\n".join(line.text for line in layer_lines(engine, engine.layers[0]))
    assert "median 1.0000 ms · p99 3.0000 ms · CV " in text


@pytest.mark.parametrize("name", ["alexnet", "resnet18", "mobilenet_v2"])
def test_real_dumps(artifacts: Path, name: str) -> None:
    folder = artifacts / "torch-trt" / name
    samples = json.loads((folder / "trt_layer_latency.json").read_text(encoding="utf-8"))
    engine = load_engine(folder)
    assert [timed.name for timed in engine.layers if timed.latency is None] == []
    for timed in engine.layers:
        times = samples[timed.name]
        assert timed.latency is not None
        spread = timed.latency.spread
        assert spread is not None
        assert spread.samples == len(times) == 100
        assert spread.p99_ms == sorted(times)[-2]
        if spread.cv_pct is not None:
            assert spread.cv_pct == pytest.approx(100 * statistics.pstdev(times) / statistics.fmean(times))


def test_trtexec_states_no_single_times(artifacts: Path) -> None:
    engine = load_engine(artifacts / "edge-vision" / "results" / "mobilenet_v2")
    assert all(timed.latency is None or timed.latency.spread is None for timed in engine.layers)
