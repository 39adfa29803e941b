"""Small models made with `onnx.helper`, for builds with a real library. Needs the packages onnx and numpy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

_RANDOM = np.random.default_rng(0)
F32, F16 = TensorProto.FLOAT, TensorProto.FLOAT16


def _tensor(name: str, values: Any) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(values), name)


def _value(name: str, kind: int, shape: Sequence[int | str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(shape))


def _save(path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], constants: list[Any]) -> Path:
    graph = helper.make_graph(nodes, path.stem, inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)
    return path


def convolutions(path: Path, batch: int | str = 1) -> Path:
    """Two convolutions, a ReLU and a pooling; x 3x32x32 -> y 16x1x1."""
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["a"], "conv1", pads=[1] * 4),
        helper.make_node("Relu", ["a"], ["b"], "relu1"),
        helper.make_node("Conv", ["b", "w2"], ["c"], "conv2", pads=[1] * 4, strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["c"], ["y"], "pool"),
    ]
    constants = [
        _tensor("w1", _RANDOM.standard_normal((8, 3, 3, 3)).astype("f")),
        _tensor("b1", np.zeros(8, "f")),
        _tensor("w2", _RANDOM.standard_normal((16, 8, 3, 3)).astype("f")),
    ]
    inputs, outputs = [_value("x", F32, (batch, 3, 32, 32))], [_value("y", F32, (batch, 16, 1, 1))]
    return _save(path, nodes, inputs, outputs, constants)


def attention(path: Path) -> Path:
    """FP16 attention of 4 heads: q, k, v 64x32."""
    nodes = [
        helper.make_node("Transpose", ["k"], ["kt"], "transpose", perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q", "kt"], ["s"], "scores"),
        helper.make_node("Mul", ["s", "scale"], ["t"], "scaling"),
        helper.make_node("Softmax", ["t"], ["p"], "softmax", axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["y"], "mix"),
    ]
    shape = (1, 4, 64, 32)
    inputs, outputs = [_value(name, F16, shape) for name in "qkv"], [_value("y", F16, shape)]
    return _save(path, nodes, inputs, outputs, [_tensor("scale", np.float16(32**-0.5))])


def quantized(path: Path) -> Path:
    """An INT8 convolution between Q/DQ."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["xq"], "q"),
        helper.make_node("DequantizeLinear", ["xq", "s", "z"], ["xd"], "dq"),
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["wd"], "dq_weights"),
        helper.make_node("Conv", ["xd", "wd"], ["y"], "conv", pads=[1] * 4),
    ]
    constants = [
        _tensor("w", _RANDOM.integers(-127, 127, (16, 16, 3, 3)).astype("int8")),
        _tensor("s", np.float32(0.1)),
        _tensor("z", np.int8(0)),
    ]
    shape = (1, 16, 32, 32)
    return _save(path, nodes, [_value("x", F32, shape)], [_value("y", F32, shape)], constants)


def loop(path: Path) -> Path:
    """Ten times tanh(a + 1)."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["c"], ["c_out"]),
            helper.make_node("Add", ["a", "one"], ["sum"], "body_add"),
            helper.make_node("Tanh", ["sum"], ["a_out"], "body_tanh"),
        ],
        "body",
        [_value("i", TensorProto.INT64, ()), _value("c", TensorProto.BOOL, ()), _value("a", F32, (4, 8))],
        [_value("c_out", TensorProto.BOOL, ()), _value("a_out", F32, (4, 8))],
        [_tensor("one", np.ones((4, 8), "f"))],
    )
    constants = [_tensor("count", np.int64(10)), _tensor("true", np.bool_(True))]
    nodes = [helper.make_node("Loop", ["count", "true", "x"], ["y"], "loop", body=body)]
    return _save(path, nodes, [_value("x", F32, (4, 8))], [_value("y", F32, (4, 8))], constants)


def of_two_types(path: Path) -> Path:
    """FP32 + FP16, which no strongly typed network takes."""
    nodes = [helper.make_node("Add", ["x", "w"], ["y"], "mixed")]
    constants = [_tensor("w", np.ones(4, "float16"))]
    return _save(path, nodes, [_value("x", F32, (4,))], [_value("y", F32, (4,))], constants)
