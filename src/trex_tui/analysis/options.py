"""Options of trtexec: which release has which, and what the logs, metadata and commands of an engine state.

A *label* is the text before the first colon in trtexec's log, and the key in trex's metadata. Releases renamed some of them:
a setting has all its labels. trex cut each value at its second colon; `Setting.is_cut` detects such values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from trex_tui.artifacts.kinds import FileKind
from trex_tui.artifacts.metadata import number_in
from trex_tui.column import Column
from trex_tui.engine.model import Engine, per_engine
from trex_tui.errors import ArtifactError
from trex_tui.frames import plain_values
from trex_tui.text import format_bytes, format_shape

if TYPE_CHECKING:
    from trex_tui.buildlog.trace import BuildTrace

Version = tuple[int, ...]

# Options by release


class Option(NamedTuple):
    """An option or a feature of the builder, and who has it.

    Attributes:
        name: `--fp16`, or words such as `strongly typed`.
        first_version, last_version: Releases of TensorRT, inclusive; empty for no limit.
        producer: `trtexec`, `tensorrt_rtx`, `torch_tensorrt`, …; empty for all.
        min_compute_capability: 89 for sm_89; 0 for any GPU.
    """

    name: str
    first_version: Version = ()
    last_version: Version = ()
    producer: str = ""
    min_compute_capability: int = 0

    def fits(
        self, version: Version | None, producer: str = "", compute_capability: int | None = None
    ) -> bool | None:
        """Return whether a release, producer and GPU have the option; None if that depends on an unknown fact.

        A release is one of TensorRT: TensorRT-RTX has other numbers (`parse_version`).
        """
        if self.producer and producer and self.producer != producer:
            return False
        if version and self.first_version and version < self.first_version[: len(version)]:
            return False
        if version and self.last_version and version[: len(self.last_version)] > self.last_version:
            return False
        if compute_capability is not None and compute_capability < self.min_compute_capability:
            return False
        is_unknown = not version and bool(
            self.first_version or self.last_version or (self.producer and not producer)
        )
        is_unknown = is_unknown or (compute_capability is None and self.min_compute_capability > 0)
        return None if is_unknown else True


_RELEASES = """
8.0.1-8.6: --batch --deploy --maxBatch --model --output --uff --uffInput --uffNHWC
8.0.1-9.3: --buildOnly --explicitBatch --explicitPrecision --minTiming --nvtxMode --workspace
8.0.1-10.16: --best --calib --fp16 --int8 --maxShapesCalib --minShapesCalib --optShapesCalib
8.0.1-: --allowGPUFallback --avgRuns --avgTiming --device --dumpOutput --dumpProfile --dumpRefit --duration
  --exportOutput --exportProfile --exportTimes --exposeDMA --help --inputIOFormats --iterations --loadEngine --loadInputs
  --maxShapes --minShapes --noBuilderCache --noDataTransfers --noTF32 --onnx --optShapes --outputIOFormats --percentile
  --plugins --refit --safe --saveEngine --separateProfileRun --serialized --shapes --sleepTime --sparsity --streams
  --tacticSources --threads --timeDeserialize --timeRefit --timingCacheFile --useCudaGraph --useDLACore --useSpinWait
  --verbose --warmUp
8.2.1-10.16: --precisionConstraints --restricted
8.2.1-: --consistency --directIO --dumpLayerInfo --exportLayerInfo --idleTime --profilingVerbosity --useManagedMemory
8.4.1-10.16: --layerOutputTypes --layerPrecisions
8.4.1-: --memPoolSize --std
8.5.1-9.3: --heuristic
8.5.1-: --persistentCacheRatio --preview
8.6.1-10.16: --fp8
8.6.1-: --buildDLAStandalone --builderOptimizationLevel --dumpRawBindingsToFile --dynamicPlugins --excludeLeanRuntime
  --hardwareCompatibilityLevel --ignoreParsedPluginLibs --infStreams --layerDeviceTypes --leanDLLPath --maxAuxStreams
  --setPluginsToSerialize --skipInference --staticPlugins --tempdir --tempfileControls --useRuntime --vc
  --versionCompatible
9.1-9.3: --nativeInstanceNorm --ni
9.1-10.16: --bf16 --calibProfile
9.1-: --dumpOptimizationProfile --getPlanVersionOnly --noCompilationCache --profile --useProfile
9.3-10.16: --weightless
10.0.1-: --errorOnTimingCacheMiss --stronglyTyped
10.0.1-: --allocationStrategy --allowWeightStreaming --markDebug --pi --pluginInstanceNorm --saveDebugTensors
  --stripWeights --weightStreamingBudget
10.1-10.16: --int4
10.1-: --stripAllWeights
10.2-: --runtimePlatform
10.4-: --maxTactics
10.6-: --monitorMemory
10.7-: --asyncFileReader
10.8-: --l2LimitForTiling --tilingOptimizationLevel
10.11-: --uint8AsymmetricQuantizationDLA
10.12-: --distributiveIndependence --markUnfusedTensorsAsDebugTensors --saveAllDebugTensors
10.13.3-: --dumpKernelText --remoteAutoTuningConfig --safetyPlugins
10.14-: --decomposableAttentions --refitFromOnnx
10.15-: --cpuOnly --enablePluginOverride
10.16-: --adjustForDLA --reportCapabilityDLA
11.0-: --includeDataTransfers --noCudaGraph --noSpinWait
11.1-: --accuracyAlgorithm --accuracyThreshold --atol --continue --dryRun --helpBuildRoute --loadRefOutputs --refPair
  --rtol --saveAllEngines --setBuildRoute --tuneBuildRouteFile --tuneBuildRoutes --tuningCacheFile --tuningResultFile
  --tuningSearch --tuningTimeOut
"""
"""First and last release whose option parser reads the options (samples/common/sampleOptions.cpp of NVIDIA/TensorRT). In 11
`--int8` is read by the safe mode alone; `--errorOnTimingCacheMiss` and `--stronglyTyped` came to public releases with 10.0.
"""
_FEATURES = (
    Option("strongly typed", (10, 0)),
    Option("INT4 weights", (10, 0)),
    Option("FP8", (8, 6), min_compute_capability=89),
    Option("FP4", (10, 8), min_compute_capability=100),
    Option("fp16:chw4", (8, 0), (10, 11)),
    Option("int8:chw4", (8, 0)),
    Option("kernels of closed blocks", (10, 0)),
    Option("timing cache", producer="trtexec"),
    Option("--runtimeCacheFile", producer="tensorrt_rtx"),
    Option("--rtxCudaGraphStrategy", producer="tensorrt_rtx"),
    Option("--specializeStrategyDS", producer="tensorrt_rtx"),
)
"""Features that remedies name; kCHW4 exists for FP16 and INT8 alone (include/NvInferRuntimeBase.h of every release)."""
_OF_ENTERPRISE = frozenset(
    f"--{name}"
    for name in (
        *(
            "best",
            "bf16",
            "calib",
            "errorOnTimingCacheMiss",
            "fp16",
            "fp8",
            "int4",
            "int8",
            "layerPrecisions",
        ),
        *("precisionConstraints", "tacticSources", "timingCacheFile", "useDLACore"),
    )
)
"""Options that tensorrt_rtx refuses or ignores: it is strongly typed, and tunes at run time."""


def parse_version(text: str | None) -> Version | None:
    """Parse a version into numbers, for comparison; None for an invalid text, and of TensorRT-RTX, which counts anew."""
    numbers = tuple(int(part) for part in re.findall(r"\d{1,9}", text or ""))
    return None if not numbers or "rtx" in (text or "").lower() else numbers


def _read_releases() -> Iterator[Option]:
    for first, last, names in re.findall(r"^([\d.]+)-([\d.]*):((?:\s+--\w+)+)", _RELEASES, re.MULTILINE):
        for name in names.split():
            producer = "trtexec" if name in _OF_ENTERPRISE else ""
            yield Option(name, parse_version(first) or (), parse_version(last) or (), producer)


OPTIONS = {option.name: option for option in (*_read_releases(), *_FEATURES)}
"""Options of trtexec and features, by name."""


# Settings: options as files state them

_SWITCH = {"enabled": True, "enable": True, "disabled": False, "disable": False, "1": True, "0": False}
_NUMBER = re.compile(r"\s*([-+]?\d{1,18}(?:\.\d{1,18})?)(?![\d.])")
_WARM_UP = re.compile(r"\+ (\d{1,12}(?:\.\d{1,12})?)\s*ms warm")
_POOL = re.compile(
    r"\s*(?:(?P<name>[A-Za-z]\w{0,40}):)?\s*(?P<size>default|\d{1,18}(?:\.\d{1,18})?)\s*(?P<unit>[A-Za-z]*)\s*"
)
_POOL_UNITS = {"": 20, "b": 0, "k": 10, "kib": 10, "m": 20, "mib": 20, "g": 30, "gib": 30}
_SHAPE = re.compile(r"\d{1,12}(?:x\d{1,12})*|scalar")
_VERBOSITIES = {"0": "layer names only", "1": "none", "2": "detailed"}
_BRACKETS = (("{", "}"), ("[", "]"), ("(", ")"))
_LONGEST_LIST = 6


def _text(text: str) -> str | None:
    return text or None


def _word(text: str) -> str | None:
    return text.lower() or None


def parse_switch(text: str) -> bool | None:
    """Return whether a text means on or off; None for other texts."""
    return _SWITCH.get(text.strip().lower())


def _typing(text: str) -> bool | None:
    return "strongly typed" in text.lower() if text else None


def _number(text: str) -> float | int | None:
    match = _NUMBER.match(text)
    if match is None:
        return None
    return int(match[1]) if "." not in match[1] else float(match[1])


def _warmup(text: str) -> float | int | None:
    """Return the milliseconds in `3s (+ 200ms warm up)`, or a bare number."""
    match = _WARM_UP.search(text)
    if match:
        return _number(match[1])
    return _number(text) if _NUMBER.fullmatch(text) else None


def parse_pools(text: str) -> dict[str, int | None] | None:
    """Return pool -> bytes, None for the default: `workspace: 1024 MiB, dlaSRAM: default`, or `16 MiB` of TensorRT 8.2."""
    pools: dict[str, int | None] = {}
    for part in text.split(","):
        match = _POOL.fullmatch(part)
        power = _POOL_UNITS.get(match["unit"].lower()) if match else None
        if match is None or (power is None and match["size"] != "default"):
            return None
        size = None if match["size"] == "default" else round(float(match["size"]) * 2 ** (power or 0))
        pools[match["name"] or "workspace"] = size
    return pools


def parse_shapes(text: str) -> list[dict[str, Any]] | None:
    """Return inputs with their shape, or with `min`, `opt` and `max`: `x=4x1x28x28`, `x=1x3+4x3+16x3, y=2`."""
    inputs = []
    for part in text.split(", "):
        name, equals, shapes = part.strip().rpartition("=")
        texts = shapes.split("+")
        if not equals or len(texts) not in (1, 3) or not all(map(_SHAPE.fullmatch, texts)):
            return None
        parsed = [[] if shape == "scalar" else list(map(int, shape.split("x"))) for shape in texts]
        keys = ("shape",) if len(parsed) == 1 else ("min", "opt", "max")
        inputs.append({"name": name, **dict(zip(keys, parsed, strict=True))})
    return inputs


def _verbosity(text: str) -> str | None:
    return _VERBOSITIES.get(text, text.replace("_", " ")) or None


def format_value(value: Any) -> str:  # noqa: ANN401 - a parsed value
    """Write the value of a setting for people."""
    if isinstance(value, bool):
        return "enabled" if value else "disabled"
    if isinstance(value, dict):
        known = [f"{name} {format_bytes(size)}" for name, size in value.items() if size is not None]
        return ", ".join(known + ([f"{'others ' * bool(known)}default"] if None in value.values() else []))
    if isinstance(value, list):
        texts = [_format_input(entry) for entry in value[:_LONGEST_LIST]]
        rest = len(value) - _LONGEST_LIST
        return "; ".join(texts) + (f"; {rest} more" if rest > 0 else "")
    return "default" if value == -1 else str(value)


def _format_input(entry: Mapping[str, Any]) -> str:
    if "shape" in entry or entry["min"] == entry["max"]:
        return f"{entry['name']} {format_shape(entry.get('shape', entry.get('opt')))}"
    low, best, high = (format_shape(entry[key]) for key in ("min", "opt", "max"))
    return f"{entry['name']} {low} to {high}, optimized for {best}"


class Setting(NamedTuple):
    """An option as trtexec prints it.

    Attributes:
        key: Name in JSON, the unit at its end.
        labels: As trtexec prints it; the first is the current one.
        parse: Returns the typed value of a text; None for an invalid text.
        defaults: Texts of the default in lower case, printed or displayed; empty if it depends on the release.
        flags: Flags on the command line; without a value they enable it. Those after `-` disable it.
        is_main: Shown at its default too.
        is_detail: Shown on request only.
        has_colon: A complete value that is not the default has a colon, unless `parse` accepts it without.
    """

    key: str
    title: str
    labels: tuple[str, ...]
    parse: Callable[[str], Any]
    help: str
    defaults: tuple[str, ...]
    flags: tuple[str, ...]
    off_flags: tuple[str, ...]
    is_main: bool
    is_detail: bool
    has_colon: bool

    def is_default(self, text: str) -> bool:
        if text.lower() in self.defaults:
            return True
        value = self.parse(text)
        return value is not None and format_value(value).lower() in self.defaults

    def is_cut(self, text: str) -> bool:
        """Return whether a value in trex's metadata is only the part before a colon."""
        if not text or self.is_default(text):
            return False
        is_whole = ":" in text or (self.parse is not _text and self.parse(text) is not None)
        return is_cut(text) or (self.has_colon and not is_whole)


def is_cut(text: str) -> bool:
    """Return whether a text ends inside brackets or quotes, or is a drive letter."""
    is_open = any(text.count(first) > text.count(last) for first, last in _BRACKETS)
    return is_open or text.count('"') % 2 == 1 or (len(text) == 1 and text.isalpha())


def _setting(
    key: str,
    title: str,
    labels: str,
    parse: Callable[[str], Any],
    defaults: str | None,
    flags: str,
    help: str,  # noqa: A002 - as the field
    marks: str = "",
) -> Setting:
    on = tuple(flag for flag in flags.split() if flag[0] != "!")
    off = tuple(flag[1:] for flag in flags.split() if flag[0] == "!")
    usual = () if defaults is None else tuple(defaults.split("|"))
    are_marked = ("main" in marks, "detail" in marks, "colon" in marks)
    return Setting(key, title, tuple(labels.split("|")), parse, help, usual, on, off, *are_marked)


def _switch(key: str, title: str, labels: str, flags: str, help: str, marks: str = "") -> Setting:  # noqa: A002
    return _setting(key, title, labels, parse_switch, "disabled|0", flags, help, marks)


BUILD_SETTINGS = (
    _setting("precision", "Precision", "Precision", _text,
        None, "", "Precisions the builder may choose from", "main"),
    _setting("strongly_typed", "Strongly typed", "Precision", _typing,
        "disabled", "", "Types are those of the model"),
    _setting("memory_pools_bytes", "Memory pools", "Memory Pools|Workspace", parse_pools,
        "default", "--memPoolSize --workspace", "Memory that the builder may use, by pool", "main colon"),
    _setting("optimization_level", "Optimization level", "BuilderOptimizationLevel", _number,
        "-1|3", "--builderOptimizationLevel", "Search effort of the builder, 0 to 5; -1 for its default, 3"),
    _setting("sparsity", "Sparsity", "Sparsity", _word,
        "disabled|disable", "--sparsity", "Use of sparse kernels"),
    _setting("tactic_sources", "Tactic sources", "Tactic sources", _text,
        "using default tactic sources", "--tacticSources", "Libraries of tactics"),
    _setting("timing_cache_mode", "Timing cache", "timingCacheMode", _text,
        "local|global", "", "Storage of tactic times: local to the build, global in a file, or none"),
    _setting("timing_cache_file", "Timing cache file", "timingCacheFile", _text,
        "", "--timingCacheFile", "File of the timing cache"),
    _switch("refit", "Refit", "Refit", "--refit", "Weights can be replaced in the engine"),
    _switch("strip_weights", "Weights stripped", "Strip weights|Weightless",
        "--stripWeights --weightless", "The engine has no weights"),
    _switch("weight_streaming", "Weight streaming", "Weight Streaming",
        "--allowWeightStreaming", "Weights may stay in host memory"),
    _setting("dla_core", "DLA core", "DLACore", _number,
        "|-1", "--useDLACore", "DLA core that layers are placed on"),
    _switch("dla_gpu_fallback", "GPU fallback for DLA", "Allow GPU fallback for DLA",
        "--allowGPUFallback", "Layers that the DLA cannot run go to the GPU"),
    _switch("dla_standalone", "DLA loadable", "Build DLA standalone loadable",
        "--buildDLAStandalone", "The result is a DLA loadable"),
    _setting("avg_timing", "avgTiming", "avgTiming", _number,
        "8", "--avgTiming", "Timing runs per tactic that are averaged"),
    _setting("min_timing", "minTiming", "minTiming", _number,
        "1", "--minTiming", "Minimum timing runs per tactic, up to TensorRT 9"),
    _setting("max_aux_streams", "Auxiliary streams", "MaxAuxStreams", _number,
        "-1", "--maxAuxStreams", "Maximum number of auxiliary streams; -1 is TensorRT's choice"),
    _setting("max_tactics", "Tactics per layer", "MaxTactics", _number,
        "-1", "--maxTactics", "Maximum number of tactics per layer; -1 for no limit"),
    _setting("layer_precisions", "Layer precisions", "LayerPrecisions", _text,
        "", "--layerPrecisions", "Precisions requested for layers", "colon"),
    _setting("layer_device_types", "Layer devices", "Layer Device Types", _text,
        "", "--layerDeviceTypes", "Devices requested for layers", "colon"),
    _setting("calibration", "Calibration", "Calibration", _text, "", "--calib", "Calibration cache of INT8"),
    _setting("calibration_profile", "Calibration profile", "Calibration Profile Index", _number,
        "0", "--calibProfile", "Optimization profile used for calibration"),
    _setting("decomposable_attentions", "Decomposable attentions", "Decomposable Attentions", _text,
        "", "--decomposableAttentions", "Attention layers that may be decomposed"),
    _switch("version_compatible", "Version compatible", "Version Compatible",
        "--versionCompatible --vc", "Later releases can run the engine"),
    _switch("exclude_lean_runtime", "Lean runtime excluded", "Exclude Lean Runtime",
        "--excludeLeanRuntime", "The version-compatible engine lacks its runtime"),
    _setting("runtime", "Runtime", "TensorRT runtime", _text,
        "full", "--useRuntime", "Runtime that runs the engine: full, lean, dispatch"),
    _setting("lean_dll_path", "Lean runtime file", "Lean DLL Path", _text,
        "", "--leanDLLPath", "File of the lean runtime"),
    _setting("runtime_platform", "Runtime platform", "Runtime Platform", _text,
        "same as build|sameasbuild", "--runtimePlatform", "Platform that the engine is built for"),
    _setting("preview_features", "Preview features", "Preview Features", _text,
        "use default preview flags.", "--preview", "Features that are off by default"),
    _setting("tempfile_controls", "Temporary files", "Tempfile Controls", _text,
        "{ in_memory: allow, temporary: allow }", "--tempfileControls", "Allowed temporary files", "colon"),
    _switch("safe_mode", "Safe mode", "Safe mode", "--safe", "Only safety-certified parts are used"),
    _switch("restricted_mode", "Restricted mode", "Restricted mode",
        "--restricted", "The safe scope is enforced"),
    _switch("direct_io", "Direct I/O", "DirectIO mode",
        "--directIO", "Reformats at inputs and outputs are avoided"),
    _switch("heuristic", "Tactic heuristic", "Heuristic",
        "--heuristic", "Tactics are predicted instead of timed"),
    _setting("compilation_cache", "Compilation cache", "Enable Compilation Cache", parse_switch,
        "enabled", "!--noCompilationCache", "Compiled kernels are cached"),
    _switch("error_on_cache_miss", "Error on cache miss", "errorOnTimingCacheMiss",
        "--errorOnTimingCacheMiss", "A tactic without an entry in the timing cache is an error"),
    _switch("monitor_memory", "Memory monitor", "Enable Monitor Memory",
        "--monitorMemory", "Memory use is logged"),
    _switch("cpu_only", "CPU only", "CPU Only Mode", "--cpuOnly", "Built without a GPU"),
    _switch("onnx_instance_norm", "ONNX InstanceNorm plugin", "ONNX Plugin InstanceNorm|ONNX Native InstanceNorm",
        "--pluginInstanceNorm", "The parser uses its other InstanceNormalization"),
    _switch("onnx_uint8_dla", "ONNX UINT8 on DLA", "ONNX kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA flag",
        "--uint8AsymmetricQuantizationDLA", "The parser accepts UINT8 and asymmetric Q/DQ for the DLA"),
    _switch("onnx_dla_report", "ONNX DLA report", "ONNX kREPORT_CAPABILITY_DLA flag",
        "--reportCapabilityDLA", "The parser reports the nodes that the DLA can run"),
    _switch("onnx_dla_adjust", "ONNX DLA adjustment", "ONNX kADJUST_FOR_DLA flag",
        "--adjustForDLA", "The parser rewrites the network for the DLA"),
    _switch("onnx_plugin_override", "ONNX plugin override", "ONNX kENABLE_PLUGIN_OVERRIDE flag",
        "--enablePluginOverride", "Plugins replace operators of the parser"),
    _switch("distributive_independence", "Distributive independence", "Distributive Independence",
        "--distributiveIndependence", "Results do not depend on the batch"),
    _setting("debug_tensors", "Debug tensors", "Debug Tensors", _text,
        "", "--markDebug", "Tensors marked for debugging"),
    _switch("debug_unfused_tensors", "Unfused debug tensors", "Mark Unfused Tensors As Debug Tensors",
        "--markUnfusedTensorsAsDebugTensors", "All unfused tensors are marked for debugging"),
    _setting("input_formats", "Input formats", "Input(s)s format", _text,
        "fp32:chw|chw|", "--inputIOFormats", "Types and layouts requested for inputs", "colon"),
    _setting("output_formats", "Output formats", "Output(s)s format", _text,
        "fp32:chw|chw|", "--outputIOFormats", "Types and layouts requested for outputs", "colon"),
    _setting("calibration_shapes", "Calibration shapes", "Input calibration shapes|Input calibration shape", _text,
        "model|", "", "Shapes of inputs for calibration"),
    _setting("profiling_verbosity", "Profiling verbosity", "Profiling verbosity", _verbosity,
        "0|layer_names_only", "--profilingVerbosity", "Detail of the layer information in the engine"),
    _setting("max_batch", "Largest batch", "Max batch", _number,
        "explicit batch", "--maxBatch", "Largest batch of an implicit-batch engine"),
    _setting("static_plugins", "Static plugins", "Loaded static plugins|Plugins", _text,
        "", "--staticPlugins --plugins", "Plugin libraries"),
    _setting("dynamic_plugins", "Dynamic plugins", "dynamicPlugins", _text,
        "", "--dynamicPlugins", "Plugin libraries loaded at run time"),
    _setting("serialized_plugins", "Serialized plugins", "setPluginsToSerialize", _text,
        "", "--setPluginsToSerialize", "Plugin libraries stored in the engine"),
    _switch("ignore_parsed_plugins", "Parsed plugins ignored", "ignoreParsedPluginLibs",
        "--ignoreParsedPluginLibs", "Plugin libraries requested by the parser are ignored", "detail"),
    _switch("skip_inference", "Inference skipped", "Skip inference|Build only",
        "--skipInference --buildOnly", "The run ended after the build", "detail"),
    _setting("engine_file", "Engine file", "Save engine", _text,
        None, "--saveEngine", "File that the engine was written to", "detail"),
    _setting("loaded_engine_file", "Loaded engine", "Load engine", _text,
        "", "", "File that the engine was read from", "detail"),
    _setting("device_index", "Device index", "Device", _number,
        "0", "--device", "Number of the GPU of the build", "detail"),
)  # fmt: skip
RUN_SETTINGS = (
    _setting("duration_s", "Duration", "Duration", _number,
        "3", "--duration", "Minimum duration of the measurement", "main"),
    _setting("warmup_ms", "Warm-up", "Duration|Warm-up", _warmup,
        "200", "--warmUp", "Time before measuring starts", "main"),
    _setting("iterations", "Iterations", "Iterations", _number,
        "10", "--iterations", "Minimum number of queries"),
    _setting("cuda_graph", "CUDA graph", "CUDA Graph", parse_switch,
        None, "--useCudaGraph !--noCudaGraph", "Queries are launched as a CUDA graph; default since 11", "main"),
    _setting("spin_wait", "Spin-wait", "Spin-wait", parse_switch,
        None, "--useSpinWait !--noSpinWait", "The host waits actively; default since 11", "main"),
    _setting("data_transfers", "Transfers", "Data transfers", parse_switch,
        None, "--includeDataTransfers !--noDataTransfers", "Inputs and outputs are copied; default up to 10", "main"),
    _setting("streams", "Streams", "Inference Streams|Streams", _number,
        "1", "--infStreams --streams", "Concurrent queries"),
    _setting("optimization_profile", "Optimization profile", "Optimization Profile Index", _number,
        "0", "--useProfile", "Optimization profile that was run"),
    _setting("sleep_ms", "Sleep time", "Sleep time", _number,
        "0ms|0", "--sleepTime", "Delay before each query on the stream"),
    _setting("idle_ms", "Idle time", "Idle time", _number, "0ms|0", "--idleTime", "Pause between queries"),
    _switch("expose_dma", "Exposed transfers", "ExposeDMA",
        "--exposeDMA", "Transfers do not overlap with compute"),
    _switch("multithreading", "Multithreading", "Multithreading",
        "--threads", "Each stream has its own thread"),
    _switch("separate_profiling", "Separate profiling", "Separate profiling",
        "--separateProfileRun", "Layers are timed in a separate run; always since TensorRT 11"),
    _switch("time_deserialize", "Deserialization timed", "Time Deserialize",
        "--timeDeserialize", "Deserialization of the engine is timed"),
    _switch("time_refit", "Refit timed", "Time Refit", "--timeRefit", "Refitting is timed"),
    _setting("nvtx_verbosity", "NVTX verbosity", "NVTX verbosity", _verbosity,
        "0", "", "Detail of NVTX ranges", "detail"),
    _setting("persistent_cache_ratio", "Persistent cache", "Persistent Cache Ratio", _number,
        "0|0.0", "--persistentCacheRatio", "Share of the L2 cache set aside"),
    _setting("weight_streaming_budget", "Weight streaming budget", "Weight Streaming Budget", _text,
        "100.000000%|disabled|", "--weightStreamingBudget", "GPU memory for streamed weights"),
    _setting("input_files", "Input files", "Inputs", _text,
        "", "--loadInputs", "Files that inputs were read from", "colon"),
    _setting("debug_tensor_files", "Debug tensor files", "Debug Tensor Save Destinations", _text,
        "", "--saveDebugTensors", "Files that debug tensors were written to"),
    _setting("debug_tensor_formats", "Debug tensor formats", "Dump All Debug Tensor in Formats", _text,
        "", "--saveAllDebugTensors", "Formats that debug tensors were written in"),
    _setting("average_runs", "Averages", "Averages", _number,
        "10 inferences|10", "--avgRuns", "Queries per printed average"),
    _setting("percentiles", "Percentiles", "Percentiles|Percentile", _text,
        "90,95,99|99", "--percentile", "Percentiles of the printed summary"),
    _switch("verbose", "Verbose", "Verbose", "--verbose", "The log has verbose messages", "detail"),
    _switch("dump_refittable", "Refittable layers listed", "Dump refittable layers",
        "--dumpRefit", "Refittable layers are listed", "detail"),
    _switch("dump_output", "Output printed", "Dump output", "--dumpOutput", "Outputs are printed", "detail"),
    _switch("dump_profile", "Profile printed", "Profile",
        "--dumpProfile", "Layer times are printed", "detail"),
    _setting("timing_file", "Timing file", "Export timing to JSON file", _text,
        "", "--exportTimes", "File of the timing rows", "detail"),
    _setting("output_file", "Output file", "Export output to JSON file", _text,
        "", "--exportOutput", "File of the outputs", "detail"),
    _setting("profile_file", "Profile file", "Export profile to JSON file", _text,
        "", "--exportProfile", "File of the layer times", "detail"),
)  # fmt: skip
PROFILE_SHAPES = _setting(
    "optimization_profiles", "Optimization profiles", "Input build shape", parse_shapes, "model|", "",
    "Shapes of the inputs by optimization profile",
)  # fmt: skip
RUN_SHAPES = _setting(
    "shapes",
    "Shapes",
    "Input inference shape",
    parse_shapes,
    "model|",
    "",
    "Shapes of the inputs that were run",
)
"""Prefixes of labels: `Input build shape (profile 0)`, `Input build shapes`."""


# Runs of trtexec


class TrtexecRun(NamedTuple):
    """What files state about one run of trtexec.

    Attributes:
        arguments: Words of its command line; empty if no file has it.
        options: Label -> value as printed: of the build, or of the inference. Values that trex cut are incomplete.
        device: Label -> value of the device section.
        logged: Labels that its log states; the others are from metadata, which trex may have cut.
        chosen_shapes: Messages about shapes that trtexec chose itself.
        source: Kinds of the files, for display; empty without a source.
    """

    arguments: tuple[str, ...] = ()
    options: Mapping[str, str] = {}
    device: Mapping[str, str] = {}
    logged: frozenset[str] = frozenset()
    chosen_shapes: tuple[str, ...] = ()
    source: str = ""

    @property
    def is_stated(self) -> bool:
        return bool(self.options or self.arguments)

    def argument(self, *names: str) -> str | None:
        """Return the value of `--name=value`, empty for a bare `--name`; None if it was not given."""
        words = (word.partition("=") for word in self.arguments)
        return next((value for name, _, value in words if name in names), None)

    def value(self, setting: Setting) -> Any:  # noqa: ANN401 - a parsed value
        """Return the typed value of a setting; None if it is not stated, or cut."""
        label = next((label for label in setting.labels if label in self.options), None)
        if label is None or (label not in self.logged and setting.is_cut(self.options[label])):
            return None
        return setting.parse(self.options[label].strip())


def find_log(engine: Engine, kind: FileKind) -> BuildTrace | None:
    """Return the content of a log of the set; None without one, or if it cannot be opened."""
    path = engine.files.get(kind)
    if path is None:
        return None
    from trex_tui.buildlog.reader import read_log

    try:
        return read_log(path, run=engine.log_runs.get(path))
    except ArtifactError:
        return None


def timed_log(engine: Engine) -> BuildTrace | None:
    """Return the log of the run that timed the engine: a separate one, or the build's if that continued with inference."""
    kind = FileKind.PROFILE_LOG if FileKind.PROFILE_LOG in engine.files else FileKind.BUILD_LOG
    return find_log(engine, kind)


@per_engine
def build_run(engine: Engine) -> TrtexecRun:
    """Return the run that built the engine. Metadata or a log of a run that loaded it has no facts about the build."""
    trace, metadata = find_log(engine, FileKind.BUILD_LOG), _texts(engine.facts.build_options)
    metadata = {} if metadata.get("Load engine") else metadata
    if trace is not None and trace.options.build.get("Load engine"):
        trace = None
    in_log = {**trace.options.build, **trace.options.system} if trace else {}
    arguments = tuple(trace.shown_run.command.split()) if trace and trace.shown_run else ()
    device = {**_texts(engine.facts.build_device), **(trace.options.device if trace else {})}
    kinds = ([FileKind.BUILD_LOG] if in_log or arguments else []) + (
        [FileKind.BUILD_METADATA] if metadata else []
    )
    options = metadata | in_log
    command = engine.capture.build_command if engine.capture else ()
    if not options and command:
        options, kinds = options_in_arguments(command, BUILD_SETTINGS), [FileKind.MANIFEST]
        in_log = options
    chosen = trace.chosen_shapes if trace and trace.shown_run == trace.timed_run else ()
    source = ", ".join(kind.value for kind in kinds)
    return TrtexecRun(arguments, options, device, frozenset(in_log), chosen, source)


@per_engine
def timed_run(engine: Engine) -> TrtexecRun:
    """Return the run that timed the engine: a separate one, or the build's if that continued with inference."""
    trace, metadata = timed_log(engine), _texts(engine.facts.inference_options)
    kind = FileKind.PROFILE_LOG if FileKind.PROFILE_LOG in engine.files else FileKind.BUILD_LOG
    skips = trace is not None and "Enabled" in map(
        trace.run_options.build.get, ("Skip inference", "Build only")
    )
    if kind is FileKind.BUILD_LOG and skips:
        trace = None
    in_log = trace.run_options.inference if trace else {}
    in_log = {**in_log, **trace.run_options.reporting} if trace and in_log else {}
    arguments = tuple(trace.timed_run.command.split()) if trace and trace.timed_run else ()
    device = {**_texts(engine.facts.device), **(trace.run_options.device if trace else {})}
    kinds = ([kind] if in_log else []) + ([FileKind.PROFILE_METADATA] if metadata else [])
    options = metadata | in_log
    command = engine.capture.command if engine.capture else ()
    if not options and command:
        options, kinds = options_in_arguments(command, RUN_SETTINGS), [FileKind.MANIFEST]
        in_log = options
    source = ", ".join(found.value for found in kinds)
    return TrtexecRun(
        arguments, options, device, frozenset(in_log), trace.chosen_shapes if trace else (), source
    )


def _texts(section: Mapping[str, object]) -> dict[str, str]:
    return {label: _write(value) for label, value in section.items() if value is not None}


def _write(value: object) -> str:
    """Return a value as trtexec prints it: metadata of other tools has switches, lists and objects where a log has text."""
    if isinstance(value, bool):
        return "Enabled" if value else "Disabled"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_write(part)}" for key, part in value.items())
    return "+".join(map(_write, value)) if isinstance(value, list) else str(value)


def options_in_arguments(arguments: Sequence[str], settings: Sequence[Setting]) -> dict[str, str]:
    """Return label -> value of the options on a command line; missing options are unknown.

    >>> options_in_arguments(["trtexec", "--avgTiming=4", "--refit", "--fp16"], BUILD_SETTINGS)
    {'Precision': 'FP32+FP16', 'avgTiming': '4', 'Refit': 'Enabled'}
    """
    given = {name: (value, equals) for name, equals, value in (word.partition("=") for word in arguments[1:])}
    stated: dict[str, str] = {}
    for setting in settings:
        if setting.key == "precision" and (precisions := _precision(given)):
            stated[setting.labels[0]] = precisions
        for names, switched in ((setting.flags, "Enabled"), (setting.off_flags, "Disabled")):
            for name in (name for name in names if name in given):
                value, equals = given[name]
                if name == "--memPoolSize" and re.search(r"\d[A-Za-z]", value):
                    continue  # Releases parse units differently; the log has the result.
                label = setting.labels[-1 if setting.key == "warmup_ms" else 0]
                stated[label] = value if equals and setting.parse is not parse_switch else switched
    if "--shapes" in given:
        stated[RUN_SHAPES.labels[0]] = _join_shapes([given["--shapes"][0]])
        stated[PROFILE_SHAPES.labels[0]] = _join_shapes([given["--shapes"][0]] * 3)
    ranges = [given[name][0] for name in ("--minShapes", "--optShapes", "--maxShapes") if name in given]
    if len(ranges) == 3:
        stated[PROFILE_SHAPES.labels[0]] = _join_shapes(ranges)
    return stated


def _precision(given: Mapping[str, object]) -> str:
    """Return the precisions of these flags as trtexec prints them; empty without any."""
    if "--stronglyTyped" in given:
        return "Strongly Typed"
    flags = {"--fp16": "FP16", "--bf16": "BF16", "--int8": "INT8", "--fp8": "FP8", "--int4": "INT4"}
    names = ["FP16", "INT8"] if "--best" in given else [name for flag, name in flags.items() if flag in given]
    return "+".join(["FP32", *names]) if names else ""


def _join_shapes(values: Sequence[str]) -> str:
    """Return `x=1x3+4x3+16x3` for the values `x:1x3`, `x:4x3` and `x:16x3`."""
    inputs: dict[str, list[str]] = {}
    for part in (part for value in values for part in value.split(",")):
        name, _, shape = part.rpartition(":")
        inputs.setdefault(name.strip("'\""), []).append(shape)
    return ", ".join(f"{name}={'+'.join(shapes)}" for name, shapes in inputs.items())


# Facts


def find_option(engine: Engine, key: str) -> Any:  # noqa: ANN401 - a parsed value
    """Return the typed value of a setting of the timed run, from its log, metadata or command line; None if unknown."""
    run = timed_run(engine)
    setting = next(setting for setting in RUN_SETTINGS if setting.key == key)
    value = run.value(setting)
    return (
        value
        if value is not None
        else run._replace(options=options_in_arguments(run.arguments, [setting])).value(setting)
    )


def find_flag(engine: Engine, key: str) -> bool | None:
    """Return whether a switch of the timed run is on; None if not in any file."""
    value = find_option(engine, key)
    return value if isinstance(value, bool) else None


def list_settings(run: TrtexecRun, settings: Sequence[Setting], shapes: Setting) -> pd.DataFrame:
    """Return a row per stated setting: key, title, value (typed), text, is_default, is_cut, is_folded, label.

    Labels of no setting follow, with their text alone. A value that trex cut is None.
    """
    rows: list[tuple[Any, ...]] = []
    used: set[str] = set()
    for setting in settings:
        label = next((label for label in setting.labels if label in run.options), None)
        if label is None:
            continue
        text, value = run.options[label].strip(), run.value(setting)
        cut = label not in run.logged and setting.is_cut(text)
        is_default = not cut and setting.is_default(text)
        if value is None and not cut and not is_default:
            continue  # an unknown form
        used.add(label)
        is_folded = setting.is_detail or ((is_default or cut) and not setting.is_main)
        shown = (text or "none") if value is None else format_value(value)
        rows.append((setting.key, setting.title, value, shown, is_default, cut, is_folded, label))
    labels = [label for label in run.options if label.startswith(shapes.labels)]
    parsed = {
        label: shapes.parse(run.options[label])
        for label in labels
        if not shapes.is_default(run.options[label])
    }
    if labels and None not in parsed.values():
        inputs = [_with_profile(label, entry) for label, entries in parsed.items() for entry in entries or ()]
        text = format_value(inputs) if inputs else "from the model"
        rows.append(
            (shapes.key, shapes.title, inputs or None, text, not inputs, False, not inputs, labels[0])
        )
        used.update(labels)
    rows += [
        (None, label, None, text, None, None, False, label)
        for label, text in run.options.items()
        if label not in used
    ]
    keys = ["key", "title", "value", "text", "is_default", "is_cut", "is_folded", "label"]
    return pd.DataFrame(rows, columns=keys, dtype=object)


def _with_profile(label: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    number = re.search(r"\(profile (\d{1,4})\)", label)
    return {"profile": int(number[1]), **entry} if number else dict(entry)


def build_settings(engine: Engine) -> pd.DataFrame:
    """Return the settings of the run that built the engine, as `list_settings`."""
    return list_settings(build_run(engine), BUILD_SETTINGS, PROFILE_SHAPES)


def run_settings(engine: Engine) -> pd.DataFrame:
    """Return the settings of the run that timed the engine, as `list_settings`."""
    run = timed_run(engine)
    options = {label: text for label, text in run.options.items() if label != "Batch"}
    return list_settings(run._replace(options=options), RUN_SETTINGS, RUN_SHAPES)


def device_differences(engine: Engine) -> list[tuple[str, str, str]]:
    """Return label, value of the build and value of the timed run, if the two have different devices."""
    built, ran = build_run(engine).device, timed_run(engine).device
    labels = ("Selected Device", "Compute Capability", "SMs")
    pairs = [(label, built.get(label, ""), ran.get(label, "")) for label in labels]
    return [pair for pair in pairs if pair[1] and pair[2] and _comparable(pair[1]) != _comparable(pair[2])]


def _comparable(value: str) -> object:
    """Return numbers by value: trex writes 30.0 for the 30 of a log."""
    number = number_in(value)
    return value.strip() if number is None else number


def find_batch(engine: Engine) -> tuple[int, str] | None:
    """Return samples per inference, and the source of the number.

    Of an implicit-batch engine from its run, else of static inputs, else of the shapes that were run, else of the optimal
    shapes of the build. None if inputs disagree, nothing states it, or an explicit batch is possible and not certain.
    """
    first = "first extent of the inputs"
    size, is_onnx = _batch_of_inputs(engine), engine.facts.model_options.get("Format") == "ONNX"
    if is_onnx and size is not None:  # before logs are read
        return size, first
    run, built = timed_run(engine).options, build_run(engine).options
    stated, largest = run.get("Batch", ""), built.get("Max batch", "")
    is_number, is_range = (re.fullmatch(r"[0-9]{1,9}", text) is not None for text in (stated, largest))
    is_explicit = is_onnx or not is_number or largest.lower() == "explicit batch"
    if not is_explicit and (is_range or int(stated) > 1 or size in (None, int(stated))):
        return (int(stated), "--batch of the run") if int(stated) and not engine.throughput_doubt else None
    if size is not None:
        return (size, first) if is_explicit else None
    for options, shapes, source in (
        (run, RUN_SHAPES, "shapes of the run"),
        (built, PROFILE_SHAPES, "optimal shapes of the build"),
    ):
        texts = (text for label, text in options.items() if label.startswith(shapes.labels))
        found = [entry.get("shape") or entry["opt"] for text in texts for entry in shapes.parse(text) or ()]
        if found:
            sizes = {shape[0] for shape in found if len(shape) > 1}
            return (sizes.pop(), source) if len(sizes) == 1 else None
    return None


def _batch_of_inputs(engine: Engine) -> int | None:
    inputs = engine.bindings[engine.bindings["role"].eq("input").fillna(False)]
    sizes = {shape[0] for shape in plain_values(inputs["shape"]) if shape and len(shape) > 1}
    size = sizes.pop() if len(sizes) == 1 else None
    return size if size is not None and size > 0 else None


SETTINGS = {
    setting.key: Column(
        setting.key, setting.title, f"{setting.help}.", source=f"trtexec: {setting.labels[0]}"
    )
    for setting in (*BUILD_SETTINGS, PROFILE_SHAPES, *RUN_SETTINGS, RUN_SHAPES)
}
"""Descriptions of the settings, by key."""
