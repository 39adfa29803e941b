"""The command line: parse arguments, run one command, return its exit code.

Modules are imported only when needed: `trex-tui --version` costs the interpreter and this file.
Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import errno
import os
import sys

from trex_tui._version import __version__
from trex_tui.old.cli.output import abandon, complain, write_message

TYPE_CHECKING = False  # as in typing, which takes longer to import than this whole package

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any

_OK, _BAD_INPUT, _INTERRUPTED = 0, 2, 130  # ExitCode, without the cost of importing enum for --version


COMMANDS = {
    "open": "explore:run_open",
    "demo": "demo:run_demo",
    "serve": "explore:run_serve",
    "mcp": "mcp:run_mcp",
    "keys": "explore:run_keys",
    "schema": "schema:run_schema",
    "capture": "capture:run_capture",
    "doctor": "doctor:run_doctor",
    "summary": "layers:run_summary",
    "layers": "layers:run_layers",
    "lint": "lint:run_lint",
    "diff": "report:run_diff",
    "report": "report:run_report",
    "engines": "fleet:run_engines",
    "history": "history:run_history",
    "scaling": "scaling:run_scaling",
    "times": "times:run_times",
    "explain": "layers:run_explain",
    "build-log": "build_log:run_build_log",
    "metadata": "build_log:run_metadata",
    "export": "export:run_export",
    "accuracy": "accuracy:run_accuracy",
}
"""Name of a command -> module of this package and function, imported when the command runs."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (`errors.ExitCode`)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        _prepare_streams()
        is_word = arguments == ["version"] and not os.path.lexists("version")
        if is_word or arguments in (["--version"], ["-V"]):
            print(f"trex-tui {__version__}", flush=True)  # noqa: T201 - this is the result
            return _OK
        return _guarded(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        abandon(sys.stdout)  # The reader (head, less) has closed the pipe.
        return _OK
    except OSError as error:
        if os.environ.get("TREX_TUI_LOG"):
            from trex_tui.old.crash_log import note

            note(error)
        abandon(sys.stdout)
        complain(f"error: {_what_failed(error)}: {_why(error)}")
        return _BAD_INPUT
    finally:
        write_message("")  # the buffer: the interpreter would exit with 120 if stderr cannot be written


def run() -> int:
    """Run the program: `main`, then exit without a last search for garbage, which takes 20 ms."""
    try:
        return main()
    finally:
        import gc

        gc.freeze()


LIBRARIES = ("pandas", "numpy", "networkx")
"""Libraries that a small installation leaves out (docs/jetson.md)."""


def _guarded(arguments: list[str]) -> int:
    """Run one command; print expected errors in one line."""
    try:
        return _run(arguments)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - nobody wants a traceback on the terminal
        from trex_tui.old.errors import TrexError

        if isinstance(error, TrexError):
            complain(f"error: {error}")
            return int(error.exit_code)
        if isinstance(error, ModuleNotFoundError) and error.name in LIBRARIES:
            complain(f"error: {error.name} is not installed: pip install {error.name}")
            return _BAD_INPUT
        from trex_tui.old.crash_log import report

        return report(error)


def _what_failed(error: OSError) -> str:
    """Return the text of an error, with the stream or directory for errors without a file name."""
    if error.filename:
        return str(error.filename)
    return "the current directory" if isinstance(error, FileNotFoundError) else "cannot write the result"


def _why(error: OSError) -> str:
    is_closed = error.errno == errno.EBADF and not error.filename
    return "stdout is closed" if is_closed else str(error.strerror or error)


def _prepare_streams() -> None:
    """Escape characters that a stream's encoding lacks. Replace closed streams: stdin is empty, stderr discards all output,
    and output to stdout is lost, with an error on flush.
    """
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


def _run(arguments: list[str]) -> int:
    from trex_tui.old.cli.parser import build_parser

    try:
        words = _with_command(arguments)
        command = words[0] if words and words[0] in COMMANDS else None
        options = build_parser(command).parse_args(words)
        if options.ascii:
            os.environ["TREX_TUI_ASCII"] = "1"
        if options.log_file is not None:
            from trex_tui.old.crash_log import use_log

            use_log(options.log_file)
        from trex_tui.old.cli.signals import until_signalled

        return until_signalled(lambda: _run_command(options))
    finally:
        sys.stdout.flush()


def _with_command(arguments: list[str]) -> list[str]:
    """Insert the command `open` if the first argument is not a command but a path or missing.

    Raises:
        TrexError: The first argument is not a path, but looks like a command.
    """
    arguments = _with_separators(_with_joined_filter(arguments))
    count = _count_globals(arguments)
    globals_, rest = arguments[:count], arguments[count:]
    first = rest[0] if rest else ""
    if first in COMMANDS:
        asks_help = rest[1:] == ["help"] and not os.path.lexists("help")
        return [first, *globals_, *(["--help"] if asks_help else rest[1:])]
    if not arguments or first.partition("=")[0] not in _TOP_OPTIONS:
        if first and not first.startswith("-") and not os.path.lexists(first):
            if first == "help":
                return _ask_help(rest[1:])
            _check_command(first)
        return ["open", *arguments]
    return arguments


_TOP_OPTIONS = ("-h", "--help", "-V", "--version", "--print-completion")
_GLOBALS = {
    "--ascii": 1,
    "--no-onnx": 1,
    "--log-file": 2,
    "--optimization-profile": 2,
    "--run": 2,
    "--peak": 2,
    "--onnx": 2,
}
"""Global option -> number of arguments it takes, including itself."""


def _count_globals(arguments: list[str]) -> int:
    """Return the number of leading arguments that are global options and their values."""
    count = 0
    while count < len(arguments):
        name, equals, _ = arguments[count].partition("=")
        if name not in _GLOBALS:
            break
        count += 1 if equals else _GLOBALS[name]
    return count


def _ask_help(words: list[str]) -> list[str]:
    """Return the arguments that replace `help` or `help COMMAND`.

    Raises:
        TrexError: The command does not exist.
    """
    if words == ["help"]:
        return ["--help"]
    if words and words[0] not in COMMANDS:
        from trex_tui.old.errors import TrexError

        _check_command(words[0])
        raise TrexError(f"no command {words[0]!r}; `trex-tui --help` lists the commands")
    return [*words[:1], "--help"]


def _check_command(word: str) -> None:
    """Reject a word that is neither a path nor a command, if it looks like a command."""
    from trex_tui.old.errors import TrexError
    from trex_tui.old.text import close_matches

    if similar := close_matches(word, COMMANDS):
        raise TrexError(f"{word}: no such file or command; did you mean `trex-tui {similar[0]}`?")


_FILTERS = ("--filter", "--query", "--highlight")


def _with_joined_filter(arguments: list[str]) -> list[str]:
    """Replace `--filter -word` by `--filter=-word`: argparse would take the word for an option."""
    joined: list[str] = []
    for argument in arguments:
        is_word = argument.startswith("-") and not argument.startswith("--")
        if is_word and joined and joined[-1] in _FILTERS:
            joined[-1] = f"{joined[-1]}={argument}"
        else:
            joined.append(argument)
    return joined


RUNS_SEPARATOR = "\0--"
"""Replaces `--` among the paths of `--runs`; paths cannot have this name."""


def _with_separators(arguments: list[str]) -> list[str]:
    """Keep `--` between the engines of `diff --runs a1 a2 -- b1 b2`: argparse would end the options there."""
    if "--runs" not in arguments:
        return arguments
    return [RUNS_SEPARATOR if argument == "--" else argument for argument in arguments]


def _run_command(options: argparse.Namespace) -> int:
    module, _, function = COMMANDS[options.command].partition(":")
    return int(getattr(_import(f"trex_tui.old.cli.{module}"), function)(options))


def _import(name: str) -> ModuleType:
    """Import a module without searching its objects, which all stay, for garbage: that takes 5 ms."""
    import gc
    from importlib import import_module

    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return import_module(name)
    finally:
        if was_enabled:
            gc.freeze()
            gc.unfreeze()  # They are old objects now.
            gc.enable()


if __name__ == "__main__":
    sys.exit(main())
