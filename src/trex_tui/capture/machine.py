"""The machine that captures: this one. `remote.py` has the one at the other end of an ssh connection."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trex_tui.capture.clocks import ClockDriver
from trex_tui.capture.environment_probe import probe_host
from trex_tui.capture.manifest import file_entry
from trex_tui.capture.options import CaptureOptions
from trex_tui.capture.plan import Names, RunPlan, plan
from trex_tui.capture.process import GRACE_S, ProcessOutcome, RunProgress, Stop, run_process
from trex_tui.capture.shell import Shell
from trex_tui.capture.trtexec import Trtexec
from trex_tui.capture.verdict import RunVerdict, judge, read_plan_magic


@dataclass(frozen=True, slots=True)
class RunControl:
    """How the run of a command is followed, and when it is ended.

    Attributes:
        log: Gets the whole output.
        stop: Asks for the end.
        feed: Gets the output too, in pieces as it comes.
        tick: Called with the memory of the process in bytes several times a second; None where it is unknown.
        timeout_s: Longest duration; None is without.
        grace_s: Between SIGTERM and SIGKILL.
    """

    log: Path
    stop: Stop
    feed: Callable[[bytes], None]
    tick: Callable[[int | None], None] = lambda _: None
    timeout_s: float | None = None
    grace_s: float = GRACE_S


class Machine:
    """This machine; the base of those that do the same elsewhere.

    Args:
        shell: Runs the scripts that probe the machine and lock its clocks.
        stop: Ends these scripts; None where nothing does.
    """

    def __init__(self, shell: Shell | None = None, stop: Stop | None = None) -> None:
        self.shell = shell or Shell()
        self.stop = stop

    def plan(self, options: CaptureOptions, trtexec: Trtexec, names: Names) -> tuple[RunPlan, ...]:
        """Return the runs: commands as they run on that machine, files as they lie here.

        Raises:
            TrexError: An option that this trtexec does not know.
        """
        return plan(options, trtexec, names)

    def prepare(self, engine: Path | None) -> None:
        """Get ready for the first run.

        Args:
            engine: One that lies here and makes the build needless.

        Raises:
            TrexError: The machine refuses.
        """

    def probe(self, *, with_ids: bool) -> dict[str, Any]:
        """Return its state; never raises."""
        return probe_host(self.shell, self.stop, with_ids=with_ids).document()

    def clock_driver(self) -> ClockDriver:
        return ClockDriver(self.shell, self.stop)

    def execute(self, argv: Sequence[str], control: RunControl) -> tuple[ProcessOutcome, RunVerdict | None]:
        """Run one command of that machine to its end.

        Returns:
            How it ended; and a verdict where there is nothing to judge because the machine is gone.

        Raises:
            TrexError: It cannot be run.
        """

        def report_memory(pid: int) -> None:
            control.tick(_rss_bytes(pid))

        outcome = run_process(
            argv,
            control.log,
            control.stop,
            control.feed,
            report_memory,
            timeout_s=control.timeout_s,
            grace_s=control.grace_s,
        )
        return outcome, None

    def run(self, run: RunPlan, control: RunControl) -> tuple[ProcessOutcome, RunVerdict | None]:
        """Run to the end, and have here what it wrote; otherwise as `execute`.

        Raises:
            TrexError: It cannot be run.
        """
        return self.execute(run.argv, control)

    def command_line(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Return what runs a planned command on that machine."""
        return argv

    def rescue(self, build: RunPlan) -> dict[str, Any] | None:  # noqa: ARG002 - for other machines
        """Have the engine of a build here after a later run failed; its new entry for the manifest, if there is one."""
        return None

    def head(self, engine: Path) -> bytes:
        """Read how an engine begins.

        Raises:
            OSError: It cannot be read.
        """
        return read_plan_magic(engine)

    def entry(self, engine: Path) -> dict[str, Any]:
        """Return size and digest of an engine.

        Raises:
            OSError: It cannot be read.
        """
        return file_entry(engine)

    def document(self, *, with_ids: bool) -> dict[str, Any] | None:  # noqa: ARG002 - for other machines
        """Describe the machine for the manifest; None of this one."""
        return None


def run_trtexec(
    machine: Machine,
    run: RunPlan,
    trtexec: Trtexec,
    stop: Stop,
    observe: Callable[[RunProgress, float, int | None], None] = lambda *_: None,
    *,
    timeout_s: float | None = None,
    grace_s: float = GRACE_S,
) -> tuple[ProcessOutcome, RunVerdict, RunProgress]:
    """Run trtexec to its end and judge it.

    Args:
        observe: Gets the progress, the seconds since the start, and the memory of the process in bytes.
        timeout_s: Longest duration; None is without.
        grace_s: Between SIGTERM and SIGKILL.

    Raises:
        TrexError: It cannot be run.
    """
    progress, began = RunProgress(), time.monotonic()

    def tick(rss_bytes: int | None) -> None:
        observe(progress, time.monotonic() - began, rss_bytes)

    control = RunControl(run.log, stop, progress.feed, tick, timeout_s, grace_s)
    outcome, lost = machine.run(run, control)
    progress.close()
    observe(progress, outcome.wall_s, None)
    return outcome, lost or judge(run, outcome, progress, trtexec, machine.head), progress


def _rss_bytes(pid: int) -> int | None:
    """Resident memory of a process, out of /proc; None of one that has ended."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
        return int(fields[1]) * 4096 or None
    except (OSError, ValueError, IndexError):
        return None
