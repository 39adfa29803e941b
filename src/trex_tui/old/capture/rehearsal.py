"""Check that trtexec accepts a command line before anything is built, by running it with an added unknown option.

trtexec parses all options before it touches the GPU, the model or a file. If it rejects only the unknown option, the command
line is good. Otherwise it rejects a value or a combination that no table here knows, which would have failed a capture later.
A message may name no option (`stof`): then the line is tried without each option in turn.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path

from trex_tui.old.buildlog.failures import recognise
from trex_tui.old.capture.machine import Machine, RunControl
from trex_tui.old.capture.plan import OWN_FLAGS, RunPlan, flag_name
from trex_tui.old.capture.process import Stop
from trex_tui.old.capture.trtexec import Trtexec
from trex_tui.old.errors import TrexError, describe_reason
from trex_tui.old.lazy_dataclass import dataclass

NONSENSE = "--trex-tui-rehearsal"
_TIMEOUT_S = 120.0
"""As for `--help`: the first start loads gigabytes of libraries."""
_SEARCH_S = 60.0
"""Time limit of the search for the rejected option."""
_WAIT_S = 5.0
"""Delay before a note names what is awaited."""
_MOST_BYTES = 1 << 20
_LONGEST_QUOTE = 200
_BEYOND = re.compile(rb"\[I\] (?:\[TRT\] |=== )")
"""Output of trtexec after it has accepted the options; its help has such titles without a severity."""
_ERROR = re.compile(r"\[[^\]]*\] \[[EF]\] (?P<text>.*\S)")
_ABORTED = re.compile(r"\s*what\(\):\s*(?P<text>.*\S)")
_UNKNOWN = re.compile(r"Unknown option: (?P<flag>\S+)")
_CONVERSION = re.compile(r"sto(?:i|l|ll|ul|ull|f|d|ld)(?:: no conversion|: out of range)?")
_OF_OPTIONS = frozenset(("unknown_option", "uncaught"))


@dataclass(frozen=True, slots=True)
class Answer:
    """trtexec's response to a command line.

    Attributes:
        is_good: It accepts every option.
        complaint: Its message about what it rejects; empty if it accepts the line or the response is unclear.
        unknown: Options that it does not know.
        is_odd: It accepts the unknown option, so the response proves nothing.
    """

    is_good: bool = False
    complaint: str = ""
    unknown: tuple[str, ...] = ()
    is_odd: bool = False


def rehearse(
    machine: Machine, runs: Sequence[RunPlan], trtexec: Trtexec, stop: Stop, note: Callable[[str], None]
) -> None:
    """Check that trtexec accepts the commands; of repeated runs, which differ only in paths, one is checked.

    A trtexec that responds in another way, or fails for another reason, passes: the runs themselves will show the error.

    Args:
        note: Receives messages about waiting, and about what was not checked.

    Raises:
        TrexError: It rejects a command.
    """
    for run in runs:
        if run.number > 1 or stop.times:
            continue
        answer = _ask(machine, run.argv, stop, note)
        if answer.is_odd:
            note("options not checked in advance: this trtexec accepts unknown options")
            return
        if answer.unknown:
            raise TrexError(
                f"trtexec of TensorRT {trtexec.version} does not know {', '.join(answer.unknown)}; "
                "check the arguments after --"
            )
        if answer.complaint:
            raise TrexError(_describe(machine, run, answer, trtexec, stop, note))


def read_answer(output: bytes) -> Answer:
    """Parse the output of a command line with the unknown option."""
    lines = output.decode("utf-8", errors="replace").splitlines()
    errors = [match["text"] for line in lines if (match := _ERROR.match(line) or _ABORTED.match(line))]
    unknown = [match["flag"] for text in errors if (match := _UNKNOWN.match(text))]
    others = tuple(flag for flag in unknown if flag != NONSENSE)
    if others:
        return Answer(unknown=others)
    if unknown:
        return Answer(is_good=True)
    # The lines of the help text are indented, and its titles begin with `=`.
    outside = [line for line in lines if line[:1].strip() and not line.startswith(("=", "&&&&"))]
    known = recognise([*errors, *outside])
    if not errors or (known is not None and known.key not in _OF_OPTIONS):
        return Answer()
    return Answer(complaint=errors[0][:_LONGEST_QUOTE])


@dataclass(slots=True)
class _Listener:
    """Collects the output; requests the end when trtexec continues after its options."""

    end: Callable[[], None]
    output: bytearray = field(default_factory=bytearray)
    went_on: bool = False

    def feed(self, data: bytes) -> None:
        if self.went_on:
            return
        start = max(0, len(self.output) - 64)
        self.output += data
        if len(self.output) > _MOST_BYTES or _BEYOND.search(self.output, start):
            self.went_on = True
            self.end()


def _ask(machine: Machine, argv: Sequence[str], stop: Stop, note: Callable[[str], None]) -> Answer:
    """Run one command line; the response is unclear if the user interrupts it."""
    own = Stop()
    listener = _Listener(own.request)
    tell_at = time.monotonic() + _WAIT_S

    def tick(_: int | None) -> None:
        nonlocal tell_at
        while own.times < stop.times:
            own.request()
        if time.monotonic() > tell_at:
            tell_at = float("inf")
            note(f"waiting for {argv[0]} to check its options")

    try:
        with tempfile.TemporaryDirectory(prefix="trex-tui-rehearsal-") as directory:
            control = RunControl(Path(directory, "log"), own, listener.feed, tick, _TIMEOUT_S)
            outcome, lost = machine.execute((*argv, NONSENSE), control)
    except OSError as error:
        raise TrexError(f"no directory for temporary files: {describe_reason(error)}") from None
    finally:
        own.close()
    if stop.times or lost is not None:
        return Answer()
    if listener.went_on or outcome.stopped or outcome.exit_code == 0:
        return Answer(is_odd=True)
    return read_answer(bytes(listener.output))


def _describe(
    machine: Machine,
    run: RunPlan,
    answer: Answer,
    trtexec: Trtexec,
    stop: Stop,
    note: Callable[[str], None],
) -> str:
    """Return the message, with the options that it is about."""
    complaint = answer.complaint
    name = f"trtexec of TensorRT {trtexec.version}"
    if any(flag_name(word) in complaint for word in run.argv[1:]):
        return f"{name} rejects the command of the {run.role} run: {complaint}"
    culprits = []
    until = time.monotonic() + _SEARCH_S
    for index, word in enumerate(run.argv):
        if index == 0 or flag_name(word) in OWN_FLAGS or stop.times or time.monotonic() > until:
            continue
        without = _ask(machine, (*run.argv[:index], *run.argv[index + 1 :]), stop, note)
        if without.is_good or (without.complaint and without.complaint != complaint):
            culprits.append(word)
    if not culprits:
        return f"{name} rejects the command of the {run.role} run: {complaint}"
    what = " with ".join(culprits)
    if _CONVERSION.fullmatch(complaint):
        return f"{name} rejects {what}: a number is expected ({complaint})"
    return f"{name} rejects {what}: {complaint}"
