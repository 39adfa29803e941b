"""Two engines and the layers matched so far."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence

from trex_tui.old.analysis.compare.model import Match
from trex_tui.old.analysis.compare.traits import Trait, Traits
from trex_tui.old.lazy_dataclass import dataclass

OPEN = -1
"""Label of an unmatched layer."""


@dataclass(slots=True)
class JoinedLayers:
    """Layers of the left and of the right engine that do the same work."""

    left: list[int]
    right: list[int]
    match: Match
    confidence: float
    why: str

    @property
    def is_pair(self) -> bool:
        """True if each side has exactly one layer."""
        return len(self.left) == 1 and len(self.right) == 1


class Pairing:
    """Two engines and the layers matched so far.

    Attributes:
        left, right: Traits of the engines.
        blocks: The matches, by label.
        labels: Per side, per layer: the label of its block, or `OPEN`.
    """

    def __init__(
        self,
        left: Traits,
        right: Traits,
        among: tuple[Collection[int] | None, Collection[int] | None] = (None, None),
    ) -> None:
        """Args: among: Layers of each side that may be matched; None for all."""
        self.left, self.right = left, right
        self.blocks: list[JoinedLayers] = []
        self.labels = ([OPEN] * len(left), [OPEN] * len(right))
        self._among = among

    def traits(self, side: int) -> Traits:
        return self.right if side else self.left

    def trait(self, side: int, layer: int) -> Trait:
        return self.traits(side).of[layer]

    def loose_key(self, side: int, layer: int) -> Hashable:
        """Return the work of a layer, without input shapes but with the number of layers that it reads from."""
        return self.trait(side, layer).loose, len(self.traits(side).before[layer])

    def open(self, side: int) -> Iterator[int]:
        """Return the unmatched layers of a side, ascending."""
        among, labels = self._among[side], self.labels[side]
        layers: Iterable[int] = range(len(labels)) if among is None else sorted(among)
        return (layer for layer in layers if labels[layer] == OPEN)

    def join(
        self, left: Iterable[int], right: Iterable[int], match: Match, confidence: float, why: str
    ) -> int:
        """Make a block of unmatched layers, and return its label."""
        block = JoinedLayers(sorted(left), sorted(right), match, confidence, why)
        label = len(self.blocks)
        self.blocks.append(block)
        for side, layers in enumerate((block.left, block.right)):
            for layer in layers:
                self.labels[side][layer] = label
        return label

    def add(self, label: int, side: int, layer: int, confidence: float, why: str) -> None:
        """Add a layer to a block, and lower the confidence of the block to at most `confidence`."""
        block = self.blocks[label]
        (block.right if side else block.left).append(layer)
        self.labels[side][layer] = label
        block.confidence = min(block.confidence, confidence)
        block.why = why

    def is_open(self, side: int, layer: int) -> bool:
        """Return whether a layer may still be matched."""
        among = self._among[side]
        return self.labels[side][layer] == OPEN and (among is None or layer in among)

    def backbone(self) -> tuple[list[int], list[int]]:
        """Return the longest chain of pairs that both engines run in the same order, as ascending positions in each."""
        pairs = sorted(
            (self.left.order[block.left[0]], self.right.order[block.right[0]])
            for block in self.blocks
            if block.is_pair
        )
        chain = _longest_rising([right for _, right in pairs])
        return [pairs[index][0] for index in chain], [pairs[index][1] for index in chain]


def _longest_rising(values: Sequence[int]) -> list[int]:
    """Return the positions of a longest increasing subsequence, by patience sorting: n log n."""
    tops: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for index, value in enumerate(values):
        pile = bisect_left(tops, value)
        if pile == len(tops):
            tops.append(value)
            at.append(index)
        else:
            tops[pile], at[pile] = value, index
        before.append(at[pile - 1] if pile else -1)
    chain: list[int] = []
    index = at[-1] if at else -1
    while index >= 0:
        chain.append(index)
        index = before[index]
    return chain[::-1]
