"""Labels of lines in a plot, outside of it: those of upright lines in a band above, those of levels and roofs beside it.

Inside a plot there are points and lines wherever the numbers put them, and no place that is always free. In the band an
upright line begins in the row of its own label, and rows are chosen so that no line runs through the label of another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trex_tui.charts.axes import Scale, Tick
from trex_tui.charts.figure import wrapped
from trex_tui.svg.frame import PLOT_HEIGHT, Area, Caption, Key, axes, plot_sides
from trex_tui.svg.marks import CHAR, LINE, line, width_of, words

ACCENT = "$accent"
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
class Mark:
    """A broken line across the plot at a value, with a label.

    Attributes:
        level: At a value of y; else of x.
    """

    at: float
    label: str
    style: str = ACCENT
    level: bool = False


@dataclass(frozen=True, slots=True)
class Flag:
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


def flags(marks: Sequence[Mark], x: Scale, left: float, right: float) -> tuple[list[Flag], float]:
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
    aside = max(width_of(mark.label) for mark in marks if not mark.level) + _BESIDE
    return _in_rows(_sided(marks, x, left, right - aside, room=aside)) or [], aside


def _sided(marks: Sequence[Mark], x: Scale, left: float, right: float, room: float = 0.0) -> list[Flag]:
    """Each label at a side of its line; `room` is free right of the plot."""
    found: list[Flag] = []
    reach = float("inf")
    for mark in sorted((one for one in marks if not one.level), key=lambda one: -one.at):
        width = width_of(mark.label)
        if not x.low <= mark.at <= x.high:
            label = f"{mark.label} ▸" if mark.at > x.high else f"◂ {mark.label}"
            width = width_of(label)
            start = max(0.0, right - width) if mark.at > x.high else left + _BESIDE
            found.append(Flag(mark, label, None, start, start + width))
            continue
        place = left + (right - left) * x.fraction(mark.at)
        start = place + _BESIDE
        fits_left = place - _BESIDE - width >= 0
        if fits_left and (start + width > right + room or place >= reach - _CLEAR):
            start = place - _BESIDE - width
            reach = min(reach, start)
        found.append(Flag(mark, mark.label, place, start, start + width))
    return found[::-1]


def _is_over(upper: Flag, lower: Flag) -> bool:
    """Whether a label reaches over the line of another, which therefore begins below it."""
    place = lower.place
    return place is not None and upper is not lower and upper.start - _CLEAR < place < upper.end + _CLEAR


def _in_rows(found: Sequence[Flag]) -> list[Flag] | None:
    """The same in rows; None where some reach over the lines of each other."""
    left = list(found)
    placed: list[Flag] = []
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
        placed.append(Flag(chosen.mark, chosen.label, chosen.place, chosen.start, chosen.end, row))
        left = [one for one in left if one is not chosen]
    return placed


def band_height(found: Sequence[Flag]) -> float:
    """How high the band for some labels is."""
    return LINE * (1 + max((one.row for one in found), default=-1))


def draw_flags(found: Sequence[Flag], area: Area, out: list[str]) -> None:
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
    beside = [*asides, *(Aside(mark.at, mark.label, mark.style) for mark in marks if mark.level)]
    height = max(height, aside_height(beside))
    aside = aside_width(beside)
    left, right = plot_sides(caption, y, height, aside)
    found, narrower = flags(marks, x, left, right)
    aside += narrower
    area, whole = axes(caption, x_ticks, x_title, y, keys, out, height, band_height(found), aside)

    def draw() -> None:
        for mark in marks:
            if mark.level:
                place = area.up(y.fraction(mark.at))
                out.append(line(area.x, place, area.x + area.width, place, mark.style, "4 4"))
        draw_flags(found, area, out)
        draw_asides(beside, area, y, out)

    return area, whole, draw
