"""What a run printed: performance summary, trace averages, the profile table, and the bindings it made."""

from __future__ import annotations

import math
import re
from array import array
from dataclasses import replace

from trex_tui.artifacts.profile import ProfileRow
from trex_tui.buildlog.build_trace import Performance, PrintedBinding, ProfileTable, TraceAverages
from trex_tui.buildlog.tuner import parse_float

_LABELS = (
    "Throughput",
    "Latency",
    "End-to-End Host Latency",
    "Enqueue Time",
    "H2D Latency",
    "GPU Compute Time",
    "D2H Latency",
    "Total Host Walltime",
    "Total GPU Compute Time",
)
_AVERAGE = re.compile(
    r"Average on (?P<runs>\d{1,9}) runs - GPU latency: (?P<gpu>\S+) ms - Host latency: (?P<host>\S+) ms "
    r"\((?:end to end (?P<end>\S+) ms, )?enqueue (?P<enqueue>\S+) ms\)"
)
_OMITTED = re.compile(r"\.\.\. Omitting (?P<lines>\d{1,12}) lines")
_PROFILE_HEAD = re.compile(r"Profile \((?P<iterations>\d{1,18}) iterations")
_NUMBER = re.compile(r"(?:\d[\d.eE+-]*|-?nan|-?inf)$")
_BINDING = re.compile(
    r"(?:Created )?(?P<side>[Ii]nput|[Oo]utput) binding for (?P<name>.+) with dimensions (?P<dims>\S+)"
    r"(?: and type (?P<dtype>\S+) is created\.)?\s*$"
)


class Results:
    """Collects what one run printed."""

    def __init__(self) -> None:
        self.bindings: list[PrintedBinding] = []
        self._values: dict[str, str] = {}
        self._values_line = 0
        self._warnings: list[str] = []
        self._explanations: dict[str, str] = {}
        self._trace: TraceAverages | None = None
        self._omitted = 0
        self._profile_line = 0
        self._iterations: int | None = None
        self._median = False
        self._name_first = False
        self._rows: list[ProfileRow] = []
        self._total: ProfileRow | None = None

    # --- performance summary --------------------------------------------------------------------------------------

    def begin_summary(self, line: int) -> None:
        self._values, self._values_line, self._warnings = {}, line, []

    def in_summary(self, severity: str, message: str) -> None:
        label, colon, value = message.partition(": ")
        if colon and label in _LABELS and severity == "I":
            self._values[label] = value.strip()
        elif message.startswith("* "):
            self._warnings.append(message[2:].strip())
        elif message.startswith("  ") and self._warnings:
            self._warnings[-1] += " " + message.strip()

    def explained(self, message: str) -> None:
        label, colon, text = message.partition(": ")
        if colon and len(self._explanations) < 100:
            self._explanations[label] = text.strip()

    # --- trace ----------------------------------------------------------------------------------------------------

    def begin_trace(self, line: int) -> None:
        self._trace = TraceAverages(line, array("I"), array("d"), array("d"), array("d"), array("d"))
        self._omitted = 0

    def averaged(self, line: int, message: str) -> None:
        if match := _OMITTED.match(message):
            self._omitted += int(match["lines"])
        match = _AVERAGE.match(message)
        if match is None:
            return
        if self._trace is None:
            self.begin_trace(line)
        trace = self._trace
        if trace is None:
            return
        trace.runs.append(min(int(match["runs"]), 2**32 - 1))
        trace.gpu_ms.append(parse_float(match["gpu"]))
        trace.host_ms.append(parse_float(match["host"]))
        trace.enqueue_ms.append(parse_float(match["enqueue"]))
        trace.end_to_end_ms.append(parse_float(match["end"]) if match["end"] else math.nan)

    # --- profile --------------------------------------------------------------------------------------------------

    def begin_profile(self, line: int, heading: str) -> None:
        match = _PROFILE_HEAD.match(heading)
        self._profile_line = line
        self._iterations = int(match["iterations"]) if match else None
        self._rows, self._total = [], None
        self._median = self._name_first = False

    def profiled(self, message: str) -> bool:
        """A line below it; False where the table is over."""
        if "Time(ms)" in message or "Time (ms)" in message:
            self._median = "Median" in message
            self._name_first = message.lstrip().startswith("Layer")
            return True
        row = self._row(message)
        if row is None:
            return bool(message.strip())
        if row.name == "Total":
            self._total = row
            return False
        self._rows.append(row)
        return True

    def _row(self, message: str) -> ProfileRow | None:
        count = 4 if self._median else 3
        parts = message.rsplit(None, count) if self._name_first else message.split(None, count)
        if len(parts) != count + 1:
            return None
        name, numbers = (parts[0], parts[1:]) if self._name_first else (parts[-1], parts[:-1])
        if not all(map(_NUMBER.match, numbers)):
            return None
        values = [value if math.isfinite(value) else None for value in map(parse_float, numbers)]
        median = values.pop(2) if self._median else None
        return ProfileRow(name.strip(), values[0], values[1], median, values[2])

    # --- the rest -------------------------------------------------------------------------------------------------

    def bound(self, line: int, message: str) -> None:
        if match := _BINDING.match(message):
            is_input = match["side"].lower() == "input"
            self.bindings.append(PrintedBinding(line, match["name"], is_input, match["dims"], match["dtype"]))

    @property
    def performance(self) -> Performance | None:
        if not self._values:
            return None
        return Performance(
            self._values_line, dict(self._values), tuple(self._warnings), dict(self._explanations)
        )

    @property
    def trace(self) -> TraceAverages | None:
        trace = self._trace
        if trace is None or not trace.runs:
            return None
        return replace(trace, omitted=self._omitted)

    @property
    def profile(self) -> ProfileTable | None:
        if not self._profile_line:
            return None
        return ProfileTable(self._profile_line, self._iterations, tuple(self._rows), self._total)
