"""Colours of the terminal: our themes. Which kind, precision and severity has which of their tokens is `colours`' to say."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

from textual.color import Color
from textual.theme import Theme

from trex_tui.report.colours import DARK, LIGHT, kind_style, precision_style, severity_style
from trex_tui.widgets.terminal import PLAIN_THEME

if TYPE_CHECKING:
    from trex_tui.screens.settings import Settings

__all__ = [
    "CONTRAST_DARK",
    "CONTRAST_LIGHT",
    "DEFAULT_THEME",
    "THEMES",
    "TREX_DARK",
    "TREX_LIGHT",
    "first_theme",
    "kind_style",
    "muted_colour",
    "precision_style",
    "severity_style",
    "theme_setting",
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
    variables={"footer-key-foreground": "#f0a868", "block-cursor-text-style": "none"},
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
    variables={"footer-key-foreground": "#b35a00", "block-cursor-text-style": "none"},
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
    """The theme to start with: what the environment states, else what a person chose last, else ours."""
    stated = environ.get("TEXTUAL_THEME", "")
    if stated in available:
        is_ours_to_choose = stated == PLAIN_THEME and settings.plain_theme in available
        return settings.plain_theme if is_ours_to_choose and not environ.get("NO_COLOR") else stated
    return settings.theme if settings.theme in available else DEFAULT_THEME


def theme_setting(environ: Mapping[str, str], name: str) -> str:
    """The setting to keep a chosen theme in; empty where it is the terminal that chose."""
    if "TEXTUAL_THEME" not in environ:
        return "theme"
    return "plain_theme" if environ["TEXTUAL_THEME"] == PLAIN_THEME and name.startswith("ansi") else ""


def muted_colour(theme: Theme) -> str:
    """Colour of secondary text, for `$muted`: Textual's own `$text-muted` is not known outside of style sheets."""
    if theme.name.startswith("ansi"):
        return "ansi_default"
    background = Color.parse(theme.background or ("#121212" if theme.dark else "#e0e0e0"))
    if theme in (CONTRAST_DARK, CONTRAST_LIGHT):
        return theme.foreground or "ansi_default"
    foreground = Color.parse(theme.foreground) if theme.foreground else background.inverse
    return background.blend(foreground, 0.62).hex
