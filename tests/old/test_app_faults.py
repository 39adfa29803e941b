"""Faults injected into the running explorer: each costs its answer, or ends the program in one sentence; nothing else."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest
from test_app_list import headless
from textual import notifications
from textual.notifications import Notification
from textual.timer import Timer
from textual.widgets import Input
from textual.widgets._toast import Toast
from tui import LARGE, SMALL, Session, is_loaded, running, screen_text, wait_until

from build_cases import write_log
from helpers import DIGITS
from small_engines import named_engine, small_engine
from trex_tui.old import crash_log as faults
from trex_tui.old.app import TrexApp, run_app
from trex_tui.old.engine.engine import load_engine
from trex_tui.old.screens.dialogs import ChooseScreen, OpenScreen
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.screens.export import ExportScreen


class Broken:
    """Takes the place of a function, and breaks with a word that names the fault."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *_: object, **__: object) -> object:
        raise RuntimeError(f"{self.name} broke")


# Fault, what is broken, keys to where its answer would be.
WORKERS: list[tuple[str, str, tuple[str, ...]]] = [
    ("overview", "trex_tui.old.screens.overview.analyse", (DIGITS["overview"],)),
    ("lint", "trex_tui.old.lint.run.run", (DIGITS["lint"],)),
    ("memory", "trex_tui.old.screens.memory.memory_figures", (DIGITS["memory"],)),
    ("facts", "trex_tui.old.screens.layers.derived", (DIGITS["layers"],)),
    ("chart", "trex_tui.old.screens.charts.draw", (DIGITS["charts"],)),
    ("log", "trex_tui.old.buildlog.reader.shared_log", (DIGITS["build"],)),
    ("filter", "trex_tui.old.screens.engine.filter_layers", ("slash", "c")),
]


@asynccontextmanager
async def opened(path: Path, size: tuple[int, int] = LARGE) -> AsyncIterator[Session]:
    """The explorer on an engine; unlike `running`, it waits for no answer of lint."""
    app = TrexApp([str(path)])
    app.animation_level = "none"
    async with app.run_test(size=size) as pilot:
        session = Session(app, pilot)
        await session.until(lambda: isinstance(app.screen, EngineScreen) and app.screen.focused)
        yield session


def toasts(session: Session) -> str:
    return "\n".join(one.message for one in session.app._notifications)


def told(session: Session) -> str:
    """What is on screen, as one line."""
    return " ".join(screen_text(session.app).replace("│", " ").split())


async def test_what_fails_in_a_thread_costs_its_answer_alone(tmp_path, monkeypatch):
    net, other = small_engine(tmp_path / "net"), named_engine(tmp_path / "other", ["a", "b"])
    write_log(net)
    log = tmp_path / "log"
    monkeypatch.setenv(faults.LOG_VARIABLE, str(log))
    monkeypatch.setattr(faults, "_written", set())
    monkeypatch.chdir(tmp_path)
    for name, target, _ in WORKERS:
        monkeypatch.setattr(target, Broken(name) if name != "chart" else only_first_time_broken())
    monkeypatch.setattr("trex_tui.old.analysis.compare.compare", Broken("compare"))
    monkeypatch.setattr("trex_tui.old.screens.export.layers_as", Broken("export"))
    monkeypatch.setattr("trex_tui.old.screens.dialogs.completions", Broken("completion"))
    monkeypatch.setattr("trex_tui.old.screens.engine.derived", Broken("warming"))
    async with opened(net) as session:
        for name, _, keys in WORKERS:
            await session.press(*keys)
            await session.until(lambda name=name: f"RuntimeError: {name} broke" in told(session), name)
        await session.press("escape", DIGITS["latency"])
        await session.screen.compare_also(load_engine(other))
        await session.until(lambda: "compare broke" in toasts(session))
        assert "Comparing" not in told(session), "nothing is waited for"
        await session.press(DIGITS["latency"], "e")
        await session.until(lambda: isinstance(session.app.screen, ExportScreen))
        await session.press("enter")
        await session.until(
            lambda: "The export: internal error: RuntimeError: export broke" in toasts(session)
        )
        # Opening: what completes the path, what reads; and the engine that is open stays.
        await session.press("o")
        await session.until(lambda: isinstance(session.app.screen, OpenScreen))
        session.app.screen.query_one(Input).value = str(other)
        await session.until(lambda: "completion broke" in told(session))
        monkeypatch.setattr("trex_tui.old.screens.dialogs.completions", lambda _: [])
        monkeypatch.setattr("trex_tui.old.analysis.load.load_set", Broken("reading"))
        await session.press("enter")
        await session.until(
            lambda: isinstance(session.app.screen, OpenScreen) and "reading broke" in told(session)
        )
        await session.press("escape", "R")
        await session.until(lambda: "Reload failed: internal error: RuntimeError: reading" in toasts(session))
        assert session.screen.engine.name == "tiny"
        # A worker that tells nobody what it could not do.
        session.app.run_worker(Broken("worker"), thread=True)
        await session.until(lambda: "RuntimeError: worker broke" in toasts(session))
        assert session.app.return_code is None
    entries = log.read_text(encoding="utf-8")
    names = [name for name, _, _ in WORKERS] + [
        "compare",
        "export",
        "completion",
        "reading",
        "worker",
        "warming",
    ]
    assert [name for name in names if f"RuntimeError: {name} broke" not in entries] == []


def only_first_time_broken() -> Callable[..., object]:
    """Drawing breaks; drawing the sentence about it does not."""
    from trex_tui.old.report.charts.cells import draw

    turns = count()

    def draw_or_break(*arguments: object) -> object:
        if next(turns) % 2 == 0:
            raise RuntimeError("chart broke")
        return draw(*arguments)  # type: ignore[arg-type]

    return draw_or_break


async def test_a_row_of_the_list_that_fails_costs_that_row(tmp_path, monkeypatch):
    small_engine(tmp_path / "a")
    named_engine(tmp_path / "b", ["x"])
    from trex_tui.old.analysis.load import load_set

    def load_or_break(source, *rest, **named):
        if source.name == "named":
            raise RuntimeError("row broke")
        return load_set(source, *rest, **named)

    monkeypatch.setattr("trex_tui.old.analysis.load.load_set", load_or_break)
    async with running(tmp_path) as session:
        rows = session.listed.rows
        assert [row.engine is not None for row in rows] == [True, False]
        assert "internal error: RuntimeError: row broke" in str(rows[1].error)


class PictureError(RuntimeError):
    """An error that Textual would print as it says itself."""

    def __rich__(self) -> str:
        return "a picture"


def picture(*_: object, **__: object) -> None:
    raise PictureError("fatal broke")


# What is broken, and the keys after which it is called. The app cannot know what state these leave. (Keys and rendering are
# in test_app_list.py.)
FATAL = {
    "mounting of a window": ("trex_tui.old.screens.dialogs.ChooseScreen.on_mount", [DIGITS["latency"], "s"]),
    "input": ("trex_tui.old.screens.driver.Collector.note_input", ["j"]),
}


@pytest.mark.parametrize("fault", FATAL)
def test_what_fails_in_the_app_itself_ends_it_with_a_sentence(tmp_path, monkeypatch, capsys, fault):
    monkeypatch.delenv(faults.LOG_VARIABLE, raising=False)
    target, keys = FATAL[fault]
    headless(monkeypatch, *keys)
    monkeypatch.setattr(target, picture)
    assert run_app([str(small_engine(tmp_path))]) == 70
    captured = capsys.readouterr()
    assert captured.out == ""
    expected = "internal error: PictureError: fatal broke (--log-file FILE keeps the traceback)"
    assert captured.err == f"trex-tui: {expected}\n"


async def test_a_toast_that_is_made_while_it_expires_has_time_left(tmp_path, monkeypatch):
    """Textual's timer would loop forever with a negative time, and no key would be handled."""
    times: list[float] = []
    passed: list[float] = []
    make, set_timer = Toast.__init__, Toast.set_timer

    def make_slowly(toast: Toast, notification: Notification) -> None:
        passed.append(2.0)
        make(toast, notification)

    def note_time(toast: Toast, delay: float, *args: object) -> Timer:
        times.append(delay)
        return set_timer(toast, max(delay, 0.01), *args)

    monkeypatch.setattr(Toast, "__init__", make_slowly)
    monkeypatch.setattr(Toast, "set_timer", note_time)
    monkeypatch.setattr(notifications, "time", lambda: time.time() + sum(passed))
    app = TrexApp([str(small_engine(tmp_path))])
    async with app.run_test(notifications=True) as pilot:
        await wait_until(pilot, lambda: is_loaded(app), "an engine")
        app.notify("nearly over", timeout=1.0)
        await wait_until(pilot, lambda: times, "a toast")
        await wait_until(pilot, lambda: not list(app._notifications), "the end of the toast")
    assert min(times) > 0


async def test_no_room_at_all_and_a_clock_that_jumps(tmp_path, monkeypatch):
    """Next to no cells and back, on screens that draw by size and with a window open, while the clock is set to and fro."""
    now, turns = time.time(), count()
    monkeypatch.setattr(time, "time", lambda: now + (-86400.0 if next(turns) % 2 else 86400.0))
    async with running(small_engine(tmp_path)) as session:
        session.app.notify("still here", timeout=0.2)
        narrow, none = (2, 40), (1, 1)
        tabs = [(DIGITS["memory"], narrow), (DIGITS["charts"], none), (DIGITS["overview"], narrow)]
        for key, size in [*tabs, (DIGITS["layers"], none), ("question_mark", narrow)]:
            await session.press(key)
            await session.pilot.resize_terminal(*size)
        await session.pilot.resize_terminal(*SMALL)
        await session.press("q")
        assert "q quit" in session.footer
        await session.press(DIGITS["latency"], "s")
        assert isinstance(session.app.screen, ChooseScreen)
        await session.press("escape")
        await session.until(lambda: "still here" not in toasts(session), "the end of a toast")
        assert is_loaded(session.app)
