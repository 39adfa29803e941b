"""Compare of the explorer: two engines side by side, several in a row, the list, and how to get there."""

from __future__ import annotations

from pathlib import Path

import pytest

from screens_kit import SAMPLES, Explorer, explore
from trex_tui.compare.comparison import compare
from trex_tui.screens.block_rows import ORDER, SIZE, Blocks, label_engines
from trex_tui.screens.compare import ComparePane
from trex_tui.widgets.side_by_side import BlockTable

A100 = SAMPLES / "resnet-a100"
PAIR = (A100 / "fp16", A100 / "qat")
LARGEST = "Conv_0 + Relu_1"


def pane_of(explorer: Explorer) -> ComparePane:
    pane = explorer.screen.pane
    assert isinstance(pane, ComparePane)
    return pane


def table_of(explorer: Explorer) -> BlockTable:
    return pane_of(explorer).query_one(BlockTable)


def cursor_line(explorer: Explorer) -> str:
    return next((line for line in explorer.lines if line.startswith("▌")), "")


async def ready(explorer: Explorer, text: str = "95 % interval") -> None:
    await explorer.see(text)
    await explorer.wait(lambda: any(line.startswith("▌") for line in explorer.lines))


async def test_two_engines_stand_side_by_side_and_open_on_the_largest_difference() -> None:
    async with explore(*PAIR, size=(160, 45)) as e:
        await ready(e)
        assert "A fp16 0.8622 ms · B qat 0.8826 ms slower +0.0204 ms (+2.36 %), 95 % interval" in e.lines[2]
        assert "Δ +0.0788 ms = +0.2324 Q/DQ  −0.1137 precision  −0.0420 reformats" in e.lines[3]
        line = cursor_line(e)
        assert line.index(LARGEST) < line.index("─≠─ ▲ +0.0901") < line.index("conv1/Conv_9")
        assert line.count("█") > 15, "bars on both sides"
        assert "──› ▲ +0.0614 0.0614" in e.text, "only in B, beside a gap"
        assert e.screen.current_layer == 1
        assert any(
            line.startswith(" A 1 · trt_turing_cutlass") and "FP16 NHWC4 → FP16 NHWC8" in line
            for line in e.lines
        )
        assert any(line.startswith(" B 1 · ampere_fp32") and "conv1.weight" in line for line in e.lines)


async def test_layers_without_time_are_folded_and_unfold() -> None:
    async with explore(*PAIR, size=(160, 45)) as e:
        await ready(e)
        assert "input 0 of Conv_5" not in e.text
        await e.press("G", "k")
        assert "▸ 11 no-ops only in A" in cursor_line(e)
        await e.press("enter", "j")
        assert "input 0 of Conv_5" in cursor_line(e)


async def test_a_narrow_terminal_has_the_list_by_difference_and_the_key_switches() -> None:
    async with explore(*PAIR, size=(80, 24)) as e:
        await ready(e)
        assert "B qat slower +0.0204 ms (+2.36 %), 95 % interval +0.0195 to +0.0214 ms" in e.lines[2]
        first, second = e.lines[5:7]
        assert LARGEST in first
        assert "▲ +0.0901" in first
        assert "▼ −0.0809" in second
        assert "side by side" in e.lines[-1]
        await e.press("L")
        assert "─≠─" in cursor_line(e)
        assert LARGEST in cursor_line(e)
        await e.pilot.resize_terminal(160, 45)
        await e.press("L")
        assert "|Δ| ms" in e.text


async def test_the_view_follows_the_width_until_the_key_is_pressed() -> None:
    async with explore(*PAIR, size=(119, 35)) as e:
        await ready(e)
        assert "─≠─" not in e.text
        await e.pilot.resize_terminal(120, 35)
        await e.see("─≠─")


async def test_the_cursor_follows_the_current_layer_only_after_it_changed() -> None:
    async with explore(*PAIR, size=(120, 35)) as e:
        await ready(e)
        await e.press("3", "G")
        slowest = e.screen.current_layer
        await e.press("8")
        assert table_of(e).row == pane_of(e).blocks.block_of[0][slowest]
    async with explore(A100 / "fp16", size=(120, 35)) as e:
        await e.press("3", "G", "8")
        await e.see("Near this engine")
        await e.press("l", "enter")
        await e.see("95 % interval")
        await e.wait(lambda: pane_of(e).blocks is not None and table_of(e).row is not None)
        deltas = pane_of(e).blocks.deltas[1]
        best = max(abs(delta) for delta in deltas if delta is not None)
        assert abs(deltas[table_of(e).row]) == best, "not the layer chosen before"
        assert e.screen.current_layer != 1


async def test_causes_unfold_add_up_and_lead_to_their_blocks() -> None:
    async with explore(*PAIR, size=(120, 35)) as e:
        await ready(e)
        assert "Unchanged layers" not in e.text
        await e.press("v")
        rows = {line.split()[0]: line for line in e.lines if line[1:2].isalpha() or "Σ" in line}
        deltas = [
            float(rows[name].split()[1].replace("−", "-"))
            for name in ("Q/DQ", "precision", "reformats", "kernel")
        ]
        assert sum(deltas) == pytest.approx(float(rows["Σ"].split()[1]), abs=2e-4)
        await e.press("tab", "l", "enter")
        await e.wait(lambda: "QuantizeLinear_2" in cursor_line(e))
        assert e.screen.focused is table_of(e)
        await e.press("v")
        assert "Unchanged layers" not in e.text


async def test_changes_alone_and_from_change_to_change() -> None:
    async with explore(SAMPLES / "damaged", SAMPLES / "alexnet", size=(120, 35)) as e:
        await ready(e, "significance unknown")
        assert "no time in one engine" in e.lines[3]
        whole = len(table_of(e).rows)
        await e.press("g", "n")
        assert "features/8/Conv" in cursor_line(e), "the first block without a known time"
        await e.press("d")
        assert len(table_of(e).rows) < whole
        assert "of 14 blocks" in e.lines[3]
        await e.press("d", "n", "N")
        assert "features/8/Conv" in cursor_line(e)


async def test_swap_exchanges_the_engines_and_keeps_the_block() -> None:
    async with explore(*PAIR, size=(160, 45)) as e:
        await ready(e)
        await e.press("x")
        await e.see("A qat 0.8826 ms · B fp16 0.8622 ms faster −0.0204 ms")
        line = cursor_line(e)
        assert line.index("conv1/Conv_9") < line.index("▼ −0.0901") < line.index(LARGEST)
        await e.press("enter")
        await e.wait(lambda: e.screen.pane.tab == "layers")
        assert e.screen.current_layer == 1


async def test_enter_opens_layers_and_those_of_the_other_engine_on_a_screen_of_their_own() -> None:
    async with explore(*PAIR, size=(160, 45)) as e:
        await ready(e)
        await e.press("enter")
        await e.wait(lambda: e.screen.pane.tab == "layers")
        await e.press("minus")
        await e.wait(lambda: e.screen.pane.tab == "compare")
        assert LARGEST in cursor_line(e)
        await e.press("g", "enter")
        await e.wait(lambda: e.screen.engine.name == "resnet-qat" and e.screen.pane.tab == "layers")
        assert e.screen.current_layer == 0
        await e.press("q")
        await e.wait(lambda: e.screen.engine.name == "resnet")


async def test_several_engines_are_labelled_by_what_differs_and_share_rows() -> None:
    async with explore(A100, size=(160, 45)) as e:
        await e.see("resnet-qat-residual")
        await e.press("space", "space", "space", "equals_sign")
        await ready(e, "C qat-residual 0.5458 ms faster −36.70 %")
        assert "A fp16 0.8622 ms · B qat 0.8826 ms slower +2.36 %" in e.lines[2]
        assert "2:2:1" in cursor_line(e)
        assert "▼ −0.1014" in cursor_line(e)
        await e.press("enter")
        assert "├╴A 1 Conv_0 + Relu_1" in e.text
        assert "└╴C 1 " in e.text
        await e.press("L")
        assert "B qat" in e.lines[4]
        assert "▾ Conv_0" in cursor_line(e)
        await e.press("L")
        assert "C qat-residual" in e.lines[4]
        assert "95 % interval −0.3169 to −0.3154 ms" in e.lines[2]
        await e.press("L")
        assert "max |Δ| first" in e.lines[4]
        await e.press("x")
        await e.see("Baseline")


async def test_different_networks_are_the_headline() -> None:
    async with explore(SAMPLES / "alexnet", SAMPLES / "resnet18", size=(120, 35)) as e:
        await ready(e, "Different networks: 0 of 40 blocks match")
        assert "A alexnet 0.4956 ms · B resnet18 0.2769 ms faster −44.14 %" in e.lines[2]


async def test_a_filter_leaves_blocks_of_any_engine() -> None:
    async with explore(*PAIR, size=(160, 45)) as e:
        await ready(e)
        await e.press("slash", *"kind:quantize", "enter")
        await e.see("10 of 50 blocks")
        assert "A – of 1.0168 · B 0.2324 of 1.0957" in e.lines[3]
        await e.press("escape")
        await e.wait(lambda: LARGEST in e.text)


async def test_without_a_comparison_the_tab_says_how_and_compares() -> None:
    async with explore(SAMPLES / "alexnet", size=(120, 35)) as e:
        await e.press("8")
        await e.see("resnet18_fp16")
        assert "c chooses an engine" in e.text
        assert "Space marks" in e.text
        assert "swap" not in e.lines[-1]
        assert "c compare" in e.lines[-1]
        await e.press("c")
        await e.see("another path")
        await e.press(*"resnet18", "enter")
        await ready(e, "Different networks")
        await e.press("A")
        await e.see("another path")
        await e.press(*"resnet-qat-res", "enter")
        await e.see("Different networks: B 0 of ")
        assert len(e.screen.others) == 2


async def test_copies_exports_and_explains_what_it_shows(tmp_path: Path) -> None:
    async with explore(*PAIR, size=(160, 45)) as e:
        await ready(e)
        await e.press("Y")
        assert [row["name"] for row in pane_of(e).copied()] == [LARGEST]
        assert pane_of(e).copied()[0]["b_delta_ms"] == pytest.approx(0.0901, abs=1e-4)
        await e.press("e", *["backspace"] * 60, *str(tmp_path / "out.csv"), "enter")
        await e.wait((tmp_path / "out.csv").exists)
        assert "QuantizeLinear_2" in (tmp_path / "out.csv").read_text()
        await e.press("i")
        await e.see("Time in B less that in A")


async def test_a_row_of_blocks_without_layer_information_or_profile() -> None:
    async with explore(SAMPLES / "names-only", SAMPLES / "alexnet", size=(120, 35)) as e:
        await ready(e, "significance unknown")
        assert "A no profile · B 0.5242" in e.lines[3]
        await e.press(*"LvdnNxs")


def test_order_and_labels(load) -> None:
    blocks = Blocks(compare([load(path) for path in PAIR]))
    order = blocks.arrange(range(len(blocks)), (1,), SIZE)
    sizes = [abs(blocks.deltas[1][block]) for block in order]
    assert sizes == sorted(sizes, reverse=True)
    assert blocks.arrange(order, (1,), ORDER) == sorted(order)
    assert label_engines(blocks.comparison) == ["fp16", "qat"]
    rows = blocks.rows(order, 1, SIZE)
    shown = [row for row in rows.blocks if isinstance(row, int)]
    assert sorted(shown) == list(range(len(blocks))), "each block has one row, folded or not"


@pytest.fixture
def load():
    from trex_tui.api import load_engine

    return load_engine
