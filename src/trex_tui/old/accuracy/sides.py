"""The two sides of a comparison: an engine through trtexec, or an ONNX model through onnxruntime.

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
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui.old.accuracy.tensors import (
    Signature,
    TensorSpec,
    check_shape,
    dimensions,
    held,
    numpy_type,
    to_bytes,
)
from trex_tui.old.artifacts.input_files import COPY_AGAIN, read_text
from trex_tui.old.artifacts.layer_info import read_layer_info
from trex_tui.old.buildlog import read_build_log
from trex_tui.old.capture.machine import Machine, run_trtexec
from trex_tui.old.capture.plan import PROFILE, RunPlan, refusal
from trex_tui.old.capture.process import GRACE_S, Stop
from trex_tui.old.capture.trtexec import Trtexec
from trex_tui.old.capture.verdict import RunVerdict
from trex_tui.old.engine.dtypes import DataType, TensorFormat, parse_data_type, parse_format
from trex_tui.old.errors import ArtifactError, ExitCode, TrexError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import printable

if TYPE_CHECKING:
    from trex_tui.old.accuracy.tensors import Array

PRINTED_DIGITS = 6
_HEAD = re.compile(
    r'\{ "name" : "(?P<name>.*)"\r?\n\s*, "dimensions" : "(?P<dims>[^"\n]*)"\r?\n\s*, "values" : \[ '
)
_FINAL_SHAPE = re.compile(r"\s*Final shape is (?P<dims>\S*) reported by the output allocator\.\s*")
_END = re.compile(r"\s\]\r?\n\s*\}")


def read_outputs(path: Path, types: dict[str, DataType | None]) -> dict[str, Array]:
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
        outputs[head["name"]] = _values(path, head["name"], dims, body, types.get(head["name"]))
        position = end.end()
    if text[position:].strip() != "]":
        raise ArtifactError(
            path,
            f"{'is truncated' if outputs or text.startswith('[') else 'has no trtexec outputs'}; {COPY_AGAIN}",
        )
    return outputs


def _values(path: Path, name: str, dims: str, body: str, dtype: DataType | None) -> Array:
    import numpy as np

    whole = dtype in (DataType.INT64, DataType.INT32)  # 2^53 and more does not fit a double
    try:
        shape = tuple(int(part) for part in dims.split("x") if part)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "error", DeprecationWarning
            )  # numpy before 2.3, for text that is not a number
            # Takes a fifth of the time of a list of floats, and an eighth of its memory.
            values: Array = np.fromstring(body, np.int64 if whole else np.float64, sep=",")
    except (ValueError, OverflowError, DeprecationWarning):
        raise ArtifactError(path, f"the values of {name!r} are not numbers; {COPY_AGAIN}") from None
    if values.size != math.prod(shape) or any(extent < 0 for extent in shape):
        raise ArtifactError(
            path, f"{name!r} has {values.size} values, but its dimensions are {dims or 'none'}; {COPY_AGAIN}"
        )
    return held(values.reshape(shape), dtype)


_FED = re.compile(
    r"\[I\] Using (?:random )?values (?:loaded from .+ )?for input (?P<name>.+?)\s*$", re.MULTILINE
)
_MISREAD = frozenset(",'")
"""Characters that trtexec's `name:value,…` cannot contain, even in quotes."""


class InterruptedRunError(TrexError):
    """The user interrupted the run."""

    exit_code = ExitCode.INTERRUPTED


class TrtexecFailedError(TrexError):
    """A run of trtexec failed; the message has the run, the reason and the remedy.

    Attributes:
        last: The last lines of its output.
        log: Its whole output, as long as the work directory exists.
    """

    exit_code = ExitCode.TRTEXEC_FAILED

    def __init__(self, engine: Path, verdict: RunVerdict, last: Sequence[str], log: Path) -> None:
        super().__init__(f"{engine}: {verdict}")
        self.last = tuple(last)
        self.log = log


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of trtexec for an engine.

    Attributes:
        shapes: Input -> extents, for dynamic inputs.
        types: Input or output -> type, if the engine does not state it.
        profile_index: Index of the optimization profile.
        passthrough: Arguments after `--`.
        timeout_s: Longest duration of one run.
        grace_s: Time between SIGTERM and SIGKILL.
    """

    shapes: Mapping[str, tuple[int, ...]]
    types: Mapping[str, DataType]
    profile_index: int | None = None
    device: int | None = None
    plugins: tuple[str, ...] = ()
    passthrough: tuple[str, ...] = ()
    timeout_s: float | None = None
    grace_s: float = GRACE_S


class EngineSide:
    """A serialized engine as one side of a comparison.

    Args:
        path: The plan.
        trtexec: The program.
        options: Its options.
        directory: Work directory; its path must be valid in `--loadInputs`.
        stop: Ends the current run.

    Raises:
        TrexError: This trtexec does not know an option.
    """

    kind = "engine"

    def __init__(
        self, path: Path, trtexec: Trtexec, options: RunOptions, directory: Path, stop: Stop
    ) -> None:
        self.path = path
        self.trtexec = trtexec
        self.options = options
        self.directory = directory
        self.stop = stop
        self.number = 0
        self._common = self._arguments()
        self._types: dict[str, DataType | None] = {}
        self._inputs: tuple[TensorSpec, ...] = ()
        self._shapes: dict[str, tuple[int, ...]] = {}
        """Shapes of outputs that do not depend on the data."""
        directory.mkdir(parents=True, exist_ok=True)

    def _arguments(self) -> list[str]:
        trtexec, options, refused = self.trtexec, self.options, []
        # One inference is enough: the outputs of the last are exported.
        arguments = [f"--loadEngine={self.path}", "--iterations=1", "--warmUp=0", "--duration=0"]

        def add(flag: str, value: object, asked: str) -> None:
            if trtexec.knows(flag):
                arguments.append(f"{flag}={value}")
            else:
                refused.append(refusal(flag, asked, trtexec))

        if options.shapes:
            add("--shapes", _shapes(options.shapes), "--input-shape")
        if options.profile_index is not None:
            add("--useProfile", options.profile_index, "--profile-index")
        if options.device is not None:
            add("--device", options.device, "--device")
        for plugin in options.plugins:
            add("--staticPlugins" if trtexec.knows("--staticPlugins") else "--plugins", plugin, "--plugin")
        if refused:
            raise TrexError("; ".join(refused))
        # Without copies there are no outputs to export: 11 omits them by default.
        arguments += [flag for flag in ("--includeDataTransfers", "--noCudaGraph") if trtexec.knows(flag)]
        return [*arguments, *options.passthrough]

    def probe(self) -> Signature:
        """Run once, and return inputs and outputs.

        Raises:
            TrexError: The run fails or is interrupted, or an input does not have the given shape.
        """
        graph = self.directory / "graph.json"
        log, exported = self._run([f"--exportLayerInfo={graph}"])
        tensors = _read_tensor_specs(graph)
        trace = read_build_log(log)
        bound = {
            binding.name: self._spec(binding.name, binding.dimensions, binding.dtype, tensors)
            for binding in trace.bindings
        }
        inputs = [bound[binding.name] for binding in trace.bindings if binding.is_input]
        # A scalar prints no dimensions, so its line does not match the pattern above.
        text = log.read_text(encoding="utf-8", errors="replace")
        fed = dict.fromkeys(match["name"] for match in _FED.finditer(text))
        inputs += [self._spec(name, "", None, tensors) for name in fed if name not in bound]
        shapes = {name: spec.shape for name, spec in self._read(exported, {}).items()}
        outputs = [
            bound.get(name) or self._spec(name, "x".join(map(str, shape)), None, tensors)
            for name, shape in shapes.items()
        ]
        if not inputs and not outputs:
            raise TrexError(f"{self.path}: trtexec reports no inputs and no outputs; build the engine again")
        for spec in inputs:
            check_shape(self.path, spec, self.options.shapes.get(spec.name))
        self._inputs = tuple(inputs)
        self._shapes = {
            name: shape
            for name, shape in shapes.items()
            if name in bound and all(extent >= 0 for extent in bound[name].shape or (-1,))
        }
        self._types = {output.name: output.dtype for output in outputs}
        return Signature(self._inputs, tuple(outputs), trace.tensorrt_version)

    def _spec(
        self, name: str, dims: str, printed: str | None, tensors: Mapping[str, TensorSpec]
    ) -> TensorSpec:
        known = tensors.get(name)
        dtype = parse_data_type(printed) if printed else known.dtype if known else None
        try:
            shape: tuple[int, ...] | None = tuple(int(part) for part in dims.split("x") if part)
        except ValueError:
            shape = None
        dtype = self.options.types.get(name, dtype)
        return TensorSpec(name, shape, dtype, known is None or known.is_linear)

    def check_inputs(self) -> None:
        """Check that every input can be read from a file.

        Raises:
            TrexError: An input cannot; the message has the reason and the remedy.
        """
        for spec in self._inputs:
            what = f"{self.path}: input {printable(spec.name)}"
            if spec.dtype is None:
                raise TrexError(
                    f"{what}: unknown type (not reported by trtexec {self.trtexec.version} or the engine); "
                    f"add, for example, --input-type {printable(spec.name)}:fp32"
                )
            if not spec.is_linear:
                raise TrexError(
                    f"{what}: is not linear in memory (--inputIOFormats); only linear inputs are supported"
                )
            if _MISREAD & set(spec.name):
                raise TrexError(f"{what}: trtexec's --loadInputs cannot name it")

    def run(self, inputs: Mapping[str, Array], outputs: tuple[TensorSpec, ...]) -> dict[str, Array]:
        """Infer once.

        Raises:
            TrexError: The run fails or is interrupted.
        """
        entries = []
        for index, spec in enumerate(self._inputs):
            path = self.directory / f"input-{index}.bin"
            path.write_bytes(to_bytes(inputs[spec.name], spec.dtype or DataType.FP32))
            entries.append(f"{_quoted(spec.name)}:{path}")
        _, exported = self._run([f"--loadInputs={','.join(entries)}"] if entries else [])
        values = self._read(exported, self._types)
        for name, shape in self._shapes.items():
            if name in values and values[name].shape != shape:
                raise self._unusable(
                    f"{printable(name)} is {dimensions(values[name].shape)}, but {dimensions(shape)} with random inputs of "
                    "the same shapes"
                )
        wanted = {output.name for output in outputs}
        return {name: array for name, array in values.items() if name in wanted}

    def _read(self, exported: Path, types: dict[str, DataType | None]) -> dict[str, Array]:
        try:
            return read_outputs(exported, types)
        except ArtifactError as error:
            raise self._unusable(error.diagnostic.message) from None

    def _unusable(self, why: str) -> TrtexecFailedError:
        verdict = RunVerdict(False, "files", f"trtexec passed, but its outputs are unusable: {why}")
        return TrtexecFailedError(self.path, verdict, (), self.directory / "trtexec.log")

    def _run(self, more: list[str]) -> tuple[Path, Path]:
        """Return log and exported outputs of one run."""
        self.number += 1
        log, exported = self.directory / "trtexec.log", self.directory / "output.json"
        exported.unlink(missing_ok=True)
        argv = (str(self.trtexec.path), *self._common, *more, f"--exportOutput={exported}")
        plan = RunPlan(PROFILE, self.number, argv, log, self.path)
        _, verdict, progress = run_trtexec(
            Machine(),
            plan,
            self.trtexec,
            self.stop,
            timeout_s=self.options.timeout_s,
            grace_s=self.options.grace_s,
        )
        if verdict.key == "interrupted" or self.stop.times:
            raise InterruptedRunError("interrupted")
        if verdict.passed and not exported.is_file():
            verdict = RunVerdict(False, "files", "trtexec passed, but wrote no outputs")
        if not verdict.passed:
            raise TrtexecFailedError(self.path, verdict, progress.last, log)
        return log, exported

    def document(self) -> dict[str, Any]:
        return {"trtexec": str(self.trtexec.path), "trtexec_version": self.trtexec.version}


def _quoted(name: str) -> str:
    return f"'{name}'" if ":" in name else name


def _shapes(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ",".join(
        f"{_quoted(name)}:{'x'.join(map(str, shape)) or 'scalar'}" for name, shape in shapes.items()
    )


def _read_tensor_specs(graph: Path) -> dict[str, TensorSpec]:
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
                    specs.setdefault(tensor["Name"], _described(tensor))
    for tensor in info.io_tensors:
        dtype = parse_data_type(str(tensor.get("DataType", "")))
        is_linear = tensor["Name"] not in specs or specs[tensor["Name"]].is_linear
        specs[tensor["Name"]] = TensorSpec(tensor["Name"], None, dtype, is_linear)
    return specs


def _described(tensor: Mapping[str, Any]) -> TensorSpec:
    def first(get: Callable[[str], Any], *keys: str) -> str:
        return next((value for key in keys if isinstance(value := get(key), str)), "")

    layout: TensorFormat = parse_format(first(tensor.get, "Format", "Format/Datatype", "Format/DataType"))
    dtype = parse_data_type(first(tensor.get, "Datatype", "DataType", "Format/Datatype", "Format/DataType"))
    is_linear = layout.layout is None or (
        layout.vector == 1 and not layout.channels_last and layout.row_bytes == 1
    )
    return TensorSpec(tensor["Name"], None, dtype, is_linear)


_QUIET = 3  # errors and worse
_LONGEST = 600


class OnnxSide:
    """An ONNX model as one side of a comparison.

    Raises:
        TrexError: onnxruntime is not installed, or cannot load the model.
    """

    kind = "onnx"

    def __init__(self, path: Path, shapes: Mapping[str, tuple[int, ...]]) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise TrexError(
                "ONNX models need onnxruntime, which is not installed: pip install 'trex-tui[accuracy]'"
            ) from None
        onnxruntime.disable_telemetry_events()  # its Windows builds send session telemetry otherwise
        self.path = path
        self.shapes = shapes
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _QUIET
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # noqa: BLE001 - its exceptions share no base
            raise TrexError(f"{path}: onnxruntime cannot load it: {_in_a_line(error)}") from None
        self.version = str(onnxruntime.__version__)

    def probe(self) -> Signature:
        """Return inputs and outputs; open extents are those of the given shapes.

        Raises:
            TrexError: A shape does not fit its input.
        """
        inputs = [self._spec(node) for node in self._session.get_inputs()]
        for tensor in inputs:
            # onnxruntime reports no shape for a scalar, nor if the model leaves the rank open.
            if tensor.shape:
                check_shape(self.path, tensor, self.shapes.get(tensor.name))
        stated = tuple(replace(spec, shape=self.shapes.get(spec.name, spec.shape)) for spec in inputs)
        return Signature(stated, tuple(self._spec(node) for node in self._session.get_outputs()))

    def _spec(self, tensors: Any) -> TensorSpec:  # noqa: ANN401 - a NodeArg
        # `tensor(float)`, `tensor(float16)`, `tensor(int64)`; anything else is not a tensor.
        text = (
            tensors.type.removeprefix("tensor(").removesuffix(")")
            if tensors.type.startswith("tensor(")
            else ""
        )
        shape = tuple(extent if isinstance(extent, int) else -1 for extent in tensors.shape or ())
        return TensorSpec(tensors.name, shape, parse_data_type(text))

    def run(self, inputs: Mapping[str, Array], outputs: tuple[TensorSpec, ...]) -> dict[str, Array]:
        """Infer once.

        Raises:
            TrexError: onnxruntime fails.
        """
        types = {node.name: self._spec(node).dtype for node in self._session.get_inputs()}
        for name, dtype in types.items():
            if numpy_type(dtype) is None or dtype is DataType.BF16:
                kind = dtype.value if dtype else "of a type other than tensor"
                raise TrexError(
                    f"{self.path}: input {printable(name)} is {kind}, which onnxruntime does not accept"
                )
        names = [output.name for output in outputs]
        try:
            results = self._session.run(names, {name: held(inputs[name], types[name]) for name in types})
        except Exception as error:  # noqa: BLE001 - its exceptions share no base
            raise TrexError(f"{self.path}: onnxruntime: {_in_a_line(error)}") from None
        return dict(zip(names, results, strict=True))

    def document(self) -> dict[str, Any]:
        return {"onnxruntime_version": self.version}


def _in_a_line(error: Exception) -> str:
    """Return a message of onnxruntime, which may have several lines, on one line."""
    text = printable(" ".join(str(error).split())) or type(error).__name__
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
