"""Layers as points: signs for kinds, and which of several in one cell shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trex_tui.charts.axes import Scale
from trex_tui.charts.figure import HERE_STYLE, Subject
from trex_tui.charts.grid import Part, Span
from trex_tui.charts.legend import kind_entries
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer

HERE_SIGN = "◉"
_SIGNS = {
    LayerKind.CONVOLUTION: "●",
    LayerKind.GEMM: "■",
    LayerKind.ATTENTION: "◆",
    LayerKind.POINTWISE: "▲",
    LayerKind.REDUCTION: "▽",
    LayerKind.SOFTMAX: "▼",
    LayerKind.POOLING: "△",
    LayerKind.QUANTIZE: "◇",
    LayerKind.REFORMAT: "□",
}
_OTHER = "○"


@dataclass(frozen=True, slots=True)
class Point:
    """A layer with its two values."""

    layer: Layer
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Cloud:
    """What a chart of points is of.

    Attributes:
        x, y: The scales, with their titles.
        look: Sign and style of a layer's point.
        legend: What signs and styles mean.
        level: A value of y that is a limit.
    """

    points: Sequence[Point]
    x: Scale
    y: Scale
    look: Callable[[Layer], tuple[str, str]]
    legend: Sequence[Span]
    level: float | None = None


def kind_sign(kind: LayerKind) -> str:
    """The sign of a kind, which tells it where there is no colour; kinds that matter little share one."""
    return _SIGNS.get(kind, _OTHER)


def kind_look(subject: Subject) -> Callable[[Layer], tuple[str, str]]:
    """Sign and style of layers by their kinds."""
    return lambda layer: (kind_sign(layer.kind), subject.palette.kind(layer.kind))


def kind_legend(subject: Subject, points: Sequence[Point]) -> list[Span]:
    """The kinds among the points, the most frequent first."""
    counts = Counter(point.layer.kind for point in points)
    return kind_entries(counts, subject.palette.kind, kind_sign)


def paint_points(
    area: Part,
    points: Sequence[Point],
    x: Scale,
    y: Scale,
    look: Callable[[Layer], tuple[str, str]],
    current: Layer | None,
) -> None:
    """Draw each point with its sign and style; of several in a cell the slowest shows, the current layer above all."""
    ordered = sorted(points, key=lambda point: (point.layer is current, point.layer.latency_ms or 0.0))
    for point in ordered:
        column, row = x.cell(point.x, area.width), area.height - 1 - y.cell(point.y, area.height)
        is_here = point.layer is current
        sign, style = (HERE_SIGN, HERE_STYLE) if is_here else look(point.layer)
        area.put(column, row, sign, style)


def number_words(value: float) -> str:
    """A short label: 0.01, 1, 100, 10 k, 1 M."""
    for limit, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit * 0.9999:
            size = 1e3 if prefix == "k" else limit
            return f"{value / size:g} {prefix}"
    return f"{value:g}"
