"""Layers matched by what their names and metadata say: equal names, then shared nodes of the network."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable

from trex_tui.analysis.compare.model import Match
from trex_tui.analysis.compare.names import HEAVY, LIGHT
from trex_tui.analysis.compare.pairing import OPEN, Pairing
from trex_tui.analysis.compare.traits import Trait, fits, same_core

MOST_LAYERS_OF_A_NODE = 256
"""A node that more layers name than this tells nothing about which of them belong together."""

_LEAST_COMMON_NUMBERS = 0.95
_LEAST_LINKS = 8
_LEAST_LINK_AGREEMENT = 0.25
_LEAST_PAIRS = 4
_LEAST_FITTING = 0.5

Groups = dict[Hashable, tuple[list[int], list[int]]]


def equal_names(pairing: Pairing, *, stated_only: bool = False) -> list[tuple[int, int]]:
    """Match layers of equal names; return pairs whose names agree although their kernels cannot be of one layer.

    Names that occur several times are told apart by their nodes and signatures; Myelin's generated names, which count
    kernels, stand for a place only if both builds count alike.

    Args:
        stated_only: Only layers whose ONNX nodes the metadata states.
    """
    deferred: list[tuple[int, int]] = []
    if _count_alike(pairing):
        groups = _groups(
            pairing, lambda place, trait: (_raw(pairing, place), trait.signature) if trait.generic else None
        )
        _pair(pairing, groups, deferred, 0.95, stated_only, in_order=True)
    unique = _groups(pairing, lambda _, trait: None if trait.generic else trait.parts.canonical)
    _pair(pairing, unique, deferred, 1.0, stated_only)
    several = _groups(pairing, lambda _, trait: _fine_key(trait))
    _pair(pairing, several, deferred, 0.9, stated_only, in_order=True)
    return deferred


def _raw(pairing: Pairing, place: tuple[int, int]) -> str:
    side, layer = place
    return pairing.traits(side).engine.layers[layer].name


def _fine_key(trait: Trait) -> Hashable:
    if trait.generic and not trait.nodes:
        return None
    return (trait.parts.canonical, frozenset(trait.nodes), trait.signature)


def _groups(pairing: Pairing, key: Callable[[tuple[int, int], Trait], Hashable]) -> Groups:
    groups: Groups = {}
    for side in (0, 1):
        for layer in pairing.open(side):
            found = key((side, layer), pairing.trait(side, layer))
            if found is not None:
                groups.setdefault(found, ([], []))[side].append(layer)
    return groups


def _count_alike(pairing: Pairing) -> bool:
    """Whether the numbers in generated names mean the same in both builds: all but a few of the names occur in both."""
    names = [
        Counter(
            _raw(pairing, (side, layer)) for layer in pairing.open(side) if pairing.trait(side, layer).generic
        )
        for side in (0, 1)
    ]
    common = (names[0] & names[1]).total()
    least = min(one.total() for one in names)
    return least > 0 and common >= _LEAST_COMMON_NUMBERS * least


def _pair(
    pairing: Pairing,
    groups: Groups,
    deferred: list[tuple[int, int]],
    confidence: float,
    stated_only: bool,
    *,
    in_order: bool = False,
) -> None:
    for lefts, rights in groups.values():
        if len(lefts) != len(rights) or (len(lefts) > 1 and not in_order):
            continue
        for left, right in zip(lefts, rights, strict=True):
            one, other = pairing.left.of[left], pairing.right.of[right]
            both_stated = one.stated and other.stated
            if stated_only and not both_stated:
                continue
            if not same_core(one, other):
                deferred.append((left, right))
            elif both_stated and one.nodes.keys() == other.nodes.keys():
                pairing.join([left], [right], Match.ONNX, confidence, "the same name and the same ONNX nodes")
            else:
                pairing.join([left], [right], Match.NAME, confidence, "the same name")


def shared_nodes(pairing: Pairing, *, opaque: bool = False) -> None:
    """Match layers that name the same nodes of the network, fused alike or not.

    Each layer keeps to the layer of the other engine that it shares most with, so that a node which is fused elsewhere does
    not tie all its neighbours into one block. A layer may also join a block that was made of equal names, if a node of it is
    there on the other side only: then it was split off or joined.

    Args:
        opaque: Whether opaque subgraphs take part, of which only the ends are known; see `foreign_ranges`.
    """
    members = [_with_nodes(pairing, side, opaque=opaque) for side in (0, 1)]
    missing = _missing_nodes(pairing)
    best: list[dict[int, tuple[int, float]]] = [{}, {}]
    for side in (0, 1):
        index: dict[str, list[int]] = defaultdict(list)
        for layer in (*members[1 - side], *missing[1 - side]):
            for node in missing[1 - side].get(layer, pairing.trait(1 - side, layer).nodes):
                index[node].append(layer)
        for layer in members[side]:
            found = _best(pairing, side, layer, index)
            if found is not None:
                best[side][layer] = found
    _grow(pairing, best)
    _join_components(pairing, best)


def _with_nodes(pairing: Pairing, side: int, *, opaque: bool) -> list[int]:
    traits = pairing.traits(side).of
    return [
        layer
        for layer in pairing.open(side)
        if traits[layer].nodes and not traits[layer].parts.role and (opaque or not traits[layer].parts.ends)
    ]


def _missing_nodes(pairing: Pairing) -> tuple[dict[int, set[str]], dict[int, set[str]]]:
    """Per side, matched layers with the nodes that their partner does not name."""
    found: tuple[dict[int, set[str]], dict[int, set[str]]] = ({}, {})
    for block in pairing.blocks:
        if block.is_pair and block.match is not Match.MANUAL:
            left, right = block.left[0], block.right[0]
            ours, theirs = pairing.left.of[left].nodes, pairing.right.of[right].nodes
            for side, layer, nodes, others in ((0, left, ours, theirs), (1, right, theirs, ours)):
                missing = {
                    node for node in nodes if node not in others and nodes[node] >= LIGHT and node[0] != "@"
                }
                if missing:
                    found[side][layer] = missing
    return found


def _best(pairing: Pairing, side: int, layer: int, index: dict[str, list[int]]) -> tuple[int, float] | None:
    """The layer of the other side that shares most, and the shared part of both, from 0 to 1."""
    trait = pairing.trait(side, layer)
    shared: dict[int, float] = defaultdict(float)
    for node, weight in trait.nodes.items():
        owners = index.get(node, ())
        if len(owners) <= MOST_LAYERS_OF_A_NODE:
            for other in owners:
                shared[other] += weight
    own = sum(trait.nodes.values())
    place = pairing.traits(side).order[layer] / max(1, len(pairing.traits(side)))
    chosen, highest = None, None
    for other, weight in shared.items():
        candidate = pairing.trait(1 - side, other)
        if (weight < LIGHT and weight < own) or not _may_share(trait, candidate):
            continue
        whole = own + sum(candidate.nodes.values()) - weight
        distance = abs(pairing.traits(1 - side).order[other] / max(1, len(pairing.traits(1 - side))) - place)
        alike = trait.signature is not None and trait.signature == candidate.signature
        score = (weight, weight / whole, alike, -distance)
        if highest is None or score > highest:
            chosen, highest = other, score
    return None if chosen is None or highest is None else (chosen, highest[1])


def _may_share(one: Trait, other: Trait) -> bool:
    """Whether shared nodes may mean shared work: the kernels are alike, or one layer is a part of the other.

    A number is no place in the network (`Conv_22`): two kernels that differ need a node with a path, or several main nodes.
    """
    if same_core(one, other):
        return True
    nodes = [
        {node for node, weight in trait.nodes.items() if weight >= LIGHT and node[0] != "@"}
        for trait in (one, other)
    ]
    if not (nodes[0] <= nodes[1] or nodes[1] <= nodes[0]):
        return False
    if not fits(one, other):
        return True
    shared = nodes[0] & nodes[1]
    heavy = max(
        sum(trait.nodes[node] >= HEAVY for node in own)
        for trait, own in zip((one, other), nodes, strict=True)
    )
    return heavy > 1 or any("/" in node for node in shared)


def _grow(pairing: Pairing, best: list[dict[int, tuple[int, float]]]) -> None:
    """Layers whose best partner is matched already join its block."""
    why = "the work of one layer there is done by several here, by the nodes they name"
    for side in (0, 1):
        for layer, (other, part) in list(best[side].items()):
            label = pairing.labels[1 - side][other]
            if label != OPEN:
                pairing.add(label, side, layer, _confidence(part), why)
                del best[side][layer]


def _confidence(part: float) -> float:
    return round(0.6 + 0.35 * min(1.0, part), 3)


def _join_components(pairing: Pairing, best: list[dict[int, tuple[int, float]]]) -> None:
    neighbours: dict[tuple[int, int], list[tuple[int, int, float]]] = defaultdict(list)
    for side in (0, 1):
        for layer, (other, part) in best[side].items():
            if pairing.is_open(side, layer) and pairing.is_open(1 - side, other):
                neighbours[side, layer].append((1 - side, other, part))
                neighbours[1 - side, other].append((side, layer, part))
    done: set[tuple[int, int]] = set()
    for start in sorted(neighbours):
        if start in done:
            continue
        sides: tuple[list[int], list[int]] = ([], [])
        least = 1.0
        waiting = [start]
        done.add(start)
        while waiting:
            here = waiting.pop()
            sides[here[0]].append(here[1])
            for side, layer, part in neighbours[here]:
                least = min(least, part)
                if (side, layer) not in done:
                    done.add((side, layer))
                    waiting.append((side, layer))
        _join_by_nodes(pairing, sides, least)


def _join_by_nodes(pairing: Pairing, sides: tuple[list[int], list[int]], least: float) -> None:
    left, right = sides
    nodes = [set().union(*(pairing.trait(side, layer).nodes for layer in sides[side])) for side in (0, 1)]
    equal = nodes[0] == nodes[1]
    what = "the same nodes" if equal else "shared nodes"
    how = "" if len(left) == len(right) == 1 else f", fused differently ({len(left)} to {len(right)} layers)"
    pairing.join(left, right, Match.ONNX, 1.0 if equal and not how else _confidence(least), what + how)


def foreign_ranges(pairing: Pairing) -> None:
    """A `{ForeignNode[a...b]}` that the other engine runs as separate layers: all that is open there between `a` and `b`."""
    for side in (0, 1):
        opaque = [layer for layer in pairing.open(side) if pairing.trait(side, layer).parts.ends]
        if not opaque:
            continue
        places: dict[str, list[int]] = defaultdict(list)
        plain = [layer for layer in pairing.open(1 - side) if not pairing.trait(1 - side, layer).parts.ends]
        candidates = sorted(plain, key=pairing.traits(1 - side).order.__getitem__)
        for place, layer in enumerate(candidates):
            for node in pairing.trait(1 - side, layer).nodes:
                places[node].append(place)
        for layer in opaque:
            first, last = (
                [place for node in end if node[0] != "@" for place in places.get(node, ())]
                for end in pairing.trait(side, layer).parts.ends
            )
            inside = _between(pairing, 1 - side, candidates, first, last)
            if inside:
                why = f"{len(inside)} layers there lie between the first and the last node of the opaque subgraph"
                sides = ([layer], inside) if side == 0 else (inside, [layer])
                pairing.join(*sides, Match.ONNX, 0.7, why)


def _between(
    pairing: Pairing, side: int, candidates: list[int], first: Iterable[int], last: Iterable[int]
) -> list[int]:
    start, end = min(first, default=None), max(last, default=None)
    if start is None or end is None or end < start:
        return []
    return [layer for layer in candidates[start : end + 1] if pairing.is_open(side, layer)]


def names_hold(pairing: Pairing, deferred: list[tuple[int, int]]) -> bool:
    """Whether the matches by name agree with the structure of the engines.

    Exporters number nodes (`Conv_22`), so two exports of a model, or two models, share names by chance, for different work.
    Names hold if most pairs do the same kind of work, and if what feeds each other in one engine does so in the other.

    Args:
        deferred: Pairs of equal names that were not matched, since their kernels differ.
    """
    partner = {
        block.left[0]: block.right[0]
        for block in pairing.blocks
        if block.is_pair and block.match is not Match.MANUAL
    }
    fitting = sum(_same_kind(pairing, left, right) for left, right in partner.items())
    known = len(partner) + len(deferred)
    if known >= _LEAST_PAIRS and fitting < _LEAST_FITTING * known:
        return False
    links = agreeing = 0
    for left, right in partner.items():
        after = [one for one in pairing.left.after[left] if one in partner]
        theirs = set(pairing.right.after[right]) if after else set()
        links += len(after)
        agreeing += sum(partner[one] in theirs for one in after)
    return links < _LEAST_LINKS or agreeing >= _LEAST_LINK_AGREEMENT * links


def _same_kind(pairing: Pairing, left: int, right: int) -> bool:
    one, other = pairing.left.of[left], pairing.right.of[right]
    if one.passive or other.passive:
        return one.passive and other.passive
    kinds = [traits.engine.layers[at].kind for traits, at in ((pairing.left, left), (pairing.right, right))]
    return same_core(one, other) and (kinds[0] is kinds[1] or not one.family or not other.family)


def late_names(pairing: Pairing, deferred: list[tuple[int, int]]) -> None:
    """Equal names of layers whose kernels differ, where nothing better came: a layer that was changed in the model."""
    for left, right in deferred:
        if (
            pairing.is_open(0, left)
            and pairing.is_open(1, right)
            and fits(pairing.left.of[left], pairing.right.of[right])
        ):
            pairing.join([left], [right], Match.NAME, 0.5, "the same name, though kernel or channels differ")
