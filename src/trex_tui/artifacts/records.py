"""All files of a set, read: what the engine is made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from trex_tui.artifacts.discover import ArtifactSet
from trex_tui.artifacts.header import version_of_log, version_of_plan
from trex_tui.artifacts.kinds import ArtifactKind
from trex_tui.artifacts.layer_info import LayerInfo, read_layer_info
from trex_tui.artifacts.log_summary import performance_in_log
from trex_tui.artifacts.metadata import Metadata, read_metadata
from trex_tui.artifacts.profile import Profile, read_profile
from trex_tui.artifacts.timing import Timing, read_timing
from trex_tui.errors import ArtifactError, Diagnostic

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Records:
    """Everything that could be read of a set; None for a file that is absent or broken.

    Attributes:
        source: The set.
        tensorrt_version: As stated by a log or the plan, else None: the JSON files do not tell.
        diagnostics: Of discovery and of all readers.
    """

    source: ArtifactSet
    layer_info: LayerInfo | None
    profile: Profile | None
    timing: Timing | None
    metadata: Metadata
    tensorrt_version: str | None
    diagnostics: tuple[Diagnostic, ...]


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
    if layer_info is None and profile is None and timing is None:
        failed = [note for note in notes if note.file in source.files.values()]
        first = failed[0] if failed else None
        message = first.message if first else "no file of this set could be read"
        raise ArtifactError((first and first.file) or source.directory, message, first.where if first else "")
    for part in (layer_info, profile, timing):
        if part is not None:
            notes.extend(part.diagnostics)
    kinds = (ArtifactKind.DEVICE_METADATA, ArtifactKind.BUILD_METADATA, ArtifactKind.PROFILE_METADATA)
    metadata, more = read_metadata([source.files[kind] for kind in kinds if kind in source.files])
    metadata = _with_printed_performance(metadata, source)
    return Records(source, layer_info, profile, timing, metadata, _stated_version(source), (*notes, *more))


def _with_printed_performance(metadata: Metadata, source: ArtifactSet) -> Metadata:
    """The performance summary out of a log, where no metadata has it."""
    if metadata.performance:
        return metadata
    for kind in (ArtifactKind.PROFILE_LOG, ArtifactKind.BUILD_LOG):
        printed = performance_in_log(source.files[kind]) if kind in source.files else {}
        if printed:
            return replace(metadata, performance=printed, performance_source=kind.value)
    return metadata


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
