"""Keys that wait for one before them, when the widget that has it goes away."""

from __future__ import annotations

import asyncio

from textual import events
from textual.app import App, ComposeResult
from textual.screen import ModalScreen
from textual.widget import Widget

from trex_tui.old.screens.keyboard import Keyboard
from trex_tui.old.widgets.frames import FrameScreen


class Box(Widget, can_focus=True):
    """Takes the focus, and keeps its queue busy until it is removed."""


class Boxes(App[None]):
    def compose(self) -> ComposeResult:
        yield Box()


async def test_what_waits_for_a_widget_that_ends_goes_on_without_a_further_key():
    """The callback behind the first key is lost with the queue of the widget."""
    app = Boxes()
    delivered: list[str] = []

    async def deliver(event: object) -> None:
        assert isinstance(event, events.Key)
        delivered.append(event.key)

    async with app.run_test() as pilot:
        box = app.query_one(Box)
        box.focus()
        await pilot.pause()
        keyboard = Keyboard(app, deliver)
        held = box.call_later
        box.call_later = lambda *_: True  # type: ignore[method-assign]  # put into a queue that nobody reads
        await keyboard.take(events.Key("a", None))
        await keyboard.take(events.Key("b", None))
        assert delivered == ["a"]
        box.call_later = held  # type: ignore[method-assign]
        await box.remove()
        while delivered != ["a", "b"]:
            await asyncio.sleep(0.01)


class Below(FrameScreen):
    def compose(self) -> ComposeResult:
        yield Box()


async def test_a_screen_draws_again_although_a_window_took_the_next_key():
    """Keys of one packet: one opens a window, the other closes it before the screen below has drawn."""

    class Framed(App[None]):
        def get_default_screen(self) -> Below:
            return Below()

    app = Framed()

    async def deliver(event: object) -> None:
        assert isinstance(event, events.Key)
        if event.key == "o":
            app.push_screen(ModalScreen())
        elif event.key == "c":
            app.pop_screen()

    async with app.run_test() as pilot:
        below = app.screen
        assert isinstance(below, Below)
        keyboard = Keyboard(app, deliver)
        for keys in ("o", "c", "oc", "ococ"):
            for key in keys:
                await keyboard.take(events.Key(key, None))
            await pilot.pause()
            while below._is_held:  # at most MOST_HELD_S
                await asyncio.sleep(0.01)
