"""The view of many engines: a row per engine or group, and the charts of each model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from trex_tui._version import __version__
from trex_tui.old.errors import Diagnostic
from trex_tui.old.fleet.engine_columns import COLUMNS, COLUMNS_BY_NAME, FleetColumn
from trex_tui.old.fleet.table import FleetRow, RowGroup, is_readable
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.document import (
    Cell,
    Column,
    FigureChart,
    Section,
    Table,
    drop_empty_columns,
    make_table,
)
from trex_tui.old.report.render_json import diagnostic_object
from trex_tui.old.text import fit_device_name, plural, printable, shorten_middle

if TYPE_CHECKING:
    from trex_tui.old.report.charts.figure import Figure

SCHEMA = "trex-tui/engines/1"
_FLEXIBLE = {
    "engine": 16,
    "model": 10,
    "device": 12,
    "directory": 16,
    "main_kinds": 16,
    "cautions": 12,
    "error": 16,
}
"""Column of long texts -> its least width in a terminal."""
_PRIORITIES = {
    **dict.fromkeys(("cautions", "date", "run", "weights_bytes", "throughput_qps"), 4),
    **dict.fromkeys(("engine_bytes", "activation_peak_bytes", "layers", "main_kinds", "tensorrt"), 3),
    **dict.fromkeys(("model", "device", "per_sample_ms", "energy_per_inference_j"), 2),
}
_RANGES = ("min", "median", "max")
_BARS = frozenset({"latency_median_ms"})
_X = "latency_median_ms"
_Y_OVER_BATCHES, _Y = "samples_per_s", ("weights_bytes", "activation_peak_bytes", "latency_p99_ms")
_COLOR = "precision"
_LEAST_ROWS = 2


@dataclass(frozen=True, slots=True)
class ParetoAxes:
    """The measures of a Pareto chart."""

    x: FleetColumn
    y: FleetColumn
    color: FleetColumn | None


@dataclass(frozen=True, slots=True)
class ShownFleet:
    """Shown part of a table of engines.

    Attributes:
        rows: Filtered and sorted.
        columns: In order.
        total: Rows before `--filter`.
        top: Most rows of a table; None for all.
        groups: With `--by`: groups instead of rows, and the columns of their ranges.
        axes: Measures of the Pareto charts; None for those that fit each model.
    """

    rows: Sequence[FleetRow]
    columns: Sequence[FleetColumn]
    total: int
    top: int | None = None
    groups: Sequence[RowGroup] | None = None
    measures: Sequence[FleetColumn] = ()
    axes: ParetoAxes | None = None


def document_column(column: FleetColumn) -> Column:
    """Return a column of the table for every format."""
    name = column.name
    help_ = column.description + (f" {column.formula}." if column.formula else "")
    return Column(
        name,
        column.title,
        value=lambda row: _cell(row.value(name)),
        is_number=column.is_number,
        format=str if name in ("run", "batch", "layers", "findings", "queries") else None,
        unit=column.unit or None,
        help=help_,
        has_bar=name in _BARS,
        flex=name in _FLEXIBLE,
        width=_FLEXIBLE.get(name, 8),
        priority=_PRIORITIES.get(name, 1 if column.is_number else 0),
        shorten=fit_device_name if name == "device" else shorten_middle,
    )


def _cell(value: Any) -> Any:  # noqa: ANN401 - any cell
    if isinstance(value, list):
        return Cell(tuple(value), "; ".join(map(printable, value)))
    return Cell(value, printable(value)) if isinstance(value, str) else value


TABLE_COLUMNS = tuple(map(document_column, COLUMNS))


def engines_table(shown: ShownFleet) -> Table:
    """Return a row per engine."""
    return make_table(
        "engines",
        [document_column(column) for column in shown.columns],
        shown.rows,
        top=shown.top,
        noun="engine",
    )


def groups_table(
    groups: Sequence[RowGroup], measures: Sequence[FleetColumn], top: int | None = None
) -> Table:
    """Return a row per group: its keys, its number of engines, ranges of measures, and its best engine."""
    keys = [COLUMNS_BY_NAME[name] for name in (groups[0].keys if groups else ()) if name != "model"]
    columns = [
        Column(
            "model",
            "model",
            value=lambda group: _cell(group.model),
            flex=True,
            width=10,
            help=COLUMNS_BY_NAME["model"].description,
        ),
        *(_key_column(column) for column in keys),
        Column(
            "engines",
            "engines",
            value=lambda group: len(group.rows),
            is_number=True,
            format=str,
            help="Engines of the group.",
        ),
        *(_range_column(measure, part) for measure in measures for part in _RANGES),
        Column(
            "best",
            "best",
            value=_best_name,
            flex=True,
            width=12,
            help="Best engine of the group by the first measure.",
        ),
    ]
    return make_table("groups", columns, groups, top=top, noun="group")


def _key_column(column: FleetColumn) -> Column:
    name = column.name
    return Column(
        name,
        column.title,
        value=lambda group: _cell(group.keys[name]),
        is_number=column.is_number,
        format=str if column.is_number else None,
        help=column.description,
    )


def _range_column(measure: FleetColumn, part: str) -> Column:
    name = measure.name
    return Column(
        f"{part}_{name}",
        f"{part} {measure.title}",
        value=lambda group: getattr(group.ranges[name], part) if name in group.ranges else None,
        is_number=True,
        unit=measure.unit or None,
        help=f"{part} of the group. {measure.description}",
        priority=0 if part == "median" else 2,
    )


def _best_name(group: RowGroup) -> Cell | None:
    return None if group.best is None else Cell(_name(group.best), printable(_name(group.best)))


def _name(row: FleetRow) -> str:
    from trex_tui.old.report.charts.fleet_charts import name_row  # 20 ms, with the forms of charts

    return name_row(row)


def fleet_sections(shown: ShownFleet, *, has_charts: bool) -> Iterator[Section]:
    """Yield the table, and the charts of each model with several engines."""
    table = (
        engines_table(shown)
        if shown.groups is None
        else groups_table(shown.groups, shown.measures, shown.top)
    )
    table = drop_empty_columns(table)
    yield Section("engines", "Engines", sentences=list(_sentences(shown)), tables=[table])
    if has_charts:
        yield from _chart_sections(shown)


def _sentences(shown: ShownFleet) -> Iterator[str]:
    models = {row.value("model") for row in shown.rows if is_readable(row)}
    broken = sum(not is_readable(row) for row in shown.rows)
    sentence = f"{plural(len(shown.rows), 'engine')} of {plural(len(models), 'model')}"
    if len(shown.rows) < shown.total:
        sentence += f"; {shown.total - len(shown.rows)} filtered out"
    if broken:
        sentence += f"; {broken} cannot be read"
    yield f"{sentence}."


def _chart_sections(shown: ShownFleet) -> Iterator[Section]:
    from trex_tui.old.report.charts.fleet_charts import kind_shares_figure, pareto_figure, trend_figure

    by_model: dict[str, list[FleetRow]] = defaultdict(list)
    for row in shown.rows:
        if is_readable(row):
            by_model[row.value("model")].append(row)
    for number, (model, rows) in enumerate(by_model.items(), start=1):
        if len(rows) < _LEAST_ROWS:
            continue
        axes = shown.axes or choose_axes(rows)
        figures: list[tuple[str, str, Figure]] = [
            (
                "pareto",
                f"{axes.y.title} over {axes.x.title}",
                pareto_figure(rows, axes.x, axes.y, axes.color),
            ),
            ("trend", f"{axes.x.title} over time", trend_figure(rows, axes.x)),
            ("kinds", "Layer times by kind", kind_shares_figure(rows)),
        ]
        charts = [
            FigureChart(f"{name}-{number}", title, figure) for name, title, figure in figures if figure.form
        ]
        if charts:
            yield Section(f"model-{number}", printable(str(model)), charts=charts)


def choose_axes(rows: Iterable[FleetRow]) -> ParetoAxes:
    """Return the measures of a Pareto chart: over latency the throughput if batches differ, else what differs first."""
    every = list(rows)
    y = _Y_OVER_BATCHES if _differs(every, "batch") else next(filter(partial(_differs, every), _Y), _Y[0])
    return ParetoAxes(COLUMNS_BY_NAME[_X], COLUMNS_BY_NAME[y], COLUMNS_BY_NAME[_COLOR])


def _differs(rows: Iterable[FleetRow], column: str) -> bool:
    return len({row.value(column) for row in rows} - {None}) > 1


def fleet_object(shown: ShownFleet, diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """Return the JSON document: a row per engine with the chosen columns, and groups with `--by`."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "trex_tui": __version__,
        "rows_total": len(shown.rows),
        "rows": [
            {column.name: row.value(column.name) for column in shown.columns}
            for row in shown.rows[: shown.top]
        ],
    }
    if shown.groups is not None:
        document["row_groups"] = [
            {
                "model": group.model,
                "keys": dict(group.keys),
                "engines": [_name(row) for row in group.rows],
                "ranges": {
                    name: {"count": found.count, "min": found.min, "median": found.median, "max": found.max}
                    for name, found in group.ranges.items()
                },
                "best": None if group.best is None else _name(group.best),
            }
            for group in shown.groups[: shown.top]
        ]
    document["diagnostics"] = [diagnostic_object(diagnostic) for diagnostic in diagnostics]
    return document
