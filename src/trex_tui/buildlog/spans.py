"""The runs of a log, and which of them describe it.

A span is one run, from its banner to the next, or one build of a program without banners. The last build is described, by its
own span alone; later runs that load its engine add measurements and their lists of layers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeVar

from trex_tui.buildlog.command import options_of_command
from trex_tui.buildlog.layer_lists import LayerLists
from trex_tui.buildlog.lines import Run, find_banner
from trex_tui.buildlog.messages import Devices, Options, Passes, Resources, Results
from trex_tui.buildlog.tactics import Tuner
from trex_tui.buildlog.trace import LayerList, MeasuredRun

_T = TypeVar("_T")


class Runs:
    """The runs, by their banners.

    A program may start others (the tuning of 11.1 does, between `TASK_BEGIN` and `TASK_END`): their banners are nested in its
    own. `PASSED` and `FAILED` repeat the command line, which identifies the run.
    """

    def __init__(self) -> None:
        self.all: list[Run] = []
        self._open: list[int] = []
        self._unfinished: dict[str, int] = {}
        self._in_task = False
        self._end = 0

    @property
    def is_open(self) -> bool:
        """True if a program is running: its banner has no closing banner yet, and no other program has replaced it."""
        return bool(self._open)

    def banner(self, line: int, text: str) -> bool:
        """Parse `&&&& RUNNING …`; True if another program begins here."""
        banner = find_banner(text)
        if banner is None:
            return False
        status, command = banner.status or "", banner.command
        if status.startswith("TASK_"):
            self._in_task = status == "TASK_BEGIN" and self.is_open
            if not self._in_task:
                del self._open[1:]  # the program that the task started has ended in some way
            return False
        is_running = status == "RUNNING"
        if not is_running:
            begin, self._end = self._end + 1, line
            if self._ended(command, status):
                return False
            line = begin  # its first banner is missing
        if is_running:
            if not self._in_task:
                self._open.clear()
            self._unfinished[command] = len(self.all)
            self._open.append(len(self.all))
        self.all.append(banner._replace(line=line, status=None if is_running else status))
        return is_running

    def _ended(self, command: str, status: str) -> bool:
        """Set the status of the last run of this command, else of the last open run; False without one."""
        index = self._unfinished.pop(command, None)
        if index is None and self._open:
            index = self._open[-1]
            self._unfinished.pop(self.all[index].command, None)
        if index is None:
            return False
        self.all[index] = self.all[index]._replace(status=status)
        while self._open and self._open[-1] >= index:
            self._open.pop()
        return True


class Stage(IntEnum):
    """Progress of a build, according to the log."""

    NOTHING = 0
    """Nothing is built."""
    BEGUN = 1
    """A builder exists, or a network is read; a build need not follow."""
    UNDER_WAY = 2
    """The network is optimized, or tactics are timed."""
    OVER = 3
    """There is an engine. Others of the same build may follow, which are timed too."""


@dataclass(slots=True, eq=False)
class Span:
    """Collectors of the messages of one run.

    Attributes:
        run: Index of the run, by the banners; None without one.
        command: Its command line from the banner; empty without one.
        non_conforming: Layers named by `For layer X a non-conforming implementation was chosen`, with the strategy.
        number: Position among the measured runs, from 1; None without measurements.
    """

    run: int | None = None
    command: str = ""
    tuner: Tuner = field(default_factory=Tuner)
    options: Options = field(default_factory=Options)
    passes: Passes = field(default_factory=Passes)
    resources: Resources = field(default_factory=Resources)
    devices: Devices = field(default_factory=Devices)
    results: Results = field(default_factory=Results)
    lists: LayerLists = field(default_factory=LayerLists)
    layer_lists: tuple[LayerList, ...] = ()
    non_conforming: list[tuple[int | None, str]] = field(default_factory=list)
    stage: Stage = Stage.NOTHING
    number: int | None = None

    @property
    def builds(self) -> bool:
        return self.stage >= Stage.UNDER_WAY

    def finish(self, line: int) -> None:
        """End what is open; `line` is the last."""
        self.tuner.end()
        self.passes.finish(line)
        self.layer_lists = self.lists.finished()
        for collector in (self.tuner, self.options, self.passes, self.resources, self.devices, self.results):
            collector.heads.clear()  # references to itself, which would keep every build of a long log

    def engine_file(self, label: str, option: str) -> str | None:
        """Return the name of the file that the run loads or saves its engine as; empty if it does not, None if unknown."""
        path = self.options.value(label)
        if path is None and self.command:
            match = re.search(rf"(?:^|\s){option}=(\S+)", self.command)
            path = match[1].strip("'\"") if match else ""
        return None if path is None else re.split(r"[\\/]", path)[-1]

    def loads_other_engine(self, shown: Span) -> str:
        """Return a description of the other engine that this run loads; empty if this cannot be determined.

        Only file names are compared, since files are moved between a build and a run.
        """
        loaded = self.engine_file("Load engine", "--loadEngine")
        action = "Save" if shown.builds else "Load"
        known = shown.engine_file(f"{action} engine", f"--{action.lower()}Engine")
        return f"loads another engine ({loaded}, not {known})" if loaded and known and known != loaded else ""


class Spans:
    """Chooses the spans that describe the log.

    Attributes:
        measured: Every measured run, with the index of its banner.
        shown: The span of the last build; without any, the last run that prints its options.
        kept: The spans whose measurements and lists count, in order.
        left_out: Line of the first result of another engine, and why it is skipped; None without one.
    """

    def __init__(self, wanted: int | None) -> None:
        self.measured: list[tuple[int | None, MeasuredRun]] = []
        self.shown: Span | None = None
        self.kept: list[Span] = []
        self.left_out: tuple[int, str] | None = None
        self._wanted = wanted
        self._is_over = False
        self._first_result = 0

    def add(self, span: Span, line: int) -> None:
        """Add a finished span; `line` is its last."""
        span.finish(line)
        self._measure(span)
        if self._is_over:
            return
        if span.number is not None and span.number == self._wanted:
            self._begin_wanted(span)
        shown = self.shown
        if span.builds and shown is not None:
            self.left_out = (
                None if shown.builds else self._result("the run before the build is of another engine")
            )
            self._forget()
        elif shown is not None and (other := span.loads_other_engine(shown)):
            if shown.builds:
                result = (
                    (span.results.line, f"the run after the build {other}") if span.results.line else None
                )
                self.left_out = self.left_out or result
                return
            self.left_out = self._result(f"the last run {other}")
            self._forget()
        is_quoted_part = span.run is None and not span.results.has_main_figure
        is_better = shown is None or span.options.is_stated or not shown.options.is_stated
        is_better &= shown is None or not (is_quoted_part and shown.results.has_main_figure)
        if shown is None or span.builds or (is_better and not shown.builds):
            self.shown = span
        self.kept.append(span)

    def _forget(self) -> None:
        self.kept, self._first_result = [], 0

    def _measure(self, span: Span) -> None:
        results = span.results
        if results.line:
            span.number = len(self.measured) + 1
            inference = span.options.stated().inference or options_of_command(span.command).inference
            parts = results.performance, results.profile, tuple(results.averages)
            self.measured.append((span.run, MeasuredRun(span.number, results.line, None, inference, *parts)))

    def _begin_wanted(self, span: Span) -> None:
        """Drop the results of earlier runs, and a build of another engine."""
        self._is_over = True
        self.left_out = None
        if self.shown is not None and span.loads_other_engine(self.shown):
            self.shown = None
            self._forget()
        self._first_result = len(self.kept)

    def _result(self, why: str) -> tuple[int, str] | None:
        lines = [span.results.line for span in self.kept[self._first_result :] if span.results.line]
        return (lines[-1], why) if lines else None

    def last(self, find: Callable[[Span], _T | None], *, own: bool = False) -> _T | None:
        """Return the last result of a kept span that is not empty; with `own`, that of the shown span comes first."""
        spans = (
            self.kept[self._first_result :]
            if not own
            else [*self.kept, *([self.shown] if self.shown else [])]
        )
        return next((value for span in reversed(spans) if (value := find(span))), None)

    def timed_last(self, find: Callable[[Span], _T | None]) -> _T | None:
        """Return the result of the timed run; if it has none, the last of another kept span, which has the same engine."""
        timed = self.timed
        return (find(timed) if timed is not None else None) or self.last(find)

    @property
    def timed(self) -> Span | None:
        """Return the span of the timed run, else of the run whose layers were timed, else the last; None without spans."""
        finders: tuple[Callable[[Span], object], ...] = (
            lambda span: span.results.has_main_figure,
            lambda span: span.results.performance,
            lambda span: span.results.profile,
            lambda span: span.results.averages,
        )
        for find in finders:
            found = [span for span in self.kept[self._first_result :] if find(span)]
            if found:
                return found[-1]
        stated = [span for span in self.kept if span.options.is_stated]
        return stated[-1] if stated else self.shown
