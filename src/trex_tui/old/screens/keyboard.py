"""Keys, mouse events, pastes and reloads, one after the other.

Textual sends a key to the widget with the focus and goes on to the next key at once. The first key is handled when it has
passed the queues of that widget, of its ancestors and of the app. A key that follows in the same packet overtakes it if it
has a priority binding, and reaches the wrong widget if the first key moves the focus or opens a window.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from typing import Any

from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.screen import Screen

from trex_tui.old.screens.loading import LoadingScreen, Reloaded
from trex_tui.old.widgets.frames import FrameScreen

Turn = events.InputEvent | events.Paste | Reloaded

LOOK_S = 0.5
"""Interval at which waiting keys check that the awaited widget still exists."""
MOST_HELD_S = 0.1
"""Longest time that a frame waits for a key to be handled."""
MOST_WAITING = 10_000
"""Most keys queued after a slow one, to bound the memory."""


class Keyboard:
    """Delivers an event when the key before it has been handled and the screen on top is mounted.

    Args:
        app: The app whose focus decides where keys go.
        deliver: Acts on an event.
    """

    def __init__(self, app: App[None], deliver: Callable[[Turn], Awaitable[None]]) -> None:
        self._app, self._deliver = app, deliver
        self._waiting: deque[Turn] = deque()
        self._early: list[events.Key] = []
        """Keys pressed while an engine is read, to be delivered to its screen."""
        self._followed: MessagePump | None = None
        """Owner of the queue with the callback after the current key; None if there is no such key."""
        self._is_looking = False
        """True while a timer checks for waiting keys, in case no further key arrives."""
        self._has_typed = False
        """True while text is on its way to the focused widget."""
        self._keys_held = 0
        """Keys whose screen drew nothing until they were handled."""
        self._held: FrameScreen | None = None
        """The screen that draws nothing; None while each draws."""
        self._limit: asyncio.TimerHandle | None = None
        """Lets it draw; None while each draws."""

    async def take(self, event: Turn) -> None:
        """Deliver an event now or in its turn; keys with priority in the app, like Ctrl-C, at once."""
        if isinstance(event, events.Key) and self._is_urgent(event.key):
            await self._deliver(event)
            return
        if len(self._waiting) + len(self._early) >= MOST_WAITING and not isinstance(event, Reloaded):
            return
        self._waiting.append(event)
        if self._followed is not None:
            self._look()
        await self._continue()

    async def take_back(self, event: events.Key) -> None:
        """Deliver a key again, before the others: a screen was opened while it passed the queues, and has no widgets yet."""
        self._waiting.appendleft(event.copy())
        await self._continue()

    def _look(self) -> None:
        """Stop following a widget that has ended, whose queue and key are gone; else check again later."""
        if self._followed is not None and _has_ended(self._followed):
            self._followed = None
        elif self._followed is not None and self._waiting and not self._is_looking:
            self._is_looking = True
            # In a separate context: that of the key holds the widget, which the timer would keep in memory.
            asyncio.get_running_loop().call_later(
                LOOK_S, self._app.call_next, self._look_again, context=Context()
            )

    async def _look_again(self) -> None:
        self._is_looking = False
        self._look()
        await self._continue()

    def _is_urgent(self, key: str) -> bool:
        return any(binding.priority for binding in self._app._bindings.key_to_bindings.get(key, ()))

    async def release(self) -> None:
        """Deliver the keys pressed while the engine on screen was read, or since its reading was cancelled."""
        self._waiting.extendleft(reversed(self._early))
        self._early.clear()
        await self._continue()

    def forget(self) -> None:
        """Drop the keys: their engine will not be shown."""
        self._early.clear()

    def _is_early(self, key: str, screen: Screen[Any]) -> bool:
        """Return whether a key is for the engine that is being read."""
        return isinstance(screen, LoadingScreen) and not screen.acts_on(key, is_first=not self._early)

    async def _continue(self) -> None:
        while self._waiting and self._followed is None and self._app.screen_stack:
            event, screen = self._waiting[0], self._app.screen
            if isinstance(event, events.Key) and self._is_early(event.key, screen):
                self._waiting.popleft()
                self._early.append(event)
                continue
            target = screen.focused or screen
            # A key that is text moves no focus: the next one need not wait, so that fast typing filters once.
            is_text = isinstance(event, events.Key) and target.check_consume_key(event.key, event.character)
            if self._has_typed and not is_text:
                self._has_typed = False
                self._follow([*target.ancestors_with_self])
            elif not screen.is_mounted or getattr(screen, "is_rebuilt", False):
                self._follow([screen, self._app])
            else:
                self._waiting.popleft()
                if isinstance(event, events.Key) and _cancels_reading(event.key, screen):
                    self.forget()
                if isinstance(event, events.Key) and not is_text:
                    self._hold(screen)
                await self._deliver(event)
                self._has_typed = is_text
                if isinstance(event, events.Key) and not is_text:
                    path = [*target.ancestors_with_self]
                    self._follow(path)
                    self._settle([*path, *path[:-1]], self._keys_held)

    def _follow(self, path: Sequence[MessagePump]) -> None:
        """Pass through the queues that a key passes, after it; then deliver the next event."""
        for number, node in enumerate(path, start=1):
            if not _has_ended(node) and node.call_later(self._follow, path[number:]):
                self._followed = node
                return
        self._followed = None
        self._app.call_next(self._continue)

    def _hold(self, screen: Screen[Any]) -> None:
        """Let the screen draw when a key is handled, or soon."""
        self._keys_held += 1
        if screen is not self._held:
            self._release()  # The key before this one has opened or closed a window.
        if isinstance(screen, FrameScreen):
            self._held = screen
            screen.hold_frame()
            if self._limit is None:
                # In a separate context, as above.
                loop = asyncio.get_running_loop()
                self._limit = loop.call_later(MOST_HELD_S, self._release, context=Context())

    def _settle(self, path: Sequence[MessagePump], number: int) -> None:
        """Pass through the queues that messages about the key pass, then let the screen draw, unless a key has followed."""
        if number == self._keys_held:
            for index, node in enumerate(path, start=1):
                if not _has_ended(node) and node.call_later(self._settle, path[index:], number):
                    return
            self._release()

    def _release(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
        if self._held is not None:
            held, self._held = self._held, None
            held.release_frame()


def _cancels_reading(key: str, screen: Screen[Any]) -> bool:
    return isinstance(screen, LoadingScreen) and screen.cancels(key)


def _has_ended(node: MessagePump) -> bool:
    """Return whether a node no longer handles messages. One that is not mounted yet will."""
    return not node.is_running and getattr(node, "is_mounted", True) is True
