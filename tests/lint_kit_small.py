"""Small engines for the rules about fusion, launch, roofs, build and measurement: of layer dicts, in folders of their own."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from helpers import layer, tensor, timing_row, write_graph, write_json, write_profile
from lint_kit import with_remedy
from trex_tui.api import load_engine
from trex_tui.artifacts.kinds import FileKind
from trex_tui.engine.model import Engine
from trex_tui.lint.context import Context
from trex_tui.lint.rule import Finding, NotChecked, Rule
from trex_tui.lint.rules import load_rules

RULES: Mapping[str, Rule] = load_rules().by_id

NHWC8 = "Channel major FP16 format where channel % 8 == 0"
LINEAR = "Row major linear FP16 format"
TENSOR_CORES = (
    "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize64x64x64_stage4_tensor16x8x16"
)
CUDA_CORES = "sm70_xmma_gemm_as_conv1x1_f16f16_f16_f16_tn_n_simt_small_batch_bias_relu"
# 10 SMs at 1 GHz and 100 GB/s: FP16 on tensor cores reaches 10.24 TFLOP/s.
DEVICE = {
    "Selected Device": "NVIDIA A10",
    "Compute Capability": 8.6,
    "SMs": 10,
    "Compute Clock Rate": 1.0,
    "Memory Bus Width": "256 bits",
    "Memory Clock Rate": "1.5625 GHz",
}

Tensors = Sequence[dict[str, Any]]
_FOLDERS = tempfile.TemporaryDirectory()


def engine_of(
    layers: Sequence[dict[str, Any]] | None,
    bindings: Sequence[str] = (),
    *,
    times: Sequence[float | None] | None = None,
    profile: Sequence[tuple[str, float]] | None = None,
    iterations: int | None = 500,
    rows: Sequence[dict[str, float]] | None = None,
    build: Mapping[str, Any] | None = None,
    inference: Mapping[str, Any] | None = None,
    device: Mapping[str, Any] | None = None,
    performance: Mapping[str, Any] | None = None,
    version: str | None = None,
    names_only: bool = False,
    files: Mapping[FileKind, Path] | None = None,
) -> Engine:
    """An engine of these layers; `times` go to the layers in order (None: no row), `profile` names its rows itself."""
    if times is not None:
        assert layers is not None
        assert len(times) == len(layers)
        profile = [(raw["Name"], time) for raw, time in zip(layers, times, strict=True) if time is not None]
    place = Path(tempfile.mkdtemp(dir=_FOLDERS.name))  # logs are read when a rule asks
    if layers is not None:
        listed = [raw["Name"] for raw in layers] if names_only else layers
        write_graph(place / "net.graph.json", listed, bindings)
    if profile is not None:
        path = write_profile(place / "net.profile.json", profile, iterations or 1)
        if iterations is None:
            path.write_text(json.dumps(json.loads(path.read_text())[1:]))
    if rows is not None:
        write_json(place / "net.timing.json", list(rows))
    if build is not None:
        write_json(place / "net.build.metadata.json", {"build_options": dict(build)})
    run = {
        "inference_options": dict(inference or {}),
        "device_information": dict(device or {}),
        "performance_summary": dict(performance or {}),
    }
    if any(run.values()):
        write_json(place / "net.profile.metadata.json", run)
    for kind, path in (files or {}).items():
        shutil.copy(path, place / f"net.{kind.value.replace('_', '.')}")
    if not any(place.iterdir()):
        banner = "&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=net.onnx"
        (place / "net.build.log").write_text(f"{banner}\n[11/21/2026-10:00:00] [I] TensorRT version: 8.6.1\n")
    engine = load_engine(place)
    return replace(engine, facts=replace(engine.facts, tensorrt_version=version)) if version else engine


def queries(latencies: Sequence[float], **more: float) -> list[dict[str, float]]:
    """Rows of a timing run behind the warm-up."""
    return [timing_row(300.0 + 2.0 * place, one) | more for place, one in enumerate(latencies)]


def check(rule: str, engine: Engine) -> tuple[list[Finding], list[NotChecked]]:
    """What a rule finds, and what it did not check. Each says which rule it is of, and savings are possible."""
    context = Context(engine)
    told = list(RULES[rule].look(context))
    assert all((one.rule if isinstance(one, NotChecked) else one.rule.id) == rule for one in told)
    findings = [with_remedy(one, context) for one in told if isinstance(one, Finding)]
    for finding in findings:
        sound(finding, engine)
    return findings, [one for one in told if isinstance(one, NotChecked)]


def sound(finding: Finding, engine: Engine) -> None:
    """A finding names real layers, in order, and promises no more than they take."""
    assert list(finding.layers) == sorted(set(finding.layers))
    assert all(0 <= index < len(engine) for index in finding.layers)
    assert set(finding.savings_ms) <= set(finding.layers)
    for index, saving in finding.savings_ms.items():
        latency = engine.layers["latency_ms"][index]
        assert latency is not None
        assert 0 <= saving <= latency + 1e-12
    assert bool(finding.rule.formula) or finding.saving_ms is None
    assert not re.search(r"(?<![\d.])1 (layers|kernels|rows|copies|blocks|iterations)\b", finding.message)
    assert finding.message.endswith(".")
    assert "\x1b" not in finding.message


def only(rule: str, engine: Engine) -> Finding:
    """The one finding of a rule."""
    findings, _ = check(rule, engine)
    assert len(findings) == 1, [one.message for one in findings]
    return findings[0]


def silent(rule: str, engine: Engine) -> None:
    """The rule looked, everywhere, and found nothing."""
    assert check(rule, engine) == ([], [])


def unchecked(rule: str, engine: Engine) -> str:
    """The rule found nothing because it was not checked; its reason."""
    findings, reasons = check(rule, engine)
    assert not findings
    assert len(reasons) == 1
    return reasons[0].reason


def convolution(
    name: str, source: dict[str, Any], target: dict[str, Any], *others: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """A 3x3 convolution on tensor cores."""
    about = {
        "ParameterType": "Convolution",
        "Kernel": [3, 3],
        "Groups": 1,
        "OutMaps": target["Dimensions"][1],
        "Weights": {"Type": "Half", "Count": source["Dimensions"][1] * target["Dimensions"][1] * 9},
        "TacticName": TENSOR_CORES,
    }
    return layer(name, "CaskConvolution", [source, *others], [target], **(about | more))


def pointwise(name: str, sources: Tensors, target: dict[str, Any], **more: Any) -> dict[str, Any]:
    return layer(name, "PointWiseV2", sources, [target], ParameterType="PointWise", **more)


def reformat(name: str, source: dict[str, Any], target: dict[str, Any], **more: Any) -> dict[str, Any]:
    return layer(
        name, "Reformat", [source], [target], **({"ParameterType": "Reformat", "Origin": "REFORMAT"} | more)
    )


def noop(name: str, source: dict[str, Any], target: dict[str, Any]) -> dict[str, Any]:
    return layer(name, "NoOp", [source], [target], ParameterType="Shuffle")


def kernel(
    name: str, operators: str, sources: Tensors, *targets: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """A generated Myelin kernel: `operators` as in `CastMulAdd`."""
    tactic = f"__myl_{operators}_0x{'0' * 32}"
    return layer(name, "kgen", sources, list(targets), TacticName=tactic, **more)


def gemm(name: str, sources: Tensors, target: dict[str, Any], **more: Any) -> dict[str, Any]:
    tactic = "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x64x64_stage4_warpsize2x2x1_tensor16x8x16"
    return layer(name, "gemm", sources, [target], **({"TacticName": tactic} | more))


def plugin(
    name: str, source: dict[str, Any], target: dict[str, Any], kind: str = "MyPlugin"
) -> dict[str, Any]:
    return layer(name, "PluginV2", [source], [target], PluginType=kind)


def image(name: str, channels: int = 64, size: int = 56, dtype: str = NHWC8) -> dict[str, Any]:
    return tensor(name, 1, channels, size, size, dtype=dtype)


def matrix(name: str, *shape: int, dtype: str = "Half") -> dict[str, Any]:
    return tensor(name, *shape, dtype=dtype)
