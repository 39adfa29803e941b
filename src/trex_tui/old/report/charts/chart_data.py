"""The numbers of a chart as a table: a row for each bar, column, bin, point, or block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from typing import Any

from trex_tui.old.report.charts.figure import (
    Bars,
    Blocks,
    Chart,
    Columns,
    Histogram,
    Lines,
    Points,
    Subject,
)
from trex_tui.old.report.document import Column, Listing, Table

SCHEMA = "trex-tui/chart-data/1"
_MOST_BINS = 120
_NUMBERS = frozenset(
    (
        *("layer", "value", "low", "high", "count", "x", "y", "depth", "size"),
        *("first_quartile", "median", "third_quartile"),
    )
)

Rows = Iterable[Sequence[Any]]


def chart_listing(chart: Chart, subject: Subject) -> Listing:
    """Return the numbers that a chart draws; no rows without data."""
    form = chart.make(subject).form
    keys, titles, rows = ((), {}, []) if form is None else tabulate(form)
    columns = [Column(key, titles.get(key, key), is_number=key in _NUMBERS) for key in keys]
    table = Table(
        chart.id.replace("-", "_"),
        columns,
        [list(row) for row in rows],
        title=chart.titled(subject.layers).title,
    )
    return Listing(SCHEMA, subject.engine.name, table, "engine", subject.engine.diagnostics)


@singledispatch
def tabulate(form: object) -> tuple[Sequence[str], dict[str, str], Rows]:
    """Return keys of columns, titles of some of them, and rows."""
    raise TypeError(f"no table of {type(form).__name__}")


@tabulate.register
def _(form: Bars) -> tuple[Sequence[str], dict[str, str], Rows]:
    titles = {"value": form.unit}
    if any(bar.parts for bar in form.bars):
        parts = [(bar.label, part.label, part.value) for bar in form.bars for part in bar.parts]
        return ("name", "part", "value"), titles, parts
    if any(bar.box for bar in form.bars):
        boxes = [
            (bar.label, bar.target.layer if bar.target else None, *bar.box[:5], len(bar.box.beyond))
            for bar in form.bars
            if bar.box is not None
        ]
        return (
            ("name", "layer", "low", "first_quartile", "median", "third_quartile", "high", "count"),
            titles,
            boxes,
        )
    rows = [(bar.label, bar.target.layer if bar.target else None, bar.value) for bar in form.bars]
    return ("name", "layer", "value"), titles, rows


@tabulate.register
def _(form: Columns) -> tuple[Sequence[str], dict[str, str], Rows]:
    rows = [(*_layer_of(form.target(index).label), value) for index, value in enumerate(form.values)]
    return ("layer", "name", "value"), {"value": form.y.title}, rows


@tabulate.register
def _(form: Points) -> tuple[Sequence[str], dict[str, str], Rows]:
    rows = [(*_layer_of(form.target_of(index).label), dot.x, dot.y) for index, dot in enumerate(form.dots)]
    return ("layer", "name", "x", "y"), {"x": form.x.title, "y": form.y.title}, rows


def _layer_of(label: str) -> tuple[int | None, str]:
    """Return index and name of a layer from its label."""
    index, gap, name = label.partition("  ")
    return (int(index), name) if gap and index.isdecimal() else (None, label)


@tabulate.register
def _(form: Histogram) -> tuple[Sequence[str], dict[str, str], Rows]:
    bins = form.bins(_MOST_BINS)
    ends = [bins.low + index * bins.width for index in range(len(bins.counts) + 1)]
    rows: list[tuple[float | None, float | None, int]] = list(zip(ends, ends[1:], bins.counts, strict=False))
    if bins.below:
        rows.insert(0, (None, ends[0], bins.below))
    if bins.above:
        rows.append((ends[-1], None, bins.above))
    return ("low", "high", "count"), {"count": form.y_title}, rows


@tabulate.register
def _(form: Lines) -> tuple[Sequence[str], dict[str, str], Rows]:
    rows = [(series.name, x, y) for series in form.series for x, y in series.points]
    return ("series", "x", "y"), {"x": form.x.title, "y": form.y.title}, rows


@tabulate.register
def _(form: Blocks) -> tuple[Sequence[str], dict[str, str], Rows]:
    rows = [(block.depth, block.label, block.layer, block.size) for block in form.root.every()]
    return ("depth", "name", "layer", "size"), {}, rows
