"""Single times of layers, as an IProfiler writes them: percentile and spread of each layer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers import layer, strict_json, tensor
from small_engines import write
from trex_tui.__main__ import main

TIMES = [1.0] * 98 + [3.0, 9.0]


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


def set_of(folder: Path, samples: dict[str, list[float]], info: str) -> str:
    folder.mkdir()
    (folder / "trt_engine_info.json").write_text(info, encoding="utf-8")
    write(folder / "trt_layer_latency.json", samples)
    return str(folder)


@pytest.fixture
def halves(tmp_path: Path, artifacts: Path) -> tuple[str, str, str]:
    """A real engine's odd and even calls as two engines, and the even ones with a layer that takes 0.01 ms longer."""
    source = artifacts / "torch-trt" / "resnet18"
    info = (source / "trt_engine_info.json").read_text(encoding="utf-8")
    samples = json.loads((source / "trt_layer_latency.json").read_text(encoding="utf-8"))
    even = {name: times[::2] for name, times in samples.items()}
    odd = {name: times[1::2] for name, times in samples.items()}
    slowest = max(odd, key=lambda name: sum(odd[name]))
    worse = odd | {slowest: [time + 0.01 for time in odd[slowest]]}
    sets = {"even": even, "odd": odd, "worse": worse}
    even_path, odd_path, worse_path = (set_of(tmp_path / name, times, info) for name, times in sets.items())
    return even_path, odd_path, worse_path


def blocks_of(capsys: pytest.CaptureFixture[str], *paths: str) -> list[dict[str, Any]]:
    assert main(["diff", *paths, "--json", "--top", "0"]) == 0
    document = strict_json(capsys.readouterr().out)
    blocks: list[dict[str, Any]] = document["blocks"]
    return blocks


def test_equal_engines_do_not_differ_beyond_noise(
    halves: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = [block["b_verdict"] for block in blocks_of(capsys, halves[0], halves[1])]
    assert len(outcomes) == 26
    assert outcomes.count("same") >= 24


def test_one_slower_layer_is_found(halves: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    blocks = blocks_of(capsys, halves[0], halves[2])
    slower = [block for block in blocks if block["b_verdict"] == "slower"]
    worst = max(blocks, key=lambda block: block["b_delta_ms"])
    assert worst in slower
    assert len(slower) <= 2
    assert worst["b_delta_low_ms"] < 0.01 < worst["b_delta_high_ms"]
