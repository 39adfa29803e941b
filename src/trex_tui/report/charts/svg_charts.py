"""The charts of the terminal as SVG: their figures make words and data, and what is drawn here is that data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch

from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.report.charts.catalogue import CHARTS, CHARTS_BY_ID
from trex_tui.report.charts.cells import Scale
from trex_tui.report.charts.figure import Subject
from trex_tui.report.charts.grid import Span
from trex_tui.report.charts.icicle import Blocks
from trex_tui.report.charts.latency_charts import (
    Course,
    Distribution,
    PercentileCurve,
    changes,
    column_medians,
    drift_ends_ms,
    extremes,
    stretched,
)
from trex_tui.report.charts.layer_charts import MOST_OF_IT, Along, Pareto, Shares, index_ticks, rank_ticks
from trex_tui.report.charts.scatter_charts import HERE_SIGN, Cloud, Roof, UnderRoofs, number_words
from trex_tui.report.charts.svg_axes import WIDTH, Caption
from trex_tui.report.charts.svg_elements import PALETTE, SIGNS
from trex_tui.report.charts.svg_plot import (
    ACCENT,
    PRIMARY,
    SECONDARY,
    WARNING,
    Bar,
    Dot,
    Key,
    Mark,
    Roofline,
    Series,
    bars,
    columns,
    histogram,
    icicle,
    lines,
    scatter,
)
from trex_tui.text import format_count, format_ms, format_pct, plural

IDS = tuple(chart.id for chart in CHARTS)
"""Every chart that `picture` draws, in the order in which the terminal offers them."""
_MOST_BARS = 25
_BINS = 120
_TICK_GAP = 70
_DOTS_PER_LINE = 1.5
"""Queries per pixel from which on least, most and median are drawn instead of each."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart with what belongs below it.

    Attributes:
        id, title, help: As in the terminal's catalogue.
        svg: None where there is nothing to draw: the sentences say why.
        words, missing: Sentences, the same as in the terminal.
    """

    id: str
    title: str
    help: str
    svg: str | None
    words: tuple[str, ...]
    missing: tuple[str, ...]


def picture(
    chart_id: str,
    engine: Engine,
    *,
    layers: Sequence[Layer] | None = None,
    axes: tuple[str, str] = ("m", "n"),
    width: int = WIDTH,
    standalone: bool = False,
) -> Picture:
    """A chart of an engine, with its sentences.

    Args:
        chart_id: One of `IDS`.
        layers: Those that a filter left, in execution order; by default all.
        axes: Which extents the chart of products shows.
        width: Of the picture.
        standalone: A file of its own.

    Raises:
        KeyError: There is no such chart.
    """
    chart = CHARTS_BY_ID[chart_id]
    is_filtered = layers is not None and len(layers) < len(engine.layers)
    chosen = engine.layers if layers is None else layers
    subject = Subject(engine, chosen, PALETTE, is_filtered=is_filtered, axes=axes)
    figure = chart.make(subject, width)
    title = f"{chart.title} · {engine.name}" if standalone else chart.title
    caption = Caption(title, figure.words, figure.missing, width, standalone)
    svg = None if figure.data is None else _draw(figure.data, caption)
    return Picture(chart.id, chart.title, chart.help, svg, figure.words, figure.missing)


def draw(
    chart_id: str,
    engine: Engine,
    *,
    layers: Sequence[Layer] | None = None,
    axes: tuple[str, str] = ("m", "n"),
    width: int = WIDTH,
    standalone: bool = False,
) -> str | None:
    """The drawing of `picture` alone; None where there is nothing to draw."""
    return picture(chart_id, engine, layers=layers, axes=axes, width=width, standalone=standalone).svg


@singledispatch
def _draw(data: object, caption: Caption) -> str:
    raise TypeError(f"{caption.title}: no drawing of {type(data).__name__}")


def _keys(legend: Sequence[Span]) -> list[Key]:
    """A legend of the terminal: sign, blank, words."""
    keys = []
    for span in legend:
        text = span.text.strip()
        if text[:1] in SIGNS:
            keys.append(Key(text[0], span.style, text[1:].strip()))
        elif text[:1] != HERE_SIGN:
            keys.append(Key("", span.style, text))
    return keys


@_draw.register
def _(data: Distribution, caption: Caption) -> str:
    marks = {f"p{pct:g} {format_ms(value)}": value for pct, value in data.percentiles_ms.items()}
    return histogram(caption, data.bins(_BINS), f"{data.queries.what}, ms", marks)


@_draw.register
def _(data: Course, caption: Caption) -> str:
    x, y = data.scales()
    places, _ = data.x
    values = data.queries.values_ms
    series = [Series("each query", list(zip(places, values, strict=True)), SECONDARY)]
    if data.queries.count > _DOTS_PER_LINE * caption.room:
        fractions = [x.fraction(place) for place in places]

        def placed(name: str, style: str, found: tuple[list[float], list[float]]) -> Series:
            return Series(
                name,
                [(x.low + at * (x.high - x.low), value) for at, value in zip(*found, strict=True)],
                style,
            )

        series = [
            replace(
                placed("least to most", SECONDARY, extremes(fractions, values, int(caption.room))),
                is_faint=True,
            ),
            placed("median", PRIMARY, column_medians(fractions, values, int(caption.room / 6))),
        ]
    ends = drift_ends_ms(data.judged)
    if ends:
        series.append(Series("drift", [(x.low, ends[0]), (x.high, ends[1])], ACCENT))
    marks = [
        Mark(float(places[row]), label, style) for row, label, style in changes(data.judged, len(places))
    ]
    return lines(caption, series, x, y, marks=marks)


@_draw.register
def _(data: PercentileCurve, caption: Caption) -> str:
    x, y = data.scales()
    named = [
        Series(f"p{pct:g} {format_ms(value)}", [(stretched(pct), value)], ACCENT, dots=True)
        for pct, value in data.points
    ]
    marks = [Mark(stretched(pct), format_ms(value)) for pct, value in data.points]
    curve = Series(data.what, data.curve)
    return lines(caption, [curve, *named], x, y, x_ticks=data.ticks(x), marks=marks, has_legend=False)


@_draw.register
def _(data: Shares, caption: Caption) -> str:
    shown = data.totals if len(data.totals) <= _MOST_BARS else data.totals[: _MOST_BARS - 1]
    rest = data.totals[len(shown) :]
    items = [Bar(total.key, data.size(total), data.cells(total), data.style(total.key)) for total in shown]
    unit = "time, ms" if data.is_timed else "layers"
    told = data.rest_words(rest) if rest else ""
    return bars(caption, items, data.headings, unit, told, keys=_keys(data.legend))


def _of_layer(layer: Layer, value: float, text: str, style: str) -> Bar:
    return Bar(layer.name, value, (text,), style, f"{layer.index}  {layer.name}  {layer.kind.value}  {text}")


@_draw.register
def _(data: Along, caption: Caption) -> str:
    unit = data.y.title.rpartition(", ")[2]
    items = [
        _of_layer(layer, value, f"{value:.5g} {unit}", style)
        for layer, value, style in zip(data.layers, data.values, data.styles, strict=True)
    ]
    count = len(items)
    marks = [
        Mark((place + 0.5) / count, f"{mark} layer {data.layers[place].index}", style)
        for place, mark, style in data.marks
        if place is not None
    ]
    ticks = index_ticks(data.layers, int(caption.room / _TICK_GAP))
    return columns(caption, items, data.y, ticks, "layer", keys=_keys(data.legend), marks=marks)


@_draw.register
def _(data: Pareto, caption: Caption) -> str:
    count = len(data.layers)
    items = [
        _of_layer(layer, share, f"{format_ms(layer.latency_ms)} ms  {format_pct(share)} %", PRIMARY)
        for layer, share in zip(data.layers, data.shares_pct, strict=True)
    ]
    curve = [((place + 0.5) / count, pct) for place, pct in enumerate(data.cumulative_pct)]
    marks = [
        Mark(MOST_OF_IT, f"{MOST_OF_IT:g} %", WARNING, level=True),
        Mark((data.most - 0.5) / count, f"{MOST_OF_IT:g} % in {plural(data.most, 'layer')}", WARNING),
    ]
    return columns(
        caption,
        items,
        Scale(0.0, 100.0, "% of the time"),
        rank_ticks(count, int(caption.room / _TICK_GAP)),
        "layers, the slowest first",
        keys=[Key("━", SECONDARY, "added up"), Key("■", PRIMARY, "each layer")],
        curves=[Series("added up", curve, SECONDARY)],
        marks=marks,
    )


def _dots(cloud: Cloud, text: Callable[[float, float], str]) -> list[Dot]:
    """The slowest layer last, so that it is on top."""
    ordered = sorted(cloud.points, key=lambda point: point.layer.latency_ms or 0.0)
    dots = []
    for point in ordered:
        mark, style = cloud.look(point.layer)
        title = f"{point.layer.index}  {point.layer.name}  {text(point.x, point.y)}"
        if point.layer.latency_ms is not None:
            title += f"  {format_ms(point.layer.latency_ms)} ms"
        dots.append(Dot(point.x, point.y, title, style, mark))
    return dots


@_draw.register
def _(data: Cloud, caption: Caption) -> str:
    marks = [] if data.level is None else [Mark(data.level, "roof", WARNING, level=True)]
    dots = _dots(data, lambda x, y: f"{number_words(round(x, 6))} × {number_words(round(y, 2))}")
    return scatter(caption, dots, data.x, data.y, keys=_keys(data.legend), marks=marks)


def _roof(roof: Roof, bandwidth: float | None, x: Scale, y: Scale) -> Roofline:
    points = [(x.low, roof.flop_per_s), (x.high, roof.flop_per_s)]
    if bandwidth is not None and roof.ridge is not None and roof.ridge > x.low:
        start = max(x.low, y.low / bandwidth)
        points = [(start, start * bandwidth), (roof.ridge, roof.flop_per_s), points[1]]
    ridge = f", ridge {roof.ridge:.3g} FLOP/B" if roof.ridge else ""
    return Roofline(f"{roof.words}{ridge}", points)


@_draw.register
def _(data: UnderRoofs, caption: Caption) -> str:
    cloud, bandwidth = data.cloud, data.bandwidth_bytes_per_s
    roofs = [_roof(roof, bandwidth, cloud.x, cloud.y) for roof in data.roofs]
    dots = _dots(cloud, lambda x, y: f"{x:.3g} FLOP/B  {format_count(y)}FLOP/s")
    keys = _keys(cloud.legend)
    if roofs:
        slope = f", left of their ridges {format_count(bandwidth)}B/s of memory" if bandwidth else ""
        keys.append(Key("━", SECONDARY, f"roofs{slope}"))
    return scatter(caption, dots, cloud.x, cloud.y, keys=keys, roofs=roofs)


@_draw.register
def _(data: Blocks, caption: Caption) -> str:
    return icicle(caption, data)
