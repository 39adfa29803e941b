"""GEMM004 and GEMM005: products against the tiles that kernels cut them into."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from trex_tui.analysis.compute import Compute
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.engine.tactics import Shape
from trex_tui.lint.context import Context
from trex_tui.lint.lint_text import MATRIX_GUIDE, NO_DETAILS, NO_PROFILE, indices, time_of, time_text
from trex_tui.lint.model import Confidence, Finding, NotChecked, Rule, Severity
from trex_tui.lint.rules.gemm import describe_product, why_no_product
from trex_tui.lint.savings import evidence, fraction, is_busy, moving_ms, stake
from trex_tui.text import plural

# Kernels whose blocks do not map to tiles of the result one to one.
_OTHER_SCHEDULE = re.compile(r"split_?k|stream_?k|_2sm|_dyn_", re.IGNORECASE)


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


class Tiled(NamedTuple):
    """Layers with the same product and tile."""

    layers: list[Layer]
    product: Compute
    tiling: Tiling


def tiling_of(product: Compute, tile: Shape) -> Tiling | None:
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


def _tiled(context: Context) -> list[Tiled]:
    """Convolutions and GEMMs whose kernels name a tile of the result, grouped by product and tile."""
    groups: dict[tuple[Compute, Tiling, bool], list[Layer]] = {}
    for layer in _products(context):
        tactic, product = context.tactic(layer), context.compute[layer.index]
        if tactic is None or tactic.tile is None or tactic.is_winograd:
            continue
        if context.is_matrix_vector(layer) or context.is_depthwise(layer) or context.groups(layer) > 1:
            continue
        tiling = tiling_of(product, tactic.tile)
        if tiling:
            is_plain = not _OTHER_SCHEDULE.search(tactic.name)
            groups.setdefault((product, tiling, is_plain), []).append(layer)
    return [Tiled(layers, product, tiling) for (product, tiling, _), layers in groups.items()]


def _products(context: Context) -> list[Layer]:
    kinds = (LayerKind.CONVOLUTION, LayerKind.GEMM)
    return [layer for layer in context.layers if layer.kind in kinds]


def _waves(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("GEMM004", NO_DETAILS)
        return
    found = [one for one in _tiled(context) if not _has_other_schedule(one)]
    if found and not context.has_profile:
        yield NotChecked("GEMM004", NO_PROFILE, sum(len(one.layers) for one in found))
        return
    sms = context.device.sms
    if found and not sms:
        reason = "the number of SMs is not known: keep trtexec's log, or state the device"
        yield NotChecked("GEMM004", reason, sum(len(one.layers) for one in found))
        return
    if sms:
        for one in found:
            if finding := _partial_wave(context, one, sms):
                yield finding
        yield from _half_empty(context, found, sms)
    yield from why_no_product(context, "GEMM004", _products(context))


def _has_other_schedule(one: Tiled) -> bool:
    return _OTHER_SCHEDULE.search(one.layers[0].tactic or "") is not None


def _partial_wave(context: Context, one: Tiled, sms: int) -> Finding | None:
    least = context.threshold("GEMM004.share_pct", 0.5)
    layers = [layer for layer in one.layers if (context.pct(layer.latency_ms) or 0.0) >= least]
    waves = one.tiling.tiles / sms
    whole = -(-one.tiling.tiles // sms)
    if not layers or not 1 < waves <= 4 or waves / whole >= context.threshold("GEMM004.full", 0.7):
        return None
    stakes: dict[int, float] = {}
    for layer in layers:
        stakes |= fraction(context, layer, 1 - waves / whole)
    time = time_of(layers)
    return Finding(
        "GEMM004",
        f"{plural(len(layers), 'layer')} with {describe_product(one.product)} in tiles of "
        f"{one.tiling.rows}×{one.tiling.columns}: {one.tiling.tiles} tiles on {sms} SMs are {waves:.2f} waves: "
        f"{time_text(time, context.pct(time))}.",
        indices(layers),
        confidence=Confidence.LOW,
        stakes_ms=stakes,
        formula="latency_ms · (1 − waves / whole waves); waves = tiles / SMs, with one block on an SM at a time",
        evidence=evidence(layers[0], waves=round(waves, 2), tiles=one.tiling.tiles, sms=sms),
    )


def _half_empty(context: Context, found: list[Tiled], sms: int) -> Iterator[Finding]:
    small = [one for one in found if one.tiling.tiles < sms / 2]
    layers = [layer for one in small for layer in one.layers]
    time = time_of(layers)
    share = context.pct(time)
    if share is None or share < context.threshold("GEMM004.empty_pct", 10.0):
        return
    most = max(one.tiling.tiles for one in small)
    yield Finding(
        "GEMM004",
        f"{plural(len(layers), 'layer')} have at most {plural(most, 'tile')} for {sms} SMs, so that more than half of "
        f"the GPU is "
        f"idle: {time_text(time, share)}.",
        indices(layers),
        confidence=Confidence.MEDIUM,
        evidence=evidence(layers[0], sms=sms, most_tiles=most, layers=len(layers)),
        remedy="Run larger batches, or several inferences at once (--infStreams), where throughput is what matters.",
    )


def _empty_tiles(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("GEMM005", NO_DETAILS)
        return
    least = context.threshold("GEMM005.share_pct", 0.1)
    limit = context.threshold("GEMM005.useful_pct", 25.0) / 100
    for one in _tiled(context):
        if one.tiling.useful >= limit:
            continue
        layers = [
            layer
            for layer in one.layers
            if not is_busy(context, layer)
            and (not context.has_profile or (context.pct(layer.latency_ms) or 0.0) >= least)
        ]
        if layers:
            yield _empty_finding(context, one, layers)
    yield from why_no_product(context, "GEMM005", _products(context))


def _empty_finding(context: Context, one: Tiled, layers: list[Layer]) -> Finding:
    stakes: dict[int, float] = {}
    for layer in layers:
        time = layer.latency_ms
        if time is not None:
            moving = moving_ms(context, context.bytes(layer)) or 0.0
            stakes |= stake(layer, time - max(time * one.tiling.useful, moving, context.floor_ms or 0.0))
    time = time_of(layers)
    return Finding(
        "GEMM005",
        f"{plural(len(layers), 'layer')} with {describe_product(one.product)} in tiles of "
        f"{one.tiling.rows}×{one.tiling.columns}, of which {100 * one.tiling.useful:.1f} % is product: "
        f"{time_text(time, context.pct(time))}.",
        indices(layers),
        stakes_ms=stakes,
        formula="latency_ms − max(latency_ms · useful part of the tiles, bytes / bandwidth, shortest layer)",
        evidence=evidence(layers[0], useful_pct=round(100 * one.tiling.useful, 1), tiles=one.tiling.tiles),
        remedy="N = 1 and a large batch: write it as a multiplication and a sum, or fold the batch into M."
        if one.product.n == 1 and (one.product.batch or 1) > 1
        else "",
    )


RULES: tuple[Rule, ...] = (
    Rule(
        id="GEMM004",
        title="Tiles do not fill whole waves of SMs",
        severity=Severity.INFO,
        looks_for="Convolutions and GEMMs of 0.5 % of the time or more whose tiles make between 1 and 4 waves, the "
        "last so empty "
        "that less than 70 % is used; and layers with tiles for less than half of the SMs, if they add up to 10 %.",
        why="Blocks run one wave after another. A last wave of a few tiles takes as long as a full one.",
        remedy="Choose a batch that fills the last wave; look for another tactic. One such layer alone is nothing to "
        "worry about.",
        references=(MATRIX_GUIDE,),
        columns=("tactic_tile", "gemm_m", "gemm_n", "gemm_batch", "latency_ms"),
        check=_waves,
        not_when="Winograd, split-K, stream-K, two-SM and dynamic-cluster kernels, matrix-vector, grouped and "
        "depthwise layers: "
        "their blocks are not tiles of the result. How many blocks share an SM cannot be seen, hence the low confidence.",
    ),
    Rule(
        id="GEMM005",
        title="Tiles are mostly empty",
        severity=Severity.WARNING,
        looks_for="Convolutions and GEMMs of 0.1 % of the time or more of whose tiles less than 25 % is product, "
        "whichever way "
        "round the tile lies.",
        why="A kernel computes whole tiles, whatever of them is used: tensor cores then multiply zeros.",
        remedy="Concatenate narrow outputs into one product; fold the batch into M; write products with one column as a "
        "multiplication and a sum.",
        references=(MATRIX_GUIDE,),
        columns=("tactic_tile", "gemm_m", "gemm_n", "gemm_batch", "latency_ms"),
        check=_empty_tiles,
        not_when="Layers at 60 % of the memory bandwidth or more; matrix-vector products, grouped and depthwise "
        "layers; Winograd "
        "kernels, whose tiles are of another product.",
    ),
)
