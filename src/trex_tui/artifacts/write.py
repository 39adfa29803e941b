"""Write files. One rule for every command: an existing file is replaced with `--force` only, and a file that was read never.

A file appears whole or not at all: it is written beside its target, then moved.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from trex_tui.errors import ARCHIVES, TrexError, describe_os_error

TEMPORARY_PREFIX = ".trex-tui-"
TEMPORARY_SUFFIX = ".tmp"
_STALE_FILE_S, _STALE_DIRECTORY_S = 3600.0, 24 * 3600.0
"""Age from which a temporary file or directory is that of a killed command."""


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


NO_INPUTS = Inputs()


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
    path: Path, content: str | bytes, *, make_directory: bool = False, replace: bool = True
) -> None:
    """Write a file so that at any moment either the old or the new one exists, complete.

    Text is written as UTF-8, other code points (lone surrogates) as escapes. A link stays a link: its target is replaced.
    Files left by killed writers in the directory are removed.

    Args:
        replace: Whether a file may exist; else one that appears meanwhile is an error.

    Raises:
        OSError: It cannot be written; nothing is left behind.
    """
    target = Path(os.path.realpath(path))
    with made_directories([target.parent] if make_directory else []):
        remove_stale(target.parent)
        temporary = target.with_name(f"{TEMPORARY_PREFIX}{os.urandom(8).hex()}{TEMPORARY_SUFFIX}")
        data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
        try:
            with temporary.open("xb") as file:
                file.write(data)
            if not replace and os.path.lexists(target):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
            temporary.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise


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


# Leftovers of killed commands


def remove_stale(directory: Path, prefix: str = TEMPORARY_PREFIX, suffix: str = TEMPORARY_SUFFIX) -> None:
    """Remove old temporary files and directories of this user, which killed commands left."""
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
                if now - status.st_mtime <= (_STALE_DIRECTORY_S if is_directory else _STALE_FILE_S):
                    continue
                if is_directory:
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)  # noqa: PTH108 - a name in the directory, never a link's target
