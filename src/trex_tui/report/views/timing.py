"""The timing run as documents and tables: what `trex-tui times` prints and writes. Every number is `analysis.timing`'s."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trex_tui.analysis.compare.traits import batch_of
from trex_tui.analysis.timing import (
    PERCENTILES,
    SeriesStatistics,
    TimingStatistics,
    enqueue_against_compute,
    enqueue_durations_ms,
    stamp_resolution_ms,
    timing_statistics,
    warmup_ms,
    without_warmup,
)
from trex_tui.artifacts.naming import ArtifactKind
from trex_tui.engine.engine import Engine
from trex_tui.report.document import Cell, Chart, Column, Section, Table, format_number, make_table
from trex_tui.report.render_csv import csv_text
from trex_tui.report.render_json import plain
from trex_tui.report.views.engine import (
    NO_RUN,
    SERIES,
    engine_facts,
    gap_sentences,
    memory_facts,
    performance_table,
    run_facts,
    steadiness_words,
    throughput_facts,
    work_facts,
)
from trex_tui.report.views.layers import number_column, word_column
from trex_tui.report.views.subject import Subject
from trex_tui.text import MISSING, format_ms, plural, printable

TIMES_SCHEMA = "trex-tui/times/1"
_START = "startComputeMs"
_TAIL = 99.9
_COLUMNS = (("latency", "latencyMs"), ("h2d", "h2dMs"), ("compute", "computeMs"), ("d2h", "d2hMs"))


@dataclass(frozen=True, slots=True)
class Times:
    """The timing run of an engine.

    Attributes:
        batch: Samples in a query; None where nothing tells.
        batch_source: Who tells.
        rows: Of the measurement; None where trtexec's printed summary is all there is.
        series: Name -> milliseconds of each of these rows, NaN where unknown; a series that no row has is not there.
        starts_ms: When the compute of each row began, from the first; None without stamps.
        enqueue_resolution_ms: Steps in which the enqueue comes where it is a difference of stamps; else None.
    """

    engine: Engine
    statistics: TimingStatistics
    batch: int | None
    batch_source: str
    rows: range | None
    series: dict[str, Sequence[float]]
    starts_ms: Sequence[float] | None
    enqueue_resolution_ms: float | None = None

    @property
    def samples_per_s(self) -> float | None:
        """Throughput times batch."""
        qps = self.statistics.throughput_qps
        return None if qps is None or self.batch is None else qps * self.batch


def times_of(engine: Engine, batch: int | None = None) -> Times | None:
    """The timing run; None where no file tells of one.

    Args:
        batch: Samples in a query, instead of the first extent of the inputs.
    """
    statistics = timing_statistics(engine)
    if statistics is None:
        return None
    source = "--batch" if batch is not None else "first extent of the inputs"
    known = batch if batch is not None else batch_of(engine)
    timing = engine.timing
    if timing is None or statistics.queries is None:
        return Times(engine, statistics, known, source if known else "", None, {}, None)
    rows, _ = without_warmup(timing, warmup_ms(engine))
    whole = {key: column[rows.start : rows.stop] for key, column in timing.columns.items()}
    series: dict[str, Sequence[float]] = {name: whole[key] for name, key in _COLUMNS if key in whole}
    enqueue = enqueue_durations_ms(whole)
    if enqueue is not None:
        series["enqueue"] = enqueue
    starts = whole.get(_START)
    first = next((one for one in starts or () if one == one), 0.0)
    stamps = [start - first for start in starts] if starts else None
    ends = () if "enqueueMs" in whole else whole.get("endEnqMs", ())
    resolution = stamp_resolution_ms(ends) if enqueue is not None else None
    return Times(engine, statistics, known, source if known else "", rows, series, stamps, resolution)


def times_document(runs: Sequence[Times]) -> dict[str, Any]:
    """The object that `times --json` prints, and `summary.json` holds."""
    return {"schema": TIMES_SCHEMA, "engines": [_run(run) for run in runs]}


def _run(run: Times) -> dict[str, Any]:
    file = _file(run)
    return {
        "engine": run.engine.name,
        "file": str(file) if file else None,
        "assumed": (run.engine.timing.assumed if run.engine.timing else "") or None,
        "batch": run.batch,
        "batch_source": run.batch_source or None,
        "throughput_qps": run.statistics.throughput_qps,
        "throughput_samples_per_s": run.samples_per_s,
        "timing": plain(run.statistics),
        "enqueue": plain(enqueue_against_compute(run.engine, run.statistics)),
    }


def _file(run: Times) -> Path | None:
    """Where the rows are from."""
    return run.engine.files.get(ArtifactKind.TIMING) if run.rows is not None else None


def summary_csv(run: Times) -> str:
    """A line per number, its unit at the end of its name."""
    return csv_text(("metric", "value"), _metrics(run))


def _metrics(run: Times) -> Iterator[tuple[str, object]]:
    statistics = run.statistics
    yield "engine", run.engine.name
    yield "source", statistics.origin
    yield "queries", statistics.queries
    yield "warmup_queries", statistics.warmup_queries
    yield "batch", run.batch
    yield "throughput_qps", statistics.throughput_qps
    yield "throughput_samples_per_s", run.samples_per_s
    for name, series in _known_series(statistics):
        for statistic in ("min_ms", "mean_ms", "median_ms", "max_ms", "std_ms", "cv_pct"):
            yield f"{name}_{statistic}", getattr(series, statistic)
        for pct, value in series.percentiles_ms.items():
            yield f"{name}_p{pct:g}_ms", value
    yield "gpu_idle_pct", statistics.gpu_idle_pct
    if statistics.stability is not None:
        yield "stability", statistics.stability.verdict.value


def _known_series(statistics: TimingStatistics) -> list[tuple[str, SeriesStatistics]]:
    found = [(name, getattr(statistics, name)) for name, _ in SERIES]
    return [(name, series) for name, series in found if series is not None]


def series_csv(run: Times) -> str:
    """A line per query: its row in the file from 0, when its compute began, and its times."""
    names = [name for name in run.series if name != "enqueue"]
    return _series(run, names)


def enqueue_csv(run: Times) -> str:
    """A line per query: enqueue and compute."""
    return _series(run, [name for name in ("enqueue", "compute") if name in run.series])


def _series(run: Times, names: Sequence[str]) -> str:
    rows = run.rows or range(0)
    starts = run.starts_ms
    headings = ["row", *(["start_ms"] if starts else []), *(f"{name}_ms" for name in names)]
    columns: list[Sequence[object]] = [
        rows,
        *([starts] if starts else []),
        *(run.series[name] for name in names),
    ]
    return csv_text(headings, zip(*columns, strict=True))


def percentiles_csv(run: Times) -> str:
    """A line per percentile, a column per series; empty where a run is too short to tell, or nothing is printed."""
    known = _known_series(run.statistics)
    asked = sorted({*PERCENTILES, *(pct for _, series in known for pct in series.percentiles_ms)})
    headings = ["percentile", *(f"{name}_ms" for name, _ in known)]
    return csv_text(headings, ([pct, *(one.percentiles_ms.get(pct) for _, one in known)] for pct in asked))


def times_text(run: Times) -> str:
    """The run for a person: table, throughput, steadiness, and where all of it comes from."""
    statistics = run.statistics
    table, _ = performance_table(statistics)
    tail = [one.percentiles_ms.get(_TAIL) for _, one in _known_series(statistics)]
    if any(value is not None for value in tail):
        table.insert(len(table) - 1, (f"p{_TAIL:g}", *map(format_ms, tail)))
    widths = [max(len(row[place]) for row in table) for place in range(len(table[0]))] if table else []
    lines = [printable(run.engine.name)]
    for row in table:
        cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  " + "  ".join((row[0].ljust(widths[0]), *cells)))
    lines += [f"  {heading:<11} {text}" for heading, text in _facts(run)]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _facts(run: Times) -> Iterator[tuple[str, str]]:
    statistics = run.statistics
    qps = statistics.throughput_qps
    if qps is None:
        yield "Throughput", f"{MISSING} (no stamps, and trtexec's summary is not there)"
    else:
        yield "Throughput", f"{qps:.2f} qps"
    if run.batch is not None and run.samples_per_s is not None:
        yield "", f"{run.samples_per_s:.2f} samples/s at batch {run.batch} ({run.batch_source})"
    if statistics.stability is not None:
        yield "Steadiness", steadiness_words(statistics.stability)
    enqueue = enqueue_against_compute(run.engine, statistics)
    for place, sentence in enumerate(enqueue.sentences if enqueue else ()):
        yield "" if place else "Enqueue", sentence
    warmup, file = statistics.warmup_queries, _file(run)
    left_out = f", {plural(warmup, 'query', 'queries')} of warm-up left out" if warmup else ""
    yield "Source", printable(f"{statistics.origin}{left_out}" + (f", {file.name}" if file else ""))
    if statistics.enqueue is not None and statistics.enqueue.source is not statistics.source:
        yield "", "the enqueue as trtexec printed it: the stamps of the rows tell it less well"
    for note in statistics.notes:
        yield "Note", note


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
