"""`trex-tui engines`: a row per engine."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from trex_tui.old.analysis.load_options import LoadOptions
from trex_tui.old.artifacts import scan
from trex_tui.old.artifacts.output_files import list_inputs
from trex_tui.old.cli.options import top_rows
from trex_tui.old.cli.output import complain
from trex_tui.old.cli.result_writer import ResultWriter
from trex_tui.old.config import cache_directory
from trex_tui.old.errors import TrexError
from trex_tui.old.fleet.engine_columns import COLUMNS, COLUMNS_BY_NAME, DEFAULT_COLUMNS, FleetColumn, Need
from trex_tui.old.fleet.reader import read_fleet
from trex_tui.old.fleet.row_cache import RowCache
from trex_tui.old.fleet.search_cache import known_kinds
from trex_tui.old.fleet.table import (
    columns_named,
    default_columns,
    filter_columns,
    filter_rows,
    group_rows,
    sort_rows,
)
from trex_tui.old.fleet.workers import map_in_processes, map_on_dask
from trex_tui.old.report.views.fleet import (
    ParetoAxes,
    ShownFleet,
    engines_table,
    fleet_object,
    fleet_sections,
    groups_table,
)
from trex_tui.old.text import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from trex_tui.old.fleet.reader import Fleet, Mapper

Filtered = TypeVar("Filtered")
_TITLE = "Engines"
_MOST_FILES = 100_000_000
"""A fleet is searched completely, unlike a home directory."""
_RANGED = ("latency_median_ms", "latency_p99_ms", "throughput_qps", "energy_per_inference_j")
"""Measures of groups without `--columns`."""
_WHOLE = ("csv", "json", "parquet")
"""Formats with all columns by default, but those that run lint."""


def run_engines(options: argparse.Namespace) -> int:
    """Print a row per engine, or per group.

    Raises:
        TrexError: An unknown column, or an invalid filter.
        ArtifactError: No engine is found.
    """
    result = ResultWriter(options)
    columns = _choose_columns(options, "parquet" if options.out is not None else result.format)
    by = columns_named(_split(options.by), "--by")
    sort = columns_named([options.sort], "--sort") if options.sort else []
    axes = _choose_axes(options.pareto)
    used = [*columns, *by, *sort, *_filtered_columns(options.filter)]
    if axes is not None:
        used += [column for column in (axes.x, axes.y, axes.color) if column is not None]
    need = max((column.need for column in used), default=Need.FILES)
    if options.out is not None and by:
        raise TrexError("--out: not with --by; a dataset has a row per engine")
    directory = None if options.no_cache else cache_directory(os.environ)
    paths = options.paths or ["."]
    with known_kinds(directory, paths) if directory else nullcontext():
        discovery = scan(paths, most_files=_MOST_FILES)
    if result.path is not None and result.path.exists():  # a tenth of the time of a cached run
        result.inputs = list_inputs(discovery.sets, options.paths)
    wanted = LoadOptions.of(options.optimization_profile, options.peak, options.run, options.onnx)
    # Rows with an ONNX model depend on a file that is not in the set.
    cache = RowCache.of(directory, paths, wanted) if directory and options.onnx is None else None
    fleet = read_fleet(
        discovery, wanted, need, map_sets=_choose_mapper(options), cache=cache, progress=_progress()
    )
    result.report(fleet.diagnostics, errors_only=True)
    shown = _show(options, fleet, columns, by, sort, axes)
    if options.out is not None:
        from trex_tui.old.fleet.dataset import append_dataset  # 60 ms, for Parquet only

        added = append_dataset(Path(options.out), shown.rows, columns)
        complain(f"{options.out}: {plural(added, 'row')} added, {len(shown.rows) - added} known")
        return result.exit_code()
    _write(shown, result)
    return result.exit_code()


def _choose_columns(options: argparse.Namespace, form: str) -> list[FleetColumn]:
    if options.columns:
        return columns_named(_split(options.columns), "--columns")
    if form in _WHOLE:
        return [column for column in COLUMNS if column.need < Need.LINT]
    return [COLUMNS_BY_NAME[name] for name in DEFAULT_COLUMNS]


def _choose_mapper(options: argparse.Namespace) -> Mapper:
    if options.dask is not None:
        return map_on_dask(options.dask)
    return map_in_processes(options.jobs)


def _split(text: str | None) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()] if text else []


def _choose_axes(text: str | None) -> ParetoAxes | None:
    """Return the axes of `--pareto X,Y[,COLOR]`; None without it.

    Raises:
        TrexError: A name is not a column, or not a measure.
    """
    if text is None:
        return None
    columns = columns_named(_split(text), "--pareto")
    if len(columns) not in (2, 3):
        raise TrexError("--pareto: name two measures and optionally a column for the colour: X,Y,COLOR")
    for column in columns[:2]:
        if not column.is_number:
            raise TrexError(f"--pareto: {column.name} is not a number")
    return ParetoAxes(
        columns[0], columns[1], columns[2] if len(columns) == 3 else COLUMNS_BY_NAME["precision"]
    )


def _filtered_columns(text: str | None) -> list[FleetColumn]:
    return _filter(filter_columns, text) if text else []


def _filter(apply: Callable[..., Filtered], *arguments: object) -> Filtered:
    """Apply a filter.

    Raises:
        TrexError: It is not a filter.
    """
    from trex_tui.old.analysis.filter import (
        FilterError,  # 80 ms, with the columns of layers; most tables have no filter
    )

    try:
        return apply(*arguments)
    except FilterError as error:
        raise TrexError(f"--filter: {error.pointed}") from None


def _progress() -> Callable[[int, int], None] | None:
    """Return a function that shows the number of engines read on a terminal; None if stderr is none."""
    if not sys.stderr.isatty():
        return None

    def show(number: int, total: int) -> None:
        is_last = number == total
        sys.stderr.write(f"\r{number}/{total} engines" + ("\r\x1b[K" if is_last else ""))
        sys.stderr.flush()

    return show


def _show(
    options: argparse.Namespace,
    fleet: Fleet,
    columns: list[FleetColumn],
    by: list[FleetColumn],
    sort: list[FleetColumn],
    axes: ParetoAxes | None,
) -> ShownFleet:
    rows = fleet.rows
    if options.filter:
        rows = _filter(filter_rows, rows, options.filter)
        if not rows:
            complain(f"0 of {len(fleet.rows)} engines match")
    for column in sort:
        rows = sort_rows(rows, column, is_reversed=options.reverse)
    if options.reverse and not sort:
        rows = rows[::-1]
    if not options.columns and len(columns) == len(DEFAULT_COLUMNS):  # not all, as for CSV
        columns = default_columns(fleet.rows)
    shown = ShownFleet(rows, columns, len(fleet.rows), top_rows(options), axes=axes)
    if not by:
        return shown
    measures = [column for column in columns if column.is_measure and options.columns]
    measures = measures or [COLUMNS_BY_NAME[name] for name in _RANGED]
    groups = group_rows(rows, by, measures, measures[0])
    return ShownFleet(rows, columns, len(fleet.rows), top_rows(options), groups, measures, axes)


def _write(shown: ShownFleet, result: ResultWriter) -> None:
    form = result.format
    if form == "json":
        result.write_json(fleet_object(shown, result.damage), known=result.damage)
    elif form == "text":
        from trex_tui.old.report.render_text import print_sections

        result.draw(partial(print_sections, list(fleet_sections(shown, has_charts=False))))
    elif form in ("md", "html"):
        _write_page(shown, result)
    elif form == "csv":
        from trex_tui.old.report.table_files import table_csv

        table = (
            engines_table(shown)
            if shown.groups is None
            else groups_table(shown.groups, shown.measures, shown.top)
        )
        result.write(table_csv(table))
    else:
        if shown.groups is not None:
            raise TrexError("--by: not with Parquet, which has a row per engine; group when reading it")
        if result.path is None and sys.stdout.isatty():
            raise TrexError("Parquet is binary; name a file with -o, or pipe it")
        from trex_tui.old.fleet.dataset import write_parquet  # as above

        result.write(write_parquet(shown.rows[: shown.top], shown.columns))


def _write_page(shown: ShownFleet, result: ResultWriter) -> None:
    from trex_tui.old.report.document import Document, Part
    from trex_tui.old.report.views.damage import damage_section
    from trex_tui.old.report.views.fleet import SCHEMA

    sections = list(fleet_sections(shown, has_charts=True))
    if result.format == "md":
        from trex_tui.old.report.render_markdown import sections_markdown

        result.write(f"<!-- {SCHEMA} -->\n{sections_markdown(_TITLE, sections)}")
        return
    from trex_tui.old.report.render_html import document_page

    damage = [damage_section(result.damage)] if result.damage else []
    document = Document(_TITLE, [Part("engines", _TITLE, [*damage, *sections])])
    result.write(document_page(document, SCHEMA), known=result.damage)
