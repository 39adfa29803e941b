"""All files of a set, read: what the engine is made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from trex_tui.artifacts.discover import ArtifactSet
from trex_tui.artifacts.layer_info import LayerInfo, read_layer_info
from trex_tui.artifacts.metadata import Metadata, read_metadata, version_of_log, version_of_plan
from trex_tui.artifacts.naming import ArtifactKind
from trex_tui.artifacts.profile import Profile, read_profile
from trex_tui.artifacts.timing import Timing, read_timing
from trex_tui.errors import ArtifactError, Diagnostic, Severity

if TYPE_CHECKING:
    from trex_tui.artifacts.capture_manifest import CaptureManifest
    from trex_tui.buildlog import BuildTrace

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Records:
    """Everything that could be read of a set; None for a file that is absent or broken.

    Attributes:
        source: The set.
        tensorrt_version: As stated by a log, the plan or the manifest, else None: the JSON files do not tell.
        diagnostics: Of discovery and of all readers.
        capture: How the set was captured.
    """

    source: ArtifactSet
    layer_info: LayerInfo | None
    profile: Profile | None
    timing: Timing | None
    metadata: Metadata
    tensorrt_version: str | None
    diagnostics: tuple[Diagnostic, ...]
    capture: CaptureManifest | None = None


def read(source: ArtifactSet, begin: Callable[[Path], None] | None = None) -> Records:
    """Read every file of a set; a broken file costs that file, not the set.

    Args:
        source: The set.
        begin: Called with each large file before it is read; what it raises ends the reading.

    Raises:
        ArtifactError: Not one file that describes an engine could be read.
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
    profile = attempt(ArtifactKind.PROFILE, read_profile)
    timing = attempt(ArtifactKind.TIMING, read_timing)
    kinds = (ArtifactKind.DEVICE_METADATA, ArtifactKind.BUILD_METADATA, ArtifactKind.PROFILE_METADATA)
    metadata, more = read_metadata([source.files[kind] for kind in kinds if kind in source.files])
    if any(kind in source.files for kind in _LOGS) and (
        not metadata.performance or (layer_info is None and profile is None)
    ):
        known = _Known(layer_info, profile, timing is not None, metadata)
        filled = _with_logs(known, source, attempt, notes)
        layer_info, profile, metadata = filled.layer_info, filled.profile, filled.metadata
    if layer_info is None and profile is None and timing is None and not metadata.performance:
        about = [note for note in notes if note.file in source.files.values()]
        failed = [note for note in about if note.severity is Severity.ERROR] or about
        first = failed[0] if failed else None
        message = first.message if first else "no file of this set could be read"
        raise ArtifactError((first and first.file) or source.directory, message, first.where if first else "")
    capture = attempt(ArtifactKind.MANIFEST, lambda path: _manifest(path, source))
    for part in (layer_info, profile, timing, capture):
        if part is not None:
            notes.extend(part.diagnostics)
    version = _stated_version(source) or (capture.trtexec_version if capture else None)
    return Records(source, layer_info, profile, timing, metadata, version, (*notes, *more), capture)


_LOGS = (ArtifactKind.PROFILE_LOG, ArtifactKind.BUILD_LOG)


@dataclass(frozen=True, slots=True)
class _Known:
    """What the JSON files of a set tell."""

    layer_info: LayerInfo | None
    profile: Profile | None
    has_timing: bool
    metadata: Metadata


def _with_logs(
    known: _Known,
    source: ArtifactSet,
    attempt: Callable[[ArtifactKind, Callable[[Path], BuildTrace]], BuildTrace | None],
    notes: list[Diagnostic],
) -> _Known:
    """Fill in from the logs what no JSON file tells.

    Layers and their times come from a log only where the set has neither: a list of another run must not be mixed with it.
    Nothing of this takes what a log says of tuning, which is most of a long one.
    """
    from trex_tui.buildlog import log_records as as_records
    from trex_tui.buildlog.reader import shared_outline

    layer_info, profile, metadata = known.layer_info, known.profile, known.metadata
    is_alone = layer_info is None and profile is None
    for kind in _LOGS:
        trace = attempt(kind, shared_outline)
        if trace is None:
            continue
        metadata = as_records.with_log(metadata, trace, kind.value)
        if is_alone:
            notes.extend(trace.diagnostics)
            layer_info = layer_info or as_records.find_layer_info(trace)
            profile = profile or as_records.find_profile(trace)
    if (
        is_alone
        and not known.has_timing
        and not metadata.performance
        and layer_info is None
        and profile is None
    ):
        paths = [source.files[kind] for kind in _LOGS if kind in source.files]
        message = "tells of no layers and no times: that takes --dumpLayerInfo, --dumpProfile or --verbose"
        notes.append(Diagnostic(Severity.ERROR, paths[0], "", message))
    return _Known(layer_info, profile, known.has_timing, metadata)


def _manifest(path: Path, source: ArtifactSet) -> CaptureManifest:
    from trex_tui.artifacts.capture_manifest import read_capture_manifest

    return read_capture_manifest(path, source.files.values())


def _stated_version(source: ArtifactSet) -> str | None:
    for kind, reader in (
        (ArtifactKind.PLAN, version_of_plan),
        (ArtifactKind.BUILD_LOG, version_of_log),
        (ArtifactKind.PROFILE_LOG, version_of_log),
    ):
        version = reader(source.files[kind]) if kind in source.files else None
        if version:
            return version
    return None
