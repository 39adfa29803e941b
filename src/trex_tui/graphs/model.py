"""Nodes and edges as they are drawn and written: the same for every format."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from trex_tui.engine.dtypes import DataType
from trex_tui.engine.model import Layer, Tensor


class NodeRole(str, Enum):
    """What a node stands for."""

    LAYER = "layer"
    INPUT = "input"
    """An input of the network."""
    OUTPUT = "output"
    """An output of the network."""
    BINDING = "binding"
    """An input or output of which the files do not tell the direction."""
    CONSTANT = "constant"
    """A tensor that nobody writes and no binding names: weights."""


class EdgeRole(str, Enum):
    """Why two nodes are joined."""

    DATA = "data"
    LOOP = "loop"
    """Data of the iteration before: the writer runs after the reader."""


@dataclass(frozen=True, slots=True)
class Paint:
    """Colours of a box, as `#rrggbb`."""

    fill: str
    line: str


@dataclass(frozen=True, slots=True)
class Node:
    """A box.

    Attributes:
        id: Unique and made of harmless letters: `layer_12`, `input_3_1`. Names repeat and hold anything.
        name: Of the layer or tensor, verbatim.
        lines: What is written in the box: harmless, shortened.
        tooltip: All that is worth telling, lines separated by newlines; harmless otherwise.
        order: Sorts nodes so that data runs forward, whatever is a loop aside.
        layer: None for tensors.
        tensor: None for layers, and for bindings that no layer names.
    """

    id: str
    role: NodeRole
    name: str
    lines: tuple[str, ...]
    tooltip: str
    paint: Paint
    order: tuple[int, int]
    layer: Layer | None = None
    tensor: Tensor | None = None
    is_highlighted: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow.

    Attributes:
        source, target: Places of its ends among the nodes.
        tensor: Name of the tensor, verbatim.
        port: Place among the inputs of the layer that reads; None where no layer does.
        dtype: Element type of the tensor.
    """

    source: int
    target: int
    role: EdgeRole
    tensor: str
    port: int | None
    dtype: DataType | None
    text: str
    paint: str


@dataclass(frozen=True, slots=True)
class EngineGraph:
    """All that is drawn of an engine.

    Attributes:
        name: Of the engine, verbatim.
        title: One harmless line above the picture.
        nodes: In an order in which data runs forward.
        edges: By target, then port.
        legend: Texts with the colours they explain.
    """

    name: str
    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    legend: tuple[tuple[str, Paint], ...]
