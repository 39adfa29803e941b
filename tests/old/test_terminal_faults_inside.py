"""In a real pseudo-terminal: it goes away, the end comes before the beginning is over, and faults leave it as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from test_terminal import engine, start

__all__ = ["engine", "start"]
pytestmark = pytest.mark.terminal


def test_faults_of_both_kinds_and_the_log_that_tells_of_them(start, engine, tmp_path):
    """One in a thread, after which a person goes on; then one in a key, which ends the program."""
    code = (
        "import sys, trex_tui.old.lint.run as r, trex_tui.old.app as a\n"
        "def fail(*a, **k): raise RuntimeError('broke')\n"
        "r.run = fail\n"
        "a.TrexApp.action_help = fail\n"
        "from trex_tui.__main__ import main\n"
        "sys.exit(main())"
    )
    log = Path(tmp_path / "log")
    terminal = start("--log-file", log, engine, code=code)
    terminal.shows("internal error")
    terminal.send("2")
    terminal.shows("By module")
    terminal.send("?")
    assert terminal.finish() == 70
    terminal.check_restored()
    last = terminal.written.rsplit(b"\x1b[?1049l", 1)[1]
    assert b"trex-tui: internal error: RuntimeError: broke (the traceback is in " in last
    assert b"Traceback" not in terminal.written
    told = log.read_text(encoding="utf-8")
    assert told.count("Traceback (most recent call last)") == 2
    assert "TERM=xterm-256color" in told
    assert "stdin 80x24" in told


STUCK = """
import asyncio, sys
from trex_tui.old import cli
from trex_tui.old.screens import driver
from trex_tui.old.screens.text_screens import HelpScreen

async def wait_for_ever(self):
    await asyncio.Event().wait()

def fail(*_):
    raise RuntimeError("broke")

def close_and_fail(self):
    self.dismiss()
    self.app.screen.call_later(fail)

driver.GRACE_S = 0.2
HelpScreen.on_unmount = wait_for_ever
HelpScreen.action_dismiss_dialog = {action}
sys.exit(cli.main())
"""
"""The help never ends; `q` there breaks the app."""


@pytest.mark.parametrize("action", ["fail", "close_and_fail"])
def test_an_internal_error_ends_the_program_while_a_window_never_closes(start, engine, action):
    """Whether Textual waits for the window on the way out, or the app itself already waits for it."""
    terminal = start(engine, code=STUCK.format(action=action))
    terminal.shows("q quit")
    terminal.send("?")
    terminal.shows("Down one line.")
    terminal.send("q")
    assert terminal.finish() == 70
    terminal.check_restored()
    assert b"trex-tui: internal error: RuntimeError: broke" in terminal.written.rsplit(b"\x1b[?1049l", 1)[1]
