"""Verdicts on engines: the statistics of their timing runs judged against the baseline's (`noise`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from trex_tui.old.analysis.compare.model import Outcome, Side, Verdict, letter
from trex_tui.old.analysis.compare.noise import LEVEL, Judgement, Statistic, judge, judge_rate, judge_values
from trex_tui.old.analysis.stability import resolution_ms
from trex_tui.old.analysis.statistics import median
from trex_tui.old.analysis.timing import end_to_end, enqueue_durations_ms, warmup_ms, without_warmup
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.engine.engine import Engine
from trex_tui.old.text import plural

LATENCY = "latency"
SERIES_COLUMNS = {"gpu_compute": "computeMs", "h2d": "h2dMs", "d2h": "d2hMs", "enqueue": ""}
"""Series of a timing run besides the latency -> its column; the enqueue is the difference of two stamps."""

Repeats = Sequence[Engine]
"""All runs of one engine, the one that is compared layer by layer first."""


def series_rows(engine: Engine, series: str, per: int = 1) -> list[float]:
    """Return the rows of a series of the timing run in milliseconds, without warm-up and unknown rows; may be empty.

    Args:
        series: `latency`, or a key of `SERIES_COLUMNS`. Without latencies, the GPU compute times replace them.
        per: Divisor of the times.
    """
    if engine.timing is None:
        return []
    columns = engine.timing.columns
    column: Sequence[float] | None
    if series == LATENCY:
        column = engine.timing.latency_ms or columns.get("computeMs")
    elif series == "enqueue":
        column = enqueue_durations_ms(columns)
    else:
        column = columns.get(SERIES_COLUMNS[series])
    rows, _ = without_warmup(engine.timing, warmup_ms(engine))
    return [column[row] / per for row in rows if column[row] == column[row]] if column else []


def query_periods_ms(engine: Engine, per: int = 1) -> list[float]:
    """Return the times from the start of one query to that of the next, per sample; empty without stamps."""
    if engine.timing is None:
        return []
    starts = engine.timing.columns.get("startH2dMs") or engine.timing.columns.get("startComputeMs")
    rows, _ = without_warmup(engine.timing, warmup_ms(engine))
    if not starts:
        return []
    return [(late - early) / per for early, late in pairwise(starts[rows.start : rows.stop]) if late >= early]


def judge_series(
    repeats: tuple[Repeats, Repeats],
    sides: tuple[Side, Side],
    series: str,
    statistic: Statistic,
    names: tuple[str, str] | None = None,
) -> Judgement:
    """Judge a statistic of a series, the baseline first. Runs without rows are skipped.

    Args:
        names: Names of the engines in sentences; by default their labels.
    """
    runs = [
        [rows for engine in engines if (rows := series_rows(engine, series, side.per))]
        for engines, side in zip(repeats, sides, strict=True)
    ]
    baseline, other = (
        engines[0].explain_need("`trtexec --exportTimes`", ArtifactKind.TIMING) for engines in repeats
    )
    labels = names or (sides[0].label, sides[1].label)
    return judge(runs[0], runs[1], statistic, labels, (baseline, other))


def judge_throughput(repeats: tuple[Repeats, Repeats], sides: tuple[Side, Side]) -> Judgement:
    """Judge the throughput in queries per second, in samples if times are per sample; the baseline first."""
    runs = [
        [periods for engine in engines if (periods := query_periods_ms(engine, side.per))]
        for engines, side in zip(repeats, sides, strict=True)
    ]
    return judge_rate(runs[0], runs[1], (sides[0].label, sides[1].label))


def judge_engines(
    repeats: Sequence[Repeats], sides: Sequence[Side], baseline: int
) -> tuple[tuple[Verdict | None, ...], list[float | None]]:
    """Judge the median latency of each engine against the baseline's; also return the median of each one's rows."""
    medians: list[float | None] = []
    for engines, side in zip(repeats, sides, strict=True):
        runs = [rows for engine in engines if (rows := series_rows(engine, LATENCY, side.per))]
        medians.append(sum(map(median, runs)) / len(runs) if runs else None)
    verdicts = tuple(
        None
        if index == baseline
        else _make_verdict(
            _judge_medians(
                (repeats[baseline], repeats[index]),
                (sides[baseline], sides[index]),
                (letter(baseline), letter(index)),
            ),
            letter(index),
        )
        for index in range(len(sides))
    )
    return verdicts, medians


def _judge_medians(
    repeats: tuple[Repeats, Repeats], sides: tuple[Side, Side], names: tuple[str, str]
) -> Judgement:
    """Judge by the rows; by the medians printed by trtexec, if several runs have these and not all have rows.

    With one run each, printed medians have a difference, but no known noise.
    """
    runs = [*repeats[0], *repeats[1]]
    summaries = [end_to_end(run) for run in runs]
    medians = [summary.summary.median_ms if summary else None for summary in summaries]
    known = [median_ms for median_ms in medians if median_ms is not None]
    has_rows = all(series_rows(run, LATENCY) for run in runs)
    if has_rows or len(known) < len(runs):
        return judge_series(repeats, sides, LATENCY, Statistic.MEDIAN, names)
    count = len(repeats[0])
    values = (
        [median_ms / sides[0].per for median_ms in known[:count]],
        [median_ms / sides[1].per for median_ms in known[count:]],
    )
    if len(runs) < 3:
        judgement = judge_series(repeats, sides, LATENCY, Statistic.MEDIAN, names)
        return replace(judgement, values=(values[0][0], values[1][0]))
    return judge_values(*values, resolution_ms(max(known)))


def _make_verdict(judgement: Judgement, name: str) -> Verdict:
    scope = describe_scope(judgement)
    return Verdict(
        judgement.outcome,
        _describe(judgement, name, scope),
        difference_ms=judgement.difference,
        difference_pct=judgement.difference_pct,
        interval_ms=judgement.interval,
        level=LEVEL,
        medians_ms=judgement.values,
        runs=judgement.runs,
        rows=judgement.rows,
        scope=scope,
        tick_ms=judgement.tick,
        method=judgement.method,
    )


def describe_scope(judgement: Judgement) -> str:
    """Return the scope of the verdict: `within one run`, or `3 runs against 3`."""
    if judgement.outcome is Outcome.UNKNOWN:
        return ""
    ours, theirs = judgement.runs
    if ours == theirs == 1:
        return "within one run"
    return f"{plural(theirs, 'run')} against {ours}"


def _describe(judgement: Judgement, name: str, scope: str) -> str:
    """Return the verdict as a sentence without full stop."""
    if judgement.outcome is Outcome.UNKNOWN:
        shown = f"printed medians differ by {describe_difference(judgement)}, " if judgement.values else ""
        return f"{shown}significance not tested: {judgement.reason}"
    shown = describe_difference(judgement)
    tick = judgement.tick or 0.0
    if judgement.outcome is Outcome.SLOWER:
        words = f"the median latency of {name} is higher, {scope}: {shown}"
    elif judgement.outcome is Outcome.FASTER:
        words = f"the median latency of {name} is lower, {scope}: {shown}"
    elif abs(judgement.difference or 0.0) <= tick * 1.000001:
        words = f"the medians differ by at most a timer tick ({tick:.4g} ms), {scope}: {shown}"
    else:
        words = f"the difference of the medians may be noise, {scope}: {shown}"
    return f"{words}; {judgement.reason}" if judgement.reason else words


def describe_difference(judgement: Judgement) -> str:
    """Return `+0.0123 ms (+1.20 %), 95 % interval +0.01 to +0.014 ms`."""
    difference, pct = judgement.difference, judgement.difference_pct
    shown = f"{difference:+.4g} ms{'' if pct is None else f' ({pct:+.2f} %)'}"
    if judgement.interval is not None:
        low, high = judgement.interval
        shown += f", 95 % interval {low:+.4g} to {high:+.4g} ms"
    return shown.replace("-", "−")
