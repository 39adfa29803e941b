"""What a comparison leaves: `output_diff.json`, `per_sample_diff.json`, and the samples themselves.

Everything is written into a directory beside the target, which is moved there whole at the end: an interrupted comparison
leaves nothing, and never half of a result.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from trex_tui.accuracy.samples import safe_name
from trex_tui.accuracy.tensors import TensorSpec, to_bytes
from trex_tui.artifacts.accuracy import OUTPUT_DIFF, PER_SAMPLE_DIFF
from trex_tui.artifacts.output_files import refusal
from trex_tui.errors import TrexError

if TYPE_CHECKING:
    from trex_tui.accuracy.tensors import Array

SAMPLE_SCHEMA = "trex-tui/accuracy-sample/1"


class Keeper:
    """A directory on its way to its place.

    Args:
        outdir: Where the result is to lie; None keeps nothing.
        force: Replace a result that lies there.

    Raises:
        TrexError: Something else lies there.
    """

    def __init__(self, outdir: Path | None, *, force: bool) -> None:
        self.outdir = outdir
        self.path: Path | None = None
        if outdir is None or not outdir.exists():
            return
        if not outdir.is_dir():
            raise TrexError(f"--outdir: {outdir} is no directory")
        is_ours = (outdir / OUTPUT_DIFF).is_file()
        if is_ours and not force:
            raise refusal(outdir)
        if any(outdir.iterdir()) and not is_ours:
            raise TrexError(f"--outdir: {outdir} is not empty and holds no result that --force could replace")

    def __enter__(self) -> Keeper:
        if self.outdir is not None:
            try:
                self.outdir.parent.mkdir(parents=True, exist_ok=True)
                made = tempfile.mkdtemp(prefix=f".{self.outdir.name}.", dir=self.outdir.parent)
            except OSError as error:
                raise TrexError(f"{self.outdir} cannot be made: {error.strerror or error}") from None
            self.path = Path(made)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.path is not None:
            shutil.rmtree(self.path, ignore_errors=True)

    def keep_sample(
        self,
        number: int,
        inputs: Mapping[str, tuple[Array, TensorSpec]],
        outputs: Mapping[str, Mapping[str, Array]],
    ) -> str | None:
        """Keep inputs and outputs of a sample; return its directory inside the result.

        Args:
            outputs: Side (`reference`, `test`) -> output -> values.
        """
        if self.path is None:
            return None
        inside = Path("samples", f"{number:06}")
        folder = self.path / inside
        folder.mkdir(parents=True)
        entries = []
        for place, (name, (values, spec)) in enumerate(inputs.items()):
            assert spec.dtype is not None
            file = f"input-{safe_name(name, place)}.bin"
            (folder / file).write_bytes(to_bytes(values, spec.dtype))
            entries.append(_entry(name, file, spec.dtype.value, values))
        document: dict[str, Any] = {"schema": SAMPLE_SCHEMA, "sample": number, "inputs": entries}
        for side, tensors in outputs.items():
            document[side] = []
            for place, (name, values) in enumerate(tensors.items()):
                file = f"{side}-{safe_name(name, place)}.bin"
                (folder / file).write_bytes(values.tobytes())
                document[side].append(_entry(name, file, str(values.dtype), values))
        write_json(folder / "sample.json", document)
        return str(inside)

    def commit(self, difference: Mapping[str, Any], per_sample: Mapping[str, Any]) -> None:
        """Write the documents and move the result into place.

        Raises:
            TrexError: It cannot be written; what lay there before is as it was.
        """
        if self.path is None or self.outdir is None:
            return
        try:
            write_json(self.path / OUTPUT_DIFF, difference)
            write_json(self.path / PER_SAMPLE_DIFF, per_sample)
            self.path.chmod(0o777 & ~_umask())
            aside = self.path.with_name(f"{self.path.name}.old")
            if self.outdir.exists():
                self.outdir.rename(aside)
            try:
                self.path.rename(self.outdir)
            except OSError:
                with contextlib.suppress(OSError):
                    aside.rename(self.outdir)
                raise
        except OSError as error:
            raise TrexError(f"{self.outdir} cannot be written: {error.strerror or error}") from None
        shutil.rmtree(aside, ignore_errors=True)
        self.path = None


def _entry(name: str, file: str, dtype: str, values: Array) -> dict[str, Any]:
    return {"name": name, "file": file, "dtype": dtype, "shape": list(values.shape)}


def _umask() -> int:
    """What `mkdtemp` disregards; there is no way to ask but to set it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_json(path: Path, document: object) -> None:
    """Write one JSON value, never NaN.

    Raises:
        OSError: It cannot be written.
    """
    path.write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")
