"""The timing run as files: tables and pictures by the names that toolkits around trtexec give them."""

from __future__ import annotations

from collections.abc import Sequence

from trex_tui.report.charts.figure import Lines, Scale, Series, spread
from trex_tui.report.charts.png import png_of
from trex_tui.report.charts.sampling import column_medians
from trex_tui.report.charts.svg_painter import draw_svg, picture
from trex_tui.report.charts.svg_plot import Caption
from trex_tui.report.views.timing import Times, enqueue_csv, percentiles_csv, series_csv, summary_csv
from trex_tui.text import plural

__all__ = ["enqueue_chart", "png_of", "times_files"]

_CHARTS = {
    "latency_histogram.svg": "histogram",
    "latency_percentiles.svg": "percentiles",
    "latency_over_time.svg": "over-time",
}
_ENQUEUE_CHART = "enqueue_compute.svg"
_TABLES = ("summary.csv", "latency_percentiles.csv", "latency_series.csv", "enqueue_compute_series.csv")
NAMES = frozenset(
    (
        *_TABLES,
        *(
            name.removesuffix("svg") + ending
            for name in (*_CHARTS, _ENQUEUE_CHART)
            for ending in ("svg", "png")
        ),
    )
)
"""Every name that a file of a run may have, but for `summary.json`."""
_MOST_POINTS = 700
_COLUMNS = 180
_STYLES = {"compute": "$primary", "enqueue": "$accent"}


def times_files(run: Times) -> dict[str, str]:
    """Name -> content of every file but `summary.json`; a picture or a series that has no data is left out."""
    summary, percentiles, series, enqueue = _TABLES
    files = {summary: summary_csv(run), percentiles: percentiles_csv(run)}
    if run.series:
        files[series] = series_csv(run)
    if "enqueue" in run.series:
        files[enqueue] = enqueue_csv(run)
    for name, chart in _CHARTS.items():
        drawn = picture(chart, run.engine, standalone=True).svg
        if drawn is not None:
            files[name] = drawn
    if "enqueue" in run.series:
        files[_ENQUEUE_CHART] = enqueue_chart(run, standalone=True)
    return files


def enqueue_chart(run: Times, *, standalone: bool = False) -> str:
    """Enqueue and compute of the queries, one after the other: medians of neighbours where there are many."""
    starts = run.starts_ms
    stamps = [start / 1000.0 for start in starts] if starts and list(starts) == sorted(starts) else None
    places = stamps or [float(row) for row in range(len(run.series["enqueue"]))]
    x = Scale(places[0], max(places[-1], places[0] + 1e-6), "s from the first query" if stamps else "query")
    shown = [
        Series(name, _thinned(x, places, run.series[name]), style)
        for name, style in _STYLES.items()
        if name in run.series
    ]
    words = [f"Enqueue and compute of each query: {plural(len(places), 'query', 'queries')}."]
    if len(places) > _MOST_POINTS:
        words.append(f"Drawn are the medians of {_COLUMNS} parts of the run.")
    missing = []
    resolution = run.enqueue_resolution_ms
    if resolution is not None:
        missing.append(
            f"The enqueue is a difference of stamps, which late in the run resolve {resolution:.2g} ms."
        )
    values = [1.05 * value for one in shown for _, value in one.points]
    caption = Caption(
        f"Enqueue and compute · {run.engine.name}", tuple(words), tuple(missing), standalone=standalone
    )
    return draw_svg(Lines(shown, x, spread(values, "ms", from_zero=True)), caption)


def _thinned(x: Scale, places: Sequence[float], values: Sequence[float]) -> list[tuple[float, float]]:
    known = [(place, value) for place, value in zip(places, values, strict=True) if value == value]
    if len(known) <= _MOST_POINTS:
        return known
    fractions = [x.fraction(place) for place, _ in known]
    at, medians = column_medians(fractions, [value for _, value in known], _COLUMNS)
    return [(x.low + one * (x.high - x.low), value) for one, value in zip(at, medians, strict=True)]
