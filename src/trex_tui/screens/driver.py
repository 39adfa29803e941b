"""The terminal that may go away, and the signals that end the program, from the first byte that changes the terminal on.

Textual's driver leaves three gaps. Its thread that writes dies with the first write to a terminal that is gone; then its
queue fills, and the program waits for room in it for ever. Its thread that reads has the program print a traceback. And a
signal that comes after the terminal was changed, but before the app is mounted, ends the process at once.

Beside the driver: threads that nobody waits for at the end, and the garbage collector, at work while nobody waits. A full
collection looks at every object of an engine: a third of a second at 20 000 layers, in the middle of a key. While the
explorer runs, only young objects are collected as they come; the rest when no key was pressed for a while.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Thread
from time import monotonic
from typing import IO, Any, ParamSpec, TypeVar

from textual.driver import Driver

_ENDING = ("SIGHUP", "SIGQUIT", "SIGTERM")
"""SIGINT is not among them: Textual has it pressed as the key Ctrl-C."""


def catch_signals(killed: Callable[[int], object]) -> None:
    """Let signals end the app as `q` does, which gives the terminal back. There are none on Windows."""
    if os.name == "posix":
        for name in _ENDING:
            number = getattr(signal, name)
            asyncio.get_running_loop().add_signal_handler(number, killed, number)


class LastingOutput:
    """A terminal to write to, that takes everything without a word once it is gone.

    Args:
        file: The terminal.
        gone: Called once, in the thread that writes.
    """

    def __init__(self, file: IO[str], gone: Callable[[], object]) -> None:
        self._file, self._gone, self._is_gone = file, gone, False

    def write(self, text: str) -> int:
        if not self._is_gone:
            try:
                return self._file.write(text)
            except (OSError, ValueError):
                self._lose()
        return len(text)

    def flush(self) -> None:
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
                catch_signals(self._app.killed)  # type: ignore[attr-defined]  # there is no other app here
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


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class DaemonThreads(ThreadPoolExecutor):
    """A thread for each job, which ends with the program at the latest.

    asyncio's own executor is waited for on the way out: `q` would take as long as what is being read or computed, which
    nobody wants to see any more. No job here writes anything that an end in the middle would leave half done: files are
    written whole or not at all.
    """

    def submit(
        self, fn: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Result]:
        future: Future[Result] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - as the executor of the library: it is for who waits
                future.set_exception(error)
            else:
                future.set_result(result)

        Thread(target=run, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the jobs alone."""


IDLE_SECONDS = 2.0
"""So long after the last key nobody waits."""
_NEVER = 1_000_000


@contextmanager
def collecting_when_idle() -> Iterator[None]:
    """Leave full collections to `Collector`; on the way out all is as before."""
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, _NEVER)
    try:
        yield
    finally:
        gc.set_threshold(young, middle, old)
        gc.unfreeze()


class Collector:
    """Knows when there is time, and what is worth looking at."""

    def __init__(self) -> None:
        self._last_input = monotonic()
        self._is_anything_gone = False
        self._is_due = True

    def note_input(self) -> None:
        self._last_input = monotonic()
        self._is_due = True

    def note_engine(self, *, replaces: bool) -> None:
        """An engine was read. It stays as long as it is open: no collection need look at it.

        Args:
            replaces: Whether another one, which no collection looks at either, is no longer needed.
        """
        gc.freeze()
        self._is_anything_gone |= replaces
        self._is_due = True

    def collect_if_idle(self) -> bool:
        """Collect what has become garbage since the last time, if nobody waits; tell whether that was so."""
        if not self._is_due or monotonic() - self._last_input < IDLE_SECONDS:
            return False
        if self._is_anything_gone:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._is_due = self._is_anything_gone = False
        return True
