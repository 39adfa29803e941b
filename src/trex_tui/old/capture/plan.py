"""Turn options into exact commands for the given trtexec.

Two runs: the first builds the engine and infers nothing, the second loads and measures it. Arguments are lists; no shell is
involved. Differences between versions: TensorRT 8.2 limits the workspace with another option, up to 8.5 a build ends with
`--buildOnly`, and from 11 on CUDA graph, spin wait, no transfers and a separate profile run are defaults that have opposites.
`tensorrt_rtx` has a graph of its own, and some of these defaults, by release.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from trex_tui.old.capture.options import CaptureOptions, option_name
from trex_tui.old.capture.trtexec import RTX_GRAPH, Trtexec, flag_table
from trex_tui.old.errors import TrexError
from trex_tui.old.lazy_dataclass import dataclass

BUILD, PROFILE = "build", "profile"

OWN_FLAGS = frozenset(
    (
        *("--onnx", "--model", "--deploy", "--uff", "--loadEngine", "--saveEngine"),
        *("--exportTimes", "--exportProfile", "--exportLayerInfo", "--profilingVerbosity"),
        *(
            "--skipInference",
            "--buildOnly",
            "--getPlanVersionOnly",
            "--help",
            "-h",
            "--helpBuildRoute",
            "--dryRun",
        ),
    )
)
"""Flags that capture sets itself; after `--` they would break the set."""
_REPEATABLE = frozenset(
    ("--plugins", "--staticPlugins", "--dynamicPlugins", "--setPluginsToSerialize", "--profile")
)
_MEASUREMENT_FLAGS = frozenset(
    (
        *("--useProfile", "--warmUp", "--duration", "--iterations", "--avgRuns", "--percentile"),
        *("--infStreams", "--streams", "--useCudaGraph", "--noCudaGraph", "--useSpinWait", "--noSpinWait"),
        *("--noDataTransfers", "--includeDataTransfers", "--exposeDMA", "--useManagedMemory", "--threads"),
        *(RTX_GRAPH, "--runtimeCacheFile", "--specializeStrategyDS"),
        *("--sleepTime", "--idleTime", "--persistentCacheRatio", "--allocationStrategy"),
        *("--weightStreamingBudget", "--monitorMemory", "--timeDeserialize", "--timeRefit"),
    )
)
"""Flags that do not affect a build, so that points of a sweep that differ in them share an engine."""
_BUILD_VALUES = (
    ("--calib", "calib"),
    ("--sparsity", "sparsity"),
    ("--minShapes", "min_shapes"),
    ("--optShapes", "opt_shapes"),
    ("--maxShapes", "max_shapes"),
)
"""Options of trtexec and the fields of `CaptureOptions` that set them unchanged."""
_BUILDER_VALUES = (
    ("--timingCacheFile", "timing_cache"),
    ("--builderOptimizationLevel", "optimization_level"),
    ("--hardwareCompatibilityLevel", "hardware_compatibility"),
)
_MEASUREMENT_VALUES = (
    ("--useProfile", "profile_index"),
    ("--loadInputs", "load_inputs"),
    ("--warmUp", "warmup_ms"),
    ("--duration", "duration_s"),
    ("--iterations", "iterations"),
    ("--avgRuns", "avg_runs"),
    ("--percentile", "percentile"),
)
_WHOLE_GRAPH, _NO_GRAPH = f"{RTX_GRAPH}=wholeGraph", f"{RTX_GRAPH}=disable"
_TYPED_MODEL = (
    "TensorRT 11 takes the precision from the model (cast it with ModelOpt AutoCast, quantize with Q/DQ)"
)


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
        here: The command with local paths, if it is for another machine; else empty.
    """

    role: str
    number: int
    argv: tuple[str, ...]
    log: Path
    engine: Path
    exports: tuple[tuple[str, Path], ...] = ()
    here: tuple[str, ...] = ()

    @property
    def uses_graph(self) -> bool:
        """True if the run requests a CUDA graph; for TensorRT 11 see `without_graph`."""
        return "--useCudaGraph" in self.argv or _WHOLE_GRAPH in self.argv

    def without_graph(self, trtexec: Trtexec) -> RunPlan | None:
        """Return the run without CUDA graph; None if it has none already, or an argument after `--` decides it."""
        if _WHOLE_GRAPH in self.argv:
            return replace(
                self, argv=tuple(_NO_GRAPH if word == _WHOLE_GRAPH else word for word in self.argv)
            )
        if trtexec.measures_by_default:
            if "--noCudaGraph" in self.argv or any(word.startswith("--useDLACore") for word in self.argv):
                return None
            return replace(self, argv=(*self.argv, "--noCudaGraph"))
        if not self.uses_graph:
            return None
        return replace(self, argv=tuple(word for word in self.argv if word != "--useCudaGraph"))


@dataclass(frozen=True, slots=True)
class Names:
    """File names of a set called `name` in `directory`."""

    directory: Path
    name: str

    def file(self, ending: str, number: int = 1) -> Path:
        """Return `<name>.<ending>`; later profile runs have their own directory."""
        folder = self.directory if number == 1 else self.directory / f"{self.name}.repeat-{number}"
        return folder / f"{self.name}.{ending}"

    @property
    def engine(self) -> Path:
        return self.file("engine")

    @property
    def manifest(self) -> Path:
        return self.file("capture.json")


class _Arguments:
    """Collects the arguments of a run and refuses all options unknown to trtexec at once."""

    def __init__(self, trtexec: Trtexec, refused: list[str]) -> None:
        self.trtexec = trtexec
        self.refused = refused
        self.items: list[str] = []
        self.typed: dict[str, str] = {}

    def add(self, flag: str, value: object = None, *, asked: str = "") -> None:
        """Add an option; `asked` is what the user typed for it, empty for what capture adds itself."""
        if not self.trtexec.knows(flag):
            why = refusal(flag, asked or flag, self.trtexec)
            if why not in self.refused:
                self.refused.append(why)
            return
        if asked:
            self.typed[flag] = asked
        self.items.append(flag if value is None else f"{flag}={value}")

    def given(self, flag: str, value: object, asked: str) -> None:
        if value is not None:
            self.add(flag, value, asked=asked)

    def take_over(self, table: Iterable[tuple[str, str]], options: CaptureOptions) -> None:
        for flag, field in table:
            self.given(flag, getattr(options, field), option_name(field))

    def wanted(self, flag: str, asked_for: bool, asked: str) -> None:
        if asked_for:
            self.add(flag, asked=asked)


def plan(options: CaptureOptions, trtexec: Trtexec, names: Names) -> tuple[RunPlan, ...]:
    """Return the runs, in order, with files in `names.directory`.

    Raises:
        TrexError: This trtexec does not know an option; the message names the versions that do.
    """
    refused: list[str] = []
    runs: list[RunPlan] = []
    engine = names.engine if options.builds else Path(options.engine or "")
    _check_passthrough(options, trtexec, refused)
    if options.builds:
        arguments = _build_arguments(options, trtexec, names, refused)
        runs.append(_run(BUILD, 1, arguments, names, engine))
    for number in () if options.build_only else range(1, options.repeat + 1):
        arguments = _profile_arguments(options, trtexec, names, refused, number)
        runs.append(_run(PROFILE, number, arguments, names, engine))
    if refused:
        raise TrexError("; ".join(refused))
    return tuple(runs)


def _run(role: str, number: int, arguments: list[str], names: Names, engine: Path) -> RunPlan:
    exports: tuple[tuple[str, Path], ...] = ()
    if role == PROFILE:
        exports = tuple((kind, names.file(f"{kind}.json", number)) for kind in ("graph", "profile", "timing"))
    log = names.file(f"engine.{role}.log", number)
    return RunPlan(role, number, tuple(arguments), log, engine, exports)


def _build_arguments(
    options: CaptureOptions, trtexec: Trtexec, names: Names, refused: list[str]
) -> list[str]:
    arguments = _Arguments(trtexec, refused)
    arguments.add("--onnx", options.onnx)
    arguments.add("--saveEngine", names.engine)
    arguments.add("--verbose")
    arguments.add("--profilingVerbosity", "detailed")
    arguments.add("--skipInference" if trtexec.knows("--skipInference") else "--buildOnly")
    for precision in options.precisions:
        arguments.add(f"--{precision}", asked=f"--{precision}")
    arguments.wanted("--best", options.best, "--best")
    arguments.wanted(
        "--stronglyTyped", options.strongly_typed and not trtexec.is_strongly_typed_only, "--strongly-typed"
    )
    arguments.wanted("--noTF32", options.no_tf32, "--no-tf32")
    arguments.take_over(_BUILD_VALUES, options)
    for index, profile in enumerate(options.profiles):
        # The following shapes belong to this profile, so the order counts.
        arguments.add("--profile", index, asked="--profile")
        arguments.add("--minShapes", profile.min_shapes, asked="--profile")
        arguments.add("--optShapes", profile.opt_shapes, asked="--profile")
        arguments.add("--maxShapes", profile.max_shapes, asked="--profile")
    shaped = options.profiles or options.min_shapes or options.opt_shapes or options.max_shapes
    arguments.given("--shapes", None if shaped else options.shapes, "--shapes")
    if options.workspace_mib is not None:
        if trtexec.knows("--memPoolSize"):
            # Without a unit: 10.1 and later read `MiB` as bytes.
            arguments.add("--memPoolSize", f"workspace:{options.workspace_mib}", asked="--workspace")
        else:
            arguments.add("--workspace", options.workspace_mib, asked="--workspace")
    arguments.take_over(_BUILDER_VALUES, options)
    _add_common(options, arguments)
    return _with_passthrough(options, arguments, BUILD)


def _profile_arguments(
    options: CaptureOptions, trtexec: Trtexec, names: Names, refused: list[str], number: int
) -> list[str]:
    arguments = _Arguments(trtexec, refused)
    arguments.add("--loadEngine", names.engine if options.builds else options.engine)
    arguments.add("--verbose")
    # Without shapes, an engine with dynamic shapes would be measured at the smallest.
    typical = options.opt_shapes
    if options.profiles:
        typical = options.profiles[options.profile_index or 0].opt_shapes
    arguments.given("--shapes", options.shapes or typical, "--shapes" if options.shapes else "")
    arguments.take_over(_MEASUREMENT_VALUES, options)
    streams = "--infStreams" if trtexec.knows("--infStreams") else "--streams"
    arguments.given(streams, options.inf_streams, "--inf-streams")
    graph = options.dla is None if options.cuda_graph is None else options.cuda_graph
    if trtexec.knows(RTX_GRAPH):
        arguments.add(*(_WHOLE_GRAPH if graph else _NO_GRAPH).split("="))
    elif trtexec.measures_by_default:
        arguments.wanted("--noCudaGraph", not graph and options.dla is None, "--no-cuda-graph")
    else:
        arguments.wanted("--useCudaGraph", graph, "--cuda-graph" if options.cuda_graph else "")
    if trtexec.knows("--includeDataTransfers"):
        arguments.wanted("--includeDataTransfers", options.data_transfers, "--data-transfers")
    else:
        arguments.wanted("--noDataTransfers", not options.data_transfers, "")
    if not trtexec.knows("--noSpinWait"):
        arguments.add("--useSpinWait")
    if trtexec.knows("--separateProfileRun") if trtexec.is_rtx else not trtexec.measures_by_default:
        arguments.add("--separateProfileRun")
    arguments.add("--dumpProfile")
    for option, kind in (("LayerInfo", "graph"), ("Times", "timing"), ("Profile", "profile")):
        arguments.add(f"--export{option}", names.file(f"{kind}.json", number))
    _add_common(options, arguments)
    return _with_passthrough(options, arguments, PROFILE)


def _add_common(options: CaptureOptions, arguments: _Arguments) -> None:
    """Add the arguments of both runs: the device, and what loading the engine needs."""
    arguments.given("--device", options.device, "--device")
    arguments.given("--useDLACore", options.dla, "--dla")
    arguments.wanted("--allowGPUFallback", options.allow_gpu_fallback, "--allow-gpu-fallback")
    arguments.wanted("--versionCompatible", options.version_compatible, "--version-compatible")
    flag = "--staticPlugins" if arguments.trtexec.knows("--staticPlugins") else "--plugins"
    for plugin in options.plugins:
        arguments.add(flag, plugin, asked="--plugin")


def _with_passthrough(options: CaptureOptions, arguments: _Arguments, role: str) -> list[str]:
    """Return the command. trtexec refuses repeated options: arguments after `--` and swept flags replace defaults of capture.

    An option that is typed twice, also as an option of trex-tui, is refused: one of the two would have no effect.
    """
    written = {flag_name(word) for word in options.passthrough} - _REPEATABLE
    if options.profiles:
        written |= {flag_name(word) for word in options.passthrough} & {"--profile"}
    for flag, asked in arguments.typed.items():
        why = f"{asked} and {flag} after --: the same option of trtexec; remove one"
        if flag in written and why not in arguments.refused:
            arguments.refused.append(why)
    for swept in options.swept:
        other = arguments.typed.get(swept.flag) or (f"{swept.flag} after --" if swept.flag in written else "")
        why = f"{other} and --sweep {swept.flag[2:]}: the same option of trtexec; remove one"
        if other and why not in arguments.refused:
            arguments.refused.append(why)
    words = [swept for swept in options.swept if role == PROFILE or swept.flag not in _MEASUREMENT_FLAGS]
    written |= {swept.flag for swept in words}
    defaults = [item for item in arguments.items if flag_name(item) not in written]
    added = [swept.word for swept in words if swept.word]
    return [str(arguments.trtexec.path), *defaults, *added, *options.passthrough]


def _check_passthrough(options: CaptureOptions, trtexec: Trtexec, refused: list[str]) -> None:
    for argument in options.passthrough:
        flag = flag_name(argument)
        if flag in OWN_FLAGS:
            refused.append(f"{flag} after --: capture sets it")
        elif flag_table().is_listed(flag) and not trtexec.knows(flag):
            refused.append(refusal(flag, flag, trtexec))
    unknown = [swept.flag for swept in options.swept if not trtexec.knows(swept.flag)]
    refused += [refusal(flag, f"--sweep {flag[2:]}", trtexec) for flag in unknown]


def flag_name(argument: str) -> str:
    """Return `--shapes` for `--shapes=x:1`."""
    return argument.split("=", 1)[0]


def refusal(flag: str, asked: str, trtexec: Trtexec) -> str:
    """Return why an option cannot be used, and which release has it; `asked` is what the user typed for it."""
    where = flag_table().where(flag)
    what = asked if asked == flag else f"{asked} (trtexec's {flag})"
    known = f"TensorRT {where} has it" if where else "not in any known release"
    message = f"{what}: not in trtexec of TensorRT {trtexec.version} ({trtexec.path}); {known}"
    weak = flag in ("--fp16", "--bf16", "--int8", "--fp8", "--int4", "--best", "--calib")
    return f"{message}. {_TYPED_MODEL}" if weak and trtexec.is_strongly_typed_only else message
