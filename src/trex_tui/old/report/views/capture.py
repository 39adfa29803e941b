"""Output while trtexec runs: a live view on a terminal, plain lines in a pipe; and the card at the end."""

from __future__ import annotations

import io
import os
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from trex_tui.old.artifacts.capture_manifest import cut
from trex_tui.old.report.document import format_number
from trex_tui.old.text import format_bytes, format_count, format_ms, plural, printable

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

    from trex_tui.old.capture.plan import RunPlan
    from trex_tui.old.capture.process import ProcessOutcome, RunProgress
    from trex_tui.old.capture.run import CaptureResult
    from trex_tui.old.capture.verdict import RunVerdict
    from trex_tui.old.engine.engine import Engine

MOST_WARNINGS = 20
"""Maximum shown for one run; the log has all."""
LONGEST_WARNING = 300
"""Characters shown of one warning; a few lines of a terminal."""
LONGEST_LINE = 600
"""Characters of the last lines of a log, each of which may be the error; the line below them names the log."""
HEARTBEAT_S = 30.0
"""Longest silence in a pipe. Builds take hours, and CI systems end jobs that print nothing."""
_MIB = 1 << 20
_ECHO = 3
"""Columns left free, since a terminal prints `^C` at the cursor, which must not start another line."""


def make_view(stream: TextIO, prefix: str = "") -> CaptureView:
    """Return the view for the stream; `prefix` begins each line."""
    live = stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
    return LiveView(stream, prefix) if live else CaptureView(stream, prefix)


def clock(seconds: float) -> str:
    """Return `0:07`, `12:34`, `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def remaining(elapsed_s: float, expected_s: float | None) -> str:
    """Return the remaining time by the duration of the previous run; empty if unknown or exceeded."""
    if expected_s is None:
        return ""
    if elapsed_s < expected_s:
        return f"about {clock(expected_s - elapsed_s)} left"
    return f"last time {clock(expected_s)}"


def transfer_text(what: str, done_bytes: int, total_bytes: int, elapsed_s: float) -> str:
    """Return `sending net.onnx: 43 % · 11.2 MiB/s · 1:20 left`; rate and remaining time after the first second."""
    words = [f"{what}: {100 * done_bytes // max(1, total_bytes)} %"]
    if elapsed_s >= 1 and done_bytes:
        rate = done_bytes / elapsed_s
        words += [f"{format_bytes(rate)}/s", f"{clock((total_bytes - done_bytes) / rate)} left"]
    return " · ".join(words)


class CaptureView(AbstractContextManager["CaptureView"]):
    """Prints plain lines: stages as they begin, warnings as they arrive, and progress twice a minute.

    Args:
        prefix: Beginning of each line: `jetson: ` if several machines capture.
    """

    def __init__(self, stream: TextIO, prefix: str = "") -> None:
        self.stream = stream
        self.prefix = prefix
        self.title = ""
        self.stage = ""
        self.told = 0
        self.last_sign_s = 0.0
        self.expected_s: float | None = None
        self.transfer = ""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stream.flush()

    def begin(self, run: RunPlan, number: int, total: int, expected_s: float | None) -> None:
        which = f" {run.number}" if run.number > 1 else ""
        self.expected_s = expected_s
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
            words = [*facts(seen, rss_bytes), remaining(elapsed_s, self.expected_s)]
            self.say(f"{self.title}: {clock(elapsed_s)} {' · '.join(filter(None, words))}")

    def transferring(self, what: str, done_bytes: int, total_bytes: int, elapsed_s: float) -> None:
        if self.transfer != what:
            self.transfer, self.last_sign_s = what, 0.0
            self.say(f"{what} ({format_bytes(total_bytes)})")
        elif elapsed_s - self.last_sign_s >= HEARTBEAT_S:
            self.last_sign_s = elapsed_s
            self.say(transfer_text(what, done_bytes, total_bytes, elapsed_s))

    def end(self, outcome: ProcessOutcome, verdict: RunVerdict) -> None:
        how = "passed" if verdict.passed else verdict.sentence
        self.say(f"{self.title}: {clock(outcome.wall_s)} {how}")

    def note(self, text: str) -> None:
        self.say(text)

    def say(self, text: str) -> None:
        try:
            self.stream.write(f"trex-tui: {self.prefix}{printable(text)}\n")
            self.stream.flush()
        except OSError:  # A capture is valid even if its messages are lost.
            self.stream = io.StringIO()

    def _warn(self, seen: RunProgress) -> None:
        for text in seen.warnings[self.told : MOST_WARNINGS]:
            self.warn(f"warning: {cut(text, LONGEST_WARNING)}")
        if self.told <= MOST_WARNINGS < len(seen.warnings):
            self.warn("more warnings are in the log")
        self.told = max(self.told, len(seen.warnings))

    def warn(self, text: str) -> None:
        self.say(text)


def facts(seen: RunProgress, rss_bytes: int | None) -> list[str]:
    """Return the progress: stage, layer, tactics, memory."""
    words = [seen.stage]
    if seen.layer:
        words.append(seen.layer)
    if seen.tactics:
        words.append(f"{format_count(seen.tactics)} {'tactic' if seen.tactics == 1 else 'tactics'} timed")
    if rss_bytes is not None:
        words.append(f"{format_bytes(rss_bytes)} host")
    elif seen.cpu_mib is not None:  # of another machine, from its log
        words.append(f"{format_bytes(seen.cpu_mib * _MIB)} host")
    if seen.gpu_mib is not None:
        words.append(f"{format_bytes(seen.gpu_mib * _MIB)} GPU")
    return words


class LiveView(CaptureView):
    """Three lines that change in place; permanent lines are written above them."""

    def __init__(self, stream: TextIO, prefix: str = "") -> None:
        super().__init__(stream, prefix)
        from rich.console import Console

        self.console = Console(file=stream, markup=False, highlight=False, emoji=False)
        self.live: Live | None = None

    def begin(self, run: RunPlan, number: int, total: int, expected_s: float | None) -> None:
        super().begin(run, number, total, expected_s)
        self._open()

    def _open(self) -> None:
        from rich.live import Live

        self.live = Live(console=self.console, refresh_per_second=8, transient=True, auto_refresh=False)
        self.live.start()

    def progress(self, seen: RunProgress, elapsed_s: float, rss_bytes: int | None) -> None:
        self._warn(seen)
        if self.live is not None:
            self._draw(self._lines(seen, elapsed_s, rss_bytes))

    def _draw(self, lines: Text) -> None:
        from rich.constrain import Constrain

        if self.live is not None:
            self.live.update(Constrain(lines, max(1, self.console.width - _ECHO)), refresh=True)

    def transferring(self, what: str, done_bytes: int, total_bytes: int, elapsed_s: float) -> None:
        from rich.text import Text

        super().transferring(what, done_bytes, total_bytes, 0.0)
        if done_bytes >= total_bytes:
            self._close()
            return
        if self.live is None:
            self._open()
        words = printable(transfer_text(what, done_bytes, total_bytes, elapsed_s))
        self._draw(Text(f"{self.prefix}{words}", no_wrap=True, overflow="ellipsis"))

    def _lines(self, seen: RunProgress, elapsed_s: float, rss_bytes: int | None) -> Text:
        from rich.text import Text

        heading = f"{self.prefix}{self.title}  {clock(elapsed_s)}  "
        lines = Text(heading, style="bold", no_wrap=True, overflow="ellipsis")
        lines.append(f"{seen.stage}\n", style="not bold")
        lines.append(f"  {printable(seen.layer)}\n", style="not bold dim")
        words = [fact for fact in facts(seen, rss_bytes) if fact not in (seen.layer, seen.stage)]
        if seen.warnings:
            words.append(plural(len(seen.warnings), "warning"))
        words += filter(None, [remaining(elapsed_s, self.expected_s)])
        lines.append("  " + " · ".join(words), style="not bold")
        return lines

    def end(self, outcome: ProcessOutcome, verdict: RunVerdict) -> None:
        self._close()
        super().end(outcome, verdict)

    def say(self, text: str) -> None:
        self._print(f"trex-tui: {self.prefix}{printable(text)}", "")

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


def report_card(engine: Engine, result: CaptureResult, runs: int) -> list[tuple[str, str]]:
    """Return a result in four facts: latency, engine, device, throttling; `runs` measured it, `engine` is the first."""
    which = f" (run 1 of {runs})" if runs > 1 else ""
    return [
        ("Latency", _describe_latency(engine) + which),
        ("Engine", describe_build(result)),
        ("Device", _describe_device(engine)),
        ("Throttling", _describe_throttling(engine)),
    ]


def card_line(engine: Engine, result: CaptureResult) -> str:
    """Return the result on one line, for several machines."""
    words = [_describe_latency(engine), describe_build(result), _describe_device(engine)]
    throttled = _throttled(engine)
    return " · ".join([*words, *([throttled] if throttled else [])])


def _describe_latency(engine: Engine) -> str:
    from trex_tui.old.analysis.timing import end_to_end

    latency = end_to_end(engine)
    if latency is None:
        return "unknown: no timing in the set"
    summary = latency.summary
    words = [
        f"median {format_ms(summary.median_ms)} ms",
        f"p99 {format_ms(summary.percentiles_ms.get(99))} ms",
    ]
    if latency.throughput_qps is not None:
        words.append(f"{format_number('throughput_qps', latency.throughput_qps)} qps")
    return ", ".join(words)


def describe_build(result: CaptureResult) -> str:
    """Return the size of the engine, and the duration of its build."""
    size = format_bytes(result.engine_bytes) if result.engine_bytes is not None else "size unknown"
    if result.build_s is None:
        return size
    return f"{size}, built {'earlier ' if result.is_reused else ''}in {clock(result.build_s)}"


def _describe_device(engine: Engine) -> str:
    words = [engine.device_name or "GPU not stated", f"TensorRT {engine.tensorrt_version or 'unknown'}"]
    clocks = engine.capture.clocks if engine.capture is not None else None
    if clocks is not None and clocks.is_locked and clocks.target_mhz:
        words.append(f"clock locked at {clocks.target_mhz:g} MHz")
    return printable(", ".join(words))


def _throttled(engine: Engine) -> str:
    from trex_tui.old.analysis.conditions import ConditionKind, doubts

    texts = [doubt.text for doubt in doubts(engine) if doubt.kind is ConditionKind.THROTTLED]
    return printable("; ".join(texts))


def _describe_throttling(engine: Engine) -> str:
    manifest = engine.capture
    states = [manifest.before, manifest.after] if manifest is not None else []
    is_told = all(
        state is not None
        and (state.over_current_events or any(gpu.throttle_reasons is not None for gpu in state.gpus))
        for state in states
    )
    if text := _throttled(engine):
        return text
    return "none before and after the runs" if states and is_told else "unknown: not reported by the machine"
