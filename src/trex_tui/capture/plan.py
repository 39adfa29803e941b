"""Turn options into exact commands for the given program.

Two runs: the first builds the engine and infers nothing, the second loads and measures it. Arguments are lists; no shell is
involved. Differences between versions: TensorRT 8.2 limits the workspace with another option, up to 8.5 a build ends with
`--buildOnly`, and from 11 on CUDA graph, spin wait, no transfers and a separate profile run are defaults that have opposites.
TensorRT-RTX has a graph of its own, and some of these defaults, by release; it tunes at run time, so that its cache belongs
to the measurement.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from trex_tui.capture.options import CaptureOptions, option_name
from trex_tui.capture.staging import Names
from trex_tui.capture.trtexec import RTX_GRAPH, Trtexec, flag_table
from trex_tui.errors import TrexError

BUILD, PROFILE = "build", "profile"
OWN_FLAGS = frozenset(
    (
        *("--onnx", "--model", "--deploy", "--uff", "--loadEngine", "--saveEngine", "--skipInference"),
        *("--exportTimes", "--exportProfile", "--exportLayerInfo", "--profilingVerbosity", "--buildOnly"),
        *("--getPlanVersionOnly", "--help", "-h", "--helpBuildRoute", "--dryRun"),
    )
)
"""Flags that capture sets itself; after `--` they would break the set."""
_REPEATABLE = frozenset(
    ("--plugins", "--staticPlugins", "--dynamicPlugins", "--setPluginsToSerialize", "--profile")
)
_BUILD_VALUES = (
    ("--calib", "calib"),
    ("--minShapes", "min_shapes"),
    ("--optShapes", "opt_shapes"),
    ("--maxShapes", "max_shapes"),
)
"""Options of trtexec and the fields of `CaptureOptions` that set them unchanged."""
_BUILDER_VALUES = (
    ("--builderOptimizationLevel", "optimization_level"),
    ("--hardwareCompatibilityLevel", "hardware_compatibility"),
    ("--computeCapability", "compute_capability"),
)
_MEASUREMENT_VALUES = (
    ("--useProfile", "profile_index"),
    ("--warmUp", "warmup_ms"),
    ("--duration", "duration_s"),
    ("--iterations", "iterations"),
)
_CACHES = ("--timingCacheFile", "--runtimeCacheFile")
_WHOLE_GRAPH, _NO_GRAPH = f"{RTX_GRAPH}=wholeGraph", f"{RTX_GRAPH}=disable"
_SPECIALIZE = "--specializeStrategyDS"
_WEAK_FLAGS = ("--fp16", "--bf16", "--int8", "--fp8", "--int4", "--best", "--calib")


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One run of trtexec.

    Attributes:
        role: `build` or `profile`.
        number: Number of the profile run, from 1.
        argv: The command, program first.
        log: File for the whole output.
        engine: The engine that is written or loaded.
        exports: Kind (`graph`, `profile`, `timing`) -> file that trtexec writes.
    """

    role: str
    number: int
    argv: tuple[str, ...]
    log: Path
    engine: Path
    exports: tuple[tuple[str, Path], ...] = ()

    def without_graph(self, trtexec: Trtexec) -> RunPlan | None:
        """Return the run without CUDA graph; None if it has none already, or an argument after `--` decides it."""
        if _WHOLE_GRAPH in self.argv:
            words = [_NO_GRAPH if word == _WHOLE_GRAPH else word for word in self.argv]
        elif trtexec.measures_by_default:
            if "--noCudaGraph" in self.argv or any(word.startswith("--useDLACore") for word in self.argv):
                return None
            words = [*self.argv, "--noCudaGraph"]
        elif "--useCudaGraph" in self.argv:
            words = [word for word in self.argv if word != "--useCudaGraph"]
        else:
            return None
        return replace(self, argv=tuple(words))


class _Arguments:
    """Collects the arguments of a run and refuses all options unknown to trtexec at once."""

    def __init__(self, trtexec: Trtexec, refused: list[str]) -> None:
        self.trtexec = trtexec
        self.refused = refused
        self.items: list[str] = []
        self.typed: dict[str, str] = {}

    def refuse(self, why: str) -> None:
        if why not in self.refused:
            self.refused.append(why)

    def add(self, flag: str, value: object = None, *, asked: str = "") -> None:
        """Add an option; `asked` is what the user typed for it, empty for what capture adds itself."""
        if not self.trtexec.knows(flag):
            self.refuse(describe_refusal(flag, asked or flag, self.trtexec))
            return
        if asked:
            self.typed[flag] = asked
        self.items.append(flag if value is None else f"{flag}={value}")

    def add_given(self, flag: str, value: object, asked: str) -> None:
        if value is not None:
            self.add(flag, value, asked=asked)

    def add_fields(self, table: Iterable[tuple[str, str]], options: CaptureOptions) -> None:
        for flag, field in table:
            self.add_given(flag, getattr(options, field), option_name(field))

    def add_if(self, is_wanted: bool, flag: str, asked: str = "") -> None:
        if is_wanted:
            self.add(flag, asked=asked)


def make_plan(options: CaptureOptions, trtexec: Trtexec, names: Names) -> tuple[RunPlan, ...]:
    """Return the runs, in order, with files in `names.directory`.

    Raises:
        TrexError: This trtexec does not know an option; the message names the versions that do.
    """
    refused: list[str] = []
    runs: list[RunPlan] = []
    engine = names.engine if options.builds else Path(options.engine or "")
    _check_passthrough(options, trtexec, refused)
    if options.builds:
        words = _build_words(options, _Arguments(trtexec, refused), names)
        runs.append(RunPlan(BUILD, 1, words, names.file("engine.build.log"), engine))
    for number in () if options.build_only else range(1, options.repeat + 1):
        words = _profile_words(options, _Arguments(trtexec, refused), names, number)
        exports = tuple((kind, names.file(f"{kind}.json", number)) for kind in ("graph", "profile", "timing"))
        runs.append(
            RunPlan(PROFILE, number, words, names.file("engine.profile.log", number), engine, exports)
        )
    if refused:
        raise TrexError("; ".join(refused))
    return tuple(runs)


def _build_words(options: CaptureOptions, arguments: _Arguments, names: Names) -> tuple[str, ...]:
    trtexec = arguments.trtexec
    arguments.add("--onnx", options.onnx)
    arguments.add("--saveEngine", names.engine)
    arguments.add("--verbose")
    arguments.add("--profilingVerbosity", "detailed")
    arguments.add("--skipInference" if trtexec.knows("--skipInference") else "--buildOnly")
    for precision in options.precisions:
        arguments.add(f"--{precision}", asked=f"--{precision}")
    arguments.add_fields(_BUILD_VALUES, options)
    for index, profile in enumerate(options.profiles):
        # The following shapes belong to this profile, so the order counts.
        arguments.add("--profile", index, asked="--profile")
        arguments.add("--minShapes", profile.min_shapes, asked="--profile")
        arguments.add("--optShapes", profile.opt_shapes, asked="--profile")
        arguments.add("--maxShapes", profile.max_shapes, asked="--profile")
    arguments.add_given("--shapes", None if options.measured_profile else options.shapes, "--shapes")
    if options.workspace_mib is not None:
        if trtexec.knows("--memPoolSize"):
            # Without a unit: 10.1 and later read `MiB` as bytes.
            arguments.add("--memPoolSize", f"workspace:{options.workspace_mib}", asked="--workspace")
        else:
            arguments.add("--workspace", options.workspace_mib, asked="--workspace")
    if find_cache_flag(trtexec) == _CACHES[0]:
        arguments.add_given(_CACHES[0], options.timing_cache, "--timing-cache")
    arguments.add_fields(_BUILDER_VALUES, options)
    _add_common(options, arguments)
    return _with_passthrough(options, arguments)


def find_cache_flag(trtexec: Trtexec) -> str:
    """Return the option for the timing cache, or for the runtime cache of TensorRT-RTX, which tunes at run time."""
    is_runtime = trtexec.is_rtx and trtexec.knows(_CACHES[1])
    return _CACHES[is_runtime]


def _profile_words(
    options: CaptureOptions, arguments: _Arguments, names: Names, number: int
) -> tuple[str, ...]:
    trtexec = arguments.trtexec
    arguments.add("--loadEngine", names.engine if options.builds else options.engine)
    arguments.add("--verbose")
    # Without shapes, an engine with dynamic shapes would be measured at the smallest.
    profile = options.measured_profile
    typical = options.opt_shapes if profile is None else profile.opt_shapes
    arguments.add_given("--shapes", options.shapes or typical, "--shapes" if options.shapes else "")
    arguments.add_fields(_MEASUREMENT_VALUES, options)
    if find_cache_flag(trtexec) == _CACHES[1]:
        arguments.add_given(_CACHES[1], options.timing_cache, "--timing-cache")
    graph = options.dla is None if options.cuda_graph is None else options.cuda_graph
    if trtexec.knows(RTX_GRAPH):
        arguments.add(*(_WHOLE_GRAPH if graph else _NO_GRAPH).split("="))
    elif trtexec.measures_by_default:
        arguments.add_if(not graph and options.dla is None, "--noCudaGraph", "--no-cuda-graph")
    elif options.cuda_graph or trtexec.knows("--useCudaGraph"):
        arguments.add_if(graph, "--useCudaGraph", "--cuda-graph" if options.cuda_graph else "")
    if trtexec.knows(_SPECIALIZE) and (options.shapes or typical):
        arguments.add(_SPECIALIZE, "eager")  # else the first queries run fallback kernels
    if trtexec.knows("--includeDataTransfers"):
        arguments.add_if(options.data_transfers, "--includeDataTransfers", "--data-transfers")
    else:
        arguments.add_if(not options.data_transfers, "--noDataTransfers")
    if not (trtexec.knows("--noSpinWait") or trtexec.is_python):
        arguments.add("--useSpinWait")
    if trtexec.knows("--separateProfileRun") if trtexec.is_rtx else not trtexec.measures_by_default:
        arguments.add("--separateProfileRun")
    arguments.add("--dumpProfile")
    for option, kind in (("LayerInfo", "graph"), ("Times", "timing"), ("Profile", "profile")):
        arguments.add(f"--export{option}", names.file(f"{kind}.json", number))
    _add_common(options, arguments)
    return _with_passthrough(options, arguments)


def _add_common(options: CaptureOptions, arguments: _Arguments) -> None:
    """Add the arguments of both runs: the device, and what loading the engine needs."""
    arguments.add_given("--device", options.device, "--device")
    arguments.add_given("--useDLACore", options.dla, "--dla")
    arguments.add_if(options.allow_gpu_fallback, "--allowGPUFallback", "--allow-gpu-fallback")
    flag = "--staticPlugins" if arguments.trtexec.knows("--staticPlugins") else "--plugins"
    for plugin in options.plugins:
        arguments.add(flag, plugin, asked="--plugin")


def _with_passthrough(options: CaptureOptions, arguments: _Arguments) -> tuple[str, ...]:
    """Return the command. trtexec refuses repeated options: those after `--` and a swept one replace defaults of capture.

    An option that is typed twice, also as an option of trex-tui, is refused: one of the two would have no effect.
    """
    written = {flag_name(word) for word in options.passthrough} - _REPEATABLE
    if options.profiles:
        written |= {flag_name(word) for word in options.passthrough} & {"--profile"}
    for flag, asked in arguments.typed.items():
        if flag in written:
            arguments.refuse(f"{asked} and {flag} after --: the same option of trtexec; remove one")
    swept, words = options.swept, []
    if swept is not None:
        other = arguments.typed.get(swept.flag) or (f"{swept.flag} after --" if swept.flag in written else "")
        if other:
            arguments.refuse(f"{other} and --sweep {swept.flag[2:]}: the same option of trtexec; remove one")
        written.add(swept.flag)
        words = [swept.word] if swept.word else []
    defaults = [item for item in arguments.items if flag_name(item) not in written]
    return (*arguments.trtexec.words, *defaults, *words, *options.passthrough)


def _check_passthrough(options: CaptureOptions, trtexec: Trtexec, refused: list[str]) -> None:
    for argument in options.passthrough:
        flag = flag_name(argument)
        if not flag.startswith("-"):
            refused.append(f"{argument}: not an option of trtexec; name the model with --onnx or --engine")
        elif flag in OWN_FLAGS:
            refused.append(f"{flag} after --: capture sets it; remove it")
        elif (flag in flag_table().known_in or trtexec.is_python) and not trtexec.knows(flag):
            refused.append(describe_refusal(flag, flag, trtexec))
    if options.swept is not None and not trtexec.knows(options.swept.flag):
        flag = options.swept.flag
        refused.append(describe_refusal(flag, f"--sweep {flag[2:]}", trtexec))


def flag_name(argument: str) -> str:
    """Return `--shapes` for `--shapes=x:1`."""
    return argument.split("=", 1)[0]


def describe_refusal(flag: str, asked: str, trtexec: Trtexec) -> str:
    """Return why an option cannot be used, and which release has it; `asked` is what the user typed for it."""
    what = asked if asked == flag else f"{asked} (trtexec's {flag})"
    if flag == "--computeCapability":
        return f"{asked}: only the Python API of TensorRT-RTX builds for chosen GPUs; leave it out"
    if trtexec.is_strongly_typed_only and flag in _WEAK_FLAGS:
        remedy = "the model states the types: cast it with ModelOpt AutoCast, quantize with Q/DQ"
    elif trtexec.is_python:
        remedy = "leave it out, or use trtexec"
    else:
        remedy = "leave it out"
    where = flag_table().where(flag)
    known = f"trtexec {where} has it" if where else "not in any known release"
    return f"{what}: not in {trtexec.name} ({trtexec.path}); {known}; {remedy}"
