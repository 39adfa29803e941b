"""A layered picture in SVG, without Graphviz: seconds where `dot` takes minutes. No script, no link, nothing from outside."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import accumulate
from xml.sax.saxutils import escape, quoteattr

from trex_tui.report.charts.grid import split_cells
from trex_tui.report.graph.layout import GAP, layered, middles
from trex_tui.report.graph.model import HIGHLIGHT, EdgeRole, EngineGraph, NodeRole
from trex_tui.text import printable

_CELL, _LINE, _PADDING = 6.1, 13.0, 7.0
"""Of a letter of 10 pixels in a monospaced font (0.61 em, a little more than most), of a line, around the lines."""
_BETWEEN_ROWS, _MARGIN, _LANE = 30.0, 20.0, 7.0
_DASHES = {EdgeRole.LOOP: ' stroke-dasharray="5 3"'}

_STYLE = (
    'text{font:10px "DejaVu Sans Mono",Menlo,Consolas,monospace;fill:#1d242b;text-anchor:middle;white-space:pre}'
    ".e{fill:none;stroke-width:1.1}.t{font-size:13px;text-anchor:start}.l{text-anchor:start}"
    ".n:hover rect{stroke-width:3}"
)


def write_svg(graph: EngineGraph) -> str:
    """The picture. Equal graphs give equal pictures."""
    picture = _Picture(graph)
    width = max(picture.width, 640.0)
    legend, top = _legend(graph, width)
    height = picture.bottom + top
    body = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        f"<title>{escape(graph.title)}</title>",
        f"<style>{_STYLE}</style>",
        f"<defs>{''.join(picture.markers())}</defs>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *legend,
        f'<g transform="translate(0 {top:g})">',
        *picture.edges(),
        *map(picture.node, range(len(graph.nodes))),
        "</g>",
        "</svg>",
    ]
    return "\n".join(body) + "\n"


class _Picture:
    """Where everything stands: middles of boxes, tops and heights of boxes and rows, in pixels."""

    def __init__(self, graph: EngineGraph) -> None:
        self._graph = graph
        nodes = graph.nodes
        self._widths = [
            2 * _PADDING + _CELL * max((len(split_cells(line)) for line in node.lines), default=4)
            for node in nodes
        ]
        self._heights = [2 * _PADDING + _LINE * max(1, len(node.lines)) for node in nodes]
        self._layering = layering = layered(len(nodes), [(edge.source, edge.target) for edge in graph.edges])
        self._row_heights = [
            max((self._heights[number] for number in row if number < layering.boxes), default=_LINE)
            for row in layering.rows
        ]
        # The tops of rows, and the end of the last.
        self._tops = list(accumulate((tall + _BETWEEN_ROWS for tall in self._row_heights), initial=_MARGIN))
        self._y = [0.0] * len(nodes)
        for number, row in enumerate(layering.row_of[: len(nodes)]):
            if row >= 0:
                self._y[number] = self._tops[row] + (self._row_heights[row] - self._heights[number]) / 2
        self._x = middles(layering, self._widths)
        wide = [*self._widths, *[0.0] * (len(self._x) - len(nodes))]
        drawn = [number for row in layering.rows for number in row]
        left = min((self._x[number] - wide[number] / 2 for number in drawn), default=0.0) - _MARGIN
        for number in drawn:
            self._x[number] -= left
        self._right = max((self._x[number] + wide[number] / 2 for number in drawn), default=0.0)
        self.bottom = self._tops[-1]
        self._place_alone(layering.alone)
        self._lanes, count = self._find_lanes()
        self.width = self._right + 2 * _MARGIN + count * _LANE
        self._paints = sorted({edge.paint for edge in graph.edges})

    def _place_alone(self, alone: Sequence[int]) -> None:
        """Boxes that nothing joins: in rows below the others, in their order, about as wide as high."""
        if not alone:
            return
        column = max(self._widths[number] for number in alone) + GAP
        row = max(self._heights[number] for number in alone) + GAP
        across = max(1, round(math.sqrt(len(alone) * row / column) + 0.5), int(self._right // column))
        for index, number in enumerate(alone):
            self._x[number] = _MARGIN + (index % across + 0.5) * column - GAP / 2
            self._y[number] = self.bottom + index // across * row
            self._right = max(self._right, self._x[number] + self._widths[number] / 2)
        self.bottom += math.ceil(len(alone) / across) * row

    def _find_lanes(self) -> tuple[dict[int, float], int]:
        """The x of every arrow that runs beside the rows, each as far left as the others leave room; and how many lanes."""
        rows = self._layering.row_of
        spans = []
        for number in self._layering.beside:
            edge = self._graph.edges[number]
            spans.append((*sorted((rows[edge.source], rows[edge.target])), number))
        busy: list[tuple[int, int]] = []
        free: list[int] = []
        lanes: dict[int, float] = {}
        count = 0
        for first, last, number in sorted(spans):
            while busy and busy[0][0] < first:
                heappush(free, heappop(busy)[1])
            if free:
                lane = heappop(free)
            else:
                lane, count = count, count + 1
            heappush(busy, (last, lane))
            lanes[number] = self._right + _MARGIN + lane * _LANE
        return lanes, count

    def markers(self) -> Iterator[str]:
        """The heads of arrows, one for each colour."""
        for number, paint in enumerate(self._paints):
            yield (
                f'<marker id="a{number}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" markerHeight="6" '
                f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{paint}"/></marker>'
            )

    def edges(self) -> Iterator[str]:
        """The arrows."""
        for number, edge in enumerate(self._graph.edges):
            path = self._path_beside(number) if number in self._lanes else self._path_through(number)
            yield (
                f'<path class="e" d="{path}" stroke="{edge.paint}"{_DASHES.get(edge.role, "")} '
                f'marker-end="url(#a{self._paints.index(edge.paint)})"><title>{escape(edge.text)}</title></path>'
            )

    def _path_through(self, number: int) -> str:
        """From row to row: curves between the rows, straight through them."""
        source, *chain = self._layering.chains[number]
        x, y = self._x[source], self._y[source] + self._heights[source]
        path = [f"M{x:.1f} {y:.1f}"]
        for piece in chain:
            is_target = piece < self._layering.boxes
            row, end = self._layering.row_of[piece], self._x[piece]
            below = self._y[piece] if is_target else self._tops[row]
            middle = (y + below) / 2
            path.append(f"C{x:.1f} {middle:.1f} {end:.1f} {middle:.1f} {end:.1f} {below:.1f}")
            x, y = end, below
            if not is_target:
                y += self._row_heights[row]
                path.append(f"V{y:.1f}")
        return "".join(path)

    def _path_beside(self, number: int) -> str:
        """Out of the box, to the lane in the space below its row, along, and back in the space above the target's row."""
        edge, rows = self._graph.edges[number], self._layering.row_of
        out = self._tops[rows[edge.source]] + self._row_heights[rows[edge.source]] + _BETWEEN_ROWS / 3
        back = self._tops[rows[edge.target]] - _BETWEEN_ROWS / 3
        start, end = self._y[edge.source] + self._heights[edge.source], self._y[edge.target]
        x, target = self._x[edge.source] + 6, self._x[edge.target] + 6
        return f"M{x:.1f} {start:.1f}V{out:.1f}H{self._lanes[number]:.1f}V{back:.1f}H{target:.1f}V{end:.1f}"

    def node(self, number: int) -> str:
        """A box with its lines."""
        node = self._graph.nodes[number]
        x, y, width, height = self._x[number], self._y[number], self._widths[number], self._heights[number]
        radius = 4 if node.role is NodeRole.LAYER else min(14.0, height / 2)
        frame = (
            f'stroke="{HIGHLIGHT}" stroke-width="3"' if node.is_highlighted else f'stroke="{node.paint.line}"'
        )
        lines = "".join(
            f'<text x="{x:.1f}" y="{y + _PADDING + _LINE * row + 10:.1f}">{escape(text)}</text>'
            for row, text in enumerate(node.lines)
        )
        tooltip = "\n".join(map(printable, node.tooltip.split("\n")))
        return (
            f'<g class="n" id={quoteattr(node.id)}><title>{escape(tooltip)}</title>'
            f'<rect x="{x - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius:g}" '
            f'fill="{node.paint.fill}" {frame}/>{lines}</g>'
        )


def _legend(graph: EngineGraph, width: float) -> tuple[list[str], float]:
    """Title and colours, in as many lines as they take, and where the graph begins."""
    drawn = [f'<text class="t" x="{_MARGIN:g}" y="26">{escape(graph.title)}</text>']
    x, y = _MARGIN, 38.0
    for text, paint in graph.legend:
        wide = 24.0 + _CELL * len(split_cells(text))
        if x + wide > width and x > _MARGIN:
            x, y = _MARGIN, y + 18.0
        drawn.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="14" height="11" rx="2" fill="{paint.fill}" stroke="{paint.line}"/>'
            f'<text class="l" x="{x + 19:.1f}" y="{y + 9.5:.1f}">{escape(text)}</text>'
        )
        x += wide + 10.0
    return drawn, y + 22.0
