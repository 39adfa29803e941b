"""`demo`: explore the samples of the package, or of the clone."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trex_tui.cli.options import CommandParser
from trex_tui.errors import ExitCode, TrexError

HELP = "Explore real samples: no files, no GPU and no clone needed"
ARGUMENTS = ""
EPILOG = """\
The samples are files of real runs: `alexnet` and `resnet18` in FP16 on a
laptop, `resnet-a100` in FP16 and INT8 (`qat`, `qat-residual`), a build log, an
engine with layer names only, and `damaged` files. README.md there has their
origins.

examples:
  trex-tui demo
  trex-tui demo --path
"""


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument(
        "--path", action="store_true", help="print the directory of the samples, for other commands"
    )


def run(options: argparse.Namespace) -> int:
    samples = find_samples()
    if options.path:
        sys.stdout.write(f"{samples}\n")
        return ExitCode.OK
    from trex_tui.cli import explore, main

    return explore.run(main.make_parser("open").parse([str(samples)]))


def find_samples() -> Path:
    """Return the samples of the package; of the clone if the package is installed in editable mode.

    Raises:
        TrexError: There are none.
    """
    package = Path(__file__).resolve().parents[1]
    for directory in (package / "samples", package.parents[1] / "sample_artifacts"):
        if directory.is_dir():
            return directory
    raise TrexError("this installation has no samples; install the wheel again")
