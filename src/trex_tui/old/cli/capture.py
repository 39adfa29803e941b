"""`trex-tui capture`: make a complete artifact set from an ONNX file or an engine."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.capture import PRECISIONS
from trex_tui.old.capture.clocks import prepare_lock
from trex_tui.old.capture.machine import Machine
from trex_tui.old.capture.options import (
    CaptureOptions,
    OptimizationProfile,
    checked_inputs,
    checked_name,
    default_name,
    quoted,
)
from trex_tui.old.capture.plan import Names, RunPlan, plan
from trex_tui.old.capture.process import Stop, stop_on_signals
from trex_tui.old.capture.run import CaptureRequest, capture
from trex_tui.old.capture.shell_script import (
    FileCopy,
    GpuCommand,
    ScriptPlan,
    gpu_command,
    held_command,
    render_remote_script,
    render_script,
    set_files,
    share_engines,
)
from trex_tui.old.capture.trtexec import (
    Trtexec,
    TrtexecNotFoundError,
    trtexec_of_release,
)
from trex_tui.old.cli.capture_run import attempt, find_here, finish, local_machine, requests_by_host
from trex_tui.old.cli.output import complain, write_message
from trex_tui.old.cli.sweep import run_sweep
from trex_tui.old.config import hosts_file
from trex_tui.old.errors import ExitCode, TrexError
from trex_tui.old.report.views.capture import (
    CaptureView,
    make_view,
)

if TYPE_CHECKING:
    from trex_tui.old.capture.ssh import Ssh

_OK = int(ExitCode.OK)


def run_capture(options: argparse.Namespace) -> int:
    """Capture and report the outcome; with several machines, return the worst exit code.

    Raises:
        TrexError: No trtexec, an option that it does not know, a missing file, or an existing set that must not be replaced.
    """
    if os.name != "posix":
        raise TrexError("capture runs on Linux only; its files can be explored anywhere")
    wanted = capture_options(options)
    checked_inputs(wanted, is_here=not options.host)
    _check_combinations(options, wanted)
    request = capture_request(options, wanted)
    if options.sweep and not options.dry_run:
        code, outdir = run_sweep(options, request)
    else:
        capture_one = _capture_over_ssh if options.host else _capture_here
        code, outdir = capture_one(options, request)
    if code != _OK or outdir is None or not _wants_open(options.open):
        return code
    from trex_tui.old.cli import main

    return main(["open", str(outdir.absolute())])  # absolute: a relative path may look like an option


def _check_combinations(options: argparse.Namespace, wanted: CaptureOptions) -> None:
    """Reject options that have no effect together.

    Raises:
        TrexError: There are such options.
    """
    keeps_engine = options.with_engine or bool(options.sweep)
    refusals = (
        (
            options.resume and not wanted.builds and not options.sweep,
            "--resume has no effect with --engine, which is built already; remove it",
        ),
        (
            options.docker is not None and bool(options.host),
            "--docker applies to this machine only; with --host, name a `docker run` wrapper there with --trtexec",
        ),
        (
            options.with_engine and not options.host and not options.archive,
            "--with-engine needs --host or --archive; a local set always has the engine",
        ),
        (
            options.release is not None and not options.dry_run,
            "--for needs --dry-run; a capture uses the version of its trtexec",
        ),
        (
            wanted.build_only and options.monitor is not None,
            "--monitor and --build-only exclude each other; remove one",
        ),
        (
            wanted.build_only and options.archive,
            "--archive and --build-only exclude each other; remove one",
        ),
        (
            wanted.build_only and bool(options.host) and not keeps_engine,
            "--build-only with --host: add --with-engine, or the engine is deleted with the remote files",
        ),
        (
            options.format == "json" and (not options.sweep or options.dry_run),
            "--json is for the table of a sweep; for one capture: trex-tui summary DIR --json",
        ),
    )
    for is_refused, sentence in refusals:
        if is_refused:
            raise TrexError(sentence)


def capture_options(options: argparse.Namespace) -> CaptureOptions:
    """Return the options for trtexec."""
    same = ({field.name for field in fields(CaptureOptions)} & vars(options).keys()) - {"profiles"}
    return CaptureOptions(
        **{name: getattr(options, name) for name in same},
        precisions=tuple(precision for precision in PRECISIONS if getattr(options, precision)),
        workspace_mib=options.workspace,
        plugins=tuple(options.plugin),
        profiles=tuple(OptimizationProfile(*shapes) for shapes in options.profiles),
        warmup_ms=options.warmup,
        duration_s=options.duration,
        passthrough=tuple(options.trtexec_arguments),
    )


def capture_request(options: argparse.Namespace, wanted: CaptureOptions) -> CaptureRequest:
    """Return the complete request.

    Raises:
        TrexError: `--name` is not a file name.
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
        memory_clock=options.memory_clock,
        power_limit=options.power_limit,
        monitor_ms=options.monitor,
    )


def _capture_here(options: argparse.Namespace, request: CaptureRequest) -> tuple[int, Path | None]:
    """Capture on this machine; return the exit code, and the directory to explore."""
    if options.dry_run:
        _print_script(options, request)
        return _OK, None
    request.check_target()  # before trtexec is run, which may take long
    machine = local_machine(options, request)
    trtexec = find_here(options, machine)
    with stop_on_signals() as stop, make_view(sys.stderr) as view:
        code = finish(options, capture(request, trtexec, stop, view, machine), request, view)
    if code == _OK:
        print(quoted(str(request.outdir)), flush=True)  # noqa: T201 - this is the result
    return code, request.outdir


# Over ssh


def _capture_over_ssh(options: argparse.Namespace, request: CaptureRequest) -> tuple[int, Path | None]:
    """Capture on each machine in turn."""
    jobs = requests_by_host(options.host, request)
    codes: list[int] = []
    complete: list[Path] = []
    with stop_on_signals() as stop:
        if options.dry_run:
            for ssh, host_request in jobs:
                _print_remote_script(options, ssh, host_request, stop)
            return _OK, None
        for _, host_request in jobs:
            host_request.check_target()  # before any connection
        for ssh, host_request in jobs:
            with make_view(sys.stderr, "" if len(jobs) == 1 else f"{ssh.host}: ") as view:
                codes.append(_capture_on(options, ssh, host_request, stop, view))
            complete += [host_request.outdir] if codes[-1] == _OK else []
            if stop.times:
                break
    for outdir in complete:
        print(quoted(str(outdir)), flush=True)  # noqa: T201 - this is the result
    # With several machines the sets go into one parent directory, and are listed.
    return max(codes), complete[0] if len(jobs) == 1 and complete else request.outdir


def _capture_on(
    options: argparse.Namespace, ssh: Ssh, request: CaptureRequest, stop: Stop, view: CaptureView
) -> int:
    from trex_tui.old.capture.hosts import capture_there

    record = hosts_file(os.environ)
    with_engine = options.with_engine
    return attempt(
        lambda: capture_there(ssh, request, options.trtexec, stop, view, record, with_engine=with_engine),
        options,
        request,
        stop,
        view,
    ).code


# Dry runs


def _print_script(options: argparse.Namespace, request: CaptureRequest) -> None:
    try:
        machine = local_machine(options, request)
        trtexec = _stated_trtexec(options) or find_here(options, machine)
    except TrtexecNotFoundError as error:
        raise TrtexecNotFoundError(f"{error}; or name its version: --dry-run --for 10.4") from None
    steps = share_engines(point.plan(trtexec) for point in _script_requests(options, request))
    runs = [
        replace(step, argv=machine.command_line(step.argv)) if isinstance(step, RunPlan) else step
        for step in steps
    ]
    script = script_plan(request, runs, set_files(runs), _gpu_commands(options, request, machine))
    _show_script(options, render_script(script, _title(request, trtexec)))


def _print_remote_script(options: argparse.Namespace, ssh: Ssh, request: CaptureRequest, stop: Stop) -> None:
    """Query the machine for its trtexec, unless `--for` names the version; nothing is created there."""
    from trex_tui.old.capture.remote import find_there
    from trex_tui.old.capture.ssh import moved

    trtexec = _stated_trtexec(options) or find_there(ssh, stop, options.trtexec)
    requests = _script_requests(options, request)
    local = share_engines(point.plan(trtexec) for point in requests)
    sent = moved(request.options, ".")[1]
    runs = share_engines(
        plan(
            moved(point.options, ".")[0],
            trtexec,
            Names(point.outdir.relative_to(request.outdir), request.name),
        )
        for point in requests
    )
    cache = request.options.timing_cache
    script = script_plan(
        request,
        runs,
        set_files(local, with_engine=options.with_engine or bool(options.sweep)),
        _gpu_commands(options, request, Machine(ssh, stop)),
    )
    fetched = [("timing.cache", Path(cache))] if cache is not None and request.options.builds else []
    title = f"{_title(request, trtexec)} on {ssh.host}"
    _show_script(options, render_remote_script(script, title, ssh, sent, fetched))


def _script_requests(options: argparse.Namespace, request: CaptureRequest) -> list[CaptureRequest]:
    """Return the captures of the script: one, or the points of a sweep."""
    if not options.sweep:
        return [request]
    from trex_tui.old.capture.sweep import parse_axis, plan_points

    return [point.request for point in plan_points(request, [parse_axis(text) for text in options.sweep])]


def _show_script(options: argparse.Namespace, script: str) -> None:
    print(script, end="", flush=True)  # noqa: T201 - this is the result
    if options.resume:
        complain("note: --resume has no effect on the script: the script builds the engine")
    if options.archive:
        complain("note: --archive has no effect on the script; later: trex-tui export DIR -o NAME.tea")
    if options.monitor is not None:
        complain("note: --monitor has no effect on the script: it takes no samples")
    if options.with_ids:
        complain("note: --with-ids has no effect on the script: it writes no manifest")


def _stated_trtexec(options: argparse.Namespace) -> Trtexec | None:
    """Return the trtexec of the release in `--for`."""
    if options.release is None:
        return None
    return trtexec_of_release(options.release, Path(options.trtexec or "trtexec"))


def _title(request: CaptureRequest, trtexec: Trtexec) -> str:
    return f"capture of {request.options.model} with trtexec of TensorRT {trtexec.version}"


def script_plan(
    request: CaptureRequest,
    runs: Sequence[RunPlan | FileCopy],
    files: Sequence[Path],
    settings: Sequence[GpuCommand],
) -> ScriptPlan:
    """Return the script plan of a request."""
    return ScriptPlan(runs, request.outdir, files, settings, request.timeout_s, request.force)


def _gpu_commands(options: argparse.Namespace, request: CaptureRequest, machine: Machine) -> list[GpuCommand]:
    """Return commands that lock clocks and limit power; with `--for` no machine is queried for its GPU.

    Raises:
        TrexError: As a capture does.
    """
    wishes = request.gpu_wishes()
    if not wishes:
        return []
    device = request.options.measured_device()
    if options.release is not None:
        return [gpu_command(str(device or 0), setting, asked) for setting, asked in wishes]
    host, driver = machine.probe(with_ids=False), machine.clock_driver()
    commands = []
    for setting, asked in wishes:
        lock = prepare_lock(asked, device, host, driver, setting)
        if lock.gpu is None:
            complain("note: the script locks no clocks on a Jetson; run sudo jetson_clocks first")
        else:
            commands.append(held_command(lock))
    return commands


# Outcome


def _wants_open(asked: bool | None) -> bool:
    """Return whether to open the set; asks in a terminal without the option."""
    from trex_tui.old.widgets.terminal import can_draw

    if asked is not None:
        return asked
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if not can_draw(os.environ, is_terminal=all(stream.isatty() for stream in streams)):
        return False
    try:
        write_message("explore it now? [Y/n] ")
        return sys.stdin.readline().strip().lower() in ("", "y", "yes")
    except KeyboardInterrupt:  # the capture is done: this only answers no
        write_message("\n")
        return False
