"""Memory: live activations as a strip, the layers by their bytes, live tensors."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import ARTIFACTS
from screens_kit import SAMPLES, explore
from trex_tui.widgets.strip import LayerStrip, draw_sparkline

QAT = SAMPLES / "resnet-a100/qat"
BEV = ARTIFACTS / "bev-multitask-blackwell"


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.mark.parametrize(("size", "rows"), [((80, 24), 3), ((120, 35), 6)])
async def test_the_strip_marks_the_peak_and_the_current_layer(size: tuple[int, int], rows: int):
    async with explore(QAT, size=size) as e:
        await e.press("5")
        await e.see("▲ peak 122 MiB live at layer 2")
        await e.see("● layer 1: 104 MiB")
        assert sum("█" in line for line in e.lines[3 : 3 + rows]) >= rows - 1
        axis = e.lines[3 + rows]
        assert axis.strip().startswith("0")
        assert axis.endswith("36")
        assert "●" in axis
        assert "▲" in axis
        await e.press("p")
        assert e.screen.current_layer == 2
        assert "▲" not in e.lines[3 + rows]  # the current layer covers it


async def test_layers_are_sorted_by_their_bytes_and_details_have_the_live_tensors():
    async with explore(QAT, size=(160, 45)) as e:
        await e.press("5")
        await e.see("Live at layer 1: 2 tensors")
        table = e.screen.pane.table
        assert table.rows[:3] == [2, 1, 3]
        assert "▼ Allocated" in e.text
        assert "32×64×112×112 FP32 NCHW" in e.text
        assert "Live at peak, layer 2: 2 tensors" in e.text
        await e.press("s", *"weights", "enter")
        sizes = e.screen.engine.layers["weights_bytes"][table.rows[:5]].tolist()
        assert sizes == sorted(sizes, reverse=True)
        await e.press("r")
        assert table.rows[-1] != 2
        assert "▲ Weights" in e.text


async def test_a_click_on_the_strip_goes_to_the_layer():
    async with explore(QAT) as e:
        await e.press("5")
        await e.see("▲ peak")
        await e.pilot.click(LayerStrip, offset=(118, 4))
        assert e.screen.current_layer == 36


async def test_layers_of_unknown_weights_are_sorted_by_their_activations():
    if not BEV.is_dir():
        pytest.skip("no real artifacts here")
    async with explore(BEV) as e:
        await e.press("5")
        await e.see("▼ Activations")
        first = next(line for line in e.lines if "value_proj" in line)
        assert "280 MiB" in first
        assert e.lines.index(first) == 11


async def test_names_alone_are_a_sentence():
    async with explore(SAMPLES / "names-only") as e:
        await e.press("5")
        await e.see("Memory by layer unknown: names only (needs --profilingVerbosity=detailed).")
        assert "peak" not in e.lines[-1]


async def test_unknown_sizes_are_not_zero():
    async with explore(SAMPLES / "build-log") as e:
        await e.press("5")
        await e.see("No sizes of tensors: live activations unknown.")
        await e.see("unknown")
        assert "≥ 0 B" not in e.text


def test_a_sparkline_reaches_from_the_lowest_to_the_highest_block():
    assert draw_sparkline([1.0, 1.5, 2.0], 1.0, 2.0) == "▁▅█"
    assert draw_sparkline([1.0, 1.0], 1.0, 1.0) == "▁▁"
