"""Read the files of a set and join them: layer information, times, options, logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from trex_tui.artifacts.discover import ArtifactSet
from trex_tui.artifacts.kinds import FileKind
from trex_tui.artifacts.layer_info import LayerInfo, read_layer_info
from trex_tui.artifacts.layer_samples import read_layer_samples
from trex_tui.artifacts.manifest import CaptureManifest, read_capture_manifest
from trex_tui.artifacts.metadata import Facts, StatedMemory, read_metadata
from trex_tui.artifacts.open import COPY_AGAIN, gc_paused
from trex_tui.artifacts.outputs import read_accuracy
from trex_tui.artifacts.plan import PlanHead, describe_plan, read_plan_head
from trex_tui.artifacts.power import PowerLog, read_idle_power_w, read_power_log
from trex_tui.artifacts.precision_risk import read_precision_risk
from trex_tui.artifacts.profile import Profile, read_profiles
from trex_tui.artifacts.timing import read_timings
from trex_tui.column import Column
from trex_tui.engine.attributes import raw_columns
from trex_tui.engine.columns import COLUMNS
from trex_tui.engine.dla import add_transfers, place_layers
from trex_tui.engine.doubts import find_doubts
from trex_tui.engine.frame import (
    build_bindings,
    build_calls,
    build_frames,
    build_queries,
    join_profile,
    parse_optimization_profile,
)
from trex_tui.engine.model import Engine
from trex_tui.engine.onnx_join import join_onnx
from trex_tui.engine.runs import LOGS, ShownRuns, choose_runs, note_runs
from trex_tui.errors import ArtifactError, Note, Severity, TrexError

if TYPE_CHECKING:
    from trex_tui.buildlog.trace import BuildTrace

_METADATA = (FileKind.DEVICE_METADATA, FileKind.BUILD_METADATA, FileKind.PROFILE_METADATA)
_Content = TypeVar("_Content")


def load_set(
    source: ArtifactSet,
    *,
    columns: Mapping[str, Column] = COLUMNS,
    run: int | None = None,
    optimization_profile: int | None = None,
    onnx: Path | None = None,
    begin: Callable[[Path], None] | None = None,
) -> Engine:
    """Read and join the files of a set; a broken file costs itself, with a note.

    Args:
        source: The set.
        columns: The columns of its layers.
        run: Run to show, from 1, if a file has several; None for the last one that fits the graph.
        optimization_profile: Optimization profile to show, if there are several; None for the profiled one.
        onnx: The ONNX model that it was built from.
        begin: Called with each large file before it is read; an exception from it ends the reading.

    Raises:
        ArtifactError: No file that describes an engine could be read, or no file has a run of this number.
        TrexError: The optimization profile does not exist.
    """
    with gc_paused():
        engine = _join(source, _read(source, run, begin), columns, optimization_profile)
        engine = replace(engine, notes=(*engine.notes, *find_doubts(engine)))
        return engine if onnx is None else join_onnx(engine, onnx)


@dataclass(slots=True)
class _Contents:
    """Content of the files of a set, with one run of each; None for a file that is absent or broken."""

    shown: ShownRuns
    facts: Facts
    info: LayerInfo | None
    profile: Profile | None
    profile_file: Path | None
    capture: CaptureManifest | None
    power: PowerLog | None
    notes: list[Note]
    has_messages: bool = False
    """Whether the logs hold messages of TensorRT, though neither layers nor times."""


class _Files:
    """Reads the files of a set by kind, and collects the errors."""

    def __init__(self, source: ArtifactSet, begin: Callable[[Path], None] | None) -> None:
        self._paths, self._begin = source.files, begin
        self.notes = list(source.notes)

    def read(self, kind: FileKind, reader: Callable[[Path], _Content]) -> _Content | None:
        """Return the content of a file; None if the set has none of this kind, or it cannot be used."""
        path = self._paths.get(kind)
        if path is None:
            return None
        if self._begin is not None:
            self._begin(path)
        try:
            return reader(path)
        except ArtifactError as error:
            # Nothing else depends on a companion: its errors are warnings, which count for --strict.
            severity = Severity.WARNING if kind.is_companion else Severity.ERROR
            self.notes.append(error.note._replace(severity=severity, is_incomplete=True))
            return None


def _read(source: ArtifactSet, run: int | None, begin: Callable[[Path], None] | None) -> _Contents:
    files = _Files(source, begin)
    info = files.read(FileKind.GRAPH, read_layer_info)
    profiles = files.read(FileKind.PROFILE, read_profiles) or []
    timings = files.read(FileKind.TIMING, read_timings) or []
    facts, notes_on_metadata = read_metadata(
        [source.files[kind] for kind in _METADATA if kind in source.files]
    )
    if len(profiles) == 1 and (layers_ms := profiles[0].sum_ms):
        timings = [timing.with_layers(layers_ms) for timing in timings]
    traces = {kind: trace for kind in LOGS if (trace := files.read(kind, _read_log)) is not None}
    names = [raw["Name"] for raw in info.layers] if info else []
    shown = choose_runs(source.files, names, profiles, timings, traces, facts, run)
    contents = _Contents(
        shown, facts, info, shown.profile, source.files.get(FileKind.PROFILE), None, None, files.notes
    )
    _add_logs(contents, source, traces)
    _check_usable(contents, source)
    files.read(FileKind.ACCURACY, read_accuracy)  # columns read them at use: damage is a note here
    files.read(FileKind.PRECISION_RISK, read_precision_risk)
    capture = files.read(FileKind.MANIFEST, lambda path: read_capture_manifest(path, source.files.values()))
    for part in (contents.info, contents.profile, shown.timing, capture):
        if part is not None:
            files.notes.extend(part.notes)
    files.notes.extend(note_runs(source.files, shown, run))
    files.notes.extend(_notes_on_plan(source))
    contents.facts = _with_version(contents.facts, source, traces, capture)
    contents.capture, contents.power = capture, _read_power(files)
    files.notes.extend(notes_on_metadata)
    return contents


def _read_log(path: Path, run: int | None = None) -> BuildTrace:
    from trex_tui.buildlog.reader import read_log  # 50 ms, and most sets have no log

    return read_log(path, run)


def _add_logs(contents: _Contents, source: ArtifactSet, traces: Mapping[FileKind, BuildTrace]) -> None:
    """Fill in from the logs what no JSON file has.

    Times come from a log only if the set has neither layers nor times: those of another run must not be mixed with it. Layers
    come from a log that lists the same layers. Results of the shown run in a log of several runs replace metadata, which may
    belong to another run.
    """
    if not any(kind in source.files for kind in LOGS):
        return
    from trex_tui.buildlog import records

    shown, notes = contents.shown, contents.notes
    is_alone = contents.info is None and contents.profile is None
    read: dict[str, BuildTrace] = {}
    failures: list[Note] = []
    for kind, whole in traces.items():
        trace = _trace_of_run(whole, shown, kind)
        if kind is shown.log_kind and trace.performance is not None:
            contents.facts = replace(contents.facts, performance={}, inference_options={})
        contents.facts = records.with_log(contents.facts, trace, kind.value)
        read[kind.value] = trace
        # Beside JSON files a log only adds details: of its notes damage matters, and doubts about its end.
        notes.extend(note for note in trace.notes if is_alone or note.severity is not Severity.INFO)
        failures.extend(_notes_on_failure(trace))
        if is_alone and contents.profile is None:
            contents.profile, contents.profile_file = records.find_profile(trace), trace.path
    if is_alone:
        contents.info = records.find_layer_info(read)
    elif contents.info is not None:
        contents.info = records.complete_layer_info(contents.info, read)
    elif contents.profile is not None:
        contents.info = records.find_layers_of_profile(contents.profile.rows, read)
    has_layers = contents.info is not None or contents.profile is not None or not is_alone
    if not has_layers and shown.timing is None and not contents.facts.performance:
        contents.has_messages = any(not trace.is_empty for trace in traces.values())
        is_failed = (
            bool(failures) and contents.facts.memory == StatedMemory() and not contents.facts.dla_layers
        )
        severity = Severity.ERROR if is_failed or not contents.has_messages else Severity.WARNING
        failures = [note._replace(severity=severity) for note in failures]
        if not failures:
            path = next(source.files[kind] for kind in LOGS if kind in source.files)
            message = "has no layers and no times; needs --dumpLayerInfo, --dumpProfile or --verbose"
            notes.append(Note(severity, path, "", message))
    notes.extend(failures)


def _trace_of_run(trace: BuildTrace, shown: ShownRuns, kind: FileKind) -> BuildTrace:
    """Return a log as seen by the shown run; without results if it has no such run."""
    is_shown = trace.path in shown.runs["file"][shown.runs["is_shown"]].tolist()
    if kind in shown.left_out or (kind is shown.log_kind and not is_shown):
        return replace(trace, performance=None, averages=(), profile=None)
    number = shown.log_runs.get(trace.path)
    return trace if number is None else _read_log(trace.path, number)


def _notes_on_failure(trace: BuildTrace) -> Iterator[Note]:
    """Yield why the run of a log failed, with the remedy; nothing if it passed."""
    from trex_tui.buildlog.failures import find_failure

    failure = find_failure(trace) if trace.has_errors else None
    if failure is not None:
        cause = f"the run {'' if failure.is_certain else 'probably '}failed: {failure.cause}"
        message = f"{cause}; {failure.remedy}" if failure.remedy else cause
        yield Note(Severity.WARNING, trace.path, f"line {failure.line}", message)


def _check_usable(contents: _Contents, source: ArtifactSet) -> None:
    """Raise if nothing in the files describes an engine."""
    facts = contents.facts
    has_results = facts.performance or facts.memory != StatedMemory() or facts.dla_layers
    has_failed = any(
        note.severity is Severity.ERROR and note.file in source.files.values() for note in contents.notes
    )
    if contents.has_messages and not has_failed:
        return
    if contents.info or contents.profile or contents.shown.timing or has_results:
        return
    about = [note for note in contents.notes if note.file in source.files.values()]
    failed = [note for note in about if note.severity is Severity.ERROR] or about
    first = (
        failed[0] if failed else Note(Severity.ERROR, None, "", f"no readable file in this set; {COPY_AGAIN}")
    )
    others = (note for note in source.notes if note.severity is Severity.ERROR)
    notes = tuple(dict.fromkeys((*failed, *others)))
    raise ArtifactError(first.file or source.directory, first.message, first.where, notes)


def _with_version(
    facts: Facts, source: ArtifactSet, traces: Mapping[FileKind, BuildTrace], capture: CaptureManifest | None
) -> Facts:
    """Add the TensorRT version and its source: no JSON file has it. The name of a library counts if no file states it."""
    head = _read_plan(source)
    logs = [(kind, traces[kind]) for kind in reversed(LOGS) if kind in traces]
    stated = [(head.version, FileKind.PLAN.value)] if head else []
    stated += [(trace.tensorrt_version, kind.value) for kind, trace in logs if not trace.tensorrt_library]
    stated += [(capture.trtexec_version, FileKind.MANIFEST.value)] if capture else []
    stated += [(trace.tensorrt_version, f"{kind.value}: {trace.tensorrt_library}") for kind, trace in logs]
    version, stated_by = next(((version, by) for version, by in stated if version), (None, None))
    return replace(facts, tensorrt_version=version, tensorrt_version_source=stated_by)


def _read_plan(source: ArtifactSet) -> PlanHead | None:
    path = source.files.get(FileKind.PLAN)
    try:
        return None if path is None else read_plan_head(path)
    except OSError:
        return None


def _notes_on_plan(source: ArtifactSet) -> Iterator[Note]:
    head = _read_plan(source)
    if head is not None and head.metadata_bytes:
        yield Note(Severity.INFO, source.files[FileKind.PLAN], "", f"is {describe_plan(head)}")


def _read_power(files: _Files) -> PowerLog | None:
    """Return the samples of power and clocks, with the idle power and the times of single calls of layers if available."""
    power = files.read(FileKind.MONITOR, read_power_log)
    if power is None:
        return None
    files.notes.extend(power.notes)
    idle_w = files.read(FileKind.IDLE_POWER, read_idle_power_w)
    calls = files.read(FileKind.PROFILE, read_layer_samples) if power.local_s else None
    return replace(power, idle_w=idle_w, layer_samples=calls or ())


def _join(
    source: ArtifactSet, contents: _Contents, columns: Mapping[str, Column], optimization_profile: int | None
) -> Engine:
    info, profile, notes = contents.info, contents.profile, contents.notes
    file = contents.profile_file
    if info is None:
        objects = [{"Name": row.name} for row in profile.rows] if profile else []
        chosen, counts = 0, {0: len(objects)}
        if profile:
            message = "no layer information: layers are known by name and time only"
            notes.append(Note(Severity.WARNING, file, "", message))
    else:
        counts = _count_profiles([raw["Name"] for raw in info.layers])
        chosen = _choose_profile(optimization_profile, sorted(counts), profile)
        objects = list(info.layers)
        if len(counts) > 1:
            objects = [raw for raw in objects if parse_optimization_profile(raw["Name"]) == chosen]
            message = f"the engine has {len(counts)} optimization profiles; profile {chosen} is shown"
            notes.append(Note(Severity.INFO, source.files.get(FileKind.GRAPH), "", message))
        objects = add_transfers(objects, profile)
    layers, tensors = build_frames(objects, info.bindings if info else ())
    layers, left_over, unmatched = join_profile(layers, profile, file)
    layers, dla_blocks = place_layers(layers, contents.facts.dla_layers, is_asked=contents.facts.asks_for_dla)
    return Engine(
        name=source.name,
        files=source.files,
        layers=layers,
        tensors=tensors,
        bindings=build_bindings(info, tensors, chosen, contents.facts.tensors),
        queries=build_queries(contents.shown.timing),
        calls=build_calls(layers, profile),
        facts=contents.facts,
        columns={**columns, **raw_columns(objects)},
        attributes=objects,
        notes=(*notes, *left_over),
        runs=contents.shown.runs,
        has_graph=info is not None,
        has_names_only=info is not None and info.names_only,
        has_profile=profile is not None and bool(profile.rows),
        iterations=profile.iterations if profile else None,
        stated_total_ms=profile.stated_total_ms if profile else None,
        unmatched_rows=unmatched,
        optimization_profile=chosen,
        optimization_profiles=counts,
        details_source=info.details_source if info else None,
        dla_blocks=dla_blocks,
        capture=contents.capture,
        power=contents.power,
        log_runs=contents.shown.log_runs,
    )


def _choose_profile(wanted: int | None, available: Sequence[int], profile: Profile | None) -> int:
    """Return the optimization profile to show, among the available ones."""
    if wanted is not None:
        if wanted not in available:
            known = ", ".join(map(str, available))
            raise TrexError(f"optimization profile {wanted} does not exist; the engine has profile {known}")
        return wanted
    if len(available) == 1 or profile is None:
        return available[0]
    profiled = _count_profiles([row.name for row in profile.rows])
    return next((number for number, _ in profiled.most_common(1) if number in available), available[0])


def _count_profiles(names: Sequence[str]) -> Counter[int]:
    """Return the number of layers of each optimization profile."""
    return Counter(map(parse_optimization_profile, names))
