"""What is around a plot: the picture with its title and sentences, axes with ticks and units, the legend.

Labels of lines in a plot, outside of it: those of upright lines in a band above, those of levels and roofs beside it.

Inside a plot there are points and lines wherever the numbers put them, and no place that is always free. In the band an
upright line begins in the row of its own label, and rows are chosen so that no line runs through the label of another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trex_tui.report.charts.figure import MUTED, Key, Mark, Scale, Tick
from trex_tui.report.charts.grid import wrapped
from trex_tui.report.charts.svg_elements import (
    CHAR,
    FONT,
    FONT_SIZE,
    LINE,
    ROOT,
    SIGNS,
    box,
    cut,
    escaped,
    line,
    number,
    own_stylesheet,
    sign,
    tag,
    width_of,
    words,
)
from trex_tui.report.colours import LIGHT
from trex_tui.text import printable

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


def picture_around(caption: Caption, body: Sequence[str], height: float) -> str:
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
    lines = [
        (part, style)
        for text, style in sentences
        for part in wrapped(printable(text), int(caption.room / CHAR))
    ]
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


_BESIDE = 4.0
"""Between a line and its label."""
_CLEAR = 3.0
"""Between a label and the line of another."""
_COLUMNS = 18
"""Characters of a line of text beside a plot: `ridge 97.6 FLOP/B` fits, and the plot keeps its width."""
_TIGHT = 13.0
"""Height of such a line."""
_LEADER = 14.0


@dataclass(frozen=True, slots=True)
class Pennant:
    """The label of an upright line in the band.

    Attributes:
        place: The x of the line; None for a value beyond the plot, which has none.
        start, end: From where to where the label reaches.
        row: Of the band, from above.
    """

    mark: Mark
    label: str
    place: float | None
    start: float
    end: float
    row: int = 0


def flags(marks: Sequence[Mark], x: Scale, left: float, right: float) -> tuple[list[Pennant], float]:
    """The labels of upright lines, each in a row in which it is neither crossed by a line nor covered by a label.

    A label stands right of its line; left of it where there is no room, and then those of lines that it would reach over do
    as well. Where two reach over the lines of each other nevertheless, all stand right of their lines, and the plot gives up
    some of its width: then every line can begin below the labels that reach over it.

    Args:
        left, right: Of the plot.

    Returns:
        The labels, and how much narrower the plot is to be.
    """
    found = _in_rows(_sided(marks, x, left, right))
    if found is not None:
        return found, 0.0
    aside = max(width_of(mark.label) for mark in marks if not mark.is_level) + _BESIDE
    return _in_rows(_sided(marks, x, left, right - aside, room=aside)) or [], aside


def _sided(marks: Sequence[Mark], x: Scale, left: float, right: float, room: float = 0.0) -> list[Pennant]:
    """Each label at a side of its line; `room` is free right of the plot."""
    found: list[Pennant] = []
    reach = float("inf")
    for mark in sorted((one for one in marks if not one.is_level), key=lambda one: -one.at):
        width = width_of(mark.label)
        if not x.low <= mark.at <= x.high:
            label = f"{mark.label} ▸" if mark.at > x.high else f"◂ {mark.label}"
            width = width_of(label)
            start = max(0.0, right - width) if mark.at > x.high else left + _BESIDE
            found.append(Pennant(mark, label, None, start, start + width))
            continue
        place = left + (right - left) * x.fraction(mark.at)
        start = place + _BESIDE
        fits_left = place - _BESIDE - width >= 0
        if fits_left and (start + width > right + room or place >= reach - _CLEAR):
            start = place - _BESIDE - width
            reach = min(reach, start)
        found.append(Pennant(mark, mark.label, place, start, start + width))
    return found[::-1]


def _is_over(upper: Pennant, lower: Pennant) -> bool:
    """Whether a label reaches over the line of another, which therefore begins below it."""
    place = lower.place
    return place is not None and upper is not lower and upper.start - _CLEAR < place < upper.end + _CLEAR


def _in_rows(found: Sequence[Pennant]) -> list[Pennant] | None:
    """The same in rows; None where some reach over the lines of each other."""
    left = list(found)
    placed: list[Pennant] = []
    while left:
        ready = (one for one in left if not any(_is_over(other, one) for other in left))
        chosen = next(ready, None)
        if chosen is None:
            return None
        row = max((other.row + 1 for other in placed if _is_over(other, chosen)), default=0)
        taken = {
            other.row
            for other in placed
            if other.start < chosen.end + CHAR and chosen.start < other.end + CHAR
        }
        while row in taken:
            row += 1
        placed.append(Pennant(chosen.mark, chosen.label, chosen.place, chosen.start, chosen.end, row))
        left = [one for one in left if one is not chosen]
    return placed


def band_height(found: Sequence[Pennant]) -> float:
    """How high the band for some labels is."""
    return LINE * (1 + max((one.row for one in found), default=-1))


def draw_flags(found: Sequence[Pennant], area: Area, out: list[str]) -> None:
    """Draw the band, and the lines down through the plot."""
    top = area.y - band_height(found)
    for one in found:
        if one.place is not None:
            start = top + LINE * one.row + 2
            out.append(line(one.place, start, one.place, area.y + area.height, one.mark.style, "4 4"))
        out.append(words(one.start, top + LINE * one.row + 12, one.label, style=one.mark.style))


@dataclass(frozen=True, slots=True)
class Aside:
    """A label beside the plot, at the height of what it names.

    Attributes:
        at: The value of y.
    """

    at: float
    label: str
    style: str

    @property
    def lines(self) -> list[str]:
        """The label in narrow lines."""
        return wrapped(self.label, _COLUMNS)


def aside_width(asides: Sequence[Aside]) -> float:
    """How much room the labels beside a plot take of its width."""
    texts = [text for one in asides for text in one.lines]
    return max(map(width_of, texts)) + _LEADER + _BESIDE if texts else 0.0


def aside_height(asides: Sequence[Aside]) -> float:
    """How high a plot is at least that has room for the labels beside it."""
    return sum(_TIGHT * len(one.lines) + _BESIDE for one in asides)


def draw_asides(asides: Sequence[Aside], area: Area, y: Scale, out: list[str]) -> None:
    """Write labels beside the plot, each as near to its line as the others leave room, and joined to it."""
    ordered = sorted(asides, key=lambda one: -one.at)
    heights = [_TIGHT * len(one.lines) + _BESIDE for one in ordered]
    wanted = [area.up(y.fraction(one.at)) - tall / 2 for one, tall in zip(ordered, heights, strict=True)]
    free, tops = area.y - _TIGHT / 2, []
    for want, tall in zip(wanted, heights, strict=True):
        tops.append(max(want, free))
        free = tops[-1] + tall
    limit = area.y + area.height + _TIGHT / 2
    for place in range(len(tops) - 1, -1, -1):
        tops[place] = min(tops[place], limit - heights[place])
        limit = tops[place]
    edge = area.x + area.width
    for one, top, tall in zip(ordered, tops, heights, strict=True):
        out.append(line(edge, area.up(y.fraction(one.at)), edge + _LEADER - 3, top + tall / 2, one.style))
        for row, text in enumerate(one.lines):
            out.append(words(edge + _LEADER, top + _TIGHT * row + 12, text, style=one.style))


def framed(
    caption: Caption,
    scales: tuple[Scale, Scale | Sequence[Tick], Scale],
    x_title: str,
    keys: Sequence[Key],
    marks: Sequence[Mark],
    out: list[str],
    asides: Sequence[Aside] = (),
    height: float = PLOT_HEIGHT,
) -> tuple[Area, float, Callable[[], None]]:
    """Draw axes with room for the labels of marks around them.

    Args:
        scales: Of x, what its ticks are (the same, or chosen ones), and of y.
        asides: More labels beside the plot.
        height: Between the axes, at least.

    Returns:
        What is between the axes, how high all of it is, and what draws the marks: to be called last, so that they are on top.
    """
    x, x_ticks, y = scales
    beside = [*asides, *(Aside(mark.at, mark.label, mark.style) for mark in marks if mark.is_level)]
    height = max(height, aside_height(beside))
    aside = aside_width(beside)
    left, right = plot_sides(caption, y, height, aside)
    found, narrower = flags(marks, x, left, right)
    aside += narrower
    area, whole = axes(caption, x_ticks, x_title, y, keys, out, height, band_height(found), aside)

    def draw() -> None:
        for mark in marks:
            if mark.is_level:
                place = area.up(y.fraction(mark.at))
                out.append(line(area.x, place, area.x + area.width, place, mark.style, "4 4"))
        draw_flags(found, area, out)
        draw_asides(beside, area, y, out)

    return area, whole, draw
