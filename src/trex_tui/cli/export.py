"""`export`: the graph, the layers or the times of an engine, for other programs."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from trex_tui.cli.options import (
    CommandParser,
    Words,
    add_columns,
    add_filter,
    add_paths,
    add_result,
    split_names,
    whole,
)
from trex_tui.cli.results import Result, complain
from trex_tui.errors import TrexError

if TYPE_CHECKING:
    from trex_tui.engine.model import Engine

HELP = "Export the graph, layers or times to a file"
EPILOG = """\
Pictures of graphs (svg, png) are drawn by Graphviz.

examples:
  trex-tui export results/alexnet -o alexnet.svg
  trex-tui export results/alexnet -o alexnet.dot --color-by precision
  trex-tui export results/alexnet -o part.svg --filter features.3 --radius 2
  trex-tui export results/alexnet -o alexnet.graphml
  trex-tui export results/alexnet -o alexnet.perfetto.json
  trex-tui export results/alexnet -o alexnet.xlsx
  trex-tui export results/alexnet --format dot | dot -Tpdf > alexnet.pdf
  trex-tui export results/alexnet -o alexnet.metadata.json
"""
_TABLES = ("csv", "parquet", "xlsx")
_FORMATS = ("dot", "svg", "png", "graphml", "json", "trace", *_TABLES, "trex-metadata")
_WITH_NOTES = ("dot", "json", "trace")
_COLOR_BY = Words(("kind", "precision", "latency"))


def add_arguments(parser: CommandParser) -> None:
    add_paths(parser)
    add_filter(parser)
    add_columns(parser)
    parser.add_argument(
        "--radius",
        type=whole,
        default=0,
        metavar="N",
        help="with --filter: neighbours up to this distance too",
    )
    parser.add_argument(
        "--color-by", type=_COLOR_BY, choices=_COLOR_BY, default="kind", metavar="COLUMN",
        help="column shown by color: kind (default), precision, latency",
    )  # fmt: skip
    add_result(parser, _FORMATS, default="")


def run(options: argparse.Namespace) -> int:
    from trex_tui.cli.loading import Loader
    from trex_tui.report.document import Document
    from trex_tui.report.graphs import (
        choose_layers,
        draw,
        make_graph,
        write_dot,
        write_graphml,
        write_node_link,
        write_trace,
    )
    from trex_tui.report.selection import choose_rows, named_columns
    from trex_tui.report.views.layers import list_layers

    result = Result(options)
    if not result.format:
        raise TrexError("name a file with -o, or the format with --format")
    loader = Loader(options)
    engine = loader.load_one()
    rows = choose_rows(engine, options.filter) if options.filter else None
    layers = choose_layers(engine, rows, options.radius)
    if not layers and len(engine):
        complain(f"0 of {len(engine)} layers chosen")
    columns = named_columns(engine, split_names(options.columns) or ["all"])
    if result.format in _TABLES:
        return result.write(list_layers(engine, engine.layers.index[layers], columns), loader.inputs())
    if result.format == "trex-metadata":
        content: str | bytes = _write_metadata(engine)
    elif result.format == "trace":
        content = write_trace(engine, layers)
    else:
        graph = make_graph(engine, layers, columns)
        if result.format == "graphml":
            content = write_graphml(graph)
        elif result.format == "json":
            content = write_node_link(engine, graph)
        else:
            dot = write_dot(engine, graph, options.color_by)
            content = dot if result.format == "dot" else draw(dot, result.format)
    document = Document("export", engine.name, notes=engine.notes)
    result.report(document.damage() if result.format in _WITH_NOTES else engine.notes)
    result.write_content(content, loader.inputs(), [] if result.format in _WITH_NOTES else document.damage())
    return result.exit_code(document)


def _write_metadata(engine: Engine) -> str:
    """Return options, device and performance summary under trex's keys.

    Raises:
        TrexError: No file states any.
    """
    from trex_tui.report.document import plain

    facts = engine.facts
    sections = {
        "model_options": facts.model_options,
        "build_options": facts.build_options,
        "performance_summary": {
            label: _read_result(engine, label, text) for label, text in facts.performance.items()
        },
        "inference_options": facts.inference_options,
        "device_information": facts.device,
    }
    document = {name: section for name, section in sections.items() if section}
    if not document:
        raise TrexError(f"{engine.name}: no options, device or performance summary; needs a log of trtexec")
    return json.dumps(plain(document), indent=4, allow_nan=False) + "\n"


def _read_result(engine: Engine, label: str, text: object) -> object:
    """Return the numbers of `min = 0.49 ms, max = …` in trex's order, and that of `2012.22 qps`."""
    from trex_tui.artifacts.metadata import number_in

    if not isinstance(text, str):
        return text
    latency = engine.facts.latency(label) if "median" in text else None
    if latency is None:
        return number_in(text) if number_in(text) is not None else text
    return [
        *(latency.min_ms, latency.max_ms, latency.mean_ms, latency.median_ms),
        *latency.percentiles_ms.values(),
    ]
