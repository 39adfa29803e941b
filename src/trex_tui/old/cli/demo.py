"""`trex-tui demo`: explore the samples of the package or of the clone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.errors import ExitCode, TrexError

if TYPE_CHECKING:
    import argparse


def run_demo(options: argparse.Namespace) -> int:
    """Open the samples in the explorer, or print their directory.

    Raises:
        TrexError: There are no samples, or there is no terminal.
    """
    samples = find_samples()
    if options.path:
        sys.stdout.write(f"{samples}\n")
        return int(ExitCode.OK)
    from trex_tui.old.cli.explore import run_open

    options.paths = [str(samples)]
    return run_open(options)


def find_samples() -> Path:
    """Return the samples of the package; of the clone if the package is installed in editable mode."""
    package = Path(__file__).resolve().parents[2]
    for directory in (package / "samples", package.parents[1] / "sample_artifacts"):
        if directory.is_dir():
            return directory
    raise TrexError("this installation has no samples; install the wheel again")
