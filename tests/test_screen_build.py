"""Build: views of the log, tactics of a layer, the pager."""

from __future__ import annotations

import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from screens_kit import SAMPLES, explore

LOG = SAMPLES / "build-log"


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


async def test_all_views_stand_in_a_strip_and_phases_are_nested():
    async with explore(LOG) as e:
        await e.press("7")
        await e.see("Phases  Passes  Tactics  Memory  Strategies  Messages")
        table = e.screen.pane.table
        depth = dict(zip(table.section.frame["phase"], e.screen.pane.shown_view.levels, strict=True))
        assert depth["engine build"] == 0
        assert depth["formats and tactics selection"] == 2
        assert depth["subgraph compilation"] == 3
        await e.see("Passed: engine built in 24.485 s")


async def test_passes_expand_to_their_steps():
    async with explore(LOG) as e:
        await e.press("7", "t")
        await e.see("▸ Myelin optimization")
        await e.press("j", "j", "j", "enter")
        await e.see("▾ Myelin optimization")
        assert any("fused" in line or "removed" in line for line in e.lines)


async def test_the_tactics_of_a_layer_have_their_distance_to_the_choice():
    async with explore(LOG, size=(160, 45)) as e:
        await e.press("7", "t", "t")
        await e.see("23 layers tuned")
        pane = e.screen.pane
        assert pane.layer_of(pane.table.row) == 5
        await e.press("j", "k")
        assert e.screen.current_layer == 5  # the layer of the engine follows
        await e.press("enter")
        await e.see("Δ %")
        frame = pane.table.section.frame
        for _, rows in frame[frame["operator"].notna()].groupby("operator"):
            assert rows["delta_pct"].min() == pytest.approx(0.0)  # to the choice for the same operator
        assert "FP16 NHWC8" in e.text
        assert "Half(" not in e.text
        columns = [column.key for column in pane.table.section.columns]
        assert columns[-1] == "id"
        await e.press("escape")
        assert pane.tuning is None
        assert pane.layer_of(pane.table.row) == 5


async def test_messages_are_cut_at_their_end_and_whole_in_the_details():
    async with explore(LOG) as e:
        await e.press("7", "T")
        await e.see("10 warnings, 0 errors.")
        row = next(line for line in e.lines if "Weakly-typed" in line)
        assert "Weakly-typed networks have been deprecated" in row
        await e.see("be strongly typed.")


async def test_the_log_opens_at_the_line_of_the_row(monkeypatch: pytest.MonkeyPatch):
    commands: list[list[str]] = []
    monkeypatch.setenv("PAGER", "less -S")
    monkeypatch.setattr(subprocess, "run", lambda command, **_: commands.append(command))
    async with explore(LOG) as e:
        monkeypatch.setattr(e.app, "suspend", nullcontext)
        await e.press("7")
        await e.see("ONNX parsing")
        await e.press("j", "o")
        await e.wait(lambda: commands)
    assert commands[0][:3] == ["less", "-S", "+316"]
    assert commands[0][3].endswith(".log.gz")


async def test_lists_are_sorted_and_trees_are_not():
    async with explore(LOG) as e:
        await e.press("7")
        await e.see("ONNX parsing")
        assert "sort" not in e.lines[-1]
        await e.press("t", "t", "s", *"tactics", "enter")
        counts = e.screen.pane.table.section.frame["tactics"].tolist()
        assert counts == sorted(counts, reverse=True)


async def test_without_a_log_there_is_a_way_to_get_one():
    async with explore(SAMPLES / "resnet-a100/qat") as e:
        await e.press("7")
        await e.see("No build log in this set.")
        await e.see("trtexec --verbose … > resnet-qat.build.log")
        assert "view" not in e.lines[-1]
