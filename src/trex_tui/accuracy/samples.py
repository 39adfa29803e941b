"""The inputs of each sample: random ones that a seed decides, or files that somebody gives.

Random values depend on seed, number of the sample and name of the input alone, so that an engine with one more input, or a
run with more samples, gets the same values for the rest.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.accuracy.tensors import TensorSpec, from_bytes, held
from trex_tui.engine.dtypes import DataType, parse_data_type
from trex_tui.errors import TrexError
from trex_tui.text import printable

if TYPE_CHECKING:
    from trex_tui.accuracy.tensors import Array

FLOAT_RANGE, WHOLE_RANGE = (-1.0, 1.0), (0.0, 1.0)
"""Floating point as trtexec's own random inputs; whole numbers so small that they are a valid index or mask anywhere."""
_RAW = (".bin", ".raw", ".dat")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def safe_name(name: str, place: int) -> str:
    """A file name for a tensor, unique by its place."""
    return f"{place}-{_UNSAFE.sub('_', name)[:60]}"


@dataclass(frozen=True, slots=True)
class RandomInputs:
    """Uniform random values.

    Attributes:
        specs: The inputs, with shape and type.
        ranges: Input -> lowest and highest value, both included for whole numbers.
    """

    specs: Sequence[TensorSpec]
    count: int
    seed: int
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def sample(self, number: int) -> dict[str, Array]:
        return {one.name: self._values(one, number) for one in self.specs}

    def _values(self, spec: TensorSpec, number: int) -> Array:
        import numpy as np

        name = zlib.crc32(spec.name.encode("utf-8", errors="surrogateescape"))
        random = np.random.default_rng([self.seed, number, name])
        low, high = self.range_of(spec)
        shape = spec.shape or ()
        if spec.is_float:
            values: Array = np.asarray(random.uniform(low, high, shape))
        else:
            values = np.asarray(random.integers(int(low), int(high), shape, endpoint=True))
        return held(values, spec.dtype)

    def range_of(self, spec: TensorSpec) -> tuple[float, float]:
        """Lowest and highest value of an input."""
        return self.ranges.get(spec.name) or (FLOAT_RANGE if spec.is_float else WHOLE_RANGE)

    def document(self) -> dict[str, object]:
        ranges = {one.name: list(self.range_of(one)) for one in self.specs}
        return {"kind": "random", "samples": self.count, "seed": self.seed, "ranges": ranges}


@dataclass(frozen=True, slots=True)
class GivenInputs:
    """Inputs out of files.

    Attributes:
        files: Of each sample: input -> file, and the type its bytes have (None for that of the input).
        origin: What was named on the command line.
    """

    specs: Sequence[TensorSpec]
    files: Sequence[Mapping[str, tuple[Path, DataType | None]]]
    origin: str

    @property
    def count(self) -> int:
        return len(self.files)

    def sample(self, number: int) -> dict[str, Array]:
        files = self.files[number]
        return {one.name: held(_read(*files[one.name], one), one.dtype) for one in self.specs}

    def document(self) -> dict[str, object]:
        return {"kind": "files", "samples": self.count, "origin": self.origin}


def _read(path: Path, dtype: DataType | None, spec: TensorSpec) -> Array:
    shape = spec.shape or ()
    try:
        if path.suffix.lower() == ".npy":
            return _read_npy(path, spec)
        data = path.read_bytes()
    except OSError as error:
        raise TrexError(f"{path}: {error.strerror or error}") from None
    form = dtype or spec.dtype or DataType.FP32
    if dtype is None and form.is_float and len(data) == math.prod(shape) * 4:
        form = DataType.FP32  # the values of an FP32 engine, for one that takes less
    return from_bytes(data, form, shape, f"{path} for input {printable(spec.name)}")


def _read_npy(path: Path, spec: TensorSpec) -> Array:
    import numpy as np

    try:
        values: Array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise TrexError(f"{path}: no numpy array ({error})") from None
    what = f"{path} for input {printable(spec.name)}"
    if not isinstance(values, np.ndarray) or tuple(values.shape) != (spec.shape or ()):
        wanted = "x".join(map(str, spec.shape or ())) or "a scalar"
        found = "x".join(map(str, getattr(values, "shape", ()))) or "a scalar"
        raise TrexError(f"{what}: {found}, but the input is {wanted}; see --input-shape")
    if values.dtype.kind not in "fiub" or (values.dtype.kind == "f" and not spec.is_float):
        kind = spec.dtype.value if spec.dtype else "unknown"
        raise TrexError(f"{what}: holds {values.dtype}, but the input is {kind}")
    return values


def given_inputs(named: Sequence[str], specs: Sequence[TensorSpec], most: int | None) -> GivenInputs:
    """Understand `--load-inputs`: `name:file` for each input, or one directory of samples.

    A directory holds either one sample, or a directory for each, in the order of their names. Files are called as the input,
    with `.bin`, `.raw` or `.dat` for bare elements or `.npy`; or a `sample.json` says which file is which, as the samples
    that this program keeps have it.

    Args:
        most: Use only so many.

    Raises:
        TrexError: Something is not there, or not understood.
    """
    if len(named) == 1 and Path(named[0]).is_dir():
        return GivenInputs(specs, _of_directory(Path(named[0]), specs, most), named[0])
    files: dict[str, tuple[Path, DataType | None]] = {}
    known = {one.name for one in specs}
    for text in named:
        name = next((one for one in sorted(known, key=len, reverse=True) if text.startswith(f"{one}:")), None)
        if name is None:
            what = "is no directory" if ":" not in text else "names no input"
            raise TrexError(f"--load-inputs {printable(text)!r} {what}; inputs are {_names(known)}")
        files[name] = (Path(text[len(name) + 1 :]), None)
    if lacking := known - files.keys():
        raise TrexError(f"--load-inputs: no file for input {_names(lacking)}")
    if most not in (None, 1):
        raise TrexError(f"--inputs {most}: the files named are one sample; a directory can hold several")
    return GivenInputs(specs, [files], ", ".join(named))


def _names(names: set[str]) -> str:
    return ", ".join(map(printable, sorted(names)))


def _of_directory(
    root: Path, specs: Sequence[TensorSpec], most: int | None
) -> list[Mapping[str, tuple[Path, DataType | None]]]:
    if (root / "samples").is_dir():  # a result of ours
        root = root / "samples"
    try:
        folders = sorted(one for one in root.iterdir() if one.is_dir() and not one.name.startswith("."))
    except OSError as error:
        raise TrexError(f"--load-inputs {root}: {error.strerror or error}") from None
    if (root / "sample.json").is_file() or any(_file_of(root, one) for one in specs):
        folders = [root]
    if not folders:
        raise TrexError(f"--load-inputs {root}: neither files called as the inputs nor directories of them")
    if most is not None and most > len(folders):
        raise TrexError(f"--inputs {most}: {root} has {len(folders)} samples")
    return [_of_folder(folder, specs) for folder in folders[:most]]


def _of_folder(folder: Path, specs: Sequence[TensorSpec]) -> Mapping[str, tuple[Path, DataType | None]]:
    described = _described(folder)
    files = {}
    for one in specs:
        found = described.get(one.name) or ((path, None) if (path := _file_of(folder, one)) else None)
        if found is None:
            raise TrexError(
                f"{folder}: no file for input {printable(one.name)} (such as {printable(one.name)}.bin)"
            )
        files[one.name] = found
    return files


def _file_of(folder: Path, spec: TensorSpec) -> Path | None:
    for name in (spec.name, _UNSAFE.sub("_", spec.name)):
        for ending in (*_RAW, ".npy"):
            if "/" not in name and "\0" not in name and (path := folder / f"{name}{ending}").is_file():
                return path
    return None


def _described(folder: Path) -> dict[str, tuple[Path, DataType | None]]:
    """What `sample.json` says of the inputs; empty without one."""
    path = folder / "sample.json"
    if not path.is_file():
        return {}
    try:
        root = json.loads(path.read_text(encoding="utf-8"))
        entries = [(one["name"], one["file"], one.get("dtype")) for one in root["inputs"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise TrexError(f"{path}: does not describe a sample") from None
    found = {}
    for name, file, dtype in entries:
        # Never outside of the sample's own directory.
        inside = (folder / str(file)).resolve()
        if not inside.is_relative_to(folder.resolve()):
            raise TrexError(f"{path}: {printable(str(file))} lies outside of {folder}")
        found[str(name)] = (inside, parse_data_type(str(dtype)) if dtype else None)
    return found
