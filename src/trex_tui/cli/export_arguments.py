"""The options of `trex-tui export`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from trex_tui.cli.argument_types import FILES, whole

FORMATS = (
    *("dot", "svg", "png", "graphml", "json", "onnx"),
    *("csv", "parquet", "xlsx", "trace", "trex"),
)
COLORS = ("kind", "precision", "latency")
LAYOUTS = ("auto", "dot", "builtin")

EXAMPLES = """\
examples:
  trex-tui export results/alexnet -o alexnet.svg                      the graph as a picture
  trex-tui export results/alexnet -o alexnet.dot --color precision    for Graphviz
  trex-tui export results/alexnet -o hot.svg --highlight 'pct>5' --labels name,latency,tactic
  trex-tui export results/alexnet -o part.png --around features.3/conv --radius 3
  trex-tui export results/alexnet -o alexnet.graphml                  for yEd, Gephi, networkx
  trex-tui export results/alexnet -o alexnet.onnx                     for Netron
  trex-tui export results/alexnet -o alexnet.perfetto.json            layers and queries, for ui.perfetto.dev
  trex-tui export results/alexnet -o alexnet.xlsx                     the layer table; also .csv, .parquet
  trex-tui export results/alexnet --format dot -o - | dot -Tpdf > alexnet.pdf
  trex-tui export results/ --format trex -o for-trex/                 every engine below as trex's files, for its notebooks

Pictures are drawn by Graphviz where it is installed and the graph is small, else by a layout of our own, which for
.png takes librsvg's rsvg-convert.
"""


def add_export(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_paths: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Add the command and its options.

    Args:
        add_paths: Adds those of every command that loads engines.
    """
    export = commands.add_parser(
        "export",
        help="the graph, the layer table or the times of one engine as a file for another program",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_paths(export)
    output = export.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="its ending tells the format; - for stdout; for trex a directory",
    )
    output.complete = FILES  # type: ignore[attr-defined]
    export.add_argument(
        "--format",
        choices=FORMATS,
        help="whatever the ending; trace is .perfetto.json or .trace.json; trex is a directory of files for trex's "
        "notebooks",
    )
    export.add_argument("--force", action="store_true", help="replace FILE even if trex-tui did not write it")
    export.add_argument(
        "--with-engine", action="store_true", help="with --format trex: copy the serialized engines too"
    )
    export.add_argument(
        "--query", metavar="FILTER", help="only the layers that match, as with `layers --filter`"
    )
    export.add_argument(
        "--around",
        metavar="LAYER",
        help="only a layer and what is near: its name, a part of it in any case, or its index",
    )
    export.add_argument(
        "--radius", type=whole, metavar="N", help="how many links near is; default: 2, and 0 for --query"
    )
    export.add_argument(
        "--columns", metavar="A,B,C", help="of tables and graph files; default: all of `trex-tui explain`"
    )
    pictures = export.add_argument_group("of pictures and graphs")
    pictures.add_argument("--color", choices=COLORS, default="kind", help="default: kind")
    pictures.add_argument(
        "--labels",
        metavar="A,B,C",
        help="columns, also as latency, share, type, shape, format, onnx; default: name,kind,precision,latency",
    )
    pictures.add_argument("--highlight", metavar="FILTER", help="frame the layers that match")
    pictures.add_argument("--constants", action="store_true", help="draw weights that are inputs of layers")
    pictures.add_argument(
        "--metadata", action="store_true", help="all that is known of a layer in its tooltip"
    )
    pictures.add_argument(
        "--layout", choices=LAYOUTS, default="auto", help="who places the boxes of a picture; default: auto"
    )
