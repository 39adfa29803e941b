"""Estimate possible savings in milliseconds: limits per finding, the total of all findings, shared formulas.

Every estimate is a bound from roofs and bytes, not a promise: no engine was rebuilt to confirm it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from trex_tui.old.analysis.gpu_peaks import has_tensor_cores, peak_ops
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.engine.tactics import parse_tactic
from trex_tui.old.lint.context import Context
from trex_tui.old.lint.model import Finding, Savings, Value


def clamp_savings(finding: Finding, latency_ms: Mapping[int, float]) -> Finding:
    """Limit savings of a finding to between 0 and the time of the layer; drop savings of layers without a time.

    Args:
        latency_ms: Time by layer index, of the layers that have one.
    """
    savings = {
        index: min(max(saving, 0.0), latency_ms[index])
        for index, saving in sorted(finding.savings_ms.items())
        if index in latency_ms and not math.isnan(saving)
    }
    engine_saving = finding.engine_saving_ms
    if engine_saving is not None:
        engine_saving = max(engine_saving, 0.0) if math.isfinite(engine_saving) else None
    if savings == finding.savings_ms and engine_saving == finding.engine_saving_ms:
        return finding
    return replace(finding, savings_ms=savings, engine_saving_ms=engine_saving)


def combine_savings(
    findings: Iterable[Finding], sum_latency_ms: float | None = None, median_compute_ms: float | None = None
) -> Savings:
    """Return the possible savings of findings together.

    Args:
        findings: With savings as `clamp_savings` returns them.
        sum_latency_ms: Sum of the layers' times.
        median_compute_ms: Median of the timing run.
    """
    largest: dict[int, float] = {}
    engine_ms: float | None = None
    for finding in findings:
        for index, saving in finding.savings_ms.items():
            largest[index] = max(saving, largest.get(index, 0.0))
        if finding.engine_saving_ms is not None:
            engine_ms = max(finding.engine_saving_ms, engine_ms or 0.0)
    layers_ms = math.fsum(largest.values()) if largest else None
    return Savings(layers_ms, engine_ms, _end_to_end(layers_ms, engine_ms, sum_latency_ms, median_compute_ms))


def _end_to_end(
    layers_ms: float | None,
    engine_ms: float | None,
    sum_latency_ms: float | None,
    median_compute_ms: float | None,
) -> float | None:
    if median_compute_ms is None or (layers_ms is None and engine_ms is None):
        return None
    scaled = 0.0
    if layers_ms is not None:
        if not sum_latency_ms:
            return None
        scaled = layers_ms * min(1.0, median_compute_ms / sum_latency_ms)
    return min(scaled + (engine_ms or 0.0), median_compute_ms)


SLACK = 1.5
"""Time of a good kernel relative to its roofline time."""
BUSY = 0.6
"""Share of the memory bandwidth from which a layer is memory-bound: faster arithmetic would not help."""
TENSOR_CORE_FORMULA = (
    "layer time − max(1.5 · roof on tensor cores, shortest layer); "
    "roof = max(2 · macs / peak, bytes / bandwidth)"
)


def saving(layer: Layer, milliseconds: float | None) -> dict[int, float]:
    """Return an estimate for one layer, between 0 and its time; empty if either is unknown."""
    if milliseconds is None or layer.latency_ms is None:
        return {}
    return {layer.index: min(max(milliseconds, 0.0), layer.latency_ms)}


def fraction(context: Context, layer: Layer, part: float) -> dict[int, float]:
    """Return a part of a layer's time as its saving, down to the time of the shortest layer; empty without a profile."""
    time = layer.latency_ms
    return saving(layer, None if time is None else min(part * time, time - (context.floor_ms or 0.0)))


def fractions(context: Context, layers: Iterable[Layer], part: float) -> dict[int, float]:
    """Return the same for several layers."""
    return {index: ms for layer in layers for index, ms in fraction(context, layer, part).items()}


def moving_ms(context: Context, size: float | None) -> float | None:
    """Return the time to move bytes once between memory and SMs; None if bytes or bandwidth are unknown."""
    bandwidth = context.bandwidth_bytes_per_ms
    return None if size is None or not bandwidth else size / bandwidth


def bandwidth_share(context: Context, layer: Layer) -> float | None:
    """Return the share of the memory bandwidth that a layer uses (above 1 if data stays in the cache); None if unknown."""
    moving = moving_ms(context, context.bytes(layer))
    return moving / layer.latency_ms if moving is not None and layer.latency_ms else None


def is_busy(context: Context, layer: Layer) -> bool:
    """Return whether a layer is known to be memory-bound."""
    share = bandwidth_share(context, layer)
    return share is not None and share >= BUSY


def tensor_core_ms(context: Context, layer: Layer, precision: DataType) -> float | None:
    """Return the estimated time on tensor cores: `SLACK` times the roofline time, at least that of the shortest layer.

    None if a peak, the bytes or the multiplications are unknown.
    """
    flops = context.compute[layer.index].flops
    peak = peak_ops(context.device, precision, tensor_cores=True).flop_per_s
    moving = moving_ms(context, context.bytes(layer))
    if not flops or not peak or moving is None:
        return None
    return max(SLACK * max(1e3 * flops / peak, moving), context.floor_ms or 0.0)


def tensor_cores_for(context: Context, precision: DataType) -> bool | None:
    """Return whether the device has tensor cores for a precision: by its architecture, or by kernels of the engine.

    None if no file states the device and no kernel runs on tensor cores.
    """
    known = has_tensor_cores(context.device, precision)
    if known is not None:
        return known
    return True if _uses_tensor_cores(context.engine) else None


@per_engine
def _uses_tensor_cores(engine: Engine) -> bool:
    tactics = (parse_tactic(layer.tactic) for layer in engine.layers)
    return any(tactic is not None and tactic.tensor_cores for tactic in tactics)


def layer_evidence(layer: Layer, **more: Value) -> dict[str, Value]:
    """Return values of a rule, then known facts of the layer: tactic, types with layouts, time."""
    values: dict[str, Value] = {
        **more,
        "tactic": layer.tactic,
        "input_formats": ", ".join(tensor.description for tensor in layer.inputs[:4]) or None,
        "output_formats": ", ".join(tensor.description for tensor in layer.outputs[:4]) or None,
        "latency_ms": layer.latency_ms,
    }
    return {name: value for name, value in values.items() if value is not None}


def format_types(layer: Layer) -> str:
    """Return `INT8 NC/32HW32 → FP16 NC/32HW32`: first input and first output."""
    source = layer.inputs[0].description if layer.inputs else "nothing"
    target = layer.outputs[0].description if layer.outputs else "nothing"
    return f"{source} → {target}"
