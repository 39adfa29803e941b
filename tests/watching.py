"""Notes connections, processes and written files of this process, through the interpreter's audit events.

`watching.py COMMANDS` with a JSON list of command lines runs each, and prints a JSON list of what was seen.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.bind", "socket.sendto")
PROCESSES = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork")
CHANGES = ("rename", "mkdir", "remove", "rmdir", "link", "symlink", "truncate", "chmod")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
seen: dict[str, list[str]] = {}


def note(event: str, arguments: tuple[Any, ...]) -> None:
    if not seen:
        return
    if event in NETWORK:
        # A socket of the file system or a pair, as event loops wake themselves with, is no connection.
        if event == "socket.getaddrinfo" or getattr(arguments[0], "family", None) != socket.AF_UNIX:
            seen["network"].append(f"{event} {arguments[1:]}")
            raise ConnectionError(event)
    elif event in PROCESSES:
        started = os.fsdecode(arguments[0]) if arguments else event
        # From Python 3.13 on, subprocess spawns where it can, and both are told.
        if event != "os.posix_spawn" or seen["processes"][-1:] != [started]:
            seen["processes"].append(started)
    elif event.removeprefix("os.") in CHANGES or (event == "open" and is_writing(*arguments[1:])):
        place = arguments[0]
        if isinstance(place, (str, bytes, os.PathLike)) and os.fsdecode(place) != os.devnull:
            path = Path(os.fsdecode(place)).absolute()
            if "__pycache__" not in (path.name, path.parent.name):
                seen["written"].append(str(path))


def is_writing(mode: object, flags: object) -> bool:
    return (isinstance(mode, str) and bool(set(mode) & set("wax+"))) or (
        isinstance(flags, int) and bool(flags & WRITING)
    )


def misbehave() -> None:
    with contextlib.suppress(ConnectionError):
        socket.create_connection(("127.0.0.1", 9))
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    Path("stray").touch()
    Path("stray").unlink()


def run(command: list[str]) -> int | None:
    from trex_tui.__main__ import main

    if command == ["--test-the-watch"]:
        misbehave()
        return None
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        return main(command)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.addaudithook(note)
    records = []
    for command in json.loads(sys.argv[1]):
        seen.update(network=[], processes=[], written=[])
        code = run(command)
        records.append({"command": command, "code": code, **seen})
        seen.clear()
    print(json.dumps(records))  # noqa: T201 - the result
