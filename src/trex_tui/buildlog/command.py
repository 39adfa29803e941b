"""Options in trtexec's command line, as its log prints them, and what was requested for layers by name.

A pasted log often has the banner alone; its command line states precision, shapes, plug-ins and verbosity of the build.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from trex_tui.buildlog.trace import Request, StatedOptions

_LABELS: dict[str, tuple[str, str]] = {
    "onnx": ("model", "Model"),
    "saveEngine": ("build", "Save engine"),
    "loadEngine": ("build", "Load engine"),
    "maxBatch": ("build", "Max batch"),
    "inputIOFormats": ("build", "Input(s)s format"),
    "outputIOFormats": ("build", "Output(s)s format"),
    "layerPrecisions": ("build", "LayerPrecisions"),
    "layerOutputTypes": ("build", "Layer Output Types"),
    "layerDeviceTypes": ("build", "Layer Device Types"),
    "memPoolSize": ("build", "Memory Pools"),
    "workspace": ("build", "Workspace"),
    "calib": ("build", "Calibration"),
    "sparsity": ("build", "Sparsity"),
    "tacticSources": ("build", "Tactic sources"),
    "timingCacheFile": ("build", "timingCacheFile"),
    "avgTiming": ("build", "avgTiming"),
    "minTiming": ("build", "minTiming"),
    "builderOptimizationLevel": ("build", "BuilderOptimizationLevel"),
    "maxAuxStreams": ("build", "MaxAuxStreams"),
    "maxTactics": ("build", "MaxTactics"),
    "device": ("system", "Device"),
    "useDLACore": ("system", "DLACore"),
    "plugins": ("system", "Plugins"),
    "staticPlugins": ("system", "Plugins"),
    "dynamicPlugins": ("system", "dynamicPlugins"),
    "batch": ("inference", "Batch"),
    "shapes": ("inference", "Input inference shape"),
    "iterations": ("inference", "Iterations"),
    "duration": ("inference", "Duration"),
    "streams": ("inference", "Inference Streams"),
    "infStreams": ("inference", "Inference Streams"),
}
"""Option with a value -> section and label."""
_SWITCHES: dict[str, tuple[str, str, str]] = {
    "allowGPUFallback": ("build", "Allow GPU fallback for DLA", "Enabled"),
    "buildOnly": ("build", "Build only", "Enabled"),
    "skipInference": ("build", "Skip inference", "Enabled"),
    "refit": ("build", "Refit", "Enabled"),
    "versionCompatible": ("build", "Version Compatible", "Enabled"),
    "useCudaGraph": ("inference", "CUDA Graph", "Enabled"),
    "noCudaGraph": ("inference", "CUDA Graph", "Disabled"),
    "useSpinWait": ("inference", "Spin-wait", "Enabled"),
    "noDataTransfers": ("inference", "Data transfers", "Disabled"),
    "separateProfileRun": ("inference", "Separate profiling", "Enabled"),
    "verbose": ("reporting", "Verbose", "Enabled"),
    "dumpProfile": ("reporting", "Profile", "Enabled"),
}
"""Option without a value -> section, label and value."""
_PRECISIONS = {"fp16": "FP16", "bf16": "BF16", "int8": "INT8", "fp8": "FP8", "int4": "INT4"}
_BEST = ("fp16", "int8")
_VERBOSITIES = {"layer_names_only": "0", "none": "1", "detailed": "2", "default": "0", "verbose": "2"}
_FIRST_TYPED = 11
"""The first major version without weakly typed networks: none of its command lines states a precision."""


def options_of_command(command: str, major: int | None = None) -> StatedOptions:
    """Return the options that a command line of trtexec gives, in trtexec's labels; what it leaves at the default is missing.

    Args:
        major: Major version of TensorRT; None if unknown.
    """
    words = [word.lstrip("-").partition("=") for word in command.split() if word.startswith("-")]
    given = {name: value for name, _, value in words}
    stated = [(*_LABELS[name], value) for name, value in given.items() if name in _LABELS and value]
    stated += [_SWITCHES[name] for name in given if name in _SWITCHES]
    if "shapes" in given:
        run = (f"{match['name']}={match['shape']}" for match in _SHAPE.finditer(given["shapes"]))
        stated.append((*_LABELS["shapes"], ", ".join(run)))
    verbosity = given.get("profilingVerbosity", given.get("nvtxMode", "")).lower()
    stated.append(("build", "Profiling verbosity", _VERBOSITIES.get(verbosity, "")))
    if given.get("onnx"):
        stated.append(("model", "Format", "ONNX"))
        stated.append(("build", "Precision", _precision(given, major)))
        stated.append(("build", "Input build shape (profile 0)", _shapes(given)))
    if given.get("workspace", "").isdecimal():
        stated.append(("build", "Workspace", f"{given['workspace']} MiB"))
    options = StatedOptions()
    for section, label, value in stated:
        if value:
            getattr(options, section)[label] = value
    return options


def _precision(given: dict[str, str], major: int | None) -> str:
    """Return `FP32+FP16`; empty if the version is unknown and no option is given, for a typed network may have any."""
    if "stronglyTyped" in given or (major is not None and major >= _FIRST_TYPED):
        return "Strongly Typed"
    names = [name for name in _PRECISIONS if name in given or ("best" in given and name in _BEST)]
    if not names and major is None:
        return ""
    constraints = given.get("precisionConstraints", "")
    end = f" ({constraints} precision constraints)" if constraints in ("obey", "prefer") else ""
    return "+".join(("FP32", *(_PRECISIONS[name] for name in names))) + end


_SHAPE = re.compile(r"(?P<name>.+?):(?P<shape>-?\d+(?:x-?\d+)*)(?:,|$)")


def _shapes(given: dict[str, str]) -> str:
    """Return `x=MIN+OPT+MAX,y=…`; as trtexec does, what is not given is taken from what is."""
    parts = [given.get(name, "") for name in ("minShapes", "optShapes", "maxShapes")]
    known = [{match["name"]: match["shape"] for match in _SHAPE.finditer(part)} for part in parts]
    names = dict.fromkeys(name for shapes in known for name in shapes)
    texts = []
    for name in names:
        low, best, high = (shapes.get(name, "") for shapes in known)
        best = best or high or low
        texts.append(f"{name}={low or best}+{best}+{high or best}")
    return ", ".join(texts)


_CONSTRAINTS = re.compile(r"\((obey|prefer) precision constraints\)")
_REQUESTS = (
    ("LayerPrecisions", "precision"),
    ("Layer Output Types", "output type"),
    ("Layer Device Types", "device"),
)


def find_requests(options: StatedOptions, command: str) -> tuple[Request, ...]:
    """Return the types and devices that a build was asked for by the names of layers."""
    given = options_of_command(command).build
    match = _CONSTRAINTS.search(options.build.get("Precision", ""))
    constraints = match[1] if match else ""
    requests: list[Request] = []
    for label, kind in _REQUESTS:
        text = given.get(label) or options.build.get(label, "")
        is_type = kind != "device"
        requests += (
            Request(kind, layer, value, constraints if is_type else "")  # type: ignore[arg-type]
            for layer, value in _split_requests(text)
        )
    return tuple(requests)


def _split_requests(text: str) -> Iterator[tuple[str, str]]:
    """Yield layer and value of `a:fp32,b:fp16+fp32`; names may hold commas and colons."""
    name: list[str] = []
    for part in text.strip("'\"").split(","):
        layer, colon, value = part.rpartition(":")
        if colon and re.fullmatch(r"[A-Za-z]\w*(?:\+\w+)*", value.strip()):
            yield ",".join((*name, layer)).strip("'\" "), value.strip()
            name = []
        else:
            name.append(part)
