"""Windows over a screen: keys that come faster than they close, and terminals without room for them."""

from __future__ import annotations

import asyncio

import pytest
from textual.command import CommandList
from textual.screen import ModalScreen
from tui import running

from helpers import DIGITS, OLD_SAMPLES, TO_MEMORY, covering, layer, write_graph
from small_engines import quantized_engine, small_engine
from trex_tui.old.engine.engine import load_engine
from trex_tui.old.screens.dialogs import ColumnsScreen, FindScreen
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.screens.engines import EnginesScreen
from trex_tui.old.screens.export import ExportScreen
from trex_tui.old.screens.palette import Commands
from trex_tui.old.screens.pane import FindingOpened
from trex_tui.old.screens.text_screens import HelpScreen


async def test_enters_that_arrive_together_act_in_turn(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        for tab, key in [("layers", "T"), ("latency", "s"), ("charts", "c")]:
            await session.press(DIGITS[tab], key)
            assert not isinstance(session.app.screen, EngineScreen), tab
            session.type_ahead(*["enter"] * 5)  # On the charts, every second one opens the window again.
            await session.until(lambda: isinstance(session.app.screen, EngineScreen), tab)
            await session.press(TO_MEMORY)
            assert session.screen.pane.id == "memory", tab


async def test_a_palette_may_be_closed_while_it_gathers_commands(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("colon")
        window = session.app.screen
        await window.query_one(CommandList).remove()  # as on the way to its end
        await window._gather_commands("conv").wait()


async def test_enters_that_arrive_together_run_a_command_of_the_palette_once(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("colon")
        await session.press(*"available")
        await session.until(lambda: "Show available keys." in session.text)
        session.type_ahead("down", *["enter"] * 5)
        await session.until(lambda: isinstance(session.app.screen, HelpScreen))
        await session.press("down")  # after all that was typed ahead has been handled
        assert [isinstance(screen, HelpScreen) for screen in session.app.screen_stack].count(True) == 1


async def test_enters_that_arrive_together_export_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with running(small_engine(tmp_path / "engine")) as session:
        await session.press("e")
        assert isinstance(session.app.screen, ExportScreen)
        session.type_ahead(*["enter"] * 4)
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        await session.until(lambda: list(tmp_path.glob("*.csv")), "the file")


async def test_pages_of_a_list_without_room_are_not_turned(tmp_path):
    """Of the palette, a choice, and the export."""
    async with running(small_engine(tmp_path), tab="layers") as session:
        depth = len(session.app.screen_stack)
        for size, key in covering([(20, 3), (10, 2), (5, 1), (1, 1)], ["colon", "T", "e"]):
            await session.pilot.resize_terminal(*size)
            await session.press(key)
            await session.until(lambda: len(session.app.screen_stack) == depth + 1, f"{size} {key}")
            await session.press("pagedown", "pageup", "down", "pagedown", "pageup")
            await session.pilot.resize_terminal(80, 24)
            await session.press("pagedown")
            assert len(session.app.screen_stack) == depth + 1, (size, key)
            await session.press("escape")
            await session.until(lambda: len(session.app.screen_stack) == depth, f"{size} {key}")


async def turn_pages_and_enter(session, key):
    """Open a window, turn its pages in a terminal without room, and press Enter more often than it can take."""
    await session.press(key)
    await session.until(lambda: isinstance(session.app.screen, ModalScreen), f"the window of {key}")
    for size in [(20, 3), (10, 2), (1, 1), (80, 24)]:
        await session.pilot.resize_terminal(*size)
        session.type_ahead("pagedown", "pageup", "end", "pagedown")
    session.type_ahead(*["enter"] * 4)
    await session.press("escape", "escape")  # One of the choices asks for a path.
    await session.until(lambda: not isinstance(session.app.screen, ModalScreen))
    assert session.app.crash is None


async def back_to_the_list(session):
    while not isinstance(session.app.screen, EnginesScreen):
        await session.press("q")


async def test_windows_over_the_list_of_engines(tmp_path):
    for name in ("one", "two"):
        small_engine(tmp_path / name)
    async with running(tmp_path) as session:
        for key in ("s", "c", "colon"):
            await turn_pages_and_enter(session, key)
            await back_to_the_list(session)


async def test_windows_over_charts_and_history_of_the_list():
    async with running(OLD_SAMPLES) as session:
        for view, key in [("p", "v"), ("p", "C"), ("p", "a"), ("H", "s"), ("H", "question_mark")]:
            await session.press(view)
            await session.until(lambda: not isinstance(session.app.screen, EnginesScreen))
            await turn_pages_and_enter(session, key)
            await back_to_the_list(session)


@pytest.mark.parametrize("view", ["d", "L", "B"], ids=["blocks", "lanes", "bars"])
async def test_windows_over_a_comparison(tmp_path, view):
    for name in ("one", "two", "three"):
        small_engine(tmp_path / name)
    async with running(tmp_path) as session:
        await session.press("space", "down", "space", "equals_sign")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        await session.press(view)
        for key in ("c", "a"):
            await turn_pages_and_enter(session, key)


async def test_pages_of_the_themes_without_room_are_not_turned(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        session.app.search_themes()
        await session.until(lambda: session.app.screen.query(CommandList))
        await session.press("down")
        for size in [(20, 3), (10, 2), (5, 1), (1, 1), (80, 24)]:
            await session.pilot.resize_terminal(*size)
            await session.press("pagedown", "pageup")
        assert session.app.crash is None
        session.type_ahead(*["enter"] * 3)
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))


async def test_a_chart_chosen_after_its_pane_was_replaced_is_no_error(tmp_path):
    async with running(small_engine(tmp_path), tab="charts") as session:
        pane = session.screen.pane
        session.screen.replace_engine(load_engine(tmp_path))
        await session.until(lambda: session.screen.pane is not pane and not session.screen.is_rebuilt)
        with pane._context():
            pane.choose("roofline")
        assert session.app.crash is None


async def test_a_choice_stays_open_while_the_terminal_has_no_room(tmp_path):
    async with running(small_engine(tmp_path), tab="layers") as session:
        await session.press("T")
        before = session.text
        for width in (5, 1):
            await session.pilot.resize_terminal(width, 1)
            await session.pilot.resize_terminal(80, 24)
            await session.until(lambda: session.text == before, f"the same window after a width of {width}")


async def test_attributes_are_columns_of_the_table(tmp_path):
    """By a short name or a part of the name they are found; they sort, filter, explain, and stay after a restart."""
    layers = [
        layer(f"l{index}", "Any", [], [], Kernel=[side, side], OutMaps=8 * side)
        for index, side in enumerate((3, 1, 5))
    ]
    path = write_graph(tmp_path / "net.graph.json", layers)
    async with running(path) as session:
        await session.press("c", "slash", *"attr.outmaps")
        assert isinstance(session.app.screen, FindScreen)
        await session.press(
            "enter", "space", "slash", *"out maps", "enter", "space", "slash", *"pct", "enter"
        )
        columns = session.app.screen
        assert isinstance(columns, ColumnsScreen)
        assert "%  (latency_pct, pct, share)" in session.text
        await session.press("enter")
        table = session.latency.table
        assert [column.key for column in table.columns][-2:] == ["out_maps", "attr.OutMaps"]
        await session.press("s", "slash", *"attr.kernel", "enter", "enter")
        assert table.sort_keys[0].column == "attr.Kernel"
        assert session.shown == [1, 0, 2]
        await session.press("i")
        assert "`Kernel` of the layer's object" in session.text
        await session.press("escape", "slash", *'attr.Kernel:"[5, 5]"', "enter")
        assert session.shown == [2]


async def test_find_offers_whole_words_first(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("c", "slash", *"m")
        window = session.app.screen
        assert isinstance(window, FindScreen)
        assert window.choices.highlighted == 0
        assert "M  (gemm_m)" in str(window.choices.get_option_at_index(0).prompt)
        await session.press(*"zzz")
        assert window.choices.highlighted is None
        await session.press("enter")
        assert session.app.screen is window, "nothing to go to"
        await session.press("escape")
        assert isinstance(session.app.screen, ColumnsScreen)


async def test_a_command_of_the_palette_waits_until_the_panes_are_replaced(tmp_path, monkeypatch):
    """The app runs commands; the panes are replaced in the queue of the screen, and for a moment none is shown."""
    replace_panes = EngineScreen.recompose

    async def run_commands_meanwhile(screen: EngineScreen) -> None:
        screen.app.call_later(stale.command)
        await replace_panes(screen)
        (fresh,) = Commands(screen)._layers("Gemm")
        for callback in (fresh.command, handled.set):
            screen.app.call_later(callback)

    handled = asyncio.Event()
    async with running(small_engine(tmp_path)) as session:
        screen = session.screen
        (stale,) = Commands(screen)._layers("conv2")
        new = load_engine(small_engine(tmp_path / "again"))
        monkeypatch.setattr(EngineScreen, "recompose", run_commands_meanwhile)
        screen.replace_engine(new)
        await session.until(lambda: handled.is_set() and not screen.is_rebuilt, "the commands")
        assert (screen.engine, screen.pane.id) == (new, "layers")
        assert screen.current_layer is new.layers[6]


async def test_a_tab_first_visited_during_a_reload_is_there_after_it(tmp_path, monkeypatch):
    replace_panes = EngineScreen.recompose

    async def visit_meanwhile(screen: EngineScreen) -> None:
        screen.app.call_later(screen.action_show, "memory")
        await asyncio.sleep(0)
        await replace_panes(screen)

    async with running(small_engine(tmp_path)) as session:
        monkeypatch.setattr(EngineScreen, "recompose", visit_meanwhile)
        for _ in range(2):
            session.screen.replace_engine(load_engine(tmp_path))
        session.type_ahead("slash", *"conv")
        await session.until(lambda: session.screen.filter_text == "conv", "the filter")
        await session.press("enter", TO_MEMORY)
        assert session.screen.pane.id == "memory"
        assert session.app.crash is None


async def test_what_was_asked_of_a_tab_ends_with_its_screen(tmp_path, monkeypatch):
    """A tab is mounted at its first visit; a person may leave meanwhile, and the screen loses its widgets."""
    async with running(quantized_engine(tmp_path), tab="overview") as session:
        await session.until(lambda: session.screen.lint_job.result is not None)
        judged = session.screen.lint_job.result.findings[0]

        async def mount_nothing(*_):
            pass

        monkeypatch.setattr(EngineScreen, "_mount_pane", mount_nothing)
        session.screen.post_message(FindingOpened(judged))
        await session.pilot.pause()
        assert session.app.crash is None
