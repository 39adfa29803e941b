"""A layered picture in SVG, without Graphviz: seconds where `dot` takes minutes. No script, no link, nothing from outside."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from xml.sax.saxutils import escape, quoteattr

from trex_tui.report.charts.grid import cells_of
from trex_tui.report.graph.layout import GAP, Layering, layered, middles
from trex_tui.report.graph.model import HIGHLIGHT, EdgeRole, EngineGraph, Node, NodeRole, Paint
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


@dataclass(slots=True)
class _Picture:
    """Where everything stands: middles of boxes, tops and heights of rows, in pixels."""

    graph: EngineGraph
    layering: Layering
    widths: list[float]
    heights: list[float]
    x: list[float]
    y: list[float]
    """Of the tops of boxes."""
    tops: list[float]
    """Of rows, and the end of the last."""
    row_heights: list[float]
    right: float
    bottom: float


def write_svg(graph: EngineGraph) -> str:
    """The picture. Equal graphs give equal pictures."""
    picture = _placed(graph)
    lanes, width = _lanes(picture)
    head = list(_legend(graph, max(width, 640.0)))
    top = head.pop() if head else ""
    height = picture.bottom + float(top)
    body = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{max(width, 640):.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {max(width, 640):.0f} {height:.0f}" role="img">',
        f"<title>{escape(graph.title)}</title>",
        f"<style>{_STYLE}</style>",
        f"<defs>{''.join(_markers(graph))}</defs>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *head,
        f'<g transform="translate(0 {top})">',
        *_edges(picture, lanes),
        *(_node(picture, number) for number in range(len(graph.nodes))),
        "</g>",
        "</svg>",
    ]
    return "\n".join(body) + "\n"


def _placed(graph: EngineGraph) -> _Picture:
    widths = [
        2 * _PADDING + _CELL * max((len(cells_of(line)) for line in node.lines), default=4)
        for node in graph.nodes
    ]
    heights = [2 * _PADDING + _LINE * max(1, len(node.lines)) for node in graph.nodes]
    layering = layered(len(graph.nodes), [(edge.source, edge.target) for edge in graph.edges])
    x = middles(layering, widths)
    tops, row_heights, top = [], [], _MARGIN
    for row in layering.rows:
        tall = max((heights[one] for one in row if one < layering.boxes), default=_LINE)
        tops.append(top)
        row_heights.append(tall)
        top += tall + _BETWEEN_ROWS
    y = [0.0] * len(graph.nodes)
    for number in range(len(graph.nodes)):
        place = layering.row_of[number]
        if place >= 0:
            y[number] = tops[place] + (row_heights[place] - heights[number]) / 2
    drawn = [number for row in layering.rows for number in row]
    wide = [*widths, *[0.0] * (len(x) - len(widths))]
    left = min((x[one] - wide[one] / 2 for one in drawn), default=0.0) - _MARGIN
    for one in drawn:
        x[one] -= left
    right = max((x[one] + wide[one] / 2 for one in drawn), default=0.0)
    picture = _Picture(graph, layering, widths, heights, x, y, [*tops, top], row_heights, right, top)
    _place_alone(picture)
    return picture


def _place_alone(picture: _Picture) -> None:
    """Boxes that nothing joins: in rows below the others, in their order, about as wide as high."""
    alone, top = picture.layering.alone, picture.bottom
    if not alone:
        return
    column = max(picture.widths[one] for one in alone) + GAP
    row = max(picture.heights[one] for one in alone) + GAP
    across = max(1, round(math.sqrt(len(alone) * row / column) + 0.5), int(picture.right // column))
    for place, one in enumerate(alone):
        picture.x[one] = _MARGIN + (place % across + 0.5) * column - GAP / 2
        picture.y[one] = top + place // across * row
        picture.right = max(picture.right, picture.x[one] + picture.widths[one] / 2)
    picture.bottom = top + math.ceil(len(alone) / across) * row


def _lanes(picture: _Picture) -> tuple[dict[int, float], float]:
    """The x of every arrow that runs beside the rows, each as far left as the others leave room; and the width of all."""
    graph, rows = picture.graph, picture.layering.row_of
    spans = []
    for number in picture.layering.beside:
        ends = rows[graph.edges[number].source], rows[graph.edges[number].target]
        spans.append((min(ends), max(ends), number))
    spans.sort()
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    found: dict[int, float] = {}
    count = 0
    for first, last, number in spans:
        while busy and busy[0][0] < first:
            heappush(free, heappop(busy)[1])
        if free:
            lane = heappop(free)
        else:
            lane, count = count, count + 1
        heappush(busy, (last, lane))
        found[number] = picture.right + _MARGIN + lane * _LANE
    return found, picture.right + 2 * _MARGIN + count * _LANE


def _edges(picture: _Picture, lanes: dict[int, float]) -> Iterator[str]:
    numbers = {paint: place for place, paint in enumerate(_line_paints(picture.graph))}
    for number, edge in enumerate(picture.graph.edges):
        path = _beside(picture, number, lanes[number]) if number in lanes else _through(picture, number)
        yield (
            f'<path class="e" d="{path}" stroke="{edge.paint}"{_DASHES.get(edge.role, "")} '
            f'marker-end="url(#a{numbers[edge.paint]})"><title>{escape(edge.text)}</title></path>'
        )


def _through(picture: _Picture, number: int) -> str:
    """From row to row: curves between the rows, straight through them."""
    chain = picture.layering.chains[number]
    source, target = chain[0], chain[-1]
    x, y = picture.x[source], picture.y[source] + picture.heights[source]
    path = [f"M{x:.1f} {y:.1f}"]
    for one in chain[1:]:
        row = picture.layering.row_of[one]
        below = picture.y[target] if one == target else picture.tops[row]
        middle = (y + below) / 2
        path.append(
            f"C{x:.1f} {middle:.1f} {picture.x[one]:.1f} {middle:.1f} {picture.x[one]:.1f} {below:.1f}"
        )
        x, y = picture.x[one], below
        if one != target:
            y += picture.row_heights[row]
            path.append(f"V{y:.1f}")
    return "".join(path)


def _beside(picture: _Picture, number: int, lane: float) -> str:
    """Out of the box, to the lane in the space below its row, along, and back in the space above the target's row."""
    edge = picture.graph.edges[number]
    rows = picture.layering.row_of
    out = picture.tops[rows[edge.source]] + picture.row_heights[rows[edge.source]] + _BETWEEN_ROWS / 3
    back = picture.tops[rows[edge.target]] - _BETWEEN_ROWS / 3
    start = picture.y[edge.source] + picture.heights[edge.source]
    x, end = picture.x[edge.source] + 6, picture.x[edge.target] + 6
    return f"M{x:.1f} {start:.1f}V{out:.1f}H{lane:.1f}V{back:.1f}H{end:.1f}V{picture.y[edge.target]:.1f}"


def _line_paints(graph: EngineGraph) -> list[str]:
    return sorted({edge.paint for edge in graph.edges})


def _markers(graph: EngineGraph) -> Iterator[str]:
    for place, paint in enumerate(_line_paints(graph)):
        yield (
            f'<marker id="a{place}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" markerHeight="6" '
            f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{paint}"/></marker>'
        )


def _node(picture: _Picture, number: int) -> str:
    node: Node = picture.graph.nodes[number]
    width, height = picture.widths[number], picture.heights[number]
    x, y = picture.x[number], picture.y[number]
    round_by = 4 if node.role is NodeRole.LAYER else min(14.0, height / 2)
    line = f'stroke="{HIGHLIGHT}" stroke-width="3"' if node.is_highlighted else f'stroke="{node.paint.line}"'
    lines = "".join(
        f'<text x="{x:.1f}" y="{y + _PADDING + _LINE * place + 10:.1f}">{escape(text)}</text>'
        for place, text in enumerate(node.lines)
    )
    return (
        f'<g class="n" id={quoteattr(node.id)}><title>{escape(_harmless(node.tooltip))}</title>'
        f'<rect x="{x - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{round_by:g}" '
        f'fill="{node.paint.fill}" {line}/>{lines}</g>'
    )


def _harmless(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def _legend(graph: EngineGraph, width: float) -> Iterator[str]:
    """Title and colours, in as many lines as they take; the last that is yielded is where the graph begins."""
    yield f'<text class="t" x="{_MARGIN:g}" y="26">{escape(graph.title)}</text>'
    x, y = _MARGIN, 38.0
    for text, paint in graph.legend:
        wide = 24.0 + _CELL * len(cells_of(text))
        if x + wide > width and x > _MARGIN:
            x, y = _MARGIN, y + 18.0
        yield _swatch(x, y, text, paint)
        x += wide + 10.0
    yield f"{y + 22.0:g}"


def _swatch(x: float, y: float, text: str, paint: Paint) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="14" height="11" rx="2" fill="{paint.fill}" stroke="{paint.line}"/>'
        f'<text class="l" x="{x + 19:.1f}" y="{y + 9.5:.1f}">{escape(text)}</text>'
    )
