"""What the engine is, and how long it takes end to end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trex_tui.analysis.timing import PERCENTILES, SeriesStatistics
from trex_tui.reports.document import Cell, Chart, Column, Section, Table, format_number, make_table
from trex_tui.reports.overview import (
    NO_RUN,
    SERIES,
    engine_facts,
    gap_sentences,
    memory_facts,
    run_facts,
    throughput_facts,
    work_facts,
)
from trex_tui.reports.report.subject import Subject
from trex_tui.reports.report.tables import number_column, word_column
from trex_tui.text import printable

_BYTES = "_bytes"
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
"""Figure -> what says that it could not include everything."""


def summary_sections(subject: Subject) -> Iterator[Section]:
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


def _figures(subject: Subject) -> Table:
    columns = (
        word_column("figure", "Key"),
        word_column("title", "Figure"),
        Column("value", "Value", is_number=True, help="As trex-tui summary --json has it."),
        word_column("unit", "Unit"),
    )
    rows = []
    for keys, title, unit in _FIGURES:
        value = _at(subject.summary, keys)
        if value is None:
            continue
        is_least = bool(_at(subject.summary, _LOWER_BOUNDS.get(keys[-1], ("",))))
        text = ("at least " if is_least else "") + format_number(keys[-1], value)
        raw_unit = "bytes" if keys[-1].endswith(_BYTES) else unit
        key = ".".join(keys)
        rows.append([key, title, Cell(value, text), Cell(raw_unit, unit)])
    return Table("figures", columns, rows)


def _at(document: Any, keys: tuple[str, ...]) -> Any:  # noqa: ANN401 - a part of a document
    for key in keys:
        document = document.get(key) if document else None
    return document


def timing_sections(subject: Subject) -> Iterator[Section]:
    """Statistics of the timing run, what kind of run it was, and how it fits the layers."""
    statistics, gap = subject.analysis.statistics, gap_sentences(subject.engine, subject.analysis)
    if statistics is None:
        yield Section("timing", "Timing", sentences=[NO_RUN, *gap])
        return
    facts = [*throughput_facts(statistics), *run_facts(subject.analysis)]
    facts += [("Note", printable(note)) for note in statistics.notes]
    series = [
        (heading, found)
        for attribute, heading in SERIES
        if (found := getattr(statistics, attribute)) is not None
    ]
    charts = (
        ("histogram", "percentiles", "over-time") if subject.engine.timing is not None else ("percentiles",)
    )
    yield Section(
        "timing",
        "Timing",
        sentences=gap,
        facts=facts,
        charts=[Chart(chart, subject.engine) for chart in charts],
        tables=[_statistics(series)] if series else [],
    )


def _statistics(series: list[tuple[str, SeriesStatistics]]) -> Table:
    """A row per quantity, a column per statistic; those that nothing is known of are left out."""
    percentiles = sorted(
        {*PERCENTILES[1:], *(pct for _, one in series for pct in one.percentiles_ms)} - {50.0}
    )
    heads = [
        ("count", "Queries"),
        *((f"{name}_ms", name) for name in ("min", "mean", "median")),
        *((f"p{pct:g}_ms", f"p{pct:g}") for pct in percentiles),
        ("max_ms", "max"),
        ("std_ms", "std"),
        ("cv_pct", "cv %"),
    ]
    rows = []
    for _, one in series:
        values = {f"p{pct:g}_ms": value for pct, value in one.percentiles_ms.items()}
        rows.append([values[name] if name in values else getattr(one, name, None) for name, _ in heads])
    kept = [place for place in range(len(heads)) if any(row[place] is not None for row in rows)]
    columns = [word_column("quantity", "ms"), *(number_column(*heads[place]) for place in kept)]
    cells = [
        [heading, *(row[place] for place in kept)] for (heading, _), row in zip(series, rows, strict=True)
    ]
    return make_table("statistics", columns, cells, noun="quantity")
