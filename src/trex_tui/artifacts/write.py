"""Write files. One rule for every command: an existing file is replaced with `--force` only, and a file that was read never.

A file appears whole or not at all: it is written beside its target, then moved.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
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
        temporary = _name_temporary(target)
        try:
            _write_new(temporary, content)
            if replace:
                temporary.replace(target)
            else:
                _move_without_replacing(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise


def write_all(files: Mapping[Path, str | bytes]) -> None:
    """Write several files; none is replaced before all are complete. Missing directories are created.

    Raises:
        OSError: One cannot be written; no temporary file is left behind.
    """
    targets = {Path(os.path.realpath(path)): content for path, content in files.items()}
    with made_directories(target.parent for target in targets):
        temporary = {target: _name_temporary(target) for target in targets}
        try:
            for target, content in targets.items():
                _write_new(temporary[target], content)
            for target, file in temporary.items():
                file.replace(target)
        except BaseException:
            for file in temporary.values():
                with contextlib.suppress(OSError):
                    file.unlink()
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


def _name_temporary(target: Path) -> Path:
    """Return an unused name beside a file, for a version of it that is not complete."""
    return target.with_name(f"{temporary_prefix()}{os.urandom(4).hex()}{TEMPORARY_SUFFIX}")


def _write_new(path: Path, content: str | bytes) -> None:
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    with path.open("xb") as file:
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
