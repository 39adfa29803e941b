"""LAUNCH: time that goes into starting work, not into the work; DYN: into shapes and indices; HOT: where the work is.

All limits are relative to what the shortest layers of the same engine take: a fixed number of microseconds calls one GPU
launch-bound and not the next with the same network.
"""

from __future__ import annotations

from trex_tui.analysis.gap import FEW_ITERATIONS, USUAL_OVERHEAD_US, Gap, gap
from trex_tui.analysis.roofline import FLOOR_LAYERS, LAUNCH_FACTOR, LAUNCH_ROOF_SHARE
from trex_tui.analysis.structure import sum_latency_ms
from trex_tui.analysis.timing import (
    ENQUEUE_BOUND,
    EnqueueAgainstCompute,
    enqueue_against_compute,
    option_is_enabled,
)
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.lint.context import Context, details, profile
from trex_tui.lint.dataflow import main_stream
from trex_tui.lint.lint_text import BEST_PRACTICES, NO_PROFILE, NO_TIMING, issue, quote_layer
from trex_tui.lint.model import Confidence, Finding, Findings, Severity, finding, not_checked, rule, strength
from trex_tui.text import plural

LEAST_TINY_LAYERS = 20
TINY_WARNING_PCT = 20.0
SHORTER_PCT = 2.0
"""By how much the compute time must exceed the layers to be more than the difference of two runs."""
HOT_TIMES_MEAN = 2.0
WARM_PCT = 5.0
WARM_TIMES_MEDIAN = 5.0
AT_ROOF_PCT = 75.0
BUSY_PCT = 20.0
_INDEX_TYPES = frozenset({DataType.INT32, DataType.INT64, DataType.BOOL})
_LIGHT = frozenset(
    {LayerKind.POINTWISE, LayerKind.REFORMAT, LayerKind.SHUFFLE, LayerKind.SLICE, LayerKind.CONCAT}
)


def timing_run(context: Context) -> str:
    """Enqueue and copies against the compute time."""
    return "" if _compare_host(context) else NO_TIMING


def _compare_host(context: Context) -> EnqueueAgainstCompute | None:
    return enqueue_against_compute(context.engine, context.timing)


def _compare_layers(context: Context) -> Gap | None:
    return gap(context.engine, context.timing)


@rule(
    "LAUNCH001",
    "Many kernels at the launch floor",
    Severity.WARNING,
    looks_for="20 or more layers that take at most twice the floor (percentile 2 of the layer times) and, where the roof "
    "is known, far more than that; together 10 % of the engine (info) or 20 % (warning).",
    why="Such a kernel costs what starting any kernel costs; a faster GPU or a lower precision changes nothing.",
    remedy="Run with a CUDA graph, batch, and merge what can be merged: fewer and wider layers.",
    references=(BEST_PRACTICES,),
    columns=("latency_ms", "stream", "roof_ms"),
    not_when="Profiles over fewer than 10 iterations, whose times are too coarse; layers on auxiliary streams.",
    needs=(profile,),
    thresholds={"least_pct": 10.0},
)
def many_tiny_layers(context: Context, least_pct: float) -> Findings:
    iterations = context.engine.profile_iterations
    if sum(bool(layer.latency_ms) for layer in context.layers) < FLOOR_LAYERS:
        return  # too few layers to hold many tiny ones
    if iterations is not None and iterations < FEW_ITERATIONS:
        yield not_checked(
            f"the profile rests on {plural(iterations, 'iteration')}, whose times come in steps of 1 µs: profile again "
            "over 100 or more"
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
        f"{plural(len(tiny), 'layer')} take at most {1000 * LAUNCH_FACTOR * floor:.3g} µs, twice what the shortest take: "
        f"{share:.0f} % of the engine is kernels that cost about what starting one costs.",
        tiny,
        severity=Severity.WARNING if share >= TINY_WARNING_PCT else Severity.INFO,
        savings={layer.index: min(saved, layer.latency_ms or 0.0) for layer in tiny},
        formula="half of (floor − profiling overhead per layer) for each: every second kernel merged away",
        evidence={
            "layers": len(tiny),
            "floor_ms": floor,
            "tiny_pct": share,
            "profiling_overhead_ms": overhead,
        },
    )


def _find_tiny(context: Context) -> list[Layer]:
    """Layers of the main stream that take at most twice the floor, and whose roof, where known, leaves most of that."""
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
    "Bound by the enqueue",
    Severity.WARNING,
    looks_for=f"A median enqueue time above {ENQUEUE_BOUND:.0%} of the median compute time, trtexec's own limit.",
    why="The GPU finishes before the host has launched the next work; throughput is the host's.",
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
        yield finding(
            f"The host takes {host.enqueue_ms:.4g} ms to enqueue what the GPU computes in {host.compute_ms:.4g} ms "
            f"({100 * host.ratio:.0f} %): the GPU waits for launches.",
            confidence=Confidence.HIGH,
            engine_saving_ms=max(host.enqueue_ms - host.compute_ms, 0.0) or None,
            formula="median enqueue − median compute, if positive",
            evidence={
                "enqueue_ms": host.enqueue_ms,
                "compute_ms": host.compute_ms,
                "enqueue_pct": 100 * host.ratio,
                "cuda_graph": host.uses_cuda_graph,
            },
            remedy="A CUDA graph is in use already: enqueue more work at once, with a larger batch or several streams."
            if host.uses_cuda_graph
            else "",
        )


@rule(
    "LAUNCH003",
    "Sum of the layers and compute time do not fit",
    Severity.WARNING,
    looks_for="Sum of the layers minus median compute, per layer: more than 8 µs, or the layers shorter than the compute "
    "time by more than 2 %.",
    why="Profiling adds 1.6 to 6.2 µs a layer. Outside that, layer times and end-to-end times are of different "
    "conditions, and shares of one do not carry over to the other.",
    remedy="Profile again with the flags and clocks of the timing run.",
    references=(issue(4657),),
    columns=("latency_ms", "stream"),
    not_when="Engines with several streams, whose layers overlap.",
)
def layers_against_compute(context: Context) -> Findings:
    comparison = _compare_layers(context)
    if comparison is None:
        yield not_checked(NO_PROFILE)
        return
    overhead, compute = comparison.overhead_us_per_layer, comparison.compute_ms
    if overhead is None or not compute:
        yield not_checked(NO_TIMING)
        return
    if (comparison.streams or 1) > 1:
        return  # what overlaps counts twice in the sum, and waits in none
    usual = USUAL_OVERHEAD_US[1]
    if overhead <= usual and (comparison.compute_difference_ms or 0.0) >= -compute * SHORTER_PCT / 100.0:
        return
    reason = "so time goes by outside the layers: waits for the host, gaps between launches, or a profile of other clocks"
    if overhead > usual:
        reason = (
            f"that is {overhead:.1f} µs for each layer, where profiling costs up to {usual:.0f}: the profile "
            "seems to be of other conditions than the timing run"
        )
    yield finding(
        f"The layers add up to {comparison.sum_average_ms:.4g} ms, the timing run computes for {compute:.4g} ms: {reason}.",
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
    looks_for="Median copies in both directions above 20 % of the median latency, or one as long as the compute time.",
    why="The copies are no layers: no change of the network shortens them.",
    remedy="Pinned or zero-copy memory, copies that overlap with compute, smaller or 8- and 16-bit inputs and outputs.",
    references=(BEST_PRACTICES,),
    needs=(timing_run,),
    thresholds={"copies_pct": 20.0},
)
def bound_by_copies(context: Context, copies_pct: float) -> Findings:
    host = _compare_host(context)
    assert host is not None
    if option_is_enabled(context.engine, "Data transfers") is False or host.transfers_ms == 0:
        yield not_checked("data transfers were off in the timing run: time it without --noDataTransfers")
        return
    if host.transfers_pct is None or host.transfers_ms is None:
        yield not_checked(f"{host.unknown['transfers_pct']}: export the times with --exportTimes")
        return
    if host.transfers_pct <= copies_pct and not host.is_h2d_bound and not host.is_d2h_bound:
        return
    bound = " and to the device bound the run" if host.is_h2d_bound else ""
    bound = " and to the host bound the run" if host.is_d2h_bound else bound
    yield finding(
        f"Copies between host and device take {host.transfers_ms:.4g} ms, {host.transfers_pct:.0f} % of the latency{bound}.",
        confidence=Confidence.HIGH,
        engine_saving_ms=host.transfers_ms,
        formula="sum of the medians of both copies: what overlapping or device-side buffers could hide",
        evidence={
            "copies_ms": host.transfers_ms,
            "copies_pct": host.transfers_pct,
            "compute_ms": host.compute_ms,
        },
    )


@rule(
    "HOT001",
    "One layer dominates",
    Severity.INFO,
    looks_for="A layer of 10 % of the engine and twice the mean, or of 5 % and five times the median layer.",
    why="It is where time can be won, or where it is known that none can.",
    remedy="Read what the other findings say about this layer; without any, look at its roof.",
    references=(BEST_PRACTICES,),
    columns=("latency_ms", "latency_pct", "roof_pct", "bound", "onnx_nodes"),
    needs=(profile,),
    thresholds={"latency_pct": 10.0},
)
def hot_layer(context: Context, latency_pct: float) -> Findings:
    timed = [layer for layer in context.layers if layer.latency_ms]
    ordered = sorted(layer.latency_ms or 0.0 for layer in timed)
    mean, median = 100.0 / len(timed), context.pct(ordered[len(ordered) // 2]) or 0.0
    for layer in timed:
        share = context.share_pct(layer)
        is_hot = share >= max(latency_pct, HOT_TIMES_MEAN * mean)
        if not is_hot and share < max(WARM_PCT, WARM_TIMES_MEDIAN * median):
            continue
        point = context.point(layer)
        roof = point.roof_pct if point else None
        at_roof = ""
        if roof and roof >= AT_ROOF_PCT:
            at_roof = f"; it runs at {roof:.0f} % of its roof, so only less work helps"
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
        )


@rule(
    "DYN001",
    "Shapes and indices are computed at run time",
    Severity.INFO,
    looks_for="Shape computations and light layers whose tensors are all INT32, INT64 or BOOL, together 3 % of the engine.",
    why="With fixed shapes TensorRT computes these once, while it builds.",
    remedy="Fix the shapes that never change; fold constants with polygraphy surgeon sanitize --fold-constants.",
    references=(
        "Overhead of Shape Change and Optimization Profile Switching: "
        "https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/performance/overhead-layer-optimization.html",
    ),
    columns=("kind", "latency_ms", "input_formats", "output_formats"),
    not_when="Kernels that mix indices with data, and top-k or other reductions, which are the network's own work.",
    needs=(details, profile),
    thresholds={"least_pct": 3.0},
)
def shapes_at_run_time(context: Context, least_pct: float) -> Findings:
    layers = [layer for layer in context.layers if layer.latency_ms and _holds_indices(layer)]
    total = sum_latency_ms(layers)
    share = context.pct(total) or 0.0
    if layers and share >= least_pct:
        yield finding(
            f"{plural(len(layers), 'layer')} for shapes, indices and masks alone: {context.format_time(*layers)}.",
            layers,
            savings=layers,
            formula="sum of latency_ms of shape computations and of light layers with integer and boolean tensors only",
            evidence={"layers": len(layers), "index_ms": total, "index_pct": share},
        )


def _holds_indices(layer: Layer) -> bool:
    """Whether it computes a shape, or is light and all of its tensors are integers or booleans."""
    tensors = (*layer.inputs, *layer.outputs)
    is_light = layer.kind in _LIGHT and bool(tensors)
    return layer.kind is LayerKind.SHAPE or (
        is_light and all(tensor.dtype in _INDEX_TYPES for tensor in tensors)
    )


@strength(
    "LAUNCH",
    "The host keeps up",
    "A median enqueue below 20 % of the median compute, and not many kernels at the launch floor.",
    ("latency_ms",),
    without=(many_tiny_layers,),
)
def host_keeps_up(context: Context) -> Finding | None:
    host = _compare_host(context)
    if host is None or host.ratio is None or 100.0 * host.ratio >= BUSY_PCT:
        return None
    graph = ", the launch of a CUDA graph," if host.uses_cuda_graph else ""
    text = f"The host keeps up: the enqueue{graph} takes {100 * host.ratio:.2g} % of the compute time."
    return finding(text, evidence={"enqueue_pct": 100 * host.ratio})
