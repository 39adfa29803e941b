"""Charts of a build: how the times of a layer's tactics are distributed, and memory over the build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trex_tui.buildlog.build_trace import MemoryPoint
from trex_tui.report.charts.cells import Curve, Scale, draw_columns, draw_curves, log_scale, plot_area
from trex_tui.report.charts.grid import Grid, Line, Part, Span

LEAST_WIDTH, LEAST_TIMES = 24, 3
"""In fewer cells, or of fewer times, a histogram tells nothing that a table does not."""
_BIN_CELLS = 2
_BARS, _CHOSEN, _FASTEST = "$primary", "bold $accent", "bold $success"
_GPU, _CPU, _HERE = "$accent", "$primary", "$warning"


@dataclass(frozen=True, slots=True)
class TacticTimes:
    """What the histogram is of.

    Attributes:
        times_ms: Of every timed tactic, in no order.
        chosen_ms, fastest_ms: Marked with `C` and `F`; None if there is none.
    """

    times_ms: Sequence[float]
    chosen_ms: float | None
    fastest_ms: float | None


def tactic_histogram(times: TacticTimes, width: int, height: int) -> tuple[Line, ...]:
    """How many tactics took how long, over a logarithmic axis; no lines where there is nothing to see."""
    known = [one for one in times.times_ms if one > 0]
    if len(known) < LEAST_TIMES or width < LEAST_WIDTH or height < 5:
        return ()
    digits = 4 if min(known) >= 0.01 else 5
    x = log_scale(known, "", lambda value: f"{value:.{digits}f}".rstrip("0").rstrip("."))
    grid = Grid(width, height)
    bins = _binned(known, x, width)
    y = Scale(0.0, float(max(bins)), "tactics", words=lambda value: f"{value:.0f}")
    area = plot_area(grid.part(0, 0, width, height), x, "ms", y, _legend(times))
    bins = _binned(known, x, area.width)
    top = max(bins)
    heights = [bins[min(len(bins) - 1, column // _BIN_CELLS)] / top for column in range(area.width)]
    draw_columns(area, heights, [_BARS] * area.width)
    _mark(area, x, times)
    return grid.lines()


def _binned(times: Sequence[float], x: Scale, width: int) -> list[int]:
    counts = [0] * max(1, -(-width // _BIN_CELLS))
    for time in times:
        counts[min(len(counts) - 1, x.cell(time, width) // _BIN_CELLS)] += 1
    return counts


def _legend(times: TacticTimes) -> list[Span]:
    spans = []
    if times.chosen_ms is not None:
        spans.append(Span("C chosen ", _CHOSEN))
    if times.fastest_ms is not None:
        spans.append(Span("F fastest", _FASTEST))
    return spans


def _mark(area: Part, x: Scale, times: TacticTimes) -> None:
    """A line at the choice and at the fastest, named at its top; one for both where they stand in one column."""
    marks: dict[int, str] = {}
    for letter, time in (("C", times.chosen_ms), ("F", times.fastest_ms)):
        if time is not None and time > 0:
            column = x.cell(time, area.width)
            marks[column] = marks.get(column, "") + letter
    for column, letters in marks.items():
        style = _CHOSEN if "C" in letters else _FASTEST
        for row in range(area.height):
            if area.is_blank(column, row):
                area.put(column, row, "┊", style)
            else:
                area.restyle(column, row, style)
        area.put(min(column, area.width - len(letters)), 0, letters, style)


# Memory


def memory_chart(
    points: Sequence[MemoryPoint], here: int | None, width: int, height: int
) -> tuple[Line, ...]:
    """Memory in use over the build: of the device and of the process or, where a log tells no such thing, of TensorRT's own
    allocators.

    Args:
        here: Place in `points` that is marked.

    Returns:
        `height` lines; none where there are not two points, or no room.
    """
    shown = [one for one in points if not one.is_managed]
    what = "in use, MiB"
    if len(shown) < 2:
        shown, what = [one for one in points if one.is_managed], "by TensorRT's allocators, MiB"
    if len(shown) < 2 or width < LEAST_WIDTH or height < 6:
        return ()
    is_timed = has_times(points)
    places = [_place(one, is_timed=is_timed) for one in points]
    x = Scale(min(places), max(max(places), min(places) + 1.0), "")
    top = max(max(one.cpu_mib, one.gpu_mib) for one in shown)
    y = Scale(0.0, float(top) or 1.0, what, words=lambda value: f"{value:.0f}")
    grid = Grid(width, height)
    title = "seconds since the log began" if is_timed else "line of the log"
    whole = grid.part(0, 0, width, height)
    area = plot_area(whole, x, title, y, [Span("GPU  ", _GPU), Span("CPU", _CPU)])
    if here is not None and 0 <= here < len(points):
        column = x.cell(places[here], area.width)
        for row in range(area.height):
            area.put(column, row, "┊", _HERE)
    curves = [_steps(shown, places[-1], x, y, is_gpu=is_gpu, is_timed=is_timed) for is_gpu in (False, True)]
    draw_curves(area, curves)
    _name_curves(area, shown[-1], y)
    return grid.lines()


def _name_curves(area: Part, last: MemoryPoint, y: Scale) -> None:
    """Names at the ends of the curves; beside each other where they end in the same row."""
    taken: set[int] = set()
    for words, value, style in (("GPU", last.gpu_mib, _GPU), ("CPU", last.cpu_mib, _CPU)):
        row = area.height - 1 - y.cell(value, area.height)
        row = row - 1 if row else 1
        area.put(area.width - (7 if row in taken else 3), row, words, f"bold {style}")
        taken.add(row)


def has_times(points: Sequence[MemoryPoint]) -> bool:
    """Whether the log's time stamps, of whole seconds, tell most points apart."""
    known = [one.at_s for one in points]
    return None not in known and 2 * len(set(known)) > len(known)


def _place(point: MemoryPoint, *, is_timed: bool) -> float:
    return point.at_s if is_timed and point.at_s is not None else float(point.line)


def _steps(
    points: Sequence[MemoryPoint], end: float, x: Scale, y: Scale, *, is_gpu: bool, is_timed: bool
) -> Curve:
    """A value holds until the log tells another."""
    xs: list[float] = []
    ys: list[float] = []
    for point in points:
        place = x.fraction(_place(point, is_timed=is_timed))
        if ys:
            xs.append(place)
            ys.append(ys[-1])
        xs.append(place)
        ys.append(y.fraction(point.gpu_mib if is_gpu else point.cpu_mib))
    xs.append(x.fraction(end))
    ys.append(ys[-1])
    return Curve(xs, ys, _GPU if is_gpu else _CPU)
