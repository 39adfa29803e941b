"""The program, or a shell that starts it, in a pseudo-terminal: what it writes, what the screen shows, how it ends."""

from __future__ import annotations

import os
import re
import signal
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pexpect
import pyte
import pytest

from patience import Patience

ALTERNATE_SCREEN = b"\x1b[?1049h"
PROMPT = "shell$"
_SHELL = "import os; os.execvp('bash', ['bash', '--norc', '--noprofile', '-i'])"
_MODES = [
    (ALTERNATE_SCREEN, b"\x1b[?1049l"),
    (b"\x1b[?25l", b"\x1b[?25h"),
    (b"\x1b[?1000h", b"\x1b[?1000l"),
    (b"\x1b[?1003h", b"\x1b[?1003l"),
]
"""What switches a mode on and off: alternate screen, hidden cursor, clicks and moves of the mouse."""


class Terminal:
    """A program in a terminal of its own.

    Args:
        arguments: Of the program; `code` is Python to run in its place.

    Attributes:
        written: All bytes that it wrote.
        display: The screen.
    """

    def __init__(
        self, arguments: list[str], size: tuple[int, int], environment: dict[str, str], code: str = ""
    ) -> None:
        width, height = size
        self.written = b""
        self.display = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self.display)
        dropped = ("NO_COLOR", "COLORTERM", "TERM", "COLUMNS", "LINES")
        settings = {key: value for key, value in os.environ.items() if key not in dropped}
        self.child = pexpect.spawn(
            sys.executable,
            [*(["-c", code] if code else ["-m", "trex_tui"]), *arguments],
            dimensions=(height, width),
            env=settings | {"TERM": "xterm-256color"} | environment,
            # A job in the background of a script starts with SIGINT ignored, and so would this.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self.child.delaybeforesend = None
        self.before = termios.tcgetattr(self.child.child_fd)

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.display.display]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Read what the program writes until a condition holds."""
        patience = Patience(self.child.pid)
        while not condition():
            if patience.is_over() or not self._read():
                pytest.fail(f"waited in vain for {what}:\n{self.text}")

    def shows(self, text: str) -> None:
        self.until(lambda: text in self.text, text)

    def send(self, keys: str | bytes) -> None:
        self.child.send(keys)

    def press(self, *steps: tuple[str, str]) -> None:
        """Send keys, each after the screen has shown what follows from those before."""
        for keys, text in steps:
            self.send(keys)
            self.shows(text)

    def resumes(self, action: Callable[[], object]) -> None:
        """Do something that brings the explorer back, and wait until it has started its screen again."""
        count = self.written.count(ALTERNATE_SCREEN)
        self.display.reset()
        action()
        self.until(lambda: self.written.count(ALTERNATE_SCREEN) > count, "the explorer")
        self.shows("q close")

    def finish(self) -> int:
        """Read to the end; return the exit code, or minus the signal."""
        patience = Patience(self.child.pid)
        while self._read():
            assert not patience.is_over(), f"it does not end:\n{self.text}"
        self.after = termios.tcgetattr(self.child.child_fd)
        self.child.close()
        return self.child.exitstatus if self.child.exitstatus is not None else -self.child.signalstatus

    def end(self) -> None:
        """Kill the program if it is still there; pexpect gives up after a tenth of a second, in which it may get no turn."""
        if not self.child.closed:
            self.child.kill(signal.SIGKILL)
            self.child.wait()
            self.child.close()

    def _read(self) -> bool:
        """Take in what is there by now; False at the end."""
        try:
            data = self.child.read_nonblocking(65536, timeout=0.2)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.written += data
        # pyte takes the private parameters of kitty's and xterm's keyboard protocols for colours.
        self._stream.feed(re.sub(rb"\x1b\[[<>=?][\d;]*[um]", b"", data))
        return True

    def check_modes(self) -> None:
        """The terminal is as a shell needs it: screen, cursor and mouse; bash switches the mode of paste itself."""
        for on, off in _MODES:
            assert on in self.written
            assert self.written.rindex(off) > self.written.rindex(on)
        last = self.written.rsplit(b"\x1b[?1049l", 1)[1]
        assert b"Overview" not in last, "a frame on the screen of the shell"

    def check_restored(self) -> None:
        """After the end the terminal is as it was found, attributes too."""
        assert self.after == self.before
        assert self.written.rindex(b"\x1b[?2004l") > self.written.rindex(b"\x1b[?2004h")
        self.check_modes()


class Shell(Terminal):
    """bash in a terminal, as an interactive shell with jobs: what stops and continues the program."""

    def __init__(self, size: tuple[int, int] = (80, 24), **environment: str) -> None:
        super().__init__([], size, {"PS1": f"{PROMPT} ", **environment}, _SHELL)
        self.shows(PROMPT)
        # bash has other modes while it reads a line: those of jobs are to be compared.
        self.jobs = self._modes_of_jobs()

    def explore(self, path: Path) -> None:
        """Start the explorer, and wait for its first tab."""
        self.send(f"{sys.executable} -m trex_tui '{path}'\n")
        self.shows("q close")

    @property
    def program(self) -> int:
        """The process of the explorer."""
        return int(self._children()[-1])

    def prompts(self) -> None:
        """Wait for the prompt after the explorer has left its screen."""
        self.until(lambda: PROMPT.encode() in self.written.rsplit(b"\x1b[?1049l", 1)[-1], "the prompt")
        self.until(lambda: not self._children() or self._is_stopped(), "the end")

    def says(self, command: str, text: str) -> None:
        """Run a command, and wait for its output; write the text otherwise in the command, which is echoed."""
        self.send(f"{command}\n")
        self.shows(text)

    def check_sane(self) -> None:
        """The shell has its terminal back: what a job gets is what it would have got before."""
        self.check_modes()
        assert self._modes_of_jobs() == self.jobs

    def _modes_of_jobs(self) -> bytes:
        pattern = re.compile(rb"modes:([0-9a-f:]+):end")
        count = len(pattern.findall(self.written))
        self.send("echo mod''es:$(stty -g):end\n")
        self.until(lambda: len(pattern.findall(self.written)) > count, "modes of the terminal")
        return bytes(pattern.findall(self.written)[-1])

    def _children(self) -> list[str]:
        return Path(f"/proc/{self.child.pid}/task/{self.child.pid}/children").read_text().split()

    def _is_stopped(self) -> bool:
        with suppress(OSError):
            return Path(f"/proc/{self.program}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        return True


@contextmanager
def ended(terminal: Terminal) -> Iterator[Terminal]:
    """Kill the program at the end of a block."""
    try:
        yield terminal
    finally:
        terminal.end()
