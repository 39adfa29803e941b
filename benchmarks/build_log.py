"""How fast a long verbose build log is read, and how much memory it takes.

The log is made of the blocks of real ones in which TensorRT 8.4, 8.6 and 10.16 time tactics, repeated up to the size that is
asked for: `python benchmarks/build_log.py 300` for 300 MB. It is read three ways: all but the tactics (the outline, which
opening a set of files takes), the whole, and the whole with every tactic looked at, as an object. Floors are measured beside
it: a loop that only iterates the lines of the file opened as text, one that decodes line by line, and one that only iterates
the lines that the reader itself makes (packed and UTF-16 files, lines without end).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from trex_tui.old.buildlog import read_build_log
from trex_tui.old.buildlog.lines import ReadState, read_lines
from trex_tui.old.buildlog.reader import read_outline

LOGS = Path(__file__).resolve().parent.parent.parent / "shared" / "artifacts" / "logs"
NAMES = (
    "trt8.4.1_GTX1070_build_verbose_fp16_dynshape.log",
    "trt8.6.0_RTX3090_build_verbose_fp16_dynshape_skipInference.log",
    "trt10.16.1_H100_build_verbose_onnx_fp16_dynshape.log",
)
_FIRST, _LAST = b"=============== Computing", b"Formats and tactics selection completed"


def parts_of(path: Path) -> tuple[bytes, bytes, bytes]:
    """What stands before the tuning, the tuning, and what stands behind."""
    lines = path.read_bytes().splitlines(keepends=True)
    first = next(place for place, line in enumerate(lines) if _FIRST in line)
    last = max(place for place, line in enumerate(lines) if _LAST in line)
    return b"".join(lines[:first]), b"".join(lines[first : last + 1]), b"".join(lines[last + 1 :])


def write_log(path: Path, size: int) -> int:
    """Write a log of about `size` bytes; return how many blocks of each real log it holds."""
    parts = [parts_of(LOGS / name) for name in NAMES]
    head, _, tail = parts[-1]
    block = b"".join(tuning for _, tuning, _ in parts)
    count = max((size - len(head) - len(tail)) // len(block), 1)
    with path.open("wb") as file:
        file.write(head)
        for _ in range(count):
            file.write(block)
        file.write(tail)
    return count


def seconds_of(job: Callable[[], object], repeats: int = 3) -> float:
    """Processor time of the fastest of several runs."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        job()
        times.append(time.process_time() - began)
    return min(times)


def iterate_text(path: Path) -> None:
    with path.open(encoding="utf-8", errors="replace") as file:
        for _ in file:
            pass


def iterate_decoded(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            line.decode("utf-8", errors="replace")


def iterate_pieces(path: Path) -> None:
    for lines in read_lines(path, ReadState()):
        for _ in lines:
            pass


def read_everything(path: Path) -> None:
    """Read the whole, and make an object of every tactic and every row of Myelin's."""
    trace = read_build_log(path)
    combinations = [each for one in trace.tunings for each in one.combinations]
    for one in (*combinations, *(cost.combination for cost in trace.reformat_costs)):
        for trial in one.runners:
            for _ in trial.tactics:
                pass
            for table in trial.myelin:
                for _ in table.tactics:
                    pass


def peak_mib(path: Path, reader: str) -> tuple[float, int]:
    """Peak memory (Linux tells it) of a process that reads the log and keeps the result, and how many tactics that holds.

    Args:
        reader: Module and function that reads.
    """
    module, function = reader.rsplit(".", 1)
    code = (
        f"import sys\nfrom pathlib import Path\nfrom {module} import {function}\n"
        f"trace = {function}(Path(sys.argv[1]))\n"
        "status = Path('/proc/self/status').read_text()\n"  # what getrusage tells begins with the parent's
        "print(int(status.split('VmHWM:')[1].split()[0]) / 1024, sum(t.tactic_count for t in trace.tunings))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True)
    peak, count = done.stdout.split()
    return float(peak), int(count)


def measure_build_log(megabytes: int = 30) -> None:
    """Print the figures for one size."""
    if not LOGS.is_dir():
        print(f"build log: no real logs at {LOGS}; skipped")
        return
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "long.build.log"
        blocks = write_log(path, megabytes * 10**6)
        size = path.stat().st_size / 1e6
        floors = {
            "text": seconds_of(lambda: iterate_text(path)),
            "decoded": seconds_of(lambda: iterate_decoded(path)),
            "pieces": seconds_of(lambda: iterate_pieces(path)),
        }
        print(f"build log of {size:.0f} MB, {blocks} x {len(NAMES)} real blocks")
        for name, floor in floors.items():
            print(f"  floor, {name:8}: {floor:6.2f} s")
        ways: dict[str, Callable[[Path], object]] = {
            "all but tactics": read_outline,
            "whole": read_build_log,
            "whole, looked at": read_everything,
        }
        for name, way in ways.items():
            ours = seconds_of(partial(way, path), repeats=2)
            print(
                f"  {name:16}: {ours:6.2f} s, {size / ours:5.0f} MB/s, {ours / floors['text']:5.1f} x the text loop"
            )
        for name, reader in (("all but tactics", read_outline), ("whole", read_build_log)):
            peak, tactics = peak_mib(path, f"{reader.__module__}.{reader.__name__}")
            print(f"  {name:16}: peak memory {peak:.0f} MiB, {tactics} tactics of layers kept")


if __name__ == "__main__":
    measure_build_log(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
