"""Driver for a browser that ends with its server.

Textual's goes on without anyone to draw for, and has two threads write packets into one pipe, where the parts of a download
get between those of a frame.
"""

from __future__ import annotations

import os
import signal
from threading import Lock
from typing import Any

from textual.drivers.web_driver import WebDriver


class LastingWebDriver(WebDriver):
    """Textual's driver for browsers, with whole packets, and an end."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:  # noqa: ANN401 - Textual's
        super().__init__(*arguments, **keywords)
        self._lock = Lock()
        self._write = self._write_packet  # type: ignore[assignment]  # Textual's is a partial

    def run_input_thread(self) -> None:
        """Read messages until the server has gone or the app ends."""
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
        """As where a terminal has gone; without effect on the way out."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._app.killed, signal.SIGTERM)  # type: ignore[attr-defined]
