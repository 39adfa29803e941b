"""`trex-tui accuracy`: compare the outputs of an engine with those of another, or of its ONNX model."""

from __future__ import annotations

import os
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.accuracy.comparison import AccuracyRequest, AccuracyRun, is_onnx, run_comparison
from trex_tui.old.accuracy.metrics import GATE_METRICS
from trex_tui.old.accuracy.sides import InterruptedRunError, RunOptions, TrtexecFailedError
from trex_tui.old.analysis.gates import Gate, parse_gate
from trex_tui.old.artifacts.discover import COMPARISON_ENDING
from trex_tui.old.artifacts.file_kinds import engine_stem
from trex_tui.old.artifacts.output_files import Inputs
from trex_tui.old.capture.options import check_readable
from trex_tui.old.capture.plan import flag_name
from trex_tui.old.capture.process import stop_on_signals
from trex_tui.old.capture.trtexec import find_trtexec
from trex_tui.old.cli.output import complain, write_message
from trex_tui.old.cli.result_writer import ResultWriter
from trex_tui.old.engine.dtypes import DataType, parse_data_type
from trex_tui.old.errors import ExitCode, TrexError
from trex_tui.old.text import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

HEARTBEAT_S = 10.0
"""Interval of progress lines in a pipe."""
_OURS = frozenset(
    (
        *("--loadEngine", "--loadInputs", "--exportOutput", "--exportLayerInfo", "--shapes", "--iterations"),
        *("--warmUp", "--duration", "--noDataTransfers", "--skipInference", "--onnx", "--saveEngine"),
    )
)


def run_accuracy(options: argparse.Namespace) -> int:
    """Compare and print; the exit code shows whether a gate failed.

    Raises:
        TrexError: Files or options are invalid, the two cannot be compared, or trtexec fails.
    """
    writer = ResultWriter(options)
    writer.check(Inputs(filter(None, (options.ref, options.onnx, options.test))))
    request = build_request(options)
    further = against_model(options, request)
    needs_trtexec = not (is_onnx(request.reference) and is_onnx(request.test))
    if needs_trtexec and os.name != "posix":
        raise TrexError("trtexec runs on Linux only; elsewhere compare two ONNX models")
    trtexec = find_trtexec(options.trtexec) if needs_trtexec else None
    view = AccuracyView()
    try:
        with stop_on_signals() as stop:
            result = run_comparison(request, trtexec, stop, view.step)
            others = {
                name: run_comparison(against, trtexec, stop, view.step) for name, against in further.items()
            }
    except InterruptedRunError:
        view.clear()
        complain("interrupted; no files were kept")
        return int(ExitCode.INTERRUPTED)
    except TrtexecFailedError as error:
        view.clear()
        for line in error.last:
            write_message(f"  {printable(line)}\n")
        raise
    finally:
        view.clear()
    _write(result, others, request, writer)
    fallen = [gate for gate in result.gates if gate.fell]
    for failure in fallen:
        complain(f"gate failed: {failure.gate.text}: {failure.subject}: {failure.why}")
    return int(ExitCode.FINDINGS if fallen else ExitCode.OK)


def build_request(options: argparse.Namespace) -> AccuracyRequest:
    """Return the comparison that the options request.

    Raises:
        TrexError: A file is missing, or an option is invalid.
    """
    if not (options.ref or options.onnx):
        raise TrexError("--test needs a reference; add --ref FILE or --onnx FILE")
    reference = check_readable("--ref", options.ref) if options.ref else _model(options.onnx)
    test = check_readable("--test", options.test)
    for argument in options.trtexec_arguments:
        if flag_name(argument) in _OURS:
            raise TrexError(f"{flag_name(argument)} after --: accuracy sets this option; remove it")
    tolerance = None
    if options.rtol is not None or options.atol is not None:
        tolerance = (options.rtol or 0.0, options.atol or 0.0)
    run = RunOptions(
        shapes=dict(options.input_shape),
        types={name: _type(kind) for name, kind in options.input_type},
        profile_index=options.profile_index,
        device=options.device,
        plugins=tuple(options.plugin),
        passthrough=tuple(options.trtexec_arguments),
        timeout_s=options.timeout,
    )
    gates = [
        parse_gate(given, GATE_METRICS) if isinstance(given, str) else Gate(*given)
        for given in options.fail_on
    ]
    return AccuracyRequest(
        reference=reference,
        test=test,
        run=run,
        samples=options.inputs,
        seed=options.seed,
        load_inputs=tuple(options.load_inputs),
        ranges=dict(options.range),
        outputs=tuple(options.tensor),
        argmax_axis=options.argmax_axis,
        tolerance=tolerance,
        gates=tuple(gates),
        outdir=None if options.no_save else Path(options.outdir or default_outdir(test)),
        force=options.force,
    )


def against_model(options: argparse.Namespace, request: AccuracyRequest) -> dict[str, AccuracyRequest]:
    """With `--ref` and `--onnx`: compare both engines with the model, on the same inputs and without gates.

    Raises:
        TrexError: The file is not an ONNX model.
    """
    if not (options.ref and options.onnx):
        return {}
    model = _model(options.onnx)
    return {
        name: replace(
            request,
            reference=model,
            test=engine,
            tolerance=None,
            gates=(),
            outdir=request.outdir and request.outdir / f"{name}-against-onnx",
        )
        for name, engine in (("ref", request.reference), ("test", request.test))
    }


def _model(text: str) -> Path:
    path = check_readable("--onnx", text)
    if not is_onnx(path):
        raise TrexError(f"--onnx: {path} does not end in .onnx")
    return path


def default_outdir(test: Path) -> Path:
    """Return `net.accuracy` next to `net.engine`, where readers of the set find it."""
    stem = test.stem if is_onnx(test) else engine_stem(test) or test.stem
    return test.parent / f"{stem}{COMPARISON_ENDING}"


def _type(text: str) -> DataType:
    dtype = parse_data_type(text)
    if dtype is None:
        raise TrexError(
            f"--input-type: unknown type {text!r}; choose one of {', '.join(known.value for known in DataType)}"
        )
    return dtype


def _write(
    result: AccuracyRun, others: Mapping[str, AccuracyRun], request: AccuracyRequest, writer: ResultWriter
) -> None:
    from functools import partial

    if writer.format == "json":
        against = {name: other.difference for name, other in others.items()}
        writer.write_json({**result.difference, **({"against_onnx": against} if against else {})})
    else:
        from trex_tui.old.artifacts.accuracy import parse_accuracy
        from trex_tui.old.report.render_markdown import comment_markdown
        from trex_tui.old.report.render_text import print_sections
        from trex_tui.old.report.views.accuracy import accuracy_sections

        sections = [
            section
            for run in (result, *others.values())
            for section in accuracy_sections(parse_accuracy(run.difference, request.test))
        ]
        if writer.format == "md":
            writer.write(comment_markdown("accuracy", sections))
        else:
            writer.draw(partial(print_sections, sections))
    if request.outdir is not None:
        complain(f"kept in {request.outdir}")


class AccuracyView:
    """Shows the progress on stderr: one changing line on a terminal, occasional lines in a pipe."""

    def __init__(self) -> None:
        self.live = sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
        self.told_s = -HEARTBEAT_S
        self.shown = False

    def step(self, text: str, done: int, total: int) -> None:
        text = printable(text)
        if self.live:
            width = shutil.get_terminal_size().columns
            sys.stderr.write(f"\r\x1b[K{f'[{done}/{total}] {text}'[: width - 1]}")
            sys.stderr.flush()
            self.shown = True
        elif (now := time.monotonic()) - self.told_s >= HEARTBEAT_S:
            self.told_s = now
            complain(text)

    def clear(self) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self.shown = False
