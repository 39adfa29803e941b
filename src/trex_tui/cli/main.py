"""The command line: find the command, parse its options, run it, return its exit code.

A command is a file beside this one with HELP, `add_arguments` and `run`, and a line in `COMMANDS`. Results go to stdout,
everything else to stderr. Libraries are imported by the commands that use them, so that `--help` does not wait for pandas.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from trex_tui._version import __version__
from trex_tui.cli.options import CommandParser, Words, add_global
from trex_tui.cli.results import abandon, complain, write_message
from trex_tui.errors import ExitCode, TrexError
from trex_tui.text import close_matches


class Command(NamedTuple):
    """A command.

    Attributes:
        group: Heading in the help.
        module: Its file.
    """

    group: str
    module: str


_EXPLORE, _ONE, _SEVERAL, _HOST, _TOOLS = "explore", "one engine", "several engines", "GPU host", "tools"
COMMANDS = {
    "open": Command(_EXPLORE, "explore"),
    "demo": Command(_EXPLORE, "demo"),
    "summary": Command(_ONE, "summary"),
    "layers": Command(_ONE, "layers"),
    "lint": Command(_ONE, "lint"),
    "times": Command(_ONE, "times"),
    "build-log": Command(_ONE, "build_log"),
    "export": Command(_ONE, "export"),
    "report": Command(_ONE, "report"),
    "diff": Command(_SEVERAL, "diff"),
    "engines": Command(_SEVERAL, "engines"),
    "memory": Command(_SEVERAL, "memory"),
    "accuracy": Command(_SEVERAL, "accuracy"),
    "nsys": Command(_ONE, "nsys"),
    "dla": Command(_ONE, "dla"),
    "precision-risk": Command(_ONE, "precision_risk"),
    "capture": Command(_HOST, "capture"),
    "doctor": Command(_HOST, "doctor"),
    "explain": Command(_TOOLS, "explain"),
    "mcp": Command(_TOOLS, "mcp"),
}
"""Every command, in the order of the help."""
SYNONYMS = {
    **dict.fromkeys(("compare", "cmp"), "diff"),
    **dict.fromkeys(("profile", "run", "build", "bench", "benchmark"), "capture"),
    **dict.fromkeys(("stats", "timing", "latency"), "times"),
    **dict.fromkeys(("view", "show", "explore"), "open"),
    **dict.fromkeys(("info", "overview"), "summary"),
    **dict.fromkeys(("list", "ls"), "engines"),
    **dict.fromkeys(("draw", "graph", "convert"), "export"),
    **dict.fromkeys(("check", "analyze"), "lint"),
}
"""Word that somebody may try -> the command that does it."""
_DESCRIPTION = "Explore TensorRT engines from the files that trtexec writes."
_EXAMPLES = """\
`trex-tui COMMAND --help` shows the options of a command. A first argument that
is not a command is a path; write ./summary for a directory of that name.

examples:
  trex-tui results/alexnet               explore an engine, or choose one
  trex-tui                               explore the current directory
  trex-tui demo                          explore real samples
  trex-tui summary results/alexnet
  trex-tui layers results/alexnet --sort ms -n 10
  trex-tui lint results/alexnet --fail-on warning
  trex-tui diff fp16/ int8/ --fail-on 'latency_p99_ms > +5%'
  trex-tui explain p99
"""
_SHELLS = Words(("bash", "zsh", "fish", "tcsh"))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (`errors.ExitCode`)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        _prepare_streams()
        return _run(arguments)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        abandon(sys.stdout)  # the reader (head, less) has closed the pipe
        return ExitCode.OK
    except OSError as error:
        abandon(sys.stdout)
        place = error.filename or (
            "the current directory" if isinstance(error, FileNotFoundError) else "cannot write the result"
        )
        is_closed = error.errno == errno.EBADF and not error.filename
        complain(f"error: {place}: {'stdout is closed' if is_closed else error.strerror or error}")
        return ExitCode.BAD_INPUT
    except TrexError as error:
        complain(f"error: {error}")
        return int(error.exit_code)
    except Exception as error:  # noqa: BLE001 - nobody wants a traceback on the terminal
        return _report_crash(error)
    finally:
        write_message("")  # the interpreter would exit with 120 if the rest of stderr cannot be written


def run() -> int:
    """Run the program: `main`, then exit without a last search for garbage, which takes 20 ms."""
    try:
        return main()
    finally:
        import gc

        gc.freeze()


def _prepare_streams() -> None:
    """Escape characters that a stream's encoding lacks; replace closed streams, so that a write to stdout is an error."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: PTH123, SIM115
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    streams: tuple[Any, ...] = (sys.stdout, sys.stderr)
    for stream in streams:
        if getattr(stream, "errors", None) == "strict":
            stream.reconfigure(errors="backslashreplace")


def _run(arguments: list[str]) -> int:
    try:
        if arguments in (["--version"], ["-V"]):
            sys.stdout.write(f"trex-tui {__version__}\n")
            return ExitCode.OK
        name, arguments = _find_command(arguments)
        if name is None:
            return _run_top(arguments)
        module = COMMANDS[name].module
        options = make_parser(name).parse(_join_values(arguments))
        if options.ascii:
            os.environ["TREX_TUI_ASCII"] = "1"
        if options.log_file:
            os.environ["TREX_TUI_LOG"] = options.log_file
        return _until_signalled(lambda: int(import_module(f"trex_tui.cli.{module}").run(options)))
    finally:
        sys.stdout.flush()


def _find_command(arguments: list[str]) -> tuple[str | None, list[str]]:
    """Return the command, None for the program itself, and the arguments after it.

    Raises:
        TrexError: The first word is neither a path nor a command, but looks like a command.
    """
    word, *rest = arguments or [""]
    if word in COMMANDS:
        return word, rest
    if word == "help" and not os.path.lexists(word):
        name = rest[0] if rest else ""
        if name and name not in COMMANDS:
            _suggest_command(name)
            raise TrexError(f"no command {name!r}; `trex-tui --help` lists the commands")
        return name or None, ["--help"]
    if word.partition("=")[0] in ("-h", "--help", "--print-completion"):
        return None, arguments
    if word and not word.startswith("-") and not os.path.lexists(word):
        _suggest_command(word)
    return "open", arguments


def _suggest_command(word: str) -> None:
    """Reject a word that is not a path, if it looks like a command."""
    name = SYNONYMS.get(word) or next(iter(close_matches(word, COMMANDS)), "")
    if name:
        raise TrexError(f"{word}: no such file or command; did you mean `trex-tui {name}`?")


def _join_values(arguments: list[str]) -> list[str]:
    """Replace `--filter -word` by `--filter=-word`: argparse would take the word for an option."""
    joined: list[str] = []
    for argument in arguments:
        is_word = argument.startswith("-") and not argument.startswith("--")
        if is_word and joined and joined[-1] == "--filter":
            joined[-1] = f"{joined[-1]}={argument}"
        else:
            joined.append(argument)
    return joined


# Help and completion


def make_parser(name: str, parser: CommandParser | None = None) -> CommandParser:
    """Return the parser of a new command.

    Args:
        parser: An empty one, of the completion.
    """
    module = import_module(f"trex_tui.cli.{COMMANDS[name].module}")
    parser = parser or CommandParser(prog=f"trex-tui {name}")
    parser.usage = f"trex-tui {name} [OPTION ...] {getattr(module, 'ARGUMENTS', '[PATH ...]')}"
    parser.description = f"{module.HELP}."
    parser.epilog = module.EPILOG
    module.add_arguments(parser)
    add_global(parser)
    parser.set_defaults(command=name)
    return parser


def _run_top(arguments: list[str]) -> int:
    """Print the help of the program, or a completion script."""
    parser = CommandParser(
        prog="trex-tui", usage="trex-tui [OPTION ...] [COMMAND] [PATH ...]", add_help=False
    )
    parser.add_argument("-h", "--help", action="store_true", help="show this help and exit")
    parser.add_argument("-V", "--version", action="store_true", help="show the version and exit")
    parser.add_argument(
        "--print-completion",
        type=_SHELLS,
        choices=_SHELLS,
        metavar="SHELL",
        help=f"print the completion script of a shell: {', '.join(_SHELLS)}",
    )
    options = parser.parse(arguments)
    if options.print_completion:
        sys.stdout.write(_make_completion(options.print_completion))
    else:
        sys.stdout.write(_format_help(parser))
    return ExitCode.OK


def _format_help(parser: CommandParser) -> str:
    lines = [_DESCRIPTION, "", parser.format_usage().rstrip()]
    for group in dict.fromkeys(command.group for command in COMMANDS.values()):
        lines += ["", f"{group}:"]
        lines += [
            f"  {name:15} {_help_of(name)}" for name, command in COMMANDS.items() if command.group == group
        ]
    options = parser.format_help().partition("options:\n")[2]
    return "\n".join([*lines, "", "options:", options.rstrip(), "", _EXAMPLES])


def _help_of(name: str) -> str:
    return str(import_module(f"trex_tui.cli.{COMMANDS[name].module}").HELP)


def build_parser() -> CommandParser:
    """Return a parser of all commands, for completion and documentation; the program parses with that of one command."""
    parser = CommandParser(prog="trex-tui", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.add_argument("--print-completion", choices=_SHELLS)
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", prog="trex-tui", parser_class=CommandParser
    )
    for name in COMMANDS:
        make_parser(name, commands.add_parser(name, help=_help_of(name)))
    return parser


def _make_completion(shell: str) -> str:
    import shtab

    return str(shtab.complete(build_parser(), shell))


# Signals and crashes


class _Ended(SystemExit):
    """A signal arrived; files are cleaned up on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number


def _until_signalled(work: Callable[[], int]) -> int:
    """Run `work` and return its result; a signal during it ends the process by that signal, after cleanup.

    Ignored signals stay ignored, as under nohup.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    names = ("SIGTERM", "SIGHUP", "SIGQUIT")  # Windows has SIGTERM only
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    caught = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in caught:
        signal.signal(number, _end)
    try:
        return work()
    except _Ended as ended:
        for number in caught:
            signal.signal(number, signal.SIG_IGN)  # one is enough
        remove_unpacked()
        signal.signal(ended.number, signal.SIG_DFL)
        os.kill(os.getpid(), ended.number)
        raise
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _: FrameType | None) -> NoReturn:
    raise _Ended(number)


def remove_unpacked() -> None:
    """Remove unpacked archives, without loading the module that unpacks them."""
    if archive := sys.modules.get("trex_tui.artifacts.archive"):
        archive.forget()


def _report_crash(error: Exception) -> int:
    """Print one line about an internal error; append its traceback to the log that `--log-file` names."""
    words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    place = os.environ.get("TREX_TUI_LOG", "")
    details = "--log-file FILE keeps the traceback"
    if place:
        import traceback

        head = f"== trex-tui {__version__}, Python {sys.version.split()[0]}, {sys.platform}: {sys.argv}\n"
        try:
            os.makedirs(os.path.dirname(place) or ".", exist_ok=True)  # noqa: PTH103, PTH120
            with open(place, "a", encoding="utf-8", errors="backslashreplace") as log:  # noqa: PTH123
                log.write(head + "".join(traceback.format_exception(error)))
            details = f"report it with {place}"
        except OSError as problem:
            details = f"{place} cannot be written: {problem.strerror}"
    complain(f"internal error: {words}; {details}")
    return ExitCode.INTERNAL_ERROR


if __name__ == "__main__":
    sys.exit(run())
