"""The command line: arguments in, one call, exit code out.

Nothing is imported here before it is needed: `trex-tui --version` costs the interpreter and this file.
Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import errno
import os
import sys

from trex_tui._version import __version__
from trex_tui.cli.output import complain

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

_OK, _BAD_INPUT, _INTERRUPTED = 0, 2, 130  # ExitCode, without the cost of importing enum for --version


COMMANDS = {
    "open": "explore:run_open",
    "serve": "serve:run_serve",
    "keys": "keys:run_keys",
    "capture": "capture:run_capture",
    "doctor": "doctor:run_doctor",
    "summary": "layers:run_summary",
    "layers": "layers:run_layers",
    "lint": "lint:run_lint",
    "diff": "report:run_diff",
    "report": "report:run_report",
    "times": "times:run_times",
    "explain": "layers:run_explain",
    "build-log": "build_log:run_build_log",
    "metadata": "build_log:run_metadata",
    "export": "export:run_export",
    "accuracy": "accuracy:run_accuracy",
}
"""Name of a command -> module of this package and function. It is imported when it runs."""


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

        return until_signalled(lambda: _run_command(options))
    finally:
        sys.stdout.flush()


def _with_command(arguments: list[str]) -> list[str]:
    """Insert the command `open` where the first argument is no command: a path, or nothing at all."""
    arguments = _with_joined_filter(arguments)
    first = arguments[0] if arguments else ""
    if first in COMMANDS or first in ("-h", "--help", "--print-completion"):
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


def _run_command(options: argparse.Namespace) -> int:
    from importlib import import_module

    module, _, function = COMMANDS[options.command].partition(":")
    return int(getattr(import_module(f"trex_tui.cli.{module}"), function)(options))


if __name__ == "__main__":
    sys.exit(main())
