"""Colors by meaning, for the themes trex-dark and trex-light, for 16 colors, and for none; ASCII for terminals without Unicode.

Widgets name tokens (`$primary`, `$bits-16`), never colors. Kind and precision are always words as well.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter
from textual.style import Style
from textual.theme import Theme
from textual.widget import Widget

_DARK = {
    "bits-32": "#e07a5f", "bits-16": "#e6b84a", "bits-8": "#2fd6b5", "bits-4": "#b08cf5", "current": "#f06ac0", "muted": "#8b949c",
}  # fmt: skip
_LIGHT = {
    "bits-32": "#5f1c06", "bits-16": "#845905", "bits-8": "#0c6a5c", "bits-4": "#16286e", "current": "#b01fa0", "muted": "#5b636a",
}  # fmt: skip
_ANSI = {
    "bits-32": "ansi_bright_red", "bits-16": "ansi_yellow", "bits-8": "ansi_cyan", "bits-4": "ansi_bright_white",
    "current": "ansi_bright_magenta", "muted": "ansi_default", "text-muted": "ansi_default",
}  # fmt: skip
_ANSI_DARK = {
    "primary": "ansi_cyan", "secondary": "ansi_bright_cyan", "accent": "ansi_bright_yellow", "error": "ansi_bright_red",
    "footer-key-foreground": "ansi_bright_yellow",
}  # fmt: skip
"""Blue (34) cannot be read on black."""
_CURSOR = {"block-cursor-text-style": "none"}
TREX_DARK = Theme(
    name="trex-dark", dark=True, primary="#5fc3c3", secondary="#8fa8f0", accent="#f5b07a", success="#b4e650",
    warning="#c9a227", error="#e06c75", foreground="#d5dbe1", background="#0e1318", surface="#131a21", panel="#1b242d",
    variables={**_DARK, **_CURSOR, "text-muted": _DARK["muted"]},
)  # fmt: skip
TREX_LIGHT = Theme(
    name="trex-light", dark=False, primary="#14696f", secondary="#3040a8", accent="#7a3200", success="#3a6b2c",
    warning="#7d6200", error="#96103c", foreground="#1d242b", background="#f6f7f5", surface="#ffffff", panel="#e6e9e6",
    variables={**_LIGHT, **_CURSOR, "text-muted": _LIGHT["muted"]},
)  # fmt: skip
CONTRAST_DARK = Theme(
    name="trex-contrast-dark", dark=True, primary="#7fe0ff", secondary="#c9d4ff", accent="#ffd75f", success="#8cff8c",
    warning="#ffe66d", error="#ff9a9a", foreground="#ffffff", background="#000000", surface="#000000", panel="#1c1c1c",
    variables={**_DARK, **_CURSOR, "muted": "#ffffff", "text-muted": "#ffffff", "footer-key-foreground": "#ffd75f"},
)  # fmt: skip
CONTRAST_LIGHT = Theme(
    name="trex-contrast-light", dark=False, primary="#003f5c", secondary="#1f1f8f", accent="#7a2e00", success="#0b4f0b",
    warning="#5a4000", error="#8b0000", foreground="#000000", background="#ffffff", surface="#ffffff", panel="#ececec",
    variables={**_LIGHT, **_CURSOR, "muted": "#000000", "text-muted": "#000000", "footer-key-foreground": "#7a2e00"},
)  # fmt: skip
THEMES = (TREX_DARK, TREX_LIGHT, CONTRAST_DARK, CONTRAST_LIGHT)


def token_defaults(theme: Theme) -> dict[str, str]:
    """Return our tokens for a theme that has none of them."""
    if theme.ansi:
        return _ANSI
    return _DARK if theme.dark else _LIGHT


def token_overrides(theme: Theme) -> dict[str, str]:
    """Return variables that replace those of Textual's theme."""
    return {**_ANSI, **(_ANSI_DARK if theme.dark else {})} if theme.ansi else {}


# Styles by meaning

_KINDS = {
    "convolution": "$primary", "gemm": "$accent", "attention": "bold $accent", "pointwise": "$success", "scale": "$success",
    "reduction": "$secondary", "normalization": "$secondary", "softmax": "$secondary", "pooling": "$secondary",
    "quantize": "$bits-32", "reformat": "$bits-32", "plugin": "$error", "fused": "bold $secondary", "myelin": "bold $secondary",
    "constant": "$muted", "shape": "$muted", "sync": "$muted", "noop": "$muted",
}  # fmt: skip
_PRECISIONS = {
    **dict.fromkeys(("FP32", "TF32"), "$bits-32"), **dict.fromkeys(("FP16", "BF16"), "$bits-16"),
    **dict.fromkeys(("INT8", "FP8"), "$bits-8"), **dict.fromkeys(("INT4", "FP4"), "$bits-4"),
}  # fmt: skip
SEVERITIES = {"error": "bold $error", "warning": "$warning", "info": "$secondary", "good": "$success"}
LETTERS = {"E": "error", "W": "warning", "i": "info", "✓": "good"}
"""Sign of a finding in a table -> its severity."""


def kind_style(kind: str) -> str:
    return _KINDS.get(kind, "")


def precision_style(precision: str) -> str:
    """Return the style of a precision, by its width: the wider, the warmer."""
    return _PRECISIONS.get(precision, "$muted")


def severity_style(severity: str) -> str:
    return SEVERITIES.get(LETTERS.get(severity, severity), "$muted")


CELL_STYLES: Mapping[str, Callable[[Any], str]] = {
    "kind": kind_style,
    "precision": precision_style,
    "output_precision": precision_style,
    "severity": severity_style,
    "index": lambda _: "$muted",
    "lanes": lambda _: "$secondary",
}
"""Key of a column -> style of a value, in every table."""


def component_style(widget: Widget, name: str) -> Style:
    """Return the style of a component class of a widget; Textual 8.2 leaves `reverse` out."""
    style = widget.get_visual_style(name)
    return style + Style(reverse=True) if widget.get_component_styles(name).text_style.reverse else style


# ASCII

_SIGNS = {
    "…": "~", "·": "|", "–": "-", "—": "-", "−": "-", "×": "x", "•": "*", "●": "o", "○": "o", "◉": "@", "◆": "*", "◇": "*",
    "■": "#", "□": "o", "▪": "*", "▫": "o", "▲": "^", "▼": "v", "△": "^", "▽": "v", "▶": ">", "◀": "<", "▸": "+", "▾": "-",
    "↑": "^", "↓": "v", "←": "<", "→": ">", "↵": "<", "⏎": "<", "⇥": ">", "✓": "v", "✗": "x", "⚠": "!", "Σ": "S", "Δ": "d",
    "σ": "s", "µ": "u", "μ": "u", "≈": "~", "≥": ">", "≤": "<", "≠": "!", "±": "~", "⇒": "=", "°": "o", "‘": "'", "’": "'",
    "“": '"', "”": '"', "‹": "<", "›": ">", "∙": ".", "\u00a0": " ", "²": "2", "³": "3", "🔎": "/ ", "⭘": "o", "━": "-",
}  # fmt: skip
_BLOCKS = dict(zip("▁▂▃▄▅▆▇█▉▊▋▌▍▎▏▀▐░▒▓▔▕▖▗▘▝▙▛▜▟▚▞", "_.-=+*####==|--\"#.:%-|..''######", strict=True))


def wants_ascii(environ: Mapping[str, str]) -> bool:
    """Return whether to draw with ASCII alone: by TREX_TUI_ASCII, or by a locale other than UTF-8."""
    stated = environ.get("TREX_TUI_ASCII", "")
    if stated:
        return stated != "0"
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    charset = locale.partition(".")[2].partition("@")[0].lower().replace("-", "")
    return charset not in ("", "utf8")


@lru_cache(maxsize=8192)
def to_ascii(text: str) -> str:
    """Return a text in ASCII, with the same number of cells."""
    return text if text.isascii() else "".join(map(_sign, text))


def _sign(char: str) -> str:
    if char.isascii():
        return char
    cells, code = cell_len(char), ord(char)
    if 0x2500 <= code < 0x2580 and char not in _SIGNS:
        sign = "-" if char in "─╴╶━═" else "|" if char in "│╵╷┃║" else "+"
    elif 0x2800 <= code < 0x2900:
        sign = " ..:::###"[(code - 0x2800).bit_count()]
    else:
        plain = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode("ascii")
        sign = _SIGNS.get(char) or _BLOCKS.get(char) or (plain if len(plain) == cells else "?")
    return sign.ljust(cells)[:cells]


class AsciiFilter(LineFilter):
    """Replaces characters outside ASCII on their way to the terminal, whoever drew them."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's signature
        return [Segment(to_ascii(text), style, control) for text, style, control in segments]


def is_ascii() -> bool:
    """Return whether this process draws with ASCII alone."""
    return wants_ascii(os.environ)
