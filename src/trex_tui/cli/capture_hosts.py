"""`trex-tui capture --host`: the same on other machines, side by side, one directory each."""

from __future__ import annotations

import argparse
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TextIO

from trex_tui.artifacts.host_state import cut
from trex_tui.capture.options import checked_cache, command_line, quoted
from trex_tui.capture.plan import BUILD
from trex_tui.capture.process import Stop, stop_on_signals
from trex_tui.capture.remote import RemoteMachine
from trex_tui.capture.run import CaptureRequest, CaptureResult, capture, workspace_of
from trex_tui.capture.ssh import ENGINE, FETCH, KEEP, MAKE, SEND, Ssh, checked_hosts, folder_of
from trex_tui.capture.verdict import LOST
from trex_tui.errors import TrexError
from trex_tui.report.views.capture import LONGEST_LINE, CaptureView, make_view
from trex_tui.text import printable

OK, BAD, FAILED, INTERRUPTED = 0, 2, 3, 130


class HostView(CaptureView):
    """Plain lines, each with the name of its machine."""

    def __init__(self, stream: TextIO, host: str, lock: threading.Lock) -> None:
        super().__init__(stream)
        self.host = host
        self.lock = lock

    def say(self, text: str) -> None:
        """One line, whole even where several machines talk."""
        with self.lock:
            super().say(f"{self.host}: {text.replace(f'error: {self.host}: ', 'error: ', 1)}")


@dataclass(frozen=True, slots=True)
class Job:
    """A capture on one machine."""

    ssh: Ssh
    request: CaptureRequest
    with_engine: bool


def jobs_of(options: argparse.Namespace, request: CaptureRequest) -> list[Job]:
    """One per machine.

    Raises:
        TrexError: A machine has no name or is there twice, or a timing cache cannot be written.
    """
    machines = checked_hosts(options.host)
    if len(machines) == 1:
        return [Job(machines[0], request, options.with_engine)]
    return [Job(one, _of_one(request, folder_of(one.host)), options.with_engine) for one in machines]


def _of_one(request: CaptureRequest, folder: str) -> CaptureRequest:
    """The request for one of several machines: a place of its own, and a timing cache, which is of one device.

    Raises:
        TrexError: That cache cannot be written.
    """
    options = request.options
    if options.timing_cache is not None:
        options = replace(options, timing_cache=f"{options.timing_cache}.{folder}")
        checked_cache(options.timing_cache or "")
    return replace(request, options=options, outdir=request.outdir / folder)


def run_hosts(options: argparse.Namespace, request: CaptureRequest) -> tuple[int, list[Job]]:
    """Capture everywhere; the worst exit code, and the machines that have a set.

    Raises:
        TrexError: It cannot begin.
    """
    jobs = jobs_of(options, request)
    if options.dry_run:
        with stop_on_signals() as stop:
            for job in jobs:
                _dry_run(job, options.trtexec, stop)
        return OK, []
    for job in jobs:
        workspace_of(job.request)  # before anybody is bothered
    lock = threading.Lock()
    with stop_on_signals() as stop, ThreadPoolExecutor(len(jobs)) as pool:

        def do(job: Job) -> int:
            alone = len(jobs) == 1
            view = make_view(sys.stderr) if alone else HostView(sys.stderr, job.ssh.host, lock)
            with view:
                return _one(job, options.trtexec, stop, view, nullcontext() if alone else lock)

        codes = list(pool.map(do, jobs))
    done = [job for job, code in zip(jobs, codes, strict=True) if code == OK]
    for job in done:  # in the order given, whoever was first
        print(quoted(str(job.request.outdir)), flush=True)  # noqa: T201 - this is the result
    return max(codes), done


def _one(
    job: Job, given: str | None, stop: Stop, view: CaptureView, lock: nullcontext[None] | threading.Lock
) -> int:
    try:
        with RemoteMachine(
            job.ssh, stop, with_engine=job.with_engine, note=view.note, grace_s=job.request.grace_s
        ) as place:
            result = capture(job.request, place.find(given), stop, view, place)
    except (TrexError, OSError) as error:
        if stop.times:
            view.say("interrupted")
            return INTERRUPTED
        view.say(f"error: {error}")
        return BAD
    return _tell(result, view, lock)


def _tell(result: CaptureResult, view: CaptureView, lock: nullcontext[None] | threading.Lock) -> int:
    for remark in result.remarks:
        view.say(f"note: {remark}")
    if result.passed:
        return OK
    if result.interrupted:
        view.say("interrupted" + (f"; the logs are in {result.directory}" if result.directory else ""))
        return INTERRUPTED
    whose = f"{view.host}: " if isinstance(view, HostView) else ""
    with lock:
        for line in result.last:
            sys.stderr.write(f"  {whose}{printable(cut(line, LONGEST_LINE))}\n")
    if result.log is not None:
        view.say(f"the whole log: {result.log}")
    what = f"{result.run.role} run" if result.run else "capture"
    if result.verdict is not None and result.verdict.key == LOST:
        view.say(f"error: {what}: {result.verdict}")
        return BAD
    view.say(f"error: {what} failed: {result.verdict}")
    return FAILED


def _dry_run(job: Job, given: str | None, stop: Stop) -> None:
    """The machine is asked for its trtexec, as it would be here; nothing is made there."""
    place = RemoteMachine(job.ssh, stop, with_engine=job.with_engine)
    place.word, place.directory = "WORD", "/tmp/trex-tui.NAME"
    trtexec = place.find(given)
    runs = place.plan(job.request.options, trtexec, workspace_of(job.request).names)
    ssh, word = job.ssh, place.word

    def show(*argv: str, redirect: str = "") -> None:
        print(command_line(argv) + redirect)  # noqa: T201 - this is the result

    show(*ssh.argv(KEEP, word, place.tenths, "NAME"))
    show(*ssh.argv(MAKE, word, *place.folders))
    for one in place.files:
        show(*ssh.argv(SEND, word, one.directory, one.name), redirect=f" < {quoted(str(one.source))}")
    for run in runs:
        show(*place.command(run), redirect=f" > {quoted(str(run.log))}")
        if run.role == BUILD:
            show(*ssh.argv(ENGINE, word, place.path_of(run)))
        for wanted in filter(None, (place.wanted(run), place.cache(run))):
            show(*ssh.argv(FETCH, word, *(remote for remote, _ in wanted)))
