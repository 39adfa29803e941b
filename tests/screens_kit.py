"""Start the explorer in Textual's pilot and wait for what it shows: for conditions, never for a time."""

from __future__ import annotations

import argparse
import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from trex_tui.app import TrexApp
from trex_tui.cli.explore import add_arguments, finder
from trex_tui.cli.options import CommandParser
from trex_tui.screens.engine import EngineScreen
from trex_tui.screens.jobs import JOB

SAMPLES = Path(__file__).parents[1] / "sample_artifacts"
_MOST_TURNS = 1000
"""Of the event loop, not seconds: a busy machine does not fail a test. Turns while a job works do not count …"""
_MOST_S = 120.0
"""… up to this processor time."""


def parse(*arguments: str) -> argparse.Namespace:
    parser = CommandParser(prog="trex-tui")
    add_arguments(parser)
    return parser.parse(list(arguments))


class Explorer:
    """A running explorer.

    Attributes:
        app: The app.
        pilot: Presses keys and clicks.
    """

    def __init__(self, app: TrexApp, pilot: Pilot[Any]) -> None:
        self.app, self.pilot = app, pilot

    async def wait(self, condition: Callable[[], Any]) -> Any:
        """Wait until a condition holds; return its value."""
        turns, end = 0, time.process_time() + _MOST_S
        while turns < _MOST_TURNS and time.process_time() < end:
            turns += not any(thread.name == JOB for thread in threading.enumerate())
            if value := condition():
                return value
            if not self.app.is_running:
                raise AssertionError("the explorer has ended")
            await self.pilot.pause()
            await asyncio.sleep(0.01)
        raise AssertionError(f"waited in vain; the screen:\n{self.text}")

    async def press(self, *keys: str) -> None:
        """Press keys; return when all of them are answered."""
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def see(self, text: str) -> str:
        """Wait until the screen shows a text; return the whole screen."""
        await self.wait(lambda: text in self.text)
        return self.text

    @property
    def screen(self) -> EngineScreen:
        """The screen of the engine."""
        assert isinstance(self.app.screen, EngineScreen)
        return self.app.screen

    @property
    def lines(self) -> list[str]:
        """The lines on screen, as text."""
        # The one private name: Textual has no public way to read its screen as text.
        strips = self.app.screen._compositor.render_strips()
        return [strip.text.rstrip() for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@asynccontextmanager
async def explore(*arguments: str | Path, size: tuple[int, int] = (120, 35)) -> AsyncIterator[Explorer]:
    """Run the explorer for arguments of `trex-tui open`, up to the first tab with data."""
    options = parse(*map(str, arguments))
    app = TrexApp(options.paths or ["."], finder(options))
    async with app.run_test(size=size, notifications=True) as pilot:
        explorer = Explorer(app, pilot)
        await explorer.wait(lambda: len(app.screen_stack) > 1)
        await explorer.wait(lambda: app.screen.is_mounted and app.screen.query("#screens > *, FrameTable"))
        await pilot.pause()
        yield explorer
