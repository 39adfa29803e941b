"""`dla`: what the DLA can run of an ONNX model."""

from __future__ import annotations

import argparse
from pathlib import Path

from trex_tui.cli.options import CommandParser, add_file, add_result
from trex_tui.cli.results import Result

HELP = "Find which nodes of an ONNX model the DLA can run"
ARGUMENTS = "--onnx MODEL"
EPILOG = """\
Applies the documented limits of the DLA (FP16, Orin) to the model (extra onnx):
subgraphs against the limit of 16 per core, tensors that cross to the GPU, and
for each operator that falls back how many subgraphs there were without it.
After a build, `trex-tui lint` and `build-log` show what the builder did.

examples:
  trex-tui dla --onnx net.onnx
  trex-tui dla --onnx net.onnx --shapes input:1x3x224x224 --json
"""


def add_arguments(parser: CommandParser) -> None:
    add_file(parser, "--onnx", metavar="MODEL", required=True, help="the ONNX model")
    parser.add_argument("--shapes", metavar="SPEC", default="", help="of dynamic inputs: input:1x3x224x224,…")
    add_result(parser, ("text", "json", "csv", "md", "html"), schema="dla/1", has_strict=False)


def run(options: argparse.Namespace) -> int:
    from trex_tui.analysis.dla_plan import plan_dla
    from trex_tui.artifacts.write import Inputs
    from trex_tui.capture.options import parse_shapes
    from trex_tui.report.views.dla_plan import dla_plan_document

    result = Result(options)
    path = Path(options.onnx).expanduser()
    shapes = parse_shapes(options.shapes, "--shapes") if options.shapes else {}
    return result.write(dla_plan_document(plan_dla(path, shapes)), Inputs([path]))
