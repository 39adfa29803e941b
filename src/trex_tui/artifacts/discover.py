"""Find artifact sets in directories, among files and in archives.

The content of a file determines its kind, its name only the engine that it belongs to. Some files of a set are in other
directories, by conventions of toolkits and of trex-tui's own commands.
"""

from __future__ import annotations

import errno
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from trex_tui.artifacts.archive import unpack
from trex_tui.artifacts.kinds import LOG_KINDS, FileKind, describe_unopened, find_logged_engine, recognize
from trex_tui.artifacts.open import OUTSIDE, is_allowed
from trex_tui.artifacts.plan import describe_plan, read_plan_head
from trex_tui.artifacts.stems import (
    OUTPUT_DIFF,
    SILENT_NAMES,
    display_name,
    engine_stem,
    is_archive,
    is_canonical,
    is_document,
    is_source,
    states_kind,
)
from trex_tui.errors import ArtifactError, Note, Severity, describe_file, describe_os_error
from trex_tui.text import join_words, natural_key, plural

MAX_FILES = 50_000
"""Maximum number of files examined below one path. Limits a start in a home directory."""
FAILED_ENDING = ".failed"
"""Suffix of directories of failed captures, whose logs have no engine."""
COMPARISON_ENDING = ".accuracy"
"""Suffix of directories with thousands of samples and one result."""
_SKIPPED_DIRECTORIES = frozenset(("__pycache__", "node_modules", "site-packages"))
_LAYER_TIMES_FOLDER = "trt_profiling"
"""Directory of layer times, by a convention of toolkits: the log of the power sensor and the timing run are in its parent."""
_ELSEWHERE_KINDS = (FileKind.BUILD_LOG, FileKind.PROFILE_LOG, FileKind.PLAN)
_MOST_NAMED = 6

Group = dict[FileKind, Path]


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
    files: Group
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        return f"<ArtifactSet {self.name!r}: {', '.join(kind.value for kind in self.files)}>"


class Discovery(NamedTuple):
    """Result of a search: the sets, and the notes that belong to none of them."""

    sets: tuple[ArtifactSet, ...]
    notes: tuple[Note, ...] = ()


@dataclass(slots=True)
class _Found:
    """What a search has found so far.

    Attributes:
        foreign: JSON files of other programs.
        models: ONNX models and plans, for a remedy if there is nothing else.
    """

    sets: list[ArtifactSet] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    foreign: list[Path] = field(default_factory=list)
    models: list[Path] = field(default_factory=list)


def find_one(path: str | Path) -> ArtifactSet:
    """Return the only set at a directory or a file.

    Raises:
        ArtifactError: As `find_sets`, or there are several.
    """
    sets = find_sets(path).sets
    if len(sets) > 1:
        names = ", ".join(describe_file(next(iter(source.files.values()))) for source in sets[:_MOST_NAMED])
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
    given = [path for path in paths if _is_given_file(path)]
    found = _Found()
    for directory in paths:
        if directory not in given:
            _search(directory, most_files, found)
    found.sets += _find_sets_of_files(given)
    sets = _drop_parts({tuple(source.files.values()): source for source in found.sets}.values())
    used = {path.absolute() for source in sets for path in source.files.values()}
    notes = [
        note
        for note in found.notes
        if note.severity is not Severity.INFO or note.file is None or note.file.absolute() not in used
    ]
    if not sets:
        raise _explain_nothing(paths, found)
    return Discovery(tuple(name_sets(sets)), tuple(notes))


def _is_given_file(path: Path) -> bool:
    """Return whether a path is a file, not a directory.

    Raises:
        ArtifactError: It is neither; reading a FIFO would hang.
    """
    try:
        if path.is_dir():
            return False
        path.stat()
    except OSError as error:
        is_missing = error.errno == errno.ENOENT and not path.is_symlink()
        reason = "does not exist; check the path" if is_missing else describe_unopened(path, error)
        raise ArtifactError(path, reason) from error
    except ValueError as error:  # a NUL in the path
        raise ArtifactError(Path(repr(str(path))), "is not a valid path; check the path") from error
    if not path.is_file():
        raise ArtifactError(path, "is neither a file nor a directory; name a regular file")
    return True


def _drop_parts(sets: Iterable[ArtifactSet]) -> list[ArtifactSet]:
    """Return the sets without those whose files all belong to a larger one, in another directory."""
    files = [(source, {path.absolute() for path in source.files.values()}) for source in sets]
    uses = Counter(path for _, own in files for path in own)
    shared = [own for _, own in files if any(uses[path] > 1 for path in own)]
    return [source for source, own in files if not any(own < others for others in shared)]


def _explain_nothing(paths: Sequence[Path], found: _Found) -> ArtifactError:
    """Return the error for paths without a set: the only damaged file, or what to do with the files that are there."""
    where = paths[0] if len(paths) == 1 else Path(os.path.commonpath([path.absolute() for path in paths]))
    problems = [note for note in found.notes if note.severity is not Severity.INFO]
    if len(problems) == 1 and problems[0].file:
        return ArtifactError(problems[0].file, problems[0].message, problems[0].where, tuple(found.notes))
    message = "no layer information, times or log of trtexec here or below; "
    engines = [path for path in found.models if path.suffix.lower() != ".onnx"]
    if found.models:
        option, model = ("--engine", engines[0]) if engines else ("--onnx", found.models[0])
        message += f"profile {model.name} on its GPU: trex-tui capture {option} {shlex.quote(str(model))}"
    else:
        message += "look at samples with `trex-tui demo`, or measure a model: trex-tui capture --onnx MODEL"
    if problems:
        message += f" ({plural(len(problems), 'unusable file')}; the first: {problems[0]})"
    elif found.foreign:
        message += f" ({plural(len(found.foreign), 'other JSON file')})"
    return ArtifactError(where, message, notes=tuple(found.notes))


# Directories


def _search(root: Path, most_files: int, found: _Found) -> None:
    """Search a directory recursively. Links to directories are followed, each directory once."""
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
                entries = sorted(listing, key=lambda entry: natural_key(entry.name))
        except OSError as error:
            reason = describe_os_error(error, "cannot be listed")
            found.notes.append(Note(Severity.ERROR, directory, "", reason))
            continue
        files = [Path(entry.path) for entry in entries if _is_looked_at(entry)]
        looked_at += len(files)
        if looked_at > most_files:
            message = f"more than {most_files} files: the rest was not searched; pass narrower paths"
            found.notes.append(Note(Severity.WARNING, root, "", message))
            break
        _find_in_folder(directory, sorted(files), found)
        pending += [Path(entry.path) for entry in reversed(entries) if _is_searched(entry)]
    if found.foreign:
        names = [path.name for path in found.foreign[:_MOST_NAMED]]
        more = [f"{len(found.foreign) - _MOST_NAMED} more"] if len(found.foreign) > _MOST_NAMED else []
        what = plural(len(found.foreign), "other JSON file")
        found.notes.append(Note(Severity.INFO, root, "", f"{what}: {join_words([*names, *more])}"))


def _is_looked_at(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry may be an artifact: no directory, unless it has the name of a file."""
    try:
        is_directory = entry.is_dir()
    except OSError:
        is_directory = False
    path = Path(entry.name)
    return not is_source(path) and (not is_directory or is_canonical(path))


def _is_searched(entry: os.DirEntry[str]) -> bool:
    try:
        is_skipped = entry.name.startswith(".") or entry.name.endswith(COMPARISON_ENDING)
        return entry.is_dir() and not is_skipped and entry.name not in _SKIPPED_DIRECTORIES
    except OSError:
        return False


@dataclass(slots=True)
class _Folder:
    """One directory while its files are grouped into sets.

    Attributes:
        files: The artifacts, with their kinds.
        documents: Documents that quote a log, with the kind of that.
        packed: Files from an archive: files beside the archive take precedence.
        groups: Stem -> files.
        notes: Notes with the stem they belong to.
    """

    path: Path
    files: list[tuple[FileKind, Path]] = field(default_factory=list)
    documents: list[tuple[FileKind, Path]] = field(default_factory=list)
    packed: set[Path] = field(default_factory=set)
    groups: dict[str, Group] = field(default_factory=dict)
    notes: list[tuple[str, Note]] = field(default_factory=list)

    def note(self, severity: Severity, file: Path, message: str) -> None:
        self.notes.append((engine_stem(file), Note(severity, file, "", message)))


def _find_in_folder(directory: Path, files: Sequence[Path], found: _Found) -> None:
    """Make sets of the files of one directory."""
    folder = _Folder(directory)
    for path in filter(is_archive, files):
        unpacked = unpack(path)
        if unpacked.problem:
            folder.note(Severity.ERROR, path, unpacked.problem)
        folder.packed |= set(unpacked.files)
    for path in (*files, *sorted(folder.packed)):
        if not is_archive(path):
            _recognize(path, folder, found)
    _group_files(folder)
    _assemble(folder, found)


def _recognize(path: Path, folder: _Folder, found: _Found) -> None:
    kind, reason, is_damaged, is_foreign = recognize(path)
    if kind is not None:
        (folder.documents if is_document(path) else folder.files).append((kind, path))
    elif is_damaged:
        # Nothing else depends on the model.
        folder.note(Severity.WARNING if path.suffix.lower() == ".onnx" else Severity.ERROR, path, reason)
    elif is_foreign:
        found.foreign.append(path)
    if kind is FileKind.PLAN or (kind is None and path.suffix.lower() == ".onnx" and not is_damaged):
        found.models.append(path)


def _group_files(folder: _Folder) -> None:
    """Group the files by the engine in their names."""
    packed = folder.packed
    # Canonical names come first, so that they win if two files have the same kind.
    for kind, path in sorted(
        folder.files, key=lambda file: (file[1] in packed, not is_canonical(file[1]), file[1])
    ):
        group = folder.groups.setdefault(engine_stem(path), {})
        if kind not in group:
            group[kind] = path
        elif path not in packed or group[kind] in packed:
            of = f"for {engine_stem(path) or 'this directory'!r}"
            severity = Severity.INFO if kind.is_companion else Severity.ERROR
            folder.note(severity, path, f"is a second {kind.words} {of}; using {group[kind].name}")


def _assemble(folder: _Folder, found: _Found) -> None:
    """Make sets of the groups: a group that describes no engine joins the set that lacks its files, if there is just one."""
    _join_solitary(folder.groups)
    engines = {stem: group for stem, group in folder.groups.items() if stem and _describes(group)}
    if not engines and _describes(folder.groups.get("", {})):
        engines = {"": folder.groups[""]}
    if not engines and not folder.path.name.endswith(FAILED_ENDING):
        _join_logs(folder.groups)
        engines = {stem: group for stem, group in folder.groups.items() if _list_logs(group)}
    for kind, path in folder.documents:
        if engines:
            folder.note(
                Severity.INFO, path, f"is a document that quotes a {kind.words}; name it to open that"
            )
        else:
            found.sets.append(_make_document_set(kind, path))
    for stem, group in folder.groups.items():
        if stem not in engines:
            _place_files(folder, group, engines)
    elsewhere = _find_elsewhere(folder.path) if engines else []
    for stem, group in sorted(engines.items(), key=lambda item: natural_key(item[0])):
        _add_elsewhere(folder.path, stem, group, elsewhere, alone=len(engines) == 1)
        notes = tuple(note for noted, note in folder.notes if noted == stem or len(engines) == 1)
        found.sets.append(_make_set(folder.path, group, notes))
    if len(engines) != 1:
        found.notes += [note for stem, note in folder.notes if stem not in engines]


def _make_set(directory: Path, files: Group, notes: tuple[Note, ...] = ()) -> ArtifactSet:
    source = ArtifactSet("", directory, {kind: files[kind] for kind in FileKind if kind in files}, notes)
    return replace(source, name=_own_name(source))


def _make_document_set(kind: FileKind, path: Path) -> ArtifactSet:
    note = Note(Severity.INFO, path, "", f"is a document: the {kind.words} that it quotes is read")
    return _make_set(path.parent, {kind: path}, (note,))


def _place_files(folder: _Folder, group: Group, engines: dict[str, Group]) -> None:
    """Give the files of a group that describes no engine to the only set, or note that they match none."""
    for kind, path in group.items():
        if kind is FileKind.ACCURACY and engines:
            for files in engines.values():  # the file names its engine
                files.setdefault(kind, path)
            continue
        # A manifest belongs only to the set with its name.
        only = next(iter(engines.values())) if len(engines) == 1 and kind is not FileKind.MANIFEST else None
        what = f"is a {kind.words}"
        if only is not None and kind not in only:
            only[kind] = path
        elif engines and kind.is_companion:
            ending = "that matches no set here; rename it like a set: NAME.monitor.csv"
            folder.note(Severity.INFO, path, f"{what} {ending}")
        elif engines:
            message = f"{what} that matches no set here: no other file has its stem"
            folder.note(Severity.WARNING, path, message)
        else:
            needs = "layer information, a profile, timing JSON or a log"
            folder.note(Severity.INFO, path, f"{what}, which cannot be opened alone; needs {needs}")


def _join_solitary(groups: dict[str, Group]) -> None:
    """Join the only graph and the only profile or timing of a directory if their names do not identify an engine."""
    engines = {stem: group for stem, group in groups.items() if stem and _describes(group)}
    graphs = [stem for stem, group in engines.items() if FileKind.GRAPH in group]
    kinds = [kind for group in engines.values() for kind in group]
    speaking = [stem for stem, group in engines.items() if any(map(states_kind, group.values()))]
    if len(graphs) != 1 or len(set(kinds)) < len(kinds) or len(speaking) > 1:
        return
    for stem in engines:
        if stem != graphs[0]:
            groups[graphs[0]].update(groups.pop(stem))


def _join_logs(groups: dict[str, Group]) -> None:
    """Join the log of a run with that of the build of the engine that it loads, where the directory has one of each."""
    engines: dict[tuple[str, str], dict[FileKind, list[str]]] = {}
    for stem, group in groups.items():
        logs = _list_logs(group)
        if len(logs) == 1 and (engine := find_logged_engine(group[logs[0]])):
            engines.setdefault(engine, {}).setdefault(logs[0], []).append(stem)
    for stems in engines.values():
        builds, runs = (stems.get(kind, []) for kind in LOG_KINDS)
        if len(builds) == len(runs) == 1:
            kept, other = (*builds, *runs) if builds[0] else (*runs, *builds)
            groups[kept].update(groups.pop(other))


def _list_logs(group: Group) -> list[FileKind]:
    return [kind for kind in LOG_KINDS if kind in group]


def _describes(group: Group) -> bool:
    return any(kind.describes_engine for kind in group)


# Files of a set in other directories


def _list_files(directory: Path) -> list[Path]:
    try:
        return sorted(
            (path for path in directory.iterdir() if path.is_file()), key=lambda path: natural_key(path.name)
        )
    except OSError:
        return []


def _find_elsewhere(directory: Path) -> list[tuple[FileKind, Path]]:
    """Return logs and engines in `models/<model>/` for sets in `results/<model>/`, a convention of toolkits."""
    here = directory.absolute()
    if here.parent.name == "results":
        elsewhere = here.parent.parent / "models" / here.name
    elif here.name == "results":
        elsewhere = here.parent / "models"
    else:
        return []
    files = ((recognize(path).kind, path) for path in _list_files(elsewhere))
    return [(kind, path) for kind, path in files if kind in _ELSEWHERE_KINDS and kind is not None]


def _add_elsewhere(
    directory: Path, stem: str, group: Group, elsewhere: Sequence[tuple[FileKind, Path]], *, alone: bool
) -> None:
    """Add files of one set that are in other directories.

    Args:
        elsewhere: Result of `_find_elsewhere`.
        alone: Whether it is the only set of its directory.
    """
    here = directory.absolute()
    for kind in _ELSEWHERE_KINDS:
        candidates = [path for of_kind, path in elsewhere if of_kind is kind]
        matching = [path for path in candidates if engine_stem(path) == stem]
        chosen = matching or (candidates if alone and here.name != "results" else [])
        if len(chosen) == 1:
            group.setdefault(kind, chosen[0])
    comparison = directory / f"{stem}{COMPARISON_ENDING}" / OUTPUT_DIFF
    if stem and recognize(comparison).kind is FileKind.ACCURACY:
        group.setdefault(FileKind.ACCURACY, comparison)
    if alone and here.name == _LAYER_TIMES_FOLDER:
        _add_measurements_above(here, group)
    # Further measurements of a capture are in `<name>.repeat-2/` and so on.
    name, mark, number = here.name.rpartition(".repeat-")
    manifest = here.parent / f"{name}.capture.json"
    is_repeated = mark and number.isdecimal() and engine_stem(manifest) == stem
    if is_repeated and recognize(manifest).kind is FileKind.MANIFEST:
        group.setdefault(FileKind.MANIFEST, manifest)


def _add_measurements_above(here: Path, group: Group) -> None:
    """Add what a benchmark leaves above the layer times in `trt_profiling/`: power, idle power, times of queries."""
    kinds = {path: recognize(path).kind for path in _list_files(here.parent)}
    timings = [path for path, kind in kinds.items() if kind is FileKind.TIMING]
    powers = [path for path, kind in kinds.items() if kind is FileKind.MONITOR]
    idle = [path for path, kind in kinds.items() if kind is FileKind.IDLE_POWER]
    idle = idle or [
        path for path in _list_files(here.parent.parent) if recognize(path).kind is FileKind.IDLE_POWER
    ]
    if timings:
        group.setdefault(FileKind.TIMING, timings[-1])  # the last run wrote the layer times
    for kind, found in ((FileKind.MONITOR, powers), (FileKind.IDLE_POWER, idle)):
        if len(found) == 1:
            group.setdefault(kind, found[0])


# Files that are named


def _find_sets_of_files(given: Sequence[Path]) -> list[ArtifactSet]:
    """Return the sets of files that the user named.

    Raises:
        ArtifactError: One is no artifact, or cannot be opened as an engine.
    """
    archives = [path for path in given if is_archive(path)]
    sets = [source for path in archives for source in _find_sets_of_archive(path)]
    named = [path for path in given if path not in archives]
    kinds: dict[Path, FileKind] = {}
    for path in named:
        found = recognize(path)
        if found.kind is None:
            raise ArtifactError(path, found.reason)
        kinds[path] = found.kind
    if len(named) > 1 and len(set(kinds.values())) == len(named) and FileKind.GRAPH in kinds.values():
        # One graph and at most one file of each other kind, given together: they are one set.
        graph = next(path for path in named if kinds[path] is FileKind.GRAPH)
        return [*sets, _find_set_of_file(graph, {kind: path for path, kind in kinds.items()})]
    return [*sets, *(_find_set_of_file(path, {kinds[path]: path}) for path in named)]


def _find_sets_of_archive(path: Path) -> list[ArtifactSet]:
    """Return the sets of an archive, with the files beside it that belong to them."""
    unpacked = unpack(path)
    if unpacked.problem:
        raise ArtifactError(path, unpacked.problem)
    found = _Found()
    beside = [file for file in _list_files(path.parent) if not is_archive(file)]
    _find_in_folder(path.parent, [path, *beside], found)
    inside = set(unpacked.files)
    if sets := [source for source in found.sets if not inside.isdisjoint(source.files.values())]:
        return sets
    raise ArtifactError(
        path,
        "has no log and no layer information, and no JSON of its engine is next to it; copy that JSON here",
    )


def _find_set_of_file(path: Path, named: Group) -> ArtifactSet:
    """Return the set of a file, with the files in `named` taking precedence over its companions."""
    if is_document(path):
        return _make_document_set(next(iter(named)), path)
    found = _Found()
    beside = _list_files(path.parent)
    stem = engine_stem(path)
    beside = [file for file in beside if not is_archive(file) or engine_stem(file) == stem]
    _find_in_folder(path.parent, beside, found)
    for source in found.sets:
        if path in source.files.values():
            own = {"", *(engine_stem(file) for file in source.files.values())}
            notes = [note for note in source.notes if note.file is None or engine_stem(note.file) in own]
            return _make_set(source.directory, source.files | named, tuple(notes))
    if any(kind.describes_engine or kind in LOG_KINDS for kind in named):
        return _make_set(path.parent, named)
    kind = next(iter(named))
    if kind is FileKind.PLAN:
        head = read_plan_head(path)
        what = describe_plan(head) if head else "a plan"
        command = f"trex-tui capture --engine {shlex.quote(str(path))}"
        raise ArtifactError(
            path, f"is {what}, without layers or times beside it; profile it on its GPU: {command}"
        )
    needs = "no layer information, profile or timing JSON next to it"
    raise ArtifactError(path, f"is a {kind.words}: {needs}; name the directory of its set")


# Names


def name_sets(sets: Sequence[ArtifactSet]) -> list[ArtifactSet]:
    """Return the sets with names that differ: each gets the directories that tell it from sets of the same name.

    >>> files = {FileKind.GRAPH: Path("trt_engine_info.json")}
    >>> places = ("torch_trt/results/alexnet/trt_profiling", "onnx/results/alexnet/trt_profiling")
    >>> [source.name for source in name_sets([ArtifactSet("", Path("/", place), files) for place in places])]
    ['torch_trt/alexnet', 'onnx/alexnet']
    """
    names = [_own_name(source) for source in sets]
    for (_, name), count in Counter(zip((source.directory for source in sets), names, strict=True)).items():
        if count > 1:  # in one directory: `net` and `net.onnx`
            stems = [_own_stem(source) for source in sets]
            names = [stem if own == name and stem else own for own, stem in zip(names, stems, strict=True)]
    above = [_telling_directories(source) for source in sets]
    above = [parts[1:] if parts[:1] == [name] else parts for parts, name in zip(above, names, strict=True)]
    for depth in range(max(map(len, above), default=0)):
        at_depth = [parts[depth] if depth < len(parts) else "" for parts in above]
        counts = Counter(names)
        choices: dict[str, set[str]] = {}
        for name, part in zip(names, at_depth, strict=True):
            choices.setdefault(name, set()).add(part)
        names = [
            f"{part}/{name}" if part and counts[name] > 1 and len(choices[name]) > 1 else name
            for name, part in zip(names, at_depth, strict=True)
        ]
    return [replace(source, name=name) for source, name in zip(sets, _number(names), strict=True)]


def _number(names: Sequence[str]) -> Iterator[str]:
    """Yield the names, equal ones with a number behind all but the first."""
    counts: Counter[str] = Counter()
    for name in names:
        counts[name] += 1
        yield name if counts[name] == 1 else f"{name}~{counts[name]}"


def _own_name(source: ArtifactSet) -> str:
    """Return the name of a set by its files, or by the nearest directory that identifies an engine."""
    stem = display_name(_own_stem(source))
    if stem and stem.lower() not in SILENT_NAMES:
        return stem
    return next(iter(_telling_directories(source)), "") or stem or source.directory.absolute().name


def _own_stem(source: ArtifactSet) -> str:
    here = source.directory.absolute()
    own = (
        path
        for kind, path in source.files.items()
        if not kind.is_companion and path.absolute().parent == here
    )
    return next((stem for path in own if (stem := engine_stem(path))), "")


def _telling_directories(source: ArtifactSet) -> list[str]:
    """Return the names of the directories above a set that may identify it, the nearest first; without the root."""
    directory = Path(os.path.abspath(describe_file(source.directory / "_"))).parent  # noqa: PTH100 - without `..`
    return [part for part in reversed(directory.parts[1:]) if part.lower() not in SILENT_NAMES]
