"""The surroundings of a plot: the picture with its title and sentences, the legend, axes, and labels of lines.

Inside a plot no position is always free of points and lines. So labels are outside: those of upright lines in a band above,
those of levels and roofs beside the plot. In the band an upright line begins in the row of its own label, and rows are chosen
so that no line crosses the label of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.charts.figure import MUTED, Key, Mark, Scale, Tick
from trex_tui.old.report.charts.grid import wrap_text
from trex_tui.old.report.charts.svg_elements import (
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
    measure_width,
    number,
    own_stylesheet,
    sign,
    tag,
    words,
)
from trex_tui.old.report.colours import LIGHT
from trex_tui.old.text import printable

WIDTH = 760
PLOT_HEIGHT = 260
_MARGIN = 14
_X_TICK_GAP = 84
_Y_TICK_GAP = 34
_BESIDE = 4.0
"""Distance between a line and its label."""
_CLEAR = 3.0
"""Distance between a label and the line of another."""
_ASIDE_COLUMNS = 18
"""Characters of a line of text beside a plot: `ridge 97.6 FLOP/B` fits, and the plot keeps its width."""
_ASIDE_LINE = 13.0
"""Height of such a line."""
_LEADER = 14.0
"""Length of the line that joins a label beside the plot to what it names."""
_DASHES = "4 4"


@dataclass(frozen=True, slots=True)
class Caption:
    """Text of a picture beside its plot.

    Attributes:
        title: A few words.
        words: Sentences: content, and the numbers behind it.
        missing: Sentences about omitted data, with the reason.
        width: Width of the picture, in its own units, which are pixels unless it is scaled.
        standalone: It is a separate file: with background, title, sentences and style.
    """

    title: str
    words: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    width: int = WIDTH
    standalone: bool = False

    @property
    def room(self) -> float:
        """Width of the plot with its axes: a standalone picture has a margin."""
        return float(self.width - (2 * _MARGIN if self.standalone else 0))


@dataclass(frozen=True, slots=True)
class Area:
    """Position of a plot between its axes; `x` and `y` are its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x of its right edge."""
        return self.x + self.width

    @property
    def foot(self) -> float:
        """The y of its lower edge."""
        return self.y + self.height

    def across(self, fraction: float) -> float:
        """Return the position of a fraction from the left; the edge for values out of range."""
        return self.x + self.width * min(1.0, max(0.0, fraction))

    def up(self, fraction: float) -> float:
        """Return the position of a fraction from below; the edge for values out of range."""
        return self.y + self.height * (1.0 - min(1.0, max(0.0, fraction)))


def picture_around(caption: Caption, body: Sequence[str], height: float) -> str:
    """Return the whole picture around the content, which is `caption.room` by `height`."""
    content = "".join(body)
    around = [tag("title", escaped(caption.title))]
    if sentences := " ".join((*caption.words, *caption.missing)):
        around.append(tag("desc", escaped(sentences)))
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
        for part in wrap_text(printable(text), int(caption.room / CHAR))
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
    """Draw entries side by side, in as many lines as necessary, and return their height."""
    x, row = 0.0, 0
    for key in keys:
        width = 16 + measure_width(key.text) + 14
        if x and x + width > room:
            x, row = 0.0, row + 1
        base = top + LINE * row + 12
        if key.sign in SIGNS:
            out.append(sign(key.sign, x + 6, base - 4, key.style))
            x += 16
        out.append(words(x, base, cut(key.text, room - x)))
        x += width - 16
    return LINE * (row + 1) + 4.0 if keys else 0.0


@dataclass(frozen=True, slots=True)
class FlagLabel:
    """The label of an upright line in the band above a plot.

    Attributes:
        x: Position of the line; None for a value out of range, which has no line.
        start, end: Horizontal extent of the label.
        row: Row of the band, from above.
    """

    label: str
    style: str
    x: float | None
    start: float
    end: float
    row: int = 0

    def is_over(self, other: FlagLabel) -> bool:
        """Return whether the label overlaps the line of another, which therefore begins below it."""
        return self is not other and other.x is not None and self.start - _CLEAR < other.x < self.end + _CLEAR


def _place_flags(marks: Sequence[Mark], x: Scale, left: float, right: float) -> tuple[list[FlagLabel], float]:
    """Place the labels of upright lines, each in a row in which no line crosses and no label covers it.

    A label is right of its line; left of it if there is no room, and then those of lines that it would overlap are, too. If
    two overlap the lines of each other nevertheless, all are right of their lines, and the plot becomes narrower: then every
    line can begin below the labels that overlap it.

    Returns:
        The labels, and the reduction of the plot's width.
    """
    flags = _arrange_flags(_side_flags(marks, x, left, right))
    if flags is not None:
        return flags, 0.0
    aside = max(measure_width(mark.label) for mark in marks) + _BESIDE
    return _arrange_flags(_side_flags(marks, x, left, right - aside, room=aside)) or [], aside


def _side_flags(
    marks: Sequence[Mark], x: Scale, left: float, right: float, room: float = 0.0
) -> list[FlagLabel]:
    """Place each label at a side of its line; `room` is free right of the plot."""
    flags: list[FlagLabel] = []
    reach = float("inf")
    for mark in sorted(marks, key=lambda mark: -mark.at):
        if not x.low <= mark.at <= x.high:
            is_above = mark.at > x.high
            label = f"{mark.label} ▸" if is_above else f"◂ {mark.label}"
            start = max(0.0, right - measure_width(label)) if is_above else left + _BESIDE
            flags.append(FlagLabel(label, mark.style, None, start, start + measure_width(label)))
            continue
        width, at = measure_width(mark.label), left + (right - left) * x.fraction(mark.at)
        start = at + _BESIDE
        fits_left = at - _BESIDE - width >= 0
        if fits_left and (start + width > right + room or at >= reach - _CLEAR):
            start = at - _BESIDE - width
            reach = min(reach, start)
        flags.append(FlagLabel(mark.label, mark.style, at, start, start + width))
    return flags[::-1]


def _arrange_flags(flags: Sequence[FlagLabel]) -> list[FlagLabel] | None:
    """Arrange the labels in rows; None if some overlap the lines of each other."""
    left, placed = list(flags), list[FlagLabel]()
    while left:
        flag = next((flag for flag in left if not any(other.is_over(flag) for other in left)), None)
        if flag is None:
            return None
        left.remove(flag)
        row = max((other.row + 1 for other in placed if other.is_over(flag)), default=0)
        taken = {
            other.row for other in placed if other.start < flag.end + CHAR and flag.start < other.end + CHAR
        }
        while row in taken:
            row += 1
        placed.append(replace(flag, row=row))
    return placed


@dataclass(frozen=True, slots=True)
class Aside:
    """A label beside a plot, at the height of the value of y that it names."""

    at: float
    label: str
    style: str

    @property
    def lines(self) -> list[str]:
        """Return the label in narrow lines."""
        return wrap_text(self.label, _ASIDE_COLUMNS)

    @property
    def height(self) -> float:
        """Height of the label."""
        return _ASIDE_LINE * len(self.lines) + _BESIDE


class Plot:
    """Axes with ticks, titles, grid and legend, with room around them for the labels of marks.

    Attributes:
        area: The area between the axes.
        out: The elements drawn so far.
    """

    def __init__(
        self,
        caption: Caption,
        x: Scale,
        y: Scale,
        *,
        ticks: Sequence[Tick] | None = None,
        keys: Sequence[Key] = (),
        marks: Sequence[Mark] = (),
        asides: Sequence[Aside] = (),
        height: float = PLOT_HEIGHT,
    ) -> None:
        """Draw the axes.

        Args:
            ticks: Ticks of x that replace round values.
            asides: Labels beside the plot, in addition to those of marks.
            height: Minimum height between the axes.
        """
        self.out: list[str] = []
        self._caption, self._x, self._y = caption, x, y
        self._levels = [mark for mark in marks if mark.is_level]
        self._asides = [*asides, *(Aside(mark.at, mark.label, mark.style) for mark in self._levels)]
        height = max(height, sum(aside.height for aside in self._asides))
        y_ticks = y.ticks(max(2, int(height / _Y_TICK_GAP)))
        left = max((measure_width(label) for _, label in y_ticks), default=0.0) + 10
        texts = [measure_width(text) for aside in self._asides for text in aside.lines]
        right = caption.room - 6 - (max(texts) + _LEADER + _BESIDE if texts else 0.0)
        uprights = [mark for mark in marks if not mark.is_level]
        self._flags, narrower = _place_flags(uprights, x, left, right)
        self._band = LINE * (1 + max((flag.row for flag in self._flags), default=-1))
        top = legend(keys, caption.room, self.out)
        self.area = Area(left, top + 22 + self._band, right - narrower - left, height)
        self.out.append(words(0, top + 12, y.title, style=MUTED))
        self._draw_axes(y_ticks, ticks)

    def _draw_axes(self, y_ticks: Sequence[Tick], x_ticks: Sequence[Tick] | None) -> None:
        area, out = self.area, self.out
        for fraction, label in y_ticks:
            at = area.up(fraction)
            out.append(words(area.x - 6, at + 4, label, anchor="end", style=MUTED))
            out.append(line(area.x, at, area.right, at, "$panel" if fraction > 0 else MUTED))
        out.append(line(area.x, area.y, area.x, area.foot))
        out.append(line(area.x, area.foot, area.right, area.foot))
        free = 0.0
        for fraction, label in x_ticks or self._x.ticks(max(2, int(area.width / _X_TICK_GAP))):
            at, half = area.across(fraction), measure_width(label) / 2
            middle = min(at, area.right - half)
            if middle - half < free:
                continue
            out.append(line(at, area.foot, at, area.foot + 4))
            out.append(words(middle, area.foot + 17, label, anchor="middle", style=MUTED))
            free = middle + half + 2 * CHAR
        out.append(words(area.right, area.foot + 34, self._x.title, anchor="end", style=MUTED))

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the position of a point of two values; at the edge if out of range."""
        return self.area.across(self._x.fraction(x)), self.area.up(self._y.fraction(y))

    def draw_upright(self, left: float, width: float, tall: float, style: str, title: str) -> None:
        """Draw an upright bar on the horizontal axis, at `left` from the vertical one."""
        self.out.append(box(self.area.x + left, self.area.foot - tall, width, tall, style, title))

    def picture(self) -> str:
        """Return the whole picture, with the marks on top."""
        area, out = self.area, self.out
        for mark in self._levels:
            at = area.up(self._y.fraction(mark.at))
            out.append(line(area.x, at, area.right, at, mark.style, _DASHES))
        for flag in self._flags:
            top = area.y - self._band + LINE * flag.row
            if flag.x is not None:
                out.append(line(flag.x, top + 2, flag.x, area.foot, flag.style, _DASHES))
            out.append(words(flag.start, top + 12, flag.label, style=flag.style))
        self._draw_asides()
        return picture_around(self._caption, out, area.foot + 42)

    def _draw_asides(self) -> None:
        """Write labels beside the plot, each as near to its line as the others allow, and connected to it."""
        area, edge = self.area, self.area.right
        asides = sorted(self._asides, key=lambda aside: -aside.at)
        free, tops = area.y - _ASIDE_LINE / 2, list[float]()
        for aside in asides:
            tops.append(max(area.up(self._y.fraction(aside.at)) - aside.height / 2, free))
            free = tops[-1] + aside.height
        limit = area.foot + _ASIDE_LINE / 2
        for index in reversed(range(len(tops))):
            limit = tops[index] = min(tops[index], limit - asides[index].height)
        for aside, top in zip(asides, tops, strict=True):
            at, middle = area.up(self._y.fraction(aside.at)), top + aside.height / 2
            self.out.append(line(edge, at, edge + _LEADER - 3, middle, aside.style))
            for row, text in enumerate(aside.lines):
                self.out.append(words(edge + _LEADER, top + _ASIDE_LINE * row + 12, text, style=aside.style))
