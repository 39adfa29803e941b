"""Discover artifact sets in directories, among files and in archives.

The content of a file determines its kind, its name only the engine that it belongs to (`file_kinds`). Some files of a set are
in other directories, by conventions of toolkits and of trex-tui's own commands.

trex packs the files of one engine, all in one folder of an archive. Archives of a directory of results hold several engines;
equal file names then belong to different engines, so each folder is separate.
"""

from __future__ import annotations

import errno
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from trex_tui.artifacts.kinds import (
    OUTPUT_DIFF,
    FileKind,
    display_name,
    engine_stem,
    is_archive,
    is_canonical,
    logged_engine,
    names_monitor,
    sniff,
    tells_role,
)
from trex_tui.artifacts.open import OUTSIDE, is_allowed
from trex_tui.artifacts.plan import describe_plan, read_plan_head
from trex_tui.errors import ArtifactError, Note, Severity, describe_os_error
from trex_tui.text import natural_key, plural

MAX_BESIDE = 400
_FAR = 2
"""Levels up to siblings of the parent directory."""
PRECISION_WORD = r"(?:tf|fp|bf|int|uint|e\dm)\d+|half|float|best|qat|ptq|quant(?:ized)?"
"""Pattern of lower-case words that name precisions."""
_ANY_MODEL = re.compile(rf"{PRECISION_WORD}|trt|engines?|results?|nets?")
"""Words that are not part of a model name: precisions and common directory names."""
COMPARISON_ENDING = ".accuracy"
"""Suffix of directories with thousands of samples and one result."""
_LAYER_TIMES_FOLDER = "trt_profiling"
"""Directory of layer times: the log of the power sensor is in its parent directory, the idle power there or above."""
_ELSEWHERE_KINDS = (FileKind.BUILD_LOG, FileKind.PROFILE_LOG, FileKind.PLAN)


@dataclass(slots=True)
class FoundFile:
    """A file with its kind, and the engine in its name."""

    path: Path
    kind: FileKind
    stem: str
    is_packed: bool = False
    """From an archive: files beside the archive take precedence."""


def found_elsewhere(directory: Path) -> list[FoundFile]:
    """Return logs and engines in `models/<model>/` for sets in `results/<model>/`, a convention of toolkits."""
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
        FoundFile(path, kind, engine_stem(path))
        for path in files
        if (kind := sniff(path).kind) in _ELSEWHERE_KINDS
    ]


def add_elsewhere(
    directory: Path, stem: str, group: dict[FileKind, Path], files: Sequence[FoundFile], *, alone: bool
) -> None:
    """Add files of one set that are in other directories.

    Args:
        directory: Directory of the set.
        stem: Common part of the file names.
        files: Result of `found_elsewhere`.
        alone: Whether it is the only set of its directory.
    """
    _add_found(directory, stem, group, files, alone=alone)
    _add_comparison(directory, stem, group)
    if alone:
        _add_power_above(directory, group)
    _add_manifest_above(directory, stem, group)


def _add_found(
    directory: Path, stem: str, group: dict[FileKind, Path], files: Sequence[FoundFile], *, alone: bool
) -> None:
    """Add those of the files found elsewhere that belong to one set."""
    for kind in _ELSEWHERE_KINDS:
        if kind in group:
            continue
        candidates = [file for file in files if file.kind is kind]
        matching = [candidate for candidate in candidates if candidate.stem == stem]
        only = candidates if alone and directory.absolute().name != "results" else []
        chosen = matching or only
        if len(chosen) == 1:
            group[kind] = chosen[0].path


def _add_comparison(directory: Path, stem: str, group: dict[FileKind, Path]) -> None:
    """Add `<stem>.accuracy/output_diff.json`, the result of `trex-tui accuracy` for the engine."""
    path = directory / f"{stem}{COMPARISON_ENDING}" / OUTPUT_DIFF
    if stem and FileKind.ACCURACY not in group and sniff(path).kind is FileKind.ACCURACY:
        group[FileKind.ACCURACY] = path


def _add_power_above(directory: Path, group: dict[FileKind, Path]) -> None:
    """Add the log of a power sensor and the idle power for layer times in `trt_profiling/`."""
    here = directory.absolute()
    if here.name != _LAYER_TIMES_FOLDER:
        return
    for kind, folders in (
        (FileKind.MONITOR, (here.parent,)),
        (FileKind.IDLE_POWER, (here.parent, here.parent.parent)),
    ):
        for folder in folders:
            found = [] if kind in group else _files_of_kind(folder, kind)
            if len(found) == 1:
                group[kind] = found[0]


def _files_of_kind(folder: Path, kind: FileKind) -> list[Path]:
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file())
    except OSError:
        return []
    return [path for path in files if sniff(path).kind is kind]


def _add_manifest_above(directory: Path, stem: str, group: dict[FileKind, Path]) -> None:
    """Add the manifest of a capture with several measurements: further runs are in `<name>.repeat-2/` and so on."""
    here = directory.absolute()
    name, mark, number = here.name.rpartition(".repeat-")
    if not mark or not number.isdecimal() or FileKind.MANIFEST in group:
        return
    path = here.parent / f"{name}.capture.json"
    if engine_stem(path) == stem and path.is_file() and sniff(path).kind is FileKind.MANIFEST:
        group[FileKind.MANIFEST] = path


@dataclass(slots=True)
class Contents:
    """Content of an archive.

    Attributes:
        files: Its artifacts, if at most one of its folders describes an engine.
        apart: Otherwise its folders, and their files.
        problem: Why there is nothing, as the end of a sentence whose subject is the archive.
    """

    files: list[FoundFile] = field(default_factory=list)
    apart: list[tuple[Path, list[Path]]] = field(default_factory=list)
    problem: str = ""

    @property
    def paths(self) -> list[Path]:
        return [file.path for file in self.files]


def contents(path: Path) -> Contents:
    """Unpack an archive, and return the kinds of its files. Never raises."""
    from trex_tui.artifacts.archive import unpack  # 20 ms for zipfile

    unpacked = unpack(path)
    files = [
        FoundFile(path, kind, engine_stem(path), is_packed=True)
        for path in unpacked.files
        if (kind := sniff(path).kind) is not None
    ]
    if len({file.path.parent for file in files if file.kind.describes_engine}) < 2:
        return Contents(files, problem=unpacked.problem)
    folders: dict[Path, list[Path]] = {}
    for file in unpacked.files:
        folders.setdefault(file.parent, []).append(file)
    return Contents(apart=list(folders.items()), problem=unpacked.problem)


def without_strangers(files: list[Path], named: Path) -> list[Path]:
    """Return files beside a given one, without archives of other engines, judging by their names and those of their members.
    Nothing is unpacked for this.
    """
    return [file for file in files if not is_archive(file) or file == named or _may_belong_to(file, named)]


def _may_belong_to(archive: Path, named: Path) -> bool:
    from trex_tui.artifacts.archive import names_in

    if is_archive(named):
        return False
    stem = engine_stem(named)
    return engine_stem(archive) == stem or any(engine_stem(Path(name)) == stem for name in names_in(archive))


_MOST_NAMED = 8
MAX_FILES = 50_000
"""Maximum number of files examined below one path. Limits a start in a home directory."""

FAILED_ENDING = ".failed"
"""Suffix of directories of failed captures, whose logs have no engine."""
_SKIPPED_DIRECTORIES = frozenset({"__pycache__", "node_modules", "site-packages"})
_LOG_KINDS = (FileKind.BUILD_LOG, FileKind.PROFILE_LOG)


@dataclass(frozen=True, slots=True)
class ArtifactSet:
    """The files that describe one engine.

    Attributes:
        name: Short name, unique among the sets found together.
        directory: Directory of its first file.
        files: At most one file per kind, in the order of `FileKind`.
        notes: Files beside it that could not be used, and why.
    """

    name: str
    directory: Path
    files: dict[FileKind, Path]
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        return f"<ArtifactSet {self.name!r}: {', '.join(kind.value for kind in self.files)}>"


class Discovery(NamedTuple):
    """Result of a search: the sets, and the notes that belong to none of them."""

    sets: tuple[ArtifactSet, ...]
    notes: tuple[Note, ...] = ()


@dataclass(slots=True)
class _Folder:
    """One directory while it is grouped into sets."""

    path: Path
    groups: dict[str, dict[FileKind, Path]] = field(default_factory=dict)
    notes: list[tuple[str, Note]] = field(default_factory=list)
    """Notes with the stem they belong to."""

    def note(self, stem: str, severity: Severity, file: Path, message: str) -> None:
        self.notes.append((stem, Note(severity, file, "", message)))


def find_one(path: str | Path) -> ArtifactSet:
    """Return the only set at a directory or a file.

    Raises:
        ArtifactError: As `find_sets`, or there are several.
    """
    sets = find_sets(path).sets
    if len(sets) > 1:
        names = ", ".join(str(next(iter(source.files.values()))) for source in sets[:_MOST_NAMED])
        raise ArtifactError(Path(path), f"has {len(sets)} engines; name a file of one: {names}")
    return sets[0]


def find_sets(path: str | Path | Iterable[str | Path], most_files: int = MAX_FILES) -> Discovery:
    """Return the artifact sets at a directory, a file, or several of them, with the notes that belong to no set.

    A directory is searched recursively; a file represents the set it belongs to.

    Args:
        most_files: Files examined below one path, at most.

    Raises:
        ArtifactError: A path does not exist or cannot be used, or no set is found.
    """
    paths = [Path(path)] if isinstance(path, (str, Path)) else [Path(item) for item in path]
    if not paths:
        return Discovery(())
    given = [path for path in paths if _checked(path).is_file()]
    sets: list[ArtifactSet] = []
    strays: list[Note] = []
    for directory in (path for path in paths if path not in given):
        below = _scan_tree(directory, most_files)
        sets.extend(below.sets)
        strays.extend(below.notes)
    sets.extend(_sets_of_files(given))
    unique = {tuple(map(str, source.files.values())): source for source in _without_used_logs(sets)}
    used = {path.absolute() for source in sets for path in source.files.values()} if strays else set()
    strays = [
        stray for stray in strays if stray.severity is not Severity.INFO or not _is_used(stray.file, used)
    ]
    if not unique:
        raise _nothing_found(paths, strays)
    return Discovery(tuple(with_unique_names(list(unique.values()))), tuple(strays))


def _without_used_logs(sets: list[ArtifactSet]) -> list[ArtifactSet]:
    """Remove sets that only have logs of another set: toolkits keep those in a directory of their own."""
    if all(_describes(source.files) for source in sets):
        return sets
    used = {path.absolute() for source in sets if _describes(source.files) for path in source.files.values()}
    return [
        source
        for source in sets
        if _describes(source.files) or used.isdisjoint(path.absolute() for path in source.files.values())
    ]


def _is_used(file: Path | None, used: set[Path]) -> bool:
    """Return whether a set in another directory has the file."""
    return file is not None and file.absolute() in used


def _checked(path: Path) -> Path:
    """Raise for a path that is neither a regular file nor a directory; reading a FIFO would hang."""
    try:
        if not path.exists():
            reason = (
                "is a broken link; check its target"
                if path.is_symlink()
                else "does not exist; check the path"
            )
            raise ArtifactError(path, reason)
        if not path.is_dir() and not path.is_file():
            raise ArtifactError(path, "is neither a file nor a directory; name a regular file")
    except OSError as error:
        raise ArtifactError(path, describe_os_error(error, "cannot be opened")) from error
    except ValueError as error:  # a NUL in the path
        raise ArtifactError(Path(repr(str(path))), "is not a valid path; check the path") from error
    return path


def is_damage(diagnostic: Note, named: Iterable[str | Path] = ()) -> bool:
    """Return whether a diagnostic means missing data, unlike a `config.json` beside an engine.

    Args:
        named: Paths given by the user, for which every diagnostic matters.
    """
    file = diagnostic.file
    if diagnostic.severity is not Severity.ERROR:
        return False
    if file is None or tells_role(file) or is_archive(file) or file in map(Path, named):
        return True
    return file.is_dir() or sniff(file).kind is not None


def _nothing_found(paths: Sequence[Path], strays: list[Note]) -> ArtifactError:
    where = paths[0] if len(paths) == 1 else Path(os.path.commonpath([path.absolute() for path in paths]))
    problems = [stray for stray in strays if stray.severity is Severity.ERROR]
    if len(problems) == 1 and problems[0].file:
        only = problems[0]
        return ArtifactError(only.file or where, only.message, only.where, tuple(strays))
    message = "no engine found: no layer information, profile, timing JSON or trtexec log here or below; check the path"
    if strays:
        message += f" ({plural(len(strays), 'other file')}; the first: {strays[0].file} {strays[0].message})"
    return ArtifactError(where, message, notes=tuple(strays))


def _scan_tree(root: Path, most_files: int) -> Discovery:
    """Search a directory recursively. Links to directories are followed, each directory once."""
    sets: list[ArtifactSet] = []
    strays: list[Note] = []
    seen: set[tuple[int, int]] = set()
    looked_at = 0
    pending = [root]
    while pending:
        directory = pending.pop()
        try:
            status = directory.stat()
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            if not is_allowed(directory):
                raise PermissionError(errno.EACCES, OUTSIDE)
            with os.scandir(directory) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            reason = describe_os_error(error, "cannot be listed")
            strays.append(Note(Severity.ERROR, directory, "", reason))
            continue
        files = [entry for entry in entries if _is_file(entry)]
        looked_at += len(files)
        if looked_at > most_files:
            message = f"more than {most_files} files: the rest was not searched; pass narrower paths"
            strays.append(Note(Severity.WARNING, root, "", message))
            break
        discovery = _sets_of_folder(directory, [Path(file.path) for file in files])
        sets.extend(discovery.sets)
        strays.extend(discovery.notes)
        below = sorted(filter(_is_searched, entries), key=lambda entry: natural_key(entry.name))
        pending.extend(reversed([Path(entry.path) for entry in below]))
    return Discovery(tuple(sets), tuple(strays))


def find_beside(source: ArtifactSet) -> list[ArtifactSet]:
    """Find sets near another: in its directory, beside it, and in directories beside its parent.

    A bounded search: directories two levels deep, at most `MAX_BESIDE` files. Sets that share most words with the set come
    first, ignoring precisions; those beside its parent share at least one.
    """
    own = {os.path.realpath(path) for path in source.files.values()}
    words = _model_words(source)
    ranked = []
    for distance, found in _sets_around(source.directory.absolute()):
        shared = len(words & _model_words(found))
        is_own = not own.isdisjoint(os.path.realpath(path) for path in found.files.values())
        if not is_own and _describes(found.files) and (shared or distance < _FAR):
            ranked.append((-shared, distance, str(found.directory), found))
    ranked.sort(key=lambda entry: entry[:3])
    return [found for *_, found in ranked]


def _sets_around(directory: Path) -> Iterator[tuple[int, ArtifactSet]]:
    """Yield the sets of a directory and below it, beside it, and beside its parent, with the number of levels up to each."""
    pending = [(directory, 0, 2), (directory.parent, 1, 2), (directory.parent.parent, _FAR, 2)]
    seen: set[Path] = set()
    files_left = MAX_BESIDE
    while pending and files_left > 0:
        folder, distance, depth = pending.pop(0)
        if folder in seen or folder in (Path(folder.anchor), Path.home()):
            continue  # The parent is too general: its content may be unrelated.
        seen.add(folder)
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            continue
        files = [Path(entry.path) for entry in entries if _is_file(entry)][:files_left]
        files_left -= len(files) + 1
        for found in _sets_of_folder(folder, files).sets:
            yield distance, found
        if depth:
            below = [(Path(entry.path), distance, depth - 1) for entry in entries if _is_searched(entry)]
            pending = sorted([*pending, *below], key=lambda entry: (entry[1], -entry[2]))


def _model_words(source: ArtifactSet) -> set[str]:
    """Return words of the name and the two directories of a set that may name its model."""
    text = "/".join([source.name, *source.directory.absolute().parts[1:][-2:]]).casefold()
    return {
        word for word in re.split(r"[^a-z0-9]+", text) if len(word) > 1 and not _ANY_MODEL.fullmatch(word)
    }


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Return whether a file may be an artifact. Configuration is not: `[[lint.suppress]]` begins like JSON."""
    try:
        return entry.is_file() and not entry.name.endswith(".toml")
    except OSError:
        return False


def _is_searched(entry: os.DirEntry[str]) -> bool:
    try:
        if entry.name.startswith(".") or entry.name.endswith(COMPARISON_ENDING):
            return False
        return entry.is_dir() and entry.name not in _SKIPPED_DIRECTORIES
    except OSError:
        return False


def _sets_of_files(given: Sequence[Path]) -> list[ArtifactSet]:
    """Return the sets of the given files."""
    archives = [path for path in given if is_archive(path)]
    if archives:
        others = [path for path in given if path not in archives]
        return [*(source for path in archives for source in _sets_of_archive(path)), *_sets_of_files(others)]
    if not given:
        return []
    kinds = {}
    for path in given:
        sniffed = sniff(path)
        if sniffed.kind is None:
            raise ArtifactError(path, sniffed.reason)
        kinds[path] = sniffed.kind
    if len(given) > 1 and len(set(kinds.values())) == len(given) and FileKind.GRAPH in kinds.values():
        # One graph and at most one file of each other kind, given together: they are one set.
        graph = next(path for path in given if kinds[path] is FileKind.GRAPH)
        return [_set_with(graph, {kind: path for path, kind in kinds.items()})]
    return [_set_with(path, {kinds[path]: path}) for path in given]


def _sets_of_archive(path: Path) -> list[ArtifactSet]:
    """Return the sets of the files beside an archive that use it, else those in the archive alone."""
    inside = contents(path)
    if inside.problem:
        raise ArtifactError(path, inside.problem)
    if inside.apart:
        return [
            folder_set for folder, files in inside.apart for folder_set in _sets_of_folder(folder, files).sets
        ]
    own = set(inside.paths)
    sets = [
        source
        for source in _sets_of_folder(path.parent, _beside(path)).sets
        if not own.isdisjoint(source.files.values())
    ]
    if sets:
        return sets
    for kind in (FileKind.GRAPH, FileKind.PROFILE, FileKind.TIMING, *_LOG_KINDS):
        for file in inside.files:
            if file.kind is kind and not any(file.path in source.files.values() for source in sets):
                sets.append(_set_with(file.path, {kind: file.path}, inside.paths))
    if sets:
        return sets
    message = (
        "has no log and no layer information, and no JSON of its engine is next to it; copy that JSON here"
    )
    raise ArtifactError(path, message)


def _beside(path: Path) -> list[Path]:
    """Return the files in the directory of a given file, including the file."""
    try:
        return without_strangers(sorted(entry for entry in path.parent.iterdir() if entry.is_file()), path)
    except OSError:
        return [path]


def _set_with(path: Path, named: dict[FileKind, Path], siblings: Sequence[Path] | None = None) -> ArtifactSet:
    """Return the set of `path`, with the files in `named` taking precedence over its companions.

    Args:
        siblings: Possible companions, by default the files beside it.
    """
    siblings = _beside(path) if siblings is None else siblings
    for sibling in _sets_of_folder(path.parent, siblings).sets:
        if path in sibling.files.values():
            files = sibling.files | named
            return replace(sibling, files={kind: files[kind] for kind in FileKind if kind in files})
    if kinds := named.keys() & set(_LOG_KINDS):
        return _set_of_logs(path, named, kinds, siblings)
    if not any(kind.describes_engine for kind in named):
        what = _describe(*next(iter(named.items())))
        message = f"is {what}: no layer information, profile or timing JSON next to it; nothing to open"
        raise ArtifactError(path, message)
    return ArtifactSet(display_name(engine_stem(path)) or path.parent.absolute().name, path.parent, named)


def _describe(kind: FileKind, path: Path) -> str:
    """Return the kind of a file, with an article."""
    if kind is FileKind.PLAN:
        try:
            head = read_plan_head(path)
        except OSError:
            head = None
        if head is not None:
            return describe_plan(head)
    return f"a {kind.words}"


def _set_of_logs(
    path: Path, named: dict[FileKind, Path], kinds: set[FileKind], siblings: Sequence[Path]
) -> ArtifactSet:
    """Return a set for a given log that belongs to no other set: the engine it describes, with the other log of its stem."""
    stem = engine_stem(path)
    files = dict(named)
    for sibling in siblings:
        if stem and sibling != path and engine_stem(sibling) == stem:
            kind = sniff(sibling).kind
            if kind in _LOG_KINDS and kind not in kinds:
                files.setdefault(kind, sibling)
    ordered = {kind: files[kind] for kind in FileKind if kind in files}
    return ArtifactSet(display_name(stem) or path.parent.absolute().name, path.parent, ordered)


def _sets_of_folder(directory: Path, files: Sequence[Path]) -> Discovery:
    """Group the files of one directory into sets."""
    folder = _Folder(directory)
    folder_files: list[FoundFile] = []
    apart: list[tuple[Path, list[Path]]] = []
    for path in files:
        if is_archive(path):
            inside = contents(path)
            folder_files += inside.files
            apart += inside.apart
            if inside.problem:
                folder.note(engine_stem(path), Severity.ERROR, path, inside.problem)
            continue
        sniffed = sniff(path)
        if sniffed.kind is not None:
            folder_files.append(FoundFile(path, sniffed.kind, engine_stem(path)))
        elif sniffed.claims:
            # Nothing else depends on samples of power: as damage, they are a warning.
            severity = Severity.WARNING if names_monitor(path) else Severity.ERROR
            folder.note(engine_stem(path), severity, path, sniffed.reason)
    # Canonical names first, so that they win if two files have the same kind.
    packed = {file.path for file in folder_files if file.is_packed}
    for file in sorted(
        folder_files,
        key=lambda candidate: (candidate.is_packed, not is_canonical(candidate.path), candidate.path),
    ):
        group = folder.groups.setdefault(file.stem, {})
        if file.is_packed and file.kind in group and group[file.kind] not in packed:
            continue
        if file.kind in group:
            kind = file.kind.words
            message = (
                f"is a second {kind} for {file.stem or 'this directory'!r}; using {group[file.kind].name}"
            )
            severity = Severity.INFO if file.kind.is_companion else Severity.ERROR
            folder.note(file.stem, severity, file.path, message)
        else:
            group[file.kind] = file.path
    own = [_assemble(folder), *(_sets_of_folder(subfolder, inside_it) for subfolder, inside_it in apart)]
    return Discovery(
        tuple(source for each in own for source in each.sets),
        tuple(diagnostic for each in own for diagnostic in each.notes),
    )


def _assemble(folder: _Folder) -> Discovery:
    """Convert groups to sets: a group that describes no engine joins the set that lacks its files, if there is just one."""
    _join_solitary(folder.groups)
    engines = {stem: group for stem, group in folder.groups.items() if stem and _describes(group)}
    if not engines and _describes(folder.groups.get("", {})):
        engines = {"": folder.groups[""]}
    if not engines and not folder.path.name.endswith(FAILED_ENDING):
        engines = _groups_without_layers(folder.groups)
    for stem, group in folder.groups.items():
        if stem in engines:
            continue
        for kind, path in group.items():
            if kind is FileKind.ACCURACY:
                for engine_files in engines.values():  # the file names its engine
                    engine_files.setdefault(kind, path)
                continue
            # A manifest belongs only to the set with its name.
            takers = [
                files for files in engines.values() if kind not in files and kind is not FileKind.MANIFEST
            ]
            if len(takers) == 1 and len(engines) == 1:
                takers[0][kind] = path
            else:
                folder.note(stem, *_unplaced(path, kind, engines))
    sets = []
    elsewhere = found_elsewhere(folder.path) if engines else []
    for stem, group in sorted(engines.items(), key=lambda item: natural_key(item[0])):
        add_elsewhere(folder.path, stem, group, elsewhere, alone=len(engines) == 1)
        files = {kind: group[kind] for kind in FileKind if kind in group}
        notes = tuple(note for noted, note in folder.notes if noted == stem or len(engines) == 1)
        name = display_name(stem) or folder.path.absolute().name
        sets.append(ArtifactSet(name, folder.path, files, notes))
    used = {note for source in sets for note in source.notes}
    return Discovery(tuple(sets), tuple(note for _, note in folder.notes if note not in used))


def _groups_without_layers(
    groups: dict[str, dict[FileKind, Path]],
) -> dict[str, dict[FileKind, Path]]:
    """Return the groups with logs, if no group describes an engine; else those with a session in which one ran."""
    _join_logs(groups)
    return {stem: group for stem, group in groups.items() if _has_log(group)}


def _join_solitary(groups: dict[str, dict[FileKind, Path]]) -> None:
    """Join the only graph and the only profile or timing of a directory if their names do not identify an engine."""
    engines = {stem: group for stem, group in groups.items() if stem and _describes(group)}
    graphs = [stem for stem, group in engines.items() if FileKind.GRAPH in group]
    kinds = [kind for group in engines.values() for kind in group]
    speaking = [stem for stem, group in engines.items() if any(map(tells_role, group.values()))]
    if len(graphs) != 1 or len(set(kinds)) < len(kinds) or len(speaking) > 1:
        return
    for stem in engines:
        if stem != graphs[0]:
            groups[graphs[0]].update(groups.pop(stem))


def _join_logs(groups: dict[str, dict[FileKind, Path]]) -> None:
    """Join the logs of a build and of a run that have different names.

    They must save and load one engine, or be the only two, one of them without an engine in its name.
    """
    builds = {stem: group for stem, group in groups.items() if _list_logs(group) == [FileKind.BUILD_LOG]}
    profiles = {stem: group for stem, group in groups.items() if _list_logs(group) == [FileKind.PROFILE_LOG]}
    saved = {stem: logged_engine(group[FileKind.BUILD_LOG]) for stem, group in builds.items()}
    loaded = {stem: logged_engine(group[FileKind.PROFILE_LOG]) for stem, group in profiles.items()}
    pairs = [
        (stem, other)
        for stem, engine in saved.items()
        for other, file in loaded.items()
        if engine is not None and engine == file
    ]
    if not pairs and len(builds) == len(profiles) == 1 and "" in (*builds, *profiles):
        pairs = [(next(iter(builds)), next(iter(profiles)))]
    for build, profile in pairs:
        is_unclear = [pair[0] for pair in pairs].count(build) + [pair[1] for pair in pairs].count(profile) > 2
        if is_unclear or groups[build].keys() & groups[profile].keys():
            continue
        kept, other = (build, profile) if build else (profile, build)
        groups[kept].update(groups.pop(other))


def _list_logs(group: dict[FileKind, Path]) -> list[FileKind]:
    return [kind for kind in _LOG_KINDS if kind in group]


def _has_log(group: dict[FileKind, Path]) -> bool:
    return bool(_list_logs(group))


def _unplaced(
    path: Path, kind: FileKind, engines: dict[str, dict[FileKind, Path]]
) -> tuple[Severity, Path, str]:
    what = f"is a {kind.words}"
    if engines and kind.is_companion:
        return Severity.INFO, path, f"{what} matches no set here; rename it like a set: NAME.monitor.csv"
    if engines:
        return Severity.WARNING, path, f"{what} matches no set here: no other file has its stem"
    return (
        Severity.INFO,
        path,
        f"{what}, which cannot be opened alone; needs layer information, a profile, timing JSON or a log",
    )


def _describes(group: dict[FileKind, Path]) -> bool:
    return any(kind.describes_engine for kind in group)


def with_unique_names(sets: list[ArtifactSet]) -> list[ArtifactSet]:
    """Make equal names unique: within a directory by the files' own stems, else by as many parent directories as necessary.

    Names that this function has extended before are reset first.
    """
    # As text: paths as objects take four times as long, which counts for thousands of sets.
    folders = [os.path.abspath(source.directory) for source in sets]  # noqa: PTH100 - without `..`
    own = [source.name.rpartition("/")[2] for source in sets]
    by_folder: dict[str, list[int]] = {}
    for index, folder in enumerate(folders):
        by_folder.setdefault(folder, []).append(index)
    for places in by_folder.values():
        if len(places) > 1:
            _tell_apart(places, own, sets)
    # The root is not part of a name.
    parents = [os.path.splitdrive(folder)[1].split(os.sep)[1:] for folder in folders]  # noqa: PTH206 - as text
    names = list(own)
    for depth in range(1, max(map(len, parents), default=0) + 1):
        clashing = {name for name, count in Counter(names).items() if count > 1}
        if not clashing:
            break
        names = [
            "/".join([*above[-depth:], mine]) if name in clashing else name
            for name, above, mine in zip(names, parents, own, strict=True)
        ]
    return [replace(source, name=name) for source, name in zip(sets, names, strict=True)]


def _tell_apart(places: Sequence[int], names: list[str], sets: Sequence[ArtifactSet]) -> None:
    """Give the sets of one directory different names: equal ones become stems, `net` and `net.onnx`, else numbered."""
    for _ in places:  # a stem may equal the name of a third set
        counts = Counter(names[index] for index in places)
        for index in places:
            if counts[names[index]] > 1:
                names[index] = engine_stem(next(iter(sets[index].files.values()))) or names[index]
    taken: set[str] = {names[index] for index in places}
    seen: set[str] = set()
    for index in places:
        name, number = names[index], 1
        while names[index] in seen or (number > 1 and names[index] in taken):
            number += 1
            names[index] = f"{name}~{number}"
        seen.add(names[index])
