"""Measuring the engine of a set once more: with which file and options, where the new set is to lie, and as what command.

The options are those of the run that the set has, so that the two can be compared: `earlier.py` reads them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trex_tui.artifacts.capture_manifest import ClockLock
from trex_tui.artifacts.discover import ArtifactSet
from trex_tui.artifacts.kinds import ArtifactKind
from trex_tui.artifacts.log_options import read_log_options
from trex_tui.artifacts.naming import display_name, stem_of
from trex_tui.artifacts.sniff import sniff
from trex_tui.capture.artifacts import Workspace
from trex_tui.capture.earlier import options_of
from trex_tui.capture.options import CaptureOptions, checked_name
from trex_tui.capture.quoting import command_line
from trex_tui.errors import TrexError

_AGAIN = re.compile(r"\.again-\d+$")
_LOCKING = "the command for a shell locks them"
_ENDINGS = (".engine", ".plan", ".trt")
_OPTIONS = (
    ("--shapes", "shapes"),
    ("--profile-index", "profile_index"),
    ("--dla", "dla"),
    ("--device", "device"),
    ("--warmup", "warmup_ms"),
    ("--duration", "duration_s"),
    ("--iterations", "iterations"),
    ("--avg-runs", "avg_runs"),
    ("--percentile", "percentile"),
    ("--inf-streams", "inf_streams"),
)
"""Of `trex-tui capture`, with the fields that they set."""


@dataclass(frozen=True, slots=True)
class Again:
    """A capture of an engine that was captured before.

    Attributes:
        options: Of the run; `engine` is the file, or a word for it where there is none.
        outdir, name: Where the new set is to lie, and its name.
        notes: What is not as it was, in sentences.
        problem: Why it cannot be done here; empty if it can.
        locked_mhz: What the GPU clocks were locked to, for the command line alone: here nothing locks them.
    """

    options: CaptureOptions
    outdir: Path
    name: str
    notes: tuple[str, ...] = ()
    problem: str = ""
    locked_mhz: int | None = None

    def command(self) -> str:
        """The same as a command line, to paste."""
        options = self.options
        given = [
            f"{flag}={value}" for flag, field in _OPTIONS if (value := getattr(options, field)) is not None
        ]
        words = ["trex-tui", "capture", "--engine", options.engine or "ENGINE", *given]
        words += ["--allow-gpu-fallback"] if options.allow_gpu_fallback else []
        words += ["--no-cuda-graph"] if options.cuda_graph is False else []
        words += ["--cuda-graph"] if options.cuda_graph else []
        words += ["--data-transfers"] if options.data_transfers else []
        words += ["--version-compatible"] if options.version_compatible else []
        words += [f"--lock-clocks={self.locked_mhz}"] if self.locked_mhz is not None else []
        words += ["--outdir", str(self.outdir), "--name", self.name]
        return command_line([*words, *(["--", *options.passthrough] if options.passthrough else [])])

    def impossible(self, problem: str) -> Again:
        """The same where it cannot be done."""
        return replace(self, problem=self.problem or problem)

    def with_length(self, duration_s: float | None, iterations: int | None) -> Again:
        """The same, measured for another time; None is trtexec's default."""
        return replace(self, options=replace(self.options, duration_s=duration_s, iterations=iterations))


def measured_again(
    source: ArtifactSet,
    command: Sequence[str] = (),
    version: str | None = None,
    clocks: ClockLock | None = None,
) -> Again:
    """How the engine of a set would be measured once more.

    Args:
        source: The set.
        command: Of the run that measured it, as the manifest has it; without one the log is asked.
        version: The TensorRT of that run.
        clocks: What the manifest tells of locked clocks.
    """
    words = list(command) or _of_log(source)
    options, notes = options_of(words, version)
    locked_mhz = _locked_mhz(clocks)
    if locked_mhz is not None:
        notes = (*notes, f"the GPU clocks were locked to {locked_mhz} MHz, here they are not: {_LOCKING}")
    stem = _AGAIN.sub("", _stem(source))
    directory = source.directory
    engine = _engine_file(source, stem)
    outdir = directory if os.access(directory, os.W_OK) else Path("results", stem)
    options = replace(options, engine=None if engine is None else str(engine))
    name, problem = f"{stem}.again-2", ""
    try:
        name = _free_name(outdir, stem, options)
    except TrexError as error:  # the directory cannot be listed
        problem = str(error)
    if engine is None:
        places = f"{stem}{'|'.join(_ENDINGS)}"
        problem = f"there is no engine file in this set or beside it ({places} in {directory})"
    return Again(options, outdir, name, notes, problem, locked_mhz)


def _locked_mhz(clocks: ClockLock | None) -> int | None:
    """None where they were free, or nobody knows."""
    if clocks is None or not clocks.is_locked or not clocks.target_mhz or clocks.target_mhz < 1:
        return None
    return round(clocks.target_mhz)


def _of_log(source: ArtifactSet) -> list[str]:
    path = source.files.get(ArtifactKind.PROFILE_LOG)
    words = list(read_log_options(path, of_timed_run=True).arguments) if path is not None else []
    # The banner does not quote: where an argument had a space, none can be told from the next.
    return words if all(word.startswith("-") for word in words[1:]) else []


def _stem(source: ArtifactSet) -> str:
    """What its files are called, without the `.onnx` in the middle; the directory where they have no name of their own."""
    first = next(iter(source.files.values()), None)
    name = display_name(stem_of(first)) if first is not None else ""
    name = name or source.directory.absolute().name
    try:
        return checked_name(name)
    except TrexError:
        return "engine"


def _engine_file(source: ArtifactSet, stem: str) -> Path | None:
    """The plan of the set, or one beside it that is called so."""
    plan = source.files.get(ArtifactKind.PLAN)
    if plan is not None:
        return plan
    try:
        beside = sorted(source.directory.iterdir())
    except OSError:
        return None
    for path in beside:
        is_called_so = path.suffix.lower() in _ENDINGS and display_name(stem_of(path)) == stem
        if is_called_so and sniff(path).kind is ArtifactKind.PLAN:
            return path
    return None


def _free_name(outdir: Path, stem: str, options: CaptureOptions) -> str:
    """The first of `<stem>.again-2`, `-3`, … that no set in the directory has."""
    number = 2
    while Workspace(outdir, f"{stem}.again-{number}", Path(options.engine or "")).existing():
        number += 1
    return f"{stem}.again-{number}"
