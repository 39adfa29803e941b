"""End a command on signals: unwind as for Ctrl-C, remove unpacked files, and end the process by the signal.

The parent process sees the signal, as if it had not been caught. Captures and the explorer handle signals themselves while
they run; ignored signals stay ignored, as under nohup.
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
    """A signal arrived. Event loops pass on this exception, as they do only for KeyboardInterrupt.

    Args:
        number: Number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number


def until_signalled(work: Callable[[], int]) -> int:
    """Run `work` and return its result; a signal during it ends the process after cleanup.

    Unpacked files are removed before default signal handling is restored, however the work ends.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()  # only the main thread handles signals
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
        remove_unpacked()  # the signal may have arrived before the work's own cleanup removed it
        raise
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)
        if late:
            os.kill(os.getpid(), late[0])


def remove_unpacked() -> None:
    """Remove unpacked archives, without loading the module that unpacks them."""
    if archive := sys.modules.get("trex_tui.old.artifacts.archive"):
        archive.forget()


def _end(number: int, _: FrameType | None) -> None:
    raise Ended(number)
