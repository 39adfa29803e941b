"""ATTN: attention that TensorRT took apart, and projections it computes one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.lint.context import Context
from trex_tui.lint.dataflow import IDLE, MOST_VISITED, beyond
from trex_tui.lint.lint_text import NO_DETAILS, called, indices, ran, time_of, time_text, whole_time
from trex_tui.lint.model import Confidence, Evidence, Finding, NotChecked, Rule, Severity
from trex_tui.text import plural

_BETWEEN = IDLE | {
    LayerKind.POINTWISE,
    LayerKind.SCALE,
    LayerKind.REFORMAT,
    LayerKind.SHUFFLE,
    LayerKind.QUANTIZE,
}
_MOVED = IDLE | {LayerKind.REFORMAT, LayerKind.SHUFFLE, LayerKind.SLICE, LayerKind.QUANTIZE}


class Unfused(NamedTuple):
    """Attention as separate kernels.

    Attributes:
        score: The product of queries and keys.
        between: What runs between the two products, the softmax among it, without layers that take no time.
        value: The product with the values.
    """

    score: Layer
    between: tuple[Layer, ...]
    value: Layer


def unfused_attention(context: Context) -> list[Unfused]:
    """Products of two activations, a softmax over the result, and a product of that with an activation."""
    found = []
    for softmax in context.layers:
        if softmax.kind is not LayerKind.SOFTMAX:
            continue
        before = [
            one
            for one in beyond(context, softmax, _BETWEEN, forward=False)
            if _joins_activations(context, one)
        ]
        behind = [
            one
            for one in beyond(context, softmax, _BETWEEN, forward=True)
            if _joins_activations(context, one)
        ]
        if len(before) == 1 and len(behind) == 1 and before[0].index < softmax.index < behind[0].index:
            found.append(Unfused(before[0], _kernels_between(context, before[0], behind[0]), behind[0]))
    return found


def _joins_activations(context: Context, layer: Layer) -> bool:
    """Whether a GEMM multiplies two matrices that layers computed; weights, also hidden ones, are no activation."""
    if layer.kind is not LayerKind.GEMM:
        return False
    computed = {link.tensor for link in context.engine.producers(layer)}
    matrices = [
        tensor for tensor in context.data_inputs(layer) if len(tensor.shape) >= 2 and (tensor.volume or 0) > 1
    ]
    known = [one for one in matrices if one.name in computed or one.name in context.network_tensors]
    product = context.compute[layer.index]
    # Of three matrices one may be added behind the product, so the shapes must say that two are multiplied.
    return len(known) >= 2 and (len(known) == 2 or product.macs is not None)


def _kernels_between(context: Context, first: Layer, last: Layer) -> tuple[Layer, ...]:
    """Layers that take time on the way from one product to the other."""
    on_the_way = _reached(first, last, context.consumers) & _reached(last, first, context.producers)
    return tuple(layer for layer in map(context.layers.__getitem__, sorted(on_the_way)) if ran(layer))


def _reached(start: Layer, end: Layer, step: Callable[[Layer], list[Layer]]) -> set[int]:
    """Indices of the light layers that steps from `start` reach before they pass `end`."""
    low, high = sorted((start.index, end.index))
    found: set[int] = set()
    waiting = step(start)
    while waiting and len(found) < MOST_VISITED:
        layer = waiting.pop()
        light = layer.kind is LayerKind.SOFTMAX or layer.kind in _BETWEEN
        if light and layer.index not in found and low < layer.index < high:
            found.add(layer.index)
            waiting.extend(step(layer))
    return found


def opaque_blocks(context: Context) -> list[Layer]:
    """Myelin subgraphs that do not tell what is inside, as TensorRT 8 and 9 list them."""
    return [
        layer
        for layer in context.layers
        if layer.kind is LayerKind.MYELIN and layer.layer_type is not None and layer.layer_type != "kgen"
    ]


def _not_looked_into(context: Context, rule: str) -> Iterator[NotChecked]:
    if not context.has_details:
        yield NotChecked(rule, NO_DETAILS)
    elif opaque := opaque_blocks(context):
        yield NotChecked(
            rule,
            f"{plural(len(opaque), 'Myelin block')} {'is' if len(opaque) == 1 else 'are'} opaque: TensorRT 10 and later "
            "list the kernels inside",
            len(opaque),
        )


def _taken_apart(context: Context) -> Iterator[Finding | NotChecked]:
    yield from _not_looked_into(context, "ATTN001")
    for block in unfused_attention(context):
        whole = (block.score, *block.between, block.value)
        total = time_of(whole)
        shape = block.score.outputs[0].shape if block.score.outputs else ()
        yield Finding(
            "ATTN001",
            f"Attention around {called(block.score)} runs as {len(whole)} kernels "
            f"({time_text(total, context.pct(total))}); the scores go to memory and back.",
            indices(whole),
            confidence=Confidence.MEDIUM,
            stakes_ms=whole_time(block.between),
            formula="latency_ms of the kernels between the two products: a fused kernel keeps the scores on the chip",
            evidence=(
                Evidence("kernels", len(whole)),
                Evidence("scores_shape", str(shape)),
                Evidence("precision", block.score.precision.value if block.score.precision else None),
                Evidence("head_size", context.compute[block.score.index].k),
            ),
        )


def _projections(context: Context) -> Iterator[Finding | NotChecked]:
    yield from _not_looked_into(context, "ATTN002")
    seen: set[tuple[int, ...]] = set()
    for layer in context.layers:
        if layer.kind is LayerKind.ATTENTION:
            for group in separate_projections(context, layer):
                key = indices(group)
                if key in seen:
                    continue
                seen.add(key)
                yield _separate(context, layer, group)
    for block in unfused_attention(context):
        for group in separate_projections(context, block.score):
            key = indices(group)
            if key not in seen:
                seen.add(key)
                yield _separate(context, block.score, group)


def separate_projections(context: Context, attention: Layer) -> list[list[Layer]]:
    """Groups of GEMMs that feed an attention and read the same value; at most movement stands between."""
    groups: dict[tuple[str, tuple[int, ...]], list[Layer]] = {}
    for gemm in beyond(context, attention, _MOVED, forward=False):
        if gemm.kind is not LayerKind.GEMM or _joins_activations(context, gemm):
            continue
        first = next(iter(context.data_inputs(gemm)), None)
        if first is None:
            continue
        writers = tuple(
            sorted(one.source for one in context.engine.producers(gemm) if one.tensor == first.name)
        )
        groups.setdefault((first.name, writers), []).append(gemm)
    return [group for group in groups.values() if len(group) > 1]


def _separate(context: Context, attention: Layer, group: list[Layer]) -> Finding:
    largest = max(group, key=lambda one: one.latency_ms or 0.0)
    others = [one for one in group if one is not largest]
    total = time_of(group)
    return Finding(
        "ATTN002",
        f"{plural(len(group), 'GEMM')} read one tensor to feed {called(attention)}: one GEMM with their weights side by "
        f"side does the same ({time_text(total, context.pct(total))} now).",
        indices(group),
        confidence=Confidence.MEDIUM,
        stakes_ms=whole_time(others),
        formula="sum of latency_ms without the longest: an upper bound, the merged GEMM is larger",
        evidence=(
            Evidence("gemms", len(group)),
            Evidence("tensor", next(iter(context.data_inputs(group[0]))).name),
            Evidence("gemms_ms", total),
        ),
    )


RULES: tuple[Rule, ...] = (
    Rule(
        id="ATTN001",
        title="Attention is not one kernel",
        severity=Severity.WARNING,
        looks_for="A softmax between two GEMMs each of which multiplies two computed matrices, with nothing but pointwise "
        "operations and movement between.",
        why="The scores, quadratic in the sequence length, are written to memory and read back; a fused kernel never "
        "stores them.",
        remedy="Write plain MatMul → scale → mask → Softmax → MatMul, in 16 bit, with a head size of 16 to 256 that is a "
        "multiple of 8, and no casts between.",
        references=(
            "NVIDIA/TensorRT#2981: https://github.com/NVIDIA/TensorRT/issues/2981",
            "NVIDIA/TensorRT#3575: https://github.com/NVIDIA/TensorRT/issues/3575",
        ),
        columns=("kind", "input_shapes", "output_shapes", "latency_ms"),
        check=_taken_apart,
        not_when="A softmax over scores that come from one activation and weights (gating, deformable attention); blocks "
        "that Myelin keeps closed, which are counted as not checked.",
    ),
    Rule(
        id="ATTN002",
        title="Projections of an attention are separate GEMMs",
        severity=Severity.INFO,
        looks_for="Two or more GEMMs with weights that read the same value of the same tensor and feed one attention, with "
        "at most movement between.",
        why="One GEMM with the weights of Q, K and V side by side reads the input once and fills the GPU better.",
        remedy="Concatenate the weights of the projections in the model and split the result.",
        references=("NVIDIA/TensorRT#2981: https://github.com/NVIDIA/TensorRT/issues/2981",),
        columns=("kind", "input_shapes", "latency_ms"),
        check=_projections,
        not_when="Projections of different tensors: cross-attention, or a position embedding that is added to Q and K only.",
    ),
)
