"""Terms of the timing run, and of its gap to the sum of the layers."""

from __future__ import annotations

from trex_tui.old.analysis.compare.gate_metrics import METRICS
from trex_tui.old.analysis.gap import EQUAL_PCT, EVENT_GRID_MS, USUAL_OVERHEAD_US
from trex_tui.old.analysis.stability import (
    DRIFT_SIGMAS,
    LEAST_EFFECT_PCT,
    LEAST_ROWS,
    OUTLIER_LEAST_SHARE_PCT,
    SPREAD_PCT,
)
from trex_tui.old.analysis.thresholds import OUTLIER_LEAST_PCT, OUTLIER_SCORE
from trex_tui.old.analysis.timing import ENQUEUE_BOUND, LEAST_ROWS_OF_P999
from trex_tui.old.report.glossary.term import Subject, Term

_SERIES = ("latency", "compute", "h2d", "d2h", "enqueue")
_PERCENTILE = "{0} of 100 queries take at most this long. trtexec's definition: {1} of 100 rows are longer."


_GATE_SERIES = ("latency", "gpu_compute", "h2d", "d2h", "enqueue")


def _of_series(name: str) -> tuple[str, ...]:
    """Return paths of a statistic: of all quantities but the first, which is the term's key, in JSON, CSV and tables."""
    return (
        *(f"timing.{series}.{name}" for series in _SERIES),
        f"statistics.{name}",
        f"engines.{name}",
        *(f"metric.{series}_{name}" for series in _SERIES),
    )


def _statistic(
    name: str, definition: str, *labels: str, formula: str = "", also: tuple[str, ...] = ()
) -> Term:
    """Return a statistic of the end-to-end latency that the other quantities have as well."""
    gates = [metric for metric in METRICS.names if metric in {f"{series}_{name}" for series in _GATE_SERIES}]
    return Term(
        f"latency.{name}",
        definition,
        also=(*_of_series(name), *also),
        labels=labels,
        gates=gates,
        formula=formula,
    )


TIMING = Subject(
    "timing",
    "Timing run",
    "Overview, Charts; summary, times, report",
    "timing rows (--exportTimes), without the warm-up; else performance_summary of the metadata or log",
    (
        Term(
            "engines.throughput_qps",
            "Queries per second over the whole run. Queries overlap, so it can exceed 1 / latency.",
            also=("metric.throughput_qps",),
            labels=("throughput", "qps"),
            gates=("throughput_qps",),
            formula="queries / (last endD2hMs − first startH2dMs), as trtexec does",
            source="performance_summary: Throughput; else timing rows: startH2dMs, endD2hMs",
        ),
        Term(
            "throughput_samples_per_s",
            "Samples per second: the throughput times the batch.",
            labels=("samples/s",),
            formula="throughput_qps · batch",
        ),
        Term(
            "timing.throughput_rows_qps",
            "Throughput computed from the stamps of the timing rows.",
            formula="queries / (last endD2hMs − first startH2dMs)",
            source="timing rows: startH2dMs, endD2hMs",
        ),
        Term(
            "timing.throughput_printed_qps",
            "Throughput as trtexec printed it.",
            source="performance_summary: Throughput",
        ),
        Term(
            "times.engines.batch",
            "Samples in one query.",
            also=("metric.batch",),
            source="--batch; else the first extent of the inputs",
        ),
        Term("batch_source", "Source of the batch."),
        Term(
            "times.engines.engine",
            "Name of the engine.",
            also=("metric.engine",),
            source="names of the files",
        ),
        Term("times.engines.file", "File of the timing rows; null if only a printed summary is there."),
        Term("times.engines.assumed", "Assumed unit or meaning of the timing file."),
        Term("engines.timing", "The timing run: statistics of all queries after the warm-up."),
        Term(
            "engines.latency",
            "End-to-end latency of a query: copy of the inputs, GPU compute, copy of the outputs. The enqueue is not in it.",
            also=(
                "timing.latency",
                "performance.latency_ms",
                "series.latency_ms",
                "latency_percentiles.latency_ms",
            ),
            labels=("latency", "end to end", "host latency"),
            formula="h2d + compute + d2h",
            source="timing rows: latencyMs; performance_summary: Latency",
            unit="milliseconds",
        ),
        Term(
            "timing.compute",
            "GPU compute time of a query, from the start of the first kernel to the end of the last, without copies.",
            also=(
                "performance.compute_ms",
                "series.compute_ms",
                "latency_percentiles.compute_ms",
                "enqueue.compute_ms",
                "gap.compute_ms",
            ),
            labels=("compute", "GPU compute", "GPU Compute Time", "GPU latency"),
            source="timing rows: computeMs; performance_summary: GPU Compute Time",
            unit="milliseconds",
        ),
        Term(
            "timing.h2d",
            "Copy of the inputs from host to device, per query. 0 with --noDataTransfers.",
            also=("performance.h2d_ms", "series.h2d_ms", "latency_percentiles.h2d_ms"),
            labels=("H2D", "H2D, D2H", "H2D Latency", "host to device"),
            source="timing rows: h2dMs; performance_summary: H2D Latency",
            unit="milliseconds",
        ),
        Term(
            "timing.d2h",
            "Copy of the outputs from device to host, per query. 0 with --noDataTransfers.",
            also=("performance.d2h_ms", "series.d2h_ms", "latency_percentiles.d2h_ms"),
            labels=("D2H", "D2H Latency", "device to host"),
            source="timing rows: d2hMs; performance_summary: D2H Latency",
            unit="milliseconds",
        ),
        Term(
            "timing.enqueue",
            "Host time to enqueue the work of a query. With a CUDA graph it is the launch of the graph. It is not part of "
            "the latency, but the GPU waits if it is longer than the compute.",
            also=(
                "performance.enqueue_ms",
                "series.enqueue_ms",
                "latency_percentiles.enqueue_ms",
                "enqueue.enqueue_ms",
            ),
            labels=("enqueue", "Enqueue Time"),
            formula="endEnqMs − startEnqMs",
            source="performance_summary: Enqueue Time; else timing rows: startEnqMs, endEnqMs",
            unit="milliseconds",
        ),
        Term(
            "Total Host Walltime",
            "Time from the first query after the warm-up to the end of the last, on the clock of the host.",
            labels=("host walltime", "walltime"),
            unit="seconds",
            source="performance_summary: Total Host Walltime",
        ),
        Term(
            "Total GPU Compute Time",
            "Sum of the GPU compute times of all queries. Far below the walltime, the GPU idled between queries.",
            unit="seconds",
            source="performance_summary: Total GPU Compute Time",
        ),
        _statistic("min_ms", "The shortest query.", "min"),
        _statistic("mean_ms", "The mean over all queries, raised by outliers.", "mean", formula="Σ / count"),
        _statistic(
            "median_ms",
            (
                "Half of the queries take at most this long. Engines are compared by it because it is robust to "
                "outliers."
            ),
            "median",
            "median latency",
            "Median latency, end to end",
            "p50",
            also=tuple(f"metric.{series}_p50_ms" for series in _SERIES),
        ),
        _statistic("max_ms", "The longest query.", "max"),
        *(
            _statistic(
                f"p{pct}_ms",
                _PERCENTILE.format(pct, rest),
                f"p{pct}",
                *(("Latency p99, end to end",) if pct == "99" else ()),
            )
            for pct, rest in (("75", 25), ("90", 10), ("95", 5), ("99", 1))
        ),
        _statistic(
            "p99.9_ms",
            f"999 of 1000 queries take at most this long. Needs {LEAST_ROWS_OF_P999} rows.",
            "p99.9",
        ),
        Term(
            "percentiles_ms",
            "Percentiles of the quantity, by trtexec's definition; null where the source does not state one.",
            labels=("percentiles",),
            entries="percentiles, p50 to p99.9",
        ),
        Term("latency_percentiles.percentile", "Percentile of the row.", unit="percent"),
        Term("std_ms", "Standard deviation over all queries.", also=_of_series("std_ms"), labels=("std",)),
        Term(
            "latency.cv_pct",
            "Coefficient of variation of the queries; a few percent in a stable run.",
            also=("cv_pct", *_of_series("cv_pct")),
            labels=("cv %",),
            formula="100 · std / mean",
        ),
        Term(
            "resolution_ms",
            "Resolution of the values.",
            formula="last of six printed digits, at least the timer's 0.5 µs",
        ),
        Term("statistics.quantity", "Quantity of the row: latency, compute, enqueue, H2D or D2H."),
        Term("performance.statistic", "Statistic of the row."),
        Term(
            "statistics.count",
            "Queries with a value.",
            also=tuple(f"timing.{name}.count" for name in _SERIES),
        ),
        Term(
            "queries",
            "Queries in the statistics, without the warm-up; null for a printed summary.",
            also=("metric.queries",),
        ),
        Term(
            "warmup_queries",
            "Excluded queries of the warm-up.",
            also=("metric.warmup_queries",),
            formula="rows with startComputeMs below the warm-up of the inference options, by default 200 ms",
        ),
        Term(
            "timing.origin",
            "File kind and number of queries of the statistics.",
            also=(
                "latency.source",
                "timing.source",
                "metric.source",
                *(f"timing.{name}.source" for name in _SERIES),
            ),
            labels=("Source",),
        ),
        Term("timing.notes", "Contradictions between timing rows and printed summary.", labels=("Note",)),
        Term(
            "gpu_idle_pct",
            "Share of the run in which the GPU computed nothing, between queries. Null if queries overlap or stamps lack.",
            also=("metric.gpu_idle_pct",),
            formula="100 · (1 − Σ computeMs / (last endComputeMs − first startComputeMs))",
            source="timing rows: startComputeMs, endComputeMs, computeMs",
        ),
        Term(
            "timing.stability",
            f"Stability of the latency: stable, drift, spread, outliers, or unknown below {LEAST_ROWS} "
            "rows. Of several problems the verdict names the one that explains the others best.",
            also=("stability.verdict", "metric.stability"),
            labels=("Steadiness", "stability"),
            source="timing rows: latencyMs, in order",
        ),
        Term("stability.rows", "Queries with a latency."),
        Term(
            "stability.blocks",
            "Blocks of consecutive queries used for the drift; 0 for too few rows.",
        ),
        Term("stability.median_ms", "Median latency of the run."),
        Term(
            "windows_range_pct",
            f"Spread of the medians of ten parts of the run. From {SPREAD_PCT:g} % the verdict is spread.",
            formula="100 · (largest − smallest median of ten windows) / median",
            labels=("spread",),
        ),
        Term("stability.outliers", "Queries far from the level around them.", labels=("outliers",)),
        Term("outliers.count", f"Queries whose modified z-score exceeds {OUTLIER_SCORE:g}."),
        Term(
            "outliers.large",
            f"Outliers at least {OUTLIER_LEAST_PCT:g} % of the median away from their level.",
        ),
        Term(
            "outliers.large_share_pct",
            f"Share of the large outliers. From {OUTLIER_LEAST_SHARE_PCT:g} % they reach p99.",
        ),
        Term("outliers.limit_ms", "Distance from the level that makes a query an outlier."),
        Term("outliers.worst_ms", "Latency of the query farthest from its level; null without outliers."),
        Term("outliers.worst_pct", "Its distance from the level, in percent of the median."),
        Term(
            "outliers.excess_pct",
            "Time of the large outliers beyond their level, in percent of the whole run.",
        ),
        Term("outliers.are_significant", "True if outliers are many or long enough for the verdict."),
        Term(
            "stability.drift",
            "Difference between the last and the first third of the run.",
            labels=("drift",),
            formula="difference of the medians of block medians",
        ),
        Term("drift.change_ms", "Drift in milliseconds; positive if the run became slower."),
        Term("drift.change_pct", "Drift in percent of the median."),
        Term(
            "drift.is_significant",
            f"True if the drift exceeds {LEAST_EFFECT_PCT:g} % and {DRIFT_SIGMAS:g} standard errors.",
        ),
        Term(
            "stability.settling",
            "Deviating start of the run: the warm-up was too short. Null if there is none.",
        ),
        Term("settling.rows", "Deviating queries at the start."),
        Term("settling.lasts_s", "Duration of the start; null without stamps."),
        Term("settling.change_pct", "First block against the median of the run."),
        Term(
            "stability.levels",
            "Two humps in the histogram, as two clock states give. Null if the rows gather around one level.",
        ),
        Term("levels.low_ms", "Median of the rows around the lower level."),
        Term("levels.high_ms", "Median of the rows around the upper level."),
        Term("levels.low_share_pct", "Share of the rows around the lower level."),
        Term("levels.apart_pct", "Distance of the levels, in percent of the median of the run."),
        Term("engines.enqueue", "Host and copies relative to GPU compute: limits of the run."),
        Term(
            "enqueue.ratio",
            f"Enqueue over compute. Above {ENQUEUE_BOUND:g} the run is bound by the enqueue, trtexec's own rule.",
            formula="median enqueue / median compute",
        ),
        Term(
            "is_enqueue_bound", f"True if enqueue / compute exceeds {ENQUEUE_BOUND:g}: a CUDA graph may help."
        ),
        Term(
            "transfers_ms",
            "Both copies of a query.",
            formula="median h2d + median d2h",
            also=("gap.copies_ms",),
        ),
        Term(
            "transfers_pct",
            "Share of the copies in the latency.",
            formula="100 · transfers_ms / median latency",
        ),
        Term(
            "is_h2d_bound", "True if the copy of the inputs takes as long as the compute, trtexec's own rule."
        ),
        Term(
            "is_d2h_bound",
            "True if the copy of the outputs takes as long as the compute, trtexec's own rule.",
        ),
        Term(
            "uses_cuda_graph",
            "True if the run launched a CUDA graph.",
            source="inference options: CUDA Graph",
        ),
        Term("series.row", "Row of the query in the timing file, from 0.", unit=""),
        Term("series.start_ms", "Start of the compute of the query, from the first query."),
    ),
)

GAP = Subject(
    "gap",
    "Layers vs. end to end",
    "Overview; summary, report",
    "profile: averageMs of all layers; timing run: latency and compute",
    (
        Term(
            "engines.gap",
            "Sum of the layer times compared with the latency. The profile times layers one by one and adds "
            "a few microseconds to each; the timing run overlaps streams and may hold copies and waits for "
            "the host. Neither includes the other.",
            labels=("gap", "Layers vs. end to end"),
        ),
        Term("gap.direction", f"The longer of both: layers or end to end; equal within {EQUAL_PCT:g} %."),
        Term("layers_timed", "Layers with a time above 0."),
        Term("layers_zero", "Layers with a time of 0, such as NoOps."),
        Term("layers_left_out", "Layers without a row in the profile, excluded from sums."),
        Term("sum_average_ms", "Sum of the layers' average times.", formula="Σ averageMs"),
        Term(
            "sum_median_ms",
            "Sum of the layers' median times; null if a layer has none.",
            formula="Σ medianMs",
        ),
        Term("gap.latency_ms", "Median latency of the timing run."),
        Term(
            "gap.difference_ms",
            "Layer sum minus latency.",
            formula="sum_average_ms − latency_ms",
        ),
        Term("gap.ratio", "Sum of the layers over the latency.", formula="sum_average_ms / latency_ms"),
        Term(
            "compute_difference_ms",
            "Layer sum minus GPU compute time, without copies.",
            formula="sum_average_ms − compute_ms",
        ),
        Term(
            "overhead_us_per_layer",
            f"Cost of profiling per layer; {USUAL_OVERHEAD_US[0]:g} to {USUAL_OVERHEAD_US[1]:g} µs is usual. Negative if the "
            "layers are shorter than the compute.",
            formula="1000 · compute_difference_ms / layers_timed",
        ),
        Term("gap.iterations", "Iterations of the profile run.", source="profile: count"),
        Term(
            "on_grid_pct",
            f"Share of the layer times that are multiples of {1000 * EVENT_GRID_MS:.3f} µs, the timer's step. Near 100 the "
            "times are single samples.",
        ),
        Term(
            "gap.streams",
            "Streams that the layers name; null if they name none.",
            source="layer information: StreamId",
        ),
    ),
)
