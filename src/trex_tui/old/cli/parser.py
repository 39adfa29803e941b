"""Parser of the whole command line. Shell completion is generated from it too."""

from __future__ import annotations

import argparse

from trex_tui._version import __version__
from trex_tui.old.cli import engine_parsers, trtexec_parsers
from trex_tui.old.cli.command_parser import GLOBAL_OPTIONS, CommandParser
from trex_tui.old.cli.options import add_engine_globals, add_globals

TYPE_CHECKING = False  # as in typing, which takes as long to import as the rest of this package for --help
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_EXAMPLES = """\
`trex-tui COMMAND --help` shows the options of a command. A first argument that
is not a command is a path; write ./summary for a directory of that name.

examples:
  trex-tui results/alexnet               explore an engine, or choose one
  trex-tui                               explore the current directory
  trex-tui summary results/alexnet
  trex-tui summary --json results/ | jq .
  trex-tui layers results/alexnet --sort latency_ms --top 10
  trex-tui layers results/alexnet --format csv -o layers.csv
  trex-tui lint results/alexnet --fail-on warning
  trex-tui diff fp16/ int8/ --fail-on 'latency_p99_ms > +5%'
  trex-tui report fp16/ int8/ -o precisions.html
  trex-tui explain p99
"""
_COMMANDS = {
    "open": engine_parsers.add_open,
    "demo": engine_parsers.add_demo,
    "serve": engine_parsers.add_serve,
    "summary": engine_parsers.add_summary,
    "layers": engine_parsers.add_layers,
    "lint": engine_parsers.add_lint,
    "diff": engine_parsers.add_diff,
    "report": engine_parsers.add_report,
    "engines": engine_parsers.add_engines,
    "history": engine_parsers.add_history,
    "scaling": engine_parsers.add_scaling,
    "times": engine_parsers.add_times,
    "export": engine_parsers.add_export,
    "explain": engine_parsers.add_explain,
    "capture": trtexec_parsers.add_capture,
    "doctor": trtexec_parsers.add_doctor,
    "mcp": engine_parsers.add_mcp,
    "keys": engine_parsers.add_keys,
    "schema": engine_parsers.add_schema,
    "build-log": engine_parsers.add_build_log,
    "metadata": engine_parsers.add_metadata,
    "accuracy": trtexec_parsers.add_accuracy,
}
"""In the order of the list in the help."""
_SHELLS = ("bash", "zsh", "tcsh")


class _PrintCompletion(argparse.Action):
    """Print the completion script of the whole parser, and exit."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,  # noqa: ARG002 - argparse's signature
        values: str | Sequence[Any] | None,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        import shtab

        print(shtab.complete(parser, str(values)))  # noqa: T201 - this is the result
        parser.exit()


def build_parser(command: str | None = None) -> argparse.ArgumentParser:
    """Return the parser; shell completion is generated from it.

    Args:
        command: The only command to include; None for all.
    """
    parser = CommandParser(
        prog="trex-tui",
        usage="trex-tui [OPTION ...] [COMMAND] [PATH ...]",
        description="Explore TensorRT engines from the files that trtexec writes.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("-V", "--version", action="version", version=f"trex-tui {__version__}")
    parser.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        choices=_SHELLS,
        help="print the completion script of a shell and exit",
    )
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", prog="trex-tui", required=True
    )
    for add in _COMMANDS.values() if command is None else (_COMMANDS[command],):
        add(commands)
    add_globals(parser.add_argument_group(GLOBAL_OPTIONS, "of every command"))
    add_engine_globals(parser.add_argument_group("engine options", "of every command that reads engines"))
    return parser
