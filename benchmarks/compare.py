"""Comparing engines, as a multiple of the bare parse of the same files."""

from __future__ import annotations

import json
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from rich.table import Table

from synthetic import write_engine
from trex_tui.old.analysis.compare import Align, compare
from trex_tui.old.analysis.compare.align import align_pair
from trex_tui.old.analysis.compare.noise import judge
from trex_tui.old.analysis.compare.traits import Traits
from trex_tui.old.artifacts.input_files import gc_paused
from trex_tui.old.engine.engine import Engine, load_engine

PAIRS = (
    (1_000, 800, Align.AUTO),
    (1_000, 800, Align.SIGNATURE),
    (10_000, 10_000, Align.AUTO),
    (20_000, 20_000, Align.AUTO),
    (20_000, 20_000, Align.SIGNATURE),
)
TIMING_ROWS = 20_000


def measure_comparing(repeat: int) -> Table:
    """Time of a whole comparison, of the alignment alone, and the memory it takes at most."""
    table = Table(
        "layers",
        "--align",
        "parse ms",
        "align ms",
        "ratio",
        "compare ms",
        "ratio",
        "memory MiB",
        title="Comparing against json.load of both",
    )
    with tempfile.TemporaryDirectory() as directory:
        for ours, theirs, mode in PAIRS:
            engines, floor = _pair(Path(directory), ours, theirs, repeat)
            align = _best(repeat, lambda engines=engines, mode=mode: _align(engines, mode))
            whole = _best(repeat, lambda engines=engines, mode=mode: compare(engines, align=mode))
            cells = (f"{floor * 1e3:.0f}", f"{align * 1e3:.0f}", f"{align / floor:.2f}", f"{whole * 1e3:.0f}")
            memory = f"{_peak_bytes(engines, mode) / 2**20:.0f}"
            table.add_row(f"{ours} × {theirs}", mode.value, *cells, f"{whole / floor:.2f}", memory)
    rows = [1.0 + 0.001 * (place * 7919 % 101) for place in range(TIMING_ROWS)]
    verdict = _best(repeat, lambda: judge(rows, rows, ("a", "b")))
    table.caption = f"A verdict on 2 × {TIMING_ROWS} timing rows: {verdict * 1e3:.0f} ms"
    return table


def _pair(directory: Path, ours: int, theirs: int, repeat: int) -> tuple[tuple[Engine, Engine], float]:
    folders = [directory / f"{side}-{layers}" for side, layers in (("a", ours), ("b", theirs))]
    files = [
        file
        for folder, layers in zip(folders, (ours, theirs), strict=True)
        for file in write_engine(folder, layers)
    ]

    def parse() -> None:
        for path in files:
            with path.open(encoding="utf-8") as file:
                json.load(file)

    return (load_engine(folders[0]), load_engine(folders[1])), _best(repeat, parse)


def _align(engines: tuple[Engine, Engine], mode: Align) -> None:
    with gc_paused():
        align_pair(Traits(engines[0]), Traits(engines[1]), mode)


def _peak_bytes(engines: tuple[Engine, Engine], mode: Align) -> int:
    tracemalloc.start()
    compare(engines, align=mode)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _best(repeat: int, action: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(max(1, repeat // 2)):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best
