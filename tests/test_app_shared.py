"""What the screens of an engine share: the current layer and the filter."""

from __future__ import annotations

import pytest
from textual.widgets import Input

from tui import BY_TIME, POOLING, SLOWEST, TO_LATENCY, TO_LAYERS, running, small_engine


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
        await session.until(lambda: session.screen.pane is session.layers and session.current == POOLING)
        assert session.screen.filter_text == "pool"
        session.type_ahead("slash", *" max", "escape", TO_LATENCY, "g")
        await session.until(lambda: session.screen.pane is session.latency and session.current == SLOWEST)
        assert session.screen.filter_text == ""


async def test_filter_follows_typing_on_both_screens(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("slash", *"conv")
        assert session.filter_bar.is_open
        assert session.shown == [1, 4, 3, 5, 0]
        lines = session.text.splitlines()
        assert lines[1].endswith("/conv  5 of 9 layers")
        assert lines[-3] == " /conv"
        assert lines[-1] == "⏎ keep esc clear f1 help ^p find"
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
        assert "esc clear" not in session.footer
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
        assert session.details == "Nothing is selected."
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
