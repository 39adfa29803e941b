"""A log in spans: what one run tells, from its banner to the next, or one build of a program without banners.

Runs that were appended to one file are of several engines. The last build is the one that is told of, by its own span alone;
runs behind it, which load an engine, add what was measured and the layers that they print.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum

from trex_tui.artifacts.buildlog.dump import Dumps
from trex_tui.artifacts.buildlog.passes import Optimizer
from trex_tui.artifacts.buildlog.resources import Resources
from trex_tui.artifacts.buildlog.results import Results
from trex_tui.artifacts.buildlog.run import (
    DumpForm,
    LayerDump,
    Performance,
    PrintedBinding,
    ProfileTable,
    TraceAverages,
)
from trex_tui.artifacts.buildlog.sections import Sections
from trex_tui.artifacts.buildlog.tuner import Tuner


class Stage(IntEnum):
    """How far a build has come, by what the log says."""

    NOTHING = 0
    """Nothing is built, as far as it says."""
    BEGUN = 1
    """A builder is there, or a network is read; nothing need come of it."""
    UNDER_WAY = 2
    """The network is optimized, or tactics are timed."""
    OVER = 3
    """There is an engine. Others of the same build may follow, which are timed too."""


@dataclass(slots=True, eq=False)
class Span:
    """Who reads the messages of one run, with what they found.

    Attributes:
        run: Which of the runs it is of, by their banners; None without one.
        command: Its command line, as the banner has it; empty without one.
        non_conforming: Layers named by `For layer X a non-conforming implementation was chosen`, with the strategy.
    """

    tuner: Tuner
    run: int | None = None
    command: str = ""
    sections: Sections = field(default_factory=Sections)
    optimizer: Optimizer = field(default_factory=Optimizer)
    resources: Resources = field(default_factory=Resources)
    results: Results = field(default_factory=Results)
    dumps: Dumps = field(default_factory=Dumps)
    non_conforming: list[tuple[int | None, str]] = field(default_factory=list)
    stage: Stage = Stage.NOTHING

    @property
    def builds(self) -> bool:
        """Whether it tells of a build."""
        return self.stage >= Stage.UNDER_WAY


class Spans:
    """Keeps of all spans what a log is told by.

    Attributes:
        shown: The span of the last build; without any, the last run that prints its options.
        performance, trace, profile, bindings: The last of each that a run printed, if a build is shown: since its beginning.
        left_out: Line of the first result that is of another engine, and why it is left out; None if there is none.
    """

    def __init__(self) -> None:
        self.shown: Span | None = None
        self.left_out: tuple[int, str] | None = None
        self._forget()

    def _forget(self) -> None:
        self.performance: Performance | None = None
        self.trace: TraceAverages | None = None
        self.profile: ProfileTable | None = None
        self.bindings: tuple[PrintedBinding, ...] = ()
        self._context_bytes: int | None = None
        self._engine_bytes: int | None = None
        self._dumps: dict[DumpForm, LayerDump] = {}
        self._timed: Span | None = None
        self._profiled: Span | None = None
        self._last: Span | None = None

    def add(self, span: Span, line: int) -> None:
        """A span is over, at this line."""
        span.tuner.end()
        span.optimizer.finish(line)
        shown = self.shown
        if span.builds and shown is not None:
            self.left_out = (
                None if shown.builds else self._result_at("the run before the build is of another engine")
            )
            self._forget()
        elif shown is not None and (other := _other_engine(shown, span)):
            if shown.builds:
                self.left_out = self.left_out or _result_of(span, f"the run behind the build {other}")
                return
            self.left_out = self._result_at(f"the last run {other}")
            self._forget()
        is_better = shown is None or span.sections.is_told or not shown.sections.is_told
        if shown is None or span.builds or (is_better and not shown.builds):
            self.shown = span
        self._add_results(span)

    def _result_at(self, why: str) -> tuple[int, str] | None:
        result = self.performance or self.profile
        return None if result is None else (result.line, why)

    def _add_results(self, span: Span) -> None:
        results, resources = span.results, span.resources
        if results.performance is not None:
            self.performance, self._timed = results.performance, span
        if results.profile is not None:
            self.profile, self._profiled = results.profile, span
        if span.sections.is_told:
            self._last = span
        self.trace = results.trace or self.trace
        self.bindings = tuple(results.bindings) or self.bindings
        if resources.context_bytes is not None:
            self._context_bytes = resources.context_bytes
        if resources.engine_bytes is not None:
            self._engine_bytes = resources.engine_bytes
        self._dumps.update((one.form, one) for one in span.dumps.finished())

    @property
    def dumps(self) -> tuple[LayerDump, ...]:
        """The last list of layers of each form, likewise."""
        return tuple(self._dumps[form] for form in DumpForm if form in self._dumps)

    @property
    def timed(self) -> Span | None:
        """Of the run that was timed, else of the one whose layers were; without any, of the last. None before the first."""
        return self._timed or self._profiled or self._last or self.shown

    @property
    def context_bytes(self) -> int | None:
        """Of the span that is shown; if it made no context, of a run behind it."""
        own = self.shown.resources.context_bytes if self.shown is not None else None
        return self._context_bytes if own is None else own

    @property
    def engine_bytes(self) -> int | None:
        """Of the span that is shown; if it does not say, of a run behind it."""
        own = self.shown.resources.engine_bytes if self.shown is not None else None
        return self._engine_bytes if own is None else own


def _other_engine(shown: Span, span: Span) -> str:
    """In what words a run loads another engine than was built or loaded before; empty where that cannot be told.

    Files are moved between a build and a run, so that only their names are compared.
    """
    loaded = _engine_file(span, "Load engine", "--loadEngine")
    known = _engine_file(
        shown, *(("Save engine", "--saveEngine") if shown.builds else ("Load engine", "--loadEngine"))
    )
    if not loaded or not known or known == loaded:
        return ""
    return f"loads another engine ({loaded}, not {known})"


def _engine_file(span: Span, label: str, option: str) -> str | None:
    """Name of the file that a run loads or saves its engine as; empty if it does not, None if it does not tell."""
    path = span.sections.stated(label)
    if path is None and span.command:
        match = re.search(rf"(?:^|\s){option}=(\S+)", span.command)
        path = match[1].strip("'\"") if match else ""
    return None if path is None else re.split(r"[\\/]", path)[-1]


def _result_of(span: Span, why: str) -> tuple[int, str] | None:
    result = span.results.performance or span.results.profile
    return None if result is None else (result.line, why)
