"""`open`: explore engines in the terminal."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trex_tui.cli.options import CommandParser, add_paths
from trex_tui.errors import TrexError

if TYPE_CHECKING:
    from trex_tui.app import FindEngines
    from trex_tui.cli.loading import Loader

HELP = "Explore engines in the terminal (the default)"
ARGUMENTS = "[PATH ...]"
EPILOG = """\
`?` shows the keys, `:` finds every command.

examples:
  trex-tui results/alexnet
  trex-tui fp16/ int8/
  trex-tui open ./summary            a directory with the name of a command
"""


def add_arguments(parser: CommandParser) -> None:
    add_paths(parser)


def run(options: argparse.Namespace) -> int:
    paths = options.paths or ["."]
    missing = next((path for path in paths if not os.path.lexists(path)), None)
    if missing is not None:
        raise TrexError(f"{missing}: no such file or directory; check the path")
    if not (sys.stdin.isatty() and sys.stderr.isatty()) or os.environ.get("TERM", "") in (
        "",
        "dumb",
        "unknown",
    ):
        raise TrexError(f"not a terminal; use `trex-tui summary {' '.join(paths)}` instead")
    from trex_tui.config import config_path, state_path
    from trex_tui.screens.settings import Settings, choose_theme

    # What a person did before a crash is hard to repeat: its traceback is always kept.
    os.environ.setdefault("TREX_TUI_LOG", str(state_path("trex-tui.log")))
    theme = choose_theme(os.environ, Settings(config_path("settings.json")).get("theme"))
    os.environ.pop("TEXTUAL_THEME", None)
    if theme.startswith("ansi-"):
        # Before Textual is imported: with NO_COLOR it decides at once whether to remove colors or to turn them into greys.
        os.environ["TEXTUAL_THEME"] = theme
    from trex_tui.app import run_app

    return run_app(paths, finder(options), theme)


def finder(options: argparse.Namespace) -> FindEngines:
    """Return the function that finds the engines at paths, as the options say."""

    def find(paths: Sequence[str], optimization_profile: int | None = None) -> Loader:
        from trex_tui.cli.loading import Loader  # imports pandas: in the thread that reads

        changes: dict[str, object] = {"paths": list(paths)}
        if optimization_profile is not None:
            changes["optimization_profile"] = optimization_profile
        return Loader(argparse.Namespace(**{**vars(options), **changes}))

    return find
