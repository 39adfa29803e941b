"""LAUNCH: time spent on starting work; DYN: on shapes and indices; HOT: layers with most of the time.

All limits are relative to the shortest layers of the same engine: a fixed number of microseconds would make a network
launch-bound on one GPU and not on another.
"""

from __future__ import annotations

from trex_tui.old.analysis.dla import find_dla_use
from trex_tui.old.analysis.gap import FEW_ITERATIONS, USUAL_OVERHEAD_US, Gap, gap
from trex_tui.old.analysis.structure import sum_latency_ms
from trex_tui.old.analysis.thresholds import FLOOR_LAYERS, LAUNCH_FACTOR, LAUNCH_ROOF_SHARE
from trex_tui.old.analysis.timing import (
    ENQUEUE_BOUND,
    EnqueueAgainstCompute,
    enqueue_against_compute,
    option_is_enabled,
)
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.layer_words import OPEN_BLOCK
from trex_tui.old.engine.model import Device, Layer
from trex_tui.old.lint.context import (
    BEST_PRACTICES,
    Context,
    details,
    format_time,
    issue,
    no_profile,
    no_timing,
    no_timing_rows,
    profile,
    quote_layer,
)
from trex_tui.old.lint.dataflow import main_stream
from trex_tui.old.lint.model import (
    Confidence,
    Finding,
    Findings,
    Severity,
    finding,
    not_checked,
    rule,
    strength,
)
from trex_tui.old.lint.rules.convolution import first_convolution
from trex_tui.old.text import plural

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
_INDEX_TYPES = frozenset({DataType.INT32, DataType.INT64, DataType.BOOL})
_LIGHT = frozenset(
    {LayerKind.POINTWISE, LayerKind.REFORMAT, LayerKind.SHUFFLE, LayerKind.SLICE, LayerKind.CONCAT}
)


def timing_run(context: Context) -> str:
    """Enqueue and copies against the compute time."""
    return "" if _compare_host(context) else no_timing(context)


def _compare_host(context: Context) -> EnqueueAgainstCompute | None:
    return enqueue_against_compute(context.engine, context.timing)


def _compare_layers(context: Context) -> Gap | None:
    return gap(context.engine, context.timing)


@rule(
    "LAUNCH001",
    "Many kernels at the launch floor",
    Severity.WARNING,
    looks_for="At least 20 layers that take at most twice the floor (percentile 2 of the layer times) and far more "
    "than their roofline time, if known; together 10 % of the engine (info) or 20 % (warning).",
    why="These kernels cost about one launch each; a faster GPU or lower precision does not help.",
    remedy="Use a CUDA graph, batch, and merge layers into fewer and wider ones.",
    references=(BEST_PRACTICES,),
    columns=("latency_ms", "stream", "roof_ms"),
    not_when="Profiles of fewer than 10 iterations (too coarse); layers on auxiliary streams.",
    needs=(profile,),
    thresholds={"least_pct": 10.0},
)
def many_tiny_layers(context: Context, least_pct: float) -> Findings:
    iterations = context.engine.profile_iterations
    if sum(bool(layer.latency_ms) for layer in context.layers) < FLOOR_LAYERS:
        return  # too few layers to hold many tiny ones
    if iterations is not None and iterations < FEW_ITERATIONS:
        yield not_checked(
            f"the profile rests on {plural(iterations, 'iteration')}, with times in steps of 1 µs: profile "
            "again with 100 or more"
        )
        return
    tiny, floor = _find_tiny(context), context.floor_ms or 0.0
    share = context.total_share_pct(tiny) or 0.0
    if len(tiny) < LEAST_TINY_LAYERS or share < least_pct:
        return
    comparison = _compare_layers(context)
    overhead = max((comparison.overhead_us_per_layer if comparison else None) or 0.0, 0.0) / 1000.0
    saved = max(floor - overhead, 0.0) / 2.0
    yield finding(
        f"{plural(len(tiny), 'layer')} take at most {1000 * LAUNCH_FACTOR * floor:.3g} µs, twice the "
        f"shortest: {share:.0f} % of the engine is launch-bound.",
        tiny,
        severity=Severity.WARNING if share >= TINY_WARNING_PCT else Severity.INFO,
        savings={layer.index: min(saved, layer.latency_ms or 0.0) for layer in tiny},
        formula="half of (floor − profiling overhead per layer) each: every second kernel merged",
        evidence={
            "layers": len(tiny),
            "floor_ms": floor,
            "tiny_pct": share,
            "profiling_overhead_ms": overhead,
        },
        remedy="A CUDA graph is already in use: batch, and merge layers into fewer and wider ones."
        if _uses_cuda_graph(context)
        else "",
    )


def _uses_cuda_graph(context: Context) -> bool:
    """Return whether metadata or a log state that the timing run launched a CUDA graph."""
    return option_is_enabled(context.engine, "CUDA Graph") is True


def _find_tiny(context: Context) -> list[Layer]:
    """Return layers of the main stream that take at most twice the floor, most of it above their roofline time, if known."""
    floor, stream = context.floor_ms, main_stream(context)
    if floor is None:
        return []
    tiny = []
    for layer in context.layers:
        if not layer.latency_ms or layer.latency_ms > LAUNCH_FACTOR * floor or layer.stream != stream:
            continue
        point = context.point(layer)
        roof_ms = point.roof_ms if point else None
        if roof_ms is None or roof_ms < LAUNCH_ROOF_SHARE * layer.latency_ms:
            tiny.append(layer)
    return tiny


@rule(
    "LAUNCH002",
    "Enqueue-bound",
    Severity.WARNING,
    looks_for=f"A median enqueue time above {ENQUEUE_BOUND:.0%} of the median compute time, trtexec's own limit.",
    why="The GPU finishes before the host launches the next work; the host limits the throughput.",
    remedy="Use a CUDA graph (--useCudaGraph), fewer layers, or a second stream.",
    references=(BEST_PRACTICES, issue(2112)),
    needs=(timing_run,),
)
def bound_by_enqueue(context: Context) -> Findings:
    host = _compare_host(context)
    assert host is not None
    if host.ratio is None:
        yield not_checked(f"{host.unknown['ratio']}: keep the performance summary of trtexec")
    elif host.is_enqueue_bound and host.enqueue_ms is not None and host.compute_ms is not None:
        # The events around a query include gaps in which the GPU waits, so enqueue and compute are about equal here. The sum
        # of the layers is the time that the GPU needs without gaps.
        layers = _compare_layers(context)
        has_gaps = layers is not None and (layers.streams or 1) == 1 and not host.uses_cuda_graph
        layer_sum_ms = layers.sum_average_ms if layers is not None and has_gaps else None
        saving_ms = max(host.enqueue_ms, host.compute_ms) - layer_sum_ms if layer_sum_ms else 0.0
        yield finding(
            f"Enqueue {host.enqueue_ms:.4g} ms, GPU compute {host.compute_ms:.4g} ms "
            f"({100 * host.ratio:.0f} %): the GPU waits for launches.",
            confidence=Confidence.MEDIUM,
            engine_saving_ms=saving_ms if saving_ms > 0.0 else None,
            formula="max(median enqueue, median compute) − layer sum: no gaps between layers"
            if saving_ms > 0.0
            else "",
            evidence={
                "enqueue_ms": host.enqueue_ms,
                "compute_ms": host.compute_ms,
                "enqueue_pct": 100 * host.ratio,
                "cuda_graph": host.uses_cuda_graph,
            },
            remedy="A CUDA graph is already in use: use a larger batch or several streams."
            if _uses_cuda_graph(context)
            else "",
        )


@rule(
    "LAUNCH003",
    "Layer sum and compute time disagree",
    Severity.WARNING,
    looks_for="Layer sum minus median compute time: more than 8 µs per layer, or more than 2 % below the compute time.",
    why="Profiling adds 1.6 to 6.2 µs per layer. Outside this range, layer times and end-to-end times were "
    "measured under different conditions and cannot be combined.",
    remedy="Profile again with the options and clocks of the timing run.",
    references=(issue(4657),),
    columns=("latency_ms", "stream"),
    not_when="Engines with several streams, whose layers overlap.",
)
def layers_against_compute(context: Context) -> Findings:
    comparison = _compare_layers(context)
    if comparison is None:
        yield not_checked(no_profile(context))
        return
    overhead, compute = comparison.overhead_us_per_layer, comparison.compute_ms
    if overhead is None or not compute:
        yield not_checked(no_timing(context))
        return
    timed, medians = comparison.layers_timed, comparison.sum_median_ms
    if medians is not None and timed and overhead > 0:
        # Slow iterations raise means: MEASURE005 reports those.
        overhead = min(overhead, max(1000.0 * (medians - compute) / timed, 0.0))
    if (comparison.streams or 1) > 1:
        return  # overlapping layers count twice in the sum, and there are no gaps
    usual = USUAL_OVERHEAD_US[1]
    if overhead <= usual and (comparison.compute_difference_ms or 0.0) >= -compute * SHORTER_PCT / 100.0:
        return
    untimed = comparison.layers_left_out
    reason = f"{plural(untimed, 'layer')} without a time, or " if untimed else ""
    reason += "time is spent outside the layers: host waits, launch gaps, or a profile at other clocks"
    if overhead > usual:
        reason = (
            f"{overhead:.1f} µs per layer, above the usual profiling overhead of {usual:.0f}: the profile "
            "was probably taken under other conditions"
        )
    yield finding(
        f"Layer sum {comparison.sum_average_ms:.4g} ms, compute time {compute:.4g} ms: {reason}.",
        severity=Severity.WARNING if overhead > usual else Severity.INFO,
        evidence={
            "layers_sum_ms": comparison.sum_average_ms,
            "compute_ms": compute,
            "overhead_us_per_layer": overhead,
            "profile_iterations": comparison.iterations,
        },
    )


@rule(
    "LAUNCH004",
    "Bound by copies between host and device",
    Severity.WARNING,
    looks_for="Median copies in both directions above 20 % of the median latency, or one as long as the compute time; "
    "info if the throughput shows overlap with compute (1 / throughput up to 1.1 times the compute time).",
    why="Copies are not layers: changes to the network do not shorten them.",
    remedy=(
        "Use pinned or zero-copy memory, overlap copies with compute, reduce the inputs and outputs or "
        "their types to 8 or 16 bits."
    ),
    references=(BEST_PRACTICES,),
    needs=(timing_run,),
    thresholds={"copies_pct": 20.0},
)
def bound_by_copies(context: Context, copies_pct: float) -> Findings:
    host = _compare_host(context)
    assert host is not None
    if option_is_enabled(context.engine, "Data transfers") is False or host.transfers_ms == 0:
        yield not_checked("no data transfers in the timing run: run it without --noDataTransfers")
        return
    if host.transfers_pct is None or host.transfers_ms is None:
        yield not_checked(
            no_timing_rows(context, f"{host.unknown['transfers_pct']}: export the times with --exportTimes")
        )
        return
    if host.transfers_pct <= copies_pct and not host.is_h2d_bound and not host.is_d2h_bound:
        return
    period = _period_ms(context)
    if period is not None and host.compute_ms and period <= OVERLAPPED * host.compute_ms:
        yield finding(
            f"Copies between host and device take {host.transfers_ms:.4g} ms of the query latency, but "
            f"overlap with compute: query period {period:.4g} ms, compute {host.compute_ms:.4g} ms.",
            severity=Severity.INFO,
            confidence=Confidence.HIGH,
            evidence={"copies_ms": host.transfers_ms, "period_ms": period, "compute_ms": host.compute_ms},
            remedy="None for throughput. For single-query latency: smaller inputs and outputs, or buffers on the "
            "device.",
        )
        return
    hidden = host.transfers_ms
    if period is not None and host.compute_ms:
        hidden = min(hidden, period - host.compute_ms)
    bound = "; copies to the device limit the run" if host.is_h2d_bound else ""
    bound = "; copies to the host limit the run" if host.is_d2h_bound else bound
    yield finding(
        f"Copies between host and device take {host.transfers_ms:.4g} ms, {host.transfers_pct:.0f} % of the latency{bound}.",
        confidence=Confidence.HIGH,
        engine_saving_ms=hidden,
        formula="sum of the medians of both copies, at most 1 / throughput − compute (hidden by overlap)",
        evidence={
            "copies_ms": host.transfers_ms,
            "copies_pct": host.transfers_pct,
            "compute_ms": host.compute_ms,
        },
    )


def _period_ms(context: Context) -> float | None:
    """Return the time from query to query; None without a throughput."""
    qps = context.timing.throughput_qps if context.timing else None
    return 1000.0 / qps if qps else None


@rule(
    "HOT001",
    "Dominant layer",
    Severity.INFO,
    looks_for="A layer of 10 % of the engine and twice the mean, or of 5 % and five times the median layer.",
    why="Its time limits what all other changes can save.",
    remedy="Check its ONNX nodes and roofline (trex-tui explain roof_pct): less work, a narrower type, or a better "
    "kernel.",
    not_when="Layers with a saving from another rule; first convolutions (CONV004); rows that wait for the DLA, "
    "whose time is that of the DLA block.",
    references=(BEST_PRACTICES,),
    columns=("latency_ms", "latency_pct", "roof_pct", "bound", "onnx_nodes"),
    needs=(profile,),
    thresholds={"latency_pct": 10.0},
    is_symptom=True,
)
def hot_layer(context: Context, latency_pct: float) -> Findings:
    timed = [layer for layer in context.layers if layer.latency_ms]
    ordered = sorted(layer.latency_ms or 0.0 for layer in timed)
    mean, median = 100.0 / len(timed), context.pct(ordered[len(ordered) // 2]) or 0.0
    stems = {
        index
        for answer in first_convolution.look(context)
        if isinstance(answer, Finding)
        for index in answer.layers
    }
    hot_pct, warm_pct = max(latency_pct, HOT_TIMES_MEAN * mean), max(WARM_PCT, WARM_TIMES_MEDIAN * median)
    for layer in timed:
        share = context.share_pct(layer)
        if (share < hot_pct and share < warm_pct) or layer.device is Device.DLA:
            continue
        if layer.kind is LayerKind.CONVOLUTION and layer.index in stems:
            continue
        point = context.point(layer)
        roof = point.roof_pct if point else None
        at_roof = ""
        if roof and roof >= AT_ROOF_PCT:
            at_roof = f"; at {roof:.0f} % of its roofline, only less work helps"
        remedy = ""
        if layer in context.opaque_blocks:
            remedy = OPEN_BLOCK
        elif layer.layer_type is None:
            remedy = (
                "Build with --profilingVerbosity=detailed and export with --exportLayerInfo: shapes, types and tactic then "
                "show what limits it."
            )
        inside = f", {plural(len(layer.onnx_nodes), 'ONNX node')} in it" if len(layer.onnx_nodes) > 1 else ""
        yield finding(
            f"{quote_layer(layer)} takes {context.format_time(layer)} of the engine{inside}{at_roof}.",
            [layer],
            confidence=Confidence.HIGH,
            evidence={
                "latency_ms": layer.latency_ms,
                "latency_pct": share,
                "roof_pct": roof,
                "bound": point.bound.value if point and point.bound else None,
            },
            remedy=remedy,
            group="layers dominate",
        )
    yield from _hot_blocks(context, hot_pct)


def _hot_blocks(context: Context, least_pct: float) -> Findings:
    """Yield DLA blocks that take a large share, with the rows that wait for them."""
    use = find_dla_use(context.engine)
    for times in use.blocks if use else ():
        if times.latency_pct is None or times.latency_pct < least_pct:
            continue
        parts = ""
        if times.wait is not None:
            parts = (
                f": {format_time(times.layer.latency_ms)} in its row, {format_time(times.wait_ms)} in row "
                f"{times.wait.index}, which waits for it"
            )
        yield finding(
            f"The DLA block {quote_layer(times.layer)} takes {format_time(times.execution_ms, times.latency_pct)} of the "
            f"engine{parts}.",
            [times.layer, *([times.wait] if times.wait else [])],
            confidence=Confidence.MEDIUM,
            evidence={
                "execution_ms": times.execution_ms,
                "latency_pct": times.latency_pct,
                "submission_ms": times.layer.latency_ms,
                "wait_ms": times.wait_ms,
            },
            remedy="TensorRT does not time the layers of a DLA block: compare with a GPU build, or with INT8 "
            "instead of FP16.",
        )


@rule(
    "DYN001",
    "Shapes and indices computed at run time",
    Severity.INFO,
    looks_for="Shape computations and light layers whose tensors are all INT32, INT64 or BOOL, together 3 % of the engine.",
    why="With fixed shapes TensorRT computes these at build time.",
    remedy="Fix constant shapes; fold constants with polygraphy surgeon sanitize --fold-constants.",
    references=(
        "Overhead of Shape Change and Optimization Profile Switching: "
        "https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/performance/overhead-layer-optimization.html",
    ),
    columns=("kind", "latency_ms", "input_formats", "output_formats"),
    not_when=(
        "Kernels that mix indices with data, and top-k or other reductions, which are part of the network."
    ),
    needs=(details, profile),
    thresholds={"least_pct": 3.0},
)
def shapes_at_run_time(context: Context, least_pct: float) -> Findings:
    layers = [layer for layer in context.layers if layer.latency_ms and _holds_indices(layer)]
    total = sum_latency_ms(layers)
    share = context.pct(total) or 0.0
    if layers and share >= least_pct:
        yield finding(
            (
                f"{plural(len(layers), 'layer')} only for shapes, indices and masks: "
                f"{context.format_time(*layers)}."
            ),
            layers,
            savings=layers,
            formula="time of shape computations and of light layers with integer and boolean tensors only",
            evidence={"layers": len(layers), "index_ms": total, "index_pct": share},
        )


def _holds_indices(layer: Layer) -> bool:
    """Return whether a layer computes a shape, or is light with only integer or boolean tensors."""
    tensors = (*layer.inputs, *layer.outputs)
    is_light = layer.kind in _LIGHT and bool(tensors)
    return layer.kind is LayerKind.SHAPE or (
        is_light and all(tensor.dtype in _INDEX_TYPES for tensor in tensors)
    )


@strength(
    "LAUNCH",
    "Host not limiting",
    "A median enqueue below 20 % of the median compute, and not many kernels at the launch floor.",
    ("latency_ms",),
    without=(many_tiny_layers,),
)
def host_keeps_up(context: Context) -> Finding | None:
    host = _compare_host(context)
    if host is None or host.ratio is None or 100.0 * host.ratio >= BUSY_PCT:
        return None
    graph = " (CUDA graph launch)" if host.uses_cuda_graph else ""
    text = f"Enqueue{graph} takes {100 * host.ratio:.2g} % of the compute time."
    return finding(text, evidence={"enqueue_pct": 100 * host.ratio})
