"""ROOF: layers far below the peaks of the device, or of this engine itself."""

from __future__ import annotations

from trex_tui.analysis.timing import layer_gap
from trex_tui.engine.dtypes import DataType, format_rate
from trex_tui.engine.kinds import LayerKind
from trex_tui.lint.context import (
    BIG_COPY_BYTES,
    MATRIX_GUIDE,
    MOVEMENT,
    Context,
    details,
    issue,
    profile,
)
from trex_tui.lint.rule import (
    EVERY_RULE,
    HIGH,
    INFO,
    LOW,
    MEDIUM,
    WARNING,
    Finding,
    Findings,
    Rule,
    finding,
    not_checked,
)
from trex_tui.lint.rules.convolution import reads_few_channels
from trex_tui.lint.savings import shortest_ms
from trex_tui.text import format_bytes

REACHABLE = 0.7
"""Share of the roofline that good kernels reach; basis of savings."""
LEAST_PCT = 2.0
TIMES_FLOOR = 3.0
COPY_LEAST_PCT = 0.5
COPY_TIMES_FLOOR = 10.0
LEAST_CALIBRATING = 3
_READS_AND_WRITES = MOVEMENT | {
    LayerKind.REDUCTION,
    LayerKind.NORMALIZATION,
    LayerKind.CONCAT,
    LayerKind.QUANTIZE,
    LayerKind.SOFTMAX,
}
"""Kinds that read their inputs once and write their outputs once. Resizes and gathers read only samples."""
_RANDOM_ACCESS = frozenset(["Gath", "Scat", "Grid", "Resi", "Gtr"])
_REMEDIES = {
    "compute": "Compute-bound: check for mostly empty tiles, unaligned channels, or a kernel without tensor cores.",
    "bandwidth": "Memory-bound: fuse it with its neighbours, use narrower types, or batch to reuse weights.",
}


@Rule(
    "ROOF001",
    "GEMM or convolution far below roofline",
    INFO,
    looks_for="A convolution, GEMM or attention of at least 2 % of the engine below 30 % of its roofline, without "
    "profiling overhead.",
    why="Compute and memory peaks of the device allow several times this speed.",
    remedy="Compare tiles with SMs, then check what limits the roofline: compute or memory bandwidth.",
    references=(MATRIX_GUIDE,),
    columns=("roof_pct", "roof_ms", "bound", "macs", "footprint_allocated_bytes", "latency_ms"),
    not_when="Layers with too little work (roofline time below the shortest layer time, or up to three times the "
    "shortest time); Winograd kernels, which multiply less; first convolutions of up to 4 channels; "
    "layers with a saving from another rule.",
    needs=(details, profile),
    estimate="assumes 70 % of the roofline can be reached",
    formula="layer time − profiling overhead − roof time / 0.7",
    covered_by=EVERY_RULE,
)
def below_roof(context: Context, roof_pct: float = 30.0) -> Findings:
    missing = context.device.bandwidth_reason or context.device.compute_reason
    if missing:
        yield not_checked(
            f"no roofline, {missing}: keep trtexec's device information, or set the peaks with --peak"
        )
        return
    gap = layer_gap(context.engine)
    overhead = max((gap.overhead_us_per_layer if gap else None) or 0.0, 0.0) / 1000.0
    unknown = 0
    for layer in context.multiplying:
        if context.share_pct(layer) < LEAST_PCT:
            continue
        roof_ms, net_ms = context.roof("roof_ms")[layer], (context.ms[layer] or 0.0) - overhead
        if roof_ms is None:
            unknown += 1
        elif net_ms > 0 and 100.0 * roof_ms / net_ms < roof_pct and _may_reach(context, layer, roof_ms):
            yield _describe_low(context, layer, roof_ms, net_ms)
    if unknown:
        yield not_checked("no roofline: MACs or bytes of these layers are unknown", unknown)


def _may_reach(context: Context, layer: int, roof_ms: float) -> bool:
    """Return whether a layer has enough work to come near a roof."""
    tactic = context.tactics[layer]
    if context.roof("roof_side")[layer] is None or context.roof("bound")[layer] == "launch":
        return False
    if reads_few_channels(context, layer) or (tactic and tactic.is_winograd):
        return False
    shortest = shortest_ms(context)
    return roof_ms >= shortest and (context.ms[layer] or 0.0) > TIMES_FLOOR * shortest


def _describe_low(context: Context, layer: int, roof_ms: float, net_ms: float) -> Finding:
    side, tiles, sms = context.roof("roof_side")[layer], context.roof("tiles")[layer], context.device.sms
    has_few_tiles = tiles is not None and sms is not None and tiles < sms
    roof_pct = 100.0 * roof_ms / net_ms
    reached = (
        f"{(context.roof('achieved_bytes_per_s')[layer] or 0.0) / 1e9:.3g} GB/s, limited by memory bandwidth"
    )
    if side == "compute":
        precision = context.precisions[layer]
        dtype = DataType(precision) if precision else None
        reached = (
            f"{format_rate(context.roof('achieved_flops_per_s')[layer] or 0.0, dtype)}, limited by compute"
        )
    return finding(
        f"{context.quote(layer)} ({context.format_time(layer)}) reaches {roof_pct:.0f} % of its roofline, {reached}.",
        [layer],
        confidence=LOW if context.roof("assumptions")[layer] or has_few_tiles else MEDIUM,
        savings={layer: max(net_ms - roof_ms / REACHABLE, 0.0)},
        evidence={
            "roof_pct": roof_pct,
            "bound": context.roof("bound")[layer],
            "roof_ms": roof_ms,
            "peak_flops_per_s": context.roof("peak_flops_per_s")[layer],
            "tiles": tiles,
            "sms": sms,
        },
        remedy=f"Fewer tiles than SMs ({sms}): run larger batches or several inferences at once, or look "
        "for a kernel with smaller tiles."
        if has_few_tiles
        else _REMEDIES[side],
        group=f"layers are far below their roofline, {'compute' if side == 'compute' else 'memory bandwidth'}",
    )


@Rule(
    "ROOF002",
    "Slow data movement",
    WARNING,
    looks_for="Copy-like layers (≥ 1 MB, ≥ 0.5 % of the time, ten times the shortest) slower than 30 % of "
    "the p95 rate of such layers in this engine, of at least three.",
    why="Other layers move the same bytes several times as fast, so the access pattern is the cause.",
    remedy="Change the layout in front of it (transposes between NHWC and NCHW), or merge it with its producer.",
    references=(MATRIX_GUIDE, issue(1117)),
    columns=("kind", "footprint_allocated_bytes", "latency_ms", "stream", "tactic"),
    not_when="Gathers, scatters, resizes and grid samples, which access memory randomly; layers with a saving from "
    "another rule.",
    needs=(details, profile),
    estimate="assumes the best rate of such layers in this engine",
    formula="layer time · (1 − its bytes per second / the engine's best)",
    covered_by=EVERY_RULE,
)
def slow_movement(context: Context, best_pct: float = 30.0) -> Findings:
    least_ms = COPY_TIMES_FLOOR * (context.floor_ms or 0.0)
    moving = [
        (layer, ms, size)
        for layer, (ms, size) in enumerate(zip(context.ms, context.bytes, strict=True))
        if ms and ms >= least_ms and size is not None and size >= BIG_COPY_BYTES and _moves(context, layer)
    ]
    if len(moving) < LEAST_CALIBRATING:
        return  # hardly any large movement layers
    rates = sorted(size / ms for _, ms, size in moving)
    best = rates[min(len(rates) - 1, int(0.95 * len(rates)))]
    for layer, ms, size in moving:
        rate = size / ms
        if context.share_pct(layer) < COPY_LEAST_PCT or 100.0 * rate >= best_pct * best:
            continue
        stream = context.streams[layer]
        on_main = stream == context.main_stream
        beside = "" if on_main else f"; on stream {stream}, in parallel with others"
        yield finding(
            f"{context.quote(layer)} ({context.format_time(layer)}) moves {format_bytes(size)} at "
            f"{rate / 1e6:.0f} GB/s; the best of this engine is {best / 1e6:.0f} GB/s{beside}.",
            [layer],
            confidence=HIGH if on_main else LOW,
            savings={layer: ms * (1.0 - rate / best)},
            evidence={
                "bytes": size,
                "bytes_per_s": 1000.0 * rate,
                "best_bytes_per_s": 1000.0 * best,
                "stream": stream,
            },
            group="layers move data far below the best rate of this engine",
        )


def _moves(context: Context, layer: int) -> bool:
    tactic = context.tactics[layer]
    return context.kinds[layer] in _READS_AND_WRITES and not (
        tactic and _RANDOM_ACCESS & set(tactic.operators)
    )


RULES = (below_roof, slow_movement)
