"""Work in threads, whose results come back as messages; the program does not wait for them when it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Thread
from typing import Any, TypeVar

from textual.message import Message
from textual.message_pump import MessagePump

Result = TypeVar("Result")
JOB = "job"
"""Name of the threads."""


@dataclass
class JobDone(Message):
    """A job ended: its result, or the error that it raised.

    Attributes:
        finish: Takes the result, in the thread of the app.
    """

    finish: Callable[[Any], object]
    failed: Callable[[Exception], object]
    result: Any = None
    error: Exception | None = None

    bubble = False


def start_job(
    owner: MessagePump,
    work: Callable[[], Result],
    finish: Callable[[Result], object],
    failed: Callable[[Exception], object],
) -> None:
    """Call `work` in a thread, then `finish` with its result in the thread of the app, if `owner` is still there.

    `owner` handles the message with `finish_job`.
    """

    def run() -> None:
        try:
            owner.post_message(JobDone(finish, failed, work()))
        except Exception as error:  # noqa: BLE001 - who waits gets it, whatever it is
            owner.post_message(JobDone(finish, failed, error=error))

    # A daemon: `q` does not wait for a long log. A thread of asyncio's pool would be waited for.
    Thread(target=run, name=JOB, daemon=True).start()


def finish_job(event: JobDone) -> None:
    """Give the result of a job to who waits for it."""
    event.stop()
    if event.error is not None:
        event.failed(event.error)
    else:
        event.finish(event.result)
