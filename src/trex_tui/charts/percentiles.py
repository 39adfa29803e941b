"""Latency against percentile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class PercentileCurve:
    """What the chart is of.

    Attributes:
        curve: Places on the stretched axis, and milliseconds.
        points: The named percentiles, and milliseconds.
        what: Which column it is.
    """

    curve: Sequence[tuple[float, float]]
    points: Sequence[tuple[float, float]]
    what: str

    def scales(self) -> tuple[Scale, Scale]:
        """Both axes; the horizontal one is of stretched percentiles."""
        low, high = min(value for _, value in self.curve), max(value for _, value in self.curve)
        margin = (high - low) * 0.08 or max(high * 0.05, 1e-6)
        x = Scale(self.curve[0][0], self.curve[-1][0], "percentile, stretched towards 100")
        return x, Scale(low - margin, high + margin, f"{self.what}, ms")

    def ticks(self, x: Scale) -> list[Tick]:
        """The named percentiles."""
        return [(x.fraction(stretched(pct)), f"p{pct:g}") for pct, _ in self.points]


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
    return _figure(words, missing, PercentileCurve(curve, points, queries.what))


def _figure(words: tuple[str, ...], missing: tuple[str, ...], data: PercentileCurve) -> Figure:
    return Figure(words, missing, lambda part: _paint_percentiles(part, data), marks_layer=False, data=data)


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
    return _figure(words, missing, PercentileCurve(curve, points, "latency"))


def _paint_percentiles(part: Part, data: PercentileCurve) -> None:
    x, y = data.scales()
    area = plot_area(part, data.ticks(x), x.title, y)
    xs = [x.fraction(step) for step, _ in data.curve]
    draw_curves(area, [Curve(xs, [y.fraction(value) for _, value in data.curve], _LINE)])
    for pct, value in data.points:
        column = min(area.width - 1, int(x.fraction(stretched(pct)) * area.width))
        row = area.height - 1 - y.cell(value, area.height)
        area.put(column, row, "●", _MARK)
        label = f"{format_ms(value)}"
        for start, line in (
            (column - len(label) // 2, row - 1),
            (column - len(label) - 1, row),
            (column, row + 1),
        ):
            if area.label(start, line, label, _MARK):
                break
