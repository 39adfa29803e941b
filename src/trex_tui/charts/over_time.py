"""The latencies of the queries one after the other: drift, steps, outliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trex_tui.analysis.robust import median
from trex_tui.analysis.stability import Stability
from trex_tui.charts.axes import Scale, plot_area
from trex_tui.charts.figure import WARNING, Figure, Subject
from trex_tui.charts.grid import Part, Span
from trex_tui.charts.queries import NO_ROWS, Queries, judgement_of, queries_of
from trex_tui.charts.raster import Curve, draw_curves
from trex_tui.text import format_ms, plural

_TAIL_PCT = 1.0
"""The outliers are part of the story, unless they are few and lie far out."""
_LINE, _MARK = "$primary", "$accent"


@dataclass(frozen=True, slots=True)
class Course:
    """What the chart is of: the queries in their order, what is odd about them, and between which values it spreads."""

    queries: Queries
    judged: Stability
    limits_ms: tuple[float, float]

    @property
    def x(self) -> tuple[Sequence[float], str]:
        """The place of each query, and the unit: seconds, or its number where no stamps tell."""
        starts = self.queries.starts_s
        return (starts, "s from the first query") if starts else (range(self.queries.count), "query")

    def scales(self) -> tuple[Scale, Scale]:
        """Both axes."""
        low, high = self.limits_ms
        margin = (high - low) * 0.04 or max(high * 0.05, 1e-6)
        places, unit = self.x
        y = Scale(low - margin, high + margin, f"{self.queries.what}, ms")
        return Scale(float(places[0]), float(places[-1]) or 1.0, unit), y


def over_time_figure(subject: Subject, width: int) -> Figure:  # noqa: ARG001
    """Latency of the queries one after the other, and what is odd about it."""
    queries, judged = queries_of(subject.engine), judgement_of(subject.engine)
    if queries is None or judged is None:
        return Figure((NO_ROWS,))
    data = Course(queries, judged, queries.limits_ms(_TAIL_PCT))
    low, high = data.limits_ms
    beyond = sum(not low <= value <= high for value in queries.values_ms)
    words = [f"Latency of each query: {queries.counted}. {' '.join(judged.sentences)}"]
    if beyond:
        ends = (("▲", queries.ordered_ms[-1] > high), ("▼", queries.ordered_ms[0] < low))
        signs = " ".join(sign for sign, is_there in ends if is_there)
        span = f"{format_ms(queries.ordered_ms[0])} to {format_ms(queries.ordered_ms[-1])}"
        words.append(
            f"{plural(beyond, 'query', 'queries')} beyond the plot stand at its edge ({signs}); all lie from {span} ms."
        )

    def paint(part: Part) -> None:
        _paint_over_time(part, data)

    return Figure(tuple(words), queries.left_out, paint, marks_layer=False, data=data)


def _paint_over_time(part: Part, data: Course) -> None:
    queries, judged = data.queries, data.judged
    x, y = data.scales()
    legend = [Span("━ each query", "$secondary")]
    many = queries.count > 4 * part.width
    if many:
        legend = [Span("⣿ least to most", "$secondary"), Span("  ⠒ median", _LINE)]
    marks = _mark_legend(judged)
    area = plot_area(part, x, x.title, y, [*legend, *marks])
    places = [x.fraction(position) for position in data.x[0]]
    xs, ys = extremes(places, queries.values_ms, 2 * area.width) if many else (places, queries.values_ms)
    curves = [Curve(xs, [y.fraction(value) for value in ys], "$secondary")]
    if many:
        xs, ys = column_medians(places, queries.values_ms, area.width)
        curves.append(Curve(xs, [y.fraction(value) for value in ys], _LINE))
    curves += _drift_line(judged, y)
    draw_curves(area, curves)
    _mark_edges(area, places, queries.values_ms, data.limits_ms)
    _mark_changes(area, judged, places)


def _mark_legend(judged: Stability) -> list[Span]:
    marks = []
    if judged.steps:
        marks.append(Span("  ┊ step", _MARK))
    elif judged.drift and judged.drift.found:
        marks.append(Span("  ━ drift", _MARK))
    if judged.settling:
        marks.append(Span("  ┊ settling", WARNING))
    return marks


def extremes(
    places: Sequence[float], values: Sequence[float], columns: int
) -> tuple[list[float], list[float]]:
    """The least and the largest value of each of `columns` columns, in the order in which they came.

    Args:
        places: Of the values, 0 to 1, never falling.
    """
    xs: list[float] = []
    ys: list[float] = []
    for start, end in _column_runs(places, columns):
        part = values[start:end]
        least, most = min(part), max(part)
        first, last = sorted((part.index(least), part.index(most)))
        for place in dict.fromkeys((first, last)):
            xs.append(places[start + place])
            ys.append(part[place])
    return xs, ys


def column_medians(
    places: Sequence[float], values: Sequence[float], columns: int
) -> tuple[list[float], list[float]]:
    """The median of the values of each column."""
    runs = _column_runs(places, columns)
    middles = [(places[start] + places[end - 1]) / 2 for start, end in runs]
    return middles, [median(values[start:end]) for start, end in runs]


def _column_runs(places: Sequence[float], columns: int) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    start, column = 0, -1
    for position, place in enumerate(places):
        here = min(columns - 1, int(place * columns))
        if here != column:
            if position:
                runs.append((start, position))
            start, column = position, here
    runs.append((start, len(places)))
    return runs


def drift_ends_ms(judged: Stability) -> tuple[float, float] | None:
    """Where the line of a drift begins and ends; None where there is none, or it is steps."""
    if judged.steps or not judged.drift or not judged.drift.found or judged.median_ms is None:
        return None
    half = judged.drift.change_ms / 2
    return judged.median_ms - half, judged.median_ms + half


def _drift_line(judged: Stability, y: Scale) -> list[Curve]:
    ends = drift_ends_ms(judged)
    return [Curve([0.0, 1.0], [y.fraction(end) for end in ends], _MARK)] if ends else []


def _mark_edges(
    area: Part, places: Sequence[float], values: Sequence[float], limits: tuple[float, float]
) -> None:
    low, high = limits
    for place, value in zip(places, values, strict=True):
        if value > high or value < low:
            column = min(area.width - 1, int(place * area.width))
            area.put(column, 0 if value > high else area.height - 1, "▲" if value > high else "▼", WARNING)


def changes(judged: Stability, rows: int) -> list[tuple[int, str, str]]:
    """Where the level changes, out of so many rows: row, label, style."""
    marks = [(step.row, f"{step.change_pct:+.1f} %", _MARK) for step in judged.steps]
    if judged.settling and judged.settling.rows < rows:
        marks.append((judged.settling.rows, "settled", WARNING))
    return marks


def _mark_changes(area: Part, judged: Stability, places: Sequence[float]) -> None:
    for row, label, style in changes(judged, len(places)):
        column = min(area.width - 1, int(places[row] * area.width))
        for line in range(area.height):
            if area.is_blank(column, line):
                area.put(column, line, "┊", style)
        area.label(column + 2, area.height - 1, label, style)
