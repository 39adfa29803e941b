"""Options and ONNX header of one run, and the banners of all: what was asked for, of what, on what, by which program."""

from __future__ import annotations

import re
from dataclasses import replace

from trex_tui.artifacts.buildlog.model import OnnxHeader
from trex_tui.artifacts.buildlog.run import Options, Run
from trex_tui.artifacts.header import version_of_number

_BANNER = re.compile(
    r"&&&& (?P<status>RUNNING|PASSED|FAILED|WAIVED|TASK_\w+) (?P<program>TensorRT\.\S+)"
    r"(?: \[TensorRT v(?P<version>\d{1,9})\])?(?: \[b(?P<build>\d{1,9})\])?(?P<more>.*?)(?:# (?P<command>.*))?$"
)
SECTIONS = {
    "Model Options": "model",
    "Build Options": "build",
    "System Options": "system",
    "Inference Options": "inference",
    "Reporting Options": "reporting",
    "Device Information": "device",
}
"""Heading -> name of the section in `Options`."""
_INPUT = re.compile(r"Adding network input: (?P<name>.+) with dtype: ")
_OUTPUT = re.compile(r"Marking .+ as output: (?P<name>.+?)\s*$")
_VERSION = re.compile(r"TensorRT version: (?P<version>\d[\d.]*)\s*$")
_CHOSEN_SHAPE = re.compile(r"Automatically (?:overriding|setting) shape to:? ?\S+", re.IGNORECASE)
_MOST_SHAPES = 1000
_MOST_LABELS, _MOST_VALUES = 1000, 10_000
_HEADER = re.compile(
    r"(?P<label>Input filename|ONNX IR version|Opset version|Producer name|Producer version|Domain|Model version|Doc string):"
    r"\s*(?P<value>.*)$"
)


class Runs:
    """Keeps the programs run, by their banners.

    A program may start others (the tuning of 11.1 does, between `TASK_BEGIN` and `TASK_END`): their banners stand within its
    own. `PASSED` and `FAILED` repeat the command line, which tells whose they are.
    """

    def __init__(self) -> None:
        self.all: list[Run] = []
        self._open: list[int] = []
        self._unfinished: dict[str, int] = {}
        self._in_task = False

    @property
    def is_open(self) -> bool:
        """Whether a program is running: no line since its banner says how it ended, and no other took its place."""
        return bool(self._open)

    def banner(self, line: int, text: str) -> bool:
        """`&&&& RUNNING …`; True if another program begins here."""
        match = _BANNER.match(text)
        if match is None:
            return False
        status = match["status"]
        if status.startswith("TASK_"):
            self._in_task = status == "TASK_BEGIN" and bool(self._open)
            if not self._in_task:
                del self._open[1:]  # what the task started is over, in whatever way
            return False
        command = (match["command"] or "").strip()
        if status != "RUNNING" and self._ended(command, status):
            return False
        number = match["version"]
        version = version_of_number(int(number)) if number else None
        build = int(match["build"]) if match["build"] else None
        is_running = status == "RUNNING"
        if is_running:
            if not self._in_task:
                self._open.clear()
            self._unfinished[command] = len(self.all)
            self._open.append(len(self.all))
        self.all.append(Run(line, match["program"], version, build, command, None if is_running else status))
        return is_running

    def _ended(self, command: str, status: str) -> bool:
        """Put a status to the last run of this command, else to the last that is open; False if there is none."""
        place = self._unfinished.pop(command, None)
        if place is None and self._open:
            place = self._open[-1]
            self._unfinished.pop(self.all[place].command, None)
        if place is None:
            return False
        self.all[place] = replace(self.all[place], status=status)
        while self._open and self._open[-1] >= place:
            self._open.pop()
        return True


class Sections:
    """Collects what stands before and around a build, of one run."""

    def __init__(self) -> None:
        self.version: str | None = None
        self._values: dict[str, dict[str, list[str]]] = {}
        self._onnx_line = 0
        self._onnx: dict[str, str] = {}
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.chosen_shapes: list[str] = []
        self._open = ""
        self._label: str | None = None

    def take_model_of(self, other: Sections) -> None:
        """The network is the one that another run was told of."""
        self._onnx_line, self._onnx = other._onnx_line, dict(other._onnx)
        self.inputs, self.outputs = list(other.inputs), list(other.outputs)

    @property
    def is_open(self) -> bool:
        """Whether the lines that follow are options."""
        return bool(self._open)

    @property
    def is_told(self) -> bool:
        """Whether there are any options."""
        return any(self._values.values())

    def stated(self, label: str) -> str | None:
        """The last value of an option, in whatever section; None if no section has it."""
        found = [section[label][-1] for section in self._values.values() if label in section]
        return found[-1] if found else None

    def has(self, heading: str) -> bool:
        """Whether the section of this heading has been printed."""
        return SECTIONS.get(heading) in self._values

    def begin(self, heading: str) -> bool:
        """`=== … ===`; False if it heads no options."""
        self._open = SECTIONS.get(heading, "")
        self._label = None
        if self._open:
            self._values.setdefault(self._open, {})
        return bool(self._open)

    def option(self, message: str) -> None:
        """A line of an open section; an empty one ends it.

        Input files follow their label, a line each: `Inputs:`, then `x<-x.bin`.
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
        """What follows is no option."""
        self._open = ""

    def stated_version(self, message: str) -> None:
        """`TensorRT version: 10.16.1`; 8.0 prints 8003."""
        if match := _VERSION.match(message):
            text = match["version"].rstrip(".")
            self.version = version_of_number(int(text)) if text.isdecimal() and len(text) < 9 else text

    def chose_shape(self, message: str) -> None:
        """A warning that may say that trtexec chose a shape."""
        match = _CHOSEN_SHAPE.search(message)
        if match is not None and len(self.chosen_shapes) < _MOST_SHAPES:
            self.chosen_shapes.append(match[0])

    def header(self, line: int, message: str) -> None:
        """A line of the block about the ONNX file."""
        if match := _HEADER.match(message):
            if match["label"] == "Input filename":
                self._onnx_line, self._onnx = line, {}
                self.inputs, self.outputs = [], []
            self._onnx[match["label"]] = match["value"].strip()

    def binding(self, message: str) -> None:
        """`Adding network input: x with dtype: …`, `Marking y_6 as output: y`."""
        if match := _INPUT.match(message):
            self.inputs.append(match["name"])
        elif match := _OUTPUT.match(message):
            self.outputs.append(match["name"])

    @property
    def options(self) -> Options:
        """All sections so far."""
        return Options(
            **{
                name: {label: ", ".join(filter(None, parts)) for label, parts in values.items()}
                for name, values in self._values.items()
            }
        )

    @property
    def onnx(self) -> OnnxHeader | None:
        """The last header."""
        return OnnxHeader(self._onnx_line, dict(self._onnx)) if self._onnx else None
