"""The nodes of each layer: stated by its metadata or its name, or found along the paths of the model.

A closed block (`{ForeignNode[a...b]}`) names its ends only. Its nodes are those that no other layer claims, from its outputs
back to its inputs. Where its tensors are not in the model they are those connected with its ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from trex_tui.old.analysis.onnx_model.layer_names import NameIndex, StatedNodes
from trex_tui.old.analysis.onnx_model.model import (
    Initializer,
    OnnxModel,
    OnnxNode,
    Shapes,
    infer_shapes,
)
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.errors import ArtifactError, Diagnostic, Severity
from trex_tui.old.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from trex_tui.old.engine.engine import Engine
    from trex_tui.old.engine.model import Layer

_LEAST_SHARE = 0.5
_MOST_STEPS = 8
"""Reformats that are followed from a layer to a tensor of the model."""
_MOST_NAMED = 3
_LEAST_TENSORS = 3
"""Tensors by which a model without a common name with the layers is recognized."""
_INSERTED = frozenset(
    {LayerKind.REFORMAT, LayerKind.NOOP, LayerKind.SYNC, LayerKind.SHAPE, LayerKind.CONSTANT}
)
MULTIPLYING = frozenset(
    {
        "Conv",
        "ConvTranspose",
        "Gemm",
        "MatMul",
        "QLinearConv",
        "QLinearMatMul",
        "ConvInteger",
        "MatMulInteger",
    }
)
MOVING = frozenset(
    {
        "Identity",
        "Dropout",
        "Flatten",
        "Reshape",
        "Squeeze",
        "Unsqueeze",
        "Transpose",
        "Cast",
        "Expand",
        "Slice",
        "Split",
    }
    | {"Concat", "Pad"}
)
"""Operators that compute nothing: TensorRT removes them, or makes them part of a layer without stating it."""


@dataclass(frozen=True, slots=True)
class LayerNodes:
    """The nodes of a layer.

    Attributes:
        nodes: In the order of the model.
        evidence: `metadata`, `name`, `range` (a closed block, between its ends), `tensors` (what a generated layer reads and
            writes); empty without nodes.
        doubtful: Those of a closed block that may be in another block as well.
        is_block: Whether the layer is a closed block.
    """

    nodes: tuple[int, ...] = ()
    evidence: str = ""
    doubtful: tuple[int, ...] = ()
    is_block: bool = False


@dataclass(frozen=True, eq=False)
class OnnxJoin:
    """A model joined to an engine.

    Attributes:
        layers: By index of the layer.
        found, stated: How many different names of layers the model has, of how many.
        missing: Names that it has not.
        folded: Nodes that TensorRT computes while it builds: they depend on constants and shapes only.
        unplaced: Nodes in no layer.
        repeated: Nodes in several layers, with these.
        is_given: Whether the user named the model; else it was found beside the engine.
    """

    model: OnnxModel
    shapes: Shapes
    layers: tuple[LayerNodes, ...]
    found: int
    stated: int
    missing: tuple[str, ...]
    folded: tuple[int, ...]
    unplaced: tuple[int, ...]
    repeated: Mapping[int, tuple[int, ...]]
    is_given: bool = True

    def nodes(self, layer: Layer) -> list[OnnxNode]:
        """Return the nodes of a layer, in the order of the model."""
        return [self.model.nodes[index] for index in self.layers[layer.index].nodes]

    @cached_property
    def holders(self) -> Mapping[int, tuple[int, ...]]:
        """Node -> indices of its layers; without nodes that are in no layer."""
        holders: dict[int, list[int]] = {}
        for index, layer in enumerate(self.layers):
            for node in layer.nodes:
                holders.setdefault(node, []).append(index)
        return {node: tuple(indices) for node, indices in holders.items()}

    @cached_property
    def _weights(self) -> Mapping[str, frozenset[str]]:
        """Constant tensor -> the initializers it is computed from."""
        sources: dict[str, frozenset[str]] = {name: frozenset((name,)) for name in self.model.initializers}
        for node in self.model.nodes:
            parts = [sources[tensor] for tensor in node.inputs if tensor in sources]
            if parts and any(tensor in self.shapes.constants for tensor in node.outputs):
                sources.update(dict.fromkeys(node.outputs, frozenset().union(*parts)))
        return sources

    def weights(self, nodes: Iterable[OnnxNode]) -> list[Initializer]:
        """Return the parameters that some nodes read; equal content counts once."""
        tensors = (tensor for node in nodes for tensor in node.inputs)
        names = {name for tensor in tensors for name in self._weights.get(tensor, ())}
        return self.model.unique_weights(sorted(names))


def add_join(engine: Engine, join: OnnxJoin) -> Engine:
    """The engine with the nodes of a join at its layers. Doubts about a model found by itself are notes only."""
    names = [node.name for node in join.model.nodes]
    layers = tuple(
        [
            layer
            if layer.onnx_nodes or not found.nodes
            else layer._replace(onnx_nodes=tuple(dict.fromkeys(names[index] for index in found.nodes)))
            for layer, found in zip(engine.layers, join.layers, strict=True)
        ]
    )
    notes = [
        Diagnostic(severity if join.is_given else Severity.INFO, join.model.path, "", text)
        for severity, text in describe_doubts(join)
    ]
    return replace(engine, layers=layers, onnx=join, diagnostics=(*engine.diagnostics, *notes))


def describe_doubts(join: OnnxJoin) -> Iterable[tuple[Severity, str]]:
    """Return the doubts about a join, with their extent."""
    if join.shapes.reason:
        yield Severity.WARNING, join.shapes.reason
    if join.missing:
        shown = ", ".join(join.missing[:_MOST_NAMED]) + (" …" if len(join.missing) > _MOST_NAMED else "")
        yield (
            Severity.INFO,
            f"{join.stated - join.found} of {join.stated} names of layers are not in the model: {shown}",
        )
    lost = [join.model.nodes[index] for index in join.unplaced if join.model.nodes[index].op in MULTIPLYING]
    if lost:
        shown = ", ".join(node.name for node in lost[:_MOST_NAMED]) + (
            " …" if len(lost) > _MOST_NAMED else ""
        )
        yield (
            Severity.WARNING,
            f"{len(lost)} convolutions and matrix products of the model are in no layer; is it another version? {shown}",
        )
    doubtful = {node for layer in join.layers for node in layer.doubtful}
    if doubtful:
        blocks = sum(bool(layer.doubtful) for layer in join.layers)
        yield (
            Severity.INFO,
            f"{len(doubtful)} nodes may be in any of {blocks} closed blocks; each block lists them",
        )


def join_model(engine: Engine, model: OnnxModel) -> OnnxJoin:
    """Find the nodes of each layer.

    Raises:
        ArtifactError: The model does not belong to the engine.
    """
    index = NameIndex(model)
    stated = [
        index.read_metadata(layer.onnx_nodes) if layer.onnx_nodes else index.read_name(layer.name)
        for layer in engine.layers
    ]
    found = dict.fromkeys(name for layer in stated for name in layer.found)
    missing = dict.fromkeys(name for layer in stated for name in layer.missing)
    total = len(found) + len(missing)
    shapes: Shapes | None = None
    if not found or len(found) < _LEAST_SHARE * total:
        shapes = _infer(engine, model)
        alike, known = _count_tensors(engine, shapes)
    if shapes is not None and (alike < _LEAST_TENSORS or alike < _LEAST_SHARE * known):
        share = f"{len(found)} of {total} node names" + (
            f" ({100 * len(found) / total:.0f} %)" if total else ""
        )
        message = f"does not belong to {engine.name}: the model has {share} of its layers; give the model it was built from"
        raise ArtifactError(model.path, message)
    shapes = shapes or _infer(engine, model)
    layers = _Placement(engine, model, shapes, index, stated).place()
    places: dict[int, list[int]] = {}
    for position, layer in enumerate(layers):
        for node in layer.nodes:
            places.setdefault(node, []).append(position)
    folded = {
        node.index
        for node in model.nodes
        if node.outputs
        and node.index not in places
        and all(name in shapes.constants for name in node.outputs if name)
    }
    unplaced = [node.index for node in model.nodes if node.index not in places and node.index not in folded]
    heavy = [node.index for node in model.nodes if node.op in MULTIPLYING and node.index not in folded]
    placed = sum(node in places for node in heavy)
    if placed < _LEAST_SHARE * len(heavy):
        message = (
            f"does not belong to {engine.name}: {placed} of {len(heavy)} convolutions and matrix products of the model "
            f"({100 * placed / len(heavy):.0f} %) are in its layers; give the model it was built from"
        )
        raise ArtifactError(model.path, message)
    return OnnxJoin(
        model,
        shapes,
        layers,
        len(found),
        total,
        tuple(missing),
        tuple(sorted(folded)),
        tuple(unplaced),
        {node: tuple(where) for node, where in places.items() if len(where) > 1},
    )


def _infer(engine: Engine, model: OnnxModel) -> Shapes:
    shapes = {binding.name: binding.shape for binding in engine.bindings if binding.shape is not None}
    return infer_shapes(model, shapes)


def _count_tensors(engine: Engine, shapes: Shapes) -> tuple[int, int]:
    """Return how many tensors that layers compute the model has, with the same shape, and of how many.

    Network inputs and outputs do not count: many models call them alike.
    """
    ends = {binding.name for binding in engine.bindings}
    computed = {
        tensor.name: tensor.shape
        for layer in engine.layers
        if layer.kind not in _INSERTED
        for tensor in layer.outputs
        if tensor.name not in ends
    }
    alike = sum(
        tuple(shape) == shapes.extents.get(name, ()) for name, shape in computed.items() if len(shape) > 1
    )
    return alike, len(computed)


class _Placement:
    """Assigns the nodes that no layer states."""

    def __init__(
        self,
        engine: Engine,
        model: OnnxModel,
        shapes: Shapes,
        index: NameIndex,
        stated: Sequence[StatedNodes],
    ) -> None:
        self._engine, self._model, self._index, self._stated = engine, model, index, stated
        self._layers = engine.layers
        blocks = [layer for layer in stated if layer.is_block]
        self._ends = ends = {node for block in blocks for node in block.nodes}
        claimed = {node for layer in stated if not layer.is_block for node in layer.nodes}
        self._open = {
            node.index
            for node in model.nodes
            if node.index not in claimed
            and (node.index in ends or not all(name in shapes.constants for name in node.outputs if name))
        }
        self._sources = [
            [(tensor, model.writers[tensor]) for tensor in node.inputs if tensor in model.writers]
            for node in model.nodes
        ]
        self._targets: list[list[int]] = [
            [reader for tensor in node.outputs for reader in model.readers.get(tensor, ())]
            for node in model.nodes
        ]

    def place(self) -> tuple[LayerNodes, ...]:
        """Return the nodes of each layer."""
        layers = [
            self._stated_nodes(layer, stated)
            for layer, stated in zip(self._layers, self._stated, strict=True)
        ]
        generated = [
            position
            for position, stated in enumerate(self._stated)
            if (stated.is_generated or self._is_nameless(position)) and not self._layers[position].onnx_nodes
        ]
        for position in sorted(generated, key=lambda position: bool(self._stated[position].nodes)):
            layers[position] = self._extend(self._layers[position], self._stated[position])
        blocks = [position for position, stated in enumerate(self._stated) if stated.is_block]
        for position, nodes in self._place_blocks(blocks).items():
            layers[position] = nodes
        return tuple(layers)

    def _is_unknown(self, position: int) -> bool:
        """Return whether a layer computes something and has only names that the model does not have."""
        stated = self._stated[position]
        is_unknown = bool(stated.missing) and not stated.found and not stated.is_block
        return is_unknown and self._layers[position].kind not in _INSERTED

    def _is_nameless(self, position: int) -> bool:
        """Return whether a layer has only names that the model does not have, and only tensors that it has."""
        layer = self._layers[position]
        if not self._is_unknown(position):
            return False
        return bool(self._outputs(layer) and self._inputs(layer)) and self._knows_tensors(layer)

    def _knows_tensors(self, layer: Layer) -> bool:
        """Return whether the model has all outputs of a layer, and all its inputs from other layers."""
        read = {link.tensor for link in self._engine.producers(layer)}
        return len(self._outputs(layer)) == len({tensor.name for tensor in layer.outputs}) and all(
            self._find_name(layer, tensor, forward=False) is not None for tensor in read
        )

    @staticmethod
    def _stated_nodes(layer: Layer, stated: StatedNodes) -> LayerNodes:
        evidence = "metadata" if layer.onnx_nodes else "name"
        return LayerNodes(
            tuple(sorted(stated.nodes)), evidence if stated.nodes else "", is_block=stated.is_block
        )

    def _extend(self, layer: Layer, stated: StatedNodes) -> LayerNodes:
        """Add nodes that a generated layer does not name: back from its outputs, or forward from its inputs or nodes."""
        inputs, outputs = self._inputs(layer), self._outputs(layer)
        if outputs:
            added = self._walk_back(outputs, inputs)
        elif stated.nodes:
            added = self._walk_behind(stated.nodes)
        else:
            readers = (reader for tensor in inputs for reader in self._model.readers.get(tensor, ()))
            added = self._reach(readers, self._targets.__getitem__, self._open - self._ends)
        added = self._without_removed(added, stated.nodes)
        self._open -= added
        evidence = "name" if stated.nodes else "tensors" if added else ""
        return LayerNodes(tuple(sorted({*stated.nodes, *added})), evidence)

    def _walk_behind(self, nodes: Iterable[int]) -> set[int]:
        """Return open nodes that only use the results of some nodes."""
        own = set(nodes)
        waiting = sorted({target for node in nodes for target in self._targets[node]}, reverse=True)
        while waiting:
            node = waiting.pop()
            if (
                node in self._open
                and node not in self._ends
                and node not in own
                and own.issuperset(self._origins(node))
            ):
                own.add(node)
                waiting += self._targets[node]
        return own.difference(nodes)

    def _without_removed(self, added: set[int], stated: Collection[int]) -> set[int]:
        """Return the nodes without those that TensorRT removes, unless no others exist."""
        added = {node for node in added if not _is_identity(self._model.nodes[node])}
        if stated or any(self._model.nodes[node].op not in MOVING for node in added):
            return self._without_fringe(added, stated)
        return added

    def _inputs(self, layer: Layer) -> set[str]:
        """Return the tensors of the model that a layer reads, looking through reformats."""
        names = {self._find_name(layer, tensor.name, forward=False) for tensor in layer.inputs}
        return {name for name in names if name is not None and name not in self._model.initializers}

    def _outputs(self, layer: Layer) -> set[str]:
        """Return the tensors of the model that a layer writes, looking through reformats."""
        names = {self._find_name(layer, tensor.name, forward=True) for tensor in layer.outputs}
        return {name for name in names if name is not None and name in self._model.writers}

    def _find_name(self, layer: Layer, tensor: str, *, forward: bool) -> str | None:
        """Return the name in the model of a layer's tensor, or of what it is before (with `forward`, after) reformats."""
        name = self._index.find_tensor(tensor)
        for _ in range(_MOST_STEPS):
            if name is not None:
                return name
            links = self._engine.consumers(layer) if forward else self._engine.producers(layer)
            link = next((link for link in links if link.tensor == tensor), None)
            if link is None:
                return None
            next_index = link.target if forward else link.source
            stated = self._stated[next_index]
            if stated.nodes or stated.is_block or self._is_unknown(next_index):
                return None
            layer = self._layers[next_index]
            data = layer.outputs if forward else layer.data_inputs
            if len(data) != 1:
                return None
            tensor = data[0].name
            name = self._index.find_tensor(tensor)
        return name

    def _walk_back(
        self, outputs: Iterable[str], inputs: Collection[str], starts: Iterable[int] | None = None
    ) -> set[int]:
        """Return open nodes from some tensors and nodes back to others; without nodes, up to the ends of closed blocks."""
        allowed = self._open - self._ends if starts is None else self._open
        waiting = [self._model.writers[tensor] for tensor in outputs if tensor not in inputs]
        waiting += starts or ()
        seen: set[int] = set()
        while waiting:
            node = waiting.pop()
            if node in seen or node not in allowed:
                continue
            seen.add(node)
            waiting += [source for tensor, source in self._sources[node] if tensor not in inputs]
        return seen

    @staticmethod
    def _reach(
        starts: Iterable[int], neighbours: Callable[[int], Iterable[int]], allowed: Collection[int]
    ) -> set[int]:
        waiting, seen = list(starts), set()
        while waiting:
            node = waiting.pop()
            if node not in seen and node in allowed:
                seen.add(node)
                waiting += neighbours(node)
        return seen

    # Closed blocks

    def _place_blocks(self, blocks: Sequence[int]) -> dict[int, LayerNodes]:
        """Return the nodes of the closed blocks."""
        certain: dict[int, set[int]] = {}
        loose = []
        for block in blocks:
            stated, layer = self._stated[block], self._layers[block]
            inputs, outputs = self._inputs(layer), self._outputs(layer)
            if inputs and outputs and self._knows_tensors(layer):
                inside = self._walk_back(outputs, inputs, stated.last)
            else:
                loose.append(block)
                ahead = self._reach(stated.first, lambda node: self._targets[node], self._open)
                inside = ahead & self._ancestors(stated.last)
            certain[block] = {node for node in inside if not _is_identity(self._model.nodes[node])} | set(
                stated.nodes
            )
        taken = set().union(*certain.values()) if certain else set()
        rest = self._open - taken
        doubtful: dict[int, set[int]] = {block: set() for block in blocks}
        for component in self._components(rest):
            nearby = {
                node
                for member in component
                for node in (*self._targets[member], *self._origins(member))
                if node in taken
            }
            owners = [block for block in loose if not nearby.isdisjoint(certain[block])]
            if len(owners) == 1:
                certain[owners[0]] |= self._without_removed(component, certain[owners[0]])
            for block in owners if len(owners) > 1 else ():
                doubtful[block] |= component
        counts = Counter(node for nodes in certain.values() for node in nodes)
        for block, nodes in certain.items():
            doubtful[block] |= {node for node in nodes if counts[node] > 1}
        return {
            block: LayerNodes(
                tuple(sorted(certain[block] | doubtful[block])),
                "range" if certain[block] else "",
                tuple(sorted(doubtful[block])),
                is_block=True,
            )
            for block in blocks
        }

    def _ancestors(self, nodes: Iterable[int]) -> set[int]:
        return self._reach(nodes, self._origins, self._open)

    def _origins(self, node: int) -> list[int]:
        return [source for _, source in self._sources[node]]

    def _components(self, nodes: set[int]) -> list[set[int]]:
        components, left = [], set(nodes)
        while left:
            component = self._reach(
                (min(left),), lambda node: (*self._targets[node], *self._origins(node)), left
            )
            left -= component
            components.append(component)
        return components

    def _without_fringe(self, component: set[int], block: Collection[int]) -> set[int]:
        """Return the nodes without data movement at their border, which TensorRT removes between layers."""
        kept = set(component)
        for ordered, neighbours in (
            (sorted(kept, reverse=True), self._targets.__getitem__),
            (sorted(kept), self._origins),
        ):
            for node in ordered:
                if self._model.nodes[node].op in MOVING and not any(
                    other in kept or other in block for other in neighbours(node)
                ):
                    kept.discard(node)
        return kept


def _is_identity(node: OnnxNode) -> bool:
    """Return whether the node returns its input unchanged: such a node is in no layer."""
    if node.op in ("AveragePool", "MaxPool"):
        ones = (*node.attributes.get("kernel_shape", (0,)), *node.attributes.get("strides", ()))
        return set(ones) == {1} and not any(node.attributes.get("pads", ()))
    return node.op in ("Identity", "Dropout")
