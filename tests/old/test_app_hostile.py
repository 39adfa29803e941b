"""Names that attack, on every screen: cells of text, no command for the terminal, no markup, no link."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input
from tour import screens
from tui import Session, running

from helpers import DIGITS
from hostile import FOLDER, check_plain, write_hostile_set
from trex_tui.old.app import TrexApp
from trex_tui.old.engine import load_engine
from trex_tui.old.report.charts.catalogue import CHARTS
from trex_tui.old.report.charts.cells import draw
from trex_tui.old.report.charts.figure import Subject
from trex_tui.old.screens.charts import PALETTE

WIDE = (160, 40)


def check_screen(app: TrexApp, name: str) -> str:
    """Every segment that is about to be drawn, on all layers of the screen; returns the text."""
    shown = []
    for strip in app.screen._compositor.render_strips():
        for segment in strip:
            assert not segment.control, name
            check_plain(segment.text)
            style = segment.style
            if style is not None:
                assert style.link is None, name
                assert "app.quit" not in str(style.meta), name
            shown.append(segment.text)
        shown.append("\n")
    return "".join(shown)


async def _look_at_all(session: Session) -> str:
    seen = [check_screen(session.app, name) async for name in screens(session)]
    for name, keys in {
        "filter": ("slash", *"tactic:"),
        "notes": ("exclamation_mark",),
        "export": ("e",),
        "open": ("o",),
    }.items():
        await session.press(*keys)
        seen.append(check_screen(session.app, name))
        await session.press("escape")
    await session.press("o", *"net/", "tab")
    await session.pilot.pause()
    seen.append(check_screen(session.app, "a path completed"))
    assert FOLDER in session.app.screen.query_one(Input).value
    await session.press("escape")
    for tab in ("lint", "build"):
        await session.press(DIGITS[tab], "enter", "escape")
        seen.append(check_screen(session.app, tab))
    await session.press(DIGITS["latency"], "y")
    await session.until(lambda: len(session.app._notifications) > 0, "what was copied")
    await session.pilot.pause()
    seen.append(check_screen(session.app, "copied"))
    return "\n".join(seen)


async def test_names_are_cells_of_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place = write_hostile_set(tmp_path / "net")
    async with running(place, WIDE, tab="overview") as session:
        seen = await _look_at_all(session)
    assert "[red]x[/red]" in seen, "markup is shown as it is"
    assert "␛[2J" in seen
    assert "<script>" in seen
    assert not Path("pwned").exists()


async def test_a_list_of_engines(tmp_path: Path) -> None:
    for number in (1, 2):
        write_hostile_set(tmp_path / str(number))
    async with running(tmp_path, (100, 20)) as session:
        listed = check_screen(session.app, "list")
    assert "[red]&<b>" in listed


def test_charts_are_cells_of_text(tmp_path: Path) -> None:
    engine = load_engine(write_hostile_set(tmp_path))
    subject = Subject(engine, engine.layers, PALETTE, current=engine.layers[0])
    for chart in CHARTS:
        for line in draw(chart, subject, 100, 24).lines:
            check_plain("".join(span.text for span in line))
