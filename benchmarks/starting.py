"""How long the program takes to start, as multiples of floors measured in the same run."""

from __future__ import annotations

import os
import resource
import signal
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
NOTHING, PANDAS, MINIMAL = "python -c pass", "python -c 'import pandas'", "minimal Textual app, first frame"
_PATIENCE_S = 120
_TERMINAL = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
# The modules of a user are compiled: those of the first run are kept, whatever the shell of a developer says.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


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


def run(arguments: Sequence[str], limit: Limit = NO_LIMIT) -> float:
    """Run a command and drop what it prints; return its peak memory in MB."""
    command = [*limit.prefix, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT)
    with limit.hold(process.pid):
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_maxrss * 1024 / 1e6


def until_shown(arguments: Sequence[str], text: str, limit: Limit = NO_LIMIT) -> float:
    """Start a program in a pseudo-terminal and wait until it has drawn `text`; return its peak memory in MB."""
    command = [*limit.prefix, *arguments]
    child = pexpect.spawn(
        command[0], command[1:], dimensions=(24, 80), env=dict(os.environ) | _TERMINAL, cwd=ROOT
    )
    try:
        with limit.hold(child.pid):
            child.expect_exact(text, timeout=_PATIENCE_S)
            peak = next(
                int(line.split()[1])
                for line in Path(f"/proc/{child.pid}/status").read_text().splitlines()
                if line.startswith("VmHWM:")
            )
            child.kill(signal.SIGKILL)  # Its processor time ends here, not after a shutdown.
    finally:
        child.close(force=True)
    return peak * 1024 / 1e6


def measure_starting(path: Path, repeat: int, limit: Limit = NO_LIMIT) -> Table:
    """Start-up against the interpreter, pandas and a minimal Textual application.

    All are started in turns, so that a busy moment of the machine is not that of one of them alone. Processor time (until
    what was waited for is on the screen) has ratios of its own: it is what a slow processor multiplies.
    """
    actions = _actions(path, limit)
    wall = dict.fromkeys(actions, float("inf"))
    cpu = dict(wall)
    peak = dict.fromkeys(actions, 0.0)
    for _ in range(repeat):
        for name, action in actions.items():
            before, start = cpu_seconds(), time.perf_counter()
            peak[name] = max(peak[name], action())
            wall[name] = min(wall[name], time.perf_counter() - start)
            cpu[name] = min(cpu[name], cpu_seconds() - before)
    title = f"Starting, {limit.name}" if limit.name else "Starting"
    headings = ("command", "ms", "/ pass", "/ pandas", "/ minimal app", "cpu ms", "/ minimal app", "MB")
    table = Table(*headings, title=title)
    for name in actions:
        ratios = (f"{wall[name] / wall[floor]:.2f}" for floor in (NOTHING, PANDAS, MINIMAL))
        shares = (f"{cpu[name] * 1e3:.0f}", f"{cpu[name] / cpu[MINIMAL]:.2f}")
        table.add_row(name, f"{wall[name] * 1e3:.0f}", *ratios, *shares, f"{peak[name]:.0f}")
    return table


def _actions(path: Path, limit: Limit) -> dict[str, Callable[[], float]]:
    python = sys.executable
    program = [python, "-m", "trex_tui"]
    opened = [*program, str(path)]
    load = f"import trex_tui; engine = trex_tui.load_engine({str(path)!r})"
    return {
        NOTHING: lambda: run([python, "-c", "pass"], limit),
        PANDAS: lambda: run([python, "-c", "import pandas"], limit),
        MINIMAL: lambda: until_shown([python, "-c", MINIMAL_APP], "first frame", limit),
        "--version": lambda: run([*program, "--version"], limit),
        "summary --json": lambda: run([*program, "summary", "--json", str(path)], limit),
        "first frame": lambda: until_shown(opened, "reading", limit),
        "engine on screen": lambda: until_shown(opened, "Latency", limit),
        "import trex_tui": lambda: run([python, "-c", "import trex_tui"], limit),
        "load_engine": lambda: run([python, "-c", load], limit),
        "engine.summary()": lambda: run([python, "-c", f"{load}; engine.summary().to_html()"], limit),
        "engine.frame": lambda: run([python, "-c", f"{load}; engine.frame"], limit),
        "engine.graph": lambda: run([python, "-c", f"{load}; engine.graph"], limit),
    }


def cpu_seconds() -> float:
    """Processor time of the processes that have ended so far."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime
