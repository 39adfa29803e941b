"""The script that checks dependencies, without a network: its pins, and that it leaves the index to pip."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import check_dependencies as script

packaging = pytest.importorskip("packaging.requirements")


def test_every_requirement_has_a_lower_bound() -> None:
    pins = script.lower_bounds()
    assert 'textual==8.2.5; python_version >= "3.10"' in pins
    assert "mcp==2" in pins
    assert len(pins) >= 14
    for pin in pins:
        packaging.Requirement(pin)


@pytest.mark.parametrize("check", ["wheels", "audit", "lowest", "newest"])
@pytest.mark.parametrize("is_failing", [False, True])
def test_the_exit_code_is_that_of_the_tool(
    check: str, is_failing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each check runs pip or pip-audit; the last of them fails."""
    calls: list[list[str]] = []
    last = {"wheels": "3.14", "audit": "-r", "lowest": "pytest", "newest": "pytest"}[check]

    def run(words: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        calls.append(words)
        if "--wheel-dir" in words:
            (Path(words[words.index("--wheel-dir") + 1]) / "trex_tui-0-py3-none-any.whl").touch()
        return subprocess.CompletedProcess(words, 3 if is_failing and last in words else 0)

    monkeypatch.setattr(script.subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["check_dependencies.py", check, "--python", "py"])
    assert script.main() == (3 if is_failing else 0)
    assert last in calls[-1]
