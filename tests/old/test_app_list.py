"""The list of engines; unusable files; hostile names; unexpected errors."""

from __future__ import annotations

import asyncio
import re
from threading import Event
from time import monotonic

import pytest
from textual import events
from textual.widgets import Input
from tui import LIMIT_S, running, wait_until

from helpers import THOROUGH, TO_LAYERS
from small_engines import named_engine, several_engines, small_engine, write
from trex_tui.old.analysis.load import LoadOptions, load
from trex_tui.old.app import TrexApp, run_app
from trex_tui.old.artifacts import scan
from trex_tui.old.crash_log import LOG_VARIABLE, report
from trex_tui.old.errors import ArtifactError, ExitCode, TrexError
from trex_tui.old.fleet.reader import read_fleet
from trex_tui.old.screens.dialogs import TextScreen
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.screens.engines import EnginesScreen
from trex_tui.old.screens.list_view import EngineOpened
from trex_tui.old.screens.loading import OpenRequest, Reloaded
from trex_tui.old.widgets.table_model import SortKey

BROKEN, FAST, UNPROFILED = range(3)

HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "\x1b]52;c;aGFja2Vk\x07clipboard",
    "two\nlines\r\tand a tab",
    "[red]markup[/] [bold]bold[/bold] [/closed]",
    "[@click=app.quit]click[/]",
    "right\u202eto left",
    "nul\x00",
    "\x9b31mC1",
    "\u2028separator\u2029",
    "卷积层/宽字符/很长的名字在这里继续下去直到超出列的宽度为止",
    "$error",
    "e\u0301\u200b👩\u200d👧",
    "a" * 1500 + "/" + "z" * 1500,
    "",
]


# The list


async def test_list_names_every_engine_and_what_it_lacks(tmp_path):
    async with running(several_engines(tmp_path)) as session:
        rows = session.listed.table.shown_rows
        assert [row.source.name for row in rows] == ["broken/tiny", "fast/tiny", "unprofiled/tiny"]
        lines = session.text.splitlines()
        assert lines[0] == " 3 engines"
        assert "cannot be read" in lines[2]
        assert "no profile" in lines[4]
        assert "truncated" in lines[-2], "the line below the table tells about the row with the cursor"
        await session.press("j")
        assert lines[-2] != session.text.splitlines()[-2]


async def test_a_file_that_is_broken_is_told_from_one_that_is_absent(tmp_path):
    for name in ("one", "two", "three"):
        small_engine(tmp_path / name)
    next((tmp_path / "one").glob("*.profile.json")).write_text('[{"count": 3,', encoding="utf-8")
    next((tmp_path / "two").glob("*.profile.json")).unlink()
    async with running(tmp_path) as session:
        missing = [line.split()[-2:] for line in session.text.splitlines()[2:5]]
        assert missing[0] == ["bad", "profile"]
        assert missing[2] == ["no", "profile"]
        await session.press("exclamation_mark")
        assert "is truncated" in session.text
        assert "No skipped files" not in session.text


async def test_engine_opens_q_returns_and_q_quits(tmp_path):
    async with running(several_engines(tmp_path)) as session:
        await session.press("j", "enter")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        await session.press("question_mark", "q")
        assert isinstance(session.app.screen, EngineScreen), "q closes the window only"
        await session.press("q")
        assert session.listed.table.cursor_row == FAST
        assert session.app.focused is session.listed.table
        await session.press("j", "enter")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        await session.press("ctrl+o", "escape")
        assert session.listed.table.cursor_row == UNPROFILED
        await session.press("q")
        assert session.app.return_code == 0


async def test_engine_that_cannot_be_read_says_why(tmp_path):
    async with running(several_engines(tmp_path)) as session:
        await session.press("enter")
        assert isinstance(session.app.screen, TextScreen)
        assert "broken/tiny cannot be opened" in session.text
        assert "tiny.graph.json" in session.text
        assert "truncated" in session.text
        await session.press("escape", "exclamation_mark")
        assert "truncated" in session.text
        await session.press("q")
        assert session.listed


async def test_keys_of_the_list_and_clicks(tmp_path):
    async with running(several_engines(tmp_path)) as session:
        table = session.listed.table
        for key, row in [("G", 2), ("k", 1), ("g", 0), ("j", 1), ("end", 2), ("home", 0)]:
            await session.press(key)
            assert table.cursor_row == row
        await session.pilot.click(table, offset=(3, 0))
        assert table.sort_keys == (SortKey("engine", descending=False),)
        await session.pilot.click(table, offset=(3, 2))
        assert table.cursor_row == FAST
        await session.pilot.click(table, offset=(3, 2))
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))


async def test_files_of_no_use_are_counted_and_named(tmp_path):
    several_engines(tmp_path)
    write(tmp_path / "stray.json", {"what": "is this"})
    async with running(tmp_path) as session:
        assert session.text.splitlines()[0] == " 3 engines · 1 file skipped"
        await session.press("exclamation_mark")
        assert "stray.json" in session.text


async def test_list_has_the_values_of_the_table_of_engines(tmp_path):
    directory = several_engines(tmp_path)
    fleet = {row.value("engine"): row for row in read_fleet(scan([directory]), LoadOptions()).rows}
    async with running(directory) as session:
        for row in session.listed.rows:
            expected = fleet[row.source.name].values
            assert {name: row.facts.value(name) for name in expected} == dict(expected)


async def test_list_is_filtered_by_any_column_and_keeps_the_filter_before_an_error(tmp_path):
    async with running(several_engines(tmp_path)) as session:
        screen = session.listed
        await session.press("slash", *"latency_sum_ms>0")
        assert [row.source.name for row in screen.table.shown_rows] == ["fast/tiny"]
        assert session.text.splitlines()[0] == " 1 of 3 engines · /latency_sum_ms>0"
        await session.press("enter", "slash", *"x:", "enter")
        assert [row.source.name for row in screen.table.shown_rows] == ["fast/tiny"]
        await session.press("escape")
        assert screen.table.shown_count == 3
        await session.press("slash", *"nothing")
        assert "0 engines match" in session.text
        await session.press("escape")
        assert screen.table.shown_count == 3


async def test_list_is_sorted_by_a_chosen_column(tmp_path):
    async with running(several_engines(tmp_path), (160, 45)) as session:
        table = session.listed.table
        await session.press(
            "c", *["space"] * len(table.columns), "slash", *"directory", "enter", "space", "enter"
        )
        assert "directory" in [column.key for column in table.columns]
        table.current_column = "directory"
        await session.press("s", "enter")
        assert table.sort_keys == (SortKey("directory", descending=False),)
        await session.press("S")
        assert table.sort_keys == (SortKey("directory", descending=True),)
        assert table.shown_rows[0].source.name == "unprofiled/tiny"


async def test_engine_that_cannot_be_read_is_a_row_with_its_error(tmp_path):
    async with running(several_engines(tmp_path)) as session:
        await session.press("slash", *"error:truncated")
        assert [row.source.name for row in session.listed.table.shown_rows] == ["broken/tiny"]


# What cannot be opened


def headless(monkeypatch, *keys: str) -> None:
    """Let `run_app` run without a terminal, and press keys once something is shown; end with 99 if nothing else does."""

    async def press(pilot):
        app = pilot.app
        if keys:
            await wait_until(pilot, lambda: isinstance(app.screen, EngineScreen | EnginesScreen))
            await pilot.press(*keys)
        deadline = monotonic() + LIMIT_S
        while monotonic() < deadline:
            if app.return_code is not None:
                return
            await asyncio.sleep(0.01)
        app.exit(return_code=99)

    run = TrexApp.run
    monkeypatch.setattr(TrexApp, "run", lambda self: run(self, headless=True, auto_pilot=press))


@pytest.mark.parametrize(("key", "code"), [("q", 0), ("ctrl+c", 0)])
def test_quitting_is_no_failure(tmp_path, monkeypatch, key, code):
    headless(monkeypatch, key)
    assert run_app([str(small_engine(tmp_path))]) == code


@pytest.mark.parametrize("key", ["q", "escape", "ctrl+c"])
def test_quitting_waits_for_nothing_that_is_being_read(tmp_path, monkeypatch, key):
    begun, may_end, ended = Event(), Event(), Event()

    def read(*_):
        begun.set()
        may_end.wait(60)
        ended.set()

    async def press(pilot):
        await wait_until(pilot, begun.is_set)
        await pilot.press(key)

    monkeypatch.setattr("trex_tui.old.app.read_engines", read)
    run = TrexApp.run
    monkeypatch.setattr(TrexApp, "run", lambda self: run(self, headless=True, auto_pilot=press))
    try:
        assert run_app([str(small_engine(tmp_path))]) == 0
        assert not ended.is_set()
    finally:
        may_end.set()


@pytest.mark.parametrize("window", ["question_mark", "ctrl+p", "s", "slash"])
def test_ctrl_c_quits_from_every_window(tmp_path, monkeypatch, window):
    headless(monkeypatch, window, "ctrl+c")
    assert run_app([str(small_engine(tmp_path))]) == 0


@pytest.mark.parametrize("content", [None, "", "{", '{"Layers"', "\x00\x01junk"])
def test_nothing_usable_is_an_error_with_the_path(tmp_path, monkeypatch, content):
    headless(monkeypatch)
    if content is not None:
        (tmp_path / "net.graph.json").write_text(content, encoding="utf-8")
    with pytest.raises(ArtifactError) as caught:
        run_app([str(tmp_path)])
    assert str(tmp_path) in str(caught.value)


def test_path_that_does_not_exist(tmp_path, monkeypatch):
    headless(monkeypatch)
    with pytest.raises(TrexError, match="absent"):
        run_app([str(tmp_path / "absent")])


# Unexpected errors


def failing(*_, **__):
    secret = "a name in a local variable"
    raise RuntimeError("it\x1b[31m broke\nbadly" + secret[:0])


def check_one_line(capsys) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("trex-tui: internal error: RuntimeError: it␛[31m broke␊badly")
    assert "secret" not in captured.err
    return captured.err


@pytest.mark.parametrize("where", ["worker", "key", "rendering"])
def test_unexpected_error_is_one_line_and_its_own_exit_code(tmp_path, monkeypatch, capsys, where):
    monkeypatch.delenv(LOG_VARIABLE, raising=False)
    headless(monkeypatch, *(["exclamation_mark"] if where == "key" else []))
    if where == "worker":
        monkeypatch.setattr("trex_tui.old.analysis.load.load_set", failing)
    elif where == "key":
        monkeypatch.setattr(EngineScreen, "action_notes", failing)
    else:
        monkeypatch.setattr("trex_tui.old.widgets.chrome.EngineHeader.render", failing)
    assert run_app([str(small_engine(tmp_path))]) == ExitCode.INTERNAL_ERROR
    assert "--log-file" in check_one_line(capsys)


def test_traceback_goes_to_the_log_that_was_asked_for(tmp_path, monkeypatch, capsys):
    log = tmp_path / "log"
    monkeypatch.setenv(LOG_VARIABLE, str(log))
    headless(monkeypatch)
    monkeypatch.setattr("trex_tui.old.analysis.load.load_set", failing)
    assert run_app([str(small_engine(tmp_path / "net"))]) == ExitCode.INTERNAL_ERROR
    assert str(log) in check_one_line(capsys)
    assert "Traceback" in log.read_text(encoding="utf-8")


def test_log_that_cannot_be_written_is_no_second_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(LOG_VARIABLE, str(tmp_path))
    assert report(RuntimeError("it\x1b[31m broke\nbadly")) == ExitCode.INTERNAL_ERROR
    assert "cannot be written" in check_one_line(capsys)


# Names


def check_harmless(text: str) -> None:
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200d\u202a-\u202e\u2028\u2029]", text)


async def test_hostile_names_are_shown_as_they_are_and_never_acted_on(tmp_path):
    async with running(named_engine(tmp_path, HOSTILE), (160, 45)) as session:
        check_harmless(session.text)
        for shown in (
            "␛[31mred␛[0m",
            "[@click=app.quit]click[/]",
            "$error",
            "two␊lines␍␉and a tab",
        ):
            assert shown in session.text
        assert all(len(line) <= 160 for line in session.text.splitlines())
        await session.press(TO_LAYERS, "g")
        for _ in HOSTILE:
            check_harmless(session.text)
            await session.press("j")
        await session.pilot.click(session.layers.details, offset=(3, 0))
        await session.press("t", "t", "t", "t")
        assert session.app.is_running


async def test_hostile_names_in_palette_and_filter(tmp_path):
    async with running(named_engine(tmp_path, HOSTILE), (120, 60)) as session:
        await session.press("ctrl+p", *"mark")
        await session.until(lambda: "[red]markup[/] [bold]bold[/bold] [/closed]" in session.text)
        await session.press("ctrl+u", *"click")
        await session.until(lambda: "[@click=app.quit]click[/]" in session.text)
        check_harmless(session.text)
        await session.press("enter")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen) and session.current == 4)
        await session.press("slash", *"[red]")
        await session.until(lambda: "/[red]  1 of 14" in session.text)
        session.filter_bar.query_one(Input).post_message(events.Paste("\x1b[31m"))
        await session.press(*"mark")
        assert session.screen.filter_text == "[red]mark"


async def test_hostile_names_of_files_and_devices(tmp_path):
    folder = tmp_path / "\x1b[31m[red]"
    small_engine(folder)
    write(
        folder / "tiny.metadata.json",
        {"device": "[blink]\x1b]52;c;YQ==\x07", "tensorrt_version": "\x1b[2J"},
    )
    async with running(tmp_path) as session:
        check_harmless(session.text)
        await session.press("exclamation_mark")
        check_harmless(session.text)
        assert "␛[31m[red]" in session.text


# Reading again, and leaving at once


TURNS = (*range(0, 24, 2), 30, 40, 60, 90) if THOROUGH else (0, 2, 6, 10, 16, 22, 40, 90)
"""After so many turns of the loop the next thing happens: each finds the screen half mounted in another way."""


async def turn(number):
    for _ in range(number):
        await asyncio.sleep(0)


async def linted(app, engine):
    """Wait for an engine and its findings; the pilot would wait for widgets that go meanwhile."""
    deadline = monotonic() + LIMIT_S
    while monotonic() < deadline:
        screen = app.screen
        if isinstance(screen, EngineScreen) and screen.engine is engine and screen.lint is not None:
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"the engine and its findings did not come: {app.screen}")


async def test_an_engine_read_again_may_come_while_its_screen_is_made(tmp_path):
    async with running(several_engines(tmp_path)) as session:
        app, old = session.app, session.listed.rows[FAST].engine
        for turns in TURNS:
            new = load(old.source, LoadOptions())
            app.post_message(EngineOpened(old))
            await turn(turns)
            app.post_message(Reloaded(OpenRequest((), LoadOptions()), old, new))
            await linted(app, new)
            app.screen.action_back()
            old = new
        assert app.crash is None


async def test_an_engine_may_be_left_while_it_is_replaced(tmp_path):
    async with running(several_engines(tmp_path)) as session:
        app, old = session.app, session.listed.rows[FAST].engine
        for turns in TURNS:
            new = load(old.source, LoadOptions())
            app.post_message(EngineOpened(old))
            await linted(app, old)
            app.post_message(Reloaded(OpenRequest((), LoadOptions()), old, new))
            await turn(turns)
            app.screen.action_back()
            old = new  # which the next round opens
        app.post_message(EngineOpened(old))
        await linted(app, old)
        assert app.crash is None


async def test_a_letter_that_comes_to_the_palette_after_its_end_is_no_error(tmp_path):
    async with running(several_engines(tmp_path)) as session:
        app = session.app
        app.action_command_palette()
        window = app.screen
        await session.until(lambda: window.query(Input))
        line = window.query_one(Input)
        window.dismiss()
        await session.until(lambda: not window.query(Input))
        with window._context():
            window._input(Input.Changed(line, "x"))
        await session.until(lambda: all(worker.is_finished for worker in app.workers))
        await turn(10)
        assert [toast.message for toast in app._notifications] == []
        assert app.crash is None
