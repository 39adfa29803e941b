"""Names of temporary files and directories, and the removal of those that killed commands left."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

TEMPORARY_PREFIX = ".trex-tui-"
TEMPORARY_SUFFIX = ".tmp"
_STALE_FILE_S = (10.0, 3600.0)
_STALE_DIRECTORY_S = (600.0, 24 * 3600.0)
"""Age from which a temporary file or directory is stale: of a process unknown to this machine, of any process. Containers
that share a directory do not see each other's processes."""


def temporary_prefix(prefix: str = TEMPORARY_PREFIX) -> str:
    """Return the beginning of a temporary name, with the process id: `remove_stale` removes those of processes that ended."""
    return f"{prefix}{os.getpid()}-"


def remove_stale(directory: Path, prefix: str = TEMPORARY_PREFIX, suffix: str = TEMPORARY_SUFFIX) -> None:
    """Remove temporary files and directories that killed commands left: own names, of this user, of processes that ended.

    If the process is unknown, age decides: its id may have been reused, or belong to another machine.
    """
    import shutil  # 5 ms

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
