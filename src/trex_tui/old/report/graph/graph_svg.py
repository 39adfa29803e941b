"""A layered picture in SVG, without Graphviz: seconds instead of minutes. No scripts, links or external resources.

The drawing of Sugiyama, Tagawa and Toda (1981) in steps that are all near-linear: rows by the longest path, long arrows split
into pieces that pass through the rows between, orders by barycentres. An engine comes in execution order, which already runs
forward, so that no search for cycles is needed: backward arrows are drawn beside the rows.

Within its row a box is as near to its neighbours as the boxes beside it allow. For a row with its order given, this is a
least-squares problem with minimum gaps, and isotonic regression solves it in one pass (pool adjacent violators: Ayer et al.
1955).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from xml.sax.saxutils import escape, quoteattr

from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.charts.grid import split_cells, wrap_text
from trex_tui.old.report.graph.model import HIGHLIGHT, TENSOR, Edge, EdgeRole, EngineGraph, Node, NodeRole
from trex_tui.old.text import printable

SWEEPS = 8
"""Passes down and up over the rows; more of them hardly change anything."""
_PIECES_EACH, _PIECES_FREE = 4, 1000
"""Pieces of long arrows per box, plus a constant: further arrows run beside the rows. Keeps the work linear."""


@dataclass(slots=True)
class Layering:
    """Rows of boxes and of pieces of arrows. Both are numbered: boxes from 0 in the given order, pieces from `boxes` on.

    Attributes:
        boxes: Number of boxes.
        rows: Numbers from left to right, row by row. Boxes without links are in none.
        row_of: Row of every box and piece; -1 for a box without links.
        chains: Edge -> the numbers it passes through, from its source to its target, one in each row.
        beside: Edges beside the rows: loops, and the longest ones.
        alone: Boxes without links.
    """

    boxes: int
    rows: list[list[int]] = field(default_factory=list)
    row_of: list[int] = field(default_factory=list)
    chains: dict[int, list[int]] = field(default_factory=dict)
    beside: list[int] = field(default_factory=list)
    alone: list[int] = field(default_factory=list)
    above: list[list[int]] = field(default_factory=list)
    """Neighbours in the row above, for every box and piece."""
    below: list[list[int]] = field(default_factory=list)


def layered(boxes: int, edges: Sequence[tuple[int, int]]) -> Layering:
    """Return rows and orders.

    Args:
        boxes: Number of boxes; edges from a smaller to a larger number run forward.
        edges: Source and target.
    """
    layering = Layering(boxes)
    layering.row_of = _rows_by_longest_path(boxes, edges)
    joined = {end for edge in edges for end in edge}
    layering.alone = [box for box in range(boxes) if box not in joined]
    for box in layering.alone:
        layering.row_of[box] = -1
    _cut_into_pieces(layering, edges)
    for number, row in enumerate(layering.row_of):
        if row >= 0:
            while len(layering.rows) <= row:
                layering.rows.append([])
            layering.rows[row].append(number)
    _order(layering)
    return layering


def _rows_by_longest_path(boxes: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Place each box one row below its lowest source; boxes without sources directly above their first target."""
    rows = [0] * boxes
    first_fed: list[int | None] = [None] * boxes
    is_fed = [False] * boxes
    forward = sorted(edge for edge in edges if edge[0] < edge[1])
    for source, target in forward:
        rows[target] = max(rows[target], rows[source] + 1)
        is_fed[target] = True
    for source, target in forward:
        nearest = first_fed[source]
        first_fed[source] = rows[target] if nearest is None else min(nearest, rows[target])
    for box in range(boxes):
        nearest = first_fed[box]
        if not is_fed[box] and nearest is not None:
            rows[box] = nearest - 1
    return rows


def _cut_into_pieces(layering: Layering, edges: Sequence[tuple[int, int]]) -> None:
    """Route every edge through the rows between its ends, the shortest first, within the budget."""
    row_of = layering.row_of
    budget = _PIECES_FREE + _PIECES_EACH * layering.boxes
    layering.above = [[] for _ in range(layering.boxes)]
    layering.below = [[] for _ in range(layering.boxes)]
    spans = sorted((row_of[target] - row_of[source], number) for number, (source, target) in enumerate(edges))
    for span, number in spans:
        source, target = edges[number]
        if span < 1 or span - 1 > budget:
            layering.beside.append(number)
            continue
        budget -= span - 1
        chain = [source]
        for row in range(row_of[source] + 1, row_of[target]):
            chain.append(len(row_of))
            row_of.append(row)
            layering.above.append([])
            layering.below.append([])
        chain.append(target)
        layering.chains[number] = chain
        for upper, lower in pairwise(chain):
            layering.below[upper].append(lower)
            layering.above[lower].append(upper)
    layering.beside.sort()


def _order(layering: Layering) -> None:
    """Sort each row by the mean position of its neighbours in the row before, alternately from above and from below."""
    offsets = [0.0] * len(layering.row_of)
    for row in layering.rows:
        _number(row, offsets)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        neighbours = layering.above if down else layering.below
        changed = False
        for row in layering.rows if down else reversed(layering.rows):
            if len(row) < 2:
                continue
            before = list(row)
            means = {
                item: _mean([offsets[other] for other in neighbours[item]], offsets[item]) for item in row
            }
            row.sort(key=lambda item, means=means: (means[item], offsets[item]))  # type: ignore[misc]
            _number(row, offsets)
            changed = changed or row != before
        if not changed and sweep:
            break


def _number(row: Sequence[int], offsets: list[float]) -> None:
    """Number the boxes from the middle of the row, so that rows of different lengths can be compared."""
    for position, item in enumerate(row):
        offsets[item] = position - (len(row) - 1) / 2


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


GAP = 22.0
"""Free space between boxes of a row, pixels."""
_SWEEPS = 6
_STRAIGHT = 8.0
"""Weight of a link between two pieces of a long arrow relative to one between boxes, which keeps long arrows straight."""


def spread(
    wanted: Sequence[float], weights: Sequence[float], widths: Sequence[float], gap: float
) -> list[float]:
    """Return middles of boxes, in order, without overlap, with the least weighted sum of squared distances from `wanted`."""
    offsets, offset = [], 0.0
    for index, width in enumerate(widths):
        if index:
            offset += (widths[index - 1] + width) / 2 + gap
        offsets.append(offset)
    blocks: list[list[float]] = []  # mean, weight, how many
    for want, shift, weight in zip(wanted, offsets, weights, strict=True):
        mean, total, count = want - shift, weight, 1.0
        while blocks and blocks[-1][0] >= mean:
            before, before_total, before_count = blocks.pop()
            mean = (mean * total + before * before_total) / (total + before_total)
            total += before_total
            count += before_count
        blocks.append([mean, total, count])
    means = [mean for mean, _, count in blocks for _ in range(int(count))]
    return [mean + shift for mean, shift in zip(means, offsets, strict=True)]


def middles(layering: Layering, widths: Sequence[float]) -> list[float]:
    """Return the x of every box and piece.

    Args:
        widths: Widths of boxes; pieces of arrows have none.
    """
    boxes = layering.boxes
    wide = [*widths, *[0.0] * (len(layering.row_of) - boxes)]
    x = [0.0] * len(wide)
    for row in layering.rows:
        for item, middle in zip(
            row, spread([0.0] * len(row), [1.0] * len(row), [wide[o] for o in row], GAP), strict=True
        ):
            x[item] = middle
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for row in layering.rows if down else reversed(layering.rows):
            _settle(layering, row, wide, x, down=down)
    return x


def _settle(
    layering: Layering, row: Sequence[int], widths: Sequence[float], x: list[float], *, down: bool
) -> None:
    neighbours = layering.above if down else layering.below
    boxes = layering.boxes
    wanted, weights = [], []
    for item in row:
        others = neighbours[item]
        pull = total = 0.0
        for other in others:
            weight = _STRAIGHT if item >= boxes and other >= boxes else 1.0
            pull += weight * x[other]
            total += weight
        wanted.append(pull / total if total else x[item])
        weights.append(total or 0.1)
    for item, middle in zip(row, spread(wanted, weights, [widths[item] for item in row], GAP), strict=True):
        x[item] = middle


_CELL, _LINE, _PADDING = 6.1, 13.0, 7.0
"""Width of a letter of 10 pixels in a monospaced font (0.61 em, a little more than most), height of a line, padding."""
_TITLE_CELL, _TITLE_LINE = 7.95, 18.0
"""The same for the title, which has 13 pixels."""
_BETWEEN_ROWS, _MARGIN, _LANE = 30.0, 20.0, 7.0
_DASHES = {EdgeRole.LOOP: ' stroke-dasharray="5 3"'}

_STYLE = (
    'text{font:10px "DejaVu Sans Mono",Menlo,Consolas,monospace;fill:#1d242b;text-anchor:middle;white-space:pre}'
    ".e{fill:none;stroke-width:1.1}.t{font-size:13px;text-anchor:start}.l{text-anchor:start}"
    ".n:hover rect{stroke-width:3}"
)


def write_svg(graph: EngineGraph) -> str:
    """Return the picture. Equal graphs give equal pictures."""
    graph = _with_label_nodes(graph)
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
        f'<g transform="translate({(width - picture.width) / 2:g} {top:g})">',
        *picture.edges(),
        *map(picture.node, range(len(graph.nodes))),
        "</g>",
        "</svg>",
    ]
    return "\n".join(body) + "\n"


def _with_label_nodes(graph: EngineGraph) -> EngineGraph:
    """Return the graph with a node for each label of arrows, between the layer that writes the tensor and all that read it.

    Rows and gaps then separate labels as they separate boxes. In the order a label comes directly before the first box that
    it leads to, so that data runs forward through it.
    """
    labels: dict[tuple[int, EdgeRole, str, str], int] = {}
    label_of: dict[int, tuple[int, EdgeRole, str, str]] = {}
    for number, edge in enumerate(graph.edges):
        if edge.label:
            label_of[number] = (edge.source, edge.role, edge.tensor, edge.label)
            first = labels.get(label_of[number], edge.target)
            labels[label_of[number]] = min(first, edge.target)
    if not labels:
        return graph
    ordered = sorted(labels, key=lambda label: (labels[label], label[0]))
    nodes: list[Node] = []
    moved: dict[int, int] = {}
    placed: dict[tuple[int, EdgeRole, str, str], int] = {}
    for number, node in enumerate(graph.nodes):
        while len(placed) < len(ordered) and labels[ordered[len(placed)]] == number:
            label = ordered[len(placed)]
            placed[label] = len(nodes)
            nodes.append(Node("", NodeRole.LABEL, label[2], (label[3],), "", TENSOR, node.order))
        moved[number] = len(nodes)
        nodes.append(node)
    edges: list[Edge] = []
    drawn = set[tuple[int, EdgeRole, str, str]]()
    for number, edge in enumerate(graph.edges):
        source = moved[edge.source]
        if number in label_of:
            label = label_of[number]
            if label not in drawn:
                edges.append(replace(edge, source=source, target=placed[label]))
                drawn.add(label)
            source = placed[label]
        edges.append(replace(edge, source=source, target=moved[edge.target]))
    return replace(graph, nodes=tuple(nodes), edges=tuple(edges))


class _Picture:
    """Positions: middles of boxes, tops and heights of boxes and rows, in pixels."""

    def __init__(self, graph: EngineGraph) -> None:
        self._graph = graph
        nodes = graph.nodes
        self._widths = [
            2 * _PADDING + _CELL * max((len(split_cells(line)) for line in node.lines), default=4)
            for node in nodes
        ]
        self._heights = [
            _LINE + 2.0 if node.role is NodeRole.LABEL else 2 * _PADDING + _LINE * max(1, len(node.lines))
            for node in nodes
        ]
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
        """Place boxes without links in rows below the others, in their order, about as wide as high."""
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
        """Return the x of every arrow beside the rows, each as far left as the others allow, and the number of lanes."""
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
        """Yield the heads of arrows, one for each colour."""
        for number, paint in enumerate(self._paints):
            yield (
                f'<marker id="a{number}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" markerHeight="6" '
                f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{paint}"/></marker>'
            )

    def edges(self) -> Iterator[str]:
        """Yield the arrows."""
        for number, edge in enumerate(self._graph.edges):
            path = self._path_beside(number) if number in self._lanes else self._path_through(number)
            yield (
                f'<path class="e" d="{path}" stroke="{edge.paint}"{_DASHES.get(edge.role, "")}'
                f"{self._head(edge)}><title>{escape(edge.text)}</title></path>"
            )

    def _head(self, edge: Edge) -> str:
        """Return the attribute for the head of an arrow; a line that ends at its label has none."""
        is_label = self._graph.nodes[edge.target].role is NodeRole.LABEL
        return "" if is_label else f' marker-end="url(#a{self._paints.index(edge.paint)})"'

    def _path_through(self, number: int) -> str:
        """Draw from row to row: curves between the rows, straight through them."""
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
        """Draw from the box to the lane in the space below its row, along it, and back above the target's row."""
        edge, rows = self._graph.edges[number], self._layering.row_of
        out = self._tops[rows[edge.source]] + self._row_heights[rows[edge.source]] + _BETWEEN_ROWS / 3
        back = self._tops[rows[edge.target]] - _BETWEEN_ROWS / 3
        start, end = self._y[edge.source] + self._heights[edge.source], self._y[edge.target]
        x, target = self._x[edge.source] + 6, self._x[edge.target] + 6
        return f"M{x:.1f} {start:.1f}V{out:.1f}H{self._lanes[number]:.1f}V{back:.1f}H{target:.1f}V{end:.1f}"

    def node(self, number: int) -> str:
        """Return a box with its lines; a label is text only."""
        node = self._graph.nodes[number]
        x, y, width, height = self._x[number], self._y[number], self._widths[number], self._heights[number]
        if node.role is NodeRole.LABEL:
            return f'<text x="{x:.1f}" y="{y + 11:.1f}">{escape(node.lines[0])}</text>'
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
    """Return title and colours, in as many lines as necessary, and the top of the graph."""
    lines = wrap_text(graph.title, int((width - 2 * _MARGIN) / _TITLE_CELL))
    drawn = [
        f'<text class="t" x="{_MARGIN:g}" y="{26 + _TITLE_LINE * row:g}">{escape(line)}</text>'
        for row, line in enumerate(lines)
    ]
    x, y = _MARGIN, 20.0 + _TITLE_LINE * max(1, len(lines))
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
