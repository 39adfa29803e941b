"""The roofline: operations per second against operations per byte, under what the device can do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trex_tui.analysis.columns import derived
from trex_tui.analysis.roofline import Roofline, RooflinePoint
from trex_tui.analysis.totals import sum_latency_ms
from trex_tui.charts.axes import Scale, log_scale, plot_area
from trex_tui.charts.figure import NO_LAYER, WARNING, Figure, Subject, as_sentence
from trex_tui.charts.grid import Part, cells_of
from trex_tui.charts.points import Cloud, Point, kind_legend, kind_look, number_words, paint_points
from trex_tui.charts.raster import Curve, draw_curves
from trex_tui.engine.model import Layer
from trex_tui.text import format_count, format_ms, format_pct, plural

_X_TITLE = "operations per byte, FLOP/B (log)"
_Y_TITLE = "FLOP/s (log)"
_RIDGE = "◇"
_ROOF = "$secondary"
_HEADROOM = 2.0
"""Factor over the highest roof that the plot reaches to, so that its name has room above it."""


@dataclass(frozen=True, slots=True)
class Roof:
    """A peak that some of the layers have, with the bandwidth of the device.

    Attributes:
        names: Precisions of the layers under it.
        flop_per_s: The level.
        ridge: FLOP per byte from which on it is lower than the slope of the bandwidth; None without a bandwidth.
    """

    names: tuple[str, ...]
    flop_per_s: float
    ridge: float | None

    @property
    def words(self) -> str:
        """Precisions and level."""
        return f"{', '.join(self.names)} {format_count(self.flop_per_s)}FLOP/s"


@dataclass(frozen=True, slots=True)
class UnderRoofs:
    """What the chart is of: points, the roofs over them and the slope to these."""

    cloud: Cloud
    roofs: Sequence[Roof]
    bandwidth_bytes_per_s: float | None


def roofs_of(layers: Iterable[Layer], roofline: Roofline) -> list[Roof]:
    """The peaks over some layers, the highest first."""
    bandwidth = roofline.device.peak_bandwidth_bytes_per_s
    names: dict[float, dict[str, None]] = {}
    for layer in layers:
        point = roofline.points.get(layer.index)
        peak = point.peak_flop_per_s if point else None
        if peak:
            names.setdefault(peak, {})[_name(layer, point)] = None
    return [
        Roof(tuple(sorted(names[peak])), peak, peak / bandwidth if bandwidth else None)
        for peak in sorted(names, reverse=True)
    ]


def _name(layer: Layer, point: RooflinePoint | None) -> str:
    """The precision, and the unit where it is not the faster one."""
    name = layer.precision.value if layer.precision else "?"
    rate = point.peak.rate if point and point.peak else None
    return f"{name} on CUDA cores" if rate is not None and "_tc" not in rate.name else name


def roofline_figure(subject: Subject, width: int) -> Figure:  # noqa: ARG001 - every chart is asked so
    """Every layer that multiplies under the roofs of the device."""
    if not subject.layers:
        return Figure((NO_LAYER,))
    roofline = derived(subject.engine).roofline
    known = [(layer, roofline.points.get(layer.index)) for layer in subject.layers]
    points = [
        Point(layer, point.intensity, point.achieved_flop_per_s)
        for layer, point in known
        if point is not None and point.intensity and point.achieved_flop_per_s
    ]
    if not points:
        return _without_rates(subject, known)
    roofs = roofs_of([point.layer for point in points], roofline)
    words = [_summary(subject, points, roofline)]
    if roofs:
        words.append(_roof_words(roofs, roofline))
    current = subject.shown_current
    here = roofline.points.get(current.index) if current else None
    if here is not None and here.intensity and here.achieved_flop_per_s:
        words.append(_here_words(here))
    missing = _missing(subject, points, roofline)
    data, bandwidth = _cloud_of(subject, points, roofs), roofline.device.peak_bandwidth_bytes_per_s
    under = UnderRoofs(data, roofs, bandwidth)
    return Figure(tuple(words), missing, lambda part: _paint(part, under, subject.shown_current), data=under)


def _without_rates(subject: Subject, known: Sequence[tuple[Layer, RooflinePoint | None]]) -> Figure:
    intensities = sum(point is not None and point.intensity is not None for _, point in known)
    words = ["No layer here has both operations and a time: there is nothing to put under a roof."]
    if intensities and not subject.engine.has_profile:
        words.append(
            f"The operations of {plural(intensities, 'layer')} are known, their times are not: no profile."
        )
    sentences = derived(subject.engine).roofline.sentences[:3]
    return Figure(tuple(words), tuple(map(as_sentence, sentences)))


def _summary(subject: Subject, points: Sequence[Point], roofline: Roofline) -> str:
    layers = [point.layer for point in points]
    time, whole = sum_latency_ms(layers) or 0.0, sum_latency_ms(subject.layers) or 0.0
    share = f" ({100.0 * time / whole:.0f} % of those shown)" if whole else ""
    bounds: dict[str, int] = {}
    for layer in layers:
        bound = roofline.points[layer.index].bound
        if bound is not None:
            bounds[bound.value] = bounds.get(bound.value, 0) + 1
    bound_words = ", ".join(f"{count} by {name}" for name, count in sorted(bounds.items()))
    device = f" Bound: {bound_words}." if bounds else ""
    return (
        f"Operations per second against operations per byte: {plural(len(points), 'layer')} that multiply, "
        f"{format_ms(time)} ms{share}.{device}"
    )


def _roof_words(roofs: Sequence[Roof], roofline: Roofline) -> str:
    bandwidth = roofline.device.peak_bandwidth_bytes_per_s
    slope = [f"{format_count(bandwidth)}B/s"] if bandwidth else []
    return f"Roofs: {'; '.join([*(roof.words for roof in roofs), *slope])}."


def _here_words(here: RooflinePoint) -> str:
    roof = f", {format_pct(here.roof_pct)} % of its roof" if here.roof_pct is not None else ""
    bound = f", bound by {here.bound.value}" if here.bound else ""
    return (
        f"Layer {here.layer_index}: {here.intensity:.3g} FLOP/B, {format_count(here.achieved_flop_per_s)}FLOP/s"
        f"{roof}{bound}."
    )


def _missing(subject: Subject, points: Sequence[Point], roofline: Roofline) -> tuple[str, ...]:
    device = roofline.device
    told = []
    if device.bandwidth_reason or device.compute_reason:
        which = "Not all roofs" if roofs_of((point.layer for point in points), roofline) else "No roofs"
        told.append(f"{which}: {device.compute_reason or device.bandwidth_reason}.")
    shown = {point.layer.index for point in points}
    rest = [layer for layer in subject.layers if layer.index not in shown]
    if rest:
        time = sum_latency_ms(rest)
        told.append(
            f"Not shown: {plural(len(rest), 'layer')} that multiply nothing, or do not tell what"
            + (f", {format_ms(time)} ms." if time else ".")
        )
    return tuple(told)


def _cloud_of(subject: Subject, points: Sequence[Point], roofs: Sequence[Roof]) -> Cloud:
    ridges = [roof.ridge for roof in roofs if roof.ridge]
    x = log_scale([*(point.x for point in points), *(2 * ridge for ridge in ridges)], _X_TITLE, number_words)
    levels = [*(point.y for point in points), *(_HEADROOM * roof.flop_per_s for roof in roofs)]
    y = log_scale(levels, _Y_TITLE, number_words)
    return Cloud(points, x, y, kind_look(subject), kind_legend(subject, points))


def _paint(part: Part, under: UnderRoofs, current: Layer | None) -> None:
    cloud, roofs, bandwidth = under.cloud, under.roofs, under.bandwidth_bytes_per_s
    x, y = cloud.x, cloud.y
    area = plot_area(part, x, _X_TITLE, y, cloud.legend)
    draw_curves(area, [roof_curve(roof, bandwidth, x, y) for roof in reversed(roofs)])
    paint_points(area, cloud.points, x, y, cloud.look, current)
    _name_roofs(area, roofs, x, y)
    if bandwidth:
        _name_bandwidth(area, bandwidth, roofs, x, y)


def roof_curve(roof: Roof, bandwidth: float | None, x: Scale, y: Scale) -> Curve:
    """The slope of the bandwidth as far as the plot shows it, and the level from the ridge on."""
    level = y.fraction(roof.flop_per_s)
    if bandwidth is None or roof.ridge is None or roof.ridge <= x.low:
        return Curve([0.0, 1.0], [level, level], _ROOF)
    start = max(x.low, y.low / bandwidth)
    xs = [x.fraction(start), x.fraction(roof.ridge), 1.0]
    return Curve(xs, [y.fraction(start * bandwidth), level, level], _ROOF)


def _name_roofs(area: Part, roofs: Sequence[Roof], x: Scale, y: Scale) -> None:
    """Each level by its name at the right end, above its line or below it; the ridge by a sign."""
    for roof in roofs:
        row = area.height - 1 - y.cell(roof.flop_per_s, area.height)
        end = area.width - len(cells_of(roof.words))
        places = ((end - left, line) for left in range(0, area.width // 3, 4) for line in (row - 1, row + 1))
        next((True for start, line in places if area.label(start, line, roof.words, _ROOF)), False)
        if roof.ridge and x.low <= roof.ridge <= x.high:
            area.put(x.cell(roof.ridge, area.width), row, _RIDGE, WARNING)
            words = f"ridge {roof.ridge:.3g}"
            area.label(x.cell(roof.ridge, area.width) - len(words), row - 1, words, WARNING)


def _name_bandwidth(area: Part, bandwidth: float, roofs: Sequence[Roof], x: Scale, y: Scale) -> None:
    """The bandwidth beside the slope, at half its height."""
    if not roofs or not roofs[0].ridge:
        return
    start = max(x.low, y.low / bandwidth)
    middle = (start * min(roofs[0].ridge, x.high)) ** 0.5
    column = x.cell(middle, area.width)
    row = area.height - 1 - y.cell(middle * bandwidth, area.height)
    label = f"{format_count(bandwidth)}B/s"
    for left, line in (
        (column - len(label) - 2, row),
        (column - len(label) - 2, row - 1),
        (column + 3, row + 1),
    ):
        if left >= 0 and area.label(left, line, label, _ROOF):
            return
