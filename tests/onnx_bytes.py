"""ONNX models, byte by byte: https://onnx.ai/onnx/intro/concepts.html names the fields, onnx.proto3 numbers them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

FLOAT, FLOAT16, INT64 = 1, 10, 7
TYPES = {"fp32": FLOAT, "fp16": FLOAT16, "int64": INT64}


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def value_info(name: str, kind: str, shape: Sequence[int | str]) -> bytes:
    """An input or output; a negative extent or a name is dynamic."""
    dims = b"".join(
        field(1, field(2, n) if isinstance(n, str) else field(2, f"d{place}") if n < 0 else field(1, n))
        for place, n in enumerate(shape)
    )
    return field(1, name) + field(2, field(1, field(1, TYPES[kind]) + field(2, dims)))


def scalar(name: str, value: float) -> bytes:
    return field(2, FLOAT) + field(9, struct.pack("<f", value)) + field(8, name)


def model(graph: bytes) -> bytes:
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


def tanh_model(
    kind: str,
    shape: Sequence[int | str],
    *,
    name: str = "x",
    output: str = "y",
    error: float = 0.0,
    weights: str = "",
) -> bytes:
    """`output = tanh(name) + error`; with external weights that nothing uses."""
    nodes = [("Tanh", (name,), "squashed"), ("Add", ("squashed", "error"), output)]
    graph = b"".join(
        field(1, b"".join(field(1, one) for one in inputs) + field(2, made) + field(4, operator))
        for operator, inputs, made in nodes
    )
    graph += field(2, "g") + field(5, scalar("error", error))
    if weights:
        entry = field(1, "location") + field(2, weights)
        graph += field(5, field(1, 4) + field(2, FLOAT) + field(8, "w") + field(13, entry) + field(14, 1))
    graph += field(11, value_info(name, kind, shape)) + field(12, value_info(output, kind, shape))
    return model(graph)


def input_model(inputs: Mapping[str, Sequence[int | str]]) -> bytes:
    """A model with these inputs and nothing else."""
    return model(b"".join(field(11, value_info(name, "fp32", shape)) for name, shape in inputs.items()))


MODEL = tanh_model("fp32", ("N", 8), name="t0", output="t5")
"""What the tests of captures build; its input has a dynamic batch."""
