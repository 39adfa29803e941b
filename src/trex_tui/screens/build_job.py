"""The log of the build for all screens of an engine: read in the background when it is first wanted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from textual import on, work
from textual.message import Message
from textual.worker import Worker, get_current_worker

from trex_tui.analysis.build import BuildFacts, build_facts, kind_of_build_log
from trex_tui.crash_log import sentence
from trex_tui.engine.engine import Engine
from trex_tui.screens.lint_job import LintingScreen
from trex_tui.screens.pane import EnginePane

LONG_BYTES = 16 << 20
"""Of a log that is longer, what it tells beside tactics is shown first."""
_STEPS = 100
"""How often a log tells how far it has been read."""


class _CancelledError(Exception):
    """Nobody waits for the log any more."""


@dataclass
class BuildAsked(Message):
    """A person looks at the build, and its log has not been read."""


@dataclass
class BuildProgress(Message):
    """So much of the log has been read. A later one replaces those still in the queue."""

    engine: Engine
    read_bytes: int
    size: int | None

    def can_replace(self, message: Message) -> bool:
        """Whether `message` is out of date because of this one."""
        return isinstance(message, BuildProgress)


@dataclass
class BuildOutlined(Message):
    """The log has been read but for its tactics, which takes much longer."""

    engine: Engine
    facts: BuildFacts


@dataclass
class BuildRead(Message):
    """The log has been read, or cannot be."""

    engine: Engine
    facts: BuildFacts | None
    problem: str = ""


def log_of_build(engine: Engine) -> Path | None:
    """The log that the screens tell of; None if there is none."""
    kind = kind_of_build_log(engine)
    return None if kind is None else engine.files[kind]


class BuildingScreen(LintingScreen):
    """A screen whose panes are told what the log of the build says."""

    def __init__(self) -> None:
        super().__init__()
        self.build: BuildFacts | None = None
        self._build_problem = ""
        self._build_worker: Worker[None] | None = None

    @on(BuildAsked)
    def _build_asked(self, event: BuildAsked) -> None:
        event.stop()
        if self.build is not None or self._build_problem:
            self.tell_build(self.query(EnginePane))
        elif self._build_worker is None:
            path = log_of_build(self.engine)
            if path is not None:
                self._build_worker = self._read_build(self.engine, path)

    def read_build_again(self) -> None:
        """Read the log of another engine, or of this one as it is now, if it was wanted before."""
        was_wanted = self._build_worker is not None
        if self._build_worker is not None:
            self._build_worker.cancel()
        self.build, self._build_problem, self._build_worker = None, "", None
        if was_wanted:
            self.post_message(BuildAsked())

    @work(thread=True, group="build", exclusive=True)
    def _read_build(self, engine: Engine, path: Path) -> None:
        from trex_tui.buildlog.log_cache import shared_log, shared_outline
        from trex_tui.report.views.build import check_build_log

        worker = get_current_worker()
        try:
            size = path.stat().st_size
        except OSError:
            size = None
        step = max(1, (size or 0) // _STEPS)
        told = 0

        def progress(read_bytes: int) -> None:
            nonlocal told
            if worker.is_cancelled:
                raise _CancelledError
            if read_bytes - told >= step:
                told = read_bytes
                self.post_message(BuildProgress(engine, read_bytes, size))

        try:
            if size is not None and size > LONG_BYTES:
                outline = shared_outline(path, progress)
                check_build_log(outline)
                told = 0
                if not outline.is_whole:
                    self.post_message(BuildOutlined(engine, BuildFacts(outline, (), ())))
            trace = shared_log(path, progress)
            check_build_log(trace)
            facts = build_facts(trace, engine)
        except _CancelledError:
            return
        except Exception as error:  # noqa: BLE001 - an error of ours as well: the panes wait for an answer
            self.post_message(BuildRead(engine, None, sentence(error)))
            return
        if not worker.is_cancelled:
            self.post_message(BuildRead(engine, facts))

    @on(BuildProgress)
    def _build_progress(self, event: BuildProgress) -> None:
        event.stop()
        if event.engine is self.engine and self.build is None:
            for pane in self.query(EnginePane):
                pane.show_build_progress(event.read_bytes, event.size)

    @on(BuildOutlined)
    def _build_outlined(self, event: BuildOutlined) -> None:
        event.stop()
        if event.engine is self.engine and self.build is None:
            for pane in self.query(EnginePane):
                pane.show_build_outline(event.facts)

    @on(BuildRead)
    def _build_read(self, event: BuildRead) -> None:
        event.stop()
        if event.engine is self.engine:
            self.build, self._build_problem = event.facts, event.problem
            self.tell_build(self.query(EnginePane))

    def tell_build(self, panes: Iterable[EnginePane]) -> None:
        """Tell panes what the log says, if it has been read."""
        for pane in panes:
            if self.build is not None:
                pane.show_build(self.build)
            elif self._build_problem:
                pane.show_build_problem(self._build_problem)
