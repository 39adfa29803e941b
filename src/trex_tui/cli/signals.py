"""Signals that ask a command for its end: it unwinds as for Ctrl-C, what was unpacked goes, and the signal ends the process.

Who waits for the process sees the signal, as if nobody had caught it. Captures and the explorer, while they run, have answers
of their own; what is ignored stays so, as under nohup.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name))
"""SIGINT is Python's KeyboardInterrupt. Windows has neither SIGHUP nor SIGQUIT."""


class Ended(SystemExit):
    """A signal came. Event loops let this through, as they do no other exception but KeyboardInterrupt.

    Args:
        number: Of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number


def until_signalled(work: Callable[[], int]) -> int:
    """Do it, and return what it returns; a signal that comes meanwhile ends the process when all is cleared away.

    What was unpacked goes before signals end the process at once again, however the work ends.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()  # signals are the main thread's
    caught = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    late: list[int] = []
    try:
        try:
            for number in caught:
                signal.signal(number, _end)
            return work()
        finally:
            for number in caught:
                signal.signal(number, lambda number, _: late.append(number))  # nothing left to interrupt
            remove_unpacked()
    except Ended as ended:
        late.insert(0, ended.number)
        for number in caught:
            signal.signal(number, signal.SIG_IGN)  # one is enough
        remove_unpacked()  # the signal may have come before the work's own end removed it
        raise
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)
        if late:
            os.kill(os.getpid(), late[0])


def remove_unpacked() -> None:
    """Remove what archives were unpacked to, without loading what unpacks them."""
    if archive := sys.modules.get("trex_tui.artifacts.archive"):
        archive.forget()


def _end(number: int, _: FrameType | None) -> None:
    raise Ended(number)
