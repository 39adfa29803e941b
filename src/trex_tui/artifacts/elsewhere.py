"""Files of a set that do not lie in its directory, by the customs of toolkits and of our own commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trex_tui.artifacts.accuracy import OUTPUT_DIFF
from trex_tui.artifacts.kinds import ArtifactKind
from trex_tui.artifacts.naming import stem_of
from trex_tui.artifacts.sniff import sniff

COMPARISON_ENDING = ".accuracy"
"""Of directories with samples by the thousand, and one result."""
_ELSEWHERE_KINDS = (ArtifactKind.BUILD_LOG, ArtifactKind.PROFILE_LOG, ArtifactKind.PLAN)


@dataclass(slots=True)
class Found:
    """A file, what it is, and the engine that its name says."""

    path: Path
    kind: ArtifactKind
    stem: str
    is_packed: bool = False
    """Out of an archive: files beside it come first."""


def found_elsewhere(directory: Path) -> list[Found]:
    """Logs and engines in `models/<model>/` for sets in `results/<model>/`: toolkits keep them there."""
    here = directory.absolute()
    if here.parent.name == "results":
        elsewhere = here.parent.parent / "models" / here.name
    elif here.name == "results":
        elsewhere = here.parent / "models"
    else:
        return []
    try:
        files = sorted(path for path in elsewhere.iterdir() if path.is_file())
    except OSError:
        return []
    return [
        Found(path, kind, stem_of(path)) for path in files if (kind := sniff(path).kind) in _ELSEWHERE_KINDS
    ]


def add_elsewhere(
    directory: Path, stem: str, group: dict[ArtifactKind, Path], found: Sequence[Found], *, alone: bool
) -> None:
    """Add to the files of one set those that lie in other places.

    Args:
        directory: Where the set is.
        stem: What the names of its files share.
        found: What `found_elsewhere` found.
        alone: Whether it is the only set of its directory.
    """
    _add_found(directory, stem, group, found, alone=alone)
    _add_comparison(directory, stem, group)
    _add_manifest_above(directory, stem, group)


def _add_found(
    directory: Path, stem: str, group: dict[ArtifactKind, Path], found: Sequence[Found], *, alone: bool
) -> None:
    """Add those of what was found elsewhere that are of one set."""
    for kind in _ELSEWHERE_KINDS:
        if kind in group:
            continue
        candidates = [one for one in found if one.kind is kind]
        matching = [one for one in candidates if one.stem == stem]
        only = candidates if alone and directory.absolute().name != "results" else []
        chosen = matching or only
        if len(chosen) == 1:
            group[kind] = chosen[0].path


def _add_comparison(directory: Path, stem: str, group: dict[ArtifactKind, Path]) -> None:
    """Add `<stem>.accuracy/output_diff.json`, where `trex-tui accuracy` leaves what it found about the engine."""
    path = directory / f"{stem}{COMPARISON_ENDING}" / OUTPUT_DIFF
    if stem and ArtifactKind.ACCURACY not in group and sniff(path).kind is ArtifactKind.ACCURACY:
        group[ArtifactKind.ACCURACY] = path


def _add_manifest_above(directory: Path, stem: str, group: dict[ArtifactKind, Path]) -> None:
    """Add the manifest of a capture that measured several times: further runs lie in `<name>.repeat-2/` and so on."""
    here = directory.absolute()
    name, mark, number = here.name.rpartition(".repeat-")
    if not mark or not number.isdecimal() or ArtifactKind.MANIFEST in group:
        return
    path = here.parent / f"{name}.capture.json"
    if stem_of(path) == stem and path.is_file() and sniff(path).kind is ArtifactKind.MANIFEST:
        group[ArtifactKind.MANIFEST] = path
