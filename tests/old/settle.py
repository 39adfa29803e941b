"""Waiting until an app under test has nothing left to do, in place of Textual's guess by processor time.

Textual's pilot takes a process that used less than a millisecond of CPU in 20 for idle. On a machine under load that is
also one that got no turn, and on an idle machine each key costs 20 ms of waiting. Here the event loop itself is asked:
no callback is ready, no thread works for the app, and no timer ends soon.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from time import monotonic, process_time, thread_time
from typing import Any

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.screen import Screen

from trex_tui.old.screens.driver import DaemonThreads

SOON_S = 0.025
"""A timer that ends so soon is waited for: the next frame is one."""
POLL_S = 0.001
FRAME_S = 0.5
"""Between two frames of the app's own: a pause draws one at its end, so that those on the way to it are not drawn."""
TIMERS_S = 1.0
"""How long timers are waited for that end soon: those of a spinner go on and on."""
WORK_S = 0.005
"""Of processor time: a thread that uses less within `STUCK_S` only looks whether it may go on."""
BUSY_S = 5.0
"""How long a thread is waited for that goes on and on."""
STUCK_S = 0.25
"""A thread that used no processor for so long waits for something: perhaps for the test."""

_RUNNING: set[Future[Any]] = set()
_submit = DaemonThreads.submit


def _counted(self: DaemonThreads, function: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
    future = _submit(self, function, *args, **options)
    _RUNNING.add(future)
    future.add_done_callback(_RUNNING.discard)
    return future


async def settle() -> None:
    """Wait until the running loop and the app's threads have nothing to do."""
    loop: Any = asyncio.get_running_loop()
    began = moved = monotonic()
    used = 0.0
    while True:
        await asyncio.sleep(0)
        if loop._ready:
            continue
        if _RUNNING:
            by_threads = process_time() - thread_time()
            if by_threads > used + WORK_S:
                used, moved = by_threads, monotonic()
            if monotonic() < min(moved + STUCK_S, began + BUSY_S):
                await asyncio.sleep(POLL_S)
                continue
        soon = loop.time() + SOON_S
        ends = [timer._when for timer in loop._scheduled if not timer._cancelled and timer._when < soon]
        if not ends or monotonic() > began + TIMERS_S:
            return
        await asyncio.sleep(max(0.0, min(ends) - loop.time()))


_unpainted = 0
_refresh = Screen._compositor_refresh


@contextmanager
def unpainted() -> Iterator[None]:
    """Within, no frame is painted, as nobody looks: painting takes a quarter of the time of the screens' tests."""
    global _unpainted
    _unpainted += 1
    try:
        yield
    finally:
        _unpainted -= 1


def _leave_dirty(self: Screen[Any]) -> None:
    """Paint nothing before the end of a pause; what is to be painted is kept for then."""
    if self is self.app.screen:
        self._dirty_widgets.clear()
        self.app._update_mouse_over(self)
    else:
        _refresh(self)


async def _pause(self: Pilot[Any], delay: float | None = None) -> None:
    if delay:
        await asyncio.sleep(delay)
    await settle()
    self.app.screen._on_timer_update()
    await settle()
    if not _unpainted and self.app.screen._compositor._dirty_regions:
        _refresh(self.app.screen)


async def _wait_for_idle(min_sleep: float = 0, max_sleep: float = 0) -> None:  # noqa: ARG001
    await settle()


async def _wait_for_screen(self: Pilot[Any], timeout: float = 30.0) -> bool:  # noqa: ARG001
    await settle()
    return True


_PARSED: dict[tuple[object, ...], list[RuleSet]] = {}
_parse_rules = Stylesheet._parse_rules


def _rules_parsed_once(
    self: Stylesheet,
    css: str,
    read_from: tuple[str, str],
    is_default_rules: bool = False,
    tie_breaker: int = 0,
    scope: str = "",
) -> list[RuleSet]:
    """Parse style sheets once for all apps of the process: it takes a tenth of the time in which one opens."""
    key = (css, read_from, is_default_rules, tie_breaker, scope, *self._variables.items())
    if key not in _PARSED:
        _PARSED[key] = _parse_rules(self, css, read_from, is_default_rules, tie_breaker, scope)
    return _PARSED[key]


def install(patch: pytest.MonkeyPatch, *, is_every_frame_painted: bool = False) -> None:
    """Have Textual's pilot wait this way.

    Args:
        is_every_frame_painted: Paint on the way to the end of a pause too.
    """
    if not is_every_frame_painted:
        patch.setattr(Screen, "_compositor_refresh", _leave_dirty)
    patch.setattr(DaemonThreads, "submit", _counted)
    patch.setattr(Pilot, "pause", _pause)
    patch.setattr(Stylesheet, "_parse_rules", _rules_parsed_once)
    patch.setattr("textual.screen.UPDATE_PERIOD", FRAME_S)
    patch.setattr(Pilot, "_wait_for_screen", _wait_for_screen)
    patch.setattr("textual.pilot.wait_for_idle", _wait_for_idle)
    patch.setattr("textual.app.wait_for_idle", _wait_for_idle)
