"""Measuring an engine again from inside the explorer: asked before, watched, stopped, and its set offered."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fake_trtexec import calls
from fake_trtexec.kit import Bench, fifo, is_running, wait_for
from trex_tui.old.artifacts import find
from trex_tui.old.capture.trtexec import Trtexec
from trex_tui.old.screens.capture import CaptureRunScreen
from trex_tui.old.screens.compare import ComparePane
from trex_tui.old.widgets.text_view import TextBlock
from tui import Session, running

HOSTILE = "n[red] '$(touch x)"
"""A name that is nothing but a name."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, programs: Callable[[str], Trtexec]) -> Path:
    """A complete set, captured once for all tests."""
    bench = Bench(tmp_path_factory.mktemp("captured"), programs)
    assert bench.capture("10.4.0", iterations=20, passthrough=("--idleTime=2",)).passed
    return bench.outdir


@pytest.fixture
def place(
    original: Path, tmp_path: Path, programs: Callable[[str], Trtexec], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A copy of the set, and a trtexec that is found."""
    for variable in ("FAKE_TRTEXEC_FAIL", "FAKE_TRTEXEC_FIFO"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TRTEXEC", str(programs("10.4.0").path))
    monkeypatch.setenv("FAKE_TRTEXEC_CALLS", str(tmp_path / "calls"))
    return Path(shutil.copytree(original, tmp_path / "net"))


def on_top(session: Session) -> str:
    return type(session.app.screen).__name__


def told(session: Session) -> str:
    """The text of the window, not wrapped."""
    return "\n".join(line.plain for line in session.app.screen.query_one(TextBlock).wrapped(4000))


async def ask_and_run(session: Session) -> None:
    await session.press("P")
    await session.until(lambda: "Enter runs" in session.text, "the commands")
    await session.press("enter")
    await session.until(lambda: on_top(session) != "CaptureScreen", "the run")


async def test_a_new_set_beside_the_old_one_is_compared(place, tmp_path):
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    async with running(place / "net.graph.json", (100, 40)) as session:
        await session.press("P")
        await session.until(lambda: "Enter runs" in session.text, "the commands")
        assert "--iterations=20" in told(session), "as it was measured before"
        assert "net.again-2" in told(session)
        await session.press("0", ".", "5")
        await session.until(lambda: "--duration=0.5" in told(session))
        assert told(session).count("--idleTime=2") == 2, "of the command, and from a shell"
        assert calls(tmp_path / "calls") == [], "nothing runs unasked"
        await session.press("enter")
        await session.until(lambda: on_top(session) == "ChooseScreen", "what to do with the new set")
        assert "Captured net.again-2" in session.text
        (words,) = calls(tmp_path / "calls")
        assert {
            "--duration=0.5",
            "--iterations=20",
            "--idleTime=2",
            f"--loadEngine={place / 'net.engine'}",
        } <= set(words)
        assert {name: (place / name).read_bytes() for name in before} == before
        assert [one.name for one in find(place)] == ["net", "net.again-2"]
        await session.press("enter")
        pane = session.screen.query_one(ComparePane)
        await session.until(lambda: pane.comparison is not None, "the comparison")
        assert session.screen.pane is pane
        assert [one.name for one in pane.job.engines] == ["net", "net.again-2"]

        await session.press("c")
        await session.until(lambda: on_top(session) == "ChooseScreen")
        await session.until(lambda: "net.again-2  median" in session.text, "Compare offers it from now on")
        await session.press("escape")
        await session.until(lambda: on_top(session) == "EngineScreen")
        await session.press("P")
        await session.until(lambda: "Enter runs" in session.text, "the commands")
        assert "net.again-3" in told(session)
        await session.press("escape")
        await session.until(lambda: on_top(session) == "EngineScreen")


async def test_ctrl_c_stops_trtexec_and_not_the_explorer(place, tmp_path, monkeypatch):
    pipe = fifo(tmp_path / "pipe")
    monkeypatch.setenv("FAKE_TRTEXEC_FAIL", "hang")
    monkeypatch.setenv("FAKE_TRTEXEC_FIFO", str(pipe))
    for path in place.iterdir():
        path.rename(place / path.name.replace("net.", f"{HOSTILE}."))
    async with running(place / f"{HOSTILE}.graph.json") as session:
        exits: list[object] = []
        session.app.exit = lambda *_, **__: exits.append(1)  # type: ignore[method-assign]
        hanging = asyncio.get_running_loop().run_in_executor(None, wait_for, pipe)
        await ask_and_run(session)
        await session.until(hanging.done, "a run that hangs")
        await session.until(lambda: "[1/1] profile" in session.text and "Last lines" in session.text)
        assert f"Measuring {HOSTILE}.again-2" in session.text
        await session.press("ctrl+c")
        await session.until(lambda: "Interrupted." in session.text, "the end")
        assert not is_running(hanging.result())
        assert isinstance(session.app.screen, CaptureRunScreen)
        assert (place / f"{HOSTILE}.again-2.failed" / f"{HOSTILE}.again-2.engine.profile.log").stat().st_size
        assert [one.name for one in find(place)] == [HOSTILE]
        await session.press("escape")
        await session.until(lambda: on_top(session) == "EngineScreen")
        assert not exits
        await session.press("ctrl+c")
        assert exits, "nothing runs any more: Ctrl-C quits"


async def test_what_went_wrong_is_said_with_the_last_lines(place, monkeypatch):
    monkeypatch.setenv("FAKE_TRTEXEC_FAIL", "no_gpu")
    with (place / "net.profile.json").open("a", encoding="utf-8") as file:
        file.write("\n")
    async with running(place / "net.graph.json", (120, 40), tab="overview") as session:
        facts = "\n".join(line.plain for line in session.overview.words.wrapped(4000))
        assert "Changed since the capture: net.profile.json." in facts
        assert "trtexec 10.4.0" in facts, "what the manifest tells"
        await ask_and_run(session)
        await session.until(lambda: "Result" in session.text, "the verdict")
        assert "The profile run failed: trtexec finds no usable GPU" in told(session)
        assert "net.again-2.failed" in told(session)
        assert "Cannot find any available devices (GPUs)!" in told(session)
        await session.press("escape")
        await session.until(lambda: on_top(session) == "EngineScreen")

        with monkeypatch.context() as served:
            served.setattr(type(session.app), "is_web", property(lambda _: True))
            await session.press("P")
            await session.until(lambda: "not available in a browser" in told(session))
            await session.press("enter")
            assert on_top(session) == "CaptureScreen", "who only looks runs nothing"
            await session.press("escape")
            await session.until(lambda: on_top(session) == "EngineScreen")

        monkeypatch.setenv("TRTEXEC", str(place / "none"))
        await session.press("P")
        await session.until(lambda: "Cannot profile here" in session.text)
        assert "$TRTEXEC: " in told(session)
        assert "trex-tui capture --engine" in told(session)
        await session.press("enter")
        assert on_top(session) == "CaptureScreen", "there is nothing to run"
        await session.press("escape")
        await session.until(lambda: on_top(session) == "EngineScreen")

        (place / "net.engine").unlink()
        await session.press("R", "P")
        await session.until(lambda: "no engine file in or next to this set" in told(session))
        assert "--engine ENGINE" in told(session)


async def test_a_read_only_explorer_runs_nothing(place, tmp_path):
    async with running(place / "net.graph.json", (100, 40), is_read_only=True) as session:
        await session.press("P")
        await session.until(lambda: "the explorer is read-only" in told(session))
        await session.press("enter")
    assert calls(tmp_path / "calls") == []
