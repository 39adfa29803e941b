"""ONNX: parts of the model that the engine splits, and constants that are computed in every run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.layer_words import OPEN_BLOCK
from trex_tui.engine.onnx_join import OnnxJoin
from trex_tui.engine.onnx_model import OnnxNode
from trex_tui.frames import plain_values
from trex_tui.lint.context import FUSION_CATALOG, Context, issue
from trex_tui.lint.rule import (
    HIGH,
    MEDIUM,
    WARNING,
    Confidence,
    Findings,
    NotChecked,
    finding,
    not_checked,
    rule,
)
from trex_tui.lint.rules.attention import unfused_attention
from trex_tui.text import plural

_LONGEST_CHAIN = 12
_MOST_NAMED = 4
_PRODUCTS = frozenset(("MatMul", "Einsum"))
_ATTENTIONS = frozenset(("Attention", "MultiHeadAttention", "GroupQueryAttention"))
_BETWEEN = frozenset(
    ["Add", "Mul", "Div", "Sub", "Where", "Cast", "Reshape", "Transpose", "Dropout", "Identity", "Clip"]
)
"""Scale, mask and layout between the products of attention and its softmax."""
_LAYOUT = frozenset(["Cast", "Reshape", "Transpose", "Dropout", "Identity", "Where", "Squeeze", "Unsqueeze"])
_NORMS = {
    "LayerNormalization": "layer norm",
    "SkipLayerNormalization": "layer norm",
    "RMSNormalization": "RMS norm",
    "SimplifiedLayerNormalization": "RMS norm",
    "InstanceNormalization": "instance norm",
    "GroupNormalization": "group norm",
}
_KEPT = frozenset(("Constant", "DequantizeLinear"))
"""Constants that may be computed in a run: narrow weights are widened where they are used."""
_RANDOM = frozenset(
    ["RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"]
)


# Patterns of the model


class Pattern(NamedTuple):
    """Nodes of the model that belong together.

    Attributes:
        label: `layer norm`, `attention (12 heads, 64)`.
        nodes: In the order of the model.
    """

    label: str
    nodes: tuple[int, ...]


def _writers(join: OnnxJoin, node: OnnxNode) -> list[OnnxNode]:
    """Return the nodes that compute the inputs of a node, without constants."""
    computed = (tensor for tensor in node.inputs if tensor not in join.shapes.constants)
    return [
        join.model.nodes[join.model.writers[tensor]] for tensor in computed if tensor in join.model.writers
    ]


def _readers(join: OnnxJoin, node: OnnxNode) -> list[OnnxNode]:
    readers = join.model.readers
    return [join.model.nodes[index] for tensor in node.outputs for index in readers.get(tensor, ())]


def _find_chain(
    join: OnnxJoin, node: OnnxNode, through: Collection[str], ends: Collection[str], *, forward: bool
) -> list[OnnxNode]:
    """Return the shortest way to one of the operators `ends` over nodes of other operators, its end first; empty without."""
    ways, waiting = {node.index: list[OnnxNode]()}, [node]
    while waiting:
        current = waiting.pop(0)
        for neighbour in _readers(join, current) if forward else _writers(join, current):
            if neighbour.index in ways or len(ways[current.index]) > _LONGEST_CHAIN:
                continue
            ways[neighbour.index] = [neighbour, *ways[current.index]]
            if neighbour.op in ends:
                return ways[neighbour.index]
            if neighbour.op in through:
                waiting.append(neighbour)
    return []


def find_attentions(join: OnnxJoin) -> Iterator[Pattern]:
    """Yield the attentions of a model: one node each, or two products with a softmax between them."""
    for node in join.model.nodes:
        if node.op in _ATTENTIONS:
            yield Pattern("attention", (node.index,))
        if node.op != "Softmax":
            continue
        before = _find_chain(join, node, _BETWEEN, _PRODUCTS, forward=False)
        after = _find_chain(join, node, _LAYOUT, _PRODUCTS, forward=True)
        if before and after:
            scores = join.shapes.extents.get(before[0].outputs[0]) or ()
            operand = join.shapes.extents.get(before[0].inputs[0]) or ()
            is_product = before[0].op == "MatMul"
            words = [f"{scores[-3]} heads"] if is_product and len(scores) >= 4 and scores[-3] else []
            words += [str(operand[-1])] if is_product and operand and operand[-1] else []
            label = f"attention ({', '.join(words)})" if words else "attention"
            yield Pattern(label, tuple(sorted({node.index, *(step.index for step in (*before, *after))})))


def find_norms(join: OnnxJoin) -> Iterator[Pattern]:
    """Yield the normalizations of a model, as one node or as their parts."""
    for node in join.model.nodes:
        if node.op in _NORMS:
            yield Pattern(_NORMS[node.op], (node.index,))
        elif node.op in ("Sqrt", "Rsqrt") and (pattern := _find_norm(join, node)):
            yield pattern


def _find_norm(join: OnnxJoin, root: OnnxNode) -> Pattern | None:
    """√(mean((x - mean(x))²) + ε) divides x - mean(x), or √(mean(x²) + ε) divides x."""
    chain = _find_chain(join, root, ("Add", "Cast"), ("ReduceMean",), forward=False)
    square = next(iter(_writers(join, chain[0])), None) if chain else None
    end = next((node for node in _readers(join, root) if node.op in ("Div", "Mul", "Reciprocal")), None)
    if square is None or square.op not in ("Pow", "Mul") or end is None:
        return None
    nodes = [root, square, end, *chain]
    if end.op == "Reciprocal":
        nodes += [node for node in _readers(join, end) if node.op == "Mul"][:1]
    difference = next(iter(_writers(join, square)), None)
    if difference is not None and difference.op == "Cast":
        difference = next(iter(_writers(join, difference)), None)
    means: list[OnnxNode] = []
    if difference is not None and difference.op == "Sub":
        means = [node for node in _writers(join, difference) if node.op == "ReduceMean"]
    nodes += [difference, means[0]] if difference is not None and means else []
    return Pattern("layer norm" if means else "RMS norm", tuple(sorted({node.index for node in nodes})))


# Their layers


def onnx_model(context: Context) -> str:
    """The ONNX model of the engine."""
    return "" if context.engine.onnx is not None else "no ONNX model: name it with --onnx"


class _Place(NamedTuple):
    """Layers that have nodes of a pattern and take time, and whether one layer or closed block has all of them."""

    layers: tuple[int, ...]
    is_fused: bool
    is_closed: bool


def _column(context: Context, key: str) -> list[Any]:
    """Return what is known about the nodes of each layer."""
    if ("onnx", key) not in context.kept:
        context.kept["onnx", key] = plain_values(context.engine.onnx.layers[key])
    values: list[Any] = context.kept["onnx", key]
    return values


def _is_block(context: Context, layer: int) -> bool:
    return bool(_column(context, "onnx_evidence")[layer] == "range")


def _find_place(context: Context, join: OnnxJoin, nodes: Collection[int]) -> _Place | None:
    """Find the layers of some nodes; None if it is unknown for one of them."""
    wanted = set(nodes)
    if not wanted <= join.holders.keys():
        return None
    layers = sorted({layer for node in nodes for layer in join.holders[node]})
    held, doubtful = _column(context, "nodes"), _column(context, "doubtful")
    if any(not wanted.isdisjoint(doubtful[layer]) for layer in layers):
        return None
    whole = [layer for layer in layers if wanted.issubset(held[layer])]
    is_closed = any(_is_block(context, layer) for layer in whole)
    return _Place(tuple(filter(context.takes_time, layers)), bool(whole), is_closed)


def _describe_hidden(count: int, what: str) -> NotChecked:
    """Say that closed blocks hide whether something is fused, and what would open them."""
    are = "is" if count == 1 else "are"
    return not_checked(f"{count} {what} {are} whole in a closed block. {OPEN_BLOCK}")


def _own_layers(context: Context, layers: Iterable[int], nodes: Collection[int]) -> list[int]:
    """Return the layers that have no other nodes than these: their time is theirs."""
    held = _column(context, "nodes")
    return [layer for layer in layers if set(held[layer]) <= set(nodes)]


def _evidence(context: Context, join: OnnxJoin, pattern: Pattern, layers: Collection[int]) -> dict[str, Any]:
    return {
        "pattern": pattern.label,
        "nodes": _name_nodes(join.model.nodes[node].name for node in pattern.nodes),
        "kernels": len(layers),
        "kernels_ms": context.sum_ms(layers),
    }


def _name_nodes(names: Iterable[str]) -> str:
    named = list(names)
    return ", ".join(named[:_MOST_NAMED]) + (" …" if len(named) > _MOST_NAMED else "")


def _judge(context: Context, layers: Iterable[int]) -> Confidence:
    """Return high if the layers state their nodes; medium if these were found between others."""
    evidence = _column(context, "onnx_evidence")
    return HIGH if all(evidence[layer] in ("metadata", "name") for layer in layers) else MEDIUM


def _open_too(context: Context, layers: Iterable[int], remedy: str) -> str:
    """Return the remedy, with what would open a closed block among the layers."""
    return f"{remedy} {OPEN_BLOCK}" if any(_is_block(context, layer) for layer in layers) else remedy


_ATTENTION_REMEDY = str(unfused_attention.remedy)


@rule(
    "ONNX001",
    "Attention of the model in several kernels",
    WARNING,
    looks_for="An attention of the ONNX model (product, softmax, product) whose nodes are in two or more "
    "layers, closed blocks included.",
    why="The scores (quadratic in the sequence length) are written to memory between the kernels.",
    remedy=_ATTENTION_REMEDY,
    references=(issue(2981), issue(3575)),
    columns=("onnx_nodes", "latency_ms"),
    not_when="Attention that ATTN001 found. Attention that is whole in a closed block counts as not checked.",
    needs=(onnx_model,),
    estimate="assumes one fused kernel: only the products remain",
    formula="time of the kernels that have no product",
)
def split_attention(context: Context) -> Findings:
    join: OnnxJoin = context.engine.onnx
    found = {layer for other in unfused_attention.find(context) for layer in other.layers}
    core_ops = _PRODUCTS | _ATTENTIONS | {"Softmax"}
    hidden = 0
    for pattern in find_attentions(join):
        core = [node for node in pattern.nodes if join.model.nodes[node].op in core_ops]
        place = _find_place(context, join, core)
        if place is None or place.is_fused or len(place.layers) < 2:
            hidden += place is not None and place.is_closed
            continue
        if not found.isdisjoint(place.layers):
            continue
        light = [node for node in pattern.nodes if join.model.nodes[node].op not in _PRODUCTS]
        yield finding(
            f"The {pattern.label} at {context.quote(place.layers[0])} runs as {len(place.layers)} kernels "
            f"({context.format_time(*place.layers)}); the scores go to memory and back.",
            place.layers,
            confidence=_judge(context, place.layers),
            savings=context.times(_own_layers(context, place.layers, light)),
            evidence=_evidence(context, join, pattern._replace(nodes=tuple(core)), place.layers),
            remedy=_open_too(context, place.layers, _ATTENTION_REMEDY),
            group="attentions of the model run as several kernels",
        )
    if hidden:
        yield _describe_hidden(hidden, "attention" if hidden == 1 else "attentions")


_NORM_REMEDY = (
    "Export it as one operator (LayerNormalization from opset 17 on, InstanceNormalization, "
    "GroupNormalization) without casts inside, and build with TensorRT 8.6 or later."
)


@rule(
    "ONNX002",
    "Normalization of the model in several kernels",
    WARNING,
    looks_for="A layer, RMS, instance or group normalization of the ONNX model, as one operator or as its parts, whose "
    "nodes are in two or more layers.",
    why="Each kernel reads the whole tensor from memory and writes it; a fused kernel reads and writes once.",
    remedy=_NORM_REMEDY,
    references=(FUSION_CATALOG,),
    columns=("onnx_nodes", "latency_ms"),
    not_when="Layers that take no time. A normalization that is whole in a closed block counts as not checked.",
    needs=(onnx_model,),
    estimate="assumes one fused kernel as fast as the longest",
    formula="time of the kernels that have no other nodes, without the longest kernel",
)
def split_normalization(context: Context) -> Findings:
    join: OnnxJoin = context.engine.onnx
    hidden = 0
    for pattern in find_norms(join):
        nodes = [node for node in pattern.nodes if node in join.holders]
        place = _find_place(context, join, nodes) if nodes else None
        if place is None or place.is_fused or len(place.layers) < 2:
            hidden += place is not None and place.is_closed
            continue
        own, longest = _own_layers(context, place.layers, pattern.nodes), context.longest(place.layers)
        yield finding(
            f"The {pattern.label} at {context.quote(place.layers[0])} runs as {len(place.layers)} kernels "
            f"({context.format_time(*place.layers)}).",
            place.layers,
            confidence=_judge(context, place.layers),
            savings=context.times(layer for layer in own if layer != longest),
            evidence=_evidence(context, join, pattern._replace(nodes=tuple(nodes)), place.layers),
            remedy=_open_too(context, place.layers, _NORM_REMEDY),
            group="normalizations of the model run as several kernels",
        )
    if hidden:
        yield _describe_hidden(hidden, "normalization" if hidden == 1 else "normalizations")


@rule(
    "ONNX003",
    "Constant computed in every run",
    WARNING,
    looks_for="A layer that takes time and whose ONNX nodes depend on parameters and constants only.",
    why="Its result is the same in each run; TensorRT did not fold it while it built.",
    remedy="Fold constants before the build: `polygraphy surgeon sanitize --fold-constants`, or onnxsim. "
    "Check why TensorRT "
    "did not: a plugin, a data-dependent shape, or a tensor above the size limit of the folding.",
    references=(
        "Polygraphy, surgeon sanitize --fold-constants: https://github.com/NVIDIA/TensorRT/tree/main/tools/Polygraphy",
    ),
    columns=("onnx_nodes", "latency_ms"),
    not_when="Nodes that depend on a shape that is not fixed in the model; weights that are widened where "
    "they are used (DequantizeLinear); layers of constants; closed blocks.",
    needs=(onnx_model,),
    estimate="without the layer",
    formula="time of the layer",
)
def unfolded_constant(context: Context) -> Findings:
    join: OnnxJoin = context.engine.onnx
    constants = _find_constants(join)
    for layer in range(len(context.engine)):
        is_skipped = _is_block(context, layer) or context.kinds[layer] == LayerKind.CONSTANT
        nodes = [] if is_skipped or not context.takes_time(layer) else join.nodes(layer)
        is_constant = all(constants.issuperset(filter(None, node.outputs)) for node in nodes)
        if not nodes or not is_constant or _KEPT.issuperset(node.op for node in nodes):
            continue
        names = {node.name for node in nodes}
        yield finding(
            f"{context.quote(layer)} recomputes {plural(len(nodes), 'constant node')} of the model in every run: "
            f"{context.format_time(layer)}.",
            [layer],
            confidence=HIGH,
            savings=context.times([layer]),
            evidence={
                "nodes": _name_nodes(node for node in context.nodes[layer] if node in names),
                "latency_ms": context.ms[layer],
            },
            group="layers recompute constants of the model in every run",
        )


def _find_constants(join: OnnxJoin) -> set[str]:
    """Return tensors that depend on parameters, constants and shapes that are fixed in the model."""
    fixed = {
        value.name
        for value in join.model.proto.graph.input
        if value.type.tensor_type.HasField("shape")
        and all(dim.HasField("dim_value") for dim in value.type.tensor_type.shape.dim)
    }
    constants = set(join.model.initializers)
    for node in join.model.nodes:
        is_shape = node.op in ("Shape", "Size") and node.inputs and node.inputs[0] in fixed
        is_known = is_shape or constants.issuperset(filter(None, node.inputs))
        if is_known and not node.is_inner and node.op not in _RANDOM:
            constants.update(node.outputs)
    return constants


RULES = (split_attention, split_normalization, unfolded_constant)
