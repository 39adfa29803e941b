"""Captures: progress while trtexec runs, the outcome, and the checks of a machine. Imports no pandas."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from trex_tui._version import __version__
from trex_tui.artifacts.manifest import cut
from trex_tui.capture.doctor import Check
from trex_tui.capture.plan import RunPlan
from trex_tui.capture.process import ProcessOutcome
from trex_tui.capture.run import CaptureResult
from trex_tui.capture.trtexec import Trtexec
from trex_tui.capture.verdict import RunProgress, RunVerdict
from trex_tui.report.document import Document, Section
from trex_tui.text import format_bytes, printable, shorten_middle

HEARTBEAT_S = 30.0
"""Longest silence in a pipe. Builds take hours, and CI systems end jobs that print nothing."""
LONGEST_LINE = 600
"""Characters of the last lines of a log, each of which may be the error; the line below them names the log."""
_MOST_WARNINGS = 20
"""Maximum shown for one run; the log has all."""
_LONGEST_WARNING = 300
_MOST_ERRORS = 8
_ECHO = 3
"""Columns left free, since a terminal prints `^C` at the cursor, which must not start another line."""


def format_clock(seconds: float) -> str:
    """Return `0:07`, `12:34`, `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class CaptureView:
    """Prints stages as they begin, warnings as they arrive, and progress twice a minute; on a terminal one line changes in
    place.

    Args:
        prefix: Beginning of each line: `jetson: ` if several machines or values are captured.
    """

    def __init__(self, stream: TextIO, prefix: str = "") -> None:
        self.stream = stream
        self.prefix = prefix
        self._is_live = stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
        self._is_drawn = False
        self._title = ""
        self._stage = ""
        self._shown_warnings = 0
        self._last_sign_s = 0.0

    def begin(self, run: RunPlan, number: int, total: int) -> None:
        which = f" {run.number}" if run.number > 1 else ""
        self._title = f"[{number}/{total}] {run.role}{which}"
        self._stage, self._shown_warnings, self._last_sign_s = "", 0, 0.0

    def progress(self, seen: RunProgress, elapsed_s: float) -> None:
        for text in seen.warnings[self._shown_warnings : _MOST_WARNINGS]:
            self.say(f"warning: {cut(text, _LONGEST_WARNING)}")
        if self._shown_warnings <= _MOST_WARNINGS < len(seen.warnings):
            self.say("more warnings are in the log")
        self._shown_warnings = max(self._shown_warnings, len(seen.warnings))
        line = f"{self._title}: {format_clock(elapsed_s)} {seen.stage}"
        self._draw(f"{line} · {seen.layer}" if seen.layer else line)
        if seen.stage != self._stage:
            self._stage, self._last_sign_s = seen.stage, elapsed_s
            self.say(line)
        elif elapsed_s - self._last_sign_s >= HEARTBEAT_S and not self._is_live:
            self._last_sign_s = elapsed_s
            self.say(f"{line} · {seen.layer}" if seen.layer else line)

    def end(self, outcome: ProcessOutcome, verdict: RunVerdict) -> None:
        how = "passed" if verdict.passed else "stopped" if outcome.stopped else "failed"
        self.say(f"{self._title}: {format_clock(outcome.wall_s)} {how}")

    def note(self, text: str) -> None:
        self.say(text)

    def say(self, text: str) -> None:
        """Write a line that stays."""
        self._draw("")
        self.write(f"trex-tui: {self.prefix}{printable(text)}\n")

    def write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except OSError:  # A capture is valid even if its messages are lost.
            self.stream, self._is_live = io.StringIO(), False

    def _draw(self, text: str) -> None:
        """Replace the line that changes; an empty text removes it."""
        if not self._is_live or not (text or self._is_drawn):
            return
        width = max(1, shutil.get_terminal_size().columns - _ECHO)
        self._is_drawn = bool(text)
        self.write(f"\r\x1b[K{shorten_middle(printable(self.prefix + text), width) if text else ''}")

    def close(self) -> None:
        """Remove the line that changes."""
        self._draw("")


def describe_build(result: CaptureResult) -> str:
    """Return the size of the engine, and the duration of its build."""
    size = format_bytes(result.engine_bytes) if result.engine_bytes is not None else "size unknown"
    return size if result.build_s is None else f"{size}, built in {format_clock(result.build_s)}"


def list_errors(result: CaptureResult) -> Sequence[str]:
    """Return the first and last errors of trtexec; without any the end of its output."""
    errors = [text for text in dict.fromkeys(result.errors) if text.strip()]
    if len(errors) > _MOST_ERRORS:
        more = len(errors) - _MOST_ERRORS
        errors = [*errors[: _MOST_ERRORS - 1], f"... {more} more errors in the log", errors[-1]]
    return [cut(text, LONGEST_LINE) for text in errors or result.last]


# Doctor


def describe_machine(
    title: str,
    scope: str,
    conclusion: str,
    checks: Sequence[Check],
    program: Trtexec | None,
    host: Mapping[str, Any],
) -> Document:
    """Return the checks of a machine, with what they were made from."""
    width = max((len(check.name) for check in checks), default=0)
    lines = []
    for check in checks:
        lines.append(f"{check.status:<7}  {check.name:<{width}}  {printable(check.found)}")
        if check.remedy:
            lines.append(f"{'':<7}  {'':<{width}}  do: {printable(check.remedy)}")
    known = None
    if program is not None:
        known = {key: getattr(program, key) for key in ("path", "version", "build", "found_by", "devices")}
    data = {
        "trex_tui": __version__,
        "can_capture": scope,
        "summary": conclusion,
        "trtexec": known,
        "host": host,
        "checks": [check._asdict() for check in checks],
    }
    sections = [Section("", sentences=texts, audience="people") for texts in (lines, [conclusion])]
    return Document("doctor", title, sections, data=data, version=2)
