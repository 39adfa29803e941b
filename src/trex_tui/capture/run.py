"""A capture from start to end: plan, run, judge, file; a `CaptureObserver` shows it meanwhile."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol

from trex_tui.artifacts.capture_manifest import NO_GRAPH
from trex_tui.artifacts.output_files import refusal
from trex_tui.capture.clocks import ClockLockAttempt, locked_clocks
from trex_tui.capture.environment_probe import changes, identify_machine, is_unknown, machine_differences
from trex_tui.capture.machine import Machine, run_trtexec
from trex_tui.capture.manifest import Manifest, read_manifest, write_metadata
from trex_tui.capture.options import CaptureOptions
from trex_tui.capture.plan import BUILD, Names, RunPlan, plan
from trex_tui.capture.process import GRACE_S, INTERRUPTED, ProcessOutcome, RunProgress, Stop
from trex_tui.capture.resume import (
    Reusable,
    find_build_machine,
    find_passed_build,
    find_reusable,
    read_inputs,
    read_model,
)
from trex_tui.capture.staging import Workspace
from trex_tui.capture.trtexec import Trtexec
from trex_tui.capture.verdict import LOST, RunVerdict
from trex_tui.errors import TrexError
from trex_tui.text import plural


class CaptureObserver(Protocol):
    """Shows how far a capture is. Called from the thread that captures; must not raise."""

    def begin(self, run: RunPlan, number: int, total: int) -> None:
        """A run starts: `number` of `total`, from 1."""

    def progress(self, progress: RunProgress, elapsed_s: float, rss_bytes: int | None) -> None:
        """Called several times a second; `rss_bytes` is the memory of the process."""

    def end(self, outcome: ProcessOutcome, verdict: RunVerdict) -> None:
        """A run has ended."""

    def note(self, text: str) -> None:
        """Show one sentence."""


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """A capture to do.

    Attributes:
        outdir, name: Where the set is to lie, and what it is called.
        force: Replace a set that lies there.
        resume: Take the engine of an earlier capture, if it fits.
        timeout_s: Longest duration of one run of trtexec.
        with_ids: Note host name, UUIDs and serial numbers.
        lock_clocks: `max` or MHz; None leaves the clocks alone.
        grace_s: Between SIGTERM and SIGKILL.
    """

    options: CaptureOptions
    outdir: Path
    name: str
    force: bool = False
    resume: bool = False
    timeout_s: float | None = None
    with_ids: bool = False
    lock_clocks: str | None = None
    grace_s: float = GRACE_S

    def workspace(self) -> Workspace:
        """Return where the capture works, whatever lies in the target."""
        engine = None if self.options.builds else Path(self.options.engine or "")
        return Workspace(self.outdir, self.name, engine)

    def check_target(self) -> None:
        """See that no set is replaced without `force`.

        Raises:
            TrexError: A set lies in the target.
        """
        existing = self.workspace().existing()
        if existing and not self.force:
            raise refusal(existing[0])

    def plan(self, trtexec: Trtexec) -> tuple[RunPlan, ...]:
        """Return what would be run, for `--dry-run`; nothing is made.

        Raises:
            TrexError: An option that this trtexec does not know.
        """
        return plan(self.options, trtexec, self.workspace().names)


@dataclass(frozen=True, slots=True)
class CaptureResult:
    """How a capture ended.

    Attributes:
        passed: Whether there is a set.
        interrupted: Whether a person ended it.
        directory: The set; of a failed capture what is left of it, None if nothing.
        verdict: On the run that failed; None if all passed.
        run: The run that failed.
        last: The last lines of its output.
        log: Its log.
        remarks: What to know of the numbers.
    """

    passed: bool
    interrupted: bool
    directory: Path | None
    verdict: RunVerdict | None = None
    run: RunPlan | None = None
    last: tuple[str, ...] = ()
    log: Path | None = None
    remarks: tuple[str, ...] = ()


def capture(
    request: CaptureRequest,
    trtexec: Trtexec,
    stop: Stop,
    view: CaptureObserver,
    machine: Machine | None = None,
) -> CaptureResult:
    """Capture, on this machine or another.

    Raises:
        TrexError: It cannot begin, or the set cannot be moved into place.
    """
    request.check_target()
    workspace, machine = request.workspace(), machine or Machine()
    machine.plan(request.options, trtexec, workspace.names)  # refuses before anything is made
    try:
        with workspace:
            try:
                return _Capture(request, trtexec, stop, view, workspace, machine).do()
            except (TrexError, OSError):
                with contextlib.suppress(OSError):
                    workspace.keep_failed()
                raise
    except OSError as error:
        where = error.filename if isinstance(error.filename, (str, bytes)) else workspace.path
        raise TrexError(f"{where!s}: {error.strerror or error}") from error


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
        self.manifest = Manifest(
            request.name, workspace.path, request.options, trtexec, with_ids=request.with_ids
        )
        self.without_graph = False

    def do(self) -> CaptureResult:
        manifest = self.manifest
        manifest.started = datetime.now(timezone.utc)
        self.view.note(f"trtexec of TensorRT {self.trtexec.version}: {self.trtexec.path}")
        manifest.before = self.machine.probe(with_ids=self.request.with_ids)
        manifest.remote = self.machine.document(with_ids=self.request.with_ids)
        manifest.model = read_model(Path(self.request.options.model))
        manifest.inputs = read_inputs(self.request.options)
        reusable = self._reusable(self.runs[0])
        self.machine.prepare(None if reusable is None else reusable.names.engine)
        if not self.request.options.builds:
            manifest.engine = dict(manifest.model)
            self._inherit_build()
        wish, driver = self.request.lock_clocks, self.machine.clock_driver()
        device = None if wish is None else self.request.options.measured_device()
        with locked_clocks(wish, device, manifest.before, driver) as (lock, sentences):
            for text in sentences:
                self.view.note(text)
            manifest.remarks.extend(sentences if lock is not None and not lock.locked else ())
            failure = self._all_runs(lock, reusable)
        if failure is not None:
            return replace(failure, remarks=(*failure.remarks, *sentences[1:]))
        return self._complete(sentences[1:])

    def _all_runs(self, lock: ClockLockAttempt | None, reusable: Reusable | None) -> CaptureResult | None:
        """Every run in order, up to the first that fails; None if all passed."""
        self.manifest.clocks = lock
        runs = list(self.runs)
        if reusable is None:
            self.workspace.clear()
        else:
            self._take(reusable)
            runs.pop(0)
        for number, run in enumerate(runs, start=1):
            failure = self._run_passed(run, number, len(runs))
            if failure is not None:
                return failure
        self.manifest.after = self.machine.probe(with_ids=self.request.with_ids)
        return None

    def _complete(self, sentences: list[str]) -> CaptureResult:
        """All runs have passed: file the set."""
        manifest = self.manifest
        manifest.status, manifest.ended = "complete", datetime.now(timezone.utc)
        manifest.remarks.extend(changes(manifest.before, manifest.after or {}))
        manifest.remarks.extend(sentences)
        remarks = list(dict.fromkeys(manifest.remarks))
        manifest.remarks = remarks
        manifest.write(self.names)
        self.workspace.commit(force=self.request.force)
        return CaptureResult(True, False, self.request.outdir, remarks=tuple(remarks))

    def _inherit_build(self) -> None:
        """Measured again, an engine keeps what the manifest beside it tells of its build."""
        target = Names(self.request.outdir, self.request.name)
        old = read_manifest(target.manifest) if self.workspace.keeps_build else None
        if old is not None and old["engine"].get("sha256") == self.manifest.engine["sha256"]:
            self.manifest.model = old["model"]
            if build := find_passed_build(old):
                then = find_build_machine(old)
                self.manifest.runs.append({**build, "machine": then, "reused": True})
                reasons = machine_differences(then, identify_machine(self.manifest.before))
                self.manifest.remarks.extend(f"measured elsewhere than built: {reason}" for reason in reasons)

    def _reusable(self, first: RunPlan) -> Reusable | None:
        """An engine that need not be built again, if that is wanted and one fits."""
        if not self.request.resume or first.role != BUILD:
            return None
        manifest = self.manifest
        reusable, reasons = find_reusable(self.workspace, first, manifest)
        for reason in reasons:
            self.view.note(f"not resumed from {reason}")
        if reusable is not None and is_unknown(identify_machine(manifest.before)):
            manifest.remarks.append(
                "the engine was taken over, though nothing here tells which GPU it was built on"
            )
        return reusable

    def _take(self, reusable: Reusable) -> None:
        """Have its engine in the work directory, and nothing else."""
        inside = reusable.names.directory == self.workspace.path
        self.workspace.clear(reusable.kept_names() if inside else frozenset())
        reusable.take(self.names)
        self.manifest.engine = dict(reusable.engine)
        self.manifest.runs.append({**reusable.run, "reused": True})
        self.view.note(f"the engine of {reusable.names.directory} fits: not built again")
        self.manifest.write(self.names)

    def _run_passed(self, planned: RunPlan, number: int, total: int) -> CaptureResult | None:
        """Do one run, twice if its CUDA graph could not be captured; None if it passed."""
        run = (planned.without_graph(self.trtexec) if self.without_graph else None) or planned
        verdict, progress = self._run(run, number, total)
        again = run.without_graph(self.trtexec) if verdict.key == "cuda_graph" else None
        if again is not None and not self.stop.times:
            self.without_graph = True
            self._keep_attempt(run)
            self.view.note(f"{verdict.sentence}; once more without")
            self.manifest.remarks.append(NO_GRAPH)
            run = again
            verdict, progress = self._run(run, number, total)
        self.manifest.remarks.extend(verdict.remarks)
        if not verdict.passed:
            return self._give_up(run, verdict, progress)
        metadata = self.names.file(f"{run.role}.metadata.json", run.number)
        write_metadata(run.log, run.role, metadata, with_ids=self.request.with_ids)
        if run.role == BUILD:
            self.manifest.engine = {"path": run.engine.name, **self.machine.entry(run.engine)}
        self.manifest.write(self.names)
        if self.stop.times and number < total:
            return self._give_up(run, RunVerdict(False, "interrupted", "interrupted"), progress)
        return None

    def _keep_attempt(self, run: RunPlan) -> None:
        """The log of a failed attempt: where readers of sets do not look, and people are told."""
        kept = self.names.directory / f".{self.names.name}.attempts"
        kept.mkdir(exist_ok=True)
        target = kept / f"{run.number}.{run.log.name}"
        run.log.rename(target)
        self.manifest.runs[-1]["log"] = str(target.relative_to(self.names.directory))
        for _, path in run.exports:
            path.unlink(missing_ok=True)

    def _run(self, run: RunPlan, number: int, total: int) -> tuple[RunVerdict, RunProgress]:
        run.log.parent.mkdir(exist_ok=True)
        self.view.begin(run, number, total)
        outcome, verdict, progress = run_trtexec(
            self.machine,
            run,
            self.trtexec,
            self.stop,
            self.view.progress,
            timeout_s=self.request.timeout_s,
            grace_s=self.request.grace_s,
        )
        if outcome.children:
            were = "it was" if outcome.children == 1 else "they were"
            remark = f"trtexec left {plural(outcome.children, 'process', 'processes')} behind; {were} ended"
            verdict = replace(verdict, remarks=(*verdict.remarks, remark))
        self.manifest.add_run(run, outcome, verdict, run.log)
        self.view.end(outcome, verdict)
        return verdict, progress

    def _give_up(self, run: RunPlan, verdict: RunVerdict, progress: RunProgress) -> CaptureResult:
        interrupted = verdict.key == INTERRUPTED
        manifest = self.manifest
        manifest.status = "interrupted" if interrupted else "failed"
        manifest.remarks = list(dict.fromkeys(manifest.remarks))
        manifest.ended = datetime.now(timezone.utc)
        if not interrupted and verdict.key != LOST:  # somebody waits for the prompt, or nobody answers
            manifest.after = self.machine.probe(with_ids=self.request.with_ids)
        manifest.write(self.names)
        log = run.log.relative_to(self.names.directory)
        left = self.workspace.keep_failed()
        return CaptureResult(
            False,
            interrupted,
            left,
            verdict,
            run,
            tuple(progress.last),
            None if left is None else left / log,
            tuple(manifest.remarks),
        )
