"""The options of `diff`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from trex_tui.cli.argument_types import whole

_DIFF_EXAMPLES = """\
examples:
  trex-tui diff fp16.graph.json int8.graph.json          layer by layer, whatever their names and fusions
  trex-tui diff results/                                 all engines below, the first by name as the baseline
  trex-tui diff main/ pr/ --format md --top 10           a comment for a pull request
  trex-tui diff main/ pr/ --fail-on 'latency_p99_ms > +5%' --fail-on 'layers.fp32 > 0'
  trex-tui diff a/ b/ --filter 'kind:convolution' --format csv > convolutions.csv

gates (--fail-on): METRIC OPERATOR NUMBER. A number with a sign is a difference to the baseline (+0.1, -5%), one without is
the engine's own value. METRIC: latency_{min,mean,median,p90,p95,p99,max}_ms and throughput_qps, end to end;
latency_sum_ms, the sum of layer times, or latency_sum_ms.KIND or .PRECISION of it; layers, layers.KIND, layers.PRECISION;
weights_bytes; activation_peak_bytes. Exit code 1 if one falls; a gate that cannot be judged is an error.
"""
DIFF_FORMATS = ("text", "md", "json", "csv", "html")


def add_diff(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_paths: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Add the command. `add_paths` is that of all commands."""
    diff = commands.add_parser(
        "diff",
        help="two or more engines side by side, matched layer to layer; a gate for CI",
        epilog=_DIFF_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_paths(diff)
    diff.add_argument(
        "--baseline", metavar="NAME", help="name of an engine, or its place from 1 on; default: the first"
    )
    diff.add_argument(
        "--align",
        choices=("auto", "onnx", "name", "signature"),
        default="auto",
        help="evidence to match layers by; default: all of it, the strongest first",
    )
    diff.add_argument("--per-batch", action="store_true", help="divide times by the batch: ms per sample")
    diff.add_argument("--format", choices=DIFF_FORMATS, default="text", help="default: text")
    diff.add_argument(
        "--json", action="store_const", const="json", dest="format", help="the same as --format json"
    )
    diff.add_argument(
        "--top", type=whole, metavar="N", help="blocks to show in text, md and html; default: 20; 0: all"
    )
    diff.add_argument(
        "--filter", metavar="EXPR", help="only blocks of which a layer matches, as with `layers`"
    )
    diff.add_argument(
        "--fail-on", action="append", default=[], metavar="GATE", help="see below; may be repeated"
    )
    diff.add_argument(
        "--significant",
        "--significant-only",
        action="store_true",
        help="a gate on end-to-end latency falls only if the difference can be told from noise",
    )


_REPORT_EXAMPLES = """\
examples:
  trex-tui report results/alexnet -o alexnet.html         one file to open, send around and print
  trex-tui report fp16/ int8/ -o precisions.html          several engines: compared, then each for itself
  trex-tui report results/alexnet -o alexnet.md           tables and charts that a forge renders
  trex-tui report results/ --format json | jq '.engines[].sections[].tables[] | select(.id == "hot_layers")'

The numbers are those of summary, lint, diff and build-log. The ending of FILE names the format, unless --format does. For a
PDF print the HTML in a browser. A file that trex-tui did not write is replaced only with --force.
"""
REPORT_FORMATS = ("html", "md", "json")


def add_report(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_paths: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Add the command. `add_paths` is that of all commands."""
    report = commands.add_parser(
        "report",
        help="all there is to say of one or more engines, as HTML, Markdown or JSON",
        epilog=_REPORT_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_paths(report)
    report.add_argument(
        "-o", "--output", metavar="FILE", default="-", help="write to FILE; default: -, the standard output"
    )
    report.add_argument(
        "--format",
        choices=REPORT_FORMATS,
        help="default: that of the ending of FILE; on the standard output md",
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


_TIMES_EXAMPLES = """\
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
        epilog=_TIMES_EXAMPLES,
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
