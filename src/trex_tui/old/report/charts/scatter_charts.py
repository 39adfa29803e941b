"""Charts with layers as points: the sizes of their products, and their efficiency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from trex_tui.old.analysis.columns import derived
from trex_tui.old.analysis.roofline import Roofline, RooflinePoint
from trex_tui.old.analysis.structure import sum_latency_ms
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.engine.dtypes import DataType, format_intensity, format_rate, operation_name
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.absence import no_layer, no_profile
from trex_tui.old.report.charts.figure import (
    HERE_SIGN,
    HERE_STYLE,
    PRIMARY,
    SECONDARY,
    WARNING,
    Chart,
    Dot,
    Figure,
    Key,
    Mark,
    Points,
    Roof,
    Scale,
    Subject,
    Target,
    format_tick,
    has_times,
    kind_keys,
    layer_target,
    log_scale,
)
from trex_tui.old.text import as_sentence, format_count, format_ms, format_pct, plural

AXES = (("m", "n"), ("n", "k"), ("m", "k"))
"""Pairs of extents, in the order in which they are offered."""
_MEANING = {"m": "M, rows", "n": "N, columns", "k": "K (reduction)"}
_CLASSES = ((0.5, "●", f"bold {PRIMARY}"), (0.1, "•", PRIMARY), (0.0, "∙", SECONDARY))
"""Minimum share of the slowest layer's time, sign and style of a point."""
_SIGNS = {
    LayerKind.CONVOLUTION: "●",
    LayerKind.GEMM: "■",
    LayerKind.ATTENTION: "◆",
    LayerKind.POINTWISE: "▲",
    LayerKind.REDUCTION: "▽",
    LayerKind.NORMALIZATION: "▽",
    LayerKind.SOFTMAX: "▼",
    LayerKind.POOLING: "△",
    LayerKind.QUANTIZE: "◇",
    LayerKind.REFORMAT: "□",
}
_LEAST_MS = 1e-6
_HEADROOM = 2.0
"""Height of the plot relative to the highest roof, to leave room for its name."""

Place = tuple[Layer, float, float]
"""A layer with its two values."""


def kind_sign(kind: LayerKind) -> str:
    """Return the sign of a kind, for output without colour; less important kinds share one."""
    return _SIGNS.get(kind, "○")


Look = Callable[[Layer], tuple[str, str]]
"""Return sign and style of a layer's point."""


def _points(
    subject: Subject,
    places: Sequence[Place],
    scales: tuple[Scale, Scale],
    look: Look,
    figures: Callable[[Layer, float, float], str],
    keys: Sequence[Key],
) -> Points:
    """Return a point for each layer, the slowest and the current one on top.

    Args:
        figures: Text of the two values.
    """
    current = subject.shown_current
    ordered = sorted(places, key=lambda point: (point[0] is current, point[0].latency_ms or 0.0))
    dots = []
    for layer, x, y in ordered:
        sign, style = (HERE_SIGN, HERE_STYLE) if layer is current else look(layer)
        dots.append(Dot(x, y, style, sign))

    def target(index: int) -> Target:
        layer, x, y = ordered[index]
        time = "" if layer.latency_ms is None else f"  {format_ms(layer.latency_ms)} ms"
        return layer_target(layer, f"{figures(layer, x, y)}{time}")

    return Points(dots, *scales, keys, target)


def _kind_look(subject: Subject) -> Look:
    return lambda layer: (kind_sign(layer.kind), subject.palette.kind(layer.kind))


def _kind_keys(subject: Subject, places: Sequence[Place]) -> list[Key]:
    """Return the kinds among the points, the most frequent first."""
    return kind_keys(Counter(layer.kind for layer, _, _ in places), subject.palette.kind, kind_sign)


def _describe_gemm(_: Layer, x: float, y: float) -> str:
    return f"{format_tick(round(x, 6))} × {format_tick(round(y, 2))}"


def products(subject: Subject) -> Figure:
    """Draw two of the three extents of each layer's matrix product."""
    if not subject.layers:
        return Figure((no_layer(subject.engine),))
    computes = derived(subject.engine).compute
    first, second = subject.axes
    places = [
        (layer, float(x), float(y))
        for layer in subject.layers
        if (x := getattr(computes[layer.index], first)) and (y := getattr(computes[layer.index], second))
    ]
    reasons = Counter(computes[layer.index].reason for layer in subject.layers if layer.kind.multiplies)
    reasons.pop("", None)
    missing = tuple(f"{plural(count, 'layer')} not shown: {why}." for why, count in reasons.most_common(2))
    if not places:
        return Figure(("No GEMM sizes here.",), missing)
    layers = [layer for layer, _, _ in places]
    time = sum_latency_ms(layers)
    words = [
        f"GEMM sizes {first.upper()} × {second.upper()} (convolutions as implicit GEMM): "
        f"{plural(len(places), 'layer')}" + (f", {format_ms(time)} ms." if time is not None else ".")
    ]
    current = subject.shown_current
    if current is not None and (product := computes[current.index]).macs is not None and product.m:
        batch = f", {product.batch} of them" if product.batch and product.batch > 1 else ""
        words.append(f"Layer {current.index}: M {product.m}, N {product.n}, K {product.k}{batch}.")
    slowest = max(layer.latency_ms or 0.0 for layer in layers)

    def look(layer: Layer) -> tuple[str, str]:
        share = (layer.latency_ms or 0.0) / slowest if slowest else 0.0
        return next((sign, style) for least, sign, style in _CLASSES if share >= least)

    x = log_scale([x for _, x, _ in places], f"{_MEANING[first]} (log)", format_tick)
    y = log_scale([y for _, _, y in places], f"{_MEANING[second]} (log)", format_tick)
    form = _points(subject, places, (x, y), look, _describe_gemm, _time_keys(slowest))
    return Figure(tuple(words), missing, form)


def _time_keys(slowest: float) -> list[Key]:
    if not slowest:
        return [Key("", "no times", WARNING)]
    *classes, (_, last_sign, last_style) = _CLASSES
    return [
        *(Key(sign, f"≥ {format_ms(least * slowest)} ms", style) for least, sign, style in classes),
        Key(last_sign, "less", last_style),
        Key(HERE_SIGN, "current", HERE_STYLE),
    ]


def efficiency(subject: Subject) -> Figure:
    """Draw how close each layer comes to its roof, against its time."""
    if not subject.layers:
        return Figure((no_layer(subject.engine),))
    if sum_latency_ms(subject.layers) is None:
        return Figure((no_profile(subject.engine),))
    roofline = derived(subject.engine).roofline
    places = [
        (layer, layer.latency_ms, point.roof_pct)
        for layer, point in _with_points(subject, roofline)
        if point and point.roof_pct is not None and layer.latency_ms and layer.latency_ms > _LEAST_MS
    ]
    if not places:
        return Figure(("Roofline shares unknown.",), tuple(map(as_sentence, roofline.sentences[:3])))
    time = sum_latency_ms([layer for layer, _, _ in places]) or 0.0
    at_roof = sum(ms * min(pct, 100.0) / 100.0 for _, ms, pct in places)
    words = [
        f"Roofline share and time: {plural(len(places), 'layer')}, {format_ms(time)} ms. At the roofline: "
        f"{format_ms(at_roof)} ms. Low and right = most to gain."
    ]
    current = subject.shown_current
    if current is not None and (point := roofline.points.get(current.index)) and point.roof_pct is not None:
        words.append(f"Layer {current.index}: {format_pct(point.roof_pct)} % of its roof.")
    rest = _others(subject, places)
    rest_ms = sum_latency_ms(rest)
    missing: tuple[str, ...] = ()
    if rest:
        with_time = f" with {format_ms(rest_ms)} ms" if rest_ms else ""
        missing = (f"{plural(len(rest), 'layer')}{with_time} not shown (no roofline or time).",)
    x = log_scale([ms for _, ms, _ in places], "layer time, ms (log)", format_tick)
    y = Scale(0.0, max(110.0, max(pct for _, _, pct in places) * 1.05), "% of the roof")
    form = _points(subject, places, (x, y), _kind_look(subject), _describe_gemm, _kind_keys(subject, places))
    return Figure(tuple(words), missing, replace(form, marks=[Mark(100.0, "roof", WARNING, is_level=True)]))


def _with_points(subject: Subject, roofline: Roofline) -> list[tuple[Layer, RooflinePoint | None]]:
    return [(layer, roofline.points.get(layer.index)) for layer in subject.layers]


def _others(subject: Subject, places: Sequence[Place]) -> list[Layer]:
    """Return the layers without a point."""
    shown = {layer.index for layer, _, _ in places}
    return [layer for layer in subject.layers if layer.index not in shown]


# The roofline


@dataclass(frozen=True, slots=True)
class RoofPeak:
    """A peak of some of the layers, with the bandwidth of the device.

    Attributes:
        names: Precisions of the layers under it.
        data_type: One of them, which names the operations; a level is of integers or of floats.
        flop_per_s: The level.
        ridge: FLOP per byte from which it is below the slope of the bandwidth; None without a bandwidth.
    """

    names: tuple[str, ...]
    data_type: DataType | None
    flop_per_s: float
    ridge: float | None

    @property
    def words(self) -> str:
        """Return precisions and level."""
        return f"{', '.join(self.names)} {format_rate(self.flop_per_s, self.data_type)}"

    def roof(self, bandwidth: float | None, x: Scale, y: Scale) -> Roof:
        """Return the slope of the bandwidth within the plot, and the level from the ridge on."""
        points = [(x.low, self.flop_per_s), (x.high, self.flop_per_s)]
        if bandwidth is not None and self.ridge is not None and self.ridge > x.low:
            start = max(x.low, y.low / bandwidth)
            points = [(start, start * bandwidth), (self.ridge, self.flop_per_s), points[1]]
        if not self.ridge:
            return Roof(self.words, points)
        label = f"ridge {self.ridge:.3g}"
        detail = f", {label} {operation_name(self.data_type)}/B"
        return Roof(self.words, points, detail=detail, knee=(self.ridge, self.flop_per_s, label))


def find_peaks(layers: Iterable[Layer], roofline: Roofline) -> list[RoofPeak]:
    """Return the peaks over some layers, the highest first."""
    bandwidth = roofline.device.peak_bandwidth_bytes_per_s
    names: dict[tuple[float, str], dict[str, DataType | None]] = {}
    for layer in layers:
        point = roofline.points.get(layer.index)
        peak = point.peak_flop_per_s if point else None
        if peak:
            level = names.setdefault((peak, operation_name(layer.precision)), {})
            level[_peak_name(layer, point)] = layer.precision
    return [
        RoofPeak(
            tuple(sorted(level)), next(iter(level.values())), peak, peak / bandwidth if bandwidth else None
        )
        for (peak, _), level in sorted(names.items(), reverse=True, key=lambda item: item[0])
    ]


def _peak_name(layer: Layer, point: RooflinePoint | None) -> str:
    """Return the precision, and the unit if it is not the faster one."""
    name = layer.precision.value if layer.precision else "?"
    rate = point.peak.rate if point and point.peak else None
    return f"{name} on CUDA cores" if rate is not None and "_tc" not in rate.name else name


def roofline_chart(subject: Subject) -> Figure:
    """Draw every layer that multiplies below the roofs of the device."""
    if not subject.layers:
        return Figure((no_layer(subject.engine),))
    roofline = derived(subject.engine).roofline
    known = _with_points(subject, roofline)
    places = [
        (layer, point.intensity, point.achieved_flop_per_s)
        for layer, point in known
        if point is not None and point.intensity and point.achieved_flop_per_s
    ]
    if not places:
        return _without_rates(subject, known)
    bandwidth = roofline.device.peak_bandwidth_bytes_per_s
    peaks = find_peaks([layer for layer, _, _ in places], roofline)
    words = [_summary(subject, places, roofline)]
    if peaks:
        slope = [f"{format_count(bandwidth)}B/s"] if bandwidth else []
        words.append(f"Roofs: {'; '.join([*(peak.words for peak in peaks), *slope])}.")
    current = subject.shown_current
    here = roofline.points.get(current.index) if current else None
    if here is not None and here.intensity and here.achieved_flop_per_s:
        words.append(_describe_current(here, current.precision if current else None))
    return Figure(
        tuple(words),
        _missing(subject, places, peaks, roofline),
        _roofline_points(subject, places, peaks, bandwidth),
    )


def _roofline_points(
    subject: Subject, places: Sequence[Place], peaks: Sequence[RoofPeak], bandwidth: float | None
) -> Points:
    names = sorted({operation_name(layer.precision) for layer, _, _ in places})
    intensities, rates = (" or ".join(f"{name}/{per}" for name in names) for per in ("B", "s"))
    ridges = [2 * peak.ridge for peak in peaks if peak.ridge]
    x = log_scale(
        [*(x for _, x, _ in places), *ridges],
        f"intensity, {intensities} (log)",
        format_tick,
    )
    levels = [_HEADROOM * peak.flop_per_s for peak in peaks]
    y = log_scale(
        [*(y for _, _, y in places), *levels],
        f"{rates} (log)",
        format_tick,
    )
    form = _points(
        subject,
        places,
        (x, y),
        _kind_look(subject),
        lambda layer, intensity, rate: (
            f"{format_intensity(intensity, layer.precision)}  {format_rate(rate, layer.precision)}"
        ),
        _kind_keys(subject, places),
    )
    slope, roof_key = None, "roofs" if peaks else ""
    if peaks and bandwidth:
        roof_key += f", left of their ridges {format_count(bandwidth)}B/s of memory"
        if peaks[0].ridge:
            middle = (max(x.low, y.low / bandwidth) * min(peaks[0].ridge, x.high)) ** 0.5
            slope = (middle, middle * bandwidth, f"{format_count(bandwidth)}B/s")
    roofs = [peak.roof(bandwidth, x, y) for peak in peaks]
    return replace(form, roofs=roofs, slope=slope, roof_key=roof_key)


def _without_rates(subject: Subject, known: Sequence[tuple[Layer, RooflinePoint | None]]) -> Figure:
    intensities = sum(point is not None and point.intensity is not None for _, point in known)
    words = ["No layers with both operations and time."]
    if intensities and not subject.engine.has_profile:
        why = subject.engine.explain_need("needs --exportProfile", ArtifactKind.PROFILE)
        words.append(f"{plural(intensities, 'layer')} with known operations but no times ({why}).")
    sentences = derived(subject.engine).roofline.sentences[:3]
    return Figure(tuple(words), tuple(map(as_sentence, sentences)))


def _summary(subject: Subject, places: Sequence[Place], roofline: Roofline) -> str:
    layers = [layer for layer, _, _ in places]
    time, whole = sum_latency_ms(layers) or 0.0, sum_latency_ms(subject.layers) or 0.0
    share = f" ({100.0 * time / whole:.0f} % of those shown)" if whole else ""
    bounds = Counter(roofline.points[layer.index].bound for layer in layers)
    words = [
        f"{bounds[bound]} by {bound.value} ({share:.0f} %)"
        for bound, share in roofline.roof_pct_by_bound(layers).items()
    ]
    device = f" Bound (% of the roof): {', '.join(words)}." if words else ""
    return f"Rate and intensity: {plural(len(places), 'compute layer')}, {format_ms(time)} ms{share}.{device}"


def _describe_current(here: RooflinePoint, precision: DataType | None) -> str:
    roof = f", {format_pct(here.roof_pct)} % of its roof" if here.roof_pct is not None else ""
    bound = f", bound by {here.bound.value}" if here.bound else ""
    return (
        f"Layer {here.layer_index}: {format_intensity(here.intensity or 0.0, precision)}, "
        f"{format_rate(here.achieved_flop_per_s, precision)}"
        f"{roof}{bound}."
    )


def _missing(
    subject: Subject, places: Sequence[Place], peaks: Sequence[RoofPeak], roofline: Roofline
) -> tuple[str, ...]:
    device = roofline.device
    sentences = []
    if device.bandwidth_reason or device.compute_reason:
        which = "Roofline incomplete" if peaks else "Roofline unavailable"
        sentences.append(f"{which}: {device.compute_reason or device.bandwidth_reason}.")
    if rest := _others(subject, places):
        time = sum_latency_ms(rest)
        sentences.append(
            f"Not shown: {plural(len(rest), 'layer')} without known operations or bytes"
            + (f", {format_ms(time)} ms." if time else ".")
        )
    return tuple(sentences)


def _has_products(engine: Engine) -> bool:
    return any(layer.kind.multiplies for layer in engine.layers)


CHARTS = (
    Chart("products", "M, N, K", "GEMM sizes.", products, has_axes=True, needs=_has_products),
    Chart("roofline", "Roofline", "Layers relative to the device peaks.", roofline_chart, needs=has_times),
    Chart("efficiency", "Efficiency", "Roofline share and time.", efficiency, needs=has_times),
)
