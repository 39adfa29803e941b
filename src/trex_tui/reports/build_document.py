"""What the log of a build tells, for scripts: one JSON object with all of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from trex_tui.analysis.build_trace import LayerChoice, build_seconds, by_tuning_time
from trex_tui.artifacts.buildlog.model import BuildTrace, FusionKind
from trex_tui.artifacts.buildlog.run import DumpedLayer, TraceAverages
from trex_tui.artifacts.buildlog.tactics import hex_id
from trex_tui.artifacts.buildlog.tuning import (
    FormatCombination,
    LayerTuning,
    ReformatCost,
    RunnerTrial,
    SkippedTactic,
)
from trex_tui.reports.plain import plain

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
