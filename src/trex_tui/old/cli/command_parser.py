"""Parser of a command: layout of its help, and error messages."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial

TYPE_CHECKING = False  # as in typing, which takes longer to import than this
if TYPE_CHECKING:
    from typing import IO, Any, NoReturn

GLOBAL_OPTIONS = "global options"
"""Title of a group that only the help of trex-tui itself lists."""
_WIDEST, _USUAL = 100, 80
_SEE_GLOBAL = "Global options: see `trex-tui --help`."


class CommandParser(argparse.ArgumentParser):
    """Parser whose help has the description first and the examples last; errors suggest the nearest option."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - those of argparse
        # With a width: argparse creates a formatter per argument, each of which would query the terminal width.
        super().__init__(**options, formatter_class=_make_formatter(_USUAL))
        self._positionals.title = "arguments"

    def format_help(self) -> str:
        self.formatter_class = _make_formatter(min(_find_columns(), _WIDEST))
        formatter = self._get_formatter()
        formatter.add_text(self.description)
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        hides_globals = False
        for group in self._action_groups:
            if group.title == GLOBAL_OPTIONS and self._subparsers is None:
                hides_globals = True
                continue
            formatter.start_section(group.title)
            formatter.add_text(group.description)
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
        if hides_globals:
            formatter.add_text(_SEE_GLOBAL)
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def print_help(self, file: IO[str] | None = None) -> None:  # type: ignore[override]
        """Write the help; argparse itself ignores write errors.

        Raises:
            OSError: It cannot be written.
        """
        (file or sys.stdout).write(self.format_help())

    def parse_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
        """Parse all arguments; an unknown argument is an error of the command, not of trex-tui."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self._find_command(options).refuse(unknown[0])
        return options

    def _find_command(self, options: argparse.Namespace) -> CommandParser:
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                command: CommandParser = action.choices.get(getattr(options, action.dest), self)
                return command
        return self

    def refuse(self, argument: str) -> NoReturn:
        """Exit with an error about an unknown argument."""
        if not argument.startswith("-"):
            self.error(f"unexpected argument {argument!r}")
        from trex_tui.old.text import close_matches

        name = argument.partition("=")[0]
        words = {option.lstrip("-"): option for option in self._list_options()}
        similar = close_matches(name.lstrip("-"), words)  # the dashes alone would make any two similar
        self.error(f"unknown option {name}" + (f"; did you mean {words[similar[0]]}?" if similar else ""))

    def _list_options(self) -> list[str]:
        return [
            name
            for action in self._actions
            if action.help != argparse.SUPPRESS
            for name in action.option_strings
        ]

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401 - argparse's signature
        """Reject a value that is not a choice, with the nearest or all choices.

        Raises:
            argparse.ArgumentError: The value is not a choice.
        """
        if action.choices is None or value in action.choices:
            return
        from trex_tui.old.text import did_you_mean

        known = [str(choice) for choice in action.choices]
        advice = did_you_mean(str(value), known) or f"choose from {', '.join(known)}"
        raise argparse.ArgumentError(action, f"invalid choice {value!r}; {advice}")

    def error(self, message: str) -> NoReturn:
        from trex_tui.old.cli.output import complain, write_message

        self.print_usage(sys.stderr)
        complain(f"error: {message}")
        write_message(f"Try `{self.prog} --help`.\n")
        self.exit(2)


def _make_formatter(columns: int) -> Any:  # noqa: ANN401 - argparse wants a class
    return partial(argparse.RawDescriptionHelpFormatter, width=columns - 2)


def _find_columns() -> int:
    """Return the terminal width as `shutil.get_terminal_size`, whose module takes 5 ms to import."""
    stated = os.environ.get("COLUMNS", "")
    if stated.isdecimal() and int(stated):
        return int(stated)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _USUAL  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # closed, detached, or not a terminal
        return _USUAL
