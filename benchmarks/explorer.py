"""Processor time, bytes and memory of the explorer in a pseudo-terminal, beside minimal Textual apps.

    python benchmarks/explorer.py [PATH ...]

Processor time is that of all threads of the program: another load of the machine does not change it much.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import struct
import sys
import termios
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))

from measure import ARTIFACTS, LARGE, LAYERS, SMALL
from synthetic import write_engine

SIZE = (35, 120)
_QUIET_S = 0.12
"""Without output and processor time: the answer is complete."""
_WRITE_PAUSES = """
import atexit, gc, os, sys, time
pauses, began = [0.0], [0.0]
def note(phase, _):
    if phase == "start": began[0] = time.thread_time()
    elif loaded: pauses.append(time.thread_time() - began[0])
loaded = []
gc.callbacks.append(note)
freeze = gc.freeze
gc.freeze = lambda: (freeze(), loaded.append(1))
atexit.register(lambda: open(os.environ["PAUSES"], "w").write(str(max(pauses))))
from trex_tui.cli.main import main
sys.exit(main())
"""
_BARE = "from textual.app import App; from textual.widgets import Static\n"
_BARE += "class A(App):\n def compose(self): yield Static('Overview')\nA().run()"
_TABLE = """
import pandas as pd
from textual.app import App
from textual.widgets import DataTable, Static, TabbedContent, TabPane
class A(App):
    BINDINGS = [("2", "tab('b')"), ("3", "tab('a')")]
    def compose(self):
        with TabbedContent():
            with TabPane("Overview", id="a"):
                yield DataTable()
            with TabPane("Other", id="b"):
                yield Static("text " * 400)
    def on_mount(self):
        frame = pd.DataFrame({key: range(ROWS) for key in "abcdefgh"})
        table = self.query_one(DataTable)
        table.add_columns(*frame)
        table.add_rows(frame.itertuples(index=False))
    def action_tab(self, tab):
        self.query_one(TabbedContent).active = tab
A().run()
"""


class Program:
    """A program in a pseudo-terminal."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.began = monotonic()
        self.pid, self._terminal = pty.fork()
        if not self.pid:
            variables = {"TERM": "xterm-256color", "COLORTERM": "truecolor", **environment}
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
            os.execve(sys.executable, [sys.executable, *arguments], os.environ | variables)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))

    def cpu_s(self) -> float:
        """Return the processor time of all threads."""
        total = 0
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0])
        return total / 1e9

    def press(self, keys: str, until: bytes = b"") -> tuple[float, int]:
        """Send keys; return processor time and bytes up to the complete answer."""
        before, seen = self.cpu_s(), b""
        os.write(self._terminal, keys.encode())
        quiet, last = monotonic(), before
        while monotonic() - quiet < _QUIET_S or until not in seen:
            if select.select([self._terminal], [], [], 0.02)[0]:
                seen += os.read(self._terminal, 1 << 20)
                quiet = monotonic()
            if (now := self.cpu_s()) - last > 0.002:
                quiet, last = monotonic(), now
        return self.cpu_s() - before, len(seen)

    def memory(self) -> float:
        """Return the resident memory in MiB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def end(self) -> None:
        """Quit by Ctrl-Q, and wait for the end."""
        os.write(self._terminal, b"\x11")
        try:
            while os.read(self._terminal, 1 << 20):
                pass
        except OSError:
            pass
        os.waitpid(self.pid, 0)
        os.close(self._terminal)


def _percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def measure(path: Path, pauses: Path) -> dict[str, float]:
    """Return what is measured about an engine."""
    program = Program("-c", _WRITE_PAUSES, str(path), PAUSES=str(pauses))
    program.press("", b"Overview")
    results = {
        "data on screen, wall s": monotonic() - program.began - _QUIET_S,
        "data on screen, CPU s": program.cpu_s(),
    }
    first = [program.press(tab) for tab in "2345678"]
    program.press("1")
    tabs = [program.press(tab) for tab in "23456781" * 3]
    keys = [program.press(key)[0] for tab in "236" for key in [tab, *"jjjjjkGgj", "\x04", "\x15"]]
    keys += [program.press(key)[0] for key in ["3", "/", *"conv", "\x1b", "r", "r", "2", "t", "t"]]
    moves = [program.press("j")[1] for _ in range(5)]
    results |= {
        "first visit of a tab, max CPU ms": 1e3 * max(time for time, _ in first),
        "tab, p95 CPU ms": 1e3 * _percentile([time for time, _ in tabs], 0.95),
        "tab, mean CPU ms": 1e3 * sum(time for time, _ in tabs) / len(tabs),
        "tab, max kB": max(size for _, size in (*tabs, *first)) / 1e3,
        "key, median CPU ms": 1e3 * _percentile(keys, 0.5),
        "key, p95 CPU ms": 1e3 * _percentile(keys, 0.95),
        "key j, kB": max(moves) / 1e3,
        "memory, MiB": program.memory(),
    }
    program.end()
    return results | {"longest GC pause, ms": 1e3 * float(pauses.read_text())}


def main() -> None:
    """Print a column per engine, and one per minimal app."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path)
    columns: dict[str, dict[str, float]] = {}
    with TemporaryDirectory() as temporary:
        os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_STATE_HOME"] = temporary
        paths = parser.parse_args().paths
        if not paths:
            graph, *_ = write_engine(Path(temporary) / "engine", LAYERS)
            paths = [path for path in (SMALL, LARGE, graph) if path.exists() or path.parent == ARTIFACTS]
        for path in paths:
            columns[path.name] = measure(path, Path(temporary) / "pauses")
    program = Program("-c", _BARE)
    program.press("", b"Overview")
    columns["bare app"] = {"data on screen, CPU s": program.cpu_s(), "memory, MiB": program.memory()}
    program.end()
    for rows in (30, 1309):
        program = Program("-c", f"ROWS = {rows}\n{_TABLE}")
        program.press("", b"Overview")
        began = program.cpu_s()
        tabs = [program.press(key) for key in "23" * 6]
        columns[f"DataTable, {rows} rows"] = {
            "data on screen, CPU s": began,
            "tab, mean CPU ms": 1e3 * sum(time for time, _ in tabs) / len(tabs),
            "tab, p95 CPU ms": 1e3 * _percentile([time for time, _ in tabs], 0.95),
            "memory, MiB": program.memory(),
        }
        program.end()
    table = Table("", *columns, title="Explorer at 120×35")
    for name in next(iter(columns.values())):
        table.add_row(name, *(f"{values[name]:.2f}" if name in values else "" for values in columns.values()))
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
