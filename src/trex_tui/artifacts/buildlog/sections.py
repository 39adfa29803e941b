"""Options, device, ONNX header and banners: what was asked for, of what, on what, by which program."""

from __future__ import annotations

import re
from dataclasses import replace

from trex_tui.artifacts.buildlog.model import OnnxHeader, Options, Run
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
_HEADER = re.compile(
    r"(?P<label>Input filename|ONNX IR version|Opset version|Producer name|Producer version|Domain|Model version|Doc string):"
    r"\s*(?P<value>.*)$"
)


class Sections:
    """Collects what stands before and around a build."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.version: str | None = None
        self._values: dict[str, dict[str, str]] = {name: {} for name in SECTIONS.values()}
        self._onnx_line = 0
        self._onnx: dict[str, str] = {}
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.chosen_shapes: list[str] = []
        self._open = ""
        self._seen: set[str] = set()

    @property
    def is_open(self) -> bool:
        """Whether the lines that follow are options."""
        return bool(self._open)

    def banner(self, line: int, text: str) -> bool:
        """`&&&& RUNNING …`; True if another program begins here."""
        match = _BANNER.match(text)
        if match is None or match["status"].startswith("TASK_"):
            return False
        self._open = ""
        number = match["version"]
        version = version_of_number(int(number)) if number else None
        if match["status"] != "RUNNING":
            if self.runs and self.runs[-1].status is None:
                self.runs[-1] = replace(self.runs[-1], status=match["status"])
                return False
            status = match["status"]
        else:
            status = None
        build = int(match["build"]) if match["build"] else None
        command = (match["command"] or "").strip()
        self.runs.append(Run(line, match["program"], version, build, command, status))
        return status is None

    def begin(self, heading: str) -> bool:
        """`=== … ===`; False if it heads no options."""
        self._open = SECTIONS.get(heading, "")
        self._seen = set()
        return bool(self._open)

    def option(self, message: str) -> None:
        """A line of an open section; an empty one ends it."""
        text = message.strip()
        if not text:
            self._open = ""
            return
        label, colon, value = text.partition(":")
        if not colon or len(self._values[self._open]) > 1000:
            return
        label, value = label.strip(), value.strip()
        values = self._values[self._open]
        if label in self._seen and values.get(label) and value:
            values[label] = f"{values[label]}, {value}"
        elif label not in self._seen:
            values[label] = value
        self._seen.add(label)

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
        return Options(**{name: dict(values) for name, values in self._values.items()})

    @property
    def onnx(self) -> OnnxHeader | None:
        """The last header."""
        return OnnxHeader(self._onnx_line, dict(self._onnx)) if self._onnx else None
