"""The timing run: statistics, stability, limits beside the GPU, and the gap to the layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from trex_tui.analysis.options import find_batch, timed_log
from trex_tui.analysis.stability import LEAST_ROWS, OUTLIER_LEAST_PCT, VERDICTS, Stability
from trex_tui.analysis.timing import (
    ENQUEUE_BOUND,
    EVENT_GRID_MS,
    FACTS,
    FEW_ITERATIONS,
    GRID_SHARE_PCT,
    ROWS,
    USUAL_OVERHEAD_US,
    LayerGap,
    TimingFacts,
    is_enqueue_blocked,
    layer_gap,
    percentile_key,
    stability,
    statistics,
    timing_facts,
)
from trex_tui.artifacts.kinds import FileKind
from trex_tui.buildlog.trace import find_bursts
from trex_tui.column import Column, by_key
from trex_tui.engine.model import Engine
from trex_tui.frames import FLOAT, plain_values, text_array
from trex_tui.report.absence import explain_absence, no_queries
from trex_tui.report.charts import make_chart
from trex_tui.report.document import Document, Fact, Section, drop_empty_columns
from trex_tui.text import MISSING, plural, printable

_HEADINGS = {"latency": "latency", "compute": "compute", "enqueue": "enqueue", "h2d": "H2D", "d2h": "D2H"}
_COPIES = ("h2d", "d2h")
_STATISTICS = ("min", "median", "mean", "p90", "p95", "p99", "p99.9", "max")
_LEAST_PCT_SHOWN = 0.01
_CAUSES = "changing clocks, throttling, a short warm-up, or another process; lock the clocks"
BATCH = by_key(
    Column("batch", "Batch", "Samples per query.", source="inputs, else options of the run or the build"),
    Column("samples_per_s", "Samples/s", "Samples per second.", "throughput_qps · batch"),
)
STABILITY = by_key(
    Column(
        "verdict",
        "Stability",
        "Verdict on the run; of several findings the most explanatory one.",
        words=VERDICTS,
    ),
    Column("rows", "Rows", "Rows that were judged."),
    Column("resolution_ms", "Resolution", "Smallest difference that the file can show."),
    Column("windows_range_pct", "Spread", "Range of the medians of ten windows in percent of the median."),
    Column("outliers", "Outliers", "Rows far from the median of the rows around them."),
    Column("drift", "Drift", "Difference of the medians of the last and the first third of the run."),
    Column("settling", "Settling", "Rows at the start that differ from the rest: the warm-up was too short."),
    Column("levels", "Levels", "Two peaks in the histogram, as of two clock states."),
)
RUNS = by_key(
    Column("file", "File", "File that holds several runs.", is_free_text=True),
    Column("number", "Run", "Number of the run, for `--run`."),
    Column("is_shown", "Shown", "Whether its numbers are shown."),
    Column("layers", "Layers", "Layers of its profile."),
    Column("iterations", "Iterations", "Iterations of its profile."),
    Column("sum_ms", "Sum ms", "Sum of its layers."),
    Column("queries", "Queries", "Rows of its timing."),
    Column("median_ms", "Median ms", "Median latency; compute time if a log states only that."),
    Column("throughput_qps", "qps", "Queries per second."),
    Column("options", "Options", "Options that not all runs have.", is_free_text=True, width=24),
)
"""Columns of the runs in files that hold several."""


def list_times(engine: Engine, batch: int | None = None, *, has_charts: bool = False) -> Document:
    """Return everything about the timing run of an engine.

    Args:
        batch: Samples per query, instead of what the files state.
    """
    size, source = known = (batch, "--batch") if batch else find_batch(engine) or (None, "")
    file = None if engine.queries.empty else engine.files.get(FileKind.TIMING)
    data = {"file": file, "batch": size, "batch_source": source or None}
    sections = [Section("", data=data, audience="programs"), *_list_performance(engine, known)]
    if has_charts and not engine.queries.empty:
        names = ("histogram", "percentiles", "over-time")
        sections += [
            Section(f"chart-{name}", chart=make_chart(engine, name), audience="people") for name in names
        ]
    if not engine.runs.empty:
        sections.append(run_section(engine))
    return Document("times", engine.name, sections, engine.notes, data={"stability": None, "runs": []})


def run_section(engine: Engine) -> Section:
    """Return the runs of files that hold several; `--run` chooses one."""
    frame = engine.runs.assign(file=[str(path) for path in engine.runs["file"]])
    section = Section("runs", "Runs", frame=frame, columns=list(RUNS.values()), noun="run", is_aside=True)
    return drop_empty_columns(section)


def performance_sections(engine: Engine) -> Iterator[Section]:
    """Yield the timing run and its gap to the layers, for `summary`, the report and the Overview."""
    if timing_facts(engine) is None:
        yield Section("timing", "Performance", sentences=[no_queries(engine)])
    yield from _list_performance(engine)
    if (gap := layer_gap(engine)) is not None:
        yield Section("gap", "Layers vs. end to end", sentences=list(_describe_gap(gap)), data=gap)


def _list_performance(engine: Engine, batch: tuple[int | None, str] | None = None) -> Iterator[Section]:
    """Yield facts, statistics and stability of the timing run; `times`, which states the batch, has some more."""
    facts = timing_facts(engine)
    if facts is None:
        return
    qps, table = facts.throughput_qps, statistics(engine)
    idle = (
        [] if batch else [name for name in _COPIES if name in table.index and table.loc[name, "max_ms"] == 0]
    )
    shown = [Fact(FACTS["throughput_qps"], qps)] if qps else []
    if batch and batch[0] and qps:
        rate, words = batch[0] * qps, f"at batch {batch[0]} ({batch[1]})"
        shown.append(Fact(BATCH["samples_per_s"], rate, f"{rate:.2f} {words}"))
    if idle:
        title = f"{', '.join(_HEADINGS[name] for name in idle)} ms"
        shown.append(Fact(Column("", title), None, f"{MISSING} (no transfers)"))
    limits = _describe_limits(engine, facts) if batch else ()
    texts = {"Enqueue": "\n".join(limits), "Stability": describe_stability(engine),
             "Source": describe_source(engine, facts), "Doubt": printable(facts.doubt or "")}  # fmt: skip
    shown += [Fact(Column("", title), None, text) for title, text in texts.items() if text]
    yield Section("timing", "Performance", shown, data=_values(engine, facts))
    yield statistics_section(
        engine, _STATISTICS if batch else [name for name in _STATISTICS if name != "p99.9"], idle
    )
    yield Section("stability", data=stability(engine), audience="programs")


def describe_stability(engine: Engine) -> str:
    """Return the verdict on the queries, else what trtexec states, else what is missing."""
    run = stability(engine)
    words = describe_stated_stability(engine) if run is None else " ".join(_describe_stability(run))
    return words or explain_absence(engine, "unknown (needs --exportTimes)", FileKind.TIMING)


def describe_stated_stability(engine: Engine) -> str:
    """Return the variation that trtexec states in the log, and bursts among its averages; empty without both."""
    trace = timed_log(engine)
    if trace is None:
        return ""
    variation = trace.performance.variation_pct if trace.performance else None
    parts = [] if variation is None else [f"unstable: coefficient of variation {variation:.1f} % (log)"]
    latency = engine.facts.latency() or engine.facts.latency("GPU Compute Time")
    if parts and latency and latency.median_ms and (p99 := latency.percentiles_ms.get(99.0)):
        parts.append(f"p99 {p99 / latency.median_ms:.1f} times the median")
    if (bursts := find_bursts(trace.averages)) is not None:
        slow = f"{bursts.slow_groups} of {bursts.groups} groups take {bursts.slow_ms:.4g} ms"
        parts.append(f"bursts: {slow} instead of {bursts.median_ms:.4g}, every {bursts.every:.0f} groups")
    return "; ".join(parts)


def statistics_section(engine: Engine, names: Sequence[str], without: Sequence[str] = ()) -> Section:
    """Return a row per statistic, a column per series.

    Args:
        without: Series that are left out.
    """
    table = statistics(engine).drop(index=list(without), errors="ignore")
    table = table.loc[[name for name in _HEADINGS if name in table.index]]
    keys = [percentile_key(float(name[1:])) if name[0] == "p" else f"{name}_ms" for name in names]
    frame = table.reindex(columns=keys).T.reset_index(drop=True).astype(FLOAT)
    frame.columns = [f"{name}_ms" for name in table.index]
    frame.insert(0, "statistic", pd.Series(text_array(names)))
    frame = frame[frame.iloc[:, 1:].notna().any(axis=1)].reset_index(drop=True)
    columns = [
        Column("statistic", "ms"),
        *(Column(f"{name}_ms", _HEADINGS[name], FACTS_OF_SERIES[name]) for name in table.index),
    ]
    return Section("statistics", frame=frame, columns=columns, noun="statistic", audience="people")


FACTS_OF_SERIES = {
    "latency": "H2D, compute and D2H of a query.",
    "compute": "From the first to the last kernel of a query.",
    "enqueue": "Time that the host needs to launch a query.",
    "h2d": "Copy of the inputs from host to device.",
    "d2h": "Copy of the outputs from device to host.",
}


def _values(engine: Engine, facts: TimingFacts) -> dict[str, object]:
    """Return the facts and the statistics of each series, for programs."""
    table = statistics(engine)
    columns = [plain_values(table[key]) for key in table]
    rows = {
        name: dict(zip(table, row, strict=True)) for name, *row in zip(table.index, *columns, strict=True)
    }
    return {**facts._asdict(), **rows}


def describe_source(engine: Engine, facts: TimingFacts) -> str:
    """Return where the statistics come from: `6039 timing rows`."""
    table = statistics(engine)
    if facts.queries is None:
        has_means_only = table["mean_ms"].notna().any() and not table["max_ms"].notna().any()
        return f"{'averages' if has_means_only else 'performance summary'} that trtexec printed"
    left_out = facts.warmup_queries
    words = plural(facts.queries, "timing row")
    words += f", {plural(left_out, 'query', 'queries')} of warm-up excluded" if left_out else ""
    if "enqueue" in table.index and table.loc["enqueue", "source"] != ROWS:
        words += "; enqueue as printed by trtexec"
    return words


def _describe_stability(run: Stability) -> Iterator[str]:
    yield f"{run.verdict.capitalize()}."
    if run.rows < LEAST_ROWS:
        yield f"{plural(run.rows, 'row')}: too few for drift and spread (need {LEAST_ROWS})."
    spread = run.windows_range_pct
    if run.verdict == "stable" and spread is not None:
        yield f"Medians of ten windows agree within {max(spread, _LEAST_PCT_SHOWN):.2g} %."
    if levels := run.levels:
        yield (
            f"{levels.low_share_pct:.0f} % of the rows are around {levels.low_ms:.4g} ms, the others around "
            f"{levels.high_ms:.4g} ms ({levels.apart_pct:.1f} % apart): probably two clock states; lock the clocks."
        )
    if (drift := run.drift) and drift.is_significant:
        change = f"{'rises' if drift.change_ms > 0 else 'falls'} by {abs(drift.change_ms):.3g} ms"
        yield f"The latency {change} ({abs(drift.change_pct):.1f} %) over the run: {_CAUSES}."
    elif run.verdict == "spread":
        yield f"Medians of ten windows differ by {spread:.2g} %: {_CAUSES}."
    if (outliers := run.outliers) and outliers.large:
        yield (
            f"{outliers.large}/{plural(run.rows, 'row')} are outliers (≥ {OUTLIER_LEAST_PCT:.0f} %), max "
            f"{outliers.worst_pct:+.0f} % ({outliers.worst_ms:.4g} ms)."
        )
    if settling := run.settling:
        lasts = plural(settling.rows, "row") if settling.lasts_s is None else f"{settling.lasts_s:.2f} s"
        yield f"The first {lasts} run {settling.change_pct:+.1f} % off the rest: use a longer warm-up."


def _describe_limits(engine: Engine, facts: TimingFacts) -> Iterator[str]:
    """Yield what limits the run beside the GPU's own work."""
    if facts.enqueue_ratio is None:
        yield f"Unknown: {facts.unknown['enqueue_ratio']}."
    else:
        verdict = "not limiting"
        if facts.is_enqueue_bound and is_enqueue_blocked(engine):
            verdict = "too long for launches: the host waits in it"
        elif facts.is_enqueue_bound:
            remedy = "shorten the host's work" if facts.uses_cuda_graph else "a CUDA graph may help"
            verdict = f"limiting from {100 * ENQUEUE_BOUND:.0f} % on; {remedy}"
        below = "at most " if facts.is_enqueue_below_resolution else ""
        yield f"{below}{100 * facts.enqueue_ratio:.2g} % of the compute time, {verdict}."
    for is_bound, way in ((facts.is_h2d_bound, "host-to-device"), (facts.is_d2h_bound, "device-to-host")):
        if is_bound:
            yield f"Bound by {way} copies, which take as long as the compute."
    if facts.transfers_pct:
        yield f"Copies take {facts.transfers_pct:.1f} % of the latency."
    if facts.gpu_idle_pct is not None:
        yield f"The GPU idles {facts.gpu_idle_pct:.1f} % of the run between queries."


def _describe_gap(gap: LayerGap) -> Iterator[str]:
    whole = f"unknown ({gap.unknown.get('ratio')})"
    if gap.ratio is not None and gap.latency_ms is not None:
        whole = f"{gap.latency_ms:.4g} ms ({100 * gap.ratio:.1f} %)"
    yield f"Layer sum {gap.sum_average_ms:.4g} ms vs. median latency {whole}."
    overhead, beyond = gap.overhead_us_per_layer, gap.compute_difference_ms
    if gap.direction == "layers" and overhead is not None and overhead > 0:
        usual = f" (usually at most {USUAL_OVERHEAD_US[1]:.0f}: other clocks?)" * (
            overhead > USUAL_OVERHEAD_US[1]
        )
        yield f"Profiling overhead: {overhead:.1f} µs/layer{usual} over {plural(gap.layers_timed, 'layer')}."
    if gap.direction == "end to end" and gap.copies_ms:
        yield f"The latency includes {gap.copies_ms:.4g} ms of copies, which are not layers."
    if gap.direction == "end to end" and beyond is not None and beyond < 0:
        causes = "launch gaps, host waits, loops, or work outside the layers"
        yield f"The compute time exceeds the layer sum by {-beyond:.4g} ms: {causes}."
    if gap.streams and gap.streams > 1:
        yield f"{gap.streams} streams: the sum contains neither their overlap nor waits between streams."
    if gap.layers_left_out:
        yield f"{plural(gap.layers_left_out, 'layer')} without a profile time excluded from the sum."
    if gap.iterations is not None and gap.iterations < FEW_ITERATIONS:
        yield f"Profile of {plural(gap.iterations, 'iteration')}: layer times are single samples."
    if gap.on_grid_pct is not None and gap.on_grid_pct >= GRID_SHARE_PCT:
        step = f"{1000 * EVENT_GRID_MS:.3f} µs, the timer's step"
        yield f"{gap.on_grid_pct:.0f} % of the layer times are multiples of {step}."
