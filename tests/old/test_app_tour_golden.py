"""Every screen and chart of a sample and of two real sets, as text: one file for each set and size.

UPDATE_GOLDENS=1 writes them anew; look at them as pictures before believing them. A further tab changes the second line of
each screen, and nothing else.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tour import charts, screens, touring
from tui import GOLDENS, LARGE, SMALL, pane_text

from helpers import ARTIFACTS, REPOSITORY, covering
from watching import watching

_ABSENT = pytest.mark.skipif(not ARTIFACTS.is_dir(), reason=f"no real artifacts at {ARTIFACTS}")
SETS = {
    "transformer_fp8": (REPOSITORY / "tests/old", "sample_artifacts/transformer_fp8"),
    "real_alexnet": (ARTIFACTS, "edge-vision/results/alexnet"),
    "real_bev": (ARTIFACTS, "bev-multitask-blackwell"),
}
CASES = [
    pytest.param(name, size, id=f"{name}-{size[0]}x{size[1]}", marks=[_ABSENT] if "real" in name else [])
    for name, size in covering(list(SETS), [SMALL, LARGE])
]


def check_privacy(noted: dict[str, list[str]]) -> None:
    """All that there is to see was shown: without a connection, a process, or a file but the program's own."""
    assert noted["network"] == noted["processes"] == []
    home = Path(os.environ["XDG_STATE_HOME"]).parent
    written = [Path(one) for one in noted["written"]]
    assert written  # the list of recent engines
    # Directories on the way to the home are made with it.
    assert [one for one in written if not (one.is_relative_to(home) or home.is_relative_to(one))] == []


@pytest.mark.parametrize(("name", "size"), CASES)
async def test_every_screen(name, size, monkeypatch):
    root, folder = SETS[name]
    # Paths on screen are relative: a golden must not hold the name of a directory of one machine.
    monkeypatch.chdir(root)
    pages = []
    with watching() as noted:
        async with touring(Path(folder), size) as session:
            for walk in (screens, charts):
                pages += [f"{page:=^{size[0]}}\n{pane_text(session.text)}\n" async for page in walk(session)]
    check_privacy(noted)
    width, height = size
    path = GOLDENS / f"tour_{name}_{width}x{height}.txt"
    shown = "".join(pages)
    assert str(Path(root).resolve().parent) not in shown
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(shown, encoding="utf-8")
    assert path.is_file(), f"no golden {path.name}; UPDATE_GOLDENS=1 writes it"
    assert shown.splitlines() == path.read_text(encoding="utf-8").splitlines()
