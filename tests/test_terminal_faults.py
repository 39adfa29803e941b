"""In a real pseudo-terminal: it goes away, the end comes before the beginning is over, and faults leave it as it was."""

from __future__ import annotations

import os

import pytest

from test_terminal import engine, start

__all__ = ["engine", "start"]

pytestmark = pytest.mark.terminal


def _read_until(terminal: int, wanted: bytes) -> None:
    seen = b""
    while wanted not in seen:
        seen += os.read(terminal, 65536)
