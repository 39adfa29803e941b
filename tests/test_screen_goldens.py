"""The main part of twelve panes at two sizes, as text. UPDATE_GOLDENS=1 writes them again.

Details, status lines and footers are left out: they are sentences, which other tests look at where they matter.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import golden
from screens_kit import SAMPLES, explore
from trex_tui.screens.engine import EngineScreen

ALEXNET, QAT, LOG = SAMPLES / "alexnet", SAMPLES / "resnet-a100/qat", SAMPLES / "build-log"
PAIR = (SAMPLES / "resnet-a100/fp16", QAT)
PANES: dict[str, tuple[tuple[Path, ...], list[str], str]] = {
    "overview": ((ALEXNET,), [], "Hottest layers"),
    "layers by module": ((QAT,), ["2"], "By module"),
    "layers in order with lanes": ((QAT,), ["2", "T", *"order", "enter"], "order"),
    "neighbours": ((QAT,), ["2", "v"], "╔══"),
    "latency": ((QAT,), ["3"], "Layer"),
    "histogram of latency": ((ALEXNET,), ["4"], "p99"),
    "time by kind": ((QAT,), ["4", "n", "n", "n"], "convolution"),
    "memory": ((QAT,), ["5"], "peak"),
    "findings": ((QAT,), ["6"], "PREC002"),
    "build": ((LOG,), ["7"], "Phases"),
    "comparison": (PAIR, [], "Conv_0 + Relu_1"),
    "engines": ((SAMPLES,), [], "resnet18"),
}

_PARTS = {"neighbours": "#neighbours", "histogram of latency": "#chart", "time by kind": "#chart"}

_BEFORE_TEXT = 30
"""Cells of a finding before what it says."""


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("size", [(80, 24), (120, 35)], ids=lambda size: "x".join(map(str, size)))
@pytest.mark.parametrize("name", PANES)
async def test_pane(name: str, size: tuple[int, int]):
    paths, keys, text = PANES[name]
    async with explore(*paths, size=size) as e:
        await e.press(*keys)
        await e.see(text)
        e.app.clear_notifications()
        screen = e.app.screen
        await e.wait(lambda: "reading" not in e.lines[0] and "Checking rules" not in e.text)
        await e.press()
        pane = screen.pane if isinstance(screen, EngineScreen) else screen
        main = pane if name == "overview" else pane.query_one(_PARTS.get(name, "#main"))
        x, y, width, height = main.region
        lines = [line[x : x + width].rstrip() for line in e.lines[y : y + height]]
    if name == "findings":
        lines = [line[:_BEFORE_TEXT].rstrip() for line in lines]
    shown = "\n".join(lines).rstrip() + "\n"
    assert shown == golden(f"panes/{name.replace(' ', '-')}-{size[0]}x{size[1]}.txt", shown)
