"""The output of trtexec while it comes: how far it is, and what it complains about.

Keeps little, however much is printed: the last lines, the errors (first and last), each warning once.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

_LONGEST_LINE = 1 << 16
_KEPT_CHARACTERS = 2000
_MOST_ERRORS = 200
_MOST_WARNINGS = 200
LAST_LINES = 12

_BANNER = re.compile(rb"&&&& (RUNNING|PASSED|FAILED|WAIVED) TensorRT\.trtexec")
_MEMORY = re.compile(rb"now: CPU (\d{1,18}), GPU (\d{1,18}) \(MiB\)")
_RUNNER = re.compile(rb"Timing Runner: (?P<layer>.+) \(\w+(?:\[0x[0-9a-f]+\])?\)\s*$")
_COSTS = re.compile(rb"=== Computing costs for (?P<layer>\S.*?)\s*$")
_AUTOTUNED = re.compile(rb"Autotuning op (?P<layer>[^:]+):")
_STAGES = (
    (b"=== Model Options ===", "starting"),
    (b"Start parsing network model", "reading the model"),
    (b"Finish parsing network model", "optimizing the network"),
    (b"Finished parsing network model", "optimizing the network"),
    (b"Engine generation completed", "writing the engine"),
    (b"Engine built in", "writing the engine"),
    (b"Loaded engine size", "loading the engine"),
    (b"Engine deserialized in", "preparing to measure"),
    (b"Starting inference", "measuring"),
    (b"Timing trace has", "profiling layers"),
    (b"=== Performance summary ===", "profiling layers"),
    (b"=== Profile (", "writing results"),
)


@dataclass(slots=True)
class RunProgress:
    """What is known of a run so far.

    Attributes:
        stage: What it is at, for people.
        layer: The layer whose tactics are timed.
        tactics: How many tactics were timed.
        cpu_mib, gpu_mib: Memory of the process and in use on the device, as libnvinfer last told; None before it did.
        status: `RUNNING`, `PASSED`, `FAILED`, `WAIVED` of the last banner; empty without one.
        errors: Lines of severity E and F, and lines without severity that stand outside of any dump; bounded.
        warnings: Texts of warnings, in order, each once; bounded.
        last: The last lines.
    """

    stage: str = "starting"
    layer: str = ""
    tactics: int = 0
    cpu_mib: int | None = None
    gpu_mib: int | None = None
    status: str = ""
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    last: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_LINES))
    unprefixed: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_ERRORS))
    _rest: bytes = b""
    _seen: set[str] = field(default_factory=set)

    def feed(self, data: bytes) -> None:
        """Take a piece of output; it may end in the middle of a line."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > _LONGEST_LINE:
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            self._line(line)

    def close(self) -> None:
        """The output has ended."""
        if self._rest:
            self._line(self._rest)
            self._rest = b""

    def _line(self, raw: bytes) -> None:
        # `[07/07/2026-02:11:26] [I] …`: by position, for a verbose build prints millions of these.
        severity = raw[23:24] if raw[:1] == b"[" and raw[21:23] == b" [" and raw[24:25] == b"]" else b""
        self.last.append(_text(raw))
        if severity == b"V":
            self._verbose(raw)
        elif severity == b"I":
            self._info(raw)
        elif severity == b"W":
            self._warning(_text(raw[26:]))
        elif severity in (b"E", b"F"):
            self._error(_text(raw[26:]))
        elif match := _BANNER.match(raw):
            self.status = match[1].decode()
        elif raw.strip():
            self.unprefixed.append(_text(raw))

    def _verbose(self, raw: bytes) -> None:
        if b" Time: " in raw and b"Tactic: " in raw:
            # `Fastest Tactic: …` sums up what was counted.
            self.tactics += b"Fastest Tactic" not in raw
            return
        if b"Timing Runner: " in raw or b"Computing costs for " in raw or b"Autotuning op " in raw:
            match = _RUNNER.search(raw) or _COSTS.search(raw) or _AUTOTUNED.search(raw)
            self.stage = "timing tactics"
            if match:
                self.layer = _text(match["layer"])
        elif b"(MiB)" in raw or b"Engine generation completed" in raw:
            self._info(raw)

    def _info(self, raw: bytes) -> None:
        if b"(MiB)" in raw and (match := _MEMORY.search(raw)):
            self.cpu_mib, self.gpu_mib = int(match[1]), int(match[2])
        for text, stage in _STAGES:
            if text in raw:
                self.stage, self.layer = stage, ""
                return

    def _warning(self, text: str) -> None:
        if text not in self._seen and len(self.warnings) < _MOST_WARNINGS:
            self._seen.add(text)
            self.warnings.append(text)

    def _error(self, text: str) -> None:
        if len(self.errors) == _MOST_ERRORS:
            del self.errors[_MOST_ERRORS // 2]
        self.errors.append(text)


def _text(raw: bytes) -> str:
    return raw[:_KEPT_CHARACTERS].decode("utf-8", errors="replace").rstrip("\r\n")
