"""In a real pseudo-terminal: it goes away, the end comes before the beginning is over, and faults leave it as it was."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios

import pytest

from test_terminal import TIMEOUT_S, engine, start

__all__ = ["engine", "start"]

pytestmark = pytest.mark.terminal


def _read_until(terminal: int, wanted: bytes) -> None:
    seen = b""
    while wanted not in seen:
        seen += os.read(terminal, 65536)


@pytest.mark.parametrize("is_its_own", [True, False], ids=["with a signal", "without a signal"])
def test_a_terminal_that_is_gone_ends_the_program(engine, tmp_path, is_its_own):
    """The system tells by SIGHUP only those whose terminal it is; others find out when they read or write."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def prepare() -> None:
        os.setsid()
        if is_its_own:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    log = tmp_path / "log"
    child = subprocess.Popen(
        [sys.executable, "-m", "trex_tui", "--log-file", str(log), str(engine)],
        **dict.fromkeys(("stdin", "stdout", "stderr"), theirs),
        preexec_fn=prepare,
        env=os.environ | {"TERM": "xterm-256color", "TEXTUAL_ANIMATIONS": "none"},
    )
    try:
        os.close(theirs)
        _read_until(ours, b"quit")
        os.close(ours)
        assert child.wait(TIMEOUT_S) == 129
    finally:
        child.kill()
        child.wait()
    assert not log.exists(), "that is nobody's fault"


def test_a_signal_before_the_first_frame(start, engine):
    terminal = start(engine)
    terminal.until(lambda: b"\x1b[?1049h" in terminal.written, "the other screen")
    terminal.child.kill(signal.SIGQUIT)
    assert terminal.finish() == 131
    assert terminal.after == terminal.before
    assert terminal.written.rindex(b"\x1b[?1049l") > terminal.written.rindex(b"\x1b[?1049h")
    assert terminal.written.rindex(b"\x1b[?25h") > terminal.written.rindex(b"\x1b[?25l")
    assert b"internal error" not in terminal.written
