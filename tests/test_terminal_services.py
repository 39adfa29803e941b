"""In a real pseudo-terminal: drawing in ASCII, suspending to the shell and coming back, copying, themes."""

from __future__ import annotations

import base64
import os
import shlex
import signal
import sys

import pytest

from helpers import some
from test_terminal import engine, start

__all__ = ["engine", "start"]

pytestmark = pytest.mark.terminal
ALTERNATE_SCREEN = b"\x1b[?1049h"
SHELL = "import os; os.execvp('bash', ['bash', '--norc', '--noprofile', '-i'])"


@pytest.mark.parametrize("how", some(["locale", "option", "variable"], 2))
def test_ascii_terminal_gets_ascii_alone(start, engine, how):
    arguments = ["--ascii"] if how == "option" else []
    environment = {"variable": {"TREX_TUI_ASCII": "1"}, "locale": {"LC_ALL": "de_DE.ISO-8859-1"}}.get(how, {})
    terminal = start(engine, *arguments, TERM="vt100", PYTHONCOERCECLOCALE="0", **environment)
    terminal.shows("q quit")
    terminal.send("?")
    terminal.shows("Down one line.")
    terminal.send("q:")
    terminal.shows("Command, layer name")
    terminal.send("\x03")
    assert terminal.finish() == 0
    assert terminal.written.isascii()


def test_suspended_to_the_shell_and_back(start, engine):
    terminal = start(code=SHELL, PS1="shell$ ")
    terminal.shows("shell$")
    terminal.send(f"{sys.executable} -m trex_tui {shlex.quote(str(engine))}\n")
    terminal.shows("q quit")
    for times in (1, 2):
        terminal.send("\x1a")
        terminal.until(lambda times=times: terminal.written.count(b"Stopped") == times, "the shell")
        begun = terminal.written.count(ALTERNATE_SCREEN)
        terminal.send("clear; fg\n")
        terminal.until(
            lambda begun=begun: terminal.written.count(ALTERNATE_SCREEN) > begun, "the program again"
        )
        terminal.shows("q quit")
    terminal.send("?")
    terminal.shows("Down one line.")
    terminal.send("qq")
    terminal.shows("shell$")
    terminal.send("exit 7\n")
    assert terminal.finish() == 7


def test_without_a_shell_nothing_is_suspended(start, engine):
    terminal = start(engine)
    terminal.shows("q quit")
    terminal.send("\x1a")
    terminal.shows("Cannot suspend: no parent shell")
    terminal.send("?")
    terminal.shows("Down one line.")
    terminal.send("qq")
    assert terminal.finish() == 0
    terminal.check_restored()


def test_stopped_and_continued_from_outside(start, engine):
    """Then bytes that are no text, as a terminal of another encoding sends them."""
    terminal = start(engine)
    terminal.shows("q quit")
    begun = terminal.written.count(ALTERNATE_SCREEN)
    terminal.child.kill(signal.SIGSTOP)
    os.waitpid(terminal.child.pid, os.WUNTRACED)
    terminal.child.kill(signal.SIGCONT)
    terminal.until(lambda: terminal.written.count(ALTERNATE_SCREEN) > begun, "the program again")
    terminal.send(b"\xe9\xff")
    terminal.send("?")
    terminal.shows("Down one line.")
    terminal.send("qq")
    assert terminal.finish() == 0
    terminal.check_restored()


def test_copy_goes_to_the_terminals_clipboard(start, engine):
    terminal = start(engine, TMUX="/tmp/tmux-0/default,1,0")
    terminal.shows("q quit")
    terminal.send("y")
    terminal.shows("set-clipboard on")
    terminal.send("q")
    assert terminal.finish() == 0
    assert b"\x1b]52;c;" + base64.b64encode(b"/head/fc/Gemm") in terminal.written


@pytest.mark.parametrize(
    "theme", some(["ansi-light", "trex-contrast-dark", "nord", "trex-light", "trex-contrast-light"], 2)
)
def test_theme_of_the_environment_is_there_from_the_first_frame(start, engine, theme):
    terminal = start(engine, TEXTUAL_THEME=theme)
    terminal.shows("q quit")
    terminal.send("q")
    assert terminal.finish() == 0
    terminal.check_restored()
