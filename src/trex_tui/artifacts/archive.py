"""TensorRT engine archives (`.tea`), as trex 0.2 writes them with TensorRT 10: ZIP files.

`trex process --archive` puts logs and the metadata of both runs into one beside the JSON files (`X.engine.build.log`,
`X.engine.profile.metadata.json`, …); its Python interface puts the plan (`engine.trt`) into one, with `build.txt`,
`build_cfg.json`, `plan_cfg.json` and `timing.cache`, none of which is read here: `build.txt` lacks trtexec's prefixes.
`report/archive_file` writes whole sets, the files of trex-tui itself among them. What can be read is unpacked to a directory
that lasts as long as the process; a plan loses all but its head.
"""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from trex_tui.artifacts.file_kinds import engine_stem
from trex_tui.artifacts.temporary_files import remove_stale, temporary_prefix
from trex_tui.errors import ARCHIVES

MOST_MEMBERS, MOST_BYTES = 256, 1 << 30
"""Larger archives are not of one engine: a mistake or an attack."""
_HEAD = 4096
_ENCRYPTED = 1
"""Flag of a member."""
_READ = re.compile(
    r"(?P<text>.*\.(?:json|log|log\.gz|csv))|(?P<plan>.*\.(?:trt|engine|plan))", re.IGNORECASE | re.DOTALL
)
_UNSAFE = re.compile(r"[\\:\0]")
"""On Windows these are more than letters: `c:x` lies in another place than the directory it is put into."""
_ENDING = re.compile(r"(?:\.(?:engine|plan|trt))?\.tea$", re.IGNORECASE)

_PREFIX = "trex-tui-tea-"
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, LookupError)
"""What `zipfile` raises for archives of others: RuntimeError for a password and, as NotImplementedError, for a version or a
method of packing that it does not know."""
_MOST_FOLDER_NAME, _MOST_DEEP = 60, 8


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What an archive held.

    Attributes:
        directory: Where the files lie that are in no folder; folders lie below it, those of odd names elsewhere.
        files: Those that may be artifacts, by folder.
        problem: Why there are none, as the end of a sentence whose subject is the archive; empty if all went well.
    """

    directory: Path
    files: tuple[Path, ...]
    problem: str = ""


def unpack(path: Path) -> Unpacked:
    """Unpack what may be artifacts, once per process and state of the file. Never raises."""
    try:
        status = path.stat()
    except OSError as error:
        return Unpacked(path.parent, (), f"cannot be read: {error.strerror or error}")
    return _unpack(path.absolute(), status.st_mtime_ns, status.st_size)


def is_read(name: str) -> bool:
    """Whether a member called so is unpacked under that very name."""
    return _READ.fullmatch(name) is not None and not _UNSAFE.search(name)


def names_in(path: Path) -> list[str]:
    """The last parts of the names of what would be unpacked; none for what is no archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [PurePosixPath(member.filename).name for member in archive.infolist() if _match(member)]
    except _BROKEN:
        return []


@lru_cache(maxsize=256)
def _unpack(path: Path, _modified: int, _size: int) -> Unpacked:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if any(member.flag_bits & _ENCRYPTED for member in members if _match(member)):
                return Unpacked(path.parent, (), "is encrypted; unpack it, and name the directory")
            if len(members) > MOST_MEMBERS or sum(map(_read_member, members)) > MOST_BYTES:
                return Unpacked(path.parent, (), "exceeds the limits of an archive of one engine")
            remove_stale(Path(tempfile.gettempdir()), _PREFIX, "")
            root = _remembered(Path(tempfile.mkdtemp(prefix=temporary_prefix(_PREFIX))), path)
            folders = {"": root / _numbered(0) / path.name}
            folders[""].mkdir(parents=True)
            own = _speaking_plans(members)
            files = [
                _extract(
                    archive, member, _directory(member, folders), None if member.filename in own else path
                )
                for member in members
                if _match(member)
            ]
    except (zipfile.BadZipFile, zlib.error, EOFError):
        return Unpacked(path.parent, (), "is not a valid archive")
    except _BROKEN as error:
        return Unpacked(path.parent, (), f"cannot be unpacked: {error}")
    return Unpacked(folders[""], tuple(sorted(set(files), key=lambda path: (path.parent.parts, path.name))))


def _read_member(member: zipfile.ZipInfo) -> int:
    match = _match(member)
    return 0 if match is None or match["plan"] else member.file_size


def _match(member: zipfile.ZipInfo) -> re.Match[str] | None:
    return _READ.fullmatch(PurePosixPath(member.filename).name)


def _directory(member: zipfile.ZipInfo, folders: dict[str, Path]) -> Path:
    """Where the files of a member's folder lie: as in the archive, for what lies above a set may be of it. A folder that
    cannot be called so, or that looks like another or like a file, lies in a numbered place, in one directory.

    Args:
        folders: Those there are, by what members say; the new one is added.
    """
    parts = [part for part in PurePosixPath(member.filename).parent.parts if part not in ("/", "//", "..")]
    folder = "/".join(parts)
    if folder not in folders:
        top = folders[""]
        safe = [_UNSAFE.sub("_", part) for part in parts]
        target = top.joinpath(*safe)
        taken = {str(path).casefold() for path in folders.values()}
        is_plain = len(safe) <= _MOST_DEEP and all(
            len(part) <= _MOST_FOLDER_NAME and not _READ.fullmatch(part) for part in safe
        )
        if not is_plain or str(target).casefold() in taken:
            numbered = top.parent.parent / _numbered(len(folders))
            target = numbered / top.name / "_".join(safe)[:_MOST_FOLDER_NAME]
        target.mkdir(parents=True, exist_ok=True)
        folders[folder] = target
    return folders[folder]


def _numbered(number: int) -> str:
    return f"{number:03}"


def _speaking_plans(members: list[zipfile.ZipInfo]) -> set[str]:
    """The plans whose names tell of which engine they are: of several in one folder, or called as files beside them are.

    Any other is of the archive's engine: trex calls each `engine.trt`.
    """
    names = [PurePosixPath(member.filename) for member in members if _match(member)]
    plans = {name for name in names if (match := _READ.fullmatch(name.name)) and match["plan"]}
    in_folder = Counter(name.parent for name in plans)
    called = {(name.parent, engine_stem(Path(name.name))) for name in names if name not in plans}
    speaking = {
        name
        for name in plans
        if in_folder[name.parent] > 1 or (name.parent, engine_stem(Path(name.name))) in called
    }
    return {member.filename for member in members if PurePosixPath(member.filename) in speaking}


def _extract(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, directory: Path, named_as: Path | None
) -> Path:
    """Write one member under the last part of its name alone: what it says about directories is not followed here.

    Args:
        named_as: The archive that a plan is called after; None if it has a name of its own.
    """
    name = _UNSAFE.sub("_", PurePosixPath(member.filename).name)
    match = _match(member)
    is_plan = match is not None and bool(match["plan"])
    if is_plan and named_as is not None:
        name = f"{_ENDING.sub('', named_as.name)}.engine"
    target = directory / name
    with archive.open(member) as source, target.open("wb") as file:
        if is_plan:
            file.write(source.read(_HEAD))
        else:
            shutil.copyfileobj(source, file)
    return target


def find_archive(file: Path) -> Path | None:
    """The archive that a file was unpacked from; None if it was not."""
    return next((archive for root, archive in ARCHIVES.items() if root in file.parents), None)


def head_only(archive: Path) -> str:
    """Why a plan out of an archive cannot be copied, after its name."""
    return f"only its header was unpacked from {archive.name}; unpack the archive with unzip"


def _remembered(directory: Path, archive: Path) -> Path:
    """A directory that is removed at the end, from the moment it is there."""
    ARCHIVES[directory] = archive
    if len(ARCHIVES) == 1:
        atexit.register(forget)
    return directory


def forget() -> None:
    """Remove what was unpacked; for processes that end without running what is due at their exit."""
    _unpack.cache_clear()
    while ARCHIVES:
        directory, _ = ARCHIVES.popitem()
        shutil.rmtree(directory, ignore_errors=True)
