"""`trex-tui summary`, `layers` and `explain`: engines, their layers, and definitions of all numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from trex_tui.old.analysis.columns import ALL_COLUMNS, columns_named
from trex_tui.old.artifacts.output_files import OutputKind
from trex_tui.old.cli.engines import collect_inputs, filter_indices, load_all, load_one, uses_model
from trex_tui.old.cli.options import top_rows
from trex_tui.old.cli.result_writer import ResultWriter, make_chart_writer
from trex_tui.old.errors import ExitCode, TrexError
from trex_tui.old.report.views.layer_table import (
    BRIEF_COLUMNS,
    CSV_HEADER,
    filled_columns,
    print_layers,
    sorted_layers,
)

if TYPE_CHECKING:
    import argparse

    from trex_tui.old.engine.engine import Engine
    from trex_tui.old.engine.model import Layer
    from trex_tui.old.errors import Diagnostic
    from trex_tui.old.report.render_text import Console


LAYERS = OutputKind("trex-tui layers", ("trex-tui/layers/",), CSV_HEADER)
"""Text, Markdown and chosen columns have no mark."""
SUMMARY = OutputKind("trex-tui summary", ("trex-tui/summary/", "trex-tui/cross-table/"))
_BY_FORMATS = ("text", "json", "md", "csv")


def run_summary(options: argparse.Namespace) -> int:
    is_grouped = options.by is not None
    if options.filter is not None and not is_grouped:
        raise TrexError("--filter needs --by; `trex-tui layers` filters the list of layers")
    result = ResultWriter(options, _BY_FORMATS if is_grouped else None, SUMMARY)
    engines, strays = load_all(options, finds_onnx=not is_grouped or uses_model(options))
    result.inputs = collect_inputs(engines, options)
    result.report(strays, errors_only=result.format == "json")  # which has the remarks
    result.report((note for engine in engines for note in engine.diagnostics), errors_only=True)
    if is_grouped:
        _write_groups(options, engines, strays, result)
        return result.exit_code()
    if result.format == "json":
        from trex_tui.old.report.views.engine import summary_document

        result.write_json(summary_document(engines, strays), known=result.damage)
        return result.exit_code()
    from trex_tui.old.report.views.summary import HOTTEST, print_summaries, summary_markdown

    top = HOTTEST if options.top is None else top_rows(options)
    shown = {"top": top, "is_unfolded": options.all}
    if result.format == "md":
        result.write(summary_markdown(engines, **shown))
    else:
        result.draw(partial(print_summaries, engines, **shown))
    return result.exit_code()


def _write_groups(
    options: argparse.Namespace, engines: Sequence[Engine], strays: Sequence[Diagnostic], result: ResultWriter
) -> None:
    """Write the layers of each engine in groups, instead of its summary."""
    from trex_tui.old.report.views.cross_tables import Grouping, find_group_columns
    from trex_tui.old.report.views.summary import print_engine

    names = [name.strip() for name in options.by.split(",")]
    columns = find_group_columns(names, engines[0] if len(engines) == 1 else None)
    indices = filter_indices(engines, options.filter)
    layers = [[engine.layers[i] for i in kept] for engine, kept in zip(engines, indices, strict=True)]
    grouping = Grouping(list(zip(engines, layers, strict=True)), columns, top_rows(options))

    def draw(console: Console) -> None:
        for engine, section in grouping.sections():
            print_engine(engine, [section], console)

    if result.format == "json":
        result.write_json(grouping.document(strays), known=result.damage)
    elif result.format == "md":
        result.write(grouping.markdown())
    elif result.format == "csv":
        result.write(grouping.csv())
    else:
        result.draw(draw)


def run_layers(options: argparse.Namespace) -> int:
    result = make_chart_writer(options) if options.chart else ResultWriter(options, kind=LAYERS)
    if not options.chart and (options.value or options.color or options.x or options.size):
        raise TrexError("--x, --y, --size and --color need --chart")
    brief = result.format in ("text", "md")
    engine = load_one(options, finds_onnx=not brief or uses_model(options))
    names = [name.strip() for name in options.columns.split(",")] if options.columns else None
    columns = columns_named(names or (BRIEF_COLUMNS if brief else [c.name for c in ALL_COLUMNS]), engine)
    layers = _choose_layers(options, engine)
    result.report(engine.diagnostics)
    result.inputs = collect_inputs([engine], options)
    if options.chart:
        _write_chart(options, engine, layers, result)
    elif result.format == "text":
        result.draw(partial(print_layers, engine, layers, columns))
    else:
        from trex_tui.old.report.export import ExportFormat, layers_as

        if result.format == "md" and names is None:
            columns = list(filled_columns(engine, layers, columns))
        known = engine.diagnostics if result.format == "json" else ()
        result.write(layers_as(ExportFormat(result.format), engine, layers, columns), known=known)
    return result.exit_code()


def run_explain(options: argparse.Namespace) -> int:
    from trex_tui.old.report.glossary.explanation import (
        explain,
        explain_document,
        explanation_text,
        overview_text,
    )

    result = ResultWriter(options)
    explanations = [explain(name) for name in options.names]
    if result.format == "json":
        result.write_json(explain_document(explanations or None))
    else:
        result.write("\n".join(map(explanation_text, explanations)) if explanations else overview_text())
    return int(ExitCode.OK)


def _write_chart(
    options: argparse.Namespace, engine: Engine, layers: Sequence[Layer], result: ResultWriter
) -> None:
    """Write a chart of some layers, in the order that the chart defines."""
    from trex_tui.old.report.chart_file import chart_file, make_subject
    from trex_tui.old.report.charts.catalogue import CHARTS_BY_ID

    chart = CHARTS_BY_ID["layers" if options.chart == "svg" else options.chart]
    columns = {"x": options.x, "value": options.value, "size": options.size, "color": options.color}
    names = {role: "--y" if role == "value" else f"--{role}" for role in columns}
    subject = make_subject(chart, engine, layers, columns, names)
    result.check_binary()
    result.write(chart_file(result.format, chart, subject))


def _choose_layers(options: argparse.Namespace, engine: Engine) -> list[Layer]:
    """Return the layers kept by `--filter`, `--sort` and `--top`, in their order.

    A chart defines its order: without `--sort`, `--top` keeps the layers with the largest charted values.
    """
    chosen = set(filter_indices([engine], options.filter)[0])
    by = options.sort or (options.chart and options.top and (options.value or "latency_ms"))
    sort = columns_named([by], engine)[0] if by else None
    ordered = sorted_layers(engine, sort, reverse=options.reverse)
    return [layer for layer in ordered if layer.index in chosen][: top_rows(options)]
