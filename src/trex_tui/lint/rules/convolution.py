"""CONV: products that do not run on tensor cores."""

from __future__ import annotations

from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.lint.context import CUTLASS, NO_DEVICE, TENSOR_CORES, Context, details, issue
from trex_tui.lint.rule import GOOD, HIGH, LOW, MEDIUM, WARNING, Findings, Rule, finding, not_checked
from trex_tui.lint.savings import (
    LEAST_REACH_OF_CORES,
    fraction,
    is_busy,
    is_stalled,
    saving,
    tensor_core_ms,
    tensor_cores_for,
)
from trex_tui.text import plural

FIRST_CHANNELS = 4
"""A convolution with at most this many input channels is a first convolution: no kernel uses its full width."""
SMALLEST_PRODUCT = 8
"""Smallest extent of a matrix instruction: with a smaller M, N or K tensor cores do not help."""


@Rule(
    "CONV001",
    "Reduced precision on CUDA cores",
    WARNING,
    looks_for="A convolution, GEMM or fused attention in FP16, BF16, INT8, FP8, INT4 or FP4 whose kernel name shows no "
    "tensor cores.",
    why="Tensor cores process these types several times faster than CUDA cores.",
    remedy="Make channels (of a GEMM, K and N) multiples of 8, for 8-bit types of 32: INT8 layouts of 4 channels lead "
    "to DP4A kernels. Quantize the output too, and increase the workspace.",
    references=(TENSOR_CORES, CUTLASS, issue(1310)),
    columns=("kind", "tactic", "tensor_cores", "precision", "latency_ms", "macs", "input_formats"),
    not_when="Depthwise convolutions, which have no tensor-core kernels; at most 4 input channels per group; "
    "matrix-vector products (GEMM003); M, N or K below 8; layers at 60 % of the memory bandwidth or more, or far below "
    "the rates of others; devices without tensor cores.",
    needs=(details,),
    estimate="assumes tensor cores at two thirds of their roofline; an upper bound where peaks or MACs are unknown",
    formula="layer time − max(1.5 · roof on tensor cores, shortest layer); roof = max(2 · macs / peak, bytes / "
    "bandwidth); the layer time where peaks or MACs are unknown",
)
def reduced_precision_on_cuda_cores(context: Context) -> Findings:
    unknown = unstated = 0
    for layer in filter(context.is_reduced, context.multiplying):
        precision, tactic = DataType(str(context.input_types[layer])), context.tactics[layer]
        if not _may_use_tensor_cores(context, layer) or (tactic and tactic.tensor_cores):
            continue
        if tactic is None or tactic.tensor_cores is None:
            unknown += 1
            continue
        available = tensor_cores_for(context, precision)
        unstated += available is None
        if not available or is_busy(context, layer) or is_stalled(context, layer, LEAST_REACH_OF_CORES):
            continue
        better, ms = tensor_core_ms(context, layer, precision), context.ms[layer]
        if better is not None and ms is not None and better >= ms:
            continue
        is_known = better is not None and bool(ms)
        yield finding(
            f"{context.quote(layer)} runs {precision.value} on CUDA cores: {context.format_time(layer)}.",
            [layer],
            confidence=MEDIUM if is_known or not context.has_profile else LOW,
            savings=saving(context, layer, (ms or 0.0) - (better or 0.0))
            if is_known
            else fraction(context, layer, 1.0),
            evidence=context.evidence(layer, tensor_cores="no"),
            group=f"layers run {precision.value} on CUDA cores",
        )
    if unknown:
        yield not_checked(
            "the tactic name is missing, or does not show whether the kernel uses tensor cores", unknown
        )
    if unstated:
        yield not_checked(NO_DEVICE, unstated)


def _may_use_tensor_cores(context: Context, layer: int) -> bool:
    """Return whether a product is large enough: not depthwise, no first convolution, no product of one row or column."""
    product, channels = context.products[layer], context.channels(layer)
    is_convolution = context.kinds[layer] == LayerKind.CONVOLUTION
    is_narrow = channels is not None and channels // context.groups(layer) <= FIRST_CHANNELS
    if layer in context.matrix_vectors or (is_convolution and (is_narrow or context.is_depthwise(layer))):
        return False
    return all(size is None or size >= SMALLEST_PRODUCT for size in (product.m, product.n, product.k))


def reads_few_channels(context: Context, layer: int) -> bool:
    """Return whether a layer is a convolution over the channels of an image."""
    channels = context.channels(layer)
    is_convolution = context.kinds[layer] == LayerKind.CONVOLUTION and not context.is_depthwise(layer)
    return is_convolution and channels is not None and channels <= FIRST_CHANNELS


@Rule(
    "OK-TC",
    "Tensor cores used everywhere possible",
    GOOD,
    looks_for="Every convolution, GEMM and attention runs on tensor cores, except depthwise convolutions, "
    "matrix-vector products and first convolutions of up to 4 channels.",
    columns=("kind", "tensor_cores"),
)
def tensor_cores_used(context: Context) -> Findings:
    able = [layer for layer in context.multiplying if _is_able(context, layer)]
    tactics = [context.tactics[layer] for layer in able]
    if not able or not all(tactic is not None and tactic.tensor_cores for tactic in tactics):
        return
    closed = len(context.closed_blocks)
    besides = f" ({plural(closed, 'closed Myelin block')} not counted)" if closed else ""
    text = f"On tensor cores: {len(able)} of {len(able)} convolutions and GEMMs that can be{besides}."
    yield finding(text, able, confidence=HIGH, evidence={"layers": len(able)})


def _is_able(context: Context, layer: int) -> bool:
    if context.layer_types[layer] is None or context.devices[layer] == "DLA":
        return False
    return not (
        context.is_depthwise(layer) or layer in context.matrix_vectors or reads_few_channels(context, layer)
    )


RULES = (reduced_precision_on_cuda_cores, tensor_cores_used)
