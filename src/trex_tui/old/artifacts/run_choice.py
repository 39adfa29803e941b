"""Choose the run to show of each file of a set, if files hold several; runs are never added up."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.artifacts.layer_info import LayerInfo
from trex_tui.old.artifacts.metadata import Metadata, number_in
from trex_tui.old.artifacts.profile import Profile
from trex_tui.old.artifacts.runs import (
    FileRun,
    list_log_runs,
    list_options,
    list_profile_runs,
    list_timing_runs,
)
from trex_tui.old.artifacts.timing import Timing
from trex_tui.old.errors import ArtifactError
from trex_tui.old.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from trex_tui.old.buildlog.build_trace import BuildTrace, MeasuredRun

LOGS = (ArtifactKind.PROFILE_LOG, ArtifactKind.BUILD_LOG)
"""The log of the timed run first."""
_SAME_THROUGHPUT = 1e-5
"""Relative difference: trtexec prints six digits."""


@dataclass(frozen=True, slots=True)
class ShownRuns:
    """Shown runs of a set.

    Attributes:
        runs: Runs in the files that hold several.
        log_kind: The log that holds several runs; None without one.
        log_runs: That log -> number of the run to read from it, if it is not the default.
        left_out: Kinds of the files with a single run that is not the requested one.
    """

    profile: Profile | None
    timing: Timing | None
    runs: tuple[FileRun, ...] = ()
    log_kind: ArtifactKind | None = None
    log_runs: Mapping[Path, int] = field(default_factory=dict)
    left_out: tuple[ArtifactKind, ...] = ()


def choose_runs(
    source: ArtifactSet,
    layer_info: LayerInfo | None,
    profiles: Sequence[Profile],
    timings: Sequence[Timing],
    traces: Mapping[ArtifactKind, BuildTrace],
    metadata: Metadata,
    number: int | None,
) -> ShownRuns:
    """Choose the run to show of each file.

    Files with equally many runs have the same runs. A file with one run, beside a file with several, belongs to the run that
    wrote it last.

    Args:
        traces: The logs, with their default runs.
        number: The requested run, from 1; None for the last one that fits the graph.

    Raises:
        ArtifactError: No file has a run of this number.
    """
    log_kind = next((kind for kind in LOGS if kind in traces and traces[kind].measured), None)
    measured = traces[log_kind].measured if log_kind is not None else ()
    counts = {ArtifactKind.PROFILE: len(profiles), ArtifactKind.TIMING: len(timings)}
    if log_kind is not None:
        counts[log_kind] = len(measured)
    _check_number(number, [(source.files[kind], count) for kind, count in counts.items() if count])
    owners = _find_owners(measured, source.files, counts)
    if number is None:
        layers = [raw["Name"] for raw in layer_info.layers] if layer_info else []
        profile_index = _choose_profile(profiles, layers, source.files.get(ArtifactKind.PROFILE))
        timing_index = _choose_timing(len(timings), profile_index, len(profiles))
        by_kind = {ArtifactKind.TIMING: timing_index, ArtifactKind.PROFILE: profile_index}
        beside = [
            owners.get(kind, by_kind[kind])
            for kind in by_kind
            if kind in owners or counts[kind] == len(measured)
        ]
        shown = traces[log_kind].shown_number if log_kind is not None else None
        last = None if shown is None else shown - 1
        candidates = (*beside, _find_stated_run(measured, metadata), last)
        log_index = next((index for index in candidates if index is not None), None)
    else:
        profile_index, timing_index, log_index = (
            _index_of(
                number,
                counts.get(kind, 0) if kind is not None else 0,
                owners.get(kind) if kind is not None else None,
            )
            for kind in (ArtifactKind.PROFILE, ArtifactKind.TIMING, log_kind)
        )
    profile = None if profile_index is None else profiles[profile_index]
    timing = None if timing_index is None else timings[timing_index]
    if all(count <= 1 for count in counts.values()):
        return ShownRuns(profile, timing)
    indices = {ArtifactKind.PROFILE: profile_index, ArtifactKind.TIMING: timing_index, log_kind: log_index}
    left_out = tuple(kind for kind, count in counts.items() if count == 1 and indices[kind] is None)
    options = _list_options(traces)
    runs: list[FileRun] = []
    if profiles:
        path = source.files[ArtifactKind.PROFILE]
        runs += list_profile_runs(path, profiles, profile_index, options.get(len(profiles), ()))
    if timings:
        path = source.files[ArtifactKind.TIMING]
        runs += list_timing_runs(path, timings, timing_index, options.get(len(timings), ()))
    if log_kind is None or len(measured) < 2:
        return ShownRuns(profile, timing, tuple(runs), left_out=left_out)
    log = source.files[log_kind]
    runs += list_log_runs(log, measured, log_index)
    log_runs = {}
    if log_index is not None and log_index + 1 != traces[log_kind].shown_number:
        log_runs[log] = log_index + 1
    return ShownRuns(profile, timing, tuple(runs), log_kind, log_runs, left_out)


def _check_number(number: int | None, counts: Sequence[tuple[Path, int]]) -> None:
    """Check that a file has the requested run.

    Args:
        counts: Files with the number of their runs.

    Raises:
        ArtifactError: There are files, but none has it.
    """
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


def _choose_profile(profiles: Sequence[Profile], layers: Sequence[str], file: Path | None) -> int | None:
    """Return the index of the profile with most of the graph's layers, the last of equal ones; None without profiles.

    Args:
        layers: Names of the graph's layers; empty without a graph.
        file: The profile of the set, which comes before the files of other stages.
    """
    if len(profiles) < 2:
        return 0 if profiles else None
    known = Counter(layers)

    def fitness(index: int) -> tuple[bool, int, bool, int]:
        profile = profiles[index]
        shared = Counter(row.name for row in profile.rows) & known
        return profile.file in (None, file), shared.total(), profile.is_whole, index

    return max(range(len(profiles)), key=fitness)


def _choose_timing(count: int, profile: int | None, profiles: int) -> int | None:
    """Return the index of the timing to show: that of the profile if there are equally many, else the last."""
    if profile is not None and count == profiles:
        return profile
    return count - 1 if count else None


def _find_owners(
    measured: Sequence[MeasuredRun], files: Mapping[ArtifactKind, Path], counts: Mapping[ArtifactKind, int]
) -> dict[ArtifactKind, int]:
    """Return the index of the run for each file with one run, if another file has several.

    trtexec overwrites files: it is the last run that names the file in the log, else the last run.
    """
    most = max(counts.values(), default=0)
    options = {ArtifactKind.TIMING: "--exportTimes", ArtifactKind.PROFILE: "--exportProfile"}
    return {
        kind: _find_exporting_run(measured, options[kind], files[kind])
        if kind in options and len(measured) > 1
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


def _find_stated_run(measured: Sequence[MeasuredRun], metadata: Metadata) -> int | None:
    """Return the index of the run of a log that metadata belong to, by its throughput; None unless exactly one matches."""
    stated = metadata.throughput_qps
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


def _list_options(traces: Mapping[ArtifactKind, BuildTrace]) -> dict[int, list[str]]:
    """Return number of runs -> their distinguishing options, from the logs."""
    options: dict[int, list[str]] = {}
    for kind in reversed(LOGS):
        options |= list_options(traces[kind]) if kind in traces else {}
    return options
