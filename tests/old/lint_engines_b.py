"""Small engines for the rules about fusion, launch, roofs, build and measurement: from layer dicts, without files."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers import layer, tensor, timing_row
from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.artifacts.layer_info import LayerInfo
from trex_tui.old.artifacts.metadata import Metadata
from trex_tui.old.artifacts.profile import Profile, ProfileRow
from trex_tui.old.artifacts.records import Records
from trex_tui.old.artifacts.timing import Timing
from trex_tui.old.engine.engine import Engine
from trex_tui.old.lint.context import Context
from trex_tui.old.lint.model import Finding, NotChecked, Rule
from trex_tui.old.lint.registry import builtin_modules, collect

FAMILIES = (
    "ATTN",
    "BUILD",
    "DLA",
    "DYN",
    "FUSE",
    "HOT",
    "LAUNCH",
    "MEASURE",
    "MEM",
    "OK",
    "ONNX",
    "PLUG",
    "ROOF",
)
RULES: dict[str, Rule] = {
    rule.id: rule
    for rule in collect(builtin_modules()).rules
    if rule.family in FAMILIES or rule.id in ("PREC004", "PREC005")
}

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
    files: Mapping[ArtifactKind, Path] | None = None,
) -> Engine:
    """An engine of these layers; `times` go to the layers in order (None: no row), `profile` names its rows itself."""
    if times is not None:
        assert layers is not None
        assert len(times) == len(layers)
        profile = [(raw["Name"], time) for raw, time in zip(layers, times, strict=True) if time is not None]
    return Engine.from_records(
        Records(
            source=ArtifactSet("net", Path(), dict(files or {})),
            layer_info=None
            if layers is None
            else LayerInfo(tuple(layers), tuple(bindings), names_only=names_only),
            profile=None if profile is None else _profile(profile, iterations),
            timing=None if rows is None else _timing(rows),
            metadata=Metadata(
                build_options=dict(build or {}),
                inference_options=dict(inference or {}),
                device=dict(device or {}),
                performance=dict(performance or {}),
            ),
            tensorrt_version=version,
            diagnostics=(),
        )
    )


def _profile(rows: Sequence[tuple[str, float]], iterations: int | None) -> Profile:
    count = iterations or 1
    return Profile(tuple(ProfileRow(name, time * count, time, time, None) for name, time in rows), iterations)


def _timing(rows: Sequence[dict[str, float]]) -> Timing:
    columns = {key: array("d", [row[key] for row in rows]) for key in rows[0]}
    return Timing(columns, len(rows))


def queries(latencies: Sequence[float], **more: float) -> list[dict[str, float]]:
    """Rows of a timing run behind the warm-up."""
    return [timing_row(300.0 + 2.0 * place, one) | more for place, one in enumerate(latencies)]


def check(
    rule: str, engine: Engine, thresholds: Mapping[str, float] | None = None
) -> tuple[list[Finding], list[NotChecked]]:
    """What a rule finds, and what it did not check. Each says which rule it is of, and savings are possible."""
    context = Context(engine, dict(thresholds or {}))
    told = list(RULES[rule].look(context))
    assert all(one.rule == rule for one in told)
    findings = [one for one in told if isinstance(one, Finding)]
    for finding in findings:
        sound(finding, engine)
    return findings, [one for one in told if isinstance(one, NotChecked)]


def sound(finding: Finding, engine: Engine) -> None:
    """A finding names real layers, in order, and promises no more than they take."""
    assert list(finding.layers) == sorted(set(finding.layers))
    assert all(0 <= index < len(engine.layers) for index in finding.layers)
    assert set(finding.savings_ms) <= set(finding.layers)
    for index, saving in finding.savings_ms.items():
        latency = engine.layers[index].latency_ms
        assert latency is not None
        assert 0 <= saving <= latency + 1e-12
    assert bool(finding.formula) or finding.saving_ms is None
    assert not re.search(r"(?<![\d.])1 (layers|kernels|rows|copies|blocks|iterations)\b", finding.message)
    assert finding.message.endswith(".")
    assert "\x1b" not in finding.message


def only(rule: str, engine: Engine, thresholds: Mapping[str, float] | None = None) -> Finding:
    """The one finding of a rule."""
    findings, _ = check(rule, engine, thresholds)
    assert len(findings) == 1, [one.message for one in findings]
    return findings[0]


def silent(rule: str, engine: Engine, thresholds: Mapping[str, float] | None = None) -> None:
    """The rule looked, everywhere, and found nothing."""
    assert check(rule, engine, thresholds) == ([], [])


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
