"""Torch-TensorRT's debug folder: names of its source, times of real engines written as it writes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers import layer, tensor
from trex_tui.artifacts import ArtifactKind, find
from trex_tui.artifacts.file_kinds import engine_stem
from trex_tui.engine import load_engine
from tui import write


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("_run_on_acc_0_engine_layer_information.json", "_run_on_acc_0"),
        ("_run_on_acc_0_engine_engine_execution_profile.trace", "_run_on_acc_0"),
        ("_run_on_acc_0_engine_execution_profile.trace", "_run_on_acc_0"),
        ("_run_on_acc_12_engine_layer_information.json", "_run_on_acc_12"),
    ],
)
def test_name_of_the_engine(name: str, stem: str) -> None:
    assert engine_stem(Path(name)) == stem


def test_each_engine_of_a_module_is_a_set(tmp_path: Path) -> None:
    for number in range(2):
        layers = [
            layer(f"conv{number}{one}", inputs=[tensor("x", 1)], outputs=[tensor("y", 1)]) for one in range(3)
        ]
        times = [
            {"name": one["Name"], "timeMs": 10.0, "averageMs": 1.0 + number, "percentage": 33.3}
            for one in layers
        ]
        stem = f"_run_on_acc_{number}_engine"
        write(tmp_path / f"{stem}_layer_information.json", {"Layers": layers, "Bindings": []})
        write(tmp_path / f"{stem}_engine_execution_profile.trace", times)
    found = find(tmp_path)
    assert len(found) == 2
    engines = [load_engine(one.files[ArtifactKind.GRAPH]) for one in found]
    sums = [sum(row.latency_ms or 0.0 for row in engine.layers) for engine in engines]
    assert sums == [3.0, 6.0]


def test_real_times_in_its_names(tmp_path: Path, artifacts: Path) -> None:
    folder = artifacts / "torch-trt" / "resnet18"
    samples = json.loads((folder / "trt_layer_latency.json").read_text(encoding="utf-8"))
    info = (folder / "trt_engine_info.json").read_text(encoding="utf-8")
    (tmp_path / "_run_on_acc_0_engine_layer_information.json").write_text(info, encoding="utf-8")
    rows = [
        {"name": name, "timeMs": sum(times), "averageMs": sum(times) / len(times), "percentage": 1.0}
        for name, times in samples.items()
    ]
    write(tmp_path / "_run_on_acc_0_engine_engine_execution_profile.trace", rows)
    engine = load_engine(tmp_path)
    assert len(engine.layers) == 26
    assert all(one.latency is not None for one in engine.layers)
