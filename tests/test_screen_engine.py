"""The screen of an engine: tabs, current layer, filter, search, the way back, copy, export, reload, palette and help."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from screens_kit import SAMPLES, explore
from small_engines import POOLING, small_engine
from trex_tui.screens.palette import HelpDialog
from trex_tui.widgets.table import FrameTable

QAT = SAMPLES / "resnet-a100/qat"


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


async def test_the_header_names_engine_device_precision_latency():
    async with explore(QAT, size=(120, 35)) as e:
        header = e.lines[0]
        for text in (
            "resnet-qat",
            "A100 80GB PCIe",
            "INT8",
            "0.8826 ms",
            "1130 qps",
            "37 layers",
            "11.2 MiB",
        ):
            assert text in header


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_all_tabs_fit_one_line(width: int):
    async with explore(QAT, size=(width, 24)) as e:
        await e.wait(lambda: e.screen.lint)
        assert [digit for digit in "12345678" if digit in e.lines[1]] == list("12345678")


async def test_tabs_share_the_current_layer():
    async with explore(QAT) as e:
        await e.press("3", "j", "j", "j")
        layer = e.screen.current_layer
        await e.press("2")
        assert e.screen.pane.table.row == layer
        await e.press("j")
        await e.press("3")
        assert e.screen.pane.table.row == e.screen.current_layer != layer


async def test_a_filter_applies_to_all_tabs_and_escape_clears_it():
    async with explore(QAT) as e:
        await e.press("3", "slash", *"kind:pool", "enter")
        assert e.screen.filter_text == "kind:pool"
        assert len(e.screen.pane.table.rows) == 2
        await e.see("/kind:pool  2 of 37 layers")
        await e.press("2")
        assert len([row for row in e.screen.pane.table.rows if isinstance(row, int)]) == 2
        await e.press("escape")
        assert e.screen.filter_text == ""
        assert len(e.screen.pane.table.rows) > 30


async def test_a_filter_is_completed_and_its_errors_have_hints():
    async with explore(QAT) as e:
        await e.press("3", "slash", *"kind:con", "tab")
        assert "kind:convolution" in e.text
        await e.press("escape", "slash", *"kind:convolvtion")
        await e.see("did you mean convolution?")
        assert len(e.screen.pane.table.rows) == 21  # of `kind:convol`, the last valid text
        await e.press("enter")
        await e.see("Filter unchanged")
        await e.press("escape")
        assert len(e.screen.pane.table.rows) == 37


async def test_search_goes_from_match_to_match():
    async with explore(QAT) as e:
        await e.press("3", "f", *"maxpool", "enter")
        first = e.screen.pane.table.row
        assert first == 2
        await e.press("n")
        assert e.screen.pane.table.row == 3  # the reformat of MaxPool_12
        await e.press("N")
        assert e.screen.pane.table.row == first


async def test_back_restores_tab_layer_filter_and_row():
    async with explore(QAT) as e:
        await e.press("3", "G")
        layer = e.screen.current_layer
        await e.press("enter")
        assert e.screen.pane.tab == "layers"
        await e.press("left_square_bracket")
        assert e.screen.current_layer != layer
        await e.press("minus")
        assert (e.screen.pane.tab, e.screen.current_layer) == ("layers", layer)
        await e.press("escape")
        assert (e.screen.pane.tab, e.screen.pane.table.row) == ("latency", layer)
        await e.press("plus")
        assert e.screen.pane.tab == "layers"


async def test_several_neighbours_are_asked_for():
    async with explore(QAT) as e:
        await e.press("2")
        e.screen.current_layer = 6  # read by a quantization and by the addition behind it
        await e.press("right_square_bracket")
        await e.see("Consumers")
        await e.press("down", "enter")
        assert e.screen.current_layer == 9


async def test_copies_of_marked_rows_as_names_and_json():
    async with explore(QAT) as e:
        await e.press("3", "space", "space", "y")
        assert e.app.clipboard == "conv1.weight + QuantizeLinear_7 + Conv_9\nMaxPool_12"
        await e.press("Y")
        rows = [json.loads(line) for line in e.app.clipboard.splitlines()]
        assert [row["index"] for row in rows] == [1, 2]
        assert rows[0]["latency_ms"] == pytest.approx(0.2017, abs=1e-4)
        await e.press("escape")
        assert not e.screen.pane.table.marked


async def test_export_writes_what_is_shown_and_asks_before_it_replaces(tmp_path: Path):
    target = tmp_path / "table.csv"
    async with explore(QAT) as e:
        for key in (None, "enter"):
            await e.press("3", "slash", *"kind:pool", "enter", "e", "ctrl+u")
            await e.press(*str(target), "enter")
            if key:
                await e.see("The file exists")
                await e.press(key)
            await e.wait(target.is_file)
    lines = target.read_text().splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("2,MaxPool_12,")


async def test_reload_shows_new_values_at_the_same_place(tmp_path: Path):
    shutil.copytree(SAMPLES / "alexnet", tmp_path / "set")
    profile = tmp_path / "set/alexnet_fp16.profile.json"
    async with explore(tmp_path / "set") as e:
        await e.press("3", "j")
        layer, before = e.screen.current_layer, e.screen
        rows = json.loads(profile.read_text())
        for row in rows[1:]:
            row["averageMs"] = 2 * row["averageMs"]
        profile.write_text(json.dumps(rows))
        await e.press("R")
        await e.wait(lambda: e.app.screen is not before and e.screen.query("#screens > *"))
        await e.see("1.048")
        assert (e.screen.pane.tab, e.screen.current_layer) == ("latency", layer)


async def test_a_change_on_disk_is_told(tmp_path: Path):
    shutil.copytree(SAMPLES / "alexnet", tmp_path / "set")
    async with explore(tmp_path / "set") as e:
        (tmp_path / "set/alexnet_fp16.profile.json").touch()
        await e.see("R reads them again")


async def test_notes_are_behind_the_exclamation_mark():
    async with explore(SAMPLES / "damaged") as e:
        assert "! 6 notes" in e.lines[0]
        await e.press("exclamation_mark")
        await e.see("Notes: alexnet_fp16")
        assert "error" in e.text


async def test_the_palette_knows_verbs_of_all_tabs_and_synonyms():
    async with explore(QAT) as e:
        await e.press("colon", *"sandwich")
        await e.see("Layers: neighbours")
        await e.wait(lambda: e.app.screen.query_one("CommandList").option_count == 1)
        await e.press("enter", "enter")
        await e.wait(lambda: len(e.app.screen_stack) == 2 and e.screen.pane.tab == "layers")
        assert e.screen.pane.has_class("-sandwich")


async def test_the_palette_begins_with_the_verbs_of_the_tab():
    async with explore(QAT) as e:
        await e.press("5", "colon")
        await e.see("Memory: peak")
        headings = [line.split(":")[0].strip() for line in e.lines if re.match(r"  \w+: ", line)]
        assert headings[0] == "Memory"


async def test_colon_and_a_number_go_to_a_layer():
    async with explore(QAT) as e:
        await e.press("colon", *"23")
        await e.see("Layer 23:")
        await e.press("enter", "enter")
        await e.wait(lambda: len(e.app.screen_stack) == 2)
        await e.wait(lambda: e.screen.current_layer == 23)


async def test_help_filters_and_runs():
    async with explore(QAT) as e:
        await e.press("3", "question_mark")
        assert isinstance(e.app.screen, HelpDialog)
        await e.press(*"reverse")
        await e.see("Reverse the sort.")
        await e.press("enter")
        await e.wait(lambda: len(e.app.screen_stack) == 2)
        assert e.screen.pane.is_reversed


async def test_a_small_terminal_gets_a_sentence():
    async with explore(QAT, size=(80, 24)) as e:
        await e.pilot.resize_terminal(50, 12)
        await e.see("This terminal has 50×12 cells")
        await e.pilot.resize_terminal(80, 24)
        await e.wait(lambda: "This terminal" not in e.text)


async def test_every_tab_opens_for_every_sample():
    for sample in ("alexnet", "build-log", "names-only", "damaged"):
        async with explore(SAMPLES / sample, size=(80, 24)) as e:
            for digit in "12345678":
                await e.press(digit)
                await e.press("G", "k", "enter", "escape")
            assert e.app.is_running
            assert e.app.screen.query(FrameTable)


async def test_a_layer_that_the_filter_hides_is_shown_all_the_same(tmp_path: Path):
    async with explore(small_engine(tmp_path / "engine"), size=(80, 24)) as e:
        await e.press("2", "t", "slash", *"conv -layer1", "enter", "colon", *"stem/pool")
        await e.see(f"Layer {POOLING}: ")
        await e.press("enter")
        await e.see(f"rank 6/9 · layer {POOLING}")
        assert e.screen.current_layer == e.screen.pane.table.row == POOLING
        assert not e.screen.filter_text


async def test_page_keys_before_the_palette_has_lines_do_nothing():
    async with explore(SAMPLES / "alexnet", size=(80, 24)) as e:
        e.app.action_command_palette()
        await e.wait(lambda: e.app.screen.query("CommandList"))
        for key in ("page(1)", "page(-1)"):
            await e.app.screen.run_action(key)
        await e.press("z", "z", "z", "pagedown", "pageup", "escape")
        assert e.screen.pane.tab == "overview"
