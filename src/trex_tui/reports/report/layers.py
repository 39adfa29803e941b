"""Where the time and the memory go: hot layers, kinds and precisions, memory, the roofline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from trex_tui.analysis.columns import derived
from trex_tui.analysis.memory import LiveTensor, MemoryTotal, memory_by_kind
from trex_tui.analysis.rollup import by_module, fused_words
from trex_tui.analysis.totals import hottest, total_by_kind, total_by_precision
from trex_tui.charts.figure import as_sentence
from trex_tui.reports.document import Chart, Section, Table
from trex_tui.reports.layers import BRIEF_COLUMNS
from trex_tui.reports.memory import live_words, memory_figures, peak_words, unknown_sentences
from trex_tui.reports.numbers import by_bound, by_tensor_cores
from trex_tui.reports.overview import memory_facts, no_profile
from trex_tui.reports.report.subject import Subject
from trex_tui.reports.report.tables import layer_table, number_column, table, totals_table, word_column
from trex_tui.text import plural

NO_MODULE = "(no module)"
"""Layers whose names and nodes are in none."""
_HOT_COLUMNS = (*BRIEF_COLUMNS[:-1], "roof_pct", "bound", "tactic")


def _charts(subject: Subject, *ids: str) -> list[Chart]:
    return [Chart(id_, subject.engine) for id_ in ids]


def hot_sections(subject: Subject) -> Iterator[Section]:
    """The layers that take longest."""
    engine = subject.engine
    timed = sum(layer.latency_ms is not None for layer in engine.layers)
    if not timed:
        yield Section("hot-layers", "Hot layers", sentences=[no_profile(engine)])
        return
    layers = hottest(engine.layers, timed if subject.top is None else subject.top)
    lacking = len(engine.layers) - timed
    sentences = [f"{plural(lacking, 'layer has', 'layers have')} no time in the profile."] if lacking else []
    found = layer_table("hot_layers", engine, layers, _HOT_COLUMNS, timed)
    charts = _charts(subject, "pareto", "layers")
    yield Section("hot-layers", "Hot layers", sentences=sentences, charts=charts, tables=[found])


def group_sections(subject: Subject) -> Iterator[Section]:
    """Time by kind, by precision, and of what multiplies by tensor cores."""
    engine = subject.engine
    kinds, precisions = total_by_kind(engine), total_by_precision(engine)
    tables = [
        totals_table("by_kind", "Kind", kinds, styles=[f"kind-{one.key}" for one in kinds]),
        totals_table(
            "by_precision", "Precision", precisions, styles=[f"precision-{one.key}" for one in precisions]
        ),
    ]
    if cores := by_tensor_cores(engine):
        tables.append(totals_table("by_tensor_cores", "Tensor cores", cores))
    yield Section(
        "groups",
        "Time by kind and precision",
        sentences=[] if engine.has_profile else [no_profile(engine)],
        tables=tables,
    )
    if engine.has_profile:
        modules = by_module(engine)
        rows = [(one.name or NO_MODULE, one.layers, one.latency_ms) for one in modules]
        columns = (
            word_column("module", "Module"),
            number_column(
                "layers", "Layers", help="Each counts once, for the module of its first ONNX node."
            ),
            number_column("latency_ms", "ms", has_bar=True),
        )
        found = table("by_module", columns, rows, top=subject.top, what="module")
        fused = fused_words(engine.layers)
        yield Section(
            "modules",
            "Time by kernel and module",
            sentences=[fused] if fused else [],
            charts=_charts(subject, "tactic", "icicle"),
            tables=[found],
        )


def memory_sections(subject: Subject) -> Iterator[Section]:
    """Weights and activations, and what is alive when most is."""
    engine = subject.engine
    figures = memory_figures(engine)
    activations = figures.activations
    sentences = [as_sentence(peak_words(engine, activations)), *unknown_sentences(engine, activations)]
    facts = memory_facts(engine, subject.analysis)
    if not engine.has_graph or engine.names_only:
        yield Section("memory", "Memory", sentences=list(dict.fromkeys(sentences)), facts=facts)
        return
    tables = [_memory_by_kind(memory_by_kind(engine.layers))]
    charts: list[Chart] = []
    if activations.peak_bytes is not None:
        charts = _charts(subject, "memory")
        tables.append(_live_at_peak(subject, activations.live_at_peak))
    yield Section("memory", "Memory", sentences=sentences, facts=facts, charts=charts, tables=tables)


def _memory_by_kind(totals: list[MemoryTotal]) -> Table:
    columns = (
        word_column("key", "Kind"),
        number_column("layers", "Layers"),
        number_column("weights_bytes", "Weights", help="Over the layers that tell."),
        number_column("weights_unknown", "not told", help="Layers whose weights are unknown."),
        number_column("footprint_bytes", "Footprint", has_bar=True, help="What each layer touches, padded."),
        number_column("footprint_unknown", "not told", help="Layers whose footprint is unknown."),
    )
    rows = [
        (
            one.key,
            one.layers,
            one.weights_bytes if one.weights_unknown < one.layers else None,
            one.weights_unknown,
            one.footprint_bytes if one.footprint_unknown < one.layers else None,
            one.footprint_unknown,
        )
        for one in totals
    ]
    return table(
        "memory_by_kind",
        columns,
        rows,
        what="kind",
        title="By kind",
        styles=[f"kind-{one.key}" for one in totals],
    )


def _live_at_peak(subject: Subject, alive: Sequence[LiveTensor]) -> Table:
    columns = (
        word_column("name", "Tensor"),
        number_column("allocated_bytes", "Size", has_bar=True),
        number_column("first", "First", help="Index of the layer that writes it first."),
        number_column("last", "Last", help="Index of the layer that reads it last."),
        word_column("type", "Shape and type"),
    )
    shown = alive[: subject.top]
    words = live_words(subject.engine, shown)
    found = table(
        "live_at_peak",
        columns,
        [
            (one.name, one.allocated_bytes, one.first, one.last, said.type)
            for one, said in zip(shown, words, strict=True)
        ],
        what="tensor",
        title="Live at the peak",
    )
    return replace(found, total=len(alive))


def roofline_sections(subject: Subject) -> Iterator[Section]:
    """How close the layers come to what the device can do."""
    engine, roofline = subject.engine, derived(subject.engine).roofline
    points = [point for point in roofline.points.values() if point.roof_ms is not None]
    facts = [("Assumed", as_sentence(assumption)) for assumption in roofline.assumptions] if points else []
    is_drawn = any(point.roof_pct is not None for point in points)
    charts = _charts(subject, "roofline", "efficiency") if is_drawn else []
    tables = [
        totals_table("by_bound", "Bound by", by_bound(engine, engine.layers), "What layers are bound by")
    ]
    sentences = [as_sentence(line) for line in roofline.sentences]
    yield Section("roofline", "Roofline", sentences=sentences, facts=facts, charts=charts, tables=tables)
