"""BUILD: options of the build, and tactics tried, skipped and chosen, from metadata and the build log."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from trex_tui.analysis.options import TrtexecRun
from trex_tui.artifacts.kinds import FileKind
from trex_tui.artifacts.metadata import number_in
from trex_tui.buildlog.tactics import SkippedTactic
from trex_tui.buildlog.trace import BuildTrace
from trex_tui.lint.context import (
    BUILDER_PERFORMANCE,
    COMMAND_LINE_PROGRAMS,
    TERSE,
    TIMED_ALONE,
    WORKSPACE_FAQ,
    Context,
    build_log,
    issue,
)
from trex_tui.lint.rule import (
    ERROR,
    HIGH,
    INFO,
    WARNING,
    Finding,
    Findings,
    FindingSeverity,
    Remedy,
    Rule,
    finding,
    not_checked,
)
from trex_tui.text import format_bytes, plural, printable

_TRTEXEC = "trtexec, samples/common/sampleOptions.cpp: https://github.com/NVIDIA/TensorRT"
_SUFFIXED = re.compile(r"workspace:(?P<number>\d+(?:\.\d+)?)(?P<unit>[KMGkmg]i?[Bb]|[Bb])\b")
_WORKSPACE = re.compile(r"workspace: +([-+\d.eE]+)\s*MiB")
"""As trtexec prints it; without the blank it is an argument."""
_MEMORY = re.compile(r"(?P<mib>\d{1,9}) MiB")
_TOO_LARGE = re.compile(r"Device request: (?P<wanted>\d{1,9}) ?MB Available: (?P<there>\d{1,9}) ?MB")
_MIB = 1 << 20
_NO_OPTIONS = "no build options: keep the metadata or the log of the build in the set"
LAST_LETTER_DECIDES = (10, 1)
"""First TensorRT version whose trtexec takes the last letter of a pool size as its unit, with `B` for bytes."""
LEAST_MIB, SMALL_MIB, MOST_MIB = 1.0, 16.0, 2.0**20
MOST_OF_DEVICE = 0.75
"""No workspace can satisfy a request above this share of the device memory."""
CUDNN_ALGORITHMS = 56
"""Numbers of cuDNN's algorithms repeat after these many, with other flags."""
NEVER_WITHIN = 2.0
"""A skipped tactic is no loss if it took this many times the time of the best for every layer that it was timed for."""
NEAR_PCT = 2.0
"""Margin between tactics that noise decides."""
_Algorithm = tuple[str, str | None]
"""Runner and number of a tactic, without the layer."""


@Rule(
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
    skips = list(_find_skips(context.log))
    ratios = _find_ratios(context.log)
    slow = [tactic for key, tactic in skips if ratios.get(key, 0.0) >= NEVER_WITHIN]
    rest = [tactic for key, tactic in skips if ratios.get(key, 0.0) < NEVER_WITHIN]
    limit = _workspace_bytes(context, rest)
    fits = [limit is not None and (tactic.requested_bytes or math.inf) <= limit for tactic in rest]
    is_beyond = [tactic.reason == "workspace" and not fit for tactic, fit in zip(rest, fits, strict=True)]
    for_workspace = [tactic for tactic, beyond in zip(rest, is_beyond, strict=True) if beyond]
    for_device = [tactic for tactic, beyond in zip(rest, is_beyond, strict=True) if not beyond]
    if slow:
        nearest = min(ratio for key, _ in skips if (ratio := ratios.get(key, 0.0)) >= NEVER_WITHIN)
        why = f"but for other layers of this log they took at least {nearest:.3g} times as long as the best"
        yield _describe(context, slow, why, INFO, "None needed.", is_minor=True)
    if for_workspace:
        device, largest = _device_bytes(context.log), _most(for_workspace)
        is_hopeless = device is not None and all(
            (tactic.requested_bytes or 0) > MOST_OF_DEVICE * device for tactic in for_workspace
        )
        why = "workspace too small" + (f" ({format_bytes(limit)})" if limit is not None else "")
        if is_hopeless:
            why += f", device memory too ({format_bytes(device or 0)})"
        remedy: Remedy = "None, unless this layer is slow: the request does not fit on this device."
        if not is_hopeless:
            remedy = _advise_workspace(largest)
        is_minor = bool(odd_workspace.find(context))  # the cause
        yield _describe(context, for_workspace, why, INFO if is_hopeless else None, remedy, is_minor=is_minor)
    if for_device:
        free = max((tactic.available_bytes or 0 for tactic in for_device), default=0)
        why = "device out of memory" + (f" ({format_bytes(free)} free)" if free else "")
        yield _describe(context, for_device, why, None, _free_memory(context))


def _describe(
    context: Context,
    skips: Sequence[SkippedTactic],
    why: str,
    severity: FindingSeverity | None,
    remedy: Remedy,
    *,
    is_minor: bool = False,
) -> Finding:
    layers = {layer for skip in skips for layer in context.layers_by_tuning.get(skip.layer, ())}
    count = len(layers) or len({skip.layer for skip in skips})
    most = _most(skips)
    needed = "of unknown size" if most is None else f"of up to {format_bytes(most)}"
    return finding(
        f"{plural(len(skips), 'tactic')} for {plural(count, 'layer')} skipped for scratch memory {needed}: {why}.",
        layers,
        severity=severity,
        evidence={"skipped_tactics": len(skips), "largest_request_bytes": most},
        remedy=remedy,
        is_minor=is_minor,
    )


def _most(skips: Sequence[SkippedTactic]) -> int | None:
    return max((skip.requested_bytes for skip in skips if skip.requested_bytes is not None), default=None)


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


def _advise_workspace(largest: int | None) -> Remedy:
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


def _find_skips(trace: BuildTrace) -> Iterator[tuple[_Algorithm, SkippedTactic]]:
    named = [(tuning.name, trial) for tuning in trace.tunings for trial in tuning.trials()]
    named += [
        (f"reformat of {cost.tensor}", trial)
        for cost in trace.reformat_costs
        for trial in cost.combination.runners
    ]
    for name, trial in named:
        for tactic in trial.skipped:
            yield _algorithm(trial.runner, tactic.id), tactic._replace(layer=name)


def _algorithm(runner: str, tactic: str | None) -> _Algorithm:
    """Return what identifies a tactic over layers: of cuDNN, whose numbers are an algorithm and its flags, the algorithm."""
    if tactic is not None and runner.startswith("Cudnn"):
        return runner, str(int(tactic, 16) % CUDNN_ALGORITHMS)
    return runner, tactic


def _find_ratios(trace: BuildTrace) -> dict[_Algorithm, float]:
    """Return for each tactic that was timed its time over that of the best in the same formats: the smallest over
    all layers.
    """
    ratios: dict[_Algorithm, float] = {}
    for tuning in trace.tunings:
        for combination in tuning.combinations:
            timed = [(trial.runner, tactic) for trial in combination.runners for tactic in trial.tactics]
            best = min((tactic.time_ms for _, tactic in timed if tactic.time_ms), default=None)
            for runner, tactic in timed if best else ():
                key = _algorithm(runner, tactic.id)
                if tactic.time_ms is not None:
                    ratios[key] = min(tactic.time_ms / (best or 1.0), ratios.get(key, math.inf))
    return ratios


def _workspace_bytes(context: Context, skips: Sequence[SkippedTactic]) -> int | None:
    """Return the workspace limit of the build: from its options, or the least that a tactic was given.

    The amount given to Myelin includes the weights of its layer; no other tactic has less than the workspace.
    """
    limits = [
        skip.available_bytes
        for skip in skips
        if skip.reason == "workspace" and skip.available_bytes is not None
    ]
    stated = workspace_mib(context.build)
    if stated is not None and 0 <= stated <= MOST_MIB:
        limits.append(round(stated * _MIB))
    return min(limits, default=None)


def workspace_mib(run: TrtexecRun) -> float | None:
    """Return the workspace as trtexec parsed it, in MiB; None if it is the default or not stated."""
    match = _WORKSPACE.search(run.options.get("Memory Pools", ""))
    return number_in(match[1] if match else run.options.get("Workspace"))


def _device_bytes(trace: BuildTrace) -> int | None:
    for label, value in trace.options.device.items():
        if "Global Memory" in label and (match := _MEMORY.search(value)):
            return int(match["mib"]) * _MIB
    return None


@Rule(
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
    run, version = context.build, context.platform.version
    argument, size = run.argument("--memPoolSize"), workspace_mib(run)
    asked = _SUFFIXED.search(argument or "")
    remedy = ""
    if asked is not None and asked["unit"].upper() != "B":
        remedy = f"Write --memPoolSize=workspace:{asked['number']}{asked['unit'][0].upper()}."
    evidence = {"workspace_mib": size, "memPoolSize": argument, "source": run.source}
    if size is not None and not SMALL_MIB <= size <= MOST_MIB:
        is_small = size < SMALL_MIB
        effect = "tactics that need scratch memory were skipped" if is_small else "this is not a limit"
        given = f" (given as {asked[0]})" if asked else ""
        yield finding(
            f"The workspace of the build was {size:.6g} MiB{given}: {effect}.",
            severity=WARNING if LEAST_MIB <= size < SMALL_MIB else None,
            confidence=HIGH,
            evidence=evidence,
            remedy=remedy,
        )
    elif size is None and asked and version and version >= LAST_LETTER_DECIDES:
        yield finding(
            f"--memPoolSize={asked[0]} was read as {asked['number']} bytes (TensorRT 10.1 and later).",
            evidence=evidence,
            remedy=remedy,
        )
    elif size is None and not (pools := run.options.get("Memory Pools", "")).startswith("workspace:"):
        silent = "the build options do not state the memory pools" if run.options else _NO_OPTIONS
        cut = "Memory Pools is truncated in the metadata: keep the log of the build"
        yield not_checked(cut if pools else silent)


@Rule(
    "BUILD003",
    "Build not reproducible",
    INFO,
    looks_for="timingCacheMode local or disable in the build options or the log; a global cache that could not be "
    "read or had no matching entry; layers whose second fastest tactic in the same formats took at most 2 % longer than "
    "the choice.",
    why=f"Each build times all tactics again, and noise decides near ties. {TIMED_ALONE} Latency, numerical results and "
    "sizes differ between builds of one model.",
    remedy=(
        "--timingCacheFile=FILE, kept between builds; in CI also --errorOnTimingCacheMiss, and locked clocks.",
        "--timingCacheFile=FILE, kept between builds; in CI also locked clocks.",
    ),
    references=(BUILDER_PERFORMANCE, issue(4730)),
    not_when="A given but empty cache without a build log: only the log shows it. TensorRT-RTX, which "
    "times no tactics while it builds.",
    is_remark=True,
)
def unstable_choices(context: Context) -> Findings:
    if context.platform.is_rtx:
        return
    run = context.build
    has_log = not build_log(context)
    cache = context.log.cache if has_log else None
    mode = run.options.get("timingCacheMode", "").lower() or (cache.mode if cache else None)
    state = ""
    if not mode:
        yield not_checked("the build options do not state timingCacheMode" if run.options else _NO_OPTIONS)
    elif mode in ("local", "disable"):
        state = "is of this build only" if mode == "local" else "is off"
    elif cache is not None and cache.unreadable is not None:
        state = f"{printable(cache.unreadable)} could not be read"
    elif cache is not None and cache.hits == 0 and cache.entries and not cache.cached_results:
        state = f"{printable(cache.file or '')} had no entry for this network"
    if state:
        yield finding(
            f"The timing cache {state}: builds time all tactics again and may choose others.",
            confidence=HIGH,
            evidence={"timingCacheMode": mode, "source": run.source},
        )
    margins = {
        layer: abs(margin)
        for layer, choice in enumerate(context.choices if has_log and context.log.is_verbose else ())
        if context.is_work(layer) and (margin := choice.margin_pct) is not None
    }
    if ties := [layer for layer, margin in margins.items() if margin < NEAR_PCT]:
        closest = min(ties, key=lambda layer: (margins[layer], layer))
        yield finding(
            f"{len(ties)} of {plural(len(margins), 'layer')} with a second tactic decided by less than {NEAR_PCT:g} % "
            f"(noise); closest: {context.quote(closest)}, {margins[closest]:.2g} %.",
            ties,
            confidence=HIGH,
            evidence={
                "near_ties": len(ties),
                "layers_compared": len(margins),
                "closest_margin_pct": margins[closest],
            },
        )


@Rule(
    "BUILD005",
    "Incomplete layer information",
    WARNING,
    looks_for="Layers with names only, with dynamic dimensions or without types.",
    why="Most other rules cannot run.",
    remedy=(
        "Build with --profilingVerbosity=detailed and export with --exportLayerInfo.",
        "TensorRT 8.2 and later can export types, shapes and tactics.",
    ),
    references=(COMMAND_LINE_PROGRAMS,),
    columns=("layer_type", "input_formats", "output_formats", "input_shapes"),
    not_when="Layers that come from a log, which has no more.",
)
def incomplete_layers(context: Context) -> Findings:
    engine, number = context.engine, len(context.engine)
    if not engine.has_graph:
        yield not_checked("no layer information: export it with --exportLayerInfo")
    elif engine.has_names_only:
        yield finding(
            "The layer information has names only: rules that need tensors or tactics are not checked.",
            confidence=HIGH,
            evidence={"layers": number, "names_only": True},
        )
    elif engine.details_source is None and FileKind.GRAPH in engine.files:
        ports = [[*inputs, *outputs] for inputs, outputs in zip(context.inputs, context.outputs, strict=True)]
        dynamic = [layer for layer in range(number) if any(-1 in port.shape for port in ports[layer])]
        untyped = [layer for layer in range(number) if any(port.dtype is None for port in ports[layer])]
        parts = [f"{len(dynamic)} with dynamic dimensions"] if dynamic else []
        parts += [f"{len(untyped)} without types"] if untyped else []
        if parts:
            yield finding(
                f"Of {plural(number, 'layer')} {' and '.join(parts)}: their bytes and MACs are unknown.",
                {*dynamic, *untyped},
                confidence=HIGH,
                evidence={"dynamic": len(dynamic), "untyped": len(untyped)},
                remedy="Export the layer information from the profile run, with --shapes set.",
            )


RULES = (skipped_tactics, odd_workspace, unstable_choices, incomplete_layers)
