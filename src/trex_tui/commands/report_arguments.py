"""The options of `report`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from trex_tui.commands.argument_types import whole

_EXAMPLES = """\
examples:
  trex-tui report results/alexnet -o alexnet.html         one file to open, send around and print
  trex-tui report fp16/ int8/ -o precisions.html          several engines: compared, then each for itself
  trex-tui report results/alexnet -o alexnet.md           tables and charts that a forge renders
  trex-tui report results/ --format json | jq '.engines[].sections[].tables[] | select(.id == "hot_layers")'

The numbers are those of summary, lint, diff and build-log. The ending of FILE names the format, unless --format does. For a
PDF print the HTML in a browser. A file that trex-tui did not write is replaced only with --force.
"""
FORMATS = ("html", "md", "json")


def add_report(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_paths: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Add the command. `add_paths` is that of all commands."""
    report = commands.add_parser(
        "report",
        help="all there is to say of one or more engines, as HTML, Markdown or JSON",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_paths(report)
    report.add_argument(
        "-o", "--output", metavar="FILE", default="-", help="write to FILE; default: -, the standard output"
    )
    report.add_argument(
        "--format", choices=FORMATS, help="default: that of the ending of FILE; on the standard output md"
    )
    report.add_argument("--top", type=whole, metavar="N", help="rows of a table; default: 20; 0: all")
    report.add_argument(
        "--baseline",
        metavar="NAME",
        help="what several engines are compared with: a name, or a place from 1 on; default: the first",
    )
    report.add_argument(
        "--force",
        action="store_true",
        help="replace FILE even if trex-tui did not write it",
    )
