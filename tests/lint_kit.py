"""Small engines that trigger rules, and near misses, built from files as trtexec writes them; rules of their own."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from helpers import REAL_SETS, chain, layer, tensor, timing_row, write_graph, write_json, write_profile
from trex_tui.api import load_engine
from trex_tui.artifacts.kinds import FileKind
from trex_tui.engine.model import Engine
from trex_tui.lint import rules as known_rules
from trex_tui.lint import run as running
from trex_tui.lint.config import LintConfig
from trex_tui.lint.context import Context
from trex_tui.lint.remedies import choose
from trex_tui.lint.rule import WARNING, Finding, FindingSeverity, NotChecked, Rule
from trex_tui.lint.rules import RuleSet, collect, load_rules
from trex_tui.lint.run import run_rules
from trex_tui.report.views import lint as view

RULES: Mapping[str, Rule] = load_rules().by_id
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

# 10 SMs at 1 GHz and 100 GB/s: FP16 on tensor cores reaches 10.24 TFLOP/s.
DEVICE = {
    "Selected Device": "NVIDIA A10",
    "Compute Capability": 8.6,
    "SMs": 10,
    "Compute Clock Rate": 1.0,
    "Memory Bus Width": "256 bits",
    "Memory Clock Rate": "1.5625 GHz",
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
NHWC8, LINEAR = HWC8, LINEAR16
TENSOR_CORES = (
    "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize64x64x64_stage4_tensor16x8x16"
)
CUDA_CORES = CUDA16

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
    place: Path | None = None,
) -> Engine:
    """An engine of these layers; `times` go to the layers in order (None: no row), `profile` names its rows itself."""
    if times is not None:
        assert layers is not None
        assert len(times) == len(layers)
        profile = [(raw["Name"], time) for raw, time in zip(layers, times, strict=True) if time is not None]
    place = place or Path(tempfile.mkdtemp(dir=_FOLDERS.name))  # logs are read when a rule asks
    if layers is not None:
        listed = [raw["Name"] for raw in layers] if names_only else layers
        write_graph(place / "net.graph.json", listed, bindings)
    if profile is not None:
        path = write_profile(place / "net.profile.json", profile, iterations or 1)
        if iterations is None:
            path.write_text(path.read_text().replace('{ "count" : 1 }\n,', "", 1))
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


def engine_in(
    folder: Path,
    layers: Sequence[dict[str, Any]],
    times: Sequence[float] | None = None,
    *,
    bindings: Sequence[str] = (),
    device: dict[str, Any] | None = A100,
    precision: str | None = None,
) -> Engine:
    """An engine of these layers in a folder of the test.

    What is read, never written, and not called weights, is an input of the network, beside the `bindings`.
    """
    written = {output["Name"] for raw in layers for output in raw["Outputs"]}
    read = [entry["Name"] for raw in layers for entry in raw["Inputs"]]
    inputs = [name for name in read if name not in written and not name.endswith("weights")]
    return engine_of(
        layers,
        list(dict.fromkeys([*inputs, *bindings])),
        times=times,
        iterations=100,
        device=device,
        build=None if precision is None else {"Precision": precision},
        place=folder,
    )


def timed_engine(folder: Path, *times: float | None, names: Sequence[str] = ()) -> Engine:
    """A chain of layers with these times; without any time, there is no profile."""
    names = names or [f"layer{place}" for place in range(len(times))]
    write_graph(folder / "net.graph.json", chain(*names), ["t0", f"t{len(names)}"])
    known = [(name, ms) for name, ms in zip(names, times, strict=True) if ms is not None]
    total = sum(ms for _, ms in known) or 1.0
    rows = [
        {"name": name, "timeMs": ms * 10, "averageMs": ms, "percentage": 100.0 * ms / total}
        for name, ms in known
    ]
    if rows:
        write_json(folder / "net.profile.json", [{"count": 10}, *rows])
    return load_engine(folder)


def queries(latencies: Sequence[float], **more: float) -> list[dict[str, float]]:
    """Rows of a timing run behind the warm-up."""
    return [timing_row(300.0 + 2.0 * place, one) | more for place, one in enumerate(latencies)]


def with_remedy(finding: Finding, context: Context) -> Finding:
    """The remedy that fits the engine, as `run_rules` chooses it."""
    return replace(finding, remedy=choose(finding.remedy or finding.rule.remedy, context.platform))


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


def weighed(engine: Engine, rule: str) -> list[Finding]:
    """The findings of a rule as the command has them: merged, bounded, with their remedy."""
    result = run_rules(engine, LintConfig(shows_all=True))
    return [one for one in (*result.findings, *result.remarks) if one.rule.id == rule]


def findings(engine: Engine, rule: str) -> list[Finding]:
    return check(rule, engine)[0]


def not_checked(engine: Engine, rule: str) -> list[NotChecked]:
    return check(rule, engine)[1]


def names(engine: Engine, found: Sequence[Finding]) -> list[str]:
    """Name of the first layer of each finding."""
    return [engine.layers["name"][one.layers[0]] for one in found]


def severity(_: str, finding: Finding) -> FindingSeverity:
    return finding.severity


@lru_cache(maxsize=32)
def real_engine(real_set: str) -> Engine:
    return load_engine(next(real for real in REAL_SETS if real.name == real_set).paths())


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


def product(
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


def copy_of(name: str, source: str, target: str, dtypes: Sequence[str], **more: Any) -> dict[str, Any]:
    origin = more.pop("origin", "REFORMAT")
    return step(name, "Reformat", source, target, dtypes, ParameterType="Reformat", Origin=origin, **more)


def fused(
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


HOSTILE = 'evil \x1b[31m|x| <b>&"q"\n::error::x%0A\u202e` [a](http://x) @all ]]>'
"""A layer's name with something for every format to trip over."""


def rule(
    rule_id: str,
    *said: Finding | NotChecked,
    severity: FindingSeverity = WARNING,
    check: Callable[[Context], Iterable[Finding | NotChecked]] | None = None,
    **more: Any,
) -> Rule:
    """A rule that says the same of every engine, or what `check` says."""
    words = {
        "title": f"Title of {rule_id}",
        "looks_for": "Something.",
        "why": "It costs time.",
        "remedy": f"Mend {rule_id}.",
        "references": ("A document: https://example.com/a",),
        "columns": (),
    }
    return Rule(id=rule_id, severity=severity, check=check or (lambda _: said), **{**words, **more})


def rule_set(*rules: Rule) -> RuleSet:
    """These rules in the order of the ids, as an installation has them."""
    return collect(rules)


@pytest.fixture
def use_rules(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Call it with rules, and there are no others."""

    def use(*rules: Rule) -> None:
        for module in (known_rules, running, view):
            monkeypatch.setattr(module, "load_rules", lambda: rule_set(*rules))

    return use
