"""Damage real artifacts in every way, and look whether all readers and reports bear it.

    python scripts/fuzz.py [--cases 10000] [--seed 1] [--first 0] [--seconds 20] [--memory-mib 1024] [--keep DIR] [--quick]
                           [PATH ...]

Each case is a set of files that follows from the seed and its number alone. It is looked at in a process of its own kind,
with a limit of time and of memory; a process that does not answer is ended, which is a finding too. What breaks is kept
once for each place in the code, in a directory: the files as they were, and the traceback.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fuzzing.damage import Files, damaged

ROOT = Path(__file__).resolve().parent.parent
MOST_ENTRIES = 24
MOST_LINES = 200
ENDINGS = (".json", ".log")


class TakesTooLongError(BaseException):
    """Not an `Exception`: nothing on the way may take it for its own."""


def base_sets(paths: list[Path]) -> list[Files]:
    """The files of each directory, cut so that a case takes milliseconds."""
    sets: dict[Path, Files] = {}
    for path in sorted(one for root in paths for one in root.rglob("*") if one.is_file()):
        if path.suffix in ENDINGS:
            sets.setdefault(path.parent, {})[path.name] = path.read_bytes()
    found = []
    for directory, files in sets.items():
        if directory.name == "logs" or len(files) > 8:
            found += [{name: data} for name, data in files.items()]
        else:
            found.append(files)
    return found


def smaller(files: Files, rng: random.Random) -> Files:
    """The same set with a few layers, rows and lines, which stand where they stood."""
    start = rng.random()
    result = {}
    for name, data in files.items():
        if name.endswith(".log"):
            lines = data.split(b"\n")
            first = int(rng.random() * max(1, len(lines) - MOST_LINES))
            result[name] = b"\n".join([*lines[:3], *lines[first : first + MOST_LINES], *lines[-3:]])
            continue
        try:
            root = json.loads(data, strict=False)
        except ValueError:
            result[name] = data[:20_000]
            continue
        layers = root.get("Layers") if isinstance(root, dict) else root
        if isinstance(layers, list) and len(layers) > MOST_ENTRIES:
            first = int(start * (len(layers) - MOST_ENTRIES))
            del layers[first + MOST_ENTRIES :]
            del layers[1:first]
        result[name] = json.dumps(root, indent=1, ensure_ascii=False).encode("utf-8", errors="replace")
    return result


def case(sets: list[Files], seed: int, number: int) -> tuple[Files, tuple[str, ...]]:
    """The files of a case, and the command that is run on them."""
    from fuzzing.examining import COMMANDS

    rng = random.Random(f"{seed}/{number}")
    files = smaller(rng.choice(sets), rng)
    return damaged(files, sets, rng), rng.choice(COMMANDS)


def outcome(files: Files, command: tuple[str, ...], seconds: float, quick: bool) -> tuple[str, str]:
    """Where it broke (empty if nowhere), and all about it."""
    from fuzzing.examining import examine

    with tempfile.TemporaryDirectory(prefix="fuzz-") as directory:
        for name, data in files.items():
            (Path(directory) / name).write_bytes(data)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            examine(Path(directory), command, thorough=not quick)
        except (Exception, TakesTooLongError) as error:  # noqa: BLE001 - that is what is looked for
            signal.setitimer(signal.ITIMER_REAL, 0)
            return _place(error), "".join(traceback.format_exception(error)).replace(directory, "DIR")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return "", ""


def _place(error: BaseException) -> str:
    frames = [one for one in traceback.extract_tb(error.__traceback__) if "trex_tui" in one.filename]
    last = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "outside"
    said = str(error).split(":")[0][:50] if type(error).__name__ == "BrokenContractError" else ""
    return " ".join(f"{type(error).__name__} {last} {said}".split())


def _too_long(*_: object) -> None:
    raise TakesTooLongError


def work(
    pipe: Connection, paths: list[Path], seed: int, seconds: float, memory_mib: int, quick: bool
) -> None:
    """A process that takes numbers of cases and gives what became of them."""
    import fuzzing.examining  # noqa: F401 - what it imports counts before the limit

    warnings.simplefilter("error")
    signal.signal(signal.SIGALRM, _too_long)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + memory_mib * 2**20, resource.RLIM_INFINITY))
    sets = base_sets(paths)
    while True:
        number = pipe.recv()
        if number is None:
            return
        started = time.perf_counter()
        files, command = case(sets, seed, number)
        place, report = outcome(files, command, seconds, quick)
        took = time.perf_counter() - started
        pipe.send((number, place, report, took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))


def keep(directory: Path, files: Files, name: str, report: str) -> None:
    """The files of a case, and what became of them."""
    folder = directory / "".join(char if char.isalnum() or char in "._" else "-" for char in name)
    folder.mkdir(parents=True, exist_ok=True)
    for file, data in files.items():
        (folder / file).write_bytes(data)
    (folder / "report.txt").write_text(report, errors="backslashreplace")


class Worker:
    """The process, and a new one where it had to be ended."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self._context = multiprocessing.get_context("spawn")
        self._start()

    def _start(self) -> None:
        options = self.options
        self._pipe, theirs = self._context.Pipe()
        arguments = (theirs, options.paths, options.seed, options.seconds, options.memory_mib, options.quick)
        self._process = self._context.Process(target=work, args=arguments, daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, number: int) -> tuple[str, str, float, int]:
        """Place, report, seconds and the largest memory so far in KiB of a case."""
        try:
            self._pipe.send(number)
            if self._pipe.poll(3 * self.options.seconds + 60):
                _, place, report, took, memory = self._pipe.recv()
                return place, report, took, memory
            place = "does not answer"
        except (EOFError, ConnectionError):
            place = "the process died"
        self.end()
        self._start()
        return f"{place} {number}", "", 0.0, 0

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()


def main() -> None:
    """Run the cases and print what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    artifacts = Path(os.environ.get("TREX_TUI_ARTIFACTS") or ROOT.parent / "shared" / "artifacts")
    parser.add_argument("paths", nargs="*", type=Path, default=[artifacts, ROOT / "sample_artifacts"])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20, help="the most that a case may take")
    parser.add_argument("--memory-mib", type=int, default=1024, help="the most that a case may take")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"))
    parser.add_argument(
        "--quick", action="store_true", help="readers, summary and lint only: ten times as many cases"
    )
    options = parser.parse_args()
    sets = base_sets(options.paths)
    worker = Worker(options)
    found: Counter[str] = Counter()
    slowest, largest = (0.0, 0), 0
    for number in range(options.first, options.first + options.cases):
        place, report, took, memory = worker.ask(number)
        slowest, largest = max(slowest, (took, number)), max(largest, memory)
        if place:
            found[place] += 1
            if found[place] == 1:
                files, command = case(sets, options.seed, number)
                keep(options.keep, files, f"{number} {place}", f"{' '.join(command)}\n{report}")
                print(f"{number}: {place}", flush=True)
        if number % 500 == 499:
            print(
                f"-- {number + 1 - options.first} cases, slowest {slowest}, most memory {largest >> 10} MiB",
                flush=True,
            )
    worker.end()
    print(
        f"{options.cases} cases, {sum(found.values())} broken at {len(found)} places, slowest {slowest[0]:.1f} s"
    )
    for place, count in found.most_common():
        print(f"{count:6}  {place}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
