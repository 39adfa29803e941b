"""Random keys, clicks, pastes and resizes in a real pseudo-terminal: the program is still there afterwards, and answers.

A seed chooses them, so that a failure can be repeated. A failure prints all of them; `TREX_TUI_REPLAY` takes fewer, to find
those that matter: a Python list of what to send, and of sizes. `TREX_TUI_RANDOM_KEYS` is how many there are for each engine,
`TREX_TUI_RANDOM_SEED` chooses others.
"""

from __future__ import annotations

import ast
import base64
import os
import random
import select
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import ARTIFACTS, OLD_SAMPLES, REPOSITORY
from patience import LOOK_S, Patience
from small_engines import small_engine
from terminal_kit import Terminal

# Every wait below ends by itself, with the inputs in the message. Only this limit ends without.
pytestmark = [pytest.mark.terminal, pytest.mark.timeout(3600)]

Input = str | tuple[int, int]
"""A key or an event of the mouse as a terminal sends it, or a size of the terminal."""

INPUTS_PER_ENGINE = int(os.environ.get("TREX_TUI_RANDOM_KEYS", "100"))
FURTHER_SEED = os.environ.get("TREX_TUI_RANDOM_SEED", "")

MARKER, QUESTION = "answered", "\x1b[24~"
ANSWER = b"\x1b]52;c;" + base64.b64encode(MARKER.encode())
PROGRAM = f"""
import faulthandler, os, signal, sys
import trex_tui.app
from textual.binding import Binding
from trex_tui.cli.main import main

class Probe(trex_tui.app.TrexApp):
    BINDINGS = [Binding("f12", "answer", priority=True)]

    def action_answer(self):
        self.copy_to_clipboard("{MARKER}")

    def exit(self, *arguments, **options):
        pass

trex_tui.app.TrexApp = Probe
faulthandler.register(signal.SIGUSR1, open(os.environ["STACKS"], "w"), all_threads=True)
sys.exit(main())
"""
"""The program, with three differences. F12 is a question: it is answered by what is copied. Nothing quits, so that any end is
a fault; the palette offers to quit, too. SIGUSR1 has it write what it does to a file.
"""

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
# Not those that quit or suspend, or go to the start of a line, where a slash would begin a path of this machine.
LETTERS = [*"abcdefimnprstvwxyzACENRSTWY0123456789:?!/[]-+<>=. ", "\x10", BACK]
CHOICES = ["\r", "\r", "\r\r\r", ESCAPE, ESCAPE, "\x7f"]
SIZES = [
    *[
        (80, 24),
        (160, 45),
        (120, 35),
        (50, 12),
        (20, 3),
        (10, 2),
        (5, 1),
        (1, 1),
        (200, 50),
        (80, 24),
        (80, 1),
    ],
    *[(1, 24), (400, 200), (80, 24)],
]
PASTES = ["conv", "kind:gemm ms>0.1", "two\nlines\n", "[red]x[/red]", "", "\x00\x1b[31m", "é" * 300]
RESIZES, MORE_RESIZES = 0.012, 0.1
"""How often the size changes. A large terminal soon gets another size: a key costs ten times as much in it."""
MANY_CELLS = 9000


def random_inputs(chooser: random.Random) -> Iterator[Input]:
    width, height = 80, 24
    while True:
        kind = chooser.random()
        if kind < (RESIZES if width * height < MANY_CELLS else MORE_RESIZES):
            width, height = chooser.choice(SIZES)
            yield width, height
        elif chooser.random() < 0.01:
            yield f"\x1b[200~{chooser.choice(PASTES)}\x1b[201~"
        elif chooser.random() < 0.05:
            at = f"{chooser.randint(1, width)};{chooser.randint(1, height)}"
            yield chooser.choice([f"\x1b[<0;{at}M\x1b[<0;{at}m", f"\x1b[<65;{at}M", f"\x1b[<64;{at}M"])
        else:
            yield chooser.choice(chooser.choice([MOVES, MOVES, LETTERS, LETTERS, CHOICES]))


class Program:
    """The program in a terminal that nobody looks at."""

    def __init__(self, path: Path, log: Path, stacks: Path) -> None:
        arguments, environment = [str(path), "--log-file", str(log)], {"STACKS": str(stacks)}
        self._terminal = Terminal(arguments, (80, 24), environment, PROGRAM)
        self.child = self._terminal.child
        self.end = self._terminal.end
        self._log, self._stacks = log, stacks
        self.output = b""

    def start(self) -> None:
        """Wait until it has read what it shows: while it reads, Escape quits."""
        terminal = self._terminal
        terminal.until(
            lambda: "q close" in terminal.text or "space mark" in terminal.text, "an engine or the list"
        )
        os.set_blocking(self.child.child_fd, False)

    def play(self, inputs: list[Input]) -> bool:
        """Send a burst of inputs; whether the program answers behind them."""
        self.output = b""
        patience = Patience(self.child.pid)
        try:
            for step in [*inputs, QUESTION]:
                if isinstance(step, str):
                    self._send(step.encode(), patience)
                else:
                    self.child.setwinsize(step[1], step[0])
            while ANSWER not in self.output:
                self._exchange(b"", patience)
        except OSError:  # It has ended, or will not answer.
            return ANSWER in self.output
        return True

    def _send(self, left: bytes, patience: Patience) -> None:
        while left:
            left = left[self._exchange(left, patience) :]

    def _exchange(self, data: bytes, patience: Patience) -> int:
        """Wait until the program takes or gives something; return how much it took.

        Raises:
            OSError: It has ended, or will not answer.
        """
        terminal = self.child.child_fd
        if patience.is_over():
            raise TimeoutError
        readable, writable, _ = select.select([terminal], [terminal] if data else [], [], LOOK_S)
        if readable:
            self.output = self.output[-4096:] + os.read(terminal, 1 << 20)
        return os.write(terminal, data) if writable else 0

    def describe_end(self) -> str:
        """What is known of a program that does not answer."""
        if self.child.isalive():
            self.child.kill(signal.SIGUSR1)
            patience = Patience(self.child.pid)
            while not self._stacks.read_text() and not patience.is_over():
                time.sleep(LOOK_S)
            end = f"alive:\n{self._stacks.read_text()}"
        else:
            end = f"exit code {self.child.exitstatus}, signal {self.child.signalstatus}"
        left = self._log.read_text(encoding="utf-8") if self._log.exists() else "no log"
        return f"{end}\n{left}"


def sample(folder: Path) -> Path:
    return Path(shutil.copytree(OLD_SAMPLES / "alexnet", folder / "alexnet"))


def several(folder: Path) -> Path:
    """Two sets, one of them of names alone: the list of engines is where it starts."""
    small_engine(folder / "sets" / "tiny")
    shutil.copytree(OLD_SAMPLES / "names_only", folder / "sets" / "names_only")
    return folder / "sets"


def real(name: str) -> Path:
    if not (ARTIFACTS / name).is_dir():
        pytest.skip(f"no real artifacts at {ARTIFACTS}")
    return ARTIFACTS / name


def vision(_: Path) -> Path:
    return real("edge-vision")


def resnet(_: Path) -> Path:
    return real("trex/resnet-A100")


def large(_: Path) -> Path:
    return real("bev-multitask-blackwell")


def log(folder: Path) -> Path:
    return Path(shutil.copytree(REPOSITORY / "sample_artifacts/build-log", folder / "log_alone"))


@pytest.mark.parametrize(
    ("make", "seed"), [(sample, 1), (several, 2), (vision, 3), (resnet, 4), (large, 5), (log, 6)]
)
def test_random_keys_do_not_end_the_program(make, seed, tmp_path, monkeypatch):
    path = make(tmp_path)
    monkeypatch.chdir(tmp_path)  # What is exported stays here.
    seed = f"{seed}/{FURTHER_SEED}" if FURTHER_SEED else seed
    chooser = random.Random(seed)
    source = random_inputs(chooser)
    replayed = ast.literal_eval(os.environ.get("TREX_TUI_REPLAY", "None"))
    program = Program(path, tmp_path / "log", tmp_path / "stacks")
    sent: list[Input] = []
    try:
        program.start()
        while len(sent) < INPUTS_PER_ENGINE:
            burst = replayed or [next(source) for _ in range(chooser.randint(1, 50))]
            sent += burst
            if not program.play(burst):
                pytest.fail(
                    f"no answer; seed {seed}, inputs:\n{sent}\n{program.describe_end()}", pytrace=False
                )
            if replayed:
                break
        faults = tmp_path / "log"
        assert not faults.exists(), (
            f"it went on after this; seed {seed}\n{faults.read_text(encoding='utf-8')}"
        )
    finally:
        program.end()
