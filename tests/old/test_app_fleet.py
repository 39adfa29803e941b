"""Views of the list of engines: groups, engines of the same model, charts, history of builds."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from helpers import REPOSITORY
from trex_tui.old.analysis.load import load
from trex_tui.old.artifacts import ArtifactSet
from trex_tui.old.cli import main
from trex_tui.old.engine.engine import Engine
from trex_tui.old.screens.build_history import BuildHistoryScreen
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.screens.engines import EnginesScreen
from trex_tui.old.screens.explanation import ExplainScreen
from trex_tui.old.screens.fleet_charts import FleetChartsScreen
from trex_tui.old.screens.loading import MOST_HELD, LoadingScreen, OpeningCancelled
from trex_tui.old.widgets.table_model import SortKey
from tui import Session, check_golden, running, several_engines

sys.path.insert(0, str(REPOSITORY / "scripts"))

from samples.builds import plant_kernel, write_builds

SAMPLES = REPOSITORY / "tests/old/sample_artifacts"
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


def history(session: Session) -> BuildHistoryScreen:
    assert isinstance(session.app.screen, BuildHistoryScreen)
    return session.app.screen


async def open_history(session: Session) -> BuildHistoryScreen:
    await session.press("H")
    await session.until(lambda: isinstance(session.app.screen, BuildHistoryScreen))
    await session.until(lambda: history(session).history is not None)
    return history(session)


def plant(folder: Path, rows: int | None = 200) -> Path:
    """Twelve builds, from the sixth on 4 % slower by another kernel; `rows`: timing rows, without 2,000."""
    return write_builds(folder, 12, lambda number: 1.0 + 0.04 * (number >= 6), plant_kernel(6), rows=rows)


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
        assert "history 1 of 5" in session.text
        assert [build.name for build in screen.history.builds] == ["alexnet_fp16"]
        await session.press("t")
        assert "history 2 of 5" in session.text
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
    async with running(plant(tmp_path, rows=None), TALL) as session:
        await open_history(session)
        await session.press("n")
        check_golden(session.app, "fleet_history_160x45", without_footer)
        await session.press("q")
        await open_charts(session)
        check_golden(session.app, "fleet_pareto_160x45", without_footer)


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


# Long lists


def long_list(folder: Path, count: int = MOST_HELD + 4) -> Path:
    return write_builds(folder, count, lambda number: 1.0 + 0.01 * number, rows=20)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def count_loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    loaded: list[str] = []

    def counted(source: ArtifactSet, *arguments: Any, **more: Any) -> Engine:
        loaded.append(source.name)
        return load(source, *arguments, **more)

    monkeypatch.setattr("trex_tui.old.analysis.load.load", counted)
    monkeypatch.setattr("trex_tui.old.fleet.rows.load", counted)
    return loaded


async def test_a_long_list_holds_rows_and_reads_what_is_opened(tmp_path, monkeypatch, capsys):
    loaded = count_loads(monkeypatch)
    async with running(long_list(tmp_path / "sets")) as session:
        assert all(row.engine is None and row.is_readable for row in session.listed.rows)
        first = [row.facts.values for row in session.listed.rows]
        assert len(loaded) >= MOST_HELD + 4
        loaded.clear()
        await session.press("enter")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        assert session.screen.engine.name == "build-1/alexnet_fp16"
        assert loaded == ["build-1/alexnet_fp16"]
        await session.press("q", "space", "j", "equals_sign")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        assert len(session.screen.compare_job.engines) == 2
    loaded.clear()
    async with running(tmp_path / "sets") as session:
        assert loaded == [], "all rows are in the cache"
        assert [row.facts.values for row in session.listed.rows] == first
    printed(capsys, "engines", tmp_path / "sets", "--json")
    assert loaded == [], "the command has the same cache"


async def test_changed_sets_of_a_long_list_are_read_again(tmp_path, monkeypatch):
    folder = long_list(tmp_path / "sets")
    async with running(folder):
        pass
    timing = folder / "build-3" / "alexnet_fp16.timing.json"
    rows = json.loads(timing.read_text())
    timing.write_text(json.dumps([{**row, "latencyMs": 2.0 * row["latencyMs"]} for row in rows]))
    loaded = count_loads(monkeypatch)
    async with running(folder) as session:
        assert set(loaded) == {"build-3/alexnet_fp16"}
        row = next(row for row in session.listed.rows if row.source.name.startswith("build-3"))
        assert row.facts.value("latency_median_ms") == pytest.approx(2 * 0.514, rel=0.02)


async def test_a_set_of_a_long_list_that_went_is_a_message(tmp_path):
    folder = long_list(tmp_path / "sets")
    async with running(folder) as session:
        shutil.rmtree(folder / "build-1")
        await session.press("enter")
        await session.until(lambda: bool(toasts(session)))
        assert isinstance(session.app.screen, EnginesScreen)
        assert "build-1" in toasts(session)[0]
        await session.press("j", "enter")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))


async def test_reading_a_chosen_engine_can_be_cancelled(tmp_path, monkeypatch):
    async with running(long_list(tmp_path / "sets")) as session:
        is_open = threading.Event()

        def wait(*_: Any, **__: Any) -> Engine:
            is_open.wait(60)
            raise OpeningCancelled

        monkeypatch.setattr("trex_tui.old.analysis.load.load", wait)
        await session.press("enter")
        await session.until(lambda: isinstance(session.app.screen, LoadingScreen))
        await session.press("escape")
        await session.until(lambda: isinstance(session.app.screen, EnginesScreen))
        is_open.set()
        await session.press("j")
        assert session.listed.current_name.startswith("build-2/")


async def test_damaged_sets_of_a_long_list_have_notes_with_and_without_the_cache(tmp_path):
    folder = long_list(tmp_path / "sets")
    (folder / "build-2" / "alexnet_fp16.profile.json").write_text("[{")
    for path in (folder / "build-4").iterdir():
        path.write_text("{")
    for _ in range(2):
        async with running(folder, TALL) as session:
            rows = {row.source.name.partition("/")[0]: row for row in session.listed.rows}
            assert rows["build-2"].facts.value("missing") == ["bad profile"]
            assert "bad profile" in session.text
            await session.press("exclamation_mark")
            assert "alexnet_fp16.profile.json" in session.text


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


async def test_numbers_of_builds_are_explained(tmp_path):
    async with running(plant(tmp_path)) as session:
        await open_history(session)
        await session.press("i")
        assert isinstance(session.app.screen, ExplainScreen)
        assert "median ms  0." in session.text
        assert "mean of several runs" in session.text


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Return the output of a command; the app, while it runs, takes the output for itself."""
    assert main([*map(str, arguments)]) == 0
    return capsys.readouterr().out


def clipboard(session: Session) -> str:
    return session.app.clipboard


async def test_engines_and_builds_are_copied(tmp_path, capsys):
    rows = json.loads(printed(capsys, "engines", SAMPLES, "--json", "--no-cache"))["rows"]
    async with running(SAMPLES) as session:
        await session.press("g", "y")
        assert clipboard(session) == session.listed.current_name
        await session.press("Y")
        copied = json.loads(clipboard(session))
        assert copied == next(row for row in rows if row["engine"] == copied["engine"])
        await session.press("space", "j", "space", "y")
        assert len(clipboard(session).splitlines()) == 2
        await session.press("escape", "p")
        await session.until(lambda: isinstance(session.app.screen, FleetChartsScreen))
        await session.until(lambda: chart(session).view.drawing.spots)
        await session.press("y")
        assert clipboard(session) == chart(session).current_row.source.name
    async with running(plant(tmp_path)) as session:
        screen = await open_history(session)
        await session.press("g", "y")
        assert clipboard(session) == "build-1/alexnet_fp16"
        await session.press("Y")
        assert json.loads(clipboard(session))["number"] == 1
        assert screen.current_index == 0


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


async def test_history_is_exported_as_the_command_prints_it(tmp_path, capsys):
    folder = plant(tmp_path / "builds")
    expected = json.loads(printed(capsys, "history", folder, "--json"))
    async with running(folder) as session:
        await open_history(session)
        document = json.loads(await export(session, None, tmp_path / "history.json"))
        assert document == expected
        assert "Changes of alexnet" in await export(session, None, tmp_path / "history.md")
        assert len((await export(session, None, tmp_path / "history.csv")).splitlines()) == 13
