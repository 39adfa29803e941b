"""Several runs in one file: profiles or timing rows that were appended, logs of several programs. Runs are never added up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.artifacts.metadata import number_in, parse_latency
from trex_tui.old.artifacts.profile import Profile
from trex_tui.old.artifacts.timing import Timing
from trex_tui.old.errors import Diagnostic, Severity
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import plural, shorten_middle

if TYPE_CHECKING:
    from trex_tui.old.buildlog.build_trace import BuildTrace, MeasuredRun

_MOST_NAMED = 8
_MOST_OPTIONS = 120


@dataclass(frozen=True, slots=True)
class FileRun:
    """One of several runs in a file. Missing values are None.

    Attributes:
        number: Position in the file, from 1.
        is_shown: Whether the engine has the numbers of this run.
        layers: Number of rows in its profile.
        iterations: As stated in the profile.
        sum_ms: Sum of the layers' average times.
        queries: Number of rows in its timing.
        median_ms: Median host latency of these, or as stated in the log.
        throughput_qps: As stated in the log.
        options: Options of the command line that the other runs do not have, from the log.
        stage: Stage of the program, with its parameters: `prefill batch_size=1 input_len=128`.
    """

    file: Path
    number: int
    is_shown: bool
    layers: int | None = None
    iterations: int | None = None
    sum_ms: float | None = None
    queries: int | None = None
    median_ms: float | None = None
    throughput_qps: float | None = None
    options: str | None = None
    stage: str | None = None


def list_profile_runs(
    file: Path, profiles: Sequence[Profile], shown: int | None, options: Sequence[str]
) -> list[FileRun]:
    """Return the runs of a profile; empty if it has a single run.

    Args:
        options: Options of each run, as far as known.
    """
    if len(profiles) < 2:
        return []
    return [
        FileRun(
            profile.file or file,
            index + 1,
            index == shown,
            stage=profile.stage or None,
            layers=len(profile.rows),
            iterations=profile.iterations,
            sum_ms=profile.sum_ms,
            options=options[index] if len(options) == len(profiles) else None,
        )
        for index, profile in enumerate(profiles)
    ]


def list_timing_runs(
    file: Path, timings: Sequence[Timing], shown: int | None, options: Sequence[str]
) -> list[FileRun]:
    """Return the runs of a timing file, as `list_profile_runs`."""
    if len(timings) < 2:
        return []
    from statistics import median  # 5 ms, and hardly any file has several runs

    runs = []
    for index, timing in enumerate(timings):
        known = [value for value in timing.latency_ms if value == value]  # without NaN
        runs.append(
            FileRun(
                file,
                index + 1,
                index == shown,
                queries=timing.rows,
                median_ms=median(known) if known else None,
                options=options[index] if len(options) == len(timings) else None,
            )
        )
    return runs


def list_log_runs(file: Path, measured: Sequence[MeasuredRun], shown: int | None) -> list[FileRun]:
    """Return the measured runs of a log, as `list_profile_runs`."""
    if len(measured) < 2:
        return []
    options = _differences_of_runs(measured)
    runs = []
    for index, run in enumerate(measured):
        values = run.performance.values if run.performance is not None else {}
        latency = parse_latency(values.get("Latency"))
        averages = [row.average_ms for row in run.profile.rows] if run.profile is not None else []
        known = [average for average in averages if average is not None]
        runs.append(
            FileRun(
                file,
                index + 1,
                index == shown,
                layers=len(averages) or None,
                iterations=run.profile.iterations if run.profile is not None else None,
                sum_ms=math.fsum(known) if known else None,
                median_ms=latency.median_ms if latency is not None else None,
                throughput_qps=number_in(values.get("Throughput")),
                options=options[index] or None,
            )
        )
    return runs


def _differences_of_runs(measured: Sequence[MeasuredRun]) -> list[str]:
    """Return what distinguishes each run: options of its command line, else its inference options."""
    commands = [run.run.command if run.run is not None else "" for run in measured]
    texts = differing_options(commands)
    if any(texts):
        return texts
    labels = [
        label
        for label in dict.fromkeys(label for run in measured for label in run.inference)
        if len({run.inference.get(label) for run in measured}) > 1
    ]
    return [
        ", ".join(f"{label}: {run.inference[label]}" for label in labels if label in run.inference)
        for run in measured
    ]


def list_options(trace: BuildTrace) -> dict[int, list[str]]:
    """Return number of runs -> what distinguishes the runs of a log: measured runs, else all runs."""
    commands = [run.command for run in trace.runs]
    texts = {len(commands): differing_options(commands)} if len(commands) > 1 else {}
    if len(trace.measured) > 1:
        texts[len(trace.measured)] = _differences_of_runs(trace.measured)
    return texts


def describe_runs(runs: Sequence[FileRun], *, is_chosen: bool = False) -> Diagnostic:
    """Return the note that a file holds several runs: the shown run, the others, and how to choose.

    Args:
        is_chosen: The user chose the run; then it is not a warning.
    """
    shown = next((run for run in runs if run.is_shown), None)
    others = [run for run in runs if run is not shown]
    named = "; ".join(describe_run(run) for run in others[:_MOST_NAMED])
    more = f"; {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
    if shown is not None:
        head = f"shown is {describe_run(shown)}"
    else:
        head = "not the selected run; excluded" if is_chosen else "all of other engines"
    are_files = len({run.file for run in runs}) > 1
    what = f"is one of {len(runs)} stages, each a run" if are_files else f"has {len(runs)} runs"
    message = f"{what}; {head}; not shown: {named}{more}; --run N chooses another"
    severity = Severity.INFO if is_chosen else Severity.WARNING
    return Diagnostic(severity, (shown or runs[0]).file, "", message)


def join_runs(runs: Sequence[FileRun]) -> FileRun:
    """Merge the facts of several files about one run: the first value of each."""
    known = {
        field.name: value
        for run in reversed(runs)
        for field in fields(run)
        if (value := getattr(run, field.name)) is not None
    }
    return FileRun(**known)


def describe_run(run: FileRun) -> str:
    """Return `run 2 (58 layers, 477 iterations, sum 6.506 ms)`."""
    parts = [shorten_middle(run.stage, _MOST_OPTIONS)] if run.stage else []
    for value, singular in ((run.layers, "layer"), (run.iterations, "iteration"), (run.queries, "row")):
        if value is not None:
            parts.append(plural(value, singular))
    if run.sum_ms is not None:
        parts.append(f"sum {run.sum_ms:.4g} ms")
    if run.median_ms is not None:
        parts.append(f"median {run.median_ms:.4g} ms")
    if run.throughput_qps is not None:
        parts.append(f"{run.throughput_qps:.4g} qps")
    if run.options:
        parts.append(shorten_middle(run.options, _MOST_OPTIONS))
    return f"run {run.number} ({', '.join(parts)})" if parts else f"run {run.number}"


def differing_options(commands: Sequence[str]) -> list[str]:
    """Return the options of each command line that not all have, without the names of output files.

    >>> differing_options(["trtexec --fp16 --batch=1", "trtexec --fp16 --batch=8"])
    ['--batch=1', '--batch=8']
    """
    words = [[word for word in command.split() if not word.startswith("--export")] for command in commands]
    common = set.intersection(*map(set, words)) if words else set()
    return [" ".join(word for word in line if word not in common) for line in words]
