"""`i`: exact value, meaning, formula, source, file and aliases of the numbers on screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from screens_kit import SAMPLES, explore
from trex_tui.artifacts.kinds import FileKind
from trex_tui.column import Column
from trex_tui.screens.explain import Shown, explain_numbers, explain_words


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


async def test_the_numbers_of_a_row_are_explained_and_the_first_is_copied():
    async with explore(SAMPLES / "resnet-a100/qat") as e:
        await e.press("3", "i")
        text = await e.see("exactly 18.411214953271028")
        for word in ("latency_pct", "100 · latency_ms / Σ latency_ms", "averageMs"):
            assert word in text
        await e.press("y")
        assert e.app.clipboard == "18.411214953271028"
        await e.press("escape")
        assert e.screen.pane.tab == "latency"


@pytest.mark.parametrize("keys", ["1", "2", "4", "5", "6", "6t", "7"])
async def test_every_tab_explains_its_numbers(keys: str):
    async with explore(SAMPLES / "build-log") as e:
        await e.press(*keys)
        await e.wait(lambda: e.screen.lint)
        await e.wait(lambda: e.screen.pane.explained() is not None)
        await e.press("i")
        await e.see("Numbers")
        await e.press("escape")


def _text(*numbers: Shown, files: dict[FileKind, Path] | None = None) -> str:
    return "\n".join(line.content.plain for line in explain_numbers(numbers, files or {}))


def test_a_number_that_is_rounded_has_all_its_digits():
    column = Column("time_ms", "ms", "Time.", "a + b", "profile: averageMs", ("t",))
    text = _text(Shown(column, 0.123456789), files={FileKind.PROFILE: Path("a/profile.json")})
    assert "0.1235 ms  exactly 0.123456789" in text
    for line in (
        "Time.",
        "also     time_ms, t",
        "formula  a + b",
        "source   profile: averageMs",
        "file     a/profile.json",
    ):
        assert line in text
    assert "exactly" not in _text(Shown(column, 0.25)) or "exactly 0.25" in _text(Shown(column, 0.25))


def test_a_missing_number_and_no_number():
    assert "–" in _text(Shown(Column("time_ms", "ms", "Time."), None))
    assert _text() == "No numbers here."


def test_a_name_is_explained_by_its_signs():
    text = _text(Shown(Column("name", "Layer", "Name."), "conv1 + relu1"))
    assert "here     2 nodes in one kernel (+)." in text
    assert any("FP16 vectors" in line.content.plain for line in explain_words("NHWC8"))
