"""A walk past everything there is to see of an engine, for tests that look at all of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tui import Session, running

from helpers import DIGITS, TO_LATENCY, TO_LAYERS, TO_MEMORY, TO_OVERVIEW
from trex_tui.old.analysis.modules import Grouping
from trex_tui.old.report.charts.catalogue import CHARTS
from trex_tui.old.screens.charts import ChartsPane


async def screens(session: Session) -> AsyncIterator[str]:
    """Show one screen after the other, complete; give the name of each."""
    await session.press(TO_OVERVIEW)
    yield await _settled(session, "overview")
    await session.press(TO_LAYERS)
    await session.until(lambda: session.layers.facts is not None, "products and roofs")
    for grouping in Grouping:
        assert session.layers.table.grouping is grouping
        if grouping not in (Grouping.KERNEL, Grouping.SHAPE):  # As by bound.
            yield await _settled(session, f"layers {grouping.name.lower()}")
        if grouping is not Grouping.ORDER:
            await session.press("t")
    await session.press("v")
    await session.until(lambda: session.layers.neighbourhood.current is not None, "the neighbourhood")
    yield await _settled(session, "neighbourhood")
    await session.press("v", TO_LATENCY)
    yield await _settled(session, "latency")
    await session.press(TO_MEMORY)
    if not session.memory.engine.names_only:
        await session.until(lambda: session.memory.figures is not None, "what is live")
    yield await _settled(session, "memory")


async def charts(session: Session) -> AsyncIterator[str]:
    """Show each chart; give the name of each."""
    await session.press(DIGITS["charts"], "g")
    pane = session.screen.query_one(ChartsPane)
    for chart in CHARTS:
        await session.until(lambda chart=chart: pane.chart is chart and pane.is_up_to_date, chart.title)
        yield await _settled(session, f"chart {chart.id}")
        await session.press("n")


async def windows(session: Session) -> AsyncIterator[str]:
    """Open each window over the table of layers; give the name of each."""
    await session.press(TO_LATENCY)
    for name, keys in {
        "filter": ("slash", *"conv"),
        "filter completion": ("slash", *"lat"),
        "filter refused": ("slash", *"kind~("),
        "sort": ("s",),
        "columns": ("c",),
        "explain": ("i",),
        "notes": ("exclamation_mark",),
        "help": ("question_mark",),
        "export": ("e",),
        "open": ("o",),
    }.items():
        await session.press(*keys)
        yield await _settled(session, name)
        await session.press("escape")
        await session.until(lambda: len(session.app.screen_stack) <= _depth(session), f"the end of {name}")
    await session.press("colon")
    await session.until(
        lambda: "Quit." in session.text or "Choose the sort column" in session.text, "the palette"
    )
    yield await _settled(session, "palette")
    await session.press("escape")


def _depth(session: Session) -> int:
    """How many screens there are with none over that of the engine."""
    return next(place for place, one in enumerate(session.app.screen_stack, 1) if one.query(ChartsPane))


async def _settled(session: Session, name: str) -> str:
    """Let what follows a refresh, as scrolling does, take place."""
    for _ in range(3):
        await session.pilot.pause()
    return name


@asynccontextmanager
async def touring(path: Path, size: tuple[int, int]) -> AsyncIterator[Session]:
    """The app on an engine, at the beginning of a walk."""
    async with running(path, size, tab="overview") as session:
        yield session
