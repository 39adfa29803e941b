"""Split a log into spans: one run, from its banner to the next, or one build of a program without banners.

A span has options and ONNX header of its run. Runs appended to one file may use several engines. The last build is described,
by its own span alone; later runs that load its engine add measurements and their lists of layers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum

from trex_tui.buildlog.banner import find_banner, find_stated_version
from trex_tui.buildlog.collectors import Optimizer, Resources, Results
from trex_tui.buildlog.layer_dump import Dumps
from trex_tui.buildlog.log_options import StatedOptions
from trex_tui.buildlog.trace import (
    DumpForm,
    LayerDump,
    MeasuredRun,
    OnnxHeader,
    Performance,
    PrintedBinding,
    ProfileTable,
    Run,
    TraceAverages,
)
from trex_tui.buildlog.tuner import Tuner

SECTIONS = {
    "Model Options": "model",
    "Build Options": "build",
    "System Options": "system",
    "Inference Options": "inference",
    "Reporting Options": "reporting",
    "Device Information": "device",
}
"""Heading -> name of the section in `StatedOptions`."""
_INPUT = re.compile(
    r"Adding network input: (?P<name>.+) with dtype: (?P<dtype>\w*)(?:, dimensions: \((?P<dims>[-\d, ]*)\))?"
)
_OUTPUT = re.compile(r"Marking .+ as output: (?P<name>.+?)\s*$")
_EXPORT = re.compile(
    r"TensorRT: (?:starting export with TensorRT (?P<version>\d[\d.]*\d)"
    r"|(?P<side>in|out)put \"(?P<name>.+)\" with shape ?\((?P<dims>[-\d, ]*)\) (?:DataType\.)?(?P<dtype>\w+))"
)
"""Lines that Ultralytics prints between the messages of the builder."""
_CHOSEN_SHAPE = re.compile(r"Automatically (?:overriding|setting) shape to:? ?\S+", re.IGNORECASE)
_MOST_SHAPES = 1000
_MOST_LABELS, _MOST_VALUES = 1000, 10_000
_HEADER = re.compile(
    r"(?P<label>Input filename|ONNX IR version|Opset version|Producer name|Producer version|Domain|Model version|Doc string):"
    r"\s*(?P<value>.*)$"
)


class Runs:
    """Stores the runs, by their banners.

    A program may start others (the tuning of 11.1 does, between `TASK_BEGIN` and `TASK_END`): their banners are nested in its
    own. `PASSED` and `FAILED` repeat the command line, which identifies the run.
    """

    def __init__(self) -> None:
        self.all: list[Run] = []
        self._open: list[int] = []
        self._unfinished: dict[str, int] = {}
        self._in_task = False

    @property
    def is_open(self) -> bool:
        """True if a program is running: its banner has no closing banner yet, and no other program has replaced it."""
        return bool(self._open)

    def banner(self, line: int, text: str) -> bool:
        """Parse `&&&& RUNNING …`; True if another program begins here."""
        banner = find_banner(text)
        if banner is None:
            return False
        status = banner.status
        if status.startswith("TASK_"):
            self._in_task = status == "TASK_BEGIN" and bool(self._open)
            if not self._in_task:
                del self._open[1:]  # the program that the task started has ended in some way
            return False
        command = banner.command
        if status != "RUNNING" and self._ended(command, status):
            return False
        is_running = status == "RUNNING"
        if is_running:
            if not self._in_task:
                self._open.clear()
            self._unfinished[command] = len(self.all)
            self._open.append(len(self.all))
        ended = None if is_running else status
        self.all.append(Run(line, banner.program, banner.version, banner.build, command, ended))
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


class Sections:
    """Collects options and network of one run."""

    def __init__(self) -> None:
        self.version: str | None = None
        self._values: dict[str, dict[str, list[str]]] = {}
        self._onnx_line = 0
        self._onnx: dict[str, str] = {}
        self.tensors: list[PrintedBinding] = []
        self.chosen_shapes: list[str] = []
        self._open = ""
        self._label: str | None = None

    def take_model(self, other: Sections) -> None:
        """Copy the network from another run."""
        self._onnx_line, self._onnx = other._onnx_line, dict(other._onnx)
        self.tensors = list(other.tensors)

    @property
    def is_open(self) -> bool:
        """True if the following lines are options."""
        return bool(self._open)

    @property
    def is_told(self) -> bool:
        return any(self._values.values())

    def stated(self, label: str) -> str | None:
        """Return the last value of an option, in any section; None if no section has it."""
        values = [section[label][-1] for section in self._values.values() if label in section]
        return values[-1] if values else None

    def has(self, heading: str) -> bool:
        return SECTIONS.get(heading) in self._values

    def begin(self, heading: str) -> bool:
        self._open = SECTIONS.get(heading, "")
        self._label = None
        if self._open:
            self._values.setdefault(self._open, {})
        return bool(self._open)

    def option(self, message: str) -> None:
        """Parse a line of an open section; an empty line ends it.

        Input files follow their label, one per line: `Inputs:`, then `x<-x.bin`.
        """
        text = message.strip()
        if not text:
            self._open = ""
            return
        values = self._values[self._open]
        label, colon, value = text.partition(":")
        label = label.strip()
        before = values.get(self._label or "")
        if before is not None and (
            (self._label == "Inputs" and "<-" in text) or (not colon and not before[0])
        ):
            if len(before) < _MOST_VALUES:
                before.append(text)
            return
        self._label = label
        if label in values:
            if len(values[label]) < _MOST_VALUES:
                values[label].append(value.strip())
        elif len(values) < _MOST_LABELS:
            values[label] = [value.strip()]

    def close(self) -> None:
        self._open = ""

    def stated_version(self, _line: int, message: str) -> None:
        """Parse `TensorRT version: 10.16.1`; 8.0 prints 8003."""
        self.version = find_stated_version(message) or self.version

    def chose_shape(self, message: str) -> None:
        """Parse a warning that may report a shape chosen by trtexec."""
        match = _CHOSEN_SHAPE.search(message)
        if match is not None and len(self.chosen_shapes) < _MOST_SHAPES:
            self.chosen_shapes.append(match[0])

    def header(self, line: int, message: str) -> None:
        if match := _HEADER.match(message):
            if match["label"] == "Input filename":
                self._onnx_line, self._onnx = line, {}
                self.tensors = []
            self._onnx[match["label"]] = match["value"].strip()

    def binding(self, line: int, message: str) -> None:
        """Parse an input or output of the network, as the ONNX parser prints it."""
        if match := _INPUT.match(message):
            dims = (match["dims"] or "").replace(", ", "x")
            self.tensors.append(PrintedBinding(line, match["name"], True, dims, match["dtype"] or None))
        elif match := _OUTPUT.match(message):
            self.tensors.append(PrintedBinding(line, match["name"], False, "", None))

    def export(self, line: int, text: str) -> None:
        """Parse a line of Ultralytics: the version, an input or an output of the network."""
        if not text.startswith("TensorRT: ") or (match := _EXPORT.match(text)) is None:
            return
        if match["version"]:
            self.version = match["version"]
            return
        dims = match["dims"].rstrip(", ").replace(", ", "x")
        self.tensors.append(
            PrintedBinding(line, match["name"], match["side"] == "in", dims, match["dtype"].lower())
        )

    @property
    def options(self) -> StatedOptions:
        return StatedOptions(
            **{
                name: {label: ", ".join(filter(None, parts)) for label, parts in values.items()}
                for name, values in self._values.items()
            }
        )

    @property
    def onnx(self) -> OnnxHeader | None:
        return OnnxHeader(self._onnx_line, dict(self._onnx)) if self._onnx else None


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
    """Collectors of the messages of one run, with their results.

    Attributes:
        run: Index of the run, by the banners; None without one.
        command: Its command line from the banner; empty without one.
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
    number: int | None = None
    """Position among the measured runs, from 1; None without measurements."""

    @property
    def builds(self) -> bool:
        return self.stage >= Stage.UNDER_WAY


class Spans:
    """Collects what describes a log from all its spans.

    Args:
        wanted: Number of the measured run whose results are wanted; later spans and results of other runs are skipped. None
            for the last.

    Attributes:
        measured: Every measured run, with the index of its banner.
        shown: The span of the last build; without any, the last run that prints its options.
        performance, trace, profile, bindings: The last of each that a run printed; if a build is shown, since its beginning.
        left_out: Line of the first result of another engine, and why it is skipped; None without one.
    """

    def __init__(self, wanted: int | None = None) -> None:
        self.measured: list[tuple[int | None, MeasuredRun]] = []
        self._wanted = wanted
        self._is_over = False
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
        self._engine_mib: int | None = None
        self._dumps: dict[DumpForm, LayerDump] = {}
        self._timed: Span | None = None
        self._profiled: Span | None = None
        self._last: Span | None = None

    def add(self, span: Span, line: int) -> None:
        span.tuner.end()
        span.optimizer.finish(line)
        self._note_measured(span)
        if self._is_over:
            return
        is_wanted = span.number is not None and span.number == self._wanted
        if is_wanted:
            self._begin_wanted(span)
        shown = self.shown
        if span.builds and shown is not None:
            self.left_out = (
                None if shown.builds else self._result_at("the run before the build is of another engine")
            )
            self._forget()
        elif shown is not None and (other := _other_engine(shown, span)):
            if shown.builds:
                self.left_out = self.left_out or _parse_result(span, f"the run after the build {other}")
                return
            self.left_out = self._result_at(f"the last run {other}")
            self._forget()
        is_better = shown is None or span.sections.is_told or not shown.sections.is_told
        if shown is None or span.builds or (is_better and not shown.builds):
            self.shown = span
        self._add_results(span)

    def _note_measured(self, span: Span) -> None:
        performance, profile = span.results.performance, span.results.profile
        result = performance or profile
        if result is not None:
            span.number = len(self.measured) + 1
            inference = span.sections.options.inference
            run = MeasuredRun(span.number, result.line, None, inference, performance, profile)
            self.measured.append((span.run, run))

    def _begin_wanted(self, span: Span) -> None:
        """Drop the results of earlier runs, and a build of another engine."""
        self._is_over = True
        self.left_out = None
        if self.shown is not None and _other_engine(self.shown, span):
            self.shown = None
            self._forget()
        self.performance = self.trace = self.profile = None
        self.bindings = ()
        self._timed = self._profiled = None

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
        if resources.engine_mib is not None:
            self._engine_mib = resources.engine_mib
        self._dumps.update((dump.form, dump) for dump in span.dumps.finished())

    @property
    def dumps(self) -> tuple[LayerDump, ...]:
        """Return the last list of layers of each form, likewise."""
        return tuple(self._dumps[form] for form in DumpForm if form in self._dumps)

    @property
    def timed(self) -> Span | None:
        """Return the span of the timed run, else of the run whose layers were timed, else the last; None without spans."""
        return self._timed or self._profiled or self._last or self.shown

    @property
    def context_bytes(self) -> int | None:
        """Return the context size of the shown span; without one, of a later run."""
        own = self.shown.resources.context_bytes if self.shown is not None else None
        return self._context_bytes if own is None else own

    @property
    def engine_bytes(self) -> int | None:
        """Return the engine size of the shown span; without one, of a later run."""
        own = self.shown.resources.engine_bytes if self.shown is not None else None
        return self._engine_bytes if own is None else own

    @property
    def engine_mib(self) -> int | None:
        """Return the engine size as `engine_bytes`, in whole MiB."""
        own = self.shown.resources.engine_mib if self.shown is not None else None
        return self._engine_mib if own is None else own


def _other_engine(shown: Span, span: Span) -> str:
    """Return a description of the other engine that a run loads; empty if this cannot be determined.

    Only file names are compared, since files are moved between a build and a run.
    """
    loaded = _engine_file(span, "Load engine", "--loadEngine")
    known = _engine_file(
        shown, *(("Save engine", "--saveEngine") if shown.builds else ("Load engine", "--loadEngine"))
    )
    if not loaded or not known or known == loaded:
        return ""
    return f"loads another engine ({loaded}, not {known})"


def _engine_file(span: Span, label: str, option: str) -> str | None:
    """Return the name of the file that a run loads or saves its engine as; empty if it does not, None if unknown."""
    path = span.sections.stated(label)
    if path is None and span.command:
        match = re.search(rf"(?:^|\s){option}=(\S+)", span.command)
        path = match[1].strip("'\"") if match else ""
    return None if path is None else re.split(r"[\\/]", path)[-1]


def _parse_result(span: Span, why: str) -> tuple[int, str] | None:
    result = span.results.performance or span.results.profile
    return None if result is None else (result.line, why)
