"""Threads that nobody waits for at the end.

The cyclic garbage collector, at work while nobody waits.

A full collection looks at every object of an engine: a third of a second at 20 000 layers, in the middle of a key. While the
explorer runs, only young objects are collected as they come; the rest when no key was pressed for a while.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Thread
from time import monotonic
from typing import ParamSpec, TypeVar

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
        """Start a job at once."""
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
        """A person is at work."""
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
