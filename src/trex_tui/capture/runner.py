"""The machine that captures: this machine. `remote.py` has the machine over ssh."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trex_tui.artifacts.plan import PlanHead, read_plan_head
from trex_tui.capture.clocks import ClockDriver
from trex_tui.capture.machine import probe_host
from trex_tui.capture.options import CaptureOptions
from trex_tui.capture.plan import RunPlan, make_plan
from trex_tui.capture.process import GRACE_S, ProcessOutcome, Stop, StopRequest, run_process
from trex_tui.capture.progress import RunProgress
from trex_tui.capture.record import describe_file
from trex_tui.capture.shell import Shell
from trex_tui.capture.staging import Names
from trex_tui.capture.trtexec import Trtexec
from trex_tui.capture.verdict import RunVerdict, judge


@dataclass(frozen=True, slots=True)
class RunControl:
    """Callbacks that observe and end a running command.

    Attributes:
        log: Receives the whole output.
        stop: Requests the end.
        feed: Receives the output too, in pieces as they arrive.
        tick: Called several times a second with the memory of the process in bytes; None if unknown.
        timeout_s: Longest duration; None is unlimited.
        grace_s: Time between SIGTERM and SIGKILL.
    """

    log: Path
    stop: Stop
    feed: Callable[[bytes], None]
    tick: Callable[[int | None], None] = lambda _: None
    timeout_s: float | None = None
    grace_s: float = GRACE_S


class Machine:
    """This machine; the base class of other machines.

    Args:
        shell: Runs the scripts that probe the machine and lock its clocks.
        stop: Ends these scripts; None if nothing does.
    """

    def __init__(self, shell: Shell | None = None, stop: StopRequest | None = None) -> None:
        self.shell = shell or Shell()
        self.stop = stop

    def plan(self, options: CaptureOptions, trtexec: Trtexec, names: Names) -> tuple[RunPlan, ...]:
        """Return the runs: commands with paths of the machine, files with local paths.

        Raises:
            TrexError: This trtexec does not know an option.
        """
        return make_plan(options, trtexec, names)

    def prepare(self) -> None:
        """Prepare the first run.

        Raises:
            TrexError: The machine refuses.
        """

    def probe(self) -> dict[str, Any]:
        """Return the state of the machine; never raises."""
        return probe_host(self.shell, self.stop).document()

    def clock_driver(self) -> ClockDriver:
        return ClockDriver(self.shell, self.stop)

    def run(self, run: RunPlan, control: RunControl) -> tuple[ProcessOutcome, RunVerdict | None]:
        """Run one command to its end and make the written files available locally.

        Returns:
            The outcome; and a verdict if there is nothing to judge because the machine is gone.

        Raises:
            TrexError: The command cannot be run.
        """

        def report_memory(pid: int) -> None:
            control.tick(_read_rss_bytes(pid))

        outcome = run_process(
            run.argv,
            control.log,
            control.stop,
            control.feed,
            report_memory,
            timeout_s=control.timeout_s,
            grace_s=control.grace_s,
        )
        return outcome, None

    def rescue(self, build: RunPlan) -> dict[str, Any]:  # noqa: ARG002 - for other machines
        """Make the engine of a build available locally after a later run failed; return its new manifest entry, if any."""
        return {}

    def read_head(self, engine: Path) -> PlanHead | None:
        """Read the head of an engine.

        Raises:
            OSError: The engine cannot be read.
        """
        return read_plan_head(engine)

    def describe_engine(self, engine: Path) -> dict[str, Any]:
        """Return size and digest of an engine.

        Raises:
            OSError: The engine cannot be read.
        """
        return describe_file(engine)

    def document(self) -> dict[str, Any] | None:
        """Return the machine for the manifest; None for this machine."""
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
    """Run trtexec to its end and judge the run.

    Args:
        observe: Receives progress, seconds since the start, and the memory of the process in bytes.
        timeout_s: Longest duration; None is unlimited.
        grace_s: Time between SIGTERM and SIGKILL.

    Raises:
        TrexError: trtexec cannot be run.
    """
    progress, began = RunProgress(), time.monotonic()

    def tick(rss_bytes: int | None) -> None:
        observe(progress, time.monotonic() - began, rss_bytes)

    control = RunControl(run.log, stop, progress.feed, tick, timeout_s, grace_s)
    outcome, lost = machine.run(run, control)
    progress.close()
    observe(progress, outcome.wall_s, None)
    return outcome, lost or judge(run, outcome, progress, trtexec, machine.read_head), progress


def _read_rss_bytes(pid: int) -> int | None:
    """Return the resident memory of a process from /proc; None if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
        return int(fields[1]) * 4096 or None
    except (OSError, ValueError, IndexError):
        return None
