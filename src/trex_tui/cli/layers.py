"""`trex-tui summary`, `layers` and `explain`: engines, their layers, and what the columns mean."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from trex_tui.analysis.columns import ALL_COLUMNS
from trex_tui.cli.engines import load_all, load_one
from trex_tui.cli.output import complain, print_json, print_text
from trex_tui.errors import ExitCode, TrexError
from trex_tui.report.export import ExportFormat, layers_as
from trex_tui.report.views.layers import BRIEF_COLUMNS, columns_named, print_layers, sorted_layers

if TYPE_CHECKING:
    import argparse

    from trex_tui.engine.engine import Engine
    from trex_tui.engine.model import Layer


def run_summary(options: argparse.Namespace) -> int:
    from trex_tui.report.views.engine import print_summary, summary_document

    engines, strays = load_all(options)
    if options.json:
        print_json(summary_document(engines, strays))
        return int(ExitCode.OK)
    for engine in engines:
        print_text(partial(print_summary, engine))
    for diagnostic in strays:
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    return int(ExitCode.OK)


def run_layers(options: argparse.Namespace) -> int:
    brief = options.format in ("table", "md")
    names = [name.strip() for name in options.columns.split(",")] if options.columns else None
    columns = columns_named(names or (BRIEF_COLUMNS if brief else [c.name for c in ALL_COLUMNS]))
    sort = columns_named([options.sort])[0] if options.sort else None
    engine, strays = load_one(options)
    chosen = _filter_layers(engine, options.filter) if options.filter else range(len(engine.layers))
    for diagnostic in (*engine.diagnostics, *strays):
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    ordered = sorted_layers(engine, sort, reverse=options.reverse)
    layers = [layer for layer in ordered if layer.index in chosen][: options.top]
    if options.chart:
        _print_chart(options, engine, layers)
    elif options.format == "table":
        print_text(partial(print_layers, engine, layers, columns))
    else:
        sys.stdout.write(layers_as(ExportFormat(options.format), engine, layers, columns))
    return int(ExitCode.OK)


def _filter_layers(engine: Engine, text: str) -> Collection[int]:
    from trex_tui.analysis.filter import FilterError, filter_layers

    try:
        return {layer.index for layer in filter_layers(engine, text)}
    except FilterError as error:
        raise TrexError(f"--filter: {error.pointed}") from None


def run_explain(options: argparse.Namespace) -> int:
    from trex_tui.report.views.layers import columns_overview, explain_column, explain_document

    columns = columns_named(options.columns) if options.columns else ALL_COLUMNS
    if options.json:
        print_json(explain_document(columns))
    elif options.columns:
        print("\n\n".join(map(explain_column, columns)))  # noqa: T201 - this is the result
    else:
        print(columns_overview(columns))  # noqa: T201 - this is the result
    return int(ExitCode.OK)


def _print_chart(options: argparse.Namespace, engine: Engine, layers: Sequence[Layer]) -> None:
    """Print a chart of the layers that filter and `--top` left; it has an order of its own."""
    from trex_tui.report.charts.svg_painter import picture

    if options.format != "table":
        raise TrexError("--chart is a format of its own: leave out --format")
    chosen = sorted(layers, key=lambda layer: layer.index)
    name = "layers" if options.chart == "svg" else options.chart
    found = picture(name, engine, layers=chosen, standalone=True)
    if found.svg is None:
        raise TrexError(f"{engine.name}: nothing to draw. {' '.join((*found.words, *found.missing))}")
    sys.stdout.write(f"{found.svg}\n")
