"""Latency against percentile."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trex_tui.analysis.robust import percentile
from trex_tui.analysis.timing import LEAST_ROWS_OF_P999, printed_performance
from trex_tui.charts.axes import Scale, Tick, plot_area
from trex_tui.charts.figure import Figure, Subject
from trex_tui.charts.grid import Part
from trex_tui.charts.queries import NO_ROWS, percentile_words, queries_of
from trex_tui.charts.raster import Curve, draw_curves
from trex_tui.engine.engine import Engine
from trex_tui.text import format_ms

CURVE_PERCENTILES = (50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
_CURVE_POINTS = 160
_LINE, _MARK = "$primary", "$accent"


def stretched(pct: float) -> float:
    """Place of a percentile on an axis on which 90, 99 and 99.9 are equally far apart."""
    return -math.log10(1.0 - pct / 100.0)


def percentile_figure(subject: Subject, width: int) -> Figure:  # noqa: ARG001
    """Latency against percentile."""
    queries = queries_of(subject.engine)
    if queries is None:
        return _printed_figure(subject.engine)
    last = 99.9 if queries.count >= LEAST_ROWS_OF_P999 else 99.0
    named = [pct for pct in CURVE_PERCENTILES if pct <= last]
    ordered = queries.ordered_ms
    middle, end = percentile(ordered, 50.0), percentile(ordered, last)
    slower = 100.0 * (end / middle - 1.0) if middle > 0 else 0.0
    words = (
        f"The latency that so many percent of the queries stay within: {queries.counted}. "
        f"{percentile_words(ordered, named)}. The slowest in {round(100 / (100 - last))} takes {slower:.1f} % longer "
        "than the median.",
    )
    missing = queries.left_out
    if last < 99.9:
        missing += (f"p99.9 is not shown: it takes {LEAST_ROWS_OF_P999} queries.",)
    first = stretched(50.0)
    steps = [first + (stretched(last) - first) * step / _CURVE_POINTS for step in range(_CURVE_POINTS + 1)]
    curve = [(step, percentile(ordered, 100.0 * (1.0 - 10.0**-step))) for step in steps]
    points = [(pct, percentile(ordered, pct)) for pct in named]

    def paint(part: Part) -> None:
        _paint_percentiles(part, curve, points, queries.what)

    return Figure(words, missing, paint, marks_layer=False)


def _printed_figure(engine: Engine) -> Figure:
    """From trtexec's own summary, where there are no rows."""
    printed = printed_performance(engine)
    line = printed.latency if printed else None
    points = []
    if line is not None:
        found = {50.0: line.median_ms, **line.percentiles_ms}
        points = [
            (pct, value) for pct, value in sorted(found.items()) if value is not None and 50 <= pct < 100
        ]
    if printed is None or len(points) < 2:
        return Figure((NO_ROWS,))
    figures = " · ".join(f"p{pct:g} {format_ms(value)}" for pct, value in points)
    words = (f"The latency that so many percent of the queries stay within: {figures} ms.",)
    missing = (
        f"As trtexec printed it ({printed.source}); between the points the line is drawn straight. {NO_ROWS}",
    )
    curve = [(stretched(pct), value) for pct, value in points]

    def paint(part: Part) -> None:
        _paint_percentiles(part, curve, points, "latency")

    return Figure(words, missing, paint, marks_layer=False)


def _paint_percentiles(
    part: Part, curve: Sequence[tuple[float, float]], points: Sequence[tuple[float, float]], what: str
) -> None:
    low, high = min(value for _, value in curve), max(value for _, value in curve)
    margin = (high - low) * 0.08 or max(high * 0.05, 1e-6)
    y = Scale(low - margin, high + margin, f"{what}, ms")
    start, end = curve[0][0], curve[-1][0]

    def place(step: float) -> float:
        return (step - start) / (end - start)

    ticks: list[Tick] = [(place(stretched(pct)), f"p{pct:g}") for pct, _ in points]
    area = plot_area(part, ticks, "percentile, stretched towards 100", y)
    xs = [place(step) for step, _ in curve]
    draw_curves(area, [Curve(xs, [y.fraction(value) for _, value in curve], _LINE)])
    for pct, value in points:
        column = min(area.width - 1, int(place(stretched(pct)) * area.width))
        row = area.height - 1 - y.cell(value, area.height)
        area.put(column, row, "●", _MARK)
        label = f"{format_ms(value)}"
        for x, line in (
            (column - len(label) // 2, row - 1),
            (column - len(label) - 1, row),
            (column, row + 1),
        ):
            if area.label(x, line, label, _MARK):
                break
