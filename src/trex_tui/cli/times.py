"""`times`: statistics of the timing run."""

from __future__ import annotations

import argparse

from trex_tui.cli.options import CommandParser, add_paths, add_result, positive
from trex_tui.cli.results import Result, complain
from trex_tui.errors import TrexError

HELP = "Show latency statistics of the timing run"
EPILOG = """\
PATH may also be timing JSON of another tool: a list of numbers below a key such
as "latencies_us". The key or a "unit" beside it states the unit: ms, s, us, ns.

examples:
  trex-tui times results/alexnet
  trex-tui times results/alexnet -o times.html
  trex-tui times resnet.timing.json --batch 8
  trex-tui times results/ --format csv -o times.csv
  trex-tui layers results/alexnet --chart histogram -o latency.svg
"""


def add_arguments(parser: CommandParser) -> None:
    add_paths(parser)
    parser.add_argument(
        "--batch", type=positive, metavar="N", help="samples per query; default: dim 0 of the inputs"
    )
    add_result(parser, ("text", "json", "csv", "md", "html"), schema="times/3")


def run(options: argparse.Namespace) -> int:
    from trex_tui.analysis.timing import timing_facts
    from trex_tui.cli.loading import Loader
    from trex_tui.report.absence import no_queries
    from trex_tui.report.document import Document
    from trex_tui.report.views.timing import list_times

    result = Result(options)
    loader = Loader(options)
    engines, strays = loader.load_all()
    timed = [engine for engine in engines if timing_facts(engine) is not None]
    if not timed:
        raise TrexError(f"{engines[0].name}: {no_queries(engines[0])}")
    for engine in engines:
        if engine not in timed:
            complain(f"{engine.name}: {no_queries(engine)} Left out.")
            strays += engine.notes
    has_charts = result.format in ("html", "md")
    parts = [list_times(engine, options.batch, has_charts=has_charts) for engine in timed]
    title = timed[0].name if len(timed) == 1 else f"{len(timed)} engines"
    return result.write(Document("times", title, notes=strays, parts=parts, version=3), loader.inputs())
