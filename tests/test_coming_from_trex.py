"""Every command that docs/coming-from-trex.md shows can be typed, and names columns and filters that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from trex_tui.arguments import build_parser
from trex_tui.cli import _COMMANDS, _with_command
from trex_tui.filtering.parser import parse
from trex_tui.reports.layers import columns_named

PAGE = (Path(__file__).resolve().parent.parent / "docs/coming-from-trex.md").read_text(encoding="utf-8")
SHOWN = sorted(set(re.findall(r"`(trex-tui [^`]+)`", PAGE)))


@pytest.mark.parametrize("line", SHOWN)
def test_command(line: str) -> None:
    words = shlex.split(line)[1:]
    if re.fullmatch(r"[a-z-]+", words[0]) and words[0] not in _COMMANDS:
        assert words[0] in ("report", "export", "times")
        pytest.skip(f"this program has no {words[0]}")
    options = build_parser().parse_args(_with_command(words))
    if options.command == "layers" and options.columns:
        columns_named(options.columns.split(","))
    for text in (getattr(options, "filter", None), getattr(options, "query", None)):
        if text:
            parse(text)


def test_every_part_of_trex_is_there() -> None:
    assert len(SHOWN) > 40
    for name in (
        "EnginePlan",
        "ConvLinter",
        "report_card",
        "compare_engines",
        "trex draw",
        "process_engine",
        "ExcelSummary",
    ):
        assert name in PAGE
