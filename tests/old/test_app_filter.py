"""Typing a filter: errors, completion, Enter and Esc."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual import events
from textual.widgets import Input
from tui import SMALL, Session, running

from small_engines import BY_TIME, small_engine
from trex_tui.old.analysis.filter import EXAMPLES
from trex_tui.old.screens.text_screens import filter_lines
from trex_tui.old.widgets.actions import TABS
from trex_tui.old.widgets.filter_bar import HINT

LATENCY_KEY = str([tab.id for tab in TABS].index("latency") + 1)
CONVOLUTIONS, POOLINGS = [6, 1, 4, 3, 5], [2]


@asynccontextmanager
async def typing(folder: Path, text: str = "", size: tuple[int, int] = SMALL) -> AsyncIterator[Session]:
    """The latency table, with the filter line open and the text in it, each letter typed after the last one took effect."""
    async with running(small_engine(folder), size) as session:
        await session.press(LATENCY_KEY, "slash")
        for letter in text:
            await session.press(letter)
        yield session


def typed(session: Session) -> str:
    return session.filter_bar.query_one(Input).value


def below(session: Session) -> str:
    """The line under the text."""
    return session.text.splitlines()[-2].strip()


async def test_a_hint_when_the_line_opens(tmp_path):
    async with typing(tmp_path) as session:
        assert below(session) == HINT
        assert len(HINT) < SMALL[0] - 3, "whole in the narrowest terminal"


async def test_columns_filter_the_table(tmp_path):
    async with typing(tmp_path, "kind:convolution ms>0.115") as session:
        assert session.shown == [6, 1, 4, 3]
        assert "4 of 9" in session.text.splitlines()[0]
        await session.press("enter")
        assert session.screen.filter_text == "kind:convolution ms>0.115"
        assert not session.filter_bar.is_open


async def test_a_wrong_filter_keeps_the_last_list_and_tells_why(tmp_path):
    async with typing(tmp_path, "kind:convolution") as session:
        assert session.shown == CONVOLUTIONS
        for letter in " ms>":
            await session.press(letter)
        assert session.shown == []
        assert session.screen.filter_text == "kind:convolution ms", "the last that was right: a word"
        assert below(session) == "error: expected a number after `>` at column 21"
        await session.press(*"0.115")
        assert session.shown == [6, 1, 4, 3]
        assert below(session) == HINT


async def test_a_half_typed_value_matches_by_its_beginning(tmp_path):
    async with typing(tmp_path, "kind:conv") as session:
        assert session.shown == CONVOLUTIONS
        assert below(session) == "Tab convolution"
        await session.press("enter")
        assert session.shown == CONVOLUTIONS
        await session.press("slash", *" x")
        assert below(session) == "error: no kind 'conv' at column 6; did you mean convolution?"
        assert session.shown == CONVOLUTIONS, "the last that was right"


async def test_a_value_that_is_none_of_the_vocabulary(tmp_path):
    async with typing(tmp_path, "kind:poolin") as session:
        assert session.shown == POOLINGS
        await session.press(*"f")
        assert session.shown == POOLINGS
        assert below(session) == "error: no kind 'poolinf' at column 6; did you mean pooling?"


async def test_a_filter_that_matches_nothing_says_why(tmp_path):
    async with typing(tmp_path, "laeyr") as session:
        assert session.shown == []
        assert below(session) == "0 of 9 layers match: no name contains 'laeyr'"
        await session.press("enter", "slash")
        assert below(session) == "0 of 9 layers match: no name contains 'laeyr'"
        await session.press("backspace", "backspace", "backspace", "backspace")
        assert session.shown != []
        assert "match:" not in below(session)


async def test_the_list_follows_again_when_the_error_is_mended(tmp_path):
    async with typing(tmp_path, "knd:pooling") as session:
        assert below(session) == "error: no column 'knd' at column 1; did you mean kind?"
        await session.press("home", "right", *"i")
        assert typed(session) == "kind:pooling"
        assert session.shown == POOLINGS
        assert "error" not in session.text


async def test_enter_on_a_wrong_filter_says_what_holds_and_keeps_the_draft(tmp_path):
    async with typing(tmp_path, "conv (") as session:
        await session.press("enter")
        assert not session.filter_bar.is_open
        assert session.app.focused is session.latency.table
        assert session.screen.filter_text.strip() == "conv"
        (notice,) = session.app._notifications
        assert notice.message == "expected a term after `(` at column 7"
        await session.press("slash")
        assert typed(session) == "conv ("
        assert below(session) == "error: expected a term after `(` at column 7"
        await session.press(*"relu)")
        assert session.shown == [1, 3, 0]


async def test_keys_typed_ahead_of_the_screen_are_one_filter(tmp_path):
    async with typing(tmp_path) as session:
        session.type_ahead(*"kind:convolution", "enter", "j")
        await session.until(lambda: session.shown == CONVOLUTIONS and not session.filter_bar.is_open)
        assert session.screen._filter.refused is None


async def test_escape_clears_right_and_wrong_filters(tmp_path):
    async with typing(tmp_path) as session:
        for text in ("kind:convolution", "conv (", "knd:gemm"):
            await session.press(*text)
            assert typed(session) == text
            await session.press("escape")
            assert session.screen.filter_text == "", text
            assert session.shown == BY_TIME, text
            assert not session.filter_bar.is_open, text
            await session.press("slash")
            assert typed(session) == "", text
            assert below(session) == HINT, text


async def test_tab_completes_columns_and_values(tmp_path):
    async with typing(tmp_path, "ki") as session:
        assert below(session) == "Tab kind:"
        assert "tab complete" in session.footer
        await session.press("tab")
        assert typed(session) == "kind:"
        assert below(session).startswith("error: expected a value after `:` at column 6  Tab convolution")
        await session.press(*"po", "tab")
        assert typed(session) == "kind:pooling"
        assert session.shown == POOLINGS
        assert session.filter_bar.is_open
        await session.press("tab")
        assert not session.filter_bar.is_open, "nothing to complete: the next pane"
        assert session.screen.filter_text == "kind:pooling"


async def test_right_arrow_takes_what_stands_behind_the_cursor(tmp_path):
    async with typing(tmp_path, "kind:po") as session:
        await session.until(lambda: "kind:pooling" in session.text)
        await session.press("right")
        assert typed(session) == "kind:pooling"
        assert session.shown == POOLINGS


async def test_nothing_is_completed_in_the_middle_of_the_text(tmp_path):
    async with typing(tmp_path, "ki") as session:
        await session.press("left", "tab")
        assert typed(session) == "ki"
        assert not session.filter_bar.is_open


async def test_a_long_error_is_cut_with_an_ellipsis(tmp_path):
    async with typing(tmp_path, size=(60, 16)) as session:
        await session.press(*'name~"(a+)+" ')
        assert below(session).startswith("error: repetitions or alternatives")
        assert below(session).endswith("…")


async def test_hostile_text_is_shown_harmless(tmp_path):
    async with typing(tmp_path) as session:
        session.app.post_message(events.Paste("[red]x[/]:\u202e [b]"))
        await session.until(lambda: typed(session))
        assert session.screen.filter_text == "[red]x[/]:\u202e [b]"
        assert session.shown == []


async def test_help_tells_the_language(tmp_path):
    lines = "\n".join(line.content.plain for line in filter_lines())
    assert all(expression in lines and meaning in lines for expression, meaning in EXAMPLES)
    async with typing(tmp_path) as session:
        await session.press("escape", "question_mark", "G")
        await session.until(lambda: EXAMPLES[-1][0] in session.text)


async def test_the_palette_finds_layers_with_the_same_language(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("colon", *"kind:pooling")
        await session.until(lambda: "layer 2: pooling" in session.text)
        await session.press("escape", "escape", "colon", "3", "enter")  # Before the list can follow.
        await session.until(lambda: session.screen.pane is session.layers and session.current == 3)
        await session.press("colon", "1")
        await session.until(lambda: "Layer 1: /stem/conv/Conv" in session.text)


async def test_a_filter_leaves_the_titles_of_tabs_whole(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        tabs = session.text.splitlines()[1]
        await session.press("slash", *"kind:convolution", "enter")
        assert session.text.splitlines()[1] == tabs
        assert "/kind:convolution  5 of 9 layers" in session.text.splitlines()[0]
        await session.pilot.resize_terminal(120, 24)
        await session.pilot.pause()
        header, tabs = session.text.splitlines()[:2]
        assert "kind:" not in header
        assert "2 Layers" in tabs
        assert tabs.endswith("/kind:convolution  5 of 9")
        await session.pilot.resize_terminal(80, 24)
        await session.pilot.pause()
        assert "/kind:convolution  5 of 9 layers" in session.text.splitlines()[0]
        await session.press("escape")
        assert "kind:" not in session.text.splitlines()[0]
