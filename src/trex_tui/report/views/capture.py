"""What a person sees while trtexec runs: a live view on a terminal, plain lines in a pipe."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from trex_tui.artifacts.capture_manifest import cut
from trex_tui.text import format_bytes, format_count, plural, printable

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

    from trex_tui.capture.plan import RunPlan
    from trex_tui.capture.process import ProcessOutcome, RunProgress
    from trex_tui.capture.verdict import RunVerdict

MOST_WARNINGS = 20
"""Shown of one run; the log has all."""
LONGEST_WARNING = 300
"""Characters shown of one; a few lines of a terminal."""
LONGEST_LINE = 600
"""Of the last lines of a log, where each may be the error; that the whole is in the log is said below them."""
HEARTBEAT_S = 60.0
"""In a pipe: how long there may be silence. Builds take hours."""
_MIB = 1 << 20
_ECHO = 3
"""Columns left free, for a terminal prints `^C` where the cursor is: it must not begin another line."""


def make_view(stream: TextIO) -> CaptureView:
    """The view that suits the stream."""
    live = stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
    return LiveView(stream) if live else CaptureView(stream)


def clock(seconds: float) -> str:
    """`0:07`, `12:34`, `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class CaptureView(AbstractContextManager["CaptureView"]):
    """Plain lines: stages as they begin, warnings as they come, and a sign of life once a minute.

    Args:
        prefix: What begins each line: `jetson: ` where several machines capture.
    """

    def __init__(self, stream: TextIO, prefix: str = "") -> None:
        self.stream = stream
        self.prefix = prefix
        self.title = ""
        self.stage = ""
        self.told = 0
        self.last_sign_s = 0.0

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stream.flush()

    def begin(self, run: RunPlan, number: int, total: int) -> None:
        which = f" {run.number}" if run.number > 1 else ""
        self.title = f"[{number}/{total}] {run.role}{which}"
        self.stage, self.told, self.last_sign_s = "", 0, 0.0

    def progress(self, seen: RunProgress, elapsed_s: float, rss_bytes: int | None) -> None:
        self._warn(seen)
        if seen.stage != self.stage:
            self.stage = seen.stage
            self.last_sign_s = elapsed_s
            self.say(f"{self.title}: {clock(elapsed_s)} {seen.stage}")
        elif elapsed_s - self.last_sign_s >= HEARTBEAT_S:
            self.last_sign_s = elapsed_s
            self.say(f"{self.title}: {clock(elapsed_s)} {' · '.join(facts(seen, rss_bytes))}")

    def end(self, outcome: ProcessOutcome, verdict: RunVerdict) -> None:
        how = "passed" if verdict.passed else verdict.sentence
        self.say(f"{self.title}: {clock(outcome.wall_s)} {how}")

    def note(self, text: str) -> None:
        self.say(text)

    def say(self, text: str) -> None:
        self.stream.write(f"trex-tui: {self.prefix}{printable(text)}\n")
        self.stream.flush()

    def _warn(self, seen: RunProgress) -> None:
        for text in seen.warnings[self.told : MOST_WARNINGS]:
            self.warn(f"warning: {cut(text, LONGEST_WARNING)}")
        if self.told <= MOST_WARNINGS < len(seen.warnings):
            self.warn("more warnings are in the log")
        self.told = max(self.told, len(seen.warnings))

    def warn(self, text: str) -> None:
        self.say(text)


def facts(seen: RunProgress, rss_bytes: int | None) -> list[str]:
    """How far it is: stage, layer, tactics, memory."""
    words = [seen.stage]
    if seen.layer:
        words.append(seen.layer)
    if seen.tactics:
        words.append(f"{format_count(seen.tactics)} {'tactic' if seen.tactics == 1 else 'tactics'} timed")
    if rss_bytes is not None:
        words.append(f"{format_bytes(rss_bytes)} host")
    elif seen.cpu_mib is not None:  # of another machine its log tells
        words.append(f"{format_bytes(seen.cpu_mib * _MIB)} host")
    if seen.gpu_mib is not None:
        words.append(f"{format_bytes(seen.gpu_mib * _MIB)} GPU")
    return words


class LiveView(CaptureView):
    """Three lines that change in place; what stays is written above them."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        from rich.console import Console

        self.console = Console(file=stream, markup=False, highlight=False, emoji=False)
        self.live: Live | None = None

    def begin(self, run: RunPlan, number: int, total: int) -> None:
        from rich.live import Live

        super().begin(run, number, total)
        self.live = Live(console=self.console, refresh_per_second=8, transient=True, auto_refresh=False)
        self.live.start()

    def progress(self, seen: RunProgress, elapsed_s: float, rss_bytes: int | None) -> None:
        self._warn(seen)
        if self.live is not None:
            from rich.constrain import Constrain

            lines = self._lines(seen, elapsed_s, rss_bytes)
            self.live.update(Constrain(lines, max(1, self.console.width - _ECHO)), refresh=True)

    def _lines(self, seen: RunProgress, elapsed_s: float, rss_bytes: int | None) -> Text:
        from rich.text import Text

        lines = Text(f"{self.title}  {clock(elapsed_s)}  ", style="bold", no_wrap=True, overflow="ellipsis")
        lines.append(f"{seen.stage}\n", style="not bold")
        lines.append(f"  {printable(seen.layer)}\n", style="not bold dim")
        words = [one for one in facts(seen, rss_bytes) if one not in (seen.layer, seen.stage)]
        if seen.warnings:
            words.append(plural(len(seen.warnings), "warning"))
        lines.append("  " + " · ".join(words), style="not bold")
        return lines

    def end(self, outcome: ProcessOutcome, verdict: RunVerdict) -> None:
        self._close()
        super().end(outcome, verdict)

    def say(self, text: str) -> None:
        self._print(f"trex-tui: {printable(text)}", "")

    def warn(self, text: str) -> None:
        self._print(printable(text), "yellow")

    def _print(self, text: str, style: str) -> None:
        from rich.text import Text

        self.console.print(Text(text, style=style), soft_wrap=True)

    def _close(self) -> None:
        if self.live is not None:
            self.live.stop()
            self.live = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
