"""Unpack TensorRT engine archives (`.tea`), as trex 0.2 writes them with TensorRT 10: ZIP files.

`trex process --archive` adds logs and the metadata of both runs to the JSON files (`X.engine.build.log`, …); its Python
interface adds the plan as `engine.trt`. Readable members are unpacked to a directory that exists as long as the process;
plans are reduced to their head.
"""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
import zipfile
import zlib
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from trex_tui.artifacts.open import open_bytes
from trex_tui.artifacts.write import remove_stale
from trex_tui.errors import ARCHIVES, describe_os_error

MOST_MEMBERS, MOST_BYTES = 256, 1 << 30
"""Larger archives do not belong to one engine: a mistake or an attack."""
_HEAD_BYTES = 4096
_READ = re.compile(r".*\.(?:json|log|log\.gz|csv|(?P<plan>trt|engine|plan))", re.IGNORECASE | re.DOTALL)
_UNSAFE = re.compile(r"[\\:\0]")
"""Special in Windows paths: `c:x` is outside of the target directory."""
_ENDING = re.compile(r"(?:\.(?:engine|plan|trt))?\.tea$", re.IGNORECASE)
_PREFIX = "trex-tui-tea-"
_MOST_NAME, _MOST_DEEP = 200, 8
_TREX_PLAN = "engine.trt"
"""The name that trex gives to every plan."""


class Unpacked(NamedTuple):
    """Content of an archive.

    Attributes:
        files: Possible artifacts, of one engine: trex packs no others.
        problem: Why there are none, as the end of a sentence whose subject is the archive; empty without problems.
    """

    files: tuple[Path, ...]
    problem: str = ""


def unpack(path: Path) -> Unpacked:
    """Unpack possible artifacts, once per process and state of the file. Never raises."""
    try:
        status = path.stat()
    except OSError as error:
        return Unpacked((), describe_os_error(error))
    return _unpack(path.absolute(), status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=256)
def _unpack(path: Path, _modified: int, _size: int) -> Unpacked:
    try:
        with open_bytes(path) as file, zipfile.ZipFile(file) as archive:
            members = [member for member in archive.infolist() if _match(member)]
            sizes = (_HEAD_BYTES if _is_plan(member) else member.file_size for member in members)
            if len(archive.infolist()) > MOST_MEMBERS or sum(sizes) > MOST_BYTES:
                return Unpacked((), "exceeds the limits of an archive of one engine")
            root = _make_directory(path)
            files = [_extract(archive, member, root, path) for member in members]
    # RuntimeError: a password, a later version, another compression.
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        RuntimeError,
        OSError,
        ValueError,
        LookupError,
    ) as error:
        return Unpacked((), f"cannot be unpacked ({error}); unpack it, and name the directory")
    return Unpacked(tuple(sorted(set(files))))


def _match(member: zipfile.ZipInfo) -> re.Match[str] | None:
    return None if member.is_dir() else _READ.fullmatch(PurePosixPath(member.filename).name)


def _is_plan(member: zipfile.ZipInfo) -> bool:
    match = _match(member)
    return match is not None and match["plan"] is not None


def _extract(archive: zipfile.ZipFile, member: zipfile.ZipInfo, root: Path, path: Path) -> Path:
    """Write one member below the root, whatever its path is. The first of equal names stays."""
    parts = [part for part in PurePosixPath(member.filename).parts if part not in ("/", "//", "..")]
    if parts[-1] == _TREX_PLAN:
        parts[-1] = f"{_ENDING.sub('', path.name)}.engine"
    safe = [_UNSAFE.sub("_", part)[-_MOST_NAME:] for part in parts]
    target = root.joinpath(*safe[-_MOST_DEEP:])
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        with archive.open(member) as source, target.open("xb") as file:
            if _is_plan(member):
                file.write(source.read(_HEAD_BYTES))
            else:
                shutil.copyfileobj(source, file)
    return target


def _make_directory(archive: Path) -> Path:
    """Return a new temporary directory for an archive, which is removed at exit."""
    remove_stale(Path(tempfile.gettempdir()), _PREFIX, "")
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
    if not ARCHIVES:
        atexit.register(forget)
    ARCHIVES[directory] = archive
    return directory


def forget() -> None:
    """Remove unpacked files; for processes that end without running exit handlers."""
    _unpack.cache_clear()
    while ARCHIVES:
        directory, _ = ARCHIVES.popitem()
        shutil.rmtree(directory, ignore_errors=True)
