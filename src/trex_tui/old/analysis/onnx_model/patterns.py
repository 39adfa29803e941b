"""Find patterns of nodes: attention, normalization, activations and MLPs, as one node or split by an exporter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from operator import attrgetter

from trex_tui.old.analysis.onnx_model.model import OnnxModel, OnnxNode, Shapes
from trex_tui.old.lazy_dataclass import dataclass

_LONGEST_CHAIN = 12
_BETWEEN = frozenset(
    {"Add", "Mul", "Div", "Sub", "Where", "Cast", "Reshape", "Transpose", "Dropout", "Identity", "Clip"}
)
"""Scale, mask and layout between the products of attention and its softmax."""
_LAYOUT = frozenset({"Cast", "Reshape", "Transpose", "Dropout", "Identity", "Where", "Squeeze", "Unsqueeze"})
_PRODUCTS = frozenset({"MatMul", "Gemm"})
_ATTENTIONS = frozenset({"Attention", "MultiHeadAttention", "GroupQueryAttention"})
_ACTIVATIONS = {
    "Gelu": "GELU",
    "FastGelu": "GELU",
    "BiasGelu": "GELU",
    "Relu": "ReLU",
    "Erf": "",
    "Tanh": "",
    "Sigmoid": "",
}
"""Operator -> its activation; empty for a part of one."""
_NORMS = {
    "LayerNormalization": "layer norm",
    "SkipLayerNormalization": "layer norm",
    "RMSNormalization": "RMS norm",
    "SimplifiedLayerNormalization": "RMS norm",
    "InstanceNormalization": "instance norm",
    "GroupNormalization": "group norm",
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern.

    Attributes:
        name: `attention`, `layer norm`, `RMS norm`, `instance norm`, `group norm`, `GELU`, `SiLU`, `MLP`.
        nodes: In the order of the model.
        heads, size: For an attention: heads and elements per head; None if shapes are unknown.
    """

    name: str
    nodes: tuple[int, ...]
    heads: int | None = None
    size: int | None = None

    @property
    def label(self) -> str:
        """Name and, for an attention, heads and size: `attention (12 heads, 64)`."""
        words = [f"{self.heads} heads"] if self.heads else []
        words += [str(self.size)] if self.size else []
        return f"{self.name} ({', '.join(words)})" if words else self.name


def find_patterns(model: OnnxModel, shapes: Shapes) -> list[Pattern]:
    """Return all patterns, in the order of their first node."""
    return sorted(_Finder(model, shapes).find(), key=attrgetter("nodes"))


class _Finder:
    def __init__(self, model: OnnxModel, shapes: Shapes) -> None:
        self._model, self._shapes = model, shapes

    def find(self) -> Iterator[Pattern]:
        activations: dict[tuple[int, ...], None] = {}
        for node in self._model.nodes:
            if node.op == "Softmax":
                yield from self._attention(node)
            elif node.op in _ATTENTIONS:
                heads = node.attributes.get("num_heads") or node.attributes.get("q_num_heads")
                yield Pattern("attention", (node.index,), heads)
            elif node.op in _NORMS:
                yield from self._whole_norm(node)
            elif node.op in ("Sqrt", "Rsqrt"):
                yield from self._norm(node)
            elif node.op in _ACTIVATIONS:
                activation = self._activation(node)
                if activation is not None:
                    activations[activation.nodes] = None
                    if activation.name != "ReLU":
                        yield activation
        for members in activations:
            yield from self._mlp(members)

    def _producer(self, node: OnnxNode, place: int = 0) -> OnnxNode | None:
        if place >= len(node.inputs) or node.inputs[place] in self._shapes.constants:
            return None
        index = self._model.writers.get(node.inputs[place])
        return None if index is None else self._model.nodes[index]

    def _producers(self, node: OnnxNode) -> list[OnnxNode]:
        found = (self._producer(node, place) for place in range(len(node.inputs)))
        return [producer for producer in found if producer is not None]

    def _readers(self, node: OnnxNode) -> list[OnnxNode]:
        return [
            self._model.nodes[index]
            for tensor in node.outputs
            for index in self._model.readers.get(tensor, ())
        ]

    def _chain_back(
        self, node: OnnxNode, ops: Collection[str], ends: Collection[str]
    ) -> list[OnnxNode] | None:
        """Return the nodes from a node back to the next one of some operators, skipping others."""
        return _find_chain(node, self._producers, ops, ends)

    def _chain_on(self, node: OnnxNode, ops: Collection[str], ends: Collection[str]) -> list[OnnxNode] | None:
        """Return the nodes as `_chain_back`, in the forward direction."""
        return _find_chain(node, self._readers, ops, ends)

    def _attention(self, softmax: OnnxNode) -> Iterator[Pattern]:
        before = self._chain_back(softmax, _BETWEEN, ("MatMul", "Einsum"))
        after = self._chain_on(softmax, _LAYOUT, ("MatMul", "Einsum"))
        if not before or not after:
            return
        product = before[0]
        output = self._shapes.extents.get(product.outputs[0])
        operand = self._shapes.extents.get(product.inputs[0])
        is_product = product.op == "MatMul"
        heads = output[-3] if is_product and output is not None and len(output) >= 4 else None
        size = operand[-1] if is_product and operand else None
        nodes = {softmax.index, *(node.index for node in (*before, *after))}
        yield Pattern("attention", tuple(sorted(nodes)), heads, size)

    def _whole_norm(self, node: OnnxNode) -> Iterator[Pattern]:
        producer = self._producer(node)
        is_group = node.op == "InstanceNormalization" and producer is not None and producer.op == "Reshape"
        if is_group and any(reader.op == "Reshape" for reader in self._readers(node)):
            yield Pattern("group norm", (node.index,))
        else:
            yield Pattern(_NORMS[node.op], (node.index,))

    def _norm(self, root: OnnxNode) -> Iterator[Pattern]:
        """√(mean((x - mean(x))²) + ε) divides x - mean(x), or √(mean(x²) + ε) divides x."""
        chain = self._chain_back(root, ("Add", "Cast"), ("ReduceMean",))
        if not chain:
            return
        square = self._producer(chain[0])
        if square is None or square.op not in ("Pow", "Mul"):
            return
        nodes = {root.index, square.index, *(node.index for node in chain)}
        end = next((node for node in self._readers(root) if node.op in ("Div", "Mul", "Reciprocal")), None)
        if end is None:
            return
        nodes.add(end.index)
        if end.op == "Reciprocal":
            end = next((node for node in self._readers(end) if node.op == "Mul"), end)
            nodes.add(end.index)
        difference = self._producer(square)
        if difference is not None and difference.op == "Cast":
            difference = self._producer(difference)
        mean = None
        if difference is not None and difference.op == "Sub":
            mean = next((node for node in self._producers(difference) if node.op == "ReduceMean"), None)
        if mean is None or difference is None:
            yield Pattern("RMS norm", tuple(sorted(nodes)))
            return
        yield Pattern("layer norm", tuple(sorted({*nodes, difference.index, mean.index})))

    def _activation(self, node: OnnxNode) -> Pattern | None:
        if _ACTIVATIONS[node.op]:
            return Pattern(_ACTIVATIONS[node.op], (node.index,))
        readers = self._readers(node)
        if node.op == "Sigmoid":
            product = next(
                (reader for reader in readers if reader.op == "Mul" and node.inputs[0] in reader.inputs), None
            )
            return None if product is None else Pattern("SiLU", (node.index, product.index))
        # x · (1 + erf(x / √2)) / 2, or with the hyperbolic tangent of a polynomial
        total = next((reader for reader in readers if reader.op == "Add"), None)
        product = (
            next((reader for reader in self._readers(total) if reader.op == "Mul"), None) if total else None
        )
        if total is None or product is None:
            return None
        nodes = {node.index, total.index, product.index}
        scale = self._producer(node)
        if scale is not None and scale.op in ("Mul", "Div"):
            nodes.add(scale.index)
        half = next(
            (
                reader
                for reader in self._readers(product)
                if reader.op == "Mul" and self._has_constant(reader)
            ),
            None,
        )
        if half is not None:
            nodes.add(half.index)
        return Pattern("GELU", tuple(sorted(nodes)))

    def _has_constant(self, node: OnnxNode) -> bool:
        return any(tensor in self._shapes.constants for tensor in node.inputs)

    def _mlp(self, activation: tuple[int, ...]) -> Iterator[Pattern]:
        """A product with weights, an activation, and another product with weights."""
        members = [self._model.nodes[index] for index in activation]
        between = frozenset({"Add", "Mul", "Dropout", "Cast", "Reshape", "Identity"})
        before = self._chain_back(members[0], between, _PRODUCTS)
        after = self._chain_on(members[-1], between, _PRODUCTS)
        if not before or not after or not all(map(self._has_constant, (before[0], after[0]))):
            return
        nodes = {*activation, *(node.index for node in (*before, *after))}
        yield Pattern("MLP", tuple(sorted(nodes)))


def _find_chain(
    node: OnnxNode,
    neighbours: Callable[[OnnxNode], list[OnnxNode]],
    ops: Collection[str],
    ends: Collection[str],
) -> list[OnnxNode] | None:
    """Return the shortest way from a node to one of the operators `ends`, over nodes of the operators `ops`.

    The way begins with its end and leaves out `node`; None if there is none.
    """
    path, waiting = {}, [(node, 0)]
    while waiting:
        current, depth = waiting.pop(0)
        for neighbour in neighbours(current):
            if neighbour.index in path or depth > _LONGEST_CHAIN:
                continue
            path[neighbour.index] = current
            if neighbour.op in ends:
                chain = [neighbour]
                while chain[-1] is not node:
                    chain.append(path[chain[-1].index])
                return chain[:-1]
            if neighbour.op in ops:
                waiting.append((neighbour, depth + 1))
    return None
