"""TensorRT engine archives (`.tea`), as trex 0.2 writes them with TensorRT 10: ZIP files.

`trex process --archive` puts logs and the metadata of both runs into one beside the JSON files (`X.engine.build.log`,
`X.engine.profile.metadata.json`, …); its Python interface puts the plan (`engine.trt`) into one, with `build.txt`,
`build_cfg.json`, `plan_cfg.json` and `timing.cache`, none of which is read here: `build.txt` lacks trtexec's prefixes. What
can be read is unpacked to a directory that lasts as long as the process; a plan loses all but its head.
"""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
import zipfile
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

MOST_MEMBERS, MOST_BYTES = 256, 1 << 30
"""Beyond that it is no archive of one engine but a trap, or a mistake."""
_HEAD = 4096
_READ = re.compile(r"(?P<text>.*\.(?:json|log|log\.gz))|(?P<plan>.*\.(?:trt|engine|plan))", re.IGNORECASE)
_UNSAFE = re.compile(r"[\\:\0]")
"""On Windows these are more than letters: `c:x` lies in another place than the directory it is put into."""
_ENDING = re.compile(r"(?:\.(?:engine|plan|trt))?\.tea$", re.IGNORECASE)

_unpacked: dict[Path, Path] = {}
"""Where the files of an archive lie -> the archive."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What an archive held.

    Attributes:
        directory: Where the files lie.
        files: Those that may be artifacts.
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


@lru_cache(maxsize=256)
def _unpack(path: Path, _modified: int, _size: int) -> Unpacked:
    directory: Path | None = None
    try:
        with zipfile.ZipFile(path) as archive:
            members = [one for one in archive.infolist() if not one.is_dir()]
            if len(members) > MOST_MEMBERS or sum(map(_bytes_of, members)) > MOST_BYTES:
                return Unpacked(path.parent, (), "holds more than an archive of one engine can")
            directory = Path(tempfile.mkdtemp(prefix="trex-tui-tea-")) / path.name
            directory.mkdir()
            _remember(directory, path)
            files = [_extract(archive, one, directory, path) for one in members if _match(one)]
    except (zipfile.BadZipFile, zlib.error, EOFError):
        return Unpacked(path.parent, (), "is a damaged archive, or none")
    except (
        OSError,
        RuntimeError,
        ValueError,
    ) as error:  # RuntimeError: a password, a method of packing nobody has
        return Unpacked(path.parent, (), f"cannot be unpacked: {error}")
    return Unpacked(directory, tuple(sorted(set(files))))


def _bytes_of(member: zipfile.ZipInfo) -> int:
    found = _match(member)
    return 0 if found is None or found["plan"] else member.file_size


def _match(member: zipfile.ZipInfo) -> re.Match[str] | None:
    return _READ.fullmatch(PurePosixPath(member.filename).name)


def _extract(archive: zipfile.ZipFile, member: zipfile.ZipInfo, directory: Path, path: Path) -> Path:
    """Write one member under the last part of its name alone: what it says about directories is not followed."""
    name = _UNSAFE.sub("_", PurePosixPath(member.filename).name)
    match = _match(member)
    is_plan = match is not None and bool(match["plan"])
    target = directory / (f"{_ENDING.sub('', path.name)}.engine" if is_plan else name)
    with archive.open(member) as source, target.open("wb") as file:
        if is_plan:
            file.write(source.read(_HEAD))
        else:
            shutil.copyfileobj(source, file)
    return target


def archive_of(file: Path) -> Path | None:
    """The archive that a file was unpacked from; None if it was not."""
    return _unpacked.get(file.parent)


def _remember(directory: Path, archive: Path) -> None:
    if not _unpacked:
        atexit.register(forget)
    _unpacked[directory] = archive


def forget() -> None:
    """Remove what was unpacked; for processes that end without running what is due at their exit."""
    _unpack.cache_clear()
    while _unpacked:
        directory, _ = _unpacked.popitem()
        shutil.rmtree(directory.parent, ignore_errors=True)
