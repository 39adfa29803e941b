"""Verdicts on engines and blocks: their timing runs, or the single times of layers, judged against the baseline's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from trex_tui.analysis.stability import resolution_ms
from trex_tui.analysis.timing import find_latency, measured_queries
from trex_tui.artifacts.kinds import FileKind
from trex_tui.compare.blocks import key_of, letter
from trex_tui.compare.noise import Judgement, Outcome, Statistic, Values, judge, judge_rate, judge_values
from trex_tui.engine.model import Engine
from trex_tui.errors import Severity
from trex_tui.frames import FLOAT, text_array

Runs = Sequence[Engine]
"""All runs of one engine, the one that is compared layer by layer first."""


class Verdict(NamedTuple):
    """An engine against the baseline.

    Attributes:
        judgement: On the median latency end to end; without its rows, on the median of the sums of single layer times.
        is_by_layers: It is on layer times.
    """

    judgement: Judgement
    is_by_layers: bool = False

    @property
    def outcome(self) -> Outcome:
        """Faster, slower, same or unknown."""
        return self.judgement.outcome


def list_rows(engine: Engine, column: str, per: int = 1) -> Values:
    """Return the rows of a column of the timing run in milliseconds, without warm-up and unknown rows; may be empty.

    Args:
        column: Column of the queries. Without latencies, the GPU compute times replace them.
        per: Divisor of the times.
    """
    queries = measured_queries(engine)
    if column == "latency_ms" and queries[column].isna().all():
        column = "compute_ms"
    return queries[column].dropna().to_numpy(float) / per


def list_periods(engine: Engine, per: int = 1) -> Values:
    """Return the times from the start of one query to that of the next, in milliseconds; empty without stamps."""
    queries = measured_queries(engine)
    stamps = next(
        (queries[key] for key in ("start_h2d_ms", "start_compute_ms") if queries[key].notna().any()), None
    )
    periods = np.array([]) if stamps is None else np.diff(stamps.dropna().to_numpy(float))
    return periods[periods >= 0] / per


def judge_series(
    runs: tuple[Runs, Runs], per: tuple[int, int], names: tuple[str, str], column: str, statistic: Statistic
) -> Judgement:
    """Judge a statistic of a column of the timing runs, the baseline first. Runs without rows are skipped."""
    rows = [
        [values for engine in engines if len(values := list_rows(engine, column, divisor))]
        for engines, divisor in zip(runs, per, strict=True)
    ]
    return judge(rows[0], rows[1], statistic, names, _explain_no_rows(runs))


def judge_throughput(runs: tuple[Runs, Runs], per: tuple[int, int], names: tuple[str, str]) -> Judgement:
    """Judge the throughput, the baseline first."""
    rows = [
        [values for engine in engines if len(values := list_periods(engine, divisor))]
        for engines, divisor in zip(runs, per, strict=True)
    ]
    return judge_rate(rows[0], rows[1], names, _explain_no_rows(runs))


def _explain_no_rows(runs: tuple[Runs, Runs]) -> tuple[str, str]:
    first, second = (explain_need(own[0], FileKind.TIMING, "`trtexec --exportTimes`") for own in runs)
    return first, second


def explain_need(engine: Engine, kind: FileKind, need: str) -> str:
    """Return why a file is missing: it is unusable, or the need."""
    path = engine.files.get(kind)
    is_damaged = any(note.severity is Severity.ERROR and note.file == path for note in engine.notes)
    return f"{path.name} is unusable" if path is not None and is_damaged else need


def judge_engines(runs: Sequence[Runs], per: Sequence[int]) -> dict[int, Verdict]:
    """Judge each engine but the first one, the baseline."""
    return {
        other: _judge_engine((runs[0], runs[other]), (per[0], per[other]), ("A", letter(other)))
        for other in range(1, len(runs))
    }


def _judge_engine(runs: tuple[Runs, Runs], per: tuple[int, int], names: tuple[str, str]) -> Verdict:
    """Judge the median latency by the rows; else by the medians that trtexec printed for several runs; else by layer times.

    With one run each, printed medians have a difference, but no known noise.
    """
    judgement = judge_series(runs, per, names, "latency_ms", Statistic.MEDIAN)
    if judgement.outcome is not Outcome.UNKNOWN and all(
        len(list_rows(run, "latency_ms")) for own in runs for run in own
    ):
        return Verdict(judgement)
    medians = [
        [None if (median := find_latency(run, "median_ms")) is None else median / divisor for run in own]
        for own, divisor in zip(runs, per, strict=True)
    ]
    first, second = ([median for median in own if median is not None] for own in medians)
    are_known = len(first) == len(runs[0]) and len(second) == len(runs[1])
    if are_known and len(first) + len(second) > 2:
        return Verdict(judge_values(first, second, resolution_ms(max(*first, *second))))
    sums = [sum_calls(own[0], range(len(own[0])), divisor) for own, divisor in zip(runs, per, strict=True)]
    if sums[0] is not None and sums[1] is not None and judgement.outcome is Outcome.UNKNOWN:
        found = judge([sums[0]], [sums[1]], Statistic.MEDIAN, names, ("", ""))
        return Verdict(found, is_by_layers=True)
    if are_known and judgement.values is None:
        judgement = replace(judgement, values=(first[0], second[0]))
    return Verdict(judgement)


def sum_calls(engine: Engine, layers: Sequence[int], per: int = 1) -> Values | None:
    """Return the time of some layers in each call; None without single times, or if a layer lacks a call."""
    if engine.calls.empty or not len(layers):
        return None
    calls = engine.calls[engine.calls["layer"].isin(layers)]
    counts = calls["layer"].value_counts()
    if len(counts) != len(layers) or counts.nunique() != 1:
        return None
    numbers = calls.groupby("layer").cumcount()
    return calls["time_ms"].groupby(numbers).sum().to_numpy(float) / per


def judge_blocks(frame: pd.DataFrame, engines: Sequence[Engine], per: Sequence[int]) -> pd.DataFrame:
    """Add verdicts on the mean of the single times of blocks: `b_verdict`, and the interval of the difference."""
    times = [
        [sum_calls(engine, layers, divisor) for layers in frame[key_of(position, "layers")]]
        for position, (engine, divisor) in enumerate(zip(engines, per, strict=True))
        if not engines[0].calls.empty
    ]
    for position in range(1, len(times)):
        if engines[position].calls.empty:
            continue
        found = [
            None
            if first is None or second is None
            else judge([first], [second], Statistic.MEAN, ("", ""), ("", ""))
            for first, second in zip(times[0], times[position], strict=True)
        ]
        frame[key_of(position, "verdict")] = text_array(own.outcome.value if own else None for own in found)
        for number, key in enumerate(("delta_low_ms", "delta_high_ms")):
            edges = [own.interval[number] if own and own.interval else None for own in found]
            frame[key_of(position, key)] = pd.array(edges, FLOAT)
    return frame
