"""Logs that several parts of a program ask for: each is read once, as long as its file does not change.

Kept are the last few, by path, size and time of change. Who asks for a log that another thread is reading waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from trex_tui.buildlog.build_trace import BuildTrace
from trex_tui.buildlog.reader import read_build_log, read_outline

MOST_KEPT = 4
"""Of two engines that are compared, the logs of the build and of the run."""
_PATIENCE_S = 0.2

_Key = tuple[Path, int, int, int]


class _Reading:
    """A file that is being read, or about to be."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.read_bytes = 0


_traces: dict[_Key, BuildTrace] = {}
_readings: dict[Path, _Reading] = {}
_guard = threading.Lock()


def shared_log(path: Path, progress: Callable[[int], None] | None = None) -> BuildTrace:
    """The whole of a log, as `read_build_log` reads it, with the same arguments and errors."""
    return _shared(path, progress, is_whole=True)


def shared_outline(path: Path, progress: Callable[[int], None] | None = None) -> BuildTrace:
    """A log as `read_outline` reads it, or the whole of it if that has been read, with the same arguments and errors."""
    return _shared(path, progress, is_whole=False)


def forget_logs() -> None:
    """Keep none."""
    with _guard:
        _traces.clear()


def _shared(path: Path, progress: Callable[[int], None] | None, *, is_whole: bool) -> BuildTrace:
    name = path.absolute()  # asks for the current directory only where the path leans on it
    with _guard:
        reading = _readings.setdefault(name, _Reading())
        reading.users += 1
    try:
        while not reading.lock.acquire(timeout=_PATIENCE_S):
            if progress is not None:
                progress(reading.read_bytes)  # who does not want to wait any more raises
        try:
            return _read(path, name, progress, reading, is_whole=is_whole)
        finally:
            reading.lock.release()
    finally:
        with _guard:
            reading.users -= 1
            if not reading.users:
                del _readings[name]


def _read(
    path: Path, name: Path, progress: Callable[[int], None] | None, reading: _Reading, *, is_whole: bool
) -> BuildTrace:
    key = _key_of(name)
    with _guard:
        known = _traces.pop(key, None) if key is not None else None
        if known is not None and key is not None:
            _traces[key] = known  # the last in line to be forgotten
    if known is not None and (known.is_whole or not is_whole) and known.path == path:
        return known

    def tell(read_bytes: int) -> None:
        reading.read_bytes = read_bytes
        if progress is not None:
            progress(read_bytes)

    found = read_build_log(path, tell) if is_whole else read_outline(path, tell)
    if key is not None:
        with _guard:
            for known_key in [key for key in _traces if key[0] == name]:
                del _traces[known_key]
            _traces[key] = found
            while len(_traces) > MOST_KEPT:
                del _traces[next(iter(_traces))]
    return found


def _key_of(name: Path) -> _Key | None:
    try:
        status = name.stat()
    except OSError:
        return None
    return name, status.st_size, status.st_mtime_ns, status.st_ino
