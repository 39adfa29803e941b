"""Align the layers of two engines: by names and metadata, by structure, and finally by execution order.

Matches grow into blocks, which never merge. Evidence is used in order of strength; contradictory evidence is ignored.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from enum import Enum

from trex_tui.old.analysis.compare.gaps import absorb_fused, align_sequences
from trex_tui.old.analysis.compare.model import Align, Match
from trex_tui.old.analysis.compare.names import HEAVY, LIGHT, find_prefixes, is_numbered
from trex_tui.old.analysis.compare.pairing import OPEN, Pairing
from trex_tui.old.analysis.compare.refinement import have_open_work, match_by_structure
from trex_tui.old.analysis.compare.traits import Trait, Traits, fits, same_core
from trex_tui.old.lazy_dataclass import dataclass

MOST_LAYERS_OF_A_NODE = 256
"""A node named by more layers than this is not evidence for a match."""

_LEAST_COMMON_NUMBERS = 0.95
_COUNTED_OTHERWISE = 0.4
"""Confidence of equal generated names if one build has kernels that the other lacks: later numbers may be shifted."""
_LEAST_COMMON_NODES = 0.5
_MOST_CONTRADICTED = 0.1
_LEAST_LINKS = 8
_LEAST_LINK_AGREEMENT = 0.25
_LEAST_PAIRS = 4
_MOST_READERS = 32
_LEAST_FITTING = 0.5

Groups = dict[Hashable, tuple[list[int], list[int]]]


def equal_names(pairing: Pairing, *, stated_only: bool = False) -> list[tuple[int, int]]:
    """Match layers of equal names; return pairs with equal names whose kernels cannot belong to one layer.

    Repeated names are distinguished by their nodes and signatures; Myelin's generated names, which count kernels, identify a
    layer only if both builds count alike.

    Args:
        stated_only: Only layers whose ONNX nodes are in the metadata.
    """
    deferred: list[tuple[int, int]] = []
    alike = _share_of_equal_numbers(pairing)
    if alike >= _LEAST_COMMON_NUMBERS:
        groups = _groups(
            pairing, lambda layer, trait: (_raw(pairing, layer), trait.signature) if trait.generic else None
        )
        confidence = 0.95 if alike == 1.0 else _COUNTED_OTHERWISE
        _pair(pairing, groups, deferred, confidence, stated_only, in_order=True)
    unique = _groups(pairing, lambda _, trait: None if trait.generic else trait.parts.canonical or None)
    _pair(pairing, unique, deferred, 1.0, stated_only)
    several = _groups(pairing, lambda _, trait: _fine_key(trait))
    _pair(pairing, several, deferred, 0.9, stated_only, in_order=True)
    return deferred


def _raw(pairing: Pairing, side_and_layer: tuple[int, int]) -> str:
    side, layer = side_and_layer
    return pairing.traits(side).engine.layers[layer].name


def _fine_key(trait: Trait) -> Hashable:
    if not trait.parts.canonical or (trait.generic and not trait.nodes):
        return None
    return (trait.parts.canonical, frozenset(trait.nodes), trait.signature)


def _groups(pairing: Pairing, key: Callable[[tuple[int, int], Trait], Hashable]) -> Groups:
    groups: Groups = {}
    for side in (0, 1):
        for layer in pairing.open(side):
            group_key = key((side, layer), pairing.trait(side, layer))
            if group_key is not None:
                groups.setdefault(group_key, ([], []))[side].append(layer)
    return groups


def _share_of_equal_numbers(pairing: Pairing) -> float:
    """Return the share of generated names that both builds have: near 1, their numbers mean the same in both."""
    names = [
        Counter(
            _raw(pairing, (side, layer)) for layer in pairing.open(side) if pairing.trait(side, layer).generic
        )
        for side in (0, 1)
    ]
    common = (names[0] & names[1]).total()
    totals = [name.total() for name in names]
    if not all(totals):
        return 0.0
    return 1.0 if common == max(totals) else min(common / min(totals), 0.999)


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
            ours, other = pairing.left.of[left], pairing.right.of[right]
            both_stated = ours.stated and other.stated
            if stated_only and not both_stated:
                continue
            if ours.generic and both_stated and ours.nodes.keys().isdisjoint(other.nodes.keys()):
                continue
            if not same_core(ours, other):
                deferred.append((left, right))
            elif both_stated and ours.nodes.keys() == other.nodes.keys():
                sure = max(confidence, 0.9)
                pairing.join([left], [right], Match.ONNX, sure, "the same name and the same ONNX nodes")
            else:
                pairing.join([left], [right], Match.NAME, confidence, "the same name")


def shared_nodes(pairing: Pairing, *, opaque: bool = False) -> None:
    """Match layers that name the same ONNX nodes, fused alike or not.

    Each layer is matched to the layer of the other engine with the largest shared part, so that a node fused elsewhere does
    not join all its neighbours into one block. A layer may also join a block made from equal names, if the other side of the
    block has one of its nodes: then it was split off or fused.

    Args:
        opaque: Whether to include opaque subgraphs, of which only the ends are known; see `foreign_ranges`.
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
            other = _best(pairing, side, layer, index)
            if other is not None:
                best[side][layer] = other
    _grow(pairing, best)
    _join_components(pairing, best)


def _with_nodes(pairing: Pairing, side: int, *, opaque: bool) -> list[int]:
    traits = pairing.traits(side).of
    return [
        layer
        for layer in pairing.open(side)
        if traits[layer].nodes and not traits[layer].parts.role and (opaque or not traits[layer].is_opaque)
    ]


def _missing_nodes(pairing: Pairing) -> tuple[dict[int, set[str]], dict[int, set[str]]]:
    """Return, per side, matched layers with the nodes that their partner does not name."""
    missing_nodes: tuple[dict[int, set[str]], dict[int, set[str]]] = ({}, {})
    for block in pairing.blocks:
        if block.is_pair and block.match is not Match.MANUAL:
            left, right = block.left[0], block.right[0]
            ours, theirs = pairing.left.of[left].nodes, pairing.right.of[right].nodes
            for side, layer, nodes, others in ((0, left, ours, theirs), (1, right, theirs, ours)):
                missing = {
                    node for node in nodes if node not in others and nodes[node] >= LIGHT and node[0] != "@"
                }
                if missing:
                    missing_nodes[side][layer] = missing
    return missing_nodes


def _best(pairing: Pairing, side: int, layer: int, index: dict[str, list[int]]) -> tuple[int, float] | None:
    """Return the layer of the other side with the largest shared part, and that part of both layers, from 0 to 1."""
    trait = pairing.trait(side, layer)
    shared: dict[int, float] = defaultdict(float)
    for node, weight in trait.nodes.items():
        owners = index.get(node, ())
        if len(owners) <= MOST_LAYERS_OF_A_NODE:
            for other in owners:
                shared[other] += weight
    own = sum(trait.nodes.values())
    position = pairing.traits(side).order[layer] / max(1, len(pairing.traits(side)))
    chosen, highest = None, None
    for other, weight in shared.items():
        candidate = pairing.trait(1 - side, other)
        if (weight < LIGHT and weight < own) or not _may_share(trait, candidate):
            continue
        whole = own + sum(candidate.nodes.values()) - weight
        distance = abs(
            pairing.traits(1 - side).order[other] / max(1, len(pairing.traits(1 - side))) - position
        )
        alike = trait.signature is not None and trait.signature == candidate.signature
        score = (weight, weight / whole, alike, -distance)
        if highest is None or score > highest:
            chosen, highest = other, score
    return None if chosen is None or highest is None else (chosen, highest[1])


def _may_share(first: Trait, other: Trait) -> bool:
    """Return whether shared nodes may mean shared work: the kernels are alike, or one layer is a part of the other.

    A numbered node (`Conv_22`) does not identify a position in the network: two different kernels need a shared node with a
    path, or several shared main nodes.
    """
    if _share_numbers_of_other_modules(first, other):
        return False
    if same_core(first, other):
        return True
    nodes = [
        {node for node, weight in trait.nodes.items() if weight >= LIGHT and node[0] != "@"}
        for trait in (first, other)
    ]
    if not (nodes[0] <= nodes[1] or nodes[1] <= nodes[0]):
        return False
    if not fits(first, other):
        return True
    shared = nodes[0] & nodes[1]
    heavy = max(
        sum(trait.nodes[node] >= HEAVY for node in own)
        for trait, own in zip((first, other), nodes, strict=True)
    )
    return heavy > 1 or any("/" in node for node in shared)


def _share_numbers_of_other_modules(first: Trait, other: Trait) -> bool:
    """Return whether two layers share only numbered nodes but name different modules, or only one of them does work."""
    shared = first.nodes.keys() & other.nodes.keys()
    if not all(map(is_numbered, shared)):
        return False
    if first.passive is not other.passive:
        return all(first.nodes[node] < LIGHT for node in shared)
    modules = [{node for node in trait.nodes if node[0] == "@"} for trait in (first, other)]
    return all(modules) and modules[0].isdisjoint(modules[1])


def _grow(pairing: Pairing, best: list[dict[int, tuple[int, float]]]) -> None:
    """Add layers to the block of their best partner if that is matched already."""
    why = "several layers here do the work of one layer there (by ONNX nodes)"
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
    """Match a `{ForeignNode[a...b]}` with all unmatched layers of the other engine between `a` and `b`."""
    for side in (0, 1):
        opaque = [layer for layer in pairing.open(side) if pairing.trait(side, layer).is_opaque]
        if not opaque:
            continue
        places: dict[str, list[int]] = defaultdict(list)
        plain = [layer for layer in pairing.open(1 - side) if not pairing.trait(1 - side, layer).is_opaque]
        candidates = sorted(plain, key=pairing.traits(1 - side).order.__getitem__)
        for index, layer in enumerate(candidates):
            for node in pairing.trait(1 - side, layer).nodes:
                places[node].append(index)
        for layer in opaque:
            first, last = (
                [position for node in end if node[0] != "@" for position in places.get(node, ())]
                for end in pairing.trait(side, layer).parts.ends
            )
            inside = _between(pairing, 1 - side, candidates, first, last)
            if inside:
                why = (
                    f"{len(inside)} layers there are between the first and the last node of the opaque "
                    "subgraph"
                )
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
    """Return whether the matches by name agree with the structure of the engines.

    Exporters number nodes (`Conv_22`), so two exports of a model, or two models, share names by chance, for different work.
    Names are valid if most pairs do the same kind of work, and have the same neighbours in both engines.

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
        after = [neighbour for neighbour in pairing.left.after[left] if neighbour in partner]
        theirs = _readers_through_open(pairing, right) if after else set()
        links += len(after)
        agreeing += sum(partner[neighbour] in theirs for neighbour in after)
    return links < _LEAST_LINKS or agreeing >= _LEAST_LINK_AGREEMENT * links


def _readers_through_open(pairing: Pairing, layer: int) -> set[int]:
    """Return the layers of the right engine that read from a layer, directly or through a few unmatched layers."""
    readers: set[int] = set()
    waiting = list(pairing.right.after[layer])
    while waiting and len(readers) < _MOST_READERS:
        reader = waiting.pop()
        if reader not in readers:
            readers.add(reader)
            if pairing.labels[1][reader] == OPEN:
                waiting.extend(pairing.right.after[reader])
    return readers


def _same_kind(pairing: Pairing, left: int, right: int) -> bool:
    ours, other = pairing.left.of[left], pairing.right.of[right]
    if ours.passive or other.passive:
        return ours.passive and other.passive
    kinds = [traits.engine.layers[at].kind for traits, at in ((pairing.left, left), (pairing.right, right))]
    return same_core(ours, other) and (kinds[0] is kinds[1] or not ours.family or not other.family)


def late_names(pairing: Pairing, deferred: list[tuple[int, int]]) -> None:
    """Match equal names with different kernels that have no better match: layers that were changed in the model."""
    for left, right in deferred:
        if (
            pairing.is_open(0, left)
            and pairing.is_open(1, right)
            and fits(pairing.left.of[left], pairing.right.of[right])
        ):
            pairing.join([left], [right], Match.NAME, 0.5, "the same name, but kernel or channels differ")


def match_passive(pairing: Pairing, *, by_role: bool) -> None:
    """Match reformats, Q/DQ and other passive layers: by role and served layer, then by neighbours.

    Args:
        by_role: Whether names may be used to determine the role and the served layer.
    """
    if by_role:
        _match_keys(pairing, lambda side, layer: _served_key(pairing, side, layer), Match.NAME, 0.9)
    _match_keys(pairing, lambda side, layer: _between_key(pairing, side, layer), Match.STRUCTURE, 0.8)
    for side in (0, 1):
        for layer in list(pairing.open(side)):
            label = _label_of_closed_block(pairing, side, layer)
            if label is not None:
                block = pairing.blocks[label]
                pairing.add(label, side, layer, block.confidence, block.why)


def _label_of_closed_block(pairing: Pairing, side: int, layer: int) -> int | None:
    """Return the block of a closed subgraph of the other engine; None unless a passive layer has all neighbours in it."""
    traits = pairing.traits(side)
    labels = {pairing.labels[side][other] for other in (*traits.before[layer], *traits.after[layer])}
    if not traits.of[layer].passive or len(labels) != 1 or OPEN in labels:
        return None
    (label,) = labels
    block = pairing.blocks[label]
    others = block.left if side else block.right
    is_closed = len(others) == 1 and bool(pairing.trait(1 - side, others[0]).parts.ends)
    return label if is_closed and block.match is not Match.MANUAL else None


def _served_key(pairing: Pairing, side: int, layer: int) -> Hashable:
    target = pairing.traits(side).served[layer]
    if target is None or pairing.labels[side][target] == OPEN:
        return None
    return (pairing.labels[side][target], pairing.trait(side, layer).parts.role)


def _between_key(pairing: Pairing, side: int, layer: int) -> Hashable:
    traits, labels = pairing.traits(side), pairing.labels[side]
    if not traits.of[layer].passive:
        return None
    kind = traits.engine.layers[layer].kind.value
    before = frozenset(labels[neighbour] for neighbour in traits.before[layer])
    after = frozenset(labels[follower] for follower in traits.after[layer])
    if (not before and not after) or OPEN in before or OPEN in after:
        return None
    return (kind, traits.of[layer].loose, before, after)


def _match_keys(
    pairing: Pairing, key: Callable[[int, int], Hashable], match: Match, confidence: float
) -> None:
    groups: dict[Hashable, tuple[list[int], list[int]]] = {}
    for side in (0, 1):
        for layer in pairing.open(side):
            group_key = key(side, layer)
            if group_key is not None:
                groups.setdefault(group_key, ([], []))[side].append(layer)
    why = "same role for the same matched layer" if match is Match.NAME else "between the same matched layers"
    for left, right in groups.values():
        if len(left) == len(right) == 1:
            pairing.join(left, right, match, confidence, why)


def match_by_order(pairing: Pairing) -> None:
    """Match unmatched layers by signature within the gaps between layers that both engines run in the same order.

    Layers with equal signatures are matched in order only if both engines have equally many: otherwise it is unknown which
    one is missing.
    """
    backbone = pairing.backbone()
    groups: dict[tuple[int, str, Hashable], tuple[list[int], list[int]]] = {}
    for side in (0, 1):
        traits, chain = pairing.traits(side), backbone[side]
        for layer in sorted(pairing.open(side), key=traits.order.__getitem__):
            trait = traits.of[layer]
            is_nameless = not traits.engine.layers[layer].name.strip()  # nothing but its place is known
            if trait.signature is not None or is_nameless:
                kind = traits.engine.layers[layer].kind.value if trait.passive else ""
                key = (bisect_right(chain, traits.order[layer]), kind, trait.signature)
                groups.setdefault(key, ([], []))[side].append(layer)
    for (_, _, signature), (left, right) in groups.items():
        if len(left) != len(right):
            continue
        if len(left) == 1:
            if signature is None:
                pairing.join(left, right, Match.ORDER, 0.4, "layers without a name between the same layers")
                continue
            why = "unique kind, shapes and attributes between matched neighbours"
            pairing.join(left, right, Match.SIGNATURE, 0.6, why)
            continue
        why = f"execution order, among {len(left)} layers of the same kind and shapes"
        for our_layer, other in zip(left, right, strict=True):
            pairing.join([our_layer], [other], Match.ORDER, 0.4, why)


LEAST_RELATED = 0.3
"""Share of the working layers matched by good evidence; below it two engines may be of different models."""
_LEAST_ALIKE = 0.6
"""Share of layers with equal kind and shapes, or of equal kinds in sequence without shapes, that indicates one model."""
_LEAST_TO_COMPARE = 6


@dataclass(frozen=True, slots=True)
class Aligned:
    """Alignment of two engines.

    Attributes:
        names_refused: Equal names belong to different work, so that names were not used.
        related: Whether the engines seem to be of one model: good evidence matches enough layers, or enough layers have
            equal kinds and shapes.
        few_matched: Whether good evidence matches less than `LEAST_RELATED` of the working layers of one of them.
    """

    pairing: Pairing
    names_refused: bool
    related: bool
    few_matched: bool


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
        mode: Evidence to use.
        pins: Pairs of left and right layers matched by the user.
        among: Layers that may be matched; None for all.
        given: Known blocks, as anchors; they are the first of the result, in this order.
    """
    refused = False
    if mode is not Align.SIGNATURE:
        left, right = spell_alike(left, right)
        numbers = judge_numbers(left, right) if mode is Align.AUTO else Numbers.HOLD
        if numbers is not Numbers.HOLD:
            refused = numbers is Numbers.CONTRADICTED and not (_have_paths(left) and _have_paths(right))
            left, right = left.without_numbers(), right.without_numbers()
    pairing = _begin(left, right, among, given, pins)
    deferred: list[tuple[int, int]] = []
    if mode is not Align.SIGNATURE:
        deferred = _names(pairing, mode)
        if mode is Align.AUTO and not names_hold(pairing, deferred):
            pairing, deferred, refused = _begin(left, right, among, given, pins), [], True
    if mode in (Align.AUTO, Align.SIGNATURE):
        match_by_structure(pairing)
    if mode is not Align.NAME:
        match_passive(pairing, by_role=mode is not Align.SIGNATURE and not refused)
    related = _is_matched(pairing) or _look_alike(pairing) or _are_nameless(pairing)
    if mode in (Align.AUTO, Align.SIGNATURE) and related:
        match_by_order(pairing)
        absorb_fused(pairing)
        if have_open_work(pairing):
            align_sequences(pairing)
            match_by_structure(pairing, fused_otherwise=True)
            align_sequences(pairing)
            absorb_fused(pairing)
            match_passive(pairing, by_role=mode is not Align.SIGNATURE and not refused)
    if mode is not Align.ONNX:
        late_names(pairing, deferred)
    return Aligned(pairing, refused, related, not _is_matched(pairing))


def spell_alike(left: Traits, right: Traits) -> tuple[Traits, Traits]:
    """Return the engines with names without the module prefixes that only one of the two exports has."""
    prefixes = find_prefixes(*(_path_nodes(traits) for traits in (left, right)))
    return tuple(
        traits.with_prefixes(own) if own else traits
        for traits, own in zip((left, right), prefixes, strict=True)
    )  # type: ignore[return-value]


def _path_nodes(traits: Traits) -> set[str]:
    return {
        node
        for trait in traits.of
        if not trait.parts.role
        for node, weight in trait.nodes.items()
        if weight >= LIGHT and "/" in node
    } | {node[1:] + "/" for trait in traits.of for node in trait.nodes if node[0] == "@"}


def _have_paths(traits: Traits) -> bool:
    return any("/" in node for trait in traits.of for node in trait.nodes)


class Numbers(Enum):
    """Reliability of numbered nodes (`Conv_22`), since each export numbers its nodes anew."""

    HOLD = "hold"
    FEW_COMMON = "few common"
    """Most numbers of one engine are not in the other: common ones are coincidence."""
    CONTRADICTED = "contradicted"
    """Most are in both, on layers with different work."""


def judge_numbers(left: Traits, right: Traits) -> Numbers:
    """Judge whether numbered nodes identify the same work in both engines."""
    owners = [_numbered_nodes(traits) for traits in (left, right)]
    common = owners[0].keys() & owners[1].keys()
    if len(common) < _LEAST_COMMON_NODES * min(map(len, owners)):
        return Numbers.FEW_COMMON
    contradicted = sum(not _may_share(left.of[owners[0][node]], right.of[owners[1][node]]) for node in common)
    return Numbers.CONTRADICTED if contradicted > _MOST_CONTRADICTED * len(common) else Numbers.HOLD


def _numbered_nodes(traits: Traits) -> dict[str, int]:
    """Return numbered node -> layer, for nodes that do the work of the layer or a part of it."""
    return {
        node: index
        for index, trait in enumerate(traits.of)
        if not trait.parts.role
        for node, weight in trait.nodes.items()
        if weight >= LIGHT and is_numbered(node)
    }


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
        pairing.join(lefts, rights, Match.MANUAL, 1.0, "pinned manually")


def _names(pairing: Pairing, mode: Align) -> list[tuple[int, int]]:
    deferred = equal_names(pairing, stated_only=mode is Align.ONNX)
    if mode is not Align.NAME:
        shared_nodes(pairing)
        foreign_ranges(pairing)
        shared_nodes(pairing, opaque=True)
    return deferred


def _is_matched(pairing: Pairing) -> bool:
    """Return whether at least `LEAST_RELATED` of the working layers of each engine are matched, without passive ones."""
    counts = []
    for side in (0, 1):
        traits = pairing.traits(side)
        main = [layer for layer, trait in enumerate(traits.of) if not trait.passive]
        counts.append((sum(pairing.labels[side][layer] >= 0 for layer in main), len(main)))
    if not all(total for _, total in counts):
        return bool(pairing.blocks)
    return all(matched >= LEAST_RELATED * total for matched, total in counts)


def _are_nameless(pairing: Pairing) -> bool:
    """Return whether no layer has a name, so that nothing but their places can relate the engines."""
    return not any(layer.name.strip() for side in (0, 1) for layer in pairing.traits(side).engine.layers)


def _look_alike(pairing: Pairing) -> bool:
    """Return whether the working layers have similar kinds and shapes; if shapes are unknown, similar sequences of kinds."""
    main = [
        [layer for layer, trait in enumerate(pairing.traits(side).of) if not trait.passive] for side in (0, 1)
    ]
    if min(map(len, main)) < _LEAST_TO_COMPARE:
        return False
    known: list[Counter[Hashable]] = [
        Counter(
            trait.loose
            for trait in (pairing.trait(side, layer) for layer in main[side])
            if trait.loose is not None
        )
        for side in (0, 1)
    ]
    if all(known[side].total() * 2 >= len(main[side]) for side in (0, 1)):
        return _overlap(*known) >= _LEAST_ALIKE
    kinds = [[pairing.traits(side).engine.layers[layer].kind for layer in main[side]] for side in (0, 1)]
    rows: list[Counter[Hashable]] = [Counter(zip(own, own[1:], own[2:], strict=False)) for own in kinds]
    return _overlap(*rows) >= _LEAST_ALIKE


def _overlap(ours: Counter[Hashable], theirs: Counter[Hashable]) -> float:
    """Return the number of common elements of two multisets over the size of the larger one."""
    return (ours & theirs).total() / max(1, ours.total(), theirs.total())
