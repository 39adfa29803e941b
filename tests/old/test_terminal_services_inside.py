"""In a real pseudo-terminal: drawing in ASCII, suspending to the shell and coming back, copying, themes."""

from __future__ import annotations

import pytest

from test_terminal import engine, start
from trex_tui.old.screens import posix_driver

__all__ = ["engine", "start"]
pytestmark = pytest.mark.terminal


def test_a_key_that_comes_in_parts_is_that_key(monkeypatch):
    """Of Esc followed by letters, the Esc would close a window."""
    now = [0.0]
    monkeypatch.setattr(posix_driver, "monotonic", lambda: now[0])
    keys = posix_driver.PartialKeys()
    assert keys.take("j\x1b[") == "j"
    now[0] += posix_driver.LONGEST_PART_S / 2
    assert keys.give_up() == ""
    assert keys.take("<65;1") == ""
    assert keys.take("2;3Mk\x1bO") == "\x1b[<65;12;3Mk"
    assert keys.take("A\x1b") == "\x1bOA\x1b", "Esc alone is a key"
    assert keys.take("[") == "["
    assert keys.take("\x1b[1;") == ""
    now[0] += posix_driver.LONGEST_PART_S
    assert keys.give_up() == "\x1b[1;"
    assert keys.give_up() == ""
