"""Damage real artifacts in every way, and look whether all readers and reports bear it.

    python scripts/fuzz.py [--cases 10000] [--seed 1] [--first 0] [--jobs 1] [--minutes 0] [--seconds 20]
                           [--memory-mib 1024] [--keep DIR] [--quick | --commands] [PATH ...]

Each case is a set of files that follows from the seed and its number alone: cut, flipped, spliced or encoded otherwise,
with values swapped, of wrong types, huge or nested deeply, with keys twice and NUL. A process looks at many cases, with a
limit of time and of memory for each; one that does not answer is ended, which is a finding too. What breaks is kept once
for each place in the code, in a directory: the files as they were, and the traceback. At the end, or after Ctrl-C, stands a
table: tried and failed, by command.
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
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fuzzing.damage import Files, damaged
from trex_tui.old import crash_log
from trex_tui.old.cli import parser

ROOT = Path(__file__).resolve().parent.parent
PRODUCERS = ROOT / "scripts" / "fuzzing" / "producers"
"""Small sets in the forms of other programs, of which no real files are at hand."""
MOST_ENTRIES = 24
MOST_LINES = 200
VARIANTS = 20
"""Smaller sets of each."""
WHOLE_SETS = 0.2
"""How often a set to splice from has its full size."""
ENDINGS = (".json", ".log", ".csv")


class TakesTooLongError(BaseException):
    """Not an `Exception`: nothing on the way may take it for its own."""


def base_sets(paths: list[Path]) -> list[Files]:
    """The files of each directory."""
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


class Bases:
    """The sets that are damaged, and a number of smaller ones of each."""

    def __init__(self, paths: list[Path]) -> None:
        self._sets = base_sets(paths)
        self._smaller: dict[int, list[Files]] = {}

    def choose(self, rng: random.Random) -> Files:
        """A smaller set."""
        index, variant = rng.randrange(len(self._sets)), rng.randrange(VARIANTS)
        if index not in self._smaller:
            self._smaller[index] = smaller_sets(self._sets[index], random.Random(index))
        return self._smaller[index][variant]

    def damage(self, files: Files, rng: random.Random) -> Files:
        """The files with damage, which may take parts of other sets."""
        return damaged(files, self._choose_other, rng)

    def _choose_other(self, rng: random.Random) -> Files:
        return rng.choice(self._sets) if rng.random() < WHOLE_SETS else self.choose(rng)


def smaller_sets(files: Files, rng: random.Random) -> list[Files]:
    """The same set with a few layers, rows and lines, which stand where they stood, several times."""
    # A case takes milliseconds, and to parse an engine takes longer: once for all variants.
    starts = [rng.random() for _ in range(VARIANTS)]
    sets: list[Files] = [{} for _ in starts]
    for name, data in files.items():
        cut = _cut_json(data) if name.endswith(".json") else _cut_log(data)
        for smaller, start in zip(sets, starts, strict=True):
            smaller[name] = cut(start)
    return sets


def _cut_log(data: bytes) -> Callable[[float], bytes]:
    lines = data.split(b"\n")

    def cut(start: float) -> bytes:
        first = int(start * max(1, len(lines) - MOST_LINES))
        return b"\n".join([*lines[:3], *lines[first : first + MOST_LINES], *lines[-3:]])

    return cut


def _cut_json(data: bytes) -> Callable[[float], bytes]:
    try:
        root = json.loads(data, strict=False)
    except ValueError:
        return lambda _: data[:20_000]
    layers = root.get("Layers") if isinstance(root, dict) else root

    def write(value: object) -> bytes:
        return json.dumps(value, separators=(",\n", ": "), ensure_ascii=False).encode(
            "utf-8", errors="replace"
        )

    if not isinstance(layers, list) or len(layers) <= MOST_ENTRIES:
        written = write(root)
        return lambda _: written

    def cut(start: float) -> bytes:
        first = int(start * (len(layers) - MOST_ENTRIES))
        few = [*layers[:1], *layers[max(1, first) : first + MOST_ENTRIES]]
        return write({**root, "Layers": few} if isinstance(root, dict) else few)

    return cut


@dataclass(frozen=True, slots=True)
class Case:
    """A damaged set and what is done with it.

    Attributes:
        whole: The set before the damage.
        command: Of `examining.COMMANDS`, or with `--commands` of `examining.list_commands()`.
    """

    whole: Files
    files: Files
    command: tuple[str, ...]


def make_case(bases: Bases, seed: int, number: int, *, is_command: bool) -> Case:
    """A case; all of it follows from seed and number."""
    from fuzzing.examining import COMMANDS, list_commands

    rng = random.Random(f"{seed}/{number}")
    whole = bases.choose(rng)
    return Case(whole, bases.damage(whole, rng), rng.choice(list_commands() if is_command else COMMANDS))


def outcome(case: Case, options: argparse.Namespace) -> tuple[str, str]:
    """Where it broke (empty if nowhere), and all about it."""
    from fuzzing.examining import examine, examine_command

    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=_MEMORY if _MEMORY.is_dir() else None) as directory:
        folder, whole = Path(directory, "set"), Path(directory, "whole")
        _write(folder, case.files)
        signal.setitimer(signal.ITIMER_PROF, options.seconds)
        try:
            if options.commands:
                if case.command[0] == "diff":
                    _write(whole, case.whole)
                examine_command(folder, whole, Path(directory, "out"), case.command)
            else:
                examine(folder, case.command, thorough=not options.quick)
        except (Exception, TakesTooLongError) as error:  # noqa: BLE001 - that is what is looked for
            signal.setitimer(signal.ITIMER_PROF, 0)
            return _place(error), "".join(traceback.format_exception(error)).replace(directory, "DIR")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return "", ""


_MEMORY = Path("/dev/shm")


def _write(folder: Path, files: Files) -> None:
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def _place(error: BaseException) -> str:
    frames = [one for one in traceback.extract_tb(error.__traceback__) if "trex_tui" in one.filename]
    last = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "outside"
    said = str(error).split(":")[0][:50] if type(error).__name__ == "BrokenContractError" else ""
    return " ".join(f"{type(error).__name__} {last} {said}".split())


def _too_long(*_: object) -> None:
    raise TakesTooLongError


def work(pipe: Connection, options: argparse.Namespace) -> None:
    """A process that takes numbers of cases and gives what became of them."""
    import fuzzing.examining  # noqa: F401 - what it imports counts before the limit

    warnings.simplefilter("error")
    if options.commands:
        os.environ["TREX_TUI_LOG"] = ""
        os.environ["PATH"] = ""  # Graphviz and librsvg take ten times as long as a case
        crash_log.report = _raise
        parser.build_parser = lru_cache(parser.build_parser)  # half of the time of a case
    signal.signal(signal.SIGPROF, _too_long)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # It is for the process that asks.
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + options.memory_mib * 2**20, resource.RLIM_INFINITY))
    bases = Bases(options.paths)
    os.chdir("/")  # no configuration of the current directory
    while True:
        number = pipe.recv()
        if number is None:
            return
        started = time.perf_counter()
        case = make_case(bases, options.seed, number, is_command=options.commands)
        place, report = outcome(case, options)
        took = time.perf_counter() - started
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        pipe.send(Answer(number, " ".join(case.command), place, report, took, memory))


def _raise(error: Exception) -> int:
    """In place of the line that a person gets for an internal error: the traceback tells where it broke."""
    raise error


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a case.

    Attributes:
        place: Where it broke; empty if nowhere.
        memory_kib: The most of the process so far.
    """

    number: int
    command: str
    place: str
    report: str = ""
    seconds: float = 0.0
    memory_kib: int = 0


def keep(directory: Path, case: Case, answer: Answer) -> None:
    """The files of a case, and what became of them."""
    name = f"{answer.number} {answer.place}"
    folder = directory / "".join(char if char.isalnum() or char in "._" else "-" for char in name)
    folder.mkdir(parents=True, exist_ok=True)
    for file, data in case.files.items():
        (folder / file).write_bytes(data)
    (folder / "report.txt").write_text(f"{answer.command}\n{answer.report}", errors="backslashreplace")


MOST_CASES = 2000
"""Cases of one process: what it keeps of all names that it has seen would count as the memory of a late case."""


class Worker:
    """The process, and a new one where it had to be ended or has done its share."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self._context = multiprocessing.get_context("spawn")
        self._start()

    def _start(self) -> None:
        self._done = 0
        self._pipe, theirs = self._context.Pipe()
        self._process = self._context.Process(target=work, args=(theirs, self.options), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, number: int) -> Answer:
        if self._done == MOST_CASES:
            self.end()
            self._start()
        self._done += 1
        try:
            self._pipe.send(number)
            if self._pipe.poll(10 * self.options.seconds + 60):
                answer: Answer = self._pipe.recv()
                return answer
            place = "does not answer"
        except (EOFError, ConnectionError):
            place = "the process died"
        self.end()
        self._start()
        return Answer(number, "", f"{place} {number}")

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()


class Results:
    """What became of all cases so far; threads add to it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._bases = Bases(options.paths)
        self._lock = threading.Lock()
        self._tried: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._places: Counter[str] = Counter()
        self._slowest = Answer(0, "", "")
        self._memory_kib = 0

    @property
    def is_clean(self) -> bool:
        return not self._places

    def add(self, answer: Answer) -> None:
        with self._lock:
            self._tried[answer.command] += 1
            self._slowest = max(self._slowest, answer, key=lambda each: each.seconds)
            self._memory_kib = max(self._memory_kib, answer.memory_kib)
            if answer.place:
                self._failed[answer.command] += 1
                self._places[answer.place] += 1
                if self._places[answer.place] == 1:
                    options = self._options
                    case = make_case(self._bases, options.seed, answer.number, is_command=options.commands)
                    keep(options.keep, case, answer)
                    print(f"{answer.number}: {answer.place}", flush=True)
            if self._tried.total() % 1000 == 0:
                print(f"-- {self._tried.total()} cases", flush=True)

    def print_table(self) -> None:
        print(f"{'tried':>8} {'failed':>8}  command")
        for command, count in sorted(self._tried.items()):
            print(f"{count:8} {self._failed[command]:8}  {command or '(ended)'}")
        slowest = f"slowest {self._slowest.seconds:.1f} s (case {self._slowest.number})"
        memory = f"most memory {self._memory_kib >> 10} MiB"
        print(f"{self._tried.total():8} {self._failed.total():8}  all; {slowest}, {memory}")
        for place, count in self._places.most_common():
            print(f"{count:17}  {place}")


def main() -> None:
    """Run the cases and print what was found."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    artifacts = Path(os.environ.get("TREX_TUI_ARTIFACTS") or ROOT.parent / "shared" / "artifacts")
    arguments.add_argument(
        "paths", nargs="*", type=Path, default=[artifacts, ROOT / "sample_artifacts", PRODUCERS]
    )
    arguments.add_argument("--cases", type=int, default=10_000)
    arguments.add_argument("--first", type=int, default=0, help="number of the first case")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--jobs", type=int, default=1, help="processes")
    arguments.add_argument("--minutes", type=float, default=0, help="begin no case later; 0: no limit")
    arguments.add_argument("--seconds", type=float, default=20, help="processor time that a case may take")
    arguments.add_argument("--memory-mib", type=int, default=1024, help="the most that a case may take")
    arguments.add_argument("--keep", type=Path, default=Path("fuzz-findings"))
    how = arguments.add_mutually_exclusive_group()
    how.add_argument(
        "--quick", action="store_true", help="readers, summary and lint only: ten times as many cases"
    )
    how.add_argument(
        "--commands", action="store_true", help="one command in one format per case, of every one there is"
    )
    options = arguments.parse_args()
    options.paths = [path.resolve() for path in options.paths]
    results = Results(options)
    end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    stopped = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: stopped.set())

    def run_share(index: int) -> None:
        worker = Worker(options)
        for number in range(options.first + index, options.first + options.cases, options.jobs):
            if stopped.is_set() or time.monotonic() > end:
                break
            results.add(worker.ask(number))
        worker.end()

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(run_share, range(options.jobs)))
    results.print_table()
    sys.exit(not results.is_clean)


if __name__ == "__main__":
    main()
