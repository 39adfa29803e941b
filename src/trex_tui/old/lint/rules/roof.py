"""ROOF: layers far below the peaks of the device, or of this engine itself; MEM: activations that live long."""

from __future__ import annotations

from trex_tui.old.analysis.gap import gap
from trex_tui.old.analysis.memory import activation_memory, live_tensors
from trex_tui.old.analysis.roofline import RooflinePoint
from trex_tui.old.analysis.thresholds import Bound
from trex_tui.old.engine.dtypes import format_rate
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer
from trex_tui.old.lint.context import (
    BIG_COPY_BYTES,
    MATRIX_GUIDE,
    MOVEMENT,
    WORKSPACE_FAQ,
    Context,
    details,
    issue,
    profile,
    quote,
    quote_layer,
)
from trex_tui.old.lint.dataflow import main_stream
from trex_tui.old.lint.model import (
    Confidence,
    Evidence,
    Finding,
    Findings,
    Severity,
    finding,
    not_checked,
    rule,
    strength,
)
from trex_tui.old.text import format_bytes, plural

REACHABLE = 0.7
"""Share of the roofline that good kernels reach; basis of savings."""
LEAST_PCT = 2.0
TIMES_FLOOR = 3.0
COPY_LEAST_PCT = 0.5
COPY_TIMES_FLOOR = 10.0
LEAST_CALIBRATING = 3
HOT_PCT = 5.0
AT_BANDWIDTH_PCT = 75.0
PLAUSIBLE_PCT = 105.0
LEAST_PEAK_PCT = 10.0
LEAST_LAYERS = 10
LEAST_LAYERS_PCT = 5.0
LEAST_BYTES = 5_000_000
LEAST_DEVICE_PCT = 1.0

_READS_AND_WRITES = MOVEMENT | {
    LayerKind.REDUCTION,
    LayerKind.NORMALIZATION,
    LayerKind.CONCAT,
    LayerKind.QUANTIZE,
    LayerKind.SOFTMAX,
}
"""Kinds that read their inputs once and write their outputs once. Resizes and gathers read only samples."""
_RANDOM_ACCESS = frozenset({"Gath", "Scat", "Grid", "Resi", "Gtr"})

_REMEDIES = {
    Bound.COMPUTE: "Compute-bound: check for mostly empty tiles, unaligned channels, or a kernel without tensor cores.",
    Bound.BANDWIDTH: "Memory-bound: fuse it with its neighbours, use narrower types, or batch to reuse weights.",
}


@rule(
    "ROOF001",
    "GEMM or convolution far below roofline",
    Severity.INFO,
    looks_for="A convolution, GEMM or attention of at least 2 % of the engine below 30 % of its roofline, without "
    "profiling overhead.",
    why="Compute and memory peaks of the device allow several times this speed.",
    remedy="Compare tiles with SMs, then check what limits the roofline: compute or memory bandwidth.",
    references=(MATRIX_GUIDE,),
    columns=("roof_pct", "roof_ms", "bound", "macs", "footprint_allocated_bytes", "latency_ms"),
    not_when="Layers with too little work (roofline time below the shortest layer time, or up to three times the "
    "shortest time); Winograd kernels, which multiply less.",
    needs=(details, profile),
    thresholds={"roof_pct": 30.0},
    is_symptom=True,
)
def below_roof(context: Context, roof_pct: float) -> Findings:
    missing = context.device.bandwidth_reason or context.device.compute_reason
    if missing:
        yield not_checked(
            f"no roofline, {missing}: keep trtexec's device information, or set the peaks with --peak"
        )
        return
    comparison = gap(context.engine, context.timing)
    overhead = max((comparison.overhead_us_per_layer if comparison else None) or 0.0, 0.0) / 1000.0
    unknown = 0
    for layer in context.multiplying:
        if context.share_pct(layer) < LEAST_PCT:
            continue
        point, net_ms = context.point(layer), (layer.latency_ms or 0.0) - overhead
        if point is None or point.roof_ms is None:
            unknown += 1
        elif net_ms > 0 and 100.0 * point.roof_ms / net_ms < roof_pct and _may_reach(context, layer, point):
            yield _describe_low(context, layer, point, net_ms)
    if unknown:
        yield not_checked("no roofline: MACs or bytes of these layers are unknown", unknown)


def _may_reach(context: Context, layer: Layer, point: RooflinePoint) -> bool:
    """Return whether a layer has enough work to come near a roof."""
    tactic = context.tactic(layer)
    if point.roof_side is None or point.bound is Bound.LAUNCH or (tactic and tactic.is_winograd):
        return False
    shortest = context.floor_ms
    if shortest is None:  # an engine of few layers
        shortest = min((layer.latency_ms for layer in context.layers if layer.latency_ms), default=0.0)
    return (point.roof_ms or 0.0) >= shortest and (layer.latency_ms or 0.0) > TIMES_FLOOR * shortest


def _describe_low(context: Context, layer: Layer, point: RooflinePoint, net_ms: float) -> Finding:
    roof_ms, side, sms = point.roof_ms or 0.0, point.roof_side or Bound.COMPUTE, context.device.sms
    has_few_tiles = point.tiles is not None and sms is not None and point.tiles < sms
    roof_pct = 100.0 * roof_ms / net_ms
    reached = f"{(point.achieved_bytes_per_s or 0.0) / 1e9:.3g} GB/s, limited by memory bandwidth"
    if side is Bound.COMPUTE:
        reached = f"{format_rate(point.achieved_flop_per_s or 0.0, layer.precision)}, limited by compute"
    return finding(
        (
            f"{quote_layer(layer)} ({context.format_time(layer)}) reaches {roof_pct:.0f} % of its roofline, "
            f"{reached}."
        ),
        [layer],
        confidence=Confidence.LOW if point.assumptions or has_few_tiles else Confidence.MEDIUM,
        savings={layer.index: max(net_ms - roof_ms / REACHABLE, 0.0)},
        formula="layer time − profiling overhead − roof time / 0.7: at 70 % of the roofline",
        evidence={
            "roof_pct": roof_pct,
            "bound": point.bound.value if point.bound else None,
            "roof_ms": roof_ms,
            "peak_flops_per_s": point.peak_flop_per_s,
            "tiles": point.tiles,
            "sms": sms,
        },
        remedy=f"Fewer tiles than SMs ({sms}): run larger batches or several inferences at once, or look for a kernel with "
        "smaller tiles."
        if has_few_tiles
        else _REMEDIES[side],
        group=(
            "layers are far below their roofline, "
            f"{'compute' if side is Bound.COMPUTE else 'memory bandwidth'}"
        ),
    )


@rule(
    "ROOF002",
    "Slow data movement",
    Severity.WARNING,
    looks_for="A layer that reads and writes once, with at least 1 MB, ten times the floor and 0.5 % of the engine, "
    "below 30 % of the best rate of such layers (percentile 95 of at least three).",
    why="Other layers move the same bytes several times as fast, so the access pattern is the cause.",
    remedy="Change the layout in front of it (transposes between NHWC and NCHW), or merge it with its producer.",
    references=(MATRIX_GUIDE, issue(1117)),
    columns=("kind", "footprint_allocated_bytes", "latency_ms", "stream", "tactic"),
    not_when="Gathers, scatters, resizes and grid samples, which access memory randomly; layers with a saving from "
    "another rule.",
    needs=(details, profile),
    thresholds={"best_pct": 30.0},
    is_symptom=True,
)
def slow_movement(context: Context, best_pct: float) -> Findings:
    stream, least_ms = main_stream(context), COPY_TIMES_FLOOR * (context.floor_ms or 0.0)
    moving = [
        (layer, time, size)
        for layer in context.layers
        if _moves(context, layer)
        and (time := layer.latency_ms)
        and time >= least_ms
        and (size := context.bytes(layer)) is not None
        and size >= BIG_COPY_BYTES
    ]
    if len(moving) < LEAST_CALIBRATING:
        return  # hardly any large movement layers
    rates = sorted(size / time for _, time, size in moving)
    best = rates[min(len(rates) - 1, int(0.95 * len(rates)))]
    for layer, time, size in moving:
        rate = size / time
        if context.share_pct(layer) < COPY_LEAST_PCT or 100.0 * rate >= best_pct * best:
            continue
        on_main = layer.stream == stream
        beside = "" if on_main else f"; on stream {layer.stream}, in parallel with others"
        yield finding(
            f"{quote_layer(layer)} ({context.format_time(layer)}) moves {format_bytes(size)} at {rate / 1e6:.0f} GB/s; "
            f"the best of this engine is {best / 1e6:.0f} GB/s{beside}.",
            [layer],
            confidence=Confidence.HIGH if on_main else Confidence.LOW,
            savings={layer.index: time * (1.0 - rate / best)},
            formula="layer time · (1 − its bytes per second / the engine's best)",
            evidence={
                "bytes": size,
                "bytes_per_s": 1000.0 * rate,
                "best_bytes_per_s": 1000.0 * best,
                "stream": layer.stream,
            },
            group="layers move data far below the best rate of this engine",
        )


def _moves(context: Context, layer: Layer) -> bool:
    if layer.kind not in _READS_AND_WRITES:
        return False
    tactic = context.tactic(layer)
    return not (tactic and _RANDOM_ACCESS & set(tactic.operators))


@rule(
    "MEM001",
    "Large long-lived activation",
    Severity.INFO,
    looks_for="An activation of at least 10 % of the peak of live activations and 5 MB (or 1 % of the device memory), "
    "live over 10 layers and 5 % of all.",
    why=(
        "Its memory cannot be reused meanwhile. It limits batches, streams and other models, not the latency."
    ),
    remedy="Move its reader forward, recompute it, store it in fewer bits, or split a batched GEMM whose parts are "
    "read far apart.",
    references=(WORKSPACE_FAQ,),
    columns=("input_shapes", "output_shapes", "input_formats", "output_formats"),
    not_when="Network inputs, outputs and weights. With several streams the execution order is only the file order.",
    needs=(details,),
)
def long_lived_activation(context: Context) -> Findings:
    values = live_tensors(context.engine)
    memory = activation_memory(context.engine)
    if memory.unknown:
        yield not_checked(
            f"{plural(memory.unknown, 'activation')} of unknown size: export the layer information from the "
            "profile run with --shapes"
        )
    if not memory.peak_bytes:
        return
    shortest = max(LEAST_LAYERS, LEAST_LAYERS_PCT / 100.0 * len(context.layers))
    device = context.device.memory_bytes
    least = LEAST_BYTES if device is None else min(LEAST_BYTES, LEAST_DEVICE_PCT / 100.0 * device)
    least = max(least, LEAST_PEAK_PCT / 100.0 * memory.peak_bytes)
    streams = {layer.stream for layer in context.layers if layer.stream is not None}
    for value in values:
        size, lasts = value.allocated_bytes, value.last - value.first
        if size is None or size < least or lasts < shortest:
            continue
        at_peak = memory.peak_index is not None and value.first <= memory.peak_index <= value.last
        share = f"{100.0 * size / memory.peak_bytes:.0f} % of" if at_peak else "away from"
        yield finding(
            f"{quote(value.name)} holds {format_bytes(size)} over {lasts} layers, {share} the peak of "
            f"{format_bytes(memory.peak_bytes)}.",
            (context.layers[value.first], context.layers[value.last]),
            confidence=Confidence.MEDIUM if len(streams) < 2 else Confidence.LOW,
            evidence={
                "tensor": value.name,
                "tensor_bytes": size,
                "layers_alive": lasts,
                "peak_bytes": memory.peak_bytes,
                "alive_at_peak": at_peak,
            },
        )


@strength(
    "BW",
    "Memory bandwidth used well",
    "Layers of at least 5 % of the engine at 75 to 105 % of the device's peak bandwidth.",
    ("footprint_allocated_bytes", "latency_ms"),
)
def at_bandwidth(context: Context) -> Finding | None:
    layers: dict[int, float] = {}
    for layer in context.layers:
        point = context.point(layer)
        reached = point.bandwidth_pct if point and context.share_pct(layer) >= HOT_PCT else None
        if reached is not None and AT_BANDWIDTH_PCT <= reached <= PLAUSIBLE_PCT:
            layers[layer.index] = reached
    if not layers:
        return None
    text = ", ".join(f"{quote_layer(context.layers[index])} {pct:.0f} %" for index, pct in layers.items())
    return finding(
        (
            f"{plural(len(layers), 'large layer')} near the peak memory bandwidth: only fewer bytes help. "
            f"{text}."
        ),
        [context.layers[index] for index in layers],
        evidence=[Evidence("bandwidth_pct", reached) for reached in layers.values()],
    )
