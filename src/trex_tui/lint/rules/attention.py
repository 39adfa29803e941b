"""ATTN: attention split into separate kernels."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.engine.kinds import LayerKind
from trex_tui.lint.context import (
    MOST_VISITED,
    TRANSPARENT,
    Context,
    details,
    issue,
    size_of,
    skip_closed_blocks,
)
from trex_tui.lint.rule import GOOD, HIGH, WARNING, Findings, Rule, finding
from trex_tui.text import plural

_BETWEEN = TRANSPARENT | {LayerKind.POINTWISE}
_LIGHT = _BETWEEN | {LayerKind.SOFTMAX}


def find_unfused(context: Context) -> Iterator[list[int]]:
    """Yield the kernels of each attention: a product of two activations, layers with a softmax, a product with values."""
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
            yield [scores[0], *_kernels_between(context, scores[0], values[0]), values[0]]


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


@Rule(
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
    "blocks count as not checked.",
    needs=(details,),
    estimate="assumes one fused kernel: nothing between the two GEMMs",
    formula="time of the kernels between the two GEMMs",
)
def unfused_attention(context: Context) -> Findings:
    yield from skip_closed_blocks(context)
    for kernels in find_unfused(context):
        score, *between, _ = kernels
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


@Rule(
    "OK-ATTN",
    "Fused attention",
    GOOD,
    looks_for="All attention runs in fused kernels.",
    columns=("kind",),
)
def fused_attention(context: Context) -> Findings:
    if unfused_attention.find(context):
        return
    blocks = context.select(LayerKind.ATTENTION)
    if not blocks:
        return
    text = f"{plural(len(blocks), 'attention block')} fused into one kernel each."
    yield finding(text, blocks, confidence=HIGH, evidence={"layers": len(blocks)})


RULES = (unfused_attention, fused_attention)
