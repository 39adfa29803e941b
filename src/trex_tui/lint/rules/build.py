"""BUILD: options of the build, and tactics tried, skipped and chosen, from metadata and the build log."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from trex_tui.analysis.build import build_seconds
from trex_tui.analysis.options import TrtexecRun
from trex_tui.artifacts.kinds import FileKind
from trex_tui.artifacts.metadata import number_in
from trex_tui.buildlog.tactics import LayerTuning, SkippedTactic
from trex_tui.buildlog.trace import BuildTrace, TimingCache
from trex_tui.lint.context import (
    BUILDER_PERFORMANCE,
    COMMAND_LINE_PROGRAMS,
    TERSE,
    TIMED_ALONE,
    WORKSPACE_FAQ,
    Context,
    build_log,
    issue,
    quote,
    verbose_log,
)
from trex_tui.lint.rule import ERROR, HIGH, INFO, WARNING, Finding, Findings, finding, not_checked, rule
from trex_tui.text import format_bytes, plural, printable, shorten_middle

_COMPATIBILITY = (
    "Engine Compatibility: "
    "https://docs.nvidia.com/deeplearning/tensorrt/11.1.0/inference-library/engine-compatibility.html"
)
_TRTEXEC = "trtexec, samples/common/sampleOptions.cpp: https://github.com/NVIDIA/TensorRT"
_SUFFIXED = re.compile(r"workspace:(?P<number>\d+(?:\.\d+)?)(?P<unit>[KMGkmg]i?[Bb]|[Bb])\b")
_WORKSPACE = re.compile(r"workspace: +([-+\d.eE]+)\s*MiB")
"""As trtexec prints it; without the blank it is an argument."""
_MEMORY = re.compile(r"(?P<mib>\d{1,9}) MiB")
_TOO_LARGE = re.compile(r"Device request: (?P<wanted>\d{1,9}) ?MB Available: (?P<there>\d{1,9}) ?MB")
_MIB = 1 << 20
NO_OPTIONS = "no build options: keep the metadata or the log of the build in the set"
LAST_LETTER_DECIDES = (10, 1)
"""First TensorRT version whose trtexec takes the last letter of a pool size as its unit, with `B` for bytes."""
# They exclude kernels and fusions for all layers; other options may be intended.
_SERIOUS = frozenset(("Version Compatible", "hardwareCompatibilityLevel"))
LEAST_MIB = 1.0
SMALL_MIB = 16.0
MOST_MIB = 2.0**20
HEURISTIC_LEVELS = 2
MOST_OF_DEVICE = 0.75
"""No workspace can satisfy a request above this share of the device memory."""
NAMED_LAYERS = 5
CUDNN_ALGORITHMS = 56
"""Numbers of cuDNN's algorithms repeat after these many, with other flags."""
NEVER_WITHIN = 2.0
"""A skipped tactic is no loss if it took this many times the time of the best for every layer that it was timed for."""


@rule(
    "BUILD001",
    "Tactics skipped: not enough memory",
    WARNING,
    looks_for="Tactics in the verbose build log whose scratch memory exceeds the workspace or the free device memory; "
    "info if all need more than three quarters of the device memory. In another log, its warnings about them, and "
    "TensorRT 8's note that some tactics lack workspace (info).",
    why="Skipped tactics are often the fastest. Their saving is unknown because they were not timed.",
    remedy=(
        "Increase --memPoolSize=workspace:N (MiB) on an idle GPU.",
        "Increase --workspace=N (MiB) on an idle GPU.",
    ),
    references=(WORKSPACE_FAQ, issue(4136)),
    not_when="Tactics that the same log timed for other layers, and that were never within twice the time "
    "of the best there, such as cuDNN's FFT convolutions: listed on request only.",
    needs=(build_log,),
)
def skipped_tactics(context: Context) -> Findings:
    if not context.log.is_verbose:
        yield from _find_stated_skips(context)
        yield not_checked(TERSE)
        return
    every = list(_find_skips(context.log))
    ratios = _find_ratios(context.log)
    slow = [
        skip for skip in every if ratios.get(_algorithm(skip.runner, skip.tactic.id), 0.0) >= NEVER_WITHIN
    ]
    skips = [skip.tactic for skip in every if skip not in slow]
    if slow:
        yield _describe_slow(context, [skip.tactic for skip in slow], ratios, slow)
    limit = _workspace_bytes(context, [skip for skip in skips if skip.reason == "workspace"])

    def is_beyond_workspace(tactic: SkippedTactic) -> bool:
        """Return whether a request exceeds the workspace; others were skipped because the device was full."""
        fits = limit is not None and tactic.requested_bytes is not None and tactic.requested_bytes <= limit
        return tactic.reason == "workspace" and not fits

    for_workspace = [skip for skip in skips if is_beyond_workspace(skip)]
    for_device = [skip for skip in skips if not is_beyond_workspace(skip)]
    if for_workspace:
        yield _describe_beyond_workspace(context, for_workspace, limit)
    if for_device:
        yield _describe_beyond_device(context, for_device)


def _find_stated_skips(context: Context) -> Findings:
    """Yield what a log without tuning states about skipped tactics."""
    stated = [
        (message, match) for message in context.log.messages if (match := _TOO_LARGE.search(message.text))
    ]
    if stated:
        message, first = stated[0]
        times = sum(message.count for message, _ in stated)
        yield finding(
            f"Tactics were skipped {plural(times, 'time')}, device out of memory: the first needs {first['wanted']} MB "
            f"with {first['there']} MB free.",
            evidence={
                "warnings": times,
                "request_mb": int(first["wanted"]),
                "device_memory_free_mb": int(first["there"]),
                "log_line": message.line,
            },
            remedy=_free_memory(context),
        )
    elif context.log.workspace_shortage is not None:
        yield finding(
            "Some tactics lack workspace; their number and sizes are in a verbose log only.",
            severity=INFO,
            evidence={"log_line": context.log.workspace_shortage},
            remedy=_advise_workspace(None),
        )


_PAGE_CACHE = (
    "On a Jetson the page cache counts as used (sync; echo 3 > /proc/sys/vm/drop_caches as root), and so "
    "does the desktop; in a container, check that libcuda is the board's own, not a stub."
)


def _free_memory(context: Context) -> str:
    """Return how to give the build more of the device's memory."""
    if context.platform.is_jetson:
        return f"Free memory before the build; a larger workspace does not help. {_PAGE_CACHE}"
    text = "Build on an idle GPU, or on one with more memory; a larger workspace does not help."
    return text if context.platform.compute_capability else f"{text} {_PAGE_CACHE}"


class _Skip(NamedTuple):
    """A skipped tactic with the name of its layer or reformat, and its runner."""

    runner: str
    tactic: SkippedTactic


def _find_skips(trace: BuildTrace) -> Iterator[_Skip]:
    for tuning in trace.tunings:
        for trial in tuning.trials():
            for tactic in trial.skipped:
                yield _Skip(trial.runner, tactic._replace(layer=tuning.name))
    for cost in trace.reformat_costs:
        for trial in cost.combination.runners:
            for tactic in trial.skipped:
                yield _Skip(trial.runner, tactic._replace(layer=f"reformat of {cost.tensor}"))


def _algorithm(runner: str, tactic: str | None) -> tuple[str, str | None]:
    """Return what identifies a tactic over layers: of cuDNN, whose numbers are an algorithm and its flags, the algorithm."""
    if tactic is not None and runner.startswith("Cudnn"):
        return runner, str(int(tactic, 16) % CUDNN_ALGORITHMS)
    return runner, tactic


def _find_ratios(trace: BuildTrace) -> dict[tuple[str, str | None], float]:
    """Return for each tactic that was timed its time over that of the best in the same formats: the smallest over
    all layers.
    """
    ratios: dict[tuple[str, str | None], float] = {}
    for tuning in trace.tunings:
        for combination in tuning.combinations:
            timed = [(trial.runner, tactic) for trial in combination.runners for tactic in trial.tactics]
            best = min((tactic.time_ms for _, tactic in timed if tactic.time_ms), default=None)
            for runner, tactic in timed if best else ():
                key = _algorithm(runner, tactic.id)
                if tactic.time_ms is not None:
                    ratios[key] = min(tactic.time_ms / (best or 1.0), ratios.get(key, math.inf))
    return ratios


def _describe_slow(
    context: Context,
    skips: list[SkippedTactic],
    ratios: Mapping[tuple[str, str | None], float],
    slow: Iterable[_Skip],
) -> Finding:
    nearest = min(ratios[_algorithm(skip.runner, skip.tactic.id)] for skip in slow)
    return finding(
        f"{_count(context, skips)} skipped for memory ({_format_requests(skips)}), and no loss: for other "
        f"layers of this log they took at least {nearest:.3g} times as long as the best.",
        _skipped_layers(context, skips),
        severity=INFO,
        confidence=HIGH,
        evidence={"skipped_tactics": len(skips), "least_times_slower": nearest},
        remedy="None needed.",
        is_minor=True,
    )


def _describe_beyond_workspace(context: Context, skips: list[SkippedTactic], limit: int | None) -> Finding:
    device = _device_bytes(context.log)
    requests = _requests(skips)
    largest = max(requests, default=None)
    is_hopeless = (
        device is not None
        and len(requests) == len(skips)
        and min(requests, default=0) > MOST_OF_DEVICE * device
    )
    there = f"; workspace: {format_bytes(limit)}" if limit is not None else ""
    hopeless = f", most of the device's {format_bytes(device)}" if is_hopeless else ""
    return finding(
        f"{_count(context, skips)} skipped, workspace too small: {_format_requests(skips)} of scratch "
        f"memory{hopeless}{there}.",
        _skipped_layers(context, skips),
        severity=INFO if is_hopeless else None,
        evidence={
            "skipped_tactics": len(skips),
            "largest_request_bytes": largest,
            "workspace_bytes": limit,
            "device_memory_bytes": device,
            "requests_by_layer": _format_by_layer(skips),
        },
        remedy="None, unless this layer is slow: the request does not fit on this device."
        if is_hopeless
        else _advise_workspace(largest),
        is_minor=bool(odd_workspace.find(context)),  # the cause
    )


def _workspace_bytes(context: Context, skips: Iterable[SkippedTactic]) -> int | None:
    """Return the workspace limit of the build: from its options, or the least that a tactic was given.

    The amount given to Myelin includes the weights of its layer; no other tactic has less than the workspace.
    """
    limits = [tactic.available_bytes for tactic in skips if tactic.available_bytes is not None]
    stated = workspace_mib(context.build)
    if stated is not None and 0 <= stated <= MOST_MIB:
        limits.append(round(stated * _MIB))
    return min(limits, default=None)


def workspace_mib(run: TrtexecRun) -> float | None:
    """Return the workspace as trtexec parsed it, in MiB; None if it is the default or not stated."""
    match = _WORKSPACE.search(run.options.get("Memory Pools", ""))
    return number_in(match[1] if match else run.options.get("Workspace"))


def _advise_workspace(largest: int | None) -> tuple[str, ...]:
    """Return alternatives with a sufficient size, in whole MiB, which all versions take."""
    if largest is None:
        return (
            "Build without a workspace limit (--memPoolSize) and compare these layers.",
            "Build with a larger --workspace=N (MiB; the default is 16) and compare.",
        )
    size = math.ceil(largest / _MIB)
    return (
        f"Build with --memPoolSize=workspace:{size} (MiB) or more, or without a limit, and compare these layers.",
        f"Build with --workspace={size} (MiB) or more and compare these layers.",
    )


def _describe_beyond_device(context: Context, skips: list[SkippedTactic]) -> Finding:
    there = max(
        (tactic.available_bytes for tactic in skips if tactic.available_bytes is not None), default=None
    )
    free = f" with {format_bytes(there)} free" if there is not None else ""
    return finding(
        f"{_count(context, skips)} skipped, device out of memory{free}: {_format_requests(skips)}.",
        _skipped_layers(context, skips),
        evidence={
            "skipped_tactics": len(skips),
            "largest_request_bytes": max(_requests(skips), default=None),
            "device_memory_free_bytes": there,
            "requests_by_layer": _format_by_layer(skips),
        },
        remedy=_free_memory(context),
    )


def _requests(skips: Iterable[SkippedTactic]) -> list[int]:
    return [tactic.requested_bytes for tactic in skips if tactic.requested_bytes is not None]


def _count(context: Context, skips: list[SkippedTactic]) -> str:
    """Return `9 tactics for 6 layers were`: the layers of the engine, else those that were tuned."""
    layers = len(set(_skipped_layers(context, skips))) or len({tactic.layer for tactic in skips})
    return (
        f"{plural(len(skips), 'tactic')} for {plural(layers, 'layer')} {'was' if len(skips) == 1 else 'were'}"
    )


def _format_requests(skips: list[SkippedTactic]) -> str:
    requests = _requests(skips)
    if not requests:
        return f"the log does not state how much {'it needs' if len(skips) == 1 else 'they need'}"
    needs = "it needs" if len(skips) == 1 else "they need up to"
    unknown = f" ({len(skips) - len(requests)} without a size)" if len(requests) < len(skips) else ""
    return f"{needs} {format_bytes(max(requests))}{unknown}"


def _format_by_layer(skips: Iterable[SkippedTactic]) -> str:
    """Return layers with their largest requests in bytes, the largest first, limited in number."""
    largest: dict[str, int] = {}
    for tactic in skips:
        largest[tactic.layer] = max(largest.get(tactic.layer, 0), tactic.requested_bytes or 0)
    ordered = sorted(largest.items(), key=lambda item: (-item[1], item[0]))
    listed = [
        f"{shorten_middle(printable(name), 60)}: {size or 'not stated'}"
        for name, size in ordered[:NAMED_LAYERS]
    ]
    more = [f"and {len(ordered) - NAMED_LAYERS} more"] if len(ordered) > NAMED_LAYERS else []
    return "; ".join([*listed, *more])


def _skipped_layers(context: Context, skips: Iterable[SkippedTactic]) -> list[int]:
    return [layer for tactic in skips for layer in context.layers_by_tuning.get(tactic.layer, ())]


def _device_bytes(trace: BuildTrace) -> int | None:
    for label, value in trace.options.device.items():
        if "Global Memory" in label and (match := _MEMORY.search(value)):
            return int(match["mib"]) * _MIB
    return None


@rule(
    "BUILD002",
    "Workspace size misparsed by trtexec",
    ERROR,
    looks_for="A parsed workspace below 1 MiB (error), below 16 MiB (warning) or above 1 TiB (error); or, if the "
    "parsed value is unknown, `workspace:1024MiB` with TensorRT 10.1 or later.",
    why="Since 10.1 trtexec takes the last letter as the unit, and the B of MiB means bytes. The build then has "
    "almost no scratch memory, and its times are not representative.",
    remedy=("Write --memPoolSize=workspace:1024 or workspace:1024M.", "Write --workspace=1024 (MiB)."),
    references=(_TRTEXEC,),
    not_when="The same argument before 10.0, which reads it as MiB.",
)
def odd_workspace(context: Context) -> Findings:
    run = context.build
    argument, size = run.argument("--memPoolSize"), workspace_mib(run)
    asked = _SUFFIXED.search(argument or "")
    version = context.platform.version
    pools = run.options.get("Memory Pools", "")
    if size is not None:
        if SMALL_MIB <= size <= MOST_MIB:
            return
        effect = "this is not a limit"
        if size < SMALL_MIB:
            effect = "tactics that need scratch memory were skipped"
        given = f" (given as {asked[0]})" if asked else ""
        yield finding(
            f"The workspace of the build was {size:.6g} MiB{given}: {effect}.",
            severity=WARNING if LEAST_MIB <= size < SMALL_MIB else None,
            confidence=HIGH,
            evidence={"workspace_mib": size, "memPoolSize": argument, "source": run.source},
            remedy=_spell_workspace(asked),
        )
    elif asked and version and version >= LAST_LETTER_DECIDES:
        yield finding(
            f"--memPoolSize={asked[0]} was read as {asked['number']} bytes (TensorRT 10.1 and later).",
            evidence={"memPoolSize": asked[0], "tensorrt": context.engine.facts.tensorrt_version},
            remedy=_spell_workspace(asked),
        )
    elif not pools.startswith("workspace:"):
        cut = "Memory Pools is truncated in the metadata: keep the log of the build"
        silent = "the build options do not state the memory pools" if run.options else NO_OPTIONS
        yield not_checked(cut if pools else silent)


def _spell_workspace(asked: re.Match[str] | None) -> str:
    """Return the argument as trtexec reads it; empty if it is unknown, or really in bytes."""
    if asked is None or asked["unit"].upper() == "B":
        return ""
    return f"Write --memPoolSize=workspace:{asked['number']}{asked['unit'][0].upper()}."


@rule(
    "BUILD003",
    "No persistent timing cache",
    INFO,
    looks_for="timingCacheMode local or disable in the build options or the log; or a global cache that could not be "
    "read or had no matching entry.",
    why="Each build times all tactics again. Near ties are decided by noise, so times and results differ "
    "between builds of one model.",
    remedy=(
        "--timingCacheFile=FILE, kept between builds; in CI also --errorOnTimingCacheMiss, and locked clocks.",
        "--timingCacheFile=FILE, kept between builds; in CI also locked clocks.",
    ),
    references=(BUILDER_PERFORMANCE, issue(4730)),
    not_when="A given but empty cache without a build log: only the log shows it. TensorRT-RTX, which "
    "times no tactics while it builds.",
    is_remark=True,
)
def cold_timing_cache(context: Context) -> Findings:
    if context.platform.is_rtx:
        return
    run, trace = context.build, context.build_trace
    cache = None if trace is None or trace.only_loads else trace.cache
    mode = run.options.get("timingCacheMode", "").lower() or (cache.mode if cache else None)
    if not mode:
        yield not_checked("the build options do not state timingCacheMode" if run.options else NO_OPTIONS)
    elif mode in ("local", "disable"):
        yield finding(
            f"Timing cache: {'this build only' if mode == 'local' else 'off'}; the next build times all "
            "tactics again and may choose others.",
            confidence=HIGH,
            evidence={
                "timingCacheMode": mode,
                "timingCacheFile": run.options.get("timingCacheFile") or None,
                "source": run.source,
            },
        )
    elif cache is not None and (cache.unreadable is not None or _served_nothing(cache)):
        name = cache.unreadable or cache.file
        named = f" {printable(name)}" if name else ""
        state = " could not be read" if cache.unreadable is not None else " had no entry for this network"
        yield finding(
            f"The timing cache{named}{state}: this build timed all tactics; its choices may differ from "
            "earlier builds.",
            confidence=HIGH,
            evidence={
                "timingCacheFile": name,
                "entries": cache.entries,
                "hits": cache.hits,
                "saved_bytes": cache.saved_bytes,
            },
            remedy=(
                "Keep the cache file of this build for the next one; in CI also use --errorOnTimingCacheMiss.",
                "Keep the cache file of this build for the next one.",
            ),
        )


def _served_nothing(cache: TimingCache) -> bool:
    """Return whether a cache was queried without hits; `cached_results` also counts hits within one build."""
    return cache.hits == 0 and bool(cache.entries) and not cache.cached_results


@rule(
    "BUILD004",
    "Restricted tactic search",
    INFO,
    looks_for="Optimization level 0 to 2, MaxTactics, heuristics, tactic sources, avgTiming 1, restricted mode, "
    "refit, stripped weights, sparsity without a sparse kernel; version or hardware compatibility (warning).",
    why="Excluded kernels may be faster.",
    remedy="Unless intended, build once with the defaults and compare.",
    references=(BUILDER_PERFORMANCE, _COMPATIBILITY),
    columns=("tactic",),
)
def limited_search(context: Context) -> Findings:
    run = context.build
    if not run.is_stated:
        yield not_checked(NO_OPTIONS)
        return
    limits = dict(_find_limits(run))
    sparsity = run.options.get("Sparsity", "")
    tactics = [tactic for tactic in context.tactics if tactic]
    is_dense = bool(tactics) and not any(tactic.is_sparse for tactic in tactics)
    if sparsity.lower().startswith(("enable", "force")) and is_dense:
        limits["Sparsity"] = f"{sparsity}, but no sparse kernel"
    if limits:
        listed = "; ".join(f"{name} {printable(value)}" for name, value in limits.items())
        yield finding(
            f"{plural(len(limits), 'option')} restricted the tactic search: {listed}.",
            severity=INFO if _SERIOUS.isdisjoint(limits) else WARNING,
            evidence=limits,
        )


def _find_limits(run: TrtexecRun) -> Iterator[tuple[str, str]]:
    level = number_in(run.options.get("BuilderOptimizationLevel"))
    if level is not None and 0 <= level <= HEURISTIC_LEVELS:
        yield "BuilderOptimizationLevel", f"{level:.0f} (default 3)"
    if (number_in(run.options.get("MaxTactics")) or 0) > 0:
        yield "MaxTactics", run.options["MaxTactics"]
    if _is_enabled(run, "Heuristic"):
        yield "Heuristic", "Enabled"
    sources = run.options.get("Tactic sources", "")
    if sources and "default" not in sources.lower():
        yield "Tactic sources", sources
    if number_in(run.options.get("avgTiming")) == 1:
        yield "avgTiming", "1 (each tactic measured once)"
    for label in ("Restricted mode", "Version Compatible", "Refit", "Strip weights"):
        if _is_enabled(run, label):
            yield label, "Enabled"
    compatibility = run.argument("--hardwareCompatibilityLevel")
    if compatibility and compatibility.lower() != "none":
        yield "hardwareCompatibilityLevel", compatibility


def _is_enabled(run: TrtexecRun, label: str) -> bool:
    return run.options.get(label, "").strip().lower() == "enabled"


@rule(
    "BUILD005",
    "Incomplete layer information",
    WARNING,
    looks_for="Layers with names only; layers with types but no layouts; dynamic dimensions or missing types.",
    why="Most other rules cannot run.",
    remedy=(
        "Build with --profilingVerbosity=detailed and export with --exportLayerInfo.",
        "TensorRT 8.2 and later can export types, shapes and tactics.",
    ),
    references=(COMMAND_LINE_PROGRAMS,),
    columns=("layer_type", "input_formats", "output_formats", "input_shapes"),
    not_when="Layers that come from a log, which has no more; Myelin layers without layouts, which "
    "TensorRT up to 10 never exports.",
)
def incomplete_layers(context: Context) -> Findings:
    number = len(context.engine)
    if not context.engine.has_graph:
        yield not_checked("no layer information: export it with --exportLayerInfo")
        return
    if context.engine.has_names_only:
        yield finding(
            "The layer information has names only: rules that need tensors or tactics are not checked.",
            confidence=HIGH,
            evidence={"layers": number, "names_only": True},
        )
        return
    if context.engine.details_source is not None or FileKind.GRAPH not in context.engine.files:
        return
    ports = [[*inputs, *outputs] for inputs, outputs in zip(context.inputs, context.outputs, strict=True)]
    native = [layer for layer in range(number) if context.parameter_types[layer] and ports[layer]]
    if native and all(port.dtype and not port.format for layer in native for port in ports[layer]):
        first = context.inputs[native[0]]
        yield finding(
            f"All {plural(len(native), 'layer')} with layouts show types only, so layout changes cannot be "
            "distinguished from other copies.",
            native,
            confidence=HIGH,
            evidence={"layers": len(native), "input_formats": first[0].format_text if first else None},
            remedy="Export the layer information with an execution context: --exportLayerInfo in a run "
            "that also infers.",
        )
    dynamic = [layer for layer in range(number) if any(-1 in port.shape for port in ports[layer])]
    untyped = [layer for layer in range(number) if any(port.dtype is None for port in ports[layer])]
    parts = [f"{len(dynamic)} with dynamic dimensions"] if dynamic else []
    parts += [f"{len(untyped)} without types"] if untyped else []
    if parts:
        yield finding(
            f"Of {plural(number, 'layer')} {' and '.join(parts)}: their bytes and MACs are unknown.",
            {*dynamic, *untyped},
            confidence=HIGH,
            evidence={"layers": len({*dynamic, *untyped}), "dynamic": len(dynamic), "untyped": len(untyped)},
            remedy="Export the layer information from the profile run, with --shapes set.",
        )


@rule(
    "BUILD006",
    "Near-tied tactics: build not reproducible",
    INFO,
    looks_for="Layers whose second fastest tactic in the same formats took at most 2 % longer than the choice.",
    why=f"{TIMED_ALONE} The next build may choose the other tactic, so latency, numerical results and sizes "
    "differ between builds of one model.",
    remedy="Keep the choice with --timingCacheFile=FILE; lock the clocks during the build and raise --avgTiming.",
    references=(BUILDER_PERFORMANCE, issue(4730)),
    columns=("name", "kind"),
    not_when="Layers with a single timed tactic, or with a result from a cache that stores one time.",
    needs=(verbose_log,),
    thresholds={"margin_pct": 2.0},  # near ties as in the build log's report
    is_remark=True,
)
def near_ties(context: Context, margin_pct: float) -> Findings:
    margins = {
        layer: abs(margin)
        for layer, choice in enumerate(context.choices)
        if context.is_work(layer) and (margin := choice.margin_pct) is not None
    }
    if not margins:
        yield not_checked("the build log has no layer of this engine with two timed tactics")
        return
    ties = [layer for layer, margin in margins.items() if margin < margin_pct]
    if not ties:
        return
    closest = min(ties, key=lambda layer: (margins[layer], layer))
    choice = context.choices[closest]
    yield finding(
        f"{len(ties)} of {plural(len(margins), 'layer')} with a second tactic "
        f"{'was' if len(ties) == 1 else 'were'} decided "
        f"by less than {margin_pct:g} % (noise); closest: {context.quote(closest)}, {margins[closest]:.2g} %.",
        ties,
        confidence=HIGH,
        evidence={
            "near_ties": len(ties),
            "layers_compared": len(margins),
            "closest_margin_pct": margins[closest],
            "chosen_tuning_ms": choice.chosen.time_ms if choice.chosen else None,
            "second_tuning_ms": choice.second.time_ms if choice.second else None,
            "latency_ms": context.sum_ms(ties),
        },
    )


@rule(
    "BUILD007",
    "Slow tuning of one layer",
    INFO,
    looks_for="A layer whose tuning took at least 10 s and at least a fifth of the build.",
    why="Every build without a timing cache repeats it.",
    remedy=(
        "--timingCacheFile=FILE keeps its result; --builderOptimizationLevel and --maxTactics limit the search. "
        "For dynamic inputs, use fewer optimization profiles.",
        "--timingCacheFile=FILE keeps its result; --builderOptimizationLevel limits the search. For "
        "dynamic inputs, use fewer optimization profiles.",
        "--timingCacheFile=FILE keeps its result. For dynamic inputs, use fewer optimization profiles.",
        "For dynamic inputs, use fewer optimization profiles.",
    ),
    references=(BUILDER_PERFORMANCE,),
    columns=("name",),
    not_when="Results from the cache. Before TensorRT 8.6 only whole seconds are known.",
    needs=(verbose_log,),
    thresholds={"share_pct": 20.0, "seconds": 10.0},
)
def slow_tuning(context: Context, share_pct: float, seconds: float) -> Findings:
    trace = context.log
    spent: dict[str, float] = {}
    tactics: dict[str, int] = {}
    for tuning in trace.tunings:
        if not tuning.name:
            continue  # not timed, or its beginning is not in the log
        tactics[tuning.name] = tactics.get(tuning.name, 0) + tuning.tactic_count
        time = _tuning_seconds(tuning)
        if time is not None:
            spent[tuning.name] = spent.get(tuning.name, 0.0) + time
    whole = build_seconds(trace) or trace.stated_seconds or math.fsum(spent.values())
    if not spent or not whole:
        yield not_checked("the build log has no tuning times")
        return
    for name, time in sorted(spent.items(), key=lambda item: (-item[1], item[0])):
        if time < seconds or 100.0 * time < share_pct * whole:
            continue
        timed = f" for {plural(tactics[name], 'tactic')}" if tactics[name] else ""
        yield finding(
            f"Tuning {quote(name)} took {time:.0f} s{timed}, {100.0 * time / whole:.0f} % of the build.",
            context.layers_by_tuning.get(name, ()),
            confidence=HIGH,
            evidence={"tuning_s": time, "build_s": whole, "tactics_timed": tactics[name]},
        )


def _tuning_seconds(tuning: LayerTuning) -> float | None:
    """Return the time from the log (8.6 and later), else between its time stamps, which are whole seconds."""
    if tuning.seconds is not None:
        return tuning.seconds
    if tuning.began_s is None or tuning.ended_s is None:
        return None
    return tuning.ended_s - tuning.began_s


RULES = (
    skipped_tactics,
    odd_workspace,
    cold_timing_cache,
    limited_search,
    incomplete_layers,
    near_ties,
    slow_tuning,
)
