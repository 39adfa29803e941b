"""Where a terminal knows ASCII only, nothing else is drawn: on any screen, in any chart, in any window."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_app_layers import branched_engine
from tour import charts, screens, touring, windows
from tui import SMALL, Session

from helpers import OLD_SAMPLES, some

SAMPLES = [
    pytest.param("alexnet", SMALL, id="alexnet-80x24"),
    pytest.param("names_only", SMALL, id="names_only-80x24"),
]
NAMES = 30
"""A walk shows at least so many screens."""


@pytest.fixture(autouse=True)
def _ascii(monkeypatch):
    monkeypatch.setenv("TREX_TUI_ASCII", "1")


def _foreign(text: str) -> set[str]:
    return {char for char in text if not char.isascii()}


async def _look_at_all(session: Session) -> None:
    seen = []
    for walk in (screens, charts, windows):
        async for name in walk(session):
            seen.append(name)
            assert _foreign(session.text) == set(), name
    assert len(set(seen)) == len(seen) >= NAMES


@pytest.mark.parametrize(("sample", "size"), some(SAMPLES))
async def test_all_of_a_sample_is_ascii(sample, size, monkeypatch):
    monkeypatch.chdir(OLD_SAMPLES.parent)
    async with touring(Path("sample_artifacts", sample), size) as session:
        await _look_at_all(session)


async def test_lanes_and_neighbours_are_drawn_in_ascii(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with touring(branched_engine(Path("net")), SMALL) as session:
        drawn = {}
        async for name in screens(session):
            drawn[name] = session.text
        assert re.search(r"[|+]-o [ iW0-9]*block/conv1/Conv", drawn["layers order"])
        assert "+--" in drawn["neighbourhood"]
        assert "v" in drawn["neighbourhood"]
        assert all(_foreign(text) == set() for text in drawn.values())
