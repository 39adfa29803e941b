"""Screens as text: panes without tab bar and footer, and those two once. UPDATE_GOLDENS=1 writes them anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from tui import LARGE, SMALL, check_golden, chrome_text, running

from helpers import DIGITS, TO_LAYERS
from small_engines import several_engines, small_engine

SIZES = [pytest.param(SMALL, id="80x24"), pytest.param(LARGE, id="160x45")]


def suffix(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"


@pytest.fixture(autouse=True)
def _short_paths(tmp_path, monkeypatch):
    """Paths on screen are relative: a golden must not hold the name of a temporary directory."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("size", SIZES)
async def test_latency_and_layers(size):
    async with running(small_engine(Path("net")), size) as session:
        check_golden(session.app, f"latency_{suffix(size)}")
        await session.press(TO_LAYERS)
        await session.until(lambda: session.layers.facts is not None)
        await session.pilot.pause()
        check_golden(session.app, f"layers_{suffix(size)}")


@pytest.mark.parametrize("size", SIZES)
async def test_chrome(size):
    async with running(small_engine(Path("net")), size) as session:
        for key in DIGITS.values():
            await session.press(key)
        await session.press(TO_LAYERS)
        check_golden(session.app, f"chrome_{suffix(size)}", chrome_text)


async def test_windows_and_filter():
    async with running(small_engine(Path("net"))) as session:
        await session.press("exclamation_mark")
        check_golden(session.app, "notes_80x24")
        await session.press("q", "question_mark")
        check_golden(session.app, "help_80x24")
        await session.press("q", "s")
        check_golden(session.app, "sort_80x24")
        await session.press("escape", "slash", *"conv")
        check_golden(session.app, "filter_80x24")


async def test_list_of_engines():
    async with running(several_engines(Path("nets"))) as session:
        check_golden(session.app, "engines_80x24")


async def test_too_small():
    async with running(small_engine(Path("net")), (40, 10)) as session:
        check_golden(session.app, "too_small_40x10")
