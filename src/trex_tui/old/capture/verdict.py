"""Judge whether a run succeeded, by exit code, banner, and the presence of every complete output file.

None of them is sufficient alone: trtexec silently skips files it cannot open, ends some failures without a banner, and a
killed process leaves incomplete files.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

from trex_tui.old.artifacts.capture_manifest import cut
from trex_tui.old.artifacts.layer_info import read_layer_info
from trex_tui.old.artifacts.profile import read_profile
from trex_tui.old.artifacts.timing import read_timing
from trex_tui.old.buildlog.failures import recognise
from trex_tui.old.capture.failures import remarks, signal_name, signal_remedy
from trex_tui.old.capture.plan import BUILD, RunPlan
from trex_tui.old.capture.process import INTERRUPTED, TIMED_OUT, ProcessOutcome, RunProgress
from trex_tui.old.capture.trtexec import Trtexec
from trex_tui.old.errors import ArtifactError, Severity, describe_reason
from trex_tui.old.lazy_dataclass import dataclass

_PLAN_MAGIC = b"ftrt"
LOST = "connection_lost"
"""Key of a verdict: the machine is gone, and the outcome of the run is unknown."""
_LONGEST_QUOTE = 200


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """Verdict on a run.

    Attributes:
        passed: Whether its files can be used.
        key: Short name of the failure: one of `failures.FAILURES`, or `interrupted`, `timed_out`, `killed`, `crashed`,
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


def read_plan_magic(path: Path) -> bytes:
    """Return the first bytes of an engine.

    Raises:
        OSError: The engine cannot be read.
    """
    with path.open("rb") as file:
        return file.read(len(_PLAN_MAGIC))


def judge(
    run: RunPlan,
    outcome: ProcessOutcome,
    seen: RunProgress,
    trtexec: Trtexec,
    head: Callable[[Path], bytes] = read_plan_magic,
) -> RunVerdict:
    """Judge a run that has ended; `head` reads the first bytes of an engine, which may be on another machine."""
    if outcome.stopped == INTERRUPTED:
        return RunVerdict(False, "interrupted", "interrupted")
    if outcome.stopped == TIMED_OUT:
        remedy = "increase --timeout; the first build of a large model takes hours on a Jetson"
        return RunVerdict(False, "timed_out", _too_long(outcome), remedy)
    if outcome.exit_code != 0:
        return _failed(outcome, seen)
    if seen.status != "PASSED":
        remedy = "see the log for its progress"
        return RunVerdict(False, "no_banner", "trtexec ended without PASSED", remedy)
    broken = broken_files(run, trtexec, head)
    if broken:
        remedy = "check free disk space (df) and write permission of the directory"
        return RunVerdict(False, "files", f"trtexec reports success, but {broken}", remedy)
    return RunVerdict(True, remarks=(*remarks(seen.warnings), *_names_only(run)))


def _too_long(outcome: ProcessOutcome) -> str:
    """Describe the time limit, with the actual duration if it differs noticeably."""
    if outcome.timeout_s is None:
        return "ended when the time allowed was over"
    grace_s = outcome.wall_s - outcome.timeout_s
    after = f" (and {grace_s:.0f} s more until it was gone)" if grace_s >= 1 else ""
    return f"ended after {outcome.timeout_s:g} s, the time allowed{after}"


def _failed(outcome: ProcessOutcome, seen: RunProgress) -> RunVerdict:
    known = recognise([*seen.errors, *seen.unprefixed])
    if known:
        return RunVerdict(False, known.key, known.sentence, known.remedy)
    # Some causes are printed as warnings, which matter only if the run failed.
    known = recognise(seen.warnings)
    if known and known.key == "out_of_memory":
        return RunVerdict(False, known.key, known.sentence, known.remedy)
    if outcome.signal == signal.SIGKILL:
        remedy = "probably by the kernel, out of memory (see dmesg); check what else runs, add swap, lower --workspace"
        return RunVerdict(False, "killed", "trtexec was killed (SIGKILL)", remedy)
    if outcome.signal is not None:
        sentence = f"trtexec crashed ({signal_name(outcome.signal)})"
        return RunVerdict(False, "crashed", sentence, signal_remedy(outcome.signal))
    first_error = next((text for text in seen.errors if text.strip()), "")
    quote = f": {cut(first_error, _LONGEST_QUOTE)}" if first_error else ""
    return RunVerdict(False, "unknown", f"trtexec ended with exit code {outcome.exit_code}{quote}")


def broken_files(run: RunPlan, trtexec: Trtexec, head: Callable[[Path], bytes] = read_plan_magic) -> str:
    """Return what is wrong with the output files of the run, as a clause; empty if nothing is."""
    if run.role == BUILD:
        return _broken_engine(run.engine, trtexec, head)
    for kind, path in run.exports:
        if reason := _broken_export(kind, path):
            return f"{path.name} {reason}"
    return ""


def _broken_engine(path: Path, trtexec: Trtexec, head: Callable[[Path], bytes]) -> str:
    try:
        begin = head(path)
    except OSError as error:
        return f"{path.name}: {describe_reason(error)}"
    if not begin:
        return f"{path.name} is empty"
    if begin != _PLAN_MAGIC and (trtexec.numbers or ()) >= (8, 6):
        return f"{path.name} is not a serialized engine"
    return ""


def _broken_export(kind: str, path: Path) -> str:
    """Return why an exported file cannot be used, as the end of a sentence; empty if it can."""
    if not path.is_file():
        return "was not written"
    try:
        if kind == "graph":
            return "" if read_layer_info(path).layers else "has no layers"
        if kind == "timing":
            read_timing(path)
            return ""
        profile = read_profile(path)
    except ArtifactError as error:
        return error.diagnostic.message
    if not profile.rows:
        return "has no layers: nothing was profiled"
    lost = next(
        (diagnostic.message for diagnostic in profile.diagnostics if diagnostic.severity is Severity.ERROR),
        "",
    )
    return lost or ("" if _ends_as_list(path) else "is truncated")


def _ends_as_list(path: Path) -> bool:
    """Return whether a file ends in a bracket, as all complete exports do; profiles need not be valid JSON."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 64))
        return file.read().rstrip().endswith(b"]")


def _names_only(run: RunPlan) -> list[str]:
    for kind, path in run.exports:
        if kind == "graph" and read_layer_info(path).names_only:
            return ["the engine was built without --profilingVerbosity=detailed: layers have names only"]
    return []
