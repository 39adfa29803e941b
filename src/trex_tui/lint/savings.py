"""Estimates of possible savings in milliseconds: shared formulas, limits of a finding, the total of all findings.

Every estimate is a bound from roofs and bytes, not a promise: no engine was rebuilt to confirm it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from trex_tui.analysis.peaks import find_peak, has_tensor_cores
from trex_tui.engine.dtypes import DataType
from trex_tui.lint.context import BIG_COPY_BYTES, MOVEMENT, Context, per_context
from trex_tui.lint.rule import Finding

SLACK = 1.5
"""Time of a good kernel relative to its roofline time."""
BUSY = 0.6
"""Share of the memory bandwidth from which a layer is memory-bound: faster arithmetic would not help."""
LAUNCH_MS = 0.005
"""Time of a launch, for engines with too few layers to see the shortest: no saving goes below it."""
LEAST_REACH, LEAST_REACH_OF_CORES = 0.1, 0.01
"""Share of the best rates of the engine that a layer reaches, or neither bytes nor peaks limit it. Kernels on CUDA
cores may be far below those on tensor cores, and still be limited by their arithmetic.
"""


# Rates


@per_context
def bandwidth_bytes_per_ms(context: Context) -> float | None:
    """Return the bandwidth of the device, else percentile 95 of bytes over time among large copies of this engine."""
    if stated := context.device.peak_bandwidth_bytes_per_s:
        return stated / 1000
    floor = context.floor_ms or 0.0
    rates = sorted(
        size / ms
        for kind, ms, size in zip(context.kinds, context.ms, context.bytes, strict=True)
        if kind in MOVEMENT and ms and ms >= 10 * floor and size is not None and size >= BIG_COPY_BYTES
    )
    return rates[min(len(rates) - 1, int(0.95 * len(rates)))] if rates else None


def moving_ms(context: Context, size: float | None) -> float | None:
    """Return the time to move bytes once between memory and SMs; None if bytes or bandwidth are unknown."""
    bandwidth = bandwidth_bytes_per_ms(context)
    return None if size is None or not bandwidth else size / bandwidth


def is_busy(context: Context, layer: int) -> bool:
    """Return whether a layer is known to be memory-bound; data that stays in the cache moves faster than memory."""
    moving, ms = moving_ms(context, context.bytes[layer]), context.ms[layer]
    return moving is not None and bool(ms) and moving >= BUSY * (ms or 0.0)


@per_context
def _best_rates(context: Context) -> tuple[float, float]:
    """Return the most bytes and the most multiplications per millisecond that a layer of the engine reaches; 0 if unknown."""
    rows = [row for row in zip(context.ms, context.bytes, context.products, strict=True) if row[0]]
    moved = [(size, size / ms) for ms, size, _ in rows if ms and size]
    large = [rate for size, rate in moved if size >= BIG_COPY_BYTES]
    multiplied = [product.macs / ms for ms, _, product in rows if ms and product.macs]
    return max(large or [rate for _, rate in moved], default=0.0), max(multiplied, default=0.0)


def best_bytes_per_ms(context: Context) -> float:
    """Return the most bytes per millisecond that a layer of the engine reads and writes; 0 if unknown."""
    return _best_rates(context)[0]


def is_stalled(context: Context, layer: int, reach: float = LEAST_REACH) -> bool:
    """Return whether a layer is far below the rates that other layers of the engine reach: something else takes its
    time, such as launches of tiny products, and neither fewer bytes nor a higher peak would shorten it.
    """
    ms, size, macs = context.ms[layer], context.bytes[layer], context.products[layer].macs
    if not ms or size is None:
        return False
    best_bytes, best_macs = _best_rates(context)
    reaches_bytes = size / ms >= reach * best_bytes
    return not reaches_bytes and not (macs is not None and macs / ms >= reach * best_macs > 0)


# Savings of layers


@per_context
def shortest_ms(context: Context) -> float:
    """Return the time below which no saving goes: of the shortest layers, at most `LAUNCH_MS` if there are few."""
    if context.floor_ms is not None:
        return context.floor_ms
    return min(min(filter(None, context.ms), default=0.0), LAUNCH_MS)


def saving(context: Context, layer: int, milliseconds: float | None) -> dict[int, float]:
    """Return an estimate for one layer, between 0 and its time; empty if either is unknown."""
    ms = context.ms[layer]
    return {} if milliseconds is None or ms is None else {layer: min(max(milliseconds, 0.0), ms)}


def fraction(context: Context, layer: int, part: float) -> dict[int, float]:
    """Return a part of a layer's time as its saving, down to the time of the shortest layer; empty without a profile."""
    ms = context.ms[layer]
    return saving(context, layer, None if ms is None else min(part * ms, ms - shortest_ms(context)))


def fractions(context: Context, layers: Iterable[int], part: float) -> dict[int, float]:
    """Return the same for several layers."""
    return {layer: ms for member in layers for layer, ms in fraction(context, member, part).items()}


def narrowed(context: Context, layer: int, part: float) -> dict[int, float]:
    """Return the saving by a narrower type: a part of the layer's time, nothing if bytes and peaks do not limit it."""
    return fraction(context, layer, 0.0 if is_stalled(context, layer) else part)


def tensor_core_ms(context: Context, layer: int, precision: DataType) -> float | None:
    """Return the estimated time on tensor cores: `SLACK` times the roofline time, at least that of the shortest layer.

    None if a peak, the bytes or the multiplications are unknown.
    """
    macs = context.products[layer].macs
    peak = find_peak(context.device, precision, tensor_cores=True).flops_per_s
    moving = moving_ms(context, context.bytes[layer])
    if not macs or not peak or moving is None:
        return None
    return max(SLACK * max(2e3 * macs / peak, moving), shortest_ms(context))


def tensor_cores_for(context: Context, precision: DataType) -> bool | None:
    """Return whether the device has tensor cores for a precision: by its architecture, or by kernels of the engine.

    None if no file states the device and no kernel runs on tensor cores.
    """
    known = has_tensor_cores(context.device, precision)
    if known is not None:
        return known
    return True if any(tactic is not None and tactic.tensor_cores for tactic in context.tactics) else None


# Findings and totals


def clamp(finding: Finding, context: Context) -> Finding:
    """Limit the savings of a finding to between 0 and the time of the layer; drop those of layers without a time."""
    savings = {
        layer: min(max(ms, 0.0), limit)
        for layer, ms in sorted(finding.savings_ms.items())
        if (limit := context.ms[layer]) is not None and not math.isnan(ms)
    }
    between = finding.engine_saving_ms
    if between is not None:
        between = max(between, 0.0) if math.isfinite(between) else None
    return replace(finding, savings_ms=savings, engine_saving_ms=between)


@dataclass(frozen=True, slots=True)
class Savings:
    """Possible savings of all findings together. Nothing counts twice: for each layer the largest saving counts.

    Attributes:
        layers_ms: Sum over layers of the largest saving of each, never more than the layer's time; None if none is known.
        engine_ms: The largest saving that belongs to no layer; None if there is none. Several of them are different
            explanations of the same time between layers.
        end_to_end_ms: Both as part of the end-to-end time: `layers_ms * median compute / sum over layers + engine_ms`,
            the factor never above 1. None without a timing run.
    """

    layers_ms: float | None = None
    engine_ms: float | None = None
    end_to_end_ms: float | None = None

    @property
    def total_ms(self) -> float | None:
        """`layers_ms` and `engine_ms`; None if both are unknown."""
        return self.engine_ms if self.layers_ms is None else self.layers_ms + (self.engine_ms or 0.0)


def combine(findings: Iterable[Finding], total_ms: float | None, compute_ms: float | None) -> Savings:
    """Return the possible savings of findings together.

    Args:
        total_ms: Sum of the layers' times.
        compute_ms: Median of the timing run.
    """
    largest: dict[int, float] = {}
    between: list[float] = []
    for finding in findings:
        for layer, ms in finding.savings_ms.items():
            largest[layer] = max(ms, largest.get(layer, 0.0))
        between += [] if finding.engine_saving_ms is None else [finding.engine_saving_ms]
    layers_ms = math.fsum(largest.values()) if largest else None
    engine_ms = max(between, default=None)
    return Savings(layers_ms, engine_ms, _end_to_end(layers_ms, engine_ms, total_ms, compute_ms))


def _end_to_end(
    layers_ms: float | None, engine_ms: float | None, total_ms: float | None, compute_ms: float | None
) -> float | None:
    if (
        compute_ms is None
        or (layers_ms is None and engine_ms is None)
        or (layers_ms is not None and not total_ms)
    ):
        return None
    scaled = 0.0 if layers_ms is None or not total_ms else layers_ms * min(1.0, compute_ms / total_ms)
    return min(scaled + (engine_ms or 0.0), compute_ms)


def merge(first: Mapping[int, float], second: Mapping[int, float]) -> dict[int, float]:
    """Return the larger saving of each layer."""
    return {layer: max(first.get(layer, 0.0), second.get(layer, 0.0)) for layer in {**first, **second}}
