"""Find floating-point islands: values that stay in floating point between quantized layers, and the kernels they cost.

An island is a value with the layers that move or transform it, from the quantized product that writes it, or from a
dequantization, to the layers that quantize it again or add it to a quantized product. Quantizing the value where it is
written removes the whole island: it is one cause, whatever the number of kernels.
"""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer, Tensor
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lint.context import FLOATING, QUANTIZED, Context

_BARRIERS = frozenset({LayerKind.PLUGIN, LayerKind.MYELIN, LayerKind.FUSED, LayerKind.OTHER})
_CONVERSIONS = frozenset({LayerKind.QUANTIZE, LayerKind.REFORMAT})

Node = tuple[int, str]
"""A layer, or one side of a quantized product: index and `at`, `in` or `out`."""


@dataclass(frozen=True, slots=True)
class Island:
    """A value in floating point between quantized layers.

    Attributes:
        writers: Quantized products that write it in floating point.
        conversions: Q, DQ and reformats of it.
        work: Other layers that process it: pools, pointwise layers.
        readers: Quantized products that add it in floating point.
    """

    writers: tuple[Layer, ...]
    conversions: tuple[Layer, ...]
    work: tuple[Layer, ...]
    readers: tuple[Layer, ...]

    @property
    def dequantizations(self) -> list[Layer]:
        """Kernels that dequantize the output of quantized layers."""
        return [layer for layer in self.conversions if conversion_role(layer) == "dequantizes"]

    @property
    def layers(self) -> tuple[Layer, ...]:
        """All of its layers once, in execution order."""
        parts = (*self.writers, *self.conversions, *self.work, *self.readers)
        return tuple({layer.index: layer for layer in sorted(parts, key=lambda layer: layer.index)}.values())


def conversion_role(layer: Layer) -> str | None:
    """Return `quantizes`, `dequantizes` or `requantizes`; None for other layers and for changes of the layout only."""
    source = layer.inputs[0].dtype if layer.inputs else None
    target = layer.output_precision
    if target in QUANTIZED and source in FLOATING:
        return "quantizes"
    if source in QUANTIZED and target in FLOATING:
        return "dequantizes"
    if source in QUANTIZED and target in QUANTIZED and layer.kind is not LayerKind.REFORMAT:
        return "requantizes"
    return None


def _is_quantized_product(context: Context, layer: Layer) -> bool:
    return layer.kind.multiplies and layer.kind is not LayerKind.ATTENTION and context.is_quantized(layer)


class _Groups:
    """Disjoint sets of nodes (union-find)."""

    def __init__(self) -> None:
        self.parents: dict[Node, Node] = {}

    def find(self, node: Node) -> Node:
        root = node
        while (parent := self.parents.setdefault(root, root)) != root:
            root = parent
        while self.parents[node] != root:
            self.parents[node], node = root, self.parents[node]
        return root

    def join(self, first: Node, second: Node) -> None:
        self.parents[self.find(first)] = self.find(second)


@per_engine
def find_islands(engine: Engine) -> tuple[Island, ...]:
    """Return all islands of an engine, in execution order."""
    if not any(
        tensor.dtype in QUANTIZED for layer in engine.layers for tensor in (*layer.inputs, *layer.outputs)
    ):
        return ()
    context, groups = Context(engine), _Groups()
    blocked = {
        node
        for layer in engine.layers
        for node in (*_join_values(context, groups, layer), *_find_edges(context, groups, layer))
    }
    for layer in engine.layers:
        if _continues_residual(context, layer):
            groups.join((layer.index, "in"), (layer.index, "out"))
    closed = {groups.find(node) for node in blocked}
    members: dict[Node, list[Node]] = {}
    for node in list(groups.parents):
        members.setdefault(groups.find(node), []).append(node)
    islands = [
        island
        for root, nodes in members.items()
        if root not in closed and (island := _make_island(engine, nodes))
    ]
    return tuple(sorted(islands, key=lambda island: island.layers[0].index))


def _join_values(context: Context, groups: _Groups, layer: Layer) -> Iterator[Node]:
    """Join a layer's floating-point inputs with their writers; yield the nodes that face a layer without a node."""
    for link in context.engine.producers(layer):
        source = context.layers[link.source]
        tensor = next((tensor for tensor in source.outputs if tensor.name == link.tensor), None)
        if tensor is None or not _is_float_data(tensor) or source.kind is LayerKind.CONSTANT:
            continue
        ends = _node(context, source, "out"), _node(context, layer, "in")
        known = [end for end in ends if end is not None]
        for end in known:
            groups.join(known[0], end)
        if len(known) < len(ends) or link.is_loop:
            yield from known


def _find_edges(context: Context, groups: _Groups, layer: Layer) -> Iterator[Node]:
    """Yield the nodes that read floating-point inputs of the network, or write such outputs."""
    before, behind = _node(context, layer, "in"), _node(context, layer, "out")
    written = {link.tensor for link in context.engine.producers(layer)}
    bindings = context.network_tensors
    if before and any(
        _is_float_data(tensor) and tensor.name in bindings - written for tensor in layer.inputs
    ):
        yield groups.find(before)
    if behind and any(_is_float_data(tensor) and tensor.name in bindings for tensor in layer.outputs):
        yield groups.find(behind)


def _node(context: Context, layer: Layer, side: str) -> Node | None:
    """Return the node of a layer's inputs or outputs; None for layers whose data may not be quantizable."""
    if layer.kind.multiplies:
        return (layer.index, side) if _is_quantized_product(context, layer) else None
    return None if layer.kind in _BARRIERS else (layer.index, "at")


def _is_float_data(tensor: Tensor) -> bool:
    return tensor.dtype in FLOATING and (tensor.volume or 0) > 1


def _continues_residual(context: Context, layer: Layer) -> bool:
    """Return whether a quantized product adds the floating-point result of another, or of a DQ, and writes floating point.

    Then both values have the same cause: the residual branch is not quantized.
    """
    if not _is_quantized_product(context, layer) or layer.output_precision not in FLOATING:
        return False
    names = {tensor.name for tensor in layer.data_inputs[1:] if _is_float_data(tensor)}
    sources = [
        context.layers[link.source] for link in context.engine.producers(layer) if link.tensor in names
    ]
    return bool(sources) and all(conversion_role(source) == "dequantizes" for source in sources)


def _make_island(engine: Engine, nodes: list[Node]) -> Island | None:
    """Return the island of connected nodes; None if it is not between quantized layers, or is a bare pair of DQ and Q."""

    def select(side: str) -> list[Layer]:
        return [engine.layers[index] for index, own in sorted(nodes) if own == side]

    writers, readers, between = select("out"), select("in"), select("at")
    is_conversion = {
        layer.index: layer.kind in _CONVERSIONS or bool(conversion_role(layer)) for layer in between
    }
    conversions = [layer for layer in between if is_conversion[layer.index]]
    work = [layer for layer in between if layer.kind.is_work and not is_conversion[layer.index]]
    roles = {conversion_role(layer) for layer in conversions}
    begins = bool(writers) or "dequantizes" in roles
    ends = bool(readers) or "quantizes" in roles
    if not begins or not ends or not (writers or readers or work):
        return None
    return Island(tuple(writers), tuple(conversions), tuple(work), tuple(readers))


def map_islands(engine: Engine) -> dict[int, Island]:
    """Return the island of each layer by index: the one that the layer writes, if it belongs to two."""
    return dict(_by_layer(find_islands(engine)))


def _by_layer(islands: tuple[Island, ...]) -> Iterator[tuple[int, Island]]:
    for island in islands:
        yield from ((layer.index, island) for layer in island.readers)
    for island in islands:
        parts = (*island.work, *island.conversions, *island.writers)
        yield from ((layer.index, island) for layer in parts)
