"""How long a Textual app takes from a key to the frames that answer it.

The app runs as in a terminal, not headless: whatever it draws is rendered into escape sequences and handed to a driver that
notes the time of each write and throws the text away. A key is sent through the driver, as a terminal's would be; the clock
starts there. Two times are taken of each key: to the first frame written after it, and to the last one before the app is
quiet: for about four frames it wrote nothing, kept nobody waiting, and no worker ran. Cursors do not blink meanwhile.

Textual draws at most 60 frames a second, so a frame may wait up to 17 ms for its turn; that is in every figure, also in those
of the floor.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar

from textual import events
from textual.app import App
from textual.drivers.headless_driver import HeadlessDriver
from textual.pilot import Pilot
from textual.widgets import Input

SIZE = (160, 45)
POLL_SECONDS, CALM_POLLS = 0.008, 8
"""The app is quiet when this many polls in a row, about four frames, saw nothing happen."""
MOST_SECONDS = 20.0
_NAMES = {"slash": "/", "greater_than_sign": ">"}


class FrameDriver(HeadlessDriver):
    """Takes frames like a terminal, and only notes when."""

    frames: ClassVar[list[float]] = []

    @property
    def is_headless(self) -> bool:
        """False: a headless app draws nothing."""
        return False

    def write(self, data: str) -> None:
        """Note a frame. Title, bell and such are short, and no frame."""
        if len(data) > 16:
            self.frames.append(perf_counter())


@dataclass(frozen=True, slots=True)
class Answer:
    """Seconds from a key to the first frame and to the last one that it caused; None where nothing was drawn."""

    first: float | None
    last: float | None


class KeyTimer:
    """Presses keys in a running app, and times the frames."""

    def __init__(self, pilot: Pilot[Any]) -> None:
        self.app, self._pilot = pilot.app, pilot
        driver = self.app._driver
        assert isinstance(driver, FrameDriver)
        self._driver = driver

    async def press(self, key: str) -> Answer:
        """Press a key and wait until the app is quiet."""
        await self.quiet()
        for line in self.app.screen.query(Input):
            line.cursor_blink = False
        frames = self._driver.frames
        frames.clear()
        start = perf_counter()
        self._driver.send_message(events.Key(key, _character(key)))
        await self.quiet()
        if not frames:
            return Answer(None, None)
        return Answer(frames[0] - start, frames[-1] - start)

    async def quiet(self) -> None:
        """Wait until the app has nothing to do: it draws nothing, and lets others run as soon as they want to."""
        end = perf_counter() + MOST_SECONDS
        calm = 0
        while perf_counter() < end:
            before, start = len(self._driver.frames), perf_counter()
            await asyncio.sleep(POLL_SECONDS)
            is_late = perf_counter() - start > 2 * POLL_SECONDS
            is_working = any(worker.is_running for worker in self.app.workers)
            is_calm = len(self._driver.frames) == before and not is_late and not is_working
            calm = calm + 1 if is_calm else 0
            if calm >= CALM_POLLS:
                return
        raise TimeoutError(f"the app is still drawing after {MOST_SECONDS:.0f} s")

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for something outside keys, such as reading."""
        end = perf_counter() + 6 * MOST_SECONDS
        while not condition():
            if perf_counter() > end:
                raise TimeoutError("the app never got there")
            await asyncio.sleep(POLL_SECONDS)


def run_timed(app: App[Any], drive: Callable[[KeyTimer], Awaitable[None]]) -> None:
    """Run an app, and `drive` it by its keys until that is done.

    Raises:
        BaseException: Whatever `drive` raises.
    """
    problems: list[BaseException] = []

    async def pilot_runs(pilot: Pilot[Any]) -> None:
        try:
            await drive(KeyTimer(pilot))
        except Exception as error:  # noqa: BLE001 - told again below: the app would swallow it
            problems.append(error)
        app.exit()

    app.driver_class = FrameDriver
    app.animation_level = "none"
    asyncio.run(app.run_async(size=SIZE, mouse=False, auto_pilot=pilot_runs))
    if problems:
        raise problems[0]


def _character(key: str) -> str | None:
    if len(key) == 1:
        return key
    if key in _NAMES:
        return _NAMES[key]
    try:
        return unicodedata.lookup(key.replace("_", " ").upper())
    except KeyError:
        return None
