"""ATTN: attention split into separate kernels, and projections computed separately."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from trex_tui.old.analysis.structure import sum_latency_ms
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer
from trex_tui.old.lint.context import Context, details, issue, no_details, quote_layer, takes_time
from trex_tui.old.lint.dataflow import IDLE, MOST_VISITED, beyond
from trex_tui.old.lint.model import (
    Confidence,
    Finding,
    Findings,
    NotChecked,
    Severity,
    finding,
    not_checked,
    rule,
    strength,
)
from trex_tui.old.text import plural

_BETWEEN = IDLE | {
    LayerKind.POINTWISE,
    LayerKind.SCALE,
    LayerKind.REFORMAT,
    LayerKind.SHUFFLE,
    LayerKind.QUANTIZE,
}
NEAR = 12
"""With names only: the largest number of layers between a softmax and the GEMMs of its attention."""
_MOVED = IDLE | {LayerKind.REFORMAT, LayerKind.SHUFFLE, LayerKind.SLICE, LayerKind.QUANTIZE}


class UnfusedAttention(NamedTuple):
    """Attention as separate kernels.

    Attributes:
        score: The product of queries and keys.
        between: Layers between the two products, including the softmax, without layers that take no time.
        value: The product with the values.
    """

    score: Layer
    between: tuple[Layer, ...]
    value: Layer


def _find_unfused(context: Context) -> Iterator[UnfusedAttention]:
    """Yield products of two activations, with a softmax over the result and a product of that with an activation."""
    for softmax in context.select(LayerKind.SOFTMAX):
        scores, values = (
            [
                layer
                for layer in beyond(context, softmax, _BETWEEN, forward=forward)
                if _joins_activations(context, layer)
            ]
            for forward in (False, True)
        )
        if len(scores) == 1 and len(values) == 1 and scores[0].index < softmax.index < values[0].index:
            between = _kernels_between(context, scores[0], values[0])
            yield UnfusedAttention(scores[0], between, values[0])


def _joins_activations(context: Context, layer: Layer) -> bool:
    """Return whether a GEMM multiplies two computed matrices; weights, including hidden ones, are not activations."""
    if layer.kind is not LayerKind.GEMM:
        return False
    computed = {link.tensor for link in context.engine.producers(layer)} | context.network_tensors
    known = [
        tensor
        for tensor in layer.data_inputs
        if len(tensor.shape) >= 2 and (tensor.volume or 0) > 1 and tensor.name in computed
    ]
    # One of three matrices may be added after the product, so the shapes must show that two are multiplied.
    return len(known) == 2 or (len(known) > 2 and context.compute[layer.index].macs is not None)


def _kernels_between(context: Context, first: Layer, last: Layer) -> tuple[Layer, ...]:
    """Return layers that take time on the way from one product to the other."""
    on_the_way = _reached(first, last, context.consumers) & _reached(last, first, context.producers)
    return tuple(layer for layer in map(context.layers.__getitem__, sorted(on_the_way)) if takes_time(layer))


def _reached(start: Layer, end: Layer, step: Callable[[Layer], list[Layer]]) -> set[int]:
    """Return indices of the light layers reached by steps from `start` before `end`."""
    low, high = sorted((start.index, end.index))
    reached: set[int] = set()
    waiting = step(start)
    while waiting and len(reached) < MOST_VISITED:
        layer = waiting.pop()
        light = layer.kind is LayerKind.SOFTMAX or layer.kind in _BETWEEN
        if light and layer.index not in reached and low < layer.index < high:
            reached.add(layer.index)
            waiting.extend(step(layer))
    return reached


def _skip_opaque_blocks(context: Context) -> Iterator[NotChecked]:
    if count := len(context.opaque_blocks):
        are = "is" if count == 1 else "are"
        yield not_checked(
            f"{plural(count, 'Myelin block')} {are} opaque: TensorRT 10 and later list their kernels",
            count,
        )


def profile_or_details(context: Context) -> str:
    """Types, shapes and tactics of layers; or their names and times."""
    return "" if context.has_profile else details(context)


def _find_softmax_by_name(context: Context) -> Findings:
    """Yield softmax kernels between GEMMs, according to names and the order in the file."""
    products = [layer.index for layer in context.layers if layer.kind is LayerKind.GEMM]
    layers = [
        layer
        for layer in context.select(LayerKind.SOFTMAX)
        if takes_time(layer) and _lies_between(layer.index, products)
    ]
    if not layers:
        yield not_checked(no_details(context))
        return
    yield finding(
        f"{plural(len(layers), 'softmax')} between GEMMs, by layer names, "
        f"{'runs as a separate kernel' if len(layers) == 1 else 'run as separate kernels'}: "
        f"{context.format_time(*layers)}. The attention is not fused.",
        layers,
        confidence=Confidence.LOW,
        savings=layers,
        formula="time of the softmax kernels: a fused kernel keeps the scores on chip",
        evidence={"softmax_layers": len(layers), "softmax_ms": sum_latency_ms(layers)},
    )


def _lies_between(index: int, products: Sequence[int]) -> bool:
    """Return whether a product is near before a layer, and another near after it."""
    place = bisect_left(products, index)
    return (
        0 < place < len(products) and index - products[place - 1] <= NEAR and products[place] - index <= NEAR
    )


@rule(
    "ATTN001",
    "Unfused attention",
    Severity.WARNING,
    looks_for="A softmax between two GEMMs of activations, with only pointwise operations and data movement between "
    "them.",
    why="The scores (quadratic in the sequence length) are written to memory and read back; a fused kernel does "
    "not store them.",
    remedy="Write plain MatMul → scale → mask → Softmax → MatMul, in 16 bit, with a head size of 16 to 256 "
    "(multiple of 8) and no casts in between.",
    references=(issue(2981), issue(3575)),
    columns=("kind", "input_shapes", "output_shapes", "latency_ms"),
    not_when="A softmax over scores of one activation and weights (gating, deformable attention). Opaque Myelin "
    "blocks count as not checked. With names only, the rule uses the file order, which is less certain.",
    needs=(profile_or_details,),
)
def unfused_attention(context: Context) -> Findings:
    if not context.has_details:
        yield from _find_softmax_by_name(context)
        return
    yield from _skip_opaque_blocks(context)
    for score, between, value in _find_unfused(context):
        kernels = (score, *between, value)
        yield finding(
            f"Attention around {quote_layer(score)} runs as {len(kernels)} kernels "
            f"({context.format_time(*kernels)}); the scores go to memory and back.",
            kernels,
            savings=between,
            formula=("time of the kernels between the two GEMMs: a fused kernel keeps the scores on chip"),
            evidence={
                "kernels": len(kernels),
                "scores_shape": str(score.outputs[0].shape if score.outputs else ()),
                "precision": score.precision.value if score.precision else None,
                "head_size": context.compute[score.index].k,
            },
        )


@rule(
    "ATTN002",
    "Separate Q, K and V projections",
    Severity.INFO,
    looks_for="Two or more GEMMs with weights that read the same tensor and feed one attention, with only data "
    "movement in between.",
    why="One GEMM with concatenated Q, K and V weights reads the input once and fills the GPU better.",
    remedy="Concatenate the weights of the projections in the model and split the result.",
    references=(issue(2981),),
    columns=("kind", "input_shapes", "latency_ms"),
    not_when=(
        "Projections of different tensors: cross-attention, or a position embedding added to Q and K only."
    ),
    needs=(details,),
)
def separate_projections(context: Context) -> Findings:
    yield from _skip_opaque_blocks(context)
    seen: set[frozenset[int]] = set()
    scores = (block.score for block in _find_unfused(context))
    for attention in (*context.select(LayerKind.ATTENTION), *scores):
        for gemms in _group_projections(context, attention):
            key = frozenset(gemm.index for gemm in gemms)
            if key in seen:
                continue
            seen.add(key)
            longest = max(gemms, key=lambda gemm: gemm.latency_ms or 0.0)
            yield finding(
                f"{plural(len(gemms), 'GEMM')} read one tensor and feed {quote_layer(attention)}: "
                f"{context.format_time(*gemms)}. One GEMM with concatenated weights can replace them.",
                gemms,
                savings=[gemm for gemm in gemms if gemm is not longest],
                formula="sum of layer times without the longest (upper bound: the merged GEMM is larger)",
                evidence={
                    "gemms": len(gemms),
                    "tensor": gemms[0].data_inputs[0].name,
                    "gemms_ms": sum_latency_ms(gemms),
                },
            )


def _group_projections(context: Context, attention: Layer) -> list[list[Layer]]:
    """Return groups of GEMMs that feed an attention and read the same value, with at most movement between."""
    groups: dict[tuple[str, tuple[int, ...]], list[Layer]] = {}
    for gemm in beyond(context, attention, _MOVED, forward=False):
        inputs = gemm.data_inputs
        if gemm.kind is LayerKind.GEMM and inputs and not _joins_activations(context, gemm):
            links = context.engine.producers(gemm)
            writers = tuple(sorted(link.source for link in links if link.tensor == inputs[0].name))
            groups.setdefault((inputs[0].name, writers), []).append(gemm)
    return [group for group in groups.values() if len(group) > 1]


@strength(
    "ATTN",
    "Fused attention",
    "All attention runs in fused kernels with merged projections.",
    ("kind",),
    without=(unfused_attention, separate_projections),
)
def fused_attention(context: Context) -> Finding | None:
    blocks = context.select(LayerKind.ATTENTION)
    if not blocks:
        return None
    text = f"{plural(len(blocks), 'attention block')} fused into one kernel each, with merged projections."
    return finding(text, blocks, evidence={"layers": len(blocks)})
