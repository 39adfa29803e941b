"""The command line: arguments in, one call, exit code out.

Nothing is imported here before it is needed: `trex-tui --version` costs the interpreter and this file.
Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import errno
import os
import sys

from trex_tui._version import __version__
from trex_tui.cli.output import complain, print_json, print_text

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Sequence
    from typing import Any

    from trex_tui.engine.engine import Engine

_OK, _BAD_INPUT, _INTERRUPTED = 0, 2, 130  # ExitCode, without the cost of importing enum for --version


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (`errors.ExitCode`)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        _prepare_streams()
        if arguments == ["--version"]:
            print(f"trex-tui {__version__}", flush=True)  # noqa: T201 - this is the result
            return _OK
        return _guarded(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _abandon_stdout()  # The reader (head, less) has left.
        return _OK
    except OSError as error:
        if os.environ.get("TREX_TUI_LOG"):
            from trex_tui.crash_log import note

            note(error)
        _abandon_stdout()
        complain(f"error: {_what_failed(error)}: {_why(error)}")
        return _BAD_INPUT


def _guarded(arguments: list[str]) -> int:
    """Run one command; what a person can act on becomes a line."""
    from trex_tui.errors import TrexError

    try:
        return _run(arguments)
    except TrexError as error:
        complain(f"error: {error}")
        return int(error.exit_code)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - nobody expected it, and nobody wants a traceback on the terminal
        from trex_tui.crash_log import report

        return report(error)


def _what_failed(error: OSError) -> str:
    """An error of a stream names no file; that the current directory is gone neither."""
    if error.filename:
        return str(error.filename)
    return "the current directory" if isinstance(error, FileNotFoundError) else "cannot write the result"


def _why(error: OSError) -> str:
    is_closed = error.errno == errno.EBADF and not error.filename
    return "stdout is closed" if is_closed else str(error.strerror or error)


def _prepare_streams() -> None:
    """Characters that a stream's encoding lacks become escapes. A closed stdin gives nothing, a closed stderr takes
    everything; what is written to a closed stdout is lost, and flushing it fails."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: PTH123, SIM115
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: PTH123, SIM115 - nobody can write to it
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - pathlib is not loaded; open to the end
    streams: tuple[Any, ...] = (sys.stdout, sys.stderr)
    for stream in streams:
        if getattr(stream, "errors", None) == "strict":
            stream.reconfigure(errors="backslashreplace")


def _abandon_stdout() -> None:
    """Have the interpreter flush what is left at its exit to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: list[str]) -> int:
    from trex_tui.cli.parser import build_parser

    try:
        options = build_parser().parse_args(_with_command(arguments))
        if options.log_file is not None:
            from trex_tui.crash_log import use_log

            use_log(options.log_file)
        from trex_tui.cli.signals import until_signalled

        return until_signalled(lambda: _COMMANDS[options.command](options))
    finally:
        sys.stdout.flush()


def _with_command(arguments: list[str]) -> list[str]:
    """Insert the command `open` where the first argument is no command: a path, or nothing at all."""
    arguments = _with_joined_filter(arguments)
    first = arguments[0] if arguments else ""
    if first in _COMMANDS or first in ("-h", "--help", "--print-completion"):
        return arguments
    if first.startswith("--print-completion="):
        return arguments
    return ["open", *arguments]


_FILTERS = ("--filter", "--query", "--highlight")


def _with_joined_filter(arguments: list[str]) -> list[str]:
    """Write `--filter -word` as `--filter=-word`: argparse would take the word for an option."""
    joined: list[str] = []
    for argument in arguments:
        is_word = argument.startswith("-") and not argument.startswith("--")
        if is_word and joined and joined[-1] in _FILTERS:
            joined[-1] = f"{joined[-1]}={argument}"
        else:
            joined.append(argument)
    return joined


def _paths(options: argparse.Namespace) -> list[str]:
    return options.paths or ["."]


def _open(options: argparse.Namespace) -> int:
    from trex_tui.errors import TrexError
    from trex_tui.widgets.terminal import can_draw, prepare_environment

    missing = next((path for path in _paths(options) if not os.path.lexists(path)), None)
    if missing is not None:
        raise TrexError(f"{missing}: does not exist{_meant(missing)}")
    if not can_draw(os.environ, is_terminal=sys.stdin.isatty() and sys.stderr.isatty()):
        asked = " ".join(_paths(options))
        raise TrexError(f"no terminal to draw in; `trex-tui summary {asked}` tells the same without one")
    prepare_environment(os.environ)
    if options.ascii:
        os.environ["TREX_TUI_ASCII"] = "1"
    from trex_tui.analysis.load import LoadOptions
    from trex_tui.app import run_app

    return _leave_at_once(
        run_app(_paths(options), LoadOptions.of(options.optimization_profile, options.peak))
    )


def _meant(word: str) -> str:
    """The command that somebody may have meant, as the end of a sentence."""
    from trex_tui.text import close_matches

    similar = close_matches(word, _COMMANDS)
    return f"; did you mean the command {similar[0]}?" if similar else ""


def _leave_at_once(code: int) -> int:
    """End the process here: the terminal is a terminal again, and nothing is left to be written.

    The interpreter would take a second or two more to give back an engine of 20 000 layers object by object.
    """
    from contextlib import suppress

    from trex_tui.cli.signals import remove_unpacked

    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # a terminal that is gone must not change the exit code
            stream.flush()
    remove_unpacked()
    os._exit(code)


def _summary(options: argparse.Namespace) -> int:
    from functools import partial

    from trex_tui.cli.engines import load_all
    from trex_tui.report.views.engine import print_summary, summary_document

    engines, strays = load_all(options)
    if options.json:
        print_json(summary_document(engines, strays))
        return _OK
    for engine in engines:
        print_text(partial(print_summary, engine))
    for diagnostic in strays:
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    return _OK


def _layers(options: argparse.Namespace) -> int:
    from functools import partial

    from trex_tui.analysis.columns import ALL_COLUMNS
    from trex_tui.cli.engines import load_one
    from trex_tui.report.views import layers as report

    brief = options.format in ("table", "md")
    names = [name.strip() for name in options.columns.split(",")] if options.columns else None
    columns = report.columns_named(
        names or (report.BRIEF_COLUMNS if brief else [c.name for c in ALL_COLUMNS])
    )
    sort = report.columns_named([options.sort])[0] if options.sort else None
    engine, strays = load_one(options)
    chosen = _filtered(engine, options.filter) if options.filter else range(len(engine.layers))
    for diagnostic in (*engine.diagnostics, *strays):
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    ordered = report.sorted_layers(engine, sort, reverse=options.reverse)
    layers = [layer for layer in ordered if layer.index in chosen][: options.top]
    if options.chart:
        from trex_tui.cli.layers import print_chart

        print_chart(options, engine, layers)
    elif options.format == "json":
        print_json(report.layers_document(engine, layers, columns))
    elif options.format == "csv":
        sys.stdout.write(report.layers_csv(engine, layers, columns))
    elif options.format == "md":
        sys.stdout.write(report.layers_markdown(engine, layers, columns))
    else:
        print_text(partial(report.print_layers, engine, layers, columns))
    return _OK


def _filtered(engine: Engine, text: str) -> Collection[int]:
    """Indices of the layers that a filter lets through."""
    from trex_tui.analysis.filter import FilterError, filter_layers
    from trex_tui.errors import TrexError

    try:
        return {layer.index for layer in filter_layers(engine, text)}
    except FilterError as error:
        raise TrexError(f"--filter: {error.pointed}") from None


def _lint(options: argparse.Namespace) -> int:
    from trex_tui.cli.engines import load_all
    from trex_tui.cli.lint import run_lint

    return run_lint(options, load_all)


def _diff(options: argparse.Namespace) -> int:
    from trex_tui.cli.diff import run_diff
    from trex_tui.cli.engines import load_each

    engines, strays = load_each(options)
    for diagnostic in strays:
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    return run_diff(options, engines)


def _explain(options: argparse.Namespace) -> int:
    from trex_tui.analysis.columns import ALL_COLUMNS
    from trex_tui.report.views import explain as report
    from trex_tui.report.views.layers import columns_named

    columns = columns_named(options.columns) if options.columns else ALL_COLUMNS
    if options.json:
        print_json(report.explain_document(columns))
    elif options.columns:
        print("\n\n".join(map(report.explain_column, columns)))  # noqa: T201 - this is the result
    else:
        print(report.columns_overview(columns))  # noqa: T201 - this is the result
    return _OK


def _serve(options: argparse.Namespace) -> int:
    from trex_tui.artifacts import scan
    from trex_tui.cli.serve import Options, serve

    scan(_paths(options))  # What cannot be opened is told here, not in every browser.
    return serve(
        _paths(options),
        Options(options.host, options.port, options.optimization_profile, tuple(options.peak), options.ascii),
    )


def _capture(options: argparse.Namespace) -> int:
    from trex_tui.cli.capture import run_capture

    code, directory = run_capture(options)
    # Absolute: a relative path may look like an option.
    return code if directory is None else main(["open", str(directory.absolute())])


def _doctor(options: argparse.Namespace) -> int:
    from trex_tui.cli.doctor import run_doctor

    return run_doctor(options)


def _keys(options: argparse.Namespace) -> int:
    from trex_tui.cli import keys as report

    if options.format == "json":
        print_json(report.keys_document())
    else:
        sys.stdout.write(report.keys_markdown() if options.format == "md" else report.keys_text())
    return _OK


def _of(family: str, function: str) -> Callable[[argparse.Namespace], int]:
    """A command of a module in `commands`, which is imported when it runs."""

    def run(options: argparse.Namespace) -> int:
        from importlib import import_module

        return int(getattr(import_module(f"trex_tui.cli.{family}"), function)(options))

    return run


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "open": _open,
    "serve": _serve,
    "keys": _keys,
    "capture": _capture,
    "doctor": _doctor,
    "summary": _summary,
    "layers": _layers,
    "lint": _lint,
    "diff": _diff,
    "report": _of("report", "run_report"),
    "times": _of("times", "run_times"),
    "explain": _explain,
    "build-log": _of("build_log", "run_build_log"),
    "metadata": _of("build_log", "run_metadata"),
    "export": _of("export", "run_export"),
    "accuracy": _of("accuracy", "run_accuracy"),
}


if __name__ == "__main__":
    sys.exit(main())
