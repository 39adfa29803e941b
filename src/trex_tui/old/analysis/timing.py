"""End-to-end latency, and statistics of the timing run: latency, compute, copies and enqueue.

Statistics come from the rows if there are any, else from trtexec's printed summary. Only the enqueue time is preferably taken
from the summary: the rows hold it as a difference of two stamps of six digits, which late in a run have a resolution of only
10 µs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum

from trex_tui.old.analysis.stability import Stability, stability
from trex_tui.old.analysis.statistics import median_of_sorted, percentile, standard_deviation
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.artifacts.metadata import LatencySummary, Metadata
from trex_tui.old.artifacts.timing import Timing
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.engine import Engine
from trex_tui.old.lazy_dataclass import dataclass

DEFAULT_WARMUP_MS = 200.0
"""trtexec's default for `--warmUp`."""

SUMMARY_PERCENTILES = (90.0, 95.0, 99.0)

_WARMUP = re.compile(r"\(\+ (\d+(?:\.\d+)?)\s*ms warm up\)")


@dataclass(frozen=True, slots=True)
class EndToEnd:
    """Latency of whole inferences, copies and compute, without the enqueue.

    Attributes:
        summary: Milliseconds.
        throughput_qps: Queries per second; None if unknown.
        source: File kind and position of the latency. The throughput is trtexec's own if printed.
        queries: Rows with a latency; None for a summary that trtexec printed.
        warmup_queries: Number of rows skipped as warm-up.
    """

    summary: LatencySummary
    throughput_qps: float | None
    source: str
    queries: int | None = None
    warmup_queries: int = 0


def end_to_end(engine: Engine) -> EndToEnd | None:
    """Return the latency of `timing_statistics`, without its other series: from the timing rows, else as trtexec printed it.

    None if neither has a latency.
    """
    printed, metadata = engine.metadata.latency(), engine.metadata
    if engine.timing is not None and engine.timing.latency_ms:
        rows, skipped = without_warmup(engine.timing, warmup_ms(engine))
        values = engine.timing.latency_ms[rows.start : rows.stop].tolist()
        if sum(values) != sum(values):  # NaN, which most runs do not have
            values = [value for value in values if value == value]
        values.sort()
        if values:
            qps = metadata.throughput_qps
            qps = throughput_qps(engine.timing, rows) if qps is None else qps
            return EndToEnd(summarize(values), qps, rows_origin(rows), len(values), skipped)
    if printed is None:
        return None
    return EndToEnd(printed, metadata.throughput_qps, summary_origin(metadata))


def rows_origin(rows: range) -> str:
    """Return file kind and number of the rows of statistics, for display."""
    return f"{ArtifactKind.TIMING.value}: {len(rows)} queries"


def summary_origin(metadata: Metadata) -> str:
    """Return file kind and position of trtexec's performance summary, for display."""
    source = metadata.sources.get("performance", ArtifactKind.PROFILE_METADATA.value)
    return f"{source}: performance_summary"


def warmup_ms(engine: Engine) -> float:
    """Return the length of the warm-up of the timing run from the inference options, else trtexec's default."""
    match = _WARMUP.search(str(engine.metadata.inference_options.get("Duration", "")))
    return float(match[1]) if match else DEFAULT_WARMUP_MS


def without_warmup(timing: Timing, warmup_ms: float) -> tuple[range, int]:
    """Return the rows of the measurement, and the number of warm-up rows before them.

    By time, not by version: TensorRT 8.5 and later claim to drop them, and a real 8.5-style file still has them. If no row
    starts after the warm-up, all rows count.
    """
    starts = timing.columns.get("startComputeMs")
    if not starts:
        return range(timing.rows), 0
    first = next((row for row, start in enumerate(starts) if not start < warmup_ms), None)
    if first is None:
        return range(timing.rows), 0
    return range(first, timing.rows), first


def summarize(ordered: Sequence[float]) -> LatencySummary:
    """Return the summary of sorted values, with trtexec's definitions of median and percentile (`statistics`)."""
    percentiles = {pct: percentile(ordered, pct) for pct in SUMMARY_PERCENTILES}
    mean = math.fsum(ordered) / len(ordered)
    return LatencySummary(ordered[0], ordered[-1], mean, median_of_sorted(ordered), percentiles)


def throughput_qps(timing: Timing, rows: range) -> float | None:
    """Return queries over the time from the first start to the last end; None without stamps.

    trtexec's own walltime: from the first `startH2dMs` after the warm-up to the last `endD2hMs` (sampleReporting.cpp).
    """
    starts, ends = timing.columns.get("startH2dMs"), timing.columns.get("endD2hMs")
    if not starts or not ends or not rows:
        return None
    first = next((start for start in starts[rows.start : rows.stop] if start == start), math.nan)
    last = max((end for end in ends[rows.start : rows.stop] if end == end), default=math.nan)
    span_ms = last - first
    return 1000.0 * len(rows) / span_ms if span_ms > 0 else None


PERCENTILES = (50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
LEAST_ROWS_OF_P999 = 1000
"""With fewer rows the percentile 99.9 is the maximum."""

ENQUEUE_BOUND = 0.8
"""trtexec warns when the median enqueue exceeds this share of the median compute (sampleReporting.cpp)."""

_STAMP_DIGITS = 6
_SUMMARY_LABELS = ("Latency", "GPU Compute Time", "H2D Latency", "D2H Latency", "Enqueue Time")


class TimingSource(str, Enum):
    """Source of statistics."""

    ROWS = "timing rows"
    SUMMARY = "performance summary"


@dataclass(frozen=True, slots=True)
class SeriesStatistics:
    """One quantity over the queries of the run, in milliseconds; None where unknown.

    Attributes:
        count: Rows with a number; None for a printed summary.
        percentiles_ms: For each of `PERCENTILES`: milliseconds by trtexec's definition. 99.9 needs `LEAST_ROWS_OF_P999`
            rows. A printed summary holds the percentiles requested from trtexec.
        std_ms: Standard deviation of the population.
        cv_pct: Coefficient of variation, `std / mean`, in percent; trtexec calls it "coefficient of variance".
        resolution_ms: Step of the numbers, if it is larger than their last digit.
    """

    source: TimingSource
    count: int | None
    min_ms: float | None
    mean_ms: float | None
    median_ms: float | None
    max_ms: float | None
    percentiles_ms: dict[float, float | None]
    std_ms: float | None = None
    cv_pct: float | None = None
    resolution_ms: float | None = None


def find_median(series: SeriesStatistics | None) -> float | None:
    """Return the median of a series in milliseconds; None without a series or a median."""
    return series.median_ms if series else None


@dataclass(frozen=True, slots=True)
class TimingStatistics:
    """Statistics of the timing run.

    Attributes:
        source: Source of everything except perhaps `enqueue`, and `latency` if rows have none.
        origin: The same with file kind and number of queries, for display.
        queries: Number of rows used; None for a printed summary.
        warmup_queries: Number of rows skipped as warm-up.
        throughput_rows_qps: Queries per second from the stamps of the rows.
        throughput_printed_qps: As trtexec printed it.
        latency: h2d + compute + d2h of a query, without the enqueue.
        compute, h2d, d2h: Its parts.
        enqueue: Host time to enqueue a query (`endEnqMs - startEnqMs`).
        gpu_idle_pct: Share of the time from the first compute start to the last compute end in which no query computes;
            None without stamps or if queries overlap.
        stability: Stability of the latency (of compute if rows have no latency); None without rows.
        notes: Inconsistencies.
    """

    source: TimingSource
    origin: str
    queries: int | None
    warmup_queries: int
    throughput_rows_qps: float | None
    throughput_printed_qps: float | None
    latency: SeriesStatistics | None
    compute: SeriesStatistics | None
    h2d: SeriesStatistics | None
    d2h: SeriesStatistics | None
    enqueue: SeriesStatistics | None
    gpu_idle_pct: float | None = None
    stability: Stability | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def throughput_qps(self) -> float | None:
        """Throughput as trtexec printed it, else from the stamps."""
        printed = self.throughput_printed_qps
        return printed if printed is not None else self.throughput_rows_qps

    @property
    def transfers_ms(self) -> float | None:
        """Sum of the median copies in both directions; None if one is unknown."""
        h2d, d2h = find_median(self.h2d), find_median(self.d2h)
        return None if h2d is None or d2h is None else h2d + d2h


@per_engine
def timing_statistics(engine: Engine) -> TimingStatistics | None:
    """Return statistics of an engine's timing run, cached in it; None if no file has any."""
    if engine.timing is not None:
        rows, skipped = without_warmup(engine.timing, warmup_ms(engine))
        result = statistics_of_rows(engine.timing, rows, skipped, engine.metadata)
        if result is not None:
            return result
    return statistics_of_summary(engine.metadata)


def statistics_of_summary(metadata: Metadata) -> TimingStatistics | None:
    """Return statistics of trtexec's performance summary alone; None without a summary."""
    lines = [_series_of_summary(metadata.latency(label)) for label in _SUMMARY_LABELS]
    if metadata.throughput_qps is None and not any(lines):
        return None
    latency, compute, h2d, d2h, enqueue = lines
    return TimingStatistics(
        source=TimingSource.SUMMARY,
        origin=summary_origin(metadata),
        queries=None,
        warmup_queries=0,
        throughput_rows_qps=None,
        throughput_printed_qps=metadata.throughput_qps,
        latency=latency,
        compute=compute,
        h2d=h2d,
        d2h=d2h,
        enqueue=enqueue,
    )


def statistics_of_rows(
    timing: Timing, rows: range, warmup_queries: int = 0, metadata: Metadata | None = None
) -> TimingStatistics | None:
    """Return statistics of some rows; None if they hold neither a latency nor a compute time.

    Args:
        rows: The rows of the measurement.
        warmup_queries: Number of rows skipped before them.
        metadata: With trtexec's own summary of the same run, for values that rows have less precisely, and for checks.
    """
    whole = {key: column[rows.start : rows.stop] for key, column in timing.columns.items()}
    latency = series_statistics(whole.get("latencyMs", ()))
    computed = whole.get("computeMs")
    same = computed is not None and computed == whole.get("latencyMs")
    compute = latency if same else series_statistics(computed or ())
    if latency is None and compute is None:
        return None
    judged = whole["latencyMs"] if latency else computed or ()
    printed = metadata.latency() if metadata else None
    return TimingStatistics(
        source=TimingSource.ROWS,
        origin=rows_origin(rows),
        queries=len(rows),
        warmup_queries=warmup_queries,
        throughput_rows_qps=throughput_qps(timing, rows),
        throughput_printed_qps=metadata.throughput_qps if metadata else None,
        latency=latency or _series_of_summary(printed),
        compute=compute,
        h2d=series_statistics(whole.get("h2dMs", ())),
        d2h=series_statistics(whole.get("d2hMs", ())),
        enqueue=_series_of_summary(metadata.latency("Enqueue Time") if metadata else None) or _enqueue(whole),
        gpu_idle_pct=_gpu_idle_pct(whole),
        stability=stability(judged, whole.get("startComputeMs")),
        notes=_contradictions(latency, printed),
    )


def series_statistics(values: Sequence[float], resolution_ms: float | None = None) -> SeriesStatistics | None:
    """Return statistics of values in any order, ignoring NaN; None without values."""
    ordered = sorted([value for value in values if value == value])
    if not ordered:
        return None
    count = len(ordered)
    mean = math.fsum(ordered) / count
    std = standard_deviation(ordered, mean)
    percentiles: dict[float, float | None] = {pct: percentile(ordered, pct) for pct in PERCENTILES}
    if count < LEAST_ROWS_OF_P999:
        percentiles[99.9] = None
    return SeriesStatistics(
        source=TimingSource.ROWS,
        count=count,
        min_ms=ordered[0],
        mean_ms=mean,
        median_ms=median_of_sorted(ordered),
        max_ms=ordered[-1],
        percentiles_ms=percentiles,
        std_ms=std,
        cv_pct=100.0 * std / mean if mean > 0 else None,
        resolution_ms=resolution_ms,
    )


def _series_of_summary(line: LatencySummary | None) -> SeriesStatistics | None:
    if line is None:
        return None
    percentiles: dict[float, float | None] = dict.fromkeys(PERCENTILES)
    percentiles.update(line.percentiles_ms)
    return SeriesStatistics(
        source=TimingSource.SUMMARY,
        count=None,
        min_ms=line.min_ms,
        mean_ms=line.mean_ms,
        median_ms=line.median_ms,
        max_ms=line.max_ms,
        percentiles_ms=percentiles,
    )


def _enqueue(columns: Mapping[str, Sequence[float]]) -> SeriesStatistics | None:
    taken = enqueue_durations_ms(columns)
    if taken is None:
        return None
    ends = columns.get("endEnqMs") if "enqueueMs" not in columns else None
    return series_statistics(taken, stamp_resolution_ms(ends) if ends else None)


def enqueue_durations_ms(columns: Mapping[str, Sequence[float]]) -> Sequence[float] | None:
    """Return the duration of the enqueue of each query: as stated, else the difference of two stamps; None without these."""
    starts, ends = columns.get("startEnqMs"), columns.get("endEnqMs")
    if stated := columns.get("enqueueMs"):
        return stated
    if not starts or not ends:
        return None
    return [end - start for start, end in zip(starts, ends, strict=True)]


def stamp_resolution_ms(stamps: Sequence[float]) -> float | None:
    """Return the value of the last of six digits in the latest stamp."""
    latest = max((stamp for stamp in stamps if stamp == stamp), default=0.0)
    return 10.0 ** (math.floor(math.log10(latest)) + 1 - _STAMP_DIGITS) if latest > 0 else None


def _gpu_idle_pct(columns: Mapping[str, Sequence[float]]) -> float | None:
    """Return the idle share between queries: from the span and the durations, which are more precise than the stamps."""
    names = ("startComputeMs", "endComputeMs", "computeMs")
    starts, ends, durations = (columns.get(name, ()) for name in names)
    if len(starts) < 2 or not ends or not durations:
        return None
    busy, span = math.fsum(durations), ends[-1] - starts[0]
    rounding = stamp_resolution_ms(ends)
    if not (span > 0 and busy > 0) or rounding is None:
        return None
    overlapping = sum([start < end - 2.0 * rounding for start, end in zip(starts[1:], ends, strict=False)])
    if overlapping or busy > span * 1.0005 + rounding:
        return None
    return max(100.0 * (1.0 - busy / span), 0.0)


def _contradictions(latency: SeriesStatistics | None, printed: LatencySummary | None) -> tuple[str, ...]:
    ours = latency.median_ms if latency else None
    theirs = printed.median_ms if printed else None
    if ours is None or theirs is None or math.isclose(ours, theirs, rel_tol=1e-3):
        return ()
    return (
        f"Median latency {ours:.6g} ms in the rows, {theirs:.6g} ms printed by trtexec: rows and summary "
        "are probably from different runs.",
    )


@dataclass(frozen=True, slots=True)
class EnqueueAgainstCompute:
    """Limits of the run beside the GPU's own work. None where unknown; the reason is in `unknown`.

    Attributes:
        enqueue_ms, compute_ms: Medians.
        ratio: Enqueue over compute.
        is_enqueue_bound: The ratio exceeds `ENQUEUE_BOUND`: trtexec's own rule.
        transfers_ms: Sum of the medians of both copies.
        transfers_pct: Their share of the median latency.
        is_h2d_bound, is_d2h_bound: The median copy takes as long as the median compute: trtexec's own rule.
        gpu_idle_pct: As in `TimingStatistics`.
        uses_cuda_graph: Whether the inference options state it: then the enqueue is the launch of the graph.
        unknown: Attribute -> reason.
    """

    enqueue_ms: float | None
    compute_ms: float | None
    ratio: float | None
    is_enqueue_bound: bool | None
    transfers_ms: float | None
    transfers_pct: float | None
    is_h2d_bound: bool | None
    is_d2h_bound: bool | None
    gpu_idle_pct: float | None
    uses_cuda_graph: bool | None
    sentences: tuple[str, ...]
    unknown: dict[str, str]


def enqueue_against_compute(
    engine: Engine, statistics: TimingStatistics | None = None
) -> EnqueueAgainstCompute | None:
    """Compare host and copies with the GPU's work; None without a timing run.

    Args:
        statistics: Statistics of the same engine, if already computed.
    """
    statistics = statistics or timing_statistics(engine)
    if statistics is None:
        return None
    enqueue, compute = find_median(statistics.enqueue), find_median(statistics.compute)
    h2d, d2h, latency = (
        find_median(series) for series in (statistics.h2d, statistics.d2h, statistics.latency)
    )
    transfers = statistics.transfers_ms
    unknown = {}
    if enqueue is None:
        unknown["ratio"] = "no enqueue time stamps and no printed enqueue time"
    elif not compute or compute < 0:  # negative only if the file is damaged
        unknown["ratio"] = "no compute time"
    elif statistics.enqueue and (statistics.enqueue.resolution_ms or 0.0) > ENQUEUE_BOUND * compute:
        unknown["ratio"] = f"time stamps have a resolution of {statistics.enqueue.resolution_ms:.3g} ms"
    ratio = enqueue / compute if enqueue is not None and compute and not unknown else None
    if transfers is None or not latency:
        unknown["transfers_pct"] = "no copy times"
    if statistics.gpu_idle_pct is None:
        rows = statistics.source is TimingSource.ROWS
        unknown["gpu_idle_pct"] = "queries overlap, or stamps are missing" if rows else "needs timing rows"
    result = EnqueueAgainstCompute(
        enqueue_ms=enqueue,
        compute_ms=compute,
        ratio=ratio,
        is_enqueue_bound=None if ratio is None else ratio > ENQUEUE_BOUND,
        transfers_ms=transfers,
        transfers_pct=100.0 * transfers / latency if transfers is not None and latency else None,
        is_h2d_bound=None if h2d is None or not compute else h2d >= compute,
        is_d2h_bound=None if d2h is None or not compute else d2h >= compute,
        gpu_idle_pct=statistics.gpu_idle_pct,
        uses_cuda_graph=option_is_enabled(engine, "CUDA Graph"),
        sentences=(),
        unknown=unknown,
    )
    return replace(result, sentences=tuple(_tell(result)))


def option_is_enabled(engine: Engine, label: str) -> bool | None:
    """Return whether an inference option of the timing run is enabled; None if not in any file.

    Read from metadata or a log, else from the command line.
    """
    from trex_tui.old.analysis.trtexec_runs import timed_run  # 5 ms, needed by callers of this function only

    stated = str(engine.metadata.inference_options.get(label, "")).strip().lower()
    known = {"enabled": True, "disabled": False}.get(stated)
    return timed_run(engine).has_enabled(label) if known is None else known


def _tell(result: EnqueueAgainstCompute) -> Iterator[str]:
    if result.ratio is None:
        yield f"Enqueue/compute ratio unknown: {result.unknown['ratio']}."
    elif result.is_enqueue_bound:
        remedy = "shorten the host's work" if result.uses_cuda_graph else "a CUDA graph may help"
        yield (
            f"Enqueue-bound: {100 * result.ratio:.0f} % of the compute time (limit {ENQUEUE_BOUND:.0%}); "
            f"{remedy}."
        )
    else:
        graph = " (the launch of a CUDA graph)" if result.uses_cuda_graph else ""
        yield f"Enqueue{graph}: {100 * result.ratio:.2g} % of the compute time, not limiting."
    for is_bound, way in ((result.is_h2d_bound, "host-to-device"), (result.is_d2h_bound, "device-to-host")):
        if is_bound:
            yield f"Bound by {way} copies, which take as long as the compute."
    if result.transfers_pct:
        yield f"Copies take {result.transfers_pct:.1f} % of the latency."
    elif result.transfers_pct is not None:
        yield "No copy time: data transfers were off or too short."
    if result.gpu_idle_pct is not None:
        yield f"The GPU idles {result.gpu_idle_pct:.1f} % of the run between queries."
