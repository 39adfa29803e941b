"""Arrange two engines side by side: a lane of layers for each, in execution order, aligned by blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from trex_tui.old.analysis.compare.model import Block, Comparison
from trex_tui.old.engine.model import Layer


class LaneRow(NamedTuple):
    """A layer of either engine, or of both. (A tuple, because 40 000 of them may be made in a keystroke.)

    Attributes:
        block: Block of the layers.
        number: Index of the row in its block, from 0.
        counts: Layers of the block in the left and in the right lane. Only if both are 1, the layers of the row match;
            other layers of a block are paired in execution order.
        layers: The layer in the left and in the right lane; None for a gap.
        are_early: Whether the left and the right layer run before a layer above them in their lane.
    """

    block: Block
    number: int
    counts: tuple[int, int]
    layers: tuple[Layer | None, Layer | None]
    are_early: tuple[bool, bool]


def align_lanes(comparison: Comparison, engine: int, blocks: Iterable[Block] | None = None) -> list[LaneRow]:
    """Align the layers of the baseline, left, and of another engine, right.

    Blocks are in the execution order of the baseline; those of the other engine alone are inserted where they run. Each layer
    of both engines is in exactly one row.

    Args:
        engine: Index of the other engine.
        blocks: Show only these; by default all.
    """
    left_index, right_index = comparison.baseline, engine
    left_layers, right_layers = comparison.engines[left_index].layers, comparison.engines[right_index].layers
    rows: list[LaneRow] = []
    last_left = last_right = -1
    for block in sorted(comparison.blocks if blocks is None else blocks, key=lambda block: block.index):
        lefts, rights = block.layers[left_index], block.layers[right_index]
        counts = len(lefts), len(rights)
        for number in range(max(counts)):
            left = left_layers[lefts[number]] if number < counts[0] else None
            right = right_layers[rights[number]] if number < counts[1] else None
            are_early = (
                left is not None and left.index < last_left,
                right is not None and right.index < last_right,
            )
            rows.append(LaneRow(block, number, counts, (left, right), are_early))
            last_left = last_left if left is None else max(last_left, left.index)
            last_right = last_right if right is None else max(last_right, right.index)
    return rows
