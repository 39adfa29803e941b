"""The characters that the program draws with, and what stands for them in a terminal that knows ASCII only.

Every replacement is as wide as what it replaces: a line drawn with Unicode keeps its layout, so whatever is drawn, by us or
by a library, is translated on its way to the terminal, in one place: `AsciiFilter`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

ASCII_VARIABLE = "TREX_TUI_ASCII"
"""Set to anything but `0`: ASCII only; `0`: Unicode, whatever the locale says."""

UNKNOWN = "?"

_SINGLES = {
    "…": "~", "·": "|", "–": "-", "—": "-", "−": "-", "×": "x", "•": "*", "●": "o", "○": "o", "◉": "@", "◆": "*", "◇": "*",
    "■": "#", "□": "o", "▪": "*", "▫": "o", "▲": "^", "▼": "v", "△": "^", "▽": "v", "▶": ">", "◀": "<", "▸": "+", "▾": "-",
    "▹": "+", "▿": "-", "↑": "^", "↓": "v", "←": "<", "→": ">", "↵": "<", "⏎": "<", "⇥": ">", "✓": "v", "✔": "v", "✗": "x",
    "✘": "x", "⚠": "!", "Σ": "S", "Δ": "d", "σ": "s", "µ": "u", "μ": "u", "≈": "~", "≥": ">", "≤": "<", "≠": "!", "±": "~",
    "∞": "8", "°": "o", "‘": "'", "’": "'", "“": '"', "”": '"', "„": '"', "«": "<", "»": ">", "‹": "<",
    "›": ">", "∙": ".", "\u00a0": " ", "¹": "1",
    "²": "2", "³": "3", "⁴": "4", "⁵": "5", "⁶": "6", "⁷": "7", "⁸": "8", "⁹": "9", "⎯": "-", "⎸": "|", "⎹": "|", "🔎": "/ ",
}  # fmt: skip
_HORIZONTAL = "─━┄┅┈┉╌╍═╴╶╸╺╼╾"
_VERTICAL = "│┃┆┇┊┋╎╏║╵╷╹╻╽╿"
# Lower parts of a cell (strips, sparklines), left parts (bars), and the rest of the block elements.
_BLOCKS = dict(zip("▁▂▃▄▅▆▇█▉▊▋▌▍▎▏", "_.-=+*####=|---", strict=True))
_BLOCKS |= {"▀": '"', "▐": "#", "░": ".", "▒": ":", "▓": "%", "▔": "-", "▕": "|"}
KEY_WORDS = {"⏎": "enter", "↑": "up", "↓": "down", "←": "left", "→": "right", "⇥": "tab"}
"""Names of keys whose signs say nothing in ASCII."""


def wants_ascii(environ: Mapping[str, str]) -> bool:
    """Whether the environment asks for ASCII: by our variable, or by a locale with another character set than UTF-8."""
    stated = environ.get(ASCII_VARIABLE, "")
    if stated:
        return stated != "0"
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    charset = locale.partition(".")[2].partition("@")[0].lower().replace("-", "")
    return charset not in ("", "utf8")


def to_ascii(text: str) -> str:
    """The text in ASCII, in as many cells."""
    if text.isascii():
        return text
    width = cell_len(text)
    return "".join(map(_char, text)).ljust(width)[:width]


@lru_cache(maxsize=4096)
def _char(char: str) -> str:
    if char.isascii():
        return char
    cells = cell_len(char)
    found = _SINGLES.get(char) or _drawing(ord(char), char)
    if not found:
        plain = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode("ascii")
        found = plain if len(plain) == cells and plain.isprintable() else UNKNOWN
    return found.ljust(cells, UNKNOWN)[:cells]


def _drawing(code: int, char: str) -> str:
    if 0x2500 <= code <= 0x257F:
        if char in _HORIZONTAL:
            return "-"
        return "|" if char in _VERTICAL else {"╱": "/", "╲": "\\", "╳": "X"}.get(char, "+")
    if 0x2580 <= code <= 0x259F:
        return _BLOCKS.get(char, "#")
    if 0x2800 <= code <= 0x28FF:
        return " ..:::###"[(code - 0x2800).bit_count()]
    return ""


class AsciiFilter(LineFilter):
    """Replaces each character by one that every terminal has. Textual keeps the result with each drawn line."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's
        if all(segment.text.isascii() for segment in segments):
            return segments
        return [Segment(to_ascii(text), style, control) for text, style, control in segments]
