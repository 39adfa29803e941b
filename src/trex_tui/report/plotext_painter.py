"""Draw charts in the terminal; the only file that knows plotext (5.3.2).

plotext only fills cells: limits, ticks, data and logarithms are given to it, linear and complete. It has one figure per
process, so that one thread paints at a time. Version 6.1.0 leaves out the first horizontal bar and spoils the limits of an
axis with its own ticks.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from math import ceil, floor, log10

import numpy as np
import plotext  # type: ignore[import-untyped]
from rich.cells import cell_len
from rich.text import Text

from trex_tui.column import Column
from trex_tui.report.charts import Chart, choose_colors
from trex_tui.text import format_bytes, format_count, printable, shorten_middle

_MARKER = "hd"
"""Two by two points per cell, in every font."""
_MARK_COLOR = 9
_LINE_COLOR = 7
_WIDEST_LABEL = 32
_ROOM_OF_AXES = 4
"""Lines of the frame, the ticks and the labels."""
_lock = threading.Lock()


def paint(chart: Chart, width: int, height: int) -> Text:
    """Return a chart of that many cells; bars take as many lines as they need, at most twice the height."""
    lines = [Text(printable(chart.title), "bold")]
    if not chart.frame.empty:
        colors = choose_colors(chart)
        legend = [
            (f"■ {printable(word)}", f"color({number})") for word, (number, _) in colors.items() if word
        ]
        lines += _wrap_legend(legend, width)
        with _lock:
            lines.append(_plot(chart, {word: number for word, (number, _) in colors.items()}, width, height))
    if chart.note:
        lines.append(Text(printable(chart.note), "dim"))
    return Text("\n").join(lines)


def _wrap_legend(legend: Sequence[tuple[str, str]], width: int) -> list[Text]:
    lines: list[Text] = []
    for entry in legend:
        if not lines or lines[-1].cell_len + 2 + cell_len(entry[0]) > width:
            lines.append(Text(no_wrap=True))
        lines[-1].append("  " if lines[-1] else "").append(*entry)
    return lines


def _plot(chart: Chart, colors: Mapping[str, int], width: int, height: int) -> Text:
    plotext.clear_figure()
    plotext.limit_size(False, False)
    plotext.theme("clear")
    if chart.kind == "bar":
        bars = chart.frame[chart.y.key].nunique()
        height = min(max(height, bars + _ROOM_OF_AXES), 2 * height + _ROOM_OF_AXES, 2 * bars + _ROOM_OF_AXES)
    plotext.plotsize(width, height)
    try:
        _PAINTERS[chart.kind](chart, colors, width)
        return Text.from_ansi(plotext.build().rstrip("\n"), no_wrap=True)
    finally:
        plotext.clear_figure()


def _paint_bars(chart: Chart, colors: Mapping[str, int], width: int) -> None:
    """Draw a horizontal bar per category, the first on top."""
    key = chart.color.key if chart.color else None
    labels = list(dict.fromkeys(chart.frame[chart.y.key]))
    lengths = {word: dict.fromkeys(labels, 0.0) for word in colors}
    words = chart.frame[key] if key else [""] * len(chart.frame)
    for label, word, value in zip(chart.frame[chart.y.key], words, _numbers(chart, chart.x), strict=True):
        lengths[word][label] += float(value)
    stacks = [[lengths[word][label] for label in reversed(labels)] for word in colors]
    shown = [_fit_label(label, min(_WIDEST_LABEL, width // 3)) for label in reversed(labels)]
    plotext.stacked_bar(
        shown, stacks, orientation="h", width=0.7, marker=_MARKER, color=list(colors.values()), labels=None
    )
    longest = max(sum(parts) for parts in zip(*stacks, strict=True))
    _set_axis("x", chart.x, 0.0, longest, max(2, width // 16))


def _fit_label(label: str, width: int) -> str:
    return shorten_middle(printable(label), width)


def _paint_columns(chart: Chart, colors: Mapping[str, int], width: int) -> None:
    """Draw columns side by side; of those that share a cell, the tallest."""
    x, y = _numbers(chart, chart.x), _numbers(chart, chart.y)
    half = (x[1] - x[0]) / 2 if chart.kind == "histogram" and len(x) > 1 else 0.5
    lower, upper = x[0] - half, x[-1] + half
    cells = np.linspace(lower, upper, 2 * width)  # half cells
    first = np.clip(np.searchsorted(x, cells - half, side="left"), 0, len(x) - 1)
    if len(x) > len(cells):
        starts = np.searchsorted(x, cells, side="left").clip(0, len(x) - 1)
        ends = np.append(starts[1:], len(x))
        first = np.array(
            [s + int(np.argmax(y[s : max(e, s + 1)])) for s, e in zip(starts, ends, strict=True)]
        )
    words = chart.frame[chart.color.key].to_numpy() if chart.color else np.full(len(x), "")
    for word, color in colors.items():
        rows = words[first] == word
        if rows.any():
            plotext.scatter(
                cells[rows].tolist(), y[first][rows].tolist(), marker=_MARKER, color=color, fillx=True
            )
    _set_axis("x", chart.x, lower, upper, max(2, width // 16), is_whole=half == 0.5)
    _set_axis("y", chart.y, 0.0, float(y.max()), 5)
    _draw_marks(chart, lower, upper)


def _paint_points(chart: Chart, colors: Mapping[str, int], width: int) -> None:
    """Draw points, or lines, of each color; both axes logarithmic on demand."""
    scale = np.log10 if chart.is_log else np.asarray
    x, y = scale(_numbers(chart, chart.x)), scale(_numbers(chart, chart.y))
    words = chart.frame[chart.color.key].to_numpy() if chart.color else np.full(len(x), "")
    ends = [(scale(np.array(points)[:, 0]), scale(np.array(points)[:, 1])) for points in chart.lines.values()]
    for across, up in ends:
        plotext.plot(across.tolist(), up.tolist(), marker="braille", color=_LINE_COLOR)
    for word, color in colors.items():
        rows = words == word
        if chart.kind == "line":
            plotext.plot(x[rows].tolist(), y[rows].tolist(), marker="braille", color=color)
        else:
            plotext.scatter(x[rows].tolist(), y[rows].tolist(), marker="•", color=color)
    all_x, all_y = (np.concatenate([part, *(end[axis] for end in ends)]) for axis, part in enumerate((x, y)))
    lower, upper = float(all_x.min()), float(all_x.max())
    if chart.is_log:
        _set_log_axis("x", chart.x, lower, upper)
        _set_log_axis("y", chart.y, float(all_y.min()), float(all_y.max()))
        return
    _set_axis("x", chart.x, lower, upper, max(2, width // 16))
    if chart.ticks:
        plotext.xticks(list(chart.ticks.values()), list(chart.ticks))
    margin = 0.05 * float(all_y.max() - all_y.min())
    _set_axis("y", chart.y, max(0.0, float(all_y.min()) - margin), float(all_y.max()) + margin, 5)
    _draw_marks(chart, lower, upper)


_PAINTERS = {
    "bar": _paint_bars,
    "column": _paint_columns,
    "histogram": _paint_columns,
    "line": _paint_points,
    "scatter": _paint_points,
}


def _draw_marks(chart: Chart, lower: float, upper: float) -> None:
    if not chart.marks:
        return
    for place in chart.marks.values():
        plotext.vline(place, _MARK_COLOR)
    plotext.xlim(lower, upper, xside="upper")
    plotext.xticks(list(chart.marks.values()), list(chart.marks), xside="upper")


def _set_axis(
    axis: str, column: Column, lower: float, upper: float, ticks: int, *, is_whole: bool = False
) -> None:
    upper = upper if upper > lower else lower + 1.0
    places = [place for place in _round_steps(lower, upper, ticks) if not is_whole or place == round(place)]
    _set(axis, column, lower, upper, places, [_tick(column, place) for place in places])


def _set_log_axis(axis: str, column: Column, lower: float, upper: float) -> None:
    lower, upper = floor(lower), max(ceil(upper), floor(lower) + 1)
    places = [float(place) for place in range(int(lower), int(upper) + 1)]
    _set(axis, column, lower, upper, places, [_tick(column, 10.0**place) for place in places])


def _set(
    axis: str, column: Column, lower: float, upper: float, places: Sequence[float], labels: Sequence[str]
) -> None:
    for name, values in (("lim", (lower, upper)), ("ticks", (places, labels)), ("label", (column.label,))):
        getattr(plotext, f"{axis}{name}")(*values)


def _round_steps(lower: float, upper: float, count: int) -> list[float]:
    """Return multiples of 1, 2 or 5 · 10ⁿ between two numbers, at most `count` and one."""
    raw = (upper - lower) / count
    power = 10.0 ** floor(log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))
    return [step * number for number in range(ceil(lower / step - 1e-9), floor(upper / step + 1e-9) + 1)]


def _tick(column: Column, value: float) -> str:
    if column.key.endswith("_bytes"):
        return format_bytes(value)
    return format_count(value) if abs(value) >= 10_000 else f"{value:.6g}"


def _numbers(chart: Chart, column: Column) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return chart.frame[column.key].to_numpy(dtype=float, na_value=np.nan)
