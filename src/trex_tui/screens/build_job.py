"""The log of the build for all screens of an engine: read in the background when it is first wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from textual.message import Message
from textual.screen import Screen
from textual.worker import Worker, get_current_worker

from trex_tui.analysis.build import BuildFacts, build_facts, kind_of_build_log
from trex_tui.crash_log import sentence
from trex_tui.engine.engine import Engine

LONG_BYTES = 16 << 20
"""Of a log that is longer, what it tells beside tactics is shown first."""
_STEPS = 100
"""How often a log tells how far it has been read."""


class _CancelledError(Exception):
    """Nobody waits for the log any more."""


@dataclass
class BuildAsked(Message):
    """A person looks at the build, and its log has not been read."""


def log_of_build(engine: Engine) -> Path | None:
    """The log that the screens tell of; None if there is none."""
    kind = kind_of_build_log(engine)
    return None if kind is None else engine.files[kind]


class BuildJob:
    """The log of the build of a screen's engine, read when somebody asks for it.

    Args:
        screen: Where the thread belongs; answers come back in its queue.
        tell: Called when there is more.

    Attributes:
        facts: What the log tells; None until all of it was read.
        outline: What it tells beside tactics; None where that does not come first.
        problem: Why the log cannot be used; empty if it can.
        read_bytes: How much of it, packed as it is, has been read.
        size: Of how much; None if unknown.
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
        """Read the log, unless that has begun; what was read is told again."""
        if self.facts is not None or self.problem:
            self._tell()
        elif self._worker is None:
            path = log_of_build(engine)
            if path is not None:
                read = partial(self._read, path, engine)
                self._worker = self._screen.run_worker(read, thread=True, group="build", exclusive=True)

    def restart(self, engine: Engine) -> None:
        """Read the log of another engine, or of this one as it is now, if it was wanted before."""
        was_wanted = self._worker is not None
        if self._worker is not None:
            self._worker.cancel()
        self._forget()
        if was_wanted:
            self.ask(engine)

    def _read(self, path: Path, engine: Engine) -> None:
        from trex_tui.buildlog.reader import shared_log, shared_outline
        from trex_tui.report.views.build import check_build_log

        worker = get_current_worker()
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
                outline = shared_outline(path, progress)
                check_build_log(outline)
                announced = 0
                if not outline.is_whole:
                    self._screen.call_later(self._take, worker, outline=BuildFacts(outline, (), ()))
            trace = shared_log(path, progress)
            check_build_log(trace)
            facts = build_facts(trace, engine)
        except _CancelledError:
            return
        except Exception as error:  # noqa: BLE001 - an error of ours as well: the panes wait for an answer
            self._screen.call_later(self._take, worker, problem=sentence(error))
        else:
            self._screen.call_later(self._take, worker, facts=facts)

    def _take(self, worker: Worker[None], **answer: Any) -> None:  # noqa: ANN401 - values of the attributes
        """Keep what has come of the log, unless it is of one that nobody wants any more."""
        if worker is self._worker and not worker.is_cancelled:
            vars(self).update(answer)
            self._tell()
