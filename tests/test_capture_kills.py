"""A capture is killed at one moment after the other: the set that was there is whole, and nothing runs on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fake_trtexec.kit import COMPLETE, Bench, wait_for_end
from helpers import some
from remote_kit import descendants
from trex_tui.cli.main import main

MOMENTS = (12, 7, 10, 3, 11, 9, 1, 8, 2, 4, 5, 6)
"""Lines on stderr: 1 names trtexec, up to 7 it builds, up to 12 it measures."""


def kill_after(lines: int, number: signal.Signals, *arguments: str) -> None:
    """Start a capture, and kill it when it has said so many lines."""
    process = subprocess.Popen(
        [sys.executable, "-m", "trex_tui", "capture", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    for _ in range(lines):
        if not process.stderr.readline():
            break
    children = descendants(process.pid)
    process.send_signal(number)
    process.communicate(timeout=150)
    for pid in children:
        wait_for_end(pid)


def check_whole(directory: Path) -> None:
    """The set is complete and its files are those of its manifest, if there is any of it."""
    names = sorted(path.name for path in directory.iterdir() if path.is_file()) if directory.exists() else []
    if not names:
        return
    assert names == COMPLETE
    manifest = json.loads((directory / "net.capture.json").read_text(encoding="utf-8"))
    assert manifest["status"] == "complete"
    for name, entry in manifest["files"].items():
        assert (directory / name).stat().st_size == entry["bytes"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("lines", some(MOMENTS, 3))
def test_a_new_set(here: Bench, lines: int, number: signal.Signals) -> None:
    kill_after(lines, number, "--onnx", "net.onnx")
    check_whole(here.outdir)
    assert main(["capture", "--onnx", "net.onnx", "--force"]) == 0
    check_whole(here.outdir)
    assert not list(here.outdir.parent.glob(".*")), "what the killed one left is gone"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("lines", some(MOMENTS, 3))
def test_a_set_that_is_replaced(here: Bench, lines: int, number: signal.Signals) -> None:
    """The old one is there until the new one is."""
    assert main(["capture", "--onnx", "net.onnx"]) == 0
    kill_after(lines, number, "--onnx", "net.onnx", "--force")
    check_whole(here.outdir)
    assert here.outdir.exists()
