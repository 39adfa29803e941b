"""Overview: facts, shares, findings and the hottest layers, at a glance."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from screens_kit import SAMPLES, explore
from trex_tui.widgets.facts import FactColumn
from trex_tui.widgets.table import FrameTable

QAT = SAMPLES / "resnet-a100/qat"


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.mark.parametrize("size", [(80, 24), (120, 35), (160, 45)])
async def test_what_dominates_is_on_the_first_screen(size: tuple[int, int]):
    async with explore(QAT, size=size) as e:
        await e.wait(lambda: "Floating-point i" in e.text and "compute" in e.text)
        text = e.text
        assert "0.8826 ms" in text
        assert "p99 0.8848" in text
        assert any(block in text for block in "▃▄▅")
        for word in ("Bound by", "By kind", "convolution", "64.86", "Hottest layers", "18.41"):
            assert word in text
        # Saving, first layer and count come before the title, which may be cut; a narrow column has no rule.
        finding = next(line for line in e.lines if "Floating-point i" in line).partition("Float")[0].split()
        assert finding == (["W", "0.4581"] if size[0] < 120 else ["W", "PREC002", "0.4581", "1", "+24"])
        assert re.search("latency .* █{5}", text)


async def test_enter_goes_to_the_finding_to_the_layers_of_a_bar_and_to_the_layer():
    async with explore(QAT) as e:
        await e.see("PREC002")
        await e.press("enter")
        assert e.screen.pane.tab == "layers"
        assert e.screen.current_layer == 1
        await e.press("minus", "tab")
        first = e.app.focused
        assert isinstance(first, FactColumn)
        assert first.chosen is not None
        await e.press("enter")
        assert e.screen.pane.tab == "lint"
        assert e.screen.pane.layer_of(e.screen.pane.table.row) == 1
        await e.press("1", "tab", "tab")
        await e.wait(lambda: e.app.focused is not first)
        await e.press("g", *"jjjj", "enter")
        assert e.screen.pane.tab == "latency"
        assert e.screen.filter_text in ("kind:convolution", "bound:launch", "kind:quantize")


async def test_shares_and_hottest_layers_follow_the_filter():
    async with explore(QAT) as e:
        await e.press("slash", *"kind:pooling", "enter")
        await e.see("2 of 37 layers")
        table = e.screen.pane.query_one(FrameTable)
        assert set(table.rows) <= {1, 2, 32}
        assert 2 in table.rows
        await e.wait(lambda: "quantize" not in "\n".join(e.lines[2:16]))


async def test_the_current_layer_is_in_the_list_though_it_is_not_hot():
    async with explore(SAMPLES / "resnet18") as e:
        await e.press("3", "G")
        layer = e.screen.current_layer
        await e.press("1")
        assert e.screen.pane.table.row == layer


async def test_options_at_their_default_unfold():
    async with explore(SAMPLES / "alexnet", size=(120, 160)) as e:
        await e.see("more: a")
        await e.press("a")
        await e.wait(lambda: "more: a" not in e.text)


@pytest.mark.parametrize("name", ["names-only", "build-log"])
async def test_without_a_profile_the_facts_have_the_whole_room(name: str):
    async with explore(SAMPLES / name) as e:
        await e.see("No layer times (needs --exportProfile).")
        await e.see("By kind")
        assert not e.screen.pane.query_one(FrameTable).display
        assert isinstance(e.app.focused, FactColumn)


async def test_numbers_are_explained_with_the_facts_after_them():
    async with explore(QAT) as e:
        await e.see("Statistics") if e.app.size.width > 140 else await e.see("PREC002")
        await e.press("i")
        await e.see("exactly 18.411214953271028")
        await e.see("profile: averageMs")
        await e.press("escape", "tab", "i")
        await e.see("Throughput")
