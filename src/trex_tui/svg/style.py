"""Styles of charts as classes with colours.

A style is a theme token (`bold $accent`), a kind (`kind-gemm`) or a precision (`precision-FP16`). An element has it as its
class, and its colour on a light page as a presentation attribute, and draws in `currentColor`. So a style sheet that sets
`color` for a class changes fills and lines alike, and a viewer that knows no style sheets shows the colours still.
"""

from __future__ import annotations

from functools import lru_cache

from trex_tui.charts.figure import Palette
from trex_tui.colours import DARK, LIGHT, kind_style, precision_style
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind

ROOT = "trex-chart"
"""Class of every picture."""
_MUTED = {"light": "#6b737a", "dark": "#939ba3"}
_SCREEN_DARK = "@media screen and (prefers-color-scheme: dark)"


def kind_class(kind: LayerKind) -> str:
    """The style of a kind, to be given to whatever draws."""
    return f"kind-{kind.value}"


def precision_class(precision: DataType | None) -> str:
    """The style of a precision."""
    return f"precision-{precision.value}" if precision else "precision-unknown"


PALETTE = Palette(kind_class, precision_class)
"""For the charts that this package draws: the class keeps what the colour stands for."""

_TOKENS = {
    **{kind_class(kind): kind_style(kind) for kind in LayerKind},
    **{precision_class(one): precision_style(one) for one in (*DataType, None)},
}


@lru_cache(maxsize=512)
def classes_and_colour(style: str) -> tuple[str, str]:
    """The class of a style, and its colour on a light page.

    Args:
        style: A kind's or a precision's class, or a theme token, with or without `bold`.
    """
    if style in _TOKENS:
        return style, _colour(_TOKENS[style], LIGHT, _MUTED["light"])
    name = style.rpartition("$")[2] or "foreground"
    return f"tone-{name}", _colour(style, LIGHT, _MUTED["light"])


def _colour(token: str, theme: dict[str, str], muted: str) -> str:
    name = token.rpartition("$")[2]
    return muted if name == "muted" else theme.get(name, theme["foreground"])


def _rules(theme: dict[str, str], muted: str) -> str:
    """The colour of each class: those of one colour in one rule."""
    names: dict[str, list[str]] = {}
    for token in (*LIGHT, "muted"):
        names.setdefault(_colour(f"${token}", theme, muted), []).append(f"tone-{token}")
    for name, token in _TOKENS.items():
        names.setdefault(_colour(token, theme, muted), []).append(name)
    return "\n".join(
        f"{','.join(f'.{ROOT} .{name}' for name in group)}{{color:{colour}}}"
        for colour, group in names.items()
    )


def stylesheet(dark: str = _SCREEN_DARK) -> str:
    """What a page that holds pictures includes once.

    Args:
        dark: The at-rule in which the page is dark; by default the choice of the reader's system, on screens alone.
    """
    return (
        f".{ROOT}{{max-width:100%;height:auto}}\n{_rules(LIGHT, _MUTED['light'])}\n"
        f"{dark}{{\n{_rules(DARK, _MUTED['dark'])}\n}}\n"
    )


def own_stylesheet() -> str:
    """What a picture that stands alone has in it: the same, and the colours of its ground and its text."""
    return (
        f".{ROOT}{{color:{LIGHT['foreground']}}}\n{stylesheet()}"
        f"{_SCREEN_DARK}{{.{ROOT}{{color:{DARK['foreground']}}}}}\n"
    )
