"""Starting on a slow board: `python benchmarks/slow_board.py [PATH] [--share 0.25]`, or `measure.py --slow-board`.

The same measurements as `starting.py`: with all of the machine, on one processor, and with a quarter of one. The quarter is
a quota of the kernel (cgroups, version 2 or 1) where this user may set one; else the program is stopped and continued in
turns, which says less of what it starts itself. Each column of ratios has its floor under the same limit.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from rich.console import Console

from starting import NO_LIMIT, ROOT, Limit, measure_starting

SHARE = 0.25
PERIOD_US = 8000
"""Short: with the usual 100 ms a bare interpreter would end within its first slice, as if there were no limit, and every
ratio to it would be too large. The kernel takes slices of 1 ms and more."""
GROUPS = Path("/sys/fs/cgroup")
JOIN = 'echo $$ >"$0" && exec "$@"'


def one_processor(inner: Limit = NO_LIMIT) -> Limit:
    """The first processor that this process may use."""
    first = min(os.sched_getaffinity(0))
    prefix = ("taskset", "-c", str(first), *inner.prefix)
    return Limit(f"{inner.name}one processor", prefix, inner.hold)


@contextlib.contextmanager
def quarter(share: float = SHARE, groups: Path = GROUPS) -> Iterator[Limit]:
    """So much of a processor, by the best means that this machine has.

    Args:
        share: Between 0 and 1.
        groups: Where cgroups are mounted.
    """
    for parent, write in ((groups, _quota_2), (groups / "cpu", _quota_1)):
        group = parent / f"trex-tui-bench-{os.getpid()}"
        with contextlib.suppress(OSError):
            group.mkdir()
            try:
                write(group, share)
            except OSError:
                group.rmdir()
                continue
            try:
                how = f"{share:g} of a processor (quota of {parent}), "
                yield Limit(how, ("/bin/sh", "-c", JOIN, str(group / "cgroup.procs")))
                return
            finally:
                _remove(group)
    yield Limit(
        f"{share:g} of a processor (stopped in turns), ", (), lambda pid: stopped_in_turns(pid, share)
    )


def _quota_2(group: Path, share: float) -> None:
    _set(group / "cpu.max", f"{round(PERIOD_US * share)} {PERIOD_US}")


def _quota_1(group: Path, share: float) -> None:
    _set(group / "cpu.cfs_period_us", str(PERIOD_US))
    _set(group / "cpu.cfs_quota_us", str(round(PERIOD_US * share)))


def _set(file: Path, value: str) -> None:
    """Write to a file of the kernel, which must be there: what only looks like a cgroup is a directory like any other."""
    with file.open("r+") as opened:
        opened.write(value)


def _remove(group: Path) -> None:
    """A group can be removed when its last process has ended."""
    for _ in range(100):
        with contextlib.suppress(OSError):
            group.rmdir()
            return
        threading.Event().wait(0.05)
    print(f"left behind: {group}", file=sys.stderr)


@contextlib.contextmanager
def stopped_in_turns(pid: int, share: float) -> Iterator[None]:
    """Let a process run for a share of every period only."""
    over = threading.Event()

    def beat() -> None:
        with contextlib.suppress(ProcessLookupError):
            while not over.wait(PERIOD_US / 1e6 * share):
                os.kill(pid, signal.SIGSTOP)
                over.wait(PERIOD_US / 1e6 * (1 - share))
                os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def measure_slow_board(console: Console, path: Path, repeat: int, share: float = SHARE) -> None:
    """Print a table for each limit."""
    console.print(measure_starting(path, repeat))
    console.print(measure_starting(path, repeat, one_processor()))
    with quarter(share) as limit:
        console.print(measure_starting(path, repeat, one_processor(limit)))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", nargs="?", type=Path, default=ROOT / "sample_artifacts" / "alexnet")
    parser.add_argument("--share", type=float, default=SHARE, help="of a processor; default: 0.25")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 120)
    measure_slow_board(console, options.path, options.repeat, options.share)


if __name__ == "__main__":
    main()
