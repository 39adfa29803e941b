"""Every command that docs/coming-from-trex.md shows can be typed, and names columns and filters that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from helpers import OLD_SAMPLES
from test_coming_from_trex import SHOWN
from trex_tui.old.analysis.columns import columns_named
from trex_tui.old.analysis.filter.parser import parse
from trex_tui.old.cli import COMMANDS, _with_command, main
from trex_tui.old.cli.engine_parsers import FILTER_EXAMPLES
from trex_tui.old.cli.parser import build_parser


@pytest.mark.parametrize("line", SHOWN)
def test_command(line: str) -> None:
    words = shlex.split(line)[1:]
    if re.fullmatch(r"[a-z-]+", words[0]) and words[0] not in COMMANDS:
        assert words[0] in ("report", "export", "times")
        pytest.skip(f"this program has no {words[0]}")
    options = build_parser().parse_args(_with_command(words))
    if options.command == "layers" and options.columns:
        columns_named(options.columns.split(","))
    for text in (getattr(options, "filter", None), getattr(options, "query", None)):
        if text:
            parse(text)


CHOOSING = [line for line in SHOWN if re.search(r" --(filter|query|around|highlight) ", line)]
HELP = [
    line.strip().replace("results/alexnet", "outdir")
    for line in FILTER_EXAMPLES.splitlines()
    if "--filter '" in line
]


@pytest.mark.parametrize("line", [*CHOOSING, *HELP])
def test_what_is_chosen_is_there_in_the_sample(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lines that choose layers, of this page and of the help of `layers`, choose some of AlexNet's."""
    (tmp_path / "outdir").symlink_to(OLD_SAMPLES / "alexnet")
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)[1:]
    if "--chart" in words:
        assert main(words) == 0
        assert "wrote" in capsys.readouterr().err
    elif words[0] == "layers":
        assert main([*words, "--format", "csv"]) == 0
        assert len(capsys.readouterr().out.splitlines()) > 1, "headings alone"
    elif words[0] == "summary":  # AlexNet has no pointwise layer: there may be no row
        assert main([*words, "--format", "csv"]) == 0
        assert capsys.readouterr().out.count(",latency_ms") == 1
    else:
        assert main([*words, "--layout", "builtin"]) == 0
        assert re.search(r"\d+ nodes? and \d+ edges?", capsys.readouterr().err)


def test_there_are_lines_that_choose() -> None:
    assert len(CHOOSING) > 4
    assert len(HELP) == 5
