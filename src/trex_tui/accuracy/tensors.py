"""What goes in and comes out: names, shapes and types, and arrays as the raw bytes that trtexec reads.

trtexec's `--loadInputs` takes a file per input with nothing but its elements, in the type and the order of the binding. Its
order is row-major where the engine takes linear inputs, which all do unless built with `--inputIOFormats`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui.engine.dtypes import DataType
from trex_tui.errors import TrexError
from trex_tui.text import printable

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

_NUMPY = {
    DataType.FP64: "<f8",
    DataType.FP32: "<f4",
    DataType.FP16: "<f2",
    DataType.BF16: "<f4",  # numpy has no bfloat16: held as the FP32 of the same value
    DataType.INT64: "<i8",
    DataType.INT32: "<i4",
    DataType.INT16: "<i2",
    DataType.INT8: "<i1",
    DataType.UINT8: "<u1",
    DataType.BOOL: "?",
}
SUPPORTED = ", ".join(one.value for one in _NUMPY)


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An input or output of a network.

    Attributes:
        shape: Extents; None where not told, -1 for a dynamic one.
        dtype: None where not told.
        is_linear: Whether its elements lie in row-major order without padding, as far as is known.
    """

    name: str
    shape: tuple[int, ...] | None
    dtype: DataType | None
    is_linear: bool = True

    @property
    def is_float(self) -> bool:
        """Whether it holds floating point of any width."""
        return self.dtype is None or self.dtype.is_float or self.dtype in (DataType.FP8, DataType.FP4)


@dataclass(frozen=True, slots=True)
class Signature:
    """All inputs and outputs of a network.

    Attributes:
        tensorrt_version: Of the engine; None for an ONNX model.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    tensorrt_version: str | None = None


def numpy_type(dtype: DataType | None) -> str | None:
    """The numpy type that holds its values exactly; None where there is none (FP8, FP4, INT4)."""
    return _NUMPY.get(dtype) if dtype is not None else None


def held(values: Array, dtype: DataType | None) -> Array:
    """The values after they have passed through the type: rounded as an input or an output of it is."""
    import numpy as np

    form = numpy_type(dtype)
    if form is None:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        # Not ascontiguousarray: it makes a vector of a scalar.
        cast = np.asarray(values).astype(form, order="C")
    if dtype is not DataType.BF16:
        return cast
    return (_bfloat16_bits(cast).astype("<u4") << 16).view("<f4")


def _bfloat16_bits(values: Array) -> Array:
    """The upper halves of FP32, rounded to nearest even."""
    import numpy as np

    bits = values.astype("<f4").view("<u4").astype("<u8")
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    quiet = (bits >> 16) | 0x40  # a NaN whose payload lies in the lower half must not become infinity
    result: Array = np.where(np.isnan(values), quiet, rounded).astype("<u2")
    return result


def to_bytes(values: Array, dtype: DataType) -> bytes:
    """The elements as trtexec reads them.

    Raises:
        TrexError: A type that numpy cannot hold.
    """
    if numpy_type(dtype) is None:
        raise TrexError(f"inputs of type {dtype.value} are not supported; supported are {SUPPORTED}")
    return bytes((_bfloat16_bits(values) if dtype is DataType.BF16 else held(values, dtype)).tobytes())


def from_bytes(data: bytes, dtype: DataType, shape: Sequence[int], what: str) -> Array:
    """Elements out of raw bytes; the inverse of `to_bytes`.

    Args:
        what: Whose bytes they are, for the error.

    Raises:
        TrexError: Too many or too few bytes, or a type that numpy cannot hold.
    """
    import numpy as np

    form = numpy_type(dtype)
    if form is None:
        raise TrexError(f"{what}: {dtype.value} is not supported; supported are {SUPPORTED}")
    wanted = math.prod(shape) * dtype.bits // 8
    if len(data) != wanted:
        dims = "x".join(map(str, shape)) or "a scalar"
        raise TrexError(f"{what}: {len(data)} bytes, but {dims} of {dtype.value} takes {wanted}")
    if dtype is DataType.BF16:
        return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").reshape(shape)
    return np.frombuffer(data, form).reshape(shape)


def narrower(first: DataType, second: DataType) -> DataType:
    """The one that holds fewer values, which both sides can be fed with."""
    return second if second.bits < first.bits else first


def check_shape(path: Path, spec: TensorSpec, asked: Sequence[int] | None) -> None:
    """See that an input can have the shape that `--input-shape` states.

    trtexec says nothing where an input is not dynamic: it goes on with the shape that the engine has, and of a file with
    twice the bytes it reads the first half (sampleInference.cpp, sampleUtils.cpp).

    Args:
        spec: The input as the network has it, -1 for a dynamic extent.
        asked: None if nothing was stated for it.

    Raises:
        TrexError: It cannot.
    """
    if asked is None or spec.shape is None or _agree(spec.shape, tuple(asked)):
        return
    name = printable(spec.name)
    fixed = "" if any(extent < 0 for extent in spec.shape) else ", which is fixed"
    raise TrexError(
        f"{path}: --input-shape {name}:{dimensions(asked)} does not fit: the input is {dimensions(spec.shape)}{fixed}"
    )


def dimensions(shape: Sequence[int]) -> str:
    """Extents as trtexec writes them: `1x3x224x224`."""
    return "x".join(map(str, shape)) or "scalar"


def differences(
    reference: Signature, test: Signature, outputs: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """Why two networks cannot be compared, and what to know if they can.

    Args:
        outputs: Names of the outputs to compare; all, if empty.
    """
    problems: list[str] = []
    notes: list[str] = []
    for side, left, right in (
        ("input", reference.inputs, test.inputs),
        ("output", _chosen(reference, outputs), _chosen(test, outputs)),
    ):
        mine, other = {one.name: one for one in left}, {one.name: one for one in right}
        for who, lacking in (
            ("the test", mine.keys() - other.keys()),
            ("the reference", other.keys() - mine.keys()),
        ):
            if lacking:
                names = ", ".join(map(printable, sorted(lacking)))
                problems.append(f"{who} has no {side} called {names}")
        for name in (name for name in mine if name in other):
            _compare(side, mine[name], other[name], problems, notes)
    missing = sorted(set(outputs) - {one.name for one in reference.outputs})
    problems += [f"--output: the reference has no output called {printable(name)}" for name in missing]
    return problems, notes


def _chosen(signature: Signature, outputs: Sequence[str]) -> list[TensorSpec]:
    return [one for one in signature.outputs if not outputs or one.name in outputs]


def _compare(side: str, mine: TensorSpec, other: TensorSpec, problems: list[str], notes: list[str]) -> None:
    what = f"{side} {printable(mine.name)}"
    if mine.shape is not None and other.shape is not None and not _agree(mine.shape, other.shape):
        dims = [dimensions(one.shape or ()) for one in (mine, other)]
        problems.append(f"{what}: {dims[0]} in the reference, {dims[1]} in the test")
    if mine.dtype is None or other.dtype is None or mine.dtype is other.dtype:
        return
    types = f"{mine.dtype.value} in the reference, {other.dtype.value} in the test"
    if mine.is_float != other.is_float or DataType.BOOL in (mine.dtype, other.dtype):
        problems.append(f"{what}: {types}")
    elif side == "input":
        notes.append(
            f"{what}: {types}; both get values that {narrower(mine.dtype, other.dtype).value} can hold"
        )
    else:
        notes.append(f"{what}: {types}")


def _agree(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    return len(first) == len(second) and all(
        a == b or a < 0 or b < 0 for a, b in zip(first, second, strict=True)
    )
