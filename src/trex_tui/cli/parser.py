"""The options of every command. Shell completion is generated from this parser too."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import IO, Any

from trex_tui._version import __version__
from trex_tui.cli.argument_types import FILES, whole
from trex_tui.cli.build_log import add_build_log
from trex_tui.cli.capture_arguments import add_accuracy, add_capture, add_doctor
from trex_tui.cli.export_arguments import add_export
from trex_tui.cli.lint import add_lint
from trex_tui.cli.report_arguments import add_diff, add_report, add_times

_EXAMPLES = """\
examples:
  trex-tui results/alexnet                          explore one engine, or choose from several
  trex-tui                                          the same for the current directory
  trex-tui summary results/alexnet                  what it is and where the time goes
  trex-tui summary --json results/ | jq .           the same of every engine below, for a script
  trex-tui layers results/alexnet --sort latency_ms --top 10
  trex-tui layers results/alexnet --columns name,kind,latency_ms,roof_pct,bound --format csv > layers.csv
  trex-tui layers results/alexnet --chart roofline > roofline.svg
  trex-tui times results/alexnet --outdir timing/   statistics, series and charts of the timing run
  trex-tui diff fp16/ int8/ --fail-on 'latency_p99_ms > +5%'
  trex-tui report fp16/ int8/ -o precisions.html    all of it, compared, in one file to send around
  trex-tui explain roof_pct                         what a column means and where it comes from
  trex-tui keys                                     every key of the explorer
  trex-tui serve results/ --port 8000               the explorer in a browser

A first argument that is no command is a path; write ./summary for a directory of that name.
"""

FILTER_EXAMPLES = """\
examples of --filter:
  trex-tui layers results/alexnet --filter 'conv -reformat'
  trex-tui layers results/alexnet --filter 'kind:gemm,convolution latency_pct>2'
  trex-tui layers results/alexnet --filter '(precision:int8 or ms<10us) not kind:reformat'
  trex-tui layers results/alexnet --filter 'name~"features\\.[36].*conv" weights>=1Mi'

Bare words are parts of names; `trex-tui explain` lists the columns; ? in the explorer shows more of the language.
"""


CHART_IDS = (
    *(
        "layers",
        "pareto",
        "kind",
        "precision",
        "tactic",
        "products",
        "roofline",
        "efficiency",
        "memory",
        "icicle",
    ),
    *("histogram", "over-time", "percentiles"),
)
"""Those of `charts.catalogue`, which is not loaded for a parser."""

_SHELLS = ("bash", "zsh", "tcsh")


class _Parser(argparse.ArgumentParser):
    """Help is a result: argparse's own says nothing where it cannot be written."""

    def print_help(self, file: IO[str] | None = None) -> None:  # type: ignore[override]
        """Write the help.

        Raises:
            OSError: It cannot be written.
        """
        (file or sys.stdout).write(self.format_help())


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


def build_parser() -> argparse.ArgumentParser:
    """The parser; shell completion is generated from it."""
    parser: argparse.ArgumentParser = _Parser(
        prog="trex-tui",
        description="Explore TensorRT engines from the files that trtexec writes.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"trex-tui {__version__}")
    parser.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        choices=_SHELLS,
        help="print the completion script of a shell and exit",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    explore = commands.add_parser("open", help="explore in the terminal (the default)")
    _add_paths(explore)
    _add_ascii(explore)

    serve = commands.add_parser("serve", help="explore in a browser (pip install 'trex-tui[web]')")
    _add_paths(serve)
    _add_ascii(serve)
    serve.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="HOST",
        help="address to listen on; default: this machine alone",
    )
    serve.add_argument("--port", type=whole, default=8000, metavar="N", help="default: 8000")

    summary = commands.add_parser("summary", help="what each engine is and where its time goes")
    _add_paths(summary)
    summary.add_argument(
        "--json", action="store_true", help="print one JSON object (schema trex-tui/summary/1)"
    )

    _add_layers(commands)
    add_lint(commands, _add_paths)
    add_diff(commands, _add_paths)
    add_report(commands, _add_paths)
    add_times(commands, _add_paths)
    add_export(commands, _add_paths)

    explain = commands.add_parser("explain", help="what a column means: definition, unit, formula, source")
    explain.add_argument("columns", nargs="*", metavar="COLUMN", help="without: a line about each")
    explain.add_argument(
        "--json", action="store_true", help="print one JSON object (schema trex-tui/explain/1)"
    )

    add_capture(commands)
    add_doctor(commands)

    keys = commands.add_parser("keys", help="every key of the explorer")
    keys.add_argument("--format", choices=("text", "md", "json"), default="text", help="default: text")
    add_build_log(commands)
    add_accuracy(commands)
    for command in commands.choices.values():
        _add_log_file(command)
    return parser


def _add_layers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    layers = commands.add_parser(
        "layers",
        help="the layers of one engine as a table",
        epilog=FILTER_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_paths(layers)
    layers.add_argument(
        "--filter",
        metavar="EXPR",
        help="only the layers that match, as with / in the explorer; examples below",
    )
    layers.add_argument(
        "--sort", metavar="COLUMN", help="numbers from the largest, text from A; without: execution order"
    )
    layers.add_argument("--reverse", action="store_true", help="the other way round")
    layers.add_argument("--top", type=whole, metavar="N", help="only the first N")
    layers.add_argument("--columns", metavar="A,B,C", help="which columns, and in what order")
    layers.add_argument(
        "--format", choices=("table", "csv", "json", "md"), default="table", help="default: table"
    )
    layers.add_argument(
        "--chart",
        choices=("svg", *CHART_IDS),
        metavar="ID",
        help=f"print a chart of these layers as SVG instead: {', '.join(CHART_IDS)}; svg stands for layers",
    )


def _add_ascii(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ascii", action="store_true", help="draw with ASCII only; TREX_TUI_ASCII=1 does the same"
    )


def _add_log_file(parser: argparse.ArgumentParser) -> None:
    action = parser.add_argument(
        "--log-file",
        metavar="FILE",
        help="append what an error of ours leaves to FILE, a new file or one of these logs: the traceback, the command, "
        "versions, the terminal; TREX_TUI_LOG=FILE does the same",
    )
    action.complete = FILES  # type: ignore[attr-defined]


def _add_paths(parser: argparse.ArgumentParser) -> None:
    action = parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="directory or file; default: the current directory"
    )
    action.complete = FILES  # type: ignore[attr-defined]
    parser.add_argument(
        "--optimization-profile",
        type=whole,
        metavar="N",
        help="which of several optimization profiles; default: the profiled one",
    )
    parser.add_argument(
        "--peak",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="state a fact of the device for the roofline, instead of what the files tell: bandwidth=320 (GB/s), "
        "clock=1.2 (GHz), sms=30, fp16=40 (TFLOP/s); may be repeated. trex-tui.toml can hold them as well",
    )
