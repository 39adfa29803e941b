"""GEMM: matrix products that miss the tensor cores, fit them or their tiles badly, or only read weights."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from trex_tui.analysis.compute import Compute
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.engine.tactics import Shape
from trex_tui.lint.context import Context, details
from trex_tui.lint.lint_text import CUTLASS, MATRIX_GUIDE, NO_PROFILE, TENSOR_CORES, quote_layer
from trex_tui.lint.model import Confidence, Findings, NotChecked, Severity, finding, not_checked, rule
from trex_tui.lint.rules.convolution import find_on_cuda_cores
from trex_tui.lint.savings import BUSY, fraction, fractions, is_busy, layer_evidence, moving_ms, saving
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
# Kernels whose blocks do not map to tiles of the result one to one.
_OTHER_SCHEDULE = re.compile(r"split_?k|stream_?k|_2sm|_dyn_", re.IGNORECASE)


def _skip_unknown_products(context: Context, layers: list[Layer]) -> Iterator[NotChecked]:
    """The layers whose M, N and K are not known, with the most frequent reason."""
    products = [context.compute[layer.index] for layer in layers]
    reasons = Counter(product.reason for product in products if product.reason).most_common(1)
    if reasons:
        unknown = sum(product.m is None for product in products)
        yield not_checked(f"M, N and K are not known: {reasons[0][0]}", unknown)


def _describe(product: Compute) -> str:
    """`M = 6272, N = 256, K = 1152`, with the batch in front if there is one."""
    batch = f"{product.batch} × " if product.batch and product.batch > 1 else ""
    return f"{batch}M = {product.m}, N = {product.n}, K = {product.k}"


@rule(
    "GEMM001",
    "Reduced-precision GEMM or attention on CUDA cores",
    Severity.WARNING,
    looks_for="A GEMM or fused attention whose data is FP16, BF16 or quantized and whose kernel, by its name, does not use "
    "tensor cores.",
    why="The device's tensor cores multiply these types several times faster than its CUDA cores.",
    remedy="Make K and N multiples of 8 (16 for 8-bit types); batch the calls; keep both operands in the reduced type.",
    references=(MATRIX_GUIDE, CUTLASS),
    columns=("kind", "tactic", "tensor_cores", "precision", "gemm_m", "gemm_n", "gemm_k", "latency_ms"),
    not_when="Matrix-vector products, which are bound by reading the weights (GEMM003); M, N or K below 8; layers at 60 % "
    "of the bandwidth or more; devices without tensor cores.",
    needs=(details,),
)
def reduced_gemm_on_cuda_cores(context: Context) -> Findings:
    layers = context.select(LayerKind.GEMM, LayerKind.ATTENTION)
    return find_on_cuda_cores(
        context,
        [layer for layer in layers if not context.is_matrix_vector(layer) and not _is_tiny(context, layer)],
    )


def _is_tiny(context: Context, layer: Layer) -> bool:
    product = context.compute[layer.index]
    return any(size is not None and size < SMALLEST_PRODUCT for size in (product.m, product.n, product.k))


@rule(
    "GEMM002",
    "GEMM dimensions are not aligned",
    Severity.INFO,
    looks_for="GEMMs on tensor cores whose N or K is no multiple of 128 bits: 4 elements of TF32, 8 of FP16, 16 of INT8. "
    "One finding for each pair of N and K that takes 0.05 % of the time or more.",
    why="Tensor-core kernels load 128 bits at a time. Other sizes are padded, or fall back to narrower loads.",
    remedy="Pad heads and classes (50 to 56), or merge small GEMMs over the same input into one and split its result.",
    references=(MATRIX_GUIDE, TENSOR_CORES),
    columns=("kind", "tactic", "tensor_cores", "gemm_n", "gemm_k", "latency_ms"),
    not_when="Judged from the sizes alone: the kernel's suffix _alignN is what it demands at most. Matrix-vector products "
    "and attention are left out.",
    needs=(details,),
    thresholds={"share_pct": 0.05},
)
def unaligned_dimensions(context: Context, share_pct: float) -> Findings:
    gemms = context.select(LayerKind.GEMM)
    groups: dict[tuple[int, int, int], list[Layer]] = {}
    for layer in gemms:
        product, granule = context.compute[layer.index], _granule(context, layer)
        if granule is None or product.n is None or product.k is None or context.is_matrix_vector(layer):
            continue
        if product.n > 1 and (product.n % granule or product.k % granule):
            groups.setdefault((product.n, product.k, granule), []).append(layer)
    for (n, k, granule), layers in groups.items():
        share = context.total_share_pct(layers)
        if share is not None and share < share_pct:
            continue
        padded_n, padded_k = (-(-size // granule) * granule for size in (n, k))
        waste = 1 - n * k / (padded_n * padded_k)
        sizes = [f"{name} = {size}" for name, size in (("N", n), ("K", k)) if size % granule]
        yield finding(
            f"{plural(len(layers), 'GEMM')} with {' and '.join(sizes)}, no multiple of {granule}: "
            f"{context.format_time(*layers)}, {100 * waste:.0f} % of the padded product is padding.",
            layers,
            savings=fractions(context, layers, waste),
            formula="latency_ms · (1 − N · K / (N and K rounded up to 128 bits))",
            evidence=layer_evidence(
                layers[0], gemm_n=n, gemm_k=k, granule=granule, waste_pct=round(100 * waste, 1)
            ),
        )
    yield from _skip_unknown_products(context, gemms)


def _granule(context: Context, layer: Layer) -> int | None:
    tactic, precision = context.tactic(layer), context.input_type(layer)
    return _GRANULES.get(precision) if tactic and tactic.tensor_cores and precision else None


@rule(
    "GEMM003",
    "Matrix-vector product, bound by reading weights",
    Severity.INFO,
    looks_for="A GEMM or convolution of one row that takes 1 % of the time or more and reads its weights at 60 % of the "
    "memory bandwidth or more.",
    why="With one row every weight is used once. The arithmetic is free, and tensor cores would not help.",
    remedy="Batch the requests; quantize the weights alone (INT8, INT4, FP8); make the classifier smaller.",
    references=(MATRIX_GUIDE,),
    columns=("kind", "gemm_m", "gemm_n", "gemm_k", "weights_bytes", "latency_ms"),
    not_when="Slower than that: such a layer waits for its launch, not for its weights.",
    needs=(details,),
    thresholds={"share_pct": 1.0},
)
def bound_by_weights(context: Context, share_pct: float) -> Findings:
    vectors = [layer for layer in context.multiplying if context.is_matrix_vector(layer)]
    if vectors and not context.has_profile:
        yield not_checked(NO_PROFILE, len(vectors))
        return
    unknown = 0
    for layer in vectors:
        if context.share_pct(layer) < share_pct:
            continue
        size, weights, time = context.bytes(layer), layer.weights_bytes, layer.latency_ms
        reading = moving_ms(context, weights)
        if not reading or time is None:
            unknown += 1
        elif reading >= BUSY * time:
            yield finding(
                f"{quote_layer(layer)} reads its weights at {(weights or 0) / time / 1e6:.0f} GB/s, "
                f"{100 * reading / time:.0f} % of the bandwidth, for one row: {context.format_time(layer)}.",
                [layer],
                confidence=Confidence.HIGH,
                savings=fraction(context, layer, (weights / size if weights and size else 1.0) / 2),
                formula="latency_ms · weights_bytes / bytes · ½: weights of half the width"
                + (f" (now {layer.precision.value})" if layer.precision else ""),
                evidence=layer_evidence(
                    layer, weights_bytes=weights, bandwidth_pct=round(100 * reading / time, 1)
                ),
            )
    if unknown:
        yield not_checked(
            "the weights or the memory bandwidth are not known: state the device, or its bandwidth in GB/s",
            unknown,
        )


# Products against the tiles that kernels cut them into


class Tiling(NamedTuple):
    """A product cut into tiles.

    Attributes:
        rows, columns: Extents of a tile, along M and N.
        tiles: How many it takes.
        useful: Part of their area that is product, from 0 to 1.
    """

    rows: int
    columns: int
    tiles: int
    useful: float


class TiledProduct(NamedTuple):
    """Layers with the same product and tile."""

    layers: list[Layer]
    product: Compute
    tiling: Tiling
    has_plain_schedule: bool

    @property
    def description(self) -> str:
        """Count, product and tile, for the beginning of a sentence."""
        return (
            f"{plural(len(self.layers), 'layer')} with {_describe(self.product)} in tiles of "
            f"{self.tiling.rows}×{self.tiling.columns}"
        )


def compute_tiling(product: Compute, tile: Shape) -> Tiling | None:
    """How a kernel's tile covers a product; of the two ways round (operands may be swapped) the one that wastes less."""
    if not product.m or not product.n or len(tile) < 2 or min(tile[:2]) < 1:
        return None
    best = None
    for rows, columns in (tile[:2], tile[1::-1]):
        down, across = -(-product.m // rows), -(-product.n // columns)
        useful = product.m * product.n / (down * rows * across * columns)
        if best is None or useful > best.useful:
            best = Tiling(rows, columns, (product.batch or 1) * down * across, useful)
    return best


def _find_tiled(context: Context, layers: list[Layer]) -> list[TiledProduct]:
    """Layers whose kernels name a tile of the result, grouped by product and tile."""
    groups: dict[tuple[Compute, Tiling, bool], list[Layer]] = {}
    for layer in layers:
        tactic, product = context.tactic(layer), context.compute[layer.index]
        if tactic is None or tactic.tile is None or tactic.is_winograd:
            continue
        if context.is_matrix_vector(layer) or context.is_depthwise(layer) or context.groups(layer) > 1:
            continue
        tiling = compute_tiling(product, tactic.tile)
        if tiling:
            is_plain = not _OTHER_SCHEDULE.search(tactic.name)
            groups.setdefault((product, tiling, is_plain), []).append(layer)
    return [TiledProduct(layers, *key) for key, layers in groups.items()]


@rule(
    "GEMM004",
    "Tiles do not fill whole waves of SMs",
    Severity.INFO,
    looks_for="Convolutions and GEMMs of 0.5 % of the time or more whose tiles make between 1 and 4 waves, the last so "
    "empty that less than 70 % is used; and layers with tiles for less than half of the SMs, if they add up to 10 %.",
    why="Blocks run one wave after another. A last wave of a few tiles takes as long as a full one.",
    remedy="Choose a batch that fills the last wave; look for another tactic. One such layer alone is nothing to worry "
    "about.",
    references=(MATRIX_GUIDE,),
    columns=("tactic_tile", "gemm_m", "gemm_n", "gemm_batch", "latency_ms"),
    not_when="Winograd, split-K, stream-K, two-SM and dynamic-cluster kernels, matrix-vector, grouped and depthwise "
    "layers: their blocks are not tiles of the result. How many blocks share an SM cannot be seen, hence the low "
    "confidence.",
    needs=(details,),
    thresholds={"share_pct": 0.5, "full": 0.7, "empty_pct": 10.0},
)
def partial_waves(context: Context, share_pct: float, full: float, empty_pct: float) -> Findings:
    layers = context.select(LayerKind.CONVOLUTION, LayerKind.GEMM)
    tiled = [group for group in _find_tiled(context, layers) if group.has_plain_schedule]
    count = sum(len(group.layers) for group in tiled)
    sms = context.device.sms
    if tiled and not context.has_profile:
        yield not_checked(NO_PROFILE, count)
        return
    if tiled and not sms:
        yield not_checked("the number of SMs is not known: keep trtexec's log, or state the device", count)
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
    if 1 < waves <= 4 and waves / whole < full:
        yield finding(
            f"{group.description}: {tiles} tiles on {sms} SMs are {waves:.2f} waves: "
            f"{context.format_time(*layers)}.",
            layers,
            confidence=Confidence.LOW,
            savings=fractions(context, layers, 1 - waves / whole),
            formula="latency_ms · (1 − waves / whole waves); waves = tiles / SMs, with one block on an SM at a time",
            evidence=layer_evidence(layers[0], waves=round(waves, 2), tiles=tiles, sms=sms),
        )


def _find_half_empty(context: Context, tiled: list[TiledProduct], sms: int, empty_pct: float) -> Findings:
    small = [group for group in tiled if group.tiling.tiles < sms / 2]
    layers = [layer for group in small for layer in group.layers]
    share = context.total_share_pct(layers)
    if share is None or share < empty_pct:
        return
    most = max(group.tiling.tiles for group in small)
    yield finding(
        f"{plural(len(layers), 'layer')} have at most {plural(most, 'tile')} for {sms} SMs, so that more than half of "
        f"the GPU is idle: {context.format_time(*layers)}.",
        layers,
        evidence=layer_evidence(layers[0], sms=sms, most_tiles=most, layers=len(layers)),
        remedy="Run larger batches, or several inferences at once (--infStreams), where throughput is what matters.",
    )


@rule(
    "GEMM005",
    "Tiles are mostly empty",
    Severity.WARNING,
    looks_for="Convolutions and GEMMs of 0.1 % of the time or more of whose tiles less than 25 % is product, whichever way "
    "round the tile lies.",
    why="A kernel computes whole tiles, whatever of them is used: tensor cores then multiply zeros.",
    remedy="Concatenate narrow outputs into one product; fold the batch into M; write products with one column as a "
    "multiplication and a sum.",
    references=(MATRIX_GUIDE,),
    columns=("tactic_tile", "gemm_m", "gemm_n", "gemm_batch", "latency_ms"),
    not_when="Layers at 60 % of the memory bandwidth or more; matrix-vector products, grouped and depthwise layers; "
    "Winograd kernels, whose tiles are of another product.",
    needs=(details,),
    thresholds={"share_pct": 0.1, "useful_pct": 25.0},
)
def empty_tiles(context: Context, share_pct: float, useful_pct: float) -> Findings:
    products = context.select(LayerKind.CONVOLUTION, LayerKind.GEMM)
    for group in _find_tiled(context, products):
        layers = [
            layer
            for layer in group.layers
            if not is_busy(context, layer)
            and (not context.has_profile or context.share_pct(layer) >= share_pct)
        ]
        useful = group.tiling.useful
        if useful >= useful_pct / 100 or not layers:
            continue
        savings: dict[int, float] = {}
        for layer in layers:
            if (time := layer.latency_ms) is not None:
                moving = moving_ms(context, context.bytes(layer)) or 0.0
                savings |= saving(layer, time - max(time * useful, moving, context.floor_ms or 0.0))
        is_column = group.product.n == 1 and (group.product.batch or 1) > 1
        yield finding(
            f"{group._replace(layers=layers).description}, of which {100 * useful:.1f} % is product: "
            f"{context.format_time(*layers)}.",
            layers,
            savings=savings,
            formula="latency_ms − max(latency_ms · useful part of the tiles, bytes / bandwidth, shortest layer)",
            evidence=layer_evidence(layers[0], useful_pct=round(100 * useful, 1), tiles=group.tiling.tiles),
            remedy="N = 1 and a large batch: write it as a multiplication and a sum, or fold the batch into M."
            if is_column
            else "",
        )
    yield from _skip_unknown_products(context, products)
