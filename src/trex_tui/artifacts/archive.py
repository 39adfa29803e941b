"""TensorRT engine archives (`.tea`), as trex 0.2 writes them with TensorRT 10: ZIP files.

`trex process --archive` adds logs and the metadata of both runs to the JSON files (`X.engine.build.log`,
`X.engine.profile.metadata.json`, …); its Python interface adds the plan (`engine.trt`), with `build.txt`, `build_cfg.json`,
`plan_cfg.json` and `timing.cache`, none of which is read here: `build.txt` lacks trtexec's prefixes. `report/archive_file`
writes whole sets, including the files of trex-tui. Readable members are unpacked to a directory that exists as long as the
process; plans are reduced to their head.
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

from trex_tui.artifacts.kinds import engine_stem
from trex_tui.artifacts.open import open_bytes
from trex_tui.artifacts.temporary import remove_stale, temporary_prefix
from trex_tui.errors import ARCHIVES, describe_os_error

MOST_MEMBERS, MOST_BYTES = 256, 1 << 30
"""Larger archives do not belong to one engine: a mistake or an attack."""
_HEAD = 4096
_ENCRYPTED = 1
"""Flag of a member."""
_READ = re.compile(
    r"(?P<text>.*\.(?:json|log|log\.gz|csv))|(?P<plan>.*\.(?:trt|engine|plan))", re.IGNORECASE | re.DOTALL
)
_UNSAFE = re.compile(r"[\\:\0]")
"""Special in Windows paths: `c:x` is outside of the target directory."""
_ENDING = re.compile(r"(?:\.(?:engine|plan|trt))?\.tea$", re.IGNORECASE)

_PREFIX = "trex-tui-tea-"
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, LookupError)
"""Exceptions of `zipfile` for damaged and foreign archives. RuntimeError: the archive needs a password, or (its subclass
NotImplementedError) has an unknown version or compression method."""
_MOST_FOLDER_NAME, _MOST_DEEP = 60, 8


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Content of an archive.

    Attributes:
        directory: Directory of the files that are in no folder; folders are below it, those with unusual names elsewhere.
        files: Possible artifacts, by folder.
        problem: Why there are none, as the end of a sentence whose subject is the archive; empty without problems.
    """

    directory: Path
    files: tuple[Path, ...]
    problem: str = ""


def unpack(path: Path) -> Unpacked:
    """Unpack possible artifacts, once per process and state of the file. Never raises."""
    try:
        status = path.stat()
    except OSError as error:
        return Unpacked(path.parent, (), describe_os_error(error))
    return _unpack(path.absolute(), status.st_mtime_ns, status.st_size)


def is_read(name: str) -> bool:
    """Return whether a member with this name is unpacked under exactly this name."""
    return _READ.fullmatch(name) is not None and not _UNSAFE.search(name)


def names_in(path: Path) -> list[str]:
    """Return the file names of the members that would be unpacked; empty if the file is not an archive."""
    try:
        with open_bytes(path) as file, zipfile.ZipFile(file) as archive:
            return [PurePosixPath(member.filename).name for member in archive.infolist() if _match(member)]
    except _BROKEN:
        return []


@lru_cache(maxsize=256)
def _unpack(path: Path, _modified: int, _size: int) -> Unpacked:
    try:
        with open_bytes(path) as file, zipfile.ZipFile(file) as archive:
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
    """Return the directory for the files of a member's folder.

    It has the same path as in the archive, since files above a set may belong to it. Folders with invalid names, or names
    that collide, get a numbered directory.

    Args:
        folders: Existing folders, by their names in members; the new one is added.
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
    """Return the plans whose names identify their engine: several in one folder, or plans named like files beside them.

    All others belong to the archive's engine: trex names each `engine.trt`.
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
    """Write one member under its file name only: directories in its path are ignored.

    Args:
        named_as: The archive that names a plan; None if the plan has a name of its own.
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
    """Return the archive that a file was unpacked from; None for other files."""
    return next((archive for root, archive in ARCHIVES.items() if root in file.parents), None)


def head_only(archive: Path) -> str:
    """Return why a plan from an archive cannot be copied, as text after its name."""
    return f"only its header was unpacked from {archive.name}; unpack the archive with unzip"


def _remembered(directory: Path, archive: Path) -> Path:
    """Create a directory and register it for removal at exit."""
    ARCHIVES[directory] = archive
    if len(ARCHIVES) == 1:
        atexit.register(forget)
    return directory


def forget() -> None:
    """Remove unpacked files; for processes that end without running exit handlers."""
    _unpack.cache_clear()
    while ARCHIVES:
        directory, _ = ARCHIVES.popitem()
        shutil.rmtree(directory, ignore_errors=True)
