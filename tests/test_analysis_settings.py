"""Options of trtexec: by release, as logs and metadata state them, and the batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers import layer, tensor, write_graph, write_json
from trex_tui.analysis.options import (
    BUILD_SETTINGS,
    RUN_SETTINGS,
    SETTINGS,
    build_run,
    build_settings,
    device_differences,
    find_batch,
    find_flag,
    options_in_arguments,
    run_settings,
    timed_run,
)
from trex_tui.analysis.releases import OPTIONS
from trex_tui.api import load_engine
from trex_tui.engine.model import Engine

LOG = """\
&&&& RUNNING TensorRT.trtexec [TensorRT v101601] [b11] # trtexec --onnx=a.onnx --useCudaGraph --infStreams=2
[07/07/2026-02:10:59] [I] === Model Options ===
[07/07/2026-02:10:59] [I] Format: ONNX
[07/07/2026-02:10:59] [I] === Build Options ===
[07/07/2026-02:10:59] [I] Memory Pools: workspace: 1024 MiB, dlaSRAM: default
[07/07/2026-02:10:59] [I] Precision: FP32+FP16
[07/07/2026-02:10:59] [I] Refit: Enabled
[07/07/2026-02:10:59] [I] Input build shape (profile 0): x=1x4+4x4+16x4
[07/07/2026-02:10:59] [I] Unheard of: yes
[07/07/2026-02:10:59] [I] === Inference Options ===
[07/07/2026-02:10:59] [I] Duration: 3s (+ 500ms warm up)
[07/07/2026-02:10:59] [I] Input inference shape : x=4x4
[07/07/2026-02:10:59] [I] Inference Streams: 2
[07/07/2026-02:10:59] [I] CUDA Graph: Enabled
[07/07/2026-02:10:59] [I] === Device Information ===
[07/07/2026-02:10:59] [I] Selected Device: NVIDIA Test GPU
[07/07/2026-02:11:01] [I] === Performance summary ===
[07/07/2026-02:11:01] [I] Throughput: 5 qps
&&&& PASSED TensorRT.trtexec [TensorRT v101601] [b11] # trtexec --onnx=a.onnx
"""


def engine_of(
    folder: Path, log: str = "", *, metadata: dict[str, Any] | None = None, shape: tuple[int, ...] = (-1, 4)
) -> Engine:
    raw = layer("a", "kgen", [tensor("x", *shape)], [tensor("y", *shape)])
    write_graph(folder / "net.graph.json", [raw], ["x", "y"])
    if log:
        (folder / "net.build.log").write_text(log, encoding="utf-8")
    if metadata is not None:
        write_json(folder / "net.profile.metadata.json", metadata)
    return load_engine(folder)


def test_settings_of_a_log(tmp_path: Path) -> None:
    engine = engine_of(tmp_path, LOG)
    table = {option.label: option for option in build_settings(engine)}
    assert table["Memory Pools"].value == {"workspace": 2**30, "dlaSRAM": None}
    assert table["Memory Pools"].text == "workspace 1.00 GiB, others default"
    assert table["Refit"].value is True
    shapes = table["Input build shape (profile 0)"]
    assert shapes.value == [{"profile": 0, "name": "x", "min": [1, 4], "opt": [4, 4], "max": [16, 4]}]
    assert shapes.text == "x 1×4 to 16×4, optimized for 4×4"
    other = table["Unheard of"]
    assert (other.key, other.text, other.is_folded) == (None, "yes", False)
    run = {option.key: option.value for option in run_settings(engine)}
    assert (run["warmup_ms"], run["streams"]) == (500, 2)
    assert find_flag(engine, "cuda_graph") is True
    assert find_flag(engine, "spin_wait") is None
    assert build_run(engine).argument("--onnx") == "a.onnx"
    assert timed_run(engine).device["Selected Device"] == "NVIDIA Test GPU"
    assert device_differences(engine) == []


@pytest.mark.parametrize(
    ("words", "stated"),
    [
        (["--avgTiming=4", "--refit"], {"avgTiming": "4", "Refit": "Enabled"}),
        (["--best"], {"Precision": "FP32+FP16+INT8"}),
        (["--stronglyTyped", "--fp16"], {"Precision": "Strongly Typed"}),
        (["--memPoolSize=workspace:1G"], {}),
        (["--noCompilationCache"], {"Enable Compilation Cache": "Disabled"}),
        (
            ["--minShapes=x:1x4", "--optShapes=x:4x4", "--maxShapes=x:8x4"],
            {"Input build shape": "x=1x4+4x4+8x4"},
        ),
    ],
)
def test_options_of_a_command_line(words: list[str], stated: dict[str, str]) -> None:
    assert options_in_arguments(["trtexec", *words], BUILD_SETTINGS) == stated


def test_every_setting_is_described() -> None:
    assert all(column.help.endswith(".") and column.title for column in SETTINGS.values())
    flags = " ".join(setting.flags for setting in (*BUILD_SETTINGS, *RUN_SETTINGS)).replace("!", "").split()
    assert OPTIONS.keys() >= set(flags)


@pytest.mark.parametrize(
    ("log", "metadata", "shape", "expected"),
    [
        ("", {"model_options": {"Format": "ONNX"}}, (8, 4), (8, "dim 0 of the inputs")),
        (LOG, None, (-1, 4), (4, "shapes of the run")),
        (LOG.replace("x=4x4", "model"), None, (-1, 4), (4, "optimal shapes of the build")),
        ("", {"inference_options": {"Batch": "16"}}, (4, 4), (16, "--batch of the run")),
        ("", {"inference_options": {"Batch": "Explicit"}}, (4, 4), (4, "dim 0 of the inputs")),
        ("", None, (-1, 4), None),
    ],
)
def test_batches(
    tmp_path: Path, log: str, metadata: dict[str, Any] | None, shape: tuple[int, ...], expected: Any
) -> None:
    assert find_batch(engine_of(tmp_path, log, metadata=metadata, shape=shape)) == expected
