"""Driver for a browser, which ends with its server.

Textual's driver keeps running without a browser, and two of its threads write packets into one pipe, so that parts of a
download can interrupt a frame.
"""

from __future__ import annotations

import os
import signal
from threading import Lock
from typing import Any

from textual.drivers.web_driver import WebDriver


class LastingWebDriver(WebDriver):
    """Textual's driver for browsers, with atomic packets, which ends with the server."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:  # noqa: ANN401 - Textual's
        super().__init__(*arguments, **keywords)
        self._lock = Lock()
        self._write = self._write_packet  # type: ignore[assignment]  # Textual's is a partial

    def run_input_thread(self) -> None:
        """Read messages until the server ends or the app exits."""
        super().run_input_thread()
        self._end()

    def _write_packet(self, packet: bytes) -> int:
        left = memoryview(packet)
        try:
            with self._lock:
                while left:
                    left = left[os.write(self.fileno, left) :]
        except OSError:
            self._end()
        return len(packet)

    def _end(self) -> None:
        """End as after the loss of a terminal; no effect during exit."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._app.killed, signal.SIGTERM)  # type: ignore[attr-defined]
