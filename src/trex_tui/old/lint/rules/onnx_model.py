"""ONNX: parts of the model that the engine splits, and constants that are computed in every run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from trex_tui.old.analysis.structure import sum_latency_ms
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.layer_words import OPEN_BLOCK
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lint.context import FUSION_CATALOG, Context, issue, quote_layer, takes_time
from trex_tui.old.lint.model import (
    Confidence,
    Finding,
    Findings,
    NotChecked,
    Severity,
    Value,
    finding,
    not_checked,
    rule,
)
from trex_tui.old.lint.rules.attention import unfused_attention
from trex_tui.old.text import plural

if TYPE_CHECKING:
    from trex_tui.old.analysis.onnx_model.join import OnnxJoin
    from trex_tui.old.analysis.onnx_model.patterns import Pattern

_MOST_NAMED = 4
_NORMS = frozenset({"layer norm", "RMS norm", "instance norm", "group norm"})
_PRODUCTS = frozenset({"MatMul", "Einsum"})
_CORE = _PRODUCTS | {"Softmax", "Attention", "MultiHeadAttention", "GroupQueryAttention"}
"""Nodes of an attention that a fused kernel contains; those that move data may be anywhere."""
_KEPT = frozenset({"Constant", "DequantizeLinear"})
"""Constants that may be computed in a run: narrow weights are widened where they are used."""


def onnx_model(context: Context) -> str:
    """The ONNX model of the engine."""
    return "" if context.engine.onnx is not None else "no ONNX model: name it with --onnx"


def _select_patterns(context: Context, names: Collection[str]) -> Iterator[Pattern]:
    from trex_tui.old.analysis.onnx_model.content import (
        model_patterns,  # 20 ms, for engines with a model only
    )

    return (pattern for pattern in model_patterns(context.engine) if pattern.name in names)


@dataclass(frozen=True, slots=True)
class _Places:
    """Layers with nodes of a pattern.

    Attributes:
        nodes: Those of the pattern that must be together.
        layers: Layers that have one of them and take time.
        is_closed: Whether one layer has all, and is a closed block.
        is_fused: Whether one layer has all.
    """

    nodes: tuple[int, ...]
    layers: tuple[Layer, ...]
    is_closed: bool
    is_fused: bool


def _find_places(context: Context, nodes: Collection[int]) -> _Places | None:
    """Find the layers of some nodes; None if it is unknown for one of them."""
    join: OnnxJoin = context.engine.onnx
    wanted = set(nodes)
    if not wanted <= join.holders.keys():
        return None
    indices = sorted({index for node in nodes for index in join.holders[node]})
    holders = [join.layers[index] for index in indices]
    if any(not wanted.isdisjoint(found.doubtful) for found in holders):
        return None
    whole = [found for found in holders if wanted.issubset(found.nodes)]
    layers = tuple(filter(takes_time, (context.layers[index] for index in indices)))
    return _Places(tuple(nodes), layers, any(found.is_block for found in whole), bool(whole))


def _describe_hidden(count: int, what: str) -> NotChecked:
    """Say that closed blocks hide whether something is fused, and what would open them."""
    are = "is" if count == 1 else "are"
    return not_checked(f"{count} {what} {are} whole in a closed block. {OPEN_BLOCK}")


def _own_layers(context: Context, layers: Iterable[Layer], nodes: Collection[int]) -> list[Layer]:
    """Layers that have no other nodes than these: their time is theirs."""
    join: OnnxJoin = context.engine.onnx
    return [layer for layer in layers if set(join.layers[layer.index].nodes) <= set(nodes)]


def _evidence(context: Context, places: _Places, pattern: Pattern) -> dict[str, Value]:
    join: OnnxJoin = context.engine.onnx
    names = [join.model.nodes[node].name for node in places.nodes]
    return {
        "pattern": pattern.label,
        "nodes": ", ".join(names[:_MOST_NAMED]) + (" …" if len(names) > _MOST_NAMED else ""),
        "kernels": len(places.layers),
        "kernels_ms": sum_latency_ms(places.layers),
    }


def _judge(context: Context, places: _Places) -> Confidence:
    """High if the layers state their nodes; medium if these were found between others."""
    join: OnnxJoin = context.engine.onnx
    stated = all(join.layers[layer.index].evidence in ("metadata", "name") for layer in places.layers)
    return Confidence.HIGH if stated else Confidence.MEDIUM


def _open_too(context: Context, layers: Sequence[Layer], remedy: str) -> str:
    """The remedy, with what would open a closed block among the layers."""
    join: OnnxJoin = context.engine.onnx
    return f"{remedy} {OPEN_BLOCK}" if any(join.layers[layer.index].is_block for layer in layers) else remedy


_ATTENTION_REMEDY = unfused_attention.remedy


@rule(
    "ONNX001",
    "Attention of the model in several kernels",
    Severity.WARNING,
    looks_for="An attention of the ONNX model (product, softmax, product) whose nodes are in two or more layers, closed "
    "blocks included.",
    why="The scores (quadratic in the sequence length) are written to memory between the kernels.",
    remedy=_ATTENTION_REMEDY,
    references=(issue(2981), issue(3575)),
    columns=("onnx_nodes", "latency_ms"),
    not_when="Attention that ATTN001 found. Attention that is whole in a closed block counts as not checked.",
    needs=(onnx_model,),
)
def split_attention(context: Context) -> Findings:
    join: OnnxJoin = context.engine.onnx
    found = {
        index
        for answer in unfused_attention.look(context)
        if isinstance(answer, Finding)
        for index in answer.layers
    }
    hidden = 0
    for pattern in _select_patterns(context, ("attention",)):
        core = [node for node in pattern.nodes if join.model.nodes[node].op in _CORE]
        places = _find_places(context, core)
        if places is None or places.is_fused or len(places.layers) < 2:
            hidden += places is not None and places.is_closed
            continue
        if not found.isdisjoint(layer.index for layer in places.layers):
            continue
        light = [node for node in pattern.nodes if join.model.nodes[node].op not in _PRODUCTS]
        yield finding(
            f"The {pattern.label} at {quote_layer(places.layers[0])} runs as {len(places.layers)} kernels "
            f"({context.format_time(*places.layers)}); the scores go to memory and back.",
            places.layers,
            confidence=_judge(context, places),
            savings=_own_layers(context, places.layers, light),
            formula="time of the kernels that have no product: a fused kernel keeps the scores on chip",
            evidence=_evidence(context, places, pattern),
            remedy=_open_too(context, places.layers, _ATTENTION_REMEDY),
            group="attentions of the model run as several kernels",
        )
    if hidden:
        yield _describe_hidden(hidden, "attention" if hidden == 1 else "attentions")


_NORM_REMEDY = (
    "Export it as one operator (LayerNormalization from opset 17 on, InstanceNormalization, GroupNormalization) without "
    "casts inside, and build with TensorRT 8.6 or later."
)


@rule(
    "ONNX002",
    "Normalization of the model in several kernels",
    Severity.WARNING,
    looks_for="A layer, RMS, instance or group normalization of the ONNX model, as one operator or as its parts, whose "
    "nodes are in two or more layers.",
    why="Each kernel reads the whole tensor from memory and writes it; a fused kernel reads and writes once.",
    remedy=_NORM_REMEDY,
    references=(FUSION_CATALOG,),
    columns=("onnx_nodes", "latency_ms"),
    not_when="Layers that take no time. A normalization that is whole in a closed block counts as not checked.",
    needs=(onnx_model,),
)
def split_normalization(context: Context) -> Findings:
    join: OnnxJoin = context.engine.onnx
    hidden = 0
    for pattern in _select_patterns(context, _NORMS):
        nodes = [node for node in pattern.nodes if node in join.holders]
        if not nodes:
            continue
        places = _find_places(context, nodes)
        if places is None or places.is_fused or len(places.layers) < 2:
            hidden += places is not None and places.is_closed
            continue
        own = _own_layers(context, places.layers, pattern.nodes)
        longest = max(places.layers, key=lambda layer: layer.latency_ms or 0.0)
        yield finding(
            f"The {pattern.label} at {quote_layer(places.layers[0])} runs as {len(places.layers)} kernels "
            f"({context.format_time(*places.layers)}).",
            places.layers,
            confidence=_judge(context, places),
            savings=[layer for layer in own if layer is not longest],
            formula="time of the kernels that have no other nodes, without the longest kernel",
            evidence=_evidence(context, places, pattern),
            remedy=_open_too(context, places.layers, _NORM_REMEDY),
            group="normalizations of the model run as several kernels",
        )
    if hidden:
        yield _describe_hidden(hidden, "normalization" if hidden == 1 else "normalizations")


@rule(
    "ONNX003",
    "Constant computed in every run",
    Severity.WARNING,
    looks_for="A layer that takes time and whose ONNX nodes depend on parameters and constants only.",
    why="Its result is the same in each run; TensorRT did not fold it while it built.",
    remedy="Fold constants before the build: `polygraphy surgeon sanitize --fold-constants`, or onnxsim. Check why TensorRT "
    "did not: a plugin, a data-dependent shape, or a tensor above the size limit of the folding.",
    references=(
        "Polygraphy, surgeon sanitize --fold-constants: https://github.com/NVIDIA/TensorRT/tree/main/tools/Polygraphy",
    ),
    columns=("onnx_nodes", "latency_ms"),
    not_when="Nodes that depend on a shape that is not fixed in the model; weights that are widened where they are used "
    "(DequantizeLinear); layers of constants; closed blocks.",
    needs=(onnx_model,),
)
def unfolded_constant(context: Context) -> Findings:
    for layer, nodes in _constant_layers(context):
        names = [node for node in layer.onnx_nodes if node in nodes]
        yield finding(
            f"{quote_layer(layer)} computes {plural(len(nodes), 'constant node')} of the model in every run: "
            f"{context.format_time(layer)}.",
            [layer],
            confidence=Confidence.HIGH,
            savings=[layer],
            formula="time of the layer",
            evidence={
                "nodes": ", ".join(names[:_MOST_NAMED]) + (" …" if len(names) > _MOST_NAMED else ""),
                "latency_ms": layer.latency_ms,
            },
            group="layers compute constants of the model in every run",
        )


def _constant_layers(context: Context) -> Iterator[tuple[Layer, set[str]]]:
    """Yield layers whose nodes are all constant, with the names of the nodes."""
    from trex_tui.old.analysis.onnx_model.model import (
        find_constants,  # hashlib, for engines with a model only
    )

    join: OnnxJoin = context.engine.onnx
    constants = find_constants(join.model, join.model.inputs)
    for layer, found in zip(context.layers, join.layers, strict=True):
        if found.is_block or layer.kind is LayerKind.CONSTANT or not takes_time(layer):
            continue
        nodes = join.nodes(layer)
        is_constant = all(constants.issuperset(filter(None, node.outputs)) for node in nodes)
        if nodes and is_constant and not _KEPT.issuperset(node.op for node in nodes):
            yield layer, {node.name for node in nodes}
