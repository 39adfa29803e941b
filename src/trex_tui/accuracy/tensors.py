"""Inputs and outputs of a comparison: names, shapes and types, and arrays as the raw bytes that trtexec reads.

trtexec's `--loadInputs` takes a file per input with nothing but its elements, in the type and the order of the binding:
row-major if the engine takes linear inputs, as all do unless built with `--inputIOFormats`.

Random values depend only on seed, number of the sample and name of the input: a run with more samples, or of an engine with
another input, has the same values for the rest.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from trex_tui.analysis.outputs import Array
from trex_tui.engine.dtypes import DataType
from trex_tui.errors import TrexError, describe_os_error
from trex_tui.text import printable

_NUMPY = {
    DataType.FP64: "<f8",
    DataType.FP32: "<f4",
    DataType.FP16: "<f2",
    DataType.BF16: "<f4",  # numpy has no bfloat16: stored as FP32 of the same value
    DataType.INT64: "<i8",
    DataType.INT32: "<i4",
    DataType.INT16: "<i2",
    DataType.INT8: "<i1",
    DataType.UINT8: "<u1",
    DataType.BOOL: "?",
}
_SUPPORTED = ", ".join(dtype.value for dtype in _NUMPY)
_FLOAT_RANGE, _WHOLE_RANGE = (-1.0, 1.0), (0.0, 1.0)
"""Floating-point values like trtexec's random inputs; integers small enough for any index or mask."""
_ENDINGS = (".bin", ".raw", ".dat", ".npy")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class TensorSpec(NamedTuple):
    """An input or output of a network.

    Attributes:
        shape: Extents; None if unknown, -1 for a dynamic extent.
        dtype: None if unknown.
        is_linear: Whether its elements are in row-major order without padding, as far as known.
    """

    name: str
    shape: tuple[int, ...] | None
    dtype: DataType | None
    is_linear: bool = True

    @property
    def is_float(self) -> bool:
        """True if it holds floating-point values of any width."""
        return self.dtype is None or self.dtype.is_float or self.dtype in (DataType.FP8, DataType.FP4)


class Signature(NamedTuple):
    """All inputs and outputs of a network; `tensorrt_version` is None for an ONNX model."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    tensorrt_version: str | None = None


def has_numpy_type(dtype: DataType | None) -> bool:
    """Return whether numpy holds the values exactly; not those of FP8, FP4 and INT4."""
    return dtype in _NUMPY


def hold(values: Array, dtype: DataType | None) -> Array:
    """Round the values as an input or output of the type does."""
    form = None if dtype is None else _NUMPY.get(dtype)
    if form is None:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        # Not ascontiguousarray: it makes a vector of a scalar.
        cast = np.asarray(values).astype(form, order="C")
    if dtype is not DataType.BF16:
        return cast
    return (_bfloat16_bits(cast).astype("<u4") << 16).view("<f4")


def _bfloat16_bits(values: Array) -> Array:
    """Return the upper halves of FP32, rounded to nearest even."""
    bits = values.astype("<f4").view("<u4").astype("<u8")
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    quiet = (bits >> 16) | 0x40  # a NaN with its payload in the lower half must not become infinity
    result: Array = np.where(np.isnan(values), quiet, rounded).astype("<u2")
    return result


def to_bytes(values: Array, dtype: DataType) -> bytes:
    """Return the elements as trtexec reads them.

    Raises:
        TrexError: numpy cannot hold the type.
    """
    if dtype not in _NUMPY:
        raise TrexError(f"inputs of type {dtype.value} are not supported; supported are {_SUPPORTED}")
    return bytes((_bfloat16_bits(values) if dtype is DataType.BF16 else hold(values, dtype)).tobytes())


def from_bytes(data: bytes, dtype: DataType, shape: Sequence[int], what: str) -> Array:
    """Return the elements from raw bytes; the inverse of `to_bytes`.

    Args:
        what: Source of the bytes, for the error.

    Raises:
        TrexError: Too many or too few bytes, or numpy cannot hold the type.
    """
    if dtype not in _NUMPY:
        raise TrexError(f"{what}: {dtype.value} is not supported; supported are {_SUPPORTED}")
    wanted = math.prod(shape) * dtype.bits // 8
    if len(data) != wanted:
        dims = format_shape(shape)
        raise TrexError(
            f"{what}: {len(data)} bytes, but {dims} of {dtype.value} takes {wanted}; check --shapes"
        )
    if dtype is DataType.BF16:
        return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").reshape(shape)
    return np.frombuffer(data, _NUMPY[dtype]).reshape(shape)


def format_shape(shape: Sequence[int] | None) -> str:
    """Return extents as trtexec writes them: `1x3x224x224`."""
    return "x".join(map(str, shape or ())) or "scalar"


def agree(first: tuple[int, ...] | None, second: tuple[int, ...] | None) -> bool:
    """Return whether two shapes may be the same."""
    if first is None or second is None:
        return True
    pairs = zip(first, second, strict=False)
    return len(first) == len(second) and all(a == b or a < 0 or b < 0 for a, b in pairs)


# Samples


@dataclass(frozen=True, slots=True)
class Samples:
    """The inputs of each sample: random, or from files.

    Attributes:
        specs: The inputs, with shape and type.
        count: Number of samples.
        seed: Of random values.
        ranges: Input -> lowest and highest random value, both included for integers.
        files: For each sample: input -> file; empty for random values.
        origin: Where the files are, as typed.
    """

    specs: Sequence[TensorSpec]
    count: int
    seed: int
    ranges: Mapping[str, tuple[float, float]]
    files: Sequence[Mapping[str, Path]] = ()
    origin: str = ""

    def take(self, number: int) -> dict[str, Array]:
        """Return input -> values of a sample, from 0.

        Raises:
            TrexError: A file cannot be used.
        """
        if self.files:
            paths = self.files[number]
            return {spec.name: hold(_read(paths[spec.name], spec), spec.dtype) for spec in self.specs}
        return {spec.name: self._make(spec, number) for spec in self.specs}

    def _make(self, spec: TensorSpec, number: int) -> Array:
        name = zlib.crc32(spec.name.encode("utf-8", errors="surrogateescape"))
        random = np.random.default_rng([self.seed, number, name])
        low, high = self._range(spec)
        shape = spec.shape or ()
        if spec.is_float:
            return hold(np.asarray(random.uniform(low, high, shape)), spec.dtype)
        return hold(np.asarray(random.integers(int(low), int(high), shape, endpoint=True)), spec.dtype)

    def _range(self, spec: TensorSpec) -> tuple[float, float]:
        return self.ranges.get(spec.name) or (_FLOAT_RANGE if spec.is_float else _WHOLE_RANGE)

    def document(self) -> dict[str, object]:
        if self.files:
            return {"kind": "files", "samples": self.count, "origin": self.origin}
        ranges = {spec.name: list(self._range(spec)) for spec in self.specs}
        return {"kind": "random", "samples": self.count, "seed": self.seed, "ranges": ranges}


def _read(path: Path, spec: TensorSpec) -> Array:
    what = f"{path} for input {printable(spec.name)}"
    shape = spec.shape or ()
    try:
        if path.suffix.lower() == ".npy":
            values: Array = np.load(path, allow_pickle=False)
        else:
            data = path.read_bytes()
            form = spec.dtype or DataType.FP32
            if form.is_float and len(data) == math.prod(shape) * 4:
                form = DataType.FP32  # the values of an FP32 engine, for an engine with a narrower type
            return from_bytes(data, form, shape, what)
    except OSError as error:
        raise TrexError(f"{path} {describe_os_error(error)}") from None
    except (ValueError, EOFError) as error:
        raise TrexError(f"{path}: not a numpy array ({error}); write it with numpy.save") from None
    if tuple(values.shape) != shape:
        raise TrexError(
            f"{what}: {format_shape(values.shape)}, but the input is {format_shape(shape)}; see --shapes"
        )
    if values.dtype.kind not in "fiub" or (values.dtype.kind == "f" and not spec.is_float):
        kind = spec.dtype.value if spec.dtype else "unknown"
        raise TrexError(f"{what}: holds {values.dtype}, but the input is {kind}; convert it")
    return values


def find_files(text: str, specs: Sequence[TensorSpec], most: int | None) -> list[Mapping[str, Path]]:
    """Return the files of `--load-inputs`: `INPUT:FILE,…`, or a directory of samples.

    A directory holds the files of one sample, or a directory per sample, in the order of their names. Files are named after
    the input, with `.bin`, `.raw` or `.dat` for bare elements, or `.npy`.

    Args:
        most: Largest number of samples to use; None for all.

    Raises:
        TrexError: A file is missing, or the text names no input.
    """
    root = Path(text)
    if root.is_dir():
        return _list_samples(root, specs, most)
    files: dict[str, Path] = {}
    known = {spec.name for spec in specs}
    names = ", ".join(map(printable, sorted(known)))
    for part in re.split(
        r",(?=(?:" + "|".join(map(re.escape, sorted(known, key=len, reverse=True))) + "):)", text
    ):
        name = next((one for one in sorted(known, key=len, reverse=True) if part.startswith(f"{one}:")), None)
        if name is None:
            raise TrexError(
                f"--load-inputs {printable(part)}: neither a directory nor INPUT:FILE; inputs are {names}"
            )
        files[name] = Path(part[len(name) + 1 :])
    if lacking := known - files.keys():
        raise TrexError(
            f"--load-inputs: no file for input {', '.join(map(printable, sorted(lacking)))}; add it"
        )
    if most not in (None, 1):
        raise TrexError(f"--samples {most}: these files are one sample; use a directory for several")
    return [files]


def _list_samples(root: Path, specs: Sequence[TensorSpec], most: int | None) -> list[Mapping[str, Path]]:
    folders = sorted(entry for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if any(_find_file(root, spec) for spec in specs) or not folders:
        folders = [root]
    if most is not None and most > len(folders):
        raise TrexError(f"--samples {most}: {root} has {len(folders)}; lower --samples")
    samples: list[Mapping[str, Path]] = []
    for folder in folders[:most]:
        found = {spec.name: _find_file(folder, spec) for spec in specs}
        lacking = next((name for name, path in found.items() if path is None), None)
        if lacking is not None:
            shown = printable(lacking)
            raise TrexError(
                f"--load-inputs: {folder} has no file for input {shown}, such as {shown}.npy; add it"
            )
        samples.append({name: path for name, path in found.items() if path is not None})
    return samples


def _find_file(folder: Path, spec: TensorSpec) -> Path | None:
    for name in (spec.name, _UNSAFE.sub("_", spec.name)):
        for ending in _ENDINGS:
            if "/" not in name and "\0" not in name and (path := folder / f"{name}{ending}").is_file():
                return path
    return None
