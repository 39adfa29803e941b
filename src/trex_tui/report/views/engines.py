"""Many engines: a row each, groups of them, and a chart of each model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pandas as pd

from trex_tui._version import __version__
from trex_tui.analysis.engines import (
    CHANGES,
    COLUMNS,
    FRONT,
    RANGE,
    EngineTable,
    group_engines,
    varying_columns,
)
from trex_tui.column import RARE, Column
from trex_tui.errors import TrexError
from trex_tui.frames import is_number
from trex_tui.report.charts import Chart
from trex_tui.report.document import Document, Section
from trex_tui.report.views.layers import limit_rows
from trex_tui.text import fit_device_name, plural

RANGED = ("latency_median_ms", "latency_p99_ms", "throughput_qps", "energy_per_inference_j")
"""Measures of groups by default."""
_X, _SECOND = "latency_median_ms", ("weights_bytes", "activation_peak_bytes", "latency_p99_ms")
_WIDTHS = {
    "engine": 16,
    "model": 10,
    "device": 12,
    "directory": 16,
    "main_kinds": 16,
    "build_options": 16,
    "cautions": 12,
    "error": 16,
}


def list_engines(
    table: EngineTable,
    index: pd.Index,
    columns: Sequence[Column] | None = None,
    top: int | None = None,
    *,
    has_charts: bool = False,
) -> Document:
    """Return a row per engine, in an order.

    Args:
        columns: Those of the table; None for all, of which people see the ones that differ.
        has_charts: Add a chart of each model.
    """
    frame = table.frame.loc[index]
    shown = columns or [table.columns[key] for key in _main_columns(table)]
    frame = frame[[column.key for column in columns]] if columns else frame
    sentences = [_count(table, index), *(_describe_constants(table) if columns is None else ())]
    section = limit_rows(_section("rows", frame, shown, sentences), top)
    sections = [section, *(_chart_sections(table.frame.loc[index]) if has_charts else ())]
    data = {"trex_tui": __version__, "rows_total": len(index)}
    return Document("engines", "Engines", sections, table.notes, data=data, version=2)


def _section(key: str, frame: pd.DataFrame, columns: Sequence[Column], sentences: Sequence[str]) -> Section:
    fitted = [replace(column, width=_WIDTHS.get(column.key, column.width)) for column in columns]
    shorten = {"device": fit_device_name}
    return Section(
        key, "Engines", sentences=sentences, frame=frame, columns=fitted, shorten=shorten, noun="engine"
    )


def _main_columns(table: EngineTable) -> list[str]:
    varying = [key for key in varying_columns(table) if table.columns[key].priority < RARE or key in CHANGES]
    if FRONT.key in table.columns and FRONT.key not in varying:
        varying.insert(1, FRONT.key)
    if table.frame["is_peak_at_least"].notna().any() and "activation_peak_bytes" in varying:
        varying.insert(varying.index("activation_peak_bytes"), "is_peak_at_least")
    return varying


def _describe_constants(table: EngineTable) -> Iterator[str]:
    """Yield the values that all engines share, whose columns are left out."""
    if len(table.frame) < 2:
        return
    shown = set(_main_columns(table))
    texts = []
    for key in ("device", "tensorrt", "precision", "batch"):
        values = table.frame[key].dropna()
        if key not in shown and len(values) == len(table.frame):
            texts.append(f"{table.columns[key].title} {table.columns[key].format(values.iloc[0])}")
    if texts:
        yield f"All: {', '.join(texts)}."


def _count(table: EngineTable, index: pd.Index) -> str:
    rows = table.frame.loc[index]
    broken = int(rows["error"].notna().sum())
    models = rows["model"][rows["error"].isna()].nunique()
    sentence = f"{plural(len(rows), 'engine')} of {plural(models, 'model')}"
    sentence += f"; {len(table.frame) - len(rows)} filtered out" if len(rows) < len(table.frame) else ""
    return f"{sentence}; {broken} cannot be read." if broken else f"{sentence}."


def list_engine_groups(
    table: EngineTable,
    index: pd.Index,
    keys: Iterable[Column],
    measures: Sequence[Column],
    top: int | None = None,
) -> Document:
    """Return a row per model and combination of columns: engines, ranges of measures, and the engine with the best first one.

    Raises:
        TrexError: A measure is not a number.
    """
    frame = table.frame.loc[index]
    for measure in measures:
        if not is_number(frame[measure.key]):
            raise TrexError(f"--columns: {measure.key} is not a number; groups have ranges of numbers")
    shown = group_engines(frame, [column.key for column in keys], [measure.key for measure in measures])
    columns = [table.columns[key] for key in map(str, shown) if key in table.columns]
    columns.append(Column("engines", "engines", "Engines of the group."))
    for measure in measures:
        for part in RANGE:
            key, title = f"{part}_{measure.key}", f"{part} {measure.title}"
            priority = 1 if part == "median" else RARE
            columns.append(Column(key, title, f"{part} of the group. {measure.help}", priority=priority))
    columns.append(
        Column("best", "best", f"Engine of the group with the best {measures[0].title}.", width=12)
    )
    section = _section(
        "row_groups", shown, [c for c in columns if shown[c.key].notna().any()], [_count(table, index)]
    )
    section = limit_rows(replace(section, noun="group"), top)
    data = {"trex_tui": __version__, "rows_total": len(index)}
    return Document("engines", "Engines", [section], table.notes, data=data, version=2)


# Charts


def _chart_sections(frame: pd.DataFrame) -> Iterator[Section]:
    """Yield a chart of each model with several engines."""
    models = frame[frame["error"].isna()].groupby("model", sort=False)
    for number, (model, rows) in enumerate(models, start=1):
        if (chart := _tradeoff(rows)) is not None:
            yield Section(f"chart-{number}", str(model), chart=chart, audience="people")


def _tradeoff(rows: pd.DataFrame) -> Chart | None:
    """Return a size over the latency, or throughput over latency where batches differ."""
    second = next((key for key in _SECOND if rows[key].nunique() > 1), _SECOND[0])
    x, y = COLUMNS[_X], COLUMNS["samples_per_s" if rows["batch"].nunique() > 1 else second]
    color = COLUMNS["precision"]
    known = rows[["engine", x.key, y.key, color.key]].dropna(subset=[x.key, y.key])
    if len(known) < 2:
        return None
    known = known.fillna({color.key: "unknown"})
    return Chart("scatter", f"{y.title} over {x.title}", known, x, y, color)
