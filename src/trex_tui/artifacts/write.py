"""Write files. One rule for every command: an existing file is replaced with `--force` only, and a file that was read never.

A file appears whole or not at all: it is written beside its target, then moved.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from trex_tui.errors import ARCHIVES, TrexError, describe_os_error

TEMPORARY_PREFIX = ".trex-tui-"
TEMPORARY_SUFFIX = ".tmp"
_STALE_FILE_S = (10.0, 3600.0)
_STALE_DIRECTORY_S = (600.0, 24 * 3600.0)
"""Age from which a temporary file or directory is stale: of a process unknown to this machine, of any process. Containers
that share a directory do not see each other's processes."""


class Inputs:
    """Files read by a command, or in the explorer, which are never replaced; nor are the archives that they come from.

    This also holds for their other names: a symbolic link, or another hard link.
    """

    def __init__(self, paths: Iterable[str | Path] = ()) -> None:
        files = [Path(path) for path in paths]
        archives = [
            archive for root, archive in ARCHIVES.items() if any(root in file.parents for file in files)
        ]
        self._paths = [*files, *archives]
        self._known = {key: path for path in self._paths for key in _list_keys(path)}

    def check(self, target: Path) -> None:
        """Reject a target that is one of them.

        Raises:
            TrexError: It is; the message names it.
        """
        known = next((self._known[key] for key in _list_keys(target) if key in self._known), None)
        if known is not None:
            which = "" if known == target else f" {known},"
            raise TrexError(f"{target} is{which} an input file; write elsewhere")

    def check_directory(self, directory: Path) -> None:
        """Reject a directory that is replaced as a whole, if it contains one of them.

        Raises:
            TrexError: It does; the message names it.
        """
        root = Path(os.path.realpath(directory))
        for path in self._paths:
            real = Path(os.path.realpath(path))
            if root == real or root in real.parents:
                message = f"{directory} would be replaced, but {path} in it is an input file; write elsewhere"
                raise TrexError(message)


def _list_keys(path: Path) -> list[object]:
    """Return keys that two paths to one file share: the resolved path, and the file system's id, which hard links share."""
    try:
        status = path.stat()
    except OSError:
        return [os.path.realpath(path)]
    except ValueError:  # a NUL in the path
        return []
    return [os.path.realpath(path), *([(status.st_dev, status.st_ino)] if status.st_ino else [])]


def check_output(path: Path, inputs: Inputs, *, force: bool) -> None:
    """Reject a file that must not be written.

    Raises:
        TrexError: It was read, exists without `force`, is not a regular file, or its directory is missing.
    """
    inputs.check(path)
    try:
        if not path.parent.is_dir():
            raise TrexError(f"directory {path.parent} does not exist; create it first")
        if os.path.lexists(path) and not path.is_file():
            raise TrexError(f"{path} is not a regular file; name another file")
        if path.exists() and not force:
            raise refuse(path)
    except OSError as error:
        raise TrexError(describe_os_error(error, f"{path} cannot be written")) from error


def refuse(path: Path) -> TrexError:
    """Return the error for a file that only `--force` replaces."""
    return TrexError(f"{path} exists; write elsewhere, or replace it with --force")


def write_output(path: Path, content: str | bytes, *, replace: bool = True) -> None:
    """Write a file, completely or not at all, as `write_atomically`.

    Raises:
        TrexError: It cannot be written; the message has the reason.
    """
    try:
        write_atomically(path, content, replace=replace)
    except FileExistsError as error:
        raise refuse(path) from error
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
        temporary = _name_temporary(target)
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
    made = _name_temporary(directory)
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
    old = _name_temporary(target)
    try:
        os.link(target, old)
    except OSError:  # a file system without hard links
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


def _name_temporary(target: Path) -> Path:
    return target.with_name(f"{temporary_prefix()}{os.urandom(4).hex()}{TEMPORARY_SUFFIX}")


def _write_new(path: Path, content: str | bytes, mode: int = 0o666) -> None:
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(data)


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


# Leftovers of killed commands


def temporary_prefix(prefix: str = TEMPORARY_PREFIX) -> str:
    """Return the beginning of a temporary name, with the process id: `remove_stale` removes those of processes that ended."""
    return f"{prefix}{os.getpid()}-"


def remove_stale(directory: Path, prefix: str = TEMPORARY_PREFIX, suffix: str = TEMPORARY_SUFFIX) -> None:
    """Remove temporary files and directories that killed commands left: own names, of this user, of processes that ended.

    If the process is unknown, age decides: its id may have been reused, or belong to another machine.
    """
    now = time.time()
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if not (entry.name.startswith(prefix) and entry.name.endswith(suffix)):
                continue
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
                    continue
                is_directory = entry.is_dir(follow_symlinks=False)
                ages_s = _STALE_DIRECTORY_S if is_directory else _STALE_FILE_S
                is_gone = _is_gone(entry.name[len(prefix) :].partition("-")[0])
                if now - status.st_mtime <= ages_s[0 if is_gone else 1]:
                    continue
                if is_directory:
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)  # noqa: PTH108 - a name in the directory, never a link's target


def _is_gone(number: str) -> bool:
    """Return whether a process of this machine has ended; False if unknown."""
    if os.name == "nt" or not (number.isascii() and number.isdecimal()):
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError, ValueError):
        return False
    return False
