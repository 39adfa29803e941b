"""Layers as points: signs for kinds, and which of several in one cell shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from trex_tui.analysis.columns import derived
from trex_tui.analysis.roofline import Roofline, RooflinePoint
from trex_tui.analysis.structure import sum_latency_ms
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.report.charts.cells import Curve, Scale, draw_curves, kind_entries, log_scale, plot_area
from trex_tui.report.charts.figure import (
    HERE_STYLE,
    NO_LAYER,
    NO_PROFILE,
    WARNING,
    Figure,
    Subject,
    as_sentence,
)
from trex_tui.report.charts.grid import Part, Span, cells_of
from trex_tui.text import format_count, format_ms, format_pct, plural

HERE_SIGN = "◉"
_SIGNS = {
    LayerKind.CONVOLUTION: "●",
    LayerKind.GEMM: "■",
    LayerKind.ATTENTION: "◆",
    LayerKind.POINTWISE: "▲",
    LayerKind.REDUCTION: "▽",
    LayerKind.SOFTMAX: "▼",
    LayerKind.POOLING: "△",
    LayerKind.QUANTIZE: "◇",
    LayerKind.REFORMAT: "□",
}
_OTHER = "○"


@dataclass(frozen=True, slots=True)
class Point:
    """A layer with its two values."""

    layer: Layer
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Cloud:
    """What a chart of points is of.

    Attributes:
        x, y: The scales, with their titles.
        look: Sign and style of a layer's point.
        legend: What signs and styles mean.
        level: A value of y that is a limit.
    """

    points: Sequence[Point]
    x: Scale
    y: Scale
    look: Callable[[Layer], tuple[str, str]]
    legend: Sequence[Span]
    level: float | None = None


def kind_sign(kind: LayerKind) -> str:
    """The sign of a kind, which tells it where there is no colour; kinds that matter little share one."""
    return _SIGNS.get(kind, _OTHER)


def kind_look(subject: Subject) -> Callable[[Layer], tuple[str, str]]:
    """Sign and style of layers by their kinds."""
    return lambda layer: (kind_sign(layer.kind), subject.palette.kind(layer.kind))


def kind_legend(subject: Subject, points: Sequence[Point]) -> list[Span]:
    """The kinds among the points, the most frequent first."""
    counts = Counter(point.layer.kind for point in points)
    return kind_entries(counts, subject.palette.kind, kind_sign)


def paint_points(
    area: Part,
    points: Sequence[Point],
    x: Scale,
    y: Scale,
    look: Callable[[Layer], tuple[str, str]],
    current: Layer | None,
) -> None:
    """Draw each point with its sign and style; of several in a cell the slowest shows, the current layer above all."""
    ordered = sorted(points, key=lambda point: (point.layer is current, point.layer.latency_ms or 0.0))
    for point in ordered:
        column, row = x.cell(point.x, area.width), area.height - 1 - y.cell(point.y, area.height)
        is_here = point.layer is current
        sign, style = (HERE_SIGN, HERE_STYLE) if is_here else look(point.layer)
        area.put(column, row, sign, style)


def number_words(value: float) -> str:
    """A short label: 0.01, 1, 100, 10 k, 1 M."""
    for limit, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit * 0.9999:
            size = 1e3 if prefix == "k" else limit
            return f"{value / size:g} {prefix}"
    return f"{value:g}"


AXES = (("m", "n"), ("n", "k"), ("m", "k"))
"""Pairs of extents, in the order in which they are offered."""
_MEANING = {"m": "M, rows", "n": "N, columns", "k": "K, terms of each sum"}
_CLASSES = ((0.5, "●", "bold $primary"), (0.1, "•", "$primary"), (0.0, "∙", "$secondary"))
"""Share of the slowest layer's time from which a point has this sign."""
_LEAST_MS = 1e-6
_ROOF = " roof "


def product_figure(subject: Subject, width: int) -> Figure:  # noqa: ARG001 - every chart is asked so
    """Two of the three extents of each layer's matrix product."""
    if not subject.layers:
        return Figure((NO_LAYER,))
    computes = derived(subject.engine).compute
    first, second = subject.axes
    points = [
        Point(layer, float(x), float(y))
        for layer in subject.layers
        if (x := getattr(computes[layer.index], first)) and (y := getattr(computes[layer.index], second))
    ]
    reasons = Counter(computes[layer.index].reason for layer in subject.layers if layer.kind.multiplies)
    reasons.pop("", None)
    missing = tuple(f"{plural(count, 'layer')} not shown: {why}." for why, count in reasons.most_common(2))
    if not points:
        return Figure(("No layer here multiplies matrices of known size.",), missing)
    time = sum_latency_ms([point.layer for point in points])
    words = [
        f"Extents {first.upper()} and {second.upper()} of the matrix products (convolutions as implicit ones): "
        f"{plural(len(points), 'layer')}" + (f", {format_ms(time)} ms." if time is not None else ".")
    ]
    current = subject.shown_current
    if current is not None and (found := computes[current.index]).macs is not None and found.m:
        batch = f", {found.batch} of them" if found.batch and found.batch > 1 else ""
        words.append(f"Layer {current.index}: M {found.m}, N {found.n}, K {found.k}{batch}.")
    data, current = _products_of(subject, points), subject.shown_current

    def paint(part: Part) -> None:
        area = plot_area(part, data.x, data.x.title, data.y, data.legend)
        paint_points(area, points, data.x, data.y, data.look, current)

    return Figure(tuple(words), missing, paint, data=data)


def _products_of(subject: Subject, points: Sequence[Point]) -> Cloud:
    first, second = subject.axes
    x = log_scale([point.x for point in points], f"{_MEANING[first]} (log)", number_words)
    y = log_scale([point.y for point in points], f"{_MEANING[second]} (log)", number_words)
    slowest = max((point.layer.latency_ms or 0.0 for point in points), default=0.0)

    def look(layer: Layer) -> tuple[str, str]:
        share = (layer.latency_ms or 0.0) / slowest if slowest else 0.0
        return next((sign, style) for least, sign, style in _CLASSES if share >= least)

    return Cloud(points, x, y, look, _time_legend(slowest))


def _time_legend(slowest: float) -> list[Span]:
    if not slowest:
        return [Span("no times", WARNING)]
    spans = [
        Span(f"{sign} ≥ {format_ms(least * slowest)} ms  ", style) for least, sign, style in _CLASSES[:-1]
    ]
    return [*spans, Span("∙ less  ", _CLASSES[-1][2]), Span(f"{HERE_SIGN} current", HERE_STYLE)]


def efficiency_figure(subject: Subject, width: int) -> Figure:  # noqa: ARG001
    """How close each layer comes to its roof, against the time it takes."""
    if not subject.layers:
        return Figure((NO_LAYER,))
    if sum_latency_ms(subject.layers) is None:
        return Figure((NO_PROFILE,))
    roofline = derived(subject.engine).roofline
    found = [(layer, roofline.points.get(layer.index)) for layer in subject.layers]
    points = [
        Point(layer, layer.latency_ms, point.roof_pct)
        for layer, point in found
        if point and point.roof_pct is not None and (layer.latency_ms or 0.0) > _LEAST_MS and layer.latency_ms
    ]
    if not points:
        return Figure(("No share of a roof can be told.",), tuple(map(as_sentence, roofline.sentences[:3])))
    shown = {point.layer.index for point in points}
    rest = [layer for layer in subject.layers if layer.index not in shown]
    time = sum_latency_ms([point.layer for point in points]) or 0.0
    at_roof = sum(point.x * min(point.y, 100.0) / 100.0 for point in points)
    words = [
        f"Share of the roof against time: {plural(len(points), 'layer')}, {format_ms(time)} ms. At their roofs they would "
        f"take {format_ms(at_roof)} ms: what is far below 100 % and to the right is worth a look."
    ]
    current = subject.shown_current
    if current is not None and (point := roofline.points.get(current.index)) and point.roof_pct is not None:
        words.append(f"Layer {current.index}: {format_pct(point.roof_pct)} % of its roof.")
    missing = (f"{_rest_words(rest)} not shown: no roof, or no time.",) if rest else ()
    data, here = _efficiency_of(subject, points), subject.shown_current
    return Figure(tuple(words), missing, lambda part: _paint_efficiency(part, data, here), data=data)


def _rest_words(rest: Sequence[Layer]) -> str:
    time = sum_latency_ms(rest)
    return plural(len(rest), "layer") + (f" with {format_ms(time)} ms" if time else "")


def _efficiency_of(subject: Subject, points: Sequence[Point]) -> Cloud:
    x = log_scale([point.x for point in points], "time of the layer, ms (log)", number_words)
    top = max(110.0, max((point.y for point in points), default=0.0) * 1.05)
    y = Scale(0.0, top, "% of the roof")
    return Cloud(points, x, y, kind_look(subject), kind_legend(subject, points), 100.0)


def _paint_efficiency(part: Part, data: Cloud, current: Layer | None) -> None:
    points, x, y = data.points, data.x, data.y
    area = plot_area(part, x, x.title, y, data.legend)
    row = area.height - 1 - y.cell(100.0, area.height)
    area.put(0, row, "┄" * area.width, WARNING)
    paint_points(area, points, x, y, data.look, current)
    taken = {
        x.cell(point.x, area.width)
        for point in points
        if area.height - 1 - y.cell(point.y, area.height) == row
    }
    room = (
        start
        for start in range(area.width - len(_ROOF), -1, -1)
        if not taken & {*range(start, start + len(_ROOF))}
    )
    area.put(next(room, area.width), row, _ROOF, WARNING)


_X_TITLE = "operations per byte, FLOP/B (log)"
_Y_TITLE = "FLOP/s (log)"
_RIDGE = "◇"
_ROOF_STYLE = "$secondary"
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
        return Curve([0.0, 1.0], [level, level], _ROOF_STYLE)
    start = max(x.low, y.low / bandwidth)
    xs = [x.fraction(start), x.fraction(roof.ridge), 1.0]
    return Curve(xs, [y.fraction(start * bandwidth), level, level], _ROOF_STYLE)


def _name_roofs(area: Part, roofs: Sequence[Roof], x: Scale, y: Scale) -> None:
    """Each level by its name at the right end, above its line or below it; the ridge by a sign."""
    for roof in roofs:
        row = area.height - 1 - y.cell(roof.flop_per_s, area.height)
        end = area.width - len(cells_of(roof.words))
        places = ((end - left, line) for left in range(0, area.width // 3, 4) for line in (row - 1, row + 1))
        next((True for start, line in places if area.label(start, line, roof.words, _ROOF_STYLE)), False)
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
        if left >= 0 and area.label(left, line, label, _ROOF_STYLE):
            return
