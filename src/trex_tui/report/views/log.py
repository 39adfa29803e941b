"""A log as a whole: how its run ended and why, the few numbers that answer most questions, then everything in it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from trex_tui.analysis.build import BuildJoin, LayerChoice, build_seconds, join_build, near_ties, phase_totals
from trex_tui.analysis.structure import dla_times
from trex_tui.artifacts.kinds import LOG_KINDS, recognize
from trex_tui.artifacts.metadata import Facts, number_in, parse_latency
from trex_tui.buildlog.failures import LogFailure, find_failure, find_producer, recognise
from trex_tui.buildlog.records import find_profile, with_log
from trex_tui.buildlog.trace import BuildTrace, find_bursts
from trex_tui.column import Column
from trex_tui.engine.doubts import doubt_throughput
from trex_tui.engine.model import Engine
from trex_tui.engine.names import ShortNames
from trex_tui.engine.runs import differing_options
from trex_tui.errors import ArtifactError, Note, Severity, describe_file
from trex_tui.frames import FLOAT
from trex_tui.report.document import Document, Fact, Section
from trex_tui.report.views.build import (
    find_tunings,
    join_log,
    list_sections,
    requests_section,
    tactics_section,
    tuning_totals,
)
from trex_tui.report.views.layers import limit_rows
from trex_tui.text import format_bytes, format_count, plural, printable, shorten_middle, shorten_name_list

_CONTENTS = (
    "runs messages performance averages profile memory memory_totals phases passes tunings skipped".split()
)
"""Fields of a trace of which a log has at least one."""
_SERIES = {
    "gpu_ms": "GPU latency",
    "host_ms": "Host latency",
    "end_to_end_ms": "End to end",
    "enqueue_ms": "Enqueue",
}
_NO_STEPS = ("engine build", "engine generation", "inference")
"""Phases that are no step of a build."""
_LEAST_SHARE = 0.25
"""Share of a build that makes its longest step worth a line."""
_MOST_RUNS, _LONGEST = 4, 160
_VERBATIM = (
    "lines runs tensorrt_version tensorrt_library stated_seconds options run_options requests onnx phases passes strategies "
    "reformats non_conforming memory layer_memory memory_totals context peak_cpu_mib peak_gpu_mib engine_bytes engine_mib "
    "cache streams dla messages layer_lists performance averages omitted_queries profile chosen_shapes "
    "network_tensors bindings winner"
).split()  # fmt: skip
"""Fields of a trace that are keys of the JSON."""


def describe_log(
    trace: BuildTrace, engine: Engine | None = None, top: int | None = 10, layer: str = ""
) -> Document:
    """Return everything about a log.

    Args:
        engine: The engine that it is about; None if nothing but the log is known.
        top: Rows of each table; None for all.
        layer: Name, or a part of the names, of layers whose tactics are listed instead.

    Raises:
        TrexError: No such layer was tuned.
    """
    join = join_log(trace, engine)
    numbers = find_tunings(trace, layer) if layer else None
    if numbers is not None:
        sections = [tactics_section(join, number, top) for number in numbers]
    else:
        sections = [
            result_section(join, engine),
            *_run_sections(trace, top),
            *list_sections(join, engine, top),
        ]
        sections.append(_log_section(trace))
    notes = list(trace.notes)
    if len(trace.measured) > 1:
        message = (
            f"has {len(trace.measured)} runs; shown is run {trace.shown_number}; --run N chooses another"
        )
        notes.append(Note(Severity.INFO, trace.path, "", message))
    people = [replace(section, audience="people") for section in sections]
    return Document("build-log", trace.path.name, people, notes, data=_values(join, numbers), version=3)


def build_sections(engine: Engine, top: int | None = 10) -> Iterator[Section]:
    """Yield the build of an engine, for a report; nothing without a log."""
    join = join_build(engine)
    if join is not None:
        result = result_section(join, engine)
        yield replace(result, title="Build", sentences=[f"{result.title}.", *result.sentences])
        yield from list_sections(join, engine, top)


def check_log(trace: BuildTrace) -> None:
    """Check that a log has any content.

    Raises:
        ArtifactError: The file is not a log of trtexec or of a builder.
    """
    if trace.options.device or any(getattr(trace, name) for name in _CONTENTS):
        return
    kind = recognize(trace.path).kind if trace.path.is_file() else None
    if kind is not None and kind not in LOG_KINDS:
        raise ArtifactError(trace.path, f"is a {kind.words}, no log; `trex-tui summary` shows it")
    if not trace.layer_lists:
        raise ArtifactError(
            trace.path, "is not a log of trtexec or a TensorRT builder; give the log of a build"
        )


def find_log_failure(trace: BuildTrace) -> LogFailure | None:
    """Return why the last run of a log failed; None if it did not."""
    return find_failure(trace) if trace.has_errors else None


# The result


def result_section(join: BuildJoin, engine: Engine | None = None) -> Section:
    """Return how the run ended, and what matters most of its content."""
    trace = join.trace
    failure, facts = find_log_failure(trace), with_log(Facts(), trace, "log")
    options = {} if trace.only_loads else trace.options.build
    counts = trace.count_messages()
    texts = {
        **(_describe_failure(trace, failure) if failure else {}),
        "Latency": _describe_latency(trace, facts),
        "Stability": _describe_stability(trace, facts),
        "Runs": _describe_runs(trace),
        "Slowest layer": _describe_profile(trace),
        "DLA": _describe_dla(trace, engine),
        "Requests": _describe_requests(trace, engine),
        **(_describe_skipped(trace) if not failure else {}),
        "Longest phase": _describe_phase(trace),
        "Layers": _describe_layers(join),
        "TensorRT": " on ".join(
            filter(None, (_describe_version(trace), trace.options.device.get("Selected Device")))
        ),
        "Precision": options.get("Precision", ""),
        "Workspace": _describe_workspace(trace, options.get("Memory Pools", "")),
        "Shapes": _describe_shapes(trace),
        "Memory": _describe_memory(facts),
        "Messages": f"{plural(counts['W'], 'warning')}, {plural(counts['E'] + counts['F'], 'error')}",
    }
    shown = [
        Fact(Column("", title), None, "\n".join(map(printable, text.split("\n"))))
        for title, text in texts.items()
        if text
    ]
    return Section("build", _describe_end(trace, failure), shown, is_warning=failure is not None)


def _describe_end(trace: BuildTrace, failure: LogFailure | None) -> str:
    run, seconds = trace.runs[-1] if trace.runs else None, build_seconds(trace)
    if failure is not None:
        passed = " although trtexec printed PASSED" if run is not None and run.status == "PASSED" else ""
        return f"{'Failed' if failure.is_certain else 'Probably failed'}{passed}"
    has_results = trace.performance or trace.averages or trace.profile
    parts = ["engine loaded"] if trace.only_loads else []
    if seconds is not None:
        parts = [f"engine built in {seconds:.3f} s"]
    parts += ["inference measured"] if has_results else []
    what = ", ".join(parts)
    if run is None:
        return f"{what[:1].upper()}{what[1:]}" or "No result in the log"
    status = run.status.capitalize() if run.status else "Unfinished (the log ends before trtexec does)"
    return f"{status}: {what}" if what else status


def _describe_failure(trace: BuildTrace, failure: LogFailure) -> dict[str, str]:
    place = f"{describe_file(trace.path)}:{failure.line}"
    return {"Cause": failure.cause, "Remedy": failure.remedy, "Line": place, "Reason": failure.reason or ""}


def _describe_latency(trace: BuildTrace, facts: Facts) -> str:
    parts = []
    for label, word in (("Latency", ""), ("GPU Compute Time", "compute "), ("Enqueue Time", "enqueue ")):
        if (latency := facts.latency(label)) is not None:
            value, name = (latency.median_ms, "median") if latency.median_ms else (latency.mean_ms, "mean")
            p99 = latency.percentiles_ms.get(99.0)
            tail = f", p99 {p99:.5g} ms" if p99 is not None and not parts else ""
            parts += [f"{word}{name} {value:.5g} ms{tail}"] if value is not None else []
    known = [row.gpu_ms for row in trace.averages if row.gpu_ms is not None]
    if known and trace.performance is None:
        parts.append(f"compute of {plural(len(known), 'group')} {min(known):.5g} to {max(known):.5g} ms")
    if facts.throughput_qps is not None:
        doubt = doubt_throughput(facts)
        parts.append(doubt or f"{facts.throughput_qps:.5g} qps")
    return "; ".join(parts)


def _describe_stability(trace: BuildTrace, facts: Facts) -> str:
    variation = trace.performance.variation_pct if trace.performance else None
    latency, bursts = (
        facts.latency("Latency") or facts.latency("GPU Compute Time"),
        find_bursts(trace.averages),
    )
    parts = [] if variation is None else [f"unstable: coefficient of variation {variation:.1f} % (log)"]
    if parts and latency and latency.median_ms and (p99 := latency.percentiles_ms.get(99.0)):
        parts.append(f"p99 {p99 / latency.median_ms:.1f} times the median")
    if bursts is not None:
        slow = f"{bursts.slow_groups} of {bursts.groups} groups take {bursts.slow_ms:.4g} ms"
        parts.append(f"bursts: {slow} instead of {bursts.median_ms:.4g}, every {bursts.every:.0f} groups")
    return "; ".join(parts)


def list_runs(trace: BuildTrace) -> list[dict[str, Any]]:
    """Return the measured runs of a log: number, line, is_shown, median_ms, sum_ms, layers, throughput, options."""
    options = differing_options([run.run.command if run.run else "" for run in trace.measured])
    rows = []
    for run, words in zip(trace.measured, options, strict=True):
        values = run.performance.values if run.performance else {}
        latency = parse_latency(values.get("Latency")) or parse_latency(values.get("GPU Compute Time"))
        times = (
            [row.average_ms for row in run.profile.rows if row.average_ms is not None] if run.profile else []
        )
        row = {"number": run.number, "line": run.line, "is_shown": run.is_shown, "options": words or None}
        row |= {
            "median_ms": latency and latency.median_ms,
            "throughput_qps": number_in(values.get("Throughput")),
        }
        rows.append(row | {"layers": len(times) or None, "sum_ms": math.fsum(times) if times else None})
    return rows


def _describe_runs(trace: BuildTrace) -> str:
    """Return a line per measured run: its time, and the options that not all runs have."""
    lines = []
    for row in list_runs(trace) if len(trace.measured) > 1 else ():
        parts = [f"median {row['median_ms']:.5g} ms"] if row["median_ms"] else []
        parts += [f"{row['throughput_qps']:.5g} qps"] if row["throughput_qps"] else []
        parts += [f"{plural(row['layers'], 'layer')} of {row['sum_ms']:.5g} ms"] if row["layers"] else []
        parts += [shorten_middle(row["options"], _LONGEST)] if row["options"] else []
        lines.append(f"{row['number']}{' (shown)' if row['is_shown'] else ''}: {', '.join(parts)}")
    more = [f"and {len(lines) - _MOST_RUNS} more"] if len(lines) > _MOST_RUNS else []
    return "\n".join([*lines[:_MOST_RUNS], *more])


def _describe_profile(trace: BuildTrace) -> str:
    profile = find_profile(trace)
    rows = [row for row in profile.rows if row.average_ms is not None] if profile else []
    whole = (profile and profile.stated_total_ms) or sum(row.average_ms or 0.0 for row in rows)
    if profile is None or not whole:
        return ""
    slowest = max(rows, key=lambda row: row.average_ms or 0.0)
    share = f"{100.0 * (slowest.average_ms or 0.0) / whole:.1f} % of {whole:.4g} ms"
    over = f"{plural(len(rows), 'layer')}, {profile.iterations} iterations"
    missing = f"; rows of {profile.missing_pct:.0f} % of the time are missing" if profile.missing_pct else ""
    return f"{shorten_middle(shorten_name_list(slowest.name), 100)}: {share} ({over}){missing}"


def _describe_dla(trace: BuildTrace, engine: Engine | None) -> str:
    dla, parts = trace.dla, []
    if dla.dla_layers:
        parts.append(f"{plural(len(dla.dla_layers), 'layer')} on the DLA, {len(dla.gpu_layers)} on the GPU")
    reasons = Counter(fallback.reason for fallback in dla.fallbacks if fallback.layer)
    if reasons:
        words = ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
        parts.append(f"{plural(reasons.total(), 'layer falls', 'layers fall')} back to the GPU: {words}")
    parts += [f"all layers fall back: {fallback.reason}" for fallback in dla.fallbacks if not fallback.layer]
    if engine is not None and len(engine.dla_blocks) and engine.has_profile:
        for block in dla_times(engine).dropna(subset=["execution_ms", "wait"]).itertuples():
            wait = shorten_middle(shorten_name_list(engine.layers["name"][block.wait]), 80)
            parts.append(f"block of {block.execution_ms:.4g} ms, timed in {wait}")
    return "; ".join(parts)


def _describe_requests(trace: BuildTrace, engine: Engine | None) -> str:
    frame = requests_section(trace, engine).frame
    assert frame is not None
    states = Counter(frame["state"].fillna("unknown"))
    words = ", ".join(f"{count} {state}" for state, count in states.most_common())
    return f"{plural(len(frame), 'layer')} by name: {words}" if len(frame) else ""


def _describe_skipped(trace: BuildTrace) -> dict[str, str]:
    """Return how many tactics lacked memory, with the remedy if it is the device's."""
    texts, remedies = [], []
    for reason in ("device memory", "workspace"):
        own = [tactic for tactic in trace.skipped if tactic.reason == reason]
        needs = [tactic.requested_bytes for tactic in own if tactic.requested_bytes]
        there = [tactic.available_bytes for tactic in own if tactic.available_bytes is not None]
        if own:
            size = f" of up to {format_bytes(max(needs))}" if needs else ""
            limit = (
                f" ({format_bytes(min(there))} {'free' if reason == 'device memory' else 'allowed'})"
                if there
                else ""
            )
            texts.append(f"{plural(len(own), 'tactic')} for lack of {reason}{size}{limit}")
        known = recognise(tactic.message for tactic in own) if reason == "device memory" else None
        remedies += [known.remedy(find_producer(trace), trace.tensorrt_version)] if known else []
    return {"Skipped": "; ".join(texts), "Remedy": "".join(remedies)}


def _describe_phase(trace: BuildTrace) -> str:
    table, whole = phase_totals(trace), build_seconds(trace)
    steps = table[~table["kind"].isin(_NO_STEPS)]
    if steps.empty or not whole or trace.only_loads or steps["seconds"].max() < _LEAST_SHARE * whole:
        return ""
    kind, strategy, seconds, _ = steps.loc[steps["seconds"].idxmax()]
    of, kept = "", ""
    if len(trace.strategies) > 1:
        of = f" of strategy {strategy}" if pd.notna(strategy) else ""
        kept = f"; of {len(trace.strategies)} strategies, {trace.winner} is kept"
    return f"{kind}{of}, {seconds:.3f} s ({100.0 * seconds / whole:.0f} % of the build){kept}"


def _describe_layers(join: BuildJoin) -> str:
    counts, ties = tuning_totals(join.trace), len(near_ties(join.choices))
    parts = [f"{len(join.choices)} in the engine"] if join.choices else []
    if counts["layers"]:
        parts.append(f"{counts['layers']} tuned, {format_count(counts['tactics'])} tactics timed")
    parts += [plural(ties, "near tie")] if ties else []
    return "; ".join(parts)


def _describe_version(trace: BuildTrace) -> str:
    source = f" (from {trace.tensorrt_library})" if trace.tensorrt_library else ""
    return f"{trace.tensorrt_version}{source}" if trace.tensorrt_version else ""


def _describe_workspace(trace: BuildTrace, pools: str) -> str:
    """Return the memory pools that are not at their default, beside what the command asked for."""
    sizes = [part for part in pools.split(", ") if not part.endswith("default")]
    run = trace.shown_run
    given = [
        f"--{name}={value}" for name in ("memPoolSize", "workspace") if run and (value := run.argument(name))
    ]
    return "; ".join([", ".join(sizes).removeprefix("workspace: "), *given]) if sizes else ", ".join(given)


def _describe_shapes(trace: BuildTrace) -> str:
    """Return the shapes of the build and of the run; that they differ from those the tactics were tuned for."""
    built = next(
        (
            text
            for label, text in trace.options.build.items()
            if label.startswith("Input build shape (") or label == "Input build shape"
        ),
        "",
    )
    ran = next(
        (text for label, text in trace.run_options.inference.items() if label == "Input inference shape"), ""
    )
    ranges = dict(part.split("=", 1) for part in built.split(",") if part.count("+") == 2 and "=" in part)
    shapes = {
        name: shape
        for part in ran.split(",")
        if "x" in part or part
        for name, _, shape in [part.replace("=", ":").rpartition(":")]
    }
    shown = [
        f"{name} {low} to {high}, tuned for {best}"
        for name, text in ranges.items()
        for low, best, high in [text.split("+")]
        if low != high
    ]
    parts = (
        [shown[0] + (f", and {plural(len(shown) - 1, 'more input')}" if len(shown) > 1 else "")]
        if shown
        else []
    )
    if ran and parts:
        others = [
            name for name, shape in shapes.items() if name in ranges and shape != ranges[name].split("+")[1]
        ]
        first = next(iter(others or shapes))
        parts.append(
            f"run at {first} {shapes[first]}"
            + (": not the shape that tactics were tuned for" if others else "")
        )
    return "; ".join(parts)


def _describe_memory(facts: Facts) -> str:
    memory = facts.memory
    sizes = {
        "weights": memory.weights_bytes, "activations": memory.activation_bytes, "scratch": memory.scratch_bytes,
        "persistent": memory.persistent_bytes, "execution context": memory.context_bytes,
    }  # fmt: skip
    engine = f"{memory.engine_mib} to {memory.engine_mib + 1} MiB" if memory.engine_mib else ""
    engine = format_bytes(memory.engine_bytes) if memory.engine_bytes else engine
    parts = [f"engine {engine}"] if engine else []
    return ", ".join([*parts, *(f"{name} {format_bytes(size)}" for name, size in sizes.items() if size)])


# The rest


def _run_sections(trace: BuildTrace, top: int | None) -> Iterator[Section]:
    """Yield what a run measured, as printed: the summary, averages, and time per layer."""
    if trace.performance is not None:
        values = trace.performance.values.items()
        facts = [Fact(Column("", printable(label)), None, printable(text)) for label, text in values]
        yield Section("run_summary", f"Performance, as printed (line {trace.performance.line})", facts)
    if trace.averages:
        omitted = trace.omitted_queries
        more = f"; trtexec omitted {plural(omitted, 'query', 'queries')}" if omitted else ""
        over = f"{plural(len(trace.averages), 'line')} over {plural(sum(row.runs for row in trace.averages), 'run')}"
        title = f"Averages: {over} (line {trace.averages[0].line}){more}"
        yield Section("run_averages", title, list(_average_facts(trace)))
    table = trace.profile
    if table is not None and table.rows:
        over = "" if table.iterations is None else f" over {plural(table.iterations, 'iteration')}"
        whole = f"; total {table.total.average_ms:.4g} ms" if table.total and table.total.average_ms else ""
        title = f"Profile: {plural(len(table.rows), 'layer')}{over}{whole} (line {table.line})"
        keys = {
            "total_ms": "Total ms",
            "average_ms": "Average ms",
            "median_ms": "Median ms",
            "percentage": "Time %",
        }
        frame = pd.DataFrame(sorted(table.rows, key=lambda row: -(row.total_ms or 0.0))).astype(
            dict.fromkeys(keys, FLOAT)
        )
        columns = [
            Column("name", "Layer", width=24),
            *(Column(key, heading) for key, heading in keys.items()),
        ]
        names = ShortNames.of_layers((row.name, row.name) for row in table.rows)
        yield limit_rows(
            Section(
                "run_profile", title, frame=frame, columns=columns, noun="layer", shorten={"name": names.fit}
            ),
            top,
        )


def _average_facts(trace: BuildTrace) -> Iterator[Fact]:
    for key, title in _SERIES.items():
        known = [(value, row.runs) for row in trace.averages if (value := getattr(row, key)) is not None]
        if weight := sum(count for _, count in known):
            mean = sum(value * count for value, count in known) / weight
            words = f"{min(known)[0]:.4f} to {max(known)[0]:.4f} ms, mean {mean:.4f} ms"
            yield Fact(Column("", title), None, words)


def _log_section(trace: BuildTrace) -> Section:
    """Return the log, the commands of its runs, and further facts about the build."""
    cache, streams, onnx = trace.cache, trace.streams, trace.onnx
    kept = [reformat for reformat in trace.reformats if reformat.strategy in (trace.winner, None)]
    costs = [reformat.cost_ms for reformat in kept if reformat.cost_ms is not None]
    producer = " ".join(filter(None, (onnx.get("Producer name"), onnx.get("Producer version"))))
    versions = {
        "": onnx.get("Input filename"),
        "opset ": onnx.get("Opset version"),
        "IR ": onnx.get("ONNX IR version"),
        "by ": producer,
    }
    parts: Mapping[str, Sequence[str | None]] = {
        "File": (f"{describe_file(trace.path)}, {plural(trace.lines, 'line')}",
                 None if trace.stated_seconds is None else f"{trace.stated_seconds:.0f} s"),
        "ONNX": [f"{word}{text}" for word, text in versions.items() if text],
        "Timing cache": (
            cache.mode,
            f"{cache.unreadable} could not be read" if cache.unreadable else None,
            cache.file if cache.file != cache.unreadable else None,
            None if cache.loaded_bytes is None else f"{format_bytes(cache.loaded_bytes)} loaded",
            None if cache.saved_bytes is None else f"{format_bytes(cache.saved_bytes)} saved",
            None if cache.entries is None else plural(cache.entries, "entry", "entries"),
            None if cache.hits is None else plural(cache.hits, "hit"),
            f"{plural(cache.cached_results, 'result')} reused within the build" if cache.cached_results else None,
        ),
        "Streams": (
            None if streams.streams is None else plural(streams.streams, "stream"),
            None if streams.auxiliary is None else f"{streams.auxiliary} auxiliary",
            None if streams.events is None else plural(streams.events, "event"),
            f"single stream ({streams.disabled_because})" if streams.disabled_because else None,
        ),
        "Reformats": (f"{len(kept)} inserted" if kept else None, f"{sum(costs):.6f} ms when they were timed" if costs else None),
        "Not as requested": trace.non_conforming,
    }  # fmt: skip
    texts = [(run.status or "Unfinished", f"{run.program} {run.command}") for run in trace.runs]
    texts += [(title, ", ".join(filter(None, words))) for title, words in parts.items()]
    facts = [Fact(Column("", printable(title)), None, printable(text)) for title, text in texts if text]
    return Section("build_log", "Log", facts)


def _values(join: BuildJoin, numbers: Sequence[int] | None) -> dict[str, Any]:
    """Return what the log states, verbatim.

    Args:
        numbers: The tunings to include; None for all, with the costs of reformats.
    """
    trace = join.trace
    return {
        "file": str(trace.path),
        **{name: getattr(trace, name) for name in _VERBATIM},
        "failure": find_log_failure(trace),
        "measured_runs": list_runs(trace),
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
        "agrees",
        "margin_pct",
        "precision",
        "reformat",
        "reused_from",
        "chosen",
        "fastest",
        "second",
        "tactic_id",
    )
    other, combination = choice.other_precision, choice.combination
    return {name: getattr(choice, name) for name in names} | {
        "formats": combination.text if combination else None,
        "formats_are_certain": combination is not None and not choice.is_ambiguous,
        "other_precision": other and {"precision": other.precision, "time_ms": other.time_ms},
    }
