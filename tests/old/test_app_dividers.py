"""The divider between two parts of a pane: keys, mouse, what is remembered, and terminals that change their size."""

from __future__ import annotations

import json
import os

import pytest

from trex_tui.old.config import settings_file
from trex_tui.old.screens.divider import LEAST_COLUMNS, LEAST_ROWS
from tui import DIGITS, LARGE, SMALL, Session, running, small_engine

TALL = (80, 40)


def extents(session: Session) -> tuple[int, int]:
    """Cells of both parts across the divider."""
    parts = session.screen.pane.divided_parts
    assert parts is not None
    first, second = (part.region for part in parts)
    return (
        (first.width, second.width) if session.screen.pane.is_side_by_side else (first.height, second.height)
    )


def divider_at(session: Session) -> tuple[int, int]:
    """Coordinates of a cell of the divider."""
    size, pane = session.app.size, session.screen.pane
    cells = ((x, y) for y in range(size.height) for x in range(size.width) if pane.is_on_divider(x, y))
    return next(cells)


@pytest.mark.parametrize("size", [TALL, LARGE])
async def test_keys_move_the_divider_of_every_pane_that_has_one(tmp_path, size):
    async with running(small_engine(tmp_path), size, tab="overview") as session:
        for tab in ("overview", "layers", "memory", "lint"):
            await session.press(DIGITS[tab])
            await session.until(lambda: session.screen.pane.has_divider)
            before = extents(session)
            await session.press("left_parenthesis")
            await session.until(lambda: extents(session)[0] < before[0])  # noqa: B023
            assert sum(extents(session)) == sum(before), tab
            await session.press("right_parenthesis", "right_parenthesis")
            await session.until(lambda: extents(session)[0] > before[0])  # noqa: B023


async def test_a_pane_without_parts_has_no_divider(tmp_path):
    async with running(small_engine(tmp_path), LARGE) as session:
        assert not session.screen.pane.has_divider
        await session.press("left_parenthesis", DIGITS["lint"], "z")
        await session.until(lambda: session.screen.pane.has_class("-only-table"))
        await session.press("left_parenthesis", "z")
        await session.until(lambda: session.screen.pane.has_divider)
        assert not settings_file(os.environ).exists(), "nothing was moved, nothing is remembered"


async def test_the_mouse_drags_the_divider_and_takes_neither_focus_nor_text(tmp_path):
    async with running(small_engine(tmp_path), LARGE, tab="lint") as session:
        x, y = divider_at(session)
        focused, before = session.app.focused, extents(session)
        await session.pilot.mouse_down(offset=(x, y))
        await session.pilot.hover(offset=(x - 20, y + 5))
        await session.pilot.mouse_up(offset=(x - 20, y + 5))
        await session.until(lambda: extents(session)[0] == before[0] - 20)
        assert divider_at(session) == (x - 20, y)
        assert session.app.focused is focused
        assert not session.screen.selections
        await session.pilot.hover(offset=(x + 10, y))
        assert extents(session)[0] == before[0] - 20, "only while the button is down"
        await session.pilot.click(offset=(x - 20, y), times=2)
        await session.until(lambda: extents(session) == before)


async def test_shares_are_remembered_by_pane_and_direction(tmp_path):
    engine = small_engine(tmp_path)
    async with running(engine, LARGE, tab="layers") as session:
        default = extents(session)
        await session.press("left_parenthesis", "left_parenthesis")
        await session.until(lambda: extents(session)[0] == default[0] - 8)
        moved = extents(session)
        await session.press("v")  # The neighbourhood wants another share.
        await session.until(lambda: extents(session) != moved)
    async with running(engine, LARGE, tab="layers") as session:
        assert extents(session) == moved
        await session.pilot.resize_terminal(*TALL)
        await session.until(lambda: not session.screen.pane.is_side_by_side)
        rows = extents(session)
        await session.press("right_parenthesis")
        await session.until(lambda: extents(session)[0] == rows[0] + 2)
        await session.pilot.resize_terminal(*LARGE)
        await session.until(lambda: extents(session) == moved)
    assert [key for key, _ in json.loads(settings_file(os.environ).read_text())["dividers"]] == [
        "layers.columns",
        "layers.rows",
    ]


async def test_both_parts_stay_usable_also_in_a_terminal_that_shrinks(tmp_path):
    async with running(small_engine(tmp_path), LARGE, tab="lint") as session:
        await session.press(*["right_parenthesis"] * 40)
        await session.until(lambda: extents(session)[1] == LEAST_COLUMNS)
        await session.pilot.resize_terminal(120, 30)
        await session.until(lambda: sum(extents(session)) == 120)
        assert extents(session)[1] == LEAST_COLUMNS
        await session.pilot.resize_terminal(*SMALL)
        await session.until(lambda: not session.screen.pane.is_side_by_side)
        await session.press(*["left_parenthesis"] * 20)
        await session.until(lambda: extents(session)[0] == LEAST_ROWS)
        await session.pilot.resize_terminal(80, 16)
        await session.until(lambda: session.app.size.height == 16)
        assert min(extents(session)) >= LEAST_ROWS
