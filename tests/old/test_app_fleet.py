"""Views of the list of engines: groups, engines of the same model, charts, history of builds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.widgets import Input
from tui import Session, running

from helpers import OLD_SAMPLES
from small_engines import several_engines
from trex_tui.__main__ import main
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.screens.engines import EnginesScreen
from trex_tui.old.screens.explanation import ExplainScreen
from trex_tui.old.screens.fleet_charts import FleetChartsScreen
from trex_tui.old.widgets.table_model import SortKey

SAMPLES = OLD_SAMPLES
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
        assert toasts(session) == ["No other engine of this model or a similar one in the list."]


async def test_similar_models_are_suggested_after_the_same_model(artifacts):
    async with running(artifacts / "trex", TALL) as session:
        session.listed.go_to("resnet-A100/fp16/resnet")
        await session.pilot.pause()
        assert "similar to resnet-qat, resnet-qat-residual" in session.text
        await session.press("m")
        lines = [
            line
            for line in session.text.splitlines()
            if "resnet-A100/fp32" in line or "similar model" in line
        ]
        assert "precision TF32" in lines[0]
        assert "similar model resnet-qat, precision INT8" in lines[1]


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
        assert "Shares by kind, % of the layer times: 3 engines" in session.text
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


async def test_keys_back_to_the_list():
    async with running(SAMPLES) as session:
        for view in ("p", "H"):
            for key in ("q", "escape", "minus", "ctrl+o"):
                await session.press(view)
                await session.until(lambda: not isinstance(session.app.screen, EnginesScreen))
                await session.press(key)
                assert isinstance(session.app.screen, EnginesScreen), (view, key)


async def test_keys_of_the_charts():
    async with running(SAMPLES) as session:
        screen = await open_charts(session)
        await session.press("p")
        assert screen.chart.id == "trend"
        await session.press("n", "t")
        assert "alexnet.qat" in session.text
        await session.press("C", "slash", *"tensorrt", "enter", "enter")
        assert "■ 8.5.2" in session.text


# Long lists


# Explain, copy, export


@pytest.mark.parametrize("size", [NARROW, TALL])
async def test_numbers_of_the_list_are_explained(size):
    async with running(SAMPLES, size) as session:
        session.listed.table.sort_by("latency_p99_ms")
        await session.press("g", "i")
        assert isinstance(session.app.screen, ExplainScreen)
        head = session.text
        assert "p99 ms  0.9165" in head
        assert "(exactly " in head
        assert "alexnet_fp32.timing.json" in head or size == NARROW
        await session.press("escape", "p")
        await session.until(lambda: isinstance(session.app.screen, FleetChartsScreen))
        await session.until(lambda: chart(session).view.drawing.spots)
        await session.press("i")
        assert isinstance(session.app.screen, ExplainScreen)
        assert "median ms  0." in session.text


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Return the output of a command; the app, while it runs, takes the output for itself."""
    assert main([*map(str, arguments)]) == 0
    return capsys.readouterr().out


def clipboard(session: Session) -> str:
    return session.app.clipboard


async def export(session: Session, choice: int | None, path: Path) -> str:
    """Export to a path, the offer with this number where there are several."""
    await session.press("e")
    if choice is not None:
        await session.press(*["down"] * choice, "enter")
    line = session.app.screen.query_one(Input)
    line.value = str(path)
    await session.press("enter")
    await session.until(path.exists)
    return path.read_text(encoding="utf-8")


async def test_list_is_exported_as_the_command_prints_it(tmp_path, capsys):
    command = ("engines", SAMPLES, "--filter", "alexnet", "--no-cache")
    expected = json.loads(printed(capsys, *command, "--json"))
    csv = printed(capsys, *command, "--format", "csv")
    async with running(SAMPLES) as session:
        await session.press("slash", *"alexnet", "enter")
        document = json.loads(await export(session, None, tmp_path / "engines.json"))
        assert document == {**expected, "diagnostics": []}
        lines = (await export(session, None, tmp_path / "engines.csv")).splitlines()
        assert lines == csv.splitlines()
        table = await export(session, None, tmp_path / "engines.md")
        assert table.count("\n| alexnet") == 3


async def test_charts_of_engines_are_exported_with_their_numbers(tmp_path):
    async with running(SAMPLES) as session:
        await open_charts(session)
        svg = await export(session, 0, tmp_path / "pareto.svg")
        assert svg.startswith("<svg") or "<svg" in svg[:200]
        assert "alexnet" in svg
        lines = (await export(session, 0, tmp_path / "pareto.csv")).splitlines()
        assert lines[0] == "engine,latency_median_ms,weights_bytes,precision"
        assert len(lines) == 3
        assert "front of 1" in await export(session, 0, tmp_path / "pareto.txt")
        await session.press("n")
        lines = (await export(session, 0, tmp_path / "kinds.csv")).splitlines()
        assert lines[0].startswith("engine,latency_sum_ms,")
        assert "gemm_time_pct" in lines[0]
        assert len(lines) == 6
        document = json.loads(await export(session, 1, tmp_path / "engines.json"))
        assert len(document["rows"]) == 5
