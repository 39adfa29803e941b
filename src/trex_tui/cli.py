"""The command line: arguments in, one call, exit code out.

Nothing is imported here before it is needed: `trex-tui --version` costs the interpreter and this file.
Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from trex_tui._version import __version__

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from trex_tui.engine.engine import Engine
    from trex_tui.errors import Diagnostic

_OK, _BAD_INPUT, _INTERRUPTED = 0, 2, 130  # ExitCode, without the cost of importing enum for --version

_EXAMPLES = """\
examples:
  trex-tui results/alexnet                          explore one engine, or choose from several
  trex-tui                                          the same for the current directory
  trex-tui summary results/alexnet                  what it is and where the time goes
  trex-tui summary --json results/ | jq .           the same of every engine below, for a script
  trex-tui layers results/alexnet --sort latency_ms --top 10
  trex-tui layers results/alexnet --columns name,kind,latency_ms,roof_pct,bound --format csv > layers.csv
  trex-tui explain roof_pct                         what a column means and where it comes from

A first argument that is no command is a path; write ./summary for a directory of that name.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (`errors.ExitCode`)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments == ["--version"]:
        print(f"trex-tui {__version__}")  # noqa: T201 - this is the result
        return _OK
    from trex_tui.errors import TrexError

    _prepare_streams()
    try:
        return _run(arguments)
    except TrexError as error:
        _complain(f"error: {error}")
        return int(error.exit_code)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _abandon_stdout()  # The reader (head, less) has left.
        return _OK
    except OSError as error:
        _abandon_stdout()
        _complain(f"error: cannot write the result: {error.strerror or error}")
        return _BAD_INPUT


def _prepare_streams() -> None:
    """Write what a stream's encoding lacks as `\\uXXXX`, and nothing where a stream is closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115 - pathlib is not loaded; open to the end
        elif getattr(stream, "errors", None) == "strict":
            stream.reconfigure(errors="backslashreplace")


def _abandon_stdout() -> None:
    """Have the interpreter flush what is left at its exit to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: list[str]) -> int:
    try:
        options = build_parser().parse_args(_with_command(arguments))
        return _COMMANDS[options.command](options)
    finally:
        sys.stdout.flush()


def _with_command(arguments: list[str]) -> list[str]:
    """Insert the command `open` where the first argument is no command: a path, or nothing at all."""
    first = arguments[0] if arguments else ""
    if first in _COMMANDS or first in ("-h", "--help", "--print-completion"):
        return arguments
    if first.startswith("--print-completion="):
        return arguments
    return ["open", *arguments]


def build_parser() -> argparse.ArgumentParser:
    """The parser; shell completion is generated from it."""
    import argparse

    import shtab

    parser = argparse.ArgumentParser(
        prog="trex-tui",
        description="Explore TensorRT engines from the files that trtexec writes.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"trex-tui {__version__}")
    shtab.add_argument_to(
        parser, ["--print-completion"], help="print the completion script of a shell and exit"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    explore = commands.add_parser("open", help="explore in the terminal (the default)")
    _add_paths(explore)

    summary = commands.add_parser("summary", help="what each engine is and where its time goes")
    _add_paths(summary)
    summary.add_argument(
        "--json", action="store_true", help="print one JSON object (schema trex-tui/summary/1)"
    )

    layers = commands.add_parser("layers", help="the layers of one engine as a table")
    _add_paths(layers)
    layers.add_argument(
        "--sort", metavar="COLUMN", help="numbers from the largest, text from A; without: execution order"
    )
    layers.add_argument("--reverse", action="store_true", help="the other way round")
    layers.add_argument("--top", type=_count, metavar="N", help="only the first N")
    layers.add_argument("--columns", metavar="A,B,C", help="which columns, and in what order")
    layers.add_argument(
        "--format", choices=("table", "csv", "json", "md"), default="table", help="default: table"
    )

    explain = commands.add_parser("explain", help="what a column means: definition, unit, formula, source")
    explain.add_argument("columns", nargs="*", metavar="COLUMN", help="without: a line about each")
    explain.add_argument(
        "--json", action="store_true", help="print one JSON object (schema trex-tui/explain/1)"
    )
    return parser


def _add_paths(parser: argparse.ArgumentParser) -> None:
    import shtab

    action = parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="directory or file; default: the current directory"
    )
    action.complete = shtab.FILE  # type: ignore[attr-defined]
    parser.add_argument(
        "--optimization-profile",
        type=_count,
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


def _count(text: str) -> int:
    import argparse

    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"not a count: {text!r}")
    return int(text)


def _paths(options: argparse.Namespace) -> list[str]:
    return options.paths or ["."]


def _open(options: argparse.Namespace) -> int:
    from trex_tui.terminal import can_draw, prepare_environment

    if not can_draw(os.environ, is_terminal=sys.stdin.isatty() and sys.stderr.isatty()):
        from trex_tui.errors import TrexError

        asked = " ".join(_paths(options))
        raise TrexError(f"no terminal to draw in; `trex-tui summary {asked}` tells the same without one")
    prepare_environment(os.environ)
    from trex_tui.app import run_app
    from trex_tui.loading import LoadOptions

    return run_app(_paths(options), LoadOptions.of(options.optimization_profile, options.peak))


def _summary(options: argparse.Namespace) -> int:
    from functools import partial

    from trex_tui.reports.summary import print_summary, summary_document

    engines, strays = _load_all(options)
    if options.json:
        _print_json(summary_document(engines, strays))
        return _OK
    for engine in engines:
        _print_text(partial(print_summary, engine))
    for diagnostic in strays:
        _complain(f"{diagnostic.severity.value}: {diagnostic}")
    return _OK


def _load_all(options: argparse.Namespace) -> tuple[list[Engine], list[Diagnostic]]:
    """Every engine that can be loaded; one that cannot costs only itself, unless it is the only one."""
    from trex_tui.artifacts import scan
    from trex_tui.errors import ArtifactError
    from trex_tui.loading import LoadOptions, load

    wanted = LoadOptions.of(options.optimization_profile, options.peak)
    found = scan(_paths(options))
    engines, strays = [], list(found.diagnostics)
    for source in found.sets:
        try:
            engines.append(load(source, wanted))
        except ArtifactError as error:
            if len(found.sets) == 1:
                raise
            strays.append(error.diagnostic)
    if not engines:
        raise ArtifactError(strays[-1].file or found.sets[0].directory, strays[-1].message, strays[-1].where)
    return engines, strays


def _layers(options: argparse.Namespace) -> int:
    from functools import partial

    from trex_tui.analysis.columns import ALL_COLUMNS
    from trex_tui.errors import TrexError
    from trex_tui.reports import layers as report

    brief = options.format in ("table", "md")
    names = [name.strip() for name in options.columns.split(",")] if options.columns else None
    columns = report.columns_named(
        names or (report.BRIEF_COLUMNS if brief else [c.name for c in ALL_COLUMNS])
    )
    sort = report.columns_named([options.sort])[0] if options.sort else None
    engines, strays = _load_all(options)
    if len(engines) > 1:
        known = ", ".join(engine.name for engine in engines)
        raise TrexError(f"{len(engines)} engines are there ({known}); name the path of one")
    (engine,) = engines
    for diagnostic in (*engine.diagnostics, *strays):
        _complain(f"{diagnostic.severity.value}: {diagnostic}")
    layers = report.sorted_layers(engine, sort, reverse=options.reverse)[: options.top]
    if options.format == "json":
        _print_json(report.layers_document(engine, layers, columns))
    elif options.format == "csv":
        sys.stdout.write(report.layers_csv(engine, layers, columns))
    elif options.format == "md":
        sys.stdout.write(report.layers_markdown(engine, layers, columns))
    else:
        _print_text(partial(report.print_layers, engine, layers, columns))
    return _OK


def _explain(options: argparse.Namespace) -> int:
    from trex_tui.analysis.columns import ALL_COLUMNS
    from trex_tui.reports import explain as report
    from trex_tui.reports.layers import columns_named

    columns = columns_named(options.columns) if options.columns else ALL_COLUMNS
    if options.json:
        _print_json(report.explain_document(columns))
    elif options.columns:
        print("\n\n".join(map(report.explain_column, columns)))  # noqa: T201 - this is the result
    else:
        print(report.columns_overview(columns))  # noqa: T201 - this is the result
    return _OK


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "open": _open,
    "summary": _summary,
    "layers": _layers,
    "explain": _explain,
}


def _print_text(draw: Callable[[Console], None]) -> None:
    """Print with Rich. In a pipe nothing is cut to a width that no one looks at, nor padded to it."""
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False, soft_wrap=False)
    if console.is_terminal:
        draw(console)
        return
    console.width = 1_000_000
    with console.capture() as captured:
        draw(console)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _print_json(document: object) -> None:
    import json

    json.dump(document, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def _complain(message: str) -> None:
    from trex_tui.text import printable

    sys.stderr.write(f"trex-tui: {printable(message)}\n")


if __name__ == "__main__":
    sys.exit(main())
