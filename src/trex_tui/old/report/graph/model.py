"""Nodes and edges of a drawn graph, independent of the format."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.model import Layer, Tensor
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.colours import LIGHT, kind_style, precision_style
from trex_tui.old.text import format_ms


class NodeRole(str, Enum):
    """Meaning of a node."""

    LAYER = "layer"
    INPUT = "input"
    """An input of the network."""
    OUTPUT = "output"
    """An output of the network."""
    BINDING = "binding"
    """An input or output of unknown direction."""
    CONSTANT = "constant"
    """A tensor without a writer or binding: weights."""
    LABEL = "label"
    """The label of an arrow, which the built-in layout places like a box; graph files do not have it."""


class EdgeRole(str, Enum):
    """Reason why two nodes are linked."""

    DATA = "data"
    LOOP = "loop"
    """Data of the previous iteration: the writer runs after the reader."""


@dataclass(frozen=True, slots=True)
class Paint:
    """Colours of a box, as `#rrggbb`."""

    fill: str
    line: str


@dataclass(frozen=True, slots=True)
class Node:
    """A box.

    Attributes:
        id: Unique, of plain letters: `layer_12`, `input_3_1`. Names repeat and hold any characters.
        name: Name of the layer or tensor, verbatim.
        lines: Text in the box: printable, shortened.
        tooltip: All relevant facts, lines separated by newlines; otherwise printable.
        order: Sorts nodes so that data runs forward, apart from loops.
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
        source, target: Indices of its ends among the nodes.
        tensor: Name of the tensor, verbatim.
        port: Index among the inputs of the layer that reads; None if no layer does.
        dtype: Element type of the tensor.
        text: Tooltip.
        label: Shape and format beside the arrow; empty for none.
    """

    source: int
    target: int
    role: EdgeRole
    tensor: str
    port: int | None
    dtype: DataType | None
    text: str
    paint: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class EngineGraph:
    """Content of a drawn engine.

    Attributes:
        name: Name of the engine, verbatim.
        title: One printable line above the picture.
        nodes: In an order in which data runs forward.
        edges: By target, then port.
        legend: Texts with the colours they explain.
    """

    name: str
    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    legend: tuple[tuple[str, Paint], ...]


MUTED = "#767c82"
"""Lines and secondary text: 4.5 to 1 on white."""
HIGHLIGHT = "#c2185b"
"""Frame of highlighted layers: no kind and no precision has this colour."""
TENSOR = Paint("#f4f5f6", MUTED)
BINDING = Paint(LIGHT["panel"], LIGHT["foreground"])
UNKNOWN = Paint("#ffffff", MUTED)


class ColorBy(str, Enum):
    """Meaning of the colours of layers."""

    KIND = "kind"
    PRECISION = "precision"
    LATENCY = "latency"


@lru_cache(maxsize=64)
def _of_style(style: str) -> Paint:
    token = style.removeprefix("bold ").removeprefix("$")
    line = LIGHT.get(token, MUTED)
    return Paint(blended("#ffffff", line, 0.30 if style.startswith("bold ") else 0.14), line)


def blended(first: str, second: str, share: float) -> str:
    """Mix two colours: `first` at 0, `second` at 1."""
    mixed = (
        round(int(first[at : at + 2], 16) * (1.0 - share) + int(second[at : at + 2], 16) * share)
        for at in (1, 3, 5)
    )
    return "#" + "".join(f"{value:02x}" for value in mixed)


def tensor_line(dtype: DataType | None) -> str:
    """Return the colour of an arrow."""
    return _of_style(precision_style(dtype)).line


class Painter:
    """Colours layers of one engine, and explains the colours."""

    def __init__(self, by: ColorBy, layers: Sequence[Layer]) -> None:
        self._by = by
        self._layers = layers
        self._most = max((layer.latency_ms or 0.0 for layer in layers), default=0.0)

    def of(self, layer: Layer) -> Paint:
        """Return the colours of a layer; those of `UNKNOWN` if the files lack the value."""
        if self._by is ColorBy.KIND:
            return _of_style(kind_style(layer.kind))
        if self._by is ColorBy.PRECISION:
            return _of_style(precision_style(layer.precision)) if layer.precision else UNKNOWN
        return UNKNOWN if layer.latency_ms is None else self._of_time(layer.latency_ms)

    def _of_time(self, milliseconds: float) -> Paint:
        """Colour by the square root of the share of the slowest: otherwise all but a few would be white."""
        share = math.sqrt(max(0.0, milliseconds) / self._most) if self._most > 0 else 0.0
        return Paint(blended("#ffffff", LIGHT["error"], 0.72 * share), MUTED)

    def legend(self) -> list[tuple[str, Paint]]:
        """Return the legend, the most frequent first; for times, four steps up to the slowest."""
        if self._by is ColorBy.LATENCY:
            steps = [self._most * share for share in (0.04, 0.25, 0.5, 1.0)] if self._most > 0 else []
            entries = [(f"{format_ms(step)} ms", self._of_time(step)) for step in steps]
            unknown = any(layer.latency_ms is None for layer in self._layers)
            return entries + ([("not profiled", UNKNOWN)] if unknown else [])
        counts: dict[str, int] = {}
        paints: dict[str, Paint] = {}
        for layer in self._layers:
            value = layer.kind if self._by is ColorBy.KIND else layer.precision
            text = "unknown" if value is None else value.value
            counts[text] = counts.get(text, 0) + 1
            paints[text] = self.of(layer)
        return [(text, paints[text]) for text in sorted(counts, key=lambda text: (-counts[text], text))]
