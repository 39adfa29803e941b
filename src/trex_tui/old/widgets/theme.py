"""Appearance in the terminal: the themes of trex-tui, and ASCII characters for terminals without Unicode.

`report.colours` maps kinds, precisions and severities to tokens of a theme. Every ASCII replacement is as wide as the
character: a line keeps its layout, so whatever is drawn, by trex-tui or by a library, is translated on its way to the
terminal, in one place: `AsciiFilter`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import Theme

from trex_tui.old.report.colours import DARK, LIGHT, kind_style, precision_style, severity_style
from trex_tui.old.widgets.terminal import PLAIN_THEME

if TYPE_CHECKING:
    from trex_tui.old.screens.settings import Settings

__all__ = [
    "CONTRAST_DARK",
    "CONTRAST_LIGHT",
    "DEFAULT_THEME",
    "LEAST_CONTRAST",
    "THEMES",
    "TREX_DARK",
    "TREX_LIGHT",
    "contrast",
    "first_theme",
    "kind_style",
    "precision_style",
    "severity_style",
    "theme_setting",
    "theme_variables",
]

TREX_DARK = Theme(
    name="trex-dark",
    primary=DARK["primary"],
    secondary=DARK["secondary"],
    accent=DARK["accent"],
    success=DARK["success"],
    warning=DARK["warning"],
    error=DARK["error"],
    foreground=DARK["foreground"],
    background=DARK["background"],
    surface=DARK["surface"],
    panel=DARK["panel"],
    dark=True,
    variables={"block-cursor-text-style": "none"},
)
TREX_LIGHT = Theme(
    name="trex-light",
    primary=LIGHT["primary"],
    secondary=LIGHT["secondary"],
    accent=LIGHT["accent"],
    success=LIGHT["success"],
    warning=LIGHT["warning"],
    error=LIGHT["error"],
    foreground=LIGHT["foreground"],
    background=LIGHT["background"],
    surface=LIGHT["surface"],
    panel=LIGHT["panel"],
    dark=False,
    variables={"block-cursor-text-style": "none"},
)
CONTRAST_DARK = Theme(
    name="trex-contrast-dark",
    primary="#7fe0ff",
    secondary="#c9d4ff",
    accent="#ffd75f",
    success="#8cff8c",
    warning="#ffe66d",
    error="#ff9a9a",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#1c1c1c",
    dark=True,
    variables={
        "footer-key-foreground": "#ffd75f",
        "block-cursor-text-style": "none",
        "text-muted": "#ffffff",
        "text-disabled": "#ffffff",
    },
)
CONTRAST_LIGHT = Theme(
    name="trex-contrast-light",
    primary="#003f5c",
    secondary="#1f1f8f",
    accent="#7a2e00",
    success="#0b4f0b",
    warning="#5a4000",
    error="#8b0000",
    foreground="#000000",
    background="#ffffff",
    surface="#ffffff",
    panel="#ececec",
    dark=False,
    variables={
        "footer-key-foreground": "#7a2e00",
        "block-cursor-text-style": "none",
        "text-muted": "#000000",
        "text-disabled": "#000000",
    },
)
THEMES = (TREX_DARK, TREX_LIGHT, CONTRAST_DARK, CONTRAST_LIGHT)
DEFAULT_THEME = TREX_DARK.name


def first_theme(environ: Mapping[str, str], settings: Settings, available: Container[str]) -> str:
    """Return the initial theme: that of the environment, else the last chosen, else the default of trex-tui."""
    stated = environ.get("TEXTUAL_THEME", "")
    if stated in available:
        is_ours_to_choose = stated == PLAIN_THEME and settings.plain_theme in available
        return settings.plain_theme if is_ours_to_choose and not environ.get("NO_COLOR") else stated
    return settings.theme if settings.theme in available else DEFAULT_THEME


def theme_setting(environ: Mapping[str, str], name: str) -> str:
    """Return the setting for a chosen theme; empty if the environment decides."""
    if "TEXTUAL_THEME" not in environ:
        return "theme"
    return "plain_theme" if environ["TEXTUAL_THEME"] == PLAIN_THEME and name.startswith("ansi") else ""


LEAST_CONTRAST = 4.5
"""Minimum contrast of text according to WCAG, level AA."""
_GROUNDS = ("background", "surface", "panel")
_OF_TEXT = (
    *("primary", "secondary", "accent", "success", "warning", "error", "foreground", "muted", "current"),
    *("bits-32", "bits-16", "bits-8", "bits-4", "footer-key-foreground", "footer-description-foreground"),
)
# Blue (34) cannot be read on black; green, cyan, yellow and bright colours cannot on white.
_ANSI_DARK = {
    "primary": "ansi_cyan",
    "secondary": "ansi_bright_cyan",
    "accent": "ansi_bright_yellow",
    "error": "ansi_bright_red",
    "bits-32": "ansi_bright_red",
    "bits-16": "ansi_yellow",
    "bits-8": "ansi_cyan",
    "bits-4": "ansi_bright_white",
    "current": "ansi_bright_magenta",
    "footer-key-foreground": "ansi_bright_yellow",
    "scrollbar": "ansi_cyan",
    "scrollbar-hover": "ansi_cyan",
    "scrollbar-active": "ansi_bright_cyan",
    "link-color": "ansi_bright_cyan",
}
_ANSI_LIGHT = {
    "secondary": "ansi_bright_blue",
    "accent": "ansi_red",
    "success": "ansi_blue",
    "warning": "ansi_red",
    "bits-32": "ansi_red",
    "bits-16": "ansi_default",
    "bits-8": "ansi_bright_blue",
    "bits-4": "ansi_blue",
    "current": "ansi_magenta",
    "footer-key-foreground": "ansi_blue",
}
_ANSI_MUTED = {"muted": "ansi_default", "text-muted": "ansi_default"}


def theme_variables(theme: Theme, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a theme with those of trex-tui; every text colour has at least the minimum contrast.

    Args:
        variables: Textual's variables of the theme.
    """
    if theme.ansi:
        return {**variables, **_ANSI_MUTED, **(_ANSI_DARK if theme.dark else _ANSI_LIGHT)}
    made = dict(variables)
    if theme.dark:
        made |= {name: _darkened(Color.parse(made[name])).hex for name in _GROUNDS}
    grounds = [Color.parse(made[name]) for name in _GROUNDS]
    made |= _find_scale(theme, grounds)
    is_high = theme in (CONTRAST_DARK, CONTRAST_LIGHT)
    foreground = Color.parse(variables["foreground"])
    made["muted"] = (foreground if is_high else grounds[0].blend(foreground, 0.62)).hex
    made |= {name: _readable(Color.parse(made[name]), grounds).hex for name in _OF_TEXT}
    made["text-muted"] = made["muted"]
    for cursor in ("block-cursor", "block-cursor-blurred"):
        ground = grounds[1] + Color.parse(variables[f"{cursor}-background"])
        made[f"{cursor}-foreground"] = max((_BLACK, _WHITE), key=lambda end: contrast(end, ground)).hex
    return made


_SCALE = ("bits-32", "bits-16", "bits-8", "bits-4", "current")
# For the backgrounds of other themes: readable on all, and as distinct for colour-blind users as those of trex-tui.
_PALE = dict(zip(_SCALE, ("#f39443", "#ffd81f", "#10df95", "#9da4fa", "#e0a1c6"), strict=True))
_DEEP = dict(zip(_SCALE, ("#3b0806", "#625512", "#3d595d", "#5915f3", "#940aa0"), strict=True))
_LIGHTEST_GROUND = 0.05
"""Luminance of the lightest ground of a dark theme: lighter ones leave no room for distinct colours."""


def _darkened(ground: Color) -> Color:
    mixed = (ground.blend(_BLACK, step / 20, alpha=1.0) for step in range(20))
    return next(mix for mix in mixed if _luminance(mix) <= _LIGHTEST_GROUND)


def _find_scale(theme: Theme, grounds: Sequence[Color]) -> dict[str, str]:
    """Return the colours of precisions and of the current layer: those of trex-tui if readable, else those for any ground."""
    own, other = (DARK, _PALE) if theme.dark else (LIGHT, _DEEP)
    is_readable = all(
        contrast(Color.parse(own[name]), ground) >= LEAST_CONTRAST for name in _SCALE for ground in grounds
    )
    return {name: (own if is_readable else other)[name] for name in _SCALE}


_BLACK, _WHITE = Color.parse("#000000"), Color.parse("#ffffff")


def _readable(colour: Color, grounds: Sequence[Color]) -> Color:
    """Return the colour mixed with just enough black or white for the minimum contrast on all grounds."""
    end = max((_BLACK, _WHITE), key=lambda end: min(contrast(end, ground) for ground in grounds))
    mixed = (colour.blend(end, step / 20, alpha=1.0) for step in range(20))
    return next(
        (mix for mix in mixed if min(contrast(mix, ground) for ground in grounds) >= LEAST_CONTRAST), end
    )


def contrast(first: Color, second: Color) -> float:
    """Contrast ratio of two colours as WCAG 2 defines it, from 1 to 21."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


ASCII_VARIABLE = "TREX_TUI_ASCII"
"""`0` keeps Unicode regardless of the locale; any other value means ASCII only."""

UNKNOWN = "?"

_SINGLES = {
    "…": "~", "·": "|", "–": "-", "—": "-", "−": "-", "×": "x", "•": "*", "●": "o", "○": "o", "◉": "@", "◆": "*", "◇": "*",
    "■": "#", "□": "o", "▪": "*", "▫": "o", "▲": "^", "▼": "v", "△": "^", "▽": "v", "▶": ">", "◀": "<", "▸": "+", "▾": "-",
    "▹": "+", "▿": "-", "↑": "^", "↓": "v", "←": "<", "→": ">", "↵": "<", "⏎": "<", "⇥": ">", "✓": "v", "✔": "v", "✗": "x",
    "✘": "x", "⚠": "!", "Σ": "S", "Δ": "d", "σ": "s", "µ": "u", "μ": "u", "≈": "~", "≥": ">", "≤": "<", "≠": "!", "±": "~",
    "∞": "8", "⇒": "=", "°": "o", "‘": "'", "’": "'", "“": '"', "”": '"', "„": '"', "«": "<", "»": ">", "‹": "<",
    "›": ">", "∙": ".", "\u00a0": " ", "¹": "1",
    "²": "2", "³": "3", "⁴": "4", "⁵": "5", "⁶": "6", "⁷": "7", "⁸": "8", "⁹": "9", "⎯": "-", "⎸": "|", "⎹": "|", "🔎": "/ ",
}  # fmt: skip
_HORIZONTAL = "─━┄┅┈┉╌╍═╴╶╸╺╼╾"
_VERTICAL = "│┃┆┇┊┋╎╏║╵╷╹╻╽╿"
# Lower parts of a cell (strips, sparklines), left parts (bars), and the rest of the block elements.
_BLOCKS = dict(zip("▁▂▃▄▅▆▇█▉▊▋▌▍▎▏", "_.-=+*####=|---", strict=True))
_BLOCKS |= {"▀": '"', "▐": "#", "░": ".", "▒": ":", "▓": "%", "▔": "-", "▕": "|"}
KEY_WORDS = {"⏎": "enter", "↑": "up", "↓": "down", "←": "left", "→": "right", "⇥": "tab"}
"""Names of keys whose signs have no ASCII equivalent."""


def wants_ascii(environ: Mapping[str, str]) -> bool:
    """Return whether the environment requests ASCII: by TREX_TUI_ASCII, or by a locale other than UTF-8."""
    stated = environ.get(ASCII_VARIABLE, "")
    if stated:
        return stated != "0"
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    charset = locale.partition(".")[2].partition("@")[0].lower().replace("-", "")
    return charset not in ("", "utf8")


def to_ascii(text: str) -> str:
    """Return the text in ASCII, with the same number of cells."""
    if text.isascii():
        return text
    width = cell_len(text)
    return "".join(map(_char, text)).ljust(width)[:width]


@lru_cache(maxsize=4096)
def _char(char: str) -> str:
    if char.isascii():
        return char
    cells = cell_len(char)
    ascii_text = _SINGLES.get(char) or _drawing(ord(char), char)
    if not ascii_text:
        plain = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode("ascii")
        ascii_text = plain if len(plain) == cells and plain.isprintable() else UNKNOWN
    return ascii_text.ljust(cells, UNKNOWN)[:cells]


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
    """Replaces characters outside ASCII. Textual caches the result with each drawn line."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's
        if all(segment.text.isascii() for segment in segments):
            return segments
        return [Segment(to_ascii(text), style, control) for text, style, control in segments]
