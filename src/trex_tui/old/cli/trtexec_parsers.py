"""Options of the commands that run trtexec."""

from __future__ import annotations

import argparse
from functools import partial

from trex_tui.old.capture import PRECISIONS
from trex_tui.old.cli.argument_types import (
    clock,
    duration,
    input_range,
    input_shape,
    input_type,
    interval,
    limit,
    number,
    positive,
    seconds,
    shape_profile,
    whole,
)
from trex_tui.old.cli.command_parser import CommandParser
from trex_tui.old.cli.options import (
    Arguments,
    Commands,
    add_command,
    add_force,
    add_format,
    add_outdir,
    add_result_options,
    complete_files,
)

_LOAD_INPUTS = "read inputs from files instead of using random values"
_GATE_ALIASES = {
    "--max-mae": "mae",
    "--max-abs": "max_abs",
    "--max-rel": "max_rel",
    "--max-rmse": "rmse",
    "--min-cosine": "cosine",
    "--min-sqnr": "sqnr_db",
    "--min-argmax-agreement": "argmax_agreement_pct",
}
"""Predecessors of --fail-on; to be removed in the next release."""


def add_capture(commands: Commands[CommandParser]) -> None:
    parser = add_command(
        commands,
        "capture",
        "Build and profile an engine with trtexec",
        "Build and profile an engine with trtexec, here or over ssh; keep all its files.",
        """\
A model is built and profiled, an engine only profiled. The set is moved to its
directory when it is complete. A failed run leaves its logs in
NAME.failed.

A sweep captures every combination of its values, each into a directory of
DIR, and ends with a table. AXIS:
  fp32,fp16,bf16,int8,fp8,int4,best,fp16+int8   precision
  batch=1,8,32          first dimension of the shapes: inside an optimization
                        profile one engine serves all, with --shapes alone
                        each batch has its engine
  OPTION=A,B            option of trtexec; on or off for one without a value

Exit code: 0 done; 2 bad input or a lost connection; 3 trtexec failed; 130
interrupted. With several hosts, the worst one.

examples:
  trex-tui capture --onnx resnet.onnx --fp16
  trex-tui capture --onnx resnet.onnx --int8 --calib calib.cache --dry-run
  trex-tui capture --onnx resnet.onnx --dry-run --for 10.4 > capture.sh
  trex-tui capture --onnx bert.onnx --min-shapes ids:1x8 \\
      --opt-shapes ids:8x128 --max-shapes ids:32x512
  trex-tui capture --engine resnet.engine --repeat 5 --outdir results/resnet
  trex-tui capture --engine resnet.engine --monitor --duration 10
  trex-tui capture --onnx resnet.onnx --archive
  trex-tui capture --onnx resnet.onnx --host user@jetson --host xavier
  trex-tui capture --onnx resnet.onnx -- --maxTactics=16
  trex-tui capture --onnx resnet.onnx --shapes x:1x3x224x224 \\
      --sweep fp16,int8 --sweep batch=1,8,32
""",
        "(--onnx FILE | --engine FILE)\n       [-- TRTEXEC_OPTION ...]",
    )
    _add_set(parser)
    _add_precisions(parser.add_argument_group("precision"))
    _add_build(parser.add_argument_group("build"))
    _add_measurement(parser.add_argument_group("measurement"))
    _add_sweep(parser)
    _add_hosts(parser.add_argument_group("over ssh"))
    _add_capture_run(parser.add_argument_group("run"))
    _add_trtexec_arguments(parser)


def _add_trtexec_arguments(parser: CommandParser) -> None:
    parser.add_argument(
        "trtexec_arguments", nargs="*", metavar="-- TRTEXEC_OPTION", help="options passed on to trtexec"
    )


def _add_set(parser: CommandParser) -> None:
    files = parser.add_argument_group("files")
    model = files.add_mutually_exclusive_group(required=True)
    for option, text in (
        ("--onnx", "ONNX model"),
        ("--engine", "serialized engine"),
    ):
        complete_files(model.add_argument(option, metavar="FILE", help=text))
    add_outdir(files, "results/MODEL")
    files.add_argument(
        "--archive",
        action="store_true",
        help="also write all files of the set to the archive NAME.tea",
    )
    files.add_argument("--name", metavar="NAME", help="stem of the file names; default: name of the model")
    add_force(files)
    files.add_argument(
        "--resume",
        action="store_true",
        help="reuse the engine of an earlier capture if model, options, TensorRT and GPU are the same; "
        "of a sweep keep the points that are complete",
    )


def _add_sweep(parser: CommandParser) -> None:
    group = parser.add_argument_group("sweep")
    group.add_argument(
        "--sweep",
        action="append",
        default=[],
        metavar="AXIS",
        help="capture each value of AXIS: fp16,int8 or batch=1,8 or an option of trtexec, avgTiming=4,8; "
        "may be repeated, for all combinations",
    )
    formats = ("text", "json")
    add_format(group, formats, " (the table of a sweep)", "sweep/1")
    parser.set_defaults(output="-", formats=formats, default_format="text", strict=False)


def _add_precisions(group: Arguments) -> None:
    for precision in PRECISIONS:
        group.add_argument(
            f"--{precision}", action="store_true", help=f"allow {precision.upper()} (up to TensorRT 10)"
        )
    group.add_argument("--best", action="store_true", help="allow all precisions (up to TensorRT 10)")
    group.add_argument(
        "--strongly-typed", action="store_true", help="use the types of the model (always from TensorRT 11)"
    )
    group.add_argument("--no-tf32", action="store_true", help="disable TF32")
    group.add_argument("--calib", metavar="FILE", help="INT8 calibration cache")


def _add_build(group: Arguments) -> None:
    for which, text in (("min", "smallest"), ("opt", "typical"), ("max", "largest")):
        group.add_argument(
            f"--{which}-shapes", metavar="SPEC", help=f"{text} shapes of the profile: input:1x3x224x224,…"
        )
    group.add_argument(
        "--profile",
        dest="profiles",
        action="append",
        default=[],
        type=shape_profile,
        metavar="SHAPES",
        help="an optimization profile: min=input:1x3,opt=input:4x3,max=input:8x3; may be repeated (from TensorRT 9.1 on)",
    )
    group.add_argument("--build-only", action="store_true", help="build the engine and measure nothing")
    group.add_argument("--workspace", type=whole, metavar="MIB", help="limit of scratch memory")
    group.add_argument(
        "--timing-cache",
        metavar="FILE",
        help="timing cache to read and write; with several --host: FILE.HOST",
    )
    group.add_argument("--optimization-level", type=whole, metavar="N", help="0 (fast build) to 5")
    group.add_argument("--sparsity", choices=("disable", "enable", "force"), help="2:4 sparse weights")
    group.add_argument("--version-compatible", action="store_true", help="run on other TensorRT versions too")
    group.add_argument(
        "--hardware-compatibility", metavar="LEVEL", help="run on other GPUs: none, ampere+, …"
    )
    _add_plugin(group)
    group.add_argument("--dla", type=whole, metavar="N", help="run on this DLA core")
    group.add_argument(
        "--allow-gpu-fallback", action="store_true", help="with --dla: run the rest on the GPU"
    )
    _add_device(group)


def _add_measurement(group: Arguments) -> None:
    group.add_argument("--shapes", metavar="SPEC", help="shapes to measure; default: --opt-shapes")
    _add_profile_index(group)
    group.add_argument("--load-inputs", metavar="INPUT:FILE", help=_LOAD_INPUTS)
    group.add_argument("--warmup", type=whole, metavar="MS", help="warm-up; default: trtexec's, 200 ms")
    group.add_argument(
        "--duration", type=seconds, metavar="S", help="minimum duration; default: trtexec's, 3 s"
    )
    group.add_argument("--iterations", type=whole, metavar="N", help="minimum iterations; default: 10")
    group.add_argument("--avg-runs", type=whole, metavar="N", help="runs averaged in a line of the log")
    group.add_argument("--percentile", metavar="P,…", help="percentiles; default: 90,95,99")
    group.add_argument("--inf-streams", type=whole, metavar="N", help="concurrent streams")
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
        type=clock,
        metavar="MHZ|max",
        help="lock the GPU clock with nvidia-smi during the runs; not on a Jetson",
    )
    group.add_argument(
        "--memory-clock",
        nargs="?",
        const="max",
        type=clock,
        metavar="MHZ|max",
        help="lock the memory clock, as --lock-clocks",
    )
    group.add_argument(
        "--power-limit",
        type=positive,
        metavar="W",
        help="set the power limit for the runs, then restore it",
    )
    group.add_argument(
        "--monitor",
        nargs="?",
        const=200,
        type=interval,
        metavar="MS",
        help="sample power, temperature and clocks every MS milliseconds (50 to 1000, default 200) into NAME.monitor.csv",
    )


def _add_hosts(group: Arguments) -> None:
    _add_host(group)
    group.add_argument(
        "--with-engine", action="store_true", help="include the serialized engine (with --host or --archive)"
    )
    group.add_argument(
        "--with-ids",
        action="store_true",
        help="record host name, UUIDs and serial numbers (logs always contain the UUIDs printed by trtexec)",
    )


def _add_host(group: Arguments) -> None:
    group.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="HOST",
        help="use this machine over ssh (keys, no passwords); may be repeated (hosts run in sequence)",
    )


def _add_capture_run(group: Arguments) -> None:
    _add_trtexec(group)
    group.add_argument(
        "--docker",
        metavar="IMAGE",
        help="run trtexec in a container of this image (docker pull it first)",
    )
    _add_timeout(group)
    group.add_argument("--dry-run", action="store_true", help="print an equivalent shell script and exit")
    group.add_argument(
        "--for",
        dest="release",
        metavar="VERSION",
        help="with --dry-run: print it for this TensorRT (10.4); needs no trtexec here",
    )
    group.add_argument(
        "--open",
        action=argparse.BooleanOptionalAction,
        help="explore the set afterwards; default: ask, in a terminal",
    )


def _add_trtexec(group: Arguments) -> None:
    complete_files(
        group.add_argument(
            "--trtexec", metavar="FILE", help="trtexec to run; default: $TRTEXEC, PATH, usual directories"
        )
    )


def _add_timeout(group: Arguments) -> None:
    group.add_argument(
        "--timeout", type=duration, metavar="TIME", help="stop a run of trtexec after 90s, 30m, 2h"
    )


def _add_device(group: Arguments) -> None:
    group.add_argument("--device", type=whole, metavar="N", help="CUDA index of the GPU")


def _add_plugin(group: Arguments) -> None:
    group.add_argument(
        "--plugin", action="append", default=[], metavar="LIB", help="plugin library; may be repeated"
    )


def _add_profile_index(group: Arguments) -> None:
    group.add_argument("--profile-index", type=whole, metavar="N", help="optimization profile to run")


def add_doctor(commands: Commands[CommandParser]) -> None:
    doctor = add_command(
        commands,
        "doctor",
        "Check whether capture can run",
        "Check whether `capture` can run: trtexec, GPU, clocks and disk, with remedies.",
        """\
Read-only: no sudo, no change of power mode or clocks.

Exit code: 0 capture can run; 1 something is missing; 2 a host is unreachable.

examples:
  trex-tui doctor
  trex-tui doctor --trtexec ~/TensorRT-10.16/bin
  trex-tui doctor --host user@jetson --host xavier
  trex-tui doctor --json | jq '.checks[] | select(.status != "ok")'
""",
    )
    _add_trtexec(doctor)
    outdir = doctor.add_argument(
        "--outdir", metavar="DIR", help="check the disk of DIR; default: results; not with --host"
    )
    complete_files(outdir)
    _add_host(doctor)
    add_result_options(doctor, ("text", "json"), schema="doctor/1")


def add_accuracy(commands: Commands[CommandParser]) -> None:
    parser = add_command(
        commands,
        "accuracy",
        "Compare the outputs of two engines",
        "Compare the outputs of engines, or of a model and an engine, on the same inputs.",
        """\
GATE is METRIC OPERATOR NUMBER. METRIC:
  mae, max_abs, max_rel, rmse   differences: mean absolute, largest, largest
                                relative, root mean square
  cosine                        of the angle between outputs; 1: equal
  sqnr_db                       signal to quantization noise
  argmax_agreement_pct          share of equal predicted classes

trtexec runs an engine once per input; an ONNX model runs on the CPU through
onnxruntime (pip install 'trex-tui[accuracy]'). The reference is --ref, else
--onnx; with both, the model is compared with --ref and --test too, and gates
apply to --test against --ref.
Inputs of the same name may differ in width (FP32 and FP16, INT64 and INT32).
--load-inputs takes a directory of samples too; files hold raw elements (.bin)
or are .npy. FP8, FP4 and INT4 inputs cannot be read from files.

Exit code: 0 no gate failed; 1 a gate failed; 2 not comparable; 3 trtexec
failed; 130 interrupted.

examples:
  trex-tui accuracy --ref fp32.engine --test int8.engine --inputs 16
  trex-tui accuracy --onnx net.onnx --test net.engine --fail-on 'mae > 0.01'
  trex-tui accuracy --ref fp32.engine --test int8.engine --onnx net.onnx
  trex-tui accuracy --ref a.engine --test b.engine --rtol 1e-2 --atol 1e-3
  trex-tui accuracy --ref a.engine --test b.engine --load-inputs calibration/
  trex-tui accuracy --ref bert.onnx --test bert.engine --range ids:0:30521
""",
        "--test FILE [--ref FILE] [--onnx FILE]\n       [-- TRTEXEC_OPTION ...]",
    )
    _add_sides(parser.add_argument_group("files"))
    _add_inputs(parser.add_argument_group("inputs"))
    _add_gates(parser.add_argument_group("outputs and gates"))
    run = parser.add_argument_group("run")
    _add_trtexec(run)
    _add_device(run)
    _add_plugin(run)
    _add_timeout(run)
    _add_accuracy_result(parser)
    _add_trtexec_arguments(parser)


def _add_sides(group: Arguments) -> None:
    for option, text in (
        ("--ref", "reference: an engine or an ONNX model"),
        ("--onnx", "ONNX model"),
        ("--test", "engine or ONNX model to compare with the reference"),
    ):
        complete_files(group.add_argument(option, metavar="FILE", help=text, required=option == "--test"))


def _add_inputs(group: Arguments) -> None:
    group.add_argument(
        "--inputs", type=positive, metavar="N", help="number of samples; default: 1, or all given"
    )
    group.add_argument("--seed", type=whole, default=0, metavar="N", help="seed of random inputs; default: 0")
    group.add_argument(
        "--range",
        action="append",
        default=[],
        type=input_range,
        metavar="INPUT:LOW:HIGH",
        help="range of random inputs; default: -1 to 1, of integers 0 to 1; may be repeated",
    )
    group.add_argument(
        "--load-inputs",
        action="append",
        default=[],
        metavar="INPUT:FILE",
        help=f"{_LOAD_INPUTS}; may be repeated",
    )
    group.add_argument(
        "--input-shape",
        action="append",
        default=[],
        type=input_shape,
        metavar="INPUT:1x3x640x640",
        help="shape of a dynamic input; may be repeated",
    )
    group.add_argument(
        "--input-type",
        action="append",
        default=[],
        type=input_type,
        metavar="TENSOR:TYPE",
        help="type of an input or output (fp32, fp16, int32, …) if trtexec and the engine do not state it",
    )
    _add_profile_index(group)


def _aliased_gate(option: str, metric: str, text: str) -> tuple[str, str, str, str, float]:
    """Return the fields of the `Gate` that replaces an option."""
    value = number(text)
    return f"{option} {value:g}", metric, "", "<" if option.startswith("--min") else ">", value


def _add_gates(group: Arguments) -> None:
    group.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="GATE",
        help="exit with 1 if GATE holds, such as 'mae > 0.01'; may be repeated",
    )
    group.add_argument("--rtol", type=limit, metavar="R", help="limit: |d| ≤ atol + rtol · |reference|")
    group.add_argument("--atol", type=limit, metavar="A", help="as --rtol; default of both: 0")
    for option, metric in _GATE_ALIASES.items():
        group.add_argument(
            option,
            dest="fail_on",
            action="append",
            type=partial(_aliased_gate, option, metric),
            help=argparse.SUPPRESS,
        )
    group.add_argument(
        "--tensor",
        action="append",
        default=[],
        metavar="NAME",
        help="compare only this output; may be repeated",
    )
    # The name of --tensor until 0.1; from the next release on the long name of -o, as in every other command.
    group.add_argument("--output", dest="tensor", action="append", help=argparse.SUPPRESS)
    group.add_argument(
        "--argmax-axis",
        type=int,
        metavar="N",
        help="class axis; default: 1 for 4 or 5 dimensions, else the last",
    )


def _add_accuracy_result(parser: CommandParser) -> None:
    group = add_result_options(parser, ("text", "json", "md"), schema="accuracy/1", long_output="")
    add_outdir(group, "TEST.accuracy beside TEST")
    group.add_argument("--no-save", action="store_true", help="do not keep the result and samples")
