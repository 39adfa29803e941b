"""What is around a plot: the picture with its title and sentences, axes with ticks and units, the legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trex_tui.charts.axes import Scale, Tick
from trex_tui.colours import LIGHT
from trex_tui.svg.marks import (
    CHAR,
    FONT,
    FONT_SIZE,
    LINE,
    MUTED,
    SIGNS,
    box,
    cut,
    escaped,
    line,
    number,
    sign,
    tag,
    width_of,
    words,
    wrapped,
)
from trex_tui.svg.style import ROOT, own_stylesheet

WIDTH = 760
PLOT_HEIGHT = 260
_MARGIN = 14
_X_TICK_GAP = 84
_Y_TICK_GAP = 34


@dataclass(frozen=True, slots=True)
class Caption:
    """What a picture says beside its plot.

    Attributes:
        title: A few words.
        words: Sentences: what it shows, and the numbers behind.
        missing: Sentences on what it does not show, and why.
        width: Of the picture, in its own units, which are pixels where nothing scales it.
        standalone: It is a file of its own: with background, title, sentences and style.
    """

    title: str
    words: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    width: int = WIDTH
    standalone: bool = False

    @property
    def room(self) -> float:
        """How wide the plot with its axes is: alone, a picture has a margin."""
        return float(self.width - (2 * _MARGIN if self.standalone else 0))


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a legend: a sign of `marks.SIGNS`, its style, and what it means."""

    sign: str
    style: str
    text: str


@dataclass(frozen=True, slots=True)
class Area:
    """Where a plot lies between its axes; `x` and `y` are of its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    def across(self, fraction: float) -> float:
        """The place of a fraction from the left; what is beyond stands at the edge."""
        return self.x + self.width * min(1.0, max(0.0, fraction))

    def up(self, fraction: float) -> float:
        """The place of a fraction from below; what is beyond stands at the edge."""
        return self.y + self.height * (1.0 - min(1.0, max(0.0, fraction)))


def picture(caption: Caption, body: Sequence[str], height: float) -> str:
    """The whole, around what is drawn in `caption.room` by `height`."""
    content = "".join(body)
    around = [tag("title", escaped(caption.title))]
    told = " ".join((*caption.words, *caption.missing))
    if told:
        around.append(tag("desc", escaped(told)))
    if caption.standalone:
        content, height = _alone(caption, content, height)
        around.append(tag("style", own_stylesheet()))
    return tag(
        "svg",
        "\n".join([*around, content, ""]),
        xmlns="http://www.w3.org/2000/svg",
        class_=ROOT,
        role="img",
        viewBox=f"0 0 {caption.width} {number(height)}",
        width=float(caption.width),
        height=height,
        color=LIGHT["foreground"] if caption.standalone else None,
        fill="currentColor",
        font_family=FONT,
        font_size=float(FONT_SIZE),
    )


def _alone(caption: Caption, content: str, height: float) -> tuple[str, float]:
    top = 44.0
    sentences = [(text, None) for text in caption.words] + [(text, "$warning") for text in caption.missing]
    lines = [(part, style) for text, style in sentences for part in wrapped(text, caption.room)]
    below = top + height + 10
    whole = below + LINE * len(lines) + _MARGIN
    shown = [
        words(_MARGIN, below + LINE * (row + 0.8), text, style=style)
        for row, (text, style) in enumerate(lines)
    ]
    title = tag(
        "text",
        escaped(cut(caption.title, caption.room * 0.8)),
        x=float(_MARGIN),
        y=26.0,
        font_size=15.0,
        font_weight="bold",
    )
    ground = box(0, 0, caption.width, whole, "$background")
    plot = tag("g", content, transform=f"translate({_MARGIN} {number(top)})")
    return "\n".join([ground, title, plot, *shown]), whole


def legend(keys: Sequence[Key], room: float, out: list[str], top: float = 0.0) -> float:
    """Draw entries beside each other, in as many lines as it takes, and return how high that is."""
    x, row = 0.0, 0
    for key in keys:
        width = 16 + width_of(key.text) + 14
        if x and x + width > room:
            x, row = 0.0, row + 1
        base = top + LINE * row + 12
        if key.sign in SIGNS:
            out.append(sign(key.sign, x + 6, base - 4, key.style))
            x += 16
        out.append(words(x, base, cut(key.text, room - x)))
        x += width - 16
    return LINE * (row + 1) + 4.0 if keys else 0.0


def axes(
    caption: Caption,
    x: Scale | Sequence[Tick],
    x_title: str,
    y: Scale,
    keys: Sequence[Key],
    out: list[str],
    height: float = PLOT_HEIGHT,
    above: float = 0.0,
    aside: float = 0.0,
) -> tuple[Area, float]:
    """Draw axes with ticks, titles and grid, and return what is between them, and how high all of it is.

    Args:
        x: A scale, or ticks that are chosen already.
        height: Between the axes.
        above, aside: Room that is left free between the title of the vertical axis and the plot, and right of it.
    """
    top = legend(keys, caption.room, out)
    out.append(words(0, top + 12, y.title, style=MUTED))
    left, right = plot_sides(caption, y, height, aside)
    area = Area(left, top + 22 + above, right - left, height)
    gutter, ticks = left, _y_ticks(y, height)
    for fraction, label in ticks:
        place = area.up(fraction)
        out.append(words(gutter - 6, place + 4, label, anchor="end", style=MUTED))
        out.append(line(area.x, place, area.x + area.width, place, "$panel" if fraction > 0 else MUTED))
    foot = area.y + area.height
    out.append(line(area.x, area.y, area.x, foot))
    out.append(line(area.x, foot, area.x + area.width, foot))
    _x_ticks(x, area, out)
    out.append(words(area.x + area.width, foot + 34, x_title, anchor="end", style=MUTED))
    return area, foot + 42


def plot_sides(
    caption: Caption, y: Scale, height: float = PLOT_HEIGHT, aside: float = 0.0
) -> tuple[float, float]:
    """From where to where a plot reaches: the labels of its vertical axis are left of it, `aside` is free right of it."""
    gutter = max((width_of(label) for _, label in _y_ticks(y, height)), default=0.0) + 10
    return gutter, caption.room - 6 - aside


def _y_ticks(y: Scale, height: float) -> list[Tick]:
    return y.ticks(max(2, int(height / _Y_TICK_GAP)))


def _x_ticks(x: Scale | Sequence[Tick], area: Area, out: list[str]) -> None:
    """Labels below the axis as far as they fit beside each other, each with its tick."""
    ticks = x.ticks(max(2, int(area.width / _X_TICK_GAP))) if isinstance(x, Scale) else x
    free, foot = 0.0, area.y + area.height
    for fraction, label in ticks:
        place, half = area.across(fraction), width_of(label) / 2
        middle = min(place, area.x + area.width - half)
        if middle - half < free:
            continue
        out.append(line(place, foot, place, foot + 4))
        out.append(words(middle, foot + 17, label, anchor="middle", style=MUTED))
        free = middle + half + 2 * CHAR
