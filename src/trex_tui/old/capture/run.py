"""Run a capture: plan, reuse an earlier build or run trtexec, judge, write the set.

A `CaptureObserver` shows the progress.
"""

from __future__ import annotations

import contextlib
import errno
import os
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol

from trex_tui.old.artifacts.capture_manifest import NO_GRAPH
from trex_tui.old.artifacts.input_files import finite_number
from trex_tui.old.artifacts.output_files import refusal
from trex_tui.old.capture.clocks import CLOCKS, MEMORY_CLOCK, POWER_LIMIT, GpuSetting, locked_clocks
from trex_tui.old.capture.environment_probe import changes, identify_machine, is_unknown, machine_differences
from trex_tui.old.capture.machine import Machine, run_trtexec
from trex_tui.old.capture.manifest import Manifest, read_manifest, run_key, write_metadata
from trex_tui.old.capture.monitor import RunMonitor, choose_gpu, watched
from trex_tui.old.capture.options import CaptureOptions
from trex_tui.old.capture.plan import BUILD, Names, RunPlan, plan
from trex_tui.old.capture.process import GRACE_S, INTERRUPTED, ProcessOutcome, RunProgress, Stop
from trex_tui.old.capture.rehearsal import rehearse
from trex_tui.old.capture.reuse import (
    Reusable,
    find_build_machine,
    find_passed_build,
    find_reusable,
    read_inputs,
    read_model,
)
from trex_tui.old.capture.staging import Workspace
from trex_tui.old.capture.trtexec import Trtexec
from trex_tui.old.capture.verdict import LOST, RunVerdict
from trex_tui.old.errors import TrexError, describe_reason
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import format_bytes, plural


class CaptureObserver(Protocol):
    """Shows the progress of a capture. Called from the thread that captures; must not raise."""

    def begin(self, run: RunPlan, number: int, total: int, expected_s: float | None) -> None:
        """A run starts: `number` of `total`, from 1; `expected_s` is its last known duration or None."""

    def progress(self, progress: RunProgress, elapsed_s: float, rss_bytes: int | None) -> None:
        """Called several times a second; `rss_bytes` is the memory of the process."""

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
        resume: Reuse the engine of an earlier capture, if it fits.
        reused_directories: Directories of other sets whose engine is reused, if it fits.
        is_rehearsed: Whether trtexec has checked the commands already.
        timeout_s: Longest duration of one run of trtexec.
        with_ids: Record host name, UUIDs and serial numbers.
        lock_clocks, memory_clock: `max` or MHz; None leaves the clocks unchanged.
        power_limit: Watts; None leaves it unchanged.
        monitor_ms: Milliseconds between samples of power and clocks; None takes none.
        grace_s: Time between SIGTERM and SIGKILL.
    """

    options: CaptureOptions
    outdir: Path
    name: str
    force: bool = False
    resume: bool = False
    reused_directories: tuple[Path, ...] = ()
    is_rehearsed: bool = False
    timeout_s: float | None = None
    with_ids: bool = False
    lock_clocks: str | None = None
    memory_clock: str | None = None
    power_limit: int | None = None
    monitor_ms: int | None = None
    grace_s: float = GRACE_S

    def gpu_wishes(self) -> list[tuple[GpuSetting, str]]:
        """Return the GPU settings to hold while trtexec runs, in the order in which they are set."""
        power = None if self.power_limit is None else str(self.power_limit)
        wishes = ((POWER_LIMIT, power), (MEMORY_CLOCK, self.memory_clock), (CLOCKS, self.lock_clocks))
        return [(setting, asked) for setting, asked in wishes if asked is not None]

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
            raise refusal(existing[0])

    def plan(self, trtexec: Trtexec) -> tuple[RunPlan, ...]:
        """Return the runs with their final paths; nothing is created.

        Raises:
            TrexError: This trtexec does not know an option.
        """
        return plan(self.options, trtexec, Names(self.outdir, self.name))


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
        engine: Engine built by a failed capture, for `--resume`; None if there is none.
        engine_bytes: Size of the engine of a set.
        build_s: Duration of the build; None without a build.
        is_reused: Whether an earlier capture built the engine.
    """

    passed: bool
    interrupted: bool
    directory: Path | None
    verdict: RunVerdict | None = None
    run: RunPlan | None = None
    errors: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    log: Path | None = None
    remarks: tuple[str, ...] = ()
    engine: Path | None = None
    engine_bytes: int | None = None
    build_s: float | None = None
    is_reused: bool = False


RESUME_HINT = "--resume measures it without building again"
_RESERVE_BYTES = 1 << 16
_LARGE_BYTES = 1 << 28
"""Models of this size take seconds to hash."""


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
    request.check_target()
    workspace, machine = request.workspace(), machine or Machine()
    # Both refuse before anything is created.
    runs = machine.plan(request.options, trtexec, workspace.names)
    if not request.is_rehearsed:
        rehearse(machine, runs, trtexec, stop, view.note)
    try:
        with workspace:
            return _Capture(request, trtexec, stop, view, workspace, machine).do()
    except OSError as error:
        where = error.filename if isinstance(error.filename, (str, bytes)) else workspace.path
        raise TrexError(f"{where!s}: {describe_reason(error)}") from error


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
        with contextlib.suppress(OSError):
            self._reserve.unlink(missing_ok=True)
            if self.manifest.runs:
                self.manifest.status = "failed"
                self.manifest.write(self.names)
        left = self.workspace.rescue()
        text = str(error)
        if isinstance(error, OSError):
            where = error.filename if isinstance(error.filename, (str, bytes)) else self.workspace.path
            text = f"{os.fsdecode(where)}: {describe_reason(error)}"
        text = text.replace(str(self.workspace.path), str(left or self.request.outdir))
        if _is_full(error):
            text += "; make room there"
        if left is not None:
            text += f"; partial results are in {left}"
        if self._kept_engine(left) is not None:
            text += f", with the engine: {RESUME_HINT}"
        return TrexError(text)

    def _kept_engine(self, left: Path | None) -> Path | None:
        """Return the engine for a resumed capture among the files of a failed one."""
        if (
            left is None
            or not self.request.options.builds
            or not find_passed_build({"runs": self.manifest.runs})
        ):
            return None
        engine = left / self.names.engine.name
        return engine if engine.is_file() and (left / self.names.manifest.name).is_file() else None

    @property
    def _reserve(self) -> Path:
        """Reserve the disk space for the manifest, in case the disk gets full."""
        return self.names.directory / ".reserve"

    def _do(self) -> CaptureResult:
        manifest = self.manifest
        manifest.started = datetime.now(timezone.utc)
        if not self.request.is_rehearsed:
            self.view.note(self.trtexec.describe())
        manifest.before = self.machine.probe(with_ids=self.request.with_ids)
        if self.request.monitor_ms is not None:  # refuses before anything is built
            choose_gpu(self.request.options.measured_device(), manifest.before, self.machine.clock_driver())
        manifest.remote = self.machine.document(with_ids=self.request.with_ids)
        model = Path(self.request.options.model)
        if model.stat().st_size > _LARGE_BYTES:
            self.view.note(f"reading {model} ({format_bytes(model.stat().st_size)})")
        manifest.model = read_model(model)
        manifest.inputs = read_inputs(self.request.options)
        reusable = self._reusable(self.runs[0])
        self.machine.prepare(None if reusable is None else reusable.names.engine)
        if not self.request.options.builds:
            manifest.engine = dict(manifest.model)
            self._inherit_build()
        held: list[list[str]] = []
        with contextlib.ExitStack() as stack:
            for setting, asked in self.request.gpu_wishes():
                held.append(self._hold(stack, setting, asked))
            failure = self._all_runs(reusable)
        # Sentences after the first of each setting were added when it ended.
        later = [text for sentences in held for text in sentences[1:]]
        if failure is not None:
            return replace(failure, remarks=(*failure.remarks, *later))
        return self._complete(later)

    def _hold(self, stack: contextlib.ExitStack, setting: GpuSetting, asked: str) -> list[str]:
        """Hold a GPU setting as long as the stack; return sentences about it, which may grow until then."""
        manifest, device = self.manifest, self.request.options.measured_device()
        driver = self.machine.clock_driver()
        lock, sentences = stack.enter_context(locked_clocks(asked, device, manifest.before, driver, setting))
        assert lock is not None
        manifest.held.append(lock)
        for text in sentences:
            self.view.note(text)
        manifest.remarks.extend(() if lock.locked else sentences)
        return sentences

    def _all_runs(self, reusable: Reusable | None) -> CaptureResult | None:
        """Execute every run up to the first failure; None if all passed."""
        runs = list(self.runs)
        if reusable is None:
            self.workspace.clear()
        else:
            self._take(reusable)
            runs.pop(0)
        self._reserve.write_bytes(bytes(_RESERVE_BYTES))
        for number, run in enumerate(runs, start=1):
            failure = self._run_passed(run, number, len(runs))
            if failure is not None:
                return failure
        self.manifest.after = self.machine.probe(with_ids=self.request.with_ids)
        return None

    def _complete(self, sentences: list[str]) -> CaptureResult:
        """Write the set after all runs have passed."""
        manifest = self.manifest
        manifest.status, manifest.ended = "complete", datetime.now(timezone.utc)
        manifest.remarks.extend(changes(manifest.before, manifest.after or {}))
        manifest.remarks.extend(sentences)
        remarks = list(dict.fromkeys(manifest.remarks))
        manifest.remarks = remarks
        self._reserve.unlink(missing_ok=True)
        manifest.write(self.names)
        build = find_passed_build({"runs": manifest.runs})
        return CaptureResult(
            True,
            False,
            self.request.outdir,
            remarks=tuple(remarks),
            engine_bytes=manifest.engine.get("bytes"),
            build_s=build.get("wall_s"),
            is_reused=bool(build.get("reused")),
        )

    def _inherit_build(self) -> None:
        """Copy the build entry of the manifest beside an engine that is measured again."""
        target = Names(self.request.outdir, self.request.name)
        old = read_manifest(target.manifest) if self.workspace.keeps_build else None
        if old is not None and old["engine"].get("sha256") == self.manifest.engine["sha256"]:
            self.manifest.model = old["model"]
            if build := find_passed_build(old):
                then = find_build_machine(old)
                self.manifest.runs.append({**build, "machine": then, "reused": True})
                reasons = machine_differences(then, identify_machine(self.manifest.before))
                self.manifest.remarks.extend(
                    f"not measured where it was built: {reason}" for reason in reasons
                )

    def _reusable(self, first: RunPlan) -> Reusable | None:
        """Return an engine that fits, if reuse is requested."""
        directories = list(self.request.reused_directories)
        if self.request.resume:
            directories[:0] = self.workspace.path, self.workspace.failed, self.workspace.outdir
        if not directories or first.role != BUILD:
            return None
        manifest = self.manifest
        reusable, reasons = find_reusable(directories, self.workspace.name, first, manifest)
        for reason in reasons:
            self.view.note(f"not resumed from {reason}")
        is_earlier = self.request.resume and reusable is not None
        if is_earlier and is_unknown(identify_machine(manifest.before)):
            manifest.remarks.append("the engine is reused, but its build GPU is unknown")
        return reusable

    def _take(self, reusable: Reusable) -> None:
        """Put the engine into the work directory and remove everything else."""
        inside = reusable.names.directory == self.workspace.path
        self.workspace.clear(reusable.kept_names() if inside else frozenset())
        reusable.take(self.names)
        self.manifest.engine = dict(reusable.engine)
        self.manifest.runs.append({**reusable.run, "reused": True})
        self.view.note(f"the engine of {reusable.names.directory} fits: not built again")
        self.manifest.write(self.names)

    def _run_passed(self, planned: RunPlan, number: int, total: int) -> CaptureResult | None:
        """Execute one run, twice if its CUDA graph could not be captured; None if it passed."""
        run = (planned.without_graph(self.trtexec) if self.without_graph else None) or planned
        verdict, progress = self._run(run, number, total)
        again = run.without_graph(self.trtexec) if verdict.key == "cuda_graph" else None
        if again is not None and not self.stop.times:
            self.without_graph = True
            self._keep_attempt(run)
            self.view.note(f"{verdict.sentence}; retrying without")
            self.manifest.remarks.append(NO_GRAPH)
            run = again
            verdict, progress = self._run(run, number, total)
        self.manifest.remarks.extend(verdict.remarks)
        if not verdict.passed:
            return self._give_up(run, verdict, progress)
        if run.role == BUILD:
            self.manifest.engine = {"path": run.engine.name, **self.machine.entry(run.engine)}
        self.manifest.write(self.names)
        metadata = self.names.file(f"{run.role}.metadata.json", run.number)
        write_metadata(run.log, run.role, metadata, with_ids=self.request.with_ids)
        if self.stop.times and number < total:
            return self._give_up(run, RunVerdict(False, "interrupted", "interrupted"), progress)
        return None

    def _keep_attempt(self, run: RunPlan) -> None:
        """Move the log of a failed attempt where readers of sets ignore it; the manifest names it."""
        kept = self.names.directory / f".{self.names.name}.attempts"
        kept.mkdir(exist_ok=True)
        target = kept / f"{run.number}.{run.log.name}"
        run.log.rename(target)
        self.manifest.runs[-1]["log"] = str(target.relative_to(self.names.directory))
        for _, path in run.exports:
            path.unlink(missing_ok=True)

    def _run(self, run: RunPlan, number: int, total: int) -> tuple[RunVerdict, RunProgress]:
        run.log.parent.mkdir(exist_ok=True)
        self.view.begin(run, number, total, self._expected_s(run))
        with watched(self._monitor(run), self.view.progress) as (monitor, observe):
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
        self.manifest.add_run(run, outcome, verdict, run.log)
        self.view.end(outcome, verdict)
        if monitor is not None:
            self.manifest.runs[-1]["monitor"] = monitor.document()
            self.view.note(monitor.remark)
            if monitor.problem:
                self.manifest.remarks.append(monitor.remark)
        return verdict, progress

    def _monitor(self, run: RunPlan) -> RunMonitor | None:
        """Return the monitor for a run that measures; None if not requested."""
        interval_ms = self.request.monitor_ms
        if interval_ms is None or run.role == BUILD:
            return None
        device = self.request.options.measured_device()
        gpu = choose_gpu(device, self.manifest.before, self.machine.clock_driver())
        target = self.names.file("monitor.csv", run.number)
        return RunMonitor(self.machine.shell, gpu, interval_ms, target)

    def _expected_s(self, run: RunPlan) -> float | None:
        """Return the duration of the same run of the same model in existing manifests."""
        for directory in (self.workspace.outdir, self.workspace.failed):
            manifest = read_manifest(Names(directory, self.workspace.name).manifest)
            if manifest is None or manifest["model"].get("sha256") != self.manifest.model["sha256"]:
                continue
            for entry in manifest.get("runs") or ():
                is_same = isinstance(entry, dict) and entry.get("passed") and entry.get("role") == run.role
                if is_same and (run.role != BUILD or entry.get("build_key") == run_key(run)):
                    return finite_number(entry.get("wall_s"))
        return None

    def _give_up(self, run: RunPlan, verdict: RunVerdict, progress: RunProgress) -> CaptureResult:
        interrupted = verdict.key == INTERRUPTED
        manifest = self.manifest
        manifest.status = "interrupted" if interrupted else "failed"
        manifest.remarks = list(dict.fromkeys(manifest.remarks))
        manifest.ended = datetime.now(timezone.utc)
        self._reserve.unlink(missing_ok=True)
        if self.runs[0].role == BUILD and find_passed_build({"runs": manifest.runs}) and verdict.key != LOST:
            entry = self.machine.rescue(self.runs[0])
            manifest.engine.update(entry or {})
        if not interrupted and verdict.key != LOST:  # the user waits for the prompt, or the machine is gone
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
            tuple(progress.errors),
            tuple(progress.last),
            None if left is None else left / log,
            tuple(manifest.remarks),
            self._kept_engine(left),
        )


def _is_full(error: BaseException | None) -> bool:
    """Return whether the disk, or the quota of the user, is full."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__
    return False
