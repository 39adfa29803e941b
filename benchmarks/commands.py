"""Processor time of whole commands, as multiples of floors measured in turns with them.

python benchmarks/commands.py [--repeat 5]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent))

from rich.console import Console
from rich.table import Table

from starting import ROOT, cpu_seconds, run
from synthetic import write_profile

PROFILE_ROWS = 300_000
SAMPLE = ROOT / "sample_artifacts" / "alexnet"
PROGRAM = (sys.executable, "-m", "trex_tui")


def measure_commands(repeat: int) -> Table:
    """The least processor time of several runs of each command and of its floor."""
    table = Table("command", "floor", "floor s", "command s", "ratio", title="Commands, processor time")
    with TemporaryDirectory() as directory:
        profile = write_profile(Path(directory), PROFILE_ROWS)
        pairs = {
            "--help": ("pass", ("--help",)),
            "layers of a small engine": (
                "import json, argparse, rich.console, rich.table",
                ("layers", str(SAMPLE)),
            ),
            f"summary --json of a profile of {PROFILE_ROWS} rows": (
                f"import json; json.load(open({str(profile)!r}))",
                ("summary", "--json", directory),
            ),
        }
        for name, (floor_code, arguments) in pairs.items():
            floor = ours = float("inf")
            for _ in range(repeat):
                floor = min(floor, _cpu_of((sys.executable, "-c", floor_code)))
                ours = min(ours, _cpu_of((*PROGRAM, *arguments)))
            code = floor_code.replace(str(profile), "FILE")
            table.add_row(name, code, f"{floor:.3f}", f"{ours:.3f}", f"{ours / floor:.2f}")
    return table


def _cpu_of(command: Sequence[str]) -> float:
    before = cpu_seconds()
    run(command)
    return cpu_seconds() - before


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    Console(width=140).print(measure_commands(parser.parse_args().repeat))
