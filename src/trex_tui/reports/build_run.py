"""What a log tells of a run that measured, in lines of text: performance summary, averages on the way, time per layer."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator

from trex_tui.artifacts.buildlog.model import BuildTrace
from trex_tui.artifacts.buildlog.run import Performance, ProfileTable, TraceAverages
from trex_tui.artifacts.profile import ProfileRow
from trex_tui.text import MISSING, format_ms, plural, printable, shorten_middle

NAME_WIDTH = 60
"""Characters of a layer's name in a table of text."""
_LABEL_WIDTH = 24


def run_text(trace: BuildTrace, top: int) -> Iterator[str]:
    """Lines about the last run that was measured; none where the log tells of none.

    Args:
        trace: The log.
        top: How many rows of the time per layer there are.
    """
    if trace.performance is not None:
        yield from _performance(trace.performance)
    if trace.trace is not None:
        yield from _averages(trace.trace)
    if trace.profile is not None and (trace.profile.rows or trace.profile.total):
        yield from _profile(trace.profile, top)


def _performance(one: Performance) -> Iterator[str]:
    """The summary as trtexec prints it, for percentiles are those that were asked for."""
    yield ""
    yield f"Performance  as printed (line {one.line})"
    for label, value in one.values.items():
        yield f"  {printable(label):<{_LABEL_WIDTH}} {printable(value)}"


def _averages(one: TraceAverages) -> Iterator[str]:
    """Each line of the log is an average over some runs; runs of lines that trtexec left out are not in here."""
    omitted = f"; {plural(one.omitted, 'more line')} left out" if one.omitted else ""
    runs = f"over {plural(sum(one.runs), 'run')}"
    yield ""
    yield f"Averages     {plural(len(one.runs), 'line')} {runs} (line {one.line}){omitted}"
    columns = {
        "GPU latency": one.gpu_ms,
        "host latency": one.host_ms,
        "end to end": one.end_to_end_ms,
        "enqueue": one.enqueue_ms,
    }
    told = {label: found for label, values in columns.items() if (found := _spread(values, one.runs))}
    if told:
        yield f"  {'ms':<{_LABEL_WIDTH}} {'lowest':>10} {'mean':>10} {'highest':>10}"
    for label, found in told.items():
        yield f"  {label:<{_LABEL_WIDTH}} " + " ".join(f"{format_ms(value):>10}" for value in found)


def _spread(values: array[float], runs: array[int]) -> tuple[float, float, float] | None:
    """The lowest of the averages, their mean by number of runs, and the highest; None where no line tells one."""
    known = [(value, count) for value, count in zip(values, runs, strict=True) if math.isfinite(value)]
    weight = sum(count for _, count in known)
    if not weight:
        return None
    mean = math.fsum(value * count for value, count in known) / weight
    return min(known)[0], mean, max(known)[0]


def _profile(one: ProfileTable, top: int) -> Iterator[str]:
    """The layers that took longest, and the row that sums all up."""
    iterations = "" if one.iterations is None else f", {plural(one.iterations, 'iteration')}"
    has_median = any(row.median_ms is not None for row in one.rows)
    median = f" {'median ms':>10}" if has_median else ""
    yield ""
    yield f"Profile      {plural(len(one.rows), 'layer')}{iterations} (line {one.line})"
    yield f"{'Longest to run':<{NAME_WIDTH}} {'total ms':>12} {'average ms':>10}{median} {'time %':>6}"
    longest = sorted(one.rows, key=lambda row: -(row.total_ms or 0.0))
    for row in longest[:top]:
        yield _row(row, has_median)
    if len(longest) > top:
        yield f"  … and {len(longest) - top} more"
    if one.total is not None:
        yield _row(one.total, has_median)


def _row(row: ProfileRow, has_median: bool) -> str:
    """A row with the decimals that trtexec prints."""
    name = shorten_middle(printable(row.name), NAME_WIDTH)
    median = f" {format_ms(row.median_ms):>10}" if has_median else ""
    share = MISSING if row.percentage is None else f"{row.percentage:.1f}"
    times = f"{format_ms(row.total_ms, 2):>12} {format_ms(row.average_ms):>10}"
    return f"{name:<{NAME_WIDTH}} {times}{median} {share:>6}"
