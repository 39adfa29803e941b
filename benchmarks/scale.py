"""How time and memory grow with the size of what is read: `python benchmarks/scale.py [--quick]`, or `measure.py --scale`.

Engines of 100 to 100 000 layers, timing runs of up to 10⁶ rows, a build log of up to 1 GB, directories of up to 500 sets.
Each size is measured in a process of its own, each step once, as processor time; memory is the largest of the process so far
less what it had before the first step. The exponent is the slope of the logarithms between the two largest sizes: 1 is
linear, n log n is about 1.1, 2 is square.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from rich.console import Console
from rich.table import Table

from build_log import write_log
from synthetic import write_engine

LAYERS = (100, 1_000, 10_000, 100_000)
ROWS = (1_000, 10_000, 100_000, 1_000_000)
LOG_MEGABYTES = (10, 100, 1_000)
SETS = (5, 50, 500)
SUMMARY_LAYERS = 20_000
MOST_EXPONENT = 1.35
"""n log n between ten and a hundred thousand is 1.1; the rest is what no longer fits the caches of a processor."""
LEAST_SECONDS = 0.02
"""Less is noise: no exponent is told."""


@dataclass(frozen=True)
class Step:
    """A measured step: processor time in seconds, and the growth of the process's largest memory since its start in MiB."""

    name: str
    seconds: float
    mib: float


def largest_mib() -> float:
    """The most memory that this program has had. What `getrusage` tells on Linux may be that of the process that started it.

    Linux counts in KiB, macOS in bytes.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1 << 20 if sys.platform == "darwin" else 1 << 10
    )


class Measuring:
    """Steps, one after the other, in this process."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._floor = largest_mib()

    def __call__(self, name: str, job: Callable[[], object]) -> object:
        began = time.process_time()
        result = job()
        self.steps.append(Step(name, time.process_time() - began, largest_mib() - self._floor))
        return result


# --- what is measured, each in a process of its own -----------------------------------------------------------------


def measure_engine(folder: Path) -> list[Step]:
    from trex_tui.old.analysis.columns import ALL_COLUMNS, derived
    from trex_tui.old.analysis.compare import compare
    from trex_tui.old.analysis.dataflow import whole_lanes
    from trex_tui.old.analysis.filter import filter_layers
    from trex_tui.old.analysis.modules import Group, Grouping, arrange
    from trex_tui.old.engine.engine import Engine, load_engine
    from trex_tui.old.lint.registry import registry
    from trex_tui.old.lint.run import run
    from trex_tui.old.report.export import ExportFormat, layers_as
    from trex_tui.old.report.views.engine import analyse, summary_document
    from trex_tui.old.report.views.layers import cell_text
    from trex_tui.old.report.views.memory import memory_figures

    registry()
    measure = Measuring()
    engine = measure("load", lambda: load_engine(folder))
    assert isinstance(engine, Engine)
    gc.collect()
    gc.freeze()  # as the explorer does: collections that look at all of the engine are no part of what is measured
    measure("products and roofs", lambda: derived(engine))
    measure("summary", lambda: summary_document([engine]))
    measure("all columns", lambda: [column.values(engine) for column in ALL_COLUMNS])
    measure(
        "table rows",
        lambda: [
            cell_text(column, column.value(engine, one))
            for one in engine.layers
            for column in ALL_COLUMNS[:8]
        ],
    )

    def opened(group: Group) -> int:
        return sum(1 + opened(one) if isinstance(one, Group) else 1 for one in group.entries)

    for grouping in (Grouping.MODULE, Grouping.ONNX):
        measure(
            f"tree by {grouping.name.lower()}",
            lambda grouping=grouping: opened(arrange(engine.layers, grouping)),
        )
    measure("lanes", lambda: whole_lanes(engine, 8))
    measure("overview", lambda: analyse(engine))
    measure("memory", lambda: memory_figures(engine))
    measure("search: a word", lambda: filter_layers(engine, "conv -relu"))
    measure("search: regex", lambda: filter_layers(engine, 'name~"block1.*conv"'))
    measure("CSV, all columns", lambda: layers_as(ExportFormat.CSV, engine, engine.layers, ALL_COLUMNS))
    measure("lint", lambda: run(engine))
    measure("diff with itself", lambda: compare([engine, engine], baseline=0, align="auto", per_batch=False))
    return measure.steps


def measure_timing(folder: Path) -> list[Step]:
    from trex_tui.old.analysis.timing import timing_statistics
    from trex_tui.old.engine.engine import Engine, load_engine

    measure = Measuring()
    engine = measure("load", lambda: load_engine(folder))
    assert isinstance(engine, Engine)
    measure("statistics and stability", lambda: timing_statistics(engine))
    return measure.steps


def measure_log(folder: Path) -> list[Step]:
    from trex_tui.old.buildlog import read_build_log

    measure = Measuring()
    measure("read", lambda: read_build_log(folder / "net.build.log"))
    return measure.steps


def measure_tree(folder: Path) -> list[Step]:
    from trex_tui.old.artifacts import scan
    from trex_tui.old.cli import main

    measure = Measuring()
    measure("scan", lambda: scan(folder))
    with contextlib.redirect_stdout(io.StringIO()):
        measure("summary --json", lambda: main(["summary", "--json", str(folder)]))
    return measure.steps


# --- inputs ---------------------------------------------------------------------------------------------------------


def write_timing(folder: Path, rows: int) -> None:
    folder.mkdir(parents=True)
    with (folder / "net.timing.json").open("w", encoding="utf-8") as file:
        for number in range(rows):
            start, latency = 1.5 * number, 1.2 + (number * 7919 % 101) / 1000
            row = {
                "startEnqMs": start,
                "endEnqMs": start + 0.05,
                "startH2dMs": start,
                "endH2dMs": start,
                "startComputeMs": start,
                "endComputeMs": start + latency,
                "startD2hMs": start + latency,
                "endD2hMs": start + latency,
                "h2dMs": 0,
                "computeMs": latency,
                "d2hMs": 0,
                "latencyMs": latency,
            }
            file.write(("[ " if not number else ", ") + json.dumps(row) + "\n")
        file.write("]\n")


def write_sets(folder: Path, sets: int) -> None:
    (first, *others) = write_engine(folder / "0", 100)
    for number in range(1, sets):
        place = folder / str(number // 20) / str(number)
        place.mkdir(parents=True)
        for path in (first, *others):
            shutil.copy(path, place)


def write_build_log(folder: Path, megabytes: int) -> None:
    folder.mkdir(parents=True)
    write_log(folder / "net.build.log", megabytes * 1_000_000)


@dataclass(frozen=True)
class Kind:
    title: str
    sizes: tuple[int, ...]
    write: Callable[[Path, int], object]
    measure: Callable[[Path], list[Step]]


KINDS = {
    "engine": Kind("Layers of an engine", LAYERS, write_engine, measure_engine),
    "timing": Kind("Rows of a timing run", ROWS, write_timing, measure_timing),
    "log": Kind("Megabytes of a build log", LOG_MEGABYTES, write_build_log, measure_log),
    "tree": Kind("Sets below a directory, of 100 layers each", SETS, write_sets, measure_tree),
}


# --- tables ---------------------------------------------------------------------------------------------------------


def in_own_process(name: str, size: int, folder: Path) -> list[Step]:
    """Write the input here, measure it there, and drop it."""
    KINDS[name].write(folder, size)
    command = [sys.executable, __file__, "--one", name, str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    shutil.rmtree(folder)
    return [Step(*step) for step in json.loads(done.stdout)]


def exponent(sizes: tuple[int, ...], seconds: list[float]) -> float | None:
    """Slope between the two largest sizes; None where the smaller of them took too little to tell."""
    if len(seconds) < 2 or seconds[-2] < LEAST_SECONDS:
        return None
    return math.log(seconds[-1] / seconds[-2]) / math.log(sizes[-1] / sizes[-2])


def grown(kind: str, folder: Path, quick: bool) -> Iterator[Table]:
    """Seconds and memory by size, with the exponents."""
    sizes = KINDS[kind].sizes[:-1] if quick else KINDS[kind].sizes
    found = [in_own_process(kind, size, folder / f"{kind}-{size}") for size in sizes]
    headings = [f"{size:,}".replace(",", " ") for size in sizes]
    seconds = Table(
        "step", *(f"{one} s" for one in headings), "exponent", "", *(f"{one} MiB" for one in headings)
    )
    seconds.title = KINDS[kind].title
    for steps in zip(*found, strict=True):
        slope = exponent(sizes, [step.seconds for step in steps])
        words = "" if slope is None else f"{slope:.2f}"
        verdict = "grows too fast" if slope is not None and slope > MOST_EXPONENT else ""
        cells = [f"{step.seconds:.3f}" for step in steps]
        seconds.add_row(steps[0].name, *cells, words, verdict, *(f"{step.mib:.0f}" for step in steps))
    yield seconds


_PEAK = "import resource; print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"


def peak_of(command: list[str]) -> float:
    """The largest memory of a command, in MiB."""
    code = f"import subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); {_PEAK}"
    done = subprocess.run(
        [sys.executable, "-c", code, *command], check=True, stdout=subprocess.PIPE, text=True
    )
    return int(done.stdout) / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def summary_memory(folder: Path) -> Table:
    """`summary --json` on a large engine, as a multiple of its files."""
    files = write_engine(folder / "summary", SUMMARY_LAYERS)
    size = sum(path.stat().st_size for path in files) / 2**20
    peak = peak_of([sys.executable, "-m", "trex_tui", "summary", "--json", str(folder / "summary")])
    bare = peak_of([sys.executable, "-c", "pass"])
    pandas = peak_of([sys.executable, "-c", "import pandas"])
    table = Table("files MiB", "peak MiB", "python MiB", "import pandas MiB", "peak / files", "less python")
    table.title = f"summary --json of {SUMMARY_LAYERS} layers"
    cells = [f"{value:.1f}" for value in (size, peak, bare, pandas)]
    table.add_row(*cells, f"{peak / size:.2f}", f"{(peak - bare) / size:.2f}")
    return table


def measure_scale(console: Console, quick: bool = False, kinds: tuple[str, ...] = tuple(KINDS)) -> None:
    """Print all tables, each as soon as it is there."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as directory:
        for kind in kinds:
            for table in grown(kind, Path(directory), quick):
                console.print(table)
        console.print(summary_memory(Path(directory)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--one", nargs=2, metavar=("KIND", "DIR"), help="measure this here, and print JSON")
    parser.add_argument("--quick", action="store_true", help="without the largest size of each")
    parser.add_argument("--only", action="append", choices=KINDS, help="may be repeated")
    options = parser.parse_args()
    if options.one:
        name, folder = options.one
        steps = KINDS[name].measure(Path(folder))
        print(json.dumps([(step.name, step.seconds, step.mib) for step in steps]))
        return
    measure_scale(Console(width=160), options.quick, tuple(options.only or KINDS))


if __name__ == "__main__":
    main()
