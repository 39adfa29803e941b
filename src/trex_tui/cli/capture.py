"""`trex-tui capture`: from an ONNX file, or an engine, to a complete artifact set, here or over ssh."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import fields, replace
from pathlib import Path

from trex_tui.artifacts.capture_manifest import cut
from trex_tui.capture.options import (
    CaptureOptions,
    checked_cache,
    checked_inputs,
    checked_name,
    command_line,
    default_name,
    quoted,
)
from trex_tui.capture.process import Stop, stop_on_signals
from trex_tui.capture.run import CaptureRequest, CaptureResult, capture
from trex_tui.capture.trtexec import find_trtexec
from trex_tui.capture.verdict import LOST
from trex_tui.cli.parser import PRECISIONS
from trex_tui.errors import ExitCode, TrexError
from trex_tui.report.views.capture import LONGEST_LINE, CaptureView, make_view
from trex_tui.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trex_tui.capture.ssh import Ssh

_OK = int(ExitCode.OK)


def run_capture(options: argparse.Namespace) -> int:
    """Capture, and tell how it went; of several machines the worst exit code counts.

    Raises:
        TrexError: No trtexec, an option that it does not know, a file that is not there, a set that must not be replaced.
    """
    if os.name != "posix":
        raise TrexError("capture runs on Linux; the files it leaves can be explored anywhere")
    wanted = capture_options(options)
    checked_inputs(wanted, is_here=not options.host)
    if options.resume and not wanted.builds:
        raise TrexError("--resume saves a build, and --engine is built already; leave it out")
    if options.with_engine and not options.host:
        raise TrexError("--with-engine goes with --host; here the engine is always part of the set")
    request = capture_request(options, wanted)
    code, outdir = _capture_over_ssh(options, request) if options.host else _capture_here(options, request)
    if code != _OK or outdir is None or not _wants_open(options.open):
        return code
    from trex_tui.cli import main

    return main(["open", str(outdir.absolute())])  # absolute: a relative path may look like an option


def capture_options(options: argparse.Namespace) -> CaptureOptions:
    """Return what the command line asks of trtexec."""
    same = {field.name for field in fields(CaptureOptions)} & vars(options).keys()
    return CaptureOptions(
        **{name: getattr(options, name) for name in same},
        precisions=tuple(precision for precision in PRECISIONS if getattr(options, precision)),
        workspace_mib=options.workspace,
        plugins=tuple(options.plugin),
        warmup_ms=options.warmup,
        duration_s=options.duration,
        passthrough=tuple(options.trtexec_arguments),
    )


def capture_request(options: argparse.Namespace, wanted: CaptureOptions) -> CaptureRequest:
    """Return the whole wish.

    Raises:
        TrexError: Files cannot be called as `--name` says.
    """
    return CaptureRequest(
        options=wanted,
        outdir=Path(options.outdir or Path("results", default_name(wanted))),
        name=checked_name(default_name(wanted) if options.name is None else options.name),
        force=options.force,
        resume=options.resume,
        timeout_s=options.timeout,
        with_ids=options.with_ids,
        lock_clocks=options.lock_clocks,
    )


def _capture_here(options: argparse.Namespace, request: CaptureRequest) -> tuple[int, Path | None]:
    """Return the exit code, and the directory to explore."""
    if options.dry_run:
        for run in request.plan(find_trtexec(options.trtexec)):
            print(command_line(run.argv))  # noqa: T201 - this is the result
        return _OK, None
    request.check_target()  # before trtexec is asked, which may take long
    trtexec = find_trtexec(options.trtexec)
    with stop_on_signals() as stop, make_view(sys.stderr) as view:
        code = _report(capture(request, trtexec, stop, view), view)
    if code == _OK:
        print(quoted(str(request.outdir)), flush=True)  # noqa: T201 - this is the result
    return code, request.outdir


# Over ssh


def requests_by_host(hosts: list[str], request: CaptureRequest) -> list[tuple[Ssh, CaptureRequest]]:
    """Return what to capture on each machine: of several, each has its own directory and its own timing cache.

    Raises:
        TrexError: A machine has no name or is there twice, or a timing cache cannot be written.
    """
    from trex_tui.capture.ssh import checked_hosts, folder_name

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


def _capture_over_ssh(options: argparse.Namespace, request: CaptureRequest) -> tuple[int, Path | None]:
    """Capture on one machine after the other."""
    jobs = requests_by_host(options.host, request)
    codes: list[int] = []
    complete: list[Path] = []
    with stop_on_signals() as stop:
        if options.dry_run:
            for ssh, host_request in jobs:
                _print_remote_commands(options, ssh, host_request, stop)
            return _OK, None
        for _, host_request in jobs:
            host_request.check_target()  # before anybody is bothered
        for ssh, host_request in jobs:
            view = make_view(sys.stderr) if len(jobs) == 1 else CaptureView(sys.stderr, f"{ssh.host}: ")
            with view:
                codes.append(_capture_on(options, ssh, host_request, stop, view))
            complete += [host_request.outdir] if codes[-1] == _OK else []
            if stop.times:
                break
    for outdir in complete:
        print(quoted(str(outdir)), flush=True)  # noqa: T201 - this is the result
    # Of several machines the sets lie below one directory, and are listed.
    return max(codes), complete[0] if len(jobs) == 1 and complete else request.outdir


def _capture_on(
    options: argparse.Namespace, ssh: Ssh, request: CaptureRequest, stop: Stop, view: CaptureView
) -> int:
    from trex_tui.capture.remote import RemoteMachine

    try:
        with RemoteMachine(
            ssh, stop, with_engine=options.with_engine, note=view.note, grace_s=request.grace_s
        ) as machine:
            result = capture(request, machine.find(options.trtexec), stop, view, machine)
    except (TrexError, OSError) as error:
        if stop.times:
            view.say("interrupted")
            return int(ExitCode.INTERRUPTED)
        text = str(error)
        view.say(f"error: {text.removeprefix(view.prefix) if view.prefix else text}")
        return int(ExitCode.BAD_INPUT)
    return _report(result, view)


def _print_remote_commands(
    options: argparse.Namespace, ssh: Ssh, request: CaptureRequest, stop: Stop
) -> None:
    """Ask the machine for its trtexec, as for a capture; nothing is made there."""
    from trex_tui.capture.remote import RemoteMachine

    request.check_target()
    machine = RemoteMachine(ssh, stop, with_engine=options.with_engine)
    machine.word, machine.directory = "WORD", "/tmp/trex-tui.NAME"
    trtexec = machine.find(options.trtexec)
    runs = machine.plan(request.options, trtexec, request.workspace().names)
    for argv, redirection in machine.commands(runs, "NAME"):
        print(command_line(argv) + redirection)  # noqa: T201 - this is the result


# How it went


def _report(result: CaptureResult, view: CaptureView) -> int:
    """Tell how a capture ended; return its exit code."""
    for remark in result.remarks:
        view.say(f"note: {remark}")
    if result.passed:
        return _OK
    if result.interrupted:
        view.say("interrupted" + (f"; the logs are in {result.directory}" if result.directory else ""))
        return int(ExitCode.INTERRUPTED)
    for line in result.last:
        sys.stderr.write(f"  {view.prefix}{printable(cut(line, LONGEST_LINE))}\n")
    if result.log is not None:
        view.say(f"the whole log: {result.log}")
    what = f"{result.run.role} run" if result.run else "capture"
    if result.verdict is not None and result.verdict.key == LOST:
        view.say(f"error: {what}: {result.verdict}")
        return int(ExitCode.BAD_INPUT)
    view.say(f"error: {what} failed: {result.verdict}")
    return int(ExitCode.TRTEXEC_FAILED)


def _wants_open(asked: bool | None) -> bool:
    """Whether to open the set; ask where nothing was said and somebody can answer."""
    from trex_tui.widgets.terminal import can_draw

    if asked is not None:
        return asked
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if not can_draw(os.environ, is_terminal=all(stream.isatty() for stream in streams)):
        return False
    try:
        sys.stderr.write("explore it now? [Y/n] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("", "y", "yes")
    except KeyboardInterrupt:  # the capture is done: this only says no to the question
        sys.stderr.write("\n")
        return False
