"""The inputs of an ONNX model and its external weight files, by a walk over the protobuf message; no package is needed.

Fields are numbered in onnx.proto3: `ModelProto.graph` 7, `GraphProto.input` 11 and `.initializer` 5, `ValueInfoProto.name` 1
and `.type` 2, `TensorProto.name` 8 and `.external_data` 13, which has pairs of key 1 and value 2. Weights are skipped by
their length, so that a model of gigabytes takes no time and no memory.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from trex_tui.artifacts.plan import has_plan_mark
from trex_tui.errors import TrexError, describe_os_error
from trex_tui.text import printable

_TYPES = (
    *("undefined", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool"),
    *("float16", "float64", "uint32", "uint64", "complex64", "complex128", "bfloat16", "float8e4m3fn"),
    *("float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4", "float4e2m1"),
)
"""`TensorProto.DataType`."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
"""Wire types of protobuf."""
_MOST_INPUTS = 10_000
_MOST_SHOWN = 4


class ModelInput(NamedTuple):
    """An input of a model.

    Attributes:
        dtype: `float32`; empty if it is not a tensor.
        shape: Extents; a name or an empty text is dynamic. None if the rank is open.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...] | None

    @property
    def is_dynamic(self) -> bool:
        return self.shape is None or any(isinstance(extent, str) for extent in self.shape)

    def __str__(self) -> str:
        dims = "of any rank"
        if self.shape is not None:
            dims = "x".join(str(extent or "?") for extent in self.shape) or "scalar"
        return f"{printable(self.name)} ({self.dtype or 'no tensor'} {printable(dims)})"


class OnnxHeader(NamedTuple):
    """Head of a model.

    Attributes:
        inputs: In its order, without those that are constants.
        weights: External weight files, each once, as named there.
    """

    inputs: tuple[ModelInput, ...]
    weights: tuple[str, ...] = ()

    def find(self, name: str) -> ModelInput | None:
        return next((known for known in self.inputs if known.name == name), None)

    def describe(self) -> str:
        """Return `input x (float32 Nx3x224x224)`, for messages."""
        shown = [str(known) for known in self.inputs[:_MOST_SHOWN]]
        rest = len(self.inputs) - len(shown)
        more = f" and {rest} more" if rest else ""
        noun = "input" if len(self.inputs) == 1 else "inputs"
        return f"{noun} {', '.join(shown)}{more}" if shown else "no inputs"


class _DamagedError(ValueError):
    """The bytes are not a message."""


def read_onnx_header(path: Path, option: str = "--onnx") -> OnnxHeader:
    """Read the inputs of a model.

    Args:
        option: The option that names the file, for messages.

    Raises:
        TrexError: The file cannot be read, or is no ONNX model.
    """
    try:
        with path.open("rb") as file:
            if not path.stat().st_size:
                raise TrexError(f"{option}: {path} is empty; export the model again")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                if has_plan_mark(data[:32]):
                    raise TrexError(f"{option}: {path} is a serialized engine; measure it with --engine")
                if data[:43] == b"version https://git-lfs.github.com/spec/v1\n":
                    raise TrexError(f"{option}: {path} is a pointer of Git LFS; fetch it with `git lfs pull`")
                return _read_model(data)
    except _DamagedError:
        message = f"{option}: {path} is not an ONNX model, or is truncated; export it again"
        raise TrexError(message) from None
    except OSError as error:
        raise TrexError(f"{option}: {path} {describe_os_error(error)}") from None


def _read_model(data: mmap.mmap) -> OnnxHeader:
    graphs = [
        (begin, end)
        for number, wire, begin, end in _fields(data, 0, len(data))
        if (number, wire) == (7, _BYTES)
    ]
    if not graphs:
        raise _DamagedError
    inputs: list[ModelInput] = []
    constants: set[str] = set()
    weights: dict[str, None] = {}
    for number, wire, begin, end in _fields(data, *graphs[-1]):
        if wire != _BYTES:
            continue
        if number == 11 and len(inputs) < _MOST_INPUTS:
            inputs.append(_read_input(data, begin, end))
        elif number == 5:  # up to IR version 3, constants are inputs too
            for part, kind, first, last in _fields(data, begin, end):
                if (part, kind) == (8, _BYTES):
                    constants.add(data[first:last].decode("utf-8", errors="replace"))
                elif (part, kind) == (13, _BYTES):
                    pair = {key: data[a:b] for key, _, a, b in _fields(data, first, last)}
                    if pair.get(1) == b"location":
                        weights[pair.get(2, b"").decode("utf-8", errors="surrogateescape")] = None
    return OnnxHeader(tuple(known for known in inputs if known.name not in constants), tuple(weights))


def _read_input(data: mmap.mmap, begin: int, end: int) -> ModelInput:
    name, dtype = "", ""
    shape: tuple[int | str, ...] | None = None
    for number, wire, first, last in _fields(data, begin, end):
        if (number, wire) == (1, _BYTES):
            name = data[first:last].decode("utf-8", errors="replace")
        elif (number, wire) == (2, _BYTES):
            for part, _, start, stop in _fields(data, first, last):
                if part == 1:  # tensor_type
                    dtype, shape = _read_tensor_type(data, start, stop)
    return ModelInput(name, dtype, shape)


def _read_tensor_type(data: mmap.mmap, begin: int, end: int) -> tuple[str, tuple[int | str, ...] | None]:
    dtype, shape = "", None
    for number, wire, first, last in _fields(data, begin, end):
        if (number, wire) == (1, _VARINT):
            dtype = _TYPES[first] if first < len(_TYPES) else f"type {first}"
        elif (number, wire) == (2, _BYTES):
            dims = (part for part in _fields(data, first, last) if part[:2] == (1, _BYTES))
            shape = tuple(_read_dimension(data, start, stop) for _, _, start, stop in dims)
    return dtype, shape


def _read_dimension(data: mmap.mmap, begin: int, end: int) -> int | str:
    """Return an extent; the name of a dynamic one, or an empty text."""
    for number, wire, first, last in _fields(data, begin, end):
        if (number, wire) == (1, _VARINT):
            return first if first < 1 << 63 else ""  # some exporters write -1
        if (number, wire) == (2, _BYTES):
            return data[first:last].decode("utf-8", errors="replace")
    return ""


def _fields(data: mmap.mmap, begin: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield number, wire type, begin and end of each field of a message; of a varint its value and the end.

    Raises:
        _DamagedError: The bytes are not a message.
    """
    position = begin
    while position < end:
        key, position = _varint(data, position, end)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, position = _varint(data, position, end)
            yield number, wire, value, position
            continue
        if wire == _BYTES:
            size, position = _varint(data, position, end)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise _DamagedError
        if number == 0 or size > end - position:
            raise _DamagedError
        yield number, wire, position, position + size
        position += size


def _varint(data: mmap.mmap, position: int, end: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= end:
            break
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise _DamagedError
