"""`--read-only`: actions that would write a file or open another path are refused with a message, and the rest works."""

from __future__ import annotations

import pytest
from tui import running

from small_engines import quantized_engine, several_engines, small_engine
from trex_tui.old.screens.dialogs import ChooseScreen
from trex_tui.old.screens.engine import EngineScreen


def told(session):
    """Every notification."""
    return "\n".join(notice.message for notice in session.app._notifications)


def files_in(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The directories of settings, and the current one."""
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("key", "consequence"), [("o", "no other path was opened"), ("e", "nothing was exported")]
)
async def test_keys_that_write_or_open_are_refused(home, key, consequence):
    async with running(small_engine(home / "net"), is_read_only=True) as session:
        await session.press(key)
        await session.until(lambda: f"Read-only: {consequence}." in told(session))
        assert isinstance(session.app.screen, EngineScreen)


async def test_nothing_is_written_by_what_is_remembered_otherwise(home):
    net = small_engine(home / "net")
    before = files_in(home)
    async with running(net, is_read_only=True) as session:
        await session.press("S", "2", "t", "3", "c", "space", "enter")
        assert session.app.settings.columns
    assert files_in(home) == before


async def test_suppressions_stay_in_the_explorer(home):
    net = quantized_engine(home / "net")
    before = files_in(home)
    async with running(net, tab="lint", is_read_only=True) as session:
        await session.press("x", "enter", *"because", "enter")
        await session.until(lambda: "Suppressed until you quit" in told(session))
        await session.press("W")
        await session.until(lambda: "Read-only: nothing is written." in told(session))
    assert files_in(home) == before


async def test_only_what_is_open_is_compared(home):
    small_engine(home / "other")
    async with running(small_engine(home / "other")):
        pass  # From now on it is among the recent paths.
    async with running(small_engine(home / "net"), tab="compare", is_read_only=True) as session:
        await session.press("c")
        await session.until(lambda: "Read-only: no other engine." in told(session))
    async with running(several_engines(home / "sets"), is_read_only=True) as session:
        await session.press("j", "enter")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen) and session.screen.lint)
        await session.press("8", "c")
        await session.until(lambda: isinstance(session.app.screen, ChooseScreen))
        assert "unprofiled" in session.text
        assert "another path" not in session.text
        assert "other/" not in session.text
