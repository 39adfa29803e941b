"""Words that key help, README and docs do not use; see the language rules of the project."""

from __future__ import annotations

import re

import pytest

from helpers import REPOSITORY
from trex_tui.widgets.actions import ACTIONS

STILTED = re.compile(
    r"\bof no use\b|\bso many percent\b|\bby a process of its own\b|\bturn the order\b|\bwhole room\b"
    r"|\ba gate that fell\b|\bnobody needs\b|\bleft as it was\b|\bby a hair\b"
)
PAGES = sorted(
    path.relative_to(REPOSITORY).as_posix()
    for path in (*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").glob("*.md"))
)


@pytest.mark.parametrize("page", PAGES)
def test_docs_are_plain(page):
    assert STILTED.findall((REPOSITORY / page).read_text(encoding="utf-8").lower()) == []


def test_key_help_is_plain():
    assert [action.id for action in ACTIONS if STILTED.search(action.help.lower())] == []
