"""Content of the ONNX nodes of a layer: operators, multiply-accumulates, parameters and patterns such as attention."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from trex_tui.old.analysis.onnx_model.model import OnnxNode, Shapes, count_ops
from trex_tui.old.analysis.onnx_model.patterns import Pattern, find_patterns
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from trex_tui.old.analysis.onnx_model.join import OnnxJoin
    from trex_tui.old.engine.engine import Engine
    from trex_tui.old.engine.model import Layer

_CONVOLUTIONS = {"Conv": 1, "ConvInteger": 1, "QLinearConv": 3}
_PRODUCTS = {"MatMul": 1, "MatMulInteger": 1, "QLinearMatMul": 3}
"""Operators, and the index of the second operand among their inputs."""
_UNCOUNTED = frozenset(
    {"Einsum", "DeformConv", "Attention", "MultiHeadAttention", "GroupQueryAttention", "QAttention"}
)
"""Operators that multiply but are not counted."""


_SMALLEST_OPENED, _LARGEST_CLOSED, _DEEPEST = 12, 8, 3
"""A part of a layer is expanded if it has more nodes than the first, and than the layer's divided by the second."""


@dataclass(frozen=True, slots=True)
class Content:
    """Content of the nodes of a layer.

    Attributes:
        ops: Number of nodes of each operator, the most frequent first.
        macs: Multiply-accumulates of convolutions and matrix products; None if the shapes of one are unknown.
        params: Elements of the parameters that they read; those with the same content count once.
        params_bytes: Size of these in the model.
        patterns: Patterns with all nodes in the layer, in the order of the model.
    """

    ops: Mapping[str, int]
    macs: int | None
    params: int
    params_bytes: int
    patterns: tuple[Pattern, ...]


@per_engine
def model_patterns(engine: Engine) -> tuple[Pattern, ...]:
    """Return all patterns of the model, in the order of their first node; none without a model."""
    join: OnnxJoin | None = engine.onnx
    return () if join is None else tuple(find_patterns(join.model, join.shapes))


@per_engine
def layer_contents(engine: Engine) -> tuple[Content | None, ...]:
    """Return the content of each layer; None for a layer without nodes, and for all without a model."""
    join: OnnxJoin | None = engine.onnx
    if join is None:
        return (None,) * len(engine.layers)
    places: dict[int, list[Pattern]] = {}
    for pattern in model_patterns(engine):
        places.setdefault(pattern.nodes[0], []).append(pattern)
    contents: list[Content | None] = []
    for layer, found in zip(engine.layers, join.layers, strict=True):
        if not found.nodes:
            contents.append(None)
            continue
        own = set(found.nodes)
        patterns = [
            pattern
            for node in found.nodes
            for pattern in places.get(node, ())
            if own.issuperset(pattern.nodes)
        ]
        weights = join.weights(join.nodes(layer))
        contents.append(
            Content(
                count_ops(join.nodes(layer)),
                count_macs(join.nodes(layer), join.shapes),
                sum(weight.elements for weight in weights),
                sum(weight.bytes for weight in weights),
                tuple(patterns),
            )
        )
    return tuple(contents)


def count_macs(nodes: Collection[OnnxNode], shapes: Shapes) -> int | None:
    """Return the multiply-accumulates of some nodes; None if unknown for one of them."""
    total = 0
    for node in nodes:
        macs = _node_macs(node, shapes)
        if macs is None:
            return None
        total += macs
    return total


def _node_macs(node: OnnxNode, shapes: Shapes) -> int | None:
    if node.op in _CONVOLUTIONS:
        weight, output = _shape(node.inputs, _CONVOLUTIONS[node.op], shapes), _shape(node.outputs, 0, shapes)
        return None if not weight or output is None else math.prod(output) * math.prod(weight[1:])
    if node.op == "ConvTranspose":
        data, weight = _shape(node.inputs, 0, shapes), _shape(node.inputs, 1, shapes)
        return None if data is None or not weight else math.prod(data) * math.prod(weight[1:])
    if node.op in _PRODUCTS:
        first, output = _shape(node.inputs, 0, shapes), _shape(node.outputs, 0, shapes)
        return None if not first or output is None else math.prod(output) * first[-1]
    if node.op == "Gemm":
        first, output = _shape(node.inputs, 0, shapes), _shape(node.outputs, 0, shapes)
        if first is None or len(first) != 2 or output is None:
            return None
        return math.prod(output) * first[0 if node.attributes.get("transA") else 1]
    if node.op in ("LSTM", "GRU", "RNN"):
        data = _shape(node.inputs, 0, shapes)
        weights = [_shape(node.inputs, place, shapes) for place in (1, 2)]
        if data is None or len(data) != 3 or None in weights:
            return None
        return data[0] * data[1] * sum(math.prod(weight) for weight in weights if weight)
    return None if node.op in _UNCOUNTED else 0


def _shape(tensors: tuple[str, ...], place: int, shapes: Shapes) -> tuple[int, ...] | None:
    return shapes.known(tensors[place]) if place < len(tensors) else None


# Work of the nodes of a layer


@dataclass(frozen=True, slots=True)
class Work:
    """Work of nodes of a layer.

    Attributes:
        nodes: In the order of the model.
        macs: As in `Content`.
        params, params_bytes: As in `Content`.
        bytes: Size of what the nodes read and write, with parameters, in the types of the model; None if unknown for one.
    """

    nodes: tuple[OnnxNode, ...]
    macs: int | None
    params: int
    params_bytes: int
    bytes: int | None

    @property
    def intensity(self) -> float | None:
        """FLOP per byte, if the nodes run one after the other through memory; None if unknown."""
        return 2 * self.macs / self.bytes if self.bytes and self.macs is not None else None


def measure_work(join: OnnxJoin, nodes: Sequence[OnnxNode]) -> Work:
    """Return the work of some nodes."""
    weights = join.weights(nodes)
    sizes = [_moved_bytes(node, join) for node in nodes]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    return Work(
        tuple(nodes),
        count_macs(nodes, join.shapes),
        sum(weight.elements for weight in weights),
        sum(weight.bytes for weight in weights),
        total,
    )


def _moved_bytes(node: OnnxNode, join: OnnxJoin) -> int | None:
    total = 0
    for tensor in filter(None, dict.fromkeys((*node.inputs, *node.outputs))):
        size = join.shapes.bytes(tensor)
        if size is None:
            return None
        total += size
    return total


def work_by_operator(join: OnnxJoin, nodes: Sequence[OnnxNode]) -> dict[str, Work]:
    """Return the work of each operator among some nodes, the one with most nodes first."""
    groups: dict[str, list[OnnxNode]] = {op: [] for op in count_ops(nodes)}
    for node in nodes:
        groups[node.op].append(node)
    return {op: measure_work(join, members) for op, members in groups.items()}


# Parts of a layer


@dataclass(frozen=True, slots=True)
class Part:
    """Nodes of a layer whose names have a common beginning.

    Attributes:
        name: The path relative to the enclosing part; for a single node its name there.
        depth: Number of enclosing parts.
        nodes: In the order of the model.
        macs: As in `Content`.
        patterns: Number of each label of the patterns in it.
    """

    name: str
    depth: int
    nodes: tuple[OnnxNode, ...]
    macs: int | None
    patterns: Mapping[str, int]


def list_parts(engine: Engine, layer: Layer) -> list[Part]:
    """Return the nodes of a layer as a small tree by the parts of their names, from the top. The engine has a model."""
    join: OnnxJoin = engine.onnx
    content = layer_contents(engine)[layer.index]
    patterns = content.patterns if content else ()
    paths = [(tuple(filter(None, node.name.split("/"))) or (node.name,), node) for node in join.nodes(layer)]
    least = max(_SMALLEST_OPENED, len(paths) // _LARGEST_CLOSED)

    def split(members: list[tuple[tuple[str, ...], OnnxNode]], level: int, depth: int) -> Iterator[Part]:
        groups: dict[tuple[str, ...], list[tuple[tuple[str, ...], OnnxNode]]] = {}
        for path, node in members:
            groups.setdefault(path[: level + 1], []).append((path, node))
        for inside in groups.values():
            common = _count_common([path for path, _ in inside])
            nodes = tuple(node for _, node in inside)
            own = {node.index for node in nodes}
            labels = Counter(pattern.label for pattern in patterns if own.issuperset(pattern.nodes))
            name = "/".join(inside[0][0][level:common])
            yield Part(name, depth, nodes, count_macs(nodes, join.shapes), dict(labels))
            if len(inside) > least and depth < _DEEPEST:
                yield from split(inside, common, depth + 1)

    level = _count_common([path for path, _ in paths]) if len(paths) > 1 else 0
    return list(split(paths, level, 0))


def _count_common(paths: Sequence[tuple[str, ...]]) -> int:
    """Return the number of leading parts that all paths share; for a single path all."""
    first, last = min(paths), max(paths)
    most = min(len(first), len(last))
    return next((place for place in range(most) if first[place] != last[place]), most)
