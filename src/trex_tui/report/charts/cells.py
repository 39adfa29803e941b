"""What the colours and signs of kinds mean. Kinds that look the same share an entry, so that no entry reads as another.

Lines in dots of braille, drawn by plotext. The only module that knows it.

plotext keeps one figure per process and colours with escape sequences. Here it draws nothing but the lines, on a canvas
without axes, under a lock; the number of a series stands in for its colour, and becomes a style again on the way back.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock

from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.report.charts.grid import Part, Span, cells_of, shorten
from trex_tui.report.colours import kind_style

_MUTED = "$muted"
BAR_SIGN = "■"


def kind_entries(
    weights: Mapping[LayerKind, float], style: Callable[[LayerKind], str], sign: Callable[[LayerKind], str]
) -> list[Span]:
    """Every kind of some weight, the heaviest first; those of one sign and one colour together, as `■ gemm, attention`.

    Args:
        weights: What counts for the order, such as milliseconds; kinds of none are left out.
        style: Of an entry, by the first of its kinds.
    """
    looks: dict[tuple[str, str], list[LayerKind]] = {}
    for kind in sorted((kind for kind in weights if weights[kind] > 0), key=lambda kind: -weights[kind]):
        # Bold is no colour: a block looks the same with it.
        looks.setdefault((sign(kind), kind_style(kind).rpartition(" ")[2]), []).append(kind)
    return [
        Span(f"  {mark} {', '.join(kind.value for kind in kinds)}", style(kinds[0]))
        for (mark, _), kinds in looks.items()
    ]


def bar_entries(layers: Iterable[Layer], style: Callable[[LayerKind], str]) -> list[Span]:
    """The kinds of layers that have a time, for a chart of bars in their colours."""
    times: dict[LayerKind, float] = {}
    for layer in layers:
        times[layer.kind] = times.get(layer.kind, 0.0) + (layer.latency_ms or 0.0)
    return kind_entries(times, style, lambda _: BAR_SIGN)


def legend_rows(legend: Sequence[Span], room: int, width: int, most: int) -> list[list[Span]]:
    """Entries in rows; what there is no row for is named at the end without its colour, or counted at least.

    Args:
        room: Cells of the first row.
        width: Cells of the rows below it.
        most: How many rows there may be.
    """
    rows: list[list[Span]] = [[]]
    left = room
    for place, span in enumerate(legend):
        cells = len(cells_of(span.text))
        if cells > left:
            if len(rows) == most:
                return [*rows[:-1], _with_rest(rows[-1], legend[place:], left)]
            rows.append([])
            left = width
        rows[-1].append(span)
        left -= cells
    return rows


def _with_rest(row: Sequence[Span], rest: Sequence[Span], left: int) -> list[Span]:
    """The last row with words for what is left out, which take the place of entries where there is no room beside them."""
    names = [name for span in rest for name in span.text.strip().partition(" ")[2].split(", ")]
    words = f"  also {', '.join(names)}"
    if len(cells_of(words)) <= left:
        return [*row, Span(words, _MUTED)]
    words = f"  +{len(names)} more"
    if row and len(words) > left:
        return _with_rest(row[:-1], [row[-1], *rest], left + len(cells_of(row[-1].text)))
    return [*row, Span(shorten(words, left), _MUTED)]


def put_row(part: Part, y: int, row: Sequence[Span]) -> None:
    """Write entries at the right end of a row."""
    x = part.width - sum(len(cells_of(span.text)) for span in row)
    for span in row:
        part.put(x, y, span.text, span.style)
        x += len(cells_of(span.text))


_UPRIGHT = " ▁▂▃▄▅▆▇█"
_LYING = " ▏▎▍▌▋▊▉█"


def draw_columns(area: Part, heights: Sequence[float], styles: Sequence[str]) -> None:
    """An upright bar in each column, 0 to 1 high; anything above zero shows."""
    for column, (height, style) in enumerate(zip(heights, styles, strict=True)):
        eighths = max(1, round(8 * area.height * min(1.0, height))) if height > 0 else 0
        for row in range(min(area.height, -(-eighths // 8))):
            area.put(column, area.height - 1 - row, _UPRIGHT[min(8, eighths - 8 * row)], style)


def lying_bar(fraction: float, cells: int) -> str:
    """A bar from the left, 0 to 1 long; anything above zero shows."""
    eighths = min(8 * cells, max(1, round(8 * cells * fraction))) if fraction > 0 and cells > 0 else 0
    return "█" * (eighths // 8) + (_LYING[eighths % 8] if eighths % 8 else "")


def column_starts(count: int, width: int) -> list[int]:
    """Where the values of each column begin if `count` values share `width` columns, and where the last ends.

    With fewer values than columns each value has several; then the starts are those of the values.
    """
    return (
        [-(-place * count // width) for place in range(width + 1)]
        if count > width
        else list(range(count + 1))
    )


def column_span(place: int, count: int, width: int) -> tuple[int, int]:
    """The first column of a value and the one after its last: several columns for few values, a shared one for many."""
    start = place * width // count
    return start, max(start + 1, (place + 1) * width // count)


def largest_of_columns(values: Sequence[float], width: int) -> list[int]:
    """The place of the largest value in each of at most `width` runs of neighbours: where several share a column, the one
    that shows."""
    starts = column_starts(len(values), width)
    return [max(range(start, end), key=values.__getitem__) for start, end in pairwise(starts)]


_LOCK = Lock()
_FIRST_COLOUR = 16
_ESCAPES = re.compile(r"\x1b\[([0-9;]*)m")
_BLANKS = " \u2800"


@dataclass(frozen=True, slots=True)
class Curve:
    """Points that are joined by lines.

    Attributes:
        xs, ys: Places in the plot, 0 to 1 from its lower left corner; what is beyond is drawn at the edge.
        style: Of the dots.
    """

    xs: Sequence[float]
    ys: Sequence[float]
    style: str


def draw_curves(area: Part, curves: Sequence[Curve]) -> None:
    """Draw curves into a part of a grid, the last on top. Cells without a dot stay as they are."""
    known = [curve for curve in curves if curve.xs]
    if not known or area.width < 2 or area.height < 2:
        return
    for y, row in enumerate(_built(known, area.width, area.height)):
        x, style = 0, ""
        for position, piece in enumerate(_ESCAPES.split(row)):
            if position % 2:
                style = _style_of(piece, known, style)
                continue
            for char in piece:
                if char not in _BLANKS:
                    area.put(x, y, char, style)
                x += 1


def _style_of(codes: str, curves: Sequence[Curve], style: str) -> str:
    parts = codes.split(";")
    if parts[:2] == ["38", "5"]:
        return curves[int(parts[2]) - _FIRST_COLOUR].style
    return style


def _built(curves: Sequence[Curve], width: int, height: int) -> list[str]:
    import plotext  # type: ignore[import-untyped]  # 47 ms, for those who look at a chart

    with _LOCK:
        plotext.clear_figure()
        plotext.limit_size(False, False)
        plotext.plotsize(width, height)
        plotext.frame(False)
        plotext.xticks([], [])
        plotext.yticks([], [])
        plotext.xlim(0, 1)
        plotext.ylim(0, 1)
        for number, curve in enumerate(curves):
            xs, ys = (_inside(values) for values in (curve.xs, curve.ys))
            plotext.plot(xs, ys, marker="braille", color=_FIRST_COLOUR + number)
        built = str(plotext.build())
        plotext.clear_figure()
    return built.split("\n")[:height]


def _inside(values: Sequence[float]) -> list[float]:
    return [min(1.0, max(0.0, value)) for value in values]


MUTED = "$muted"
_LEAST_ROWS_FOR_UNIT = 12
"""From this height on, the unit of the horizontal axis has a line of its own."""

_LEAST_ROWS = 6
"""Of a plot: before it has fewer, a legend is cut."""

_LEAST_LOG_TICKS = 3
"""With fewer round values in its range, a logarithmic axis has evenly spaced ones."""

Tick = tuple[float, str]
"""Place on the axis, 0 to 1, and label."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values to places.

    Attributes:
        low, high: The values at the ends; `low` is less than `high`.
        title: What it is, with its unit.
        is_log: The logarithm is what is spaced evenly; both ends are above zero.
        words: How a value reads as label; by default with as many digits as the steps need.
    """

    low: float
    high: float
    title: str
    is_log: bool = False
    words: Callable[[float], str] | None = None

    def fraction(self, value: float) -> float:
        """Place of a value, 0 to 1, beyond for one that is beyond the ends."""
        if self.is_log:
            value = max(value, 1e-300)
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def cell(self, value: float, cells: int) -> int:
        """The cell that a value stands in; the first or the last for one that is beyond."""
        return cell_at(self.fraction(value), cells)

    def ticks(self, most: int) -> list[Tick]:
        """Round values, not more than asked for if they are evenly spaced."""
        values, digits = self._log_values(most) if self.is_log else self._linear_values(most)
        words = self.words or (lambda value: f"{value:.{digits}f}")
        return [(self.fraction(value), words(value)) for value in values]

    def _linear_values(self, most: int) -> tuple[list[float], int]:
        step = nice_step((self.high - self.low) / max(1, most))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        digits = next((one for one in range(12) if abs(step * 10**one - round(step * 10**one)) < 1e-6), 12)
        return [place * step for place in range(first, min(last, first + 99) + 1)], digits

    def _log_values(self, most: int) -> tuple[list[float], int]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for factors in ((1, 2, 5), (1, 3), (1,)):
            values = [factor * 10.0**power for power in range(first, last + 1) for factor in factors]
            values = [value for value in values if self.low * 0.999 <= value <= self.high * 1.001]
            if len(values) <= most:
                break
        if len(values) < _LEAST_LOG_TICKS:
            return self._linear_values(most)
        return values[:: -(-len(values) // max(1, most))], max(0, -math.floor(math.log10(values[0]) + 1e-9))


def cell_at(fraction: float, cells: int) -> int:
    """The cell of `cells` that a place from 0 to 1 lies in: the one in which a curve has its dot, four of them to a cell."""
    return max(0, min(cells - 1, round(fraction * (4 * cells - 1)) // 4))


def nice_step(least: float) -> float:
    """The smallest of 1, 2, 2.5 and 5 times a power of ten that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(max(least, 1e-300)))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= least * (1 - 1e-9))


def count_scale(high: float, title: str, words: Callable[[float], str] | None = None) -> Scale:
    """From zero to a little more than the largest value."""
    return Scale(0.0, high if high > 0 else 1.0, title, words=words)


def log_scale(values: Sequence[float], title: str, words: Callable[[float], str]) -> Scale:
    """Around values above zero, with a margin."""
    low, high = min(values), max(values)
    margin = (high / low) ** 0.04 if high > low else 2.0
    return Scale(low / margin, high * margin, title, is_log=True, words=words)


def plot_area(
    grid: Part, x: Scale | Sequence[Tick], x_title: str, y: Scale, legend: Sequence[Span] = ()
) -> Part:
    """Draw axes with ticks and titles, and return what is between them.

    Args:
        x: A scale, or ticks that are chosen already.
        x_title: What the horizontal axis is, with its unit.
        y: The vertical scale; its title stands above.
        legend: What stands beside that title, and below it where it is long.
    """
    has_unit_line = grid.height >= _LEAST_ROWS_FOR_UNIT
    heading = _heading(grid, y.title, legend, grid.height - 3 - has_unit_line - _LEAST_ROWS)
    grid = grid.part(0, heading - 1, grid.width, grid.height - heading + 1)
    rows = grid.height - 3 - has_unit_line
    y_ticks = y.ticks(max(2, min(8, rows // 2)))
    gutter = max((len(cells_of(label)) for _, label in y_ticks), default=0) + 1
    area = grid.part(gutter, 1, grid.width - gutter, rows)
    for place in range(rows):
        grid.put(gutter - 1, 1 + place, "│", MUTED)
    for fraction, label in y_ticks:
        row = rows - cell_at(fraction, rows)
        grid.put(gutter - 1 - len(cells_of(label)), row, label, MUTED)
        grid.put(gutter - 1, row, "┤", MUTED)
    grid.put(gutter - 1, rows + 1, "└" + "─" * area.width, MUTED)
    title_row = rows + 3 if has_unit_line else rows + 2
    title = shorten(x_title, area.width)
    _x_ticks(grid, x, gutter, area, rows + 1, 0 if has_unit_line else len(cells_of(title)) + 2)
    grid.put(gutter + area.width - len(cells_of(title)), title_row, title, MUTED)
    return area


def _heading(grid: Part, title: str, legend: Sequence[Span], spare: int) -> int:
    """Write title and legend, and tell in how many rows; up to two more than one where so many are to spare."""
    title = shorten(title, grid.width)
    grid.put(0, 0, title, MUTED)
    room = grid.width - len(cells_of(title)) - 2
    rows = legend_rows(legend, room, grid.width, 1 + max(0, min(2, spare)))
    for row, spans in enumerate(rows):
        put_row(grid, row, spans)
    return len(rows)


def _x_ticks(
    grid: Part, x: Scale | Sequence[Tick], gutter: int, area: Part, axis: int, reserved: int
) -> None:
    """Labels below the axis as far as they fit beside each other, each with its tick."""
    ticks = x.ticks(max(2, area.width // 12)) if isinstance(x, Scale) else x
    free = 0
    for fraction, label in ticks:
        column = gutter + cell_at(fraction, area.width)
        width = len(cells_of(label))
        start = max(0, min(column - width // 2, grid.width - reserved - width))
        if start < free or abs(start + width // 2 - column) > width:
            continue
        grid.put(column, axis, "┬", MUTED)
        grid.put(start, axis + 1, label, MUTED)
        free = start + width + 2
