"""Inputs and outputs: names, shapes and types, and arrays as the raw bytes that trtexec reads.

trtexec's `--loadInputs` takes a file per input with nothing but its elements, in the type and the order of the binding. The
order is row-major if the engine takes linear inputs, as all do unless built with `--inputIOFormats`.

The inputs of a sample are random, determined by a seed, or come from files. Random values depend only on seed, number of the
sample and name of the input, so that an engine with another input, or a run with more samples, gets the same values for the
rest.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui.old.engine.dtypes import DataType, parse_data_type
from trex_tui.old.errors import TrexError, describe_reason
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import printable

if TYPE_CHECKING:
    import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

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
SUPPORTED = ", ".join(dtype.value for dtype in _NUMPY)


@dataclass(frozen=True, slots=True)
class TensorSpec:
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


@dataclass(frozen=True, slots=True)
class Signature:
    """All inputs and outputs of a network.

    Attributes:
        tensorrt_version: Version of the engine; None for an ONNX model.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    tensorrt_version: str | None = None


def numpy_type(dtype: DataType | None) -> str | None:
    """Return the numpy type that holds the values exactly; None if there is none (FP8, FP4, INT4)."""
    return _NUMPY.get(dtype) if dtype is not None else None


def held(values: Array, dtype: DataType | None) -> Array:
    """Round the values as an input or output of the type does."""
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
    """Return the upper halves of FP32, rounded to nearest even."""
    import numpy as np

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
    if numpy_type(dtype) is None:
        raise TrexError(f"inputs of type {dtype.value} are not supported; supported are {SUPPORTED}")
    return bytes((_bfloat16_bits(values) if dtype is DataType.BF16 else held(values, dtype)).tobytes())


def from_bytes(data: bytes, dtype: DataType, shape: Sequence[int], what: str) -> Array:
    """Return the elements from raw bytes; the inverse of `to_bytes`.

    Args:
        what: Source of the bytes, for the error.

    Raises:
        TrexError: Too many or too few bytes, or numpy cannot hold the type.
    """
    import numpy as np

    form = numpy_type(dtype)
    if form is None:
        raise TrexError(f"{what}: {dtype.value} is not supported; supported are {SUPPORTED}")
    wanted = math.prod(shape) * dtype.bits // 8
    if len(data) != wanted:
        dims = "x".join(map(str, shape)) or "a scalar"
        raise TrexError(
            f"{what}: {len(data)} bytes, but {dims} of {dtype.value} takes {wanted}; check --input-shape"
        )
    if dtype is DataType.BF16:
        return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").reshape(shape)
    return np.frombuffer(data, form).reshape(shape)


def narrower(first: DataType, second: DataType) -> DataType:
    """Return the type that holds fewer values, so that both sides accept them."""
    return second if second.bits < first.bits else first


def check_shape(path: Path, spec: TensorSpec, asked: Sequence[int] | None) -> None:
    """Check that an input can have the shape of `--input-shape`.

    trtexec reports nothing for an input that is not dynamic: it uses the shape of the engine, and reads only the first half
    of a file with twice the bytes (sampleInference.cpp, sampleUtils.cpp).

    Args:
        spec: The input as the network has it, -1 for a dynamic extent.
        asked: None if no shape was given for it.

    Raises:
        TrexError: It cannot have the shape.
    """
    if asked is None or spec.shape is None or _agree(spec.shape, tuple(asked)):
        return
    name = printable(spec.name)
    fixed = "" if any(extent < 0 for extent in spec.shape) else ", which is fixed"
    raise TrexError(
        f"{path}: --input-shape {name}:{dimensions(asked)} does not match the input "
        f"{dimensions(spec.shape)}{fixed}"
    )


def dimensions(shape: Sequence[int]) -> str:
    """Return extents as trtexec writes them: `1x3x224x224`."""
    return "x".join(map(str, shape)) or "scalar"


def differences(
    reference: Signature, test: Signature, outputs: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """Return why two networks cannot be compared, and notes if they can.

    Args:
        outputs: Names of the outputs to compare; empty for all.
    """
    problems: list[str] = []
    notes: list[str] = []
    for side, left, right in (
        ("input", reference.inputs, test.inputs),
        ("output", _chosen(reference, outputs), _chosen(test, outputs)),
    ):
        mine, other = {tensor.name: tensor for tensor in left}, {tensor.name: tensor for tensor in right}
        for who, lacking in (
            ("the test", mine.keys() - other.keys()),
            ("the reference", other.keys() - mine.keys()),
        ):
            if lacking:
                names = ", ".join(map(printable, sorted(lacking)))
                problems.append(f"{who} has no {side} called {names}")
        for name in (name for name in mine if name in other):
            _compare(side, mine[name], other[name], problems, notes)
    missing = sorted(set(outputs) - {output.name for output in reference.outputs})
    problems += [f"--output: the reference has no output called {printable(name)}" for name in missing]
    return problems, notes


def _chosen(signature: Signature, outputs: Sequence[str]) -> list[TensorSpec]:
    return [output for output in signature.outputs if not outputs or output.name in outputs]


def _compare(side: str, mine: TensorSpec, other: TensorSpec, problems: list[str], notes: list[str]) -> None:
    what = f"{side} {printable(mine.name)}"
    if mine.shape is not None and other.shape is not None and not _agree(mine.shape, other.shape):
        dims = [dimensions(spec.shape or ()) for spec in (mine, other)]
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


FLOAT_RANGE, WHOLE_RANGE = (-1.0, 1.0), (0.0, 1.0)
"""Floating-point values like trtexec's random inputs; integers small enough for any index or mask."""
_RAW = (".bin", ".raw", ".dat")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def safe_name(name: str, index: int) -> str:
    """Return a file name for a tensor, unique by its index."""
    return f"{index}-{_UNSAFE.sub('_', name)[:60]}"


@dataclass(frozen=True, slots=True)
class RandomInputs:
    """Uniform random values.

    Attributes:
        specs: The inputs, with shape and type.
        ranges: Input -> lowest and highest value, both included for integers.
    """

    specs: Sequence[TensorSpec]
    count: int
    seed: int
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def sample(self, number: int) -> dict[str, Array]:
        return {spec.name: self._values(spec, number) for spec in self.specs}

    def _values(self, spec: TensorSpec, number: int) -> Array:
        import numpy as np

        name = zlib.crc32(spec.name.encode("utf-8", errors="surrogateescape"))
        random = np.random.default_rng([self.seed, number, name])
        low, high = self.value_range(spec)
        shape = spec.shape or ()
        if spec.is_float:
            values: Array = np.asarray(random.uniform(low, high, shape))
        else:
            values = np.asarray(random.integers(int(low), int(high), shape, endpoint=True))
        return held(values, spec.dtype)

    def value_range(self, spec: TensorSpec) -> tuple[float, float]:
        return self.ranges.get(spec.name) or (FLOAT_RANGE if spec.is_float else WHOLE_RANGE)

    def document(self) -> dict[str, object]:
        ranges = {spec.name: list(self.value_range(spec)) for spec in self.specs}
        return {"kind": "random", "samples": self.count, "seed": self.seed, "ranges": ranges}


@dataclass(frozen=True, slots=True)
class GivenInputs:
    """Inputs from files.

    Attributes:
        files: For each sample: input -> file, and the type of its bytes (None for that of the input).
        origin: The value on the command line.
    """

    specs: Sequence[TensorSpec]
    files: Sequence[Mapping[str, tuple[Path, DataType | None]]]
    origin: str

    @property
    def count(self) -> int:
        return len(self.files)

    def sample(self, number: int) -> dict[str, Array]:
        files = self.files[number]
        return {spec.name: held(_read(*files[spec.name], spec), spec.dtype) for spec in self.specs}

    def document(self) -> dict[str, object]:
        return {"kind": "files", "samples": self.count, "origin": self.origin}


def _read(path: Path, dtype: DataType | None, spec: TensorSpec) -> Array:
    shape = spec.shape or ()
    try:
        if path.suffix.lower() == ".npy":
            return _read_npy(path, spec)
        data = path.read_bytes()
    except OSError as error:
        raise TrexError(f"{path}: {describe_reason(error)}") from None
    form = dtype or spec.dtype or DataType.FP32
    if dtype is None and form.is_float and len(data) == math.prod(shape) * 4:
        form = DataType.FP32  # the values of an FP32 engine, for an engine with a narrower type
    return from_bytes(data, form, shape, f"{path} for input {printable(spec.name)}")


def _read_npy(path: Path, spec: TensorSpec) -> Array:
    import numpy as np

    try:
        values: Array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise TrexError(f"{path}: not a numpy array ({error}); write it with numpy.save") from None
    what = f"{path} for input {printable(spec.name)}"
    if not isinstance(values, np.ndarray) or tuple(values.shape) != (spec.shape or ()):
        wanted = "x".join(map(str, spec.shape or ())) or "a scalar"
        actual = "x".join(map(str, getattr(values, "shape", ()))) or "a scalar"
        raise TrexError(f"{what}: {actual}, but the input is {wanted}; see --input-shape")
    if values.dtype.kind not in "fiub" or (values.dtype.kind == "f" and not spec.is_float):
        kind = spec.dtype.value if spec.dtype else "unknown"
        raise TrexError(f"{what}: holds {values.dtype}, but the input is {kind}; convert it")
    return values


def given_inputs(named: Sequence[str], specs: Sequence[TensorSpec], most: int | None) -> GivenInputs:
    """Parse `--load-inputs`: `name:file` for each input, or one directory of samples.

    A directory holds one sample, or a directory per sample, in the order of their names. Files are named after the input,
    with `.bin`, `.raw` or `.dat` for bare elements or `.npy`; or a `sample.json` maps files to inputs, as in samples written
    by trex-tui.

    Args:
        most: Largest number of samples to use; None for all.

    Raises:
        TrexError: A file is missing or invalid.
    """
    if len(named) == 1 and Path(named[0]).is_dir():
        return GivenInputs(specs, _list_samples(Path(named[0]), specs, most), named[0])
    files: dict[str, tuple[Path, DataType | None]] = {}
    known = {spec.name for spec in specs}
    for text in named:
        name = next(
            (
                candidate
                for candidate in sorted(known, key=len, reverse=True)
                if text.startswith(f"{candidate}:")
            ),
            None,
        )
        if name is None:
            what = "is not a directory" if ":" not in text else "names no input"
            raise TrexError(f"--load-inputs {printable(text)!r} {what}; inputs are {_names(known)}")
        files[name] = (Path(text[len(name) + 1 :]), None)
    if lacking := known - files.keys():
        raise TrexError(f"--load-inputs: no file for input {_names(lacking)}; add it")
    if most not in (None, 1):
        raise TrexError(f"--inputs {most}: these files are one sample; use a directory for several")
    return GivenInputs(specs, [files], ", ".join(named))


def _names(names: set[str]) -> str:
    return ", ".join(map(printable, sorted(names)))


def _list_samples(
    root: Path, specs: Sequence[TensorSpec], most: int | None
) -> list[Mapping[str, tuple[Path, DataType | None]]]:
    if (root / "samples").is_dir():  # written by `trex-tui accuracy`
        root = root / "samples"
    try:
        folders = sorted(
            entry for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith(".")
        )
    except OSError as error:
        raise TrexError(f"--load-inputs {root}: {describe_reason(error)}") from None
    if (root / "sample.json").is_file() or any(_find_file(root, spec) for spec in specs):
        folders = [root]
    if not folders:
        raise TrexError(
            f"--load-inputs {root}: no files with input names and no directories of them; name them as the inputs"
        )
    if most is not None and most > len(folders):
        raise TrexError(f"--inputs {most}: {root} has {len(folders)} samples; lower --inputs")
    return [_sample_files(folder, specs) for folder in folders[:most]]


def _sample_files(folder: Path, specs: Sequence[TensorSpec]) -> Mapping[str, tuple[Path, DataType | None]]:
    described = _described(folder)
    files = {}
    for spec in specs:
        file = described.get(spec.name) or ((path, None) if (path := _find_file(folder, spec)) else None)
        if file is None:
            raise TrexError(
                f"{folder}: no file for input {printable(spec.name)} (such as {printable(spec.name)}.bin)"
            )
        files[spec.name] = file
    return files


def _find_file(folder: Path, spec: TensorSpec) -> Path | None:
    for name in (spec.name, _UNSAFE.sub("_", spec.name)):
        for ending in (*_RAW, ".npy"):
            if "/" not in name and "\0" not in name and (path := folder / f"{name}{ending}").is_file():
                return path
    return None


def _described(folder: Path) -> dict[str, tuple[Path, DataType | None]]:
    """Return the inputs described in `sample.json`; empty without it."""
    path = folder / "sample.json"
    if not path.is_file():
        return {}
    try:
        root = json.loads(path.read_text(encoding="utf-8"))
        entries = [(entry["name"], entry["file"], entry.get("dtype")) for entry in root["inputs"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise TrexError(f"{path}: does not describe a sample; write it as trtexec takes it") from None
    files = {}
    for name, file, dtype in entries:
        # Never outside of the sample's own directory.
        inside = (folder / str(file)).resolve()
        if not inside.is_relative_to(folder.resolve()):
            raise TrexError(f"{path}: {printable(str(file))} is outside of {folder}; copy it there")
        files[str(name)] = (inside, parse_data_type(str(dtype)) if dtype else None)
    return files
