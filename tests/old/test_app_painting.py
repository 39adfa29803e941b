"""What is painted, and how often: nothing on the terminal is out of date, and no resize lays out again and again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyte
import pytest
from textual.app import App
from textual.screen import Screen

from helpers import REPOSITORY, THOROUGH, some
from tui import LARGE, Session, running, several_engines

ALEXNET = REPOSITORY / "tests/old/sample_artifacts" / "alexnet"
KEYS = [
    *("1", "tab", "j", "tab", "2", "j", "tab", "j", "tab", "v", "j", "v", "t", "E", "j", "z", "z"),
    *("3", "j", "S", "pagedown", "slash", *"conv", "enter", "j", "escape", "5", "j", "tab", "j"),
    *("6", "j", "tab", "l", "enter", "minus", "4", "n", "7", "j", "tab", "j", "8", "1", "question_mark"),
    *("escape", "colon", *"lint", "escape", "i", "escape", "2", "parenthesis_left", "1", "R", "3"),
]
RESIZE_LAYOUTS = 14
"""Each part that appears or disappears at another size may take one, and so may its scrollbars; a loop takes any number."""
SIZES = [(80, 24), (160, 45), (50, 12), (1, 1), (200, 50), (80, 1), (1, 24), (400, 200), (119, 35), (120, 36)]
TABS = "24613578"
WINDOWS = ["question_mark", "colon", "e", "c", "s", "i", "exclamation_mark", "o", "slash", "f"]


@contextmanager
def count_layouts(patch: pytest.MonkeyPatch) -> Iterator[list[Screen[object]]]:
    """Note the screens that are laid out anew; scrolling is no layout."""
    layouts: list[Screen[object]] = []
    lay_out = Screen._refresh_layout

    def noted(self: Screen[object], size: object = None, scroll: bool = False) -> None:
        if not scroll:
            layouts.append(self)
            assert len(layouts) < 10 * RESIZE_LAYOUTS, "a loop of layouts"
        lay_out(self, size, scroll)  # type: ignore[arg-type]

    with patch.context() as context:
        context.setattr(Screen, "_refresh_layout", noted)
        yield layouts


WATCHED = (100, 30)
Cells = list[list[pyte.screens.Char]]


def cells(terminal: pyte.Screen) -> Cells:
    return [[terminal.buffer[y][x] for x in range(WATCHED[0])] for y in range(WATCHED[1])]


def whole_screen(app: App[None]) -> Cells:
    """What a terminal would show if all of the screen were painted now."""
    terminal = pyte.Screen(*WATCHED)
    stream = pyte.Stream(terminal)
    for y, strip in enumerate(app.screen._compositor.render_strips(), start=1):
        stream.feed(f"\x1b[{y};1H{strip.render(app.console)}")
    return cells(terminal)


async def test_what_is_painted_in_part_is_what_a_whole_paint_shows(monkeypatch):
    """Behind a window too, once that is closed; the window itself is drawn over the screen below."""
    terminal = pyte.Screen(*WATCHED)
    stream = pyte.Stream(terminal)

    def display(self: App[None], screen: object, painted: object) -> None:  # noqa: ARG001 - as Textual's
        if hasattr(painted, "render_segments"):
            stream.feed(painted.render_segments(self.console))

    monkeypatch.setattr(App, "_display", display)
    async with running(ALEXNET, WATCHED) as session:
        for number, key in enumerate(KEYS):
            await session.press(key)
            what = f"all of the screen to be painted after {KEYS[: number + 1]}"
            await session.until(
                lambda: session.app.screen.is_modal or cells(terminal) == whole_screen(session.app), what
            )


async def until_computed(session: Session) -> None:
    await session.until(
        lambda: all(worker.is_finished for worker in session.app.workers), "what the tab computes"
    )
    await session.pilot.pause()


async def test_a_tab_that_was_visited_takes_one_layout(monkeypatch):
    async with running(ALEXNET, LARGE, tab="overview") as session:
        for tab in "1234567":
            await session.press(tab)
            await until_computed(session)
        with count_layouts(monkeypatch) as layouts:
            for tab in "1234567":
                layouts.clear()
                await session.press(tab)
                assert len(layouts) == 1, f"tab {tab}"


async def resize(
    session: Session, sizes: list[tuple[int, int]], layouts: list[Screen[object]], what: str
) -> None:
    for size in sizes:
        layouts.clear()
        await session.pilot.resize_terminal(*size)
        await session.pilot.pause()
        assert len(layouts) <= RESIZE_LAYOUTS, f"{what} at {size}"
    await session.pilot.resize_terminal(*LARGE)


def share_of_sizes(place: int) -> list[tuple[int, int]]:
    """Every third size, so that three places have all; each place all of them where the suite is to be thorough."""
    return list(SIZES) if THOROUGH else SIZES[place % 3 :: 3]


@pytest.mark.parametrize("tab", some(TABS, 3))
async def test_a_resize_ends_in_few_layouts(tab, monkeypatch):
    """Of a tab, and of the windows over it."""
    chooser = random.Random(tab)
    sizes = share_of_sizes(TABS.index(tab))
    if THOROUGH:
        sizes += [(width, chooser.randint(1, 50)) for width in range(60, 171)]
    async with running(ALEXNET, LARGE) as session:
        await session.press(tab)
        with count_layouts(monkeypatch) as layouts:
            await resize(session, sizes, layouts, f"tab {tab}")
            for key in WINDOWS if THOROUGH else [WINDOWS[int(tab)]]:
                await session.press(key)
                await resize(
                    session, chooser.sample(sizes, 6 if THOROUGH else 2), layouts, f"{key} on tab {tab}"
                )
                await session.press("escape")


async def test_a_resize_of_the_list_ends_in_few_layouts(tmp_path: Path, monkeypatch):
    async with running(several_engines(tmp_path), LARGE) as session:
        with count_layouts(monkeypatch) as layouts:
            for place, key in enumerate((None, "p", "H", "c", "s", "question_mark")):
                if key:
                    await session.press(key)
                await resize(session, share_of_sizes(place), layouts, f"{key}")
                if key:
                    await session.press("escape")
