"""What a set is made of: tensors, layers, devices, and the engine that holds them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ONNX_SEPARATOR = "\x1e"
"""Between the entries of `Metadata` of TensorRT's own layers."""
MYELIN_SEPARATOR = "\x1f"
"""Between the entries of `Metadata` of Myelin's layers."""

_LONG_NAMES = {"Half": "FP16", "Float": "FP32", "BFloat16": "BF16"}
_LAYOUTS = {
    "linear": "Row major linear {0} format",
    "nhwc4": "Channel major {0} format where channel % 4 == 0",
    "nhwc8": "Channel major {0} format where channel % 8 == 0",
    "chw2": "Two wide channel vectorized row major {0} format",
    "chw4": "Four wide channel vectorized row major {0} format",
    "chw32": "Thirty-two wide channel vectorized row major {0} format",
}
_VECTORS = {"nhwc4": 4, "nhwc8": 8, "chw2": 2, "chw4": 4, "chw32": 32}


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output of a layer.

    Attributes:
        dtype: The short name of the engine inspector: `Half`, `Float`, `Int8`, `BFloat16`, `FP8`, …
        layout: A key of the layouts above; None in Myelin layers, whose tensors state a bare type.
    """

    name: str
    dims: tuple[int, ...]
    dtype: str
    layout: str | None = None

    @property
    def format_text(self) -> str:
        """`Format/Datatype` of TensorRT 8.4 to 10."""
        if self.layout is None:
            return self.dtype
        if self.layout == "linear" and self.dtype == "Float":
            return "Row major linear FP32"
        return _LAYOUTS[self.layout].format(_LONG_NAMES.get(self.dtype, self.dtype))

    @property
    def strides_text(self) -> str:
        """Type and strides as the autotuner prints them, e.g. `Half(3136,1:8,112,4)`; `1:8` marks the vectors."""
        if len(self.dims) != 4:
            strides = [math.prod(self.dims[axis + 1 :]) for axis in range(len(self.dims))]
            return f"{self.dtype}({','.join(map(str, strides))})"
        _, channels, height, width = self.dims
        vector = _VECTORS.get(self.layout or "", 1)
        groups = -(-channels // vector)
        if self.layout in ("nhwc4", "nhwc8"):
            return f"{self.dtype}({groups * height * width},1:{vector},{width * groups},{groups})"
        plane = height * width
        middle = f"{plane}:{vector}" if vector > 1 else str(plane)
        return f"{self.dtype}({groups * plane},{middle},{width},1)"


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of the engine.

    Attributes:
        average_ms: Its modelled mean time in the profile; 0 for what launches nothing.
        extra: All keys of the layer object after `Outputs`, in the order the inspector writes them.
    """

    name: str
    kind: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    average_ms: float
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tactic_name(self) -> str:
        return str(self.extra.get("TacticName", ""))

    @property
    def tactic_value(self) -> str:
        return str(self.extra.get("TacticValue", "0x0000000000000000"))

    @property
    def is_myelin(self) -> bool:
        """Compiled by Myelin: such layers carry no tactic value."""
        return "TacticValue" not in self.extra


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU as trtexec's device information shows it. Clocks in GHz, memory in MiB, shared memory in KiB."""

    name: str
    compute_capability: str
    sms: int
    compute_clock: str
    memory_mib: int
    shared_kib: int
    bus_width: int
    memory_clock: str

    @property
    def uuid(self) -> str:
        """An invented UUID of zeros: there is no such device."""
        return "GPU-00000000-0000-0000-0000-000000000000"


RTX_3060_LAPTOP = Device(
    name="NVIDIA GeForce RTX 3060 Laptop GPU",
    compute_capability="8.6",
    sms=30,
    compute_clock="1.425",
    memory_mib=5937,
    shared_kib=100,
    bus_width=192,
    memory_clock="7.001",
)
RTX_4090 = Device(
    name="NVIDIA GeForce RTX 4090",
    compute_capability="8.9",
    sms=128,
    compute_clock="2.52",
    memory_mib=24081,
    shared_kib=100,
    bus_width=384,
    memory_clock="10.501",
)


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the ONNX model, as far as the parser's messages tell.

    Attributes:
        inputs: Name, shape and ONNX type of each input.
        details: Extra lines that the importer prints for this operator.
    """

    name: str
    operator: str
    inputs: tuple[tuple[str, tuple[int, ...], str], ...]
    outputs: tuple[tuple[str, tuple[int, ...], str], ...]
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IOTensor:
    """An input or output of the network; the three shapes are those of its optimisation profile."""

    name: str
    is_input: bool
    dtype: str
    dims: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Engine:
    """A built engine and the model it came from.

    Attributes:
        version: TensorRT's version as (major, minor, patch).
        initializers: Names of the ONNX initializers.
        fusions: (name of the fusion, first layer, second layer), in the order in which the optimiser reports them.
        weights_bytes: Size of the engine's weights.
        activation_bytes: Size of the activation memory.
    """

    version: tuple[int, int, int]
    device: Device
    layers: tuple[Layer, ...]
    ios: tuple[IOTensor, ...]
    nodes: tuple[Node, ...] = ()
    initializers: tuple[str, ...] = ()
    fusions: tuple[tuple[str, str, str], ...] = ()
    weights_bytes: int = 0
    activation_bytes: int = 0

    @property
    def release(self) -> int:
        """Major and minor as one number to compare with: 8.5 is 805, 10.4 is 1004."""
        return self.version[0] * 100 + self.version[1]
