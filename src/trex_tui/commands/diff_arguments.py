"""The options of `diff`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from trex_tui.commands.argument_types import whole

_EXAMPLES = """\
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
FORMATS = ("text", "md", "json", "csv", "html")


def add_diff(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_paths: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Add the command. `add_paths` is that of all commands."""
    diff = commands.add_parser(
        "diff",
        help="two or more engines side by side, matched layer to layer; a gate for CI",
        epilog=_EXAMPLES,
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
    diff.add_argument("--format", choices=FORMATS, default="text", help="default: text")
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
