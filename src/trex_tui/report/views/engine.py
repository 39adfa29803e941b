"""The summary of an engine: performance, facts, work, power, conditions, files, totals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trex_tui.analysis.compute import FACTS as COMPUTE
from trex_tui.analysis.compute import WORKING, compute_facts
from trex_tui.analysis.conditions import FACTS as CAPTURE
from trex_tui.analysis.conditions import capture_facts, find_doubts
from trex_tui.analysis.deployment import COLUMNS as DEPLOYMENT
from trex_tui.analysis.energy import FACTS as POWER
from trex_tui.analysis.energy import LAYER_ENERGY, SENSORS, layer_energy, power_facts, power_table, throttling
from trex_tui.analysis.engines import find_precision
from trex_tui.analysis.memory import FACTS as MEMORY
from trex_tui.analysis.memory import memory_facts
from trex_tui.analysis.structure import (
    DLA,
    DLA_BLOCKS,
    critical_path,
    dla_facts,
    dla_times,
    find_reformats,
    find_transitions,
    stream_totals,
)
from trex_tui.artifacts.kinds import FileKind
from trex_tui.column import Column, by_key
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Engine
from trex_tui.frames import plain_rows, total
from trex_tui.report.absence import no_profile
from trex_tui.report.document import Document, Fact, Section, drop_empty_columns
from trex_tui.report.views.layers import (
    group_sections,
    hot_section,
    limit_rows,
    module_section,
    roofline_sections,
)
from trex_tui.report.views.memory import describe_run_time, describe_weights, memory_section
from trex_tui.report.views.onnx import onnx_sections
from trex_tui.report.views.plan import plan_sections
from trex_tui.report.views.timing import performance_sections, run_section
from trex_tui.text import (
    as_sentence,
    format_bytes,
    format_count,
    format_energy,
    format_ms,
    format_pct,
    plural,
    printable,
)

HOTTEST = 5
"""Number of hottest layers without `--top`."""
MOST_REFORMATS = 10
_SCOPES = {
    "measurement": ", those of the measurement",
    "busy": ", those with a busy GPU: an estimate",
    "file": ", all of the file",
}
_MACHINE = ("l4t", "power_mode", "driver", "kernel", "container")
_OBJECTS = (
    "timing",
    "stability",
    "gap",
    "model",
    "builder",
    "run",
    "roofline",
    "power",
    "dla",
    "onnx",
    "capture",
)
_TABLES = ("runs", "by_kind", "by_precision", "by_tensor_cores", "by_device", "layer_energy")
_WITHOUT_FILES: dict[str, object] = {**dict.fromkeys(_OBJECTS), **{key: [] for key in _TABLES}}
"""Keys for programs that other files would fill: every summary has them."""
ENGINE = by_key(
    Column("tensorrt_version", "TensorRT", "Version of TensorRT.", source="plan, log or manifest"),
    Column(
        "precision",
        "Precision",
        "Precision of the main work: of the slowest convolutions, GEMMs and attention.",
    ),
    Column("layers", "Layers", "Number of layers, no-ops included."),
    Column(
        "latency_sum_ms",
        "Layer times",
        "Sum of the layer times; usually more than the latency.",
        source="profile",
    ),
)


def summarize(engine: Engine, top: int | None = HOTTEST) -> Document:
    """Return the summary of an engine.

    Args:
        top: Number of hottest layers; None for all.
    """
    return Document(
        "summary", engine.name, list(_summary_sections(engine, top)), engine.notes, data=_WITHOUT_FILES
    )


def _summary_sections(engine: Engine, top: int | None) -> Iterator[Section]:
    yield from performance_sections(engine)
    yield from engine_sections(engine)
    if len(engine):
        yield from group_sections(engine)
        yield from roofline_sections(engine)
    if (hot := hot_section(engine, top)) is not None:
        yield hot


def engine_sections(engine: Engine) -> Iterator[Section]:
    """Yield what the files state and what follows from the layers: for `summary`, the report and the Overview."""
    yield Section("", "Engine", _engine_facts(engine), data=_engine_data(engine))
    if not engine.runs.empty:
        yield run_section(engine)
    yield from _dla_sections(engine)
    yield from plan_sections(engine)
    yield Section("work", "Work", list(_work_facts(engine)), audience="people")
    yield from _work_data(engine)
    yield from _power_sections(engine)
    yield from onnx_sections(engine)
    yield from _capture_section(engine)
    files = [
        Fact(Column(kind.value, kind.value.replace("_", " ").capitalize()), path, printable(path.name))
        for kind, path in engine.files.items()
    ]
    yield Section("files", "Files", files)


# Engine


def _engine_facts(engine: Engine) -> list[Fact]:
    return [
        Fact(ENGINE["tensorrt_version"], engine.facts.tensorrt_version, describe_version(engine)),
        Fact(ENGINE["precision"], find_precision(engine), find_precision(engine) or "unknown"),
        Fact(
            ENGINE["layers"],
            len(engine) if engine.has_graph or engine.has_profile else None,
            _describe_layers(engine),
        ),
    ]


def _engine_data(engine: Engine) -> dict[str, object]:
    return {
        "tensorrt_version_source": engine.facts.tensorrt_version_source,
        "names_only": engine.has_names_only,
        "layer_details_source": engine.details_source,
        "optimization_profile": engine.optimization_profile,
        "optimization_profiles": len(engine.optimization_profiles),
        "latency_sum_ms": engine.latency_sum_ms,
        "profile_iterations": engine.iterations,
    }


def describe_version(engine: Engine) -> str:
    """Return the TensorRT version, with the library if its name is the source; or why it is unknown."""
    facts = engine.facts
    if facts.tensorrt_version is None:
        has_log = FileKind.BUILD_LOG in engine.files or FileKind.PROFILE_LOG in engine.files
        return "not in the log" if has_log else "unknown (needs a log or a plan)"
    kind, separator, library = (facts.tensorrt_version_source or "").partition(": ")
    source = f" (from {printable(library)} in the {kind.replace('_', ' ')})" if separator else ""
    return printable(facts.tensorrt_version) + source


def _describe_layers(engine: Engine) -> str:
    if not engine.has_graph and not engine.has_profile:
        return "unknown (needs layer information or a profile)"
    idle = int((~engine.layers["kind"].isin(WORKING)).sum())
    words, profiles = (
        f"{len(engine)}" + (f" ({idle} no-op)" if idle else ""),
        len(engine.optimization_profiles),
    )
    if engine.has_names_only:
        words += "; names only"
    elif engine.details_source is not None:
        words += f"; types, shapes and tactics from the {engine.details_source.replace('_', ' ')}"
    return words + (
        f"; optimization profile {engine.optimization_profile} of {profiles}" if profiles > 1 else ""
    )


# Work


def _work_facts(engine: Engine) -> Iterator[Fact]:
    yield Fact(MEMORY["weights_bytes"], None, describe_weights(engine))
    activations = replace(MEMORY["activation_peak_bytes"], title="Activations")
    yield Fact(activations, None, _describe_activations(engine))
    yield Fact(DEPLOYMENT["run_time_bytes"], None, describe_run_time(engine))
    yield Fact(ENGINE["latency_sum_ms"], None, _describe_profile(engine))
    yield Fact(replace(COMPUTE["macs"], title="Compute"), None, _describe_compute(engine))
    yield Fact(Column("", "Streams"), None, _describe_streams(engine))
    changes, path = find_reformats(engine), critical_path(engine)
    parts: dict[str, tuple[int, float | None]] = {}
    if path is not None:
        parts["Critical path"] = len(path.layers), path.latency_ms
    if len(changes):
        parts["Reformats"] = len(changes), total(changes["latency_ms"])
    for title, (count, time) in parts.items():
        yield Fact(Column("", title), None, f"{plural(count, 'layer')}, {_describe_time(engine, time)}")


def _describe_activations(engine: Engine) -> str:
    memory, stated = memory_facts(engine), engine.facts.memory
    if memory.activation_peak_bytes is None:
        size = stated.activation_bytes
        return "unknown" if size is None else f"{format_bytes(size)} (stated in the log)"
    at_least = "at least " if memory.is_peak_at_least else ""
    words = (
        f"{at_least}{format_bytes(memory.activation_peak_bytes)} live at once, at layer {memory.peak_layer}; "
    )
    if memory.traffic_bytes is None:
        return words + "traffic unknown (missing tensor or weight sizes)"
    at_least = "at least " if memory.is_traffic_at_least else ""
    return words + f"traffic {at_least}{format_bytes(memory.traffic_bytes)} per inference, weights included"


def _describe_profile(engine: Engine) -> str:
    if engine.latency_sum_ms is None:
        return no_profile(engine)
    words = f"sum {format_ms(engine.latency_sum_ms)} ms"
    return words if engine.iterations is None else f"{words} over {plural(engine.iterations, 'iteration')}"


def _describe_compute(engine: Engine) -> str:
    facts, reasons = compute_facts(engine), compute_facts(engine).layers_without_macs
    if facts.macs is None:
        why = (
            "no layers"
            if not len(engine)
            else "layer names only"
            if engine.has_names_only
            else next(iter(reasons), "")
        )
        return f"unknown: {why}" if why else "no convolution, GEMM or attention"
    missing = sum(reasons.values())
    at_least = "at least " if facts.is_at_least and not missing else ""
    words = f"{at_least}{format_count(facts.macs)}MAC in {plural(facts.layers_with_macs, 'layer')}"
    words += f", unknown for {missing}" if missing else ""
    return words + (
        f", {facts.layers_with_padding} with padded channels" if facts.layers_with_padding else ""
    )


def _describe_streams(engine: Engine) -> str:
    streams = stream_totals(engine)
    if streams.empty:
        return "unknown (needs detailed layer information of TensorRT 8.6 or later)"
    if len(streams) == 1:
        return "One stream."
    waits = int(engine.layers["kind"].eq(LayerKind.SYNC.value).sum())
    time, whole = total(streams["latency_ms"].head(1)), engine.latency_sum_ms
    overlap = "unknown" if time is None or not whole else f"at most {whole - time:.4f} ms"
    return f"{len(streams)} streams, {waits} signals and waits; overlap: {overlap}."


def _work_data(engine: Engine) -> Iterator[Section]:
    yield memory_section(engine)
    compute = compute_facts(engine)
    yield Section("compute", data=compute, audience="programs")
    reformats = find_reformats(engine)
    slowest = plain_rows(reformats.head(MOST_REFORMATS))
    yield module_section(engine)
    structure: dict[str, object] = {
        "critical_path": critical_path(engine),
        "streams": stream_totals(engine),
        "device_transitions": find_transitions(engine) if engine.layers["device"].nunique() > 1 else [],
        "reformats": {
            "layers": len(reformats),
            "latency_ms": total(reformats["latency_ms"]),
            "slowest": slowest,
        },
    }
    yield Section("structure", data=structure, audience="programs")


# DLA, ONNX model


def _dla_sections(engine: Engine) -> Iterator[Section]:
    """Yield shares of DLA and GPU, blocks and crossings; nothing for an engine without a DLA block."""
    use = dla_facts(engine)
    if use is None:
        return
    count = f"{use.blocks}, {plural(use.crossings, 'crossing')} between GPU and DLA"
    facts = [
        Fact(replace(DLA["blocks"], key=""), use.blocks, count),
        *(Fact(DLA[key], time, _describe_time(engine, time)) for key in ("dla_ms", "gpu_ms", "crossing_ms")
          for time in [getattr(use, key)]),
    ]  # fmt: skip
    if between := [layer for group in use.fallbacks for layer in group]:
        time = total(engine.layers["latency_ms"][between])
        words = f"{plural(len(between), 'layer')}, {_describe_time(engine, time)}"
        facts.append(Fact(Column("", "GPU between blocks"), None, words))
    blocks = dla_times(engine)
    blocks.insert(0, "name", engine.layers["name"].reindex(blocks["layer"]).array)
    columns = [engine.columns["name"], *(DLA_BLOCKS[key] for key in DLA_BLOCKS if key != "crossing_rows")]
    assumed = int(engine.dla_blocks["evidence"].eq("--useDLACore").sum())
    sentences = (
        [f"{plural(assumed, 'block')} on the DLA by the build option alone (--useDLACore)."]
        if assumed
        else []
    )
    lower = int(blocks["wait"].isna().sum())
    if lower and use.dla_ms is not None:
        sentences.append(
            f"{plural(lower, 'block')} without a wait in the profile: the time is a lower bound."
        )
    data = {"crossings": use.crossings, "fallbacks": use.fallbacks, "blocks": blocks}
    yield Section("dla", "DLA", facts, sentences, data=data)
    section = Section("", frame=blocks, columns=columns, bar="execution_ms", noun="block", audience="people")
    yield drop_empty_columns(section)


def _describe_time(engine: Engine, time: float | None) -> str:
    if time is None:
        return "time unknown"
    whole = engine.latency_total_ms
    return f"{format_ms(time)} ms" + (f", {format_pct(100.0 * time / whole)} %" if whole else "")


# Power and conditions


def _power_sections(engine: Engine) -> Iterator[Section]:
    facts = power_facts(engine)
    if facts is None:
        return
    table, reasons = power_table(engine), throttling(engine)
    shown = []
    for key, low, mean, high in table[["min", "mean", "max"]].itertuples():
        write = Column(str(key), "").format
        words = f"mean {write(mean, with_unit=True)}, {write(low)} to {write(high, with_unit=True)}"
        if key == "power_w":
            shown.append(Fact(POWER["power_mean_w"], mean, f"{words} ({printable(facts.power_of)})"))
        else:
            rail = printable(str(key).removesuffix("_w").replace(".", " ", 1))
            shown.append(Fact(Column("", SENSORS[key].title if key in SENSORS else rail), None, words))
    for key in ("idle_w", "energy_per_inference_j", "energy_above_idle_j", "inferences_per_joule"):
        value = getattr(facts, key)
        if value is not None:
            shown.append(Fact(POWER[key], value, format_energy(value) if key.endswith("_j") else ""))
    counts = [] if reasons is None else zip(reasons["reason"], reasons["samples"], strict=True)
    texts = [f"{printable(reason)} in {count} of {facts.samples} samples" for reason, count in counts]
    state = ", ".join(texts) or ("none" if reasons is not None else f"not stated by {facts.producer}")
    every = "" if facts.interval_s is None else f", every {facts.interval_s:.3g} s"
    every += " (assumed)" if facts.is_interval_assumed else ""
    used = f"{facts.samples} of {facts.all_samples}{_SCOPES.get(facts.scope, '')}; {facts.producer}{every}"
    shown += [Fact(Column("", "Throttling"), None, state), Fact(Column("", "Samples"), None, used)]
    is_throttled = reasons is not None and len(reasons) > 0
    sentences = [f"GPU throttled during the measurement: {state}."] if is_throttled else []
    sentences += [as_sentence(reason) for reason in facts.unknown.values()]
    data = {**facts._asdict(), "quantities": table.reset_index(), "throttling": reasons}
    yield Section("power", "Power", shown, sentences, data=data, is_warning=is_throttled)
    energy = layer_energy(engine).dropna(subset=["energy_mj"]).sort_values("energy_mj", ascending=False)
    if len(energy):
        energy.insert(0, "name", engine.layers["name"][energy.index])
        note = "Estimate: board power of the samples during calls of the layer, times its time."
        columns = [engine.columns["name"], *LAYER_ENERGY.values()]
        section = Section("layer_energy", "Energy of layers", (), [note], energy, columns, noun="layer")
        yield limit_rows(section, 20)


def _capture_section(engine: Engine) -> Iterator[Section]:
    facts = capture_facts(engine)
    if facts is None:
        return
    doubts = find_doubts(engine)
    shown = [Fact(CAPTURE["started"], facts["started"])] if facts["started"] else []
    named = [f"{CAPTURE[key].title} {facts[key]}" for key in _MACHINE if facts[key]]
    machine = printable(" · ".join(filter(None, (facts["board"], *named)))) or "unknown"
    shown.append(Fact(Column("", "Machine"), None, machine))
    texts = {key: facts[key] or "unknown" for key in ("clocks", "throttling")}
    before, after = facts["sm_clock_before_mhz"], facts["sm_clock_after_mhz"]
    texts["clocks"] += f"; {before:.0f} MHz before, {after:.0f} MHz after" if before and after else ""
    shown += [Fact(CAPTURE[key], facts[key], text) for key, text in texts.items()]
    before, after = facts["temperature_before_celsius"], facts["temperature_after_celsius"]
    if before is not None and after is not None:
        words = f"GPU {before:.0f} °C before, {after:.0f} °C after"
        shown.append(Fact(Column("", "Temperature"), None, words))
    sentences = [as_sentence(printable(doubt.text)) for doubt in doubts]
    data = {**facts, "doubts": doubts}
    yield Section("capture", "Capture", shown, sentences, data=data, is_warning=bool(doubts))
