"""Which layer feeds which: tensors followed from writer to reader.

Names of tensors are names of memory, not of values. Myelin reuses scratch tensors, loops close cycles, and where a concat was
removed several layers write parts of one tensor. So writes to a name that follow each other without a read between them
count as one value with several producers; a write after a read starts a new value. (FORMATS of other tools bind a read to
the latest writer alone; that loses all but the last input of every removed concat, as in the real BEV engine.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
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
class Value:
    """What a tensor's name stands for, from a first write after a read to the next.

    Attributes:
        writers: Indices of the layers that write it; none for what is read before anybody has written.
        readers: Indices and ports of the layers that read it.
    """

    writers: list[int] = field(default_factory=list)
    readers: list[tuple[int, int]] = field(default_factory=list)


def follow_values(layers: Sequence[Layer]) -> dict[str, list[Value]]:
    """The values of every tensor name, in the order in which names and values appear. Linear in the number of tensors."""
    values: dict[str, list[Value]] = {}
    for position, layer in enumerate(layers):
        for port, tensor in enumerate(layer.inputs):
            known = values.get(tensor.name)
            if known is None:
                known = values[tensor.name] = [Value()]
            known[-1].readers.append((position, port))
        for tensor in layer.outputs:
            known = values.setdefault(tensor.name, [])
            if not known or known[-1].readers:
                known.append(Value([position]))
            elif known[-1].writers[-1] != position:
                known[-1].writers.append(position)
    return values


def follow_tensors(layers: Sequence[Layer]) -> list[Link]:
    """Return every link, ordered by reader and port."""
    links: list[Link] = []
    for name, values in follow_values(layers).items():
        for value in values:
            # What is read before it is written is of the iteration before: the last that the name stands for.
            is_loop = not value.writers
            writers = values[-1].writers if is_loop else value.writers
            links += [
                Link(source, target, name, port, is_loop)
                for target, port in value.readers
                for source in writers
            ]
    links.sort(key=attrgetter("target", "port"))
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
