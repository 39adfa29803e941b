"""Engines known by their logs alone: what a log states of weights, activations, inputs and outputs, in every output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers import ARTIFACTS, write_files
from trex_tui.__main__ import main

LOGS = ARTIFACTS / "logs"
S = "[08/12/2023-10:00:00] [I]"
V = "[08/12/2023-10:00:00] [V]"
BUILD = f"""\
{V} [TRT] Trying to load shared library libnvinfer_builder_resource.so.10.4.0
{V} [TRT] Adding network input: x with dtype: float32, dimensions: (-1, 3, 8, 8)
{V} [TRT] Marking y_1 as output: y
{S} [TRT] Max Scratch Memory: 512 bytes
{S} [TRT] Total Activation Memory: 2048 bytes
{S} [TRT] Total Weights Memory: 4096 bytes
{S} Engine built in 1.5 sec.
{S} Created engine with size: 0.5 MiB
"""
RUN = f"""\
{S} [TRT] Loaded engine size: 1 MiB
{S} Created execution context with device memory size: 0.25 MiB
{S} Input binding for x with dimensions 4x3x8x8 and type fp16 is created.
{S} Output binding for y with dimensions 4x10 and type fp32 is created.
{S} === Performance summary ===
{S} Throughput: 100 qps
{S} Latency: min = 1 ms, max = 2 ms, mean = 1.5 ms, median = 1.5 ms, percentile(99%) = 2 ms
"""


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(tmp_path, {"net.build.log": BUILD, "net.profile.log": RUN})
    assert main(["summary", "--json", str(tmp_path)]) == 0
    (engine,) = json.loads(capsys.readouterr().out)["engines"]
    assert engine["memory"]["stated"] == {
        "weights_bytes": 4096,
        "activation_bytes": 2048,
        "scratch_bytes": 512,
        "persistent_bytes": None,
        "context_bytes": 2**18,
        "engine_bytes": 2**19,
        "engine_mib": 1,
    }
    assert engine["memory"]["weights_bytes"] == 4096
    assert engine["tensorrt_version_source"] == "build_log: libnvinfer_builder_resource.so.10.4.0"


@pytest.mark.skipif(not LOGS.is_dir(), reason="no real artifacts")
def test_a_directory_of_real_logs(capsys: pytest.CaptureFixture[str]) -> None:
    """All of them open; the two logs of one engine are one set, whose layers are those of the richer list."""
    assert main(["summary", "--json", str(LOGS)]) == 0
    engines: list[Any] = json.loads(capsys.readouterr().out)["engines"]
    logs = [path for engine in engines for path in engine["files"].values()]
    assert sorted(map(Path, logs)) == sorted(LOGS.glob("*.log"))
    (pair,) = (engine for engine in engines if len(engine["files"]) == 2)
    assert "FP16" in [row["precision"] for row in pair["by_precision"]]
    assert pair["timing"]["throughput_qps"] == 20565.7
    for engine in engines:
        assert engine["tensorrt_version"]
        assert engine["memory"]["stated"]["engine_mib"]
        assert all(tensor["shape"] for tensor in engine["model"]["inputs"])
    for command in ("layers", "lint"):
        for engine in engines:
            assert main([command, next(iter(engine["files"].values()))]) in (0, 1)  # 1: findings


def test_diff_with_a_log_without_layers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without layers nothing tells whether the models differ."""
    stamp = "[08/12/2023-10:00:00]"
    for name, ms in (("a", 1.0), ("b", 2.0)):
        banner = f"&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --loadEngine={name}.plan"
        latency = f"Latency: min = {ms} ms, max = {ms} ms, mean = {ms} ms, median = {ms} ms, percentile(99%) = {ms} ms"
        lines = (banner, f"{stamp} [I] === Performance summary ===", f"{stamp} [I] {latency}")
        (tmp_path / f"{name}.profile.log").write_text("\n".join(lines) + "\n")
    main(["diff", str(tmp_path / "a.profile.log"), str(tmp_path / "b.profile.log")])
    out = capsys.readouterr().out
    assert "No layers known of a and b: totals only." in out
    assert "ifferent networks" not in out
    assert "B against A: +1.0000 ms (+100.00 %) by printed medians, noise unknown" in out
    assert "No layers known." in out
    assert "No differences" not in out
