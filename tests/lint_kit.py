"""Small engines that trigger rules, and near misses: built from files, as trtexec writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from helpers import RealSet, layer, tensor, write_graph, write_json, write_profile
from trex_tui.api import load_engine
from trex_tui.engine.model import Engine
from trex_tui.lint.config import LintConfig
from trex_tui.lint.context import Context
from trex_tui.lint.remedies import choose
from trex_tui.lint.rule import Finding, FindingSeverity, NotChecked, Rule
from trex_tui.lint.rules import load_rules
from trex_tui.lint.run import run_rules

A100 = {
    "Selected Device": "NVIDIA A100 80GB PCIe",
    "Compute Capability": 8.0,
    "SMs": 108,
    "Compute Clock Rate": 1.41,
    "Device Global Memory": "80994 MiB",
    "Memory Bus Width": 5120,
    "Memory Clock Rate": 1.512,
}
RTX_3090 = {
    "Selected Device": "NVIDIA GeForce RTX 3090",
    "Compute Capability": 8.6,
    "SMs": 82,
    "Compute Clock Rate": 1.695,
    "Memory Bus Width": 384,
    "Memory Clock Rate": 9.751,
}
GTX_1070 = {
    "Selected Device": "NVIDIA GeForce GTX 1070",
    "Compute Capability": 6.1,
    "SMs": 15,
    "Compute Clock Rate": 1.683,
    "Memory Bus Width": 256,
    "Memory Clock Rate": 4.004,
}

LINEAR16, LINEAR32 = "Row major linear FP16 format", "Row major linear FP32"
HWC8 = "Channel major FP16 format where channel % 8 == 0"
HWC4 = "Channel major FP16 format where channel % 4 == 0"
INT8_32 = "Thirty-two wide channel vectorized row major Int8 format"
FP16_32 = "Thirty-two wide channel vectorized row major FP16 format"

TC16 = (
    "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize128x64x64_stage3_warpsize2x2x1_g1"
    "_tensor16x8x16_t1r3s3"
)
CUDA16 = "sm70_xmma_gemm_as_conv1x1_f16f16_f16_f16_tn_n_simt_small_batch_bias_relu"
TC8 = (
    "sm80_xmma_fprop_implicit_gemm_interleaved_i8i8_i8i32_f32_nchw_vect_c_32kcrs_vect_c_32_nchw_vect_c_32"
    "_tilesize256x128x64_stage4_warpsize4x2x1_g1_tensor16x8x32_t1r3s3"
)
CUDA32 = "ampere_scudnn_128x64_relu_xregs_large_nn_v1"
WINOGRAD = "ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1"


def conv(
    name: str,
    source: str,
    target: str,
    *,
    channels: int = 64,
    maps: int = 64,
    size: int = 56,
    batch: int = 32,
    dtype: str = HWC8,
    out: str | None = None,
    tactic: str | None = TC16,
    kernel: int = 3,
    **more: Any,
) -> dict[str, Any]:
    """A convolution of stride 1; `extra` adds inputs."""
    extra = more.pop("extra", [])
    attributes = {
        "ParameterType": "Convolution",
        "Kernel": [kernel, kernel],
        "OutMaps": maps,
        "Groups": more.pop("groups", 1),
        "Weights": {"Type": "Half", "Count": channels * maps * kernel * kernel},
    }
    if tactic is not None:
        attributes["TacticName"] = tactic
    inputs = [tensor(source, batch, channels, size, size, dtype=dtype), *extra]
    outputs = [tensor(target, batch, maps, size, size, dtype=out or dtype)]
    return layer(name, more.pop("layer_type", "CaskConvolution"), inputs, outputs, **attributes, **more)


def gemm(
    name: str,
    source: str,
    target: str,
    *,
    rows: int = 1024,
    columns: int = 1024,
    inner: int = 1024,
    dtype: str = "Half",
    tactic: str = "sm80_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize64x64x64_stage4_warpsize2x2x1_tensor16x8x16",
) -> dict[str, Any]:
    """A Myelin GEMM with its weights among the inputs."""
    inputs = [
        tensor(source, rows, inner, dtype=dtype),
        tensor(f"{name}.weights", inner, columns, dtype=dtype),
    ]
    return layer(name, "gemm", inputs, [tensor(target, rows, columns, dtype=dtype)], TacticName=tactic)


def step(
    name: str,
    layer_type: str,
    source: str,
    target: str,
    dtypes: Sequence[str],
    *,
    shape: Sequence[int] = (32, 64, 56, 56),
    **more: Any,
) -> dict[str, Any]:
    """A layer with one input and one output of the same shape, of the two types."""
    return layer(
        name,
        layer_type,
        [tensor(source, *shape, dtype=dtypes[0])],
        [tensor(target, *shape, dtype=dtypes[1])],
        **more,
    )


def reformat(name: str, source: str, target: str, dtypes: Sequence[str], **more: Any) -> dict[str, Any]:
    origin = more.pop("origin", "REFORMAT")
    return step(name, "Reformat", source, target, dtypes, ParameterType="Reformat", Origin=origin, **more)


def kernel(
    name: str, source: str, target: str, dtypes: Sequence[str] = ("Half", "Half"), **more: Any
) -> dict[str, Any]:
    """A generated Myelin kernel: `CastMul` for the operators Cast, Mul."""
    return step(
        f"__myl_{name}_myl1_1",
        "kgen",
        source,
        target,
        dtypes,
        TacticName=f"__myl_{name}_0x{'0' * 32}",
        **more,
    )


def engine_of(
    folder: Path,
    layers: Sequence[dict[str, Any]],
    times: Sequence[float] | None = None,
    *,
    bindings: Sequence[str] = (),
    device: dict[str, Any] | None = A100,
    precision: str | None = None,
) -> Engine:
    """An engine out of files: layers, their times in milliseconds, and the device that its metadata states.

    What is read, never written, and not called weights, is an input of the network, beside the `bindings`.
    """
    written = {one["Name"] for raw in layers for one in raw["Outputs"]}
    read = [one["Name"] for raw in layers for one in raw["Inputs"]]
    inputs = [name for name in read if name not in written and not name.endswith("weights")]
    write_graph(folder / "net.graph.json", layers, list(dict.fromkeys([*inputs, *bindings])))
    if times is not None:
        names = [one["Name"] for one in layers]
        write_profile(folder / "net.profile.json", list(zip(names, times, strict=True)), count=100)
    if device is not None:
        root = {"inference_options": {}, "device_information": device}
        write_json(folder / "net.profile.metadata.json", root)
    if precision is not None:
        options = {"build_options": {"Precision": precision}}
        write_json(folder / "net.build.metadata.json", options)
    return load_engine(folder)


def rules() -> dict[str, Rule]:
    return dict(load_rules().by_id)


def check(engine: Engine, rule: str) -> list[Finding | NotChecked]:
    context = Context(engine)
    told = rules()[rule].look(context)
    return [with_remedy(one, context) if isinstance(one, Finding) else one for one in told]


def with_remedy(finding: Finding, context: Context) -> Finding:
    """The remedy that fits the engine, as `run_rules` chooses it."""
    return replace(finding, remedy=choose(finding.remedy or finding.rule.remedy, context.platform))


def findings(engine: Engine, rule: str) -> list[Finding]:
    return [one for one in check(engine, rule) if isinstance(one, Finding)]


def weighed(engine: Engine, rule: str) -> list[Finding]:
    """The findings of a rule as the command has them: merged, bounded, with their remedy."""
    result = run_rules(engine, LintConfig(shows_all=True))
    return [one for one in (*result.findings, *result.remarks) if one.rule.id == rule]


def not_checked(engine: Engine, rule: str) -> list[NotChecked]:
    return [one for one in check(engine, rule) if isinstance(one, NotChecked)]


def names(engine: Engine, found: Sequence[Finding]) -> list[str]:
    """Name of the first layer of each finding."""
    return [engine.layers["name"][one.layers[0]] for one in found]


def severity(_: str, finding: Finding) -> FindingSeverity:
    return finding.severity


@lru_cache(maxsize=32)
def real_engine(real_set: str) -> Engine:
    from helpers import REAL_SETS

    chosen: RealSet = next(one for one in REAL_SETS if one.name == real_set)
    return load_engine(chosen.paths())
