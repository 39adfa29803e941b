"""`layers`: the table of layers, filtered and sorted; or a chart of them."""

from __future__ import annotations

import argparse

from trex_tui.cli.options import (
    FILTER_HELP,
    CommandParser,
    add_columns,
    add_filter,
    add_paths,
    add_result,
    add_sort,
    add_top,
    split_names,
)
from trex_tui.cli.results import Result, complain
from trex_tui.errors import TrexError

HELP = "List, filter and sort the layers of one engine"
EPILOG = f"""\
{FILTER_HELP}In a terminal the table fits the width, with elided names. Text in a pipe or a
file is not cut. JSON, CSV and the like have all columns by default.

examples:
  trex-tui layers results/alexnet --sort latency_ms -n 10
  trex-tui layers results/alexnet --filter 'conv -reformat'
  trex-tui layers results/alexnet --filter "kind:gemm,convolution pct>2"
  trex-tui layers results/alexnet --filter '(precision:fp16 or ms<10us) conv'
  trex-tui layers results/alexnet --filter 'name~"features\\.[36]" weights>=1Mi'
  trex-tui layers results/alexnet --filter 'kernel:3x3 tactic:xmma' --sort ms
  trex-tui layers results/alexnet --columns name,ms,attr.Groups -o net.csv
  trex-tui layers results/alexnet --chart roofline -o roofline.svg
  trex-tui layers net/ --chart bar --x kind --y macs
  trex-tui layers net/ --chart scatter --x macs --color-by bound
"""
_FORMATS = ("text", "json", "csv", "md", "html", "xlsx", "parquet", "svg", "png")


def add_arguments(parser: CommandParser) -> None:
    add_paths(parser)
    add_filter(parser)
    add_sort(parser)
    add_columns(parser)
    add_top(parser)
    charts = parser.add_argument_group("chart")
    charts.add_argument(
        "--chart",
        metavar="ID",
        help="draw a chart of these layers instead: text, svg or png (which need the extra report); --top keeps the "
        "layers with the largest values; `trex-tui explain charts` lists them",
    )
    charts.add_argument("--x", metavar="COLUMN", help="scatter: numeric column; bar: column of the groups")
    charts.add_argument(
        "--y", metavar="COLUMN", help="numeric column of layers, bar and scatter; default: latency_ms"
    )
    charts.add_argument("--color-by", metavar="COLUMN", help="column shown by color; default: kind")
    add_result(parser, _FORMATS, schema="layers/1")


def run(options: argparse.Namespace) -> int:
    from trex_tui.cli.loading import Loader
    from trex_tui.engine.filter import describe_no_match
    from trex_tui.report.charts import Choice
    from trex_tui.report.selection import choose_rows, named_columns, sort_rows
    from trex_tui.report.views.layers import chart_layers, list_layers

    formats = ("text", "svg", "png", "json", "md", "html") if options.chart else _FORMATS[:-2]
    result = Result(options, formats)
    if not options.chart and (options.x or options.y or options.color_by):
        raise TrexError("--x, --y and --color-by need --chart")
    loader = Loader(options)
    engine = loader.load_one()
    rows = choose_rows(engine, options.filter)
    if not rows.any() and options.filter:
        complain(describe_no_match(engine, options.filter))
    if options.chart:
        choice = Choice(rows, options.x, options.y, options.color_by, options.top or None)
        return result.write(chart_layers(engine, options.chart, choice), loader.inputs())
    names = split_names(options.columns)
    columns = named_columns(engine, names) if names else None
    index = sort_rows(engine, rows, options.sort, is_reversed=options.reverse)[: options.top or None]
    return result.write(list_layers(engine, index, columns), loader.inputs())
