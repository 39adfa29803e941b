"""Chromium without a window, driven through its pipe (the DevTools protocol), with the standard library alone."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PATIENCE_S = 150.0
"""For an answer: a browser that hangs fails the test, and does not stop the suite."""


def find_chromium() -> str | None:
    """The first browser on the path."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """A tab, and what it complained of."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._buffer = b""
        self._last = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events that come meanwhile are kept."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._last:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def open(self, path: Path) -> None:
        """Load a file, and wait until it is there."""
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    @property
    def complaints(self) -> list[Any]:
        """Errors in the console, exceptions, dialogs, breaches of the policy."""
        bad = {"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"}
        bad |= {"Page.javascriptDialogOpening"}
        return [event["params"] for event in self.events if event.get("method") in bad]

    @property
    def requests(self) -> list[str]:
        """Addresses that were asked for."""
        sent = (event for event in self.events if event.get("method") == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], _PATIENCE_S)
            assert ready, "the browser does not answer"
            part = os.read(self._read, 1 << 20)
            assert part, "the browser is gone"
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message


@contextmanager
def browsing(program: str, folder: Path) -> Iterator[Page]:
    """A browser of its own, gone at the end."""
    to_browser, writing = os.pipe()
    reading, from_browser = os.pipe()
    options = (
        "--headless --disable-gpu --no-first-run --disable-extensions --disable-background-networking"
        f" --disable-component-update --remote-debugging-pipe --user-data-dir={folder}"
    )
    options += " --no-sandbox" if os.geteuid() == 0 else ""
    # The browser listens on descriptor 3 and speaks on 4, wherever ours are.
    command = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
    process = subprocess.Popen(
        ["bash", "-c", command, program, *options.split()],
        pass_fds=(to_browser, from_browser),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_browser)
    os.close(from_browser)
    try:
        page = Page(writing, reading)
        yield page
        page._session = None
        page.call("Browser.close")
        process.wait(_PATIENCE_S)
    finally:
        process.kill()
        process.wait()
        os.close(writing)
        os.close(reading)
