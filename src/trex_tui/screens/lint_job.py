"""Findings for all screens of an engine: looked for in the background, left out when a person says so."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from textual import on, work
from textual.message import Message
from textual.widgets import Input

from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.errors import TrexError
from trex_tui.lint.config import LintConfig, Suppression, find_config
from trex_tui.lint.model import LintResult
from trex_tui.lint.registry import registry
from trex_tui.lint.suppression import append_suppression, filter_of
from trex_tui.report.views.lint import tab_badge
from trex_tui.screens.dialogs import ChooseScreen, PromptScreen
from trex_tui.screens.navigation import WalkingScreen
from trex_tui.screens.pane import EnginePane
from trex_tui.screens.worker_errors import AnswerFailed, posts_errors
from trex_tui.text import plural, printable
from trex_tui.widgets.chrome import TabBar

RULES = "The rules"
"""What has failed if there are no findings."""
HERE = "here"
"""Origin of what was left out in the app and is in no file yet."""
MOST_NAMED = 40
"""A finding of more layers than this is left out by its rule, not layer by layer."""


@dataclass
class Linted(Message):
    """The rules have looked."""

    engine: Engine
    result: LintResult
    problem: str = ""


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
        """There is nothing to choose from."""
        super().on_mount()
        self.offer([])

    def chosen(self, place: int) -> None:
        """Nothing is offered."""

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        reason = " ".join(event.value.split())
        if reason:
            self.dismiss(reason)
        else:
            self.say("Without a reason nothing is left out.")


class LintingScreen(WalkingScreen):
    """A screen whose panes are told what lint found."""

    def __init__(self) -> None:
        super().__init__()
        self.lint: LintResult | None = None
        self._left_out: list[Suppression] = []
        """What a person left out, and is in no file yet."""

    def start_lint(self) -> None:
        """Let the rules look, in the background; the panes are told when they are done."""
        self._run_rules(self.engine, tuple(self._left_out))

    @work(thread=True, group="lint", exclusive=True)
    @posts_errors(RULES)
    def _run_rules(self, engine: Engine, left_out: tuple[Suppression, ...]) -> None:
        from trex_tui.lint.run import run

        problem = ""
        try:
            config = find_config(os.environ, registry())
        except TrexError as error:
            problem, config = str(error), LintConfig()
        config = replace(config, suppressions=(*left_out, *config.suppressions))
        self.post_message(Linted(engine, run(engine, config), problem))

    @on(Linted)
    def _linted(self, event: Linted) -> None:
        event.stop()
        if event.engine is not self.engine:
            return
        if event.problem:
            self.notify(
                printable(event.problem), title="Lint uses its own settings", severity="warning", markup=False
            )
        self.lint = event.result
        self.tell_findings(self.query(EnginePane))

    @on(AnswerFailed)
    def _lint_failed(self, event: AnswerFailed) -> None:
        """The panes would wait for the findings for ever; of other answers they know themselves."""
        if event.what != RULES:
            return
        for pane in self.query(EnginePane):
            pane.show_lint_problem(event.problem)

    def tell_findings(self, panes: Iterable[EnginePane]) -> None:
        """Tell panes what was found, if the rules are done."""
        if self.lint is None:
            return
        for pane in panes:
            pane.show_lint(self.lint)
        self.query_one(TabBar).badge("lint", tab_badge(self.lint))

    # Leaving out

    @on(SuppressionAsked)
    def _suppression_asked(self, event: SuppressionAsked) -> None:
        event.stop()
        scopes = {"rule": f"every finding of {event.rule}"}
        if event.layers and len(event.layers) <= MOST_NAMED:
            which = plural(len(event.layers), "layer")
            scopes = {
                "layers": f"{event.rule} at {'this' if len(event.layers) == 1 else 'these'} {which}",
                **scopes,
            }

        def ask_reason(scope: str | None) -> None:
            if scope is None:
                return
            layers = [self.engine.layers[index] for index in event.layers] if scope == "layers" else []
            self.app.push_screen(ReasonScreen(), lambda reason: self._leave_out(event.rule, layers, reason))

        self.app.push_screen(ChooseScreen("Leave out", scopes), ask_reason)

    def _leave_out(self, rule: str, layers: Sequence[Layer], reason: str | None) -> None:
        if reason is None:
            return
        self._left_out.append(Suppression((rule,), filter_of(layers), reason, HERE))
        self.start_lint()
        self.notify("Left out until you quit; W writes it into trex-tui.toml.", markup=False)

    def action_write_suppressions(self) -> None:
        """Ask, and then write what was left out into the configuration."""
        if not self._left_out:
            self.notify("Nothing was left out that is not in a file already.", markup=False)
            return
        try:
            target = Path.cwd() / "trex-tui.toml"
        except OSError as error:
            told = f"Nothing was written: the current directory: {error.strerror or error}"
            self.notify(printable(told), severity="error", markup=False)
            return
        what = plural(len(self._left_out), "entry", "entries")
        options = {"write": f"append {what} to {target}", "": "write nothing"}
        self.app.push_screen(
            ChooseScreen("Write", options), lambda choice: self._write(target) if choice else None
        )

    def _write(self, target: Path) -> None:
        try:
            while self._left_out:
                first = self._left_out[0]
                append_suppression(target, first.rules, first.layers, first.reason, registry())
                self._left_out.pop(0)
        except TrexError as error:
            self.notify(printable(str(error)), title="Not all was written", severity="error", markup=False)
            return
        self.start_lint()
        self.notify(f"Written: {printable(str(target))}", markup=False)
