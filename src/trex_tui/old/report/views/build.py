"""Content of a build log: tables for the screen, `build-log`, reports and exports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from trex_tui.old.analysis.build import (
    NEAR_TIE_PCT,
    BuildFacts,
    PhaseShare,
    TacticRow,
    TunedLayer,
    build_facts,
    build_seconds,
    by_tuning_time,
    near_ties,
    phase_shares,
    tactic_rows,
)
from trex_tui.old.analysis.short_names import ShortLabels, ShortNames
from trex_tui.old.artifacts.file_kinds import kind_of_build_log
from trex_tui.old.buildlog.build_trace import (
    BuildTrace,
    Fusion,
    FusionKind,
    MemoryPoint,
    OptimizerPass,
    PhaseKind,
)
from trex_tui.old.buildlog.layer_tuning import InsertedReformat, LayerTuning, hex_id
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import ArtifactError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.document import Column, Listing, Section, Table, make_table
from trex_tui.old.report.views.engine import describe_engine_size
from trex_tui.old.text import MISSING, format_bytes, format_count, format_ms, plural, printable

if TYPE_CHECKING:
    from trex_tui.old.buildlog.failures import LogFailure
    from trex_tui.old.report.views.engine import EngineSubject

format_tactic_ms = partial(format_ms, digits=6)
"""Tactic times differ by tens of nanoseconds."""
SEVERITIES = {"W": "warning", "E": "error", "F": "fatal error"}


def format_seconds(value: float | None) -> str:
    """Format seconds with three decimals, at least as precise as the builder prints them."""
    return MISSING if value is None else f"{value:.3f}"


def _number(key: str, title: str, value: Callable[[Any], Any], **more: Any) -> Column:  # noqa: ANN401 - of a column
    return Column(key, title, value=value, is_number=True, **more)


def _tactic_ms(key: str, title: str, value: Callable[[Any], Any], **more: Any) -> Column:  # noqa: ANN401
    return _number(key, title, value, format=format_tactic_ms, **more)


def _first_layer(tuned: TunedLayer) -> int | None:
    return tuned.layers[0] if tuned.layers else None


_LINE_HELP = "Line of the log, from 1."


def _line(priority: int = 0) -> Column:
    return _number("line", "Line", attrgetter("line"), width=7, priority=priority, help=_LINE_HELP)


def _figure(key: str, title: str, *, is_number: bool = True, **more: Any) -> Column:  # noqa: ANN401
    """Return a column of an outline, with figures of its nodes."""
    return Column(key, title, value=lambda node: node.values.get(key), is_number=is_number, **more)


# fmt: off
PHASES = (
    Column("phase", "Phase", value=attrgetter("kind.value")),
    _number("strategy", "Strategy", attrgetter("strategy")),
    Column("layer", "Layer", value=attrgetter("layer")),
    _number("seconds", "Seconds", attrgetter("seconds"), has_bar=True),
    _number("ended_s", "Ended", attrgetter("ended_s")),
    _line(),
)
"""Columns of a `Phase`: a line with a duration."""
PASSES = (
    _number("strategy", "Strategy", attrgetter("graph_pass.strategy")),
    Column("in_engine", "In engine", value=attrgetter("in_engine")),
    Column("pass", "Pass", value=attrgetter("graph_pass.name"), help="of the optimizer"),
    _number("layers", "Layers", attrgetter("graph_pass.layers")),
    Column("step", "Step", value=lambda row: row.step and row.step.kind.value, help="result of the step"),
    Column("rule", "Rule", value=lambda row: row.step and (row.step.rule or None)),
    Column("layer", "Layer", value=lambda row: row.step and row.step.layer),
    Column("with", "With", value=lambda row: row.step and row.step.other, help="layer it was fused with"),
    Column("from_type", "From", value=lambda row: row.step and row.step.from_type),
    Column("to_type", "To", value=lambda row: row.step and row.step.to_type),
    _number("line", "Line", lambda row: (row.step or row.graph_pass).line),
)
"""Columns of a `PassRow`."""
LAYERS = (
    Column("name", "Layer", value=lambda tuned: tuned.tuning.name or None, flex=True, width=22,
           help="Name while it was tuned; missing where the log has none, as for layers that were not timed."),
    _number("index", "#", _first_layer, width=5, priority=6, help="Index of the layer of the engine that it became."),
    _number("engine_layers", "Layers", lambda tuned: len(tuned.layers)),
    _number("strategy", "Strat", attrgetter("tuning.strategy"), width=5, priority=1, help="Number of the backend strategy."),
    _number("tactics", "Tactics", attrgetter("tactics"), width=7, priority=2, format=format_count,
            help="Tactics timed, over all formats."),
    _number("skipped", "Skip", attrgetter("skipped"), width=4, priority=5, help="Tactics that were not timed."),
    _tactic_ms("chosen_ms", "Chosen", attrgetter("chosen_ms"), width=9, priority=1,
               help="The builder's time of the tactic that the engine has."),
    _tactic_ms("fastest_ms", "Fastest", attrgetter("fastest_ms"), width=9, priority=4,
               help="The builder's time of the fastest tactic of all runners, in the same formats."),
    _number("margin_pct", "Margin %", attrgetter("margin_pct"), width=9, priority=3, format="{:+.2f}".format,
            help="Margin of the second best tactic over the choice; near 0 it is a near tie."),
    Column("near_tie", "Near tie", value=attrgetter("is_near_tie"), width=1, priority=3),
    Column("cached", "Cached", value=attrgetter("tuning.is_cached")),
    _number("seconds", "Seconds", attrgetter("seconds"), width=9, has_bar=True, help="Tuning time."),
    _number("line", "Line", attrgetter("tuning.line")),
)
"""Columns of a `TunedLayer`."""
_MYELIN = _number("myelin_tactics", "Myelin", attrgetter("tuning.myelin_count"),
                  help="Kernels that Myelin timed for operators inside the layer.")
_FORMATS = _number("formats", "Formats", lambda tuned: len(tuned.tuning.combinations),
                   help="Combinations of formats that were tried.")
TUNING_COLUMNS = (_MYELIN, _FORMATS)
"""Further columns of a `TunedLayer`, for the table of the longest tunings."""
TACTICS = (
    Column("layer", "Layer", value=lambda row: row.tuned.tuning.name or None),
    _number("index", "#", lambda row: _first_layer(row.tuned)),
    _number("strategy", "Strat", attrgetter("tuned.tuning.strategy")),
    Column("formats", "Formats", value=lambda row: row.tuned.tuning.combinations[row.formats - 1].text),
    Column("runner", "Runner", value=attrgetter("runner"), width=18, priority=3, help="Family of kernels."),
    Column("tactic", "Number", value=lambda row: hex_id(row.id) if row.id is not None else None, width=18, priority=4,
           help="Number of the tactic."),
    Column("name", "Tactic", value=attrgetter("name"), flex=True, width=24,
           help="Name of the kernel; its number if the log has no name."),
    Column("operator", "Operator", value=lambda row: row.operator or None, width=16, priority=3,
           help="Operator that a kernel of Myelin was tried for."),
    _tactic_ms("time_ms", "ms", attrgetter("time_ms"), width=9,
               help="Time of one tactic alone, averaged over a few runs by the builder."),
    Column("chosen", "Chosen", value=attrgetter("is_chosen")),
    Column("fastest", "Fastest", value=attrgetter("is_fastest")),
    Column("in_engine", "In engine", value=attrgetter("in_engine")),
    Column("cached", "Cached", value=attrgetter("is_cached")),
    Column("skipped", "Skipped", value=lambda row: row.skipped and row.skipped.reason.value),
    _number("requested_bytes", "Requested", lambda row: row.skipped and row.skipped.requested_bytes),
    _number("available_bytes", "Available", lambda row: row.skipped and row.skipped.available_bytes),
    _line(5),
)
"""Columns of a `TacticRow`."""
MEMORY = (
    _number("at_s", "Second", attrgetter("at_s"), width=7, priority=3, format="{:.0f}".format,
            help="Time since the first line of the log."),
    Column("event", "Event", value=attrgetter("event"), flex=True, width=24),
    Column("of", "Of", value=lambda point: "TensorRT" if point.is_managed else "device", priority=2,
           help="Owner of the memory: process and device, or TensorRT's allocators."),
    _number("gpu_mib", "GPU MiB", attrgetter("gpu_mib"), format=str, help="Memory of the device in use after the event."),
    _number("gpu_change_mib", "ΔGPU", attrgetter("gpu_change_mib"), priority=1, format="{:+d}".format,
            help="Change of the device's memory."),
    _number("cpu_mib", "CPU MiB", attrgetter("cpu_mib"), format=str, help="Memory of the process in use after the event."),
    _number("cpu_change_mib", "ΔCPU", attrgetter("cpu_change_mib"), priority=1, format="{:+d}".format,
            help="Change of the process's memory."),
    _line(4),
)
"""Columns of a `MemoryPoint`."""
MESSAGES = (
    Column("severity", "Severity", value=attrgetter("severity"), help="W warning, E error, F fatal error."),
    _number("count", "Times", attrgetter("count"), width=6, format=format_count,
            help="Messages that differ only in names and numbers."),
    Column("message", "Message", value=lambda message: " ".join(message.text.split()), flex=True, width=40),
    Column("said_by", "Source", value=lambda message: "trtexec" if message.is_trtexec else "library"),
    _line(1),
    _number("last_line", "Last line", attrgetter("last_line")),
)
"""Columns of a `Message`."""

PHASE_OUTLINE = (
    Column("name", "Phase", value=attrgetter("label"), flex=True, width=28),
    _figure("count", "Lines", width=6, priority=3, format=str, help="Lines of the log that state it."),
    _figure("share_pct", "% of build", width=10, priority=2, help="Share of the whole build; phases contain each other."),
    _figure("seconds", "Seconds", width=9, has_bar=True, help="The duration, as the log states it."),
    _figure("line", "Line", width=7, priority=1, help=_LINE_HELP),
)
"""Columns of a `Node` of `phase_nodes`."""
PASS_OUTLINE = (
    Column("name", "Pass", value=attrgetter("label"), flex=True, width=38),
    _figure("rule", "Rule", is_number=False, width=22, priority=3, help="Name of the fusion."),
    _figure("layers", "Layers", width=6, format=str, help="Layers after the pass."),
    _figure("change", "Δ", width=6, priority=1, format="{:+d}".format, help="Layers added or removed by the pass."),
    _figure("fused", "Fused", width=6, format=str, help="Layers fused with others."),
    _figure("removed", "Removed", width=7, priority=1, format=str, help="Layers removed."),
    _figure("converted", "Converted", width=9, priority=2, format=str, help="Layers changed to another type."),
    _figure("tried", "Tried", width=6, priority=4, format=str, help="Steps without a result in the log."),
    _figure("line", "Line", width=7, priority=2, help=_LINE_HELP),
)
"""Columns of a `Node` of `pass_nodes`."""
STRATEGIES = (
    _figure("strategy", "Strategy", format=str),
    _figure("operator", "Operator", is_number=False),
    _figure("verdict", "Verdict", is_number=False),
    _figure("estimate", "Estimate", width=9, format="{:g}".format, help="Estimated inference time; the log states no unit."),
    _figure("layers", "Layers", width=6, priority=3, format=str, help="Layers tuned."),
    _figure("tactics", "Tactics", width=7, priority=1, format=format_count, help="Tactics timed; of an operator, kernels."),
    _figure("best_ms", "Fastest", width=9, priority=2, format=format_tactic_ms,
            help="Time of the fastest kernel, which Myelin takes."),
    _figure("worst_ms", "Slowest", width=9, priority=4, format=format_tactic_ms,
            help="Time of the slowest kernel."),
    _figure("seconds", "Seconds", priority=2, help="Generation time of this engine."),
    _figure("line", "Line", width=7, priority=5, help=_LINE_HELP),
)
"""Columns of a `Node` of `strategy_nodes`."""
# fmt: on


def pick(columns: Sequence[Column], *keys: str) -> tuple[Column, ...]:
    """Return the columns with these keys, in the order of the keys."""
    by_key = {column.key: column for column in columns}
    return tuple(by_key[key] for key in keys)


# Rows of all tables, for exports


class PassRow(NamedTuple):
    """A pass without steps, or one of the steps of a pass."""

    graph_pass: OptimizerPass
    step: Fusion | None
    in_engine: bool


def _pass_rows(trace: BuildTrace) -> Iterator[PassRow]:
    for graph_pass in trace.passes:
        in_engine = graph_pass.strategy in (trace.winner, None)
        yield PassRow(graph_pass, None, in_engine)
        yield from (PassRow(graph_pass, step, in_engine) for step in graph_pass.fusions)


def _strategy_rows(facts: BuildFacts) -> Iterator[OutlineNode]:
    for node in strategy_nodes(facts):
        yield node
        yield from node.children


_ROWS: dict[str, tuple[Sequence[Column], Callable[[BuildFacts], Iterable[Any]]]] = {
    "phases": (PHASES, lambda facts: facts.trace.phases),
    "passes": (PASSES, lambda facts: _pass_rows(facts.trace)),
    "layers": (LAYERS, lambda facts: facts.tuned),
    "tactics": (TACTICS, lambda facts: list_tactics(facts, facts.tuned)),
    "memory": (MEMORY, lambda facts: facts.trace.memory),
    "strategies": (STRATEGIES, _strategy_rows),
    "messages": (MESSAGES, lambda facts: facts.trace.messages),
}


def list_tactics(facts: BuildFacts, tuned: Iterable[TunedLayer]) -> Iterator[TacticRow]:
    """Yield every tactic of some layers, in the order of the log: timed, skipped, or from the timing cache."""
    return (row for layer in tuned for row in tactic_rows(facts, layer))


def build_listing(facts: BuildFacts, key: str, items: Iterable[Any] | None = None) -> Listing:
    """Return a table of the build: `phases`, `passes`, `layers`, `tactics`, `memory`, `strategies`, `messages`.

    Args:
        items: The rows shown, in their order; None for all.
    """
    columns, every = _ROWS[key]
    table = make_table(key, columns, every(facts) if items is None else items)
    return Listing(f"trex-tui/build-{key}/1", str(facts.trace.path), table)


# Outlines

_OUTSIDE = frozenset({PhaseKind.LOADING, PhaseKind.DESERIALIZATION, PhaseKind.INFERENCE})
"""Phases outside the build."""


@dataclass(frozen=True, slots=True)
class OutlineNode:
    """A line of an outline.

    Attributes:
        key: Unique in the outline.
        label: Text; not yet printable.
        item: The object of the line.
        values: Its figures, by the key of their column; a missing one is unknown or meaningless here.
        children: Lines below it, when it is expanded.
        is_open: Whether it is expanded initially.
    """

    key: Hashable
    label: str
    item: Any
    values: dict[str, Any]
    children: tuple[OutlineNode, ...] = ()
    is_open: bool = False


def phase_nodes(trace: BuildTrace) -> list[OutlineNode]:
    """Return phases as they appear, each summed over its lines, which are its children."""
    shares = phase_shares(trace)
    whole = build_seconds(trace.phases)
    longest = max([0.0, *(phase.seconds for phase in trace.phases), *(share.seconds for share in shares)])

    def values(kind: PhaseKind, seconds: float, line: int, count: int | None) -> dict[str, Any]:
        share_pct = 100.0 * seconds / whole if whole and kind not in _OUTSIDE else None
        bar = seconds / longest if longest else None
        return {"seconds": seconds, "share_pct": share_pct, "count": count, "line": line, "bar": bar}

    nodes = []
    for share in shares:
        lines = [
            phase for phase in trace.phases if (phase.kind, phase.strategy) == (share.kind, share.strategy)
        ]
        children = [
            OutlineNode(
                ("phase", phase.line),
                phase.layer or f"line {phase.line}",
                phase,
                values(phase.kind, phase.seconds, phase.line, None),
            )
            for phase in sorted(lines, key=lambda phase: -phase.seconds)
            if len(lines) > 1
        ]
        nodes.append(
            OutlineNode(
                ("phases", share.kind, share.strategy),
                _phase_label(trace, share),
                lines[0] if len(lines) == 1 else share,
                values(share.kind, share.seconds, lines[0].line, share.count),
                tuple(children),
            )
        )
    return nodes


def _phase_label(trace: BuildTrace, share: PhaseShare) -> str:
    is_named = share.strategy is not None and len(trace.strategies) > 1
    return share.kind.value + (f", strategy {share.strategy}" if is_named else "")


def pass_nodes(trace: BuildTrace) -> list[OutlineNode]:
    """Return the passes with their steps below; by strategy if there were several, the winner's expanded."""
    strategies = list(dict.fromkeys(graph_pass.strategy for graph_pass in trace.passes))
    if sum(strategy is not None for strategy in strategies) < 2:
        return _passes(trace.passes)
    nodes = []
    for strategy in strategies:
        passes = [graph_pass for graph_pass in trace.passes if graph_pass.strategy == strategy]
        wins = strategy == trace.winner
        label = "before any strategy" if strategy is None else f"strategy {strategy}"
        values = _step_counts(step for graph_pass in passes for step in graph_pass.fusions)
        values |= {"layers": passes[-1].layers, "line": passes[0].line}
        item = next((known for known in trace.strategies if known.number == strategy), None)
        label += ", in the engine" if wins else ""
        is_open = wins or strategy is None
        nodes.append(OutlineNode(("of", strategy), label, item, values, tuple(_passes(passes)), is_open))
    return nodes


def _passes(passes: Sequence[OptimizerPass]) -> list[OutlineNode]:
    nodes = []
    before: int | None = None
    for graph_pass in passes:
        line, name, layers = graph_pass.line, graph_pass.name, graph_pass.layers
        change = layers - before if layers is not None and before is not None else None
        values = {"layers": layers, "change": change or None, "line": line} | _step_counts(graph_pass.fusions)
        steps = (
            OutlineNode(
                ("step", line, name, index),
                step_text(step),
                step,
                {"rule": step.rule or None, "line": step.line},
            )
            for index, step in enumerate(graph_pass.fusions)
        )
        nodes.append(OutlineNode(("pass", line, name), name, graph_pass, values, tuple(steps)))
        before = before if layers is None else layers
    return nodes


def _step_counts(steps: Iterable[Fusion]) -> dict[str, int | None]:
    counts = Counter(step.kind for step in steps)
    return {kind.value: counts[kind] or None for kind in FusionKind}


def step_text(step: Fusion, form: Callable[[str], str] = str) -> str:
    """Return the effect of a pass on a layer, in a few words with names.

    Args:
        form: Formats the names of layers.
    """
    layer = form(step.layer)
    if step.kind is FusionKind.FUSED:
        return f"fused {layer} with {form(step.other)}" if step.other else f"fused {layer}"
    if step.kind is FusionKind.CONVERTED:
        types = f" from {step.from_type} to {step.to_type}" if step.from_type and step.to_type else ""
        return f"converted {layer}{types}"
    if step.kind is FusionKind.TRIED:
        return f"{step.rule or 'tried'} on {layer}"
    return f"removed {layer}"


class StepTexts:
    """Texts of the steps of passes, with short names of layers."""

    def __init__(self, trace: BuildTrace) -> None:
        steps = [step for graph_pass in trace.passes for step in graph_pass.fusions]
        self._names = ShortNames.of_names(name for step in steps for name in (step.layer, step.other) if name)
        self._steps = steps

    @cached_property
    def _labels(self) -> ShortLabels:
        return ShortLabels(map(self._text, self._steps))

    def _text(self, step: Fusion) -> str:
        return step_text(step, self._names.label)

    @property
    def longest(self) -> int | None:
        """Characters of the longest text; None if there are too many texts."""
        return self._labels.longest

    def fit(self, step: Fusion, width: int) -> str:
        """Return the text of a step in at most `width` characters; different for each step, if there is any room."""
        return self._labels.fit(self._text(step), width)


def strategy_nodes(facts: BuildFacts) -> list[OutlineNode]:
    """Return the backend strategies, with the operators that Myelin tuned below; only operators if no strategy is named."""
    trace = facts.trace
    if not trace.strategies:
        return _operators(trace.tunings, None)
    nodes = []
    for strategy in trace.strategies:
        number = strategy.number
        tuned = [layer for layer in facts.tuned if layer.tuning.strategy == number]
        built = [
            phase.seconds
            for phase in trace.phases
            if phase.kind is PhaseKind.ENGINE_GENERATION and phase.strategy == number
        ]
        wins = number == trace.winner
        values = {
            "strategy": number,
            "verdict": strategy.verdict.value,
            "estimate": strategy.estimate,
            "layers": len(tuned) or None,
            "tactics": sum(layer.tactics for layer in tuned) or None,
            "seconds": sum(built) if built else None,
            "line": strategy.line,
        }
        label = f"strategy {number}" + (", in the engine" if wins else "")
        children = tuple(_operators((layer.tuning for layer in tuned), number))
        nodes.append(OutlineNode(("strategy", number), label, strategy, values, children, is_open=wins))
    return nodes


def _operators(tunings: Iterable[LayerTuning], strategy: int | None) -> list[OutlineNode]:
    nodes = []
    for tuning in tunings:
        tables = [(trial.line, table) for trial in tuning.trials() for table in trial.myelin]
        for index, (trial_line, table) in enumerate(tables):
            times = [tactic.time_ms for tactic in table.tactics if tactic.time_ms is not None]
            label = table.operator or ", ".join(table.onnx_nodes) or "an operator without a name"
            values = {
                "strategy": strategy,
                "operator": label,
                "tactics": len(table.tactics),
                "best_ms": min(times, default=None),
                "worst_ms": max(times, default=None),
                "line": table.line,
            }
            nodes.append(
                OutlineNode(("operator", trial_line, table.line, index), label, (tuning, table), values)
            )
    return nodes


# Facts


def build_fact_texts(trace: BuildTrace, engine: Engine | None = None) -> dict[str, str]:
    """Return label and text of known facts about the build and the log."""
    counts = trace.count_messages()
    seconds = build_seconds(trace.phases)
    options = {} if trace.only_loads else trace.options.build
    texts = {
        **failure_texts(trace),
        "TensorRT": version_text(trace) or (engine.tensorrt_version if engine is not None else None),
        "device": trace.options.device.get("Selected Device"),
        "ONNX": onnx_text(trace),
        "build took": f"{seconds:.3f} s" if seconds is not None else None,
        "log covers": f"{trace.stated_seconds:.0f} s" if trace.stated_seconds is not None else None,
        "precision": options.get("Precision"),
        "memory pools": options.get("Memory Pools"),
        "timing cache": cache_text(trace),
        "strategy": _strategy_text(trace),
        "streams": streams_text(trace),
        "DLA": dla_text(trace),
        "reformats": reformats_text(trace),
        "warnings": str(counts["W"]),
        "errors": str(counts["E"] + counts["F"]),
    }
    return {label: text for label, text in texts.items() if text}


def failure_texts(trace: BuildTrace) -> dict[str, str | None]:
    """Return cause, TensorRT's own reason and remedy of a run that failed; empty if none did."""
    failure = log_failure(trace)
    if failure is None:
        return {}
    label = "cause" if failure.is_certain else "likely cause"
    return {
        label: f"{failure.cause} (line {failure.line})",
        "reason": failure.reason,
        "remedy": failure.remedy,
    }


def log_failure(trace: BuildTrace) -> LogFailure | None:
    """Return the failure of the last run in a log; None if it has none."""
    if not trace.has_errors:
        return None
    from trex_tui.old.buildlog.failures import find_failure  # fifty patterns, for failures only

    return find_failure(trace)


def version_text(trace: BuildTrace) -> str:
    """Return the TensorRT version, with the library whose name has it if it is not stated; empty if unknown."""
    source = f" (from {trace.tensorrt_library})" if trace.tensorrt_library else ""
    return f"{trace.tensorrt_version}{source}" if trace.tensorrt_version else ""


def onnx_text(trace: BuildTrace) -> str:
    """Return file, opset, IR version and producer of the model, as the ONNX parser prints them; may be empty."""
    values = trace.onnx.values if trace.onnx else {}
    producer = " ".join(filter(None, (values.get("Producer name"), values.get("Producer version"))))
    parts = {
        "": values.get("Input filename"),
        "opset ": values.get("Opset version"),
        "IR ": values.get("ONNX IR version"),
        "by ": producer,
    }
    return ", ".join(f"{word}{text}" for word, text in parts.items() if text)


def _strategy_text(trace: BuildTrace) -> str:
    """Return which candidate engine was kept; empty if there was only one."""
    if len(trace.strategies) < 2:
        return ""
    parts = (
        f"{strategy.number} {strategy.verdict.value} ({strategy.estimate:g})"
        for strategy in trace.strategies
        if strategy.estimate
    )
    kept = "none" if trace.winner is None else trace.winner
    tried = f"{len(trace.strategies)} tried"
    return f"{kept} kept, {': '.join(filter(None, (tried, ', '.join(parts))))}"


def cache_text(trace: BuildTrace) -> str:
    """Return the known facts about the timing cache; may be empty."""
    cache = trace.cache
    parts = (
        cache.mode,
        f"{cache.unreadable} could not be read" if cache.unreadable else None,
        cache.file if cache.file != cache.unreadable else None,
        None if cache.loaded_bytes is None else f"{format_bytes(cache.loaded_bytes)} loaded",
        None if cache.saved_bytes is None else f"{format_bytes(cache.saved_bytes)} saved",
        None if cache.entries is None else plural(cache.entries, "entry", "entries"),
        None if cache.hits is None else plural(cache.hits, "hit"),
        f"{plural(cache.cached_results, 'result')} reused within the build" if cache.cached_results else None,
    )
    return ", ".join(filter(None, parts))


def streams_text(trace: BuildTrace) -> str:
    """Return the number of streams of the engine; empty if unknown."""
    streams = trace.streams
    parts = (
        None if streams.streams is None else str(streams.streams),
        None if streams.auxiliary is None else f"{streams.auxiliary} auxiliary",
        None if streams.events is None else plural(streams.events, "event"),
        f"single stream ({streams.disabled_because})" if streams.disabled_because else None,
    )
    return ", ".join(filter(None, parts))


def dla_text(trace: BuildTrace) -> str:
    """Return how many layers went to DLA, and how many it could not run; empty if DLA was not requested."""
    dla = trace.dla
    if not dla.dla_layers and not dla.fallbacks:
        return ""
    fallbacks = f", {plural(len(dla.fallbacks), 'fallback')}" if dla.fallbacks else ""
    return f"{plural(len(dla.dla_layers), 'layer')} on DLA, {len(dla.gpu_layers)} on the GPU{fallbacks}"


def kept_reformats(trace: BuildTrace) -> list[InsertedReformat]:
    """Return the reformats in the engine that was kept."""
    return [reformat for reformat in trace.reformats if reformat.strategy in (trace.winner, None)]


def reformat_text(reformat: InsertedReformat) -> str:
    """Return the change of an inserted reformat, and its measured cost."""
    cost = "" if reformat.cost_ms is None else f", {format_tactic_ms(reformat.cost_ms)} ms when it was timed"
    return f"{reformat.tensor}: {reformat.from_format} → {reformat.to_format}{cost}"


def reformats_text(trace: BuildTrace) -> str:
    """Return how many reformats were inserted and their total cost; empty for none."""
    reformats = kept_reformats(trace)
    costs = [reformat.cost_ms for reformat in reformats if reformat.cost_ms is not None]
    if not costs:
        return f"{len(reformats)} inserted" if reformats else ""
    unknown = f", {len(reformats) - len(costs)} of unknown cost" if len(costs) < len(reformats) else ""
    return f"{len(reformats)} inserted, {format_tactic_ms(sum(costs))} ms when they were timed{unknown}"


def myelin_text(count: int) -> str:
    """Return how many of the counted tactics are kernels that Myelin timed for operators inside a layer; empty for none."""
    return f", {format_count(count)} of them Myelin's" if count else ""


def memory_sections(trace: BuildTrace) -> Iterator[Section]:
    """Yield memory of the builder and of the engine, as far as stated in the log; totals of each strategy."""
    peaks = (("GPU", trace.peak_gpu_mib), ("CPU", trace.peak_cpu_mib))
    facts = [(label, f"{size} MiB") for label, size in peaks if size is not None]
    yield from _facts_section("memory-peak", "Peak in TensorRT's allocators", facts)
    for totals in trace.memory_totals:
        is_kept = totals.strategy == trace.winner and len(trace.memory_totals) > 1
        strategy = "" if totals.strategy is None else f" of strategy {totals.strategy}"
        sizes = {
            "weights": totals.weights_bytes,
            "activations": totals.activation_bytes,
            "scratch": totals.scratch_bytes,
            "device persistent": totals.device_persistent_bytes,
            "host persistent": totals.host_persistent_bytes,
        }
        title = f"Memory totals{strategy}{', in the engine' if is_kept else ''}"
        yield from _facts_section(f"memory-totals-{totals.strategy or 0}", title, _size_facts(sizes))
    engine = describe_engine_size(trace.engine_bytes, trace.engine_mib)
    facts = [("engine", engine)] if engine else []
    facts += _size_facts({"execution context": trace.context_bytes})
    yield from _facts_section("memory-engine", "Size", facts)


def _size_facts(sizes: dict[str, int | None]) -> list[tuple[str, str]]:
    return [(label, format_bytes(size)) for label, size in sizes.items() if size is not None]


def _facts_section(id_: str, title: str, facts: Sequence[tuple[str, str]]) -> Iterator[Section]:
    if facts:
        yield Section(id_, title, facts=facts)


def check_build_log(trace: BuildTrace) -> None:
    """Check that the log has any content.

    Raises:
        ArtifactError: The file is not a log of trtexec or of a builder.
    """
    if not (
        trace.runs
        or trace.is_verbose
        or trace.options.device
        or trace.messages
        or trace.performance
        or trace.memory
        or trace.memory_totals
        or trace.phases
    ):
        raise ArtifactError(
            trace.path, "is not a log of trtexec or a TensorRT builder; give the log of a build"
        )


# The section of a report


def build_sections(subject: EngineSubject) -> Iterator[Section]:
    """Yield phases, longest tunings, near ties, warnings; nothing without a log."""
    engine = subject.engine
    kind = kind_of_build_log(engine.files)
    if kind is None:
        return
    path = engine.files[kind]
    from trex_tui.old.buildlog.reader import shared_log  # 15 ms, and most sets have no log

    try:
        trace = shared_log(path, run=engine.log_runs.get(path))
    except ArtifactError:
        yield Section("build", "Build", sentences=[f"Cannot read the log {printable(path.name)}."])
        return
    try:
        check_build_log(trace)
    except ArtifactError as error:
        yield Section("build", "Build", sentences=[f"{printable(str(error))}."])
        return
    facts = build_facts(trace, engine)
    top = subject.top
    tables = (
        phases_table(trace),
        passes_table(trace),
        fusions_table(trace, top),
        slowest_table(facts, top),
        ties_table(facts, top),
        memory_table(trace, top),
        messages_table(trace, top),
    )
    shown = [table for table in tables if table.rows]
    yield Section("build", "Build", facts=_report_facts(trace, engine), tables=shown, is_printed=False)


_SECTIONS_OF_THE_SCREEN = frozenset({"memory pools", "DLA", "reformats"})


def overview_facts(trace: BuildTrace, engine: Engine | None) -> Iterator[tuple[str, str]]:
    """Yield the facts, the log, its runs, and notes about it."""
    for label, text in build_fact_texts(trace, engine).items():
        if label not in _SECTIONS_OF_THE_SCREEN:
            yield label, text
    yield "log", f"{trace.path} ({plural(trace.lines, 'line')}{'' if trace.is_verbose else ', not verbose'})"
    for run in trace.runs:
        yield run.status or "unfinished", run.command
    for note in trace.diagnostics:
        yield note.severity.value, f"{note.where}: {note.message}" if note.where else note.message


def _report_facts(trace: BuildTrace, engine: Engine) -> list[tuple[str, str]]:
    log = f"{trace.path.name}, {plural(trace.lines, 'line')}"
    return [
        (label[:1].upper() + label[1:], printable(log if label == "log" else text))
        for label, text in overview_facts(trace, engine)
    ]


# Tables for reading, of a report and of `build-log`

_PHASE_SHARES = (
    *pick(PHASES, "phase", "strategy", "seconds"),
    _number("count", "Lines", attrgetter("count")),
)
_TIES = (
    Column("name", "Layer", value=attrgetter("name"), flex=True),
    _number("margin_pct", "Second, % longer", attrgetter("margin_pct")),
    Column("chosen", "Chosen", value=lambda choice: choice.chosen and choice.chosen.runner),
    Column("second", "Second", value=lambda choice: choice.second and choice.second.runner),
)
_REPORTED_MESSAGES = (
    Column("severity", "Severity", value=lambda message: SEVERITIES.get(message.severity, message.severity)),
    *pick(MESSAGES, "line", "count"),
    Column("text", "Message", value=attrgetter("text")),
)


def phases_table(trace: BuildTrace) -> Table:
    """Return phases, each summed over its lines."""
    return make_table("phases", _PHASE_SHARES, phase_shares(trace), title="Phases")


def passes_table(trace: BuildTrace) -> Table:
    """Return the passes of the engine, with the number of steps of each kind."""
    passes = [graph_pass for graph_pass in trace.passes if graph_pass.strategy in (trace.winner, None)]
    name, layers, *steps = pick(PASS_OUTLINE, "name", "layers", "fused", "removed", "converted")
    counts = [replace(column, value=partial(_count, column.key)) for column in steps]
    return make_table("passes", (name, layers, *counts), _passes(passes), title="Passes")


def fusions_table(trace: BuildTrace, top: int | None) -> Table:
    """Return what the passes did to layers of the engine that was kept: fused, removed, or changed to another type."""
    steps = [
        row
        for row in _pass_rows(trace)
        if row.in_engine and row.step is not None and row.step.kind is not FusionKind.TRIED
    ]
    columns = pick(PASSES, "pass", "step", "rule", "layer", "with", "from_type", "to_type", "line")
    return make_table("fusions", columns, steps, top=top, noun="step", title="Fusions")


def memory_table(trace: BuildTrace, top: int | None) -> Table:
    """Return the largest changes of memory over the build, in the order of the log."""
    points = trace.memory
    if top is not None and len(points) > top:
        largest = sorted(points, key=_change, reverse=True)[:top]
        points = tuple(point for point in points if point in largest)
    columns = pick(MEMORY, "event", "gpu_mib", "gpu_change_mib", "cpu_mib", "cpu_change_mib", "line")
    device = [point for point in trace.memory if not point.is_managed] or trace.memory
    gpu_mib = max((point.gpu_mib for point in device), default=0)
    cpu_mib = max((point.cpu_mib for point in device), default=0)
    title = f"Memory over the build: up to {gpu_mib} MiB on the GPU, {cpu_mib} MiB on the host"
    return make_table("memory", columns, points, total=len(trace.memory), noun="change", title=title)


def _change(point: MemoryPoint) -> int:
    return abs(point.gpu_change_mib or 0) + abs(point.cpu_change_mib or 0)


def _count(kind: str, node: OutlineNode) -> int:
    return node.values[kind] or 0


def slowest_table(facts: BuildFacts, top: int | None) -> Table:
    """Return tuned layers, the longest first; with the strategy if there are several, and Myelin's kernels if any."""
    tunings = facts.trace.tunings
    keys = ["name", "seconds", "tactics", "formats", "skipped"]
    if any(tuning.myelin_count for tuning in tunings):
        keys.insert(3, "myelin_tactics")
    if len({tuning.strategy for tuning in tunings}) > 1:
        keys.insert(1, "strategy")
    names = ShortNames.of_names(tuning.name for tuning in tunings)
    columns = _with_short_names(pick((*LAYERS, *TUNING_COLUMNS), *keys), names)
    by_tuning = {id(layer.tuning): layer for layer in facts.tuned}
    longest = [by_tuning[id(tuning)] for tuning in by_tuning_time(facts.trace)]
    return make_table("slowest_tunings", columns, longest, top=top, noun="tuning", title="Longest tuning")


def ties_table(facts: BuildFacts, top: int | None) -> Table:
    """Return layers whose choice of tactic is a near tie."""
    title = f"Near ties: another tactic is within {NEAR_TIE_PCT:g} %"
    columns = _with_short_names(_TIES, ShortNames.of_names(choice.name for choice in facts.choices))
    return make_table("near_ties", columns, near_ties(facts.choices), top=top, noun="layer", title=title)


def _with_short_names(columns: Iterable[Column], names: ShortNames) -> list[Column]:
    return [replace(column, shorten=names.fit_text) if column.key == "name" else column for column in columns]


def messages_table(trace: BuildTrace, top: int | None = None) -> Table:
    """Return warnings and errors, grouped by text."""
    return make_table(
        "messages", _REPORTED_MESSAGES, trace.messages, top=top, noun="message", title="Warnings and errors"
    )
