"""GEMM: matrix products that do not run on tensor cores, fit them or their tiles badly, or only read weights."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from trex_tui.analysis.compute import Product
from trex_tui.analysis.roofline import Tiling, has_plain_schedule
from trex_tui.engine.dtypes import format_rate
from trex_tui.engine.kinds import LayerKind
from trex_tui.lint.context import (
    BIG_COPY_BYTES,
    CUTLASS,
    MATRIX_GUIDE,
    TENSOR_CORES,
    Context,
    details,
    no_profile,
    per_context,
    profile,
)
from trex_tui.lint.rule import (
    HIGH,
    INFO,
    LOW,
    MEDIUM,
    WARNING,
    Findings,
    NotChecked,
    finding,
    not_checked,
    rule,
)
from trex_tui.lint.rules.convolution import TENSOR_CORE_FORMULA, find_on_cuda_cores, is_tiny
from trex_tui.lint.savings import (
    BUSY,
    bandwidth_bytes_per_ms,
    best_bytes_per_ms,
    fraction,
    fractions,
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
LARGEST_TILE = 2 * 128 * 128
"""Elements of the result that an SM holds at most, in one or several blocks."""
_GRANULES = {"FP16": 8, "BF16": 8, "INT8": 16, "FP8": 16, "FP32": 4, "TF32": 4, "INT4": 32, "FP4": 32}
"""Elements in 128 bits: the width of a load in tensor-core kernels."""


def _skip_unknown_products(context: Context, layers: list[int]) -> Iterator[NotChecked]:
    """Yield the layers whose M, N and K are unknown, with the most frequent reason."""
    unknown = [context.products[layer].note for layer in layers if context.products[layer].m is None]
    reasons = Counter(filter(None, unknown)).most_common(1)
    if reasons:
        yield not_checked(f"M, N and K are unknown: {reasons[0][0]}", len(unknown))


def _describe(product: Product) -> str:
    """Return `M = 6272, N = 256, K = 1152`, preceded by the batch if there is one."""
    batch = f"{product.batch} × " if product.batch and product.batch > 1 else ""
    return f"{batch}M = {product.m}, N = {product.n}, K = {product.k}"


@rule(
    "GEMM001",
    "Reduced-precision GEMM or attention on CUDA cores",
    WARNING,
    looks_for="A GEMM or fused attention in FP16, BF16 or a quantized type whose kernel name shows no tensor cores.",
    why="Tensor cores process these types several times faster than CUDA cores.",
    remedy="Make K and N multiples of 8 (16 for 8-bit types); batch the calls; keep both operands in the reduced type.",
    references=(MATRIX_GUIDE, CUTLASS),
    columns=("kind", "tactic", "tensor_cores", "precision", "gemm_m", "gemm_n", "gemm_k", "latency_ms"),
    not_when="Matrix-vector products, which are bound by their weights (GEMM003); M, N or K below 8; layers at 60 % "
    "of the bandwidth or more; devices without tensor cores.",
    needs=(details,),
    formula=TENSOR_CORE_FORMULA,
)
def reduced_gemm_on_cuda_cores(context: Context) -> Findings:
    layers = context.select(LayerKind.GEMM, LayerKind.ATTENTION)
    return find_on_cuda_cores(
        context,
        [
            layer
            for layer in layers
            if layer not in context.matrix_vectors and not is_tiny(context.products[layer])
        ],
    )


@rule(
    "GEMM002",
    "Unaligned GEMM dimensions",
    INFO,
    looks_for="Tensor-core GEMMs whose N or K is not a multiple of 128 bits: 4 elements of TF32, 8 of FP16, 16 of "
    "INT8. One finding per pair of N and K from 0.05 % of the time on.",
    why="Tensor-core kernels load 128 bits at a time. Other sizes are padded or use narrower loads.",
    remedy="Pad heads and classes (50 to 56), or merge small GEMMs over the same input into one and split its result.",
    references=(MATRIX_GUIDE, TENSOR_CORES),
    columns=("kind", "tactic", "tensor_cores", "gemm_n", "gemm_k", "latency_ms"),
    not_when="Matrix-vector products and attention. Only sizes count: the kernel suffix _alignN is an upper bound.",
    needs=(details,),
    thresholds={"share_pct": 0.05},
    estimate="share of padding in N and K (128-bit alignment)",
    formula="layer time · (1 − N · K / (N and K rounded up to 128 bits))",
)
def unaligned_dimensions(context: Context, share_pct: float) -> Findings:
    gemms = context.select(LayerKind.GEMM)
    groups: dict[tuple[int, int, int], list[int]] = {}
    for layer in gemms:
        product, granule = context.products[layer], _granule(context, layer)
        if granule is None or product.n is None or product.k is None or layer in context.matrix_vectors:
            continue
        if product.n > 1 and (product.n % granule or product.k % granule):
            groups.setdefault((product.n, product.k, granule), []).append(layer)
    for (n, k, granule), layers in groups.items():
        share = context.share_of(layers)
        if share is not None and share < share_pct:
            continue
        padded_n, padded_k = (-(-size // granule) * granule for size in (n, k))
        waste = 1 - n * k / (padded_n * padded_k)
        sizes = [f"{name} = {size}" for name, size in (("N", n), ("K", k)) if size % granule]
        yield finding(
            f"{plural(len(layers), 'GEMM')} with {' and '.join(sizes)}, not a multiple of {granule}: "
            f"{context.format_time(*layers)}, {100 * waste:.0f} % of the multiply-adds are padding.",
            layers,
            savings=fractions(context, layers, waste),
            evidence=context.evidence(
                layers[0], gemm_n=n, gemm_k=k, granule=granule, waste_pct=round(100 * waste, 1)
            ),
            group=f"GEMM shapes are not a multiple of {granule}",
        )
    yield from _skip_unknown_products(context, gemms)


def _granule(context: Context, layer: int) -> int | None:
    tactic, precision = context.tactics[layer], context.input_types[layer]
    return _GRANULES.get(precision) if tactic and tactic.tensor_cores and precision else None


@rule(
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
    thresholds={"share_pct": 1.0},
    estimate="assumes INT8 weights: half of the weight traffic",
    formula="layer time · weight bytes / bytes · ½",
)
def bound_by_weights(context: Context, share_pct: float) -> Findings:
    vectors = [layer for layer in context.multiplying if layer in context.matrix_vectors]
    if not vectors:
        return
    if not context.has_profile:
        yield not_checked(no_profile(context), len(vectors))
        return
    unknown = 0
    rate, peak = bandwidth_bytes_per_ms(context), "the memory bandwidth"
    if not rate:  # most of an engine without large copies may be such products: the fastest one shows the memory bandwidth
        rate, peak = _find_best_rate(context), "the best rate of this engine"
    for layer in vectors:
        if context.share_pct(layer) < share_pct:
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


class TiledProduct(NamedTuple):
    """Layers with the same product and tile."""

    layers: list[int]
    product: Product
    tiling: Tiling
    has_plain_schedule: bool

    @property
    def description(self) -> str:
        """Return count, product and tile, for the beginning of a sentence."""
        tile = f"{self.tiling.rows}×{self.tiling.columns}"
        return f"{plural(len(self.layers), 'layer')} with {_describe(self.product)} in tiles of {tile}"


@per_context
def find_tiled(context: Context) -> list[TiledProduct]:
    """Return convolutions and GEMMs whose kernel names have a tile size, grouped by product and tile."""
    groups: dict[tuple[Product, Tiling, bool], list[int]] = {}
    for layer in context.select(LayerKind.CONVOLUTION, LayerKind.GEMM):
        tactic, product, tiling = context.tactics[layer], context.products[layer], context.tilings[layer]
        if (
            tactic
            and tiling
            and not (product.m == 1 and product.batch == 1)
            and not context.is_depthwise(layer)
        ):
            groups.setdefault((product, tiling, has_plain_schedule(tactic)), []).append(layer)
    return [TiledProduct(layers, *key) for key, layers in groups.items()]


@rule(
    "GEMM004",
    "Partial last wave (tile quantization)",
    INFO,
    looks_for="Convolutions and GEMMs of at least 0.5 % of the time with 1 to 4 waves of tiles of which less than 70 "
    "% is used; and layers with tiles for less than half of the SMs, if they add up to 10 %.",
    why="Thread blocks run in waves. A last wave with a few tiles takes as long as a full one.",
    remedy="Choose a batch that fills the last wave; look for another tactic. A single such layer is harmless.",
    references=(MATRIX_GUIDE,),
    columns=("tactic_tile", "gemm_m", "gemm_n", "gemm_batch", "latency_ms"),
    not_when="Winograd, split-K, stream-K, two-SM and dynamic-cluster kernels, GEMMs of one row, grouped and "
    "depthwise layers: their blocks are not output tiles. An SM may hold several blocks of smaller tiles: "
    "the wave must be partial for each possible number.",
    needs=(details,),
    thresholds={"share_pct": 0.5, "full": 0.7, "empty_pct": 10.0},
    estimate="assumes one block per SM and full waves",
    formula="layer time · (1 − waves / whole waves); waves = tiles / SMs",
    covered_by=("LAUNCH001",),
)
def partial_waves(context: Context, share_pct: float, full: float, empty_pct: float) -> Findings:
    layers = context.select(LayerKind.CONVOLUTION, LayerKind.GEMM)
    tiled = [group for group in find_tiled(context) if group.has_plain_schedule]
    count = sum(len(group.layers) for group in tiled)
    sms = context.device.sms
    if tiled and not context.has_profile:
        yield not_checked(no_profile(context), count)
        return
    if tiled and not sms:
        yield not_checked("number of SMs unknown: keep trtexec's log, or set the device", count)
        return
    for group in tiled if sms else ():
        large = [layer for layer in group.layers if context.share_pct(layer) >= share_pct]
        if large:
            yield from _find_partial_wave(context, group._replace(layers=large), sms or 1, full)
    if sms:
        yield from _find_half_empty(context, tiled, sms, empty_pct)
    yield from _skip_unknown_products(context, layers)


def _find_partial_wave(context: Context, group: TiledProduct, sms: int, full: float) -> Findings:
    layers, tiles = group.layers, group.tiling.tiles
    waves, whole = tiles / sms, -(-tiles // sms)
    most = max(1, LARGEST_TILE // (group.tiling.rows * group.tiling.columns))
    # An SM may hold several blocks: the last wave must be partial for each number of them.
    is_partial = all(
        1 < waves / blocks <= 4 and _filled(waves / blocks) < full for blocks in range(1, most + 1)
    )
    if is_partial:
        yield finding(
            f"{group.description}: {tiles} tiles on {sms} SMs = {waves:.2f} waves: {context.format_time(*layers)}.",
            layers,
            confidence=LOW,
            savings=fractions(context, layers, 1 - waves / whole),
            evidence=context.evidence(layers[0], waves=round(waves, 2), tiles=tiles, sms=sms),
            group="shapes end with a partly filled wave of tiles",
        )


def _filled(waves: float) -> float:
    return waves / math.ceil(waves)


def _find_half_empty(context: Context, tiled: list[TiledProduct], sms: int, empty_pct: float) -> Findings:
    small = [group for group in tiled if group.tiling.tiles < sms / 2]
    layers = [layer for group in small for layer in group.layers]
    share = context.share_of(layers)
    if share is None or share < empty_pct:
        return
    most = max(group.tiling.tiles for group in small)
    yield finding(
        f"{plural(len(layers), 'layer')} have at most {plural(most, 'tile')} for {sms} SMs, so more than half of the "
        f"GPU is idle: {context.format_time(*layers)}.",
        layers,
        evidence=context.evidence(layers[0], sms=sms, most_tiles=most, layers=len(layers)),
        remedy=(
            "For throughput, run larger batches or several inferences at once (--infStreams).",
            "For throughput, run larger batches or several inferences at once (--streams).",
        ),
    )


@rule(
    "GEMM005",
    "Tiles larger than the problem",
    WARNING,
    looks_for="Convolutions and GEMMs of at least 0.1 % of the time whose output fills less than 25 % of the tiles, "
    "in either tile orientation.",
    why="A kernel computes whole tiles: tensor cores multiply zeros in the unused part.",
    remedy="Merge layers that read the same tensor into one with wider output, or run larger batches.",
    references=(MATRIX_GUIDE,),
    columns=("tactic_tile", "gemm_m", "gemm_n", "gemm_batch", "latency_ms"),
    not_when="Kernels with fewer tiles than SMs, whose empty parts cost nothing while most of the GPU is "
    "idle; layers at "
    "60 % of the memory bandwidth or more, or far below the rates of others; GEMMs of one row, grouped "
    "and depthwise layers; Winograd kernels, whose tiles belong to a transformed GEMM.",
    needs=(details,),
    thresholds={"share_pct": 0.1, "useful_pct": 25.0},
    estimate="share of the empty part of the tiles",
    formula="layer time − max(layer time · useful part of the tiles, bytes / bandwidth, shortest layer)",
    covered_by=("GEMM006",),
)
def empty_tiles(context: Context, share_pct: float, useful_pct: float) -> Findings:
    products = context.select(LayerKind.CONVOLUTION, LayerKind.GEMM)
    for group in find_tiled(context):
        useful = group.tiling.useful
        if useful >= useful_pct / 100 or group.tiling.tiles < (context.device.sms or FEWEST_SMS):
            continue
        layers = [
            layer
            for layer in group.layers
            if not is_busy(context, layer)
            and not is_stalled(context, layer)
            and (not context.has_profile or context.share_pct(layer) >= share_pct)
        ]
        if not layers:
            continue
        savings: dict[int, float] = {}
        for layer in layers:
            if (ms := context.ms[layer]) is not None:
                moving = moving_ms(context, context.bytes[layer]) or 0.0
                savings |= saving(context, layer, ms - max(ms * useful, moving, shortest_ms(context)))
        yield finding(
            f"{group._replace(layers=layers).description}, {100 * useful:.1f} % used: {context.format_time(*layers)}.",
            layers,
            savings=savings,
            evidence=context.evidence(layers[0], useful_pct=round(100 * useful, 1), tiles=group.tiling.tiles),
            remedy=_advise_on_tiles(group.product),
            group="shapes fill only part of their tiles",
        )
    yield from _skip_unknown_products(context, products)


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


@rule(
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
    thresholds={"share_pct": 1.0},
    estimate="assumes the best rate in bytes per second of this engine",
    formula="layer time − bytes / best rate of the engine",
)
def tiny_products(context: Context, share_pct: float) -> Findings:
    for layer in context.select(LayerKind.GEMM):
        product, ms, size = context.products[layer], context.ms[layer], context.bytes[layer]
        if product.macs is None or not product.batch or not ms or size is None:
            continue
        is_tiny = product.batch >= LEAST_BATCH and product.macs <= product.batch * MOST_PRODUCT
        if not is_tiny or context.share_pct(layer) < share_pct or not is_stalled(context, layer):
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


RULES = (
    reduced_gemm_on_cuda_cores,
    unaligned_dimensions,
    bound_by_weights,
    partial_waves,
    empty_tiles,
    tiny_products,
)
