"""How long the program takes to start, as multiples of floors measured in the same run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pexpect
from rich.table import Table

ROOT = Path(__file__).parent.parent
MINIMAL_APP = """
from textual.app import App
from textual.widgets import Footer, Static
class Minimal(App):
    def compose(self):
        yield Static("first frame")
        yield Footer()
Minimal().run()
"""
_PATIENCE_S = 120
_TERMINAL = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}


@dataclass(frozen=True)
class Limit:
    """What a program is started under.

    Attributes:
        name: Of a column.
        prefix: Stands before the command and is replaced by it (`exec`).
        hold: Called with the id of the started process; slows it down until it is left.
    """

    name: str = ""
    prefix: tuple[str, ...] = ()
    hold: Callable[[int], AbstractContextManager[object]] = field(default=lambda _: nullcontext())


NO_LIMIT = Limit()


def best_of(repeat: int, action: Callable[[], object]) -> float:
    """Seconds of the fastest of several runs."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def run(arguments: Sequence[str], limit: Limit = NO_LIMIT) -> None:
    """Run a command and drop what it prints."""
    command = [*limit.prefix, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT)
    with limit.hold(process.pid):
        code = process.wait()
    if code:
        raise subprocess.CalledProcessError(code, command)


def until_shown(arguments: Sequence[str], text: str, limit: Limit = NO_LIMIT) -> None:
    """Start a program in a pseudo-terminal and wait until it has drawn `text`."""
    command = [*limit.prefix, *arguments]
    child = pexpect.spawn(
        command[0], command[1:], dimensions=(24, 80), env=dict(os.environ) | _TERMINAL, cwd=ROOT
    )
    try:
        with limit.hold(child.pid):
            child.expect_exact(text, timeout=_PATIENCE_S)
    finally:
        child.close(force=True)


def measure_starting(path: Path, repeat: int, limit: Limit = NO_LIMIT) -> Table:
    """Start-up against the interpreter, pandas and a minimal Textual application."""
    python = sys.executable
    program = [python, "-m", "trex_tui"]

    def ran(*arguments: str) -> float:
        return best_of(repeat, lambda: run(arguments, limit))

    def shown(text: str, *arguments: str) -> float:
        return best_of(repeat, lambda: until_shown(arguments, text, limit))

    nothing = ran(python, "-c", "pass")
    pandas = ran(python, "-c", "import pandas")
    minimal = shown("first frame", python, "-c", MINIMAL_APP)
    title = f"Starting, {limit.name}" if limit.name else "Starting"
    table = Table("command", "ms", "/ python -c pass", "/ import pandas", "/ minimal app", title=title)

    def row(name: str, seconds: float) -> None:
        ratios = (f"{seconds / floor:.2f}" for floor in (nothing, pandas, minimal))
        table.add_row(name, f"{seconds * 1e3:.0f}", *ratios)

    row("python -c pass", nothing)
    row("python -c 'import pandas'", pandas)
    row("minimal Textual app, first frame", minimal)
    row("--version", ran(*program, "--version"))
    row("summary --json", ran(*program, "summary", "--json", str(path)))
    row("first frame", shown("reading", *program, str(path)))
    row("engine on screen", shown("Latency", *program, str(path)))
    return table
