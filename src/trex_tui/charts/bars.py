"""Bars out of eighths of a cell: upright ones for a value per column, lying ones for names and figures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from trex_tui.charts.grid import Part

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
