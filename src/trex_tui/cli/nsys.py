"""`nsys`: why an application is slower than trtexec, from a trace of Nsight Systems."""

from __future__ import annotations

import argparse
from pathlib import Path

from trex_tui.cli.options import CommandParser, add_file, add_paths, add_result, add_top
from trex_tui.cli.results import Result

HELP = "Show where an application spends its time"
ARGUMENTS = "--trace FILE.sqlite [PATH]"
EPILOG = """\
Record and export the application first, without CUDA graphs, which hide the
layers:
  nsys profile -t cuda,nvtx -o app ./app
  nsys export --type sqlite app.nsys-rep

Shows per inference: GPU busy, idle within, between inferences, enqueue, copies;
and the kernels of each layer by TensorRT's NVTX ranges. With PATH, beside the
times that trtexec measured.

examples:
  trex-tui nsys --trace app.sqlite
  trex-tui nsys --trace app.sqlite results/net --json
"""


def add_arguments(parser: CommandParser) -> None:
    add_file(parser, "--trace", metavar="FILE", required=True, help="SQLite export of Nsight Systems")
    add_paths(parser, "no engine")
    add_top(parser, 20)
    add_result(parser, ("text", "json", "csv", "md", "html"), schema="nsys/1")


def run(options: argparse.Namespace) -> int:
    from trex_tui.analysis.nsys import read_application
    from trex_tui.artifacts.write import Inputs
    from trex_tui.cli.loading import Loader
    from trex_tui.report.views.nsys import nsys_document

    result = Result(options)
    path = Path(options.trace).expanduser()
    loader = Loader(options) if options.paths else None
    engine = loader.load_one() if loader else None
    application = read_application(path, engine)
    return result.write(
        nsys_document(application, engine, options.top), loader.inputs() if loader else Inputs([path])
    )
