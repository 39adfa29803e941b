"""Judge whether a run succeeded, by exit code, banner, and the presence of every complete output file.

None of them is sufficient alone: trtexec silently skips files it cannot open, ends some failures without a banner, and a
killed process leaves incomplete files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trex_tui.artifacts.layer_info import read_layer_info
from trex_tui.artifacts.manifest import cut
from trex_tui.artifacts.plan import PlanHead, read_plan_head
from trex_tui.artifacts.profile import read_profiles
from trex_tui.artifacts.timing import read_timings
from trex_tui.buildlog.failures import find_failure, recognise
from trex_tui.buildlog.reader import read_log
from trex_tui.capture.failures import find_remarks, name_signal, signal_remedy
from trex_tui.capture.plan import BUILD, RunPlan
from trex_tui.capture.process import INTERRUPTED, TIMED_OUT, ProcessOutcome
from trex_tui.capture.progress import RunProgress
from trex_tui.capture.trtexec import Trtexec
from trex_tui.errors import ArtifactError, Severity

LOST = "connection_lost"
"""Key of a verdict: the machine is gone, and the outcome of the run is unknown."""
CUDA_GRAPH = "cuda_graph"
"""Key of a verdict: a run without CUDA graph may succeed."""
_FIRST_MARKED = (8, 6)
"""The first version whose plans have a known mark and their version."""
_LONGEST_QUOTE = 200

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
        return RunVerdict(False, "timed_out", _describe_time(outcome), remedy)
    program = "the builder" if trtexec.is_python else "trtexec"
    if outcome.exit_code != 0:
        return _judge_failure(run, outcome, seen, program)
    if seen.status != "PASSED":
        return RunVerdict(False, "no_banner", f"{program} ended without PASSED", "see the end of the log")
    if broken := find_broken_file(run, trtexec, read_head):
        remedy = "check free disk space (df) and write permission of the directory"
        return RunVerdict(False, "files", f"{program} reports success, but {broken}", remedy)
    return RunVerdict(True, remarks=(*find_remarks(seen.warnings), *_remark_names_only(run)))


def _describe_time(outcome: ProcessOutcome) -> str:
    """Describe the time limit, with the actual duration if it differs noticeably."""
    limit_s = outcome.timeout_s or 0.0
    grace_s = outcome.wall_s - limit_s
    after = f" (and {grace_s:.0f} s more until it was gone)" if grace_s >= 1 else ""
    return f"ended after {limit_s:g} s, the time allowed{after}"


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


def _remark_names_only(run: RunPlan) -> list[str]:
    for kind, path in run.exports:
        if kind == "graph" and read_layer_info(path).names_only:
            return ["the engine was built without --profilingVerbosity=detailed: layers have names only"]
    return []
