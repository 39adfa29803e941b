"""Plan another measurement of the engine of a set: file, options, output directory and command.

The options are those of the existing run, so that the two can be compared. They come from a file, which is data: numbers,
shapes and keywords of trtexec are kept; paths are not, so that no file makes trex-tui load a library or access other files.
Each omitted option has a note.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from trex_tui.old.artifacts.banner import is_rtx_version
from trex_tui.old.artifacts.capture_manifest import ClockLock
from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.artifacts.file_kinds import ArtifactKind, display_name, engine_stem, sniff
from trex_tui.old.buildlog.log_records import read_log_options
from trex_tui.old.capture.options import CaptureOptions, checked_name, command_line, option_name
from trex_tui.old.capture.staging import Workspace
from trex_tui.old.capture.trtexec import RTX_GRAPH, parse_version
from trex_tui.old.errors import TrexError
from trex_tui.old.lazy_dataclass import dataclass

_SHAPES = re.compile(r"[^\s=,]+:[0-9]+(?:x[0-9]+)*(?:,[^\s=,]+:[0-9]+(?:x[0-9]+)*)*")
_PERCENTILES = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:,[0-9]+(?:\.[0-9]+)?)*")
_WHOLE = re.compile(r"[0-9]{1,9}")
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")
_PLAIN = re.compile(r"[A-Za-z0-9.,:%+-]{0,60}")
"""Numbers and keywords; without a slash, so no paths."""
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
"""Options of a measurement that are kept unchanged, after `--`."""
_FILES = ("--plugins", "--staticPlugins", "--dynamicPlugins", "--loadInputs")
_PER_RELEASE = frozenset(
    (
        *("--useCudaGraph", "--noCudaGraph", "--noDataTransfers", "--includeDataTransfers", "--useSpinWait"),
        RTX_GRAPH,
    )
)
_ALWAYS = frozenset(
    (
        *("--onnx", "--loadEngine", "--saveEngine", "--verbose", "--profilingVerbosity"),
        *("--separateProfileRun", "--dumpProfile", "--exportProfile", "--exportTimes", "--exportLayerInfo"),
        *("--skipInference", "--buildOnly", "--explicitBatch"),
    )
)
"""Options that capture sets itself, or that have no effect on an existing engine."""
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
"""Major version from which CUDA graph, spin wait and no transfers are defaults, as in TensorRT-RTX."""


def read_rerun_options(words: Sequence[str], version: str | None) -> tuple[CaptureOptions, tuple[str, ...]]:
    """Return the options of a run, and notes on the differences.

    Args:
        words: Command of the run, program first; empty if unknown.
        version: TensorRT version; None keeps the defaults of capture for options that depend on it.
    """
    given: dict[str, str] = {}
    for word in words[1:]:
        flag, _, value = word.partition("=")
        if flag in _FILES and flag in given:  # options that may be repeated
            value = f"{given[flag]},{value}"
        elif flag in given:
            value = given[flag]
        given[flag] = value
    if not given:
        return CaptureOptions(), (
            "the command of the earlier run is unknown; measuring with the defaults of capture",
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
    """Parse a number: `5` and `5.0` are 5, `0.5` is 0.5, so that it is written as before."""
    value = float(text)
    return int(value) if value.is_integer() else value


def _shapes(given: Mapping[str, str]) -> str | None:
    """Return the measured shapes: without `--shapes`, trtexec measures a new engine at the optimal ones."""
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
    """Set CUDA graph and transfers, whose defaults depend on the version."""
    if _is_graph_default(version):
        graph = False if "--noCudaGraph" in given or given.get(RTX_GRAPH) == "disable" else None
        return replace(options, cuda_graph=graph, data_transfers="--includeDataTransfers" in given)
    # On a DLA capture uses a graph only on request.
    wanted = None if options.dla is None else True
    graph = wanted if "--useCudaGraph" in given else False
    return replace(options, cuda_graph=graph, data_transfers="--noDataTransfers" not in given)


def _left_out(given: Mapping[str, str], options: CaptureOptions) -> Iterator[str]:
    """Yield the options of the earlier run that the new run omits."""
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
            yield f"the earlier run had {words}: files listed in other files are not loaded"
        elif flag in ("--shapes", "--optShapes"):
            yield f"the earlier run had {words}, which could not be parsed"
        elif flag in _BUILD:
            for_build.append(words)
        else:
            yield f"the earlier run had {words}, which was not taken over"
    if for_build:
        yield f"omitted (the engine is already built): {', '.join(for_build)}"


def _is_graph_default(version: str) -> bool:
    return is_rtx_version(version) or parse_version(version) >= _GRAPH_BY_DEFAULT


def _added(given: Mapping[str, str], version: str | None) -> Iterator[str]:
    """Yield measurement options of capture that the earlier run did not use."""
    if version is None or _is_graph_default(version):
        return
    if "--useSpinWait" not in given:
        yield "this run waits with --useSpinWait, the earlier did not"
    profiles = "--dumpProfile" in given or "--exportProfile" in given
    if profiles and "--separateProfileRun" not in given:
        yield "this run profiles layers with --separateProfileRun, the earlier timed while it profiled"


_AGAIN = re.compile(r"\.again-\d+$")
_LOCKING = "the shell command locks them"
_ENDINGS = (".engine", ".plan", ".trt")
_FIELDS = (
    *("shapes", "profile_index", "dla", "device", "warmup_ms", "duration_s", "iterations", "avg_runs"),
    *("percentile", "inf_streams"),
)


@dataclass(frozen=True, slots=True)
class Rerun:
    """A capture that measures an existing engine again.

    Attributes:
        options: Options of the run; `engine` is the file, or a placeholder if there is none.
        outdir, name: Directory and name of the new set.
        notes: Differences to the earlier run, as sentences.
        problem: Why it cannot be done here; empty if it can.
        locked_mhz: Locked GPU clocks, for the command line only: trex-tui does not lock them here.
        manifest: Manifest of a set captured over ssh, which may be in the record of such captures.
        host, trtexec: Machine over ssh and its trtexec; empty for this machine.
    """

    options: CaptureOptions
    outdir: Path
    name: str
    notes: tuple[str, ...] = ()
    problem: str = ""
    locked_mhz: int | None = None
    manifest: Path | None = None
    host: str = ""
    trtexec: str = ""

    def command(self) -> str:
        """Return the capture as a command line, to paste."""
        options = self.options
        given = [
            f"{option_name(field)}={value}"
            for field in _FIELDS
            if (value := getattr(options, field)) is not None
        ]
        words = ["trex-tui", "capture", "--engine", options.engine or "ENGINE", *given]
        words += ["--allow-gpu-fallback"] if options.allow_gpu_fallback else []
        words += ["--no-cuda-graph"] if options.cuda_graph is False else []
        words += ["--cuda-graph"] if options.cuda_graph else []
        words += ["--data-transfers"] if options.data_transfers else []
        words += ["--version-compatible"] if options.version_compatible else []
        words += [f"--lock-clocks={self.locked_mhz}"] if self.locked_mhz is not None else []
        words += ["--host", self.host, "--trtexec", self.trtexec] if self.host else []
        words += ["--outdir", str(self.outdir), "--name", self.name]
        return command_line([*words, *(["--", *options.passthrough] if options.passthrough else [])])

    def impossible(self, problem: str) -> Rerun:
        return replace(self, problem=self.problem or problem)

    def with_length(self, duration_s: float | None, iterations: int | None) -> Rerun:
        """Return the capture with another duration; None is trtexec's default."""
        return replace(self, options=replace(self.options, duration_s=duration_s, iterations=iterations))


def plan_rerun(
    source: ArtifactSet,
    command: Sequence[str] = (),
    version: str | None = None,
    clocks: ClockLock | None = None,
    log_runs: Mapping[Path, int] | None = None,
) -> Rerun:
    """Plan another measurement of the engine of a set.

    Args:
        source: The set.
        command: Command of the run that measured it, from the manifest; without it the log is read.
        version: TensorRT version of that run.
        clocks: Locked clocks by the manifest.
        log_runs: Log -> measured run to read, if it is not the last.
    """
    words = list(command) or _read_log_arguments(source, log_runs or {})
    options, notes = read_rerun_options(words, version)
    locked_mhz = _locked_mhz(clocks)
    if locked_mhz is not None:
        notes = (*notes, f"the GPU clocks were locked to {locked_mhz} MHz, here they are not: {_LOCKING}")
    stem = _AGAIN.sub("", _stem(source))
    directory = source.directory
    engine = _engine_file(source, stem)
    outdir = directory if os.access(directory, os.W_OK) else Path("results", stem)
    options = replace(options, engine=None if engine is None else str(engine))
    name, problem = f"{stem}.again-2", ""
    try:
        name = _free_name(outdir, stem, options)
    except TrexError as error:  # the directory cannot be listed
        problem = str(error)
    if engine is None:
        places = f"{stem}{'|'.join(_ENDINGS)}"
        problem = f"no engine file in or next to this set ({places} in {directory})"
    return Rerun(options, outdir, name, notes, problem, locked_mhz)


def _locked_mhz(clocks: ClockLock | None) -> int | None:
    """Return the locked clocks; None if they were not locked, or this is unknown."""
    if clocks is None or not clocks.is_locked or not clocks.target_mhz or clocks.target_mhz < 1:
        return None
    return round(clocks.target_mhz)


def _read_log_arguments(source: ArtifactSet, log_runs: Mapping[Path, int]) -> list[str]:
    path = source.files.get(ArtifactKind.PROFILE_LOG)
    words: list[str] = []
    if path is not None:
        words = list(read_log_options(path, of_timed_run=True, run=log_runs.get(path)).arguments)
    # The banner does not quote: if an argument contains a space, the arguments cannot be separated.
    return words if all(word.startswith("-") for word in words[1:]) else []


def _stem(source: ArtifactSet) -> str:
    """Return the base name of the files, without an inner `.onnx`; the directory's name if they have none."""
    first = next(iter(source.files.values()), None)
    name = display_name(engine_stem(first)) if first is not None else ""
    name = name or source.directory.absolute().name
    try:
        return checked_name(name)
    except TrexError:
        return "engine"


def _engine_file(source: ArtifactSet, stem: str) -> Path | None:
    """Return the plan of the set, or a file beside it with its name."""
    plan = source.files.get(ArtifactKind.PLAN)
    if plan is not None:
        return plan
    try:
        beside = sorted(source.directory.iterdir())
    except OSError:
        return None
    for path in beside:
        is_called_so = path.suffix.lower() in _ENDINGS and display_name(engine_stem(path)) == stem
        if is_called_so and sniff(path).kind is ArtifactKind.PLAN:
            return path
    return None


def _free_name(outdir: Path, stem: str, options: CaptureOptions) -> str:
    """Return the first of `<stem>.again-2`, `-3`, … that is free in the directory."""
    number = 2
    while Workspace(outdir, f"{stem}.again-{number}", Path(options.engine or "")).existing():
        number += 1
    return f"{stem}.again-{number}"
