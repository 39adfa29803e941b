"""What a log says of a build: phases, passes, tactics, memory, DLA, requests and messages, as tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import pandas as pd

from trex_tui.analysis.build import (
    NEAR_TIE_PCT,
    TACTICS,
    TUNED,
    BuildJoin,
    Contender,
    build_seconds,
    find_choices,
    near_ties,
    phase_totals,
)
from trex_tui.buildlog.trace import BuildTrace
from trex_tui.column import Column
from trex_tui.engine.dtypes import parse_data_type
from trex_tui.engine.model import Engine
from trex_tui.engine.names import ShortNames
from trex_tui.errors import TrexError
from trex_tui.frames import TEXT, text_array
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
_SEVERITIES = {"W": "warning", "E": "error", "F": "fatal error"}
_STEPS = ("fused", "removed", "converted")
_WHOLE = ("build_phases", "build_passes", "build_strategies", "build_memory")
"""Tables that are short."""
_STRIDES = re.compile(r"\w+\((\d+(?::\d+)?(?:,\d+(?::\d+)?)*)\)$")
_SPACES = {4: "HW", 5: "DHW"}
# fmt: off
COLUMNS = {
    column.key: column
    for column in (
        Column("phase", "Phase", "What took the time; phases that it contains are below, behind dots.", priority=0),
        Column("duration_s", "Seconds", "Duration, summed over the lines of the log that state it.", priority=0),
        Column("build_pct", "% of build", "Share of the whole build; phases contain each other."),
        Column("count", "Times", "Number of lines of the log, or of messages that differ only in names and numbers."),
        Column("pass", "Pass", "Pass of the optimizer.", priority=0),
        Column("layers", "Layers", "Layers after the pass; layers that were tuned, or fell back."),
        Column("change", "Δ", "Layers that the pass added or removed."),
        *(Column(key, key.capitalize(), f"Layers {key} by the pass.") for key in _STEPS),
        Column("step", "Step", "Result of a step of a pass.", priority=2),
        Column("rule", "Rule", "Name of the fusion.", priority=3),
        Column("layer", "Layer", "Name of the layer in the log.", priority=0, width=24),
        Column("with", "With", "Layer it was fused with.", priority=1, width=16),
        Column("types", "Types", "Type of the layer before and after.", priority=3),
        Column("line", "Line", "Line of the log, from 1.", priority=4),
        Column("formats", "Formats", "Types and layouts of inputs and outputs, from their strides.", priority=3, width=20),
        Column("delta_pct", "Δ %", "Additional time over the tactic in the engine.", "100 · (time − chosen) / chosen", priority=0),
        Column("state", "State", "In the engine, or chosen for these formats only; of a request, whether it was obeyed.", priority=1),
        Column("chosen", "Chosen", "Runner and kernel in the engine.", priority=3, width=24),
        Column("second", "Second", "Runner and kernel of the second best tactic.", priority=3, width=24),
        Column("strategy", "Strategy", "Number of the backend strategy: a candidate engine.", priority=2),
        Column("verdict", "Verdict", "What became of the strategy.", priority=0),
        Column("estimate", "Estimate", "Estimated inference time, for comparison; the log states no unit.", priority=1),
        Column("tactics", "Tactics", "Tactics timed, those of Myelin's operators too.", priority=2),
        Column("event", "Event", "Event after which memory was counted.", priority=0, width=24),
        *(Column(f"{key}_mib", f"{key.upper()} MiB", f"Memory of the {owner} in use.", priority=0)
          for key, owner in (("gpu", "device"), ("cpu", "process"))),
        *(Column(f"{key}_change_mib", f"Δ{key.upper()}", "Change of it.", priority=1) for key in ("gpu", "cpu")),
        *(Column(f"{key}_bytes", key.replace("_", " ").capitalize(), "Memory of this kind, as the builder states it.")
          for key in ("weights", "activation", "scratch", "device_persistent", "host_persistent")),
        Column("reason", "Reason", "Why layers fell back from the DLA to the GPU.", priority=0),
        Column("layer_type", "Type", "Type of the layers.", priority=1),
        Column("request", "Request", "Precision, output type or device that was requested.", priority=0),
        Column("runs_in", "Runs in", "Precision or device of the engine's layers of this name.", priority=0),
        Column("severity", "Severity", "Severity of the message.", priority=0),
        Column("message", "Message", "Text of the first of equal messages.", priority=0, width=40),
    )
}
# fmt: on
"""Columns of the tables, with those of `analysis.build`."""


def join_log(trace: BuildTrace, engine: Engine | None) -> BuildJoin:
    """Return a log joined with an engine; with its own list of layers if the engine has none."""
    return BuildJoin(trace, find_choices(trace, engine if engine is not None and len(engine) else None))


def list_sections(join: BuildJoin, engine: Engine | None, top: int | None = 10) -> Iterator[Section]:
    """Yield the tables of a log that have rows."""
    trace = join.trace
    sections = [
        dla_section(trace),
        requests_section(trace, engine),
        phases_section(trace),
        passes_section(trace),
    ]
    sections += [fusions_section(trace), tuned_section(join), ties_section(join), strategies_section(trace)]
    for section in (*sections, *memory_sections(trace), messages_section(trace)):
        if section.sentences or (section.frame is not None and len(section.frame)):
            limit = None if section.key in _WHOLE else top
            yield limit_rows(drop_empty_columns(section), limit)


def _table(
    key: str, title: str, rows: Iterable[Sequence[Any]], columns: Sequence[str], noun: str, *sentences: str
) -> Section:
    frame = pd.DataFrame(list(rows), columns=list(columns), dtype=object).convert_dtypes()
    frame = frame.astype({name: TEXT for name in columns if pd.api.types.is_string_dtype(frame[name])})
    shown = [COLUMNS[name] for name in columns]
    names = [name for name in frame["layer"] if isinstance(name, str)] if "layer" in frame else []
    shorten = {"layer": ShortNames.of_layers(zip(names, names, strict=True)).fit, "message": cut_end}
    return Section(key, title, (), sentences, frame, shown, noun=noun, shorten=shorten)


def cut_end(text: str, width: int) -> str:
    """Return the beginning of a text in a number of characters."""
    shown = printable(text)
    return shown if len(shown) <= width else shown[: max(0, width - 1)] + ELLIPSIS


# Devices and requests


def dla_section(trace: BuildTrace) -> Section:
    """Return the fallbacks from the DLA to the GPU, by reason and type of the layers."""
    about_all = {fallback.reason for fallback in trace.dla.fallbacks if not fallback.layer}
    rows = [
        (reason, kind or None, None if reason in about_all else count)
        for (reason, kind), count in trace.dla.by_reason.most_common()
    ]
    return _table("build_dla", "DLA fallbacks", rows, ("reason", "layer_type", "layers"), "reason")


def requests_section(trace: BuildTrace, engine: Engine | None) -> Section:
    """Return the types and devices that were requested for layers by name, and what the layers run in."""
    rows = []
    for request in trace.requests:
        key, value = "device" if request.kind == "device" else "precision", request.value.upper()
        state, runs_in = _find_requested(engine, request.layer, key)
        if not state and runs_in:
            state = "obeyed" if runs_in <= set(value.split("+")) else "not obeyed"
        constraints = f" ({request.constraints})" if request.constraints else ""
        words = f"{request.kind} {value}{constraints}"
        rows.append((request.layer, words, ", ".join(sorted(runs_in)) or None, state or None))
    columns = ("layer", "request", "runs_in", "state")
    return _table("build_requests", "Requests by name", rows, columns, "request")


def _find_requested(engine: Engine | None, pattern: str, key: str) -> tuple[str, set[str]]:
    """Return what is wrong with the name of a request, and the precisions (devices) of the layers that have it."""
    if engine is None or not len(engine):
        return "", set()
    layers = engine.layers
    names = list(zip(layers["onnx_nodes"], layers["name"], layers[key].fillna("unknown"), strict=True))
    of_nodes = {value for nodes, _, value in names if any(fnmatchcase(node, pattern) for node in nodes)}
    if of_nodes or not any(nodes for nodes, *_ in names):
        return "", of_nodes | {value for _, name, value in names if fnmatchcase(name, pattern)}
    fused = {value for _, name, value in names if fnmatchcase(name, pattern)}
    return "a fused layer, no node of the model" if fused else "no such layer", fused


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
    section = _table("build_phases", "Phases", rows, ("phase", "duration_s", "build_pct", "count"), "phase")
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
    return _table("build_passes", "Passes", rows, ("pass", "layers", "change", *_STEPS), "pass")


def fusions_section(trace: BuildTrace) -> Section:
    """Return what the passes did to layers of the engine that was kept."""
    rows = [
        (graph_pass.name, step.kind, step.rule or None, step.layer, step.other,
         f"{step.from_type} → {step.to_type}" if step.from_type and step.to_type else None, step.line)
        for graph_pass in trace.passes if graph_pass.strategy in (trace.winner, None)
        for step in graph_pass.fusions if step.kind != "tried"
    ]  # fmt: skip
    columns = ("pass", "step", "rule", "layer", "with", "types", "line")
    return _table("build_fusions", "Fusions", rows, columns, "step")


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
    return _table("build_strategies", "Strategies", rows, columns, "strategy")


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
        return dtype.value + (f" /{vector}" if vector > 1 else "")
    channel, *spatial = (int(stride) for stride, *_ in strides[1:])
    if channel == 1 and max(spatial) > 1:
        return f"{dtype.value} N{space}C{vector if vector > 1 else ''}"
    return f"{dtype.value} NC" + (f"/{vector}{space}{vector}" if vector > 1 else space)


def decode_formats(text: str) -> str:
    """Return the decoded formats of inputs and outputs.

    >>> decode_formats("Half(784,1:8,28,1), Half(784,1:8,28,1) -> Float(784,784,28,1)")
    '2 × FP16 NHWC8 → FP32 NCHW'
    """
    sides = (Counter(map(decode_format, re.split(r", (?=[A-Z])", side))) for side in text.split(" -> "))
    words = (
        [f"{count} × {form}" if count > 1 else form for form, count in counts.items()] for counts in sides
    )
    return " → ".join(map(", ".join, words))


def tuned_section(join: BuildJoin) -> Section:
    """Return the tuned layers, those of the engine and the longest first: its tactic, and how near the next is."""
    choices = [join.choice_of_tuning(number) for number in range(len(join.trace.tunings))]
    formats = [
        decode_formats(choice.combination.text) if choice and choice.combination else None
        for choice in choices
    ]
    unnamed = pd.Series(text_array(_describe(choice and choice.chosen) for choice in choices))
    frame = join.tuned.assign(
        formats=text_array(formats), in_engine=[choice is not None for choice in choices]
    )
    frame["tactic"] = frame["tactic"].fillna(unnamed)
    order = ["in_engine", "seconds", "tactics"]
    frame = frame.sort_values(order, ascending=False, kind="stable", na_position="last", ignore_index=True)
    keys = ("name", "seconds", "tactics", "skipped", "chosen_ms", "margin_pct", "formats", "tactic", "line")
    shown = [TUNED.get(key) or COLUMNS[key] for key in keys]
    if len(join.trace.strategies) > 1:
        shown.insert(1, TUNED["strategy"])
    names = ShortNames.of_layers((tuning.name, tuning.name) for tuning in join.trace.tunings)
    sentences = list(_describe_tuning(join)) if len(frame) else []
    return Section(
        "build_tactics", "Tactics by layer", (), sentences, frame, shown,
        "seconds" if frame["seconds"].notna().any() else "", noun="layer", shorten={"name": names.fit},
    )  # fmt: skip


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
    myelin = (
        f", {format_count(counts['myelin_tactics'])} of them Myelin's" if counts["myelin_tactics"] else ""
    )
    tuned = (
        f"{plural(counts['layers'], 'layer')} tuned, {format_count(counts['tactics'])} tactics timed{myelin}"
    )
    yield f"{tuned}, {counts['skipped']} skipped; {format_count(counts['reformat_tactics'])} more for reformats."
    if join.choices:
        known = sum(choice.chosen is not None for choice in join.choices)
        yield f"{plural(len(join.choices), 'layer')} in the engine; tactic and time known for {known}."
    for choice in join.choices:
        if choice.agrees is False:
            yield f"{printable(choice.name)}: engine and log disagree on the tactic."


def ties_section(join: BuildJoin) -> Section:
    """Return the layers whose next best tactic is so near that another build may choose it."""
    rows = [
        (choice.name, choice.margin_pct, _describe(choice.chosen), _describe(choice.second))
        for choice in near_ties(join.choices)
    ]
    title = f"Near ties: another tactic is within {NEAR_TIE_PCT:g} %"
    return _table("build_ties", title, rows, ("layer", "delta_pct", "chosen", "second"), "layer")


def _describe(contender: Contender | None) -> str | None:
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
    states = [
        "in the engine" if used else "chosen" if is_chosen else None
        for used, is_chosen in zip(frame["in_engine"], frame["is_chosen"], strict=True)
    ]
    frame = frame.assign(
        delta_pct=100.0 * (frame["time_ms"] / time - 1.0),
        state=text_array(states),
        formats=text_array(formats[place - 1] for place in frame["formats"]),
        tactic=frame["tactic"].fillna(frame["id"]),
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
    if not frame["is_cached"].any():
        shown.remove(TACTICS["is_cached"])
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
        yield f"Chosen: {_describe(choice.chosen)}, {choice.chosen.time_ms:.6f} ms{margin}."
        for other in choice.precisions:
            if other.precision != choice.precision:
                yield f"In {other.precision}: {other.time_ms:.6f} ms, without reformats."


# Memory and messages


def memory_sections(trace: BuildTrace) -> Iterator[Section]:
    """Yield the sums of the builder by strategy, the layers that keep most, and the memory in use over the build."""
    kinds = (
        "weights_bytes",
        "activation_bytes",
        "scratch_bytes",
        "device_persistent_bytes",
        "host_persistent_bytes",
    )
    totals = [
        (total.strategy, "in the engine" if total.strategy == trace.winner else None, *(getattr(total, key) for key in kinds))
        for total in trace.memory_totals
    ]  # fmt: skip
    peaks = [
        f"{size} MiB {name}"
        for name, size in (("GPU", trace.peak_gpu_mib), ("CPU", trace.peak_cpu_mib))
        if size
    ]
    sentences = [f"Peak of TensorRT's allocators: {', '.join(peaks)}."] if peaks else []
    yield _table(
        "build_memory",
        "Memory of the engine",
        totals,
        ("strategy", "verdict", *kinds),
        "strategy",
        *sentences,
    )
    layers = [layer for layer in trace.layer_memory if layer.strategy in (trace.winner, None)]
    layers.sort(key=lambda layer: -((layer.scratch_bytes or 0) + layer.device_persistent_bytes))
    rows = [
        (layer.name, layer.scratch_bytes, layer.device_persistent_bytes, layer.host_persistent_bytes)
        for layer in layers
    ]
    yield _table("build_layer_memory", "Memory by layer", rows, ("layer", *kinds[2:]), "layer")
    own = [point for point in trace.memory if not point.is_managed] or trace.memory
    gpu, cpu = (max((getattr(point, key) for point in own), default=0) for key in ("gpu_mib", "cpu_mib"))
    title = f"Memory over the {'load' if trace.only_loads else 'build'}: up to {gpu} MiB on the GPU, {cpu} MiB on the host"
    columns = ("event", "gpu_mib", "gpu_change_mib", "cpu_mib", "cpu_change_mib", "line")
    points = [[getattr(point, key) for key in columns] for point in trace.memory]
    yield _table("build_events", title, points, columns, "event")


def messages_section(trace: BuildTrace) -> Section:
    """Return errors and warnings, each with the number of equal ones."""
    rows = [
        (_SEVERITIES.get(message.severity, message.severity), message.line, message.count, " ".join(message.text.split()))
        for message in sorted(trace.messages, key=lambda message: message.severity == "W")
    ]  # fmt: skip
    columns = ("severity", "line", "count", "message")
    return _table("build_messages", "Warnings and errors", rows, columns, "message")
