"""Which layer feeds which: tensors followed from writer to reader.

Names of tensors are names of memory, not of values. Myelin reuses scratch tensors, loops close cycles, and where a concat was
removed several layers write parts of one tensor. So writes to a name that follow each other without a read between them
count as one value with several producers; a write after a read starts a new value. (FORMATS of other tools bind a read to
the latest writer alone; that loses all but the last input of every removed concat, as in the real BEV engine.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trex_tui.engine.model import Layer

if TYPE_CHECKING:
    import networkx as nx

    from trex_tui.engine.engine import Engine


@dataclass(frozen=True, slots=True)
class Link:
    """One input of a layer, and a layer that wrote it.

    Attributes:
        source: Index of the layer that writes.
        target: Index of the layer that reads.
        tensor: The tensor's name.
        port: Place among the inputs of `target`.
        is_loop: The writer runs after the reader: the value is of the iteration before.
    """

    source: int
    target: int
    tensor: str
    port: int
    is_loop: bool = False


@dataclass(slots=True)
class _Value:
    writers: list[int] = field(default_factory=list)
    was_read: bool = False


def follow_tensors(layers: Sequence[Layer]) -> list[Link]:
    """Return every link, ordered by reader and port. Linear in the number of tensors."""
    links: list[Link] = []
    values: dict[str, _Value] = {}
    unwritten: list[tuple[int, str, int]] = []
    for position, layer in enumerate(layers):
        for port, tensor in enumerate(layer.inputs):
            value = values.get(tensor.name)
            if value is None:
                unwritten.append((position, tensor.name, port))
                continue
            value.was_read = True
            links.extend(Link(source, position, tensor.name, port) for source in value.writers)
        for tensor in layer.outputs:
            value = values.get(tensor.name)
            if value is None or value.was_read:
                values[tensor.name] = _Value([position])
            elif value.writers[-1] != position:
                value.writers.append(position)
    for position, name, port in unwritten:
        if name in values:
            links.extend(Link(source, position, name, port, is_loop=True) for source in values[name].writers)
    links.sort(key=lambda link: (link.target, link.port))
    return links


def build_graph(engine: Engine) -> nx.MultiDiGraph[int]:
    """A node per layer and an edge per link. Parallel edges and cycles occur: it need not be a DAG. Imports networkx."""
    import networkx as nx

    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph(name=engine.name)
    graph.add_nodes_from((layer.index, {"layer": layer}) for layer in engine.layers)
    graph.add_edges_from(
        (link.source, link.target, {"tensor": link.tensor, "port": link.port, "is_loop": link.is_loop})
        for link in engine.links
    )
    return graph
