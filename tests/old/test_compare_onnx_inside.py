"""Engines of one model, aligned through the model: closed regions, and names of which nothing is left.

The engines are real ones, changed here: no public pair of engines with their model has closed blocks.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

import pytest
from compare_cases import Changed, aligned, renamed
from onnx_regions import close_region, random_region, without_metadata

from helpers import ARTIFACTS, some
from test_compare_onnx import MODELS
from trex_tui import load_engine
from trex_tui.old.analysis.onnx_model.join import add_join, join_model
from trex_tui.old.analysis.onnx_model.model import OnnxModel, read_model
from trex_tui.old.engine.engine import Engine

pytest.importorskip("onnx")
pytestmark = pytest.mark.skipif(not MODELS.is_dir(), reason="no real models")
NAMES = ("alexnet", "resnet18", "mobilenet_v2")


def real_pair(name: str) -> tuple[Engine, OnnxModel]:
    graph = ARTIFACTS / "edge-vision" / "results" / name / f"{name}_fp16.graph.json"
    return without_metadata(load_engine(graph)), read_model(MODELS / f"{name}.onnx")


def with_model(engine: Engine, model: OnnxModel) -> Engine:
    return add_join(engine, join_model(engine, model))


def closed_engines(name: str, count: int, *, has_tensors: bool) -> Iterable[Changed]:
    """Engines with a random region in one block; its layers are the origin of the block."""
    engine = load_engine(ARTIFACTS / "edge-vision" / "results" / name / f"{name}_fp16.graph.json")
    order = {node.name: node.index for node in read_model(MODELS / f"{name}.onnx").nodes}
    chance = random.Random(22)
    for _ in some(range(count), 8):
        region = random_region(engine, chance)
        closed = close_region(engine, region, order, has_tensors=has_tensors)
        last = max(region)
        kept = [layer.index for layer in engine.layers if layer.index not in region or layer.index == last]
        origins = tuple(frozenset(region if index == last else (index,)) for index in kept)
        yield Changed(closed.engine, origins)


@dataclass
class Count:
    """Pairs of layers over several engines."""

    right: int = 0
    wrong: int = 0
    total: int = 0

    def add(self, changed: Changed, left: Engine, right: Engine) -> None:
        result = aligned(left, right)
        self.right += changed.right_pairs(result)
        self.wrong += changed.wrong_pairs(result)
        self.total += changed.pairs


@pytest.mark.parametrize("has_tensors", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_closed_block_is_matched_with_the_layers_in_it(name: str, has_tensors: bool) -> None:
    """All layers that compute something; a shape or a reformat with readers on both sides of a border may stay alone."""
    engine, model = real_pair(name)
    without, through = Count(), Count()
    for changed in closed_engines(name, 60, has_tensors=has_tensors):
        without.add(changed, engine, changed.engine)
        through.add(changed, with_model(engine, model), with_model(changed.engine, model))
    assert through.wrong == 0
    assert through.right >= max(without.right, 0.99 * through.total), (without, through)
    if name == "resnet18":  # the others lose few without the model, in few regions
        assert without.right < 0.93 * without.total


@pytest.mark.parametrize("name", NAMES)
def test_tensors_alone_find_nodes_and_no_wrong_one(name: str) -> None:
    """AlexNet's classifier is made by Myelin: its tensors are not in the model."""
    stated = load_engine(ARTIFACTS / "edge-vision" / "results" / name / f"{name}_fp16.graph.json")
    engine, model = real_pair(name)
    join = join_model(renamed(engine, range(len(engine.layers))).engine, model)
    found = [{model.nodes[node].name for node in layer.nodes} for layer in join.layers]
    known = [set(layer.onnx_nodes) for layer in stated.layers]
    right = sum(len(ours & theirs) for ours, theirs in zip(found, known, strict=True))
    assert all(ours <= theirs for ours, theirs in zip(found, known, strict=True))
    assert (right, sum(map(len, known))) == {
        "alexnet": (13, 19),
        "resnet18": (48, 48),
        "mobilenet_v2": (99, 99),
    }[name]
    assert {layer.evidence for layer in join.layers} <= {"tensors", ""}
