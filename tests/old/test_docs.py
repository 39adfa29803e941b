"""docs/ is correct: generated parts are current, commands run, links are valid.

UPDATE_GOLDENS=1 regenerates the parts.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from itertools import takewhile
from pathlib import Path

import pytest

from helpers import REPOSITORY
from trex_tui.old.cli import _with_command, main
from trex_tui.old.cli.parser import build_parser

sys.path.insert(0, str(REPOSITORY / "scripts"))
import make_docs

PAGES = sorted((REPOSITORY / "docs").glob("*.md"))
ALL = [*PAGES, *sorted(REPOSITORY.glob("*.md"))]
RAW = "https://raw.githubusercontent.com/trex-tui/trex-tui/main/"
"""Pictures of the README are links to the repository: the package index has only the text."""
NOT_RUN = ("open", "demo", "serve", "mcp", "capture", "doctor", "accuracy")
"""What draws, listens, or needs a machine with a GPU: these lines are only parsed."""


def named(paths: list[Path]) -> list[object]:
    return [pytest.param(path, id=path.stem) for path in paths]


def lines_of(path: Path) -> list[str]:
    """The command lines in blocks of code, without comments and prompts."""
    blocks = re.findall(r"```(?:sh|console)?\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    lines = [
        re.sub(r"\s+# .*", "", line).removeprefix("$ ").strip() for one in blocks for line in one.splitlines()
    ]
    return [line for line in lines if line.startswith("trex-tui ")]


def arguments_of(line: str) -> list[str]:
    words = shlex.split(line)[1:]
    return _with_command(list(takewhile(lambda word: word not in (">", "|"), words)))


LINES = sorted({(path.stem, line) for path in PAGES for line in lines_of(path)})


@pytest.mark.parametrize("path", named(PAGES))
def test_made_parts_are_as_the_program_is(path):
    text = path.read_text(encoding="utf-8")
    new = make_docs.renewed(text)
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(new, encoding="utf-8")
    assert new == path.read_text(encoding="utf-8")


def test_every_command_has_a_section_and_every_screen():
    commands = (REPOSITORY / "docs" / "commands.md").read_text(encoding="utf-8")
    assert re.findall(r"^## ([\w-]+)$", commands, re.MULTILINE) == list(make_docs.commands())
    screens = (REPOSITORY / "docs" / "screens.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \d · (\w+)$", screens, re.MULTILINE) == make_docs.tabs()


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
    for sample in (REPOSITORY / "tests/old/sample_artifacts").iterdir():
        (tmp_path / "sample_artifacts").mkdir(exist_ok=True)
        (tmp_path / "sample_artifacts" / sample.name).symlink_to(sample)
    monkeypatch.chdir(tmp_path)
    try:
        code = main(arguments)
    except SystemExit as ended:
        code = ended.code
    shown = capsys.readouterr()
    assert code in (0, 1), shown.err
    assert shown.out


def test_there_are_lines_to_try():
    assert len(LINES) >= 10


@pytest.mark.parametrize("path", named(ALL))
def test_links_lead_somewhere(path):
    text = path.read_text(encoding="utf-8").replace(RAW, "")
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target:
            assert (path.parent / target).exists(), target


def test_pictures_of_the_readme_are_shown_by_the_package_index():
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", readme)
    assert pictures
    assert all(target.startswith(RAW) for target in pictures)
