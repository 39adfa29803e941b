"""A capture in a real pseudo-terminal: what it shows meanwhile, Ctrl-C, and the offer to open what it made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fake_trtexec import install
from fake_trtexec.kit import COMPLETE, is_running, wait_for
from test_terminal import Terminal, start
from test_terminal_services import ALTERNATE_SCREEN

__all__ = ["start"]

pytestmark = pytest.mark.terminal

HIDDEN, SHOWN = b"\x1b[?25l", b"\x1b[?25h"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a model; a trtexec is found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRTEXEC", str(install(tmp_path / "t", "10.4.0")))
    Path("net.onnx").write_bytes(b"a model")
    return tmp_path


def is_as_before(terminal: Terminal) -> bool:
    """Attributes, cursor, screen."""
    written = terminal.written
    return (
        terminal.after == terminal.before
        and written.rfind(SHOWN) >= written.rfind(HIDDEN)
        and written.count(ALTERNATE_SCREEN) == written.count(ALTERNATE_SCREEN.replace(b"h", b"l"))
    )


def names(directory: Path) -> list[str]:
    return sorted(one.name for one in directory.iterdir())


@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 10)])
def test_live_view_and_ctrl_c(start, here, tmp_path, width, height):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    terminal = start(
        *("capture", "--onnx", "net.onnx"),
        size=(width, height),
        FAKE_TRTEXEC_FAIL="hang@build",
        FAKE_TRTEXEC_FIFO=str(fifo),
    )
    pid = wait_for(fifo)
    terminal.shows("[1/2] build  0:0")
    terminal.shows("timing tactics")
    terminal.shows("tactics timed")
    (number,) = (at for at, line in enumerate(terminal.lines) if line.startswith("[1/2] build"))
    first, layer, counted = terminal.lines[number : number + 3]
    assert first.endswith("timing tactics")
    assert layer.startswith("  ")
    assert layer.strip()
    assert counted.split()[1:3] == ["tactics", "timed"]
    assert int(counted.split()[0]) > 0
    if width == 80:
        assert "host" in counted
        assert "GPU" in counted
    terminal.send("\x03")
    assert terminal.finish() == 130
    assert is_as_before(terminal)
    assert HIDDEN in terminal.written, "the live view hides the cursor"
    said = " ".join(terminal.text.split())
    assert "interrupted; the logs are in" in said
    assert "[1/2] build 0:" not in said, "the live lines have gone"
    assert "Traceback" not in said
    assert not is_running(pid)
    failed = here / "results/net/net.failed"
    assert names(failed) == ["net.capture.json", "net.engine.build.log"]
    assert "Timing Runner" in (failed / "net.engine.build.log").read_text(errors="replace")


@pytest.mark.parametrize("answer", ["\r", "\x03"])
def test_offer_to_open(start, here, answer):
    terminal = start("capture", "--onnx", "net.onnx")
    terminal.shows("explore it now? [Y/n]")
    assert ALTERNATE_SCREEN not in terminal.written
    terminal.send(answer)
    if answer == "\r":
        terminal.shows("q quit")
        assert ALTERNATE_SCREEN in terminal.written
        terminal.send("q")
    code = terminal.finish()
    assert "Traceback" not in terminal.text
    assert code == 0, "the set is there: Ctrl-C only says no"
    assert is_as_before(terminal)
    assert (ALTERNATE_SCREEN in terminal.written) is (answer == "\r")
    assert names(here / "results/net") == COMPLETE
