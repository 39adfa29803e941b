"""Colours: our themes, and one map from kinds and precisions to theme tokens.

Only tokens, never literal colours, reach the widgets, so that every theme works, the 16-colour ones included. Kind and
precision are always words as well: nothing is told by colour alone.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

from textual.color import Color
from textual.theme import Theme

from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.terminal import PLAIN_THEME

if TYPE_CHECKING:
    from trex_tui.settings import Settings

TREX_DARK = Theme(
    name="trex-dark",
    primary="#5fb3b3",
    secondary="#8fa8f0",
    accent="#f0a868",
    success="#9ccc65",
    warning="#e5c453",
    error="#f07171",
    foreground="#d5dbe1",
    background="#0e1318",
    surface="#131a21",
    panel="#1b242d",
    dark=True,
    variables={"footer-key-foreground": "#f0a868", "block-cursor-text-style": "none"},
)
TREX_LIGHT = Theme(
    name="trex-light",
    primary="#1f7a7a",
    secondary="#3f57b5",
    accent="#b35a00",
    success="#3d7a1f",
    warning="#8a6a00",
    error="#b3261e",
    foreground="#1d242b",
    background="#f6f7f5",
    surface="#ffffff",
    panel="#e6e9e6",
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


_IDLE = "$muted"
_KINDS = {
    LayerKind.CONVOLUTION: "$primary",
    LayerKind.GEMM: "$accent",
    LayerKind.ATTENTION: "bold $accent",
    LayerKind.POINTWISE: "$success",
    LayerKind.REDUCTION: "$secondary",
    LayerKind.SOFTMAX: "$secondary",
    LayerKind.POOLING: "$secondary",
    LayerKind.SCALE: "$success",
    LayerKind.QUANTIZE: "$warning",
    LayerKind.REFORMAT: "$warning",
    LayerKind.PLUGIN: "$error",
    LayerKind.FUSED: "bold $secondary",
    LayerKind.MYELIN: "bold $secondary",
    LayerKind.CONSTANT: _IDLE,
    LayerKind.SHAPE: _IDLE,
    LayerKind.SYNC: _IDLE,
    LayerKind.NOOP: _IDLE,
}
_PRECISIONS = {
    DataType.FP32: "$error",
    DataType.TF32: "$error",
    DataType.FP16: "$accent",
    DataType.BF16: "$accent",
    DataType.INT8: "$success",
    DataType.FP8: "$success",
    DataType.INT4: "bold $success",
    DataType.FP4: "bold $success",
}
_SEVERITIES = {"error": "bold $error", "warning": "$warning", "info": "$secondary", "good": "$success"}


def muted_colour(theme: Theme) -> str:
    """Colour of secondary text, for `$muted`: Textual's own `$text-muted` is not known outside of style sheets."""
    if theme.name.startswith("ansi"):
        return "ansi_default"
    background = Color.parse(theme.background or ("#121212" if theme.dark else "#e0e0e0"))
    if theme in (CONTRAST_DARK, CONTRAST_LIGHT):
        return theme.foreground or "ansi_default"
    foreground = Color.parse(theme.foreground) if theme.foreground else background.inverse
    return background.blend(foreground, 0.62).hex


def kind_style(kind: LayerKind) -> str:
    """Style of a kind; movement of data (shuffle, slice, concat, resize) stays in the colour of text."""
    return _KINDS.get(kind, "$foreground")


def precision_style(precision: DataType | None) -> str:
    """Style of a precision: the wider, the warmer."""
    return _PRECISIONS.get(precision, "$muted") if precision else "$muted"


def severity_style(severity: str | None) -> str:
    """Style of a severity, of a diagnostic or of a finding; of none where there is none."""
    return _SEVERITIES[severity] if severity else "$muted"
