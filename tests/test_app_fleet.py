"""Views of the list of engines: groups, engines of the same model, charts, history of builds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helpers import REPOSITORY
from trex_tui.screens.build_history import BuildHistoryScreen
from trex_tui.screens.engine import EngineScreen
from trex_tui.screens.engines import EnginesScreen
from trex_tui.screens.fleet_charts import FleetChartsScreen
from trex_tui.widgets.table_model import SortKey
from tui import Session, check_golden, running, several_engines

sys.path.insert(0, str(REPOSITORY / "scripts"))

from samples.builds import plant_kernel, write_builds

SAMPLES = REPOSITORY / "sample_artifacts"
TALL = (160, 45)
NARROW = (80, 24)


def toasts(session: Session) -> list[str]:
    return [notice.message for notice in session.app._notifications]


def without_footer(screen: str) -> str:
    return screen.rstrip().rpartition("\n")[0]


def names(session: Session) -> list[str]:
    return [row.source.name for row in session.listed.table.shown_engines]


async def test_a_word_is_searched_in_all_texts():
    async with running(SAMPLES) as session:
        await session.press("slash", *"int8", "enter")
        assert names(session) == ["alexnet.qat"]


async def test_groups_keep_their_engines_together_in_every_order():
    async with running(SAMPLES) as session:
        await session.press("t")
        headings = [row.facts.value("engine") for row in session.listed.table.shown_rows if row.members]
        assert headings[0] == "model alexnet · 2 engines"
        assert len(headings) == 4
        await session.press("g")
        assert "median ms 0.4990 to 0.9111" in session.text
        session.listed.table.sort_by("latency_median_ms")
        assert names(session) == [
            *("alexnet_fp32", "alexnet_fp16"),
            *("alexnet.qat", "encoder_fp8", "squeezenet_fp16"),
        ]
        await session.press("g", "space")
        assert session.listed.marked_names == ["alexnet_fp16", "alexnet_fp32"]
        await session.press("slash", *"fp32", "enter")
        assert [bool(row.members) for row in session.listed.table.shown_rows] == [True, False]


async def test_groups_of_several_models_have_no_common_latency():
    async with running(SAMPLES) as session:
        await session.press("t", "t", "g")
        assert session.listed.table.grouping == "device"
        assert " to " not in session.text.splitlines()[-2]


async def test_columns_sort_and_grouping_are_remembered():
    async with running(SAMPLES, TALL) as session:
        await session.press("c", "d", "space", "enter", "t")
        session.listed.table.sort_by("latency_p99_ms")
        await session.pilot.pause()
        columns = [column.key for column in session.listed.table.columns]
        assert "engine" not in columns
    async with running(SAMPLES, TALL) as session:
        table = session.listed.table
        assert [column.key for column in table.columns] == columns
        assert table.sort_keys == (SortKey("latency_p99_ms", descending=True),)
        assert table.grouping == "model"


async def test_the_same_model_of_another_precision_is_offered_for_comparison():
    async with running(SAMPLES) as session:
        assert "1 other engine of alexnet" in session.text
        await session.press("m")
        assert "alexnet_fp32  precision FP32" in session.text
        await session.press("enter")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        assert [engine.name for engine in session.screen.compare_job.engines] == [
            "alexnet_fp16",
            "alexnet_fp32",
        ]
        await session.press("q")
        await session.press("G", "m")
        assert toasts(session) == ["No other engine of this model in the list."]


def chart(session: Session) -> FleetChartsScreen:
    assert isinstance(session.app.screen, FleetChartsScreen)
    return session.app.screen


async def open_charts(session: Session) -> FleetChartsScreen:
    await session.press("p")
    await session.until(lambda: isinstance(session.app.screen, FleetChartsScreen))
    await session.until(lambda: chart(session).view.drawing.spots)
    return chart(session)


@pytest.mark.parametrize("size", [NARROW, TALL])
async def test_pareto_chart_leads_to_the_engine(size):
    async with running(SAMPLES, size) as session:
        screen = await open_charts(session)
        assert "front of 1: alexnet_fp16" in session.text
        assert screen.current_row is not None
        assert screen.current_row.source.name == "alexnet_fp16"
        await session.press("right")
        assert screen.current_row.source.name == "alexnet_fp32"
        await session.press("enter")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        assert session.screen.engine.name == "alexnet_fp32"
        await session.press("q")
        assert chart(session).current_row.source.name == "alexnet_fp32"
        await session.press("q")
        assert session.listed.current_name == "alexnet_fp32"


async def test_axes_of_the_pareto_chart_are_chosen():
    async with running(SAMPLES) as session:
        await open_charts(session)
        await session.press("v", "slash", *"energy_per_inference", "enter", "enter")
        assert "No engine with latency_median_ms and energy_per_inference_j" in session.text
        await session.press("v", "slash", *"latency_p99_ms", "enter", "enter")
        assert "p99 ms: lower is better" in session.text
        await session.press("a", "j", "j", "enter")
        assert "Colour" in session.text
        await session.press("slash", *"tensorrt", "enter", "enter")
        assert "■ 10.4.0" in session.text


async def test_marks_of_the_chart_are_those_of_the_list():
    async with running(SAMPLES) as session:
        await open_charts(session)
        await session.press("space", "right", "space", "equals_sign")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        assert [engine.name for engine in session.screen.compare_job.engines] == [
            "alexnet_fp16",
            "alexnet_fp32",
        ]


async def test_shares_by_kind_are_of_all_engines_that_the_filter_leaves():
    async with running(SAMPLES) as session:
        await session.press("slash", *"alexnet", "enter")
        screen = await open_charts(session)
        await session.press("n")
        assert "Layer times by kind: 3 engines" in session.text
        await session.press("G")
        assert screen.current_row is not None
        assert screen.current_row.source.name == "alexnet.qat"
        await session.press("enter")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))


async def test_charts_without_data_have_a_sentence(tmp_path):
    async with running(several_engines(tmp_path)) as session:
        await session.press("p")
        for _ in range(4):
            assert isinstance(session.app.screen, FleetChartsScreen)
            await session.press("n", "right", "enter", "space")
            while not isinstance(session.app.screen, FleetChartsScreen):
                await session.press("q")
        await session.press("t", "equals_sign", "escape")
        assert session.listed


def history(session: Session) -> BuildHistoryScreen:
    assert isinstance(session.app.screen, BuildHistoryScreen)
    return session.app.screen


async def open_history(session: Session) -> BuildHistoryScreen:
    await session.press("H")
    await session.until(lambda: isinstance(session.app.screen, BuildHistoryScreen))
    await session.until(lambda: history(session).history is not None)
    return history(session)


def plant(folder: Path) -> Path:
    """Twelve builds, from the sixth on 4 % slower by another kernel."""

    return write_builds(folder, 12, lambda number: 1.0 + 0.04 * (number >= 6), plant_kernel(6))


async def test_history_has_the_change_and_its_cause(tmp_path):
    async with running(plant(tmp_path)) as session:
        screen = await open_history(session)
        assert [build.name for build in screen.history.builds][8:10] == [
            "build-9/alexnet_fp16",
            "build-10/alexnet_fp16",
        ]
        await session.press("n")
        assert screen.current_index == 5
        assert "Differences from build 5" in session.text
        assert "kernel" in session.text
        await session.press("n")
        assert screen.current_index == 5, "there is no other change"
        await session.press("equals_sign")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        assert [engine.name for engine in session.screen.compare_job.engines] == [
            "build-5/alexnet_fp16",
            "build-6/alexnet_fp16",
        ]
        await session.press("q")
        assert history(session).current_index == 5
        await session.press("enter")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        assert session.screen.engine.name == "build-6/alexnet_fp16"


async def test_history_of_builds_without_a_date_is_told(tmp_path):
    async with running(plant(tmp_path)) as session:
        await open_history(session)
        await session.press("s", "j", "enter")
        await session.until(lambda: "has no date of capture" in "".join(toasts(session)))
        assert len(history(session).history.builds) == 12


async def test_histories_of_a_list_are_shown_in_turn():
    async with running(SAMPLES) as session:
        screen = await open_history(session)
        assert "history 1 of 4" in session.text
        assert {build.name for build in screen.history.builds} == {"alexnet_fp16", "alexnet_fp32"}
        await session.press("t")
        assert "1 build" in session.text
        await session.press("equals_sign", "n", "escape")
        assert isinstance(session.app.screen, EnginesScreen)


async def test_goldens_of_the_views(tmp_path):
    async with running(SAMPLES, NARROW) as session:
        await open_charts(session)
        check_golden(session.app, "fleet_pareto_80x24", without_footer)
        await session.press("n")
        check_golden(session.app, "fleet_kinds_80x24", without_footer)
        await session.press("q")
        await open_history(session)
        check_golden(session.app, "fleet_history_80x24", without_footer)
    async with running(plant(tmp_path), TALL) as session:
        await open_history(session)
        await session.press("n")
        check_golden(session.app, "fleet_history_160x45", without_footer)
        await session.press("q")
        await open_charts(session)
        check_golden(session.app, "fleet_pareto_160x45", without_footer)


@pytest.mark.parametrize("key", ["q", "escape", "minus", "ctrl+o"])
@pytest.mark.parametrize("view", ["p", "H"])
async def test_keys_back_to_the_list(view, key):
    async with running(SAMPLES) as session:
        await session.press(view)
        await session.until(lambda: not isinstance(session.app.screen, EnginesScreen))
        await session.press(key)
        assert session.listed


async def test_keys_of_the_charts():
    async with running(SAMPLES) as session:
        screen = await open_charts(session)
        await session.press("p")
        assert screen.chart.id == "trend"
        await session.press("n", "t")
        assert "alexnet.qat" in session.text
        await session.press("C", "slash", *"tensorrt", "enter", "enter")
        assert "■ 8.5.2" in session.text


async def test_keys_of_the_history(tmp_path):
    async with running(plant(tmp_path)) as session:
        screen = await open_history(session)
        await session.press("G", "N")
        assert screen.current_index == 5
        await session.press("z")
        assert not screen.words.display
        await session.press("z", "tab", "z")
        assert screen.focused is screen.words
        assert not screen.table.display
