"""Bars, shares, histograms, lines, columns and points as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from trex_tui.report.charts.cells import Scale, Tick, column_starts, largest_of_columns
from trex_tui.report.charts.grid import apart
from trex_tui.report.charts.icicle import Block, Blocks
from trex_tui.report.charts.latency_charts import Histogram, histogram_of
from trex_tui.report.charts.svg_axes import (
    ACCENT,
    PLOT_HEIGHT,
    Area,
    Aside,
    Caption,
    Key,
    Mark,
    framed,
    legend,
    picture,
)
from trex_tui.report.charts.svg_elements import (
    CHAR,
    LINE,
    MUTED,
    box,
    classes_and_colour,
    cut,
    line,
    number,
    path,
    sign,
    tag,
    titled,
    width_of,
    words,
)
from trex_tui.text import ELLIPSIS, MISSING, printable

__all__ = [
    "ACCENT", "Bar", "Caption", "Dot", "Key", "Mark", "Roofline", "Series", "bars", "columns", "histogram", "lines",
    "scatter", "spread", "stacked",
]  # fmt: skip

PRIMARY, SECONDARY, WARNING = "$primary", "$secondary", "$warning"
_ROW, _BAR = 20.0, 13.0
_NAMES = 0.45
"""Share of the width that names may take."""
_LEAST_BAR = 90.0
_FAINT = 0.4


@dataclass(frozen=True, slots=True)
class Bar:
    """A line of a bar chart.

    Attributes:
        value: How long its bar is; None where unknown, which has none.
        texts: The figures beside its name, under the headings.
        style: A class or token of `style`.
        title: What the pointer is told; by default label and figures.
    """

    label: str
    value: float | None
    texts: tuple[str, ...] = ()
    style: str = PRIMARY
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Points joined by lines.

    Attributes:
        points: x and y in the units of the axes, NaN where unknown: the line has a gap there.
        dots: A dot at each point as well.
        is_faint: It is the ground for another line.
    """

    name: str
    points: Sequence[tuple[float, float]]
    style: str = PRIMARY
    dots: bool = False
    is_faint: bool = False


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a scatter chart; `sign` is one of `marks.SIGNS`."""

    x: float
    y: float
    title: str
    style: str = PRIMARY
    sign: str = "●"


@dataclass(frozen=True, slots=True)
class Roofline:
    """A limit in a scatter chart: points joined by lines, with a name at its end."""

    name: str
    points: Sequence[tuple[float, float]]
    style: str = SECONDARY


def spread(values: Sequence[float], title: str, *, from_zero: bool = False) -> Scale:
    """A scale around values, NaN left out.

    Args:
        title: What they are, with their unit.
        from_zero: Begin at zero, where none is below.
    """
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(known), max(known)
    if from_zero and low >= 0:
        return Scale(0.0, high or 1.0, title)
    margin = (high - low) * 0.04 or abs(high) * 0.05 or 1.0
    return Scale(low - margin, high + margin, title)


def bars(
    caption: Caption,
    items: Sequence[Bar],
    headings: Sequence[str] = (),
    unit: str = "",
    rest: str = "",
    *,
    keys: Sequence[Key] = (),
) -> str:
    """Lying bars with names and figures.

    Args:
        headings: Of the figures.
        unit: What the length of a bar means, below the axis.
        rest: What is left out, as the last line.
        keys: What the colours mean.
    """
    out: list[str] = []
    top = legend(keys, caption.room, out)
    count = max((len(item.texts) for item in items), default=0)
    table = [tuple(headings), *(item.texts for item in items)]
    widths = [
        max((width_of(row[place]) for row in table if place < len(row)), default=0.0) + 2 * CHAR
        for place in range(count)
    ]
    room = min(caption.room * _NAMES, caption.room - sum(widths) - _LEAST_BAR)
    labels = apart([item.label for item in items], max(8, int(room / CHAR)))
    names = max(map(width_of, labels), default=0.0)
    starts = list(accumulate(widths, initial=names))
    area = Area(starts[-1] + 2 * CHAR, top + 6.0 + (LINE if headings else 0), 0, _ROW * len(items))
    area = Area(area.x, area.y, caption.room - area.x - 8, area.height)
    for place, heading in enumerate(headings[:count]):
        out.append(words(starts[place + 1], top + 14, heading, anchor="end", style=MUTED))
    scale = _from_zero([item.value for item in items if item.value is not None], unit)
    for fraction, label in scale.ticks(max(2, int(area.width / 90))):
        x = area.across(fraction)
        out.append(line(x, area.y, x, area.y + area.height, "$panel"))
        out.append(words(x, area.y + area.height + 15, label, anchor="middle", style=MUTED))
    for row, (item, label) in enumerate(zip(items, labels, strict=True)):
        _bar(item, label, area, starts, area.y + _ROW * row, scale, out)
    foot = area.y + area.height + 20
    if unit:
        out.append(words(caption.room - 8, foot + 12, unit, anchor="end", style=MUTED))
    if rest:
        out.append(words(0, foot + 12, cut(rest, caption.room * 0.7), style=MUTED, title=rest))
    return picture(caption, out, foot + (LINE if unit or rest else 0) + 2)


def _from_zero(values: Sequence[float], title: str) -> Scale:
    low, high = min([0.0, *values]), max([0.0, *values])
    return Scale(low, high if high > low else low + 1.0, title)


def _bar(
    item: Bar, label: str, area: Area, starts: Sequence[float], top: float, scale: Scale, out: list[str]
) -> None:
    title = item.title if item.title is not None else "  ".join((item.label, *item.texts))
    out.append(words(0, top + 14, label, title=item.label if label != item.label else None))
    for place, text in enumerate(item.texts):
        out.append(words(starts[place + 1], top + 14, text, anchor="end"))
    if item.value is None:
        out.append(words(area.x + 4, top + 14, MISSING, style=MUTED))
        return
    zero, end = sorted((area.across(scale.fraction(0.0)), area.across(scale.fraction(item.value))))
    width = max(end - zero, 1.0 if item.value else 0.0)
    out.append(box(zero, top + (_ROW - _BAR) / 2, width, _BAR, item.style, title))


def stacked(caption: Caption, items: Sequence[Bar]) -> str:
    """One bar out of shares, and what they are below it. Values that are unknown or not above zero have no share."""
    out: list[str] = []
    known = [item for item in items if item.value is not None and item.value > 0]
    total = math.fsum(item.value or 0.0 for item in known)
    done = 0.0
    for item in known:
        start, done = done, done + (item.value or 0.0)
        x, end = (caption.room * place / total for place in (start, done))
        title = "  ".join((item.label, *item.texts))
        out.append(box(x, 2, max(0.5, end - x - (end - x > 3)), 22, item.style, title))
    keys = [Key("■", item.style, "  ".join((item.label, *item.texts))) for item in items]
    return picture(caption, out, 32 + legend(keys, caption.room, out, 30))


def histogram(
    caption: Caption,
    values: Sequence[float] | Histogram,
    x_title: str,
    marks: Mapping[str, float] | None = None,
    y_title: str = "queries",
) -> str:
    """How many values lie where.

    Args:
        values: In any order, or counted already.
        x_title: What they are, with their unit.
        marks: Name -> value, such as the median: broken lines.
    """
    found = values if isinstance(values, Histogram) else histogram_of(values)
    out: list[str] = []
    x = Scale(found.low, found.high, x_title)
    top = max(*found.counts, found.below, found.above, 1)
    y = Scale(0.0, top * 1.02, y_title, words=lambda value: f"{value:.0f}")
    named = [Mark(value, name) for name, value in (marks or {}).items()]
    area, height, draw_marks = framed(caption, (x, x, y), x_title, (), named, out)
    step = area.width / len(found.counts)
    for place, count in enumerate(found.counts):
        if count:
            start = found.low + place * found.width
            title = f"{start:.5g} to {start + found.width:.5g}: {count}"
            tall = max(1.0, area.height * count / y.high)
            out.append(
                box(
                    area.x + place * step,
                    area.y + area.height - tall,
                    step - (step > 3),
                    tall,
                    PRIMARY,
                    title,
                )
            )
    for count, edge, side in ((found.below, 0.0, "below"), (found.above, 1.0, "above")):
        if count:
            end = area.across(edge) + (6 if edge == 0 else -6)
            out.append(sign("▲", end, area.y + area.height - 6, WARNING, f"{count} {side} the plot"))
    draw_marks()
    return picture(caption, out, height)


def lines(
    caption: Caption,
    series: Sequence[Series],
    x: Scale | str,
    y: Scale | str,
    *,
    x_ticks: Sequence[Tick] | None = None,
    marks: Sequence[Mark] = (),
    has_legend: bool = True,
) -> str:
    """Values over others as lines.

    Args:
        x, y: The scales; a title with the unit spreads one around the values.
        x_ticks: Instead of round values.
    """
    across = x if isinstance(x, Scale) else spread([one for each in series for one, _ in each.points], x)
    upwards = y if isinstance(y, Scale) else spread([one for each in series for _, one in each.points], y)
    out: list[str] = []
    keys = [Key("━", one.style, one.name) for one in series] if has_legend and len(series) > 1 else []
    scales = (across, x_ticks or across, upwards)
    area, height, draw_marks = framed(caption, scales, across.title, keys, marks, out)
    for one in series:
        for run in _runs(one.points):
            places = [(area.across(across.fraction(px)), area.up(upwards.fraction(py))) for px, py in run]
            out.append(path(places, one.style, title=one.name, opacity=_FAINT if one.is_faint else None))
            if one.dots or len(places) == 1:
                out += [
                    sign("●", *place, one.style, f"{one.name}: {py:.6g}")
                    for place, (_, py) in zip(places, run, strict=True)
                ]
        out += _beyond(one.points, area, across, upwards)
    draw_marks()
    return picture(caption, out, height)


def _beyond(points: Sequence[tuple[float, float]], area: Area, x: Scale, y: Scale) -> list[str]:
    """A sign at the edge for what is beyond it, the farthest where several share a place."""
    farthest: dict[tuple[int, str], tuple[float, float, float]] = {}
    for px, py in points:
        fraction = y.fraction(py)
        if fraction > 1 or fraction < 0:
            spot = (round(area.across(x.fraction(px)) / 8), "▲" if fraction > 1 else "▼")
            found = (abs(fraction - 0.5), px, py)
            farthest[spot] = max(found, farthest.get(spot, found))
    return [
        sign(mark, area.across(x.fraction(px)), area.up(y.fraction(py)), WARNING, f"{py:.6g}")
        for (_, mark), (_, px, py) in farthest.items()
    ]


def _runs(points: Sequence[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """The parts of a line between its gaps."""
    runs: list[list[tuple[float, float]]] = [[]]
    for point in points:
        if all(map(math.isfinite, point)):
            runs[-1].append(point)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def columns(
    caption: Caption,
    items: Sequence[Bar],
    y: Scale,
    x_ticks: Sequence[Tick],
    x_title: str,
    *,
    keys: Sequence[Key] = (),
    curves: Sequence[Series] = (),
    marks: Sequence[Mark] = (),
) -> str:
    """Upright bars beside each other; where several share a pixel, the largest of them.

    Args:
        x_ticks: Places from 0 to 1, and labels.
        curves: Over them, with x from 0 to 1.
    """
    out: list[str] = []
    scales = (Scale(0.0, 1.0, ""), x_ticks, y)
    area, height, draw_marks = framed(caption, scales, x_title, keys, marks, out)
    count = len(items)
    values = [item.value or 0.0 for item in items]
    shown = largest_of_columns(values, int(area.width)) if count else []
    step = area.width / max(1, len(shown))
    out.append('<g shape-rendering="crispEdges">')
    for place, chosen in enumerate(shown):
        item = items[chosen]
        if item.value:
            tall = max(0.75, area.height * min(1.0, y.fraction(item.value)))
            title = item.title if item.title is not None else "  ".join((item.label, *item.texts))
            gap = min(3.0, step * 0.2) if step > 2 else 0.0
            out.append(
                box(area.x + place * step, area.y + area.height - tall, step - gap, tall, item.style, title)
            )
    out.append("</g>")
    for curve in curves:
        places = [(area.across(px), area.up(y.fraction(py))) for px, py in _thinned(curve.points, area.width)]
        out.append(path(places, curve.style, title=curve.name))
    draw_marks()
    return picture(caption, out, height)


def _thinned(points: Sequence[tuple[float, float]], width: float) -> Sequence[tuple[float, float]]:
    """Not more points than pixels, the last among them."""
    starts = column_starts(len(points), int(width))
    return [points[start] for start in starts[:-1]] + [points[-1]] if points else points


def scatter(
    caption: Caption,
    dots: Sequence[Dot],
    x: Scale,
    y: Scale,
    *,
    keys: Sequence[Key] = (),
    roofs: Sequence[Roofline] = (),
    marks: Sequence[Mark] = (),
) -> str:
    """Points, the last on top; of those on the same spot only the last is drawn.

    Args:
        x, y: The scales, which may be logarithmic (`charts.axes.log_scale`).
        roofs: Limits, each a line with its name.
    """
    out: list[str] = []
    asides = [Aside(roof.points[-1][1], roof.name, roof.style) for roof in roofs]
    area, height, draw_marks = framed(caption, (x, x, y), x.title, keys, marks, out, asides, PLOT_HEIGHT + 60)
    for roof in roofs:
        places = [(area.across(x.fraction(px)), area.up(y.fraction(py))) for px, py in roof.points]
        out.append(path(places, roof.style, title=roof.name))
    spots: dict[tuple[int, int, str], tuple[float, float, Dot]] = {}
    for dot in dots:
        px, py = area.across(x.fraction(dot.x)), area.up(y.fraction(dot.y))
        spot = (round(px), round(py), dot.sign)
        spots.pop(spot, None)
        spots[spot] = (px, py, dot)
    out += [sign(dot.sign, px, py, dot.style, dot.title) for px, py, dot in spots.values()]
    draw_marks()
    return picture(caption, out, height)


_ROW_BLOCKS = 34.0
_LEAST_WITH_NAME = 4 * CHAR


def icicle(caption: Caption, data: Blocks) -> str:
    """Draw the blocks, whose cells are pixels."""
    out: list[str] = []
    keys = [Key(span.text.strip()[0], span.style, span.text.strip()[1:].strip()) for span in data.legend]
    top = legend(keys, caption.room, out)
    scale = caption.room / max(1, data.root.width)
    blocks: list[str] = []
    rows: dict[int, list[str]] = {}
    for block in _all(data.root):
        rows.setdefault(block.depth, []).append(printable(block.label))
    _draw(data, data.root, scale, rows, blocks)
    out.append(tag("g", "".join(blocks), transform=f"translate(0 {number(top)})"))
    return picture(caption, out, top + _ROW_BLOCKS * data.levels + 4)


def _all(block: Block) -> Iterator[Block]:
    yield block
    for one in block.inside:
        yield from _all(one)


def _name(label: str, room: float, row: Sequence[str]) -> str:
    """A name in its block: head and tail, else the head alone; nothing where another of its row could be meant as well.

    >>> _name("16/conv", 3 * CHAR, ["16/conv", "15/conv"]), _name("16/conv", 2 * CHAR, ["16/conv", "15/conv"])
    ('16…', '')
    """
    whole = printable(label)
    middle = cut(whole, room)
    if middle == whole:
        return whole
    others = [one for one in row if one != whole]
    head = whole[: len(middle) - 1] + ELLIPSIS
    return next((text for text in (middle, head) if not any(_fits(text, one) for one in others)), "")


def _fits(text: str, name: str) -> bool:
    """Whether a cut text may stand for a name."""
    head, _, tail = text.partition(ELLIPSIS)
    return len(name) > len(head) + len(tail) and name.startswith(head) and name.endswith(tail)


def _draw(data: Blocks, block: Block, scale: float, rows: dict[int, list[str]], out: list[str]) -> None:
    x, y, width = block.start * scale, block.depth * _ROW_BLOCKS, block.width * scale
    size = " ".join(data.size_words(block).split())
    look, colour = classes_and_colour(data.style(block))
    out.append(
        tag(
            "rect",
            titled(f"{block.label}  {size}"),
            class_=look,
            color=colour,
            x=x + 0.5,
            y=y + 1,
            width=max(0.5, width - 1.5),
            height=_ROW_BLOCKS - 2,
            fill_opacity=0.28,
        )
    )
    if width >= _LEAST_WITH_NAME:
        out.append(line(x + 1, y + 1, x + 1, y + _ROW_BLOCKS - 1, data.style(block)))
        if name := _name(block.label, width - 8, rows[block.depth]):
            out.append(words(x + 5, y + 14, name))
        if width_of(size) <= width - 8:
            out.append(words(x + 5, y + 28, size, style="$muted"))
    for one in block.inside:
        _draw(data, one, scale, rows, out)
