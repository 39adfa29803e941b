"""Where boxes stand in their rows: as near to their neighbours as the boxes beside them allow.

For one row with its order given, that is a least-squares problem with gaps to keep, and isotonic regression solves it in one
pass (pool adjacent violators: Ayer et al. 1955).
"""

from __future__ import annotations

from collections.abc import Sequence

from trex_tui.graphs.layering import Layering

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
    for place, width in enumerate(widths):
        if place:
            offset += (widths[place - 1] + width) / 2 + gap
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
        for one, middle in zip(
            row, spread([0.0] * len(row), [1.0] * len(row), [wide[o] for o in row], GAP), strict=True
        ):
            x[one] = middle
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
    for one in row:
        others = neighbours[one]
        pull = total = 0.0
        for other in others:
            weight = _STRAIGHT if one >= boxes and other >= boxes else 1.0
            pull += weight * x[other]
            total += weight
        wanted.append(pull / total if total else x[one])
        weights.append(total or 0.1)
    for one, middle in zip(row, spread(wanted, weights, [widths[one] for one in row], GAP), strict=True):
        x[one] = middle
