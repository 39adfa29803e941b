"""The view of scaling: a row per point, and the layers whose limit changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from trex_tui._version import __version__
from trex_tui.old.analysis.thresholds import Bound
from trex_tui.old.errors import Diagnostic
from trex_tui.old.fleet.scaling import BOUNDS, NEAR_BEST_PCT, BoundChange, Scaling, ScalingPoint
from trex_tui.old.report.document import Cell, Column, Section, Table, drop_empty_columns, make_table
from trex_tui.old.report.render_json import diagnostic_object, row_objects
from trex_tui.old.text import plural, printable

SCHEMA = "trex-tui/scaling/1"


def _bound_column(bound: Bound) -> Column:
    return Column(
        f"{bound.value}_pct",
        f"{bound.value} %",
        value=lambda point: point.bound_pcts.get(bound),
        is_number=True,
        priority=2,
        help=f"Share of the layer times with this limit ({bound.value}), of those where the limit is known.",
    )


POINT_COLUMNS = (
    Column(
        "point",
        "point",
        value=lambda point: Cell(point.engine.name, printable(point.engine.name)),
        flex=True,
        width=12,
        help="Name of the engine.",
    ),
    Column(
        "batch",
        "batch",
        value=lambda point: point.batch,
        is_number=True,
        format=str,
        help="Samples per query.",
    ),
    Column(
        "input_elements",
        "input elements",
        value=lambda point: point.elements,
        is_number=True,
        priority=3,
        help="Elements of all inputs.",
    ),
    Column(
        "median_ms",
        "median ms",
        value=lambda point: point.median_ms,
        is_number=True,
        help="Median latency end to end.",
    ),
    Column(
        "p99_ms",
        "p99 ms",
        value=lambda point: point.p99_ms,
        is_number=True,
        priority=2,
        help="99th percentile of the latency.",
    ),
    Column(
        "throughput_qps",
        "qps",
        value=lambda point: point.throughput_qps,
        is_number=True,
        priority=2,
        help="Queries per second.",
    ),
    Column(
        "samples_per_s",
        "samples/s",
        value=lambda point: point.samples_per_s,
        is_number=True,
        help="Throughput times batch; batch over median without a throughput.",
    ),
    Column(
        "per_sample_ms",
        "ms per sample",
        value=lambda point: point.per_sample_ms,
        is_number=True,
        has_bar=True,
        help="Median latency over batch.",
    ),
    Column(
        "marginal_ms",
        "ms per further sample",
        value=lambda point: point.marginal_ms,
        is_number=True,
        priority=1,
        help="Further median latency per further sample, against the next smaller batch.",
    ),
    Column(
        "efficiency_pct",
        "efficiency %",
        value=lambda point: point.efficiency_pct,
        is_number=True,
        help="Samples per second in percent of the best point.",
    ),
    *map(_bound_column, BOUNDS),
)
LIMIT_COLUMNS = (
    Column("layer", "layer", flex=True, width=16, help="Main layer of those that do the same work."),
    Column("kind", "kind", help="Kind of the layer."),
    Column(
        "limits",
        "limits",
        flex=True,
        width=20,
        help="Bound of the layer, from the smallest point to the largest.",
    ),
    Column("min_ms", "min ms", is_number=True, help="Shortest time over the points."),
    Column("max_ms", "max ms", is_number=True, help="Longest time over the points."),
)


def scaling_sections(scalings: Iterable[Scaling], top: int | None) -> Iterator[Section]:
    """Yield the sections of all models."""
    for number, scaling in enumerate(scalings, start=1):
        name = printable(scaling.name)
        table = drop_empty_columns(_points_table(scaling))
        yield Section(
            f"scaling-{number}", f"Scaling of {name}", sentences=list(_sentences(scaling)), tables=[table]
        )
        if scaling.changes:
            yield Section(
                f"limits-{number}",
                f"Layers of {name} with another limit",
                tables=[_limits_table(scaling, top)],
            )


def _sentences(scaling: Scaling) -> Iterator[str]:
    points = scaling.points
    if len(points) < 2:
        yield "Only one point."
        return
    if scaling.is_by_shape:
        yield "Equal batch: sorted by the elements of the inputs."
    if scaling.good_enough is not None:
        point = points[scaling.good_enough]
        yield f"{NEAR_BEST_PCT:g} % of the best samples/s from batch {point.batch} on."
    if not any(point.bound_pcts for point in points):
        yield "Limits of layers unknown (need a profile and a known device, or --peak)."
    elif scaling.changes:
        yield f"{plural(len(scaling.changes), 'layer')} with another limit at another point."


def _points_table(scaling: Scaling) -> Table:
    return make_table("points", POINT_COLUMNS, scaling.points, noun="point")


def _limits_table(scaling: Scaling, top: int | None = None) -> Table:
    rows = [_limit_row(change, scaling.points) for change in scaling.changes]
    return make_table("limits", LIMIT_COLUMNS, rows, top=top, noun="layer")


def _limit_row(change: BoundChange, points: Sequence[ScalingPoint]) -> tuple[Any, ...]:
    known = [time for time in change.latency_ms if time is not None]
    return (
        Cell(change.label, printable(change.label)),
        change.kind,
        ", ".join(_limits(change, points)),
        min(known, default=None),
        max(known, default=None),
    )


def _limits(change: BoundChange, points: Sequence[ScalingPoint]) -> Iterator[str]:
    """Yield `launch 1–4`, `compute 8`: the limit with the batches, or with the numbers of the points."""
    has_batches = len({point.batch for point in points}) == len(points)
    labels = [str(point.batch if has_batches else number) for number, point in enumerate(points, start=1)]
    for bound, group in groupby(zip(change.bounds, labels, strict=True), key=lambda pair: pair[0]):
        places = [label for _, label in group]
        if bound is not None:
            yield f"{bound.value} {places[0]}" + (f"–{places[-1]}" if len(places) > 1 else "")


def scaling_object(scalings: Iterable[Scaling], diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """Return the JSON document."""
    return {
        "schema": SCHEMA,
        "trex_tui": __version__,
        "scalings": [
            {
                "name": scaling.name,
                "is_by_shape": scaling.is_by_shape,
                "good_enough": scaling.good_enough,
                "points": row_objects(_points_table(scaling)),
                "limits": [
                    {**row, "limit_by_point": [bound.value if bound else None for bound in change.bounds]}
                    for row, change in zip(row_objects(_limits_table(scaling)), scaling.changes, strict=True)
                ],
            }
            for scaling in scalings
        ],
        "diagnostics": [diagnostic_object(diagnostic) for diagnostic in diagnostics],
    }
