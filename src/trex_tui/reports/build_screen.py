"""What a build log says of the thing under the cursor, in lines: a phase, a pass, a layer, its tactics, a message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from trex_tui.analysis.build_layers import BuildFacts
from trex_tui.analysis.build_trace import (
    PhaseShare,
    build_seconds,
)
from trex_tui.artifacts.buildlog.model import (
    BackendStrategy,
    BuildTrace,
    Fusion,
    MemoryPoint,
    Message,
    OptimizerPass,
    Phase,
)
from trex_tui.artifacts.buildlog.tuning import (
    LayerTuning,
    MyelinTable,
)
from trex_tui.engine.engine import Engine
from trex_tui.reports.build_log import strategy_words
from trex_tui.reports.build_nodes import step_words
from trex_tui.reports.build_resources import cache_words, placement_lines, streams_words
from trex_tui.reports.build_tuning import MOST_ROWS, in_ms, line_of
from trex_tui.reports.layer_text import Line
from trex_tui.text import MISSING, format_bytes, format_count, plural

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
