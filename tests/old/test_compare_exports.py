"""One network out of two exporters: prefixes, wrappers, numbers and strides differ, the operations do not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import test_compare_real_pairs as real_pairs
from test_compare_real_pairs import Roles
from transformer import write_transformer

from helpers import ARTIFACTS, plain_json, write_json
from trex_tui.old.analysis.compare import Align, Block, CautionKind, Comparison, compare
from trex_tui.old.engine.engine import Engine, load_engine

Respell = Callable[[str], str]

_NAMES_ONLY = {
    "mobilenet_v2": "edge-vision/results/mobilenet_v2/mobilenet_v2_fp16.graph.json",
    "resnet18": "edge-vision/results/resnet18/resnet18_fp16.graph.json",
    "alexnet": "edge-vision/results/alexnet/alexnet_fp16.graph.json",
}
_QAT = ("resnet-A100/qat/resnet-qat", "resnet-A100/qat-residual/resnet-qat-residual")


def _names_only(folder: Path, network: str, respell: Respell) -> Engine:
    """The engine as trtexec exports it without detailed verbosity: a list of names."""
    raw = plain_json(ARTIFACTS / _NAMES_ONLY[network])
    names = [respell(layer["Name"]) for layer in raw["Layers"]]
    write_json(folder / "net.graph.json", {"Layers": names, "Bindings": raw["Bindings"]})
    return load_engine(folder)


def _with_prefix(prefix: str) -> Respell:
    """Before every path, and before every weight."""

    def respell(name: str) -> str:
        name = re.sub(r"(?<![\w\].)])/(?=\w)", f"/{prefix}/", name)
        return re.sub(r"(?<![\w./])((?:features|classifier|fc)\.[\w.]+)", rf"{prefix}.\1", name)

    return respell


def _as_quantized_export(name: str) -> str:
    """`/layer1/layer1.0/conv1/Conv` as the export of a quantised model spells it."""
    name = re.sub(r"/layer(\d)/layer\d\.(\d)/", r"/layer\1/\2/", name)
    name = re.sub(r"/downsample/downsample\.(\d)/", r"/downsample/\1/", name)
    return _with_prefix("wrapper")(name)


@pytest.mark.parametrize("prefix", ["wrapper", "module", "_orig_mod", "model/model", "quant_model"])
@pytest.mark.parametrize("network", _NAMES_ONLY)
def test_a_prefix_in_one_export_costs_no_match(
    network: str, prefix: str, artifacts: Path, tmp_path: Path
) -> None:
    assert artifacts.is_dir()
    plain = _names_only(tmp_path / "plain", network, str)
    wrapped = _names_only(tmp_path / "wrapped", network, _with_prefix(prefix))
    for engines in ((plain, wrapped), (wrapped, plain)):
        comparison = compare(engines)
        assert [block.layers for block in comparison.blocks] == [
            ((index,), (index,)) for index in range(len(plain.layers))
        ]
        assert not [caution for caution in comparison.cautions if caution.kind is CautionKind.MODEL]


def test_a_prefix_and_modules_spelled_otherwise_cost_no_match(artifacts: Path, tmp_path: Path) -> None:
    assert artifacts.is_dir()
    plain = _names_only(tmp_path / "plain", "resnet18", str)
    other = _names_only(tmp_path / "other", "resnet18", _as_quantized_export)
    assert other.layers[4].name.startswith("/wrapper/layer1/0/conv2/Conv + /wrapper/layer1/0/Add")
    assert all(block.shape == "1:1" for block in compare([plain, other]).blocks)


def test_names_without_any_relation_are_no_proof_of_another_model(artifacts: Path, tmp_path: Path) -> None:
    assert artifacts.is_dir()
    plain = _names_only(tmp_path / "plain", "mobilenet_v2", str)
    other = _names_only(
        tmp_path / "other", "mobilenet_v2", lambda name: re.sub(r"[\w.]*features[\w./]*/", "/x/", name)
    )
    comparison = compare([plain, other])
    (caution,) = [found for found in comparison.cautions if found.kind is CautionKind.MODEL]
    assert "few names match" in caution.text
    assert "--rename" in caution.text
    assert comparison.differences[1] is not None
    assert comparison.differences[1].related


@pytest.mark.parametrize("detailed", [True, False])
@pytest.mark.parametrize("networks", list(combinations(_NAMES_ONLY, 2)))
def test_networks_that_differ_are_said_to(
    networks: tuple[str, str], detailed: bool, artifacts: Path, tmp_path: Path
) -> None:
    assert artifacts.is_dir()
    engines = [
        load_engine((ARTIFACTS / _NAMES_ONLY[network]).parent)
        if detailed
        else _names_only(tmp_path / network, network, str)
        for network in networks
    ]
    comparison = compare(engines)
    assert comparison.cautions[0].kind is CautionKind.MODEL
    assert "different models" in comparison.cautions[0].text


def _renumbered(folder: Path, source: str, shift: int) -> Engine:
    """A QAT engine whose export began to count its nodes later."""
    raw = plain_json(ARTIFACTS / f"trex/{source}.onnx.engine.graph.json")
    text = re.sub(
        r"((?:Linear|Conv|Add|Relu|Gemm|Pool)_)(\d+)",
        lambda node: f"{node[1]}{int(node[2]) + shift}",
        json.dumps(raw),
    )
    write_json(folder / "net.graph.json", json.loads(text))
    return load_engine(folder)


@pytest.mark.parametrize("shift", [3, 5, 12, 13, 25])
@pytest.mark.parametrize("source", _QAT)
def test_nodes_counted_from_another_number_match_nothing_else(
    source: str, shift: int, artifacts: Path, tmp_path: Path
) -> None:
    assert artifacts.is_dir()
    engine = _renumbered(tmp_path / "plain", source, 0)
    comparison = compare([engine, _renumbered(tmp_path / "shifted", source, shift)])
    wrong = [
        block
        for block in comparison.blocks
        if block.layers[1] and block.layers[0] not in ((), block.layers[1])
    ]
    assert not wrong
    assert sum(block.shape == "1:1" for block in comparison.blocks) >= 0.95 * len(engine.layers)


@pytest.mark.parametrize("gone", range(12))
def test_stated_nodes_overrule_generated_names(gone: int, tmp_path: Path) -> None:
    """Myelin counts kernels: with one of twelve equal blocks gone, its names are those of the block after."""
    whole, ours = write_transformer(tmp_path / "whole", range(12))
    part, theirs = write_transformer(tmp_path / "part", [block for block in range(12) if block != gone])
    comparison = compare([whole, part])
    for block in comparison.blocks:
        assert {ours[layer] for layer in block.layers[0]} >= {theirs[layer] for layer in block.layers[1]}
    assert comparison.sides[1].matched_layers == len(part.layers)


@pytest.mark.parametrize("gone", [0, 5, 11])
def test_equal_blocks_without_names_are_matched_in_order_and_little_is_claimed(
    gone: int, tmp_path: Path
) -> None:
    whole, _ = write_transformer(tmp_path / "whole", range(12), names="a", stated=False)
    blocks = [block for block in range(12) if block != gone]
    part, theirs = write_transformer(tmp_path / "part", blocks, names="b", stated=False)
    comparison = compare([whole, part])
    assert comparison.differences[1] is not None
    assert comparison.differences[1].related
    assert comparison.sides[1].matched_layers == len(part.layers)
    assert all(block.confidence <= 0.6 for block in comparison.blocks)
    places = [
        (layer % 9, theirs[other][1])
        for block in comparison.blocks
        for layer in block.layers[0]
        for other in block.layers[1]
    ]
    assert all(ours == other for ours, other in places)


def _torch_resnet50(folder: Path) -> tuple[Engine, Roles]:
    """The ResNet-50 of TensorFlow as PyTorch has it: other names, and the stride in the second convolution of a block."""
    raw = plain_json(ARTIFACTS / "trex/tf-resnet-RTX3090/fp16/resnet.onnx.engine.graph.json")
    roles: Roles = {}
    for index, layer in enumerate(raw["Layers"]):
        name = layer["Name"]
        layer["Name"] = re.sub(r"resnet50/conv(\d)_block(\d)_(\w+)", r"/stage\1/\2/op\3", name)
        if name.startswith("Reformatting") or "CaskConvolution" not in layer["LayerType"]:
            continue
        block = re.search(r"conv(\d)_block(\d)_(\d)_conv", name)
        roles[
            f"conv{block[1]}.{block[2]}.{block[3]}"
            if block
            else "conv1"
            if "conv1" in name
            else "predictions"
        ] = index
        if block and block[1] in "345" and block[2] == "1" and block[3] in "12":
            layer["Stride"] = [1, 1] if block[3] == "1" else [2, 2]
            _double(layer["Outputs" if block[3] == "1" else "Inputs"][0])
    write_json(folder / "net.graph.json", raw)
    return load_engine(folder), roles


def _double(tensor: dict[str, Any]) -> None:
    tensor["Dimensions"][2:] = [2 * extent for extent in tensor["Dimensions"][2:]]


@pytest.mark.parametrize("align", [Align.AUTO, Align.SIGNATURE])
def test_a_stride_that_moved_within_its_block_is_found_by_what_lies_around(
    align: Align, artifacts: Path, tmp_path: Path
) -> None:
    assert artifacts.is_dir()
    other, theirs = _torch_resnet50(tmp_path)
    engine = real_pairs.load(real_pairs.TF_FP16)
    comparison = compare([engine, other], align=align)
    found = real_pairs.outcomes(comparison, real_pairs.tf_resnet50(engine), theirs)
    assert len(found) == 54
    assert [role for role, (outcome, _) in found.items() if outcome in ("wrong", "merged")] == []
    assert [role for role, (outcome, _) in found.items() if outcome == "alone"] == []


def _block_of(comparison: Comparison, engine: int, start: str) -> Block:
    layer = next(
        layer
        for layer in comparison.engines[engine].layers
        if layer.name.startswith(start) and layer.kind.multiplies
    )
    return comparison.find_block(engine, layer.index)


def test_a_pooling_fused_into_a_convolution_without_common_names_is_one_block(artifacts: Path) -> None:
    """FP32 runs conv1 and its pooling apart, the residual QAT engine as one layer of which only the weight is named."""
    assert artifacts.is_dir()
    comparison = compare([real_pairs.load(real_pairs.FP32), real_pairs.load(real_pairs.RESIDUAL)])
    block = _block_of(comparison, 1, "conv1.weight")
    names = [
        [comparison.engines[engine].layers[index].name for index in block.layers[engine]] for engine in (0, 1)
    ]
    assert names[0] == ["Conv_0 + Relu_1", "MaxPool_2"]
    assert len(names[1]) == 1
    assert "2 to 1" in block.why


def test_weights_tell_apart_what_shares_a_number(artifacts: Path) -> None:
    """`QuantizeLinear_240` is in layer4.1.conv2 of one export and in layer4.0.conv2 of the next."""
    assert artifacts.is_dir()
    comparison = compare([real_pairs.load(real_pairs.QAT), real_pairs.load(real_pairs.RESIDUAL)])
    for module in ("layer4.0.conv2", "layer4.1.conv2"):
        block = _block_of(comparison, 0, f"{module}.weight")
        assert block.shape == "1:1"
        assert comparison.engines[1].layers[block.layers[1][0]].name.startswith(f"{module}.weight")


def test_an_engine_without_modules_is_lent_those_of_the_other(artifacts: Path) -> None:
    """FP16 numbers its nodes, QAT names weights: no time is outside the modules on one side and inside on the other."""
    assert artifacts.is_dir()
    engines = [real_pairs.load(real_pairs.FP16), real_pairs.load(real_pairs.QAT)]
    for baseline in (0, 1):
        rows = {row.key: row for row in compare(engines, baseline=baseline).by_module}
        assert {key.split("/")[0] for key in rows} == {"conv1", "layer1", "layer2", "layer3", "layer4", "fc"}
        assert all(all(row.layers) for row in rows.values())


def test_modules_have_the_names_of_the_baseline(artifacts: Path, tmp_path: Path) -> None:
    assert artifacts.is_dir()
    plain = _names_only(tmp_path / "plain", "resnet18", str)
    other = _names_only(
        tmp_path / "other",
        "resnet18",
        lambda name: _as_quantized_export(name).replace("conv2/Conv + ", "conv2/Conv/"),
    )
    for engines in ([plain, other], [other, plain]):
        rows = compare(engines).by_module
        prefixes = {row.key.startswith("wrapper") for row in rows if row.key}
        assert prefixes == {engines[0] is other}


def test_what_only_the_other_engine_has_lies_in_a_module_of_the_baseline(
    artifacts: Path, tmp_path: Path
) -> None:
    """Relus that one export does not fuse: their module has the baseline's name, though nothing matches them."""
    assert artifacts.is_dir()
    raw = plain_json(ARTIFACTS / _NAMES_ONLY["resnet18"])
    names = [layer["Name"] for layer in raw["Layers"]]
    write_json(tmp_path / "plain/net.graph.json", {"Layers": names, "Bindings": raw["Bindings"]})
    respelled = [_as_quantized_export(name) for name in names]
    respelled.insert(4, "/wrapper/layer1/0/extra/Mul")
    write_json(tmp_path / "other/net.graph.json", {"Layers": respelled, "Bindings": raw["Bindings"]})
    comparison = compare([load_engine(tmp_path / "plain"), load_engine(tmp_path / "other")])
    (alone,) = [block for block in comparison.blocks if block.is_one_sided]
    assert alone.module == ("layer1", "0", "extra")


def test_a_pooling_that_the_other_engine_fuses_is_part_of_the_block_of_its_convolution(
    artifacts: Path,
) -> None:
    """The weight matches the convolutions; that the pooling is in one of them is seen by the shape of its result."""
    assert artifacts.is_dir()
    engines = [real_pairs.load(real_pairs.QAT), real_pairs.load(real_pairs.RESIDUAL)]
    for order in ((0, 1), (1, 0)):
        comparison = compare([engines[index] for index in order])
        block = _block_of(comparison, order.index(0), "conv1.weight")
        names = [engines[0].layers[index].name for index in block.layers[order.index(0)]]
        assert names == ["conv1.weight + QuantizeLinear_7 + Conv_9", "MaxPool_12"]
        assert len(block.layers[order.index(1)]) == 1
        assert "output of two layers" in block.why
