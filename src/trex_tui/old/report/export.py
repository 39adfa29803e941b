"""An engine, its layers, a listing or a comparison as the content of a file: the one exporter of command and screens."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.artifacts.output_files import OutputKind
from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.errors import TrexError, describe_reason
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lazy_pattern import lazy_pattern
from trex_tui.old.report.json_text import format_json
from trex_tui.old.report.path_completion import typed_path
from trex_tui.old.report.render_json import diagnostic_object, row_objects
from trex_tui.old.report.render_markdown import table_markdown
from trex_tui.old.report.table_files import table_csv
from trex_tui.old.report.views.layer_table import CSV_HEADER, layers_listing, layers_table
from trex_tui.old.text import plural

if TYPE_CHECKING:
    from trex_tui.old.report.chart_file import ShownChart
    from trex_tui.old.report.document import Listing
    from trex_tui.old.report.graph.engine_graph import GraphOptions
    from trex_tui.old.report.graph.model import EngineGraph
    from trex_tui.old.report.views.compare import Shown

ENDINGS = {
    ".perfetto.json": "trace",
    ".trace.json": "trace",
    ".dot": "dot",
    ".gv": "dot",
    ".svg": "svg",
    ".png": "png",
    ".graphml": "graphml",
    ".json": "json",
    ".annotated.onnx": "onnx-annotated",
    ".onnx": "onnx",
    ".csv": "csv",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
    ".tea": "tea",
}
"""Suffix of a file -> format of an engine."""
BINARY = ("png", "onnx", "onnx-annotated", "parquet", "xlsx")
EXPORT = OutputKind(
    "trex-tui export",
    ("trex-tui/graph/", "trex-tui/layers/", "trex-tui/trace/", "trex_tui.engine"),
    CSV_HEADER,
)
"""Each format carries a mark: JSON its schema, ONNX the domain of its operators, pictures and graphs a comment, Parquet and
Excel an entry of their metadata. CSV has none: its header row counts if it has all columns."""
DOT_TIMEOUT_S = 30.0
LARGEST_FOR_DOT = 400
"""Nodes and edges up to which the layout `auto` uses Graphviz: less than a second. The 844 of a diffusion model take it six
seconds, a chain of 5 000 layers almost a minute; the built-in layout takes one second."""
_GRAPH_MARK = "trex-tui/graph/1"
_MOST_NAME = 80
_MOST_NAME_BYTES = 200
"""Maximum length of a stem: file systems allow 255 characters, including suffix and distinguishing parts."""
_RESERVED = lazy_pattern(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)")
"""Names that Windows reserves for devices, with any extension."""


@dataclass(frozen=True, slots=True)
class Exported:
    """Form in which an engine is exported.

    Attributes:
        content: Content of the file.
        summary: Description of the content: `9 layers, 45 columns`.
        notes: Remarks for the user.
    """

    content: str | bytes
    summary: str
    notes: tuple[str, ...] = ()


def export_engine(
    engine: Engine, form: str, columns: Sequence[LayerColumn], options: GraphOptions, layout: str
) -> Exported:
    """Return the graph, the layer table or the trace of an engine.

    Args:
        form: A format of `ENDINGS`.
        columns: Columns of tables and graph files.
        options: Selection and drawing of layers.
        layout: `auto`, `dot` or `builtin`.

    Raises:
        TrexError: An option does not apply, or a library or program is missing.
    """
    if form == "onnx-annotated":
        return _annotate(engine)
    from trex_tui.old.report.graph.engine_graph import build_graph, chosen_layers, describe_choice

    if form in ("csv", "parquet", "xlsx", "trace"):
        chosen = chosen_layers(engine, options.query, options.around, options.radius)
        table = _export_table(engine, form, columns, chosen)
        is_empty = chosen is not None and not chosen
        return replace(table, notes=(describe_choice(engine, options),)) if is_empty else table
    graph = build_graph(engine, options)
    notes = []
    if options.highlight and not any(node.is_highlighted for node in graph.nodes):
        notes.append(f"info: --highlight: {options.highlight!r} matches no drawn layer")
    content, more = _graph_content(engine, graph, form, columns, layout)
    summary = f"{plural(len(graph.nodes), 'node')} and {plural(len(graph.edges), 'edge')}"
    return Exported(_mark_graph(content, form), summary, (*notes, *more))


def _annotate(engine: Engine) -> Exported:
    from trex_tui.old.report.graph.onnx_annotation import annotate_model

    content, count, has_external = annotate_model(engine)
    note = "info: the model keeps weights in other files: write the copy into the directory of the model"
    return Exported(content, f"{plural(count, 'node')} with a layer", (note,) if has_external else ())


def _export_table(
    engine: Engine, form: str, columns: Sequence[LayerColumn], chosen: Collection[int] | None
) -> Exported:
    if form == "trace":
        from trex_tui.old.report.graph.trace import trace_document

        document = trace_document(engine, chosen)
        facts = document["otherData"]
        summary = f"{plural(facts['layers'], 'layer')} and {plural(facts['queries'], 'query', 'queries')}"
        return Exported(json.dumps(document, allow_nan=False) + "\n", summary)
    layers = [layer for layer in engine.layers if chosen is None or layer.index in chosen]
    summary = f"{plural(len(layers), 'layer')}, {plural(len(columns), 'column')}"
    if form == "csv":
        return Exported(table_csv(layers_table(engine, layers, columns)), summary)
    from trex_tui.old.report.table_files import write_parquet, write_xlsx

    write = write_parquet if form == "parquet" else write_xlsx
    return Exported(write(engine, columns, chosen), summary)


def _graph_content(
    engine: Engine, graph: EngineGraph, form: str, columns: Sequence[LayerColumn], layout: str
) -> tuple[str | bytes, list[str]]:
    if form in ("svg", "png"):
        return _draw(graph, form, layout)
    if form == "dot":
        from trex_tui.old.report.graph.graph_files import write_dot

        return write_dot(graph), []
    if form == "onnx":
        from trex_tui.old.report.graph.onnx_file import write_onnx

        return write_onnx(engine, graph), []
    from trex_tui.old.report.graph.graph_files import graph_document, write_graphml

    if form == "json":
        return json.dumps(graph_document(engine, graph, columns), indent=1, allow_nan=False) + "\n", []
    return write_graphml(engine, graph, columns), []


def _draw(graph: EngineGraph, form: str, layout: str) -> tuple[str | bytes, list[str]]:
    """Draw with Graphviz if requested or fast, else with the built-in layout."""
    from trex_tui.old.report.charts.png import renderer
    from trex_tui.old.report.graph.graph_files import (
        GRAPHVIZ_INSTALL,
        DotTimeoutError,
        dot_program,
        drawn_by_dot,
        write_dot,
    )
    from trex_tui.old.report.graph.graph_svg import write_svg

    notes: list[str] = []
    program = None if layout == "builtin" else dot_program()
    is_asked = layout == "dot"
    if is_asked and program is None:
        raise TrexError(f"--layout dot needs Graphviz (dot is not on PATH): {GRAPHVIZ_INSTALL}")
    is_small = len(graph.nodes) + len(graph.edges) <= LARGEST_FOR_DOT
    has_other = form == "svg" or renderer() is not None
    if program is not None and (is_asked or is_small or not has_other):
        try:
            picture, warning = drawn_by_dot(program, write_dot(graph), form, DOT_TIMEOUT_S)
        except DotTimeoutError as error:
            if is_asked or not has_other:
                raise TrexError(f"{error}: {_instead(form, has_other=has_other)}") from None
            notes.append(f"warning: {error}; using the built-in layout")
        else:
            return picture, [f"warning: dot: {warning}"] if warning else []
    if not has_other:
        _refuse_png(builtin=layout == "builtin")
    drawn = write_svg(graph)
    if form == "svg":
        return drawn, notes
    content, note = _paint(drawn)
    return content, [*notes, *note]


def _instead(form: str, *, has_other: bool) -> str:
    from trex_tui.old.report.charts.png import INSTALL

    builtin = (
        f"use --layout builtin, which needs {INSTALL} for PNG" if form == "png" else "use --layout builtin"
    )
    return f"choose fewer layers, or {'use --layout builtin' if has_other else builtin}"


def _refuse_png(*, builtin: bool) -> None:
    from trex_tui.old.report.charts.png import INSTALL
    from trex_tui.old.report.graph.graph_files import GRAPHVIZ_INSTALL

    if builtin:
        raise TrexError(f"PNG with the built-in layout needs {INSTALL}; or write .svg")
    graphviz = GRAPHVIZ_INSTALL.removeprefix("install ")
    raise TrexError(f"PNG needs {INSTALL}, or {graphviz} for small graphs; or write .svg")


def _paint(svg: str) -> tuple[bytes, list[str]]:
    from trex_tui.old.report.charts.png import choose_zoom, render_png

    content, zoom = render_png(svg), choose_zoom(svg)
    if zoom >= 1:
        return content, []
    return content, [
        f"info: PNG scaled to {100.0 * zoom:.0f} % (size limit); reduce the graph with --filter or "
        "--around, or write .svg"
    ]


def _mark_graph(content: str | bytes, form: str) -> str | bytes:
    """Add the generator to a graph: as a comment at its end if the format has no other place."""
    if form in ("json", "onnx"):
        return content
    if form == "png" and isinstance(content, bytes):
        from trex_tui.old.report.charts.png import mark_png

        return mark_png(content, _GRAPH_MARK)
    comment = f"// {_GRAPH_MARK}\n" if form == "dot" else f"<!-- {_GRAPH_MARK} -->\n"
    return content + comment if isinstance(content, str) else content + comment.encode()


class ExportFormat(str, Enum):
    """Text formats; the values are file suffixes."""

    CSV = "csv"
    JSON = "json"
    MARKDOWN = "md"
    SVG = "svg"
    TEXT = "txt"
    HTML = "html"

    @property
    def description(self) -> str:
        return {
            ExportFormat.CSV: "CSV, for a spreadsheet",
            ExportFormat.JSON: "JSON, as `layers --format json`",
            ExportFormat.MARKDOWN: "Markdown, a table",
            ExportFormat.SVG: "SVG, a picture of the screen",
            ExportFormat.TEXT: "text, as drawn",
            ExportFormat.HTML: "HTML, one file",
        }[self]

    @property
    def of_listing(self) -> str:
        """Label of the choice for rows other than layers."""
        return {ExportFormat.JSON: "JSON, an object with a list"}.get(self, self.description)

    @property
    def of_comparison(self) -> str:
        return {
            ExportFormat.JSON: "JSON, as `diff --format json`",
            ExportFormat.MARKDOWN: "Markdown, for pull request comments",
            ExportFormat.TEXT: "text, as `diff` prints it",
        }.get(self, self.description)


CHART_FORMS = {
    ExportFormat.SVG: "SVG, the chart",
    ExportFormat.CSV: "CSV, the numbers of the chart",
    ExportFormat.JSON: "JSON, the numbers of the chart",
    ExportFormat.MARKDOWN: "Markdown, the numbers of the chart",
    ExportFormat.TEXT: "text, as drawn",
}
"""Formats of a chart on screen, with their labels."""


def layers_as(
    form: ExportFormat, engine: Engine, layers: Sequence[Layer], columns: Sequence[LayerColumn]
) -> str:
    """Return the layers in a text format."""
    return listing_as(form, layers_listing(engine, layers, columns))


def listing_as(form: ExportFormat, listing: Listing) -> str:
    """Return rows in a text format."""
    table = listing.table
    if form is ExportFormat.JSON:
        document: dict[str, object] = {
            "schema": listing.schema,
            listing.source_key: listing.source,
            table.id: row_objects(table),
        }
        if listing.diagnostics is not None:
            document["diagnostics"] = list(map(diagnostic_object, listing.diagnostics))
        return format_json(document) + "\n"
    if form is ExportFormat.CSV:
        return table_csv(table)
    if form is ExportFormat.MARKDOWN:
        return "\n".join(table_markdown(table, has_bars=False)) + "\n"
    raise ValueError(f"{form} is no text")


def chart_as(form: ExportFormat, shown: ShownChart) -> str:
    """Return a chart on screen as SVG or text, or its numbers in another text format.

    Raises:
        TrexError: There is nothing to draw.
    """
    if form is ExportFormat.TEXT:
        return shown.text
    if form is ExportFormat.SVG:
        from trex_tui.old.report.chart_file import draw_picture

        return draw_picture(shown.chart, shown.subject)
    from trex_tui.old.report.charts.chart_data import chart_listing

    return listing_as(form, chart_listing(shown.chart, shown.subject))


def comparison_as(form: ExportFormat, shown: Shown) -> str:
    """Return a comparison in a text format, as `diff` prints it."""
    if form is ExportFormat.JSON:
        from trex_tui.old.report.views.compare import diff_document

        return format_json(diff_document(shown)) + "\n"
    if form is ExportFormat.CSV:
        from trex_tui.old.report.views.compare import diff_csv

        return diff_csv(shown)
    if form is ExportFormat.MARKDOWN:
        from trex_tui.old.report.views.compare import diff_markdown

        return diff_markdown(shown)
    if form is ExportFormat.HTML:
        from trex_tui.old.report.views.compare import diff_page

        return diff_page(shown)
    if form is ExportFormat.TEXT:
        from trex_tui.old.report.render_text import plain_text, print_sections
        from trex_tui.old.report.views.compare import sections

        return plain_text(partial(print_sections, sections(shown)))
    raise ValueError(f"{form} is no text")


def file_stem(name: str) -> str:
    """Return a file name from the name of an engine that is valid on every file system."""
    stem = re.sub(r"[^\w.-]+", "_", name).lstrip("._-")[:_MOST_NAME]
    stem = stem.encode()[:_MOST_NAME_BYTES].decode(errors="ignore").rstrip("._-")
    return _RESERVED.sub(r"\1_", stem, count=1) if _RESERVED.match(stem) else stem or "engine"


def default_directory(artifacts: Iterable[Path]) -> Path:
    """Return the current directory; if it has the artifacts, the home directory, then that for temporary files."""
    taken = {os.path.realpath(path) for path in artifacts}
    for directory in (Path(), Path(os.path.expanduser("~"))):  # noqa: PTH111 - no home is no error here
        if os.path.realpath(directory) not in taken and directory.is_dir():
            return directory
    import tempfile  # 5 ms

    return Path(tempfile.gettempdir())


def with_ending(text: str, form: ExportFormat) -> str:
    """Return a typed path with the suffix of another format, if it has a known one."""
    stem, dot, ending = text.rpartition(".")
    known = {form.value for form in ExportFormat}
    return f"{stem}.{form.value}" if dot and ending in known else text


def find_format(text: str) -> ExportFormat | None:
    """Return the format of the suffix of a typed path."""
    ending = text.strip().rpartition(".")[2].lower()
    return next((form for form in ExportFormat if form.value == ending), None)


def find_target(text: str, name: str) -> Path:
    """Return the file for a typed path: `name` in it if it is a directory.

    Raises:
        TrexError: It cannot be a file; the message has the reason.
    """
    path = Path(typed_path(text))
    try:
        if path.is_dir() or text.rstrip().endswith(("/", os.sep)):
            path = path / name
        if path.exists() and not path.is_file():
            raise TrexError(f"{path} is not a regular file; name another file")
        if not path.parent.is_dir():
            raise TrexError(f"directory {path.parent} does not exist; create it first")
    except OSError as error:
        raise TrexError(f"{path}: {describe_reason(error)}") from error
    return path
