"""Weights and activations: totals, what is live at the peak."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.analysis.deployment import COLUMNS, make_row
from trex_tui.analysis.memory import (
    LIVE_TENSORS,
    TOTALS,
    live_at,
    memory_facts,
    memory_totals,
)
from trex_tui.analysis.structure import TOTALS as LAYERS
from trex_tui.artifacts.kinds import FileKind
from trex_tui.column import columns_of
from trex_tui.engine.model import Engine
from trex_tui.report.absence import explain_absence
from trex_tui.report.charts import make_chart
from trex_tui.report.document import Section
from trex_tui.report.views.layers import limit_rows
from trex_tui.text import format_bytes, plural

MOST_TENSORS = 10
_NO_LAYER_INFO = "Memory by layer unknown (needs --exportLayerInfo)."
_NAMES_ONLY = "Memory by layer unknown: names only (needs --profilingVerbosity=detailed)."


def describe_weights(engine: Engine) -> str:
    """Describe the weights, as far as they are known."""
    facts = memory_facts(engine)
    known, hidden = facts.known_weights_bytes, facts.layers_hiding_weights
    if engine.facts.memory.weights_bytes is not None and (known is None or hidden):
        return f"{format_bytes(engine.facts.memory.weights_bytes)} (stated in the log)"
    if known is None or hidden == len(engine):
        return "unknown"
    if hidden and not known:
        return f"unknown: missing for {plural(hidden, 'layer')}"
    return (
        f"at least {format_bytes(known)}; missing for {plural(hidden, 'layer')}"
        if hidden
        else format_bytes(known)
    )


def describe_run_time(engine: Engine) -> str:
    """Describe the device memory at run time by its parts."""
    row = make_row(engine)
    keys = [key for key in ("resident_bytes", "context_bytes", "persistent_bytes") if row[key] is not None]
    if not keys:
        return "unknown"
    parts = ", ".join(f"{COLUMNS[key].title.lower()} {format_bytes(row[key])}" for key in keys)
    return f"{'at least ' if row['is_at_least'] else ''}{format_bytes(row['run_time_bytes'])}: {parts}"


def memory_section(engine: Engine) -> Section:
    """Return the memory of an engine, for programs."""
    facts = memory_facts(engine)
    peak = facts.peak_layer
    alive = live_at(engine, peak) if peak is not None else None
    data = {
        **facts._asdict(),
        "peak_layer": None if peak is None else {"index": peak, "name": engine.layers["name"][peak]},
        "live_at_peak": [] if alive is None else alive.head(MOST_TENSORS),
        "live_at_peak_count": 0 if alive is None else len(alive),
        "stated": engine.facts.memory,
    }
    return Section("memory", data=data, audience="programs")


def memory_sections(engine: Engine, top: int | None = 20) -> Iterator[Section]:
    """Yield the memory by layer and by kind, and the tensors that are live at the peak, for the report and the screen."""
    if not engine.has_graph or engine.has_names_only:
        reason = (
            _NAMES_ONLY if engine.has_names_only else explain_absence(engine, _NO_LAYER_INFO, FileKind.GRAPH)
        )
        yield Section("memory", "Memory", sentences=[reason])
        return
    facts = memory_facts(engine)
    sentences = []
    if facts.activation_peak_bytes is None:
        sentences.append("Activation memory unknown: no tensor sizes.")
    else:
        at_least = "at least " if facts.is_peak_at_least else ""
        sentences.append(
            f"Peak {at_least}{format_bytes(facts.activation_peak_bytes)} live at layer {facts.peak_layer}."
        )
    sentences.append(f"Memory at run time {describe_run_time(engine)}.")
    if facts.layers_hiding_weights:
        hidden = plural(facts.layers_hiding_weights, "layer hides its", "layers hide their")
        sentences.append(f"{hidden} weights: sums are lower bounds.")
    if facts.tensors_of_unknown_size:
        tensors = plural(facts.tensors_of_unknown_size, "tensor has", "tensors have")
        sentences.append(f"{tensors} a dynamic shape or no type: excluded from live memory.")
    chart = make_chart(engine, "memory") if facts.activation_peak_bytes is not None else None
    yield Section("memory", "Memory", sentences=sentences, chart=chart)
    totals = memory_totals(engine)
    keys = [key for key in totals.columns.tolist() if not key.endswith("_unknown") or totals[key].any()]
    columns = columns_of(totals, {**engine.columns, **TOTALS, "layers": LAYERS["layers"]}, keys)
    bar = "footprint_allocated_bytes"
    yield Section("memory_by_kind", "Memory by kind", frame=totals, columns=columns, bar=bar, noun="kind")
    if facts.peak_layer is not None:
        alive = live_at(engine, facts.peak_layer)
        columns = columns_of(alive, LIVE_TENSORS)
        section = Section(
            "live_at_peak", "Live at peak", frame=alive, columns=columns, bar="allocated_bytes", noun="tensor"
        )
        yield limit_rows(section, top)
