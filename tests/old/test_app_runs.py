"""Several runs or optimization profiles in the files of an engine: the choice between them on screen."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tui import LARGE, SMALL, Session, chrome_text, running, wait_until

from helpers import DIGITS, layer, profile_line, profile_text, timing_row, write_graph, write_json
from small_engines import small_engine
from trex_tui.old.app import TrexApp
from trex_tui.old.engine.engine import Engine
from trex_tui.old.screens.dialogs import ChooseScreen
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.widgets.text_view import TextBlock

NAMES = ("/conv/Conv", "/fc/Gemm")


def runs_set(folder: Path, name: str = "net") -> Path:
    """Layer information, and a profile of three runs with 0.5, 1 and 40 ms for each of two layers."""
    write_graph(folder / f"{name}.graph.json", list(NAMES))
    texts = [
        profile_text([profile_line(layer_name, ms) for layer_name in NAMES], count)
        for count, ms in ((1013, 0.5), (477, 1.0), (15, 40.0))
    ]
    (folder / f"{name}.profile.json").write_text("".join(texts), encoding="utf-8")
    return folder


@asynccontextmanager
async def opened(path: Path, size: tuple[int, int] = SMALL) -> AsyncIterator[Session]:
    """The app on a set of several runs, with the choice of the run open."""
    app = TrexApp([str(path)])
    app.animation_level = "none"
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: isinstance(app.screen, ChooseScreen), "the choice of a run")
        await pilot.pause()
        yield Session(app, pilot)


def engine_of(session: Session) -> Engine:
    screens = [screen for screen in session.app.screen_stack if isinstance(screen, EngineScreen)]
    return screens[-1].engine


async def shows(session: Session, total_ms: float) -> None:
    """Wait for an engine with this sum of its layers."""
    await session.until(
        lambda: (
            isinstance(session.app.screen, EngineScreen)
            and not session.screen.is_rebuilt
            and session.screen.engine.latency_sum_ms == total_ms
        ),
        f"layers of {total_ms} ms",
    )


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_a_set_of_several_runs_opens_with_the_choice(tmp_path: Path, size: tuple[int, int]) -> None:
    async with opened(runs_set(tmp_path), size) as session:
        assert "net: runs" in session.text
        assert "run 1 (2 layers, 1013 iterations, sum 1 ms)" in session.text
        assert "run 3 (2 layers, 15 iterations, sum 80 ms), shown" in session.text
        await session.press("k", "enter")
        await shows(session, 2.0)
        assert "run 2 of 3" in chrome_text(session.text)


async def test_escape_keeps_the_run_that_is_shown(tmp_path: Path) -> None:
    async with opened(runs_set(tmp_path)) as session:
        await session.press("escape")
        await shows(session, 80.0)
        assert "run 3 of 3" in chrome_text(session.text)
        await session.press("u", "g", "enter")
        await shows(session, 1.0)
        assert "run 1 of 3" in chrome_text(session.text)


async def test_screen_and_cursor_stay(tmp_path: Path) -> None:
    async with opened(runs_set(tmp_path)) as session:
        await session.press("escape", DIGITS["latency"], "G", "u", "g", "enter")
        await shows(session, 1.0)
        assert session.screen.pane.id == "latency"
        assert session.current == 1


async def test_reading_again_keeps_the_run(tmp_path: Path) -> None:
    async with opened(runs_set(tmp_path)) as session:
        await session.press("g", "enter")
        await shows(session, 1.0)
        before = session.screen.engine
        await session.press("R")
        await session.until(lambda: session.screen.engine is not before, "the files to be read again")
        await shows(session, 1.0)
        assert "run 1 of 3" in chrome_text(session.text)


async def test_a_run_that_is_gone_leaves_the_screen_as_it_was(tmp_path: Path) -> None:
    async with opened(runs_set(tmp_path)) as session:
        await session.press("escape")
        await shows(session, 80.0)
        await session.press("u", "k")
        profile = profile_text([profile_line(name, 7.0) for name in NAMES], 3)
        (tmp_path / "net.profile.json").write_text(profile, encoding="utf-8")
        await session.press("enter")
        await session.until(
            lambda: "no run 2" in " ".join(notice.message for notice in session.app._notifications), "it"
        )
        assert engine_of(session).latency_sum_ms == 80.0


async def test_a_run_that_was_asked_for_opens_without_the_choice(tmp_path: Path) -> None:
    from trex_tui.old.analysis.load import LoadOptions

    app = TrexApp([str(runs_set(tmp_path))], LoadOptions(run=2))
    app.animation_level = "none"
    async with app.run_test(size=SMALL) as pilot:
        session = Session(app, pilot)
        await session.until(lambda: isinstance(app.screen, EngineScreen) and app.screen.lint, "the engine")
        await shows(session, 2.0)
        assert "run 2 of 3" in chrome_text(session.text)


async def test_one_run_offers_no_choice(tmp_path: Path) -> None:
    async with running(small_engine(tmp_path)) as session:
        await session.press("u")
        assert isinstance(session.app.screen, EngineScreen)
        assert "run" not in session.footer.split()
        assert "of 1" not in chrome_text(session.text)


async def test_the_key_is_in_footer_help_and_palette(tmp_path: Path) -> None:
    async with opened(runs_set(tmp_path), LARGE) as session:
        await session.press("escape")
        await shows(session, 80.0)
        assert "u run" in session.footer
        await session.press("question_mark")
        keys = session.app.screen.query_one(TextBlock)._lines
        assert any("Choose a run or an optimization profile." in line.content.plain for line in keys)
        await session.press("escape", "colon", *"engine: run")
        await session.until(lambda: "Engine: run" in session.text, "the command")


async def test_an_engine_of_the_list_opens_with_the_choice_once(tmp_path: Path) -> None:
    runs_set(tmp_path / "runs")
    small_engine(tmp_path / "single")
    async with running(tmp_path, LARGE) as session:
        names = [row.source.name for row in session.listed.table.shown_rows]
        await session.press(*["j"] * names.index(next(name for name in names if "net" in name)), "enter")
        await session.until(lambda: isinstance(session.app.screen, ChooseScreen), "the choice of a run")
        await session.press("g", "enter")
        await shows(session, 1.0)
        await session.press("q")
        assert "run 1 of 3" in session.text
        await session.press("enter")
        await shows(session, 1.0)


async def test_timing_and_log_follow(tmp_path: Path) -> None:
    runs_set(tmp_path)
    rows = [[timing_row(300.0, ms), timing_row(301.0, ms)] for ms in (0.5, 1.0, 40.0)]
    (tmp_path / "net.timing.json").write_text("".join(map(json.dumps, rows)), encoding="utf-8")
    async with opened(tmp_path) as session:
        assert "run 2 (2 layers, 477 iterations, 2 rows, sum 2 ms, median 1 ms)" in session.text
        await session.press("k", "enter")
        await shows(session, 2.0)
        assert "1.0000 ms" in chrome_text(session.text)


async def test_runs_of_files_that_disagree_are_listed_by_file(tmp_path: Path) -> None:
    runs_set(tmp_path)
    parts = [json.dumps([timing_row(300.0, ms), timing_row(301.0, ms)]) for ms in (0.5, 1.0)]
    (tmp_path / "net.timing.json").write_text("".join(parts), encoding="utf-8")
    async with opened(tmp_path, LARGE) as session:
        assert "net.profile.json: run 3 (2 layers, 15 iterations, sum 80 ms)" in session.text
        assert "net.timing.json: run 2 (2 rows, median 1 ms)" in session.text
        assert "shown" not in session.text.partition("net: runs")[2].partition("Enter chooses")[0]
        await session.press("escape")
        await shows(session, 80.0)
        assert "one of 3 runs" in chrome_text(session.text)


def profiles_set(folder: Path) -> Path:
    """Layers of two optimization profiles, of which the first was run."""
    names = [*NAMES, *(f"{name} [profile 1]" for name in NAMES)]
    write_json(folder / "net.graph.json", {"Layers": [layer(name) for name in names], "Bindings": ["x"]})
    text = profile_text([profile_line(name, 1.0) for name in NAMES], 10)
    (folder / "net.profile.json").write_text(text, encoding="utf-8")
    return folder


async def test_an_optimization_profile_is_chosen(tmp_path: Path) -> None:
    async with running(profiles_set(tmp_path)) as session:
        assert "profile 0 of 2" in chrome_text(session.text)
        await session.press("u")
        assert "optimization profile 0 (2 layers), shown" in session.text
        await session.press("j", "enter")
        await session.until(lambda: engine_of(session).optimization_profile == 1, "the other profile")
        await session.until(lambda: "profile 1 of 2" in session.text, "the header")
        before = engine_of(session)
        await session.press("R")
        await session.until(lambda: engine_of(session) is not before, "the files to be read again")
        assert engine_of(session).optimization_profile == 1
