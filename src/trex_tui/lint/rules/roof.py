"""ROOF: layers far below what the device, or this engine itself, shows to be possible."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.analysis.gap import gap
from trex_tui.analysis.roofline import Bound, RooflinePoint
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.lint.context import BIG_COPY_BYTES, MOVEMENT, Context
from trex_tui.lint.dataflow import main_stream
from trex_tui.lint.lint_text import NO_DETAILS, NO_PROFILE, called, time_text
from trex_tui.lint.model import Confidence, Evidence, Finding, NotChecked, Rule, Severity
from trex_tui.text import format_bytes

_MATRIX_GUIDE = (
    "Matrix Multiplication Background User's Guide: "
    "https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html"
)
LOW_ROOF_PCT = 30.0
REACHABLE = 0.7
"""Share of the roof that good kernels reach: what a stake may promise."""
LEAST_PCT = 2.0
TIMES_FLOOR = 3.0
SLOW_COPY_PCT = 30.0
COPY_LEAST_PCT = 0.5
COPY_TIMES_FLOOR = 10.0
LEAST_CALIBRATING = 3

_READS_AND_WRITES = MOVEMENT | {LayerKind.REDUCTION, LayerKind.CONCAT, LayerKind.QUANTIZE, LayerKind.SOFTMAX}
"""Kinds that read their inputs once and write their outputs once. Resizes read what they sample, gathers too."""
_RANDOM_ACCESS = frozenset({"Gath", "Scat", "Grid", "Resi", "Gtr"})

_REMEDIES = {
    Bound.COMPUTE: "Bound by compute: look for tiles that are mostly empty, channels that are not aligned, or a kernel off "
    "the tensor cores.",
    Bound.BANDWIDTH: "Bound by memory: fuse it with its neighbours, narrow the types, or batch so that weights are read "
    "once for more data.",
}


def _low_roof(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details or not context.has_profile:
        yield NotChecked("ROOF001", NO_PROFILE if context.has_details else NO_DETAILS)
        return
    missing = context.device.bandwidth_reason or context.device.compute_reason
    if missing:
        yield NotChecked(
            "ROOF001", f"no roof, {missing}: keep trtexec's device information, or state the device's peaks"
        )
        return
    comparison = gap(context.engine, context.timing)
    overhead = max((comparison.overhead_us_per_layer if comparison else None) or 0.0, 0.0) / 1000.0
    unknown = 0
    for layer in context.layers:
        if not layer.kind.multiplies or (context.pct(layer.latency_ms) or 0.0) < LEAST_PCT:
            continue
        point, net = context.point(layer), (layer.latency_ms or 0.0) - overhead
        if point is None or point.roof_ms is None:
            unknown += 1
        elif net > 0 and _is_low(context, layer, point, net):
            yield _low(context, layer, point, net)
    if unknown:
        yield NotChecked(
            "ROOF001", "the work or the bytes of these layers are not told, so they have no roof", unknown
        )


def _is_low(context: Context, layer: Layer, point: RooflinePoint, net_ms: float) -> bool:
    tactic = context.tactic(layer)
    if point.bound not in _REMEDIES or point.roof_ms is None or (tactic and tactic.is_winograd):
        return False
    shortest = shortest_ms(context)
    if point.roof_ms < shortest or (layer.latency_ms or 0.0) <= TIMES_FLOOR * shortest:
        return False  # too little work to come near any roof
    return 100.0 * point.roof_ms / net_ms < context.threshold("ROOF001.roof_pct", LOW_ROOF_PCT)


def shortest_ms(context: Context) -> float:
    """The floor of the layer times, or the shortest one in engines of few layers; 0 without a profile."""
    if context.floor_ms is not None:
        return context.floor_ms
    return min((layer.latency_ms for layer in context.layers if layer.latency_ms), default=0.0)


def _low(context: Context, layer: Layer, point: RooflinePoint, net_ms: float) -> Finding:
    roof_ms, bound = point.roof_ms or 0.0, point.bound or Bound.COMPUTE
    roof_pct = 100.0 * roof_ms / net_ms
    reached = (
        f"{(point.achieved_flop_per_s or 0.0) / 1e12:.3g} TFLOP/s"
        if bound is Bound.COMPUTE
        else f"{(point.achieved_bytes_per_s or 0.0) / 1e9:.3g} GB/s"
    )
    return Finding(
        "ROOF001",
        f"{called(layer)} ({time_text(layer.latency_ms, context.pct(layer.latency_ms))}) reaches {roof_pct:.0f} % of its "
        f"roof, {reached}; the roof is {'compute' if bound is Bound.COMPUTE else 'memory bandwidth'}.",
        (layer.index,),
        confidence=Confidence.LOW if point.assumptions else Confidence.MEDIUM,
        stakes_ms={layer.index: max(net_ms - roof_ms / REACHABLE, 0.0)},
        formula="latency_ms − profiling overhead − roof_ms / 0.7: as if it reached 70 % of its roof",
        evidence=(
            Evidence("roof_pct", roof_pct),
            Evidence("bound", bound.value),
            Evidence("roof_ms", roof_ms),
            Evidence("peak_flops_per_s", point.peak_flop_per_s),
        ),
        remedy=_REMEDIES[bound],
    )


def movement_rates(context: Context) -> list[float]:
    """Bytes per millisecond of large layers that read and write once, sorted: what the memory did in this very run."""
    floor = context.floor_ms or 0.0
    return sorted(
        size / layer.latency_ms
        for layer in context.layers
        if _moves(context, layer)
        and layer.latency_ms
        and layer.latency_ms >= COPY_TIMES_FLOOR * floor
        and (size := context.bytes(layer)) is not None
        and size >= BIG_COPY_BYTES
    )


def _moves(context: Context, layer: Layer) -> bool:
    if layer.kind not in _READS_AND_WRITES:
        return False
    tactic = context.tactic(layer)
    return not (tactic and _RANDOM_ACCESS & set(tactic.operators))


def _slow_movement(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details or not context.has_profile:
        yield NotChecked("ROOF002", NO_PROFILE if context.has_details else NO_DETAILS)
        return
    rates = movement_rates(context)
    if len(rates) < LEAST_CALIBRATING:
        return  # hardly any movement that is large enough to matter
    best = rates[min(len(rates) - 1, int(0.95 * len(rates)))]
    stream, floor = main_stream(context), context.floor_ms or 0.0
    for layer in context.layers:
        size, time = context.bytes(layer), layer.latency_ms
        if not _moves(context, layer) or not time or size is None or size < BIG_COPY_BYTES:
            continue
        rate = size / time
        too_short = time < COPY_TIMES_FLOOR * floor or (context.pct(time) or 0.0) < COPY_LEAST_PCT
        if too_short or 100.0 * rate >= context.threshold("ROOF002.best_pct", SLOW_COPY_PCT) * best:
            continue
        on_main = layer.stream == stream
        words = "" if on_main else f"; it runs on stream {layer.stream}, beside others"
        yield Finding(
            "ROOF002",
            f"{called(layer)} ({time_text(time, context.pct(time))}) moves {format_bytes(size)} at {rate / 1e6:.0f} GB/s; "
            f"the best of this engine is {best / 1e6:.0f} GB/s{words}.",
            (layer.index,),
            confidence=Confidence.HIGH if on_main else Confidence.LOW,
            stakes_ms={layer.index: time * (1.0 - rate / best)},
            formula="latency_ms · (1 − its bytes per second / the engine's best)",
            evidence=(
                Evidence("bytes", size),
                Evidence("bytes_per_s", 1000.0 * rate),
                Evidence("best_bytes_per_s", 1000.0 * best),
                Evidence("stream", layer.stream),
            ),
        )


RULES: tuple[Rule, ...] = (
    Rule(
        id="ROOF001",
        title="Product far below its roof",
        severity=Severity.INFO,
        looks_for="A convolution, GEMM or attention of at least 2 % of the engine that reaches less than 30 % of its roof, "
        "profiling overhead subtracted.",
        why="The device's arithmetic and memory would allow it to be several times as fast.",
        remedy="See what bounds it: compute or memory bandwidth.",
        references=(_MATRIX_GUIDE,),
        columns=("roof_pct", "roof_ms", "bound", "macs", "footprint_allocated_bytes", "latency_ms"),
        check=_low_roof,
        not_when="Layers whose roof lies below the shortest layer time, or that take up to three times that: they have too "
        "little work; Winograd kernels, which do other multiplications.",
    ),
    Rule(
        id="ROOF002",
        title="Data moves far slower than elsewhere in the engine",
        severity=Severity.WARNING,
        looks_for="A layer that reads and writes once, of at least 1 MB, ten times the floor and 0.5 % of the engine, at "
        "less than 30 % of the bytes per second that such layers reach at best (percentile 95, three or more of them).",
        why="The same memory moves the same bytes several times as fast a few layers on: the access pattern is to blame.",
        remedy="Change the layout in front of it (transposes between NHWC and NCHW), or merge it with its producer.",
        references=(_MATRIX_GUIDE, "NVIDIA/TensorRT#1117: https://github.com/NVIDIA/TensorRT/issues/1117"),
        columns=("kind", "footprint_allocated_bytes", "latency_ms", "stream", "tactic"),
        check=_slow_movement,
        not_when="Gathers, scatters, resizes and grid samples, whose access is random by nature.",
    ),
)
