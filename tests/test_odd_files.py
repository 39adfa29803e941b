"""Special files: irregular, endless, changing or forbidden ones; directories where nothing can be written."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from helpers import (
    GRAPH,
    write_files,
    write_sample_set,
)
from trex_tui.__main__ import main


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/random", "/dev/full"])
@pytest.mark.parametrize(
    "command",
    [["build-log"], ["summary"], ["lint", "{set}", "--config"]],
    ids=lambda one: one[0],
)
def test_devices_are_refused(
    command: list[str], device: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(write_files(tmp_path, {"a.graph.json": GRAPH}))
    assert main([*(word.format(set=place) for word in command), device]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert device in err


@pytest.mark.parametrize("command", [["build-log"], ["lint", "{set}", "--config"]], ids=lambda one: one[0])
def test_a_pipe_that_nobody_writes_to_is_empty(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = write_files(tmp_path, {"a.graph.json": GRAPH})
    os.mkfifo(tmp_path / "pipe")
    code = main([*(word.format(set=place) for word in command), str(tmp_path / "pipe")])
    assert code == (0 if command[0] == "lint" else 2)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("command", ["build-log", "summary", "lint {set} --config"])
def test_a_path_that_is_none(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = write_files(tmp_path, {"a.graph.json": GRAPH})
    for path in ("a\0b", "x" * 5000, "\ud800"):
        assert main([*(word.format(set=place) for word in command.split()), path]) == 2, path
        assert capsys.readouterr().err.startswith("trex-tui: error: ")


def test_a_configuration_has_an_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(tmp_path, {"a.graph.json": GRAPH})
    with (tmp_path / "big.toml").open("wb") as file:
        file.truncate(17 << 20)
    assert main(["lint", str(tmp_path), "--config", str(tmp_path / "big.toml")]) == 2
    assert (
        "big.toml: cannot be read: File too large; use a smaller file, or raise `ulimit -f`"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "command", ["--version", "summary {set}", "summary --json {set}", "layers {set} --format csv"]
)
def test_a_full_disk_behind_stdout(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = write_sample_set(tmp_path)
    with open("/dev/full", "w") as full:  # noqa: PTH123 - no path, a device
        monkeypatch.setattr(sys, "stdout", full)
        assert main([word.format(set=place) for word in command.split()]) == 2
    assert capsys.readouterr().err.endswith(
        "trex-tui: error: cannot write the result: No space left on device\n"
    )
