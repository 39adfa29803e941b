"""Run every command on damaged copies of sample sets, in this process, until the time is over.

    python scripts/fuzz.py [--seconds 60] [--seed 1]

A fault is an internal error (exit code 70), an exit code that no command has, a control character in text, JSON that does not
parse, or an exit code 2 without a word.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import sys
import time
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent))

from fuzzing.damage import damaged
from trex_tui.cli.main import main as run_command

ROOT = Path(__file__).resolve().parent.parent
MOST_BYTES = 2_000_000
COMMANDS = (
    ("summary",), ("summary", "--json"), ("layers",), ("layers", "--json"), ("layers", "--format", "csv"), ("lint",),
    ("lint", "--json"), ("times", "--json"), ("build-log",), ("build-log", "--json"), ("engines",), ("engines", "--json"),
    ("export", "--format", "json"), ("report", "--format", "md"), ("layers", "--strict"), ("memory",), ("memory", "--json"),
    ("engines", "--pareto", "median,weights"),
)  # fmt: skip


def read_sets() -> list[dict[str, bytes]]:
    """Return the files of each sample set, without the longest."""
    folders = sorted({path.parent for path in (ROOT / "sample_artifacts").rglob("*") if path.is_file()})
    sets = [
        {path.name: path.read_bytes() for path in folder.iterdir() if path.stat().st_size < MOST_BYTES}
        for folder in folders
        if folder.name != "sample_artifacts"
    ]
    return [files for files in sets if files]


def find_fault(command: tuple[str, ...], folder: Path) -> str:
    """Run a command; return what is wrong with its answer, or an empty text."""
    out, messages = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(messages):
        code = run_command([command[0], str(folder), *command[1:]])
    text = out.getvalue()
    if code not in (0, 1, 2):
        return f"exit code {code}: {messages.getvalue()[-300:]}"
    if code == 2 and not messages.getvalue():
        return "exit code 2 without a word"
    if "--json" in command and text:
        try:
            json.loads(text)
        except ValueError as error:
            return f"JSON: {error}"
    elif any(ord(char) < 32 and char not in "\n\t" for char in text + messages.getvalue()):
        return "control character"
    return ""


def main() -> int:
    """Try until the time is over; print the faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sets, tried, end = read_sets(), Counter[str](), time.monotonic() + options.seconds
    case = 0
    faults = 0
    while time.monotonic() < end:
        rng = random.Random(f"{options.seed}/{case}")
        files = damaged(rng.choice(sets), lambda other: other.choice(sets), rng)
        with TemporaryDirectory() as temporary:
            for name, content in files.items():
                Path(temporary, name).write_bytes(content)
            command = rng.choice(COMMANDS)
            tried[command[0]] += 1
            if fault := find_fault(command, Path(temporary)):
                faults += 1
                print(f"seed {options.seed}, case {case}, {' '.join(command)}: {fault}")
        case += 1
    print(f"{case} runs, {faults} faults: {dict(tried)}")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
