"""`trex-tui export`: an engine as a file for another program."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.analysis.columns import ALL_COLUMNS
from trex_tui.artifacts.output_files import OutputKind, check_output, inputs_of, write_output
from trex_tui.cli.engines import load_one
from trex_tui.cli.output import complain
from trex_tui.errors import ExitCode, TrexError
from trex_tui.report.export_formats import file_stem, target_of
from trex_tui.report.views.layers import columns_named, layers_csv
from trex_tui.text import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from trex_tui.engine.columns import Column
    from trex_tui.engine.engine import Engine
    from trex_tui.report.graph.model import EngineGraph

_ENDINGS = {
    ".perfetto.json": "trace",
    ".trace.json": "trace",
    ".dot": "dot",
    ".gv": "dot",
    ".svg": "svg",
    ".png": "png",
    ".graphml": "graphml",
    ".json": "json",
    ".onnx": "onnx",
    ".csv": "csv",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
}
_BINARY = ("png", "onnx", "parquet", "xlsx")
_TABLES = ("csv", "parquet", "xlsx")
_GRAPH_MARK = "trex-tui/graph/1"
_PNG_SIGNATURE, _PNG_HEADER_BYTES = b"\x89PNG\r\n\x1a\n", 8 + 25
EXPORT = OutputKind(
    "trex-tui export",
    ("trex-tui/graph/", "trex-tui/layers/", "trex-tui/trace/", "trex_tui.engine"),
    {column.name for column in ALL_COLUMNS},
)
"""Each format carries a mark: JSON its schema, ONNX the domain of its operators, pictures and graphs a comment, Parquet and
Excel an entry of their metadata, CSV its header row."""
DOT_TIMEOUT_S = 30.0
LARGEST_FOR_DOT = 400
"""Nodes and edges up to which `--layout auto` asks Graphviz: less than a second. A diffusion model's 844 take it six, a chain
of 5 000 layers almost a minute; the builtin layout needs one."""


def run_export(options: argparse.Namespace) -> int:
    """Write one engine in one format, and say on stderr what was written.

    Raises:
        TrexError: The format is not known, the engine not one, an option makes no sense, or a library is missing.
    """
    form = format_of(options.output, options.format)
    engine, strays = load_one(options)
    target = _target(options, form, engine)
    for diagnostic in (*engine.diagnostics, *strays):
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    content, what = _exported(engine, form, options)
    if target is None:
        _print(content)
    else:
        write_output(target, content)
        complain(f"{what} written to {target}")
    return int(ExitCode.OK)


def format_of(output: str, stated: str | None) -> str:
    """The format that is stated, or that the ending tells.

    Raises:
        TrexError: Neither tells one, or it cannot go to a terminal.
    """
    is_stdout = output == "-"
    name = Path(output).name.lower()
    form = stated or next((form for ending, form in _ENDINGS.items() if name.endswith(ending)), None)
    if form is None:
        if is_stdout:
            raise TrexError("-o - needs --format: there is no ending to tell it")
        raise TrexError(
            f"{output}: the ending tells no format; known are {' '.join(_ENDINGS)}, or use --format"
        )
    if is_stdout and form in _BINARY and sys.stdout.isatty():
        raise TrexError(f"{form} is nothing for a terminal; name a file with -o, or pipe it")
    return form


def _target(options: argparse.Namespace, form: str, engine: Engine) -> Path | None:
    """The file to write, named after the engine where the output is a directory; None for stdout."""
    if options.output == "-":
        return None
    ending = next(ending for ending, one in _ENDINGS.items() if one == form)
    target = target_of(options.output, file_stem(engine.name) + ending)
    check_output(target, EXPORT, inputs_of([engine.source], options.paths), force=options.force)
    return target


def _print(content: str | bytes) -> None:
    if isinstance(content, str):
        sys.stdout.write(content)
    else:
        sys.stdout.buffer.write(content)


def _exported(engine: Engine, form: str, options: argparse.Namespace) -> tuple[str | bytes, str]:
    """The content of the file, and what it is, for the sentence about it."""
    if form in _TABLES:
        return _table(engine, form, options)
    if form == "trace":
        from trex_tui.report.graph.engine_graph import chosen_layers
        from trex_tui.report.graph.trace import trace_document

        chosen = chosen_layers(engine, options.query, options.around, options.radius)
        document = trace_document(engine, chosen)
        facts = document["otherData"]
        what = f"{plural(facts['layers'], 'layer')} and {plural(facts['queries'], 'query', 'queries')}"
        return json.dumps(document, allow_nan=False) + "\n", what
    graph = _graph(engine, options)
    if options.highlight and not any(node.is_highlighted for node in graph.nodes):
        complain(f"info: --highlight: {options.highlight!r} fits no layer that is drawn")
    what = f"{plural(len(graph.nodes), 'node')} and {plural(len(graph.edges), 'edge')}"
    return _marked(_graph_as(engine, graph, form, options), form), what


def _marked(content: str | bytes, form: str) -> str | bytes:
    """A graph that says who wrote it: in a comment at its end where its format has no other way."""
    if form in ("json", "onnx"):
        return content
    if form == "png" and isinstance(content, bytes):
        return _with_text_chunk(content) if content.startswith(_PNG_SIGNATURE) else content
    comment = f"// {_GRAPH_MARK}\n" if form == "dot" else f"<!-- {_GRAPH_MARK} -->\n"
    return content + comment if isinstance(content, str) else content + comment.encode()


def _with_text_chunk(png: bytes) -> bytes:
    """A PNG with a `tEXt` chunk behind its header, which is the first chunk and has a fixed length."""
    import struct
    import zlib

    chunk = b"tEXtSoftware\0" + _GRAPH_MARK.encode()
    length, checksum = struct.pack(">I", len(chunk) - 4), struct.pack(">I", zlib.crc32(chunk))
    return png[:_PNG_HEADER_BYTES] + length + chunk + checksum + png[_PNG_HEADER_BYTES:]


def _columns(options: argparse.Namespace) -> Sequence[Column]:
    if not options.columns:
        return ALL_COLUMNS
    return columns_named([name.strip() for name in options.columns.split(",")])


def _table(engine: Engine, form: str, options: argparse.Namespace) -> tuple[str | bytes, str]:
    from trex_tui.report.graph.engine_graph import chosen_layers

    columns = _columns(options)
    chosen = chosen_layers(engine, options.query, options.around, options.radius)
    layers = [layer for layer in engine.layers if chosen is None or layer.index in chosen]
    what = f"{plural(len(layers), 'layer')}, {plural(len(columns), 'column')}"
    if form == "csv":
        return layers_csv(engine, layers, columns), what
    from trex_tui.report.table_files import write_parquet, write_xlsx

    write = write_parquet if form == "parquet" else write_xlsx
    return write(engine, columns, chosen), what


def _graph(engine: Engine, options: argparse.Namespace) -> EngineGraph:
    from trex_tui.report.graph.engine_graph import DEFAULT_LABELS, GraphOptions, build_graph, label_parts
    from trex_tui.report.graph.model import ColorBy

    labels = options.labels or ",".join(DEFAULT_LABELS)
    return build_graph(
        engine,
        GraphOptions(
            color=ColorBy(options.color),
            labels=tuple(label_parts(labels)),
            query=options.query,
            around=options.around,
            radius=options.radius,
            highlight=options.highlight,
            constants=options.constants,
            metadata=options.metadata,
        ),
    )


def _graph_as(engine: Engine, graph: EngineGraph, form: str, options: argparse.Namespace) -> str | bytes:
    if form == "dot":
        from trex_tui.report.graph.dot import write_dot

        return write_dot(graph)
    if form in ("svg", "png"):
        return _picture(graph, form, options)
    if form == "onnx":
        from trex_tui.report.graph.onnx_file import write_onnx

        return write_onnx(engine, graph)
    from trex_tui.report.graph import networks

    columns = _columns(options)
    if form == "json":
        document = networks.graph_document(engine, graph, columns)
        return json.dumps(document, indent=1, allow_nan=False) + "\n"
    return networks.write_graphml(engine, graph, columns)


def _picture(graph: EngineGraph, form: str, options: argparse.Namespace) -> str | bytes:
    """By Graphviz where it is asked for or quick, else by the layout of our own."""
    from trex_tui.report.charts.png import renderer
    from trex_tui.report.graph.dot import INSTALL, DotTimeoutError, dot_program, drawn_by_dot
    from trex_tui.report.graph.graph_svg import write_svg

    program = None if options.layout == "builtin" else dot_program()
    is_asked = options.layout == "dot"
    if is_asked and program is None:
        raise TrexError(f"--layout dot takes Graphviz, whose program dot is not on PATH: {INSTALL}")
    is_small = len(graph.nodes) + len(graph.edges) <= LARGEST_FOR_DOT
    has_other = form == "svg" or renderer() is not None
    if program is not None and (is_asked or is_small or not has_other):
        from trex_tui.report.graph.dot import write_dot

        try:
            picture, said = drawn_by_dot(program, write_dot(graph), form, DOT_TIMEOUT_S)
        except DotTimeoutError as error:
            if is_asked or not has_other:
                raise TrexError(f"{error}: {_instead(form, has_other=has_other)}") from None
            complain(f"warning: {error}; drawn by the builtin layout")
        else:
            if said:
                complain(f"warning: dot: {said}")
            return picture
    if not has_other:
        _refuse_png(builtin=options.layout == "builtin")
    drawn = write_svg(graph)
    return drawn if form == "svg" else _painted(drawn)


def _instead(form: str, *, has_other: bool) -> str:
    from trex_tui.report.charts.png import INSTALL

    builtin = (
        f"use --layout builtin, which for PNG takes {INSTALL}" if form == "png" else "use --layout builtin"
    )
    return f"choose fewer layers, or {'use --layout builtin' if has_other else builtin}"


def _refuse_png(*, builtin: bool) -> None:
    """Neither program that makes PNG is there, or the one that was not asked for."""
    from trex_tui.report.charts.png import INSTALL
    from trex_tui.report.graph.dot import INSTALL as DOT

    if builtin:
        raise TrexError(f"PNG by the builtin layout takes {INSTALL}; or write .svg")
    raise TrexError(f"PNG takes {INSTALL}, or for small graphs {DOT.removeprefix('install ')}; or write .svg")


def _painted(svg: str) -> bytes:
    from trex_tui.report.charts.png import png_of, zoom_of

    content, zoom = png_of(svg), zoom_of(svg)
    if zoom < 1:
        complain(
            f"info: painted at {100.0 * zoom:.0f} % of its size, since a PNG of all of it would be too large; "
            "--query and --around choose less, and .svg has every letter"
        )
    return content
