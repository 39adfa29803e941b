"""Charts as SVG strings, for an HTML page or a separate file; without Textual and numpy.

In a page (`Caption.standalone` false) there is no title and no text around the plot: the page has them, and `<title>` and
`<desc>` are for screen readers. The page includes `svg_elements.stylesheet()` once, in its `<style>`. There are no ids,
scripts or style attributes, so that a strict policy allows the picture, and several share a page. Text and axes have the
colour of the page's text. A separate file has background, title, sentences and its own style, light and dark.

All text passes `svg_elements.escaped`: names are data. Equal data give equal strings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from itertools import accumulate

from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.charts.catalogue import CHARTS, CHARTS_BY_ID
from trex_tui.old.report.charts.figure import (
    HERE_SIGN,
    MUTED,
    PRIMARY,
    SECONDARY,
    WARNING,
    Bar,
    Bars,
    Blocks,
    Box,
    Chart,
    Columns,
    Figure,
    Histogram,
    IcicleBlock,
    Key,
    Lines,
    Mark,
    Points,
    Scale,
    Series,
    Subject,
)
from trex_tui.old.report.charts.grid import fit_labels
from trex_tui.old.report.charts.sampling import column_starts, largest_of_columns, sample_series
from trex_tui.old.report.charts.svg_elements import (
    CHAR,
    LINE,
    PALETTE,
    PATTERNS,
    box,
    classes_and_colour,
    cut,
    line,
    measure_width,
    number,
    path,
    sign,
    tag,
    titled,
    words,
)
from trex_tui.old.report.charts.svg_plot import (
    PLOT_HEIGHT,
    WIDTH,
    Area,
    Aside,
    Caption,
    Plot,
    legend,
    picture_around,
)
from trex_tui.old.text import ELLIPSIS, MISSING, printable

IDS = tuple(chart.id for chart in CHARTS)
"""All charts that `picture` draws, in the order of the terminal."""
_FAINT = 0.4
_TICK_GAP = 70


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart with the sentences below it.

    Attributes:
        id, title, help: As in the catalogue.
        svg: The picture; None if there is nothing to draw: the sentences give the reason.
        words, missing: Sentences, as in the terminal.
    """

    id: str
    title: str
    help: str
    svg: str | None
    words: tuple[str, ...]
    missing: tuple[str, ...]


def picture(
    chart: str | Chart,
    engine: Engine,
    *,
    layers: Sequence[Layer] | None = None,
    axes: tuple[str, str] = ("m", "n"),
    value: LayerColumn | None = None,
    color: LayerColumn | None = None,
    x: LayerColumn | None = None,
    size: LayerColumn | None = None,
    width: int = WIDTH,
    standalone: bool = False,
) -> Picture:
    """A chart of an engine, with its sentences.

    Args:
        chart: One of `IDS`, or another chart.
        layers: Layers to show, in execution order; by default all.
        axes: Extents shown by the chart of products.
        value, color, x, size: As in `Subject`.
        width: Width of the picture.
        standalone: True for a separate file.

    Raises:
        KeyError: There is no such chart.
    """
    chart = CHARTS_BY_ID[chart] if isinstance(chart, str) else chart
    is_filtered = layers is not None and len(layers) < len(engine.layers)
    chosen = engine.layers if layers is None else layers
    chart = chart.titled(chosen)
    subject = Subject(engine, chosen, PALETTE, is_filtered, None, axes, width, value, color, x, size)
    figure = chart.make(subject)
    title = f"{chart.title} · {engine.name}" if standalone and chart.id in CHARTS_BY_ID else chart.title
    drawn = figure_picture(chart.id, title, chart.help, figure, width=width, standalone=standalone)
    return replace(drawn, title=chart.title)


def figure_picture(
    id: str,  # noqa: A002 - as the field of Picture
    title: str,
    help: str,  # noqa: A002 - as the field of Picture
    figure: Figure,
    *,
    width: int = WIDTH,
    standalone: bool = False,
) -> Picture:
    """Return a figure with its sentences; arguments as for `picture`."""
    caption = Caption(title, figure.words, figure.missing, width, standalone)
    svg = None if figure.form is None else draw_svg(figure.form, caption)
    return Picture(id, title, help, svg, figure.words, figure.missing)


@singledispatch
def draw_svg(form: object, caption: Caption) -> str:
    """Draw a form as `<svg …>…</svg>`."""
    raise TypeError(f"{caption.title}: no drawing of {type(form).__name__}")


# Lying bars

_ROW, _BAR = 20.0, 13.0
_NAMES = 0.45
"""Maximum share of the width for names."""
_LEAST_BAR = 90.0


@draw_svg.register
def _(form: Bars, caption: Caption) -> str:
    shown = form.bars if len(form.bars) <= form.most else form.bars[: form.most - 1]
    rest = form.rest(len(shown)) if len(shown) < len(form.bars) else ""
    out: list[str] = []
    top = legend(form.keys, caption.room, out)
    count = max((len(bar.texts) for bar in shown), default=0)
    table = [tuple(form.headings), *(bar.texts for bar in shown)]
    widths = [
        max((measure_width(row[index]) for row in table if index < len(row)), default=0.0) + 2 * CHAR
        for index in range(count)
    ]
    room = min(caption.room * _NAMES, caption.room - sum(widths) - _LEAST_BAR)
    labels = fit_labels([bar.label for bar in shown], max(8, int(room / CHAR)), form.fit)
    names = max(map(measure_width, labels), default=0.0)
    ends = list(accumulate(widths, initial=names))
    left = ends[-1] + 2 * CHAR
    area = Area(left, top + 6.0 + (LINE if form.headings else 0), caption.room - left - 8, _ROW * len(shown))
    for end, heading in zip(ends[1:], form.headings, strict=False):
        out.append(words(end, top + 14, heading, anchor="end", style=MUTED))
    values = [0.0, form.top or 0.0, *(bar.value for bar in shown if bar.value is not None)]
    low, high = min(values), max(values)
    scale = Scale(low, high if high > low else low + 1.0, form.unit)
    for fraction, label in scale.ticks(max(2, int(area.width / 90))):
        x = area.across(fraction)
        out.append(line(x, area.y, x, area.y + area.height, "$panel"))
        out.append(words(x, area.y + area.height + 15, label, anchor="middle", style=MUTED))
    for row, (bar, label) in enumerate(zip(shown, labels, strict=True)):
        _draw_bar(bar, label, area, ends[1:], area.y + _ROW * row, scale, out)
    foot = area.y + area.height + 20
    if form.unit:
        out.append(words(caption.room - 8, foot + 12, form.unit, anchor="end", style=MUTED))
    if rest:
        out.append(words(0, foot + 12, cut(rest, caption.room * 0.7), style=MUTED, title=rest))
    return picture_around(caption, out, foot + (LINE if form.unit or rest else 0) + 2)


def _draw_bar(
    bar: Bar, label: str, area: Area, ends: Sequence[float], top: float, scale: Scale, out: list[str]
) -> None:
    out.append(words(0, top + 14, label, title=bar.label if label != bar.label else None))
    for end, text in zip(ends, bar.texts, strict=False):
        out.append(words(end, top + 14, text, anchor="end"))
    if bar.value is None:
        out.append(words(area.x + 4, top + 14, MISSING, style=MUTED))
        return
    if bar.box is not None:
        _draw_box(bar, bar.box, area, top, scale, out)
        return
    left, right = sorted((area.across(scale.fraction(0.0)), area.across(scale.fraction(bar.value))))
    width = max(right - left, 1.0 if bar.value else 0.0)
    y = top + (_ROW - _BAR) / 2
    if not bar.parts:
        out.append(box(left, y, width, _BAR, bar.style, "  ".join((bar.label, *bar.texts))))
        return
    total = math.fsum(part.value for part in bar.parts) or 1.0
    for part in bar.parts:
        wide = width * part.value / total
        if wide > 0 and part.pattern.strip():
            title = f"{bar.label}  {part.label}"
            out.append(box(left, y, wide, _BAR, part.style, title, opacity=PATTERNS[part.pattern]))
        left += wide


def _draw_box(bar: Bar, values: Box, area: Area, top: float, scale: Scale, out: list[str]) -> None:
    """Draw whiskers, box, median and the values beyond; those beyond the axis at its end."""
    y, middle = top + (_ROW - _BAR) / 2, top + _ROW / 2

    def across(value: float) -> float:
        return area.across(min(1.0, scale.fraction(value)))

    low, first, median, third, high = map(across, values[:5])
    title = "  ".join((bar.label, *bar.texts))
    out.append(line(low, middle, high, middle, bar.style))
    out += [line(end, middle - 4, end, middle + 4, bar.style) for end in (low, high)]
    out.append(box(first, y, max(third - first, 1.0), _BAR, bar.style, title, opacity=PATTERNS["▒"]))
    out.append(line(median, y, median, y + _BAR, "$foreground"))
    for value in values.beyond:
        out.append(sign("∙" if value <= scale.high else "▲", across(value), middle, MUTED))


# Upright bars

_MOST_BINS = 120


@draw_svg.register
def _(form: Columns, caption: Caption) -> str:
    count, y = len(form.values), form.y
    flags = [Mark((flag.index + 0.5) / count, flag.label, flag.style) for flag in form.flags if flag.label]
    ticks = form.ticks(int(caption.room / _TICK_GAP))
    x = Scale(0.0, 1.0, form.x_title)
    plot = Plot(caption, x, y, ticks=ticks, keys=form.keys, marks=[*form.marks, *flags])
    area = plot.area
    shown = largest_of_columns(form.values, int(area.width)) if count else []
    step = area.width / max(1, len(shown))
    gap = min(3.0, step * 0.2) if step > 2 else 0.0
    plot.out.append('<g shape-rendering="crispEdges">')
    for column, index in enumerate(shown):
        if form.values[index]:
            tall = max(0.75, area.height * min(1.0, y.fraction(form.values[index])))
            plot.draw_upright(column * step, step - gap, tall, form.styles[index], form.target(index).text)
    plot.out.append("</g>")
    if form.curve is not None:
        kept = [*column_starts(count, int(area.width))[:-1], count - 1]
        places = [plot.at((index + 0.5) / count, form.curve.values[index]) for index in kept]
        plot.out.append(path(places, form.curve.style, title=form.curve.name))
    return plot.picture()


@draw_svg.register
def _(form: Histogram, caption: Caption) -> str:
    bins = form.bins(_MOST_BINS)
    top = max(*bins.counts, bins.below, bins.above, 1)
    y = Scale(0.0, top * 1.02, form.y_title, is_count=True)
    plot = Plot(caption, Scale(bins.low, bins.high, form.x_title), y, marks=form.marks)
    area = plot.area
    step = area.width / len(bins.counts)
    for column, count in enumerate(bins.counts):
        if count:
            start = bins.low + column * bins.width
            title = f"{start:.5g} to {start + bins.width:.5g}: {count}"
            tall = max(1.0, area.height * count / y.high)
            plot.draw_upright(column * step, step - (step > 3), tall, PRIMARY, title)
    for count, x, side in ((bins.below, area.x + 6, "below"), (bins.above, area.right - 6, "above")):
        if count:
            plot.out.append(sign("▲", x, area.foot - 6, WARNING, f"{count} {side} the plot"))
    return plot.picture()


# Lines

_DOTS_PER_LINE = 1.5
"""Points per pixel from which minimum, maximum and median of a dense series replace its points."""


@draw_svg.register
def _(form: Lines, caption: Caption) -> str:
    series: list[Series] = []
    for each in form.series:
        is_crowded = each.is_dense and len(each.points) > _DOTS_PER_LINE * caption.room
        columns = int(caption.room), int(caption.room / 6)
        series += sample_series(each, form.x, *columns) if is_crowded else [each]
    keys = [Key("━", each.name, each.style) for each in series]
    plot = Plot(
        caption,
        form.x,
        form.y,
        ticks=form.ticks,
        keys=keys if form.has_legend and len(keys) > 1 else (),
        marks=[*form.marks, *(Mark(dot.x, dot.label, dot.style) for dot in form.dots)],
    )
    for each in series:
        for run in _runs(each.points):
            places = [plot.at(*point) for point in run]
            opacity = _FAINT if each.is_faint else None
            plot.out.append(path(places, each.style, title=each.name, opacity=opacity))
            if len(run) == 1:
                plot.out.append(sign("●", *places[0], each.style, f"{each.name}: {run[0][1]:.6g}"))
        plot.out += _beyond(each.points, plot, form.y)
    for dot in form.dots:
        plot.out.append(sign(dot.sign, *plot.at(dot.x, dot.y), dot.style, dot.title))
    return plot.picture()


def _beyond(points: Sequence[tuple[float, float]], plot: Plot, y: Scale) -> list[str]:
    """Draw a sign at the edge for points out of range; of several at one position, for the farthest."""
    farthest: dict[tuple[int, str], tuple[float, float, float]] = {}
    for px, py in points:
        fraction = y.fraction(py)
        if fraction > 1 or fraction < 0:
            spot = (round(plot.at(px, py)[0] / 8), "▲" if fraction > 1 else "▼")
            point = (abs(fraction - 0.5), px, py)
            farthest[spot] = max(point, farthest.get(spot, point))
    return [sign(char, *plot.at(px, py), WARNING, f"{py:.6g}") for (_, char), (_, px, py) in farthest.items()]


def _runs(points: Sequence[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """Return the parts of a line between its gaps."""
    runs: list[list[tuple[float, float]]] = [[]]
    for point in points:
        if all(map(math.isfinite, point)):
            runs[-1].append(point)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


# Points

_RING = 7.0
"""Radius of the ring around several points at one position."""
_RING_KEY = Key("", "in a ring: several in one place", MUTED)


@draw_svg.register
def _(form: Points, caption: Caption) -> str:
    """Draw only the last of several points on one spot, in a ring."""
    keys = [key for key in form.keys if key.sign != HERE_SIGN]
    if form.roof_key:
        keys.append(Key("━", form.roof_key, SECONDARY))
    asides = [
        Aside(roof.points[-1][1], roof.name + roof.detail, roof.style) for roof in form.roofs if roof.name
    ]

    def place(keys: Sequence[Key]) -> tuple[Plot, dict[tuple[int, int], list[int]]]:
        """Return the axes, and the indices of the points on each spot."""
        plot = Plot(
            caption, form.x, form.y, keys=keys, marks=form.marks, asides=asides, height=PLOT_HEIGHT + 60
        )
        spots: dict[tuple[int, int], list[int]] = {}
        for index, dot in enumerate(form.dots):
            px, py = plot.at(dot.x, dot.y)
            spot = (round(px), round(py))
            spots[spot] = spots.pop(spot, [])
            spots[spot].append(index)
        return plot, spots

    plot, spots = place(keys)
    if len(spots) < len(form.dots):
        plot, spots = place([*keys, _RING_KEY])
    for roof in form.roofs:
        places = [plot.at(*point) for point in roof.points]
        plot.out.append(path(places, roof.style, title=roof.name + roof.detail))
    for indices in spots.values():
        dot, title = form.dots[indices[-1]], form.target_of(indices[-1]).text
        px, py = plot.at(dot.x, dot.y)
        if len(indices) > 1:
            title = f"{title}  ({len(indices)} in one place)"
            plot.out.append(sign("○", px, py, dot.style, size=_RING))
        plot.out.append(sign(dot.sign, px, py, dot.style, title))
    return plot.picture()


# Blocks

_BLOCK_ROW = 34.0
_LEAST_WITH_NAME = 4 * CHAR


@draw_svg.register
def _(form: Blocks, caption: Caption) -> str:
    out: list[str] = []
    top = legend(form.keys, caption.room, out)
    scale = caption.room / max(1, form.root.width)
    rows: dict[int, list[str]] = {}
    for block in form.root.every():
        rows.setdefault(block.depth, []).append(printable(block.label))
    blocks: list[str] = []
    for block in form.root.every():
        _draw_block(form, block, scale, rows[block.depth], blocks)
    out.append(tag("g", "".join(blocks), transform=f"translate(0 {number(top)})"))
    return picture_around(caption, out, top + _BLOCK_ROW * form.root.levels + 4)


def _draw_block(form: Blocks, block: IcicleBlock, scale: float, row: Sequence[str], out: list[str]) -> None:
    x, y, width = block.start * scale, block.depth * _BLOCK_ROW, block.width * scale
    size = " ".join(form.size(block).split())
    style = form.style(block)
    name, colour = classes_and_colour(style)
    out.append(
        tag(
            "rect",
            titled(f"{block.label}  {size}"),
            class_=name,
            color=colour,
            x=x + 0.5,
            y=y + 1,
            width=max(0.5, width - 1.5),
            height=_BLOCK_ROW - 2,
            fill_opacity=0.28,
        )
    )
    if width >= _LEAST_WITH_NAME:
        out.append(line(x + 1, y + 1, x + 1, y + _BLOCK_ROW - 1, style))
        if label := block_name(block.label, width - 8, row):
            out.append(words(x + 5, y + 14, label))
        if measure_width(size) <= width - 8:
            out.append(words(x + 5, y + 28, size, style=MUTED))


def block_name(label: str, room: float, row: Sequence[str]) -> str:
    """Return a name in its block: head and tail, else the head; empty if it could mean another block of the row.

    >>> block_name("16/conv", 3 * CHAR, ["16/conv", "15/conv"]), block_name("16/conv", 2 * CHAR, ["16/conv", "15/conv"])
    ('16…', '')
    """
    whole = printable(label)
    middle = cut(whole, room)
    if middle == whole:
        return whole
    others = [name for name in row if name != whole]
    head = whole[: len(middle) - 1] + ELLIPSIS
    return next((text for text in (middle, head) if not any(_fits(text, name) for name in others)), "")


def _fits(text: str, name: str) -> bool:
    """Return whether a cut text still identifies a name."""
    head, _, tail = text.partition(ELLIPSIS)
    return len(name) > len(head) + len(tail) and name.startswith(head) and name.endswith(tail)
