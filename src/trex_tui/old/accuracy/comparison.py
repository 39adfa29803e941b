"""Run a comparison: probe both sides, feed both the same inputs, accumulate the differences.

It writes `output_diff.json`, `per_sample_diff.json` and the samples themselves. Everything is written into a directory beside
the target, which is moved there as a whole at the end: an interrupted comparison leaves nothing.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui.old.accuracy.metrics import Sums, class_axis, compare, judge_gates, measures
from trex_tui.old.accuracy.sides import PRINTED_DIGITS, EngineSide, InterruptedRunError, OnnxSide, RunOptions
from trex_tui.old.accuracy.tensors import (
    GivenInputs,
    RandomInputs,
    Signature,
    TensorSpec,
    differences,
    given_inputs,
    held,
    narrower,
    safe_name,
    to_bytes,
)
from trex_tui.old.analysis.gates import Gate, GateResult
from trex_tui.old.artifacts.file_kinds import OUTPUT_DIFF, PER_SAMPLE_DIFF
from trex_tui.old.artifacts.output_files import Inputs, refusal
from trex_tui.old.capture.manifest import file_entry
from trex_tui.old.capture.process import Stop
from trex_tui.old.capture.staging import StagedDirectory
from trex_tui.old.capture.trtexec import Trtexec
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.errors import TrexError, describe_reason
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import printable

if TYPE_CHECKING:
    from trex_tui.old.accuracy.tensors import Array

SAMPLE_SCHEMA = "trex-tui/accuracy-sample/1"


class Keeper:
    """Directory of a result until it is complete; a context manager.

    Args:
        outdir: Directory of the result; None keeps nothing.
        force: Replace an existing result.

    Raises:
        TrexError: The directory has other content.
    """

    def __init__(self, outdir: Path | None, *, force: bool) -> None:
        self._staged = None if outdir is None else StagedDirectory(outdir)
        if outdir is None or not outdir.exists():
            return
        if not outdir.is_dir():
            raise TrexError(f"--outdir: {outdir} is not a directory; name a directory")
        is_ours = (outdir / OUTPUT_DIFF).is_file()
        if is_ours and not force:
            raise refusal(outdir)
        if any(outdir.iterdir()) and not is_ours:
            raise TrexError(
                f"--outdir: {outdir} is not empty and has no result that --force could replace; name another directory"
            )

    def __enter__(self) -> Keeper:
        if self._staged is not None:
            self._staged.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self._staged is not None:
            self._staged.__exit__(*error)

    def keep_sample(
        self,
        number: int,
        inputs: Mapping[str, tuple[Array, TensorSpec]],
        outputs: Mapping[str, Mapping[str, Array]],
    ) -> str | None:
        """Write inputs and outputs of a sample; return its directory inside the result.

        Args:
            outputs: Side (`reference`, `test`) -> output -> values.
        """
        if self._staged is None:
            return None
        inside = Path("samples", f"{number:06}")
        folder = self._staged.path / inside
        folder.mkdir(parents=True)
        entries = []
        for index, (name, (values, spec)) in enumerate(inputs.items()):
            assert spec.dtype is not None
            file = f"input-{safe_name(name, index)}.bin"
            (folder / file).write_bytes(to_bytes(values, spec.dtype))
            entries.append(_entry(name, file, spec.dtype.value, values))
        document: dict[str, Any] = {"schema": SAMPLE_SCHEMA, "sample": number, "inputs": entries}
        for side, tensors in outputs.items():
            document[side] = []
            for index, (name, values) in enumerate(tensors.items()):
                file = f"{side}-{safe_name(name, index)}.bin"
                (folder / file).write_bytes(values.tobytes())
                document[side].append(_entry(name, file, str(values.dtype), values))
        write_json(folder / "sample.json", document)
        return str(inside)

    def commit(self, difference: Mapping[str, Any], per_sample: Mapping[str, Any]) -> None:
        """Write the documents and move the result into place.

        Raises:
            TrexError: It cannot be written; the previous content is unchanged.
        """
        if self._staged is None:
            return
        try:
            write_json(self._staged.path / OUTPUT_DIFF, difference)
            write_json(self._staged.path / PER_SAMPLE_DIFF, per_sample)
            self._staged.commit()
        except OSError as error:
            raise TrexError(f"{self._staged.target} cannot be written: {describe_reason(error)}") from None


def _entry(name: str, file: str, dtype: str, values: Array) -> dict[str, Any]:
    return {"name": name, "file": file, "dtype": dtype, "shape": list(values.shape)}


def write_json(path: Path, document: object) -> None:
    """Write one JSON value, never NaN.

    Raises:
        OSError: It cannot be written.
    """
    path.write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")


SCHEMA, SAMPLES_SCHEMA = "trex-tui/accuracy/1", "trex-tui/accuracy-samples/1"
REFERENCE, TEST = "reference", "test"
_UNUSABLE = frozenset(",:'")


@dataclass(frozen=True, slots=True)
class AccuracyRequest:
    """A comparison to run.

    Attributes:
        reference, test: Engines, or ONNX models by their suffix.
        run: Options of trtexec for an engine.
        samples: Number of samples; None for all that are given, or one.
        load_inputs: Values of `--load-inputs`; empty for random inputs.
        ranges: Ranges of random inputs.
        outputs: Outputs to compare; empty for all.
        argmax_axis: None to choose by the shape.
        gates: Gates for the outputs.
        tolerance: rtol and atol; a gate only if given.
        outdir: Directory of the result; None keeps nothing.
    """

    reference: Path
    test: Path
    run: RunOptions
    samples: int | None = None
    seed: int = 0
    load_inputs: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    argmax_axis: int | None = None
    tolerance: tuple[float, float] | None = None
    gates: tuple[Gate, ...] = ()
    outdir: Path | None = None
    force: bool = False


Observer = Callable[[str, int, int], None]
"""Callback: next step, steps done, steps in total."""


@dataclass(frozen=True, slots=True)
class AccuracyRun:
    """Result of a comparison: its document, and the results of the gates."""

    difference: dict[str, Any]
    gates: tuple[GateResult, ...]


def is_onnx(path: Path) -> bool:
    """Return whether a side is an ONNX model, by its suffix."""
    return path.suffix.lower() == ".onnx"


def run_comparison(
    request: AccuracyRequest, trtexec: Trtexec | None, stop: Stop, view: Observer
) -> AccuracyRun:
    """Run a comparison.

    Args:
        trtexec: None if no side is an engine.

    Raises:
        TrexError: The sides cannot be compared, a run fails or is interrupted, or the result cannot be written.
    """
    keeper = Keeper(request.outdir, force=request.force)
    if request.outdir is not None:
        _inputs(request).check_directory(request.outdir)
    with (
        keeper,
        tempfile.TemporaryDirectory(prefix="trex-tui-accuracy-") as directory,
    ):
        if _UNUSABLE & set(directory):
            raise TrexError(
                f"{directory}: trtexec cannot load files from it; set TMPDIR to a path without , : and '"
            )
        return _Comparison(request, trtexec, stop, view, keeper, Path(directory)).do()


def _inputs(request: AccuracyRequest) -> Inputs:
    """Return engines, models, and possible files of `--load-inputs name:file`, whose name may contain colons too."""
    given = [
        text.split(":", number)[number]
        for text in request.load_inputs
        for number in range(text.count(":") + 1)
    ]
    return Inputs([request.reference, request.test, *filter(None, given)])


class _Comparison:
    def __init__(
        self,
        request: AccuracyRequest,
        trtexec: Trtexec | None,
        stop: Stop,
        view: Observer,
        keeper: Keeper,
        directory: Path,
    ) -> None:
        self.request = request
        self.stop = stop
        self.view = view
        self.keeper = keeper
        self.notes: list[str] = []
        self.files = {name: self._file(path) for name, path in self._paths()}
        self.sides = {name: self._side(name, path, trtexec, directory) for name, path in self._paths()}

    def _paths(self) -> tuple[tuple[str, Path], ...]:
        return (REFERENCE, self.request.reference), (TEST, self.request.test)

    def _file(self, path: Path) -> dict[str, Any]:
        try:
            return file_entry(path)
        except OSError as error:
            raise TrexError(f"{path}: {describe_reason(error)}") from None

    def _side(self, name: str, path: Path, trtexec: Trtexec | None, directory: Path) -> EngineSide | OnnxSide:
        if is_onnx(path):
            return OnnxSide(path, self.request.run.shapes)
        assert trtexec is not None
        return EngineSide(path.absolute(), trtexec, self.request.run, directory / name, self.stop)

    def do(self) -> AccuracyRun:
        signatures = {}
        for index, (name, side) in enumerate(self.sides.items()):
            self.view(f"asking the {name} what it takes", index, len(self.sides))
            signatures[name] = side.probe()
        problems, notes = differences(signatures[REFERENCE], signatures[TEST], self.request.outputs)
        if problems:
            raise TrexError("not comparable: " + "; ".join(problems))
        for side in self.sides.values():
            if isinstance(side, EngineSide):
                side.check_inputs()
        self.notes += notes
        specs = self._inputs(signatures)
        source = self._source(specs)
        outputs = {
            name: tuple(
                output
                for output in signature.outputs
                if not self.request.outputs or output.name in self.request.outputs
            )
            for name, signature in signatures.items()
        }
        totals, rows = self._samples(source, specs, outputs)
        return self._finish(signatures, specs, source, totals, rows)

    def _inputs(self, signatures: Mapping[str, Signature]) -> tuple[TensorSpec, ...]:
        """Return the inputs for both sides: with the narrower type, and the shape of the side that knows it."""
        other = {spec.name: spec for spec in signatures[TEST].inputs}
        specs = []
        for mine in signatures[REFERENCE].inputs:
            theirs = other[mine.name]
            types = [dtype for dtype in (mine.dtype, theirs.dtype) if dtype is not None]
            dtype = narrower(types[0], types[-1]) if types else DataType.FP32
            known = [
                shape
                for shape in (mine.shape, theirs.shape)
                if shape is not None and all(n >= 0 for n in shape)
            ]
            if not known:
                raise TrexError(
                    f"input {printable(mine.name)} has dynamic shapes; add, for example, --input-shape "
                    f"{printable(mine.name)}:1x3x224x224"
                )
            specs.append(TensorSpec(mine.name, known[0], dtype))
        unknown = set(self.request.run.shapes) - {spec.name for spec in specs}
        if unknown:
            raise TrexError(f"--input-shape: unknown input {', '.join(map(printable, sorted(unknown)))}")
        return tuple(specs)

    def _source(self, specs: Sequence[TensorSpec]) -> RandomInputs | GivenInputs:
        request = self.request
        if request.load_inputs:
            return given_inputs(request.load_inputs, specs, request.samples)
        if unknown := set(request.ranges) - {spec.name for spec in specs}:
            raise TrexError(f"--range: unknown input {', '.join(map(printable, sorted(unknown)))}")
        whole = [spec.name for spec in specs if not spec.is_float and spec.name not in request.ranges]
        if whole:
            self.notes.append(
                f"integer inputs get only 0 and 1: {', '.join(map(printable, whole))}; set --range for more"
            )
        return RandomInputs(specs, request.samples or 1, request.seed, request.ranges)

    def _samples(
        self,
        source: RandomInputs | GivenInputs,
        specs: Sequence[TensorSpec],
        outputs: Mapping[str, tuple[TensorSpec, ...]],
    ) -> tuple[dict[str, Sums], list[dict[str, Any]]]:
        totals = {output.name: Sums() for output in outputs[REFERENCE]}
        rows = []
        for number in range(source.count):
            inputs = source.sample(number)
            arrays: dict[str, dict[str, Array]] = {}
            for index, (name, side) in enumerate(self.sides.items()):
                if self.stop.times:
                    raise InterruptedRunError("interrupted")
                step = f"sample {number + 1} of {source.count}: {name}"
                self.view(step, number * 2 + index, source.count * 2)
                arrays[name] = side.run(inputs, outputs[name])
            sums = {name: self._compare(number, name, arrays) for name in totals}
            totals = {name: totals[name] + added for name, added in sums.items()}
            kept = self.keeper.keep_sample(
                number, {spec.name: (held(inputs[spec.name], spec.dtype), spec) for spec in specs}, arrays
            )
            tensors = [{"name": name, **measures(total)} for name, total in sums.items()]
            rows.append({"sample": number, "directory": kept, "outputs": tensors})
        return totals, rows

    def _compare(self, number: int, name: str, outputs: Mapping[str, Mapping[str, Array]]) -> Sums:
        left, right = (outputs[side].get(name) for side in (REFERENCE, TEST))
        what = f"sample {number + 1}: output {printable(name)}"
        if left is None or right is None:
            side = REFERENCE if left is None else TEST
            raise TrexError(f"{what}: missing in the {side}; compare engines of one model")
        if left.shape != right.shape:
            shapes = " and ".join("x".join(map(str, array.shape)) or "scalar" for array in (left, right))
            raise TrexError(f"{what}: shapes differ, {shapes}")
        rtol, atol = self.request.tolerance or (0.0, 0.0)
        return compare(left, right, rtol=rtol, atol=atol, axis=self._axis(left))

    def _axis(self, values: Array) -> int | None:
        if values.dtype.kind != "f":
            return None  # labels already
        wanted = self.request.argmax_axis
        if wanted is None:
            return class_axis(values.shape)
        return wanted % values.ndim if -values.ndim <= wanted < values.ndim else None

    def _finish(
        self,
        signatures: Mapping[str, Signature],
        specs: Sequence[TensorSpec],
        source: RandomInputs | GivenInputs,
        totals: Mapping[str, Sums],
        rows: list[dict[str, Any]],
    ) -> AccuracyRun:
        outputs = [self._output(name, sums, signatures) for name, sums in totals.items()]
        gates = judge_gates(self.request.gates, self.request.tolerance, outputs)
        if any(side.kind == "engine" for side in self.sides.values()):
            self.notes.append(
                f"trtexec prints outputs with {PRINTED_DIGITS} significant digits: relative differences "
                "below 5e-6 are not visible"
            )
        rtol, atol = self.request.tolerance or (None, None)
        sides = {name: self._document(name, signatures[name]) for name in self.sides}
        difference = {
            "schema": SCHEMA,
            **sides,
            "inputs": {
                **source.document(),
                "tensors": [_tensor(spec, signatures) for spec in specs],
            },
            "settings": {
                "rtol": rtol,
                "atol": atol,
                "argmax_axis": self.request.argmax_axis,
                "profile_index": self.request.run.profile_index,
            },
            "outputs": outputs,
            "gates": [
                {
                    "gate": result.gate.text,
                    "output": result.subject,
                    "fell": result.fell,
                    "value": result.value,
                    "why": result.why,
                }
                for result in gates
            ],
            "passed": not any(gate.fell for gate in gates) if gates else None,
            "notes": list(self.notes),
        }
        per_sample = {"schema": SAMPLES_SCHEMA, **sides, "samples": rows}
        self.keeper.commit(difference, per_sample)
        return AccuracyRun(difference, tuple(gates))

    def _output(self, name: str, sums: Sums, signatures: Mapping[str, Signature]) -> dict[str, Any]:
        types = {
            f"dtype_{side}": next((output.dtype for output in signature.outputs if output.name == name), None)
            for side, signature in signatures.items()
        }
        return {
            "name": name,
            **{key: dtype.value if dtype else None for key, dtype in types.items()},
            **measures(sums),
        }

    def _document(self, name: str, signature: Signature) -> dict[str, Any]:
        side = self.sides[name]
        return {
            "kind": side.kind,
            "path": str(dict(self._paths())[name]),
            **self.files[name],
            "tensorrt_version": signature.tensorrt_version,
            **side.document(),
        }


def _tensor(spec: TensorSpec, signatures: Mapping[str, Signature]) -> dict[str, Any]:
    types = {
        f"dtype_{side}": next((tensor.dtype for tensor in signature.inputs if tensor.name == spec.name), None)
        for side, signature in signatures.items()
    }
    return {
        "name": spec.name,
        "shape": list(spec.shape or ()),
        "dtype": spec.dtype.value if spec.dtype else None,
        **{key: dtype.value if dtype else None for key, dtype in types.items()},
    }
