"""An engine: the object of `summary --json`, its facts in display order, and its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from trex_tui.old.analysis.columns import derived
from trex_tui.old.analysis.conditions import capture_document, capture_facts, doubts
from trex_tui.old.analysis.dla import total_by_device
from trex_tui.old.analysis.gap import gap
from trex_tui.old.analysis.memory import activation_memory, traffic_bytes
from trex_tui.old.analysis.modules import by_module, describe_fusion
from trex_tui.old.analysis.structure import (
    Total,
    by_stream,
    critical_path,
    describe_streams,
    device_transitions,
    reformat_latency_ms,
    reformats,
    total_by_kind,
    total_by_precision,
)
from trex_tui.old.analysis.timing import (
    SUMMARY_PERCENTILES,
    TimingStatistics,
    end_to_end,
    enqueue_against_compute,
    timing_statistics,
)
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.artifacts.input_files import gc_paused
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.errors import Diagnostic, Severity
from trex_tui.old.fleet.split_model import find_split_models
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.document import TOP, Cell, Column, Section, Table, format_number
from trex_tui.old.report.render_json import diagnostic_object, plain
from trex_tui.old.report.views.dla import dla_document, dla_sections
from trex_tui.old.report.views.plan import Plan, binding_object, find_plan, plan_document, plan_sections
from trex_tui.old.report.views.runs import run_document, run_sentences
from trex_tui.old.report.views.totals import by_tensor_cores
from trex_tui.old.text import format_bytes, format_count, format_ms, format_pct, plural, printable

if TYPE_CHECKING:
    from trex_tui.old.report.views.lint import EngineReport

SUMMARY_SCHEMA = "trex-tui/summary/2"
MOST_TENSORS = 10
MOST_REFORMATS = 10


def numbers(engine: Engine) -> dict[str, Any]:
    """Return memory, compute, roofline, timing, gap and structure for `summary --json`; unknown values are null."""
    facts = derived(engine)
    statistics = timing_statistics(engine)
    return {
        "memory": _memory(engine),
        "compute": _compute(engine),
        "device_model": plain(facts.roofline.device),
        "roofline": {
            "floor_ms": facts.roofline.floor_ms,
            "layers_by_bound": plain(facts.roofline.counts),
            "latency_ms_by_bound": plain(facts.roofline.latency_ms_by_bound),
            "roof_pct_by_bound": plain(facts.roofline.roof_pct_by_bound(engine.layers)),
            "notes": plain(facts.roofline.sentences),
            "assumptions": plain(facts.roofline.assumptions),
        },
        "timing": plain(statistics),
        "enqueue": plain(enqueue_against_compute(engine, statistics)),
        "gap": plain(gap(engine, statistics)),
        "structure": _structure(engine),
        "dla": dla_document(engine),
        "power": _power(engine),
        "onnx": _onnx(engine),
        "session": _session(engine),
    }


def _memory(engine: Engine) -> dict[str, Any]:
    memory = activation_memory(engine)
    peak = engine.layers[memory.peak_index] if memory.peak_index is not None else None
    return {
        "traffic_bytes": traffic_bytes(engine),
        "peak_live_activation_bytes": memory.peak_bytes,
        "peak_layer": plain(peak),
        "live_at_peak": plain(memory.live_at_peak[:MOST_TENSORS]),
        "live_at_peak_count": len(memory.live_at_peak),
        "tensors_of_unknown_size": memory.unknown,
        "stated": plain(engine.metadata.memory),
    }


def _compute(engine: Engine) -> dict[str, Any]:
    computes = derived(engine).compute
    known = [macs for compute in computes if (macs := compute.macs) is not None]
    reasons = Counter(map(attrgetter("reason"), computes))
    return {
        "macs": sum(known) if known else None,
        "layers_with_macs": len(known),
        "layers_without_macs": {reason: count for reason, count in reasons.items() if reason},
        "by_tensor_cores": {total.key: plain(total) for total in by_tensor_cores(engine)},
    }


def _power(engine: Engine) -> dict[str, Any] | None:
    if engine.monitor is None:
        return None
    from trex_tui.old.report.views.power import power_document  # 5 ms, and most engines have no samples

    return power_document(engine)


def _session(engine: Engine) -> dict[str, Any] | None:
    if engine.session is None:
        return None
    from trex_tui.old.report.views.session import session_document  # few sets have the profile of a session

    return session_document(engine)


def _onnx(engine: Engine) -> dict[str, Any] | None:
    if engine.onnx is None:
        return None
    from trex_tui.old.report.views.onnx_model import onnx_document  # most engines have no model

    return onnx_document(engine)


def _structure(engine: Engine) -> dict[str, Any]:
    path, changes = critical_path(engine), reformats(engine)
    return {
        "critical_path": None
        if path is None
        else {
            "latency_ms": path.latency_ms,
            "latency_pct": path.latency_pct,
            "layers": [layer.index for layer in path.layers],
        },
        "streams": plain(by_stream(engine)),
        "streams_note": describe_streams(engine),
        "device_transitions": plain(device_transitions(engine)),
        "reformats": {
            "layers": len(changes),
            "latency_ms": reformat_latency_ms(engine),
            "slowest": plain(changes[:MOST_REFORMATS]),
        },
        "by_module": plain(by_module(engine)),
        "by_module_note": describe_fusion(engine.layers),
    }


def number_sentences(engine: Engine) -> dict[str, list[str]]:
    """Return the numbers as sentences, by label."""
    facts = derived(engine)
    lines = {
        "Compute": [_compute_text(engine)],
        "Activations": [_memory_text(engine)],
        "Streams": [describe_streams(engine)],
    }
    path = critical_path(engine)
    if path is not None:
        share = f"{format_ms(path.latency_ms)} ms, {format_pct(path.latency_pct)} % of all layers"
        lines["Critical path"] = [f"{share}, over {plural(len(path.layers), 'layer')}"]
    changes = reformats(engine)
    if changes:
        latency_ms = reformat_latency_ms(engine)
        time = "time unknown" if latency_ms is None else f"{format_ms(latency_ms)} ms"
        lines["Reformats"] = [f"{plural(len(changes), 'layer')}, {time}"]
    bounds = [*_roof_shares(engine), *facts.roofline.sentences[:2]]
    if bounds:
        lines["Bound by"] = [printable(sentence) for sentence in bounds]
    difference = gap(engine, timing_statistics(engine))
    if difference is not None and difference.sentences:
        lines["Gap"] = list(difference.sentences)
    return lines


def _roof_shares(engine: Engine) -> list[str]:
    """Return the share of the roof that the layers of each bound reach, as a sentence; none if no bound is known."""
    by_share = derived(engine).roofline.roof_pct_by_bound(engine.layers)
    shares = [f"{bound.value} {share:.0f} %" for bound, share in by_share.items()]
    return [f"share of the roof: {', '.join(shares)}"] if shares else []


def _compute_text(engine: Engine) -> str:
    compute = _compute(engine)
    if not engine.layers:
        return "unknown: no layers"
    if compute["macs"] is None:
        reasons = compute["layers_without_macs"]
        if not reasons and all(layer.layer_type is None for layer in engine.layers):
            return "unknown: layer names only"
        return f"unknown: {next(iter(reasons))}" if reasons else "no convolution, GEMM or attention"
    words = f"{format_count(compute['macs'])}MAC in {plural(compute['layers_with_macs'], 'layer')}"
    missing = sum(compute["layers_without_macs"].values())
    words += f", unknown for {missing}" if missing else ""
    on = [
        f"{total.key} {format_pct(total.latency_pct)} %"
        for total in by_tensor_cores(engine)
        if total.latency_pct
    ]
    return words + (f"; on tensor cores: {', '.join(on)} of the time" if on else "")


def _memory_text(engine: Engine) -> str:
    memory = activation_memory(engine)
    if memory.peak_bytes is None or memory.peak_index is None:
        stated = engine.metadata.memory
        if stated.activation_bytes is not None:
            return _stated(stated.activation_bytes)
        if stated.context_bytes is not None:
            return _stated(stated.context_bytes, "execution context, ")
        return "unknown"
    at_least = "at least " if memory.unknown else ""
    words = f"{at_least}{format_bytes(memory.peak_bytes)} live at once, at layer {memory.peak_index}; "
    traffic = traffic_bytes(engine)
    if traffic is None:
        return words + "traffic unknown (missing tensor or weight sizes)"
    return words + f"traffic {format_bytes(traffic)} per inference, weights included"


def summary_document(engines: Iterable[Engine], diagnostics: Iterable[Diagnostic] = ()) -> dict[str, Any]:
    """Return the object that `summary --json` prints. Absent facts are None.

    Args:
        engines: In the order they were found.
        diagnostics: Those that belong to no engine.
    """
    from trex_tui.old.report.views.split_model import split_model_documents  # only a command needs it

    every = list(engines)
    with gc_paused():
        summaries = [engine_summary(engine) for engine in every]
    return {
        "schema": SUMMARY_SCHEMA,
        "engines": summaries,
        "split_models": split_model_documents(find_split_models(every)),
        "diagnostics": [diagnostic_object(diagnostic) for diagnostic in diagnostics],
    }


def engine_summary(engine: Engine) -> dict[str, Any]:
    """Return one element of `engines` in `summary --json`."""
    latency, plan = end_to_end(engine), plan_document(engine)
    return {
        "name": engine.name,
        "files": {kind.value: str(path) for kind, path in engine.files.items()},
        "tensorrt_version": engine.tensorrt_version,
        "tensorrt_version_source": engine.tensorrt_version_source,
        "device": engine.device_name,
        "precision": engine.precision.value if engine.precision else None,
        "builder_precision": plan["builder"]["precision"],
        "layers": len(engine.layers) if engine.has_graph or engine.has_profile else None,
        "names_only": engine.names_only,
        "layer_details_source": engine.layer_details_source,
        "optimization_profile": engine.optimization_profile,
        "optimization_profiles": engine.optimization_profiles,
        "runs": [run_document(run) for run in engine.runs],
        "bindings": {
            "inputs": [binding_object(binding) for binding in engine.bindings if binding.is_input],
            "outputs": [binding_object(binding) for binding in engine.bindings if binding.is_input is False],
            "undetermined": [
                binding_object(binding) for binding in engine.bindings if binding.is_input is None
            ],
        },
        "by_kind": _totals(total_by_kind(engine)),
        "by_precision": _totals(total_by_precision(engine)),
        "by_device": _totals(total_by_device(engine)),
        "latency_sum_ms": engine.latency_sum_ms,
        "profile_iterations": engine.profile_iterations,
        "throughput_qps": latency.throughput_qps if latency else None,
        "latency": _latency(engine),
        "weights_bytes": engine.weights_bytes,
        "known_weights_bytes": engine.known_weights_bytes,
        "layers_hiding_weights": engine.layers_hiding_weights,
        **numbers(engine),
        "plan": plan,
        "capture": capture_document(engine),
        "diagnostics": [diagnostic_object(diagnostic) for diagnostic in engine.diagnostics],
    }


def _totals(totals: Sequence[Total]) -> dict[str, dict[str, float | int | None]]:
    return {
        total.key: {
            "layers": total.layers,
            "latency_ms": total.latency_ms,
            "latency_pct": total.latency_pct,
        }
        for total in totals
    }


def _latency(engine: Engine) -> dict[str, Any] | None:
    latency = end_to_end(engine)
    if latency is None:
        return None
    summary = latency.summary
    percentiles = dict.fromkeys(SUMMARY_PERCENTILES) | summary.percentiles_ms
    return {
        "min_ms": summary.min_ms,
        "mean_ms": summary.mean_ms,
        "median_ms": summary.median_ms,
        "max_ms": summary.max_ms,
        **{f"p{percentile:g}_ms": value for percentile, value in sorted(percentiles.items())},
        "source": latency.source,
        "queries": latency.queries,
        "warmup_queries": latency.warmup_queries,
    }


def engine_sections(
    engine: Engine, analysis: Analysis | None, now: datetime | None = None
) -> Iterator[Section]:
    """Yield sections of an engine for the Overview, `summary` and the report; a section added here is in all of them.

    Args:
        analysis: None while it is computed; its facts are `…` until then, and the plan is omitted.
        now: To state how old the capture is; None to omit that.
    """
    yield Section("engine", "Engine", facts=engine_facts(engine))
    if engine.runs:
        yield Section("runs", "Runs", sentences=run_sentences(engine.runs))
    yield from dla_sections(engine)
    if analysis is not None:
        yield from plan_sections(analysis.plan)
    yield Section("work", "Work", facts=work_facts(engine, analysis))
    if analysis is not None and engine.monitor is not None:
        from trex_tui.old.report.views.power import power_sections  # 5 ms, and most engines have no samples

        yield from power_sections(engine)
    if engine.session is not None:
        from trex_tui.old.report.views.session import session_sections  # as in _session

        yield from session_sections(engine)
    if engine.onnx is not None:
        from trex_tui.old.report.views.onnx_model import onnx_sections

        yield from onnx_sections(engine)
    if conditions := condition_facts(engine, now):
        doubts = doubt_sentences(engine)
        yield Section("capture", "Capture", sentences=doubts, facts=conditions, is_warning=bool(doubts))
    files = [
        (kind.value.replace("_", " ").capitalize(), printable(path.name))
        for kind, path in engine.files.items()
    ]
    yield Section("files", "Files", facts=files)


def engine_facts(engine: Engine) -> list[tuple[str, str]]:
    """Return version, precision, layers and notes."""
    return [
        ("TensorRT", version_text(engine)),
        ("Precision", engine.precision.value if engine.precision else "unknown"),
        ("Layers", _layers_text(engine)),
        ("Notes", count_notes(engine)),
    ]


def has_log(engine: Engine) -> bool:
    """Return whether the log of a build or a run is in the set."""
    return ArtifactKind.BUILD_LOG in engine.files or ArtifactKind.PROFILE_LOG in engine.files


def version_text(engine: Engine) -> str:
    """Return the TensorRT version, with the library if its name is the source; or why it is unknown."""
    if engine.tensorrt_version is None:
        return "not in the log" if has_log(engine) else "unknown (needs a log or a plan)"
    kind, separator, library = (engine.tensorrt_version_source or "").partition(": ")
    source = f" (from {printable(library)} in the {kind.replace('_', ' ')})" if separator else ""
    return printable(engine.tensorrt_version) + source


def doubt_sentences(engine: Engine) -> list[str]:
    """Return doubts about the measurement, from the manifest of the capture."""
    texts = [printable(doubt.text) for doubt in doubts(engine)]
    return [f"{text[:1].upper()}{text[1:]}." for text in texts]


def _layers_text(engine: Engine) -> str:
    if not engine.has_graph and not engine.has_profile:
        on_dla = len(engine.metadata.dla_layers)
        known = f", {on_dla} on the DLA" if on_dla else ""
        return f"unknown{known} (needs layer information or a profile)"
    idle = sum(not layer.kind.is_work for layer in engine.layers)
    words = f"{len(engine.layers)}" + (f" ({idle} no-op)" if idle else "")
    if engine.names_only:
        words += "; names only"
    elif engine.layer_details_source is not None:
        words += f"; types, shapes and tactics from the {engine.layer_details_source.replace('_', ' ')}"
    if engine.optimization_profiles > 1:
        words += f"; optimization profile {engine.optimization_profile} of {engine.optimization_profiles}"
    return words


def describe_weights(engine: Engine, layers: Sequence[Layer]) -> str:
    """Describe the weights of some layers, as far as they are known."""
    if engine.stated_weights_bytes is not None and len(layers) == len(engine.layers):
        return _stated(engine.stated_weights_bytes)
    known = [layer.weights_bytes for layer in layers if layer.weights_bytes is not None]
    hidden = len(layers) - len(known)
    if engine.known_weights_bytes is None or not known:
        return "unknown"
    size = format_bytes(sum(known))
    if hidden and not sum(known):
        return f"unknown: missing for {plural(hidden, 'layer')}"
    return f"at least {size}; missing for {plural(hidden, 'layer')}" if hidden else size


def _profile_text(engine: Engine) -> str:
    if engine.latency_sum_ms is None:
        why = "unreadable profile" if engine.profile_unread else "no profile"
        why = "no layer times in the profile" if engine.has_profile else why
        return f"unknown: {why}"
    words = f"sum {format_ms(engine.latency_sum_ms)} ms"
    if engine.profile_iterations is not None:
        words += f" over {plural(engine.profile_iterations, 'iteration')}"
        if engine.profile_iterations == 1:
            words += " (a single sample per layer)"
    return words


@dataclass(frozen=True, slots=True)
class Analysis:
    """Timing statistics and sentences that take a while to compute.

    Attributes:
        statistics: Of the timing run; None if no file has any.
        sentences: By label.
        plan: Model, device, build and run of the engine.
    """

    statistics: TimingStatistics | None
    sentences: Mapping[str, Sequence[str]]
    plan: Plan


@dataclass(frozen=True, slots=True)
class EngineSubject:
    """An engine with the results for its sections.

    Attributes:
        summary: The engine's part of `summary --json`.
        top: Maximum rows of a table; None for all.
    """

    engine: Engine
    summary: Mapping[str, Any]
    analysis: Analysis
    lint: EngineReport
    top: int | None = TOP


def make_subject(lint: EngineReport, top: int | None = TOP) -> EngineSubject:
    """Compute all results for an engine: seconds for 20 000 layers."""
    engine = lint.engine
    return EngineSubject(engine, engine_summary(engine), analyse(engine), lint, top)


def analyse(engine: Engine) -> Analysis:
    """Compute the analysis: up to a second for 20 000 layers or long timing runs."""
    return Analysis(timing_statistics(engine), number_sentences(engine), find_plan(engine))


def condition_facts(engine: Engine, now: datetime | None = None) -> list[tuple[str, str]]:
    """Return machine and conditions of the capture; empty without a manifest."""
    return [(label, printable(text)) for label, text in capture_facts(engine, now)]


def memory_facts(engine: Engine, analysis: Analysis | None) -> list[tuple[str, str]]:
    """Return weights and activations; `…` while they are computed."""
    weights = describe_weights(engine, engine.layers)
    more = [fact for fact in stated_memory_facts(engine) if fact[0] not in ("Weights", "Activations")]
    return [("Weights", weights), *_number_facts(analysis, ("Activations",)), *more]


def stated_memory_facts(engine: Engine) -> list[tuple[str, str]]:
    """Return memory as stated in the logs of the set; may be empty."""
    stated = engine.metadata.memory
    sizes = {
        "Weights": stated.weights_bytes,
        "Activations": stated.activation_bytes,
        "Scratch": stated.scratch_bytes,
        "Context": stated.context_bytes,
    }
    facts = [(label, _stated(size)) for label, size in sizes.items() if size is not None]
    size = describe_engine_size(stated.engine_bytes, stated.engine_mib)
    return [*facts, ("Engine size", f"{size} (stated in the log)")] if size else facts


def describe_engine_size(size: int | None, whole_mib: int | None) -> str:
    """Return the size of a serialized engine, as precisely as stated; empty if unknown.

    >>> describe_engine_size(None, 6), describe_engine_size(None, 0)
    ('6 to 7 MiB', 'under 1 MiB')
    """
    if size is not None:
        return format_bytes(size)
    if whole_mib is None:
        return ""
    return f"{whole_mib} to {whole_mib + 1} MiB" if whole_mib else "under 1 MiB"


def _stated(size: int, what: str = "") -> str:
    return f"{format_bytes(size)} ({what}stated in the log)"


def work_facts(engine: Engine, analysis: Analysis | None) -> list[tuple[str, str]]:
    """Return weights, activations, layer times, compute, streams, critical path and reformats; `…` while computed."""
    return [
        *memory_facts(engine, analysis),
        ("Layer times", _profile_text(engine)),
        *_number_facts(analysis, ("Compute", "Streams", "Critical path", "Reformats")),
    ]


def _number_facts(analysis: Analysis | None, labels: tuple[str, ...]) -> list[tuple[str, str]]:
    if analysis is None:
        return [(label, "…") for label in labels]
    return [(label, " ".join(analysis.sentences[label])) for label in labels if label in analysis.sentences]


def gap_sentences(engine: Engine, analysis: Analysis) -> Sequence[str]:
    """Return sentences on the sum of layer times and the end-to-end latency."""
    return analysis.sentences.get("Gap", ()) if engine.has_profile else ()


def bound_sentences(analysis: Analysis | None) -> list[str]:
    """Return sentences on layers that are not in the roofline."""
    lines = () if analysis is None else analysis.sentences.get("Bound by", ())
    return [f"{line[:1].upper()}{line[1:]}." for line in lines]


def count_notes(engine: Engine) -> str:
    """Count the diagnostics by severity."""
    if not engine.diagnostics:
        return "none"
    counts = Counter(diagnostic.severity for diagnostic in engine.diagnostics)
    names = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "remark"}
    return ", ".join(plural(counts[severity], names[severity]) for severity in Severity if counts[severity])


# Keys of the summary, name of the figure, its text, unit.
_FIGURES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("latency", "median_ms"), "Median latency, end to end", "ms"),
    (("latency", "p99_ms"), "Latency p99, end to end", "ms"),
    (("throughput_qps",), "Throughput", "qps"),
    (("power", "power_w", "mean"), "Power, mean", "W"),
    (("power", "power_w", "max"), "Power, peak", "W"),
    (("power", "energy_per_inference_j"), "Energy per inference", "J"),
    (("power", "inferences_per_joule"), "Inferences per joule", ""),
    (("latency_sum_ms",), "Sum of the layers' times", "ms"),
    (("layers",), "Layers", ""),
    (("compute", "macs"), "Multiply-accumulates", "MAC"),
    (("weights_bytes",), "Weights", ""),
    (("known_weights_bytes",), "Weights", ""),
    (("memory", "peak_live_activation_bytes"), "Activations live at once", ""),
    (("memory", "traffic_bytes"), "Traffic per inference", ""),
    (("structure", "critical_path", "latency_ms"), "Critical path", "ms"),
    (("structure", "reformats", "latency_ms"), "Reformats", "ms"),
)
_LOWER_BOUNDS = {
    "known_weights_bytes": ("layers_hiding_weights",),
    "peak_live_activation_bytes": ("memory", "tensors_of_unknown_size"),
}
"""Figure -> number of excluded items."""


def summary_sections(subject: EngineSubject) -> Iterator[Section]:
    """Yield the figures of the engine."""
    yield Section("summary", "Summary", tables=[figures_table(subject.summary)])


def detail_sections(subject: EngineSubject) -> Iterator[Section]:
    """Yield the facts of the engine."""
    yield from engine_sections(subject.engine, subject.analysis)


def figures_table(summary: Mapping[str, Any]) -> Table:
    """Return a row per known figure of an element of `engines` in `summary --json`."""
    columns = (
        Column("figure", "Key", is_hidden=True),
        Column("title", "Figure"),
        Column("value", "Value", is_number=True, help="As trex-tui summary --json has it."),
        Column("unit", "Unit"),
    )
    rows = []
    for keys, title, unit in _FIGURES:
        value = _at(summary, keys)
        if value is None or (keys == ("known_weights_bytes",) and summary["weights_bytes"] is not None):
            continue
        is_least = bool(_at(summary, _LOWER_BOUNDS.get(keys[-1], ("",))))
        text = ("at least " if is_least else "") + format_number(keys[-1], value)
        raw_unit = "bytes" if keys[-1].endswith("_bytes") else unit
        key = ".".join(keys)
        rows.append([key, title, Cell(value, text), Cell(raw_unit, unit)])
    return Table("figures", columns, rows)


def _at(document: Any, keys: tuple[str, ...]) -> Any:  # noqa: ANN401 - a part of a document
    for key in keys:
        document = document.get(key) if document else None
    return document
