"""Draw charts in terminal cells, in any size: title, plot, sentences. Lines are drawn by plotext, everything else here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial, singledispatch
from itertools import pairwise
from threading import Lock

from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.charts.figure import (
    HERE,
    HERE_STYLE,
    MUTED,
    PRIMARY,
    SECONDARY,
    WARNING,
    Bar,
    BarPart,
    Bars,
    Bins,
    Blocks,
    Box,
    Chart,
    Columns,
    Dot,
    Figure,
    Histogram,
    IcicleBlock,
    Key,
    Lines,
    Mark,
    Points,
    Roof,
    Scale,
    Series,
    Subject,
    Target,
    Tick,
)
from trex_tui.old.report.charts.grid import (
    CellSpan,
    Grid,
    Line,
    Spot,
    fit_labels,
    shorten,
    split_cells,
    wrap_text,
)
from trex_tui.old.report.charts.sampling import (
    EXTREMES,
    MEDIANS,
    column_span,
    column_starts,
    largest_of_columns,
    sample_series,
)
from trex_tui.old.report.document import BAR_SCALE
from trex_tui.old.text import ELLIPSIS, format_bar, printable

_TITLE_STYLE = f"bold {PRIMARY}"
_LEAST_PLOT = (20, 6)
"""Columns and rows below which text is shown instead."""
_LEAST_ROWS_FOR_UNIT = 12
"""Height from which the unit of the horizontal axis has a separate line."""
_LEAST_ROWS = 6
"""Minimum number of rows of a plot: the legend is cut first."""


@dataclass(frozen=True)
class Drawing:
    """A chart in cells, and where a cursor can be.

    Attributes:
        is_empty: There is no data for the chart.
        bars: Targets of all bars of which only some have room, in their order; empty where all are drawn.
        first: Index of the first of those that are drawn; each of them has a spot.
    """

    lines: tuple[Line, ...]
    spots: tuple[Spot, ...] = ()
    is_empty: bool = False
    bars: tuple[Target, ...] = ()
    first: int = 0

    @cached_property
    def spot_of_layer(self) -> Mapping[int, int]:
        """Return the number of each layer's spot, by layer index; computed on request, since there may be many layers."""
        return {
            target.layer: number
            for number, spot in enumerate(self.spots)
            for target in map(spot.target, spot.indices)
            if target.layer is not None
        }


def draw(chart: Chart, subject: Subject, width: int, height: int, first: int = 0) -> Drawing:
    """Draw the chart in exactly `height` lines of exactly `width` cells.

    Args:
        first: Index of the bar to begin with, if there is no room for all.
    """
    figure = chart.make(replace(subject, width=width))
    title = chart.titled(subject.layers).title
    return draw_figure(figure, title, width, height, subject if figure.marks_layer else None, first)


def draw_figure(
    figure: Figure,
    title: str,
    width: int,
    height: int,
    subject: Subject | None = None,
    first: int = 0,
) -> Drawing:
    """Draw a figure in exactly `height` lines of exactly `width` cells.

    Args:
        subject: Has the current layer, which the title names; None for figures without layers.
        first: As for `draw`.
    """
    grid = Grid(width, height)
    _draw_title(grid, title, subject if figure.form else None)
    words = [(text, "") for text in figure.words] + [(text, WARNING) for text in figure.missing]
    lines = [CellSpan(part, style) for text, style in words for part in wrap_text(printable(text), width)]
    rows = height - 1 - min(len(lines), max(2, height // 3))
    form = replace(figure.form, first=first) if isinstance(figure.form, Bars) else figure.form
    if form is None or width < _LEAST_PLOT[0] or rows < _LEAST_PLOT[1]:
        _draw_sentences(grid, lines, 2 if height > len(lines) + 2 else 1)
        return Drawing(grid.lines(), is_empty=form is None)
    paint(form, grid.part(0, 1, width, rows))
    _draw_sentences(grid, lines, rows + 1)
    spots = tuple(grid.spots)
    targets = [bar.target for bar in form.bars if bar.target] if isinstance(form, Bars) else []
    if not isinstance(form, Bars) or not len(spots) < len(targets) == len(form.bars):
        return Drawing(grid.lines(), spots)
    top = spots[0].target(0)
    first = next(index for index, target in enumerate(targets) if target is top)
    return Drawing(grid.lines(), spots, bars=tuple(targets), first=first)


def _draw_title(grid: Grid, title: str, subject: Subject | None) -> None:
    grid.put(0, 0, shorten(title, grid.width), _TITLE_STYLE)
    if subject is None or subject.current is None:
        return
    layer = subject.current
    hidden = "" if subject.shown_current else ", which the filter hides"
    room = grid.width - len(split_cells(title)) - 3
    start = f"{HERE} layer {layer.index}"
    name = f"{start}  {shorten(layer.name, room - len(start) - len(hidden) - 2)}{hidden}"
    shown = name if room > len(start) + len(hidden) + 12 else start
    if room >= len(start):
        grid.put(grid.width - len(split_cells(shown)), 0, shown, HERE_STYLE)


def _draw_sentences(grid: Grid, lines: Sequence[CellSpan], first: int) -> None:
    """Draw the sentences from a row on; an ellipsis if they do not fit."""
    for row, line in enumerate(lines[: grid.height - first], start=first):
        is_cut = row == grid.height - 1 and row - first + 1 < len(lines)
        text = line.text[: grid.width - 2].rstrip() + " …" if is_cut else line.text
        grid.put(0, row, text, line.style)


@singledispatch
def paint(form: object, part: Grid) -> None:
    """Draw a form into a part of a grid."""
    raise TypeError(f"no drawing of {type(form).__name__} in {part.width} cells")


# Legends


def _legend_rows(keys: Sequence[Key], room: int, width: int, most: int) -> list[list[CellSpan]]:
    """Return entries in rows; entries without a row are named at the end without colour, or at least counted.

    Args:
        room: Cells of the first row.
        width: Cells of the rows below it.
        most: Maximum number of rows.
    """
    rows: list[list[CellSpan]] = [[]]
    left = room
    for index, key in enumerate(keys):
        gap = "  " if rows[-1] else ""
        span = CellSpan(f"{gap}{key.sign} {key.text}" if key.sign else key.text, key.style)
        cells = len(split_cells(span.text))
        if cells > left:
            if len(rows) == most:
                return [*rows[:-1], _with_rest(rows[-1], [rest.text for rest in keys[index:]], left)]
            rows.append([])
            left = width
        rows[-1].append(span)
        left -= cells
    return rows


def _with_rest(row: Sequence[CellSpan], rest: Sequence[str], left: int) -> list[CellSpan]:
    """Return the last row with text for omitted entries, which replaces entries if there is no room beside them."""
    names = [name for text in rest for name in text.split(", ")]
    words = f"  also {', '.join(names)}"
    if len(split_cells(words)) <= left:
        return [*row, CellSpan(words, MUTED)]
    words = f"  +{len(names)} more"
    if row and len(words) > left:
        last = row[-1].text
        return _with_rest(row[:-1], [last.strip().partition(" ")[2], *rest], left + len(split_cells(last)))
    return [*row, CellSpan(shorten(words, left), MUTED)]


def _put_row(part: Grid, y: int, row: Sequence[CellSpan]) -> None:
    """Write entries at the right end of a row."""
    x = part.width - sum(len(split_cells(span.text)) for span in row)
    for span in row:
        part.put(x, y, span.text, span.style)
        x += len(split_cells(span.text))


# Axes


def cell_at(fraction: float, cells: int) -> int:
    """Return the cell of a position from 0 to 1 among `cells`: that of its dot in a curve, with four dots per cell."""
    return max(0, min(cells - 1, round(fraction * (4 * cells - 1)) // 4))


def column_at(area: Grid, x: Scale, value: float) -> int:
    """Return the column of a value; the first or the last for a value out of range."""
    return cell_at(x.fraction(value), area.width)


def row_at(area: Grid, y: Scale, value: float) -> int:
    """Return the row of a value; the first or the last for a value out of range."""
    return area.height - 1 - cell_at(y.fraction(value), area.height)


def plot_area(
    part: Grid, x: Scale | Sequence[Tick], x_title: str, y: Scale, keys: Sequence[Key] = ()
) -> Grid:
    """Draw axes with ticks and titles, and return the area between them.

    Args:
        x: A scale, or ticks that are already chosen.
        x_title: Title of the horizontal axis, with its unit.
        y: The vertical scale; its title is above the axis.
        keys: The legend, beside that title, and below it if it is long.
    """
    has_unit_line = part.height >= _LEAST_ROWS_FOR_UNIT
    heading = _heading(part, y.title, keys, part.height - 3 - has_unit_line - _LEAST_ROWS)
    part = part.part(0, heading - 1, part.width, part.height - heading + 1)
    rows = part.height - 3 - has_unit_line
    y_ticks = y.ticks(max(2, min(8, rows // 2)))
    gutter = max((len(split_cells(label)) for _, label in y_ticks), default=0) + 1
    area = part.part(gutter, 1, part.width - gutter, rows)
    for row in range(rows):
        part.put(gutter - 1, 1 + row, "│", MUTED)
    for fraction, label in y_ticks:
        row = rows - cell_at(fraction, rows)
        part.put(gutter - 1 - len(split_cells(label)), row, label, MUTED)
        part.put(gutter - 1, row, "┤", MUTED)
    part.put(gutter - 1, rows + 1, "└" + "─" * area.width, MUTED)
    title_row = rows + 3 if has_unit_line else rows + 2
    title = shorten(x_title, area.width)
    _x_ticks(part, x, gutter, area, rows + 1, 0 if has_unit_line else len(split_cells(title)) + 2)
    part.put(gutter + area.width - len(split_cells(title)), title_row, title, MUTED)
    return area


def _heading(part: Grid, title: str, keys: Sequence[Key], spare: int) -> int:
    """Write title and legend, and return the number of rows: one, plus up to two of `spare`."""
    title = shorten(title, part.width)
    part.put(0, 0, title, MUTED)
    room = part.width - len(split_cells(title)) - 2
    rows = _legend_rows(keys, room, part.width, 1 + max(0, min(2, spare)))
    for row, spans in enumerate(rows):
        _put_row(part, row, spans)
    return len(rows)


def _x_ticks(
    part: Grid, x: Scale | Sequence[Tick], gutter: int, area: Grid, axis: int, reserved: int
) -> None:
    """Write labels with ticks below the axis as far as they fit side by side."""
    ticks = x.ticks(max(2, area.width // 12)) if isinstance(x, Scale) else x
    free = 0
    for fraction, label in ticks:
        column = gutter + cell_at(fraction, area.width)
        width = len(split_cells(label))
        start = max(0, min(column - width // 2, part.width - reserved - width))
        if start < free or abs(start + width // 2 - column) > width:
            continue
        part.put(column, axis, "┬", MUTED)
        part.put(start, axis + 1, label, MUTED)
        free = start + width + 2


def draw_upright(area: Grid, column: int, style: str, first: int = 0, *, over: bool = False) -> None:
    """Draw a dashed line down from a row; over existing content, or behind it."""
    for row in range(first, area.height):
        if area.is_blank(column, row):
            area.put(column, row, "┊", style)
        elif over:
            area.restyle(column, row, style)


def _label(area: Grid, places: Iterable[tuple[int, int]], text: str, style: str) -> None:
    """Write a label at the first of some columns and rows where it fits without touching other content."""
    any(area.label(column, row, text, style) for column, row in places)


def _draw_level(area: Grid, mark: Mark, row: int) -> None:
    """Draw a dashed line across, behind existing content; its label in a free place, as far right as possible."""
    label = f" {mark.label} " if mark.short is None else mark.short
    starts = range(area.width - len(label), -1, -1)
    start = next((start for start in starts if area.is_blank(start, row, len(label))), area.width)
    for column in range(area.width):
        if area.is_blank(column, row):
            area.put(column, row, "┄", mark.style)
    area.put(start, row, label, mark.style)


# Curves

_CANVAS = Lock()
_FIRST_COLOUR = 16
_ESCAPES = re.compile(r"\x1b\[([0-9;]*)m")
_BLANKS = " \u2800"

Run = tuple[Sequence[float], Sequence[float], str]
"""Positions from 0 to 1 across and up that are joined by lines, and their style."""


def draw_curves(area: Grid, runs: Sequence[Run]) -> None:
    """Draw lines in braille dots, the last on top; points out of range are drawn at the edge. Cells without a dot stay.

    plotext keeps one figure per process and colours with escape sequences. Here it draws only the lines, on a canvas without
    axes, under a lock; the number of a run is used as its colour, and converted to a style afterwards.
    """
    known = [run for run in runs if run[0]]
    if not known or area.width < 2 or area.height < 2:
        return
    for y, row in enumerate(_plotted(known, area.width, area.height)):
        x, style = 0, ""
        for position, piece in enumerate(_ESCAPES.split(row)):
            if position % 2:
                codes = piece.split(";")
                style = known[int(codes[2]) - _FIRST_COLOUR][2] if codes[:2] == ["38", "5"] else style
                continue
            for char in piece:
                if char not in _BLANKS:
                    area.put(x, y, char, style)
                x += 1


def _plotted(runs: Sequence[Run], width: int, height: int) -> list[str]:
    import plotext  # type: ignore[import-untyped]  # 47 ms, for those who look at a chart

    with _CANVAS:
        plotext.clear_figure()
        plotext.limit_size(False, False)
        plotext.plotsize(width, height)
        plotext.frame(False)
        plotext.xticks([], [])
        plotext.yticks([], [])
        plotext.xlim(0, 1)
        plotext.ylim(0, 1)
        for number, (across, up, _) in enumerate(runs):
            xs, ys = ([min(1.0, max(0.0, value)) for value in values] for values in (across, up))
            plotext.plot(xs, ys, marker="braille", color=_FIRST_COLOUR + number)
        built = str(plotext.build())
        plotext.clear_figure()
    return built.split("\n")[:height]


# Bars

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_LEAST_WITH_GAP = 3
"""Columns of a bar from which one stays empty, to separate neighbours."""


def draw_columns(area: Grid, heights: Sequence[float], styles: Sequence[str]) -> None:
    """Draw an upright bar in each column, 0 to 1 high; anything above zero is visible."""
    for column, (height, style) in enumerate(zip(heights, styles, strict=True)):
        eighths = max(1, round(8 * area.height * min(1.0, height))) if height > 0 else 0
        for row in range(min(area.height, -(-eighths // 8))):
            area.put(column, area.height - 1 - row, _EIGHTHS[min(8, eighths - 8 * row)], style)


@paint.register
def _(form: Columns, part: Grid) -> None:
    y, count = form.y, len(form.values)
    area = plot_area(part, form.ticks(part.width // 10), form.x_title, y, form.keys)
    heights = [value / y.high for value in form.values]
    if count > area.width:
        shown = largest_of_columns(heights, area.width)
        draw_columns(area, [heights[index] for index in shown], [form.styles[index] for index in shown])
        for column, (start, end) in enumerate(pairwise(column_starts(count, area.width))):
            others = [index for index in range(start, end) if index != shown[column]]
            area.mark_spot(column, 0, 1, area.height, [shown[column], *others], form.target, foot=area.height)
    else:
        columns, styles = [0.0] * area.width, [""] * area.width
        for index, height in enumerate(heights):
            start, end = _bar_span(index, count, area.width)
            area.mark_spot(start, 0, end - start, area.height, [index], form.target, foot=area.height)
            columns[start:end], styles[start:end] = (
                [height] * (end - start),
                [form.styles[index]] * (end - start),
            )
        draw_columns(area, columns, styles)
    if form.curve is not None:
        # The curve never falls: between two of its points it cannot stray.
        kept = sorted({*range(0, count, max(1, count // (4 * area.width))), count - 1})
        ups = [y.fraction(form.curve.values[index]) for index in kept]
        draw_curves(area, [([(index + 0.5) / count for index in kept], ups, form.curve.style)])
    for mark in form.marks:
        _mark_columns(area, mark, y)
    for flag in form.flags:
        if form.curve is not None:
            column = min(area.width - 1, int((flag.index + 0.5) / count * area.width))
            area.put(column, row_at(area, y, form.curve.values[flag.index]), flag.sign, flag.style)
        else:
            _raise_flag(area, *_bar_span(flag.index, count, area.width), flag.sign, flag.style)


def _bar_span(index: int, count: int, width: int) -> tuple[int, int]:
    start, end = column_span(index, count, width)
    return start, end - (end - start >= _LEAST_WITH_GAP)


def _raise_flag(area: Grid, start: int, end: int, sign: str, style: str) -> None:
    """Colour a bar, and put a sign above it, or into its top if there is no room."""
    top = next((row for row in range(area.height) if not area.is_blank(start, row, end - start)), area.height)
    for row in range(top, area.height):
        area.restyle(start, row, style, end - start)
    area.put((start + end - 1) // 2, max(0, top - 1), sign, style)


def _mark_columns(area: Grid, mark: Mark, y: Scale) -> None:
    """Draw a level, or an upright line that ends in an arrow with the label beside it."""

    def bar_row(value: float) -> int:
        """Return the row in which a bar of the value ends."""
        return area.height - 1 - min(area.height - 1, int(y.fraction(value) * area.height))

    if mark.is_level:
        _draw_level(area, mark, bar_row(mark.at))
        return
    column = min(area.width - 1, int(mark.at * area.width))
    row = 0 if mark.top is None else bar_row(mark.top)
    draw_upright(area, column, mark.style, row + 1)
    area.put(column, row, "▲", mark.style)
    _label(area, [(column + 2, row + 1), (column + 2, row + 2)], mark.label, mark.style)


@paint.register
def _(form: Histogram, part: Grid) -> None:
    bins = form.bins(max(1, part.width - 16))
    top = max(*bins.counts, bins.below, bins.above)
    y = Scale(0.0, float(top), form.y_title, is_count=True)
    x = Scale(bins.low, bins.high, "")
    area = plot_area(part, x, form.x_title, y)
    count = len(bins.counts)
    heights = [bins.counts[column * count // area.width] / top for column in range(area.width)]
    draw_columns(area, heights, [PRIMARY] * area.width)
    if form.target is not None:
        for index in range(count):
            start, end = (-(-each * area.width // count) for each in (index, index + 1))
            if bins.counts[index] and end > start:
                area.mark_spot(
                    start,
                    0,
                    end - start,
                    area.height,
                    [index],
                    partial(_bin_target, form.target, bins),
                    foot=area.height,
                )
    for column, beyond in ((0, bins.below), (area.width - 2, bins.above)):
        if beyond:
            area.put(column, area.height - 1, "▲▲", WARNING)
    _mark_bins(area, form.marks, x)


def _bin_target(target: Callable[[float, float, int, int], Target], bins: Bins, index: int) -> Target:
    low = bins.low + index * bins.width
    return target(low, low + bins.width, bins.below + sum(bins.counts[:index]), bins.counts[index])


def _mark_bins(area: Grid, marks: Sequence[Mark], x: Scale) -> None:
    """Draw a line from top to bottom for each mark, its name at the top; names that would touch go into separate rows."""
    free = [0] * area.height
    for mark in marks:
        name = mark.label if mark.short is None else mark.short
        if not x.low <= mark.at <= x.high:
            is_above = mark.at > x.high
            area.label(area.width if is_above else 0, 4, f"{mark.label} ▸", f"bold {mark.style}")
            continue
        column = column_at(area, x, mark.at)
        draw_upright(area, column, mark.style, over=True)
        row = next((row for row in range(min(4, area.height)) if free[row] <= column), 0)
        start = min(column + 1, area.width - len(name))
        area.put(start, row, name, f"bold {mark.style}")
        free[row] = start + len(name) + 1


# Lines


@paint.register
def _(form: Lines, part: Grid) -> None:
    x, y = form.x, form.y
    crowded = [each for each in form.series if each.is_dense and len(each.points) > 4 * part.width]
    shown = [drawn for each in form.series for drawn in ((EXTREMES, MEDIANS) if each in crowded else (each,))]
    keys = [Key(each.sign, each.name, each.style) for each in shown] if form.has_legend else []
    area = plot_area(part, form.ticks or x, x.title, y, [*keys, *form.keys])
    drawn = [
        run
        for each in form.series
        for run in (sample_series(each, x, 2 * area.width, area.width) if each in crowded else (each,))
    ]
    draw_curves(area, [_run(each, x, y) for each in drawn])
    for each in form.series:
        _mark_edges(area, each, x, form.limits)
    if form.names_ends:
        _name_ends(area, form.series, y)
    for dot in form.dots:
        _label_dot(area, column_at(area, x, dot.x), row_at(area, y, dot.y), dot.sign, dot.label, dot.style)
    for mark in form.marks:
        column = column_at(area, x, mark.at)
        draw_upright(area, column, mark.style)
        if mark.label:
            area.label(column + 2, area.height - 1, mark.label, mark.style)
    if form.dots:
        for index, dot in enumerate(form.dots):
            spot = column_at(area, x, dot.x), row_at(area, y, dot.y)
            area.mark_spot(*spot, 1, 1, [index], partial(_dot_target, form.dots))
    else:
        _mark_points(area, form)


def _dot_target(dots: Sequence[Dot], index: int) -> Target:
    return Target(dots[index].title, layer=dots[index].place)


def _mark_points(area: Grid, form: Lines) -> None:
    """Allow a cursor on each column with points of the first series, the highest point first."""
    points = form.series[0].points if form.series else ()
    columns: dict[int, list[int]] = {}
    for index, (x, y) in enumerate(points):
        if x == x and y == y:
            columns.setdefault(column_at(area, form.x, x), []).append(index)
    for column, indices in columns.items():
        indices.sort(key=lambda index: -points[index][1])
        area.mark_spot(column, 0, 1, area.height, indices, form.target_of, foot=area.height)


def _run(series: Series | Roof, x: Scale, y: Scale) -> Run:
    across = [x.fraction(point[0]) for point in series.points]
    return across, [y.fraction(point[1]) for point in series.points], series.style


def _mark_edges(area: Grid, series: Series, x: Scale, limits: tuple[float, float] | None) -> None:
    if limits is None or not series.is_dense:
        return
    low, high = limits
    for at, value in series.points:
        if value > high or value < low:
            row, sign = (0, "▲") if value > high else (area.height - 1, "▼")
            area.put(column_at(area, x, at), row, sign, WARNING)


def _name_ends(area: Grid, series: Sequence[Series], y: Scale) -> None:
    """Write names at the ends of the curves; side by side if they end in the same row."""
    taken: set[int] = set()
    for each in reversed(series):
        row = row_at(area, y, each.points[-1][1])
        row = row - 1 if row else 1
        width = len(split_cells(each.name))
        area.put(
            area.width - (2 * width + 1 if row in taken else width), row, each.name, f"bold {each.style}"
        )
        taken.add(row)


def _label_dot(area: Grid, column: int, row: int, sign: str, label: str, style: str) -> None:
    """Draw a dot with its label above, left or below, wherever it fits."""
    area.put(column, row, sign, style)
    places = [(column - len(label) // 2, row - 1), (column - len(label) - 1, row), (column, row + 1)]
    _label(area, places, label, style)


# Points

_KNEE = "◇"
_COUNTS = "²³⁴⁵⁶⁷⁸⁹"
_MANY = "⁺"
"""Sign for more than nine dots in a cell."""
_SHARED = Key("²", "several in one place", MUTED)


def _dots_by_cell(form: Points, area: Grid) -> dict[tuple[int, int], list[int]]:
    """Return the dots in each cell by index, the topmost first."""
    cells: dict[tuple[int, int], list[int]] = {}
    for index in range(len(form.dots) - 1, -1, -1):
        dot = form.dots[index]
        cell = column_at(area, form.x, dot.x), row_at(area, form.y, dot.y)
        cells.setdefault(cell, []).append(index)
    return cells


def _put_count(area: Grid, column: int, row: int, count: int, style: str) -> None:
    """Write the number of dots in a cell beside it; underlined if there is no room beside it."""
    text = _COUNTS[count - 2] if count - 2 < len(_COUNTS) else _MANY
    if area.is_blank(column + 1, row):
        area.put(column + 1, row, text, style)
    else:
        area.restyle(column, row, f"{style} underline")


@paint.register
def _(form: Points, part: Grid) -> None:
    x, y = form.x, form.y
    # The number of dots per cell is known once there are axes, and their legend states it.
    trial = plot_area(Grid(part.width, part.height), x, x.title, y, form.keys)
    has_shared = len(_dots_by_cell(form, trial)) < len(form.dots)
    area = plot_area(part, x, x.title, y, [*form.keys, *([_SHARED] if has_shared else [])])
    draw_curves(area, [_run(roof, x, y) for roof in reversed(form.roofs)])
    cells = _dots_by_cell(form, area)
    for (column, row), indices in cells.items():
        top = form.dots[indices[0]]
        area.put(column, row, top.sign, top.style)
        area.mark_spot(column, row, 1, 1, indices, form.target_of)
    for (column, row), indices in cells.items():
        if len(indices) > 1:
            _put_count(area, column, row, len(indices), form.dots[indices[0]].style)
    for mark in form.marks:
        _draw_level(area, mark, row_at(area, y, mark.at))
    for roof in form.roofs:
        row = row_at(area, y, roof.points[-1][1])
        end = area.width - len(split_cells(roof.name))
        starts = range(end, end - area.width // 3, -4)
        _label(
            area, [(start, line) for start in starts for line in (row - 1, row + 1)], roof.name, roof.style
        )
        if roof.knee and x.low <= roof.knee[0] <= x.high:
            column = column_at(area, x, roof.knee[0])
            area.put(column, row, _KNEE, WARNING)
            area.label(column - len(roof.knee[2]), row - 1, roof.knee[2], WARNING)
    if form.slope is not None:
        at, value, label = form.slope
        column, row = column_at(area, x, at), row_at(area, y, value)
        left = column - len(label) - 2
        beside = [(left, row), (left, row - 1)] if left >= 0 else []
        _label(area, [*beside, (column + 3, row + 1)], label, SECONDARY)


# Lying bars

_LEAST_BAR = 8
"""Minimum number of cells of a bar; names are cut first."""
_GAP = 2
_HIGH = 14
"""Number of rows from which a legend may have two."""


@paint.register
def _(form: Bars, part: Grid) -> None:
    legend = _legend_rows(form.keys, part.width, part.width, 2 if part.height >= _HIGH else 1)
    for row, spans in enumerate(legend):
        _put_row(part, row, spans)
    part = part.part(0, len(legend) - 1, part.width, part.height - len(legend) + 1)
    rows, count = part.height - 2, len(form.bars)
    first = 0 if count <= rows else _first_bar(form, rows - 1)
    shown = form.bars if count <= rows else form.bars[first : first + rows - 1]
    is_spaced = count + (count - 1) // form.together <= rows
    table = [form.headings, *(bar.texts for bar in shown)]
    widths = [max(len(row[index]) for row in table) for index in range(len(form.headings))]
    figures = sum(widths) + _GAP * len(widths)
    longest = max(map(len, map(split_cells, fit_labels([bar.label for bar in shown], part.width, form.fit))))
    names = min(longest, max(12, part.width - 2 - figures - _GAP - max(_LEAST_BAR, part.width // 4)))
    start, cells = 2 + names + figures + _GAP, part.width - 2 - names - figures - _GAP
    _put_figures(part, 1, form.headings, widths, 2 + names, MUTED)
    largest = max((bar.value or 0.0 for bar in form.bars), default=0.0)
    if form.top or largest:
        part.put(start, 1, shorten(f"0–{form.top:.3g}" if form.top else BAR_SCALE, cells), MUTED)
    top = form.top or largest or 1.0
    labels = fit_labels([bar.label for bar in shown], names, form.fit)
    for index, (bar, label) in enumerate(zip(shown, labels, strict=True)):
        row = 2 + index + (index // form.together if is_spaced else 0)
        if bar.target is not None:
            part.mark_spot(0, row, part.width, 1, [0], partial(_bar_target, bar.target))
        if bar.is_here:
            part.put(0, row, HERE, HERE_STYLE)
        part.put(2, row, label, HERE_STYLE if bar.is_here else bar.style)
        _put_figures(part, row, bar.texts, widths, 2 + names, "")
        if bar.box is not None:
            _put_box(part, row, start, bar.box, top, cells, bar.style)
        elif bar.parts:
            _put_parts(part, row, start, bar.parts, top, cells)
        else:
            part.put(start, row, format_bar((bar.value or 0.0) / top, cells), bar.style)
    end = first + len(shown)
    if first:
        _put_hidden(part, 1, f"↑ {first} above", form.bars[:first], names)
    if end < count:
        _put_hidden(part, part.height - 1, form.rest(end), form.bars[end:], part.width - 2)


def _first_bar(form: Bars, rows: int) -> int:
    """Return the first bar to draw in `rows` rows: the start of a group, which may be just after the last page."""
    first = max(0, min(form.first, len(form.bars) - rows))
    return first + -first % form.together


def _put_hidden(part: Grid, row: int, words: str, hidden: Sequence[Bar], width: int) -> None:
    """Write how many bars are not drawn, marked if the current layer is in one of them."""
    hides_here = any(bar.is_here for bar in hidden)
    part.put(0, row, HERE if hides_here else "", HERE_STYLE)
    part.put(2, row, shorten(words, width), HERE_STYLE if hides_here else MUTED)


def _bar_target(target: Target, _: int) -> Target:
    return target


def _put_parts(part: Grid, row: int, x: int, parts: Sequence[BarPart], top: float, cells: int) -> None:
    """Fill whole cells with the parts of a bar, `cells` for `top`; the bar has at least one cell."""
    done, total = 0, 0.0
    for piece in parts:
        total += piece.value / top * cells  # `cells / top` is infinite for the smallest numbers
        end = max(round(total), 1 if total > 0 else 0)
        part.put(x + done, row, piece.pattern * (end - done), piece.style)
        done = end


def _put_box(part: Grid, row: int, x: int, box: Box, top: float, cells: int, style: str) -> None:
    """Draw whiskers, box, median and the values beyond; those beyond the axis as a sign in its last cell."""

    def cell(value: float) -> int:
        return min(cells - 1, int(value / top * cells))

    for value in box.beyond:
        part.put(x + cell(value), row, "›" if value > top else "∙", MUTED)
    low, first, middle, third, high = map(cell, box[:5])
    part.put(x + low, row, "─" * (high - low + 1), style)
    part.put(x + first, row, "█" * (third - first + 1), style)
    part.put(x + middle, row, "┃", style if first < third else HERE_STYLE)


def _put_figures(
    part: Grid, row: int, texts: Sequence[str], widths: Sequence[int], x: int, style: str
) -> None:
    for text, width in zip(texts, widths, strict=True):
        x += _GAP + width
        part.put(x - len(text), row, text, style)


# Blocks

_LEAST_WITH_NAME = 4
"""Minimum number of cells of a block with a name."""
_LEAST_TO_WRAP, _LEAST_IN_MIDDLE = 6, 12
"""Number of cells from which a name continues in the next line, or is cut in its middle."""
_EDGE = "▌"
_MOST_BLOCK_ROWS = 5
"""Maximum rows of a block: the name in several lines, and the time."""


@paint.register
def _(form: Blocks, part: Grid) -> None:
    levels = form.root.levels
    spare = part.height - levels - 1
    if spare > 0:
        legend = _legend_rows(form.keys, part.width, part.width, min(2, spare))
        for row, spans in enumerate(legend):
            _put_row(part, part.height - len(legend) + row, spans)
        part = part.part(0, 0, part.width, part.height - len(legend))
    rows = max(1, min(_MOST_BLOCK_ROWS, part.height // levels))
    for block in form.root.every():
        _paint_block(part, block, rows, form.style(block), form.size(block))
        target = Target(block.label, form.size(block), block.layer)
        part.mark_spot(block.start, block.depth * rows, block.width, rows, [0], partial(_bar_target, target))


def _paint_block(part: Grid, block: IcicleBlock, rows: int, style: str, size: str) -> None:
    """Draw a block with its edge at the left; names only if there is room for more than a letter or two."""
    top = block.depth * rows
    background = " on $panel" if block.depth % 2 == 0 else " on $surface"
    for row in range(rows):
        part.put(block.start, top + row, " " * block.width, style + background)
        part.put(block.start, top + row, _EDGE, style + background)
    if block.width < _LEAST_WITH_NAME:
        return
    room = block.width - 1
    sign = f"{HERE} " if block.is_here and room >= _LEAST_WITH_NAME + 2 else ""
    names = _name_in(sign + block.label, room, max(1, rows - 1))
    for row, name in enumerate(names):
        part.put(block.start + 1, top + row, name, style + background)
    size = size if len(split_cells(size)) <= room else size.split("  ")[-1]
    if rows > 1 and len(split_cells(size)) <= room:
        part.put(block.start + 1, top + len(names), size, background.strip())


def _name_in(label: str, room: int, rows: int) -> list[str]:
    """Return a name in a block, in up to `rows` lines; only its head if head and tail do not fit."""
    cells = split_cells(printable(label))
    if len(cells) <= room:
        return ["".join(cells)]
    if rows == 1 and room >= _LEAST_IN_MIDDLE:
        return [shorten(label, room)]
    rows = rows if room >= _LEAST_TO_WRAP else 1
    lines = ["".join(cells[start : start + room]) for start in range(0, len(cells), room)]
    if len(lines) > rows:
        lines = [*lines[: rows - 1], "".join(cells[(rows - 1) * room : rows * room - 1]) + ELLIPSIS]
    return lines
