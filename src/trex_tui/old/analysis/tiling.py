"""Tiles of a kernel's result, one per thread block, and how well they fit."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from trex_tui.old.analysis.compute import Compute
from trex_tui.old.engine.attributes import GROUPS
from trex_tui.old.engine.model import Layer
from trex_tui.old.engine.tactics import Shape, Tactic
from trex_tui.old.lazy_pattern import lazy_pattern

# Kernels whose blocks do not map to tiles of the result one to one.
_OTHER_SCHEDULE = lazy_pattern(r"split_?k|stream_?k|_2sm|_dyn_", re.IGNORECASE)


class Tiling(NamedTuple):
    """A product split into tiles.

    Attributes:
        rows, columns: Extents of a tile, along M and N.
        tiles: Number of tiles.
        useful: Part of their area inside the product, from 0 to 1.
    """

    rows: int
    columns: int
    tiles: int
    useful: float


@lru_cache(maxsize=4096)  # networks repeat their products
def compute_tiling(product: Compute, tile: Shape) -> Tiling | None:
    """Return the tiling of a product; of both orientations (operands may be swapped) the one that wastes less."""
    if not product.m or not product.n or len(tile) < 2 or min(tile[:2]) < 1:
        return None
    best = None
    for rows, columns in (tile[:2], tile[1::-1]):
        down, across = -(-product.m // rows), -(-product.n // columns)
        useful = product.m * product.n / (down * rows * across * columns)
        if best is None or useful > best.useful:
            best = Tiling(rows, columns, (product.batch or 1) * down * across, useful)
    return best


def find_tiling(layer: Layer, product: Compute, tactic: Tactic | None) -> Tiling | None:
    """Return the tiling of a layer's product; None if the kernel names no tile, or its tiles belong to another product."""
    if tactic is None or tactic.tile is None or tactic.is_winograd or (GROUPS(layer) or 1) > 1:
        return None
    return compute_tiling(product, tactic.tile)


def has_plain_schedule(tactic: Tactic) -> bool:
    """Return whether each thread block of the kernel computes one tile of the result."""
    return not _names_other_schedule(tactic.name)


@lru_cache(maxsize=4096)  # many layers run the same kernel
def _names_other_schedule(name: str) -> bool:
    return _OTHER_SCHEDULE.search(name) is not None
