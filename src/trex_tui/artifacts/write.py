"""Write files: which may be replaced, and how they are replaced.

One rule for every command. A file that was read is never replaced. An existing file is replaced if the same command wrote it
(it has the mark of its format, or equals the new content), else only with `--force`. CSV has no room for a mark: only the
header row of all columns identifies such a file, since others may name columns `name,latency_ms`. Measurements (`capture`,
`accuracy`) cannot be recreated from other files: they are replaced only with `--force`.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.artifacts.temporary import TEMPORARY_SUFFIX, remove_stale, temporary_prefix
from trex_tui.errors import TrexError, describe_os_error

if TYPE_CHECKING:
    from trex_tui.artifacts.discover import ArtifactSet

_SEARCHED_BYTES = 1 << 16
"""Searched at the beginning and at the end of a file, where formats keep metadata."""


@dataclass(frozen=True, slots=True)
class OutputKind:
    """Files of one command, and how they are recognized.

    Attributes:
        command: As typed: `trex-tui report`.
        marks: Every file has one of these texts near its beginning or end: a schema, a comment, a metadata entry.
        csv_header: The first line of a CSV file that the command writes with all its columns.
    """

    command: str
    marks: tuple[str, ...] = ()
    csv_header: str = ""

    def is_own(self, path: Path) -> bool:
        """Return whether the command wrote this file. An empty file counts: nothing is lost.

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
        return self.csv_header != "" and head.partition(b"\n")[0] == self.csv_header.encode()

    def _is_marked_workbook(self, path: Path) -> bool:
        """Return whether the properties of an Excel file, which is a ZIP archive, hold a mark."""
        import zipfile

        try:
            with zipfile.ZipFile(path) as book:
                properties = book.read("docProps/core.xml")[:_SEARCHED_BYTES]
        except (KeyError, ValueError, NotImplementedError, RuntimeError, zipfile.BadZipFile):
            return False
        return any(mark.encode() in properties for mark in self.marks)


class Inputs:
    """Files read by a command, or in the explorer, which are never replaced.

    This also holds for their other names: a symbolic link, or another hard link.
    """

    def __init__(self, paths: Iterable[str | Path]) -> None:
        self._paths = [Path(path) for path in paths]
        self._known = {key: path for path in self._paths for key in _keys(path)}

    def check(self, target: Path) -> None:
        """Reject a target that is one of them.

        Raises:
            TrexError: It is; the message names it.
        """
        known_path = next((self._known[key] for key in _keys(target) if key in self._known), None)
        if known_path is not None:
            which = "" if known_path == target else f" {known_path},"
            raise TrexError(f"{target} is{which} an input file; write elsewhere")

    def check_directory(self, directory: Path) -> None:
        """Reject a directory that is replaced as a whole, if it contains one of them.

        Raises:
            TrexError: It does; the message names it.
        """
        root = os.path.realpath(directory)
        for path in self._paths:
            real = os.path.realpath(path)
            if real == root or real.startswith(root.rstrip(os.sep) + os.sep):
                raise TrexError(
                    f"{directory} would be replaced, but {path} in it is an input file; write elsewhere"
                )


NO_INPUTS = Inputs(())


def list_inputs(sets: Iterable[ArtifactSet], paths: Iterable[str | Path] = ()) -> Inputs:
    """Return the files of some sets, with the archives that they come from.

    Args:
        sets: The sets.
        paths: Further paths given by the user; directories are ignored.
    """
    files = [file for source in sets for file in source.files.values()]
    archives = [archive for file in files if (archive := _find_archive(file)) is not None]
    return Inputs([*files, *archives, *paths])


def _find_archive(file: Path) -> Path | None:
    from trex_tui.artifacts.kinds import is_archive

    if not any(map(is_archive, file.parents)):
        return None
    from trex_tui.artifacts.archive import find_archive  # 20 ms for zipfile

    return find_archive(file)


def _keys(path: Path) -> tuple[object, ...]:
    """Return keys that two paths to one file share: the resolved path, and the file system's id, which hard links share."""
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
    """Reject a file that must not be written.

    Args:
        path: The file to write; its directory must exist.
        inputs: Files that must not be replaced, even with `force`.
        content: New content, if already known: a file with this content may be replaced.

    Raises:
        TrexError: It was read, exists and is foreign, is not a regular file, or its directory is missing.
    """
    inputs.check(path)
    try:
        if not path.parent.is_dir():
            raise TrexError(f"directory {path.parent} does not exist; create it first")
        if not path.exists():
            return
        if not path.is_file():
            raise TrexError(f"{path} is not a regular file; name another file")
        if force or kind.is_own(path) or (content is not None and path.read_bytes() == encode(content)):
            return
    except OSError as error:
        raise TrexError(describe_os_error(error, f"{path} cannot be written")) from error
    raise refusal(path, kind.command)


def refusal(path: Path, command: str = "") -> TrexError:
    """Return the error for a file that only `--force` replaces: one that `command` did not write, or any measurement."""
    foreign = f" and was not written by `{command}`" if command else ""
    return TrexError(f"{path} exists{foreign}; write elsewhere, or replace it with --force")


def write_output(path: Path, content: str | bytes, *, replace: bool = True) -> None:
    """Write a file, completely or not at all, as `write_atomically`.

    Raises:
        TrexError: It cannot be written; the message has the reason.
    """
    try:
        write_atomically(path, content, replace=replace)
    except OSError as error:
        raise TrexError(describe_os_error(error, f"{path} cannot be written")) from error


def write_atomically(
    path: Path,
    content: str | bytes,
    *,
    make_directory: bool = False,
    replace: bool = True,
    is_private: bool = False,
) -> None:
    """Write a file so that at any moment either the old or the new one exists, complete.

    Text is written as UTF-8, other code points (lone surrogates) as escapes. A link stays a link: its target is replaced.
    Files left by killed writers in the directory are removed.

    Args:
        replace: Whether a file may exist; else one that appears meanwhile is an error.
        is_private: Whether only the user may read it.

    Raises:
        OSError: It cannot be written; nothing is left behind.
    """
    target = Path(os.path.realpath(path))
    with made_directories([target.parent] if make_directory else []):
        remove_stale(target.parent)
        temporary = _temporary_path(target)
        try:
            _write_new(temporary, content, 0o600 if is_private else 0o666)
            if replace:
                temporary.replace(target)
            else:
                _move_without_replacing(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise


def write_all(files: Mapping[Path, str | bytes]) -> None:
    """Write several files, all or none; missing directories are created.

    Raises:
        OSError: One cannot be written; the old files are in place, and nothing is left behind.
    """
    with staging_directory(next(iter(files)).parent) as staging:
        staged = {path: staging / str(number) for number, path in enumerate(files)}
        for path, content in files.items():
            _write_new(staged[path], content)
        place_files(staged)


@contextlib.contextmanager
def staging_directory(directory: Path) -> Iterator[Path]:
    """Yield a temporary directory on the file system of a directory, which may be missing; removes leftovers.

    Raises:
        OSError: It cannot be created.
    """
    import tempfile  # 5 ms

    existing = next(path for path in (directory, *directory.absolute().parents) if path.is_dir())
    remove_stale(existing)
    with tempfile.TemporaryDirectory(TEMPORARY_SUFFIX, temporary_prefix(), existing) as staging:
        yield Path(staging)


def place_files(staged: Mapping[Path, Path]) -> None:
    """Move complete files into place, all or none; missing directories are created.

    A missing directory appears with all of its files, even if the process is killed.

    Args:
        staged: Target -> the file that becomes it, on the same file system.

    Raises:
        OSError: One cannot be moved; the old files are in place.
    """
    targets = {Path(os.path.realpath(target)): file for target, file in staged.items()}
    if not targets:
        return
    common = Path(os.path.commonpath([target.parent for target in targets]))
    missing = [path for path in (common, *common.parents) if not os.path.lexists(path)]
    if missing:
        _place_new_directory(missing[-1], targets)
    else:
        _replace_files(targets)


def _place_new_directory(directory: Path, files: Mapping[Path, Path]) -> None:
    import shutil  # 5 ms

    made = _temporary_path(directory)
    try:
        for target, file in files.items():
            moved = made / target.relative_to(directory)
            moved.parent.mkdir(parents=True, exist_ok=True)
            file.replace(moved)
        made.rename(directory)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _replace_files(files: Mapping[Path, Path]) -> None:
    with made_directories(target.parent for target in files):
        kept: dict[Path, Path | None] = {}
        try:
            for target, file in files.items():
                kept[target] = _keep_old(target)
                file.replace(target)
        except BaseException:
            for target, old in kept.items():
                with contextlib.suppress(OSError):
                    if old is not None:
                        old.replace(target)
                    elif not files[target].exists():
                        target.unlink()
            raise
        finally:
            for old in kept.values():
                if old is not None:
                    with contextlib.suppress(OSError):
                        old.unlink()


def _keep_old(target: Path) -> Path | None:
    """Give a file that is to be replaced a second name; None if there is no file."""
    if not target.is_file():
        return None
    old = _temporary_path(target)
    try:
        os.link(target, old)
    except OSError:  # a file system without hard links
        import shutil  # 5 ms

        shutil.copy2(target, old)
    return old


@contextlib.contextmanager
def made_directories(directories: Iterable[Path]) -> Iterator[None]:
    """Create directories, and remove the created ones if the block fails.

    Raises:
        OSError: One cannot be created.
    """
    made: list[Path] = []
    try:
        for directory in directories:
            missing = [path for path in (directory, *directory.parents) if not path.exists()]
            directory.mkdir(parents=True, exist_ok=True)
            made += reversed(missing)
        yield
    except BaseException:
        for directory in reversed(made):
            with contextlib.suppress(OSError):
                directory.rmdir()
        raise


def _temporary_path(target: Path) -> Path:
    return target.with_name(f"{temporary_prefix()}{os.urandom(4).hex()}{TEMPORARY_SUFFIX}")


def _write_new(path: Path, content: str | bytes, mode: int = 0o666) -> None:
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(encode(content))


def _move_without_replacing(file: Path, target: Path) -> None:
    """Move a file to an unused name.

    Raises:
        FileExistsError: The name is in use.
    """
    try:
        os.link(file, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        file.replace(target)
    else:
        file.unlink()


def encode(content: str | bytes) -> bytes:
    """Return the bytes of a file; code points outside of UTF-8 become escapes."""
    return content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
