"""What a build did, as outlines: phases, passes with their steps, strategies with what Myelin tuned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trex_tui.analysis.build import (
    CACHED,
    NEAR_TIE_PCT,
    BuildFacts,
    Contender,
    LayerChoice,
    PhaseShare,
    TacticRow,
    TunedLayer,
    build_seconds,
    phase_shares,
)
from trex_tui.buildlog.build_trace import (
    BackendStrategy,
    BuildTrace,
    Fusion,
    FusionKind,
    MemoryPoint,
    Message,
    OptimizerPass,
    Phase,
    PhaseKind,
)
from trex_tui.buildlog.layer_tuning import (
    FormatCombination,
    LayerTuning,
    MyelinTable,
    SkippedTactic,
    SkipReason,
    hex_id,
)
from trex_tui.engine.engine import Engine
from trex_tui.report.views.build_summary import (
    cache_words,
    myelin_words,
    placement_lines,
    reformat_words,
    strategy_words,
    streams_words,
)
from trex_tui.report.views.layer_details import Line
from trex_tui.text import MISSING, format_bytes, format_count, format_ms, plural

_OUTSIDE = frozenset({PhaseKind.LOADING, PhaseKind.DESERIALIZATION, PhaseKind.INFERENCE})
"""Phases that are no part of the build."""


@dataclass(frozen=True, slots=True)
class Node:
    """A line of an outline.

    Attributes:
        key: Identifies it among all of the outline.
        label: What it is; not yet made safe for a terminal.
        item: What it stands for.
        values: Its figures, by the name of their column; a missing one is unknown or has no meaning there.
        children: What stands below it, when it is expanded.
        is_open: Whether it is expanded at first.
    """

    key: Hashable
    label: str
    item: Any
    values: dict[str, Any]
    children: tuple[Node, ...] = ()
    is_open: bool = False


def _of_strategy(trace: BuildTrace, strategy: int | None) -> str:
    return f", strategy {strategy}" if strategy is not None and len(trace.strategies) > 1 else ""


# Phases


def phase_nodes(trace: BuildTrace) -> list[Node]:
    """Phases as they appear, each summed over its lines, which stand below it."""
    whole = build_seconds(trace.phases)
    longest = max((one.seconds for one in trace.phases), default=0.0)
    shares = phase_shares(trace)
    longest = max([longest, *(one.seconds for one in shares)])
    return [_phase_node(trace, one, whole, longest) for one in shares]


def _phase_node(trace: BuildTrace, share: PhaseShare, whole: float | None, longest: float) -> Node:
    lines = [one for one in trace.phases if (one.kind, one.strategy) == (share.kind, share.strategy)]
    is_inside = share.kind not in _OUTSIDE

    def values(seconds: float, line: int, count: int | None) -> dict[str, Any]:
        pct = 100.0 * seconds / whole if whole and is_inside else None
        return {
            "seconds": seconds,
            "share_pct": pct,
            "count": count,
            "line": line,
            "bar": seconds / longest if longest else None,
        }

    children = [
        Node(("phase", one.line), one.layer or f"line {one.line}", one, values(one.seconds, one.line, None))
        for one in sorted(lines, key=lambda one: -one.seconds)
        if len(lines) > 1
    ]
    label = share.kind.value + _of_strategy(trace, share.strategy)
    first: PhaseShare | Phase = lines[0] if len(lines) == 1 else share
    return Node(
        ("phases", share.kind, share.strategy),
        label,
        first,
        values(share.seconds, lines[0].line, share.count if share.count > 1 else None),
        tuple(children),
    )


# Passes

_STEPS = {
    FusionKind.FUSED: "fused",
    FusionKind.REMOVED: "removed",
    FusionKind.CONVERTED: "converted",
    FusionKind.TRIED: "tried",
}


def pass_nodes(trace: BuildTrace) -> list[Node]:
    """The passes with their steps below; by strategy if there were several, the winner's expanded."""
    strategies = list(dict.fromkeys(one.strategy for one in trace.passes))
    if len([one for one in strategies if one is not None]) < 2:
        return _passes(trace.passes)
    nodes = []
    for strategy in strategies:
        passes = [one for one in trace.passes if one.strategy == strategy]
        wins = strategy == trace.winner
        name = "before any strategy" if strategy is None else f"strategy {strategy}"
        label = name + (", in the engine" if wins else "")
        values: dict[str, Any] = _step_counts([step for one in passes for step in one.fusions])
        values |= {"layers": passes[-1].layers, "line": passes[0].line}
        found = next((one for one in trace.strategies if one.number == strategy), None)
        nodes.append(
            Node(
                ("of", strategy),
                label,
                found,
                values,
                tuple(_passes(passes)),
                is_open=wins or strategy is None,
            )
        )
    return nodes


def _passes(passes: Sequence[OptimizerPass]) -> list[Node]:
    nodes = []
    before: int | None = None
    for one in passes:
        known = one.layers is not None and before is not None
        change = one.layers - before if known else None  # type: ignore[operator]
        values = {"layers": one.layers, "change": change or None, "line": one.line} | _step_counts(
            one.fusions
        )
        steps = tuple(_step_node(step, place, one) for place, step in enumerate(one.fusions))
        nodes.append(Node(("pass", one.line, one.name), one.name, one, values, steps))
        before = one.layers if one.layers is not None else before
    return nodes


def _step_counts(steps: Iterable[Fusion]) -> dict[str, int | None]:
    counts = Counter(step.kind for step in steps)
    return {word: counts[kind] or None for kind, word in _STEPS.items()}


def _step_node(step: Fusion, place: int, one: OptimizerPass) -> Node:
    values = {"rule": step.rule or None, "line": step.line}
    return Node(("step", one.line, one.name, place), step_words(step), step, values)


def step_words(step: Fusion) -> str:
    """What a pass did to a layer, in a few words and its names."""
    if step.kind is FusionKind.FUSED:
        return f"fused {step.layer} with {step.other}" if step.other else f"fused {step.layer}"
    if step.kind is FusionKind.CONVERTED:
        types = f" from {step.from_type} to {step.to_type}" if step.from_type and step.to_type else ""
        return f"converted {step.layer}{types}"
    if step.kind is FusionKind.TRIED:
        return f"{step.rule or 'tried'} on {step.layer}"
    return f"removed {step.layer}"


# Strategies and Myelin


def strategy_nodes(facts: BuildFacts) -> list[Node]:
    """The backend strategies, with the operators that Myelin tuned below; the operators alone where no strategy is named."""
    trace = facts.trace
    if not trace.strategies:
        return _operators(trace.tunings)
    nodes = []
    for one in trace.strategies:
        tuned = [row for row in facts.tuned if row.tuning.strategy == one.number]
        built = [
            phase.seconds
            for phase in trace.phases
            if phase.kind is PhaseKind.ENGINE_GENERATION and phase.strategy == one.number
        ]
        children = tuple(_operators([row.tuning for row in tuned]))
        values = {
            "verdict": one.verdict.value,
            "estimate": one.estimate,
            "tuned": len(tuned) or None,
            "tactics": sum(row.tactics for row in tuned) or None,
            "seconds": sum(built) if built else None,
            "line": one.line,
        }
        wins = one.number == trace.winner
        label = f"strategy {one.number}" + (", in the engine" if wins else "")
        nodes.append(Node(("strategy", one.number), label, one, values, children, is_open=wins))
    return nodes


def _operators(tunings: Iterable[LayerTuning]) -> list[Node]:
    nodes = []
    for tuning in tunings:
        for place, (trial_line, table) in enumerate(_tables(tuning)):
            times = [one.time_ms for one in table.tactics if one.time_ms is not None]
            nodes.append(
                Node(
                    ("operator", trial_line, table.line, place),
                    table.operator or ", ".join(table.onnx_nodes) or "an operator without a name",
                    (tuning, table),
                    {
                        "tactics": len(table.tactics),
                        "best_ms": min(times, default=None),
                        "worst_ms": max(times, default=None),
                        "line": table.line,
                    },
                )
            )
    return nodes


def _tables(tuning: LayerTuning) -> list[tuple[int, MyelinTable]]:
    return [(trial.line, table) for trial in tuning.trials() for table in trial.myelin]


# What stands where there is nothing


def nothing_words(trace: BuildTrace, what: str) -> str:
    """Why a view of a log is empty.

    Args:
        what: Title of the view in small letters.
    """
    if what == "memory":
        return "The log tells no memory in use."
    if what == "messages":
        return "The log holds neither warnings nor errors."
    if trace.only_loads:
        return "This is the log of a run that loads an engine: it tells nothing of its build."
    if what == "strategies" and trace.is_verbose:
        return (
            "The log names no backend strategy (TensorRT 8.6 and later do) and no operator that Myelin tuned "
            "(10 and later do)."
        )
    if what == "phases":
        return "The log states no durations."
    if trace.is_verbose:
        return f"The log is verbose, and yet tells of no {what}: it may be cut off before."
    return (
        f"The log is not verbose: it lacks the {what}. With `trtexec --verbose` it tells the passes of the optimizer, every "
        "tactic that was tried with its time, skipped ones, and what Myelin tuned."
    )


def counts_words(facts: BuildFacts) -> str:
    """How much was tuned, in a line."""
    trace = facts.trace
    if not trace.is_whole:
        return "how many were tuned is not known yet"
    joined = sum(choice.tuning is not None for choice in facts.choices)
    words = [
        f"{len(facts.tuned)} tuned",
        f"{format_count(sum(one.tactics for one in facts.tuned))} tactics",
        f"{sum(one.skipped for one in facts.tuned)} skipped",
        f"{plural(facts.near_ties, 'near tie')}",
        f"{joined} of {plural(len(facts.choices), 'layer')}",
    ]
    return " · ".join(words) if trace.tunings else "nothing was tuned, as far as the log tells"


DIGITS = 6
"""Decimals of a tactic's milliseconds: they are told apart by tens of nanoseconds."""
MOST_ROWS = 40
"""Rows of a table of Myelin's, and formats, that the words show."""


def in_ms(value: float | None) -> str:
    """The builder's time of a tactic, with its unit."""
    return f"{format_ms(value, DIGITS)} ms"


def line_of(number: int) -> Line:
    """Where in the log it stands."""
    return Line(f"line {number}", "muted", label="in the log")


def _contender_words(one: Contender) -> str:
    number = hex_id(one.id) if one.id is not None else ""
    return " · ".join(part for part in (in_ms(one.time_ms), one.runner, one.name or "", number) if part)


def tuned_lines(engine: Engine, facts: BuildFacts, tuned: TunedLayer) -> Iterator[Line]:
    """How a layer was tuned: how much was tried, what was chosen, and what came next."""
    tuning = tuned.tuning
    yield Line(tuning.name, "heading")
    yield Line(_tried_words(tuning))
    if tuned.choice is not None:
        yield from _choice_lines(tuned.choice)
    elif tuned.chosen_ms is not None:
        yield Line(in_ms(tuned.chosen_ms), label="chosen")
    yield from _fate_lines(engine, facts, tuned)
    for one in facts.trace.reformats:
        if one.consumer == tuning.name and one.strategy == tuning.strategy:
            yield Line(reformat_words(one), label="reformatted")
    yield line_of(tuning.line)


def _tried_words(tuning: LayerTuning) -> str:
    words = f"{plural(tuning.tactic_count, 'tactic')} timed{myelin_words(tuning.myelin_count)}"
    words += (
        f"{',' if tuning.myelin_count else ''} in {plural(len(tuning.combinations), 'format combination')}"
    )
    words += f", {len(tuning.skipped)} skipped" if tuning.skipped else ""
    if tuning.is_cached:
        return words + f"; every result came {CACHED}"
    if tuning.seconds is not None:
        return words + f", {tuning.seconds:.3f} s"
    if tuning.began_s is not None and tuning.ended_s is not None:
        return (
            words
            + f", about {tuning.ended_s - tuning.began_s:.0f} s by the time stamps, which are whole seconds"
        )
    return words + ", time not told"


def _choice_lines(choice: LayerChoice) -> Iterator[Line]:
    if choice.chosen is not None:
        yield Line(_contender_words(choice.chosen), label="chosen")
    elif choice.tuning is not None:
        yield Line("the log does not tell", label="chosen")
    fastest = choice.fastest
    if fastest is not None and choice.chosen is not None:
        is_it = (fastest.runner, fastest.id) == (choice.chosen.runner, choice.chosen.id)
        yield Line("the chosen one" if is_it else _contender_words(fastest), label="fastest")
    if choice.second is not None:
        margin = choice.margin_pct
        words = _contender_words(choice.second) + (f" · {margin:+.2f} %" if margin is not None else "")
        yield Line(words, label="second best")
    elif choice.chosen is not None:
        yield Line("nothing else was timed in these formats", "muted", label="second best")
    if choice.is_near_tie:
        yield Line(f"the margin is below {NEAR_TIE_PCT:g} %: which one won is chance", label="near tie")
    if choice.combination is not None:
        sure = " (or another that agrees with the engine)" if choice.is_ambiguous else ""
        yield Line(choice.combination.text + sure, label="formats")
    if choice.agrees is False:
        yield Line("The engine's tactic is not the one that the log chose: is it the log of this engine?")
    yield from _precision_lines(choice)


def _precision_lines(choice: LayerChoice) -> Iterator[Line]:
    """What other types of input would have cost."""
    for one in choice.precisions:
        if one.precision == choice.precision:
            continue
        words = in_ms(one.time_ms)
        if choice.chosen is not None and choice.chosen.time_ms > 0:
            words += f", {100 * (one.time_ms / choice.chosen.time_ms - 1):+.1f} %"
        yield Line(words + ", without reformats it may need", label=f"in {one.precision.value}")


def _fate_lines(engine: Engine, facts: BuildFacts, tuned: TunedLayer) -> Iterator[Line]:
    strategy, winner = tuned.tuning.strategy, facts.trace.winner
    if strategy is not None and len(facts.trace.strategies) > 1:
        kept = "which the engine was made with" if strategy == winner else "which was not kept"
        yield Line(f"{strategy}, {kept}", label="strategy")
    if not tuned.layers:
        if strategy in (winner, None):
            yield Line("no layer of this engine came of it, as far as names tell", "muted", label="engine")
        return
    for index in tuned.layers[:MOST_ROWS]:
        layer = engine.layers[index]
        time = f"{format_ms(layer.latency_ms)} ms" if layer.latency_ms is not None else "time unknown"
        yield Line(f"layer {index} · {time} · {layer.name}", label="engine")
    if len(tuned.layers) > MOST_ROWS:
        yield Line(f"and {len(tuned.layers) - MOST_ROWS} more", "muted")


def tactics_lines(facts: BuildFacts, tuned: TunedLayer, row: TacticRow | None) -> Iterator[Line]:
    """Below the histogram: the tactic under the cursor, the formats, and what was skipped."""
    if row is not None:
        yield from _row_lines(tuned, row)
    built = {id(facts.choices[index].combination) for index in tuned.layers}
    combinations = tuned.tuning.combinations
    yield Line(plural(len(combinations), "format combination"), "section")
    for number, one in enumerate(combinations[:MOST_ROWS], start=1):
        yield Line(_formats_words(one, in_engine=id(one) in built), label=str(number), indent=2)
    if len(combinations) > MOST_ROWS:
        yield Line(f"and {len(combinations) - MOST_ROWS} more", "muted", indent=2)
    yield from skipped_lines(tuned.tuning.skipped)


def _row_lines(tuned: TunedLayer, row: TacticRow) -> Iterator[Line]:
    yield Line("Under the cursor", "section")
    yield Line(row.name or "the log gives no name", label="kernel", indent=2)
    number = hex_id(row.id) if row.id is not None else ""
    yield Line(" · ".join(part for part in (row.runner, number) if part), label="runner", indent=2)
    if row.operator:
        yield Line(row.operator, label="operator", indent=2)
    formats = tuned.tuning.combinations[row.formats - 1].text
    yield Line(f"{row.formats}: {formats}", label="formats", indent=2)
    if row.skipped is not None:
        yield Line(row.skipped.message, label="skipped", indent=2)
    else:
        yield Line(in_ms(row.time_ms) + (f", {CACHED}" if row.is_cached else ""), label="time", indent=2)
    yield Line(f"line {row.line} and below", "muted", label="in the log", indent=2)


def _formats_words(one: FormatCombination, *, in_engine: bool) -> str:
    words = [one.text]
    if one.chosen_runner is not None:
        words.append(f"{in_ms(one.chosen_ms)} {one.chosen_runner}")
    else:
        words.append("no valid tactic" if one.runners else "nothing was tried")
    words.append(CACHED if one.is_cached else plural(one.tactic_count, "tactic"))
    idle = [trial.runner for trial in one.runners if not len(trial.tactics)]
    if idle:
        words.append(f"{', '.join(f'{runner}: {_outcome(one, runner)}' for runner in dict.fromkeys(idle))}")
    return " · ".join(words) + (" · in the engine" if in_engine else "")


def _outcome(one: FormatCombination, runner: str) -> str:
    return next(trial.outcome.value for trial in one.runners if trial.runner == runner)


_REASONS = {
    SkipReason.WORKSPACE: "more scratch memory than the workspace allows",
    SkipReason.DEVICE_MEMORY: "too little memory free on the device",
    SkipReason.OTHER: "another reason",
}


def skipped_lines(skipped: Sequence[SkippedTactic]) -> Iterator[Line]:
    """Tactics that were not timed, counted by reason."""
    if not skipped:
        return
    yield Line(f"{plural(len(skipped), 'tactic')} skipped", "section")
    for reason, count in Counter(one.reason for one in skipped).most_common():
        same = [one for one in skipped if one.reason is reason]
        most = max((one.requested_bytes for one in same if one.requested_bytes is not None), default=None)
        given = next((one.available_bytes for one in same if one.available_bytes is not None), None)
        words = f"{count}: {_REASONS[reason]}"
        words += f", up to {format_bytes(most)} asked for" if most is not None else ""
        words += f", {format_bytes(given)} available" if given is not None else ""
        yield Line(words, indent=2)
        yield Line(f"line {same[0].line}: {same[0].message}", "muted", indent=4)


def layer_build_lines(facts: BuildFacts | None, index: int) -> list[Line]:
    """What the log says of a layer of the engine, for its details; empty until the log has been read."""
    if facts is None or index >= len(facts.choices):
        return []
    choice, tuned = facts.choices[index], facts.by_layer.get(index)
    lines: list[Line] = []
    if tuned is not None:
        lines.append(Line(_tried_words(tuned.tuning)))
        if tuned.tuning.name != choice.name:
            lines.append(Line(tuned.tuning.name, label="tuned as part of"))
        lines += _choice_lines(choice)
    if choice.reformat is not None:
        lines.append(Line(reformat_words(choice.reformat), label="inserted for"))
    if not lines:
        lines.append(Line("the log tells of no tuning of this layer", "muted"))
    return [Line(one.text, one.style, one.label, 2, one.target) for one in lines]


SEVERITIES = {"W": "warning", "E": "error", "F": "fatal error"}


def format_seconds(value: float | None) -> str:
    """Seconds with three decimals, as the builder prints them or coarser."""
    return MISSING if value is None else f"{value:.3f}"


def item_lines(facts: BuildFacts, item: Any) -> Iterator[Line]:  # noqa: ANN401 - whatever a view lists
    """What there is to say of what the cursor stands on, of whichever view."""
    if isinstance(item, (Phase, PhaseShare)):
        yield from _phase_lines(item)
    elif isinstance(item, OptimizerPass):
        yield from _pass_lines(item)
    elif isinstance(item, Fusion):
        yield from _step_lines(item)
    elif isinstance(item, BackendStrategy):
        yield from _strategy_lines(facts, item)
    elif isinstance(item, MemoryPoint):
        yield from _point_lines(item)
    elif isinstance(item, Message):
        yield from _message_lines(item)
    elif isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], MyelinTable):
        yield from _operator_lines(*item)


# The build as a whole


def overview_lines(trace: BuildTrace, engine: Engine) -> Iterator[Line]:
    """What was built, with which options, and what the log is."""
    counts = trace.count_messages()
    seconds = build_seconds(trace.phases)
    facts = {
        "TensorRT": trace.tensorrt_version or engine.tensorrt_version,
        "device": trace.options.device.get("Selected Device"),
        "build took": f"{seconds:.3f} s" if seconds is not None else None,
        "log covers": f"{trace.stated_seconds:.0f} s" if trace.stated_seconds is not None else None,
        "precision": None if trace.only_loads else trace.options.build.get("Precision"),
        "timing cache": cache_words(trace),
        "strategy": strategy_words(trace),
        "streams": streams_words(trace),
        "warnings": str(counts["W"]),
        "errors": str(counts["E"] + counts["F"]),
        "log": f"{trace.path} ({plural(trace.lines, 'line')}{'' if trace.is_verbose else ', not verbose'})",
    }
    yield Line("The build", "section")
    yield from (Line(value, label=label, indent=2) for label, value in facts.items() if value)
    for run in trace.runs:
        yield Line(f"{run.command}", label=run.status or "unfinished", indent=2)
    for note in trace.diagnostics:
        place = f"{note.where}: " if note.where else ""
        yield Line(place + note.message, label=note.severity.value, indent=2)
    yield from placement_lines(trace)
    options = trace.options
    parts = (
        ("Build options", options.build),
        ("Model options", options.model),
        ("System options", options.system),
        ("Inference options", options.inference),
        ("Reporting options", options.reporting),
        ("Device", options.device),
        ("ONNX", trace.onnx.values if trace.onnx else {}),
    )
    for title, values in parts:
        if values:
            yield Line(title, "section")
            yield from (Line(value, label=label, indent=2) for label, value in values.items())


def _phase_lines(phase: Phase | PhaseShare) -> Iterator[Line]:
    yield Line(phase.kind.value, "heading")
    yield Line(f"{phase.seconds:.6g} s", label="took")
    if phase.strategy is not None:
        yield Line(str(phase.strategy), label="strategy")
    if isinstance(phase, PhaseShare):
        yield Line(f"{phase.count} lines", label="sum of")
        return
    if phase.layer:
        yield Line(phase.layer, label="layer")
    if phase.ended_s is not None:
        yield Line(f"{phase.ended_s:.0f} s after the log began", label="ended")
    yield line_of(phase.line)


# Passes


def _pass_lines(one: OptimizerPass) -> Iterator[Line]:
    yield Line(one.name, "heading")
    after = "the log ends before it says" if one.layers is None else plural(one.layers, "layer")
    yield Line(after, label="afterwards")
    yield line_of(one.line)
    if not one.fusions:
        yield Line("It changed nothing that the log tells of.", "muted")
        return
    rules = Counter(step.rule or step.kind.value for step in one.fusions)
    yield Line(f"{plural(len(one.fusions), 'step')}", "section")
    yield from (Line(str(count), label=rule, indent=2) for rule, count in rules.most_common(MOST_ROWS))


def _step_lines(step: Fusion) -> Iterator[Line]:
    yield Line(step_words(step), "heading")
    yield Line(step.rule or "the log names none", label="rule")
    yield Line(step.layer, label="layer")
    if step.other:
        yield Line(step.other, label="with")
    if step.from_type or step.to_type:
        yield Line(f"{step.from_type} → {step.to_type}", label="type")
    yield line_of(step.line)


# Memory, strategies, messages


def _point_lines(point: MemoryPoint) -> Iterator[Line]:
    yield Line(point.event, "heading")
    whose = "TensorRT's allocators" if point.is_managed else "the process (CPU), the device (GPU)"
    yield Line(whose, label="of")
    for word, size, change in (
        ("GPU", point.gpu_mib, point.gpu_change_mib),
        ("CPU", point.cpu_mib, point.cpu_change_mib),
    ):
        more = f", {change:+d} MiB" if change is not None else ""
        yield Line(f"{size} MiB{more}", label=word)
    if point.at_s is not None:
        yield Line(f"{point.at_s:.0f} s after the log began", label="when")
    yield line_of(point.line)


def memory_lines(trace: BuildTrace) -> Iterator[Line]:
    """Totals and peaks, by strategy, and the layers that hold most."""
    if trace.peak_gpu_mib is not None:
        yield Line("Peak in TensorRT's allocators", "section")
        yield Line(f"{trace.peak_gpu_mib} MiB", label="GPU", indent=2)
        yield Line(f"{trace.peak_cpu_mib} MiB", label="CPU", indent=2)
    for one in trace.memory_totals:
        wins = ", in the engine" if one.strategy == trace.winner and len(trace.memory_totals) > 1 else ""
        yield Line(
            "Totals" + (f" of strategy {one.strategy}{wins}" if one.strategy is not None else ""), "section"
        )
        sizes = {
            "weights": one.weights_bytes,
            "activation": one.activation_bytes,
            "scratch": one.scratch_bytes,
            "persistent": one.device_persistent_bytes,
            "on the host": one.host_persistent_bytes,
        }
        for label, size in sizes.items():
            if size is not None:
                yield Line(format_bytes(size), label=label, indent=2)
    sizes = {"engine": trace.engine_bytes, "context": trace.context_bytes}
    known = [
        Line(format_bytes(size), label=label, indent=2) for label, size in sizes.items() if size is not None
    ]
    if known:
        yield Line("Engine and execution context", "section")
        yield from known
    ordered = sorted(
        trace.layer_memory, key=lambda one: -((one.scratch_bytes or 0) + one.device_persistent_bytes)
    )
    large = [one for one in ordered if one.strategy in (trace.winner, None)]
    if large:
        yield Line("Layers that hold most: scratch, device persistent, host persistent", "section")
    for layer in large[:MOST_ROWS]:
        held = (layer.scratch_bytes, layer.device_persistent_bytes, layer.host_persistent_bytes)
        yield Line(f"{', '.join(map(format_bytes, held))} · {layer.name}", indent=2)


def _strategy_lines(facts: BuildFacts, one: BackendStrategy) -> Iterator[Line]:
    yield Line(f"Backend strategy {one.number}", "heading")
    yield Line(one.verdict.value, label="verdict")
    if one.estimate is not None:
        yield Line(f"{one.estimate:g} (the log states no unit: for comparing alone)", label="estimate")
    if facts.trace.is_whole:
        tuned = [row for row in facts.tuned if row.tuning.strategy == one.number]
        tactics = format_count(sum(row.tactics for row in tuned))
        yield Line(f"{plural(len(tuned), 'layer')}, {tactics} tactics", label="tuned")
    yield line_of(one.line)


def _operator_lines(tuning: LayerTuning, table: MyelinTable) -> Iterator[Line]:
    yield Line(table.operator or "an operator without a name", "heading")
    yield Line(tuning.name, label="in the layer")
    if table.onnx_nodes:
        yield Line(", ".join(table.onnx_nodes), label="ONNX nodes")
    yield line_of(table.line)
    yield Line(f"{plural(len(table.tactics), 'kernel')} timed, the first is taken", "section")
    for one in table.tactics[:MOST_ROWS]:
        ratio = f" · {one.ratio:.2f}×" if one.ratio is not None else ""
        yield Line(f"{in_ms(one.time_ms)}{ratio} · {one.kernel}", indent=2)
    if len(table.tactics) > MOST_ROWS:
        yield Line(f"and {len(table.tactics) - MOST_ROWS} more", "muted", indent=2)


def _message_lines(one: Message) -> Iterator[Line]:
    yield Line(f"{SEVERITIES.get(one.severity, one.severity)}, {plural(one.count, 'time')}", "heading")
    yield Line("trtexec" if one.is_trtexec else "the library", label="said by")
    lines = f"line {one.line}" + (f" to {one.last_line}" if one.last_line != one.line else "")
    yield Line(lines, "muted", label="in the log")
    yield from (Line(part) for part in one.text.splitlines())
