"""Memory for activations: which tensors hold data at the same time.

A tensor lives from the layer that writes it first to the layer that reads it last. Names identify memory: a layer that reads
and writes one name updates it in place. A value carried by a loop lives from its first reader to its writer. Network inputs
and outputs belong to the caller, constants to the weights; both are left out. The remaining bytes at the peak are the minimum
for the engine with perfect sharing: TensorRT's own figure (`device memory size` in its logs) adds alignment, scratch space of
tactics and, with several streams, tensors that must not share memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer, Tensor
from trex_tui.old.lazy_dataclass import dataclass


@dataclass(slots=True)
class LiveTensor:
    """A value in memory.

    Attributes:
        name: Name of the tensor.
        allocated_bytes: Padded size; that of the largest part if several layers write it, as after a removed concat. None
            if a dimension is dynamic or the type unknown.
        first: Index of the layer that writes it first; for a value carried by a loop, of the layer that reads it first.
        last: Index of the layer that reads it last; `first` if none does.
    """

    name: str
    allocated_bytes: int | None
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class ActivationMemory:
    """Live activations along the execution order.

    Attributes:
        live_bytes: For every layer, the bytes that are live while it runs: its inputs, its outputs, and values for later
            layers.
        peak_bytes: The largest of these; None without layer information or tensors of known size.
        peak_index: Index of the first layer at the peak.
        live_at_peak: The tensors alive there, largest first.
        unknown: Tensors of unknown size; if there are any, `peak_bytes` is a lower bound.
    """

    live_bytes: tuple[int, ...]
    peak_bytes: int | None
    peak_index: int | None
    live_at_peak: tuple[LiveTensor, ...]
    unknown: int


@dataclass(slots=True)
class _Values:
    """The values of memory names at a point of the execution."""

    outside: frozenset[str]
    current: dict[str, LiveTensor] = field(default_factory=dict)
    read: set[int] = field(default_factory=set)
    """Identities of values that have been read: the next write to their name starts a new value."""
    unwritten: dict[str, int] = field(default_factory=dict)
    """Index of the first layer that reads a name before any write: a constant, or carried by a loop."""
    elsewhere: set[str] = field(default_factory=set)
    """Names of memory that is not counted, until a layer writes to them."""
    everything: list[LiveTensor] = field(default_factory=list)

    def reads(self, layer: Layer) -> None:
        for tensor in layer.inputs:
            value = self.current.get(tensor.name)
            if value is not None:
                value.last = layer.index
                value.allocated_bytes = _larger(value.allocated_bytes, tensor.allocated_bytes)
                self.read.add(id(value))
            elif tensor.name not in self.outside and tensor.name not in self.elsewhere:
                self.unwritten.setdefault(tensor.name, layer.index)

    def writes(self, layer: Layer) -> None:
        """Start and extend values. A NoOp moves nothing: its output is its input under another name."""
        moves_nothing = layer.kind is LayerKind.NOOP and len(layer.inputs) == len(layer.outputs) == 1
        alias = self.current.get(layer.inputs[0].name) if moves_nothing else None
        for tensor in layer.outputs:
            if tensor.name in self.outside:
                continue
            value = self.current.get(tensor.name)
            if alias is not None:
                self.current[tensor.name] = alias
            elif moves_nothing or layer.kind is LayerKind.CONSTANT:
                self.current.pop(tensor.name, None)
                self.elsewhere.add(tensor.name)
            elif value is None or (id(value) in self.read and value.last < layer.index):
                self._begin(tensor, layer.index)
            else:
                value.last = layer.index
                value.allocated_bytes = _larger(value.allocated_bytes, tensor.allocated_bytes)

    def _begin(self, tensor: Tensor, index: int) -> None:
        value = LiveTensor(tensor.name, tensor.allocated_bytes, index, index)
        self.current[tensor.name] = value
        self.elsewhere.discard(tensor.name)
        self.everything.append(value)

    def carry_around_loops(self) -> None:
        """Extend values read before they are written: from the writer in the previous iteration to the first reader."""
        for name, index in self.unwritten.items():
            value = self.current.get(name)
            if value is not None:
                value.first = min(value.first, index)


def _larger(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else max(first, second)


@per_engine
def live_tensors(engine: Engine) -> tuple[LiveTensor, ...]:
    """Return every written value that is not an input or output of the network, in order of its first writer."""
    values = _Values(frozenset(binding.name for binding in engine.bindings))
    for layer in engine.layers:
        if layer.inputs:
            values.reads(layer)
        if layer.outputs:
            values.writes(layer)
    values.carry_around_loops()
    return tuple(values.everything)


@per_engine
def activation_memory(engine: Engine) -> ActivationMemory:
    """Return live activations at every layer, and the tensors at the peak. Linear in the number of tensors."""
    values = live_tensors(engine)
    known = [value for value in values if value.allocated_bytes is not None]
    changes = [0] * (len(engine.layers) + 1)
    for value in known:
        changes[value.first] += value.allocated_bytes or 0
        changes[value.last + 1] -= value.allocated_bytes or 0
    live = tuple(_running_sums(changes[:-1]))
    if not known:
        return ActivationMemory(live, None, None, (), len(values))
    peak = max(live)
    at = live.index(peak)
    alive = [value for value in known if value.first <= at <= value.last]
    alive.sort(key=lambda value: -(value.allocated_bytes or 0))
    return ActivationMemory(live, peak, at, tuple(alive), len(values) - len(known))


def _running_sums(changes: Iterable[int]) -> Iterable[int]:
    total = 0
    for change in changes:
        total += change
        yield total


def traffic_bytes(engine: Engine) -> int | None:
    """Return the sum of bytes read and written by all layers, including weights: a tensor counts once per layer that uses it.

    None if it is unknown for a layer. (trex shows the part without weights as "Activations", which is wrong.)
    """
    if not engine.has_graph:
        return None
    sizes = [layer.footprint_bytes for layer in engine.layers if layer.kind.is_work]
    return None if None in sizes else sum(filter(None, sizes))


def live_at(values: Iterable[LiveTensor], index: int) -> list[LiveTensor]:
    """Return the values that are alive while a layer runs, the largest first, those of unknown size last."""
    alive = [value for value in values if value.first <= index <= value.last]
    return sorted(alive, key=lambda value: (value.allocated_bytes is None, -(value.allocated_bytes or 0)))


def find_tensor(engine: Engine, value: LiveTensor) -> Tensor | None:
    """Return a tensor through which a layer writes or reads a value, with shape, type and format."""
    for index in (value.first, value.last):
        layer = engine.layers[index]
        for tensor in (*layer.outputs, *layer.inputs):
            if tensor.name == value.name:
                return tensor
    return None


@dataclass(frozen=True, slots=True)
class MemoryTotal:
    """Memory of the layers of a kind.

    Attributes:
        layers: Number of layers.
        weights_bytes: Sum over the layers with known weights.
        weights_unknown: Number of layers with unknown weights.
        footprint_bytes: Sum of accessed bytes, padded, over the layers with known sizes.
        footprint_unknown: Number of layers with unknown sizes.
    """

    key: str
    layers: int
    weights_bytes: int
    weights_unknown: int
    footprint_bytes: int
    footprint_unknown: int


def memory_by_kind(layers: Iterable[Layer]) -> list[MemoryTotal]:
    """Return weights and footprints by `LayerKind`, the largest footprint first."""
    groups: dict[str, list[Layer]] = {}
    for layer in layers:
        groups.setdefault(layer.kind.value, []).append(layer)
    totals = [_memory_total(key, group) for key, group in groups.items()]
    return sorted(totals, key=lambda total: (-total.footprint_bytes, -total.weights_bytes, total.key))


def _memory_total(key: str, layers: list[Layer]) -> MemoryTotal:
    weights = [layer.weights_bytes for layer in layers]
    footprints = [layer.footprint_allocated_bytes for layer in layers]
    return MemoryTotal(
        key,
        len(layers),
        sum(size or 0 for size in weights),
        weights.count(None),
        sum(size or 0 for size in footprints),
        footprints.count(None),
    )
