"""`summary`: an overview of each engine, or its layers in groups."""

from __future__ import annotations

import argparse

from trex_tui.cli.options import CommandParser, add_by, add_filter, add_paths, add_result, add_top
from trex_tui.cli.results import Result, complain
from trex_tui.errors import TrexError

HELP = "Show an overview and time breakdown per engine"
EPILOG = """\
examples:
  trex-tui summary results/alexnet
  trex-tui summary results/ --format md -o engines.md
  trex-tui summary results/ --json | jq '.engines[].name'
  trex-tui summary results/alexnet --by kind,precision
  trex-tui summary results/alexnet --by origin --filter kind:reformat
  trex-tui summary results/ --by kind,tactic --format csv -o tactics.csv
"""
_GROUPED = ("text", "json", "jsonl", "md", "html", "csv", "xlsx", "parquet")


def add_arguments(parser: CommandParser) -> None:
    add_paths(parser)
    parser.add_argument("--all", action="store_true", help="also show options at their default")
    add_by(parser, "layers and time, such as kind,precision; all groups unless --top is given")
    add_filter(parser)
    add_top(parser)
    add_result(parser, _GROUPED, schema="summary/3")


def run(options: argparse.Namespace) -> int:
    from trex_tui.cli.loading import Loader
    from trex_tui.engine.filter import describe_no_match
    from trex_tui.report.document import Document
    from trex_tui.report.selection import choose_rows, named_columns, split_names
    from trex_tui.report.views.engine import HOTTEST, summarize
    from trex_tui.report.views.layers import list_groups

    if options.filter and options.by is None:
        raise TrexError("--filter needs --by; `trex-tui layers` filters the list of layers")
    result = Result(options, _GROUPED if options.by else ("text", "json", "md", "html"))
    loader = Loader(options)
    engines, strays = loader.load_all()
    parts = []
    for engine in engines:
        if options.by is None:
            parts.append(summarize(engine, HOTTEST if options.top is None else options.top or None))
            continue
        rows = choose_rows(engine, options.filter)
        if options.filter and not rows.any():
            name = f"{engine.name}: " if len(engines) > 1 else ""
            complain(name + describe_no_match(engine, options.filter))
        parts.append(list_groups(engine, named_columns(engine, split_names(options.by)), rows, options.top))
    key, version = ("cross-table", 2) if options.by else ("summary", 3)
    title = engines[0].name if len(engines) == 1 else f"{len(engines)} engines"
    document = Document(key, title, notes=strays, parts=parts, version=version)
    return result.write(document, loader.inputs(), is_unfolded=options.all)
