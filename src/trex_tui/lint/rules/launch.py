"""LAUNCH: time spent on starting work; DYN: on shapes and indices; HOT: layers with most of the time.

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
    USUAL_OVERHEAD_US,
    TimingFacts,
    find_latency,
    is_enqueue_blocked,
    layer_gap,
    lists_kernels,
    timing_facts,
)
from trex_tui.artifacts.kinds import FileKind
from trex_tui.engine.kinds import LayerKind
from trex_tui.frames import plain_rows
from trex_tui.lint.context import (
    BEST_PRACTICES,
    Context,
    details,
    format_time,
    issue,
    no_profile,
    no_timing,
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
    Remedy,
    finding,
    not_checked,
    rule,
    strength,
)
from trex_tui.lint.rules.convolution import reads_few_channels
from trex_tui.text import plural

LEAST_TINY_LAYERS = 20
TINY_WARNING_PCT = 20.0
SHORTER_PCT = 2.0
"""Excess of compute time over layers that exceeds the difference of two runs."""
HOT_TIMES_MEAN = 2.0
WARM_PCT = 5.0
WARM_TIMES_MEDIAN = 5.0
AT_ROOF_PCT = 75.0
OVERLAPPED = 1.1
"""Up to this ratio of query period to compute time, copies overlap with the compute of other queries."""
BUSY_PCT = 20.0
MOST_HOT_PCT = 50.0
"""A layer with this share dominates, in engines of few layers too."""
_INDEX_TYPES = frozenset(("INT32", "INT64", "BOOL"))
_LIGHT = (LayerKind.POINTWISE, LayerKind.REFORMAT, LayerKind.SHUFFLE, LayerKind.SLICE, LayerKind.CONCAT)


def timing_run(context: Context) -> str:
    """Enqueue and copies against the compute time."""
    return "" if timing_facts(context.engine) else no_timing(context)


def _timing(context: Context) -> TimingFacts:
    facts = timing_facts(context.engine)
    assert facts is not None
    return facts


def _uses_dla(context: Context) -> bool:
    """Return whether a part of the engine runs on the DLA, which CUDA graphs exclude (NVIDIA/TensorRT#3524)."""
    return context.engine.facts.asks_for_dla or len(context.engine.dla_blocks) > 0


def _uses_cuda_graph(context: Context) -> bool:
    """Return whether metadata or a log state that the timing run launched a CUDA graph."""
    return find_flag(context.engine, "cuda_graph") is True


@rule(
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
    thresholds={"least_pct": 10.0},
    estimate="assumes every second kernel can be fused",
    formula="half of (floor − profiling overhead per layer) each",
)
def many_tiny_layers(context: Context, least_pct: float) -> Findings:
    iterations = context.engine.iterations
    if sum(map(bool, context.ms)) < FLOOR_LAYERS:
        return  # too few layers to hold many tiny ones
    if iterations is not None and iterations < FEW_ITERATIONS:
        yield not_checked(
            f"the profile rests on {plural(iterations, 'iteration')}, with times in steps of 1 µs: profile "
            "again with 100 or more"
        )
        return
    tiny, floor = _find_tiny(context), context.floor_ms or 0.0
    share = context.share_of(tiny) or 0.0
    if len(tiny) < LEAST_TINY_LAYERS or share < least_pct:
        return
    gap = layer_gap(context.engine)
    overhead = max((gap.overhead_us_per_layer if gap else None) or 0.0, 0.0) / 1000.0
    saved = max(floor - overhead, 0.0) / 2.0
    yield finding(
        f"{plural(len(tiny), 'layer')} near the minimum duration (at most "
        f"{1000 * LAUNCH_FACTOR * floor:.3g} µs, far above their "
        f"roofline): {share:.0f} % of the engine is launch-bound.",
        tiny,
        severity=WARNING if share >= TINY_WARNING_PCT else INFO,
        savings={layer: min(saved, ms) for layer, ms in context.times(tiny).items()},
        evidence={
            "layers": len(tiny),
            "floor_ms": floor,
            "tiny_pct": share,
            "profiling_overhead_ms": overhead,
        },
        remedy="A CUDA graph is already in use: batch, and merge layers into fewer and wider ones."
        if _uses_cuda_graph(context)
        else "Batch, and merge layers into fewer and wider ones: a CUDA graph cannot be used with the DLA."
        if _uses_dla(context)
        else "",
    )


def _find_tiny(context: Context) -> list[int]:
    """Return layers of the main stream that take at most twice the floor, most of it above their roofline time, if known."""
    floor = context.floor_ms
    if floor is None:
        return []
    rows = zip(context.ms, context.streams, context.roof("roof_ms"), strict=True)
    return [
        layer
        for layer, (ms, stream, roof_ms) in enumerate(rows)
        if ms
        and ms <= LAUNCH_FACTOR * floor
        and stream == context.main_stream
        and (roof_ms is None or roof_ms < LAUNCH_ROOF_SHARE * ms)
    ]


@rule(
    "LAUNCH002",
    "Enqueue-bound",
    WARNING,
    looks_for=f"A median enqueue time above {ENQUEUE_BOUND:.0%} of the median compute time, trtexec's own "
    "limit, of at most "
    f"{MOST_LAUNCH_US} µs per layer ({MOST_LAUNCH_US_OF_INTEGRATED} on Jetson); if kernels are not listed, of at most "
    f"{MOST_ENQUEUE_MS} ms.",
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
    host = _timing(context)
    enqueue, compute = (
        find_latency(context.engine, "median_ms", series) for series in ("enqueue", "compute")
    )
    if host.enqueue_ratio is None:
        yield not_checked(f"{host.unknown['enqueue_ratio']}: keep the performance summary of trtexec")
    elif host.is_enqueue_bound and enqueue is not None and is_enqueue_blocked(context.engine):
        yield not_checked(
            f"the host blocks in enqueue ({enqueue:.4g} ms of a query of {compute or 0.0:.4g} ms): its "
            "time says nothing about launches"
        )
    elif host.is_enqueue_bound and enqueue is not None and compute is not None:
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
            remedy="A CUDA graph is already in use: use a larger batch or several streams."
            if _uses_cuda_graph(context)
            else "Use fewer DLA blocks, or a second stream: a CUDA graph cannot be used with the DLA."
            if _uses_dla(context)
            else "",
        )


@rule(
    "LAUNCH003",
    "Layer sum and compute time disagree",
    WARNING,
    looks_for="Layer sum minus median compute time: more than 8 µs per layer, or more than 2 % below the compute time.",
    why="Profiling adds 1.6 to 6.2 µs per layer. Outside this range, layer times and end-to-end times were "
    "measured under different conditions and cannot be combined.",
    remedy="Profile again with the options and clocks of the timing run.",
    references=(issue(4657),),
    columns=("latency_ms", "stream"),
    not_when="Engines with several streams, whose layers overlap.",
)
def layers_against_compute(context: Context) -> Findings:
    gap = layer_gap(context.engine)
    if gap is None:
        yield not_checked(no_profile(context))
        return
    overhead, compute = gap.overhead_us_per_layer, gap.compute_ms
    if overhead is None or not compute:
        yield not_checked(no_timing(context))
        return
    timed, medians = gap.layers_timed, gap.sum_median_ms
    if medians is not None and timed and overhead > 0:
        # Slow iterations raise means: MEASURE005 reports those.
        overhead = min(overhead, max(1000.0 * (medians - compute) / timed, 0.0))
    if (gap.streams or 1) > 1:
        return  # overlapping layers count twice in the sum, and there are no gaps
    usual = USUAL_OVERHEAD_US[1]
    if overhead <= usual and (gap.compute_difference_ms or 0.0) >= -compute * SHORTER_PCT / 100.0:
        return
    untimed = gap.layers_left_out
    reason = f"{plural(untimed, 'layer')} without a time, or " if untimed else ""
    reason += "time is spent outside the layers: host waits, launch gaps, or a profile at other clocks"
    if overhead > usual:
        reason = (
            f"{overhead:.1f} µs per layer, above the usual profiling overhead of {usual:.0f}: the profile "
            "was probably taken under other conditions"
        )
    yield finding(
        f"Layer sum {gap.sum_average_ms:.4g} ms, compute time {compute:.4g} ms: {reason}.",
        severity=WARNING if overhead > usual else INFO,
        evidence={
            "layers_sum_ms": gap.sum_average_ms,
            "compute_ms": compute,
            "overhead_us_per_layer": overhead,
            "profile_iterations": gap.iterations,
        },
    )


@rule(
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
    thresholds={"copies_pct": 20.0},
    estimate="assumes that the copies are hidden by overlap with compute",
    formula="sum of the medians of both copies, at most 1 / throughput − compute",
)
def bound_by_copies(context: Context, copies_pct: float) -> Findings:
    host, compute = _timing(context), find_latency(context.engine, "median_ms", "compute")
    if find_flag(context.engine, "data_transfers") is False or host.transfers_ms == 0:
        yield not_checked("no data transfers in the timing run: run it without --noDataTransfers")
        return
    if host.transfers_pct is None or host.transfers_ms is None:
        missing = f"{host.unknown['transfers_pct']}: export the times with --exportTimes"
        yield not_checked(context.explain_absence(missing, FileKind.TIMING))
        return
    if host.transfers_pct <= copies_pct and not host.is_h2d_bound and not host.is_d2h_bound:
        return
    period = 1000.0 / host.throughput_qps if host.throughput_qps else None
    if period is not None and compute and period <= OVERLAPPED * compute:
        yield finding(
            f"Copies between host and device take {host.transfers_ms:.4g} ms of the query latency, but "
            f"overlap with compute: query period {period:.4g} ms, compute {compute:.4g} ms.",
            severity=INFO,
            confidence=HIGH,
            evidence={"copies_ms": host.transfers_ms, "period_ms": period, "compute_ms": compute},
            remedy="None for throughput. For single-query latency: smaller inputs and outputs, or buffers "
            "on the device.",
        )
        return
    hidden = host.transfers_ms
    if period is not None and compute:
        hidden = min(hidden, period - compute)
    directions = [("to the device", host.is_h2d_bound), ("to the host", host.is_d2h_bound)]
    bound = " and ".join(direction for direction, is_bound in directions if is_bound)
    limit = f"; copies {bound} limit the run" if bound else ""
    yield finding(
        f"Copies between host and device take {host.transfers_ms:.4g} ms, {host.transfers_pct:.0f} % of the "
        f"latency{limit}.",
        confidence=HIGH,
        engine_saving_ms=hidden,
        evidence={
            "copies_ms": host.transfers_ms,
            "copies_pct": host.transfers_pct,
            "compute_ms": compute,
        },
    )


@rule(
    "HOT001",
    "Dominant layer",
    INFO,
    looks_for="A layer of 10 % of the engine and twice the mean (50 % in engines of few layers), or of 5 "
    "% and five times the median layer.",
    why="Its time limits what all other changes can save.",
    remedy="Check its ONNX nodes and roofline (trex-tui explain roof_pct): less work, a narrower type, or a better "
    "kernel.",
    not_when="Layers with a saving from another rule of at least medium confidence; first convolutions "
    "(CONV004); rows that wait for the DLA, whose time is that of the DLA block.",
    references=(BEST_PRACTICES,),
    columns=("latency_ms", "latency_pct", "roof_pct", "bound", "onnx_nodes"),
    needs=(profile,),
    thresholds={"latency_pct": 10.0},
    covered_by=EVERY_RULE,
)
def hot_layer(context: Context, latency_pct: float) -> Findings:
    timed = [layer for layer, ms in enumerate(context.ms) if ms]
    ordered = sorted(context.ms[layer] or 0.0 for layer in timed)
    mean, median = 100.0 / len(timed), context.pct(ordered[len(ordered) // 2]) or 0.0
    hot_pct = max(latency_pct, min(HOT_TIMES_MEAN * mean, MOST_HOT_PCT))
    warm_pct = max(WARM_PCT, WARM_TIMES_MEDIAN * median)
    for layer in timed:
        share = context.share_pct(layer)
        if (share < hot_pct and share < warm_pct) or context.devices[layer] == "DLA":
            continue
        if reads_few_channels(context, layer):
            continue
        yield _describe_hot(context, layer)
    yield from _hot_blocks(context, hot_pct)


def _describe_hot(context: Context, layer: int) -> Finding:
    roof, share = context.roof("roof_pct")[layer], context.share_pct(layer)
    at_roof = ""
    if roof and roof >= AT_ROOF_PCT:
        at_roof = f"; at {roof:.0f} % of its roofline, only less work helps"
    nodes = context.nodes[layer]
    inside = f", {plural(len(nodes), 'ONNX node')} in it" if len(nodes) > 1 else ""
    return finding(
        f"{context.quote(layer)} takes {context.format_time(layer)} of the engine{inside}{at_roof}.",
        [layer],
        confidence=HIGH,
        evidence={
            "latency_ms": context.ms[layer],
            "latency_pct": share,
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
        if not is_named_only:
            return f"To see its kernels, {look}"
        return (
            f"To see the kernels of closed blocks, build with --profilingVerbosity=detailed, {look}",
            f"TensorRT 10 and later list its kernels. Until then, {look}",
        )
    if not is_named_only:
        return ""
    verbosity = f"{context.build.argument('--profilingVerbosity')} {context.build.options.get('Profiling verbosity', '')}"
    is_detailed = "detailed" in verbosity or "2" in verbosity.split()
    build = "" if is_detailed else "Build with --profilingVerbosity=detailed and "
    text = f"{build}export with --exportLayerInfo: shapes, types and tactic then show what limits it."
    return text[0].upper() + text[1:]


def _hot_blocks(context: Context, least_pct: float) -> Findings:
    """Yield DLA blocks that take a large share, with the rows that wait for them."""
    for block in plain_rows(dla_times(context.engine)) if len(context.engine.dla_blocks) else ():
        layer, wait, share = block["layer"], block["wait"], block["latency_pct"]
        if share is None or share < least_pct:
            continue
        parts = ""
        if wait is not None:
            parts = (
                f": {format_time(context.ms[layer])} in its row, {format_time(block['wait_ms'])} in row {wait}, which "
                "waits for it"
            )
        yield finding(
            f"The DLA block {context.quote(layer)} takes {format_time(block['execution_ms'], share)} of "
            f"the engine{parts}.",
            [layer] if wait is None else [layer, wait],
            confidence=MEDIUM,
            evidence={
                "execution_ms": block["execution_ms"],
                "latency_pct": share,
                "submission_ms": context.ms[layer],
                "wait_ms": block["wait_ms"],
            },
            remedy="TensorRT does not time the layers of a DLA block: compare with a GPU build, or with INT8 "
            "instead of FP16.",
        )


@rule(
    "DYN001",
    "Shapes and indices computed at run time",
    INFO,
    looks_for="Shape computations and light layers whose tensors are all INT32, INT64 or BOOL, together 3 "
    "% of the engine.",
    why="With fixed shapes TensorRT computes these at build time.",
    remedy="Fix constant shapes; fold constants with polygraphy surgeon sanitize --fold-constants.",
    references=(
        "Overhead of Shape Change and Optimization Profile Switching: "
        "https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/performance/overhead-layer-optimization.html",
    ),
    columns=("kind", "latency_ms", "input_formats", "output_formats"),
    not_when="Kernels that mix indices with data, and top-k or other reductions, which are part of the network.",
    needs=(details, profile),
    thresholds={"least_pct": 3.0},
    estimate="assumes fixed shapes: computed at build time",
    formula="time of shape computations and of light layers with integer and boolean tensors only",
)
def shapes_at_run_time(context: Context, least_pct: float) -> Findings:
    layers = [layer for layer, ms in enumerate(context.ms) if ms and _holds_indices(context, layer)]
    share = context.share_of(layers) or 0.0
    if layers and share >= least_pct:
        yield finding(
            f"{plural(len(layers), 'layer')} only for shapes, indices and masks: {context.format_time(*layers)}.",
            layers,
            savings=context.times(layers),
            evidence={"layers": len(layers), "index_ms": context.sum_ms(layers), "index_pct": share},
        )


def _holds_indices(context: Context, layer: int) -> bool:
    """Return whether a layer computes a shape, or is light with only integer or boolean tensors."""
    types = {port.dtype for port in (*context.inputs[layer], *context.outputs[layer])}
    is_light = context.kinds[layer] in _LIGHT and bool(types)
    return context.kinds[layer] == LayerKind.SHAPE or (is_light and types <= _INDEX_TYPES)


@strength(
    "LAUNCH",
    "Host not limiting",
    "A median enqueue below 20 % of the median compute, and not many kernels at the launch floor.",
    ("latency_ms",),
    without=(many_tiny_layers,),
)
def host_keeps_up(context: Context) -> Finding | None:
    host = timing_facts(context.engine)
    if host is None or host.enqueue_ratio is None or 100.0 * host.enqueue_ratio >= BUSY_PCT:
        return None
    graph = " (CUDA graph launch)" if host.uses_cuda_graph else ""
    most = "at most " if host.is_enqueue_below_resolution else ""
    text = f"Enqueue{graph} takes {most}{100 * host.enqueue_ratio:.2g} % of the compute time."
    return finding(text, evidence={"enqueue_pct": 100 * host.enqueue_ratio})


RULES = (
    many_tiny_layers,
    bound_by_enqueue,
    layers_against_compute,
    bound_by_copies,
    hot_layer,
    shapes_at_run_time,
    host_keeps_up,
)
