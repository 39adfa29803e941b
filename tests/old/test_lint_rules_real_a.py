"""Convolution, GEMM, precision, quantization and format rules on the real sets, beside trex's own findings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lint_engines_a import check, findings, names_only, not_checked, real_engine, rules

from helpers import REAL_SETS, RealSet, real_sets
from trex_tui.old.analysis.columns import ALL_COLUMNS_BY_NAME
from trex_tui.old.analysis.compute import is_depthwise
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.lint.islands import find_islands
from trex_tui.old.lint.model import Finding, NotChecked

# Findings by rule and set. Where the prototypes of the catalogue of candidate rules had other numbers, the reason is below.
COUNTS: dict[str, dict[str, int]] = {
    "alexnet_fp16": {"FMT004": 1, "GEMM003": 3},
    "resnet18_fp16": {"FMT004": 1},
    "resnet-A100/fp16/resnet": {"CONV004": 1, "FMT004": 2, "FMT005": 1},
    "resnet-A100/fp32/resnet": {"PREC003": 1},
    "resnet-qat": {
        "FMT005": 1,
        "PREC002": 1,
        "QDQ001": 1,
    },
    "tf-resnet-RTX3090/fp16/resnet": {"FMT001": 2, "FMT004": 1},
    "tf-resnet-RTX3090/fp32/resnet": {"FMT004": 1, "GEMM004": 2, "PREC003": 1},
    "mobilenet-qat-TITANRTX/mobilenet.qat": {
        "CONV003": 6,
        "FMT005": 1,
        "GEMM004": 3,
        "GEMM005": 5,
        "PREC002": 2,
        "QDQ001": 1,
    },
    "mobilenet-qat-8.4EA/mobilenet.qat": {
        "CONV001": 6,
        "CONV003": 3,
        "FMT005": 1,
        "GEMM004": 2,
        "GEMM005": 2,
        "PREC002": 2,
        "QDQ001": 1,
    },
    "tofp16": {
        "FMT004": 2,
        "FMT005": 1,
        "FMT006": 15,
        "GEMM002": 8,
        "GEMM005": 2,
        "QDQ001": 1,
        "QDQ003": 15,
        "QDQ004": 1,
    },
    "diffusion-controlnet": {"FMT001": 8, "FMT004": 9, "FMT005": 1},
    "torch_trt-resnet18": {"FMT004": 1},
    "vgg16": {"FMT004": 1},
}
ISLANDS = "the value is one floating-point island: PREC002 tells all of its kernels"
# (rule, set): prototype's number and the reason why ours differs.
OTHERWISE: dict[tuple[str, str], tuple[int, str]] = {
    ("CONV002", "trt10.16.1_exportLayerInfo_noContext"): (
        1,
        "no file of the set states the device: not checked",
    ),
    ("CONV003", "mobilenet-qat-8.4EA/mobilenet.qat"): (
        6,
        "three run on DP4A, which takes 4 channels: CONV001",
    ),
    ("CONV004", "torch_trt-resnet18"): (1, "without times no layer is expensive: not checked"),
    ("CONV004", "alexnet_fp16"): (1, "on tensor cores, less than 10 % of the time"),
    ("CONV004", "resnet18_fp16"): (1, "on tensor cores, less than 10 % of the time"),
    ("CONV004", "tf-resnet-RTX3090/fp16/resnet"): (1, "on tensor cores, less than 10 % of the time"),
    ("CONV004", "resnet-A100/fp32/resnet"): (1, "all is FP32: PREC003"),
    ("CONV004", "tf-resnet-RTX3090/fp32/resnet"): (1, "all is FP32: PREC003"),
    ("CONV004", "resnet-qat"): (1, ISLANDS),
    ("CONV004", "vgg16"): (1, "without times no layer is expensive: not checked"),
    ("CONV004", "trt10.16.1_exportLayerInfo_noContext"): (1, "without times: not checked"),
    ("GEMM002", "tofp16"): (15, "60 layers of 15 shapes, of which 7 take less than 0.05 % of the time"),
    ("GEMM003", "mobilenet-qat-TITANRTX/mobilenet.qat"): (
        1,
        "reads its weights at a fifth of the bandwidth: they are not the bound",
    ),
    ("GEMM003", "mobilenet-qat-8.4EA/mobilenet.qat"): (
        1,
        "reads its weights at a fifth of the bandwidth: they are not the bound",
    ),
    ("GEMM004", "tf-resnet-RTX3090/fp32/resnet"): (
        12,
        "6 layers in 2 shapes; the other 6 are Winograd kernels",
    ),
    ("GEMM004", "mobilenet-qat-TITANRTX/mobilenet.qat"): (3, "3 layers in 2 shapes, and the half-empty GPU"),
    ("GEMM004", "mobilenet-qat-8.4EA/mobilenet.qat"): (2, "2 layers in 1 shape, and the half-empty GPU"),
    ("GEMM005", "mobilenet-qat-TITANRTX/mobilenet.qat"): (6, "6 layers of 5 shapes"),
    ("GEMM005", "tofp16"): (
        17,
        "12 layers of 2 shapes; of 5 convolutions the file does not tell the kernel's size",
    ),
    ("GEMM005", "diffusion-controlnet"): (1, "a product with one row, which is bound by its weights"),
    ("GEMM005", "vgg16"): (1, "a product with one row, which is bound by its weights"),
    ("PREC001", "tf-resnet-RTX3090/fp16/resnet"): (1, "a transpose of the network's input: FMT004"),
    ("PREC001", "resnet-qat"): (1, "an island between quantized layers: PREC002 tells it"),
    ("PREC001", "mobilenet-qat-8.4EA/mobilenet.qat"): (1, "an island: PREC002 tells it"),
    ("PREC003", "trt10.16.1_exportLayerInfo_noContext"): (
        1,
        "no file of the set states the device: not checked",
    ),
    ("PREC002", "resnet-qat"): (2, ISLANDS),
    ("QDQ001", "resnet-qat"): (10, ISLANDS),
    ("QDQ002", "resnet-qat"): (12, ISLANDS),
    ("QDQ003", "resnet-qat"): (8, ISLANDS),
    ("FMT001", "resnet-qat"): (1, ISLANDS),
    ("PREC002", "mobilenet-qat-TITANRTX/mobilenet.qat"): (1, ISLANDS),
    ("QDQ001", "mobilenet-qat-TITANRTX/mobilenet.qat"): (17, ISLANDS),
    ("QDQ002", "mobilenet-qat-TITANRTX/mobilenet.qat"): (16, ISLANDS),
    ("QDQ003", "mobilenet-qat-TITANRTX/mobilenet.qat"): (10, ISLANDS),
    ("PREC002", "mobilenet-qat-8.4EA/mobilenet.qat"): (1, ISLANDS),
    ("QDQ001", "mobilenet-qat-8.4EA/mobilenet.qat"): (17, ISLANDS),
    ("QDQ002", "mobilenet-qat-8.4EA/mobilenet.qat"): (16, ISLANDS),
    ("QDQ003", "mobilenet-qat-8.4EA/mobilenet.qat"): (10, ISLANDS),
    ("FMT001", "mobilenet-qat-8.4EA/mobilenet.qat"): (1, ISLANDS),
    ("FMT001", "diffusion-controlnet"): (
        15,
        "a cast from INT32 behind a NoOp at a network input: FMT004; six around plugins: FUSE004",
    ),
    ("FMT002", "diffusion-controlnet"): (26, "all around normalization plugins: FUSE004"),
    ("FMT006", "tofp16"): (22, "seven next to plugins: PLUG001"),
    ("FMT003", "resnet-A100/fp16/resnet"): (1, "at the network's edge: FMT004"),
    ("FMT003", "resnet-qat"): (1, "twice the shortest layer: every kernel costs that"),
    ("FMT003", "mobilenet-qat-TITANRTX/mobilenet.qat"): (1, "twice the shortest layer"),
    ("FMT003", "mobilenet-qat-8.4EA/mobilenet.qat"): (
        2,
        "twice the shortest layer, or converts the type: FMT001",
    ),
    ("FMT003", "diffusion-controlnet"): (
        7,
        "there for a plugin (FUSE004), or a slice that keeps its layout",
    ),
    ("FMT004", "tofp16"): (5, "two casts that change nothing: FMT006; the Q of an input: QDQ001"),
    ("FMT004", "diffusion-controlnet"): (
        15,
        "seven outputs of less than 0.05 %, a cast of an index input counts",
    ),
    ("FMT004", "torch_trt-resnet18"): (0, "told without a profile too"),
    ("FMT004", "vgg16"): (0, "told without a profile too"),
}
CATALOGUE: dict[str, dict[str, int]] = {
    "alexnet_fp16": {"CONV004": 1, "GEMM003": 3, "FMT004": 1},
    "resnet18_fp16": {"CONV004": 1, "FMT004": 1},
    "resnet-A100/fp16/resnet": {"CONV004": 1, "FMT003": 1, "FMT004": 2, "FMT005": 1},
    "resnet-A100/fp32/resnet": {"CONV004": 1, "PREC003": 1},
    "resnet-qat": {
        "CONV004": 1,
        "PREC001": 1,
        "PREC002": 2,
        "QDQ001": 10,
        "QDQ002": 12,
        "QDQ003": 8,
        "FMT001": 1,
        "FMT003": 1,
        "FMT005": 1,
    },
    "tf-resnet-RTX3090/fp16/resnet": {"CONV004": 1, "PREC001": 1, "FMT001": 2, "FMT004": 1},
    "tf-resnet-RTX3090/fp32/resnet": {"CONV004": 1, "GEMM004": 12, "PREC003": 1, "FMT004": 1},
    "mobilenet-qat-TITANRTX/mobilenet.qat": {
        "CONV003": 6,
        "GEMM003": 1,
        "GEMM004": 3,
        "GEMM005": 6,
        "PREC002": 1,
        "QDQ001": 17,
        "QDQ002": 16,
        "QDQ003": 10,
        "FMT003": 1,
        "FMT005": 1,
    },
    "mobilenet-qat-8.4EA/mobilenet.qat": {
        "CONV001": 6,
        "CONV003": 6,
        "GEMM003": 1,
        "GEMM004": 2,
        "GEMM005": 2,
        "PREC001": 1,
        "PREC002": 1,
        "QDQ001": 17,
        "QDQ002": 16,
        "QDQ003": 10,
        "FMT001": 1,
        "FMT003": 2,
        "FMT005": 1,
    },
    "tofp16": {
        "GEMM002": 15,
        "GEMM005": 17,
        "QDQ001": 1,
        "QDQ003": 15,
        "QDQ004": 1,
        "FMT004": 5,
        "FMT005": 1,
        "FMT006": 22,
    },
    "diffusion-controlnet": {
        "GEMM005": 1,
        "FMT001": 15,
        "FMT002": 26,
        "FMT003": 7,
        "FMT004": 15,
        "FMT005": 1,
    },
    "torch_trt-resnet18": {"CONV004": 1},
    "vgg16": {"CONV004": 1, "GEMM005": 1},
    "trt10.16.1_exportLayerInfo_noContext": {"CONV002": 1, "CONV004": 1, "PREC003": 1},
}


@pytest.mark.parametrize("real_set", real_sets(every=True))
def test_findings_of_every_set(real_set: RealSet) -> None:
    engine = real_engine(real_set.name)
    counts = {rule: len(found) for rule in rules() if (found := findings(engine, rule))}
    assert counts == COUNTS.get(real_set.name, {})


def test_every_difference_from_the_catalogue_has_its_reason() -> None:
    different = {
        (rule, real_set.name)
        for real_set in REAL_SETS
        for rule in rules()
        if COUNTS.get(real_set.name, {}).get(rule, 0) != CATALOGUE.get(real_set.name, {}).get(rule, 0)
    }
    assert different <= set(OTHERWISE)
    for (rule, name), (theirs, reason) in OTHERWISE.items():
        assert CATALOGUE.get(name, {}).get(rule, 0) == theirs
        assert reason


@pytest.mark.parametrize("real_set", real_sets(every=True))
def test_findings_hold_together(real_set: RealSet) -> None:
    engine = real_engine(real_set.name)
    for rule in rules():
        for one in check(engine, rule):
            assert one.rule == rule
            if isinstance(one, NotChecked):
                assert one.reason
                assert one.layers is None or one.layers > 0
            else:
                assert_sound(engine, one)


def assert_sound(engine: Engine, one: Finding) -> None:
    assert one.message.endswith(".")
    assert list(one.layers) == sorted(set(one.layers))
    assert one.evidence
    assert all(evidence.value is not None for evidence in one.evidence[:1])
    assert set(one.savings_ms) <= set(one.layers)
    for index, saving in one.savings_ms.items():
        assert 0 <= saving <= (engine.layers[index].latency_ms or 0.0)
    assert not one.savings_ms or one.formula
    assert engine.has_profile or not one.savings_ms


def test_the_same_twice(artifacts: Path) -> None:
    assert artifacts.is_dir()
    engine = real_engine("mobilenet-qat-8.4EA/mobilenet.qat")
    assert [check(engine, rule) for rule in rules()] == [check(engine, rule) for rule in rules()]


@pytest.mark.parametrize("rule", list(rules()))
def test_an_engine_of_names_is_not_checked(rule: str, tmp_path: Path) -> None:
    engine = names_only(tmp_path)
    assert findings(engine, rule) == []
    (one,) = not_checked(engine, rule)
    assert one.layers is None
    assert "--" in one.reason, "says how to get it"


@pytest.mark.parametrize("rule", rules().values(), ids=lambda rule: rule.id)
def test_rules_are_documented(rule: Any) -> None:
    for text in (rule.title, rule.looks_for, rule.why, rule.remedy):
        assert text.strip() == text
        assert text
    assert not rule.title.endswith(".")
    assert all(text.endswith(".") for text in (rule.looks_for, rule.why, rule.remedy))
    assert all("https://" in reference for reference in rule.references)
    assert rule.references
    assert [name for name in rule.columns if name not in ALL_COLUMNS_BY_NAME] == []


# trex's own linters


class Trex:
    """Names of the layers that trex's linters flag, by linter."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self.by_linter = {linter: [row["name"] for row in rows] for linter, rows in entry["lint"].items()}

    def names(self, *linters: str) -> set[str]:
        return {name for linter in linters for name in self.by_linter[linter]}


def told(engine: Engine, *wanted: str) -> set[str]:
    """Names of all layers in findings of these rules."""
    return {
        engine.layers[index].name for rule in wanted for one in findings(engine, rule) for index in one.layers
    }


def first_layers(engine: Engine, *wanted: str) -> set[str]:
    return {engine.layers[one.layers[0]].name for rule in wanted for one in findings(engine, rule)}


TREX_SETS = {
    "resnet-A100/fp16/resnet": "trex/resnet-A100/fp16/resnet.onnx.engine",
    "resnet-A100/fp32/resnet": "trex/resnet-A100/fp32/resnet.onnx.engine",
    "resnet-qat": "trex/resnet-A100/qat/resnet-qat.onnx.engine",
    "tf-resnet-RTX3090/fp16/resnet": "trex/tf-resnet-RTX3090/fp16/resnet.onnx.engine",
    "tf-resnet-RTX3090/fp32/resnet": "trex/tf-resnet-RTX3090/fp32/resnet.onnx.engine",
    "mobilenet-qat-TITANRTX/mobilenet.qat": "trex/mobilenet-qat-TITANRTX/mobilenet.qat.onnx.engine",
}


@pytest.fixture(params=TREX_SETS)
def pair(
    request: pytest.FixtureRequest, trex_reference: dict[str, Any], artifacts: Path
) -> tuple[Engine, Trex]:
    assert artifacts.is_dir()
    key = TREX_SETS[request.param]
    if key not in trex_reference:
        pytest.skip(f"no reference for {key}")
    return real_engine(request.param), Trex(trex_reference[key])


def layers_named(engine: Engine, names: set[str]) -> list[Any]:
    return [layer for layer in engine.layers if layer.name in names]


def test_trex_tensor_cores(pair: tuple[Engine, Trex]) -> None:
    """Of what trex calls not accelerated, we tell what is: the rest runs on tensor cores, or has no business there."""
    engine, trex = pair
    from trex_tui.old.lint.context import Context

    context = Context(engine)
    ours, theirs = told(engine, "CONV001"), trex.names("ConvLinter.tc_lint")
    for layer in layers_named(engine, theirs - ours):
        tactic = context.tactic(layer)
        on_tensor_cores = tactic is not None and tactic.tensor_cores is True  # h16816, h1688
        unknown = (
            tactic is None or tactic.tensor_cores is None
        )  # `TensorRT`: told as not checked, or depthwise
        first = (context.channels(layer) or 0) <= 4  # CONV004
        assert on_tensor_cores or unknown or first or is_depthwise(layer), layer.name
    assert ours <= theirs


def test_trex_float_results(pair: tuple[Engine, Trex]) -> None:
    """All of trex's, but for the last layer; most are the writers of floating-point islands."""
    engine, trex = pair
    writers = {layer.name for island in find_islands(engine) for layer in island.writers}
    ours = first_layers(engine, "QDQ002", "QDQ003") | writers
    theirs = trex.names("ConvLinter.mixed_precision_lint")
    last = {layer.name for layer in engine.layers if layer.kind is LayerKind.CONVOLUTION}
    assert ours <= theirs
    rest = theirs - ours
    assert len(rest) <= 1
    assert rest <= last
    assert all(not findings_behind(engine, name) for name in rest)


def findings_behind(engine: Engine, name: str) -> bool:
    """Whether any working layer reads what the named layer writes."""
    (layer,) = layers_named(engine, {name})
    return any(engine.layers[link.target].kind.is_work for link in engine.consumers(layer))


def test_trex_alignment(pair: tuple[Engine, Trex]) -> None:
    """trex blames first layers of 1 to 4 channels and the 1000 classes of a head: 2 % padding or none.

    It takes multiples of 16 as enough for INT8, where kernels for layouts of 32 channels compute 32.
    """
    engine, trex = pair
    ours, theirs = told(engine, "CONV003"), trex.names("ConvLinter.alignment_lint")
    for layer in layers_named(engine, theirs - ours):
        channels, maps = layer.inputs[0].shape[1], layer.outputs[0].shape[1]
        assert channels <= 4 or maps == 1000, layer.name
    for layer in layers_named(engine, ours - theirs):
        assert layer.inputs[0].format.vector == 32, layer.name
        assert layer.inputs[0].shape[1] % 32 == 16 or layer.outputs[0].shape[1] % 32 == 16, layer.name


def test_trex_conversions(pair: tuple[Engine, Trex]) -> None:
    """Every conversion that trex tells, we tell: as Q or DQ, as conversion, or as one at the network's edge."""
    engine, trex = pair
    conversions = {layer.name for island in find_islands(engine) for layer in island.conversions}
    ours = told(engine, "QDQ001", "FMT001", "FMT004") | conversions
    theirs = trex.names("ReformatLinter.lint", "SliceLinter.lint", "QDQLinter.lint")
    assert theirs <= ours
    for layer in layers_named(engine, ours - theirs):
        # The edge counts for us even where only the layout changes.
        assert layer.inputs[0].dtype == layer.outputs[0].dtype, layer.name


def test_needs_no_heavy_library() -> None:
    code = (
        "import sys, importlib, pkgutil, trex_tui.old.lint.rules as rules\n"
        "for one in pkgutil.iter_modules(rules.__path__): importlib.import_module(f'{rules.__name__}.{one.name}')\n"
        "print(*sorted({'pandas', 'networkx', 'textual', 'rich', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
