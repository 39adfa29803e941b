"""Background work for all panes of an engine: reading the log of the build, and lint with its suppressions."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import on
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input
from textual.worker import Worker, get_current_worker

from trex_tui.old.artifacts.file_kinds import kind_of_build_log
from trex_tui.old.crash_log import internal, note, sentence
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.errors import TrexError, describe_reason
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lint.config import LintConfig, Suppression, append_suppression, find_config, make_filter
from trex_tui.old.lint.model import LintResult
from trex_tui.old.lint.registry import registry
from trex_tui.old.screens.dialogs import ChooseScreen, PromptScreen
from trex_tui.old.screens.services import AnswerFailed, ModelJoined, get_services, is_refused
from trex_tui.old.text import plural, printable

if TYPE_CHECKING:
    from trex_tui.old.analysis.build import BuildFacts

LONG_BYTES = 16 << 20
"""Size of a log above which its outline is shown before the tactics are read."""
_STEPS = 100
"""Interval of progress messages while a log is read."""


class _CancelledError(Exception):
    """Reading the log was cancelled."""


@dataclass
class BuildAsked(Message):
    """Request to read the build log."""


def log_of_build(engine: Engine) -> Path | None:
    """The log shown on the screens; None if there is none."""
    kind = kind_of_build_log(engine.files)
    return None if kind is None else engine.files[kind]


class BuildJob:
    """Build log of a screen's engine, read on request.

    Args:
        screen: Where the thread belongs; answers come back in its queue.
        tell: Called when more is read.

    Attributes:
        facts: Content of the log; None until all of it is read.
        outline: Its content without tactics; None unless that is read first.
        problem: Why the log cannot be used; empty if it can.
        read_bytes: Bytes of the file read so far.
        size: Size of the file; None if unknown.
    """

    def __init__(self, screen: Screen[Any], tell: Callable[[], None]) -> None:
        self._screen, self._tell = screen, tell
        self._forget()

    def _forget(self) -> None:
        self.facts: BuildFacts | None = None
        self.outline: BuildFacts | None = None
        self.problem = ""
        self.read_bytes, self.size = 0, None
        self._worker: Worker[None] | None = None

    def ask(self, engine: Engine) -> None:
        """Read the log, unless reading has begun; content that is read already is reported again."""
        if self.facts is not None or self.problem:
            self._tell()
        elif self._worker is None:
            path = log_of_build(engine)
            if path is not None:
                read = partial(self._read, path, engine)
                self._worker = self._screen.run_worker(read, thread=True, group="build", exclusive=True)

    def restart(self, engine: Engine) -> None:
        """Read the log of another or reloaded engine, if it was requested before."""
        was_wanted = self._worker is not None
        if self._worker is not None:
            self._worker.cancel()
        self._forget()
        if was_wanted:
            self.ask(engine)

    def _read(self, path: Path, engine: Engine) -> None:
        from trex_tui.old.analysis.build import BuildFacts, build_facts  # an eighth of our imports
        from trex_tui.old.buildlog.reader import shared_log, shared_outline
        from trex_tui.old.report.views.build import check_build_log

        worker = get_current_worker()
        run = engine.log_runs.get(path)
        try:
            size = path.stat().st_size
        except OSError:
            size = None
        step = max(1, (size or 0) // _STEPS)
        announced = 0

        def progress(read_bytes: int) -> None:
            nonlocal announced
            if worker.is_cancelled:
                raise _CancelledError
            if read_bytes - announced >= step:
                announced = read_bytes
                self._screen.call_later(self._take, worker, read_bytes=read_bytes, size=size)

        try:
            if size is not None and size > LONG_BYTES:
                outline = shared_outline(path, progress, run, has_names=False)
                check_build_log(outline)
                announced = 0
                if not outline.is_whole:
                    self._screen.call_later(self._take, worker, outline=BuildFacts(outline, (), ()))
            trace = shared_log(path, progress, run)
            check_build_log(trace)
            facts = build_facts(trace, engine)
        except _CancelledError:
            return
        except Exception as error:  # noqa: BLE001 - an error of ours as well: the panes wait for an answer
            self._screen.call_later(self._take, worker, problem=sentence(error))
        else:
            self._screen.call_later(self._take, worker, facts=facts)

    def _take(self, worker: Worker[None], **answer: Any) -> None:  # noqa: ANN401 - values of the attributes
        """Keep the result of reading, unless it is of an abandoned log."""
        if worker is self._worker and not worker.is_cancelled:
            vars(self).update(answer)
            self._tell()


class ModelJob:
    """Search for the ONNX models beside the files of an engine and of those that it is compared with.

    Args:
        screen: Where the thread belongs. The app gets `ModelJoined`.
    """

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen

    def start(self, engines: Sequence[Engine]) -> None:
        """Look for the models of engines that have none."""
        options = get_services(self._screen).load_options
        if options.finds_onnx and any(engine.onnx is None for engine in engines):
            run = partial(self._run, engines, options.roots)
            self._screen.run_worker(run, thread=True, group="model", exclusive=True)

    def _run(self, engines: Sequence[Engine], roots: Sequence[Path]) -> None:
        from trex_tui.old.analysis.onnx_model.search import join_model_beside, share_models

        try:
            joined = share_models([join_model_beside(engine, roots) for engine in engines])
        except Exception as error:  # noqa: BLE001 - it costs the nodes
            note(error)
            return
        for old, new in zip(engines, joined, strict=True):
            if new is not old:
                self._screen.app.post_message(ModelJoined(old, new))


RULES = "The rules"
"""Reason for the absence of findings."""
HERE = "here"
"""Origin of the suppressions of this session."""
MOST_NAMED = 40
"""A finding of more layers than this is suppressed by rule, not by layer."""


@dataclass
class SuppressionAsked(Message):
    """Request to suppress a finding."""

    rule: str
    layers: tuple[int, ...]


class ReasonScreen(PromptScreen[str]):
    """Asks for the reason of a suppression, which is required."""

    title_text = "Reason for the suppression"
    hint = "Enter accepts · Esc closes"
    placeholder = "reason, kept in the configuration"

    def on_mount(self) -> None:
        super().on_mount()
        self.offer([])

    def chosen(self, index: int) -> None:
        """Offer nothing."""

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        reason = " ".join(event.value.split())
        if reason:
            self.dismiss(reason)
        else:
            self.say("A suppression needs a reason.")


class LintJob:
    """Lint of the engine of a screen.

    Args:
        screen: Where threads and windows belong; answers come back in its queue.
        tell: Called when there is an answer.

    Attributes:
        result: The findings; None until the rules have run.
        problem: Reason for the absence of findings; empty if there are findings.
    """

    def __init__(self, screen: Screen[Any], tell: Callable[[], None]) -> None:
        self.result: LintResult | None = None
        self.problem = ""
        self._screen, self._tell = screen, tell
        self._engine: Engine | None = None
        self._left_out: list[Suppression] = []
        """Suppressions of this session."""

    def start(self, engine: Engine) -> None:
        """Run the rules on an engine in the background."""
        if engine is not self._engine:
            self._engine, self.result, self.problem = engine, None, ""
        run = partial(self._run, engine, tuple(self._left_out))
        self._screen.run_worker(run, thread=True, group="lint", exclusive=True)

    def _run(self, engine: Engine, left_out: tuple[Suppression, ...]) -> None:
        from trex_tui.old.lint.run import run

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
        """Ask which findings of a rule to suppress, and why; then suppress them."""
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

        self._screen.app.push_screen(ChooseScreen("Suppress", scopes), ask_reason)

    def _leave_out(self, rule: str, layers: Sequence[Layer], reason: str | None) -> None:
        if reason is None or self._engine is None:
            return
        self._left_out.append(Suppression((rule,), make_filter(layers), reason, HERE))
        self.start(self._engine)
        self._screen.notify("Suppressed until you quit; W saves it to trex-tui.toml.", markup=False)

    def write_suppressions(self) -> None:
        """Ask, then write the suppressions into the configuration."""
        if not self._left_out:
            self._screen.notify("No unsaved suppressions.", markup=False)
            return
        if is_refused(self._screen, "nothing is written"):
            return
        try:
            target = Path.cwd() / "trex-tui.toml"
        except OSError as error:
            problem = f"Not written: current directory: {describe_reason(error)}"
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
                printable(str(error)), title="Not everything was written", severity="error", markup=False
            )
            return
        if self._engine is not None:
            self.start(self._engine)
        self._screen.notify(f"Written: {printable(str(target))}", markup=False)
