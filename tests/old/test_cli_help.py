"""The help of every command: layout, and one meaning for each option."""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest

from trex_tui.old.cli import COMMANDS, main
from trex_tui.old.cli.command_parser import GLOBAL_OPTIONS, CommandParser
from trex_tui.old.cli.parser import build_parser

WIDTH = 80
OF_THEIR_OWN = {
    ("serve", "--host"),  # an address; of capture and doctor a machine
    ("diff", "--chart"),  # bars of a comparison; of layers a chart of one engine
    ("doctor", "--outdir"),  # a directory to check; of the others one to write
}
"""Options that share no more than the name with those of other commands."""


def parsers() -> dict[str, CommandParser]:
    (choices,) = (
        action.choices for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)
    )
    return dict(choices)


@pytest.fixture(params=["", *COMMANDS])
def help_lines(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """Lines of the help of a command, or of trex-tui, on 80 columns."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    with pytest.raises(SystemExit) as end:
        main([*filter(None, [request.param]), "--help"])
    out, err = capsys.readouterr()
    assert (end.value.code, err) == (0, "")
    return out.splitlines()


def test_it_fits_the_terminal(help_lines: list[str]) -> None:
    assert [line for line in help_lines if len(line) > WIDTH] == []


def test_it_begins_with_a_sentence(help_lines: list[str]) -> None:
    text = "\n".join(help_lines)
    sentence, blank, usage = text.partition("\n\nusage: trex-tui")
    assert blank
    assert usage
    assert re.fullmatch(r"[A-Z][^\n]*\.", sentence), sentence


def test_it_ends_with_examples(help_lines: list[str]) -> None:
    start = help_lines.index("examples:")
    examples = help_lines[start + 1 :]
    assert examples
    for line in examples:
        assert re.match(r"  trex-tui |  trex-tui$|      --", line), line


def test_global_options_are_listed_once() -> None:
    for name, parser in parsers().items():
        (group,) = (group for group in parser._action_groups if group.title == GLOBAL_OPTIONS)
        assert "--log-file" in {name for action in group._group_actions for name in action.option_strings}
        listed = parser.format_help().partition("examples:")[0]
        assert not re.search(r"^  --(log-file|ascii|peak|optimization-profile)\b", listed, re.MULTILINE), name
        assert "Global options: see `trex-tui --help`." in listed
    top = build_parser().format_help()
    for option in ("--log-file", "--ascii", "--peak", "--optimization-profile"):
        assert len(re.findall(rf"^  {option}\b", top, re.MULTILINE)) == 1


def options() -> Iterator[tuple[str, str, argparse.Action]]:
    """Command, name and action of each option in a help."""
    for command, parser in parsers().items():
        for action in parser._actions:
            for name in action.option_strings:
                if action.help != argparse.SUPPRESS and (command, name) not in OF_THEIR_OWN:
                    yield command, name, action


def meaning(action: argparse.Action) -> str:
    """The help without what the command decides: default, examples, list of formats, schema."""
    text = re.sub(
        r"; default:[^;]*|, such as '[^']*'|; may be repeated| \((?:schema|with) [^)]*\)",
        "",
        action.help or "",
    )
    return re.sub(r"(output format): .*", r"\1", text)


def test_an_option_means_the_same_in_every_command() -> None:
    uses = defaultdict(list)
    for command, name, action in options():
        uses[name].append((command, action))
    for name, actions in uses.items():
        seen = {
            (meaning(action), action.type, action.nargs, action.metavar, action.dest): command
            for command, action in actions
        }
        assert len(seen) == 1, f"{name}: {seen}"


def test_every_option_has_a_help() -> None:
    assert [(command, name) for command, name, action in options() if not action.help] == []
