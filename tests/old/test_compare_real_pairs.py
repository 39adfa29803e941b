"""Convolutions and GEMMs of real pairs of engines, against a truth that this file reads from names and order.

The truth shares no code with the product. A layer plays a role in the network, `layer2.0.conv1` or `conv 17`; two layers of
a role are the same operation. Each role that both engines have is

- right: its layers share a block, with no layer of another role in it,
- merged: they share a block with layers of other roles,
- wrong: its layer shares a block with layers of other roles only,
- alone: nothing with a role shares its block.

`report()` prints the table of all pairs, `python -m test_compare_real_pairs` in this directory does the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

from helpers import ARTIFACTS
from trex_tui.old.analysis.compare import Block, Comparison, compare
from trex_tui.old.engine.engine import Engine, load_engine
from trex_tui.old.engine.model import Layer

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


def _multiplying(engine: Engine) -> Iterator[Layer]:
    return (layer for layer in engine.layers if layer.kind.value in _MULTIPLYING)


def resnet18_by_path(engine: Engine) -> Roles:
    """`layer2.0.conv1.weight + …`, `/layer2/layer2.0/conv1/Conv` and `…-[/layer2/0/conv1/convolution_5]`."""
    roles: Roles = {}
    for layer in _multiplying(engine):
        text = "/".join(layer.onnx_nodes) or layer.name
        text = text.replace(".", "/")
        path = re.search(r"layer(\d)/(?:layer\d/)?(\d)/(conv\d|downsample)", text)
        if path:
            roles[f"layer{path[1]}.{path[2]}.{path[3]}"] = layer.index
        else:
            roles["conv1" if re.search(r"\bconv1\b", text) else "fc"] = layer.index
    return roles


def resnet18_by_number(engine: Engine) -> Roles:
    """`Conv_13 + Relu_14`: nodes are numbered in the order of the network's definition."""
    numbered = {}
    for layer in _multiplying(engine):
        number = re.search(r"(?:Conv|Gemm)_(\d+)", layer.name)
        assert number, layer.name
        numbered[int(number[1])] = layer.index
    assert len(numbered) == len(RESNET18)
    return dict(zip(RESNET18, (numbered[number] for number in sorted(numbered)), strict=True))


def by_order(engine: Engine) -> Roles:
    """A chain of layers, MobileNet V2 or AlexNet: the n-th convolution or GEMM is the n-th of the network."""
    return {f"conv {place}": layer.index for place, layer in enumerate(_multiplying(engine))}


def tf_resnet50(engine: Engine) -> Roles:
    """`resnet50/conv3_block1_0_conv/Conv2D`, the first one `Conv__435`, the last one `predictions`."""
    roles: Roles = {}
    for layer in _multiplying(engine):
        block = re.search(r"conv(\d)_block(\d)_(\d)_conv", layer.name)
        role = f"conv{block[1]}.{block[2]}.{block[3]}" if block else ""
        roles[role or ("predictions" if "predictions" in layer.name else "conv1")] = layer.index
    assert len(roles) == 54
    return roles


@dataclass(frozen=True)
class Source:
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


@dataclass(frozen=True)
class Pair:
    """Two engines, how many roles they share, and the right and wrong pairs of trex's inexact `match_layers`.

    trex's counts leave out what it cannot load (None) and, in some of its pairs, the fully connected layer.
    """

    left: Source
    right: Source
    roles: int
    trex: tuple[int, int] | None = None

    def __str__(self) -> str:
        return " → ".join(source.path.removeprefix("trex/") for source in (self.left, self.right))


PAIRS = [
    Pair(FP32, FP16, 21, (20, 0)),
    Pair(FP16, QAT, 21, (20, 0)),
    Pair(FP32, QAT, 21),
    Pair(FP32, RESIDUAL, 21, (19, 0)),
    Pair(FP16, RESIDUAL, 21),
    Pair(FP16, QGAP, 21),
    Pair(QAT, RESIDUAL, 21, (20, 0)),
    Pair(QAT, QGAP, 21),
    Pair(RESIDUAL, QGAP, 21, (21, 0)),
    Pair(QAT, RTX3060, 21),
    Pair(FP16, RTX3060, 21),
    Pair(RESIDUAL, RTX3060, 21),
    Pair(RTX3060, TORCH, 21),
    Pair(RTX3060, INSPECTED, 21),
    Pair(QAT, TORCH, 21),
    Pair(FP16, TORCH, 21),
    Pair(TF_FP32, TF_FP16, 54, (54, 0)),
    Pair(MOBILENET_84, MOBILENET_TITAN, 53),
    Pair(MOBILENET, MOBILENET_TORCH, 53),
    Pair(MOBILENET, MOBILENET_TITAN, 53),
    Pair(MOBILENET_TORCH, MOBILENET_84, 53),
    Pair(ALEXNET, ALEXNET_TORCH, 8),
    Pair(MNIST_84, MNIST_86, 4),
]
PAIRS += [replace(pair, left=pair.right, right=pair.left, trex=None) for pair in PAIRS]


@cache
def load(source: Source) -> Engine:
    return load_engine(ARTIFACTS / source.path)


def outcomes(comparison: Comparison, left: Roles, right: Roles) -> dict[str, tuple[str, Block]]:
    """Per role of both engines, its outcome and the block that the baseline's layer lies in."""
    names = [{layer: role for role, layer in roles.items()} for roles in (left, right)]
    found = {}
    for role in left.keys() & right.keys():
        block = comparison.find_block(0, left[role])
        roles = {
            names[side][layer]
            for side, layers in enumerate(block.layers)
            for layer in layers
            if layer in names[side]
        }
        others = {names[1][layer] for layer in block.layers[1] if layer in names[1]}
        is_joined = right[role] in block.layers[1]
        joined = "right" if roles == {role} else "merged"
        apart = "wrong" if others else "alone"
        found[role] = joined if is_joined else apart, block
    return found


def examine(pair: Pair) -> dict[str, tuple[str, Block]]:
    engines = [load(pair.left), load(pair.right)]
    comparison = compare(engines)
    return outcomes(comparison, pair.left.roles(engines[0]), pair.right.roles(engines[1]))


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_no_role_of_a_real_pair_is_matched_wrongly(pair: Pair, artifacts: Path) -> None:
    assert artifacts.is_dir()
    found = examine(pair)
    assert len(found) == pair.roles
    counts = Counter(outcome for outcome, _ in found.values())
    failed = {role: outcome for role, (outcome, _) in found.items() if outcome != "right"}
    assert not counts["wrong"], failed
    assert counts["right"] >= 0.97 * pair.roles, failed
    if pair.trex is not None:
        assert counts["right"] >= pair.trex[0]


def report() -> str:
    """The table of all pairs as Markdown; each pair in one direction, the sum of both."""
    lines = ["| pair | n | right | wrong | merged | alone | trex right / wrong |", "| --- |" + " ---: |" * 6]
    total: Counter[str] = Counter()
    for number, pair in enumerate(PAIRS):
        counts = Counter(outcome for outcome, _ in examine(pair).values())
        total += counts
        if number < len(PAIRS) // 2:
            trex = "–" if pair.trex is None else f"{pair.trex[0]} / {pair.trex[1]}"
            lines.append(_row(str(pair), counts, trex))
    lines.append(_row("all, in both directions", total, ""))
    return "\n".join(lines)


def _row(title: str, counts: Counter[str], trex: str) -> str:
    cells = [counts[outcome] for outcome in ("right", "wrong", "merged", "alone")]
    return f"| {' | '.join([title, str(counts.total()), *map(str, cells), trex])} |"


if __name__ == "__main__":
    print(report())  # noqa: T201 - the table for the documentation
