"""What tests of comparisons share: plans with a network that the stand-in for trtexec computes, and small ONNX models."""

from __future__ import annotations

import copy
import struct
import sys
from pathlib import Path
from typing import Any

from fake_trtexec import HERE

sys.path.insert(0, str(HERE))  # its modules find each other as programs do
import exports
import network
from release import Release

sys.path.remove(str(HERE))
INT8_STEP = 0.05


def tensor(kind: str = "fp32", *shape: int) -> dict[str, Any]:
    return {"type": kind, "shape": list(shape)}


def write_engine(
    path: Path, version: str = "10.4.0", *, step: float = 0.0, detailed: bool = True, **net: Any
) -> Path:
    """A plan whose outputs are rounded to multiples of `step`; `inputs` and `outputs` by name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = copy.deepcopy({**network.default(), "step": step, **net})
    path.write_bytes(exports.plan_bytes(Release(version), detailed=detailed) + network.mark(whole))
    return path


# --- ONNX, byte by byte: https://onnx.ai/onnx/intro/concepts.html names the fields, onnx.proto3 numbers them -------------

_FLOAT, _FLOAT16, _INT64 = 1, 10, 7
TYPES = {"fp32": _FLOAT, "fp16": _FLOAT16, "int64": _INT64}


def _varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def _field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _value_info(name: str, kind: str, shape: list[int]) -> bytes:
    dims = b"".join(
        _field(1, _field(2, f"d{place}") if n < 0 else _field(1, n)) for place, n in enumerate(shape)
    )
    return _field(1, name) + _field(2, _field(1, _field(1, TYPES[kind]) + _field(2, dims)))


def _scalar(name: str, value: float) -> bytes:
    return _field(2, _FLOAT) + _field(9, struct.pack("<f", value)) + _field(8, name)


def write_onnx(
    path: Path, x: dict[str, Any], *, name: str = "x", output: str = "y", error: float = 0.0
) -> Path:
    """`output = tanh(name) + error`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    nodes = [("Tanh", (name,), "squashed"), ("Add", ("squashed", "error"), output)]
    graph = b"".join(
        _field(1, b"".join(_field(1, one) for one in inputs) + _field(2, made) + _field(4, operator))
        for operator, inputs, made in nodes
    )
    graph += _field(2, "g") + _field(5, _scalar("error", error))
    graph += _field(11, _value_info(name, x["type"], x["shape"])) + _field(
        12, _value_info(output, x["type"], x["shape"])
    )
    path.write_bytes(_field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13)))
    return path
