"""Follow the output of trtexec while it arrives, and judge the run.

Of the output little is kept, however much is printed: the last lines, the first and last errors, each warning once. Exit
code, banner, and the presence of every complete output file decide; none of them is sufficient alone: trtexec silently skips
files it cannot open, ends some failures without a banner, and a killed process leaves incomplete files.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from trex_tui.artifacts.layer_info import read_layer_info
from trex_tui.artifacts.manifest import cut
from trex_tui.artifacts.plan import PlanHead, read_plan_head
from trex_tui.artifacts.profile import read_profiles
from trex_tui.artifacts.timing import read_timings
from trex_tui.buildlog.failures import find_failure, recognise
from trex_tui.buildlog.lines import find_banner
from trex_tui.buildlog.reader import read_log
from trex_tui.capture.plan import BUILD, RunPlan
from trex_tui.capture.process import INTERRUPTED, TIMED_OUT, ProcessOutcome, name_signal, signal_remedy
from trex_tui.capture.trtexec import Trtexec
from trex_tui.errors import ArtifactError, Severity

# Progress

_LONGEST_LINE = 1 << 16
_KEPT_CHARACTERS = 2000
_MOST_ERRORS = 200
_MOST_WARNINGS = 200
_LAST_LINES = 12

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
        status: `RUNNING`, `PASSED`, `FAILED`, `WAIVED` of the last banner; empty without a banner.
        errors: Lines of severity E and F; bounded.
        warnings: Texts of warnings, in order, each once; bounded.
        unprefixed: Lines without severity, such as those of the loader of libraries; bounded.
        last: The last lines.
        figures: `Throughput` and `Latency` as printed.
    """

    stage: str = "starting"
    layer: str = ""
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
            status = banner.status or ""
            self.status = self.status if status.startswith("TASK_") else status
        elif raw.strip():
            self.unprefixed.append(_text(raw))

    def _verbose(self, raw: bytes) -> None:
        if b"Timing Runner: " in raw or b"Computing costs for " in raw or b"Autotuning op " in raw:
            match = _LAYER.search(raw)
            self.stage = "timing tactics"
            if match:
                self.layer = _text(match["runner"] or match["costs"] or match["op"])
        elif b"Engine generation completed" in raw:
            self._info(raw)

    def _info(self, raw: bytes) -> None:
        if match := _FIGURE.search(raw):
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


# Verdict

LOST = "connection_lost"
"""Key of a verdict: the machine is gone, and the outcome of the run is unknown."""
CUDA_GRAPH = "cuda_graph"
"""Key of a verdict: a run without CUDA graph may succeed."""
_FIRST_MARKED = (8, 6)
"""The first version whose plans have a known mark and their version."""
_LONGEST_QUOTE = 200

_LOW_MEMORY = re.compile(
    r"Device memory is insufficient to use tactic|insuff?icient memory on requested size", re.I
)
_GRAPH_IGNORED = re.compile(
    r"--useCudaGraph flag has been ignored|CUDA graph capture on the stream has failed"
)
_OTHER_DEVICE = re.compile(r"engine plan file across different models of devices")
_REMARKS = (
    (
        _GRAPH_IGNORED,
        "trtexec could not capture a CUDA graph and measured without: the latency includes enqueue time",
    ),
    (
        _LOW_MEMORY,
        "tactics were skipped, not enough memory: the engine may be slower than one built on an idle device",
    ),
    (_OTHER_DEVICE, "the engine was built on another device model, or in another power mode"),
)
ReadHead = Callable[[Path], PlanHead | None]


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """Verdict on a run.

    Attributes:
        passed: Whether its files can be used.
        key: Short name of the failure: that of a known failure, or `interrupted`, `timed_out`, `killed`, `crashed`,
            `connection_lost`, `no_banner`, `files`, `unknown`; empty if it passed.
        sentence: What went wrong.
        remedy: What to do; may be empty.
        remarks: Remarks about a run that passed.
    """

    passed: bool
    key: str = ""
    sentence: str = ""
    remedy: str = ""
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.sentence}; {self.remedy}" if self.remedy else self.sentence


def judge(
    run: RunPlan,
    outcome: ProcessOutcome,
    seen: RunProgress,
    trtexec: Trtexec,
    read_head: ReadHead = read_plan_head,
) -> RunVerdict:
    """Judge a run that has ended; `read_head` reads the head of an engine, which may be on another machine."""
    if outcome.stopped == INTERRUPTED:
        return RunVerdict(False, "interrupted", "interrupted")
    if outcome.stopped == TIMED_OUT:
        remedy = "increase --timeout; the first build of a large model takes hours on a Jetson"
        return RunVerdict(
            False, "timed_out", f"ended after {outcome.timeout_s:g} s, the time allowed", remedy
        )
    program = "the builder" if trtexec.is_python else "trtexec"
    if outcome.exit_code != 0:
        return _judge_failure(run, outcome, seen, program)
    if seen.status != "PASSED":
        return RunVerdict(False, "no_banner", f"{program} ended without PASSED", "see the end of the log")
    if broken := find_broken_file(run, trtexec, read_head):
        remedy = "check free disk space (df) and write permission of the directory"
        return RunVerdict(False, "files", f"{program} reports success, but {broken}", remedy)
    return RunVerdict(True, remarks=tuple(find_remarks(seen.warnings)))


def _judge_failure(run: RunPlan, outcome: ProcessOutcome, seen: RunProgress, program: str) -> RunVerdict:
    """Return the cause: that which `build-log` finds in the log, else a known line without severity, else the signal."""
    try:
        failure = find_failure(read_log(run.log), "capture")
    except ArtifactError:
        failure = None
    if failure is not None and failure.key:
        sentence = failure.cause
        if failure.reason and failure.reason not in sentence:
            sentence += f": {cut(failure.reason, _LONGEST_QUOTE)}"
        return RunVerdict(False, failure.key, sentence, failure.remedy)
    if known := recognise([*seen.unprefixed, *seen.errors]):
        return RunVerdict(False, known.key, known.cause, known.remedy("capture"))
    # Some causes are printed as warnings, which matter only if the run failed.
    if (known := recognise(seen.warnings)) and known.key == "out_of_memory":
        return RunVerdict(False, known.key, known.cause, known.remedy("capture"))
    if outcome.signal is not None:
        name = name_signal(outcome.signal)
        is_killed = name == "SIGKILL"
        sentence = f"{program} {'was killed' if is_killed else 'crashed'} ({name})"
        return RunVerdict(
            False, "killed" if is_killed else "crashed", sentence, signal_remedy(outcome.signal)
        )
    first_error = failure.cause if failure else next((text for text in seen.errors if text.strip()), "")
    quote = f": {cut(first_error, _LONGEST_QUOTE)}" if first_error else ""
    return RunVerdict(False, "unknown", f"{program} ended with exit code {outcome.exit_code}{quote}")


def find_broken_file(run: RunPlan, trtexec: Trtexec, read_head: ReadHead = read_plan_head) -> str:
    """Return what is wrong with the output files of the run, as a clause; empty if nothing is."""
    if run.role == BUILD:
        return _describe_broken_engine(run.engine, trtexec, read_head)
    for kind, path in run.exports:
        if reason := _describe_broken_export(kind, path):
            return f"{path.name} {reason}"
    return ""


def _describe_broken_engine(path: Path, trtexec: Trtexec, read_head: ReadHead) -> str:
    try:
        head = read_head(path)
    except OSError as error:
        return f"{path.name}: {error.strerror}"
    is_marked = trtexec.is_rtx or (trtexec.numbers or ()) >= _FIRST_MARKED
    if head is None:
        is_empty = path.is_file() and not path.stat().st_size
        return (
            f"{path.name} is {'empty' if is_empty else 'not a serialized engine'}"
            if is_empty or is_marked
            else ""
        )
    return f"{path.name} is truncated" if is_marked and head.version is None and not head.is_old else ""


def _describe_broken_export(kind: str, path: Path) -> str:
    """Return why an exported file cannot be used, as the end of a sentence; empty if it can."""
    if not path.is_file():
        return "was not written"
    try:
        if kind == "graph":
            return "" if read_layer_info(path).layers else "has no layers"
        if kind == "timing":
            read_timings(path)
            return ""
        profiles = read_profiles(path)
    except ArtifactError as error:
        return error.note.message
    if not profiles or not profiles[-1].rows:
        return "has no layers: nothing was profiled"
    notes = (note for profile in profiles for note in profile.notes)
    lost = next((note.message for note in notes if note.severity is Severity.ERROR), "")
    return lost or ("" if _ends_as_list(path) else "is truncated")


def _ends_as_list(path: Path) -> bool:
    """Return whether a file ends in a bracket, as all complete exports do; profiles need not be valid JSON."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 64))
        return file.read().rstrip().endswith(b"]")


def find_remarks(warnings: Iterable[str]) -> list[str]:
    """Return remarks for the user about a run that passed."""
    texts = list(warnings)
    return [remark for pattern, remark in _REMARKS if any(pattern.search(text) for text in texts)]
