"""Write the manual page from the parser: `python scripts/make_man.py`, into docs/man/trex-tui.1."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

import make_docs
from trex_tui._version import __version__
from trex_tui.old.cli.parser import build_parser

FILE = make_docs.DOCS / "man" / "trex-tui.1"
_EXIT_CODES = (
    ("0", "Done."),
    ("1", "A finding at or above --fail-on, or a failed gate."),
    ("2", "Bad usage or input, or a gate that cannot be judged."),
    ("3", "trtexec failed."),
    ("70", "An internal error."),
)
_FILES = (
    ("trex-tui.toml, pyproject.toml", "Configuration in the current directory: lint, peaks of devices."),
    ("~/.config/trex-tui/", "Configuration and settings of the user."),
)


def manual() -> str:
    """The page as roff."""
    parser = build_parser()
    lines = [f'.TH TREX-TUI 1 "" "trex-tui {__version__}" "User Commands"']
    lines += [".SH NAME", "trex-tui \\- explore TensorRT engines in the terminal"]
    lines += [".SH SYNOPSIS", ".B trex-tui", "[OPTION ...] [COMMAND] [PATH ...]"]
    lines += [".SH DESCRIPTION", _text(parser.description or "")]
    lines += [*_examples(parser.epilog or "")]
    lines += [".SH GLOBAL OPTIONS", *_options(make_docs.global_actions(parser))]
    lines += [".SH COMMANDS"]
    for name, command in make_docs.commands().items():
        usage = (command.usage or "").removeprefix("trex-tui ")
        lines += [f".SS {_text(usage or name)}", _text(command.description or ""), ".PP"]
        lines += [*_options(make_docs.own_actions(command)), *_examples(command.epilog or "")]
    lines += [".SH EXIT STATUS", *_terms(_EXIT_CODES), ".SH FILES", *_terms(_FILES)]
    lines += [".SH SEE ALSO", _text("https://github.com/trex-tui/trex-tui")]
    return "\n".join(line for line in lines if line) + "\n"


def _options(actions: Iterable[argparse.Action]) -> Iterator[str]:
    for action in actions:
        if isinstance(action, argparse._HelpAction) or action.help == argparse.SUPPRESS:
            continue
        value = make_docs.value_of(action)
        names = ", ".join(action.option_strings)
        yield from _terms([(f"{names} {value}".strip(), make_docs.sentence_of(action))])


def _terms(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, text in pairs:
        yield from (".TP", f".B {_text(term)}", _text(text))


def _examples(epilog: str) -> Iterator[str]:
    """The notes of a help, laid out as there."""
    if epilog:
        yield from (".PP", ".nf", *map(_text, epilog.rstrip().splitlines()), ".fi")


def _text(text: str) -> str:
    """A line that roff takes as it is; a dash stays a dash."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(char if char.isascii() else f"\\[u{ord(char):04X}]" for char in text)
    return f"\\&{text}" if text.startswith((".", "'")) else text or "\\&"


def main() -> None:
    """Write the page."""
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(manual(), encoding="utf-8")


if __name__ == "__main__":
    main()
