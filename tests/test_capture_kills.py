"""A capture is killed at one moment after the other: the set that was there is whole, and nothing runs on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fake_trtexec.kit import COMPLETE, Bench, wait_for_end
from helpers import some
from remote_kit import descendants
from trex_tui.cli.main import main

MOMENTS = range(1, 13)
"""Lines on stderr: from the first, about trtexec, to the last, about the set."""


@pytest.fixture
def here(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.chdir(bench.place)
    monkeypatch.setenv("TRTEXEC", str(bench.programs("10.4.0").path))
    return bench


def kill_after(lines: int, number: signal.Signals, *arguments: str) -> None:
    """Start a capture, and kill it when it has said so many lines."""
    process = subprocess.Popen(
        [sys.executable, "-m", "trex_tui", "capture", "--onnx", "net.onnx", *arguments],
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
@pytest.mark.parametrize("lines", some(list(MOMENTS)))
def test_a_new_set(here: Bench, lines: int, number: signal.Signals) -> None:
    kill_after(lines, number)
    check_whole(here.outdir)
    assert main(["capture", "--onnx", "net.onnx", "--force"]) == 0
    check_whole(here.outdir)
    assert not list(here.outdir.parent.glob(".*")), "what the killed one left is gone"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("lines", some(list(MOMENTS)))
def test_a_set_that_is_replaced(here: Bench, lines: int, number: signal.Signals) -> None:
    """The old one is there until the new one is."""
    assert main(["capture", "--onnx", "net.onnx"]) == 0
    kill_after(lines, number, "--force")
    check_whole(here.outdir)
    assert here.outdir.exists()


@pytest.mark.parametrize("lines", some(list(MOMENTS)))
def test_an_engine_that_is_measured_again(here: Bench, lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is never lost."""
    monkeypatch.setenv("FAKE_TRTEXEC_FAIL", "crash@profile")
    assert main(["capture", "--onnx", "net.onnx"]) == 3
    monkeypatch.delenv("FAKE_TRTEXEC_FAIL")
    engine = (here.outdir / "net.failed/net.engine").read_bytes()
    process = [
        "capture",
        "--engine",
        "results/net/net.failed/net.engine",
        "--outdir",
        "results/net",
        "--force",
    ]
    command = [sys.executable, "-m", "trex_tui", *process]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert running.stderr is not None
    for _ in range(lines):
        if not running.stderr.readline():
            break
    running.kill()
    running.communicate(timeout=150)
    found = [path for path in here.place.rglob("*.engine") if path.read_bytes() == engine]
    assert found, os.listdir(here.outdir)
