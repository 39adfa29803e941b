"""Toasts: they cover no line at the bottom, and stay behind windows."""

from __future__ import annotations

from textual.widgets._toast import Toast
from tui import SMALL, Session, is_loaded

from helpers import TO_LATENCY
from small_engines import small_engine
from trex_tui.old.app import TrexApp
from trex_tui.old.screens.text_screens import HelpScreen


def toasts(session: Session) -> list[str]:
    """The toasts of the screen or window on top."""
    return [toast.render().plain.splitlines()[0] for toast in session.app.screen.query(Toast)]


async def test_toasts_stand_above_footer_and_sum_and_behind_windows(tmp_path):
    app = TrexApp([str(small_engine(tmp_path))])
    app.animation_level = "none"
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        session = Session(app, pilot)
        await session.until(lambda: is_loaded(app), "an engine")
        await session.press(TO_LATENCY)
        await session.until(lambda: "q quit" in session.footer)
        before = session.text.splitlines()[-2:]
        app.notify("raised on the screen", timeout=1000)
        await session.until(lambda: "raised on the screen" in session.text)
        assert session.text.splitlines()[-2:] == before, "sum and footer"
        await session.press("question_mark")
        await session.until(
            lambda: isinstance(app.screen, HelpScreen) and "Choose the sort column" in session.text
        )
        app.notify("raised in the window", timeout=1000)
        await session.until(lambda: "raised in the window" in toasts(session))
        assert toasts(session) == ["raised in the window"]
        await session.press("escape")
        await session.until(
            lambda: sorted(toasts(session)) == ["raised in the window", "raised on the screen"]
        )
