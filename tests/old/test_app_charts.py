"""The screen of charts: keys, filter, current layer, size. What a chart shows is tested in `test_charts.py`."""

from __future__ import annotations

import re
from threading import Event
from typing import Any

import pytest
from textual import events
from tui import LARGE, SMALL, Session, check_golden, running

from helpers import DIGITS, OLD_SAMPLES, some
from small_engines import BY_TIME, NET, POOLING, SLOWEST, named_engine, small_engine
from trex_tui.old.engine.engine import load_engine
from trex_tui.old.report.charts.catalogue import CHARTS
from trex_tui.old.report.charts.figure import Chart, Subject
from trex_tui.old.screens import charts
from trex_tui.old.screens.charts import ChartList, ChartsPane, ChartView
from trex_tui.old.screens.dialogs import ChoiceList, ChooseScreen

SAMPLES = OLD_SAMPLES
TITLES = [chart.title for chart in CHARTS]


def pane_of(session: Session) -> ChartsPane:
    return session.screen.query_one(ChartsPane)


async def shown(session: Session) -> str:
    """The chart, once it is the one that is wanted."""
    pane = pane_of(session)
    await session.until(lambda: pane.is_up_to_date, "the chart")
    return pane.view.plain


def words_of_line(session: Session) -> str:
    """The line about the mark under the cursor."""
    view = pane_of(session).view
    return str(view.render()).split("\n")[0]


def has_form(session: Session, chart: Chart) -> bool:
    engine = session.screen.engine
    return chart.make(Subject(engine, engine.layers, charts.PALETTE)).form is not None


async def show(session: Session, chart: str) -> str:
    pane = pane_of(session)
    while pane.chart.id != chart:
        await session.press("n")
    return await shown(session)


async def test_every_key_goes_through_the_list(tmp_path):
    async with running(small_engine(tmp_path), tab="charts") as session:
        pane = pane_of(session)
        assert (await shown(session)).startswith("Time by kind")
        await session.press("g")
        for key, place in [("n", 1), ("j", 2), ("right", 3), ("down", 4), ("p", 3), ("k", 2), ("left", 1), ("up", 0),
                           ("p", -1), ("n", 0), ("G", -1), ("g", 0), ("end", -1), ("home", 0)]:  # fmt: skip
            await session.press(key)
            assert pane.chart is CHARTS[place], key
            assert (await shown(session)).startswith(TITLES[place])


async def test_a_chart_is_chosen_by_what_it_answers(tmp_path):
    async with running(small_engine(tmp_path), tab="charts") as session:
        await session.press("c")
        assert "Time by kernel name." in session.text
        assert "(no data) Latency distribution." in session.text
        assert session.app.screen.query_one(ChoiceList).highlighted == 3
        await session.press("j", "j", "enter")
        assert pane_of(session).chart.id == "kind-precision"
        await session.press("c", "k", "k", "enter")
        assert pane_of(session).chart.id == "kind"
        assert "convolution" in await shown(session)
        await session.press("c", "escape")
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
        assert pane_of(session).columns["color"].name == "precision"
        assert "colours show precision" in await shown(session)
        await session.press("v", "j", "j", "enter")
        value = pane_of(session).columns["value"]
        assert value.is_number
        assert value.name in await shown(session)
        state = pane_of(session).view_state()
        await session.press("v", "g", "enter", "C", "g", "enter")
        assert "colours show kind" in await shown(session)
        pane_of(session).restore_view(state, pane_of(session).engine)
        assert "colours show precision" in await shown(session)
        assert pane_of(session).columns["value"] is value


async def test_columns_of_a_scatter_and_of_groups_are_chosen(tmp_path):
    async with running(small_engine(tmp_path), tab="charts") as session:
        assert "latency_ms over footprint_bytes: 3 layers" in " ".join(
            (await show(session, "scatter")).split()
        )
        await session.press("a")
        assert "X or groups  default" in session.text
        await session.press("enter", "G", "enter")
        x = pane_of(session).columns["x"].name
        assert f"{x}" in await shown(session)
        await session.press("a", "g", "enter", "g", "j", "enter")
        assert pane_of(session).columns["x"].is_number
        await session.press("a", "j", "j", "enter", "j", "enter")
        assert pane_of(session).columns["size"].is_number
        await session.press("p")
        assert pane_of(session).chart.id == "bar"
        await session.press("a", "enter", "g", "j", "enter")
        assert pane_of(session).columns["x"].name == "kind"
        assert "Sum of latency_ms by kind: 8 layers in 4 groups." in await shown(session)
        await session.press("enter", "g", "enter")
        assert session.screen.filter_text == "kind:convolution"


# The cursor on marks


async def test_a_bar_is_walked_to_and_opened_and_escape_leads_back(tmp_path):
    async with running(small_engine(tmp_path), tab="charts") as session:
        pane = pane_of(session)
        await show(session, "bar")
        await session.press("enter")
        assert pane.view.has_focus
        assert f"{SLOWEST}  {NET[SLOWEST][0]}  0.3000 ms" in words_of_line(session)
        await session.press("j", "down", "up", "j")
        assert f"{BY_TIME[2]}  " in words_of_line(session)
        assert session.current == SLOWEST
        await session.press("enter")
        assert session.screen.pane.id == "layers"
        assert session.current == BY_TIME[2]
        await session.press("escape")
        assert session.screen.pane is pane
        assert session.current == SLOWEST
        assert pane.view.has_focus
        await session.until(lambda: pane.is_up_to_date)
        assert pane.view.target.layer == BY_TIME[2]
        await session.press("shift+tab", "n")
        assert pane.chart.id == "scatter"


async def test_bars_without_room_are_reached_and_escape_leads_back_to_them(tmp_path):
    names = [f"/block{number}/Conv" for number in range(60)]
    async with running(named_engine(tmp_path, names), tab="charts") as session:
        view = pane_of(session).view
        await show(session, "bar")
        slowest, fastest = len(names) - 1, 0
        assert "more: " in view.plain
        await session.press("enter")
        seen = [view.target.layer]
        for _ in names:
            await session.press("j")
            await shown(session)
            assert view.spot is not None
            seen.append(view.target.layer)
        assert seen == [*range(slowest, fastest - 1, -1), fastest]
        assert "↑ " in view.plain
        assert "more: " not in view.plain
        assert f"{fastest}  {names[fastest]}" in words_of_line(session)
        there = view.plain
        await session.press("enter")
        assert session.current == fastest
        await session.press("escape")
        assert session.current == slowest
        assert await shown(session) == there
        await session.press("g")
        assert view.target.layer == slowest
        assert "↑ " not in await shown(session)
        await session.press("end", "pageup")
        assert view.target.layer == fastest + 10
        await session.press("shift+tab", "n", "p")
        assert "↑ " not in await shown(session)


async def test_the_wheel_scrolls_bars(tmp_path):
    names = [f"/block{number}/Conv" for number in range(60)]
    async with running(named_engine(tmp_path, names), tab="charts") as session:
        view = pane_of(session).view
        assert "↑ " not in await show(session, "bar")
        view.post_message(events.MouseScrollDown(view, 1, 1, 0, 1, 0, False, False, False))
        await session.until(lambda: "↑ 3 above" in view.plain)


async def test_a_layer_whose_bar_has_no_room_has_the_cursor(tmp_path):
    names = [f"/block{number}/Conv" for number in range(60)]
    async with running(named_engine(tmp_path, names), tab="charts") as session:
        session.screen.stand_on(session.screen.engine.layers[0])
        await show(session, "bar")
        await session.press("enter")
        assert "↑ " in await shown(session)
        assert pane_of(session).view.target.layer == 0


async def test_points_of_lines_are_read_off():
    async with running(SAMPLES / "alexnet", tab="charts") as session:
        view = pane_of(session).view
        await show(session, "over-time")
        await session.press("enter", "home")
        assert re.match(r"query \d+  0\.\d+ ms  at 0\.\d+ s", words_of_line(session))
        assert "▲" in str(view.render())
        await session.press("enter")
        assert [note.message for note in session.app._notifications] == ["This mark opens nothing."]
        await session.press("shift+tab", "n")
        await session.until(lambda: "Percentiles: 2000" in session.text, "the chart")
        await session.press("enter", "home")
        await session.until(lambda: words_of_line(session).startswith("p50"), "the first mark")
        await session.press("l")
        await session.until(lambda: re.match(r"p75  0\.\d+ ms", words_of_line(session)), "the percentiles")


async def test_a_bar_of_a_kind_filters(tmp_path):
    async with running(small_engine(tmp_path), tab="charts") as session:
        await show(session, "kind")
        await session.press("enter", "g", "j", "enter")
        assert session.screen.pane.id == "latency"
        assert session.screen.filter_text == "kind:pooling"
        assert session.shown == [POOLING]
        await session.press("escape")
        assert session.screen.pane.id == "charts"
        assert session.screen.filter_text == ""


async def test_columns_are_walked_in_order(tmp_path):
    async with running(small_engine(tmp_path), tab="charts") as session:
        pane = pane_of(session)
        await show(session, "layers")
        await session.press("l", "home")
        walked = [pane.view.target.layer]
        for _ in NET:
            await session.press("right")
            walked.append(pane.view.target.layer)
        assert walked == [*range(len(NET)), len(NET) - 1]
        assert "▲" in session.text
        assert session.current == SLOWEST


async def test_layers_in_one_place_are_counted_and_offered():
    async with running(SAMPLES / "alexnet", tab="charts") as session:
        view = pane_of(session).view
        assert "²" in await show(session, "products")
        await session.press("enter")
        shared = next(spot for spot in view.drawing.spots if len(spot.indices) == 2)
        while view.spot is not shared:
            await session.press("right" if view.spot.centre < shared.centre else "left")
        assert "(2 here)" in words_of_line(session)
        first, second = (shared.target(index).layer for index in shared.indices)
        await session.press("enter")
        assert "2 layers here" in session.text
        await session.press("j", "enter")
        assert session.screen.pane.id == "layers"
        assert session.current == second != first


async def test_a_click_marks_what_is_nearest(tmp_path):
    async with running(small_engine(tmp_path), tab="charts") as session:
        pane = pane_of(session)
        await show(session, "bar")
        spot = pane.view.drawing.spots[3]
        await session.pilot.click(ChartView, offset=(30, spot.y))
        assert pane.view.has_focus
        assert pane.view.target.layer == BY_TIME[3]
        assert session.current == SLOWEST
        await session.pilot.click(ChartView, offset=(30, spot.y), times=2)
        await session.until(lambda: session.screen.pane.id == "layers")
        assert session.current == BY_TIME[3]


async def test_charts_without_data_are_dimmed_and_not_begun_with(tmp_path):
    folder = small_engine(tmp_path, profiled=False)
    engine = load_engine(folder)
    async with running(folder, LARGE, tab="charts") as session:
        assert (await shown(session)).startswith("Layers by kind")
        await show(session, "products")  # Whether a file has its numbers shows when it is drawn.
        rows = [line.split("│")[0].replace("▸", "").strip() for line in session.text.split("\n")[2:]]
        assert rows[: len(CHARTS)] == [
            f"{number if has_form(session, chart) else '–'} {chart.titled(engine.layers).title}"
            for number, chart in enumerate(CHARTS, start=1)
        ]


async def test_a_chart_that_takes_long_is_said_to_be_drawn(tmp_path, monkeypatch):
    may_draw = Event()
    original = charts.draw

    def slow(chart: Any, *about: Any) -> Any:
        if chart.id == "precision":
            assert may_draw.wait(60)
        return original(chart, *about)

    monkeypatch.setattr(charts, "draw", slow)
    async with running(small_engine(tmp_path), tab="charts") as session:
        await shown(session)
        try:
            await session.press("n")
            await session.until(lambda: pane_of(session).view.plain == "Time by precision\n\nDrawing…")
            await session.press("n")
            assert pane_of(session).view.plain.startswith("Kind by precision")
        finally:
            may_draw.set()
        assert "pooling" in await shown(session)


async def test_a_chart_without_marks_keeps_the_focus_on_the_list(tmp_path):
    async with running(small_engine(tmp_path), tab="charts") as session:
        await show(session, "percentiles")
        await session.press("enter")
        assert pane_of(session).titles.has_focus
        assert [note.message for note in session.app._notifications] == ["No marks to select in this chart."]


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
        await session.press("g")
        for place, title in enumerate(TITLES, start=1):
            await shown(session)
            row = session.text.split("\n")[2]
            assert f"{place}/{len(CHARTS)}" in row
            assert f"▸{title}" in row or f"▸({title})" in row
            await session.press("n")
        await session.pilot.click(ChartList, offset=(22, 0))
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
        assert drawn == ["kind", "precision"]
        session.app.theme = "trex-light"
        await session.pilot.pause()
        await shown(session)
        assert drawn == ["kind", "precision"]


async def test_keys_typed_ahead_draw_the_last_chart_they_ask_for(tmp_path, monkeypatch, drawn):
    async with running(small_engine(tmp_path), tab="charts") as session:
        await shown(session)
        await session.press("g")
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
        await session.press("g")
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
