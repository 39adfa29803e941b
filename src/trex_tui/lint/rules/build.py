"""BUILD: how the engine was built, as far as metadata and the build log tell of its options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trex_tui.lint.context import Context
from trex_tui.lint.model import Confidence, Evidence, Finding, NotChecked, Rule, Severity
from trex_tui.lint.trtexec_runs import TrtexecRun, build_run, version_of
from trex_tui.text import plural, printable

if TYPE_CHECKING:
    from trex_tui.buildlog.build_trace import TimingCache

_PERFORMANCE = (
    "Optimizing Builder Performance: "
    "https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/performance/builder-performance.html"
)
_COMPATIBILITY = (
    "Engine Compatibility: "
    "https://docs.nvidia.com/deeplearning/tensorrt/11.1.0/inference-library/engine-compatibility.html"
)
_TRTEXEC = "trtexec, samples/common/sampleOptions.cpp: https://github.com/NVIDIA/TensorRT"
_SUFFIXED = re.compile(r"workspace:(?P<number>\d+(?:\.\d+)?)(?P<unit>[KMGkmg]i?[Bb]|[Bb])\b")
NO_OPTIONS = "no build options: keep the build's metadata or its log beside the other files"
LAST_LETTER_DECIDES = (10, 1)
"""Since that TensorRT trtexec takes the last letter of a pool size as its unit, and `B` is bytes."""
# They exclude kernels and fusions for all layers; the others may be wanted for what they are.
_SERIOUS = frozenset({"Version Compatible", "hardwareCompatibilityLevel"})
LEAST_MIB = 1.0
SMALL_MIB = 16.0
MOST_MIB = 2.0**20
HEURISTIC_LEVELS = 2


def _workspace(context: Context) -> Iterator[Finding | NotChecked]:
    run = build_run(context.engine)
    asked = _SUFFIXED.search(run.argument("--memPoolSize") or "")
    size = run.workspace_mib
    if size is not None:
        if not SMALL_MIB <= size <= MOST_MIB:
            yield _odd_workspace(run, size, asked[0] if asked else None)
        return
    version = version_of(context.engine)
    if asked and version and version >= LAST_LETTER_DECIDES:
        yield Finding(
            "BUILD002",
            f"The build was given --memPoolSize={asked[0]}; since TensorRT 10.1 trtexec reads that as {asked['number']} "
            "bytes.",
            confidence=Confidence.MEDIUM,
            evidence=(
                Evidence("memPoolSize", asked[0]),
                Evidence("tensorrt", context.engine.tensorrt_version),
            ),
        )
    elif not run.options.get("Memory Pools", "").startswith("workspace:"):
        cut = run.options.get("Memory Pools")
        reason = (
            "the metadata cuts the value of Memory Pools: keep the log of the build" if cut else NO_OPTIONS
        )
        yield NotChecked("BUILD002", reason)


def _odd_workspace(run: TrtexecRun, size: float, asked: str | None) -> Finding:
    small = size < SMALL_MIB
    given = f" (given as {asked})" if asked else ""
    words = (
        "tactics that need scratch memory were not tried"
        if small
        else "that is no limit at all, and not what was meant"
    )
    return Finding(
        "BUILD002",
        f"The workspace of the build was {size:.6g} MiB{given}: {words}.",
        severity=Severity.WARNING if LEAST_MIB <= size < SMALL_MIB else None,
        confidence=Confidence.HIGH,
        evidence=(
            Evidence("workspace_mib", size),
            Evidence("memPoolSize", run.argument("--memPoolSize")),
            Evidence("source", run.source),
        ),
    )


def _timing_cache(context: Context) -> Iterator[Finding | NotChecked]:
    run = build_run(context.engine)
    told = context.build_trace
    cache = None if told is None or told.only_loads else told.cache
    mode = run.options.get("timingCacheMode", "").lower() or (cache.mode if cache else None)
    if not mode:
        yield NotChecked(
            "BUILD003", NO_OPTIONS if not run.options else "the build options do not state timingCacheMode"
        )
    elif mode in ("local", "disable"):
        words = "for this build only" if mode == "local" else "off"
        yield Finding(
            "BUILD003",
            f"The timing cache was {words}: the next build measures every tactic anew and may choose others where two are "
            "close.",
            confidence=Confidence.HIGH,
            evidence=(
                Evidence("timingCacheMode", mode),
                Evidence("timingCacheFile", run.options.get("timingCacheFile") or None),
                Evidence("source", run.source),
            ),
        )
    elif cache is not None and (cache.unreadable is not None or _served_nothing(cache)):
        yield _cold_cache(cache)


def _served_nothing(cache: TimingCache) -> bool:
    """Whether a cache was asked and had no answer; `cached_results` counts those within one build too."""
    return cache.hits == 0 and bool(cache.entries) and not cache.cached_results


def _cold_cache(cache: TimingCache) -> Finding:
    name = cache.unreadable or cache.file
    called = f" {printable(name)}" if name else ""
    missing = " could not be read" if cache.unreadable is not None else " had nothing for this network"
    return Finding(
        "BUILD003",
        f"The timing cache{called}{missing}: this build measured every tactic anew; if it was not the first one, its choices "
        "may differ from those before.",
        confidence=Confidence.HIGH,
        evidence=(
            Evidence("timingCacheFile", name),
            Evidence("entries", cache.entries),
            Evidence("hits", cache.hits),
            Evidence("saved_bytes", cache.saved_bytes),
        ),
        remedy="Keep the file that this build wrote, and give it to the next one; in CI also --errorOnTimingCacheMiss.",
    )


def _limited_search(context: Context) -> Iterator[Finding | NotChecked]:
    run = build_run(context.engine)
    if not run.is_stated:
        yield NotChecked("BUILD004", NO_OPTIONS)
        return
    limits = [*_search_limits(run), *_compatibility_limits(run)]
    sparse = run.options.get("Sparsity", "").lower()
    tactics = [tactic for layer in context.layers if (tactic := context.tactic(layer))]
    if sparse.startswith(("enable", "force")) and tactics and not any(one.is_sparse for one in tactics):
        limits.append(("Sparsity", f"{run.options['Sparsity']}, and not one kernel is sparse"))
    if limits:
        serious = any(name in _SERIOUS for name, _ in limits)
        yield Finding(
            "BUILD004",
            f"The choice of kernels was limited by {plural(len(limits), 'option')}: "
            f"{'; '.join(f'{name} {printable(value)}' for name, value in limits)}.",
            severity=Severity.WARNING if serious else Severity.INFO,
            confidence=Confidence.MEDIUM,
            evidence=tuple(Evidence(name, value) for name, value in limits),
        )


def _search_limits(run: TrtexecRun) -> Iterator[tuple[str, str]]:
    level = run.number("BuilderOptimizationLevel")
    if level is not None and 0 <= level <= HEURISTIC_LEVELS:
        yield "BuilderOptimizationLevel", f"{level:.0f} (default 3)"
    if (run.number("MaxTactics") or 0) > 0:
        yield "MaxTactics", run.options["MaxTactics"]
    if run.enabled("Heuristic"):
        yield "Heuristic", "Enabled"
    sources = run.options.get("Tactic sources", "")
    if sources and "default" not in sources.lower():
        yield "Tactic sources", sources
    if run.number("avgTiming") == 1:
        yield "avgTiming", "1 (each tactic measured once)"


def _compatibility_limits(run: TrtexecRun) -> Iterator[tuple[str, str]]:
    for label in ("Restricted mode", "Version Compatible", "Refit", "Strip weights"):
        if run.enabled(label):
            yield label, "Enabled"
    level = run.argument("--hardwareCompatibilityLevel")
    if level and level.lower() != "none":
        yield "hardwareCompatibilityLevel", level


def _incomplete(context: Context) -> Iterator[Finding | NotChecked]:
    engine = context.engine
    if not engine.has_graph:
        yield NotChecked("BUILD005", "no layer information: export it with --exportLayerInfo")
        return
    if engine.names_only:
        yield Finding(
            "BUILD005",
            "The layer information holds names only: no rule that needs tensors or tactics can look.",
            confidence=Confidence.HIGH,
            evidence=(Evidence("layers", len(engine.layers)), Evidence("names_only", True)),
        )
        return
    native = [layer for layer in context.layers if layer.parameter_type and (layer.inputs or layer.outputs)]
    bare = [
        layer
        for layer in native
        if all(tensor.dtype and not tensor.format.layout for tensor in (*layer.inputs, *layer.outputs))
    ]
    if native and len(bare) == len(native):
        yield Finding(
            "BUILD005",
            f"All {plural(len(native), 'layer')} that have layouts show types only, so copies that change the layout cannot "
            "be told from others.",
            tuple(layer.index for layer in bare),
            confidence=Confidence.HIGH,
            evidence=(
                Evidence("layers", len(bare)),
                Evidence("input_formats", bare[0].inputs[0].format.text if bare[0].inputs else None),
            ),
            remedy="Export the layer information with an execution context: --exportLayerInfo in a run that also infers.",
        )
    yield from _dynamic(context)


def _dynamic(context: Context) -> Iterator[Finding]:
    open_layers = [
        layer
        for layer in context.layers
        if any(tensor.dtype is None or -1 in tensor.shape for tensor in (*layer.inputs, *layer.outputs))
    ]
    if open_layers:
        yield Finding(
            "BUILD005",
            f"Dimensions or types are not told in {plural(len(open_layers), 'layer')} of {len(context.layers)}: "
            "bytes and products there are unknown.",
            tuple(layer.index for layer in open_layers),
            confidence=Confidence.HIGH,
            evidence=(Evidence("layers", len(open_layers)),),
            remedy="Export the layer information from the profile run, with --shapes set.",
        )


RULES: tuple[Rule, ...] = (
    Rule(
        id="BUILD002",
        title="Workspace is not what was meant",
        severity=Severity.ERROR,
        looks_for="A workspace below 1 MiB (error), below 16 MiB (warning) or above 1 TiB (error), as trtexec understood it; "
        "or, where that is not told, `workspace:1024MiB` with TensorRT 10.1 or later.",
        why="Since 10.1 trtexec takes the last letter as the unit, and the B of MiB means bytes: the build then has no "
        "scratch memory, and its times say nothing about the model.",
        remedy="Write --memPoolSize=workspace:1024 or workspace:1024M.",
        references=(_TRTEXEC,),
        columns=(),
        check=_workspace,
        not_when="The same argument before 10.0, where it is read as MiB: the understood value decides.",
    ),
    Rule(
        id="BUILD003",
        title="Built without a lasting timing cache",
        severity=Severity.INFO,
        looks_for="timingCacheMode local or disable in the build options or the log; or a global cache whose file could not "
        "be read, or that served nothing, as the log of the build tells.",
        why="Tactics that are within noise of each other are chosen anew in each build: times and results differ between "
        "builds of one model, and each takes its full time.",
        remedy="--timingCacheFile=FILE, kept between builds; in CI also --errorOnTimingCacheMiss, and locked clocks.",
        references=(
            _PERFORMANCE,
            "NVIDIA/TensorRT#4730: https://github.com/NVIDIA/TensorRT/issues/4730",
        ),
        columns=(),
        check=_timing_cache,
        not_when="A cache that was given but cold where there is no log of the build: only the log tells.",
    ),
    Rule(
        id="BUILD004",
        title="The search for kernels was limited",
        severity=Severity.INFO,
        looks_for="Optimization level 0 to 2, MaxTactics, heuristics, tactic sources, avgTiming 1; restricted mode, "
        "refit, stripped weights; sparsity without a sparse kernel; as a warning version or hardware compatibility.",
        why="Kernels that were not tried, or not allowed, may be the faster ones.",
        remedy="If it is not on purpose, build once with the defaults and compare.",
        references=(_PERFORMANCE, _COMPATIBILITY),
        columns=("tactic",),
        check=_limited_search,
    ),
    Rule(
        id="BUILD005",
        title="Layer information is incomplete",
        severity=Severity.WARNING,
        looks_for="Layers that are names only; layers with types but no layouts; dimensions or types that are not told.",
        why="It limits what every other rule can see.",
        remedy="Build with --profilingVerbosity=detailed and export with --exportLayerInfo.",
        references=(
            "Command-Line Programs (trtexec): "
            "https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/command-line-programs.html",
        ),
        columns=("layer_type", "input_formats", "output_formats", "input_shapes"),
        check=_incomplete,
        not_when="Myelin layers without layouts, which TensorRT never tells.",
    ),
)
