"""Captures without the command line: a request, and a view that takes notes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fake_trtexec.kit
from fake_trtexec import install
from trex_tui.capture.options import CaptureOptions
from trex_tui.capture.plan import RunPlan
from trex_tui.capture.process import ProcessOutcome, Stop
from trex_tui.capture.run import CaptureRequest, CaptureResult, capture
from trex_tui.capture.trtexec import Trtexec, ask
from trex_tui.capture.verdict import RunProgress, RunVerdict

_OF_REQUEST = (
    *("outdir", "name", "force", "timeout_s", "grace_s", "lock_clocks"),
    "monitor_ms",
)


@dataclass
class Notes:
    """A view that writes down what it is told, and may act when something happens."""

    lines: list[str] = field(default_factory=list)
    on_progress: Callable[[RunProgress], None] = lambda _: None

    def begin(self, run: RunPlan, place: int, total: int) -> None:
        self.lines.append(f"begin {place}/{total} {run.role} {run.number}")

    def progress(self, seen: RunProgress, elapsed_s: float) -> None:  # noqa: ARG002 - a view
        self.on_progress(seen)

    def end(self, outcome: ProcessOutcome, verdict: RunVerdict) -> None:  # noqa: ARG002 - a view
        self.lines.append(f"end {'passed' if verdict.passed else verdict.key}")

    def note(self, text: str) -> None:
        self.lines.append(f"note {text}")


class Bench(fake_trtexec.kit.Bench):
    """A place to capture in, with what a test wants of a capture."""

    def __init__(self, place: Path, programs: Callable[[str], Trtexec]) -> None:
        super().__init__(place, programs)
        self.notes = Notes()

    def request(self, *, engine: Path | None = None, **more: Any) -> CaptureRequest:
        """Fields of the request and of `CaptureOptions`, mixed."""
        of_request = {key: more.pop(key) for key in _OF_REQUEST if key in more}
        model: dict[str, Any] = {"engine": str(engine)} if engine else {"onnx": str(self.model)}
        options = CaptureOptions(**{**model, **more})
        return CaptureRequest(options, **{"outdir": self.outdir, "name": "net", "grace_s": 0.2, **of_request})

    def capture(self, version: str = "10.4.0", stop: Stop | None = None, **more: Any) -> CaptureResult:
        own = stop or Stop()
        self.notes = Notes(on_progress=self.notes.on_progress)
        try:
            return capture(self.request(**more), self.programs(version), own, self.notes)
        finally:
            if stop is None:
                own.close()


def programs_in(directory: Path) -> Callable[[str], Trtexec]:
    """Installs a release when it is first asked for."""
    known: dict[str, Trtexec] = {}

    def program(version: str) -> Trtexec:
        if version not in known:
            known[version] = ask(install(directory / version, version), "test")
        return known[version]

    return program
