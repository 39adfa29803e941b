"""Tensors, layers and the links between them: the small, immutable parts of the domain model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from enum import Enum
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from trex_tui.old.engine.dtypes import DataType, TensorFormat, allocated_bytes
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import format_ms, format_shape, printable, shorten_middle

if TYPE_CHECKING:
    import networkx as nx

    from trex_tui.old.artifacts.layer_spread import LayerSpread
    from trex_tui.old.engine.engine import Engine

MOST_ELEMENTS = 2**44
"""A larger product of extents means a damaged file. Sums of smaller ones fit 64 bits."""
_LONGEST_REPR = 60
"""Characters of a name in a `repr`."""


def _short_repr(name: str) -> str:
    """Return a name for a `repr`: control characters escaped, a long one cut in the middle."""
    return repr(shorten_middle(name, _LONGEST_REPR))


@lru_cache(maxsize=4096)  # few shapes, requested many times
def _volume(shape: tuple[int, ...]) -> int | None:
    if any(extent < 0 for extent in shape):
        return None
    volume = math.prod(shape)
    return volume if volume <= MOST_ELEMENTS else None


@lru_cache(maxsize=4096)
def _logical_bytes(shape: tuple[int, ...], bits: int) -> int | None:
    volume = _volume(shape)
    return None if volume is None else -(-volume * bits // 8)


class Tensor(NamedTuple):
    """An input or output of a layer, as the engine inspector reports it.

    Attributes:
        name: As in the file; several layers may write the same name.
        shape: Elements per dimension; -1 for a dynamic dimension, () for a scalar.
        dtype: Element type; None if the file does not state it (`N/A due to dynamic shapes`).
        format: Layout, and its text in the file.
        location: `Device` or `Host`; None if not stated, as for Myelin tensors.
    """

    name: str
    shape: tuple[int, ...]
    dtype: DataType | None
    format: TensorFormat
    location: str | None = None

    def __repr__(self) -> str:
        return f"<Tensor {_short_repr(self.name)} {format_shape(self.shape)} {printable(self.description)}>"

    @property
    def volume(self) -> int | None:
        """Number of elements; None if a dimension is dynamic, or if the number exceeds any memory."""
        return _volume(self.shape)

    @property
    def logical_bytes(self) -> int | None:
        """Size of the elements alone, without padding; None if a dimension is dynamic or the type unknown."""
        return None if self.dtype is None else _logical_bytes(self.shape, self.dtype.bits)

    @property
    def allocated_bytes(self) -> int | None:
        """Size in memory: vectorized layouts pad their channels. None as for `logical_bytes`."""
        layout, dtype = self.format, self.dtype
        if dtype is None:
            return None
        if (layout.vector == 1 and layout.row_bytes == 1) or _volume(self.shape) is None:
            return _logical_bytes(self.shape, dtype.bits)
        return allocated_bytes(self.shape, dtype, layout)

    @property
    def description(self) -> str:
        """Type and layout in short: `FP16 NHWC8`, `INT8 NC/32HW32`, `FP32`; the text of the file if unknown."""
        if self.dtype is None:
            return self.format.text or "unknown type"
        layout = self.format.layout
        return self.dtype + " " + layout if layout else self.dtype.value


class Device(str, Enum):
    """Device that runs a layer."""

    GPU = "GPU"
    DLA = "DLA"


class LayerLatency(NamedTuple):
    """A layer's time in the profile run, in milliseconds; None if trtexec printed no number.

    Attributes:
        spread: Of the single times; None for a profile without them, as all of trtexec are.
    """

    average_ms: float | None
    median_ms: float | None
    total_ms: float | None
    trtexec_pct: float | None
    spread: LayerSpread | None = None


class Layer(NamedTuple):
    """A layer of the engine: one step of execution, often several fused layers of the network.

    Attributes:
        index: Position in execution order, from 0.
        occurrence: 0 for the first layer of this name, 1 for the second: names repeat.
        kind: Kind of work, in one vocabulary for all TensorRT versions.
        layer_type: `LayerType` of the file, e.g. `CaskConvolution`; None if only the name is known.
        parameter_type: `ParameterType`, e.g. `Convolution`.
        precision: Type it computes in: from a compute kernel's name, else the type of the first input that is
            floating point or quantized, else of the first such output, else of the first tensor that has any.
        tactic: `TacticName`, the kernel, or the name that a log has for its number; None if no file names it.
        tactic_value: `TacticValue`, e.g. `0x280b0ad3c23d8442`.
        stream: `StreamId`.
        onnx_nodes: Names of the ONNX nodes it came from, from `Metadata`.
        weights_bytes: Size of its constants: those the file lists (weights, bias, scale, shift), and inputs that no layer
            produces and no binding names, which is how Myelin layers hold theirs. 0 if there are none, None if a type is
            unknown or only the name is known.
        constant_input_bytes: The part of `weights_bytes` that belongs to inputs; None as above.
        constant_inputs: Names of these inputs.
        latency: None without a profile row.
        optimization_profile: N of a ` [profile N]` suffix, else 0.
        attributes: The rest of the file's object, verbatim.
    """

    index: int  # type: ignore[assignment] # a place in the engine hides the search of tuples, which nobody needs here
    name: str
    occurrence: int
    kind: LayerKind
    layer_type: str | None
    parameter_type: str | None
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    precision: DataType | None
    tactic: str | None
    tactic_value: str | None
    stream: int | None
    device: Device | None
    onnx_nodes: tuple[str, ...]
    weights_bytes: int | None
    constant_input_bytes: int | None
    constant_inputs: frozenset[str]
    latency: LayerLatency | None
    optimization_profile: int
    attributes: dict[str, Any]

    def __repr__(self) -> str:
        facts = [self.kind.value, self.precision.value if self.precision else "precision unknown"]
        facts += [] if self.latency_ms is None else [f"{format_ms(self.latency_ms)} ms"]
        return f"<Layer {self.index} {_short_repr(self.name)}: {', '.join(facts)}>"

    @property
    def latency_ms(self) -> float | None:
        """Average time in the profile run; None if not profiled."""
        return self.latency.average_ms if self.latency else None

    @property
    def mixed_input_types(self) -> tuple[DataType, ...]:
        """Types of the inputs that leave the precision of an opaque block unknown; empty if it is known."""
        if self.precision is not None:
            return ()
        known = [tensor.dtype for tensor in self.inputs if tensor.dtype]
        types = dict.fromkeys(dtype for dtype in known if dtype.is_float or dtype.is_quantized)
        return tuple(types) if len(types) > 1 else ()

    @property
    def output_precision(self) -> DataType | None:
        return self.outputs[0].dtype if self.outputs else None

    @property
    def io_bytes(self) -> int | None:
        """Logical bytes of all listed inputs and outputs, a tensor read twice counting twice; None if one is unknown."""
        if self.layer_type is None:
            return None
        return _sum_sizes([tensor.logical_bytes for tensor in self.inputs + self.outputs])

    @property
    def data_inputs(self) -> list[Tensor]:
        """Return the inputs that are not constants."""
        constants = self.constant_inputs
        if not constants:
            return list(self.inputs)
        return [tensor for tensor in self.inputs if tensor.name not in constants]

    @property
    def io_allocated_bytes(self) -> int | None:
        """As `io_bytes`, with the padding of vectorized layouts."""
        if self.layer_type is None:
            return None
        return _sum_sizes([tensor.allocated_bytes for tensor in self.inputs + self.outputs])

    @property
    def activation_bytes(self) -> int | None:
        """As `io_bytes`, without the constants among the inputs."""
        if self.layer_type is None:
            return None
        return _sum_sizes([tensor.logical_bytes for tensor in (*self.data_inputs, *self.outputs)])

    @property
    def footprint_bytes(self) -> int | None:
        """`io_bytes` + weights that are not among the inputs: all bytes of the layer; None if a part is unknown."""
        return self._with_weights(self.io_bytes)

    @property
    def footprint_allocated_bytes(self) -> int | None:
        """As `footprint_bytes`, with the padding of vectorized layouts: the bytes actually moved."""
        return self._with_weights(self.io_allocated_bytes)

    def _with_weights(self, io: int | None) -> int | None:
        if io is None or self.weights_bytes is None or self.constant_input_bytes is None:
            return None
        return io + self.weights_bytes - self.constant_input_bytes


def _sum_sizes(sizes: Sequence[int | None]) -> int | None:
    return None if None in sizes else sum(sizes)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Binding:
    """An input or output of the network.

    Attributes:
        is_input: None if the files do not state it (names only).
        shape, dtype, format: As in the layer that reads or writes it; None if no layer names it.
    """

    name: str
    is_input: bool | None
    shape: tuple[int, ...] | None = None
    dtype: DataType | None = None
    format: TensorFormat | None = None

    def __repr__(self) -> str:
        role = {True: "input", False: "output", None: "binding"}[self.is_input]
        shape = "shape unknown" if self.shape is None else format_shape(self.shape)
        dtype = [self.dtype.value] if self.dtype else []
        return f"<Binding {_short_repr(self.name)}: {' '.join([role, shape, *dtype])}>"


class Link(NamedTuple):
    """One input of a layer, and a layer that wrote it.

    Attributes:
        source: Index of the layer that writes.
        target: Index of the layer that reads.
        tensor: The tensor's name.
        port: Index among the inputs of `target`.
        is_loop: The writer runs after the reader: the value is from the previous iteration.
    """

    source: int
    target: int
    tensor: str
    port: int
    is_loop: bool = False


@dataclass(slots=True)
class Value:
    """A value of a tensor name, from a first write after a read to the next.

    Attributes:
        writers: Indices of the layers that write it; empty for a value that is read before any write.
        readers: Indices and ports of the layers that read it.
    """

    writers: list[int] = field(default_factory=list)
    readers: list[tuple[int, int]] = field(default_factory=list)


def follow_values(layers: Sequence[Layer]) -> dict[str, list[Value]]:
    """Return the values of every tensor name, in the order in which names and values appear. Linear in the number of tensors.

    Tensor names identify memory, not values. Myelin reuses scratch tensors, loops close cycles, and removed concats let
    several layers write parts of one tensor. So consecutive writes to a name without a read between them count as one value
    with several producers; a write after a read starts a new value. (Other tools bind a read to the latest writer alone,
    which loses all but the last input of every removed concat.)
    """
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
            # A read before any write gets the last value of the name, from the previous iteration.
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
    """Return a node per layer and an edge per link, with parallel edges and cycles. Imports networkx."""
    import networkx as nx

    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph(name=engine.name)
    graph.add_nodes_from((layer.index, {"layer": layer}) for layer in engine.layers)
    graph.add_edges_from(
        (link.source, link.target, {"tensor": link.tensor, "port": link.port, "is_loop": link.is_loop})
        for link in engine.links
    )
    return graph
