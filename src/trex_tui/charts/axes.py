"""Scales, and axes with ticks and units around a plot."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trex_tui.charts.grid import Part, Span, cells_of, shorten
from trex_tui.charts.legend import legend_rows, put_row

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
