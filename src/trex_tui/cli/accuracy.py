"""`accuracy`: the outputs of an engine against those of another, or of its ONNX model."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui.cli.capture import duration
from trex_tui.cli.options import CommandParser, add_file, add_inputs, add_result
from trex_tui.cli.results import Progress, Result, complain, write_message
from trex_tui.errors import ExitCode, TrexError
from trex_tui.text import printable

if TYPE_CHECKING:
    from trex_tui.accuracy.sides import AccuracyRequest
    from trex_tui.analysis.gates import GateResult
    from trex_tui.capture.process import Stop

HELP = "Compare the outputs of two engines"
ARGUMENTS = "--ref FILE --test FILE [-- TRTEXEC_OPTION ...]"
EPILOG = """\
Both sides get the same inputs. A side is an engine, which trtexec runs, or an
ONNX model, which onnxruntime runs on the CPU (extra accuracy).
The result is kept as TEST.accuracy/output_diff.json beside the test, where
`trex-tui engines` finds it.

GATE is METRIC OPERATOR NUMBER; each output is judged over all samples. METRIC:
  mae, max_abs, rmse        differences in the output's unit
  max_rel, mean_rel         relative to the reference
  cosine, sqnr_db           likeness
  argmax_agreement_pct      positions with the same largest class
An element that is NaN or infinite on one side only fails every gate.

Exit code: 0 no gate failed; 1 a gate failed; 2 bad input; 3 trtexec failed; 128
and the number of the signal if interrupted.

examples:
  trex-tui accuracy --ref fp32.engine --test int8.engine --samples 16
  trex-tui accuracy --ref net.onnx --test int8.engine --fail-on 'cosine < 0.99'
  trex-tui accuracy --ref a.engine --test b.engine --load-inputs samples/
  trex-tui accuracy --ref a.engine --test b.engine -- --useProfile=1 --device=1
"""
_OWN = frozenset(
    (
        *("--loadEngine", "--loadInputs", "--exportOutput", "--exportLayerInfo", "--shapes", "--iterations"),
        *("--warmUp", "--duration", "--noDataTransfers", "--skipInference", "--onnx", "--saveEngine"),
    )
)


def add_arguments(parser: CommandParser) -> None:
    for option, text in (("--ref", "the reference"), ("--test", "the side to judge")):
        add_file(parser, option, metavar="FILE", required=True, help=f"engine or ONNX model: {text}")
    add_inputs(parser)
    parser.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="GATE",
        help="exit with 1 if GATE holds, such as 'mae > 0.01'; may be repeated",
    )
    add_file(parser, "--trtexec", metavar="FILE", help="trtexec to run; default: $TRTEXEC, PATH, …")
    parser.add_argument("--timeout", type=duration, metavar="TIME", help="stop a run after 90s, 30m, 2h")
    parser.add_argument("--no-save", action="store_true", help="do not keep the result beside the test")
    parser.add_argument("trtexec_options", nargs="*", help=argparse.SUPPRESS)
    add_result(parser, ("text", "json", "md", "csv"), schema="accuracy/2", has_strict=False)


def run(options: argparse.Namespace) -> int:
    from trex_tui.accuracy.sides import InterruptedRunError
    from trex_tui.artifacts.write import Inputs, check_output, made_directories, write_output
    from trex_tui.capture.process import stop_on_signals
    from trex_tui.report.formats import WRITERS
    from trex_tui.report.views.accuracy import accuracy_document
    from trex_tui.report.views.gates import explain_gate

    result = Result(options)
    request = _make_request(options)
    inputs = Inputs([request.reference, request.test])
    kept = None if options.no_save else _name_result(request.test)
    for target in (kept, result.path):
        if target is not None and (target != kept or target.parent.exists()):
            check_output(target, inputs, force=options.force)
    with stop_on_signals() as stop:
        try:
            content, gates = _compare(options, request, stop)
        except InterruptedRunError:
            complain("interrupted; nothing was kept")
            return stop.exit_code
    document = accuracy_document(content, gates)
    if kept is not None:
        with made_directories([kept.parent]):
            write_output(kept, WRITERS["json"].write(document), replace=options.force)
        complain(f"kept in {kept}")
    result.write(document, inputs)
    failed = [gate for gate in gates if gate.is_met]
    for gate in failed:
        complain(f"gate failed: {gate.gate.text}: {explain_gate(gate)}")
    return ExitCode.FINDINGS if failed else ExitCode.OK


def _compare(
    options: argparse.Namespace, request: AccuracyRequest, stop: Stop
) -> tuple[dict[str, Any], list[GateResult]]:
    """Run the comparison, with progress on stderr, and the end of trtexec's output if it fails."""
    from trex_tui.accuracy.sides import TrtexecFailedError, compare_outputs
    from trex_tui.capture.trtexec import find_trtexec

    if request.needs_trtexec and os.name != "posix":
        raise TrexError("trtexec runs on Linux only; elsewhere compare two ONNX models")
    trtexec = find_trtexec(options.trtexec) if request.needs_trtexec else None
    progress = Progress()
    try:
        return compare_outputs(request, trtexec, stop, lambda step, _, __: progress(step))
    except TrtexecFailedError as error:
        for line in error.last:
            write_message(f"  {printable(line)}\n")
        raise


def _make_request(options: argparse.Namespace) -> AccuracyRequest:
    """Return the comparison that the options request.

    Raises:
        TrexError: A file is missing, or an option is invalid.
    """
    from trex_tui.accuracy.sides import AccuracyRequest
    from trex_tui.analysis.gates import parse_gate
    from trex_tui.analysis.outputs import METRICS
    from trex_tui.capture.options import check_readable, parse_shapes
    from trex_tui.capture.plan import flag_name

    for argument in options.trtexec_options:
        if not argument.startswith("-"):
            raise TrexError(f"{argument} after --: not an option of trtexec; remove it")
        if flag_name(argument) in _OWN:
            raise TrexError(f"{flag_name(argument)} after --: accuracy sets this option; remove it")
    return AccuracyRequest(
        reference=check_readable("--ref", options.ref),
        test=check_readable("--test", options.test),
        shapes=parse_shapes(options.shapes, "--shapes") if options.shapes else {},
        samples=options.samples,
        seed=options.seed,
        load_inputs=options.load_inputs,
        ranges=dict(options.range),
        gates=[parse_gate(text, METRICS) for text in options.fail_on],
        passthrough=options.trtexec_options,
        timeout_s=options.timeout,
    )


def _name_result(test: Path) -> Path:
    """Return `net.accuracy/output_diff.json` beside `net.engine`, where readers of the set find it."""
    from trex_tui.artifacts.discover import COMPARISON_ENDING
    from trex_tui.artifacts.stems import OUTPUT_DIFF, engine_stem

    stem = engine_stem(test) or test.stem
    return test.parent / f"{stem}{COMPARISON_ENDING}" / OUTPUT_DIFF
