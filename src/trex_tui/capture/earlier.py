"""The options of an earlier run, out of its command: what is taken over for the next, and a sentence on each that is not.

A command stands in a file, which is data. Numbers, shapes and words of trtexec's own are taken; paths are not, so that no
file makes us load a library or read or write elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from trex_tui.capture.flags import parse_version
from trex_tui.capture.options import CaptureOptions

_SHAPES = re.compile(r"[^\s=,]+:[0-9]+(?:x[0-9]+)*(?:,[^\s=,]+:[0-9]+(?:x[0-9]+)*)*")
_PERCENTILES = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:,[0-9]+(?:\.[0-9]+)?)*")
_WHOLE = re.compile(r"[0-9]{1,9}")
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")
_PLAIN = re.compile(r"[A-Za-z0-9.,:%+-]{0,60}")
"""Numbers and words; without a slash, no path."""
_NUMBERS = {
    "--useProfile": "profile_index",
    "--useDLACore": "dla",
    "--device": "device",
    "--warmUp": "warmup_ms",
    "--iterations": "iterations",
    "--avgRuns": "avg_runs",
    "--infStreams": "inf_streams",
    "--streams": "inf_streams",
}
_CARRIED = frozenset(
    (
        *("--warmUp", "--iterations", "--avgRuns", "--infStreams", "--streams", "--duration"),
        *("--batch", "--sleepTime", "--idleTime", "--exposeDMA", "--useManagedMemory", "--threads"),
        *("--persistentCacheRatio", "--allocationStrategy", "--weightStreamingBudget", "--useRuntime"),
        *("--noSpinWait", "--monitorMemory", "--dumpLayerInfo", "--dumpOptimizationProfile"),
    )
)
"""Options of a measurement that go behind `--` as they were."""
_FILES = ("--plugins", "--staticPlugins", "--dynamicPlugins", "--loadInputs")
_PER_RELEASE = frozenset(
    ("--useCudaGraph", "--noCudaGraph", "--noDataTransfers", "--includeDataTransfers", "--useSpinWait")
)
_ALWAYS = frozenset(
    (
        *("--onnx", "--loadEngine", "--saveEngine", "--verbose", "--profilingVerbosity"),
        *("--separateProfileRun", "--dumpProfile", "--exportProfile", "--exportTimes", "--exportLayerInfo"),
        *("--skipInference", "--buildOnly", "--explicitBatch"),
    )
)
"""What a capture decides itself, or what no engine can be without any more."""
_BUILD = frozenset(
    (
        *("--fp16", "--bf16", "--int8", "--fp8", "--int4", "--best", "--stronglyTyped", "--noTF32"),
        *("--calib", "--calibProfile", "--sparsity", "--minShapes", "--maxShapes", "--workspace"),
        *("--memPoolSize", "--builderOptimizationLevel", "--hardwareCompatibilityLevel", "--timingCacheFile"),
        *("--maxTactics", "--tacticSources", "--avgTiming", "--minTiming", "--maxAuxStreams", "--preview"),
        *("--inputIOFormats", "--outputIOFormats", "--layerPrecisions", "--layerOutputTypes"),
        *("--layerDeviceTypes", "--precisionConstraints", "--noBuilderCache", "--noCompilationCache"),
        *("--errorOnTimingCacheMiss", "--heuristic", "--tilingOptimizationLevel", "--l2LimitForTiling"),
        *("--refit", "--stripWeights", "--allowWeightStreaming", "--excludeLeanRuntime", "--directIO"),
        *("--restricted", "--profile", "--markDebug", "--maxBatch", "--runtimePlatform"),
    )
)
_GRAPH_BY_DEFAULT = (11,)
"""From this version on CUDA graph, spin wait and no transfers are defaults."""


def options_of(words: Sequence[str], version: str | None) -> tuple[CaptureOptions, tuple[str, ...]]:
    """The options of a run, and in sentences what of it is not as it was.

    Args:
        words: Its command, program first; empty if it is not known.
        version: TensorRT's; None leaves what depends on it as a capture has it.
    """
    given: dict[str, str] = {}
    for word in words[1:]:
        flag, _, value = word.partition("=")
        if flag in _FILES and flag in given:  # may be there several times
            value = f"{given[flag]},{value}"
        elif flag in given:
            value = given[flag]
        given[flag] = value
    if not given:
        return CaptureOptions(), (
            "the command of the earlier run is not known, so this measures as a capture does by default",
        )
    fields: dict[str, int] = {
        field: int(given[flag])
        for flag, field in _NUMBERS.items()
        if _WHOLE.fullmatch(given.get(flag, "")) is not None
    }
    percentile, seconds = given.get("--percentile", ""), given.get("--duration", "")
    options = CaptureOptions(
        shapes=_shapes(given),
        percentile=percentile if _PERCENTILES.fullmatch(percentile) else None,
        duration_s=number(seconds) if _SECONDS.fullmatch(seconds) else None,
        allow_gpu_fallback="--allowGPUFallback" in given,
        version_compatible="--versionCompatible" in given or "--vc" in given,
        **fields,  # type: ignore[arg-type]
    )
    options = replace(options, passthrough=tuple(_carried(given, options)))
    if version is not None:
        options = _with_defaults(options, given, version)
    return options, (*_left_out(given, options), *_added(given, version))


def number(text: str) -> int | float:
    """`5` and `5.0` are 5, `0.5` is 0.5, so that a number is written as it was."""
    value = float(text)
    return int(value) if value.is_integer() else value


def _shapes(given: Mapping[str, str]) -> str | None:
    """Those of the measurement: without `--shapes`, trtexec measures what it has just built at the optimal ones."""
    shapes = given.get("--shapes") or given.get("--optShapes") or ""
    return shapes if _SHAPES.fullmatch(shapes) else None


def _carried(given: Mapping[str, str], options: CaptureOptions) -> Iterator[str]:
    for flag, value in given.items():
        field = "duration_s" if flag == "--duration" else _NUMBERS.get(flag)
        if field is not None and getattr(options, field) is not None:
            continue
        is_number = field is None or re.fullmatch(r"[0-9]{1,9}\.[0-9]{1,9}", value)
        if flag in _CARRIED and is_number and _PLAIN.fullmatch(value):
            yield f"{flag}={value}" if value else flag


def _with_defaults(options: CaptureOptions, given: Mapping[str, str], version: str) -> CaptureOptions:
    """CUDA graph and transfers, which are on or off by default."""
    if parse_version(version) >= _GRAPH_BY_DEFAULT:
        graph = False if "--noCudaGraph" in given else None
        return replace(options, cuda_graph=graph, data_transfers="--includeDataTransfers" in given)
    # On a DLA a capture has no graph unless it is asked for.
    wanted = None if options.dla is None else True
    graph = wanted if "--useCudaGraph" in given else False
    return replace(options, cuda_graph=graph, data_transfers="--noDataTransfers" not in given)


def _left_out(given: Mapping[str, str], options: CaptureOptions) -> Iterator[str]:
    """Every option of the earlier run that the new one has not, and that is not its own."""
    taken = {word.partition("=")[0] for word in options.passthrough} | _ALWAYS | _PER_RELEASE
    taken |= {flag for flag, field in _NUMBERS.items() if getattr(options, field) is not None}
    taken |= {"--allowGPUFallback", "--versionCompatible", "--vc"}
    for flag, field in (("--percentile", "percentile"), ("--duration", "duration_s")):
        taken |= {flag} if getattr(options, field) is not None else set()
    if options.shapes is not None:
        taken |= {"--shapes", "--optShapes"}
    for_build = []
    for flag, value in given.items():
        if flag in taken:
            continue
        words = f"{flag}={value}" if value else flag
        if flag in _FILES:
            yield f"the earlier run had {words}: files named in files are not loaded from here"
        elif flag in ("--shapes", "--optShapes"):
            yield f"the earlier run had {words}, which is not understood"
        elif flag in _BUILD:
            for_build.append(words)
        else:
            yield f"the earlier run had {words}, which is not taken over"
    if for_build:
        yield f"left out, for the engine is built already: {', '.join(for_build)}"


def _added(given: Mapping[str, str], version: str | None) -> Iterator[str]:
    """What a capture measures with, and the earlier run did not."""
    if version is None or parse_version(version) >= _GRAPH_BY_DEFAULT:
        return
    if "--useSpinWait" not in given:
        yield "this run waits with --useSpinWait, the earlier did not"
    profiles = "--dumpProfile" in given or "--exportProfile" in given
    if profiles and "--separateProfileRun" not in given:
        yield "this run profiles layers with --separateProfileRun, the earlier timed while it profiled"
