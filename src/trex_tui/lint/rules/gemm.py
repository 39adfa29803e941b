"""GEMM: matrix products that only read weights, or fit their tiles badly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from trex_tui.analysis.compute import Product
from trex_tui.analysis.roofline import Tiling, has_plain_schedule
from trex_tui.engine.dtypes import format_rate
from trex_tui.engine.kinds import LayerKind
from trex_tui.lint.context import BIG_COPY_BYTES, MATRIX_GUIDE, Context, details, no_profile, profile
from trex_tui.lint.rule import HIGH, INFO, MEDIUM, WARNING, Findings, NotChecked, Rule, finding, not_checked
from trex_tui.lint.savings import (
    BUSY,
    bandwidth_bytes_per_ms,
    best_bytes_per_ms,
    fraction,
    is_busy,
    is_stalled,
    moving_ms,
    saving,
    shortest_ms,
)
from trex_tui.text import format_count, plural

FEWEST_SMS = 20
"""SMs of a small GPU, where their number is unknown."""
TIMES_SHORTEST = 3.0
LEAST_CALIBRATING = 3
SLOWEST_MEMORY_BYTES_PER_MS = 1.5e7
"""No GPU has less: a Jetson Nano has 25.6 GB/s. An engine whose best layer is below was not measured warm."""
LEAST_BATCH, MOST_PRODUCT = 1024, 4096
"""Number of products from which, and size up to which, a batch of them is a kernel of tiny products."""
SHORT_SIDE = 1024
"""Length from which the longer side of a result fills its tiles without larger batches."""


@Rule(
    "GEMM003",
    "Matrix-vector product bound by weights",
    INFO,
    looks_for="A GEMM or convolution of one row that takes at least 1 % of the time and reads its weights at 60 % or "
    "more of the memory bandwidth (if unknown, of the best rate of a layer that moves at least 1 MB).",
    why="With one row every weight is used once, so tensor cores do not help.",
    remedy=(
        "Batch requests; quantize the weights (INT8, FP8, or INT4 weights); reduce the classifier.",
        "Batch requests; quantize the weights (INT8 or INT4 weights); reduce the classifier.",
        "Batch requests; quantize the weights (INT8); reduce the classifier.",
    ),
    references=(MATRIX_GUIDE,),
    columns=("kind", "gemm_m", "gemm_n", "gemm_k", "weights_bytes", "latency_ms"),
    not_when="Slower layers, which are bound by their launch, not by their weights.",
    needs=(details,),
    estimate="assumes INT8 weights: half of the weight traffic",
    formula="layer time · weight bytes / bytes · ½",
)
def bound_by_weights(context: Context) -> Findings:
    vectors = [layer for layer in context.multiplying if layer in context.matrix_vectors]
    if vectors and not context.has_profile:
        yield not_checked(no_profile(context), len(vectors))
        return
    unknown = 0
    rate, peak = bandwidth_bytes_per_ms(context), "the memory bandwidth"
    if not rate:  # most of an engine without large copies may be such products: the fastest one shows the memory bandwidth
        rate, peak = _find_best_rate(context), "the best rate of this engine"
    for layer in vectors:
        if context.share_pct(layer) < 1.0:
            continue
        size, weights, ms = context.bytes[layer], context.weights_bytes[layer], context.ms[layer]
        reading = weights / rate if weights and rate else None
        if not reading or ms is None:
            unknown += 1
        elif reading >= BUSY * ms:
            yield finding(
                f"{context.quote(layer)} reads its weights at {(weights or 0) / ms / 1e6:.0f} GB/s, "
                f"{100 * reading / ms:.0f} % of {peak}, for one row: {context.format_time(layer)}.",
                [layer],
                confidence=HIGH if bandwidth_bytes_per_ms(context) else MEDIUM,
                savings=fraction(context, layer, (weights / size if weights and size else 1.0) / 2),
                evidence=context.evidence(
                    layer, weights_bytes=weights, bandwidth_pct=round(100 * reading / ms, 1)
                ),
                group=f"matrix-vector products read their weights near {peak}",
            )
    if unknown:
        yield not_checked(
            "weights or memory bandwidth unknown: set the device or its bandwidth in GB/s", unknown
        )


def _find_best_rate(context: Context) -> float | None:
    """Return bytes per millisecond of the fastest layer that moves large data; None with fewer than three of them.

    Layers near the shortest time do not count: their time is launch overhead.
    """
    least = TIMES_SHORTEST * min(filter(None, context.ms), default=0.0)
    rates = [
        size / ms
        for ms, size in zip(context.ms, context.bytes, strict=True)
        if ms and ms >= least and size is not None and size >= BIG_COPY_BYTES
    ]
    best = max(rates, default=0.0)
    return best if len(rates) >= LEAST_CALIBRATING and best >= SLOWEST_MEMORY_BYTES_PER_MS else None


# Products and the tiles of their kernels


def _find_tiled(context: Context) -> Iterator[tuple[int, Product, Tiling]]:
    """Yield convolutions and GEMMs whose kernel names have a tile size: their tiles are parts of the result."""
    for layer in context.select(LayerKind.CONVOLUTION, LayerKind.GEMM):
        product, tiling = context.products[layer], context.tilings[layer]
        is_row = product.m == 1 and product.batch == 1
        if tiling and not is_row and not context.is_depthwise(layer):
            yield layer, product, tiling


def _skip_unknown_products(context: Context) -> Iterator[NotChecked]:
    """Yield the number of layers whose M, N and K are unknown, with the most frequent reason."""
    layers = context.select(LayerKind.CONVOLUTION, LayerKind.GEMM)
    unknown = [context.products[layer].note for layer in layers if context.products[layer].m is None]
    if reasons := Counter(filter(None, unknown)).most_common(1):
        yield not_checked(f"M, N and K are unknown: {reasons[0][0]}", len(unknown))


@Rule(
    "GEMM004",
    "Fewer tiles than SMs",
    INFO,
    looks_for="Convolutions and GEMMs with tiles for less than half of the SMs, if they add up to 10 % of the time.",
    why="A tile is computed by one SM: the others are idle.",
    remedy=(
        "For throughput, run larger batches or several inferences at once (--infStreams).",
        "For throughput, run larger batches or several inferences at once (--streams).",
    ),
    references=(MATRIX_GUIDE,),
    columns=("tactic_tile", "gemm_m", "gemm_n", "gemm_batch", "latency_ms"),
    not_when="Winograd, split-K, stream-K, two-SM and dynamic-cluster kernels, GEMMs of one row, grouped and "
    "depthwise layers: their blocks are not output tiles.",
    needs=(details, profile),
    covered_by=("LAUNCH001",),
)
def idle_processors(context: Context) -> Findings:
    tiled = [
        (layer, tiling.tiles)
        for layer, _, tiling in _find_tiled(context)
        if (tactic := context.tactics[layer]) and has_plain_schedule(tactic)
    ]
    sms = context.device.sms
    if tiled and not sms:
        yield not_checked("number of SMs unknown: keep trtexec's log, or set the device", len(tiled))
        return
    small = {layer: tiles for layer, tiles in tiled if sms and tiles < sms / 2}
    if (context.share_of(small) or 0.0) >= 10.0:
        most = max(small.values())
        yield finding(
            f"{plural(len(small), 'layer')} have at most {plural(most, 'tile')} for {sms} SMs, so more than half of the "
            f"GPU is idle: {context.format_time(*small)}.",
            small,
            evidence=context.evidence(min(small), sms=sms, most_tiles=most, layers=len(small)),
        )
    yield from _skip_unknown_products(context)


@Rule(
    "GEMM005",
    "Tiles larger than the problem",
    WARNING,
    looks_for="Convolutions and GEMMs whose output fills less than 25 % of the tiles, in either tile orientation.",
    why="A kernel computes whole tiles: tensor cores multiply zeros in the unused part.",
    remedy="Merge layers that read the same tensor into one with wider output, or run larger batches.",
    references=(MATRIX_GUIDE,),
    columns=("tactic_tile", "gemm_m", "gemm_n", "gemm_batch", "latency_ms"),
    not_when="Kernels with fewer tiles than SMs, whose empty parts cost nothing while most of the GPU is "
    "idle; layers at 60 % of the memory bandwidth or more, or far below the rates of others; GEMMs of one row, grouped "
    "and depthwise layers; Winograd kernels, whose tiles belong to a transformed GEMM.",
    needs=(details,),
    estimate="share of the empty part of the tiles",
    formula="layer time − max(layer time · useful part of the tiles, bytes / bandwidth, shortest layer)",
    covered_by=("GEMM006",),
)
def empty_tiles(context: Context) -> Findings:
    for layer, product, tiling in _find_tiled(context):
        if tiling.useful >= 0.25 or tiling.tiles < (context.device.sms or FEWEST_SMS):
            continue
        if is_busy(context, layer) or is_stalled(context, layer):
            continue
        ms, moving = context.ms[layer], moving_ms(context, context.bytes[layer]) or 0.0
        better = None if ms is None else max(ms * tiling.useful, moving, shortest_ms(context))
        shape = f"{product.batch or 1} × M {product.m}, N {product.n}, K {product.k}"
        yield finding(
            f"{context.quote(layer)}, {shape}, in tiles of {tiling.rows}×{tiling.columns}, "
            f"{100 * tiling.useful:.1f} % used: {context.format_time(layer)}.",
            [layer],
            savings=saving(context, layer, None if ms is None or better is None else ms - better),
            evidence=context.evidence(layer, useful_pct=round(100 * tiling.useful, 1), tiles=tiling.tiles),
            remedy=_advise_on_tiles(product),
            group="shapes fill only part of their tiles",
        )
    yield from _skip_unknown_products(context)


def _advise_on_tiles(product: Product) -> str:
    if (product.batch or 1) > 1:
        return (
            "Fold the batch into M, if all products use the same weights; else write it as a multiplication "
            "and a sum."
        )
    narrow, long = sorted((product.m or 0, product.n or 0))
    if long < SHORT_SIDE:
        return ""
    columns = "output channels" if narrow == product.n else "rows"
    return (
        f"Merge layers that read the same tensor into one with more {columns}: up to the width of the tile they are "
        "almost free. A larger batch does not help."
    )


@Rule(
    "GEMM006",
    "Batch of tiny products",
    WARNING,
    looks_for="A batch of at least 1 024 products of at most 4 096 multiply-adds each (M · N · K), with "
    "at least 1 % of the time, below a tenth of the rates that other layers of the engine reach.",
    why="Libraries of matrix products start a block of threads for each product, which then has next to "
    "nothing to do. A narrower type does not help.",
    remedy="Write the product as a multiplication and a sum (Mul, ReduceSum): TensorRT generates one "
    "kernel for them that runs at the memory bandwidth.",
    references=(MATRIX_GUIDE,),
    columns=("kind", "tactic", "gemm_m", "gemm_n", "gemm_k", "gemm_batch", "latency_ms"),
    not_when="Generated kernels that reach the rates of other layers.",
    needs=(details, profile),
    estimate="assumes the best rate in bytes per second of this engine",
    formula="layer time − bytes / best rate of the engine",
)
def tiny_products(context: Context) -> Findings:
    for layer in context.select(LayerKind.GEMM):
        product, ms, size = context.products[layer], context.ms[layer], context.bytes[layer]
        if product.macs is None or not product.batch or not ms or size is None:
            continue
        is_tiny = product.batch >= LEAST_BATCH and product.macs <= product.batch * MOST_PRODUCT
        if not is_tiny or context.share_pct(layer) < 1.0 or not is_stalled(context, layer):
            continue
        shape = f"{product.m}×{product.k} · {product.k}×{product.n}"
        rate = f"{format_rate(2e3 * product.macs / ms, None)}, {format_count(1e3 * size / ms)}B/s"
        tactic = context.tactics[layer]
        kernel = f" by {tactic.library}" if tactic else ""
        yield finding(
            f"{context.quote(layer)}: {product.batch} products of {shape}{kernel}, {rate}: "
            f"{context.format_time(layer)}.",
            [layer],
            savings=saving(context, layer, ms - max(size / best_bytes_per_ms(context), shortest_ms(context))),
            evidence=context.evidence(
                layer,
                gemm_batch=product.batch,
                gemm_m=product.m,
                gemm_n=product.n,
                gemm_k=product.k,
                achieved_flops_per_s=2e3 * product.macs / ms,
                achieved_bytes_per_s=1e3 * size / ms,
            ),
            group=f"layers compute {product.batch} products of {shape} each{kernel}",
        )


RULES = (bound_by_weights, idle_processors, empty_tiles, tiny_products)
