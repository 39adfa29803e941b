"""Styles of charts as classes with colours, and SVG elements.

A style is a theme token (`bold $accent`), a kind (`kind-gemm`) or a precision (`precision-FP16`). An element has it as its
class, and its colour on a light page as a presentation attribute, and draws in `currentColor`. So a style sheet that sets
`color` for a class changes fills and lines alike, and viewers without style sheets still show the colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from html import escape

from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.report.charts.figure import MUTED, Palette
from trex_tui.old.report.charts.grid import shorten, split_cells
from trex_tui.old.report.colours import DARK, LIGHT, kind_class, kind_style, precision_class, precision_style
from trex_tui.old.text import printable, shorten_middle

ROOT = "trex-chart"
"""Class of every picture."""
_MUTED = {"light": "#6b737a", "dark": "#939ba3"}
_SCREEN_DARK = "@media screen and (prefers-color-scheme: dark)"


PALETTE = Palette(kind_class, precision_class)
"""For the charts of this package: the class keeps the meaning of the colour."""

_TOKENS = {
    **{kind_class(kind): kind_style(kind) for kind in LayerKind},
    **{precision_class(dtype): precision_style(dtype) for dtype in (*DataType, None)},
}


@lru_cache(maxsize=512)
def classes_and_colour(style: str) -> tuple[str, str]:
    """Return the class of a style, and its colour on a light page.

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
    """Return the colour of each class, with one rule per colour."""
    names: dict[str, list[str]] = {}
    for token in (*LIGHT, "muted"):
        names.setdefault(_colour(f"${token}", theme, muted), []).append(f"tone-{token}")
    for name, token in _TOKENS.items():
        names.setdefault(_colour(token, theme, muted), []).append(name)
    return "\n".join(
        f"{','.join(f'.{ROOT} .{name}' for name in group)}{{color:{colour}}}"
        for colour, group in names.items()
    )


def stylesheet() -> str:
    """Return the style sheet that a page with pictures includes once; dark as the reader's system, on screens only."""
    return (
        f".{ROOT}{{max-width:100%;height:auto}}\n{_rules(LIGHT, _MUTED['light'])}\n"
        f"{_SCREEN_DARK}{{\n{_rules(DARK, _MUTED['dark'])}\n}}\n"
    )


def own_stylesheet() -> str:
    """Return the style sheet of a standalone picture: the same, with the colours of background and text."""
    return (
        f".{ROOT}{{color:{LIGHT['foreground']}}}\n{stylesheet()}"
        f"{_SCREEN_DARK}{{.{ROOT}{{color:{DARK['foreground']}}}}}\n"
    )


FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace"
FONT_SIZE = 12
CHAR = 7.23
"""Width of a character of `FONT` at `FONT_SIZE`: 0.602 em in all of them."""
LINE = 16
LONGEST_TITLE = 240
"""Maximum characters of a tooltip: a name may have 16 384, and there may be thousands of marks."""

_POLYGONS = {
    "■": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "◆": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "▲": ((0, -1.2), (1.2, 1), (-1.2, 1)),
    "▼": ((0, 1.2), (1.2, -1), (-1.2, -1)),
}
_HOLLOW = {"□": "■", "◇": "◆", "△": "▲", "▽": "▼", "○": "●"}
_ROUND = {"●": 1.0, "•": 0.8, "∙": 0.55}
_LINES = {"━": "", "┊": "3 3"}
PATTERNS = {"█": 1.0, "▓": 0.8, "▒": 0.6, "░": 0.42}
"""Opacity for the characters that fill parts of bars in a terminal."""
SIGNS = frozenset({*_POLYGONS, *_HOLLOW, *_ROUND, *_LINES, *PATTERNS})
"""Signs that `sign` can draw."""


def escaped(text: str) -> str:
    """Escape text for content or attributes: printable, and only characters of XML 1.0."""
    return escape(printable(text))


def number(value: float) -> str:
    """Format a coordinate with at most two decimals."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def tag(name: str, content: str | None = None, **attributes: str | float | None) -> str:
    """Return an element; underscores in attributes become hyphens, None omits an attribute.

    Args:
        content: SVG, escaped already.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is not None:
            shown = escaped(value) if isinstance(value, str) else number(value)
            parts.append(f'{key.rstrip("_").replace("_", "-")}="{shown}"')
    head = " ".join(parts)
    return f"<{head}/>" if content is None else f"<{head}>{content}</{name}>"


def titled(text: str | None) -> str | None:
    """Return the content of an element with a tooltip, shortened in the middle if very long."""
    return None if text is None else f"<title>{escaped(shorten_middle(text, LONGEST_TITLE))}</title>"


def words(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    style: str | None = None,
    title: str | None = None,
) -> str:
    """Return a line of text.

    Args:
        y: Position of its base line.
        anchor: `start`, `middle` or `end`: the part of it at `x`.
        style: Its colour; None for that of the surrounding text.
        title: The full text, if it is shortened.
    """
    name, colour = classes_and_colour(style) if style else (None, None)
    return tag(
        "text",
        (titled(title) or "") + escaped(text),
        class_=name,
        color=colour,
        x=x,
        y=y,
        text_anchor=None if anchor == "start" else anchor,
    )


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    style: str,
    title: str | None = None,
    *,
    opacity: float = 1.0,
) -> str:
    """Return a filled rectangle."""
    name, colour = classes_and_colour(style)
    return tag(
        "rect",
        titled(title),
        class_=name,
        color=colour,
        x=x,
        y=y,
        width=max(0.0, width),
        height=max(0.0, height),
        fill_opacity=None if opacity == 1.0 else opacity,
    )


def line(x1: float, y1: float, x2: float, y2: float, style: str = MUTED, dashes: str | None = None) -> str:
    """Return a straight line."""
    return path([(x1, y1), (x2, y2)], style, width=1.0, dashes=dashes)


def path(
    points: Sequence[tuple[float, float]],
    style: str,
    *,
    width: float = 1.6,
    dashes: str | None = None,
    title: str | None = None,
    opacity: float | None = None,
) -> str:
    """Return points joined by lines."""
    name, colour = classes_and_colour(style)
    steps = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return tag(
        "path",
        titled(title),
        class_=name,
        color=colour,
        d=f"M{steps}",
        fill="none",
        stroke="currentColor",
        stroke_width=width,
        stroke_dasharray=dashes or None,
        stroke_opacity=opacity,
    )


def sign(char: str, x: float, y: float, style: str, title: str | None = None, size: float = 4.0) -> str:
    """Return a shape around a point; a circle for characters other than `SIGNS`."""
    if char in _LINES:
        return path([(x - size, y), (x + size, y)], style, dashes=_LINES[char], title=title)
    if char in PATTERNS:
        return box(x - size, y - size, 2 * size, 2 * size, style, title, opacity=PATTERNS[char])
    name, colour = classes_and_colour(style)
    is_hollow = char in _HOLLOW
    solid = _HOLLOW.get(char, char)
    look: dict[str, str | float | None] = {"class_": name, "color": colour}
    if is_hollow:
        look |= {"fill": "none", "stroke": "currentColor", "stroke_width": 1.4, "pointer_events": "all"}
    if solid in _POLYGONS:
        corners = (f"{number(x + size * dx)} {number(y + size * dy)}" for dx, dy in _POLYGONS[solid])
        return tag("path", titled(title), **look, d=f"M{'L'.join(corners)}Z")
    return tag("circle", titled(title), **look, cx=x, cy=y, r=size * _ROUND.get(solid, 1.0))


def measure_width(text: str) -> float:
    """Return the width of a line of text."""
    return CHAR * len(split_cells(printable(text)))


def cut(text: str, room: float) -> str:
    """Return printable text cut to a width."""
    text = printable(text)
    return text if measure_width(text) <= room else shorten(text, max(1, int(room / CHAR)))
