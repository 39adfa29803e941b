"""Errors about files have the form `FILE:LINE: what is wrong; what to do`, wherever they are raised."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import trex_tui

SOURCES = sorted(Path(trex_tui.__file__).parent.rglob("*.py"))
MESSAGE = {"ArtifactError": 1, "Diagnostic": 3}
"""Class of errors about a file -> position of its message."""


def literal(message: ast.expr) -> str | None:
    """Return the text of a message as it stands in the source; None if it comes from elsewhere."""
    if isinstance(message, ast.Constant):
        return str(message.value)
    return ast.unparse(message) if isinstance(message, ast.JoinedStr) else None


def messages(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of every error about a file."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        position = MESSAGE.get(call.func.id)
        if position is None or len(call.args) <= position:
            continue
        if call.func.id == "Diagnostic" and ast.unparse(call.args[0]) != "Severity.ERROR":
            continue
        if (text := literal(call.args[position])) is not None:
            yield call.lineno, text


def test_errors_about_files_have_a_remedy() -> None:
    found = [
        (path.name, line, text)
        for path in SOURCES
        for line, text in messages(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert len(found) > 40
    assert [message for message in found if "; " not in message[2]] == []


def test_messages_are_found() -> None:
    source = 'raise ArtifactError(path, "is empty")\nDiagnostic(Severity.ERROR, path, "", f"a {b}")\n'
    assert list(messages(ast.parse(source))) == [(1, "is empty"), (2, "f'a {b}'")]
