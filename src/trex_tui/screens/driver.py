"""The terminal that may go away, and the signals that end the program, from the first byte that changes the terminal on.

Textual's driver leaves three gaps. Its thread that writes dies with the first write to a terminal that is gone; then its
queue fills, and the program waits for room in it for ever. Its thread that reads has the program print a traceback. And a
signal that comes after the terminal was changed, but before the app is mounted, ends the process at once.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from textual.driver import Driver

if TYPE_CHECKING:
    from trex_tui.app import TrexApp

_ENDING = ("SIGHUP", "SIGQUIT", "SIGTERM")
"""SIGINT is not among them: Textual has it pressed as the key Ctrl-C."""


def catch_signals(app: TrexApp) -> None:
    """Let signals end the app as `q` does, which gives the terminal back. There are none on Windows."""
    if os.name == "posix":
        for name in _ENDING:
            number = getattr(signal, name)
            asyncio.get_running_loop().add_signal_handler(number, app.killed, number)


class LastingOutput:
    """A terminal to write to, that takes everything without a word once it is gone.

    Args:
        file: The terminal.
        gone: Called once, in the thread that writes.
    """

    def __init__(self, file: IO[str], gone: Callable[[], object]) -> None:
        self._file, self._gone, self._is_gone = file, gone, False

    def write(self, text: str) -> int:
        """Write, if somebody is there."""
        if not self._is_gone:
            try:
                return self._file.write(text)
            except (OSError, ValueError):
                self._lose()
        return len(text)

    def flush(self) -> None:
        """Have it written."""
        if not self._is_gone:
            try:
                self._file.flush()
            except (OSError, ValueError):
                self._lose()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever else a file has
        return getattr(self._file, name)

    def _lose(self) -> None:
        self._is_gone = True
        self._gone()


def lasting(driver: type[Driver]) -> type[Driver]:
    """A driver as this one that lives through the loss of its terminal. Only that of POSIX terminals is changed."""
    if os.name != "posix":
        return driver
    from textual.drivers.linux_driver import LinuxDriver

    if driver is not LinuxDriver:
        return driver

    class LastingDriver(LinuxDriver):
        _is_lasting = False

        def start_application_mode(self) -> None:
            """First the signals, then the terminal."""
            if not self._is_lasting:
                self._is_lasting = True
                catch_signals(self._app)  # type: ignore[arg-type]  # there is no other app here
                self._file: Any = LastingOutput(self._file, self._terminal_gone)
            super().start_application_mode()  # type: ignore[no-untyped-call]

        def run_input_thread(self) -> None:
            """Read keys until the end, or until there is no terminal to read from."""
            try:
                super().run_input_thread()
            except (OSError, ValueError):
                self._terminal_gone()

        def _terminal_gone(self) -> None:
            """In a thread; as if the signal had come that comes where the terminal is the process's own."""
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._app.killed, signal.SIGHUP)  # type: ignore[attr-defined]

    return LastingDriver
