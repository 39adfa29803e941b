"""Convolutions and GEMMs of real pairs of engines, against a truth that this file reads from names and order.

The truth shares no code with the product. A layer plays a role in the network, `layer2.0.conv1` or `conv 17`; two layers of
a role are the same operation. Each role that both engines have is right if its layers share a block with no layer of another
role, merged if there are others, wrong if its block has layers of other roles only, and alone if nothing shares its block.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from compare_kit import SAMPLES, load
from helpers import ARTIFACTS
from trex_tui.compare.comparison import Comparison, compare
from trex_tui.engine.model import Engine

Roles = dict[str, int]
"""Per role, the index of the layer that plays it."""

_MULTIPLYING = ("convolution", "gemm")
_STAGES = ((1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1), (4, 0), (4, 1))
RESNET18 = [
    "conv1",
    *(
        f"layer{stage}.{block}.{part}"
        for stage, block in _STAGES
        for part in ("conv1", "conv2", *(["downsample"] if stage > 1 and block == 0 else []))
    ),
    "fc",
]
"""ResNet-18 in the order of its definition, which is the order of the nodes in an export."""


def multiplying(engine: Engine) -> Iterator[tuple[int, str]]:
    """Index of each such layer, and its nodes, else its name."""
    rows = zip(engine.layers["kind"], engine.layers["name"], engine.layers["onnx_nodes"], strict=True)
    for index, (kind, name, nodes) in enumerate(rows):
        if kind in _MULTIPLYING:
            yield index, "/".join(nodes) or name


def resnet18_by_path(engine: Engine) -> Roles:
    """`layer2.0.conv1.weight + …`, `/layer2/layer2.0/conv1/Conv` and `…-[/layer2/0/conv1/convolution_5]`."""
    roles: Roles = {}
    for index, name in multiplying(engine):
        text = name.replace(".", "/")
        path = re.search(r"layer(\d)/(?:layer\d/)?(\d)/(conv\d|downsample)", text)
        if path:
            roles[f"layer{path[1]}.{path[2]}.{path[3]}"] = index
        else:
            roles["conv1" if re.search(r"\bconv1\b", text) else "fc"] = index
    return roles


def resnet18_by_number(engine: Engine) -> Roles:
    """`Conv_13 + Relu_14`: nodes are numbered in the order of the network's definition."""
    numbered = {}
    for index, name in multiplying(engine):
        number = re.search(r"(?:Conv|Gemm)_(\d+)", name)
        assert number, name
        numbered[int(number[1])] = index
    assert len(numbered) == len(RESNET18)
    return dict(zip(RESNET18, (numbered[number] for number in sorted(numbered)), strict=True))


def by_order(engine: Engine) -> Roles:
    """A chain of layers, MobileNet V2 or AlexNet: the n-th convolution or GEMM is the n-th of the network."""
    return {f"conv {place}": index for place, (index, _) in enumerate(multiplying(engine))}


def tf_resnet50(engine: Engine) -> Roles:
    """`resnet50/conv3_block1_0_conv/Conv2D`, the first one `Conv__435`, the last one `predictions`."""
    roles: Roles = {}
    for index, name in multiplying(engine):
        block = re.search(r"conv(\d)_block(\d)_(\d)_conv", name)
        role = f"conv{block[1]}.{block[2]}.{block[3]}" if block else ""
        roles[role or ("predictions" if "predictions" in name else "conv1")] = index
    assert len(roles) == 54
    return roles


class Source(NamedTuple):
    """An engine in the artifacts, and how its truth is read."""

    path: str
    roles: Callable[[Engine], Roles]


FP32 = Source("trex/resnet-A100/fp32", resnet18_by_number)
FP16 = Source("trex/resnet-A100/fp16", resnet18_by_number)
QAT = Source("trex/resnet-A100/qat", resnet18_by_path)
RESIDUAL = Source("trex/resnet-A100/qat-residual", resnet18_by_path)
QGAP = Source("trex/resnet-A100/qat-residual-qgap", resnet18_by_path)
RTX3060 = Source("edge-vision/results/resnet18", resnet18_by_path)
TORCH = Source("torch-trt/resnet18", resnet18_by_path)
INSPECTED = Source("inspector-dumps/torch_trt-resnet18.trt_engine_info.json", resnet18_by_path)
TF_FP32 = Source("trex/tf-resnet-RTX3090/fp32", tf_resnet50)
TF_FP16 = Source("trex/tf-resnet-RTX3090/fp16", tf_resnet50)
MOBILENET = Source("edge-vision/results/mobilenet_v2", by_order)
MOBILENET_TORCH = Source("torch-trt/mobilenet_v2", by_order)
MOBILENET_84 = Source("trex/mobilenet-qat-8.4EA", by_order)
MOBILENET_TITAN = Source("trex/mobilenet-qat-TITANRTX", by_order)
ALEXNET = Source("edge-vision/results/alexnet", by_order)
ALEXNET_TORCH = Source("torch-trt/alexnet", by_order)
MNIST_84 = Source("names-only/trt8.4.1_exportLayerInfo_names_only.json", by_order)
MNIST_86 = Source("names-only/trt8.6.0_exportLayerInfo_names_only.json", by_order)


class Pair(NamedTuple):
    """Two engines, and how many roles they share."""

    left: Source
    right: Source
    roles: int

    def __str__(self) -> str:
        return " → ".join(source.path.removeprefix("trex/") for source in self[:2])


PAIRS = [
    Pair(FP32, FP16, 21),
    Pair(FP16, QAT, 21),
    Pair(FP32, QAT, 21),
    Pair(FP32, RESIDUAL, 21),
    Pair(FP16, RESIDUAL, 21),
    Pair(FP16, QGAP, 21),
    Pair(QAT, RESIDUAL, 21),
    Pair(QAT, QGAP, 21),
    Pair(RESIDUAL, QGAP, 21),
    Pair(QAT, RTX3060, 21),
    Pair(FP16, RTX3060, 21),
    Pair(RESIDUAL, RTX3060, 21),
    Pair(RTX3060, TORCH, 21),
    Pair(RTX3060, INSPECTED, 21),
    Pair(QAT, TORCH, 21),
    Pair(FP16, TORCH, 21),
    Pair(TF_FP32, TF_FP16, 54),
    Pair(MOBILENET_84, MOBILENET_TITAN, 53),
    Pair(MOBILENET, MOBILENET_TORCH, 53),
    Pair(MOBILENET, MOBILENET_TITAN, 53),
    Pair(MOBILENET_TORCH, MOBILENET_84, 53),
    Pair(ALEXNET, ALEXNET_TORCH, 8),
    Pair(MNIST_84, MNIST_86, 4),
]
PAIRS += [Pair(pair.right, pair.left, pair.roles) for pair in PAIRS]


def outcomes(comparison: Comparison, left: Roles, right: Roles) -> dict[str, str]:
    """Per role of both engines, its outcome."""
    ours, theirs = ({layer: role for role, layer in roles.items()} for roles in (left, right))
    blocks = comparison.blocks_of(0)
    found = {}
    for role in left.keys() & right.keys():
        row = comparison.blocks.iloc[blocks[left[role]]]
        others = {theirs[layer] for layer in row["b_layers"] if layer in theirs}
        roles = {ours[layer] for layer in row["a_layers"] if layer in ours} | others
        joined = "right" if roles == {role} else "merged"
        apart = "wrong" if others else "alone"
        found[role] = joined if right[role] in row["b_layers"] else apart
    return found


def examine(pair: Pair) -> dict[str, str]:
    engines = [load(ARTIFACTS / source.path) for source in (pair.left, pair.right)]
    return outcomes(compare(engines), pair.left.roles(engines[0]), pair.right.roles(engines[1]))


@pytest.mark.skipif(not ARTIFACTS.is_dir(), reason="no real artifacts")
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_every_role_of_a_real_pair_is_right(pair: Pair) -> None:
    found = examine(pair)
    assert len(found) == pair.roles
    assert {role: outcome for role, outcome in found.items() if outcome != "right"} == {}


def test_roles_of_the_samples_are_right() -> None:
    """Numbered nodes against names of weights, and two quantized builds."""
    names = {"fp16": resnet18_by_number, "qat": resnet18_by_path, "qat-residual": resnet18_by_path}
    engines = [load(SAMPLES / "resnet-a100" / name) for name in names]
    roles = [read(engine) for read, engine in zip(names.values(), engines, strict=True)]
    for first, second in ((0, 1), (1, 0), (1, 2), (0, 2)):
        found = outcomes(compare([engines[first], engines[second]]), roles[first], roles[second])
        assert Counter(found.values()) == {"right": 21}
