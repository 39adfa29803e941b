"""Discovery of artifact sets in directories, among files and in archives.

Content says what a file is (`sniff`), its name says only to which engine it belongs (`naming`). Some files of a set do not
lie in its directory, by the customs of toolkits and of trex-tui's own commands.

trex packs the files of one engine, all in one folder of an archive. Who packs a directory of results packs several engines;
files of one name are then those of different engines, so each folder keeps its own.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from trex_tui.artifacts.accuracy import OUTPUT_DIFF
from trex_tui.artifacts.naming import (
    ArtifactKind,
    display_name,
    engine_stem,
    is_archive,
    is_canonical,
    tells_role,
)
from trex_tui.artifacts.sniff import sniff
from trex_tui.errors import ArtifactError, Diagnostic, Severity

COMPARISON_ENDING = ".accuracy"
"""Of directories with samples by the thousand, and one result."""
_ELSEWHERE_KINDS = (ArtifactKind.BUILD_LOG, ArtifactKind.PROFILE_LOG, ArtifactKind.PLAN)


@dataclass(slots=True)
class FoundFile:
    """A file, what it is, and the engine that its name says."""

    path: Path
    kind: ArtifactKind
    stem: str
    is_packed: bool = False
    """Out of an archive: files beside it come first."""


def found_elsewhere(directory: Path) -> list[FoundFile]:
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
        FoundFile(path, kind, engine_stem(path))
        for path in files
        if (kind := sniff(path).kind) in _ELSEWHERE_KINDS
    ]


def add_elsewhere(
    directory: Path, stem: str, group: dict[ArtifactKind, Path], found: Sequence[FoundFile], *, alone: bool
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
    directory: Path, stem: str, group: dict[ArtifactKind, Path], found: Sequence[FoundFile], *, alone: bool
) -> None:
    """Add those of what was found elsewhere that are of one set."""
    for kind in _ELSEWHERE_KINDS:
        if kind in group:
            continue
        candidates = [file for file in found if file.kind is kind]
        matching = [candidate for candidate in candidates if candidate.stem == stem]
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
    if engine_stem(path) == stem and path.is_file() and sniff(path).kind is ArtifactKind.MANIFEST:
        group[ArtifactKind.MANIFEST] = path


@dataclass(slots=True)
class Contents:
    """What is in an archive.

    Attributes:
        found: Its artifacts, if at most one of its folders describes an engine.
        apart: Else its folders, and what lies in each.
        problem: Why there is nothing, as the end of a sentence whose subject is the archive.
    """

    found: list[FoundFile] = field(default_factory=list)
    apart: list[tuple[Path, list[Path]]] = field(default_factory=list)
    problem: str = ""

    @property
    def paths(self) -> list[Path]:
        return [file.path for file in self.found]


def contents(path: Path) -> Contents:
    """Unpack an archive, and say what its files are. Never raises."""
    from trex_tui.artifacts.archive import unpack  # 20 ms for zipfile

    unpacked = unpack(path)
    found = [
        FoundFile(one, kind, engine_stem(one), is_packed=True)
        for one in unpacked.files
        if (kind := sniff(one).kind) is not None
    ]
    if len({one.path.parent for one in found if one.kind.describes_engine}) < 2:
        return Contents(found, problem=unpacked.problem)
    folders: dict[Path, list[Path]] = {}
    for file in unpacked.files:
        folders.setdefault(file.parent, []).append(file)
    return Contents(apart=list(folders.items()), problem=unpacked.problem)


def without_strangers(files: list[Path], named: Path) -> list[Path]:
    """Files beside one that was named, without the archives that neither are it nor can be of its engine: their names, and
    those of what they hold, tell of others. Nothing is unpacked to see that."""
    return [file for file in files if not is_archive(file) or file == named or _may_belong_to(file, named)]


def _may_belong_to(archive: Path, named: Path) -> bool:
    from trex_tui.artifacts.archive import names_in

    if is_archive(named):
        return False
    stem = engine_stem(named)
    return engine_stem(archive) == stem or any(engine_stem(Path(name)) == stem for name in names_in(archive))


MAX_FILES = 50_000
"""Files looked at below one path. Somebody will start the program in a home directory."""

_SKIPPED_DIRECTORIES = frozenset({"__pycache__", "node_modules", "site-packages"})
_LOG_KINDS = (ArtifactKind.BUILD_LOG, ArtifactKind.PROFILE_LOG)


@dataclass(frozen=True, slots=True)
class ArtifactSet:
    """The files that describe one engine.

    Attributes:
        name: Short name, unique among the sets found together.
        directory: Where its first file lies.
        files: At most one file per kind, in the order of `ArtifactKind`.
        diagnostics: Files beside it that could not be used, and why.
    """

    name: str
    directory: Path
    files: dict[ArtifactKind, Path]
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Discovery:
    """All that was found: the sets, and what belongs to none of them."""

    sets: tuple[ArtifactSet, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(slots=True)
class _Folder:
    """One directory on its way to sets."""

    path: Path
    groups: dict[str, dict[ArtifactKind, Path]] = field(default_factory=dict)
    notes: list[tuple[str, Diagnostic]] = field(default_factory=list)
    """Diagnostics with the stem they belong to."""

    def note(self, stem: str, severity: Severity, file: Path, message: str) -> None:
        self.notes.append((stem, Diagnostic(severity, file, "", message)))


def find(path: str | Path | Iterable[str | Path]) -> list[ArtifactSet]:
    """Return the artifact sets at a directory, a file, or several of them.

    A directory is searched with everything below it; a file stands for the set it belongs to.

    Raises:
        ArtifactError: A path does not exist or cannot be used, or no set is found.
    """
    return list(scan(path).sets)


def scan(path: str | Path | Iterable[str | Path]) -> Discovery:
    """As `find`, with the diagnostics that belong to no set.

    Raises:
        ArtifactError: As `find`.
    """
    paths = [Path(path)] if isinstance(path, (str, Path)) else [Path(item) for item in path]
    if not paths:
        return Discovery(())
    given = [one for one in paths if _checked(one).is_file()]
    sets: list[ArtifactSet] = []
    strays: list[Diagnostic] = []
    for directory in (one for one in paths if one not in given):
        below = _scan_tree(directory)
        sets.extend(below.sets)
        strays.extend(below.diagnostics)
    sets.extend(_sets_of_files(given))
    unique = {tuple(source.files.values()): source for source in sets}
    if not unique:
        raise _nothing_found(paths, strays)
    return Discovery(tuple(with_unique_names(list(unique.values()))), tuple(strays))


def _checked(path: Path) -> Path:
    """Raise for a path that is neither a regular file nor a directory; sniffing would hang on a FIFO."""
    try:
        if not path.exists():
            reason = "is a broken link" if path.is_symlink() else "does not exist"
            raise ArtifactError(path, reason)
        if not path.is_dir() and not path.is_file():
            raise ArtifactError(path, "is neither a file nor a directory")
    except OSError as error:
        raise ArtifactError(path, f"cannot be opened: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the path
        raise ArtifactError(Path(repr(str(path))), "is not a valid path") from error
    return path


def _nothing_found(paths: Sequence[Path], strays: list[Diagnostic]) -> ArtifactError:
    where = paths[0] if len(paths) == 1 else Path(os.path.commonpath([path.absolute() for path in paths]))
    problems = [stray for stray in strays if stray.severity is Severity.ERROR]
    if len(problems) == 1 and problems[0].file:
        only = problems[0]
        return ArtifactError(only.file or where, only.message, only.where, tuple(strays))
    message = "no engine found: no layer-info, profile or timing JSON here or below"
    if strays:
        message += f" ({len(strays)} other files; the first: {strays[0].file} {strays[0].message})"
    return ArtifactError(where, message, diagnostics=tuple(strays))


def _scan_tree(root: Path) -> Discovery:
    """Search a directory and all below it. Links to directories are followed, each directory once."""
    sets: list[ArtifactSet] = []
    strays: list[Diagnostic] = []
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
            with os.scandir(directory) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            reason = f"cannot be listed: {error.strerror or error}"
            strays.append(Diagnostic(Severity.ERROR, directory, "", reason))
            continue
        files = [Path(entry.path) for entry in entries if _is_file(entry)]
        looked_at += len(files)
        if looked_at > MAX_FILES:
            message = f"more than {MAX_FILES} files: the rest was not searched; name the directories"
            strays.append(Diagnostic(Severity.WARNING, root, "", message))
            break
        found = _sets_of_folder(directory, files)
        sets.extend(found.sets)
        strays.extend(found.diagnostics)
        pending.extend(reversed([Path(entry.path) for entry in entries if _is_searched(entry)]))
    return Discovery(tuple(sets), tuple(strays))


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it may be an artifact. Configuration is none: `[[lint.suppress]]` begins like JSON."""
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
    """The sets that the files given by name belong to."""
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
    if len(given) > 1 and len(set(kinds.values())) == len(given) and ArtifactKind.GRAPH in kinds.values():
        # One graph and at most one file of each other kind, named together: that leaves no doubt.
        graph = next(path for path in given if kinds[path] is ArtifactKind.GRAPH)
        return [_set_with(graph, {kind: path for path, kind in kinds.items()})]
    return [_set_with(path, {kinds[path]: path}) for path in given]


def _sets_of_archive(path: Path) -> list[ArtifactSet]:
    """The sets of the files beside an archive that take theirs from it, or else those that it holds alone."""
    inside = contents(path)
    if inside.problem:
        raise ArtifactError(path, inside.problem)
    if inside.apart:
        return [one for folder, files in inside.apart for one in _sets_of_folder(folder, files).sets]
    own = set(inside.paths)
    sets = [
        source
        for source in _sets_of_folder(path.parent, _beside(path)).sets
        if not own.isdisjoint(source.files.values())
    ]
    if sets:
        return sets
    for kind in (ArtifactKind.GRAPH, ArtifactKind.PROFILE, ArtifactKind.TIMING, *_LOG_KINDS):
        for found in inside.found:
            if found.kind is kind and not any(found.path in one.files.values() for one in sets):
                sets.append(_set_with(found.path, {kind: found.path}, inside.paths))
    if sets:
        return sets
    message = "holds no log and no layer information, and no JSON of its engine lies beside it"
    raise ArtifactError(path, message)


def _beside(path: Path) -> list[Path]:
    """The files of the directory of one that was named, itself included."""
    try:
        return without_strangers(sorted(entry for entry in path.parent.iterdir() if entry.is_file()), path)
    except OSError:
        return [path]


def _set_with(
    path: Path, named: dict[ArtifactKind, Path], siblings: Sequence[Path] | None = None
) -> ArtifactSet:
    """The set that `path` belongs to, with the files in `named` taking precedence over its companions.

    Args:
        siblings: Those that may be its companions, by default the files beside it.
    """
    siblings = _beside(path) if siblings is None else siblings
    for found in _sets_of_folder(path.parent, siblings).sets:
        if path in found.files.values():
            files = found.files | named
            return replace(found, files={kind: files[kind] for kind in ArtifactKind if kind in files})
    if kinds := named.keys() & set(_LOG_KINDS):
        return _set_of_logs(path, named, kinds, siblings)
    if not any(kind.describes_engine for kind in named):
        kind = next(iter(named)).words
        message = (
            f"is a {kind}: no layer-info, profile or timing JSON lies beside it, so there is nothing to open"
        )
        raise ArtifactError(path, message)
    return ArtifactSet(display_name(engine_stem(path)) or path.parent.absolute().name, path.parent, named)


def _set_of_logs(
    path: Path, named: dict[ArtifactKind, Path], kinds: set[ArtifactKind], siblings: Sequence[Path]
) -> ArtifactSet:
    """A log that was named and belongs to no set stands for the engine it tells of, with the other log of its stem."""
    stem = engine_stem(path)
    files = dict(named)
    for sibling in siblings:
        if stem and sibling != path and engine_stem(sibling) == stem:
            kind = sniff(sibling).kind
            if kind in _LOG_KINDS and kind not in kinds:
                files.setdefault(kind, sibling)
    ordered = {kind: files[kind] for kind in ArtifactKind if kind in files}
    return ArtifactSet(display_name(stem) or path.parent.absolute().name, path.parent, ordered)


def _sets_of_folder(directory: Path, files: Sequence[Path]) -> Discovery:
    """Group the files of one directory into sets."""
    folder = _Folder(directory)
    found: list[FoundFile] = []
    apart: list[tuple[Path, list[Path]]] = []
    for path in files:
        if is_archive(path):
            inside = contents(path)
            found += inside.found
            apart += inside.apart
            if inside.problem:
                folder.note(engine_stem(path), Severity.ERROR, path, inside.problem)
            continue
        sniffed = sniff(path)
        if sniffed.kind is not None:
            found.append(FoundFile(path, sniffed.kind, engine_stem(path)))
        elif sniffed.claims:
            folder.note(engine_stem(path), Severity.ERROR, path, sniffed.reason)
    # Canonical names first, so that they win where two files claim one place.
    packed = {one.path for one in found if one.is_packed}
    for file in sorted(found, key=lambda one: (one.is_packed, not is_canonical(one.path), one.path)):
        group = folder.groups.setdefault(file.stem, {})
        if file.is_packed and file.kind in group and group[file.kind] not in packed:
            continue
        if file.kind in group:
            kind = file.kind.words
            message = (
                f"is a second {kind} for {file.stem or 'this directory'!r}; {group[file.kind].name} is used"
            )
            folder.note(file.stem, Severity.ERROR, file.path, message)
        else:
            group[file.kind] = file.path
    own = [_assemble(folder), *(_sets_of_folder(place, inside_it) for place, inside_it in apart)]
    return Discovery(
        tuple(source for each in own for source in each.sets),
        tuple(diagnostic for each in own for diagnostic in each.diagnostics),
    )


def _assemble(folder: _Folder) -> Discovery:
    """Turn groups into sets: a group that describes no engine joins the one set that lacks its files, if there is one."""
    _join_solitary(folder.groups)
    engines = {stem: group for stem, group in folder.groups.items() if stem and _describes(group)}
    if not engines and _describes(folder.groups.get("", {})):
        engines = {"": folder.groups[""]}
    for stem, group in folder.groups.items():
        if stem in engines:
            continue
        for kind, path in group.items():
            if kind is ArtifactKind.ACCURACY:
                for one in engines.values():  # it says itself which it is about
                    one.setdefault(kind, path)
                continue
            # A manifest is of the set whose name it has, and of no other.
            takers = [
                one for one in engines.values() if kind not in one and kind is not ArtifactKind.MANIFEST
            ]
            if len(takers) == 1 and len(engines) == 1:
                takers[0][kind] = path
            else:
                folder.note(stem, *_unplaced(path, kind, engines))
    sets = []
    elsewhere = found_elsewhere(folder.path) if engines else []
    for stem, group in sorted(engines.items()):
        add_elsewhere(folder.path, stem, group, elsewhere, alone=len(engines) == 1)
        files = {kind: group[kind] for kind in ArtifactKind if kind in group}
        notes = tuple(note for noted, note in folder.notes if noted == stem or len(engines) == 1)
        name = display_name(stem) or folder.path.absolute().name
        sets.append(ArtifactSet(name, folder.path, files, notes))
    used = {note for source in sets for note in source.diagnostics}
    return Discovery(tuple(sets), tuple(note for _, note in folder.notes if note not in used))


def _join_solitary(groups: dict[str, dict[ArtifactKind, Path]]) -> None:
    """Put the only graph and the only profile or timing of a directory together where their names say nothing else."""
    engines = {stem: group for stem, group in groups.items() if stem and _describes(group)}
    graphs = [stem for stem, group in engines.items() if ArtifactKind.GRAPH in group]
    kinds = [kind for group in engines.values() for kind in group]
    speaking = [stem for stem, group in engines.items() if any(map(tells_role, group.values()))]
    if len(graphs) != 1 or len(set(kinds)) < len(kinds) or len(speaking) > 1:
        return
    for stem in engines:
        if stem != graphs[0]:
            groups[graphs[0]].update(groups.pop(stem))


def _unplaced(
    path: Path, kind: ArtifactKind, engines: dict[str, dict[ArtifactKind, Path]]
) -> tuple[Severity, Path, str]:
    what = f"is a {kind.value.replace('_', ' ')}"
    if engines:
        return Severity.WARNING, path, f"{what} that fits no set here: no other file shares its stem"
    if kind in _LOG_KINDS:
        return Severity.INFO, path, f"{what} without JSON files beside it; name it to open what it tells"
    return (
        Severity.INFO,
        path,
        f"{what}, which cannot be opened alone: it takes a layer-info, profile or timing JSON",
    )


def _describes(group: dict[ArtifactKind, Path]) -> bool:
    return any(kind.describes_engine for kind in group)


def with_unique_names(sets: list[ArtifactSet]) -> list[ArtifactSet]:
    """Tell equal names apart: in one directory by the files' own stems, else by as many parent directories as it takes.

    Names that this has given before are taken for what they were without their directories.
    """
    folders = [Path(os.path.abspath(source.directory)) for source in sets]  # noqa: PTH100 - without `..`
    own = [one.name.rpartition("/")[2] for one in sets]
    for folder in set(folders):
        _tell_apart([index for index, one in enumerate(folders) if one == folder], own, sets)
    parents = [folder.parts[1:] for folder in folders]  # a root is part of no name
    names = list(own)
    for depth in range(1, max(map(len, parents), default=0) + 1):
        clashing = {name for name, count in Counter(names).items() if count > 1}
        if not clashing:
            break
        names = [
            "/".join([*above[-depth:], mine]) if name in clashing else name
            for name, above, mine in zip(names, parents, own, strict=True)
        ]
    return [replace(one, name=name) for one, name in zip(sets, names, strict=True)]


def _tell_apart(places: Sequence[int], names: list[str], sets: Sequence[ArtifactSet]) -> None:
    """Give the sets of one directory different names: where two are equal their stems, `net` and `net.onnx`, else numbers."""
    for _ in places:  # a stem may be what a third is called
        counts = Counter(names[place] for place in places)
        for place in places:
            if counts[names[place]] > 1:
                names[place] = engine_stem(next(iter(sets[place].files.values()))) or names[place]
    taken: set[str] = {names[place] for place in places}
    seen: set[str] = set()
    for place in places:
        name, number = names[place], 1
        while names[place] in seen or (number > 1 and names[place] in taken):
            number += 1
            names[place] = f"{name}~{number}"
        seen.add(names[place])
