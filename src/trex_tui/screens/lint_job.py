"""Findings for all screens of an engine: looked for in the background, left out when a person says so."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from textual import on
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input

from trex_tui.crash_log import internal
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.errors import TrexError
from trex_tui.lint.config import LintConfig, Suppression, find_config
from trex_tui.lint.model import LintResult
from trex_tui.lint.registry import registry
from trex_tui.lint.suppression import append_suppression, make_filter
from trex_tui.screens.dialogs import ChooseScreen, PromptScreen
from trex_tui.screens.services import AnswerFailed
from trex_tui.text import plural, printable

RULES = "The rules"
"""What has failed if there are no findings."""
HERE = "here"
"""Origin of what was left out in the app and is in no file yet."""
MOST_NAMED = 40
"""A finding of more layers than this is left out by its rule, not layer by layer."""


@dataclass
class SuppressionAsked(Message):
    """A person wants a finding left out."""

    rule: str
    layers: tuple[int, ...]


class ReasonScreen(PromptScreen[str]):
    """Asks for the reason; there is no leaving out without one."""

    title_text = "Why is this to be left out?"
    hint = "Enter accepts · Esc closes"
    placeholder = "a reason, for whoever reads the configuration later"

    def on_mount(self) -> None:
        super().on_mount()
        self.offer([])

    def chosen(self, index: int) -> None:
        """Nothing is offered."""

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        reason = " ".join(event.value.split())
        if reason:
            self.dismiss(reason)
        else:
            self.say("Without a reason nothing is left out.")


class LintJob:
    """The rules at work on the engine of a screen.

    Args:
        screen: Where threads and windows belong; answers come back in its queue.
        tell: Called when there is an answer.

    Attributes:
        result: What was found; None until the rules have looked.
        problem: Why there will be no findings; empty if there are.
    """

    def __init__(self, screen: Screen[Any], tell: Callable[[], None]) -> None:
        self.result: LintResult | None = None
        self.problem = ""
        self._screen, self._tell = screen, tell
        self._engine: Engine | None = None
        self._left_out: list[Suppression] = []
        """What a person left out, and is in no file yet."""

    def start(self, engine: Engine) -> None:
        """Let the rules look at an engine, in the background."""
        if engine is not self._engine:
            self._engine, self.result, self.problem = engine, None, ""
        run = partial(self._run, engine, tuple(self._left_out))
        self._screen.run_worker(run, thread=True, group="lint", exclusive=True)

    def _run(self, engine: Engine, left_out: tuple[Suppression, ...]) -> None:
        from trex_tui.lint.run import run

        remark = ""
        try:
            try:
                config = find_config(os.environ, registry())
            except TrexError as error:
                remark, config = str(error), LintConfig()
            config = replace(config, suppressions=(*left_out, *config.suppressions))
            result = run(engine, config)
        except Exception as error:  # noqa: BLE001 - it costs the findings
            self._screen.call_later(self._failed, engine, internal(error))
        else:
            self._screen.call_later(self._done, engine, result, remark)

    def _done(self, engine: Engine, result: LintResult, remark: str) -> None:
        if engine is not self._engine:
            return
        if remark:
            self._screen.notify(
                printable(remark), title="Lint uses its own settings", severity="warning", markup=False
            )
        self.result, self.problem = result, ""
        self._tell()

    def _failed(self, engine: Engine, problem: str) -> None:
        if engine is self._engine:
            self.result, self.problem = None, problem
            self._tell()
            self._screen.post_message(AnswerFailed(RULES, problem))

    # Leaving out

    def leave_out(self, rule: str, indices: Sequence[int]) -> None:
        """Ask what to leave out of the findings of a rule, and why; then leave it out."""
        engine = self._engine
        scopes = {"rule": f"every finding of {rule}"}
        if indices and len(indices) <= MOST_NAMED:
            which = f"{'this' if len(indices) == 1 else 'these'} {plural(len(indices), 'layer')}"
            scopes = {"layers": f"{rule} at {which}", **scopes}

        def ask_reason(scope: str | None) -> None:
            if scope is None or engine is None:
                return
            layers = [engine.layers[index] for index in indices] if scope == "layers" else []
            self._screen.app.push_screen(ReasonScreen(), lambda reason: self._leave_out(rule, layers, reason))

        self._screen.app.push_screen(ChooseScreen("Leave out", scopes), ask_reason)

    def _leave_out(self, rule: str, layers: Sequence[Layer], reason: str | None) -> None:
        if reason is None or self._engine is None:
            return
        self._left_out.append(Suppression((rule,), make_filter(layers), reason, HERE))
        self.start(self._engine)
        self._screen.notify("Left out until you quit; W writes it into trex-tui.toml.", markup=False)

    def write_suppressions(self) -> None:
        """Ask, and then write what was left out into the configuration."""
        if not self._left_out:
            self._screen.notify("Nothing was left out that is not in a file already.", markup=False)
            return
        try:
            target = Path.cwd() / "trex-tui.toml"
        except OSError as error:
            problem = f"Nothing was written: the current directory: {error.strerror or error}"
            self._screen.notify(printable(problem), severity="error", markup=False)
            return
        entries = plural(len(self._left_out), "entry", "entries")
        options = {"write": f"append {entries} to {target}", "": "write nothing"}
        self._screen.app.push_screen(
            ChooseScreen("Write", options), lambda choice: self._write(target) if choice else None
        )

    def _write(self, target: Path) -> None:
        try:
            while self._left_out:
                first = self._left_out[0]
                append_suppression(target, first.rules, first.layers, first.reason, registry())
                self._left_out.pop(0)
        except TrexError as error:
            self._screen.notify(
                printable(str(error)), title="Not all was written", severity="error", markup=False
            )
            return
        if self._engine is not None:
            self.start(self._engine)
        self._screen.notify(f"Written: {printable(str(target))}", markup=False)
