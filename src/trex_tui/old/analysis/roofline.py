"""The roofline: how close each layer comes to the limits of its device, and what limits it.

A layer with F operations and B bytes cannot be faster than `max(F / peak, B / bandwidth)`: the roof. The peak is that of the
layer's precision on the unit its kernel uses; the bandwidth is that of the device memory. `FORMULAS` defines every number.
Facts missing in the files, and everything that depends on them, are None, with a reason.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, repeat
from operator import attrgetter
from typing import Any, NamedTuple

from trex_tui.old.analysis.compute import Compute, compute_products
from trex_tui.old.analysis.device import DeviceModel
from trex_tui.old.analysis.gpu_peaks import Peak, peak_of_kernel
from trex_tui.old.analysis.thresholds import (
    FLOOR_LAYERS,
    FLOOR_PERCENTILE,
    LATENCY_ROOF_PCT,
    LAUNCH_FACTOR,
    LAUNCH_ROOF_SHARE,
    Bound,
)
from trex_tui.old.analysis.tiling import find_tiling, has_plain_schedule
from trex_tui.old.engine.dtypes import DataType, format_intensity, format_rate
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Device, Layer
from trex_tui.old.engine.tactics import parse_tactic
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import format_bytes, format_count, format_ms, plural

SHORTEST_MS = 1e-9
"""A shorter time counts as zero: its rates would overflow."""

REASONS_SHOWN = 6

ASSUMPTIONS = (
    "every byte moves once between device memory and SMs; data found in the L2 cache makes a layer exceed the bandwidth",
    "arithmetic other than multiply-accumulates (activations, softmax, normalisation) is free",
    "latencies are those of the profile run, which adds its own overhead to each layer",
)
"""Assumptions for every point."""

# If the MACs of such a layer are unknown, its arithmetic is unknown; layers of all other kinds move bytes.
_COMPUTING = frozenset(
    {
        LayerKind.CONVOLUTION,
        LayerKind.GEMM,
        LayerKind.ATTENTION,
        LayerKind.MYELIN,
        LayerKind.FUSED,
        LayerKind.PLUGIN,
        LayerKind.OTHER,
    }
)


class RooflinePoint(NamedTuple):
    """A layer in the roofline. See `FORMULAS` for the definitions; None is unknown, with the reasons in `reasons`.

    Attributes:
        layer_index: Index of the layer in execution order.
        latency_ms: Its average time.
        macs: None without relevant multiplications, or if unknown.
        bytes: All bytes it accesses.
        intensity: FLOP per byte.
        achieved_flop_per_s: None without MACs.
        achieved_bytes_per_s: Rate of its bytes, each moved once.
        peak: Peak for its precision and unit; None without MACs.
        ridge_intensity: FLOP per byte.
        roof_flop_per_s: None without MACs.
        roof_ms: The least time for its work.
        roof_pct: Can exceed 100, see `ASSUMPTIONS`.
        bandwidth_pct: Share of the peak bandwidth.
        bound: None if unknown, and without a time.
        roof_side: The lower of the two roofs, `COMPUTE` or `BANDWIDTH`; None without a roof.
        tiles: Number of thread blocks for the result; None if the kernel's name has no tile.
        reasons: Why values are missing; empty if none are.
        assumptions: Assumptions for this layer.
        precision: Precision of the layer, which names the operations.
    """

    layer_index: int
    latency_ms: float | None = None
    macs: int | None = None
    bytes: int | None = None
    intensity: float | None = None
    achieved_flop_per_s: float | None = None
    achieved_bytes_per_s: float | None = None
    peak: Peak | None = None
    ridge_intensity: float | None = None
    roof_flop_per_s: float | None = None
    roof_ms: float | None = None
    roof_pct: float | None = None
    bandwidth_pct: float | None = None
    bound: Bound | None = None
    roof_side: Bound | None = None
    tiles: int | None = None
    reasons: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    precision: DataType | None = None

    @property
    def reason(self) -> str:
        return "; ".join(self.reasons)

    @property
    def peak_flop_per_s(self) -> float | None:
        return self.peak.flop_per_s if self.peak else None


@dataclass(frozen=True)
class Roofline:
    """The roofline of an engine.

    Attributes:
        device: The device with the peaks.
        points: By layer index; layers that neither compute nor move (constants, NoOps, synchronisation) have none.
        floor_ms: Time of the shortest layers; None with fewer than `FLOOR_LAYERS` timed layers.
    """

    device: DeviceModel
    points: Mapping[int, RooflinePoint]
    floor_ms: float | None = None

    @cached_property
    def counts(self) -> dict[Bound | None, int]:
        """Return the number of layers by bound; None for unknown bounds. Adds up to the number of points."""
        counts = Counter(map(attrgetter("bound"), self.points.values()))
        return {bound: counts[bound] for bound in (*Bound, None)}

    @cached_property
    def latency_ms_by_bound(self) -> dict[Bound | None, float | None]:
        """Return the sum of the layers' times by bound, in milliseconds; adds up to the time of all points that have one.

        None if there are layers, but none of them has a time.
        """
        sums: dict[Bound | None, float | None] = dict.fromkeys((*Bound, None), 0.0)
        sums.update(dict.fromkeys((bound for bound, count in self.counts.items() if count), None))
        for point in self.points.values():
            if point.latency_ms is not None:
                sums[point.bound] = (sums[point.bound] or 0.0) + point.latency_ms
        return sums

    def compute_roof_pct(self, layers: Iterable[Layer]) -> float | None:
        """Return the sum of roof times over the sum of latencies, in percent, of layers that have both; None without any."""
        points = [self.points[layer.index] for layer in layers if layer.index in self.points]
        both = [(point.roof_ms, point.latency_ms) for point in points if point.roof_pct is not None]
        total = math.fsum(latency_ms or 0.0 for _, latency_ms in both)
        return 100.0 * math.fsum(roof_ms or 0.0 for roof_ms, _ in both) / total if total else None

    def roof_pct_by_bound(self, layers: Iterable[Layer]) -> dict[Bound, float]:
        """Return the same by bound, for the bounds that occur."""
        groups: dict[Bound, list[Layer]] = {}
        for layer in layers if self.counts[None] < len(self.points) else ():
            point = self.points.get(layer.index)
            if point and point.bound:
                groups.setdefault(point.bound, []).append(layer)
        shares = {bound: self.compute_roof_pct(groups[bound]) for bound in Bound if bound in groups}
        return {bound: share for bound, share in shares.items() if share is not None}

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """Return what could not be computed, for how many layers and why; the most frequent reasons first."""
        lines = []
        bandwidth, compute = self.device.bandwidth_reason, self.device.compute_reason
        if bandwidth and bandwidth == compute:
            lines.append(f"Roofline unavailable: {bandwidth}")
        elif bandwidth:
            lines.append(f"no peak bandwidth: {bandwidth}")
        if compute and compute != bandwidth:
            lines.append(
                f"peak operations per second only from user settings: {compute}"
                if self.device.stated_peaks
                else f"no peak operations per second: {compute}"
            )
        if self.floor_ms is None and any(point.bound for point in self.points.values()):
            lines.append(f"launch-bound layers count as latency-bound (needs ≥ {FLOOR_LAYERS} timed layers)")
        reasons = Counter(chain.from_iterable(map(attrgetter("reasons"), self.points.values())))
        rare = [counted for counted in reasons.most_common() if counted[0] not in (bandwidth, compute)]
        lines += [f"{plural(count, 'layer')}: {reason}" for reason, count in rare[:REASONS_SHOWN]]
        if rest := sum(count for _, count in rare[REASONS_SHOWN:]):
            lines.append(f"{plural(rest, 'layer')}: other reasons")
        shares = map(attrgetter("roof_pct"), self.points.values())
        if above := len([share for share in shares if share is not None and share > 100]):
            lines.append(
                f"{plural(above, 'layer')} above the roof: cached data, a higher clock, or bytes not touched"
            )
        return tuple(lines)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return assumptions for all layers: about the model, and about the device."""
        return (*ASSUMPTIONS, *self.device.assumptions)

    def describe(self, index: int) -> list[str]:
        """Return the numbers of a layer in sentences: value, formula and source; then missing values and assumptions."""
        point = self.points.get(index)
        if point is None:
            return ["no roofline: the layer neither computes nor moves data"]
        return [*_work_sentences(point), *_roof_sentences(point, self)]


def latency_floor_ms(layers: Iterable[Layer]) -> float | None:
    """Return the time of the shortest layers, in milliseconds: see `FORMULAS["floor_ms"]`; None with too few timed layers."""
    latencies = [layer.latency for layer in layers]
    times = sorted(
        [time_ms for latency in latencies if latency is not None and (time_ms := latency.average_ms)]
    )
    if len(times) < FLOOR_LAYERS:
        return None
    position = FLOOR_PERCENTILE / 100 * (len(times) - 1)
    below = math.floor(position)
    return times[below] + (position - below) * (times[below + 1] - times[below])


def traffic_bytes(layer: Layer) -> int | None:
    """Return the bytes a layer accesses: as allocated, with the padding of vectorized layouts."""
    return layer.footprint_allocated_bytes


_make_point: Callable[[tuple[Any, ...]], RooflinePoint] = partial(tuple.__new__, RooflinePoint)
"""Avoids the Python function that creates a NamedTuple."""


class _Roofs:
    """Computes the roofs of layers for one device; kernels of one kind share their peak."""

    def __init__(self, device: DeviceModel, floor_ms: float | None, no_time: str) -> None:
        """Prepare the roofs.

        Args:
            no_time: Why a layer has no time.
        """
        self.device = device
        self.no_time = no_time
        self.bandwidth = device.peak_bandwidth_bytes_per_s
        self.bandwidth_reason = device.bandwidth_reason
        self.launch_ms = LAUNCH_FACTOR * floor_ms if floor_ms else 0.0
        self.peaks: dict[tuple[DataType | None, str | None, str | None], Peak] = {}
        self.reasons: dict[tuple[object, ...], tuple[str, ...]] = {}

    def point(self, layer: Layer, compute: Compute) -> RooflinePoint:
        size, latency_ms = traffic_bytes(layer), layer.latency_ms
        time_ms = latency_ms if latency_ms and latency_ms >= SHORTEST_MS else None
        flops = compute.flops or None
        is_opaque = compute.macs is None and layer.kind in _COMPUTING
        if size is None and flops is None:
            reasons = self._reasons(layer, compute, None, None, is_opaque)
            return RooflinePoint(layer.index, latency_ms, compute.macs, reasons=reasons)
        on_gpu = layer.device is not Device.DLA
        bandwidth = self.bandwidth if on_gpu else None
        peak = self._peak(layer) if flops and on_gpu else None
        top = peak.flop_per_s if peak else None
        memory_ms = 1e3 * size / bandwidth if bandwidth and size is not None else None
        roof_ms = memory_ms
        if is_opaque or (flops and (memory_ms is None or top is None)):
            roof_ms = None
        elif flops and top and memory_ms is not None:
            roof_ms = max(1e3 * flops / top, memory_ms)
        intensity = flops / size if flops and size else None
        side = None
        if roof_ms and memory_ms is not None:
            side = Bound.BANDWIDTH if roof_ms == memory_ms else Bound.COMPUTE
        tactic = parse_tactic(layer.tactic) if flops else None
        tiling = find_tiling(layer, compute, tactic) if tactic and has_plain_schedule(tactic) else None
        is_complete = roof_ms is not None and time_ms
        return RooflinePoint(
            layer.index,
            latency_ms,
            compute.macs,
            size,
            intensity,
            1e3 * flops / time_ms if flops and time_ms else None,
            1e3 * size / time_ms if size is not None and time_ms else None,
            peak,
            top / bandwidth if top and bandwidth else None,
            min(top, intensity * bandwidth) if top and bandwidth and intensity else None,
            roof_ms,
            100 * roof_ms / time_ms if roof_ms is not None and time_ms else None,
            100 * memory_ms / time_ms if memory_ms is not None and time_ms else None,
            self._bound(time_ms, roof_ms, side),
            side,
            tiling.tiles if tiling else None,
            () if is_complete else self._reasons(layer, compute, size, peak, is_opaque),
            peak.assumptions if peak else (),
            layer.precision,
        )

    def points_of_names(self, layers: Sequence[Layer], computes: Sequence[Compute]) -> list[RooflinePoint]:
        """Return points as `point`, for layers with known names only: a profile may have hundreds of thousands."""
        latencies = [layer.latency for layer in layers]
        times = [None if latency is None else latency.average_ms for latency in latencies]
        reasons: dict[tuple[object, ...], tuple[str, ...]] = {}
        of_layers = []
        for layer, compute, time_ms in zip(layers, computes, times, strict=True):
            is_zero = None if time_ms is None else time_ms < SHORTEST_MS
            key = (layer.kind, layer.device, id(compute), is_zero)  # few objects, whose hash takes long
            found = reasons.get(key)
            if found is None:
                found = reasons[key] = self._reasons(layer, compute, None, None, layer.kind in _COMPUTING)
            of_layers.append(found)
        columns: dict[str, Iterable[Any]] = dict.fromkeys(RooflinePoint._fields, repeat(None)) | {
            "layer_index": [layer.index for layer in layers],
            "latency_ms": times,
            "reasons": of_layers,
            "assumptions": repeat(()),
        }
        return list(map(_make_point, zip(*columns.values(), strict=False)))

    def _bound(self, time_ms: float | None, roof_ms: float | None, side: Bound | None) -> Bound | None:
        if not time_ms or not roof_ms or side is None:
            return None
        if time_ms <= self.launch_ms and roof_ms < LAUNCH_ROOF_SHARE * time_ms:
            return Bound.LAUNCH
        return Bound.LATENCY if 100 * roof_ms < LATENCY_ROOF_PCT * time_ms else side

    def _peak(self, layer: Layer) -> Peak:
        key = (layer.precision, layer.tactic, layer.layer_type)
        peak = self.peaks.get(key)
        if peak is None:
            peak = self.peaks[key] = peak_of_kernel(self.device, *key)
        return peak

    def _reasons(
        self, layer: Layer, compute: Compute, size: int | None, peak: Peak | None, is_opaque: bool
    ) -> tuple[str, ...]:
        """Return why values of a layer are missing. Few combinations occur: each is created once."""
        time_ms, on_dla = layer.latency_ms, layer.device is Device.DLA
        of_time = of_work = ""
        if time_ms is None:
            of_time = self.no_time
        elif time_ms < SHORTEST_MS:
            of_time = "its time is zero"
        if on_dla:
            of_work = "runs on the DLA, whose peaks are unknown"
        elif is_opaque:
            of_work = compute.reason or "unknown operation"
        elif peak:
            of_work = peak.reason
        key = (of_time, of_work, size is None, on_dla)
        reasons = self.reasons.get(key)
        if reasons is None:
            of_size = "bytes unknown: missing shape, type or weights"
            of_bandwidth = "" if on_dla or self.bandwidth is not None else self.bandwidth_reason
            every = (of_time, of_work, of_size if size is None else "", of_bandwidth)
            reasons = tuple(dict.fromkeys(filter(None, every)))
            self.reasons[key] = reasons
        return reasons


def roofline(engine: Engine, device: DeviceModel, computes: Sequence[Compute] | None = None) -> Roofline:
    """Compute the roofline of every layer of an engine that computes or moves data.

    Args:
        computes: Products of the layers by index, if already computed.
    """
    floor_ms = latency_floor_ms(engine.layers)
    roofs = _Roofs(device, floor_ms, "no time in the profile" if engine.has_profile else engine.no_profile)
    known = computes or [compute_products(layer) for layer in engine.layers]
    working = [layer for layer in engine.layers if layer.kind.is_work]
    products = [known[layer.index] for layer in working]
    if all(layer.layer_type is None for layer in working):
        points = roofs.points_of_names(working, products)
    else:
        points = list(map(roofs.point, working, products))
    return Roofline(device, dict(zip([layer.index for layer in working], points, strict=True)), floor_ms)


def _work_sentences(point: RooflinePoint) -> list[str]:
    lines = []
    if point.macs:
        lines.append(f"work: {format_count(point.macs)} MACs, 2 operations each")
    if point.bytes is not None:
        lines.append(f"bytes: {format_bytes(point.bytes)}: inputs, outputs and weights as allocated")
    if point.intensity is not None:
        lines.append(f"intensity: {format_intensity(point.intensity, point.precision)} = 2 × MACs ÷ bytes")
    if point.achieved_flop_per_s is not None:
        rate = format_rate(point.achieved_flop_per_s, point.precision)
        lines.append(f"achieved: {rate} = 2 × MACs ÷ {format_ms(point.latency_ms)} ms")
    if point.achieved_bytes_per_s is not None:
        share = "" if point.bandwidth_pct is None else f"; {point.bandwidth_pct:.1f} % of the peak bandwidth"
        rate = format_count(point.achieved_bytes_per_s)
        lines.append(f"achieved: {rate}B/s = bytes ÷ {format_ms(point.latency_ms)} ms{share}")
    return lines


def _roof_sentences(point: RooflinePoint, whole: Roofline) -> list[str]:
    lines = [point.peak.describe(point.precision)] if point.peak else []
    if point.ridge_intensity is not None:
        lines.append(
            f"ridge: {format_intensity(point.ridge_intensity, point.precision)} = peak ÷ peak bandwidth"
        )
    if point.roof_flop_per_s is not None:
        roof = format_rate(point.roof_flop_per_s, point.precision)
        lines.append(f"roof: {roof} = min(peak, intensity × peak bandwidth)")
    if point.roof_ms is not None:
        formula = "max(2 × MACs ÷ peak, bytes ÷ peak bandwidth)" if point.macs else "bytes ÷ peak bandwidth"
        lines.append(f"roof time: {format_ms(point.roof_ms)} ms = {formula}")
    if point.roof_pct is not None:
        lines.append(f"{point.roof_pct:.1f} % of the roof = roof time ÷ {format_ms(point.latency_ms)} ms")
    if point.bound is not None:
        lines.append(f"bound by {point.bound.value}: {_why(point, whole)}")
    if point.reasons:
        lines.append(f"not computed: {point.reason}")
    return [*lines, *(f"assumed: {assumption}" for assumption in (*point.assumptions, *whole.assumptions))]


def _why(point: RooflinePoint, whole: Roofline) -> str:
    if point.bound is Bound.LAUNCH:
        return (
            f"within {LAUNCH_FACTOR:g} × the floor of {format_ms(whole.floor_ms)} ms,"
            f" and the roof is less than {100 * LAUNCH_ROOF_SHARE:g} % of its time"
        )
    if point.bound is Bound.LATENCY:
        why = f"below {LATENCY_ROOF_PCT:g} % of the roof: neither compute nor bandwidth limits it"
        sms = whole.device.sms
        if point.tiles and sms:
            why += f"; its kernel has {plural(point.tiles, 'tile')} for {plural(sms, 'SM')}"
        return why
    if point.intensity is None:
        return "no multiplications"
    return f"its intensity is {'above' if point.bound is Bound.COMPUTE else 'not above'} the ridge"
