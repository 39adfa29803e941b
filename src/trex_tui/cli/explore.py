"""`trex-tui open`: the explorer in this terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

from trex_tui.cli.signals import remove_unpacked
from trex_tui.errors import TrexError
from trex_tui.text import close_matches
from trex_tui.widgets.terminal import can_draw, prepare_environment

if TYPE_CHECKING:
    import argparse


def run_open(options: argparse.Namespace) -> NoReturn:
    """Explore, and end the process.

    Raises:
        TrexError: A path does not exist, or there is no terminal to draw in.
    """
    paths = options.paths or ["."]
    missing = next((path for path in paths if not os.path.lexists(path)), None)
    if missing is not None:
        raise TrexError(f"{missing}: does not exist{_similar_command(missing)}")
    if not can_draw(os.environ, is_terminal=sys.stdin.isatty() and sys.stderr.isatty()):
        raise TrexError(
            f"no terminal to draw in; `trex-tui summary {' '.join(paths)}` tells the same without one"
        )
    prepare_environment(os.environ)
    if options.ascii:
        os.environ["TREX_TUI_ASCII"] = "1"
    from trex_tui.analysis.load import LoadOptions
    from trex_tui.app import run_app

    _leave_at_once(run_app(paths, LoadOptions.of(options.optimization_profile, options.peak)))


def _similar_command(word: str) -> str:
    """The command that somebody may have meant, as the end of a sentence."""
    from trex_tui.cli import COMMANDS

    similar = close_matches(word, COMMANDS)
    return f"; did you mean the command {similar[0]}?" if similar else ""


def _leave_at_once(code: int) -> NoReturn:
    """End the process here: the terminal is a terminal again, and nothing is left to be written.

    The interpreter would take a second or two more to give back an engine of 20 000 layers object by object.
    """
    from contextlib import suppress

    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # a terminal that is gone must not change the exit code
            stream.flush()
    remove_unpacked()
    os._exit(code)
