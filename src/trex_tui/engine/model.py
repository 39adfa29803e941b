"""Tensors and layers: the domain's small, immutable parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Any

from trex_tui.engine.dtypes import DataType, TensorFormat, allocated_bytes
from trex_tui.engine.kinds import LayerKind

MOST_ELEMENTS = 2**44
"""Extents that multiply to more are no size: the file is damaged. Sums of what is below fit 64 bits."""


@lru_cache(maxsize=4096)  # few shapes, asked for many times
def _volume(shape: tuple[int, ...]) -> int | None:
    if any(extent < 0 for extent in shape):
        return None
    volume = math.prod(shape)
    return volume if volume <= MOST_ELEMENTS else None


@lru_cache(maxsize=4096)
def _logical_bytes(shape: tuple[int, ...], bits: int) -> int | None:
    volume = _volume(shape)
    return None if volume is None else -(-volume * bits // 8)


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output of a layer, as the engine inspector reports it.

    Attributes:
        name: As in the file; several layers may write the same name.
        shape: Elements per dimension; -1 where the engine leaves it dynamic, () for a scalar.
        dtype: Element type; None where the file does not say (`N/A due to dynamic shapes`).
        format: Layout, and the words the file has for it.
        location: `Device` or `Host`; None where not stated, as for Myelin tensors.
    """

    name: str
    shape: tuple[int, ...]
    dtype: DataType | None
    format: TensorFormat
    location: str | None = None

    @property
    def volume(self) -> int | None:
        """Number of elements; None while a dimension is dynamic, or if there are more than any memory holds."""
        return _volume(self.shape)

    @property
    def logical_bytes(self) -> int | None:
        """Size of the elements alone, without padding; None while a dimension is dynamic or the type unknown."""
        return None if self.dtype is None else _logical_bytes(self.shape, self.dtype.bits)

    @property
    def allocated_bytes(self) -> int | None:
        """Size in memory: vectorised layouts pad their channels. None as for `logical_bytes`."""
        layout, dtype = self.format, self.dtype
        if dtype is None:
            return None
        if (layout.vector == 1 and layout.row_bytes == 1) or _volume(self.shape) is None:
            return _logical_bytes(self.shape, dtype.bits)
        return allocated_bytes(self.shape, dtype, layout)

    @property
    def description(self) -> str:
        """Type and layout in a few letters: `FP16 NHWC8`, `INT8 NC/32HW32`, `FP32`; the file's words if unknown."""
        if self.dtype is None:
            return self.format.text or "unknown type"
        layout = self.format.layout
        return self.dtype + " " + layout if layout else self.dtype.value


class Device(str, Enum):
    """Where a layer runs."""

    GPU = "GPU"
    DLA = "DLA"


@dataclass(frozen=True, slots=True)
class LayerLatency:
    """A layer's time in the profile run, in milliseconds; None where trtexec printed no number."""

    average_ms: float | None
    median_ms: float | None
    total_ms: float | None
    trtexec_pct: float | None


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of the engine: what runs as one step, often several layers of the network fused.

    Attributes:
        index: Place in execution order, from 0.
        occurrence: 0 for the first layer of this name, 1 for the second: names repeat.
        kind: What it does, in one vocabulary over all TensorRT versions.
        layer_type: `LayerType` of the file, e.g. `CaskConvolution`; None if only the name is known.
        parameter_type: `ParameterType`, e.g. `Convolution`.
        precision: Type it computes in: what a multiplying kernel's name says, else the type of the first input that is
            floating point or quantized, else of the first such output, else of the first tensor that has any.
        tactic: `TacticName`, the kernel; None if the file has none.
        tactic_value: `TacticValue`, e.g. `0x280b0ad3c23d8442`.
        stream: `StreamId`.
        onnx_nodes: Names of the ONNX nodes it came from, out of `Metadata`.
        weights_bytes: Size of its constants: those the file lists (weights, bias, scale, shift), and inputs that no layer
            produces and no binding names, which is how Myelin layers hold theirs. 0 if there are none, None if a type is
            unknown or only the name is known.
        constant_input_bytes: The part of `weights_bytes` that stands among the inputs; None as above.
        constant_inputs: Names of these inputs.
        latency: None if no profile row belongs to it.
        optimization_profile: N of a ` [profile N]` suffix, else 0.
        attributes: The rest of the file's object, verbatim.
    """

    index: int
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
    optimization_profile: int = 0
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def latency_ms(self) -> float | None:
        """Average time in the profile run; None if it was not profiled."""
        return self.latency.average_ms if self.latency else None

    @property
    def output_precision(self) -> DataType | None:
        return self.outputs[0].dtype if self.outputs else None

    @property
    def io_bytes(self) -> int | None:
        """Logical bytes of all inputs and outputs as listed, a tensor read twice counting twice; None if one is unknown."""
        return self._sum_of_sizes([tensor.logical_bytes for tensor in self.inputs + self.outputs])

    @property
    def data_inputs(self) -> list[Tensor]:
        """Inputs that are not constants."""
        return [tensor for tensor in self.inputs if tensor.name not in self.constant_inputs]

    @property
    def io_allocated_bytes(self) -> int | None:
        """As `io_bytes`, with the padding of vectorised layouts."""
        return self._sum_of_sizes([tensor.allocated_bytes for tensor in self.inputs + self.outputs])

    @property
    def activation_bytes(self) -> int | None:
        """As `io_bytes`, without the constants among the inputs: what the layer moves for the sake of its data."""
        return self._sum_of_sizes([tensor.logical_bytes for tensor in (*self.data_inputs, *self.outputs)])

    def _sum_of_sizes(self, sizes: Sequence[int | None]) -> int | None:
        if self.layer_type is None or None in sizes:
            return None
        return sum(sizes)  # type: ignore[arg-type]

    @property
    def footprint_bytes(self) -> int | None:
        """`io_bytes` + weights that are not among the inputs: all that the layer touches; None if a part is unknown."""
        return self._with_weights(self.io_bytes)

    @property
    def footprint_allocated_bytes(self) -> int | None:
        """As `footprint_bytes`, with the padding of vectorised layouts: what really moves."""
        return self._with_weights(self.io_allocated_bytes)

    def _with_weights(self, io: int | None) -> int | None:
        if io is None or self.weights_bytes is None or self.constant_input_bytes is None:
            return None
        return io + self.weights_bytes - self.constant_input_bytes


@dataclass(frozen=True, slots=True)
class Binding:
    """An input or output of the network.

    Attributes:
        is_input: None if the files do not tell (names only).
        shape, dtype, format: As the layer that reads or writes it has them; None if no layer names it.
    """

    name: str
    is_input: bool | None
    shape: tuple[int, ...] | None = None
    dtype: DataType | None = None
    format: TensorFormat | None = None
