"""What the tests of the terminal interface share: small engines, an app that has loaded, the screen as text."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import zip_longest
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import settle
from textual import events
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from trex_tui.old.analysis.load import LoadOptions
from trex_tui.old.app import TrexApp
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.screens.engines import EnginesScreen
from trex_tui.old.screens.latency import LatencyPane
from trex_tui.old.screens.layers import LayersPane
from trex_tui.old.screens.memory import MemoryPane
from trex_tui.old.screens.overview import OverviewPane
from trex_tui.old.widgets.filter_bar import FilterBar
from trex_tui.old.widgets.table_columns import MARK_COLUMN

GOLDENS = Path(__file__).parent / "golden_screens"
SMALL, LARGE = (80, 24), (160, 45)
LIMIT_S, LEAST_TURNS = 100.0, 50
"""Nothing waits for so long unless it fails, also on a machine under load; less than the limit of a test."""

PRINTABLE_KEYS = {"slash": "/", "question_mark": "?", "exclamation_mark": "!", "colon": ":"}


def screen_text(app: App[Any]) -> str:
    """What is on the terminal. The one place that touches Textual's private compositor."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


def pane_text(screen: str) -> str:
    """A screen without its tab bar and its footer, so that a new name of a tab or key changes one golden, not all."""
    lines = screen.rstrip().splitlines()
    return "\n".join([lines[0], *lines[2:-1]] if len(lines) > 2 and "1 Overview" in lines[1] else lines)


def chrome_text(screen: str) -> str:
    """The line about the engine, the tab bar and the footer."""
    lines = screen.rstrip().splitlines()
    return "\n".join([*lines[:2], lines[-1]])


def check_golden(app: App[Any], name: str, part: Callable[[str], str] = pane_text) -> None:
    """Compare a part of the screen with a file; UPDATE_GOLDENS=1 writes the file instead."""
    shown = part(screen_text(app)).rstrip("\n") + "\n"
    path = GOLDENS / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDENS"):
        GOLDENS.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert path.is_file(), f"no golden {path.name}; UPDATE_GOLDENS=1 writes it"
    assert shown == path.read_text(encoding="utf-8")


async def wait_until(pilot: Pilot[Any], condition: Callable[[], object], what: str = "") -> None:
    """Let the app work until `condition` holds; fail, with the screen, if it never does.

    What waits for a thread or one of Textual's timers takes time, not turns: after the first turns each gives it a little.
    """
    turn, deadline = 0, monotonic() + LIMIT_S
    while turn < LEAST_TURNS or monotonic() < deadline:
        if condition():
            return
        await pilot.pause(None if turn < LEAST_TURNS else 0.02)
        turn += 1
    pytest.fail(f"waited in vain{' for ' + what if what else ''}:\n{screen_text(pilot.app)}", pytrace=True)


class Session:
    """An app that runs, and where to look in it."""

    def __init__(self, app: TrexApp, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def screen(self) -> EngineScreen:
        assert isinstance(self.app.screen, EngineScreen)
        return self.app.screen

    @property
    def listed(self) -> EnginesScreen:
        assert isinstance(self.app.screen, EnginesScreen)
        return self.app.screen

    @property
    def text(self) -> str:
        return screen_text(self.app)

    @property
    def footer(self) -> str:
        return self.text.splitlines()[-1]

    @property
    def overview(self) -> OverviewPane:
        return self.screen.query_one(OverviewPane)

    @property
    def memory(self) -> MemoryPane:
        return self.screen.query_one(MemoryPane)

    @property
    def latency(self) -> LatencyPane:
        return self.screen.query_one(LatencyPane)

    @property
    def layers(self) -> LayersPane:
        return self.screen.query_one(LayersPane)

    @property
    def filter_bar(self) -> FilterBar:
        return self.screen.query_one(FilterBar)

    @property
    def current(self) -> int:
        """Index of the current layer."""
        assert self.screen.current_layer is not None
        return self.screen.current_layer.index

    @property
    def shown(self) -> list[int]:
        """Indices of the layers in the latency table, in its order."""
        return [layer.index for layer in self.latency.table.shown_rows]

    @property
    def latency_columns(self) -> list[str]:
        """The columns of the latency table, without the marks of lint."""
        return [column.key for column in self.latency.table.columns if column.key != MARK_COLUMN]

    @property
    def tree_names(self) -> list[str]:
        """The names in the tree, as drawn."""
        tree = self.layers.table
        names = next(column for column in tree.columns if column.key == "name")
        return [names.cell_text(row) for row in tree.shown_rows]

    @property
    def details(self) -> str:
        """The text of the details pane, not wrapped."""
        return "\n".join(line.plain for line in self.layers.details.wrapped(4000))

    async def press(self, *keys: str) -> None:
        """Press keys one after the other, and wait after each; text into a line is typed at once.

        (The pilot's own `press` waits three times for each key.)
        """
        for key, following in zip_longest(keys, keys[1:]):
            self.type_ahead(key)
            is_text = len(key) == 1 and following is not None and len(following) == 1
            if following is None:
                await self.pilot.pause()
            elif not (is_text and isinstance(self.app.focused, Input)):
                with settle.unpainted():
                    await self.pilot.pause()

    def type_ahead(self, *keys: str) -> None:
        """Send keys without waiting for what they do, as a slow connection delivers them."""
        for key in keys:
            self.app.post_message(events.Key(key, PRINTABLE_KEYS.get(key)))

    async def until(self, condition: Callable[[], object], what: str = "") -> None:
        await wait_until(self.pilot, condition, what)


def is_loaded(app: TrexApp) -> bool:
    """Whether there is an engine on screen, or a list that is complete."""
    screen = app.screen
    if isinstance(screen, EnginesScreen):
        return bool(screen.table.shown_rows) and all(row.is_read for row in screen.rows)
    if not isinstance(screen, EngineScreen) or not screen.is_mounted or screen.focused is None:
        return False
    return screen.lint is not None  # what lint found is marked on several screens


@contextmanager
def opening_at(app: TrexApp, tab: str) -> Iterator[None]:
    """Have the app open an engine at a tab, as it does where a comparison or a capture leads to it.

    By the Overview, where a person starts, the start takes twice as long.
    """
    push = app.push_screen

    def push_at_tab(screen: Any, *rest: Any, **more: Any) -> Any:
        if isinstance(screen, EngineScreen):
            screen._visited = [tab]
        return push(screen, *rest, **more)

    app.push_screen = push_at_tab  # type: ignore[method-assign]
    yield
    del app.push_screen


@asynccontextmanager
async def running(
    path: Path,
    size: tuple[int, int] = SMALL,
    tab: str = "latency",
    *,
    is_read_only: bool = False,
    options: LoadOptions | None = None,
) -> AsyncIterator[Session]:
    """Run the app on a path until it shows what is there; of an engine, the screen `tab`."""
    app = TrexApp([str(path)], options, is_read_only=is_read_only)
    app.animation_level = "none"
    async with app.run_test(size=size) as pilot:
        session = Session(app, pilot)
        with settle.unpainted(), opening_at(app, tab):
            await session.until(lambda: is_loaded(app), "an engine or a list of them")
        await pilot.pause()
        yield session
