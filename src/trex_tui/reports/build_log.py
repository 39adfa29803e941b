"""What the log of a build tells, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from trex_tui.analysis.build_trace import (
    NEAR_TIE_PCT,
    LayerChoice,
    by_tuning_time,
    near_ties,
    phase_shares,
)
from trex_tui.artifacts.buildlog.model import BuildTrace, FusionKind
from trex_tui.artifacts.buildlog.tactics import hex_id
from trex_tui.artifacts.buildlog.tuning import FormatCombination, LayerTuning, RunnerTrial, SkippedTactic
from trex_tui.errors import ArtifactError, TrexError
from trex_tui.reports.build_document import tuning_totals
from trex_tui.reports.build_resources import (
    cache_words,
    dla_words,
    reformat_words,
    reformats_words,
    streams_words,
)
from trex_tui.reports.build_run import NAME_WIDTH, run_text
from trex_tui.text import MISSING, format_bytes, format_count, format_ms, plural, printable, shorten_middle

_MESSAGES = {"W": "warning", "E": "error", "F": "fatal error"}


def check(trace: BuildTrace) -> None:
    """Make sure that there is anything to tell.

    Raises:
        ArtifactError: The file is no log of trtexec or of a builder.
    """
    if not (
        trace.runs
        or trace.is_verbose
        or trace.options.device
        or trace.messages
        or trace.performance
        or trace.memory
    ):
        raise ArtifactError(trace.path, "is no log of trtexec or of a TensorRT builder")


def tunings_named(trace: BuildTrace, name: str) -> list[LayerTuning]:
    """What was tried for the layers of a name, or for those with it in their name.

    Raises:
        TrexError: There is none.
    """
    found = [one for one in trace.tunings if one.name == name]
    found = found or [one for one in trace.tunings if name.lower() in one.name.lower()]
    if not found:
        why = "" if trace.tunings else ": the log tells of no tuning; that takes --verbose"
        raise TrexError(f"{trace.path}: no layer {name!r} was tuned{why}")
    return found


# --- text ---------------------------------------------------------------------------------------------------------------


def build_log_text(trace: BuildTrace, choices: Sequence[LayerChoice], top: int) -> Iterator[str]:
    """Lines for a person: what the build was, where its time went, what it chose, what a run measured, what was warned of."""
    yield from _facts(trace)
    yield from _phases(trace)
    yield from _passes(trace)
    yield from _slowest(trace, top)
    yield from _layers(choices, top)
    yield from run_text(trace, top)
    yield from _memory(trace)
    yield from _messages(trace)


def _name(text: str) -> str:
    return shorten_middle(printable(text), NAME_WIDTH)


def _seconds(value: float | None) -> str:
    return MISSING if value is None else f"{value:.3f}"


def _facts(trace: BuildTrace) -> Iterator[str]:
    yield f"{printable(str(trace.path))}: {plural(trace.lines, 'line')}"
    for run in trace.runs:
        yield f"{run.status or 'unfinished':<12} {printable(run.program)} {printable(run.command)}"
    facts = {
        "TensorRT": trace.tensorrt_version,
        "Device": trace.options.device.get("Selected Device"),
        "Precision": None if trace.only_loads else trace.options.build.get("Precision"),
        "Memory pools": None if trace.only_loads else trace.options.build.get("Memory Pools"),
        "Timing cache": cache_words(trace),
        "Strategy": strategy_words(trace),
        "Streams": streams_words(trace),
        "DLA": dla_words(trace),
        "Reformats": reformats_words(trace),
    }
    for label, value in facts.items():
        if value:
            yield f"{label:<12} {printable(value)}"


def strategy_words(trace: BuildTrace) -> str:
    """Which candidate engine was kept; empty where there was one only."""
    if len(trace.strategies) < 2:
        return ""
    parts = [
        f"{one.number} {one.verdict.value} ({one.estimate:g})" for one in trace.strategies if one.estimate
    ]
    return f"{trace.winner} of {len(trace.strategies)}: {', '.join(parts)}"


def _phases(trace: BuildTrace) -> Iterator[str]:
    shares = phase_shares(trace)
    if not shares:
        return
    yield ""
    yield f"{'Phase':<42} {'seconds':>9}"
    for one in shares:
        strategy = (
            f", strategy {one.strategy}" if one.strategy is not None and len(trace.strategies) > 1 else ""
        )
        times = f" ({one.count})" if one.count > 1 else ""
        yield f"{one.kind.value + strategy + times:<42} {_seconds(one.seconds):>9}"


def _passes(trace: BuildTrace) -> Iterator[str]:
    passes = [one for one in trace.passes if one.strategy in (trace.winner, None)]
    if not passes:
        return
    yield ""
    yield f"{'Pass':<32} {'layers':>6} {'fused':>6} {'removed':>8} {'converted':>10}"
    for one in passes:
        counts = Counter(fusion.kind for fusion in one.fusions)
        layers = MISSING if one.layers is None else str(one.layers)
        steps = [counts[kind] or "" for kind in (FusionKind.FUSED, FusionKind.REMOVED, FusionKind.CONVERTED)]
        yield f"{printable(one.name):<32} {layers:>6} {steps[0]:>6} {steps[1]:>8} {steps[2]:>10}"


def _slowest(trace: BuildTrace, top: int) -> Iterator[str]:
    tunings = by_tuning_time(trace)
    if not tunings:
        return
    totals = tuning_totals(trace)
    yield ""
    yield (
        f"Tuned        {plural(totals['layers'], 'layer')}, {format_count(totals['tactics'])} tactics timed"
        f"{myelin_words(totals['myelin_tactics'])}, {totals['skipped']} skipped; "
        f"reformats: {format_count(totals['reformat_tactics'])} tactics"
    )
    several = len({one.strategy for one in trace.tunings}) > 1
    strategy = f" {'strategy':>8}" if several else ""
    myelin = f" {'Myelin':>8}" if totals["myelin_tactics"] else ""
    yield f"{'Longest to tune':<{NAME_WIDTH}}{strategy} {'seconds':>9} {'tactics':>8}{myelin} {'formats':>8}"
    for one in tunings[:top]:
        if several:
            strategy = f" {MISSING if one.strategy is None else one.strategy:>8}"
        if myelin:
            myelin = f" {one.myelin_count:>8}"
        counts = f"{_seconds(one.seconds):>9} {one.tactic_count:>8}{myelin} {len(one.combinations):>8}"
        yield f"{_name(one.name):<{NAME_WIDTH}}{strategy} {counts}"


def myelin_words(count: int) -> str:
    """How many of the tactics just told are kernels that Myelin timed for operators inside a layer; empty for none."""
    return f", {format_count(count)} of them Myelin's" if count else ""


def _layers(choices: Sequence[LayerChoice], top: int) -> Iterator[str]:
    ties = near_ties(choices)
    wrong = [one for one in choices if one.agrees is False]
    if choices:
        told = sum(one.chosen is not None for one in choices)
        yield ""
        yield f"Engine       {plural(len(choices), 'layer')}; the log tells the choice of {told}"
    for one in wrong:
        yield f"  {_name(one.name)}: the engine's tactic is not the one that the log chose"
    if ties:
        yield f"Near ties    {plural(len(ties), 'layer')} where another tactic is within {NEAR_TIE_PCT:g} %"
        for one in ties[:top]:
            yield f"  {_name(one.name):<{NAME_WIDTH}} {one.margin_pct:+.2f} %"
        if len(ties) > top:
            yield f"  … and {len(ties) - top} more"


def _memory(trace: BuildTrace) -> Iterator[str]:
    totals = next((one for one in trace.memory_totals if one.strategy == trace.winner), None)
    sizes = {"execution context": trace.context_bytes, "engine": trace.engine_bytes}
    if totals is not None:
        sizes = {
            "activation": totals.activation_bytes,
            "weights": totals.weights_bytes,
            "device persistent": totals.device_persistent_bytes,
            "host persistent": totals.host_persistent_bytes,
            "scratch": totals.scratch_bytes,
        } | sizes
    known = [f"{name} {format_bytes(size)}" for name, size in sizes.items() if size is not None]
    if known or trace.peak_gpu_mib is not None:
        yield ""
    if known:
        yield f"Memory       {', '.join(known)}"
    if trace.peak_gpu_mib is not None:
        yield f"Peak         GPU {trace.peak_gpu_mib} MiB, CPU {trace.peak_cpu_mib} MiB in TensorRT's allocators"


def _messages(trace: BuildTrace) -> Iterator[str]:
    if trace.messages:
        yield ""
    for one in trace.messages:
        times = f" ({one.count} times)" if one.count > 1 else ""
        yield f"{_MESSAGES.get(one.severity, one.severity)}, line {one.line}{times}: {printable(one.text)}"


def layer_text(
    trace: BuildTrace, tunings: Sequence[LayerTuning], choices: Sequence[LayerChoice], top: int
) -> Iterator[str]:
    """Lines about some layers: every combination, its runners, and the fastest tactics of each."""
    final = {id(one.combination) for one in choices if one.combination is not None}
    made = {id(one.tuning): one for one in choices if one.tuning is not None and one.name == one.tuning.name}
    for tuning in tunings:
        strategy = f", strategy {tuning.strategy}" if len(trace.strategies) > 1 else ""
        seconds = "" if tuning.seconds is None else f", {tuning.seconds:.3f} s"
        tactics = plural(tuning.tactic_count, "tactic") + myelin_words(tuning.myelin_count)
        yield f"{printable(tuning.name)}{strategy}: {tactics}{seconds} (line {tuning.line})"
        if choice := made.get(id(tuning)):
            yield from _choice_text(choice)
        for one in trace.reformats:
            if one.consumer == tuning.name and one.strategy == tuning.strategy:
                yield f"  reformatted   {printable(reformat_words(one))}"
        for combination in tuning.combinations:
            mark = "  <- in the engine" if id(combination) in final else ""
            yield f"  {printable(combination.text)}{mark}"
            if combination.is_cached:
                time, runner = format_ms(combination.cached_ms, 6), printable(combination.chosen_runner or "")
                yield f"    {time} ms  {runner}, out of the cache"
            for trial in combination.runners:
                yield from _trial_text(trial, combination, top)
        yield ""


def _choice_text(choice: LayerChoice) -> Iterator[str]:
    """What the engine has, what came next, and what other types of input would have cost."""
    for label, one in (("chosen", choice.chosen), ("second best", choice.second)):
        if one is not None:
            margin = choice.margin_pct if one is choice.second else None
            more = f", {margin:+.2f} %" if margin is not None else ""
            yield f"  {label:<13} {format_ms(one.time_ms, 6)} ms{more}  {printable(one.name or one.runner)}"
    for other in choice.precisions:
        if other.precision != choice.precision:
            label = f"in {other.precision.value}"
            yield f"  {label:<13} {format_ms(other.time_ms, 6)} ms, without reformats it may need"


def _trial_text(trial: RunnerTrial, combination: FormatCombination, top: int) -> Iterator[str]:
    seconds = "" if trial.seconds is None else f", {trial.seconds:.3f} s"
    yield f"    {printable(trial.runner)}: {trial.outcome.value}{seconds}"
    timed = sorted(trial.tactics, key=lambda one: (one.time_ms is None, one.time_ms))
    for tactic in timed[:top]:
        is_chosen = trial.runner == combination.chosen_runner and tactic.id == combination.chosen_id
        mark = "  <- chosen" if is_chosen else ""
        yield f"      {format_ms(tactic.time_ms, 6)} ms  {tactic.hex}  {printable(tactic.name or '')}{mark}"
    if len(timed) > top:
        yield f"      … and {len(timed) - top} more"
    for skipped in trial.skipped:
        yield f"      {_skipped_text(skipped)}"
    for table in trial.myelin:
        yield f"      {printable(table.operator)}: {plural(len(table.tactics), 'tactic')}"
        for row in table.tactics[:top]:
            yield f"        {format_ms(row.time_ms, 6)} ms  {printable(row.kernel)}"


def _skipped_text(one: SkippedTactic) -> str:
    number = f" {hex_id(one.id)}" if one.id is not None else ""
    needs = "the log does not tell what it needs"
    if one.requested_bytes is not None:
        needs = f"needs {format_bytes(one.requested_bytes)}"
    there = "" if one.available_bytes is None else f", there are {format_bytes(one.available_bytes)}"
    return f"skipped{number} ({one.reason.value}): {needs}{there}"
