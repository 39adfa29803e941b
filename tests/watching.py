"""Notes connections, processes and written files of this process, through the interpreter's audit events.

As a program: `watching.py COMMANDS` with a JSON list of command lines runs each, and prints a JSON list of what was seen.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.bind", "socket.sendto")
PROCESSES = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork")
CHANGES = (
    "os.rename",
    "os.mkdir",
    "os.remove",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_seen: dict[str, list[str]] | None = None


class ForbiddenError(Exception):
    """A connection: none may be made."""


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if _seen is None:
        return
    if event in NETWORK:
        if not _is_local(event, arguments):
            _seen["network"].append(f"{event} {arguments[1:]}")
            raise ForbiddenError(event)
    elif event in PROCESSES:
        started = os.fsdecode(arguments[0]) if arguments else event
        # From Python 3.13 on, subprocess spawns where it can, and both are told.
        if event != "os.posix_spawn" or _seen["processes"][-1:] != [started]:
            _seen["processes"].append(started)
    elif event in CHANGES or (event == "open" and _is_writing(arguments)):
        _seen["written"] += _files(arguments[0])


def _files(place: object) -> list[str]:
    """The path of an event, whole; nothing for a descriptor, for what goes nowhere, and for what the interpreter keeps."""
    if not isinstance(place, (str, bytes, os.PathLike)) or os.fsdecode(place) == os.devnull:
        return []
    path = Path(os.fsdecode(place)).absolute()
    return [] if "__pycache__" in (path.name, path.parent.name) else [str(path)]


def _is_local(event: str, arguments: tuple[Any, ...]) -> bool:
    """A socket of the file system or a pair, as event loops wake themselves with."""
    return event != "socket.getaddrinfo" and getattr(arguments[0], "family", None) == socket.AF_UNIX


def _is_writing(arguments: tuple[Any, ...]) -> bool:
    _, mode, flags = arguments
    if isinstance(mode, str) and set(mode) & set("wax+"):
        return True
    return bool(isinstance(flags, int) and flags & _WRITING)


sys.addaudithook(_note)


@contextlib.contextmanager
def watching() -> Iterator[dict[str, list[str]]]:
    """What happens until the end of the block, by kind."""
    global _seen
    _seen = seen = {"network": [], "processes": [], "written": []}
    try:
        yield seen
    finally:
        _seen = None


def _misbehave() -> None:
    with contextlib.suppress(ForbiddenError):
        socket.create_connection(("127.0.0.1", 9))
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    Path("stray").touch()
    Path("stray").unlink()


def _run(command: list[str]) -> int | None:
    from trex_tui.__main__ import main

    if command == ["--test-the-watch"]:
        _misbehave()
        return None
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        return main(command)


def _main() -> None:
    sys.dont_write_bytecode = True
    records = []
    for command in json.loads(sys.argv[1]):
        with watching() as seen:
            code = _run(command)
        records.append({"command": command, "code": code, **seen})
    print(json.dumps(records))  # noqa: T201 - the result


if __name__ == "__main__":
    _main()
