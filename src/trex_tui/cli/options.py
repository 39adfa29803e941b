"""Options in common: each has the same name, type and help in every command.

Imports neither pandas nor a reader: `--help` and errors of usage do not wait for them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from trex_tui.cli.results import complain, write_message
from trex_tui.text import close_matches, did_you_mean

FILES = {
    "bash": "_shtab_compgen_files",
    "zsh": "_files",
    "tcsh": "f",
    "fish": "(__fish_complete_path (commandline -ct))",
}
"""Completion of paths by shtab, whose import takes 44 ms."""
_SPELLINGS = {"table": "text", "txt": "text", "markdown": "md", "htm": "html"}
_NUMBER = r"-?[0-9]{1,12}(?:\.[0-9]{1,12})?"
_RANGE = re.compile(rf"(?P<name>.+):(?P<low>{_NUMBER}):(?P<high>{_NUMBER})", re.DOTALL)
_OPTION_LINE = re.compile(r"^  (-.*?)(?:  |$)", re.MULTILINE)
FILTER_HELP = """\
FILTER EXPR: a bare word matches part of a name; COLUMN:VALUE, COLUMN>NUMBER
and COLUMN~"REGEX" test a column; and, or, not, - and ( ) combine them. `:`
matches part of names, tactics and other free text, `=` the whole text.
`trex-tui explain` lists the columns; attr.KEY is an attribute of the file.

"""


class CommandParser(argparse.ArgumentParser):
    """Parser of a command; errors suggest the nearest option."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - those of argparse
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**options, allow_abbrev=False)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse all arguments, or end the program with an error."""
        options, unknown = self.parse_known_args(arguments)
        if unknown:
            self._refuse(unknown[0].partition("=")[0])
        return options

    def _refuse(self, name: str) -> NoReturn:
        if not name.startswith("-"):
            self.error(f"unexpected argument {name!r}")
        lines = " ".join(_OPTION_LINE.findall(self.format_help()))
        known = {option[2:]: option for option in re.findall(r"--[a-z][\w-]*", lines)}
        similar = close_matches(name.lstrip("-"), known)  # the dashes alone would make any two similar
        self.error(f"unknown option {name}" + (f"; did you mean {known[similar[0]]}?" if similar else ""))

    def print_help(self, file: Any = None) -> None:  # noqa: ANN401 - argparse's signature
        """Write the help; argparse itself hides errors.

        Raises:
            OSError: It cannot be written.
        """
        (file or sys.stdout).write(self.format_help())

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        complain(f"error: {message}")
        write_message(f"Try `{self.prog} --help`.\n")
        self.exit(2)


# Types of values


def whole(text: str) -> int:
    """Parse a whole number, 0 included.

    Raises:
        argparse.ArgumentTypeError: It is not a whole number, or has more than nine digits.
    """
    if not text.isdecimal() or not text.isascii():
        raise argparse.ArgumentTypeError(f"not a whole number: {text!r}")
    if len(text) > 9:
        raise argparse.ArgumentTypeError(f"more than 999999999: {text!r}")
    return int(text)


def positive(text: str) -> int:
    """Parse a whole number from 1.

    Raises:
        argparse.ArgumentTypeError: It is not a whole number from 1.
    """
    if whole(text) == 0:
        raise argparse.ArgumentTypeError("must be at least 1")
    return int(text)


class Words(tuple[str, ...]):
    """The words that an option takes: its `type` and its `choices`, which completion lists. Errors suggest the nearest."""

    __slots__ = ()

    def __call__(self, text: str) -> str:
        word = _SPELLINGS.get(text, text)
        if any(word == known for known in self):
            return word
        advice = did_you_mean(text, list(self)) or f"choose from {', '.join(self)}"
        raise argparse.ArgumentTypeError(f"invalid choice {text!r}; {advice}")

    def __contains__(self, _: object) -> bool:
        return True  # checked as the type, with better words


def value_range(text: str) -> tuple[str, tuple[float, float]]:
    """Return the input, and the lowest and highest value, of `--range`.

    Raises:
        argparse.ArgumentTypeError: It is none.
    """
    match = _RANGE.fullmatch(text)
    if match is None or float(match["low"]) > float(match["high"]):
        raise argparse.ArgumentTypeError(f"not a range such as ids:0:30521: {text!r}")
    return match["name"], (float(match["low"]), float(match["high"]))


def split_names(text: str | None) -> list[str]:
    """Return the names of a list such as `kind, precision`; empty without one."""
    return [name for name in map(str.strip, (text or "").split(",")) if name]


# Options


def add_file(group: argparse._ActionsContainer, *names: str, **options: Any) -> None:  # noqa: ANN401
    """Add an argument that a shell completes with file names."""
    group.add_argument(*names, **options).complete = FILES  # type: ignore[attr-defined]


def add_global(parser: CommandParser) -> None:
    """Add the options of every command."""
    group = parser.add_argument_group("output options")
    group.add_argument(
        "--color",
        type=(words := Words(("auto", "always", "never"))),
        choices=words,
        default="auto",
        metavar="WHEN",
        help="auto, always or never; changes no content; default: auto, in a terminal unless NO_COLOR is set",
    )
    group.add_argument("--ascii", action="store_true", help="draw with ASCII only (or set TREX_TUI_ASCII=1)")
    add_file(
        group,
        "--log-file",
        metavar="FILE",
        help="append details of internal errors to FILE (or set TREX_TUI_LOG=FILE)",
    )


def add_paths(parser: CommandParser, default: str = "the current directory") -> None:
    """Add the paths of engines, and the options of reading them.

    Args:
        default: What is read without a path.
    """
    add_file(
        parser,
        "paths",
        nargs="*",
        metavar="PATH",
        help=f"directory or file; - for standard input; default: {default}",
    )
    group = parser.add_argument_group("engine options")
    group.add_argument(
        "--optimization-profile",
        type=whole,
        metavar="N",
        help="optimization profile to show; default: the profiled one",
    )
    group.add_argument(
        "--run",
        type=positive,
        metavar="N",
        help="run to show from files with several runs; default: the last that fits the graph",
    )
    group.add_argument(
        "--peak",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="peak of the device for the roofline: bandwidth=320 (GB/s), clock=1.2 (GHz), sms=30, fp16=40 (TFLOP/s), "
        "int8=80 (TOPS); may be repeated; trex-tui.toml can hold them too",
    )
    add_file(
        group,
        "--onnx",
        metavar="FILE",
        help="ONNX model that the engine was built from: layers get its nodes",
    )


def add_inputs(parser: CommandParser) -> None:
    """Add the options about the inputs that a model is run with."""
    parser.add_argument("--shapes", metavar="SPEC", default="", help="of dynamic inputs: input:1x3x224x224,…")
    parser.add_argument(
        "--samples", type=positive, metavar="N", help="number of samples; default: 1, or all given"
    )
    parser.add_argument(
        "--seed", type=whole, default=0, metavar="N", help="seed of random inputs; default: 0"
    )
    parser.add_argument(
        "--range", type=value_range, action="append", default=[], metavar="INPUT:LOW:HIGH",
        help="range of random values; default: -1 to 1, integers 0 and 1; may be repeated",
    )  # fmt: skip
    add_file(
        parser, "--load-inputs", "--inputs", metavar="DIR|INPUT:FILE,…", default="",
        help="read inputs: files INPUT.npy or INPUT.bin, or a directory of them for each sample",
    )  # fmt: skip


def add_filter(parser: CommandParser, noun: str = "layer") -> None:
    """Add `--filter EXPR`.

    Args:
        noun: What has the columns.
    """
    parser.add_argument(
        "--filter",
        metavar="EXPR",
        default="",
        help=f"only matching {noun}s, as / in the explorer (language: `trex-tui layers --help`)",
    )


def add_sort(parser: CommandParser, default: str = "execution order") -> None:
    """Add `--sort COLUMN` and `--reverse`."""
    parser.add_argument(
        "--sort",
        metavar="COLUMN",
        help=f"sort by a column (numbers descending, text ascending); default: {default}",
    )
    parser.add_argument("--reverse", action="store_true", help="reverse the order")


def add_columns(parser: CommandParser) -> None:
    """Add `--columns A,B,C`."""
    parser.add_argument(
        "--columns", metavar="A,B,C", help="columns to include, in this order (see `trex-tui explain`)"
    )


def add_top(parser: CommandParser, default: int | None = None) -> None:
    """Add `--top N`: rows of each table; None without the option, unless there is a default."""
    parser.add_argument(
        "-n",
        "--top",
        type=whole,
        metavar="N",
        default=default,
        help=f"rows of each table; 0: all; default: {'all' if default is None else default}",
    )


def add_result(
    parser: CommandParser,
    formats: Sequence[str],
    *,
    schema: str = "",
    default: str = "text",
    has_strict: bool = True,
) -> None:
    """Add the options about the result; `results.Result` reads them.

    Args:
        formats: Names of the formats.
        schema: Schema of its JSON, without `trex-tui/`.
        default: The format if neither an option nor the ending of FILE names one; empty for none.
        has_strict: The command reads files that may be damaged.
    """
    group = parser.add_argument_group("result")
    by_ending = "default: from the extension of FILE" + (f", else {default}" if default else "")
    group.add_argument(
        "--format",
        type=(words := Words(formats)),
        choices=words,
        metavar="FORMAT",
        help=f"output format: {', '.join(formats)}; {by_ending}",
    )
    if "json" in formats:
        group.add_argument(
            "--json",
            action="store_const",
            const="json",
            dest="format",
            help="short for --format json" + (f" (schema trex-tui/{schema})" if schema else ""),
        )
    add_file(
        group,
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="write to FILE; default: -, standard output",
    )
    group.add_argument("--force", action="store_true", help="overwrite existing files")
    if has_strict:
        group.add_argument(
            "--strict",
            action="store_true",
            help="exit with 2 if a file is damaged; the result is still written",
        )
    parser.set_defaults(formats=tuple(formats), default_format=default, strict=False)
