"""What the screens of an engine share: the current layer and the filter."""

from __future__ import annotations

import asyncio

import pytest
from textual.command import CommandPalette
from textual.widgets import Input
from tui import running

from helpers import THOROUGH, TO_LATENCY, TO_LAYERS
from small_engines import BY_TIME, POOLING, SLOWEST, quantized_engine, small_engine
from trex_tui.old.analysis.load import LoadOptions, load
from trex_tui.old.artifacts import scan
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.screens.latency import LatencyPane
from trex_tui.old.screens.layers import LayersPane
from trex_tui.old.screens.services import ReloadAsked


async def test_current_layer_is_the_same_on_both_screens(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("G", "k", TO_LAYERS)
        assert session.layers.cursor_layer is session.screen.engine.layers[7]
        await session.press("k", "k", "k", TO_LATENCY)
        assert session.latency.cursor_layer is session.screen.engine.layers[5]
        await session.press(TO_LAYERS, "h")
        assert session.layers.cursor_layer is None, "on a module"
        await session.press(TO_LATENCY)
        assert session.latency.cursor_layer is session.screen.engine.layers[5]


async def test_keys_faster_than_the_screen_arrive_where_they_belong(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        session.type_ahead("slash", *"pool", "enter", "j", "k", TO_LAYERS)
        await session.until(
            lambda: isinstance(session.screen.pane, LayersPane) and session.current == POOLING
        )
        assert session.screen.filter_text == "pool"
        session.type_ahead("slash", *" max", "escape", TO_LATENCY, "g")
        await session.until(
            lambda: isinstance(session.screen.pane, LatencyPane) and session.current == SLOWEST
        )
        assert session.screen.filter_text == ""


async def test_a_tab_visited_late_has_what_came_before(tmp_path):
    async with running(quantized_engine(tmp_path)) as session:
        await session.press("slash", *"conv", "enter", TO_LAYERS)
        assert session.tree_names == ["conv_1", "conv_2"]
        assert session.layers.lint is session.screen.lint is not None


async def test_filter_follows_typing_on_both_screens(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("slash", *"conv")
        assert session.filter_bar.is_open
        assert session.shown == [1, 4, 3, 5, 0]
        lines = session.text.splitlines()
        assert "tiny · /conv  5 of 9 layers · " in lines[0]
        assert lines[1] == " 1 Overview 2 Layers 3 Latency 4 Charts 5 Memory 6 Lint 7 Build 8 Compare"
        assert lines[-3] == " /conv"
        assert lines[-1] == "⏎ keep  esc clear  f1 help  ^p palette"
        assert "5 layers · 0.5700 ms · 62.30 % of all" in session.text
        await session.press("enter")
        assert not session.filter_bar.is_open
        assert session.app.focused is session.latency.table
        await session.press(TO_LAYERS)
        assert not [name for name in session.tree_names if "Gemm" in name]
        assert "5 of 9" in session.text
        await session.press("slash")
        assert session.filter_bar.query_one(Input).value == "conv"
        await session.press(*" -layer1", "enter")
        assert session.screen.filter_text == "conv -layer1"
        await session.press(TO_LATENCY)
        assert session.shown == [1, 0]


@pytest.mark.parametrize("typing", [True, False])
async def test_escape_clears_the_filter_and_never_quits(tmp_path, typing):
    async with running(small_engine(tmp_path)) as session:
        await session.press("slash", *"conv", *([] if typing else ["enter"]), "escape")
        assert session.screen.filter_text == ""
        assert session.shown == BY_TIME
        assert not session.filter_bar.is_open
        assert " of 9" not in session.text.splitlines()[1]
        assert "esc undo" not in session.footer
        await session.press("escape", "escape")
        assert session.app.is_running
        assert session.screen.pane is session.latency


async def test_filter_without_a_match_says_so_on_both_screens(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("slash", *"zzz", "enter")
        assert "No layer matches the filter." in session.text
        assert "0 of 9" in session.text
        await session.press("j", "G", "enter", TO_LAYERS)
        assert "No layer matches the filter." in session.text
        assert session.details == "No selection."
        await session.press("j", "enter", "l", "h", "E", "C", "t", "s", "escape")
        assert session.current == SLOWEST
        assert session.layers.cursor_layer is session.screen.engine.layers[SLOWEST]


@pytest.mark.parametrize("tab", [TO_LAYERS, TO_LATENCY])
async def test_cursor_comes_back_when_the_filter_that_hid_its_layer_goes(tmp_path, tab):
    async with running(small_engine(tmp_path)) as session:
        await session.press(tab, "slash", *"pool", "enter")
        assert session.screen.pane.cursor_layer is session.screen.engine.layers[POOLING]
        await session.press("escape")
        assert session.current == SLOWEST
        assert session.screen.pane.cursor_layer is session.screen.engine.layers[SLOWEST]


@pytest.mark.parametrize(("tab", "other"), [(TO_LAYERS, TO_LATENCY), (TO_LATENCY, TO_LAYERS)])
async def test_layer_under_the_cursor_of_a_filtered_screen_is_current_on_the_other(tmp_path, tab, other):
    async with running(small_engine(tmp_path)) as session:
        await session.press(tab, "slash", *"pool", "enter", other)
        assert session.current == POOLING
        assert session.screen.pane.cursor_layer is session.screen.engine.layers[POOLING]
        await session.press("escape")
        assert session.current == POOLING


async def test_layer_chosen_among_matches_stays_when_the_filter_goes(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("slash", *"layer1", "enter", "g", "j", "j")
        await session.until(lambda: session.current == session.shown[2])
        chosen = session.current
        await session.press("escape")
        assert session.current == chosen
        assert session.latency.cursor_layer is session.screen.engine.layers[chosen]


async def test_leaving_the_filter_line_by_tab_or_mouse_keeps_the_filter(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("slash", *"conv", "tab")
        await session.until(lambda: not session.filter_bar.is_open)
        assert session.app.focused is session.latency.table
        await session.press("slash")
        await session.pilot.click(session.latency.table, offset=(8, 2))
        await session.until(lambda: not session.filter_bar.is_open)
        assert session.screen.filter_text == "conv"


async def test_characters_that_are_keys_elsewhere_are_text_in_the_filter(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("slash", "slash", "1", "2", "q", "question_mark", "exclamation_mark", "colon")
        assert session.screen.filter_text == "/12q?!:"
        assert session.app.screen is session.screen


# Keys that arrive together


async def test_keys_before_and_behind_a_slash_act_in_the_order_typed(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        session.type_ahead(TO_LAYERS, "tab", "slash", *"pool")
        await session.until(lambda: session.screen.filter_text == "pool", "the filter")
        assert session.screen.pane.id == "layers"
        assert session.filter_bar.is_open
        await session.press("enter")
        assert session.app.focused is session.layers.details, "where Tab led"


async def test_text_behind_the_key_of_a_window_reaches_its_line(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        session.type_ahead("colon", *"lint")
        await session.until(lambda: isinstance(session.app.screen, CommandPalette))
        line = session.app.screen.query_one(Input)
        await session.until(lambda: line.value == "lint", "the text")


async def test_the_palette_opens_again_before_the_one_before_is_gone(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        session.type_ahead(*["colon", "escape"] * 3, "colon")
        await session.until(lambda: isinstance(session.app.screen, CommandPalette))


@pytest.mark.parametrize("is_reloaded", [False, True])
async def test_a_screen_that_is_removed_while_it_mounts_leaves_no_error(tmp_path, is_reloaded, monkeypatch):
    errors: list[Exception] = []
    monkeypatch.setattr("trex_tui.old.app.note", errors.append)
    async with running(small_engine(tmp_path)) as session:
        below, other = session.screen, load(scan([str(tmp_path)]).sets[0], LoadOptions())
        for turns in range(0, 40, 5 if THOROUGH else 10):
            screen = EngineScreen(other, is_listed=True)
            mounted = session.app.push_screen(screen)
            if is_reloaded:
                await mounted
                screen.replace_engine(below.engine)
            for _ in range(turns):
                await asyncio.sleep(0)
            session.app.pop_screen()
            await session.until(lambda screen=screen: not screen.is_running, "the end of the screen")
            assert errors == [], f"after {turns} turns"
        await session.press(TO_LAYERS)
        assert below.pane.id == "layers"


async def test_keys_behind_a_reload_wait_for_its_panes(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        new = load(scan([str(tmp_path)]).sets[0], LoadOptions())
        session.screen.replace_engine(new)
        session.type_ahead(TO_LAYERS, "slash", *"conv")
        await session.until(lambda: session.screen.filter_text == "conv", "the filter")
        assert session.screen.engine is new
        assert session.screen.pane.id == "layers"
        assert session.filter_bar.is_open


async def test_a_reload_leaves_an_open_filter_line_open(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("slash", *"po")
        old = session.screen.engine
        session.screen.post_message(ReloadAsked(old))
        await session.until(lambda: session.screen.engine is not old and not session.screen.is_rebuilt)
        session.type_ahead(*"ol")
        await session.until(lambda: session.screen.filter_text == "pool", "the whole filter")
        assert session.filter_bar.is_open
