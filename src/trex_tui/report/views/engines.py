"""Many engines: a row each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from trex_tui._version import __version__
from trex_tui.analysis.engines import (
    CHANGES,
    FRONT,
    EngineTable,
    varying_columns,
)
from trex_tui.column import RARE, Column
from trex_tui.errors import TrexError
from trex_tui.frames import is_number
from trex_tui.report.charts import Chart, Kind
from trex_tui.report.document import Document, Section
from trex_tui.report.views.layers import limit_rows
from trex_tui.text import fit_device_name, plural

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
    axes: Sequence[Column] = (),
) -> Document:
    """Return a row per engine, in an order.

    Args:
        columns: Those of the table; None for all, of which people see the ones that differ.
        axes: Measures of a chart, x and y; empty for none.

    Raises:
        TrexError: An axis is not a number.
    """
    frame = table.frame.loc[index]
    shown = columns or [table.columns[key] for key in _main_columns(table)]
    frame = frame[[column.key for column in columns]] if columns else frame
    sentences = [_count(table, index), *(_describe_constants(table) if columns is None else ())]
    section = limit_rows(_section("rows", frame, shown, sentences), top)
    data = {"trex_tui": __version__, "rows_total": len(index)}
    charts = [chart_section(table, index, *axes)] if axes else []
    return Document("engines", "Engines", [section, *charts], table.notes, data=data, version=2)


def chart_section(table: EngineTable, index: pd.Index, x: Column, y: Column) -> Section:
    """Return a measure over another, such as the latency over the batch of a sweep; a line per model.

    Raises:
        TrexError: One of them is not a number.
    """
    for column in (x, y):
        if not is_number(table.frame[column.key]):
            raise TrexError(
                f"--chart: {column.key} is not a number; choose measures such as batch, median, weights"
            )
    known = table.frame.loc[index, ["model", x.key, y.key]].dropna(subset=[x.key, y.key])
    points = known.astype({x.key: float, y.key: float}).fillna({"model": "unknown"}).sort_values(x.key)
    left_out = len(index) - len(points)
    note = f"{plural(left_out, 'engine')} without values" if left_out else ""
    kind: Kind = "line" if points["model"].duplicated().any() else "scatter"
    chart = Chart(kind, f"{y.title} over {x.title}", points, x, y, table.columns["model"], note=note)
    return Section("chart", chart=chart, audience="people")


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
