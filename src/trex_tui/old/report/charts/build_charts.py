"""Charts of a build: distribution of the times of a layer's tactics, and memory over the build."""

from __future__ import annotations

from collections.abc import Sequence

from trex_tui.old.buildlog.build_trace import MemoryPoint
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.charts.cells import column_at, draw_columns, draw_upright, paint, plot_area
from trex_tui.old.report.charts.figure import (
    ACCENT,
    PRIMARY,
    WARNING,
    Key,
    Lines,
    Mark,
    Scale,
    Series,
    log_scale,
)
from trex_tui.old.report.charts.grid import Grid, Line

LEAST_WIDTH, LEAST_TIMES = 24, 3
"""With fewer cells or times, a table is better than a histogram."""
_BIN_CELLS = 2
_CHOSEN, _FASTEST = f"bold {ACCENT}", "bold $success"


@dataclass(frozen=True, slots=True)
class TacticTimes:
    """Content of the histogram.

    Attributes:
        times_ms: Times of all timed tactics, unsorted.
        chosen_ms, fastest_ms: Marked with `C` and `F`; None if there is none.
    """

    times_ms: Sequence[float]
    chosen_ms: float | None
    fastest_ms: float | None


def tactic_histogram(times: TacticTimes, width: int, height: int) -> tuple[Line, ...]:
    """Draw the number of tactics by time, on a logarithmic axis; no lines without data."""
    known = [time for time in times.times_ms if time > 0]
    if len(known) < LEAST_TIMES or width < LEAST_WIDTH or height < 5:
        return ()
    digits = 4 if min(known) >= 0.01 else 5
    x = log_scale(known, "", lambda value: f"{value:.{digits}f}".rstrip("0").rstrip("."))
    grid = Grid(width, height)
    whole = grid.part(0, 0, width, height)
    y = Scale(0.0, float(max(_counts(whole, known, x))), "tactics", is_count=True)
    keys = [Key("", "C chosen ", _CHOSEN)] if times.chosen_ms is not None else []
    if times.fastest_ms is not None:
        keys.append(Key("", "F fastest", _FASTEST))
    area = plot_area(whole, x, "ms", y, keys)
    counts = _counts(area, known, x)
    heights = [counts[column // _BIN_CELLS] / max(counts) for column in range(area.width)]
    draw_columns(area, heights, [PRIMARY] * area.width)
    _mark(area, x, times)
    return grid.lines()


def _counts(area: Grid, times: Sequence[float], x: Scale) -> list[int]:
    counts = [0] * max(1, -(-area.width // _BIN_CELLS))
    for time in times:
        counts[column_at(area, x, time) // _BIN_CELLS] += 1
    return counts


def _mark(area: Grid, x: Scale, times: TacticTimes) -> None:
    """Draw labelled lines at the choice and at the fastest; one for both if they share a column."""
    marks: dict[int, str] = {}
    for letter, time in (("C", times.chosen_ms), ("F", times.fastest_ms)):
        if time is not None and time > 0:
            column = column_at(area, x, time)
            marks[column] = marks.get(column, "") + letter
    for column, letters in marks.items():
        style = _CHOSEN if "C" in letters else _FASTEST
        draw_upright(area, column, style, over=True)
        area.put(min(column, area.width - len(letters)), 0, letters, style)


def memory_chart(
    points: Sequence[MemoryPoint], here: int | None, width: int, height: int
) -> tuple[Line, ...]:
    """Draw memory in use over the build: of the device and of the process or, if a log does not have these, of TensorRT's own
    allocators.

    Args:
        here: Index in `points` of the marked one.

    Returns:
        `height` lines; none with fewer than two points, or without room.
    """
    shown = [point for point in points if not point.is_managed]
    what = "in use, MiB"
    if len(shown) < 2:
        shown, what = [point for point in points if point.is_managed], "by TensorRT's allocators, MiB"
    if len(shown) < 2 or width < LEAST_WIDTH or height < 6:
        return ()
    is_timed = has_times(points)
    places = [_place(point, is_timed=is_timed) for point in points]
    title = "seconds since start of log" if is_timed else "line of the log"
    x = Scale(min(places), max(max(places), min(places) + 1.0), title)
    top = max(max(point.cpu_mib, point.gpu_mib) for point in shown)
    y = Scale(0.0, float(top) or 1.0, what, is_count=True)
    ats = [_place(point, is_timed=is_timed) for point in shown]
    # The GPU is drawn last, on top, and named first.
    series = [
        Series("CPU", _steps(ats, [point.cpu_mib for point in shown], places[-1]), PRIMARY),
        Series("GPU", _steps(ats, [point.gpu_mib for point in shown], places[-1]), ACCENT),
    ]
    marks = [Mark(places[here], "", WARNING)] if here is not None and 0 <= here < len(points) else []
    keys = [Key("", "GPU  ", ACCENT), Key("", "CPU", PRIMARY)]
    grid = Grid(width, height)
    form = Lines(series, x, y, keys=keys, marks=marks, has_legend=False, names_ends=True)
    paint(form, grid.part(0, 0, width, height))
    return grid.lines()


def has_times(points: Sequence[MemoryPoint]) -> bool:
    """Return whether the log's time stamps, of whole seconds, distinguish most points."""
    known = [point.at_s for point in points]
    return None not in known and 2 * len(set(known)) > len(known)


def _place(point: MemoryPoint, *, is_timed: bool) -> float:
    return point.at_s if is_timed and point.at_s is not None else float(point.line)


def _steps(places: Sequence[float], values: Sequence[float], end: float) -> list[tuple[float, float]]:
    """Return steps: a value is valid until the next one in the log."""
    points = [(places[0], values[0])]
    for x, value in zip(places[1:], values[1:], strict=True):
        points += [(x, points[-1][1]), (x, value)]
    return [*points, (end, points[-1][1])]
