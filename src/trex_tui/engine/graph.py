"""The engine as a networkx graph. Imports networkx (130 ms): reach it through `Engine.graph`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from trex_tui.engine.engine import Engine


def build_graph(engine: Engine) -> nx.MultiDiGraph[int]:
    """A node per layer and an edge per link. Parallel edges and cycles occur: it need not be a DAG."""
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph(name=engine.name)
    graph.add_nodes_from((layer.index, {"layer": layer}) for layer in engine.layers)
    graph.add_edges_from(
        (link.source, link.target, {"tensor": link.tensor, "port": link.port, "is_loop": link.is_loop})
        for link in engine.links
    )
    return graph
