"""`capture`: build and measure an engine, here or over ssh, and keep all its files."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.cli.options import CommandParser, Words, add_file, positive, whole
from trex_tui.cli.results import complain
from trex_tui.errors import ExitCode, TrexError

if TYPE_CHECKING:
    from trex_tui.capture.onnx_header import OnnxHeader
    from trex_tui.capture.process import Stop
    from trex_tui.capture.run import CaptureRequest, CaptureResult
    from trex_tui.capture.shell import Ssh
    from trex_tui.capture.trtexec import Trtexec
    from trex_tui.report.views.capture import CaptureView

HELP = "Build and measure an engine, and keep all its files"
ARGUMENTS = "(--onnx FILE | --engine FILE) [-- TRTEXEC_OPTION ...]"
EPILOG = """\
A model is built and measured, an engine only measured. The set is moved to its
directory when it is complete. A failed run leaves its logs, and the engine if
there is one, in NAME.failed.

trtexec does both; where there is none, the Python API of TensorRT does, and
without a GPU that of TensorRT-RTX (extra rtx) still builds.

A sweep captures each value of one AXIS into a directory of DIR, and ends with
the table of `trex-tui engines`. AXIS:
  fp32,fp16,bf16,int8,fp8,int4,best,fp16+int8   precision
  batch=1,8,32          dim 0 of the inputs; without optimization profiles each
                        value has its own engine
  OPTION=A,B            option of trtexec; on or off for one without a value

Exit code: 0 done; 2 bad input or a lost connection; 3 the builder failed; 128
and the number of the signal if interrupted. With several captures, the worst.

examples:
  trex-tui capture --onnx resnet.onnx --fp16
  trex-tui capture --onnx resnet.onnx --int8 --calib calib.cache --dry-run
  trex-tui capture --onnx resnet.onnx --dry-run --for 10.4 > capture.sh
  trex-tui capture --onnx bert.onnx --min-shapes ids:1x8 \\
      --opt-shapes ids:8x128 --max-shapes ids:32x512
  trex-tui capture --engine resnet.engine --repeat 5 --outdir results/resnet
  trex-tui capture --engine resnet.engine --monitor --duration 10
  trex-tui capture --onnx resnet.onnx --host user@jetson
  trex-tui capture --onnx resnet.onnx -- --maxTactics=16
  trex-tui capture --onnx resnet.onnx --sweep batch=1,8,32
"""
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_PRECISIONS = ("fp16", "bf16", "int8", "fp8", "int4", "best")
_BUILDERS = Words(("auto", "trtexec", "python"))


# Options


def _seconds(text: str) -> float:
    """Parse seconds as trtexec does: `3`, or `0.5`; a whole number stays an integer."""
    match = re.fullmatch(r"[0-9]{1,9}(?:\.([0-9]{1,6}))?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"not a number of seconds such as 3 or 0.5: {text!r}")
    return float(text) if (match[1] or "").strip("0") else int(text.split(".")[0])


def duration(text: str) -> float:
    """Parse `90`, `90s`, `30m` or `2h` into seconds."""
    match = re.fullmatch(r"([0-9]{1,7}(?:\.[0-9]+)?)([smh]?)", text)
    if match is None or float(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"not a duration such as 90s, 30m or 2h: {text!r}")
    return float(match[1]) * _UNITS[match[2]]


def _interval(text: str) -> int:
    if not re.fullmatch(r"[0-9]{2,4}", text) or not 50 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"not a number of milliseconds from 50 to 1000: {text!r}")
    return int(text)


def _clock(text: str) -> str:
    return text if text == "max" else str(positive(text))


def _profile(text: str) -> tuple[str, str, str]:
    """Parse `min=x:1x3,opt=x:4x3,max=x:8x3` into the smallest, typical and largest shapes."""
    parts = [part.partition("=") for part in re.split(r",(?=(?:min|opt|max)=)", text)]
    found = {key: spec for key, _, spec in parts}
    if len(parts) != 3 or found.keys() != {"min", "opt", "max"} or not all(found.values()):
        raise argparse.ArgumentTypeError(f"not min=INPUT:1x3,opt=INPUT:4x3,max=INPUT:8x3: {text!r}")
    return found["min"], found["opt"], found["max"]


class _AddPrecision(argparse.Action):
    def __call__(
        self, _: argparse.ArgumentParser, namespace: argparse.Namespace, __: object, option: str | None = None
    ) -> None:
        given = (*namespace.precisions, (option or "").lstrip("-"))
        namespace.precisions = tuple(name for name in _PRECISIONS if name in given)


def add_arguments(parser: CommandParser) -> None:
    files = parser.add_argument_group("files")
    model = files.add_mutually_exclusive_group(required=True)
    for option, text in (("--onnx", "ONNX model"), ("--engine", "serialized engine")):
        add_file(model, option, metavar="FILE", help=text)
    add_file(files, "--outdir", metavar="DIR", help="directory of the set; default: results/NAME")
    files.add_argument("--name", metavar="NAME", help="stem of the file names; default: that of the model")
    files.add_argument("--force", action="store_true", help="overwrite an existing set")
    _add_build(parser.add_argument_group("build"))
    _add_measurement(parser.add_argument_group("measurement"))
    run = parser.add_argument_group("run")
    run.add_argument("--sweep", metavar="AXIS", help="capture each value of AXIS (see below)")
    add_host(parser)
    run.add_argument(
        "--with-engine", action="store_true", help="with --host: copy the serialized engine back too"
    )
    add_builder(parser)
    run.add_argument(
        "--timeout", type=duration, metavar="TIME", help="stop a run of trtexec after 90s, 30m, 2h"
    )
    run.add_argument("--dry-run", action="store_true", help="print the commands as a shell script and exit")
    run.add_argument(
        "--for",
        dest="release",
        metavar="VERSION",
        help="with --dry-run: print it for this TensorRT (10.4); needs no trtexec here",
    )
    parser.add_argument("trtexec_options", nargs="*", help=argparse.SUPPRESS)


def _add_build(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        *(f"--{precision}" for precision in _PRECISIONS),
        dest="precisions",
        nargs=0,
        default=(),
        action=_AddPrecision,
        help="allow this precision too; up to TensorRT 10, later the model states the types",
    )
    group.add_argument("--calib", metavar="FILE", help="INT8 calibration cache")
    for which, text in (("min", "smallest"), ("opt", "typical"), ("max", "largest")):
        group.add_argument(
            f"--{which}-shapes", metavar="SPEC", help=f"{text} shapes of the profile: input:1x3x224x224,…"
        )
    group.add_argument(
        "--profile",
        dest="profiles",
        action="append",
        default=[],
        type=_profile,
        metavar="SHAPES",
        help="an optimization profile: min=input:1x3,opt=input:4x3,max=input:8x3; may be repeated (from TensorRT 9.1 on)",
    )
    group.add_argument("--build-only", action="store_true", help="build the engine and measure nothing")
    group.add_argument(
        "--workspace", dest="workspace_mib", type=whole, metavar="MIB", help="limit of scratch memory"
    )
    group.add_argument(
        "--timing-cache",
        metavar="FILE",
        help="timing cache to read and write; of TensorRT-RTX the runtime cache",
    )
    group.add_argument("--optimization-level", type=whole, metavar="N", help="0 (fast build) to 5")
    group.add_argument(
        "--hardware-compatibility", metavar="LEVEL", help="run on other GPUs: none, ampere+, …"
    )
    group.add_argument(
        "--compute-capability", metavar="A,B", help="GPUs to build for, 8.6,8.9 (TensorRT-RTX through Python)"
    )
    group.add_argument(
        "--plugin",
        dest="plugins",
        action="append",
        default=[],
        metavar="LIB",
        help="plugin library; may be repeated",
    )
    group.add_argument("--dla", type=whole, metavar="N", help="run on this DLA core")
    group.add_argument(
        "--allow-gpu-fallback", action="store_true", help="with --dla: run the rest on the GPU"
    )
    group.add_argument("--device", type=whole, metavar="N", help="CUDA index of the GPU")


def _add_measurement(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--shapes", metavar="SPEC", help="shapes to measure; default: --opt-shapes")
    group.add_argument("--profile-index", type=whole, metavar="N", help="optimization profile to measure")
    group.add_argument(
        "--warmup", dest="warmup_ms", type=whole, metavar="MS", help="warm-up; default: trtexec's, 200 ms"
    )
    group.add_argument(
        "--duration",
        dest="duration_s",
        type=_seconds,
        metavar="S",
        help="minimum duration; default: trtexec's, 3 s",
    )
    group.add_argument("--iterations", type=whole, metavar="N", help="minimum iterations; default: 10")
    group.add_argument(
        "--cuda-graph",
        action=argparse.BooleanOptionalAction,
        help="measure through a CUDA graph; default: yes, except on a DLA",
    )
    group.add_argument("--data-transfers", action="store_true", help="include copies to and from the host")
    group.add_argument("--repeat", type=positive, default=1, metavar="N", help="number of profile runs")
    group.add_argument(
        "--lock-clocks",
        nargs="?",
        const="max",
        type=_clock,
        metavar="MHZ|max",
        help="lock the GPU clocks with nvidia-smi during the runs; not on a Jetson",
    )
    group.add_argument(
        "--monitor",
        dest="monitor_ms",
        nargs="?",
        const=200,
        type=_interval,
        metavar="MS",
        help="sample power, temperature and clocks every MS milliseconds (50 to 1000, default 200) into NAME.monitor.csv",
    )


def add_host(parser: CommandParser) -> None:
    """Add `--host HOST`."""
    parser.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="HOST",
        help="use this machine over ssh (keys, no passwords)",
    )


def find_machine(options: argparse.Namespace) -> Ssh | None:
    """Return the machine of `--host`; None for this one.

    Raises:
        TrexError: There are several, or it cannot be a host.
    """
    from trex_tui.capture.shell import connect

    if len(options.host) > 1:
        raise TrexError("--host: one machine at a time; run the command for each")
    return connect(options.host[0]) if options.host else None


def add_builder(parser: CommandParser) -> None:
    """Add the options that choose the builder."""
    parser.add_argument(
        "--builder",
        type=_BUILDERS,
        choices=_BUILDERS,
        default="auto",
        metavar="NAME",
        help="trtexec, python (the API of TensorRT), or auto (default): trtexec where it is found",
    )
    add_file(
        parser, "--trtexec", metavar="FILE", help="trtexec to run; default: $TRTEXEC, PATH, usual directories"
    )


# The command


def run(options: argparse.Namespace) -> int:
    from trex_tui.capture.options import check_name, check_options

    if os.name != "posix":
        raise TrexError("capture runs on Linux only; its files can be explored anywhere")
    request = _make_request(options)
    header = check_options(request.options, is_here=not options.host)
    check_name(request.name)
    _check_combinations(options)
    if options.dry_run:
        return _print_script(options, request, header)
    return _Command(options, request, header).run()


def _make_request(options: argparse.Namespace) -> CaptureRequest:
    from trex_tui.capture.options import CaptureOptions, OptimizationProfile, default_name
    from trex_tui.capture.run import CaptureRequest

    given = vars(options)
    wanted = CaptureOptions(
        **{field.name: given[field.name] for field in fields(CaptureOptions) if field.name in given}
    )
    wanted = replace(
        wanted,
        plugins=tuple(options.plugins),
        profiles=tuple(OptimizationProfile(*shapes) for shapes in options.profiles),
        passthrough=tuple(options.trtexec_options),
    )
    name = default_name(wanted) if options.name is None else options.name
    return CaptureRequest(
        options=wanted,
        outdir=Path(options.outdir or Path("results", name)),
        name=name,
        force=options.force,
        timeout_s=options.timeout,
        lock_clocks=options.lock_clocks,
        monitor_ms=options.monitor_ms,
    )


def _check_combinations(options: argparse.Namespace) -> None:
    """Reject options that have no effect together.

    Raises:
        TrexError: There are such options.
    """
    refusals = (
        (
            options.with_engine and not options.host,
            "--with-engine needs --host; a local set always has the engine",
        ),
        (options.release and not options.dry_run, "--for needs --dry-run; a capture uses what it finds"),
        (
            options.release and options.builder == "python",
            "--for is about trtexec; leave out --builder python",
        ),
        (
            options.dry_run and options.host,
            "--dry-run prints a script for the machine it runs on: leave out --host, and copy script and model there",
        ),
        (options.build_only and options.monitor_ms is not None, "--monitor measures; not with --build-only"),
        (
            options.host and options.builder == "python",
            "--builder python is for this machine; on the other one run trex-tui itself",
        ),
        (options.trtexec and options.builder == "python", "--trtexec and --builder python: choose one"),
        (
            options.build_only and options.host and not options.with_engine,
            "--build-only with --host: add --with-engine, or the engine is deleted with the remote files",
        ),
    )
    for is_refused, sentence in refusals:
        if is_refused:
            raise TrexError(sentence)


def _list_jobs(
    options: argparse.Namespace, request: CaptureRequest, header: OnnxHeader | None
) -> dict[str, CaptureRequest]:
    """Return the captures by the names of their directories: one, or one for each value of a sweep."""
    from trex_tui.capture.sweep import plan_points

    if not options.sweep:
        return {"": request}
    points = plan_points(request.options, options.sweep, header)
    return {name: replace(request, options=one, outdir=request.outdir / name) for name, one in points.items()}


def _print_script(options: argparse.Namespace, request: CaptureRequest, header: OnnxHeader | None) -> int:
    from trex_tui.capture.script import render_script
    from trex_tui.capture.trtexec import TrtexecNotFoundError, find_builder, stated_trtexec

    try:
        if options.release is not None:
            trtexec = stated_trtexec(options.release, Path(options.trtexec or "trtexec"))
        else:
            trtexec = find_builder(options.builder, options.trtexec)
    except TrtexecNotFoundError as error:
        raise TrtexecNotFoundError(f"{error}; or name its version: --dry-run --for 10.4") from None
    requests = _list_jobs(options, request, header).values()
    from trex_tui.capture.plan import make_plan

    fitted = [one.fitted(trtexec) for one in requests]
    runs = [run for one in fitted for run in make_plan(one.options, trtexec, one.names)]
    title = f"capture of {request.options.model} with {trtexec.name}"
    sys.stdout.write(render_script(request, runs, title))
    if options.monitor_ms is not None:
        complain("note: --monitor has no effect on the script: it takes no samples")
    return ExitCode.OK


class _Command:
    """The captures of one command: one, or one for each value of a sweep."""

    def __init__(
        self, options: argparse.Namespace, request: CaptureRequest, header: OnnxHeader | None
    ) -> None:
        self.options = options
        self.request = request
        self.ssh = find_machine(options)
        self.jobs = _list_jobs(options, request, header)
        self._known: Trtexec | None = None

    def run(self) -> int:
        """Run the captures in turn; return the worst exit code.

        Raises:
            TrexError: A set exists, or nothing can be built.
        """
        from trex_tui.capture.process import stop_on_signals

        for request in self.jobs.values():
            request.check_target()  # before trtexec is run, which may take long, or any connection
        codes: list[int] = []
        complete: list[Path] = []
        with stop_on_signals() as stop:
            for number, (name, request) in enumerate(self.jobs.items(), start=1):
                prefix = f"{name} ({number}/{len(self.jobs)}): " if len(self.jobs) > 1 else ""
                codes.append(self._run_job(request, stop, prefix))
                complete += [request.outdir] if codes[-1] == ExitCode.OK else []
                if stop.times:
                    break
            code = stop.exit_code if stop.times else max(codes)
        if self.options.sweep:
            self._end_sweep(complete)
        else:
            from trex_tui.capture.script import quote

            for outdir in complete:
                sys.stdout.write(f"{quote(str(outdir))}\n")
        sys.stdout.flush()
        return code

    def _run_job(self, request: CaptureRequest, stop: Stop, prefix: str) -> int:
        """Run one capture and show its outcome; of several, an error does not affect the others."""
        from trex_tui.report.views.capture import CaptureView

        view = CaptureView(sys.stderr, prefix)
        try:
            return self._report(request, self._capture(request, stop, view), view, stop)
        except (TrexError, OSError) as error:
            if stop.times:
                view.say("interrupted")
                return stop.exit_code
            if len(self.jobs) == 1:
                raise
            view.say(f"error: {error}")
            return ExitCode.BAD_INPUT
        finally:
            view.close()

    def _capture(self, request: CaptureRequest, stop: Stop, view: CaptureView) -> CaptureResult:
        from trex_tui.capture.run import capture

        options = self.options
        if self.ssh is None:
            from trex_tui.capture.trtexec import find_builder

            self._known = self._known or find_builder(options.builder, options.trtexec)
            return capture(request, self._known, stop, view)
        from trex_tui.capture.remote import RemoteMachine, find_there

        with RemoteMachine(
            self.ssh, stop, with_engine=options.with_engine, note=view.note, grace_s=request.grace_s
        ) as machine:
            if self._known is None:
                view.note(f"looking for trtexec on {self.ssh.host}")
                self._known = find_there(self.ssh, stop, options.trtexec)
            return capture(request, self._known, stop, view, machine)

    def _report(self, request: CaptureRequest, result: CaptureResult, view: CaptureView, stop: Stop) -> int:
        """Show the outcome of a capture; return its exit code."""
        from trex_tui.capture.script import as_operand, command_line
        from trex_tui.capture.verdict import LOST
        from trex_tui.report.views.capture import describe_build, list_errors

        for remark in result.remarks:
            view.say(f"note: {remark}")
        if result.passed:
            if result.figures:
                view.say(f"Latency  {result.figures}")
            view.say(f"Engine   {describe_build(result)}")
            if result.figures or self.options.sweep:
                view.say(f"next: {command_line(('trex-tui', as_operand(str(request.outdir))))}")
            else:
                self._say_next(request, request.names.engine, view)
            return ExitCode.OK
        if result.interrupted:
            view.say("interrupted" + (f"; the logs are in {result.directory}" if result.directory else ""))
            code = stop.exit_code
        else:
            for line in list_errors(result):
                view.write(f"  {view.prefix}{line}\n")
            if result.log is not None:
                view.say(f"full log: {result.log}")
            what = f"{result.run.role} run" if result.run else "capture"
            if result.verdict is not None and result.verdict.key == LOST:
                view.say(f"error: {what}: {result.verdict}")
                return ExitCode.BAD_INPUT
            view.say(f"error: {what} failed: {result.verdict}")
            code = ExitCode.TRTEXEC_FAILED
        if result.engine is not None:
            view.say(f"the engine is kept: {result.engine}")
            self._say_next(request, result.engine, view)
        return code

    def _say_next(self, request: CaptureRequest, engine: Path, view: CaptureView) -> None:
        """Print the command that measures an engine, with all that it needs to run as it stands."""
        from trex_tui.capture.script import as_operand, command_line

        if self._known is not None and self._known.devices == 0:
            view.say(f"next: {command_line(('trex-tui', as_operand(str(request.outdir))))}")
            view.say("to measure it, run trex-tui capture --engine on a machine with a GPU")
            return
        view.say(f"next: {command_line(self._measure_command(request, engine))}")

    def _measure_command(self, request: CaptureRequest, engine: Path) -> list[str]:
        options, wanted = self.options, request.options
        profile = wanted.measured_profile
        words = ["trex-tui", "capture", f"--engine={engine}", f"--outdir={request.outdir}"]
        words += [f"--name={request.name}"] if options.name else []
        given: tuple[tuple[str, object], ...] = (
            ("--trtexec", options.trtexec),
            ("--builder", options.builder if options.builder != "auto" else None),
            ("--host", self.ssh.host if self.ssh else None),
            ("--device", wanted.device),
            ("--dla", wanted.dla),
            ("--shapes", wanted.shapes or (profile.opt_shapes if profile else wanted.opt_shapes)),
            ("--profile-index", wanted.profile_index),
        )
        words += [f"{option}={value}" for option, value in given if value is not None]
        words += [f"--plugin={plugin}" for plugin in wanted.plugins]
        words += ["--allow-gpu-fallback"] if wanted.allow_gpu_fallback else []
        words += ["--force"]
        return [*words, *(["--", *wanted.passthrough] if wanted.passthrough else [])]

    def _end_sweep(self, complete: Sequence[Path]) -> None:
        """Print the table of engines of a sweep, and what is missing."""
        from trex_tui.capture.script import as_operand, command_line

        left = [name for name, request in self.jobs.items() if request.outdir not in complete]
        if left:
            complain(f"{len(left)} of {len(self.jobs)} values missing: {', '.join(left)}")
        if not complete:
            return
        from trex_tui.cli.main import main

        main(["engines", *(as_operand(str(outdir)) for outdir in complete), "--color", self.options.color])
        outdir = as_operand(str(self.request.outdir))
        complain(f"next: {command_line(('trex-tui', outdir))}")
        complain(f"next: {command_line(('trex-tui', 'engines', outdir))}")
