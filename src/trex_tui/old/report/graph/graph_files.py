r"""Graph files for other programs: DOT, GraphML (networkx takes 130 ms to import) and node-link JSON.

DOT has three layers of escapes: the quotes of the language (only `\"` ends differently), escString in labels and tooltips
(`\N`, `\G`, `\n`, `\\`), and HTML entities, which Graphviz resolves in both. Names are never used where Graphviz would expect
a file, a link or an HTML-like label.
"""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import TrexError, describe_reason
from trex_tui.old.report.document import is_missing
from trex_tui.old.report.graph.model import HIGHLIGHT, MUTED, Edge, EdgeRole, EngineGraph, Node, NodeRole
from trex_tui.old.report.render_json import diagnostic_object
from trex_tui.old.text import ELLIPSIS, format_ms, printable, shorten_middle

if TYPE_CHECKING:
    import networkx as nx

MOST_BYTES = 16_000
"""Graphviz up to 2.50 reads no string of more than 16 384 bytes (its scanner's buffer)."""

_SHAPES = {
    NodeRole.LAYER: "box",
    NodeRole.CONSTANT: "note",
}


def escaped(text: str, *, is_tooltip: bool = False) -> str:
    """Return text as a quoted string without special meaning for Graphviz; newlines separate lines.

    Text that is too long for Graphviz ends in an ellipsis.

    Args:
        is_tooltip: Graphviz 2.43 resolves the escapes of tooltips twice.
    """
    backslash = "\\\\\\\\" if is_tooltip else "\\\\"
    safe = _safe(text, backslash)
    if len(safe.encode("utf-8")) > MOST_BYTES:
        safe = _safe(text[: _longest(text, backslash)], backslash) + ELLIPSIS
    return f'"{safe}"'


def _safe(text: str, backslash: str) -> str:
    lines = (printable(line).replace("\\", backslash) for line in text.split("\n"))
    return "\\n".join(line.replace("&", "&amp;").replace('"', '\\"') for line in lines)


def _longest(text: str, backslash: str) -> int:
    """Return the number of letters that fit without splitting an escape."""
    least, most = 0, min(len(text), MOST_BYTES)
    while least < most:
        middle = (least + most + 1) // 2
        size = len(_safe(text[:middle], backslash).encode("utf-8")) + len(ELLIPSIS.encode("utf-8"))
        least, most = (middle, most) if size <= MOST_BYTES else (least, middle - 1)
    return least


def write_dot(graph: EngineGraph) -> str:
    """Return the graph in DOT. Boxes have unique ids, so that names may repeat; countable values are attributes."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: EngineGraph) -> Iterator[str]:
    # Graphviz loses labels of edges where it packs.
    pack = "" if any(edge.label for edge in graph.edges) else f", {_PACK}"
    yield f"digraph {escaped(graph.name)} {{"
    yield f"  graph [label={escaped(graph.title)}, labelloc=t, fontname=Helvetica, ranksep=0.35, nodesep=0.25{pack}];"
    yield '  node [fontname=Helvetica, fontsize=10, style="filled,rounded", margin="0.1,0.05"];'
    yield f'  edge [color="{MUTED}", arrowsize=0.6, fontname=Helvetica, fontsize=9];'
    for number, node in enumerate(graph.nodes):
        yield f"  {node.id} [{_node_attributes(node)}, sortv={number}];"
    for edge in graph.edges:
        attributes = [
            f'color="{edge.paint}"',
            f"tooltip={escaped(edge.text, is_tooltip=True)}",
            f"role={edge.role.value}",
        ]
        if edge.label:
            attributes.append(f"label={escaped(edge.label)}")
        if edge.port is not None:
            attributes.append(f"port={edge.port}")
        if edge.role is EdgeRole.LOOP:
            attributes += ["style=dashed", "constraint=false"]
        yield f"  {graph.nodes[edge.source].id} -> {graph.nodes[edge.target].id} [{', '.join(attributes)}];"
    yield "}"


# Layers without links, as in files with names only, are arranged in rows of six, in their order (`sortv`).
_PACK = 'pack=true, packmode="array_u6"'


def _node_attributes(node: Node) -> str:
    attributes = [
        f"label={escaped(chr(10).join(node.lines))}",
        f"tooltip={escaped(node.tooltip, is_tooltip=True)}",
    ]
    attributes += [f'fillcolor="{node.paint.fill}"', f'color="{node.paint.line}"']
    attributes.append(f"shape={_SHAPES.get(node.role, 'ellipse')}")
    if node.role is not NodeRole.LAYER:
        attributes.append("style=filled")
    if node.is_highlighted:
        attributes += [f'color="{HIGHLIGHT}"', "penwidth=3"]
    attributes.append(f"role={node.role.value}")
    if node.layer is not None:
        attributes.append(f"kind={node.layer.kind.value}")
        if node.layer.precision is not None:
            attributes.append(f"precision={node.layer.precision.value}")
        if node.layer.latency_ms is not None:
            attributes.append(f"latency_ms={format_ms(node.layer.latency_ms, 6)}")
    return ", ".join(attributes)


GRAPHVIZ_INSTALL = "install Graphviz (apt install graphviz, dnf install graphviz, brew install graphviz)"


class DotTimeoutError(TrexError):
    """`dot` exceeded its time limit."""


def dot_program() -> str | None:
    """Return the path of `dot`; None if it is not installed."""
    return shutil.which("dot")


def drawn_by_dot(program: str, text: str, form: str, seconds: float) -> tuple[bytes, str]:
    """Return the picture, and the messages of `dot`.

    Args:
        text: DOT.
        form: `svg` or `png`.
        seconds: Time limit.

    Raises:
        DotTimeoutError: It took longer.
        TrexError: It failed; the message is its own.
    """
    try:
        done = subprocess.run(
            [program, f"-T{form}"],
            input=text.encode("utf-8"),
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DotTimeoutError(f"dot took longer than {seconds:g} s") from None
    except OSError as error:
        raise TrexError(f"{program} cannot be run: {describe_reason(error)}") from error
    words = " ".join(done.stderr.decode("utf-8", "replace").split())
    message = shorten_middle(printable(words), 300)
    if done.returncode != 0 or not done.stdout:
        reason = message or f"exit code {done.returncode}"
        raise TrexError(f"dot failed: {reason}; use --layout builtin")
    return done.stdout, message


SCHEMA = "trex-tui/graph/1"

RESERVED = frozenset({"role", "label", "highlighted"})
"""Keys of nodes; a column of layers of this name gets a prefix."""


def _network(engine: Engine, graph: EngineGraph, columns: Sequence[LayerColumn]) -> nx.MultiDiGraph[str]:
    """Return the graph with all known facts of its nodes and edges; unknown ones are absent."""
    import networkx as nx

    text = printable  # XML can hold neither control characters nor lone surrogates
    network: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=text(graph.name))
    for node in graph.nodes:
        network.add_node(node.id, **_node_data(engine, node, columns, text))
    for number, edge in enumerate(graph.edges):
        ends = graph.nodes[edge.source].id, graph.nodes[edge.target].id
        network.add_edge(*ends, key=number, **_edge_data(edge, text))
    return network


def _node_data(
    engine: Engine, node: Node, columns: Sequence[LayerColumn], text: Callable[[str], str]
) -> dict[str, Any]:
    attributes: dict[str, Any] = {"role": node.role.value, "label": text(node.name)}
    if node.is_highlighted:
        attributes["highlighted"] = True
    if node.tensor is not None:
        tensor = node.tensor
        attributes["shape"] = "x".join(map(str, tensor.shape)) or "scalar"
        attributes["tensor_format"] = text(tensor.description)
        attributes["allocated_bytes"] = tensor.allocated_bytes
    if node.layer is not None:
        for column in columns:
            attributes[f"layer_{column.name}" if column.name in RESERVED else column.name] = _plain(
                column.value(engine, node.layer), text
            )
    return {key: value for key, value in attributes.items() if value is not None}


def _plain(value: Any, text: Callable[[str], str]) -> Any:  # noqa: ANN401 - any cell
    if is_missing(value):
        return None
    if isinstance(value, tuple):
        return text(";".join(value))
    return text(value) if isinstance(value, str) else value


def _edge_data(edge: Edge, text: Callable[[str], str]) -> dict[str, Any]:
    attributes: dict[str, Any] = {"role": edge.role.value, "tensor": text(edge.tensor)}
    attributes["port"] = edge.port
    attributes["dtype"] = None if edge.dtype is None else edge.dtype.value
    return {key: value for key, value in attributes.items() if value is not None}


def write_graphml(engine: Engine, graph: EngineGraph, columns: Sequence[LayerColumn]) -> bytes:
    """Return GraphML. Characters that XML cannot hold are written as `text.printable` shows them.

    Args:
        columns: Columns of every layer.
    """
    import networkx as nx

    data = io.BytesIO()
    nx.write_graphml_xml(_network(engine, graph, columns), data, named_key_ids=True)
    return data.getvalue()


def graph_document(engine: Engine, graph: EngineGraph, columns: Sequence[LayerColumn]) -> dict[str, Any]:
    """Return node-link data, as `networkx.node_link_graph(document, edges="edges")` reads it; texts verbatim."""
    ids = [node.id for node in graph.nodes]
    return {
        "schema": SCHEMA,
        "engine": graph.name,
        "directed": True,
        "multigraph": True,
        "graph": {},
        "nodes": [{"id": node.id, **_node_data(engine, node, columns, str)} for node in graph.nodes],
        "edges": [
            {
                "source": ids[edge.source],
                "target": ids[edge.target],
                "key": number,
                **_edge_data(edge, str),
            }
            for number, edge in enumerate(graph.edges)
        ],
        "diagnostics": list(map(diagnostic_object, engine.diagnostics)),
    }
