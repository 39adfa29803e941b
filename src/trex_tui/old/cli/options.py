"""Options shared by several commands, so that each has the same name, type and help everywhere.

`result_writer.ResultWriter` writes results according to these options.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from trex_tui.old.cli.argument_types import FILES, positive, whole
from trex_tui.old.cli.command_parser import GLOBAL_OPTIONS, CommandParser

Commands = argparse._SubParsersAction
Arguments = argparse._ActionsContainer
"""A parser, or a group of its arguments."""

_OTHER_NAMES = {"table": "text", "txt": "text", "markdown": "md", "htm": "html"}


def format_name(text: str) -> str:
    """Return the canonical name of an output format; other spellings are accepted."""
    return _OTHER_NAMES.get(text, text)


def add_command(
    commands: Commands[CommandParser],
    name: str,
    title: str,
    sentence: str,
    notes: str,
    arguments: str = "",
) -> CommandParser:
    """Add a command, with the global options.

    Args:
        title: Its entry in the list of commands: imperative, at most 50 characters.
        sentence: The beginning of its help: what it does.
        notes: The end of its help, with a block `examples:` last.
        arguments: Arguments after its options in the usage.
    """
    parser = commands.add_parser(
        name,
        help=title,
        description=sentence,
        epilog=notes,
        usage=f"trex-tui {name} [OPTION ...] {arguments}".rstrip(),
    )
    add_globals(parser.add_argument_group(GLOBAL_OPTIONS))
    return parser


def add_engine_command(
    commands: Commands[CommandParser], name: str, title: str, sentence: str, notes: str
) -> CommandParser:
    """Add a command about engines, with paths and the options for reading them."""
    parser = add_command(commands, name, title, sentence, notes, "[PATH ...]")
    paths = parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="directory or file; default: the current directory"
    )
    complete_files(paths)
    add_engine_globals(next(group for group in parser._action_groups if group.title == GLOBAL_OPTIONS))
    return parser


def add_globals(group: Arguments) -> None:
    """Add the options of every command."""
    group.add_argument("--ascii", action="store_true", help="draw with ASCII only (or set TREX_TUI_ASCII=1)")
    file = group.add_argument(
        "--log-file",
        metavar="FILE",
        help="append details of internal errors to FILE: traceback, command, versions, terminal (or set TREX_TUI_LOG=FILE)",
    )
    complete_files(file)


def add_engine_globals(group: Arguments) -> None:
    """Add the options of every command that reads engines."""
    group.add_argument(
        "--optimization-profile",
        type=whole,
        metavar="N",
        help="optimization profile to show; default: the profiled one",
    )
    add_run(group)
    group.add_argument(
        "--peak",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="peak of the device for the roofline: bandwidth=320 (GB/s), clock=1.2 (GHz), sms=30, fp16=40 (TFLOP/s), "
        "int8=80 (TOPS); may be repeated; trex-tui.toml can hold them too",
    )
    model = group.add_argument(
        "--onnx",
        metavar="FILE",
        help="ONNX model (with the nodes of each layer, also inside closed blocks; a directory is searched); default: the "
        "model beside the files, if it matches the engine",
    )
    complete_files(model)
    group.add_argument("--no-onnx", action="store_true", help="use no model beside the files")


def add_run(group: Arguments) -> None:
    """Add `--run N`; `options.run` is None without it."""
    group.add_argument(
        "--run",
        type=positive,
        metavar="N",
        help="run to show from files with several runs; default: the last that fits the graph",
    )


def add_result_options(
    parser: argparse.ArgumentParser,
    formats: Sequence[str],
    default: str = "text",
    schema: str = "",
    long_output: str = "--output",
    *,
    has_strict: bool = False,
) -> Arguments:
    """Add `--format`, `--json`, `-o` and `--force` to a command that has a result.

    Args:
        formats: Names of its formats.
        default: The format if neither an option nor the suffix of FILE names one; empty for none.
        schema: Schema of its JSON, without `trex-tui/`.
        long_output: The long name of `-o`; empty if another option has it.
        has_strict: Add `--strict`: the command reads sets of files, some of which may be damaged.

    Returns:
        The group of these options.
    """
    group = parser.add_argument_group("result")
    by_ending = "; default: from the extension of FILE" + (f", else {default}" if default else "")
    add_format(group, formats, by_ending if len(formats) > 1 else "", schema)
    file = group.add_argument(
        *filter(None, ("-o", long_output)),
        dest="output",
        default="-",
        metavar="FILE",
        help="write to FILE; default: -, standard output",
    )
    complete_files(file)
    add_force(group)
    if has_strict:
        group.add_argument(
            "--strict",
            action="store_true",
            help="exit with 2 if a file is damaged; the result is still written",
        )
    parser.set_defaults(formats=tuple(formats), default_format=default, strict=False)
    return group


def add_format(group: Arguments, formats: Sequence[str], default: str, schema: str) -> None:
    """Add `--format` and `--json`.

    Args:
        default: The format without them, as the end of the help text.
        schema: Schema of the JSON, without `trex-tui/`.
    """
    group.add_argument(
        "--format",
        type=format_name,
        choices=tuple(formats),
        metavar="FORMAT",
        help=f"output format: {', '.join(formats)}{default}",
    )
    group.add_argument(
        "--json",
        action="store_const",
        const="json",
        dest="format",
        help="short for --format json" + (f" (schema trex-tui/{schema})" if schema else ""),
    )


def add_force(group: Arguments) -> None:
    group.add_argument("--force", action="store_true", help="overwrite existing files")


def add_outdir(group: Arguments, default: str) -> None:
    """Add `--outdir DIR`.

    Args:
        default: The directory without the option, in words.
    """
    complete_files(
        group.add_argument("--outdir", metavar="DIR", help=f"write files to DIR; default: {default}")
    )


def add_filter(group: Arguments, *old_names: str, noun: str = "layer") -> None:
    """Add `--filter EXPR`; `options.filter` is None without it.

    Args:
        noun: What has the columns.
    """
    group.add_argument(
        "--filter",
        metavar="EXPR",
        help=f"only matches, as / in the explorer (with columns of the {noun}s; language: `trex-tui layers --help`)",
    )
    for name in old_names:
        group.add_argument(name, dest="filter", metavar="EXPR", help=argparse.SUPPRESS)


def add_sort(group: Arguments, default: str = "execution order") -> None:
    """Add `--sort COLUMN` and `--reverse`.

    Args:
        default: The order without the option, in words.
    """
    group.add_argument(
        "--sort",
        metavar="COLUMN",
        help=f"sort by a column (numbers descending, text ascending); default: {default}",
    )
    group.add_argument("--reverse", action="store_true", help="reverse the order")


def add_by(group: Arguments, what: str) -> None:
    """Add `--by A,B`; `options.by` is None without it.

    Args:
        what: What a group has, in words.
    """
    group.add_argument("--by", metavar="A,B", help=f"group by these columns instead (with {what})")


def add_columns(group: Arguments) -> None:
    """Add `--columns A,B,C`."""
    group.add_argument(
        "--columns", metavar="A,B,C", help="columns to include, in this order (see `trex-tui explain`)"
    )


def add_top(group: Arguments, default: int | None = None) -> None:
    """Add `--top N`: rows of each table; read by `top_rows`.

    Args:
        default: Rows without the option; None for all.
    """
    shown = "all" if default is None else default
    group.add_argument(
        "--top",
        type=whole,
        metavar="N",
        default=0 if default is None else default,
        help=f"rows of each table; 0: all; default: {shown}",
    )


def top_rows(options: argparse.Namespace) -> int | None:
    """Return the number of rows per table from `--top`; None for all."""
    return options.top or None


def complete_files(action: argparse.Action) -> None:
    """Make a shell complete the argument with file names."""
    action.complete = FILES  # type: ignore[attr-defined]
