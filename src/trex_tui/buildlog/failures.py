"""Known failures of trtexec and of TensorRT: what they print, what it means, what to do; and the failure in a log.

Texts differ between releases; the patterns match what they share. Where one message matches several, the first of the table
wins. A remedy names options as `{workspace}`: `_OPTIONS` has their spelling by producer and release.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from trex_tui.buildlog.tactics import SkippedTactic
from trex_tui.buildlog.trace import BuildTrace, Message
from trex_tui.text import format_bytes

_OPTIONS: dict[str, dict[str, str]] = {
    "workspace": {
        "capture": "--workspace",
        "onnxruntime": "trt_max_workspace_size",
        "torch": "workspace_size",
        "deepstream": "workspace-size",
        "python": "config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, BYTES)",
        "8.4": "--memPoolSize=workspace:MIB",
        "": "--workspace=MIB",
    },
    "shapes": {
        "capture": "--min-shapes, --opt-shapes and --max-shapes",
        "": "--minShapes, --optShapes and --maxShapes",
    },
    "plugin": {"capture": "--plugin", "8.6": "--dynamicPlugins", "": "--plugins"},
    "dla": {"capture": "--dla", "": "--useDLACore"},
    "gpu_fallback": {"capture": "--allow-gpu-fallback", "": "--allowGPUFallback"},
    "cuda_graph": {"capture": "use --no-cuda-graph", "": "remove --useCudaGraph"},
    "calibration": {"capture": "--calib FILE", "": "--calib=FILE"},
    "portable": {"capture": "--hardware-compatibility", "": "--hardwareCompatibilityLevel"},
    "engine": {"capture": "--engine", "": "--loadEngine"},
    "again": {"capture": "capture with", "": "run it with"},
    "layer_types": {"11": "types in the model if it is strongly typed", "": "--layerPrecisions"},
}
"""Option -> producer, or first release of trtexec -> spelling; the last is that of older releases."""
_HISTORY = {
    "exportLayerInfo": "it is an option since 8.2",
    "dumpLayerInfo": "it is an option since 8.2",
    "memPoolSize": "it is an option since 8.4; before, --workspace=MIB",
    "workspace": "--memPoolSize=workspace:MIB replaces it since 8.4",
    "skipInference": "it is an option since 8.6; before, --buildOnly",
    "buildOnly": "--skipInference replaces it since 8.6",
    "plugins": "--staticPlugins and --dynamicPlugins replace it since 8.6",
    "builderOptimizationLevel": "it is an option since 8.6",
    "hardwareCompatibilityLevel": "it is an option since 8.6",
    "layerDeviceTypes": "it is an option since 8.6",
    "stronglyTyped": "it is an option from 10 to 10.16; 11 builds strongly typed networks only",
    **dict.fromkeys(
        ("fp16", "bf16", "int8", "fp8", "int4", "best"),
        "11 is strongly typed: the model states the types, convert it (TensorRT Model Optimizer)",
    ),
}
"""Option of trtexec -> when it is one; facts that --help of the release at hand does not tell."""
_SAME_BUILD = (
    "build the engine again with this TensorRT on this device, or {again} the TensorRT that built it"
)
_PARSER = (
    "simplify or constant-fold the model, export it with another opset, or use a newer TensorRT or a plugin"
)
_FREE_MEMORY = (
    "stop what else uses the GPU (nvidia-smi). On a Jetson the page cache counts as used: sync; echo 3 > "
    "/proc/sys/vm/drop_caches as root, and stop the desktop; in a container, a stub of libcuda reports a wrong size: mount "
    "the libcuda of the host"
)


class Failure(NamedTuple):
    """A known failure.

    Attributes:
        key: Short name, for the manifest.
        pattern: Searched in each message.
        cause: Meaning, one clause; may contain groups of the pattern.
        remedy: What to do; may contain groups of the pattern and names of `_OPTIONS`.
        is_general: Whether errors after it state the cause more precisely.
    """

    key: str
    pattern: re.Pattern[str]
    cause: str
    remedy: str
    is_general: bool = False


def known_failure(key: str, pattern: str, cause: str, remedy: str, *, is_general: bool = False) -> Failure:
    """Return a failure whose pattern ignores case."""
    return Failure(key, re.compile(pattern, re.IGNORECASE), cause, remedy, is_general)


FAILURES = (
    known_failure(
        "unknown_option",
        r"Unknown option: (?P<option>--?(?P<name>\w+)|\S+)",
        "trtexec does not know {option}",
        "{history}",
    ),
    known_failure(
        "missing_library",
        r"error while loading shared libraries: (?P<library>[^:\s]+)"
        r"|due to:? (?P<library2>lib[^:\s]+): cannot open shared object|Could not load library (?P<library3>[^:\s]+)"
        r"|Unable to (?:open|load) library: (?P<library4>[^:\s]+)",
        "a library is missing: {library}",
        "add its directory to LD_LIBRARY_PATH, or install its package; all TensorRT libraries must be of one release",
    ),
    known_failure(
        "old_system",
        r"version [`'](?P<version>(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)' not found",
        "this system is too old for trtexec or a library: missing {version}",
        "use this distribution's TensorRT package, or an NVIDIA container",
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
        "no GPU driver, or one that is older than the CUDA of this TensorRT",
        "check nvidia-smi: if it fails, there is no driver (a container needs --gpus all, a Jetson's --runtime nvidia); else "
        "update the driver (on a Jetson: JetPack), or use a TensorRT for the CUDA version that it shows",
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
        r"expecting library version (?P<expected>[\d.]*\d) got (?P<got>[\d.]*\d)?",
        "the engine was built by another TensorRT (expected {expected}, got {got})",
        _SAME_BUILD,
    ),
    known_failure(
        "plan_magic",
        r"magicTag(?:Read)? == (?:rt::)?k(?:PLAN_)?MAGIC_TAG failed|Magic tag does not match|Failed to read header",
        "the file is not an engine, or this TensorRT cannot read it",
        "check that the file is a complete engine; if it is, " + _SAME_BUILD,
    ),
    known_failure(
        "plan_version",
        r"engine plan file is not compatible with this version of TensorRT"
        r"|stdVersionRead == (?:kSERIALIZATION_VERSION|serializationVersion) failed|Version tag does not match",
        "the engine was built by another TensorRT",
        _SAME_BUILD,
    ),
    known_failure(
        "plan_device",
        r"engine plan file is generated on an incompatible device(?:, expecting compute (?P<expected>[\d.]*\d) got "
        r"compute (?P<got>[\d.]*\d))?",
        "the engine was built for another GPU (compute capability {expected} here, {got} in the engine)",
        "build it again on this device, or with {portable}",
    ),
    known_failure(
        "unsupported_sm",
        r"Unsupported SM: (?P<sm>0x[0-9a-f]+)|Target GPU SM (?P<sm2>\d+) is not supported"
        r"|does not support (?:this|the current) compute capability",
        "this TensorRT does not support this GPU{sm_named}",
        "a newer GPU needs a newer TensorRT; an old, dropped one needs an older TensorRT",
    ),
    known_failure(
        "hardware_types",
        r"Cannot compile for target\(s\) (?P<target>[^,]+), because the model contains HW-specific datatypes: (?P<dtype>\w+)",
        "the model has tensors of type {dtype}, which {target} does not have",
        "build for a GPU with this type (FP8: compute capability 8.9 and later, FP4: 10.0 and later), or export the model "
        "with INT8 or 16-bit types",
    ),
    known_failure(
        "unsupported_target",
        r"Cannot compile operation '(?P<layer>[^']+)' for (?P<target>[^:]+): (?P<why>.+?) is not supported",
        "{target} cannot run {layer}: no {why}",
        "export the layer with another type (FP16 in a strongly typed model), or leave this GPU out of the targets",
    ),
    known_failure(
        "missing_plugin",
        r"(?P<plugin>\w{1,99}) plugin creator version \d+ was not found"
        r"|getPluginCreator could not find plugin:? ?(?P<plugin2>\S*)|Plugin not found, are the plugin name",
        "a plugin is missing{plugin_named}",
        "give its library with {plugin}; the same message appears for operators that need a newer TensorRT",
    ),
    known_failure(
        "no_dla",
        r"Cannot create DLA engine",
        "no such DLA core on this device",
        "remove {dla}, or choose an existing core (0 or 1 on Xavier, AGX Orin and Orin NX)",
    ),
    known_failure(
        "dla_fallback",
        r"Assertion allowGPUFallback failed|not supported on DLA (?:but|and) GPU fallback is not enabled",
        "a layer cannot run on the DLA, and GPU fallback is not allowed",
        "add {gpu_fallback}",
    ),
    known_failure(
        "type_mismatch",
        r"(?P<layer>[^\s(]{1,300}): [^:]{0,99}must have (?:the )?same (?:input )?types?\. But they are of types "
        r"(?P<types>[^.)]+)|(?:inputs?|operands?) (?:types )?must have (?:the )?same (?:input )?types?"
        r"|must have same input types|in a strongly typed network",
        "an operator has inputs of different types, which a strongly typed network does not convert{types_named}",
        "add a Cast to the model; up to TensorRT 10 without --stronglyTyped the builder converts",
    ),
    known_failure(
        "block_size",
        r"must have (?:a )?scalar block_?size|block_?size [^.]*(?:must|should|not supported)",
        "the block size of a quantization does not suit this TensorRT",
        "quantize with blocks that it supports (16 of NVFP4, 32 of MXFP8, 64 or 128 of INT4; a scalar for one dimension)",
    ),
    known_failure(
        "dimensions",
        r"nbDims\b.{0,20}MAX_DIMS",
        "a tensor has more dimensions than TensorRT allows (8)",
        "fold constants of the model, or export it with static shapes: an unknown rank is often the cause",
    ),
    known_failure(
        "unsupported_op",
        r"While parsing node number (?P<number>\d+) \[(?P<op>.+?) ->",
        "node {number} of the model, operator {op}, cannot be parsed",
        _PARSER,
        is_general=True,
    ),
    known_failure(
        "unsupported_op",
        r"Invalid Node - (?P<node>\S+)",
        "node {node} of the model cannot be parsed",
        _PARSER,
        is_general=True,
    ),
    known_failure(
        "missing_onnx",
        r"Input file cannot be found, or is not a regular file: (?P<file>\S.*)",
        "there is no ONNX file {file}",
        "check the path of --onnx, from the directory where trtexec runs",
    ),
    known_failure(
        "bad_onnx",
        r"Failed to parse onnx file|Failed to parse ONNX model from file|Parsing model failed|Failed to open file",
        "the ONNX file cannot be parsed",
        "check it with onnx.checker; external weights must be next to it",
        is_general=True,
    ),
    known_failure(
        "bad_model",
        r"Model missing or format not recognized",
        "trtexec does not recognize the file as a model",
        "--onnx takes ONNX, {engine} a serialized engine",
    ),
    known_failure(
        "cuda_graph",
        r"cudaErrorStreamCapture|not permitted when stream is capturing|operation would make the legacy stream depend"
        r"|(?:CUDA|cuda) ?graph (?:capture )?(?:has )?failed|cudaStreamEndCapture|cudaGraphInstantiate",
        "the engine cannot be captured in a CUDA graph",
        "{cuda_graph}",
    ),
    known_failure(
        "shapes_static",
        r"Static model does not take explicit shapes",
        "shapes are given, but the model's shapes are fixed",
        "remove --shapes, {shapes}",
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
        r"|Dynamic dimensions required for input:? (?P<name2>[^,\s]+).*but no shapes were provided\.?$"
        r"|network has dynamic or shape inputs, but no optimization profile has been defined",
        "the model has dynamic shapes, and none are given",
        "add {shapes} (input:1x3x224x224)",
    ),
    known_failure(
        "shapes_constraints",
        r"k(?P<which>MIN|OPT|MAX)\b.{0,80}violates? (?:the )?shape constraints|violates? shape constraints",
        "the {which} shapes of the profile contradict each other or the model",
        "{shapes} must agree in the dimensions that the model needs to be equal, and min ≤ opt ≤ max in every dimension",
    ),
    known_failure(
        "shapes_profile",
        r"(?P<name>[^\s(]{1,300}): for dimension number (?P<dimension>\d+) in profile (?P<number>\d+) does not match network"
        r"|does not match network definition \(got min",
        "the given shapes do not fit the model{where}",
        "{shapes} must have the fixed dimensions of the model's input",
    ),
    known_failure(
        "calibration",
        r"Calibration failure occurred with no scaling factors|calibration (?:cache|table) (?:is )?(?:empty|invalid)",
        "INT8 calibration failed: missing scales",
        "add the calibration cache of this model ({calibration}), or use a model with Q/DQ nodes",
    ),
    known_failure(
        "shapes_range",
        r"(?:Static dimension mismatch|does not satisfy any optimization profiles|dimension[s]? .*out of range"
        r"|Supplied binding dimension .* for bindings)",
        "a given shape is outside the range of the engine",
        "choose --shapes within the ranges of the build ({shapes})",
    ),
    known_failure(
        "illegal_access",
        r"illegal memory access|misaligned address|cudaErrorIllegalAddress|cudaErrorMisalignedAddress",
        "illegal memory access by a kernel",
        "check plugins first (compute-sanitizer finds the kernel); without plugins use another TensorRT",
    ),
    known_failure(
        "out_of_memory",
        r"OutOfMemory|\(out of memory\)|could not be allocated|cudaErrorMemoryAllocation|std::bad_alloc"
        r"|NvMapMemAllocInternalTagged: .* error 12|Device memory is insufficient",
        "out of memory",
        _FREE_MEMORY + "; or lower {workspace}, or use smaller shapes",
    ),
    known_failure(
        "no_implementation",
        r"Could not find any implementation for node (?P<node>.+?)\.\)?(?: |$)",
        "TensorRT has no kernel for {node}",
        "allow more memory ({workspace}) or another precision for the layer ({layer_types}), or use a newer TensorRT",
        is_general=True,
    ),
)


class Recognised(NamedTuple):
    """A failure found in an output.

    Attributes:
        line: The text that matched.
        match: Its groups.
    """

    failure: Failure
    line: str
    match: re.Match[str]

    @property
    def key(self) -> str:
        return self.failure.key

    @property
    def cause(self) -> str:
        """The clause with its groups filled in."""
        return self.failure.cause.format_map(_fields(self.match, {}))

    def remedy(self, producer: str = "trtexec", version: str | None = None) -> str:
        """Return what to do, with the options of the producer and of its release."""
        options = {name: _spell(spellings, producer, version) for name, spellings in _OPTIONS.items()}
        return self.failure.remedy.format_map(_fields(self.match, options))


class _Fields(dict[str, str]):
    """Groups of a pattern and options; what did not match is `not stated`."""

    def __missing__(self, key: str) -> str:
        return "not stated"


def _fields(match: re.Match[str], options: Mapping[str, str]) -> Mapping[str, str]:
    groups = {key.rstrip("234"): value for key, value in match.groupdict().items() if value}
    named = {
        "plugin_named": f": {groups['plugin']}" if groups.get("plugin") else "",
        "sm_named": f" (SM {groups['sm']})" if "sm" in groups else "",
        "types_named": f": {groups['layer']}, {groups['types'].strip()}" if "types" in groups else "",
        "where": "",
        "history": _HISTORY.get(groups.get("name", ""), "see trtexec --help of this release"),
    }
    if "dimension" in groups:
        named["where"] = (
            f": input {groups['name']}, dimension {groups['dimension']}, profile {groups['number']}"
        )
    return _Fields({**groups, **named, **options})


def _spell(spellings: Mapping[str, str], producer: str, version: str | None) -> str:
    if producer in spellings:
        return spellings[producer]
    known = parse_version(version)
    for first, text in spellings.items():
        if not first or (
            first[0].isdigit() and (known is None or parse_version(first) or ()) <= (known or (99,))
        ):
            return text
    return ""


def parse_version(version: str | None) -> tuple[int, ...]:
    """Return the numbers of a version, for comparison; empty if it is unknown, or of TensorRT-RTX, which counts anew."""
    if not version or not version[0].isdigit():
        return ()
    return tuple(int(part) for part in re.findall(r"\d{1,9}", version))


_LONGEST_TEXT, _MOST_ERRORS = 1500, 100
"""Characters of a message, and errors of a log, in which the cause is searched: it comes first."""


def recognise(texts: Iterable[str]) -> Recognised | None:
    """Find the first known failure, in the order of the table, in the lines of an output."""
    lines = [text[:_LONGEST_TEXT] for text in texts]
    for failure in FAILURES:
        for line in lines:
            if match := failure.pattern.search(line):
                return Recognised(failure, line, match)
    return None


# --- the failure in a log ----------------------------------------------------------------------------------------------


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
    r"|--- (?:Begin|End) node ---|Got invalid engine|Assertion engine(?:Ptr)? != nullptr failed"
    r"|could not build engine|Failed to read header",
    re.IGNORECASE,
)
"""Errors that follow from others."""
_END_OF_BUILD = re.compile(
    r"buildSerializedNetwork|buildEngineWithConfig|deserializeCudaEngine: Error|Failed to parse onnx file"
    r"|Parsing model failed"
)
"""Errors after which there is no engine, in programs without a banner."""
_NOT_LOADED = re.compile(r"Engine deserialization failed|Engine (?:set up|loading) failed", re.IGNORECASE)
_CRASHED = re.compile(r"Segmentation fault|Illegal instruction|Aborted\b")
"""What the shell prints when a program has died: before a banner it is of another program. Errors of the run itself may come
before its banner, since stderr is not buffered.
"""
_RESULTS = ("engine build", "engine generation", "engine deserialization", "inference")
_NEAR_LINES = 30
"""Lines between a skipped tactic and the error that follows from it."""
_PRODUCERS = (
    ("onnxruntime", "TensorrtExecutionProvider"),
    ("onnxruntime", "TensorRT EP"),
    ("deepstream", "nvdsinfer"),
)


def find_failure(trace: BuildTrace, producer: str | None = None) -> LogFailure | None:
    """Return why the last run of a log failed; None if it passed, or if nothing shows that it failed.

    The cause is the first error that is not the consequence of another. A log without the final banner counts as failed only
    if its errors are known failures, or end a build, and no result follows them. trtexec may print PASSED although the engine
    was not loaded.

    Args:
        producer: Whose spelling of options the remedy has, such as `capture`; None for the program that wrote the log.
    """
    run = trace.runs[-1] if trace.runs else None
    start = run.line if run is not None and run.status is not None and len(trace.runs) > 1 else 0
    first = run.line if run is not None else 0
    own = [
        message
        for message in trace.messages
        if message.last_line >= start and (message.last_line >= first or not _CRASHED.match(message.text))
    ]
    errors = [message for message in own if message.severity in "EF"]
    errors = errors if len(errors) <= _MOST_ERRORS else [*errors[: _MOST_ERRORS - 9], *errors[-9:]]
    is_loaded = not any(_NOT_LOADED.search(message.text) for message in errors)
    if run is not None and run.status not in (None, "FAILED") and (is_loaded or not run.loads_engine):
        return None
    is_certain = run is not None and run.status is not None
    if not is_certain:
        if not _ends_with_errors(trace, errors):
            return None
        is_certain = run is None and any(_END_OF_BUILD.search(message.text) for message in errors)
    cause = _find_cause(errors) or _first_warning(own)
    if cause is None:
        return None
    message, known = cause
    if known is None:
        text = " ".join(_reason(message.text) or message.text.split())
        return LogFailure("", is_certain, text, None, "", message.line)
    producer = producer or find_producer(trace)
    later = errors[errors.index(message) :] if message in errors else [message, *errors]
    reason = next((" ".join(words) for error in later if (words := _reason(error.text))), None)
    if known.key == "no_implementation" and (lack := _find_lack(trace, message.line)):
        return _failure_of_memory(trace, known, lack, message.line, reason, producer, is_certain=is_certain)
    if reason is not None and reason.rstrip(".").lower() in known.cause.lower():
        reason = None
    remedy = known.remedy(producer, trace.tensorrt_version) + _describe_given(trace, known.key)
    return LogFailure(known.key, is_certain, known.cause, reason, remedy, message.line)


def _describe_given(trace: BuildTrace, key: str) -> str:
    """Return the workspace that the command gave, if the remedy names it; else empty."""
    run = trace.runs[-1] if trace.runs else None
    if run is None or key not in ("no_implementation", "layer_memory", "out_of_memory"):
        return ""
    given = ((name, run.argument(name)) for name in ("memPoolSize", "workspace"))
    return next((f"; the command has --{name}={value}" for name, value in given if value), "")


def _ends_with_errors(trace: BuildTrace, errors: list[Message]) -> bool:
    results = [phase.line for phase in trace.phases if phase.kind in _RESULTS]
    if trace.performance is not None:
        results.append(trace.performance.line)
    last = max((message.last_line for message in errors), default=0)
    is_end = any(
        message.severity == "F" or pattern.search(message.text)
        for pattern in (_CONSEQUENCES, _END_OF_BUILD, _CRASHED)
        for message in errors
    )
    return (is_end or recognise(message.text for message in errors) is not None) and last > max(
        results, default=0
    )


_Cause = tuple[Message, Recognised | None]


def _find_cause(errors: list[Message]) -> _Cause | None:
    """Return the first error that is not a consequence, with its entry.

    A general one, and one without a reason or entry, gives way to the first precise one after it: the parser prints the
    number of a node before what is wrong with it.
    """
    causes = [(error, recognise([error.text])) for error in errors if not _CONSEQUENCES.search(error.text)]
    if not causes:
        known = [(error, recognise([error.text])) for error in errors]
        return next((cause for cause in known if cause[1] is not None), known[0] if known else None)
    message, known_first = causes[0]
    if known_first is None and _reason(message.text):
        return causes[0]
    if known_first is not None and not known_first.failure.is_general:
        return causes[0]
    precise = (cause for cause in causes[1:] if cause[1] is not None and not cause[1].failure.is_general)
    general = (cause for cause in causes if cause[1] is not None)
    return next(precise, None) or next(general, None) or causes[0]


def _first_warning(messages: list[Message]) -> _Cause | None:
    """Return a warning about memory that explains a failure without errors."""
    known = ((message, recognise([message.text])) for message in messages[:_MOST_ERRORS])
    return next((cause for cause in known if cause[1] is not None and cause[1].key == "out_of_memory"), None)


def _find_lack(trace: BuildTrace, line: int) -> SkippedTactic | None:
    """Return the tactic with the smallest need that was skipped for memory just before an error; None if none was."""
    near = [
        tactic
        for tactic in trace.skipped
        if line - _NEAR_LINES <= tactic.line < line and tactic.requested_bytes
    ]
    return min(near, key=lambda tactic: tactic.requested_bytes or 0, default=None)


def _failure_of_memory(
    trace: BuildTrace,
    known: Recognised,
    lack: SkippedTactic,
    line: int,
    reason: str | None,
    producer: str,
    *,
    is_certain: bool,
) -> LogFailure:
    """Return the failure of a layer whose tactics need more memory than allowed or free."""
    needed = format_bytes(lack.requested_bytes)
    there = (
        f", {format_bytes(lack.available_bytes)} are available" if lack.available_bytes is not None else ""
    )
    cause = f"too little memory for {known.match['node']}: its tactic needs {needed}{there}"
    if lack.reason == "device memory":
        remedy = _FREE_MEMORY
    else:
        version = trace.tensorrt_version
        mib = -(-(lack.requested_bytes or 0) // 2**20)
        option = (
            _spell(_OPTIONS["workspace"], producer, version)
            .replace("MIB", str(mib))
            .replace("BYTES", f"{mib} << 20")
        )
        amount = f" ≥ {mib} MiB" if str(mib) not in option else " or more (MiB)" if "--" in option else ""
        remedy = f"allow a larger workspace: {option}{amount}; if it is large enough, free device memory"
        remedy += _describe_given(trace, "layer_memory")
    return LogFailure("layer_memory", is_certain, cause, reason, remedy, line)


def find_producer(trace: BuildTrace) -> str:
    """Return who built the engine, for the spelling of options: `trtexec`, `onnxruntime`, `deepstream`, `python`."""
    if trace.runs or trace.has_printed_options:
        return "trtexec"
    texts = " ".join(message.text for message in trace.messages)
    known = next((producer for producer, mark in _PRODUCERS if mark in texts), None)
    return known or ("trtexec" if any(message.is_trtexec for message in trace.messages) else "python")


def _reason(text: str) -> list[str]:
    """Return the words of the reason in an error; empty if it states none."""
    match = _REASON.search(text)
    return (match["reason"] or match["assertion"]).split() if match else []
