"""From the wish to measure an engine once more to the new set beside the old one: asking, running, offering."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from trex_tui.capture.again import Again, measured_again
from trex_tui.engine.engine import Engine
from trex_tui.screens.capture import CaptureScreen, Chosen
from trex_tui.screens.capture_run import Captured, CaptureRunScreen
from trex_tui.screens.choose import ChooseScreen
from trex_tui.text import printable, shorten_middle

if TYPE_CHECKING:
    from trex_tui.app import TrexApp
    from trex_tui.screens.engine import EngineScreen

_MOST_NAME = 40


class Capturer:
    """One capture of the engine of a screen."""

    def __init__(self, app: TrexApp, screen: EngineScreen) -> None:
        self._app = app
        self._screen = screen
        self._engine = screen.engine

    def ask(self) -> None:
        """Show what would be run; nothing is, before a person says so."""
        again = again_of(self._engine)
        if self._app.is_web:
            # Whoever reaches the port may look; to run programs takes an account on this machine.
            again = again.impossible("nothing is run for a browser")
        self._app.push_screen(CaptureScreen(again), self._chosen)

    def _chosen(self, chosen: Chosen | None) -> None:
        if chosen is not None:
            self._app.push_screen(CaptureRunScreen(chosen, self._app.options), self._captured)

    def _captured(self, captured: Captured | None) -> None:
        if captured is None:
            return
        new = captured.engine
        self._app.captured.append(new)
        for remark in captured.remarks:
            self._app.notify(printable(remark), severity="warning", markup=False, timeout=10)
        options = {
            "compare": f"compare it with {_name(self._engine)}",
            "open": "open it; q comes back here",
            "stay": "stay here; Compare offers it",
        }
        question = ChooseScreen(f"Captured {_name(new)}", options, "compare")
        self._app.push_screen(question, lambda answer: self._answered(answer, new))

    def _answered(self, answer: str | None, new: Engine) -> None:
        if answer == "compare":
            self._screen.compare_also(new)
        elif answer == "open":
            self._screen.open_other(new, others=(self._engine,), tab="overview")


def again_of(engine: Engine) -> Again:
    """How the engine would be measured once more."""
    capture = engine.capture
    command, clocks = (capture.command, capture.clocks) if capture is not None else ((), None)
    again = measured_again(engine.source, command, engine.tensorrt_version, clocks)
    return again if os.name == "posix" else again.impossible("trtexec is captured on Linux only")


def _name(engine: Engine) -> str:
    return shorten_middle(printable(engine.name), _MOST_NAME)
