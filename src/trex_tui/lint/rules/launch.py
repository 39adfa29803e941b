"""LAUNCH: time spent on starting work; HOT: layers with most of the time.

All limits are relative to the shortest layers of the same engine: a fixed number of microseconds would make a network
launch-bound on one GPU and not on another.
"""

from __future__ import annotations

from trex_tui.analysis.options import find_flag
from trex_tui.analysis.roofline import FLOOR_LAYERS, LAUNCH_FACTOR, LAUNCH_ROOF_SHARE
from trex_tui.analysis.structure import dla_times
from trex_tui.analysis.timing import (
    ENQUEUE_BOUND,
    FEW_ITERATIONS,
    MOST_ENQUEUE_MS,
    MOST_LAUNCH_US,
    MOST_LAUNCH_US_OF_INTEGRATED,
    find_latency,
    is_enqueue_blocked,
    layer_gap,
    lists_kernels,
    timing_facts,
)
from trex_tui.artifacts.kinds import FileKind
from trex_tui.engine.kinds import LayerKind
from trex_tui.frames import plain_rows
from trex_tui.lint.context import BEST_PRACTICES, Context, format_time, issue, no_timing, profile
from trex_tui.lint.rule import (
    EVERY_RULE,
    GOOD,
    HIGH,
    INFO,
    LOW,
    MEDIUM,
    WARNING,
    Finding,
    Findings,
    Remedy,
    Rule,
    finding,
    not_checked,
)
from trex_tui.lint.rules.convolution import reads_few_channels
from trex_tui.text import plural

LEAST_TINY_LAYERS = 20
LEAST_TINY_PCT, TINY_WARNING_PCT = 10.0, 20.0
HOT_PCT, HOT_TIMES_MEAN = 10.0, 2.0
WARM_PCT, WARM_TIMES_MEDIAN = 5.0, 5.0
MOST_HOT_PCT = 50.0
"""A layer with this share dominates, in engines of few layers too."""
AT_ROOF_PCT = 75.0
COPIES_PCT = 20.0
OVERLAPPED = 1.1
"""Up to this ratio of query period to compute time, copies overlap with the compute of other queries."""
BUSY_PCT = 20.0


def timing_run(context: Context) -> str:
    """Enqueue and copies against the compute time."""
    return "" if timing_facts(context.engine) else no_timing(context)


def _advise(context: Context, with_graph: str, with_dla: str) -> str:
    """Return the remedy where a CUDA graph is in use, or where the DLA excludes it (NVIDIA/TensorRT#3524)."""
    if find_flag(context.engine, "cuda_graph") is True:
        return f"A CUDA graph is already in use: {with_graph}."
    if context.engine.facts.asks_for_dla or len(context.engine.dla_blocks) > 0:
        return f"{with_dla}: a CUDA graph cannot be used with the DLA."
    return ""


@Rule(
    "LAUNCH001",
    "Launch-bound: many kernels near the minimum duration",
    WARNING,
    looks_for="At least 20 layers that take at most twice the floor (percentile 2 of the layer times) and far more "
    "than their roofline time, if known; together 10 % of the engine (info) or 20 % (warning).",
    why="These kernels cost about one launch each; a faster GPU or lower precision does not help.",
    remedy="Use a CUDA graph, batch, and merge layers into fewer and wider ones.",
    references=(BEST_PRACTICES,),
    columns=("latency_ms", "stream", "roof_ms"),
    not_when="Profiles of fewer than 10 iterations (too coarse); layers on auxiliary streams.",
    needs=(profile,),
    estimate="assumes every second kernel can be fused",
    formula="half of (floor − profiling overhead per layer) each",
)
def many_tiny_layers(context: Context) -> Findings:
    iterations, floor = context.engine.iterations, context.floor_ms
    if floor is None or sum(map(bool, context.ms)) < FLOOR_LAYERS:
        return  # too few layers to hold many tiny ones
    if iterations is not None and iterations < FEW_ITERATIONS:
        yield not_checked(
            f"the profile rests on {plural(iterations, 'iteration')}, with times in steps of 1 µs: profile "
            "again with 100 or more"
        )
        return
    rows = zip(context.ms, context.streams, context.roof("roof_ms"), strict=True)
    tiny = [
        layer
        for layer, (ms, stream, roof_ms) in enumerate(rows)
        if ms
        and ms <= LAUNCH_FACTOR * floor
        and stream == context.main_stream
        and (roof_ms is None or roof_ms < LAUNCH_ROOF_SHARE * ms)
    ]
    share = context.share_of(tiny) or 0.0
    if len(tiny) < LEAST_TINY_LAYERS or share < LEAST_TINY_PCT:
        return
    gap = layer_gap(context.engine)
    overhead = max((gap.overhead_us_per_layer if gap else None) or 0.0, 0.0) / 1000.0
    saved = max(floor - overhead, 0.0) / 2.0
    yield finding(
        f"{plural(len(tiny), 'layer')} near the minimum duration (at most {1000 * LAUNCH_FACTOR * floor:.3g} µs, "
        f"far above their roofline): {share:.0f} % of the engine is launch-bound.",
        tiny,
        severity=WARNING if share >= TINY_WARNING_PCT else INFO,
        savings={layer: min(saved, ms) for layer, ms in context.times(tiny).items()},
        evidence={
            "layers": len(tiny),
            "floor_ms": floor,
            "tiny_pct": share,
            "profiling_overhead_ms": overhead,
        },
        remedy=_advise(
            context,
            "batch, and merge layers into fewer and wider ones",
            "Batch, and merge layers into fewer and wider ones",
        ),
    )


@Rule(
    "LAUNCH002",
    "Enqueue-bound",
    WARNING,
    looks_for=f"A median enqueue time above {ENQUEUE_BOUND:.0%} of the median compute time, trtexec's own limit, of at "
    f"most {MOST_LAUNCH_US} µs per layer ({MOST_LAUNCH_US_OF_INTEGRATED} on Jetson); if kernels are not listed, of at "
    f"most {MOST_ENQUEUE_MS} ms.",
    why="The GPU finishes before the host launches the next work; the host limits the throughput.",
    remedy=(
        "Use a CUDA graph (--rtxCudaGraphStrategy=wholeGraph), fewer layers, or a second stream.",
        "Use a CUDA graph (--useCudaGraph), fewer layers, or a second stream.",
    ),
    not_when="A longer enqueue: the host blocks in it, for a full launch queue or for shapes that depend "
    "on data, and its time says nothing about launches.",
    references=(BEST_PRACTICES, issue(2112)),
    needs=(timing_run,),
    estimate="assumes no gaps between layers",
    formula="max(median enqueue, median compute) − layer sum",
)
def bound_by_enqueue(context: Context) -> Findings:
    host = timing_facts(context.engine)
    enqueue, compute = (
        find_latency(context.engine, "median_ms", series) for series in ("enqueue", "compute")
    )
    if host is None or host.enqueue_ratio is None:
        unknown = host.unknown["enqueue_ratio"] if host else "no timing run"
        yield not_checked(f"{unknown}: keep the performance summary of trtexec")
    elif not host.is_enqueue_bound or enqueue is None or compute is None:
        return
    elif is_enqueue_blocked(context.engine):
        yield not_checked(
            f"the host blocks in enqueue ({enqueue:.4g} ms of a query of {compute:.4g} ms): its time says "
            "nothing about launches"
        )
    else:
        # The events around a query include gaps in which the GPU waits, so enqueue and compute are about equal here. The sum
        # of the layers is the time that the GPU needs without gaps.
        gap = layer_gap(context.engine)
        has_gaps = gap is not None and (gap.streams or 1) == 1 and not host.uses_cuda_graph
        sum_ms = gap.sum_average_ms if gap is not None and has_gaps else None
        saving_ms = max(enqueue, compute) - sum_ms if sum_ms else 0.0
        yield finding(
            f"Enqueue {enqueue:.4g} ms, GPU compute {compute:.4g} ms ({100 * host.enqueue_ratio:.0f} %): the GPU waits "
            "for launches.",
            confidence=MEDIUM if lists_kernels(context.engine) else LOW,
            engine_saving_ms=saving_ms if saving_ms > 0.0 else None,
            evidence={
                "enqueue_ms": enqueue,
                "compute_ms": compute,
                "enqueue_pct": 100 * host.enqueue_ratio,
                "cuda_graph": host.uses_cuda_graph,
            },
            remedy=_advise(
                context, "use a larger batch or several streams", "Use fewer DLA blocks, or a second stream"
            ),
        )


@Rule(
    "LAUNCH004",
    "Copies between host and device",
    WARNING,
    looks_for="Median copies in both directions above 20 % of the median latency, or one as long as the compute time; "
    "info if the throughput shows overlap with compute (1 / throughput up to 1.1 times the compute time).",
    why="Copies are not layers: changes to the network do not shorten them.",
    remedy="Use pinned or zero-copy memory, overlap copies with compute, reduce the inputs and outputs or "
    "their types to 8 or 16 bits.",
    references=(BEST_PRACTICES,),
    needs=(timing_run,),
    estimate="assumes that the copies are hidden by overlap with compute",
    formula="sum of the medians of both copies, at most 1 / throughput − compute",
)
def bound_by_copies(context: Context) -> Findings:
    host, compute = timing_facts(context.engine), find_latency(context.engine, "median_ms", "compute")
    if host is None or find_flag(context.engine, "data_transfers") is False or host.transfers_ms == 0:
        yield not_checked("no data transfers in the timing run: run it without --noDataTransfers")
        return
    if host.transfers_pct is None or host.transfers_ms is None:
        missing = f"{host.unknown['transfers_pct']}: export the times with --exportTimes"
        yield not_checked(context.explain_absence(missing, FileKind.TIMING))
        return
    if host.transfers_pct <= COPIES_PCT and not host.is_h2d_bound and not host.is_d2h_bound:
        return
    period = 1000.0 / host.throughput_qps if host.throughput_qps else None
    is_hidden = period is not None and compute is not None and period <= OVERLAPPED * compute
    directions = [("to the device", host.is_h2d_bound), ("to the host", host.is_d2h_bound)]
    bound = " and ".join(direction for direction, is_bound in directions if is_bound)
    note = f"; copies {bound} limit the run" if bound else ""
    if is_hidden:
        note = f", but overlap with compute: query period {period:.4g} ms, compute {compute:.4g} ms"
    hidden_ms = min(host.transfers_ms, period - compute if period and compute else host.transfers_ms)
    yield finding(
        f"Copies between host and device take {host.transfers_ms:.4g} ms, {host.transfers_pct:.0f} % of the "
        f"latency{note}.",
        severity=INFO if is_hidden else None,
        confidence=HIGH,
        engine_saving_ms=None if is_hidden else hidden_ms,
        evidence={
            "copies_ms": host.transfers_ms,
            "copies_pct": host.transfers_pct,
            "period_ms": period,
            "compute_ms": compute,
        },
        remedy="None for throughput. For single-query latency: smaller inputs and outputs, or buffers on the device."
        if is_hidden
        else "",
    )


@Rule(
    "HOT001",
    "Dominant layer",
    INFO,
    looks_for="A layer of 10 % of the engine and twice the mean (50 % in engines of few layers), or of 5 "
    "% and five times the median layer.",
    why="Its time limits what all other changes can save.",
    remedy="Check its ONNX nodes and roofline (trex-tui explain roof_pct): less work, a narrower type, or a better "
    "kernel.",
    not_when="Layers with a saving from another rule of at least medium confidence; rows that wait for the "
    "DLA, whose time is that of the DLA block.",
    references=(BEST_PRACTICES,),
    columns=("latency_ms", "latency_pct", "roof_pct", "bound", "onnx_nodes"),
    needs=(profile,),
    covered_by=EVERY_RULE,
)
def hot_layer(context: Context) -> Findings:
    timed = [layer for layer, ms in enumerate(context.ms) if ms]
    ordered = sorted(context.ms[layer] or 0.0 for layer in timed)
    mean, median = 100.0 / len(timed), context.pct(ordered[len(ordered) // 2]) or 0.0
    hot_pct = max(HOT_PCT, min(HOT_TIMES_MEAN * mean, MOST_HOT_PCT))
    warm_pct = max(WARM_PCT, WARM_TIMES_MEDIAN * median)
    for layer in timed:
        if context.share_pct(layer) >= min(hot_pct, warm_pct) and context.devices[layer] != "DLA":
            yield _describe_hot(context, layer)
    for block in plain_rows(dla_times(context.engine)) if len(context.engine.dla_blocks) else ():
        layer, wait, share = block["layer"], block["wait"], block["latency_pct"]
        if share is None or share < hot_pct:
            continue
        waits = "" if wait is None else f", {format_time(block['wait_ms'])} of it in row {wait}, which waits"
        yield finding(
            f"The DLA block {context.quote(layer)} takes {format_time(block['execution_ms'], share)} of the "
            f"engine{waits}.",
            [layer] if wait is None else [layer, wait],
            evidence={
                "execution_ms": block["execution_ms"],
                "latency_pct": share,
                "wait_ms": block["wait_ms"],
            },
            remedy="TensorRT does not time the layers of a DLA block: compare with a GPU build, or with INT8 "
            "instead of FP16.",
        )


def _describe_hot(context: Context, layer: int) -> Finding:
    roof = context.roof("roof_pct")[layer]
    nodes = context.nodes[layer]
    inside = f", {plural(len(nodes), 'ONNX node')} in it" if len(nodes) > 1 else ""
    is_good = roof is not None and roof >= AT_ROOF_PCT
    at_roof = f"; at {roof:.0f} % of its roofline, only less work helps" if is_good else ""
    return finding(
        f"{context.quote(layer)} takes {context.format_time(layer)} of the engine{inside}{at_roof}.",
        [layer],
        confidence=HIGH,
        evidence={
            "latency_ms": context.ms[layer],
            "latency_pct": context.share_pct(layer),
            "roof_pct": roof,
            "bound": context.roof("bound")[layer],
        },
        remedy=_advise_on_hot(context, layer),
        group="layers dominate",
    )


def _advise_on_hot(context: Context, layer: int) -> Remedy:
    """Return how to see what limits a layer of which too little is known; empty for others."""
    is_named_only = context.layer_types[layer] is None
    if context.kinds[layer] == LayerKind.MYELIN and context.layer_types[layer] != "kgen":
        look = "mark an output inside the range to split it, or profile with nsys."
        if not is_named_only or context.platform.ends_before_10:
            return f"To see its kernels, {look}"
        return (
            f"To see the kernels of closed blocks, build with --profilingVerbosity=detailed, {look}",
            f"TensorRT 10 and later list its kernels. Until then, {look}",
        )
    if reads_few_channels(context, layer):
        return (
            "Most multiply-adds are padding for so few input channels: pack 2×2 pixels into channels (space to "
            "depth) if the model can be changed."
        )
    if not is_named_only:
        return ""
    needs = context.needs_for_details
    return f"{needs[0].upper()}{needs[1:]}: shapes, types and tactic then show what limits it."


@Rule(
    "OK-LAUNCH",
    "Host not limiting",
    GOOD,
    looks_for="A median enqueue below 20 % of the median compute, and not many kernels at the launch floor.",
    columns=("latency_ms",),
)
def host_keeps_up(context: Context) -> Findings:
    if many_tiny_layers.find(context):
        return
    host = timing_facts(context.engine)
    if host is None or host.enqueue_ratio is None or 100.0 * host.enqueue_ratio >= BUSY_PCT:
        return
    graph = " (CUDA graph launch)" if host.uses_cuda_graph else ""
    most = "at most " if host.is_enqueue_below_resolution else ""
    text = f"Enqueue{graph} takes {most}{100 * host.enqueue_ratio:.2g} % of the compute time."
    yield finding(text, confidence=HIGH, evidence={"enqueue_pct": 100 * host.enqueue_ratio})


RULES = (many_tiny_layers, bound_by_enqueue, bound_by_copies, hot_layer, host_keeps_up)
