"""Run both sides of a comparison on the same inputs: an engine through trtexec, an ONNX model through onnxruntime.

For an engine, a first run with trtexec's own random inputs determines names, shapes and types: the log of 8.6 and later
prints all of them, the layer information of the same run supplies them for older versions. Then each sample is a run, with
`--loadInputs` and `--exportOutput`.

`--exportOutput` writes a JSON list of `{"name", "dimensions": "4x10", "values": […]}`. It is parsed by its fixed structure,
because it may be invalid JSON: names are not escaped, `nan` and `inf` are printed bare, and for an output whose shape depends
on the data a sentence with its final shape is among the values. Numbers have six significant digits, the default of C++
streams.
"""

from __future__ import annotations

import math
import re
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trex_tui.accuracy.tensors import (
    Samples,
    Signature,
    TensorSpec,
    agree,
    find_files,
    format_shape,
    has_numpy_type,
    hold,
    to_bytes,
)
from trex_tui.analysis.gates import Gate, GateResult
from trex_tui.analysis.outputs import Array, Sums, add_sums, compare, judge_outputs, measure
from trex_tui.artifacts.layer_info import read_layer_info
from trex_tui.artifacts.open import COPY_AGAIN, read_text
from trex_tui.buildlog.reader import read_log
from trex_tui.capture.machine import Machine, run_trtexec
from trex_tui.capture.plan import PROFILE, RunPlan, describe_refusal
from trex_tui.capture.process import Stop
from trex_tui.capture.staging import describe_file
from trex_tui.capture.trtexec import Trtexec, flag_table
from trex_tui.capture.verdict import RunVerdict
from trex_tui.engine.dtypes import DataType, parse_data_type, parse_format
from trex_tui.errors import ArtifactError, ExitCode, TrexError, describe_os_error
from trex_tui.text import printable

REFERENCE, TEST = "reference", "test"
_PRINTED_DIGITS = 6
_HEAD = re.compile(
    r'\{ "name" : "(?P<name>.*)"\r?\n\s*, "dimensions" : "(?P<dims>[^"\n]*)"\r?\n\s*, "values" : \[ '
)
_FINAL_SHAPE = re.compile(r"\s*Final shape is (?P<dims>\S*) reported by the output allocator\.\s*")
_END = re.compile(r"\s\]\r?\n\s*\}")
_FED = re.compile(
    r"\[I\] Using (?:random )?values (?:loaded from .+ )?for input (?P<name>.+?)\s*$", re.MULTILINE
)
_MISREAD = frozenset(",'")
"""Characters that trtexec's `name:value,…` cannot contain, even in quotes."""
_UNUSABLE = frozenset(",:'")
_QUIET = 3  # onnxruntime's level of errors
_LONGEST = 600

Shapes = Mapping[str, tuple[int, ...]]


class InterruptedRunError(TrexError):
    """A run was interrupted."""


class TrtexecFailedError(TrexError):
    """A run of trtexec failed.

    Attributes:
        last: The end of its output.
    """

    exit_code = ExitCode.TRTEXEC_FAILED

    def __init__(self, path: Path, verdict: RunVerdict, last: Sequence[str]) -> None:
        super().__init__(f"{path}: {verdict}")
        self.last = last


@dataclass(frozen=True, slots=True)
class AccuracyRequest:
    """A comparison to run.

    Attributes:
        reference, test: Engines, or ONNX models by their suffix.
        shapes: Of dynamic inputs.
        samples: Number of samples; None for all that are given, or one.
        load_inputs: Value of `--load-inputs`; empty for random inputs.
        ranges: Ranges of random inputs.
        passthrough: Arguments for trtexec.
        timeout_s: Longest duration of a run; None is unlimited.
    """

    reference: Path
    test: Path
    shapes: Shapes = field(default_factory=dict)
    samples: int | None = None
    seed: int = 0
    load_inputs: str = ""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    gates: Sequence[Gate] = ()
    passthrough: Sequence[str] = ()
    timeout_s: float | None = None

    @property
    def needs_trtexec(self) -> bool:
        return not (is_onnx(self.reference) and is_onnx(self.test))


def is_onnx(path: Path) -> bool:
    """Return whether a side is an ONNX model, by its suffix."""
    return path.suffix.lower() == ".onnx"


def compare_outputs(
    request: AccuracyRequest,
    trtexec: Trtexec | None,
    stop: Stop,
    observe: Callable[[str, int, int], None] = lambda *_: None,
) -> tuple[dict[str, Any], list[GateResult]]:
    """Run a comparison; return the content of its file, and the results of the gates.

    Args:
        trtexec: None if no side is an engine.
        observe: Receives the next step, the steps done, and their total.

    Raises:
        TrexError: The sides cannot be compared, or a run fails or is interrupted.
    """
    with tempfile.TemporaryDirectory(prefix="trex-tui-accuracy-") as directory:
        if _UNUSABLE & set(directory):
            raise TrexError(
                f"{directory}: trtexec cannot load files from it; set TMPDIR to a path without , : and '"
            )
        paths = {REFERENCE: request.reference, TEST: request.test}
        entries = {name: _describe(path) for name, path in paths.items()}
        sides: dict[str, EngineSide | OnnxSide] = {}
        for name, path in paths.items():
            if is_onnx(path):
                sides[name] = OnnxSide(path, request.shapes)
            else:
                assert trtexec is not None
                sides[name] = EngineSide(path.absolute(), trtexec, request, Path(directory, name), stop)
        signatures = {}
        for index, (name, side) in enumerate(sides.items()):
            observe(f"asking the {name} what it takes", index, len(sides))
            signatures[name] = side.probe()
        notes = check_signatures(signatures[REFERENCE], signatures[TEST])
        for side in sides.values():
            if isinstance(side, EngineSide):
                side.check_inputs()
        samples = _make_samples(request, _merge_inputs(request, signatures), notes)
        totals, rows = _run_samples(samples, sides, stop, observe)
    if request.needs_trtexec:
        notes.append(
            f"trtexec prints outputs with {_PRINTED_DIGITS} significant digits: smaller relative differences are not visible"
        )
    outputs: list[dict[str, Any]] = []
    for name, sums in totals.items():
        types = {f"dtype_{side}": _find_type(known.outputs, name) for side, known in signatures.items()}
        outputs.append({"name": name, **types, **measure(sums)})
    gates = judge_outputs(request.gates, outputs)
    document: dict[str, Any] = {
        name: {
            "kind": side.kind,
            "path": str(paths[name]),
            **entries[name],
            "tensorrt_version": signatures[name].tensorrt_version,
            **side.document(),
        }
        for name, side in sides.items()
    }
    tensors = [
        {
            "name": spec.name,
            "shape": list(spec.shape or ()),
            "dtype": spec.dtype.value if spec.dtype else None,
        }
        for spec in samples.specs
    ]
    document["inputs"] = {**samples.document(), "tensors": tensors}
    document |= {"outputs": outputs, "samples": rows, "gates": [_describe_gate(gate) for gate in gates]}
    return {**document, "notes": notes}, gates


def _describe_gate(result: GateResult) -> dict[str, Any]:
    return {
        "gate": result.gate.text,
        "output": result.subject,
        "fell": result.is_met,
        "value": result.value,
        "why": result.note,
    }


def _describe(path: Path) -> dict[str, Any]:
    try:
        return describe_file(path)
    except OSError as error:
        raise TrexError(f"{path} {describe_os_error(error)}") from None


def _find_type(specs: Sequence[TensorSpec], name: str) -> str | None:
    dtype = next((spec.dtype for spec in specs if spec.name == name), None)
    return dtype.value if dtype else None


# What both take


def check_signatures(reference: Signature, test: Signature) -> list[str]:
    """Return notes about inputs and outputs that differ.

    Raises:
        TrexError: The two cannot be compared.
    """
    problems: list[str] = []
    notes: list[str] = []
    for noun, left, right in (
        ("input", reference.inputs, test.inputs),
        ("output", reference.outputs, test.outputs),
    ):
        mine, theirs = {spec.name: spec for spec in left}, {spec.name: spec for spec in right}
        for who, lacking in (
            ("the test", mine.keys() - theirs.keys()),
            ("the reference", theirs.keys() - mine.keys()),
        ):
            if lacking:
                problems.append(f"{who} has no {noun} called {', '.join(map(printable, sorted(lacking)))}")
        for name in (name for name in mine if name in theirs):
            _check_pair(noun, mine[name], theirs[name], problems, notes)
    if problems:
        raise TrexError(f"not comparable: {'; '.join(problems)}; compare engines of one model")
    return notes


def _check_pair(
    noun: str, mine: TensorSpec, other: TensorSpec, problems: list[str], notes: list[str]
) -> None:
    what = f"{noun} {printable(mine.name)}"
    if not agree(mine.shape, other.shape):
        shapes = f"{format_shape(mine.shape)} in the reference, {format_shape(other.shape)} in the test"
        problems.append(f"{what}: {shapes}")
    if mine.dtype is None or other.dtype is None or mine.dtype is other.dtype:
        return
    types = f"{mine.dtype.value} in the reference, {other.dtype.value} in the test"
    if mine.is_float != other.is_float or DataType.BOOL in (mine.dtype, other.dtype):
        problems.append(f"{what}: {types}")
    elif noun == "input":
        narrow = min(mine.dtype, other.dtype, key=lambda dtype: dtype.bits)
        notes.append(f"{what}: {types}; both get values that {narrow.value} can hold")
    else:
        notes.append(f"{what}: {types}")


def _merge_inputs(request: AccuracyRequest, signatures: Mapping[str, Signature]) -> list[TensorSpec]:
    """Return the inputs for both sides: with the narrower type, and the shape of the side that knows it."""
    theirs = {spec.name: spec for spec in signatures[TEST].inputs}
    specs = []
    for mine in signatures[REFERENCE].inputs:
        both = (mine, theirs[mine.name])
        types = [spec.dtype for spec in both if spec.dtype is not None]
        known = [spec.shape for spec in both if spec.shape is not None and min(spec.shape, default=0) >= 0]
        if not known:
            name = printable(mine.name)
            raise TrexError(f"input {name} has dynamic shapes; add, for example, --shapes {name}:1x3x224x224")
        dtype = min(types, key=lambda dtype: dtype.bits, default=DataType.FP32)
        specs.append(TensorSpec(mine.name, known[0], dtype))
    names = {spec.name for spec in specs}
    for option, given in (("--shapes", request.shapes), ("--range", request.ranges)):
        if unknown := given.keys() - names:
            shown = ", ".join(map(printable, sorted(unknown)))
            raise TrexError(
                f"{option}: no input {shown}; there are {', '.join(map(printable, sorted(names)))}"
            )
    return specs


def _make_samples(request: AccuracyRequest, specs: Sequence[TensorSpec], notes: list[str]) -> Samples:
    if request.load_inputs:
        files = find_files(request.load_inputs, specs, request.samples)
        return Samples(specs, len(files), request.seed, {}, files, request.load_inputs)
    whole = [printable(spec.name) for spec in specs if not spec.is_float and spec.name not in request.ranges]
    if whole:
        notes.append(f"integer inputs get only 0 and 1: {', '.join(whole)}; set --range for more")
    return Samples(specs, request.samples or 1, request.seed, request.ranges)


def _run_samples(
    samples: Samples,
    sides: Mapping[str, EngineSide | OnnxSide],
    stop: Stop,
    observe: Callable[[str, int, int], None],
) -> tuple[dict[str, Sums], list[dict[str, Any]]]:
    """Return the sums of each output, and the measures of each sample."""
    totals: dict[str, Sums] = {}
    rows = []
    for number in range(samples.count):
        inputs = samples.take(number)
        arrays = {}
        for index, (name, side) in enumerate(sides.items()):
            if stop.times:
                raise InterruptedRunError("interrupted")
            observe(f"sample {number + 1} of {samples.count}: {name}", number * 2 + index, samples.count * 2)
            arrays[name] = side.run(inputs)
        sums = {name: _compare_output(number, name, arrays) for name in {**arrays[REFERENCE], **arrays[TEST]}}
        totals = {name: add_sums(totals.get(name, {}), added) for name, added in sums.items()}
        rows.append(
            {"sample": number, "outputs": [{"name": name, **measure(one)} for name, one in sums.items()]}
        )
    return totals, rows


def _compare_output(number: int, name: str, arrays: Mapping[str, Mapping[str, Array]]) -> Sums:
    left, right = (arrays[side].get(name) for side in (REFERENCE, TEST))
    what = f"sample {number + 1}: output {printable(name)}"
    if left is None or right is None:
        side = REFERENCE if left is None else TEST
        raise TrexError(f"{what}: missing in the {side}; compare engines of one model")
    if left.shape != right.shape:
        shapes = " and ".join(format_shape(array.shape) for array in (left, right))
        raise TrexError(f"{what}: shapes differ, {shapes}; compare engines of one model")
    return compare(left, right)


def _check_shape(path: Path, spec: TensorSpec, asked: tuple[int, ...] | None) -> None:
    """Check that an input can have a shape of `--shapes`.

    trtexec reports nothing for an input that is not dynamic: it uses the shape of the engine, and reads only the first half
    of a file with twice the bytes (sampleInference.cpp, sampleUtils.cpp).
    """
    if asked is None or agree(spec.shape, asked):
        return
    fixed = "" if min(spec.shape or (0,)) < 0 else ", which is fixed"
    raise TrexError(
        f"{path}: --shapes {printable(spec.name)}:{format_shape(asked)} does not match the input "
        f"{format_shape(spec.shape)}{fixed}"
    )


# Engines


class EngineSide:
    """An engine, through trtexec.

    Raises:
        TrexError: This trtexec does not know an option.
    """

    kind = "engine"

    def __init__(
        self, path: Path, trtexec: Trtexec, request: AccuracyRequest, directory: Path, stop: Stop
    ) -> None:
        self.path, self.trtexec, self.request = path, trtexec, request
        self.directory, self.stop = directory, stop
        for argument in request.passthrough:
            flag = argument.partition("=")[0]
            if flag in flag_table().known_in and not trtexec.knows(flag):
                raise TrexError(describe_refusal(flag, flag, trtexec))
        # One inference is enough: the outputs of the last are exported. Without copies there are none: 11 omits them.
        self._common = [f"--loadEngine={path}", "--iterations=1", "--warmUp=0", "--duration=0"]
        if request.shapes:
            self._common.append(f"--shapes={_format_shapes(request.shapes)}")
        self._common += [flag for flag in ("--includeDataTransfers", "--noCudaGraph") if trtexec.knows(flag)]
        self._common += request.passthrough
        self._types: dict[str, DataType | None] = {}
        self._inputs: tuple[TensorSpec, ...] = ()
        directory.mkdir(parents=True)

    def probe(self) -> Signature:
        graph = self.directory / "graph.json"
        log, exported = self._run([f"--exportLayerInfo={graph}"])
        tensors = _read_specs(graph)
        trace = read_log(log)
        bound = {
            binding.name: _make_spec(binding.name, binding.dimensions, binding.dtype, tensors)
            for binding in trace.bindings
        }
        inputs = [bound[binding.name] for binding in trace.bindings if binding.is_input]
        # A scalar prints no dimensions, and the reader of the log does not see its line.
        text = log.read_text(encoding="utf-8", errors="replace")
        fed = dict.fromkeys(match["name"] for match in _FED.finditer(text))
        inputs += [_make_spec(name, "", None, tensors) for name in fed if name not in bound]
        shapes = {name: values.shape for name, values in self._read(exported).items()}
        outputs = [
            bound.get(name) or _make_spec(name, "x".join(map(str, shape)), None, tensors)
            for name, shape in shapes.items()
        ]
        if not inputs and not outputs:
            raise TrexError(f"{self.path}: trtexec reports no inputs and no outputs; build the engine again")
        for spec in inputs:
            _check_shape(self.path, spec, self.request.shapes.get(spec.name))
        self._inputs = tuple(inputs)
        self._types = {output.name: output.dtype for output in outputs}
        return Signature(self._inputs, tuple(outputs), trace.tensorrt_version)

    def check_inputs(self) -> None:
        """Check that every input can be read from a file.

        Raises:
            TrexError: An input cannot; the message has the reason and the remedy.
        """
        for spec in self._inputs:
            what = f"{self.path}: input {printable(spec.name)}"
            if spec.dtype is None:
                raise TrexError(
                    f"{what}: unknown type (neither trtexec {self.trtexec.version} nor the engine states it); build the "
                    "engine with --profilingVerbosity=detailed"
                )
            if not spec.is_linear:
                raise TrexError(
                    f"{what}: is not linear in memory (--inputIOFormats); only linear inputs are supported"
                )
            if _MISREAD & set(spec.name):
                raise TrexError(f"{what}: trtexec's --loadInputs cannot name it; rename it in the model")

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        entries = []
        for index, spec in enumerate(self._inputs):
            path = self.directory / f"input-{index}.bin"
            path.write_bytes(to_bytes(inputs[spec.name], spec.dtype or DataType.FP32))
            entries.append(f"{_quote(spec.name)}:{path}")
        _, exported = self._run([f"--loadInputs={','.join(entries)}"] if entries else [])
        return self._read(exported)

    def document(self) -> dict[str, Any]:
        return {"trtexec": str(self.trtexec.path), "trtexec_version": self.trtexec.version}

    def _read(self, exported: Path) -> dict[str, Array]:
        try:
            return read_outputs(exported, self._types)
        except ArtifactError as error:
            why = f"trtexec passed, but its outputs are unusable: {error.note.message}"
            raise TrtexecFailedError(self.path, RunVerdict(False, "files", why), ()) from None

    def _run(self, more: list[str]) -> tuple[Path, Path]:
        """Return log and exported outputs of one run."""
        log, exported = self.directory / "trtexec.log", self.directory / "output.json"
        exported.unlink(missing_ok=True)
        argv = (*self.trtexec.words, *self._common, *more, f"--exportOutput={exported}")
        plan = RunPlan(PROFILE, 1, argv, log, self.path)
        _, verdict, progress = run_trtexec(
            Machine(), plan, self.trtexec, self.stop, timeout_s=self.request.timeout_s
        )
        if verdict.key == "interrupted" or self.stop.times:
            raise InterruptedRunError("interrupted")
        if verdict.passed and not exported.is_file():
            verdict = RunVerdict(False, "files", "trtexec passed, but wrote no outputs", "is the disk full?")
        if not verdict.passed:
            raise TrtexecFailedError(self.path, verdict, progress.last)
        return log, exported


def _quote(name: str) -> str:
    return f"'{name}'" if ":" in name else name


def _format_shapes(shapes: Shapes) -> str:
    return ",".join(f"{_quote(name)}:{format_shape(shape)}" for name, shape in shapes.items())


def _make_spec(name: str, dims: str, printed: str | None, tensors: Mapping[str, TensorSpec]) -> TensorSpec:
    known = tensors.get(name)
    dtype = parse_data_type(printed) if printed else known.dtype if known else None
    try:
        shape: tuple[int, ...] | None = tuple(int(part) for part in dims.split("x") if part)
    except ValueError:
        shape = None
    return TensorSpec(name, shape, dtype, known is None or known.is_linear)


def _read_specs(graph: Path) -> dict[str, TensorSpec]:
    """Return types and layouts of all tensors; empty if the engine has no details, or the file is missing."""
    try:
        info = read_layer_info(graph)
    except ArtifactError:
        return {}
    specs: dict[str, TensorSpec] = {}
    for layer in info.layers:
        for side in ("Inputs", "Outputs"):
            tensors = layer.get(side)
            for tensor in tensors if isinstance(tensors, list) else ():
                if isinstance(tensor, dict) and isinstance(tensor.get("Name"), str):
                    specs.setdefault(tensor["Name"], _read_spec(tensor))
    for tensor in info.io_tensors:
        dtype = parse_data_type(str(tensor.get("DataType", "")))
        known = specs.get(tensor["Name"])
        specs[tensor["Name"]] = TensorSpec(tensor["Name"], None, dtype, known is None or known.is_linear)
    return specs


def _read_spec(tensor: Mapping[str, Any]) -> TensorSpec:
    def first(*keys: str) -> str:
        return next((value for key in keys if isinstance(value := tensor.get(key), str)), "")

    layout = parse_format(first("Format", "Format/Datatype", "Format/DataType"))
    dtype = parse_data_type(first("Datatype", "DataType", "Format/Datatype", "Format/DataType"))
    is_plain = layout.vector == 1 and not layout.channels_last and layout.row_bytes == 1
    return TensorSpec(tensor["Name"], None, dtype, layout.layout is None or is_plain)


def read_outputs(path: Path, types: Mapping[str, DataType | None]) -> dict[str, Array]:
    """Return the outputs in the file by name, each in the type that `types` has for it.

    Raises:
        ArtifactError: The file is truncated, or not such a file.
    """
    text = read_text(path)
    outputs: dict[str, Array] = {}
    position = 0
    while head := _HEAD.search(text, position):
        end = _END.search(text, head.end() - 1)
        if end is None:
            raise ArtifactError(path, f"is truncated in the values of {head['name']!r}; {COPY_AGAIN}")
        body, dims = text[head.end() : end.start()], head["dims"]
        if final := _FINAL_SHAPE.match(body):
            body, dims = body[final.end() :], final["dims"]
        outputs[head["name"]] = _read_values(path, head["name"], dims, body, types.get(head["name"]))
        position = end.end()
    if text[position:].strip() != "]":
        is_begun = outputs or text.startswith("[")
        raise ArtifactError(path, f"{'is truncated' if is_begun else 'has no trtexec outputs'}; {COPY_AGAIN}")
    return outputs


def _read_values(path: Path, name: str, dims: str, body: str, dtype: DataType | None) -> Array:
    whole = dtype in (DataType.INT64, DataType.INT32)  # 2^53 and more does not fit a double
    try:
        shape = tuple(int(part) for part in dims.split("x") if part)
        with warnings.catch_warnings():
            # numpy before 2.3, for text that is not a number
            warnings.simplefilter("error", DeprecationWarning)
            # Takes a fifth of the time of a list of floats, and an eighth of its memory.
            values: Array = np.fromstring(body, np.int64 if whole else np.float64, sep=",")
    except (ValueError, OverflowError, DeprecationWarning):
        raise ArtifactError(path, f"the values of {name!r} are not numbers; {COPY_AGAIN}") from None
    if values.size != math.prod(shape) or any(extent < 0 for extent in shape):
        message = f"{name!r} has {values.size} values, but its dimensions are {dims or 'none'}; {COPY_AGAIN}"
        raise ArtifactError(path, message)
    return hold(values.reshape(shape), dtype)


# ONNX models


class OnnxSide:
    """An ONNX model, on the CPU.

    Raises:
        TrexError: onnxruntime is not installed, or cannot load the model.
    """

    kind = "onnx"

    def __init__(self, path: Path, shapes: Shapes) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise TrexError(
                "ONNX models need onnxruntime, which is not installed: install trex-tui with its extra accuracy"
            ) from None
        onnxruntime.disable_telemetry_events()  # its Windows builds send session telemetry otherwise
        self.path, self.shapes = path, shapes
        self.version = str(onnxruntime.__version__)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _QUIET
        providers = ["CPUExecutionProvider"]
        try:
            self._session: Any = onnxruntime.InferenceSession(str(path), options, providers=providers)
        except Exception as error:  # noqa: BLE001 - its exceptions share no base
            raise TrexError(f"{path}: onnxruntime cannot load it: {shorten_error(error)}") from None
        self._inputs = [self._read_spec(node) for node in self._session.get_inputs()]

    def _read_spec(self, node: Any) -> TensorSpec:  # noqa: ANN401 - a NodeArg
        # `tensor(float)`, `tensor(float16)`, `tensor(int64)`; anything else is not a tensor.
        match = re.fullmatch(r"tensor\((.*)\)", node.type)
        shape = tuple(extent if isinstance(extent, int) else -1 for extent in node.shape or ())
        return TensorSpec(node.name, shape, parse_data_type(match[1] if match else ""))

    def probe(self) -> Signature:
        for spec in self._inputs:
            # onnxruntime reports no shape for a scalar, nor if the model leaves the rank open.
            if spec.shape:
                _check_shape(self.path, spec, self.shapes.get(spec.name))
            if not has_numpy_type(spec.dtype) or spec.dtype is DataType.BF16:
                kind = spec.dtype.value if spec.dtype else "no tensor"
                raise TrexError(
                    f"{self.path}: input {printable(spec.name)} is {kind}, which onnxruntime does not accept"
                )
        stated = tuple(spec._replace(shape=self.shapes.get(spec.name, spec.shape)) for spec in self._inputs)
        return Signature(stated, tuple(self._read_spec(node) for node in self._session.get_outputs()))

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        names = [node.name for node in self._session.get_outputs()]
        try:
            values = {spec.name: hold(inputs[spec.name], spec.dtype) for spec in self._inputs}
            return dict(zip(names, self._session.run(names, values), strict=True))
        except Exception as error:  # noqa: BLE001 - its exceptions share no base
            raise TrexError(f"{self.path}: onnxruntime: {shorten_error(error)}") from None

    def document(self) -> dict[str, Any]:
        return {"onnxruntime_version": self.version}


def shorten_error(error: Exception) -> str:
    """Return a message of onnxruntime, which may have several lines, on one line."""
    text = printable(" ".join(str(error).split())) or type(error).__name__
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
