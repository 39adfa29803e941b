"""BUILD: what metadata and the head of a log say about the build."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lint_kit import convolution, engine_of, image, only, silent, unchecked
from trex_tui.artifacts.kinds import FileKind
from trex_tui.lint.rule import FindingSeverity

LAYERS = [convolution("conv", image("x"), image("y"))]
STAMP = "[11/21/2026-10:00:00]"
STATED = {"Precision": "FP32+FP16", "BuilderOptimizationLevel": "3", "MaxTactics": "-1"}


def built(options: dict[str, Any], layers: list[dict[str, Any]] | None = None, **more: Any) -> Any:
    return engine_of(LAYERS if layers is None else layers, ["x", "y"], build=STATED | options, **more)


def logged(tmp_path: Path, arguments: str, options: str = "", *, version: str | None = None) -> Any:
    log = tmp_path / "net.build.log"
    banner = f"&&&& RUNNING TensorRT.trtexec [TensorRT v101601] # trtexec {arguments}\n"
    section = (
        f"{STAMP} [I] === Build Options ===\n{options}" if options else f"{STAMP} [I] Starting inference\n"
    )
    log.write_text(banner + section, encoding="utf-8")
    return engine_of(LAYERS, ["x", "y"], files={FileKind.BUILD_LOG: log}, version=version)


def test_skipped_tactics_need_the_log(tmp_path: Path) -> None:
    assert "--verbose" in unchecked("BUILD001", built({}))
    assert "not verbose" in unchecked("BUILD001", logged(tmp_path, "--onnx=a"))


@pytest.mark.parametrize(
    ("size", "severity"),
    [("0.000976562", None), ("8", FindingSeverity.WARNING), ("1.07374e+09", None)],
    ids=["bytes", "small", "2^30 MiB"],
)
def test_odd_workspace(tmp_path: Path, size: str, severity: FindingSeverity | None) -> None:
    pools = f"{STAMP} [I] Memory Pools: workspace: {size} MiB, dlaSRAM: default\n"
    found = only("BUILD002", logged(tmp_path, "--onnx=a --memPoolSize=workspace:1024MiB", pools))
    assert found.stated_severity is severity
    assert found.remedy == "Write --memPoolSize=workspace:1024M."
    assert "workspace:1024MiB" in found.message


def test_the_value_that_was_understood_decides(tmp_path: Path) -> None:
    """TensorRT up to 9.3 ignores the suffix: the same argument is fine there."""
    pools = f"{STAMP} [I] Memory Pools: workspace: 1024 MiB, dlaSRAM: default\n"
    silent("BUILD002", logged(tmp_path, "--onnx=a --memPoolSize=workspace:1024MiB", pools, version="8.6.0"))
    silent(
        "BUILD002", logged(tmp_path, "", f"{STAMP} [I] Memory Pools: workspace: default, dlaSRAM: default\n")
    )


def test_argument_alone(tmp_path: Path) -> None:
    found = only("BUILD002", logged(tmp_path, "--onnx=a --memPoolSize=workspace:1024MiB", version="10.16.1"))
    assert "1024 bytes" in found.message
    for version, size in (
        ("10.0.1", "1024MiB"),
        ("10.16.1", "1024M"),
        ("10.16.1", "1024"),
    ):
        silent("BUILD002", logged(tmp_path, f"--onnx=a --memPoolSize=workspace:{size}", version=version))


def test_metadata_that_cut_the_pools() -> None:
    assert "truncated" in unchecked("BUILD002", built({"Memory Pools": "workspace"}))
    assert only("BUILD002", built({"Workspace": "1 MiB"})).severity is FindingSeverity.WARNING
    silent("BUILD002", built({"Workspace": "16 MiB"}))


def test_timing_cache() -> None:
    for mode in ("local", "disable"):
        assert only("BUILD003", built({"timingCacheMode": mode})).evidence["timingCacheMode"] == mode
    silent("BUILD003", built({"timingCacheMode": "global", "timingCacheFile": "a.cache"}))
    assert "timingCacheMode" in unchecked("BUILD003", built({}))


def test_options_of_a_run_that_loads_say_nothing_of_the_build() -> None:
    loaded = built({"timingCacheMode": "local", "Load engine": "net.engine"})
    assert "no build options" in unchecked("BUILD003", loaded)


def test_incomplete_layer_information() -> None:
    names = only("BUILD005", engine_of([{"Name": "a"}], names_only=True))
    assert "names only" in names.message
    dynamic = [*LAYERS, convolution("next", image("y"), image("z", size=-1))]
    found = only("BUILD005", engine_of(dynamic, ["x", "z"]))
    assert found.layers == (1,)
    assert "--shapes" in found.remedy
    unknown = [*LAYERS, convolution("next", image("y"), image("z", dtype="N/A due to dynamic shapes"))]
    assert only("BUILD005", engine_of(unknown, ["x", "z"])).layers == (1,)


def test_complete_layer_information() -> None:
    silent("BUILD005", engine_of(LAYERS, ["x", "y"]))
    mixed = [*LAYERS, {"Name": "k", "LayerType": "kgen", "Inputs": [image("y", dtype="Half")], "Outputs": []}]
    silent("BUILD005", engine_of(mixed, ["x", "y"]))
    assert "--exportLayerInfo" in unchecked("BUILD005", engine_of(None, profile=[("a", 1.0)]))


# Real layer information and the real logs of the same network and release, put side by side.
REAL = [
    (
        "trt10.16.1_exportLayerInfo_noContext.json",
        "trt10.16.1_H100_build_verbose_onnx_fp16_dynshape.log",
        {"BUILD001", "BUILD002", "BUILD003", "BUILD005"},
    ),
    (
        "trt8.6.0_exportLayerInfo_names_only.json",
        "trt8.6.0_RTX3090_build_verbose_fp16_dynshape_skipInference.log",
        {"BUILD003"},
    ),
    (
        "trt8.4.1_exportLayerInfo_names_only.json",
        "trt8.4.1_GTX1070_build_verbose_fp16_dynshape.log",
        {"BUILD001", "BUILD003"},
    ),
]
