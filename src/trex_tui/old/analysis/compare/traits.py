"""Traits of layers used for matching: nodes, signatures, and the graph without inserted layers.

Reformats, Q/DQ, NoOps and similar layers depend on formats and precisions. They are *passive*: the graph for matching by
structure passes through them, so that an INT8 engine and an FP16 engine of one network have the same graph.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import lru_cache
from typing import Any

from trex_tui.old.analysis.compare.names import (
    NameParts,
    Rename,
    is_numbered,
    parse_nodes,
    rename_all,
    replace_prefix,
    take_apart,
)
from trex_tui.old.analysis.structure import find_batch
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer, Tensor
from trex_tui.old.lazy_dataclass import dataclass

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
_FAMILIES = {
    LayerKind.CONVOLUTION: "multiply",
    LayerKind.GEMM: "multiply",
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


@dataclass(frozen=True, slots=True)
class Trait:
    """Properties of a layer for matching.

    Attributes:
        parts: Its parsed name.
        nodes: Nodes of the network, with weights: from `Metadata` or the ONNX model, else from the name.
        stated: Whether `Metadata` or the model has them.
        generic: Whether its name only describes the computation, so that equal names may be at different positions.
        passive: Whether it exists for formats, precision or order, not for the network.
        family: Kind of work; empty if unknown, which fits all.
        signature: Kind of work, shapes without the batch, and attributes.
        loose: The same without the shapes of the inputs, to which a fused sum adds one.
        core: For a convolution, what builds of one layer share at any precision and resolution: kernel, stride, groups,
            channels, count of weights; None for each unknown value, and None for layers of other kinds.
    """

    parts: NameParts
    nodes: dict[str, float]
    stated: bool
    generic: bool
    passive: bool
    family: str
    signature: Hashable
    loose: Hashable
    core: tuple[Hashable, ...] | None

    @property
    def is_opaque(self) -> bool:
        """True if only the first and the last node are known, as for a `{ForeignNode[a...b]}` without the ONNX model."""
        return bool(self.parts.ends) and not self.stated


class Traits:
    """Properties of an engine for matching. Everything is linear in the size of the engine.

    Attributes:
        of: Traits per layer.
        served: Per layer, the layer that an inserted layer serves; None for others.
        before, after: Per layer, the layers it reads from and is read by, through passive layers.
        order: Per layer, its position in an order in which writers come before readers.
    """

    def __init__(self, engine: Engine, renames: Sequence[Rename] = ()) -> None:
        self.engine = engine
        self._renames = renames
        self.batch = find_batch(engine)
        self.of = [self._trait(layer) for layer in engine.layers]
        by_name = {trait.parts.canonical: index for index, trait in enumerate(self.of)}
        self.served = [by_name.get(trait.parts.served) if trait.parts.role else None for trait in self.of]
        self.order = _order(engine)
        self.before, self.after = self._contract()

    def __len__(self) -> int:
        return len(self.of)

    def without_numbers(self) -> Traits:
        """Return the traits without numbered nodes."""
        return self._with_nodes(lambda node: "" if is_numbered(node) else node)

    def with_prefixes(self, prefixes: dict[str, str]) -> Traits:
        """Return the traits with prefixes of modules replaced in all nodes."""
        return self._with_nodes(lambda node: replace_prefix(node, prefixes))

    def _with_nodes(self, spell: Callable[[str], str]) -> Traits:
        """Args: spell: What to call a node; empty to leave it out."""
        other = copy(self)
        other.of = [_respell(trait, spell) for trait in self.of]
        return other

    def _trait(self, layer: Layer) -> Trait:
        name, onnx_nodes = layer.name, layer.onnx_nodes
        if self._renames:
            name = rename_all(name, self._renames)
            onnx_nodes = tuple(rename_all(node, self._renames) for node in onnx_nodes)
        parts = take_apart(name)
        stated = parse_nodes(onnx_nodes)
        passive = layer.kind in _PASSIVE
        family = "" if layer.kind in _WILD else _FAMILIES.get(layer.kind, "other")
        signature, loose = self._signatures(layer, family)
        generic = parts.generic or layer.kind in (LayerKind.SYNC, LayerKind.SHAPE)
        nodes = stated or parts.nodes
        return Trait(parts, nodes, bool(stated), generic, passive, family, signature, loose, _core(layer))

    def _signatures(self, layer: Layer, family: str) -> tuple[Hashable, Hashable]:
        if layer.layer_type is None:
            return None, None
        kind = family if family not in ("", "other") else layer.kind.value
        loose = (kind, self._shapes(layer.outputs), _attributes(layer, _ATTRIBUTES), _weights_count(layer))
        return (loose, self._shapes(layer.data_inputs)), loose

    def result_shapes(self, layer: int) -> tuple[tuple[int, ...], ...]:
        """Return the sorted shapes of a layer's outputs, without the batch and without leading and trailing extents of 1."""
        return self._shapes(self.engine.layers[layer].outputs)

    def _shapes(self, tensors: Sequence[Tensor]) -> tuple[tuple[int, ...], ...]:
        return tuple(sorted(_inner(tensor.shape, self.batch) for tensor in tensors))

    def _contract(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        count = len(self.of)
        into: list[list[int]] = [[] for _ in range(count)]
        out: list[list[int]] = [[] for _ in range(count)]
        for link in self.engine.links:
            into[link.target].append(link.source)
            out[link.source].append(link.target)
        forth = sorted(range(count), key=self.order.__getitem__)
        return self._through(into, forth), self._through(out, reversed(forth))

    def _through(self, near: list[list[int]], sequence: Iterable[int]) -> list[tuple[int, ...]]:
        seen: list[tuple[int, ...]] = [()] * len(self.of)
        for layer in sequence:
            reached: dict[int, None] = {}
            for other in near[layer]:
                if other != layer:
                    reached.update(dict.fromkeys(seen[other] if self.of[other].passive else (other,)))
            seen[layer] = tuple(reached)[:MOST_NEIGHBOURS] if self.of[layer].passive else tuple(reached)
        return seen


def _respell(trait: Trait, spell: Callable[[str], str]) -> Trait:
    nodes = _respell_nodes(trait.nodes, spell)
    own = nodes if trait.nodes is trait.parts.nodes else _respell_nodes(trait.parts.nodes, spell)
    if nodes == trait.nodes and own == trait.parts.nodes:
        return trait
    listed = " + ".join(node for node in own if node[0] != "@")
    if trait.parts.ends and listed:
        listed = f"{{{listed}}}"
    parts = replace(
        trait.parts,
        canonical=f"{trait.parts.role} of {listed}" if trait.parts.role and listed else listed,
        nodes=own,
        ends=tuple(frozenset(_respell_nodes(dict.fromkeys(end, 0.0), spell)) for end in trait.parts.ends),
    )
    return replace(trait, parts=parts, nodes=nodes)


def _respell_nodes(nodes: dict[str, float], spell: Callable[[str], str]) -> dict[str, float]:
    spelled = {spell(node): weight for node, weight in nodes.items()}
    spelled.pop("", None)
    return spelled


def fits(trait: Trait, other: Trait) -> bool:
    """Return whether two layers may do the same work."""
    return not trait.family or not other.family or trait.family == other.family


def same_core(trait: Trait, other: Trait) -> bool:
    """Return whether two layers look like two builds of one layer; True if too little is known."""
    if not fits(trait, other):
        return False
    if trait.core is None or other.core is None or trait.core == other.core:
        return True
    return all(
        ours is None or theirs is None or ours == theirs
        for ours, theirs in zip(trait.core, other.core, strict=True)
    )


@lru_cache(maxsize=1 << 18)
def _inner(shape: tuple[int, ...], batch: int | None) -> tuple[int, ...]:
    if len(shape) > 1 and (batch is None or shape[0] in (batch, -1)):
        shape = shape[1:]
    end = len(shape)
    while end and shape[end - 1] == 1:
        end -= 1
    return shape[:end]


def _attributes(layer: Layer, keys: Sequence[str]) -> tuple[tuple[str, Hashable], ...]:
    attributes = layer.attributes
    return tuple((key, _hashable(attributes[key])) for key in keys if key in attributes)


def _hashable(value: Any) -> Hashable:  # noqa: ANN401
    if isinstance(value, list):
        return tuple(_hashable(item) for item in value)
    return value if isinstance(value, (str, int, float, bool)) else repr(value)


def _core(layer: Layer) -> tuple[Hashable, ...] | None:
    if layer.kind is not LayerKind.CONVOLUTION:
        return None
    attributes = layer.attributes
    core = (*(_hashable_or_none(attributes.get(key)) for key in _CORE_ATTRIBUTES), _weights_count(layer))
    return core if any(value is not None for value in core) else None


def _weights_count(layer: Layer) -> int | None:
    weights = layer.attributes.get("Weights")
    count = weights.get("Count") if isinstance(weights, dict) else None
    return count if isinstance(count, int) and count > 0 else None


def _hashable_or_none(value: Any) -> Hashable:  # noqa: ANN401
    return None if value is None else _hashable(value)


def _order(engine: Engine) -> list[int]:
    """Return the execution order if it puts writers before readers, else a topological order, earliest in the file first."""
    count = len(engine.layers)
    if not any(link.is_loop for link in engine.links):
        return list(range(count))
    waiting = [0] * count
    out: list[list[int]] = [[] for _ in range(count)]
    for link in engine.links:
        if link.source != link.target:
            waiting[link.target] += 1
            out[link.source].append(link.target)
    ready = [index for index in range(count) if not waiting[index]]
    order = [-1] * count
    done = 0
    while ready:
        layer = heapq.heappop(ready)
        order[layer] = done
        done += 1
        for other in out[layer]:
            waiting[other] -= 1
            if not waiting[other]:
                heapq.heappush(ready, other)
    for layer in range(count):  # cycles
        if order[layer] < 0:
            order[layer] = done
            done += 1
    return order
