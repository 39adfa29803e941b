"""`summary`: an overview of each engine, or its layers in groups."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trex_tui.cli.options import (
    CommandParser,
    add_filter,
    add_paths,
    add_result,
    add_top,
    split_names,
)
from trex_tui.cli.results import Result, complain
from trex_tui.errors import TrexError

if TYPE_CHECKING:
    from trex_tui.engine.model import Engine
    from trex_tui.report.document import Document

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
_GROUPED = ("text", "json", "md", "html", "csv", "xlsx", "parquet")


def add_arguments(parser: CommandParser) -> None:
    add_paths(parser)
    parser.add_argument("--all", action="store_true", help="also show options at their default")
    parser.add_argument(
        "--by",
        metavar="A,B",
        help="layers and time by these columns instead, such as kind,precision; all groups unless --top is given",
    )
    add_filter(parser)
    add_top(parser)
    add_result(parser, _GROUPED, schema="summary/3")


def run(options: argparse.Namespace) -> int:
    from trex_tui.cli.loading import Loader
    from trex_tui.report.document import Document
    from trex_tui.report.views.engine import HOTTEST, summarize

    by = None if options.by is None else split_names(options.by)
    if by == []:
        raise TrexError("--by: name columns, such as kind,precision")
    if options.filter and by is None:
        raise TrexError("--filter needs --by; `trex-tui layers` filters the list of layers")
    result = Result(options, _GROUPED if by else ("text", "json", "md", "html"))
    loader = Loader(options)
    engines, strays = loader.load_all()
    title = engines[0].name if len(engines) == 1 else f"{len(engines)} engines"
    if by:
        parts = [_group(engine, by, options, has_name=len(engines) > 1) for engine in engines]
        keys = list(
            dict.fromkeys(column.key for part in parts for column in part.sections[0].columns[: len(by)])
        )
        document = Document("cross-table", title, notes=strays, parts=parts, data={"by": keys}, version=2)
    else:
        top = HOTTEST if options.top is None else options.top or None
        parts = [summarize(engine, top) for engine in engines]
        document = Document("summary", title, notes=strays, parts=parts, version=3)
    return result.write(document, loader.inputs(), is_unfolded=options.all)


def _group(engine: Engine, by: Sequence[str], options: argparse.Namespace, *, has_name: bool) -> Document:
    """Return the groups of the layers of an engine."""
    from trex_tui.engine.filter import describe_no_match
    from trex_tui.report.selection import choose_rows, named_columns
    from trex_tui.report.views.layers import list_groups

    rows = choose_rows(engine, options.filter)
    if options.filter and not rows.any():
        complain((f"{engine.name}: " if has_name else "") + describe_no_match(engine, options.filter))
    return list_groups(engine, named_columns(engine, by), rows, options.top)
