"""Options of trtexec in logs, trex's metadata and command lines: one table for the releases 8.0 to 11.

A label is the text before the first colon in trtexec's log, and the key in trex's metadata. Releases renamed some of them:
an option has all its labels. trex cut each value at its second colon; `Option.is_cut` detects such values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any

from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import format_bytes, format_shape

_SWITCH = {"enabled": True, "enable": True, "disabled": False, "disable": False, "1": True, "0": False}
_NUMBER = re.compile(r"\s*([-+]?\d{1,18}(?:\.\d{1,18})?)(?![\d.])")
_WARM_UP = re.compile(r"\+ (\d{1,12}(?:\.\d{1,12})?)\s*ms warm")
_POOL = re.compile(
    r"\s*(?:(?P<name>[A-Za-z]\w{0,40}):)?\s*(?P<size>default|\d{1,18}(?:\.\d{1,18})?)\s*(?P<unit>[A-Za-z]*)\s*"
)
_POOL_UNITS = {
    "": 2**20,
    "b": 1,
    "k": 2**10,
    "kib": 2**10,
    "m": 2**20,
    "mib": 2**20,
    "g": 2**30,
    "gib": 2**30,
}
_SIZE_WITH_UNIT = re.compile(r"\d[A-Za-z]")
_SHAPE = re.compile(r"\d{1,12}(?:x\d{1,12})*|scalar")
_PROFILE = re.compile(r"\(profile (\d{1,4})\)")
_VERBOSITIES = {"0": "layer names only", "1": "none", "2": "detailed"}
_BRACKETS = (("{", "}"), ("[", "]"), ("(", ")"))
_LONGEST_LIST = 6


def find_profile_index(label: str) -> int | None:
    """Return the optimization profile in the label of a shape; None without one."""
    number = _PROFILE.search(label)
    return int(number[1]) if number else None


def parse_text(text: str) -> str | None:
    """Return the text; None if it is empty."""
    return text or None


def parse_word(text: str) -> str | None:
    """Return the text in lower case; None if it is empty."""
    return text.lower() or None


def parse_switch(text: str) -> bool | None:
    """Return whether a text means on or off; None for other texts."""
    return _SWITCH.get(text.lower())


def parse_strong_typing(text: str) -> bool | None:
    """Return whether a list of precisions includes strong typing."""
    return "strongly typed" in text.lower() if text else None


def parse_number(text: str) -> float | int | None:
    """Return the number at the start of a text; whole numbers as int."""
    match = _NUMBER.match(text)
    if match is None:
        return None
    number = float(match[1])
    return int(match[1]) if "." not in match[1] else number


def parse_warmup_ms(text: str) -> float | int | None:
    """Return the milliseconds in `3s (+ 200ms warm up)`, or a bare number."""
    match = _WARM_UP.search(text)
    if match:
        return parse_number(match[1])
    return parse_number(text) if _NUMBER.fullmatch(text) else None


def parse_pools(text: str) -> dict[str, int | None] | None:
    """Return pool -> bytes, None for the default: `workspace: 1024 MiB, dlaSRAM: default`, or `16 MiB` of TensorRT 8.2."""
    pools: dict[str, int | None] = {}
    for part in text.split(","):
        match = _POOL.fullmatch(part)
        if match is None:
            return None
        factor = _POOL_UNITS.get(match["unit"].lower())
        if match["size"] == "default":
            size = None
        elif factor is None:
            return None
        else:
            size = round(float(match["size"]) * factor)
        pools[match["name"] or "workspace"] = size
    return pools


def parse_shapes(text: str) -> list[dict[str, Any]] | None:
    """Return inputs with their shape, or with `min`, `opt` and `max`: `x=4x1x28x28`, `x=1x3+4x3+16x3, y=2`."""
    inputs = []
    for part in text.split(", "):
        name, equals, shapes = part.strip().rpartition("=")
        parsed = [_parse_shape(shape) for shape in shapes.split("+")]
        if not equals or None in parsed or len(parsed) not in (1, 3):
            return None
        names = ("shape",) if len(parsed) == 1 else ("min", "opt", "max")
        inputs.append({"name": name, **dict(zip(names, parsed, strict=True))})
    return inputs


def _parse_shape(text: str) -> list[int] | None:
    if not _SHAPE.fullmatch(text):
        return None
    return [] if text == "scalar" else [int(extent) for extent in text.split("x")]


def parse_verbosity(text: str) -> str | None:
    """Return words for the number that logs print, or the words of the command line."""
    return _VERBOSITIES.get(text, text.replace("_", " ")) or None


def format_value(value: Any) -> str:  # noqa: ANN401 - a parsed value
    """Format a value that has no special format."""
    if isinstance(value, bool):
        return "enabled" if value else "disabled"
    return "default" if value == -1 else str(value)


def format_pools(pools: Mapping[str, int | None]) -> str:
    """Return `workspace 1.00 GiB, others default`."""
    known = [f"{name} {format_bytes(size)}" for name, size in pools.items() if size is not None]
    rest = ["others default" if known else "default"] if None in pools.values() else []
    return ", ".join(known + rest)


def format_shapes(inputs: Sequence[Mapping[str, Any]]) -> str:
    """Return `x 1×28 to 16×28, optimized for 4×28`."""
    texts = []
    for entry in inputs[:_LONGEST_LIST]:
        if "shape" in entry:
            texts.append(f"{entry['name']} {format_shape(entry['shape'])}")
        elif entry["min"] == entry["max"]:
            texts.append(f"{entry['name']} {format_shape(entry['opt'])}")
        else:
            low, best, high = (format_shape(entry[key]) for key in ("min", "opt", "max"))
            texts.append(f"{entry['name']} {low} to {high}, optimized for {best}")
    rest = len(inputs) - _LONGEST_LIST
    return "; ".join(texts) + (f"; {rest} more" if rest > 0 else "")


@dataclass(frozen=True, slots=True)
class Option:
    """An option of trtexec.

    Attributes:
        key: Name in JSON, the unit at its end.
        label: Name for display.
        labels: As trtexec prints it; the first is the current one.
        parse: Returns the typed value of a text; None for an invalid text.
        help: A noun phrase.
        defaults: Texts of the default in lower case, printed or displayed; empty if it depends on the release.
        flags: Flags on the command line; without a value they enable it.
        off_flags: Flags that disable it.
        suffix: Unit after the displayed value.
        format: Formats a value other than None.
        is_main: Shown at its default too.
        is_detail: Shown on request only.
        has_colon: A complete value that is not the default has a colon, unless `parse` accepts it without.
    """

    key: str
    label: str
    labels: tuple[str, ...]
    parse: Callable[[str], Any]
    help: str
    _: KW_ONLY
    defaults: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    off_flags: tuple[str, ...] = ()
    suffix: str = ""
    format: Callable[[Any], str] = format_value
    is_main: bool = False
    is_detail: bool = False
    has_colon: bool = False

    def text(self, value: Any) -> str:  # noqa: ANN401 - a parsed value
        """Return the value for display, not yet printable."""
        return f"{self.format(value)}{self.suffix}"

    def is_default(self, text: str) -> bool:
        if text.lower() in self.defaults:
            return True
        value = self.parse(text)
        shown = "" if value is None else self.format(value).lower()
        return bool(shown) and shown in self.defaults

    def is_cut(self, text: str) -> bool:
        """Return whether a value in trex's metadata is only the part before a colon."""
        if not text or self.is_default(text):
            return False
        is_whole = ":" in text or (self.parse is not parse_text and self.parse(text) is not None)
        return is_cut(text) or (self.has_colon and not is_whole)


def is_cut(text: str) -> bool:
    """Return whether a text ends inside brackets or quotes, or is a drive letter."""
    is_open = any(text.count(first) > text.count(last) for first, last in _BRACKETS)
    return is_open or text.count('"') % 2 == 1 or (len(text) == 1 and text.isalpha())


def _switch(
    key: str,
    label: str,
    labels: str | tuple[str, ...],
    help: str,  # noqa: A002 - as the field
    flag: str | tuple[str, ...] = (),
    *,
    is_detail: bool = False,
    is_on: bool = False,
) -> Option:
    """Return a switch that is off by default, or on with `is_on`; `flag` changes it."""
    names = (labels,) if isinstance(labels, str) else labels
    flags = (flag,) if isinstance(flag, str) else flag
    return Option(
        key,
        label,
        names,
        parse_switch,
        help,
        defaults=("enabled",) if is_on else ("disabled", "0"),
        flags=() if is_on else flags,
        off_flags=flags if is_on else (),
        is_detail=is_detail,
    )


PROFILE_SHAPES = Option(
    "optimization_profiles",
    "Optimization profiles",
    ("Input build shape",),
    parse_shapes,
    "Shapes of the inputs by optimization profile",
    defaults=("model", ""),
    format=format_shapes,
)
RUN_SHAPES = Option(
    "shapes",
    "Shapes",
    ("Input inference shape",),
    parse_shapes,
    "Shapes of the inputs that were run",
    defaults=("model", ""),
    format=format_shapes,
)
"""Prefixes of labels: `Input build shape (profile 0)`, `Input build shapes`."""

BUILD_OPTIONS: tuple[Option, ...] = (
    Option(
        "precision", "Precision", ("Precision",), parse_text, "Precisions the builder may choose from", is_main=True,
    ),
    Option(
        "strongly_typed", "Strongly typed", ("Precision",), parse_strong_typing,
        "Types are those of the model", defaults=("disabled",),
    ),
    Option(
        "memory_pools_bytes", "Memory pools", ("Memory Pools", "Workspace"), parse_pools,
        "Memory that the builder may use, by pool", flags=("--memPoolSize", "--workspace"), format=format_pools,
        has_colon=True, defaults=("default",), is_main=True,
    ),
    Option(
        "optimization_level", "Optimization level", ("BuilderOptimizationLevel",), parse_number,
        "Search effort of the builder, from 0 to 5; -1 is TensorRT's default, 3", defaults=("-1", "3"),
        flags=("--builderOptimizationLevel",),
    ),
    Option(
        "sparsity", "Sparsity", ("Sparsity",), parse_word, "Use of sparse kernels", defaults=("disabled", "disable"),
        flags=("--sparsity",),
    ),
    Option(
        "tactic_sources", "Tactic sources", ("Tactic sources",), parse_text, "Libraries of tactics",
        defaults=("using default tactic sources",), flags=("--tacticSources",),
    ),
    Option(
        "timing_cache_mode", "Timing cache", ("timingCacheMode",), parse_text,
        "Storage of tactic times: local to the build, global in a file, or none",
        defaults=("local", "global"),
    ),
    Option(
        "timing_cache_file", "Timing cache file", ("timingCacheFile",), parse_text, "File of the timing cache",
        defaults=("",), flags=("--timingCacheFile",),
    ),
    _switch("refit", "Refit", "Refit", "Weights can be replaced in the engine", "--refit"),
    _switch(
        "strip_weights", "Weights stripped", ("Strip weights", "Weightless"), "The engine has no weights",
        ("--stripWeights", "--weightless"),
    ),
    _switch(
        "weight_streaming", "Weight streaming", "Weight Streaming", "Weights may stay in host memory",
        "--allowWeightStreaming",
    ),
    Option(
        "dla_core", "DLA core", ("DLACore",), parse_number, "DLA core that layers are placed on", defaults=("", "-1"),
        flags=("--useDLACore",),
    ),
    _switch(
        "dla_gpu_fallback", "GPU fallback for DLA", ("Allow GPU fallback for DLA",),
        "Layers that the DLA cannot run go to the GPU", "--allowGPUFallback",
    ),
    _switch(
        "dla_standalone", "DLA loadable", "Build DLA standalone loadable", "The result is a DLA loadable",
        "--buildDLAStandalone",
    ),
    Option(
        "avg_timing", "avgTiming", ("avgTiming",), parse_number, "Timing runs per tactic that are averaged",
        defaults=("8",), flags=("--avgTiming",),
    ),
    Option(
        "min_timing", "minTiming", ("minTiming",), parse_number, "Minimum timing runs per tactic, up to TensorRT 9",
        defaults=("1",), flags=("--minTiming",),
    ),
    Option(
        "max_aux_streams", "Auxiliary streams", ("MaxAuxStreams",), parse_number,
        "Maximum number of auxiliary streams; -1 is TensorRT's choice", defaults=("-1",), flags=("--maxAuxStreams",),
    ),
    Option(
        "max_tactics", "Tactics per layer", ("MaxTactics",), parse_number,
        "Maximum number of tactics per layer; -1 for no limit", defaults=("-1",), flags=("--maxTactics",),
    ),
    Option(
        "layer_precisions", "Layer precisions", ("LayerPrecisions",), parse_text, "Precisions requested for layers",
        defaults=("",), flags=("--layerPrecisions",), has_colon=True,
    ),
    Option(
        "layer_device_types", "Layer devices", ("Layer Device Types",), parse_text, "Devices requested for layers",
        defaults=("",), flags=("--layerDeviceTypes",), has_colon=True,
    ),
    Option(
        "calibration", "Calibration", ("Calibration",), parse_text, "Calibration cache of INT8", defaults=("",),
        flags=("--calib",),
    ),
    Option(
        "calibration_profile", "Calibration profile", ("Calibration Profile Index",), parse_number,
        "Optimization profile used for calibration", defaults=("0",), flags=("--calibProfile",),
    ),
    Option(
        "decomposable_attentions", "Decomposable attentions", ("Decomposable Attentions",), parse_text,
        "Attention layers that may be decomposed", defaults=("",), flags=("--decomposableAttentions",),
    ),
    _switch(
        "version_compatible", "Version compatible", "Version Compatible", "Later releases can run the engine",
        ("--versionCompatible", "--vc"),
    ),
    _switch(
        "exclude_lean_runtime", "Lean runtime excluded", "Exclude Lean Runtime",
        "The version-compatible engine lacks its runtime", "--excludeLeanRuntime",
    ),
    Option(
        "runtime", "Runtime", ("TensorRT runtime",), parse_text, "Runtime that runs the engine: full, lean, dispatch",
        defaults=("full",), flags=("--useRuntime",),
    ),
    Option(
        "lean_dll_path", "Lean runtime file", ("Lean DLL Path",), parse_text, "File of the lean runtime", defaults=("",),
        flags=("--leanDLLPath",),
    ),
    Option(
        "runtime_platform", "Runtime platform", ("Runtime Platform",), parse_text, "Platform that the engine is built for",
        defaults=("same as build", "sameasbuild"), flags=("--runtimePlatform",),
    ),
    Option(
        "preview_features", "Preview features", ("Preview Features",), parse_text, "Features that are off by default",
        defaults=("use default preview flags.",), flags=("--preview",),
    ),
    Option(
        "tempfile_controls", "Temporary files", ("Tempfile Controls",), parse_text, "Allowed locations of temporary files",
        defaults=("{ in_memory: allow, temporary: allow }",), flags=("--tempfileControls",), has_colon=True,
    ),
    _switch("safe_mode", "Safe mode", "Safe mode", "Only safety-certified parts are used", "--safe"),
    _switch("restricted_mode", "Restricted mode", "Restricted mode", "The safe scope is enforced", "--restricted"),
    _switch("direct_io", "Direct I/O", "DirectIO mode", "Reformats at inputs and outputs are avoided", "--directIO"),
    _switch("heuristic", "Tactic heuristic", "Heuristic", "Tactics are predicted instead of timed", "--heuristic"),
    _switch(
        "compilation_cache", "Compilation cache", "Enable Compilation Cache", "Compiled kernels are cached",
        "--noCompilationCache", is_on=True,
    ),
    _switch(
        "error_on_cache_miss", "Error on cache miss", "errorOnTimingCacheMiss",
        "A tactic without an entry in the timing cache is an error", "--errorOnTimingCacheMiss",
    ),
    _switch("monitor_memory", "Memory monitor", "Enable Monitor Memory", "Memory use is logged", "--monitorMemory"),
    _switch("cpu_only", "CPU only", "CPU Only Mode", "Built without a GPU", "--cpuOnly"),
    _switch(
        "onnx_instance_norm", "ONNX InstanceNorm plugin", ("ONNX Plugin InstanceNorm", "ONNX Native InstanceNorm"),
        "The parser uses its non-default implementation of InstanceNormalization", "--pluginInstanceNorm",
    ),
    _switch(
        "onnx_uint8_dla", "ONNX UINT8 on DLA", "ONNX kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA flag",
        "The parser accepts UINT8 and asymmetric quantization for the DLA", "--uint8AsymmetricQuantizationDLA",
    ),
    _switch(
        "onnx_dla_report", "ONNX DLA report", "ONNX kREPORT_CAPABILITY_DLA flag",
        "The parser reports the nodes that the DLA can run", "--reportCapabilityDLA",
    ),
    _switch(
        "onnx_dla_adjust", "ONNX DLA adjustment", "ONNX kADJUST_FOR_DLA flag",
        "The parser rewrites the network for the DLA", "--adjustForDLA",
    ),
    _switch(
        "onnx_plugin_override", "ONNX plugin override", "ONNX kENABLE_PLUGIN_OVERRIDE flag",
        "Plugins replace operators of the parser", "--enablePluginOverride",
    ),
    _switch(
        "distributive_independence", "Distributive independence", "Distributive Independence",
        "Results do not depend on the batch", "--distributiveIndependence",
    ),
    Option(
        "debug_tensors", "Debug tensors", ("Debug Tensors",), parse_text, "Tensors marked for debugging", defaults=("",),
        flags=("--markDebug",),
    ),
    _switch(
        "debug_unfused_tensors", "Unfused debug tensors", "Mark Unfused Tensors As Debug Tensors",
        "All unfused tensors are marked for debugging", "--markUnfusedTensorsAsDebugTensors",
    ),
    Option(
        "input_formats", "Input formats", ("Input(s)s format",), parse_text, "Types and layouts requested for inputs",
        defaults=("fp32:chw", "chw", ""), flags=("--inputIOFormats",), has_colon=True,
    ),
    Option(
        "output_formats", "Output formats", ("Output(s)s format",), parse_text, "Types and layouts requested for outputs",
        defaults=("fp32:chw", "chw", ""), flags=("--outputIOFormats",), has_colon=True,
    ),
    Option(
        "calibration_shapes", "Calibration shapes", ("Input calibration shapes", "Input calibration shape"), parse_text,
        "Shapes of inputs for calibration", defaults=("model", ""),
    ),
    Option(
        "profiling_verbosity", "Profiling verbosity", ("Profiling verbosity",), parse_verbosity,
        "Detail of the layer information in the engine", defaults=("0", "layer_names_only"), flags=("--profilingVerbosity",),
    ),
    Option(
        "max_batch", "Largest batch", ("Max batch",), parse_number, "Largest batch of an implicit-batch engine",
        defaults=("explicit batch",), flags=("--maxBatch",),
    ),
    Option(
        "static_plugins", "Static plugins", ("Loaded static plugins", "Plugins"), parse_text, "Plugin libraries",
        defaults=("",), flags=("--staticPlugins", "--plugins"),
    ),
    Option(
        "dynamic_plugins", "Dynamic plugins", ("dynamicPlugins",), parse_text, "Plugin libraries loaded at run time",
        defaults=("",), flags=("--dynamicPlugins",),
    ),
    Option(
        "serialized_plugins", "Serialized plugins", ("setPluginsToSerialize",), parse_text,
        "Plugin libraries stored in the engine", defaults=("",), flags=("--setPluginsToSerialize",),
    ),
    _switch(
        "ignore_parsed_plugins", "Parsed plugins ignored", "ignoreParsedPluginLibs",
        "Plugin libraries requested by the parser are ignored", "--ignoreParsedPluginLibs", is_detail=True,
    ),
    _switch(
        "skip_inference", "Inference skipped", ("Skip inference", "Build only"), "The run ended after the build",
        ("--skipInference", "--buildOnly"), is_detail=True,
    ),
    Option(
        "engine_file", "Engine file", ("Save engine",), parse_text, "File that the engine was written to",
        flags=("--saveEngine",), is_detail=True,
    ),
    Option(
        "loaded_engine_file", "Loaded engine", ("Load engine",), parse_text, "File that the engine was read from",
        defaults=("",), is_detail=True,
    ),
    Option(
        "device_index", "Device index", ("Device",), parse_number, "Number of the GPU of the build", defaults=("0",),
        flags=("--device",), is_detail=True,
    ),
)  # fmt: skip

RUN_OPTIONS: tuple[Option, ...] = (
    Option(
        "duration_s", "Duration", ("Duration",), parse_number, "Minimum duration of the measurement", defaults=("3",),
        flags=("--duration",), suffix=" s", is_main=True,
    ),
    Option(
        "warmup_ms", "Warm-up", ("Duration", "Warm-up"), parse_warmup_ms, "Time before measuring starts",
        defaults=("200",), flags=("--warmUp",), suffix=" ms", is_main=True,
    ),
    Option(
        "iterations", "Iterations", ("Iterations",), parse_number, "Minimum number of queries", defaults=("10",),
        flags=("--iterations",),
    ),
    Option(
        "cuda_graph", "CUDA graph", ("CUDA Graph",), parse_switch,
        "Queries are launched as a CUDA graph; by default since TensorRT 11", flags=("--useCudaGraph",),
        off_flags=("--noCudaGraph",), is_main=True,
    ),
    Option(
        "spin_wait", "Spin-wait", ("Spin-wait",), parse_switch,
        "The host waits actively; by default since TensorRT 11", flags=("--useSpinWait",),
        off_flags=("--noSpinWait",), is_main=True,
    ),
    Option(
        "data_transfers", "Transfers", ("Data transfers",), parse_switch,
        "Inputs and outputs are copied; by default up to TensorRT 10", flags=("--includeDataTransfers",),
        off_flags=("--noDataTransfers",), is_main=True,
    ),
    Option(
        "streams", "Streams", ("Inference Streams", "Streams"), parse_number, "Concurrent queries",
        defaults=("1",), flags=("--infStreams", "--streams"),
    ),
    Option(
        "optimization_profile", "Optimization profile", ("Optimization Profile Index",), parse_number,
        "Optimization profile that was run", defaults=("0",), flags=("--useProfile",),
    ),
    Option(
        "sleep_ms", "Sleep time", ("Sleep time",), parse_number, "Delay before each query on the stream",
        defaults=("0ms", "0"), flags=("--sleepTime",), suffix=" ms",
    ),
    Option(
        "idle_ms", "Idle time", ("Idle time",), parse_number, "Pause between queries", defaults=("0ms", "0"),
        flags=("--idleTime",), suffix=" ms",
    ),
    _switch("expose_dma", "Exposed transfers", "ExposeDMA", "Transfers do not overlap with compute", "--exposeDMA"),
    _switch("multithreading", "Multithreading", "Multithreading", "Each stream has its own thread", "--threads"),
    _switch(
        "separate_profiling", "Separate profiling", "Separate profiling",
        "Layers are timed in a separate run; always since TensorRT 11", "--separateProfileRun",
    ),
    _switch(
        "time_deserialize", "Deserialization timed", "Time Deserialize", "Deserialization of the engine is timed",
        "--timeDeserialize",
    ),
    _switch("time_refit", "Refit timed", "Time Refit", "Refitting is timed", "--timeRefit"),
    Option(
        "nvtx_verbosity", "NVTX verbosity", ("NVTX verbosity",), parse_verbosity, "Detail of NVTX ranges",
        defaults=("0",), is_detail=True,
    ),
    Option(
        "persistent_cache_ratio", "Persistent cache", ("Persistent Cache Ratio",), parse_number,
        "Share of the L2 cache set aside", defaults=("0", "0.0"), flags=("--persistentCacheRatio",),
    ),
    Option(
        "weight_streaming_budget", "Weight streaming budget", ("Weight Streaming Budget",), parse_text,
        "GPU memory for streamed weights", defaults=("100.000000%", "disabled", ""), flags=("--weightStreamingBudget",),
    ),
    Option(
        "input_files", "Input files", ("Inputs",), parse_text, "Files that inputs were read from", defaults=("",),
        flags=("--loadInputs",), has_colon=True,
    ),
    Option(
        "debug_tensor_files", "Debug tensor files", ("Debug Tensor Save Destinations",), parse_text,
        "Files that debug tensors were written to", defaults=("",), flags=("--saveDebugTensors",),
    ),
    Option(
        "debug_tensor_formats", "Debug tensor formats", ("Dump All Debug Tensor in Formats",), parse_text,
        "Formats that debug tensors were written in", defaults=("",), flags=("--saveAllDebugTensors",),
    ),
    Option(
        "average_runs", "Averages", ("Averages",), parse_number, "Queries per printed average",
        defaults=("10 inferences", "10"), flags=("--avgRuns",),
    ),
    Option(
        "percentiles", "Percentiles", ("Percentiles", "Percentile"), parse_text, "Percentiles of the printed summary",
        defaults=("90,95,99", "99"), flags=("--percentile",),
    ),
    _switch("verbose", "Verbose", "Verbose", "The log has verbose messages", "--verbose", is_detail=True),
    _switch(
        "dump_refittable", "Refittable layers listed", "Dump refittable layers", "Refittable layers are listed",
        "--dumpRefit", is_detail=True,
    ),
    _switch("dump_output", "Output printed", "Dump output", "Outputs are printed", "--dumpOutput", is_detail=True),
    _switch("dump_profile", "Profile printed", "Profile", "Layer times are printed", "--dumpProfile", is_detail=True),
    Option(
        "timing_file", "Timing file", ("Export timing to JSON file",), parse_text, "File of the timing rows",
        defaults=("",), flags=("--exportTimes",), is_detail=True,
    ),
    Option(
        "output_file", "Output file", ("Export output to JSON file",), parse_text, "File of the outputs", defaults=("",),
        flags=("--exportOutput",), is_detail=True,
    ),
    Option(
        "profile_file", "Profile file", ("Export profile to JSON file",), parse_text, "File of the layer times",
        defaults=("",), flags=("--exportProfile",), is_detail=True,
    ),
)  # fmt: skip

_PRECISION_FLAGS = {"--fp16": "FP16", "--bf16": "BF16", "--int8": "INT8", "--fp8": "FP8", "--int4": "INT4"}
_SHAPE_FLAGS = ("--minShapes", "--optShapes", "--maxShapes")


def options_in_arguments(arguments: Sequence[str], table: Sequence[Option]) -> dict[str, str]:
    """Return label -> value of the options on a command line; missing options are unknown.

    >>> options_in_arguments(["trtexec", "--avgTiming=4", "--refit", "--fp16"], BUILD_OPTIONS)
    {'Precision': 'FP32+FP16', 'avgTiming': '4', 'Refit': 'Enabled'}
    """
    pairs = [word.partition("=") for word in arguments[1:]]
    given = {name: (value, bool(equals)) for name, equals, value in pairs}
    stated: dict[str, str] = {}
    for option in table:
        if option.key == "precision" and (precisions := _precision(given)):
            stated[option.labels[0]] = precisions
        for names, switched in ((option.flags, "Enabled"), (option.off_flags, "Disabled")):
            for name in names:
                if name in given:
                    value, has_value = given[name]
                    if name == "--memPoolSize" and _SIZE_WITH_UNIT.search(value):
                        continue  # Releases parse units differently; the log has the result.
                    stated[option.labels[-1 if option.key == "warmup_ms" else 0]] = (
                        value if has_value and option.parse is not parse_switch else switched
                    )
    if "--shapes" in given:
        stated[RUN_SHAPES.labels[0]] = _shapes_text([given["--shapes"][0]])
        stated[PROFILE_SHAPES.labels[0]] = _shapes_text([given["--shapes"][0]] * 3)
    if all(name in given for name in _SHAPE_FLAGS):
        stated[PROFILE_SHAPES.labels[0]] = _shapes_text([given[name][0] for name in _SHAPE_FLAGS])
    return stated


def _precision(given: Mapping[str, object]) -> str:
    """Return the precisions of these flags as trtexec prints them; empty without any."""
    if "--stronglyTyped" in given:
        return "Strongly Typed"
    names = [name for flag, name in _PRECISION_FLAGS.items() if flag in given]
    if "--best" in given:
        names = ["FP16", "INT8"]
    return "+".join(["FP32", *names]) if names else ""


def _shapes_text(values: Sequence[str]) -> str:
    """Return `x=1x3+4x3+16x3` for the values `x:1x3`, `x:4x3` and `x:16x3`."""
    inputs: dict[str, list[str]] = {}
    for value in values:
        for part in value.split(","):
            name, _, shape = part.rpartition(":")
            inputs.setdefault(name.strip("'\""), []).append(shape)
    return ", ".join(f"{name}={'+'.join(shapes)}" for name, shapes in inputs.items())
