"""Known failures of trtexec and of TensorRT: what they print, what it means, what to do; and the failure in a log.

Texts differ between releases; the patterns match what they share. The first match wins, so causes come before the messages
that follow from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from trex_tui.buildlog.trace import BuildTrace, Message, PhaseKind


@dataclass(frozen=True, slots=True)
class Failure:
    """A known failure.

    Attributes:
        key: Short name, for the manifest.
        pattern: Searched in each line of the output.
        sentence: Meaning; may contain groups of the pattern.
        remedy: What to do in a capture.
        log_remedy: What to do with trtexec's own options; empty if it is the same.
    """

    key: str
    pattern: re.Pattern[str]
    sentence: str
    remedy: str
    log_remedy: str = ""


@dataclass(frozen=True, slots=True)
class Recognised:
    """A failure found in an output: its sentence with the groups filled in, and the line that matched."""

    key: str
    sentence: str
    remedy: str
    line: str
    log_remedy: str


def known_failure(key: str, pattern: str, sentence: str, remedy: str, log_remedy: str = "") -> Failure:
    """Return a failure whose pattern ignores case."""
    return Failure(key, re.compile(pattern, re.IGNORECASE), sentence, remedy, log_remedy)


_SAME_BUILD = (
    "build the engine again with this TensorRT on this device, or capture with the TensorRT that built it"
)
_SAME_BUILD_LOG = (
    "build the engine again with this TensorRT on this device, or run it with the TensorRT that built it"
)

FAILURES = (
    known_failure(
        "unknown_option",
        r"Unknown option: (?P<option>\S+)",
        "trtexec does not know {option}",
        "check the arguments after --; trex-tui passes only options listed by this trtexec --help",
        "see trtexec --help of this release: --workspace became --memPoolSize=workspace:MIB in 8.4, --buildOnly "
        "--skipInference in 8.6; 11 is strongly typed and has no --fp16, --int8 or --best",
    ),
    known_failure(
        "missing_library",
        r"error while loading shared libraries: (?P<library>[^:\s]+)"
        r"|due to:? (?P<dependency>lib[^:\s]+): cannot open shared object|Could not load library (?P<other>[^:\s]+)"
        r"|Unable to (?:open|load) library: (?P<third>[^:\s]+)",
        "a library is missing: {library}{dependency}{other}{third}",
        "add its directory to LD_LIBRARY_PATH, or install its package; all TensorRT libraries must be of "
        "one release",
    ),
    known_failure(
        "no_image",
        r"No such image: (?P<image>\S+)|Unable to find image '(?P<other>[^']+)' locally",
        "docker has no image {image}{other}",
        "run docker pull first: TensorRT images take gigabytes",
    ),
    known_failure(
        "no_docker",
        r"Cannot connect to the Docker daemon|permission denied while trying to connect to the Docker daemon",
        "the docker daemon does not answer",
        "start it, or add the user to the group docker",
    ),
    known_failure(
        "no_gpu_runtime",
        r"could not select device driver .*capabilities: \[\[gpu\]\]|unknown or invalid runtime name: nvidia",
        "docker cannot give containers access to GPUs",
        "install nvidia-container-toolkit and restart docker",
    ),
    known_failure(
        "old_system",
        r"version [`'](?P<version>(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)' not found",
        "this system is too old for trtexec or a library: missing {version}",
        "use this distribution's TensorRT package, or an NVIDIA container (--docker IMAGE)",
        "use this distribution's TensorRT package, or an NVIDIA container",
    ),
    known_failure(
        "illegal_instruction",
        r"Illegal instruction",
        "the CPU lacks an instruction that trtexec or a library uses",
        "use the TensorRT for this platform; in a virtual machine pass the host CPU through",
    ),
    known_failure(
        "nvmap_permission",
        r"NvRmMemInitNvmap failed.*Permission denied",
        "this user cannot use the GPU: no permission for /dev/nvmap",
        "add the user to the groups video and render and log in again; in a container use --runtime nvidia",
    ),
    known_failure(
        "no_device",
        r"Cannot find device ID (?P<device>\d+)",
        "no device {device}",
        "see nvidia-smi -L; --device counts from 0 within CUDA_VISIBLE_DEVICES",
    ),
    known_failure(
        "old_driver",
        r"CUDA initialization failure with error: (?P<code>35|222)\b|CUDA driver version is insufficient"
        r"|the provided PTX was compiled with an unsupported toolchain",
        "the GPU driver is older than the CUDA of this TensorRT",
        "update the driver (on a Jetson: JetPack), or use a TensorRT for the CUDA version that nvidia-smi shows",
    ),
    known_failure(
        "no_gpu",
        r"no CUDA-capable device is detected|Cannot find any available devices|CUDA initialization failure with error: \d+"
        r"|Cuda failure.*(?:initialization error|unknown error|system driver mismatch)",
        "trtexec finds no usable GPU",
        "check nvidia-smi; a container needs --gpus all (Jetson: --runtime nvidia), a new driver needs a reboot",
    ),
    known_failure(
        "plan_version",
        r"engine plan file is not compatible with this version of TensorRT"
        r"(?:, expecting library version (?P<expected>[\d.]*\d)(?: got (?P<got>[\d.]*\d))?)?",
        "the engine was built by another TensorRT (expected {expected}, got {got})",
        _SAME_BUILD,
        _SAME_BUILD_LOG,
    ),
    known_failure(
        "plan_version",
        r"expecting library version (?P<expected>[\d.]*\d) got (?P<got>[\d.]*\d)",
        "the engine was built by another TensorRT (expected {expected}, got {got})",
        _SAME_BUILD,
        _SAME_BUILD_LOG,
    ),
    known_failure(
        "plan_magic",
        r"magicTag(?:Read)? == (?:rt::)?k(?:PLAN_)?MAGIC_TAG failed|Magic tag does not match",
        "the file is not an engine, or this TensorRT cannot read it",
        "check that the file is a complete engine; if it is, " + _SAME_BUILD,
        "check that the file is a complete engine; if it is, " + _SAME_BUILD_LOG,
    ),
    known_failure(
        "plan_version",
        r"stdVersionRead == (?:kSERIALIZATION_VERSION|serializationVersion) failed|Version tag does not match",
        "the engine was built by another TensorRT",
        _SAME_BUILD,
        _SAME_BUILD_LOG,
    ),
    known_failure(
        "plan_device",
        r"engine plan file is generated on an incompatible device(?:, expecting compute (?P<expected>[\d.]*\d) got "
        r"compute (?P<got>[\d.]*\d))?",
        "the engine was built for another GPU (compute capability {expected} here, {got} in the engine)",
        "build it again on this device, or with --hardware-compatibility",
        "build it again on this device, or with --hardwareCompatibilityLevel",
    ),
    known_failure(
        "unsupported_sm",
        r"Unsupported SM: (?P<sm>0x[0-9a-f]+)|Target GPU SM (?P<other>\d+) is not supported",
        "this TensorRT does not support this GPU (SM {sm}{other})",
        "a newer GPU needs a newer TensorRT; an old, dropped one needs an older TensorRT",
    ),
    known_failure(
        "no_kernel_image",
        r"no kernel image is available for execution on the device|cudaErrorNoKernelImageForDevice",
        "TensorRT or a plugin has no code for this GPU",
        "build plugins for its compute capability; if there are none, use a TensorRT that supports the GPU",
    ),
    known_failure(
        "missing_plugin",
        r"Plugin not found, are the plugin name|getPluginCreator could not find plugin:? ?(?P<plugin>\S*)",
        "a plugin is missing{plugin_named}",
        "give its library with --plugin; the same message appears for operators that need a newer TensorRT",
        "give its library with --dynamicPlugins (up to 8.5 --plugins); the same message appears for operators that need "
        "a newer TensorRT",
    ),
    known_failure(
        "no_dla",
        r"Cannot create DLA engine",
        "no such DLA core on this device",
        "remove --dla, or choose an existing core (0 or 1 on Xavier, AGX Orin and Orin NX)",
        "remove --useDLACore, or choose an existing core (0 or 1 on Xavier, AGX Orin and Orin NX)",
    ),
    known_failure(
        "dla_fallback",
        r"Assertion allowGPUFallback failed|not supported on DLA (?:but|and) GPU fallback is not enabled",
        "a layer cannot run on the DLA, and GPU fallback is not allowed",
        "add --allow-gpu-fallback",
        "add --allowGPUFallback",
    ),
    known_failure(
        "type_mismatch",
        r"(?:inputs?|operands?) (?:types )?must have (?:the )?same (?:input )?types?|must have same input types"
        r"|in a strongly typed network",
        "an operator has inputs of different types, which a strongly typed network does not convert",
        "add a Cast to the model; up to TensorRT 10 without --stronglyTyped the builder converts",
    ),
    known_failure(
        "unsupported_dtype",
        r"Unsupported ONNX data type:? (?P<dtype>\w+)",
        "the model has tensors of type {dtype}, which the parser does not support",
        "cast them in the model, for example inputs to FP32 or INT32, or use a newer TensorRT",
    ),
    known_failure(
        "unsupported_op",
        r"While parsing node number (?P<number>\d+) \[(?P<op>.+?) ->",
        "node {number} of the model, operator {op}, cannot be parsed",
        "simplify or constant-fold the model, export it with another opset, or use a newer TensorRT or a plugin",
    ),
    known_failure(
        "no_file",
        r"(?:Failed to open|Could not open|Error opening engine) file:?\s+(?P<file>\S+)",
        "the file {file} cannot be opened",
        "check the path and its permission",
    ),
    known_failure(
        "unsupported_op",
        r"Invalid Node - (?P<node>\S+)",
        "node {node} of the model cannot be parsed",
        "simplify or constant-fold the model, export it with another opset, or use a newer TensorRT or a plugin",
    ),
    known_failure(
        "bad_onnx",
        r"Failed to parse onnx file|Failed to parse ONNX model from file|Parsing model failed|Failed to open file",
        "the ONNX file cannot be parsed",
        "check it with onnx.checker; external weights must be next to it",
    ),
    known_failure(
        "bad_model",
        r"Model missing or format not recognized",
        "trtexec does not recognize the file as a model",
        "--onnx takes ONNX, --engine a serialized engine",
        "--onnx takes ONNX, --loadEngine a serialized engine",
    ),
    known_failure(
        "cuda_graph",
        r"cudaErrorStreamCapture|not permitted when stream is capturing|operation would make the legacy stream depend"
        r"|(?:CUDA|cuda) ?graph (?:capture )?(?:has )?failed|cudaStreamEndCapture|cudaGraphInstantiate",
        "the engine cannot be captured in a CUDA graph",
        "use --no-cuda-graph",
        "remove --useCudaGraph",
    ),
    known_failure(
        "shapes_static",
        r"Static model does not take explicit shapes",
        "shapes are given, but the model's shapes are fixed",
        "remove --shapes and --min/opt/max-shapes",
        "remove --shapes, --minShapes, --optShapes and --maxShapes",
    ),
    known_failure(
        "shapes_unknown",
        r"Cannot find input tensor with name \"(?P<name>[^\"]*)\"",
        "the shapes name {name}, which is not an input of the network",
        "use the input names of the model",
    ),
    known_failure(
        "shapes_missing",
        r"Required shape for input (?P<name>\S+) is missing"
        r"|Dynamic dimensions required for input:? (?P<other>[^,\s]+).*but no shapes were provided\.?$"
        r"|network has dynamic or shape inputs, but no optimization profile has been defined",
        "the model has dynamic shapes, and none are given",
        "add --min-shapes, --opt-shapes and --max-shapes (input:1x3x224x224)",
        "add --minShapes, --optShapes and --maxShapes (input:1x3x224x224)",
    ),
    known_failure(
        "shapes_profile",
        r"(?P<name>[^\s(]+): for dimension number (?P<dimension>\d+) in profile (?P<number>\d+) does not match network"
        r"|does not match network definition \(got min",
        "the given shapes do not fit the model{where}",
        "--min-shapes, --opt-shapes and --max-shapes must have the fixed dimensions of the model's input",
        "--minShapes, --optShapes and --maxShapes must have the fixed dimensions of the model's input",
    ),
    known_failure(
        "shapes_reshape",
        r"reshape changes volume",
        "a Reshape of the model does not fit the given shapes",
        "give the shapes that the model was exported for, or export it with dynamic axes",
    ),
    known_failure(
        "calibration",
        r"Calibration failure occurred with no scaling factors|calibration (?:cache|table) (?:is )?(?:empty|invalid)",
        "INT8 calibration failed: missing scales",
        "add the calibration cache of this model (--calib FILE), or use a model with Q/DQ nodes",
        "add the calibration cache of this model (--calib=FILE), or use a model with Q/DQ nodes",
    ),
    known_failure(
        "shapes_range",
        r"(?:Static dimension mismatch|does not satisfy any optimization profiles|dimension[s]? .*out of range"
        r"|Supplied binding dimension .* for bindings).*?(?:input (?P<name>[^.\s]+))?",
        "a given shape is outside the range of the engine",
        "choose --shapes between --min-shapes and --max-shapes of the build",
        "choose --shapes between --minShapes and --maxShapes of the build",
    ),
    known_failure(
        "illegal_access",
        r"illegal memory access|misaligned address|cudaErrorIllegalAddress|cudaErrorMisalignedAddress",
        "illegal memory access by a kernel",
        "check plugins first (compute-sanitizer finds the kernel); without plugins use another TensorRT",
    ),
    known_failure(
        "dla_compilation",
        r"DLA Node compilation failed",
        "the DLA compiler rejected a part of the network",
        "move its layers to the GPU (--layerDeviceTypes), or check the limits of the DLA for them",
    ),
    known_failure(
        "out_of_memory",
        r"OutOfMemory|\(out of memory\)|could not be allocated|cudaErrorMemoryAllocation|std::bad_alloc"
        r"|NvMapMemAllocInternalTagged: .* error 12",
        "out of memory",
        "check what else runs (nvidia-smi; on a Jetson stop the desktop), lower --workspace, or use smaller shapes",
        "check what else runs (nvidia-smi; on a Jetson stop the desktop), lower --memPoolSize=workspace:MIB, or use "
        "smaller shapes",
    ),
    known_failure(
        "no_implementation",
        r"Could not find any implementation for node (?P<node>.+?)\.\)?(?: |$)",
        "TensorRT has no kernel for {node}",
        "allow more memory (--workspace) or another precision for the layer, or use a newer TensorRT",
        "allow more memory (--memPoolSize=workspace:MIB) or another precision for the layer, or use a newer TensorRT",
    ),
    known_failure(
        "library_status",
        r"(?P<status>(?:CUDNN|CUBLAS)_STATUS_(?!SUCCESS)\w+)",
        "cuDNN or cuBLAS failed: {status}",
        "use the versions that this TensorRT was linked against, and check that device memory is free",
    ),
    known_failure(
        "no_outputs",
        r"Network must have at least one output",
        "the network has no output",
        "see errors of the parser before it; a network made with the API needs markOutput",
    ),
    known_failure(
        "uncaught",
        r"Uncaught exception detected: (?P<what>.+)",
        "internal error of trtexec: {what}",
        "see the log for what preceded it",
    ),
)


def recognise(lines: Iterable[str], failures: Iterable[Failure] = FAILURES) -> Recognised | None:
    """Find the first known failure, in the order of the table, in the lines of an output."""
    texts = list(lines)
    for failure in failures:
        for text in texts:
            if match := failure.pattern.search(text):
                remedy = failure.log_remedy or failure.remedy
                return Recognised(failure.key, _sentence(failure, match), failure.remedy, text, remedy)
    return None


def _sentence(failure: Failure, match: re.Match[str]) -> str:
    groups = {key: value or "" for key, value in match.groupdict().items()}
    if "expected" in groups:
        groups = {key: value or "not stated" for key, value in groups.items()}
    if groups.get("name") and groups.get("dimension"):
        where = f": input {groups['name']}, dimension {groups['dimension']}, profile {groups['number']}"
        groups["where"] = where
    groups.setdefault("where", "")
    groups["plugin_named"] = f": {groups['plugin']}" if groups.get("plugin") else ""
    return failure.sentence.format(**groups)


class LogFailure(NamedTuple):
    """The failure of the last run in a log.

    Attributes:
        key: Key of `FAILURES`; empty if it is none of them.
        is_certain: Whether the log states that the run failed; otherwise it ends after errors, without a result.
        cause: One clause.
        reason: TensorRT's own reason, without codes and source locations; None if it states nothing more than `cause`.
        remedy: Empty if unknown.
        line: Line of the error.
    """

    key: str
    is_certain: bool
    cause: str
    reason: str | None
    remedy: str
    line: int


_REASON = re.compile(r"Error Code:? \d+: [^(]{0,60}\((?P<reason>.+)\)|Assertion failed: (?P<assertion>.+)")
_CONSEQUENCES = re.compile(
    r"Failed to (?:parse|create)|(?:Engine|Parsing|Building|Inference|Network) .*(?:fail|could not|set up)"
    r"|--- (?:Begin|End) node ---|Got invalid engine|Assertion engine(?:Ptr)? != nullptr failed",
    re.IGNORECASE,
)
"""Errors that follow from others."""
_RESULTS = frozenset(
    {PhaseKind.ENGINE_BUILD, PhaseKind.ENGINE_GENERATION, PhaseKind.DESERIALIZATION, PhaseKind.INFERENCE}
)


def find_failure(trace: BuildTrace) -> LogFailure | None:
    """Return why the last run of a log failed; None if it passed, or if nothing shows that it failed.

    A log without the final banner counts as failed only if its errors are known failures, or end a build, and no result
    follows them.
    """
    run = trace.runs[-1] if trace.runs else None
    if run is not None and run.status not in (None, "FAILED"):
        return None
    is_certain = run is not None and run.status == "FAILED"
    start = run.line if run is not None and len(trace.runs) > 1 else 0
    own = [message for message in trace.messages if message.last_line >= start]
    errors = [message for message in own if message.severity in "EF"]
    if not is_certain and not _ends_with_errors(trace, errors):
        return None
    known = recognise(message.text for message in errors)
    if known is None:  # Some causes are warnings, which matter only if the run failed.
        known = recognise(message.text for message in own)
        known = known if known is not None and known.key == "out_of_memory" else None
    if known is None:
        return _unknown_failure(errors, is_certain=is_certain)
    at = next(message for message in own if message.text == known.line)
    reason = _find_reason([at, *errors])
    if reason is not None and reason.rstrip(".").lower() in known.sentence.lower():
        reason = None
    return LogFailure(known.key, is_certain, known.sentence, reason, known.log_remedy, at.line)


def _ends_with_errors(trace: BuildTrace, errors: list[Message]) -> bool:
    results = [phase.line for phase in trace.phases if phase.kind in _RESULTS]
    if trace.performance is not None:
        results.append(trace.performance.line)
    last = max((message.last_line for message in errors), default=0)
    is_end = recognise(message.text for message in errors) is not None or any(
        _CONSEQUENCES.search(message.text) for message in errors
    )
    return is_end and last > max(results, default=0)


def _unknown_failure(errors: list[Message], *, is_certain: bool) -> LogFailure | None:
    """Return the first error that is not a consequence of another, as the cause."""
    first = next((message for message in errors if not _CONSEQUENCES.search(message.text)), None)
    first = first or next(iter(errors), None)
    if first is None:
        return None
    cause = " ".join(_reason(first.text) or first.text.split())
    return LogFailure("", is_certain, cause, None, "", first.line)


def _find_reason(messages: Iterable[Message]) -> str | None:
    return next((" ".join(reason) for message in messages if (reason := _reason(message.text))), None)


def _reason(text: str) -> list[str]:
    """Return the words of the reason in an error; empty if it states none."""
    match = _REASON.search(text)
    return (match["reason"] or match["assertion"]).split() if match else []
