"""What keeps a key fast, counted instead of timed: nothing is drawn, laid out or collected that need not be."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from threading import Event, get_ident

import pytest
from textual import events
from textual.content import Content
from textual.geometry import Offset
from textual.screen import Screen
from textual.selection import Selection
from textual.widgets import LoadingIndicator

from trex_tui.old.analysis.filter.selection import engine_values
from trex_tui.old.screens import driver as collecting
from trex_tui.old.screens import engine as engine_screen
from trex_tui.old.screens.driver import (
    IDLE_SECONDS,
    PAUSE_SECONDS,
    Collector,
    DaemonThreads,
    collecting_when_idle,
)
from trex_tui.old.screens.engine import warm
from trex_tui.old.screens.layers import LayersPane
from trex_tui.old.screens.loading import LoadingScreen
from trex_tui.old.widgets.chrome import FooterKey, KeyFooter, fitting
from trex_tui.old.widgets.frames import FrameScreen, LineCompositor
from trex_tui.old.widgets.table import VirtualTable
from tui import LARGE, running, small_engine

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def whole_screens(monkeypatch) -> list[str]:
    """What was done to whole screens."""
    done: list[str] = []
    refresh, layout = Screen.refresh, Screen._refresh_layout

    def count_refresh(self, *regions, **options):
        done.append("refresh")
        return refresh(self, *regions, **options)

    def count_layout(self, *arguments, **options):
        done.append("layout")
        return layout(self, *arguments, **options)

    monkeypatch.setattr(Screen, "refresh", count_refresh)
    monkeypatch.setattr(Screen, "_refresh_layout", count_layout)
    return done


async def draw_screens_below(session) -> None:
    """Wait for the last frame of the screen that showed the progress of reading: it is drawn late, and draws all above."""
    stack = session.app.screen_stack
    await session.until(lambda: not any(screen._layout_required for screen in stack), "the last layouts")
    await session.pilot.pause()


@pytest.mark.parametrize("tab", ["overview", "layers", "latency", "memory"])
async def test_a_step_of_the_cursor_draws_and_lays_out_no_whole_screen(tmp_path, whole_screens, tab):
    async with running(small_engine(tmp_path), LARGE, tab) as session:
        await session.until(lambda: not any(worker.is_running for worker in session.app.workers))
        await draw_screens_below(session)
        before = session.current
        whole_screens.clear()
        await session.press("j", "j", "k", "j")
        assert session.current != before
        assert whole_screens == []


async def test_the_frame_after_a_key_waits_for_what_is_beside_the_table(tmp_path, monkeypatch):
    """Drawn at once, the cursor would use the turn of the details, the next of which is 17 ms later."""
    done = []

    def record(owner: type, name: str) -> None:
        method = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda own, *rest: (done.append(name), method(own, *rest))[1])

    async with running(small_engine(tmp_path), LARGE, "layers") as session:
        await session.until(lambda: not any(worker.is_running for worker in session.app.workers))
        await draw_screens_below(session)
        record(FrameScreen, "hold_frame")
        record(LayersPane, "row_changed")
        record(FrameScreen, "release_frame")
        record(LineCompositor, "render_partial_update")
        await session.press("j")
        assert done == ["hold_frame", "row_changed", "release_frame", "render_partial_update"]


async def test_a_held_screen_asks_for_no_frame(tmp_path):
    async with running(small_engine(tmp_path), LARGE, "layers") as session:
        screen = session.screen
        for change, is_held in ((screen.hold_frame, True), (screen.release_frame, False)):
            change()
            idle = events.Idle()
            screen.on_idle(idle)
            assert idle._no_default_action is is_held


async def test_a_step_of_the_cursor_renders_the_rows_it_changes(tmp_path, monkeypatch):
    rows = []
    render = VirtualTable.render_lines
    monkeypatch.setattr(
        VirtualTable, "render_lines", lambda own, crop: (rows.append(crop.height), render(own, crop))[1]
    )
    async with running(small_engine(tmp_path), LARGE, "latency") as session:
        await session.until(lambda: not any(worker.is_running for worker in session.app.workers))
        await draw_screens_below(session)
        rows.clear()
        await session.press("j", "k")
        assert rows
        assert max(rows) <= 2


async def test_a_window_lays_out_nothing_below_it(tmp_path, monkeypatch):
    laid_out = []
    layout = Screen._refresh_layout
    monkeypatch.setattr(
        Screen,
        "_refresh_layout",
        lambda own, *rest, **more: (laid_out.append(own), layout(own, *rest, **more))[1],
    )
    async with running(small_engine(tmp_path), LARGE, "layers") as session:
        await session.until(lambda: not any(worker.is_running for worker in session.app.workers))
        await draw_screens_below(session)
        below = session.screen
        laid_out.clear()
        await session.press("question_mark")
        assert session.app.screen is not below
        assert session.app.screen in laid_out
        assert below not in laid_out
        assert not below._repaint_required


async def test_a_change_of_tab_is_drawn_once(tmp_path, monkeypatch):
    frames = []
    draw = LineCompositor.render_partial_update
    monkeypatch.setattr(
        LineCompositor, "render_partial_update", lambda own: (frames.append(draw(own)), frames[-1])[1]
    )
    async with running(small_engine(tmp_path), LARGE, "layers") as session:
        await session.press("3", "2", "5", "2")
        await session.until(lambda: not any(worker.is_running for worker in session.app.workers))
        await draw_screens_below(session)
        for key in "352":
            frames.clear()
            await session.press(key)
            assert len([frame for frame in frames if frame is not None]) == 1, key


async def test_a_letter_of_a_filter_lays_out_nothing(tmp_path, whole_screens):
    async with running(small_engine(tmp_path), LARGE, "layers") as session:
        await session.press("slash", "c")
        await draw_screens_below(session)
        whole_screens.clear()
        await session.press("o")
        assert "layout" not in whole_screens
        assert "refresh" not in whole_screens


async def test_nothing_moves_below_an_engine(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        below = session.app.screen_stack[0]
        assert isinstance(below, LoadingScreen)
        assert below.query_one(LoadingIndicator).auto_refresh is None


async def test_what_first_keys_need_is_computed_in_a_thread_once_the_engine_is_shown(tmp_path, monkeypatch):
    warmed = []
    monkeypatch.setattr(engine_screen, "warm", lambda engine: warmed.append((engine, get_ident())))
    async with running(small_engine(tmp_path)) as session:
        await session.until(lambda: warmed)
        ((engine, thread),) = warmed
        assert engine is session.screen.engine
        assert thread != get_ident()
        warm(engine)
        assert {"kind", "latency_pct"} <= set(engine_values(engine)._columns)


# The collector


def test_full_collections_are_left_to_idle_moments():
    before = gc.get_threshold()
    with collecting_when_idle():
        assert gc.get_threshold()[:2] == before[:2]
        assert gc.get_threshold()[2] > 1000 * before[2]
        assert not gc.isenabled(), "until an engine is read, or a key comes"
        Collector().note_input()
        assert gc.isenabled()
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_collects_once_when_no_key_was_pressed_for_a_while(monkeypatch):
    now, done = [100.0], []
    monkeypatch.setattr(collecting, "monotonic", lambda: now[0])
    for name in ("collect", "freeze", "unfreeze"):
        monkeypatch.setattr(collecting.gc, name, lambda name=name: done.append(name))
    collector = Collector()
    now[0] += IDLE_SECONDS
    assert not collector.collect_if_idle(), "nothing has been read yet"
    collector.note_input()
    assert not collector.collect_if_idle()
    now[0] += IDLE_SECONDS
    assert collector.collect_if_idle()
    assert done == ["collect", "freeze"]
    assert not collector.collect_if_idle(), "nothing has happened since"
    collector.note_input()
    assert not collector.collect_if_idle()
    done.clear()
    collector.note_engine(replaces=True)
    now[0] += IDLE_SECONDS
    assert collector.collect_if_idle()
    assert done == ["freeze", "unfreeze", "collect", "freeze"], "the engine before may be garbage"


def test_collects_sooner_where_memory_grows(monkeypatch):
    """In a short pause first; in the end while keys come."""
    now, blocks, done = [100.0], [1000], []
    monkeypatch.setattr(collecting, "monotonic", lambda: now[0])
    monkeypatch.setattr(collecting.sys, "getallocatedblocks", lambda: blocks[0])
    for name in ("collect", "freeze", "unfreeze"):
        monkeypatch.setattr(collecting.gc, name, lambda name=name: done.append(name))
    collector = Collector()
    collector.note_input()
    now[0] += PAUSE_SECONDS
    blocks[0] = 1200
    assert not collector.collect_if_idle(), "the first panes are made"
    now[0] += IDLE_SECONDS
    assert collector.collect_if_idle()
    done.clear()
    collector.note_input()
    blocks[0] = 1400
    assert not collector.collect_if_idle()
    now[0] += PAUSE_SECONDS
    assert collector.collect_if_idle()
    assert done == ["unfreeze", "collect", "freeze"], "what was open before may be garbage"
    collector.note_input()
    blocks[0] = 2000
    assert not collector.collect_if_idle()
    blocks[0] = 2200
    assert collector.collect_if_idle()


def test_the_first_frame_of_an_engine_waits_for_no_collection(monkeypatch):
    now, blocks = [100.0], [1000]
    monkeypatch.setattr(collecting, "monotonic", lambda: now[0])
    monkeypatch.setattr(collecting.sys, "getallocatedblocks", lambda: blocks[0])
    collector = Collector()
    now[0], blocks[0] = now[0] + IDLE_SECONDS, 3000
    assert not collector.collect_if_idle(), "what was imported stays"
    collector.note_engine(replaces=False)
    blocks[0] = 4000
    assert not collector.collect_if_idle(), "its panes are being made"
    gc.unfreeze()


# Threads


def test_a_job_has_a_result_or_an_error():
    threads = DaemonThreads()
    assert threads.submit(lambda one, *, two: one + two, 1, two=2).result(60) == 3
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 // 0).result(60)


def test_nobody_waits_for_a_job_at_the_end():
    may_end = Event()
    job = DaemonThreads()
    future = job.submit(may_end.wait, 60)
    job.shutdown(wait=True)
    assert not future.done()
    may_end.set()
    assert future.result(60)


# Texts that are drawn line by line


async def test_text_is_marked_with_the_mouse_as_it_stands(tmp_path):
    async with running(small_engine(tmp_path), LARGE, "layers") as session:
        details = session.layers.details
        rows = details.wrapped(details.text_width)
        whole = Selection(None, None)
        assert details.get_selection(whole) == ("\n".join(row.plain for row in rows), "\n")
        plain = [details.render_line(number).text for number in range(3)]
        session.screen.selections = {details: Selection(Offset(0, 1), Offset(4, 1))}
        assert [details.render_line(number).text for number in range(3)] == plain
        session.screen.selections = {}


async def test_a_link_below_the_fold_can_be_clicked(tmp_path):
    async with running(small_engine(tmp_path), tab="layers") as session:
        await session.until(lambda: session.layers.facts is not None)
        await session.press("enter")
        details = session.layers.details
        number = next(number for number, line in enumerate(details.lines) if isinstance(line.target, int))
        target = details.lines[number].target
        details.scroll_to(y=details._starts()[number] - 1, animate=False)
        await session.pilot.pause()
        row = details._starts()[number] - details.scroll_offset.y
        await session.pilot.click(details, offset=(6, row + 1))
        await session.until(lambda: session.current == target)


# The footer


async def test_the_footer_says_what_the_key_under_the_mouse_does(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        footer = session.screen.query_one(KeyFooter)
        at = session.footer.index("/ filter")
        await session.pilot.hover(footer, offset=(at, 0))
        assert isinstance(footer.tooltip, Content)
        assert "Filter layers: words" in footer.tooltip.plain
        assert footer.key_at(at - 1) is None, "the blank between two keys"
        keys = session.footer
        await session.press("question_mark")
        await session.until(lambda: session.footer == "esc close", "the keys of the window instead")
        await session.press("escape")
        await session.until(lambda: session.footer == keys, "those of the screen again")


def test_spare_keys_go_first_where_the_footer_is_narrow():
    keys = [FooterKey("y", "y", "copy", "copy_name"), FooterKey("q", "q", "quit", "close")]
    assert fitting(keys, 14) == keys
    assert fitting(keys, 13) == keys[1:]


# The benchmark


def test_the_benchmark_of_keys_measures_both_apps(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    keys = pytest.importorskip("keys")
    scenes = (
        keys.Scene("down", ("j", "j"), ("3",)),
        keys.Scene("filter", ("c",), ("3", "slash"), ("escape",)),
    )
    ours = keys.explorer_times(small_engine(tmp_path), scenes)
    bare = keys.bare_times(100, scenes)
    for times in (ours, bare):
        assert [len(times[scene.name].last) for scene in scenes] == [2, 1]
        assert all(
            0 < first <= last
            for one in times.values()
            for first, last in zip(one.first, one.last, strict=True)
        )
    for module in ("keys", "frames"):
        sys.modules.pop(module, None)


@pytest.mark.parametrize(("percent", "expected"), [(50, 2.0), (95, 4.0), (25, 1.0)])
def test_percentiles_of_the_benchmark_are_values_that_were_measured(monkeypatch, percent, expected):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    keys = pytest.importorskip("keys")
    assert keys.percentile([4.0, 2.0, 1.0, 3.0], percent) == expected
