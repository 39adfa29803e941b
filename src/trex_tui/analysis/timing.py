"""Statistics of the timing run, its stability, and the gap between the layers and the latency.

Statistics come from the rows if there are any, else from trtexec's printed summary. Only the enqueue time is preferably taken
from the summary: the rows hold it as a difference of two stamps of six digits, which late in a run resolve only 10 µs.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from trex_tui.analysis.compute import WORKING
from trex_tui.analysis.device import INTEGRATED, find_capability
from trex_tui.analysis.options import find_flag
from trex_tui.analysis.stability import Stability, judge_stability
from trex_tui.artifacts.metadata import Facts, LatencySummary
from trex_tui.column import Column, by_key
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Engine, per_engine
from trex_tui.frames import FLOAT, INT, TEXT, total
from trex_tui.text import plural

Values: TypeAlias = npt.NDArray[np.float64]

DEFAULT_WARMUP_MS = 200.0
"""trtexec's default for `--warmUp`."""
PERCENTILES = (50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
LEAST_ROWS_OF_P999 = 1000
"""With fewer rows the percentile 99.9 is the maximum."""
ENQUEUE_BOUND = 0.8
"""trtexec warns when the median enqueue exceeds this share of the median compute (sampleReporting.cpp)."""
MOST_LAUNCH_US, MOST_LAUNCH_US_OF_INTEGRATED = 50, 100
"""Time of a launch at most, with what the host does around it."""
MOST_ENQUEUE_MS = 20
"""Enqueue time of launches at most, if their number is unknown."""
SERIES = {
    "latency": ("latency_ms", "Latency"),
    "compute": ("compute_ms", "GPU Compute Time"),
    "h2d": ("h2d_ms", "H2D Latency"),
    "d2h": ("d2h_ms", "D2H Latency"),
    "enqueue": ("enqueue_ms", "Enqueue Time"),
}
"""Series -> column of the queries, and label in trtexec's summary."""
ROWS, SUMMARY = "timing rows", "performance summary"
_STAMP_DIGITS = 6
_WARMUP = re.compile(r"\(\+ (\d+(?:\.\d+)?)\s*ms warm up\)")


# Queries


def warmup_ms(engine: Engine) -> float:
    """Return the length of the warm-up of the timing run from the inference options, else trtexec's default."""
    match = _WARMUP.search(str(engine.facts.inference_options.get("Duration", "")))
    return float(match[1]) if match else DEFAULT_WARMUP_MS


@per_engine
def measured_queries(engine: Engine) -> pd.DataFrame:
    """Return the queries after the warm-up, by their start; all of them if none starts after it.

    By time, not by version: TensorRT 8.5 and later claim to drop the warm-up, and a real 8.5-style file still has it.
    """
    queries = engine.queries
    is_warm = ~(queries["start_compute_ms"] < warmup_ms(engine)).fillna(False)
    return queries[is_warm.cummax()] if is_warm.any() else queries


def percentile(ordered: Values, pct: float) -> float:
    """Return the percentile of at least one sorted value: the value at index `n - 1 - int(n * (100 - pct) / 100)`.

    This is trtexec's definition (sampleReporting.cpp, `findPercentile`); it computes the index in single precision and so may
    use the next value if `n * (100 - pct) / 100` is whole.
    """
    left_out = int(round(len(ordered) * (100.0 - pct) / 100.0, 6))
    return float(ordered[max(len(ordered) - 1 - left_out, 0)])


def percentile_key(pct: float) -> str:
    """Return the key of a percentile: `p50_ms`, `p99_9_ms`."""
    return f"p{pct:g}_ms".replace(".", "_")


def measure(values: Values) -> dict[str, Any]:
    """Return count, min, mean, median, max, percentiles, deviation and its share of the mean, of at least one value."""
    ordered = np.sort(values)
    mean, std = float(ordered.mean()), float(ordered.std())
    measured = {percentile_key(pct): percentile(ordered, pct) for pct in PERCENTILES}
    if len(ordered) < LEAST_ROWS_OF_P999:
        measured[percentile_key(99.9)] = math.nan
    return {
        "source": ROWS,
        "count": len(ordered),
        "min_ms": float(ordered[0]),
        "mean_ms": mean,
        "median_ms": float(np.median(ordered)),
        "max_ms": float(ordered[-1]),
        **measured,
        "std_ms": std,
        "cv_pct": 100.0 * std / mean if mean > 0 else None,
    }


def _measure_summary(line: LatencySummary | None) -> dict[str, Any] | None:
    if line is None:
        return None
    times = {key: getattr(line, key) for key in ("min_ms", "mean_ms", "median_ms", "max_ms")}
    return {
        "source": SUMMARY,
        **times,
        **{percentile_key(pct): ms for pct, ms in line.percentiles_ms.items()},
    }


@per_engine
def statistics(engine: Engine) -> pd.DataFrame:
    """Return a row per series of `SERIES` with numbers, from the rows, else as trtexec printed them. Columns: `STATISTICS`.

    A printed summary has the percentiles that were requested from trtexec. Empty without a timing run.
    """
    queries, facts = measured_queries(engine), engine.facts
    has_rows = bool(queries[["latency_ms", "compute_ms"]].notna().any(axis=None))
    measured: dict[str, dict[str, Any]] = {}
    for name, (key, label) in SERIES.items():
        values = queries[key].dropna().to_numpy(float)
        printed = _measure_summary(facts.latency(label))
        if name == "enqueue" and printed:
            measured[name] = printed
        elif has_rows and len(values):
            measured[name] = measure(values)
            if name == "enqueue":
                measured[name]["resolution_ms"] = stamp_resolution_ms(queries["end_enqueue_ms"])
        elif printed and (name == "latency" or not has_rows):
            measured[name] = printed
    table = pd.DataFrame.from_dict(measured, orient="index").rename_axis("series")
    table = table.reindex(columns=list(dict.fromkeys((*STATISTICS, *table))))
    types: dict[str, Any] = {"count": INT, "source": TEXT}
    return table.astype({key: types.get(str(key), FLOAT) for key in table})


def stamp_resolution_ms(stamps: pd.Series) -> float | None:
    """Return the value of the last of six digits in the latest stamp; None without one."""
    latest = stamps.max()
    is_known = not pd.isna(latest) and latest > 0
    return 10.0 ** (math.floor(math.log10(latest)) + 1 - _STAMP_DIGITS) if is_known else None


def find_latency(engine: Engine, key: str, series: str = "latency") -> float | None:
    """Return a statistic, such as `median_ms` or `p99_ms`; None if unknown."""
    table = statistics(engine)
    return total(table.loc[[series], key]) if series in table.index and key in table else None


# Facts of the run


class TimingFacts(NamedTuple):
    """The timing run, and its limits beside the GPU's own work. Unknown is None; the keys are described in `FACTS`.

    Attributes:
        unknown: Key -> reason.
        doubt: Why rows, summary or throughput are doubtful; empty if they agree.
    """

    source: str | None
    queries: int | None
    warmup_queries: int
    throughput_qps: float | None
    throughput_rows_qps: float | None
    throughput_printed_qps: float | None
    enqueue_ratio: float | None
    is_enqueue_below_resolution: bool
    is_enqueue_bound: bool | None
    transfers_ms: float | None
    transfers_pct: float | None
    is_h2d_bound: bool | None
    is_d2h_bound: bool | None
    gpu_idle_pct: float | None
    uses_cuda_graph: bool | None
    unknown: dict[str, str]
    doubt: str


def lists_kernels(engine: Engine) -> bool:
    """Return whether the layers are the kernels that the host launches: closed blocks have an unknown number."""
    types = engine.layers["layer_type"]
    is_closed = engine.layers["kind"].eq(LayerKind.MYELIN.value) & types.notna() & types.ne("kgen")
    return len(engine) > 0 and not is_closed.any()


@per_engine
def is_enqueue_blocked(engine: Engine) -> bool:
    """Return whether enqueue takes too long for launches: the host waits in it, for a full queue or for data."""
    enqueue_ms = find_latency(engine, "median_ms", "enqueue")
    if enqueue_ms is None or not lists_kernels(engine):
        return enqueue_ms is not None and enqueue_ms > MOST_ENQUEUE_MS
    layers = engine.layers
    kernels = int((layers["kind"].isin(WORKING) & layers["latency_ms"].ne(0).fillna(True)).sum())
    is_integrated = find_capability(engine) in INTEGRATED
    most_us = MOST_LAUNCH_US_OF_INTEGRATED if is_integrated else MOST_LAUNCH_US
    return 1000.0 * enqueue_ms > most_us * max(kernels, 1)


@per_engine
def timing_facts(engine: Engine) -> TimingFacts | None:
    """Return the facts of the timing run; None if no file has any."""
    table, facts = statistics(engine), engine.facts
    printed_qps = facts.throughput_qps
    if table.empty and printed_qps is None:
        return None
    has_rows = bool(
        table.loc[[name for name in ("latency", "compute") if name in table.index], "source"].eq(ROWS).any()
    )
    queries = measured_queries(engine)
    rows_qps = throughput_qps(queries) if has_rows else None
    median = {name: find_latency(engine, "median_ms", name) for name in SERIES}
    enqueue, compute, latency = median["enqueue"], median["compute"], median["latency"]
    h2d, d2h = median["h2d"], median["d2h"]
    transfers = None if h2d is None or d2h is None else h2d + d2h
    resolution = find_latency(engine, "resolution_ms", "enqueue") or 0.0
    idle_pct = gpu_idle_pct(queries) if has_rows else None
    unknown = {}
    if enqueue is None:
        is_printed = find_latency(engine, "mean_ms", "enqueue") is not None
        what = (
            "median of the enqueue time" if is_printed else "enqueue time stamps and no printed enqueue time"
        )
        unknown["enqueue_ratio"] = f"no {what}"
    elif not compute or compute < 0:  # negative only if the file is damaged
        unknown["enqueue_ratio"] = "no compute time"
    elif resolution > ENQUEUE_BOUND * compute:
        unknown["enqueue_ratio"] = f"time stamps have a resolution of {resolution:.3g} ms"
    if transfers is None or not latency:
        unknown["transfers_pct"] = "no copy times"
    if idle_pct is None:
        unknown["gpu_idle_pct"] = (
            "queries overlap, or stamps are missing" if has_rows else "needs timing rows"
        )
    is_below = enqueue is not None and enqueue < resolution
    ratio = None
    if enqueue is not None and compute and not unknown.get("enqueue_ratio"):
        ratio = max(enqueue, resolution if is_below else 0.0) / compute
    qps = rows_qps if printed_qps is None else printed_qps
    doubts = (_contradiction(table, facts), engine.throughput_doubt)
    return TimingFacts(
        source=(ROWS if has_rows else SUMMARY),
        queries=len(queries) if has_rows else None,
        warmup_queries=len(engine.queries) - len(queries) if has_rows else 0,
        throughput_qps=qps,
        throughput_rows_qps=rows_qps,
        throughput_printed_qps=printed_qps,
        enqueue_ratio=ratio,
        is_enqueue_below_resolution=is_below,
        is_enqueue_bound=None if ratio is None else ratio > ENQUEUE_BOUND,
        transfers_ms=transfers,
        transfers_pct=100.0 * transfers / latency if transfers is not None and latency else None,
        is_h2d_bound=None if h2d is None or not compute else h2d >= compute,
        is_d2h_bound=None if d2h is None or not compute else d2h >= compute,
        gpu_idle_pct=idle_pct,
        uses_cuda_graph=find_flag(engine, "cuda_graph"),
        unknown=unknown,
        doubt="; ".join(filter(None, doubts)),
    )


def throughput_qps(queries: pd.DataFrame) -> float | None:
    """Return queries over the time from the first start to the last end; None without stamps.

    trtexec's own walltime: from the first `startH2dMs` after the warm-up to the last `endD2hMs` (sampleReporting.cpp).
    """
    starts, ends = queries["start_h2d_ms"].dropna(), queries["end_d2h_ms"]
    span_ms = ends.max() - starts.iloc[0] if len(starts) and ends.notna().any() else 0.0
    return float(1000.0 * len(queries) / span_ms) if span_ms > 0 else None


def gpu_idle_pct(queries: pd.DataFrame) -> float | None:
    """Return the share of the time from the first compute start to the last compute end in which no query computes.

    From the span and the durations, which are more precise than the stamps. None without stamps or if queries overlap.
    """
    keys = ["start_compute_ms", "end_compute_ms", "compute_ms"]
    if len(queries) < 2 or queries[keys].isna().all().any():
        return None
    starts, ends, durations = (queries[key] for key in keys)
    busy, span = float(durations.sum()), ends.iloc[-1] - starts.iloc[0]
    rounding = stamp_resolution_ms(ends)
    if pd.isna(span) or not (span > 0 and busy > 0) or rounding is None:
        return None
    overlaps = (starts.iloc[1:].array < (ends.iloc[:-1] - 2.0 * rounding).array).any()
    if overlaps or busy > span * 1.0005 + rounding:
        return None
    return max(float(100.0 * (1.0 - busy / span)), 0.0)


def _contradiction(table: pd.DataFrame, facts: Facts) -> str:
    printed = facts.latency()
    theirs = printed.median_ms if printed else None
    if theirs is None or "latency" not in table.index or table.loc["latency", "source"] != ROWS:
        return ""
    ours = total(table.loc[["latency"], "median_ms"]) or 0.0
    if math.isclose(ours, theirs, rel_tol=1e-3):
        return ""
    return f"median latency {ours:.6g} ms in the rows, {theirs:.6g} ms printed by trtexec: probably different runs"


@per_engine
def stability(engine: Engine) -> Stability | None:
    """Return the stability of the latency (of the compute time if rows have no latency); None without rows."""
    queries = measured_queries(engine)
    judged = next((queries[key] for key in ("latency_ms", "compute_ms") if queries[key].notna().any()), None)
    return None if judged is None else judge_stability(judged, queries["start_compute_ms"])


# Layers and latency

EVENT_GRID_MS = 0.001024
"""Step of single layer times: with a count of 1, 85 to 100 % of them are multiples of it."""
GRID_SHARE_PCT = 80.0
"""Share of layer times on the grid from which they count as quantized."""
FEW_ITERATIONS = 10
"""A profile over fewer iterations is a sample, not an average."""
EQUAL_PCT = 0.5
"""Sum and latency closer than this count as equal."""
USUAL_OVERHEAD_US = (0.0, 8.0)
"""Overhead per layer of a profile taken under the conditions of the timing run: 1.6 to 6.2 µs on four GPUs."""


class LayerGap(NamedTuple):
    """Sum of the layers compared with the timing run. The two come from different passes of trtexec: neither is a part of
    the other. Unknown is None, the reason in `unknown`; the keys are described in `GAP`.
    """

    direction: str | None
    layers_timed: int
    layers_zero: int
    layers_left_out: int
    sum_average_ms: float
    sum_median_ms: float | None
    latency_ms: float | None
    compute_ms: float | None
    difference_ms: float | None
    ratio: float | None
    compute_difference_ms: float | None
    overhead_us_per_layer: float | None
    copies_ms: float | None
    iterations: int | None
    on_grid_pct: float | None
    streams: int | None
    unknown: dict[str, str]


@per_engine
def layer_gap(engine: Engine) -> LayerGap | None:
    """Compare the sum of the layers with the timing run; None if no layer was profiled."""
    times = engine.layers["latency_ms"].dropna()
    whole = total(times)
    if whole is None:
        return None
    facts = timing_facts(engine)
    latency, compute = (find_latency(engine, "median_ms", series) for series in ("latency", "compute"))
    medians = engine.layers["median_ms"][times.index]
    unknown = {}
    if medians.isna().all():
        unknown["sum_median_ms"] = "no medians in the profile (TensorRT 8.0 to 8.4 EA write none)"
    elif medians.isna().any():
        unknown["sum_median_ms"] = f"{plural(int(medians.isna().sum()), 'layer')} without a median"
    timed = int((times > 0).sum())
    beyond = None if compute is None else whole - compute
    gap = LayerGap(
        direction=_direction(whole, latency),
        layers_timed=timed,
        layers_zero=len(times) - timed,
        layers_left_out=len(engine) - len(times),
        sum_average_ms=whole,
        sum_median_ms=None if unknown else total(medians),
        latency_ms=latency,
        compute_ms=compute,
        difference_ms=None if latency is None else whole - latency,
        ratio=whole / latency if latency else None,
        compute_difference_ms=beyond,
        overhead_us_per_layer=1000.0 * beyond / timed if beyond is not None and timed else None,
        copies_ms=facts.transfers_ms if facts else None,
        iterations=engine.iterations,
        on_grid_pct=on_grid_pct(times),
        streams=engine.layers["stream"].nunique() or None,
        unknown=unknown,
    )
    reasons = dict.fromkeys(
        ("direction", "latency_ms", "difference_ms", "ratio"),
        "no latency in timing rows or performance summary",
    )
    reasons |= dict.fromkeys(
        ("compute_ms", "compute_difference_ms", "overhead_us_per_layer"),
        "no compute time in timing rows or summary",
    )
    reasons |= {
        "copies_ms": "no copy times in timing rows or performance summary",
        "iterations": "not in the profile",
        "on_grid_pct": "all layer times are zero",
        "streams": "no streams listed (TensorRT before 8.6)",
    }
    if compute is not None:
        reasons["overhead_us_per_layer"] = "all layer times are zero"
    return gap._replace(
        unknown=unknown | {key: text for key, text in reasons.items() if getattr(gap, key) is None}
    )


def _direction(whole: float, latency: float | None) -> str | None:
    if not latency:
        return None
    if abs(whole - latency) <= latency * EQUAL_PCT / 100.0:
        return "equal"
    return "layers" if whole > latency else "end to end"


def on_grid_pct(times: pd.Series) -> float | None:
    """Return the share of the times above 0 that are multiples of `EVENT_GRID_MS` in percent, to six digits."""
    positive = times[times > 0].to_numpy(float)
    if not len(positive):
        return None
    steps = np.maximum(np.round(positive / EVENT_GRID_MS), 1) * EVENT_GRID_MS
    return float(100.0 * (np.abs(positive - steps) <= 5e-6 * np.maximum(positive, steps)).mean())


_TIMED = "timing file, else the summary that trtexec printed"
STATISTICS = by_key(
        Column("source", "Source", "Timing rows, or the performance summary.", source=_TIMED),
        Column("count", "Queries", "Queries with a number; missing for a printed summary.", source="timing file"),
        Column("min_ms", "Min", "Shortest.", source=_TIMED),
        Column("mean_ms", "Mean", "Arithmetic mean.", source=_TIMED),
        Column("median_ms", "Median", "Middle value.", source=_TIMED),
        Column("max_ms", "Max", "Longest.", source=_TIMED),
        *(
            Column(
                percentile_key(pct),
                f"p{pct:g}",
                f"Time that {pct:g} % of the queries do not exceed.",
                f"sorted times[n - 1 - int(n · {100 - pct:g} / 100)], as trtexec",
                _TIMED,
            )
            for pct in PERCENTILES
        ),
        Column("std_ms", "σ", "Standard deviation of all queries.", source="timing file"),
        Column("cv_pct", "CV", "Coefficient of variation.", "100 · std_ms / mean_ms", "timing file"),
        Column("resolution_ms", "Resolution", "Step of the numbers, if larger than their last digit.", source="timing file"),
)  # fmt: skip
"""Columns of `statistics`."""
FACTS = by_key(
    Column("queries", "Queries", "Queries of the timing run, without its warm-up.", source="timing file"),
    Column("warmup_queries", "Warm-up", "Queries left out as warm-up.", source="timing file"),
    Column("throughput_qps", "Throughput", "Queries per second, as printed, else from the stamps.",
        source=_TIMED),
    Column("throughput_rows_qps", "Throughput of the rows", "Queries per second by the stamps.",
        "queries / (last endD2hMs - first startH2dMs)", "timing file"),
    Column("throughput_printed_qps", "Printed throughput", "Queries per second that trtexec printed."),
    Column("enqueue_ratio", "Enqueue/compute", f"Medians; above {ENQUEUE_BOUND:g} the host limits the "
        "throughput.", "median enqueue / median compute", _TIMED),
    Column("is_enqueue_below_resolution", "Below resolution",
        "The ratio is an upper bound: the stamps' step."),
    Column("is_enqueue_bound", "Enqueue-bound", "trtexec's own rule.", f"enqueue_ratio > {ENQUEUE_BOUND:g}"),
    Column("transfers_ms", "Copies", "Median copies in both directions.", "median h2d + median d2h", _TIMED),
    Column("transfers_pct", "Copies %", "Share of the copies in the latency.",
        "100 · transfers_ms / latency"),
    Column("is_h2d_bound", "H2D-bound", "The median copy to the device takes as long as the median compute."),
    Column("is_d2h_bound", "D2H-bound", "The median copy to the host takes as long as the median compute."),
    Column("gpu_idle_pct", "GPU idle", "Share of the run in which no query computes.", source="timing file"),
    Column("uses_cuda_graph", "CUDA graph", "Whether queries are launched as a CUDA graph."),
)  # fmt: skip
GAP = by_key(
    Column("direction", "Longer", "layers, end to end, or equal.", f"equal within {EQUAL_PCT:g} %"),
    Column("layers_timed", "Timed layers", "Layers with a time above 0.", source="profile"),
    Column("layers_zero", "Zero layers", "Layers with a time of 0, such as NoOps.", source="profile"),
    Column("layers_left_out", "Layers left out", "Layers without a row in the profile."),
    Column("sum_average_ms", "Sum of layers", "Σ of the mean times of the layers.", "Σ latency_ms",
        "profile"),
    Column("sum_median_ms", "Sum of medians", "Σ of the median times of the layers.", "Σ median_ms",
        "profile"),
    Column("latency_ms", "Latency", "Median latency of the timing run.", source=_TIMED),
    Column("compute_ms", "Compute", "Median compute time of the timing run.", source=_TIMED),
    Column("difference_ms", "Difference", "Layers against the latency.", "sum_average_ms - latency_ms"),
    Column("ratio", "Ratio", "Layers against the latency.", "sum_average_ms / latency_ms"),
    Column("compute_difference_ms", "Beyond compute", "Copies are no layers.", "sum_average_ms - compute_ms"),
    Column("overhead_us_per_layer", "Overhead per layer",
        f"Time that profiling adds to a layer, in µs; usually up to {USUAL_OVERHEAD_US[1]:g}.",
        "1000 · compute_difference_ms / layers_timed"),
    Column("copies_ms", "Copies", "Median copies in both directions.", source=_TIMED),
    Column("iterations", "Iterations", "Iterations of the profile run.", source="profile"),
    Column("on_grid_pct", "On the grid", f"Share of times that are multiples of {EVENT_GRID_MS * 1e3:g} µs."),
    Column("streams", "Streams", "Number of streams that layers name.", source="layer information"),
)  # fmt: skip
