"""Windows over a screen: keys that come faster than they close, and terminals without room for them."""

from __future__ import annotations

import pytest

from trex_tui.screens.engine import EngineScreen
from trex_tui.screens.export import ExportScreen
from trex_tui.screens.text_screens import HelpScreen
from tui import TO_MEMORY, running, small_engine


@pytest.mark.parametrize(("tab", "key"), [("layers", "T"), ("latency", "s"), ("charts", "c")])
async def test_enters_that_arrive_together_choose_once(tmp_path, tab, key):
    async with running(small_engine(tmp_path), tab=tab) as session:
        await session.press(key)
        session.type_ahead(*["enter"] * 4)
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        await session.press(TO_MEMORY)
        assert session.screen.pane.id == "memory"


async def test_enters_that_arrive_together_run_a_command_of_the_palette_once(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("colon")
        for letter in "keys that work":
            await session.press("space" if letter == " " else letter)
        await session.until(lambda: "Show the keys that work here." in session.text)
        session.type_ahead("down", *["enter"] * 5)
        await session.until(lambda: isinstance(session.app.screen, HelpScreen))
        await session.pilot.pause(0.2)
        assert [isinstance(screen, HelpScreen) for screen in session.app.screen_stack].count(True) == 1


async def test_enters_that_arrive_together_export_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with running(small_engine(tmp_path / "engine")) as session:
        await session.press("e")
        assert isinstance(session.app.screen, ExportScreen)
        session.type_ahead(*["enter"] * 4)
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        await session.until(lambda: list(tmp_path.glob("*.csv")), "the file")


@pytest.mark.parametrize("size", [(20, 3), (10, 2), (5, 1), (1, 1)])
@pytest.mark.parametrize("key", ["colon", "T", "e"], ids=["palette", "choice", "export"])
async def test_pages_of_a_list_without_room_are_not_turned(tmp_path, size, key):
    async with running(small_engine(tmp_path), size, tab="layers") as session:
        await session.press(key)
        depth = len(session.app.screen_stack)
        await session.press("pagedown", "pageup", "down", "pagedown", "pageup")
        await session.pilot.resize_terminal(80, 24)
        await session.press("pagedown")
        assert len(session.app.screen_stack) == depth
