"""Match layers by their names, and by the ONNX nodes that these and the metadata list."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import dataclass

from trex_tui.compare.layers import Evidence, Layer
from trex_tui.compare.names import HEAVY, LIGHT, is_module, is_numbered, is_product
from trex_tui.compare.pair import Groups, Pair

_MOST_LAYERS = 256
"""A node named by more layers than this is not evidence for a match."""
_LEAST_COMMON_NUMBERS = 0.95
"""Share of generated names that both builds have, from which their numbers mean the same in both."""
_COUNTED_OTHERWISE = 0.4
"""Confidence of equal generated names if one build has kernels that the other lacks: later numbers may be shifted."""


def match_names(pair: Pair) -> list[tuple[Layer, Layer]]:
    """Match by names and nodes; return pairs with equal names whose kernels cannot belong to one layer."""
    deferred = _match_equal_names(pair)
    _match_shared_nodes(pair)
    _match_ranges(pair)
    _match_shared_nodes(pair, with_closed_blocks=True)
    return deferred


def _match_equal_names(pair: Pair) -> list[tuple[Layer, Layer]]:
    """Match layers of equal names; return those whose kernels cannot belong to one layer.

    Repeated names are distinguished by their nodes and signatures; Myelin's generated names, which count kernels, identify a
    layer only if both builds count alike.
    """
    deferred: list[tuple[Layer, Layer]] = []
    alike = _share_of_equal_numbers(pair)
    if alike >= _LEAST_COMMON_NUMBERS:
        generated = pair.group(lambda layer: (layer.name, layer.signature) if layer.is_generic else None)
        confidence = 0.95 if alike == 1.0 else _COUNTED_OTHERWISE
        _join_equal_names(pair, generated, deferred, confidence)
    unique = pair.group(lambda layer: None if layer.is_generic else layer.parts.canonical or None)
    _join_equal_names(pair, [group for group in unique if len(group[0]) == 1], deferred, 1.0)
    _join_equal_names(pair, pair.group(_fine_key), deferred, 0.9)
    return deferred


def _share_of_equal_numbers(pair: Pair) -> float:
    """Return the share of generated names that both builds have: near 1, their numbers mean the same in both."""
    ours, theirs = (Counter(layer.name for layer in pair.open(side) if layer.is_generic) for side in (0, 1))
    common, totals = (ours & theirs).total(), (ours.total(), theirs.total())
    if not all(totals):
        return 0.0
    return 1.0 if common == max(totals) else min(common / min(totals), 0.999)


def _fine_key(layer: Layer) -> Hashable:
    if not layer.parts.canonical or (layer.is_generic and not layer.nodes):
        return None
    return layer.parts.canonical, frozenset(layer.nodes), layer.signature


def _join_equal_names(
    pair: Pair, groups: Groups, deferred: list[tuple[Layer, Layer]], confidence: float
) -> None:
    """Match the layers of groups, in order, where both engines have equally many."""
    for lefts, rights in groups:
        if len(lefts) != len(rights):
            continue
        for left, right in zip(lefts, rights, strict=True):
            are_stated = left.is_stated and right.is_stated
            if left.is_generic and are_stated and left.nodes.keys().isdisjoint(right.nodes.keys()):
                continue
            if not left.has_same_core(right):
                deferred.append((left, right))
            elif are_stated and left.nodes.keys() == right.nodes.keys():
                sure = max(confidence, 0.9)
                pair.join([left], [right], Evidence.ONNX, sure, "the same name and the same ONNX nodes")
            else:
                pair.join([left], [right], Evidence.NAME, confidence, "the same name")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """The layer of the other engine that shares most nodes with a layer, and the shared part of both, from 0 to 1."""

    layer: Layer
    part: float


def _match_shared_nodes(pair: Pair, *, with_closed_blocks: bool = False) -> None:
    """Match layers that name the same ONNX nodes, fused alike or not.

    Each layer is matched to the layer of the other engine with the largest shared part, so that a node fused elsewhere does
    not join all its neighbours into one match.

    Args:
        with_closed_blocks: Include blocks of which only the ends are known; see `_match_ranges`.
    """
    best: dict[Layer, _Candidate] = {}
    named = [
        [
            layer
            for layer in pair.open(side)
            if layer.nodes and not layer.parts.role and (with_closed_blocks or not layer.is_closed_block)
        ]
        for side in (0, 1)
    ]
    for side in (0, 1):
        owners: dict[str, list[Layer]] = defaultdict(list)
        for other in named[1 - side]:
            for node in other.nodes:
                owners[node].append(other)
        for layer in named[side]:
            candidate = _find_best(pair, layer, owners)
            if candidate is not None:
                best[layer] = candidate
    _join_components(pair, best)


def _find_best(pair: Pair, layer: Layer, owners: dict[str, list[Layer]]) -> _Candidate | None:
    """Return the layer of the other engine that shares most nodes; among equals the most similar, then the nearest."""
    shared: dict[Layer, float] = defaultdict(float)
    for node, weight in layer.nodes.items():
        if len(owners.get(node, ())) <= _MOST_LAYERS:
            for other in owners.get(node, ()):
                shared[other] += weight
    own = sum(layer.nodes.values())
    best: _Candidate | None = None
    highest = (0.0, 0.0, False, 0.0)
    for other, weight in shared.items():
        if (weight < LIGHT and weight < own) or not may_share(layer, other):
            continue
        part = weight / (own + sum(other.nodes.values()) - weight)
        is_alike = layer.signature is not None and layer.signature == other.signature
        score = (weight, part, is_alike, -abs(_position(pair, layer) - _position(pair, other)))
        if best is None or score > highest:
            best, highest = _Candidate(other, part), score
    return best


def _position(pair: Pair, layer: Layer) -> float:
    """Return the position of a layer in its engine, from 0 to 1."""
    return layer.index / max(1, len(pair.sides[layer.side]))


def may_share(first: Layer, other: Layer) -> bool:
    """Return whether shared nodes may mean shared work: the kernels are alike, or one layer is a part of the other.

    A numbered node (`Conv_22`) does not identify a position in the network: two different kernels need a shared node with a
    path, or several shared main nodes.
    """
    if _share_numbers_of_other_modules(first, other) or _share_moved_product(first, other):
        return False
    if first.has_same_core(other):
        return True
    nodes = [layer.working_nodes for layer in (first, other)]
    if not (nodes[0] <= nodes[1] or nodes[1] <= nodes[0]):
        return False
    if not first.fits(other):
        return True
    heavy = max(
        sum(layer.nodes[node] >= HEAVY for node in own)
        for layer, own in zip((first, other), nodes, strict=True)
    )
    return heavy > 1 or any("/" in node for node in nodes[0] & nodes[1])


def _share_numbers_of_other_modules(first: Layer, other: Layer) -> bool:
    """Return whether two layers share only numbered nodes but name different modules, or only one of them does work."""
    shared = first.nodes.keys() & other.nodes.keys()
    if not all(map(is_numbered, shared)):
        return False
    if first.is_passive is not other.is_passive:
        return all(first.nodes[node] < LIGHT for node in shared)
    modules = [{node for node in layer.nodes if is_module(node)} for layer in (first, other)]
    return all(modules) and modules[0].isdisjoint(modules[1])


def _share_moved_product(first: Layer, other: Layer) -> bool:
    """Return whether two layers share only numbered products, though one of them does not multiply, nor a layer beside it.

    `PWN(node_linear_1 + node_relu_2)` adds a bias in one export, whose `node_linear_1` is the next product in another.
    """
    shared = first.nodes.keys() & other.nodes.keys()
    if not any(map(is_product, shared)) or not all(map(is_numbered, shared)):
        return False
    return first.names_foreign_product or other.names_foreign_product


def _to_confidence(part: float) -> float:
    return round(0.6 + 0.35 * min(1.0, part), 3)


def _join_components(pair: Pair, best: dict[Layer, _Candidate]) -> None:
    """Match the layers that are connected by being the best candidates of each other."""
    neighbours: dict[Layer, list[_Candidate]] = defaultdict(list)
    for layer, candidate in best.items():
        if layer.is_open and candidate.layer.is_open:
            neighbours[layer].append(candidate)
            neighbours[candidate.layer].append(_Candidate(layer, candidate.part))
    done: set[Layer] = set()
    for start in sorted(neighbours, key=lambda layer: (layer.side, layer.index)):
        if start in done:
            continue
        members: tuple[list[Layer], list[Layer]] = ([], [])
        least = 1.0
        waiting = [start]
        done.add(start)
        while waiting:
            layer = waiting.pop()
            members[layer.side].append(layer)
            for candidate in neighbours[layer]:
                least = min(least, candidate.part)
                if candidate.layer not in done:
                    done.add(candidate.layer)
                    waiting.append(candidate.layer)
        _join_by_nodes(pair, *members, least)


def _join_by_nodes(pair: Pair, left: list[Layer], right: list[Layer], least: float) -> None:
    ours, theirs = ({node for layer in layers for node in layer.nodes} for layers in (left, right))
    what = "the same nodes" if ours == theirs else "shared nodes"
    is_one_to_one = len(left) == len(right) == 1
    how = "" if is_one_to_one else f", fused differently ({len(left)} to {len(right)} layers)"
    confidence = 1.0 if ours == theirs and is_one_to_one else _to_confidence(least)
    pair.join(left, right, Evidence.ONNX, confidence, what + how)


def _match_ranges(pair: Pair) -> None:
    """Match a `{ForeignNode[a...b]}` with all unmatched layers of the other engine between `a` and `b`."""
    for side in (0, 1):
        blocks = [layer for layer in pair.open(side) if layer.is_closed_block]
        if not blocks:
            continue
        others = [layer for layer in pair.open(1 - side) if not layer.is_closed_block]
        others.sort(key=lambda layer: layer.index)
        positions: dict[str, list[int]] = defaultdict(list)
        for position, other in enumerate(others):
            for node in other.nodes:
                positions[node].append(position)
        for block in blocks:
            starts, ends = (
                [position for node in end if not is_module(node) for position in positions.get(node, ())]
                for end in block.parts.ends
            )
            if not starts or not ends:
                continue
            inside = [layer for layer in others[min(starts) : max(ends) + 1] if layer.is_open]
            if inside:
                why = (
                    f"{len(inside)} layers there are between the first and the last node of the closed block"
                )
                sides = ([block], inside) if side == 0 else (inside, [block])
                pair.join(*sides, Evidence.ONNX, 0.7, why)
