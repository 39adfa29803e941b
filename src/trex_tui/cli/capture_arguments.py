"""The options of `trex-tui accuracy`."""

from __future__ import annotations

import argparse
import math

from trex_tui.cli.argument_types import FILES, duration, positive, whole

_EXAMPLES = """\
examples:
  trex-tui accuracy --ref fp32.engine --test int8.engine --inputs 16
  trex-tui accuracy --onnx resnet.onnx --test int8.engine --min-cosine 0.999 --min-argmax-agreement 99
  trex-tui accuracy --ref fp32.engine --test int8.engine --onnx resnet.onnx --inputs 8
  trex-tui accuracy --ref a.engine --test b.engine --input-shape images:1x3x640x640 --rtol 1e-2 --atol 1e-3
  trex-tui accuracy --ref a.engine --test b.engine --load-inputs calibration/ --json | jq .outputs
  trex-tui accuracy --ref bert.onnx --test bert.engine --range ids:0:30521 --inputs 8 --no-save

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
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_sides(parser)
    _add_inputs(parser.add_argument_group("inputs"))
    _add_gates(parser.add_argument_group("gates, on each output over all samples; exit code 1 if one falls"))
    _add_running(parser.add_argument_group("running"))
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


def _add_gates(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--rtol", type=_limit, metavar="R", help="every |d| ≤ atol + rtol · |reference|")
    group.add_argument(
        "--atol", type=_limit, metavar="A", help="see --rtol; each is 0 if only the other is given"
    )
    for option, text in (
        ("--max-mae", "mean absolute difference"),
        ("--max-abs", "largest absolute difference"),
        ("--max-rel", "largest difference relative to the reference"),
        ("--max-rmse", "root of the mean squared difference"),
        ("--min-cosine", "cosine of the angle between the outputs, 1 is equal"),
        ("--min-sqnr", "signal to quantization noise in dB"),
        ("--min-argmax-agreement", "how often both choose the same class, in per cent"),
    ):
        group.add_argument(option, type=_number, metavar="X", help=text)
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


def _add_running(group: argparse._ArgumentGroup) -> None:
    program = group.add_argument(
        "--trtexec", metavar="FILE", help="default: $TRTEXEC, PATH, the usual places"
    )
    program.complete = FILES  # type: ignore[attr-defined]
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
    if not colon or not name or not all(one.isdecimal() and len(one) < 10 for one in extents):
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


_EXAMPLES_DOCTOR_ARGUMENTS = """\
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
        epilog=_EXAMPLES_DOCTOR_ARGUMENTS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    program = doctor.add_argument(
        "--trtexec", metavar="FILE", help="default: $TRTEXEC, PATH, the usual places"
    )
    outdir = doctor.add_argument(
        "--outdir", metavar="DIR", help="where sets are to lie; default: results; not with --host"
    )
    for action in (program, outdir):
        action.complete = FILES  # type: ignore[attr-defined]
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
