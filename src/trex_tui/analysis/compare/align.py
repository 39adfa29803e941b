"""Alignment of the layers of two engines: by names and metadata, by structure, and at last by execution order.

Matches grow into blocks, which never merge. Evidence is taken in order of strength; what contradicts itself is left out.
Surroundings are compared by colour refinement (Weisfeiler and Leman, 1968): a layer's colour is its signature; each round
adds the colours of those before and after it. A matched layer has the colour of its block for good. Equal colours that occur
once in each engine are a match. From matched layers, matches spread along the graph wherever a neighbour has no double.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from trex_tui.analysis.compare.model import Align, Match
from trex_tui.analysis.compare.traits import HEAVY, LIGHT, Trait, Traits, fits, same_core

OPEN = -1
"""The label of a layer that nothing was matched with."""


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
        """Whether it is one layer and one layer."""
        return len(self.left) == 1 and len(self.right) == 1


class Pairing:
    """Two engines and what of them was matched so far.

    Attributes:
        left, right: The engines, as matching sees them.
        blocks: What was matched, by label.
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

    def open(self, side: int) -> Iterator[int]:
        """Layers of a side that nothing was matched with, ascending."""
        among, labels = self._among[side], self.labels[side]
        layers: Iterable[int] = range(len(labels)) if among is None else sorted(among)
        return (layer for layer in layers if labels[layer] == OPEN)

    def join(
        self, left: Iterable[int], right: Iterable[int], match: Match, confidence: float, why: str
    ) -> int:
        """Make a block of open layers, and return its label."""
        block = JoinedLayers(sorted(left), sorted(right), match, confidence, why)
        label = len(self.blocks)
        self.blocks.append(block)
        for side, layers in enumerate((block.left, block.right)):
            for layer in layers:
                self.labels[side][layer] = label
        return label

    def add(self, label: int, side: int, layer: int, confidence: float, why: str) -> None:
        """Put one more layer into a block, which is then no surer than that."""
        block = self.blocks[label]
        (block.right if side else block.left).append(layer)
        self.labels[side][layer] = label
        block.confidence = min(block.confidence, confidence)
        block.why = why

    def is_open(self, side: int, layer: int) -> bool:
        """Whether a layer may be matched still."""
        among = self._among[side]
        return self.labels[side][layer] == OPEN and (among is None or layer in among)

    def backbone(self) -> tuple[list[int], list[int]]:
        """The longest chain of pairs that both engines run in the same order: their places in each order, ascending."""
        pairs = sorted(
            (self.left.order[block.left[0]], self.right.order[block.right[0]])
            for block in self.blocks
            if block.is_pair
        )
        chain = _longest_rising([right for _, right in pairs])
        return [pairs[place][0] for place in chain], [pairs[place][1] for place in chain]


def _longest_rising(values: Sequence[int]) -> list[int]:
    """Places of a longest rising subsequence, by patience sorting: n log n."""
    tops: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for place, value in enumerate(values):
        pile = bisect_left(tops, value)
        if pile == len(tops):
            tops.append(value)
            at.append(place)
        else:
            tops[pile], at[pile] = value, place
        before.append(at[pile - 1] if pile else -1)
    chain: list[int] = []
    place = at[-1] if at else -1
    while place >= 0:
        chain.append(place)
        place = before[place]
    return chain[::-1]


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
    least = min(name.total() for name in names)
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
        for index, layer in enumerate(candidates):
            for node in pairing.trait(1 - side, layer).nodes:
                places[node].append(index)
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
    before = frozenset(labels[neighbour] for neighbour in traits.before[layer])
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


LEAST_RELATED = 0.3
"""Share of the working layers that good evidence matches, below which two engines are taken for different models."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """Two engines, matched.

    Attributes:
        names_refused: Names are equal, but for different work, so that they were not used.
        related: Whether good evidence matches enough for the engines to be of one model.
    """

    pairing: Pairing
    names_refused: bool
    related: bool


def align_pair(
    left: Traits,
    right: Traits,
    mode: Align = Align.AUTO,
    pins: Sequence[tuple[int, int]] = (),
    among: tuple[Collection[int] | None, Collection[int] | None] = (None, None),
    given: Sequence[tuple[list[int], list[int]]] = (),
) -> Aligned:
    """Match the layers of two engines.

    Args:
        mode: Which evidence may be used.
        pins: Layers of the left and of the right that belong together for sure.
        among: Layers that may be matched; None for all.
        given: Blocks that are known already, as anchors; they are the first of the result, in this order.
    """
    pairing = _begin(left, right, among, given, pins)
    deferred: list[tuple[int, int]] = []
    refused = False
    if mode is not Align.SIGNATURE:
        deferred = _names(pairing, mode)
        if mode is Align.AUTO and not names_hold(pairing, deferred):
            pairing, deferred, refused = _begin(left, right, among, given, pins), [], True
    if mode in (Align.AUTO, Align.SIGNATURE):
        match_by_structure(pairing)
    if mode is not Align.NAME:
        match_passive(pairing, by_role=mode is not Align.SIGNATURE and not refused)
    related = _are_related(pairing)
    if mode in (Align.AUTO, Align.SIGNATURE) and related:
        match_by_order(pairing)
    if mode is not Align.ONNX:
        late_names(pairing, deferred)
    return Aligned(pairing, refused, related)


def _begin(
    left: Traits,
    right: Traits,
    among: tuple[Collection[int] | None, Collection[int] | None],
    given: Sequence[tuple[list[int], list[int]]],
    pins: Sequence[tuple[int, int]],
) -> Pairing:
    pairing = Pairing(left, right, among)
    for lefts, rights in given:
        pairing.join(lefts, rights, Match.NAME, 1.0, "matched through the baseline")
    _pin(pairing, pins)
    return pairing


def _pin(pairing: Pairing, pins: Sequence[tuple[int, int]]) -> None:
    groups: list[tuple[set[int], set[int]]] = []
    for left, right in pins:
        touching = [group for group in groups if left in group[0] or right in group[1]]
        merged = (
            {left}.union(*(group[0] for group in touching)),
            {right}.union(*(group[1] for group in touching)),
        )
        groups = [group for group in groups if group not in touching] + [merged]
    for lefts, rights in groups:
        pairing.join(lefts, rights, Match.MANUAL, 1.0, "pinned by hand")


def _names(pairing: Pairing, mode: Align) -> list[tuple[int, int]]:
    deferred = equal_names(pairing, stated_only=mode is Align.ONNX)
    if mode is not Align.NAME:
        shared_nodes(pairing)
        foreign_ranges(pairing)
        shared_nodes(pairing, opaque=True)
    return deferred


def _are_related(pairing: Pairing) -> bool:
    """Whether at least `LEAST_RELATED` of the working layers of the smaller engine are matched, passive ones aside."""
    matched = total = 0
    counts = []
    for side in (0, 1):
        traits = pairing.traits(side)
        main = [layer for layer, trait in enumerate(traits.of) if not trait.passive]
        matched = sum(pairing.labels[side][layer] >= 0 for layer in main)
        total = len(main)
        counts.append((matched, total))
    if not all(total for _, total in counts):
        return bool(pairing.blocks)
    return all(matched >= LEAST_RELATED * total for matched, total in counts)
