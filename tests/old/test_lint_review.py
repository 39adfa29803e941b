"""What expert review of real engines found wrong once: each case again, and what must hold for every engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import ARTIFACTS, write_profile
from trex_tui import load_engine, load_engines
from trex_tui.old.analysis.columns import derived
from trex_tui.old.analysis.compute import uses_tensor_cores
from trex_tui.old.analysis.structure import critical_path
from trex_tui.old.analysis.thresholds import LATENCY_ROOF_PCT, Bound
from trex_tui.old.engine import Engine
from trex_tui.old.lint.config import LintConfig
from trex_tui.old.lint.model import LintResult
from trex_tui.old.lint.run import run
from trex_tui.old.report.views.lint import EngineReport, describe_savings

SETS = (
    "trex/mobilenet-qat-8.4EA",
    "trex/mobilenet-qat-TITANRTX",
    "trex/resnet-A100/fp16",
    "trex/resnet-A100/fp32",
    "trex/resnet-A100/qat",
    "trex/resnet-A100/qat-residual",
    "trex/resnet-A100/qat-residual-qgap",
    "trex/tf-resnet-RTX3090/fp16",
    "trex/tf-resnet-RTX3090/fp32",
    "edge-vision/results/alexnet",
    "edge-vision/results/mobilenet_v2",
    "edge-vision/results/resnet18",
    "torch-trt/alexnet",
    "torch-trt/mobilenet_v2",
    "torch-trt/resnet18",
    "bev-multitask-blackwell",
    "diffusion-controlnet",
)
CONTRADICTIONS = {
    "OK-ACT": ("FUSE001",),
    "OK-ATTN": ("ATTN001", "ATTN002"),
    "OK-FMT": ("FMT005",),
    "OK-LAUNCH": ("LAUNCH001", "LAUNCH002"),
    "OK-MEASURE": ("MEASURE001", "MEASURE003"),
    "OK-QDQ": ("PREC002", "QDQ002", "QDQ003"),
    "OK-RES": ("QDQ003",),
    "OK-STABLE": ("MEASURE002",),
    "OK-TC": ("CONV001", "CONV002", "GEMM001"),
}
"""Praise -> what an engine that deserves it cannot have."""

pytestmark = pytest.mark.usefixtures("artifacts")


def linted(name: str, *rules: str) -> tuple[Engine, LintResult]:
    engine = load_engine(ARTIFACTS / name)
    return engine, run(engine, LintConfig(select=rules) if rules else LintConfig())


@pytest.mark.parametrize("name", SETS)
def test_findings_are_worth_something(name: str) -> None:
    engine, result = linted(name)
    for judged in result.findings:
        assert judged.saving_ms is None or judged.saving_ms > 0
        assert "findings" not in judged.remedy
        assert judged.remedy.strip()
    groups = [
        (judged.rule.id, judged.finding.group, judged.remedy)
        for judged in result.findings
        if judged.finding.group
    ]
    assert len(groups) == len(set(groups)), "one cause, one finding"
    ids = [judged.rule.id for judged in result.findings]
    for praise in result.positives:
        assert not set(CONTRADICTIONS.get(praise.rule.id, ())).intersection(ids), praise.message
    causes = {
        index
        for judged in result.findings
        if not judged.rule.is_symptom
        for index, ms in judged.finding.savings_ms.items()
        if ms > 0
    }
    for judged in result.findings:
        if judged.rule.is_symptom and len(judged.layers) == 1:
            assert judged.layers[0] not in causes
    assert engine.latency_sum_ms is not None


@pytest.mark.parametrize("name", SETS)
def test_layers_are_bound_by_a_roof_that_they_come_near(name: str) -> None:
    points = derived(load_engine(ARTIFACTS / name)).roofline.points.values()
    for point in points:
        if point.bound in (Bound.BANDWIDTH, Bound.COMPUTE):
            assert point.roof_pct is not None
            assert point.roof_pct >= LATENCY_ROOF_PCT


@pytest.mark.parametrize("name", SETS)
def test_milliseconds_and_percent_of_the_headline_are_of_one_sum(name: str) -> None:
    engine, result = linted(name)
    if result.savings.layers_ms is None:
        return
    share = 100 * result.savings.layers_ms / (engine.latency_sum_ms or 1.0)
    assert f"{result.savings.layers_ms:.4f} ms ({share:.2f} % of the layers' time)" in describe_savings(
        EngineReport(engine, result)
    )


@pytest.mark.parametrize(("name", "layers"), [("alexnet", 20), ("mobilenet_v2", 123), ("resnet18", 26)])
def test_samples_of_iprofiler_are_a_profile(name: str, layers: int) -> None:
    """`trt_layer_latency.json`: an object of layers, 100 samples each."""
    engine = load_engine(ARTIFACTS / "torch-trt" / name)
    assert [layer.latency_ms is not None for layer in engine.layers] == [True] * layers
    assert engine.profile_iterations == 100
    alone = load_engine(ARTIFACTS / "torch-trt" / name / "trt_layer_latency.json")
    assert alone.latency_sum_ms == pytest.approx(engine.latency_sum_ms)


def test_activations_that_cast_to_their_own_type_are_epilogues() -> None:
    """The same network by trtexec has them fused, and takes 0.41 ms instead of 0.67."""
    engine, result = linted("torch-trt/mobilenet_v2", "FUSE001")
    clips, sums = result.findings
    assert clips.message.startswith("34 kernels, ")
    assert clips.saving_ms == pytest.approx(0.266 * (engine.latency_sum_ms or 0.0), rel=0.01)
    assert sums.message.startswith("10 kernels, ")
    assert "residual" in sums.remedy
    assert clips.remedy != sums.remedy
    assert linted("edge-vision/results/mobilenet_v2", "FUSE001")[1].findings == ()


@pytest.mark.parametrize("name", ["edge-vision/results/mobilenet_v2", "trex/mobilenet-qat-TITANRTX"])
def test_a_cuda_graph_in_use_is_no_remedy(name: str) -> None:
    (judged,) = linted(name, "LAUNCH001")[1].findings
    assert judged.remedy.startswith("A CUDA graph is already in use")


def test_matrix_vector_products_are_found_without_a_device() -> None:
    """Two thirds of an AlexNet by Torch-TensorRT, whose files state no device."""
    engine, result = linted("torch-trt/alexnet", "GEMM003", "HOT001")
    (judged,) = result.findings
    assert [engine.layers[index].kind.value for index in judged.layers] == ["convolution"] * 3
    assert judged.layer_ms == pytest.approx(0.39, abs=0.01)


def test_a_symptom_is_about_what_no_other_rule_explains() -> None:
    """Of eight slow movers, six are told by PLUG001, FMT006 and QDQ001."""
    engine, result = linted("bev-multitask-blackwell")
    (judged,) = [judged for judged in result.findings if judged.rule.id == "ROOF002"]
    assert [engine.layers[index].name for index in judged.layers] == [
        "__myl_ReshTranReshAddResh_myl8_788",
        "__myl_ReshAddCastMeanSubMulMeanAddSqrtDivMulCastMulAdd_myl8_793",
    ]


@pytest.mark.parametrize(("name", "count"), [("mobilenet-qat-8.4EA", 17), ("mobilenet-qat-TITANRTX", 17)])
def test_depthwise_and_dp4a_kernels_have_a_roof(name: str, count: int) -> None:
    engine = load_engine(ARTIFACTS / "trex" / name)
    points = derived(engine).roofline.points
    depthwise = [layer for layer in engine.layers if layer.layer_type == "CudaDepthwiseConvolution"]
    assert [uses_tensor_cores(layer) for layer in depthwise] == [False] * count
    dp4a = [layer for layer in engine.layers if "int8x4" in (layer.tactic or "")]
    assert dp4a
    for layer in (*depthwise, *dp4a):
        assert points[layer.index].bound is not None
        assert points[layer.index].reasons == ()


def test_the_only_log_of_a_folder_is_opened(tmp_path: Path) -> None:
    source = ARTIFACTS / "logs/trt10.16.1_H100_build_verbose_onnx_fp16_dynshape.log"
    (tmp_path / "x.engine.build.log").write_bytes(source.read_bytes())
    (engine,) = load_engines(tmp_path)
    assert (engine.name, len(engine.layers)) == ("x", 6)


def test_names_alone(tmp_path: Path) -> None:
    """Copies, reformats and softmax by name; nothing that takes tensors is stated as a fact."""
    block = (
        ("Reformatting CopyNode for Input Tensor 0 to MatMul", 0.2),
        ("MatMul_{}a", 1.0),
        ("Softmax_{}", 0.4),
        ("MatMul_{}b", 1.0),
        ("Transpose_{} + Reshape_{}", 0.4),
    )
    rows = [(name.replace("{}", str(number)), ms) for number in range(4) for name, ms in block]
    write_profile(tmp_path / "net.profile.json", rows, count=100)
    engine = load_engine(tmp_path)
    result = run(engine)
    assert {judged.rule.id: judged.layer_ms for judged in result.findings} == {
        "ATTN001": pytest.approx(1.6),
        "FMT005": pytest.approx(2.4),
    }
    assert critical_path(engine) is None
    products = [compute for compute in derived(engine).compute if compute.reason]
    assert len(products) == 8


def test_fp32_won_where_fp16_was_allowed(tmp_path: Path) -> None:
    """The FP32 engine again, from a build with --best: PREC003 has nothing to advise."""
    source = ARTIFACTS / "trex/resnet-A100/fp32"
    assert [judged.rule.id for judged in linted("trex/resnet-A100/fp32", "PREC003")[1].findings] == [
        "PREC003"
    ]
    for path in source.iterdir():
        text = path.read_text(encoding="utf-8")
        if path.name.endswith("build.metadata.json"):
            assert '"Precision": "FP32"' in text
            text = text.replace('"Precision": "FP32"', '"Precision": "FP32+FP16+INT8"')
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    assert run(load_engine(tmp_path), LintConfig(select=("PREC003",))).findings == ()


def test_a_product_of_one_column_by_myelin_is_a_gemm() -> None:
    """`__myl_MulSumAdd`, made of /fc/Gemm, is no reduction: the classifier counts among the products."""
    engine = load_engine(ARTIFACTS / "edge-vision/results/resnet18")
    (classifier,) = [layer for layer in engine.layers if "MulSumAdd" in layer.name]
    assert (classifier.kind.value, derived(engine).compute[classifier.index].macs) == ("gemm", 512 * 1000)


def test_a_transpose_at_the_input_is_no_conversion_to_the_same_type():
    """The model begins with a transpose: both ends have the same type and layout."""
    _, result = linted("trex/tf-resnet-RTX3090/fp16", "FMT004")
    texts = [judged.finding.message for judged in result.findings]
    assert any("transposes a network input, FP32 NCHW:" in text for text in texts)
    assert not any("FP32 NCHW → FP32 NCHW" in text for text in texts)
