"""The screen of charts: keys, filter, current layer, size. What a chart shows is tested in `test_charts.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers import some
from trex_tui.report.charts.catalogue import CHARTS
from trex_tui.screens import charts
from trex_tui.screens.charts import ChartList, ChartsPane
from trex_tui.screens.dialogs import ChoiceList, ChooseScreen
from tui import DIGITS, LARGE, NET, SLOWEST, SMALL, Session, check_golden, running, small_engine

SAMPLES = Path(__file__).parent.parent / "sample_artifacts"
TITLES = [chart.title for chart in CHARTS]


def pane_of(session: Session) -> ChartsPane:
    return session.screen.query_one(ChartsPane)


async def shown(session: Session) -> str:
    """The chart, once it is the one that is wanted."""
    pane = pane_of(session)
    await session.until(lambda: pane.is_up_to_date, "the chart")
    return pane.view.plain


async def show(session: Session, chart: str) -> str:
    pane = pane_of(session)
    while pane.chart.id != chart:
        await session.press("n")
    return await shown(session)


async def test_every_key_goes_through_the_list(tmp_path):
    async with running(small_engine(tmp_path), tab="charts") as session:
        pane = pane_of(session)
        assert (await shown(session)).startswith(TITLES[0])
        for key, place in [("n", 1), ("j", 2), ("right", 3), ("down", 4), ("p", 3), ("k", 2), ("left", 1), ("up", 0),
                           ("p", -1), ("n", 0), ("G", -1), ("g", 0), ("end", -1), ("home", 0)]:  # fmt: skip
            await session.press(key)
            assert pane.chart is CHARTS[place], key
            assert (await shown(session)).startswith(TITLES[place])


@pytest.mark.parametrize("key", ["c", "enter"])
async def test_a_chart_is_chosen_by_what_it_answers(tmp_path, key):
    async with running(small_engine(tmp_path), tab="charts") as session:
        await session.press(key)
        assert "Time by kernel name." in session.text
        assert session.app.screen.query_one(ChoiceList).highlighted == 0
        await session.press("j", "j", "j", "enter")
        assert pane_of(session).chart.id == "kind"
        assert "convolution" in await shown(session)
        await session.press(key, "escape")
        assert pane_of(session).chart.id == "kind"


async def test_only_products_have_axes_to_turn():
    async with running(SAMPLES / "alexnet", tab="charts") as session:
        await shown(session)
        assert "axes" not in session.footer
        assert "M, rows" in await show(session, "products")
        assert "axes" in session.footer
        await session.press("t")
        assert "K (reduction" in await shown(session)
        assert "N, columns" in await shown(session)
        await session.press("t", "t")
        assert "M, rows" in await shown(session)


async def test_value_and_colour_are_chosen_where_a_chart_has_them(tmp_path):
    async with running(small_engine(tmp_path), tab="charts") as session:
        await shown(session)
        assert "color" not in session.footer
        await session.press("C", "v")
        assert not isinstance(session.app.screen, ChooseScreen)
        assert "colours show kind" in await show(session, "bar")
        assert "color" in session.footer
        await session.press("C", "j", "j", "j", "j", "enter")
        assert pane_of(session).color.name == "precision"
        assert "colours show precision" in await shown(session)
        await session.press("v", "j", "j", "enter")
        value = pane_of(session).value
        assert value.is_number
        assert value.name in await shown(session)
        state = pane_of(session).view_state()
        await session.press("v", "g", "enter", "C", "g", "enter")
        assert "colours show kind" in await shown(session)
        pane_of(session).restore_view(state, pane_of(session).engine)
        assert "colours show precision" in await shown(session)
        assert pane_of(session).value is value


async def test_charts_follow_the_filter(tmp_path):
    async with running(small_engine(tmp_path), tab="charts") as session:
        assert "9 layers in" in await show(session, "kind")
        await session.press("slash", *"conv", "enter")
        text = await shown(session)
        assert "pooling" not in text
        assert "5 layers in" in text
        await session.press("escape")
        assert "9 layers in" in await shown(session)


async def test_the_current_layer_is_marked_and_stays(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press(DIGITS["charts"])
        assert f"● layer {SLOWEST}  {NET[SLOWEST][0]}" in await show(session, "layers")
        await session.press(DIGITS["latency"], "j", DIGITS["charts"])
        assert session.current == 1
        assert "● layer 1 " in await shown(session)
        await session.press(DIGITS["latency"])
        assert session.current == 1


async def test_a_layer_that_the_filter_hides_is_told(tmp_path):
    async with running(small_engine(tmp_path), tab="charts") as session:
        await show(session, "layers")
        await session.press("slash", *"softmax", "enter")
        assert "which the filter hides" in await shown(session)
        assert session.current == SLOWEST


async def test_a_chart_is_drawn_anew_for_another_size(tmp_path):
    async with running(small_engine(tmp_path), tab="charts") as session:
        await show(session, "layers")
        pane = pane_of(session)
        for size in ((160, 45), (60, 16), (80, 24), (200, 60)):
            await session.pilot.resize_terminal(*size)
            await session.until(lambda: pane.is_up_to_date, "the chart")
            lines = pane.view.plain.split("\n")
            assert (len(lines[0]), len(lines)) == tuple(pane.view.content_size)
            assert "Layers in order" in session.text


async def test_the_list_stands_beside_the_chart_where_there_is_room(tmp_path):
    async with running(small_engine(tmp_path), LARGE, tab="charts") as session:
        await shown(session)
        assert all(title in session.text for title in TITLES)
        width = pane_of(session).view.content_size.width
        await session.press("z")
        await shown(session)
        assert pane_of(session).view.content_size.width > width
        assert f"{len(CHARTS)} Modules" not in session.text
        await session.press("z")
        await shown(session)
        await session.pilot.click(ChartList, offset=(4, 3))
        assert pane_of(session).chart is CHARTS[3]


async def test_the_row_of_titles_keeps_the_current_one_in_view(tmp_path):
    async with running(small_engine(tmp_path), SMALL, tab="charts") as session:
        for place, title in enumerate(TITLES, start=1):
            await shown(session)
            row = session.text.split("\n")[2]
            assert f"{place}/{len(CHARTS)}" in row
            assert f"▸{title}" in row
            await session.press("n")
        await session.pilot.click(ChartList, offset=(20, 0))
        assert pane_of(session).chart is CHARTS[1]


@pytest.fixture
def drawn(monkeypatch) -> list[str]:
    """Ids of the charts that were drawn."""
    ids: list[str] = []
    original = charts.draw

    def counting(chart: Any, *about: Any) -> Any:
        ids.append(chart.id)
        return original(chart, *about)

    monkeypatch.setattr(charts, "draw", counting)
    return ids


async def test_a_chart_that_was_drawn_is_not_drawn_again(tmp_path, drawn):
    async with running(small_engine(tmp_path), tab="charts") as session:
        await shown(session)
        for key in ("n", "p", "n"):
            await session.press(key)
            await shown(session)
        assert drawn == ["histogram", "over-time"]
        session.app.theme = "trex-light"
        await session.pilot.pause()
        await shown(session)
        assert drawn == ["histogram", "over-time"]


async def test_keys_typed_ahead_draw_the_last_chart_they_ask_for(tmp_path, monkeypatch, drawn):
    async with running(small_engine(tmp_path), tab="charts") as session:
        await shown(session)
        drawn.clear()
        monkeypatch.setattr(charts, "HELD_S", 1000.0)
        session.type_ahead(*"nnnnn")
        await session.until(lambda: pane_of(session).chart is CHARTS[5])
        monkeypatch.setattr(charts, "HELD_S", 0.0)
        await session.press("n")
        assert (await shown(session)).startswith(TITLES[6])
        assert drawn in ([CHARTS[6].id], [CHARTS[1].id, CHARTS[6].id])


async def test_the_same_chart_after_reading_again(tmp_path):
    async with running(small_engine(tmp_path), tab="charts") as session:
        await show(session, "pareto")
        await session.press("R")
        await session.until(lambda: session.screen.is_mounted and pane_of(session).is_up_to_date)
        assert pane_of(session).chart.id == "pareto"


@pytest.mark.parametrize("theme", some(["ansi-dark", "trex-contrast-light", "ansi-light"]))
async def test_every_chart_shows_in_every_theme(theme):
    async with running(SAMPLES / "alexnet", tab="charts") as session:
        session.app.theme = theme
        for title in TITLES:
            await shown(session)
            assert title in session.text.split("\n")[3]
            await session.press("n")


@pytest.mark.parametrize("size", [pytest.param(SMALL, id="80x24"), pytest.param(LARGE, id="160x45")])
async def test_goldens(size):
    async with running(SAMPLES / "alexnet", size, tab="charts") as session:
        for chart in ("histogram", "roofline", "icicle", "tactic"):
            await show(session, chart)
            check_golden(session.app, f"chart_{chart}_{size[0]}x{size[1]}")
