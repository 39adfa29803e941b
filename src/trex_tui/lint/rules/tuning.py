"""BUILD001, 006, 007 and PREC005: what the builder tried, left out, and chose, out of its verbose log."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from trex_tui.engine.dtypes import DataType
from trex_tui.engine.model import Layer
from trex_tui.lint.context import REDUCED, Context
from trex_tui.lint.lint_text import called, issue, time_of, time_text
from trex_tui.lint.model import Confidence, Evidence, Finding, NotChecked, Rule, Severity
from trex_tui.lint.rules.build import MOST_MIB
from trex_tui.lint.trtexec_runs import ALONE, build_run, verbose_log, version_numbers, version_of
from trex_tui.text import format_bytes, plural, printable, shorten_middle

if TYPE_CHECKING:  # imported where a log is there: see `lint.logs`
    from trex_tui.analysis.build import LayerChoice
    from trex_tui.buildlog import BuildTrace
    from trex_tui.buildlog.layer_tuning import LayerTuning, SkippedTactic

_PERFORMANCE = (
    "Optimizing Builder Performance: "
    "https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/performance/builder-performance.html"
)
_MEMORY = re.compile(r"(?P<mib>\d{1,9}) MiB")
_MIB = 1 << 20
MOST_OF_DEVICE = 0.75
"""A request above this share of the device's memory is one that no workspace grants beside weights and activations."""
TOLD_LAYERS = 5
FIRST_MEMORY_POOLS = (8, 4)
"""The TensorRT whose trtexec takes --memPoolSize first; before, there is --workspace alone, and 16 MiB without it."""
SMALL_SHARE_PCT = 0.5
LONG_SHARE_PCT = 20.0
LONG_SECONDS = 10.0
_SINGLE = frozenset({DataType.FP32, DataType.TF32})

_Skips: TypeAlias = "list[tuple[str, SkippedTactic]]"


# BUILD001


def _skipped_tactics(context: Context) -> Iterator[Finding | NotChecked]:
    trace = verbose_log(context, "BUILD001")
    if isinstance(trace, NotChecked):
        yield trace
        return
    from trex_tui.buildlog.layer_tuning import SkipReason

    skips = list(_skips(trace))
    limit = _workspace_bytes(context, [one for one in skips if one[1].reason is SkipReason.WORKSPACE])

    def is_beyond(one: SkippedTactic) -> bool:
        """What fits the workspace was left out for another reason than the log says: the device was full."""
        fits = limit is not None and one.requested_bytes is not None and one.requested_bytes <= limit
        return one.reason is SkipReason.WORKSPACE and not fits

    for_workspace = [one for one in skips if is_beyond(one[1])]
    for_device = [one for one in skips if not is_beyond(one[1])]
    if for_workspace:
        yield _beyond_workspace(context, trace, for_workspace, limit)
    if for_device:
        yield _beyond_device(context, for_device)


def _skips(trace: BuildTrace) -> Iterator[tuple[str, SkippedTactic]]:
    """Skipped tactics with the name of their layer, or of the reformat they were to do."""
    for tuning in trace.tunings:
        for one in tuning.skipped:
            yield tuning.name, one
    for cost in trace.reformat_costs:
        for trial in cost.combination.runners:
            for one in trial.skipped:
                yield f"reformat of {cost.tensor}", one


def _beyond_workspace(context: Context, trace: BuildTrace, skips: _Skips, limit: int | None) -> Finding:
    device = _device_bytes(trace)
    needs = [one.requested_bytes for _, one in skips if one.requested_bytes is not None]
    is_hopeless = (
        device is not None and len(needs) == len(skips) and min(needs, default=0) > MOST_OF_DEVICE * device
    )
    there = f"; the workspace has {format_bytes(limit)}" if limit is not None else ""
    hopeless = f", which is most of the device's {format_bytes(device)}" if is_hopeless else ""
    return Finding(
        "BUILD001",
        f"{_count(skips)} {_was(skips)} not tried for want of workspace: {_needs_words(skips)} of scratch memory{hopeless}"
        f"{there}.",
        _places(context, skips),
        severity=Severity.INFO if is_hopeless else None,
        confidence=Confidence.MEDIUM,
        evidence=(
            Evidence("skipped_tactics", len(skips)),
            Evidence("largest_request_bytes", max(needs, default=None)),
            Evidence("workspace_bytes", limit),
            Evidence("device_memory_bytes", device),
            Evidence("requests_by_layer", _by_layer(skips)),
        ),
        remedy="Nothing, unless this layer is slow: no workspace of this device grants it."
        if is_hopeless
        else _larger_workspace(context, trace, max(needs, default=None)),
    )


def _workspace_bytes(context: Context, skips: _Skips) -> int | None:
    """The limit of the build: as its options state it, or the least that a tactic was told to have.

    What Myelin was told to have contains the weights of its layer; nobody has less than the workspace.
    """
    told = [one.available_bytes for _, one in skips if one.available_bytes is not None]
    stated = build_run(context.engine).workspace_mib
    if stated is not None and 0 <= stated <= MOST_MIB:
        told.append(round(stated * _MIB))
    return min(told, default=None)


def _larger_workspace(context: Context, trace: BuildTrace, largest: int | None) -> str:
    """A size that suffices, in the words of the trtexec that built; whole MiB, upwards, for that is what all of them take."""
    version = version_numbers(trace.tensorrt_version) or version_of(context.engine)
    is_old = version is not None and version < FIRST_MEMORY_POOLS
    if largest is None:
        return "Build without a limit on the workspace, and see whether these layers get faster."
    size = math.ceil(largest / _MIB)
    option = f"--workspace={size}" if is_old else f"--memPoolSize=workspace:{size}"
    without = "" if is_old else ", or without a limit"
    return f"Build with {option} (MiB) or more{without}, and see whether these layers get faster."


def _beyond_device(context: Context, skips: _Skips) -> Finding:
    largest = max((one.requested_bytes for _, one in skips if one.requested_bytes is not None), default=None)
    there = max((one.available_bytes for _, one in skips if one.available_bytes is not None), default=None)
    free = f" with {format_bytes(there)} free" if there is not None else ""
    return Finding(
        "BUILD001",
        f"{_count(skips)} {_was(skips)} not tried because the device ran out of memory{free}: {_needs_words(skips)}.",
        _places(context, skips),
        confidence=Confidence.MEDIUM,
        evidence=(
            Evidence("skipped_tactics", len(skips)),
            Evidence("largest_request_bytes", largest),
            Evidence("device_memory_free_bytes", there),
            Evidence("requests_by_layer", _by_layer(skips)),
        ),
        remedy="Build while nothing else uses the GPU, or on one of the kind with more memory; a larger workspace does not "
        "help.",
    )


def _count(skips: _Skips) -> str:
    names = {name for name, _ in skips}
    return f"{plural(len(skips), 'tactic')} of {plural(len(names), 'layer')}"


def _was(skips: _Skips) -> str:
    return "was" if len(skips) == 1 else "were"


def _needs_words(skips: _Skips) -> str:
    needs = [one.requested_bytes for _, one in skips if one.requested_bytes is not None]
    if not needs:
        return f"the log does not tell how much {'it needs' if len(skips) == 1 else 'they need'}"
    words = "it needs" if len(skips) == 1 else "they need up to"
    unknown = f" ({len(skips) - len(needs)} do not tell)" if len(needs) < len(skips) else ""
    return f"{words} {format_bytes(max(needs))}{unknown}"


def _by_layer(skips: _Skips) -> str:
    """Layers with their largest requests in bytes, the largest first; no more than a reader takes in."""
    largest: dict[str, int] = {}
    for name, one in skips:
        largest[name] = max(largest.get(name, 0), one.requested_bytes or 0)
    ordered = sorted(largest.items(), key=lambda one: (-one[1], one[0]))
    told = [
        f"{shorten_middle(printable(name), 60)}: {size or 'not told'}" for name, size in ordered[:TOLD_LAYERS]
    ]
    more = [f"and {len(ordered) - TOLD_LAYERS} more"] if len(ordered) > TOLD_LAYERS else []
    return "; ".join([*told, *more])


def _places(context: Context, skips: _Skips) -> tuple[int, ...]:
    known = context.layers_by_tuning
    return tuple(sorted({index for name, _ in skips for index in known.get(name, ())}))


def _device_bytes(trace: BuildTrace) -> int | None:
    for label, value in trace.options.device.items():
        if "Global Memory" in label and (match := _MEMORY.search(value)):
            return int(match["mib"]) * _MIB
    return None


# BUILD006


def _near_ties(context: Context) -> Iterator[Finding | NotChecked]:
    trace = verbose_log(context, "BUILD006")
    if isinstance(trace, NotChecked):
        yield trace
        return
    limit = context.threshold("BUILD006.margin_pct", 2.0)  # what the build log's report calls a near tie
    compared = [
        (abs(margin), layer, choice)
        for layer, choice in zip(context.layers, context.choices, strict=True)
        if layer.kind.is_work and (margin := choice.margin_pct) is not None
    ]
    if not compared:
        yield NotChecked("BUILD006", "the build log times no two tactics for any layer of this engine")
        return
    ties = [one for one in compared if one[0] < limit]
    if not ties:
        return
    margin, closest, choice = min(ties, key=lambda one: (one[0], one[1].index))
    time = time_of(layer for _, layer, _ in ties)
    yield Finding(
        "BUILD006",
        f"{len(ties)} of {plural(len(compared), 'layer')} with a second tactic {'was' if len(ties) == 1 else 'were'} decided "
        f"by less than {limit:g} %, which is chance: closest is {called(closest)}, {margin:.2g} %.",
        tuple(layer.index for _, layer, _ in ties),
        confidence=Confidence.HIGH,
        evidence=(
            Evidence("near_ties", len(ties)),
            Evidence("layers_compared", len(compared)),
            Evidence("closest_margin_pct", margin),
            Evidence("chosen_tuning_ms", choice.chosen.time_ms if choice.chosen else None),
            Evidence("second_tuning_ms", choice.second.time_ms if choice.second else None),
            Evidence("latency_ms", time),
        ),
    )


# BUILD007


def _slow_tuning(context: Context) -> Iterator[Finding | NotChecked]:
    trace = verbose_log(context, "BUILD007")
    if isinstance(trace, NotChecked):
        yield trace
        return
    from trex_tui.analysis.build import build_seconds

    seconds: dict[str, float] = {}
    for tuning in trace.tunings:
        time = _seconds(tuning)
        if time is not None:
            seconds[tuning.name] = seconds.get(tuning.name, 0.0) + time
    whole = build_seconds(trace.phases) or trace.stated_seconds or math.fsum(seconds.values())
    if not seconds or not whole:
        yield NotChecked("BUILD007", "the build log does not tell how long the tuning of any layer took")
        return
    share = context.threshold("BUILD007.share_pct", LONG_SHARE_PCT)
    least = context.threshold("BUILD007.seconds", LONG_SECONDS)
    tactics: Counter[str] = Counter()
    for tuning in trace.tunings:
        tactics[tuning.name] += tuning.tactic_count
    for name, time in sorted(seconds.items(), key=lambda one: (-one[1], one[0])):
        if time >= least and 100.0 * time >= share * whole:
            count = tactics[name]
            timed = f" for {plural(count, 'tactic')}" if count else ""
            yield Finding(
                "BUILD007",
                f"Tuning '{shorten_middle(printable(name), 60)}' took {time:.0f} s{timed}, {100.0 * time / whole:.0f} % of "
                "the build.",
                context.layers_by_tuning.get(name, ()),
                confidence=Confidence.HIGH,
                evidence=(
                    Evidence("tuning_s", time),
                    Evidence("build_s", whole),
                    Evidence("tactics_timed", count),
                ),
            )


def _seconds(tuning: LayerTuning) -> float | None:
    """As the log states it (8.6 and later), else between its stamps, which are whole seconds."""
    if tuning.seconds is not None:
        return tuning.seconds
    if tuning.began_s is None or tuning.ended_s is None:
        return None
    return tuning.ended_s - tuning.began_s


# PREC005


def _lost_by_a_hair(context: Context) -> Iterator[Finding | NotChecked]:
    trace = verbose_log(context, "PREC005")
    if isinstance(trace, NotChecked):
        yield trace
        return
    limit = context.threshold("PREC005.margin_pct", 5.0)
    for layer, choice in zip(context.layers, context.choices, strict=True):
        if _is_worth_it(context, layer) and (found := _close_call(choice)) is not None:
            kind, narrow_ms, chosen_ms = found
            margin = 100.0 * (narrow_ms - chosen_ms) / chosen_ms
            if margin <= limit:
                yield _close_finding(context, layer, choice, kind, narrow_ms, margin)


def _is_worth_it(context: Context, layer: Layer) -> bool:
    if not layer.kind.is_work:
        return False
    share = context.pct(layer.latency_ms)
    least = context.threshold("PREC005.share_pct", SMALL_SHARE_PCT)
    return layer.kind.multiplies and (share is None or share >= least)


def _close_call(choice: LayerChoice) -> tuple[DataType, float, float] | None:
    """The narrower type that came closest, its time and that of the choice; None where there is no such thing."""
    chosen = choice.chosen
    if choice.precision not in _SINGLE or chosen is None or chosen.time_ms <= 0 or choice.is_ambiguous:
        return None
    narrow = [one for one in choice.precisions if one.precision in REDUCED]
    return (narrow[0].precision, narrow[0].time_ms, chosen.time_ms) if narrow else None


def _close_finding(
    context: Context, layer: Layer, choice: LayerChoice, kind: DataType, narrow_ms: float, margin: float
) -> Finding:
    chosen_ms = choice.chosen.time_ms if choice.chosen else None
    words = f"{abs(margin):.2g} % {'longer' if margin >= 0 else 'less'}"
    return Finding(
        "PREC005",
        f"{called(layer)} ({time_text(layer.latency_ms, context.pct(layer.latency_ms))}) computes in FP32; {kind.value} took "
        f"{words} when it was tuned. {ALONE}",
        (layer.index,),
        confidence=Confidence.MEDIUM,
        evidence=(
            Evidence("chosen_precision", choice.precision.value if choice.precision else None),
            Evidence("chosen_tuning_ms", chosen_ms),
            Evidence("other_precision", kind.value),
            Evidence("other_tuning_ms", narrow_ms),
            Evidence("margin_pct", margin),
            Evidence("latency_ms", layer.latency_ms),
        ),
    )


RULES: tuple[Rule, ...] = (
    Rule(
        id="BUILD001",
        title="Tactics were skipped for lack of memory",
        severity=Severity.WARNING,
        looks_for="Lines of the verbose build log about tactics whose scratch memory exceeds the workspace, or the memory "
        "that the device has left; as info where every one wants more than three quarters of the device's memory.",
        why="The skipped ones are often the fastest. What they would have won is not known: nobody timed them.",
        remedy="Give the builder more: --memPoolSize=workspace:N (MiB; before TensorRT 8.4 --workspace=N), on a GPU that "
        "runs nothing else.",
        references=(
            "Frequently Asked Questions, workspace size: "
            "https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/troubleshooting-faq.html",
            issue(4136),
        ),
        columns=(),
        check=_skipped_tactics,
    ),
    Rule(
        id="BUILD006",
        title="Tactics were chosen by chance",
        severity=Severity.INFO,
        looks_for="Layers whose second tactic, in the same formats, took within 2 % of the chosen one when the builder timed "
        "them.",
        why=f"{ALONE} Within its noise the next build may choose the other, so that latency, numerical results and sizes "
        "differ between builds of one model.",
        remedy="Keep the choice with --timingCacheFile=FILE; lock the clocks while building, and raise --avgTiming.",
        references=(_PERFORMANCE, issue(4730)),
        columns=("name", "kind"),
        check=_near_ties,
        not_when="Layers for which one tactic alone was timed, or whose result came from a cache that tells one time.",
    ),
    Rule(
        id="BUILD007",
        title="One layer takes much of the build",
        severity=Severity.INFO,
        looks_for="A layer whose tuning took 10 s or more and at least a fifth of the whole build.",
        why="The build waits for it each time, unless a timing cache remembers.",
        remedy="--timingCacheFile=FILE keeps its result; --builderOptimizationLevel and --maxTactics limit what is tried. "
        "For a dynamic input, fewer optimization profiles do.",
        references=(_PERFORMANCE,),
        columns=("name",),
        check=_slow_tuning,
        not_when="Results out of the cache. Before TensorRT 8.6 only whole seconds are known.",
    ),
    Rule(
        id="PREC005",
        title="Reduced precision lost by a hair",
        severity=Severity.INFO,
        looks_for="A convolution, GEMM or attention of 0.5 % of the time or more that computes in FP32, where the log has a "
        "narrower type timed at no more than 5 % above it.",
        why="The narrower type halves what its neighbours read, and often needs no conversion around it once they follow. "
        f"{ALONE}",
        remedy="Ask for the type on this layer: --layerPrecisions=NAME:fp16 with --precisionConstraints=prefer, or a "
        "strongly typed model; then compare latency, not tuning times.",
        references=(_PERFORMANCE,),
        columns=("kind", "latency_ms"),
        check=_lost_by_a_hair,
        not_when="Layers whose formats cannot be told apart in the log, and copies.",
    ),
)
