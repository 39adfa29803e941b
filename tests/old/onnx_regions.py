"""Engines with a part of their layers closed into a block, as Myelin closes it, and what is known to be inside."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer


@dataclass(frozen=True)
class ClosedEngine:
    """An engine with a closed block at `index`, and the names of the nodes in it."""

    engine: Engine
    index: int
    nodes: frozenset[str]


def without_metadata(engine: Engine) -> Engine:
    """The same engine, its layers joined by names alone."""
    return replace(engine, layers=tuple(layer._replace(onnx_nodes=()) for layer in engine.layers))


def close_region(
    engine: Engine, region: set[int], order: dict[str, int], *, has_tensors: bool
) -> ClosedEngine:
    """Put layers into one block that names its first and last node in the order of the model."""
    members = [engine.layers[index] for index in sorted(region)]
    nodes = sorted({node for layer in members for node in layer.onnx_nodes}, key=order.__getitem__)
    written = {tensor.name for layer in members for tensor in layer.outputs}
    outside = [layer for layer in engine.layers if layer.index not in region]
    read = {tensor.name for layer in outside for tensor in layer.inputs}
    read |= {binding.name for binding in engine.bindings}
    inputs = {
        tensor.name: tensor for layer in members for tensor in layer.data_inputs if tensor.name not in written
    }
    outputs = {tensor.name: tensor for layer in members for tensor in layer.outputs if tensor.name in read}
    block = members[0]._replace(
        name=f"{{ForeignNode[{nodes[0]}...{nodes[-1]}]}}",
        kind=LayerKind.MYELIN,
        inputs=tuple(inputs.values()) if has_tensors else (),
        outputs=tuple(outputs.values()) if has_tensors else (),
        onnx_nodes=(),
    )
    layers: list[Layer] = []
    for layer in engine.layers:
        if layer.index not in region:
            layers.append(layer._replace(onnx_nodes=()))
        elif layer is members[-1]:
            layers.append(block)
    index = next(place for place, layer in enumerate(layers) if layer is block)
    numbered = tuple(layer._replace(index=place) for place, layer in enumerate(layers))
    return ClosedEngine(replace(engine, layers=numbered), index, frozenset(nodes))


def random_region(engine: Engine, chance: random.Random) -> set[int]:
    """Layers that depend on each other, with all between them; at least two have nodes."""
    ahead = {layer.index: {link.target for link in engine.consumers(layer)} for layer in engine.layers}
    behind = {layer.index: {link.source for link in engine.producers(layer)} for layer in engine.layers}
    while True:
        region = {chance.randrange(len(engine.layers))}
        for _ in range(chance.randrange(1, len(engine.layers))):
            around = {other for index in region for other in ahead[index] | behind[index]} - region
            if not around:
                break
            region.add(chance.choice(sorted(around)))
        region |= _reach(region, ahead) & _reach(region, behind)
        if sum(bool(engine.layers[index].onnx_nodes) for index in region) > 1:
            return region


def _reach(starts: set[int], neighbours: dict[int, set[int]]) -> set[int]:
    seen, waiting = set(starts), list(starts)
    while waiting:
        new = neighbours[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen
