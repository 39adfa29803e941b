"""Screens that profile an engine again: commands, output directory and duration, then progress."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Label, Static

from trex_tui.old.analysis.load import LoadOptions, load
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.capture.options import checked_inputs, command_line
from trex_tui.old.capture.plan import Names, plan
from trex_tui.old.capture.process import RunProgress, Stop
from trex_tui.old.capture.rerun import Rerun, number, plan_rerun
from trex_tui.old.capture.run import CaptureRequest, CaptureResult, capture
from trex_tui.old.capture.ssh import moved
from trex_tui.old.capture.trtexec import Trtexec, find_trtexec
from trex_tui.old.config import hosts_file
from trex_tui.old.crash_log import sentence
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import TrexError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.views.capture import CaptureView, clock, facts
from trex_tui.old.screens.dialogs import ChooseScreen, Dialog, PromptInput
from trex_tui.old.screens.services import get_services
from trex_tui.old.text import ELLIPSIS, format_bytes, printable, shorten_middle
from trex_tui.old.widgets.text_view import (
    TextBlock,
    TextLine,
    TextScroll,
    fact_lines,
    heading_line,
    sections,
    sentence_line,
)

if TYPE_CHECKING:
    from trex_tui.old.capture.hosts import KnownHost
    from trex_tui.old.capture.ssh import Ssh
    from trex_tui.old.screens.engine import EngineScreen

_DIGITS = {"duration": r"[0-9]{0,6}(?:\.[0-9]{0,3})?", "iterations": r"[0-9]{0,6}"}
_DEFAULTS = {"duration": "3", "iterations": "10"}
"""Defaults of trtexec."""
_LABEL_WIDTH = 8


@dataclass(frozen=True, slots=True)
class Chosen:
    """Chosen commands and options."""

    request: CaptureRequest
    trtexec: Trtexec
    ssh: Ssh | None = None
    """The machine that measures; None is this one."""


@dataclass
class Located(Message):
    """Result of the search for trtexec; `problem` is the reason if there is none.

    Attributes:
        known: Where the set was captured, if that was over ssh and is known.
        remark: Why it is measured here although it was captured elsewhere.
    """

    trtexec: Trtexec | None
    problem: str = ""
    known: KnownHost | None = None
    remark: str = ""


@dataclass
class NobodyWaits:
    """`StopRequest` of a query over ssh whose window is closed."""

    times: int = 0


class CaptureScreen(Dialog[Chosen]):
    """Shows the exact commands before anything runs.

    Args:
        again: What is to be measured.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss_dialog", "close", priority=True)]

    DEFAULT_CSS = """
    CaptureScreen > Vertical.dialog {
        width: 110;
        & TextScroll { height: auto; max-height: 60vh; background: $surface; }
        & TextBlock { width: 100%; }
        & Horizontal { height: 1; margin-top: 1; }
        & Label { color: $text-muted; }
        & Input { width: 9; height: 1; border: none; padding: 0 1; background: $panel; }
        & Input:focus { border: none; }
        & #remark { height: auto; color: $warning; }
    }
    """

    def __init__(self, again: Rerun) -> None:
        super().__init__()
        self.again = again
        self._trtexec: Trtexec | None = None
        self._ssh: Ssh | None = None
        self._problem = again.problem
        self._end = NobodyWaits()

    def compose(self) -> ComposeResult:
        window = Vertical(classes="dialog")
        window.border_title = "Profile again"
        with window:
            with TextScroll():
                yield TextBlock()
            with Horizontal(id="length"):
                for key, before, after in (
                    ("duration", "At least ", " s and "),
                    ("iterations", "", " iterations"),
                ):
                    yield Label(before)
                    yield PromptInput(
                        self._given(key),
                        id=key,
                        placeholder=_DEFAULTS[key],
                        restrict=_DIGITS[key],
                        compact=True,
                        select_on_focus=False,
                    )
                    yield Label(after)
            yield Static(id="remark")

    def _given(self, key: str) -> str:
        options = self.again.options
        value = options.duration_s if key == "duration" else options.iterations
        return "" if value is None else str(value)

    def on_mount(self) -> None:
        self.query_one("#duration", Input).focus()
        self._show()
        if not self._problem:
            self.run_worker(partial(self._locate), thread=True)

    def on_unmount(self) -> None:
        self._end.times = 1

    def _locate(self) -> None:
        again, known, remark = self.again, None, ""
        try:
            checked_inputs(again.options)
            if again.manifest is not None:
                known, remark = _recall(again.manifest, Path(again.options.model))
            self.post_message(Located(None, "", known, remark))
            self.post_message(Located(self._find(known), "", known, remark))
        except Exception as error:  # noqa: BLE001 - the window waits for an answer
            problem = f"{remark}; and here: {sentence(error)}" if remark else sentence(error)
            self.post_message(Located(None, problem, known))

    def _find(self, known: KnownHost | None) -> Trtexec:
        if known is None:
            return find_trtexec()
        from trex_tui.old.capture.remote import find_there

        return find_there(known.ssh, self._end, known.trtexec)

    @on(Located)
    def _located(self, event: Located) -> None:
        event.stop()
        self._trtexec, self._problem = event.trtexec, event.problem
        if event.known is not None and self._ssh is None:
            self._ssh = event.known.ssh
            self.again = replace(self.again, host=self._ssh.host, trtexec=event.known.trtexec)
        if event.remark and event.trtexec is not None:
            remark = f"{event.remark}; running on this machine"
            self.again = replace(self.again, notes=(remark, *self.again.notes))
        self._show()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        seconds, iterations = (self.query_one(f"#{key}", Input).value for key in _DEFAULTS)
        self.again = self.again.with_length(
            number(seconds) if any(second.isdecimal() for second in seconds) else None,
            int(iterations) if iterations else None,
        )
        self._show()

    @property
    def request(self) -> CaptureRequest:
        again = self.again
        return CaptureRequest(again.options, again.outdir, again.name)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._trtexec is not None and not self._problem:
            self.dismiss(Chosen(self.request, self._trtexec, self._ssh))

    def action_step(self, step: int) -> None:
        self.query_one(TextScroll).scroll_relative(y=step, animate=False)

    # What it says

    def _show(self) -> None:
        refused = ""
        lines = list(self._lines())
        if self._trtexec is not None:
            try:
                lines += self._command_lines(self._trtexec)
            except TrexError as error:
                refused = str(error)
        self.query_one(TextBlock).show(lines)
        self.query_one("#length").display = not self._problem
        remark = self.query_one("#remark", Static)
        remark.update(Content(printable(refused)))
        remark.display = bool(refused)
        can_run = self._trtexec is not None and not self._problem and not refused
        window = self.query_one(".dialog", Vertical)
        window.border_subtitle = f"{'Enter runs · ↑ ↓ scroll · ' if can_run else ''}Esc closes"

    def _lines(self) -> Iterator[TextLine]:
        again = self.again
        if self._problem:
            yield sentence_line(f"Cannot profile here: {self._problem}.", "$warning")
            yield TextLine(Content(""))
            yield sentence_line("On the machine with the engine and trtexec (or with --host USER@MACHINE):")
            yield TextLine(Content(f"  {again.command()}"), 4)
            return
        yield from fact_lines(
            [
                ("Engine", _describe_engine(Path(again.options.model))),
                ("New set", f"{again.name} in {again.outdir}; existing files are kept"),
                *([("Machine", f"{again.host} (over ssh), which captured this set")] if again.host else []),
                ("trtexec", self._describe_trtexec()),
            ],
            _LABEL_WIDTH,
        )
        for note in again.notes:
            yield sentence_line(f"{note[:1].upper()}{note[1:]}.", "$warning")

    def _describe_trtexec(self) -> str:
        if self._trtexec is None:
            return f"{self.again.trtexec}; checking …" if self.again.host else "searching …"
        if self.again.host:
            return f"{self._trtexec.version}, {self._trtexec.path}"
        return f"{self._trtexec.version}, {self._trtexec.path} (by {self._trtexec.found_by})"

    def _command_lines(self, trtexec: Trtexec) -> list[TextLine]:
        """Return the commands with the final paths; on another machine, paths in a temporary directory.

        Raises:
            TrexError: This trtexec has no such option, or a file is not there.
        """
        request, where = self.request, ""
        if self._ssh is None:
            runs = request.plan(trtexec)
        else:
            there, _ = moved(request.options, ".")
            runs = plan(there, trtexec, Names(Path(), request.name))
            where = f" in a temporary directory of {printable(self._ssh.host)}"
        return [
            TextLine(Content("")),
            heading_line(f"It runs{where}" if len(runs) == 1 else f"{len(runs)} commands{where}"),
            *(TextLine(Content(f"  {command_line(run.argv)}"), 4) for run in runs),
            TextLine(Content("")),
            heading_line("Shell command"),
            TextLine(Content(f"  {self.again.command()}"), 4),
        ]


def _recall(manifest: Path, engine: Path) -> tuple[KnownHost | None, str]:
    """Return the machine that captured a set, or the reason why it is unknown."""
    from trex_tui.old.capture.hosts import recall

    try:
        return recall(hosts_file(os.environ), manifest, engine), ""
    except TrexError as error:
        return None, str(error)


def _describe_engine(path: Path) -> str:
    try:
        return f"{path} · {format_bytes(path.stat().st_size)}"
    except OSError:
        return str(path)


_MOST_NOTES, _MOST_NOTES_LIVE = 200, 4
_LEAST_WIDTH = 20
_RUNNING = "Esc or Ctrl-C stops trtexec"
_STOPPING = "stopping; press again to kill"
_OVER = "j k scroll · Esc closes"


@dataclass
class Progressed(Message):
    """Progress of a capture."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Progressed)


@dataclass
class CaptureEnded(Message):
    """End of a capture: its result or its error, and the new engine after a success."""

    result: CaptureResult | None
    engine: Engine | None = None
    problem: str = ""


class WindowView(CaptureView):
    """Progress reported by the capture thread and drawn by the window.

    Attributes:
        heading, facts, last: How far it is, in words; the last lines of the log.
        notes: Sentences that stay, and whether they are warnings.
    """

    def __init__(self, post: Callable[[Message], object]) -> None:
        super().__init__(io.StringIO())  # nothing is written to it
        self._post = post
        self.heading = "starting"
        self.facts: tuple[str, ...] = ()
        self.last: tuple[str, ...] = ()
        self.notes: tuple[tuple[str, bool], ...] = ()

    def post(self, message: Message) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the program ends
            self._post(message)

    def progress(self, seen: RunProgress, elapsed_s: float, rss_bytes: int | None) -> None:
        self._warn(seen)
        stage, *more = facts(seen, rss_bytes)
        self.facts = tuple(more)
        self.heading = f"{self.title}  {clock(elapsed_s)}  {stage}"
        self.last = tuple(seen.last)
        self.post(Progressed())

    def say(self, text: str, *, is_warning: bool = False) -> None:
        self.notes = (*self.notes, (text, is_warning))[-_MOST_NOTES:]
        self.post(Progressed())

    def warn(self, text: str) -> None:
        self.say(text, is_warning=True)


def capture_and_load(chosen: Chosen, options: LoadOptions, stop: Stop, view: WindowView) -> None:
    """Capture, read the result, and report it; runs in its own thread."""
    from trex_tui.old.artifacts import find

    request = chosen.request
    result = engine = None
    try:
        result = _capture(chosen, stop, view)
        if result.passed:
            graph = Names(request.outdir, request.name).file("graph.json")
            engine = load(find(graph)[0], replace(options, run=None))
    except Exception as error:  # noqa: BLE001 - the window stays open until it knows the end
        view.post(CaptureEnded(result, problem=sentence(error)))
        return
    view.post(CaptureEnded(result, engine))


def _capture(chosen: Chosen, stop: Stop, view: WindowView) -> CaptureResult:
    if chosen.ssh is None:
        return capture(chosen.request, chosen.trtexec, stop, view)
    from trex_tui.old.capture.hosts import capture_there

    given = str(chosen.trtexec.path)
    return capture_there(chosen.ssh, chosen.request, given, stop, view, hosts_file(os.environ))


class CaptureRunScreen(Dialog[CaptureEnded]):
    """Runs the chosen commands. Closes after a success, and stays open with the error otherwise.

    Args:
        chosen: What to do.
        options: How to load what comes of it.
    """

    DEFAULT_CSS = """
    CaptureRunScreen > TextScroll.dialog, CaptureRunScreen > TextScroll.dialog:focus {
        width: 110;
        height: 80%;
        & TextBlock { width: 100%; }
    }
    """

    def __init__(self, chosen: Chosen, options: LoadOptions | None = None) -> None:
        super().__init__()
        self._chosen, self._options = chosen, options or LoadOptions()
        self._stop = Stop()
        self._view = WindowView(self.post_message)
        self._ended: CaptureEnded | None = None

    def compose(self) -> ComposeResult:
        window = TextScroll(TextBlock(), classes="dialog")
        window.border_title = Content(f"Measuring {printable(self._chosen.request.name)}").markup
        window.border_subtitle = _RUNNING
        yield window

    def on_mount(self) -> None:
        self._show()
        work = partial(capture_and_load, self._chosen, self._options, self._stop, self._view)
        self.run_worker(work, thread=True)

    def on_unmount(self) -> None:
        """Request the end of trtexec when a signal ends the program; its guard process does the rest."""
        self.asks_to_stop()

    def asks_to_stop(self) -> bool:
        """Request the end of trtexec; return False if it has ended already."""
        if self._ended is not None:
            return False
        self._stop.request()
        if self.is_mounted:
            self.query_one(TextScroll).border_subtitle = _STOPPING
        return True

    def action_dismiss_dialog(self) -> None:
        if not self.asks_to_stop():
            self.dismiss(None)

    @on(CaptureEnded)
    def _finish(self, event: CaptureEnded) -> None:
        event.stop()
        self._ended = event
        self._stop.close()
        if event.engine is not None:
            self.dismiss(event)
            return
        window = self.query_one(TextScroll)
        window.border_subtitle = _OVER
        self._show()
        window.scroll_home(animate=False)

    @on(Progressed)
    def _show(self) -> None:
        view = self._view
        region = self.query_one(TextScroll).scrollable_content_region
        last = [printable(text) for text in view.last if text.strip()]
        notes = [sentence_line(text, "$warning" if is_warning else "") for text, is_warning in view.notes]
        if self._ended is not None:
            parts = [[heading_line("Result"), *_verdict_lines(self._ended)], notes]
        else:
            # During the run the newest lines are visible without scrolling; the progress always takes two lines.
            state = [
                TextLine(Content.styled(printable(view.heading), "bold"), 2),
                TextLine(Content.styled(f"  {printable(' · '.join(view.facts))}", "$muted"), 4),
            ]
            parts = [state, notes[-_MOST_NOTES_LIVE:]]
            used = sum(len(line.wrap(region.width)) for part in parts for line in part) + len(parts) + 1
            last = [_cut(text, region.width) for text in last[-max(3, region.height - used) :]]
        log = [TextLine(Content.styled(text, "$muted"), 2) for text in last]
        parts.append([heading_line("Last lines of the log"), *log] if log else [])
        self.query_one(TextBlock).show(sections(*parts))


def _cut(text: str, width: int) -> str:
    """Return a line of the log cut to the width of the window; whole lines after the end of the run."""
    return text if len(text) <= width or width < _LEAST_WIDTH else text[: width - 1] + ELLIPSIS


def _verdict_lines(event: CaptureEnded) -> Iterator[TextLine]:
    result = event.result
    if event.problem:
        yield sentence_line(event.problem, "$error")
    elif result is not None and result.interrupted:
        yield sentence_line("Interrupted.", "$warning")
    elif result is not None:
        what = f"The {result.run.role} run" if result.run else "The capture"
        yield sentence_line(f"{what} failed: {result.verdict}", "$error")
    if result is not None and result.log is not None:
        yield sentence_line(f"Full log: {result.log}")
    for remark in result.remarks if result is not None else ():
        yield sentence_line(f"Note: {remark}", "$warning")


_MOST_NAME = 40


class Capturer:
    """One capture of the engine of a screen."""

    def __init__(self, screen: EngineScreen) -> None:
        self._app = screen.app
        self._services = get_services(screen)
        self._screen = screen
        self._engine = screen.engine

    def ask(self) -> None:
        """Show the commands; nothing runs before the user confirms."""
        again = plan_engine_rerun(self._engine)
        if self._app.is_web:
            # Everyone with the address may look; running programs needs an account on this machine.
            again = again.impossible("not available in a browser")
        elif self._services.is_read_only:
            again = again.impossible("the explorer is read-only")
        self._app.push_screen(CaptureScreen(again), self._chosen)

    def _chosen(self, chosen: Chosen | None) -> None:
        if chosen is not None:
            self._app.push_screen(CaptureRunScreen(chosen, self._services.load_options), self._captured)

    def _captured(self, result: CaptureEnded | None) -> None:
        new = result.engine if result is not None else None
        if result is None or new is None:
            return
        self._services.captured.append(new)
        for remark in result.result.remarks if result.result is not None else ():
            self._app.notify(printable(remark), severity="warning", markup=False, timeout=10)
        options = {
            "compare": f"compare with {_name(self._engine)}",
            "open": "open; q comes back here",
            "stay": "stay here; Compare offers it",
        }
        question = ChooseScreen(f"Captured {_name(new)}", options, "compare")
        self._app.push_screen(question, lambda answer: self._answered(answer, new))

    async def _answered(self, answer: str | None, new: Engine) -> None:
        if answer == "compare":
            await self._screen.compare_also(new)
        elif answer == "open":
            self._screen.open_other(new, others=(self._engine,), tab="overview")


def plan_engine_rerun(engine: Engine) -> Rerun:
    """Plan of another measurement of the engine."""
    capture = engine.capture
    command, clocks = (capture.command, capture.clocks) if capture is not None else ((), None)
    again = plan_rerun(engine.source, command, engine.tensorrt_version, clocks, engine.log_runs)
    if capture is not None and capture.is_remote:
        again = replace(again, manifest=engine.source.files.get(ArtifactKind.MANIFEST))
        if again.options.engine is None:
            more = "a capture over ssh copies it back with --with-engine"
            again = replace(again, problem=f"{again.problem}; {more}")
    return again if os.name == "posix" else again.impossible("capture runs on Linux only")


def _name(engine: Engine) -> str:
    return shorten_middle(printable(engine.name), _MOST_NAME)
