"""What the log of a build tells, for scripts: one JSON object with all of it."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from trex_tui.analysis.build import (
    NEAR_TIE_PCT,
    LayerChoice,
    build_seconds,
    by_tuning_time,
    near_ties,
    phase_shares,
)
from trex_tui.artifacts.profile import ProfileRow
from trex_tui.buildlog.build_trace import (
    BuildTrace,
    DumpedLayer,
    FusionKind,
    Performance,
    ProfileTable,
    TraceAverages,
)
from trex_tui.buildlog.layer_tuning import (
    FormatCombination,
    InsertedReformat,
    LayerTuning,
    ReformatCost,
    RunnerTrial,
    SkippedTactic,
    hex_id,
)
from trex_tui.errors import ArtifactError, TrexError
from trex_tui.report.render_json import plain
from trex_tui.report.views.layer_details import Line
from trex_tui.text import MISSING, format_bytes, format_count, format_ms, plural, printable, shorten_middle

SCHEMA = "trex-tui/build-log/2"
_AS_THEY_ARE = (
    "runs",
    "tensorrt_version",
    "stated_seconds",
    "options",
    "run_options",
    "phases",
    "strategies",
    "reformats",
    "memory",
    "layer_memory",
    "memory_totals",
    "peak_cpu_mib",
    "peak_gpu_mib",
    "context_bytes",
    "engine_bytes",
    "non_conforming",
    "cache",
    "streams",
    "dla",
    "messages",
    "performance",
    "profile",
    "chosen_shapes",
    "network_inputs",
    "network_outputs",
    "bindings",
)


def build_log_document(
    trace: BuildTrace, choices: Sequence[LayerChoice], tunings: Sequence[LayerTuning] | None, top: int
) -> dict[str, Any]:
    """The object that `build-log --json` prints. Absent facts are null.

    Args:
        trace: The log.
        choices: As `layer_choices` gives them.
        tunings: Of the layers asked for, which are told in full; None for all, and for the costs of reformats with them.
        top: How many there are of `slowest_tunings`.
    """
    return {
        "schema": SCHEMA,
        "file": str(trace.path),
        "lines": trace.lines,
        **{name: plain(getattr(trace, name)) for name in _AS_THEY_ARE},
        "onnx": dict(trace.onnx.values) if trace.onnx else None,
        "winner": trace.winner,
        "build_seconds": build_seconds(trace.phases),
        "passes": [_pass(one) for one in trace.passes],
        "tuning": tuning_totals(trace),
        "layers": [_choice(one) for one in choices],
        "slowest_tunings": [_tuning(one) for one in by_tuning_time(trace)[:top]],
        "tunings": [_tuning(one, in_full=True) for one in (trace.tunings if tunings is None else tunings)],
        "reformat_costs": [_cost(one) for one in trace.reformat_costs] if tunings is None else None,
        "dumps": [
            {"line": one.line, "form": one.form.value, "bindings": list(one.bindings)}
            | {"layers": [_dumped(layer) for layer in one.layers]}
            for one in trace.dumps
        ],
        "trace": _averages(trace.trace) if trace.trace else None,
        "diagnostics": [
            {"severity": one.severity.value, "where": one.where, "message": one.message}
            for one in trace.diagnostics
        ],
    }


def _pass(one: Any) -> dict[str, Any]:  # noqa: ANN401 - OptimizerPass
    counts = Counter(fusion.kind.value for fusion in one.fusions)
    steps = {kind.value: counts[kind.value] for kind in FusionKind}
    return (
        {"line": one.line, "strategy": one.strategy, "name": one.name, "layers": one.layers}
        | steps
        | {"fusions": plain(one.fusions)}
    )


def tuning_totals(trace: BuildTrace) -> dict[str, Any]:
    """How much was tried, over all layers and strategies; `tactics` include the `myelin_tactics`."""
    return {
        "layers": len(trace.tunings),
        "combinations": sum(len(one.combinations) for one in trace.tunings),
        "tactics": sum(one.tactic_count for one in trace.tunings),
        "myelin_tactics": sum(one.myelin_count for one in trace.tunings),
        "skipped": sum(len(one.skipped) for one in trace.tunings),
        "reformat_costs": len(trace.reformat_costs),
        "reformat_tactics": sum(one.combination.tactic_count for one in trace.reformat_costs),
    }


def _choice(one: LayerChoice) -> dict[str, Any]:
    other = one.other_precision
    return {
        "name": one.name,
        "occurrence": one.occurrence,
        "layer_type": one.layer_type,
        "tactic": hex_id(one.tactic_id) if one.tactic_id is not None else None,
        "agrees": one.agrees,
        "formats": one.combination.text if one.combination else None,
        "formats_are_certain": one.combination is not None and not one.is_ambiguous,
        "chosen": _contender(one.chosen),
        "fastest": _contender(one.fastest),
        "second": _contender(one.second),
        "margin_pct": one.margin_pct,
        "precision": one.precision.value if one.precision else None,
        "other_precision": {"precision": other.precision.value, "time_ms": other.time_ms} if other else None,
        "reformat": plain(one.reformat),
    }


def _contender(one: Any) -> dict[str, Any] | None:  # noqa: ANN401 - Contender or None
    if one is None:
        return None
    tactic = hex_id(one.id) if one.id is not None else None
    return {"runner": one.runner, "tactic": tactic, "name": one.name, "time_ms": one.time_ms}


def _tuning(one: LayerTuning, *, in_full: bool = False) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "line": one.line,
        "name": one.name,
        "strategy": one.strategy,
        "optimization_profile": one.optimization_profile,
        "began_s": one.began_s,
        "ended_s": one.ended_s,
        "seconds": one.seconds,
        "tactics": one.tactic_count,
        "myelin_tactics": one.myelin_count,
        "skipped": len(one.skipped),
        "is_cached": one.is_cached,
        "metadata": one.metadata or None,
    }
    combinations = [_combination(each) for each in one.combinations] if in_full else len(one.combinations)
    return shape | {"combinations": combinations}


def _combination(one: FormatCombination) -> dict[str, Any]:
    return {
        "line": one.line,
        "inputs": list(one.inputs),
        "outputs": list(one.outputs),
        "chosen_runner": one.chosen_runner,
        "chosen_tactic": hex_id(one.chosen_id) if one.chosen_id is not None else None,
        "chosen_ms": one.chosen_ms,
        "is_cached": one.is_cached,
        "runners": [_runner(trial) for trial in one.runners],
    }


def _runner(one: RunnerTrial) -> dict[str, Any]:
    return {
        "line": one.line,
        "runner": one.runner,
        "runner_id": one.runner_id,
        "available": one.available,
        "pruned": one.pruned,
        "fastest": hex_id(one.fastest_id) if one.fastest_id is not None else None,
        "fastest_ms": one.fastest_ms,
        "outcome": one.outcome.value,
        "seconds": one.seconds,
        "tactics": [{"tactic": each.hex, "name": each.name, "time_ms": each.time_ms} for each in one.tactics],
        "skipped": [_skipped(each) for each in one.skipped],
        "myelin": [
            {
                "line": table.line,
                "operator": table.operator,
                "onnx_nodes": list(table.onnx_nodes),
                "tactics": [plain(row) | {"hash": row.hex} for row in table.tactics],
            }
            for table in one.myelin
        ],
    }


def _skipped(one: SkippedTactic) -> dict[str, Any]:
    """Its number as that of every other tactic: text, for 64 bits are more than a number of JSON is sure to hold."""
    return {
        "line": one.line,
        "tactic": hex_id(one.id) if one.id is not None else None,
        "reason": one.reason.value,
        "requested_bytes": one.requested_bytes,
        "available_bytes": one.available_bytes,
        "message": one.message,
    }


def _cost(one: ReformatCost) -> dict[str, Any]:
    ends = {"line": one.line, "strategy": one.strategy, "source": one.source, "target": one.target}
    return ends | {"time_ms": one.time_ms, "combination": _combination(one.combination)}


def _dumped(one: DumpedLayer) -> dict[str, Any]:
    tactic = hex_id(one.tactic_id) if one.tactic_id is not None else None
    return {"line": one.line, "tactic": tactic, "layer": plain(one.raw)}


def _averages(one: TraceAverages) -> dict[str, Any]:
    """Columns of equal length, an entry for each line of averages."""
    names = ("gpu_ms", "host_ms", "enqueue_ms", "end_to_end_ms")
    columns = {name: plain(list(getattr(one, name))) for name in names}
    return {"line": one.line, "runs": list(one.runs), **columns, "omitted": one.omitted}


MOST_LINES = 40
_DIGITS = 6


def cache_words(trace: BuildTrace) -> str:
    """What is known of the timing cache; empty for nothing."""
    cache = trace.cache
    parts = [cache.mode or ""]
    if cache.unreadable:
        parts.append(f"{cache.unreadable} could not be read")
    if cache.file and cache.file != cache.unreadable:
        parts.append(cache.file)
    if cache.loaded_bytes is not None:
        parts.append(f"{format_bytes(cache.loaded_bytes)} loaded")
    if cache.saved_bytes is not None:
        parts.append(f"{format_bytes(cache.saved_bytes)} saved")
    if cache.entries is not None:
        parts.append(plural(cache.entries, "entry", "entries"))
    if cache.hits is not None:
        parts.append(plural(cache.hits, "hit"))
    if cache.cached_results:
        parts.append(plural(cache.cached_results, "result") + " reused within the build")
    return ", ".join(part for part in parts if part)


def streams_words(trace: BuildTrace) -> str:
    """How many streams the engine runs on; empty where the log does not say."""
    streams = trace.streams
    parts = []
    if streams.streams is not None:
        parts.append(str(streams.streams))
    if streams.auxiliary is not None:
        parts.append(f"{streams.auxiliary} auxiliary")
    if streams.events is not None:
        parts.append(plural(streams.events, "event"))
    if streams.disabled_because:
        parts.append(f"one stream, because {streams.disabled_because}")
    return ", ".join(parts)


def dla_words(trace: BuildTrace) -> str:
    """How many layers went to DLA, and how many it could not run; empty where DLA was not asked for."""
    dla = trace.dla
    if not dla.dla_layers and not dla.fallbacks:
        return ""
    parts = [f"{plural(len(dla.dla_layers), 'layer')} on DLA, {len(dla.gpu_layers)} on the GPU"]
    if dla.fallbacks:
        parts.append(plural(len(dla.fallbacks), "fallback"))
    return ", ".join(parts)


def reformats_of(trace: BuildTrace) -> list[InsertedReformat]:
    """The reformats in the engine that was kept."""
    return [one for one in trace.reformats if one.strategy in (trace.winner, None)]


def reformat_words(one: InsertedReformat) -> str:
    """What an inserted reformat changes, and what the builder found it to cost."""
    cost = f", {format_ms(one.cost_ms, _DIGITS)} ms when it was timed" if one.cost_ms is not None else ""
    return f"{one.tensor}: {one.from_format} → {one.to_format}{cost}"


def reformats_words(trace: BuildTrace) -> str:
    """How many reformats were inserted and what they cost in sum; empty for none."""
    found = reformats_of(trace)
    known = [one.cost_ms for one in found if one.cost_ms is not None]
    if not found:
        return ""
    unknown = f", {len(found) - len(known)} of unknown cost" if len(known) < len(found) else ""
    cost = f", {format_ms(sum(known), _DIGITS)} ms when they were timed" if known else ""
    return f"{len(found)} inserted{cost}{unknown if known else ''}"


def placement_lines(trace: BuildTrace) -> Iterator[Line]:
    """Sections on DLA, on reformats, and on layers of another precision than was asked for; none where there are none."""
    dla = trace.dla
    if dla_words(trace):
        yield Line("DLA", "section")
        yield Line(dla_words(trace), indent=2)
        for fallback in dla.fallbacks[:MOST_LINES]:
            words = f"{fallback.layer or 'a layer'}: {fallback.message}"
            yield Line(words, label=f"line {fallback.line}", indent=2)
            if fallback.reason:
                yield Line(fallback.reason, "muted", indent=4)
        yield from _rest(len(dla.fallbacks))
    found = reformats_of(trace)
    if found:
        yield Line("Reformats", "section")
        yield Line(reformats_words(trace), indent=2)
        found.sort(key=lambda one: -(one.cost_ms or 0.0))
        for one in found[:MOST_LINES]:
            yield Line(f"{one.name} · {reformat_words(one)}", indent=2)
        yield from _rest(len(found))
    if trace.non_conforming:
        yield Line("Another implementation than was asked for", "section")
        yield from (Line(name, indent=2) for name in trace.non_conforming[:MOST_LINES])
        yield from _rest(len(trace.non_conforming))


def _rest(count: int) -> Iterator[Line]:
    if count > MOST_LINES:
        yield Line(f"and {count - MOST_LINES} more", "muted", indent=2)


NAME_WIDTH = 60
"""Characters of a layer's name in a table of text."""
_LABEL_WIDTH = 24


def run_text(trace: BuildTrace, top: int) -> Iterator[str]:
    """Lines about the last run that was measured; none where the log tells of none.

    Args:
        trace: The log.
        top: How many rows of the time per layer there are.
    """
    if trace.performance is not None:
        yield from _performance(trace.performance)
    if trace.trace is not None:
        yield from _averages_build_run(trace.trace)
    if trace.profile is not None and (trace.profile.rows or trace.profile.total):
        yield from _profile(trace.profile, top)


def _performance(one: Performance) -> Iterator[str]:
    """The summary as trtexec prints it, for percentiles are those that were asked for."""
    yield ""
    yield f"Performance  as printed (line {one.line})"
    for label, value in one.values.items():
        yield f"  {printable(label):<{_LABEL_WIDTH}} {printable(value)}"


def _averages_build_run(one: TraceAverages) -> Iterator[str]:
    """Each line of the log is an average over some runs; runs of lines that trtexec left out are not in here."""
    omitted = f"; {plural(one.omitted, 'more line')} left out" if one.omitted else ""
    runs = f"over {plural(sum(one.runs), 'run')}"
    yield ""
    yield f"Averages     {plural(len(one.runs), 'line')} {runs} (line {one.line}){omitted}"
    columns = {
        "GPU latency": one.gpu_ms,
        "host latency": one.host_ms,
        "end to end": one.end_to_end_ms,
        "enqueue": one.enqueue_ms,
    }
    told = {label: found for label, values in columns.items() if (found := _spread(values, one.runs))}
    if told:
        yield f"  {'ms':<{_LABEL_WIDTH}} {'lowest':>10} {'mean':>10} {'highest':>10}"
    for label, found in told.items():
        yield f"  {label:<{_LABEL_WIDTH}} " + " ".join(f"{format_ms(value):>10}" for value in found)


def _spread(values: array[float], runs: array[int]) -> tuple[float, float, float] | None:
    """The lowest of the averages, their mean by number of runs, and the highest; None where no line tells one."""
    known = [(value, count) for value, count in zip(values, runs, strict=True) if math.isfinite(value)]
    weight = sum(count for _, count in known)
    if not weight:
        return None
    mean = math.fsum(value * count for value, count in known) / weight
    return min(known)[0], mean, max(known)[0]


def _profile(one: ProfileTable, top: int) -> Iterator[str]:
    """The layers that took longest, and the row that sums all up."""
    iterations = "" if one.iterations is None else f", {plural(one.iterations, 'iteration')}"
    has_median = any(row.median_ms is not None for row in one.rows)
    median = f" {'median ms':>10}" if has_median else ""
    yield ""
    yield f"Profile      {plural(len(one.rows), 'layer')}{iterations} (line {one.line})"
    yield f"{'Longest to run':<{NAME_WIDTH}} {'total ms':>12} {'average ms':>10}{median} {'time %':>6}"
    longest = sorted(one.rows, key=lambda row: -(row.total_ms or 0.0))
    for row in longest[:top]:
        yield _row(row, has_median)
    if len(longest) > top:
        yield f"  … and {len(longest) - top} more"
    if one.total is not None:
        yield _row(one.total, has_median)


def _row(row: ProfileRow, has_median: bool) -> str:
    """A row with the decimals that trtexec prints."""
    name = shorten_middle(printable(row.name), NAME_WIDTH)
    median = f" {format_ms(row.median_ms):>10}" if has_median else ""
    share = MISSING if row.percentage is None else f"{row.percentage:.1f}"
    times = f"{format_ms(row.total_ms, 2):>12} {format_ms(row.average_ms):>10}"
    return f"{name:<{NAME_WIDTH}} {times}{median} {share:>6}"


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
