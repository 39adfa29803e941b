"""Files that trex-tui writes: which may be replaced, and how they are replaced.

One rule for every command. A file that was read is never replaced. A file that exists is replaced if the same command wrote
it (it carries the mark of its format, or equals what would be written), else only with `--force`. Measurements (`capture`,
`accuracy`) cannot be made again from other files: they are replaced only with `--force`.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.errors import TrexError

if TYPE_CHECKING:
    from trex_tui.artifacts.discover import ArtifactSet

TEMPORARY_PREFIX = ".trex-tui-"
TEMPORARY_SUFFIX = ".tmp"
_STALE_FILE_S = 3600.0
_STALE_DIRECTORY_S = 24 * 3600.0
"""Age of a temporary file or directory that no running command still fills."""
_SEARCHED_BYTES = 1 << 16
"""At the beginning and at the end of a file, where formats keep metadata."""


@dataclass(frozen=True, slots=True)
class OutputKind:
    """What one command writes, and how its files are recognized.

    Attributes:
        command: As a person calls it: `trex-tui report`.
        marks: Texts of which every file holds one near its beginning or end: a schema, a comment, a metadata entry.
        columns: Names that may stand in the header row of a CSV file.
    """

    command: str
    marks: tuple[str, ...] = ()
    columns: Collection[str] = frozenset()

    def is_own(self, path: Path) -> bool:
        """Whether the command wrote this file. An empty file counts: nothing is lost.

        Raises:
            OSError: It cannot be read.
        """
        with path.open("rb") as file:
            head = file.read(_SEARCHED_BYTES)
            file.seek(max(0, file.seek(0, os.SEEK_END) - _SEARCHED_BYTES))
            tail = file.read(_SEARCHED_BYTES)
        if not head or any(mark.encode() in part for mark in self.marks for part in (head, tail)):
            return True
        if head.startswith(b"PK\x03\x04"):
            return self._is_marked_workbook(path)
        names = head.partition(b"\n")[0].decode("utf-8", "replace").strip().split(",")
        return bool(self.columns) and all(name in self.columns for name in names)

    def _is_marked_workbook(self, path: Path) -> bool:
        """Whether the properties of an Excel file, which is a ZIP archive, hold a mark."""
        import zipfile

        try:
            with zipfile.ZipFile(path) as book:
                properties = book.read("docProps/core.xml")[:_SEARCHED_BYTES]
        except (KeyError, ValueError, NotImplementedError, RuntimeError, zipfile.BadZipFile):
            return False
        return any(mark.encode() in properties for mark in self.marks)


class Inputs:
    """The files that a command, or a person in the explorer, read: never to be replaced, by whatever name they are
    reached: their own, another, a symbolic link, a second hard link."""

    def __init__(self, paths: Iterable[str | Path]) -> None:
        self._paths = [Path(path) for path in paths]
        self._known = {key: one for one in self._paths for key in _keys(one)}

    def check(self, target: Path) -> None:
        """Refuse a target that is one of them.

        Raises:
            TrexError: It is; the message names it.
        """
        found = next((self._known[key] for key in _keys(target) if key in self._known), None)
        if found is not None:
            which = "" if found == target else f" {found},"
            raise TrexError(f"{target} is{which} one of the files that were read; write elsewhere")

    def check_directory(self, directory: Path) -> None:
        """Refuse a directory that is replaced as a whole, if one of them lies in it.

        Raises:
            TrexError: One does; the message names it.
        """
        root = os.path.realpath(directory)
        for path in self._paths:
            real = os.path.realpath(path)
            if real == root or real.startswith(root.rstrip(os.sep) + os.sep):
                raise TrexError(f"{directory} would be replaced, and {path} in it was read; write elsewhere")


NO_INPUTS = Inputs(())


def list_inputs(sets: Iterable[ArtifactSet], paths: Iterable[str | Path] = ()) -> Inputs:
    """The files of some sets, with the archives that these come from.

    Args:
        sets: What was found.
        paths: What a person named beside it: files, or directories, which count for nothing.
    """
    files = [file for source in sets for file in source.files.values()]
    archives = [found for file in files if (found := _find_archive(file)) is not None]
    return Inputs([*files, *archives, *paths])


def _find_archive(file: Path) -> Path | None:
    from trex_tui.artifacts.naming import is_archive

    if not any(map(is_archive, file.parents)):
        return None
    from trex_tui.artifacts.archive import find_archive  # 20 ms for zipfile

    return find_archive(file)


def _keys(path: Path) -> tuple[object, ...]:
    """What two paths to one file share: where it is in the end, and what the file system calls it, which hard links share."""
    try:
        status = os.stat(path)  # noqa: PTH116 - takes what is no valid path as well
        return os.path.realpath(path), *([(status.st_dev, status.st_ino)] if status.st_ino else [])
    except OSError:
        return (os.path.realpath(path),)
    except ValueError:  # a NUL in the path
        return ()


def check_output(
    path: Path,
    kind: OutputKind,
    inputs: Inputs = NO_INPUTS,
    *,
    force: bool,
    content: str | bytes | None = None,
) -> None:
    """Refuse a file that must not be written.

    Args:
        path: The file to write; its directory must exist.
        inputs: What must not be replaced, even by force.
        content: What will be written, where that is known already: a file that holds just this may be replaced.

    Raises:
        TrexError: It was read, exists and was written by somebody else, is no regular file, or has no directory.
    """
    inputs.check(path)
    try:
        if not path.parent.is_dir():
            raise TrexError(f"there is no directory {path.parent}")
        if not path.exists():
            return
        if not path.is_file():
            raise TrexError(f"{path} is no regular file")
        if force or kind.is_own(path) or (content is not None and path.read_bytes() == encode(content)):
            return
    except OSError as error:
        raise TrexError(f"{path}: {reason(error)}") from error
    raise refusal(path, kind.command)


def refusal(path: Path, command: str = "") -> TrexError:
    """The error for a file that only `--force` replaces: one that `command` did not write, or any measurement."""
    foreign = f" and was not written by `{command}`" if command else ""
    return TrexError(f"{path} exists{foreign}; write elsewhere, or replace it with --force")


def write_output(path: Path, content: str | bytes) -> None:
    """Write a file, whole or not at all, as `write_atomically`.

    Raises:
        TrexError: It cannot be written; the message says why.
    """
    try:
        write_atomically(path, content)
    except OSError as error:
        raise TrexError(f"{path} cannot be written: {reason(error)}") from error


def write_atomically(path: Path, content: str | bytes, *, make_directory: bool = False) -> None:
    """Write a file so that at any moment there is either the old or the new one, whole.

    Text is written as UTF-8, what that lacks (lone surrogates) as its escape. A link stays a link: its target is replaced.
    What killed writers left in the directory is removed.

    Raises:
        OSError: It cannot be written; nothing is left behind.
    """
    target = Path(os.path.realpath(path))
    if make_directory:
        target.parent.mkdir(parents=True, exist_ok=True)
    remove_stale(target.parent)
    temporary = target.with_name(f"{TEMPORARY_PREFIX}{os.getpid()}-{os.urandom(4).hex()}{TEMPORARY_SUFFIX}")
    try:
        with temporary.open("xb") as file:
            file.write(encode(content))
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def remove_stale(directory: Path) -> None:
    """Remove temporary files and directories of commands that were killed."""
    import shutil  # 5 ms

    now = time.time()
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if not (entry.name.startswith(TEMPORARY_PREFIX) and entry.name.endswith(TEMPORARY_SUFFIX)):
                continue
            with contextlib.suppress(OSError):
                age_s = now - entry.stat(follow_symlinks=False).st_mtime
                if entry.is_dir(follow_symlinks=False):
                    if age_s > _STALE_DIRECTORY_S:
                        shutil.rmtree(entry.path, ignore_errors=True)
                elif age_s > _STALE_FILE_S:
                    os.unlink(entry.path)  # noqa: PTH108 - a name in the directory, never a link's target


def encode(content: str | bytes) -> bytes:
    """The bytes of a file; what UTF-8 lacks becomes its escape."""
    return content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content


def reason(error: OSError) -> str:
    """Why something could not be read or written, as the system says it."""
    return error.strerror or str(error) or type(error).__name__
