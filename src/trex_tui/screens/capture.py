"""Before an engine is measured once more: what would be run, where the result is to lie, and for how long it measures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Label, Static

from trex_tui.capture.abilities import Trtexec
from trex_tui.capture.again import Again
from trex_tui.capture.earlier import number
from trex_tui.capture.locate import find_trtexec
from trex_tui.capture.options import checked_inputs
from trex_tui.capture.quoting import command_line
from trex_tui.capture.work import Request, commands
from trex_tui.errors import TrexError
from trex_tui.faults import sentence
from trex_tui.screens.dialog import Dialog
from trex_tui.screens.prompt import PromptInput
from trex_tui.text import format_bytes, printable
from trex_tui.widgets.facts import fact_lines, heading_line, sentence_line
from trex_tui.widgets.scroll import TextScroll
from trex_tui.widgets.wrapped_lines import TextLine, WrappedLines

_DIGITS = {"duration": r"[0-9]{0,6}(?:\.[0-9]{0,3})?", "iterations": r"[0-9]{0,6}"}
_DEFAULTS = {"duration": "3", "iterations": "10"}
"""Those of trtexec."""
_LABEL_WIDTH = 8


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a person wants to be run."""

    request: Request
    trtexec: Trtexec


@dataclass
class Located(Message):
    """A trtexec was found; `problem` says why none was."""

    trtexec: Trtexec | None
    problem: str = ""


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
        & WrappedLines { width: 100%; }
        & Horizontal { height: 1; margin-top: 1; }
        & Label { color: $text-muted; }
        & Input { width: 9; height: 1; border: none; padding: 0 1; background: $panel; }
        & Input:focus { border: none; }
        & #remark { height: auto; color: $warning; }
    }
    """

    def __init__(self, again: Again) -> None:
        super().__init__()
        self.again = again
        self._trtexec: Trtexec | None = None
        self._problem = again.problem

    def compose(self) -> ComposeResult:
        """What is known, the commands, how long, what is wrong."""
        window = Vertical(classes="dialog")
        window.border_title = "Measure again"
        with window:
            with TextScroll():
                yield WrappedLines()
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
        """Look for trtexec: starting it may take long."""
        self.query_one("#duration", Input).focus()
        self._show()
        if not self._problem:
            self.run_worker(partial(self._locate), thread=True)

    def _locate(self) -> None:
        try:
            checked_inputs(self.again.options)
            self.post_message(Located(find_trtexec()))
        except Exception as error:  # noqa: BLE001 - the window waits for an answer
            self.post_message(Located(None, sentence(error)))

    @on(Located)
    def _located(self, event: Located) -> None:
        event.stop()
        self._trtexec, self._problem = event.trtexec, event.problem
        self._show()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        seconds, iterations = (self.query_one(f"#{key}", Input).value for key in _DEFAULTS)
        self.again = self.again.with_length(
            number(seconds) if any(one.isdecimal() for one in seconds) else None,
            int(iterations) if iterations else None,
        )
        self._show()

    @property
    def request(self) -> Request:
        """What would be done."""
        again = self.again
        return Request(again.options, again.outdir, again.name)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._trtexec is not None and not self._problem:
            self.dismiss(Chosen(self.request, self._trtexec))

    def action_step(self, step: int) -> None:
        """Scroll the text while the keyboard is in a line."""
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
        self.query_one(WrappedLines).show(lines)
        self.query_one("#length").display = not self._problem
        remark = self.query_one("#remark", Static)
        remark.update(Content(printable(refused)))
        remark.display = bool(refused)
        can_run = self._trtexec is not None and not self._problem and not refused
        window = self.query_one(".dialog", Vertical)
        window.border_subtitle = f"{'Enter runs it · ↑ ↓ scroll · ' if can_run else ''}Esc closes"

    def _lines(self) -> Iterator[TextLine]:
        again = self.again
        if self._problem:
            yield sentence_line(f"Not measured again here: {self._problem}.", "$warning")
            yield TextLine(Content(""))
            yield sentence_line(
                "Where the engine and a trtexec are (--host USER@MACHINE goes there over ssh):"
            )
            yield TextLine(Content(f"  {again.command()}"), 4)
            return
        yield from fact_lines(
            [
                ("Engine", _engine_words(Path(again.options.model))),
                ("New set", f"{again.name} in {again.outdir}; nothing that is there is replaced"),
                ("trtexec", self._trtexec_words()),
            ],
            _LABEL_WIDTH,
        )
        for note in again.notes:
            yield sentence_line(f"{note[:1].upper()}{note[1:]}.", "$warning")

    def _trtexec_words(self) -> str:
        if self._trtexec is None:
            return "looking for it …"
        return f"{self._trtexec.version}, {self._trtexec.path} (by {self._trtexec.found_by})"

    def _command_lines(self, trtexec: Trtexec) -> list[TextLine]:
        """The commands, as `--dry-run` prints them.

        Raises:
            TrexError: This trtexec has no such option.
        """
        runs = commands(self.request, trtexec)
        return [
            TextLine(Content("")),
            heading_line("It runs" if len(runs) == 1 else f"It runs {len(runs)} commands"),
            *(TextLine(Content(f"  {command_line(run.argv)}"), 4) for run in runs),
            TextLine(Content("")),
            heading_line("The same from a shell"),
            TextLine(Content(f"  {self.again.command()}"), 4),
        ]


def _engine_words(path: Path) -> str:
    try:
        return f"{path} · {format_bytes(path.stat().st_size)}"
    except OSError:
        return str(path)
