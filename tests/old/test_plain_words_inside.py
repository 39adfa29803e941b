"""Words that key help, glossary, README, docs and docstrings do not use; see the language rules of the project."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import REPOSITORY

STILTED = re.compile(
    r"\bof no use\b|\bso many percent\b|\bby a process of its own\b|\bturn the order\b|\bwhole room\b"
    r"|\ba gate that fell\b|\bnobody needs\b|\bleft as it was\b|\bby a hair\b"
)
INDIRECT = re.compile(r"^what\b(?!.*\?)|\b(?:nobody|somebody|a person)\b", re.IGNORECASE)
"""Clauses in place of nouns, and vague persons."""
SOURCE = REPOSITORY / "src" / "trex_tui" / "old"


def _strings(path: Path) -> Iterator[str]:
    """The texts in a module; docstrings are among them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_definitions_are_noun_phrases():
    found = [text for path in (SOURCE / "report" / "glossary").glob("*.py") for text in _strings(path)]
    assert len(found) > 500
    assert [text for text in found if INDIRECT.search(text)] == []


@pytest.mark.parametrize("package", ["screens", "widgets"])
def test_modules_and_classes_of_the_explorer_are_described_by_nouns(package):
    described = {}
    for path in (SOURCE / package).glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in (tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))):
            described[path.name, getattr(node, "name", "")] = (ast.get_docstring(node) or "").partition("\n")[
                0
            ]
    assert [where for where, line in described.items() if INDIRECT.search(line)] == []


def test_estimates_of_rules_name_no_columns():
    found = [text for path in (SOURCE / "lint").rglob("*.py") for text in _strings(path)]
    prose = [text for text in found if text.count(" ") > 1 and "\n" not in text]
    assert [text for text in prose if re.search(r"\b(?:latency|roof)_ms\b|\bweights_bytes\b", text)] == []
