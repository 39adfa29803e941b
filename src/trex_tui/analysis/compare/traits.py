"""What matching looks at, per engine: the layers' names taken apart, signatures, and the graph without what was put in.

Reformats, Q/DQ, NoOps and the like come and go with formats and precisions. They are *passive*: the graph that structure
is judged on goes through them, so that an INT8 engine and an FP16 engine of one network have the same one.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from trex_tui.analysis.compare.names import NameParts, nodes_of, take_apart
from trex_tui.engine.engine import Engine
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer, Tensor

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
_CORE_ATTRIBUTES = ("Kernel", "Groups", "OutMaps", "WindowSize")
MOST_NEIGHBOURS = 64
"""Through passive layers a layer sees at most so many others: a wide fan through a copy does not tell layers apart."""


@dataclass(frozen=True, slots=True)
class Trait:
    """A layer, as matching sees it.

    Attributes:
        parts: Its name, taken apart.
        nodes: Nodes of the network, with weights: out of `Metadata`, else out of the name.
        stated: Whether `Metadata` states them.
        generic: Whether its name says only what it does, so that equal names need not be of the same place.
        passive: Whether it is there for the sake of formats, precision or order, not of the network.
        family: What kind of work it is; empty if that cannot be told, which fits all.
        signature: Kind of work, shapes without the batch, and attributes.
        loose: The same without the shapes of the inputs, of which a fused sum adds one.
        core: What two builds of one layer have in common even at other resolutions.
    """

    parts: NameParts
    nodes: dict[str, float]
    stated: bool
    generic: bool
    passive: bool
    family: str
    signature: Hashable
    loose: Hashable
    core: Hashable


class Traits:
    """An engine, as matching sees it. Everything is linear in the size of the engine.

    Attributes:
        of: Per layer.
        before, after: Per layer, the layers it reads from and is read by, through passive ones.
        order: Per layer, its place in an order in which writers come before readers.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.batch = batch_of(engine)
        self.of = [self._trait(layer) for layer in engine.layers]
        self.order = _order(engine)
        self.before, self.after = self._contract()

    def __len__(self) -> int:
        """Layers of the engine."""
        return len(self.of)

    def _trait(self, layer: Layer) -> Trait:
        parts = take_apart(layer.name)
        stated = nodes_of(layer.onnx_nodes)
        passive = layer.kind in _PASSIVE
        family = "" if layer.kind in _WILD else _FAMILIES.get(layer.kind, "other")
        signature, loose = self._signatures(layer, family)
        generic = parts.generic or layer.kind in (LayerKind.SYNC, LayerKind.SHAPE)
        nodes = stated or parts.nodes
        return Trait(
            parts, nodes, bool(stated), generic, passive, family, signature, loose, _core(layer, family)
        )

    def _signatures(self, layer: Layer, family: str) -> tuple[Hashable, Hashable]:
        if layer.layer_type is None:
            return None, None
        data = [tensor for tensor in layer.inputs if tensor.name not in layer.constant_inputs]
        kind = family if family not in ("", "other") else layer.kind.value
        loose = (kind, self._shapes(layer.outputs), _attributes(layer, _ATTRIBUTES))
        return (loose, self._shapes(data)), loose

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
        for place in sequence:
            found: dict[int, None] = {}
            for other in near[place]:
                if other != place:
                    found.update(dict.fromkeys(seen[other] if self.of[other].passive else (other,)))
            seen[place] = tuple(found)[:MOST_NEIGHBOURS] if self.of[place].passive else tuple(found)
        return seen


def fits(one: Trait, other: Trait) -> bool:
    """Whether two layers can do the same work at all."""
    return not one.family or not other.family or one.family == other.family


def same_core(one: Trait, other: Trait) -> bool:
    """Whether two layers look like two builds of one; True where there is too little to tell."""
    return fits(one, other) and (one.core is None or other.core is None or one.core == other.core)


def batch_of(engine: Engine) -> int | None:
    """Samples of one inference: the first extent that all inputs of several dimensions share; None if they do not tell."""
    extents = {
        binding.shape[0]
        for binding in engine.bindings
        if binding.is_input and binding.shape and len(binding.shape) > 1
    }
    found = extents.pop() if len(extents) == 1 else None
    return found if found is not None and found > 0 else None


@lru_cache(maxsize=1 << 18)
def _inner(shape: tuple[int, ...], batch: int | None) -> tuple[int, ...]:
    if len(shape) > 1 and (batch is None or shape[0] in (batch, -1)):
        shape = shape[1:]
    end = len(shape)
    while end and shape[end - 1] == 1:
        end -= 1
    return shape[:end]


def _attributes(layer: Layer, keys: Sequence[str]) -> tuple[tuple[str, Hashable], ...]:
    found = layer.attributes
    return tuple((key, _hashable(found[key])) for key in keys if key in found)


def _hashable(value: Any) -> Hashable:  # noqa: ANN401
    if isinstance(value, list):
        return tuple(_hashable(one) for one in value)
    return value if isinstance(value, (str, int, float, bool)) else repr(value)


def _core(layer: Layer, family: str) -> Hashable:
    if family != "multiply" or layer.kind is not LayerKind.CONVOLUTION:
        return None
    return _attributes(layer, _CORE_ATTRIBUTES) or None


def _order(engine: Engine) -> list[int]:
    """Execution order where it puts writers before readers, else a topological order, earliest in the file first."""
    count = len(engine.layers)
    if not any(link.is_loop for link in engine.links):
        return list(range(count))
    waiting = [0] * count
    out: list[list[int]] = [[] for _ in range(count)]
    for link in engine.links:
        if link.source != link.target:
            waiting[link.target] += 1
            out[link.source].append(link.target)
    ready = [place for place in range(count) if not waiting[place]]
    order = [-1] * count
    done = 0
    while ready:
        place = heapq.heappop(ready)
        order[place] = done
        done += 1
        for other in out[place]:
            waiting[other] -= 1
            if not waiting[other]:
                heapq.heappush(ready, other)
    for place in range(count):  # cycles
        if order[place] < 0:
            order[place] = done
            done += 1
    return order
