"""Read all files of a set, from which the engine is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.artifacts.input_files import COPY_AGAIN
from trex_tui.old.artifacts.layer_info import LayerInfo, read_layer_info
from trex_tui.old.artifacts.metadata import (
    Metadata,
    StatedMemory,
    library_of_log,
    read_metadata,
    version_of_log,
    version_of_plan,
)
from trex_tui.old.artifacts.plan import describe_plan, read_plan_head
from trex_tui.old.artifacts.profile import Profile, read_profiles
from trex_tui.old.artifacts.run_choice import LOGS, ShownRuns, choose_runs
from trex_tui.old.artifacts.runs import FileRun, describe_runs
from trex_tui.old.artifacts.timing import Timing, read_timings
from trex_tui.old.errors import ArtifactError, Diagnostic, Severity
from trex_tui.old.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from trex_tui.old.artifacts.capture_manifest import CaptureManifest
    from trex_tui.old.artifacts.monitor import Monitor
    from trex_tui.old.artifacts.session_profile import SessionProfile
    from trex_tui.old.buildlog import BuildTrace

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Records:
    """Content of a set; None for a file that is absent or broken.

    Attributes:
        source: The set.
        tensorrt_version: From the plan, a log or the manifest, else from the name of a library in a log, else None: the JSON
            files do not have it.
        tensorrt_version_source: Kind of the file with the version, with the name of the library if that has it.
        diagnostics: Of discovery and of all readers.
        capture: How the set was captured.
        runs: Runs in files that hold several; `profile`, `timing` and `metadata` have one run of each file.
        requested_run: The requested run; None if the files decided.
        log_runs: Log -> measured run to read from it, if it is not the default.
        monitor: Power, temperature and clocks during the run.
        session: Nodes of the session of ONNX Runtime that ran the engine.
    """

    source: ArtifactSet
    layer_info: LayerInfo | None
    profile: Profile | None
    timing: Timing | None
    metadata: Metadata
    tensorrt_version: str | None
    diagnostics: tuple[Diagnostic, ...]
    capture: CaptureManifest | None = None
    tensorrt_version_source: str | None = None
    runs: tuple[FileRun, ...] = ()
    log_runs: Mapping[Path, int] = field(default_factory=dict)
    requested_run: int | None = None
    monitor: Monitor | None = None
    session: SessionProfile | None = None


def read(
    source: ArtifactSet,
    begin: Callable[[Path], None] | None = None,
    run: int | None = None,
    *,
    skips_logs: bool = False,
) -> Records:
    """Read every file of a set; a broken file is skipped.

    Args:
        source: The set.
        begin: Called with each large file before it is read; an exception from it ends the reading.
        run: Run to read, from 1, if a file has several; None for the last one that fits the graph.
        skips_logs: Leave out the logs if the other files have layers, options, device and times; then names of kernels and
            memory that only logs state are unknown.

    Raises:
        ArtifactError: No file that describes an engine could be read, or no file has a run of this number.
    """
    notes: list[Diagnostic] = list(source.diagnostics)

    def attempt(kind: ArtifactKind, reader: Callable[[Path], _T]) -> _T | None:
        path = source.files.get(kind)
        if path is None:
            return None
        if begin is not None:
            begin(path)
        try:
            return reader(path)
        except ArtifactError as error:
            notes.append(error.diagnostic)
            return None

    layer_info = attempt(ArtifactKind.GRAPH, read_layer_info)
    profiles = attempt(ArtifactKind.PROFILE, read_profiles) or []
    timings = attempt(ArtifactKind.TIMING, read_timings) or []
    kinds = (ArtifactKind.DEVICE_METADATA, ArtifactKind.BUILD_METADATA, ArtifactKind.PROFILE_METADATA)
    metadata, more = read_metadata([source.files[kind] for kind in kinds if kind in source.files])
    has_layers = layer_info is not None and not layer_info.names_only
    is_complete = has_layers and profiles and timings and metadata.performance
    is_complete = is_complete and metadata.build_options and metadata.inference_options and metadata.device
    has_logs = not (skips_logs and is_complete) and any(kind in source.files for kind in LOGS)
    traces = _read_logs(source, attempt, has_names=_needs_kernel_names(layer_info)) if has_logs else {}
    shown = choose_runs(source, layer_info, profiles, timings, traces, metadata, run)
    profile, timing = shown.profile, shown.timing
    if has_logs:
        known = _Known(layer_info, profile, timing is not None, metadata)
        filled = _with_logs(known, source, traces, shown, notes)
        layer_info, profile, metadata = filled.layer_info, filled.profile, filled.metadata
    session = attempt(ArtifactKind.SESSION, _read_session)
    has_engine = metadata.performance or metadata.memory != StatedMemory() or metadata.dla_layers or session
    if layer_info is None and profile is None and timing is None and not has_engine:
        about = [note for note in notes if note.file in source.files.values()]
        failed = [note for note in about if note.severity is Severity.ERROR] or about
        first = failed[0] if failed else None
        message = first.message if first else f"no readable file in this set; {COPY_AGAIN}"
        where = first.where if first else ""
        others = (note for note in source.diagnostics if note.severity is Severity.ERROR)
        told = tuple(dict.fromkeys((*failed, *others)))
        raise ArtifactError((first and first.file) or source.directory, message, where, told)
    capture = attempt(ArtifactKind.MANIFEST, lambda path: _manifest(path, source))
    for part in (layer_info, profile, timing, capture, session):
        if part is not None:
            notes.extend(part.diagnostics)
    notes.extend(_notes_on_runs(source, shown, run))
    version, stated_by = _find_version(source, capture)
    notes.extend(_notes_on_plan(source))
    monitor = _read_monitor(source, notes) if ArtifactKind.MONITOR in source.files else None
    return Records(
        source,
        layer_info,
        profile,
        timing,
        metadata,
        version,
        (*notes, *more),
        capture,
        stated_by,
        shown.runs,
        shown.log_runs,
        run,
        monitor,
        session,
    )


def find_errors(source: ArtifactSet) -> list[Diagnostic]:
    """Read every file of a set, and return its errors; also if no file can be used."""
    try:
        notes: Iterable[Diagnostic] = read(source).diagnostics
    except ArtifactError as error:
        notes = (*source.diagnostics, *error.diagnostics)
    return list(dict.fromkeys(note for note in notes if note.severity is Severity.ERROR))


def _read_monitor(source: ArtifactSet, notes: list[Diagnostic]) -> Monitor | None:
    """Return the samples of power and clocks, with the idle power and the times of single calls of layers if available.

    Errors in these files are warnings: nothing else of the set depends on them.
    """
    from trex_tui.old.artifacts.layer_samples import read_layer_samples
    from trex_tui.old.artifacts.monitor import read_idle_power_w, read_monitor

    def attempt(kind: ArtifactKind, reader: Callable[[Path], _T]) -> _T | None:
        path = source.files.get(kind)
        try:
            return None if path is None else reader(path)
        except ArtifactError as error:
            if kind.is_companion:
                notes.append(error.diagnostic._replace(severity=Severity.WARNING))
            return None

    monitor = attempt(ArtifactKind.MONITOR, read_monitor)
    if monitor is None:
        return None
    notes.extend(monitor.diagnostics)
    idle_w = attempt(ArtifactKind.IDLE_POWER, read_idle_power_w)
    calls = attempt(ArtifactKind.PROFILE, read_layer_samples) if monitor.local_s else None
    return replace(monitor, idle_w=idle_w, layer_samples=calls or ())


def _notes_on_runs(source: ArtifactSet, shown: ShownRuns, number: int | None) -> Iterator[Diagnostic]:
    """Yield notes on the runs in the files, and on files without the requested run."""
    stages = [run for run in shown.runs if run.stage]
    if len(stages) > 1:
        yield describe_runs(stages, is_chosen=number is not None)
    for file in dict.fromkeys(run.file for run in shown.runs if run not in stages):
        of_file = [run for run in shown.runs if run.file == file]
        yield describe_runs(of_file, is_chosen=number is not None)
    for kind in shown.left_out:
        message = f"has one run, not run {number}; excluded"
        yield Diagnostic(Severity.WARNING, source.files[kind], "", message)


@dataclass(frozen=True, slots=True)
class _Known:
    """Content of the JSON files of a set."""

    layer_info: LayerInfo | None
    profile: Profile | None
    has_timing: bool
    metadata: Metadata


def _needs_kernel_names(layer_info: LayerInfo | None) -> bool:
    """Return whether a log may add kernel names to the layers; otherwise reading it takes half the time."""
    if layer_info is None or layer_info.names_only:
        return True
    return any("TacticValue" in raw and not raw.get("TacticName") for raw in layer_info.layers)


def _read_logs(
    source: ArtifactSet,
    attempt: Callable[[ArtifactKind, Callable[[Path], BuildTrace]], BuildTrace | None],
    *,
    has_names: bool,
) -> dict[ArtifactKind, BuildTrace]:
    """Read the logs of a set without tuning, which is most of a long log."""
    if not any(kind in source.files for kind in LOGS):
        return {}
    from trex_tui.old.buildlog.reader import shared_outline

    reader = partial(shared_outline, has_names=has_names)
    traces = ((kind, attempt(kind, reader)) for kind in LOGS)
    return {kind: trace for kind, trace in traces if trace is not None}


def _with_logs(
    known: _Known,
    source: ArtifactSet,
    traces: Mapping[ArtifactKind, BuildTrace],
    shown: ShownRuns,
    notes: list[Diagnostic],
) -> _Known:
    """Fill in from the logs what no JSON file has.

    Times come from a log only if the set has neither layers nor times: those of another run must not be mixed with it. Layers
    come from a log that lists the same layers. Results of the shown run in a log of several runs replace metadata, which may
    belong to another run.
    """
    from trex_tui.old.buildlog import log_records as as_records

    layer_info, profile, metadata = known.layer_info, known.profile, known.metadata
    is_alone = layer_info is None and profile is None
    read: dict[str, BuildTrace] = {}
    failures: list[Diagnostic] = []
    for kind, outline in traces.items():
        trace = _trace_of_run(outline, shown, kind)
        if kind is shown.log_kind and trace.performance is not None:
            metadata = replace(metadata, performance={}, inference_options={})
        metadata = as_records.with_log(metadata, trace, kind.value)
        read[kind.value] = trace
        # Beside JSON files a log only adds details: of its diagnostics only damage matters.
        notes.extend(note for note in trace.diagnostics if is_alone or note.severity is Severity.ERROR)
        failures.extend(_notes_on_failure(trace))
        if is_alone:
            profile = profile or as_records.find_profile(trace)
    if is_alone:
        layer_info = as_records.find_layer_info(read, has_placed=profile is None)
    elif layer_info is not None:
        layer_info = as_records.complete_layer_info(layer_info, read)
    elif known.profile is not None:
        layer_info = as_records.find_layers_of_profile(known.profile.rows, read)
    if (
        is_alone
        and not known.has_timing
        and not metadata.performance
        and layer_info is None
        and profile is None
    ):
        is_empty = metadata.memory == StatedMemory() and not metadata.dla_layers
        severity = Severity.ERROR if is_empty else Severity.WARNING
        failures = [note._replace(severity=severity) for note in failures]
        if not failures:
            paths = [source.files[kind] for kind in LOGS if kind in source.files]
            message = "has no layers and no times; needs --dumpLayerInfo, --dumpProfile or --verbose"
            notes.append(Diagnostic(severity, paths[0], "", message))
    notes.extend(failures)
    return _Known(layer_info, profile, known.has_timing, metadata)


def _notes_on_failure(trace: BuildTrace) -> Iterator[Diagnostic]:
    """Yield why the run of a log failed, with the remedy; nothing if it passed."""
    if not trace.has_errors:
        return
    from trex_tui.old.buildlog.failures import find_failure  # fifty patterns, for failures only

    if (failure := find_failure(trace)) is not None:
        cause = f"the run {'' if failure.is_certain else 'probably '}failed: {failure.cause}"
        message = f"{cause}; {failure.remedy}" if failure.remedy else cause
        yield Diagnostic(Severity.WARNING, trace.path, f"line {failure.line}", message)


def _trace_of_run(trace: BuildTrace, shown: ShownRuns, kind: ArtifactKind) -> BuildTrace:
    """Return a log as seen by the shown run; without results if it has no such run."""
    from trex_tui.old.buildlog.reader import shared_outline

    is_shown = any(run.is_shown for run in shown.runs if run.file == trace.path)
    if kind in shown.left_out or (kind is shown.log_kind and not is_shown):
        return replace(trace, performance=None, trace=None, profile=None)
    number = shown.log_runs.get(trace.path)
    return trace if number is None else shared_outline(trace.path, run=number, has_names=trace.has_names)


def _read_session(path: Path) -> SessionProfile:
    from trex_tui.old.artifacts.session_profile import read_session_profile  # few sets have one

    return read_session_profile(path)


def _manifest(path: Path, source: ArtifactSet) -> CaptureManifest:
    from trex_tui.old.artifacts.capture_manifest import read_capture_manifest

    return read_capture_manifest(path, source.files.values())


def _notes_on_plan(source: ArtifactSet) -> Iterator[Diagnostic]:
    """Bytes before the plan."""
    path = source.files.get(ArtifactKind.PLAN)
    try:
        head = None if path is None else read_plan_head(path)
    except OSError:
        return
    if head is not None and head.metadata_bytes:
        yield Diagnostic(Severity.INFO, path, "", f"is {describe_plan(head)}")


def _find_version(source: ArtifactSet, capture: CaptureManifest | None) -> tuple[str | None, str | None]:
    """Return the TensorRT version and its source. The name of a library only counts if no file states a version."""
    readers = (
        (ArtifactKind.PLAN, version_of_plan),
        (ArtifactKind.BUILD_LOG, version_of_log),
        (ArtifactKind.PROFILE_LOG, version_of_log),
    )
    for kind, reader in readers:
        version = reader(source.files[kind]) if kind in source.files else None
        if version:
            return version, kind.value
    if capture is not None and capture.trtexec_version:
        return capture.trtexec_version, ArtifactKind.MANIFEST.value
    for kind in (ArtifactKind.BUILD_LOG, ArtifactKind.PROFILE_LOG):
        library = library_of_log(source.files[kind]) if kind in source.files else None
        if library:
            return library[0], f"{kind.value}: {library[1]}"
    return None, None
