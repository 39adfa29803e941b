"""`trex-tui capture`: from an ONNX file, or an engine, to a complete artifact set."""

from __future__ import annotations

import argparse
import os
import sys

from trex_tui.cli.argument_types import FILES, duration, positive, seconds, whole

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from trex_tui.capture.options import CaptureOptions
    from trex_tui.capture.run import CaptureRequest, CaptureResult
    from trex_tui.capture.trtexec import Trtexec
    from trex_tui.report.views.capture import CaptureView

_OK, _FAILED, _INTERRUPTED = 0, 3, 130
_PRECISIONS = ("fp16", "bf16", "int8", "fp8", "int4")
_EXAMPLES = """\
examples:
  trex-tui capture --onnx resnet.onnx --fp16
  trex-tui capture --onnx bert.onnx --min-shapes ids:1x8 --opt-shapes ids:8x128 --max-shapes ids:32x512
  trex-tui capture --engine resnet.engine --repeat 5 --outdir results/resnet     profile only, five times
  trex-tui capture --onnx resnet.onnx --int8 --calib calib.cache --dry-run       the commands, not run
  trex-tui capture --onnx resnet.onnx --host user@jetson --host xavier      there, into results/resnet/<host>
  trex-tui capture --onnx resnet.onnx -- --maxTactics=16 --tacticSources=-CUDNN  the rest goes to both runs of trtexec

The set is made beside its place and moved there whole. A failed run leaves its logs in <name>.failed, and a set that is
there already is replaced with --force alone. Exit code: 3 trtexec failed, 130 interrupted;
a connection that was lost is 2, and of several hosts the worst counts.
"""


def add_capture(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the options of the command."""
    parser = commands.add_parser(
        "capture",
        help="run trtexec, here or over ssh: build, profile, and leave a complete set",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_files(parser)
    _add_build(parser.add_argument_group("build"))
    _add_measurement(parser.add_argument_group("measurement"))
    _add_running(parser.add_argument_group("running"))
    parser.add_argument(
        "trtexec_arguments",
        nargs="*",
        metavar="-- OPTION",
        help="behind `--`: options for both runs of trtexec, untouched",
    )


def _add_files(parser: argparse.ArgumentParser) -> None:
    files = parser.add_argument_group("files")
    model = files.add_mutually_exclusive_group(required=True)
    for option, text in (
        ("--onnx", "the model: build and profile"),
        ("--engine", "a serialized engine: profile only"),
    ):
        action = model.add_argument(option, metavar="FILE", help=text)
        action.complete = FILES  # type: ignore[attr-defined]
    files.add_argument("--outdir", metavar="DIR", help="where the set is to lie; default: results/MODEL")
    files.add_argument("--name", metavar="NAME", help="what its files are called; default: the model's name")
    files.add_argument("--force", action="store_true", help="replace a set of this name that lies there")
    files.add_argument(
        "--resume",
        action="store_true",
        help="take the engine of an earlier capture, if it lies here and model, options, TensorRT and GPU are the same, on a "
        "Jetson L4T and power mode too; with --host it is sent there (--with-engine brings one "
        "back)",
    )


def _add_build(build: argparse._ArgumentGroup) -> None:
    for precision in _PRECISIONS:
        build.add_argument(
            f"--{precision}", action="store_true", help=f"allow {precision.upper()} (up to TensorRT 10)"
        )
    build.add_argument("--best", action="store_true", help="allow all precisions (up to TensorRT 10)")
    build.add_argument(
        "--strongly-typed", action="store_true", help="types as the model has them (always so from 11 on)"
    )
    build.add_argument("--no-tf32", action="store_true", help="no TF32 for FP32")
    build.add_argument("--calib", metavar="FILE", help="INT8 calibration cache")
    build.add_argument("--sparsity", choices=("disable", "enable", "force"), help="2:4 sparse weights")
    for which in ("min", "opt", "max"):
        build.add_argument(
            f"--{which}-shapes", metavar="SPEC", help=f"input:1x3x224x224,… for the {which} of the profile"
        )
    build.add_argument("--workspace", type=whole, metavar="MIB", help="limit of scratch memory")
    build.add_argument(
        "--timing-cache",
        metavar="FILE",
        help="timing cache to read and write; with several --host each has its own, FILE.HOST",
    )
    build.add_argument("--optimization-level", type=whole, metavar="N", help="0 fastest build … 5 best")
    build.add_argument("--version-compatible", action="store_true", help="an engine for other versions too")
    build.add_argument("--hardware-compatibility", metavar="LEVEL", help="none, ampere+, … for other GPUs")
    build.add_argument("--plugin", action="append", default=[], metavar="LIB", help="may be repeated")
    build.add_argument("--dla", type=whole, metavar="N", help="run on this DLA core")
    build.add_argument(
        "--allow-gpu-fallback", action="store_true", help="what the DLA cannot do runs on the GPU"
    )
    build.add_argument("--device", type=whole, metavar="N", help="CUDA index of the GPU")


def _add_measurement(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--shapes", metavar="SPEC", help="shapes to measure with; default: --opt-shapes")
    group.add_argument("--profile-index", type=whole, metavar="N", help="which optimization profile")
    group.add_argument("--load-inputs", metavar="SPEC", help="input:file,… instead of random values")
    group.add_argument("--warmup", type=whole, metavar="MS", help="trtexec's default: 200")
    group.add_argument(
        "--duration", type=seconds, metavar="S", help="at least so long: 10, 0.5; trtexec's default: 3"
    )
    group.add_argument("--iterations", type=whole, metavar="N", help="at least so many; default: 10")
    group.add_argument("--avg-runs", type=whole, metavar="N", help="runs averaged for a line of the log")
    group.add_argument("--percentile", metavar="P,…", help="percentiles of the summary; default: 90,95,99")
    group.add_argument("--inf-streams", type=whole, metavar="N", help="queries at the same time")
    group.add_argument(
        "--cuda-graph",
        action=argparse.BooleanOptionalAction,
        help="measure through a CUDA graph; default: yes, without on a DLA",
    )
    group.add_argument("--data-transfers", action="store_true", help="measure copies to and from the host")
    group.add_argument(
        "--repeat", type=positive, default=1, metavar="N", help="so many profile runs, kept apart"
    )


def _add_running(group: argparse._ArgumentGroup) -> None:
    program = group.add_argument(
        "--trtexec", metavar="FILE", help="default: $TRTEXEC, PATH, the usual places"
    )
    program.complete = FILES  # type: ignore[attr-defined]
    group.add_argument(
        "--timeout", type=duration, metavar="TIME", help="end a run of trtexec after 90s, 30m, 2h"
    )
    group.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="HOST",
        help="run there, over your ssh (keys, no passwords); files are sent and fetched; may be repeated: side by side, "
        "into one directory per host",
    )
    group.add_argument("--with-engine", action="store_true", help="with --host: fetch the engine too")
    group.add_argument(
        "--with-ids",
        action="store_true",
        help="note host name, UUIDs and serial numbers of this machine in manifest and metadata; the logs, byte for byte "
        "trtexec's, have the UUIDs that it prints",
    )
    group.add_argument(
        "--lock-clocks",
        nargs="?",
        const="max",
        type=_clock,
        metavar="MHZ|max",
        help="hold the GPU clock still with nvidia-smi, where that is permitted (with --host: there); freed afterwards, "
        "after a crash too; never on a Jetson",
    )
    group.add_argument("--dry-run", action="store_true", help="print the exact commands, and run nothing")
    group.add_argument(
        "--open",
        action=argparse.BooleanOptionalAction,
        help="explore the set afterwards; default: ask, on a terminal",
    )


def _clock(text: str) -> str:
    if text != "max" and whole(text) == 0:
        raise argparse.ArgumentTypeError("0 MHz")
    return text


def run_capture(options: argparse.Namespace) -> int:
    """Capture, and tell how it went.

    Raises:
        TrexError: No trtexec, an option that it does not know, a file that is not there, a set that must not be replaced.
    """
    from trex_tui.capture.options import checked_inputs
    from trex_tui.capture.run import capture, workspace_of
    from trex_tui.capture.trtexec import find_trtexec

    if os.name != "posix":
        from trex_tui.errors import TrexError

        raise TrexError("capture runs on Linux; the files it leaves can be explored anywhere")
    wanted = _options_of(options)
    checked_inputs(wanted, is_here=not options.host)
    if options.resume and not wanted.builds:
        from trex_tui.errors import TrexError

        raise TrexError("--resume saves a build, and --engine is built already; leave it out")
    request = _request_of(options, wanted)
    if options.host:
        return _elsewhere(options, request)
    if options.with_engine:
        from trex_tui.errors import TrexError

        raise TrexError("--with-engine goes with --host; here the engine is always part of the set")
    if options.dry_run:
        return _dry_run(request, find_trtexec(options.trtexec))
    workspace_of(request)  # before trtexec is asked, which may take long
    trtexec = find_trtexec(options.trtexec)
    from trex_tui.capture.process import stop_on_signals

    with stop_on_signals() as stop, _view() as view:
        result = capture(request, trtexec, stop, view)
    return _tell(result, request, options.open)


def _elsewhere(options: argparse.Namespace, request: CaptureRequest) -> int:
    from trex_tui.cli.capture_hosts import run_hosts

    code, done = run_hosts(options, request)
    if code != _OK or not done:
        return code
    # Of several machines the sets lie below one directory, and are listed.
    return _offer(done[0].request if len(done) == 1 else request, options.open)


def _options_of(options: argparse.Namespace) -> CaptureOptions:
    from trex_tui.capture.options import CaptureOptions

    same = (
        *("onnx", "engine", "best", "strongly_typed", "no_tf32", "calib", "sparsity", "shapes"),
        *("min_shapes", "opt_shapes", "max_shapes", "profile_index", "load_inputs", "dla"),
        *("allow_gpu_fallback", "device", "timing_cache", "optimization_level", "version_compatible"),
        *("hardware_compatibility", "iterations", "avg_runs", "percentile", "inf_streams", "cuda_graph"),
        *("data_transfers", "repeat"),
    )
    return CaptureOptions(
        **{name: getattr(options, name) for name in same},
        precisions=tuple(one for one in _PRECISIONS if getattr(options, one)),
        workspace_mib=options.workspace,
        plugins=tuple(options.plugin),
        warmup_ms=options.warmup,
        duration_s=options.duration,
        passthrough=tuple(options.trtexec_arguments),
    )


def _request_of(options: argparse.Namespace, wanted: CaptureOptions) -> CaptureRequest:
    from pathlib import Path

    from trex_tui.capture.options import checked_name, default_name
    from trex_tui.capture.run import CaptureRequest

    name = checked_name(default_name(wanted) if options.name is None else options.name)
    return CaptureRequest(
        options=wanted,
        outdir=Path(options.outdir or Path("results", default_name(wanted))),
        name=name,
        force=options.force,
        resume=options.resume,
        timeout_s=options.timeout,
        with_ids=options.with_ids,
        lock_clocks=options.lock_clocks,
    )


def _dry_run(request: CaptureRequest, trtexec: Trtexec) -> int:
    from trex_tui.capture.options import command_line
    from trex_tui.capture.run import commands

    for run in commands(request, trtexec):
        print(command_line(run.argv))  # noqa: T201 - this is the result
    return _OK


def _view() -> CaptureView:
    from trex_tui.report.views.capture import make_view

    return make_view(sys.stderr)


def _tell(result: CaptureResult, request: CaptureRequest, wants_open: bool | None) -> int:
    from trex_tui.capture.options import quoted

    for remark in result.remarks:
        _say(f"note: {remark}")
    if result.passed:
        print(quoted(str(request.outdir)))  # noqa: T201 - this is the result
        return _offer(request, wants_open)
    if result.interrupted:
        _say("interrupted" + (f"; the logs are in {result.directory}" if result.directory else ""))
        return _INTERRUPTED
    from trex_tui.artifacts.host_state import cut
    from trex_tui.report.views.capture import LONGEST_LINE

    what = f"{result.run.role} run" if result.run else "capture"
    for line in result.last:
        _say(f"  {cut(line, LONGEST_LINE)}", prefix="")
    if result.log is not None:
        _say(f"the whole log: {result.log}")
    _say(f"error: {what} failed: {result.verdict}")
    return _FAILED


def _say(text: str, prefix: str = "trex-tui: ") -> None:
    from trex_tui.text import printable

    sys.stderr.write(f"{prefix}{printable(text)}\n")
    sys.stderr.flush()


def _offer(request: CaptureRequest, wants_open: bool | None) -> int:
    """Open the set if that is wanted; ask where somebody can answer."""
    from trex_tui.widgets.terminal import can_draw

    if wants_open is None:
        streams = (sys.stdin, sys.stdout, sys.stderr)
        if not can_draw(os.environ, is_terminal=all(one.isatty() for one in streams)):
            return _OK
        sys.stderr.write("explore it now? [Y/n] ")
        sys.stderr.flush()
        try:
            wants_open = sys.stdin.readline().strip().lower() in ("", "y", "yes")
        except KeyboardInterrupt:  # the capture is done: this only says no to the question
            sys.stderr.write("\n")
            wants_open = False
    if not wants_open:
        return _OK
    from trex_tui.cli import main

    # Absolute: a relative path may look like an option.
    return main(["open", str(request.outdir.absolute())])
