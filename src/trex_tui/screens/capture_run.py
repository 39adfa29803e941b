"""While trtexec measures: how far it is, what it complains about, its last lines; and how to end it."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message

from trex_tui.capture.run import Stop
from trex_tui.capture.watch import Watcher
from trex_tui.capture.work import Result, capture
from trex_tui.commands.capture_view import CaptureView, clock, facts
from trex_tui.engine.engine import Engine
from trex_tui.faults import sentence
from trex_tui.loading import LoadOptions, load
from trex_tui.screens.capture import Chosen
from trex_tui.screens.dialog import Dialog
from trex_tui.text import ELLIPSIS, printable
from trex_tui.widgets.facts import heading_line, sections, sentence_line
from trex_tui.widgets.scroll import TextScroll
from trex_tui.widgets.wrapped_lines import TextLine, WrappedLines

_MOST_SAID, _MOST_SAID_LIVE = 200, 4
_LEAST_WIDTH = 20
_RUNNING = "Esc or Ctrl-C asks trtexec to stop"
_STOPPING = "asked to stop; once more ends it at once"
_OVER = "j k scroll · Esc closes"


@dataclass(frozen=True, slots=True)
class Captured:
    """A new set.

    Attributes:
        remarks: What to know of its numbers.
    """

    engine: Engine
    remarks: tuple[str, ...]


@dataclass
class Progress(Message):
    """How far it is; a later one replaces those still waiting."""

    heading: str
    facts: tuple[str, ...]
    last: tuple[str, ...]

    def can_replace(self, message: Message) -> bool:
        """An older state is of no interest."""
        return isinstance(message, Progress)


@dataclass
class Said(Message):
    """A sentence that stays."""

    text: str
    is_warning: bool


@dataclass
class Ended(Message):
    """It is over: with a result, or with the reason why there is none; and with the new engine if all went well."""

    result: Result | None
    engine: Engine | None = None
    problem: str = ""


class WindowView(CaptureView):
    """What the thread that captures tells, as messages."""

    def __init__(self, post: Callable[[Message], object]) -> None:
        super().__init__(io.StringIO())  # nothing is written to it
        self._post = post

    def post(self, message: Message) -> None:
        """Send; who is gone does not hear it."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: the program ends
            self._post(message)

    def progress(self, seen: Watcher, elapsed_s: float, rss_bytes: int | None) -> None:
        """How far it is."""
        self._warn(seen)
        stage, *more = facts(seen, rss_bytes)
        heading = f"{self.title}  {clock(elapsed_s)}  {stage}"
        self.post(Progress(heading, tuple(more), tuple(seen.last)))

    def say(self, text: str) -> None:
        """A sentence."""
        self.post(Said(text, is_warning=False))

    def warn(self, text: str) -> None:
        """A warning of trtexec."""
        self.post(Said(text, is_warning=True))


def capture_and_load(chosen: Chosen, options: LoadOptions, stop: Stop, view: WindowView) -> None:
    """Capture, read what came of it, and tell; for a thread of its own."""
    from trex_tui.artifacts import find
    from trex_tui.capture.plan import Names

    request = chosen.request
    result = engine = None
    try:
        result = capture(request, chosen.trtexec, stop, view)
        if result.passed:
            graph = Names(request.outdir, request.name).file("graph.json")
            engine = load(find(graph)[0], options)
    except Exception as error:  # noqa: BLE001 - the window stays open until it knows the end
        view.post(Ended(result, problem=sentence(error)))
        return
    view.post(Ended(result, engine))


class CaptureRunScreen(Dialog[Captured]):
    """Runs what was chosen. It closes by itself when there is a new set, and stays to tell what went wrong.

    Args:
        chosen: What to do.
        options: How to load what comes of it.
    """

    DEFAULT_CSS = """
    CaptureRunScreen > TextScroll.dialog, CaptureRunScreen > TextScroll.dialog:focus {
        width: 110;
        height: 80%;
        & WrappedLines { width: 100%; }
    }
    """

    def __init__(self, chosen: Chosen, options: LoadOptions | None = None) -> None:
        super().__init__()
        self._chosen, self._options = chosen, options or LoadOptions()
        self._stop = Stop()
        self.is_over = False
        self._progress = Progress("starting", (), ())
        self._said: list[TextLine] = []
        self._verdict: list[TextLine] = []

    def compose(self) -> ComposeResult:
        """The text."""
        window = TextScroll(WrappedLines(), classes="dialog")
        window.border_title = Content(f"Measuring {printable(self._chosen.request.name)}").markup
        window.border_subtitle = _RUNNING
        yield window

    def on_mount(self) -> None:
        """Begin."""
        self._show()
        view = WindowView(self.post_message)
        self.run_worker(lambda: capture_and_load(self._chosen, self._options, self._stop, view), thread=True)

    def on_unmount(self) -> None:
        """The program ends, by a signal: trtexec is asked too. The process that guards it does the rest."""
        self.asks_to_stop()

    def asks_to_stop(self) -> bool:
        """Ask trtexec to stop; false if there is nothing to stop any more."""
        if self.is_over:
            return False
        self._stop.request()
        if self.is_mounted:
            self.query_one(TextScroll).border_subtitle = _STOPPING
        return True

    def action_dismiss_dialog(self) -> None:
        """Ask for the end while it runs; then close."""
        if not self.asks_to_stop():
            self.dismiss(None)

    # What it is told

    @on(Progress)
    def _progressed(self, event: Progress) -> None:
        event.stop()
        self._progress = event
        self._show()

    @on(Said)
    def _was_said(self, event: Said) -> None:
        event.stop()
        self._said.append(sentence_line(event.text, "$warning" if event.is_warning else ""))
        del self._said[:-_MOST_SAID]
        self._show()

    @on(Ended)
    def _ended(self, event: Ended) -> None:
        event.stop()
        self.is_over = True
        self._stop.close()
        if event.engine is not None and event.result is not None:
            self.dismiss(Captured(event.engine, event.result.remarks))
            return
        self._verdict = list(_verdict_lines(event))
        window = self.query_one(TextScroll)
        window.border_subtitle = _OVER
        self._show()
        window.scroll_home(animate=False)

    # What it says

    def _show(self) -> None:
        region = self.query_one(TextScroll).scrollable_content_region
        last = [printable(text) for text in self._progress.last if text.strip()]
        if self.is_over:
            parts = [[heading_line("How it ended"), *self._verdict], self._said]
        else:
            # While it runs the newest lines are those to see, without scrolling.
            parts = [self._state_lines(), self._said[-_MOST_SAID_LIVE:]]
            used = sum(len(line.wrap(region.width)) for part in parts for line in part) + len(parts) + 1
            last = [_cut(text, region.width) for text in last[-max(3, region.height - used) :]]
        log = [TextLine(Content.styled(text, "$muted"), 2) for text in last]
        parts.append([heading_line("Last lines of the log"), *log] if log else [])
        self.query_one(WrappedLines).show(sections(*parts))

    def _state_lines(self) -> list[TextLine]:
        """What it is at; always as many, so that nothing jumps."""
        return [
            TextLine(Content.styled(printable(self._progress.heading), "bold"), 2),
            TextLine(Content.styled(f"  {printable(' · '.join(self._progress.facts))}", "$muted"), 4),
        ]


def _cut(text: str, width: int) -> str:
    """A line of the log as wide as the window; whole lines once somebody has the time to read them."""
    return text if len(text) <= width or width < _LEAST_WIDTH else text[: width - 1] + ELLIPSIS


def _verdict_lines(event: Ended) -> Iterator[TextLine]:
    result = event.result
    if event.problem:
        yield sentence_line(event.problem, "$error")
    elif result is not None and result.interrupted:
        yield sentence_line("Interrupted.", "$warning")
    elif result is not None:
        what = f"The {result.run.role} run" if result.run else "The capture"
        yield sentence_line(f"{what} failed: {result.verdict}", "$error")
    if result is not None and result.log is not None:
        yield sentence_line(f"The whole log: {result.log}")
    for remark in result.remarks if result is not None else ():
        yield sentence_line(f"Note: {remark}", "$warning")
