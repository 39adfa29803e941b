"""Time and memory of `trex-tui engines` over a tree of sets: `python benchmarks/fleet.py [--sets 100 1000] [--logs]`.

The sets are the samples, each with the timing rows of another build: scaled by a seeded noise. Each size is read by processes
of their own: without a cache, with an empty one, and with a full one. Times are processor time; the floor is the parse of the
same JSON files with an interpreter's start. The best of several runs counts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).absolute().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from samples.catalogue import SETS  # noqa: E402 - below the path

_PARSE = """
import json, os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        if name.endswith(".json"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                json.load(file)
"""


@dataclass(frozen=True, slots=True)
class Run:
    """A process that ended: processor time in seconds, its largest memory in MiB."""

    seconds: float
    mib: float


def write_tree(
    directory: Path, count: int, *, has_logs: bool, most_rows: int | None = None, seed: int = 1
) -> int:
    """Write so many sets and return their bytes: builds of the samples, a directory each."""
    generator = random.Random(seed)
    made = [make() for make in SETS.values()]
    size = 0
    for number in range(count):
        files = made[number % len(made)]
        folder = directory / f"{number % len(made)}" / f"build-{number // len(made)}"
        folder.mkdir(parents=True)
        factor = 1.0 + generator.gauss(0.0, 0.003)
        for name, text in files.items():
            if name.endswith(".log") and not has_logs:
                continue
            written = text
            if name.endswith(".timing.json"):
                rows = json.loads(text)[:most_rows]
                for row in rows:
                    for key in ("latencyMs", "computeMs"):
                        row[key] *= factor
                written = json.dumps(rows)
            (folder / name).write_text(written, encoding="utf-8")
            size += len(written)
    return size


def run(arguments: list[str], environment: dict[str, str]) -> Run:
    """Run a process and wait for it."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(arguments)} ended with {status}")
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def best(runs: list[Run]) -> Run:
    return min(runs, key=lambda run: run.seconds)


def measure(count: int, repeat: int, *, has_logs: bool, most_rows: int | None) -> list[str]:
    """Return the cells of one size."""
    with tempfile.TemporaryDirectory() as name:
        tree, cache = Path(name) / "tree", Path(name) / "cache"
        size = write_tree(tree, count, has_logs=has_logs, most_rows=most_rows)
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        engines = [sys.executable, "-m", "trex_tui", "engines", str(tree)]
        parse = best([run([sys.executable, "-c", _PARSE, str(tree)], environment) for _ in range(repeat)])
        bare = best([run([*engines, "--json", "--no-cache"], environment) for _ in range(repeat)])
        first = run([*engines, "--json"], environment)
        text = best([run(engines, environment) for _ in range(repeat)])
        again = best([run([*engines, "--json"], environment) for _ in range(repeat)])
        kept = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
        entries = sum(path.is_file() for path in cache.rglob("*"))
    return [
        f"{count}",
        f"{size / 1e6:.1f} MB",
        f"{parse.seconds:.2f} s",
        f"{bare.seconds:.2f} s",
        f"{bare.seconds / parse.seconds:.1f}",
        f"{first.seconds:.2f} s",
        f"{again.seconds:.2f} s",
        f"{again.seconds / parse.seconds:.2f}",
        f"{text.seconds:.2f} s",
        f"{bare.mib:.0f} MiB",
        f"{again.mib:.0f} MiB",
        f"{kept / 1e6:.1f} MB in {entries}",
    ]


def main() -> None:
    """Print a row per size."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--rows", type=int, help="most timing rows of a set; by default those of the samples")
    parser.add_argument("--logs", action="store_true", help="sets have their logs")
    options = parser.parse_args()
    table = Table(title="trex-tui engines")
    for heading in (
        *("sets", "files", "parse", "read", "/ parse", "read, kept", "cached", "/ parse", "cached, text"),
        *("memory", "cached", "cache"),
    ):
        table.add_column(heading, justify="right")
    for count in options.sets:
        table.add_row(*measure(count, options.repeat, has_logs=options.logs, most_rows=options.rows))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
