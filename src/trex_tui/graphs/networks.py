"""Graph files for other programs: GraphML, GEXF and node-link JSON, by networkx (130 ms to import)."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import Any

import networkx as nx

from trex_tui.engine.columns import Column
from trex_tui.engine.engine import Engine
from trex_tui.graphs.model import Edge, EngineGraph, Node, NodeRole
from trex_tui.reports.layers import is_missing
from trex_tui.text import printable

SCHEMA = "trex-tui/graph/1"

_OF_NODES = {"role", "label", "highlighted", "generation"}


def as_network(
    engine: Engine, graph: EngineGraph, columns: Sequence[Column], text: Callable[[str], str] = str
) -> nx.MultiDiGraph[str]:
    """The graph with everything that is known about its nodes and edges; what is unknown is absent.

    Args:
        columns: What is stated of every layer.
        text: Makes texts what the format can hold.
    """
    network: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for node in graph.nodes:
        network.add_node(node.id, **_of_node(engine, node, columns, text))
    for number, edge in enumerate(graph.edges):
        ends = graph.nodes[edge.source].id, graph.nodes[edge.target].id
        network.add_edge(*ends, key=number, **_of_edge(edge, text))
    return network


def _of_node(
    engine: Engine, node: Node, columns: Sequence[Column], text: Callable[[str], str]
) -> dict[str, Any]:
    told: dict[str, Any] = {"role": node.role.value, "label": text(node.name)}
    if node.is_highlighted:
        told["highlighted"] = True
    if node.role is NodeRole.REGION:
        told["generation"] = node.generation
    if node.tensor is not None:
        tensor = node.tensor
        told["shape"] = "x".join(map(str, tensor.shape)) or "scalar"
        told["tensor_format"] = text(tensor.description)
        told["allocated_bytes"] = tensor.allocated_bytes
    if node.layer is not None:
        for column in columns:
            told[f"layer_{column.name}" if column.name in _OF_NODES else column.name] = _plain(
                column.value(engine, node.layer), text
            )
    return {key: value for key, value in told.items() if value is not None}


def _plain(value: Any, text: Callable[[str], str]) -> Any:  # noqa: ANN401 - any cell
    if is_missing(value):
        return None
    if isinstance(value, tuple):
        return text(";".join(value))
    return text(value) if isinstance(value, str) else value


def _of_edge(edge: Edge, text: Callable[[str], str]) -> dict[str, Any]:
    told: dict[str, Any] = {"role": edge.role.value, "tensor": text(edge.tensor)}
    told["port"] = edge.port
    told["dtype"] = None if edge.dtype is None else edge.dtype.value
    return {key: value for key, value in told.items() if value is not None}


def write_graphml(engine: Engine, graph: EngineGraph, columns: Sequence[Column]) -> bytes:
    """GraphML. Characters that XML cannot hold are shown as `text.printable` shows them."""
    network = as_network(engine, graph, columns, printable)
    network.graph["name"] = printable(graph.name)
    data = io.BytesIO()
    nx.write_graphml(network, data, named_key_ids=True)
    return data.getvalue()


def write_gexf(engine: Engine, graph: EngineGraph, columns: Sequence[Column]) -> bytes:
    """GEXF, which Gephi reads; texts as in GraphML."""
    network = as_network(engine, graph, columns, printable)
    network.graph["name"] = printable(graph.name)
    # networkx writes the day of writing into the file; equal engines are to give equal files.
    text = "\n".join(nx.generate_gexf(network, version="1.2draft")) + "\n"
    return re.sub(r' lastmodifieddate="[^"]*"', "", text, count=1).encode("utf-8")


def graph_document(engine: Engine, graph: EngineGraph, columns: Sequence[Column]) -> dict[str, Any]:
    """Node-link data, as `networkx.node_link_graph(document, edges="edges")` reads it back; texts verbatim."""
    network = as_network(engine, graph, columns)
    data = nx.node_link_data(network, edges="edges")
    return {"schema": SCHEMA, "engine": graph.name, **data}
