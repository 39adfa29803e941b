"""`trex-tui capture --sweep`: run the captures of a matrix in turn, and print one table at the end."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui._version import __version__
from trex_tui.old.capture.manifest import read_manifest
from trex_tui.old.capture.options import quoted
from trex_tui.old.capture.plan import BUILD, Names
from trex_tui.old.capture.process import Stop, stop_on_signals
from trex_tui.old.capture.reuse import find_passed_build
from trex_tui.old.capture.run import CaptureRequest, CaptureResult, capture
from trex_tui.old.capture.sweep import SweepPoint, check_points, find_engine_key, parse_axis, plan_points
from trex_tui.old.capture.trtexec import Trtexec
from trex_tui.old.capture.verdict import LOST
from trex_tui.old.cli.capture_run import Attempt, attempt, find_here, local_machine, requests_by_host
from trex_tui.old.cli.output import complain
from trex_tui.old.cli.result_writer import ResultWriter
from trex_tui.old.config import hosts_file
from trex_tui.old.errors import ExitCode, TrexError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.views.capture import CaptureView, make_view
from trex_tui.old.report.views.sweep import (
    COMPLETE,
    SweepRow,
    measured_values,
    next_commands,
    sweep_object,
    sweep_table,
)
from trex_tui.old.text import plural, printable

if TYPE_CHECKING:
    from trex_tui.old.capture.ssh import Ssh

FAILED, INTERRUPTED, NOT_MEASURED = "failed", "interrupted", "not measured"
CaptureFunction = Callable[[CaptureRequest, Stop, CaptureView], CaptureResult]


@dataclass(slots=True)
class _Series:
    """The points of one machine, ready to be measured.

    Attributes:
        host: Empty for this machine.
        complete: For each point whether its set exists already.
        capture_point: Captures one point.
        states: State and reason of each point so far.
    """

    host: str
    points: Sequence[SweepPoint]
    trtexec: Trtexec
    complete: Sequence[bool]
    capture_point: CaptureFunction
    states: list[tuple[str, str]] = field(default_factory=list)


def run_sweep(options: argparse.Namespace, request: CaptureRequest) -> tuple[int, Path | None]:
    """Capture all points; return the exit code and the directory of the sets.

    Raises:
        TrexError: As `run_capture`, before any point is measured.
    """
    axes = [parse_axis(text) for text in options.sweep]
    result = ResultWriter(options)
    code = int(ExitCode.OK)
    with stop_on_signals() as stop:
        if options.host:
            series = [
                _prepare_host(options, ssh, plan_points(host_request, axes), stop)
                for ssh, host_request in requests_by_host(options.host, request)
            ]
        else:
            series = [_prepare_here(options, request, plan_points(request, axes), stop)]
        for one in series:
            code = max(code, _measure(options, one, stop, has_host=len(series) > 1))
    rows = [
        _read_row(one.host if len(series) > 1 else "", point, *state)
        for one in series
        for point, state in zip(one.points, one.states, strict=True)
    ]
    _write_result(result, rows, request.outdir)
    if stop.times:
        code = int(ExitCode.INTERRUPTED)
    return code, request.outdir


def _prepare_here(
    options: argparse.Namespace, request: CaptureRequest, points: Sequence[SweepPoint], stop: Stop
) -> _Series:
    machine = local_machine(options, request)
    trtexec = find_here(options, machine)
    complain(trtexec.describe())
    complete = check_points(points, machine, trtexec, stop, complain)

    def capture_point(request: CaptureRequest, stop: Stop, view: CaptureView) -> CaptureResult:
        return capture(request, trtexec, stop, view, machine)

    return _Series("", points, trtexec, complete, capture_point)


def _prepare_host(options: argparse.Namespace, ssh: Ssh, points: Sequence[SweepPoint], stop: Stop) -> _Series:
    """Check all points on another machine, over one connection; each is captured over its own."""
    from trex_tui.old.capture.hosts import capture_there
    from trex_tui.old.capture.remote import RemoteMachine

    with RemoteMachine(ssh, stop, note=complain) as machine:
        trtexec = machine.find(options.trtexec)
        complain(trtexec.describe())
        complete = check_points(points, machine, trtexec, stop, complain)

    def capture_point(request: CaptureRequest, stop: Stop, view: CaptureView) -> CaptureResult:
        # With the engine, since other points may share it.
        record = hosts_file(os.environ)
        return capture_there(ssh, request, str(trtexec.path), stop, view, record, with_engine=True)

    return _Series(ssh.host, points, trtexec, complete, capture_point)


def _measure(options: argparse.Namespace, series: _Series, stop: Stop, *, has_host: bool) -> int:
    """Capture the points in turn; return the worst exit code."""
    code = int(ExitCode.OK)
    keys = [find_engine_key(point.request, series.trtexec) for point in series.points]
    unbuilt: dict[tuple[str, ...] | None, str] = {}
    is_over = False
    for index, (point, key) in enumerate(zip(series.points, keys, strict=True)):
        if series.complete[index]:
            series.states.append((COMPLETE, ""))
            continue
        if stop.times or is_over:
            series.states.append((NOT_MEASURED, ""))
            continue
        if key in unbuilt:
            series.states.append(
                (FAILED, f"not measured: it shares the engine of {unbuilt[key]}, whose build failed")
            )
            continue
        shared = [other for other, its_key in zip(series.points, keys, strict=True) if its_key == key]
        known = shared if point.request.resume else shared[: shared.index(point)]
        ended = _capture_point(options, series, point, index, known, stop, has_host=has_host)
        code = max(code, ended.code)
        if ended.code == ExitCode.INTERRUPTED:
            series.states.append((INTERRUPTED, ""))
        else:
            is_set = ended.result is not None and ended.result.passed
            series.states.append((COMPLETE, "") if is_set else (FAILED, ended.reason))
        run = ended.result.run if ended.result is not None else None
        if key is not None and run is not None and run.role == BUILD:
            unbuilt[key] = point.name
        verdict = ended.result.verdict if ended.result is not None else None
        is_over = verdict is not None and verdict.key == LOST
    return code


def _capture_point(
    options: argparse.Namespace,
    series: _Series,
    point: SweepPoint,
    index: int,
    shared: Sequence[SweepPoint],
    stop: Stop,
    *,
    has_host: bool,
) -> Attempt:
    """Capture one point, with the engine of one of `shared` if there is one."""
    directories = [
        directory
        for other in shared
        if other is not point
        for directory in (other.request.outdir, other.request.workspace().failed)
    ]
    request = replace(point.request, is_rehearsed=True, reused_directories=tuple(directories))
    host = f"{series.host}: " if has_host else ""
    with make_view(sys.stderr, f"{host}{point.name} ({index + 1}/{len(series.points)}): ") as view:
        return attempt(lambda: series.capture_point(request, stop, view), options, request, stop, view)


def _read_row(host: str, point: SweepPoint, state: str, reason: str) -> SweepRow:
    """Return the values in the files of a point; a point without a set has a name and a state."""
    from trex_tui.old import load_engine

    request = point.request
    row = SweepRow(host, point.name, dict(point.values), request.outdir, state, reason)
    if state != COMPLETE:
        return row
    names = Names(request.outdir, request.name)
    manifest = read_manifest(names.manifest) or {}
    build = find_passed_build(manifest)
    row = replace(
        row,
        engine_bytes=manifest.get("engine", {}).get("bytes"),
        build_s=build.get("wall_s"),
        is_reused=bool(build.get("reused")),
    )
    if request.options.build_only:
        return row
    try:
        batch = row.values.get("batch")
        engine = load_engine(names.file("graph.json"))
        return replace(row, **measured_values(engine, None if batch is None else int(batch)))
    except TrexError as error:
        complain(f"note: {error}")
        return row


def _write_result(result: ResultWriter, rows: Sequence[SweepRow], outdir: Path) -> None:
    from trex_tui.old.report.render_text import print_table

    if result.format == "json":
        result.write_json(sweep_object(rows, __version__))
    else:
        result.draw(partial(print_table, sweep_table(rows)))
    for row in rows:
        if row.reason:
            complain(printable(f"{row.name}: {row.reason}"))
    left = [row for row in rows if row.state != COMPLETE]
    if left:
        complain(
            f"{plural(len(left), 'point')} of {len(rows)} missing: {', '.join(row.name for row in left)}; "
            "the same command with --resume continues"
        )
    if len(left) < len(rows):
        for command in next_commands(rows, outdir):
            complain(f"next: {' '.join(map(quoted, command))}")
