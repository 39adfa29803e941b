"""Bytes that the explorer writes to a terminal of 160×45 in truecolor: what a slow line has to carry.

    python benchmarks/written.py [PATH]

A paint is what the whole screen costs, measured after a change of the terminal's size.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pexpect
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
ROWS, COLUMNS = 45, 160
TABS = {
    "Overview": "1",
    "Layers": "2",
    "Latency": "3",
    "Charts": "4",
    "Memory": "5",
    "Lint": "6",
    "Build": "7",
}
_QUIET_S = 1.0
_MOST_BYTES = 1 << 20


def written(child: pexpect.spawn[bytes], quiet_s: float = _QUIET_S) -> int:
    """Bytes until nothing came for a while."""
    count = 0
    while True:
        try:
            count += len(child.read_nonblocking(_MOST_BYTES, timeout=quiet_s))
        except pexpect.TIMEOUT:
            return count


def after(child: pexpect.spawn[bytes], keys: str) -> list[int]:
    """Bytes written after each key."""
    counts = []
    for key in keys:
        child.send(key)
        counts.append(written(child))
    return counts


def measure_written(path: Path) -> Table:
    """Start, change of screen and `j` on each tab, and nothing for five seconds."""
    with TemporaryDirectory() as home:
        environment = {
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "XDG_CONFIG_HOME": home,
            "XDG_STATE_HOME": home,
        }
        child = pexpect.spawn(
            sys.executable,
            ["-m", "trex_tui", str(path)],
            dimensions=(ROWS - 1, COLUMNS),
            env=dict(os.environ) | environment,
            cwd=ROOT,
        )
        try:
            table = Table("what", "bytes", "/ paint", title="Written to a terminal of 160×45")
            for name, count, paint in _counts(child):
                table.add_row(name, str(count), f"{count / paint:.2f}" if paint else "")
        finally:
            child.close(force=True)
    return table


def _counts(child: pexpect.spawn[bytes]) -> Iterator[tuple[str, int, int]]:
    yield "start", written(child, 4 * _QUIET_S), 0
    after(child, "2")
    child.setwinsize(ROWS, COLUMNS)
    paint = written(child)
    yield "paint of Layers", paint, paint
    after(child, "".join(TABS.values()))  # the first visit makes the pane
    for name, key in TABS.items():
        (count,) = after(child, key)
        yield f"to {name}", count, paint
        yield f"{name}: j, the most of 6", max(after(child, "jjjjkk")), paint
    yield "idle, 5 s", written(child, 5.0), paint


if __name__ == "__main__":
    Console().print(
        measure_written(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "sample_artifacts" / "alexnet"))
    )
