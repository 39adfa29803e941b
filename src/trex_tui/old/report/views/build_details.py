"""Details of the selected item of a build log, as lines: a phase, a pass, a layer, its tactics, a message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trex_tui.old.analysis.build import (
    CACHED,
    NEAR_TIE_PCT,
    BuildFacts,
    Contender,
    LayerChoice,
    PhaseShare,
    TacticRow,
    TunedLayer,
)
from trex_tui.old.buildlog.build_trace import (
    BackendStrategy,
    BuildTrace,
    Fusion,
    MemoryPoint,
    Message,
    OptimizerPass,
    Phase,
)
from trex_tui.old.buildlog.layer_tuning import (
    FormatCombination,
    LayerTuning,
    MyelinTable,
    SkippedTactic,
    SkipReason,
    hex_id,
)
from trex_tui.old.engine.engine import Engine
from trex_tui.old.report.views.build import (
    SEVERITIES,
    dla_text,
    format_tactic_ms,
    kept_reformats,
    memory_sections,
    myelin_text,
    overview_facts,
    reformat_text,
    reformats_text,
    step_text,
)
from trex_tui.old.report.views.layer_details import Line
from trex_tui.old.text import format_bytes, format_count, format_ms, plural

MOST_ROWS = 40
"""Maximum rows of any list."""


def _pairs(pairs: Iterable[tuple[str, str | None]], indent: int = 0) -> Iterator[Line]:
    """Yield labels with their texts; those without a text are skipped."""
    return (Line(text, label=label, indent=indent) for label, text in pairs if text)


def _first(lines: Sequence[Any], indent: int = 2) -> Iterator[Line]:
    """Yield the first of many lines or texts, and the number of further ones."""
    for line in lines[:MOST_ROWS]:
        yield line if isinstance(line, Line) else Line(line, indent=indent)
    yield from _rest(len(lines), indent)


def _rest(count: int, indent: int = 2) -> Iterator[Line]:
    if count > MOST_ROWS:
        yield Line(f"and {count - MOST_ROWS} more", "muted", indent=indent)


def _in_ms(value: float | None) -> str:
    return f"{format_tactic_ms(value)} ms"


def _make_line(number: int) -> Line:
    return Line(f"line {number}", "muted", label="in the log")


def item_lines(facts: BuildFacts, item: Any) -> Iterator[Line]:  # noqa: ANN401 - whatever a view lists
    """Yield details of the selected item of any view."""
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


def overview_lines(trace: BuildTrace, engine: Engine) -> Iterator[Line]:
    """Yield facts about the build, its options, and the log."""
    yield Line("The build", "section")
    yield from (Line(text, label=label, indent=2) for label, text in overview_facts(trace, engine))
    yield from placement_lines(trace)
    options = trace.options
    for title, values in (
        ("Build options", options.build),
        ("Model options", options.model),
        ("System options", options.system),
        ("Inference options", options.inference),
        ("Reporting options", options.reporting),
        ("Device", options.device),
        ("ONNX", trace.onnx.values if trace.onnx else {}),
    ):
        if values:
            yield Line(title, "section")
            yield from (Line(value, label=label, indent=2) for label, value in values.items())


def placement_lines(trace: BuildTrace) -> Iterator[Line]:
    """Yield sections on DLA, on reformats, and on layers of another precision than requested; none if there are none."""
    if dla_text(trace):
        fallbacks = trace.dla.fallbacks
        yield Line("DLA", "section")
        yield Line(dla_text(trace), indent=2)
        for fallback in fallbacks[:MOST_ROWS]:
            text = f"{fallback.layer or 'a layer'}: {fallback.message}"
            yield Line(text, label=f"line {fallback.line}", indent=2)
            if fallback.reason:
                yield Line(fallback.reason, "muted", indent=4)
        yield from _rest(len(fallbacks))
    if reformats := kept_reformats(trace):
        reformats.sort(key=lambda reformat: -(reformat.cost_ms or 0.0))
        yield Line("Reformats", "section")
        yield Line(reformats_text(trace), indent=2)
        yield from _first([f"{reformat.name} · {reformat_text(reformat)}" for reformat in reformats])
    if trace.non_conforming:
        yield Line("Implementation differs from the request", "section")
        yield from _first(trace.non_conforming)


def _phase_lines(phase: Phase | PhaseShare) -> Iterator[Line]:
    yield Line(phase.kind.value, "heading")
    strategy = None if phase.strategy is None else str(phase.strategy)
    yield from _pairs([("took", f"{phase.seconds:.6g} s"), ("strategy", strategy)])
    if isinstance(phase, PhaseShare):
        yield Line(f"{phase.count} lines", label="sum of")
        return
    ended = None if phase.ended_s is None else f"+{phase.ended_s:.0f} s"
    yield from _pairs([("layer", phase.layer), ("ended", ended)])
    yield _make_line(phase.line)


def _pass_lines(graph_pass: OptimizerPass) -> Iterator[Line]:
    steps = graph_pass.fusions
    yield Line(graph_pass.name, "heading")
    layers = graph_pass.layers
    yield Line(
        "not in the log (truncated)" if layers is None else plural(layers, "layer"), label="afterwards"
    )
    yield _make_line(graph_pass.line)
    if not steps:
        yield Line("No change stated in the log.", "muted")
        return
    rules = Counter(step.rule or step.kind.value for step in steps)
    yield Line(plural(len(steps), "step"), "section")
    yield from _pairs(((rule, str(count)) for rule, count in rules.most_common(MOST_ROWS)), 2)


def _step_lines(step: Fusion) -> Iterator[Line]:
    yield Line(step_text(step), "heading")
    yield Line(step.rule or "not in the log", label="rule")
    yield Line(step.layer, label="layer")
    types = f"{step.from_type} → {step.to_type}" if step.from_type or step.to_type else None
    yield from _pairs([("with", step.other), ("type", types)])
    yield _make_line(step.line)


def _point_lines(point: MemoryPoint) -> Iterator[Line]:
    yield Line(point.event, "heading")
    yield Line(
        "TensorRT's allocators" if point.is_managed else "the process (CPU), the device (GPU)", label="of"
    )
    for label, size, change in (
        ("GPU", point.gpu_mib, point.gpu_change_mib),
        ("CPU", point.cpu_mib, point.cpu_change_mib),
    ):
        yield Line(f"{size} MiB" + (f", {change:+d} MiB" if change is not None else ""), label=label)
    if point.at_s is not None:
        yield Line(f"+{point.at_s:.0f} s", label="when")
    yield _make_line(point.line)


def memory_lines(trace: BuildTrace) -> Iterator[Line]:
    """Yield totals and peaks, by strategy, and the layers with most memory."""
    for section in memory_sections(trace):
        yield Line(section.title, "section")
        yield from _pairs(section.facts, 2)
    large = [layer for layer in trace.layer_memory if layer.strategy in (trace.winner, None)]
    large.sort(key=lambda layer: -((layer.scratch_bytes or 0) + layer.device_persistent_bytes))
    if large:
        yield Line("Layers that hold most: scratch, device persistent, host persistent", "section")
    for layer in large[:MOST_ROWS]:
        held = (layer.scratch_bytes, layer.device_persistent_bytes, layer.host_persistent_bytes)
        yield Line(f"{', '.join(map(format_bytes, held))} · {layer.name}", indent=2)


def _strategy_lines(facts: BuildFacts, strategy: BackendStrategy) -> Iterator[Line]:
    yield Line(f"Backend strategy {strategy.number}", "heading")
    yield Line(strategy.verdict.value, label="verdict")
    if strategy.estimate is not None:
        text = f"{strategy.estimate:g} (no unit in the log; for comparison only)"
        yield Line(text, label="estimate")
    if facts.trace.is_whole:
        tuned = [layer for layer in facts.tuned if layer.tuning.strategy == strategy.number]
        tactics = format_count(sum(layer.tactics for layer in tuned))
        yield Line(f"{plural(len(tuned), 'layer')}, {tactics} tactics", label="tuned")
    yield _make_line(strategy.line)


def _operator_lines(tuning: LayerTuning, table: MyelinTable) -> Iterator[Line]:
    yield Line(table.operator or "an operator without a name", "heading")
    yield Line(tuning.name, label="in the layer")
    yield from _pairs([("ONNX nodes", ", ".join(table.onnx_nodes))])
    yield _make_line(table.line)
    yield Line(f"{plural(len(table.tactics), 'kernel')} timed, the first is used", "section")
    ratios = (f" · {tactic.ratio:.2f}×" if tactic.ratio is not None else "" for tactic in table.tactics)
    texts = [
        f"{_in_ms(tactic.time_ms)}{ratio} · {tactic.kernel}"
        for tactic, ratio in zip(table.tactics, ratios, strict=True)
    ]
    yield from _first(texts)


def _message_lines(message: Message) -> Iterator[Line]:
    severity = SEVERITIES.get(message.severity, message.severity)
    yield Line(f"{severity}, {plural(message.count, 'time')}", "heading")
    yield Line("trtexec" if message.is_trtexec else "the library", label="sender")
    lines = f"line {message.line}" + (f" to {message.last_line}" if message.last_line != message.line else "")
    yield Line(lines, "muted", label="in the log")
    yield from (Line(part) for part in message.text.splitlines())


# A tuned layer


def tuned_lines(engine: Engine | None, facts: BuildFacts, tuned: TunedLayer) -> Iterator[Line]:
    """Yield how a layer was tuned: the number of trials, the choice, and the second best."""
    tuning = tuned.tuning
    yield Line(tuning.name or f"Layer without a name, line {tuning.line}", "heading")
    yield Line(_tried_text(tuning))
    if tuned.choice is not None:
        yield from _choice_lines(tuned.choice)
    elif tuned.chosen_ms is not None:
        yield Line(_in_ms(tuned.chosen_ms), label="chosen")
    yield from _fate_lines(engine, facts, tuned)
    for reformat in facts.trace.reformats:
        if reformat.consumer == tuning.name and reformat.strategy == tuning.strategy:
            yield Line(reformat_text(reformat), label="reformatted")
    yield _make_line(tuning.line)


def _tried_text(tuning: LayerTuning) -> str:
    comma = "," if tuning.myelin_count else ""
    text = (
        f"{plural(tuning.tactic_count, 'tactic')} timed{myelin_text(tuning.myelin_count)}"
        f"{comma} in {plural(len(tuning.combinations), 'format combination')}"
    )
    text += f", {len(tuning.skipped)} skipped" if tuning.skipped else ""
    if tuning.is_cached:
        return f"{text}; all results {CACHED}"
    if tuning.seconds is not None:
        return f"{text}, {tuning.seconds:.3f} s"
    if tuning.began_s is not None and tuning.ended_s is not None:
        seconds = tuning.ended_s - tuning.began_s
        return f"{text}, about {seconds:.0f} s (whole-second time stamps)"
    return f"{text}, time unknown"


def _contender_text(contender: Contender) -> str:
    number = hex_id(contender.id) if contender.id is not None else ""
    parts = (_in_ms(contender.time_ms), contender.runner, contender.name or "", number)
    return " · ".join(filter(None, parts))


def _choice_lines(choice: LayerChoice) -> Iterator[Line]:
    if choice.chosen is not None:
        yield Line(_contender_text(choice.chosen), label="chosen")
    elif choice.tuning is not None:
        yield Line("not in the log", label="chosen")
    fastest = choice.fastest
    if fastest is not None and choice.chosen is not None:
        is_chosen = (fastest.runner, fastest.id) == (choice.chosen.runner, choice.chosen.id)
        yield Line("the choice" if is_chosen else _contender_text(fastest), label="fastest")
    if choice.second is not None:
        margin = "" if choice.margin_pct is None else f" · {choice.margin_pct:+.2f} %"
        yield Line(_contender_text(choice.second) + margin, label="second best")
    elif choice.chosen is not None:
        yield Line("no other tactic timed in these formats", "muted", label="second best")
    if choice.is_near_tie:
        yield Line(f"margin below {NEAR_TIE_PCT:g} %", label="near tie")
    if choice.combination is not None:
        sure = " (or another that matches the engine)" if choice.is_ambiguous else ""
        yield Line(choice.combination.text + sure, label="formats")
    if choice.agrees is False:
        yield Line("Engine and log disagree on the tactic; check that the log belongs to this engine.")
    yield from _precision_lines(choice)


def _precision_lines(choice: LayerChoice) -> Iterator[Line]:
    """Yield the costs of other input types."""
    for other in choice.precisions:
        if other.precision != choice.precision:
            text = _in_ms(other.time_ms)
            if choice.chosen is not None and choice.chosen.time_ms > 0:
                text += f", {100 * (other.time_ms / choice.chosen.time_ms - 1):+.1f} %"
            yield Line(f"{text}, excluding reformats", label=f"in {other.precision.value}")


def _fate_lines(engine: Engine | None, facts: BuildFacts, tuned: TunedLayer) -> Iterator[Line]:
    strategy, winner = tuned.tuning.strategy, facts.trace.winner
    if strategy is not None and len(facts.trace.strategies) > 1:
        kept = "used for the engine" if strategy == winner else "discarded"
        yield Line(f"{strategy}, {kept}", label="strategy")
    if not tuned.layers and strategy in (winner, None):
        yield Line("no layer of this engine has this name", "muted", label="engine")
    lines = []
    for index in tuned.layers:
        time = ""
        if engine is not None:
            latency = engine.layers[index].latency_ms
            time = "time unknown · " if latency is None else f"{format_ms(latency)} ms · "
        lines.append(Line(f"layer {index} · {time}{facts.choices[index].name}", label="engine"))
    yield from _first(lines, indent=0)


def layer_build_lines(facts: BuildFacts | None, index: int) -> list[Line]:
    """Return the content of the log about a layer of the engine, for its details; empty until the log has been read."""
    if facts is None or index >= len(facts.choices):
        return []
    choice, tuned = facts.choices[index], facts.by_layer.get(index)
    lines: list[Line] = []
    if tuned is not None:
        lines.append(Line(_tried_text(tuned.tuning)))
        if choice.reused_from is not None:
            lines.append(Line(f"{choice.reused_from} (an equal layer)", label="timed as"))
        elif tuned.tuning.name != choice.name:
            lines.append(Line(tuned.tuning.name, label="tuned as part of"))
        lines += _choice_lines(choice)
    if choice.reformat is not None:
        lines.append(Line(reformat_text(choice.reformat), label="inserted for"))
    if not lines:
        lines.append(Line("not tuned in the log", "muted"))
    return [Line(line.text, line.style, line.label, 2, line.target) for line in lines]


# Its tactics


def tactics_lines(facts: BuildFacts, tuned: TunedLayer, row: TacticRow | None) -> Iterator[Line]:
    """Yield lines below the histogram: the selected tactic, the formats, and skipped tactics."""
    combinations = tuned.tuning.combinations
    if row is not None:
        number = hex_id(row.id) if row.id is not None else ""
        time = _in_ms(row.time_ms) + (f", {CACHED}" if row.is_cached else "")
        yield Line("Selection", "section")
        yield Line(row.name or "no name in the log", label="kernel", indent=2)
        yield Line(" · ".join(filter(None, (row.runner, number))), label="runner", indent=2)
        yield from _pairs(
            [
                ("operator", row.operator),
                ("formats", f"{row.formats}: {combinations[row.formats - 1].text}"),
                ("time", time) if row.skipped is None else ("skipped", row.skipped.message),
            ],
            2,
        )
        yield Line(f"line {row.line} and below", "muted", label="in the log", indent=2)
    built = {id(facts.choices[index].combination) for index in tuned.layers}
    yield Line(plural(len(combinations), "format combination"), "section")
    lines = [
        Line(_formats_text(combination, in_engine=id(combination) in built), label=str(number), indent=2)
        for number, combination in enumerate(combinations, start=1)
    ]
    yield from _first(lines)
    yield from skipped_lines(tuned.tuning.skipped)


def _formats_text(combination: FormatCombination, *, in_engine: bool) -> str:
    runners = combination.runners
    parts = [combination.text]
    if combination.chosen_runner is not None:
        parts.append(f"{_in_ms(combination.chosen_ms)} {combination.chosen_runner}")
    else:
        parts.append("no valid tactic" if runners else "nothing was tried")
    parts.append(CACHED if combination.is_cached else plural(combination.tactic_count, "tactic"))
    idle = dict.fromkeys(trial.runner for trial in runners if not len(trial.tactics))
    outcomes = {trial.runner: trial.outcome.value for trial in reversed(runners)}
    if idle:
        parts.append(", ".join(f"{runner}: {outcomes[runner]}" for runner in idle))
    return " · ".join(parts) + (" · in the engine" if in_engine else "")


_REASONS = {
    SkipReason.WORKSPACE: "scratch memory exceeds the workspace",
    SkipReason.DEVICE_MEMORY: "not enough free device memory",
    SkipReason.OTHER: "another reason",
}


def skipped_lines(skipped: Sequence[SkippedTactic]) -> Iterator[Line]:
    """Yield skipped tactics, counted by reason."""
    if not skipped:
        return
    yield Line(f"{plural(len(skipped), 'tactic')} skipped", "section")
    for reason, count in Counter(tactic.reason for tactic in skipped).most_common():
        same = [tactic for tactic in skipped if tactic.reason is reason]
        most = max(
            (tactic.requested_bytes for tactic in same if tactic.requested_bytes is not None), default=None
        )
        given = next((tactic.available_bytes for tactic in same if tactic.available_bytes is not None), None)
        text = f"{count}: {_REASONS[reason]}"
        text += f", up to {format_bytes(most)} requested" if most is not None else ""
        text += f", {format_bytes(given)} available" if given is not None else ""
        yield Line(text, indent=2)
        yield Line(f"line {same[0].line}: {same[0].message}", "muted", indent=4)


# Summaries


def empty_view_text(trace: BuildTrace, view: str) -> str:
    """Return why a view of a log is empty.

    Args:
        view: Its title in lower case.
    """
    if view == "memory":
        return "No memory usage in the log."
    if view == "messages":
        return "No warnings or errors in the log."
    if trace.only_loads:
        return "The log is from a run of a loaded engine; it has no build data."
    if view == "strategies" and trace.is_verbose:
        return "No backend strategies (TensorRT 8.6 and later) or Myelin operators (10 and later) in the log."
    if view == "phases":
        return "No durations in the log."
    if trace.is_verbose:
        return f"No {view} in this verbose log; it may be truncated."
    return (
        f"No {view}: the log is not verbose. `trtexec --verbose` adds optimizer passes, timed and skipped "
        "tactics, and Myelin tuning."
    )


def tuned_summary(facts: BuildFacts) -> str:
    """Return how much was tuned, in one line."""
    trace = facts.trace
    if not trace.is_whole:
        return "tuning not read yet"
    if not trace.tunings:
        return "no tuning in the log"
    joined = sum(choice.tuning is not None for choice in facts.choices)
    parts = (
        f"{len(facts.tuned)} tuned",
        f"{format_count(sum(layer.tactics for layer in facts.tuned))} tactics",
        f"{sum(layer.skipped for layer in facts.tuned)} skipped",
        plural(facts.near_ties, "near tie"),
        f"{joined} of {plural(len(facts.choices), 'layer')}",
    )
    return " · ".join(parts)
