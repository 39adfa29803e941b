"""Shared by one capture and by a sweep: the machine, the final messages, the archive."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from trex_tui.old.artifacts.capture_manifest import cut
from trex_tui.old.capture.machine import Machine
from trex_tui.old.capture.options import (
    checked_cache,
    quoted,
)
from trex_tui.old.capture.plan import Names
from trex_tui.old.capture.process import Stop
from trex_tui.old.capture.run import RESUME_HINT, CaptureRequest, CaptureResult
from trex_tui.old.capture.trtexec import (
    Trtexec,
    find_trtexec,
)
from trex_tui.old.capture.verdict import LOST
from trex_tui.old.cli.output import complain, write_message
from trex_tui.old.errors import ExitCode, TrexError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.views.capture import (
    LONGEST_LINE,
    CaptureView,
    card_line,
    describe_build,
    report_card,
)
from trex_tui.old.text import printable

if TYPE_CHECKING:
    from trex_tui.old.capture.ssh import Ssh


_OK = int(ExitCode.OK)


def finish(
    options: argparse.Namespace, result: CaptureResult, request: CaptureRequest, view: CaptureView
) -> int:
    """Show the outcome of a capture and write its archive; return the exit code."""
    code = _report(result, view, request)
    return _archive(options, request, view) if code == _OK and options.archive else code


def local_machine(options: argparse.Namespace, request: CaptureRequest) -> Machine:
    """Return this machine, with `--docker` a container on it."""
    from trex_tui.old.capture.container import ContainerMachine, needed_folders

    if options.docker is None:
        return Machine()
    folders = needed_folders(request.options, request.outdir)
    return ContainerMachine(options.docker, folders, options.trtexec)


def find_here(options: argparse.Namespace, machine: Machine) -> Trtexec:
    """Return the trtexec of this machine, or of its container."""
    from trex_tui.old.capture.container import ContainerMachine

    if isinstance(machine, ContainerMachine):
        return machine.find(complain)
    return find_trtexec(options.trtexec, note=complain)


def requests_by_host(hosts: list[str], request: CaptureRequest) -> list[tuple[Ssh, CaptureRequest]]:
    """Return the request per machine: with several machines each has its own directory and timing cache.

    Raises:
        TrexError: A machine has no name or is repeated, or a timing cache cannot be written.
    """
    from trex_tui.old.capture.ssh import checked_hosts, folder_name

    machines = checked_hosts(hosts)
    if len(machines) == 1:
        return [(machines[0], request)]
    requests = []
    for ssh in machines:
        folder, options = folder_name(ssh.host), request.options
        if options.timing_cache is not None:
            options = replace(options, timing_cache=f"{options.timing_cache}.{folder}")
            checked_cache(options.timing_cache or "")
        requests.append((ssh, replace(request, options=options, outdir=request.outdir / folder)))
    return requests


@dataclass(frozen=True, slots=True)
class Attempt:
    """Outcome of one of several captures.

    Attributes:
        result: None after an internal or connection error.
        reason: Why there is no set; empty if there is one.
    """

    code: int
    result: CaptureResult | None
    reason: str = ""


def attempt(
    action: Callable[[], CaptureResult],
    options: argparse.Namespace,
    request: CaptureRequest,
    stop: Stop,
    view: CaptureView,
) -> Attempt:
    """Run one of several captures and show its outcome; an error does not affect the others."""
    try:
        result = action()
    except (TrexError, OSError) as error:
        if stop.times:
            view.say("interrupted")
            return Attempt(int(ExitCode.INTERRUPTED), None, "interrupted")
        text = str(error)
        text = text.removeprefix(view.prefix) if view.prefix else text
        view.say(f"error: {text}")
        return Attempt(int(ExitCode.BAD_INPUT), None, text)
    reason = "" if result.passed else str(result.verdict or "interrupted")
    return Attempt(finish(options, result, request, view), result, reason)


def _archive(options: argparse.Namespace, request: CaptureRequest, view: CaptureView) -> int:
    """Write the archive of each measurement next to its files; return the exit code. The set is complete without it."""
    from trex_tui.old import load_engine
    from trex_tui.old.report.archive_file import ENDING, write_archive

    names = Names(request.outdir, request.name)
    code = _OK
    try:
        for number in range(1, request.options.repeat + 1):
            target = names.file(ENDING[1:], number)
            engine = load_engine(names.file("graph.json", number))
            written = write_archive(engine, target, force=request.force, with_engine=options.with_engine)
            for note in written.notes:
                view.say(f"note: {note}")
            view.say(written.describe())
            code = code if written.is_whole else int(ExitCode.BAD_INPUT)
    except (TrexError, OSError) as error:
        view.say(f"error: no archive: {error}")
        return int(ExitCode.BAD_INPUT)
    return code


def _report(result: CaptureResult, view: CaptureView, request: CaptureRequest) -> int:
    """Show the outcome of a capture; return its exit code."""
    for remark in result.remarks:
        view.say(f"note: {remark}")
    if result.passed:
        _show_card(result, view, request)
        return _OK
    if result.interrupted:
        view.say("interrupted" + (f"; the logs are in {result.directory}" if result.directory else ""))
        _say_resume(result, view)
        return int(ExitCode.INTERRUPTED)
    for line in _shown_lines(result):
        write_message(f"  {view.prefix}{printable(cut(line, LONGEST_LINE))}\n")
    if result.log is not None:
        view.say(f"full log: {result.log}")
    what = f"{result.run.role} run" if result.run else "capture"
    if result.verdict is not None and result.verdict.key == LOST:
        view.say(f"error: {what}: {result.verdict}")
        return int(ExitCode.BAD_INPUT)
    view.say(f"error: {what} failed: {result.verdict}")
    _say_resume(result, view)
    return int(ExitCode.TRTEXEC_FAILED)


def _show_card(result: CaptureResult, view: CaptureView, request: CaptureRequest) -> None:
    """Print the result in four lines with the next steps; for several machines one line each."""
    from trex_tui.old import load_engine

    outdir, engine_file = quoted(str(request.outdir)), Names(request.outdir, request.name).engine
    if request.options.build_only:
        view.say(f"Engine  {describe_build(result)}")
        command = f"trex-tui capture --engine {quoted(str(engine_file))} --outdir {outdir} --force"
        view.say(f"next: {command}")
        return
    try:
        engine = load_engine(Names(request.outdir, request.name).file("graph.json"))
    except TrexError as error:  # the set is complete; only the display failed
        view.say(f"note: {error}")
        return
    if view.prefix:
        view.say(card_line(engine, result))
        return
    for label, text in report_card(engine, result, request.options.repeat):
        view.say(f"{label:<10}  {text}")
    view.say(f"next: trex-tui {outdir}")


_MOST_ERRORS = 8


def _shown_lines(result: CaptureResult) -> Sequence[str]:
    """Return the first and last errors of trtexec; without any the end of its output."""
    errors = [text for text in dict.fromkeys(result.errors) if text.strip()]
    if len(errors) > _MOST_ERRORS:
        more = len(errors) - _MOST_ERRORS
        errors = [*errors[: _MOST_ERRORS - 1], f"... {more} more errors in the log", errors[-1]]
    return errors or result.last


def _say_resume(result: CaptureResult, view: CaptureView) -> None:
    """Print that the engine was kept, so that no rebuild is needed."""
    if result.engine is not None:
        view.say(f"the engine is kept: {result.engine}; {RESUME_HINT}")
