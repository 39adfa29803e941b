"""Text of others inside Markdown."""

from __future__ import annotations

from trex_tui.text import printable


def escaped(text: str) -> str:
    """Text in which Markdown and HTML see nothing but letters, on one line; `@`, `#` and addresses reach nobody."""
    text = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for char in "\\`*_{}[]()#|~!":
        text = text.replace(char, "\\" + char)
    return text.replace("@", "&#64;").replace("://", "&#58;//")
