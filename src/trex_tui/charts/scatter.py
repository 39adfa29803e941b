"""Layers as points: the sizes of their products, and how well they use the device against their time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from trex_tui.analysis.columns import derived
from trex_tui.analysis.totals import sum_latency_ms
from trex_tui.charts.axes import Scale, log_scale, plot_area
from trex_tui.charts.figure import HERE_STYLE, NO_LAYER, NO_PROFILE, WARNING, Figure, Subject, as_sentence
from trex_tui.charts.grid import Part, Span
from trex_tui.charts.points import (
    HERE_SIGN,
    Cloud,
    Point,
    kind_legend,
    kind_look,
    number_words,
    paint_points,
)
from trex_tui.engine.model import Layer
from trex_tui.text import format_ms, format_pct, plural

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
