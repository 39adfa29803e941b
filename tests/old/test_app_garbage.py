"""What is closed, replaced or left can be collected: no cache of ours or of Textual keeps it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

import pytest
from textual.screen import Screen
from textual.widget import Widget

from helpers import some
from trex_tui.old.app import TrexApp
from trex_tui.old.engine.engine import Engine
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.screens.engines import EnginesScreen
from tui import Session, running, several_engines, small_engine

PASSING = {"Engine": 0, "Widget": 12, "Screen": 3}
"""That a message or a search under way may hold. What stays is as many times more as there are rounds."""


MOST_S = 20.0
"""How long what stays may take to go: a thread on a busy machine holds its engine so long."""


@pytest.fixture(autouse=True)
def _leave_out_what_is_there() -> None:
    """What other tests left in the process is neither looked through nor counted, again and again."""
    gc.collect()
    gc.freeze()


@asynccontextmanager
async def nothing_stays(app: TrexApp, *, screens: int) -> AsyncIterator[None]:
    """Fail if more engines, widgets or screens than before can be reached afterwards.

    Args:
        screens: How many of the screens that are open stay open.
    """
    kinds = (Engine, Widget, Screen)

    def alive() -> dict[str, int]:
        gc.collect()
        found = [thing for thing in gc.get_objects() if isinstance(thing, kinds)]
        return {kind.__name__: sum(isinstance(thing, kind) for thing in found) for kind in kinds}

    before = alive()
    yield
    assert len(app.screen_stack) == screens
    began = monotonic()
    while True:
        after = alive()
        more = {kind: after[kind] for kind in after if after[kind] > before[kind] + PASSING[kind]}
        if not more or monotonic() > began + MOST_S:
            break
        await asyncio.sleep(0.05)
    assert more == {}, (before, after)


async def reload(session: Session) -> None:
    old = session.screen.engine
    await session.press("R")
    await session.until(
        lambda: (
            session.screen.engine is not old
            and not session.screen.is_rebuilt
            and session.screen.lint is not None
            and all(
                worker.is_finished for worker in session.app.workers
            )  # A thread holds its engine and screen.
        ),
        "the engine again",
    )


async def visit_tabs(session: Session) -> None:
    await session.press(*"12345678")
    await session.press("3", "slash", *"conv", "enter", "escape")


async def test_an_engine_that_was_read_again_is_gone(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await visit_tabs(session)
        await reload(session)
        await visit_tabs(session)
        await reload(session)
        async with nothing_stays(session.app, screens=2):
            for _ in range(4):
                await visit_tabs(session)
                await reload(session)


@pytest.mark.parametrize(
    "keys",
    some(
        [
            ("c", "slash"),
            ("colon",),
            ("e",),
            ("i",),
            ("s",),
            ("question_mark",),
            ("o",),
            ("exclamation_mark",),
        ],
        3,
    ),
)
async def test_a_window_that_was_closed_is_gone(tmp_path, keys):
    async with running(small_engine(tmp_path)) as session:

        async def open_and_close() -> None:
            await session.press(*keys)
            assert not isinstance(session.app.screen, EngineScreen)
            for _ in keys:
                await session.press("escape")
            await session.until(lambda: isinstance(session.app.screen, EngineScreen))
            await session.press("j")  # The frames of the last key hold the window.

        await open_and_close()
        async with nothing_stays(session.app, screens=2):
            for _ in range(PASSING["Screen"] + 1):
                await open_and_close()


async def test_an_engine_that_was_left_is_gone(tmp_path):
    async with running(several_engines(tmp_path)) as session:

        async def visit() -> None:
            await session.press("j", "enter")
            await session.until(lambda: isinstance(session.app.screen, EngineScreen) and session.screen.lint)
            await visit_tabs(session)
            await session.press("q")
            await session.until(lambda: isinstance(session.app.screen, EnginesScreen))

        await visit()
        await session.press("k")
        async with nothing_stays(session.app, screens=2):
            for _ in range(3):
                await visit()
                await session.press("k")
