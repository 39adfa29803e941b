"""Floating-point islands between quantized layers: regions of layers with one cause.

An island is a value with the layers that move or transform it, from the quantized product that writes it, or from a
dequantization, to the layers that quantize it again or add it to a quantized product. Quantizing the value where it is
written removes the whole island: it is one cause, whatever the number of kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from networkx.utils import UnionFind

from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Port
from trex_tui.lint.context import FLOATING, QUANTIZED, Context, per_context, size_of

ELEMENTWISE = frozenset((LayerKind.POINTWISE, LayerKind.SCALE))
_BARRIERS = frozenset((LayerKind.PLUGIN, LayerKind.MYELIN, LayerKind.FUSED, LayerKind.OTHER))
_CONVERSIONS = frozenset((LayerKind.QUANTIZE, LayerKind.REFORMAT))
_Node = tuple[int, str]
"""A layer, or one side of a quantized product: index and `at`, `in` or `out`."""


INSERTED = "Reformatting CopyNode"
"""Beginning of the names of the reformats that TensorRT inserts."""


def conversion_role(context: Context, layer: int) -> str | None:
    """Return `quantizes`, `dequantizes` or `requantizes`; None for other layers and for changes of the layout only."""
    inputs = context.inputs[layer]
    source, target = inputs[0].dtype if inputs else None, context.output_types[layer]
    if target in QUANTIZED and source in FLOATING:
        return "quantizes"
    if source in QUANTIZED and target in FLOATING:
        return "dequantizes"
    if source in QUANTIZED and target in QUANTIZED and context.kinds[layer] != LayerKind.REFORMAT:
        return "requantizes"
    return None


# Islands


class Island(NamedTuple):
    """A value in floating point between quantized layers.

    Attributes:
        writers: Quantized products that write it in floating point.
        conversions: Q, DQ and reformats of it.
        work: Other layers that process it: pools, pointwise layers.
        readers: Quantized products that add it in floating point.
    """

    writers: tuple[int, ...]
    conversions: tuple[int, ...]
    work: tuple[int, ...]
    readers: tuple[int, ...]

    @property
    def layers(self) -> tuple[int, ...]:
        """All of its layers once, in execution order."""
        return tuple(sorted({*self.writers, *self.conversions, *self.work, *self.readers}))


@per_context
def find_islands(context: Context) -> tuple[Island, ...]:
    """Return all islands of an engine, in execution order."""
    if not context.engine.tensors["dtype"].isin(QUANTIZED).any():
        return ()
    groups: UnionFind[_Node] = UnionFind()
    blocked: set[_Node] = set()
    for layer in range(len(context.engine)):
        blocked.update(_join_values(context, groups, layer))
        blocked.update(_find_edges(context, layer))
    for layer in range(len(context.engine)):
        if _continues_residual(context, layer):
            groups.union((layer, "in"), (layer, "out"))
    closed = {groups[node] for node in blocked}
    members: dict[_Node, list[_Node]] = {}
    for node in list(groups.parents):
        members.setdefault(groups[node], []).append(node)
    found = (_make_island(context, nodes) for root, nodes in members.items() if root not in closed)
    return tuple(sorted(filter(None, found), key=lambda island: island.layers[0]))


def _join_values(context: Context, groups: UnionFind[_Node], layer: int) -> Iterator[_Node]:
    """Join a layer's floating-point inputs with their writers; yield the nodes that face a layer without a node."""
    for link in context.links_into[layer]:
        port = next((port for port in context.outputs[link.source] if port.name == link.tensor), None)
        if port is None or not _is_float_data(port) or context.kinds[link.source] == LayerKind.CONSTANT:
            continue
        ends = _node(context, link.source, "out"), _node(context, layer, "in")
        known = [end for end in ends if end is not None]
        for end in known:
            groups.union(known[0], end)
        if len(known) < len(ends) or link.is_loop:
            yield from known


def _find_edges(context: Context, layer: int) -> Iterator[_Node]:
    """Yield the nodes that read floating-point inputs of the network, or write such outputs."""
    before, behind = _node(context, layer, "in"), _node(context, layer, "out")
    outside = context.network_tensors - {link.tensor for link in context.links_into[layer]}
    if before and any(_is_float_data(port) and port.name in outside for port in context.inputs[layer]):
        yield before
    bound = context.network_tensors
    if behind and any(_is_float_data(port) and port.name in bound for port in context.outputs[layer]):
        yield behind


def _is_quantized_product(context: Context, layer: int) -> bool:
    kind = LayerKind(context.kinds[layer])
    return kind.multiplies and kind is not LayerKind.ATTENTION and context.is_quantized(layer)


def _node(context: Context, layer: int, side: str) -> _Node | None:
    """Return the node of a layer's inputs or outputs; None for layers whose data may not be quantizable."""
    if LayerKind(context.kinds[layer]).multiplies:
        return (layer, side) if _is_quantized_product(context, layer) else None
    return None if context.kinds[layer] in _BARRIERS else (layer, "at")


def _is_float_data(port: Port) -> bool:
    return port.dtype in FLOATING and (size_of(port) or 0) > 1


def _continues_residual(context: Context, layer: int) -> bool:
    """Return whether a quantized product adds the floating-point result of another, or of a DQ, and writes floating point.

    Then both values have the same cause: the residual branch is not quantized.
    """
    if not _is_quantized_product(context, layer) or context.output_types[layer] not in FLOATING:
        return False
    names = {port.name for port in context.data_inputs[layer][1:] if _is_float_data(port)}
    sources = [link.source for link in context.links_into[layer] if link.tensor in names]
    return bool(sources) and all(conversion_role(context, source) == "dequantizes" for source in sources)


def _make_island(context: Context, nodes: list[_Node]) -> Island | None:
    """Return the island of connected nodes; None if it is not between quantized layers, or is a bare pair of DQ and Q."""
    writers, readers, between = (
        tuple(layer for layer, own in sorted(nodes) if own == side) for side in ("out", "in", "at")
    )
    roles = {layer: conversion_role(context, layer) for layer in between}
    conversions = tuple(layer for layer in between if context.kinds[layer] in _CONVERSIONS or roles[layer])
    work = tuple(layer for layer in between if context.is_work(layer) and layer not in conversions)
    begins = bool(writers) or "dequantizes" in roles.values()
    ends = bool(readers) or "quantizes" in roles.values()
    if not begins or not ends or not (writers or readers or work):
        return None
    return Island(writers, conversions, work, readers)


@per_context
def map_islands(context: Context) -> Mapping[int, Island]:
    """Return the island of each layer: the one that the layer writes, if it belongs to two."""
    islands = find_islands(context)
    by_layer = {layer: island for island in islands for layer in island.readers}
    for island in islands:
        by_layer |= dict.fromkeys((*island.work, *island.conversions, *island.writers), island)
    return by_layer
