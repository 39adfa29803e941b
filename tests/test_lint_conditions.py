"""MEASURE: numbers that cannot be trusted, and steady ones that can."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from helpers import chain, profile_line, profile_text, write_graph
from lint_kit import check, engine_of, only, queries, silent, unchecked
from trex_tui.api import load_engine
from trex_tui.artifacts.kinds import FileKind
from trex_tui.lint.rule import FindingSeverity

LAYERS = chain("a", "b", "c")


def test_few_iterations() -> None:
    one = only("MEASURE001", engine_of(LAYERS, times=[0.001024, 0.002048, 0.003072], iterations=1))
    assert one.severity is FindingSeverity.WARNING
    assert "100 % are multiples" in one.message
    assert "single samples" in one.message
    few = only("MEASURE001", engine_of(LAYERS, times=[1.0, 1.0, 1.0], iterations=80))
    assert few.severity is FindingSeverity.INFO
    assert "means of few samples" in few.message
    silent("MEASURE001", engine_of(LAYERS, times=[1.0, 1.0, 1.0], iterations=90))  # a quarter of a second
    silent("MEASURE001", engine_of(LAYERS, times=[0.1, 0.1, 0.1], iterations=100))
    assert "--exportProfile" in unchecked("MEASURE001", engine_of(LAYERS))


def noisy(rows: int, spread: float, seed: int = 1) -> list[float]:
    source = random.Random(seed)
    return [1.0 + source.uniform(-spread, spread) for _ in range(rows)]


def test_tail() -> None:
    latencies = noisy(1000, 0.002)
    for place in range(0, 1000, 50):
        latencies[place] = 1.5
    found = only("MEASURE002", engine_of(LAYERS, rows=queries(latencies)))
    assert found.severity is FindingSeverity.WARNING
    assert "outliers" in found.message
    assert found.saving_ms is None


def test_a_drift_without_a_tail() -> None:
    latencies = [one + 0.05 * (place >= 500) for place, one in enumerate(noisy(1000, 0.002))]
    found = only("MEASURE002", engine_of(LAYERS, rows=queries(latencies)))
    assert found.severity is FindingSeverity.WARNING
    assert found.evidence["verdict"] == "drift"


def test_steady() -> None:
    silent("MEASURE002", engine_of(LAYERS, rows=queries(noisy(1000, 0.01))))
    assert "--exportTimes" in unchecked("MEASURE002", engine_of(LAYERS))


def test_warmup_does_not_count() -> None:
    slow = [
        row | {"startComputeMs": 5.0 + place, "latencyMs": 3.0}
        for place, row in enumerate(queries([1.0] * 50))
    ]
    silent("MEASURE002", engine_of(LAYERS, rows=[*slow, *queries(noisy(1000, 0.01))]))


def test_printed_summary_alone() -> None:
    printed = {"Latency": [0.9, 1.6, 1.0, 1.0, 1.1, 1.2, 1.5]}
    findings, reasons = check("MEASURE002", engine_of(LAYERS, performance=printed))
    assert len(findings) == 1
    assert "--exportTimes" in reasons[0].reason
    steady = {"Latency": [0.9, 1.1, 1.0, 1.0, 1.01, 1.02, 1.03]}
    assert "--exportTimes" in unchecked("MEASURE002", engine_of(LAYERS, performance=steady))


def test_profile_of_another_engine() -> None:
    found = only("MEASURE003", engine_of(LAYERS, profile=[("x", 1.0), ("y", 1.0)]))
    assert found.stated_severity is None
    assert "no row" in found.message
    assert found.layers == (0, 1, 2)
    partly = only("MEASURE003", engine_of(LAYERS, profile=[("a", 1.0), ("b", 1.0), ("z", 1.0)]))
    assert partly.stated_severity is None
    assert "1 row without a layer" in partly.message
    assert partly.layers == (2,)


def test_layers_without_a_row() -> None:
    found = only("MEASURE003", engine_of(LAYERS, times=[1.0, None, 1.0]))
    assert found.severity is FindingSeverity.WARNING
    assert found.layers == (1,)


def test_means_far_above_medians(tmp_path: Path) -> None:
    write_graph(tmp_path / "net.graph.json", LAYERS)
    lines = [profile_line(name, 1.5, median=median) for name, median in (("a", 1.0), ("b", 1.4), ("c", 1.0))]
    (tmp_path / "net.profile.json").write_text(profile_text(lines))
    engine = load_engine(tmp_path)
    found = only("MEASURE005", engine)
    assert found.layers == (0, 2)
    assert "4.5 ms" in found.message
    assert "3.4 ms" in found.message
    silent("MEASURE005", engine_of(LAYERS, times=[1.0, 2.0, 3.0]))
    assert "--exportProfile" in unchecked("MEASURE005", engine_of(LAYERS))


def test_text_out_of_logs_is_harmless(tmp_path: Path) -> None:
    files = {FileKind.PROFILE_LOG: tmp_path / "p.log"}
    text = f"{STAMP} [W] Automatically setting shape to: 1\x1b]0;y\n"
    files[FileKind.PROFILE_LOG].write_text(banner("NVIDIA \x1b]0;x") + text, encoding="utf-8")
    assert "␛]0;y" in only("MEASURE004", engine_of(LAYERS, files=files)).message


BUILD = {"Input build shape (profile 0)": "x=1x3x8x8+4x3x8x8+16x3x8x8"}


def run(shape: str, **build: str) -> Any:
    inference = {"Iterations": "10", "Input inference shape ": f"x={shape}"}
    return engine_of(LAYERS, build=BUILD | build, inference=inference)


def test_other_shape_than_the_optimal_one() -> None:
    found = only("MEASURE004", run("16x3x8x8"))
    assert "'x' 16×3×8×8 instead of 4×3×8×8" in found.message
    silent("MEASURE004", run("4x3x8x8"))
    silent("MEASURE004", engine_of(LAYERS, inference={"Input inference shapes": "model"}))
    assert "options" in unchecked("MEASURE004", engine_of(LAYERS, build=BUILD))


STAMP = "[11/21/2026-10:00:00]"


def banner(device: str, argument: str = "--onnx=a.onnx") -> str:
    return (
        f"&&&& RUNNING TensorRT.trtexec [TensorRT v101601] # trtexec {argument}\n"
        f"{STAMP} [I] === Inference Options ===\n{STAMP} [I] Iterations: 10\n"
        f"{STAMP} [I] === Device Information ===\n{STAMP} [I] Selected Device: {device}\n"
    )


@pytest.mark.parametrize(("timed", "count"), [("NVIDIA L4", 1), ("NVIDIA H100", 0)])
def test_built_elsewhere(tmp_path: Path, timed: str, count: int) -> None:
    files = {FileKind.BUILD_LOG: tmp_path / "b.log", FileKind.PROFILE_LOG: tmp_path / "p.log"}
    files[FileKind.BUILD_LOG].write_text(banner("NVIDIA H100"), encoding="utf-8")
    files[FileKind.PROFILE_LOG].write_text(banner(timed, "--loadEngine=a.plan"), encoding="utf-8")
    assert len(check("MEASURE004", engine_of(LAYERS, files=files))[0]) == count


@pytest.mark.parametrize(
    ("log", "count"),
    [
        ("trt10.16.1_H100_dumpProfile_noSeparate.log", 1),
        ("trt10.16.1_H100_loadEngine_cudagraph_verbose.log", 0),
    ],
)
def test_shape_that_trtexec_chose(artifacts: Path, tmp_path: Path, log: str, count: int) -> None:
    write_graph(tmp_path / "net.graph.json", LAYERS)
    shutil.copy(artifacts / "logs" / log, tmp_path / "net.profile.log")
    findings, reasons = check("MEASURE004", load_engine(tmp_path))
    assert len(findings) == count
    assert not reasons
    assert all(one.severity is FindingSeverity.WARNING and "1x1x28x28" in one.message for one in findings)
