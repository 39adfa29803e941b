"""The explorer in a real pseudo-terminal: start, quit, suspend, signals, and terminals that it refuses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pyte
import pytest

from patience import Patience
from screens_kit import SAMPLES

pytestmark = [pytest.mark.terminal, pytest.mark.skipif(os.name != "posix", reason="no pseudo-terminals")]
_PROGRAM = (
    "import sys; from trex_tui.cli import explore, options; p = options.CommandParser(prog='t'); explore.add_arguments(p);"
    " sys.exit(explore.run(p.parse(sys.argv[1:])))"
)
_MODES = 4  # input, output, control and local modes of `tcgetattr`


class Shell:
    """bash in a pseudo-terminal, with what it shows."""

    def __init__(self, child: pexpect.spawn) -> None:
        self.child = child
        self.screen = pyte.Screen(100, 30)
        self.raw = b""
        self._stream = pyte.ByteStream(self.screen)

    def send(self, text: str) -> None:
        self.child.send(text)

    def see(self, text: str) -> None:
        """Wait until the terminal shows a text."""
        self.wait(lambda: any(text in line for line in self.screen.display))

    def wait(self, condition: Callable[[], bool]) -> None:
        """Read what the terminal gets until a condition holds."""
        patience = Patience(self.child.pid)
        while not condition():
            assert not patience.is_over(), "\n".join(self.screen.display)
            try:
                data = self.child.read_nonblocking(65536, timeout=0.1)
            except pexpect.TIMEOUT:
                continue
            self.raw += data
            self._stream.feed(data)

    def modes(self) -> list[object]:
        return termios.tcgetattr(self.child.child_fd)[:_MODES]

    def program(self) -> int:
        """Return the process of the explorer."""
        children = Path(f"/proc/{self.child.pid}/task/{self.child.pid}/children").read_text().split()
        return int(children[-1])


@contextmanager
def shell(tmp_path: Path, **variables: str) -> Iterator[Shell]:
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LC_ALL": "C.UTF-8",
        "PS1": "prompt> ",
    }
    environment |= {
        "XDG_CONFIG_HOME": str(tmp_path),
        "PYTHON": sys.executable,
        "PROGRAM": _PROGRAM,
        **variables,
    }
    child = pexpect.spawn(
        "bash", ["--norc", "--noprofile", "-i"], env=environment, dimensions=(30, 100), timeout=60
    )
    started = Shell(child)
    try:
        started.see("prompt>")
        yield started
    finally:
        child.close(force=True)


def start(terminal: Shell, sample: str = "alexnet") -> list[object]:
    """Start the explorer; return the modes of the terminal before."""
    modes = terminal.modes()
    terminal.send(f'"$PYTHON" -c "$PROGRAM" {SAMPLES / sample}\n')
    terminal.see("1 Overview")
    return modes


def see_the_end(terminal: Shell) -> None:
    """Wait for the prompt behind the end of the explorer: an earlier one may still be on the screen."""

    def has_ended() -> bool:
        end = terminal.raw.rfind(b"[?1049l")
        return end > terminal.raw.rfind(b"[?1049h") and b"prompt>" in terminal.raw[end:]

    terminal.wait(has_ended)


def is_restored(terminal: Shell, modes: list[object]) -> bool:
    """Return whether the shell has its terminal back: modes, screen and mouse."""
    raw = terminal.raw
    is_left = all(
        raw.rfind(off) > raw.rfind(on) for on, off in ((b"[?1049h", b"[?1049l"), (b"[?1003h", b"[?1003l"))
    )
    return terminal.modes() == modes and is_left


def test_quit_restores_the_terminal(tmp_path: Path):
    with shell(tmp_path) as terminal:
        modes = start(terminal)
        terminal.send("q")
        see_the_end(terminal)
        terminal.send("echo code $?\n")
        terminal.see("code 0")
        assert is_restored(terminal, modes)


def test_suspend_and_continue(tmp_path: Path):
    with shell(tmp_path) as terminal:
        modes = start(terminal)
        terminal.send("\x1a")
        terminal.see("Stopped")
        assert is_restored(terminal, modes)
        terminal.send("fg\n")
        terminal.see("1 Overview")
        terminal.send("3")
        terminal.see("Cum %")
        terminal.send("q")
        see_the_end(terminal)
        assert is_restored(terminal, modes)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_ended_by_a_signal(tmp_path: Path, number: signal.Signals):
    with shell(tmp_path) as terminal:
        modes = start(terminal)
        os.kill(terminal.program(), number)
        see_the_end(terminal)
        terminal.send("echo code $?\n")
        terminal.see(f"code {128 + number}")
        assert is_restored(terminal, modes)


def test_suspend_right_after_quit_leaves_no_broken_terminal(tmp_path: Path):
    with shell(tmp_path) as terminal:
        modes = start(terminal)
        terminal.send("q\x1a")
        see_the_end(terminal)
        terminal.send("fg; echo ov''er\n")
        terminal.see("over")
        assert is_restored(terminal, modes)


def test_without_colors_no_color_is_sent(tmp_path: Path):
    with shell(tmp_path, NO_COLOR="1") as terminal:
        start(terminal)
        terminal.send("3")
        terminal.see("Cum %")
        assert b"[38;" not in terminal.raw
        assert b"[48;" not in terminal.raw
        assert b"[31m" not in terminal.raw


@pytest.mark.parametrize("term", ["dumb", ""])
def test_no_terminal_is_a_sentence_with_the_command_that_answers(term: str):
    result = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(SAMPLES / "alexnet")],
        env={**os.environ, "TERM": term},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "not a terminal; use `trex-tui summary" in result.stderr
