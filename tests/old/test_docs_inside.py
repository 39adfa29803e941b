"""docs/ is correct: generated parts are current, commands run, links are valid.

UPDATE_GOLDENS=1 regenerates the parts.
"""

from __future__ import annotations

import shlex
from itertools import takewhile

import pytest

from helpers import REPOSITORY
from test_docs import LINES
from trex_tui.__main__ import main
from trex_tui.old.cli import _with_command
from trex_tui.old.cli.parser import build_parser

NOT_RUN = ("open", "demo", "serve", "mcp", "capture", "doctor", "accuracy")
"""What draws, listens, or needs a machine with a GPU: these lines are only parsed."""


def arguments_of(line: str) -> list[str]:
    words = shlex.split(line)[1:]
    return _with_command(list(takewhile(lambda word: word not in (">", "|"), words)))


@pytest.mark.parametrize(("page", "line"), [pytest.param(*one, id=f"{one[0]}: {one[1]}") for one in LINES])
def test_commands_can_be_typed(page, line, monkeypatch, capsys, tmp_path):
    arguments = arguments_of(line)
    if (
        arguments[0] in NOT_RUN
        or page in ("coming-from-trex", "onnx")
        or "-o" in arguments
        or "--outdir" in arguments
    ):
        build_parser().parse_args(arguments)
        return
    (tmp_path / "sample_artifacts").symlink_to(REPOSITORY / "sample_artifacts")
    monkeypatch.chdir(tmp_path)
    try:
        code = main(arguments)
    except SystemExit as ended:
        code = ended.code
    shown = capsys.readouterr()
    assert code in (0, 1), shown.err
    assert shown.out
