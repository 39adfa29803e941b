"""Processor time of commands and steps, as multiples of floors measured in turns with them.

    python benchmarks/measure.py [--repeat 3]

pandas alone is most of the time of a small command: `import pandas` is one of the floors. Real engines have 26 layers at the
median; the largest known has 1,309.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent))

from rich.console import Console
from rich.table import Table

from synthetic import write_engine

ROOT = Path(__file__).resolve().parent.parent
ARTIFACTS = Path(os.environ.get("TREX_TUI_ARTIFACTS") or ROOT.parent / "shared" / "artifacts")
SMALL = ROOT / "sample_artifacts" / "resnet18"
LARGE = ARTIFACTS / "bev-multitask-blackwell"
LOG = ARTIFACTS / "logs" / "trt8.6.0_RTX3090_build_verbose_fp16_dynshape_skipInference.log"
LAYERS = 20_000
LOG_COPIES = 40


def run(*arguments: str) -> float:
    """Run Python with arguments and return the seconds of processor time; what it prints is dropped."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=False, cwd=ROOT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def list_pairs(directory: Path) -> dict[str, tuple[str, Callable[[], float], Callable[[], float]]]:
    """Return name -> floor, how to measure it, how to measure ours."""
    program = ("-m", "trex_tui")
    graph, *_ = write_engine(directory / "engine", LAYERS)
    half, *_ = write_engine(directory / "half", LAYERS // 2)
    pandas = ("import pandas", lambda: run("-c", "import pandas"))
    parse = f"import json; json.load(open({str(graph)!r}))"
    load = f"import trex_tui; trex_tui.load_engine({str(graph)!r})"
    pairs: dict[str, tuple[str, Callable[[], float], Callable[[], float]]] = {
        "--help": ("pass", lambda: run("-c", "pass"), lambda: run(*program, "--help")),
        **{
            f"{command}, 26 layers": (
                *pandas,
                lambda command=command: run(*program, command, str(SMALL), "--json"),
            )
            for command in ("summary", "layers", "lint")
        },
        f"summary, {LAYERS // 2:,} layers": (
            *pandas,
            lambda: run(*program, "summary", str(half.parent), "--json"),
        ),
        f"load of {LAYERS:,} layers": (
            "json.load, after import pandas",
            lambda: run("-c", f"import pandas; {parse}"),
            lambda: run("-c", load),
        ),
    }
    if LARGE.is_dir():
        for command in ("summary", "layers", "lint"):
            pairs[f"{command}, 1,309 layers"] = (
                *pandas,
                lambda command=command: run(*program, command, str(LARGE), "--json"),
            )
    if LOG.is_file():
        log = directory / "verbose.log"
        log.write_bytes(LOG.read_bytes() * LOG_COPIES)
        loop = f"for line in open({str(log)!r}): pass"
        read = f"from pathlib import Path; from trex_tui.buildlog.reader import read_log; read_log(Path({str(log)!r}))"
        pairs[f"log of {log.stat().st_size / 1e6:.0f} MB"] = (
            "loop over its lines",
            lambda: run("-c", loop) - run("-c", "pass"),
            lambda: run("-c", read) - run("-c", "import trex_tui.buildlog.reader"),
        )
    return pairs


def main() -> None:
    """Print the table: the least of several runs of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    table = Table("what", "floor", "floor s", "ours s", "ratio", title="Processor time")
    with TemporaryDirectory() as temporary:
        for name, (floor, measure_floor, measure) in list_pairs(Path(temporary)).items():
            least = min(measure_floor() for _ in range(repeat))
            ours = min(measure() for _ in range(repeat))
            table.add_row(name, floor, f"{least:.2f}", f"{ours:.2f}", f"{ours / least:.2f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
