"""Layer objects of TensorRT's own (not Myelin's) kernels, with the keys of each version in the inspector's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from samples.cpp import tactic_value
from samples.model import ONNX_SEPARATOR, Layer, Tensor


@dataclass(frozen=True, slots=True)
class Window:
    """Geometry of a convolution or pooling; all of ours are square and symmetric."""

    kernel: int
    stride: int
    padding: int

    def output(self, extent: int) -> int:
        """Extent of the output along one spatial dimension, rounded down."""
        return (extent + 2 * self.padding - self.kernel) // self.stride + 1

    @property
    def padding_keys(self) -> dict[str, Any]:
        return {
            "PaddingMode": "kEXPLICIT_ROUND_DOWN",
            "PrePadding": [self.padding] * 2,
            "PostPadding": [self.padding] * 2,
            "Stride": [self.stride] * 2,
        }


def onnx_names(names: Sequence[str], separator: str = ONNX_SEPARATOR) -> str:
    """The `Metadata` string that names the ONNX nodes of a layer."""
    return separator.join(f"[ONNX Layer: {name}]" for name in names)


def _tail(onnx: Sequence[str] | None) -> dict[str, Any]:
    """The run-time keys; TensorRT 8.5 (None) has none of them."""
    return {} if onnx is None else {"StreamId": 0, "Metadata": onnx_names(onnx)}


def reformat(
    name: str, source: Tensor, target: Tensor, average_ms: float, origin: str, onnx: Sequence[str] | None
) -> Layer:
    """A reformat: a copy to another layout (`REFORMAT`), or a quantisation that found no layer to fuse with (`QDQ`)."""
    extra = {
        "ParameterType": "Reformat",
        "Origin": origin,
        "TacticValue": "0x00000000000003e8",
        **_tail(onnx),
    }
    return Layer(name, "Reformat", (source,), (target,), average_ms, extra)


def no_op(name: str, source: Tensor, target: Tensor) -> Layer:
    """A layer that only renames memory: TensorRT 8 lists it, the profile gives it 0 ms."""
    return Layer(name, "NoOp", (source,), (target,), 0.0, {"TacticValue": "0x0000000000000000"})


def convolution(
    name: str,
    source: Tensor,
    target: Tensor,
    window: Window,
    tactic: str,
    average_ms: float,
    onnx: Sequence[str] | None,
    relu: bool = True,
) -> Layer:
    """A `CaskConvolution` with bias; weights have the type of the input, biases of INT8 ones stay FP32."""
    weight_type = source.dtype
    extra: dict[str, Any] = {"ParameterType": "Convolution", "Kernel": [window.kernel] * 2}
    extra |= window.padding_keys
    extra |= {"Dilation": [1, 1], "OutMaps": target.dims[1], "Groups": 1}
    count = target.dims[1] * source.dims[1] * window.kernel**2
    extra["Weights"] = {"Type": weight_type, "Count": count}
    extra["Bias"] = {"Type": "Float" if weight_type == "Int8" else weight_type, "Count": target.dims[1]}
    activation = "RELU" if relu else "NONE"
    flags = {"HasBias": 1, "HasReLU": int(relu)}
    if onnx is None:
        extra |= {"HasSparseWeights": 0, "Activation": activation, **flags}
    else:
        absent = dict.fromkeys(("HasDynamicFilter", "HasDynamicBias", "HasResidual"), 0)
        indices = dict.fromkeys(("ConvXAsActInputIdx", "BiasAsActInputIdx", "ResAsActInputIdx"), -1)
        extra |= {**flags, "HasSparseWeights": 0, **absent, **indices, "Activation": activation}
    extra |= {"TacticName": tactic, "TacticValue": tactic_value(tactic), **_tail(onnx)}
    return Layer(name, "CaskConvolution", (source,), (target,), average_ms, extra)


def max_pooling(
    name: str,
    kind: str,
    source: Tensor,
    target: Tensor,
    window: Window,
    tactic: str,
    average_ms: float,
    onnx: Sequence[str] | None,
) -> Layer:
    """A max pooling. `tactic` is a kernel name, or the bare tactic id where the runner names no kernels."""
    extra: dict[str, Any] = {"ParameterType": "Pooling", "PoolingType": "MAX"}
    extra["WindowSize"] = [window.kernel] * 2
    extra |= window.padding_keys
    extra |= {"BlendFactor": 0, "AverageCountExcludesPadding": 1}
    if tactic.startswith("0x"):
        extra["TacticValue"] = tactic
    else:
        extra |= {"TacticName": tactic, "TacticValue": tactic_value(tactic)}
    return Layer(name, kind, (source,), (target,), average_ms, extra | _tail(onnx))
