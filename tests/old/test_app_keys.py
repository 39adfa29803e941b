"""Every key of every context is pressed, and must change something.

`STEPS` has for each action and key the keys to press before, where to look, and what must be seen there. A key without a step
fails `test_every_key_is_pressed`: a new action needs a new step.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from test_app_layers import ADD, branched_engine
from textual import events
from textual.command import CommandPalette
from tui import LIMIT_S, SMALL, Session, running

from helpers import DIGITS, TO_LATENCY, TO_LAYERS
from small_engines import BY_TIME, NET, SLOWEST, quantized_engine, several_engines, small_engine, write
from trex_tui.old.app import TrexApp
from trex_tui.old.report.charts.catalogue import CHARTS
from trex_tui.old.screens.charts import ChartsPane
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.screens.explanation import ExplainScreen
from trex_tui.old.screens.lint import LintPane
from trex_tui.old.screens.loading import LoadingScreen, read_engines
from trex_tui.old.widgets.actions import ACTIONS, TABS, Place
from trex_tui.old.widgets.search_bar import SearchBar

CHANGED = object()
"""In place of a value: another than before."""
Probe = Callable[[Session], object]


@dataclass(frozen=True)
class Step:
    """A key, pressed; `look` must then give `becomes`. `prepare` goes before, `undo` after it."""

    action: str
    key: str
    look: Probe
    becomes: object = CHANGED
    prepare: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()


def each(action: str, keys: str, look: Probe, becomes: object = CHANGED, **more: Any) -> list[Step]:
    """A step for each of some keys."""
    return [Step(action, key, look, becomes, **more) for key in keys.split()]


# Where to look


def on_top(session: Session) -> str:
    """The screen or window on top."""
    return "palette" if isinstance(session.app.screen, CommandPalette) else type(session.app.screen).__name__


def pane(session: Session) -> str | None:
    return session.screen.pane.id


def cursor(session: Session) -> int:
    return session.latency.table.cursor_row


def classes(session: Session) -> frozenset[str]:
    """The classes of the pane: what is zoomed, and what it shows beside."""
    return frozenset(session.screen.pane.classes)


def first_part(session: Session) -> object:
    """The size of the part before the divider."""
    parts = session.screen.pane.divided_parts
    return None if parts is None else parts[0].region.size


def charts(session: Session) -> ChartsPane:
    return session.screen.query_one(ChartsPane)


def to_chart(chart: str) -> tuple[str, ...]:
    """The keys that lead to a chart from any other."""
    return ("g", *"n" * [each.id for each in CHARTS].index(chart))


def findings(session: Session) -> LintPane:
    return session.screen.query_one(LintPane)


def memory_order(session: Session) -> list[int]:
    return [layer.index for layer in session.memory.table.shown_rows]


def second_engine(session: Session) -> object:
    """The last that was listed: while the list is read again there is none."""
    app: Any = session.app
    rows = session.listed.rows
    if len(rows) > 1 and rows[1].engine is not None:
        app.second_engine = rows[1].engine
    return app.second_engine


def exits(session: Session) -> int:
    return session.app.asked_to_exit  # type: ignore[attr-defined]


def suspends(session: Session) -> int:
    return session.app.asked_to_suspend  # type: ignore[attr-defined]


def redraws(session: Session) -> int:
    return session.app.asked_to_redraw  # type: ignore[attr-defined]


ESC = ("escape",)
STEPS: dict[Place, list[Step]] = {
    Place.EVERYWHERE: [
        *each("app.help", "question_mark f1", on_top, "HelpScreen", undo=ESC),
        *each("app.palette", "ctrl+p colon", on_top, "palette", undo=ESC),
        *each("app.open", "o", on_top, "OpenScreen", undo=ESC),
        *each("app.export", "e", on_top, "ExportScreen", undo=ESC),
        *each("app.close", "q", exits),
        *each("app.quit", "ctrl+c ctrl+q", exits),
        *each("app.redraw", "ctrl+l", redraws),
        *each("app.suspend", "ctrl+z", suspends),
    ],
    Place.ENGINE: [
        *(
            Step(f"engine.{tab.id}", DIGITS[tab.id], pane, tab.id, (TO_LAYERS if tab.id == "latency" else TO_LATENCY,))
            for tab in TABS
        ),
        Step("engine.notes", "exclamation_mark", on_top, "NotesScreen", (TO_LATENCY,), ESC),
        Step("engine.filter", "slash", lambda one: one.filter_bar.is_open, True, undo=ESC),
        Step("engine.search", "f", lambda one: one.screen.query_one(SearchBar).is_open, True, undo=ESC),
        Step("engine.next_match", "n", lambda one: one.current, BY_TIME[1], ("f", *"conv", "enter")),
        Step("engine.previous_match", "N", lambda one: one.current, SLOWEST),
        Step("engine.clear", "escape", lambda one: one.screen.filter_text, "", ("slash", *"conv", "enter")),
        Step("engine.copy", "y", lambda one: one.app.clipboard, NET[SLOWEST][0], ("g",)),
        Step("engine.copy_json", "Y", lambda one: one.app.clipboard.lstrip()[:1], "{"),
        Step("engine.explain", "i", on_top, "ExplainScreen", undo=ESC),
        Step("engine.producer", "left_square_bracket", lambda one: one.current, SLOWEST - 1),
        Step("engine.consumer", "right_square_bracket", lambda one: one.current, SLOWEST),
        Step("engine.trail_back", "minus", lambda one: one.current, SLOWEST - 1),
        *each("engine.trail_forward", "plus", lambda one: one.current, SLOWEST),
        *each("engine.trail_forward", "alt+right", lambda one: one.current, SLOWEST, prepare=("minus",)),
        Step("engine.faster", "J", lambda one: one.current, BY_TIME[1]),
        Step("engine.slower", "K", lambda one: one.current, SLOWEST),
        Step("engine.next_pane", "tab", lambda one: one.app.focused, prepare=(TO_LAYERS,)),
        Step("engine.previous_pane", "shift+tab", lambda one: one.app.focused),
        Step("engine.divider_back", "left_parenthesis", first_part, prepare=(TO_LAYERS,)),
        Step("engine.divider_forward", "right_parenthesis", first_part),
        Step("engine.capture", "P", on_top, "CaptureScreen", undo=ESC),
        Step("engine.reload", "R", lambda one: id(one.screen.engine), prepare=(TO_LATENCY,)),
        # Back goes to the list; Enter there opens the engine again.
        *each("engine.back", "q ctrl+o", on_top, "EnginesScreen", undo=("enter",)),
    ],
    Place.MOVE: [
        *each("table.cursor_down", "j down", cursor, 1, prepare=("g",)),
        *each("table.cursor_up", "k up", cursor, 7, prepare=("G",)),
        *each("table.first", "g home", cursor, 0, prepare=("G",)),
        *each("table.last", "G end", cursor, 8, prepare=("g",)),
        *each("table.half_page_down", "ctrl+d", cursor, prepare=("g",)),
        *each("table.half_page_up", "ctrl+u", cursor, prepare=("G",)),
        *each("table.page_down", "pagedown", cursor, prepare=("g",)),
        *each("table.page_up", "pageup", cursor, prepare=("G",)),
        *each("table.select", "enter", pane, "layers"),
    ],
    Place.OVERVIEW: [
        *each("overview.zoom", "z", classes),
        *each("overview.all", "a", lambda one: one.screen.pane.is_unfolded),
    ],
    Place.FACTS: [
        *each("facts.right", "l right", lambda one: one.overview.words.chosen, prepare=("h",)),
        *each("facts.left", "h left", lambda one: one.overview.words.chosen, prepare=("l",)),
    ],
    Place.LAYERS: [
        *each("layers.group", "t", lambda one: one.layers.table.grouping),
        *each("layers.choose_group", "T", on_top, "ChooseScreen", undo=ESC),
        *each("layers.order", "s", lambda one: one.layers.table.by_latency, True),
        *each("layers.zoom", "z", classes, undo=("z",)),
        *each("layers.neighbourhood", "v", lambda one: one.layers.words, undo=()),
        *each("layers.deeper", "greater_than_sign", lambda one: one.layers.neighbourhood.depth, 2),
        *each("layers.shallower", "less_than_sign", lambda one: one.layers.neighbourhood.depth, 1),
    ],
    Place.TREE: [
        *each("tree.collapse_all", "C", lambda one: one.tree_names),
        *each("tree.expand", "l right", lambda one: len(one.tree_names), prepare=("C",)),
        *each("tree.expand_all", "E", lambda one: len(one.tree_names), prepare=("C",)),
        *each("tree.collapse", "h left", lambda one: len(one.tree_names), prepare=("E", "g", "j")),
    ],
    Place.DETAILS: [
        *each("details.next_link", "l right", lambda one: one.layers.details.chosen, prepare=("g",)),
        *each("details.previous_link", "h left", lambda one: one.layers.details.chosen, prepare=("l", "l")),
    ],
    Place.NEIGHBOURHOOD: [
        *each("neighbourhood.right", "l right", lambda one: one.layers.neighbourhood.selected, prepare=("g",)),
        *each("neighbourhood.left", "h left", lambda one: one.layers.neighbourhood.selected, prepare=("g", "l")),
    ],
    Place.LATENCY: [
        *each("latency.sort", "s", on_top, "ChooseScreen", undo=ESC),
        *each("latency.reverse", "S r", lambda one: one.shown),
        *each("latency.then_by", "a", on_top, "ChooseScreen", undo=ESC),
        *each("latency.columns", "c", on_top, "ColumnsScreen", undo=ESC),
        *each("latency.mark", "space", lambda one: len(one.latency.marked_layers), 1),
        *each("table.column_left", "left", lambda one: one.latency.table.current_column),
        *each("table.column_right", "right", lambda one: one.latency.table.current_column),
    ],
    Place.CHARTS: [
        *each("charts.next", "n right", lambda one: charts(one).chart.id, "over-time", prepare=("g",)),
        *each("charts.previous", "p left", lambda one: charts(one).chart.id, "clock", prepare=("g",)),
        *each("charts.choose", "c", on_top, "ChooseScreen", undo=ESC),
        *each("charts.axes", "t", lambda one: charts(one).axes, prepare=to_chart("products")),
        *each("charts.value", "v", on_top, "ChooseScreen", prepare=to_chart("bar"), undo=ESC),
        *each("charts.color", "C", on_top, "ChooseScreen", prepare=to_chart("bar"), undo=ESC),
        *each("charts.columns", "a", on_top, "ChooseScreen", prepare=to_chart("scatter"), undo=ESC),
        *each("charts.enter", "enter l", lambda one: charts(one).view.has_focus, True, prepare=to_chart("bar"),
              undo=("shift+tab",)),
        *each("charts.zoom", "z", classes),
    ],
    Place.CHART: [
        *each("chart.right", "l right", lambda one: charts(one).view.spot, prepare=("g",)),
        *each("chart.left", "h left", lambda one: charts(one).view.spot, prepare=("G",)),
        *each("chart.down", "j down", lambda one: charts(one).view.spot, prepare=("g",)),
        *each("chart.up", "k up", lambda one: charts(one).view.spot, prepare=("G",)),
        *each("chart.open", "enter", pane, "layers"),
    ],
    Place.MEMORY: [
        *each("memory.sort", "s", on_top, "ChooseScreen", undo=ESC),
        *each("memory.reverse", "S r", memory_order),
        *each("memory.peak", "p", lambda one: one.current, prepare=("g", "G")),
        *each("memory.zoom", "z", classes),
    ],
    Place.LINT: [
        *each("lint.order", "s", lambda one: findings(one).table.sort_keys, undo=("s",)),
        *each("lint.next_layer", "n", lambda one: one.current, prepare=("g", "j")),
        *each("lint.previous_layer", "N", lambda one: one.current),
        *each("lint.rule", "c", on_top, "ChooseScreen", undo=ESC),
        *each("lint.suppress", "x", on_top, "ChooseScreen", undo=ESC),
        *each("lint.write", "W", lambda one: len(one.app._notifications)),
        *each("lint.zoom", "z", classes),
    ],
    Place.ENGINES: [
        *each("engines.filter", "slash", lambda one: one.listed.filter_bar.is_open, undo=ESC),
        *each("engines.sort", "s", on_top, "ChooseScreen", undo=ESC),
        *each("engines.reverse", "S r", lambda one: one.listed.table.sort_keys, prepare=("s", "j", "enter")),
        *each("engines.columns", "c", on_top, "ColumnsScreen", undo=ESC),
        *each("engines.clear", "escape", lambda one: len(one.listed.table.marked), 0, prepare=("space",)),
        *each("engines.reload", "R", second_engine),
        *each("engines.mark", "space", lambda one: len(one.listed.table.marked), undo=("space",)),
        *each("engines.notes", "exclamation_mark", on_top, "TextScreen", undo=ESC),
        *each("engines.variant", "m", lambda one: len(one.app._notifications)),
        *each("engines.charts", "p", on_top, "FleetChartsScreen", undo=("q",)),
        *each("engines.history", "H", on_top, "BuildHistoryScreen", undo=("q",)),
        *each("engines.compare", "equals_sign", on_top, "EngineScreen", prepare=("g", "space", "j", "space"), undo=("q",)),
        *each("engines.explain", "i", on_top, "ExplainScreen", undo=ESC),
        *each("engines.copy", "y", lambda one: one.app.clipboard),
        *each("engines.copy_json", "Y", lambda one: one.app.clipboard),
        *each(
            "engines.group", "t", lambda one: one.listed.table.grouping or len(one.app._notifications)
        ),
    ],
    Place.LOADING: each("loading.cancel", "escape q", on_top, "EngineScreen"),
    Place.DIALOG: each("dialog.close", "escape q", on_top, "EngineScreen", prepare=("question_mark",)),
}  # fmt: skip


ELSEWHERE = (
    *(Place.BUILD, Place.COMPARE, Place.BLOCKS, Place.LANES, Place.BARS),
    *(Place.FLEET_CHARTS, Place.BUILDS),
)
"""Places whose keys need more than a small engine: tests of their own press them."""


ACTIONS_ELSEWHERE = {
    "engine.run": "test_app_runs.py",
    "table.narrow": "test_column_widths.py",
    "table.widen": "test_column_widths.py",
    "table.reset_widths": "test_column_widths.py",
}
"""Actions that need files of several runs or leave widths behind: the tests that press them."""


def test_every_key_is_pressed():
    pressed = {(step.action, step.key) for steps in STEPS.values() for step in steps}
    actions = [
        action for action in ACTIONS if action.place not in ELSEWHERE and action.id not in ACTIONS_ELSEWHERE
    ]
    assert {(action.id, key) for action in actions for key in action.keys.split(",")} == pressed
    places = {action.id: action.place for action in ACTIONS}
    assert all(places[step.action] is place for place, steps in STEPS.items() for step in steps)


@asynccontextmanager
async def standing_in(place: Place, folder: Path) -> AsyncIterator[Session]:
    """The app where the keys of a place work; what would end or stop it is counted instead."""
    tabs = {place: tab.id for tab in reversed(TABS) for place in tab.places}
    of_layers = place in next(tab.places for tab in TABS if tab.id == "layers")
    if place in (Place.ENGINE, Place.ENGINES):
        path = several_engines(folder)
    else:
        made = {Place.LINT: quantized_engine}.get(place, branched_engine if of_layers else small_engine)
        path = made(folder)
        write(path / "tiny.build.metadata.json", {"build_options": {"Refit": "Disabled"}})
    async with running(path, tab=tabs.get(place, "latency")) as session:
        _count_ends(session)
        if place is Place.ENGINE:
            await session.press("j", "enter")
            await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        if of_layers:
            await session.screen.go_to(session.screen.engine.layers[ADD])
            await session.until(lambda: session.layers.facts is not None and session.current == ADD)
        if place is Place.DETAILS:
            await session.press("enter")
        if place is Place.NEIGHBOURHOOD:
            await session.press("v", "enter")
            await session.until(lambda: session.layers.neighbourhood.current is not None)
        if place is Place.CHART:
            await session.press(*to_chart("bar"))
            await session.until(lambda: charts(session).is_up_to_date)
            await session.press("enter")
        if place in (Place.OVERVIEW, Place.FACTS):
            await session.until(lambda: session.screen.pane.analysis is not None)
        if place is Place.FACTS:
            await session.press("tab")
        if place is Place.MEMORY:
            await session.until(lambda: session.memory.figures is not None)
        yield session


def _count_ends(session: Session) -> None:
    app: Any = session.app
    app.asked_to_exit = app.asked_to_suspend = app.asked_to_redraw = 0

    def note_exit(*_: object, **__: object) -> None:
        app.asked_to_exit += 1

    def note_suspend() -> None:
        app.asked_to_suspend += 1

    def note_redraw() -> None:
        app.asked_to_redraw += 1

    app.exit, app.action_suspend_process, app.action_redraw = note_exit, note_suspend, note_redraw


@pytest.mark.parametrize("place", STEPS, ids=lambda place: place.name.lower())
async def test_keys_of(tmp_path, place):
    async with standing_in(place, tmp_path) as session:
        for step in STEPS[place]:
            if place is Place.LOADING:
                session.app.push_screen(LoadingScreen(["net"], is_first=False))
                await session.until(lambda: on_top(session) == "LoadingScreen")
            top = on_top(session)
            await session.press(*step.prepare)
            before = step.look(session)
            assert step.becomes is CHANGED or before != step.becomes, f"{step}: it is so already"
            await session.press(step.key)
            await session.until(
                lambda step=step, before=before: _holds(step, before, session), f"{step.action} {step.key}"
            )
            await session.press(*step.undo)
            if step.undo:
                await session.until(lambda top=top: on_top(session) == top, f"{top} after {step.key}")


def _holds(step: Step, before: object, session: Session) -> bool:
    now = step.look(session)
    return now != before if step.becomes is CHANGED else now == step.becomes


# Keys before there is an engine


@asynccontextmanager
async def reading(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Session, Event]]:
    """An app that reads until the event is set."""
    may_read = Event()

    def read(*arguments: Any) -> None:
        assert may_read.wait(LIMIT_S)
        read_engines(*arguments)

    monkeypatch.setattr("trex_tui.old.app.read_engines", read)
    app = TrexApp([str(folder)])
    async with app.run_test(size=SMALL) as pilot:
        session = Session(app, pilot)
        await session.until(lambda: app._wanted is not None)
        try:
            yield session, may_read
        finally:
            may_read.set()


async def test_keys_pressed_while_an_engine_is_read_are_done_when_it_is_there(tmp_path, monkeypatch):
    async with reading(small_engine(tmp_path), monkeypatch) as (session, may_read):
        session.type_ahead(TO_LATENCY, "j", "slash", *"conv", "enter", "question_mark")
        await session.pilot.pause()
        assert on_top(session) == "LoadingScreen", "the key of the help is not the first"
        may_read.set()
        await session.until(lambda: on_top(session) == "HelpScreen")
        engine = next(screen for screen in session.app.screen_stack if isinstance(screen, EngineScreen))
        assert engine.pane.id == "latency"
        assert engine.filter_text == "conv"
        assert engine.current_layer is not None
        assert engine.current_layer.index == BY_TIME[1]


async def test_keys_that_work_while_an_engine_is_read(tmp_path, monkeypatch):
    async with reading(small_engine(tmp_path), monkeypatch) as (session, _):
        await session.press("question_mark")
        await session.until(lambda: on_top(session) == "HelpScreen")
        await session.press("escape")
        await session.until(lambda: on_top(session) == "LoadingScreen")
        await session.press(TO_LATENCY, "q")
    assert session.app.return_code == 0


async def test_a_key_waits_for_a_screen_that_opens_while_it_is_under_way(tmp_path):
    """A key that reaches the app through the queues of the screen before acts on the new one, once that has its panes."""
    async with running(small_engine(tmp_path), SMALL) as session:
        key = events.Key("i", "i")
        key._set_forwarded()
        session.app.push_screen(EngineScreen(session.screen.engine))
        assert not session.app.screen.is_mounted
        await session.app.on_event(key)
        await session.until(
            lambda: isinstance(session.app.screen, ExplainScreen), "the numbers of the new screen"
        )
