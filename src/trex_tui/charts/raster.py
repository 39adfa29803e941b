"""Lines in dots of braille, drawn by plotext. The only module that knows it.

plotext keeps one figure per process and colours with escape sequences. Here it draws nothing but the lines, on a canvas
without axes, under a lock; the number of a series stands in for its colour, and becomes a style again on the way back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from trex_tui.charts.grid import Part

_LOCK = Lock()
_FIRST_COLOUR = 16
_ESCAPES = re.compile(r"\x1b\[([0-9;]*)m")
_BLANKS = " \u2800"


@dataclass(frozen=True, slots=True)
class Curve:
    """Points that are joined by lines.

    Attributes:
        xs, ys: Places in the plot, 0 to 1 from its lower left corner; what is beyond is drawn at the edge.
        style: Of the dots.
    """

    xs: Sequence[float]
    ys: Sequence[float]
    style: str


def draw_curves(area: Part, curves: Sequence[Curve]) -> None:
    """Draw curves into a part of a grid, the last on top. Cells without a dot stay as they are."""
    known = [curve for curve in curves if curve.xs]
    if not known or area.width < 2 or area.height < 2:
        return
    for y, row in enumerate(_built(known, area.width, area.height)):
        x, style = 0, ""
        for position, piece in enumerate(_ESCAPES.split(row)):
            if position % 2:
                style = _style_of(piece, known, style)
                continue
            for char in piece:
                if char not in _BLANKS:
                    area.put(x, y, char, style)
                x += 1


def _style_of(codes: str, curves: Sequence[Curve], style: str) -> str:
    parts = codes.split(";")
    if parts[:2] == ["38", "5"]:
        return curves[int(parts[2]) - _FIRST_COLOUR].style
    return style


def _built(curves: Sequence[Curve], width: int, height: int) -> list[str]:
    import plotext  # type: ignore[import-untyped]  # 47 ms, for those who look at a chart

    with _LOCK:
        plotext.clear_figure()
        plotext.limit_size(False, False)
        plotext.plotsize(width, height)
        plotext.frame(False)
        plotext.xticks([], [])
        plotext.yticks([], [])
        plotext.xlim(0, 1)
        plotext.ylim(0, 1)
        for number, curve in enumerate(curves):
            xs, ys = (_inside(values) for values in (curve.xs, curve.ys))
            plotext.plot(xs, ys, marker="braille", color=_FIRST_COLOUR + number)
        built = str(plotext.build())
        plotext.clear_figure()
    return built.split("\n")[:height]


def _inside(values: Sequence[float]) -> list[float]:
    return [min(1.0, max(0.0, value)) for value in values]
