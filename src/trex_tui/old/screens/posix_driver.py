"""Driver that survives the loss of its terminal and suspends only under job control.

Textual's driver has six gaps. A byte that is not UTF-8 ends its reading thread and the program. The parts of a key that
arrive separately become other keys. Its writing thread ends with the first write to a lost terminal; then its queue fills up
and the program blocks. After a loss of the terminal its reading thread makes the program print a traceback. A signal after
the terminal was changed, but before the app is mounted, ends the process at once. And it stops the process with SIGSTOP,
which cannot be refused: without a shell, as under `ssh -t HOST trex-tui`, the process could not be continued.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from contextlib import suppress
from time import monotonic
from types import FrameType
from typing import IO, Any

from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.events import AppFocus, Resize
from textual.message import Message

from trex_tui.old.screens.changed_cells import ChangedCells
from trex_tui.old.screens.driver import catch_signals


class LastingOutput:
    """Output that ignores writes after the loss of its terminal.

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


POLL_S = 0.1
LONGEST_PART_S = 1.0
"""Time limit for the rest of a sequence. A lone Esc waits for `ESCDELAY`, as in Textual."""
_MOST_PART = 64
_PART = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)\Z")


class PartialKeys:
    """Buffer for incomplete key sequences.

    A slow connection delivers `ESC [ A` in parts. After a tenth of a second Textual takes the first part for the key Esc, and
    the rest for letters: an arrow closes a window, and types into what is below.
    """

    def __init__(self) -> None:
        self._part, self._since = "", 0.0

    def take(self, text: str) -> str:
        """Return the complete sequences."""
        text = self._part + text
        match = _PART.search(text, max(0, len(text) - _MOST_PART))
        self._part, self._since = match[0] if match else "", monotonic()
        return text[: len(text) - len(self._part)]

    def give_up(self) -> str:
        """Return input held longer than the limit; empty if there is none."""
        if not self._part or monotonic() - self._since < LONGEST_PART_S:
            return ""
        part, self._part = self._part, ""
        return part


class LastingDriver(LinuxDriver):
    """Textual's driver, which survives the loss of its terminal."""

    _is_lasting = False
    _was_continued = False

    def start_application_mode(self) -> None:
        """Install the signal handlers, then start the terminal."""
        if not self._is_lasting:
            self._is_lasting = True
            catch_signals(self._app.killed)  # type: ignore[attr-defined]  # there is no other app here
            lasting_output = LastingOutput(self._file, self._terminal_gone)
            self._file: Any = ChangedCells(
                lasting_output, self._get_terminal_size, erases_in_colour=_erases_in_colour(self.fileno)
            )
        super().start_application_mode()  # type: ignore[no-untyped-call]
        on_resize = signal.getsignal(signal.SIGWINCH)

        def resized(number: int, frame: FrameType | None) -> None:
            self.forget_cells()
            if callable(on_resize):
                on_resize(number, frame)

        signal.signal(signal.SIGWINCH, resized)

    def forget_cells(self) -> None:
        """Redraw every cell with the next frame."""
        self._file.forget()

    def process_message(self, message: Message) -> None:
        """A resize may have moved cells; while the app was stopped, other programs may have written."""
        if isinstance(message, Resize | AppFocus):
            self.forget_cells()
        super().process_message(message)

    def run_input_thread(self) -> None:
        """Read keys until the end, or the loss of the terminal."""
        try:
            self._read_keys()
        except (OSError, ValueError):
            self._terminal_gone()

    def _read_keys(self) -> None:
        """Read like Textual, except for bytes that are not UTF-8 and sequences that arrive in parts."""
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        keys = PartialKeys()
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(POLL_S):
                    data = os.read(self.fileno, 4096)
                    if not data:
                        raise OSError("the terminal has gone")
                    text = keys.take(decode(data))
                else:
                    # Only now: on a busy machine the rest of a sequence may still be unread.
                    self._process(parser.tick())
                    text = keys.give_up()
                if text:
                    self._process(parser.feed(text))

    def _process(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)

    # A signal may arrive while the main thread holds the lock of the queue of output: a handler that writes would wait for
    # itself forever. The handlers leave that to the event loop.

    def _sigtstp_application(self, *_: object) -> None:
        self._soon(self._stop)

    def _sigcont_application(self, *_: object) -> None:
        self._was_continued = True
        self._soon(self._continue)

    def _soon(self, function: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(function)

    def _stop(self) -> None:
        """Stop by SIGTSTP, which the kernel ignores if there is no shell to continue the process."""
        self.suspend_application_mode()
        self._must_signal_resume = True
        self._was_continued = False
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._sigtstp_application)
        if not self._was_continued:
            self.resume_application_mode()
            words = "Cannot suspend: no parent shell."
            self._app.call_later(self._app.notify, words, severity="warning")

    def _continue(self) -> None:
        """Redraw; after SIGSTOP, which cannot be handled, stop drawing first."""
        if self._is_reading:
            self.suspend_application_mode()
        self.resume_application_mode()

    def give_back(self) -> None:
        """Restore the terminal from any thread: outside the main thread, Textual leaves the mouse on."""
        self._disable_mouse_support()
        self.stop_application_mode()
        self.close()

    @property
    def _is_reading(self) -> bool:
        return self._key_thread is not None and self._key_thread.is_alive()

    def _terminal_gone(self) -> None:
        """Handle the loss of the terminal, in a thread, like the signal that a controlling terminal sends."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._app.killed, signal.SIGHUP)  # type: ignore[attr-defined]


def _erases_in_colour(fileno: int) -> bool:
    """Return whether a terminal erases cells to the background that is set; False where terminfo does not know it."""
    with suppress(ImportError):
        import curses

        with suppress(curses.error):
            curses.setupterm(fd=fileno)
            return curses.tigetflag("bce") > 0
    return False


def lasting(driver: type[Driver]) -> type[Driver]:
    """Return a driver class that survives the loss of its terminal; drivers of browsers stay unchanged."""
    return LastingDriver if driver is LinuxDriver else driver
