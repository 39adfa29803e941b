"""The list of engines: names, columns, filter, marks; and the way to an engine and to a comparison."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from screens_kit import SAMPLES, Explorer, explore
from trex_tui.screens.engine import EngineScreen
from trex_tui.screens.engines import EnginesScreen
from trex_tui.widgets.table import FrameTable


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def _screen(e: Explorer) -> EnginesScreen:
    assert isinstance(e.app.screen, EnginesScreen)
    return e.app.screen


async def _read(e: Explorer) -> FrameTable:
    await e.wait(lambda: "reading" not in e.lines[0] and "latency_median_ms" in _screen(e).columns)
    await e.wait(lambda: _screen(e).engines.frame["latency_median_ms"].notna().sum() >= 4)
    return _screen(e).table


async def test_a_damaged_set_states_what_is_wrong(tmp_path: Path):
    whole = shutil.copytree(SAMPLES / "alexnet", tmp_path / "ok") / "alexnet_fp16.graph.json"
    graph = tmp_path / "bad.graph.json"
    graph.write_bytes(whole.read_bytes()[:3000])
    async with explore(tmp_path) as e:
        await e.see("truncated: the JSON ends in the middle")
        await e.see(f"{graph}:")


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (120, 35), (200, 50)])
async def test_names_are_different_at_every_width(size: tuple[int, int]):
    async with explore(SAMPLES, size=size) as e:
        table = await _read(e)
        names = [re.split(r" {2,}", line[1:])[0] for line in e.lines[2 : 2 + len(table.rows)]]
        assert len(set(names)) == len(table.rows) == 8
        assert all(name.strip() for name in names)


async def test_columns_with_one_value_and_models_that_repeat_the_name_are_left_out(tmp_path: Path):
    for name in ("a", "b"):
        shutil.copytree(SAMPLES / "resnet18", tmp_path / name)
    async with explore(tmp_path, size=(160, 45)) as e:
        await e.wait(lambda: _screen(e).engines.frame["layers"].notna().all())
        titles = [column.key for column in _screen(e).table.section.columns]
        assert not {"device", "precision", "batch", "per_sample_ms", "model"} & set(titles)
        assert "directory" in titles


async def test_enter_opens_an_engine_and_q_comes_back():
    async with explore(SAMPLES) as e:
        table = await _read(e)
        row = next(row for row in table.rows if table.section.frame.loc[row, "engine"] == "resnet-qat")
        table.move_to(row)
        await e.press("enter")
        await e.wait(lambda: isinstance(e.app.screen, EngineScreen))
        assert e.screen.engine.name == "resnet-qat"
        await e.press("q")
        await e.wait(lambda: isinstance(e.app.screen, EnginesScreen))
        assert _screen(e).table.row == row


async def test_marked_engines_are_compared():
    async with explore(SAMPLES / "resnet-a100") as e:
        await e.wait(lambda: _screen(e).engines.frame["layers"].notna().all())
        await e.press("equals_sign")
        await e.see("Mark two to four engines")
        await e.press("space", "space", "equals_sign")
        await e.wait(lambda: isinstance(e.app.screen, EngineScreen))
        assert len(e.screen.others) == 1


async def test_the_list_is_filtered_and_sorted():
    async with explore(SAMPLES) as e:
        table = await _read(e)
        await e.press("slash", *"resnet precision:int8", "enter")
        await e.see("2 of 8 engines")
        assert len(table.rows) == 2
        await e.press("escape", "s", *"median", "enter")
        known = _screen(e).engines.frame["latency_median_ms"][table.rows].dropna().tolist()
        assert len(table.rows) == 8
        assert known == sorted(known, reverse=True)
        await e.press("r")
        assert _screen(e).engines.frame["latency_median_ms"][table.rows].dropna().tolist() == known[::-1]


async def test_an_engine_that_cannot_be_read_says_why(tmp_path: Path):
    shutil.copytree(SAMPLES / "resnet18", tmp_path / "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/bad.graph.json").write_text('{"Layers": [{"Name": 3}], "Bindings": 7}')
    async with explore(tmp_path) as e:
        await e.wait(lambda: _screen(e).engines.frame["layers"].notna().any())
        frame = _screen(e).engines.frame
        if frame["error"].notna().any():
            await e.see("cannot be read")
        _screen(e).table.move_to(
            int(frame.index[frame["engine"].eq("bad")][0]) if frame["engine"].eq("bad").any() else 0
        )
        await e.see(str(tmp_path)[:20])


async def test_numbers_of_an_engine_are_explained():
    async with explore(SAMPLES) as e:
        await _read(e)
        await e.press("i")
        await e.see("Median latency end to end.")
        await e.press("escape")
        assert isinstance(e.app.screen, EnginesScreen)


async def test_columns_that_nothing_has_can_be_left_out():
    async with explore(SAMPLES / "resnet-a100") as e:
        await e.wait(lambda: "reading" not in e.lines[0])
        await e.press("c", "tab", "tab", "enter")
        await e.see("resnet-qat-residual")
        assert isinstance(e.app.screen, EnginesScreen)


async def test_a_new_capture_appears_with_the_difference_to_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("trex_tui.screens.engines.LOOK_SECONDS", 0.02)
    first = shutil.copytree(SAMPLES / "alexnet", tmp_path / "monday")
    shutil.copytree(SAMPLES / "resnet18", tmp_path / "other")
    manifest = {"schema": "trex-tui/capture/1", "started": "2026-11-23T09:00:00+00:00"}
    (first / "alexnet_fp16.capture.json").write_text(json.dumps(manifest))
    async with explore(tmp_path, size=(120, 35)) as e:
        await e.wait(lambda: _screen(e).engines.frame["latency_median_ms"].notna().sum() == 2)
        await e.press("space", "down")
        second = shutil.copytree(first, tmp_path / "tuesday.part")
        timing = second / "alexnet_fp16.timing.json"
        rows = [{**row, "latencyMs": 2 * row["latencyMs"]} for row in json.loads(timing.read_text())]
        timing.write_text(json.dumps(rows))
        manifest["started"] = "2026-11-24T09:00:00+00:00"
        (second / "alexnet_fp16.capture.json").write_text(json.dumps(manifest))
        second.rename(tmp_path / "tuesday")
        await e.see("New: tuesday/alexnet_fp16: median 0.9912 ms, +100.0")
        screen = _screen(e)
        await e.wait(lambda: len(screen.engines.frame) == 3)
        names = screen.engines.frame["engine"]
        assert names[screen.table.row] == "resnet18_fp16"  # the cursor stays
        assert [names[row] for row in screen.table.marked] == [
            "monday/alexnet_fp16"
        ]  # it has a longer name now
        shutil.rmtree(tmp_path / "tuesday")
        await e.wait(lambda: len(screen.engines.frame) == 2)
