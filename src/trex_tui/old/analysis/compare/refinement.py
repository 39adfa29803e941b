"""Match layers by structure: layers that signature and neighbourhood identify.

Neighbourhoods are compared by colour refinement (Weisfeiler and Leman, 1968): a layer's colour is its signature; each round
adds the colours of the layers before and after it. A matched layer keeps the colour of its block. Equal colours that occur
once in each engine are a match. From matched layers, matches spread along the graph to every neighbour with a unique colour.

Builders fuse a sum into one or the other of the layers that it reads. Matches do not spread from a pair of layers of which
only one contains the sum: their readers read different values.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable

from trex_tui.old.analysis.compare.gaps import join_regions
from trex_tui.old.analysis.compare.model import Match
from trex_tui.old.analysis.compare.pairing import OPEN, Pairing

Key = Callable[[int, int], Hashable]
"""Properties that matched layers share, by side and layer."""

_ROUNDS = 8
_PASSES = 4
_UNKNOWN = -1
_AMBIGUOUS = 0.6
"""Confidence if one engine has more layers of the kind, and no name shows which of them are missing in the other."""


class _Matcher:
    """State of matching by structure."""

    def __init__(self, pairing: Pairing) -> None:
        self.pairing = pairing
        counts: list[Counter[Hashable]] = [
            Counter(trait.loose for trait in pairing.traits(side).of if not trait.passive) for side in (0, 1)
        ]
        self._uneven = {
            key for key in counts[0].keys() | counts[1].keys() if counts[0][key] != counts[1][key]
        }
        self._grounded = {
            label
            for label, block in enumerate(pairing.blocks)
            if block.match in (Match.MANUAL, Match.ONNX, Match.NAME)
        }

    def match(self, key: Key) -> None:
        """Match layers with equal keys and neighbourhoods until nothing new is found."""
        pairing = self.pairing
        if not have_open_work(pairing):
            return
        self._spread(key, range(len(pairing.blocks)))
        for _ in range(_PASSES):
            before = len(pairing.blocks)
            self._refine(key)
            self._spread(key, range(before, len(pairing.blocks)))
            if len(pairing.blocks) == before:
                break

    def _is_anchor(self, label: int) -> bool:
        """Return whether the two layers of a block read from equally many layers: then they write the same values."""
        block = self.pairing.blocks[label]
        return block.is_pair and len(self.pairing.left.before[block.left[0]]) == len(
            self.pairing.right.before[block.right[0]]
        )

    def _refine(self, key: Key) -> None:
        known: dict[Hashable, int] = {}

        def colour(value: Hashable) -> int:
            return known.setdefault(value, len(known))

        members = [_main_layers(self.pairing, side) for side in (0, 1)]
        if not all(members):
            return
        colours: list[dict[int, int]] = [
            {layer: colour(("is", key(side, layer))) for layer in members[side]} for side in (0, 1)
        ]
        seen = [
            -2 - label if self._is_anchor(label) else _UNKNOWN for label in range(len(self.pairing.blocks))
        ]
        rounds = []
        for _ in range(_ROUNDS):
            colours = [self._next(side, colours[side], colour, seen) for side in (0, 1)]
            rounds.append(colours)
        for depth in range(_ROUNDS, 0, -1):
            self._match_unique(rounds[depth - 1], depth)

    def _next(
        self, side: int, colours: dict[int, int], colour: Callable[[Hashable], int], of_label: list[int]
    ) -> dict[int, int]:
        traits, labels = self.pairing.traits(side), self.pairing.labels[side]

        def seen(layer: int) -> int:
            label = labels[layer]
            return colours.get(layer, _UNKNOWN) if label == OPEN else of_label[label]

        return {
            layer: colour(
                (
                    own,
                    tuple(sorted(map(seen, traits.before[layer]))),
                    tuple(sorted(map(seen, traits.after[layer]))),
                )
            )
            for layer, own in colours.items()
        }

    def _match_unique(self, colours: list[dict[int, int]], depth: int) -> None:
        pairing = self.pairing
        groups: dict[int, tuple[list[int], list[int]]] = {}
        for side in (0, 1):
            for layer, value in colours[side].items():
                if pairing.labels[side][layer] == OPEN:
                    groups.setdefault(value, ([], []))[side].append(layer)
        for left, right in groups.values():
            if len(left) != 1 or len(right) != 1:
                continue
            near = (*pairing.left.before[left[0]], *pairing.left.after[left[0]])
            if not near:
                continue
            reach = "" if depth == 1 else f" to {depth} layers away"
            why = f"unique kind, shapes and surroundings{reach} in each engine"
            is_grounded = any(pairing.labels[0][layer] in self._grounded for layer in near)
            self._join(left[0], right[0], 0.8 if depth == 1 else 0.9, why, is_grounded=is_grounded)

    def _spread(self, key: Key, labels: range) -> None:
        pairing = self.pairing
        waiting = deque(labels)
        while waiting:
            label = waiting.popleft()
            if not self._is_anchor(label):
                continue
            left, right = pairing.blocks[label].left[0], pairing.blocks[label].right[0]
            for ours, theirs, word in (
                (pairing.left.after[left], pairing.right.after[right], "reads from"),
                (pairing.left.before[left], pairing.right.before[right], "feeds"),
            ):
                for our_layer, other in self._without_double(key, ours, theirs):
                    why = f"it {word} a matched layer, and its kind and shapes are unique there"
                    waiting.append(
                        self._join(our_layer, other, 0.85, why, is_grounded=label in self._grounded)
                    )

    def _join(self, left: int, right: int, confidence: float, why: str, *, is_grounded: bool) -> int:
        if not is_grounded and self.pairing.left.of[left].loose in self._uneven:
            confidence = _AMBIGUOUS
        label = self.pairing.join([left], [right], Match.STRUCTURE, confidence, why)
        if is_grounded:
            self._grounded.add(label)
        return label

    def _without_double(
        self, key: Key, ours: tuple[int, ...], theirs: tuple[int, ...]
    ) -> list[tuple[int, int]]:
        pairing = self.pairing
        groups: dict[Hashable, tuple[list[int], list[int]]] = {}
        for side, near in enumerate((ours, theirs)):
            for layer in near:
                trait = pairing.trait(side, layer)
                if pairing.is_open(side, layer) and trait.signature is not None and not trait.passive:
                    groups.setdefault(key(side, layer), ([], []))[side].append(layer)
        return [(left[0], right[0]) for left, right in groups.values() if len(left) == len(right) == 1]


def match_by_structure(pairing: Pairing, *, fused_otherwise: bool = False) -> None:
    """Match unmatched layers by signature and neighbourhood. Linear in the links of unmatched layers.

    Args:
        fused_otherwise: Whether a layer may also match one that reads from more or fewer layers, as with a fused sum.
    """
    if not have_open_work(pairing):
        return
    matcher = _Matcher(pairing)
    matcher.match(lambda side, layer: pairing.trait(side, layer).signature)
    matcher.match(pairing.loose_key)
    for _ in range(_PASSES):
        before = len(pairing.blocks)
        join_regions(pairing)
        if len(pairing.blocks) == before:
            break
        matcher.match(pairing.loose_key)
    if fused_otherwise:
        matcher.match(lambda side, layer: pairing.trait(side, layer).loose)


def have_open_work(pairing: Pairing) -> bool:
    """Return whether both engines have unmatched working layers of known kind and shapes."""
    return all(
        any(
            not traits.of[layer].passive and traits.of[layer].signature is not None
            for layer in pairing.open(side)
        )
        for side, traits in enumerate((pairing.left, pairing.right))
    )


def _main_layers(pairing: Pairing, side: int) -> list[int]:
    traits = pairing.traits(side).of
    return [
        layer
        for layer in pairing.open(side)
        if not traits[layer].passive and traits[layer].signature is not None
    ]
