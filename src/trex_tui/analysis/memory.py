"""Memory for activations: which tensors hold data at the same time.

A tensor lives from the layer that writes it first to the layer that reads it last. Names are names of memory: a layer that
reads and writes one name updates it in place. What a loop carries is alive from its first reader to its writer. Network
inputs and outputs belong to the caller, constants to the weights; both are left out. What is left at the busiest step is the
least that the engine can do with if memory is shared perfectly: TensorRT's own figure (`device memory size` in its logs)
adds alignment, scratch space of tactics and, with several streams, tensors that must not share.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from trex_tui.engine.cache import per_engine
from trex_tui.engine.engine import Engine
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer, Tensor


@dataclass(slots=True)
class LiveTensor:
    """A value in memory.

    Attributes:
        name: Of the tensor.
        allocated_bytes: Padded size; of the largest part where several layers write it, as behind a removed concat. None
            while a dimension is dynamic or the type unknown.
        first: Index of the layer that writes it first; of the one that reads it first, where a loop carries it.
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
        live_bytes: For every layer, the bytes that are live while it runs: its inputs, its outputs, and what waits.
        peak_bytes: The largest of these; None if there is no layer information, or not one tensor of known size.
        peak_index: Index of the first layer at which it is reached.
        live_at_peak: The tensors alive there, largest first.
        unknown: Tensors whose size is not known; with any, `peak_bytes` is a lower bound.
    """

    live_bytes: tuple[int, ...]
    peak_bytes: int | None
    peak_index: int | None
    live_at_peak: tuple[LiveTensor, ...]
    unknown: int


@dataclass(slots=True)
class _Values:
    """The values that names of memory stand for at a point of the execution."""

    outside: frozenset[str]
    current: dict[str, LiveTensor] = field(default_factory=dict)
    read: set[int] = field(default_factory=set)
    """Identities of values that have been read: the next write to their name makes a new one."""
    unwritten: dict[str, int] = field(default_factory=dict)
    """Index of the first layer that reads a name nobody has written yet: a constant, or carried around a loop."""
    elsewhere: set[str] = field(default_factory=set)
    """Names that stand for memory which is not counted here, until a layer writes to them."""
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
        """Begin values and prolong them. A NoOp moves nothing: its output is its input under another name."""
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
        """What is read before it is written is of the iteration before: it waits from its writer to its first reader."""
        for name, index in self.unwritten.items():
            value = self.current.get(name)
            if value is not None:
                value.first = min(value.first, index)


def _larger(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else max(first, second)


@per_engine
def live_tensors(engine: Engine) -> tuple[LiveTensor, ...]:
    """Every value that a layer writes and that is no input or output of the network, in order of its first writer."""
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
    """Live activations at every layer, and what is alive at the peak. Linear in the number of tensors."""
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
    """Sum of what all layers read and write, weights included: a tensor counts once for every layer that touches it.

    None if a layer's is unknown. (trex shows the part without weights as "Activations", which it is not.)
    """
    if not engine.has_graph:
        return None
    sizes = [layer.footprint_bytes for layer in engine.layers if layer.kind.is_work]
    return None if None in sizes else sum(filter(None, sizes))


def live_at(values: Iterable[LiveTensor], index: int) -> list[LiveTensor]:
    """The values that are alive while a layer runs, the largest first, those of unknown size last."""
    alive = [value for value in values if value.first <= index <= value.last]
    return sorted(alive, key=lambda value: (value.allocated_bytes is None, -(value.allocated_bytes or 0)))


def find_tensor(engine: Engine, value: LiveTensor) -> Tensor | None:
    """A tensor through which a layer writes or reads a value: tells shape, type and format."""
    for index in (value.first, value.last):
        layer = engine.layers[index]
        for tensor in (*layer.outputs, *layer.inputs):
            if tensor.name == value.name:
                return tensor
    return None


@dataclass(frozen=True, slots=True)
class MemoryTotal:
    """What the layers of a kind hold and touch.

    Attributes:
        layers: How many they are.
        weights_bytes: Sum over the layers that tell.
        weights_unknown: Layers that do not.
        footprint_bytes: Sum of what each touches, padded, over the layers that tell.
        footprint_unknown: Layers that do not.
    """

    key: str
    layers: int
    weights_bytes: int
    weights_unknown: int
    footprint_bytes: int
    footprint_unknown: int


def memory_by_kind(layers: Iterable[Layer]) -> list[MemoryTotal]:
    """Weights and footprints by `LayerKind`, the largest footprint first."""
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
