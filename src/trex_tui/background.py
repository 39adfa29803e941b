"""Threads that nobody waits for at the end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Thread
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
