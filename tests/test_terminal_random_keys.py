"""Random keys, clicks and resizes in a real pseudo-terminal: the program is still there afterwards, and answers.

A seed chooses them, so that a failure can be repeated. A failure prints all of them; `TREX_TUI_REPLAY` takes fewer, to find
those that matter: a Python list of what to send, and of sizes.
"""

from __future__ import annotations

import ast
import base64
import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from helpers import REPOSITORY
from test_terminal import Terminal
from tui import small_engine

pytestmark = pytest.mark.terminal

Input = str | tuple[int, int]
"""A key or an event of the mouse as a terminal sends it, or a size of the terminal."""

INPUTS_PER_ENGINE = 2500
LONGEST_ANSWER_S = 60
"""How long the program may take for a burst of inputs on a machine under load."""

MARKER, QUESTION = "answered", "\x1b[24~"
ANSWER = b"\x1b]52;c;" + base64.b64encode(MARKER.encode())
PROGRAM = f"""
import sys
from textual import events
from trex_tui import cli
from trex_tui.app import TrexApp

forward = TrexApp.on_event

async def on_event(self, event):
    await forward(self, event)
    if isinstance(event, events.Key) and event.key == "f12":
        self.copy_to_clipboard("{MARKER}")

TrexApp.on_event = on_event
sys.exit(cli.main())
"""
"""The program, except that F12 is a question: it is answered, in the order of the input, by what is copied."""

ESCAPE, BACK = "\x1b[27u", "\x0f"  # As kitty sends Escape: no key that follows makes another one of it.
MOVES = [
    "\x1b[A",
    "\x1b[B",
    "\x1b[C",
    "\x1b[D",
    "\x1b[5~",
    "\x1b[6~",
    "\x1b[F",
    *"jkhlgG",
    "\x04",
    "\t",
    "\x1b[Z",
]
# Not those that quit, suspend, read again, or go to the start of a line, where a slash would begin a path of this machine.
LETTERS = [*"abcdefimnprstvwxyzACENSTWY0123456789:?!/[]-+<>=. ", "\x10", BACK]
CHOICES = ["\r", "\r", "\r\r\r", ESCAPE, ESCAPE, "\x7f"]
SIZES = [(80, 24), (160, 45), (120, 35), (50, 12), (20, 3), (10, 2), (5, 1), (1, 1), (200, 50), (80, 24)]


def random_inputs(chooser: random.Random) -> Iterator[Input]:
    width, height = 80, 24
    while True:
        kind = chooser.random()
        if kind < 0.012:
            width, height = chooser.choice(SIZES)
            yield width, height
        elif kind < 0.06:
            at = f"{chooser.randint(1, width)};{chooser.randint(1, height)}"
            yield chooser.choice([f"\x1b[<0;{at}M\x1b[<0;{at}m", f"\x1b[<65;{at}M", f"\x1b[<64;{at}M"])
        else:
            yield chooser.choice(chooser.choice([MOVES, MOVES, LETTERS, LETTERS, CHOICES]))


class Program:
    """The program in a terminal that nobody looks at."""

    def __init__(self, path: Path, log: Path) -> None:
        self.child = Terminal([str(path), "--log-file", str(log)], (80, 24), {}, PROGRAM).child
        self.output = b""

    def start(self) -> None:
        """Wait until it has read what it shows: while it reads, Escape quits."""
        self.child.expect(rb" quit[^s]", timeout=LONGEST_ANSWER_S)

    def play(self, inputs: list[Input]) -> bool:
        """Send a burst of inputs; whether the program answers behind them."""
        try:
            for step in inputs:
                if isinstance(step, str):
                    self.child.send(step)
                else:
                    self.child.setwinsize(step[1], step[0])
            self.child.send(QUESTION)
        except OSError:
            pass  # It has ended; what it left is read below.
        self.output = b""
        deadline = time.monotonic() + LONGEST_ANSWER_S
        while ANSWER not in self.output and time.monotonic() < deadline:
            try:
                self.output = self.output[-4096:] + self.child.read_nonblocking(1 << 20, timeout=0.5)
            except pexpect.TIMEOUT:
                continue
            except (pexpect.EOF, OSError):
                return False
        return ANSWER in self.output


def sample(folder: Path) -> Path:
    return Path(shutil.copytree(REPOSITORY / "sample_artifacts" / "alexnet", folder / "alexnet"))


def several(folder: Path) -> Path:
    """Two sets, one of them of names alone: the list of engines is where it starts."""
    small_engine(folder / "sets" / "tiny")
    shutil.copytree(REPOSITORY / "sample_artifacts" / "names_only", folder / "sets" / "names_only")
    return folder / "sets"


@pytest.mark.parametrize(("make", "seed"), [(sample, 1), (several, 2)], ids=["sample", "names only"])
def test_random_keys_do_not_end_the_program(make, seed, tmp_path, monkeypatch):
    path = make(tmp_path)
    monkeypatch.chdir(tmp_path)  # What is exported stays here.
    chooser = random.Random(seed)
    source = random_inputs(chooser)
    replayed = ast.literal_eval(os.environ.get("TREX_TUI_REPLAY", "None"))
    log = tmp_path / "log"
    program = Program(path, log)
    sent: list[Input] = []
    try:
        program.start()
        while len(sent) < INPUTS_PER_ENGINE:
            burst = replayed or [next(source) for _ in range(chooser.randint(1, 50))]
            sent += burst
            if not program.play(burst):
                program.child.close(force=True)
                left = log.read_text(encoding="utf-8") if log.exists() else ""
                end = f"exit code {program.child.exitstatus}, signal {program.child.signalstatus}"
                pytest.fail(f"no answer, {end}; seed {seed}, inputs:\n{sent}\n{left}", pytrace=False)
            if replayed:
                break
    finally:
        program.child.close(force=True)
