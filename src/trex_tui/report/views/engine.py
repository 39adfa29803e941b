"""An engine: the object of `summary --json`, its facts in an order for people, and its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from trex_tui.analysis.columns import derived
from trex_tui.analysis.conditions import capture_document, capture_facts, doubts
from trex_tui.analysis.gap import gap
from trex_tui.analysis.memory import activation_memory, traffic_bytes
from trex_tui.analysis.modules import by_module, describe_fusion
from trex_tui.analysis.structure import (
    Total,
    by_stream,
    critical_path,
    describe_streams,
    device_transitions,
    reformat_latency_ms,
    reformats,
    total_by,
    total_by_kind,
    total_by_precision,
)
from trex_tui.analysis.timing import (
    SUMMARY_PERCENTILES,
    TimingStatistics,
    end_to_end,
    enqueue_against_compute,
    timing_statistics,
)
from trex_tui.artifacts.metadata import Metadata
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Binding, Layer
from trex_tui.engine.tactics import parse_tactic
from trex_tui.errors import Diagnostic, Severity
from trex_tui.report.document import TOP, Cell, Column, Section, Table, format_number, make_table
from trex_tui.report.render_json import diagnostic_object, plain
from trex_tui.report.render_text import print_bars, print_facts
from trex_tui.text import format_bytes, format_count, format_ms, format_pct, format_shape, plural, printable

if TYPE_CHECKING:
    from rich.console import Console

    from trex_tui.report.views.lint import EngineReport

SUMMARY_SCHEMA = "trex-tui/summary/2"
MOST_TENSORS = 10
MOST_REFORMATS = 10


def numbers(engine: Engine) -> dict[str, Any]:
    """Memory, compute, roofline, timing, gap and structure for `summary --json`; unknown values are null."""
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
            "notes": plain(facts.roofline.sentences),
            "assumptions": plain(facts.roofline.assumptions),
        },
        "timing": plain(statistics),
        "enqueue": plain(enqueue_against_compute(engine, statistics)),
        "gap": plain(gap(engine, statistics)),
        "structure": _structure(engine),
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
    }


def _compute(engine: Engine) -> dict[str, Any]:
    computes = derived(engine).compute
    known = [compute.macs for compute in computes if compute.macs is not None]
    return {
        "macs": sum(known) if known else None,
        "layers_with_macs": len(known),
        "layers_without_macs": dict(Counter(compute.reason for compute in computes if compute.reason)),
        "by_tensor_cores": {total.key: plain(total) for total in by_tensor_cores(engine)},
    }


def by_tensor_cores(engine: Engine, layers: Sequence[Layer] | None = None) -> list[Total]:
    """Time of the layers that multiply, by whether their kernels run on tensor cores: `yes`, `no`, `unknown`.

    Args:
        layers: Some of the engine's layers; by default all.
    """
    computes = derived(engine).compute
    multiplying = [
        layer
        for layer in (engine.layers if layers is None else layers)
        if computes[layer.index].macs or computes[layer.index].reason
    ]

    def answer(tactic_name: str | None) -> str | None:
        tactic = parse_tactic(tactic_name)
        return (
            None if tactic is None or tactic.tensor_cores is None else "yes" if tactic.tensor_cores else "no"
        )

    return total_by(engine, lambda layer: answer(layer.tactic), multiplying)


def by_bound(engine: Engine, layers: Sequence[Layer]) -> list[Total]:
    """Time of the layers that compute or move data, by what it is bound by."""
    points = derived(engine).roofline.points

    def bound(layer: Layer) -> str | None:
        limit = points[layer.index].bound
        return limit.value if limit else None

    return total_by(engine, bound, (layer for layer in layers if layer.index in points))


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
    """The numbers as sentences, by label."""
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
    times = facts.roofline.latency_ms_by_bound
    bounds = [
        f"{bound.value if bound else 'unknown'} {count}"
        + ("" if times[bound] is None else f" ({format_ms(times[bound])} ms)")
        for bound, count in facts.roofline.counts.items()
        if count
    ]
    lines["Bound by"] = [", ".join(bounds) or "unknown", *map(printable, facts.roofline.sentences[:2])]
    statistics = timing_statistics(engine)
    if statistics is not None and statistics.stability is not None:
        stability = statistics.stability
        lines["Timing"] = [f"{stability.verdict.value}: {' '.join(stability.sentences)}"]
    difference = gap(engine, statistics)
    if difference is not None and difference.sentences:
        lines["Gap"] = list(difference.sentences)
    return lines


def _compute_text(engine: Engine) -> str:
    compute = _compute(engine)
    if compute["macs"] is None:
        reasons = compute["layers_without_macs"]
        return f"unknown: {next(iter(reasons))}" if reasons else "no convolution, GEMM or attention"
    words = f"{format_count(compute['macs'])}MAC in {plural(compute['layers_with_macs'], 'layer')}"
    missing = sum(compute["layers_without_macs"].values())
    words += f", not known of {missing}" if missing else ""
    on = [
        f"{total.key} {format_pct(total.latency_pct)} %"
        for total in by_tensor_cores(engine)
        if total.latency_pct
    ]
    return words + (f"; on tensor cores: {', '.join(on)} of the time" if on else "")


def _memory_text(engine: Engine) -> str:
    memory = activation_memory(engine)
    if memory.peak_bytes is None or memory.peak_index is None:
        return "unknown"
    at_least = "at least " if memory.unknown else ""
    words = f"{at_least}{format_bytes(memory.peak_bytes)} live at once, at layer {memory.peak_index}; "
    traffic = traffic_bytes(engine)
    if traffic is None:
        return words + "traffic unknown: the size of a tensor or of weights is not told"
    return words + f"traffic {format_bytes(traffic)} per inference, weights included"


def summary_document(engines: Iterable[Engine], diagnostics: Iterable[Diagnostic] = ()) -> dict[str, Any]:
    """The object that `summary --json` prints. Absent facts are None.

    Args:
        engines: In the order they were found.
        diagnostics: Those that belong to no engine.
    """
    return {
        "schema": SUMMARY_SCHEMA,
        "engines": [engine_summary(engine) for engine in engines],
        "diagnostics": [diagnostic_object(diagnostic) for diagnostic in diagnostics],
    }


def engine_summary(engine: Engine) -> dict[str, Any]:
    """One element of `engines` in `summary --json`."""
    latency = end_to_end(engine)
    return {
        "name": engine.name,
        "files": {kind.value: str(path) for kind, path in engine.files.items()},
        "tensorrt_version": engine.tensorrt_version,
        "device": engine.device_name,
        "precision": engine.precision.value if engine.precision else None,
        "builder_precision": engine.metadata.builder_precision,
        "layers": len(engine.layers) if engine.has_graph or engine.has_profile else None,
        "names_only": engine.names_only,
        "optimization_profile": engine.optimization_profile,
        "optimization_profiles": engine.optimization_profiles,
        "bindings": {
            "inputs": [_binding(binding) for binding in engine.bindings if binding.is_input],
            "outputs": [_binding(binding) for binding in engine.bindings if binding.is_input is False],
            "undetermined": [_binding(binding) for binding in engine.bindings if binding.is_input is None],
        },
        "by_kind": _totals(total_by_kind(engine)),
        "by_precision": _totals(total_by_precision(engine)),
        "latency_sum_ms": engine.latency_sum_ms,
        "profile_iterations": engine.profile_iterations,
        "throughput_qps": latency.throughput_qps if latency else None,
        "latency": _latency(engine),
        "weights_bytes": engine.weights_bytes,
        "known_weights_bytes": engine.known_weights_bytes,
        "layers_hiding_weights": engine.layers_hiding_weights,
        **numbers(engine),
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


def _binding(binding: Binding) -> dict[str, Any]:
    return {
        "name": binding.name,
        "shape": list(binding.shape) if binding.shape is not None else None,
        "dtype": binding.dtype.value if binding.dtype else None,
        "format": binding.format.text or None if binding.format else None,
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


def engine_facts(engine: Engine) -> list[tuple[str, str]]:
    """Device, precision, layers, options and bindings."""
    return [
        *_identity_facts(engine),
        *_option_facts(engine.metadata),
        ("Notes", count_notes(engine)),
        *_binding_facts(engine),
    ]


def _identity_facts(engine: Engine) -> list[tuple[str, str]]:
    return [
        ("Device", printable(engine.device_name or "not stated")),
        ("TensorRT", engine.tensorrt_version or "not stated (no log and no plan in the set)"),
        ("Precision", _precision_text(engine)),
        ("Layers", _layers_text(engine)),
    ]


def _binding_facts(engine: Engine) -> list[tuple[str, str]]:
    return [
        ("Inputs", _bindings_text([binding for binding in engine.bindings if binding.is_input])),
        ("Outputs", _bindings_text([binding for binding in engine.bindings if binding.is_input is False])),
    ]


def _latency_facts(engine: Engine) -> list[tuple[str, str]]:
    latency = end_to_end(engine)
    if latency is None:
        return [("Latency", "unknown: neither a performance summary nor timing rows in the set")]
    summary = latency.summary
    values = {
        "min": summary.min_ms,
        "mean": summary.mean_ms,
        "median": summary.median_ms,
        "max": summary.max_ms,
        **{f"p{percentile:g}": value for percentile, value in summary.percentiles_ms.items()},
    }
    known = [f"{label} {format_ms(value)}" for label, value in values.items() if value is not None]
    facts = [("Latency ms", "  ".join(known))]
    if latency.throughput_qps is not None:
        facts.append(("Throughput", f"{latency.throughput_qps:.2f} qps"))
    return [*facts, ("  source", latency.source)]


def doubt_sentences(engine: Engine) -> list[str]:
    """Doubts about the measurement, from the manifest of the capture."""
    texts = [printable(doubt.text) for doubt in doubts(engine)]
    return [f"{text[:1].upper()}{text[1:]}." for text in texts]


def _precision_text(engine: Engine) -> str:
    main = engine.precision.value if engine.precision else "unknown"
    allowed = engine.metadata.builder_precision
    return f"{main} (builder was allowed {printable(allowed)})" if allowed else main


def _layers_text(engine: Engine) -> str:
    if not engine.has_graph and not engine.has_profile:
        return "unknown: neither layer information nor a profile in the set"
    idle = sum(not layer.kind.is_work for layer in engine.layers)
    words = f"{len(engine.layers)}" + (
        f", of which {idle} {'does' if idle == 1 else 'do'} no work (NoOp, constant, sync, shape)"
        if idle
        else ""
    )
    if engine.names_only:
        words += "; names only"
    if engine.optimization_profiles > 1:
        words += f"; optimization profile {engine.optimization_profile} of {engine.optimization_profiles}"
    return words


def _bindings_text(bindings: Sequence[Binding], most: int = 6) -> str:
    words = []
    for binding in bindings[:most]:
        shape = f" {format_shape(binding.shape)}" if binding.shape is not None else ""
        words.append(printable(binding.name) + shape + (f" {binding.dtype.value}" if binding.dtype else ""))
    more = f", and {len(bindings) - most} more" if len(bindings) > most else ""
    return ", ".join(words) + more if words else "unknown"


def describe_weights(engine: Engine, layers: Sequence[Layer]) -> str:
    """Describe the weights of some layers, as far as they are known."""
    known = [layer.weights_bytes for layer in layers if layer.weights_bytes is not None]
    hidden = len(layers) - len(known)
    if engine.known_weights_bytes is None or not known:
        return "unknown"
    size = format_bytes(sum(known))
    return f"at least {size}; {plural(hidden, 'layer hides its', 'layers hide theirs')}" if hidden else size


def _profile_text(engine: Engine) -> str:
    if engine.latency_sum_ms is None:
        why = "the profile could not be read" if engine.profile_unread else "no profile in the set"
        why = "the profile has no time for any layer" if engine.has_profile else why
        return f"unknown: {why}"
    words = f"sum {format_ms(engine.latency_sum_ms)} ms"
    if engine.profile_iterations is not None:
        words += f" over {plural(engine.profile_iterations, 'iteration')}"
        if engine.profile_iterations == 1:
            words += " (one iteration: the times are hardly more than a hint)"
    return words


def print_summary(engine: Engine, console: Console) -> None:
    """Print the summary of an engine."""
    from rich.text import Text

    console.print(Text(printable(engine.name), style="bold"))
    facts = [
        *_identity_facts(engine),
        *_binding_facts(engine),
        ("Weights", describe_weights(engine, engine.layers)),
        *_latency_facts(engine),
        ("Layer times", _profile_text(engine)),
        *condition_facts(engine),
    ]
    print_facts(facts, console)
    for title, totals in (("Kind", total_by_kind(engine)), ("Precision", total_by_precision(engine))):
        if totals:
            console.print()
            print_bars(totals_table(f"by_{title.lower()}", title, totals), console)
    console.print()
    numbers = [
        (label if index == 0 else "", sentence)
        for label, sentences in number_sentences(engine).items()
        for index, sentence in enumerate(sentences)
    ]
    print_facts(numbers, console)
    for sentence in doubt_sentences(engine):
        console.print(Text(f"caution: {sentence}", style="yellow"))
    for diagnostic in engine.diagnostics:
        console.print(Text(f"{diagnostic.severity.value}: {printable(str(diagnostic))}", style="yellow"))
    console.print()


def totals_table(
    id: str,  # noqa: A002 - as the field of Table
    title: str,
    totals: Sequence[Total],
    heading: str = "",
    styles: Sequence[str] = (),
) -> Table:
    """Groups of layers with their time, a bar for each.

    Args:
        title: Of the column of groups.
        styles: Of the bars, as `svg.style` names them.
    """
    columns = (
        Column("key", title, value=lambda total: total.key),
        Column("layers", "Layers", value=lambda total: total.layers, is_number=True),
        Column("latency_ms", "ms", value=lambda total: total.latency_ms, is_number=True, has_bar=True),
        Column("latency_pct", "%", value=lambda total: total.latency_pct, is_number=True),
    )
    return make_table(
        id, columns, totals, noun="group", title=heading or f"By {title.lower()}", styles=styles
    )


_USUAL = frozenset({"", "-1", "disabled", "default", "none"})
# Label of trtexec's log, words for it, and values that are not worth a word. `{}` is the value.
_BUILD_OPTIONS = (
    ("BuilderOptimizationLevel", "optimization level {}", ()),
    ("Sparsity", "sparsity {}", ()),
    ("Refit", "refittable", ()),
    ("Strip weights", "weights stripped", ()),
    ("Weight Streaming", "weight streaming", ()),
    ("Version Compatible", "version compatible", ()),
    ("Safe mode", "safe mode", ()),
    ("Allow GPU fallback for DLA", "GPU fallback for DLA", ()),
    ("MaxAuxStreams", "at most {} auxiliary streams", ()),
    ("avgTiming", "{} timing runs per tactic", ("8",)),
    ("Runtime Platform", "runtime platform {}", ("same as build",)),
)
_RUN_OPTIONS = (
    ("CUDA Graph", "CUDA graph", ()),
    ("Data transfers", "copies of inputs and outputs", ()),
    ("Spin-wait", "spin-wait", ()),
    ("ExposeDMA", "copies exposed", ()),
    ("Inference Streams", "{} inference streams", ("1",)),
    ("Streams", "{} streams", ("1",)),
    ("Duration", "{}", ()),
)


@dataclass(frozen=True, slots=True)
class Analysis:
    """Timing statistics and sentences that take a while to compute.

    Attributes:
        statistics: Of the timing run; None if no file has any.
        sentences: By label.
    """

    statistics: TimingStatistics | None
    sentences: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class EngineSubject:
    """An engine with the results that its sections show.

    Attributes:
        summary: The engine's part of `summary --json`.
        top: Rows of a table; None for all.
    """

    engine: Engine
    summary: Mapping[str, Any]
    analysis: Analysis
    lint: EngineReport
    top: int | None = TOP


def make_subject(lint: EngineReport, top: int | None = TOP) -> EngineSubject:
    """Compute what is known of an engine: seconds for 20 000 layers."""
    engine = lint.engine
    return EngineSubject(engine, engine_summary(engine), analyse(engine), lint, top)


def analyse(engine: Engine) -> Analysis:
    """Compute it: up to a second for 20 000 layers or long timing runs."""
    return Analysis(timing_statistics(engine), number_sentences(engine))


def _option_facts(metadata: Metadata) -> list[tuple[str, str]]:
    if not metadata.build_options and not metadata.inference_options:
        return [("Options", "not stated (no log and no metadata in the set)")]
    return [
        ("Built with", _options_text(metadata.build_options, _BUILD_OPTIONS)),
        ("Run with", _options_text(metadata.inference_options, _RUN_OPTIONS)),
    ]


def condition_facts(engine: Engine, now: datetime | None = None) -> list[tuple[str, str]]:
    """Machine and conditions of the capture; empty without a manifest."""
    return [(label, printable(text)) for label, text in capture_facts(engine, now)]


def memory_facts(engine: Engine, analysis: Analysis | None) -> list[tuple[str, str]]:
    """Weights and activations; `…` while they are computed."""
    return [("Weights", describe_weights(engine, engine.layers)), *_number_facts(analysis, ("Activations",))]


def work_facts(engine: Engine, analysis: Analysis | None) -> list[tuple[str, str]]:
    """Layer times, compute, streams, critical path and reformats; `…` while they are computed."""
    facts = [("Layer times", _profile_text(engine))] if engine.has_profile else []
    return facts + _number_facts(analysis, ("Compute", "Streams", "Critical path", "Reformats"))


def _number_facts(analysis: Analysis | None, labels: tuple[str, ...]) -> list[tuple[str, str]]:
    if analysis is None:
        return [(label, "…") for label in labels]
    return [(label, " ".join(analysis.sentences[label])) for label in labels if label in analysis.sentences]


def no_profile(engine: Engine) -> str:
    """Say why no layer has a time."""
    why = "The profile could not be read" if engine.profile_unread else "No profile in this set"
    return f"{why}: latency is unknown."


def gap_sentences(engine: Engine, analysis: Analysis | None) -> Sequence[str]:
    """Sentences on the sum of layer times against the end-to-end latency."""
    if not engine.has_profile:
        return ()
    return ("…",) if analysis is None else analysis.sentences.get("Gap", ())


def bound_sentences(analysis: Analysis | None) -> list[str]:
    """Sentences on layers without a place in the roofline."""
    _, *lines = ("",) if analysis is None else analysis.sentences["Bound by"]
    return [f"{line[:1].upper()}{line[1:]}." for line in lines]


def count_notes(engine: Engine) -> str:
    """Count the diagnostics by severity."""
    if not engine.diagnostics:
        return "none: nothing was wrong with the files"
    counts = Counter(diagnostic.severity for diagnostic in engine.diagnostics)
    names = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "remark"}
    return ", ".join(plural(counts[severity], names[severity]) for severity in Severity if counts[severity])


def _options_text(options: Mapping[str, object], wanted: tuple[tuple[str, str, tuple[str, ...]], ...]) -> str:
    if not options:
        return "not stated"
    words = []
    for label, sentence, usual in wanted:
        value = str(options.get(label, "")).strip()
        if value.lower() not in _USUAL and value.lower() not in usual:
            words.append(sentence.format(printable(value)))
    return ", ".join(words) or "the usual options"


# Keys of the summary, name of the figure, words for it, unit.
_FIGURES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("latency", "median_ms"), "Median latency, end to end", "ms"),
    (("latency", "p99_ms"), "Latency p99, end to end", "ms"),
    (("throughput_qps",), "Throughput", "qps"),
    (("latency_sum_ms",), "Sum of the layers' times", "ms"),
    (("layers",), "Layers", ""),
    (("compute", "macs"), "Multiply-accumulates", "MAC"),
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
"""Figure -> the count of what it could not include."""


def summary_sections(subject: EngineSubject) -> Iterator[Section]:
    """What the engine is, and its figures."""
    engine, analysis = subject.engine, subject.analysis
    files = ", ".join(
        f"{kind.value.replace('_', ' ')}: {printable(path.name)}" for kind, path in engine.files.items()
    )
    facts = [
        *engine_facts(engine),
        *memory_facts(engine, analysis),
        *work_facts(engine, analysis),
        ("Files", files),
    ]
    yield Section("summary", "Summary", facts=facts, tables=[_figures(subject)])


def _figures(subject: EngineSubject) -> Table:
    columns = (
        Column("figure", "Key"),
        Column("title", "Figure"),
        Column("value", "Value", is_number=True, help="As trex-tui summary --json has it."),
        Column("unit", "Unit"),
    )
    rows = []
    for keys, title, unit in _FIGURES:
        value = _at(subject.summary, keys)
        if value is None:
            continue
        is_least = bool(_at(subject.summary, _LOWER_BOUNDS.get(keys[-1], ("",))))
        text = ("at least " if is_least else "") + format_number(keys[-1], value)
        raw_unit = "bytes" if keys[-1].endswith("_bytes") else unit
        key = ".".join(keys)
        rows.append([key, title, Cell(value, text), Cell(raw_unit, unit)])
    return Table("figures", columns, rows)


def _at(document: Any, keys: tuple[str, ...]) -> Any:  # noqa: ANN401 - a part of a document
    for key in keys:
        document = document.get(key) if document else None
    return document
