"""The log of a run that loads an engine, measures it and profiles its layers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from samples import cpp
from samples.logbook import Command, Log, banner, write_head
from samples.model import Engine
from samples.run import PERCENTILES, Metric, ProfileRow, Run

NAMES_ONLY = (
    "The profiling verbosity was set to ProfilingVerbosity::kLAYER_NAMES_ONLY when the engine was built, so only the "
    "layer names will be returned. Rebuild the engine with ProfilingVerbosity::kDETAILED to get more verbose layer "
    "information."
)
_EXPLANATIONS = (
    "Total Host Walltime: the host walltime from when the first query (after warmups) is enqueued to when the last query "
    "is completed.",
    "GPU Compute Time: the GPU latency to execute the kernels for a query.",
    "Total GPU Compute Time: the summation of the GPU Compute Time of all the queries. If this is significantly shorter "
    "than Total Host Walltime, the GPU may be under-utilized because of host-side overheads or data transfers.",
    "Throughput: the observed throughput computed by dividing the number of queries by the Total Host Walltime. If this "
    "is significantly lower than the reciprocal of GPU Compute Time, the GPU may be under-utilized because of host-side "
    "overheads or data transfers.",
    "Enqueue Time: the host latency to enqueue a query. If this is longer than GPU Compute Time, the GPU may be "
    "under-utilized.",
    "H2D Latency: the latency for host-to-device data transfers for input tensors of a single query.",
    "D2H Latency: the latency for device-to-host data transfers for output tensors of a single query.",
    "Latency: the summation of H2D Latency, GPU Compute Time, and D2H Latency. This is the latency to infer a single "
    "query.",
)
_ONNX_TYPES = {"Float": "fp32", "Half": "fp16", "BFloat16": "bf16"}
_TRACE_GROUPS = 20
"""Averages printed at either end of the trace since 9.1, which leaves out the middle; before, all are printed."""


def write_load(log: Log, engine: Engine) -> None:
    """Deserialising the engine, making the context, binding the tensors."""
    release = engine.release
    size = engine.weights_bytes / 2**20 * 1.002
    if release < 1000:
        log.line("Engine loaded in 0.0412677 sec.")
    log.trt(f"Loaded engine size: {int(size)} MiB", "I")
    log.trt("Deserialization required 23817 microseconds.")
    if release < 1000:
        change = f"CPU +0, GPU +{int(size)}, now: CPU 0, GPU {int(size)} (MiB)"
        log.trt(f"[MemUsageChange] TensorRT-managed allocation in engine deserialization: {change}", "I")
    log.line("Engine deserialized in 0.0390214 sec.")
    log.trt("Total per-runner device persistent memory is 0")
    log.trt("Total per-runner host persistent memory is 21152")
    log.trt(
        f"Allocated {'device scratch' if release >= 1000 else 'activation device'} memory of size {engine.activation_bytes}"
    )
    grown = -(-engine.activation_bytes // 2**20)
    change = f"CPU +0, GPU +{grown}, now: CPU 0, GPU {int(size) + grown} (MiB)"
    log.trt(f"[MemUsageChange] TensorRT-managed allocation in IExecutionContext creation: {change}", "I")
    log.trt("CUDA lazy loading is enabled.")
    log.line("Setting persistentCacheLimit to 0 bytes.")
    _write_bindings(log, engine)


def _write_bindings(log: Log, engine: Engine) -> None:
    if engine.release >= 901:
        for tensor in engine.ios:
            if tensor.is_input and tensor.shapes:
                log.line(f"Set shape of input tensor {tensor.name} to: {_times(tensor.shapes[1])}")
        size = cpp.text(engine.activation_bytes / 2**20)
        log.line(f"Created execution context with device memory size: {size} MiB")
    else:
        log.line("Using enqueueV3.", "V")
    batch = next((tensor.shapes[1][0] for tensor in engine.ios if tensor.shapes), 1)
    for tensor in engine.ios:
        dims = tuple(batch if extent < 0 else extent for extent in tensor.dims)
        kind = "Input" if tensor.is_input else "Output"
        if tensor.is_input or engine.release < 901:
            log.line(f"Using random values for {kind.lower()} {tensor.name}")
        if engine.release >= 901:
            dtype = _ONNX_TYPES[tensor.dtype]
            log.line(
                f"{kind} binding for {tensor.name} with dimensions {_times(dims)} and type {dtype} is created."
            )
        else:
            log.line(f"Created {kind.lower()} binding for {tensor.name} with dimensions {_times(dims)}")


def _times(dims: Sequence[int]) -> str:
    return "x".join(map(str, dims))


def write_summary(log: Log, run: Run, release: int) -> None:
    """From the end of the inference to the explanations."""
    plan = run.plan
    period = run.walltime_ms / len(run.measured)
    if release >= 1000:
        log.line("Capturing CUDA graph for the current execution context")
        log.line("Successfully captured CUDA graph for the current execution context")
    log.tick(run.queries[-1].end_compute / 1000)
    warmups = run.warmups or round(plan.warmup_ms / period)
    log.line(f"Warmup completed {warmups} queries over {plan.warmup_ms} ms")
    log.line(f"Timing trace has {len(run.measured)} queries over {cpp.text(run.walltime_ms / 1000)} s")
    log.line("")
    _write_trace(log, run, release)
    log.line("")
    log.line("=== Performance summary ===")
    log.line(f"Throughput: {cpp.text(run.throughput)} qps")
    nothing = Metric(0.0, 0.0, 0.0, 0.0, (0.0,) * len(PERCENTILES))
    metrics = (("Latency", run.compute), ("Enqueue Time", run.enqueue), ("H2D Latency", nothing))
    for label, metric in (*metrics, ("GPU Compute Time", run.compute), ("D2H Latency", nothing)):
        log.line(f"{label}: {_metric_text(metric)}")
    log.line(f"Total Host Walltime: {cpp.text(run.walltime_ms / 1000)} s")
    log.line(f"Total GPU Compute Time: {cpp.text(run.total_compute_s)} s")
    _write_warnings(log, run, release)
    log.line("Explanations of the performance metrics are printed in the verbose logs.")
    log.line("", "V")
    log.line("=== Explanations of the performance metrics ===", "V")
    for explanation in _EXPLANATIONS:
        log.line(explanation, "V")
    log.line("")


def _metric_text(metric: Metric) -> str:
    named = ("min", "max", "mean", "median", *(f"percentile({percent}%)" for percent in PERCENTILES))
    return ", ".join(
        f"{name} = {cpp.text(value)} ms" for name, value in zip(named, metric.values, strict=True)
    )


def _write_trace(log: Log, run: Run, release: int) -> None:
    log.line("=== Trace details ===")
    log.line("Trace averages of 10 runs:")
    groups = [run.measured[start : start + 10] for start in range(0, len(run.measured) - 9, 10)]
    omitted = len(groups) - 2 * _TRACE_GROUPS if release >= 901 else 0
    for number, group in enumerate(groups):
        if omitted > 0 and number == _TRACE_GROUPS:
            log.line(f"... Omitting {omitted * 10} lines")
        if omitted > 0 and _TRACE_GROUPS <= number < _TRACE_GROUPS + omitted:
            continue
        compute = cpp.text(math.fsum(query.compute for query in group) / 10)
        enqueue = cpp.text(math.fsum(query.enqueue for query in group) / 10)
        log.line(
            f"Average on 10 runs - GPU latency: {compute} ms - Host latency: {compute} ms (enqueue {enqueue} ms)"
        )


def _write_warnings(log: Log, run: Run, release: int) -> None:
    """trtexec finds a run unstable from 1 % on, since 10.13.2 from 2.5 % on."""
    if run.variance_percent > (2.5 if release >= 1014 else 1.0):
        found = cpp.text(run.variance_percent)
        log.line(f"* GPU compute time is unstable, with coefficient of variance = {found}%.", "W")
        log.line("  If not already in use, locking GPU clock frequency may improve the stability.", "W")


def write_profile(log: Log, count: int, rows: Sequence[ProfileRow], release: int) -> None:
    """The table of layer times, without layers of no time. The layer stands first up to 8.5, last from 8.6 on."""
    shown = [row for row in rows if row.time_ms > 0]
    total = ProfileRow(
        name="Total",
        time_ms=math.fsum(row.time_ms for row in shown),
        average_ms=math.fsum(row.average_ms for row in shown),
        median_ms=math.fsum(row.median_ms for row in shown),
        percentage=100.0,
    )
    log.line(f"=== Profile ({count} iterations ) ===")
    if release >= 806:
        log.line("   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer")
        for row in (*shown, total):
            numbers = f"{row.time_ms:11.2f}{row.average_ms:13.4f}{row.median_ms:13.4f}{row.percentage:10.1f}"
            log.line(f"{numbers}   {row.name}")
    else:
        width = max(len(row.name) for row in shown)
        log.line(f"{'Layer':>{width}}   Time (ms)   Avg. Time (ms)   Median Time (ms)   Time %")
        for row in (*shown, total):
            numbers = f"{row.time_ms:12.2f}{row.average_ms:17.4f}{row.median_ms:19.4f}{row.percentage:9.1f}"
            log.line(f"{row.name:>{width}}{numbers}")
    log.line("")


def profile_log(
    log: Log, engine: Engine, command: Command, run: Run | None, count: int, rows: Sequence[ProfileRow]
) -> str:
    """The whole log.

    Without a run, it is that of an engine of which only the names are known, and whose only run had the profiler attached:
    trtexec reports no end-to-end times then.
    """
    write_head(log, engine, command)
    write_load(log, engine)
    if run is None:
        log.trt(NAMES_ONLY, "I")
    log.line("Starting inference")
    if run is None:
        log.tick(3.4)
        log.line(
            "The e2e network timing is not reported since it is inaccurate due to the extra synchronizations when the "
            "profiler is enabled."
        )
        log.line(
            "To show e2e network timing report, add --separateProfileRun to profile layer timing in a separate run or "
            "remove --dumpProfile to disable the profiler."
        )
        log.line("")
    else:
        write_summary(log, run, engine.release)
        log.tick(1.5)
    write_profile(log, count, rows, engine.release)
    log.bare(banner("PASSED", engine.version, command.arguments))
    return log.text()
