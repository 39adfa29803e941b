"""The terminal stays sane: when the program is stopped, continued, ended by a signal, or loses it.

Textual handles Ctrl-Z inside the signal handler: one that arrives while it writes waits for itself forever, one that arrives
while it ends starts the terminal's application mode again, and after `kill -STOP` it reads keys twice. Here signals wait for
the event loop.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Thread, Timer
from typing import Any

from textual.app import App
from textual.driver import Driver

_GRACE_S = 5.0
"""Time for an orderly end after a signal; without its terminal a write may wait forever."""


class Signals:
    """Handles the signals of an app, in its event loop.

    Attributes:
        ended_by: The signal that ended the app; None for none.
    """

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self.ended_by: int | None = None
        self._is_watched = False

    def catch(self) -> None:
        """Handle signals from now on."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTSTP, self._stop)
        loop.add_signal_handler(signal.SIGCONT, self._continue)
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                loop.add_signal_handler(number, self._end, number)
        if not self._is_watched:
            self._is_watched = True
            Thread(target=self._wait_for_hangup, args=(loop,), daemon=True).start()

    def _wait_for_hangup(self, loop: asyncio.AbstractEventLoop) -> None:
        """End the app when its terminal is gone: SIGHUP comes only to those whose controlling terminal it is."""
        poll = select.poll()
        poll.register(sys.__stdin__.fileno(), 0)  # type: ignore[union-attr]
        if any(event & select.POLLHUP for _, event in poll.poll()):
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._end, signal.SIGHUP)

    def ignore_stops(self) -> None:
        """Let the app end: the terminal is about to be restored."""
        if os.name == "posix":
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTSTP, signal.SIGCONT):
                loop.remove_signal_handler(number)
            signal.signal(signal.SIGTSTP, signal.SIG_IGN)

    def _stop(self) -> None:
        """Stop as other programs do: by SIGTSTP, which the kernel ignores where no shell could continue it."""
        loop = asyncio.get_running_loop()
        loop.remove_signal_handler(signal.SIGCONT)
        with self._app.suspend():
            loop.remove_signal_handler(signal.SIGTSTP)  # its default, which stops
            os.kill(os.getpid(), signal.SIGTSTP)
        loop.add_signal_handler(signal.SIGTSTP, self._stop)
        loop.add_signal_handler(signal.SIGCONT, self._continue)

    def _continue(self) -> None:
        """Start the terminal again: after SIGSTOP a shell has changed it."""
        with self._app.suspend():
            pass

    def _end(self, number: int) -> None:
        if self.ended_by is not None:
            return
        self.ended_by = number
        timer = Timer(_GRACE_S, os._exit, (128 + number,))
        timer.daemon = True
        timer.start()
        self._app.exit()


def lasting(driver: type[Driver], prepare: Callable[[], object]) -> type[Driver]:
    """Return a driver class that survives a byte that is not UTF-8.

    Args:
        prepare: Called before it changes the terminal.
    """
    if os.name != "posix":
        return driver

    class LastingDriver(driver):  # type: ignore[misc, valid-type]
        run_input_thread: Callable[[], None]

        def start_application_mode(self) -> None:
            prepare()
            super().start_application_mode()

        def run_input_thread(self) -> None:  # type: ignore[no-redef]
            while True:
                with suppress(UnicodeDecodeError):
                    with suppress(OSError):  # the terminal is gone
                        super().run_input_thread()
                    return

    return LastingDriver
