"""The program in a real pseudo-terminal: what it draws, how it leaves the terminal, and its exit code.

Ctrl-C is a key of the interface and a normal way to quit: 0. (130 is for commands that a signal interrupts.)
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pexpect
import pyte
import pytest

from helpers import some
from patience import Patience
from small_engines import small_engine

pytestmark = pytest.mark.terminal
TIMEOUT_S = 150.0
"""Nothing waits for so long unless it fails, also on a machine under load."""
COLOUR = re.compile(
    rb"\x1b\[(?:[\d;:]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;:m\d]*m|\x1b\[(?:[\d;]*;)?[34]8[:;]"
)


class Terminal:
    """The program in a terminal of its own; what it wrote, and what is on the screen."""

    def __init__(
        self, arguments: list[str], size: tuple[int, int], environment: dict[str, str], code: str
    ) -> None:
        width, height = size
        self.written = b""
        self.display = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self.display)
        settings = {
            key: value
            for key, value in os.environ.items()
            if key not in ("NO_COLOR", "COLORTERM", "TERM", "COLUMNS", "LINES")
        }
        settings |= {"TERM": "xterm-256color", "TEXTUAL_ANIMATIONS": "none"} | environment
        program = ["-c", code] if code else ["-m", "trex_tui"]
        self.child = pexpect.spawn(
            sys.executable,
            [*program, *arguments],
            dimensions=(height, width),
            env=settings,
            timeout=TIMEOUT_S,
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
        """Read what the program writes until the screen is as wanted."""
        patience = Patience(self.child.pid)
        while not condition():
            if patience.is_over() or not self._read():
                pytest.fail(f"waited in vain for {what}:\n{self.text}")

    def shows(self, text: str) -> None:
        self.until(lambda: text in self.text, text)

    def send(self, keys: str) -> None:
        self.child.send(keys)

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

    def check_restored(self) -> None:
        """The terminal is as it was found: attributes, screen, cursor, mouse and paste modes."""
        assert self.after == self.before
        for on, off in [
            (b"\x1b[?1049h", b"\x1b[?1049l"),
            (b"\x1b[?25l", b"\x1b[?25h"),
            (b"\x1b[?1000h", b"\x1b[?1000l"),
        ]:
            assert on in self.written
            assert self.written.rindex(off) > self.written.rindex(on)
        assert self.written.rindex(b"\x1b[?2004l") > self.written.rindex(b"\x1b[?2004h")
        assert b"1 Overview" not in self.written.rsplit(b"\x1b[?1049l", 1)[1], (
            "a frame on the screen of the shell"
        )


@pytest.fixture
def start():
    """Start the program; it is gone when the test ends."""
    started: list[Terminal] = []

    def start(
        *arguments: object, size: tuple[int, int] = (80, 24), code: str = "", **environment: str
    ) -> Terminal:
        terminal = Terminal([str(one) for one in arguments], size, environment, code)
        started.append(terminal)
        return terminal

    yield start
    for terminal in started:
        terminal.end()


@pytest.fixture(scope="module")
def engine(tmp_path_factory) -> Path:
    return small_engine(tmp_path_factory.mktemp("engine"))


@pytest.mark.parametrize(
    "keys",
    some(["/conv\x03", "\x10\x03", "\x03", "?\x03"], 2),
)
def test_ctrl_c_is_a_normal_quit(start, engine, keys):
    terminal = start(engine)
    terminal.shows("q quit")
    for key in keys:
        terminal.send(key)
    assert terminal.finish() == 0
    terminal.check_restored()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 0)]
)
def test_signals_leave_the_terminal_as_it_was(start, engine, number, code):
    terminal = start(engine)
    terminal.shows("q quit")
    terminal.child.kill(number)
    assert terminal.finish() == code
    terminal.check_restored()


@pytest.mark.parametrize("term", some(["linux", "vt100", "xterm-16color"]))
def test_few_colours_are_the_terminals_own(start, engine, term):
    terminal = start(engine, TERM=term)
    terminal.shows("q quit")
    terminal.send("q")
    assert terminal.finish() == 0
    assert not re.search(rb"\x1b\[[\d;]*[34]8;[25]", terminal.written)


@pytest.mark.parametrize("term", some(["unknown", "dumb", ""], 2))
def test_terminal_that_cannot_draw(start, engine, term):
    terminal = start(engine, TERM=term)
    assert terminal.finish() == 2
    assert terminal.after == terminal.before
    assert b"\x1b" not in terminal.written
    assert b"trex-tui summary" in terminal.written


def test_no_terminal_at_all(engine):
    done = subprocess.run(
        [sys.executable, "-m", "trex_tui", str(engine)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TERM": "xterm-256color"},
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"trex-tui summary {engine}" in done.stderr
