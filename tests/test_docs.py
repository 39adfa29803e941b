"""docs/ is correct: generated parts are current, commands run, links are valid.

UPDATE_GOLDENS=1 regenerates the parts.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import make_docs
from helpers import REPOSITORY

PAGES = sorted((REPOSITORY / "docs").glob("*.md"))
ALL = [*PAGES, *sorted(REPOSITORY.glob("*.md"))]
RAW = "https://raw.githubusercontent.com/trex-tui/trex-tui/main/"
"""Pictures of the README are links to the repository: the package index has only the text."""


LEAVING = ("serve", "history", "scaling", "keys", "schema", "metadata")
"""Commands of the old packages that no new room takes over."""


def named(paths: list[Path]) -> list[object]:
    return [pytest.param(path, id=path.stem) for path in paths]


def lines_of(path: Path) -> list[str]:
    """The command lines in blocks of code, without comments and prompts."""
    blocks = re.findall(r"```(?:sh|console)?\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    lines = [
        re.sub(r"\s+# .*", "", line).removeprefix("$ ").strip() for one in blocks for line in one.splitlines()
    ]
    return [line for line in lines if line.startswith("trex-tui ")]


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
    assert re.findall(r"^## ([\w-]+)$", commands, re.MULTILINE) == [
        name for name in make_docs.commands() if name not in LEAVING
    ]
    screens = (REPOSITORY / "docs" / "screens.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \d · (\w+)$", screens, re.MULTILINE) == make_docs.tabs()


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
