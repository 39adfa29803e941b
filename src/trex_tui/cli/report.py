"""`report`: everything about engines in one file."""

from __future__ import annotations

import argparse

from trex_tui.cli.options import CommandParser, add_paths, add_result, add_top
from trex_tui.cli.results import Result
from trex_tui.errors import TrexError

HELP = "Write a report as HTML, Markdown or JSON"
EPILOG = """\
The report has the sections of summary, lint and build-log; several engines are
compared, the first being the baseline. HTML is one file without scripts and
resources from elsewhere; for a PDF, print it from a browser. Charts need
the extra report.

examples:
  trex-tui report results/alexnet -o alexnet.html
  trex-tui report results/alexnet -o alexnet.html --interactive
  trex-tui report fp16/ int8/ -o precisions.html
  trex-tui report results/alexnet -o alexnet.md
  trex-tui report results/ --json | jq '.engines[].findings'
"""


def add_arguments(parser: CommandParser) -> None:
    add_paths(parser)
    add_top(parser, 20)
    parser.add_argument(
        "--interactive",
        action="store_true",
        help="HTML with scripts: charts show values under the pointer, headings sort tables; 1 MB larger",
    )
    add_result(parser, ("md", "html", "json"), schema="report/3", default="md")


def run(options: argparse.Namespace) -> int:
    from trex_tui.artifacts.open import gc_paused
    from trex_tui.cli.loading import Loader
    from trex_tui.lint.config import find_config
    from trex_tui.lint.rules import load_rules
    from trex_tui.report.html import render_html
    from trex_tui.report.views.report import make_report

    result = Result(options)
    if options.interactive and result.format != "html":
        raise TrexError("--interactive needs HTML: -o FILE.html, or --format html")
    loader = Loader(options)
    engines, strays = loader.load_all()
    rules = load_rules()
    with gc_paused():
        document = make_report(engines, rules, find_config(rules), options.top or None, strays)
    if not options.interactive:
        return result.write(document, loader.inputs())
    result.report(document.damage())
    result.write_content(render_html(document, is_interactive=True), loader.inputs())
    return result.exit_code(document)
