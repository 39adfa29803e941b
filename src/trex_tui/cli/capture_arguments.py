"""The options of `trex-tui capture`, `accuracy` and `doctor`: what runs trtexec, or looks for it."""

from __future__ import annotations

import argparse
import math
from functools import partial

from trex_tui.cli.argument_types import FILES, duration, positive, seconds, whole

PRECISIONS = ("fp16", "bf16", "int8", "fp8", "int4")
_CAPTURE_EXAMPLES = """\
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
        epilog=_CAPTURE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_files(parser)
    _add_build(parser.add_argument_group("build"))
    _add_measurement(parser.add_argument_group("measurement"))
    _add_capture_running(parser.add_argument_group("running"))
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
    for precision in PRECISIONS:
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


def _add_capture_running(group: argparse._ArgumentGroup) -> None:
    _add_trtexec(group)
    group.add_argument(
        "--timeout", type=duration, metavar="TIME", help="end a run of trtexec after 90s, 30m, 2h"
    )
    group.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="HOST",
        help="run there, over your ssh (keys, no passwords); files are sent and fetched; may be repeated: one after the "
        "other, into one directory per host",
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


def _add_trtexec(group: argparse._ActionsContainer) -> None:
    action = group.add_argument("--trtexec", metavar="FILE", help="default: $TRTEXEC, PATH, the usual places")
    action.complete = FILES  # type: ignore[attr-defined]


_ACCURACY_EXAMPLES = """\
examples:
  trex-tui accuracy --ref fp32.engine --test int8.engine --inputs 16
  trex-tui accuracy --onnx resnet.onnx --test int8.engine --fail-on 'cosine < 0.999'
  trex-tui accuracy --ref fp32.engine --test int8.engine --onnx resnet.onnx --inputs 8
  trex-tui accuracy --ref a.engine --test b.engine --input-shape images:1x3x640x640 --rtol 1e-2 --atol 1e-3
  trex-tui accuracy --ref a.engine --test b.engine --load-inputs calibration/ --json | jq .outputs
  trex-tui accuracy --ref bert.onnx --test bert.engine --range ids:0:30521 --inputs 8 --no-save

gates (--fail-on): METRIC OPERATOR NUMBER. METRIC: mae, max_abs, max_rel and rmse, the mean absolute, largest, largest
relative and root mean squared difference; cosine of the angle between the outputs, 1 is equal; sqnr_db, signal to
quantization noise; argmax_agreement_pct, how often both choose the same class.

Both sides get the same inputs: random ones that --seed decides, or files. trtexec runs an engine once per input and side;
an ONNX model runs on the CPU through onnxruntime (pip install 'trex-tui[accuracy]'). With --ref and --onnx, both are held
against the model too, on the same inputs; the gates are about --test against --ref. Inputs of the same name may differ in
width (FP32 and FP16, INT64 and INT32): both sides then get values that the narrower can hold. Types that cannot be fed from
files: FP8, FP4, INT4. Exit code: 1 a gate fell, 2 the two cannot be compared, 3 trtexec failed, 130 interrupted.
"""


def add_accuracy(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "accuracy",
        help="outputs of two engines, or of an ONNX model and an engine, on the same inputs; a gate for CI",
        epilog=_ACCURACY_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_sides(parser)
    _add_inputs(parser.add_argument_group("inputs"))
    _add_gates(parser.add_argument_group("gates, on each output over all samples; exit code 1 if one falls"))
    _add_accuracy_running(parser.add_argument_group("running"))
    parser.add_argument(
        "trtexec_arguments",
        nargs="*",
        metavar="-- OPTION",
        help="behind `--`: options for trtexec, untouched",
    )


def _add_sides(parser: argparse.ArgumentParser) -> None:
    for option, text in (
        ("--ref", "the reference: an engine, or an ONNX model by its ending"),
        ("--onnx", "an ONNX model: the reference, or beside --ref what both engines are held against too"),
        ("--test", "what is compared with it: an engine, or an ONNX model by its ending"),
    ):
        action = parser.add_argument(option, metavar="FILE", help=text, required=option == "--test")
        action.complete = FILES  # type: ignore[attr-defined]


def _add_inputs(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--inputs", type=positive, metavar="N", help="how many samples; default: 1, or all given"
    )
    group.add_argument("--seed", type=whole, default=0, metavar="N", help="of random inputs; default: 0")
    group.add_argument(
        "--range",
        action="append",
        default=[],
        type=_range,
        metavar="INPUT:LOW:HIGH",
        help="of random inputs; default: -1 to 1, for whole numbers 0 to 1; may be repeated",
    )
    group.add_argument(
        "--load-inputs",
        action="append",
        default=[],
        metavar="INPUT:FILE|DIR",
        help="a file for each input, or a directory of samples; bare elements (.bin) in the input's type, or .npy",
    )
    group.add_argument(
        "--input-shape",
        action="append",
        default=[],
        type=_shape,
        metavar="INPUT:1x3x640x640",
        help="of a dynamic input; may be repeated",
    )
    group.add_argument(
        "--input-type",
        action="append",
        default=[],
        type=_typed,
        metavar="TENSOR:TYPE",
        help="fp32, fp16, int32, … of an input or output, where neither trtexec nor the engine tells",
    )
    group.add_argument("--profile-index", type=whole, metavar="N", help="which optimization profile")


_GATE_ALIASES = {
    "--max-mae": "mae",
    "--max-abs": "max_abs",
    "--max-rel": "max_rel",
    "--max-rmse": "rmse",
    "--min-cosine": "cosine",
    "--min-sqnr": "sqnr_db",
    "--min-argmax-agreement": "argmax_agreement_pct",
}
"""Before there was --fail-on; to go with the next release."""


def _aliased_gate(option: str, metric: str, text: str) -> tuple[str, str, str, str, float]:
    """The fields of the `Gate` that an option stands for."""
    limit = _number(text)
    return f"{option} {limit:g}", metric, "", "<" if option.startswith("--min") else ">", limit


def _add_gates(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="GATE",
        help="METRIC OPERATOR NUMBER, such as 'mae > 0.01'; may be repeated",
    )
    group.add_argument("--rtol", type=_limit, metavar="R", help="every |d| ≤ atol + rtol · |reference|")
    group.add_argument(
        "--atol", type=_limit, metavar="A", help="see --rtol; each is 0 if only the other is given"
    )
    for option, metric in _GATE_ALIASES.items():
        group.add_argument(
            option,
            dest="fail_on",
            action="append",
            type=partial(_aliased_gate, option, metric),
            help=argparse.SUPPRESS,
        )
    group.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="NAME",
        help="compare only this output; may be repeated",
    )
    group.add_argument(
        "--argmax-axis",
        type=int,
        metavar="N",
        help="axis of the classes; default: 1 of maps (4 and 5 dimensions), else the last",
    )


def _add_accuracy_running(group: argparse._ArgumentGroup) -> None:
    _add_trtexec(group)
    group.add_argument("--device", type=whole, metavar="N", help="CUDA index of the GPU")
    group.add_argument("--plugin", action="append", default=[], metavar="LIB", help="may be repeated")
    group.add_argument("--timeout", type=duration, metavar="TIME", help="end a run after 90s, 30m, 2h")
    group.add_argument(
        "--outdir",
        metavar="DIR",
        help="where result and samples are kept; default: TEST.accuracy beside the test",
    )
    group.add_argument("--force", action="store_true", help="replace a result that lies there")
    group.add_argument("--no-save", action="store_true", help="keep nothing, print only")
    group.add_argument(
        "--json", action="store_true", help="print one JSON object (schema trex-tui/accuracy/1)"
    )


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"not a number: {text!r}")
    return value


def _limit(text: str) -> float:
    if _number(text) < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return float(text)


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, colon, dims = text.rpartition(":")
    extents = dims.split("x") if dims not in ("", "scalar") else []
    if not colon or not name or not all(extent.isdecimal() and len(extent) < 10 for extent in extents):
        raise argparse.ArgumentTypeError(f"not a shape such as images:1x3x640x640: {text!r}")
    return name, tuple(map(int, extents))


def _typed(text: str) -> tuple[str, str]:
    name, colon, kind = text.rpartition(":")
    if not colon or not name or not kind:
        raise argparse.ArgumentTypeError(f"not a type such as images:fp16: {text!r}")
    return name, kind


def _range(text: str) -> tuple[str, tuple[float, float]]:
    parts = text.rsplit(":", 2)
    if len(parts) != 3 or not parts[0]:
        raise argparse.ArgumentTypeError(f"not a range such as ids:0:30521: {text!r}")
    low, high = _number(parts[1]), _number(parts[2])
    if low > high or max(abs(low), abs(high)) > 2**53:
        raise argparse.ArgumentTypeError(f"not a range from low to high: {text!r}")
    return parts[0], (low, high)


_DOCTOR_EXAMPLES = """\
examples:
  trex-tui doctor                                     can a capture run here, and what to do where not
  trex-tui doctor --trtexec ~/TensorRT-10.16/bin      with this trtexec
  trex-tui doctor --json | jq '.checks[] | select(.status != "ok")'
  trex-tui doctor --host user@jetson --host xavier    the same there, over your ssh

It asks as an ordinary user and changes nothing: no sudo, no power mode, no clocks. Exit code: 0 capture can run,
1 something that it needs is missing, 2 a --host cannot be asked (of several hosts the worst counts).
"""


def add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    doctor = commands.add_parser(
        "doctor",
        help="can a capture run here: trtexec, GPU, clocks, disk, and what to do",
        epilog=_DOCTOR_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_trtexec(doctor)
    outdir = doctor.add_argument(
        "--outdir", metavar="DIR", help="where sets are to lie; default: results; not with --host"
    )
    outdir.complete = FILES  # type: ignore[attr-defined]
    doctor.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="HOST",
        help="look there, over your ssh (keys, no passwords); may be repeated",
    )
    doctor.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object (schema trex-tui/doctor/1; with --host trex-tui/doctor-hosts/1)",
    )
