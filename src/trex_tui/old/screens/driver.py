"""Signals that end the program and restore the terminal, and an exit that cannot hang.

Also: threads that the exit does not wait for, and garbage collection while the user is idle. A full collection visits
every object of an engine, a third of a second at 20 000 layers, which would delay a key. While the explorer runs, only
young objects are collected at once; the others when no key was pressed for a while. Until the first engine is read nothing is
collected: what is imported stays, and looking at it is 6 % of the start.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Thread, Timer
from time import monotonic
from typing import ParamSpec, TypeVar

_ENDING = ("SIGHUP", "SIGQUIT", "SIGTERM")
"""Signals handled. SIGINT is not among them: Textual turns it into the key Ctrl-C."""


def catch_signals(killed: Callable[[int], object]) -> None:
    """Handle signals like `q`, which restores the terminal. No effect on Windows."""
    if os.name == "posix":
        for name in _ENDING:
            number = getattr(signal, name)
            asyncio.get_running_loop().add_signal_handler(number, killed, number)


GRACE_S = 5.0
"""Time limit of an orderly exit, which takes some tenths of a second."""


class ForcedExit:
    """Ends the process if the orderly end does not.

    Textual waits for every widget to end. One that waits for something that does not come would keep the program.

    Args:
        give_back: Restores the terminal.
        finish: Reports why the program ends, and returns the exit code.
    """

    def __init__(self, give_back: Callable[[], object], finish: Callable[[], int]) -> None:
        self._give_back, self._finish = give_back, finish
        self._timer: Timer | None = None

    def arm(self) -> None:
        """Start the time limit, once."""
        if self._timer is None:
            self._timer = Timer(GRACE_S, self._force)
            self._timer.daemon = True
            self._timer.start()

    def disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _force(self) -> None:
        restoring = Thread(target=self._give_back, daemon=True)
        restoring.start()
        restoring.join(GRACE_S)  # A terminal that takes no output must not keep the program either.
        sys.stderr = sys.__stderr__
        os._exit(self._finish())


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class DaemonThreads(ThreadPoolExecutor):
    """A thread for each job, which ends with the program at the latest.

    The exit waits for asyncio's own executor: `q` would take as long as the pending reading or computation. No job here
    can leave a partial result: files are written completely or not at all.
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
        """Do not wait for the jobs."""


IDLE_SECONDS = 2.0
"""Time after the last key until the user counts as idle."""
PAUSE_SECONDS = 0.2
"""Time after the last key until a collection goes unnoticed, if memory has grown."""
CHECK_SECONDS = 0.5
_GROWTH = 1.1
"""Factor of memory growth after which garbage is collected in pauses, old objects included."""
_GROWTH_AT_MOST = 1.5
"""Factor of memory growth after which garbage is collected while keys arrive."""
_NEVER = 1_000_000


@contextmanager
def collecting_when_idle() -> Iterator[None]:
    """Leave full collections to `Collector` until the exit, and the beginning of all others."""
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, _NEVER)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.set_threshold(young, middle, old)
        gc.unfreeze()


class Collector:
    """Decides when to collect garbage, and which generation."""

    def __init__(self) -> None:
        self._last_input = monotonic()
        self._is_anything_gone = False
        self._is_due = False  # Until there is an engine or a key: objects read and imported by then stay.
        self._is_first = True
        self._blocks = sys.getallocatedblocks()
        """Memory after the last full collection."""

    def note_input(self) -> None:
        gc.enable()
        self._last_input = monotonic()
        self._is_due = True

    def note_engine(self, *, replaces: bool) -> None:
        """An engine was read. It stays as long as it is open: no collection need look at it.

        Args:
            replaces: Whether another one, which no collection looks at either, is no longer needed.
        """
        gc.freeze()
        gc.enable()
        if not replaces:
            self._blocks = sys.getallocatedblocks()
        self._is_anything_gone |= replaces
        self._last_input = monotonic()  # The user waits for its first frame.
        self._is_due = True

    def collect_if_idle(self) -> bool:
        """Collect new garbage if the user is idle; return whether it did.

        After growth of memory a short pause is enough, but for the first time, when the panes are made; after more growth
        none is needed: without pauses the panes of all reloads would stay in memory.
        """
        quiet, growth = monotonic() - self._last_input, sys.getallocatedblocks() / self._blocks
        if quiet >= IDLE_SECONDS:
            gc.enable()  # A list of engines is read.
        may_pause = growth > _GROWTH and not self._is_first
        if not self._is_due or (
            quiet < (PAUSE_SECONDS if may_pause else IDLE_SECONDS) and growth < _GROWTH_AT_MOST
        ):
            return False
        # Objects closed since the last full collection would stay in the frozen generation.
        looks_at_all = self._is_anything_gone or growth > _GROWTH
        if looks_at_all:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
        if looks_at_all:
            self._blocks = sys.getallocatedblocks()
        self._is_due = self._is_anything_gone = self._is_first = False
        return True
