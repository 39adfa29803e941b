"""Layers as matching sees them: nodes of the network, work, and a graph without the layers that a builder inserts.

Reformats, Q/DQ, NoOps and similar layers depend on formats and precisions. They are *passive*: the graph for matching
passes through them, so that an INT8 engine and an FP16 engine of one network have the same graph.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

from trex_tui.compare.names import (
    LIGHT,
    NameParts,
    Nodes,
    Rename,
    drop_numbered,
    is_module,
    is_product,
    parse_name,
    parse_nodes,
    rename_all,
)
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Engine, Port
from trex_tui.frames import plain_values

_KINDS = {kind.value: kind for kind in LayerKind}
_PASSIVE = frozenset(
    {
        LayerKind.REFORMAT,
        LayerKind.NOOP,
        LayerKind.QUANTIZE,
        LayerKind.SYNC,
        LayerKind.SHAPE,
        LayerKind.CONSTANT,
    }
)
_WILD = frozenset({LayerKind.MYELIN, LayerKind.FUSED, LayerKind.OTHER, LayerKind.PLUGIN})
MULTIPLY = "multiply"
_FAMILIES = {
    **dict.fromkeys(_WILD, ""),
    LayerKind.CONVOLUTION: MULTIPLY,
    LayerKind.GEMM: MULTIPLY,
    LayerKind.ATTENTION: "attention",
    LayerKind.POOLING: "reduce",
    LayerKind.REDUCTION: "reduce",
    LayerKind.NORMALIZATION: "reduce",
    LayerKind.SOFTMAX: "reduce",
}
_ATTRIBUTES = (
    "Kernel",
    "Stride",
    "Dilation",
    "Groups",
    "OutMaps",
    "PoolingType",
    "WindowSize",
    "Axes",
    "Mode",
)
_CORE_ATTRIBUTES = ("Kernel", "Stride", "Groups", "OutMaps", "WindowSize")
MOST_NEIGHBOURS = 64
"""Largest number of neighbours through passive layers: a wide fan through a copy does not distinguish layers."""

Shapes = tuple[tuple[int, ...], ...]


class Row(NamedTuple):
    """A layer as read: values of its columns, its tensors without constants, and the object of the file."""

    name: str
    kind: str
    layer_type: str | None
    precision: str | None
    tactic: str | None
    tactic_value: str | None
    onnx_nodes: tuple[str, ...]
    weights_bytes: int | None
    latency_ms: float | None
    inputs: list[Port]
    outputs: list[Port]
    attributes: Mapping[str, Any]


_COLUMNS = Row._fields[:9]


@dataclass(slots=True, eq=False)
class Layer:
    """A layer of one of the two engines that are matched.

    Attributes:
        row: Its values as read.
        parts: Its parsed name.
        nodes: Nodes of the network: from `Metadata` or the ONNX model, else from the name.
        is_stated: Whether `Metadata` or the model has them.
        is_generic: Whether its name only describes the computation, so that equal names may be at different positions.
        is_passive: Whether it exists for formats, precision or order, not for the network.
        family: Kind of work; empty if unknown, which fits all.
        signature: Kind of work, shapes without the batch, and attributes; None if unknown.
        loose: The same without the shapes of the inputs, to which a fused sum adds one.
        names_foreign_product: It does not multiply, but names a product that no layer which may multiply names.
        core: For a convolution, what builds of one layer share at any precision and resolution: kernel, stride, groups,
            channels, count of weights; None for each unknown value, and None for layers of other kinds.
        results: Sorted shapes of its outputs, without the batch and without leading and trailing 1.
        served: The layer that an inserted layer serves; None for others.
        before, after: The layers it reads from and is read by, through passive layers.
        side: 0 for the left engine, 1 for the right one.
        match: What it is matched with so far; None for nothing.
    """

    index: int
    row: Row
    kind: LayerKind
    parts: NameParts
    nodes: Nodes
    is_stated: bool
    is_generic: bool
    is_passive: bool
    family: str
    names_foreign_product: bool = False
    signature: Hashable = None
    loose: Hashable = None
    core: tuple[Hashable, ...] | None = None
    results: Shapes = ()
    served: Layer | None = None
    before: tuple[Layer, ...] = ()
    after: tuple[Layer, ...] = ()
    side: int = 0
    match: Match | None = None

    def __repr__(self) -> str:
        return f"<Layer {'AB'[self.side]}{self.index} {self.row.name!r}>"

    @property
    def name(self) -> str:
        """Its name, as in the file."""
        return self.row.name

    @property
    def is_open(self) -> bool:
        """Whether it may still be matched."""
        return self.match is None

    @property
    def is_closed_block(self) -> bool:
        """Whether only its first and last node are known, as for a `{ForeignNode[a...b]}` without the ONNX model."""
        return bool(self.parts.ends) and not self.is_stated

    @property
    def is_work(self) -> bool:
        """Whether it does work of known kind and shapes."""
        return not self.is_passive and self.signature is not None

    @property
    def working_nodes(self) -> set[str]:
        """Its nodes but constants, Q/DQ nodes and modules."""
        return {node for node, weight in self.nodes.items() if weight >= LIGHT and not is_module(node)}

    @property
    def may_multiply(self) -> bool:
        """Whether it multiplies matrices, or is of unknown work."""
        return not self.family or self.kind.multiplies

    @property
    def loose_key(self) -> Hashable:
        """Its work without input shapes, but with the number of layers that it reads from."""
        return self.loose, len(self.before)

    def fits(self, other: Layer) -> bool:
        """Return whether two layers may do the same work."""
        return not self.family or not other.family or self.family == other.family

    def has_same_core(self, other: Layer) -> bool:
        """Return whether two layers look like two builds of one layer; True if too little is known."""
        if not self.fits(other):
            return False
        if self.core is None or other.core is None:
            return True
        return all(
            ours is None or theirs is None or ours == theirs
            for ours, theirs in zip(self.core, other.core, strict=True)
        )


class Evidence(str, Enum):
    """Evidence of a match, the strongest first."""

    ONNX = "onnx"
    """The layers do the work of the same ONNX nodes."""
    NAME = "name"
    """The layers have the same name, or serve a matched layer in the same role."""
    STRUCTURE = "structure"
    """Signature and neighbourhood in the graph agree, and identify the layers."""
    SIGNATURE = "signature"
    """Kind, shapes and attributes identify the layers among their neighbours."""
    ORDER = "order"
    """Equal signatures, distinguished only by execution order."""
    NONE = "none"
    """No match in another engine."""

    @property
    def rank(self) -> int:
        """Position among all evidence; the larger, the weaker."""
        return list(Evidence).index(self)


BY_NAME = (Evidence.ONNX, Evidence.NAME)


@dataclass(slots=True, eq=False)
class Match:
    """Layers of both engines that do the same work.

    Attributes:
        why: The evidence in words.
    """

    left: list[Layer]
    right: list[Layer]
    evidence: Evidence
    confidence: float
    why: str

    @property
    def sides(self) -> tuple[list[Layer], list[Layer]]:
        """The layers of the left and of the right engine."""
        return self.left, self.right

    @property
    def is_pair(self) -> bool:
        """Whether it has one layer of each engine."""
        return len(self.left) == len(self.right) == 1

    def partner(self, layer: Layer) -> Layer:
        """Return the layer of the other engine, in a match of one layer each."""
        return self.sides[1 - layer.side][0]


@dataclass(slots=True, eq=False)
class EngineLayers:
    """The layers of an engine, by index."""

    engine: Engine
    batch: int | None
    layers: list[Layer] = field(repr=False)

    def __len__(self) -> int:
        return len(self.layers)

    def of_side(self, side: int, *, has_numbers: bool = True) -> EngineLayers:
        """Return the layers unmatched, for one side of a match; without their numbered nodes unless `has_numbers`."""
        layers = [copy(layer) for layer in self.layers]
        for layer in layers:
            layer.side, layer.match = side, None
            layer.before = tuple(layers[other.index] for other in layer.before)
            layer.after = tuple(layers[other.index] for other in layer.after)
            layer.served = None if layer.served is None else layers[layer.served.index]
            if not has_numbers:
                layer.nodes, layer.parts = drop_numbered(layer.nodes), layer.parts.without_numbers()
        return EngineLayers(self.engine, self.batch, layers)


def read_layers(engine: Engine, renames: Sequence[Rename] = ()) -> EngineLayers:
    """Return the layers of an engine for matching. Linear in the size of the engine."""
    batch = _find_batch(engine)
    frame = engine.layers
    columns = [plain_values(frame[key]) for key in _COLUMNS]
    data = [[port for port in ports if not port.is_constant] for ports in engine.inputs]
    rows = map(Row, *columns, data, engine.outputs, engine.attributes)
    layers = [_read_layer(index, row, renames, batch) for index, row in enumerate(rows)]
    products = {node for layer in layers if layer.may_multiply for node in layer.nodes if is_product(node)}
    for layer in layers:
        own = [] if layer.may_multiply or layer.is_passive else [*filter(is_product, layer.nodes)]
        layer.names_foreign_product = bool(own) and products.isdisjoint(own)
    links = [*zip(*(engine.links[key].tolist() for key in ("source", "target")), strict=True)]
    by_name = {layer.parts.canonical: layer for layer in layers}
    into: list[list[int]] = [[] for _ in layers]
    out: list[list[int]] = [[] for _ in layers]
    for source, target in links:
        into[target].append(source)
        out[source].append(target)
    forth = range(len(layers))
    before, after = _pass_through(layers, into, forth), _pass_through(layers, out, reversed(forth))
    for layer in layers:
        layer.served = by_name.get(layer.parts.served) if layer.parts.role else None
        layer.before = tuple(layers[index] for index in before[layer.index])
        layer.after = tuple(layers[index] for index in after[layer.index])
    return EngineLayers(engine, batch, layers)


def _find_batch(engine: Engine) -> int | None:
    """Return the first dimension that the shapes of all inputs share; None if it is dynamic or they differ."""
    bindings = engine.bindings
    shapes = bindings["shape"][bindings["role"].eq("input").fillna(False)].dropna()
    batches = {shape[0] for shape in shapes if len(shape) > 1}
    return batches.pop() if len(batches) == 1 and min(batches) > 0 else None


def _read_layer(index: int, row: Row, renames: Sequence[Rename], batch: int | None) -> Layer:
    kind = _KINDS[row.kind]
    parts = parse_name(rename_all(row.name, renames))
    stated = parse_nodes(rename_all(node, renames) for node in row.onnx_nodes)
    layer = Layer(
        index=index,
        row=row,
        kind=kind,
        parts=parts,
        nodes=stated or parts.nodes,
        is_stated=bool(stated),
        is_generic=parts.is_generic or kind in (LayerKind.SYNC, LayerKind.SHAPE),
        is_passive=kind in _PASSIVE,
        family=_FAMILIES.get(kind, "other"),
        core=_find_core(row.attributes) if kind is LayerKind.CONVOLUTION else None,
        results=_shapes(row.outputs, batch),
    )
    if row.layer_type is not None:
        work = layer.family if layer.family not in ("", "other") else row.kind
        known = tuple((key, _hashable(row.attributes[key])) for key in _ATTRIBUTES if key in row.attributes)
        layer.loose = (work, layer.results, known, _count_weights(row.attributes))
        layer.signature = (layer.loose, _shapes(row.inputs, batch))
    return layer


def _shapes(ports: Iterable[Port], batch: int | None) -> Shapes:
    return tuple(sorted(_inner_shape(port.shape, batch) for port in ports))


@lru_cache(maxsize=1 << 18)
def _inner_shape(shape: tuple[int, ...], batch: int | None) -> tuple[int, ...]:
    if len(shape) > 1 and (batch is None or shape[0] in (batch, -1)):
        shape = shape[1:]
    end = len(shape)
    while end and shape[end - 1] == 1:
        end -= 1
    return shape[:end]


def _hashable(value: Any) -> Hashable:  # noqa: ANN401 - a value of JSON
    if isinstance(value, list):
        return tuple(_hashable(item) for item in value)
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)


def _find_core(attributes: Mapping[str, Any]) -> tuple[Hashable, ...] | None:
    core = (*(_hashable(attributes.get(key)) for key in _CORE_ATTRIBUTES), _count_weights(attributes))
    return core if any(value is not None for value in core) else None


def _count_weights(attributes: Mapping[str, Any]) -> int | None:
    weights = attributes.get("Weights")
    count = weights.get("Count") if isinstance(weights, dict) else None
    return count if isinstance(count, int) and count > 0 else None


def _pass_through(layers: Sequence[Layer], near: list[list[int]], sequence: Iterable[int]) -> list[list[int]]:
    """Return the neighbours of each layer; behind passive ones, theirs. Neighbours come first in the sequence."""
    seen: list[list[int]] = [[] for _ in layers]
    for index in sequence:
        reached: dict[int, None] = {}
        for other in near[index]:
            if other != index:
                reached.update(dict.fromkeys(seen[other] if layers[other].is_passive else (other,)))
        seen[index] = list(reached)[: MOST_NEIGHBOURS if layers[index].is_passive else None]
    return seen
