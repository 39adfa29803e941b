"""Follow the output of trtexec while it arrives, line by line.

Little is kept, however much is printed: the last lines, the first and last errors, each warning once.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

from trex_tui.buildlog.lines import find_banner

_LONGEST_LINE = 1 << 16
_KEPT_CHARACTERS = 2000
_MOST_ERRORS = 200
_MOST_WARNINGS = 200
_LAST_LINES = 12

_MEMORY = re.compile(rb"now: CPU (\d{1,18}), GPU (\d{1,18}) \(MiB\)")
_LAYER = re.compile(
    rb"Timing Runner: (?P<runner>.+) \(\w+(?:\[0x[0-9a-f]+\])?\)\s*$"
    rb"|=== Computing costs for (?P<costs>\S.*?)\s*$|Autotuning op (?P<op>[^:]+):"
)
_FIGURE = re.compile(rb"\] (Throughput|Latency): (.*)")
_MEDIAN = re.compile(r"median = (\S+) ms")
_P99 = re.compile(r"percentile\(99%\) = (\S+) ms")
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
    """State of a run, parsed from its output.

    Attributes:
        stage: Current stage, for display.
        layer: The layer whose tactics are timed.
        tactics: Number of tactics timed.
        cpu_mib, gpu_mib: Memory of the process and in use on the device, as libnvinfer last reported; None before.
        status: `RUNNING`, `PASSED`, `FAILED`, `WAIVED` of the last banner; empty without a banner.
        errors: Lines of severity E and F; bounded.
        warnings: Texts of warnings, in order, each once; bounded.
        unprefixed: Lines without severity, such as those of the loader of libraries; bounded.
        last: The last lines.
        figures: `Throughput` and `Latency` as printed.
    """

    stage: str = "starting"
    layer: str = ""
    tactics: int = 0
    cpu_mib: int | None = None
    gpu_mib: int | None = None
    status: str = ""
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    unprefixed: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_ERRORS))
    last: deque[str] = field(default_factory=lambda: deque(maxlen=_LAST_LINES))
    figures: dict[str, str] = field(default_factory=dict)
    _rest: bytes = b""
    _seen: set[str] = field(default_factory=set)

    def feed(self, data: bytes) -> None:
        """Parse a piece of output; it may end in the middle of a line."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > _LONGEST_LINE:
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            self._line(line)

    def close(self) -> None:
        if self._rest:
            self._line(self._rest)
            self._rest = b""

    def _line(self, raw: bytes) -> None:
        # `[07/07/2026-02:11:26] [I] …`: by position, since a verbose build prints millions of these.
        severity = raw[23:24] if raw[:1] == b"[" and raw[21:23] == b" [" and raw[24:25] == b"]" else b""
        self.last.append(_text(raw))
        if severity == b"V":
            self._verbose(raw)
        elif severity == b"I":
            self._info(raw)
        elif severity == b"W":
            self._warning(_text(raw[26:]))
        elif severity in (b"E", b"F"):
            if len(self.errors) == _MOST_ERRORS:
                del self.errors[_MOST_ERRORS // 2]
            self.errors.append(_text(raw[26:]))
        elif raw.startswith(b"&&&& ") and (banner := find_banner(_text(raw), is_trtexec=True)):
            self.status = self.status if banner.status.startswith("TASK_") else banner.status
        elif raw.strip():
            self.unprefixed.append(_text(raw))

    def _verbose(self, raw: bytes) -> None:
        if b" Time: " in raw and b"Tactic: " in raw:
            # `Fastest Tactic: …` repeats a tactic that is already counted.
            self.tactics += b"Fastest Tactic" not in raw
        elif b"Timing Runner: " in raw or b"Computing costs for " in raw or b"Autotuning op " in raw:
            match = _LAYER.search(raw)
            self.stage = "timing tactics"
            if match:
                self.layer = _text(match["runner"] or match["costs"] or match["op"])
        elif b"(MiB)" in raw or b"Engine generation completed" in raw:
            self._info(raw)

    def _info(self, raw: bytes) -> None:
        if b"(MiB)" in raw and (match := _MEMORY.search(raw)):
            self.cpu_mib, self.gpu_mib = int(match[1]), int(match[2])
        elif match := _FIGURE.search(raw):
            self.figures[_text(match[1])] = _text(match[2])
        for text, stage in _STAGES:
            if text in raw:
                self.stage, self.layer = stage, ""
                return

    def _warning(self, text: str) -> None:
        if text not in self._seen and len(self.warnings) < _MOST_WARNINGS:
            self._seen.add(text)
            self.warnings.append(text)

    def describe_figures(self) -> str:
        """Return `median 0.4956 ms, p99 0.5010 ms, 2012.22 qps`; empty if nothing was measured."""
        latency = self.figures.get("Latency", "")
        parts = [("median", _MEDIAN.search(latency)), ("p99", _P99.search(latency))]
        words = [f"{label} {match[1]} ms" for label, match in parts if match]
        if throughput := self.figures.get("Throughput"):
            words.append(throughput.strip())
        return ", ".join(words)


def _text(raw: bytes) -> str:
    return raw[:_KEPT_CHARACTERS].decode("utf-8", errors="replace").rstrip("\r\n")
