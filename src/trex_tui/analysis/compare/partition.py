"""All layers of many engines in blocks: every engine matched with the baseline, what is left with the others, and joined.

A block that holds layers of three engines was made of two matches; it is as sure as the weaker one. Two engines that are
fused differently from the baseline may tie several of its layers into one block: then nothing tells their times apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from trex_tui.analysis.compare.align import Aligned, align_pair
from trex_tui.analysis.compare.model import Align, Match, Pin
from trex_tui.analysis.compare.pairing import Joined
from trex_tui.analysis.compare.traits import Traits

Evidence = tuple[tuple[int, int], int, Joined]
"""A layer of a block, the engine that was matched with it, and how."""

_STRENGTH = {match: place for place, match in enumerate(Match)}


@dataclass(frozen=True, slots=True)
class Found:
    """A block before anything is known of times: layers per engine, and why; as in `model.Block`."""

    layers: tuple[tuple[int, ...], ...]
    match: Match
    matches: tuple[Match | None, ...]
    confidence: float
    why: str


class _Union:
    """Layers of all engines, joined; one number per layer."""

    def __init__(self, traits: Sequence[Traits]) -> None:
        self.offsets = [0]
        for one in traits:
            self.offsets.append(self.offsets[-1] + len(one))
        self.parents = list(range(self.offsets[-1]))

    def root(self, engine: int, layer: int) -> int:
        parents = self.parents
        place = self.offsets[engine] + layer
        while parents[place] != place:
            parents[place] = parents[parents[place]]
            place = parents[place]
        return place

    def join(self, first: tuple[int, int], second: tuple[int, int]) -> None:
        one, other = self.root(*first), self.root(*second)
        self.parents[max(one, other)] = min(one, other)


def partition(
    traits: Sequence[Traits], baseline: int, mode: Align, pins: Sequence[Pin]
) -> tuple[list[Found], dict[int, Aligned]]:
    """Put every layer of every engine into one block.

    Returns:
        The blocks in execution order of the baseline, and per other engine how it was matched with the baseline.
    """
    union = _Union(traits)
    evidence: list[Evidence] = []
    aligned: dict[int, Aligned] = {}
    others = [place for place in range(len(traits)) if place != baseline]
    for other in others:
        own = [(pin.baseline_layer, pin.layer) for pin in pins if pin.engine == other]
        aligned[other] = align_pair(traits[baseline], traits[other], mode, own)
        _take(union, evidence, baseline, other, aligned[other].pairing.blocks)
    left = {other: set(aligned[other].pairing.open(1)) for other in others}
    for place, second in enumerate(others):
        for first in others[:place]:
            if left[first] and left[second]:
                given = _common(aligned[first], aligned[second])
                found = align_pair(
                    traits[first], traits[second], mode, among=(left[first], left[second]), given=given
                )
                fresh = found.pairing.blocks[len(given) :]
                _take(union, evidence, first, second, fresh)
                left[second] -= {layer for block in fresh for layer in block.right}
    return _collect(traits, baseline, union, evidence), aligned


def _take(
    union: _Union,
    evidence: list[Evidence],
    first: int,
    second: int,
    blocks: Sequence[Joined],
) -> None:
    for block in blocks:
        start = (first, block.left[0])
        for layer in block.left:
            union.join(start, (first, layer))
        for layer in block.right:
            union.join(start, (second, layer))
        evidence.append((start, second, block))


def _common(first: Aligned, second: Aligned) -> list[tuple[list[int], list[int]]]:
    """Layers of two engines that were matched with the same layer of the baseline, one each: anchors for what is left."""
    through = {block.left[0]: block.right[0] for block in first.pairing.blocks if block.is_pair}
    return [
        ([through[block.left[0]]], block.right)
        for block in second.pairing.blocks
        if block.is_pair and block.left[0] in through
    ]


def _collect(
    traits: Sequence[Traits],
    baseline: int,
    union: _Union,
    evidence: list[Evidence],
) -> list[Found]:
    members: dict[int, list[list[int]]] = defaultdict(lambda: [[] for _ in traits])
    for engine, one in enumerate(traits):
        for layer in range(len(one)):
            members[union.root(engine, layer)][engine].append(layer)
    weakest: dict[int, Joined] = {}
    least: dict[int, float] = {}
    own: dict[tuple[int, int], Match] = {}
    for start, engine, block in evidence:
        root = union.root(*start)
        known = weakest.get(root)
        if known is None or _STRENGTH[block.match] > _STRENGTH[known.match]:
            weakest[root] = block
        least[root] = min(least.get(root, 1.0), block.confidence)
        own[root, engine] = max(own.get((root, engine), block.match), block.match, key=_STRENGTH.__getitem__)
    places = _places(traits, baseline, union)
    found = []
    for root in sorted(members, key=places.__getitem__):
        layers = tuple(map(tuple, members[root]))
        by = weakest.get(root)
        if by is None:
            nobody = (None,) * len(traits)
            found.append(Found(layers, Match.NONE, nobody, 0.0, "nothing in another engine belongs to it"))
        else:
            matches = tuple(own.get((root, engine)) for engine in range(len(traits)))
            found.append(Found(layers, by.match, matches, least[root], by.why))
    return found


def _places(traits: Sequence[Traits], baseline: int, union: _Union) -> dict[int, tuple[int, int, int]]:
    """Where blocks stand: with their first layer in the baseline, else after what runs before them in their own engine."""
    places: dict[int, tuple[int, int, int]] = {}
    for layer in range(len(traits[baseline])):
        places.setdefault(union.root(baseline, layer), (layer, 0, 0))
    for engine, one in enumerate(traits):
        last = -1
        for layer in range(len(one)):
            root = union.root(engine, layer)
            if root not in places:
                places[root] = (last, 1 + engine, layer)
            elif places[root][1] == 0:
                last = places[root][0]
            else:
                last = max(last, places[root][0])
    return places
