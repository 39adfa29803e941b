"""What a log states about a build, as tables: phases, passes, tactics, memory, DLA, requests, messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from trex_tui.analysis.build import (
    NEAR_TIE_PCT,
    TACTICS,
    TUNED,
    BuildJoin,
    Contender,
    build_seconds,
    near_ties,
    phase_totals,
)
from trex_tui.buildlog.trace import BuildTrace
from trex_tui.column import Column
from trex_tui.engine.dtypes import parse_data_type
from trex_tui.engine.model import Engine
from trex_tui.engine.names import ShortNames
from trex_tui.errors import TrexError
from trex_tui.frames import frame_of, text_array
from trex_tui.lint.context import Context
from trex_tui.lint.rules.requests import find_answers
from trex_tui.report.document import Section, drop_empty_columns
from trex_tui.report.views.layers import limit_rows
from trex_tui.text import ELLIPSIS, format_count, plural, printable

_PARENTS = {
    **dict.fromkeys(("ONNX parsing", "graph construction", "engine generation"), "engine build"),
    **dict.fromkeys(("calibration", "graph optimization", "multi-stream splitting"), "engine generation"),
    "formats and tactics selection": "engine generation",
    "subgraph compilation": "formats and tactics selection",
}
"""Phase -> the phase that contains it."""
_WHOLE = ("build_phases", "build_passes", "build_strategies", "build_memory")
"""Tables that are short."""
_SEVERITIES = {"W": "warning", "E": "error", "F": "fatal error"}
_STEPS = ("fused", "removed", "converted")
_POOLS = (
    "weights_bytes",
    "activation_bytes",
    "scratch_bytes",
    "device_persistent_bytes",
    "host_persistent_bytes",
)
_STRIDES = re.compile(r"\w+\((\d+(?::\d+)?(?:,\d+(?::\d+)?)*)\)$")
_SPACES = {4: "HW", 5: "DHW"}
_REQUESTS = {
    "kernel": "a kernel, no node of the model",
    "unknown": "no such layer",
    "closed": "inside a closed block",
}
# fmt: off
COLUMNS = {
    column.key: column
    for column in (
        Column("phase", "Phase", "What took the time; phases that it contains are below, behind dots.", priority=0),
        Column("duration_s", "Seconds", "Duration, summed over the lines of the log that state it.", priority=0),
        Column("build_pct", "% of build", "Share of the whole build; phases contain each other."),
        Column("count", "Times", "Number of lines, or of messages that differ only in names and numbers."),
        Column("pass", "Pass", "Pass of the optimizer.", priority=0),
        Column("layers", "Layers", "Layers after the pass, of the strategy, or that fell back."),
        Column("change", "Δ", "Layers that the pass added or removed."),
        Column("layer", "Layer", "Name of the layer in the log.", priority=0, width=24),
        Column("formats", "Formats", "Types and layouts of inputs and outputs, from their strides.", priority=3, width=20),
        Column("delta_pct", "Δ %", "Additional time over the tactic in the engine.", "100 · (time / chosen − 1)", priority=0),
        Column("state", "State", "Of a tactic: in the engine, or chosen for its formats. Of a request: result.", priority=1),
        Column("strategy", "Strategy", "Number of the backend strategy: a candidate engine.", priority=2),
        Column("verdict", "Verdict", "What became of the strategy.", priority=0),
        Column("estimate", "Estimate", "Estimated inference time, for comparison; the log states no unit.", priority=1),
        Column("event", "Event", "Event after which memory was counted.", priority=0, width=24),
        Column("gpu_mib", "GPU MiB", "Memory of the device in use.", priority=0),
        Column("cpu_mib", "CPU MiB", "Memory of the process in use.", priority=0),
        Column("gpu_change_mib", "ΔGPU", "Change of the memory of the device.", priority=1),
        Column("cpu_change_mib", "ΔCPU", "Change of the memory of the process.", priority=1),
        Column("reason", "Reason", "Why layers fell back from the DLA to the GPU.", priority=0),
        Column("request", "Request", "Precision, output type or device that was requested.", priority=0),
        Column("runs_in", "Runs in", "Type or device of the engine's layers of this name.", priority=0),
        Column("severity", "Severity", "Severity of the message.", priority=0),
        Column("message", "Message", "Text of the first of equal messages.", priority=0, width=40),
    )
}
# fmt: on
"""Columns of the tables; those of tactics are in `analysis.build`."""


def list_sections(join: BuildJoin, engine: Engine | None, top: int | None = 10) -> Iterator[Section]:
    """Yield the tables of a log that have rows."""
    trace = join.trace
    sections = [dla_section(trace), requests_section(engine), phases_section(trace), passes_section(trace)]
    sections += [tuned_section(join), strategies_section(trace)]
    for section in (*sections, *memory_sections(trace), messages_section(trace)):
        if section.frame is not None and len(section.frame):
            yield limit_rows(drop_empty_columns(section), None if section.key in _WHOLE else top)


def _table(
    key: str, title: str, rows: Iterable[Sequence[Any]], columns: Sequence[str], noun: str = "row"
) -> Section:
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    frame = frame_of(dict(zip(columns, values, strict=True)))
    shown = [COLUMNS.get(name) or Column(name, _make_title(name)) for name in columns]
    names = [name for name in frame["layer"] if isinstance(name, str)] if "layer" in frame else []
    shorten = {"layer": ShortNames.of_layers(zip(names, names, strict=True)).fit, "message": cut_end}
    return Section(key, title, frame=frame, columns=shown, noun=noun, shorten=shorten)


def _make_title(name: str) -> str:
    return name.removesuffix("_bytes").replace("_", " ").capitalize()


def cut_end(text: str, width: int) -> str:
    """Return the beginning of a text in a number of characters."""
    shown = printable(text)
    return shown if len(shown) <= width else shown[: max(0, width - 1)] + ELLIPSIS


def dla_section(trace: BuildTrace) -> Section:
    """Return the fallbacks from the DLA to the GPU, by reason and type of the layers."""
    about_all = {fallback.reason for fallback in trace.dla.fallbacks if not fallback.layer}
    rows = [
        (reason, kind or None, None if reason in about_all else count)
        for (reason, kind), count in trace.dla.by_reason.most_common()
    ]
    return _table("build_dla", "DLA fallbacks", rows, ("reason", "type", "layers"))


def requests_section(engine: Engine | None) -> Section:
    """Return the types and devices that were requested for layers by name, and what the layers run in."""
    rows = []
    for answer in [] if engine is None else find_answers(Context(engine, {})):
        kind, layer, value, constraints = answer.request
        words = f"{kind} {value.upper()}{f' ({constraints})' if constraints else ''}"
        state = answer.state if answer.layers else "unknown"
        rows.append((layer, words, answer.realised or None, _REQUESTS.get(state, state)))
    return _table("build_requests", "Requests by name", rows, ("layer", "request", "runs_in", "state"))


# Phases, passes, strategies


def phases_section(trace: BuildTrace) -> Section:
    """Return the phases, each below the one that contains it."""
    whole, table = build_seconds(trace), phase_totals(trace)
    strategies = [None if pd.isna(number) else int(number) for number in table["strategy"]]
    phases = list(zip(table["kind"], strategies, table["seconds"], table["count"], strict=True))
    rows: list[tuple[Any, ...]] = []

    def add(depth: int, kind: str, strategy: int | None, seconds: float, count: int) -> None:
        words = kind
        if kind == "engine generation" and strategy is not None and len(trace.strategies) > 1:
            words += f", strategy {strategy}{' (in the engine)' * (strategy == trace.winner)}"
        is_part = kind == "engine build" or kind in _PARENTS
        share = 100.0 * seconds / whole if whole and is_part else None
        rows.append(("· " * depth + words, seconds, share, count if count > 1 else None))
        for phase in phases:
            if _PARENTS.get(phase[0]) == kind and (kind == "engine build" or phase[1] in (strategy, None)):
                add(depth + 1, *phase)

    for phase in phases:
        if _PARENTS.get(phase[0]) not in set(table["kind"]):
            add(0, *phase)
    section = _table("build_phases", "Phases", rows, ("phase", "duration_s", "build_pct", "count"))
    return replace(section, bar="duration_s")


def passes_section(trace: BuildTrace) -> Section:
    """Return the passes of the engine that was kept, with the number of steps of each kind."""
    rows: list[tuple[Any, ...]] = []
    before: int | None = None
    for graph_pass in trace.passes:
        if graph_pass.strategy in (trace.winner, None):
            counts: Counter[str] = Counter(step.kind for step in graph_pass.fusions)
            layers = graph_pass.layers
            change = layers - before if layers is not None and before is not None else 0
            rows.append((graph_pass.name, layers, change or None, *(counts[kind] or None for kind in _STEPS)))
            before = before if layers is None else layers
    return _table("build_passes", "Passes", rows, ("pass", "layers", "change", *_STEPS))


def strategies_section(trace: BuildTrace) -> Section:
    """Return the backend strategies, if there were several."""
    totals = phase_totals(trace)
    built = totals[totals["kind"].eq("engine generation")].set_index("strategy")["seconds"]
    rows = []
    for strategy in trace.strategies if len(trace.strategies) > 1 else ():
        own = [tuning for tuning in trace.tunings if tuning.strategy == strategy.number]
        verdict = f"{strategy.verdict}{', in the engine' * (strategy.number == trace.winner)}"
        counts = len(own), sum(tuning.tactic_count for tuning in own)
        seconds = built.get(strategy.number)
        rows.append((strategy.number, verdict, strategy.estimate, *counts, seconds, strategy.line))
    columns = ("strategy", "verdict", "estimate", "layers", "tactics", "duration_s", "line")
    return _table("build_strategies", "Strategies", rows, columns)


# Tactics


def decode_format(text: str) -> str:
    """Return type and layout of a tensor whose strides the builder prints.

    >>> decode_format("Half(3136,1:8,112,4)"), decode_format("Int8(98,49:32,7,1)"), decode_format("Float(784,784,28,1)")
    ('FP16 NHWC8', 'INT8 NC/32HW32', 'FP32 NCHW')
    """
    dtype, match = parse_data_type(text), _STRIDES.match(text)
    if dtype is None or match is None:
        return printable(text)
    strides = [part.partition(":") for part in match[1].split(",")]
    vector = max(int(width or 1) for _, _, width in strides)
    space = _SPACES.get(len(strides))
    if space is None:
        return f"{dtype.value}{f' /{vector}' if vector > 1 else ''}"
    channel, *spatial = (int(stride) for stride, *_ in strides[1:])
    if channel == 1 and max(spatial) > 1:
        return f"{dtype.value} N{space}C{vector if vector > 1 else ''}"
    return f"{dtype.value} NC" + (f"/{vector}{space}{vector}" if vector > 1 else space)


def decode_formats(text: str) -> str:
    """Return the decoded formats of inputs and outputs.

    >>> decode_formats("Half(784,1:8,28,1), Half(784,1:8,28,1) -> Float(784,784,28,1)")
    '2 × FP16 NHWC8 → FP32 NCHW'
    """
    sides = []
    for side in text.split(" -> "):
        counts = Counter(map(decode_format, re.split(r", (?=[A-Z])", side)))
        sides.append(", ".join(f"{count} × {form}" if count > 1 else form for form, count in counts.items()))
    return " → ".join(sides)


def tuned_section(join: BuildJoin) -> Section:
    """Return the tuned layers, those of the engine and the longest first: the tactic, and how near the next is."""
    choices = [join.choice_of_tuning(number) for number in range(len(join.trace.tunings))]
    combinations = [choice.combination if choice else None for choice in choices]
    formats = [None if found is None else decode_formats(found.text) for found in combinations]
    unnamed = pd.Series(
        text_array(describe_contender(choice.chosen if choice else None) for choice in choices)
    )
    frame = join.tuned.assign(
        formats=text_array(formats), in_engine=[choice is not None for choice in choices]
    )
    frame["tactic"] = frame["tactic"].fillna(unnamed)
    frame = frame[frame["name"].ne("")]  # TensorRT 8 does not name layers that it does not time
    order = ["in_engine", "seconds", "tactics"]
    frame = frame.sort_values(order, ascending=False, kind="stable", na_position="last", ignore_index=True)
    keys = ["name", "seconds", "tactics", "skipped", "chosen_ms", "margin_pct", "formats", "tactic", "line"]
    keys[1:1] = ["strategy"] if len(join.trace.strategies) > 1 else []
    names = ShortNames.of_layers((tuning.name, tuning.name) for tuning in join.trace.tunings)
    bar = "seconds" if frame["seconds"].notna().any() else ""
    shown = [TUNED.get(key) or COLUMNS[key] for key in keys]
    sentences, shorten = list(_describe_tuning(join)), {"name": names.fit}
    return Section(
        "build_tactics", "Tactics by layer", (), sentences, frame, shown, bar, noun="layer", shorten=shorten
    )


def tuning_totals(trace: BuildTrace) -> dict[str, int]:
    """Return how much was tried, over all layers and strategies; `tactics` include the `myelin_tactics`."""
    trials = [trial for tuning in trace.tunings for trial in tuning.trials()]
    return {
        "layers": len(trace.tunings),
        "combinations": sum(len(tuning.combinations) for tuning in trace.tunings),
        "tactics": sum(trial.tactic_count for trial in trials),
        "myelin_tactics": sum(trial.tactic_count - len(trial.tactics) for trial in trials),
        "skipped": sum(len(trial.skipped) for trial in trials),
        "reformat_costs": len(trace.reformat_costs),
        "reformat_tactics": sum(cost.combination.tactic_count for cost in trace.reformat_costs),
    }


def _describe_tuning(join: BuildJoin) -> Iterator[str]:
    counts = tuning_totals(join.trace)
    myelin = f" ({format_count(counts['myelin_tactics'])} of Myelin)" if counts["myelin_tactics"] else ""
    timed = (
        f"{plural(counts['layers'], 'layer')} tuned, {format_count(counts['tactics'])} tactics timed{myelin}"
    )
    yield f"{timed}, {counts['skipped']} skipped; {format_count(counts['reformat_tactics'])} more for reformats."
    known = sum(choice.chosen is not None for choice in join.choices)
    yield f"{plural(len(join.choices), 'layer')} in the engine; tactic and time known for {known}."
    if ties := near_ties(join.choices):
        names = "; ".join(f"{printable(choice.name)} ({choice.margin_pct:+.2f} %)" for choice in ties)
        yield f"Near ties, another tactic within {NEAR_TIE_PCT:g} %: {names}."
    for choice in join.choices:
        if choice.agrees is False:
            yield f"{printable(choice.name)}: engine and log disagree on the tactic."


def describe_contender(contender: Contender | None) -> str | None:
    """Return runner and kernel; the number of a tactic without a name, unless it is 0, as that of Myelin."""
    if contender is None:
        return None
    number = contender.id if contender.id and int(contender.id, 16) else ""
    return f"{contender.runner} {contender.name or number}".rstrip()


def find_tunings(trace: BuildTrace, name: str) -> list[int]:
    """Return the tunings of a layer, or those whose names contain the text.

    Raises:
        TrexError: There is none.
    """
    names = [tuning.name for tuning in trace.tunings]
    found = [number for number, known in enumerate(names) if known == name]
    found = found or [number for number, known in enumerate(names) if name.lower() in known.lower()]
    if not found:
        why = "" if names else ": no tuning in the log (needs --verbose)"
        raise TrexError(f"{trace.path}: no layer {name!r} was tuned{why}")
    return found


def tactics_section(join: BuildJoin, number: int, top: int | None = None) -> Section:
    """Return the tactics that were tried for a layer, the fastest first, with their distance to the one in the engine."""
    tuning, frame = join.trace.tunings[number], join.tactics(number)
    formats = [decode_formats(combination.text) for combination in tuning.combinations]
    chosen = [frame["time_ms"][frame[key]].min() for key in ("in_engine", "is_chosen")]
    time = next((value for value in chosen if pd.notna(value) and value > 0), pd.NA)
    used, own = frame["in_engine"], frame["is_chosen"]
    states = ["in the engine" if u else "chosen" if o else None for u, o in zip(used, own, strict=True)]
    frame = frame.assign(
        delta_pct=100.0 * (frame["time_ms"] / time - 1.0),
        state=text_array(states),
        formats=text_array(formats[place - 1] for place in frame["formats"]),
        tactic=frame["tactic"].fillna(frame["id"]),
        is_cached=frame["is_cached"].mask(~frame["is_cached"]),
    ).sort_values("time_ms", kind="stable", na_position="last", ignore_index=True)
    keys = (
        "time_ms",
        "delta_pct",
        "state",
        "tactic",
        "operator",
        "runner",
        "formats",
        "is_cached",
        "skipped",
    )
    shown = [COLUMNS.get(key) or TACTICS[key] for key in (*keys, "line", "id")]
    title = printable(tuning.name) or f"Layer without a name, line {tuning.line}"
    sentences = list(_describe_layer(join, number))
    section = Section(f"tactics_{number}", title, (), sentences, frame, shown, noun="tactic")
    return drop_empty_columns(limit_rows(section, top))


def _describe_layer(join: BuildJoin, number: int) -> Iterator[str]:
    tuning, choice = join.trace.tunings[number], join.choice_of_tuning(number)
    seconds = "" if tuning.seconds is None else f", {tuning.seconds:.3f} s"
    formats = plural(len(tuning.combinations), "combination")
    timed = f"{plural(tuning.tactic_count, 'tactic')} timed in {formats} of formats"
    yield f"{timed}, {len(tuning.skipped)} skipped{seconds} (line {tuning.line})."
    if choice is None:
        yield "The engine has no layer of this name."
    elif choice.chosen is not None:
        margin = "" if choice.margin_pct is None else f"; the second takes {choice.margin_pct:+.2f} %"
        yield f"Chosen: {describe_contender(choice.chosen)}, {choice.chosen.time_ms:.6f} ms{margin}."
        for other in choice.precisions:
            if other.precision != choice.precision:
                yield f"In {other.precision}: {other.time_ms:.6f} ms, without reformats."


# Memory and messages


def memory_sections(trace: BuildTrace) -> Iterator[Section]:
    """Yield the sums of the builder by strategy, and the memory in use over the build."""
    totals = [
        (total.strategy, "in the engine" if total.strategy == trace.winner is not None else None,
         *(getattr(total, pool) for pool in _POOLS))
        for total in trace.memory_totals
    ]  # fmt: skip
    columns = ("strategy", "verdict", *_POOLS)
    yield _table("build_memory", "Memory of the engine", totals, columns)
    own = [point for point in trace.memory if not point.is_managed] or trace.memory
    gpu, cpu = (max((getattr(point, key) for point in own), default=0) for key in ("gpu_mib", "cpu_mib"))
    subject = "load" if trace.only_loads else "build"
    title = f"Memory over the {subject}: up to {gpu} MiB on the GPU, {cpu} MiB on the host"
    names = ("event", "gpu_mib", "gpu_change_mib", "cpu_mib", "cpu_change_mib", "line")
    points = [[getattr(point, name) for name in names] for point in trace.memory]
    yield _table("build_events", title, points, names, "event")


def messages_section(trace: BuildTrace) -> Section:
    """Return errors and warnings, each with the number of equal ones."""
    rows = [
        (_SEVERITIES.get(message.severity), message.line, message.count, " ".join(message.text.split()))
        for message in sorted(trace.messages, key=lambda message: message.severity == "W")
    ]
    columns = ("severity", "line", "count", "message")
    return _table("build_messages", "Warnings and errors", rows, columns, "message")
