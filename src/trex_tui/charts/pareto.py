"""How few layers take most of the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from trex_tui.charts.axes import Scale, Tick, nice_step, plot_area
from trex_tui.charts.bars import column_span, draw_columns, largest_of_columns
from trex_tui.charts.figure import HERE, HERE_STYLE, NO_LAYER, NO_PROFILE, WARNING, Figure, Subject
from trex_tui.charts.grid import Part, Span
from trex_tui.charts.raster import Curve, draw_curves
from trex_tui.engine.model import Layer
from trex_tui.text import format_ms, plural

MOST_OF_IT = 80.0
"""Percent of the time that the chart names the layers of."""


@dataclass(frozen=True, slots=True)
class Pareto:
    """Layers by time.

    Attributes:
        layers: Those with a time, the slowest first.
        shares_pct: Share of each in the time of all of them.
        cumulative_pct: Share of the first, the first two, and so on; the last is 100.
        most: How many layers take `MOST_OF_IT` percent together.
    """

    layers: tuple[Layer, ...]
    shares_pct: tuple[float, ...]
    cumulative_pct: tuple[float, ...]
    most: int


def pareto(layers: Sequence[Layer]) -> Pareto | None:
    """Sort layers by time and add up; None if none takes any."""
    timed = sorted(
        (layer for layer in layers if layer.latency_ms is not None),
        key=lambda layer: (-(layer.latency_ms or 0.0), layer.index),
    )
    sums = list(accumulate(layer.latency_ms or 0.0 for layer in timed))
    if not sums or sums[-1] <= 0:
        return None
    shares = tuple(100.0 * (layer.latency_ms or 0.0) / sums[-1] for layer in timed)
    cumulative = tuple(100.0 * one / sums[-1] for one in sums)
    most = next(place for place, pct in enumerate(cumulative, start=1) if pct >= MOST_OF_IT)
    return Pareto(tuple(timed), shares, cumulative, most)


def pareto_figure(subject: Subject, width: int) -> Figure:  # noqa: ARG001 - every chart is asked so
    """Cumulative share of the time over the layers, the slowest first."""
    if not subject.layers:
        return Figure((NO_LAYER,))
    found = pareto(subject.layers)
    if found is None:
        return Figure((NO_PROFILE,))
    count = len(found.layers)
    total = sum(layer.latency_ms or 0.0 for layer in found.layers)
    few = 100.0 * found.most / count
    parts = [
        f"Share of the time over layers, the slowest first: {found.most} of {plural(count, 'layer')} ({few:.0f} %) take "
        f"{found.cumulative_pct[found.most - 1]:.1f} % of {format_ms(total)} ms."
    ]
    place = _place_of(subject, found)
    if place is not None and subject.current is not None:
        parts.append(
            f"Layer {subject.current.index} is number {place + 1} by time; up to it, {found.cumulative_pct[place]:.1f} %."
        )
    untimed = len(subject.layers) - count
    missing = (f"{plural(untimed, 'layer')} without a time left out.",) if untimed else ()
    return Figure(tuple(parts), missing, lambda part: _paint(part, found, place), data=found)


def _place_of(subject: Subject, found: Pareto) -> int | None:
    return next((place for place, layer in enumerate(found.layers) if layer is subject.current), None)


def _paint(part: Part, found: Pareto, here: int | None) -> None:
    count = len(found.layers)
    y = Scale(0.0, 100.0, "% of the time")
    legend = [Span("━ added up", "$secondary"), Span("  ■ each layer", "$primary")]
    area = plot_area(part, rank_ticks(count, part.width // 10), "layers, the slowest first", y, legend)
    _draw_shares(area, found.shares_pct)
    xs = [(place + 0.5) / count for place in range(count)]
    ys = [pct / 100.0 for pct in found.cumulative_pct]
    step = max(
        1, count // (4 * area.width)
    )  # the curve never falls: between two of its points it cannot stray
    kept = sorted({*range(0, count, step), count - 1})
    draw_curves(area, [Curve([xs[place] for place in kept], [ys[place] for place in kept], "$secondary")])
    _mark_most(area, found)
    if here is not None:
        column = min(area.width - 1, int(xs[here] * area.width))
        area.put(column, area.height - 1 - y.cell(found.cumulative_pct[here], area.height), HERE, HERE_STYLE)


def _draw_shares(area: Part, shares: Sequence[float]) -> None:
    count, width = len(shares), area.width
    if count > width:
        values = [shares[place] for place in largest_of_columns(shares, width)]
    else:
        values = [0.0] * width
        for place, share in enumerate(shares):
            start, end = column_span(place, count, width)
            values[start : end - (end - start > 2)] = [share] * (end - start - (end - start > 2))
    draw_columns(area, [value / 100.0 for value in values], ["$primary"] * width)


def _mark_most(area: Part, found: Pareto) -> None:
    """A line across at 80 %, one down where it is reached, and the number of layers."""
    row = area.height - 1 - int(MOST_OF_IT / 100.0 * area.height)
    column = min(area.width - 1, int((found.most - 0.5) / len(found.layers) * area.width))
    for x in range(area.width):
        if area.is_blank(x, row):
            area.put(x, row, "┄", WARNING)
    for y in range(row + 1, area.height):
        if area.is_blank(column, y):
            area.put(column, y, "┊", WARNING)
    area.put(column, row, "▲", WARNING)
    label = f"{MOST_OF_IT:.0f} % in {plural(found.most, 'layer')}"
    _ = area.label(column + 2, row + 1, label, WARNING) or area.label(column + 2, row + 2, label, WARNING)


def rank_ticks(count: int, most: int) -> list[Tick]:
    """Round ranks out of `count`, and the first."""
    step = max(1, round(nice_step(count / max(2, most))))
    ranks = [1, *range(step, count + 1, step)] if step > 1 else list(range(1, count + 1))
    return [((rank - 0.5) / count, str(rank)) for rank in ranks]
