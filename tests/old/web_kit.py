"""What the tests of `trex-tui serve` share: the server, its address, a client of its websocket, the processes below it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from helpers import free_port

LIMIT_S = 150
"""How long anything may take on a machine under load; nothing waits for so long unless it fails."""
_URL = re.compile(r"http://[^\s]+/")


class Served:
    """The program that serves an engine."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process, self.port = process, port
        assert process.stderr is not None
        ready, _, _ = select.select([process.stderr], [], [], LIMIT_S)
        line = process.stderr.readline() if ready else ""
        found = _URL.search(line)
        assert found, f"no address: {line!r}"
        self.url = found[0]
        self.token = self.url.rstrip("/").rsplit("/", 1)[1]
        self.host = f"127.0.0.1:{port}"
        self.origin = f"http://{self.host}"

    @property
    def websocket(self) -> str:
        return f"ws://{self.host}/{self.token}/ws?width=120&height=40"

    @property
    def explorers(self) -> list[int]:
        """Processes that serve a browser now."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in children.read_text().split()]

    async def until_explorers(self, count: int) -> None:
        await until(lambda: len(self.explorers) == count, f"{count} explorers")


async def until(condition: Any, what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        await asyncio.sleep(0.02)


@contextmanager
def serving(path: Path, *options: str) -> Iterator[Served]:
    """Serve a path on a free port of this machine alone, from the directory above it."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "trex_tui", "serve", str(path), "--port", str(port), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=path.parent,
        text=True,
    )
    try:
        yield Served(process, port)
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.communicate()


class Browser:
    """A client of the websocket, which notes what is drawn and which files are offered."""

    def __init__(self, websocket: Any) -> None:
        self.websocket = websocket
        self.drawn = b""
        self.offered: list[str] = []

    async def until(self, wanted: bytes) -> None:
        """Read until this is drawn."""
        await self._until(lambda: wanted in self.drawn, wanted)

    async def file(self) -> str:
        """Read until a file is offered; return its key."""
        await self._until(lambda: self.offered, "a file")
        return self.offered.pop()

    async def type(self, keys: str) -> None:
        self.drawn = b""
        await self.websocket.send_str(json.dumps(["stdin", keys]))

    async def end(self) -> int:
        """Read to the end of the connection; return the code it was closed with."""
        await self._until(lambda: self.websocket.closed, "the end", to_end=True)
        return int(self.websocket.close_code)

    async def _until(self, condition: Any, what: object, *, to_end: bool = False) -> None:
        from aiohttp import WSMsgType

        deadline = time.monotonic() + LIMIT_S
        while not condition():
            message = await self.websocket.receive(timeout=max(0.1, deadline - time.monotonic()))
            if message.type is WSMsgType.BINARY:
                self.drawn += message.data
            elif message.type is WSMsgType.TEXT:
                kind, content = json.loads(message.data)
                self.offered += [content] if kind == "deliver_file_start" else []
            elif not to_end:
                pytest.fail(f"the connection ended before {what!r}: {self.websocket.close_code}")


@asynccontextmanager
async def browsing_to(served: Served, url: str = "", **headers: str) -> AsyncIterator[Browser]:
    """Connect as the page of the server does, unless headers say otherwise."""
    import aiohttp

    sent = {"Origin": served.origin, **headers}
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(
            url or served.websocket, headers={k: v for k, v in sent.items() if v}
        ) as websocket,
    ):
        yield Browser(websocket)


def environment_of(pid: int) -> dict[str, str]:
    text = Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace")
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
