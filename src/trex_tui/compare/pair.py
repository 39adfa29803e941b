"""Two engines, and the layers matched so far."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Sequence

from trex_tui.compare.layers import EngineLayers, Evidence, Layer, Match

Groups = list[tuple[list[Layer], list[Layer]]]
"""Groups of layers of the left and of the right engine, each ascending."""


class Pair:
    """Two engines, and the layers matched so far. A layer is in one match at most, and matches never merge."""

    def __init__(self, left: EngineLayers, right: EngineLayers) -> None:
        self.left, self.right = left, right
        self.sides = left, right
        self.matches: list[Match] = []

    def open(self, side: int) -> list[Layer]:
        """Return the layers of an engine that may still be matched, ascending."""
        return [layer for layer in self.sides[side].layers if layer.is_open]

    def group(self, key: Callable[[Layer], Hashable], layers: Iterable[Layer] | None = None) -> Groups:
        """Group open layers of both engines by a key; those whose key is None are left out.

        Args:
            layers: The layers to group; all by default.
        """
        groups: dict[Hashable, tuple[list[Layer], list[Layer]]] = {}
        for layer in (*self.open(0), *self.open(1)) if layers is None else layers:
            if layer.is_open and (value := key(layer)) is not None:
                groups.setdefault(value, ([], []))[layer.side].append(layer)
        return list(groups.values())

    def join(
        self, left: Iterable[Layer], right: Iterable[Layer], evidence: Evidence, confidence: float, why: str
    ) -> Match:
        """Match open layers."""
        ends = [sorted(layers, key=lambda layer: layer.index) for layers in (left, right)]
        match = Match(ends[0], ends[1], evidence, confidence, why)
        self.matches.append(match)
        for layer in (*match.left, *match.right):
            layer.match = match
        return match

    def add(self, match: Match, layer: Layer, confidence: float, why: str) -> None:
        """Add an open layer to a match, whose confidence falls to at most `confidence`."""
        match.sides[layer.side].append(layer)
        layer.match = match
        match.confidence = min(match.confidence, confidence)
        match.why = why

    def group_gaps(self, layers: Iterable[Layer]) -> dict[int, tuple[list[Layer], list[Layer]]]:
        """Group layers, in their order, by the gap between matched layers that both engines run in the same order."""
        pairs = sorted((match.left[0].index, match.right[0].index) for match in self.matches if match.is_pair)
        chain = _longest_rising([right for _, right in pairs])
        limits = [pairs[index][0] for index in chain], [pairs[index][1] for index in chain]
        gaps: dict[int, tuple[list[Layer], list[Layer]]] = {}
        for layer in sorted(layers, key=lambda layer: layer.index):
            gap = bisect_left(limits[layer.side], layer.index)
            gaps.setdefault(gap, ([], []))[layer.side].append(layer)
        return gaps


def _longest_rising(values: Sequence[int]) -> list[int]:
    """Return the positions of a longest increasing subsequence, by patience sorting: n log n."""
    tops: list[int] = []
    last_of_pile: list[int] = []
    previous: list[int] = []
    for index, value in enumerate(values):
        pile = bisect_left(tops, value)
        if pile == len(tops):
            tops.append(value)
            last_of_pile.append(index)
        else:
            tops[pile], last_of_pile[pile] = value, index
        previous.append(last_of_pile[pile - 1] if pile else -1)
    chain: list[int] = []
    index = last_of_pile[-1] if last_of_pile else -1
    while index >= 0:
        chain.append(index)
        index = previous[index]
    return chain[::-1]
