"""The machine that captures: this machine. `remote.py` has the machine over ssh."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from trex_tui.old.capture.clocks import ClockDriver
from trex_tui.old.capture.environment_probe import probe_host
from trex_tui.old.capture.manifest import file_entry
from trex_tui.old.capture.options import CaptureOptions
from trex_tui.old.capture.plan import Names, RunPlan, plan
from trex_tui.old.capture.process import GRACE_S, ProcessOutcome, RunProgress, Stop, run_process
from trex_tui.old.capture.shell import Shell
from trex_tui.old.capture.trtexec import Trtexec
from trex_tui.old.capture.verdict import RunVerdict, judge, read_plan_magic
from trex_tui.old.lazy_dataclass import dataclass


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

    def __init__(self, shell: Shell | None = None, stop: Stop | None = None) -> None:
        self.shell = shell or Shell()
        self.stop = stop

    def plan(self, options: CaptureOptions, trtexec: Trtexec, names: Names) -> tuple[RunPlan, ...]:
        """Return the runs: commands with paths of the machine, files with local paths.

        Raises:
            TrexError: This trtexec does not know an option.
        """
        return plan(options, trtexec, names)

    def prepare(self, engine: Path | None) -> None:
        """Prepare the first run.

        Args:
            engine: Local engine that makes the build unnecessary.

        Raises:
            TrexError: The machine refuses.
        """

    def probe(self, *, with_ids: bool) -> dict[str, Any]:
        """Return the state of the machine; never raises."""
        return probe_host(self.shell, self.stop, with_ids=with_ids).document()

    def clock_driver(self) -> ClockDriver:
        return ClockDriver(self.shell, self.stop)

    def execute(self, argv: Sequence[str], control: RunControl) -> tuple[ProcessOutcome, RunVerdict | None]:
        """Run one command of the machine to its end.

        Returns:
            The outcome; and a verdict if there is nothing to judge because the machine is gone.

        Raises:
            TrexError: The command cannot be run.
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
        """Run to the end and make the written files available locally; otherwise as `execute`.

        Raises:
            TrexError: The command cannot be run.
        """
        return self.execute(run.argv, control)

    def command_line(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Return the local command that runs a planned command on the machine."""
        return argv

    def rescue(self, build: RunPlan) -> dict[str, Any] | None:  # noqa: ARG002 - for other machines
        """Make the engine of a build available locally after a later run failed; return its new manifest entry, if any."""
        return None

    def head(self, engine: Path) -> bytes:
        """Read the first bytes of an engine.

        Raises:
            OSError: The engine cannot be read.
        """
        return read_plan_magic(engine)

    def entry(self, engine: Path) -> dict[str, Any]:
        """Return size and digest of an engine.

        Raises:
            OSError: The engine cannot be read.
        """
        return file_entry(engine)

    def document(self, *, with_ids: bool) -> dict[str, Any] | None:  # noqa: ARG002 - for other machines
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
    return outcome, lost or judge(run, outcome, progress, trtexec, machine.head), progress


def _rss_bytes(pid: int) -> int | None:
    """Return the resident memory of a process from /proc; None if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
        return int(fields[1]) * 4096 or None
    except (OSError, ValueError, IndexError):
        return None
