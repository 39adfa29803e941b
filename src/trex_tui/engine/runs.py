"""Several runs in one file: appended profiles or timing rows, logs of several runs. One is shown; runs are never added up."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pandas as pd

from trex_tui.artifacts.kinds import FileKind
from trex_tui.artifacts.metadata import Facts, number_in, parse_latency
from trex_tui.artifacts.profile import Profile
from trex_tui.artifacts.timing import Timing
from trex_tui.errors import ArtifactError, Note, Severity
from trex_tui.frames import FLOAT, INT, plain_rows, text_array
from trex_tui.text import plural, shorten_middle

if TYPE_CHECKING:
    from trex_tui.buildlog.trace import BuildTrace, MeasuredRun

LOGS = (FileKind.PROFILE_LOG, FileKind.BUILD_LOG)
"""The log of the timed run first."""
_SAME_THROUGHPUT = 1e-5
"""Relative difference: trtexec prints six digits."""
_MOST_NAMED = 8
_MOST_OPTIONS = 120
_EXPORTS = {FileKind.TIMING: "--exportTimes", FileKind.PROFILE: "--exportProfile"}
_Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ShownRuns:
    """The run to show of each file.

    Attributes:
        runs: The runs in files that hold several, with the columns of `Engine.runs`.
        log_kind: The log that holds several runs; None without one.
        log_runs: That log -> number of the run to read from it, if it is not the default.
        left_out: Kinds of the files with a single run that is not the requested one.
    """

    profile: Profile | None
    timing: Timing | None
    runs: pd.DataFrame
    log_kind: FileKind | None = None
    log_runs: Mapping[Path, int] = field(default_factory=dict)
    left_out: tuple[FileKind, ...] = ()


def choose_runs(
    files: Mapping[FileKind, Path],
    layers: Sequence[str],
    profiles: Sequence[Profile],
    timings: Sequence[Timing],
    traces: Mapping[FileKind, BuildTrace],
    facts: Facts,
    number: int | None,
) -> ShownRuns:
    """Choose the run to show of each file.

    Files with equally many runs have the same runs. A file with one run, beside a file with several, belongs to the run that
    wrote it last.

    Args:
        files: The files of the set.
        layers: Names of the layers of the graph; empty without one.
        profiles, timings: A run each.
        traces: The logs, with their default runs.
        facts: Metadata of JSON files.
        number: The requested run, from 1; None for the last one that fits the graph.

    Raises:
        ArtifactError: No file has a run of this number.
    """
    log_kind = next((kind for kind in LOGS if kind in traces and traces[kind].measured), None)
    measured = traces[log_kind].measured if log_kind is not None else ()
    counts = {FileKind.PROFILE: len(profiles), FileKind.TIMING: len(timings)}
    if log_kind is not None:
        counts[log_kind] = len(measured)
    _check_number(number, [(files[kind], count) for kind, count in counts.items() if count])
    owners = _find_owners(measured, files, counts)
    indices: dict[FileKind, int | None]
    if number is None:
        indices = _find_defaults(layers, profiles, counts)
        beside = [
            owners.get(kind, indices[kind])
            for kind in (FileKind.TIMING, FileKind.PROFILE)
            if kind in owners or counts[kind] == len(measured)
        ]
        shown = traces[log_kind].shown_number if log_kind is not None else None
        candidates = (*beside, _find_stated_run(measured, facts), None if shown is None else shown - 1)
        log_index = next((index for index in candidates if index is not None), None)
    else:
        indices = {kind: _index_of(number, count, owners.get(kind)) for kind, count in counts.items()}
        log_index = None if log_kind is None else indices[log_kind]
    profile_index, timing_index = indices[FileKind.PROFILE], indices[FileKind.TIMING]
    profile = None if profile_index is None else profiles[profile_index]
    timing = None if timing_index is None else timings[timing_index]
    if all(count <= 1 for count in counts.values()):
        return ShownRuns(profile, timing, _runs_frame([]))
    if log_kind is not None:
        indices[log_kind] = log_index
    left_out = tuple(kind for kind, count in counts.items() if count == 1 and indices[kind] is None)
    described = {
        FileKind.PROFILE: [_describe_profile(profile) for profile in profiles],
        FileKind.TIMING: [_describe_timing(timing) for timing in timings],
    }
    described |= {} if log_kind is None else {log_kind: [_describe_measured(run) for run in measured]}
    options = _list_options(traces)
    rows: list[_Row] = []
    for kind, runs in described.items():
        texts = options.get(len(runs)) or [""] * len(runs)
        for index, (run, text) in enumerate(zip(runs, texts, strict=True) if len(runs) > 1 else ()):
            place = {"file": files[kind], "number": index + 1, "is_shown": index == indices[kind]}
            rows.append({**place, **run, "options": text or None})
    if log_kind is None or len(measured) < 2:
        return ShownRuns(profile, timing, _runs_frame(rows), left_out=left_out)
    is_default = log_index is None or log_index + 1 == traces[log_kind].shown_number
    log_runs = {} if is_default or log_index is None else {files[log_kind]: log_index + 1}
    return ShownRuns(profile, timing, _runs_frame(rows), log_kind, log_runs, left_out)


def _check_number(number: int | None, counts: Sequence[tuple[Path, int]]) -> None:
    if number is None or not counts or any(1 <= number <= count for _, count in counts):
        return
    file, count = max(counts, key=lambda item: item[1])
    known = "holds one run" if count == 1 else f"holds runs 1 to {count}"
    raise ArtifactError(file, f"no run {number}; the file {known}")


def _index_of(number: int, count: int, owner: int | None) -> int | None:
    """Return the index of the requested run in a file; None if missing. `owner` is the run of a file with one run."""
    if owner is not None:
        return 0 if owner == number - 1 else None
    return number - 1 if number <= count else None


def _find_defaults(
    layers: Sequence[str], profiles: Sequence[Profile], counts: Mapping[FileKind, int]
) -> dict[FileKind, int | None]:
    """Return the index of the profile with most of the graph's layers, the last of equal ones, and of its timing."""
    known, timings = Counter(layers), counts[FileKind.TIMING]

    def fitness(index: int) -> tuple[int, bool, int]:
        shared = Counter(row.name for row in profiles[index].rows) & known
        return shared.total(), profiles[index].is_whole, index

    profile = max(range(len(profiles)), key=fitness, default=None)
    is_same = profile is not None and timings == len(profiles)
    return {
        FileKind.PROFILE: profile,
        FileKind.TIMING: profile if is_same else timings - 1 if timings else None,
    }


def _find_owners(
    measured: Sequence[MeasuredRun], files: Mapping[FileKind, Path], counts: Mapping[FileKind, int]
) -> dict[FileKind, int]:
    """Return the index of the run for each file with one run, if another file has several.

    trtexec overwrites files: it is the last run that names the file in the log, else the last run.
    """
    most = max(counts.values(), default=0)
    return {
        kind: _find_exporting_run(measured, _EXPORTS[kind], files[kind])
        if kind in _EXPORTS and len(measured) > 1
        else most - 1
        for kind, count in counts.items()
        if count == 1 < most
    }


def _find_exporting_run(measured: Sequence[MeasuredRun], option: str, file: Path) -> int:
    """Return the index of the last run of a log that names a file; of the last run if none does."""
    for index in reversed(range(len(measured))):
        run = measured[index].run
        for word in run.command.split() if run is not None else ():
            name, _, path = word.partition("=")
            if name == option and re.split(r"[\\/]", path.strip("'\""))[-1] == file.name:
                return index
    return len(measured) - 1


def _find_stated_run(measured: Sequence[MeasuredRun], facts: Facts) -> int | None:
    """Return the index of the run of a log that metadata belong to, by its throughput; None unless exactly one matches."""
    stated = facts.throughput_qps
    if stated is None or len(measured) < 2:
        return None
    printed = [
        number_in(run.performance.values.get("Throughput")) if run.performance else None for run in measured
    ]
    same = [
        index
        for index, throughput in enumerate(printed)
        if throughput is not None and math.isclose(throughput, stated, rel_tol=_SAME_THROUGHPUT)
    ]
    return same[0] if len(same) == 1 else None


# The list of runs


def _runs_frame(rows: Sequence[_Row]) -> pd.DataFrame:
    numbers: dict[str, Any] = dict.fromkeys(("number", "layers", "iterations", "queries"), INT)
    numbers |= dict.fromkeys(("sum_ms", "median_ms", "throughput_qps"), FLOAT)
    columns = {key: pd.array([row.get(key) for row in rows], kind) for key, kind in numbers.items()}
    return pd.DataFrame(
        {
            "file": pd.Series([row["file"] for row in rows], dtype=object),
            "is_shown": pd.Series([row["is_shown"] for row in rows], dtype=bool),
            **columns,
            "options": text_array(row.get("options") for row in rows),
        }
    )


def _describe_profile(profile: Profile) -> _Row:
    return {"layers": len(profile.rows), "iterations": profile.iterations, "sum_ms": profile.sum_ms}


def _describe_timing(timing: Timing) -> _Row:
    known = [value for value in timing.latency_ms if value == value]  # without NaN
    return {"queries": timing.rows, "median_ms": median(known) if known else None}


def _describe_measured(run: MeasuredRun) -> _Row:
    values = run.performance.values if run.performance is not None else {}
    latency = parse_latency(values.get("Latency")) or parse_latency(values.get("GPU Compute Time"))
    averages = [row.average_ms for row in run.profile.rows] if run.profile is not None else []
    known = [average for average in averages if average is not None]
    return {
        "layers": len(averages) or None,
        "iterations": run.profile.iterations if run.profile is not None else None,
        "sum_ms": math.fsum(known) if known else None,
        "median_ms": latency.median_ms if latency is not None else None,
        "throughput_qps": number_in(values.get("Throughput")),
    }


def _list_options(traces: Mapping[FileKind, BuildTrace]) -> dict[int, list[str]]:
    """Return number of runs -> what distinguishes the runs of a log: measured runs, else all runs."""
    options: dict[int, list[str]] = {}
    for trace in (traces[kind] for kind in reversed(LOGS) if kind in traces):
        commands = [run.command for run in trace.runs]
        if len(commands) > 1:
            options[len(commands)] = differing_options(commands)
        if len(trace.measured) > 1:
            options[len(trace.measured)] = _differences_of_runs(trace.measured)
    return options


def _differences_of_runs(measured: Sequence[MeasuredRun]) -> list[str]:
    """Return what distinguishes each run: options of its command line, else its inference options."""
    texts = differing_options([run.run.command if run.run is not None else "" for run in measured])
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


def differing_options(commands: Sequence[str]) -> list[str]:
    """Return the options of each command line that not all have, without the names of output files.

    >>> differing_options(["trtexec --fp16 --batch=1", "trtexec --fp16 --batch=8"])
    ['--batch=1', '--batch=8']
    """
    words = [[word for word in command.split() if not word.startswith("--export")] for command in commands]
    common = set.intersection(*map(set, words)) if words else set()
    return [" ".join(word for word in line if word not in common) for line in words]


# Notes


def note_runs(files: Mapping[FileKind, Path], shown: ShownRuns, number: int | None) -> Iterator[Note]:
    """Yield notes on the runs in the files, and on files without the requested run."""
    rows = plain_rows(shown.runs)
    for file in dict.fromkeys(row["file"] for row in rows):
        yield _describe_runs([row for row in rows if row["file"] == file], is_chosen=number is not None)
    for kind in shown.left_out:
        yield Note(Severity.WARNING, files[kind], "", f"has one run, not run {number}; excluded")


def _describe_runs(rows: Sequence[_Row], *, is_chosen: bool) -> Note:
    """Return the note that a file holds several runs: the shown run, the others, and how to choose.

    Args:
        is_chosen: The user chose the run; then it is not a warning.
    """
    shown = next((row for row in rows if row["is_shown"]), None)
    others = [row for row in rows if row is not shown]
    named = "; ".join(describe_run(row) for row in others[:_MOST_NAMED])
    more = f"; {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
    if shown is not None:
        head = f"shown is {describe_run(shown)}"
    else:
        head = "not the selected run; excluded" if is_chosen else "all of other engines"
    message = f"has {len(rows)} runs; {head}; not shown: {named}{more}; --run N chooses another"
    severity = Severity.INFO if is_chosen else Severity.WARNING
    return Note(severity, (shown or rows[0])["file"], "", message)


def describe_run(row: Mapping[str, Any]) -> str:
    """Return a row of `Engine.runs` in words: `run 2 (58 layers, 477 iterations, sum 6.506 ms)`."""
    parts = []
    for key, noun in (("layers", "layer"), ("iterations", "iteration"), ("queries", "row")):
        if row[key] is not None:
            parts.append(plural(row[key], noun))
    for key, form in (
        ("sum_ms", "sum {:.4g} ms"),
        ("median_ms", "median {:.4g} ms"),
        ("throughput_qps", "{:.4g} qps"),
    ):
        if row[key] is not None:
            parts.append(form.format(row[key]))
    if row["options"]:
        parts.append(shorten_middle(row["options"], _MOST_OPTIONS))
    return f"run {row['number']} ({', '.join(parts)})" if parts else f"run {row['number']}"
