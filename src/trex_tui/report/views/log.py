"""A log as a whole: how its run ended and why, the few numbers that answer most questions, then everything in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from trex_tui.analysis.build import (
    BuildJoin,
    LayerChoice,
    build_seconds,
    find_choices,
    join_build,
    near_ties,
    phase_totals,
)
from trex_tui.analysis.options import build_settings, run_settings
from trex_tui.analysis.structure import dla_times, slowest
from trex_tui.analysis.timing import find_latency, timing_facts
from trex_tui.artifacts.kinds import LOG_KINDS, recognize
from trex_tui.buildlog.failures import LogFailure, find_failure, find_producer, recognise
from trex_tui.buildlog.trace import BuildTrace
from trex_tui.column import Column
from trex_tui.engine.model import Engine
from trex_tui.engine.runs import describe_run
from trex_tui.errors import ArtifactError, Note, Severity, describe_file
from trex_tui.frames import plain_rows
from trex_tui.report.document import Document, Fact, Section
from trex_tui.report.views.build import (
    cut_end,
    find_tunings,
    list_sections,
    requests_section,
    tactics_section,
    tuning_totals,
)
from trex_tui.report.views.layers import hot_section
from trex_tui.report.views.timing import describe_stated_stability, performance_sections
from trex_tui.text import format_bytes, format_count, plural, printable, shorten_middle, shorten_name_list

_LEFT_OUT = (
    "path",
    "measured",
    "shown_run",
    "timed_run",
    "kernel_names",
    "skipped",
    "notes",
    "tunings",
    "reformat_costs",
)
"""Fields of a trace that are no keys of the JSON, or not as they are."""
_NO_STEPS = ("engine build", "engine generation", "inference")
"""Phases that are no step of a build."""
_LEAST_SHARE = 0.25
"""Share of a build that makes its longest step worth a line."""
_OF_RUNS = ("Times", "Stability", "Slowest layer")
"""Facts that a report has elsewhere."""
_MOST_RUNS, _LONGEST = 4, 100


def describe_log(trace: BuildTrace, engine: Engine | None, top: int | None = 10, layer: str = "") -> Document:
    """Return everything about a log.

    Args:
        engine: The engine that the log describes; None if it has none, since the build failed.
        top: Rows of each table; None for all.
        layer: Name, or a part of the names, of layers whose tactics are listed instead.

    Raises:
        TrexError: No such layer was tuned.
    """
    join = BuildJoin(trace, find_choices(trace, engine))
    numbers = find_tunings(trace, layer) if layer else None
    if numbers is not None:
        sections = [tactics_section(join, number, top) for number in numbers]
    else:
        measured = [] if engine is None else list(_measured_sections(engine, top))
        sections = [
            result_section(join, engine),
            *measured,
            *list_sections(join, engine, top),
            _log_section(trace),
        ]
    notes = list(trace.notes)
    if len(trace.measured) > 1:
        message = (
            f"has {len(trace.measured)} runs; shown is run {trace.shown_number}; --run N chooses another"
        )
        notes.append(Note(Severity.INFO, trace.path, "", message))
    people = [replace(section, audience="people") for section in sections if section.audience != "programs"]
    return Document(
        "build-log", trace.path.name, people, notes, data=_values(join, engine, numbers), version=3
    )


def build_sections(engine: Engine, top: int | None = 10) -> Iterator[Section]:
    """Yield the build of an engine, for a report; nothing without a log."""
    join = join_build(engine)
    if join is not None:
        result = result_section(join, engine)
        facts = [fact for fact in result.facts if fact.column.title not in _OF_RUNS]
        yield replace(result, title="Build", sentences=[f"{result.title}."], facts=facts)
        yield from list_sections(join, engine, top)
        yield replace(_log_section(join.trace), audience="people")


def check_log(trace: BuildTrace) -> None:
    """Check that a log has any content.

    Raises:
        ArtifactError: The file is not a log of trtexec or of a builder.
    """
    if trace.options.device or not replace(trace, layer_lists=()).is_empty:
        return
    kind = recognize(trace.path).kind if trace.path.is_file() else None
    if kind is not None and kind not in LOG_KINDS:
        how = "" if kind.describes_engine else " with the layer information or times of its set"
        raise ArtifactError(
            trace.path, f"is a {kind.words}, not of a build; `trex-tui summary` shows it{how}"
        )
    if not trace.layer_lists:
        raise ArtifactError(
            trace.path, "is not a log of trtexec or a TensorRT builder; give the log of a build"
        )


def find_log_failure(trace: BuildTrace) -> LogFailure | None:
    """Return why the last run of a log failed; None if it did not."""
    return find_failure(trace) if trace.has_errors else None


def _measured_sections(engine: Engine, top: int | None) -> Iterator[Section]:
    if timing_facts(engine) is not None:
        yield from performance_sections(engine)
    if (hot := hot_section(engine, top)) is not None:
        yield hot


# The result


def result_section(join: BuildJoin, engine: Engine | None) -> Section:
    """Return how the run ended, and what matters most of its content."""
    trace = join.trace
    failure, counts = find_log_failure(trace), trace.count_messages()
    texts = _describe_failure(trace, failure) if failure else {}
    if engine is not None:
        texts |= _describe_run(trace, engine)
    texts |= _describe_skipped(trace) if not failure else {}
    source = f" (from {trace.tensorrt_library})" if trace.tensorrt_library else ""
    version = f"{trace.tensorrt_version}{source}" if trace.tensorrt_version else None
    texts |= {
        "Longest phase": _describe_phase(trace),
        "Layers": _describe_layers(join),
        "TensorRT": " on ".join(filter(None, (version, trace.options.device.get("Selected Device")))),
        **({} if engine is None else _describe_options(trace, engine)),
        "Messages": f"{plural(counts['W'], 'warning')}, {plural(counts['E'] + counts['F'], 'error')}",
    }
    return Section("build", _describe_end(trace, failure), _make_facts(texts), is_warning=failure is not None)


def _make_facts(texts: Mapping[str, str]) -> list[Fact]:
    """Return the texts as facts, without empty ones."""
    lines = {title: "\n".join(map(printable, text.split("\n"))) for title, text in texts.items()}
    return [Fact(Column("", printable(title)), None, text) for title, text in lines.items() if text]


def _describe_end(trace: BuildTrace, failure: LogFailure | None) -> str:
    run, seconds = trace.runs[-1] if trace.runs else None, build_seconds(trace)
    if failure is not None:
        passed = " although trtexec printed PASSED" if run is not None and run.status == "PASSED" else ""
        return f"{'Failed' if failure.is_certain else 'Probably failed'}{passed}"
    parts = [f"engine built in {seconds:.3f} s"] if seconds is not None else []
    parts = ["engine loaded"] if trace.only_loads else parts
    parts += ["inference measured"] if trace.measured else []
    what = ", ".join(parts)
    if run is None:
        return f"{what[:1].upper()}{what[1:]}" or "No result in the log"
    status = run.status.capitalize() if run.status else "Unfinished (the log ends before trtexec does)"
    return f"{status}: {what}" if what else status


def _describe_failure(trace: BuildTrace, failure: LogFailure) -> dict[str, str]:
    place = f"{describe_file(trace.path)}:{failure.line}"
    return {"Cause": failure.cause, "Remedy": failure.remedy, "Line": place, "Reason": failure.reason or ""}


def _describe_run(trace: BuildTrace, engine: Engine) -> dict[str, str]:
    """Return what a run measured, where the log states it: times, bursts, runs, the slowest layer; DLA and requests."""
    parts: list[str] = []
    for series in ("latency", "compute", "enqueue"):
        known = [(name, find_latency(engine, f"{name}_ms", series)) for name in ("median", "mean", "p99")]
        values = [f"{name} {value:.5g} ms" for name, value in known if value is not None]
        parts += [f"{series} {', '.join(values[:1] if parts else values[:1] + values[2:])}"] if values else []
    times = [row.gpu_ms for row in trace.averages if row.gpu_ms is not None]
    if times and trace.performance is None:
        parts.append(f"averages of compute {min(times):.5g} to {max(times):.5g} ms")
    if (facts := timing_facts(engine)) is not None and facts.throughput_qps:
        parts.append(f"{facts.throughput_qps:.5g} qps")
    return {
        "Times": "; ".join(parts),
        "Stability": describe_stated_stability(engine),
        "Runs": _describe_runs(engine),
        "Slowest layer": _describe_slowest(engine),
        "DLA": _describe_dla(trace, engine),
        "Requests": _describe_requests(engine),
    }


def _describe_runs(engine: Engine) -> str:
    """Return a line per run of a log with several."""
    rows = plain_rows(engine.runs)
    lines = [f"{describe_run(row)}{', shown' if row['is_shown'] else ''}" for row in rows[:_MOST_RUNS]]
    return "\n".join([*lines, *([f"and {len(rows) - _MOST_RUNS} more"] if len(rows) > _MOST_RUNS else [])])


def _describe_slowest(engine: Engine) -> str:
    index, whole = slowest(engine, 1), engine.latency_total_ms
    if not index or not whole:
        return ""
    name, share = engine.layers["name"].iat[index[0]], engine.column("latency_pct").iat[index[0]]
    missing = 100.0 * (1.0 - (engine.latency_sum_ms or 0.0) / whole)
    rest = f"; rows of {missing:.0f} % of the time are missing" if engine.stated_total_ms else ""
    return f"{_fit(str(name))}: {share:.1f} % of {whole:.4g} ms in {plural(len(engine), 'layer')}{rest}"


def _fit(name: str) -> str:
    return shorten_middle(shorten_name_list(name), _LONGEST)


def _describe_dla(trace: BuildTrace, engine: Engine) -> str:
    dla = trace.dla
    parts = (
        [f"{plural(len(dla.dla_layers), 'layer')} on the DLA, {len(dla.gpu_layers)} on the GPU"]
        if dla.dla_layers
        else []
    )
    reasons = Counter(fallback.reason for fallback in dla.fallbacks if fallback.layer)
    if reasons:
        words = ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
        parts.append(f"{plural(reasons.total(), 'layer falls', 'layers fall')} back to the GPU: {words}")
    parts += [f"all layers fall back: {fallback.reason}" for fallback in dla.fallbacks if not fallback.layer]
    blocks = dla_times(engine).dropna(subset=["execution_ms", "wait"])
    for row in plain_rows(blocks.head(1)):
        wait = _fit(str(engine.layers["name"].iat[row["wait"]]))
        parts.append(f"block of {row['execution_ms']:.4g} ms, timed in {wait}")
    return "; ".join(parts)


def _describe_requests(engine: Engine) -> str:
    frame = requests_section(engine).frame
    assert frame is not None
    words = ", ".join(f"{count} {state}" for state, count in Counter(frame["state"]).most_common())
    return f"{plural(len(frame), 'layer')} by name: {words}" if len(frame) else ""


def _describe_skipped(trace: BuildTrace) -> dict[str, str]:
    """Return how many tactics lacked memory, with the remedy if it is the device's."""
    texts, remedy = [], ""
    for reason, word in (("device memory", "free"), ("workspace", "allowed")):
        own = [tactic for tactic in trace.skipped if tactic.reason == reason]
        needs = [tactic.requested_bytes for tactic in own if tactic.requested_bytes]
        there = [tactic.available_bytes for tactic in own if tactic.available_bytes is not None]
        if own:
            size = f" of up to {format_bytes(max(needs))}" if needs else ""
            limit = f" ({format_bytes(min(there))} {word})" if there else ""
            texts.append(f"{plural(len(own), 'tactic')} for lack of {reason}{size}{limit}")
        if word == "free" and (known := recognise(tactic.message for tactic in own)):
            remedy = known.remedy(find_producer(trace), trace.tensorrt_version)
    return {"Skipped": "; ".join(texts), "Remedy": remedy}


def _describe_phase(trace: BuildTrace) -> str:
    """Return the step that takes most of the build; empty if none takes much of it."""
    whole, strategies = build_seconds(trace) or 0.0, trace.strategies
    steps = [row for row in plain_rows(phase_totals(trace)) if row["kind"] not in _NO_STEPS]
    longest = max(steps, key=lambda row: row["seconds"], default=None)
    if longest is None or trace.only_loads or longest["seconds"] < _LEAST_SHARE * whole or not whole:
        return ""
    share = f"{longest['seconds']:.3f} s ({100.0 * longest['seconds'] / whole:.0f} % of the build)"
    if len(strategies) < 2:
        return f"{longest['kind']}, {share}"
    return f"{longest['kind']} of strategy {longest['strategy']}, {share}; strategy {trace.winner} is kept"


def _describe_layers(join: BuildJoin) -> str:
    counts, ties = tuning_totals(join.trace), len(near_ties(join.choices))
    parts = [f"{len(join.choices)} in the engine"] if join.choices else []
    if counts["layers"]:
        parts.append(f"{counts['layers']} tuned, {format_count(counts['tactics'])} tactics timed")
    parts += [plural(ties, "near tie")] if ties else []
    return "; ".join(parts)


def _describe_options(trace: BuildTrace, engine: Engine) -> dict[str, str]:
    """Return precision, memory pools and shapes, and the memory of the engine."""
    built = {option.key: option.text for option in build_settings(engine) if not option.is_default}
    ran = {option.key: option.text for option in run_settings(engine) if not option.is_default}
    profiles, shapes = (
        cut_end(built.get("optimization_profiles", ""), _LONGEST),
        cut_end(ran.get("shapes", ""), _LONGEST),
    )
    given = [
        f"--{name}={value}"
        for name in ("memPoolSize", "workspace")
        if trace.shown_run and (value := trace.shown_run.argument(name))
    ]
    memory = engine.facts.memory
    size = f"{memory.engine_mib} to {memory.engine_mib + 1} MiB" if memory.engine_mib else ""
    sizes = {"weights": memory.weights_bytes, "activations": memory.activation_bytes, "scratch": memory.scratch_bytes,
             "persistent": memory.persistent_bytes, "execution context": memory.context_bytes}  # fmt: skip
    known = {"engine": format_bytes(memory.engine_bytes) if memory.engine_bytes else size}
    known |= {name: format_bytes(value) if value else "" for name, value in sizes.items()}
    return {
        "Precision": built.get("precision", ""),
        "Memory pools": "; ".join([*filter(None, [built.get("memory_pools_bytes")]), *given]),
        "Shapes": "; ".join(filter(None, (profiles, f"run at {shapes}" if shapes and profiles else ""))),
        "Memory": ", ".join(f"{name} {text}" for name, text in known.items() if text),
    }


# The log


def _log_section(trace: BuildTrace) -> Section:
    """Return the log, the commands of its runs, and further facts about the build."""
    cache, onnx, streams = trace.cache, trace.onnx, trace.streams
    kept = [reformat for reformat in trace.reformats if reformat.strategy in (trace.winner, None)]
    cost_ms = sum(reformat.cost_ms for reformat in kept if reformat.cost_ms is not None)
    producer = f"{onnx.get('Producer name', '')} {onnx.get('Producer version', '')}".strip()
    entries: dict[str, list[tuple[str, object]]] = {
        "File": [("{}", describe_file(trace.path)), ("{} lines", trace.lines), ("{:.0f} s", trace.stated_seconds)],
        "ONNX": [
            ("{}", onnx.get("Input filename")), ("opset {}", onnx.get("Opset version")),
            ("IR {}", onnx.get("ONNX IR version")), ("by {}", producer),
        ],
        "Timing cache": [
            ("{}", cache.mode), ("{}", cache.file), ("{} could not be read", cache.unreadable), ("{} entries", cache.entries),
            ("{} hits", None if cache.hits is None else str(cache.hits)), ("{} results reused", cache.cached_results),
        ],
        "Streams": [("{}", streams.streams), ("single stream ({})", streams.disabled_because)],
        "Reformats": [("{} inserted", len(kept)), ("{:.6f} ms when they were timed", cost_ms)],
        "Averages": [
            ("{} of queries", plural(len(trace.averages), "group") if trace.averages else ""),
            ("trtexec omitted {} queries", trace.omitted_queries),
        ],
        "Not as requested": [("{}", name) for name in trace.non_conforming],
        "Shapes": [("{}", text) for text in trace.chosen_shapes],
    }  # fmt: skip
    texts = {
        title: ", ".join(form.format(value) for form, value in parts if value)
        for title, parts in entries.items()
    }
    runs = [(run.status or "Unfinished", f"{run.program} {run.command}") for run in trace.runs]
    commands = [fact for run in runs for fact in _make_facts(dict([run]))]
    return Section("build_log", "Log", [*commands, *_make_facts(texts)])


def _values(join: BuildJoin, engine: Engine | None, numbers: Sequence[int] | None) -> dict[str, Any]:
    """Return what the log states, verbatim.

    Args:
        numbers: The tunings to include; None for all, with the costs of reformats.
    """
    trace = join.trace
    names = [field.name for field in fields(trace) if field.name not in _LEFT_OUT]
    return {
        "file": str(trace.path),
        **{name: getattr(trace, name) for name in names},
        "winner": trace.winner,
        "failure": find_log_failure(trace),
        "measured_runs": [] if engine is None else engine.runs,
        "build_seconds": build_seconds(trace),
        "tuning": tuning_totals(trace),
        "layers": [_choice_values(choice) for choice in join.choices],
        "tuned": join.tuned,
        "tunings": trace.tunings if numbers is None else [trace.tunings[number] for number in numbers],
        "reformat_costs": trace.reformat_costs if numbers is None else None,
    }


def _choice_values(choice: LayerChoice) -> dict[str, Any]:
    names = (
        "name",
        "tactic_id",
        "agrees",
        "margin_pct",
        "precision",
        "reformat",
        "reused_from",
        "chosen",
        "fastest",
        "second",
    )
    other, combination = choice.other_precision, choice.combination
    return {name: getattr(choice, name) for name in names} | {
        "formats": combination.text if combination else None,
        "formats_are_certain": combination is not None and not choice.is_ambiguous,
        "other_precision": other and {"precision": other.precision, "time_ms": other.time_ms},
    }
