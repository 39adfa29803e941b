"""Where trtexec runs: what a capture asks of a machine. This one here; another one in `remote.py`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from trex_tui.capture.clocks import Driver, DriverHere
from trex_tui.capture.environment_probe import probe_host
from trex_tui.capture.manifest import file_entry
from trex_tui.capture.options import CaptureOptions
from trex_tui.capture.plan import Names, RunPlan, plan
from trex_tui.capture.process import ProcessOutcome, Stop, run_process
from trex_tui.capture.trtexec import Trtexec
from trex_tui.capture.verdict import RunVerdict, head_of


class Machine(Protocol):
    """A machine that captures."""

    def plan(self, options: CaptureOptions, trtexec: Trtexec, names: Names) -> tuple[RunPlan, ...]:
        """The runs: commands as they run there, files as they lie here.

        Raises:
            TrexError: An option that this trtexec does not know.
        """

    def prepare(self, engine: Path | None) -> None:
        """Before the first run.

        Args:
            engine: One that lies here and makes the build needless.

        Raises:
            TrexError: The machine refuses.
        """

    def probe(self, *, with_ids: bool) -> dict[str, Any]:
        """Its state; never raises."""

    def driver(self) -> Driver:
        """What locks its clocks."""

    def run(
        self,
        one: RunPlan,
        stop: Stop,
        feed: Callable[[bytes], None],
        tick: Callable[[int | None], None],
        *,
        timeout_s: float | None,
        grace_s: float,
    ) -> tuple[ProcessOutcome, RunVerdict | None]:
        """Run to the end, and have here what it wrote; `tick` gets the memory of the process in bytes.

        Returns:
            How it ended; and a verdict where there is nothing to judge because the machine is gone.

        Raises:
            TrexError: It cannot be run.
        """

    def head(self, engine: Path) -> bytes:
        """How an engine begins.

        Raises:
            OSError: It cannot be read.
        """

    def entry(self, engine: Path) -> dict[str, Any]:
        """Size and digest of an engine.

        Raises:
            OSError: It cannot be read.
        """

    def document(self, *, with_ids: bool) -> dict[str, Any] | None:
        """What the manifest is to tell of it; None of this machine."""


class LocalMachine:
    """This machine."""

    def plan(self, options: CaptureOptions, trtexec: Trtexec, names: Names) -> tuple[RunPlan, ...]:
        """The runs."""
        return plan(options, trtexec, names)

    def prepare(self, engine: Path | None) -> None:
        """Nothing to do."""

    def probe(self, *, with_ids: bool) -> dict[str, Any]:
        """Its state."""
        return probe_host(with_ids=with_ids).document()

    def driver(self) -> Driver:
        """Its nvidia-smi."""
        return DriverHere()

    def run(
        self,
        one: RunPlan,
        stop: Stop,
        feed: Callable[[bytes], None],
        tick: Callable[[int | None], None],
        *,
        timeout_s: float | None,
        grace_s: float,
    ) -> tuple[ProcessOutcome, RunVerdict | None]:
        """Run to the end."""

        def tell(pid: int) -> None:
            tick(_rss_bytes(pid))

        return run_process(one.argv, one.log, stop, feed, tell, timeout_s=timeout_s, grace_s=grace_s), None

    def head(self, engine: Path) -> bytes:
        """How an engine begins."""
        return head_of(engine)

    def entry(self, engine: Path) -> dict[str, Any]:
        """Size and digest of an engine."""
        return file_entry(engine)

    def document(self, *, with_ids: bool) -> dict[str, Any] | None:  # noqa: ARG002 - a Place
        """Nothing to tell."""
        return None


def _rss_bytes(pid: int) -> int | None:
    """Resident memory of a process, out of /proc; None of one that has ended."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
        return int(fields[1]) * 4096 or None
    except (OSError, ValueError, IndexError):
        return None
