"""`precision-risk`: the nodes of an ONNX model that overflow or lose accuracy in FP16."""

from __future__ import annotations

import argparse

from trex_tui.cli.options import (
    CommandParser,
    add_inputs,
    add_paths,
    add_result,
    add_top,
)
from trex_tui.cli.results import Progress, Result
from trex_tui.errors import TrexError

HELP = "Find what makes an ONNX model inaccurate in FP16"
ARGUMENTS = "--onnx MODEL [PATH]"
EPILOG = """\
Runs the model in FP32 on the CPU, node by node (extra accuracy): magnitudes,
values beyond 65,504, and the error of each node when its inputs and weights
are rounded to FP16 and to BF16. Lists nodes that overflow or change by more
than 1 %, and the options that keep them in FP32. Real inputs show more than
random ones. With PATH, the layer of the engine that runs each node.

examples:
  trex-tui precision-risk --onnx net.onnx
  trex-tui precision-risk --onnx net.onnx --load-inputs samples/ --samples 8
  trex-tui precision-risk --onnx net.onnx results/net
  trex-tui precision-risk --onnx net.onnx --shapes input:4x3x224x224 -o risk.csv
"""


def add_arguments(parser: CommandParser) -> None:
    add_paths(parser, "no engine")
    add_inputs(parser)
    add_top(parser, 20)
    add_result(parser, ("text", "json", "csv", "md", "html"), schema="precision-risk/1")


def run(options: argparse.Namespace) -> int:
    from trex_tui.accuracy.precision_risk import join_layers, measure_risk
    from trex_tui.artifacts.write import Inputs
    from trex_tui.capture.options import parse_shapes
    from trex_tui.cli.loading import Loader, read_model_path
    from trex_tui.report.views.precision_risk import precision_risk_document

    result = Result(options)
    path = read_model_path(options.onnx)
    if path is None:
        raise TrexError("the model is missing; add --onnx MODEL")
    loader = Loader(options) if options.paths else None
    engine = loader.load_one() if loader else None
    risk = measure_risk(
        path,
        parse_shapes(options.shapes, "--shapes") if options.shapes else {},
        options.load_inputs,
        options.samples,
        options.seed,
        dict(options.range),
        Progress(),
    )
    if engine is not None:
        risk = join_layers(risk, engine)
    document = precision_risk_document(risk, engine, options.top)
    return result.write(document, loader.inputs() if loader else Inputs([path]))
