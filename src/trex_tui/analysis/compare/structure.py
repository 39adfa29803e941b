"""Layers matched without names: by what surrounds them, by what they are, and at last by when they run.

The surroundings are compared by colour refinement (Weisfeiler and Leman, 1968): a layer's colour is its signature; each round
adds the colours of those before and after it. A matched layer has the colour of its block for good. Equal colours that occur
once in each engine are a match. From matched layers, matches spread along the graph wherever a neighbour has no double.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Hashable

from trex_tui.analysis.compare.model import Match
from trex_tui.analysis.compare.pairing import OPEN, Pairing
from trex_tui.analysis.compare.traits import Trait

_ROUNDS = 8
_PASSES = 4


def match_by_structure(pairing: Pairing) -> None:
    """Match what is open by signature and surroundings. Linear in the links of open layers."""
    levels: tuple[Callable[[Trait], Hashable], ...] = (lambda one: one.signature, lambda one: one.loose)
    for level in levels:
        _spread(pairing, level, range(len(pairing.blocks)))
        for _ in range(_PASSES):
            before = len(pairing.blocks)
            _refine(pairing, level)
            _spread(pairing, level, range(before, len(pairing.blocks)))
            if len(pairing.blocks) == before:
                break


def _main_layers(pairing: Pairing, side: int) -> list[int]:
    traits = pairing.traits(side).of
    return [
        layer
        for layer in pairing.open(side)
        if not traits[layer].passive and traits[layer].signature is not None
    ]


def _refine(pairing: Pairing, level: Callable[[Trait], Hashable]) -> None:
    known: dict[Hashable, int] = {}

    def colour(key: Hashable) -> int:
        return known.setdefault(key, len(known))

    members = [_main_layers(pairing, side) for side in (0, 1)]
    if not all(members):
        return
    colours: list[dict[int, int]] = [
        {layer: colour(("is", level(pairing.trait(side, layer)))) for layer in members[side]}
        for side in (0, 1)
    ]
    rounds = []
    for _ in range(_ROUNDS):
        colours = [_next(pairing, side, colours[side], colour) for side in (0, 1)]
        rounds.append(colours)
    for depth in range(_ROUNDS, 0, -1):
        _match_unique(pairing, rounds[depth - 1], depth)


def _next(
    pairing: Pairing, side: int, colours: dict[int, int], colour: Callable[[Hashable], int]
) -> dict[int, int]:
    traits, labels = pairing.traits(side), pairing.labels[side]

    def seen(layer: int) -> int:
        label = labels[layer]
        return colours.get(layer, -1) if label == OPEN else -2 - label

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


def _match_unique(pairing: Pairing, colours: list[dict[int, int]], depth: int) -> None:
    groups: dict[int, tuple[list[int], list[int]]] = {}
    for side in (0, 1):
        for layer, value in colours[side].items():
            if pairing.labels[side][layer] == OPEN:
                groups.setdefault(value, ([], []))[side].append(layer)
    for left, right in groups.values():
        if len(left) == len(right) == 1:
            alone = not pairing.left.before[left[0]] and not pairing.left.after[left[0]]
            if alone:
                continue
            reach = "" if depth == 1 else f" to {depth} layers away"
            why = f"the same kind, shapes and surroundings{reach}, which occur once in each engine"
            pairing.join(left, right, Match.STRUCTURE, 0.8 if depth == 1 else 0.9, why)


def _spread(pairing: Pairing, level: Callable[[Trait], Hashable], labels: range) -> None:
    waiting = deque(labels)
    while waiting:
        block = pairing.blocks[waiting.popleft()]
        if not block.is_pair:
            continue
        left, right = block.left[0], block.right[0]
        for ours, theirs, word in (
            (pairing.left.after[left], pairing.right.after[right], "reads from"),
            (pairing.left.before[left], pairing.right.before[right], "feeds"),
        ):
            for one, other in _without_double(pairing, level, ours, theirs):
                why = f"it {word} a matched layer, and its kind and shapes have no double there"
                waiting.append(pairing.join([one], [other], Match.STRUCTURE, 0.85, why))


def _without_double(
    pairing: Pairing,
    level: Callable[[Trait], Hashable],
    ours: tuple[int, ...],
    theirs: tuple[int, ...],
) -> list[tuple[int, int]]:
    groups: dict[Hashable, tuple[list[int], list[int]]] = {}
    for side, near in enumerate((ours, theirs)):
        for layer in near:
            trait = pairing.trait(side, layer)
            if pairing.is_open(side, layer) and trait.signature is not None and not trait.passive:
                groups.setdefault(level(trait), ([], []))[side].append(layer)
    return [(left[0], right[0]) for left, right in groups.values() if len(left) == len(right) == 1]


def match_passive(pairing: Pairing, *, by_role: bool) -> None:
    """Match reformats, Q/DQ and the like: those that serve the same matched layer in the same role, then by neighbours.

    Args:
        by_role: Whether names may tell the role and the layer served.
    """
    if by_role:
        served = [_by_name(pairing, side) for side in (0, 1)]
        _match_keys(
            pairing, lambda side, layer: _served_key(pairing, side, layer, served[side]), Match.NAME, 0.9
        )
    _match_keys(pairing, lambda side, layer: _between_key(pairing, side, layer), Match.STRUCTURE, 0.8)


def _by_name(pairing: Pairing, side: int) -> dict[str, int]:
    return {trait.parts.canonical: layer for layer, trait in enumerate(pairing.traits(side).of)}


def _served_key(pairing: Pairing, side: int, layer: int, by_name: dict[str, int]) -> Hashable:
    parts = pairing.trait(side, layer).parts
    target = by_name.get(parts.served) if parts.role else None
    if target is None or pairing.labels[side][target] == OPEN:
        return None
    return (pairing.labels[side][target], parts.role)


def _between_key(pairing: Pairing, side: int, layer: int) -> Hashable:
    traits, labels = pairing.traits(side), pairing.labels[side]
    if not traits.of[layer].passive:
        return None
    kind = traits.engine.layers[layer].kind.value
    before = frozenset(labels[one] for one in traits.before[layer])
    after = frozenset(labels[one] for one in traits.after[layer])
    if (not before and not after) or OPEN in before or OPEN in after:
        return None
    return (kind, traits.of[layer].loose, before, after)


def _match_keys(
    pairing: Pairing, key: Callable[[int, int], Hashable], match: Match, confidence: float
) -> None:
    groups: dict[Hashable, tuple[list[int], list[int]]] = {}
    for side in (0, 1):
        for layer in pairing.open(side):
            found = key(side, layer)
            if found is not None:
                groups.setdefault(found, ([], []))[side].append(layer)
    why = (
        "it serves the same matched layer in the same role"
        if match is Match.NAME
        else "it stands between the same matched layers"
    )
    for left, right in groups.values():
        if len(left) == len(right) == 1:
            pairing.join(left, right, match, confidence, why)


def match_by_order(pairing: Pairing) -> None:
    """Match what is open by signature within the gaps between layers that both engines run in the same order.

    Layers that look alike are matched in turn only if both engines have as many: with one missing, nothing tells which.
    """
    backbone = pairing.backbone()
    groups: dict[Hashable, tuple[list[int], list[int]]] = {}
    for side in (0, 1):
        traits, chain = pairing.traits(side), backbone[side]
        for layer in sorted(pairing.open(side), key=traits.order.__getitem__):
            trait = traits.of[layer]
            if trait.signature is not None:
                kind = traits.engine.layers[layer].kind.value if trait.passive else ""
                key = (bisect_right(chain, traits.order[layer]), kind, trait.signature)
                groups.setdefault(key, ([], []))[side].append(layer)
    for left, right in groups.values():
        if len(left) != len(right):
            continue
        if len(left) == 1:
            why = "kind, shapes and attributes, which occur once between matched neighbours"
            pairing.join(left, right, Match.SIGNATURE, 0.6, why)
            continue
        why = f"execution order, among {len(left)} layers of like kind and shapes"
        for one, other in zip(left, right, strict=True):
            pairing.join([one], [other], Match.ORDER, 0.4, why)
