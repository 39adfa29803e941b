"""GEMM: matrix products that miss the tensor cores, fit them badly, or only read weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from trex_tui.analysis.compute import Compute
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.lint.context import Context
from trex_tui.lint.lint_text import (
    CUTLASS,
    MATRIX_GUIDE,
    NO_DETAILS,
    NO_PROFILE,
    TENSOR_CORES,
    called,
    indices,
    time_of,
    time_text,
)
from trex_tui.lint.model import Confidence, Finding, NotChecked, Rule, Severity
from trex_tui.lint.rules.convolution import on_cuda_cores
from trex_tui.lint.savings import BUSY, evidence, fraction, moving_ms
from trex_tui.text import plural

SMALLEST_PRODUCT = 8
"""Smallest extent of a matrix instruction: with less in M, N or K no tensor-core kernel is any use."""
_GRANULES = {
    DataType.FP16: 8,
    DataType.BF16: 8,
    DataType.INT8: 16,
    DataType.FP8: 16,
    DataType.FP32: 4,
    DataType.TF32: 4,
    DataType.INT4: 32,
    DataType.FP4: 32,
}
"""Elements in 128 bits: what tensor-core kernels load at once."""


def why_no_product(context: Context, rule: str, layers: list[Layer]) -> Iterator[NotChecked]:
    """The layers whose M, N and K are not known, with the most frequent reason."""
    reasons = Counter(
        reason for layer in layers if (reason := context.compute[layer.index].reason)
    ).most_common(1)
    if reasons:
        unknown = sum(context.compute[layer.index].m is None for layer in layers)
        yield NotChecked(rule, f"M, N and K are not known: {reasons[0][0]}", unknown)


def _reduced_on_cuda_cores(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("GEMM001", NO_DETAILS)
        return
    kinds = (LayerKind.GEMM, LayerKind.ATTENTION)
    wanted = [
        layer
        for layer in context.layers
        if layer.kind in kinds and not context.is_matrix_vector(layer) and not _is_tiny(context, layer)
    ]
    yield from on_cuda_cores(context, "GEMM001", wanted)


def _is_tiny(context: Context, layer: Layer) -> bool:
    product = context.compute[layer.index]
    return any(one is not None and one < SMALLEST_PRODUCT for one in (product.m, product.n, product.k))


def _odd_dimensions(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("GEMM002", NO_DETAILS)
        return
    gemms = [layer for layer in context.layers if layer.kind is LayerKind.GEMM]
    groups: dict[tuple[int, int, int], list[Layer]] = {}
    for layer in gemms:
        product, granule = context.compute[layer.index], _granule(context, layer)
        if granule is None or product.n is None or product.k is None or context.is_matrix_vector(layer):
            continue
        if product.n > 1 and (product.n % granule or product.k % granule):
            groups.setdefault((product.n, product.k, granule), []).append(layer)
    least = context.threshold("GEMM002.share_pct", 0.05)
    for (n, k, granule), layers in groups.items():
        share = context.pct(time_of(layers))
        if share is None or share >= least:
            yield _misaligned(context, (n, k, granule), layers)
    yield from why_no_product(context, "GEMM002", gemms)


def _granule(context: Context, layer: Layer) -> int | None:
    tactic, precision = context.tactic(layer), context.input_type(layer)
    return _GRANULES.get(precision) if tactic and tactic.tensor_cores and precision else None


def _misaligned(context: Context, key: tuple[int, int, int], layers: list[Layer]) -> Finding:
    n, k, granule = key
    padded_n, padded_k = (-(-size // granule) * granule for size in (n, k))
    waste = 1 - n * k / (padded_n * padded_k)
    stakes: dict[int, float] = {}
    for layer in layers:
        stakes |= fraction(context, layer, waste)
    time = time_of(layers)
    sizes = [f"{name} = {size}" for name, size in (("N", n), ("K", k)) if size % granule]
    return Finding(
        "GEMM002",
        f"{plural(len(layers), 'GEMM')} with {' and '.join(sizes)}, no multiple of {granule}: "
        f"{time_text(time, context.pct(time))}, "
        f"{100 * waste:.0f} % of the padded product is padding.",
        indices(layers),
        stakes_ms=stakes,
        formula="latency_ms · (1 − N · K / (N and K rounded up to 128 bits))",
        evidence=evidence(layers[0], gemm_n=n, gemm_k=k, granule=granule, waste_pct=round(100 * waste, 1)),
    )


def _bound_by_weights(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("GEMM003", NO_DETAILS)
        return
    vectors = [
        layer for layer in context.layers if context.is_compute(layer) and context.is_matrix_vector(layer)
    ]
    if vectors and not context.has_profile:
        yield NotChecked("GEMM003", NO_PROFILE, len(vectors))
        return
    least = context.threshold("GEMM003.share_pct", 1.0)
    vectors = [layer for layer in vectors if (context.pct(layer.latency_ms) or 0.0) >= least]
    unknown = 0
    for layer in vectors:
        reading = moving_ms(context, layer.weights_bytes)
        if not reading or layer.latency_ms is None:
            unknown += 1
        elif reading >= BUSY * layer.latency_ms:
            yield _weights_finding(context, layer, reading / layer.latency_ms)
    if unknown:
        reason = (
            "the weights or the memory bandwidth are not known: state the device, or its bandwidth in GB/s"
        )
        yield NotChecked("GEMM003", reason, unknown)


def _weights_finding(context: Context, layer: Layer, share: float) -> Finding:
    size, weights = context.bytes(layer), layer.weights_bytes
    part = weights / size if weights and size else 1.0
    precision = layer.precision
    gigabytes = (weights or 0) / (layer.latency_ms or 1.0) / 1e6
    return Finding(
        "GEMM003",
        f"{called(layer)} reads its weights at {gigabytes:.0f} GB/s, {100 * share:.0f} % of the bandwidth, for one row: "
        f"{time_text(layer.latency_ms, context.pct(layer.latency_ms))}.",
        (layer.index,),
        confidence=Confidence.HIGH,
        stakes_ms=fraction(context, layer, part / 2),
        formula="latency_ms · weights_bytes / bytes · ½: weights of half the width"
        + (f" (now {precision.value})" if precision else ""),
        evidence=evidence(layer, weights_bytes=weights, bandwidth_pct=round(100 * share, 1)),
    )


def describe_product(product: Compute) -> str:
    """`M = 6272, N = 256, K = 1152`, with the batch in front if there is one."""
    batch = f"{product.batch} × " if product.batch and product.batch > 1 else ""
    return f"{batch}M = {product.m}, N = {product.n}, K = {product.k}"


RULES: tuple[Rule, ...] = (
    Rule(
        id="GEMM001",
        title="Reduced-precision GEMM or attention on CUDA cores",
        severity=Severity.WARNING,
        looks_for="A GEMM or fused attention whose data is FP16, BF16 or quantized and whose kernel, by its name, "
        "does not use "
        "tensor cores.",
        why="The device's tensor cores multiply these types several times faster than its CUDA cores.",
        remedy="Make K and N multiples of 8 (16 for 8-bit types); batch the calls; keep both operands in the reduced type.",
        references=(MATRIX_GUIDE, CUTLASS),
        columns=("kind", "tactic", "tensor_cores", "precision", "gemm_m", "gemm_n", "gemm_k", "latency_ms"),
        check=_reduced_on_cuda_cores,
        not_when="Matrix-vector products, which are bound by reading the weights (GEMM003); M, N or K below 8; layers "
        "at 60 % of "
        "the bandwidth or more; devices without tensor cores.",
    ),
    Rule(
        id="GEMM002",
        title="GEMM dimensions are not aligned",
        severity=Severity.INFO,
        looks_for="GEMMs on tensor cores whose N or K is no multiple of 128 bits: 4 elements of TF32, 8 of FP16, 16 "
        "of INT8. One "
        "finding for each pair of N and K that takes 0.05 % of the time or more.",
        why="Tensor-core kernels load 128 bits at a time. Other sizes are padded, or fall back to narrower loads.",
        remedy="Pad heads and classes (50 to 56), or merge small GEMMs over the same input into one and split its result.",
        references=(MATRIX_GUIDE, TENSOR_CORES),
        columns=("kind", "tactic", "tensor_cores", "gemm_n", "gemm_k", "latency_ms"),
        check=_odd_dimensions,
        not_when="Judged from the sizes alone: the kernel's suffix _alignN is what it demands at most. Matrix-vector "
        "products "
        "and attention are left out.",
    ),
    Rule(
        id="GEMM003",
        title="Matrix-vector product, bound by reading weights",
        severity=Severity.INFO,
        looks_for="A GEMM or convolution of one row that takes 1 % of the time or more and reads its weights at 60 % of the "
        "memory bandwidth or more.",
        why="With one row every weight is used once. The arithmetic is free, and tensor cores would not help.",
        remedy="Batch the requests; quantize the weights alone (INT8, INT4, FP8); make the classifier smaller.",
        references=(MATRIX_GUIDE,),
        columns=("kind", "gemm_m", "gemm_n", "gemm_k", "weights_bytes", "latency_ms"),
        check=_bound_by_weights,
        not_when="Slower than that: such a layer waits for its launch, not for its weights.",
    ),
)
