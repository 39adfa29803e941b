"""ATTN: attention split into separate kernels, and projections computed separately."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from trex_tui.engine.kinds import LayerKind
from trex_tui.lint.context import (
    IDLE,
    MOST_VISITED,
    TRANSPARENT,
    Context,
    details,
    issue,
    no_details,
    per_context,
    size_of,
    skip_closed_blocks,
)
from trex_tui.lint.rule import INFO, LOW, WARNING, Finding, Findings, finding, not_checked, rule, strength
from trex_tui.text import plural

_BETWEEN = TRANSPARENT | {LayerKind.POINTWISE}
_LIGHT = _BETWEEN | {LayerKind.SOFTMAX}
_MOVED = IDLE | {LayerKind.REFORMAT, LayerKind.SHUFFLE, LayerKind.SLICE, LayerKind.QUANTIZE}
NEAR = 12
"""With names only: the largest number of layers between a softmax and the GEMMs of its attention."""


class UnfusedAttention(NamedTuple):
    """Attention as separate kernels.

    Attributes:
        score: The product of queries and keys.
        between: Layers between the two products, including the softmax, without layers that take no time.
        value: The product with the values.
    """

    score: int
    between: tuple[int, ...]
    value: int


@per_context
def find_unfused(context: Context) -> list[UnfusedAttention]:
    """Return products of two activations, with a softmax over the result and a product of that with an activation."""
    found = []
    for softmax in context.select(LayerKind.SOFTMAX):
        scores, values = (
            [
                layer
                for layer in context.beyond(softmax, _BETWEEN, forward=forward)
                if joins_activations(context, layer)
            ]
            for forward in (False, True)
        )
        if len(scores) == len(values) == 1 and scores[0] < softmax < values[0]:
            between = tuple(_kernels_between(context, scores[0], values[0]))
            found.append(UnfusedAttention(scores[0], between, values[0]))
    return found


def joins_activations(context: Context, layer: int) -> bool:
    """Return whether a GEMM multiplies two computed matrices; weights, including hidden ones, are not activations."""
    if context.kinds[layer] != LayerKind.GEMM:
        return False
    computed = {link.tensor for link in context.links_into[layer]} | context.network_tensors
    known = [
        port
        for port in context.data_inputs[layer]
        if len(port.shape) >= 2 and (size_of(port) or 0) > 1 and port.name in computed
    ]
    # One of three matrices may be added after the product, so the shapes must show that two are multiplied.
    return len(known) == 2 or (len(known) > 2 and context.products[layer].macs is not None)


def _kernels_between(context: Context, first: int, last: int) -> Iterator[int]:
    """Yield layers that take time on the way from one product to the other."""
    on_the_way = _reached(context, first, last, context.consumers) & _reached(
        context, last, first, context.producers
    )
    yield from filter(context.takes_time, sorted(on_the_way))


def _reached(context: Context, start: int, end: int, neighbours: list[list[int]]) -> set[int]:
    """Return the light layers reached from `start` before `end`."""
    low, high = sorted((start, end))
    reached: set[int] = set()
    waiting = [*neighbours[start]]
    while waiting and len(reached) < MOST_VISITED:
        layer = waiting.pop()
        if context.kinds[layer] in _LIGHT and layer not in reached and low < layer < high:
            reached.add(layer)
            waiting.extend(neighbours[layer])
    return reached


def _profile_or_details(context: Context) -> str:
    """Types, shapes and tactics of layers; or their names and times."""
    return "" if context.has_profile else details(context)


def _find_softmax_by_name(context: Context) -> Findings:
    """Yield softmax kernels between GEMMs, according to names and the order in the file."""
    products = context.select(LayerKind.GEMM)
    softmax = filter(context.takes_time, context.select(LayerKind.SOFTMAX))
    layers = [layer for layer in softmax if _lies_between(layer, products)]
    if not layers:
        yield not_checked(no_details(context))
        return
    yield finding(
        f"{plural(len(layers), 'softmax kernel')} between GEMMs, by layer names: {context.format_time(*layers)}. The "
        "attention is not fused.",
        layers,
        confidence=LOW,
        savings=context.times(layers),
        estimate="assumes fused attention: no softmax kernels",
        evidence={"softmax_layers": len(layers), "softmax_ms": context.sum_ms(layers)},
    )


def _lies_between(layer: int, products: Sequence[int]) -> bool:
    """Return whether a product is near before a layer, and another near after it."""
    place = bisect_left(products, layer)
    return (
        0 < place < len(products) and layer - products[place - 1] <= NEAR and products[place] - layer <= NEAR
    )


@rule(
    "ATTN001",
    "Unfused attention",
    WARNING,
    looks_for="A softmax between two GEMMs of activations, with only pointwise operations and data movement between "
    "them.",
    why="The scores (quadratic in the sequence length) are written to memory and read back; a fused kernel does "
    "not store them.",
    remedy="Write plain MatMul → scale → mask → Softmax → MatMul, in 16 bit, with a head size of 16 to 256 "
    "(multiple of 8) and no casts in between.",
    references=(issue(2981), issue(3575)),
    columns=("kind", "input_shapes", "output_shapes", "latency_ms"),
    not_when="A softmax over scores of one activation and weights (gating, deformable attention). Closed Myelin "
    "blocks count as not checked. With names only, the rule uses the file order, which is less certain.",
    needs=(_profile_or_details,),
    estimate="assumes one fused kernel: nothing between the two GEMMs",
    formula="time of the kernels between the two GEMMs; with names only, of the softmax kernels",
)
def unfused_attention(context: Context) -> Findings:
    if not context.has_details:
        yield from _find_softmax_by_name(context)
        return
    yield from skip_closed_blocks(context)
    for score, between, value in find_unfused(context):
        kernels = (score, *between, value)
        yield finding(
            f"Attention around {context.quote(score)} runs as {len(kernels)} kernels "
            f"({context.format_time(*kernels)}); the scores go to memory and back.",
            kernels,
            savings=context.times(between),
            evidence={
                "kernels": len(kernels),
                "scores_shape": str(context.outputs[score][0].shape) if context.outputs[score] else None,
                "precision": context.precisions[score],
                "head_size": context.products[score].k,
            },
            group="attention blocks run as several kernels each",
        )


@rule(
    "ATTN002",
    "Separate Q, K and V projections",
    INFO,
    looks_for="Two or more GEMMs with weights that read the same tensor and feed one attention, with only data "
    "movement in between.",
    why="One GEMM with concatenated Q, K and V weights reads the input once and fills the GPU better.",
    remedy="Concatenate the weights of the projections in the model and split the result.",
    references=(issue(2981),),
    columns=("kind", "input_shapes", "latency_ms"),
    not_when="Projections of different tensors: cross-attention, or a position embedding added to Q and K only.",
    needs=(details,),
    estimate="assumes that one GEMM takes as long as the slowest of them: an upper bound",
    formula="sum of layer times without the longest",
)
def separate_projections(context: Context) -> Findings:
    yield from skip_closed_blocks(context)
    seen: set[tuple[int, ...]] = set()
    for attention in (
        *context.select(LayerKind.ATTENTION),
        *(block.score for block in find_unfused(context)),
    ):
        for gemms in _group_projections(context, attention):
            if tuple(sorted(gemms)) in seen:
                continue
            seen.add(tuple(sorted(gemms)))
            longest = context.longest(gemms)
            yield finding(
                f"{plural(len(gemms), 'GEMM')} read one tensor and feed {context.quote(attention)}: "
                f"{context.format_time(*gemms)}. One GEMM with concatenated weights can replace them.",
                gemms,
                savings=context.times(gemm for gemm in gemms if gemm != longest),
                evidence={
                    "gemms": len(gemms),
                    "tensor": context.data_inputs[gemms[0]][0].name,
                    "gemms_ms": context.sum_ms(gemms),
                },
                group="groups of GEMMs read one tensor and feed one attention",
            )


def _group_projections(context: Context, attention: int) -> list[list[int]]:
    """Return groups of GEMMs that feed an attention and read the same value, with at most movement between."""
    groups: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for gemm in context.beyond(attention, _MOVED, forward=False):
        inputs = context.data_inputs[gemm]
        if context.kinds[gemm] == LayerKind.GEMM and inputs and not joins_activations(context, gemm):
            links = context.links_into[gemm]
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


RULES = (unfused_attention, separate_projections, fused_attention)
