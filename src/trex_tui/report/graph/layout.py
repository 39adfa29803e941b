"""Rows of a layered drawing: which box stands in which row, and in which order.

The drawing of Sugiyama, Tagawa and Toda (1981) in steps that are all near-linear: rows by the longest path, long arrows cut
into pieces that pass through the rows between, orders by barycentres. An engine comes in execution order, which already runs
forward, so that no search for cycles is needed: what does not run forward is drawn beside the rows.

Where boxes stand in their rows: as near to their neighbours as the boxes beside them allow.

For one row with its order given, that is a least-squares problem with gaps to keep, and isotonic regression solves it in one
pass (pool adjacent violators: Ayer et al. 1955).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

SWEEPS = 8
"""Passes down and up over the rows; more of them hardly move anything."""
_PIECES_EACH, _PIECES_FREE = 4, 1000
"""Pieces of long arrows for each box, and beside that: what exceeds them runs beside the rows. Keeps the work linear."""


@dataclass(slots=True)
class Layering:
    """Rows of boxes and of pieces of arrows. Both are numbered: boxes from 0 as they came, pieces from `boxes` on.

    Attributes:
        boxes: How many boxes there are.
        rows: Numbers from left to right, row by row. Boxes that nothing joins are in none.
        row_of: Row of every box and piece; -1 for a box that nothing joins.
        chains: Edge -> the numbers it runs through, from its source to its target, one in each row.
        beside: Edges that run beside the rows: loops, and the longest ones.
        alone: Boxes that nothing joins.
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
    """Rows and orders.

    Args:
        boxes: How many there are; edges from a smaller to a larger number run forward.
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
    """Each box one row below the lowest that feeds it; what nothing feeds, right above the first that it feeds."""
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
    """Lead every edge through the rows between its ends, the shortest first, as long as there is a budget."""
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
    """Sort each row by the mean place of its neighbours in the row before, alternately from above and from below."""
    place = [0.0] * len(layering.row_of)
    for row in layering.rows:
        _number(row, place)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        neighbours = layering.above if down else layering.below
        changed = False
        for row in layering.rows if down else reversed(layering.rows):
            if len(row) < 2:
                continue
            before = list(row)
            means = {item: _mean([place[other] for other in neighbours[item]], place[item]) for item in row}
            row.sort(key=lambda item, means=means: (means[item], place[item]))  # type: ignore[misc]
            _number(row, place)
            changed = changed or row != before
        if not changed and sweep:
            break


def _number(row: Sequence[int], place: list[float]) -> None:
    """Places count from the middle of the row, so that rows of different lengths can be compared."""
    for position, item in enumerate(row):
        place[item] = position - (len(row) - 1) / 2


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


GAP = 22.0
"""Free space between boxes of a row, pixels."""
_SWEEPS = 6
_STRAIGHT = 8.0
"""How much more a piece of a long arrow clings to the next piece than a box to a box: long arrows are straight."""


def spread(
    wanted: Sequence[float], weights: Sequence[float], widths: Sequence[float], gap: float
) -> list[float]:
    """Middles of boxes, in order, without overlap, with the least weighted sum of squared distances from what is wanted."""
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
    """The x of every box and piece.

    Args:
        widths: Of boxes; pieces of arrows have none.
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
