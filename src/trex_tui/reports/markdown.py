"""Text of others inside Markdown."""

from __future__ import annotations


def escaped(text: str) -> str:
    """Have every character that a forge might act on shown as it is. The text is one line already (`text.printable`)."""
    for char in "\\`*_{}[]<>|#&~@":
        text = text.replace(char, "\\" + char)
    return text
