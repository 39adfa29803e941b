"""The option sections at the head of a trtexec log: which labels a version prints, in which order.

Releases are numbers: 805 is TensorRT 8.5, 1004 is 10.4. Labels and their history follow the public `sampleOptions.cpp` of
the releases concerned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from samples.model import Device

Pairs = list[tuple[str, str]]
_LAST = 9999


@dataclass(frozen=True, slots=True)
class Option:
    """A line of a section: its default value and the releases that print it."""

    label: str
    default: str = "Disabled"
    since: int = 805
    until: int = _LAST


_BUILD = (
    Option("Max batch", "explicit batch", until=999),
    Option("Memory Pools", ""),
    Option("minTiming", "1", until=999),
    Option("avgTiming", "8"),
    Option("Precision", ""),
    Option("LayerPrecisions", "", until=1099),
    Option("Layer Device Types", "", since=806),
    Option("Decomposable Attentions", "", since=1014),
    Option("Calibration", "", until=1099),
    Option("Refit"),
    Option("Strip weights", since=1000),
    Option("Version Compatible", since=806),
    Option("ONNX Plugin InstanceNorm", since=1000),
    Option("ONNX kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA flag", since=1016),
    Option("ONNX kREPORT_CAPABILITY_DLA flag", since=1016),
    Option("ONNX kADJUST_FOR_DLA flag", since=1016),
    Option("ONNX kENABLE_PLUGIN_OVERRIDE flag", since=1016),
    Option("TensorRT runtime", "full", since=806),
    Option("Lean DLL Path", "", since=806),
    Option("Tempfile Controls", "{ in_memory: allow, temporary: allow }", since=806),
    Option("Exclude Lean Runtime", since=806),
    Option("Sparsity"),
    Option("Safe mode"),
    Option("Build DLA standalone loadable", since=901),
    Option("Allow GPU fallback for DLA", since=901),
    Option("DirectIO mode"),
    Option("Restricted mode", until=1099),
    Option("Build only", until=805),
    Option("Skip inference", since=806),
    Option("Save engine", ""),
    Option("Load engine", ""),
    Option("Profiling verbosity", "0"),
    Option("Tactic sources", "Using default tactic sources"),
    Option("timingCacheMode", "local"),
    Option("timingCacheFile", ""),
    Option("Heuristic", until=999),
    Option("Enable Compilation Cache", "Enabled", since=901),
    Option("Enable Monitor Memory", since=1006),
    Option("CPU Only Mode", since=1015),
    Option("errorOnTimingCacheMiss", since=901),
    Option("Preview Features", "Use default preview flags."),
    Option("MaxAuxStreams", "-1", since=806),
    Option("BuilderOptimizationLevel", "-1", since=806),
    Option("MaxTactics", "-1", since=1004),
    Option("Calibration Profile Index", "0", since=901, until=1099),
    Option("Weight Streaming", since=1000),
    Option("Runtime Platform", "Same As Build", since=1002),
    Option("Debug Tensors", "", since=1000),
    Option("Distributive Independence", since=1012),
    Option("Mark Unfused Tensors As Debug Tensors", since=1012),
    Option("Input(s)s format", "fp32:CHW", until=1099),
    Option("Output(s)s format", "fp32:CHW", until=1099),
    Option("Input(s)s format", "CHW", since=1100),
    Option("Output(s)s format", "CHW", since=1100),
    Option("Input build shapes", "model"),
    Option("Input calibration shapes", "model", until=1099),
)
_SYSTEM = (
    Option("Device", "0"),
    Option("DLACore", ""),
    Option("Plugins", "", until=1015),
    Option("Loaded static plugins", "", since=1016),
    Option("setPluginsToSerialize", "", since=806),
    Option("dynamicPlugins", "", since=806),
    Option("ignoreParsedPluginLibs", "0", since=806),
)
_INFERENCE = (
    Option("Batch", "Explicit"),
    Option("Input inference shapes", "model"),
    Option("Iterations", "10"),
    Option("Duration", "3s (+ 200ms warm up)"),
    Option("Sleep time", "0ms"),
    Option("Idle time", "0ms"),
    Option("Streams", "1", until=805),
    Option("Inference Streams", "1", since=806),
    Option("ExposeDMA"),
    Option("Data transfers", "Enabled"),
    Option("Spin-wait"),
    Option("Multithreading"),
    Option("CUDA Graph"),
    Option("Separate profiling", until=1099),
    Option("Time Deserialize"),
    Option("Time Refit"),
    Option("NVTX verbosity", "0"),
    Option("Persistent Cache Ratio", "0"),
    Option("Optimization Profile Index", "0", since=901),
    Option("Weight Streaming Budget", "100.000000%", since=1000),
    Option("Inputs", ""),
    Option("Debug Tensor Save Destinations", "", since=1000),
    Option("Dump All Debug Tensor in Formats", "", since=1016),
)
_REPORTING = (
    Option("Verbose", "Enabled"),
    Option("Averages", "10 inferences"),
    Option("Percentiles", "90,95,99"),
    Option("Dump refittable layers", "Disabled"),
    Option("Dump output"),
    Option("Profile"),
    Option("Export timing to JSON file", ""),
    Option("Export output to JSON file", ""),
    Option("Export profile to JSON file", ""),
)
SECTIONS = {
    "Build Options": _BUILD,
    "System Options": _SYSTEM,
    "Inference Options": _INFERENCE,
    "Reporting Options": _REPORTING,
}


def section(title: str, release: int, given: Mapping[str, str]) -> Pairs:
    """The lines of a section, with the values of `given` in place of the defaults.

    Explicit shapes have a label in the singular; that of the build names the optimisation profile since 9.1.
    """
    pairs = []
    for option in SECTIONS[title]:
        if option.since <= release <= option.until:
            value = given.get(option.label, option.default)
            label = option.label
            if label.endswith(" shapes") and value != "model":
                profile = " (profile 0)" if label == "Input build shapes" and release >= 901 else ""
                label = label.removesuffix("s") + profile
            pairs.append((label, value))
    return pairs


def memory_pools(release: int, workspace: str = "default") -> str:
    pools = ["dlaSRAM", "dlaLocalDRAM", "dlaGlobalDRAM", *(["tacticSharedMem"] if release >= 1000 else [])]
    return ", ".join([f"workspace: {workspace}", *(f"{pool}: default" for pool in pools)])


def device_information(device: Device, release: int) -> Pairs:
    """The lines of the device section up to its blank line; 8.6 renamed the clocks, 9.1 added the list of devices."""
    pairs: Pairs = []
    if release >= 901:
        pairs += [("Available Devices", ""), ("  Device 0", f'"{device.name}" UUID: {device.uuid}')]
    pairs.append(("Selected Device", device.name))
    if release >= 901:
        pairs += [("Selected Device ID", "0"), ("Selected Device UUID", device.uuid)]
    kind = "Application " if release >= 806 else ""
    clock = (f"{kind}Compute Clock Rate", f"{device.compute_clock} GHz")
    pairs += [("Compute Capability", device.compute_capability), ("SMs", str(device.sms))]
    if release < 806:
        pairs.append(clock)
    pairs += [
        ("Device Global Memory", f"{device.memory_mib} MiB"),
        ("Shared Memory per SM", f"{device.shared_kib} KiB"),
        ("Memory Bus Width", f"{device.bus_width} bits (ECC disabled)"),
    ]
    if release >= 806:
        pairs.append(clock)
    return [*pairs, (f"{kind}Memory Clock Rate", f"{device.memory_clock} GHz")]
