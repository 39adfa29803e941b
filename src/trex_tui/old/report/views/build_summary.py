"""Output of `trex-tui build-log`: lines of text, or one JSON object."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from trex_tui.old.analysis.build import (
    BuildFacts,
    Contender,
    LayerChoice,
    TunedLayer,
    build_seconds,
    by_tuning_time,
    tactic_rows,
)
from trex_tui.old.analysis.short_names import ShortNames, ShortTactics
from trex_tui.old.artifacts.runs import list_log_runs
from trex_tui.old.buildlog.build_trace import (
    BuildTrace,
    FusionKind,
    OptimizerPass,
    ProfileTable,
    TraceAverages,
)
from trex_tui.old.buildlog.layer_tuning import (
    FormatCombination,
    LayerTuning,
    ReformatCost,
    RunnerTrial,
    hex_id,
)
from trex_tui.old.errors import TrexError
from trex_tui.old.report.document import Column, Table, is_missing, make_table
from trex_tui.old.report.render_json import plain
from trex_tui.old.report.render_text import table_lines
from trex_tui.old.report.views.build import (
    TACTICS,
    build_fact_texts,
    fusions_table,
    log_failure,
    memory_sections,
    memory_table,
    messages_table,
    myelin_text,
    passes_table,
    phases_table,
    pick,
    slowest_table,
    ties_table,
)
from trex_tui.old.report.views.build_details import tuned_lines
from trex_tui.old.report.views.runs import run_document, run_sentences
from trex_tui.old.text import format_count, plural, printable, shorten_middle

SCHEMA = "trex-tui/build-log/2"
_NAME_WIDTH = 60
"""Characters of a layer's name in a table of text."""
_LABEL_WIDTH = 24


def find_tuned(facts: BuildFacts, name: str) -> list[TunedLayer]:
    """Return the tuned layers of a name, or those that contain it.

    Raises:
        TrexError: There is none.
    """
    tuned = [layer for layer in facts.tuned if layer.tuning.name == name]
    tuned = tuned or [layer for layer in facts.tuned if name.lower() in layer.tuning.name.lower()]
    if not tuned:
        why = "" if facts.tuned else ": no tuning in the log (needs --verbose)"
        raise TrexError(f"{facts.trace.path}: no layer {name!r} was tuned{why}")
    return tuned


# Text


def build_log_text(facts: BuildFacts, top: int) -> Iterator[str]:
    """Yield lines about the build, its phases, choices, measurements and warnings."""
    trace = facts.trace
    yield from _facts(trace)
    yield from _table_text(phases_table(trace))
    yield from _table_text(passes_table(trace))
    yield from _table_text(fusions_table(trace, top))
    yield from _tuned_text(trace)
    yield from _table_text(slowest_table(facts, top))
    yield from _choices_text(facts.choices)
    yield from _table_text(ties_table(facts, top))
    yield from _run_text(trace, top)
    yield from _memory_text(trace)
    yield from _table_text(memory_table(trace, top))
    yield from _table_text(messages_table(trace))


def _table_text(table: Table) -> Iterator[str]:
    """Yield a table under its title, without columns of unknown values; nothing without rows."""
    if not table.rows:
        return
    known = [
        index for index in range(len(table.columns)) if not all(is_missing(row[index]) for row in table.rows)
    ]
    columns = [table.columns[index] for index in known]
    shown = replace(table, columns=columns, rows=[[row[index] for index in known] for row in table.rows])
    yield ""
    yield table.title
    yield from (f"  {line}" for line in table_lines(shown, most=_NAME_WIDTH))
    yield from _rest(table.rows_total, len(table.rows))


def _facts(trace: BuildTrace) -> Iterator[str]:
    yield f"{printable(str(trace.path))}: {plural(trace.lines, 'line')}"
    for run in trace.runs:
        yield f"{run.status or 'unfinished':<12} {printable(run.program)} {printable(run.command)}"
    yield from run_sentences(list_log_runs(trace.path, trace.measured, _shown_index(trace)))
    for label, text in build_fact_texts(trace).items():
        if label not in ("build took", "log covers", "warnings", "errors"):
            yield f"{label[0].upper() + label[1:]:<12} {printable(text)}"


def _shown_index(trace: BuildTrace) -> int | None:
    return None if trace.shown_number is None else trace.shown_number - 1


def _tuned_text(trace: BuildTrace) -> Iterator[str]:
    totals = tuning_totals(trace)
    if trace.tunings:
        yield ""
        yield (
            f"Tuned        {plural(totals['layers'], 'layer')}, {format_count(totals['tactics'])} tactics timed"
            f"{myelin_text(totals['myelin_tactics'])}, {totals['skipped']} skipped; "
            f"reformats: {format_count(totals['reformat_tactics'])} tactics"
        )


def _choices_text(choices: Sequence[LayerChoice]) -> Iterator[str]:
    if choices:
        known = sum(choice.chosen is not None for choice in choices)
        yield ""
        yield f"Engine       {plural(len(choices), 'layer')}; tactic choice known for {known}"
    for choice in choices:
        if choice.agrees is False:
            name = shorten_middle(printable(choice.name), _NAME_WIDTH)
            yield f"  {name}: engine and log disagree on the tactic"


def _rest(count: int, top: int, indent: str = "  ") -> Iterator[str]:
    if count > top:
        yield f"{indent}… and {count - top} more"


def _memory_text(trace: BuildTrace) -> Iterator[str]:
    sections = list(memory_sections(trace))
    if sections:
        yield ""
    for section in sections:
        yield f"{section.title}: {', '.join(f'{label} {text}' for label, text in section.facts)}"


# Text: a run that measured

_PROFILE = (
    Column("name", "Layer", value=attrgetter("name"), flex=True),
    Column("total_ms", "Total ms", value=attrgetter("total_ms"), is_number=True, format="{:.2f}".format),
    Column("average_ms", "Average ms", value=attrgetter("average_ms"), is_number=True),
    Column("median_ms", "Median ms", value=attrgetter("median_ms"), is_number=True),
    Column("percentage", "Time %", value=attrgetter("percentage"), is_number=True, format="{:.1f}".format),
)
"""With the decimals that trtexec prints."""
_AVERAGES = (
    Column("latency", "ms"),
    Column("lowest_ms", "Lowest", is_number=True),
    Column("mean_ms", "Mean", is_number=True),
    Column("highest_ms", "Highest", is_number=True),
)


def _run_text(trace: BuildTrace, top: int) -> Iterator[str]:
    """Yield the last measured run: the summary as printed, averages, and time per layer."""
    if trace.performance is not None:
        yield ""
        yield f"Performance  as printed (line {trace.performance.line})"
        for label, value in trace.performance.values.items():
            yield f"  {printable(label):<{_LABEL_WIDTH}} {printable(value)}"
    if trace.trace is not None:
        yield from _table_text(_averages_table(trace.trace))
    if trace.profile is not None:
        yield from _table_text(_profile_table(trace.profile, top))


def _profile_table(profile: ProfileTable, top: int) -> Table:
    """Return the slowest layers, and the row of the total."""
    iterations = "" if profile.iterations is None else f", {plural(profile.iterations, 'iteration')}"
    title = f"Profile      {plural(len(profile.rows), 'layer')}{iterations} (line {profile.line})"
    longest = sorted(profile.rows, key=lambda row: -(row.total_ms or 0.0))
    total = [profile.total] if profile.total is not None else []
    name, *numbers = _PROFILE
    names = ShortNames.of_names(row.name for row in profile.rows)
    columns = [replace(name, shorten=names.fit_text), *numbers]
    table = make_table("profile", columns, [*longest[:top], *total], title=title)
    return replace(table, total=len(longest) + len(total))


def _averages_table(averages: TraceAverages) -> Table:
    """Return the averages in the log, each over some runs; queries that trtexec omitted are missing.

    Its message calls them lines, but counts queries.
    """
    omitted = ""
    if averages.omitted:
        omitted = f"; trtexec omitted {plural(averages.omitted, 'query', 'queries')}"
    runs = f"over {plural(sum(averages.runs), 'run')}"
    title = f"Averages     {plural(len(averages.runs), 'line')} {runs} (line {averages.line}){omitted}"
    columns = {
        "GPU latency": averages.gpu_ms,
        "host latency": averages.host_ms,
        "end to end": averages.end_to_end_ms,
        "enqueue": averages.enqueue_ms,
    }
    spreads = ((label, _spread(values, averages.runs)) for label, values in columns.items())
    return make_table(
        "averages", _AVERAGES, [(label, *spread) for label, spread in spreads if spread], title=title
    )


def _spread(values: array[float], runs: array[int]) -> tuple[float, float, float] | None:
    """Return the lowest of the averages, their mean by number of runs, and the highest; None without averages."""
    known = [(value, count) for value, count in zip(values, runs, strict=True) if math.isfinite(value)]
    weight = sum(count for _, count in known)
    if not weight:
        return None
    mean = math.fsum(value * count for value, count in known) / weight
    return min(known)[0], mean, max(known)[0]


# Text: some layers

_RUNNERS = (
    Column("formats", "Formats", value=lambda pair: pair[0].text, flex=True),
    Column("runner", "Runner", value=lambda pair: pair[1].runner),
    Column("outcome", "Outcome", value=lambda pair: pair[1].outcome.value),
    Column("tactics", "Tactics", value=lambda pair: pair[1].tactic_count, is_number=True),
    Column("seconds", "Seconds", value=lambda pair: pair[1].seconds, is_number=True),
)
"""Columns of a format combination and one of its trials."""
_TACTICS = pick(
    TACTICS,
    *("time_ms", "tactic", "name", "operator", "runner", "formats", "chosen", "in_engine", "cached"),
    *("skipped", "requested_bytes", "available_bytes"),
)


def layers_text(facts: BuildFacts, tuned: Sequence[TunedLayer], top: int) -> Iterator[str]:
    """Yield lines about some layers: their results, runners, fastest tactics, and skipped tactics."""
    for layer in tuned:
        for line in tuned_lines(None, facts, layer):
            label = f"{line.label:<13} " if line.label else ""
            yield f"{'' if line.style == 'heading' else '  '}{label}{printable(line.text)}"
        runners = [(formats, trial) for formats in layer.tuning.combinations for trial in formats.runners]
        yield from _table_text(make_table("runners", _RUNNERS, runners, title="Runners"))
        rows = tactic_rows(facts, layer)
        timed = sorted((row for row in rows if row.time_ms is not None), key=lambda row: row.time_ms or 0.0)
        others = [row for row in rows if row.time_ms is None]
        tactics = ShortTactics(row.name for row in rows if row.name)
        columns = [
            replace(column, shorten=tactics.fit) if column.key == "name" else column for column in _TACTICS
        ]
        table = make_table("tactics", columns, [*timed[:top], *others], title="Tactics")
        yield from _table_text(replace(table, total=len(rows)))
        yield ""


# JSON

_AS_THEY_ARE = (
    "runs tensorrt_version tensorrt_library stated_seconds options run_options phases strategies reformats "
    "memory layer_memory memory_totals peak_cpu_mib peak_gpu_mib context_bytes engine_bytes engine_mib "
    "non_conforming cache streams dla messages performance profile chosen_shapes network_inputs network_outputs bindings "
    "winner"
)


def build_log_document(facts: BuildFacts, tuned: Sequence[TunedLayer] | None, top: int) -> dict[str, Any]:
    """Return the object that `build-log --json` prints. Absent facts are null.

    Args:
        tuned: The requested layers, in full; None for all, and for the costs of reformats with them.
        top: Number of `slowest_tunings`.
    """
    trace = facts.trace
    return {
        "schema": SCHEMA,
        "file": str(trace.path),
        "lines": trace.lines,
        **_fields(trace, _AS_THEY_ARE),
        "failure": plain(log_failure(trace)),
        "measured_runs": list(
            map(run_document, list_log_runs(trace.path, trace.measured, _shown_index(trace)))
        ),
        "onnx": dict(trace.onnx.values) if trace.onnx else None,
        "build_seconds": build_seconds(trace.phases),
        "passes": [_pass_object(graph_pass) for graph_pass in trace.passes],
        "tuning": tuning_totals(trace),
        "layers": [choice_object(choice) for choice in facts.choices],
        "slowest_tunings": [
            _tuning_object(tuning) | {"combinations": len(tuning.combinations)}
            for tuning in by_tuning_time(trace)[:top]
        ],
        "tunings": [
            _tuning_object(tuning) | {"combinations": list(map(_combination_object, tuning.combinations))}
            for tuning in (trace.tunings if tuned is None else [layer.tuning for layer in tuned])
        ],
        "reformat_costs": list(map(_cost_object, trace.reformat_costs)) if tuned is None else None,
        "dumps": [
            _fields(dump, "line form bindings")
            | {
                "layers": [
                    {"line": layer.line, "tactic": _hex(layer.tactic_id), "layer": plain(layer.raw)}
                    for layer in dump.layers
                ]
            }
            for dump in trace.dumps
        ],
        "trace": _averages_object(trace.trace) if trace.trace else None,
        "diagnostics": [_fields(note, "severity where message") for note in trace.diagnostics],
    }


def _fields(item: Any, names: str) -> dict[str, Any]:  # noqa: ANN401 - any record
    return {name: plain(getattr(item, name)) for name in names.split()}


def _hex(number: int | None) -> str | None:
    """Return the number of a tactic as text: JSON numbers do not reliably hold 64 bits."""
    return None if number is None else hex_id(number)


def _pass_object(graph_pass: OptimizerPass) -> dict[str, Any]:
    counts = Counter(fusion.kind for fusion in graph_pass.fusions)
    steps = {kind.value: counts[kind] for kind in FusionKind}
    return _fields(graph_pass, "line strategy name layers") | steps | {"fusions": plain(graph_pass.fusions)}


def tuning_totals(trace: BuildTrace) -> dict[str, Any]:
    """Return how much was tried, over all layers and strategies; `tactics` include the `myelin_tactics`."""
    return {
        "layers": len(trace.tunings),
        "combinations": sum(len(tuning.combinations) for tuning in trace.tunings),
        "tactics": sum(tuning.tactic_count for tuning in trace.tunings),
        "myelin_tactics": sum(tuning.myelin_count for tuning in trace.tunings),
        "skipped": sum(len(tuning.skipped) for tuning in trace.tunings),
        "reformat_costs": len(trace.reformat_costs),
        "reformat_tactics": sum(cost.combination.tactic_count for cost in trace.reformat_costs),
    }


def choice_object(choice: LayerChoice) -> dict[str, Any]:
    """Return what the builder chose for a layer, and what else it timed."""
    other = choice.other_precision
    return _fields(choice, "name occurrence layer_type agrees margin_pct precision reformat reused_from") | {
        "tactic": _hex(choice.tactic_id),
        "formats": choice.combination.text if choice.combination else None,
        "formats_are_certain": choice.combination is not None and not choice.is_ambiguous,
        "chosen": _contender_object(choice.chosen),
        "fastest": _contender_object(choice.fastest),
        "second": _contender_object(choice.second),
        "other_precision": _fields(other, "precision time_ms") if other else None,
    }


def _contender_object(contender: Contender | None) -> dict[str, Any] | None:
    if contender is None:
        return None
    return _fields(contender, "runner name time_ms") | {"tactic": _hex(contender.id)}


def _tuning_object(tuning: LayerTuning) -> dict[str, Any]:
    return _fields(tuning, "line name strategy optimization_profile began_s ended_s seconds is_cached") | {
        "tactics": tuning.tactic_count,
        "myelin_tactics": tuning.myelin_count,
        "skipped": len(tuning.skipped),
        "metadata": tuning.metadata or None,
    }


def _combination_object(combination: FormatCombination) -> dict[str, Any]:
    return _fields(combination, "line inputs outputs chosen_runner chosen_ms is_cached") | {
        "chosen_tactic": _hex(combination.chosen_id),
        "runners": [_trial_object(trial) for trial in combination.runners],
    }


def _trial_object(trial: RunnerTrial) -> dict[str, Any]:
    return _fields(trial, "line runner runner_id available pruned fastest_ms outcome seconds") | {
        "fastest": _hex(trial.fastest_id),
        "tactics": [
            {"tactic": tactic.hex, "name": tactic.name, "time_ms": tactic.time_ms} for tactic in trial.tactics
        ],
        "skipped": [
            _fields(skipped, "line reason requested_bytes available_bytes message")
            | {"tactic": _hex(skipped.id)}
            for skipped in trial.skipped
        ],
        "myelin": [
            _fields(table, "line operator onnx_nodes")
            | {"tactics": [plain(row) | {"hash": row.hex} for row in table.tactics]}
            for table in trial.myelin
        ],
    }


def _cost_object(cost: ReformatCost) -> dict[str, Any]:
    combination = _combination_object(cost.combination)
    return _fields(cost, "line strategy source target time_ms") | {"combination": combination}


def _averages_object(averages: TraceAverages) -> dict[str, Any]:
    """Return columns of equal length, an entry for each line of averages."""
    columns = ("runs", "gpu_ms", "host_ms", "end_to_end_ms", "enqueue_ms")
    values = {name: plain(list(getattr(averages, name))) for name in columns}
    return _fields(averages, "line omitted") | values
