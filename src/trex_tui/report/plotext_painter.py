"""Draw charts in the terminal; the only file that knows plotext (5.3.2).

plotext only fills cells: limits, ticks, data and logarithms are given to it, linear and complete. It has one figure per
process, so that one thread paints at a time. Version 6.1.0 spoils the limits of an axis with its own ticks. Horizontal bars
are text: they need no axis.
"""

from __future__ import annotations

import re
import textwrap
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil, floor, log, log10
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import plotext  # type: ignore[import-untyped]
from rich.cells import cell_len
from rich.text import Text

from trex_tui.column import Column
from trex_tui.report.charts import Chart, choose_colors
from trex_tui.text import format_bytes, format_count, printable, shorten_middle

Color: TypeAlias = "int | tuple[int, int, int]"
"""Number of a color of the terminal, or its parts."""
Values: TypeAlias = npt.NDArray[np.float64]
_MARKER = "hd"
"""Two by two points per cell, in every font."""
_WIDEST_LABEL = 36
_AXES = 3
"""Lines of the axis, its ticks and its label."""
_TEXTS = 4
"""Lines of title, legend and note of a chart that is bounded, at most."""
_COUNT = re.compile(r"^\d+ of (?=\d+ \w+ shown)")
_FEW_DECADES = 2.5
_lock = threading.Lock()


class Look(NamedTuple):
    """Colors of a chart.

    Attributes:
        tone: Returns the color of a category from its word and its number.
        mark: Of percentiles, and of the current layer.
        line: Of reference lines.
        axis: Of axes and ticks; None for that of texts.
    """

    tone: Callable[[str, int], Color] = lambda _, number: number
    mark: Color = 9
    line: Color = 7
    axis: Color | None = None


class _Canvas(NamedTuple):
    """The lines for axes and data, and what of a chart is not in its data."""

    width: int
    height: int
    look: Look
    layer: int | None

    @property
    def rows(self) -> int:
        """Lines of the data alone."""
        return max(2, self.height - _AXES)


def paint(
    chart: Chart,
    width: int,
    height: int,
    look: Look = Look(),  # noqa: B008 - it is constant
    layer: int | None = None,
    *,
    is_bounded: bool = False,
) -> Text:
    """Return a chart of that many cells; bars take as many lines as they need.

    Args:
        height: Lines of axes and data; of everything if it is bounded.
        layer: The current layer, which is marked.
    """
    chart = _keep_bars(chart, height - _TEXTS) if is_bounded else chart
    head = [Text(printable(chart.title), "bold")]
    colors = {word: look.tone(word, number) for word, (number, _) in choose_colors(chart).items()}
    if not chart.frame.empty and not (
        chart.kind == "bar" and chart.color is not None and chart.color.key == chart.y.key
    ):
        legend = [(f"■ {printable(word)}", _style(color)) for word, color in colors.items() if word]
        head += _wrap_legend(legend, width)
    foot = [Text(line, "dim") for line in textwrap.wrap(_describe(chart), width)]
    if chart.frame.empty:
        return Text("\n").join([*head, *foot])
    room = height - len(head) - len(foot) if is_bounded else height
    if chart.kind == "bar":
        return Text("\n").join([*head, _draw_bars(chart, colors, width, room), *foot])
    with _lock:
        plot = _plot(chart, colors, _Canvas(width, max(_AXES + 2, room), look, layer))
    return Text("\n").join([*head, plot, *foot])


def _keep_bars(chart: Chart, most: int) -> Chart:
    """Return a chart with as many bars as fit, and the number of all in its note."""
    labels = list(dict.fromkeys(chart.frame[chart.y.key])) if chart.kind == "bar" else []
    if len(labels) <= most:
        return chart
    frame = chart.frame[chart.frame[chart.y.key].isin(labels[: max(1, most)])]
    note = chart.note or f"{max(1, most)} of {len(labels)} bars fit."
    return replace(chart, frame=frame, note=_COUNT.sub(f"{max(1, most)} of ", note))


def _describe(chart: Chart) -> str:
    """Return the values of the marks, and what is not shown."""
    named = chart.marks.items() if chart.kind == "histogram" else ()
    marks = " · ".join(f"{label} {chart.x.format(place)}" for label, place in named)
    unit = f" {chart.x.unit.name}" if marks and not chart.x.unit.is_written else ""
    return printable(". ".join(filter(None, (marks + unit, chart.note))))


def _style(color: Color) -> str:
    return f"color({color})" if isinstance(color, int) else "rgb({},{},{})".format(*color)


def _wrap_legend(legend: Sequence[tuple[str, str]], width: int) -> list[Text]:
    lines: list[Text] = []
    for entry in legend:
        if not lines or lines[-1].cell_len + 2 + cell_len(entry[0]) > width:
            lines.append(Text(no_wrap=True))
        lines[-1].append("  " if lines[-1] else "").append(*entry)
    return lines


def _plot(chart: Chart, colors: Mapping[str, Color], canvas: _Canvas) -> Text:
    plotext.clear_figure()
    plotext.limit_size(False, False)
    plotext.theme("clear")
    if canvas.look.axis is not None:
        plotext.ticks_color(canvas.look.axis)
    plotext.xaxes(True, False)
    plotext.yaxes(True, False)
    try:
        _PAINTERS[chart.kind](chart, colors, canvas)
        plotext.plotsize(canvas.width, canvas.height)
        return Text.from_ansi(plotext.build().rstrip("\n"), no_wrap=True)
    finally:
        plotext.clear_figure()


def _draw_bars(chart: Chart, colors: Mapping[str, Color], width: int, rows: int) -> Text:
    """Return a horizontal bar per category, the first on top, its value behind the label."""
    lengths: dict[str, dict[str, float]] = {}
    words = chart.frame[chart.color.key] if chart.color else [""] * len(chart.frame)
    for label, word, value in zip(chart.frame[chart.y.key], words, _numbers(chart, chart.x), strict=True):
        parts = lengths.setdefault(label, {})
        parts[word] = parts.get(word, 0.0) + float(value)
    labels = [_fit_label(chart, label, min(_WIDEST_LABEL, width // 3)) for label in lengths]
    values = [chart.x.format(sum(parts.values()), with_unit=True) for parts in lengths.values()]
    longest, longest_value = max(map(cell_len, labels)), max(map(cell_len, values))
    cells = max(1, width - longest - longest_value - 2) / (
        max(map(sum, map(dict.values, lengths.values()))) or 1.0
    )
    gap = [Text()] if rows >= 2 * len(lengths) else []
    lines: list[Text] = []
    for label, value, parts in zip(labels, values, lengths.values(), strict=True):
        bar, length = Text(no_wrap=True), 0.0
        for word, part in parts.items():
            length += part
            bar.append("█" * (max(part > 0, round(cells * length)) - bar.cell_len), _style(colors[word]))
        head = f"{label}{' ' * (longest - cell_len(label))} {value:>{longest_value}} "
        lines += [Text.assemble(head, bar), *gap]
    return Text("\n").join(lines)


def _fit_label(chart: Chart, label: str, width: int) -> str:
    return shorten_middle(printable(label), width) if chart.shorten is None else chart.shorten(label, width)


def _paint_columns(chart: Chart, colors: Mapping[str, Color], canvas: _Canvas) -> None:
    """Draw columns side by side; of those that share a cell, the tallest."""
    x, y = _numbers(chart, chart.x), _numbers(chart, chart.y)
    half = (x[1] - x[0]) / 2 if chart.kind == "histogram" and len(x) > 1 else 0.5
    lower, upper = x[0] - half, x[-1] + half
    cells = np.linspace(lower, upper, 2 * canvas.width)  # half cells
    first = np.clip(np.searchsorted(x, cells - half, side="left"), 0, len(x) - 1)
    if len(x) > len(cells):
        starts = np.searchsorted(x, cells, side="left").clip(0, len(x) - 1)
        ends = np.append(starts[1:], len(x))
        pairs = zip(starts, ends, strict=True)
        first = np.array([start + int(np.argmax(y[start : max(end, start + 1)])) for start, end in pairs])
    words = chart.frame[chart.color.key].to_numpy() if chart.color else np.full(len(x), "")
    is_current = (
        x[first] == canvas.layer
        if chart.x.key == "index" and canvas.layer is not None
        else np.zeros(len(first), bool)
    )
    tones = [*((words == word, color) for word, color in colors.items())]
    shown = [((rows[first] & ~is_current), color) for rows, color in tones] + [(is_current, canvas.look.mark)]
    for rows, color in shown:
        rows = rows & (y[first] > 0)
        if rows.any():
            plotext.scatter(
                cells[rows].tolist(), y[first][rows].tolist(), marker=_MARKER, color=color, fillx=True
            )
    if is_current.any():  # a shape too: without colors the bar is like the others
        middle = int(np.median(np.flatnonzero(is_current)))
        plotext.scatter([cells[middle]], [y[first][middle]], marker="●", color=canvas.look.mark)
    _set_axis("x", chart.x, lower, upper, max(2, canvas.width // 16), is_whole=half == 0.5)
    top = float(y.max()) or 1.0
    _set_axis("y", chart.y, 0.0, top, 5)
    _draw_marks(chart, canvas, (lower, upper), (0.0, top))


def _paint_points(chart: Chart, colors: Mapping[str, Color], canvas: _Canvas) -> None:
    """Draw points, or lines, of each color; both axes logarithmic on demand."""
    scale = np.log10 if chart.is_log else np.asarray
    x, y = scale(_numbers(chart, chart.x)), scale(_numbers(chart, chart.y))
    words = chart.frame[chart.color.key].to_numpy() if chart.color else np.full(len(x), "")
    lines = {
        label: (scale(np.array(points)[:, 0]), scale(np.array(points)[:, 1]))
        for label, points in chart.lines.items()
    }
    for across, up in lines.values():
        plotext.plot(across.tolist(), up.tolist(), marker="braille", color=canvas.look.line)
    for word, color in colors.items():
        rows = words == word
        if chart.kind == "line":
            plotext.plot(x[rows].tolist(), y[rows].tolist(), marker="braille", color=color)
        else:
            plotext.scatter(x[rows].tolist(), y[rows].tolist(), marker="•", color=color)
    if canvas.layer is not None and "index" in chart.frame:
        rows = chart.frame["index"].to_numpy() == canvas.layer
        if rows.any():
            plotext.scatter(x[rows].tolist(), y[rows].tolist(), marker="●", color=canvas.look.mark)
    all_x, all_y = (
        np.concatenate([part, *(end[axis] for end in lines.values())]) for axis, part in enumerate((x, y))
    )
    reach = (float(all_x.min()), float(all_x.max()))
    height = (float(all_y.min()), float(all_y.max()))
    if chart.is_log:
        reach, height = _set_log_axis("x", chart.x, *reach), _set_log_axis("y", chart.y, *height)
    else:
        _set_axis("x", chart.x, *reach, max(2, canvas.width // 16))
        if chart.ticks:
            plotext.xticks(list(chart.ticks.values()), list(chart.ticks))
        margin = 0.05 * (height[1] - height[0])
        height = (max(0.0, height[0] - margin), height[1] + margin)
        _set_axis("y", chart.y, *height, 5)
        _draw_marks(chart, canvas, reach, height)
    step = (height[1] - height[0]) / canvas.rows
    for label, (across, up) in lines.items():
        is_level = up[0] == up[-1]
        place, side = (-1, "right") if is_level else (0, "left")
        plotext.text(printable(label), float(across[place]), float(up[place]) + step * (1 if is_level else 2),
                     color=canvas.look.line, alignment=side)  # fmt: skip


_PAINTERS: dict[str, Callable[[Chart, Mapping[str, Color], _Canvas], None]] = {
    "column": _paint_columns,
    "histogram": _paint_columns,
    "line": _paint_points,
    "scatter": _paint_points,
}


def _draw_marks(
    chart: Chart, canvas: _Canvas, reach: tuple[float, float], height: tuple[float, float]
) -> None:
    """Draw a vertical line per mark, its label beside it, in the first line where it hides no other."""
    taken: list[float] = []
    cell = (reach[1] - reach[0]) / canvas.width
    for label, place in sorted(chart.marks.items(), key=lambda mark: mark[1]):
        row = next((row for row, end in enumerate(taken) if end < place), len(taken))
        taken[row : row + 1] = [place + cell * (len(label) + 2)]
        plotext.vline(place, canvas.look.mark)
        up = height[1] - row * (height[1] - height[0]) / max(1, canvas.rows - 1)
        is_last = place + cell * (len(label) + 2) > reach[1]
        text, side = (f"{label}│", "right") if is_last else (f"│{label}", "left")
        plotext.text(text, place, up, color=canvas.look.mark, alignment=side)


def _set_axis(
    axis: str, column: Column, lower: float, upper: float, ticks: int, *, is_whole: bool = False
) -> None:
    upper = upper if upper > lower else lower + 1.0
    unit = 1024.0 ** max(0, floor(log(upper, 1024))) if column.key.endswith("_bytes") and upper > 1 else 1.0
    places = [unit * place for place in _round_steps(lower / unit, upper / unit, ticks)]
    places = [place for place in places if not is_whole or place == round(place)]
    _set(axis, column, lower, upper, places, [_tick(column, place) for place in places])


def _set_log_axis(axis: str, column: Column, lower: float, upper: float) -> tuple[float, float]:
    """Set limits and ticks at 1, 2 and 5 · 10ⁿ, at 10ⁿ alone for many decades; return the limits."""
    factors = (1, 2, 5) if upper - lower < _FEW_DECADES else (1,)
    steps = [place + log10(factor) for place in range(floor(lower), ceil(upper) + 1) for factor in factors]
    lower = max((step for step in steps if step <= lower + 1e-9), default=lower)
    upper = min((step for step in steps if step >= upper - 1e-9 and step > lower), default=lower + 1.0)
    places = [step for step in steps if lower <= step <= upper]
    _set(axis, column, lower, upper, places, [_tick(column, 10.0**place) for place in places])
    return lower, upper


def _set(
    axis: str, column: Column, lower: float, upper: float, places: Sequence[float], labels: Sequence[str]
) -> None:
    title = column.title if column.unit.is_written else column.label
    for name, values in (("lim", (lower, upper)), ("ticks", (places, labels)), ("label", (title,))):
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


def _numbers(chart: Chart, column: Column) -> Values:
    return chart.frame[column.key].to_numpy(dtype=float, na_value=np.nan)
