"""The timing run: sections, tables, JSON and the files of `trex-tui times`. All numbers come from `analysis.timing`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui.old.analysis.stability import Stability, is_rising
from trex_tui.old.analysis.timing import (
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
from trex_tui.old.analysis.trtexec_runs import Batch, find_batch_size
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.artifacts.runs import FileRun
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import Diagnostic
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.document import (
    ChartReference,
    Column,
    Section,
    Table,
    drop_empty_columns,
    make_table,
)
from trex_tui.old.report.render_json import diagnostic_object, plain
from trex_tui.old.report.render_text import table_lines
from trex_tui.old.report.table_files import csv_text
from trex_tui.old.report.views.engine import Analysis, EngineSubject, gap_sentences
from trex_tui.old.report.views.runs import run_document, run_sentences
from trex_tui.old.text import MISSING, format_ms, plural, printable

if TYPE_CHECKING:
    from trex_tui.old.report.charts.figure import Scale

TIMES_SCHEMA = "trex-tui/times/2"
NO_RUN = "No end-to-end latency (needs --exportTimes or a profile log)."

SERIES = (
    ("latency", "latency"),
    ("compute", "compute"),
    ("enqueue", "enqueue"),
    ("h2d", "H2D"),
    ("d2h", "D2H"),
)
"""Attribute of the statistics, and its heading."""
STATISTICS = ("min", "median", "mean", "p90", "p95", "p99", "max")
"""Rows of the table of a run."""
_START = "startComputeMs"
_TAIL = "p99.9"
_ROW_KEYS = (("latency", "latencyMs"), ("h2d", "h2dMs"), ("compute", "computeMs"), ("d2h", "d2hMs"))
_CHARTS = {
    "latency_histogram.svg": "histogram",
    "latency_percentiles.svg": "percentiles",
    "latency_over_time.svg": "over-time",
}
_MONITOR_CHARTS = (("power", "power_w"), ("temperature", "gpu_temperature_c"), ("clock", "gpu_clock_mhz"))
"""Chart -> the quantity it needs; they lie under that of the latency."""
_ENQUEUE_CHART = "enqueue_compute.svg"
_TABLES = ("summary.csv", "latency_percentiles.csv", "latency_series.csv", "enqueue_compute_series.csv")
FILE_NAMES = frozenset(
    (
        *_TABLES,
        *(
            name.removesuffix("svg") + ending
            for name in (*_CHARTS, _ENQUEUE_CHART)
            for ending in ("svg", "png")
        ),
    )
)
"""Names of the files of a run, without `summary.json`."""
_MOST_POINTS = 700
_MEDIANS = 180
_STYLES = {"compute": "$primary", "enqueue": "$accent"}


@dataclass(frozen=True, slots=True)
class Times:
    """The timing run of an engine.

    Attributes:
        batch: Samples in a query; None if unknown.
        batch_source: Source of the batch.
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
        """Throughput times batch; None where one is unknown."""
        qps = self.statistics.throughput_qps
        return None if qps is None or self.batch is None else qps * self.batch


def read_times(engine: Engine, batch: int | None = None) -> Times | None:
    """Read the timing run of an engine; None without timing rows and performance summary.

    Args:
        batch: Samples in a query, instead of what the files state.
    """
    statistics = timing_statistics(engine)
    if statistics is None:
        return None
    known = find_batch_size(engine) if batch is None else Batch(batch, "--batch")
    size, source = (known.size, known.source) if known else (None, "")
    timing = engine.timing
    if timing is None or statistics.queries is None:
        return Times(engine, statistics, size, source, None, {}, None)
    rows, _ = without_warmup(timing, warmup_ms(engine))
    whole = {key: column[rows.start : rows.stop] for key, column in timing.columns.items()}
    series: dict[str, Sequence[float]] = {name: whole[key] for name, key in _ROW_KEYS if key in whole}
    enqueue = enqueue_durations_ms(whole)
    if enqueue is not None:
        series["enqueue"] = enqueue
    starts = whole.get(_START)
    first = next((start for start in starts or () if start == start), 0.0)
    stamps = [start - first for start in starts] if starts else None
    ends = () if "enqueueMs" in whole else whole.get("endEnqMs", ())
    resolution = stamp_resolution_ms(ends) if enqueue is not None else None
    return Times(engine, statistics, size, source, rows, series, stamps, resolution)


def times_document(runs: Sequence[Times], diagnostics: Iterable[Diagnostic] = ()) -> dict[str, Any]:
    """The object that `times --json` prints, and `summary.json` holds.

    Args:
        diagnostics: Those that belong to no engine.
    """
    return {
        "schema": TIMES_SCHEMA,
        "engines": [_run(run) for run in runs],
        "diagnostics": list(map(diagnostic_object, diagnostics)),
    }


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
        "runs": [run_document(file_run) for file_run in timed_file_runs(run.engine)],
        "diagnostics": list(map(diagnostic_object, run.engine.diagnostics)),
    }


def timed_file_runs(engine: Engine) -> list[FileRun]:
    """The runs of the file that the latency is of, where it holds several: timing rows, else a log."""
    without = engine.files.get(ArtifactKind.PROFILE)
    runs = [run for run in engine.runs if run.file != without]
    rows = [run for run in runs if run.file == engine.files.get(ArtifactKind.TIMING)]
    return rows or runs


def _file(run: Times) -> Path | None:
    """File of the rows; None where there are none."""
    return run.engine.files.get(ArtifactKind.TIMING) if run.rows is not None else None


def summary_csv(run: Times) -> str:
    """A line per number, its unit at the end of its name."""
    return csv_text(("metric", "value"), _metrics(run))


def runs_csv(runs: Iterable[Times]) -> str:
    """A line per engine and number, its unit at the end of its name."""
    rows = (
        (run.engine.name, metric, value)
        for run in runs
        for metric, value in _metrics(run)
        if metric != "engine"
    )
    return csv_text(("engine", "metric", "value"), rows)


def _metrics(run: Times) -> Iterator[tuple[str, object]]:
    statistics = run.statistics
    yield "engine", run.engine.name
    yield "source", statistics.origin
    shown = [file_run.number for file_run in timed_file_runs(run.engine) if file_run.is_shown]
    if shown:
        yield "run", shown[0]
    yield "queries", statistics.queries
    yield "warmup_queries", statistics.warmup_queries
    yield "batch", run.batch
    yield "throughput_qps", statistics.throughput_qps
    yield "throughput_samples_per_s", run.samples_per_s
    for name, _, series in known_series(statistics):
        for statistic in ("min_ms", "mean_ms", "median_ms", "max_ms", "std_ms", "cv_pct"):
            yield f"{name}_{statistic}", getattr(series, statistic)
        for pct, value in series.percentiles_ms.items():
            yield f"{name}_p{pct:g}_ms", value
    yield "gpu_idle_pct", statistics.gpu_idle_pct
    if statistics.stability is not None:
        yield "stability", statistics.stability.verdict.value


def known_series(statistics: TimingStatistics) -> list[tuple[str, str, SeriesStatistics]]:
    """Attribute, heading and statistics of each quantity that is known."""
    series = [(name, heading, getattr(statistics, name)) for name, heading in SERIES]
    return [entry for entry in series if entry[2] is not None]


def _statistic(series: SeriesStatistics, name: str) -> float | None:
    """One of `STATISTICS`, or any percentile such as `p99.9`."""
    if name.startswith("p"):
        return series.percentiles_ms.get(float(name[1:]))
    value: float | None = getattr(series, f"{name}_ms")
    return value


def performance_table(
    statistics: TimingStatistics,
    names: Iterable[str] = STATISTICS,
    most: int | None = None,
    without: Sequence[str] = (),
) -> Table:
    """A row per statistic that is known of any quantity, a column per quantity.

    Args:
        most: Columns of quantities at most; None for all.
        without: Headings of quantities that are left out.
    """
    known = [entry for entry in known_series(statistics) if entry[1] not in without][:most]
    columns = (
        Column("statistic", "ms"),
        *(Column(f"{name}_ms", heading, is_number=True) for name, heading, _ in known),
    )
    rows = [(name, *(_statistic(series, name) for _, _, series in known)) for name in names]
    return Table("performance", columns, [row for row in rows if any(value is not None for value in row[1:])])


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
    """Return a line per percentile, a column per series; empty if a run is too short, or nothing is printed."""
    known = known_series(run.statistics)
    asked = sorted({*PERCENTILES, *(pct for _, _, series in known for pct in series.percentiles_ms)})
    headings = ["percentile", *(f"{name}_ms" for name, _, _ in known)]
    return csv_text(
        headings, ([pct, *(series.percentiles_ms.get(pct) for _, _, series in known)] for pct in asked)
    )


def times_text(run: Times) -> str:
    """Text of a run: table, throughput, stability and source."""
    statistics = run.statistics
    names = (*STATISTICS[:-1], _TAIL, STATISTICS[-1])
    table = performance_table(statistics, names)
    lines = [printable(run.engine.name)]
    lines += [f"  {line}" for line in table_lines(table)] if table.rows else []
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
        yield "Stability", describe_stability(statistics.stability)
    enqueue = enqueue_against_compute(run.engine, statistics)
    for index, sentence in enumerate(enqueue.sentences if enqueue else ()):
        yield "" if index else "Enqueue", sentence
    warmup, file = statistics.warmup_queries, _file(run)
    left_out = f", {plural(warmup, 'query', 'queries')} of warm-up excluded" if warmup else ""
    yield "Source", printable(f"{statistics.origin}{left_out}" + (f", {file.name}" if file else ""))
    for index, sentence in enumerate(run_sentences(timed_file_runs(run.engine))):
        yield "" if index else "Runs", sentence
    if statistics.enqueue is not None and statistics.enqueue.source is not statistics.source:
        yield "", "enqueue as printed by trtexec, more precise than the time stamps"
    for note in statistics.notes:
        yield "Note", note


def describe_stability(run: Stability) -> str:
    """The verdict on the run, and its sentences."""
    return " ".join((f"{run.verdict.value.capitalize()}.", *run.sentences))


def throughput_facts(statistics: TimingStatistics) -> list[tuple[str, str]]:
    """The throughput; empty if it is unknown."""
    value = statistics.throughput_qps
    return [] if value is None else [("Throughput", f"{value:.2f} qps")]


def latency_facts(statistics: TimingStatistics) -> list[tuple[str, str]]:
    """Median and p99 of the latency, the throughput, and whether the run is stable."""
    facts = []
    latency = statistics.latency
    if latency is not None:
        p99 = latency.percentiles_ms.get(99.0)
        tail = "" if p99 is None else f", p99 {format_ms(p99)}"
        facts.append(("Latency", f"{format_ms(latency.median_ms)} ms{tail}"))
    facts += throughput_facts(statistics)
    if statistics.stability is not None:
        facts.append(("Stability", statistics.stability.verdict.value))
    return facts


def run_facts(engine: Engine, analysis: Analysis) -> list[tuple[str, str]]:
    """Stability and source of the timing run."""
    statistics = analysis.statistics
    if statistics is None:
        return []
    stability = (
        engine.explain_absence("unknown (needs --exportTimes)", ArtifactKind.TIMING)
        if statistics.stability is None
        else describe_stability(statistics.stability)
    )
    return [("Stability", stability), ("Source", statistics.origin)]


def no_run(engine: Engine) -> str:
    """Return why there is no end-to-end latency: the damage of its file, or how to get one."""
    return engine.explain_absence(
        NO_RUN, ArtifactKind.TIMING, ArtifactKind.PROFILE_METADATA, ArtifactKind.PROFILE_LOG
    )


def performance_sections(engine: Engine, analysis: Analysis, most: int | None = None) -> Iterator[Section]:
    """The timing run and its gap to the layer times, as the Overview, `summary` and the report show them.

    Args:
        most: Quantities in the table, of the others the medians become facts; None for all in the table.
    """
    statistics = analysis.statistics
    if statistics is None:
        yield Section("timing", "Performance", sentences=[no_run(engine)])
    else:
        known = known_series(statistics)
        facts = throughput_facts(statistics)
        idle = [heading for _, heading, series in known if series.max_ms == 0]
        known = [entry for entry in known if entry[1] not in idle]
        if idle:
            facts.append((f"{', '.join(idle)} ms", f"{MISSING} (no transfers)"))
        facts += [
            (f"{heading} ms", f"median {format_ms(series.median_ms)}")
            for _, heading, series in known[len(known) if most is None else most :]
        ]
        facts += [*run_facts(engine, analysis), *(("Note", printable(note)) for note in statistics.notes)]
        tables = [performance_table(statistics, most=most, without=idle)] if known else []
        yield Section("timing", "Performance", facts=facts, tables=tables)
    if gap := gap_sentences(engine, analysis):
        yield Section("gap", "Layers vs. end to end", sentences=gap)


def timing_sections(subject: EngineSubject) -> Iterator[Section]:
    """The timing run with all its percentiles and charts, and the gap to the layer times."""
    engine, statistics = subject.engine, subject.analysis.statistics
    names = ["histogram", "percentiles", "over-time"] if engine.timing is not None else ["percentiles"]
    names += [
        name for name, quantity in _MONITOR_CHARTS if engine.monitor and quantity in engine.monitor.columns
    ]
    for section in performance_sections(engine, subject.analysis):
        if section.tables and statistics is not None:
            charts = [ChartReference(name, engine, is_printed=name == names[0]) for name in names]
            yield replace(section, charts=charts, tables=[_statistics_table(statistics)])
        else:
            yield section


def _statistics_table(statistics: TimingStatistics) -> Table:
    """A row per quantity, a column per statistic that is known of any."""
    series = known_series(statistics)
    percentiles = sorted(
        {*PERCENTILES[1:], *(pct for _, _, statistics_ in series for pct in statistics_.percentiles_ms)}
        - {50.0}
    )
    names = ("min", "mean", "median", *(f"p{pct:g}" for pct in percentiles), "max", "std")
    columns = (
        Column("quantity", "ms", value=lambda entry: entry[1]),
        Column("count", "Queries", value=lambda entry: entry[2].count, is_number=True),
        *map(_statistic_column, names),
        Column("cv_pct", "cv %", value=lambda entry: entry[2].cv_pct, is_number=True),
    )
    return drop_empty_columns(make_table("statistics", columns, series, noun="quantity"))


def _statistic_column(name: str) -> Column:
    return Column(f"{name}_ms", name, value=lambda entry: _statistic(entry[2], name), is_number=True)


# Files


def times_files(run: Times) -> dict[str, str]:
    """Name -> content of each file but `summary.json`; pictures and series without data are left out."""
    from trex_tui.old.report.charts.svg_painter import picture

    summary, percentiles, series, enqueue = _TABLES
    files = {summary: summary_csv(run), percentiles: percentiles_csv(run)}
    if run.series:
        files[series] = series_csv(run)
    if "enqueue" in run.series:
        files[enqueue] = enqueue_csv(run)
    for name, chart in _CHARTS.items():
        drawn = picture(chart, run.engine, standalone=True).svg
        if drawn is not None:
            files[name] = drawn
    if "enqueue" in run.series:
        files[_ENQUEUE_CHART] = enqueue_chart(run, standalone=True)
    return files


def enqueue_chart(run: Times, *, standalone: bool = False) -> str:
    """SVG of enqueue and compute time of each query; of many queries medians of neighbours."""
    from trex_tui.old.report.charts.figure import Lines, Scale, Series, spread  # 10 ms, with the painter
    from trex_tui.old.report.charts.svg_painter import draw_svg
    from trex_tui.old.report.charts.svg_plot import Caption

    starts = run.starts_ms
    stamps = [start / 1000.0 for start in starts] if starts and is_rising(starts) else None
    places = stamps or [float(row) for row in range(len(run.series["enqueue"]))]
    x = Scale(places[0], max(places[-1], places[0] + 1e-6), "s from the first query" if stamps else "query")
    shown = [
        Series(name, _thinned(x, places, run.series[name]), style)
        for name, style in _STYLES.items()
        if name in run.series
    ]
    words = [f"Enqueue and compute of each query: {plural(len(places), 'query', 'queries')}."]
    if len(places) > _MOST_POINTS:
        words.append(f"Shown: medians of {_MEDIANS} parts of the run.")
    missing = []
    resolution = run.enqueue_resolution_ms
    if resolution is not None:
        missing.append(
            f"Enqueue times are differences of time stamps with a resolution of {resolution:.2g} ms."
        )
    values = [1.05 * value for series in shown for _, value in series.points]
    caption = Caption(
        f"Enqueue and compute · {run.engine.name}", tuple(words), tuple(missing), standalone=standalone
    )
    return draw_svg(Lines(shown, x, spread(values, "ms", from_zero=True)), caption)


def _thinned(x: Scale, places: Sequence[float], values: Sequence[float]) -> list[tuple[float, float]]:
    from trex_tui.old.report.charts.sampling import column_medians

    known = [(position, value) for position, value in zip(places, values, strict=True) if value == value]
    if len(known) <= _MOST_POINTS:
        return known
    fractions = [x.fraction(position) for position, _ in known]
    at, medians = column_medians(fractions, [value for _, value in known], _MEDIANS)
    return [(x.low + fraction * (x.high - x.low), value) for fraction, value in zip(at, medians, strict=True)]
