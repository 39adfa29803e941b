"""Graph files for other programs: GraphML, by networkx (130 ms to import), and node-link JSON."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from trex_tui.engine.columns import LayerColumn
from trex_tui.engine.engine import Engine
from trex_tui.report.document import is_missing
from trex_tui.report.graph.model import Edge, EngineGraph, Node
from trex_tui.text import printable

if TYPE_CHECKING:
    import networkx as nx

SCHEMA = "trex-tui/graph/1"

_RESERVED = {"role", "label", "highlighted"}


def _network(engine: Engine, graph: EngineGraph, columns: Sequence[LayerColumn]) -> nx.MultiDiGraph[str]:
    """The graph with everything that is known about its nodes and edges; what is unknown is absent."""
    import networkx as nx

    text = printable  # XML can hold neither control characters nor lone surrogates
    network: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=text(graph.name))
    for node in graph.nodes:
        network.add_node(node.id, **_node_attributes(engine, node, columns, text))
    for number, edge in enumerate(graph.edges):
        ends = graph.nodes[edge.source].id, graph.nodes[edge.target].id
        network.add_edge(*ends, key=number, **_edge_attributes(edge, text))
    return network


def _node_attributes(
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
            attributes[f"layer_{column.name}" if column.name in _RESERVED else column.name] = _plain(
                column.value(engine, node.layer), text
            )
    return {key: value for key, value in attributes.items() if value is not None}


def _plain(value: Any, text: Callable[[str], str]) -> Any:  # noqa: ANN401 - any cell
    if is_missing(value):
        return None
    if isinstance(value, tuple):
        return text(";".join(value))
    return text(value) if isinstance(value, str) else value


def _edge_attributes(edge: Edge, text: Callable[[str], str]) -> dict[str, Any]:
    attributes: dict[str, Any] = {"role": edge.role.value, "tensor": text(edge.tensor)}
    attributes["port"] = edge.port
    attributes["dtype"] = None if edge.dtype is None else edge.dtype.value
    return {key: value for key, value in attributes.items() if value is not None}


def write_graphml(engine: Engine, graph: EngineGraph, columns: Sequence[LayerColumn]) -> bytes:
    """GraphML. Characters that XML cannot hold are shown as `text.printable` shows them.

    Args:
        columns: What is stated of every layer.
    """
    import networkx as nx

    data = io.BytesIO()
    nx.write_graphml_xml(_network(engine, graph, columns), data, named_key_ids=True)
    return data.getvalue()


def graph_document(engine: Engine, graph: EngineGraph, columns: Sequence[LayerColumn]) -> dict[str, Any]:
    """Node-link data, as `networkx.node_link_graph(document, edges="edges")` reads it; texts verbatim."""
    ids = [node.id for node in graph.nodes]
    return {
        "schema": SCHEMA,
        "engine": graph.name,
        "directed": True,
        "multigraph": True,
        "graph": {},
        "nodes": [{"id": node.id, **_node_attributes(engine, node, columns, str)} for node in graph.nodes],
        "edges": [
            {
                "source": ids[edge.source],
                "target": ids[edge.target],
                "key": number,
                **_edge_attributes(edge, str),
            }
            for number, edge in enumerate(graph.edges)
        ],
    }
