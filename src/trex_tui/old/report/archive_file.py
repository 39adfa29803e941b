"""Write a set as a TensorRT engine archive (`.tea`): one ZIP file that trex-tui opens like the set itself.

Files are copied byte for byte, under their own names if these identify the engine, else under trex's. Damaged files are left
out: the archive looks like that of a set without them. A serialized engine is included on request only. Equal files give
equal archives: members have no dates.
"""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Collection, Mapping
from filecmp import cmp
from pathlib import Path

from trex_tui.old.artifacts.archive import MOST_BYTES, find_archive, head_only, is_read
from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.artifacts.file_kinds import OUTPUT_DIFF, ArtifactKind, display_name, engine_stem
from trex_tui.old.artifacts.output_files import (
    OutputKind,
    check_output,
    list_inputs,
    place_files,
    staging_directory,
)
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import Severity, TrexError, describe_reason
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.trex_files import find_base, make_name
from trex_tui.old.text import format_bytes, plural

ENDING = ".tea"
_MORE_ENDINGS = {
    ArtifactKind.MANIFEST: "capture.json",
    ArtifactKind.MONITOR: "monitor.csv",
    ArtifactKind.IDLE_POWER: "idling_power.json",
    ArtifactKind.SESSION: "session.json",
}
_KIND = OutputKind("")
"""Without marks: an archive holds measurements, perhaps the only copy, so only `--force` replaces it."""
_UNSAFE = re.compile(r"[\\/:\0\ud800-\udfff]")
"""Letters that are separators on some systems, or that UTF-8 lacks: no member may have them."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MODE = 0o100644 << 16


@dataclass(frozen=True, slots=True)
class WrittenArchive:
    """Result of writing an archive.

    Attributes:
        path: The archive.
        members: Name in the archive -> the file.
        notes: Omitted and renamed files, a sentence each.
        is_whole: Whether no file was omitted because of an error in it.
    """

    path: Path
    members: Mapping[str, Path]
    notes: tuple[str, ...]
    is_whole: bool

    def describe(self) -> str:
        """Return `wrote net.tea (7 files, 12.0 KiB)`."""
        files = plural(len(self.members), "file")
        return f"wrote {self.path} ({files}, {format_bytes(self.path.stat().st_size)})"


def write_archive(
    engine: Engine, target: Path, *, force: bool = False, with_engine: bool = False
) -> WrittenArchive:
    """Write the files of an engine into one archive, completely or not at all.

    Args:
        target: The archive; its directory must exist.
        force: Replace an existing file with other content.
        with_engine: Include the serialized engine.

    Raises:
        TrexError: The file exists or was read, no undamaged file is left, or it cannot be written.
    """
    source = engine.source
    damaged = {note.file for note in engine.diagnostics if note.severity is Severity.ERROR}
    files, notes = _whole_files(engine, damaged, with_engine=with_engine)
    if not files:
        raise TrexError(f"{source.name}: no file can be archived; {'; '.join(notes)}")
    size = sum(path.stat().st_size for kind, path in files.items() if kind is not ArtifactKind.PLAN)
    if size > MOST_BYTES:
        raise TrexError(
            f"{source.name}: {format_bytes(size)} exceed the archive limit ({format_bytes(MOST_BYTES)}); "
            "compress the logs with gzip"
        )
    stages = _stage_members(files)
    own = {kind: path for kind, path in files.items() if path not in stages.values()}
    members = {**_name_members(source, own), **stages}
    notes += [
        f"{path.name} renamed to {name} in the archive" for name, path in members.items() if path.name != name
    ]
    inputs = list_inputs([source])
    inputs.check(target)
    try:
        with staging_directory(target.parent) as staging:
            staged = staging / "archive"
            _write_members(staged, members)
            if not (target.is_file() and cmp(staged, target, shallow=False)):
                check_output(target, _KIND, inputs, force=force)
            place_files({target: staged})
    except OSError as error:
        raise TrexError(f"{target} cannot be written: {describe_reason(error)}") from error
    return WrittenArchive(target, members, tuple(notes), damaged.isdisjoint(engine.files.values()))


def _whole_files(
    engine: Engine, damaged: Collection[Path | None], *, with_engine: bool
) -> tuple[dict[ArtifactKind, Path], list[str]]:
    """Return the files for the archive, and why others are omitted."""
    files: dict[ArtifactKind, Path] = {}
    notes = []
    for kind, path in engine.files.items():
        if path in damaged:
            notes.append(f"skipped damaged {path.name}")
        elif kind is not ArtifactKind.PLAN:
            files[kind] = path
        elif not with_engine:
            notes.append(f"skipped {path.name}; include it with --with-engine")
        elif (archive := find_archive(path)) is not None:
            notes.append(f"skipped {path.name}; {head_only(archive)}")
        else:
            files[kind] = path
    return files, notes


def _name_members(source: ArtifactSet, files: Mapping[ArtifactKind, Path]) -> dict[str, Path]:
    """Return names without directories that differ in more than case and lead to the name of the set again.

    Raises:
        TrexError: Two files would have the same name.
    """
    name = source.name.rpartition("/")[2]
    stems = [engine_stem(path) for path in files.values()]
    stem = next((stem for stem in stems if display_name(stem) == name), None)
    base = find_base(source, name)
    members: dict[str, Path] = {}
    taken: set[str] = set()
    for kind, path in files.items():
        member = _UNSAFE.sub("_", path.name)
        is_kept = stem is not None and engine_stem(path) == stem and is_read(path.name)
        if not is_kept or member.casefold() in taken:
            member = _UNSAFE.sub("_", _canonical_name(base, kind, path))
        if member.casefold() in taken:
            raise TrexError(f"{path}: name {member} already used in the archive; rename one of the files")
        taken.add(member.casefold())
        members[member] = path
    return members


def _stage_members(files: Mapping[ArtifactKind, Path]) -> dict[str, Path]:
    """Return the profiles of all stages if the profile is one of several; their names state the stages."""
    profile = files.get(ArtifactKind.PROFILE)
    if profile is None or profile.suffix.lower() != ".csv":
        return {}
    from trex_tui.old.artifacts.stage_times import find_stages  # as in file_kinds: few sets have such files

    return {_UNSAFE.sub("_", path.name): path for path in find_stages(profile)}


def _canonical_name(base: str, kind: ArtifactKind, path: Path) -> str:
    if kind is ArtifactKind.ACCURACY:
        return OUTPUT_DIFF
    if kind in _MORE_ENDINGS:
        return f"{base}.{_MORE_ENDINGS[kind]}"
    return make_name(base, kind) + (".gz" if path.suffix.lower() == ".gz" else "")


def _write_members(archive: Path, members: Mapping[str, Path]) -> None:
    with zipfile.ZipFile(archive, "x", zipfile.ZIP_DEFLATED, strict_timestamps=False) as file:
        for name, path in members.items():
            member = zipfile.ZipInfo(name, _EPOCH)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = _MODE
            member.file_size = path.stat().st_size  # from 2 GiB on the header has another form
            with path.open("rb") as content, file.open(member, "w") as out:
                shutil.copyfileobj(content, out, 1 << 20)
