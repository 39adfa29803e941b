"""Run a capture: plan, run the builder, judge, write the set. A `CaptureObserver` shows the progress."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Protocol

from trex_tui.artifacts.manifest import NO_GRAPH, HostState, changes, read_host_state
from trex_tui.artifacts.write import refuse
from trex_tui.capture.clocks import hold_clocks
from trex_tui.capture.machine import Machine, run_trtexec
from trex_tui.capture.monitor import RunMonitor, find_gpu
from trex_tui.capture.options import CaptureOptions
from trex_tui.capture.plan import BUILD, PROFILE, RunPlan
from trex_tui.capture.process import GRACE_S, INTERRUPTED, ProcessOutcome, Stop
from trex_tui.capture.record import CaptureRecord, read_build
from trex_tui.capture.staging import Names, Workspace, describe_file
from trex_tui.capture.trtexec import Trtexec
from trex_tui.capture.verdict import CUDA_GRAPH, LOST, RunProgress, RunVerdict
from trex_tui.errors import TrexError
from trex_tui.text import plural

NO_DEVICE = "no GPU here: the engine is built, but not measured"


class CaptureObserver(Protocol):
    """Shows the progress of a capture. Called from the thread that captures; must not raise."""

    def begin(self, run: RunPlan, number: int, total: int) -> None:
        """A run starts: `number` of `total`, from 1."""

    def progress(self, seen: RunProgress, elapsed_s: float) -> None:
        """Called several times a second."""

    def end(self, outcome: ProcessOutcome, verdict: RunVerdict) -> None:
        """A run has ended."""

    def note(self, text: str) -> None:
        """Show one sentence."""


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """A capture to run.

    Attributes:
        outdir, name: Directory and name of the set.
        force: Replace an existing set.
        timeout_s: Longest duration of one run of trtexec.
        lock_clocks: `max` or MHz; None leaves the clocks unchanged.
        monitor_ms: Milliseconds between samples of power and clocks; None takes none.
        grace_s: Time between SIGTERM and SIGKILL.
    """

    options: CaptureOptions
    outdir: Path
    name: str
    force: bool = False
    timeout_s: float | None = None
    lock_clocks: str | None = None
    monitor_ms: int | None = None
    grace_s: float = GRACE_S

    @property
    def names(self) -> Names:
        return Names(self.outdir, self.name)

    def workspace(self) -> Workspace:
        """Return the work directory of the capture, whatever the target contains."""
        engine = None if self.options.builds else Path(self.options.engine or "")
        return Workspace(self.outdir, self.name, engine)

    def check_target(self) -> None:
        """Check that no set is replaced without `force`.

        Raises:
            TrexError: The target contains a set.
        """
        existing = self.workspace().existing()
        if existing and not self.force:
            raise refuse(existing[0])

    def fitted(self, trtexec: Trtexec) -> CaptureRequest:
        """Return the request that this program can fulfil: without a GPU it only builds.

        Raises:
            TrexError: It cannot measure an engine.
        """
        if trtexec.devices != 0 or self.options.build_only:
            return self
        if not self.options.builds:
            raise TrexError(
                f"--engine: {trtexec.name} finds no GPU to measure on; capture on a machine that has one"
            )
        return replace(self, options=replace(self.options, build_only=True, repeat=1), monitor_ms=None)


@dataclass(frozen=True, slots=True)
class CaptureResult:
    """Result of a capture.

    Attributes:
        passed: Whether the set is complete.
        interrupted: Whether the user ended the capture.
        directory: Directory of the set, or of what a failed capture left; None if it left nothing.
        verdict: Verdict on the failed run; None if all passed.
        run: The failed run.
        errors: Errors in its output, without the prefix of the log.
        last: Last lines of its output.
        log: Its log.
        remarks: Remarks about the numbers.
        figures: Latency and throughput of the first measurement; empty without one.
        engine: Engine built by a failed capture; None if there is none.
        engine_bytes: Size of the engine of a set.
        build_s: Duration of the build; None without a build.
    """

    passed: bool
    interrupted: bool
    directory: Path | None
    verdict: RunVerdict | None = None
    run: RunPlan | None = None
    errors: Sequence[str] = ()
    last: Sequence[str] = ()
    log: Path | None = None
    remarks: Sequence[str] = ()
    figures: str = ""
    engine: Path | None = None
    engine_bytes: int | None = None
    build_s: float | None = None


def capture(
    request: CaptureRequest,
    trtexec: Trtexec,
    stop: Stop,
    view: CaptureObserver,
    machine: Machine | None = None,
) -> CaptureResult:
    """Run a capture, on this machine or another.

    Raises:
        TrexError: It cannot start, trtexec rejects its options, or the set cannot be moved into place.
    """
    request = request.fitted(trtexec)
    request.check_target()
    workspace, machine = request.workspace(), machine or Machine()
    machine.plan(request.options, trtexec, workspace.names)  # refuses before anything is created
    try:
        with workspace:
            return _Capture(request, trtexec, stop, view, workspace, machine).do()
    except OSError as error:
        raise TrexError(_describe_os_error(error, workspace.path)) from error


class _Capture:
    def __init__(
        self,
        request: CaptureRequest,
        trtexec: Trtexec,
        stop: Stop,
        view: CaptureObserver,
        workspace: Workspace,
        machine: Machine,
    ) -> None:
        self.request = request
        self.machine = machine
        self.trtexec = trtexec
        self.stop = stop
        self.view = view
        self.workspace = workspace
        self.names = workspace.names
        self.runs = machine.plan(request.options, trtexec, self.names)
        self.record = CaptureRecord(request.name, workspace.path, request.options, trtexec)
        self.without_graph = False
        self.figures = ""

    def do(self) -> CaptureResult:
        try:
            result = self._do()
        except (TrexError, OSError) as error:
            raise self._rescue(error) from error
        if result.passed:
            self.workspace.commit(force=self.request.force)
        return result

    def _rescue(self, error: TrexError | OSError) -> TrexError:
        """Keep logs and engine after an error such as a full disk; return the error, extended by their directory."""
        for run in self.runs:
            for _, path in run.exports:  # incomplete files, which only take space
                path.unlink(missing_ok=True)
        if self.record.runs:
            with contextlib.suppress(OSError):
                self.record.status = "failed"
                self.record.write(self.names)
        left = self.workspace.rescue()
        text = str(error) if isinstance(error, TrexError) else _describe_os_error(error, self.workspace.path)
        text = text.replace(str(self.workspace.path), str(left or self.request.outdir))
        if _is_full(error):
            text += "; make room there"
        if left is not None:
            text += f"; partial results are in {left}"
        return TrexError(text)

    def _do(self) -> CaptureResult:
        record, options = self.record, self.request.options
        record.started = datetime.now(timezone.utc)
        self.view.note(self.trtexec.describe())
        if self.trtexec.devices == 0:
            self.view.note(NO_DEVICE)
        record.before = self.machine.probe()
        if self.request.monitor_ms is not None:  # refuses before anything is built
            find_gpu(options.measured_device(), record.before, self.machine.shell, self.machine.stop)
        record.remote = self.machine.document()
        model = Path(options.model)
        record.model = {"path": str(model), **describe_file(model)}
        self.machine.prepare()
        self.workspace.clear()
        if not options.builds:
            record.engine = dict(record.model)
            self._inherit_build()
        if self.request.lock_clocks is None:
            return self._run_all() or self._complete([])
        device, machine = options.measured_device(), self.machine
        with hold_clocks(self.request.lock_clocks, device, record.before, machine.shell, machine.stop) as (
            record.clocks,
            sentences,
        ):
            self.view.note(sentences[0])
            record.remarks.extend(() if record.clocks.is_locked else sentences)
            failure = self._run_all()
        later = sentences[1:]  # added when they were released
        if failure is not None:
            return replace(failure, remarks=(*failure.remarks, *later))
        return self._complete(later)

    def _run_all(self) -> CaptureResult | None:
        """Execute every run up to the first failure; None if all passed."""
        for number, run in enumerate(self.runs, start=1):
            failure = self._run_passed(run, number)
            if failure is not None:
                return failure
        self.record.after = self.machine.probe()
        return None

    def _complete(self, sentences: list[str]) -> CaptureResult:
        """Write the set after all runs have passed."""
        record = self.record
        record.status, record.ended = "complete", datetime.now(timezone.utc)
        record.remarks += [*_describe_changes(record.before, record.after or {}), *sentences]
        record.remarks = list(dict.fromkeys(record.remarks))
        record.write(self.names)
        return CaptureResult(
            True,
            False,
            self.request.outdir,
            remarks=record.remarks,
            figures=self.figures,
            engine_bytes=record.engine.get("bytes"),
            build_s=record.build.get("wall_s"),
        )

    def _inherit_build(self) -> None:
        """Keep the engine, log and manifest entry of a build whose engine is measured again."""
        workspace, record = self.workspace, self.record
        workspace.adopt_build()
        directory = workspace.failed if workspace.adopts_build else self.request.outdir
        if workspace.adopts_build or workspace.keeps_build:
            build, model = read_build(Names(directory, self.request.name).manifest, record.engine)
            if build:
                record.runs.append({**build, "reused": True})
                record.model = model

    def _run_passed(self, planned: RunPlan, number: int) -> CaptureResult | None:
        """Execute one run, twice if its CUDA graph could not be captured; None if it passed."""
        run = (planned.without_graph(self.trtexec) if self.without_graph else None) or planned
        verdict, progress = self._run(run, number)
        again = run.without_graph(self.trtexec) if verdict.key == CUDA_GRAPH else None
        if again is not None and not self.stop.times:
            self.without_graph = True
            self._keep_attempt(run)
            self.view.note(f"{verdict.sentence}; retrying without")
            self.record.remarks.append(NO_GRAPH)
            run = again
            verdict, progress = self._run(run, number)
        self.record.remarks.extend(verdict.remarks)
        if not verdict.passed:
            return self._give_up(run, verdict, progress)
        if run.role == BUILD:
            self.record.engine = {"path": run.engine.name, **self.machine.describe_engine(run.engine)}
        self.figures = self.figures or progress.describe_figures()
        self.record.write(self.names)
        if self.stop.times and number < len(self.runs):
            return self._give_up(run, RunVerdict(False, "interrupted", "interrupted"), progress)
        return None

    def _keep_attempt(self, run: RunPlan) -> None:
        """Move the log of a failed attempt where readers of sets ignore it; the manifest names it."""
        kept = self.names.directory / f".{self.names.name}.attempts"
        kept.mkdir(exist_ok=True)
        target = kept / f"{run.number}.{run.log.name}"
        run.log.rename(target)
        self.record.runs[-1]["log"] = str(target.relative_to(self.names.directory))
        for _, path in run.exports:
            path.unlink(missing_ok=True)

    def _run(self, run: RunPlan, number: int) -> tuple[RunVerdict, RunProgress]:
        run.log.parent.mkdir(exist_ok=True)
        self.view.begin(run, number, len(self.runs))
        monitor = self._make_monitor(run)

        def observe(seen: RunProgress, elapsed_s: float) -> None:
            if monitor is not None:
                monitor.note_stage(seen)
            self.view.progress(seen, elapsed_s)

        with monitor or contextlib.nullcontext():
            outcome, verdict, progress = run_trtexec(
                self.machine,
                run,
                self.trtexec,
                self.stop,
                observe,
                timeout_s=self.request.timeout_s,
                grace_s=self.request.grace_s,
            )
        if outcome.children:
            were = "it was" if outcome.children == 1 else "they were"
            remark = f"trtexec left {plural(outcome.children, 'process', 'processes')} behind; {were} ended"
            verdict = replace(verdict, remarks=(*verdict.remarks, remark))
        entry = self.record.add_run(run, outcome, verdict)
        self.view.end(outcome, verdict)
        if monitor is not None:
            entry["monitor"] = monitor.document()
            self.view.note(monitor.remark)
            if monitor.problem:
                self.record.remarks.append(monitor.remark)
        return verdict, progress

    def _make_monitor(self, run: RunPlan) -> RunMonitor | None:
        """Return the monitor for a run that measures; None if not requested."""
        if self.request.monitor_ms is None or run.role != PROFILE:
            return None
        device = self.request.options.measured_device()
        gpu = find_gpu(device, self.record.before, self.machine.shell, self.machine.stop)
        target = self.names.file("monitor.csv", run.number)
        return RunMonitor(self.machine.shell, gpu, self.request.monitor_ms, target)

    def _give_up(self, run: RunPlan, verdict: RunVerdict, progress: RunProgress) -> CaptureResult:
        interrupted = verdict.key == INTERRUPTED
        record = self.record
        record.status = "interrupted" if interrupted else "failed"
        record.ended = datetime.now(timezone.utc)
        if self.runs[0].role == BUILD and record.build and verdict.key != LOST:
            record.engine |= self.machine.rescue(self.runs[0])
        if not interrupted and verdict.key != LOST:  # the user waits for the prompt, or the machine is gone
            record.after = self.machine.probe()
        record.write(self.names)
        log = run.log.relative_to(self.names.directory)
        left = self.workspace.keep_failed()
        engine = None if left is None or not record.build else left / self.names.engine.name
        return CaptureResult(
            False,
            interrupted,
            left,
            verdict,
            run,
            progress.errors,
            tuple(progress.last),
            None if left is None else left / log,
            list(dict.fromkeys(record.remarks)),
            engine=engine if engine is not None and engine.is_file() else None,
        )


def _describe_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return sentences about changes between two states of the machine that make numbers doubtful."""
    old, new = read_host_state(before) or HostState(), read_host_state(after) or HostState()
    return [text for _, text in changes(old, new)]


def _describe_os_error(error: OSError, path: Path) -> str:
    where = error.filename if isinstance(error.filename, (str, bytes)) else path
    return f"{os.fsdecode(where)}: {error.strerror or error}"


def _is_full(error: BaseException | None) -> bool:
    """Return whether the disk, or the quota of the user, is full."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__
    return False
