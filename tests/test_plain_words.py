"""Words that key help, glossary, README, docs and docstrings do not use; see the language rules of the project."""

from __future__ import annotations

import re

import pytest

from helpers import REPOSITORY

STILTED = re.compile(
    r"\bof no use\b|\bso many percent\b|\bby a process of its own\b|\bturn the order\b|\bwhole room\b"
    r"|\ba gate that fell\b|\bnobody needs\b|\bleft as it was\b|\bby a hair\b"
)
INDIRECT = re.compile(r"^what\b(?!.*\?)|\b(?:nobody|somebody|a person)\b", re.IGNORECASE)
"""Clauses in place of nouns, and vague persons."""
SOURCE = REPOSITORY / "src" / "trex_tui"
PAGES = sorted(
    path.relative_to(REPOSITORY).as_posix()
    for path in (*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").glob("*.md"))
)


@pytest.mark.parametrize("page", PAGES)
def test_docs_are_plain(page):
    assert STILTED.findall((REPOSITORY / page).read_text(encoding="utf-8").lower()) == []
