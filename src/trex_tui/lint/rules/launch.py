"""LAUNCH: time that goes into starting work, not into the work; and HOT: where the work is.

All limits are relative to what the shortest layers of the same engine take: a fixed number of microseconds calls one GPU
launch-bound and not the next with the same network.
"""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.analysis.gap import FEW_ITERATIONS, USUAL_OVERHEAD_US, Gap, gap
from trex_tui.analysis.roofline import FLOOR_LAYERS, LAUNCH_FACTOR, LAUNCH_ROOF_SHARE
from trex_tui.analysis.timing import (
    ENQUEUE_BOUND,
    EnqueueAgainstCompute,
    enqueue_against_compute,
    option_is_enabled,
)
from trex_tui.engine.model import Layer
from trex_tui.lint.context import Context
from trex_tui.lint.dataflow import main_stream
from trex_tui.lint.lint_text import NO_PROFILE, NO_TIMING, called, indices, time_of, time_text
from trex_tui.lint.model import Confidence, Evidence, Finding, NotChecked, Rule, Severity
from trex_tui.text import plural

_PERFORMANCE = (
    "Best Practices for TensorRT Performance: "
    "https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/performance/best-practices.html"
)
LEAST_TINY_LAYERS = 20
TINY_INFO_PCT = 10.0
TINY_WARNING_PCT = 20.0
COPIES_PCT = 20.0
SHORTER_PCT = 2.0
"""By how much the compute time must exceed the layers to be more than the difference of two runs."""
HOT_PCT = 10.0
HOT_TIMES_MEAN = 2.0
WARM_PCT = 5.0
WARM_TIMES_MEDIAN = 5.0
AT_ROOF_PCT = 75.0


def host_side(context: Context) -> EnqueueAgainstCompute | None:
    """Enqueue and copies against the compute time; None without a timing run."""
    return enqueue_against_compute(context.engine, context.timing)


def _gap(context: Context) -> Gap | None:
    return gap(context.engine, context.timing)


def tiny_layers(context: Context) -> list[Layer]:
    """Layers of the main stream that take at most twice the floor, and whose roof, where known, leaves most of that."""
    floor, stream = context.floor_ms, main_stream(context)
    if floor is None:
        return []
    found = []
    for layer in context.layers:
        if not layer.latency_ms or layer.latency_ms > LAUNCH_FACTOR * floor or layer.stream != stream:
            continue
        point = context.point(layer)
        roof_ms = point.roof_ms if point else None
        if roof_ms is None or roof_ms < LAUNCH_ROOF_SHARE * layer.latency_ms:
            found.append(layer)
    return found


def many_tiny(context: Context) -> Iterator[Finding | NotChecked]:
    """LAUNCH001."""
    if not context.has_profile:
        yield NotChecked("LAUNCH001", NO_PROFILE)
        return
    iterations = context.engine.profile_iterations
    if sum(bool(layer.latency_ms) for layer in context.layers) < FLOOR_LAYERS:
        return  # too few layers to hold many tiny ones
    if iterations is not None and iterations < FEW_ITERATIONS:
        yield NotChecked(
            "LAUNCH001",
            f"the profile rests on {plural(iterations, 'iteration')}, whose times come in steps of 1 µs: profile again over "
            "100 or more",
        )
        return
    tiny, floor = tiny_layers(context), context.floor_ms or 0.0
    share = context.pct(time_of(tiny)) or 0.0
    if len(tiny) < LEAST_TINY_LAYERS or share < context.threshold("LAUNCH001.least_pct", TINY_INFO_PCT):
        return
    comparison = _gap(context)
    overhead = max((comparison.overhead_us_per_layer if comparison else None) or 0.0, 0.0) / 1000.0
    saved = max(floor - overhead, 0.0) / 2.0
    yield Finding(
        "LAUNCH001",
        f"{plural(len(tiny), 'layer')} take at most {1000 * LAUNCH_FACTOR * floor:.3g} µs, twice what the shortest take: "
        f"{share:.0f} % of the engine is kernels that cost about what starting one costs.",
        indices(tiny),
        severity=Severity.WARNING if share >= TINY_WARNING_PCT else Severity.INFO,
        confidence=Confidence.MEDIUM,
        stakes_ms={layer.index: min(saved, layer.latency_ms or 0.0) for layer in tiny},
        formula="half of (floor − profiling overhead per layer) for each: every second kernel merged away",
        evidence=(
            Evidence("layers", len(tiny)),
            Evidence("floor_ms", floor),
            Evidence("tiny_pct", share),
            Evidence("profiling_overhead_ms", overhead),
        ),
    )


def _enqueue_bound(context: Context) -> Iterator[Finding | NotChecked]:
    host = host_side(context)
    if host is None:
        yield NotChecked("LAUNCH002", NO_TIMING)
    elif host.ratio is None:
        yield NotChecked("LAUNCH002", f"{host.unknown['ratio']}: keep the performance summary of trtexec")
    elif host.is_enqueue_bound and host.enqueue_ms is not None and host.compute_ms is not None:
        yield Finding(
            "LAUNCH002",
            f"The host takes {host.enqueue_ms:.4g} ms to enqueue what the GPU computes in {host.compute_ms:.4g} ms "
            f"({100 * host.ratio:.0f} %): the GPU waits for launches.",
            confidence=Confidence.HIGH,
            engine_stake_ms=max(host.enqueue_ms - host.compute_ms, 0.0) or None,
            formula="median enqueue − median compute, if positive",
            evidence=(
                Evidence("enqueue_ms", host.enqueue_ms),
                Evidence("compute_ms", host.compute_ms),
                Evidence("enqueue_pct", 100 * host.ratio),
                Evidence("cuda_graph", host.uses_cuda_graph),
            ),
            remedy="A CUDA graph is in use already: enqueue more work at once, with a larger batch or several streams."
            if host.uses_cuda_graph
            else "",
        )


def _sum_and_latency(context: Context) -> Iterator[Finding | NotChecked]:
    comparison = _gap(context)
    if comparison is None:
        yield NotChecked("LAUNCH003", NO_PROFILE)
        return
    overhead, compute = comparison.overhead_us_per_layer, comparison.compute_ms
    if overhead is None or not compute:
        yield NotChecked("LAUNCH003", NO_TIMING)
        return
    if (comparison.streams or 1) > 1:
        return  # what overlaps counts twice in the sum, and waits in none
    beyond = comparison.compute_difference_ms or 0.0
    if overhead <= USUAL_OVERHEAD_US[1] and beyond >= -compute * SHORTER_PCT / 100.0:
        return
    if overhead > USUAL_OVERHEAD_US[1]:
        words = (
            f"that is {overhead:.1f} µs for each layer, where profiling costs up to {USUAL_OVERHEAD_US[1]:.0f}: the profile "
            "seems to be of other conditions than the timing run"
        )
    else:
        words = "so time goes by outside the layers: waits for the host, gaps between launches, or a profile of other clocks"
    yield Finding(
        "LAUNCH003",
        f"The layers add up to {comparison.sum_average_ms:.4g} ms, the timing run computes for {compute:.4g} ms: {words}.",
        severity=Severity.WARNING if overhead > USUAL_OVERHEAD_US[1] else Severity.INFO,
        confidence=Confidence.MEDIUM,
        evidence=(
            Evidence("layers_sum_ms", comparison.sum_average_ms),
            Evidence("compute_ms", compute),
            Evidence("overhead_us_per_layer", overhead),
            Evidence("profile_iterations", comparison.iterations),
        ),
    )


def _copies(context: Context) -> Iterator[Finding | NotChecked]:
    host = host_side(context)
    if host is None:
        yield NotChecked("LAUNCH004", NO_TIMING)
        return
    if option_is_enabled(context.engine, "Data transfers") is False or host.transfers_ms == 0:
        yield NotChecked(
            "LAUNCH004", "data transfers were off in the timing run: time it without --noDataTransfers"
        )
        return
    if host.transfers_pct is None or host.transfers_ms is None:
        yield NotChecked("LAUNCH004", f"{host.unknown['transfers_pct']}: export the times with --exportTimes")
        return
    if host.transfers_pct <= context.threshold("LAUNCH004.copies_pct", COPIES_PCT) and not (
        host.is_h2d_bound or host.is_d2h_bound
    ):
        return
    bound = " and to the device bound the run" if host.is_h2d_bound else ""
    bound = " and to the host bound the run" if host.is_d2h_bound else bound
    yield Finding(
        "LAUNCH004",
        f"Copies between host and device take {host.transfers_ms:.4g} ms, {host.transfers_pct:.0f} % of the latency{bound}.",
        confidence=Confidence.HIGH,
        engine_stake_ms=host.transfers_ms,
        formula="sum of the medians of both copies: what overlapping or device-side buffers could hide",
        evidence=(
            Evidence("copies_ms", host.transfers_ms),
            Evidence("copies_pct", host.transfers_pct),
            Evidence("compute_ms", host.compute_ms),
        ),
    )


def _hot(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_profile:
        yield NotChecked("HOT001", NO_PROFILE)
        return
    timed = [layer for layer in context.layers if layer.latency_ms]
    ordered = sorted(layer.latency_ms or 0.0 for layer in timed)
    mean, median = 100.0 / len(timed), context.pct(ordered[len(ordered) // 2]) or 0.0
    for layer in timed:
        share = context.pct(layer.latency_ms) or 0.0
        if not (
            (share >= context.threshold("HOT001.latency_pct", HOT_PCT) and share >= HOT_TIMES_MEAN * mean)
            or (share >= WARM_PCT and share >= WARM_TIMES_MEDIAN * median)
        ):
            continue
        point = context.point(layer)
        roof = point.roof_pct if point else None
        at_roof = (
            f"; it runs at {roof:.0f} % of its roof, so only less work helps"
            if roof and roof >= AT_ROOF_PCT
            else ""
        )
        inside = f", {plural(len(layer.onnx_nodes), 'ONNX node')} in it" if len(layer.onnx_nodes) > 1 else ""
        yield Finding(
            "HOT001",
            f"{called(layer)} takes {time_text(layer.latency_ms, share)} of the engine{inside}{at_roof}.",
            (layer.index,),
            confidence=Confidence.HIGH,
            evidence=(
                Evidence("latency_ms", layer.latency_ms),
                Evidence("latency_pct", share),
                Evidence("roof_pct", roof),
                Evidence("bound", point.bound.value if point and point.bound else None),
            ),
        )


RULES: tuple[Rule, ...] = (
    Rule(
        id="LAUNCH001",
        title="Many kernels at the launch floor",
        severity=Severity.WARNING,
        looks_for="20 or more layers that take at most twice the floor (percentile 2 of the layer times) and, where the "
        "roof is known, far more than that; together 10 % of the engine (info) or 20 % (warning).",
        why="Such a kernel costs what starting any kernel costs; a faster GPU or a lower precision changes nothing.",
        remedy="Run with a CUDA graph, batch, and merge what can be merged: fewer and wider layers.",
        references=(_PERFORMANCE,),
        columns=("latency_ms", "stream", "roof_ms"),
        check=many_tiny,
        not_when="Profiles over fewer than 10 iterations, whose times are too coarse; layers on auxiliary streams.",
    ),
    Rule(
        id="LAUNCH002",
        title="Bound by the enqueue",
        severity=Severity.WARNING,
        looks_for=f"A median enqueue time above {ENQUEUE_BOUND:.0%} of the median compute time, trtexec's own limit.",
        why="The GPU finishes before the host has launched the next work; throughput is the host's.",
        remedy="Use a CUDA graph (--useCudaGraph), fewer layers, or a second stream.",
        references=(
            _PERFORMANCE,
            "NVIDIA/TensorRT#2112: https://github.com/NVIDIA/TensorRT/issues/2112",
        ),
        columns=(),
        check=_enqueue_bound,
    ),
    Rule(
        id="LAUNCH003",
        title="Sum of the layers and compute time do not fit",
        severity=Severity.WARNING,
        looks_for="Sum of the layers minus median compute, per layer: more than 8 µs, or the layers shorter than the compute "
        "time by more than 2 %.",
        why="Profiling adds 1.6 to 6.2 µs a layer. Outside that, layer times and end-to-end times are of different "
        "conditions, and shares of one do not carry over to the other.",
        remedy="Profile again with the flags and clocks of the timing run.",
        references=("NVIDIA/TensorRT#4657: https://github.com/NVIDIA/TensorRT/issues/4657",),
        columns=("latency_ms", "stream"),
        check=_sum_and_latency,
        not_when="Engines with several streams, whose layers overlap.",
    ),
    Rule(
        id="LAUNCH004",
        title="Bound by copies between host and device",
        severity=Severity.WARNING,
        looks_for="Median copies in both directions above 20 % of the median latency, or one as long as the compute time.",
        why="The copies are no layers: no change of the network shortens them.",
        remedy="Pinned or zero-copy memory, copies that overlap with compute, smaller or 8- and 16-bit inputs and outputs.",
        references=(_PERFORMANCE,),
        columns=(),
        check=_copies,
    ),
    Rule(
        id="HOT001",
        title="One layer dominates",
        severity=Severity.INFO,
        looks_for="A layer of 10 % of the engine and twice the mean, or of 5 % and five times the median layer.",
        why="It is where time can be won, or where it is known that none can.",
        remedy="Read what the other findings say about this layer; without any, look at its roof.",
        references=(_PERFORMANCE,),
        columns=("latency_ms", "latency_pct", "roof_pct", "bound", "onnx_nodes"),
        check=_hot,
    ),
)
