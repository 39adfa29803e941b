"""The options of `times`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from trex_tui.commands.argument_types import whole

_EXAMPLES = """\
examples:
  trex-tui times results/alexnet                    latency, compute, enqueue, copies: statistics and throughput
  trex-tui times resnet.timing.json --batch 8       and samples per second
  trex-tui times latencies.json --json              a file of another tool: it says how it was read
  trex-tui times results/ --outdir timing/          as files: a directory per engine, where there are several

--outdir writes summary.json, summary.csv, latency_series.csv, enqueue_compute_series.csv, latency_percentiles.csv, and as
pictures latency_histogram.svg, latency_percentiles.svg, latency_over_time.svg and enqueue_compute.svg; what needs single
queries is left out where there is but trtexec's printed summary. Only files that it wrote itself are written over; those of
an earlier run that this one has not are removed.

Read are trtexec's --exportTimes of any release, and JSON of other tools: rows or columns, under "times", "perIteration" or
deeper, in ms, s, us or ns as a key (latency_us) or a "unit" states; numbers without one are taken as milliseconds.
"""


def add_times(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_paths: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Add the command. `add_paths` is that of all commands."""
    times = commands.add_parser(
        "times",
        help="statistics, series and charts of the timing run",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_paths(times)
    times.add_argument(
        "--batch", type=whole, metavar="N", help="samples in a query; default: the first extent of the inputs"
    )
    times.add_argument("--outdir", metavar="DIR", help="write files there, and print their names to stderr")
    times.add_argument("--force", action="store_true", help="write over files that are not its own, too")
    times.add_argument("--png", action="store_true", help="the charts as PNG as well, by rsvg-convert")
    times.add_argument("--json", action="store_true", help="print one JSON object (schema trex-tui/times/1)")
